//! The interface of a host: a TUN device, whose other end is the emulator's.

use std::fs::{self, OpenOptions};
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;

use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};

use crate::netlink::{Request, family, octets};
use crate::sys::InterfaceRequest;

/// Its name in every namespace.
pub(crate) const NAME: &str = "bp0";
/// The device of which interfaces are made.
pub(crate) const DEVICE: &str = "/dev/net/tun";
/// Packets that may wait for the emulator, which empties the queue as fast as it can. A sender may
/// burst a whole window; what does not fit is lost before the link and counted in the recording.
const QUEUE_PACKETS: u32 = 20_000;

/// Of linux/if_addr.h; libc does not name them.
const IFA_LOCAL: u16 = 2;
const IFA_F_NODAD: u8 = 2;

/// Makes the interface in the namespace of the calling thread and hands out its other end and its
/// number. Without an offload header every read is one packet of at most `mtu` bytes, whatever the
/// stack joins.
pub(crate) fn create(address: IpAddr, mtu: u32) -> io::Result<(OwnedFd, u32)> {
    let tun =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
    let kind = libc::IFF_TUN | libc::IFF_NO_PI;
    InterfaceRequest::new(NAME).flags(kind).call(&tun, libc::TUNSETIFF)?;

    let control = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let up = libc::IFF_UP | libc::IFF_RUNNING;
    InterfaceRequest::new("lo").flags(up).call(&control, libc::SIOCSIFFLAGS)?;
    InterfaceRequest::new(NAME).number(mtu).call(&control, libc::SIOCSIFMTU)?;
    InterfaceRequest::new(NAME).number(QUEUE_PACKETS).call(&control, libc::SIOCSIFTXQLEN)?;
    // Neighbours need not be looked for, and so no host joins a group to be found (RFC 4291 section
    // 2.7.1) and announces it across the links.
    let alone = up | libc::IFF_NOARP;
    InterfaceRequest::new(NAME).flags(alone).call(&control, libc::SIOCSIFFLAGS)?;
    let index = name_to_index(&control, NAME)?;
    give(address, index)?;
    Ok((tun.into(), index))
}

/// Gives an interface its address, for use at once: nobody looks whether another host has it
/// (duplicate address detection, RFC 4862 section 5.4, would take a second). Every node is on its
/// network, 10.0.0.0/8 or fd00::/64.
fn give(address: IpAddr, interface: u32) -> io::Result<()> {
    let (network_bits, flags) = if address.is_ipv4() { (8, 0) } else { (64, IFA_F_NODAD) };
    let [a, b, c, d] = interface.to_ne_bytes();
    let body = [family(address), network_bits, flags, libc::RT_SCOPE_UNIVERSE, a, b, c, d];
    Request::new(libc::RTM_NEWADDR, &body).attribute(IFA_LOCAL, &octets(address)).send()
}

/// Packets that the interface lost on its way to and from the emulator, in the namespace of the
/// calling thread.
pub(crate) fn losses() -> io::Result<u64> {
    /// Column of the received and of the sent packets that were dropped.
    const DROPPED: [usize; 2] = [3, 11];
    let table = fs::read_to_string("/proc/thread-self/net/dev")?;
    let row = table.lines().find_map(|line| line.trim().strip_prefix(NAME)?.strip_prefix(':'));
    let counts: Vec<u64> =
        row.unwrap_or("").split_whitespace().filter_map(|count| count.parse().ok()).collect();
    Ok(DROPPED.iter().filter_map(|column| counts.get(*column)).sum())
}
