//! Queues in time or in bandwidth-delay products, as bytes.
//!
//! The rate is that of the direction at the start, and for a trace its mean; with demand assignment
//! that of all slots, and with a shaper that of the shaper where it is lower. The delay of a
//! bandwidth-delay product is the longest round trip, without queues, of the connections whose data
//! crosses the direction. Where only their ACKs do, it is theirs.

use language::error::Problem;
use language::path::Path;
use units::Span;

use super::sides::Sides;
use crate::document::{Document, Queue};
use crate::model::{Flow, QueueLimit, Scenario, Way};
use crate::routes::{Hop, Routes, routes};

/// Sets the limits of all queues that are not in packets or bytes.
pub(super) fn resolve(document: &Document, scenario: &mut Scenario, problems: &mut Vec<Problem>) {
    let relative = |queue: &Queue| matches!(queue, Queue::Time { .. } | Queue::Bdp { .. });
    let mut routes_of_all: Option<Routes> = None;
    for (number, link) in (0_u32..).zip(&document.link) {
        let path = Path::entry("link", number as usize);
        let sides = Sides { link, path: &path };
        for side in 0..2 {
            let queue = sides.value(side, |one| &one.queue).copied().filter(relative);
            let Some(queue) = queue else { continue };
            let hop = Hop { link: number, forward: side == 0 };
            let time = match queue {
                Queue::Time { time, .. } => Some(time.as_secs_f64()),
                Queue::Bdp { bdp, .. } => {
                    let routes = routes_of_all.get_or_insert_with(|| routes(scenario));
                    longest_round_trip(scenario, routes, hop).map(|rtt| bdp * rtt.as_secs_f64())
                }
                _ => None,
            };
            let Some(time) = time else {
                let place = sides.place(side, "queue", |one| &one.queue);
                let problem =
                    Problem::new(place, "a flow whose data or ACKs cross the direction", "none");
                problems.push(problem.because("a bandwidth-delay product is that of a flow"));
                continue;
            };
            let link = &mut scenario.links[number as usize];
            let direction = if side == 0 { &mut link.forward } else { &mut link.backward };
            let line = direction.mean_of(direction.rate);
            let rate = direction.shaper.map_or(line, |shaper| line.min(shaper.rate));
            let bytes = rate.bits_per_second() as f64 * time / 8.0;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
            let bytes = bytes.round() as u64;
            direction.queue = QueueLimit::Bytes(bytes.max(1));
        }
    }
}

/// The longest round trip of the connections that cross a direction, without queues.
fn longest_round_trip(scenario: &Scenario, routes: &Routes, hop: Hop) -> Option<Span> {
    let delay = |(way, hops): (Way, &Vec<Hop>)| {
        let delays = hops.iter().map(|hop| hop.direction(&scenario.links).delay);
        delays.fold(scenario.beam_delay(way), |sum, delay| sum + delay)
    };
    let longest = |way: usize| {
        let connections = scenario.flows.iter().flat_map(connections);
        let round_trips = connections.flat_map(|ways| {
            let all = ways.map(|way| scenario.routes_of(routes, way));
            // Where only one way crosses a switch, the other one has one route.
            let number = all[0].len().max(all[1].len());
            let at = |place: usize| [0, 1].map(|way| all[way].get(place).unwrap_or(&all[way][0]));
            let crossing = (0..number).map(at).filter(|hops| hops[way].contains(&hop));
            crossing.map(|hops| delay((ways[0], hops[0])) + delay((ways[1], hops[1]))).max()
        });
        round_trips.max()
    };
    longest(0).or_else(|| longest(1))
}

/// The ways of data and ACKs of the connections of a flow: one, or one for each leg between
/// gateways.
pub(super) fn connections(flow: &Flow) -> Vec<[Way; 2]> {
    if flow.gateways.is_empty() {
        return flow.all_ways().collect();
    }
    flow.stops().windows(2).map(|leg| [(leg[0], leg[1]), (leg[1], leg[0])]).collect()
}
