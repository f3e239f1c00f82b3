//! Traces in files with columns: those of this project by their names, and logs of other programs
//! by a table that says which column is which.
//!
//! A file whose columns are named is read to the letter: an unknown column is an error, except
//! those in which `bentpipe orbit` describes a path. In a log that a table describes, other columns
//! are ignored, a missing value is that of the row before, rows without a time are left out, and
//! times count from the first row. What was done is in the notes of the trace.

use std::collections::BTreeMap;
use std::path::Path as FilePath;

use chrono::{DateTime, NaiveDateTime};
use language::describe::{quoted_short, shortened};
use language::suggest;
use units::{Rate, Span};

use super::{FASTEST, LAST, LONGEST, Trace, enough};
use crate::fade::{Cell, Fault, Table, table};
use crate::model::Change;

/// The kinds of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Time,
    Rate,
    Delay,
    Loss,
    Outage,
}

/// Columns by name, with the factor to seconds, bit/s or a probability. One way takes half of a
/// round trip.
const COLUMNS: [(&str, Kind, f64); 18] = [
    ("t_s", Kind::Time, 1.0),
    ("t_ms", Kind::Time, 1e-3),
    ("t_us", Kind::Time, 1e-6),
    ("rate_bps", Kind::Rate, 1.0),
    ("rate_kbps", Kind::Rate, 1e3),
    ("rate_mbps", Kind::Rate, 1e6),
    ("achieved_bps", Kind::Rate, 1.0),
    ("achieved_kbps", Kind::Rate, 1e3),
    ("achieved_mbps", Kind::Rate, 1e6),
    ("delay_s", Kind::Delay, 1.0),
    ("delay_ms", Kind::Delay, 1e-3),
    ("delay_us", Kind::Delay, 1e-6),
    ("rtt_s", Kind::Delay, 0.5),
    ("rtt_ms", Kind::Delay, 0.5e-3),
    ("rtt_us", Kind::Delay, 0.5e-6),
    ("loss_ratio", Kind::Loss, 1.0),
    ("loss_percent", Kind::Loss, 1e-2),
    ("outage", Kind::Outage, 1.0),
];

/// Beginning of the names of columns with rates that a flow has achieved.
const ACHIEVED: &str = "achieved_";

/// Words that logs have in the place of a value.
const NOTHING: [&str; 6] = ["-", "na", "n/a", "null", "none", "nil"];

/// Where a value is in a row, and what it is.
#[derive(Clone, Copy, Debug)]
struct Place {
    column: usize,
    factor: f64,
}

/// The places of all kinds.
#[derive(Clone, Copy, Debug)]
struct Places {
    time: Place,
    rate: Option<Place>,
    delay: Option<Place>,
    loss: Option<Place>,
    outage: Option<Place>,
}

/// Names of columns in a file, by what they are: `rtt_ms` is `RTT [ms]`.
type Names = BTreeMap<String, String>;

/// Reads a file with columns. `names` are those of a log of another program.
pub(crate) fn columns(file: &FilePath, names: Option<&Names>) -> Result<Trace, Box<Fault>> {
    let table = table(file, "columns with names, such as `t_s`, `rate_mbps` and `delay_ms`")?;
    let mut notes = Vec::new();
    if table.commas {
        notes.push("a comma is the decimal point: 1,234 is 1.234".to_owned());
    }
    let places = match names {
        Some(names) => named(&table, names, &mut notes)?,
        None => known(&table)?,
    };
    let rows = match names {
        Some(_) => lenient(&table, places, &mut notes)?,
        None => strict(&table, places)?,
    };
    let mut used = match names {
        Some(names) => names.keys().collect::<Vec<_>>(),
        None => table.names.iter().collect(),
    }
    .into_iter();
    let achieved = used.any(|name| name.starts_with(ACHIEVED));
    let trace = from_rows(&rows)?;
    Ok(Trace { notes, achieved, gap: long_gap(&rows, file), ..trace })
}

/// A column for which there is one already, or none.
fn place(places: &mut [Option<Place>; 5], name: &str, column: usize) -> Result<(), Box<Fault>> {
    let found = COLUMNS.iter().find(|(known, ..)| *known == name);
    let Some((_, kind, factor)) = found else {
        let names: Vec<_> = COLUMNS.iter().map(|(name, ..)| format!("`{name}`")).collect();
        let fault =
            Fault::new(Some(1), format!("a column of {}", names.join(", ")), quoted_short(name));
        let reason = "the key `columns` says which column of a log is which";
        return Err(fault.because(reason).into());
    };
    if places[*kind as usize].replace(Place { column, factor: *factor }).is_some() {
        let expected = "one column each for time, rate, delay, loss and outage";
        return Err(Fault::new(Some(1), expected, format!("{name:?} after another")).into());
    }
    Ok(())
}

fn all(places: [Option<Place>; 5]) -> Result<Places, Box<Fault>> {
    let [time, rate, delay, loss, outage] = places;
    let Some(time) = time else {
        return Err(Fault::new(Some(1), "a column `t_s`, time in seconds", "none").into());
    };
    if [rate, delay, loss, outage].iter().all(Option::is_none) {
        let expected = "a column with a rate, a delay, a loss or outages";
        return Err(Fault::new(Some(1), expected, "none").into());
    }
    Ok(Places { time, rate, delay, loss, outage })
}

/// The places in a file of this project.
fn known(table: &Table) -> Result<Places, Box<Fault>> {
    let mut places = [None; 5];
    for (column, name) in table.names.iter().enumerate() {
        // Columns of `bentpipe orbit` that describe its path.
        if !orbit::series::DESCRIPTIVE.contains(&name.as_str()) {
            place(&mut places, name, column)?;
        }
    }
    all(places)
}

/// The places in a log.
fn named(table: &Table, names: &Names, notes: &mut Vec<String>) -> Result<Places, Box<Fault>> {
    let mut places = [None; 5];
    for (ours, theirs) in names {
        let Some(column) = table.names.iter().position(|name| name == theirs) else {
            let near = suggest::nearest(theirs, table.names.iter().map(String::as_str));
            let there: Vec<_> = table.names.iter().map(|name| quoted_short(name)).collect();
            let found = shortened(&there.join(", ")).into_owned();
            let fault =
                Fault::new(table.header, format!("a column {theirs:?} for `{ours}`"), found);
            return Err(match near {
                Some(near) => fault.because(format!("did you mean {near}?")),
                None => fault,
            }
            .into());
        };
        place(&mut places, ours, column)?;
    }
    let ignored = table.names.iter().filter(|name| !names.values().any(|one| one == *name));
    let ignored: Vec<_> = ignored.map(|name| quoted_short(name)).collect();
    if !ignored.is_empty() {
        notes.push(format!("ignores {}", shortened(&ignored.join(", "))));
    }
    if names.keys().any(|name| name.starts_with("rtt_")) {
        notes.push("the delay of each direction is half of the RTT".to_owned());
    }
    all(places)
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

/// A number of a row, times its factor.
fn value(
    (line, cells): (usize, &[Cell]),
    place: Place,
    what: &str,
    most: f64,
) -> Result<f64, Box<Fault>> {
    let number = cells[place.column].number(line, what, 0.0..=most / place.factor)?;
    Ok(number * place.factor)
}

/// True if there is an outage in a row.
fn is_silent(row: (usize, &[Cell]), place: Place) -> Result<bool, Box<Fault>> {
    match value(row, place, "an outage, 0 or 1,", 1.0)? {
        0.0 => Ok(false),
        1.0 => Ok(true),
        other => Err(Fault::new(Some(row.0), "an outage, 0 or 1", other.to_string()).into()),
    }
}

/// The rows of a file in which no value is missing and times are numbers that start at zero.
fn strict(table: &Table, places: Places) -> Result<Vec<Row>, Box<Fault>> {
    let row = |(line, cells): &(usize, Vec<Cell>)| {
        let row = (*line, cells.as_slice());
        let of = |place: Option<Place>, what, most| {
            place.map(|place| value(row, place, what, most)).transpose()
        };
        let at = Span::from_secs_f64(value(row, places.time, "a time in seconds", LAST)?);
        let rate = of(places.rate, "a rate", FASTEST)?;
        let delay = of(places.delay, "a delay", LONGEST)?;
        let loss = of(places.loss, "a loss", 1.0)?;
        let silent = places.outage.map(|place| is_silent(row, place)).transpose()?;
        Ok(Row { line: *line, at, rate, delay, loss, silent: silent.unwrap_or(false) })
    };
    let rows: Vec<_> = table.rows.iter().map(row).collect::<Result<_, Box<Fault>>>()?;
    if let Some(first) = rows.first().filter(|first| first.at > Span::ZERO) {
        let fault = Fault::new(Some(first.line), "a first row at 0s", first.at.to_string());
        let reason = "with the key `columns`, times count from the first row";
        return Err(fault.because(reason).into());
    }
    Ok(rows)
}

/// True if a cell has no value.
fn is_missing(cell: &Cell) -> bool {
    match cell {
        Cell::Missing => true,
        Cell::Number(number) => number.is_nan(),
        Cell::Text(text) => NOTHING.contains(&text.to_lowercase().as_str()),
        Cell::Other(_) => false,
    }
}

/// The rows of a log.
fn lenient(table: &Table, places: Places, notes: &mut Vec<String>) -> Result<Vec<Row>, Box<Fault>> {
    let mut clock = Clock::default();
    let mut rows: Vec<Row> = Vec::new();
    let (mut untimed, mut held) = (0_usize, 0_usize);
    let values = [places.rate, places.delay, places.loss];
    let bounds = [("a rate", FASTEST), ("a delay", LONGEST), ("a loss", 1.0)];
    let mut last: [Option<f64>; 3] = [None; 3];
    for (line, cells) in &table.rows {
        let row = (*line, cells.as_slice());
        if is_missing(&cells[places.time.column]) {
            untimed += 1;
            continue;
        }
        let at = clock.read(row, places.time)?;
        for ((last, place), (what, most)) in last.iter_mut().zip(values).zip(bounds) {
            let Some(place) = place else { continue };
            match is_missing(&cells[place.column]) {
                true => held += 1,
                false => *last = Some(value(row, place, what, most)?),
            }
        }
        let silent = places.outage.filter(|place| !is_missing(&cells[place.column]));
        let silent = silent.map(|place| is_silent(row, place)).transpose()?.unwrap_or(false);
        let [rate, delay, loss] = last;
        rows.push(Row { line: *line, at, rate, delay, loss, silent });
    }
    // Rows before the first value of a column have that value.
    let first = |of: fn(&Row) -> Option<f64>| rows.iter().find_map(of);
    let firsts = [first(|row| row.rate), first(|row| row.delay), first(|row| row.loss)];
    for ((place, first), (what, _)) in values.iter().zip(firsts).zip(bounds) {
        if let (Some(place), None) = (place, first) {
            let expected = format!("{what} in the column {:?}", table.names[place.column]);
            return Err(Fault::new(table.header, expected, "none in any row").into());
        }
    }
    for row in &mut rows {
        row.rate = row.rate.or(firsts[0]);
        row.delay = row.delay.or(firsts[1]);
        row.loss = row.loss.or(firsts[2]);
    }
    let rows_of =
        |number: usize| if number == 1 { "1 row".into() } else { format!("{number} rows") };
    if untimed > 0 {
        notes.push(format!("leaves out {} without a time", rows_of(untimed)));
    }
    if held > 0 {
        let values = if held == 1 { "value" } else { "values" };
        notes.push(format!("{held} missing {values}: that of the row before"));
    }
    notes.extend(note_of_gaps(&rows));
    notes.extend(clock.note());
    Ok(rows)
}

/// The time between two rows, as a multiple of the median, from which it is a gap of the log.
const GAP: u64 = 3;
/// The multiple from which rows are likely to be missing in a table of any kind. Tables of changes
/// have steps of different lengths.
const LONG_GAP: u64 = 60;
/// And the shortest such time.
const SHORTEST_GAP: Span = Span::from_secs(60);

/// The times between rows.
fn steps(rows: &[Row]) -> impl Iterator<Item = Span> {
    rows.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at))
}

/// The median of the times between rows, and the longest one with the row before it.
fn usual_and_longest(rows: &[Row]) -> Option<(Span, Span, &Row)> {
    let mut sorted: Vec<_> = steps(rows).collect();
    sorted.sort_unstable();
    let usual = sorted.get(sorted.len() / 2).filter(|usual| **usual > Span::ZERO)?;
    let (longest, after) = steps(rows).zip(rows).max_by_key(|(step, _)| *step)?;
    Some((*usual, longest, after))
}

/// The longest time between rows, if it is that of a gap in any table, as a sentence.
fn long_gap(rows: &[Row], file: &FilePath) -> Option<String> {
    let (usual, longest, after) = usual_and_longest(rows)?;
    (longest >= SHORTEST_GAP && longest >= usual * LONG_GAP).then(|| {
        format!(
            "{} has no row for {longest} after line {}, with {usual} between most rows: the row before holds. Rows \
             with an outage, or with values, would say what happened",
            file.file_name().unwrap_or_default().display(),
            after.line
        )
    })
}

/// Gaps between rows of a log, which the values of the row before fill.
fn note_of_gaps(rows: &[Row]) -> Option<String> {
    let (usual, longest, after) = usual_and_longest(rows)?;
    let gaps = steps(rows).filter(|step| *step > usual * GAP).count();
    let number = if gaps == 1 { "1 gap".into() } else { format!("{gaps} gaps") };
    (gaps > 0).then(|| {
        format!(
            "{number} (the longest {longest} after line {}, usually {usual} between rows): the row before holds",
            after.line
        )
    })
}

/// Times of a log, which count from the first one.
#[derive(Clone, Debug, Default)]
struct Clock {
    /// The first time and its line: nanoseconds since 1970 or since any other instant.
    first: Option<(i128, usize)>,
    /// The first time as it was written, unless it is zero.
    start: Option<String>,
    /// The form of all times.
    form: Option<Form>,
}

/// The form of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Number,
    /// ISO 8601 with a zone.
    Zoned,
    /// ISO 8601 without a zone.
    Local,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Zoned => "a time with a zone",
            Self::Local => "a time without a zone",
        }
    }
}

impl Clock {
    /// The time of a row since the first row.
    fn read(&mut self, row: (usize, &[Cell]), place: Place) -> Result<Span, Box<Fault>> {
        let (line, cells) = row;
        let cell = &cells[place.column];
        let (form, nanos) = match cell {
            Cell::Text(text) => iso(text).ok_or_else(|| {
                let expected = "a time: a number, or ISO 8601 such as 2026-11-26T14:05:00.25Z";
                Box::new(Fault::new(Some(line), expected, quoted_short(text)))
            })?,
            cell => {
                let seconds = cell.number(line, "a time", 0.0..=1e300)? * place.factor;
                #[expect(clippy::cast_possible_truncation, reason = "a cast of floats saturates")]
                let nanos = (seconds * 1e9).round() as i128;
                (Form::Number, nanos)
            }
        };
        if self.first.is_none() && nanos != 0 {
            self.start = Some(in_words(cell));
        }
        let (first, first_line) = *self.first.get_or_insert((nanos, line));
        let usual = *self.form.get_or_insert(form);
        if form != usual {
            let expected = format!("{}, as in line {first_line}", usual.name());
            return Err(Fault::new(Some(line), expected, form.name()).into());
        }
        let most = Span::from_secs_f64(LAST);
        let since = u64::try_from(nanos - first).ok().map(Span::from_nanos);
        since.filter(|since| *since <= most).ok_or_else(|| {
            let expected = format!("a time after that of line {first_line}, by at most {most}");
            Fault::new(Some(line), expected, in_words(cell)).into()
        })
    }

    /// The beginning, if it was not zero.
    fn note(self) -> Option<String> {
        self.start.map(|start| format!("times count from {start}"))
    }
}

fn in_words(cell: &Cell) -> String {
    match cell {
        Cell::Number(number) => number.to_string(),
        Cell::Text(text) => shortened(text).into_owned(),
        Cell::Missing => "nothing".to_owned(),
        Cell::Other(other) => other.clone(),
    }
}

/// Nanoseconds since 1970 of a time as in ISO 8601 (RFC 3339), with a `T` or a space, with a zone
/// or without.
fn iso(text: &str) -> Option<(Form, i128)> {
    let zoned = DateTime::parse_from_rfc3339(text)
        .or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f%:z"))
        .or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f %z"))
        .or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f%z"));
    let nanos = |seconds: i64, nanos: u32| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    if let Ok(time) = zoned {
        return Some((Form::Zoned, nanos(time.timestamp(), time.timestamp_subsec_nanos())));
    }
    let local = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f")
        .or_else(|_| NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f"));
    let time = local.ok()?.and_utc();
    Some((Form::Local, nanos(time.timestamp(), time.timestamp_subsec_nanos())))
}

fn from_rows(rows: &[Row]) -> Result<Trace, Box<Fault>> {
    enough(rows.len(), 2)?;
    for pair in rows.windows(2) {
        if pair[1].at <= pair[0].at {
            let expected = format!("a time after {}", pair[0].at);
            let fault = Fault::new(Some(pair[1].line), expected, pair[1].at.to_string());
            return Err(fault.because("times must increase").into());
        }
    }
    // The last row holds as long as the one before.
    let [.., before, last] = rows else { return Ok(Trace::default()) };
    let mut trace = Trace {
        lasts: last.at + last.at.saturating_sub(before.at),
        last_line: Some(last.line),
        ..Trace::default()
    };
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
