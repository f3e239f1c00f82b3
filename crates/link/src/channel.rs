//! What a channel does to packets: nothing, packet errors, or bit errors.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// How packets are damaged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Errors {
    /// Never.
    None,
    /// Each packet with this probability.
    Packet {
        /// Packet error rate, 0 to 1.
        per: f64,
    },
    /// Each bit with this probability.
    Bit {
        /// Bit error rate, 0 to 1.
        ber: f64,
        /// Proportion of wrong bits that is still corrected, 0 to 1.
        correction_threshold: f64,
    },
}

impl Errors {
    /// Probability that a packet of `bytes` is damaged.
    ///
    /// With bit errors, PER = 1 - (1 - BER)^N, or the upper tail of the binomial distribution
    /// when the receiver corrects some errors. `libm` gives the same digits on every machine.
    pub fn packet_error_rate(&self, bytes: u32) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::Packet { per } => per,
            Self::Bit { ber, correction_threshold } => {
                let bits = f64::from(bytes) * 8.0;
                let corrected = (correction_threshold * bits).floor();
                if corrected == 0.0 {
                    -libm::expm1(bits * libm::log1p(-ber))
                } else {
                    more_errors_than(corrected as u32, bits, ber)
                }
            }
        }
    }
}

/// P(X > k) for X binomial with `n` trials of probability `p`.
fn more_errors_than(k: u32, n: f64, p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return if f64::from(k) < n { 1.0 } else { 0.0 };
    }
    let log_odds = libm::log(p) - libm::log1p(-p);
    let mut log_term = n * libm::log1p(-p);
    let mut at_most = libm::exp(log_term);
    for i in 1..=k {
        let i = f64::from(i);
        log_term += libm::log((n - i + 1.0) / i) + log_odds;
        at_most += libm::exp(log_term);
    }
    (1.0 - at_most).clamp(0.0, 1.0)
}

/// A channel with its own stream of randomness.
#[derive(Clone, Debug)]
pub struct Channel {
    errors: Errors,
    rng: Xoshiro256PlusPlus,
    /// Length and damage threshold of the last packet, see [`Channel::damages`].
    cached: (u32, u64),
}

impl Channel {
    /// A channel that draws from `rng`.
    pub fn new(errors: Errors, rng: Xoshiro256PlusPlus) -> Self {
        Self { errors, rng, cached: (u32::MAX, 0) }
    }

    /// Whether the next packet, of `bytes`, is damaged. Draws once per packet, whatever its
    /// length, so that the n-th packet of two runs meets the same number.
    pub fn damages(&mut self, bytes: u32) -> bool {
        if self.errors == Errors::None {
            return false;
        }
        if self.cached.0 != bytes {
            let per = self.errors.packet_error_rate(bytes);
            self.cached = (bytes, (per * 2f64.powi(64)) as u64);
        }
        self.rng.next_u64() < self.cached.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Purpose, stream};

    fn bit(ber: f64, correction_threshold: f64) -> Errors {
        Errors::Bit { ber, correction_threshold }
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

    #[test]
    fn a_channel_damages_the_configured_share_of_packets() {
        let rng = stream(1, Purpose::Channel, 0);
        let mut channel = Channel::new(Errors::Packet { per: 0.1 }, rng);
        let damaged = (0..100_000).filter(|_| channel.damages(1500)).count();
        // Five standard deviations of the binomial distribution are 474.
        assert!((9526..=10_474).contains(&damaged), "{damaged}");
    }

    #[test]
    fn certain_loss_loses_every_packet() {
        let rng = stream(1, Purpose::Channel, 0);
        let mut channel = Channel::new(Errors::Packet { per: 1.0 }, rng);
        assert!((0..1000).all(|_| channel.damages(40)));
    }
}
