//! Tables as Arrow record batches, for readers in the same process.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float64Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, StringArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer, ToByteSlice};
use arrow_schema::{Field, Schema};
use bytes::Bytes;

use crate::tables::Table;
use crate::tables::column::Values;
use crate::totals::Recording;

impl Table {
    /// This table as a record batch. Series are not copied: the arrays are the recording's own
    /// vectors, and keep it alive as long as they are used.
    pub fn batch(self, recording: &Arc<Recording>) -> RecordBatch {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = self
            .columns(recording)
            .into_iter()
            .enumerate()
            .map(|(number, column)| {
                let nullable = column.values.nullable();
                let place = Place { recording: Arc::clone(recording), table: self, number };
                let array = array(column.values, place);
                (Field::new(column.name, array.data_type().clone(), nullable), array)
            })
            .unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .expect("the schema is made from the arrays, and a table's columns have one length")
    }
}

/// A column of a recording, as the owner of its memory.
struct Place {
    recording: Arc<Recording>,
    table: Table,
    number: usize,
}

/// The bytes of a column that the recording holds; of one that was made for the table, none.
impl AsRef<[u8]> for Place {
    fn as_ref(&self) -> &[u8] {
        match self.table.columns(&self.recording).swap_remove(self.number).values {
            Values::U32(Cow::Borrowed(values)) => values.to_byte_slice(),
            Values::U64(Cow::Borrowed(values)) | Values::U64OrUnset(Cow::Borrowed(values)) => {
                values.to_byte_slice()
            }
            Values::F64(Cow::Borrowed(values)) => values.to_byte_slice(),
            _ => &[],
        }
    }
}

fn array(values: Values<'_>, place: Place) -> ArrayRef {
    let nulls = values.valid(0..values.len()).map(NullBuffer::from);
    match values {
        Values::Bool(values) => Arc::new(BooleanArray::from(values)),
        Values::U32(values) => numbers::<UInt32Type>(values, nulls, place),
        Values::U64(values) | Values::U64OrUnset(values) => {
            numbers::<UInt64Type>(values, nulls, place)
        }
        Values::F64(values) => numbers::<Float64Type>(values, nulls, place),
        Values::Text(values) => Arc::new(StringArray::from(values)),
        Values::TextOrNone(values) => Arc::new(StringArray::from(values)),
    }
}

/// Numbers where they are: in the recording, or in a vector that is moved into the array.
fn numbers<T: ArrowPrimitiveType>(
    values: Cow<'_, [T::Native]>,
    nulls: Option<NullBuffer>,
    place: Place,
) -> ArrayRef {
    let values: ScalarBuffer<T::Native> = match values {
        Cow::Borrowed(_) => Buffer::from(Bytes::from_owner(place)).into(),
        Cow::Owned(values) => values.into(),
    };
    Arc::new(PrimitiveArray::<T>::new(values, nulls))
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
        let recording = Arc::new(sample());
        let series = &recording.flow_series;
        let (cwnd, srtt) = (series.cwnd_bytes.as_ptr(), series.srtt_ms.as_ptr());
        let batch = Table::FlowSeries.batch(&recording);
        let column = |name| batch.column_by_name(name).unwrap();
        assert_eq!(column("cwnd_bytes").as_primitive::<UInt64Type>().values().as_ptr(), cwnd);
        assert_eq!(column("srtt_ms").as_primitive::<Float64Type>().values().as_ptr(), srtt);
    }

    #[test]
    fn a_series_outlives_its_recording() {
        let recording = Arc::new(sample());
        let batch = Table::FlowSeries.batch(&recording);
        drop(recording);
        let times = batch.column_by_name("t_s").unwrap().as_primitive::<Float64Type>();
        assert_eq!(&times.values()[..], [0.5, 1.0]);
    }

    #[test]
    fn an_empty_series_has_its_columns() {
        let batch = Table::LinkSeries.batch(&Arc::new(Recording::default()));
        assert_eq!((batch.num_rows(), batch.num_columns()), (0, 7));
    }

    #[test]
    fn what_is_not_known_yet_is_null_and_the_rest_is_not() {
        let batch = Table::FlowSeries.batch(&Arc::new(sample()));
        for (name, nulls) in [("ssthresh_bytes", 1), ("srtt_ms", 1), ("cwnd_bytes", 0)] {
            let column = batch.column_by_name(name).unwrap();
            assert_eq!(column.null_count(), nulls, "{name}");
            assert_eq!(column.is_null(0), nulls == 1, "{name}");
        }
    }

    #[test]
    fn every_table_is_a_batch_with_a_row_for_each_record() {
        let recording = Arc::new(sample());
        let rows = Table::all(&recording).map(|table| table.batch(&recording).num_rows());
        assert_eq!(rows.collect::<Vec<_>>(), [2, 1, 2, 3, 2, 1, 2]);
        let flows = Table::Flows.batch(&recording);
        assert_eq!(flows.column_by_name("flow").unwrap().as_string::<i32>().value(1), "web");
        assert_eq!(flows.schema().field(0).data_type(), &DataType::Utf8);
    }
}
