//! Tables as Arrow record batches, for readers in the same process.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{Field, Schema};

use crate::columns::{Column, Values};
use crate::series::{FlowSeries, LinkSeries};
use crate::tables::Table;
use crate::totals::Recording;

/// The series of the flows as a record batch. The vectors become its arrays; nothing is copied.
pub fn flow_series_batch(series: FlowSeries) -> RecordBatch {
    batch(series.into_columns())
}

/// The series of the links as a record batch. The vectors become its arrays; nothing is copied.
pub fn link_series_batch(series: LinkSeries) -> RecordBatch {
    batch(series.into_columns())
}

impl Table {
    /// This table as a record batch. Copies; for large series see [`flow_series_batch`].
    pub fn batch(self, recording: &Recording) -> RecordBatch {
        batch(self.columns(recording))
    }
}

fn batch(columns: Vec<Column<'_>>) -> RecordBatch {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
        .into_iter()
        .map(|column| {
            let nullable = column.values.nullable();
            let array = array(column.values);
            (Field::new(column.name, array.data_type().clone(), nullable), array)
        })
        .unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .expect("the schema is made from the arrays, and a table's columns have one length")
}

fn array(values: Values<'_>) -> ArrayRef {
    let nulls = values.valid(0..values.len()).map(NullBuffer::from);
    match values {
        Values::Bool(values) => Arc::new(BooleanArray::from(values)),
        Values::U32(values) => Arc::new(UInt32Array::new(values.into_owned().into(), nulls)),
        Values::U64(values) | Values::U64OrUnset(values) => {
            Arc::new(UInt64Array::new(values.into_owned().into(), nulls))
        }
        Values::F64(values) => Arc::new(Float64Array::new(values.into_owned().into(), nulls)),
        Values::Text(values) => Arc::new(StringArray::from(values)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::tests::sample;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, UInt64Type};
    use arrow_schema::DataType;

    #[test]
    fn a_series_becomes_arrow_without_being_copied() {
        let series = sample().flow_series;
        let (cwnd, srtt) = (series.cwnd_bytes.as_ptr(), series.srtt_ms.as_ptr());
        let batch = flow_series_batch(series);
        let column = |name| batch.column_by_name(name).unwrap();
        assert_eq!(column("cwnd_bytes").as_primitive::<UInt64Type>().values().as_ptr(), cwnd);
        assert_eq!(column("srtt_ms").as_primitive::<Float64Type>().values().as_ptr(), srtt);
    }

    #[test]
    fn what_is_not_known_yet_is_null_and_the_rest_is_not() {
        let batch = flow_series_batch(sample().flow_series);
        for (name, nulls) in [("ssthresh_bytes", 1), ("srtt_ms", 1), ("cwnd_bytes", 0)] {
            let column = batch.column_by_name(name).unwrap();
            assert_eq!(column.null_count(), nulls, "{name}");
            assert_eq!(column.is_null(0), nulls == 1, "{name}");
        }
    }

    #[test]
    fn every_table_is_a_batch_with_a_row_for_each_record() {
        let recording = sample();
        let rows = Table::ALL.map(|table| table.batch(&recording).num_rows());
        assert_eq!(rows, [2, 1, 2, 3, 2, 1]);
        let flows = Table::Flows.batch(&recording);
        assert_eq!(flows.column_by_name("flow").unwrap().as_string::<i32>().value(1), "web");
        assert_eq!(flows.schema().field(0).data_type(), &DataType::Utf8);
    }
}
