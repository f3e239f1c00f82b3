//! ROHC for TCP/IP (RFC 6846 on RFC 5795): values are sent with as many low bits as the
//! decompressor needs with any of the last packets as its reference (window-based LSB encoding).
//!
//! The first packets of a connection carry everything (IR). Then only what differs from one of the
//! last `repeats` packets is sent, so up to `repeats - 1` lost packets in a row damage nothing. A
//! checksum over the header protects each packet: a decompressor that has lost its reference
//! notices, and discards the packet.
//!
//! - `rohc` repairs this with feedback. The decompressor sends a NACK over the other direction of
//!   the link, and the compressor sends all that may change (IR-DYN), `repeats` times. For a
//!   context of which nothing is known, it is a STATIC-NACK, and the answer IR. Feedback can be
//!   lost, and is repeated after `nack_interval` if packets still cannot be restored.
//! - `rohc-unidirectional` has no feedback. The compressor sends IR and IR-DYN periodically, each
//!   `repeats` times.
//!
//! Lengths are those of the formats of RFC 6846 section 8: `rnd` formats for IPv6, whose packets
//! have no identification field, and `seq` formats for IPv4. The irregular chain follows: the
//! checksum of TCP, a byte for ECN once a connection uses it, timestamps with their changed low
//! bits, and SACK blocks.
//!
//! Reconstructed: RFC 6846 leaves to implementations when to refresh and when to send feedback.
//! `repeats` and the refresh intervals are those of the ROHC library of Barvaux; the minimum time
//! between NACKs is our choice. Options that are neither timestamps nor SACK blocks are sent in
//! full. Packets that were overtaken cannot be restored: the modelled formats do not tolerate
//! reordering. A wrong header never passes its checksum.

use std::collections::VecDeque;

use link::{Ecn, Mechanism, Provenance};
use units::{Span, Time};
use wire::IpVersion;
use wire::tcp::flags;

use super::contexts::Contexts;
use super::{Encoded, Feedback, Form, KEY, KIND, Shape};

const SOURCE: &str = "Pelletier, Sandlund, Jonsson and West, RObust Header Compression (ROHC): A Profile for TCP/IP, RFC 6846, 2013; constants of the ROHC library 2.x";

pub(super) const ABOUT: Mechanism = Mechanism {
    name: "rohc",
    key: KEY,
    kind: KIND,
    source: SOURCE,
    status: Provenance::Reconstructed,
    hurts: "After `repeats` lost packets in a row, all that follow are lost for a round trip of the link, until feedback has brought a refresh.",
};

pub(super) const ABOUT_UNIDIRECTIONAL: Mechanism = Mechanism {
    name: "rohc-unidirectional",
    key: KEY,
    kind: KIND,
    source: SOURCE,
    status: Provenance::Reconstructed,
    hurts: "After `repeats` lost packets in a row, all that follow are lost until the next refresh. Each refresh takes the rate of a full header.",
};

/// Parameters of ROHC with feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct RohcSettings {
    /// Number of packets that carry each change, and full headers at the start (optimistic
    /// approach, RFC 6846 section 5.2.1). One less may be lost in a row without damage.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 16)))]
    pub repeats: u8,
    /// Number of connections that are compressed at a time. Up to 16 have small identifiers.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 254)))]
    pub connections: u8,
    /// The shortest time between two NACKs of a connection. About the RTT of the link is best.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms", "x-maximum" = "60s")))]
    pub nack_interval: Span,
}

impl Default for RohcSettings {
    fn default() -> Self {
        Self { repeats: 4, connections: 16, nack_interval: Span::from_millis(600) }
    }
}

/// Parameters of ROHC without feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct RohcUnidirectionalSettings {
    /// Number of packets that carry each change, and full headers at the start (optimistic
    /// approach, RFC 6846 section 5.2.1). One less may be lost in a row without damage.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 16)))]
    pub repeats: u8,
    /// Number of connections that are compressed at a time. Up to 16 have small identifiers.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 254)))]
    pub connections: u8,
    /// Packets of a connection between two refreshes with everything (IR).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1_000_000)))]
    pub refresh_packets: u32,
    /// The longest time between two refreshes with everything, if there are packets.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms", "x-maximum" = "1h")))]
    pub refresh_interval: Span,
    /// Packets of a connection between two refreshes with all that may change (IR-DYN).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1_000_000)))]
    pub dynamic_packets: u32,
    /// The longest time between two refreshes with all that may change, if there are packets.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms", "x-maximum" = "1h")))]
    pub dynamic_interval: Span,
}

impl Default for RohcUnidirectionalSettings {
    fn default() -> Self {
        Self {
            repeats: 4,
            connections: 16,
            refresh_packets: 1700,
            refresh_interval: Span::from_secs(1),
            dynamic_packets: 700,
            dynamic_interval: Span::from_millis(500),
        }
    }
}

/// When one kind of refresh is due.
#[derive(Clone, Copy, Debug)]
struct Period {
    packets: u32,
    interval: Span,
}

/// The last refresh of one kind.
#[derive(Clone, Copy, Debug)]
struct Refresh {
    /// Packets that still carry it.
    left: u8,
    at: Time,
    /// Packets since then.
    packets: u32,
}

impl Refresh {
    fn start(&mut self, now: Time, repeats: u8) {
        *self = Self { left: repeats, at: now, packets: 0 };
    }

    fn is_due(&self, now: Time, period: Period) -> bool {
        self.packets >= period.packets || now.since(self.at) >= period.interval
    }

    /// Returns true if the next packet carries it.
    fn take(&mut self) -> bool {
        let takes = self.left > 0;
        self.left -= u8::from(takes);
        takes
    }
}

/// State of a connection at the compressor.
#[derive(Clone, Debug)]
struct Context {
    number: u32,
    /// The packets that the decompressor may have as its reference, the last one at the end.
    references: VecDeque<Shape>,
    /// Refreshes with everything, and with all that may change.
    full: Refresh,
    dynamic: Refresh,
    has_ecn: bool,
}

/// The compressor.
#[derive(Clone, Debug)]
pub(super) struct Rohc {
    contexts: Contexts<Context>,
    repeats: u8,
    /// Periods of both refreshes; none with feedback.
    periods: Option<(Period, Period)>,
    has_small_identifiers: bool,
    ip: IpVersion,
}

impl Rohc {
    pub fn with_feedback(settings: RohcSettings, ip: IpVersion) -> Self {
        let RohcSettings { repeats, connections, nack_interval: _ } = settings;
        Self::new(repeats, connections, None, ip)
    }

    pub fn unidirectional(settings: RohcUnidirectionalSettings, ip: IpVersion) -> Self {
        let RohcUnidirectionalSettings {
            repeats,
            connections,
            refresh_packets,
            refresh_interval,
            dynamic_packets,
            dynamic_interval,
        } = settings;
        let full = Period { packets: refresh_packets, interval: refresh_interval };
        let dynamic = Period { packets: dynamic_packets, interval: dynamic_interval };
        Self::new(repeats, connections, Some((full, dynamic)), ip)
    }

    fn new(repeats: u8, connections: u8, periods: Option<(Period, Period)>, ip: IpVersion) -> Self {
        /// RFC 5795 section 5.2.2: identifiers of 4 bits, the first of which takes no byte.
        const SMALL: u8 = 16;
        let has_small_identifiers = connections <= SMALL;
        Self { contexts: Contexts::new(connections), repeats, periods, has_small_identifiers, ip }
    }

    pub fn encode(&mut self, now: Time, shape: Shape) -> Encoded {
        let (repeats, ip) = (self.repeats, self.ip);
        let endpoints = shape.header.endpoints;
        let is_known = self.contexts.find(&endpoints).is_some();
        if !is_known {
            let refresh = Refresh { left: 0, at: now, packets: 0 };
            let mut context = Context {
                number: 0,
                references: VecDeque::new(),
                full: refresh,
                dynamic: refresh,
                has_ecn: false,
            };
            context.full.start(now, repeats);
            self.contexts.open(endpoints, context);
        }
        let Some((place, connection, context)) = self.contexts.find(&endpoints) else {
            return Encoded::plain(shape.bytes);
        };
        let identifier = match (self.has_small_identifiers, place) {
            (true, 0) => 0,
            (false, 128..) => 2,
            _ => 1,
        };
        if let Some((full, dynamic)) = self.periods {
            if context.full.is_due(now, full) {
                context.full.start(now, repeats);
                // It contains the other.
                context.dynamic.start(now, 0);
            } else if context.dynamic.is_due(now, dynamic) {
                context.dynamic.start(now, repeats);
            }
        }
        let uses_ecn = shape.ecn != Ecn::NotCapable || shape.header.congestion_flags() != 0;
        context.has_ecn |= uses_ecn;
        let is_first = context.number < u32::from(repeats);
        let (form, header) = if context.full.take() {
            (Form::Full, full_bytes(ip, &shape))
        } else if context.dynamic.take() {
            (Form::Dynamic, dynamic_bytes(ip, &shape))
        } else {
            let bytes = delta_bytes(ip, &context.references, &shape, context.has_ecn);
            (Form::Delta { names_connection: true }, bytes)
        };
        let reach = u32::try_from(context.references.len()).unwrap_or(0);
        let number = context.number;
        context.number = context.number.wrapping_add(1);
        context.full.packets += 1;
        context.dynamic.packets += 1;
        if context.references.len() == usize::from(repeats) {
            context.references.pop_front();
        }
        context.references.push_back(shape);
        Encoded {
            form,
            context: place,
            connection,
            number,
            reach,
            header: header + identifier,
            is_known: is_known && !is_first,
        }
    }

    pub fn on_feedback(&mut self, feedback: Feedback) {
        let Feedback { context, connection, is_static } = feedback;
        let Some(context) = self.contexts.of_connection(context, connection) else { return };
        let refresh = if is_static { &mut context.full } else { &mut context.dynamic };
        refresh.left = self.repeats;
    }
}

/// Type of packet, profile and checksum of IR and IR-DYN (RFC 5795 section 5.2.2).
const START: u32 = 3;
/// The parts of TCP: ports, and then what may change without options (RFC 6846 section 7).
const TCP_STATIC: u32 = 4;
const TCP_DYNAMIC: u32 = 17;

/// The parts of IP that never change and that may: version, protocol and addresses, with the flow
/// label of IPv6; and traffic class, time to live and the identification of IPv4.
fn ip_bytes(ip: IpVersion) -> (u32, u32) {
    match ip {
        IpVersion::V4 => (10, 5),
        IpVersion::V6 => (36, 2),
    }
}

/// Bytes of an IR packet.
fn full_bytes(ip: IpVersion, shape: &Shape) -> u32 {
    ip_bytes(ip).0 + TCP_STATIC + dynamic_bytes(ip, shape)
}

/// Bytes of an IR-DYN packet.
fn dynamic_bytes(ip: IpVersion, shape: &Shape) -> u32 {
    START + ip_bytes(ip).1 + TCP_DYNAMIC + shape.options
}

/// The distance between two numbers, in either direction.
fn distance(a: u32, b: u32) -> u32 {
    a.wrapping_sub(b).min(b.wrapping_sub(a))
}

/// Differences from one of the references.
#[derive(Clone, Copy, Debug, Default)]
struct Differences {
    sequence: bool,
    acknowledgement: bool,
    window: bool,
    /// Which options there are, and flags that not all formats have.
    shape: bool,
    /// A sequence or acknowledgement number is further away than 15 bits can express.
    is_far: bool,
}

/// Bytes of a compressed packet (CO).
fn delta_bytes(ip: IpVersion, references: &VecDeque<Shape>, shape: &Shape, has_ecn: bool) -> u32 {
    let header = &shape.header;
    let any = |differs: &dyn Fn(&Shape) -> bool| references.iter().any(differs);
    // Low bits of 16, of which half are for the future (RFC 6846 section 8.3).
    let is_far = |a: u32, b: u32| distance(a, b) >= 1 << 15;
    let differences = Differences {
        sequence: any(&|one| one.header.sequence != header.sequence),
        acknowledgement: any(&|one| one.header.acknowledgement != header.acknowledgement),
        window: any(&|one| one.header.window != header.window),
        shape: any(&|one| structure(one) != structure(shape)) || header.has_more,
        is_far: any(&|one| {
            is_far(one.header.sequence, header.sequence)
                || is_far(one.header.acknowledgement, header.acknowledgement)
        }),
    };
    format_bytes(ip, references, shape, differences) + irregular_bytes(references, shape, has_ecn)
}

/// Which options a packet has, and its flags but PSH.
fn structure(shape: &Shape) -> (bool, bool, u8) {
    let header = &shape.header;
    let flags = header.flags & (flags::SYN | flags::FIN | flags::RST | flags::ACK | flags::URG);
    (header.timestamps.is_some(), !header.sack.as_slice().is_empty(), flags)
}

/// Bytes of the format with checksum, flags and changed fields.
fn format_bytes(
    ip: IpVersion,
    references: &VecDeque<Shape>,
    shape: &Shape,
    differences: Differences,
) -> u32 {
    let Differences { sequence, acknowledgement, window, shape: has_new_shape, is_far } =
        differences;
    let number = if is_far { 4 } else { 2 };
    let is_v4 = ip == IpVersion::V4;
    // `co_common` has all fields, each if it is needed.
    let common = 5
        + u32::from(sequence) * number
        + u32::from(acknowledgement) * number
        + u32::from(window) * 2;
    if has_new_shape {
        // The list of options, with those of unknown kinds in full.
        let others = if shape.header.has_more { shape.options } else { 0 };
        let list = 2 + others;
        // `seq_8` or `rnd_8`, unless a field has no place in them.
        return if is_far || window { common + list } else { 7 + list };
    }
    let is_steady = has_steady_payload(references, shape);
    match (sequence, acknowledgement, window) {
        _ if is_far => common,
        (true, _, true) => common,
        (false, _, true) => 6,
        (false, false, false) => 2,
        (true, false, false) if is_steady => {
            if is_v4 {
                3
            } else {
                2
            }
        }
        (true, false, false) => 4,
        (false, true, false) if has_steady_acks(references, shape) => 2,
        (false, true, false) => {
            if is_v4 {
                4
            } else {
                3
            }
        }
        (true, true, false) if is_steady => {
            if is_v4 {
                5
            } else {
                4
            }
        }
        (true, true, false) => {
            if is_v4 {
                6
            } else {
                5
            }
        }
    }
}

/// Scaled numbers have 4 bits.
const SCALED: u32 = 16;

/// Returns true if the sequence number can be sent as a multiple of the payload.
fn has_steady_payload(references: &VecDeque<Shape>, shape: &Shape) -> bool {
    let payload = shape.header.payload;
    payload > 0
        && references.iter().all(|one| {
            let sent = shape.header.sequence.wrapping_sub(one.header.sequence);
            one.header.payload == payload && sent.is_multiple_of(payload) && sent / payload < SCALED
        })
}

/// Returns true if the acknowledgement number can be sent as a multiple of its usual step.
fn has_steady_acks(references: &VecDeque<Shape>, shape: &Shape) -> bool {
    let Some(last) = references.back() else { return false };
    let number = shape.header.acknowledgement;
    let step = number.wrapping_sub(last.header.acknowledgement);
    step > 0
        && references.iter().all(|one| {
            let acknowledged = number.wrapping_sub(one.header.acknowledgement);
            acknowledged.is_multiple_of(step) && acknowledged / step < SCALED
        })
}

/// Bytes of what has no place in a format: the checksum of TCP, ECN, timestamps and SACK blocks.
fn irregular_bytes(references: &VecDeque<Shape>, shape: &Shape, has_ecn: bool) -> u32 {
    const CHECKSUM: u32 = 2;
    let header = &shape.header;
    let farthest = |distances: &dyn Fn((u32, u32)) -> u32| {
        references.iter().filter_map(|one| one.header.timestamps).map(distances).max()
    };
    let timestamps = header.timestamps.map_or(0, |(value, echo)| {
        low_bits(farthest(&|(old, _)| distance(value, old)))
            + low_bits(farthest(&|(_, old)| distance(echo, old)))
    });
    let blocks = header.sack.as_slice();
    let sack = if blocks.is_empty() {
        0
    } else if references.iter().all(|one| one.header.sack == header.sack) {
        1
    } else {
        let edge = |from: u32, to: u32| match distance(from, to) {
            0..0x8000 => 2,
            0x8000..0x40_0000 => 3,
            _ => 4,
        };
        let block =
            |&(start, end): &(u32, u32)| edge(header.acknowledgement, start) + edge(start, end);
        1 + blocks.iter().map(block).sum::<u32>()
    };
    CHECKSUM + u32::from(has_ecn) + timestamps + sack
}

/// Bytes of a timestamp: 7 low bits in one byte, 14 in two, 21 in three, 29 in four. A quarter of
/// them is for the past.
fn low_bits(distance: Option<u32>) -> u32 {
    match distance.map(|distance| distance.saturating_add(distance / 3)) {
        Some(0..0x80) => 1,
        Some(0x80..0x4000) => 2,
        Some(0x4000..0x20_0000) => 3,
        _ => 4,
    }
}
