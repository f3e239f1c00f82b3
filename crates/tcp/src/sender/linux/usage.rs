//! Use of cwnd as Linux measures it (`tcp_cwnd_validate`): at the last time that new data
//! left, or waited for cwnd. What a recovery or its retransmissions make of cwnd does not count.

use congestion::Controller;

use crate::config::Config;

use super::Sender;
use crate::sender::HeldBy;

/// How far cwnd was used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Validated {
    /// It limited the sender (`is_cwnd_limited`).
    is_limited: bool,
    /// The largest flight, as it is counted, of a window that it did not limit (`max_packets_out`).
    most: u64,
    /// That window ends when this is acknowledged (`cwnd_usage_seq`).
    end: u64,
}

impl Sender {
    /// New data up to `end` leaves, and is part of the flight already.
    pub(super) fn validate_window(&mut self, end: u64) {
        let pipe = self.scoreboard.flight().map_or(0, |flight| flight.pipe());
        let is_limited = pipe + self.mss > self.controller.window().cwnd;
        self.validate(is_limited, end);
    }

    /// An ACK has come. Takes in whether new data has waited for cwnd until then.
    pub(super) fn note_limit_by_window(&mut self) {
        if self.held_by == HeldBy::CongestionWindow && self.buffered > self.max {
            self.validate(true, self.max);
        }
    }

    fn validate(&mut self, is_limited: bool, end: u64) {
        let (una, flight) = (self.una, self.counted_flight());
        let Some(linux) = self.linux() else { return };
        let used = &mut linux.used;
        if una >= used.end || is_limited || (!used.is_limited && flight > used.most) {
            *used = Validated { is_limited, most: flight, end };
        }
    }

    /// Returns true if the window may grow (`tcp_is_cwnd_limited`).
    pub(in crate::sender) fn uses_window(&self, config: &Config) -> bool {
        let Some(linux) = self.known_linux() else { return false };
        let window = self.controller.window();
        let uses_half = window.in_slow_start() && window.cwnd < 2 * linux.used.most;
        !config.window_validation || linux.used.is_limited || uses_half
    }
}
