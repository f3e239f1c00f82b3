//! Directions whose rate a modem determines.

use language::error::Problem;
use language::path::Path;

use crate::document;

/// Another rate of a direction with a modem. `path` is that of the link. A rate of both directions is
/// that of the other one, if only one of them has a modem of its own.
pub(super) fn with_rate(
    link: &document::Link,
    (side, own): (&str, &document::Direction),
    path: &Path,
) -> Option<Problem> {
    let side_path = path.key(side);
    let of_both = own.channel.is_none();
    let rate = match (own.rate, link.both.rate) {
        (Some(rate), _) => Some((side_path.key("rate"), rate)),
        (None, Some(rate)) if of_both => Some((path.key("rate"), rate)),
        _ => None,
    };
    if let Some((path, rate)) = rate {
        let problem = Problem::new(path, "no rate with a modem", rate.to_string());
        return Some(problem.because("the rate follows from the signal and the bandwidth"));
    }
    let events = link.event.iter().enumerate().find_map(|(number, event)| {
        let place = path.key("event").index(number);
        let of_side = if side == "forward" { &event.forward } else { &event.backward };
        let own = of_side.as_ref().and_then(|own| own.rate);
        let own = own.map(|rate| (place.key(side).key("rate"), rate));
        own.or(event.both.rate.map(|rate| (place.key("rate"), rate)))
    });
    let (path, rate) = events?;
    let problem = Problem::new(path, "no rate with a modem", rate.to_string());
    Some(problem.because("the modem determines it"))
}

/// A trace with rates on a direction with a modem.
pub(super) fn with_trace(
    link: &document::Link,
    (side, own): (&str, &document::Direction),
    trace: &link::Trace,
    path: &Path,
) -> Option<Problem> {
    let place = if own.trace.is_some() { path.key(side) } else { path.clone() };
    let has_trace = own.trace.is_some() || link.both.trace.is_some();
    let has_rate = trace.timeline.changes().iter().any(|change| change.rate.is_some());
    (has_trace && has_rate).then(|| {
        let problem = Problem::new(
            place.key("trace"),
            "a trace without rates with a modem",
            "a trace with rates",
        );
        problem.because("the modem determines the rate")
    })
}
