//! Files of a run of which there may be thousands.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

/// Bytes of a file that wait in memory.
const BUFFER: usize = 16 * 1024;

/// The folder of a run that is not over.
#[derive(Clone, Debug)]
pub struct TraceFiles {
    pub(super) folder: PathBuf,
}

impl TraceFiles {
    /// Begins the file `name`. It is open only while bytes are written, because a process may have
    /// some thousand connections and not as many open files.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn begin(&self, name: &str) -> io::Result<impl Write + Send + Sync + use<>> {
        let path = self.folder.join(name);
        OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
        Ok(Appending { path, buffer: Vec::new() })
    }
}

/// A file that is written from time to time. Flushed last by its user.
struct Appending {
    path: PathBuf,
    buffer: Vec<u8>,
}

impl Write for Appending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            OpenOptions::new().append(true).open(&self.path)?.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}
