//! Signals of gateways about links that are out (SCMP), to ends of SCPS-TP that take them.
//!
//! The node that sends on a link knows when it is out, and when it is available again. Its signal reaches the end whose
//! packets take the link after the propagation delay of the way back. Signals take no capacity, do not queue and are not
//! lost: a reconstruction, for the implementation sends messages of ICMP.

use link::{Settings, Timeline};
use network::FlowId;
use scenario::{Routes, Scenario};
use units::{Span, Time};

use crate::flow::{Leg, Side, legs};

/// A signal that reaches the ends on one side of the connections of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// When it arrives.
    pub at: Time,
    /// The flow.
    pub flow: FlowId,
    /// Number of the leg in its flow.
    pub leg: u16,
    /// The side.
    pub side: Side,
    /// A link of the route is out. Otherwise all of them are available again.
    pub is_out: bool,
}

/// From when until when something is out.
type Outage = (Time, Time);

/// All signals of a run, flow by flow.
pub fn signals(scenario: &Scenario, seed: u64) -> Vec<Signal> {
    let takes = |leg: &Leg<'_>| leg.ends.iter().any(|end| takes_signals(end.transport));
    let mut found = Vec::new();
    let mut routes: Option<Routes> = None;
    for (flow, settings) in (0..).map(FlowId).zip(&scenario.flows) {
        for (number, leg) in (0..).zip(legs(settings)).filter(|(_, leg)| takes(leg)) {
            let routes = routes.get_or_insert_with(|| scenario::routes(scenario));
            for (side, end) in [Side::Sender, Side::Receiver].into_iter().zip(&leg.ends) {
                if !takes_signals(end.transport) {
                    continue;
                }
                let ends = [usize::from(leg.from.0), usize::from(leg.to.0)];
                let [own, peer] = if side == Side::Sender { ends } else { [ends[1], ends[0]] };
                for (start, stop) in outages(scenario, seed, routes, own, peer) {
                    let signal = |at, is_out| Signal { at, flow, leg: number, side, is_out };
                    found.extend([signal(start, true), signal(stop, false)]);
                }
            }
        }
    }
    found
}

fn takes_signals(transport: &tcp::Config) -> bool {
    transport.scps.is_some_and(|scps| scps.outage_signals)
}

/// Outages of the way from `own` to `peer`, as `own` hears of them. They do not overlap.
fn outages(
    scenario: &Scenario,
    seed: u64,
    routes: &Routes,
    own: usize,
    peer: usize,
) -> Vec<Outage> {
    let links = &scenario.links;
    let mut all: Vec<Outage> = Vec::new();
    for hop in routes.path(own, peer, links) {
        let back = routes.path(hop.from(links), own, links);
        let delays = back.iter().map(|hop| hop.direction(links).delay);
        let back = delays.fold(Span::ZERO, |sum, delay| sum + delay);
        let timeline = timeline(scenario, seed, hop.direction(links));
        let changes = timeline.until(Time::ZERO + scenario.duration);
        let outages = changes.filter_map(|(at, change)| Some((at, at + change.outage?)));
        all.extend(outages.map(|(start, stop)| (start + back, stop + back)));
    }
    all.sort_unstable();
    let mut merged: Vec<Outage> = Vec::with_capacity(all.len());
    for (start, stop) in all {
        match merged.last_mut() {
            Some((_, last)) if start <= *last => *last = stop.max(*last),
            _ => merged.push((start, stop)),
        }
    }
    merged
}

/// Changes of a direction by events and by its trace.
fn timeline(scenario: &Scenario, seed: u64, direction: &Settings) -> Timeline {
    let events = direction.timeline.later(scenario.event_delay(seed));
    events.with(&direction.trace.of_run(seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(near: &str, far: &str, signals: bool) -> Scenario {
        let text = format!(
            r#"
duration = "300s"
[[link]]
between = ["server", "gateway"]
rate = "10Mbit/s"
delay = "20ms"
{near}
[[link]]
between = ["gateway", "client"]
rate = "10Mbit/s"
delay = "250ms"
{far}
[[flow]]
from = "server"
to = "client"
controller = "reno"
transport = {{ protocol = "scps-tp", scps = {{ outage_signals = {signals} }} }}
traffic = {{ bulk = "unlimited" }}
"#
        );
        Scenario::parse(&text, "signals.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"))
    }

    /// Milliseconds, by the side.
    fn heard(scenario: &Scenario, side: Side) -> Vec<(u64, bool)> {
        let all = signals(scenario, 1).into_iter().filter(|signal| signal.side == side);
        all.map(|signal| (signal.at.as_nanos() / 1_000_000, signal.is_out)).collect()
    }

    #[test]
    fn a_signal_needs_the_way_back_and_goes_to_the_end_that_sends_there() {
        let far = r#"event = [{ at = "10s", every = "100s", forward = { outage = "5s" } }]"#;
        let once = scenario("", far, true);
        let expected = [10_020, 15_020, 110_020, 115_020, 210_020, 215_020];
        let states = [true, false, true, false, true, false];
        let expected: Vec<_> = expected.into_iter().zip(states).collect();
        assert_eq!(heard(&once, Side::Sender), expected);
        assert_eq!(heard(&once, Side::Receiver), []);
        assert_eq!(signals(&scenario("", far, false), 1), []);
    }

    #[test]
    fn outages_of_several_links_that_overlap_are_one() {
        let near = r#"event = [{ at = "10s", outage = "5s" }]"#;
        let far = r#"event = [{ at = "12s", outage = "9s" }]"#;
        let both = scenario(near, far, true);
        assert_eq!(heard(&both, Side::Sender), [(10_000, true), (21_020, false)]);
        // The first link is 250 ms away from the client.
        assert_eq!(heard(&both, Side::Receiver), [(10_250, true), (21_000, false)]);
    }
}
