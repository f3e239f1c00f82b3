//! Routes with metrics: the only way to tell a kernel the initial window, a longer minimum of the
//! retransmission timer, or to acknowledge each segment, for one destination.

use std::io;
use std::net::Ipv4Addr;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

/// Attributes of `RTA_METRICS`; libc does not name them.
const RTAX_LOCK: u16 = 1;
const RTAX_INITCWND: u16 = 11;
const RTAX_RTO_MIN: u16 = 13;
const RTAX_QUICKACK: u16 = 15;

/// What a host does differently towards one other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Metrics {
    /// Initial window in segments.
    pub(crate) initial_window: u32,
    /// Acknowledge each segment.
    pub(crate) quick_ack: bool,
    /// The least that the retransmission timer adds to the smoothed RTT, in milliseconds.
    pub(crate) rto_min_ms: u32,
}

/// Adds the route to a host, out of interface number `interface`, in the namespace of the calling
/// thread.
pub(crate) fn add(
    destination: Ipv4Addr,
    source: Ipv4Addr,
    interface: u32,
    metrics: Metrics,
) -> io::Result<()> {
    let kind = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, kind, None)?;
    let request = request(destination, source, interface, metrics);
    sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 4096];
    let (_, length) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    // The answer is an error number behind a header of 16 bytes; zero is success.
    let error = answer[..length].get(16..20).and_then(|bytes| bytes.try_into().ok());
    match error.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// The message: a header, a route, its attributes (rtnetlink(7)).
fn request(destination: Ipv4Addr, source: Ipv4Addr, interface: u32, metrics: Metrics) -> Vec<u8> {
    let mut nested = Vec::new();
    attribute(&mut nested, RTAX_INITCWND, &metrics.initial_window.to_ne_bytes());
    // TCP only heeds this one when it is locked.
    attribute(&mut nested, RTAX_LOCK, &(1_u32 << RTAX_RTO_MIN).to_ne_bytes());
    attribute(&mut nested, RTAX_RTO_MIN, &metrics.rto_min_ms.to_ne_bytes());
    attribute(&mut nested, RTAX_QUICKACK, &u32::from(metrics.quick_ack).to_ne_bytes());

    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let mut message = Vec::new();
    message.extend_from_slice(&[0; 4]); // length, below
    message.extend_from_slice(&libc::RTM_NEWROUTE.to_ne_bytes());
    message.extend_from_slice(&(flags as u16).to_ne_bytes());
    message.extend_from_slice(&[0; 8]); // sequence number and port
    message.extend_from_slice(&[
        libc::AF_INET as u8,
        32, // bits of the destination
        0,  // bits of the source
        0,  // type of service
        libc::RT_TABLE_MAIN,
        libc::RTPROT_STATIC,
        libc::RT_SCOPE_LINK,
        libc::RTN_UNICAST,
    ]);
    message.extend_from_slice(&[0; 4]); // flags
    attribute(&mut message, libc::RTA_DST, &destination.octets());
    attribute(&mut message, libc::RTA_PREFSRC, &source.octets());
    attribute(&mut message, libc::RTA_OIF, &interface.to_ne_bytes());
    attribute(&mut message, libc::RTA_METRICS, &nested);
    let length = message.len() as u32;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message
}

/// Appends an attribute: length and type, then the value, padded to four bytes.
fn attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    message.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(value);
    message.resize(message.len().next_multiple_of(4), 0);
}
