//! Hoe's estimate of the bandwidth-delay product, from the spacing of the ACKs.
//!
//! Source: J. C. Hoe, "Improving the start-up behavior of a congestion control scheme for TCP",
//! SIGCOMM 1996. Segments sent back to back leave the bottleneck at its rate, so the ACKs for them
//! arrive at its rate, and rate * RTTmin is the threshold at which slow start should end.
//!
//! Reconstructed: the text of the paper was not available. Known from secondary descriptions is the
//! product, and that the rate comes from three closely spaced ACKs. A-LIAD repeats the estimate in
//! each round trip. Decisions:
//!
//! - One round trip gives one train: the ACKs for what was outstanding when its first ACK arrived.
//!   Its rate is the bytes acknowledged after the first ACK over the time from the first to the
//!   last. The whole train and no single gap, so that an ACK for two segments, a lost ACK and ACKs
//!   that a return channel bunches together do no harm.
//! - A train has at least three ACKs and is shorter than RTTmin; a longer one is as long as the
//!   sender's own window makes it and tells nothing of the bottleneck.
//! - A pause of more than an eighth of RTTmin ends a train too: there the sender had nothing to
//!   send, or the receiver waited for a second segment to acknowledge. Self-clocking repeats such a
//!   pause in each later round trip. A path that holds less than some sixteen segments has nothing
//!   but such pauses, and no estimate.
//! - An ACK for fewer bytes than the largest one before it may have waited for the delayed ACK
//!   timer, so no train ends with it. Duplicates and ACKs of a recovery break a train off.
//! - The estimate is the median of the last three trains, of two the smaller. Until the first train
//!   is complete it is that of the running one, so that there is an estimate with the third ACK.

use units::{Span, Time};

use crate::events::Feedback;
use crate::window::whole;

/// Hoe's three ACKs: two gaps.
const LEAST_ACKS: u32 = 3;
/// The longest gap in a train, as a divisor of RTTmin.
const PAUSE: u64 = 8;
/// Trains that the median is taken of.
const REMEMBERED: usize = 3;

/// The estimator. It wants each [`Feedback`] of the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hoe {
    train: Option<Train>,
    /// Rates of the last complete trains in bytes per second, the latest last.
    rates: Vec<f64>,
    min_rtt: Option<Span>,
}

/// The ACKs of one round trip.
#[derive(Clone, Copy, Debug)]
struct Train {
    /// Position in the stream with whose acknowledgement the round trip is over.
    end: u64,
    first: Time,
    last: Time,
    acks: u32,
    /// Bytes acknowledged after the first ACK.
    bytes: u64,
    /// The most bytes that one of its ACKs acknowledges.
    largest: u64,
    /// `first` to the last ACK that may end the train, and the bytes up to it.
    length: Span,
    measured: u64,
}

impl Train {
    fn begin(feedback: &Feedback) -> Self {
        Self {
            end: feedback.sent,
            first: feedback.now,
            last: feedback.now,
            acks: 1,
            bytes: 0,
            largest: 0,
            length: Span::ZERO,
            measured: 0,
        }
    }

    fn continues_with(&self, feedback: &Feedback) -> bool {
        let gap = feedback.now.since(self.last).as_nanos();
        let short = feedback.min_rtt.is_none_or(|rtt| gap <= rtt.as_nanos() / PAUSE);
        feedback.acknowledged <= self.end && short
    }

    fn add(&mut self, feedback: &Feedback) {
        self.last = feedback.now;
        self.acks += 1;
        self.bytes += feedback.acked;
        if feedback.acked >= self.largest {
            self.largest = feedback.acked;
            self.length = feedback.now.since(self.first);
            self.measured = self.bytes;
        }
    }

    /// Bytes per second.
    fn rate(&self, min_rtt: Span) -> Option<f64> {
        let fits = self.length > Span::ZERO && self.length < min_rtt;
        (self.acks >= LEAST_ACKS && fits).then(|| self.measured as f64 / self.length.as_secs_f64())
    }
}

impl Hoe {
    /// Takes in an ACK.
    pub(crate) fn on_feedback(&mut self, feedback: &Feedback) {
        self.min_rtt = feedback.min_rtt;
        if feedback.recovering || feedback.duplicate {
            self.train = None;
            return;
        }
        if feedback.acked == 0 {
            return;
        }
        match &mut self.train {
            Some(train) if train.continues_with(feedback) => {
                train.add(feedback);
                if feedback.acknowledged == train.end {
                    self.complete();
                }
            }
            _ => {
                self.complete();
                self.train = Some(Train::begin(feedback));
            }
        }
    }

    fn complete(&mut self) {
        let train = self.train.take();
        if let Some(rate) = train.zip(self.min_rtt).and_then(|(train, rtt)| train.rate(rtt)) {
            if self.rates.len() == REMEMBERED {
                self.rates.remove(0);
            }
            self.rates.push(rate);
        }
    }

    /// The rate of the bottleneck in bytes per second.
    fn rate(&self) -> Option<f64> {
        let mut rates = self.rates.clone();
        rates.sort_unstable_by(f64::total_cmp);
        match rates.len() {
            0 => self.train?.rate(self.min_rtt?),
            n => Some(rates[(n - 1) / 2]),
        }
    }

    /// Capacity of the path without a queue, in bytes: the slow start threshold.
    pub(crate) fn path_capacity(&self) -> Option<u64> {
        Some(whole(self.rate()? * self.min_rtt?.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const RTT: Span = Span::from_millis(600);

    fn feedback(milliseconds: u64, acked: u64, acknowledged: u64, sent: u64) -> Feedback {
        Feedback {
            now: Time::from_nanos(milliseconds * 1_000_000),
            acked: acked * MSS,
            sacked: 0,
            duplicate: false,
            recovering: false,
            round_trip: Some(RTT),
            srtt: Some(RTT),
            min_rtt: Some(RTT),
            acknowledged: acknowledged * MSS,
            sent: sent * MSS,
            pipe: 0,
            advertised: u64::MAX,
            peer_clock: None,
            head_sent: None,
            rate: None,
            marked: false,
            marked_bytes: 0,
            needless: 0,
        }
    }

    /// One round trip: ACKs for `covers` segments each, `gap` milliseconds apart, for all of
    /// `sent` segments of which `from` were acknowledged before. Returns when it was over.
    fn train(hoe: &mut Hoe, start: u64, gap: u64, covers: u64, from: u64, sent: u64) -> u64 {
        let acks = (sent - from) / covers;
        for i in 0..acks {
            hoe.on_feedback(&feedback(start + i * gap, covers, from + (i + 1) * covers, sent));
        }
        start + acks * gap
    }

    #[test]
    fn ten_segments_sent_together_show_the_rate_of_the_bottleneck() {
        let mut hoe = Hoe::default();
        train(&mut hoe, 600, 1, 1, 0, 10);
        // 1000 bytes each millisecond over 600 ms.
        assert_eq!(hoe.path_capacity(), Some(600 * MSS));
    }

    #[test]
    fn an_ack_for_every_second_segment_shows_the_same_rate() {
        let mut hoe = Hoe::default();
        train(&mut hoe, 600, 2, 2, 0, 10);
        assert_eq!(hoe.path_capacity(), Some(600 * MSS));
    }

    #[test]
    fn there_is_an_estimate_with_the_third_ack() {
        let mut hoe = Hoe::default();
        hoe.on_feedback(&feedback(600, 1, 1, 10));
        hoe.on_feedback(&feedback(601, 1, 2, 12));
        assert_eq!(hoe.path_capacity(), None);
        hoe.on_feedback(&feedback(602, 1, 3, 14));
        assert_eq!(hoe.path_capacity(), Some(600 * MSS));
    }

    #[test]
    fn a_lost_ack_changes_nothing() {
        let mut hoe = Hoe::default();
        for (at, acked, acknowledged) in [(600, 1, 1), (601, 1, 2), (603, 2, 4), (605, 2, 6)] {
            hoe.on_feedback(&feedback(at, acked, acknowledged, 6));
        }
        assert_eq!(hoe.path_capacity(), Some(600 * MSS));
    }

    #[test]
    fn acks_that_arrive_in_bunches_count_as_one_train() {
        let mut hoe = Hoe::default();
        for i in 0..21_u64 {
            // A return channel that sends every 10 ms what has gathered: ten ACKs at once.
            hoe.on_feedback(&feedback(600 + i.div_ceil(10) * 10, 1, i + 1, 21));
        }
        assert_eq!(hoe.path_capacity(), Some(600 * MSS));
    }

    #[test]
    fn an_ack_that_waited_for_the_delayed_ack_timer_does_not_end_the_train() {
        let mut hoe = Hoe::default();
        train(&mut hoe, 600, 2, 2, 0, 10);
        let mut odd = Hoe::default();
        for i in 0..5 {
            odd.on_feedback(&feedback(600 + 2 * i, 2, 2 * (i + 1), 11));
        }
        odd.on_feedback(&feedback(608 + 40, 1, 11, 21));
        assert_eq!(odd.path_capacity(), hoe.path_capacity());
    }

    #[test]
    fn a_pause_within_a_round_trip_is_in_no_train() {
        let mut hoe = Hoe::default();
        for i in 0..5 {
            hoe.on_feedback(&feedback(600 + i, 1, i + 1, 10));
        }
        for i in 5..10 {
            hoe.on_feedback(&feedback(800 + i, 1, i + 1, 10));
        }
        assert_eq!(hoe.path_capacity(), Some(600 * MSS));
    }

    #[test]
    fn the_pause_between_two_rounds_is_in_no_train() {
        let mut hoe = Hoe::default();
        train(&mut hoe, 600, 1, 1, 0, 10);
        train(&mut hoe, 1200, 1, 1, 10, 30);
        train(&mut hoe, 1800, 1, 1, 30, 70);
        assert_eq!(hoe.path_capacity(), Some(600 * MSS));
    }

    #[test]
    fn a_train_as_long_as_the_round_trip_is_no_measurement() {
        let mut hoe = Hoe::default();
        train(&mut hoe, 600, 1, 1, 0, 10);
        train(&mut hoe, 1200, 20, 1, 10, 50);
        assert_eq!(hoe.path_capacity(), Some(600 * MSS));
    }

    #[test]
    fn the_estimate_is_the_median_of_three_rounds_and_follows_the_path() {
        let mut hoe = Hoe::default();
        train(&mut hoe, 600, 1, 1, 0, 10);
        train(&mut hoe, 1200, 10, 1, 10, 20);
        train(&mut hoe, 1800, 2, 1, 20, 30);
        assert_eq!(hoe.path_capacity(), Some(300 * MSS));
        train(&mut hoe, 2400, 10, 1, 30, 40);
        assert_eq!(hoe.path_capacity(), Some(60 * MSS));
    }

    #[test]
    fn a_duplicate_ack_and_a_recovery_break_the_train_off() {
        for (duplicate, recovering) in [(true, false), (false, true)] {
            let mut hoe = Hoe::default();
            hoe.on_feedback(&feedback(600, 1, 1, 10));
            hoe.on_feedback(&feedback(601, 1, 2, 10));
            hoe.on_feedback(&Feedback { duplicate, recovering, ..feedback(602, 0, 2, 10) });
            hoe.on_feedback(&feedback(900, 1, 3, 10));
            assert_eq!(hoe.path_capacity(), None);
        }
    }

    #[test]
    fn acks_at_one_instant_and_two_acks_are_no_measurement() {
        let mut hoe = Hoe::default();
        train(&mut hoe, 600, 0, 1, 0, 10);
        assert_eq!(hoe.path_capacity(), None);
        train(&mut hoe, 1200, 5, 1, 10, 12);
        assert_eq!(hoe.path_capacity(), None);
    }
}
