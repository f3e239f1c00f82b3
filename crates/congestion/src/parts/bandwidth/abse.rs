//! Adaptive bandwidth share estimation: samples over a time that grows with the queue, and a
//! filter that grows slower the more they vary.
//!
//! Source: R. Wang, M. Valla, M. Y. Sanadidi, M. Gerla, "Adaptive bandwidth share estimation in TCP
//! Westwood", IEEE Globecom 2002. With each ACK, of d bytes at t:
//!
//! - throughput: Th = bytes in the last RTT / RTT, and its average Thm = 0.6 Thm + 0.4 Th,
//! - sampling time: T = RTT (W - Thm RTTmin) / W. Where nothing queues, the window W is what the
//!   throughput needs and T vanishes: the shortest one is the time since the ACK before, which
//!   gives the rate of the bottleneck as a packet pair does. In a queue that others share, it grows
//!   towards the RTT, and the sample is the sender's own share,
//! - sample: s = bytes in the last T / T,
//! - spread: U = 0.6 U + 0.4 |s - s before|, with U_max the largest of the last ten,
//! - estimate: s through the filter of Westwood with tau = RTT (1 + N U / U_max), N = 10.
//!
//! Reconstructed: read in a paper that restates it, and garbled there as to which RTT in T is the
//! smallest one; here the one that makes T vanish without a queue. N and the ten are from memory.
//! Decisions: RTT is the smoothed one; ACKs that arrive at one instant are one sample with the
//! next; without any spread tau is the RTT.

use std::collections::VecDeque;

use units::{Span, Time};

use super::Estimator;
use super::low_pass::LowPass;
use crate::events::Feedback;
use crate::window::Window;

/// Parameters of the estimator.
#[derive(Clone, Copy, Debug)]
pub struct Adaptation {
    /// N: how much longer than the RTT the time constant gets at most.
    pub range: f64,
    /// How many values of U make U_max.
    pub history: usize,
    /// Weight of the new value in Thm.
    pub throughput_gain: f64,
    /// Weight of the new value in U.
    pub spread_gain: f64,
    /// Silence counts after this part of the time constant.
    pub m: f64,
}

/// Measurements of an ACK about the path.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Smoothed round-trip time.
    pub rtt: Span,
    /// Smallest round-trip time.
    pub min_rtt: Span,
    /// W in bytes.
    pub window: u64,
}

/// The adaptive estimate.
#[derive(Clone, Debug)]
pub struct Abse {
    adaptation: Adaptation,
    /// None before the first ACK, which only starts the clock: what it covers was sent before.
    filter: Option<LowPass>,
    /// When the last sample ended.
    since: Time,
    /// Bytes that have arrived since.
    pending: u64,
    /// Time of each ACK of the last round trips, and all bytes before it.
    acks: VecDeque<(Time, u64)>,
    /// All bytes.
    delivered: u64,
    /// Thm.
    throughput: Option<f64>,
    /// Last sample.
    sample: Option<f64>,
    /// U, the last one at the back.
    spreads: VecDeque<f64>,
    tau: Span,
}

impl Abse {
    /// An estimator that has seen nothing.
    pub fn new(adaptation: Adaptation) -> Self {
        Self {
            adaptation,
            filter: None,
            since: Time::ZERO,
            pending: 0,
            acks: VecDeque::new(),
            delivered: 0,
            throughput: None,
            sample: None,
            spreads: VecDeque::new(),
            tau: Span::ZERO,
        }
    }

    /// An ACK of `bytes`.
    pub fn count(&mut self, now: Time, bytes: u64, path: Path) {
        if bytes == 0 {
            return;
        }
        if self.filter.is_none() {
            self.filter = Some(LowPass::new(now, self.adaptation.m));
            self.since = now;
            self.tau = path.rtt;
            return;
        }
        self.pending += bytes;
        let gap = now.since(self.since);
        if gap == Span::ZERO {
            return;
        }
        self.remember(now, path.rtt);
        let sampling = self.sampling_time(now, gap, path);
        let sample = self.rate_over(now, sampling);
        let tau = self.time_constant(sample, path.rtt);
        if let Some(filter) = &mut self.filter {
            filter.feed(now, tau, sample);
        }
        self.tau = tau;
        self.since = now;
    }

    /// Keeps the ACKs of two round trips: the smoothed one may grow.
    fn remember(&mut self, now: Time, rtt: Span) {
        self.acks.push_back((now, self.delivered));
        self.delivered += self.pending;
        self.pending = 0;
        while self.acks.front().is_some_and(|(time, _)| now.since(*time) > rtt.doubled(1)) {
            self.acks.pop_front();
        }
    }

    /// Bytes of the ACKs later than `length` ago, over `length`.
    fn rate_over(&self, now: Time, length: Span) -> f64 {
        let first = self.acks.partition_point(|(time, _)| now.since(*time) >= length);
        let before = self.acks.get(first).map_or(self.delivered, |(_, before)| *before);
        (self.delivered - before) as f64 / length.as_secs_f64()
    }

    /// T: never shorter than the time since the last ACK.
    fn sampling_time(&mut self, now: Time, gap: Span, path: Path) -> Span {
        if path.rtt == Span::ZERO || path.window == 0 {
            return gap;
        }
        let throughput = self.rate_over(now, path.rtt);
        let gain = self.adaptation.throughput_gain;
        let mean = self.throughput.map_or(throughput, |old| (1.0 - gain) * old + gain * throughput);
        self.throughput = Some(mean);
        let needed = mean * path.min_rtt.as_secs_f64();
        let queued = 1.0 - needed / path.window as f64;
        Span::from_secs_f64(path.rtt.as_secs_f64() * queued.max(0.0)).max(gap)
    }

    /// tau.
    fn time_constant(&mut self, sample: f64, rtt: Span) -> Span {
        let gain = self.adaptation.spread_gain;
        let change = self.sample.map_or(0.0, |old| libm::fabs(sample - old));
        let spread = (1.0 - gain) * self.spreads.back().unwrap_or(&0.0) + gain * change;
        self.sample = Some(sample);
        self.spreads.push_back(spread);
        if self.spreads.len() > self.adaptation.history {
            self.spreads.pop_front();
        }
        let largest = self.spreads.iter().fold(0.0, |largest: f64, u| largest.max(*u));
        // Below that it is the rounding of numbers and no spread.
        let share = if largest > sample * f64::EPSILON { spread / largest } else { 0.0 };
        Span::from_secs_f64(rtt.as_secs_f64() * (1.0 + self.adaptation.range * share))
    }
}

impl Estimator for Abse {
    fn on_ack(&mut self, feedback: &Feedback, delivered: u64, window: &Window) {
        if let (Some(rtt), Some(min_rtt)) = (feedback.srtt, feedback.min_rtt) {
            // What duplicate ACKs add to cwnd during recovery stands for no more in the network.
            let inflated = feedback.recovering;
            let window = if inflated { window.cwnd.min(window.ssthresh) } else { window.cwnd };
            self.count(feedback.now, delivered, Path { rtt, min_rtt, window });
        }
    }

    /// With the silence since the last ACK.
    fn rate_at(&self, now: Time) -> Option<f64> {
        self.filter.map(|filter| filter.value_at(now, self.tau))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::bandwidth::samples::at;

    const RTT: Span = Span::from_millis(508);

    fn abse() -> Abse {
        Abse::new(Adaptation {
            range: 10.0,
            history: 10,
            throughput_gain: 0.4,
            spread_gain: 0.4,
            m: 2.0,
        })
    }

    fn path(rtt: Span, window: u64) -> Path {
        Path { rtt, min_rtt: RTT, window }
    }

    /// 4 Mb/s in packets of 1500 bytes: one each 3 ms, for `packets`; T of the last.
    fn train(abse: &mut Abse, packets: u64, path: Path) -> Span {
        for i in 0..packets {
            abse.count(at(3 * i), 1500, path);
        }
        abse.sampling_time(at(3 * packets - 3), Span::from_millis(3), path)
    }

    #[test]
    fn the_sampling_time_vanishes_without_a_queue() {
        // 254 kB is what 4 Mb/s and 508 ms need, and half of it is less.
        for window in [254_000, 127_000] {
            assert_eq!(train(&mut abse(), 1000, path(RTT, window)), Span::from_millis(3));
        }
    }

    #[test]
    fn the_sampling_time_is_the_share_of_the_rtt_that_the_window_spends_in_the_queue() {
        // Twice the window that is needed takes twice the time, and waits for half of it.
        let waiting = path(RTT.doubled(1), 508_000);
        let time = train(&mut abse(), 1000, waiting);
        assert!(time.abs_diff(RTT) < Span::from_millis(4), "{time}");
    }

    #[test]
    fn a_sample_is_what_came_within_the_sampling_time() {
        let mut abse = abse();
        train(&mut abse, 1000, path(RTT, 254_000));
        // One packet each 3 ms: within 30 ms there are ten.
        assert!((abse.rate_over(at(2997), Span::from_millis(30)) - 500_000.0).abs() < 1e-6);
        assert!((abse.rate_over(at(2999), Span::from_millis(3)) - 500_000.0).abs() < 1e-6);
    }

    #[test]
    fn the_time_constant_grows_with_the_spread_and_falls_back_without_it() {
        let mut abse = abse();
        assert_eq!(abse.time_constant(1000.0, RTT), RTT);
        assert_eq!(abse.time_constant(1000.0, RTT), RTT);
        let most = Span::from_millis(11 * 508);
        assert_eq!(abse.time_constant(2000.0, RTT), most);
        // U = 400, then 240: tau = RTT (1 + 10 * 0.6).
        let less = abse.time_constant(2000.0, RTT);
        assert!(less.abs_diff(Span::from_millis(7 * 508)) < Span::from_millis(1), "{less}");
        let mut last = less;
        for _ in 0..8 {
            let next = abse.time_constant(2000.0, RTT);
            assert!(next < last);
            last = next;
        }
        // The change is now more than ten observations ago.
        let later = abse.time_constant(2000.0, RTT);
        assert!((later.as_secs_f64() / last.as_secs_f64()) > 0.9, "{last} {later}");
    }

    #[test]
    fn a_train_of_acks_converges_to_the_rate_of_the_link() {
        for window in [64_000, 254_000, 508_000] {
            let mut abse = abse();
            train(&mut abse, 3000, path(RTT, window));
            let rate = abse.rate_at(at(8997)).unwrap();
            assert!((rate / 500_000.0 - 1.0).abs() < 0.01, "{window}: {rate}");
        }
    }

    #[test]
    fn bursts_of_a_small_window_give_the_rate_of_the_link_less_the_silence() {
        // 43 segments each RTT at the rate of the link, as a receiver buffer of 64 kB lets pass.
        let mut abse = abse();
        let mut rates = Vec::new();
        for round in 0..60 {
            for i in 0..43 {
                let now = at(508 * round + 3 * i);
                abse.count(now, 1500, path(RTT, 65_536));
            }
            rates.push(abse.rate_at(at(508 * round + 507)).unwrap());
        }
        let own = 43.0 * 1500.0 / 0.508;
        let last = rates.last().unwrap();
        assert!((0.5 * own..500_000.0).contains(last), "{last} of {own}");
    }

    #[test]
    fn a_hundred_thousand_segments_in_a_second_are_counted() {
        let mut abse = abse();
        let long =
            Path { rtt: Span::from_secs(1), min_rtt: Span::from_secs(1), window: 149_000_000 };
        for i in 0..400_000_u64 {
            abse.count(Time::from_nanos(10_000 * i), 1500, long);
        }
        let rate = abse.rate_at(Time::from_nanos(10_000 * 399_999)).unwrap();
        assert!(rate > 0.9 * 1.5e8 && rate < 1.01 * 1.5e8, "{rate}");
        assert!(abse.acks.len() <= 200_001);
    }

    #[test]
    fn acks_of_one_instant_are_one_sample_with_the_next() {
        let mut abse = abse();
        for (time, bytes) in [(0, 1000), (100, 1000), (100, 3000), (200, 1000)] {
            abse.count(at(time), bytes, path(RTT, 1000));
        }
        assert_eq!(abse.sample, Some(40_000.0));
    }
}
