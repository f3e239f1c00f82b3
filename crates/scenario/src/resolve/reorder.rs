//! Directions in which packets overtake each other, or arrive twice.

use language::error::Problem;
use language::path::Path;
use units::Span;

use super::sides::{Sides, report};
use crate::model::Direction;

/// Directions that reorder without a delay, or without one that falls. Directions that reorder or
/// duplicate with something that relies on the order of packets.
pub(super) fn check(sides: &Sides<'_>, directions: &[Direction; 2], problems: &mut Vec<Problem>) {
    let has_arq = directions.iter().any(|direction| direction.arq.is_some());
    let is_own = |side: usize| sides.own(side).is_some_and(|own| own.reorder.is_some());
    // What the link has is for the direction that needs it.
    let of_both = |side: usize| directions[side].reorder && !is_own(side);
    let any_falls = (0..2).any(|side| of_both(side) && directions[side].delay_falls());
    for (side, direction) in directions.iter().enumerate() {
        let falls = direction.delay_falls() || (!is_own(side) && any_falls);
        let conflict = |place: Path, least: &str, found: &str| {
            conflict(sides, side, direction, has_arq).map(|(with, reason)| {
                Problem::new(place, format!("{least} {with}"), found).because(reason)
            })
        };
        let place = sides.place(side, "reorder", |one| &one.reorder);
        if direction.reordering.is_some() {
            let problem = match has_delay(direction) {
                true => conflict(place, "false", "a table"),
                false => Some(
                    Problem::new(place, "no table where the delay is 0s", "one")
                        .because("a packet that is sent at once would overtake none"),
                ),
            };
            report(problem, problems);
        } else if direction.reorder && !falls {
            let expected = "false where the delay never falls";
            let problem = Problem::new(place, expected, "true").because(NOTHING_OVERTAKES);
            report(Some(problem), problems);
        } else if direction.reorder {
            report(conflict(place, "false", "true"), problems);
        }
        if direction.jitter.reorders() {
            let place = sides.place(side, "jitter", |one| &one.jitter).key("reorder");
            report(conflict(place, "false", "true"), problems);
        }
        report(slots(sides, side, direction, has_arq), problems);
        if let Some(duplication) = direction.duplication {
            let place = sides.place(side, "duplicate", |one| &one.duplicate);
            report(conflict(place, "0", &format!("{:?}", duplication.probability)), problems);
        }
    }
}

/// Slots whose shortest delay is above the longest, or with something that does not keep the order
/// or the time.
fn slots(sides: &Sides<'_>, side: usize, direction: &Direction, has_arq: bool) -> Option<Problem> {
    let slot = sides.value(side, |one| &one.slot)?;
    let place = sides.place(side, "slot", |one| &one.slot);
    if let Some(most) = slot.max_delay.filter(|most| *most < slot.min_delay) {
        let expected = format!("at least the `min_delay` of {}", slot.min_delay);
        return Some(Problem::new(place.key("max_delay"), expected, most.to_string()));
    }
    let conflicts = [
        (
            direction.overtakes(),
            "no slot where packets overtake others",
            "packets take their slots in the order in which they were sent",
        ),
        (
            has_arq,
            "no slot with `arq` on the link",
            "the timer of ARQ does not know when slots open",
        ),
    ];
    let found = conflicts.into_iter().find(|(is_there, ..)| *is_there);
    found.map(|(_, expected, reason)| Problem::new(place, expected, "one").because(reason))
}

/// Returns true if a packet has a delay, be it for a time or by its jitter.
fn has_delay(direction: &Direction) -> bool {
    let changed = direction.changes().filter_map(|change| change.delay);
    changed.chain([direction.delay]).any(|delay| delay > Span::ZERO) || !direction.jitter.is_none()
}

/// A mechanism that relies on packets which arrive once and in their order, and the reason.
fn conflict(
    sides: &Sides<'_>,
    side: usize,
    direction: &Direction,
    has_arq: bool,
) -> Option<(&'static str, &'static str)> {
    let scheme = sides.value(side, |one| &one.header_compression);
    let compressed = scheme.is_some_and(|scheme| scheme.resolve().is_some());
    let conflicts = [
        (
            has_arq,
            "with `arq` on the link",
            "frames of ARQ arrive in the order in which they were sent",
        ),
        (direction.fec.is_some(), "with `fec`", "blocks of FEC end where the next one begins"),
        (
            compressed,
            "with `header_compression`",
            "a header is decompressed with the one before it",
        ),
    ];
    conflicts.into_iter().find_map(|(is_there, with, reason)| is_there.then_some((with, reason)))
}

const NOTHING_OVERTAKES: &str =
    "packets overtake others where an event or a trace shortens the delay, and nowhere else";
