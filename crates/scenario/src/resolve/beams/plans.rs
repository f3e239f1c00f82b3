//! Plans of subscribers, and classes of traffic.

use std::collections::BTreeMap;

use beam::{Allowance, Classes, Plan};
use language::error::Problem;
use language::path::Path;
use language::suggest;
use link::{FqCodelSettings, TokenBucket};
use units::Bytes;

use crate::document::{self, Document, PlanRate};
use crate::model::{Aqm, NO_CLASS, Scenario};

/// The least default of a burst: some long packets.
const LEAST_BURST: u64 = 10_000;
/// The slowest leak of an allowance in bit/s. Its rate is counted in whole bits per second.
const LEAST_LEAK: u64 = 1000;

/// A plan in one direction.
pub(super) fn plan(
    written: Option<PlanRate>,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<Plan> {
    let PlanRate { rate, burst, allowance } = written?;
    let second = Bytes((rate.bits_per_second() / 8).clamp(LEAST_BURST, 1 << 30));
    let allowance = allowance.map(|one| {
        let document::PlanAllowance { volume, window, reduced_rate, used } = one;
        let path = path.key("allowance");
        let allowance = Allowance { volume, window, reduced_rate, used };
        let leak = allowance.leak();
        if leak.bits_per_second() < LEAST_LEAK {
            let expected = "a window in which the volume makes at least \"1kbit/s\"";
            let found = format!("\"{window}\" with {leak}");
            problems.push(Problem::new(path.key("window"), expected, found));
        }
        if leak >= rate {
            let expected = format!("less than \"{rate}\" makes in the window");
            let problem = Problem::new(path.key("volume"), expected, format!("\"{volume}\""));
            problems.push(problem.because("the plan could never use it up"));
        }
        if reduced_rate >= rate {
            let expected = format!("a rate below the \"{rate}\" of the plan");
            let found = format!("\"{reduced_rate}\"");
            problems.push(Problem::new(path.key("reduced_rate"), expected, found));
        }
        if used > volume {
            let expected = format!("at most the volume of \"{volume}\"");
            problems.push(Problem::new(path.key("used"), expected, format!("\"{used}\"")));
        }
        allowance
    });
    Some(Plan { bucket: TokenBucket::new(rate, burst.unwrap_or(second)), allowance })
}

/// Buckets, and volumes, in which the longest packet finds no room.
pub(super) fn check_bursts(
    (path, plan): (&Path, &Plan),
    longest: u64,
    problems: &mut Vec<Problem>,
) {
    let volume = plan.allowance.map(|one| (path.key("allowance").key("volume"), one.volume));
    for (place, size) in [(path.key("burst"), plan.bucket.burst)].into_iter().chain(volume) {
        if size.get() < longest {
            let expected = format!("room for a packet of {longest} bytes");
            problems.push(Problem::new(place, expected, format!("\"{size}\"")));
        }
    }
}

/// The classes of a beam, and the problems with their weights.
pub(super) fn classes(
    written: &document::Beam,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> (Classes, Vec<String>) {
    let weights: Vec<_> = written.class.iter().filter_map(|class| class.weight).collect();
    for (i, class) in written.class.iter().enumerate() {
        let path = path.key("class").index(i);
        let is_twice = written.class[..i].iter().any(|other| other.name == class.name);
        if is_twice || class.name.0 == NO_CLASS {
            let expected = format!("a unique name other than {NO_CLASS:?}");
            problems.push(Problem::new(path.key("name"), expected, format!("{:?}", class.name.0)));
        }
        if class.weight.is_none() && !weights.is_empty() {
            let problem = Problem::new(path.key("weight"), "a weight for each class", "none");
            problems.push(problem.because("classes are all strict, or all have weights"));
        }
    }
    let names = written.class.iter().map(|class| class.name.0.clone());
    let names = names.chain([NO_CLASS.to_owned()]).collect();
    let classes = match weights.is_empty() {
        true => Classes::Strict(written.class.len() + 1),
        false => Classes::Weighted(weights.into_iter().chain([1]).collect()),
    };
    (classes, names)
}

/// The class of each flow of a beam. `entries` has the `[[flow]]` of each flow.
pub(super) fn class_of_flows(
    document: &Document,
    number: usize,
    scenario: &Scenario,
    entries: &[usize],
    problems: &mut Vec<Problem>,
) -> BTreeMap<usize, u8> {
    let mut found: BTreeMap<usize, u8> = BTreeMap::new();
    let terminals = &scenario.beams[number].terminals;
    let crosses = |flow: usize| {
        let flow = &scenario.flows[flow];
        terminals.contains(&flow.from) || terminals.contains(&flow.to)
    };
    let names: Vec<_> =
        document.flow.iter().filter_map(|flow| flow.name.as_ref()).map(|name| &*name.0).collect();
    for (i, class) in (0_u8..).zip(&document.beam[number].class) {
        let path = Path::entry("beam", number).key("class").index(i.into()).key("flows");
        for (j, name) in class.flows.iter().enumerate() {
            let place = path.index(j);
            let is_of = |flow: &usize| {
                let written = &document.flow[entries[*flow]];
                written.name.as_ref() == Some(name) && crosses(*flow)
            };
            let flows: Vec<_> = (0..scenario.flows.len()).filter(is_of).collect();
            if flows.is_empty() {
                let expected = "the name of a [[flow]] with an end at a terminal of the beam";
                let problem = Problem::new(place.clone(), expected, format!("{:?}", name.0));
                problems.push(problem.suggest(suggest::nearest(&name.0, names.iter().copied())));
            }
            for flow in flows {
                if found.insert(flow, i).is_some() {
                    let found = format!("{:?} for the second time", name.0);
                    problems.push(Problem::new(place.clone(), "a flow of one class", found));
                    break;
                }
            }
        }
    }
    found
}

/// FQ-CoDel of the forward carrier.
pub(super) fn aqm(
    written: &document::BeamForward,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<FqCodelSettings> {
    let found = written.aqm.as_ref()?.resolve()?;
    let place = path.key("forward").key("aqm");
    let Aqm::FqCodel(settings) = found else {
        let problem = Problem::new(place, "\"fq-codel\"", format!("{:?}", found.name()));
        problems.push(problem.because("no other algorithm is there for terminals of a beam"));
        return None;
    };
    Some(settings)
}

/// Keys that one queue for all terminals does not have.
pub(super) fn needs_queues(written: &document::Beam, path: &Path, problems: &mut Vec<Problem>) {
    if !matches!(written.forward.scheduler, document::Scheduler::Fifo) {
        return;
    }
    let mut refuse = |place: Path| {
        let expected = "a scheduler with a queue for each terminal, such as \"equal-rate\"";
        problems.push(Problem::new(place, expected, "\"fifo\""));
    };
    if written.forward.aqm.is_some() {
        refuse(path.key("forward").key("aqm"));
    }
    for (j, group) in written.group.iter().enumerate() {
        if group.plan.is_some_and(|plan| plan.down.is_some()) {
            refuse(path.key("group").index(j).key("plan").key("down"));
        }
    }
}
