//! The retransmission timer and, while the window is closed, the persist timer. One of the two
//! runs at a time.

use congestion::TcpPolicy;
use units::{Span, Time};

use crate::config::Config;

use super::{HeldBy, Sender};

/// The longest persist interval (RFC 9293 section 3.8.6.1 asks for exponential growth and leaves
/// the bound open; BSD and Linux stop near a minute).
const LONGEST_PERSIST: Span = Span::from_secs(60);

impl Sender {
    /// The deadline has passed.
    pub(crate) fn on_deadline(&mut self, now: Time, config: &Config) {
        if let Some(instruments) = &mut self.instruments {
            instruments.release(now);
            self.on_recovery_deadline(now, config);
        }
        if self.deadline > now {
            return;
        }
        if self.persisting {
            self.persist_backoff += 1;
            self.probing = true;
            self.resend_head = true;
            self.deadline = now + self.persist_interval(config);
        } else {
            self.on_retransmission_timeout(now, config);
        }
    }

    pub(super) fn restart_timer(&mut self, now: Time) {
        self.deadline = now + self.rtt.rto() + self.controller.extra_rto();
        self.persisting = false;
    }

    pub(super) fn start_timer_if_stopped(&mut self, now: Time) {
        if self.deadline == Time::NEVER || self.persisting {
            self.restart_timer(now);
        }
    }

    pub(super) fn stop_timer(&mut self) {
        self.deadline = Time::NEVER;
        self.persisting = false;
    }

    /// Nothing is outstanding and the receiver's window holds the data back: ask again and again
    /// until it opens (RFC 9293 section 3.8.6.1).
    pub(super) fn persist_if_stuck(&mut self, now: Time, config: &Config) {
        let stuck = self.held_by == HeldBy::AdvertisedWindow && self.flight() == 0;
        if stuck && !self.persisting {
            self.persisting = true;
            self.persist_backoff = 0;
            self.deadline = now + self.persist_interval(config);
        }
    }

    /// The window has opened by at least a segment, or something was acknowledged.
    pub(super) fn leave_persist_if_open(&mut self) {
        if self.persisting && (self.flight() > 0 || self.advertised >= self.mss) {
            self.stop_timer();
            self.probing = false;
            self.resend_head = false;
        }
    }

    fn persist_interval(&self, config: &Config) -> Span {
        // The first after an RTO (RFC 9293 section 3.8.6.1, SHLD-29).
        let base = self.rtt.rto().max(config.persist_timeout).max(Span::from_nanos(1));
        base.doubled(self.persist_backoff).min(LONGEST_PERSIST)
    }
}
