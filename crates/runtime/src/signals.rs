//! Signals of gateways about links (SCMP), to ends of SCPS-TP that take them: a link is out or
//! available again, or it has corrupted a packet.
//!
//! The node that sends on a link knows when it is out, and when it is available again. The node
//! that receives knows of corrupted packets. Their signals reach the end whose packets take the
//! link after the propagation delay of the way back. Signals take no capacity, do not queue and are
//! not lost: a reconstruction, for the implementation sends messages of ICMP.

use link::{Seed, Settings, Timeline};
use network::FlowId;
use scenario::{Hop, Routes, Scenario};
use units::{Span, Time};

use crate::flow::{Side, legs};
use crate::topology::port_of;

/// A signal of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A link of the route is out.
    Out,
    /// All links of the route are available again.
    Available,
    /// A link of the route has corrupted a packet.
    Corruption,
}

/// The ends on one side of the connections of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hearer {
    /// The flow.
    pub flow: FlowId,
    /// Number of the leg in its flow.
    pub leg: u16,
    /// The side.
    pub side: Side,
}

/// A signal that reaches such ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// When it arrives.
    pub at: Time,
    /// Who hears it.
    pub hearer: Hearer,
    /// Content of the signal.
    pub news: News,
}

/// A port whose far end signals corrupted packets, and who hears it after which time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorWatch {
    /// Number of the port.
    pub port: u16,
    /// Ends whose packets take the port, and the delay of the way back.
    pub hearers: Vec<(Hearer, Span)>,
}

/// From when until when something is out.
type Outage = (Time, Time);

/// All signals of outages of a run, flow by flow.
pub fn signals(scenario: &Scenario, seed: &Seed) -> Vec<Signal> {
    let mut found = Vec::new();
    let takes = |transport: &tcp::Config| transport.scps.is_some_and(|scps| scps.outage_signals);
    each_end(scenario, takes, |routes, hearer, [own, peer]| {
        for (start, stop) in outages(scenario, seed, routes, own, peer) {
            let signal = |at, news| Signal { at, hearer, news };
            found.extend([signal(start, News::Out), signal(stop, News::Available)]);
        }
    });
    found
}

/// The ports whose far ends signal corrupted packets, in the order of their numbers.
pub fn error_watches(scenario: &Scenario) -> Vec<ErrorWatch> {
    let mut found: Vec<ErrorWatch> = Vec::new();
    let takes =
        |transport: &tcp::Config| transport.scps.is_some_and(|scps| scps.corruption_signals);
    each_end(scenario, takes, |routes, hearer, [own, peer]| {
        for hop in routes.path(own, peer, &scenario.links) {
            let hearer = (hearer, delay(scenario, routes, hop.to(&scenario.links), own));
            let port = port_of(hop);
            match found.iter_mut().find(|watch| watch.port == port) {
                Some(watch) => watch.hearers.push(hearer),
                None => found.push(ErrorWatch { port, hearers: vec![hearer] }),
            }
        }
    });
    found.sort_unstable_by_key(|watch| watch.port);
    found
}

/// Calls `found` for the ends of all legs that take signals, with their node and that of their
/// peers.
fn each_end(
    scenario: &Scenario,
    takes: impl Fn(&tcp::Config) -> bool,
    mut found: impl FnMut(&Routes, Hearer, [usize; 2]),
) {
    let mut routes: Option<Routes> = None;
    for (flow, settings) in (0..).map(FlowId).zip(&scenario.flows) {
        for (leg, settings) in (0..).zip(legs(settings)) {
            let nodes = [usize::from(settings.from.0), usize::from(settings.to.0)];
            let sides = [(Side::Sender, nodes), (Side::Receiver, [nodes[1], nodes[0]])];
            for (end, (side, nodes)) in settings.ends.iter().zip(sides) {
                if end.transport.tcp().is_some_and(|config| takes(config)) {
                    let routes = routes.get_or_insert_with(|| scenario::routes(scenario));
                    found(routes, Hearer { flow, leg, side }, nodes);
                }
            }
        }
    }
}

/// The propagation delay from one node to another.
fn delay(scenario: &Scenario, routes: &Routes, from: usize, to: usize) -> Span {
    let links = &scenario.links;
    let delays = routes.path(from, to, links).into_iter();
    delays.map(|hop: Hop| hop.direction(links).delay).fold(Span::ZERO, |sum, delay| sum + delay)
}

/// Outages of the way from `own` to `peer`, as `own` hears of them. They do not overlap.
fn outages(
    scenario: &Scenario,
    seed: &Seed,
    routes: &Routes,
    own: usize,
    peer: usize,
) -> Vec<Outage> {
    let links = &scenario.links;
    let mut all: Vec<Outage> = Vec::new();
    for hop in routes.path(own, peer, links) {
        let back = delay(scenario, routes, hop.from(links), own);
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
fn timeline(scenario: &Scenario, seed: &Seed, direction: &Settings) -> Timeline {
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
transport = {{ protocol = "scps-tp", scps = {{ outage_signals = {signals}, corruption_signals = {signals} }} }}
traffic = {{ bulk = "unlimited" }}
"#
        );
        Scenario::parse(&text, "signals.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"))
    }

    /// Milliseconds, by the side.
    fn heard(scenario: &Scenario, side: Side) -> Vec<(u64, bool)> {
        let all = signals(scenario, &Seed::new(1))
            .into_iter()
            .filter(|signal| signal.hearer.side == side);
        all.map(|signal| (signal.at.as_nanos() / 1_000_000, signal.news == News::Out)).collect()
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
        assert_eq!(signals(&scenario("", far, false), &Seed::new(1)), []);
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

    /// The far end of a link knows of its errors, and those who send over it hear of them.
    #[test]
    fn errors_are_watched_at_the_far_ends_of_the_ports_on_the_way() {
        let watched: Vec<_> = error_watches(&scenario("", "", true))
            .into_iter()
            .map(|watch| {
                let [(hearer, back)] = watch.hearers[..] else { panic!("{watch:?}") };
                (watch.port, hearer.side, back.as_nanos() / 1_000_000)
            })
            .collect();
        use Side::{Receiver, Sender};
        assert_eq!(
            watched,
            [(0, Sender, 20), (1, Receiver, 270), (2, Sender, 270), (3, Receiver, 250)]
        );
        assert_eq!(error_watches(&scenario("", "", false)), []);
    }
}
