//! The folder that keeps a recording. It is checked before the run, because a run may take hours
//! and its result must not be lost to a folder that cannot be written.
//!
//! Files are written under temporary names and renamed when they are complete. `recording.json` is
//! the last, so that a folder with this file is complete. This also applies if the process is killed
//! or the disk is full, but not in a power failure, because nothing is synced.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use crate::extra::ExtraTable;
use crate::parquet::{ParquetError, file_name};
use crate::tables::Table;
use crate::totals::Recording;

pub(crate) const RECORDING: &str = "recording.json";
const SCENARIO: &str = "scenario.toml";
const CAPTURE: &str = "capture.pcapng";
/// Begins the names of files that the scenario refers to.
const ATTENUATION: &str = "attenuation-";
/// Begins the name of every file that is not whole yet.
const UNFINISHED: &str = ".bentpipe-";

/// Why an output folder cannot be used. Each says which path.
#[derive(Debug, Error)]
pub enum OutputError {
    /// There is something that is not a folder.
    #[error("{} is not a folder", path.display())]
    NotAFolder {
        /// The path.
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
        /// What the system says.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file that the scenario names is there no longer, or cannot be copied.
    #[error("cannot copy {}: {source}", path.display())]
    Copy {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A table could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What the writer says.
        source: ParquetError,
    },
}

/// A folder that was found fit for a recording. If nothing is saved, it leaves nothing behind.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    /// The folder did not exist before.
    made: bool,
    /// Names of the files that were begun, in the order in which they are to appear.
    begun: Vec<String>,
}

impl OutputFolder {
    /// Makes the folder if need be, and finds out whether it can be written. A folder with
    /// contents is taken only if it holds a recording, which [`OutputFolder::save`] then replaces;
    /// any other is refused and left as it is, unless `force` is given. Even then only files with
    /// the names of a recording's own are touched.
    pub fn create(path: impl Into<PathBuf>, force: bool) -> Result<Self, OutputError> {
        let path = path.into();
        let made = !path.exists();
        if !made && !path.is_dir() {
            return Err(OutputError::NotAFolder { path });
        }
        match prepare(&path, force) {
            Ok(None) => Ok(Self { path, made, begun: Vec::new() }),
            Ok(Some(found)) => Err(OutputError::Foreign { path, found }),
            Err(source) => Err(OutputError::Unwritable { path, source }),
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins `capture.pcapng`, which grows during the run and appears with
    /// [`OutputFolder::save`]. Finish the capture before that.
    pub fn capture(&mut self) -> Result<BufWriter<File>, OutputError> {
        self.begin(CAPTURE)
    }

    /// Writes the recording and the scenario that it came from: `recording.json`,
    /// `scenario.toml` and copies of the `files` that it names, `attenuation-*`, and a Parquet file
    /// for each table that has rows. Files of an earlier recording that this one does not have are
    /// removed. If anything fails, the earlier recording is still there.
    pub fn save(
        mut self,
        recording: &Recording,
        scenario_text: &str,
        files: &[(String, PathBuf)],
    ) -> Result<(), OutputError> {
        for (name, source) in files {
            let mut file = self.begin(name)?;
            File::open(source)
                .and_then(|mut source| io::copy(&mut source, &mut file))
                .and_then(|_| file.flush())
                .map_err(|error| OutputError::Copy { path: source.clone(), source: error })?;
        }
        // An extra table is saved without rows too: only its file knows its columns.
        let saved = |table: &Table| table.fixed_name().is_none() || !table.is_empty(recording);
        for table in Table::all(recording).filter(saved) {
            let name = table.file_name(recording);
            let file = self.begin(&name)?;
            table
                .write_parquet(recording, file)
                .map_err(|source| OutputError::Parquet { path: self.path.join(name), source })?;
        }
        self.write(SCENARIO, scenario_text)?;
        self.write(RECORDING, &recording.to_json_pretty())?;
        self.publish()
    }

    fn write(&mut self, name: &str, text: &str) -> Result<(), OutputError> {
        let mut file = self.begin(name)?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.flush())
            .map_err(|source| OutputError::Write { path: self.path.join(name), source })
    }

    /// Opens the file that is to become `name`.
    fn begin(&mut self, name: &str) -> Result<BufWriter<File>, OutputError> {
        let file = File::create(self.unfinished(name))
            .map_err(|source| OutputError::Write { path: self.path.join(name), source })?;
        if !self.begun.iter().any(|begun| begun == name) {
            self.begun.push(name.to_owned());
        }
        Ok(BufWriter::new(file))
    }

    /// Gives all files their names, in the order in which they were begun. What could fail for
    /// want of space has been done by now.
    fn publish(&mut self) -> Result<(), OutputError> {
        let copies = names(&self.path)
            .map_err(|source| OutputError::Unwritable { path: self.path.clone(), source })?;
        let copies = copies.into_iter().filter(|name| is_copy(name));
        let earlier =
            tables_of(&self.path.join(RECORDING)).into_iter().map(|name| file_name(&name));
        for name in own_files().chain(earlier).chain(copies) {
            if !self.begun.contains(&name) {
                let path = self.path.join(name);
                match fs::remove_file(&path) {
                    Err(source) if source.kind() != io::ErrorKind::NotFound => {
                        return Err(OutputError::Write { path, source });
                    }
                    _ => {}
                }
            }
        }
        while !self.begun.is_empty() {
            let path = self.path.join(&self.begun[0]);
            fs::rename(self.unfinished(&self.begun[0]), &path)
                .map_err(|source| OutputError::Write { path, source })?;
            self.begun.remove(0);
            self.made = false;
        }
        Ok(())
    }

    fn unfinished(&self, name: &str) -> PathBuf {
        self.path.join(format!("{UNFINISHED}{name}"))
    }
}

/// What was begun and not saved is no recording. Errors have nowhere to go here, and the worst
/// they leave is a file whose name says that it is unfinished.
impl Drop for OutputFolder {
    fn drop(&mut self) {
        for name in &self.begun {
            let _ = fs::remove_file(self.unfinished(name));
        }
        if self.made {
            let _ = fs::remove_dir(&self.path); // only succeeds if it is empty
        }
    }
}

/// Every name that any recording may have in its folder.
fn own_files() -> impl Iterator<Item = String> {
    let tables = Table::FIXED.into_iter().filter_map(Table::fixed_name).map(file_name);
    tables.chain([CAPTURE, SCENARIO, RECORDING].map(str::to_owned))
}

/// Whether a file has the name of a copy: `attenuation-0.csv`.
fn is_copy(name: &str) -> bool {
    let number = name.strip_prefix(ATTENUATION).and_then(|rest| rest.split_once('.'));
    number.is_some_and(|(number, _)| number.parse::<u32>().is_ok())
}

/// Makes the folder and tries to write in it. `Some` is the name of a foreign file.
fn prepare(path: &Path, force: bool) -> io::Result<Option<String>> {
    fs::create_dir_all(path)?;
    if !force && let Some(found) = foreign_file(path)? {
        return Ok(Some(found));
    }
    // Only trying tells: permission bits say nothing of quotas, read-only mounts and superusers.
    let probe = path.join(format!("{UNFINISHED}probe"));
    fs::write(&probe, "can this folder be written?")?;
    fs::remove_file(&probe)?;
    Ok(None)
}

/// The first file by name that makes the folder foreign. None does in a folder with a recording,
/// for people keep notes and plots beside it; nor do the remains of a run that was killed.
fn foreign_file(path: &Path) -> io::Result<Option<String>> {
    let mut names = names(path)?;
    names.retain(|name| !name.starts_with(UNFINISHED));
    names.sort();
    let own = names.iter().any(|name| name == RECORDING) && is_recording(&path.join(RECORDING));
    Ok(names.into_iter().next().filter(|_| !own))
}

/// Names of all that is in the folder.
fn names(path: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Whether the file is ours and not some other program's `recording.json`.
fn is_recording(path: &Path) -> bool {
    #[derive(Deserialize)]
    #[allow(dead_code)] // that the keys are there is all we want to know
    struct Keys {
        scenario: String,
        bed: String,
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

#[cfg(test)]
mod tests;
