//! SEARCH: slow start ends when twice as much was sent as a round trip before, and not as much more
//! is delivered.
//!
//! Source: draft-chung-ccwg-search, "SEARCH -- a New Slow Start Algorithm for TCP and QUIC", in the
//! form of its authors' module for Linux, version 3.1, from which the rules were read. It was made
//! for satellite links, on which the RTT varies for other reasons than a queue.
//!
//! - Bytes acknowledged are noted at the end of each bin. A bin lasts for 0.35 of the first RTT, so
//!   that ten bins are a window of 3.5 RTTs.
//! - At the end of a bin, with the RTT of that ACK: what the last window has delivered is compared
//!   with twice what the window an RTT earlier has, for slow start doubles. Where it is less by 35
//!   % or more, ssthresh = cwnd.
//! - An RTT that is no whole number of bins is interpolated between them. With one longer than 14
//!   bins, nothing can be said.
//! - When more bins have passed than two of the first RTTs have, or the window was not used, all
//!   restarts.
//!
//! Decided here: the window grows by all bytes that are acknowledged, as in Linux. With an ACK for
//! every second segment and L = 1 (RFC 3465) it would not double, and SEARCH would end at a
//! fraction of the bandwidth-delay product.
//!
//! Not here: the rollback of cwnd to what it was two RTTs before, which is off in the module too.

use units::{Span, Time};

use crate::events::Feedback;

/// Bins of a window (`SEARCH_BINS`).
const WINDOW: i64 = 10;
/// Bins kept in addition, to look back by an RTT (`SEARCH_EXTRA_BINS`).
const EXTRA: i64 = 15;
#[expect(clippy::cast_possible_truncation, reason = "25")]
const TOTAL: usize = (WINDOW + EXTRA) as usize;
/// Length of a window in RTTs (`search_window_duration_factor`).
const WINDOW_RTTS: f64 = 3.5;
/// Share of the expected bytes that are missing (`search_thresh`).
const THRESHOLD: f64 = 0.35;
/// RTTs without an ACK after which the bins say nothing (`search_alpha`).
const PATIENCE: f64 = 2.0;

/// The state of SEARCH.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    bins: Option<Box<Bins>>,
}

#[derive(Clone, Debug)]
struct Bins {
    length: Span,
    /// When the bin that is being filled ends.
    end: Time,
    /// Number of the last bin that is full.
    last: i64,
    /// Bytes acknowledged at the end of each of the last bins.
    acknowledged: [u64; TOTAL],
}

impl Search {
    /// Returns true if this ACK, in slow start, ends it.
    pub(super) fn ends(&mut self, feedback: &Feedback) -> bool {
        let Some(rtt) = feedback.round_trip.filter(|rtt| *rtt > Span::ZERO) else { return false };
        let (now, acknowledged) = (feedback.now, feedback.acknowledged);
        let Some(bins) = &mut self.bins else {
            self.bins = Some(Box::new(Bins::begin(now, rtt, acknowledged)));
            return false;
        };
        if now < bins.end {
            return false;
        }
        if !bins.fill(now, acknowledged) {
            self.reset();
            return false;
        }
        bins.shows_a_full_pipe(rtt)
    }

    /// Forgets the measurements, which say nothing about the time after.
    pub(super) fn reset(&mut self) {
        self.bins = None;
    }
}

impl Bins {
    fn begin(now: Time, rtt: Span, acknowledged: u64) -> Self {
        let length = Span::from_secs_f64(rtt.as_secs_f64() * WINDOW_RTTS / WINDOW as f64);
        let length = length.max(Span::from_nanos(1));
        let mut bins = Self { length, end: now + length, last: 0, acknowledged: [0; TOTAL] };
        bins.acknowledged[0] = acknowledged;
        bins
    }

    /// Fills the bins that have ended by now; false when they are too many.
    fn fill(&mut self, now: Time, acknowledged: u64) -> bool {
        let passed = now.since(self.end).as_nanos() / self.length.as_nanos() + 1;
        if passed as f64 > PATIENCE * WINDOW as f64 / WINDOW_RTTS {
            return false;
        }
        let before = self.acknowledged[self.place(self.last)];
        for _ in 1..passed {
            self.note(before);
        }
        self.note(acknowledged);
        self.end += self.length * passed;
        true
    }

    fn note(&mut self, acknowledged: u64) {
        self.last += 1;
        let place = self.place(self.last);
        self.acknowledged[place] = acknowledged;
    }

    fn place(&self, number: i64) -> usize {
        usize::try_from(number.rem_euclid(WINDOW + EXTRA)).unwrap_or(0)
    }

    /// Bytes acknowledged `fraction` of a bin before the end of bin `number`.
    fn at(&self, number: i64, fraction: f64) -> f64 {
        let end = self.acknowledged[self.place(number)] as f64;
        let begin =
            if number == 0 { 0.0 } else { self.acknowledged[self.place(number - 1)] as f64 };
        end - fraction * (end - begin)
    }

    fn delivered(&self, last: i64, fraction: f64) -> f64 {
        self.at(last, fraction) - self.at(last - WINDOW, fraction)
    }

    fn shows_a_full_pipe(&self, rtt: Span) -> bool {
        let (rtt, length) = (rtt.as_nanos(), self.length.as_nanos());
        let back = (rtt / length).min(TOTAL as u64) as i64;
        let before = self.last - back;
        if before < WINDOW || back >= EXTRA - 1 {
            return false;
        }
        let expected = 2.0 * self.delivered(before, (rtt % length) as f64 / length as f64);
        let delivered = self.delivered(self.last, 0.0);
        expected > 0.0 && expected - delivered >= THRESHOLD * expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::vegas_estimator::tests::feedback;

    /// Ten ACKs in each round trip of 100 ms, by which `windows` segments are acknowledged. The
    /// round in which slow start ends.
    fn ended_in(windows: impl Iterator<Item = u64>, rtt: impl Fn(u64) -> u64) -> Option<u64> {
        let mut search = Search::default();
        let mut acknowledged = 0;
        for (round, window) in windows.enumerate() {
            for i in 0..10 {
                acknowledged += window;
                let now = 100 * (round as u64 + 1) + 10 * i;
                let rtt = rtt(round as u64);
                if search.ends(&feedback(now, acknowledged, acknowledged + 10 * window, rtt)) {
                    return Some(round as u64);
                }
            }
        }
        None
    }

    #[test]
    fn growth_that_doubles_goes_on() {
        assert_eq!(ended_in((0..20).map(|round| 1 << round), |_| 100), None);
    }

    #[test]
    fn a_delivery_that_no_longer_grows_ends_it_within_a_few_round_trips() {
        for flat in [6, 10, 14] {
            let windows = (0..24).map(|round: u64| 1 << round.min(flat));
            let ended = ended_in(windows, |_| 100).unwrap();
            assert!((flat + 1..=flat + 4).contains(&ended), "{flat} {ended}");
        }
    }

    #[test]
    fn an_rtt_that_varies_while_delivery_doubles_ends_nothing() {
        let jitter = |round| 100 + 30 * (round % 3);
        assert_eq!(ended_in((0..20).map(|round| 1 << round), jitter), None);
    }

    #[test]
    fn less_than_fourteen_bins_are_needed_to_look_back() {
        // Half a second is more than fourteen bins of 35 ms.
        let windows = (0..24).map(|round: u64| 1 << round.min(8));
        let queue = |round| if round < 8 { 100 } else { 500 };
        assert_eq!(ended_in(windows, queue), None);
    }

    #[test]
    fn a_pause_begins_anew() {
        let mut search = Search::default();
        search.ends(&feedback(0, 10, 20, 100));
        search.ends(&feedback(40, 20, 40, 100));
        assert_eq!(search.bins.as_ref().unwrap().last, 1);
        search.ends(&feedback(400, 30, 60, 100));
        assert!(search.bins.is_none());
    }
}
