//! Forward error correction of the directions of a link.

use language::error::Problem;
use language::path::Path;
use link::{LONGEST_BLOCK, Serialiser};
use units::Span;

use super::arq::PACKET;
use super::sides::{Sides, report};
use crate::model::{Direction, Fec, FecSettings};

/// FEC of both directions.
pub(super) fn resolve(
    sides: &Sides<'_>,
    directions: &[Direction; 2],
    problems: &mut Vec<Problem>,
) -> [Option<FecSettings>; 2] {
    [0, 1].map(|side| {
        let fec = sides.value(side, |one| &one.fec)?.resolve()?;
        let place = sides.place(side, "fec", |one| &one.fec);
        report(impossible(fec, &directions[side], &place), problems);
        Some(fec.settings(|fec| timer(fec, &directions[side])))
    })
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
    let bytes = direction.framing.bytes(PACKET + fec.header);
    let packet = Serialiser::new(direction.lowest_rate()).restart(bytes);
    Span::from_nanos(packet.as_nanos().saturating_mul(2 * u64::from(fec.group())))
}
