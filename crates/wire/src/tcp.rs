//! TCP: flags, sizes of options, and segments in IP packets as captures need them.
//!
//! The simulator carries no payload, only its length, so the payload here is zeros. That is enough
//! for every analyser (they look at sequence numbers and options) and leaves the checksum real:
//! zeros add nothing to a ones' complement sum, so it is right without the payload being touched.
//!
//! TCP: RFC 9293 section 3.1. Window scale and timestamps: RFC 7323. SACK: RFC 2018. Accurate ECN:
//! RFC 9768 sections 3.1 and 3.2.3.

use crate::checksum::{fold, sum_of_words};
use crate::ip::{Addresses, IpHeader, PROTOCOL_TCP};

/// Bits of [`TcpPacket::flags`], RFC 9293 section 3.1.
pub mod flags {
    /// No more data from the sender.
    pub const FIN: u8 = 1;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 2;
    /// Reset the connection.
    pub const RST: u8 = 4;
    /// Hand the data to the application.
    pub const PSH: u8 = 8;
    /// The acknowledgement field is valid.
    pub const ACK: u8 = 16;
    /// The urgent pointer is valid.
    pub const URG: u8 = 32;
    /// ECN echo, RFC 3168 section 6.1.
    pub const ECE: u8 = 64;
    /// Congestion window reduced, RFC 3168 section 6.1.
    pub const CWR: u8 = 128;
}

/// Bytes of the header without options.
pub const HEADER: u16 = 20;
/// Most bytes of options: the data offset has four bits and counts words, 60 bytes of header.
pub const MAX_OPTIONS: u16 = 40;
/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
pub const TIMESTAMPS: u16 = 12;
/// Bytes of the MSS option.
pub const MSS: u16 = 4;
/// Bytes of the window scale option with its padding.
pub const WINDOW_SCALE: u16 = 4;
/// Bytes of the SACK-permitted option with its padding. Next to timestamps it replaces their
/// padding and adds nothing.
pub const SACK_PERMITTED: u16 = 4;

/// Bytes of the option of accurate ECN with two of its three counters (RFC 9768 section 3.2.3).
pub const ACCURATE_ECN: u16 = 8;

/// Bytes of an option of ACK congestion control with its padding (RFC 5690 sections 4.1 and 4.2).
pub const ACK_RATIO: u16 = 4;

/// Bytes of the option with the capabilities of SCPS-TP.
pub const SCPS_CAPABILITIES: u16 = 4;

/// Bytes of the SACK option with `blocks` blocks, padding included (RFC 2018 section 3).
#[inline]
pub const fn sack(blocks: u8) -> u16 {
    if blocks == 0 { 0 } else { 4 + 8 * blocks as u16 }
}

/// A TCP segment in an IP packet. Its payload is zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpPacket<'a> {
    /// Source and destination address.
    pub addresses: Addresses,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Identification; IPv6 has none.
    pub identification: u16,
    /// Hops that are left.
    pub ttl: u8,
    /// DSCP in the upper six bits, ECN in the lower two.
    pub dscp_ecn: u8,
    /// Sequence number of the first byte (of the SYN or FIN, if there is none).
    pub sequence: u32,
    /// Next sequence number expected from the other side.
    pub acknowledgement: u32,
    /// Sum of the [`flags`].
    pub flags: u8,
    /// The bit AE, which is in the byte before the other flags (RFC 9768 section 3.1).
    pub accurate: bool,
    /// Window as it stands in the header, already scaled down.
    pub window: u16,
    /// Option of a SYN: largest segment that its sender can receive.
    pub mss: Option<u16>,
    /// Option of a SYN: shift of all later windows.
    pub window_scale: Option<u8>,
    /// Option of a SYN: SACK may be sent.
    pub sack_permitted: bool,
    /// Timestamp value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// Left and right edges of the SACK blocks, the newest first. Those that do not fit in 40 bytes
    /// of options are left out: four fit, three together with timestamps (RFC 2018 section 3).
    pub sack: &'a [(u32, u32)],
    /// The option of accurate ECN: its first two counters, each of 24 bits.
    pub counters: Option<EcnCounters>,
    /// The option of ACK congestion control.
    pub ack_ratio: Option<AckRatio>,
    /// An option of SCPS-TP.
    pub scps: Option<ScpsOption>,
    /// Bytes of payload.
    pub payload_len: u32,
}

/// An option of ACK congestion control (RFC 5690). IANA has given it no kind, so captures have that
/// of experiments, 253 (RFC 4727).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckRatio {
    /// On a SYN: this end takes part (section 4.1).
    Permitted,
    /// Number of segments after which the other end sends an ACK (section 4.2).
    Ratio(u8),
}

/// An option of SCPS-TP (CCSDS 714.0-B) as it is on the wire: that of a SYN with the capabilities,
/// or SNACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScpsOption {
    /// Kind, length and content.
    pub bytes: [u8; 22],
    /// How many of the bytes it has.
    pub length: u8,
}

impl ScpsOption {
    /// The option of a SYN that offers SNACK, in both of its forms, and best-effort transport if
    /// so.
    pub fn capabilities(best_effort: bool) -> Self {
        let mut bytes = [0; 22];
        // Kind, length, the bits of best-effort transport and of SNACK without and with a vector,
        // and the number of a connection for header compression, which is not offered.
        let bits = if best_effort { 0xe0 } else { 0x60 };
        bytes[..4].copy_from_slice(&[20, 4, bits, 0]);
        Self { bytes, length: 4 }
    }
}

/// The option of accurate ECN with two counters (RFC 9768 section 3.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounters {
    /// The first counter is that of ECT(1) and not that of ECT(0).
    pub low_latency: bool,
    /// Bytes that arrived with that code point.
    pub unmarked: u32,
    /// Bytes that arrived with CE.
    pub marked: u32,
}

/// Kinds of the option: the counter of ECT(0) first, or that of ECT(1).
const ACCURATE_ECN_KINDS: [u8; 2] = [172, 174];
/// The kind of an experiment.
const ACK_RATIO_KIND: u8 = 253;

impl TcpPacket<'_> {
    /// Replaces the content of `out` by the packet, cut off after `snaplen` bytes (0: not cut off,
    /// as in pcapng). Returns the length of the whole packet. For lengths beyond what IP can name
    /// see [`IpHeader::write`].
    pub fn write(&self, snaplen: usize, out: &mut Vec<u8>) -> u32 {
        let (options, options_len) = self.options();
        let segment = (usize::from(HEADER) + options_len) as u32;
        let segment = segment.saturating_add(self.payload_len);
        let header = IpHeader {
            addresses: self.addresses,
            identification: self.identification,
            ttl: self.ttl,
            dscp_ecn: self.dscp_ecn,
            protocol: PROTOCOL_TCP,
        };

        out.clear();
        header.write(segment, out);
        let ip_header = out.len();
        self.write_tcp(&options[..options_len], out);
        // The zeros of the payload, and the zero that pads an odd one, add nothing.
        let pseudo_header = self.addresses.pseudo_header_sum(PROTOCOL_TCP, segment);
        let checksum = fold(pseudo_header + sum_of_words(&out[ip_header..]));
        out[ip_header + 16..ip_header + 18].copy_from_slice(&checksum.to_be_bytes());

        let total = segment.saturating_add(ip_header as u32);
        let snaplen = if snaplen == 0 { usize::MAX } else { snaplen };
        out.resize((total as usize).min(snaplen), 0);
        total
    }

    fn write_tcp(&self, options: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.source_port.to_be_bytes());
        out.extend_from_slice(&self.destination_port.to_be_bytes());
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&self.acknowledgement.to_be_bytes());
        let words = ((usize::from(HEADER) + options.len()) / 4) as u8;
        out.extend_from_slice(&[words << 4 | u8::from(self.accurate), self.flags]);
        out.extend_from_slice(&self.window.to_be_bytes());
        out.extend_from_slice(&[0; 4]); // checksum, filled in by the caller; urgent pointer
        out.extend_from_slice(options);
    }

    /// Options in the order and with the padding of Linux (`tcp_options_write`): the 32-bit fields
    /// come to lie on word boundaries, SACK-permitted takes the place of the padding before the
    /// timestamps, and the whole is always a multiple of four.
    fn options(&self) -> ([u8; MAX_OPTIONS as usize], usize) {
        const NOP: u8 = 1;
        let mut options = Options { bytes: [0; MAX_OPTIONS as usize], len: 0 };
        if let Some(mss) = self.mss {
            let [high, low] = mss.to_be_bytes();
            options.put(&[2, 4, high, low]);
        }
        match (self.sack_permitted, self.timestamps.is_some()) {
            (true, true) => options.put(&[4, 2]),
            (true, false) => options.put(&[NOP, NOP, 4, 2]),
            (false, true) => options.put(&[NOP, NOP]),
            (false, false) => {}
        }
        if let Some((value, echo)) = self.timestamps {
            options.put(&[8, 10]);
            options.put(&value.to_be_bytes());
            options.put(&echo.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            options.put(&[NOP, 3, 3, shift]);
        }
        if let Some(counters) = self.counters {
            options.put(&[ACCURATE_ECN_KINDS[usize::from(counters.low_latency)], 8]);
            options.put(&counters.unmarked.to_be_bytes()[1..]);
            options.put(&counters.marked.to_be_bytes()[1..]);
        }
        match self.ack_ratio {
            Some(AckRatio::Permitted) => options.put(&[NOP, NOP, ACK_RATIO_KIND, 2]),
            Some(AckRatio::Ratio(ratio)) => options.put(&[NOP, ACK_RATIO_KIND, 3, ratio]),
            None => {}
        }
        if let Some(ScpsOption { bytes, length }) = self.scps {
            let length = usize::from(length);
            options.put(&[NOP; 3][..length.next_multiple_of(4) - length]);
            options.put(&bytes[..length]);
        }
        let blocks =
            self.sack.len().min((usize::from(MAX_OPTIONS) - options.len).saturating_sub(4) / 8);
        if blocks > 0 {
            options.put(&[NOP, NOP, 5, 2 + 8 * blocks as u8]);
            for (left, right) in &self.sack[..blocks] {
                options.put(&left.to_be_bytes());
                options.put(&right.to_be_bytes());
            }
        }
        (options.bytes, options.len)
    }
}

/// Options on the stack: a capture writes millions of packets.
struct Options {
    bytes: [u8; MAX_OPTIONS as usize],
    len: usize,
}

impl Options {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use proptest::prelude::*;

    use super::*;
    use crate::checksum::ones_complement_sum;

    fn syn() -> TcpPacket<'static> {
        TcpPacket {
            addresses: Addresses::V4([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
            source_port: 40_000,
            destination_port: 80,
            ttl: 64,
            flags: flags::SYN,
            window: 65_535,
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some((1, 0)),
            ..TcpPacket::default()
        }
    }

    /// Of an IPv4 packet (RFC 9293 section 3.1).
    fn pseudo_header_and_segment(packet: &[u8]) -> Vec<u8> {
        let mut bytes = packet[12..20].to_vec();
        bytes.extend_from_slice(&[0, 6]);
        bytes.extend_from_slice(&((packet.len() - 20) as u16).to_be_bytes());
        bytes.extend_from_slice(&packet[20..]);
        bytes
    }

    /// Of an IPv6 packet (RFC 8200 section 8.1).
    fn pseudo_header_and_segment_of_ipv6(packet: &[u8]) -> Vec<u8> {
        let mut bytes = packet[8..40].to_vec();
        bytes.extend_from_slice(&((packet.len() - 40) as u32).to_be_bytes());
        bytes.extend_from_slice(&[0, 0, 0, 6]);
        bytes.extend_from_slice(&packet[40..]);
        bytes
    }

    #[test]
    fn a_syn_looks_like_that_of_linux() {
        let mut out = Vec::new();
        assert_eq!(syn().write(0, &mut out), 60);
        assert_eq!(out.len(), 60);
        let options = [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
        assert_eq!(out[40..], options);
    }

    #[test]
    fn three_sack_blocks_fit_beside_timestamps_and_four_without() {
        let blocks = [(1, 2), (3, 4), (5, 6), (7, 8), (9, 10)];
        let mut packet = TcpPacket { sack: &blocks, flags: flags::ACK, ..TcpPacket::default() };
        let mut out = Vec::new();
        assert_eq!(packet.write(0, &mut out), 40 + 4 + 4 * 8);
        assert_eq!(out[40..44], [1, 1, 5, 2 + 4 * 8]);
        packet.timestamps = Some((1, 2));
        assert_eq!(packet.write(0, &mut out), 40 + 12 + 4 + 3 * 8);
        assert_eq!(out[52..56], [1, 1, 5, 2 + 3 * 8]);
    }

    /// RFC 9768 sections 3.1 and 3.2.3: AE is the last bit of the byte with the data offset, and
    /// the kind gives the order of the counters.
    #[test]
    fn accurate_ecn_has_a_bit_and_two_counters_of_three_bytes() {
        let counters = EcnCounters { low_latency: false, unmarked: 0x0001_0203, marked: 5 };
        let mut packet =
            TcpPacket { accurate: true, counters: Some(counters), ..TcpPacket::default() };
        let mut out = Vec::new();
        assert_eq!(packet.write(0, &mut out), 48);
        assert_eq!((out[32], &out[40..48]), (7 << 4 | 1, &[172, 8, 1, 2, 3, 0, 0, 5][..]));
        packet.counters = Some(EcnCounters { low_latency: true, ..counters });
        packet.write(0, &mut out);
        assert_eq!(out[40], 174);
        let blocks = [(1, 2); 4];
        assert_eq!(TcpPacket { sack: &blocks, ..packet }.write(0, &mut out), 40 + 8 + 4 + 3 * 8);
    }

    /// RFC 5690 sections 4.1 and 4.2.
    #[test]
    fn ack_congestion_control_has_an_option_of_two_bytes_and_one_of_three() {
        let mut out = Vec::new();
        for (option, bytes) in
            [(AckRatio::Permitted, [1, 1, 253, 2]), (AckRatio::Ratio(22), [1, 253, 3, 22])]
        {
            let packet = TcpPacket { ack_ratio: Some(option), ..TcpPacket::default() };
            assert_eq!(packet.write(0, &mut out), 40 + u32::from(ACK_RATIO));
            assert_eq!(out[40..], bytes);
        }
        let with_all = TcpPacket { ack_ratio: Some(AckRatio::Permitted), ..syn() };
        assert_eq!(with_all.write(0, &mut out), 64);
    }

    #[test]
    fn the_capture_length_cuts_the_packet_but_not_its_length_or_checksum() {
        let packet = TcpPacket { payload_len: 1448, ..syn() };
        let (mut whole, mut cut) = (Vec::new(), Vec::new());
        assert_eq!(packet.write(0, &mut whole), 1508);
        assert_eq!(packet.write(96, &mut cut), 1508);
        assert_eq!(cut.len(), 96);
        assert_eq!(cut, whole[..96]);
        assert_eq!(packet.write(30, &mut cut), 1508);
        assert_eq!(cut, whole[..30]);
    }

    #[test]
    fn a_packet_that_no_ip_length_can_name_has_length_zero_as_on_linux() {
        let mut out = Vec::new();
        let packet = TcpPacket { payload_len: 70_000, ..TcpPacket::default() };
        assert_eq!(packet.write(64, &mut out), 70_040);
        assert_eq!(out[2..4], [0, 0]);
    }

    #[test]
    fn over_ipv6_the_header_is_longer_and_the_segment_the_same_but_for_its_checksum() {
        let [source, destination] = [1, 2].map(|n| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n));
        let ipv6 = TcpPacket {
            addresses: Addresses::V6(source, destination),
            dscp_ecn: 0xb9,
            payload_len: 9,
            ..syn()
        };
        let (mut long, mut short) = (Vec::new(), Vec::new());
        assert_eq!(ipv6.write(0, &mut long), 40 + 40 + 9);
        TcpPacket { addresses: Addresses::default(), ..ipv6 }.write(0, &mut short);
        // Version, traffic class and flow label; payload length; next header, hop limit; addresses.
        assert_eq!(long[..8], [0x6b, 0x90, 0, 0, 0, 49, 6, 64]);
        assert_eq!(long[8..40], [source.octets(), destination.octets()].concat());
        assert_eq!((&long[40..56], &long[58..]), (&short[20..36], &short[38..]));
        assert_eq!(ones_complement_sum(&pseudo_header_and_segment_of_ipv6(&long)), 0xffff);
    }

    #[test]
    fn the_longest_ipv6_packet_has_a_length_and_the_next_has_none() {
        let unspecified = Addresses::V6(Ipv6Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED);
        let mut out = Vec::new();
        for (payload_len, length) in [(65_515, [0xff, 0xff]), (65_516, [0, 0])] {
            let packet = TcpPacket { addresses: unspecified, payload_len, ..TcpPacket::default() };
            assert_eq!(packet.write(64, &mut out), 60 + payload_len);
            assert_eq!(out[4..6], length);
        }
    }

    proptest! {
        #[test]
        fn lengths_agree_and_both_checksums_verify(
            addresses in any::<([u8; 4], [u8; 4])>(),
            ipv6 in any::<([u8; 16], [u8; 16])>(),
            ports in any::<(u16, u16)>(),
            ip in any::<(u16, u8, u8)>(),
            numbers in any::<(u32, u32, u8, u16)>(),
            options in any::<(Option<u16>, Option<u8>, bool, Option<(u32, u32)>)>(),
            sack in prop::collection::vec(any::<(u32, u32)>(), 0..6),
            payload_len in 0_u32..65_000,
            snaplen in 0_usize..2000,
        ) {
            let packet = TcpPacket {
                addresses: Addresses::V4(addresses.0.into(), addresses.1.into()),
                source_port: ports.0,
                destination_port: ports.1,
                identification: ip.0,
                ttl: ip.1,
                dscp_ecn: ip.2,
                sequence: numbers.0,
                acknowledgement: numbers.1,
                flags: numbers.2,
                window: numbers.3,
                mss: options.0,
                window_scale: options.1,
                sack_permitted: options.2,
                timestamps: options.3,
                sack: &sack,
                payload_len,
                ..TcpPacket::default()
            };
            let mut whole = Vec::new();
            let total = packet.write(0, &mut whole);
            let tcp_header = usize::from(whole[32] >> 4) * 4;
            prop_assert_eq!(whole.len(), total as usize);
            prop_assert_eq!(whole.len(), 20 + tcp_header + payload_len as usize);
            prop_assert_eq!(usize::from(u16::from_be_bytes([whole[2], whole[3]])), whole.len());
            prop_assert_eq!(ones_complement_sum(&whole[..20]), 0xffff);
            prop_assert_eq!(ones_complement_sum(&pseudo_header_and_segment(&whole)), 0xffff);

            let mut cut = Vec::new();
            prop_assert_eq!(packet.write(snaplen, &mut cut), total);
            let expected = if snaplen == 0 { whole.len() } else { snaplen.min(whole.len()) };
            prop_assert_eq!(&cut[..], &whole[..expected]);

            let packet =
                TcpPacket { addresses: Addresses::V6(ipv6.0.into(), ipv6.1.into()), ..packet };
            prop_assert_eq!(packet.write(0, &mut whole), total + 20);
            prop_assert_eq!(whole.len(), total as usize + 20);
            let length = usize::from(u16::from_be_bytes([whole[4], whole[5]]));
            prop_assert_eq!(length, whole.len() - 40);
            let summed = pseudo_header_and_segment_of_ipv6(&whole);
            prop_assert_eq!(ones_complement_sum(&summed), 0xffff);
        }
    }
}
