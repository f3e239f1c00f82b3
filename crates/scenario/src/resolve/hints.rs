//! Hints that the path of a flow changes.

use congestion::{DetectionRule, Detector, Needs, Specification};
use language::error::Problem;
use language::path::Path;
use language::tree::{Tree, Value};
use orbit::Utc;
use units::Span;

use crate::document::{self, Document};
use crate::model::{HintSource, PathHints, Transport};

/// Most changes of a clock in a run; more are a slip of the unit.
const MOST: u64 = 1_000_000;

/// The hints of `[[flow]]` number `entry`, whose sender has this controller.
pub(super) fn of_flow(
    document: &Document,
    tree: &Tree,
    (entry, transport): (usize, &Transport),
    controller: &Specification,
    problems: &mut Vec<Problem>,
) -> Option<PathHints> {
    let path = Path::entry("flow", entry).key("path_hints");
    let written = document.flow[entry].path_hints.as_ref()?;
    let source = match written.source {
        document::HintSource::None => {
            problems.extend(without_effect(tree, &path, |key| key == "source"));
            return None;
        }
        document::HintSource::Schedule => HintSource::Schedule { threshold: written.threshold },
        document::HintSource::Clock => clock(document, written, &path, problems)?,
        document::HintSource::Detector => {
            problems.extend(unseen(transport, &path));
            detector(written)
        }
    };
    problems.extend(without_effect(tree, &path, |key| source.takes(key)));
    problems.extend(unheard(transport, controller, &path));
    if written.late > Span::ZERO && written.early > Span::ZERO {
        let expected = "\"0s\" with `late`";
        let found = format!("\"{}\"", written.early);
        problems.push(Problem::new(path.key("early"), expected, found));
    }
    let document::PathHints { lead, late, early, error, missed, .. } = *written;
    Some(PathHints { source, lead, late, early, error, missed })
}

/// Keys that the source does not take.
fn without_effect(tree: &Tree, path: &Path, takes: impl Fn(&str) -> bool) -> Vec<Problem> {
    let Some(Value::Table(entries)) = tree.at(path).map(|tree| &tree.value) else {
        return Vec::new();
    };
    let keys = entries.iter().map(|entry| entry.key.as_str()).filter(|key| !takes(key));
    let problem = |key: &str| {
        let problem = Problem::new(path.key(key), format!("no `{key}` with this `source`"), "one");
        problem.because("it would have no effect")
    };
    keys.map(problem).collect()
}

/// No controller of this laboratory could get the hints.
fn unheard(transport: &Transport, controller: &Specification, path: &Path) -> Option<Problem> {
    let protocol = transport.protocol();
    let reason = if !protocol.takes_controller() {
        format!("{} has no controller that could get hints", protocol.name())
    } else if transport.has_quinns_controller() {
        "the controllers of quinn get no hints".to_owned()
    } else if *controller == Specification::unlimited() {
        "controller \"none\" gets no hints".to_owned()
    } else {
        return None;
    };
    Some(Problem::new(path.clone(), "no hints", "some").because(reason))
}

/// The transport shows a detector no ACKs.
fn unseen(transport: &Transport, path: &Path) -> Option<Problem> {
    let detector = Needs { feedback: true, ..Needs::default() };
    let missing = matches!(transport, Transport::Stp(_)).then(|| stp::missing(&detector))??;
    let problem = Problem::new(path.key("source"), "a source without measurements", "\"detector\"");
    Some(problem.because(format!("STP lacks {missing}")))
}

fn detector(written: &document::PathHints) -> HintSource {
    let document::PathHints { gap, step, window, settle, threshold, .. } = *written;
    let rule = match written.rule {
        document::DetectionRule::Gap => DetectionRule::Gap { above: gap },
        document::DetectionRule::Step => DetectionRule::Step { size: step, window },
    };
    HintSource::Detector { detector: Detector { rule, settle }, threshold }
}

fn clock(
    document: &Document,
    written: &document::PathHints,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<HintSource> {
    let document::PathHints { period, offset, .. } = *written;
    let Some(epoch) = &document.epoch else {
        let expected = "an `epoch` of the scenario with it";
        let problem = Problem::new(path.key("source"), expected, "\"clock\" alone");
        problems.push(problem.because("it is the time of the start in UTC"));
        return None;
    };
    if document.duration.as_nanos().div_ceil(period.as_nanos()) > MOST {
        let least = Span::from_nanos(document.duration.as_nanos().div_ceil(MOST));
        let expected = format!("at least \"{least}\" with this `duration`");
        let problem = Problem::new(path.key("period"), expected, format!("\"{period}\""));
        problems.push(problem.because(format!("a run has at most {MOST} hints")));
        return None;
    }
    let epoch = Utc::parse(epoch)?;
    let passed = i128::from(epoch.as_nanos()) - i128::from(offset.as_nanos());
    let period_nanos = i128::from(period.as_nanos());
    // From zero to below the period, which is a span.
    let left = (-passed).rem_euclid(period_nanos);
    let first = Span::from_nanos(u64::try_from(left).unwrap_or_default());
    Some(HintSource::Clock { first, period })
}
