//! Spike: detection of congestion from the one-way delay.
//!
//! Source: S. Cen, P. C. Cosman, G. M. Voelker, "End-to-end differentiation of congestion and
//! wireless losses", IEEE/ACM Transactions on Networking 11(5), 2003. With ROTT the one-way delay
//! up to a constant that nobody knows, ROTTmin and ROTTmax its extremes so far:
//!
//! - the path becomes congested when ROTT rises above ROTTmin + start (ROTTmax - ROTTmin), start =
//!   1/2,
//! - and is so no longer when it falls below ROTTmin + end (ROTTmax - ROTTmin), end = 1/3.
//!
//! Reconstructed: the text of the paper was not available; rules and constants are from memory.
//! Decisions: the delay is between the sender's timestamp and the receiver's (RFC 7323), in
//! milliseconds of two clocks that need not agree; without timestamps it is the round-trip time.
//! Both contain the time for which a receiver delays its ACK.

use units::{Span, Time};

use crate::events::Feedback;

/// The state of the path.
#[derive(Clone, Debug)]
pub(crate) struct Spike {
    start: f64,
    end: f64,
    /// Last round-trip time that was measured, and that no ACK has been fed with.
    timed: Option<Span>,
    /// First difference of the clocks of both ends.
    origin: Option<u32>,
    /// ROTTmin and ROTTmax in milliseconds.
    extremes: Option<(f64, f64)>,
    congested: bool,
}

impl Spike {
    /// The shares of the range at which congestion starts and ends.
    pub(crate) fn new(start: f64, end: f64) -> Self {
        Self { start, end, timed: None, origin: None, extremes: None, congested: false }
    }

    /// A round-trip time that the ACK which follows has measured.
    pub(crate) fn on_rtt(&mut self, sample: Span) {
        self.timed = Some(sample);
    }

    /// Any ACK; those that measure nothing change nothing.
    pub(crate) fn on_feedback(&mut self, feedback: &Feedback) {
        let timed = self.timed.take();
        let delay = match (feedback.peer_clock, feedback.round_trip) {
            (Some(clock), Some(round_trip)) => {
                let sent = feedback.now.since(Time::ZERO).saturating_sub(round_trip);
                #[expect(clippy::cast_possible_truncation, reason = "the clock wraps")]
                let milliseconds = (sent.as_nanos() / 1_000_000) as u32;
                let difference = clock.wrapping_sub(milliseconds);
                let origin = *self.origin.get_or_insert(difference);
                Some(f64::from(difference.wrapping_sub(origin).cast_signed()))
            }
            (Some(_), None) => None,
            (None, _) => timed.map(Span::as_millis_f64),
        };
        if let Some(delay) = delay {
            self.judge(delay);
        }
    }

    /// Returns true if a loss would be one of congestion; none before any delay is known.
    pub(crate) fn congested(&self) -> Option<bool> {
        self.extremes.map(|_| self.congested)
    }

    fn judge(&mut self, delay: f64) {
        let (least, most) = self.extremes.unwrap_or((delay, delay));
        let (least, most) = (least.min(delay), most.max(delay));
        self.extremes = Some((least, most));
        let bound = if self.congested { self.end } else { self.start };
        let bound = least + bound * (most - least);
        self.congested = if self.congested { delay >= bound } else { delay > bound };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::bandwidth::samples::acknowledged;

    fn spike(delays: &[u64]) -> Spike {
        let mut spike = Spike::new(0.5, 1.0 / 3.0);
        for &delay in delays {
            spike.on_rtt(Span::from_millis(delay));
            spike.on_feedback(&acknowledged(1000, 1000));
        }
        spike
    }

    #[test]
    fn nothing_is_known_before_the_first_delay() {
        assert_eq!(spike(&[]).congested(), None);
        assert_eq!(spike(&[500]).congested(), Some(false));
    }

    #[test]
    fn congestion_starts_above_half_of_the_range() {
        assert_eq!(spike(&[500, 620, 500, 560]).congested(), Some(false));
        assert_eq!(spike(&[500, 620, 500, 561]).congested(), Some(true));
    }

    #[test]
    fn and_ends_below_a_third() {
        assert_eq!(spike(&[500, 620, 540]).congested(), Some(true));
        assert_eq!(spike(&[500, 620, 539]).congested(), Some(false));
    }

    #[test]
    fn an_ack_that_measures_nothing_changes_nothing() {
        let mut spike = spike(&[500, 620]);
        spike.on_feedback(&acknowledged(1000, 0));
        assert_eq!(spike.congested(), Some(true));
    }

    /// Fed with the one-way delays there and back, and a receiver's clock that starts at `clock`.
    fn clocked(clock: u32, delays: &[(u64, u64)]) -> Spike {
        let mut spike = Spike::new(0.5, 1.0 / 3.0);
        for (i, &(there, back)) in delays.iter().enumerate() {
            let sent = 10_000 + 1000 * i as u64;
            spike.on_feedback(&Feedback {
                round_trip: Some(Span::from_millis(there + back)),
                peer_clock: Some(clock.wrapping_add((sent + there) as u32)),
                ..acknowledged(sent + there + back, 1000)
            });
        }
        spike
    }

    #[test]
    fn with_timestamps_only_the_way_there_counts() {
        let spike = clocked(7, &[(250, 250), (270, 250), (250, 250), (250, 900)]);
        assert_eq!(spike.congested(), Some(false));
        let spike = clocked(7, &[(250, 250), (270, 250), (250, 900), (265, 250)]);
        assert_eq!(spike.congested(), Some(true));
    }

    #[test]
    fn the_receivers_clock_may_wrap_around() {
        for clock in [0, 0x7fff_ffff - 11_500, u32::MAX - 11_500] {
            let spike = clocked(clock, &[(250, 250), (270, 250), (250, 250), (265, 250)]);
            assert_eq!(spike.congested(), Some(true), "{clock}");
            assert_eq!(spike.extremes, Some((0.0, 20.0)), "{clock}");
        }
    }

    #[test]
    fn the_first_delay_need_not_be_the_smallest() {
        let spike = clocked(7, &[(270, 250), (250, 250), (265, 250)]);
        assert_eq!(spike.extremes, Some((-20.0, 0.0)));
        assert_eq!(spike.congested(), Some(true));
    }
}
