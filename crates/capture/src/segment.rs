//! Headers of TCP (RFC 9293 section 3.1) as far as a capture has them.

use std::net::{IpAddr, SocketAddr};

use wire::ip::PROTOCOL_TCP;
use wire::segment::MOST_SACK_BLOCKS;
use wire::tcp::{HEADER, flags};

use crate::file::Packet;
use crate::link::{IpPayload, Other, ip_payload};

/// A segment of TCP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    /// Number of the packet.
    pub number: u64,
    pub at_ns: u64,
    pub interface: u32,
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub identification: Option<u16>,
    pub hops: u8,
    pub sequence: u32,
    pub acknowledgement: u32,
    /// Sum of [`flags`].
    pub flags: u8,
    /// Window field, not scaled.
    pub window: u16,
    pub checksum: u16,
    /// Bytes of data, by the header of IP.
    pub length: u32,
    pub options: Options,
}

impl Segment {
    /// True if one of these flags is set.
    pub fn has(&self, any: u8) -> bool {
        self.flags & any != 0
    }

    /// Numbers of the sequence that the segment takes: its data, SYN and FIN.
    pub fn span(&self) -> u32 {
        self.length + u32::from(self.has(flags::SYN | flags::FIN))
    }
}

/// The options of a segment that are used here (RFC 9293, RFC 7323, RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    pub timestamps: Option<(u32, u32)>,
    pub sack_blocks: usize,
    pub sacks: [(u32, u32); MOST_SACK_BLOCKS],
}

impl Options {
    /// Reads the options; the list ends where they are cut off or make no sense.
    fn read(bytes: &[u8]) -> Self {
        let mut found = Self::default();
        let mut rest = bytes;
        loop {
            let length = match rest {
                [] | [0, ..] | [_] => return found,
                [1, ..] => {
                    rest = &rest[1..];
                    continue;
                }
                [_, length, ..] => usize::from(*length),
            };
            let Some(content) = rest.get(2..length) else { return found };
            match (rest[0], content) {
                (2, [high, low]) => found.mss = Some(u16::from_be_bytes([*high, *low])),
                // RFC 7323 section 2.3: larger shifts count as 14.
                (3, [shift]) => found.window_scale = Some((*shift).min(14)),
                (4, []) => found.sack_permitted = true,
                (5, blocks) => {
                    for (place, block) in blocks.chunks_exact(8).take(MOST_SACK_BLOCKS).enumerate()
                    {
                        found.sacks[place] = (number(block, 0), number(block, 4));
                        found.sack_blocks = place + 1;
                    }
                }
                (8, [_, _, _, _, _, _, _, _]) => {
                    found.timestamps = Some((number(content, 0), number(content, 4)));
                }
                _ => {}
            }
            rest = &rest[length..];
        }
    }

    /// The SACK blocks.
    pub fn sacks(&self) -> &[(u32, u32)] {
        &self.sacks[..self.sack_blocks]
    }
}

/// The segment in a packet, or the reason why there is none. Other protocols of IP are
/// `Ok(Err(protocol))`.
pub(crate) fn segment(packet: &Packet<'_>) -> Result<Result<Segment, u8>, Other> {
    let payload = ip_payload(packet.link, packet.bytes, packet.length)?;
    if payload.protocol != PROTOCOL_TCP {
        return Ok(Err(payload.protocol));
    }
    tcp(packet, &payload).map(Ok).ok_or(Other::Header)
}

fn tcp(packet: &Packet<'_>, ip: &IpPayload<'_>) -> Option<Segment> {
    let bytes = ip.bytes;
    let fixed = bytes.get(..usize::from(HEADER))?;
    let header = usize::from(fixed[12] >> 4) * 4;
    let length = ip.length.checked_sub(u32::try_from(header).ok()?)?;
    if header < usize::from(HEADER) {
        return None;
    }
    let options = &bytes[usize::from(HEADER)..header.min(bytes.len())];
    Some(Segment {
        number: packet.number,
        at_ns: packet.at_ns,
        interface: packet.interface,
        source: address(ip.source, half(fixed, 0)),
        destination: address(ip.destination, half(fixed, 2)),
        identification: ip.identification,
        hops: ip.hops,
        sequence: number(fixed, 4),
        acknowledgement: number(fixed, 8),
        flags: fixed[13],
        window: half(fixed, 14),
        checksum: half(fixed, 16),
        length,
        options: Options::read(options),
    })
}

fn address(ip: IpAddr, port: u16) -> SocketAddr {
    SocketAddr::new(ip, port)
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
