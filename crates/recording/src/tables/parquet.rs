//! Tables as Parquet files. One recording always gives the same bytes.
//!
//! Uses the column writers of `parquet` rather than its Arrow writer: that one pulls in
//! `arrow-select` and `arrow-ipc`, which take longer to compile than everything else here, for
//! kinds of columns (nested, dictionaries, decimals) that a recording does not have.
//!
//! Counters grow slowly and so are stored as packed differences; times and rates as bytes of equal
//! weight side by side, which Snappy can then compress.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError as Error;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterPropertiesPtr};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use thiserror::Error as ErrorMessage;

use crate::tables::Table;
use crate::tables::column::{Column, Values};
use crate::totals::Recording;

/// Rows that a reader can skip or hand to a worker at once.
const ROWS_PER_GROUP: usize = 1 << 18;
/// Rows converted at a time: memory stays small however long the series.
const ROWS_PER_BATCH: usize = 1 << 16;

/// Why a table could not be written as Parquet.
#[derive(Debug, ErrorMessage)]
#[error("cannot write the table {table}: {source}")]
pub struct ParquetError {
    /// Name of the table.
    pub table: String,
    /// Cause.
    pub source: Error,
}

impl Table {
    /// Name of this table's file.
    pub fn file_name(self, recording: &Recording) -> String {
        file_name(self.name(recording))
    }

    /// Writes this table as Parquet. The file's metadata name the run: `scenario`, `backend`,
    /// `seed`, `version` and `partial`, each after `bentpipe.`.
    ///
    /// # Errors
    /// [`ParquetError`] of the sink.
    pub fn write_parquet(
        self,
        recording: &Recording,
        sink: impl Write + Send,
    ) -> Result<(), ParquetError> {
        let name = self.name(recording);
        write(&self.columns(recording), properties(self, recording), name, sink)
            .map_err(|source| ParquetError { table: name.to_owned(), source })
    }
}

/// Name of the file of the table called `name`.
pub(crate) fn file_name(name: &str) -> String {
    format!("{name}.parquet")
}

fn write(
    columns: &[Column<'_>],
    properties: WriterPropertiesPtr,
    name: &str,
    sink: impl Write + Send,
) -> Result<(), Error> {
    let mut file = SerializedFileWriter::new(sink, schema(name, columns)?, properties)?;
    let rows = columns.first().map_or(0, |column| column.values.len());
    for start in (0..rows).step_by(ROWS_PER_GROUP) {
        let rows = start..rows.min(start + ROWS_PER_GROUP);
        let mut group = file.next_row_group()?;
        for column in columns {
            let mut writer = group.next_column()?.ok_or_else(|| too_few_columns(column.name))?;
            for start in rows.clone().step_by(ROWS_PER_BATCH) {
                let rows = start..rows.end.min(start + ROWS_PER_BATCH);
                write_rows(&mut writer, &column.values, rows)?;
            }
            writer.close()?;
        }
        group.close()?;
    }
    file.finish()?;
    file.inner_mut().flush().map_err(|source| Error::External(Box::new(source)))
}

fn too_few_columns(name: &str) -> Error {
    Error::General(format!("the schema has no column {name}"))
}

fn write_rows(
    writer: &mut SerializedColumnWriter<'_>,
    values: &Values<'_>,
    rows: Range<usize>,
) -> Result<(), Error> {
    let valid = values.valid(rows.clone());
    let valid = if values.nullable() {
        Some(valid.unwrap_or_else(|| vec![true; rows.len()]))
    } else {
        None
    };
    match values {
        Values::Bool(values) => put::<BoolType>(writer, values[rows].iter().copied(), valid),
        // Parquet stores unsigned numbers in the bits of signed ones; the schema says so.
        Values::U32(values) => {
            put::<Int32Type>(writer, values[rows].iter().map(|v| *v as i32), valid)
        }
        Values::U64(values) | Values::U64OrUnset(values) => {
            put::<Int64Type>(writer, values[rows].iter().map(|v| *v as i64), valid)
        }
        Values::F64(values) => put::<DoubleType>(writer, values[rows].iter().copied(), valid),
        Values::Text(values) => {
            put::<ByteArrayType>(writer, values[rows].iter().map(|v| ByteArray::from(*v)), valid)
        }
        Values::TextOrNone(values) => {
            let values = values[rows].iter().map(|v| ByteArray::from(v.unwrap_or_default()));
            put::<ByteArrayType>(writer, values, valid)
        }
    }
}

/// Parquet stores the existing values, and a definition level for each row that marks missing ones.
fn put<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = T::T>,
    valid: Option<Vec<bool>>,
) -> Result<(), Error> {
    let writer = writer.typed::<T>();
    match valid {
        None => writer.write_batch(&values.collect::<Vec<_>>(), None, None)?,
        Some(valid) => {
            let values = values.zip(&valid).filter(|(_, valid)| **valid).map(|(value, _)| value);
            let values: Vec<T::T> = values.collect();
            let levels: Vec<i16> = valid.iter().map(|valid| i16::from(*valid)).collect();
            writer.write_batch(&values, Some(&levels), None)?
        }
    };
    Ok(())
}

fn schema(name: &str, columns: &[Column<'_>]) -> Result<TypePtr, Error> {
    let fields = columns.iter().map(|column| {
        let unsigned = |bit_width| Some(LogicalType::integer(bit_width, false));
        let (physical, logical) = match column.values {
            Values::Bool(_) => (Physical::BOOLEAN, None),
            Values::U32(_) => (Physical::INT32, unsigned(32)),
            Values::U64(_) | Values::U64OrUnset(_) => (Physical::INT64, unsigned(64)),
            Values::F64(_) => (Physical::DOUBLE, None),
            Values::Text(_) | Values::TextOrNone(_) => {
                (Physical::BYTE_ARRAY, Some(LogicalType::String))
            }
        };
        let nullable = column.values.nullable();
        Type::primitive_type_builder(column.name, physical)
            .with_logical_type(logical)
            .with_repetition(if nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED })
            .build()
            .map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder(name).with_fields(fields).build().map(Arc::new)
}

fn properties(table: Table, recording: &Recording) -> WriterPropertiesPtr {
    let about = [
        ("scenario", recording.scenario.clone()),
        ("backend", recording.backend.name().to_owned()),
        ("seed", recording.seed.to_string()),
        ("version", recording.version.clone()),
        ("partial", recording.partial.to_string()),
    ];
    let about = about.map(|(key, value)| KeyValue::new(format!("bentpipe.{key}"), value));
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(about.to_vec()));
    for column in table.columns(recording) {
        builder = encode(builder, &column);
    }
    Arc::new(builder.build())
}

fn encode(builder: WriterPropertiesBuilder, column: &Column<'_>) -> WriterPropertiesBuilder {
    let path = ColumnPath::from(column.name);
    let encoding = match column.values {
        Values::U32(_) | Values::U64(_) | Values::U64OrUnset(_) => Encoding::DELTA_BINARY_PACKED,
        Values::F64(_) => Encoding::BYTE_STREAM_SPLIT,
        Values::Bool(_) | Values::Text(_) | Values::TextOrNone(_) => return builder,
    };
    builder.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, encoding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::FlowSample;
    use crate::tables::tests::sample;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Field, Row};
    use std::io;

    fn bytes(table: Table, recording: &Recording) -> Vec<u8> {
        let mut bytes = Vec::new();
        table.write_parquet(recording, &mut bytes).unwrap();
        bytes
    }

    fn rows(table: Table, recording: &Recording) -> Vec<Row> {
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes(table, recording)));
        reader.unwrap().get_row_iter(None).unwrap().map(Result::unwrap).collect()
    }

    fn field(row: &Row, name: &str) -> Field {
        row.get_column_iter().find(|(column, _)| *column == name).unwrap().1.clone()
    }

    #[test]
    fn what_was_written_is_read_back() {
        let recording = sample();
        let flows = rows(Table::Flows, &recording);
        assert_eq!(field(&flows[0], "bytes"), Field::ULong(1 << 60));
        assert_eq!(field(&flows[0], "completion_s"), Field::Null);
        assert_eq!(field(&flows[1], "flow"), Field::Str("web".into()));
        assert_eq!(field(&flows[1], "completion_s"), Field::Double(2.5));
        assert_eq!(field(&flows[1], "completed"), Field::Bool(false));
        let counts = Table::all(&recording).map(|table| rows(table, &recording).len());
        assert_eq!(counts.collect::<Vec<_>>(), [2, 1, 2, 3, 2, 1, 2]);
    }

    #[test]
    fn what_is_not_known_yet_is_null() {
        let series = rows(Table::FlowSeries, &sample());
        assert_eq!(field(&series[0], "ssthresh_bytes"), Field::Null);
        assert_eq!(field(&series[0], "srtt_ms"), Field::Null);
        assert_eq!(field(&series[0], "rto_ms"), Field::Double(1000.0));
        assert_eq!(field(&series[1], "ssthresh_bytes"), Field::ULong(65_535));
        assert_eq!(field(&series[1], "srtt_ms"), Field::Double(560.5));
    }

    #[test]
    fn a_series_longer_than_a_row_group_keeps_every_row_in_its_place() {
        let mut recording = sample();
        recording.flow_series = Default::default();
        let length = ROWS_PER_GROUP + ROWS_PER_BATCH + 3;
        for i in 0..length as u64 {
            recording.flow_series.push(FlowSample {
                t_s: i as f64,
                cwnd_bytes: i,
                ssthresh_bytes: if i % 3 == 0 { u64::MAX } else { i },
                ..FlowSample::default()
            });
        }
        let rows = rows(Table::FlowSeries, &recording);
        assert_eq!(rows.len(), length);
        for (i, row) in rows.iter().enumerate().step_by(7) {
            assert_eq!(field(row, "cwnd_bytes"), Field::ULong(i as u64));
            let ssthresh = if i % 3 == 0 { Field::Null } else { Field::ULong(i as u64) };
            assert_eq!(field(row, "ssthresh_bytes"), ssthresh);
        }
    }

    #[test]
    fn the_same_recording_gives_the_same_bytes_and_wall_time_is_no_part_of_them() {
        let mut again = sample();
        again.wall_s = 99.0;
        for table in Table::all(&again) {
            let name = table.name(&again);
            assert_eq!(bytes(table, &sample()), bytes(table, &again), "{name}");
        }
    }

    #[test]
    fn the_metadata_say_what_run_it_was() {
        let mut recording = sample();
        recording.partial = true;
        let file = bytes::Bytes::from(bytes(Table::Links, &recording));
        let reader = SerializedFileReader::new(file).unwrap();
        let metadata = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
        let pairs: Vec<(String, String)> =
            metadata.into_iter().map(|pair| (pair.key, pair.value.unwrap())).collect();
        let expected = [
            ("bentpipe.scenario", "geo-download"),
            ("bentpipe.backend", "simulator"),
            ("bentpipe.seed", "18446744073709551614"),
            ("bentpipe.version", "0.1.0"),
            ("bentpipe.partial", "true"),
        ];
        assert_eq!(pairs, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }

    #[test]
    fn a_sink_that_fails_is_reported_with_the_name_of_the_table() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::other("no space"))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let error = Table::Flows.write_parquet(&sample(), Full).unwrap_err().to_string();
        assert!(error.contains("flows") && error.contains("no space"), "{error}");
    }
}
