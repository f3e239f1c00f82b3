//! Requirements of the machine before the daemon starts, and before any rule is set.

use std::ffi::CString;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::thread;

use language::{Errors, Refused};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::{Config, Document, Loaded, SideName};
use crate::daemon::{DaemonError, Doing};
use crate::gate;
use crate::pipes;
use crate::privileges;
use crate::sys;

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Descriptors that are not those of connections: standard streams, log, sockets of metrics and
/// control; copies of SYNs, and raw sockets; for each thread epoll, eventfd and empty pipes.
const DESCRIPTORS: u64 = 48;
const DESCRIPTORS_OF_THREAD: u64 = 2 + 2 * pipes::KEPT as u64;
/// Transparent listeners of a thread: for both sides and both versions of IP.
const LISTENERS: u64 = 4;
/// Copies of a listener: its own descriptor, and one more while another process takes over.
const COPIES: u64 = 2;
/// Two sockets, and half a pipe.
const DESCRIPTORS_OF_CONNECTION: u64 = 3;

/// Everything that the daemon needs. Names of controllers become those of the kernel. A process
/// that inherits listeners needs no free ports.
pub(crate) fn check(loaded: &mut Loaded, inherits: bool) -> Result<(), DaemonError> {
    check_privileges()?;
    check_interfaces(loaded)?;
    check_controllers(loaded)?;
    if !inherits {
        check_ports(loaded)?;
    }
    Ok(())
}

pub(crate) fn check_privileges() -> Result<(), DaemonError> {
    let missing = privileges::missing().doing("read the capabilities of the process")?;
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter_names().map(|(name, _)| format!("CAP_{name}")).collect();
    Err(DaemonError::Missing(format!("the proxy needs {}: run it as root", names.join(", "))))
}

pub(crate) fn check_interfaces(loaded: &Loaded) -> Result<(), Errors> {
    let names = interfaces();
    let mut refused = Vec::new();
    for side in SideName::ALL {
        for (number, name) in loaded.config.side(side).interfaces.iter().enumerate() {
            let is_there = CString::new(&**name).is_ok_and(|name| sys::interface_exists(&name));
            if !is_there {
                let path = format!("{}.interfaces.{number}", side.key());
                let expected = format!("an interface of this machine ({})", names.join(", "));
                let problem = Refused::new(&path, expected, format!("{name:?}"));
                refused.push(problem.nearest(names.iter().map(String::as_str)));
            }
        }
    }
    if refused.is_empty() { Ok(()) } else { Err(loaded.report(refused)) }
}

/// Names of the interfaces, except loopback.
fn interfaces() -> Vec<String> {
    let lines = fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let names = lines.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
    names.filter(|name| name != "lo").collect()
}

/// Finds the kernel's name of each controller: its own, or `bp_NAME` of one that
/// `bentpipe kernel load` has loaded.
pub(crate) fn check_controllers(loaded: &mut Loaded) -> Result<(), Errors> {
    let available = fs::read_to_string(AVAILABLE).unwrap_or_default();
    let available: Vec<_> = available.split_whitespace().collect();
    let mut refused = Vec::new();
    for (path, name) in loaded.config.controllers() {
        if kernel_name(name).is_none() {
            let expected = format!("a controller of this kernel ({})", available.join(", "));
            let known = available.iter().map(|name| name.strip_prefix("bp_").unwrap_or(name));
            let reason = format!("`bentpipe kernel load {name}` loads one that Bentpipe has");
            let problem = Refused::new(&path, expected, format!("{name:?}"));
            refused.push(problem.because(reason).nearest(known));
        }
    }
    if !refused.is_empty() {
        return Err(loaded.report(refused));
    }
    loaded.config.rename_controllers(|name| kernel_name(name).unwrap_or_else(|| name.to_owned()));
    Ok(())
}

/// The kernel may load the module of a controller now, so the list is not asked.
fn kernel_name(name: &str) -> Option<String> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).ok()?;
    let names = [name.to_owned(), format!("bp_{name}")];
    names.into_iter().find(|name| sockopt::set_tcp_congestion(&socket, name).is_ok())
}

fn check_ports(loaded: &Loaded) -> Result<(), Errors> {
    for side in SideName::ALL {
        let port = loaded.config.port_of(side);
        // Another listener with SO_REUSEPORT would share connections with this one; a plain one
        // cannot.
        if let Err(error) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            let expected = "two ports that are free on the loopback address";
            let problem = Refused::new("port", expected, format!("port {port}"));
            return Err(loaded.report(vec![problem.because(error.to_string())]));
        }
    }
    Ok(())
}

/// Allows as many descriptors as the configuration needs.
pub(crate) fn raise_descriptors(config: &Config, threads: usize) -> Result<(), DaemonError> {
    let needed = descriptors(config, threads);
    let now = getrlimit(Resource::Nofile);
    if now.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let maximum = now.maximum.map(|maximum| maximum.max(needed));
    let raised = Rlimit { current: Some(needed), maximum };
    setrlimit(Resource::Nofile, raised).map_err(|_| {
        let connections = config.document.limits.connections;
        let allowed = now.maximum.unwrap_or(u64::MAX);
        DaemonError::Missing(format!(
            "{connections} connections need {needed} descriptors, and {allowed} are allowed: lower \
             `limits.connections`, or set LimitNOFILE={needed} in the unit (`ulimit -Hn {needed}`)"
        ))
    })
}

/// Threads that take connections: one for each core, unless the configuration has a number.
pub(crate) fn threads(document: &Document) -> usize {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    document.threads.map_or_else(cores, usize::from)
}

/// Descriptors that the daemon may have open at the same time.
pub(crate) fn descriptors(config: &Config, threads: usize) -> u64 {
    let connections = u64::from(config.document.limits.connections);
    let connections = connections + gate::slack(connections);
    let listeners = COPIES * (LISTENERS + config.relays.len() as u64);
    let of_threads = (DESCRIPTORS_OF_THREAD + listeners) * threads as u64;
    DESCRIPTORS + of_threads + DESCRIPTORS_OF_CONNECTION * connections
}

/// Pipes that one thread may have open.
pub(crate) fn pipes_of_thread(config: &Config, threads: usize) -> usize {
    let connections = config.document.limits.connections as usize;
    connections / (2 * threads) + pipes::KEPT
}

/// Returns true if the kernel has IPv6, and the loopback interface speaks it.
pub(crate) fn has_ipv6() -> bool {
    let disabled = fs::read_to_string("/proc/sys/net/ipv6/conf/lo/disable_ipv6");
    let is_disabled = disabled.is_ok_and(|value| value.trim() == "1");
    Path::new("/proc/self/net/if_inet6").exists() && !is_disabled
}

/// Everything that rules need, before one is set.
///
/// # Errors
/// Missing capabilities, interfaces and controllers.
pub fn before_rules(loaded: &mut Loaded) -> Result<(), DaemonError> {
    check_privileges()?;
    check_interfaces(loaded)?;
    check_controllers(loaded)?;
    Ok(())
}
