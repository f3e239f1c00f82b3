//! Reasons why a file gives no connections.

use std::fmt;
use std::io;

use thiserror::Error;

/// A file from which no connection can be read. The caller knows its name.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The file cannot be opened or read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file has no bytes.
    #[error("expected a capture in pcapng or pcap, found an empty file")]
    Empty,
    /// The first bytes are those of another format.
    #[error("expected a capture in pcapng or pcap, found {0}")]
    OtherFormat(String),
    /// A compression that is not read.
    #[error(
        "expected a capture in pcapng or pcap, or one compressed with gzip; found one compressed with {name}; \
         decompress it with `{command}`"
    )]
    Compressed {
        /// Name of the compression.
        name: &'static str,
        /// Program that decompresses it.
        command: &'static str,
    },
    /// The file ends, or cannot be read, before its first packet is complete.
    #[error("packet 1: {0}")]
    NoPacket(Damage),
    /// The file has a header and nothing else.
    #[error("expected packets of TCP, found a capture without packets")]
    WithoutPackets,
    /// All packets have a link type that is not read.
    #[error(
        "packet {packet}: expected packets of Ethernet, raw IP, Linux cooked, loopback or PPPoE, found link type \
         {link}{name}"
    )]
    LinkType {
        /// Number of the first of them, from 1.
        packet: u64,
        /// Link type by its number in the registry of tcpdump.org.
        link: i32,
        /// Its name in parentheses, if it is a frequent one.
        name: LinkName,
    },
    /// No packet belongs to a connection of TCP.
    #[error("expected packets of TCP, found {packets} other packets{most}")]
    NoTcp {
        /// Number of packets.
        packets: u64,
        /// The most frequent kind, in parentheses.
        most: String,
    },
}

/// Name of a link type, in parentheses.
#[derive(Clone, Copy, Debug)]
pub struct LinkName(pub i32);

impl fmt::Display for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            9 => "PPP",
            105 => "IEEE 802.11",
            127 => "IEEE 802.11 with radiotap",
            147..=162 => "reserved for private use",
            189 | 220 => "USB",
            195 | 230 => "IEEE 802.15.4",
            201 | 187 => "Bluetooth",
            227 => "CAN",
            _ => return Ok(()),
        };
        write!(f, " ({name})")
    }
}

/// Damage of a file: where it ends or makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The file ends within a packet.
    Cut,
    /// A block or its length makes no sense.
    Invalid,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cut => "expected a whole packet, found the end of the file",
            Self::Invalid => "expected a packet, found a block with an invalid length or header",
        })
    }
}
