//! Automatic repeat request of the directions of a link.

use language::error::Problem;
use language::path::Path;
use link::{ArqSettings, Repeat, Serialiser};
use units::Span;

use super::sides::{Sides, report};
use crate::model::Direction;

/// Bytes of a packet for which the defaults of timers are made.
pub(super) const PACKET: u32 = 1500;

/// ARQ of both directions.
pub(super) fn resolve(
    sides: &Sides<'_>,
    directions: &[Direction; 2],
    problems: &mut Vec<Problem>,
) -> [Option<ArqSettings>; 2] {
    [0, 1].map(|side| {
        let arq = sides.value(side, |one| &one.arq)?.resolve()?;
        let header = arq.settings(Span::ZERO).header;
        let arq = arq.settings(timer(directions, header));
        report(large_window(&arq, &sides.place(side, "arq", |one| &one.arq)), problems);
        Some(arq)
    })
}

/// A window that the sequence numbers cannot tell apart.
fn large_window(arq: &ArqSettings, path: &Path) -> Option<Problem> {
    let largest = arq.repeat.largest_window(arq.sequence_bits);
    let expected = format!("at most {largest} with sequence_bits = {}", arq.sequence_bits);
    let rule = match arq.repeat {
        Repeat::GoBackN => "2^bits - 1 frames of go-back-n",
        Repeat::Selective { .. } => "2^(bits - 1) frames of selective-repeat",
    };
    (arq.window > largest).then(|| {
        let problem = Problem::new(path.key("window"), expected, arq.window.to_string());
        problem.because(format!(
            "the sequence space can tell apart {rule}; with more, a repeat looks like a new frame"
        ))
    })
}

/// The default of the timer: a status frame has come back, even if it and its frame had to wait for
/// a packet in transmission.
fn timer(directions: &[Direction; 2], header: u32) -> Span {
    let of_direction = |direction: &Direction| {
        let delays = direction.changes().filter_map(|change| change.delay);
        let delay = delays.fold(direction.delay, Span::max);
        let bytes = 2 * direction.framing.bytes(PACKET + header);
        delay + Serialiser::new(direction.lowest_rate()).restart(bytes)
    };
    directions.iter().map(of_direction).fold(Span::ZERO, |sum, span| sum + span)
}
