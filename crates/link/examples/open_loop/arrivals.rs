//! Arrivals of packets at a queue, for open-loop runs: no flow responds to what becomes of its
//! packets.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Bytes of each packet. Below 1500, so that "more than one packet waits" (RFC 8289) and "1500
/// bytes or more wait" (ns-3) are the same.
pub const BYTES: u32 = 1400;
/// Rate of the link in bit/s.
pub const RATE: u64 = 8_000_000;
const SECONDS: f64 = 300.0;

/// The patterns by name.
pub const PATTERNS: [&str; 3] = ["busy", "overload", "bursts"];

/// An arrival: time in nanoseconds and number of the flow.
pub type Arrival = (u64, u32);

/// The arrivals of a pattern in the order of their times; `None` if it has no such name.
///
/// - `busy`: six flows with exponential gaps, together 95 % of the rate of the link.
/// - `overload`: the same with 125 %.
/// - `bursts`: ten flows which send evenly for 0.5 s in the mean, and are silent for 1.5 s in the
///   mean, together 90 % of the rate.
pub fn arrivals(pattern: &str) -> Option<Vec<Arrival>> {
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(1));
    let packets_per_s = RATE as f64 / f64::from(8 * BYTES);
    let mut all = match pattern {
        "busy" => steady(&mut random, 6, 0.95 * packets_per_s),
        "overload" => steady(&mut random, 6, 1.25 * packets_per_s),
        "bursts" => bursts(&mut random, 10, 0.9 * packets_per_s),
        _ => return None,
    };
    all.sort_unstable();
    Some(all)
}

fn steady(random: &mut Random, flows: u32, rate: f64) -> Vec<Arrival> {
    let mut all = Vec::new();
    for flow in 0..flows {
        let mut now = 0.0;
        loop {
            now += random.exponential(f64::from(flows) / rate);
            if now >= SECONDS {
                break;
            }
            all.push((nanos(now), flow));
        }
    }
    all
}

fn bursts(random: &mut Random, flows: u32, rate: f64) -> Vec<Arrival> {
    const ON: f64 = 0.5;
    const OFF: f64 = 1.5;
    let gap = f64::from(flows) / rate * ON / (ON + OFF);
    let mut all = Vec::new();
    for flow in 0..flows {
        let mut now = random.exponential(OFF);
        while now < SECONDS {
            let end = now + random.exponential(ON);
            while now < end.min(SECONDS) {
                all.push((nanos(now), flow));
                now += gap;
            }
            now = end + random.exponential(OFF);
        }
    }
    all
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

struct Random(Xoshiro256PlusPlus);

impl Random {
    fn exponential(&mut self, mean: f64) -> f64 {
        let unit = (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        -libm::log(1.0 - unit) * mean
    }
}
