//! Tables as Arrow streams, by the interface that data frame libraries share: a capsule with a C
//! stream, <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table of a recording as an Arrow stream, in the memory of the recording.
///
/// Polars, PyArrow, pandas, DuckDB and others take it: `pyarrow.table(recording.arrow("flows"))`.
/// Source: Arrow PyCapsule interface.
#[pyclass(frozen, module = "bentpipe")]
pub struct ArrowTable {
    pub batch: RecordBatch,
}

#[pymethods]
impl ArrowTable {
    /// A capsule with a C stream of one batch; the schema is always the table's own.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let schema = self.batch.schema();
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
