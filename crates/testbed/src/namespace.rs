//! Network namespaces without names: they live as long as a descriptor or a socket of them, so that
//! nothing is left of a run that ends, however it ends.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;

use rustix::thread::{LinkNameSpaceType, UnshareFlags, gettid, move_into_link_name_space};

use crate::sys;

/// A network namespace.
#[derive(Debug)]
pub(crate) struct Namespace(OwnedFd);

impl Namespace {
    /// A namespace in which nothing exists but a loopback interface that is down.
    pub(crate) fn new() -> io::Result<Self> {
        in_a_thread(|| {
            sys::unshare(UnshareFlags::NEWNET)?;
            let thread = gettid().as_raw_nonzero();
            Ok(Self(File::open(format!("/proc/self/task/{thread}/ns/net"))?.into()))
        })
    }

    /// Does `work` inside, in a thread of its own. What it opens there stays in the namespace.
    pub(crate) fn inside<T: Send, E: From<io::Error> + Send>(
        &self,
        work: impl FnOnce() -> Result<T, E> + Send,
    ) -> Result<T, E> {
        in_a_thread(|| {
            self.enter()?;
            work()
        })
    }

    /// Moves the calling thread inside, for good.
    pub(crate) fn enter(&self) -> io::Result<()> {
        move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(io::Error::from)
    }
}

/// Does `work` in a thread of its own, which takes its namespaces with it when it ends.
fn in_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
