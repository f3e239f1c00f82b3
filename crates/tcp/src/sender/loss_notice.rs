//! Explicit loss notification: a loss that a gateway takes for an error of a link does not reduce the window.
//!
//! Source: Balakrishnan and others, as in `TcpAgent::tcp_eln` of ns-2.35: the sender retransmits what an ACK with a
//! notice asks for, and leaves cwnd as it is. Of the papers nothing but these rules was read, so the rest is a
//! reconstruction:
//!
//! - The loss is found as without notices, by duplicate ACKs or by time. ns-2 retransmits at the first ACK
//!   with a notice.
//! - The last ACK before it decides. If it has a notice, the controller does not see the loss, and cwnd has the
//!   same value after the recovery.
//! - As many duplicate ACKs without a notice as find a loss, for the same number, show that another loss of this
//!   recovery is no error. Then the window is reduced as by any loss.
//! - Timeouts, and losses that a tail loss probe has repaired, reduce the window: no ACK asks for their data.

use congestion::{Controller, Loss, TcpPolicy};
use units::Time;

use crate::config::Config;

use super::Sender;

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
    /// Duplicate ACKs without a notice, and what they ask for.
    unnoticed: (u64, u32),
}

impl Notices {
    /// An ACK arrives, with a notice or without.
    pub(super) fn on_ack(&mut self, is_noticed: bool) {
        self.is_noticed = is_noticed;
        self.counters.notices += u64::from(is_noticed);
    }
}

impl Sender {
    fn notices(&mut self) -> Option<&mut Notices> {
        self.instruments.as_mut()?.notices.as_mut()
    }

    /// Counts of notices, if the connection takes them.
    pub(crate) fn notice_counters(&self) -> Option<NoticeCounters> {
        Some(self.instruments.as_ref()?.notices.as_ref()?.counters)
    }

    /// A recovery begins. Returns whether it leaves the window as it is.
    pub(super) fn spares_window(&mut self) -> bool {
        let cwnd = self.controller.window().cwnd;
        let Some(notices) = self.notices() else { return false };
        notices.spared = notices.is_noticed.then_some(cwnd);
        notices.counters.spared += u64::from(notices.is_noticed);
        notices.is_noticed
    }

    /// A duplicate ACK in recovery.
    pub(super) fn doubt_notice(&mut self, now: Time, config: &Config) {
        let (una, threshold) =
            (self.stream.una, self.controller.duplicate_threshold(config.dupthresh));
        let Some(notices) = self.notices() else { return };
        if notices.spared.is_none() || notices.is_noticed {
            return;
        }
        let (asked, count) = notices.unnoticed;
        let count = if asked == una { count + 1 } else { 1 };
        notices.unnoticed = (una, count);
        if count >= threshold {
            notices.spared = None;
            notices.counters.withdrawn += 1;
            let loss = Loss { now, flight: self.flight_to_reduce(config), repeated: false };
            let before = self.controller.window().cwnd;
            self.controller.on_loss(&loss);
            self.note_reduction();
            self.stop_jump();
            self.reduce_by_loss(before);
        }
    }

    /// Returns true if the recovery that has begun last leaves the window as it is.
    pub(super) fn is_spared(&mut self) -> bool {
        self.notices().is_some_and(|notices| notices.spared.is_some())
    }

    /// A recovery ends. Returns whether it has left the window as it was, without what duplicate ACKs have
    /// added to it.
    pub(super) fn end_spared_recovery(&mut self) -> bool {
        let uses_sack = self.uses_sack();
        let Some(cwnd) = self.notices().and_then(|notices| notices.spared.take()) else {
            return false;
        };
        if !uses_sack {
            self.controller.window_mut().cwnd = cwnd;
        }
        true
    }
}
