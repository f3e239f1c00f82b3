//! The daemon: set-up, threads, signals.
//!
//! SIGHUP reads the file again. SIGUSR2 hands the listeners over to a new process, and this one
//! goes on until its connections have ended. SIGTERM and SIGINT let them end for `stop_within`; a
//! second one resets them at once.

use std::io;
use std::net::{IpAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use middlebox::Accept;
use rustix::event::{EventfdFlags, eventfd};
use serde_json::{Value, json};
use thiserror::Error;

use crate::clock::{Clock, time};
use crate::config::{self, Config, Document, Loaded};
use crate::control::{self, Command, Request};
use crate::counters::All;
use crate::gate::Gate;
use crate::handover::{Inherited, Program, Sockets};
use crate::late::syns::Syns;
use crate::late::{Doorman, Servers};
use crate::listeners;
use crate::local::Server;
use crate::log::Log;
use crate::machine;
use crate::metrics;
use crate::privileges;
use crate::rules;
use crate::shared::Shared;
use crate::sockets::Unset;
use crate::sys::{self, Signals};
use crate::worker::{Order, Worker};

/// Reasons why the daemon cannot start or go on.
#[derive(Debug, Error)]
pub enum DaemonError {
    /// The file is not valid, or the machine cannot do what it has.
    #[error("{0}")]
    Config(#[from] language::Errors),
    /// The machine or the user lacks something.
    #[error("{0}")]
    Missing(String),
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    Failed {
        /// The operation.
        action: String,
        /// The error of the system.
        source: io::Error,
    },
}

/// Adds the failed operation to an error of the system.
pub(crate) trait Doing<T> {
    fn doing(self, action: impl Into<String>) -> Result<T, DaemonError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, action: impl Into<String>) -> Result<T, DaemonError> {
        self.map_err(|source| DaemonError::Failed { action: action.into(), source: source.into() })
    }
}

/// How often the addresses of the machine are read.
const ADDRESSES_AFTER: Duration = Duration::from_secs(5);

/// How often the end of threads is looked for.
const TICK: Duration = Duration::from_millis(50);

/// A thread that relays.
struct Thread {
    orders: Sender<Order>,
    wake: Arc<OwnedFd>,
    handle: JoinHandle<()>,
}

/// Sends orders to all threads that relay.
#[derive(Clone)]
pub(crate) struct Orders(Vec<(Sender<Order>, Arc<OwnedFd>)>);

impl Orders {
    pub(crate) fn send(&self, order: impl Fn() -> Order) {
        for (orders, wake) in &self.0 {
            // A thread that has ended needs no orders.
            let _ = orders.send(order());
            let _ = rustix::io::write(wake, &1_u64.to_ne_bytes());
        }
    }
}

/// Runs the daemon with the configuration of `path` until a signal ends it.
///
/// # Errors
/// Everything that is missing or wrong at the start.
pub fn run(path: &Path) -> Result<(), DaemonError> {
    let program = Program::of(path)?;
    let mut inherited = Inherited::take()?;
    let mut loaded = Loaded::load(path)?;
    machine::check(&mut loaded, inherited.sides.is_some())?;
    let own = sys::own_addresses().doing("read the addresses of this machine")?;
    let mut refused = config::loops(&loaded.config.relays, &own);
    if let Some(sides) = &inherited.sides {
        refused.extend(listeners::removed(sides, &loaded.config.document));
    }
    if !refused.is_empty() {
        return Err(loaded.report(refused).into());
    }
    let config = Arc::new(loaded.config);
    let document = &config.document;
    let threads = machine::threads(document);
    machine::raise_descriptors(&config, threads)?;

    let signals = [libc::SIGHUP, libc::SIGUSR2, libc::SIGTERM, libc::SIGINT];
    let signals = Signals::block(&signals).doing("block signals")?;
    let clock = Clock::start();
    let counters = Arc::new(All::default());
    let log = Log::start(document.log.file.as_deref(), document.log.format, Arc::clone(&counters))
        .doing(document.log.opening())?;

    let handed = std::mem::take(&mut inherited.listeners);
    let listeners = listeners::of_threads(&config, threads, handed, &log)?;
    let gate = Arc::new(Gate::new(document, listeners::registered(&listeners)));
    let is_upgrade = inherited.sides.is_some();
    let syns = held_back(&config, is_upgrade, inherited.syns.take())?;
    let own = Arc::new(RwLock::new(own));
    let page = metrics_listener(&config, inherited.metrics.take())?;
    let control = control_listener(&config, inherited.control.take())?;
    rules::reset_unsplit();
    privileges::drop_all(config.user).doing("drop privileges")?;

    let servers = Arc::new(Servers::default());
    let shared = Shared { counters, gate, log, clock, own, servers };
    let mut running = Vec::new();
    let pipes = machine::pipes_of_thread(&config, threads);
    for (number, listeners) in listeners.into_iter().enumerate() {
        let listeners = listeners.into_iter().map(|(listener, _)| listener).collect();
        running.push(start_thread(&format!("relay-{number}"), |wake, orders| {
            let (config, shared) = (Arc::clone(&config), shared.clone());
            let worker = Worker::new(config, shared, listeners, wake, orders, pipes);
            worker.doing("set up epoll").map(|worker| || worker.run())
        })?);
    }
    if let Some(syns) = &syns {
        let syns = syns.try_clone().doing("copy a descriptor")?;
        running.push(start_thread("late", |wake, orders| {
            let (config, shared) = (Arc::clone(&config), shared.clone());
            let doorman = Doorman::new(config, shared, syns, wake, orders);
            doorman.doing("open raw sockets").map(|doorman| || doorman.run())
        })?);
    }
    let orders = Orders(
        running.iter().map(|thread| (thread.orders.clone(), Arc::clone(&thread.wake))).collect(),
    );
    let (requests, waiting) = channel();
    let file = std::path::absolute(path).doing("find the folder of the daemon")?;
    let locals = Locals::start(page, control.zip(Some(file)), &shared, &orders, &requests)?;
    shared.log.write(
        "ready",
        &[
            ("threads", json!(threads)),
            ("port", json!(document.port)),
            ("connections", json!(document.limits.connections)),
        ],
    );
    notify("READY=1");
    inherited.report_ready();
    let kept = Vec::new();
    let daemon = Daemon { program, config, shared, signals, orders, locals, waiting, kept, syns };
    daemon.supervise(path, running);
    Ok(())
}

/// The listener of the page of metrics, if there is to be one: that of the process before, or a new
/// one.
fn metrics_listener(
    config: &Config,
    inherited: Option<TcpListener>,
) -> Result<Option<TcpListener>, DaemonError> {
    let Some(address) = config.metrics else { return Ok(None) };
    let is_same = |one: &TcpListener| one.local_addr().is_ok_and(|local| local == address);
    let listener = inherited.filter(is_same).map_or_else(|| TcpListener::bind(address), Ok);
    listener.doing(format!("listen on {address} for metrics")).map(Some)
}

/// As [`metrics_listener`], of the control socket.
fn control_listener(
    config: &Config,
    inherited: Option<UnixListener>,
) -> Result<Option<UnixListener>, DaemonError> {
    let Some(path) = &config.document.control else { return Ok(None) };
    let is_same = |one: &UnixListener| {
        one.local_addr().is_ok_and(|local| local.as_pathname() == Some(path.as_path()))
    };
    inherited.filter(is_same).map_or_else(|| control::bind(path), Ok).map(Some)
}

/// Listeners on this machine, with their threads.
struct Locals {
    metrics: Option<(OwnedFd, Server)>,
    control: Option<(OwnedFd, Server)>,
}

impl Locals {
    fn start(
        metrics: Option<TcpListener>,
        control: Option<(UnixListener, PathBuf)>,
        shared: &Shared,
        orders: &Orders,
        requests: &Sender<Request>,
    ) -> Result<Self, DaemonError> {
        let copy = |fd: &dyn AsFd| fd.as_fd().try_clone_to_owned().doing("copy a descriptor");
        let metrics = metrics.map(|listener| {
            let fd = copy(&listener)?;
            let server = metrics::serve(listener, Arc::clone(&shared.counters), shared.clock);
            Ok::<_, DaemonError>((fd, server.doing("start a thread")?))
        });
        let control = control.map(|(listener, file)| {
            let fd = copy(&listener)?;
            let server = control::serve(listener, orders.clone(), requests.clone(), file);
            Ok::<_, DaemonError>((fd, server.doing("start a thread")?))
        });
        Ok(Self { metrics: metrics.transpose()?, control: control.transpose()? })
    }

    /// Closes them, so that no connection waits in their queues for this process.
    fn stop(&mut self) {
        for (fd, server) in [self.metrics.take(), self.control.take()].into_iter().flatten() {
            server.stop();
            drop(fd);
        }
    }

    /// Copies for another process.
    fn shared(&self) -> io::Result<[Option<OwnedFd>; 2]> {
        let copy = |local: &Option<(OwnedFd, Server)>| {
            local.as_ref().map(|(fd, _)| fd.try_clone()).transpose()
        };
        Ok([copy(&self.metrics)?, copy(&self.control)?])
    }
}

/// The kernel's copies of SYNs, if they are held back: those of the process before, or new ones.
fn held_back(
    config: &Config,
    is_upgrade: bool,
    inherited: Option<OwnedFd>,
) -> Result<Option<OwnedFd>, DaemonError> {
    let Document { accept, port, .. } = config.document;
    let holds_back = accept != Accept::Early;
    if is_upgrade && inherited.is_some() != holds_back {
        return Err(DaemonError::Missing(format!(
            "`accept` is {:?}, and the rules are those of another one: set them again, and restart it",
            accept.name()
        )));
    }
    match inherited {
        None if holds_back => Syns::open(port).map(Some).map_err(|error| {
            let reason = match error.raw_os_error() {
                Some(libc::EBUSY | libc::EPERM) => {
                    format!("another process reads NFLOG group {port}: choose another `port`")
                }
                _ => format!("{error}; `modprobe nfnetlink_log` may mend it"),
            };
            DaemonError::Missing(format!(
                "`accept = {:?}` needs nfnetlink_log: {reason}",
                accept.name()
            ))
        }),
        inherited => Ok(inherited),
    }
}

/// Starts the thread `name` with what `prepare` makes for it.
fn start_thread<W: FnOnce() + Send + 'static>(
    name: &str,
    prepare: impl FnOnce(Arc<OwnedFd>, Receiver<Order>) -> Result<W, DaemonError>,
) -> Result<Thread, DaemonError> {
    let wake =
        eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).doing("open an eventfd")?;
    let wake = Arc::new(wake);
    let (orders, received) = channel();
    let work = prepare(Arc::clone(&wake), received)?;
    let handle =
        thread::Builder::new().name(name.to_owned()).spawn(work).doing("start a thread")?;
    Ok(Thread { orders, wake, handle })
}

/// The daemon while it runs.
struct Daemon {
    program: Program,
    config: Arc<Config>,
    shared: Shared,
    signals: Signals,
    orders: Orders,
    locals: Locals,
    /// Commands that came over the control socket. Their signals follow.
    waiting: Receiver<Request>,
    kept: Vec<Request>,
    /// For another process.
    syns: Option<OwnedFd>,
}

/// Why the daemon does not go on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// A signal, or a thread that has ended.
    Stopped,
    /// Another process has the listeners.
    HandedOver,
}

impl Daemon {
    /// Waits for signals until the daemon has to end, and ends it.
    fn supervise(mut self, path: &Path, running: Vec<Thread>) {
        let end = self.work(path, &running);
        let is_running = || running.iter().any(|thread| !thread.handle.is_finished());
        if end == End::HandedOver {
            self.shared.gate.hand_over();
            self.locals.stop();
            self.syns = None;
            self.orders.send(|| Order::Drain);
            // Its connections have all the time that they need, until somebody is in a hurry.
            let hurries = |signal| ![libc::SIGHUP, libc::SIGUSR2].contains(&signal);
            while is_running() && !self.signals.wait(TICK).is_some_and(hurries) {}
        }
        if end == End::Stopped {
            notify("STOPPING=1");
        }
        if is_running() {
            self.shared.log.write("stopping", &[]);
            self.shared.gate.dismantle();
            self.orders.send(|| Order::Drain);
            let nanos = self.config.document.stop_within.as_nanos();
            let deadline = self.shared.clock.now() + Duration::from_nanos(nanos);
            while is_running() && self.shared.clock.now() < deadline {
                if self.signals.wait(TICK).is_some_and(|signal| signal != libc::SIGHUP) {
                    break;
                }
            }
            self.orders.send(|| Order::Stop);
        }
        for thread in running {
            let _ = thread.handle.join(); // a panic was printed already
        }
        self.shared.log.write("stopped", &[]);
        if end == End::Stopped
            && let Some(control) = &self.config.document.control
        {
            let _ = std::fs::remove_file(control); // gone already, or not ours any more
        }
        self.shared.log.finish();
    }

    /// Obeys signals until one ends the work.
    fn work(&mut self, path: &Path, running: &[Thread]) -> End {
        let mut read_addresses = self.shared.clock.now();
        loop {
            match self.signals.wait(Duration::from_secs(1)) {
                Some(libc::SIGHUP) => {
                    let asked = self.asked(Command::Reload);
                    reply(&asked, &self.reload(path));
                }
                Some(libc::SIGUSR2) => {
                    let asked = self.asked(Command::Upgrade);
                    let answer = self.upgrade();
                    reply(&asked, &answer);
                    if answer["error"].is_null() {
                        return End::HandedOver;
                    }
                }
                Some(_) => {
                    let within = self.config.document.stop_within.as_secs_f64();
                    let answer = json!({ "done": "stopping", "within_s": within });
                    reply(&self.asked(Command::Stop), &answer);
                    return End::Stopped;
                }
                None => {}
            }
            if self.shared.clock.now() - read_addresses >= ADDRESSES_AFTER {
                read_addresses = self.shared.clock.now();
                if let Ok(addresses) = sys::own_addresses() {
                    remember(&self.shared.own, addresses);
                }
            }
            if running.iter().any(|thread| thread.handle.is_finished()) {
                self.shared.log.write("a thread has ended", &[]);
                return End::Stopped;
            }
        }
    }

    /// The commands of a kind that have come. One that comes later has its own signal.
    fn asked(&mut self, command: Command) -> Vec<Request> {
        self.kept.extend(self.waiting.try_iter());
        let all = std::mem::take(&mut self.kept).into_iter();
        let (asked, others) = all.partition(|request| request.command == command);
        self.kept = others;
        asked
    }

    /// Reads the file again. Returns the outcome for a command.
    fn reload(&mut self, path: &Path) -> Value {
        match reload(path, &self.config, &self.shared) {
            Ok(new) => {
                self.config = Arc::new(new);
                self.orders.send(|| Order::Reload(Arc::clone(&self.config)));
                self.shared.log.write("reloaded", &[]);
                json!({ "done": "reloaded" })
            }
            Err(error) => self.refuse(Command::Reload, &error),
        }
    }

    /// Lets a new process take over. Returns the outcome for a command.
    fn upgrade(&self) -> Value {
        match self.hand_over() {
            Ok(process) => {
                self.shared.log.write("handed over", &[("process", json!(process))]);
                json!({ "done": format!("process {process} has taken over") })
            }
            Err(error) => self.refuse(Command::Upgrade, &error),
        }
    }

    fn refuse(&self, command: Command, error: &DaemonError) -> Value {
        let message = format!("{} refused; nothing has changed", command.name());
        self.shared.log.write(&message, &[("error", json!(error.to_string()))]);
        json!({ "error": format!("{message}: {error}") })
    }

    /// Starts the process that goes on. Returns its number.
    fn hand_over(&self) -> Result<u32, DaemonError> {
        let copied = "copy a descriptor";
        let [metrics, control] = self.locals.shared().doing(copied)?;
        let listeners = self.shared.gate.shared().doing(copied)?;
        let syns = self.syns.as_ref().map(OwnedFd::try_clone).transpose().doing(copied)?;
        let sockets = Sockets { listeners, syns, metrics, control };
        let child = self.program.start(&sockets, &self.config.document)?;
        notify(&format!("MAINPID={}", child.id()));
        Ok(child.id())
    }
}

/// Answers commands with the outcome of what they have asked for together.
fn reply(asked: &[Request], answer: &Value) {
    for request in asked {
        let _ = request.reply.send(answer.clone()); // it does not wait any more
    }
}

fn remember(own: &RwLock<Vec<IpAddr>>, addresses: Vec<IpAddr>) {
    *own.write().unwrap_or_else(PoisonError::into_inner) = addresses;
}

/// Reads the file again, if what has changed can be changed while the daemon runs.
fn reload(path: &Path, old: &Config, shared: &Shared) -> Result<Config, DaemonError> {
    let mut loaded = Loaded::load(path)?;
    machine::check_controllers(&mut loaded)?;
    let refused = fixed(&old.document, &loaded.config.document);
    if !refused.is_empty() {
        return Err(loaded.report(refused).into());
    }
    let mut config = loaded.config;
    config.rates.take_over(time(shared.clock.now()), &old.rates);
    if let Err(Unset { key, error }) = shared.gate.adapt(&config) {
        let values = [("key", json!(key)), ("error", json!(error.to_string()))];
        shared.log.write("the kernel did not accept a setting", &values);
    }
    shared.gate.change(config.document.limits, &shared.counters);
    Ok(config)
}

/// Keys that need privileges or rules which the running daemon does not have any more.
fn fixed(old: &Document, new: &Document) -> Vec<language::Refused> {
    let reason = "it cannot change while the proxy runs; restart it";
    let mut refused = Vec::new();
    let mut same = |path: &str, value: fn(&Document) -> Value| {
        let [old, new] = [old, new].map(value);
        if old != new {
            let [old, new] = [old, new].map(|value| match value {
                Value::Null => "none".to_owned(),
                value => value.to_string(),
            });
            refused.push(language::Refused::new(path, old, new).because(reason));
        }
    };
    same("accept", |document| json!(document.accept));
    if new.accept != Accept::Early {
        same("mark", |document| json!(document.mark)); // SYNs go on with it
    }
    same("port", |document| json!(document.port));
    same("forward", |document| json!(document.forward));
    same("threads", |document| json!(document.threads));
    same("user", |document| json!(document.user));
    same("metrics", |document| json!(document.metrics));
    same("control", |document| json!(document.control));
    same("log.file", |document| json!(document.log.file));
    same("log.format", |document| json!(document.log.format));
    same("limits.relay_buffer", |document| json!(document.limits.relay_buffer));
    if new.limits.connections > old.limits.connections {
        // More descriptors need a capability that was dropped.
        same("limits.connections", |document| json!(document.limits.connections));
    }
    let sides = [&old.terrestrial, &old.satellite];
    refused.extend(listeners::removed(&sides.map(listeners::keys), new));
    refused
}

/// Sends a state to the service manager (sd_notify(3)), if there is one.
fn notify(state: &str) {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(abstract_name) => SocketAddr::from_abstract_name(abstract_name),
        None => SocketAddr::from_pathname(&name),
    };
    if let (Ok(socket), Ok(address)) = (UnixDatagram::unbound(), address) {
        let _ = socket.send_to_addr(state.as_bytes(), &address); // it then waits in vain, and says so
    }
}
