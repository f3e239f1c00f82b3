//! The daemons of gateways: each is the program of `bentpipe proxy`, in the namespace of its node.
//!
//! The daemon sets its rules and routes itself (`rules --apply`), and they end with the namespace.
//! Its file is in memory. It dies with this process, even if that is killed, and its end before the
//! run's is an error.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::error::{Doing, KernelError};
use crate::lab::joined;
use crate::namespace::Namespace;
use crate::plan::Plan;
use crate::plan::gateway::Gateway;
use crate::sys;

/// As that of the applications: a relay is a part of the hosts.
const PRIORITY: i32 = 1;
/// The daemon's words in its log.
const READY: &str = " ready ";
const UNSET: &str = " the kernel did not accept a setting";

/// Daemons that run. They end with the value.
pub(crate) struct Daemons<'scope> {
    running: Vec<Running<'scope>>,
    stopping: Arc<AtomicBool>,
}

struct Running<'scope> {
    child: Arc<Mutex<Child>>,
    thread: Option<ScopedJoinHandle<'scope, Result<(), KernelError>>>,
}

impl<'scope> Daemons<'scope> {
    /// Sets the rules of all gateways and starts their daemons. Sets `broken` if one ends too
    /// early.
    pub(crate) fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        plan: &'env Plan,
        namespaces: &'env [Namespace],
        program: Option<&'env Path>,
        broken: &'env AtomicBool,
    ) -> Result<Self, KernelError> {
        let stopping = Arc::new(AtomicBool::new(false));
        let mut daemons = Self { running: Vec::new(), stopping };
        for (host, namespace) in plan.hosts.iter().zip(namespaces) {
            let Some(gateway) = &host.gateway else { continue };
            let program = program.ok_or_else(|| {
                KernelError::Missing(format!(
                    "the program bentpipe-proxy for the proxy of node {:?}: `make proxy` builds it",
                    gateway.name
                ))
            })?;
            let (started, start) = channel();
            let stopping = Arc::clone(&daemons.stopping);
            // The thread outlives the daemon, which dies with it.
            let thread = scope.spawn(move || {
                let daemon = Daemon { gateway, namespace, program };
                let ended = daemon.run(&started);
                if !stopping.load(Ordering::Relaxed) {
                    broken.store(true, Ordering::Relaxed);
                }
                match ended {
                    Err(_) if stopping.load(Ordering::Relaxed) => Ok(()),
                    ended => ended,
                }
            });
            match start.recv() {
                Ok(child) => daemons.running.push(Running { child, thread: Some(thread) }),
                // It has ended without a start.
                Err(_) => return Err(joined(thread.join()).err().unwrap_or_else(no_reason)),
            }
        }
        Ok(daemons)
    }

    /// Ends all daemons. An error is that one had ended before, or could not do what its file has.
    pub(crate) fn stop(mut self) -> Result<(), KernelError> {
        let mut outcome = Ok(());
        let had_ended = self.end();
        for running in &mut self.running {
            if let Some(thread) = running.thread.take() {
                outcome = outcome.and(joined(thread.join()));
            }
        }
        if had_ended { outcome.and(Err(no_reason())) } else { outcome }
    }

    /// Returns whether one had ended already.
    fn end(&mut self) -> bool {
        let mut had_ended = false;
        for Running { child, .. } in &self.running {
            let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
            had_ended |= !matches!(child.try_wait(), Ok(None));
        }
        if !had_ended {
            self.stopping.store(true, Ordering::Relaxed);
        }
        for Running { child, .. } in &self.running {
            let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = child.kill(); // it has ended already
        }
        had_ended
    }
}

/// Threads of a scope are waited for, whatever ends it.
impl Drop for Daemons<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

fn no_reason() -> KernelError {
    failed("run", "it ended without a message")
}

fn failed(action: &str, message: &str) -> KernelError {
    KernelError::Failed { action: format!("{action} a proxy"), source: io::Error::other(message) }
}

/// A daemon that is to run.
struct Daemon<'a> {
    gateway: &'a Gateway,
    namespace: &'a Namespace,
    program: &'a Path,
}

impl Daemon<'_> {
    /// Runs the daemon until it ends, in the calling thread. Sends it when it is ready.
    fn run(&self, started: &Sender<Arc<Mutex<Child>>>) -> Result<(), KernelError> {
        self.namespace.enter()?;
        let doing = |what: &str| format!("{what} the proxy of node {:?}", self.gateway.name);
        let file = in_memory(&self.gateway.file()).doing(|| doing("write the file of"))?;
        // The file has no name, and the daemon opens it by the descriptor of this process.
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        let rules = Command::new(self.program)
            .args(["rules", &path, "--apply"])
            .output()
            .doing(|| doing(&format!("run {} for", self.program.display())))?;
        if !rules.status.success() {
            let message = String::from_utf8_lossy(&rules.stderr);
            let source = io::Error::other(message.trim().to_owned());
            return Err(KernelError::Failed { action: doing("set the rules of"), source });
        }
        // Without the right to it, the daemon shares the machine by turns.
        let _ = sys::schedule_first(PRIORITY);
        let mut command = Command::new(self.program);
        command.args(["run", &path]).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        sys::die_with_thread(&mut command);
        let mut child = command.spawn().doing(|| doing("start"))?;
        let stderr = child.stderr.take();
        let child = Arc::new(Mutex::new(child));
        let mut log = String::new();
        let (mut is_ready, mut is_unset) = (false, false);
        let lines = stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).lines());
        for line in lines.map_while(Result::ok) {
            is_unset |= line.contains(UNSET);
            if !is_ready && line.contains(READY) {
                is_ready = true;
                let _ = started.send(Arc::clone(&child)); // nobody waits: it is killed
            } else if !is_ready || line.contains(UNSET) {
                let _ = writeln!(log, "{line}");
            }
        }
        let status = child.lock().unwrap_or_else(PoisonError::into_inner).wait();
        let status = status.doing(|| doing("wait for"))?;
        if is_unset {
            return Err(failed("set up", log.trim()));
        }
        if !is_ready || !log.is_empty() {
            return Err(KernelError::Failed {
                action: doing("run"),
                source: io::Error::other(format!("{} ({status})", log.trim())),
            });
        }
        Ok(())
    }
}

/// A file with this text that no folder has.
fn in_memory(text: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create("proxy.toml", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    Ok(file)
}
