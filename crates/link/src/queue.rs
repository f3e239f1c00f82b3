//! The queue before a transmitter: what may wait, what is dropped, and what is marked.
//!
//! Two kinds. A [`Fifo`] knows at arrival when a packet will leave, so a packet costs one event. A
//! [`Discipline`] decides when the transmitter asks for the next packet, as the algorithms of `aqm`
//! do. The start of a transmission is found when something else happens to the direction, or at the
//! latest before anything can follow from it
//! ([`Direction::service_slack`](crate::Direction::service_slack)).

mod aqm;
mod discipline;
mod drop_tail;
mod fifo;
mod marker;

pub use aqm::Aqm;
pub use aqm::codel::CodelSettings;
pub use aqm::dualpi2::DualPi2Settings;
pub use aqm::fq_codel::FqCodelSettings;
pub use aqm::pie::PieSettings;
pub use aqm::red::RedSettings;
pub use discipline::{AqmCounters, Content, Decisions, Discipline, Queued, Served};
pub use marker::{Marker, Marking};

use sketch::Sketch;
use units::Time;

use crate::shaper::Shaper;

pub(crate) use aqm::{AnyDiscipline, Surroundings};
pub(crate) use discipline::{Next, Scheduled};
pub(crate) use drop_tail::DropTail;
pub(crate) use fifo::Fifo;

/// The limit of a queue, not counting the packet that is being sent; drop-tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Bound in packets.
    Packets(u32),
    /// Bound in bytes, overhead included.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

impl QueueLimit {
    /// Returns true if a packet of `framed` bytes finds no room behind these packets and bytes.
    #[inline]
    pub fn is_full(self, (packets, bytes): (usize, u64), framed: u32) -> bool {
        match self {
            Self::Packets(limit) => packets >= limit as usize,
            Self::Bytes(limit) => bytes + u64::from(framed) > limit,
            Self::Unlimited => false,
        }
    }
}

/// How long packets waited, and how much. Packets that did not wait are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Queueing {
    /// Nanoseconds from the arrival of a packet to the start of its transmission, of packets whose
    /// transmission has started.
    pub delay: Sketch,
    /// Bytes that wait when a packet has joined the queue, overhead and the packet included, and
    /// without the packet being sent. `None` where they follow from delay and rate: in a FIFO whose
    /// rate never changes, the bytes before a packet are those that the link sends in its delay.
    pub bytes: Option<Sketch>,
}

/// How a queue treats packets of low priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case"),
    schemars(inline)
)]
pub enum LowPriority {
    /// The same as all others.
    #[default]
    Ignore,
    /// They give way: a normal packet that finds the queue full replaces the one that came last.
    /// The papers on TCP-Peach require this of routers, as far as secondary descriptions go.
    PushOut,
    /// They enter only while hardly anything waits, at most one packet, or 2000 bytes where the
    /// limit is in bytes: the rule of the queue for TCP-Peach in GTNetS.
    Refuse,
}

impl LowPriority {
    /// Most packets that may wait where a packet of low priority is not refused.
    pub const REFUSES_ABOVE_PACKETS: usize = 1;
    /// Most bytes that may wait where a packet of low priority is not refused.
    pub const REFUSES_ABOVE_BYTES: u64 = 2000;
}

/// The ECN field of a packet (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Its endpoints do not use ECN.
    #[default]
    NotCapable,
    /// Queues may mark it: ECT(0).
    Capable,
    /// Queues may mark it, and its endpoints respond to each mark as scalable congestion control
    /// does: ECT(1) (RFC 9331). No transport of the simulator sends it yet.
    Scalable,
    /// It is marked: CE.
    Marked,
}

impl Ecn {
    /// The field behind a queue that marks.
    #[must_use]
    pub fn marked(self) -> Self {
        if self == Self::NotCapable { self } else { Self::Marked }
    }

    /// Returns true if a queue may mark it rather than drop it.
    #[must_use]
    pub fn is_capable(self) -> bool {
        self != Self::NotCapable
    }
}

/// The queue of a direction.
#[derive(Clone, Debug)]
pub(crate) enum Queue {
    /// A FIFO of a direction that neither marks nor changes. Most are: a kind of its own, so that
    /// their packets cost one comparison.
    Plain(Fifo),
    /// First in, first out, with computed departures.
    Fifo(Fifo),
    /// A discipline that decides at dequeue.
    Scheduled(Box<Scheduled>),
}

impl Queue {
    /// The FIFO of either kind.
    pub fn fifo(&self) -> Option<&Fifo> {
        match self {
            Self::Plain(fifo) | Self::Fifo(fifo) => Some(fifo),
            Self::Scheduled(_) => None,
        }
    }

    /// The shaper behind it.
    pub fn shaper(&self) -> Option<&Shaper> {
        match self {
            Self::Plain(_) | Self::Fifo(_) => None,
            Self::Scheduled(scheduled) => scheduled.shaper.as_deref(),
        }
    }

    /// How long packets waited until `now`, and how much.
    pub fn queueing(&self, now: Time) -> Queueing {
        match self {
            Self::Plain(fifo) | Self::Fifo(fifo) => fifo.queueing(now),
            Self::Scheduled(scheduled) => scheduled.queueing.clone(),
        }
    }

    /// The FIFO of either kind, to change.
    pub fn fifo_mut(&mut self) -> Option<&mut Fifo> {
        match self {
            Self::Plain(fifo) | Self::Fifo(fifo) => Some(fifo),
            Self::Scheduled(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3168 section 5: only packets of endpoints that use ECN are marked.
    #[test]
    fn a_mark_needs_endpoints_that_understand_it() {
        let marked = [Ecn::NotCapable, Ecn::Capable, Ecn::Scalable, Ecn::Marked].map(Ecn::marked);
        assert_eq!(marked, [Ecn::NotCapable, Ecn::Marked, Ecn::Marked, Ecn::Marked]);
    }
}
