//! The limit that holds the sender back, by the rules of [`transport::LimitClock`].
//!
//! It is determined when quinn has no packet to send. quinn asks the congestion controller for its
//! window only if it has data for a packet: once for the window, and again for the pacer if the
//! window has room. Data that quinn did not take is held back by flow control or by its buffer of
//! data that is not acknowledged (`send_window`).
//!
//! - A window or a buffer that was used up remains the limit of a paced sender until all that was
//!   sent before is acknowledged.
//! - The set-up ends with the handshake, or at once if 0-RTT data may be sent.
//! - Recovery is the period of RFC 9002 section 7.3.2, and the time from a probe timeout to the
//!   next ACK.

use std::time::Instant;

use transport::{Limit, Limits};
use units::Time;

use super::Connection;
use crate::clock::instant;

/// The last window or buffer that was used up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    limit: Limit,
    at: Instant,
}

impl Connection {
    /// quinn has no packet to send now, and has looked at the window this number of times.
    pub(super) fn look_at_limit(&mut self, now: Time, questions: u32) {
        self.note_settled();
        let mut limit = self.present_limit(questions);
        match limit {
            Limit::CongestionWindow | Limit::ReceiveWindow | Limit::SendBuffer => {
                self.reached = Some(Reached { limit, at: instant(now) });
            }
            Limit::Pacing => {
                let newest = self.meter.read().newest_acknowledged;
                let is_outstanding = |reached: &Reached| newest < Some(reached.at);
                limit = self.reached.filter(is_outstanding).map_or(limit, |reached| reached.limit);
            }
            _ => {}
        }
        self.limits.change(now, limit);
    }

    /// Returns true if data that the application has written waits for quinn to take it.
    fn is_held_back(&self) -> bool {
        self.outgoing.handed_over < self.outgoing.written || self.exchanges.is_held_back()
    }

    /// Remembers what has been sent when all of it is acknowledged. A packet without data that
    /// leaves later, as an ACK, does not begin anything.
    fn note_settled(&mut self) {
        let is_all_acknowledged = self.meter.read().in_flight() == 0;
        if is_all_acknowledged && !self.is_held_back() {
            self.settled = Some(self.stream_frames());
        }
    }

    fn present_limit(&self, questions: u32) -> Limit {
        let Some((_, connection)) = &self.state else { return Limit::Uncounted };
        if connection.is_closed() || self.failure.is_some() {
            return Limit::Uncounted;
        }
        if connection.is_handshaking() && !connection.has_0rtt() {
            return Limit::SetUp;
        }
        if self.outgoing.written == 0 && !self.exchanges.is_used() {
            return Limit::Uncounted;
        }
        let settings = self.config.settings();
        let measured = self.meter.read();
        let is_held_back = self.is_held_back();
        let is_settled = || !is_held_back && self.settled == Some(self.stream_frames());
        match questions {
            0 if is_settled() => Limit::Idle,
            _ if measured.is_repairing || self.probed_at == Some(measured.acks) => Limit::Recovery,
            0 if is_held_back
                && measured.in_flight() + settings.write_size() > settings.send_window.get() =>
            {
                Limit::SendBuffer
            }
            0 if is_held_back => Limit::ReceiveWindow,
            0 => Limit::Application,
            1 => Limit::CongestionWindow,
            _ => Limit::Pacing,
        }
    }

    /// Time until `now` by what has held the sender back.
    pub(super) fn limits_until(&self, now: Time) -> Limits {
        self.limits.times(now)
    }
}
