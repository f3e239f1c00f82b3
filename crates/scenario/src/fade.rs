//! Attenuation series: files of two columns, time in seconds and attenuation in dB.
//!
//! Parquet files are recognised by their first bytes. All other files are comma-separated values.
//! Errors have the line or row, and the value.

mod csv;
mod parquet;
mod table;

use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::Path as FilePath;

use language::describe::quoted_short;
use language::error::Place;
use units::{Span, Time};

pub(crate) use table::{Table, table};

/// Attenuation in dB that a sample may have: recorded series lie slightly below clear sky now and
/// then, and no rain takes more than this.
const ATTENUATION: RangeInclusive<f64> = -10.0..=200.0;
/// The last second that a sample may have: 30 years.
const LAST: f64 = 1e9;
/// Share of steps that are equal in a series of regular samples.
const REGULAR: f64 = 0.9;
/// Fewer steps than this show no rule.
const FEW: usize = 10;

/// A fault of a series, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub place: Place,
    pub expected: String,
    pub found: String,
    pub reason: Option<String>,
}

impl Fault {
    pub(crate) fn new(
        line: Option<usize>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        let place = Place { line, ..Place::default() };
        Self { place, expected: expected.into(), found: found.into(), reason: None }
    }

    pub(crate) fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// One value of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Number(f64),
    /// A text that is no number.
    Text(String),
    Missing,
    /// Something else, in words.
    Other(String),
}

impl Cell {
    /// The number in `range`, for `what` in the row at `line`.
    pub fn number(
        &self,
        line: usize,
        what: &str,
        range: RangeInclusive<f64>,
    ) -> Result<f64, Box<Fault>> {
        let expected = || format!("{what} from {} to {}", range.start(), range.end());
        let found = match self {
            Self::Number(number) if range.contains(number) => return Ok(*number),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => quoted_short(text),
            Self::Missing => "nothing".to_owned(),
            Self::Other(other) => other.clone(),
        };
        Err(Fault::new(Some(line), expected(), found).into())
    }
}

/// A fault of a row, and which of its two values has it.
type RowFault = (usize, Box<Fault>);

/// Reads the series in `file`; with `gaps` it may leave out samples.
pub(crate) fn read(file: &FilePath, gaps: bool) -> Result<Vec<(Time, f64)>, Box<Fault>> {
    let bytes = content(file, "a file with times and attenuations")?;
    let series = match bytes.starts_with(b"PAR1") {
        true => parquet::read(bytes)?,
        false => csv::read(&bytes)?,
    };
    series.finish(gaps)
}

/// The column with the times of a file of weather cells.
const TIMES: &str = "time_s";

/// The series of a weather cell, with its name.
pub(crate) type CellSeries = (String, Vec<(Time, f64)>);

/// Reads the series of all columns in `file`, which are `what`: a weather cell each, for example.
pub(crate) fn cells(file: &FilePath, what: &str) -> Result<Vec<CellSeries>, Box<Fault>> {
    let Table { header, names, rows, .. } = table(file, "columns with names, `time_s` first")?;
    let wanted = format!("the column `time_s`, and {what}");
    let none = || Fault::new(header, wanted.clone(), "none");
    let (first, cells) = names.split_first().ok_or_else(none)?;
    if first != TIMES || cells.is_empty() {
        return Err(Fault::new(header, wanted, quoted_short(&names.join(","))).into());
    }
    let mut found = Vec::with_capacity(cells.len());
    for (number, name) in cells.iter().enumerate() {
        if name.is_empty() || cells[..number].contains(name) {
            let expected = "columns with different names";
            return Err(Fault::new(header, expected, quoted_short(name)).into());
        }
        let mut series = Series::default();
        for (line, row) in &rows {
            series.push(*line, &row[0], &row[number + 1]).map_err(|(_, fault)| fault)?;
        }
        found.push((name.clone(), series.finish(false)?));
    }
    Ok(found)
}

/// Expectation and finding, if samples do not cover a run of `duration`. A sample covers its step:
/// one step may be missing at each end.
pub(crate) fn uncovered(samples: &[(Time, f64)], duration: Span) -> Option<(String, String)> {
    let ([(first, _), (second, _), ..], [.., (last_but_one, _), (last, _)]) = (samples, samples)
    else {
        return None;
    };
    if first.since(Time::ZERO) > second.since(*first) {
        Some(("a series from 0s on".to_owned(), format!("a first sample at {first}")))
    } else if last.since(Time::ZERO) + last.since(*last_but_one) < duration {
        let expected = format!("a series that lasts for the `duration` of {duration}");
        Some((expected, format!("a last sample at {last}")))
    } else {
        None
    }
}

/// The bytes of a file that is expected to have `what`.
pub(crate) fn content(file: &FilePath, what: &str) -> Result<Vec<u8>, Box<Fault>> {
    let bytes = regular(file).and_then(|()| {
        std::fs::read(file).map_err(|error| format!("one that cannot be read ({error})"))
    });
    Ok(bytes.map_err(|found| Fault::new(None, what, found))?)
}

/// Refuses a path that is no regular file: reading a device or a pipe may never end.
fn regular(file: &FilePath) -> Result<(), String> {
    let kind = match file.metadata() {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Err("no such file".into()),
        Err(error) => return Err(format!("one that cannot be read ({error})")),
    };
    match kind {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err("a folder".into()),
        _ => Err("a device, a pipe or a socket".into()),
    }
}

/// The rows so far.
#[derive(Clone, Debug, Default)]
struct Series {
    samples: Vec<(Time, f64)>,
    lines: Vec<usize>,
}

impl Series {
    /// Takes the row at `line`.
    fn push(&mut self, line: usize, time: &Cell, attenuation: &Cell) -> Result<(), RowFault> {
        let second = time.number(line, "a time in seconds", 0.0..=LAST).map_err(|f| (0, f))?;
        let attenuation = attenuation.number(line, "an attenuation in dB", ATTENUATION);
        let attenuation = attenuation.map_err(|fault| (1, fault))?;
        let time = Time::ZERO + Span::from_secs_f64(second);
        if let Some((last, _)) = self.samples.last()
            && *last >= time
        {
            let expected = format!("a time after {}s", last.as_secs_f64());
            let fault = Fault::new(Some(line), expected, format!("{second}"));
            return Err((0, fault.because("times must increase").into()));
        }
        self.samples.push((time, attenuation));
        self.lines.push(line);
        Ok(())
    }

    fn finish(self, gaps: bool) -> Result<Vec<(Time, f64)>, Box<Fault>> {
        if let [] | [_] = self.samples[..] {
            let found = if self.samples.is_empty() { "none" } else { "a single one" };
            let fault = Fault::new(self.lines.first().copied(), "at least two samples", found);
            return Err(fault.because("attenuation is interpolated between samples").into());
        }
        match self.gap() {
            Some(fault) if !gaps => Err(fault.into()),
            _ => Ok(self.samples),
        }
    }

    /// The first step that is too long. Any spacing is allowed, but where nearly all steps are
    /// equal, a longer one means that samples are missing.
    fn gap(&self) -> Option<Fault> {
        let step = |pair: &[(Time, f64)]| pair[1].0.since(pair[0].0).as_secs_f64();
        let steps: Vec<_> = self.samples.windows(2).map(step).collect();
        let mut sorted = steps.clone();
        sorted.sort_by(f64::total_cmp);
        let usual = sorted[sorted.len() / 2];
        // Times are often rounded to a digit or two.
        let is_usual = |step: &f64| (step / usual - 1.0).abs() < 0.1;
        let regular = steps.iter().filter(|step| is_usual(step)).count() as f64;
        if steps.len() < FEW || regular < REGULAR * steps.len() as f64 {
            return None;
        }
        let gap = steps.iter().position(|step| *step > 1.5 * usual)?;
        let expected =
            format!("a sample {usual}s after the previous one, as in the rest of the file");
        let fault =
            Fault::new(Some(self.lines[gap + 1]), expected, format!("a gap of {}s", steps[gap]));
        Some(fault.because("gaps = \"interpolate\" interpolates over it"))
    }
}
