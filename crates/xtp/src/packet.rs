//! Packets of XTP 4.0, without their payload bytes.
//!
//! All packets begin with a header of 32 bytes: key (8), command with option bits and type (4),
//! length of the data (4), checksum (2), SORT (2), SYNC (4) and SEQ (8). What follows depends on
//! the type:
//!
//! | type | behind the header |
//! |---|---|
//! | DATA | payload |
//! | CNTL | RSEQ (8), ALLOC (8), ECHO (4) |
//! | ECNTL | the same, NSPAN (4), and two numbers of 8 bytes for each span |
//! | TCNTL | the same as CNTL, 4 reserved bytes, the other end's key (8), traffic specifier (24) |
//! | FIRST | address segment (16 with IPv4, 40 with IPv6), traffic specifier (24), payload |
//!
//! Keys and addresses name the connection, which a [`Packet`] leaves to those who carry it. The
//! length of an address segment with IPv6 is ours: no source gives it.

/// Bytes of the common header.
pub const HEADER: u16 = 32;

/// RSEQ, ALLOC and ECHO.
pub(crate) const CONTROL: u16 = 20;
/// Length, service, format, the largest packet, and rate and burst of both directions.
const TRAFFIC: u16 = 24;
/// Length, domain and format of an address segment, and the ports.
const ADDRESSES: u16 = 8;
/// One span.
const SPAN: u16 = 16;

/// Bytes between the header of a FIRST and its payload, if the header of IP has `ip_header` bytes.
pub(crate) const fn first_segments(ip_header: u16) -> u16 {
    let address = if ip_header > 20 { 16 } else { 4 };
    ADDRESSES + 2 * address + TRAFFIC
}

/// Number of spans that fit a packet with `bytes` behind the header, and at least one.
pub(crate) fn spans_within(bytes: u32) -> usize {
    (bytes.saturating_sub(u32::from(CONTROL) + 4) / u32::from(SPAN)).max(1) as usize
}

/// Type of a packet, with its number on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Data.
    #[default]
    Data = 0,
    /// State of the receiver, or a request without data.
    Cntl = 1,
    /// Opens a connection, and may carry data.
    First = 2,
    /// State of the receiver with spans above gaps.
    Ecntl = 3,
    /// Answer to FIRST: state and traffic specifier.
    Tcntl = 5,
}

impl Kind {
    /// All types.
    pub const ALL: [Self; 5] = [Self::Data, Self::Cntl, Self::First, Self::Ecntl, Self::Tcntl];

    /// The type with this number.
    #[inline]
    pub fn of(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Data),
            1 => Some(Self::Cntl),
            2 => Some(Self::First),
            3 => Some(Self::Ecntl),
            5 => Some(Self::Tcntl),
            _ => None,
        }
    }

    /// The name in XTP.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "DATA",
            Self::Cntl => "CNTL",
            Self::First => "FIRST",
            Self::Ecntl => "ECNTL",
            Self::Tcntl => "TCNTL",
        }
    }

    /// Returns true if it has the state of its sender as a receiver.
    pub const fn is_control(self) -> bool {
        matches!(self, Self::Cntl | Self::Ecntl | Self::Tcntl)
    }
}

/// Option bits of the command: the lower 16 of 24. The others switch off what is always on here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options(u16);

impl Options {
    /// The receiver may report gaps when it detects them.
    pub const FASTNAK: Self = Self(0x8000);
    /// Requests the state of the receiver.
    pub const SREQ: Self = Self(0x4000);
    /// Requests the state of the receiver once everything up to here is delivered.
    pub const DREQ: Self = Self(0x2000);
    /// The stream of the other end has arrived with its end.
    pub const RCLOSE: Self = Self(0x1000);
    /// The own stream ends behind this packet, or at SEQ of a packet without data.
    pub const WCLOSE: Self = Self(0x0800);
    /// The connection is over.
    pub const END: Self = Self(0x0200);

    /// The options of these bits; unknown ones are ignored.
    #[inline]
    pub const fn of(bits: u16) -> Self {
        Self(bits & 0xfa00)
    }

    /// The bits of the wire.
    #[inline]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Adds `other` if it is wanted.
    #[must_use]
    #[inline]
    pub const fn with_if(self, wanted: bool, other: Self) -> Self {
        if wanted { Self(self.0 | other.0) } else { self }
    }

    /// Returns true if one of the bits of `other` is set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Traffic specifier: what an end takes and sends, in bytes per second and bytes. Zero is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Rate that the end takes.
    pub in_rate: u32,
    /// Burst that the end takes.
    pub in_burst: u32,
    /// Rate of the end.
    pub out_rate: u32,
    /// Burst of the end.
    pub out_burst: u32,
}

/// Bytes that have arrived above a gap, from `left` up to and not including `right`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanOfBytes {
    /// First byte.
    pub left: u64,
    /// Byte after the last.
    pub right: u64,
}

/// A packet. Only an ECNTL has memory of its own, for its spans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// SEQ: the first byte of the payload, or the next one of the sender.
    pub seq: u64,
    /// RSEQ of control packets: the next byte in order.
    pub rseq: u64,
    /// ALLOC of control packets: the first byte that the receiver does not take.
    pub alloc: u64,
    /// SYNC: number of the last request.
    pub sync: u32,
    /// ECHO of control packets: number of the last request that has arrived.
    pub echo: u32,
    /// Bytes of payload.
    pub payload: u16,
    /// Option bits.
    pub options: Options,
    /// Type.
    pub kind: Kind,
    /// The header of IP has this many bytes more than that of IPv4. Only the length of FIRST
    /// depends on it.
    pub ip_extra: u8,
    /// The traffic specifier of FIRST and TCNTL.
    pub traffic: Traffic,
    /// The spans of ECNTL in ascending order.
    pub spans: Option<Box<[SpanOfBytes]>>,
}

impl Packet {
    /// The spans of ECNTL.
    pub fn spans(&self) -> &[SpanOfBytes] {
        self.spans.as_deref().unwrap_or_default()
    }

    /// Length in bytes, header included: what an IP packet carries of it.
    #[inline]
    pub fn bytes(&self) -> u16 {
        length(self.kind, self.payload, self.spans().len(), self.ip_extra)
    }
}

/// Length of a packet in bytes, header included.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "spans fit a packet of at most 65535 bytes")]
pub fn length(kind: Kind, payload: u16, spans: usize, ip_extra: u8) -> u16 {
    HEADER
        + payload
        + match kind {
            Kind::Data => 0,
            Kind::Cntl => CONTROL,
            Kind::Ecntl => CONTROL + 4 + SPAN * spans as u16,
            Kind::Tcntl => CONTROL + 12 + TRAFFIC,
            Kind::First => first_segments(20 + ip_extra as u16),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_their_numbers_and_options_their_bits() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of(kind as u8), Some(kind));
        }
        assert_eq!([4, 6, 7, 8, 255].map(Kind::of), [None; 5]);
        let options = Options::SREQ.with_if(true, Options::END).with_if(false, Options::DREQ);
        assert_eq!((options.bits(), Options::of(0x4601)), (0x4200, options));
    }

    #[test]
    fn lengths_are_those_of_xtp() {
        let of = |kind, payload, spans, ip_extra| length(kind, payload, spans, ip_extra);
        assert_eq!(of(Kind::Data, 1000, 0, 0), 1032);
        assert_eq!(of(Kind::Cntl, 0, 0, 0), 52);
        assert_eq!([0, 1, 5].map(|spans| of(Kind::Ecntl, 0, spans, 0)), [56, 72, 136]);
        assert_eq!(of(Kind::Tcntl, 0, 0, 0), 88);
        assert_eq!(of(Kind::First, 100, 0, 0), 172);
        assert_eq!(of(Kind::First, 100, 0, 20), 196);
    }

    #[test]
    fn as_many_spans_are_sent_as_fit_a_full_packet() {
        assert_eq!(spans_within(1460), 89);
        assert_eq!(length(Kind::Ecntl, 0, 89, 0), HEADER + 1448);
        assert_eq!(spans_within(20), 1);
    }
}
