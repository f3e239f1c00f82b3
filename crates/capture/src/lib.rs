//! TCP connections of captures of any program: RTT, retransmissions, stalls and windows, as
//! Wireshark and tcptrace have them.
//!
//! A capture is read as a stream. Memory grows with the number of connections, and not with that of
//! packets. The formats of files are parsed by `pcap-parser`, the headers of links and of IP by
//! `etherparse`.

mod connection;
mod connections;
mod error;
mod file;
mod flow;
mod graph;
mod holes;
mod link;
mod outstanding;
mod results;
mod segment;
mod summary;
mod timestamps;
mod verdict;

use std::path::Path;

use file::Reader;

pub use connection::Seen;
pub use connections::MOST_CONNECTIONS;
pub use error::{CaptureError, Damage, LinkName};
pub use graph::{Bar, Graph, Request, Step, graphs};
pub use outstanding::Sample;
pub use results::{CaptureRecord, ConnectionRecord, DirectionRecord};
pub use verdict::{Kind, Verdict};

use connections::Connections;

/// Packets between two calls of `progress`.
const BETWEEN: u64 = 1 << 14;

/// Reads the connections of a capture.
///
/// `progress` is called now and then with the number of bytes that were read, and stops the reading
/// if it returns false.
///
/// # Errors
/// If the file cannot be read, is no capture, or has no packet of TCP.
pub fn read(path: &Path, progress: impl FnMut(u64) -> bool) -> Result<CaptureRecord, CaptureError> {
    read_observed(path, progress, |_| {})
}

/// The same as [`read`]; shows each segment to `observe`.
///
/// # Errors
/// Those of [`read`].
pub fn read_observed(
    path: &Path,
    mut progress: impl FnMut(u64) -> bool,
    mut observe: impl FnMut(&Seen<'_>),
) -> Result<CaptureRecord, CaptureError> {
    let mut reader = Reader::open(path)?;
    let mut connections = Connections::default();
    let damage = reader.each(|packet, bytes| {
        connections.take(packet, &mut observe);
        packet.number % BETWEEN != 0 || progress(bytes)
    })?;
    let packets = reader.packets();
    if packets == 0 {
        return Err(damage.map_or(CaptureError::WithoutPackets, CaptureError::NoPacket));
    }
    if connections.tcp_packets == 0 {
        return Err(without_tcp(packets, &connections));
    }
    let warnings = warnings(packets, damage, reader.without_time, &connections);
    let zero = connections.zero_ns();
    Ok(CaptureRecord {
        packets,
        tcp_packets: connections.tcp_packets,
        started_s: zero as f64 / 1e9,
        duration_s: connections.last_ns.saturating_sub(zero) as f64 / 1e9,
        warnings,
        connections: connections.results(),
    })
}

fn without_tcp(packets: u64, connections: &Connections) -> CaptureError {
    let others = &connections.others;
    if let Some((packet, link)) = others.first_link_type {
        return CaptureError::LinkType { packet, link, name: LinkName(link) };
    }
    let most = others.protocols.iter().max_by_key(|(protocol, count)| (**count, **protocol));
    let most = most.map(|(protocol, count)| match protocol {
        1 | 58 => format!(" (ICMP {count})"),
        17 => format!(" (UDP {count})"),
        132 => format!(" (SCTP {count})"),
        _ => format!(" (IP protocol {protocol}: {count})"),
    });
    CaptureError::NoTcp { packets, most: most.unwrap_or_default() }
}

/// Sentences on the parts of a file that are not in the results.
fn warnings(
    packets: u64,
    damage: Option<Damage>,
    without_time: u64,
    connections: &Connections,
) -> Vec<String> {
    let others = &connections.others;
    let mut found = Vec::new();
    if let Some(damage) = damage {
        found.push(format!("packet {}: {damage}; the results end before it", packets + 1));
    }
    if let Some((packet, link)) = others.first_link_type {
        let name = LinkName(link);
        let count = others.link_type;
        found.push(format!(
            "packet {packet}: link type {link}{name} is not read; {count} packets are left out"
        ));
    }
    let counted = [
        (without_time, "without a time are left out"),
        (others.fragments, "are fragments of IP and left out"),
        (others.headers, "have headers that are cut off or invalid and are left out"),
        (connections.beyond, "belong to connections beyond the first 100,000 and are left out"),
        (
            connections.disordered,
            "have times before those of earlier packets; `reordercap IN OUT` sorts them",
        ),
    ];
    for (count, what) in counted.into_iter().filter(|(count, _)| *count > 0) {
        found.push(format!("{count} packets {what}"));
    }
    found
}
