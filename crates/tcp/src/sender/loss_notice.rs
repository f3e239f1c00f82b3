//! Explicit loss notification: a loss that a gateway takes for an error of a link does not reduce
//! the window.
//!
//! Source: Balakrishnan and others, as in `TcpAgent::tcp_eln` of ns-2.35: the sender retransmits
//! what an ACK with a notice asks for, and leaves cwnd as it is. Of the papers nothing but these
//! rules was read, so the rest is a reconstruction:
//!
//! - The loss is found as without notices, by duplicate ACKs or by time. ns-2 retransmits at the
//!   first ACK with a notice.
//! - The last ACK before it decides. If it has a notice, the controller does not see the loss, and
//!   cwnd has the same value after the recovery.
//! - As many duplicate ACKs without a notice as find a loss, for the same number, show that another
//!   loss of this recovery is no error. Then the window is reduced as by any loss.
//! - Timeouts, and losses that a tail loss probe has repaired, reduce the window: no ACK asks for
//!   their data.

/// Counts of notices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoticeCounters {
    /// ACKs with a notice that have arrived.
    pub notices: u64,
    /// Recoveries that began without a reduction of the window.
    pub spared: u64,
    /// Of these, recoveries that have reduced it later, for a loss without a notice.
    pub withdrawn: u64,
}

/// Notices of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Notices {
    counters: NoticeCounters,
    /// The last ACK has one.
    is_noticed: bool,
    /// cwnd at the start of a recovery that does not reduce it.
    spared: Option<u64>,
    /// Number in the latest duplicate ACKs without a notice, and the number of these ACKs.
    unnoticed: (u64, u32),
}

impl Notices {
    /// An ACK arrives, with a notice or without.
    pub(super) fn on_ack(&mut self, is_noticed: bool) {
        self.is_noticed = is_noticed;
        self.counters.notices += u64::from(is_noticed);
    }

    pub(super) fn counters(&self) -> NoticeCounters {
        self.counters
    }

    /// A recovery begins with `cwnd`. Returns true if it leaves the window as it is.
    pub(super) fn begin_recovery(&mut self, cwnd: u64) -> bool {
        self.spared = self.is_noticed.then_some(cwnd);
        self.counters.spared += u64::from(self.is_noticed);
        self.is_noticed
    }

    /// A duplicate ACK of `una` in recovery. Returns true if it is the last of `threshold` without
    /// a notice: another loss is no error, and the window is to be reduced.
    pub(super) fn is_withdrawn(&mut self, una: u64, threshold: u32) -> bool {
        if self.spared.is_none() || self.is_noticed {
            return false;
        }
        let (before, count) = self.unnoticed;
        let count = if before == una { count + 1 } else { 1 };
        self.unnoticed = (una, count);
        let is_withdrawn = count >= threshold;
        if is_withdrawn {
            self.spared = None;
            self.counters.withdrawn += 1;
        }
        is_withdrawn
    }

    /// Returns true if the recovery that has begun last leaves the window as it is.
    pub(super) fn is_spared(&self) -> bool {
        self.spared.is_some()
    }

    /// A recovery ends. Returns cwnd at its start, if it has left the window as it was.
    pub(super) fn end_recovery(&mut self) -> Option<u64> {
        self.spared.take()
    }
}
