//! Demand assignment of the directions of a link.

use language::error::Problem;
use language::path::Path;
use units::{Rate, Span};

use super::sides::{Sides, report};
use crate::model::{DemandSettings, Direction};

/// The limit of `control_delay` also holds for its default.
const LONGEST_LOOP: Span = Span::from_secs(100);

/// Demand assignment of both directions.
pub(super) fn resolve(
    sides: &Sides<'_>,
    directions: &[Direction; 2],
    problems: &mut Vec<Problem>,
) -> [Option<DemandSettings>; 2] {
    // From the terminal to the control centre and back.
    let loop_delay = directions.iter().fold(Span::ZERO, |sum, side| sum + side.delay);
    [0, 1].map(|side| {
        let demand = sides.value(side, |one| &one.demand)?.resolve()?;
        let demand = demand.settings(directions[side].rate, loop_delay);
        let place = sides.place(side, "demand", |one| &one.demand);
        report(impossible(&demand, &directions[side], directions, &place), problems);
        Some(demand)
    })
}

/// The problem of demand assignment at `path`.
fn impossible(
    demand: &DemandSettings,
    direction: &Direction,
    both: &[Direction; 2],
    path: &Path,
) -> Option<Problem> {
    let &DemandSettings { slots, cra, vbdc, fca, rate, .. } = demand;
    if cra > rate.bits_per_second() {
        let found = Rate::from_bits_per_second(cra).to_string();
        let problem = Problem::new(path.key("cra"), format!("at most the rate of {rate}"), found);
        return Some(problem.because("all slots together have the rate of the direction"));
    }
    if demand.slot_bytes(rate) == 0 {
        let expected = format!("slots of at least one byte at {rate}");
        let problem = Problem::new(path.key("slots"), expected, slots.to_string());
        return Some(problem.because(format!("a frame has {}", demand.frame)));
    }
    if !vbdc && cra == 0 && fca == 0 {
        let problem = Problem::new(path.key("vbdc"), "true, or `cra` or `fca`", "false");
        return Some(problem.because("without any of them the terminal never has a slot"));
    }
    if demand.control_delay > LONGEST_LOOP {
        let expected = format!("at most {LONGEST_LOOP}");
        let found = demand.control_delay.to_string();
        let problem = Problem::new(path.key("control_delay"), expected, found);
        return Some(problem.because("the default is the delay of the link in both directions"));
    }
    let named =
        |expected: String| Problem::new(path.clone(), expected, format!("{:?}", demand.name()));
    if let Some(arq) = both.iter().find_map(|side| side.arq) {
        let problem = named(format!("\"none\" with arq = {:?}", arq.name()));
        return Some(problem.because("status frames and repeats have no slots in this model"));
    }
    if let Some(fec) = direction.fec {
        let problem = named(format!("\"none\" with fec = {:?}", fec.name()));
        return Some(problem.because("parity packets have no slots in this model"));
    }
    let feedback = direction.feedback?;
    let problem = named(format!("\"none\" with feedback = {:?}", feedback.name()));
    Some(problem.because("the router would share a rate that is not assigned yet"))
}
