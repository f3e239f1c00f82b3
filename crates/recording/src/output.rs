//! The folder that keeps a recording. It is checked before the run, because a run may take hours
//! and its result must not be lost to a folder that cannot be written.
//!
//! A folder has one run at a time: others are refused while it is locked. Its files appear all at
//! once when they are complete (`publish`). This also applies if the process is killed or the disk
//! is full, but not in a power failure, because nothing is synced.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use crate::sums::{SUMS, Summed, Sums};
use crate::tables::Table;
use crate::tables::extra::ExtraTable;
use crate::tables::parquet::{ParquetError, file_name};
use crate::totals::Recording;
use lock::Lock;
use publish::{UNFINISHED, Unfinished, names};

pub(crate) const RECORDING: &str = "recording.json";
const SCENARIO: &str = "scenario.toml";
const CAPTURE: &str = "capture.pcapng";
const KEY_LOG: &str = "tls-keys.log";
/// Begin the names of files of which there may be several: copies of files that the scenario refers
/// to, the second in earlier versions, and traces of QUIC.
const NUMBERED: [&str; 3] = ["input-", "attenuation-", "qlog-"];

/// Why an output folder cannot be used. Each says which path.
#[derive(Debug, Error)]
pub enum OutputError {
    /// There is something that is not a folder.
    #[error("{} is not a folder", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// Another process writes a recording into the folder.
    #[error(
        "another run is writing into the folder {}; wait for its end, or choose another folder",
        path.display()
    )]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds files that Bentpipe did not write.
    #[error(
        "{} holds other files ({found}, for one) and no recording; choose another folder",
        path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// One of the files.
        found: String,
    },
    /// The folder cannot be made, read or written.
    #[error("cannot write to the folder {}: {source}", path.display())]
    Unwritable {
        /// The folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A file that the scenario names is there no longer, or cannot be copied.
    #[error("cannot copy {}: {source}", path.display())]
    Copy {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A table could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Error of the writer.
        source: ParquetError,
    },
}

/// A folder that was found fit for a recording, and is kept for it. If nothing is saved, it leaves
/// nothing behind.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    /// The folder did not exist before.
    made: bool,
    /// The files of this run; `None` once they are published.
    unfinished: Option<Unfinished>,
    lock: Lock,
}

impl OutputFolder {
    /// Makes the folder if need be, locks it, and finds out whether it can be written. A folder
    /// with contents is taken only if it holds a recording, which [`OutputFolder::save`] then
    /// replaces; any other is refused and left as it is, unless `force` is given. Even then only
    /// files with the names of a recording's own are touched. A folder that another run writes into
    /// is refused.
    ///
    /// # Errors
    /// [`OutputError::NotAFolder`], [`OutputError::Busy`], [`OutputError::Foreign`] and
    /// [`OutputError::Unwritable`].
    pub fn create(path: impl Into<PathBuf>, force: bool) -> Result<Self, OutputError> {
        let path = path.into();
        // One look, because another run may remove the folder at any time.
        let made = match fs::metadata(&path) {
            Ok(there) if !there.is_dir() => return Err(OutputError::NotAFolder { path }),
            there => there.is_err(),
        };
        let mut lock = match Lock::make(&path) {
            Ok(Some(lock)) => lock,
            Ok(None) => return Err(OutputError::Busy { path }),
            Err(source) => return Err(OutputError::Unwritable { path, source }),
        };
        match prepare(&path, force, &lock) {
            Ok(Prepared::Ready(unfinished)) => {
                Ok(Self { path, made, unfinished: Some(unfinished), lock })
            }
            Ok(Prepared::Foreign(found)) => Err(OutputError::Foreign { path, found }),
            Err(source) => {
                if made {
                    lock.remove(&path);
                }
                Err(OutputError::Unwritable { path, source })
            }
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins `capture.pcapng`, which grows during the run and appears with
    /// [`OutputFolder::save`]. Finish the capture before that.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn capture(&mut self) -> Result<BufWriter<File>, OutputError> {
        self.begin(CAPTURE)
    }

    /// Begins `tls-keys.log`, as [`OutputFolder::capture`] does.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn key_log(&mut self) -> Result<BufWriter<File>, OutputError> {
        self.begin(KEY_LOG)
    }

    /// Where files whose names begin with `qlog-` grow during the run. They appear with
    /// [`OutputFolder::save`].
    pub fn traces(&self) -> TraceFiles {
        let unfinished = self.unfinished.as_ref().expect("only `publish` takes it, the last step");
        TraceFiles { folder: unfinished.file("") }
    }

    /// Writes the recording and the scenario that it came from: `recording.json`, `scenario.toml`
    /// and copies of the `files` that it names, `attenuation-*`, and a Parquet file for each
    /// table that has rows. `SHA256SUMS` has the sums of all of them, but not of the capture and of
    /// logs. Files of an earlier recording that this one does not have are removed. If anything
    /// fails, the earlier recording is still there.
    ///
    /// # Errors
    /// [`OutputError::Write`], [`OutputError::Parquet`], and [`OutputError::Copy`] for one of
    /// `files`.
    pub fn save(
        mut self,
        recording: &Recording,
        scenario_text: &str,
        files: &[(String, PathBuf)],
    ) -> Result<(), OutputError> {
        let mut sums = Sums::default();
        for (name, source) in files {
            let mut file = Summed::new(self.begin(name)?);
            File::open(source)
                .and_then(|mut source| io::copy(&mut source, &mut file))
                .and_then(|_| file.flush())
                .map_err(|error| OutputError::Copy { path: source.clone(), source: error })?;
            sums.add(name, file);
        }
        // An extra table is saved without rows too: only its file knows its columns.
        let saved = |table: &Table| table.fixed_name().is_none() || !table.is_empty(recording);
        for table in Table::all(recording).filter(saved) {
            let name = table.file_name(recording);
            let mut file = Summed::new(self.begin(&name)?);
            table
                .write_parquet(recording, &mut file)
                .map_err(|source| OutputError::Parquet { path: self.path.join(&name), source })?;
            sums.add(&name, file);
        }
        for (name, text) in [(SCENARIO, scenario_text), (RECORDING, &recording.to_json_pretty())] {
            let file = self.write(name, text)?;
            sums.add(name, file);
        }
        self.write(SUMS, &sums.text())?;
        self.publish()
    }

    fn write(&mut self, name: &str, text: &str) -> Result<Summed<BufWriter<File>>, OutputError> {
        let mut file = Summed::new(self.begin(name)?);
        file.write_all(text.as_bytes())
            .and_then(|()| file.flush())
            .map_err(|source| OutputError::Write { path: self.path.join(name), source })?;
        Ok(file)
    }

    /// Opens the file that is to become `name`.
    fn begin(&mut self, name: &str) -> Result<BufWriter<File>, OutputError> {
        let unfinished = self.unfinished.as_ref().expect("only `publish` takes it, the last step");
        File::create(unfinished.file(name))
            .map(BufWriter::new)
            .map_err(|source| OutputError::Write { path: self.path.join(name), source })
    }

    /// Publishes the files. What could fail for want of space has been done by now.
    fn publish(&mut self) -> Result<(), OutputError> {
        let unfinished = self.unfinished.take();
        let published = unfinished.map_or(Ok(()), |files| files.publish(&self.path, &self.lock));
        published
            .map_err(|source| OutputError::Write { path: self.path.join(RECORDING), source })?;
        self.made = false;
        Ok(())
    }
}

/// A recording that was begun and not saved is removed.
impl Drop for OutputFolder {
    fn drop(&mut self) {
        self.unfinished = None; // removes it
        if self.made {
            self.lock.remove(&self.path);
        }
    }
}

/// Every name that any recording may have in its folder.
fn own_files() -> impl Iterator<Item = String> {
    let tables = Table::FIXED.into_iter().filter_map(Table::fixed_name).map(file_name);
    tables.chain([CAPTURE, KEY_LOG, SCENARIO, SUMS, RECORDING].map(str::to_owned))
}

/// Returns true if a file has the name of one of several: `input-0.csv`, `qlog-0-3-client.sqlog`.
fn is_numbered(name: &str) -> bool {
    let rest = NUMBERED.iter().find_map(|start| name.strip_prefix(start));
    let number = rest.and_then(|rest| rest.split(['.', '-']).next());
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Outcome of preparing a folder.
enum Prepared {
    Ready(Unfinished),
    /// It has this foreign file.
    Foreign(String),
}

/// Finishes or removes what earlier runs have left, and tries to write into the folder.
fn prepare(path: &Path, force: bool, lock: &Lock) -> io::Result<Prepared> {
    publish::settle(path, lock)?;
    if !force && let Some(found) = foreign_file(path)? {
        return Ok(Prepared::Foreign(found));
    }
    publish::remove_remains(path, lock)?;
    let unfinished = Unfinished::create(path)?;
    // Only trying tells: permission bits say nothing of quotas, read-only mounts and superusers.
    let probe = unfinished.file("probe");
    fs::write(&probe, "can this folder be written?")?;
    fs::remove_file(&probe)?;
    Ok(Prepared::Ready(unfinished))
}

/// The first file by name that makes the folder foreign. In a folder with a recording no file does:
/// people keep notes and plots there. The remains of a killed run are no foreign files either.
fn foreign_file(path: &Path) -> io::Result<Option<String>> {
    let mut names = names(path)?;
    names.retain(|name| !name.starts_with(UNFINISHED));
    names.sort();
    let own = names.iter().any(|name| name == RECORDING) && is_recording(&path.join(RECORDING));
    Ok(names.into_iter().next().filter(|_| !own))
}

/// Returns true if the file is ours and not some other program's `recording.json`.
fn is_recording(path: &Path) -> bool {
    #[derive(Deserialize)]
    #[allow(dead_code)] // that the keys are there is all we want to know
    struct Keys {
        scenario: String,
        backend: String,
        seed: u64,
        flows: Vec<serde::de::IgnoredAny>,
    }
    fs::read(path).is_ok_and(|text| serde_json::from_slice::<Keys>(&text).is_ok())
}

/// Names of the extra tables of a recording that is there already.
fn tables_of(path: &Path) -> Vec<String> {
    #[derive(Deserialize)]
    struct Tables {
        tables: Vec<ExtraTable>,
    }
    let found = fs::read(path).ok().and_then(|text| serde_json::from_slice::<Tables>(&text).ok());
    found.map_or_else(Vec::new, |found| {
        found.tables.iter().map(|table| table.name().to_owned()).collect()
    })
}

mod lock;
mod publish;
#[cfg(test)]
mod tests;
mod traces;

pub(crate) use publish::settle_if_needed;
pub use traces::TraceFiles;
