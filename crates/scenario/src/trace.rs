//! Traces: rate, delay, losses and outages of a link direction over time, from files.
//!
//! - Columns: CSV or Parquet with a header. The column `t_s` has the time, and the others have the
//!   unit in their name. A row holds until the next one. A rate of zero is an outage until then,
//!   and so is a 1 in the column `outage`.
//! - Mahimahi's delivery traces: each line is a time in milliseconds at which 1500 bytes may leave.
//!   As bits they are a rate in that millisecond, so that packets may be of any size. Milliseconds
//!   without a delivery are outages.
//! - Delays of LeoReplayer: each line is a one-way delay in milliseconds, one for each 10 ms.

mod columns;

use std::collections::BTreeMap;
use std::path::Path as FilePath;

use language::error::{Errors, Source};
use language::path::Path;
use language::tree::Tree;

use units::{Rate, Span};

use crate::fade::{Fault, content};
use crate::model::Change;

pub(crate) use columns::columns;

/// Most rows of a trace: an hour with one row in each millisecond has 3.6 million.
const MOST: usize = 4_000_000;
/// Rate in bit/s of one delivery per millisecond.
const DELIVERY: u64 = 1500 * 8 * 1000;
const MILLISECOND: u64 = 1_000_000;
/// Time between two delays of LeoReplayer.
pub(crate) const DELAY_STEP: Span = Span::from_nanos(10 * MILLISECOND);
/// The largest rate that links may have, in bit/s.
const FASTEST: f64 = 320e9;
/// The longest delay of a row, in seconds.
const LONGEST: f64 = 1000.0;
/// The last second of a trace: 30 years.
const LAST: f64 = 1e9;
/// The same in milliseconds.
const LAST_MS: u64 = 1_000_000_000_000;

/// The content of a file: changes, and how long they last.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Trace {
    pub changes: Vec<Change>,
    pub lasts: Span,
    /// The line of its last row.
    pub last_line: Option<usize>,
    /// Its rates are those that a flow has achieved, and not the capacity.
    pub achieved: bool,
    /// How the file was read, for people: what was ignored, left out or filled in.
    pub notes: Vec<String>,
    /// Its longest gap, as a sentence, if that is so long that rows are likely to be missing.
    pub gap: Option<String>,
}

impl Trace {
    /// The same changes again and again.
    pub fn repeated(mut self) -> Self {
        let every = Some(self.lasts);
        self.changes.iter_mut().for_each(|change| change.every = every);
        self
    }

    /// The same with its last values until `end`: an outage of the last row goes on.
    pub fn hold(&mut self, end: Span) {
        if let Some(last) = self.changes.last_mut().filter(|last| last.outage.is_some()) {
            last.outage = Some(end.saturating_sub(last.at));
        }
        self.lasts = end;
    }

    /// True if it sets a rate.
    pub fn has_rate(&self) -> bool {
        self.changes.iter().any(|change| change.rate.is_some())
    }

    fn push(&mut self, at: Span, rate: Option<Rate>, delay: Option<Span>, outage: Option<Span>) {
        self.changes.push(Change { at, every: None, rate, delay, outage, loss: None });
    }
}

/// A form of files with a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// Columns; those of a log of another program by their names in a trace.
    Columns(BTreeMap<String, String>),
    /// Deliveries of Mahimahi.
    Deliveries,
    /// Delays of LeoReplayer, one for each 10 ms.
    Delays,
}

/// The changes of a file with a trace, as a link has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    /// Changes in the order of time.
    pub changes: Vec<Change>,
    /// Time from the first change to the end.
    pub lasts: Span,
    /// The rates are those that a flow has achieved.
    pub achieved: bool,
    /// How the file was read, for people, and the longest gap if rows are likely to be missing.
    pub notes: Vec<String>,
}

/// Reads a file with a trace, as a scenario does.
///
/// # Errors
/// If it has another form, with the line.
pub fn read(file: &FilePath, form: &Form) -> Result<Content, Errors> {
    let read = match form {
        Form::Columns(names) => columns(file, Some(names).filter(|names| !names.is_empty())),
        Form::Deliveries => deliveries(file, false),
        Form::Delays => delays(file, DELAY_STEP),
    };
    match read {
        Ok(Trace { changes, lasts, achieved, mut notes, gap, last_line: _ }) => {
            notes.extend(gap);
            Ok(Content { changes, lasts, achieved, notes })
        }
        Err(fault) => {
            let problem = crate::resolve::unreadable(*fault, file, &Path::default());
            Err(Source::default().report(&Tree::from_json(&serde_json::json!({})), vec![*problem]))
        }
    }
}

/// Reads a delivery trace of Mahimahi.
pub(crate) fn deliveries(file: &FilePath, repeats: bool) -> Result<Trace, Box<Fault>> {
    let what = "times in whole milliseconds, one in each line";
    let times =
        numbers(file, what, |text| text.parse().ok().filter(|time: &u64| *time <= LAST_MS))?;
    enough(times.len(), 1)?;
    for pair in times.windows(2) {
        if pair[1].1 < pair[0].1 {
            let expected = format!("a time of at least {} ms", pair[0].1);
            return Err(Fault::new(Some(pair[1].0), expected, pair[1].1.to_string()).into());
        }
    }
    let last = times.last().map_or(1, |(_, time)| (*time).max(1));
    // Where it repeats, the end is the beginning.
    let place = |time: u64| if repeats { time % last } else { time };
    let mut counts: Vec<(u64, u64)> = Vec::new();
    let mut placed: Vec<_> = times.iter().map(|(_, time)| place(*time)).collect();
    placed.sort_unstable();
    for time in placed {
        match counts.last_mut() {
            Some((at, count)) if *at == time => *count += 1,
            _ => counts.push((time, 1)),
        }
    }
    let milliseconds = |count: u64| Span::from_nanos(count * MILLISECOND);
    let last_line = times.last().map(|(line, _)| *line);
    let mut trace = Trace { lasts: milliseconds(last), last_line, ..Trace::default() };
    let mut free = 0;
    for (at, count) in counts {
        if at > free {
            trace.push(milliseconds(free), None, None, Some(milliseconds(at - free)));
        }
        let rate = Rate::from_bits_per_second(count * DELIVERY);
        trace.push(milliseconds(at), Some(rate), None, None);
        free = at + 1;
    }
    if free < last {
        trace.push(milliseconds(free), None, None, Some(milliseconds(last - free)));
    }
    Ok(trace)
}

/// Reads delays of LeoReplayer, one for each `step`.
pub(crate) fn delays(file: &FilePath, step: Span) -> Result<Trace, Box<Fault>> {
    let what = "delays in milliseconds, one in each line";
    let delays = numbers(file, what, |text| {
        let delay: f64 = text.parse().ok()?;
        (0.0..=LONGEST * 1e3).contains(&delay).then(|| Span::from_secs_f64(delay / 1e3))
    })?;
    enough(delays.len(), 1)?;
    let last_line = delays.last().map(|(line, _)| *line);
    let lasts = step * delays.len() as u64;
    let mut trace = Trace { lasts, last_line, ..Trace::default() };
    let mut before = None;
    for (number, (_, delay)) in (0..).zip(&delays) {
        if before != Some(delay) {
            trace.push(step * number, None, Some(*delay), None);
        }
        before = Some(delay);
    }
    Ok(trace)
}

fn enough(rows: usize, least: usize) -> Result<(), Box<Fault>> {
    match rows {
        rows if rows < least => {
            Err(Fault::new(None, format!("at least {least} rows"), rows.to_string()).into())
        }
        rows if rows > MOST => {
            Err(Fault::new(None, format!("at most {MOST} rows"), rows.to_string()).into())
        }
        _ => Ok(()),
    }
}

/// The numbers of a file with one in each line, and their lines. `#` begins a comment.
fn numbers<T>(
    file: &FilePath,
    what: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Vec<(usize, T)>, Box<Fault>> {
    let bytes = content(file, what)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Box::new(Fault::new(None, what, "bytes that are no UTF-8")))?;
    let lines = (1..).zip(text.lines().map(str::trim));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let number = |(number, line): (usize, &str)| match read(line) {
        Some(value) => Ok((number, value)),
        None => Err(Fault::new(Some(number), what, language::describe::quoted_short(line)).into()),
    };
    lines.map(number).collect()
}
