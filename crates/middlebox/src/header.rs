//! A packet as middleboxes see it: one small interface.
//!
//! Sequence numbers are compared as RFC 9293 section 3.4 says, modulo 2^32.

use std::net::IpAddr;

use wire::tcp::flags;

/// An address and a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// The IP address as a number. In the simulator, the number of the endpoint.
    pub host: u128,
    /// The port; zero in the simulator.
    pub port: u16,
}

/// Where a segment comes from and where it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoints {
    /// Source.
    pub source: Address,
    /// Destination.
    pub destination: Address,
}

impl Endpoints {
    /// Those of the segments in the other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { source: self.destination, destination: self.source }
    }
}

/// SACK blocks: received data from the first number up to and not including the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); wire::segment::MOST_SACK_BLOCKS],
    number: u8,
}

impl SackBlocks {
    /// The first four of `blocks`; a header has no room for more.
    pub fn new(blocks: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut all = Self::default();
        for (place, block) in all.blocks.iter_mut().zip(blocks) {
            *place = block;
            all.number += 1;
        }
        all
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.number)]
    }
}

/// The header of a TCP segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Addresses and ports.
    pub endpoints: Endpoints,
    /// Sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// Next sequence number expected from the other end.
    pub acknowledgement: u32,
    /// Window field, not scaled.
    pub window: u16,
    /// Sum of the [`flags`].
    pub flags: u8,
    /// AE, the first bit of the marks that accurate ECN counts (RFC 9768 section 3.1).
    pub accurate: bool,
    /// Bytes of payload.
    pub payload: u32,
    /// Timestamp value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// Window scale, which a SYN may have.
    pub window_scale: Option<u8>,
    /// True if it has other reserved bits or other options, whose loss might matter.
    pub has_more: bool,
}

impl Header {
    /// Returns true if one of these flags is set.
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// Returns true if it is an ACK and nothing else: no payload, no SYN, FIN or RST.
    pub fn is_pure_ack(&self) -> bool {
        self.payload == 0
            && self.flags & (flags::ACK | flags::SYN | flags::FIN | flags::RST) == flags::ACK
    }

    /// The sequence number behind its last byte, SYN or FIN.
    pub fn end(&self) -> u32 {
        let syn_and_fin = u32::from(self.has(flags::SYN)) + u32::from(self.has(flags::FIN));
        self.sequence.wrapping_add(self.payload).wrapping_add(syn_and_fin)
    }

    /// Its report of marks: AE, CWR and ECE as one number, which accurate ECN counts in.
    pub fn congestion_flags(&self) -> u8 {
        u8::from(self.accurate) << 2
            | u8::from(self.has(flags::CWR)) << 1
            | u8::from(self.has(flags::ECE))
    }
}

/// Returns true if sequence number `a` is before `b`.
pub fn is_before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) > u32::MAX / 2 + 1
}

/// Returns true if sequence number `a` is after `b`.
pub fn is_after(a: u32, b: u32) -> bool {
    is_before(b, a)
}

/// The later one of a timestamp value and that of a segment.
pub(crate) fn latest(known: Option<u32>, header: &Header) -> Option<u32> {
    let new = header.timestamps.map(|(value, _)| value);
    match (known, new) {
        (Some(known), Some(new)) if is_before(new, known) => Some(known),
        _ => new.or(known),
    }
}

/// The retransmitted copy of a segment, with the sender's latest timestamp value.
pub(crate) fn renewed<P: Visible>(packet: &P, timestamp: Option<u32>) -> P {
    timestamp.map_or_else(|| packet.clone(), |value| packet.with_timestamp(value))
}

/// A packet that middleboxes can look at.
pub trait Visible: Clone {
    /// Its header; `None` if it is no whole TCP segment.
    fn header(&self) -> Option<Header>;

    /// Its length in bytes. Only differences between packets of one connection matter, so the
    /// header of IP may be left out.
    fn bytes(&self) -> u16;

    /// The pure ACK of `acknowledgement` that the sender of this segment might have sent: without
    /// payload and SACK blocks. It has `echo` for its timestamp echo reply if both are there,
    /// `window` for its window field if it is there, and all else from the segment. `None` if it is
    /// no whole TCP segment.
    fn pure_ack(
        &self,
        acknowledgement: u32,
        echo: Option<u32>,
        window: Option<u16>,
    ) -> Option<Self>;

    /// The same segment with this timestamp value, if it has timestamps: an old value would be
    /// discarded by the receiver (PAWS, RFC 7323 section 5).
    #[must_use]
    fn with_timestamp(&self, value: u32) -> Self;

    /// The ICMP message of a router with the address `router` about this packet, which is too long
    /// for a link of `mtu` bytes. `None` about other messages.
    fn too_big(&self, router: IpAddr, mtu: u16) -> Option<Self>;

    /// The same ACK with explicit loss notification: an error has taken the data that it asks for.
    /// Packets without room for it stay as they are.
    #[must_use]
    fn with_loss_notice(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap() {
        assert!(is_before(u32::MAX, 3));
        assert!(!is_before(3, u32::MAX));
        assert!(is_after(3, u32::MAX));
        assert!(!is_before(7, 7) && !is_after(7, 7));
    }

    #[test]
    fn a_header_ends_behind_its_payload_and_flags() {
        let header = Header { sequence: u32::MAX, payload: 3, ..Header::default() };
        assert_eq!(header.end(), 2);
        assert_eq!(Header { flags: flags::FIN | flags::ACK, ..header }.end(), 3);
    }

    #[test]
    fn only_an_ack_without_anything_else_is_pure() {
        let ack = Header { flags: flags::ACK, ..Header::default() };
        assert!(ack.is_pure_ack());
        assert!(Header { flags: flags::ACK | flags::ECE, ..ack }.is_pure_ack());
        assert!(!Header { payload: 1, ..ack }.is_pure_ack());
        for flag in [flags::SYN, flags::FIN, flags::RST] {
            assert!(!Header { flags: flags::ACK | flag, ..ack }.is_pure_ack());
        }
        assert!(!Header::default().is_pure_ack());
    }
}
