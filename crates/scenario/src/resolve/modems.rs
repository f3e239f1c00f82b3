//! Directions whose rate a modem determines.

use language::error::Problem;

use super::sides::{NAMES, Sides};

/// The origin of the rate of a direction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The modem of its channel.
    Modem,
    /// The signal of its path over satellites.
    Orbit,
}

/// Another rate of a direction with a modem. A rate of both directions is that of the other one, if
/// only one of them has a modem of its own.
pub(super) fn with_rate(sides: &Sides<'_>, side: usize, by: By) -> Option<Problem> {
    let Sides { link, path } = *sides;
    let own = sides.own(side);
    let of_both = own.is_none_or(|own| match by {
        By::Modem => own.channel.is_none(),
        By::Orbit => own.orbit.is_none(),
    });
    let expected = match by {
        By::Modem => "no rate with a modem",
        By::Orbit => "no rate with the `signal` of an `orbit`",
    };
    let rate = match (own.and_then(|own| own.rate), link.both.rate) {
        (Some(rate), _) => Some((path.key(NAMES[side]).key("rate"), rate)),
        (None, Some(rate)) if of_both => Some((path.key("rate"), rate)),
        _ => None,
    };
    if let Some((path, rate)) = rate {
        let problem = Problem::new(path, expected, rate.to_string());
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
    let problem = Problem::new(path, expected, rate.to_string());
    Some(problem.because("the modem determines it"))
}

/// A signal of a path over satellites on a direction with a modem.
pub(super) fn with_orbit(sides: &Sides<'_>, side: usize) -> Problem {
    let place = sides.place(side, "orbit", |one| &one.orbit).key("signal");
    Problem::new(place, "one modem in a direction", "another one in the `channel`")
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
