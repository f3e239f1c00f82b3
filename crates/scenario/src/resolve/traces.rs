//! Traces of link directions, with the files that they read.

use std::path::{Path as FilePath, PathBuf};

use language::Refused;
use language::error::{Errors, Problem};
use language::path::Path;
use units::Span;

use super::channels::{Channels, unreadable};
use crate::document::{self, FileName, Outside, Phase, TraceKind};
use crate::fade::Fault;
use crate::given::{located, of_file};
use crate::orbit::{self, OrbitFile, Run};
use crate::trace::{self, Trace};

type Read = Result<Trace, Unread>;
type Faulty = Result<Trace, Box<Fault>>;

/// Why there is no trace.
enum Unread {
    /// A fault of a file.
    Fault(Box<Fault>, PathBuf),
    /// Errors of a file of `bentpipe orbit`.
    Errors(Errors),
    /// Errors of an orbit in a table.
    Refused(Vec<Refused>),
}

impl Unread {
    /// The problems of what was written at `path`.
    fn problems(self, path: &Path) -> Vec<Problem> {
        match self {
            Self::Fault(fault, file) => vec![*unreadable(*fault, &file, path)],
            Self::Errors(errors) => of_file(errors, path, "orbit").collect(),
            Self::Refused(refused) => refused.into_iter().map(|one| one.below(path)).collect(),
        }
    }
}

/// The changes of the path over satellites at `path`. One with a problem has none.
pub(super) fn orbit(
    orbit: &document::Orbit,
    channels: &Channels<'_>,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Trace {
    let run = Run { epoch: channels.epoch, duration: Some(channels.duration) };
    over_satellites(orbit, channels, path, run).unwrap_or_else(|unread| {
        problems.extend(unread.problems(path));
        Trace::default()
    })
}

/// A trace and a path over satellites in one; `path` is the place of the second one.
pub(super) fn merged(
    trace: Option<link::Trace>,
    orbit: Option<Trace>,
    path: &Path,
) -> (Option<link::Trace>, Option<Problem>) {
    let Some(series) = orbit else { return (trace, None) };
    let trace = trace.unwrap_or_default();
    let problem = both(&trace, series.has_rate(), path);
    let changes = trace.timeline.changes().iter().cloned().chain(series.changes);
    let timeline = changes.collect();
    let notes = trace.notes.iter().cloned().chain(series.notes).collect();
    (Some(link::Trace { timeline, lasts: series.lasts, notes, ..trace }), problem)
}

/// A trace that an orbit contradicts.
fn both(trace: &link::Trace, has_rate: bool, path: &Path) -> Option<Problem> {
    let problem = |expected| Problem::new(path.clone(), expected, "both");
    if has_rate && trace.timeline.changes().iter().any(|change| change.rate.is_some()) {
        return Some(problem("no `orbit` with a `signal` with a trace that has rates"));
    }
    if trace.timeline.changes().iter().any(|change| change.delay.is_some()) {
        return Some(problem("no `orbit` with a trace that has delays"));
    }
    (trace.phase > Span::ZERO).then(|| {
        problem("no `orbit` with a trace that starts at a random time")
            .because("a path over satellites starts at the `epoch`")
    })
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
    let mut traces = Vec::new();
    for Source { key, file, read } in sources(table, channels, path, is_alone) {
        let path = if is_alone { path.clone() } else { path.key(key) };
        match read {
            Err(unread) => problems.extend(unread.problems(&path)),
            Ok(trace) if repeats => traces.push(trace.repeated()),
            Ok(mut trace) => {
                match table.outside {
                    Outside::Refuse => {
                        let fault = too_short(&trace, channels.duration);
                        problems.extend(fault.map(|fault| fault_at(fault, file.as_deref(), &path)));
                    }
                    Outside::Hold if trace.lasts < channels.duration => {
                        let note = format!("holds its last values from {} on", trace.lasts);
                        trace.notes.push(note);
                        trace.hold(channels.duration);
                    }
                    Outside::Hold => {}
                }
                traces.push(trace);
            }
        }
    }
    problems.extend(kind(table, &traces, path));
    let notes = traces.iter_mut().flat_map(|trace| std::mem::take(&mut trace.notes)).collect();
    let gaps = traces.iter_mut().filter_map(|trace| trace.gap.take()).collect();
    let achieved =
        table.kind == Some(TraceKind::Achieved) || traces.iter().any(|trace| trace.achieved);
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
    let trace = link::Trace { timeline, lasts, phase, achieved, notes, gaps, silent_share: 0.0 };
    // An outage of a hand-over is an event of the orbit, as an `event` of a link would be.
    let has_own_outages = table.orbit.is_none() && trace.mean_rate().is_none();
    let silent_share = if has_own_outages { trace.silence() } else { 0.0 };
    link::Trace { silent_share, ..trace }
}

/// A key of a table with what it names.
struct Source {
    key: &'static str,
    /// The file; none for a table.
    file: Option<PathBuf>,
    read: Read,
}

/// A fault of a file or of a table.
fn fault_at(fault: Fault, file: Option<&FilePath>, path: &Path) -> Problem {
    match file {
        Some(file) => *unreadable(fault, file, path),
        None => {
            let problem = Problem::new(path.clone(), fault.expected, fault.found);
            Problem { reason: fault.reason, ..problem }
        }
    }
}

/// The traces of the keys that a table has, in their order.
fn sources(
    table: &document::TraceFiles,
    channels: &Channels<'_>,
    path: &Path,
    is_alone: bool,
) -> Vec<Source> {
    let names = table.columns.as_ref().map(document::Columns::names);
    let step = table.step.unwrap_or(trace::DELAY_STEP);
    let repeats = table.repeats;
    let mut found = Vec::new();
    let mut read = |key, name: &Option<FileName>, read: &dyn Fn(&FilePath) -> Faulty| {
        let Some(name) = name else { return };
        let path = if is_alone { path.clone() } else { path.key(key) };
        let file = place(channels, &path, name);
        let read = read(&file).map_err(|fault| Unread::Fault(fault, file.clone()));
        found.push(Source { key, file: Some(file), read });
    };
    read("file", &table.file, &|file| trace::columns(file, names.as_ref()));
    read("deliveries", &table.deliveries, &|file| trace::deliveries(file, repeats));
    read("delays", &table.delays, &|file| trace::delays(file, step));
    if let Some(orbit) = &table.orbit {
        let run = Run { epoch: channels.epoch, duration: None };
        let path = path.key("orbit");
        let file = match orbit {
            document::Orbit::File(name) => Some(place(channels, &path, name)),
            document::Orbit::Table(_) => None,
        };
        let read = over_satellites(orbit, channels, &path, run);
        found.push(Source { key: "orbit", file, read });
    }
    found
}

/// The place of the file that is named at `path`.
fn place(channels: &Channels<'_>, path: &Path, name: &FileName) -> PathBuf {
    located(channels.tree.nearest(path), channels.directory, &name.0)
}

/// The trace of a path over satellites, from the start of the run on.
fn over_satellites(
    orbit: &document::Orbit,
    channels: &Channels<'_>,
    path: &Path,
    run: Run,
) -> Read {
    match orbit {
        document::Orbit::File(name) => OrbitFile::load_for(&place(channels, path, name), run)
            .and_then(|file| file.trace())
            .map_err(Unread::Errors),
        document::Orbit::Table(table) => {
            let file = |key: &str, name: &FileName| {
                let below = key.split('.').fold(path.clone(), |path, part| match part.parse() {
                    Ok(number) => path.index(number),
                    Err(_) => path.key(part),
                });
                place(channels, &below, name)
            };
            orbit::trace_of_table(table, &file, run).map_err(Unread::Refused)
        }
    }
}

/// A kind of rates that the files do not have.
fn kind(table: &document::TraceFiles, traces: &[Trace], path: &Path) -> Option<Problem> {
    let problem = |expected, found| Problem::new(path.key("kind"), expected, format!("{found:?}"));
    match table.kind? {
        TraceKind::Achieved if !traces.iter().any(Trace::has_rate) => {
            Some(problem("no `kind` without rates", "achieved"))
        }
        TraceKind::Capacity if traces.iter().any(|trace| trace.achieved) => {
            Some(problem("\"achieved\" for the column of an achieved rate", "capacity"))
        }
        TraceKind::Achieved | TraceKind::Capacity => None,
    }
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
        kind: _,
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
