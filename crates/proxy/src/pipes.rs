//! Pipes for splice(2), borrowed only while they hold something.
//!
//! The pages in pipes of one user are limited (`fs.pipe-user-pages-soft`, 64 MiB by default).
//! Beyond the limit the kernel gives pipes of one page, with which splice is slower than reading
//! and writing. Such pipes are not used, and the relay reads and writes.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with};

/// A smaller pipe is not worth its calls.
const SMALLEST: usize = 64 * 1024;
/// Empty pipes that a thread keeps.
pub(crate) const KEPT: usize = 64;

/// A pipe.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) read: OwnedFd,
    pub(crate) write: OwnedFd,
}

/// Empty pipes of one thread.
#[derive(Debug)]
pub(crate) struct Pipes {
    size: usize,
    /// Pipes that may be open, and those that are.
    most: usize,
    open: usize,
    empty: Vec<Pipe>,
}

impl Pipes {
    /// No pipes yet; at most `most` will hold `size` bytes each.
    pub(crate) const fn new(size: usize, most: usize) -> Self {
        Self { size, most, open: 0, empty: Vec::new() }
    }

    /// An empty pipe, if there is one or the kernel gives one of a useful size.
    pub(crate) fn borrow(&mut self) -> Option<Pipe> {
        if let Some(pipe) = self.empty.pop() {
            return Some(pipe);
        }
        let pipe = (self.open < self.most).then(|| open(self.size).ok().flatten()).flatten();
        self.open += usize::from(pipe.is_some());
        pipe
    }

    /// Takes back a pipe that is empty.
    pub(crate) fn give_back(&mut self, pipe: Pipe) {
        if self.empty.len() < KEPT {
            self.empty.push(pipe);
        } else {
            self.close(pipe);
        }
    }

    /// Closes a pipe with the bytes that are in it.
    pub(crate) fn close(&mut self, pipe: Pipe) {
        drop(pipe);
        self.open -= 1;
    }
}

fn open(size: usize) -> Result<Option<Pipe>, Errno> {
    let (read, write) = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC)?;
    let wished = size.max(SMALLEST);
    let size = fcntl_setpipe_size(&write, wished).or_else(|_| fcntl_getpipe_size(&write))?;
    Ok((size >= SMALLEST).then_some(Pipe { read, write }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_are_limited_and_come_back() {
        let mut pipes = Pipes::new(SMALLEST, 2);
        let (first, second) = (pipes.borrow().unwrap(), pipes.borrow().unwrap());
        assert!(pipes.borrow().is_none());
        pipes.give_back(first);
        let third = pipes.borrow().unwrap();
        assert!(pipes.borrow().is_none());
        pipes.close(second);
        pipes.give_back(third);
        assert!(pipes.borrow().is_some() && pipes.borrow().is_some());
    }
}
