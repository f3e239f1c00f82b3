//! Paths of a flow with several.

use serde::Serialize;
use units::Span;

use super::figures::{Figures, Load};
use scenario::Routes;
use scenario::model::{Flow, Scenario, Transport};

/// One of the paths that a flow names. Times are without any queue, and links as they are at the
/// start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathExplanation {
    /// The node that it leads through.
    pub via: String,
    /// Names of the nodes that the data passes.
    pub route: Vec<String>,
    /// Names of the nodes that the ACKs pass.
    pub return_route: Vec<String>,
    /// Propagation and serialisation of a full packet and its ACK, in milliseconds.
    pub base_rtt_ms: f64,
    /// The slowest place on the way of the data.
    pub bottleneck: String,
    /// Its rate in bit/s of IP packets.
    pub bottleneck_bps: f64,
    /// Probability that a full packet is corrupted, in clear sky.
    pub per: f64,
    /// Least time in seconds from a loss of all packets until new data takes another path: timeouts
    /// in succession, with the RTO of a path whose RTT does not vary (RFC 9260 section 8.2).
    pub failover_s: f64,
}

/// The figures of each path of a flow.
pub(crate) fn figures(
    scenario: &Scenario,
    routes: &Routes,
    load: &Load,
    flow: &Flow,
) -> Vec<Figures> {
    flow.all_ways().map(|ways| Figures::on(scenario, routes, load, flow, ways)).collect()
}

/// The paths of a flow, if it names them.
pub(crate) fn explain(
    scenario: &Scenario,
    routes: &Routes,
    load: &Load,
    flow: &Flow,
) -> Vec<PathExplanation> {
    let figures = figures(scenario, routes, load, flow);
    let paths = flow.paths.iter().zip(flow.all_ways()).zip(figures);
    let explained = paths.map(|((path, [data, acks]), figures)| PathExplanation {
        via: scenario.nodes[path.via].name.clone(),
        route: super::names(scenario, routes, data),
        return_route: super::names(scenario, routes, acks),
        failover_s: failover(&flow.transport, figures.base_rtt_ms),
        base_rtt_ms: figures.base_rtt_ms,
        bottleneck: figures.bottleneck,
        bottleneck_bps: figures.bottleneck_bps,
        per: figures.per,
    });
    explained.collect()
}

/// Least time in seconds until a silent path is inactive.
fn failover(transport: &Transport, rtt_ms: f64) -> f64 {
    let Transport::Sctp(config) = transport else { return 0.0 };
    let seconds = Span::as_secs_f64;
    let most = seconds(config.rto_max);
    let mut rto = (rtt_ms / 1e3).max(seconds(config.rto_min)).min(most);
    let mut sum = 0.0;
    for _ in 0..=config.path_max_retries {
        sum += rto;
        rto = (2.0 * rto).min(most);
    }
    sum
}
