//! Warnings about events of a link without effect.

use std::collections::BTreeMap;

use units::{Span, Time};

use super::{Mechanism, Side};
use crate::warnings::WarningKind as Kind;
use scenario::model::Direction;

/// Events.
pub(crate) const MECHANISM: Mechanism = Mechanism { key: "event", warnings, ..Mechanism::PLAIN };

fn warnings(side: &Side<'_>) -> Vec<(Kind, String)> {
    let (direction, duration) = (side.direction(), side.scenario.duration);
    let late =
        direction.timeline.changes().iter().filter(|change| change.at >= duration).map(|change| {
            format!("the event at {} is after the end of the run ({duration})", change.at)
        });
    let found = late.chain(idle(direction, duration));
    found.map(|text| (Kind::EventWithoutEffect, text)).collect()
}

/// Values that are set although they already apply, each time.
fn idle(direction: &Direction, duration: Span) -> Vec<String> {
    if !direction.trace.timeline.is_empty() {
        return Vec::new();
    }
    let (mut rate, mut delay) = (direction.rate, direction.delay);
    // By the time of a change, which no other has, whether its rate and its delay are new once.
    let mut new: BTreeMap<Span, [bool; 2]> = BTreeMap::new();
    for (_, change) in direction.timeline.until(Time::ZERO + duration) {
        let [new_rate, new_delay] = new.entry(change.at).or_default();
        let before = (rate, delay);
        rate = change.rate.unwrap_or(rate);
        delay = change.delay.unwrap_or(delay);
        *new_rate |= rate != before.0;
        *new_delay |= delay != before.1;
    }
    let idle = direction
        .timeline
        .changes()
        .iter()
        .filter_map(|change| Some((change, new.get(&change.at)?)));
    idle.flat_map(|(change, [new_rate, new_delay])| {
        let rate = change.rate.filter(|_| !new_rate).map(|rate| format!("rate of {rate}"));
        let delay = change.delay.filter(|_| !new_delay).map(|delay| format!("delay of {delay}"));
        let values = rate.into_iter().chain(delay);
        values.map(|value| format!("the event at {} sets the present {value} again", change.at))
    })
    .collect()
}
