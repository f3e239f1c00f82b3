//! Token buckets: a shaper delays packets until their tokens are there, and a policer drops those
//! that come before.
//!
//! Tokens are bytes. They arrive at `rate`, and a bucket has room for `burst` of them. A packet
//! takes one for each of its bytes on the line. So the bytes of any time T are at most `rate` T +
//! `burst`. A second bucket for the peak rate, if there is one, must have tokens for the packet
//! too.
//!
//! Tokens are counted in billionths of a bit, of which each nanosecond brings a whole number at any
//! rate. So nothing is rounded but the start of a packet, which is the first whole nanosecond with
//! enough tokens. What is left over by then stays in the bucket. A bucket that is as small as the
//! packets has no room for it: it loses up to a nanosecond with each of them.

use units::{Bytes, Rate, Span, Time};

/// Units of tokens in a byte.
const PER_BYTE: u128 = 8 * 1_000_000_000;

/// Rate and burst of a token bucket, and those of its peak rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields),
    schemars(inline)
)]
pub struct TokenBucket {
    /// Rate at which tokens arrive, in bits on the line: the mean rate of packets in the long run.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1bit/s")))]
    pub rate: Rate,
    /// Size of the bucket in bytes on the line: after a pause, this much may pass at once. At least
    /// the longest packet, which would never pass otherwise.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB")))]
    pub burst: Bytes,
    /// A second bucket that limits the rate of a burst (`peakrate` and `mtu` of tc). Default: none.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub peak: Option<Peak>,
}

/// Rate and burst of the bucket for the peak rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields),
    schemars(inline)
)]
pub struct Peak {
    /// Peak rate, above the rate of the bucket.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1bit/s")))]
    pub rate: Rate,
    /// Size of its bucket, at least the longest packet.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB")))]
    pub burst: Bytes,
}

impl TokenBucket {
    /// A bucket without a peak rate.
    pub const fn new(rate: Rate, burst: Bytes) -> Self {
        Self { rate, burst, peak: None }
    }

    /// The longest packet that ever passes, in bytes on the line.
    pub fn longest(&self) -> Bytes {
        self.peak.map_or(self.burst, |peak| self.burst.min(peak.burst))
    }
}

/// The tokens of one bucket.
#[derive(Clone, Debug)]
pub struct Tokens {
    rate: u128,
    /// Tokens of a full bucket.
    most: u128,
    /// Tokens at `counted_at`.
    tokens: u128,
    counted_at: Time,
}

impl Tokens {
    /// A full bucket. The rate must not be zero.
    pub fn new(rate: Rate, burst: Bytes) -> Self {
        let most = u128::from(burst.get()) * PER_BYTE;
        Self { rate: rate.bits_per_second().into(), most, tokens: most, counted_at: Time::ZERO }
    }

    /// Counts what has arrived by `now`.
    #[inline]
    pub fn count_until(&mut self, now: Time) {
        if now <= self.counted_at {
            return;
        }
        let arrived = u128::from(now.since(self.counted_at).as_nanos()) * self.rate;
        self.tokens = (self.tokens + arrived).min(self.most);
        self.counted_at = now;
    }

    /// Returns true if there were tokens for `bytes` when they were counted last.
    pub fn has(&self, bytes: u64) -> bool {
        self.tokens >= u128::from(bytes) * PER_BYTE
    }

    /// When there are tokens for `bytes`: the first whole nanosecond, and not before they were
    /// counted last. The bucket must have room for them.
    #[inline]
    pub fn ready_at(&self, bytes: u64) -> Time {
        let missing = (u128::from(bytes) * PER_BYTE).saturating_sub(self.tokens);
        if missing == 0 {
            return self.counted_at;
        }
        let nanos = missing.div_ceil(self.rate);
        self.counted_at + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Takes tokens for `bytes`, as far as there are any.
    pub fn spend(&mut self, bytes: u64) {
        self.tokens = self.tokens.saturating_sub(u128::from(bytes) * PER_BYTE);
    }

    /// Puts tokens for `bytes` back that were not used, as far as there is room.
    pub fn put_back(&mut self, bytes: u64) {
        self.tokens = (self.tokens + u128::from(bytes) * PER_BYTE).min(self.most);
    }

    /// From now on another rate and size. Tokens that find no room are lost.
    pub fn change(&mut self, now: Time, rate: Rate, burst: Bytes) {
        self.count_until(now);
        self.rate = rate.bits_per_second().into();
        self.most = u128::from(burst.get()) * PER_BYTE;
        self.tokens = self.tokens.min(self.most);
    }
}

/// The buckets of a shaper or a policer: that of the rate, and that of the peak rate.
#[derive(Clone, Debug)]
pub struct Buckets {
    rate: Tokens,
    peak: Option<Tokens>,
}

impl Buckets {
    /// Full buckets.
    pub fn new(settings: TokenBucket) -> Self {
        let TokenBucket { rate, burst, peak } = settings;
        Self {
            rate: Tokens::new(rate, burst),
            peak: peak.map(|peak| Tokens::new(peak.rate, peak.burst)),
        }
    }

    /// When a packet of `bytes` may pass that comes at `now`: at once, or when its tokens are
    /// there.
    pub fn ready_at(&mut self, now: Time, bytes: u32) -> Time {
        let both = std::iter::once(&mut self.rate).chain(&mut self.peak);
        let ready = both.map(|tokens| {
            tokens.count_until(now);
            tokens.ready_at(bytes.into())
        });
        ready.fold(now, Time::max)
    }

    /// Lets a packet of `bytes` pass at `now`, for which the tokens must be there.
    pub fn take(&mut self, now: Time, bytes: u32) {
        for tokens in std::iter::once(&mut self.rate).chain(&mut self.peak) {
            tokens.count_until(now);
            debug_assert!(tokens.has(bytes.into()), "a packet waits for its tokens");
            tokens.spend(bytes.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A byte takes a microsecond.
    const RATE: Rate = Rate::from_bits_per_second(8_000_000);

    fn micros(micros: u64) -> Time {
        Time::ZERO + Span::from_nanos(1000 * micros)
    }

    #[test]
    fn a_full_bucket_passes_its_burst_and_then_its_rate() {
        let mut buckets = Buckets::new(TokenBucket::new(RATE, Bytes(3000)));
        for expected in [0, 0, 1500, 3000] {
            let at = buckets.ready_at(micros(0), 1500);
            assert_eq!(at, micros(expected));
            buckets.take(at, 1500);
        }
    }

    /// RFC 2698 has a second bucket for the peak rate: the burst of 4500 bytes leaves at 16 Mbit/s.
    #[test]
    fn a_peak_rate_stretches_the_burst() {
        let peak = Peak { rate: Rate::from_bits_per_second(16_000_000), burst: Bytes(1500) };
        let settings = TokenBucket { peak: Some(peak), ..TokenBucket::new(RATE, Bytes(4500)) };
        let mut buckets = Buckets::new(settings);
        let mut now = micros(0);
        for expected in [0, 750, 1500, 2250, 3000, 4500, 6000] {
            now = buckets.ready_at(now, 1500);
            assert_eq!(now, micros(expected));
            buckets.take(now, 1500);
        }
        assert_eq!(settings.longest(), Bytes(1500));
    }

    #[test]
    fn a_rate_that_no_nanosecond_divides_is_kept_for_a_million_packets() {
        let rate = Rate::from_bits_per_second(9_999_999_967);
        let mut buckets = Buckets::new(TokenBucket::new(rate, Bytes(132)));
        let mut now = Time::ZERO;
        for _ in 0..=1_000_000 {
            now = buckets.ready_at(now, 66);
            buckets.take(now, 66);
        }
        // The first two packets have a full bucket.
        let exact = 66.0 * 8.0 * (1e6 - 1.0) / 9_999_999_967.0 * 1e9;
        assert!((now.as_nanos() as f64 - exact).abs() <= 1.0, "{now:?} instead of {exact}");
    }

    proptest! {
        /// No time has more bytes than rate and burst allow, and none that always waits has less
        /// than a nanosecond's tokens to spare.
        #[test]
        fn bytes_of_any_window_are_at_most_its_tokens_and_the_burst(
            rate in 1_000u64..10_000_000_000,
            burst in 1500u64..100_000,
            packets in prop::collection::vec((0u64..3_000_000, 1u32..=1500), 1..60),
            peak in prop::option::of((1u64..4, 1500u64..4000)),
        ) {
            let peak = peak.map(|(factor, burst)| Peak {
                rate: Rate::from_bits_per_second(factor * rate + 1),
                burst: Bytes(burst),
            });
            let rate = Rate::from_bits_per_second(rate);
            let settings = TokenBucket { peak, ..TokenBucket::new(rate, Bytes(burst)) };
            let mut buckets = Buckets::new(settings);
            let (mut now, mut sent) = (Time::ZERO, Vec::new());
            for (pause, bytes) in packets {
                let came = now + Span::from_nanos(pause);
                now = buckets.ready_at(came, bytes);
                buckets.take(now, bytes);
                sent.push((came, now, u128::from(bytes)));
            }
            let limits = [Some((rate, burst)), peak.map(|peak| (peak.rate, peak.burst.get()))];
            for (first, (_, from, _)) in sent.iter().enumerate() {
                let mut bytes = 0;
                for (_, to, more) in &sent[first..] {
                    bytes += more;
                    for (rate, burst) in limits.into_iter().flatten() {
                        let nanos = u128::from(to.since(*from).as_nanos());
                        let most = u128::from(rate.bits_per_second()) * nanos + u128::from(burst) * PER_BYTE;
                        prop_assert!(bytes * PER_BYTE <= most);
                    }
                }
            }
            // A packet waits only for tokens: a nanosecond earlier, one of the buckets was short.
            let mut again = Buckets::new(settings);
            for (came, left, bytes) in sent {
                let bytes = u32::try_from(bytes).unwrap();
                if left > came {
                    let before = left - Span::from_nanos(1);
                    prop_assert!(again.clone().ready_at(before, bytes) == left);
                }
                again.take(left, bytes);
            }
        }
    }
}
