//! Directions in which packets overtake each other.

use language::error::Problem;

use super::sides::{Sides, report};
use crate::model::Direction;

/// Directions that reorder without a delay that falls, or with something that relies on the order of packets.
pub(super) fn check(sides: &Sides<'_>, directions: &[Direction; 2], problems: &mut Vec<Problem>) {
    let has_arq = directions.iter().any(|direction| direction.arq.is_some());
    let is_own = |side: usize| sides.own(side).is_some_and(|own| own.reorder.is_some());
    // What the link has is for the direction that needs it.
    let of_both = |side: usize| directions[side].reorder && !is_own(side);
    let any_falls = (0..2).any(|side| of_both(side) && directions[side].delay_falls());
    for (side, direction) in directions.iter().enumerate().filter(|(_, one)| one.reorder) {
        let falls = direction.delay_falls() || (!is_own(side) && any_falls);
        let scheme = sides.value(side, |one| &one.header_compression);
        let compressed = scheme.is_some_and(|scheme| scheme.resolve().is_some());
        let conflicts = [
            (!falls, "false where the delay never falls", NOTHING_OVERTAKES),
            (
                has_arq,
                "false with `arq` on the link",
                "frames of ARQ arrive in the order in which they were sent",
            ),
            (
                direction.fec.is_some(),
                "false with `fec`",
                "blocks of FEC end where the next one begins",
            ),
            (
                compressed,
                "false with `header_compression`",
                "a header is decompressed with the one before it",
            ),
        ];
        let found = conflicts.into_iter().find(|(is_there, ..)| *is_there);
        let place = sides.place(side, "reorder", |one| &one.reorder);
        let problem = found
            .map(|(_, expected, reason)| Problem::new(place, expected, "true").because(reason));
        report(problem, problems);
    }
}

const NOTHING_OVERTAKES: &str =
    "packets overtake others where an event or a trace shortens the delay, and nowhere else";
