//! The hosts of a scenario: namespaces with one interface each.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::Path;

use network::NodeId;
use runtime::address;
use scenario::model::SideName;
use wire::IpVersion;

use crate::emulator::Port;
use crate::error::{Doing, KernelError};
use crate::interface;
use crate::namespace::Namespace;
use crate::plan::{Host, gateway};
use crate::route::{self, Metrics};

/// A value of `addr_gen_mode` (linux/if_link.h).
const NO_LINK_LOCAL_ADDRESS: &str = "1";

/// Makes namespaces and interfaces; their ends are the emulator's.
pub(crate) fn set_up(
    hosts: &[Host],
    ip: IpVersion,
) -> Result<(Vec<Namespace>, Vec<Port>), KernelError> {
    let mut namespaces = Vec::with_capacity(hosts.len());
    let mut ports = Vec::with_capacity(hosts.len());
    for host in hosts {
        let namespace = Namespace::new().map_err(|source| match source.kind() {
            io::ErrorKind::PermissionDenied => KernelError::Missing(
                "the capability CAP_SYS_ADMIN, to make network namespaces; run it as root"
                    .to_owned(),
            ),
            _ => KernelError::Failed { action: "make a network namespace".to_owned(), source },
        })?;
        let ends = namespace.inside(|| set_up_inside(host, ip))?;
        let port = |(side, tun)| Port { node: NodeId(host.node), side, tun, meter: None };
        ports.extend(ends.into_iter().map(port));
        namespaces.push(namespace);
    }
    Ok((namespaces, ports))
}

/// Checks that this machine and user can run the kernel backend.
///
/// # Errors
/// Checks that the system has everything; the error names what is missing.
pub fn available() -> Result<(), KernelError> {
    set_up(&[Host::default()], IpVersion::V4).map(drop)
}

/// Returns the ends of its interfaces, and the side of each if it is a gateway.
fn set_up_inside(
    host: &Host,
    ip: IpVersion,
) -> Result<Vec<(Option<SideName>, OwnedFd)>, KernelError> {
    for (name, wanted) in &host.sysctls {
        set(&format!("ipv4/{name}"), &wanted.value)?;
    }
    set_ipv6(ip)?;
    let own = address(host.node, ip);
    if !host.tunnelled.is_empty() {
        accept_both_ways()?;
    }
    let Some(gateway) = &host.gateway else {
        let bits = interface::network_bits(own);
        let (tun, index) =
            interface::create(interface::NAME, own, bits, host.mtu).map_err(missing_tun)?;
        // Those of tunnels come with them.
        let routes = host.routes.iter().filter(|(peer, _)| !host.tunnelled.contains(peer));
        let routes = routes.map(|(peer, wanted)| (*peer, wanted.value));
        lead(routes, own, index, ip)?;
        return Ok(vec![(None, tun)]);
    };
    forward(ip)?;
    let mut ends = Vec::new();
    for side in SideName::ALL {
        let (name, bits) = (gateway::interface(side), interface::all_bits(own));
        let (tun, index) = interface::create(name, own, bits, host.mtu).map_err(missing_tun)?;
        let peers = gateway.peers.iter().filter(|(_, found)| **found == side);
        let routes = peers.map(|(peer, _)| {
            (*peer, host.routes.get(peer).map_or_else(Metrics::default, |wanted| wanted.value))
        });
        lead(routes, own, index, ip)?;
        ends.push((Some(side), tun));
    }
    Ok(ends)
}

/// Adds routes out of interface number `index`.
fn lead(
    routes: impl Iterator<Item = (u16, Metrics)>,
    own: IpAddr,
    index: u32,
    ip: IpVersion,
) -> Result<(), KernelError> {
    for (peer, metrics) in routes {
        let peer = address(peer, ip);
        route::add(peer, own, index, metrics)
            .doing(|| format!("add the route from {own} to {peer}"))?;
    }
    Ok(())
}

/// Lets interfaces take packets from whichever side they come.
fn accept_both_ways() -> Result<(), KernelError> {
    set("ipv4/conf/all/rp_filter", "0")?;
    set("ipv4/conf/default/rp_filter", "0")
}

/// Makes a router of the namespace.
fn forward(ip: IpVersion) -> Result<(), KernelError> {
    accept_both_ways()?;
    match ip {
        IpVersion::V4 => set("ipv4/ip_forward", "1"),
        IpVersion::V6 => set("ipv6/conf/all/forwarding", "1"),
    }
}

/// Lets interfaces that are still to be made speak IPv6 or not. What they would say of themselves
/// must not cross the links: no address but the one that they are given, and nobody listens for
/// routers.
fn set_ipv6(ip: IpVersion) -> Result<(), KernelError> {
    let exists = Path::new("/proc/sys/net/ipv6/conf").exists();
    match ip {
        IpVersion::V4 if !exists => Ok(()),
        IpVersion::V4 => {
            set("ipv6/conf/all/disable_ipv6", "1")?;
            set("ipv6/conf/default/disable_ipv6", "1")
        }
        IpVersion::V6 if !exists => {
            Err(KernelError::Missing("a kernel that speaks IPv6".to_owned()))
        }
        IpVersion::V6 => {
            set("ipv6/conf/all/disable_ipv6", "0")?;
            set("ipv6/conf/default/disable_ipv6", "0")?;
            set("ipv6/conf/default/addr_gen_mode", NO_LINK_LOCAL_ADDRESS)?;
            set("ipv6/conf/default/accept_ra", "0")
        }
    }
}

/// Writes a value of the namespace of the calling thread.
pub(crate) fn set(name: &str, value: &str) -> Result<(), KernelError> {
    let path = format!("/proc/sys/net/{name}");
    fs::write(&path, value).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => {
            KernelError::Missing(format!("a kernel with {path}: Linux 6.15 or later"))
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            KernelError::Missing("/proc/sys to be writable; containers mount it read-only".into())
        }
        _ => KernelError::Failed { action: format!("write {value:?} into {path}"), source },
    })
}

fn missing_tun(source: io::Error) -> KernelError {
    let missing = match source.kind() {
        io::ErrorKind::NotFound => "; load the kernel module tun",
        io::ErrorKind::PermissionDenied => " and the right to open it; run it as root",
        _ => {
            let action = "make a TUN device".to_owned();
            return KernelError::Failed { action, source };
        }
    };
    KernelError::Missing(format!("{}{missing}", interface::DEVICE))
}

impl From<io::Error> for KernelError {
    fn from(source: io::Error) -> Self {
        Self::Failed { action: "enter a network namespace".to_owned(), source }
    }
}
