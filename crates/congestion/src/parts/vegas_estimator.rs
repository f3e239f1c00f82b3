//! The estimator of Vegas and its variants: segments that wait in queues, and a fine-grained
//! timeout.
//!
//! Source: L. S. Brakmo, L. L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
//! Internet", IEEE JSAC 13(8), 1995; the arithmetic was read in ns-2.35, `tcp/tcp-vegas.cc`.
//!
//! - Once per round trip, the *expected* rate is what is in flight over the smallest RTT, the
//!   *actual* rate is what was sent in that round over its mean RTT, and the backlog is
//!   (expected - actual) * smallest RTT, to the nearest segment.
//! - The fine timeout is srtt + 2 deviations and a sixteenth of that, from samples of single
//!   segments.
//!
//! Decisions: the RTT of the handshake does not count, because its small segments are faster than
//! data. What arrives in recovery is no measurement; a round that a recovery interrupts is dropped.

use units::{Span, Time};

use crate::events::Feedback;

/// Counts rounds and gives the backlog at the end of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backlog {
    base_rtt: Option<Span>,
    round: Option<Round>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    /// The round is over when more than this position of the stream is acknowledged.
    end: u64,
    began: Time,
    /// Sum of the samples in it.
    sum: Span,
    samples: u64,
}

impl Round {
    fn begin(feedback: &Feedback) -> Self {
        Self { end: feedback.sent, began: feedback.now, sum: Span::ZERO, samples: 0 }
    }

    /// Mean of the samples, or else the length of the round.
    fn rtt(&self, now: Time) -> Span {
        if self.samples == 0 {
            return now.since(self.began);
        }
        Span::from_nanos(self.sum.as_nanos() / self.samples)
    }
}

impl Backlog {
    /// Takes an ACK in; the backlog in segments of `mss` bytes when it ends a round. The first ACK
    /// of all ends an empty one.
    pub(crate) fn measure(&mut self, feedback: &Feedback, mss: u64) -> Option<f64> {
        if feedback.recovering {
            self.round = None;
            return None;
        }
        let backlog = if feedback.acked > 0 { self.end_of_round(feedback, mss) } else { None };
        if let (Some(sample), Some(round)) = (feedback.round_trip, &mut self.round) {
            round.sum = round.sum + sample;
            round.samples += 1;
            self.base_rtt = Some(self.base_rtt.map_or(sample, |base| base.min(sample)));
        }
        backlog
    }

    fn end_of_round(&mut self, feedback: &Feedback, mss: u64) -> Option<f64> {
        let Some(round) = self.round else {
            self.round = Some(Round::begin(feedback));
            return Some(0.0);
        };
        if feedback.acknowledged <= round.end {
            return None;
        }
        self.round = Some(Round::begin(feedback));
        let rtt = round.rtt(feedback.now);
        if rtt == Span::ZERO {
            return None;
        }
        let sent = feedback.sent.saturating_sub(round.end);
        let base = match self.base_rtt {
            // Nothing else was in the network: this is the RTT without queues.
            Some(base) if sent > mss => base.min(rtt),
            _ => rtt,
        };
        self.base_rtt = Some(base);
        // Counted from the last segment that was acknowledged.
        let in_flight = feedback.sent.saturating_sub(feedback.acknowledged) + mss;
        let actual = sent as f64 * (base.as_secs_f64() / rtt.as_secs_f64());
        let backlog = (in_flight as f64 - actual) / mss as f64;
        Some((backlog + 0.5).trunc())
    }
}

/// The fine-grained timeout: a loss is certain when the first unacknowledged segment is this old.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FineTimeout {
    srtt: f64,
    deviation: f64,
    /// In seconds; none before the first sample.
    timeout: Option<f64>,
}

impl FineTimeout {
    /// A round-trip time of a segment that was sent once. Gains 1/8 and 1/4.
    pub(crate) fn sample(&mut self, rtt: Span) {
        let rtt = rtt.as_secs_f64();
        if self.timeout.is_none() {
            self.srtt = rtt;
            self.deviation = rtt / 4.0;
        }
        let error = rtt - self.srtt;
        self.srtt += error / 8.0;
        self.deviation += (error.abs() - self.deviation) / 4.0;
        self.timeout = Some((self.srtt + 2.0 * self.deviation) * 17.0 / 16.0);
    }

    /// Returns true if the first unacknowledged segment is too old.
    pub(crate) fn expired(&self, feedback: &Feedback) -> bool {
        match (feedback.head_sent, self.timeout) {
            (Some(sent), Some(timeout)) => feedback.now.since(sent).as_secs_f64() >= timeout,
            _ => false,
        }
    }

    /// A segment is retransmitted: an eighth more, and twice as much if not for the first time.
    pub(crate) fn back_off(&mut self, again: bool) {
        self.timeout = self.timeout.map(|t| if again { 2.0 * t } else { 1.125 * t });
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const MSS: u64 = 1000;

    /// An ACK for one segment after `milliseconds`, of a sender that has sent up to `sent` segments
    /// and knows that `acknowledged` have arrived.
    pub(crate) fn feedback(milliseconds: u64, acknowledged: u64, sent: u64, rtt: u64) -> Feedback {
        Feedback {
            now: Time::from_nanos(milliseconds * 1_000_000),
            acked: MSS,
            sacked: 0,
            duplicate: false,
            recovering: false,
            round_trip: Some(Span::from_millis(rtt)),
            srtt: Some(Span::from_millis(rtt)),
            min_rtt: None,
            acknowledged: acknowledged * MSS,
            sent: sent * MSS,
            pipe: (sent - acknowledged) * MSS,
            advertised: u64::MAX,
            peer_clock: None,
            marked: false,
            marked_bytes: 0,
            needless: 0,
            head_sent: None,
            rate: None,
        }
    }

    #[test]
    fn the_backlog_is_the_window_less_what_the_smallest_rtt_would_carry() {
        // 20 segments of which 500/625 fit: four wait. In the round before it half the samples were
        // of an empty queue.
        let mut backlog = Backlog::default();
        assert_eq!(backlog.measure(&feedback(0, 0, 20, 500), MSS), Some(0.0));
        assert_eq!(backlog.measure(&feedback(100, 20, 40, 625), MSS), None);
        assert_eq!(backlog.measure(&feedback(600, 21, 40, 625), MSS), Some(2.0));
        assert_eq!(backlog.measure(&feedback(700, 22, 41, 625), MSS), None);
        assert_eq!(backlog.measure(&feedback(1300, 41, 60, 625), MSS), Some(4.0));
    }

    #[test]
    fn without_queues_there_is_no_backlog() {
        let mut backlog = Backlog::default();
        backlog.measure(&feedback(0, 0, 100, 500), MSS);
        assert_eq!(backlog.measure(&feedback(500, 101, 200, 500), MSS), Some(0.0));
    }

    #[test]
    fn a_recovery_ends_the_round_without_a_measurement() {
        let mut backlog = Backlog::default();
        backlog.measure(&feedback(0, 0, 20, 500), MSS);
        let recovering = Feedback { recovering: true, ..feedback(10, 21, 40, 5000) };
        assert_eq!(backlog.measure(&recovering, MSS), None);
        assert_eq!(backlog.measure(&feedback(20, 22, 40, 625), MSS), Some(0.0));
        assert_eq!(backlog.measure(&feedback(30, 23, 40, 625), MSS), None);
    }

    #[test]
    fn one_segment_in_the_network_measures_the_smallest_rtt_anew() {
        let mut backlog = Backlog::default();
        backlog.measure(&feedback(0, 0, 1, 100), MSS);
        backlog.measure(&feedback(100, 1, 2, 600), MSS);
        assert_eq!(backlog.base_rtt, Some(Span::from_millis(100)));
        backlog.measure(&feedback(700, 2, 2, 600), MSS);
        backlog.measure(&feedback(1300, 3, 3, 600), MSS);
        assert_eq!(backlog.base_rtt, Some(Span::from_millis(600)));
    }

    #[test]
    fn the_fine_timeout_is_srtt_and_two_deviations_and_a_sixteenth() {
        let mut fine = FineTimeout::default();
        fine.sample(Span::from_millis(800));
        // 800 + 2 * 150, and a sixteenth of it.
        assert!((fine.timeout.unwrap() - 1.1 * 17.0 / 16.0).abs() < 1e-12);
        fine.sample(Span::from_millis(1600));
        // 900 + 2 * (150 + 650 / 4)
        assert!((fine.timeout.unwrap() - 1.525 * 17.0 / 16.0).abs() < 1e-12);
    }

    #[test]
    fn the_first_segment_expires_with_the_fine_timeout() {
        let mut fine = FineTimeout::default();
        let at = |now| Feedback { head_sent: Some(Time::ZERO), ..feedback(now, 0, 1, 800) };
        assert!(!fine.expired(&at(100_000)));
        fine.sample(Span::from_millis(800));
        assert!(!fine.expired(&at(1168)));
        assert!(fine.expired(&at(1169)));
        fine.back_off(false);
        assert!(!fine.expired(&at(1314)));
        assert!(fine.expired(&at(1315)));
        fine.back_off(true);
        assert!(!fine.expired(&at(2629)));
        assert!(fine.expired(&at(2630)));
        assert!(!fine.expired(&Feedback { head_sent: None, ..at(9000) }));
    }

    #[test]
    fn large_windows_and_long_rtts_stay_finite() {
        let mut backlog = Backlog::default();
        backlog.measure(&feedback(0, 0, 100_000, 1000), MSS);
        backlog.measure(&feedback(1, 1, 100_000, 1000), MSS);
        let found = backlog.measure(&feedback(2000, 100_001, 200_000, 2000), MSS);
        assert_eq!(found, Some(0.0));
        let found = backlog.measure(&feedback(4000, 200_001, 300_000, 2000), MSS);
        assert_eq!(found, Some(50_000.0));
    }
}
