//! Round-trip time and retransmission timeout (RFC 6298), and the variance estimator of Linux.

use sketch::Sketch;
use units::Span;

/// Estimator of the RTT variance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "kebab-case"), schemars(inline))]
pub enum Estimator {
    /// RFC 6298 with the gains of RFC 7323 appendix G.
    Rfc6298,
    /// The largest mean deviation of a round trip, as in Linux.
    Linux,
}

impl Estimator {
    /// The usual lower bound: that of RFC 6298 rule 2.4, and `TCP_RTO_MIN` of Linux.
    pub const fn least_rto(self) -> Span {
        match self {
            Self::Rfc6298 => Span::from_secs(1),
            Self::Linux => Span::from_millis(200),
        }
    }
}

/// Retransmission timer. The defaults are those of RFC 6298 section 2.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default))]
pub struct RtoConfig {
    /// Estimator of the RTT variance: that of RFC 6298, with gains divided by the number of samples
    /// per round trip (RFC 7323 appendix G), or `"linux"`: the largest mean deviation of a round
    /// trip.
    pub estimator: Estimator,
    /// RTO before the first RTT sample (rule 2.1).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub initial: Span,
    /// Lower bound (rule 2.4); with the estimator `"linux"` of what is added to the smoothed RTT.
    /// No part of the language: its default depends on the estimator.
    #[cfg_attr(feature = "schema", serde(skip))]
    pub min: Span,
    /// Upper bound of the RTO (rule 2.5).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub max: Span,
    /// Clock granularity G. The variance term is at least G, and the RTO is a multiple of G. The
    /// default is our choice: the clock of present systems.
    pub granularity: Span,
    /// Gain alpha of the smoothed RTT (rule 2.3).
    #[cfg_attr(
        feature = "schema",
        schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))
    )]
    pub alpha: f64,
    /// Gain beta of the RTT variance (rule 2.3).
    #[cfg_attr(
        feature = "schema",
        schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))
    )]
    pub beta: f64,
    /// Coefficient K of the variance in the RTO (rule 2.2).
    #[cfg_attr(
        feature = "schema",
        schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000))
    )]
    pub k: f64,
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self {
            estimator: Estimator::Rfc6298,
            initial: Span::from_secs(1),
            min: Estimator::Rfc6298.least_rto(),
            max: Span::from_secs(60),
            granularity: Span::from_millis(1),
            alpha: 0.125,
            beta: 0.25,
            k: 4.0,
        }
    }
}

/// State of the stream at the time of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Samples that are expected in a round trip.
    pub per_round: u64,
    /// Everything below is acknowledged.
    pub acknowledged: u64,
    /// Everything below is sent.
    pub sent: u64,
}

/// SRTT, RTTVAR and RTO.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    srtt: f64,
    /// The same in whole nanoseconds, which controllers get with each ACK.
    smoothed: Span,
    rttvar: f64,
    rto: Span,
    /// The RTO as a multiple of the granularity, without its bounds. Most samples do not change it,
    /// and need no division.
    in_ticks: Span,
    min: Span,
    sampled: bool,
    linux: Deviation,
    /// All samples in nanoseconds.
    samples: Sketch,
}

/// State of Linux's estimator, in addition to RTTVAR.
#[derive(Clone, Debug, Default)]
struct Deviation {
    /// The mean deviation of all samples.
    mean: f64,
    /// The largest that it was in this round trip, or the least that it may count as.
    largest: f64,
    /// Position sent when the round trip began: it ends with the acknowledgement of more.
    round_end: u64,
}

impl RttEstimator {
    /// No sample yet.
    pub fn new(config: &RtoConfig) -> Self {
        Self {
            srtt: 0.0,
            smoothed: Span::ZERO,
            rttvar: 0.0,
            rto: config.initial,
            in_ticks: Span::ZERO,
            min: Span::MAX,
            sampled: false,
            linux: Deviation::default(),
            samples: Sketch::new(),
        }
    }

    /// A sample of a segment that was sent once (rules 2.2 and 2.3). Ends any back-off.
    pub fn sample(&mut self, config: &RtoConfig, sample: Span, progress: Progress) {
        let r = as_float(sample);
        match config.estimator {
            Estimator::Rfc6298 => self.smooth(config, r, progress.per_round),
            Estimator::Linux => self.smooth_like_linux(config, r, progress),
        }
        self.smoothed = as_span(self.srtt);
        self.min = self.min.min(sample);
        self.samples.record(sample.as_nanos().max(1));
        let margin = as_float(config.granularity).max(config.k * self.rttvar);
        let exact = as_span(self.srtt + margin);
        if exact > self.in_ticks || self.in_ticks - exact >= config.granularity {
            self.in_ticks = exact.round_up_to(config.granularity);
        }
        self.rto = self.in_ticks.clamp(config.min, config.max);
    }

    /// A round trip that is smaller than that of the last sample, and counts for the smallest one
    /// only.
    pub fn note_smaller(&mut self, round_trip: Span) {
        self.min = self.min.min(round_trip);
    }

    /// The gains are made for one sample a round trip. With one for each ACK they would forget a
    /// round trip's variance within the next, and the RTO would fall to the RTT itself; so they
    /// are divided by the number of samples (RFC 7323 appendix G).
    fn smooth(&mut self, config: &RtoConfig, r: f64, per_round: u64) {
        if self.sampled {
            let share = if per_round > 1 { 1.0 / per_round as f64 } else { 1.0 };
            let error = (self.srtt - r).abs();
            self.rttvar += config.beta * share * (error - self.rttvar);
            self.srtt += config.alpha * share * (r - self.srtt);
        } else {
            self.srtt = r;
            self.rttvar = r / 2.0;
            self.sampled = true;
        }
    }

    /// The gains of RFC 6298 for every sample, however many a round trip has. What keeps the RTO
    /// above the RTT is that RTTVAR is the largest mean deviation of a round trip, follows a
    /// smaller one only once in each, and never adds less than the lower bound. A sample below SRTT
    /// raises the mean deviation by the product of both gains: a queue that empties is no reason
    /// for patience. After `tcp_rtt_estimator` of Linux.
    #[inline(never)]
    fn smooth_like_linux(&mut self, config: &RtoConfig, r: f64, progress: Progress) {
        // Needed once a round trip, and a division.
        let least = || config.min.as_nanos() as f64 / config.k;
        let linux = &mut self.linux;
        if !std::mem::replace(&mut self.sampled, true) {
            self.srtt = r;
            self.rttvar = least().max(r / 2.0);
            let round_end = progress.sent;
            *linux = Deviation { mean: r / 2.0, largest: self.rttvar, round_end };
            return;
        }
        let error = r - self.srtt;
        self.srtt += config.alpha * error;
        let change = config.beta * (error.abs() - linux.mean);
        let hesitates = error < 0.0 && change > 0.0;
        linux.mean += if hesitates { config.alpha * change } else { change };
        linux.largest = linux.largest.max(linux.mean);
        self.rttvar = self.rttvar.max(linux.largest);
        if progress.acknowledged > linux.round_end {
            self.rttvar -= config.beta * (self.rttvar - linux.largest);
            linux.round_end = progress.sent;
            linux.largest = least();
        }
    }

    /// The timer expired: the RTO doubles, up to its bound (rule 5.5).
    pub fn back_off(&mut self, config: &RtoConfig) {
        self.rto = self.rto.doubled(1).min(config.max);
    }

    /// The SYN was retransmitted: the RTO begins again with three seconds once data flows (rule
    /// 5.7), however often it was doubled, as in Linux (`tcp_init_metrics`). An initial RTO that is
    /// longer stays.
    pub fn restart_after_lost_syn(&mut self, config: &RtoConfig) {
        if !self.sampled {
            self.rto = config.initial.max(Span::from_secs(3));
        }
    }

    /// The retransmission timeout.
    #[inline]
    pub fn rto(&self) -> Span {
        self.rto
    }

    /// The smoothed RTT.
    #[inline]
    pub fn srtt(&self) -> Option<Span> {
        self.sampled.then_some(self.smoothed)
    }

    /// The variation of the RTT (RTTVAR).
    pub fn rttvar(&self) -> Span {
        Span::from_nanos(self.rttvar as u64)
    }

    /// All samples in nanoseconds.
    pub fn samples(&self) -> &Sketch {
        &self.samples
    }

    /// Takes the samples so far.
    pub fn take_samples(&mut self) -> Sketch {
        std::mem::take(&mut self.samples)
    }

    /// The smallest sample.
    #[inline]
    pub fn min(&self) -> Option<Span> {
        self.sampled.then_some(self.min)
    }
}

/// Nanoseconds of a span. A signed number is converted with one instruction, and no span of a round
/// trip is too large for it.
#[inline]
fn as_float(span: Span) -> f64 {
    span.as_nanos().cast_signed() as f64
}

/// Likewise in the other direction.
#[inline]
fn as_span(nanos: f64) -> Span {
    Span::from_nanos((nanos as i64).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) const CONFIG: RtoConfig = RtoConfig {
        estimator: Estimator::Rfc6298,
        initial: Span::from_secs(1),
        min: Span::from_millis(200),
        max: Span::from_secs(60),
        granularity: Span::from_millis(1),
        alpha: 0.125,
        beta: 0.25,
        k: 4.0,
    };

    fn ms(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    /// One of `per_round` samples of a round trip.
    fn one_of(per_round: u64) -> Progress {
        Progress { per_round, acknowledged: 0, sent: 0 }
    }

    #[test]
    fn the_first_sample_sets_the_rto_to_three_times_itself() {
        let mut rtt = RttEstimator::new(&CONFIG);
        assert_eq!(rtt.rto(), ms(1000));
        rtt.sample(&CONFIG, ms(500), one_of(1));
        assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(500)), ms(1500)));
    }

    #[test]
    fn the_variance_is_updated_with_the_old_mean() {
        let mut rtt = RttEstimator::new(&CONFIG);
        rtt.sample(&CONFIG, ms(400), one_of(1));
        rtt.sample(&CONFIG, ms(480), one_of(1));
        // RTTVAR = 3/4 * 200 + 1/4 * |400 - 480| = 170; SRTT = 7/8 * 400 + 1/8 * 480 = 410.
        assert_eq!((rtt.srtt(), rtt.rto()), (Some(ms(410)), ms(410 + 4 * 170)));
    }

    #[test]
    fn many_samples_a_round_trip_do_not_make_the_variance_vanish() {
        let rto_after = |samples: u64, per_round: u64| {
            let mut rtt = RttEstimator::new(&CONFIG);
            for millis in [400, 480, 440, 520, 460] {
                (0..samples).for_each(|_| rtt.sample(&CONFIG, ms(millis), one_of(per_round)));
            }
            rtt.rto().as_secs_f64()
        };
        let (single, divided, undivided) = (rto_after(1, 1), rto_after(50, 50), rto_after(50, 1));
        assert!((divided / single - 1.0).abs() < 0.2, "{divided} s and {single} s");
        assert!(undivided < 0.47, "{undivided} s: the mistake that the division prevents");
    }

    #[test]
    fn the_rto_stays_within_its_bounds() {
        let mut rtt = RttEstimator::new(&CONFIG);
        for _ in 0..100 {
            rtt.sample(&CONFIG, ms(10), one_of(1));
        }
        assert_eq!(rtt.rto(), ms(200));
        for _ in 0..20 {
            rtt.back_off(&CONFIG);
        }
        assert_eq!(rtt.rto(), Span::from_secs(60));
    }

    #[test]
    fn a_back_off_lasts_until_the_next_sample() {
        let mut rtt = RttEstimator::new(&CONFIG);
        rtt.sample(&CONFIG, ms(500), one_of(1));
        rtt.back_off(&CONFIG);
        rtt.back_off(&CONFIG);
        assert_eq!(rtt.rto(), ms(6000));
        rtt.sample(&CONFIG, ms(500), one_of(1));
        assert!(rtt.rto() < ms(1500));
    }

    #[test]
    fn a_coarse_clock_makes_the_rto_a_multiple_of_its_tick() {
        let coarse = RtoConfig { granularity: ms(500), min: ms(1000), ..CONFIG };
        let mut rtt = RttEstimator::new(&coarse);
        rtt.sample(&coarse, ms(530), one_of(1));
        assert_eq!(rtt.rto(), ms(2000));
        for _ in 0..100 {
            rtt.sample(&coarse, ms(530), one_of(1));
        }
        // SRTT + G = 1030 ms, rounded up to the next tick.
        assert_eq!(rtt.rto(), ms(1500));
    }

    #[test]
    fn lost_syns_leave_three_seconds_or_a_longer_initial_value() {
        for (initial, lost, expected) in [(1, 1, 3), (1, 5, 3), (4, 2, 4)] {
            let config = RtoConfig { initial: Span::from_secs(initial), ..CONFIG };
            let mut rtt = RttEstimator::new(&config);
            (0..lost).for_each(|_| rtt.back_off(&config));
            rtt.restart_after_lost_syn(&config);
            assert_eq!(rtt.rto(), Span::from_secs(expected), "{initial} s, {lost} lost");
        }
    }

    const LINUX: RtoConfig = RtoConfig { estimator: Estimator::Linux, ..CONFIG };

    /// A sample of round trip number `round`.
    fn of(rtt: &mut RttEstimator, round: u64, millis: u64) {
        let progress = Progress { per_round: 10, acknowledged: round, sent: round };
        rtt.sample(&LINUX, ms(millis), progress);
    }

    /// After many round trips of the same length.
    fn settled(millis: u64) -> RttEstimator {
        let mut rtt = RttEstimator::new(&LINUX);
        (0..100).for_each(|round| of(&mut rtt, round, millis));
        rtt
    }

    #[test]
    fn linux_adds_the_lower_bound_to_the_rtt_where_others_bound_the_sum() {
        assert_eq!(settled(500).rto(), ms(700));
        assert_eq!(settled(10).rto(), ms(210));
        let mut rtt = RttEstimator::new(&LINUX);
        of(&mut rtt, 0, 10);
        assert_eq!(rtt.rto(), ms(210));
    }

    #[test]
    fn in_linux_the_variance_falls_once_in_a_round_trip_however_many_samples_it_has() {
        let mut rtt = RttEstimator::new(&LINUX);
        (0..100).for_each(|_| of(&mut rtt, 0, 500));
        assert_eq!(rtt.rto(), ms(1500));
        // The first round trip has seen 250 ms; the next have seen less than the bound, 200 ms / K,
        // and go a quarter of the way to it.
        for (round, rto) in [(1, 500 + 1000), (2, 500 + 800), (3, 500 + 650)] {
            (0..100).for_each(|_| of(&mut rtt, round, 500));
            assert_eq!(rtt.rto(), ms(rto), "round trip {round}");
        }
    }

    #[test]
    fn in_linux_each_sample_above_the_mean_counts_in_full_and_one_below_for_an_eighth() {
        let after = |before, then| {
            let mut rtt = settled(before);
            of(&mut rtt, 99, then);
            rtt.rto()
        };
        // A quarter of 800 ms, four times, plus the new mean.
        assert_eq!(after(500, 1300), ms(600 + 800));
        assert_eq!(after(4500, 1300), ms(4100 + 400));
        assert_eq!(after(1300, 500), ms(1200 + 200), "100 ms, below the bound");
    }
}
