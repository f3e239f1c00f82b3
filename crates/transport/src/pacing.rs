//! Pacing: segments are sent no faster than a rate.
//!
//! The rate is that of the controller, or that of Careful Resume. With the rules of
//! Linux (`tcp_update_pacing_rate` and `tcp_update_skb_after_send`, used with the `fq` queueing
//! discipline or `SO_MAX_PACING_RATE`), other controllers also have a rate: twice cwnd per smoothed
//! RTT far below ssthresh, so that slow start can double, and 1.2 times cwnd later. The first ten
//! segments of a connection are sent at once. Then not segments but packets wait: the segments that
//! Linux hands down in one piece leave at once, and the next packet waits for as long as all of
//! them take at the rate. A late packet shortens the next wait by its delay, at most by half.

use congestion::Window;
use units::{Span, Time};

/// `tcp_pacing_ss_ratio`.
const SLOW_START_RATIO: f64 = 2.0;
/// `tcp_pacing_ca_ratio`.
const AVOIDANCE_RATIO: f64 = 1.2;
/// The segments of a connection that leave at once, of which the last is waited for.
const FREE_SEGMENTS: u64 = 10;

/// Controllers whose segments are paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "kebab-case"), schemars(inline))]
pub enum Pacing {
    /// Those of controllers that [need](congestion::Needs::pacing) it.
    Controller,
    /// All, by the rules of Linux.
    Linux,
}

/// Departure times of the segments of one connection.
#[derive(Clone, Debug)]
pub struct Pacer {
    like_linux: bool,
    /// The earliest time at which the next segment may leave.
    next_departure: Time,
    /// A segment waits for that time; [`Time::NEVER`] while none does.
    waiting_until: Time,
    /// The earliest time at which the last packet could leave, and the bytes of it that have left.
    packet_due: Time,
    packet_bytes: u64,
}

impl Pacer {
    /// Nothing has left yet.
    pub fn new(pacing: Pacing) -> Self {
        Self {
            like_linux: pacing == Pacing::Linux,
            next_departure: Time::ZERO,
            waiting_until: Time::NEVER,
            packet_due: Time::ZERO,
            packet_bytes: 0,
        }
    }

    /// Nothing may leave until [`let_go`](Self::let_go).
    pub fn hold(&mut self) {
        self.next_departure = Time::NEVER;
    }

    /// Held packets may leave.
    pub fn let_go(&mut self) {
        self.next_departure = Time::ZERO;
        self.waiting_until = Time::NEVER;
    }

    /// Returns true if whole packets wait, and not segments.
    pub fn paces_packets(&self) -> bool {
        self.like_linux
    }

    /// The earliest time at which the next segment may leave.
    #[inline]
    pub fn next_departure(&self) -> Time {
        self.next_departure
    }

    /// Returns true if a segment must wait now.
    pub fn holds(&mut self, now: Time) -> bool {
        let holds = self.next_departure > now;
        if holds {
            self.waiting_until = self.next_departure;
        }
        holds
    }

    /// Departure time of the waiting segment; [`Time::NEVER`] if none waits.
    pub fn deadline(&self) -> Time {
        self.waiting_until
    }

    /// The segment that waits may leave.
    pub fn release(&mut self) {
        self.waiting_until = Time::NEVER;
    }

    /// The rate of a controller that has none, in bytes per second.
    pub fn rate(&self, window: &Window, flight: u64, srtt: Option<Span>) -> Option<f64> {
        let srtt = srtt.filter(|srtt| self.like_linux && *srtt > Span::ZERO)?;
        Some(usual_rate(window, flight, srtt))
    }

    /// A segment leaves of a packet of which more leave with it. `continues`: it belongs to the
    /// same packet as the one before it.
    #[inline]
    pub fn on_sent_in_row(&mut self, bytes: u64, continues: bool) {
        if !continues {
            self.packet_due = self.next_departure;
            self.packet_bytes = 0;
        }
        self.packet_bytes += bytes;
    }

    /// A segment leaves, after `segments` others, and no other one with it.
    pub fn on_sent(&mut self, now: Time, bytes: u64, rate: f64, segments: u64, continues: bool) {
        self.on_sent_in_row(bytes, continues);
        let mut gap = Span::from_secs_f64(self.packet_bytes as f64 / rate);
        if self.like_linux {
            if segments + 1 < FREE_SEGMENTS {
                return;
            }
            let half = Span::from_nanos(gap.as_nanos() / 2);
            gap = gap.saturating_sub(now.since(self.packet_due).min(half));
        }
        self.next_departure = self.packet_due.max(now) + gap;
    }
}

/// The rate at which Linux paces a controller that has none of its own, in bytes per second
/// (`tcp_update_pacing_rate`). `srtt` is not zero.
pub fn usual_rate(window: &Window, flight: u64, srtt: Span) -> f64 {
    let in_slow_start = window.cwnd < window.ssthresh / 2;
    let ratio = if in_slow_start { SLOW_START_RATIO } else { AVOIDANCE_RATIO };
    ratio * window.cwnd.max(flight) as f64 / srtt.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use congestion::Settings;

    use super::*;

    const MSS: u64 = 1000;

    fn window(cwnd: u64, ssthresh: u64) -> Window {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: cwnd * MSS,
            initial_ssthresh: ssthresh.saturating_mul(MSS),
            byte_counting: 1,
        };
        Window::new(&settings)
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn the_rate_is_twice_the_window_while_it_is_far_below_ssthresh_and_then_little_more() {
        let pacer = Pacer::new(Pacing::Linux);
        let rate = |cwnd, ssthresh, flight: u64| {
            pacer.rate(&window(cwnd, ssthresh), flight * MSS, Some(Span::from_millis(500)))
        };
        assert_eq!(rate(10, u64::MAX, 0), Some(40_000.0));
        assert_eq!(rate(10, 22, 0), Some(40_000.0));
        assert_eq!(rate(10, 20, 0), Some(24_000.0));
        assert_eq!(rate(10, 5, 15), Some(36_000.0), "more than cwnd is outstanding");
        assert_eq!(pacer.rate(&window(10, 20), 0, None), None);
        let of_controllers = Pacer::new(Pacing::Controller);
        assert_eq!(of_controllers.rate(&window(10, 20), 0, Some(Span::from_millis(500))), None);
    }

    #[test]
    fn in_linux_the_first_ten_segments_leave_at_once() {
        for (pacing, at_once) in [(Pacing::Linux, 10), (Pacing::Controller, 1)] {
            let mut pacer = Pacer::new(pacing);
            let mut sent = 0;
            while !pacer.holds(at(100)) {
                pacer.on_sent(at(100), MSS, 100_000.0, sent, false);
                sent += 1;
            }
            assert_eq!((sent, pacer.waiting_until > at(100)), (at_once, true));
        }
    }

    #[test]
    fn in_linux_the_wait_is_shorter_by_what_the_segment_before_was_late_but_by_half_at_most() {
        let wait_after = |pacing, late: u64| {
            let mut pacer = Pacer::new(pacing);
            pacer.on_sent(at(100), MSS, 100_000.0, 10, false);
            let departure = pacer.next_departure + Span::from_millis(late);
            pacer.on_sent(departure, MSS, 100_000.0, 11, false);
            pacer.next_departure.since(departure).as_nanos() / 1_000_000
        };
        for (late, wait) in [(0, 10), (3, 7), (5, 5), (800, 5)] {
            assert_eq!(wait_after(Pacing::Linux, late), wait, "{late} ms late");
            assert_eq!(wait_after(Pacing::Controller, late), 10);
        }
    }

    #[test]
    fn in_linux_a_packet_is_followed_by_the_wait_of_all_its_segments() {
        let mut pacer = Pacer::new(Pacing::Linux);
        pacer.on_sent(at(0), MSS, 100_000.0, 10, false);
        assert_eq!(pacer.next_departure, at(10));
        pacer.on_sent(at(0), MSS, 100_000.0, 11, true);
        assert_eq!(pacer.next_departure, at(20));
        // 4 ms late, of which both segments make up together.
        pacer.on_sent(at(24), MSS, 100_000.0, 12, false);
        pacer.on_sent(at(24), MSS, 100_000.0, 13, true);
        assert_eq!(pacer.next_departure, at(40));
    }
}
