//! Locks of output folders.
//!
//! The system releases a lock when its process ends, in any way. On Unix the folder itself is
//! locked. Windows locks no folders, so there it is a file in the folder, which the system removes
//! when it is closed.

#[cfg(unix)]
use std::fs::TryLockError;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
#[cfg(windows)]
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

/// The file that is the lock of a folder. Its name is that of unfinished files.
#[cfg(windows)]
const LOCK: &str = ".bentpipe-lock";

/// A folder, locked against other processes until this is dropped or the process ends.
#[derive(Debug)]
pub(super) struct Lock {
    /// The folder, or the file in it; `None` after [`Lock::remove`].
    held: Option<File>,
}

impl Lock {
    /// Locks a folder; `None` if another process has it.
    #[cfg(windows)]
    pub(super) fn take(path: &Path) -> io::Result<Option<Self>> {
        // Of the Windows interface (winnt.h, winbase.h, winerror.h).
        const DELETE: u32 = 0x0001_0000;
        const GENERIC_WRITE: u32 = 0x4000_0000;
        const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
        const ERROR_SHARING_VIOLATION: i32 = 32;
        let opened = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .access_mode(GENERIC_WRITE | DELETE)
            .share_mode(0)
            .custom_flags(FILE_FLAG_DELETE_ON_CLOSE)
            .open(path.join(LOCK));
        match opened {
            Ok(file) => Ok(Some(Self { held: Some(file) })),
            Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Locks a folder; `None` if another process has it.
    #[cfg(unix)]
    pub(super) fn take(path: &Path) -> io::Result<Option<Self>> {
        Self::of(File::open(path)?, path)
    }

    /// Locks the folder that was opened at `path`.
    #[cfg(unix)]
    pub(super) fn of(folder: File, path: &Path) -> io::Result<Option<Self>> {
        match folder.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let (locked, there) = (folder.metadata()?, fs::metadata(path)?);
        match (locked.dev(), locked.ino()) == (there.dev(), there.ino()) {
            true => Ok(Some(Self { held: Some(folder) })),
            // Its owner has removed it since it was opened.
            false => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Makes the folder if need be and locks it.
    ///
    /// A run that saves nothing removes the folder. If it does so between two of these steps, they
    /// begin again.
    pub(super) fn make(path: &Path) -> io::Result<Option<Self>> {
        loop {
            match fs::create_dir_all(path) {
                // It was there when it was to be made, and no longer when it was looked at.
                Err(error) if error.kind() == ErrorKind::AlreadyExists && may_be_made(path) => {
                    continue;
                }
                made => made?,
            }
            match Self::take(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                taken => return taken,
            }
        }
    }

    /// Removes the folder if it is empty. Nothing happens if it is not.
    ///
    /// On Windows the lock is a file in the folder and goes first. If another process then takes
    /// the folder, it is not empty.
    pub(super) fn remove(&mut self, path: &Path) {
        if cfg!(windows) {
            self.held = None;
        }
        let _ = fs::remove_dir(path);
        self.held = None;
    }
}

/// Returns true if nothing is in the place of a folder but perhaps the folder itself, and the same
/// of the folders above it. A link that leads nowhere is something.
fn may_be_made(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(there) => there.is_dir(),
        // Windows says the same of a path below a file.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            path.parent().is_none_or(|above| above.as_os_str().is_empty() || may_be_made(above))
        }
        Err(_) => false,
    }
}
