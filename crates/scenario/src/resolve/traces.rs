//! Traces of link directions, with the files that they read.

use language::error::Problem;
use language::path::Path;
use units::Span;

use super::channels::{Channels, unreadable};
use crate::document::{self, Phase};
use crate::fade::Fault;
use crate::given::located;
use crate::trace::{self, Trace};

type Read = Result<Trace, Box<Fault>>;

/// The changes of the trace at `path`. A trace with a problem has none.
pub(super) fn resolve(
    trace: &document::Trace,
    channels: &Channels<'_>,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> link::Trace {
    let table = match trace {
        document::Trace::File(name) => &document::TraceFiles::of(name.clone()),
        document::Trace::Files(table) => table,
    };
    let is_alone = matches!(trace, document::Trace::File(_));
    problems.extend(contradiction(table, path));
    let repeats = table.repeats;
    let files = [
        ("file", &table.file, &(|file: &_| trace::columns(file)) as &dyn Fn(&_) -> Read),
        ("deliveries", &table.deliveries, &|file: &_| trace::deliveries(file, repeats)),
        ("delays", &table.delays, &|file: &_| trace::delays(file)),
    ];
    let mut traces = Vec::new();
    for (key, name, read) in files {
        let Some(name) = name else { continue };
        let path = if is_alone { path.clone() } else { path.key(key) };
        let file = located(channels.tree.nearest(&path), channels.directory, &name.0);
        match read(&file) {
            Err(fault) => problems.push(*unreadable(*fault, &file, &path)),
            Ok(trace) if repeats => traces.push(trace.repeated()),
            Ok(trace) => {
                problems.extend(too_short(trace.lasts, channels.duration, &path));
                traces.push(trace);
            }
        }
    }
    let lengths = traces.iter().map(|trace| trace.lasts);
    let lasts = if repeats { lengths.max() } else { lengths.min() }.unwrap_or_default();
    let phase = match table.phase {
        Phase::Fixed => Span::ZERO,
        Phase::Random if repeats => lasts,
        Phase::Random => lasts.saturating_sub(channels.duration),
    };
    if table.phase == Phase::Random && phase == Span::ZERO && lasts >= channels.duration {
        let expected = "\"fixed\" for a trace that is as long as the `duration`";
        let problem = Problem::new(path.key("phase"), expected, "\"random\"");
        problems.push(problem.because("there is one start only, unless it has loop = true"));
    }
    let timeline = traces.into_iter().flat_map(|trace| trace.changes).collect();
    link::Trace { timeline, lasts, phase }
}

/// A table without a file, or with two for the same.
fn contradiction(table: &document::TraceFiles, path: &Path) -> Option<Problem> {
    let document::TraceFiles { file, deliveries, delays, repeats: _, phase: _ } = table;
    let other = match (deliveries, delays) {
        (Some(_), _) => Some("deliveries"),
        (_, Some(_)) => Some("delays"),
        _ => None,
    };
    match (file, other) {
        (None, None) => {
            Some(Problem::new(path.clone(), "`file`, `deliveries` or `delays`", "none of them"))
        }
        (Some(_), Some(key)) => {
            let problem = Problem::new(path.key(key), "no other file with `file`", "one");
            Some(problem.because("the columns of `file` are the whole trace"))
        }
        _ => None,
    }
}

/// A link that keeps the last values of a trace would look like a trace of a calm link.
fn too_short(lasts: Span, duration: Span, path: &Path) -> Option<Problem> {
    (lasts < duration).then(|| {
        let expected = format!("a trace that lasts for the `duration` of {duration}");
        let problem = Problem::new(path.clone(), expected, format!("one of {lasts}"));
        problem.because("the table { file = …, loop = true } repeats it")
    })
}
