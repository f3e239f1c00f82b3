//! Series as Parquet: the first two columns, of numbers.

use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use bytes::Bytes;
use language::describe::shortened;

use super::table::Table;
use super::{Cell, Fault, Series};

pub(super) fn read(bytes: Vec<u8>) -> Result<Series, Box<Fault>> {
    columnar::read(Bytes::from(bytes), |reader| Ok(rows(reader))).map_err(broken(None))?
}

/// A table with the names of its columns.
pub(super) fn table(bytes: Vec<u8>) -> Result<Table, Box<Fault>> {
    columnar::read(Bytes::from(bytes), |reader| Ok(named(reader))).map_err(broken(None))?
}

fn named(reader: &SerializedFileReader<Bytes>) -> Result<Table, Box<Fault>> {
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let names = schema.columns().iter().map(|column| column.name().to_owned()).collect();
    let mut table = Table { names, ..Table::default() };
    for (number, row) in reader.get_row_iter(None).map_err(broken(None))?.enumerate() {
        let number = number + 1;
        let columns = row.map_err(broken(Some(number)))?.into_columns();
        table.rows.push((number, columns.iter().map(|(_, field)| cell(field)).collect()));
    }
    Ok(table)
}

/// A file that the reader of Parquet does not accept, from this row on.
fn broken(row: Option<usize>) -> impl Fn(ParquetError) -> Box<Fault> {
    move |error| {
        let fault = Fault::new(row, "a Parquet file", "one that cannot be read");
        fault.because(shortened(&error.to_string())).into()
    }
}

fn rows(reader: &SerializedFileReader<Bytes>) -> Result<Series, Box<Fault>> {
    let columns = reader.metadata().file_metadata().schema_descr().num_columns();
    if columns != 2 {
        let expected = "two columns, time in s and attenuation in dB";
        return Err(Fault::new(None, expected, format!("{columns}")).into());
    }
    let mut series = Series::default();
    for (number, row) in reader.get_row_iter(None).map_err(broken(None))?.enumerate() {
        let number = number + 1;
        let cells = row.map_err(broken(Some(number)))?.into_columns();
        let [time, attenuation] =
            [0, 1].map(|column| cells.get(column).map_or(Cell::Missing, |(_, field)| cell(field)));
        series.push(number, &time, &attenuation).map_err(|(_, fault)| fault)?;
    }
    Ok(series)
}

fn cell(field: &Field) -> Cell {
    match field {
        Field::Byte(number) => Cell::Number(f64::from(*number)),
        Field::Short(number) => Cell::Number(f64::from(*number)),
        Field::Int(number) => Cell::Number(f64::from(*number)),
        Field::Long(number) => Cell::Number(*number as f64),
        Field::UByte(number) => Cell::Number(f64::from(*number)),
        Field::UShort(number) => Cell::Number(f64::from(*number)),
        Field::UInt(number) => Cell::Number(f64::from(*number)),
        Field::ULong(number) => Cell::Number(*number as f64),
        Field::Float(number) => Cell::Number(f64::from(*number)),
        Field::Double(number) => Cell::Number(*number),
        Field::Null => Cell::Missing,
        // Seconds since 1970.
        Field::TimestampMillis(number) => Cell::Number(*number as f64 / 1e3),
        Field::TimestampMicros(number) => Cell::Number(*number as f64 / 1e6),
        Field::Str(text) => Cell::Text(text.clone()),
        other => Cell::Other(format!("{}, which is no number", shortened(&other.to_string()))),
    }
}
