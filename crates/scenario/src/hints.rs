//! Hints to a sender in a run: which, and when.
//!
//! Decisions:
//! - A schedule has the changes of the delay on the links that the data and the ACKs of the
//!   sender's connection take. Changes of several links at one instant are one change of the path.
//! - Where a switch leads the packets, a schedule has its moves at known times and by outages, for
//!   the data and for the ACKs, and the changes of the path that carries them at the time.
//! - Errors and missed changes are drawn for each change in its order, with a stream of the node of
//!   the sender: all flows of a host know the same, and so do all controllers with one seed. Both
//!   are drawn for each change, so that neither depends on the value of the other.
//! - Hints whose time would be before the start come at the start.

use congestion::{PathChange, PathChangeKind, PathHints as Hints};
use link::{Purpose, Seed, uniform};
use units::{Span, Time};

use crate::model::{Flow, HintSource, PathHints, Scenario, Way};
use crate::routes::{Hop, Routes};
use crate::switches::{PathMove, switch_moves};

/// The hints to the sender of `flow` in a run with `seed`, if its source knows them before it.
pub fn path_hints(scenario: &Scenario, routes: &Routes, flow: &Flow, seed: &Seed) -> Option<Hints> {
    let hints = flow.path_hints.as_ref()?;
    if matches!(hints.source, HintSource::Detector { .. }) {
        return None;
    }
    let mut random = seed.stream(Purpose::Hints, flow.from as u64);
    let mut announced = Vec::new();
    for change in path_changes(scenario, routes, flow, seed) {
        let [missed, error] = [uniform(&mut random), uniform(&mut random)];
        if missed >= hints.missed {
            announced.push(believed(change, error, hints));
        }
    }
    announced.sort_unstable();
    Some((1..).zip(announced).flat_map(|(phase, at)| pair(phase, at, hints.lead)).collect())
}

/// Both hints about a change.
fn pair(phase: u64, at: Time, lead: Span) -> [PathChange; 2] {
    let coming = Time::ZERO + at.since(Time::ZERO).saturating_sub(lead);
    let hint = |now, kind| PathChange { now, kind, at, phase };
    [hint(coming, PathChangeKind::Coming), hint(at, PathChangeKind::Done)]
}

/// The time at which the source takes a change to be; `drawn` is from 0 to 1.
fn believed(change: Time, drawn: f64, hints: &PathHints) -> Time {
    let PathHints { late, early, error, .. } = *hints;
    let drawn = Span::from_secs_f64(2.0 * error.as_secs_f64() * drawn);
    let latest = change.since(Time::ZERO) + late + drawn;
    Time::ZERO + latest.saturating_sub(early + error)
}

/// The times at which the path of the sender of `flow` changes: as its source knows them, or those
/// that its detector should find.
pub fn path_changes(scenario: &Scenario, routes: &Routes, flow: &Flow, seed: &Seed) -> Vec<Time> {
    let end = Time::ZERO + scenario.duration;
    match flow.path_hints.as_ref().map(|hints| hints.source) {
        None => Vec::new(),
        Some(HintSource::Clock { first, period }) => {
            let all = std::iter::successors(Some(Time::ZERO + first), |at| Some(*at + period));
            all.take_while(|at| *at < end).collect()
        }
        Some(HintSource::Schedule { threshold } | HintSource::Detector { threshold, .. }) => {
            let ways = ways(flow);
            let steps = |way: &Way| steps_on(scenario, routes, *way, (threshold, seed));
            let mut changes: Vec<_> = ways.iter().flat_map(steps).collect();
            changes.sort_unstable();
            changes.dedup();
            changes
        }
    }
}

/// The ways of the connection of the sender, to and fro.
fn ways(flow: &Flow) -> Vec<Way> {
    match flow.gateways.first() {
        Some(gateway) => vec![(flow.from, gateway.node), (gateway.node, flow.from)],
        None => flow.all_ways().flatten().collect(),
    }
}

/// The times at which the path of packets on a way changes.
fn steps_on(scenario: &Scenario, routes: &Routes, way: Way, options: (Span, &Seed)) -> Vec<Time> {
    let mut plain = routes.path(way.0, way.1, &scenario.links);
    let mut found = Vec::new();
    let to_node = way.1 < scenario.nodes.len();
    for switch in scenario.switches.iter().filter(|_| to_node) {
        let Some(end) = switch.crossed(scenario, routes, way) else { continue };
        let Some(moves) = switch_moves(scenario, routes, switch, options.1) else { continue };
        let moves = &moves[end];
        found.extend(moves.iter().map(|(at, _)| *at));
        let first = switch.hops(scenario, routes, (end, 0));
        plain.retain(|hop| !first.contains(hop));
        for path in 0..switch.via.len() {
            for hop in switch.hops(scenario, routes, (end, path)) {
                let times = steps(scenario, hop, options.0, options.1);
                found.extend(times.into_iter().filter(|at| carrying(moves, *at) == path));
            }
        }
    }
    found.extend(plain.into_iter().flat_map(|hop| steps(scenario, hop, options.0, options.1)));
    found
}

/// The path that carries packets at a time.
fn carrying(moves: &[PathMove], at: Time) -> usize {
    let before = moves.partition_point(|(time, _)| *time <= at);
    before.checked_sub(1).map_or(0, |last| moves[last].1)
}

/// The times at which the delay of a direction makes a step.
fn steps(scenario: &Scenario, hop: Hop, threshold: Span, seed: &Seed) -> Vec<Time> {
    let direction = hop.direction(&scenario.links);
    let events = direction.timeline.later(scenario.event_delay(seed));
    let timeline = direction.trace.of_run(seed).with(&events);
    let mut delay = direction.delay;
    let mut found = Vec::new();
    for (at, change) in timeline.until(Time::ZERO + scenario.duration) {
        let Some(next) = change.delay else { continue };
        let before = std::mem::replace(&mut delay, next);
        let step = before.max(next).saturating_sub(before.min(next));
        // A trace sets the delay at the start.
        if step >= threshold && step > Span::ZERO && at > Time::ZERO {
            found.push(at);
        }
    }
    found
}
