//! The interface of a host: a TUN device, whose other end is the emulator's.

use std::fs::{self, OpenOptions};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;

use rustix::net::{AddressFamily, SocketType, socket};

use crate::sys::InterfaceRequest;

/// Its name in every namespace.
pub(crate) const NAME: &str = "bp0";
/// The device of which interfaces are made.
pub(crate) const DEVICE: &str = "/dev/net/tun";
/// Packets that may wait for the emulator, which empties the queue as fast as it can. A sender may
/// burst a whole window; what does not fit is lost before the link and told in the recording.
const QUEUE_PACKETS: u32 = 20_000;

/// Makes the interface in the namespace of the calling thread and hands out its other end. Without
/// an offload header every read is one packet of at most `mtu` bytes, whatever the stack joins.
pub(crate) fn create(address: Ipv4Addr, mtu: u32) -> io::Result<OwnedFd> {
    let tun =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE)?;
    let kind = libc::IFF_TUN | libc::IFF_NO_PI;
    InterfaceRequest::new(NAME).flags(kind).call(&tun, libc::TUNSETIFF)?;

    let control = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let up = libc::IFF_UP | libc::IFF_RUNNING;
    InterfaceRequest::new("lo").flags(up).call(&control, libc::SIOCSIFFLAGS)?;
    InterfaceRequest::new(NAME).number(mtu).call(&control, libc::SIOCSIFMTU)?;
    InterfaceRequest::new(NAME).number(QUEUE_PACKETS).call(&control, libc::SIOCSIFTXQLEN)?;
    // The network is that of the address's class, 10.0.0.0/8: every node is on it.
    InterfaceRequest::new(NAME).address(address).call(&control, libc::SIOCSIFADDR)?;
    InterfaceRequest::new(NAME).flags(up).call(&control, libc::SIOCSIFFLAGS)?;
    Ok(tun.into())
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
