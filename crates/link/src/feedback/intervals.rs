//! Control intervals of a router: they are as long as the mean RTT of the packets, and have the
//! sums of these packets and the queue that stands.
//!
//! Source: XCP in ns-2.35 (`xcp/xcpq.cc`). Routers of EBN have the same intervals.
//!
//! - The mean RTT is weighted with the spacing of packets, so that each flow counts once. Packets
//!   whose sender does not know its RTT are left out. Without any, it is the first interval of 50
//!   ms, as in ns-2.
//! - The queue that stands is the smallest of half a round trip.

use units::{Span, Time};
use wire::feedback::Request;

use super::View;

/// Control interval until the first one with traffic.
pub(super) const FIRST_INTERVAL: Span = Span::from_millis(50);
/// The shortest control interval.
const LEAST_INTERVAL: f64 = 0.001;
/// The shortest time over which the smallest queue is taken.
const LEAST_QUEUE_INTERVAL: f64 = 0.002;
/// No packet counts with a longer RTT.
const LONGEST_RTT: f64 = 1.0;

/// Sums over the packets of a control interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub input_bytes: f64,
    pub spacings: f64,
    /// Products of RTT and spacing.
    round_trips: f64,
    /// Spacings of packets that asked for less than they would have got.
    pub limited: f64,
}

/// A control interval that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub sums: Sums,
    pub seconds: f64,
    /// Mean RTT of its packets in seconds.
    pub mean_rtt: f64,
    /// The queue that stands in bytes.
    pub queue: f64,
}

/// The control intervals at a queue.
#[derive(Clone, Debug)]
pub(super) struct Intervals {
    pub sums: Sums,
    interval: Span,
    ends: Time,
    /// Mean RTT of the last interval in seconds.
    mean_rtt: f64,
    /// The queue that stands: the smallest of the last queue interval, and that of the present one.
    queue: u64,
    least_queue: u64,
    queue_interval_ends: Time,
}

impl Intervals {
    pub fn new() -> Self {
        Self {
            sums: Sums::default(),
            interval: FIRST_INTERVAL,
            ends: Time::ZERO + FIRST_INTERVAL,
            mean_rtt: FIRST_INTERVAL.as_secs_f64(),
            queue: 0,
            least_queue: 0,
            queue_interval_ends: Time::ZERO + FIRST_INTERVAL,
        }
    }

    /// The next interval that ends by the view's time. The queue has not changed since the last
    /// packet.
    pub fn next_ended(&mut self, view: View) -> Option<Ended> {
        while self.ends.min(self.queue_interval_ends) <= view.now {
            if self.ends < self.queue_interval_ends {
                return Some(self.end());
            }
            self.end_queue_interval(view);
        }
        None
    }

    fn end_queue_interval(&mut self, view: View) {
        self.queue = self.least_queue;
        self.least_queue = view.waiting;
        let seconds = (self.mean_rtt - view.waiting as f64 / view.capacity) / 2.0;
        let span = Span::from_secs_f64(seconds.max(LEAST_QUEUE_INTERVAL));
        self.queue_interval_ends += span;
    }

    fn end(&mut self) -> Ended {
        let sums = std::mem::take(&mut self.sums);
        let first = FIRST_INTERVAL.as_secs_f64();
        self.mean_rtt = if sums.spacings > 0.0 { sums.round_trips / sums.spacings } else { first };
        let seconds = self.interval.as_secs_f64();
        self.interval = Span::from_secs_f64(self.mean_rtt.max(LEAST_INTERVAL));
        self.ends += self.interval;
        Ended { sums, seconds, mean_rtt: self.mean_rtt, queue: self.queue as f64 }
    }

    /// A packet of `bytes` arrives.
    pub fn on_arrival(&mut self, bytes: u32, request: Option<&Request>) {
        self.sums.input_bytes += f64::from(bytes);
        if let Some(request) = request.filter(|request| request.round_trip > 0.0) {
            let spacing = f64::from(request.spacing);
            self.sums.spacings += spacing;
            self.sums.round_trips += f64::from(request.round_trip).min(LONGEST_RTT) * spacing;
        }
    }

    /// A packet has joined the queue or left it, and `waiting` bytes wait now.
    pub fn note_queue(&mut self, waiting: u64) {
        self.least_queue = self.least_queue.min(waiting);
    }
}

#[cfg(test)]
mod tests {
    use wire::feedback::Protocol;

    use super::*;

    fn request(round_trip: f32, spacing: f32) -> Request {
        Request { protocol: Protocol::Xcp, rate: 0.0, round_trip, spacing, treated: 0, links: 1 }
    }

    fn ended(intervals: &mut Intervals, millis: u64, waiting: u64) -> Option<Ended> {
        let now = Time::ZERO + Span::from_millis(millis);
        intervals.next_ended(View { now, waiting, capacity: 1e6 })
    }

    /// Each flow counts once, however many packets it has, and none with more than a second.
    #[test]
    fn the_mean_rtt_is_that_of_the_flows() {
        let mut intervals = Intervals::new();
        // Ten packets of 100 ms, and one of 5 s: both flows add 50 ms of spacing.
        (0..10).for_each(|_| intervals.on_arrival(1000, Some(&request(0.1, 0.005))));
        intervals.on_arrival(1000, Some(&request(5.0, 0.05)));
        intervals.on_arrival(1000, Some(&request(0.0, 0.05)));
        intervals.on_arrival(1000, None);
        let _ = ended(&mut intervals, 49, 0);
        let found = std::iter::from_fn(|| ended(&mut intervals, 51, 0)).next().unwrap();
        assert!((found.mean_rtt - (0.1 + 1.0) / 2.0).abs() < 1e-6, "{}", found.mean_rtt);
        assert_eq!((found.sums.input_bytes, found.seconds), (13_000.0, 0.05));
    }

    /// The smallest queue of a queue interval, of which each begins with what waits.
    #[test]
    fn the_queue_that_stands_is_the_smallest_of_half_a_round_trip() {
        let mut intervals = Intervals::new();
        let mut queues = Vec::new();
        for millis in 1..500 {
            let waiting = if (200..300).contains(&millis) { 3000 } else { 9000 };
            intervals.note_queue(waiting);
            queues.extend(ended(&mut intervals, millis, waiting).map(|ended| ended.queue as u64));
        }
        // The first queue interval began with an empty queue.
        assert_eq!(queues, [0, 9000, 9000, 9000, 3000, 3000, 9000, 9000, 9000]);
    }
}
