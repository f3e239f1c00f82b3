//! EBN, the router: it measures the rate that is available to each flow, and senders take it.
//!
//! Source: Dutta and Zhang, "An early bandwidth notification (EBN) architecture for dynamic
//! bandwidth environment", ICC 2002. Only descriptions could be read: a router measures the rate
//! available to a TCP flow from all its input and output interfaces, and returns it in a normalised
//! form to the sender, which sets its window. Header, interval and formulas were not found, so all
//! rules are reconstructed:
//!
//! - Once in a control interval (`intervals`), with the capacity C, the rate y of traffic that does
//!   not follow EBN, the standing queue Q, the mean RTT d, and N flows: share = max(0, target C -
//!   y - drain Q / d) / N.
//! - Normalised is read as divided by the number of flows. Each flow adds the length of the
//!   interval to the sum of spacings, RTT / cwnd, so the router needs no list of flows.
//! - A packet leaves with the share, unless it asks for less: because its sender cannot use it, or
//!   because an earlier router has less. Such flows do not count in N, and their bytes are part of
//!   y. So flows that need less leave the rest to the others.
//!
//! Decisions:
//! - A flow that a later link limits counts as one that takes its share. What it leaves stays
//!   unused.
//! - Rates are bytes per second, and bytes include the overhead of the link. Rates are numbers and
//!   no codes.

use wire::feedback::Request;

use super::intervals::{Ended, Intervals};
use super::{KEY, KIND, View};
use crate::mechanism::{Mechanism, Provenance};

pub(super) const EBN: Mechanism = Mechanism {
    name: "ebn",
    key: KEY,
    kind: KIND,
    source: "Dutta and Zhang, ICC, 2002 (descriptions only)",
    status: Provenance::Reconstructed,
    hurts: "Flows that do not speak EBN: they fill the queue, and EBN gives way to them. Flows that a later link limits, whose share nobody else gets. Many flows that start at once. A link whose rate is below what the router believes.",
};

/// Parameters of EBN.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct EbnSettings {
    /// Share of the capacity that flows get together. Our choice.
    #[cfg_attr(feature = "schema", schemars(range(max = 1), extend("exclusiveMinimum" = 0)))]
    pub target: f64,
    /// Share of the standing queue that is drained in a control interval. Our choice.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 2)))]
    pub drain: f64,
}

impl Default for EbnSettings {
    fn default() -> Self {
        Self { target: 0.95, drain: 0.25 }
    }
}

/// The router of EBN at a queue.
#[derive(Clone, Debug)]
pub(super) struct EbnRouter {
    settings: EbnSettings,
    intervals: Intervals,
    /// Bytes in this interval of flows that take their share.
    shared_bytes: f64,
    /// Bytes per second for each flow; `None` until the first interval has ended.
    share: Option<f64>,
}

impl EbnRouter {
    pub fn new(settings: EbnSettings) -> Self {
        Self { settings, intervals: Intervals::new(), shared_bytes: 0.0, share: None }
    }

    /// Ends the intervals that end by the view's time.
    pub fn update_until(&mut self, view: View) {
        while let Some(ended) = self.intervals.next_ended(view) {
            self.share_out(&ended, view.capacity);
        }
    }

    /// The share of the next interval.
    fn share_out(&mut self, ended: &Ended, capacity: f64) {
        let Ended { sums, seconds, mean_rtt, queue } = *ended;
        let EbnSettings { target, drain } = self.settings;
        let shared_bytes = std::mem::take(&mut self.shared_bytes);
        let others = (sums.input_bytes - shared_bytes) / seconds;
        let flows = (sums.spacings - sums.limited) / seconds;
        let available = target * capacity - others - drain * queue / mean_rtt;
        self.share = Some(available.max(0.0) / flows.max(1.0));
    }

    /// The share of a flow on a link of `capacity` bytes per second.
    fn share(&self, capacity: f64) -> f64 {
        self.share.unwrap_or(self.settings.target * capacity)
    }

    pub fn on_arrival(&mut self, capacity: f64, bytes: u32, request: Option<&Request>) {
        self.intervals.on_arrival(bytes, request);
        let share = self.share(capacity);
        let Some(request) = request.filter(|request| request.round_trip > 0.0) else { return };
        if f64::from(request.rate) < share {
            self.intervals.sums.limited += f64::from(request.spacing);
        } else {
            self.shared_bytes += f64::from(bytes);
        }
    }

    pub fn on_departure(&self, capacity: f64, request: &mut Request) {
        #[expect(clippy::cast_possible_truncation, reason = "the field has 32 bits")]
        let share = self.share(capacity) as f32;
        request.rate = request.rate.min(share);
    }

    pub fn note_queue(&mut self, waiting: u64) {
        self.intervals.note_queue(waiting);
    }
}

#[cfg(test)]
mod tests {
    use units::Time;
    use wire::feedback::Protocol;

    use super::*;

    /// Bytes per second of the link of these tests.
    const CAPACITY: f64 = 1e6;
    const RTT: f32 = 0.1;

    fn request(window: f32, rate: f32) -> Request {
        let protocol = Protocol::Ebn;
        let (round_trip, spacing) = (RTT, RTT / window);
        Request { protocol, rate, round_trip, spacing, treated: 0, links: 1 }
    }

    fn view(now_ms: u64, waiting: u64) -> View {
        View { now: Time::from_nanos(now_ms * 1_000_000), waiting, capacity: CAPACITY }
    }

    /// Lets an interval of flows pass, each with its window in packets of 1000 bytes and its
    /// request, and returns what the next packet of a flow without a limit gets.
    fn interval(router: &mut EbnRouter, end_ms: u64, waiting: u64, flows: &[(u16, f32)]) -> f64 {
        router.update_until(view(end_ms - 1, waiting));
        for &(window, rate) in flows {
            for _ in 0..window {
                router.on_arrival(CAPACITY, 1000, Some(&request(f32::from(window), rate)));
            }
        }
        router.note_queue(waiting);
        // Rates have 32 bits, so that the interval ends a little later.
        router.update_until(view(end_ms + 1, waiting));
        let mut next = request(1.0, f32::INFINITY);
        router.on_departure(CAPACITY, &mut next);
        f64::from(next.rate)
    }

    /// A router after its first interval, of 50 ms. The next ones have 100 ms.
    fn router(waiting: u64) -> EbnRouter {
        let mut router = EbnRouter::new(EbnSettings::default());
        interval(&mut router, 50, waiting, &[(5, f32::INFINITY)]);
        router
    }

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-3 * expected, "{found} for {expected}");
    }

    #[test]
    fn flows_share_the_target_equally_whatever_their_windows() {
        let mut idle = EbnRouter::new(EbnSettings::default());
        assert_close(interval(&mut idle, 40, 0, &[]), 0.95 * CAPACITY);
        let mut router = router(0);
        let flows = [(5, f32::INFINITY), (70, f32::INFINITY)];
        assert_close(interval(&mut router, 150, 0, &flows), 0.95 * CAPACITY / 2.0);
        assert_close(interval(&mut router, 250, 0, &flows[..1]), 0.95 * CAPACITY);
    }

    #[test]
    fn a_flow_that_asks_for_less_leaves_the_rest_to_the_others() {
        let mut router = router(0);
        // The first flow asks for 100 kB/s, which are ten packets in an interval.
        let flows = [(10, 100e3), (70, f32::INFINITY)];
        assert_close(interval(&mut router, 150, 0, &flows), 0.95 * CAPACITY - 100e3);
        let mut limited = request(10.0, 100e3);
        router.on_departure(CAPACITY, &mut limited);
        assert_eq!(limited.rate, 100e3);
    }

    #[test]
    fn other_traffic_and_a_standing_queue_are_taken_off() {
        let mut router = router(20_000);
        for _ in 0..30 {
            router.on_arrival(CAPACITY, 1000, None);
        }
        interval(&mut router, 150, 20_000, &[(10, f32::INFINITY)]);
        let found = interval(&mut router, 250, 20_000, &[(10, f32::INFINITY)]);
        assert_close(found, 0.95 * CAPACITY - 0.25 * 20_000.0 / 0.1);
        for _ in 0..30 {
            router.on_arrival(CAPACITY, 1000, None);
        }
        let found = interval(&mut router, 350, 20_000, &[(10, f32::INFINITY)]);
        assert_close(found, 0.95 * CAPACITY - 300e3 - 0.25 * 20_000.0 / 0.1);
    }

    #[test]
    fn a_sender_without_an_rtt_is_other_traffic_and_no_router_raises_a_rate() {
        let mut router = router(0);
        let unknown = Request { round_trip: 0.0, ..request(10.0, f32::INFINITY) };
        for _ in 0..10 {
            router.on_arrival(CAPACITY, 1000, Some(&unknown));
        }
        assert_close(interval(&mut router, 150, 0, &[]), 0.95 * CAPACITY - 100e3);
        let mut denied = request(10.0, 0.0);
        router.on_departure(CAPACITY, &mut denied);
        assert_eq!(denied.rate, 0.0);
    }
}
