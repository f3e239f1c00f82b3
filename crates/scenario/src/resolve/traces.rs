//! Traces of link directions, with the files that they read.

use std::path::Path as FilePath;

use language::error::{Errors, Problem};
use language::path::Path;
use units::Span;

use super::channels::{Channels, unreadable};
use crate::document::{self, Outside, Phase};
use crate::fade::Fault;
use crate::given::{located, of_file};
use crate::orbit::OrbitFile;
use crate::trace::{self, Trace};

type Read = Result<Trace, Unread>;

/// Why a file has no trace.
enum Unread {
    Fault(Box<Fault>),
    /// Errors of a file of `bentpipe orbit`.
    Errors(Errors),
}

impl From<Box<Fault>> for Unread {
    fn from(fault: Box<Fault>) -> Self {
        Self::Fault(fault)
    }
}

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
    let names = table.columns.as_ref().map(document::Columns::names);
    let step = table.step.unwrap_or(trace::DELAY_STEP);
    let files = [
        (
            "file",
            &table.file,
            &(|file: &_| Ok(trace::columns(file, names.as_ref())?)) as &dyn Fn(&_) -> Read,
        ),
        ("deliveries", &table.deliveries, &|file: &_| Ok(trace::deliveries(file, repeats)?)),
        ("delays", &table.delays, &|file: &_| Ok(trace::delays(file, step)?)),
        ("orbit", &table.orbit, &over_satellites),
    ];
    let mut traces = Vec::new();
    let mut notes = Vec::new();
    for (key, name, read) in files {
        let Some(name) = name else { continue };
        let path = if is_alone { path.clone() } else { path.key(key) };
        let file = located(channels.tree.nearest(&path), channels.directory, &name.0);
        match read(&file) {
            Err(Unread::Fault(fault)) => problems.push(*unreadable(*fault, &file, &path)),
            Err(Unread::Errors(errors)) => problems.extend(of_file(errors, &path, "orbit")),
            Ok(mut trace) if repeats => {
                notes.append(&mut trace.notes);
                traces.push(trace.repeated());
            }
            Ok(mut trace) => {
                notes.append(&mut trace.notes);
                match table.outside {
                    Outside::Refuse => {
                        let fault = too_short(&trace, channels.duration);
                        problems.extend(fault.map(|fault| *unreadable(fault, &file, &path)));
                    }
                    Outside::Hold if trace.lasts < channels.duration => {
                        notes.push(format!("holds its last values from {} on", trace.lasts));
                        trace.hold(channels.duration);
                    }
                    Outside::Hold => {}
                }
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
    link::Trace { timeline, lasts, phase, notes }
}

/// The trace of a file of `bentpipe orbit`.
fn over_satellites(file: &FilePath) -> Read {
    let series = OrbitFile::load(file).and_then(|file| file.run()).map_err(Unread::Errors)?;
    Ok(series.trace())
}

/// A table without a file, with two for the same, or with a key that has no effect.
fn contradiction(table: &document::TraceFiles, path: &Path) -> Option<Problem> {
    let document::TraceFiles {
        file,
        columns,
        deliveries,
        delays,
        orbit,
        step,
        outside,
        repeats,
        phase: _,
    } = table;
    let other = match (deliveries, delays, orbit) {
        (Some(_), ..) => Some("deliveries"),
        (_, Some(_), _) => Some("delays"),
        (.., Some(_)) => Some("orbit"),
        _ => None,
    };
    match (file, other) {
        (None, None) => {
            let expected = "`file`, `deliveries`, `delays` or `orbit`";
            return Some(Problem::new(path.clone(), expected, "none of them"));
        }
        (Some(_), Some(key)) => {
            let problem = Problem::new(path.key(key), "no other file with `file`", "one");
            return Some(problem.because("the columns of `file` are the whole trace"));
        }
        _ => {}
    }
    let without = |key: &str, other: &str| {
        Problem::new(path.key(key), format!("no `{key}` without `{other}`"), "one")
    };
    if delays.is_some() && orbit.is_some() {
        let problem = Problem::new(path.key("orbit"), "no `orbit` with `delays`", "one");
        return Some(problem.because("both set the delay"));
    }
    if columns.is_some() && file.is_none() {
        return Some(without("columns", "file"));
    }
    if step.is_some() && delays.is_none() {
        return Some(without("step", "delays"));
    }
    if deliveries.is_some() && *outside == Outside::Hold {
        let expected = "\"refuse\" with `deliveries`";
        let problem = Problem::new(path.key("outside"), expected, "\"hold\"");
        return Some(
            problem.because("deliveries are instants, and no value holds after the last one"),
        );
    }
    (*repeats && *outside == Outside::Hold).then(|| {
        let problem = Problem::new(path.key("outside"), "\"refuse\" with loop = true", "\"hold\"");
        problem.because("a trace that repeats has no end")
    })
}

/// A link that keeps the last values of a trace would look like a trace of a calm link.
fn too_short(trace: &Trace, duration: Span) -> Option<Fault> {
    (trace.lasts < duration).then(|| {
        let expected = format!("a trace that lasts for the `duration` of {duration}");
        let fault = Fault::new(trace.last_line, expected, format!("one of {}", trace.lasts));
        let reason = "the table { file = …, loop = true } repeats it, and outside = \"hold\" keeps its last values";
        fault.because(reason)
    })
}
