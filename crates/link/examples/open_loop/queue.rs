//! A queue that arrivals go through.

use link::{Aqm, Direction, Ecn, Priority, QueueLimit, Queued, Seed, Settings};
use units::{Rate, Span, Time};

use super::arrivals::{Arrival, BYTES, RATE};

/// Packets that may wait.
pub const LIMIT: u32 = 1000;

/// Fates of the packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    pub arrived: u64,
    pub sent: u64,
    pub dropped: u64,
    /// Mean of the times that sent packets have waited, in milliseconds.
    pub mean_delay_ms: f64,
}

/// Sends packets through a link with `aqm`; `seed` is that of its random choices.
pub fn pass(aqm: Aqm, arrivals: &[Arrival], seed: u64) -> Outcome {
    let rate = Rate::from_bits_per_second(RATE);
    let queue = QueueLimit::Packets(LIMIT);
    let settings = Settings { aqm: Some(aqm), queue, ..Settings::new(rate, Span::ZERO) };
    let mut link = Direction::new(settings, &Seed::new(seed), 0, Time::NEVER);
    let mut now = Time::ZERO;
    for (ticket, (at, flow)) in (0..).zip(arrivals) {
        now = Time::from_nanos(*at);
        drain(&mut link, now);
        let (priority, ecn) = (Priority::Normal, Ecn::NotCapable);
        link.enqueue(Queued {
            ticket,
            flow: *flow,
            bytes: BYTES,
            unframed: BYTES,
            priority,
            ecn,
            since: now,
        });
        drain(&mut link, now);
    }
    let end = now + Span::from_secs(600);
    drain(&mut link, end);
    let counters = link.counters(end);
    let aqm = counters.aqm.expect("the direction has a discipline");
    Outcome {
        arrived: arrivals.len() as u64,
        sent: aqm.sent_packets,
        dropped: counters.dropped_packets,
        mean_delay_ms: aqm.queue_delay.as_millis_f64() / aqm.sent_packets as f64,
    }
}

/// Starts all transmissions that start by `now`.
fn drain(link: &mut Direction, now: Time) {
    while link.serve(now).is_some() {}
    while link.take_dropped().is_some() {}
}
