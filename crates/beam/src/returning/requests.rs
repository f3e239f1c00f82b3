//! The requests of a terminal: a rate (RBDC), or a volume that adds up (VBDC) or replaces the last
//! one (AVBDC).
//!
//! With T the request period, Q the bits that wait, A the bits that have arrived since the last
//! request, and g the over-request factor, the rate is
//!
//! ```text
//! R = g A / T + max(0, Q - g A - T sum(R requested within the memory)) / T
//! ```
//!
//! less that of constant assignment. Source: SNS3 (sns3/sns3-satellite,
//! model/satellite-request-manager.cc) with its gain of 1. Requests are not rounded to the steps of
//! their fields, and none is lost.
//!
//! Rates with g = 1 and a memory of at least the time from a request to its slots never drain a
//! queue: each byte waits for the slots that were requested when it arrived.

use std::collections::VecDeque;

use units::{Span, Time};

use super::{Group, Settings};

/// The category of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "lowercase"),
    schemars(inline)
)]
pub enum Category {
    /// A rate that holds until the next request.
    Rbdc,
    /// A volume in addition to those requested before.
    Vbdc,
    /// A volume in place of the one requested before.
    Avbdc,
}

/// How a terminal requests capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// The category.
    pub category: Category,
    /// Time between requests.
    pub period: Span,
    /// Over-request factor g.
    pub over_request: f64,
    /// Time for which a requested rate counts as on its way.
    pub memory: Span,
    /// The highest rate that is requested, in bit/s.
    pub max_rate: f64,
    /// Rate of constant assignment in bit/s, which needs no request.
    pub constant: f64,
}

/// Capacity of a terminal that is left for the requests of the next classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Left {
    /// Rate of constant assignment in bit/s that no class has counted on.
    pub constant: f64,
    /// The highest rate that can still be requested, in bit/s.
    pub max_rate: f64,
    /// Slots of constant assignment until a request has an effect, that no class has counted on.
    pub constant_slots: u32,
}

impl Left {
    /// All that a terminal has.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    pub fn of(policy: &Policy, settings: &Settings, group: &Group) -> Self {
        let frames = settings.loop_frames() as f64;
        let slots = settings.slots_of_rate(group.constant as f64, group) * frames;
        let Policy { constant, max_rate, .. } = *policy;
        Self { constant, max_rate, constant_slots: slots.floor() as u32 }
    }
}

/// The part of its requests that a terminal remembers.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Bits that have arrived since the last request.
    arrived: f64,
    /// Rates that were requested, and when.
    rates: VecDeque<(Time, f64)>,
}

impl Memory {
    /// Bits join the queue.
    pub fn arrive(&mut self, bits: f64) {
        self.arrived += bits;
    }

    /// The rate to request at `now` with `queued` bits waiting, in bit/s.
    pub fn rate(&mut self, now: Time, queued: f64, policy: &Policy, left: &mut Left) -> f64 {
        let period = policy.period.as_secs_f64();
        while self.rates.front().is_some_and(|(at, _)| *at + policy.memory <= now) {
            self.rates.pop_front();
        }
        let pending: f64 = self.rates.iter().map(|(_, rate)| rate * period).sum();
        let new = policy.over_request * std::mem::take(&mut self.arrived);
        let old = (queued - new - pending).max(0.0);
        let wanted = (new + old) / period;
        let rate = (wanted - left.constant).clamp(0.0, left.max_rate);
        left.constant = (left.constant - wanted).max(0.0);
        left.max_rate -= rate;
        if rate > 0.0 {
            self.rates.push_back((now, rate));
        }
        rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 128e3;

    /// Standing delay in seconds of a constant bit rate that arrives for 40 s, if a request has its
    /// slots `delay` later. All is fluid.
    fn standing(policy: &Policy, delay: Span) -> f64 {
        let step = Span::from_millis(1);
        let (mut memory, mut queue) = (Memory::default(), 0.0);
        let mut requests = VecDeque::new();
        let mut assigned = 0.0;
        let mut now = Time::ZERO;
        let mut next = Time::ZERO + Span::from_nanos(policy.period.as_nanos() / 2);
        while now < Time::ZERO + Span::from_secs(40) {
            let bits = RATE * step.as_secs_f64();
            queue += bits;
            memory.arrive(bits);
            if now >= next {
                let Policy { constant, max_rate, .. } = *policy;
                let mut left = Left { constant, max_rate, constant_slots: 0 };
                requests.push_back((now + delay, memory.rate(now, queue, policy, &mut left)));
                next += policy.period;
            }
            while requests.front().is_some_and(|(at, _)| *at <= now) {
                assigned = requests.pop_front().map_or(0.0, |(_, rate)| rate);
            }
            queue -= (assigned * step.as_secs_f64()).min(queue);
            now += step;
        }
        queue / RATE
    }

    fn policy(over_request: f64, memory: u64) -> Policy {
        Policy {
            category: Category::Rbdc,
            period: Span::from_millis(100),
            over_request,
            memory: Span::from_millis(memory),
            max_rate: 9.216e6,
            constant: 0.0,
        }
    }

    /// The values were computed with a fluid model of SNS3's formula.
    #[test]
    fn exact_requests_with_full_memory_leave_a_standing_queue_of_the_delay() {
        let delay = Span::from_millis(850);
        for (memory, expected) in [(900, 0.849), (560, 0.398), (400, 0.098), (200, 0.0)] {
            let found = standing(&policy(1.0, memory), delay);
            // Half a step of the shorter memories decides whether a request is within them.
            assert!((found - expected).abs() < 0.105, "memory {memory} ms: {found} s");
        }
        let found = standing(&policy(1.0, 900), delay);
        assert!((found / 0.849 - 1.0).abs() < 0.05, "{found}");
    }

    #[test]
    fn over_requests_drain_the_queue() {
        // In at most D / (g - 1), which is 8.5 s.
        assert!(standing(&policy(1.1, 900), Span::from_millis(850)) < 0.01);
    }
}
