//! The plan of a subscriber: a token bucket for the rate, and an allowance of bytes, after which a
//! lower rate holds (fair-access policy).
//!
//! The allowance is a leaky bucket: each byte fills it, and it leaks evenly over its window. While
//! it is full, packets have the reduced rate. So a terminal that always sends has the larger of the
//! reduced rate and the leak in the long run. At the rate R it reaches its allowance V after
//! V / (R - leak). Operators describe their policies in this way (HughesNet's of 2007 to 2013:
//! 200 MB in 24 hours); their exact rules are not published, so this is a reconstruction.
//!
//! Tokens are bytes of IP packets.

use link::{TokenBucket, Tokens};
use units::{Bytes, Rate, Span, Time};

/// A plan in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its rate and burst.
    pub bucket: TokenBucket,
    /// Its allowance; `None` without a limit.
    pub allowance: Option<Allowance>,
}

/// A volume in a window, and the rate of those who have used it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// The volume.
    pub volume: Bytes,
    /// The window.
    pub window: Span,
    /// Rate of a terminal that has used its volume.
    pub reduced_rate: Rate,
    /// Bytes that count at the start.
    pub used: Bytes,
}

impl Allowance {
    /// Rate at which the allowance comes back.
    pub fn leak(&self) -> Rate {
        let bits = u128::from(self.volume.get()) * 8_000_000_000;
        let rate = bits / u128::from(self.window.as_nanos().max(1));
        Rate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

/// A plan at work.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    rate: Tokens,
    allowance: Option<Used>,
}

/// The rest of an allowance, and the bucket of the reduced rate.
#[derive(Clone, Debug)]
struct Used {
    volume: Tokens,
    reduced: Tokens,
}

impl Meter {
    pub fn new(plan: Plan) -> Self {
        let TokenBucket { rate, burst, peak: _ } = plan.bucket;
        let used = |allowance: Allowance| {
            let mut volume = Tokens::new(allowance.leak(), allowance.volume);
            volume.spend(allowance.used.get());
            Used { volume, reduced: Tokens::new(allowance.reduced_rate, burst) }
        };
        Self { rate: Tokens::new(rate, burst), allowance: plan.allowance.map(used) }
    }

    /// When a packet of `bytes` may pass that is there at `now`.
    pub fn ready_at(&mut self, now: Time, bytes: u32) -> Time {
        let bytes = u64::from(bytes);
        let ready = |tokens: &mut Tokens| {
            tokens.count_until(now);
            tokens.ready_at(bytes)
        };
        let by_rate = ready(&mut self.rate);
        let Some(Used { volume, reduced }) = &mut self.allowance else { return by_rate };
        by_rate.max(ready(volume).min(ready(reduced)))
    }

    /// Lets a packet of `bytes` pass at `now`, for which the tokens must be there.
    pub fn take(&mut self, now: Time, bytes: u32) {
        let used = self.allowance.as_mut().map(|used| [&mut used.volume, &mut used.reduced]);
        for tokens in std::iter::once(&mut self.rate).chain(used.into_iter().flatten()) {
            tokens.count_until(now);
            tokens.spend(bytes.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBIT: u64 = 1_000_000;

    /// Bytes that pass in `seconds`, if packets of 1250 bytes always wait.
    fn passed(plan: Plan, seconds: u64) -> f64 {
        let (mut meter, mut now, mut bytes) = (Meter::new(plan), Time::ZERO, 0.0);
        let end = Time::ZERO + Span::from_secs(seconds);
        loop {
            now = meter.ready_at(now, 1250);
            if now >= end {
                return bytes;
            }
            meter.take(now, 1250);
            bytes += 1250.0;
        }
    }

    fn plan(rate: u64, allowance: Option<Allowance>) -> Plan {
        let bucket = TokenBucket::new(Rate::from_bits_per_second(rate), Bytes(12_500));
        Plan { bucket, allowance }
    }

    fn allowance(volume: u64, window: u64, reduced: u64) -> Allowance {
        Allowance {
            volume: Bytes(volume),
            window: Span::from_secs(window),
            reduced_rate: Rate::from_bits_per_second(reduced),
            used: Bytes(0),
        }
    }

    #[test]
    fn the_rate_of_a_plan_is_exact() {
        let rate = (passed(plan(10 * MBIT, None), 100) - 12_500.0) * 8.0 / 100.0;
        assert!((rate / 10e6 - 1.0).abs() < 1e-4, "{rate}");
    }

    /// 10 Mbit/s against a leak of 2 Mbit/s: 20 MB last for 20 s. Then the reduced rate holds.
    #[test]
    fn an_allowance_lasts_until_it_is_used_up_and_then_the_reduced_rate_holds() {
        let allowance = allowance(20_000_000, 80, 4 * MBIT);
        assert_eq!(allowance.leak(), Rate::from_bits_per_second(2 * MBIT));
        let plan = plan(10 * MBIT, Some(allowance));
        let at_full_rate = passed(plan, 20) * 8.0 / 20.0;
        assert!((at_full_rate / 10e6 - 1.0).abs() < 1e-3, "{at_full_rate}");
        let later = (passed(plan, 60) - passed(plan, 21)) * 8.0 / 39.0;
        assert!((later / 4e6 - 1.0).abs() < 1e-3, "{later}");
    }

    /// A reduced rate below the leak: the leak counts.
    #[test]
    fn the_long_run_has_the_larger_of_leak_and_reduced_rate() {
        let used_up = Allowance { used: Bytes(1_000_000), ..allowance(1_000_000, 4, MBIT) };
        let rate = passed(plan(10 * MBIT, Some(used_up)), 100) * 8.0 / 100.0;
        assert!((rate / 2e6 - 1.0).abs() < 5e-3, "{rate}");
    }
}
