//! Listeners of the threads: new ones, or those of a process before this one.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use language::Refused;
use rustix::net::{getsockname, sockopt};
use serde_json::{Value, json};

use crate::config::{Config, Document, Relay, Side, SideName, Towards};
use crate::daemon::{DaemonError, Doing};
use crate::gate::Registered;
use crate::log::Log;
use crate::machine;
use crate::sockets::{self, Unset};
use crate::worker::Listener;

/// Listeners of one thread, and whether each is for IPv4.
pub(crate) type OfThread = Vec<(Listener, bool)>;

/// Listeners of all threads, as the gate closes and opens them.
pub(crate) fn registered(all: &[OfThread]) -> Vec<Registered> {
    let registered = |(listener, is_v4): &(Listener, bool)| Registered {
        fd: Arc::clone(&listener.fd),
        is_v4: *is_v4,
        side: listener.side,
        is_transparent: listener.to.is_none(),
    };
    all.iter().flatten().map(registered).collect()
}

/// Listeners of each thread: both sides, IPv4 and, where the machine has it, IPv6. Those that were
/// inherited are used first, and all of them: each has a queue of its own.
pub(crate) fn of_threads(
    config: &Config,
    threads: usize,
    inherited: Vec<OwnedFd>,
    log: &Log,
) -> Result<Vec<OfThread>, DaemonError> {
    let mut queues: [[VecDeque<OwnedFd>; 2]; 2] = Default::default();
    let mut of_relays: Vec<VecDeque<OwnedFd>> =
        config.relays.iter().map(|_| VecDeque::new()).collect();
    for fd in inherited {
        match kind(config, &fd)? {
            Kind::OfSide(side, is_v4) => queues[side.index()][usize::from(is_v4)].push_back(fd),
            Kind::OfRelay(number) => of_relays[number].push_back(fd),
        }
    }
    let mut all: Vec<OfThread> = (0..threads).map(|_| Vec::new()).collect();
    for side in SideName::ALL {
        for is_v4 in [true, false] {
            let queue = &mut queues[side.index()][usize::from(is_v4)];
            for number in 0..threads.max(queue.len()) {
                if let Some(fd) = one(config, side, is_v4, queue.pop_front(), log)? {
                    let listener = Listener { fd: Arc::new(fd), side, to: None };
                    all[number % threads].push((listener, is_v4));
                }
            }
        }
    }
    for (relay, queue) in config.relays.iter().zip(&mut of_relays) {
        for number in 0..threads.max(queue.len()) {
            let Relay { listen, to, side } = *relay;
            let fd = of_relay(config, relay, queue.pop_front(), log)?;
            let listener = Listener { fd: Arc::new(fd), side, to: Some(to) };
            all[number % threads].push((listener, listen.is_ipv4()));
        }
    }
    Ok(all)
}

/// A listener of a relay, with the settings of the side of its clients.
fn of_relay(
    config: &Config,
    relay: &Relay,
    inherited: Option<OwnedFd>,
    log: &Log,
) -> Result<OwnedFd, DaemonError> {
    let options = &config.side(relay.side).tcp;
    let saves_syn = config.document.copy_dscp;
    let doing = || format!("listen on {}", relay.listen);
    let fd = inherited.map_or_else(|| sockets::relay(&relay.listen), Ok).doing(doing())?;
    report(sockets::adapt(&fd, options, saves_syn), relay.side, log);
    Ok(fd)
}

/// Logs a setting that the kernel did not accept.
fn report(settings: Result<(), Unset>, side: SideName, log: &Log) {
    if let Err(Unset { key, error }) = settings {
        let error = error.to_string();
        let values = [("side", json!(side.key())), ("key", json!(key)), ("error", json!(error))];
        log.write("the kernel did not accept a setting", &values);
    }
}

/// Purpose of a listener.
enum Kind {
    /// For intercepted connections of a side, over IPv4 or not.
    OfSide(SideName, bool),
    /// For the relay of this number.
    OfRelay(usize),
}

/// Purpose of a listener that was inherited.
fn kind(config: &Config, fd: &OwnedFd) -> Result<Kind, DaemonError> {
    let doing = "read the address of a listener";
    let address = getsockname(fd).and_then(SocketAddr::try_from).doing(doing)?;
    let listens = sockopt::socket_acceptconn(fd).doing(doing)?;
    if let Some(number) = config.relays.iter().position(|relay| relay.listen == address) {
        return Ok(Kind::OfRelay(number));
    }
    let side = SideName::ALL.into_iter().find(|side| config.port_of(*side) == address.port());
    match side.filter(|_| listens) {
        Some(side) => Ok(Kind::OfSide(side, address.is_ipv4())),
        None => Err(DaemonError::Missing(format!(
            "`port` is {}, and the running daemon has a listener on {address}: restart it",
            config.document.port
        ))),
    }
}

/// A listener, with the settings of its side. None where the machine has no IPv6.
fn one(
    config: &Config,
    side: SideName,
    is_v4: bool,
    inherited: Option<OwnedFd>,
    log: &Log,
) -> Result<Option<OwnedFd>, DaemonError> {
    let port = config.port_of(side);
    let (options, saves_syn) = (&config.side(side).tcp, config.document.copy_dscp);
    let opened = match inherited {
        Some(fd) => {
            let settings = sockets::adapt(&fd, options, saves_syn);
            Ok((fd, settings))
        }
        None => sockets::listener(is_v4, port, options, saves_syn),
    };
    let (fd, settings) = match opened {
        Err(_) if !is_v4 && !machine::has_ipv6() => return Ok(None),
        result => result.doing(format!("listen on port {port} of the loopback address"))?,
    };
    // Accepted connections inherit it, and the rules know their packets by it.
    let mark = config.mark_of(Towards::Client);
    sockets::set_mark(&fd, mark).doing("set the mark of a listener")?;
    report(settings, side, log);
    Ok(Some(fd))
}

/// The keys of a side, as listeners have them.
pub(crate) fn keys(side: &Side) -> Value {
    serde_json::to_value(side).unwrap_or_default()
}

/// Keys of the sides that are no longer there. Connections inherit from listeners, and those keep
/// what is not set again.
pub(crate) fn removed(old: &[Value; 2], new: &Document) -> Vec<Refused> {
    let mut refused = Vec::new();
    for ((key, new), old) in new.sides().into_iter().zip(old) {
        // A rate is not the socket's.
        let shared = serde_json::to_value(&new.tcp.shared).unwrap_or_default();
        let new = keys(new);
        for (name, value) in old.as_object().into_iter().flatten() {
            let is_of_sockets = shared.get(name).is_none();
            if is_of_sockets && !value.is_null() && new[name].is_null() {
                let problem = Refused::new(key, format!("`{name}`"), "none");
                refused.push(problem.because("only a restart brings back the kernel's default"));
            }
        }
    }
    refused
}
