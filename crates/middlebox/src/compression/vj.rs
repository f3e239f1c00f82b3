//! Van Jacobson's header compression (RFC 1144): each header is sent as differences to that of the
//! packet before it of the same connection.
//!
//! A compressed header has 3 to 16 bytes: the change mask, the number of the connection if it is
//! another one than before, the checksum of TCP, and the changes. A change of 1 to 255 takes one
//! byte, any other up to 65,535 three (section 3.2.2). Data whose sequence number goes on, and an
//! echo of typed characters, take no bytes of changes (section 3.2.2, special cases).
//!
//! A full header is sent if a number goes back (a retransmission), if nothing changes (a duplicate
//! ACK or a window probe), or if anything changes that has no place in the mask: TCP options, thus
//! timestamps and SACK blocks, and the fields of ECN. SYN, FIN and RST pass as they are, and change
//! no context.
//!
//! A lost packet damages the context: all compressed packets behind it are restored wrongly, and
//! their checksums fail, until a full header arrives. There are no duplicate ACKs meanwhile, so
//! that is often the retransmission after an RTO. The decompressor learns from its framing that a
//! packet was lost, and discards all until one names its connection (section 4.1).
//!
//! RFC 1144 is older than ECN. ECE, CWR and AE are treated as fields that have no place in the
//! mask, because a decompressor would restore them from the header before.

use link::{Mechanism, Provenance};
use wire::tcp::flags;

use super::contexts::Contexts;
use super::{Encoded, Form, KEY, KIND, Shape};

pub(super) const ABOUT: Mechanism = Mechanism {
    name: "vj",
    key: KEY,
    kind: KIND,
    source: "Jacobson, Compressing TCP/IP Headers for Low-Speed Serial Links, RFC 1144, 1990",
    status: Provenance::Published,
    hurts: "A lost packet takes all that follow it until a full header arrives, often after an RTO. TCP timestamps that change and SACK blocks are sent with full headers, so little is saved with them.",
};

/// Parameters of Van Jacobson's header compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct VjSettings {
    /// Number of connections that are compressed at a time (RFC 1144 section 5.2: 16).
    #[cfg_attr(feature = "schema", schemars(range(min = 3, max = 254)))]
    pub connections: u8,
}

impl Default for VjSettings {
    fn default() -> Self {
        Self { connections: 16 }
    }
}

/// The last packet of a connection.
#[derive(Clone, Copy, Debug)]
struct Last {
    shape: Shape,
    number: u32,
}

/// The compressor.
#[derive(Clone, Debug)]
pub(super) struct Vj {
    contexts: Contexts<Last>,
    /// The context of the last packet that had one.
    sent: Option<u8>,
}

/// Bytes of a change.
fn change(delta: u32) -> u32 {
    if (1..256).contains(&delta) { 1 } else { 3 }
}

/// Bytes of the changes from one header to the next; `None` if they cannot be expressed.
pub(super) fn changes(last: &Shape, shape: &Shape) -> Option<u32> {
    const IN_MASK: u8 = flags::PSH;
    let (old, new) = (&last.header, &shape.header);
    let is_same = old.flags & !IN_MASK == new.flags & !IN_MASK
        && old.accurate == new.accurate
        && old.timestamps == new.timestamps
        && old.sack == new.sack
        && !(old.has_more || new.has_more)
        && new.flags & flags::URG == 0
        && (last.ecn, last.options) == (shape.ecn, shape.options);
    let acknowledged = new.acknowledgement.wrapping_sub(old.acknowledgement);
    let sent = new.sequence.wrapping_sub(old.sequence);
    if !is_same || acknowledged > 0xffff || sent > 0xffff {
        return None;
    }
    let window = u32::from(new.window.wrapping_sub(old.window));
    match (window, acknowledged, sent) {
        // A retransmitted ACK or a window probe is repeated because the other side may have missed
        // it.
        (0, 0, 0) => (old.payload == 0 && new.payload > 0).then_some(0),
        // Special cases of the mask.
        (0, 0, sent) if sent == old.payload => Some(0),
        (0, acknowledged, sent) if acknowledged == sent && sent == old.payload => Some(0),
        _ => {
            let all = [window, acknowledged, sent];
            Some(all.into_iter().filter(|delta| *delta > 0).map(change).sum())
        }
    }
}

impl Vj {
    pub fn new(settings: VjSettings) -> Self {
        Self { contexts: Contexts::new(settings.connections), sent: None }
    }

    pub fn encode(&mut self, shape: Shape) -> Encoded {
        const USUAL: u8 = flags::SYN | flags::FIN | flags::RST | flags::ACK;
        let header = &shape.header;
        if header.flags & USUAL != flags::ACK {
            return Encoded::plain(shape.bytes);
        }
        let full = |context, connection, number, is_known| Encoded {
            form: Form::Full,
            context,
            connection,
            number,
            reach: 0,
            header: shape.bytes,
            is_known,
        };
        let Some((context, connection, last)) = self.contexts.find(&header.endpoints) else {
            let first = Last { shape, number: 0 };
            let (context, connection) = self.contexts.open(header.endpoints, first);
            self.sent = Some(context);
            return full(context, connection, 0, false);
        };
        let before = std::mem::replace(last, Last { shape, number: last.number.wrapping_add(1) });
        let number = last.number;
        let is_other = self.sent.replace(context) != Some(context);
        let Some(changes) = changes(&before.shape, &shape) else {
            return full(context, connection, number, true);
        };
        // The mask, the connection and the checksum.
        let header = 1 + u32::from(is_other) + 2 + changes;
        let form = Form::Delta { names_connection: is_other };
        Encoded { form, context, connection, number, reach: 1, header, is_known: true }
    }
}
