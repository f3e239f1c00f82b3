//! The low-pass filter of TCP Westwood: a first-order one, discretised by Tustin's rule for
//! samples that come at uneven intervals.
//!
//! With D the interval and tau the time constant,
//!
//! y_k = c y_(k-1) + (1 - c) (x_k + x_(k-1)) / 2, where c = (2 tau - D) / (2 tau + D).
//!
//! The rule needs intervals that are short against tau, and silence has to count: without a sample
//! for tau / m, one of zero is fed in its place. Starts from zero.

use units::{Span, Time};

use crate::window::whole;

/// The filter and its clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LowPass {
    value: f64,
    sample: f64,
    /// Of the last sample, real or in place of silence.
    at: Time,
    /// m: samples in a time constant below which silence counts.
    rate: f64,
}

impl LowPass {
    /// A filter that starts from zero at `now`; m is at least 2 in the paper.
    pub(crate) fn new(now: Time, m: f64) -> Self {
        Self { value: 0.0, sample: 0.0, at: now, rate: m }
    }

    /// A sample that stands for the time since the last one.
    pub(crate) fn feed(&mut self, now: Time, tau: Span, sample: f64) {
        self.pass_silence(now, tau);
        self.step(now.since(self.at), tau, sample);
        self.at = now;
    }

    /// The value at `now`, with the silence up to then.
    pub(crate) fn value_at(&self, now: Time, tau: Span) -> f64 {
        let mut filter = *self;
        filter.pass_silence(now, tau);
        filter.value
    }

    /// Feeds the zeros of the time that has passed. After the first of them the filter only decays.
    fn pass_silence(&mut self, now: Time, tau: Span) {
        let step = whole((tau.as_nanos() as f64 / self.rate).max(1.0));
        let zeros = now.since(self.at).as_nanos().saturating_sub(1) / step;
        if zeros > 0 {
            let step = Span::from_nanos(step);
            self.step(step, tau, 0.0);
            self.value *= libm::pow(weight(step, tau), (zeros - 1) as f64);
            self.at += Span::from_nanos(step.as_nanos() * zeros);
        }
    }

    fn step(&mut self, interval: Span, tau: Span, sample: f64) {
        let old = weight(interval, tau);
        self.value = old * self.value + (1.0 - old) * 0.5 * (sample + self.sample);
        self.sample = sample;
    }
}

/// c: the weight of the old value.
fn weight(interval: Span, tau: Span) -> f64 {
    let (interval, tau) = (interval.as_secs_f64(), tau.as_secs_f64());
    (2.0 * tau - interval) / (2.0 * tau + interval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::bandwidth::samples::at;

    const TAU: Span = Span::from_millis(500);

    fn fed(samples: &[(u64, f64)]) -> LowPass {
        let mut filter = LowPass::new(at(0), 2.0);
        for &(milliseconds, sample) in samples {
            filter.feed(at(milliseconds), TAU, sample);
        }
        filter
    }

    #[test]
    fn a_sample_is_averaged_with_the_one_before_it() {
        // D = 200 ms: c = 0.8 / 1.2 = 2/3.
        let filter = fed(&[(200, 900.0), (400, 300.0)]);
        assert!((filter.value - (2.0 / 3.0 * 150.0 + 200.0)).abs() < 1e-9, "{}", filter.value);
    }

    #[test]
    fn silence_counts_as_zeros_a_part_of_the_time_constant_apart() {
        // 250 ms: c = 3/5. From 150 a first zero gives 90 + 0.4 * 450, and a second 3/5 of that.
        let filter = fed(&[(200, 900.0)]);
        assert!((filter.value_at(at(450), TAU) - 150.0).abs() < 1e-9);
        assert!((filter.value_at(at(451), TAU) - 270.0).abs() < 1e-9);
        assert!((filter.value_at(at(701), TAU) - 162.0).abs() < 1e-9);
    }

    #[test]
    fn a_sample_after_silence_stands_for_the_rest_of_it() {
        // 100 ms after the second zero: c = 0.9 / 1.1.
        let filter = fed(&[(200, 900.0), (800, 300.0)]);
        let expected = 9.0 / 11.0 * 162.0 + 2.0 / 11.0 * 150.0;
        assert!((filter.value - expected).abs() < 1e-9, "{}", filter.value);
    }

    #[test]
    fn hours_of_silence_end_at_zero() {
        let filter = fed(&[(200, 900.0)]);
        let value = filter.value_at(at(36_000_000), TAU);
        assert!((0.0..1e-9).contains(&value), "{value}");
    }
}
