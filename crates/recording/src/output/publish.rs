//! Unfinished recordings, and how one is published.
//!
//! A run writes its files into a folder of its own inside the output folder, which it locks. One
//! rename of that folder to [`COMPLETE`] publishes all of them. What follows only moves the files
//! to their places. If the process is killed meanwhile, the next process that opens the folder
//! moves the rest ([`settle`]). The earlier `recording.json` is taken away first and the new one is
//! placed last, so that a folder with this file never has tables of two runs.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::Duration;

use super::lock::Lock;
use super::{RECORDING, is_numbered, own_files, tables_of};
use crate::tables::parquet::file_name;

/// Begins the names of all that is not in its place yet.
pub(super) const UNFINISHED: &str = ".bentpipe-";
/// Begins the names of the folders that runs write into.
const OF_A_RUN: &str = ".bentpipe-run-";
/// A recording that is published. Files of the earlier one may still be there.
const COMPLETE: &str = ".bentpipe-complete";
/// The same when no file of the earlier recording is left.
const PLACING: &str = ".bentpipe-placing";
/// The earlier `recording.json`, in [`COMPLETE`]: it names the extra tables to remove.
const EARLIER: &str = ".earlier.json";

/// A reader waits this long for another process to place its files, which takes milliseconds.
const LOOKS: u32 = 500;
const LOOK: Duration = Duration::from_millis(10);

/// The files of one run until all are whole. Dropped before that, it removes them.
#[derive(Debug)]
pub(super) struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    /// A new folder in the output folder.
    pub(super) fn create(output: &Path) -> io::Result<Self> {
        let mut number = 0;
        loop {
            let path = output.join(format!("{OF_A_RUN}{}-{number}", process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                // A process of another machine that shares this disk may have the same number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Publishes the files as the recording of the output folder.
    pub(super) fn publish(self, output: &Path, lock: &Lock) -> io::Result<()> {
        fs::rename(&self.path, output.join(COMPLETE))?;
        settle(output, lock)
    }
}

/// Errors have nowhere to go here, and the worst they leave is a folder whose name says that it is
/// unfinished. After [`Unfinished::publish`] there is nothing to remove.
impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Moves the files of a published recording to their places, if any are left.
pub(super) fn settle(output: &Path, _lock: &Lock) -> io::Result<()> {
    let (complete, placing) = (output.join(COMPLETE), output.join(PLACING));
    if complete.is_dir() {
        let earlier = complete.join(EARLIER);
        ignore_missing(fs::rename(output.join(RECORDING), &earlier))?;
        let new = names(&complete)?;
        let tables = tables_of(&earlier).into_iter().map(|name| file_name(&name));
        let numbered = names(output)?.into_iter().filter(|name| is_numbered(name));
        for name in own_files().chain(tables).chain(numbered) {
            if !new.contains(&name) {
                ignore_missing(fs::remove_file(output.join(name)))?;
            }
        }
        fs::rename(&complete, &placing)?;
    }
    if placing.is_dir() {
        ignore_missing(fs::remove_file(placing.join(EARLIER)))?;
        let mut files = names(&placing)?;
        files.sort_by_key(|name| name == RECORDING);
        for name in files {
            fs::rename(placing.join(&name), output.join(&name))?;
        }
        fs::remove_dir(&placing)?;
    }
    Ok(())
}

/// The same for a reader, which has no lock.
pub(crate) fn settle_if_needed(output: &Path) -> io::Result<()> {
    let is_settled = || ![COMPLETE, PLACING].iter().any(|name| output.join(name).is_dir());
    for _ in 0..LOOKS {
        if is_settled() {
            return Ok(());
        }
        if let Some(lock) = Lock::take(output)? {
            return settle(output, &lock);
        }
        thread::sleep(LOOK);
    }
    Err(io::Error::other("another process is saving a recording there"))
}

/// Removes what runs that were killed have left. Nobody else writes, because the folder is locked.
pub(super) fn remove_remains(output: &Path, _lock: &Lock) -> io::Result<()> {
    for name in names(output)?.iter().filter(|name| name.starts_with(OF_A_RUN)) {
        fs::remove_dir_all(output.join(name))?;
    }
    Ok(())
}

/// Names of all that is in a folder.
pub(super) fn names(path: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

fn ignore_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
