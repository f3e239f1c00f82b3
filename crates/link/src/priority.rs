//! Priority of packets in queues.
//!
//! Decisions:
//! - A packet that is pushed out of a queue gives its time to all behind it: durations are decided
//!   when a packet is accepted; the arrivals of the others move, which costs a walk over the queue
//!   and only happens where low priority meets a full one.

/// Priority of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Best effort, as nearly all are.
    #[default]
    Normal,
    /// Lower effort: it may be dropped before others (RFC 8622).
    Low,
}
