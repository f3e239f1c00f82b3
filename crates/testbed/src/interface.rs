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

/// Its name in the namespace of a host.
pub(crate) const NAME: &str = "bp0";
const LOOPBACK: &str = "lo";
/// The device of which interfaces are made.
pub(crate) const DEVICE: &str = "/dev/net/tun";
/// Packets that may wait for the emulator, which empties the queue as fast as it can. A sender may
/// burst a whole window; what does not fit is lost before the link and counted in the recording.
const QUEUE_PACKETS: u32 = 20_000;

/// Of linux/if_addr.h; libc does not name them.
const IFA_LOCAL: u16 = 2;
const IFA_F_NODAD: u8 = 2;

/// Makes the interface `name` in the namespace of the calling thread and hands out its other end
/// and its number. `network_bits` of its address are those of a network that it leads to; all of
/// them lead to nobody. Without an offload header every read is one packet of at most `mtu` bytes,
/// whatever the stack joins.
pub(crate) fn create(
    name: &str,
    address: IpAddr,
    network_bits: u8,
    mtu: u32,
) -> io::Result<(OwnedFd, u32)> {
    let tun =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
    let kind = libc::IFF_TUN | libc::IFF_NO_PI;
    InterfaceRequest::new(name).flags(kind).call(&tun, libc::TUNSETIFF)?;

    let control = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let up = libc::IFF_UP | libc::IFF_RUNNING;
    InterfaceRequest::new(LOOPBACK).flags(up).call(&control, libc::SIOCSIFFLAGS)?;
    InterfaceRequest::new(name).number(mtu).call(&control, libc::SIOCSIFMTU)?;
    InterfaceRequest::new(name).number(QUEUE_PACKETS).call(&control, libc::SIOCSIFTXQLEN)?;
    // Neighbours need not be looked for, and so no host joins a group to be found (RFC 4291 section
    // 2.7.1) and announces it across the links.
    let alone = up | libc::IFF_NOARP;
    InterfaceRequest::new(name).flags(alone).call(&control, libc::SIOCSIFFLAGS)?;
    let index = name_to_index(&control, name)?;
    give(address, network_bits, index)?;
    Ok((tun.into(), index))
}

/// Starts the interface `name` of a tunnel, with the addresses of others. Returns its number.
pub(crate) fn start(name: &str, mtu: u32) -> io::Result<u32> {
    let control = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    InterfaceRequest::new(name).number(mtu).call(&control, libc::SIOCSIFMTU)?;
    InterfaceRequest::new(name).number(QUEUE_PACKETS).call(&control, libc::SIOCSIFTXQLEN)?;
    let up = libc::IFF_UP | libc::IFF_RUNNING;
    InterfaceRequest::new(name).flags(up).call(&control, libc::SIOCSIFFLAGS)?;
    Ok(name_to_index(&control, name)?)
}

/// Gives an interface its address, for use at once: nobody looks whether another host has it
/// (duplicate address detection, RFC 4862 section 5.4, would take a second).
fn give(address: IpAddr, network_bits: u8, interface: u32) -> io::Result<()> {
    let flags = if address.is_ipv4() { 0 } else { IFA_F_NODAD };
    let [a, b, c, d] = interface.to_ne_bytes();
    let body = [family(address), network_bits, flags, libc::RT_SCOPE_UNIVERSE, a, b, c, d];
    Request::new(libc::RTM_NEWADDR, &body).attribute(IFA_LOCAL, &octets(address)).send()
}

/// Bits of the network on which every node is: 10.0.0.0/8 or fd00::/64.
pub(crate) fn network_bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 8 } else { 64 }
}

/// Bits of an address of no network.
pub(crate) fn all_bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Packets that interfaces lost on their way to and from the emulator, in the namespace of the
/// calling thread.
pub(crate) fn losses() -> io::Result<u64> {
    /// Column of the received and of the sent packets that were dropped.
    const DROPPED: [usize; 2] = [3, 11];
    let table = fs::read_to_string("/proc/thread-self/net/dev")?;
    let rows = table.lines().filter_map(|line| line.trim().split_once(':'));
    let lost = rows.filter(|(name, _)| *name != LOOPBACK).map(|(_, row)| {
        let counts: Vec<u64> =
            row.split_whitespace().filter_map(|count| count.parse().ok()).collect();
        DROPPED.iter().filter_map(|column| counts.get(*column)).sum::<u64>()
    });
    Ok(lost.sum())
}
