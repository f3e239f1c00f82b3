//! The two directions of a link.

use language::error::Problem;
use language::path::Path;
use link::{Acm, Cells, Framing, Jitter, RedSettings};
use units::{Bytes, Rate, Span};

use super::changes::{changes, pushed_out};
use super::channels::Channels;
use super::modems::By;
use super::sides::{NAMES, Sides, report};
use super::{arq, buckets, demand, fec, jitter, modems, reorder, traces};
use crate::document;
use crate::model::{Aqm, Change, Channel, Direction, LowPriority, QueueLimit, Timeline};
use crate::trace::Trace;

/// The two directions of a link. What is missing in both is missing once.
pub(super) fn directions(
    sides: &Sides<'_>,
    files: &Channels<'_>,
    problems: &mut Vec<Problem>,
) -> [Direction; 2] {
    let signals = Signals::of(sides, files, problems);
    let (rates, delays) = rates_and_delays(sides, &signals, problems);
    let Signals { channels, traces, changes, modems, flown, is_read: _ } = signals;
    let mut parts = channels.into_iter().zip(traces).zip(changes);
    let mut directions = [0, 1].map(|side| {
        let ((channel, trace), changes) = parts.next().unwrap_or_default();
        Direction {
            rate: rates[side].unwrap_or(Rate::from_bits_per_second(1)),
            delay: delays[side].unwrap_or(Span::ZERO),
            channel: channel.unwrap_or(Channel::Perfect),
            trace: trace.unwrap_or_default(),
            timeline: Timeline::new(changes),
            jitter: jitter::resolve(sides, side, files, problems),
            ..direction(sides, side)
        }
    });
    for (side, _) in modems.iter().enumerate().filter(|(_, modem)| modem.is_some()) {
        let trace = &directions[side].trace;
        let found = modems::with_rate(sides, side, By::Modem);
        let found = found.or_else(|| flown[side].then(|| modems::with_orbit(sides, side)));
        report(found.or_else(|| modems::with_trace(sides, side, trace)), problems);
    }
    for (side, _) in flown.iter().enumerate().filter(|(_, flown)| **flown) {
        report(modems::with_rate(sides, side, By::Orbit), problems);
    }
    // Their defaults depend on whole directions, and each on those before it.
    let repeats = arq::resolve(sides, &directions, problems);
    directions.iter_mut().zip(repeats).for_each(|(direction, arq)| direction.arq = arq);
    let codes = fec::resolve(sides, &directions, problems);
    directions.iter_mut().zip(codes).for_each(|(direction, fec)| direction.fec = fec);
    let assigned = demand::resolve(sides, &directions, problems);
    directions.iter_mut().zip(assigned).for_each(|(direction, demand)| direction.demand = demand);
    buckets::exclusions(sides, &directions, problems);
    reorder::check(sides, &directions, problems);
    problems.extend(directions.iter().find_map(|side| pushed_out(side, sides.path)));
    for (side, direction) in directions.iter().enumerate() {
        report(managed(sides, side, direction), problems);
    }
    directions
}

/// Parts of both directions that come from files or change during the run.
struct Signals {
    channels: [Option<Channel>; 2],
    traces: [Option<link::Trace>; 2],
    changes: [Vec<Change>; 2],
    /// Modems, which determine rates.
    modems: [Option<Acm>; 2],
    /// True if a path over satellites determines the rate.
    flown: [bool; 2],
    /// False if a trace has a problem: it may have rates and delays.
    is_read: bool,
}

impl Signals {
    /// Channels and traces of both directions are read once.
    fn of(sides: &Sides<'_>, files: &Channels<'_>, problems: &mut Vec<Problem>) -> Self {
        let Sides { link, path } = *sides;
        let mut channel = |channel: Option<&document::Channel>, path: Path| {
            channel.map(|channel| files.resolve(channel, &path.key("channel"), problems))
        };
        let both = channel(link.both.channel.as_ref(), path.clone());
        let channels = [0, 1].map(|side| {
            let own = sides.own(side).and_then(|own| own.channel.as_ref());
            channel(own, path.key(NAMES[side])).or_else(|| both.clone())
        });
        let changes = changes(link, files.duration, path, problems);
        let before = problems.len();
        let mut trace = |trace: Option<&document::Trace>, path: Path| {
            trace.map(|trace| traces::resolve(trace, files, &path.key("trace"), problems))
        };
        let both = trace(link.both.trace.as_ref(), path.clone());
        let traces = [0, 1].map(|side| {
            let own = sides.own(side).and_then(|own| own.trace.as_ref());
            trace(own, path.key(NAMES[side])).or_else(|| both.clone())
        });
        let (traces, flown) = over_satellites(sides, traces, files, problems);
        let modems = channels.each_ref().map(|channel| match channel {
            Some(Channel::Acm { acm, .. }) => Some((**acm).clone()),
            _ => None,
        });
        let is_read = problems.len() == before;
        Self { channels, traces, changes, modems, flown, is_read }
    }
}

/// Traces with the paths over satellites of both directions, and whether the paths have rates. One
/// of the link is computed once.
fn over_satellites(
    sides: &Sides<'_>,
    traces: [Option<link::Trace>; 2],
    files: &Channels<'_>,
    problems: &mut Vec<Problem>,
) -> ([Option<link::Trace>; 2], [bool; 2]) {
    let Sides { link, path } = *sides;
    let mut orbit = |orbit: Option<&document::Orbit>, path: Path| {
        orbit.map(|orbit| traces::orbit(orbit, files, &path.key("orbit"), problems))
    };
    let both = orbit(link.both.orbit.as_ref(), path.clone());
    let orbits = [0, 1].map(|side| {
        let own = sides.own(side).and_then(|own| own.orbit.as_ref());
        orbit(own, path.key(NAMES[side])).or_else(|| both.clone())
    });
    let flown = orbits.each_ref().map(|one| one.as_ref().is_some_and(Trace::has_rate));
    let mut parts = traces.into_iter().zip(orbits);
    let traces = [0, 1].map(|side| {
        let (trace, orbit) = parts.next().unwrap_or_default();
        let place = sides.place(side, "orbit", |one| &one.orbit);
        let (merged, problem) = traces::merged(trace, orbit, &place);
        report(problem, problems);
        merged
    });
    (traces, flown)
}

/// Rates and delays at the start. From its start on, a trace has the rate and the delay that it
/// sets.
fn rates_and_delays(
    sides: &Sides<'_>,
    signals: &Signals,
    problems: &mut Vec<Problem>,
) -> ([Option<Rate>; 2], [Option<Span>; 2]) {
    let traces = signals.traces.each_ref().map(Option::as_ref);
    let delays = [0, 1].map(|side| {
        let written = sides.value(side, |one| &one.delay).copied();
        traces[side].and_then(link::Trace::mean_delay).or(written)
    });
    let rates = [0, 1].map(|side| match &signals.modems[side] {
        Some(acm) => Some(acm.rate()),
        None => {
            let written = sides.value(side, |one| &one.rate).copied();
            traces[side].and_then(link::Trace::mean_rate).or(written)
        }
    });
    if signals.is_read {
        problems.extend(missing("delay", "a time such as \"250ms\"", delays, sides.path));
        problems.extend(missing("rate", "a data rate such as \"2Mbit/s\"", rates, sides.path));
    }
    (rates, delays)
}

/// The values of a direction that depend on nothing else.
fn direction(sides: &Sides<'_>, side: usize) -> Direction {
    // Without `..`, so that a new key of the language has to reach the model.
    let document::Direction {
        // Here.
        queue: _,
        ecn_marking: _,
        aqm: _,
        feedback: _,
        overhead: _,
        min_packet: _,
        cells: _,
        shaper: _,
        policer: _,
        reorder: _,
        duplicate: _,
        slot: _,
        // In `directions`.
        rate: _,
        delay: _,
        channel: _,
        trace: _,
        orbit: _,
        jitter: _,
        arq: _,
        fec: _,
        demand: _,
        // In `compression` and `mtu`: both ends of a link have them.
        header_compression: _,
        mtu: _,
    } = &sides.link.both;
    let queue = sides.value(side, |one| &one.queue).copied().unwrap_or_default();
    Direction {
        rate: Rate::from_bits_per_second(1),
        delay: Span::ZERO,
        jitter: Jitter::NONE,
        queue: limit(queue),
        low_priority: low_priority(queue),
        ecn_marking: sides.value(side, |one| &one.ecn_marking).copied(),
        aqm: sides.value(side, |one| &one.aqm).and_then(document::Aqm::resolve),
        arq: None,
        fec: None,
        feedback: sides.value(side, |one| &one.feedback).and_then(document::Feedback::resolve),
        demand: None,
        framing: framing(sides, side),
        shaper: sides.value(side, |one| &one.shaper).and_then(document::Bucket::resolve),
        policer: sides.value(side, |one| &one.policer).and_then(document::Bucket::resolve),
        channel: Channel::Perfect,
        trace: link::Trace::default(),
        timeline: Timeline::default(),
        reorder: sides.value(side, |one| &one.reorder).is_some_and(|reorder| reorder.falls()),
        reordering: sides.value(side, |one| &one.reorder).and_then(|reorder| reorder.at_once()),
        duplication: sides.value(side, |one| &one.duplicate).and_then(|one| one.resolve()),
        slots: sides.value(side, |one| &one.slot).map(|slot| slot.resolve()),
    }
}

/// Active queue management that cannot do its work.
fn managed(sides: &Sides<'_>, side: usize, direction: &Direction) -> Option<Problem> {
    let aqm = direction.aqm?;
    let with = format!("with aqm = {:?}", aqm.name());
    let rule = match direction.low_priority {
        LowPriority::Ignore => None,
        LowPriority::PushOut => Some("push-out"),
        LowPriority::Refuse => Some("refuse"),
    };
    if let Some(rule) = rule {
        let path = sides.place(side, "queue", |one| &one.queue).key("low_priority");
        let problem = Problem::new(path, format!("\"ignore\" {with}"), format!("{rule:?}"));
        return Some(problem.because("active queue management decides itself which packet leaves"));
    }
    if direction.ecn_marking.is_some() {
        let expected = format!("no ecn_marking {with}");
        let path = sides.place(side, "ecn_marking", |one| &one.ecn_marking);
        let problem = Problem::new(path, expected, "a table");
        return Some(problem.because("active queue management marks by its own rules"));
    }
    let Aqm::Red(red) = aqm else { return None };
    let place = sides.place(side, "aqm", |one| &one.aqm);
    let RedSettings { min_threshold, max_threshold, .. } = red;
    let is_usual = min_threshold == RedSettings::default().min_threshold;
    (max_threshold <= min_threshold).then(|| match is_usual {
        true => Problem::new(
            place.key("max_threshold"),
            format!("more than the `min_threshold` of {min_threshold:?}"),
            format!("{max_threshold:?}"),
        ),
        false => Problem::new(
            place.key("min_threshold"),
            format!("less than the `max_threshold` of {max_threshold:?}"),
            format!("{min_threshold:?}"),
        ),
    })
}

fn missing<T>(key: &str, expected: &str, values: [Option<T>; 2], link: &Path) -> Option<Problem> {
    let path = match values {
        [Some(_), Some(_)] => return None,
        [None, None] => link.key(key),
        [None, _] => link.key("forward").key(key),
        [_, None] => link.key("backward").key(key),
    };
    Some(Problem::new(path, expected, "nothing"))
}

/// Bytes that a direction adds to packets. The schema bounds all of them.
fn framing(sides: &Sides<'_>, side: usize) -> Framing {
    let bytes = |bytes: Bytes| u32::try_from(bytes.get()).unwrap_or(u32::MAX);
    let or_none = |value: Option<&Bytes>| value.map_or(0, |one| bytes(*one));
    let cells = sides.value(side, |one| &one.cells).and_then(|cells| match cells {
        document::Cells::Without(_) => None,
        document::Cells::Table(cell) => {
            Some(Cells { payload: bytes(cell.payload), header: bytes(cell.header) })
        }
    });
    Framing {
        overhead: or_none(sides.value(side, |one| &one.overhead)),
        min_packet: or_none(sides.value(side, |one| &one.min_packet)),
        cells,
    }
}

fn limit(queue: document::Queue) -> QueueLimit {
    match queue {
        document::Queue::Packets { packets, .. } => QueueLimit::Packets(packets),
        document::Queue::Bytes { bytes, .. } => QueueLimit::Bytes(bytes.get()),
        // See `queues`.
        document::Queue::Time { .. } | document::Queue::Bdp { .. } => QueueLimit::Unlimited,
        document::Queue::Unlimited(_) => QueueLimit::Unlimited,
    }
}

fn low_priority(queue: document::Queue) -> LowPriority {
    match queue {
        document::Queue::Packets { low_priority, .. }
        | document::Queue::Bytes { low_priority, .. }
        | document::Queue::Time { low_priority, .. }
        | document::Queue::Bdp { low_priority, .. } => low_priority,
        document::Queue::Unlimited(_) => LowPriority::Ignore,
    }
}
