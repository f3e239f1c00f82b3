//! Accuracy of the emulation: delay errors of packets, and rates of links.

use link::Framing;
use units::{Rate, Span, Time};

/// Least busy time of a link for its rate to be reported: in less, the jitter of single packets
/// is measured.
const LEAST_BUSY_S: f64 = 0.1;

/// Buckets for each power of two: a percentile is at most a thirty-second too high.
const STEPS: u64 = 32;

/// A histogram of times whose buckets widen with the time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    max: Span,
}

impl Histogram {
    #[inline]
    pub(crate) fn add(&mut self, value: Span) {
        let bucket = bucket(value.as_nanos());
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.max = self.max.max(value);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn max(&self) -> Span {
        self.max
    }

    /// A time that the share `percent` of all does not exceed; zero if there is none.
    pub(crate) fn percentile(&self, percent: u64) -> Span {
        let wanted = (self.count * percent).div_ceil(100);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Span::from_nanos(largest_of(bucket)).min(self.max);
            }
        }
        self.max
    }
}

/// The bucket of a value: exact below `2 STEPS`, then `STEPS` for each power of two.
fn bucket(nanos: u64) -> usize {
    if nanos < STEPS {
        return nanos as usize;
    }
    let shift = nanos.ilog2() - STEPS.ilog2();
    (u64::from(shift) * STEPS + (nanos >> shift)) as usize
}

/// The largest value of a bucket.
fn largest_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * STEPS {
        return bucket;
    }
    let shift = bucket / STEPS - 1;
    ((bucket - shift * STEPS) << shift) + ((1 << shift) - 1)
}

/// The rate of the last link before a host, measured over packets that left it back to back.
#[derive(Clone, Debug)]
pub(crate) struct RateMeter {
    pub(crate) output: usize,
    rate: Rate,
    framing: Framing,
    /// When the packet before was to come, and when it came.
    last: Option<(Time, Time)>,
    bytes: u64,
    /// Seconds that the bytes were to take, and that they took.
    planned: f64,
    took: f64,
}

impl RateMeter {
    /// A meter for an output port of this rate, which adds this framing to packets.
    pub(crate) fn new(output: usize, rate: Rate, framing: Framing) -> Self {
        Self { output, rate, framing, last: None, bytes: 0, planned: 0.0, took: 0.0 }
    }

    /// As the scenario has it.
    pub(crate) fn configured_bps(&self) -> f64 {
        self.rate.bits_per_second() as f64
    }

    /// A packet of `bytes` that was to come at `planned` came at `actual`.
    #[inline]
    pub(crate) fn delivered(&mut self, planned: Time, actual: Time, bytes: u16) {
        let bytes = u64::from(self.framing.bytes(bytes.into()));
        // Rounded up, for links carry the remainder of a nanosecond from packet to packet.
        let duration = (bytes * 8 * 1_000_000_000).div_ceil(self.rate.bits_per_second());
        if let Some((planned_before, actual_before)) = self.last
            && planned.since(planned_before).as_nanos() <= duration
        {
            self.bytes += bytes;
            self.planned += planned.since(planned_before).as_secs_f64();
            self.took += actual.since(actual_before).as_secs_f64();
        }
        self.last = Some((planned, actual));
    }

    /// Bits per second while packets came back to back; `None` if that was too short.
    pub(crate) fn achieved_bps(&self) -> Option<f64> {
        (self.planned >= LEAST_BUSY_S).then(|| self.bytes as f64 * 8.0 / self.took)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_at_most_a_thirty_second_too_high() {
        let mut histogram = Histogram::default();
        for micros in 1..=1000 {
            histogram.add(Span::from_nanos(micros * 1000));
        }
        for (percent, exact) in [(50, 500_000.0), (99, 990_000.0), (100, 1_000_000.0)] {
            let measured = histogram.percentile(percent).as_nanos() as f64;
            assert!(measured >= exact && measured <= exact * (1.0 + 1.0 / 32.0), "{measured}");
        }
        assert_eq!(histogram.max(), Span::from_millis(1));
    }

    #[test]
    fn every_value_is_in_a_bucket_whose_largest_is_not_smaller() {
        for nanos in (0..5000).chain([u64::MAX / 2, u64::MAX]) {
            let bucket = bucket(nanos);
            assert!(largest_of(bucket) >= nanos, "{nanos}");
            assert!(bucket == 0 || largest_of(bucket - 1) < nanos, "{nanos}");
        }
    }

    #[test]
    fn nothing_measured_is_zero() {
        assert_eq!(Histogram::default().percentile(99), Span::ZERO);
    }

    /// 1000 bytes take 1 ms.
    fn meter() -> RateMeter {
        RateMeter::new(0, Rate::from_bits_per_second(8_000_000), Framing::default())
    }

    fn at(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    #[test]
    fn a_link_that_is_late_all_the_time_is_as_fast_as_it_should_be() {
        let mut meter = meter();
        (0..200).for_each(|n| meter.delivered(at(1000 * n), at(1000 * n + 300), 1000));
        assert!((meter.achieved_bps().unwrap() - 8e6).abs() < 1.0);
    }

    #[test]
    fn a_link_that_falls_behind_is_slower() {
        let mut meter = meter();
        (0..200).for_each(|n| meter.delivered(at(1000 * n), at(1250 * n), 1000));
        assert!((meter.achieved_bps().unwrap() - 6.4e6).abs() < 1.0);
    }

    #[test]
    fn pauses_do_not_count() {
        let mut meter = meter();
        (0..200).for_each(|n| meter.delivered(at(5000 * n), at(5000 * n), 1000));
        assert_eq!(meter.achieved_bps(), None);
    }
}
