//! Traces: rate, delay, losses and outages of a link direction over time, from files.
//!
//! - Columns: CSV or Parquet with a header. The column `t_s` has the time, and the others have the unit in their name.
//!   A row holds until the next one. A rate of zero is an outage until then, and so is a 1 in the column `outage`.
//! - Mahimahi's delivery traces: each line is a time in milliseconds at which 1500 bytes may leave. As bits
//!   they are a rate in that millisecond, so that packets may be of any size. Milliseconds without a
//!   delivery are outages.
//! - Delays of LeoReplayer: each line is a one-way delay in whole milliseconds, one for each 10 ms.

use std::path::Path as FilePath;

use units::{Rate, Span};

use crate::fade::{Fault, content, table};
use crate::model::Change;

/// Most rows of a trace: an hour with one row in each millisecond has 3.6 million.
const MOST: usize = 4_000_000;
/// Rate in bit/s of one delivery per millisecond.
const DELIVERY: u64 = 1500 * 8 * 1000;
const MILLISECOND: u64 = 1_000_000;
/// Time between two delays of LeoReplayer.
const DELAY_STEP: Span = Span::from_nanos(10 * MILLISECOND);
/// The largest rate that links may have, in bit/s.
const FASTEST: f64 = 320e9;
/// The longest delay of a row, in seconds.
const LONGEST: f64 = 1000.0;
/// The same in milliseconds.
const LONGEST_MS: u64 = 1_000_000;
/// The last second of a trace: 30 years.
const LAST: f64 = 1e9;
/// The same in milliseconds.
const LAST_MS: u64 = 1_000_000_000_000;

/// The content of a file: changes, and how long they last.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Trace {
    pub changes: Vec<Change>,
    pub lasts: Span,
}

impl Trace {
    /// The same changes again and again.
    pub fn repeated(mut self) -> Self {
        let every = Some(self.lasts);
        self.changes.iter_mut().for_each(|change| change.every = every);
        self
    }

    fn push(&mut self, at: Span, rate: Option<Rate>, delay: Option<Span>, outage: Option<Span>) {
        self.changes.push(Change { at, every: None, rate, delay, outage, loss: None });
    }
}

/// The kinds of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Time,
    Rate,
    Delay,
    Loss,
    Outage,
}

/// Columns by name, with the factor to seconds, bit/s or a probability.
const COLUMNS: [(&str, Kind, f64); 10] = [
    ("t_s", Kind::Time, 1.0),
    ("rate_bps", Kind::Rate, 1.0),
    ("rate_kbps", Kind::Rate, 1e3),
    ("rate_mbps", Kind::Rate, 1e6),
    ("delay_s", Kind::Delay, 1.0),
    ("delay_ms", Kind::Delay, 1e-3),
    ("delay_us", Kind::Delay, 1e-6),
    ("loss_ratio", Kind::Loss, 1.0),
    ("loss_percent", Kind::Loss, 1e-2),
    ("outage", Kind::Outage, 1.0),
];

/// Reads a file with columns.
pub(crate) fn columns(file: &FilePath) -> Result<Trace, Box<Fault>> {
    let table = table(file, "columns with names, such as `t_s`, `rate_mbps` and `delay_ms`")?;
    let names: Vec<_> = COLUMNS.iter().map(|(name, ..)| format!("`{name}`")).collect();
    let known = |name: &String| COLUMNS.iter().find(|(known, ..)| known == name);
    let mut places: [Option<(usize, f64)>; 5] = [None; 5];
    for (number, name) in table.names.iter().enumerate() {
        let Some((_, kind, factor)) = known(name) else {
            let expected = format!("a column of {}", names.join(", "));
            return Err(Fault::new(Some(1), expected, format!("{name:?}")).into());
        };
        if places[*kind as usize].replace((number, *factor)).is_some() {
            let expected = "one column each for time, rate, delay, loss and outage";
            return Err(Fault::new(Some(1), expected, format!("{name:?} after another")).into());
        }
    }
    let [Some((time, _)), rate, delay, loss, outage] = places else {
        return Err(Fault::new(Some(1), "a column `t_s`, time in seconds", "none").into());
    };
    if [rate, delay, loss, outage].iter().all(Option::is_none) {
        let expected = "a column with a rate, a delay, a loss or outages";
        return Err(Fault::new(Some(1), expected, "none").into());
    }
    let mut rows = Vec::new();
    for (line, cells) in &table.rows {
        let value = |column: usize, factor: f64, what: &str, most: f64| {
            let number = cells[column].number(*line, what, 0.0..=most / factor)?;
            Ok::<f64, Box<Fault>>(number * factor)
        };
        let at = Span::from_secs_f64(value(time, 1.0, "a time in seconds", LAST)?);
        let rate = rate.map(|(column, factor)| value(column, factor, "a rate", FASTEST));
        let delay = delay.map(|(column, factor)| value(column, factor, "a delay", LONGEST));
        let loss = loss.map(|(column, factor)| value(column, factor, "a loss", 1.0));
        let [rate, delay, loss] = [rate.transpose()?, delay.transpose()?, loss.transpose()?];
        let outage =
            outage.map(|(column, factor)| value(column, factor, "an outage, 0 or 1,", 1.0));
        let silent = match outage.transpose()? {
            None | Some(0.0) => false,
            Some(1.0) => true,
            Some(other) => {
                return Err(Fault::new(Some(*line), "an outage, 0 or 1", other.to_string()).into());
            }
        };
        rows.push(Row { line: *line, at, rate, delay, loss, silent });
    }
    from_rows(&rows)
}

/// A row of a file with columns.
#[derive(Clone, Copy, Debug)]
struct Row {
    line: usize,
    at: Span,
    /// In bit/s.
    rate: Option<f64>,
    /// In seconds.
    delay: Option<f64>,
    /// A probability.
    loss: Option<f64>,
    /// An outage until the next row.
    silent: bool,
}

fn from_rows(rows: &[Row]) -> Result<Trace, Box<Fault>> {
    enough(rows.len(), 2)?;
    if rows[0].at > Span::ZERO {
        let found = rows[0].at.to_string();
        return Err(Fault::new(Some(rows[0].line), "a first row at 0s", found).into());
    }
    for pair in rows.windows(2) {
        if pair[1].at <= pair[0].at {
            let expected = format!("a time after {}", pair[0].at);
            let fault = Fault::new(Some(pair[1].line), expected, pair[1].at.to_string());
            return Err(fault.because("times must increase").into());
        }
    }
    // The last row holds as long as the one before.
    let [.., before, last] = rows else { return Ok(Trace::default()) };
    let mut trace =
        Trace { lasts: last.at + last.at.saturating_sub(before.at), ..Trace::default() };
    let ends = rows.iter().skip(1).map(|row| row.at).chain([trace.lasts]);
    for (&Row { line: _, at, rate, delay, loss, silent }, end) in rows.iter().zip(ends) {
        // Rates below one bit per second are none.
        #[expect(clippy::cast_possible_truncation, reason = "at most FASTEST")]
        let bits = rate.map(|rate| rate.round() as u64);
        let outage = (silent || bits == Some(0)).then(|| end.saturating_sub(at));
        let rate = bits.filter(|bits| *bits > 0).map(Rate::from_bits_per_second);
        let delay = delay.map(Span::from_secs_f64);
        trace.changes.push(Change { at, every: None, rate, delay, outage, loss });
    }
    Ok(trace)
}

/// Reads a delivery trace of Mahimahi.
pub(crate) fn deliveries(file: &FilePath, repeats: bool) -> Result<Trace, Box<Fault>> {
    let times = whole_numbers(file, "times in whole milliseconds, one in each line", LAST_MS)?;
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
    let mut trace = Trace { lasts: milliseconds(last), ..Trace::default() };
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

/// Reads delays of LeoReplayer.
pub(crate) fn delays(file: &FilePath) -> Result<Trace, Box<Fault>> {
    let delays = whole_numbers(file, "delays in whole milliseconds, one in each line", LONGEST_MS)?;
    enough(delays.len(), 1)?;
    let lasts = DELAY_STEP * delays.len() as u64;
    let mut trace = Trace { lasts, ..Trace::default() };
    let mut before = None;
    for (number, (_, delay)) in (0..).zip(&delays) {
        if before != Some(delay) {
            let delay = Span::from_nanos(delay * MILLISECOND);
            trace.push(DELAY_STEP * number, None, Some(delay), None);
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

/// The numbers of a file with one in each line, and their lines.
fn whole_numbers(file: &FilePath, what: &str, most: u64) -> Result<Vec<(usize, u64)>, Box<Fault>> {
    let bytes = content(file, what)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Box::new(Fault::new(None, what, "bytes that are no UTF-8")))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let read = |(number, line): (usize, &str)| match line.trim().parse() {
        Ok(value) if value <= most => Ok((number, value)),
        _ => Err(Fault::new(Some(number), what, language::describe::quoted_short(line)).into()),
    };
    lines.map(read).collect()
}
