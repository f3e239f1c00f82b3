//! Packets and chunks (RFC 9260 section 3), without their payload bytes.
//!
//! A packet is a common header of 12 bytes and chunks, each padded to a multiple of 4 bytes. The
//! first chunk is stored in the packet, because most packets have one chunk and then need no memory
//! elsewhere.

use units::Time;

/// Ports, verification tag and checksum (section 3.1).
pub const COMMON_HEADER: u16 = 12;
/// Header of a DATA chunk (section 3.3.1).
pub const DATA_HEADER: u16 = 16;
/// Type, flags and length of a chunk or a parameter.
const CHUNK_HEADER: u16 = 4;
/// Fixed part of INIT and INIT ACK (sections 3.3.2 and 3.3.3).
const INIT: u16 = 20;
/// Fixed part of SACK (section 3.3.4).
pub(crate) const SACK: u16 = 16;
/// Our state cookie, whose layout is left to the implementation (section 5.1.3): a MAC of 20 bytes,
/// creation 8, lifespan 4, tags 8, initial TSNs 8, window 4, streams 4.
const COOKIE: u16 = 56;
/// Our Heartbeat Information parameter (section 3.3.5): header 4, time 8, path 4.
const HEARTBEAT_INFO: u16 = 16;

/// Type of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names of RFC 9260 section 3.2")]
pub enum Kind {
    Data,
    Init,
    InitAck,
    Sack,
    Heartbeat,
    HeartbeatAck,
    Abort,
    Shutdown,
    ShutdownAck,
    Error,
    CookieEcho,
    CookieAck,
    ShutdownComplete,
}

impl Kind {
    /// All types.
    pub const ALL: [Self; 13] = [
        Self::Data,
        Self::Init,
        Self::InitAck,
        Self::Sack,
        Self::Heartbeat,
        Self::HeartbeatAck,
        Self::Abort,
        Self::Shutdown,
        Self::ShutdownAck,
        Self::Error,
        Self::CookieEcho,
        Self::CookieAck,
        Self::ShutdownComplete,
    ];

    /// The number of its type on the wire.
    pub const fn number(self) -> u8 {
        match self {
            Self::Data => 0,
            Self::Init => 1,
            Self::InitAck => 2,
            Self::Sack => 3,
            Self::Heartbeat => 4,
            Self::HeartbeatAck => 5,
            Self::Abort => 6,
            Self::Shutdown => 7,
            Self::ShutdownAck => 8,
            Self::Error => 9,
            Self::CookieEcho => 10,
            Self::CookieAck => 11,
            Self::ShutdownComplete => 14,
        }
    }

    /// The name of RFC 9260.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "DATA",
            Self::Init => "INIT",
            Self::InitAck => "INIT ACK",
            Self::Sack => "SACK",
            Self::Heartbeat => "HEARTBEAT",
            Self::HeartbeatAck => "HEARTBEAT ACK",
            Self::Abort => "ABORT",
            Self::Shutdown => "SHUTDOWN",
            Self::ShutdownAck => "SHUTDOWN ACK",
            Self::Error => "ERROR",
            Self::CookieEcho => "COOKIE ECHO",
            Self::CookieAck => "COOKIE ACK",
            Self::ShutdownComplete => "SHUTDOWN COMPLETE",
        }
    }
}

/// Flags of a DATA chunk (section 3.3.1), with the bits of the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// E: the last fragment of a message.
    pub const END: Self = Self(1);
    /// B: the first fragment of a message.
    pub const BEGIN: Self = Self(2);
    /// U: the message has no place in the order of its stream.
    pub const UNORDERED: Self = Self(4);
    /// I: the sender requests a SACK without delay.
    pub const IMMEDIATE: Self = Self(8);

    /// Adds `other` if it is wanted.
    #[must_use]
    pub const fn with_if(self, wanted: bool, other: Self) -> Self {
        if wanted { Self(self.0 | other.0) } else { self }
    }

    /// Returns true if one of the bits of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The byte of the wire.
    pub const fn byte(self) -> u8 {
        self.0
    }
}

/// A DATA chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// TSN.
    pub tsn: u32,
    /// Payload protocol identifier, which belongs to the application.
    pub ppid: u32,
    /// Stream identifier.
    pub stream: u16,
    /// Stream sequence number (SSN).
    pub ssn: u16,
    /// Bytes of payload.
    pub payload: u16,
    /// Flags.
    pub flags: Flags,
}

/// The addresses that an INIT or INIT ACK lists, with the length of their parameters (section
/// 3.3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// Parameters of 8 bytes.
    V4,
    /// Parameters of 20 bytes.
    V6,
}

/// INIT and INIT ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Init {
    /// Initiate tag.
    pub tag: u32,
    /// Advertised receiver window credit in bytes.
    pub window: u32,
    /// Number of outbound streams.
    pub outbound: u16,
    /// Largest number of inbound streams.
    pub inbound: u16,
    /// Initial TSN.
    pub tsn: u32,
    /// Number of addresses. A single one is that of the IP header and is not listed.
    pub addresses: u8,
    /// Type of the addresses.
    pub address: Address,
}

/// State cookie: what the end that listens must know to open the association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie {
    /// INIT of the other end.
    pub init: Init,
    /// Own tag.
    pub tag: u32,
    /// Time of creation.
    pub created: Time,
}

/// SACK.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    /// Cumulative TSN Ack.
    pub cumulative: u32,
    /// Advertised receiver window credit in bytes.
    pub window: u32,
    /// Gap Ack Blocks: first and last TSN of each as distances from `cumulative`.
    pub gaps: Vec<[u16; 2]>,
    /// TSNs that have arrived more than once.
    pub duplicates: Vec<u32>,
}

/// Heartbeat information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Time of transmission.
    pub sent: Time,
    /// The path that it is for.
    pub path: u8,
}

/// A chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of RFC 9260 section 3.2")]
pub enum Chunk {
    Data(Data),
    Init(Init),
    InitAck(Box<(Init, Cookie)>),
    Sack(Sack),
    Heartbeat(Beat),
    HeartbeatAck(Beat),
    /// With the T bit: the verification tag is that of its receiver's peer.
    Abort {
        reflected: bool,
    },
    /// With the Cumulative TSN Ack.
    Shutdown(u32),
    ShutdownAck,
    /// With the only cause that is used, Stale Cookie.
    Error,
    CookieEcho(Box<Cookie>),
    CookieAck,
    /// With the T bit, like ABORT.
    ShutdownComplete {
        reflected: bool,
    },
}

impl Chunk {
    /// Type of the chunk.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Data(_) => Kind::Data,
            Self::Init(_) => Kind::Init,
            Self::InitAck(_) => Kind::InitAck,
            Self::Sack(_) => Kind::Sack,
            Self::Heartbeat(_) => Kind::Heartbeat,
            Self::HeartbeatAck(_) => Kind::HeartbeatAck,
            Self::Abort { .. } => Kind::Abort,
            Self::Shutdown(_) => Kind::Shutdown,
            Self::ShutdownAck => Kind::ShutdownAck,
            Self::Error => Kind::Error,
            Self::CookieEcho(_) => Kind::CookieEcho,
            Self::CookieAck => Kind::CookieAck,
            Self::ShutdownComplete { .. } => Kind::ShutdownComplete,
        }
    }

    /// Length in bytes, padding included.
    pub fn bytes(&self) -> u16 {
        match self {
            Self::Data(data) => padded_data(data.payload),
            Self::Init(init) => INIT + init.address_bytes(),
            Self::InitAck(both) => INIT + both.0.address_bytes() + CHUNK_HEADER + COOKIE,
            Self::Sack(sack) => sack.bytes(),
            Self::Heartbeat(_) | Self::HeartbeatAck(_) => CHUNK_HEADER + HEARTBEAT_INFO,
            Self::Shutdown(_) => CHUNK_HEADER + 4,
            // The cause has 8 bytes (section 3.3.10.3).
            Self::Error => CHUNK_HEADER + 8,
            Self::CookieEcho(_) => CHUNK_HEADER + COOKIE,
            Self::Abort { .. }
            | Self::ShutdownAck
            | Self::CookieAck
            | Self::ShutdownComplete { .. } => CHUNK_HEADER,
        }
    }
}

/// Length of a DATA chunk with this payload, padding included.
#[inline]
pub(crate) const fn padded_data(payload: u16) -> u16 {
    DATA_HEADER + payload.next_multiple_of(4)
}

impl Init {
    fn address_bytes(&self) -> u16 {
        let each = match self.address {
            Address::V4 => 8,
            Address::V6 => 20,
        };
        if self.addresses > 1 { each * u16::from(self.addresses) } else { 0 }
    }
}

impl Sack {
    /// Number of gap blocks or duplicates that fit `bytes`.
    pub(crate) fn capacity(bytes: u16) -> usize {
        usize::from(bytes.saturating_sub(SACK) / 4)
    }

    #[expect(clippy::cast_possible_truncation, reason = "a SACK fits a packet")]
    pub(crate) fn bytes(&self) -> u16 {
        SACK + 4 * (self.gaps.len() + self.duplicates.len()) as u16
    }
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Verification tag.
    pub tag: u32,
    /// The path that it takes, by its place in the list of paths.
    pub path: u8,
    first: Chunk,
    others: Vec<Chunk>,
}

impl Packet {
    /// A packet with one chunk.
    pub fn new(tag: u32, path: u8, first: Chunk) -> Self {
        Self { tag, path, first, others: Vec::new() }
    }

    /// Adds a chunk behind the others.
    pub fn push(&mut self, chunk: Chunk) {
        self.others.push(chunk);
    }

    /// The chunks in their order.
    pub fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The first chunk.
    pub fn first(&self) -> &Chunk {
        &self.first
    }

    /// The DATA chunks.
    pub fn data(&self) -> impl Iterator<Item = &Data> {
        self.chunks()
            .filter_map(|chunk| if let Chunk::Data(data) = chunk { Some(data) } else { None })
    }

    /// Returns true if a chunk has this type.
    pub fn has(&self, kind: Kind) -> bool {
        self.chunks().any(|chunk| chunk.kind() == kind)
    }

    /// Length in bytes with the common header: what an IP packet carries.
    pub fn bytes(&self) -> u16 {
        COMMON_HEADER + self.chunks().map(Chunk::bytes).sum::<u16>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INIT_OF: Init = Init {
        tag: 1,
        window: 2,
        outbound: 3,
        inbound: 4,
        tsn: 5,
        addresses: 1,
        address: Address::V4,
    };

    fn data(payload: u16) -> Chunk {
        Chunk::Data(Data { payload, ..Data::default() })
    }

    /// Section 3.3, each with the parameters that it has here.
    #[test]
    fn lengths_are_those_of_the_rfc() {
        let cookie = Cookie { init: INIT_OF, tag: 9, created: Time::ZERO };
        let two = Init { addresses: 2, ..INIT_OF };
        let six = Init { address: Address::V6, ..two };
        let beat = Beat { sent: Time::ZERO, path: 0 };
        let sack = Sack { gaps: vec![[2, 3], [5, 5]], duplicates: vec![7], ..Sack::default() };
        for (chunk, bytes) in [
            (data(1452), 1468),
            (data(1), 20),
            (data(5), 24),
            (Chunk::Init(INIT_OF), 20),
            (Chunk::Init(two), 36),
            (Chunk::Init(six), 60),
            (Chunk::InitAck(Box::new((INIT_OF, cookie))), 80),
            (Chunk::Sack(Sack::default()), 16),
            (Chunk::Sack(sack), 28),
            (Chunk::Heartbeat(beat), 20),
            (Chunk::HeartbeatAck(beat), 20),
            (Chunk::Abort { reflected: false }, 4),
            (Chunk::Shutdown(1), 8),
            (Chunk::ShutdownAck, 4),
            (Chunk::Error, 12),
            (Chunk::CookieEcho(Box::new(cookie)), 60),
            (Chunk::CookieAck, 4),
            (Chunk::ShutdownComplete { reflected: true }, 4),
        ] {
            assert_eq!(chunk.bytes(), bytes, "{:?}", chunk.kind());
        }
    }

    #[test]
    fn a_packet_has_its_header_once_and_each_chunk_is_padded() {
        let mut packet = Packet::new(1, 0, Chunk::CookieAck);
        packet.push(data(3));
        packet.push(data(4));
        assert_eq!(packet.bytes(), 12 + 4 + 20 + 20);
        assert_eq!(packet.data().map(|data| data.payload).collect::<Vec<_>>(), [3, 4]);
        assert!(packet.has(Kind::Data) && !packet.has(Kind::Sack));
    }

    #[test]
    fn flags_are_those_of_the_wire() {
        let flags = Flags::default().with_if(true, Flags::BEGIN).with_if(true, Flags::END);
        assert_eq!(flags.byte(), 3);
        assert_eq!((Flags::UNORDERED.byte(), Flags::IMMEDIATE.byte()), (4, 8));
    }
}
