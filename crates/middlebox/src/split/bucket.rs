//! A token bucket that all connections of a side share (RFC 2697 has one as a meter), as a state
//! machine without I/O. Tokens are bytes of IP packets. They arrive at a rate, and the bucket takes
//! at most a burst of them.
//!
//! A packet leaves if the bucket has tokens for the longest packet, and takes tokens for its own
//! length. So the bytes of any time are at most the burst and what arrives in it. Connections that
//! have to wait form a line. The first one sends a packet and goes to the end of it, so all have
//! the same number of packets.
//!
//! The gateway of the SCPS reference implementation has such a bucket for each route: it takes
//! tokens for ACKs too, and it is full with those of 50 ms, or with five packets. The turns are our
//! choice: there each connection sends as much as it can when it looks at the bucket.

use std::collections::VecDeque;

use link::Tokens;
use units::{Bytes, Rate, Span, Time};

/// The time for whose tokens a bucket has room if nothing else is set, and the least number of
/// packets.
const USUAL_TIME: Span = Span::from_millis(50);
const USUAL_PACKETS: u64 = 5;
/// Billionths of a bit in a byte. A nanosecond brings a number of them that is the rate in bit/s.
const PER_BYTE: u128 = 8 * 1_000_000_000;

/// Rate and size of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketSettings {
    /// Tokens that arrive.
    pub rate: Rate,
    /// Tokens of a full bucket, at least those of the longest packet.
    pub burst: Bytes,
    /// Length of the longest packet.
    pub packet: Bytes,
}

impl BucketSettings {
    /// The size of a bucket for which none is set.
    pub fn usual_burst(rate: Rate, packet: Bytes) -> Bytes {
        let nanos = u128::from(USUAL_TIME.as_nanos());
        let arrives = u128::from(rate.bits_per_second()) * nanos / PER_BYTE;
        Bytes(u64::try_from(arrives).unwrap_or(u64::MAX).max(USUAL_PACKETS * packet.get()))
    }
}

/// A token bucket, and the connections that wait for it. `E` names a connection.
#[derive(Clone, Debug)]
pub struct Bucket<E> {
    settings: BucketSettings,
    tokens: Tokens,
    line: VecDeque<E>,
}

impl<E> Bucket<E> {
    /// A full bucket.
    pub fn new(settings: BucketSettings) -> Self {
        let tokens = Tokens::new(settings.rate, settings.burst);
        Self { settings, tokens, line: VecDeque::new() }
    }

    /// Returns true if no connection waits and a packet may leave.
    pub fn is_open(&mut self, now: Time) -> bool {
        self.line.is_empty() && self.has_tokens(now)
    }

    /// A packet of `bytes` leaves.
    pub fn spend(&mut self, bytes: u64) {
        self.tokens.spend(bytes);
    }

    /// `bytes` for which tokens were taken did not leave.
    pub fn put_back(&mut self, bytes: u64) {
        self.tokens.put_back(bytes);
    }

    /// Applies other settings from now on. The line stays.
    pub fn change(&mut self, now: Time, settings: BucketSettings) {
        self.settings = settings;
        self.tokens.change(now, settings.rate, settings.burst);
    }

    /// Rate and size.
    pub const fn settings(&self) -> BucketSettings {
        self.settings
    }

    /// The first connection of the line.
    pub fn first(&self) -> Option<&E> {
        self.line.front()
    }

    /// Takes connections out of the line, except those to `keep`.
    pub fn retain(&mut self, keep: impl FnMut(&E) -> bool) {
        self.line.retain(keep);
    }

    /// A connection goes to the end of the line. It must not be in it.
    pub fn join(&mut self, end: E) {
        self.line.push_back(end);
    }

    /// Takes the first connection out of the line if a packet may leave.
    pub fn take_first(&mut self, now: Time) -> Option<E> {
        if self.line.is_empty() || !self.has_tokens(now) { None } else { self.line.pop_front() }
    }

    /// When the first connection may send; [`Time::NEVER`] if none waits.
    pub fn ready_at(&self) -> Time {
        if self.line.is_empty() {
            return Time::NEVER;
        }
        self.tokens.ready_at(self.settings.packet.get())
    }

    fn has_tokens(&mut self, now: Time) -> bool {
        self.tokens.count_until(now);
        self.tokens.has(self.settings.packet.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(burst: u64) -> Bucket<u8> {
        let rate = Rate::from_bits_per_second(8_000_000);
        Bucket::new(BucketSettings { rate, burst: Bytes(burst), packet: Bytes(1500) })
    }

    fn micros(micros: u64) -> Time {
        Time::ZERO + Span::from_nanos(1000 * micros)
    }

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        let mut bucket = bucket(4500);
        for _ in 0..3 {
            assert!(bucket.is_open(micros(0)));
            bucket.spend(1500);
        }
        assert!(!bucket.is_open(micros(0)));
        bucket.join(1);
        // A byte takes a microsecond.
        assert_eq!(bucket.ready_at(), micros(1500));
        assert_eq!(bucket.take_first(micros(1499)), None);
        assert_eq!(bucket.take_first(micros(1500)), Some(1));
        bucket.spend(52);
        bucket.join(1);
        assert_eq!(bucket.ready_at(), micros(1552), "an ACK takes its own length");
    }

    #[test]
    fn a_bucket_that_is_full_takes_no_more() {
        let mut bucket = bucket(3000);
        let mut sent = 0;
        while bucket.is_open(micros(1_000_000)) {
            bucket.spend(1500);
            sent += 1;
        }
        assert_eq!(sent, 2);
    }

    #[test]
    fn those_who_wait_have_turns_and_nobody_overtakes_them() {
        let mut bucket = bucket(1500);
        bucket.spend(1500);
        (1..=3).for_each(|end| bucket.join(end));
        assert!(!bucket.is_open(micros(5000)), "others wait");
        let mut order = Vec::new();
        for _ in 0..6 {
            let at = bucket.ready_at();
            let end = bucket.take_first(at).unwrap();
            bucket.spend(1500);
            bucket.join(end);
            order.push(end);
        }
        assert_eq!(order, [1, 2, 3, 1, 2, 3]);
    }

    #[test]
    fn tokens_that_were_not_used_come_back_and_never_exceed_the_bucket() {
        let mut bucket = bucket(3000);
        bucket.spend(1500);
        bucket.put_back(500);
        bucket.join(1);
        bucket.spend(1500);
        assert_eq!(bucket.ready_at(), micros(1000), "500 bytes are there");
        bucket.put_back(u64::from(u32::MAX));
        bucket.spend(3000);
        assert_eq!(bucket.ready_at(), micros(1500));
    }

    #[test]
    fn other_settings_apply_from_now_on_and_keep_the_line() {
        let mut bucket = bucket(3000);
        bucket.spend(3000);
        bucket.join(1);
        bucket.join(2);
        let half = Rate::from_bits_per_second(4_000_000);
        let settings = BucketSettings { rate: half, burst: Bytes(1500), packet: Bytes(1500) };
        bucket.change(micros(500), settings);
        assert_eq!(bucket.ready_at(), micros(2500), "500 at the old rate, 1000 at the new one");
        bucket.retain(|end| *end != 1);
        assert_eq!((bucket.first(), bucket.settings()), (Some(&2), settings));
        assert_eq!(bucket.take_first(micros(9000)), Some(2));
        bucket.join(2);
        bucket.spend(1500);
        assert_eq!(bucket.ready_at(), micros(12_000), "the bucket is smaller now");
    }

    #[test]
    fn the_usual_burst_is_that_of_50_ms_or_five_packets() {
        let usual =
            |bits| BucketSettings::usual_burst(Rate::from_bits_per_second(bits), Bytes(1500));
        assert_eq!(usual(8_000_000), Bytes(50_000));
        assert_eq!(usual(80_000), Bytes(7500));
    }
}
