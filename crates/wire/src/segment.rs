//! TCP segments in IP packets of real hosts: parsed for those who look at packets on their way, and
//! pure ACKs made from them.
//!
//! Parsing accepts any bytes. What is no whole TCP segment is `None`; options that make no sense
//! count as other options. Checksums are not verified: a damaged packet is discarded by its host.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::checksum::update;
use crate::ip::{Addresses, IPV4_HEADER, IPV6_HEADER, PROTOCOL_TCP};
use crate::packet::IpPacket;
use crate::tcp::{HEADER, TcpPacket, flags};

/// Most SACK blocks that 40 bytes of options hold (RFC 2018 section 3).
pub const MOST_SACK_BLOCKS: usize = 4;

/// The header of a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpFields {
    /// Source and destination address.
    pub addresses: Addresses,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledgement: u32,
    /// Sum of the [`flags`].
    pub flags: u8,
    /// The four bits between data offset and flags.
    pub reserved: u8,
    /// Window field, not scaled.
    pub window: u16,
    /// Bytes of payload.
    pub payload: u32,
    /// Timestamp value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// Left and right edges of the SACK blocks, the first `sack_blocks` of them.
    pub sack: [(u32, u32); MOST_SACK_BLOCKS],
    /// Number of SACK blocks.
    pub sack_blocks: u8,
    /// Window scale (RFC 7323 section 2), which a SYN may have.
    pub window_scale: Option<u8>,
    /// True if there is any option apart from padding, timestamps and SACK, or one that makes no
    /// sense.
    pub has_other_options: bool,
}

/// The big-endian number of 16 bits at `at`.
fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The big-endian number of 32 bits at `at`.
fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl IpPacket {
    /// Its TCP segment with the addresses; `None` for other protocols, fragments, packets with
    /// extension headers of IPv6, and packets that are shorter than they say.
    pub fn tcp(&self) -> Option<TcpFields> {
        let bytes = self.bytes();
        let (addresses, start, end) = place(bytes)?;
        let segment = bytes.get(start..end)?;
        let header = usize::from(segment.get(12)? >> 4) * 4;
        let options = segment.get(usize::from(HEADER)..header)?;
        let mut fields = TcpFields {
            addresses,
            source_port: word(segment, 0)?,
            destination_port: word(segment, 2)?,
            sequence: long(segment, 4)?,
            acknowledgement: long(segment, 8)?,
            flags: segment[13],
            reserved: segment[12] & 0xf,
            window: word(segment, 14)?,
            payload: u32::try_from(segment.len() - header).ok()?,
            timestamps: None,
            sack: [(0, 0); MOST_SACK_BLOCKS],
            sack_blocks: 0,
            window_scale: None,
            has_other_options: false,
        };
        fields.has_other_options = fields.read_options(options).is_none();
        Some(fields)
    }

    /// The pure ACK of `acknowledgement` that the sender of this TCP segment might have sent:
    /// without payload and SACK blocks. It has `echo` for its timestamp echo reply if both are
    /// there, `window` if it is there, and all else from the segment, also its report of ECN marks:
    /// ECE, or the three bits of accurate ECN (RFC 9768 section 3.2.2).
    pub fn pure_ack(
        &self,
        acknowledgement: u32,
        echo: Option<u32>,
        window: Option<u16>,
    ) -> Option<Self> {
        let fields = self.tcp()?;
        let bytes = self.bytes();
        let (identification, ttl) = match fields.addresses {
            Addresses::V4(..) => (word(bytes, 4)?, bytes[8]),
            Addresses::V6(..) => (0, bytes[7]),
        };
        let is_syn = fields.flags & flags::SYN != 0;
        let past_data = fields.payload + u32::from(is_syn);
        // Those of a SYN set ECN up.
        let report = if is_syn { 0 } else { fields.flags & (flags::ECE | flags::CWR) };
        let packet = TcpPacket {
            addresses: fields.addresses,
            source_port: fields.source_port,
            destination_port: fields.destination_port,
            identification,
            ttl,
            dscp_ecn: 0,
            sequence: fields.sequence.wrapping_add(past_data),
            acknowledgement,
            flags: flags::ACK | report,
            accurate: !is_syn && fields.reserved & 1 != 0,
            window: window.unwrap_or(fields.window),
            timestamps: fields.timestamps.map(|(value, own)| (value, echo.unwrap_or(own))),
            ..TcpPacket::default()
        };
        let mut out = Vec::new();
        packet.write(0, &mut out);
        Self::read(&out)
    }
}

impl IpPacket {
    /// The same packet with this timestamp value, and a checksum that fits it. Without the
    /// timestamps option it is unchanged.
    #[must_use]
    pub fn with_timestamp(&self, value: u32) -> Self {
        let place = self.timestamp_value();
        place.map_or_else(|| self.clone(), |(segment, place)| self.rewritten(segment, place, value))
    }

    /// Where the TCP header starts, and where its timestamp value.
    fn timestamp_value(&self) -> Option<(usize, usize)> {
        const END: u8 = 0;
        const NOP: u8 = 1;
        const TIMESTAMPS: u8 = 8;
        self.tcp()?.timestamps?;
        let bytes = self.bytes();
        let (start, _) = span(bytes)?;
        let mut place = start + usize::from(HEADER);
        loop {
            match *bytes.get(place)? {
                END => return None,
                NOP => place += 1,
                TIMESTAMPS => return Some((start, place + 2)),
                _ => place += usize::from(*bytes.get(place + 1)?).max(2),
            }
        }
    }

    fn rewritten(&self, segment: usize, place: usize, value: u32) -> Self {
        let mut bytes = self.bytes().to_vec();
        let mut checksum = u16::from_be_bytes([bytes[segment + 16], bytes[segment + 17]]);
        // The words of the segment that the value touches: three if it starts in the middle of one.
        let first = place - (place - segment) % 2;
        let words = (first..place + 4).step_by(2);
        let read = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let before: Vec<_> = words.clone().map(|at| read(&bytes, at)).collect();
        bytes[place..place + 4].copy_from_slice(&value.to_be_bytes());
        for (at, before) in words.zip(before) {
            checksum = update(checksum, before, read(&bytes, at));
        }
        bytes[segment + 16..segment + 18].copy_from_slice(&checksum.to_be_bytes());
        Self::read(&bytes).unwrap_or_else(|| self.clone())
    }
}

/// Where the TCP segment of an IP packet starts and ends.
pub(crate) fn span(bytes: &[u8]) -> Option<(usize, usize)> {
    place(bytes).map(|(_, start, end)| (start, end))
}

/// Addresses, and where the segment starts and ends.
fn place(bytes: &[u8]) -> Option<(Addresses, usize, usize)> {
    match bytes.first()? >> 4 {
        4 => ipv4(bytes),
        _ => ipv6(bytes),
    }
}

/// The same of IPv4.
fn ipv4(bytes: &[u8]) -> Option<(Addresses, usize, usize)> {
    let header = usize::from(bytes[0] & 0xf) * 4;
    let length = usize::from(word(bytes, 2)?);
    // More fragments, or a later one.
    let is_fragment = word(bytes, 6)? & 0x3fff != 0;
    let is_tcp = *bytes.get(9)? == PROTOCOL_TCP && !is_fragment;
    let source: [u8; 4] = bytes.get(12..16)?.try_into().ok()?;
    let destination: [u8; 4] = bytes.get(16..20)?.try_into().ok()?;
    let addresses = Addresses::V4(Ipv4Addr::from(source), Ipv4Addr::from(destination));
    let is_whole = header >= usize::from(IPV4_HEADER) && header <= length;
    (is_tcp && is_whole).then_some((addresses, header, length))
}

/// The same of IPv6.
fn ipv6(bytes: &[u8]) -> Option<(Addresses, usize, usize)> {
    let header = usize::from(IPV6_HEADER);
    let length = header + usize::from(word(bytes, 4)?);
    let source: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
    let destination: [u8; 16] = bytes.get(24..40)?.try_into().ok()?;
    let addresses = Addresses::V6(Ipv6Addr::from(source), Ipv6Addr::from(destination));
    (*bytes.get(6)? == PROTOCOL_TCP).then_some((addresses, header, length))
}

impl TcpFields {
    /// The SACK blocks.
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sack_blocks)]
    }

    /// Reads the options. `None` at the first one that is none of the known ones, or has a length
    /// that it cannot have.
    fn read_options(&mut self, mut options: &[u8]) -> Option<()> {
        const END: u8 = 0;
        const NOP: u8 = 1;
        const SACK: u8 = 5;
        const WINDOW_SCALE: u8 = 3;
        const TIMESTAMPS: u8 = 8;
        let mut others = Some(());
        while let Some((&kind, rest)) = options.split_first() {
            if kind == END {
                break;
            }
            if kind == NOP {
                options = rest;
                continue;
            }
            let length = usize::from(*rest.first()?);
            let option = options.get(..length).filter(|_| length >= 2)?;
            match (kind, length) {
                (TIMESTAMPS, 10) => self.timestamps = Some((long(option, 2)?, long(option, 6)?)),
                (SACK, _) if length % 8 == 2 && length <= 2 + 8 * MOST_SACK_BLOCKS => {
                    for (block, edges) in self.sack.iter_mut().zip(option[2..].chunks_exact(8)) {
                        *block = (long(edges, 0)?, long(edges, 4)?);
                    }
                    self.sack_blocks = u8::try_from(length / 8).ok()?;
                }
                (WINDOW_SCALE, 3) => {
                    self.window_scale = Some(option[2]);
                    others = None;
                }
                _ => others = None,
            }
            options = &options[length..];
        }
        others
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn both() -> impl Strategy<Value = Addresses> {
        prop_oneof![
            any::<([u8; 4], [u8; 4])>()
                .prop_map(|(from, to)| Addresses::V4(from.into(), to.into())),
            any::<([u8; 16], [u8; 16])>()
                .prop_map(|(from, to)| Addresses::V6(from.into(), to.into())),
        ]
    }

    fn read(packet: &TcpPacket<'_>) -> IpPacket {
        let mut bytes = Vec::new();
        packet.write(0, &mut bytes);
        IpPacket::read(&bytes).unwrap()
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            addresses in both(),
            ports in any::<(u16, u16)>(),
            numbers in any::<(u32, u32, u8, u16)>(),
            timestamps in any::<Option<(u32, u32)>>(),
            mss in any::<Option<u16>>(),
            window_scale in any::<Option<u8>>(),
            sack in prop::collection::vec(any::<(u32, u32)>(), 0..3),
            payload_len in 0_u32..2000,
        ) {
            let packet = TcpPacket {
                addresses,
                source_port: ports.0,
                destination_port: ports.1,
                sequence: numbers.0,
                acknowledgement: numbers.1,
                flags: numbers.2,
                window: numbers.3,
                mss,
                window_scale,
                timestamps,
                sack: &sack,
                payload_len,
                ..TcpPacket::default()
            };
            let fields = read(&packet).tcp().unwrap();
            prop_assert_eq!(fields.addresses, addresses);
            prop_assert_eq!((fields.source_port, fields.destination_port), ports);
            prop_assert_eq!(
                (fields.sequence, fields.acknowledgement, fields.flags, fields.window), numbers
            );
            prop_assert_eq!(fields.timestamps, timestamps);
            prop_assert_eq!(fields.blocks(), &sack[..]);
            prop_assert_eq!(fields.payload, payload_len);
            prop_assert_eq!(fields.window_scale, window_scale);
            prop_assert_eq!(fields.has_other_options, mss.is_some() || window_scale.is_some());
        }

        #[test]
        fn a_pure_ack_has_the_endpoints_and_the_report_of_marks_and_nothing_of_the_rest(
            addresses in both(),
            numbers in any::<(u32, u32, u16)>(),
            (accurate, marks, syn) in any::<(bool, u8, bool)>(),
            timestamps in any::<Option<(u32, u32)>>(),
            payload_len in 0_u32..2000,
            acknowledgement in any::<u32>(),
            echo in any::<Option<u32>>(),
            window in any::<Option<u16>>(),
        ) {
            let marks = marks & (flags::ECE | flags::CWR);
            let packet = TcpPacket {
                addresses,
                sequence: numbers.0,
                acknowledgement: numbers.1,
                window: numbers.2,
                flags: flags::ACK | flags::PSH | marks | if syn { flags::SYN } else { 0 },
                accurate,
                timestamps,
                sack: &[(7, 9)],
                payload_len,
                ..TcpPacket::default()
            };
            let ack = read(&packet).pure_ack(acknowledgement, echo, window).unwrap().tcp().unwrap();
            prop_assert_eq!(ack.addresses, addresses);
            let past_data = payload_len + u32::from(syn);
            prop_assert_eq!(ack.sequence, numbers.0.wrapping_add(past_data));
            let expected = (acknowledgement, window.unwrap_or(numbers.2));
            prop_assert_eq!((ack.acknowledgement, ack.window), expected);
            let expected = if syn { (flags::ACK, 0) } else { (flags::ACK | marks, accurate.into()) };
            prop_assert_eq!((ack.flags, ack.reserved), expected);
            prop_assert_eq!((ack.payload, ack.sack_blocks), (0, 0));
            let expected = timestamps.map(|(value, own)| (value, echo.unwrap_or(own)));
            prop_assert_eq!(ack.timestamps, expected);
        }

        #[test]
        fn damaged_bytes_are_read_without_panic(
            addresses in both(),
            sack in prop::collection::vec(any::<(u32, u32)>(), 0..4),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..9),
            cut in any::<prop::sample::Index>(),
            noise in prop::collection::vec(any::<u8>(), 0..90),
        ) {
            let timestamps = Some((1, 2));
            let packet = TcpPacket { addresses, sack: &sack, timestamps, payload_len: 9, ..TcpPacket::default() };
            let mut bytes = read(&packet).bytes().to_vec();
            for (place, value) in damage {
                let place = place.index(bytes.len());
                bytes[place] = value;
            }
            bytes.truncate(cut.index(bytes.len()) + 1);
            for bytes in [&bytes[..], &noise[..]] {
                if let Some(packet) = IpPacket::read(bytes) {
                    let fields = packet.tcp();
                    prop_assert_eq!(packet.pure_ack(1, None, None).is_some(), fields.is_some());
                    if let Some(fields) = fields {
                        prop_assert!(fields.blocks().len() <= MOST_SACK_BLOCKS);
                        prop_assert!((fields.payload as usize) < bytes.len());
                    }
                }
            }
        }
    }

    proptest! {
        /// The packet that would have been sent with the other value. Zero and all ones are the
        /// same sum.
        #[test]
        fn a_timestamp_is_rewritten_with_its_checksum(
            addresses in both(), value in 1..u32::MAX, new in 1..u32::MAX, echo: u32, payload_len in 0u32..9,
        ) {
            let packet = |value| TcpPacket {
                addresses,
                timestamps: Some((value, echo)),
                payload_len,
                ..TcpPacket::default()
            };
            let rewritten = read(&packet(value)).with_timestamp(new);
            prop_assert_eq!(rewritten, read(&packet(new)));
            let without = read(&TcpPacket { addresses, payload_len, ..TcpPacket::default() });
            prop_assert_eq!(without.with_timestamp(new), without);
        }
    }

    #[test]
    fn fragments_and_other_protocols_are_no_segments() {
        let packet = read(&TcpPacket { payload_len: 5, ..TcpPacket::default() });
        assert!(packet.tcp().is_some());
        // The fragment offset, the flag for more of them, the protocol, a length above the
        // packet's.
        for (place, value) in [(7, 1), (6, 0x20), (9, 17), (3, 46)] {
            let mut bytes = packet.bytes().to_vec();
            bytes[place] = value;
            assert_eq!(IpPacket::read(&bytes).unwrap().tcp(), None, "byte {place}");
        }
    }
}
