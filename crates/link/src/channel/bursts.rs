//! The Gilbert-Elliott model (Gilbert, Capacity of a burst-noise channel, Bell System Technical
//! Journal, 1960; Elliott, 1963), with one step per packet, or in continuous time.
//!
//! In each state a packet is lost with a fixed probability, which is zero in the good state unless
//! Elliott's `loss_in_gap` is set. netem's `loss gemodel p r 1-h 1-k` is the chain in packets: mean
//! burst 1 / r, loss in burst 1-h, loss in gap 1-k, mean loss (p (1-h) + r (1-k)) / (p + r). In the
//! discrete model the state may change after each packet, so it stands still while no packet
//! passes. In continuous time both states last for exponentially distributed times, whatever
//! passes. The instants of the changes depend on the random stream alone, so that all controllers
//! meet the same bursts at the same times.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use units::{Span, Time};

use super::threshold;

/// Mean length of a stay in one state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// In packets.
    Packets(f64),
    /// In time.
    Time(Span),
}

/// A chain, described by its means in the long run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Share of packets that are lost.
    pub mean_loss: f64,
    /// Mean stay in the bad state: at least one packet, or at least a nanosecond.
    pub mean_burst: Length,
    /// Probability that a packet in the bad state is lost.
    pub loss_in_burst: f64,
    /// Probability that a packet in the good state is lost: below `loss_in_burst`, and at most
    /// `mean_loss`.
    pub loss_in_gap: f64,
}

impl Bursts {
    /// Share of packets, or of time, in the bad state.
    fn bad_share(&self) -> f64 {
        (self.mean_loss - self.loss_in_gap) / (self.loss_in_burst - self.loss_in_gap)
    }

    /// Mean stay in the good state, in packets or in seconds as `mean_burst`; infinite without
    /// loss.
    ///
    /// As many bursts begin as end, so the two means are in the ratio of the two shares.
    pub fn mean_gap(&self) -> f64 {
        let burst = match self.mean_burst {
            Length::Packets(packets) => packets,
            Length::Time(time) => time.as_secs_f64(),
        };
        burst * (1.0 - self.bad_share()) / self.bad_share()
    }

    /// The largest mean loss of any chain with these bursts: one good packet between two of them,
    /// or no time at all.
    pub fn largest_mean_loss(&self) -> f64 {
        match self.mean_burst {
            Length::Packets(burst) => {
                (self.loss_in_burst * burst + self.loss_in_gap) / (1.0 + burst)
            }
            Length::Time(_) => self.loss_in_burst,
        }
    }

    /// Mean number of changes of the state in `duration`; zero where packets change it.
    pub fn changes_in(&self, duration: Span) -> f64 {
        match self.mean_burst {
            Length::Packets(_) => 0.0,
            Length::Time(burst) => {
                2.0 * duration.as_secs_f64() / (burst.as_secs_f64() + self.mean_gap())
            }
        }
    }
}

/// A chain at work.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    bad: bool,
    /// Thresholds of the loss of a packet, in the good state and in the bad one.
    loses: [u64; 2],
    steps: Steps,
}

/// Changes of the state.
#[derive(Clone, Debug)]
enum Steps {
    /// After a packet, with these thresholds.
    PerPacket { enters: u64, leaves: u64 },
    /// At instants that are drawn from a stream of their own.
    InTime { burst_s: f64, gap_s: f64, next: Time, rng: Xoshiro256PlusPlus },
}

impl Chain {
    /// A chain in its stationary distribution at time zero.
    pub fn new(bursts: &Bursts, rng: &mut Xoshiro256PlusPlus) -> Self {
        let bad = rng.next_u64() < threshold(bursts.bad_share());
        let steps = match bursts.mean_burst {
            Length::Packets(burst) => Steps::PerPacket {
                enters: threshold(1.0 / bursts.mean_gap()),
                leaves: threshold(1.0 / burst),
            },
            Length::Time(burst) => {
                let (burst_s, gap_s) = (burst.as_secs_f64(), bursts.mean_gap());
                let mut own = rng.clone();
                own.jump();
                let next = after(Time::ZERO, if bad { burst_s } else { gap_s }, &mut own);
                Steps::InTime { burst_s, gap_s, next, rng: own }
            }
        };
        let loses = [bursts.loss_in_gap, bursts.loss_in_burst].map(threshold);
        Self { bad, loses, steps }
    }

    /// Returns true if the packet that passes at `now` is lost. `now` must not go back. Draws
    /// equally often for each packet.
    #[inline(never)]
    pub fn loses(&mut self, now: Time, rng: &mut Xoshiro256PlusPlus) -> bool {
        let loss = rng.next_u64();
        match &mut self.steps {
            Steps::PerPacket { enters, leaves } => {
                let lost = loss < self.loses[usize::from(self.bad)];
                self.bad ^= rng.next_u64() < if self.bad { *leaves } else { *enters };
                lost
            }
            Steps::InTime { burst_s, gap_s, next, rng } => {
                while *next <= now {
                    self.bad = !self.bad;
                    *next = after(*next, if self.bad { *burst_s } else { *gap_s }, rng);
                }
                loss < self.loses[usize::from(self.bad)]
            }
        }
    }
}

/// The end of a stay that begins at `start` and lasts for `mean_s` seconds on average. The end of
/// an infinite stay is the last instant.
fn after(start: Time, mean_s: f64, rng: &mut Xoshiro256PlusPlus) -> Time {
    // In (0, 1], so that the logarithm is finite.
    let uniform = ((rng.next_u64() >> 11) as f64 + 1.0) / 2f64.powi(53);
    start + Span::from_secs_f64(-mean_s * libm::log(uniform))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Purpose, stream};

    const PACKETS: usize = 1_000_000;

    fn losses(bursts: Bursts, packets: usize) -> Vec<bool> {
        let mut rng = stream(1, Purpose::Channel, 0);
        let mut chain = Chain::new(&bursts, &mut rng);
        (0..packets).map(|_| chain.loses(Time::ZERO, &mut rng)).collect()
    }

    /// The number of lost packets is nearly normal; neighbours are correlated, which multiplies
    /// its variance by (1 + c) / (1 - c), c = 1 - p - r.
    #[test]
    fn the_long_run_has_the_mean_loss_that_was_asked_for() {
        for (mean_loss, mean_burst, loss_in_burst) in
            [(0.01, 5.0, 1.0), (0.1, 1.0, 1.0), (0.2, 50.0, 0.5), (0.5, 2.0, 1.0), (0.0, 3.0, 1.0)]
        {
            let mean = Length::Packets(mean_burst);
            let lost = losses(
                Bursts { mean_loss, mean_burst: mean, loss_in_burst, loss_in_gap: 0.0 },
                PACKETS,
            );
            let measured = lost.iter().filter(|lost| **lost).count() as f64 / PACKETS as f64;
            let variance = mean_loss * (1.0 - mean_loss) * 2.0 * mean_burst / PACKETS as f64;
            let off = (measured - mean_loss).abs();
            assert!(off <= 5.0 * variance.sqrt(), "{measured} instead of {mean_loss}");
        }
    }

    #[test]
    fn bursts_have_the_mean_length_that_was_asked_for() {
        for mean_burst in [1.0, 2.5, 8.0, 40.0] {
            let mean = Length::Packets(mean_burst);
            let bursts =
                Bursts { mean_loss: 0.05, mean_burst: mean, loss_in_burst: 1.0, loss_in_gap: 0.0 };
            let lost = losses(bursts, PACKETS);
            let runs: Vec<_> = lost.chunk_by(|a, b| a == b).filter(|run| run[0]).collect();
            let mean = runs.iter().map(|run| run.len()).sum::<usize>() as f64 / runs.len() as f64;
            // Geometric: its standard deviation is below its mean.
            let margin = 5.0 * mean_burst / (runs.len() as f64).sqrt();
            assert!((mean - mean_burst).abs() < margin, "{mean} instead of {mean_burst}");
        }
    }

    /// netem's `loss gemodel 1% 16.7% 90% 0.1%` (tc-netem(8)): shares of the states and losses in
    /// the long run, and the correlation of two packets in a row, which is that of the states, 1 -
    /// p - r.
    #[test]
    fn four_parameters_have_the_losses_of_netems_formulas() {
        let (p, r, in_burst, in_gap) = (0.01, 0.167, 0.9, 0.001);
        let mean_loss = (p * in_burst + r * in_gap) / (p + r);
        let mean_burst = Length::Packets(1.0 / r);
        let bursts = Bursts { mean_loss, mean_burst, loss_in_burst: in_burst, loss_in_gap: in_gap };
        assert!((1.0 / bursts.mean_gap() - p).abs() < 1e-12, "{}", bursts.mean_gap());
        // The states are correlated: 1 % are three standard deviations of 20 million packets.
        let packets = 20 * PACKETS;
        let lost = losses(bursts, packets);
        let share = |both: fn(&[bool]) -> bool| {
            lost.windows(2).filter(|pair| both(pair)).count() as f64 / packets as f64
        };
        let measured = share(|pair| pair[0]);
        assert!((measured / mean_loss - 1.0).abs() < 0.01, "{measured} instead of {mean_loss}");
        let bad = p / (p + r);
        let covariance = bad * (1.0 - bad) * (in_burst - in_gap).powi(2) * (1.0 - p - r);
        let expected = mean_loss * mean_loss + covariance;
        let measured = share(|pair| pair[0] && pair[1]);
        assert!((measured / expected - 1.0).abs() < 0.01, "{measured} instead of {expected}");
    }

    #[test]
    fn the_largest_mean_loss_is_bursts_with_single_packets_between() {
        let mean_burst = Length::Packets(4.0);
        let bursts = Bursts { mean_loss: 0.0, mean_burst, loss_in_burst: 1.0, loss_in_gap: 0.0 };
        let bursts = Bursts { mean_loss: bursts.largest_mean_loss(), ..bursts };
        let lost = losses(bursts, 10_000);
        assert!(lost.windows(2).all(|pair| pair[0] || pair[1]));
    }

    /// Losses of a packet each `every`, for `packets` packets.
    fn spaced(bursts: Bursts, every: Span, packets: u64) -> Vec<bool> {
        let mut rng = stream(1, Purpose::Channel, 0);
        let mut chain = Chain::new(&bursts, &mut rng);
        let at = |packet| Time::from_nanos(packet * every.as_nanos());
        (0..packets).map(|packet| chain.loses(at(packet), &mut rng)).collect()
    }

    fn lasting(burst: Span, mean_loss: f64) -> Bursts {
        Bursts { mean_loss, mean_burst: Length::Time(burst), loss_in_burst: 1.0, loss_in_gap: 0.0 }
    }

    /// The share of time in the bad state is a renewal quotient: its relative error over n bursts
    /// is at most the square root of 2 / n.
    #[test]
    fn bursts_in_time_have_their_mean_loss_and_length_whatever_passes() {
        let burst = Span::from_millis(5);
        for every in [Span::from_millis(1), Span::from_nanos(100_000)] {
            let packets = 2_000_000_000_000 / every.as_nanos();
            let lost = spaced(lasting(burst, 0.02), every, packets);
            let share = lost.iter().filter(|lost| **lost).count() as f64 / packets as f64;
            // 2000 s with a burst each 250 ms: 8000 bursts.
            assert!((share / 0.02 - 1.0).abs() < 5.0 * (2.0f64 / 8000.0).sqrt(), "{share}");
            // A stay seen at a grid of d is geometric with the mean 1 / (1 - exp(-d / B)).
            let seen = 1.0 / -libm::expm1(-every.as_secs_f64() / burst.as_secs_f64());
            let runs: Vec<_> = lost.chunk_by(|a, b| a == b).filter(|run| run[0]).collect();
            let mean = runs.iter().map(|run| run.len()).sum::<usize>() as f64 / runs.len() as f64;
            assert!((mean / seen - 1.0).abs() < 5.0 / (runs.len() as f64).sqrt(), "{mean}");
        }
    }

    #[test]
    fn a_burst_in_time_ends_while_nothing_passes_and_one_in_packets_does_not() {
        let after_a_second = |mean_burst| {
            let bursts =
                Bursts { mean_loss: 0.3, mean_burst, loss_in_burst: 1.0, loss_in_gap: 0.0 };
            let (mut met, mut lost) = (0, 0);
            for seed in 0..2000 {
                let mut rng = stream(seed, Purpose::Channel, 0);
                let mut chain = Chain::new(&bursts, &mut rng);
                if chain.loses(Time::ZERO, &mut rng) {
                    met += 1;
                    lost += u32::from(chain.loses(Time::from_nanos(1_000_000_000), &mut rng));
                }
            }
            f64::from(lost) / f64::from(met)
        };
        // 0.95, and the mean loss: five standard deviations of 600 packets are 0.045 and 0.094.
        let packets = after_a_second(Length::Packets(20.0));
        assert!((packets - 0.95).abs() < 0.045, "{packets}");
        let time = after_a_second(Length::Time(Span::from_millis(5)));
        assert!((time - 0.3).abs() < 0.094, "{time}");
    }

    #[test]
    fn all_senders_meet_the_same_bursts_in_time() {
        let bursts = lasting(Span::from_millis(20), 0.1);
        let often = spaced(bursts, Span::from_millis(1), 20_000);
        let rarely = spaced(bursts, Span::from_millis(10), 2000);
        let same: Vec<_> = often.iter().step_by(10).copied().collect();
        assert_eq!(rarely, same);
    }

    #[test]
    fn no_burst_begins_without_loss() {
        assert!(
            !spaced(lasting(Span::from_millis(5), 0.0), Span::from_secs(1), 1000).contains(&true)
        );
    }
}
