//! Priority of packets in queues.

/// Priority of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Best effort, as nearly all are.
    #[default]
    Normal,
    /// Lower effort: it may be dropped before others (RFC 8622).
    Low,
}
