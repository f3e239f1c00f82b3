//! CoDel, controlled delay (RFC 8289): a queue that drops at dequeue while packets have waited
//! longer than `target` for at least `interval`.
//!
//! The time that a packet has waited is its sojourn time. It is above the target for an interval
//! only if the queue does not drain, so a burst is no reason to drop. Then one packet is dropped,
//! and the next ones after interval / sqrt(n), n being the number of drops so far, until a packet
//! has waited less than the target (section 5).
//!
//! Decisions:
//! - MAXPACKET, the bytes that may always wait, is the largest packet that the queue has seen. The
//!   RFC proposes the MTU of the interface; a link of this laboratory has none.
//! - With `ecn`, the packet that would be dropped is marked and sent, and no other is looked at in
//!   the same dequeue. RFC 8289 has no code for marks. This is the rule of Linux (`codel_dequeue`).
//! - `ce_threshold` marks each ECN-capable packet that has waited longer. It is Linux's, for data
//!   centres, and off by default. It replaces no drop.

use units::{Span, Time};

use super::store::Store;
use super::{KEY, KIND, Surroundings};
use crate::mechanism::{Mechanism, Provenance};
use crate::queue::{Decisions, Discipline, QueueLimit, Queued};

pub(super) const ABOUT: Mechanism = Mechanism {
    name: "codel",
    key: KEY,
    kind: KIND,
    source: "Nichols, Jacobson, McGregor and Iyengar, Controlled Delay Active Queue Management, RFC 8289, 2018",
    status: Provenance::Published,
    hurts: "An RTT far above `interval`: flows are cut again before they respond, and the link idles. Flows that do not respond keep a long queue.",
};

/// Parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct CodelSettings {
    /// Queue delay that may stay for an interval: 5 to 10 % of `interval`.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ns")))]
    pub target: Span,
    /// Time for which the queue delay must exceed the target before the first drop: about the
    /// largest usual RTT of the flows. The default suits 10 ms to 300 ms, and no geostationary
    /// link.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ns")))]
    pub interval: Span,
    /// Mark packets of flows with ECN (RFC 3168) and drop only others.
    pub ecn: bool,
    /// Mark every ECN-capable packet that has waited longer than this. Default: none.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub ce_threshold: Option<Span>,
}

impl Default for CodelSettings {
    fn default() -> Self {
        Self {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            ecn: true,
            ce_threshold: None,
        }
    }
}

/// The state of CoDel for one queue, apart from its packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Codel {
    /// When the sojourn time will have been above the target for an interval; `None` while it is
    /// below.
    first_above: Option<Time>,
    /// When the next packet is dropped, while dropping.
    drop_next: Time,
    /// Packets dropped since dropping started.
    count: u32,
    /// `count` when dropping started last.
    last_count: u32,
    is_dropping: bool,
    /// Bytes of the largest packet so far.
    largest: u32,
}

impl Codel {
    /// A packet enters the queue.
    pub fn note(&mut self, packet: &Queued) {
        self.largest = self.largest.max(packet.bytes);
    }

    /// Removes the next packet to be sent from `store`, at `now`.
    pub fn dequeue(
        &mut self,
        settings: &CodelSettings,
        store: &mut Store,
        now: Time,
        decisions: &mut Decisions,
        dropped: &mut Vec<u32>,
    ) -> Option<Queued> {
        let mut sent = self.choose(settings, store, now, decisions, dropped);
        if let (Some(packet), Some(threshold)) = (&mut sent, settings.ce_threshold)
            && packet.ecn.is_capable()
            && now.since(packet.since) > threshold
        {
            decisions.mark(packet);
        }
        sent
    }

    /// The `deque` of RFC 8289 section 5.5.
    fn choose(
        &mut self,
        settings: &CodelSettings,
        store: &mut Store,
        now: Time,
        decisions: &mut Decisions,
        dropped: &mut Vec<u32>,
    ) -> Option<Queued> {
        let (mut head, mut is_late) = self.look(settings, store, now);
        if self.is_dropping {
            while is_late && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                let mut packet = head?;
                if settings.ecn && packet.ecn.is_capable() {
                    self.drop_next = self.next_drop(settings, self.drop_next);
                    decisions.mark(&mut packet);
                    return Some(packet);
                }
                decisions.drop(packet.ticket, dropped);
                (head, is_late) = self.look(settings, store, now);
                if is_late {
                    self.drop_next = self.next_drop(settings, self.drop_next);
                }
            }
            self.is_dropping = is_late;
        } else if is_late {
            let mut packet = head?;
            if settings.ecn && packet.ecn.is_capable() {
                decisions.mark(&mut packet);
                head = Some(packet);
            } else {
                decisions.drop(packet.ticket, dropped);
                (head, _) = self.look(settings, store, now);
            }
            self.start_dropping(settings, now);
        }
        head
    }

    /// Dropping starts. If it ended a short time ago, it goes on at the rate that was right then.
    fn start_dropping(&mut self, settings: &CodelSettings, now: Time) {
        self.is_dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let is_recent = now.since(self.drop_next) < settings.interval * 16;
        self.count = if delta > 1 && is_recent { delta } else { 1 };
        self.drop_next = self.next_drop(settings, now);
        self.last_count = self.count;
    }

    /// The control law: interval / sqrt(count) after `from`.
    fn next_drop(&self, settings: &CodelSettings, from: Time) -> Time {
        let apart = settings.interval.as_secs_f64() / f64::from(self.count).sqrt();
        from + Span::from_secs_f64(apart)
    }

    /// Takes the first packet out, and returns whether the queue has been above the target for an
    /// interval: the `dodeque` of the RFC.
    fn look(
        &mut self,
        settings: &CodelSettings,
        store: &mut Store,
        now: Time,
    ) -> (Option<Queued>, bool) {
        let Some(packet) = store.pop() else {
            self.first_above = None;
            return (None, false);
        };
        let sojourn = now.since(packet.since);
        if sojourn < settings.target || store.bytes() <= u64::from(self.largest) {
            self.first_above = None;
            return (Some(packet), false);
        }
        let first_above = *self.first_above.get_or_insert(now + settings.interval);
        (Some(packet), now >= first_above)
    }
}

/// A queue with CoDel.
#[derive(Clone, Debug)]
pub(crate) struct CodelQueue {
    settings: CodelSettings,
    limit: QueueLimit,
    store: Store,
    codel: Codel,
    decisions: Decisions,
}

impl CodelQueue {
    pub(super) fn new(settings: CodelSettings, surroundings: Surroundings) -> Self {
        Self {
            settings,
            limit: surroundings.limit,
            store: Store::default(),
            codel: Codel::default(),
            decisions: Decisions::default(),
        }
    }
}

impl Discipline for CodelQueue {
    fn enqueue(&mut self, packet: Queued, waits: bool, dropped: &mut Vec<u32>) {
        if waits && self.limit.is_full(self.store.waiting(), packet.bytes) {
            dropped.push(packet.ticket);
        } else {
            self.codel.note(&packet);
            self.store.push(packet);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<u32>) -> Option<Queued> {
        let Self { settings, limit: _, store, codel, decisions } = self;
        codel.dequeue(settings, store, now, decisions, dropped)
    }

    fn remove(&mut self, ticket: u32, _: u32) -> Option<Queued> {
        self.store.remove(ticket)
    }

    fn waiting(&self) -> (usize, u64) {
        self.store.waiting()
    }

    fn decisions(&self) -> Decisions {
        self.decisions
    }

    fn boxed_clone(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, packet, surroundings};
    use super::*;
    use crate::queue::Ecn;

    fn queue(settings: CodelSettings) -> CodelQueue {
        CodelQueue::new(settings, surroundings(QueueLimit::Unlimited))
    }

    /// Packets that all came at the start of the run, asked for once per millisecond: the times in
    /// milliseconds at which packets were dropped and marked.
    fn decided(queue: &mut CodelQueue, millis: std::ops::Range<u64>) -> (Vec<u64>, Vec<u64>) {
        let (mut dropped, mut marked) = (Vec::new(), Vec::new());
        for now in millis {
            let mut tickets = Vec::new();
            let sent = queue.dequeue(at(now * 1000), &mut tickets);
            dropped.extend(tickets.iter().map(|_| now));
            marked.extend(sent.filter(|packet| packet.ecn == Ecn::Marked).map(|_| now));
        }
        (dropped, marked)
    }

    fn fill(queue: &mut CodelQueue, ecn: Ecn) {
        for ticket in 0..5000 {
            queue.enqueue(Queued { ecn, ..packet(ticket, Time::ZERO) }, true, &mut Vec::new());
        }
    }

    /// 105, then 100 / sqrt(1, 2, 3 ...) ms apart, each at the next millisecond (RFC 8289
    /// section 5.3).
    fn drop_times(number: usize) -> Vec<u64> {
        let mut next = 105.0;
        let later = (1..number).map(|count| {
            next += 100.0 / (count as f64).sqrt();
            next.ceil() as u64
        });
        std::iter::once(105).chain(later).collect()
    }

    #[test]
    fn the_first_drop_comes_an_interval_after_the_target_and_the_next_by_the_square_root() {
        let mut queue = queue(CodelSettings::default());
        fill(&mut queue, Ecn::NotCapable);
        let (dropped, _) = decided(&mut queue, 0..500);
        assert_eq!(dropped, drop_times(7));
    }

    #[test]
    fn a_packet_with_ecn_is_marked_at_the_time_of_the_drop_and_sent() {
        let mut queue = queue(CodelSettings::default());
        fill(&mut queue, Ecn::Capable);
        let (dropped, marked) = decided(&mut queue, 0..1000);
        let expected: Vec<_> = drop_times(100).into_iter().filter(|at| *at < 1000).collect();
        let marked_packets = expected.len() as u64;
        assert_eq!((dropped, marked), (vec![], expected));
        assert_eq!(queue.decisions(), Decisions { dropped_packets: 0, marked_packets });
    }

    #[test]
    fn a_queue_of_one_packet_is_good_however_long_it_waits() {
        let mut queue = queue(CodelSettings::default());
        for round in 0..1000_u64 {
            let since = at(round * 1000);
            queue.enqueue(packet(0, since), true, &mut Vec::new());
            queue.enqueue(packet(1, since), true, &mut Vec::new());
            let mut dropped = Vec::new();
            let late = since + Span::from_millis(50);
            while queue.dequeue(late, &mut dropped).is_some() {}
            assert!(dropped.is_empty());
        }
    }

    #[test]
    fn dropping_ends_with_the_first_packet_below_the_target() {
        let mut queue = queue(CodelSettings::default());
        fill(&mut queue, Ecn::NotCapable);
        decided(&mut queue, 0..400);
        assert!(queue.codel.is_dropping);
        while queue.store.pop().is_some() {}
        for ticket in 0..3 {
            queue.enqueue(packet(ticket, at(400_000)), true, &mut Vec::new());
        }
        queue.dequeue(at(401_000), &mut Vec::new());
        assert!(!queue.codel.is_dropping);
    }

    #[test]
    fn dropping_that_starts_again_soon_goes_on_at_its_rate_and_later_from_the_start() {
        // 16 intervals (RFC 8289 section 5.4) end between the third and the fourth: the next drop
        // was due at 469 ms, and the first one comes 105 ms after the pause.
        let pauses = [(200, 5), (1200, 5), (1500, 5), (1530, 1), (3000, 1)];
        for (pause, expected) in pauses.map(|(ms, count)| (Span::from_millis(ms), count)) {
            let mut queue = queue(CodelSettings::default());
            fill(&mut queue, Ecn::NotCapable);
            let (dropped, _) = decided(&mut queue, 0..450);
            assert_eq!(dropped.len(), 6);
            while queue.store.pop().is_some() {}
            queue.dequeue(at(450_000), &mut Vec::new());
            let start = at(450_000) + pause;
            for ticket in 0..500 {
                queue.enqueue(packet(ticket, start), true, &mut Vec::new());
            }
            let mut dropped = Vec::new();
            for millis in 0..106 {
                queue.dequeue(start + Span::from_millis(millis), &mut dropped);
            }
            assert_eq!(dropped.len(), 1, "the first drop");
            assert_eq!(queue.codel.count, expected);
        }
    }

    #[test]
    fn a_threshold_marks_every_packet_with_ecn_that_has_waited_longer() {
        let ce_threshold = Some(Span::from_millis(1));
        let mut queue = queue(CodelSettings { ce_threshold, ..CodelSettings::default() });
        fill(&mut queue, Ecn::Scalable);
        let (_, marked) = decided(&mut queue, 0..5);
        assert_eq!(marked, [2, 3, 4]);
    }

    #[test]
    fn what_exceeds_the_limit_is_dropped_and_no_decision_of_codel() {
        let mut queue =
            CodelQueue::new(CodelSettings::default(), surroundings(QueueLimit::Packets(2)));
        let mut dropped = Vec::new();
        (0..4).for_each(|ticket| queue.enqueue(packet(ticket, at(0)), true, &mut dropped));
        assert_eq!(dropped, [2, 3]);
        assert_eq!(queue.decisions(), Decisions::default());
    }
}
