//! Tunnels of WireGuard between hosts: the kernel's own where it has one, else the program
//! `wireguard-go` over a TUN device.
//!
//! Packets of the tunnelled flows leave by the interface of the tunnel, because the route to the
//! other host leads there. Outer packets have a mark, and a rule leads those with it to the
//! interface of the emulator. So both have the addresses of the hosts.
//!
//! Each end has a thread, which outlives the program: that dies with it, even if the run is killed.

use std::io::{self, Write as _};
use std::net::IpAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, sleep};
use std::time::Duration;

use runtime::address;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};

use crate::error::{Doing, KernelError};
use crate::interface;
use crate::lab::joined;
use crate::namespace::Namespace;
use crate::netlink::{Request, attribute, family};
use crate::plan::{Host, Plan, TunnelPlan};
use crate::route::{self, Metrics};
use crate::sys;

/// The mark of outer packets, and the table that leads them to the emulator.
const MARK: u32 = 0xb9;
const TABLE: u8 = 0xb9;
/// Port of the first tunnel, that of WireGuard's manual.
const FIRST_PORT: u16 = 51_820;
/// Program with WireGuard for kernels without it, and the program that sets both.
const USER_SPACE: &str = "wireguard-go";
const TOOL: &str = "wg";
/// Time between two looks whether a program has made its interface, and the most looks.
const PAUSE: Duration = Duration::from_millis(5);
const LOOKS: usize = 2000;

/// Tunnels of this process so far. Programs have a socket of the name of their interface, in the
/// folders that all namespaces share.
static MADE: AtomicU32 = AtomicU32::new(0);

/// Of linux/if_link.h, linux/fib_rules.h and linux/rtnetlink.h; libc does not name all.
const IFLA_INFO_KIND: u16 = 1;
const FRA_FWMARK: u16 = 10;
const FR_ACT_TO_TBL: u8 = 1;

/// Ends of tunnels, which end with the value.
pub(crate) struct Tunnels {
    stops: Vec<Sender<()>>,
}

/// An end that is to be set up.
struct End<'a> {
    namespace: &'a Namespace,
    /// Its name, which no other run has: programs have a socket of this name.
    name: String,
    /// Addresses of the host and of the other one.
    own: IpAddr,
    peer: IpAddr,
    port: u16,
    mtu: u32,
    metrics: Metrics,
    private_key: String,
    peer_key: String,
}

impl Tunnels {
    /// Sets up both ends of all tunnels of a plan.
    pub(crate) fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        plan: &'env Plan,
        namespaces: &'env [Namespace],
    ) -> Result<Self, KernelError> {
        let mut tunnels = Self { stops: Vec::new() };
        for (number, tunnel) in (0_u16..).zip(&plan.tunnels) {
            let keys = [key_pair()?, key_pair()?];
            for place in [0, 1] {
                let end = end(plan, namespaces, (number, tunnel), place, &keys);
                let (ready, started) = channel();
                let (stop, stopped) = channel();
                let thread = scope.spawn(move || end.run(&ready, &stopped));
                if started.recv().is_err() {
                    // It has ended without a start.
                    joined(thread.join())?;
                }
                tunnels.stops.push(stop);
            }
        }
        Ok(tunnels)
    }
}

/// An end of a tunnel.
fn end<'a>(
    plan: &Plan,
    namespaces: &'a [Namespace],
    (number, tunnel): (u16, &TunnelPlan),
    place: usize,
    keys: &[(String, String); 2],
) -> End<'a> {
    let [own, peer] = [place, 1 - place].map(|place| tunnel.hosts[place]);
    let Host { node, routes, .. } = &plan.hosts[own];
    let peer_node = plan.hosts[peer].node;
    End {
        namespace: &namespaces[own],
        name: format!("bp{:x}w{:x}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed)),
        own: address(*node, plan.ip),
        peer: address(peer_node, plan.ip),
        port: FIRST_PORT + number,
        mtu: tunnel.mtu,
        metrics: routes.get(&peer_node).map_or_else(Metrics::default, |wanted| wanted.value),
        private_key: keys[place].0.clone(),
        peer_key: keys[1 - place].1.clone(),
    }
}

impl End<'_> {
    /// Sets the end up, and keeps it until it is to stop.
    fn run(&self, ready: &Sender<()>, stopped: &Receiver<()>) -> Result<(), KernelError> {
        self.namespace.enter()?;
        let mut program = self.make_interface()?;
        let outcome = self.set_up();
        if outcome.is_ok() {
            let _ = ready.send(()); // the run has ended
            let _ = stopped.recv(); // an error is the end of the run, too
        }
        if let Some(child) = &mut program {
            self.end(child);
        }
        outcome
    }

    /// Makes the interface: in the kernel, or by a program, which is returned.
    fn make_interface(&self) -> Result<Option<Child>, KernelError> {
        let mut info = Vec::new();
        attribute(&mut info, IFLA_INFO_KIND, b"wireguard");
        let name = [self.name.as_bytes(), b"\0"].concat();
        let made = Request::new(libc::RTM_NEWLINK, &[0; 16])
            .attribute(libc::IFLA_IFNAME, &name)
            .attribute(libc::IFLA_LINKINFO, &info)
            .send();
        match made {
            Ok(()) => return Ok(None),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            Err(error) => return Err(error).doing(|| "make an interface of WireGuard".to_owned()),
        }
        let mut command = Command::new(USER_SPACE);
        command.args(["-f", &self.name]).env("WG_PROCESS_FOREGROUND", "1");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        sys::die_with_thread(&mut command);
        let mut child = command.spawn().map_err(|source| missing(USER_SPACE, source))?;
        let socket = self.socket();
        for _ in 0..LOOKS {
            if Path::new(&socket).exists() {
                return Ok(Some(child));
            }
            if !matches!(child.try_wait(), Ok(None)) {
                break;
            }
            sleep(PAUSE);
        }
        self.end(&mut child);
        let source = io::Error::other(format!("{socket} did not come"));
        Err(source).doing(|| format!("run {USER_SPACE}"))
    }

    /// The socket of the program.
    fn socket(&self) -> String {
        format!("/var/run/wireguard/{}.sock", self.name)
    }

    /// Ends the program.
    fn end(&self, child: &mut Child) {
        let _ = child.kill(); // it has ended already
        let _ = child.wait();
        let _ = std::fs::remove_file(self.socket()); // there is none
    }

    /// Sets keys, addresses and routes.
    fn set_up(&self) -> Result<(), KernelError> {
        let Self { name, own, peer, port, mtu, peer_key, .. } = self;
        let (port, mark) = (port.to_string(), MARK.to_string());
        let endpoint = std::net::SocketAddr::new(*peer, self.port).to_string();
        let allowed = format!("{peer}/{}", interface::all_bits(*peer));
        let of_own = ["set", name, "listen-port", &port, "fwmark", &mark];
        let of_peer = ["private-key", "/dev/stdin", "peer", peer_key];
        let of_way = ["endpoint", &endpoint, "allowed-ips", &allowed];
        run(&[&of_own[..], &of_peer, &of_way].concat(), &self.private_key)?;
        let index = interface::start(name, *mtu).doing(|| format!("start {name}"))?;
        let outer = self.emulator().doing(|| "find the interface of a host".to_owned())?;
        route::add(*peer, *own, index, self.metrics)
            .and_then(|()| route::add_default(*own, outer, TABLE))
            .and_then(|()| lead_marked(*own))
            .doing(|| format!("lead packets for {peer} into the tunnel"))
    }

    /// Number of the interface that leads to the emulator.
    fn emulator(&self) -> io::Result<u32> {
        let control = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        Ok(name_to_index(&control, interface::NAME)?)
    }
}

/// Leads packets with the mark by their own table. Another tunnel of the host may have done it.
fn lead_marked(own: IpAddr) -> io::Result<()> {
    let rule = [family(own), 0, 0, 0, TABLE, 0, 0, FR_ACT_TO_TBL, 0, 0, 0, 0];
    let made =
        Request::new(libc::RTM_NEWRULE, &rule).attribute(FRA_FWMARK, &MARK.to_ne_bytes()).send();
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// A private and a public key.
fn key_pair() -> Result<(String, String), KernelError> {
    let private = run(&["genkey"], "")?;
    let public = run(&["pubkey"], &private)?;
    Ok((private, public))
}

/// Runs the tool of WireGuard in the namespace of the calling thread. Returns its output.
fn run(arguments: &[&str], input: &str) -> Result<String, KernelError> {
    let doing = || format!("run {TOOL} {}", arguments.first().unwrap_or(&""));
    let mut command = Command::new(TOOL);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| missing(TOOL, source))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).doing(doing)?;
    }
    let output = child.wait_with_output().doing(doing)?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(io::Error::other(message)).doing(doing);
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn missing(program: &str, source: io::Error) -> KernelError {
    match source.kind() {
        io::ErrorKind::NotFound => KernelError::Missing(format!(
            "the program {program} for tunnels of WireGuard; Debian's packages wireguard-tools and \
             wireguard-go have them"
        )),
        _ => KernelError::Failed { action: format!("run {program}"), source },
    }
}
