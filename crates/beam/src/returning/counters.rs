//! Counts of the slots of a return channel.

/// Slots by category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCounters {
    /// Slots of all carriers.
    pub all: u64,
    /// Slots of constant assignment.
    pub constant: u64,
    /// Slots of constant assignment that carried something.
    pub constant_used: u64,
    /// Slots on request, by rate.
    pub rate: u64,
    /// Slots on request by rate that carried something.
    pub rate_used: u64,
    /// Slots on request, by volume.
    pub volume: u64,
    /// Slots on request by volume that carried something.
    pub volume_used: u64,
    /// Slots of free capacity that carried something.
    pub free_used: u64,
    /// Requests.
    pub requests: u64,
    /// Packets at random access, all replicas of one counted once.
    pub random: u64,
    /// Packets at random access that the gateway decoded.
    pub random_decoded: u64,
    /// Times that a terminal gave up.
    pub random_given_up: u64,
}
