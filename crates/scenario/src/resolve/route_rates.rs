//! Rates of routes of SCPS-TP: the bucket that all connections share whose data leaves a host on
//! the same link.
//!
//! In the reference implementation a rate belongs to a route, and all users of SCPS-TP on a host
//! share it. Here it is written at the flows, so flows of one route must have the same.

use language::error::Problem;
use language::path::Path;
use middlebox::BucketSettings;
use units::{Bytes, Rate};

use crate::model::{Flow, RouteRate, Scenario};
use crate::routes::{Hop, routes};

/// A route after the first of its flows.
struct Route {
    hop: Hop,
    /// Number of the `[[flow]]` that was the first.
    entry: usize,
    rate: Option<Rate>,
    longest: u64,
}

/// Sets the rates of all routes. `entries` has the number of the `[[flow]]` for each flow.
pub(super) fn resolve(scenario: &mut Scenario, entries: &[usize], problems: &mut Vec<Problem>) {
    let has_rate = |flow: &Flow| flow.transport.scps().is_some_and(|scps| scps.rate.is_some());
    if !scenario.flows.iter().any(has_rate) {
        return;
    }
    let hops = routes(scenario);
    let mut found: Vec<Route> = Vec::new();
    let mut reported = None;
    for (flow, entry) in scenario.flows.iter().zip(entries) {
        let Some(scps) = flow.transport.scps() else { continue };
        let Some(hop) = hops.next(flow.from, flow.to) else { continue };
        let longest = scenario.longest_packet_bytes(flow);
        let Some(route) = found.iter_mut().find(|route| route.hop == hop) else {
            found.push(Route { hop, entry: *entry, rate: scps.rate, longest });
            continue;
        };
        route.longest = route.longest.max(longest);
        if route.rate != scps.rate && reported != Some(*entry) {
            reported = Some(*entry);
            problems.push(other_rate(scenario, route, scps.rate, *entry));
        }
    }
    let bucket = |route: Route| {
        let (rate, packet) = (route.rate?, Bytes(route.longest));
        let burst = BucketSettings::usual_burst(rate, packet);
        Some(RouteRate { hop: route.hop, bucket: BucketSettings { rate, burst, packet } })
    };
    scenario.route_rates = found.into_iter().filter_map(bucket).collect();
}

/// A flow has another rate than an earlier one of the same route.
fn other_rate(scenario: &Scenario, route: &Route, rate: Option<Rate>, entry: usize) -> Problem {
    let written = |rate: Option<Rate>| rate.map_or("none".to_owned(), |rate| format!("\"{rate}\""));
    let expected = match route.rate {
        Some(rate) => format!("\"{rate}\""),
        None => "no `rate`".to_owned(),
    };
    let place = Path::entry("flow", entry).key("transport").key("scps").key("rate");
    Problem::new(place, expected, written(rate)).because(format!(
        "flow[{}] has that, and the data of both leaves on {}: connections of a route share one bucket",
        route.entry,
        route.hop.name(scenario),
    ))
}
