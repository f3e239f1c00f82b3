//! The hosts of a scenario: namespaces with one interface each.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use bed::address;
use network::NodeId;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};

use crate::emulator::Port;
use crate::error::{Doing, KernelError};
use crate::interface;
use crate::namespace::Namespace;
use crate::plan::Host;
use crate::route;

/// Makes namespaces and interfaces; their ends are the emulator's.
pub(crate) fn set_up(hosts: &[Host]) -> Result<(Vec<Namespace>, Vec<Port>), KernelError> {
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
        let tun = namespace.inside(|| set_up_inside(host))?;
        ports.push(Port { node: NodeId(host.node), tun, meter: None });
        namespaces.push(namespace);
    }
    Ok((namespaces, ports))
}

/// Finds out whether this machine and user can run the kernel bed at all.
///
/// # Errors
/// What is missing.
pub fn available() -> Result<(), KernelError> {
    set_up(&[Host::default()]).map(drop)
}

fn set_up_inside(host: &Host) -> Result<OwnedFd, KernelError> {
    for (name, wanted) in &host.sysctls {
        set(&format!("ipv4/{name}"), &wanted.value)?;
    }
    // Nobody here speaks IPv6, and its neighbour discovery would cross the links.
    if Path::new("/proc/sys/net/ipv6").exists() {
        set("ipv6/conf/all/disable_ipv6", "1")?;
        set("ipv6/conf/default/disable_ipv6", "1")?;
    }
    let own = address(host.node);
    let tun = interface::create(own, host.mtu).map_err(missing_tun)?;
    let control = socket(AddressFamily::INET, SocketType::DGRAM, None);
    let index = control.and_then(|socket| name_to_index(socket, interface::NAME));
    let index = index.doing(|| format!("find the interface {}", interface::NAME))?;
    for (peer, wanted) in &host.routes {
        let peer = address(*peer);
        route::add(peer, own, index, wanted.value)
            .doing(|| format!("add the route from {own} to {peer}"))?;
    }
    Ok(tun)
}

/// Writes a value of the namespace of the calling thread.
fn set(name: &str, value: &str) -> Result<(), KernelError> {
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
