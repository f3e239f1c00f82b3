//! Channels: perfect, packet errors, bit errors, loss bursts, or a satellite link under rain, with
//! one modulation and code or with many.
//!
//! Decisions:
//! - Channels damage IP packets, framing only takes time: framing is synchronisation, coding and
//!   padding; PER = 1 - (1 - BER)^N counts the packet.

mod awgn;
mod bursts;
mod code;
mod fade;
mod lock;

use std::collections::BTreeMap;
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use units::Time;

pub(crate) use awgn::noise_rise;
pub use awgn::{Awgn, Budget};
pub use bursts::{Bursts, Length as BurstLength};
pub use code::Code;
pub use fade::Fade;
pub(crate) use lock::first_instant;
pub use lock::{Lock, Outage};

use awgn::Receiver;
use bursts::Chain;

use crate::correlated::{Chance, share};
use crate::dynamics::Timeline;
use crate::modem::Acm;
use crate::stream::{Purpose, Seed, Trials};

/// Error model of a channel.
#[derive(Clone, Debug, PartialEq)]
pub enum Errors {
    /// Never.
    Perfect,
    /// Each packet independently with this probability.
    PacketErrors {
        /// Packet error rate, 0 to 1.
        per: f64,
    },
    /// Packets whose losses are correlated as in netem.
    Correlated(CorrelatedErrors),
    /// Each bit independently with this probability: PER = 1 - (1 - BER)^N for a packet of N bits.
    BitErrors {
        /// Bit error rate, 0 to 1.
        ber: f64,
        /// Proportion of wrong bits that is still corrected, 0 to 1.
        ecc_threshold: f64,
    },
    /// Several packets in a row.
    Bursts(Bursts),
    /// By noise, with an Eb/N0 that changes with the weather.
    Awgn {
        /// Link budget, fade and outages.
        awgn: Arc<Awgn>,
        /// The file that the fade was read from, as it was written.
        file: Option<String>,
    },
    /// Where the signal is too weak for what the modem sends, which changes with the weather.
    Acm {
        /// Modem, signal and choices.
        acm: Arc<Acm>,
        /// The file that the fade was read from, as it was written.
        file: Option<String>,
    },
}

/// Losses by random numbers with a correlation: `loss P CORRELATION` of netem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorrelatedErrors {
    /// A packet is lost where its number is at most this.
    pub per: f64,
    /// Correlation of the numbers.
    pub correlation: f64,
    /// Share of packets that are lost in the long run.
    pub mean_loss: f64,
}

impl CorrelatedErrors {
    /// Losses with this probability and this correlation, from 0 to below 1.
    pub fn new(per: f64, correlation: f64) -> Self {
        Self { per, correlation, mean_loss: share(per, correlation) }
    }
}

impl Errors {
    /// The changes of the rate that come with it.
    pub fn rates(&self) -> Option<&Timeline> {
        match self {
            Self::Acm { acm, .. } => Some(acm.rates()).filter(|rates| !rates.is_empty()),
            _ => None,
        }
    }

    /// Probability that a packet of `bytes` is corrupted; in the long run if losses come in bursts,
    /// in clear sky if they depend on the weather.
    ///
    /// With bit errors, PER = 1 - (1 - BER)^N, or the upper tail of the binomial distribution
    /// when the receiver corrects some errors. `libm` gives the same digits on every machine.
    // Asked when the length of packets changes; a channel remembers the answer.
    #[inline(never)]
    pub fn packet_error_rate(&self, bytes: u32) -> f64 {
        match *self {
            Self::Perfect => 0.0,
            Self::PacketErrors { per } => per,
            Self::Correlated(CorrelatedErrors { mean_loss, .. }) => mean_loss,
            Self::BitErrors { ber, ecc_threshold } => {
                let bits = f64::from(bytes) * 8.0;
                let corrected = (ecc_threshold * bits).floor();
                if corrected == 0.0 {
                    -libm::expm1(bits * libm::log1p(-ber))
                } else {
                    more_errors_than(corrected, bits, ber)
                }
            }
            Self::Bursts(ref bursts) => bursts.mean_loss,
            Self::Awgn { ref awgn, .. } => {
                let budget = awgn.budget();
                budget.packet_error_rate(budget.eb_n0, bytes)
            }
            Self::Acm { ref acm, .. } => f64::from(u8::from(acm.signal().es_n0 < acm.least())),
        }
    }
}

/// P(X > k) for X binomial with `n` trials of probability `p`; `k` and `n` are whole.
///
/// Sums the tail that does not hold the mean, from its largest term on, until the terms no longer
/// count: some standard deviations, and not all `k` terms.
pub(crate) fn more_errors_than(k: f64, n: f64, p: f64) -> f64 {
    if p <= 0.0 || k >= n {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    let odds = p / (1.0 - p);
    let is_lower = k < n * p;
    let mut i = if is_lower { k } else { k + 1.0 };
    let choose = libm::lgamma(n + 1.0) - libm::lgamma(i + 1.0) - libm::lgamma(n - i + 1.0);
    let mut term = libm::exp(choose + i * libm::log(p) + (n - i) * libm::log1p(-p));
    let mut sum = 0.0;
    while term > sum * f64::EPSILON {
        sum += term;
        if is_lower {
            term *= i / ((n - i + 1.0) * odds);
            i -= 1.0;
        } else {
            term *= (n - i) * odds / (i + 1.0);
            i += 1.0;
        }
    }
    (if is_lower { 1.0 - sum } else { sum }).clamp(0.0, 1.0)
}

/// A random number below this happens with `probability`.
#[expect(clippy::cast_possible_truncation, reason = "saturates for a probability of one")]
pub(crate) fn threshold(probability: f64) -> u64 {
    (probability * 2f64.powi(64)) as u64
}

/// A channel with its own stream of randomness.
#[derive(Clone, Debug)]
pub struct Channel {
    process: Process,
    rng: Xoshiro256PlusPlus,
}

/// The process that decides about the next packet.
#[derive(Clone, Debug)]
enum Process {
    Perfect,
    Independent {
        errors: Errors,
        /// Length and corrupt threshold of the last packet.
        cached: (u32, u64),
        /// In a box, as few channels need it.
        known: Box<Thresholds>,
    },
    /// In boxes, so that the channels above stay small.
    Correlated(Box<Chance>),
    Bursts(Box<Chain>),
    Awgn(Box<Receiver>),
    Acm(Box<Demodulator>),
}

/// A demodulator of a link with a modem: where it stands among its outages.
#[derive(Clone, Debug)]
struct Demodulator {
    acm: Arc<Acm>,
    outage: usize,
}

impl Demodulator {
    /// Returns true if a packet that passes at `now` is lost.
    fn is_out(&mut self, now: Time) -> bool {
        let outages = self.acm.outages();
        while outages.get(self.outage).is_some_and(|(_, to)| *to <= now) {
            self.outage += 1;
        }
        outages.get(self.outage).is_some_and(|(from, _)| *from <= now)
    }
}

/// The corrupt thresholds of all lengths of packets so far, and the draws.
#[derive(Clone, Debug, Default)]
struct Thresholds {
    by_length: BTreeMap<u32, u64>,
    trials: Trials,
}

impl Channel {
    /// The channel of direction `entity` in a run with `seed`.
    pub fn new(errors: Errors, seed: &Seed, entity: u64) -> Self {
        let mut rng = match errors {
            Errors::Perfect
            | Errors::Acm { .. }
            | Errors::PacketErrors { .. }
            | Errors::BitErrors { .. } => seed.trials(entity),
            Errors::Correlated(_) | Errors::Bursts(_) | Errors::Awgn { .. } => {
                seed.stream(Purpose::Channel, entity)
            }
        };
        let process = match errors {
            Errors::Perfect => Process::Perfect,
            Errors::PacketErrors { .. } | Errors::BitErrors { .. } => {
                Process::Independent { errors, cached: (u32::MAX, 0), known: Box::default() }
            }
            Errors::Correlated(CorrelatedErrors { per, correlation, .. }) => {
                Process::Correlated(Chance::new(per, correlation, rng.clone()).into())
            }
            Errors::Bursts(bursts) => Process::Bursts(Chain::new(&bursts, &mut rng).into()),
            Errors::Awgn { awgn, .. } => Process::Awgn(Receiver::new(awgn).into()),
            Errors::Acm { acm, .. } => Process::Acm(Demodulator { acm, outage: 0 }.into()),
        };
        Self { process, rng }
    }

    /// Returns true if the next packet, of `bytes`, is corrupted; its last bit passes at `now`,
    /// which must not go back. Draws equally often for each packet, whatever its length and its
    /// fate, so that the n-th packet of two runs meets the same numbers.
    #[inline]
    pub fn corrupts(&mut self, now: Time, bytes: u32) -> bool {
        // One comparison for most links; a match alone would be a jump through a table.
        !matches!(self.process, Process::Perfect) && self.damages_next(now, bytes)
    }

    #[inline(never)]
    fn damages_next(&mut self, now: Time, bytes: u32) -> bool {
        let Process::Independent { errors, cached, known } = &mut self.process else {
            return self.damages_by_its_state(now, bytes);
        };
        if cached.0 != bytes {
            let rate = || threshold(errors.packet_error_rate(bytes));
            *cached = (bytes, *known.by_length.entry(bytes).or_insert_with(rate));
            known.trials.threshold = known.trials.threshold.max(cached.1);
        }
        let is_lost = self.rng.next_u64() < cached.1;
        known.trials.packets += 1;
        known.trials.lost += u64::from(is_lost);
        is_lost
    }

    /// Draws so far; `None` if its packets are not lost independently of each other.
    pub(crate) fn trials(&self) -> Option<Trials> {
        match &self.process {
            Process::Independent { known, .. } => Some(known.trials),
            _ => None,
        }
    }

    /// Apart, so that a packet of the channels with independent errors finds a short function.
    #[inline(never)]
    fn damages_by_its_state(&mut self, now: Time, bytes: u32) -> bool {
        match &mut self.process {
            Process::Perfect | Process::Independent { .. } => false,
            Process::Correlated(chance) => chance.happens(),
            Process::Bursts(chain) => chain.loses(now, &mut self.rng),
            Process::Awgn(receiver) => receiver.corrupts(self.rng.next_u64(), now, bytes),
            Process::Acm(demodulator) => demodulator.is_out(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bit(ber: f64, ecc_threshold: f64) -> Errors {
        Errors::BitErrors { ber, ecc_threshold }
    }

    #[test]
    fn bit_errors_give_the_published_packet_error_rates() {
        for (ber, per) in [(1e-5, 0.113), (1e-6, 0.0119), (1e-7, 1.2e-3), (1e-8, 1.2e-4)] {
            let computed = bit(ber, 1.2e-6).packet_error_rate(1500);
            assert!((computed / per - 1.0).abs() < 0.01, "BER {ber}: {computed}");
        }
    }

    #[test]
    fn corrected_errors_leave_the_tail_of_the_binomial_distribution() {
        // 80 bits, one error corrected: 1 - q^80 - 80 p q^79.
        let (p, q) = (0.01f64, 0.99f64);
        let exact = 1.0 - q.powi(80) - 80.0 * p * q.powi(79);
        let computed = bit(p, 0.0125).packet_error_rate(10);
        assert!((computed - exact).abs() < 1e-12, "{computed} instead of {exact}");
    }

    /// The sum of all terms from zero errors on, as it was computed before.
    fn plainly(k: u32, n: f64, p: f64) -> f64 {
        let log_odds = libm::log(p) - libm::log1p(-p);
        let mut log_term = n * libm::log1p(-p);
        let mut at_most = libm::exp(log_term);
        for i in (1..=k).map(f64::from) {
            log_term += libm::log((n - i + 1.0) / i) + log_odds;
            at_most += libm::exp(log_term);
        }
        (1.0 - at_most).clamp(0.0, 1.0)
    }

    #[test]
    fn the_tail_is_that_of_all_its_terms() {
        for (n, p) in [(80.0, 0.01), (320.0, 0.3), (12_000.0, 1e-4), (12_000.0, 0.05)] {
            for share in [0.0, 0.001, 0.02, 0.049, 0.05, 0.06, 0.3, 0.9] {
                let k = (share * n) as u32;
                let (found, exact) = (more_errors_than(k.into(), n, p), plainly(k, n, p));
                assert!((found - exact).abs() < 1e-9, "{k} of {n} at {p}: {found}, {exact}");
            }
        }
    }

    /// Before, each packet of another length than the one before cost up to 26 ms.
    #[test]
    fn the_tail_of_the_longest_packet_has_a_few_thousand_terms() {
        let mut sum = 0.0;
        for bytes in 40..65_535 {
            sum += bit(0.1, 0.1).packet_error_rate(bytes);
        }
        // Half of all packets have more errors than the mean, and all lengths are done within a
        // test.
        assert!((20_000.0..40_000.0).contains(&sum), "{sum}");
    }

    #[test]
    fn a_receiver_that_corrects_all_bits_loses_nothing() {
        assert_eq!(bit(1.0, 1.0).packet_error_rate(10), 0.0);
        assert_eq!(bit(0.5, 1.0).packet_error_rate(10), 0.0);
        assert_eq!(bit(1.0, 0.99).packet_error_rate(10), 1.0);
        assert_eq!(bit(0.0, 0.5).packet_error_rate(10), 0.0);
    }

    #[test]
    fn two_and_more_bits_are_corrected_as_far_as_the_share_goes() {
        // 80 bits, two errors corrected, and then the first share that corrects three.
        let (p, q) = (0.01f64, 0.99f64);
        let two = 1.0 - q.powi(80) - 80.0 * p * q.powi(79) - 3160.0 * p * p * q.powi(78);
        let three = two - 82_160.0 * p.powi(3) * q.powi(77);
        for (share, exact) in [(0.025, two), (0.0374, two), (0.0375, three)] {
            let computed = bit(p, share).packet_error_rate(10);
            assert!((computed - exact).abs() < 1e-12, "{share}: {computed} instead of {exact}");
        }
    }

    #[test]
    fn a_channel_asks_the_process_that_it_has() {
        let lost = |errors, packets| {
            let mut channel = Channel::new(errors, &Seed::new(1), 0);
            (0..packets).filter(|_| channel.corrupts(Time::ZERO, 1500)).count()
        };
        let awgn = |eb_n0| {
            let awgn = Awgn::new(Budget {
                eb_n0,
                code: Code::Uncoded,
                errors_per_event: 1.0,
                system_temperature: None,
                fade: Fade::constant(0.0),
                lock: None,
            });
            Errors::Awgn { awgn: awgn.into(), file: None }
        };
        assert_eq!([0.0, 20.0].map(|eb_n0| lost(awgn(eb_n0), 100)), [100, 0]);
        let mean_burst = BurstLength::Packets(1.0);
        let bursts = Bursts { mean_loss: 0.5, mean_burst, loss_in_burst: 1.0, loss_in_gap: 0.0 };
        assert_eq!(lost(Errors::Bursts(bursts), 100), 50, "every other packet");
        assert_eq!(lost(Errors::Perfect, 100), 0);
    }

    #[test]
    fn a_length_that_comes_again_is_not_computed_again() {
        let mut channel = Channel::new(bit(0.04, 0.05), &Seed::new(1), 0);
        for packet in 0..1000 {
            channel.corrupts(Time::ZERO, if packet % 2 == 0 { 1500 } else { 40 });
        }
        let Process::Independent { known, .. } = channel.process else { panic!("another process") };
        assert_eq!(known.by_length.keys().copied().collect::<Vec<_>>(), [40, 1500]);
    }

    #[test]
    fn a_channel_damages_the_configured_share_of_packets() {
        let mut channel = Channel::new(Errors::PacketErrors { per: 0.1 }, &Seed::new(1), 0);
        let corrupted = (0..100_000).filter(|_| channel.corrupts(Time::ZERO, 1500)).count();
        // Five standard deviations of the binomial distribution are 474.
        assert!((9526..=10_474).contains(&corrupted), "{corrupted}");
    }

    /// netem's `loss 30% 50%` over a million packets: the share of the losses, and of two in a row,
    /// whose probability is that of two numbers of the formula below the threshold.
    #[test]
    fn a_channel_with_a_correlation_loses_the_share_that_follows_from_it() {
        let errors = CorrelatedErrors::new(0.3, 0.5);
        assert_eq!(Errors::Correlated(errors).packet_error_rate(40), errors.mean_loss);
        let mut channel = Channel::new(Errors::Correlated(errors), &Seed::new(1), 0);
        let lost: Vec<_> = (0..1_000_000).map(|_| channel.corrupts(Time::ZERO, 1500)).collect();
        let share = lost.iter().filter(|lost| **lost).count() as f64 / 1e6;
        assert!((share / errors.mean_loss - 1.0).abs() < 0.01, "{share}, {}", errors.mean_loss);
        assert!(share < 0.25);
        let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / 1e6;
        assert!(pairs > 1.5 * share * share, "losses come together: {pairs}, {share}");
    }

    #[test]
    fn certain_loss_loses_every_packet() {
        let mut channel = Channel::new(Errors::PacketErrors { per: 1.0 }, &Seed::new(1), 0);
        assert!((0..1000).all(|_| channel.corrupts(Time::ZERO, 40)));
    }
}
