//! Header compression: a compressor at the start of one direction of a link, and a decompressor at
//! its end.
//!
//! The compressor sees packets as they leave the queue, so a packet that the queue drops damages no
//! context. It gives each packet its length on the link and the [`Coded`] part that the
//! decompressor needs. The decompressor decides whether it can restore the header. It has the rules
//! of all schemes: which contexts it knows, and how far a header may be from the last one.
//!
//! Decisions:
//! - Lengths and contexts are modelled, and not the bits. The content of a packet is carried whole,
//!   so both backends use the same model, and a restored packet is the one that was sent.
//! - A packet that cannot be restored is discarded at the end of the link. With VJ, a decompressor
//!   would forward it with a wrong header, and the checksum of TCP would fail at the host.
//! - Only TCP is compressed. Other packets keep their headers.
//! - The identification field of IPv4 increases by one for each packet of a connection, as
//!   Linux counts it.

mod contexts;
mod decompressor;
mod rohc;
mod scps;
mod vj;

use link::{Ecn, Mechanism};
use units::Time;
use wire::IpVersion;

use crate::header::Header;

pub use decompressor::{Decompressor, DecompressorCounters, Restored};
pub use rohc::{RohcSettings, RohcUnidirectionalSettings};
pub use scps::ScpsSettings;
pub use vj::VjSettings;

use rohc::Rohc;
use scps::Scps;
use vj::Vj;

/// The key of scenarios that takes header compression.
const KEY: &str = "link.header_compression";
const KIND: &str = "header compression";

/// A scheme with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(tag = "name", rename_all = "kebab-case"),
    schemars(inline)
)]
pub enum HeaderCompression {
    /// ROHC for TCP/IP with feedback: the decompressor requests a refresh when it has lost its
    /// context.
    Rohc(RohcSettings),
    /// ROHC for TCP/IP without feedback: the compressor refreshes all contexts periodically.
    RohcUnidirectional(RohcUnidirectionalSettings),
    /// Header compression of SCPS-TP: absolute values, so that a lost packet damages no context.
    Scps(ScpsSettings),
    /// Van Jacobson's header compression: differences to the packet before. After a lost packet,
    /// the following ones are lost too, until one with a full header arrives.
    Vj(VjSettings),
}

link::list_of_mechanisms! {
    HeaderCompression {
        Rohc => rohc::ABOUT,
        RohcUnidirectional => rohc::ABOUT_UNIDIRECTIONAL,
        Scps => scps::ABOUT,
        Vj => vj::ABOUT,
    }
}

impl HeaderCompression {
    /// Returns true if it can compress packets of this version of IP.
    pub fn knows(&self, ip: IpVersion) -> bool {
        !matches!((self, ip), (Self::Vj(_), IpVersion::V6))
    }

    /// No header on the link is shorter, in bytes: every scheme keeps TCP's checksum and a byte of
    /// its own.
    pub fn shortest_header(&self) -> u16 {
        3
    }

    /// Bytes of a header on the link, on average over many packets of one connection in one
    /// direction, of which none is lost: `step` is the time between two packets, `payload` their
    /// bytes of payload. Without payload they are ACKs of two segments each. `options` are bytes of
    /// TCP options, which are timestamps if there are any.
    pub fn mean_header(&self, ip: IpVersion, payload: u16, has_timestamps: bool) -> f64 {
        const PACKETS: u32 = 2000;
        let options = if has_timestamps { wire::tcp::TIMESTAMPS } else { 0 };
        let plain = ip.header_bytes() + wire::tcp::HEADER + options;
        let mut compressor = Compressor::new(*self, ip);
        let mut bytes = 0.0;
        for number in 0..PACKETS {
            let header = Header {
                sequence: number * u32::from(payload),
                acknowledgement: if payload > 0 { 1 } else { number * 2920 },
                window: 65_535,
                flags: if number == 0 { wire::tcp::flags::SYN } else { wire::tcp::flags::ACK },
                payload: payload.into(),
                // The clock of timestamps counts milliseconds.
                timestamps: has_timestamps.then_some((10 * number, 10 * number)),
                ..Header::default()
            };
            let now = Time::from_nanos(u64::from(number) * 10_000_000);
            let length = plain + payload;
            let seen = Seen { header: Some(header), bytes: length, ecn: Ecn::NotCapable };
            let (_, sent) = compressor.compress(now, &seen);
            bytes += f64::from(sent) - f64::from(payload);
        }
        bytes / f64::from(PACKETS)
    }
}

/// The schemes, for `bentpipe path`.
pub(crate) fn mechanisms() -> impl Iterator<Item = &'static Mechanism> {
    HeaderCompression::all().into_iter().map(|one| one.about())
}

/// A packet as a compressor sees it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Its header, if it is a whole TCP segment.
    pub header: Option<Header>,
    /// Length of the IP packet in bytes.
    pub bytes: u16,
    /// Its ECN field.
    pub ecn: Ecn,
}

/// The form of a header on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A header as it is, which changes no context.
    Plain,
    /// Everything, so that a context is known afterwards.
    Full,
    /// Everything that may change, for a context whose static part is known.
    Dynamic,
    /// Changes since an earlier packet. Without its connection, it is one of the connection before.
    Delta { names_connection: bool },
}

/// Content of a packet on the link for the decompressor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coded {
    /// Number of the packet among all that the compressor has sent: a gap is a loss.
    order: u32,
    form: Form,
    context: u8,
    /// Number of the connection for which the context is used.
    connection: u32,
    /// Number of the packet in its context.
    number: u32,
    /// Number of packets before it in its context, from any of which the decompressor can restore
    /// it.
    reach: u32,
}

/// A message of the decompressor: it cannot restore packets of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    context: u8,
    connection: u32,
    /// True if nothing of the context is known (STATIC-NACK).
    is_static: bool,
}

impl Feedback {
    /// Length of a packet of feedback in bytes: FEEDBACK-2 with a small context identifier
    /// (RFC 5795 section 5.2.4).
    pub const BYTES: u16 = 4;
}

/// The length and the form of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Encoded {
    form: Form,
    context: u8,
    connection: u32,
    number: u32,
    reach: u32,
    /// Bytes of the header on the link.
    header: u32,
    /// True if the context was known before: a full header is then a refresh.
    is_known: bool,
}

impl Encoded {
    /// A header as it is.
    fn plain(header: u32) -> Self {
        let form = Form::Plain;
        Self { form, context: 0, connection: 0, number: 0, reach: 0, header, is_known: false }
    }
}

/// A TCP segment as a scheme sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    header: Header,
    ecn: Ecn,
    /// Bytes of the headers of IP and TCP, with options.
    bytes: u32,
    /// Bytes of TCP options.
    options: u32,
}

/// Totals of a compressor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompressorCounters {
    /// Packets of all kinds.
    pub packets: u64,
    /// Packets with a shorter header than before.
    pub compressed_packets: u64,
    /// Packets with a full header, or all of it that may change, although their context was known.
    pub refreshes: u64,
    /// Bytes of headers before compression, without packets that are not TCP.
    pub header_bytes: u64,
    /// Bytes of the same headers on the link.
    pub sent_header_bytes: u64,
    /// Messages of the decompressor that have arrived.
    pub arrived_feedback_packets: u64,
}

#[derive(Clone, Debug)]
enum Scheme {
    Rohc(Rohc),
    Scps(Scps),
    Vj(Vj),
}

/// The compressor of one direction of a link.
#[derive(Clone, Debug)]
pub struct Compressor {
    scheme: Scheme,
    ip: IpVersion,
    order: u32,
    counters: CompressorCounters,
}

impl Compressor {
    /// Without any context.
    pub fn new(settings: HeaderCompression, ip: IpVersion) -> Self {
        let scheme = match settings {
            HeaderCompression::Rohc(settings) => Scheme::Rohc(Rohc::with_feedback(settings, ip)),
            HeaderCompression::RohcUnidirectional(settings) => {
                Scheme::Rohc(Rohc::unidirectional(settings, ip))
            }
            HeaderCompression::Scps(settings) => Scheme::Scps(Scps::new(settings, ip)),
            HeaderCompression::Vj(settings) => Scheme::Vj(Vj::new(settings)),
        };
        Self { scheme, ip, order: 0, counters: CompressorCounters::default() }
    }

    /// A packet is sent. Returns its part for the decompressor, and its length on the link.
    pub fn compress(&mut self, now: Time, packet: &Seen) -> (Coded, u16) {
        let encoded = self.encode(now, packet);
        let Encoded { form, context, connection, number, reach, header, is_known } = encoded;
        let bytes = match packet.header {
            Some(segment) => {
                let plain = u32::from(packet.bytes).saturating_sub(segment.payload);
                self.counters.compressed_packets += u64::from(header < plain);
                self.counters.header_bytes += u64::from(plain);
                self.counters.sent_header_bytes += u64::from(header);
                u16::try_from(u32::from(packet.bytes) - plain + header).unwrap_or(u16::MAX)
            }
            None => packet.bytes,
        };
        let is_whole = matches!(form, Form::Full | Form::Dynamic);
        self.counters.refreshes += u64::from(is_known && is_whole);
        self.counters.packets += 1;
        let order = self.order;
        self.order = self.order.wrapping_add(1);
        (Coded { order, form, context, connection, number, reach }, bytes)
    }

    fn encode(&mut self, now: Time, packet: &Seen) -> Encoded {
        let Some(header) = packet.header else { return Encoded::plain(0) };
        let bytes = u32::from(packet.bytes).saturating_sub(header.payload);
        let least = u32::from(self.ip.header_bytes() + wire::tcp::HEADER);
        let shape = Shape { header, ecn: packet.ecn, bytes, options: bytes.saturating_sub(least) };
        match &mut self.scheme {
            Scheme::Rohc(rohc) => rohc.encode(now, shape),
            Scheme::Scps(scps) => scps.encode(shape),
            Scheme::Vj(vj) => vj.encode(shape),
        }
    }

    /// A message of the decompressor arrives.
    pub fn on_feedback(&mut self, feedback: Feedback) {
        self.counters.arrived_feedback_packets += 1;
        if let Scheme::Rohc(rohc) = &mut self.scheme {
            rohc.on_feedback(feedback);
        }
    }

    /// Totals so far.
    pub fn counters(&self) -> CompressorCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests;
