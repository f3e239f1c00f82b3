//! State of loss detection and repair that all recoveries have.

/// State of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery: a loss was found by duplicate ACKs or by SACK.
    FastRecovery,
    /// The retransmission timer expired, or the controller answers a loss as if it had. Everything
    /// outstanding is retransmitted as ACKs allow.
    Timeout,
}

/// The loss that is being found or repaired.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    pub(crate) phase: Phase,
    /// Number behind everything that had been sent when the loss was found: recovery ends there
    /// (`recover` of RFC 6582, RecoveryPoint of RFC 6675).
    pub(crate) recover: u64,
    /// Duplicate ACKs since the last ACK of new data, outside of fast recovery.
    pub(crate) duplicates: u32,
    /// Bytes sent by limited transmit since the last ACK of new data (RFC 3042).
    pub(crate) limited: u64,
    /// Retransmissions that the controller allows until the next ACK.
    pub(crate) quota: u32,
    /// A segment goes before all others: the first unacknowledged one, or a probe.
    pub(crate) resend_head: bool,
    /// Nothing was acknowledged since the fast recovery began.
    pub(crate) first_partial_ack: bool,
}

impl Episode {
    /// Nothing is lost.
    pub(crate) fn new() -> Self {
        Self {
            phase: Phase::Open,
            recover: 0,
            duplicates: 0,
            limited: 0,
            quota: u32::MAX,
            resend_head: false,
            first_partial_ack: false,
        }
    }

    /// `length` bytes of new data leave. Those sent on duplicate ACKs are not part of the flight
    /// size that a loss halves (RFC 5681 section 3.2 step 2).
    #[inline(always)]
    pub(crate) fn count_limited(&mut self, length: u64) {
        if self.duplicates > 0 && self.phase == Phase::Open {
            self.limited += length;
        }
    }

    /// Everything up to `max` is retransmitted as ACKs allow.
    pub(crate) fn begin_timeout(&mut self, max: u64) {
        self.phase = Phase::Timeout;
        self.recover = max;
        self.duplicates = 0;
        self.limited = 0;
        self.resend_head = false;
    }
}

/// The last reduction of the window.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastReduction {
    /// SND.NXT at that time: one reduction answers all marks of a round trip (RFC 3168 section
    /// 6.1.2).
    pub(crate) at: u64,
    /// A mark has caused it.
    pub(crate) by_mark: bool,
    /// The next new data reports it to the receiver (CWR).
    pub(crate) is_unreported: bool,
}

impl LastReduction {
    /// The window is reduced with everything up to `max` sent.
    pub(crate) fn note(&mut self, max: u64) {
        *self = Self { at: max, by_mark: false, is_unreported: true };
    }

    /// Returns true if a mark has reduced the window that is outstanding now, which begins at
    /// `una`.
    pub(crate) fn is_in_window_of_mark(&self, una: u64) -> bool {
        self.by_mark && una < self.at
    }
}
