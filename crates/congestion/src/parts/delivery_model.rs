//! Model of the ACK stream in both versions of BBR: rounds, maxima over a window, aggregation.
//!
//! Source: draft-ietf-ccwg-bbr. Rounds, the maximum filter and the aggregation of ACKs are the same
//! in version 1, as Linux has it. The filter is exact where Linux approximates it with three
//! samples.

use std::collections::VecDeque;

use units::{Span, Time};

use crate::events::{Feedback, LostSegment, RateSample};

/// The largest value of the last few slots of a virtual time, such as rounds. What is too old goes
/// when a new value comes, so that silence forgets nothing.
#[derive(Clone, Debug, Default)]
pub struct WindowedMax {
    /// Slot and value, values falling.
    kept: VecDeque<(u64, f64)>,
}

impl WindowedMax {
    /// Takes in a value of slot `slot` and forgets what is not of the last `length` slots.
    pub(crate) fn take(&mut self, slot: u64, value: f64, length: u64) {
        while self.kept.back().is_some_and(|(_, last)| *last <= value) {
            self.kept.pop_back();
        }
        self.kept.push_back((slot, value));
        while self.kept.front().is_some_and(|(oldest, _)| oldest + length <= slot) {
            self.kept.pop_front();
        }
    }

    /// Forgets all values but this one of slot `slot`.
    pub(crate) fn reset(&mut self, slot: u64, value: f64) {
        self.kept.clear();
        self.kept.push_back((slot, value));
    }

    /// The maximum; zero before the first value.
    pub(crate) fn max(&self) -> f64 {
        self.kept.front().map_or(0.0, |(_, value)| *value)
    }
}

/// A filter for the largest value of the last few slots.
pub trait MaxFilter: Clone + std::fmt::Debug + Default + Send + Sync {
    /// Takes in a value of slot `slot`, of which `length` count.
    fn take(&mut self, slot: u64, value: f64, length: u64);

    /// Forgets all values but this one of slot `slot`.
    fn reset(&mut self, slot: u64, value: f64);

    /// The maximum; zero before the first value.
    fn max(&self) -> f64;
}

impl MaxFilter for WindowedMax {
    fn take(&mut self, slot: u64, value: f64, length: u64) {
        self.take(slot, value, length);
    }

    fn reset(&mut self, slot: u64, value: f64) {
        self.reset(slot, value);
    }

    fn max(&self) -> f64 {
        self.max()
    }
}

/// The filter of Linux (`lib/win_minmax.c`, after K. Nichols): the best value, and the best two
/// that came after it, of the last `length` slots before the present one.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreeBest([(u64, f64); 3]);

impl MaxFilter for ThreeBest {
    fn take(&mut self, slot: u64, value: f64, length: u64) {
        let Self(best) = self;
        if value >= best[0].1 || slot - best[2].0 > length {
            self.reset(slot, value);
            return;
        }
        if value >= best[1].1 {
            best[1] = (slot, value);
            best[2] = (slot, value);
        } else if value >= best[2].1 {
            best[2] = (slot, value);
        }
        let age = slot - best[0].0;
        if age > length {
            *best = [best[1], best[2], (slot, value)];
            if slot - best[0].0 > length {
                *best = [best[1], best[2], (slot, value)];
            }
        } else if best[1].0 == best[0].0 && age > length / 4 {
            // A quarter without a second value, and half of the slots without a third.
            best[1] = (slot, value);
            best[2] = (slot, value);
        } else if best[2].0 == best[1].0 && age > length / 2 {
            best[2] = (slot, value);
        }
    }

    fn reset(&mut self, slot: u64, value: f64) {
        self.0 = [(slot, value); 3];
    }

    fn max(&self) -> f64 {
        self.0[0].1
    }
}

/// The filter of Linux for the excess of ACKs: the larger maximum of two periods, each of half as
/// many slots, the present one and that before.
#[derive(Clone, Copy, Debug, Default)]
pub struct TwoPeriods {
    slot: u64,
    /// Slots of the present period that are over.
    age: u64,
    maxima: [f64; 2],
}

impl MaxFilter for TwoPeriods {
    fn take(&mut self, slot: u64, value: f64, length: u64) {
        if slot != self.slot {
            self.slot = slot;
            self.age += 1;
            if self.age >= length / 2 {
                self.age = 0;
                self.maxima = [0.0, self.maxima[0]];
            }
        }
        self.maxima[0] = self.maxima[0].max(value);
    }

    fn reset(&mut self, slot: u64, value: f64) {
        *self = Self { slot, age: 0, maxima: [value, 0.0] };
    }

    fn max(&self) -> f64 {
        self.maxima[0].max(self.maxima[1])
    }
}

/// A rate that is larger by this factor shows that the pipe was not full.
const GROWTH: f64 = 1.25;
/// Rounds without such a rate after which it is.
const FLAT_ROUNDS: u32 = 3;

/// Finds the time when faster sending no longer makes delivery faster (draft-ietf-ccwg-bbr
/// section 5.3.1.2; `bbr_check_full_bw_reached` in Linux).
#[derive(Clone, Debug, Default)]
pub(crate) struct FullPipe {
    /// It was full once.
    pub(crate) reached: bool,
    /// It is, since this search began.
    pub(crate) now: bool,
    /// The rate that has to be exceeded.
    baseline: f64,
    pub(crate) flat_rounds: u32,
}

impl FullPipe {
    /// Begins a new search from a rate.
    pub(crate) fn search(&mut self, baseline: f64) {
        *self = Self { reached: self.reached, now: false, baseline, flat_rounds: 0 };
    }

    /// Begins a new search from nothing, as after a slow-down that was none (section 5.5.11;
    /// `bbr_undo_cwnd`).
    pub(crate) fn begin_again(&mut self) {
        *self = Self { reached: self.reached, ..Self::default() };
    }

    /// Any rate is a larger one, and the rounds counted so far stay: after a timeout.
    pub(crate) fn forget_baseline(&mut self) {
        self.baseline = 0.0;
    }

    pub(crate) fn reach(&mut self) {
        self.now = true;
        self.reached = true;
    }

    /// Once a round, unless the application limits the rate: then it does not `count`.
    pub(crate) fn check(&mut self, rate: f64, counts: bool) {
        if !counts {
            return;
        }
        if rate >= GROWTH * self.baseline {
            self.search(rate);
            return;
        }
        self.flat_rounds += 1;
        if self.flat_rounds >= FLAT_ROUNDS {
            self.reach();
        }
    }
}

/// An ACK that delivered something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) now: Time,
    /// Bytes that it acknowledges for the first time, selectively or not.
    pub(crate) acked: u64,
    /// Bytes found to be lost since the ACK before.
    pub(crate) lost: u64,
    /// Bytes in the network after it.
    pub(crate) pipe: u64,
    pub(crate) recovering: bool,
    /// The round-trip time that it measures.
    pub(crate) round_trip: Option<Span>,
    pub(crate) sample: RateSample,
    /// Something else than the network may have set the rate.
    pub(crate) limited: bool,
}

impl Arrival {
    /// Bytes in the network before it.
    pub(crate) fn pipe_before(&self) -> u64 {
        self.pipe + self.acked + self.lost
    }
}

/// The progress of delivery over the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// Bytes delivered.
    pub(crate) delivered: u64,
    /// Bytes delivered before the last ACK.
    delivered_before: u64,
    /// Rounds that are over (section 5.5.1).
    pub(crate) round: u64,
    /// The last ACK began a round.
    pub(crate) round_began: bool,
    /// A round is over when a segment is acknowledged that was sent after this much was delivered.
    round_end: u64,
    lost: u64,
    round_trip: Option<Span>,
    held_back: Option<HeldBack>,
}

/// Segments of a sender that holds itself back, by the bytes that were delivered when they were
/// sent.
#[derive(Clone, Copy, Debug)]
struct HeldBack {
    from: u64,
    to: u64,
    /// Bytes delivered when the sender last held itself back.
    at: u64,
}

impl Progress {
    /// A round-trip time was measured on the ACK that is being processed.
    pub(crate) fn on_rtt(&mut self, sample: Span) {
        self.round_trip = Some(sample);
    }

    pub(crate) fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.lost += lost.bytes;
    }

    /// Takes in an ACK; `None` when it delivers nothing and so tells nothing.
    pub(crate) fn on_feedback(&mut self, feedback: &Feedback) -> Option<Arrival> {
        let round_trip = self.round_trip.take();
        let sample = feedback.rate?;
        let acked = sample.delivered - self.delivered;
        self.delivered_before = std::mem::replace(&mut self.delivered, sample.delivered);
        self.round_began = ends_round(&sample, self.round_end);
        if self.round_began {
            self.begin_round();
            self.round += 1;
        }
        let held_back = self
            .held_back
            .is_some_and(|held| (held.from..=held.to).contains(&sample.prior_delivered));
        Some(Arrival {
            now: feedback.now,
            acked,
            lost: std::mem::take(&mut self.lost),
            pipe: feedback.pipe,
            recovering: feedback.recovering,
            round_trip,
            sample,
            limited: sample.app_limited || held_back,
        })
    }

    /// Data sent from here on belongs to a new round.
    pub(crate) fn begin_round(&mut self) {
        self.round_end = self.delivered;
    }

    /// The window is smaller than the path: samples of what is sent until now count as limited by
    /// the sender. `pipe` is what is in the network. Between two ACKs that both hold the sender
    /// back, all segments are sent with the mark of the first (`tcp_rate_check_app_limited`), also
    /// if the second delivers more than was in the network then.
    pub(crate) fn hold_back(&mut self, pipe: u64) {
        let goes_on =
            |held: &HeldBack| self.delivered <= held.to || held.at == self.delivered_before;
        let from = self.held_back.filter(goes_on).map_or(self.delivered, |held| held.from);
        let (at, to) = (self.delivered, self.delivered + pipe);
        self.held_back = Some(HeldBack { from, to, at });
    }
}

/// Returns true if a segment was acknowledged that was sent after `end` bytes were delivered. One
/// that had arrived before it was retransmitted gives no rate and ends no round: Linux takes it so,
/// where the draft is silent. After a needless timeout each ACK would end one.
pub(crate) fn ends_round(sample: &RateSample, end: u64) -> bool {
    sample.rate.is_some() && sample.prior_delivered >= end
}

/// How much more than expected is acknowledged at once, by links and receivers that collect data
/// or ACKs (section 5.5.9).
#[derive(Clone, Debug, Default)]
pub(crate) struct Aggregation<F = WindowedMax> {
    since: Time,
    acked: u64,
    maximum: F,
}

impl<F: MaxFilter> Aggregation<F> {
    /// The connection was idle: what comes next says nothing about before.
    pub(crate) fn restart(&mut self, now: Time) {
        self.since = now;
        self.acked = 0;
    }

    /// Takes in an ACK while `bandwidth` was expected; the excess is at most `cwnd`. Returns the
    /// largest excess of the last `rounds` rounds, in bytes.
    pub(crate) fn take(
        &mut self,
        arrival: &Arrival,
        bandwidth: f64,
        cwnd: u64,
        round: u64,
        rounds: u64,
    ) -> f64 {
        let mut expected = bandwidth * arrival.now.since(self.since).as_secs_f64();
        if self.acked as f64 <= expected {
            self.restart(arrival.now);
            expected = 0.0;
        }
        self.acked += arrival.acked;
        let excess = (self.acked as f64 - expected).clamp(0.0, cwnd as f64);
        self.maximum.take(round, excess, rounds);
        self.maximum.max()
    }
}

/// A number that looks random, from 0 up to 1 and always the same for the same connection at the
/// same point: the output function of SplitMix64 (Steele, Lea and Flood, 2014). Flows that begin at
/// different times draw different numbers.
pub fn draw(now: Time, delivered: u64) -> f64 {
    let mut z = now.as_nanos() ^ delivered.rotate_left(32);
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    fn feedback(delivered: u64, prior_delivered: u64) -> Feedback {
        Feedback {
            now: Time::ZERO,
            acked: 0,
            sacked: 0,
            duplicate: false,
            recovering: false,
            round_trip: None,
            srtt: None,
            min_rtt: None,
            acknowledged: delivered,
            sent: delivered,
            pipe: 0,
            advertised: u64::MAX,
            peer_clock: None,
            head_sent: None,
            marked: false,
            marked_bytes: 0,
            needless: 0,
            rate: Some(RateSample {
                rate: Some(1000.0),
                delivered,
                prior_delivered,
                lost: 0,
                in_flight_when_sent: 0,
                app_limited: false,
            }),
        }
    }

    /// Four segments in the network, and ACKs for two that come in trains: the second ACK of a
    /// train delivers more than was in the network at the first one.
    #[test]
    fn all_that_is_sent_while_the_sender_holds_itself_back_is_marked() {
        let mut progress = Progress::default();
        let ends: Vec<u64> = (1..20).map(|ack| 10_000 + 2000 * ack).collect();
        progress.on_feedback(&feedback(10_000, 8000));
        for (number, delivered) in ends.iter().enumerate() {
            let prior = delivered - 4000;
            let arrival = progress.on_feedback(&feedback(*delivered, prior)).unwrap();
            assert_eq!(arrival.limited, prior >= 12_000, "{delivered}");
            // Pacing holds a segment back at each second ACK.
            progress.hold_back(if number % 2 == 0 { 2000 } else { 1000 });
        }
        let to = ends.last().unwrap() + 2000;
        let arrival = progress.on_feedback(&feedback(to + 4000, to + 2000)).unwrap();
        assert!(!arrival.limited, "sent after the sender has stopped to hold itself back");
    }

    #[test]
    fn the_maximum_is_that_of_the_last_slots() {
        let mut maximum = WindowedMax::default();
        for (slot, value, expected) in
            [(0, 5.0, 5.0), (0, 3.0, 5.0), (1, 4.0, 5.0), (2, 1.0, 4.0), (3, 2.0, 2.0)]
        {
            maximum.take(slot, value, 2);
            assert_eq!(maximum.max(), expected, "slot {slot}");
        }
    }

    /// By `minmax_running_max` with a window of ten: a value is kept for ten slots after its own,
    /// and the next one is the best of a later part of the window.
    #[test]
    fn linux_keeps_three_values() {
        let mut best = ThreeBest::default();
        let mut found = Vec::new();
        for (slot, value) in
            [(1, 9.0), (2, 5.0), (4, 4.0), (7, 3.0), (11, 2.0), (12, 1.0), (30, 0.5)]
        {
            best.take(slot, value, 10);
            found.push(best.max());
        }
        assert_eq!(found, [9.0, 9.0, 9.0, 9.0, 9.0, 4.0, 0.5]);
        best.reset(31, 0.0);
        assert_eq!(best.max(), 0.0);
    }

    #[test]
    fn linux_keeps_the_excess_of_two_periods() {
        let mut periods = TwoPeriods::default();
        let mut found = Vec::new();
        for (slot, value) in [(1, 7.0), (4, 1.0), (5, 3.0), (6, 2.0), (7, 2.0), (8, 2.0), (9, 2.0)]
        {
            periods.take(slot, value, 6);
            found.push(periods.max());
        }
        assert_eq!(found, [7.0, 7.0, 7.0, 7.0, 7.0, 3.0, 3.0]);
    }

    #[test]
    fn the_maximum_is_kept_while_no_value_comes() {
        let mut maximum = WindowedMax::default();
        maximum.take(0, 5.0, 2);
        assert_eq!(maximum.max(), 5.0);
        maximum.take(100, 1.0, 2);
        assert_eq!(maximum.max(), 1.0);
    }

    #[test]
    fn a_round_is_over_when_a_segment_sent_in_it_is_acknowledged() {
        let mut progress = Progress::default();
        let mut rounds = Vec::new();
        for (delivered, prior) in [(1, 0), (2, 0), (3, 1), (4, 2), (6, 3), (7, 5), (8, 6)] {
            progress.on_feedback(&feedback(delivered, prior));
            rounds.push((progress.round, progress.round_began));
        }
        let expected =
            [(1, true), (1, false), (2, true), (2, false), (3, true), (3, false), (4, true)];
        assert_eq!(rounds, expected);
    }

    #[test]
    fn a_segment_that_had_arrived_before_it_was_sent_again_ends_no_round() {
        let mut progress = Progress::default();
        let mut unreliable = feedback(1000, 999);
        unreliable.rate = unreliable.rate.map(|sample| RateSample { rate: None, ..sample });
        let arrival = progress.on_feedback(&unreliable).unwrap();
        assert_eq!((progress.round, progress.round_began, arrival.acked), (0, false, 1000));
    }

    #[test]
    fn samples_of_a_sender_that_holds_itself_back_are_marked_until_they_are_delivered() {
        let mut progress = Progress::default();
        let mut limited = |delivered, prior| {
            let arrival = progress.on_feedback(&feedback(delivered, prior)).unwrap();
            if delivered == 10 || delivered == 12 {
                progress.hold_back(4);
            }
            arrival.limited
        };
        assert!(!limited(10, 5));
        assert!(!limited(11, 6), "sent before");
        assert!(limited(12, 10));
        assert!(limited(16, 16));
        assert!(!limited(20, 17));
    }

    #[test]
    fn the_excess_is_what_came_beyond_the_bandwidth() {
        let mut progress = Progress::default();
        let mut aggregation = Aggregation::<WindowedMax>::default();
        let mut excess = |milliseconds, delivered, round| {
            let arrival = progress.on_feedback(&feedback(delivered, 0)).unwrap();
            let arrival = Arrival { now: at(milliseconds), ..arrival };
            aggregation.take(&arrival, 1000.0, 50, round, 2)
        };
        assert_eq!(excess(1000, 10, 0), 10.0, "a new interval begins");
        assert_eq!(excess(1005, 40, 0), 35.0, "40 bytes where 5 were expected");
        assert_eq!(excess(1005, 90, 0), 50.0, "no more than the window");
        assert_eq!(excess(3000, 91, 1), 50.0, "the largest of two rounds");
        assert_eq!(excess(4000, 92, 2), 1.0);
    }

    #[test]
    fn draws_are_spread_evenly() {
        let draws: Vec<f64> = (0..1000).map(|n| draw(at(500 * n), 1460 * n)).collect();
        for tenth in 0..10 {
            let low = f64::from(tenth) / 10.0;
            let inside = draws.iter().filter(|d| (low..low + 0.1).contains(*d)).count();
            assert!((60..140).contains(&inside), "{inside} of 1000 in the tenth from {low}");
        }
    }
}
