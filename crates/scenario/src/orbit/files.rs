//! The files that an orbit names: their places, and their faults.

use std::path::{Path as FilePath, PathBuf};

use language::Refused;
use language::error::Place as FilePlace;
use orbit::track::speed;
use orbit::{Track, Utc, Waypoint};
use units::Span;

use crate::document::FileName;
use crate::fade::{Cell, Fault, Table, table};

/// The place of the file that is named at a key.
pub(crate) type Files<'a> = &'a dyn Fn(&str, &FileName) -> PathBuf;

/// Highest speed of a place in km/s: more than that of any airliner.
const FASTEST: f64 = 0.5;
/// Longest time between two positions in seconds.
const LONGEST_S: f64 = 3600.0;
/// Kilometres in a foot.
const FOOT_KM: f64 = 0.3048e-3;
/// Bounds of an altitude in km, as of places that stand still.
const ALTITUDES_KM: [f64; 2] = [-1.0, 20.0];

/// The columns of the way of a place, with the number to which each is converted.
const COLUMNS: [(&str, usize, f64); 7] = [
    ("t_s", 0, 1.0),
    ("utc", 0, 1.0),
    ("latitude_deg", 1, 1.0),
    ("longitude_deg", 2, 1.0),
    ("altitude_km", 3, 1.0),
    ("altitude_m", 3, 1e-3),
    ("altitude_ft", 3, FOOT_KM),
];
/// Names of the four kinds, for messages.
const KINDS: [&str; 4] = ["`t_s` or `utc`", "`latitude_deg`", "`longitude_deg`", "an altitude"];

/// A fault of the file that is named at a key.
pub(super) fn refused(key: &str, fault: Fault, file: &FilePath) -> Refused {
    let Fault { place, expected, found, reason } = fault;
    let exists = file.is_file();
    let found = if exists { found } else { format!("{:?}: {found}", file.display().to_string()) };
    let refused = Refused::new(key, expected, found);
    let refused = match reason {
        Some(reason) => refused.because(reason),
        None => refused,
    };
    match exists {
        true => refused.elsewhere(FilePlace { file: Some(file.to_owned()), ..place }),
        false => refused,
    }
}

/// Reads the way of a place from the epoch on, for a duration.
pub(super) fn track(
    file: &FilePath,
    name: &str,
    epoch: Utc,
    duration: Span,
) -> Result<Track, Box<Fault>> {
    let expected = "columns with names, such as `t_s`, `latitude_deg` and `longitude_deg`";
    let table = table(file, expected)?;
    let columns = columns(&table)?;
    let mut points: Vec<Waypoint> = Vec::with_capacity(table.rows.len());
    for (line, cells) in &table.rows {
        let point = waypoint(*line, cells, columns, &table.names, epoch)?;
        if let Some(last) = points.last() {
            follows(*line, last, &point)?;
        }
        points.push(point);
    }
    covers(&table, &points, duration)?;
    let rising = || Fault::new(table.header, "times that rise", "others").into();
    Track::new(name, points).ok_or_else(rising)
}

/// The columns of time, latitude, longitude and altitude. The last one may be missing.
fn columns(table: &Table) -> Result<[Option<(usize, f64)>; 4], Box<Fault>> {
    let mut columns = [None; 4];
    for (number, name) in table.names.iter().enumerate() {
        let Some((_, kind, factor)) = COLUMNS.iter().find(|(known, ..)| known == name) else {
            let names: Vec<_> = COLUMNS.iter().map(|(name, ..)| format!("`{name}`")).collect();
            let expected = format!("a column of {}", names.join(", "));
            let found = language::describe::quoted_short(name);
            let fault = Fault::new(table.header.or(Some(1)), expected, found);
            return Err(fault.because("the name of a column has its unit").into());
        };
        if columns[*kind].replace((number, *factor)).is_some() {
            let expected = format!("one column with {}", KINDS[*kind]);
            return Err(Fault::new(table.header.or(Some(1)), expected, "two").into());
        }
    }
    match columns[..3].iter().position(Option::is_none) {
        Some(missing) => {
            let expected = format!("a column {}", KINDS[missing]);
            Err(Fault::new(table.header.or(Some(1)), expected, "none").into())
        }
        None => Ok(columns),
    }
}

/// The position in a row.
fn waypoint(
    line: usize,
    cells: &[Cell],
    columns: [Option<(usize, f64)>; 4],
    names: &[String],
    epoch: Utc,
) -> Result<Waypoint, Box<Fault>> {
    let number = |kind: usize, what: &str, [low, high]: [f64; 2]| match columns[kind] {
        None => Ok(0.0),
        Some((column, factor)) => cells[column]
            .number(line, what, low / factor..=high / factor)
            .map(|number| number * factor),
    };
    let at_s = match columns[0] {
        Some((column, _)) if names[column] == "utc" => instant(line, &cells[column], epoch)?,
        _ => number(0, "a time in seconds since the epoch", [-1e9, 1e9])?,
    };
    Ok(Waypoint {
        at_s,
        latitude_deg: number(1, "a latitude in degrees", [-90.0, 90.0])?,
        longitude_deg: number(2, "a longitude in degrees", [-180.0, 360.0])?,
        altitude_km: number(3, "an altitude", ALTITUDES_KM)?,
    })
}

/// Seconds from the epoch to a date and time.
fn instant(line: usize, cell: &Cell, epoch: Utc) -> Result<f64, Box<Fault>> {
    let text = match cell {
        Cell::Text(text) => text.clone(),
        Cell::Number(number) => number.to_string(),
        Cell::Missing => "nothing".to_owned(),
        Cell::Other(other) => other.clone(),
    };
    match Utc::parse(&text) {
        Some(at) => Ok((at.as_nanos() - epoch.as_nanos()) as f64 / 1e9),
        None => {
            let found = language::describe::quoted_short(&text);
            Err(Fault::new(Some(line), super::resolve::DATE, found).into())
        }
    }
}

/// A position must be later than the one before it, and within reach of it.
fn follows(line: usize, last: &Waypoint, point: &Waypoint) -> Result<(), Box<Fault>> {
    let step = point.at_s - last.at_s;
    if step <= 0.0 {
        let expected = format!("a time after {} s, that of the row before", last.at_s);
        let fault = Fault::new(Some(line), expected, format!("{} s", point.at_s));
        return Err(fault.because("times must increase").into());
    }
    if step > LONGEST_S {
        let expected = format!("a position at most {LONGEST_S} s after that of the row before");
        return Err(Fault::new(Some(line), expected, format!("a gap of {step} s")).into());
    }
    let speed = speed(last, point);
    if speed > FASTEST {
        let expected = format!("a position that a place reaches at {FASTEST} km/s or less");
        let fault = Fault::new(Some(line), expected, format!("a jump at {speed:.3} km/s"));
        return Err(fault.into());
    }
    Ok(())
}

/// The positions must reach from the epoch to the end. A position covers the time until the next
/// one, so the last one may be missing.
fn covers(table: &Table, points: &[Waypoint], duration: Span) -> Result<(), Box<Fault>> {
    let (Some(first), [.., before, last]) = (points.first(), points) else {
        return Err(Fault::new(table.header, "at least two positions", "fewer").into());
    };
    let (from_s, to_s) = (first.at_s, 2.0 * last.at_s - before.at_s);
    let line = |row: Option<&(usize, Vec<Cell>)>| row.map(|(line, _)| *line);
    if from_s > 0.0 {
        let found = format!("a first one {from_s} s after it");
        return Err(
            Fault::new(line(table.rows.first()), "positions from the epoch on", found).into()
        );
    }
    if to_s < duration.as_secs_f64() {
        let expected = format!("positions for {duration} from the epoch on");
        let found = format!("positions until {to_s} s");
        return Err(Fault::new(line(table.rows.last()), expected, found).into());
    }
    Ok(())
}
