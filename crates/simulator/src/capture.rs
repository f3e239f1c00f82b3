//! Packet captures for Wireshark, as at the host that sends the data.
//!
//! Each packet is captured at one host only. Captured at both, every packet would be in the file
//! twice, and every analyser would take the second for a retransmission. All hosts share one
//! interface of the file: libpcap 1.10 (tcpdump, tcptrace) refuses a second one of raw IP packets.
//!
//! Segments of TCP are written here. The packets of other protocols write themselves (`OnWire`).

use std::io::Write;

use recording::{CaptureError, CaptureWriter};
use scenario::Scenario;
use scenario::model::Flow;
use tcp::Segment;
use wire::icmp::ICMP_HEADER;
use wire::ip::{CE, ECT_0, ECT_1, IpHeader, LOWER_EFFORT};
use wire::tcp::{AckRatio, EcnCounters, HEADER, ScpsOption};
use wire::{Addresses, IpPacket, IpVersion, TcpPacket};

use crate::observed::Observed;
use crate::transports::{self, Content, OnWire};

/// Name of the file's only interface.
const INTERFACE: &str = "data-senders";
/// Bytes kept of a packet that need not be whole: all headers and options, and no more zeros than
/// need be.
pub(crate) const SNAPLEN: u16 = 128;
/// TTL or hop limit that Linux gives packets.
const TTL: u8 = 64;
/// Port of the end that sends the data; of those that iperf uses, so that no analyser tries to
/// read a protocol out of the zeros.
const DATA_PORT: u16 = 5001;
/// First of the ports that the other ends take (RFC 6335 section 6).
const FIRST_DYNAMIC_PORT: u32 = 49_152;
const DYNAMIC_PORTS: u32 = 16_384;

/// Writes the packets of a run as pcapng; hand [`Capture::observe`] to a run as its observer.
#[derive(Debug)]
pub struct Capture<W: Write> {
    writer: CaptureWriter<W>,
    ip: IpVersion,
    packet: Vec<u8>,
    /// Bytes after the header of IP in a packet of another protocol.
    content: Vec<u8>,
    failed: Option<CaptureError>,
}

impl<W: Write> Capture<W> {
    /// Begins a capture of a run of `scenario`.
    ///
    /// # Errors
    /// When the sink does not take the bytes.
    pub fn new(sink: W, scenario: &Scenario) -> Result<Self, CaptureError> {
        let lengths = scenario.flows.iter().flat_map(Flow::transports).map(transports::snaplen);
        let snaplen = lengths.max().unwrap_or(SNAPLEN);
        let writer = CaptureWriter::new(sink, &[INTERFACE.to_owned()], snaplen.into())?;
        let (packet, content) = Default::default();
        Ok(Self { writer, ip: scenario.ip, packet, content, failed: None })
    }

    /// Writes the packet if it is seen at the host that sends the data: the packet of a connection,
    /// or the ICMP message of a router. After the first failure nothing more is written;
    /// [`Capture::finish`] returns it.
    pub fn observe(&mut self, observed: &Observed<'_>) {
        let data_host = if observed.by_data_sender { observed.from } else { observed.to };
        if observed.node != data_host || self.failed.is_some() {
            return;
        }
        let at = observed.at.as_nanos();
        let segment = match observed.content {
            Content::Tcp(segment) => segment,
            Content::Other(other) => {
                let length = self.write_other(observed, other);
                self.failed = self.writer.packet(0, at, &self.packet, length).err();
                return;
            }
        };
        if segment.reported_mss().is_some() {
            if let Some(message) = too_big(observed, segment, self.ip) {
                let known = message.bytes().len().min(known_bytes(self.ip));
                #[expect(clippy::cast_possible_truncation, reason = "at most 1280 bytes")]
                let length = message.bytes().len() as u32;
                self.failed = self.writer.packet(0, at, &message.bytes()[..known], length).err();
            }
            return;
        }
        let sack = segment.sack.map(|block| (block.start, block.end));
        let packet = packet(observed, segment, self.ip, &sack);
        let length = packet.write(SNAPLEN.into(), &mut self.packet);
        self.failed = self.writer.packet(0, at, &self.packet, length).err();
    }

    /// Writes a packet of another protocol, cut off. Returns its length.
    fn write_other(&mut self, observed: &Observed<'_>, other: &dyn OnWire) -> u32 {
        let bytes = other.bytes();
        let addresses = addresses(observed, self.ip);
        let header = IpHeader {
            addresses,
            ttl: TTL,
            dscp_ecn: dscp_ecn(observed),
            protocol: other.number(),
            ..IpHeader::default()
        };
        self.packet.clear();
        header.write(bytes.into(), &mut self.packet);
        let length = self.packet.len() + usize::from(bytes);
        self.content.clear();
        other.write(addresses, ports(observed), &mut self.content);
        debug_assert_eq!(self.content.len(), usize::from(bytes), "length of {other:?}");
        self.packet.extend_from_slice(&self.content);
        self.packet.truncate(other.snaplen().into());
        #[expect(clippy::cast_possible_truncation, reason = "both lengths have 16 bits")]
        let length = length as u32;
        length
    }

    /// Hands the last bytes to the sink.
    ///
    /// # Errors
    /// The first thing that went wrong since the capture began.
    pub fn finish(self) -> Result<(), CaptureError> {
        match self.failed {
            Some(error) => Err(error),
            None => self.writer.finish().map(drop),
        }
    }
}

/// The option of SCPS-TP of a segment, if it has one.
fn scps_option(segment: &Segment) -> Option<ScpsOption> {
    let has_one = segment.options.contains(tcp::Options::SNACK);
    has_one.then(|| match segment.snack() {
        None => ScpsOption::capabilities(segment.options.contains(tcp::Options::BEST_EFFORT)),
        Some(snack) => {
            let (bytes, length) = snack.encode();
            ScpsOption { bytes, length }
        }
    })
}

/// Of a router's message, the bytes that a run knows: both headers of IP, that of ICMP, and the
/// ports and the sequence number of the quoted segment, which RFC 792 requires. The rest is not
/// captured.
fn known_bytes(ip: IpVersion) -> usize {
    const PORTS_AND_SEQUENCE: u16 = 8;
    (2 * ip.header_bytes() + ICMP_HEADER + PORTS_AND_SEQUENCE).into()
}

/// The message of a router about a packet that was too long, which arrives in place of a segment.
fn too_big(observed: &Observed<'_>, segment: &Segment, ip: IpVersion) -> Option<IpPacket> {
    let (mss, router, bytes) = segment.report()?;
    let segment = Segment {
        sequence: segment.sequence,
        flags: tcp::Flags::ACK,
        payload: bytes.checked_sub(HEADER)?,
        window_scale: Segment::NO_SCALE,
        ..Segment::default()
    };
    let quoted = Observed {
        from: observed.to,
        to: observed.from,
        source: observed.destination,
        destination: observed.source,
        by_data_sender: !observed.by_data_sender,
        content: Content::Tcp(&segment),
        ..*observed
    };
    let mut whole = Vec::new();
    packet(&quoted, &segment, ip, &[]).write(usize::MAX, &mut whole);
    let mtu = mss.checked_add(ip.header_bytes() + HEADER)?;
    IpPacket::read(&whole)?.too_big(runtime::address(router, ip), mtu)
}

/// Addresses in the packet.
fn addresses(observed: &Observed<'_>, ip: IpVersion) -> Addresses {
    let Observed { source, destination, .. } = *observed;
    match ip {
        IpVersion::V4 => Addresses::V4(runtime::ipv4(source), runtime::ipv4(destination)),
        IpVersion::V6 => Addresses::V6(runtime::ipv6(source), runtime::ipv6(destination)),
    }
}

/// Ports of source and destination.
fn ports(observed: &Observed<'_>) -> (u16, u16) {
    #[expect(clippy::cast_possible_truncation, reason = "the dynamic ports end at 65535")]
    let other = (FIRST_DYNAMIC_PORT + observed.connection % DYNAMIC_PORTS) as u16;
    if observed.by_data_sender { (DATA_PORT, other) } else { (other, DATA_PORT) }
}

/// DSCP and ECN.
fn dscp_ecn(observed: &Observed<'_>) -> u8 {
    if observed.is_marked {
        return CE;
    }
    let segment = match observed.content {
        Content::Tcp(segment) => segment,
        Content::Other(other) => return if other.is_ecn_capable() { ECT_0 } else { 0 },
    };
    match (segment.is_low_priority(), segment.is_ecn_capable()) {
        (true, _) => LOWER_EFFORT,
        (false, true) if segment.is_low_latency() => ECT_1,
        (false, true) => ECT_0,
        (false, false) => 0,
    }
}

/// An observed segment as a packet with addresses and ports; `sack` are its SACK blocks and the
/// unused room behind them.
pub(crate) fn packet<'a>(
    observed: &Observed<'_>,
    segment: &Segment,
    ip: IpVersion,
    sack: &'a [(u32, u32)],
) -> TcpPacket<'a> {
    let (source_port, destination_port) = ports(observed);
    TcpPacket {
        addresses: addresses(observed, ip),
        source_port,
        destination_port,
        ttl: TTL,
        dscp_ecn: dscp_ecn(observed),
        sequence: segment.sequence,
        acknowledgement: segment.acknowledgement,
        flags: segment.flags.in_one_byte().0,
        accurate: segment.flags.contains(tcp::Flags::AE),
        window: segment.window,
        mss: (segment.mss > 0).then_some(segment.mss),
        window_scale: (segment.window_scale != Segment::NO_SCALE).then_some(segment.window_scale),
        sack_permitted: segment.sack_permitted(),
        timestamps: segment.has_timestamps().then_some((segment.timestamp, segment.echo)),
        sack: &sack[..segment.blocks().len()],
        counters: segment.counters().map(|counters| EcnCounters {
            low_latency: segment.options.contains(tcp::Options::LOW_LATENCY),
            unmarked: counters.unmarked,
            marked: counters.marked,
        }),
        ack_ratio: segment
            .ack_ratio()
            .map(AckRatio::Ratio)
            .or(segment.permits_ack_control().then_some(AckRatio::Permitted)),
        scps: scps_option(segment),
        payload_len: u32::from(segment.payload),
        ..TcpPacket::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Time;

    /// A router's message about a host's segment of 1480 bytes.
    #[test]
    fn a_message_of_a_router_is_captured_with_its_mtu_and_what_it_quotes() {
        for (ip, mtu, length) in [(IpVersion::V4, 1400, 576), (IpVersion::V6, 1300, 1280)] {
            let header = ip.header_bytes();
            let long = Segment {
                sequence: 7,
                flags: tcp::Flags::ACK,
                payload: 1460,
                ..Segment::default()
            };
            let segment = long.too_big(2, mtu - header - HEADER, length - header);
            let observed = Observed {
                at: Time::ZERO,
                node: 0,
                from: 1,
                to: 0,
                source: 1,
                destination: 0,
                connection: 3,
                by_data_sender: false,
                content: Content::Tcp(&segment),
                is_marked: false,
            };
            let message = too_big(&observed, &segment, ip).unwrap();
            assert_eq!(message.bytes().len(), usize::from(length));
            assert_eq!(message.source(), runtime::address(2, ip));
            assert_eq!(message.destination(), runtime::address(0, ip));
            let of_icmp = usize::from(header);
            assert_eq!(message.bytes()[of_icmp + 6..of_icmp + 8], mtu.to_be_bytes());
            let quoted = IpPacket::read(&message.bytes()[of_icmp + 8..]).unwrap();
            assert_eq!(quoted.destination(), runtime::address(1, ip));
            let at = if ip == IpVersion::V4 { 2 } else { 4 };
            let counted = if ip == IpVersion::V4 { header } else { 0 };
            assert_eq!(quoted.bytes()[at..at + 2], (counted + long.bytes()).to_be_bytes());
            assert_eq!(quoted.ports(), Some((DATA_PORT, 49_155)));
            let at = of_icmp + 8 + of_icmp + 4;
            assert_eq!(message.bytes()[at..at + 4], 7_u32.to_be_bytes());
            assert_eq!(known_bytes(ip), at + 4, "the sequence number is the last that is known");
        }
    }
}
