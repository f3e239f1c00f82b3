//! Routers that give feedback to senders: they read the feedback field of packets, and lower or
//! raise what it asks for.
//!
//! One file per protocol. Each is a state machine without I/O at the queue of a direction: packets
//! and times go in at the arrival of a packet and at the start of its transmission. The network
//! calls it, because the field is in the packet, which the link does not hold.
//!
//! Decisions:
//! - Intervals have no timers. What was due is computed at the next packet, from the queue as it
//!   was left.
//! - The capacity follows the rate of the direction through all its changes: events, traces and
//!   modems. An outage is no change of capacity.
//! - A direction with feedback has a queue that decides at dequeue: the field is written when a
//!   packet leaves. It works with a drop-tail queue and with active queue management.

mod ebn;
mod intervals;
mod quick_start;
mod xcp;

use units::{Rate, Time};
use wire::feedback::{Field, Protocol, Request};

use crate::direction::Direction;
use crate::dynamics::Cursor;
use crate::framing::Framing;
use ebn::EbnRouter;
pub use ebn::EbnSettings;
use quick_start::QuickStartRouter;
pub use quick_start::QuickStartSettings;
use xcp::XcpRouter;
pub use xcp::{ProportionalXcpSettings, XcpSettings};

/// The key of scenarios that takes a protocol.
const KEY: &str = "link.feedback";
const KIND: &str = "feedback from routers";

/// A protocol of routers with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(tag = "name", rename_all = "kebab-case"),
    schemars(inline)
)]
pub enum Feedback {
    /// XCP: the router shares its spare rate, less what drains its queue, among the packets of an
    /// interval.
    Xcp(XcpSettings),
    /// P-XCP: XCP that gives the rate which rate-limited flows do not take to the others.
    PXcp(ProportionalXcpSettings),
    /// EBN: the router gives each flow an equal share of the rate that is available.
    Ebn(EbnSettings),
    /// Quick-Start: the router approves, lowers or denies the rate at which a connection asks to
    /// start.
    QuickStart(QuickStartSettings),
}

crate::list_of_mechanisms! {
    Feedback {
        Xcp => xcp::XCP,
        PXcp => xcp::P_XCP,
        Ebn => ebn::EBN,
        QuickStart => quick_start::QUICK_START,
    }
}

impl Feedback {
    /// The protocol of the fields that it treats.
    pub fn protocol(&self) -> Protocol {
        match self {
            Self::Xcp(_) | Self::PXcp(_) => Protocol::Xcp,
            Self::Ebn(_) => Protocol::Ebn,
            Self::QuickStart(_) => Protocol::QuickStart,
        }
    }
}

/// Totals of a router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedbackCounters {
    /// Packets whose field it has treated.
    pub treated_packets: u64,
    /// Of these, packets whose rate it has lowered below the request.
    pub lowered_packets: u64,
    /// Of these, requests of Quick-Start that it has denied.
    pub denied_packets: u64,
    /// Reports of Approved Rate (RFC 4782) that have passed.
    pub reports: u64,
    /// Packets without a field of its protocol.
    pub other_packets: u64,
}

/// The queue of a direction as its router sees it.
#[derive(Clone, Copy, Debug)]
struct View {
    now: Time,
    /// Bytes that wait, overhead included.
    waiting: u64,
    /// Capacity in bytes per second.
    capacity: f64,
}

/// The rules of a protocol.
#[derive(Clone, Debug)]
enum Rules {
    Xcp(XcpRouter),
    Ebn(EbnRouter),
    QuickStart(QuickStartRouter),
}

impl Rules {
    fn new(feedback: Feedback) -> Self {
        match feedback {
            Feedback::Xcp(settings) => Self::Xcp(XcpRouter::new(settings, None)),
            Feedback::PXcp(settings) => {
                Self::Xcp(XcpRouter::new(settings.xcp(), Some(settings.max_scale)))
            }
            Feedback::Ebn(settings) => Self::Ebn(EbnRouter::new(settings)),
            Feedback::QuickStart(settings) => Self::QuickStart(QuickStartRouter::new(settings)),
        }
    }

    /// Makes the computations that were due by the view's time.
    fn update_until(&mut self, view: View) {
        match self {
            Self::Xcp(router) => router.update_until(view),
            Self::Ebn(router) => router.update_until(view),
            Self::QuickStart(router) => router.update_until(view),
        }
    }

    /// A packet arrives at the queue, with a request of the protocol or none.
    fn on_arrival(&mut self, capacity: f64, bytes: u32, request: Option<&Request>) {
        match self {
            Self::Xcp(router) => router.on_arrival(bytes, request),
            Self::Ebn(router) => router.on_arrival(capacity, bytes, request),
            Self::QuickStart(_) => {}
        }
    }

    /// A packet leaves the queue, with a request of the protocol or none.
    fn on_departure(&mut self, capacity: f64, bytes: u32, request: Option<&mut Request>) {
        match (self, request) {
            (Self::Xcp(router), Some(request)) => router.on_departure(bytes, request),
            (Self::Ebn(router), Some(request)) => router.on_departure(capacity, request),
            (Self::QuickStart(router), request) => router.on_departure(capacity, bytes, request),
            (Self::Xcp(_) | Self::Ebn(_), None) => {}
        }
    }

    /// A packet has joined the queue or left it, and `waiting` bytes wait now.
    fn note_queue(&mut self, waiting: u64) {
        match self {
            Self::Xcp(router) => router.note_queue(waiting),
            Self::Ebn(router) => router.note_queue(waiting),
            Self::QuickStart(_) => {}
        }
    }
}

/// The router at the queue of a direction.
#[derive(Clone, Debug)]
pub struct Router {
    rules: Rules,
    protocol: Protocol,
    /// Bytes that the direction adds to packets: on the line, and those of ARQ or FEC.
    framing: Framing,
    header: u32,
    rate: Rate,
    /// Rate of the shaper, if there is one.
    shaped: Option<Rate>,
    /// Changes of the rate that are still to come, the next one apart.
    changes: Option<Cursor>,
    next_change: Option<(Time, Rate)>,
    /// Bytes that wait since the last packet.
    waiting: u64,
    counters: FeedbackCounters,
}

impl Router {
    /// The router of an idle direction; `None` without feedback.
    pub fn of(direction: &Direction) -> Option<Self> {
        let settings = direction.settings();
        let feedback = settings.feedback?;
        let mut router = Self {
            rules: Rules::new(feedback),
            protocol: feedback.protocol(),
            framing: settings.framing,
            header: settings.header(),
            rate: settings.rate,
            shaped: settings.shaper.map(|shaper| shaper.rate),
            changes: direction.changes(),
            next_change: None,
            waiting: 0,
            counters: FeedbackCounters::default(),
        };
        router.find_next_change();
        Some(router)
    }

    /// Totals.
    pub fn counters(&self) -> FeedbackCounters {
        self.counters
    }

    fn find_next_change(&mut self) {
        let mut changes = self.changes.iter_mut().flatten();
        self.next_change = changes.find_map(|(at, change)| Some((at, change.rate?)));
    }

    /// Makes the computations that were due by `now`, with the rate of their time.
    fn update_until(&mut self, now: Time) {
        while let Some((at, rate)) = self.next_change
            && at <= now
        {
            self.compute_until(at);
            self.rate = rate;
            self.find_next_change();
        }
        self.compute_until(now);
    }

    /// Capacity in bytes per second.
    fn capacity(&self) -> f64 {
        let rate = self.shaped.map_or(self.rate, |shaped| shaped.min(self.rate));
        rate.bits_per_second() as f64 / 8.0
    }

    /// Bytes of a packet on the line.
    fn framed(&self, bytes: u32) -> u32 {
        self.framing.bytes(bytes + self.header)
    }

    fn compute_until(&mut self, now: Time) {
        let view = View { now, waiting: self.waiting, capacity: self.capacity() };
        self.rules.update_until(view);
    }

    /// A packet of `bytes` arrives at the queue.
    pub fn on_arrival(&mut self, now: Time, bytes: u32, field: &Field) {
        self.update_until(now);
        let request = field.request.filter(|request| request.protocol == self.protocol);
        self.rules.on_arrival(self.capacity(), self.framed(bytes), request.as_ref());
    }

    /// A packet of `bytes` leaves the queue: its transmission starts.
    pub fn on_departure(&mut self, now: Time, bytes: u32, field: &mut Field) {
        self.update_until(now);
        let (capacity, bytes) = (self.capacity(), self.framed(bytes));
        self.counters.reports += u64::from(field.report.is_some());
        let request = field.request.as_mut().filter(|request| request.protocol == self.protocol);
        let Some(request) = request else {
            self.rules.on_departure(capacity, bytes, None);
            self.counters.other_packets += 1;
            return;
        };
        let before = request.rate;
        self.rules.on_departure(capacity, bytes, Some(request));
        request.count_link();
        let is_denied =
            self.protocol == Protocol::QuickStart && before > 0.0 && request.rate == 0.0;
        self.counters.denied_packets += u64::from(is_denied);
        self.counters.treated_packets += 1;
        self.counters.lowered_packets += u64::from(request.rate < before);
    }

    /// A packet has joined the queue or left it, and `waiting` bytes wait now.
    pub fn note_queue(&mut self, waiting: u64) {
        self.waiting = waiting;
        self.rules.note_queue(waiting);
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;
    use crate::direction::Settings;
    use crate::dynamics::{Change, Timeline};
    use crate::stream::Seed;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// A router at a link of 8 Mbit/s, which has 4 Mbit/s from 10 s on, and adds 100 bytes to each
    /// packet.
    fn router(feedback: Feedback) -> Router {
        let rate = |millions: u64| Rate::from_bits_per_second(millions * 1_000_000);
        let change = Change {
            at: Span::from_secs(10),
            every: None,
            rate: Some(rate(4)),
            delay: None,
            outage: None,
            loss: None,
        };
        let settings = Settings {
            framing: Framing::overhead(100),
            feedback: Some(feedback),
            timeline: Timeline::new(vec![change]),
            ..Settings::new(rate(8), Span::ZERO)
        };
        Router::of(&Direction::new(settings, &Seed::new(1), 0, Time::NEVER)).unwrap()
    }

    fn field(protocol: Protocol, rate: f32) -> Field {
        let (round_trip, spacing) = (0.1, 0.01);
        let request = Request { protocol, rate, round_trip, spacing, treated: 0, links: 1 };
        Field { request: Some(request), ..Field::default() }
    }

    /// The rate that a packet of 900 bytes leaves with.
    fn answer(router: &mut Router, now: Time, field: &Field) -> f32 {
        let mut field = *field;
        router.on_arrival(now, 900, &field);
        router.on_departure(now, 900, &mut field);
        let request = field.request.unwrap();
        let is_own = request.protocol == router.protocol;
        assert_eq!(request.response().is_complete, is_own, "its link is counted");
        request.rate
    }

    #[test]
    fn a_router_follows_the_rate_of_its_link() {
        let mut router = router(Feedback::Ebn(EbnSettings { target: 1.0, drain: 0.0 }));
        let all = field(Protocol::Ebn, f32::INFINITY);
        for (now, rate) in [(20, 1e6), (9000, 1e6), (10_100, 500e3), (12_000, 500e3)] {
            for millis in 0..10 {
                answer(&mut router, at(now + 10 * millis), &all);
            }
            let found = answer(&mut router, at(now + 100), &all);
            assert!((found / rate - 1.0).abs() < 0.01, "{found} for {rate} at {now}");
        }
    }

    /// Traffic without the field, ten packets of 900 bytes and 100 of the link in each 50 ms: 200
    /// kB/s.
    #[test]
    fn the_overhead_of_the_link_counts_for_its_router() {
        let mut router = router(Feedback::Ebn(EbnSettings { target: 1.0, drain: 0.0 }));
        for number in 0..100 {
            let mut other = Field::default();
            router.on_arrival(at(5 * number), 900, &other);
            router.on_departure(at(5 * number), 900, &mut other);
        }
        let found = answer(&mut router, at(501), &field(Protocol::Ebn, f32::INFINITY));
        assert!((found / 800e3 - 1.0).abs() < 1e-3, "{found}");
        assert_eq!(router.counters().other_packets, 100);
    }

    #[test]
    fn treated_lowered_and_denied_requests_are_counted() {
        let mut router = router(Feedback::QuickStart(QuickStartSettings::default()));
        // 85 % of 1 MB/s: 640 kB/s, then 160 kB/s, then as little as 40 kB/s and 10 kB/s, and
        // nothing.
        let rates: Vec<_> = (0..5)
            .map(|_| answer(&mut router, at(1), &field(Protocol::QuickStart, 640e3)))
            .collect();
        assert_eq!(rates, [640e3, 160e3, 40e3, 10e3, 0.0]);
        answer(&mut router, at(1), &field(Protocol::Xcp, 1.0));
        let counted = FeedbackCounters {
            treated_packets: 5,
            lowered_packets: 4,
            denied_packets: 1,
            other_packets: 1,
            reports: 0,
        };
        assert_eq!(router.counters(), counted);
    }
}
