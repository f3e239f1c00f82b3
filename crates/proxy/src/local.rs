//! A thread that answers connections to a local address, one after the other, until it is stopped.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

/// Time after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// A listener of metrics or control.
pub(crate) trait Local: AsFd + Send + 'static {
    type Stream;

    fn accept(&self) -> io::Result<Self::Stream>;
    fn set_nonblocking(&self) -> io::Result<()>;
}

impl Local for TcpListener {
    type Stream = TcpStream;

    fn accept(&self) -> io::Result<TcpStream> {
        Self::accept(self).map(|(stream, _)| stream)
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        Self::set_nonblocking(self, true)
    }
}

impl Local for UnixListener {
    type Stream = UnixStream;

    fn accept(&self) -> io::Result<UnixStream> {
        Self::accept(self).map(|(stream, _)| stream)
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        Self::set_nonblocking(self, true)
    }
}

/// The thread. It goes on if the value is dropped without [`Server::stop`].
#[derive(Debug)]
pub(crate) struct Server {
    stop: OwnedFd,
}

impl Server {
    /// Starts the thread `name`. A process that shares the listener may answer instead.
    pub(crate) fn start<L: Local>(
        name: &str,
        listener: L,
        mut answer: impl FnMut(L::Stream) + Send + 'static,
    ) -> io::Result<Self> {
        listener.set_nonblocking()?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC)?;
        let stopped = stop.try_clone()?;
        thread::Builder::new().name(name.into()).spawn(move || {
            loop {
                let events = PollFlags::IN;
                let mut both = [PollFd::new(&listener, events), PollFd::new(&stopped, events)];
                if poll(&mut both, None).is_ok() && both[1].revents().contains(events) {
                    return;
                }
                match listener.accept() {
                    Ok(stream) => answer(stream),
                    // Another process was faster.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    // Without descriptors the connection stays there, and `poll` returns at once.
                    Err(_) => thread::sleep(PAUSE),
                }
            }
        })?;
        Ok(Self { stop })
    }

    /// Lets the thread end after the answer that it is giving.
    pub(crate) fn stop(&self) {
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes()); // an eventfd takes it
    }
}
