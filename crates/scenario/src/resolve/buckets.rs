//! Token buckets of directions: what excludes a shaper, and bursts that hold the longest packet.

use language::error::Problem;
use language::path::Path;
use link::{Peak, TokenBucket};
use units::Bytes;

use super::queues::connections;
use super::sides::{Sides, report};
use crate::document::Document;
use crate::model::{Direction, Flow, Scenario};
use crate::routes::{Hop, Routes, routes};

/// Shapers with something that sends more than the packets of the queue, or changes them behind it,
/// and buckets that cannot work.
pub(super) fn exclusions(
    sides: &Sides<'_>,
    directions: &[Direction; 2],
    problems: &mut Vec<Problem>,
) {
    let arq = directions.iter().find_map(|direction| direction.arq);
    for (side, direction) in directions.iter().enumerate() {
        let [shaper, policer] = places(sides, side);
        for (bucket, place) in [(direction.shaper, &shaper), (direction.policer, &policer)] {
            report(bucket.and_then(|bucket| impossible(&bucket, place)), problems);
        }
        let Some(_) = direction.shaper else { continue };
        let scheme = sides.value(side, |one| &one.header_compression);
        let conflicts = [
            arq.map(|arq| format!("with arq = {:?} on the link", arq.name())),
            direction.fec.map(|fec| format!("with fec = {:?}", fec.name())),
            direction.demand.map(|demand| format!("with demand = {:?}", demand.name())),
            scheme.and_then(|one| one.resolve()).map(|_| "with `header_compression`".to_owned()),
        ];
        let found = conflicts.into_iter().flatten().next().map(|with| {
            Problem::new(shaper.clone(), format!("\"none\" {with}"), "a table").because(
                "a shaper counts packets before the link adds to them or repeats them; give it a link of its \
                 own before this one",
            )
        });
        report(found, problems);
    }
}

/// The places of the shaper and the policer of a direction.
fn places(sides: &Sides<'_>, side: usize) -> [Path; 2] {
    [
        sides.place(side, "shaper", |one| &one.shaper),
        sides.place(side, "policer", |one| &one.policer),
    ]
}

/// The problem of a bucket at `place`.
fn impossible(bucket: &TokenBucket, place: &Path) -> Option<Problem> {
    let Peak { rate, .. } = bucket.peak?;
    (rate <= bucket.rate).then(|| {
        let expected = format!("more than the `rate` of {}", bucket.rate);
        Problem::new(place.key("peak").key("rate"), expected, rate.to_string())
    })
}

/// Bursts below the longest packet of a flow, of which none would ever pass.
pub(super) fn check_bursts(document: &Document, scenario: &Scenario, problems: &mut Vec<Problem>) {
    let has_bucket = |direction: &Direction| direction.shaper.or(direction.policer).is_some();
    if !scenario.links.iter().any(|one| has_bucket(&one.forward) || has_bucket(&one.backward)) {
        return;
    }
    let routes = routes(scenario);
    for (number, link) in (0_u32..).zip(&document.link) {
        let path = Path::entry("link", number as usize);
        let sides = Sides { link, path: &path };
        for side in 0..2 {
            let hop = Hop { link: number, forward: side == 0 };
            let direction = hop.direction(&scenario.links);
            if !has_bucket(direction) {
                continue;
            }
            let crosses = |flow: &&Flow| {
                let ways = connections(flow).into_iter().flatten();
                scenario.may_take(&routes, ways, hop)
            };
            let crossing = scenario.flows.iter().filter(crosses);
            let longest = crossing.map(|flow| longest(scenario, &routes, flow, hop));
            let Some(packet) = longest.max() else { continue };
            let [shaper, policer] = places(&sides, side);
            for (bucket, place) in [(direction.shaper, shaper), (direction.policer, policer)] {
                let framed = direction.framing.bytes(packet);
                report(bucket.and_then(|bucket| small_burst(&bucket, framed, &place)), problems);
            }
        }
    }
}

/// The longest packet of a flow on a hop, on any of its legs.
fn longest(scenario: &Scenario, routes: &Routes, flow: &Flow, hop: Hop) -> u32 {
    let of_gateways = flow.gateways.iter().flat_map(|gateway| &gateway.ends);
    let all = of_gateways.map(|end| &end.transport).chain([&flow.transport]);
    let longest = all.map(|transport| transport.plan().lengths().longest).max().unwrap_or(0);
    let longest = longest + u64::from(scenario.ip.header_bytes());
    // A path of a switch is inside of a tunnel as a whole, or outside.
    let is_inside = flow.ways().into_iter().any(|way| {
        let hidden = scenario.hidden(routes, flow, way).hops;
        let is_of_switch = || !routes.path(way.0, way.1, &scenario.links).contains(&hop);
        hidden.contains(&hop) || !hidden.is_empty() && is_of_switch()
    });
    let outside = if is_inside { scenario.longest_outside(flow) } else { 0 };
    u32::try_from(longest.max(outside)).unwrap_or(u32::MAX)
}

fn small_burst(bucket: &TokenBucket, packet: u32, place: &Path) -> Option<Problem> {
    let least = Bytes(packet.into());
    let peak = bucket.peak.filter(|peak| peak.burst < least);
    let (place, found) = match peak {
        Some(peak) => (place.key("peak").key("burst"), peak.burst),
        None => (place.key("burst"), bucket.burst),
    };
    (found < least).then(|| {
        Problem::new(place, format!("at least \"{packet}B\""), format!("\"{found}\"")).because(
            "the longest packet has this length on the line, and one that is longer than the burst never \
             passes: tbf of Linux drops it",
        )
    })
}
