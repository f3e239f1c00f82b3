//! Forward error correction of the directions of a link.

use language::error::Problem;
use language::path::Path;
use link::{LONGEST_BLOCK, Serialiser};
use units::Span;

use super::arq::PACKET;
use crate::document;
use crate::model::{Direction, Fec, FecSettings};

/// FEC of both directions; `path` is that of the link, and `sides` are the directions with keys of
/// their own.
pub(super) fn resolve(
    link: &document::Link,
    sides: [(&str, &document::Direction); 2],
    directions: &[Direction; 2],
    path: &Path,
    problems: &mut Vec<Problem>,
) -> [Option<FecSettings>; 2] {
    let mut found = sides.into_iter().zip(directions).map(|((side, own), direction)| {
        let is_own = own.fec.is_some();
        let fec = own.fec.as_ref().or(link.both.fec.as_ref())?.resolve()?;
        let place = if is_own { path.key(side) } else { path.clone() };
        let problem = impossible(fec, direction, &place.key("fec"));
        // What both directions have is wrong once.
        problems.extend(problem.filter(|new| problems.iter().all(|old| old.path != new.path)));
        Some(fec.settings(|fec| timer(fec, direction)))
    });
    [0, 1].map(|_| found.next().flatten())
}

/// The problem of a code at `path`.
fn impossible(fec: Fec, direction: &Direction, path: &Path) -> Option<Problem> {
    let FecSettings { data, parity, .. } = fec.settings(|_| Span::ZERO);
    if data + parity > LONGEST_BLOCK {
        let most = LONGEST_BLOCK.saturating_sub(data);
        let expected = format!("at most {most} with data = {data}");
        let problem = Problem::new(path.key("parity"), expected, parity.to_string());
        return Some(problem.because(format!(
            "a block of {} has at most {LONGEST_BLOCK} packets, because its symbols have 8 bits",
            fec.name()
        )));
    }
    let arq = direction.arq?;
    let problem = Problem::new(
        path.clone(),
        format!("\"none\" with arq = {:?}", arq.name()),
        format!("{:?}", fec.name()),
    );
    Some(problem.because("a direction repeats what is lost, or rebuilds it"))
}

/// The default of the timer: twice the time that a full group takes.
fn timer(fec: &FecSettings, direction: &Direction) -> Span {
    let bytes = PACKET + fec.header.saturating_add(direction.overhead);
    let packet = Serialiser::new(direction.lowest_rate()).restart(bytes);
    Span::from_nanos(packet.as_nanos().saturating_mul(2 * u64::from(fec.group())))
}
