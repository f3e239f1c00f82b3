//! Reading of Parquet files that may be damaged.
//!
//! The crate `parquet` checks most of what it reads, but asserts some of it: a footer with one byte
//! changed can make it panic. Attenuation files come from other programs, and saved recordings may
//! be damaged, so a panic of that reader is an error of the file.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, SerializedFileReader};

/// Opens `source` as Parquet and passes it to `take`.
///
/// # Errors
/// Those of `take`, and all that the reader of Parquet does not accept, also where it panics.
pub fn read<R: ChunkReader + 'static, T>(
    source: R,
    take: impl FnOnce(&SerializedFileReader<R>) -> Result<T>,
) -> Result<T> {
    // What the closure has built when it panics is dropped, so nobody sees it half made.
    let read = AssertUnwindSafe(|| take(&SerializedFileReader::new(source)?));
    catch_unwind(read).unwrap_or_else(|panic| {
        Err(ParquetError::General(format!("damaged: {}", message(panic.as_ref()))))
    })
}

/// The text of a panic.
fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("its reader gave up")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::types::Type;
    use std::sync::Arc;

    /// A file without columns.
    fn empty() -> Bytes {
        let schema = Arc::new(Type::group_type_builder("empty").build().unwrap());
        let mut bytes = Vec::new();
        SerializedFileWriter::new(&mut bytes, schema, Default::default()).unwrap().close().unwrap();
        bytes.into()
    }

    #[test]
    fn a_panic_while_reading_is_an_error() {
        let read = |panic: fn() -> Result<()>| read(empty(), |_| panic()).unwrap_err().to_string();
        assert!(read(|| panic!("{} of {}", 3, 2)).contains("damaged: 3 of 2"));
        assert!(read(|| panic!("plain")).contains("damaged: plain"));
        assert!(read(|| std::panic::panic_any(7)).contains("damaged: its reader gave up"));
    }

    #[test]
    fn what_is_no_parquet_is_an_error() {
        for bytes in [&b""[..], b"PAR1", b"PAR1PAR1PAR1", b"PAR1\xff\xff\xff\xffPAR1"] {
            assert!(read(Bytes::from_static(bytes), |_| Ok(())).is_err(), "{bytes:?}");
        }
        assert!(read(empty(), |_| Ok(())).is_ok());
    }
}
