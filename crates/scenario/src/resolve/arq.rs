//! Automatic repeat request of the directions of a link.

use language::error::Problem;
use language::path::Path;
use link::{ArqSettings, Repeat, Serialiser};
use units::Span;

use crate::document;
use crate::model::Direction;

/// Bytes of a packet for which the defaults of timers are made.
pub(super) const PACKET: u32 = 1500;

/// ARQ of both directions; `path` is that of the link, and `sides` are the directions with keys of
/// their own.
pub(super) fn resolve(
    link: &document::Link,
    sides: [(&str, &document::Direction); 2],
    directions: &[Direction; 2],
    path: &Path,
    problems: &mut Vec<Problem>,
) -> [Option<ArqSettings>; 2] {
    let mut complained_about_both = false;
    sides.map(|(side, own)| {
        let is_own = own.arq.is_some();
        let arq = own.arq.as_ref().or(link.both.arq.as_ref())?.resolve()?;
        let header = arq.settings(Span::ZERO).header;
        let arq = arq.settings(timer(directions, header));
        let largest = arq.repeat.largest_window(arq.sequence_bits);
        if arq.window > largest && (is_own || !complained_about_both) {
            complained_about_both |= !is_own;
            let place = if is_own { path.key(side) } else { path.clone() };
            let bits = arq.sequence_bits;
            let expected = format!("at most {largest} with sequence_bits = {bits}");
            let found = arq.window.to_string();
            let problem = Problem::new(place.key("arq").key("window"), expected, found);
            let rule = match arq.repeat {
                Repeat::GoBackN => "2^bits - 1 frames of go-back-n",
                Repeat::Selective { .. } => "2^(bits - 1) frames of selective-repeat",
            };
            problems.push(problem.because(format!(
                "the sequence space can tell apart {rule}; with more, a repeat looks like a new frame"
            )));
        }
        Some(arq)
    })
}

/// The default of the timer: a status frame has come back, even if it and its frame had to wait for a
/// packet in transmission.
fn timer(directions: &[Direction; 2], header: u32) -> Span {
    let of_direction = |direction: &Direction| {
        let delays = direction.changes().filter_map(|change| change.delay);
        let delay = delays.fold(direction.delay, Span::max);
        let bytes = 2 * (PACKET + header.saturating_add(direction.overhead));
        delay + Serialiser::new(direction.lowest_rate()).restart(bytes)
    };
    directions.iter().map(of_direction).fold(Span::ZERO, |sum, span| sum + span)
}
