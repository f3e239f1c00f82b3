//! Protocol data units (PDUs) of STP, without their payload bytes. Plain data, at most 60 bytes.
//!
//! The names and fields are those of SSCOP (ITU-T Q.2110). The layout on the wire is ours, because
//! that of STP was not found: a PDU directly behind the IP header, numbers of 32 bits, big-endian.
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 3 | source port, destination port |
//! | 4 | type: 1 BGN, 2 BGAK, 3 END, 4 ENDAK, 5 SD, 6 POLL, 7 STAT, 8 USTAT |
//! | 5 | flags: 1 end of stream, 2 poll, 4 abort |
//! | 6 to 7 | checksum of the PDU and the pseudo-header |
//! | from 8 | fields of the type, see below |
//!
//! | type | fields |
//! |---|---|
//! | BGN | N(S) of packet 0, credit in packets, payload |
//! | BGAK | N(S) of packet 0, N(R), N(MR) |
//! | END, ENDAK | N(R) |
//! | SD | N(S), with the flag poll N(PS), payload |
//! | POLL | N(S), N(PS) |
//! | STAT | N(R), N(PS), N(MR), list of numbers |
//! | USTAT | N(R), N(MR), first and end of the gap |

/// Most numbers in the list of a STAT. Longer lists take several PDUs, each of which ends where the
/// next one begins: with the start of a gap, therefore the number is odd. Q.2110 leaves it open,
/// and 67 is usual in ATM. With 19 a simulated PDU fits the place of a TCP segment.
pub const MAX_LIST: usize = 19;

/// Largest distance of a number in a list from N(R), which is also the largest window in packets.
pub const MAX_WINDOW: u64 = u16::MAX as u64;

/// Ports, type, flags and checksum.
const COMMON: u16 = 8;
/// A sequence number.
const NUMBER: u16 = 4;

/// The largest header of a PDU with payload: SD with a poll.
pub const SD_HEADER: u16 = header_of_data(true);

/// A STAT with an empty list.
pub(crate) const STAT: u16 = COMMON + 3 * NUMBER;

/// The header of an SD.
#[inline]
pub(crate) const fn header_of_data(polls: bool) -> u16 {
    COMMON + if polls { 2 * NUMBER } else { NUMBER }
}

/// Type of a PDU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Begin: opens a connection, and may carry data.
    #[default]
    Begin,
    /// Begin acknowledge.
    BeginAck,
    /// End: all data of both directions has arrived, or the connection is aborted.
    End,
    /// End acknowledge.
    EndAck,
    /// Sequenced data.
    Data,
    /// Requests the state of the receiver.
    Poll,
    /// Solicited status: the answer to a POLL.
    Stat,
    /// Unsolicited status: names a gap when it is detected.
    Ustat,
}

impl Kind {
    /// All types.
    pub const ALL: [Self; 8] = [
        Self::Begin,
        Self::BeginAck,
        Self::End,
        Self::EndAck,
        Self::Data,
        Self::Poll,
        Self::Stat,
        Self::Ustat,
    ];

    /// The type of the byte at offset 4 of the layout.
    #[inline]
    pub fn of(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte).wrapping_sub(1)).copied()
    }

    /// The byte at offset 4 of the layout.
    #[inline]
    pub const fn byte(self) -> u8 {
        self as u8 + 1
    }

    /// The name of Q.2110.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Begin => "BGN",
            Self::BeginAck => "BGAK",
            Self::End => "END",
            Self::EndAck => "ENDAK",
            Self::Data => "SD",
            Self::Poll => "POLL",
            Self::Stat => "STAT",
            Self::Ustat => "USTAT",
        }
    }
}

/// Flags of a PDU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// The flags of a byte of the wire; unknown ones are ignored.
    #[inline]
    pub const fn of(byte: u8) -> Self {
        Self(byte & 7)
    }

    /// The byte of the wire.
    #[inline]
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// The stream of the sender ends with this SD.
    pub const END_OF_STREAM: Self = Self(1);
    /// The SD is also a POLL, whose N(S) is the number behind its own.
    pub const POLL: Self = Self(2);
    /// The END takes back what has not arrived.
    pub const ABORT: Self = Self(4);

    /// Adds `other` if it is wanted.
    #[must_use]
    pub const fn with_if(self, wanted: bool, other: Self) -> Self {
        if wanted { Self(self.0 | other.0) } else { self }
    }

    /// Returns true if one of the bits of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A PDU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// N(S) of BGN, BGAK, SD and POLL; N(R) of all others.
    pub number: u32,
    /// N(PS) of POLL, STAT and SD with a poll; N(R) of BGAK.
    pub poll: u32,
    /// N(MR) of BGAK, STAT and USTAT, the number of the first packet that the receiver does not
    /// take. Of BGN the number of packets that it takes.
    pub credit: u32,
    /// The list of STAT and USTAT as distances from N(R): starts of gaps and of received runs,
    /// alternating.
    pub list: [u16; MAX_LIST],
    /// Bytes of payload of BGN and SD.
    pub payload: u16,
    /// Type.
    pub kind: Kind,
    /// Flags.
    pub flags: Flags,
    /// Length of the list.
    pub listed: u8,
}

impl Packet {
    /// The list of STAT and USTAT.
    pub fn list(&self) -> &[u16] {
        &self.list[..usize::from(self.listed)]
    }

    /// Returns true if it is a POLL, alone or on an SD.
    pub fn polls(&self) -> bool {
        self.kind == Kind::Poll || self.flags.contains(Flags::POLL)
    }

    /// Bytes of the header.
    #[inline]
    pub fn header_bytes(&self) -> u16 {
        let numbers = match self.kind {
            Kind::End | Kind::EndAck => 1,
            Kind::Data => 1 + u16::from(self.flags.contains(Flags::POLL)),
            Kind::Begin | Kind::Poll => 2,
            Kind::BeginAck => 3,
            Kind::Stat => 3 + u16::from(self.listed),
            Kind::Ustat => 4,
        };
        COMMON + NUMBER * numbers
    }

    /// Length in bytes, header included: what an IP packet carries of it.
    #[inline]
    pub fn bytes(&self) -> u16 {
        self.header_bytes() + self.payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_no_larger_than_a_segment_of_tcp() {
        assert!(size_of::<Packet>() <= 60, "{}", size_of::<Packet>());
    }

    #[test]
    fn types_and_flags_are_bytes() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of(kind.byte()), Some(kind));
        }
        assert_eq!([0, 9, 255].map(Kind::of), [None; 3]);
        assert_eq!((Kind::Begin.byte(), Kind::Ustat.byte()), (1, 8));
        let flags = Flags::POLL.with_if(true, Flags::ABORT);
        assert_eq!((flags.byte(), Flags::of(0xfe)), (6, flags));
    }

    #[test]
    fn lengths_are_those_of_the_layout() {
        let of = |kind, flags, listed, payload| {
            Packet { kind, flags, listed, payload, ..Packet::default() }.bytes()
        };
        let none = Flags::default();
        assert_eq!(of(Kind::Begin, none, 0, 100), 116);
        assert_eq!(of(Kind::BeginAck, none, 0, 0), 20);
        assert_eq!(of(Kind::End, none, 0, 0), 12);
        assert_eq!(of(Kind::EndAck, none, 0, 0), 12);
        assert_eq!(of(Kind::Data, none, 0, 1460), 1472);
        assert_eq!(of(Kind::Data, Flags::POLL, 0, 1460), 1460 + SD_HEADER);
        assert_eq!(of(Kind::Poll, none, 0, 0), 16);
        assert_eq!(of(Kind::Stat, none, 0, 0), STAT);
        assert_eq!(STAT, 20);
        assert_eq!(of(Kind::Stat, none, MAX_LIST as u8, 0), 96);
        assert_eq!(of(Kind::Ustat, none, 2, 0), 24);
    }
}
