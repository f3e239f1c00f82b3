//! Parts that controllers of picoquic share: the filter of losses, the end of slow start by delay,
//! and the peak of the delivery rate.
//!
//! Source: `picoquic/cc_common.c`, `frames.c` and `picoquic_internal.h` of
//! private-octopus/picoquic d199d45b, restated. The types are those of this crate.

use std::collections::VecDeque;

use units::{Span, Time};

use crate::parameters::{Allowed, Parameter};
use crate::parts::linux::{self, LINUX, ORIGINAL};

/// The word for picoquic's variant of a controller.
pub const PICOQUIC: &str = "picoquic";

/// The parameter of controllers that have a variant of Linux and one of picoquic.
pub(crate) const VARIANT: Parameter = Parameter {
    allowed: Allowed::OneOf(&[ORIGINAL, LINUX, PICOQUIC]),
    meaning: "The algorithm of its source; that of Linux's controller of this name, which takes only the \
              parameters whose meaning mentions Linux; or that of picoquic, which has no other \
              parameter",
    ..linux::VARIANT
};

/// The parameter of controllers whose only other variant is that of picoquic.
pub(crate) const VARIANT_OF_TWO: Parameter = Parameter {
    allowed: Allowed::OneOf(&[ORIGINAL, PICOQUIC]),
    meaning: "The algorithm of its source, or that of picoquic, which has no other parameter",
    ..linux::VARIANT
};

/// Round-trip time above which a path is a long one (`PICOQUIC_TARGET_RENO_RTT`).
pub(crate) const LONG_RTT: Span = Span::from_millis(100);
/// Longest round-trip time that is expected (`PICOQUIC_TARGET_SATELLITE_RTT`).
pub(crate) const SATELLITE_RTT: Span = Span::from_millis(610);

/// Weight of a packet in the share of losses.
const LOSS_WEIGHT: f64 = 1.0 / 16.0;
/// Packets that count for it.
const LOSS_SCOPE: u64 = 32;
/// Samples of the round-trip time that are compared, and times that all must be long.
const SAMPLES: usize = 7;
/// Least time between two samples of the round-trip time, and between two of the delivery rate.
const INTERVAL: Span = Span::from_millis(1);

/// Numbers of packets by the times at which they were sent. Packets of the same time have
/// successive numbers, of which the smallest is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    /// Packets sent.
    pub(crate) sent: u64,
    first_of: VecDeque<(Time, u64)>,
}

impl Numbers {
    pub(crate) fn on_sent(&mut self, now: Time) {
        self.sent += 1;
        if self.first_of.back().is_none_or(|(last, _)| *last < now) {
            self.first_of.push_back((now, self.sent));
        }
    }

    /// The number of the first packet that was sent at `time`, or of the last one before it.
    pub(crate) fn at(&self, time: Time) -> u64 {
        let after = self.first_of.partition_point(|(sent_at, _)| *sent_at <= time);
        let entry = self.first_of.get(after.saturating_sub(1));
        entry.map_or(0, |(_, number)| *number)
    }

    /// Forgets packets sent before `time`, the last of them excepted.
    pub(crate) fn forget_before(&mut self, time: Time) {
        while self.first_of.get(1).is_some_and(|(second, _)| *second <= time) {
            self.first_of.pop_front();
        }
    }
}

/// The share of packets that are lost, smoothed over packets (`picoquic_cc_hystart_loss_test`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossShare {
    share: f64,
    last: u64,
}

impl LossShare {
    /// The packet with this number is lost. One that is not younger than the last lost packet
    /// counts as the next one: several packets may leave at the same time. Returns the share.
    pub(crate) fn on_lost(&mut self, number: u64) -> f64 {
        let number = number.max(self.last + 1);
        for _ in 0..(number - self.last).min(LOSS_SCOPE) {
            self.share *= 1.0 - LOSS_WEIGHT;
        }
        self.share += (1.0 - self.share) * LOSS_WEIGHT;
        self.last = number;
        self.share
    }
}

/// Ends slow start when the round-trip time has grown (`picoquic_cc_hystart_test`).
#[derive(Clone, Debug, Default)]
pub(crate) struct DelayTest {
    samples: VecDeque<Span>,
    last: Option<Time>,
    /// Smallest of the largest of seven samples.
    pub(crate) base: Option<Span>,
    long: usize,
}

impl DelayTest {
    /// Takes in a sample. `packet_time` is the time between two packets at the pacing rate. Returns
    /// true if all samples were more than a quarter above the base, seven times in succession.
    pub(crate) fn take(&mut self, now: Time, sample: Span, packet_time: Span) -> bool {
        if self.last.is_some_and(|last| now.since(last) <= INTERVAL) {
            return false;
        }
        self.last = Some(now);
        self.samples.push_back(sample);
        if self.samples.len() > SAMPLES {
            self.samples.pop_front();
        }
        let extremes = self.samples.iter().min().copied().zip(self.samples.iter().max().copied());
        let Some((least, most)) = extremes.filter(|_| self.samples.len() == SAMPLES) else {
            return false;
        };
        let base = self.base.map_or(most, |base| base.min(most));
        self.base = Some(base);
        if least <= base {
            self.long = 0;
        } else if least > base + Span::from_nanos(base.as_nanos() / 4).max(packet_time) {
            self.long += 1;
        }
        self.long >= SAMPLES
    }
}

/// The largest delivery rate over a millisecond or more (`picoquic_estimate_max_path_bandwidth`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeakRate {
    /// In bytes per second.
    pub(crate) peak: f64,
    reference: Option<Reference>,
}

#[derive(Clone, Copy, Debug)]
struct Reference {
    delivered: u64,
    acked_at: Time,
    sent_at: Time,
}

impl PeakRate {
    /// An ACK arrives at `now` for a packet that was sent at `sent_at`; `delivered` bytes have
    /// arrived since the start.
    pub(crate) fn take(&mut self, now: Time, sent_at: Time, delivered: u64) {
        let latest = Reference { delivered, acked_at: now, sent_at };
        let Some(reference) = self.reference else {
            self.reference = Some(latest);
            return;
        };
        let interval = now.since(reference.acked_at);
        if sent_at >= reference.sent_at && interval > INTERVAL {
            let interval = interval.max(sent_at.since(reference.sent_at));
            let rate = (delivered - reference.delivered) as f64 / interval.as_secs_f64();
            self.peak = self.peak.max(rate);
            self.reference = Some(latest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    /// 1/16, then 15/16 of it and 1/16 of what is missing to one: 0.121, 0.176. After 32 packets or
    /// more without a loss 0.127 of the share is left.
    #[test]
    fn the_third_loss_in_succession_is_above_15_percent_and_isolated_ones_are_not() {
        let mut losses = LossShare::default();
        assert_eq!(losses.on_lost(1000), 1.0 / 16.0);
        assert!(losses.on_lost(1001) < 0.15);
        assert!(losses.on_lost(1002) > 0.15);
        for loss in 1..100 {
            assert!(losses.on_lost(1002 + 100 * loss) < 0.1);
        }
        let mut together = LossShare::default();
        let shares: Vec<_> = (0..3).map(|_| together.on_lost(50)).collect();
        assert!(shares[1] < 0.15 && shares[2] > 0.15, "packets of the same time count singly");
    }

    #[test]
    fn packets_have_the_number_of_the_first_of_their_time() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.at(at(1)), 0);
        for time in [10, 10, 20, 30, 30] {
            numbers.on_sent(at(time));
        }
        let found = [5, 10, 15, 20, 30, 40].map(|time| numbers.at(at(time)));
        assert_eq!((found, numbers.sent), ([1, 1, 1, 3, 4, 4], 5));
        numbers.forget_before(at(25));
        assert_eq!([10, 20, 30].map(|time| numbers.at(at(time))), [3, 3, 4]);
    }

    #[test]
    fn seven_times_seven_long_samples_end_slow_start() {
        let mut test = DelayTest::default();
        let mut now = 0;
        let mut take = |sample| {
            now += 2;
            test.take(at(now), Span::from_millis(sample), Span::ZERO)
        };
        assert!((0..20).all(|_| !take(100)));
        // A single sample above the quarter, and many below it.
        assert!(!take(200));
        assert!((0..20).all(|_| !take(125)));
        // Six samples until all seven are long, and seven tests of them.
        let long: Vec<_> = (0..13).map(|_| take(126)).collect();
        assert_eq!(long.iter().position(|ends| *ends), Some(12));
    }

    #[test]
    fn samples_within_a_millisecond_do_not_count() {
        let mut test = DelayTest::default();
        for sample in 0..1000 {
            let now = Time::ZERO + Span::from_nanos(1000 * sample);
            test.take(now, Span::from_millis(100), Span::ZERO);
        }
        assert_eq!(test.base, None);
    }

    #[test]
    fn the_peak_is_over_the_longer_of_both_intervals() {
        let mut peak = PeakRate::default();
        peak.take(at(100), at(0), 1000);
        peak.take(at(101), at(1), 2000);
        assert_eq!(peak.peak, 0.0, "a millisecond is too short");
        peak.take(at(102), at(2), 3000);
        assert_eq!(peak.peak, 1e6);
        peak.take(at(104), at(12), 13_000);
        assert_eq!(peak.peak, 1e6, "10,000 bytes were sent in 10 ms");
        peak.take(at(124), at(17), 53_000);
        assert_eq!(peak.peak, 2e6, "40,000 bytes arrived in 20 ms");
    }
}
