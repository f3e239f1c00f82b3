//! Directions in which packets overtake each other.

use language::error::Problem;
use language::path::Path;

use crate::document;
use crate::model::Direction;

/// Directions that reorder without a delay that falls, or with something that relies on the order of packets.
/// `path` is that of the link, and `sides` are the directions with keys of their own.
pub(super) fn check(
    sides: [(&str, &document::Direction); 2],
    directions: &[Direction; 2],
    compressed: [bool; 2],
    path: &Path,
    problems: &mut Vec<Problem>,
) {
    let has_arq = directions.iter().any(|direction| direction.arq.is_some());
    // What the link has is for the direction that needs it.
    let of_both = |number: usize| directions[number].reorder && sides[number].1.reorder.is_none();
    let any_falls = (0..2).any(|number| of_both(number) && directions[number].delay_falls());
    for ((side, own), (direction, compressed)) in
        sides.into_iter().zip(directions.iter().zip(compressed))
    {
        if !direction.reorder {
            continue;
        }
        let is_own = own.reorder.is_some();
        let falls = direction.delay_falls() || (!is_own && any_falls);
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
        let place = if is_own { path.key(side) } else { path.clone() };
        let found = conflicts.into_iter().find(|(is_there, ..)| *is_there);
        problems.extend(found.map(|(_, expected, reason)| {
            Problem::new(place.key("reorder"), expected, "true").because(reason)
        }));
        if found.is_some() && !is_own {
            return;
        }
    }
}

const NOTHING_OVERTAKES: &str =
    "packets overtake others where an event or a trace shortens the delay, and nowhere else";
