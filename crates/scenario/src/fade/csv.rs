//! Series as comma-separated values: a header if its two cells are no numbers, `#` for comments.

use ::csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};
use language::error::{Place, excerpt};

use super::table::Table;
use super::{Cell, Fault, Series};

/// Separators of columns; the first of them that the first line has.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// The text of a file, a reader of its records, and the separator of its columns.
type Opened<'a> = (&'a str, Reader<&'a [u8]>, u8);

fn open<'a>(bytes: &'a [u8], what: &str) -> Result<Opened<'a>, Box<Fault>> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        Fault::new(Some(line), what, "bytes that are no UTF-8")
    })?;
    let text = text.trim_start_matches('\u{feff}');
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let has = |separator: &&u8| first.is_some_and(|line| line.as_bytes().contains(separator));
    let separator = *SEPARATORS.iter().find(has).unwrap_or(&SEPARATORS[0]);
    let reader = ReaderBuilder::new()
        .delimiter(separator)
        .comment(Some(b'#'))
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    Ok((text, reader, separator))
}

/// A table with a header.
pub(super) fn table(bytes: &[u8], what: &str) -> Result<Table, Box<Fault>> {
    let (text, mut reader, separator) = open(bytes, what)?;
    let mut table = Table::default();
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| no_csv(&error, text))? {
        let line = record.position().map_or(0, |position| line_of(position, text));
        if table.names.is_empty() {
            table.header = Some(line);
            table.names = record.iter().map(|name| name.trim().to_owned()).collect();
        } else if record.len() == table.names.len() {
            let cells: Vec<_> = record.iter().map(|text| cell(text, separator)).collect();
            let with_comma =
                |(text, cell): (&str, &Cell)| matches!(cell, Cell::Number(_)) && text.contains(',');
            table.commas |= record.iter().zip(&cells).any(with_comma);
            table.rows.push((line, cells));
        } else {
            let expected = format!("{} columns, as in the header", table.names.len());
            let fault = Fault::new(Some(line), expected, record.len().to_string());
            return Err(marked(fault, text, line, None).into());
        }
    }
    Ok(table)
}

pub(super) fn read(bytes: &[u8]) -> Result<Series, Box<Fault>> {
    let (text, mut reader, separator) = open(bytes, "text with two columns, or a Parquet file")?;
    let mut series = Series::default();
    let mut record = StringRecord::new();
    let mut is_first = true;
    while reader.read_record(&mut record).map_err(|error| no_csv(&error, text))? {
        let line = record.position().map_or(0, |position| line_of(position, text));
        let cells: Vec<_> = record.iter().map(|text| cell(text, separator)).collect();
        let [time, attenuation] = cells.as_slice() else {
            let expected = "two columns, time in s and attenuation in dB";
            let found = match cells.len() {
                1 => "one column".to_owned(),
                columns => format!("{columns} columns"),
            };
            return Err(marked(Fault::new(Some(line), expected, found), text, line, None).into());
        };
        let is_header = is_first && cells.iter().all(|cell| !matches!(cell, Cell::Number(_)));
        is_first = false;
        if !is_header && let Err((column, fault)) = series.push(line, time, attenuation) {
            return Err(marked(*fault, text, line, place(&record, column)).into());
        }
    }
    Ok(series)
}

/// A value; where semicolons or tabs separate columns, a comma may stand for the decimal point.
fn cell(text: &str, separator: u8) -> Cell {
    let text = text.trim();
    let with_point =
        || (separator != b',').then(|| text.replacen(',', ".", 1).parse().ok()).flatten();
    match text.parse().ok().or_else(with_point) {
        Some(number) => Cell::Number(number),
        None if text.is_empty() => Cell::Missing,
        None => Cell::Text(text.to_owned()),
    }
}

/// The line of a record. Its position is where the reader began to look for it: before comments and
/// empty lines.
fn line_of(position: &::csv::Position, text: &str) -> usize {
    let [byte, line] = [position.byte(), position.line()].map(|n| usize::try_from(n).unwrap_or(0));
    let rest = text.get(byte..).unwrap_or_default().lines();
    line + rest.take_while(|line| line.is_empty() || line.starts_with('#')).count()
}

fn no_csv(error: &::csv::Error, text: &str) -> Box<Fault> {
    let line = match error.kind() {
        ErrorKind::Utf8 { pos: Some(position), .. } => Some(line_of(position, text)),
        _ => None,
    };
    Fault::new(line, "comma-separated values", format!("an error: {error}")).into()
}

/// The first character of a cell in its line, from 0, and how many it has. What is quoted cannot be
/// told from the record.
fn place(record: &StringRecord, column: usize) -> Option<(usize, usize)> {
    let before = record.iter().take(column).map(|cell| cell.chars().count() + 1).sum();
    let cell = record.get(column)?;
    (!record.iter().any(|cell| cell.contains(['"', '\n'])))
        .then(|| (before, cell.chars().count().max(1)))
}

/// `fault` with its line, and a mark under the cell at `place`.
fn marked(fault: Fault, text: &str, line: usize, place: Option<(usize, usize)>) -> Fault {
    let shown = text.lines().nth(line.saturating_sub(1)).unwrap_or("");
    let (start, width) = place.unwrap_or((0, shown.chars().count()));
    let (column, excerpt) = (Some(start + 1), excerpt(shown, width));
    Fault { place: Place { column, excerpt, ..fault.place }, ..fault }
}
