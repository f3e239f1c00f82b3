//! Routes with metrics: the only way to set the initial window, a longer minimum of the
//! retransmission timer, or acknowledgement of each segment for one destination.

use std::io;
use std::net::IpAddr;

use crate::netlink::{Request, attribute, family, octets};

/// Attributes of `RTA_METRICS`; libc does not name them.
const RTAX_LOCK: u16 = 1;
const RTAX_INITCWND: u16 = 11;
const RTAX_RTO_MIN: u16 = 13;
const RTAX_QUICKACK: u16 = 15;

/// Metrics of a host towards one other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metrics {
    /// Initial window in segments; `None` is that of the kernel.
    pub(crate) initial_window: Option<u32>,
    /// Acknowledge each segment.
    pub(crate) quick_ack: bool,
    /// The least that the retransmission timer adds to the smoothed RTT, in milliseconds; `None` is
    /// that of the kernel.
    pub(crate) rto_min_ms: Option<u32>,
}

/// Adds the route to a host, out of interface number `interface`, in the namespace of the calling
/// thread.
pub(crate) fn add(
    destination: IpAddr,
    source: IpAddr,
    interface: u32,
    metrics: Metrics,
) -> io::Result<()> {
    let mut nested = Vec::new();
    if let Some(segments) = metrics.initial_window {
        attribute(&mut nested, RTAX_INITCWND, &segments.to_ne_bytes());
    }
    if let Some(least) = metrics.rto_min_ms {
        // TCP only heeds this one when it is locked.
        attribute(&mut nested, RTAX_LOCK, &(1_u32 << RTAX_RTO_MIN).to_ne_bytes());
        attribute(&mut nested, RTAX_RTO_MIN, &least.to_ne_bytes());
    }
    attribute(&mut nested, RTAX_QUICKACK, &u32::from(metrics.quick_ack).to_ne_bytes());

    let destination_octets = octets(destination);
    let bits = 8 * destination_octets.len() as u8;
    Request::new(libc::RTM_NEWROUTE, &message(destination, bits, libc::RT_TABLE_MAIN))
        .attribute(libc::RTA_DST, &destination_octets)
        .attribute(libc::RTA_PREFSRC, &octets(source))
        .attribute(libc::RTA_OIF, &interface.to_ne_bytes())
        .attribute(libc::RTA_METRICS, &nested)
        .send()
}

/// Adds the route to all hosts, out of interface number `interface`, to a table for packets that a
/// rule leads there. `own` is an address of the same family.
pub(crate) fn add_default(own: IpAddr, interface: u32, table: u8) -> io::Result<()> {
    let made = Request::new(libc::RTM_NEWROUTE, &message(own, 0, table))
        .attribute(libc::RTA_OIF, &interface.to_ne_bytes())
        .send();
    match made {
        // Another tunnel of the host has added it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// The start of a message about a route (`struct rtmsg`).
fn message(address: IpAddr, bits: u8, table: u8) -> [u8; 12] {
    [
        family(address),
        bits, // of the destination
        0,    // bits of the source
        0,    // type of service
        table,
        libc::RTPROT_STATIC,
        libc::RT_SCOPE_LINK,
        libc::RTN_UNICAST,
        0, // flags, four bytes
        0,
        0,
        0,
    ]
}
