//! Directions whose rate a modem determines.

use language::error::Problem;

use super::sides::{NAMES, Sides};

/// Another rate of a direction with a modem. A rate of both directions is that of the other one, if
/// only one of them has a modem of its own.
pub(super) fn with_rate(sides: &Sides<'_>, side: usize) -> Option<Problem> {
    let Sides { link, path } = *sides;
    let own = sides.own(side);
    let of_both = own.is_none_or(|own| own.channel.is_none());
    let rate = match (own.and_then(|own| own.rate), link.both.rate) {
        (Some(rate), _) => Some((path.key(NAMES[side]).key("rate"), rate)),
        (None, Some(rate)) if of_both => Some((path.key("rate"), rate)),
        _ => None,
    };
    if let Some((path, rate)) = rate {
        let problem = Problem::new(path, "no rate with a modem", rate.to_string());
        return Some(problem.because("the rate follows from the signal and the bandwidth"));
    }
    let events = link.event.iter().enumerate().find_map(|(number, event)| {
        let place = path.key("event").index(number);
        let of_side = [&event.forward, &event.backward][side];
        let own = of_side.as_ref().and_then(|own| own.rate);
        let own = own.map(|rate| (place.key(NAMES[side]).key("rate"), rate));
        own.or(event.both.rate.map(|rate| (place.key("rate"), rate)))
    });
    let (path, rate) = events?;
    let problem = Problem::new(path, "no rate with a modem", rate.to_string());
    Some(problem.because("the modem determines it"))
}

/// A trace with rates on a direction with a modem.
pub(super) fn with_trace(sides: &Sides<'_>, side: usize, trace: &link::Trace) -> Option<Problem> {
    sides.value(side, |one| &one.trace)?;
    let has_rate = trace.timeline.changes().iter().any(|change| change.rate.is_some());
    has_rate.then(|| {
        let place = sides.place(side, "trace", |one| &one.trace);
        let problem =
            Problem::new(place, "a trace without rates with a modem", "a trace with rates");
        problem.because("the modem determines the rate")
    })
}
