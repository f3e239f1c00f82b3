//! Automatic repeat request (ARQ): a link that repeats frames which its channel has corrupted
//! (RFC 3366), so that hosts do not see the loss.
//!
//! Two state machines without I/O. The [`Sender`] numbers the packets that leave the queue and
//! keeps them until the far end has them. The [`Receiver`] finds gaps, answers each frame with a
//! status frame, and passes packets on. The network joins them: it carries the frames over one
//! direction of the link and the status frames over the other, through its queue and its channel.
//!
//! The procedures are those of HDLC (ISO/IEC 13239): go-back-N with REJ, and selective repeat with
//! SREJ. A frame carries its number N(S) modulo 2^`sequence_bits`, and a status frame carries N(R),
//! the number that is expected next.
//!
//! Decisions:
//! - Each transmission, repeats included, also has a number of its own, as the polls of SSCOP have
//!   (ITU-T Q.2110). A status frame names the last transmission that arrived and which of the 63
//!   before it did. A link keeps the order of frames, so the sender knows the fate of each
//!   transmission. In HDLC as ns-2 has it, an SREJ is sent once: if it or the repeat is lost, only
//!   the timer repairs. Here the next status frame asks again.
//! - A frame that has failed once more often than `persistence` is given up: its packet is dropped,
//!   and the number is sent without it, so that the receiver does not wait for it.
//! - The timer is for the last frame before a silence, and for a link that is down. It starts again
//!   with each status frame, and has no back-off.
//! - At most one status frame waits in the queue of the other direction. It waits for the packets
//!   that came before it, is not subject to the limit of the queue, and says what is true when its
//!   transmission starts. Repeats, and packets that a window keeps back, let it pass: otherwise two
//!   directions with ARQ could wait for each other for ever.
//! - Frames wait before the window in the queue of the direction, so its limit and its management
//!   see them. Repeats go before them.

mod receiver;
mod sender;

use units::{Bytes, Span};

use crate::mechanism::{Mechanism, Provenance};
use crate::queue::Ecn;

pub use receiver::{Accepted, Receiver};
pub use sender::Sender;

/// The key of scenarios that takes a procedure.
const KEY: &str = "link.arq";
const KIND: &str = "automatic repeat request";

const GO_BACK_N: Mechanism = Mechanism {
    name: "go-back-n",
    key: KEY,
    kind: KIND,
    source: "ISO/IEC 13239 (HDLC, REJ); persistence: Fairhurst and Wood, RFC 3366, 2002",
    status: Provenance::Reconstructed,
    hurts: "A long link with errors: each loss repeats all frames of a round trip. Persistence that outlasts the RTO: hosts retransmit packets that the link still repeats.",
};

const SELECTIVE_REPEAT: Mechanism = Mechanism {
    name: "selective-repeat",
    key: KEY,
    kind: KIND,
    source: "ISO/IEC 13239 (HDLC, SREJ); ITU-T Q.2110 (numbered transmissions); persistence: Fairhurst and Wood, RFC 3366, 2002",
    status: Provenance::Reconstructed,
    hurts: "Persistence that outlasts the RTO: hosts retransmit packets that the link still repeats. In order, one loss delays all packets behind it; out of order, hosts take the delay for loss.",
};

/// A procedure with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(tag = "name", rename_all = "kebab-case"),
    schemars(inline)
)]
pub enum Arq {
    /// Go-back-N: the receiver discards all frames behind a missing one, and the sender repeats
    /// from it on.
    #[cfg_attr(feature = "schema", serde(rename = "go-back-n"))]
    GoBackN(GoBackNSettings),
    /// Selective repeat: the receiver keeps frames behind a missing one, and the sender repeats
    /// only what is missing.
    SelectiveRepeat(SelectiveRepeatSettings),
}

/// Parameters of go-back-N.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct GoBackNSettings {
    /// Persistence: how often a frame is repeated before its packet is given up (RFC 3366).
    pub persistence: u32,
    /// Frames that may be sent without an answer. Default: as many as `sequence_bits` can number,
    /// 2^bits - 1.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub window: Option<u32>,
    /// Bits of the sequence number. HDLC has 3, 7, 15 and 31.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 31)))]
    pub sequence_bits: u32,
    /// Time without a status frame after which the sender repeats. Default: the delay of both
    /// directions, and the transmission of two frames of 1500 bytes in each of them.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ns")))]
    pub timer: Option<Span>,
    /// Bytes that ARQ adds to each packet, before `overhead`. They can be corrupted. A status frame
    /// has these and 8 more. The default is a flag of 1 byte, 1 of address, 4 of control, 4 for the
    /// number of the transmission, and 4 of frame check sequence.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1B", "x-maximum" = "1KiB")))]
    pub header: Bytes,
}

/// Parameters of selective repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct SelectiveRepeatSettings {
    /// Persistence: how often a frame is repeated before its packet is given up (RFC 3366).
    pub persistence: u32,
    /// Frames that may be sent without an answer. Default: as many as `sequence_bits` can number,
    /// 2^(bits - 1).
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub window: Option<u32>,
    /// Bits of the sequence number. HDLC has 3, 7, 15 and 31.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 31)))]
    pub sequence_bits: u32,
    /// Time without a status frame after which the sender repeats. Default: the delay of both
    /// directions, and the transmission of two frames of 1500 bytes in each of them.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ns")))]
    pub timer: Option<Span>,
    /// Pass packets on in order: one that follows a missing frame waits for it. Without it, packets
    /// leave the link as they arrive.
    pub in_order: bool,
    /// Bytes that ARQ adds to each packet, before `overhead`. They can be corrupted. A status frame
    /// has these and 8 more. The default is a flag of 1 byte, 1 of address, 4 of control, 4 for the
    /// number of the transmission, and 4 of frame check sequence.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1B", "x-maximum" = "1KiB")))]
    pub header: Bytes,
}

/// Our choice: at a PER of 1 %, one packet in 10^8 is given up.
const PERSISTENCE: u32 = 3;
const SEQUENCE_BITS: u32 = 15;
const HEADER: Bytes = Bytes(14);

impl Default for GoBackNSettings {
    fn default() -> Self {
        Self {
            persistence: PERSISTENCE,
            window: None,
            sequence_bits: SEQUENCE_BITS,
            timer: None,
            header: HEADER,
        }
    }
}

impl Default for SelectiveRepeatSettings {
    fn default() -> Self {
        Self {
            persistence: PERSISTENCE,
            window: None,
            sequence_bits: SEQUENCE_BITS,
            timer: None,
            in_order: true,
            header: HEADER,
        }
    }
}

/// How lost frames are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// From the lost frame on.
    GoBackN,
    /// Only the lost frame.
    Selective {
        /// True if packets are passed on in order.
        in_order: bool,
    },
}

/// The settings of a direction with ARQ, with nothing left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArqSettings {
    /// How lost frames are repeated.
    pub repeat: Repeat,
    /// Repeats of a frame before it is given up.
    pub persistence: u32,
    /// Frames that may be sent without an answer.
    pub window: u32,
    /// Bits of the sequence number.
    pub sequence_bits: u32,
    /// Time without a status frame after which the sender repeats.
    pub timer: Span,
    /// Bytes of the header of a frame.
    pub header: u32,
}

crate::list_of_mechanisms! {
    Arq {
        GoBackN => GO_BACK_N,
        SelectiveRepeat => SELECTIVE_REPEAT,
    }
}

impl Arq {
    /// The settings, with `timer` where none is given.
    pub fn settings(&self, timer: Span) -> ArqSettings {
        let (repeat, persistence, window, sequence_bits, own, header) = match *self {
            Self::GoBackN(GoBackNSettings {
                persistence,
                window,
                sequence_bits,
                timer,
                header,
            }) => (Repeat::GoBackN, persistence, window, sequence_bits, timer, header),
            Self::SelectiveRepeat(SelectiveRepeatSettings {
                persistence,
                window,
                sequence_bits,
                timer,
                in_order,
                header,
            }) => {
                let repeat = Repeat::Selective { in_order };
                (repeat, persistence, window, sequence_bits, timer, header)
            }
        };
        ArqSettings {
            repeat,
            persistence,
            window: window.unwrap_or(repeat.largest_window(sequence_bits)),
            sequence_bits,
            timer: own.unwrap_or(timer),
            header: u32::try_from(header.get()).unwrap_or(u32::MAX),
        }
    }
}

impl Repeat {
    /// The largest window that this number of bits can number. With a larger one, the receiver
    /// takes a repeat for a new frame (for example Tanenbaum and Wetherall, Computer Networks,
    /// section 3.4).
    pub fn largest_window(self, sequence_bits: u32) -> u32 {
        match self {
            Self::GoBackN => (1 << sequence_bits) - 1,
            Self::Selective { .. } => 1 << (sequence_bits - 1),
        }
    }
}

impl ArqSettings {
    /// The name of its procedure.
    pub fn name(&self) -> &'static str {
        match self.repeat {
            Repeat::GoBackN => GO_BACK_N.name,
            Repeat::Selective { .. } => SELECTIVE_REPEAT.name,
        }
    }

    /// Probability that a packet is given up when each transmission is lost with probability
    /// `lost`, independently: lost^(persistence + 1).
    pub fn residual_loss(&self, lost: f64) -> f64 {
        libm::pow(lost, f64::from(self.persistence) + 1.0)
    }

    /// Mean number of repeats of a packet: the sum of lost^i for i from 1 to the persistence.
    pub fn mean_repeats(&self, lost: f64) -> f64 {
        if lost >= 1.0 {
            return f64::from(self.persistence);
        }
        lost * (1.0 - libm::pow(lost, f64::from(self.persistence))) / (1.0 - lost)
    }

    /// Mean number of transmissions for a packet. With go-back-N, each repeat sends again all
    /// frames of the `slots` since the lost transmission; with selective repeat, only the lost
    /// frame (Lin, Costello and Miller, "Automatic-repeat-request error-control schemes", IEEE
    /// Communications Magazine 22(12), 1984).
    pub fn transmissions(&self, lost: f64, slots: f64) -> f64 {
        let slots = match self.repeat {
            Repeat::GoBackN => slots.ceil(),
            Repeat::Selective { .. } => 1.0,
        };
        1.0 + slots * self.mean_repeats(lost)
    }

    /// Bytes of a status frame: a header, and which transmissions have arrived.
    pub fn status_bytes(&self) -> u32 {
        self.header + u64::BITS / 8
    }

    /// The number of a frame as it is sent.
    #[expect(clippy::cast_possible_truncation, reason = "at most 31 bits remain")]
    fn number(&self, frame: u64) -> u32 {
        (frame & self.mask()) as u32
    }

    /// By how much `number` is ahead of frame `base`, as far as it can be known.
    fn ahead(&self, number: u32, base: u64) -> u64 {
        u64::from(number).wrapping_sub(base) & self.mask()
    }

    fn mask(&self) -> u64 {
        (1 << self.sequence_bits) - 1
    }
}

/// A frame on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// N(S), modulo 2^bits.
    pub number: u32,
    /// The number of the transmission.
    pub transmission: u64,
    /// Number under which the network holds its packet.
    pub ticket: u32,
    /// ECN field of the packet behind the queue.
    pub ecn: Ecn,
    /// It comes without its packet, which was given up.
    pub is_skip: bool,
}

/// A status frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// N(R): the number that is expected next.
    pub next: u32,
    /// The last transmission that has arrived.
    pub transmission: u64,
    /// Bit n is set if the transmission that was sent n before that one has arrived.
    pub arrived: u64,
    /// It reports a missing frame: REJ or SREJ, and not RR.
    pub is_reject: bool,
}

impl Status {
    /// Returns true if all transmissions have arrived that a status frame before, which knew them
    /// up to `reported`, did not know.
    #[inline]
    pub fn is_clean(&self, reported: Option<u64>) -> bool {
        let first = reported.map_or(0, |reported| reported + 1);
        let new = (self.transmission + 1).saturating_sub(first);
        let is_new = match u64::BITS.checked_sub(u32::try_from(new).unwrap_or(u32::MAX)) {
            Some(known) => u64::MAX.checked_shr(known).unwrap_or(0),
            None => return false,
        };
        self.arrived & is_new == is_new
    }
}

/// Totals of a direction with ARQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArqCounters {
    /// Frames sent for the first time.
    pub frames: u64,
    /// Repeats of frames with their packet.
    pub repeated_frames: u64,
    /// Empty frames that replace given-up packets, their repeats included.
    pub skip_frames: u64,
    /// Frames that the channel corrupted, repeats and empty frames included.
    pub corrupted_frames: u64,
    /// Packets given up.
    pub given_up_packets: u64,
    /// Expiries of the timer.
    pub timeouts: u64,
    /// Status frames sent over the other direction.
    pub status_frames: u64,
    /// Status frames that came back intact.
    pub received_status_frames: u64,
    /// Status frames sent that reported a missing frame.
    pub reject_frames: u64,
    /// Packets that waited at the far end for a missing one.
    pub held_packets: u64,
    /// Frames that the far end discarded: it had them, or did not expect them yet.
    pub discarded_frames: u64,
}

#[cfg(test)]
mod tests;
