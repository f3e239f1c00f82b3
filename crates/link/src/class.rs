//! What a packet tells the queues on its way.

/// The byte of an IP header that queues may read: DSCP and ECN (RFC 2474 section 3, RFC 3168
/// section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class(pub u8);

impl Class {
    /// Best effort.
    pub const NORMAL: Self = Self(0);
    /// Low priority: the lower-effort DSCP 000001 of RFC 8622.
    pub const LOW: Self = Self(0b00_0001 << 2);

    const DSCP: u8 = 0b1111_1100;

    /// Whether the packet may be dropped before others.
    #[inline]
    pub const fn is_low(self) -> bool {
        self.0 & Self::DSCP == Self::LOW.0
    }
}
