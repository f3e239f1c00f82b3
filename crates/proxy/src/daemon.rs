//! The daemon: set-up, threads, signals.
//!
//! SIGHUP reads the file again. SIGTERM and SIGINT let connections end for `stop_within`; a second one
//! resets them at once.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use serde_json::json;
use thiserror::Error;

use crate::clock::Clock;
use crate::config::{Config, Document, Loaded, Side, SideName};
use crate::control;
use crate::counters::All;
use crate::gate::{Gate, Registered};
use crate::log::Log;
use crate::machine;
use crate::metrics;
use crate::privileges;
use crate::sockets::{self, Unset};
use crate::sys::{self, Signals};
use crate::worker::{Listener, Order, Shared, Worker};

/// Reasons why the daemon cannot start or go on.
#[derive(Debug, Error)]
pub enum DaemonError {
    /// The file is not valid, or the machine cannot do what it has.
    #[error("{0}")]
    Config(#[from] scenario::ScenarioErrors),
    /// The machine or the user lacks something.
    #[error("{0}")]
    Missing(String),
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    Failed {
        /// What was tried.
        action: String,
        /// What the system says.
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
    let mut loaded = Loaded::load(path)?;
    machine::check(&mut loaded)?;
    let config = Arc::new(loaded.config);
    let document = &config.document;
    let threads = document.threads.map_or_else(cores, usize::from);
    machine::raise_descriptors(&config, threads)?;

    let signals = [libc::SIGHUP, libc::SIGTERM, libc::SIGINT];
    let signals = Signals::block(&signals).doing("block signals")?;
    let clock = Clock::start();
    let counters = Arc::new(All::default());
    let log = Log::start(document.log.file.as_deref(), document.log.format, Arc::clone(&counters))
        .doing("open the log")?;

    let mut listeners = Vec::new();
    for _ in 0..threads {
        listeners.push(open_listeners(&config, &log)?);
    }
    let all = listeners.iter().flatten();
    let all = all.map(|(listener, is_v4)| Registered {
        fd: Arc::clone(&listener.fd),
        is_v4: *is_v4,
        side: listener.side,
    });
    let gate = Arc::new(Gate::new(document.limits, all.collect()));
    let own = sys::own_addresses().doing("read the addresses of this machine")?;
    let own = Arc::new(RwLock::new(own));
    if let Some(address) = config.metrics {
        metrics::serve(address, Arc::clone(&counters), clock)
            .doing(format!("listen on {address} for metrics"))?;
    }
    let control = document.control.as_deref().map(control::bind).transpose()?;
    privileges::drop_all(config.user).doing("drop privileges")?;

    let shared = Shared { counters, gate, log, clock, own };
    let mut running = Vec::new();
    let pipes = machine::pipes_of_thread(&config, threads);
    for (number, listeners) in listeners.into_iter().enumerate() {
        running.push(start_thread(number, &config, &shared, listeners, pipes)?);
    }
    let orders = Orders(
        running.iter().map(|thread| (thread.orders.clone(), Arc::clone(&thread.wake))).collect(),
    );
    if let Some(control) = control {
        control::serve(control, orders.clone()).doing("start a thread")?;
    }
    shared.log.write(
        "ready",
        &[
            ("threads", json!(threads)),
            ("port", json!(document.port)),
            ("connections", json!(document.limits.connections)),
        ],
    );
    notify("READY=1");
    supervise(path, config, &shared, &signals, &orders, running);
    Ok(())
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The listeners of one thread: both sides, IPv4 and, where the machine has it, IPv6.
fn open_listeners(config: &Config, log: &Log) -> Result<Vec<(Listener, bool)>, DaemonError> {
    let mut listeners = Vec::new();
    for side in SideName::ALL {
        let port = config.port_of(side);
        let options = &config.side(side).tcp;
        for is_v4 in [true, false] {
            let listener = sockets::listener(is_v4, port, options, config.document.copy_dscp);
            let (fd, settings) = match listener {
                Err(_) if !is_v4 && !machine::has_ipv6() => continue,
                result => result.doing(format!("listen on port {port} of the loopback address"))?,
            };
            report(log, side, settings);
            listeners.push((Listener { fd: Arc::new(fd), side }, is_v4));
        }
    }
    Ok(listeners)
}

fn report(log: &Log, side: SideName, settings: Result<(), Unset>) {
    if let Err(Unset { key, error }) = settings {
        let error = error.to_string();
        let values = [("side", json!(side.key())), ("key", json!(key)), ("error", json!(error))];
        log.write("the kernel did not accept a setting", &values);
    }
}

fn start_thread(
    number: usize,
    config: &Arc<Config>,
    shared: &Shared,
    listeners: Vec<(Listener, bool)>,
    pipes: usize,
) -> Result<Thread, DaemonError> {
    let wake =
        eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).doing("open an eventfd")?;
    let wake = Arc::new(wake);
    let (orders, received) = channel();
    let listeners = listeners.into_iter().map(|(listener, _)| listener).collect();
    let worker = Worker::new(
        Arc::clone(config),
        shared.clone(),
        listeners,
        Arc::clone(&wake),
        received,
        pipes,
    )
    .doing("set up epoll")?;
    let handle = thread::Builder::new()
        .name(format!("relay-{number}"))
        .spawn(move || worker.run())
        .doing("start a thread")?;
    Ok(Thread { orders, wake, handle })
}

/// Waits for signals until the daemon has to end, and ends it.
fn supervise(
    path: &Path,
    mut config: Arc<Config>,
    shared: &Shared,
    signals: &Signals,
    orders: &Orders,
    running: Vec<Thread>,
) {
    let mut read_addresses = shared.clock.now();
    loop {
        match signals.wait(Duration::from_secs(1)) {
            Some(libc::SIGHUP) => match reload(path, &config, shared) {
                Ok(new) => {
                    config = Arc::new(new);
                    orders.send(|| Order::Reload(Arc::clone(&config)));
                    shared.log.write("reloaded", &[]);
                }
                Err(error) => {
                    let error = json!(error.to_string());
                    shared.log.write("reload refused; nothing has changed", &[("error", error)]);
                }
            },
            Some(_) => break,
            None => {}
        }
        if shared.clock.now() - read_addresses >= ADDRESSES_AFTER {
            read_addresses = shared.clock.now();
            if let Ok(addresses) = sys::own_addresses() {
                remember(&shared.own, addresses);
            }
        }
        if running.iter().any(|thread| thread.handle.is_finished()) {
            shared.log.write("a thread has ended", &[]);
            break;
        }
    }
    notify("STOPPING=1");
    shared.log.write("stopping", &[]);
    shared.gate.dismantle();
    orders.send(|| Order::Drain);
    let nanos = config.document.stop_within.as_nanos();
    let deadline = shared.clock.now() + Duration::from_nanos(nanos);
    let is_running = || running.iter().any(|thread| !thread.handle.is_finished());
    while is_running() && shared.clock.now() < deadline {
        if signals.wait(Duration::from_millis(50)).is_some_and(|signal| signal != libc::SIGHUP) {
            break;
        }
    }
    orders.send(|| Order::Stop);
    for thread in running {
        let _ = thread.handle.join(); // a panic was printed already
    }
    shared.log.write("stopped", &[]);
    if let Some(control) = &config.document.control {
        let _ = std::fs::remove_file(control); // gone already, or not ours any more
    }
    thread::sleep(Duration::from_millis(20)); // the log's thread writes its last lines
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
    let config = loaded.config;
    if let Err(Unset { key, error }) = shared.gate.adapt(&config) {
        let values = [("key", json!(key)), ("error", json!(error.to_string()))];
        shared.log.write("the kernel did not accept a setting", &values);
    }
    shared.gate.change(config.document.limits, &shared.counters);
    Ok(config)
}

/// Keys that need privileges or rules which the running daemon does not have any more.
fn fixed(old: &Document, new: &Document) -> Vec<scenario::Refused> {
    let reason = "it cannot change while the proxy runs; restart it";
    let mut refused = Vec::new();
    let mut same = |path: &str, old: &dyn std::fmt::Debug, new: &dyn std::fmt::Debug| {
        let (old, new) = (format!("{old:?}"), format!("{new:?}"));
        if old != new {
            refused.push(scenario::Refused::new(path, old, new).because(reason));
        }
    };
    same("port", &old.port, &new.port);
    same("threads", &old.threads, &new.threads);
    same("user", &old.user, &new.user);
    same("metrics", &old.metrics, &new.metrics);
    same("control", &old.control, &new.control);
    same("log.file", &old.log.file, &new.log.file);
    same("log.format", &old.log.format, &new.log.format);
    same("limits.relay_buffer", &old.limits.relay_buffer, &new.limits.relay_buffer);
    if new.limits.connections > old.limits.connections {
        // More descriptors need a capability that was dropped.
        same("limits.connections", &old.limits.connections, &new.limits.connections);
    }
    let sides = [
        ("terrestrial", &old.terrestrial, &new.terrestrial),
        ("satellite", &old.satellite, &new.satellite),
    ];
    for (key, old, new) in sides {
        // Connections inherit from listeners, and those keep what is not set again.
        let keys = |side: &Side| serde_json::to_value(side).unwrap_or_default();
        let (old, new) = (keys(old), keys(new));
        for (name, value) in old.as_object().into_iter().flatten() {
            if !value.is_null() && new[name].is_null() {
                let found = "none";
                let problem = scenario::Refused::new(key, format!("`{name}`"), found);
                refused.push(problem.because("only a restart brings back the kernel's default"));
            }
        }
    }
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
