//! Events that change links during a run.

use language::error::Problem;
use language::path::Path;
use units::Span;

use crate::document::{self, Changed, Phase};
use crate::model::{Change, Direction, Link, LowPriority};

/// Changes of one entry; more are a slip of the unit. An hour at 100 Hz has 360,000.
const MOST: u64 = 1_000_000;

/// The changes of both directions of a link, forward first; `path` is that of the link.
pub(super) fn changes(
    link: &document::Link,
    duration: Span,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> [Vec<Change>; 2] {
    let mut changes = [Vec::new(), Vec::new()];
    let mut before = Span::ZERO;
    for (number, entry) in link.event.iter().enumerate() {
        let path = path.key("event").index(number);
        problems.extend(unsorted(entry, before, &path));
        problems.extend(without_end(entry, &path));
        before = entry.at;
        let sides = [&entry.forward, &entry.backward].map(|own| change(entry, own.as_ref()));
        problems.extend(sides.iter().all(Option::is_none).then(|| empty(&path)));
        for (changes, change) in changes.iter_mut().zip(sides) {
            changes.extend(change);
        }
        problems.extend(too_often(entry, duration, &path));
    }
    changes
}

/// Share of the duration in which events that do not repeat are spread.
const SPREAD: u64 = 10;

/// The bound of the delay of all events, zero where the phase is fixed. A whole period, so that all
/// phases are equally likely; but no event is lost, and its effects can still be seen. Events after
/// the end do not count: they never happen.
pub(super) fn phase(document: &document::Document, links: &[Link]) -> Span {
    let sides = links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let all = sides.flat_map(|side| side.timeline.changes());
    let of_links = all.map(|change| (change.at, change.every));
    let moves = document.switch.iter().flat_map(|switch| &switch.event);
    let all = of_links.chain(moves.map(|one| (one.at, one.every)));
    let changes: Vec<_> = all.filter(|(at, _)| *at < document.duration).collect();
    let (Phase::Random, Some(last)) = (document.phase, changes.iter().map(|(at, _)| *at).max())
    else {
        return Span::ZERO;
    };
    let spread = Span::from_nanos(document.duration.as_nanos() / SPREAD);
    let period = changes.iter().filter_map(|(_, every)| *every).max().unwrap_or(spread);
    period.min(Span::from_nanos(document.duration.saturating_sub(last).as_nanos() / 2))
}

/// The change of one direction, if there is one.
fn change(entry: &document::Event, own: Option<&Changed>) -> Option<Change> {
    let both = &entry.both;
    let rate = own.and_then(|own| own.rate).or(both.rate);
    let delay = own.and_then(|own| own.delay).or(both.delay);
    let outage = own.and_then(|own| own.outage).or(both.outage);
    let (at, every) = (entry.at, entry.every);
    (rate.is_some() || delay.is_some() || outage.is_some()).then_some(Change {
        at,
        every,
        rate,
        delay,
        outage,
        loss: None,
    })
}

fn empty(path: &Path) -> Problem {
    let expected =
        "at least one of `rate`, `delay` and `outage`, here or in `forward` or `backward`";
    Problem::new(path.clone(), expected, "nothing that changes")
}

fn unsorted(entry: &document::Event, before: Span, path: &Path) -> Option<Problem> {
    (entry.at <= before).then(|| {
        let expected = format!("a time after that of the event before, \"{before}\"");
        Problem::new(path.key("at"), expected, format!("\"{}\"", entry.at))
    })
}

/// An outage that has not ended when the next begins.
fn without_end(entry: &document::Event, path: &Path) -> Vec<Problem> {
    let Some(every) = entry.every else { return Vec::new() };
    let outage = |own: &Option<Changed>| own.as_ref().and_then(|own| own.outage);
    let places = [
        (entry.both.outage, path.clone()),
        (outage(&entry.forward), path.key("forward")),
        (outage(&entry.backward), path.key("backward")),
    ];
    let too_long = |(outage, path): (Option<Span>, Path)| {
        let outage = outage.filter(|outage| *outage >= every)?;
        let expected = format!("a time below `every`, \"{every}\"");
        let problem = Problem::new(path.key("outage"), expected, format!("\"{outage}\""));
        Some(problem.because("the link would never send again"))
    };
    places.into_iter().filter_map(too_long).collect()
}

fn too_often(entry: &document::Event, duration: Span, path: &Path) -> Option<Problem> {
    let every = entry.every?;
    let left = duration.saturating_sub(entry.at).as_nanos();
    (left.div_ceil(every.as_nanos()) > MOST).then(|| {
        let least = Span::from_nanos(left.div_ceil(MOST));
        let expected = format!("at least \"{least}\" with this `duration`");
        let problem = Problem::new(path.key("every"), expected, format!("\"{every}\""));
        problem.because(format!("an event happens at most {MOST} times"))
    })
}

/// A packet that leaves a queue again would move all behind it to other rates and into outages.
pub(super) fn pushed_out(side: &Direction, path: &Path) -> Option<Problem> {
    let what = side.dynamics().filter(|_| side.low_priority == LowPriority::PushOut)?;
    let expected = format!("no {what} of a link whose queue pushes packets out");
    let found = "low_priority = \"push-out\"";
    let path = if what == "modem" { path.key("channel").key(what) } else { path.key(what) };
    let problem = Problem::new(path, expected, found);
    Some(problem.because("when a packet arrives is computed as it enters the queue"))
}
