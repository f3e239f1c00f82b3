//! Quick-Start, the router: it approves, lowers or denies the rate at which a connection asks to
//! start.
//!
//! Source: RFC 4782 ("Quick-Start for TCP and IP") and its router algorithm, as in ns-2.35
//! (`qs/qsagent.cc`, algorithm 3). Of the RFC only excerpts could be read. The sender is in the
//! crate `transport`.
//!
//! - A request is approved while the used rate and the rates approved of late are together below
//!   `threshold` of the capacity. It gets the difference at most, rounded down to a code of the
//!   protocol. If that is below the smallest code, the request is denied: its rate becomes zero,
//!   and no later router raises it.
//! - The used rate is the largest of the last five parts of `interval` (ns-2: five of 0.2 s).
//! - Approvals count in the interval in which they are made and in the next one, as the two buckets
//!   of ns-2. Later their data is part of the used rate.
//! - A router has no state of flows, and treats data in Quick-Start as all other data.
//!
//! Decisions:
//! - `interval` is 1 s by default. The 0.2 s of ns-2 forget an approval over a GEO satellite before
//!   its first data has come, a round trip later.
//! - Bytes include the overhead of the link, and are counted when their transmission starts.
//! - The QS Nonce is left out. It protects against receivers that lie, and no endpoint here does.

use units::{Span, Time};
use wire::feedback::{Request, quick_start};

use super::{KEY, KIND, View};
use crate::mechanism::{Mechanism, Provenance};

pub(super) const QUICK_START: Mechanism = Mechanism {
    name: "quick-start",
    key: KEY,
    kind: KIND,
    source: "RFC 4782, as in ns-2.35 (qs/qsagent.cc)",
    status: Provenance::FromImplementation,
    hurts: "Full links, which deny all requests. Traffic that starts between the approval and its data. Links whose rate falls after the approval: the window of a whole round trip is lost then.",
};

/// Parts of the interval of which the busiest gives the used rate (`util_records_` of ns-2).
const PARTS: usize = 5;

/// Parameters of Quick-Start.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct QuickStartSettings {
    /// Share of the capacity up to which requests are approved: used rate and recent approvals
    /// together stay below it. The default is that of ns-2.
    #[cfg_attr(feature = "schema", schemars(range(max = 1), extend("exclusiveMinimum" = 0)))]
    pub threshold: f64,
    /// Time over which the used rate is observed. Approvals are remembered for one to two of it,
    /// which should be as long as two round trips. The default is our choice; ns-2 has 0.2 s for
    /// approvals.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "10ms", "x-maximum" = "60s")))]
    pub interval: Span,
}

impl Default for QuickStartSettings {
    fn default() -> Self {
        Self { threshold: 0.85, interval: Span::from_secs(1) }
    }
}

/// The router of Quick-Start at a queue.
#[derive(Clone, Debug)]
pub(super) struct QuickStartRouter {
    threshold: f64,
    part: Span,
    part_ends: Time,
    /// Parts that have ended in this interval.
    ended: usize,
    /// Bytes of this part, and of those before it.
    bytes: u64,
    before: [u64; PARTS],
    /// Rates in bytes per second that were approved in this interval, and in the one before it.
    approved: f64,
    approved_before: f64,
}

impl QuickStartRouter {
    pub fn new(settings: QuickStartSettings) -> Self {
        let part = Span::from_nanos(settings.interval.as_nanos() / PARTS as u64);
        Self {
            threshold: settings.threshold,
            part,
            part_ends: Time::ZERO + part,
            ended: 0,
            bytes: 0,
            before: [0; PARTS],
            approved: 0.0,
            approved_before: 0.0,
        }
    }

    /// Ends the parts that end by the view's time.
    pub fn update_until(&mut self, view: View) {
        while self.part_ends <= view.now {
            self.before[self.ended] = std::mem::take(&mut self.bytes);
            self.part_ends += self.part;
            self.ended = (self.ended + 1) % PARTS;
            if self.ended == 0 {
                self.approved_before = std::mem::take(&mut self.approved);
            }
        }
    }

    /// A packet leaves over a link of `capacity` bytes per second.
    pub fn on_departure(&mut self, capacity: f64, bytes: u32, request: Option<&mut Request>) {
        self.bytes += u64::from(bytes);
        if let Some(request) = request {
            self.decide(capacity, request);
        }
    }

    fn decide(&mut self, capacity: f64, request: &mut Request) {
        let busiest = self.before.iter().max().copied().unwrap_or(0);
        let used = busiest as f64 / self.part.as_secs_f64();
        let free = self.threshold * capacity - used - self.approved - self.approved_before;
        request.rate = quick_start::round_down(free.min(request.rate.into()));
        self.approved += f64::from(request.rate);
    }
}

#[cfg(test)]
mod tests {
    use wire::feedback::Protocol;

    use super::*;

    /// 10 Mbit/s in bytes per second.
    const CAPACITY: f64 = 1.25e6;

    fn router() -> QuickStartRouter {
        QuickStartRouter::new(QuickStartSettings::default())
    }

    fn at(router: &mut QuickStartRouter, millis: u64) {
        let now = Time::ZERO + Span::from_millis(millis);
        router.update_until(View { now, waiting: 0, capacity: CAPACITY });
    }

    /// The rate in kbit/s that a request for `kbits` gets.
    fn approved(router: &mut QuickStartRouter, kbits: f32) -> f32 {
        let protocol = Protocol::QuickStart;
        let rate = kbits * 125.0;
        let mut request =
            Request { protocol, rate, round_trip: 0.0, spacing: 0.0, treated: 0, links: 1 };
        router.decide(CAPACITY, &mut request);
        request.rate / 125.0
    }

    #[test]
    fn an_idle_link_approves_up_to_its_threshold_rounded_down_to_a_code() {
        assert_eq!(approved(&mut router(), 2560.0), 2560.0);
        // 85 % of 10 Mbit/s are 8.5 Mbit/s, and the code below is 5.12.
        assert_eq!(approved(&mut router(), 10_240.0), 5120.0);
    }

    #[test]
    fn recent_approvals_count_until_the_end_of_the_next_interval() {
        let mut router = router();
        at(&mut router, 900);
        assert_eq!(approved(&mut router, 5120.0), 5120.0);
        // 3.38 Mbit/s are left, then 0.82, then 0.18.
        assert_eq!(approved(&mut router, 5120.0), 2560.0);
        assert_eq!(approved(&mut router, 5120.0), 640.0);
        assert_eq!(approved(&mut router, 5120.0), 160.0);
        assert_eq!(approved(&mut router, 5120.0), 0.0, "denied");
        at(&mut router, 1999);
        assert_eq!(approved(&mut router, 5120.0), 0.0, "of the interval before");
        at(&mut router, 2000);
        assert_eq!(approved(&mut router, 5120.0), 5120.0);
    }

    #[test]
    fn the_used_rate_is_that_of_the_busiest_part_of_the_last_interval() {
        let mut router = router();
        // 200 ms at 6 Mbit/s, then nothing.
        router.on_departure(CAPACITY, 150_000, None);
        at(&mut router, 1199);
        assert_eq!(approved(&mut router, 5120.0), 1280.0, "2.5 Mbit/s are free");
        at(&mut router, 3200);
        assert_eq!(approved(&mut router, 5120.0), 5120.0);
    }

    #[test]
    fn a_denied_request_stays_denied() {
        assert_eq!(approved(&mut router(), 0.0), 0.0);
    }
}
