//! Header compression of SCPS-TP (CCSDS 714.0-B-2): headers without what never changes, in absolute
//! values.
//!
//! A compressed TCP header has the number of the connection (1 byte), which fields it has (1 byte,
//! 2 with options other than timestamps), the sequence number if it has data or a FIN (4), the
//! acknowledgement number and the window unless they are those of the segment before (6),
//! timestamps (8), other options with their length, padding to an even length, and the checksum
//! (2). SYN and RST have full headers. The connection is numbered by its SYN.
//!
//! The header of IP stays, because routers need its addresses.
//!
//! Values are absolute, so a lost packet makes no other one undecodable.
//!
//! A segment without an acknowledgement number is restored with its own and not with that of the
//! last segment that has arrived, which may be older.

use link::{Mechanism, Provenance};
use wire::IpVersion;
use wire::tcp::flags;

use super::contexts::Contexts;
use super::{Encoded, Form, KEY, KIND, Shape};

pub(super) const ABOUT: Mechanism = Mechanism {
    name: "scps",
    key: KEY,
    kind: KIND,
    source: "CCSDS 714.0-B-2, Space Communications Protocol Specification: Transport Protocol, with the lengths of its reference implementation",
    status: Provenance::FromImplementation,
    hurts: "It saves about half of what differences save, and nothing of the header of IP.",
};

/// Bytes of timestamps without kind and length.
const TIMESTAMPS: u32 = 8;

/// Parameters of the header compression of SCPS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct ScpsSettings {
    /// Number of connections that are compressed at a time. A further one takes the number of that
    /// which was idle longest.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 254)))]
    pub connections: u8,
}

impl Default for ScpsSettings {
    fn default() -> Self {
        Self { connections: 254 }
    }
}

/// The compressor.
#[derive(Clone, Debug)]
pub(super) struct Scps {
    /// Acknowledgement number and window of the last segment.
    contexts: Contexts<(u32, u16)>,
    ip_header: u32,
}

impl Scps {
    pub fn new(settings: ScpsSettings, ip: IpVersion) -> Self {
        let ip_header = ip.header_bytes().into();
        Self { contexts: Contexts::new(settings.connections), ip_header }
    }

    pub fn encode(&mut self, shape: Shape) -> Encoded {
        let header = &shape.header;
        let reported = (header.acknowledgement, header.window);
        if header.has(flags::SYN) {
            let known = self.contexts.find(&header.endpoints).map(|(context, connection, last)| {
                *last = reported;
                (context, connection)
            });
            let is_known = known.is_some();
            let opened = known.unwrap_or_else(|| self.contexts.open(header.endpoints, reported));
            let ((context, connection), form) = (opened, Form::Full);
            let (number, reach, header) = (0, 0, shape.bytes);
            return Encoded { form, context, connection, number, reach, header, is_known };
        }
        // Only a SYN numbers the connection.
        let found = self.contexts.find(&header.endpoints);
        let Some((context, connection, last)) = found.filter(|_| !header.has(flags::RST)) else {
            return Encoded::plain(shape.bytes);
        };
        let is_data_only = std::mem::replace(last, reported) == reported && header.payload > 0;
        let timestamps = if header.timestamps.is_some() { TIMESTAMPS } else { 0 };
        // Two bytes of padding align the usual option of timestamps, and one or two any other.
        let usual = header.timestamps.map_or(0, |_| u32::from(wire::tcp::TIMESTAMPS));
        let others = shape.options.saturating_sub(usual);
        let has_sequence = header.payload > 0 || header.has(flags::FIN);
        let fields = 2
            + u32::from(has_sequence) * 4
            + u32::from(!is_data_only) * 6
            + timestamps
            + if others > 0 { 2 + others } else { 0 };
        Encoded {
            form: Form::Delta { names_connection: true },
            context,
            connection,
            number: 0,
            // Any packet before, or none.
            reach: u32::MAX,
            header: self.ip_header + fields.next_multiple_of(2) + 2,
            is_known: true,
        }
    }
}
