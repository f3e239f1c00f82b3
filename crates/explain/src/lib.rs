//! Explanation of a scenario before it runs: every value with its origin, routes, the figures that
//! determine throughput, and warnings.

mod about;
mod beam;
mod bounds;
mod call;
mod cost;
mod figures;
mod hints;
mod hosts;
mod loss_notice;
mod mechanism;
mod middlebox;
mod mix;
mod page;
mod paths;
mod places;
mod profiles;
mod proxy;
mod random;
mod scps;
mod settings;
mod slow_start;
mod switch;
mod text;
mod timers;
mod times;
mod tunnel;
mod uncontrolled;
mod warnings;
mod window;

use serde::Serialize;
use units::{Rate, Span};

use scenario::Written;
use scenario::model::{Change, Flow, Node, Scenario, Way};
use scenario::{Hop, Routes, routes};

use figures::Load;
use mechanism::{MECHANISMS, Mechanism, Side};

pub use self::beam::{BeamExplanation, GroupExplanation};
pub use self::bounds::Bounds;
pub use cost::RecordingExplanation;
pub use figures::{Figures, Offered};
pub use middlebox::MiddleboxExplanation;
pub use mix::MixExplanation;
pub use paths::PathExplanation;
pub use profiles::{HostExplanation, HostSetting};
pub use proxy::{LegExplanation, ProxyExplanation, RateExplanation};
pub use settings::Setting;
pub use switch::{MoveExplanation, SwitchExplanation, SwitchPathExplanation};
pub use tunnel::TunnelExplanation;
pub use warnings::{Warning, WarningKind};

/// A scenario explained. It serialises, and its `Display` is for a terminal.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Name of the scenario.
    pub scenario: String,
    /// Duration, seed, version of IP and what is recorded.
    pub settings: Vec<Setting>,
    /// All nodes.
    pub nodes: Vec<NodeExplanation>,
    /// Each direction of each link.
    pub links: Vec<DirectionExplanation>,
    /// Each switch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<SwitchExplanation>,
    /// Each beam.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beams: Vec<BeamExplanation>,
    /// Each `[[mix]]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mixes: Vec<MixExplanation>,
    /// Each `[[flow]]`, and those of mixes.
    pub flows: Vec<FlowExplanation>,
    /// Rows and memory of the recording, at most.
    pub recording: RecordingExplanation,
    /// Warnings: settings that run, but probably not as intended.
    pub warnings: Vec<Warning>,
}

/// A node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeExplanation {
    /// Its name.
    pub name: String,
    /// Limits of its forwarding.
    pub forwarding: Option<ForwardingExplanation>,
    /// Middlebox that looks into its packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub middlebox: Option<MiddleboxExplanation>,
    /// Its split proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ProxyExplanation>,
}

/// The limits of a router.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ForwardingExplanation {
    /// Forwarding rate in bit/s of IP packets.
    pub rate_bps: u64,
    /// Memory for packets that wait, in bytes.
    pub buffer_bytes: u64,
}

/// An event of one direction of a link; `None` stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EventExplanation {
    /// From when on, in seconds.
    pub at_s: f64,
    /// Seconds after which it happens again.
    pub every_s: Option<f64>,
    /// The new rate in bit/s.
    pub rate_bps: Option<u64>,
    /// The new propagation delay in seconds.
    pub delay_s: Option<f64>,
    /// Seconds without transmission.
    pub outage_s: Option<f64>,
    #[serde(skip)]
    pub(crate) change: Change,
}

/// Effects of a mechanism on a direction, in numbers: added delay and rate, and what hosts see.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectsExplanation {
    /// Its key, such as `channel`, `jitter` or `arq`.
    pub key: &'static str,
    /// The heading of its table.
    pub heading: &'static str,
    /// The effects.
    pub settings: Vec<Setting>,
}

/// One direction of a link.
#[derive(Clone, Debug, Serialize)]
pub struct DirectionExplanation {
    /// The node that sends.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// Rate, delay, queue, overhead and channel.
    pub settings: Vec<Setting>,
    /// Effects of the mechanisms on the direction; a direction without mechanisms has none.
    pub effects: Vec<EffectsExplanation>,
    /// Changes while the run goes on.
    pub events: Vec<EventExplanation>,
}

impl DirectionExplanation {
    /// Effects of the mechanism with this key; empty if it has none here.
    pub fn effects_of(&self, key: &str) -> &[Setting] {
        let found = self.effects.iter().find(|effects| effects.key == key);
        found.map_or(&[], |effects| &effects.settings)
    }
}

/// A `[[flow]]`; with `count` it stands for several flows.
#[derive(Clone, Debug, Serialize)]
pub struct FlowExplanation {
    /// Name, without the number of a copy.
    pub name: String,
    /// Number of flows.
    pub count: usize,
    /// Traffic of the application, in one sentence.
    pub summary: String,
    /// True if the application continues until the run ends, so that the flow never completes.
    pub endless: bool,
    /// Names of the nodes that the data passes.
    pub route: Vec<String>,
    /// Names of the nodes that the ACKs pass.
    pub return_route: Vec<String>,
    /// Figures computed before the run.
    pub figures: Figures,
    /// Its legs, if gateways split it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub legs: Vec<LegExplanation>,
    /// Its paths, if it names them, the primary one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathExplanation>,
    /// Its tunnel, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<TunnelExplanation>,
    /// Both ends, if one of them has a profile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostExplanation>,
    /// The controller.
    pub controller: ControllerExplanation,
    /// Everything that can be set; keys that a profile sets are in `hosts`.
    pub settings: Vec<Setting>,
}

/// A controller as the registry knows it.
#[derive(Clone, Debug, Serialize)]
pub struct ControllerExplanation {
    /// Its name.
    pub name: &'static str,
    /// `published`, `from an implementation`, `reconstructed` or `experimental`.
    pub status: &'static str,
    /// The implementation in which its rules were read, if it was not the source.
    pub implementation: Option<&'static str>,
    /// The paper or RFC that defines it.
    pub source: &'static str,
    /// Description in one sentence.
    pub summary: &'static str,
}

/// Explains a scenario; `written` says which of its values are defaults.
pub fn explain(scenario: &Scenario, written: &Written) -> Explanation {
    let routes = routes(scenario);
    let load = Load::of(scenario, &routes);
    let flows: Vec<_> = first_of_each_entry(scenario, written)
        .map(|(entry, count, flow)| {
            let legs = proxy::legs(scenario, &routes, &load, flow);
            let mut figures = proxy::whole(Figures::of(scenario, &routes, &load, flow), &legs);
            if legs.is_empty() {
                figures.limit(&scps::limits(scenario, &routes, flow));
            }
            let mut explained =
                explain_flow(scenario, written, &routes, (entry, count, flow), &figures);
            explained.legs = proxy::explain_legs(scenario, &legs);
            explained.paths = paths::explain(scenario, &routes, &load, flow);
            (explained, flow)
        })
        .collect();
    let recording = RecordingExplanation::of(scenario, &routes, &flows);
    let warnings = warnings::warnings(scenario, written, (&routes, &load), &recording, &flows);
    Explanation {
        scenario: scenario.name.clone(),
        settings: settings::of_scenario(scenario, written),
        nodes: nodes(scenario, written, &routes, &flows),
        links: links(scenario, written, &routes, &flows),
        switches: switch::explain(scenario, &routes),
        beams: beam::explain(scenario),
        mixes: mix::explain(written),
        flows: flows.into_iter().map(|(explanation, _)| explanation).collect(),
        recording,
        warnings,
    }
}

/// The first flow of each `[[flow]]`, with the number of the entry and its `count`.
fn first_of_each_entry<'a>(
    scenario: &'a Scenario,
    written: &'a Written,
) -> impl Iterator<Item = (usize, usize, &'a Flow)> {
    written.entries.chunk_by(|a, b| a == b).scan(0, |first, copies| {
        let flow = &scenario.flows[*first];
        *first += copies.len();
        Some((copies[0], copies.len(), flow))
    })
}

/// The nodes that links join, and terminals with a proxy.
fn nodes(
    scenario: &Scenario,
    written: &Written,
    routes: &Routes,
    flows: &[(FlowExplanation, &Flow)],
) -> Vec<NodeExplanation> {
    let explain = |(number, node): (usize, &Node)| NodeExplanation {
        name: node.name.clone(),
        forwarding: node.forwarding.map(|limit| ForwardingExplanation {
            rate_bps: limit.rate.bits_per_second(),
            buffer_bytes: limit.buffer.get(),
        }),
        middlebox: middlebox::explain(scenario, routes, flows, number),
        proxy: proxy::explain(scenario, routes, flows, number),
    };
    let linked = scenario.nodes[..scenario.linked_nodes()].iter().enumerate().map(explain);
    linked.chain(proxy::at_terminals(scenario, written, routes, flows)).collect()
}

fn links(
    scenario: &Scenario,
    written: &Written,
    routes: &Routes,
    flows: &[(FlowExplanation, &Flow)],
) -> Vec<DirectionExplanation> {
    let name = |node: usize| scenario.nodes[node].name.clone();
    let explain = |side: Side<'_>| DirectionExplanation {
        from: name(side.hop.from(&scenario.links)),
        to: name(side.hop.to(&scenario.links)),
        settings: settings::of_direction(&side),
        effects: effects(&side),
        events: side.direction().timeline.changes().iter().map(event).collect(),
    };
    Side::all(scenario, written, routes, flows).map(explain).collect()
}

/// Effects of all mechanisms that have any, in the order of their tables.
fn effects(side: &Side<'_>) -> Vec<EffectsExplanation> {
    let of = |mechanism: &Mechanism| EffectsExplanation {
        key: mechanism.key,
        heading: mechanism.heading,
        settings: (mechanism.details)(side),
    };
    MECHANISMS.iter().map(of).filter(|effects| !effects.settings.is_empty()).collect()
}

fn event(change: &Change) -> EventExplanation {
    // Events of scenarios have no losses.
    let Change { at, every, rate, delay, outage, loss: _ } = change;
    EventExplanation {
        at_s: at.as_secs_f64(),
        every_s: every.map(Span::as_secs_f64),
        rate_bps: rate.map(Rate::bits_per_second),
        delay_s: delay.map(Span::as_secs_f64),
        outage_s: outage.map(Span::as_secs_f64),
        change: *change,
    }
}

/// Names of the nodes on a way.
fn names(scenario: &Scenario, routes: &Routes, (from, to): Way) -> Vec<String> {
    let hops = routes.path(from, to, &scenario.links);
    let nodes = hops.iter().map(|hop: &Hop| hop.to(&scenario.links));
    // From and to a terminal, the gateway of its beam is on the way.
    let mut way: Vec<_> = [from, scenario.anchor(from)].into_iter().chain(nodes).collect();
    way.extend(scenario.beam_of(to).map(|_| to));
    way.dedup();
    way.into_iter().map(|n| scenario.nodes[n].name.clone()).collect()
}

fn explain_controller(flow: &Flow) -> ControllerExplanation {
    let known = flow.controller.entry();
    let status = flow.transport.controller_status(&flow.controller);
    let protocol = flow.protocol().entry();
    let (source, summary) = match flow.protocol().takes_controller() {
        true => (known.source, known.summary),
        false => (protocol.source, protocol.summary),
    };
    ControllerExplanation {
        name: known.name,
        status: status.name(),
        implementation: status.implementation(),
        source,
        summary,
    }
}

fn explain_flow(
    scenario: &Scenario,
    written: &Written,
    routes: &Routes,
    (entry, count, flow): (usize, usize, &Flow),
    figures: &Figures,
) -> FlowExplanation {
    let name = match count {
        1 => flow.name.as_str(),
        _ => flow.name.rsplit_once('.').map_or(flow.name.as_str(), |(name, _)| name),
    };
    let [route, return_route] = flow.ways().map(|way| names(scenario, routes, way));
    let mut settings = settings::of_flow(flow, entry, written);
    hints::describe(scenario, routes, flow, &mut settings);
    FlowExplanation {
        name: name.to_owned(),
        count,
        summary: settings::summary(scenario, flow),
        endless: flow.traffic.is_endless(),
        route,
        return_route,
        figures: figures.clone(),
        legs: Vec::new(),
        paths: Vec::new(),
        tunnel: tunnel::explain(scenario, routes, flow, figures.packet_bytes),
        hosts: profiles::explain(scenario, flow),
        controller: explain_controller(flow),
        settings,
    }
}
