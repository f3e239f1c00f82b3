//! Tables with named columns of numbers, as comma-separated values or Parquet.

use std::path::Path as FilePath;

use super::{Cell, Fault, content, csv, parquet};

/// Column names, and rows with their lines. All rows have a cell for each name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// The line of the header, where it is one.
    pub header: Option<usize>,
    /// True if a comma was read as the decimal point.
    pub commas: bool,
    pub names: Vec<String>,
    pub rows: Vec<(usize, Vec<Cell>)>,
}

/// Reads the table in `file`, which is expected to have `what`.
pub(crate) fn table(file: &FilePath, what: &str) -> Result<Table, Box<Fault>> {
    let bytes = content(file, what)?;
    match bytes.starts_with(b"PAR1") {
        true => parquet::table(bytes),
        false => csv::table(&bytes, what),
    }
}
