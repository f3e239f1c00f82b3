//! When data is acknowledged: at once or later (RFC 5681 section 4.2). `quick` has the timing of
//! Linux.

use units::{Span, Time};

use crate::config::{AckTiming, Config, Recovery};

use super::Receiver;
use super::quick::{Path, QUICK_AFTER_MARK};

/// A segment of data that has been taken in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    /// Bytes of data.
    pub(crate) length: u64,
    /// It has PSH.
    pub(crate) push: bool,
    /// It continues what has arrived in order.
    pub(crate) in_order: bool,
    /// The window may grow because of it.
    pub(crate) may_grow: bool,
}

impl Receiver {
    /// A probe brought data. Its answer tells so, and all that is due besides stays due: the answer
    /// is of low priority and may not arrive.
    pub(crate) fn on_probe_data(&mut self, now: Time, config: &Config, start: u64, length: u64) {
        let due = self.ack_due();
        self.on_data(now, config, start, length, false);
        self.keep_ack_due(due);
    }

    /// The ACK that is due: at once or when, and for how many bytes.
    pub(crate) fn ack_due(&self) -> (bool, Time, u64) {
        (self.ack_now, self.ack_at, self.unacknowledged)
    }

    /// An ACK waits for more data.
    pub(crate) fn has_delayed_ack(&self) -> bool {
        self.ack_at != Time::NEVER
    }

    /// Whatever was acknowledged meanwhile, the same ACK is still due.
    pub(crate) fn keep_ack_due(&mut self, due: (bool, Time, u64)) {
        (self.ack_now, self.ack_at, self.unacknowledged) = due;
    }

    /// Data arrived in order: an ACK is due now or later.
    #[inline]
    pub(super) fn count_for_ack(&mut self, now: Time, config: &Config, length: u64) {
        if length > self.full {
            self.note_full_segment(config, length);
        }
        self.unacknowledged += length;
        if self.unacknowledged >= self.ack_at_once {
            self.ack_now = true;
        } else if self.ack_at == Time::NEVER {
            self.ack_at = now + self.ack_delay;
        }
    }

    #[cold]
    fn note_full_segment(&mut self, config: &Config, length: u64) {
        self.full = self.full.max(length.min(self.mss));
        self.ack_at_once = bytes_of_an_ack(config, self.ack_ratio, self.full);
    }

    /// The other end asks for an ACK of this many full-sized segments (RFC 5690 section 4.3).
    pub(crate) fn set_ack_ratio(&mut self, config: &Config, ratio: u8) {
        self.ack_ratio = Some(ratio);
        self.ack_at_once = bytes_of_an_ack(config, self.ack_ratio, self.full);
        self.ack_now |= self.unacknowledged >= self.ack_at_once;
    }

    /// Returns true if data is to be looked at once it is taken in: by [`tune`](Self::tune), where
    /// [`times_acks`](Self::times_acks) by [`time_ack`](Self::time_ack), and where
    /// [`holds_acks`](Self::holds_acks) by [`hold_back`](Self::hold_back).
    #[inline]
    pub(crate) fn looks_at_segments(&self) -> bool {
        self.looks_at_segments
    }

    /// Returns true if each ACK that leaves is looked at.
    #[inline]
    pub(crate) fn looks_at_acks(&self) -> bool {
        self.looks_at_acks
    }

    /// Returns true if [`time_ack`](Self::time_ack) is to be called for data.
    pub(crate) fn times_acks(&self) -> bool {
        self.timing.is_some()
    }

    /// Returns true if [`hold_back`](Self::hold_back) is to be called for data.
    pub(crate) fn holds_acks(&self) -> bool {
        self.held.is_some()
    }

    /// A segment has been taken in. Decides when it is acknowledged, where Linux does not do so
    /// after a fixed time.
    #[inline(never)]
    pub(crate) fn time_ack(&mut self, now: Time, config: &Config, path: Path, arrived: Arrived) {
        let Arrived { length, push, in_order, may_grow } = arrived;
        let (window, timer) = (self.last_window(), self.ack_at);
        let Some(timing) = &mut self.timing else { return };
        if in_order {
            self.full = timing.measure(length, self.full, push);
            timing.on_data(now, path.rto, window, self.full);
        }
        if may_grow {
            timing.tell_of_growth();
        }
        if !in_order {
            return;
        }
        let delay = timing.delay(path);
        // A timer that is about to expire counts as expired, and no timer is put off.
        let expires = timer <= now + Span::from_nanos(delay.as_nanos() / 4);
        let by_reading = config.reads_at_once && timing.reading_acknowledges();
        self.ack_now |= timing.is_quick() || expires || by_reading;
        self.ack_at = timer.min(now + delay);
        if !self.ack_now && self.unacknowledged > self.full {
            // Where no application reads, the ACK of two segments would take window back.
            self.ack_now = self.offered_edge(config).saturating_sub(self.next) >= window;
        }
    }

    /// The sender may depend on the next `most` ACKs, which Linux therefore sends at once.
    pub(crate) fn hurry_acks(&mut self, most: u32) {
        let (window, full) = (self.last_window(), self.full);
        if let Some(timing) = &mut self.timing {
            timing.hurry(most, window, full);
        }
    }

    /// Data arrived that routers may have marked or not.
    pub(crate) fn note_markable(&mut self, markable: bool) {
        if self.timing.as_mut().is_some_and(|timing| timing.hurries_after(markable)) {
            self.hurry_acks(QUICK_AFTER_MARK);
        }
    }

    /// Data is about to be sent, which carries an ACK.
    #[inline]
    pub(crate) fn data_sent(&mut self, now: Time) {
        if let Some(timing) = &mut self.timing {
            timing.on_data_sent(now);
        }
    }

    /// An ACK is due at once.
    pub(crate) fn request_ack(&mut self) {
        self.ack_now = true;
    }

    /// An ACK that is due, at once or by the timer, has to wait.
    pub(crate) fn hold_acks(&mut self, until: Time) {
        if self.ack_now {
            self.ack_now = false;
            self.ack_at = until;
        } else if self.ack_at != Time::NEVER {
            self.ack_at = self.ack_at.max(until);
        }
    }

    /// An ACK has been sent, alone or with data.
    #[inline]
    pub(crate) fn ack_sent(&mut self) {
        if self.looks_at_acks {
            self.note_ack();
        }
        self.ack_now = false;
        self.ack_at = Time::NEVER;
        self.unacknowledged = 0;
    }

    /// An ACK leaves, one that was due or another.
    #[inline(never)]
    fn note_ack(&mut self) {
        if let Some(timing) = &mut self.timing {
            timing.on_ack_sent(self.ack_now || self.ack_at != Time::NEVER);
        }
        if let Some(held) = &mut self.held {
            held.clear();
        }
    }

    #[inline]
    pub(crate) fn ack_is_due(&self) -> bool {
        self.ack_now
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.ack_at
    }

    /// The time of an ACK that waits has come. `rto` is that of this end's data.
    pub(crate) fn on_deadline(&mut self, rto: Span) {
        let was_held = self.held.as_ref().is_some_and(|held| held.until() <= self.ack_at);
        if let Some(timing) = &mut self.timing
            && !was_held
        {
            timing.on_waited(rto);
        }
        self.ack_now = true;
        self.ack_at = Time::NEVER;
    }
}

/// Bytes that make an ACK due at once: a number of full-sized segments (RFC 5681 section 4.2).
/// Linux does not wait for the last of them to be full (`__tcp_ack_snd_check`); with its timing of
/// ACKs [`Receiver::time_ack`] decides. Strictly delayed ACKs of SCPS-TP leave by the timer.
pub(super) fn bytes_of_an_ack(config: &Config, ratio: Option<u8>, full: u64) -> u64 {
    if config.acks_by_timer() {
        return u64::MAX;
    }
    let segments = match (config.delayed_ack, ratio) {
        (AckTiming::Linux, _) => return u64::MAX,
        (AckTiming::Fixed(_), Some(ratio)) => u64::from(ratio),
        (AckTiming::Fixed(delayed), None) => u64::from(delayed.segments),
    };
    if segments <= 1 || config.recovery == Recovery::Linux {
        segments.saturating_sub(1) * full + 1
    } else {
        segments * full
    }
}
