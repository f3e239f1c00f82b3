//! Columns of a table saved as Parquet, read back as vectors.

use std::fs::File;
use std::path::Path;

use parquet::basic::{Repetition, Type};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError as Error;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescPtr;

use crate::tables::extra::Cells;

/// A file with a table.
pub(crate) struct Saved<'a> {
    reader: &'a SerializedFileReader<File>,
}

/// Type of a cell of a series in the file, and its value for null.
pub(crate) trait Stored: Sized {
    type Physical: DataType;
    fn absent() -> Self;
    fn restore(stored: <Self::Physical as DataType>::T) -> Self;
}

impl Stored for u32 {
    type Physical = Int32Type;
    fn absent() -> Self {
        Self::MAX
    }
    fn restore(stored: i32) -> Self {
        stored as Self
    }
}

impl Stored for u64 {
    type Physical = Int64Type;
    fn absent() -> Self {
        Self::MAX
    }
    fn restore(stored: i64) -> Self {
        stored as Self
    }
}

impl Stored for f64 {
    type Physical = DoubleType;
    fn absent() -> Self {
        Self::NAN
    }
    fn restore(stored: Self) -> Self {
        stored
    }
}

impl Stored for bool {
    type Physical = BoolType;
    fn absent() -> Self {
        false
    }
    fn restore(stored: Self) -> Self {
        stored
    }
}

impl Stored for String {
    type Physical = ByteArrayType;
    fn absent() -> Self {
        Self::new()
    }
    fn restore(stored: ByteArray) -> Self {
        Self::from_utf8_lossy(stored.data()).into_owned()
    }
}

impl Saved<'_> {
    /// Opens a file and passes it to `take`.
    ///
    /// # Errors
    /// If the file cannot be opened or is corrupted, and those of `take`.
    pub fn read<T>(
        path: &Path,
        take: impl FnOnce(&Saved<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let file = File::open(path).map_err(|error| Error::External(Box::new(error)))?;
        columnar::read(file, |reader| take(&Saved { reader }))
    }

    /// Every column with its name, by the types that the file has.
    ///
    /// # Errors
    /// If the file is corrupted, or has a column of another type than [`Cells`].
    pub fn columns(&self) -> Result<Vec<(String, Cells)>, Error> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let cells = |column: &ColumnDescPtr| {
            let name = column.name();
            let cells = match column.physical_type() {
                Type::BOOLEAN => self.column::<bool>(name)?.into(),
                Type::INT32 => self.column::<u32>(name)?.into(),
                Type::INT64 => self.column::<u64>(name)?.into(),
                Type::DOUBLE => self.column::<f64>(name)?.into(),
                Type::BYTE_ARRAY => self.column::<String>(name)?.into(),
                other => {
                    let message = format!("the column {name} is of type {other}");
                    return Err(Error::General(message));
                }
            };
            Ok((name.to_owned(), cells))
        };
        schema.columns().iter().map(cells).collect()
    }

    /// The cells of a column.
    ///
    /// # Errors
    /// If there is no such column, or it has another type, or missing values.
    pub fn column<C: Stored>(&self, name: &str) -> Result<Vec<C>, Error> {
        let metadata = self.reader.metadata();
        let schema = metadata.file_metadata().schema_descr();
        let place = schema.columns().iter().position(|column| column.name() == name);
        let place = place.ok_or_else(|| Error::General(format!("it has no column {name}")))?;
        let column = schema.column(place);
        let expected: Type = C::Physical::get_physical_type();
        if column.physical_type() != expected || column.max_rep_level() > 0 {
            let found = column.physical_type();
            let message = format!("the column {name} is of type {found}, not {expected}");
            return Err(Error::General(message));
        }
        let optional = column.self_type().get_basic_info().repetition() == Repetition::OPTIONAL;
        let mut cells = Vec::new();
        let mut all_rows = 0;
        for group in 0..metadata.num_row_groups() {
            let group = self.reader.get_row_group(group)?;
            let rows = usize::try_from(group.metadata().num_rows())
                .map_err(|_| Error::General("it has a negative number of rows".into()))?;
            all_rows += rows;
            let mut reader =
                get_typed_column_reader::<C::Physical>(group.get_column_reader(place)?);
            let (mut levels, mut values) = (Vec::new(), Vec::new());
            reader.read_records(rows, optional.then_some(&mut levels), None, &mut values)?;
            let mut values = values.into_iter().map(C::restore);
            match optional {
                true => cells.extend(levels.into_iter().map(|level| match level {
                    0 => C::absent(),
                    _ => values.next().unwrap_or(C::absent()),
                })),
                false => cells.extend(values),
            }
        }
        match cells.len() {
            found if found == all_rows => Ok(cells),
            found => {
                Err(Error::General(format!("the column {name} has {found} of {all_rows} rows")))
            }
        }
    }
}
