//! News of one ACK.

use units::Time;

use crate::flight::Segment;

/// What the ACK that is being processed has brought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// Bytes that have arrived.
    pub(super) delivered: u64,
    /// Some of it was acknowledged selectively.
    pub(super) sacked: bool,
    /// When that segment was sent which was sent first of these, and only once.
    pub(super) sampled: Option<Time>,
    /// Likewise of what was acknowledged cumulatively and not selectively before, if nothing of it
    /// was sent more than once.
    pub(super) acknowledged: Option<Time>,
    /// Data that was sent once, before the timeout, has arrived.
    pub(super) original: bool,
    pub(super) advanced: bool,
    pub(super) lost: bool,
    /// A retransmission was found to be lost.
    pub(super) lost_again: bool,
    /// It reports data that has arrived twice.
    pub(super) reported: bool,
    /// It acknowledges less than an earlier one.
    pub(super) is_old: bool,
    /// When the last doubtful segment will be lost.
    pub(super) doubtful_until: Option<Time>,
    /// The timer restarts although nothing is acknowledged cumulatively.
    pub(super) restarts_timer: bool,
}

impl News {
    pub(super) fn note_sacked(&mut self, segment: &Segment) {
        self.sacked = true;
        if !segment.again {
            let sent = segment.sent_at;
            self.sampled = Some(self.sampled.map_or(sent, |first| first.min(sent)));
        }
    }

    pub(super) fn note_acknowledged(&mut self, segment: &Segment) {
        // Those sent once were sent in their order.
        self.acknowledged = self.acknowledged.or(Some(segment.sent_at));
    }
}
