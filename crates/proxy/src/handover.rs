//! An upgrade: the listening sockets go to a new process of the program.
//!
//! SIGUSR2 starts the program again from its path, which may be a newer one by then, with the same
//! file. The new process inherits the listeners, whose numbers are in an environment variable, and
//! reports through a pipe that it relays. Only then the old process accepts no more; it ends when
//! its connections have ended. Both share the queues of the listeners, so that no connection is
//! refused or lost. If the new process cannot start, nothing changes.

use std::env;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::Document;
use crate::daemon::{DaemonError, Doing};
use crate::listeners;
use crate::privileges;
use crate::sys;

/// The environment variable with what a process inherits.
const VARIABLE: &str = "BENTPIPE_PROXY_HANDOVER";
/// A new process relays within this time, or is killed.
const PATIENCE: Duration = Duration::from_secs(30);
/// One that gives up ends within this time. It is looked at in these steps.
const LAST_WORDS: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(10);

/// Descriptors that a process inherits, by number.
#[derive(Debug, Serialize, Deserialize)]
struct Message {
    listeners: Vec<i32>,
    syns: Option<i32>,
    metrics: Option<i32>,
    control: Option<i32>,
    /// The pipe for one byte when the new process is ready.
    ready: i32,
    /// The sides, as the listeners have them.
    terrestrial: Value,
    satellite: Value,
}

/// Sockets of a process, to be handed over.
#[derive(Debug)]
pub(crate) struct Sockets {
    pub(crate) listeners: Vec<OwnedFd>,
    pub(crate) syns: Option<OwnedFd>,
    pub(crate) metrics: Option<OwnedFd>,
    pub(crate) control: Option<OwnedFd>,
}

/// Descriptors that this process has inherited.
#[derive(Debug, Default)]
pub(crate) struct Inherited {
    pub(crate) listeners: Vec<OwnedFd>,
    /// Copies of SYNs. Only one socket can have them.
    pub(crate) syns: Option<OwnedFd>,
    pub(crate) metrics: Option<TcpListener>,
    pub(crate) control: Option<UnixListener>,
    /// The sides of the process before, if there was one.
    pub(crate) sides: Option<[Value; 2]>,
    ready: Option<OwnedFd>,
}

impl Inherited {
    /// Takes the descriptors that the process before has named.
    ///
    /// # Errors
    /// The variable is not valid, or names descriptors that are not open.
    pub(crate) fn take() -> Result<Self, DaemonError> {
        let Some(text) = env::var_os(VARIABLE) else { return Ok(Self::default()) };
        let wrong = |reason: String| {
            DaemonError::Missing(format!("{VARIABLE} is not what a proxy sets: {reason}"))
        };
        let text = text.to_str().ok_or_else(|| wrong("no text".into()))?;
        let message: Message =
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let mut numbers = message.listeners.clone();
        let others = message.syns.iter().chain(&message.metrics).chain(&message.control);
        numbers.extend(others.chain([&message.ready]));
        let mut taken = sys::adopt(&numbers).map_err(|error| wrong(error.to_string()))?.into_iter();
        let listeners = taken.by_ref().take(message.listeners.len()).collect();
        let syns = message.syns.and_then(|_| taken.next());
        let metrics = message.metrics.and_then(|_| taken.next()).map(TcpListener::from);
        let control = message.control.and_then(|_| taken.next()).map(UnixListener::from);
        let sides = Some([message.terrestrial, message.satellite]);
        Ok(Self { listeners, syns, metrics, control, sides, ready: taken.next() })
    }

    /// Reports to the process before, if there was one, that this one relays.
    pub(crate) fn report_ready(&mut self) {
        if let Some(ready) = self.ready.take() {
            let _ = rustix::io::write(&ready, b"r"); // it has died meanwhile
        }
    }
}

/// The program and its file, to be started again.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    path: PathBuf,
    file: PathBuf,
}

impl Program {
    /// The running program. Its path is read now: later the file may be another one.
    pub(crate) fn of(file: &Path) -> Result<Self, DaemonError> {
        let path = env::current_exe().doing("read the path of the program")?;
        Ok(Self { path, file: file.to_owned() })
    }

    /// Starts the program with the sockets, and waits until it relays.
    ///
    /// # Errors
    /// The new process has ended, or was killed because it did not become ready. Nothing has
    /// changed.
    pub(crate) fn start(
        &self,
        sockets: &Sockets,
        document: &Document,
    ) -> Result<Child, DaemonError> {
        let (ready, reports) = pipe_with(PipeFlags::CLOEXEC).doing("open a pipe")?;
        let message = Message {
            listeners: sockets.listeners.iter().map(AsRawFd::as_raw_fd).collect(),
            syns: sockets.syns.as_ref().map(AsRawFd::as_raw_fd),
            metrics: sockets.metrics.as_ref().map(AsRawFd::as_raw_fd),
            control: sockets.control.as_ref().map(AsRawFd::as_raw_fd),
            ready: reports.as_raw_fd(),
            terrestrial: listeners::keys(&document.terrestrial),
            satellite: listeners::keys(&document.satellite),
        };
        let text = serde_json::to_string(&message).map_err(io::Error::from).doing("write JSON")?;
        let mut inherited: Vec<BorrowedFd<'_>> =
            sockets.listeners.iter().map(AsFd::as_fd).collect();
        let others = sockets.syns.iter().chain(&sockets.metrics).chain(&sockets.control);
        inherited.extend(others.map(AsFd::as_fd));
        inherited.push(reports.as_fd());
        let mark = |flags| inherited.iter().try_for_each(|fd| fcntl_setfd(fd, flags));
        let mut command = Command::new(&self.path);
        command.arg("run").arg(&self.file).env(VARIABLE, text);
        mark(FdFlags::empty()).doing("let a process inherit sockets")?;
        let child = privileges::inherited(|| command.spawn());
        mark(FdFlags::CLOEXEC).doing("keep sockets from other processes")?;
        let mut child = child.doing(format!("start {}", self.path.display()))?;
        drop(reports);
        if is_ready(&ready) {
            return Ok(child);
        }
        let status = end(&mut child).doing("wait for the new process")?;
        Err(DaemonError::Missing(format!("the new process did not become ready ({status})")))
    }
}

/// Lets a process that gave up print its reason, and kills one that does not end.
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    for _ in 0..LAST_WORDS.as_millis() / TICK.as_millis() {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(TICK);
    }
    let _ = child.kill(); // it has ended by now
    child.wait()
}

/// Waits for the byte of the new process. Its end closes the pipe.
fn is_ready(pipe: &OwnedFd) -> bool {
    let time = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
    let mut events = [PollFd::new(pipe, PollFlags::IN)];
    poll(&mut events, Some(&time)).is_ok() && rustix::io::read(pipe, &mut [0; 1]) == Ok(1)
}
