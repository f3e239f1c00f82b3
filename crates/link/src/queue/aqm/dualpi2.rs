//! DualPI2, coupled dual queues (RFC 9332, appendix A): one queue for scalable flows of low
//! latency, one for all others.
//!
//! Packets with ECT(1) and marked ones enter the L queue (RFC 9331 section 5.1), all others the C
//! queue. A proportional-integral controller follows the delay of the C queue and gives a base
//! probability p'. The C queue drops or marks with p'^2, the L queue marks with k p' or by its own
//! delay, whichever is more. The square makes rates of both kinds of flows similar. Both choices
//! are deterministic: a sum of probabilities overflows (`recur`).
//!
//! Decisions:
//! - The scheduler is a weighted round robin by bytes, in which the C queue gets `classic_share`
//!   while both queues wait; the RFC leaves it open (section 4.2.2). A time-shifted FIFO is not
//!   built.
//! - The controller takes the longer of the two waits of the first packets, so that an L queue
//!   that does not respond is limited too (appendix A.2).
//! - Overload (appendix A.2): when k p' reaches 1, both queues drop with p'^2, and packets of the C
//!   queue are dropped even if they could be marked.
//! - Updates need no event: those that were due are made before the next packet comes or goes, with
//!   the waits at the times of the updates.

use units::{Span, Time};

use super::store::Store;
use super::{KEY, KIND, Surroundings};
use crate::mechanism::{Mechanism, Provenance};
use crate::queue::{Decisions, Discipline, Ecn, QueueLimit, Queued};

pub(super) const ABOUT: Mechanism = Mechanism {
    name: "dualpi2",
    key: KEY,
    kind: KIND,
    source: "De Schepper, Briscoe and White, Dual-Queue Coupled Active Queue Management (AQM) for L4S, RFC 9332, 2023",
    status: Provenance::Published,
    hurts: "An RTT above `max_rtt`. Flows that send ECT(1) and respond like Reno gain rate over the others. Of the controllers, `prague` sends ECT(1); marked packets of others enter its low-latency queue too.",
};

/// Parameters of DualPI2.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct DualPi2Settings {
    /// Queue delay at which the control loop of the C queue aims.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub target: Span,
    /// Largest usual RTT (RTT_max). It determines the gains, alpha = 0.1 T / RTT_max^2 and beta =
    /// 0.3 / RTT_max, and the time between two updates, T = min(target, RTT_max / 3).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "10ms", "x-maximum" = "1min")))]
    pub max_rtt: Span,
    /// Coupling factor k: the L queue marks with k times the square root of the probability of the
    /// C queue.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 16)))]
    pub coupling: f64,
    /// Queue delay from which the L queue marks.
    pub l4s_threshold: Span,
    /// From `l4s_threshold` on, the range of queue delay in which the probability of a mark grows
    /// to 1.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ns")))]
    pub l4s_range: Span,
    /// Share of the bytes for the C queue while packets of both queues wait.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1)))]
    pub classic_share: f64,
}

impl Default for DualPi2Settings {
    fn default() -> Self {
        Self {
            target: Span::from_millis(15),
            max_rtt: Span::from_millis(100),
            coupling: 2.0,
            l4s_threshold: Span::from_nanos(800_000),
            l4s_range: Span::from_nanos(400_000),
            classic_share: 1.0 / 16.0,
        }
    }
}

impl DualPi2Settings {
    /// Time between two updates.
    fn update_interval(&self) -> Span {
        self.target.min(Span::from_nanos(self.max_rtt.as_nanos() / 3))
    }

    /// Gains of the deviation from the target and of the change since the last update, in 1/s.
    fn gains(&self) -> (f64, f64) {
        let (interval, rtt) = (self.update_interval().as_secs_f64(), self.max_rtt.as_secs_f64());
        (0.1 * interval / (rtt * rtt), 0.3 / rtt)
    }
}

/// The two queues.
#[derive(Clone, Debug)]
pub(crate) struct DualPi2Queue {
    settings: DualPi2Settings,
    limit: QueueLimit,
    low_latency: Store,
    classic: Store,
    /// The base probability p'.
    probability: f64,
    delay_before: Span,
    next_update: Time,
    /// Sums of probabilities since the last choice in the L queue and in the C queue.
    sums: [f64; 2],
    /// Bytes that the C queue is behind its share.
    credit: f64,
    decisions: Decisions,
}

const L: usize = 0;
const C: usize = 1;

impl DualPi2Queue {
    pub(super) fn new(settings: DualPi2Settings, surroundings: Surroundings) -> Self {
        Self {
            settings,
            limit: surroundings.limit,
            low_latency: Store::default(),
            classic: Store::default(),
            probability: 0.0,
            delay_before: Span::ZERO,
            next_update: Time::ZERO + settings.update_interval(),
            sums: [0.0; 2],
            credit: 0.0,
            decisions: Decisions::default(),
        }
    }

    /// Makes the updates that were due by `now`.
    fn update_until(&mut self, now: Time) {
        let every = self.settings.update_interval();
        let is_empty = self.low_latency.is_empty() && self.classic.is_empty();
        while self.next_update <= now {
            if is_empty && self.delay_before == Span::ZERO {
                // All that are due lower the probability by the same step.
                let due = now.since(self.next_update).as_nanos() / every.as_nanos() + 1;
                let step = self.settings.gains().0 * self.settings.target.as_secs_f64();
                self.probability = (self.probability - step * due as f64).max(0.0);
                self.next_update += every * due;
                return;
            }
            self.update(self.next_update);
            self.next_update += every;
        }
    }

    /// `dualpi2_update` of appendix A.1.
    fn update(&mut self, now: Time) {
        let wait = |store: &Store| store.first().map_or(Span::ZERO, |head| now.since(head.since));
        let current = wait(&self.classic).max(wait(&self.low_latency));
        let [delay, before, target] =
            [current, self.delay_before, self.settings.target].map(Span::as_secs_f64);
        let (alpha, beta) = self.settings.gains();
        let step = alpha * (delay - target) + beta * (delay - before);
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        self.delay_before = current;
    }

    /// Probabilities of the C queue and of the L queue by coupling.
    fn coupled(&self) -> (f64, f64) {
        (self.probability * self.probability, self.settings.coupling * self.probability)
    }

    /// Returns true if a packet is chosen: once per 1 / `likelihood` packets of the queue.
    fn recur(&mut self, queue: usize, likelihood: f64) -> bool {
        self.sums[queue] += likelihood;
        let overflows = self.sums[queue] > 1.0;
        if overflows {
            self.sums[queue] -= 1.0;
        }
        overflows
    }

    /// Probability of a mark by the delay of the L queue itself: a ramp. A single packet is not
    /// marked.
    fn ramp(&self, sojourn: Span) -> f64 {
        let DualPi2Settings { l4s_threshold, l4s_range, .. } = self.settings;
        if self.low_latency.is_empty() {
            return 0.0;
        }
        let above = sojourn.saturating_sub(l4s_threshold).as_secs_f64();
        (above / l4s_range.as_secs_f64()).min(1.0)
    }

    /// The queue whose turn it is.
    fn turn(&self) -> Option<usize> {
        match (self.low_latency.is_empty(), self.classic.is_empty()) {
            (true, true) => None,
            (false, true) => Some(L),
            (true, false) => Some(C),
            (false, false) => Some(if self.credit > 0.0 { C } else { L }),
        }
    }

    /// Counts the bytes of a turn.
    fn charge(&mut self, queue: usize, bytes: u32) {
        if self.low_latency.is_empty() || self.classic.is_empty() {
            self.credit = 0.0;
            return;
        }
        let share = self.settings.classic_share;
        let bytes = f64::from(bytes);
        self.credit += if queue == L { share * bytes } else { (share - 1.0) * bytes };
    }

    /// A packet of the L queue: whether it is sent, with its mark.
    fn pass_low_latency(&mut self, packet: &mut Queued, now: Time) -> bool {
        let (p_classic, p_coupled) = self.coupled();
        if p_coupled >= 1.0 {
            if self.recur(L, p_classic) {
                return false;
            }
            self.decisions.mark(packet);
            return true;
        }
        let likelihood = self.ramp(now.since(packet.since)).max(p_coupled);
        if self.recur(L, likelihood) {
            self.decisions.mark(packet);
        }
        true
    }

    /// A packet of the C queue: whether it is sent, with its mark.
    fn pass_classic(&mut self, packet: &mut Queued) -> bool {
        let (p_classic, p_coupled) = self.coupled();
        if !self.recur(C, p_classic) {
            return true;
        }
        if !packet.ecn.is_capable() || p_coupled >= 1.0 {
            return false;
        }
        self.decisions.mark(packet);
        true
    }
}

impl Discipline for DualPi2Queue {
    fn enqueue(&mut self, packet: Queued, waits: bool, dropped: &mut Vec<u32>) {
        self.update_until(packet.since);
        if waits && self.limit.is_full(self.waiting(), packet.bytes) {
            dropped.push(packet.ticket);
            return;
        }
        match packet.ecn {
            Ecn::Scalable | Ecn::Marked => self.low_latency.push(packet),
            Ecn::NotCapable | Ecn::Capable => self.classic.push(packet),
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<u32>) -> Option<Queued> {
        self.update_until(now);
        loop {
            let queue = self.turn()?;
            let store = if queue == L { &mut self.low_latency } else { &mut self.classic };
            let mut packet = store.pop()?;
            let passes = match queue {
                L => self.pass_low_latency(&mut packet, now),
                _ => self.pass_classic(&mut packet),
            };
            if passes {
                self.charge(queue, packet.bytes);
                return Some(packet);
            }
            self.decisions.drop(packet.ticket, dropped);
        }
    }

    fn remove(&mut self, ticket: u32, _: u32) -> Option<Queued> {
        self.classic.remove(ticket).or_else(|| self.low_latency.remove(ticket))
    }

    fn waiting(&self) -> (usize, u64) {
        let [low, classic] = [self.low_latency.waiting(), self.classic.waiting()];
        (low.0 + classic.0, low.1 + classic.1)
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
    use super::super::tests::{
        Outcome, at, drive, drop_rate, mean_delay_ms, packet, steady, surroundings,
    };
    use super::*;
    use crate::queue::aqm::Aqm;

    fn queue() -> DualPi2Queue {
        DualPi2Queue::new(DualPi2Settings::default(), surroundings(QueueLimit::Unlimited))
    }

    fn with(ecn: Ecn, ticket: u32, since: Time) -> Queued {
        Queued { ecn, ..packet(ticket, since) }
    }

    #[test]
    fn the_constants_follow_from_target_and_rtt_as_in_appendix_a() {
        let settings = DualPi2Settings::default();
        assert_eq!(settings.update_interval(), Span::from_millis(15));
        let (alpha, beta) = settings.gains();
        assert!((alpha - 0.15).abs() < 1e-12 && (beta - 3.0).abs() < 1e-12, "{alpha} {beta}");
    }

    #[test]
    fn scalable_and_marked_packets_enter_the_queue_of_low_latency() {
        let mut queue = queue();
        for (ticket, ecn) in (0..).zip([Ecn::NotCapable, Ecn::Capable, Ecn::Scalable, Ecn::Marked])
        {
            queue.enqueue(with(ecn, ticket, at(0)), true, &mut Vec::new());
        }
        assert_eq!((queue.low_latency.len(), queue.classic.len()), (2, 2));
    }

    #[test]
    fn while_both_wait_the_classic_queue_gets_its_share_of_the_bytes() {
        let mut queue = queue();
        let none = &mut Vec::new();
        for ticket in 0..2000 {
            queue.enqueue(with(Ecn::Scalable, ticket, at(0)), true, none);
            queue.enqueue(with(Ecn::NotCapable, ticket, at(0)), true, none);
        }
        let sent = std::iter::from_fn(|| queue.dequeue(at(0), none)).take(1600);
        let classic = sent.filter(|packet| !packet.ecn.is_capable()).count();
        assert!(classic.abs_diff(100) <= 1, "{classic} of 1600 for a share of 1/16");
    }

    #[test]
    fn the_ramp_marks_from_its_threshold_and_spares_a_single_packet() {
        let mut queue = queue();
        assert_eq!(queue.ramp(Span::from_secs(1)), 0.0, "no other packet waits");
        queue.low_latency.push(packet(0, at(0)));
        let ramp = [800, 1000, 1200, 5000].map(|us| queue.ramp(Span::from_nanos(us * 1000)));
        assert_eq!(ramp, [0.0, 0.5, 1.0, 1.0]);
    }

    #[test]
    fn the_classic_queue_drops_with_the_square_and_the_other_marks_with_twice_the_probability() {
        let mut queue = queue();
        queue.probability = 0.1;
        let mut count = |queue_number: usize, likelihood: f64| {
            (0..10_000).filter(|_| queue.recur(queue_number, likelihood)).count()
        };
        assert!(count(C, 0.01).abs_diff(100) <= 1);
        assert!(count(L, 0.2).abs_diff(2000) <= 1);
        let (classic, coupled) = queue.coupled();
        assert!((classic - 0.01).abs() < 1e-12 && (coupled - 0.2).abs() < 1e-12);
    }

    #[test]
    fn in_overload_both_queues_drop_and_a_classic_packet_is_not_marked() {
        let mut queue = queue();
        queue.probability = 0.6;
        let none = &mut Vec::new();
        for ticket in 0..1000 {
            queue.enqueue(with(Ecn::Scalable, ticket, at(0)), true, none);
            queue.enqueue(with(Ecn::Capable, ticket, at(0)), true, none);
        }
        let sent: Vec<_> = std::iter::from_fn(|| queue.dequeue(at(0), none)).collect();
        let marked = sent.iter().filter(|packet| packet.ecn == Ecn::Marked).count();
        let classic = sent.iter().filter(|packet| packet.ecn == Ecn::Capable).count();
        // 0.6^2 of each are dropped, and all others of the L queue are marked.
        assert!(marked.abs_diff(640) <= 1 && classic.abs_diff(640) <= 1, "{marked} {classic}");
    }

    #[test]
    fn an_overloaded_classic_queue_is_held_at_the_target() {
        let arrivals = steady(800, Span::from_secs(60), 0, Ecn::NotCapable);
        let aqm = Aqm::DualPi2(DualPi2Settings::default());
        let (outcomes, _) = drive(aqm, QueueLimit::Unlimited, &arrivals);
        let late = &outcomes[outcomes.len() / 2..];
        let mean = mean_delay_ms(late);
        assert!((mean - 15.0).abs() < 1.5, "{mean} ms");
        assert!((drop_rate(late) - 0.2).abs() < 0.01, "{}", drop_rate(late));
    }

    #[test]
    fn a_scalable_flow_waits_less_than_a_classic_one_on_the_same_link() {
        let mut arrivals = steady(2000, Span::from_secs(30), 0, Ecn::NotCapable);
        arrivals.extend(steady(1900, Span::from_secs(30), 1, Ecn::Scalable));
        arrivals.sort_by_key(|arrival| arrival.at);
        let aqm = Aqm::DualPi2(DualPi2Settings::default());
        let (outcomes, _) = drive(aqm, QueueLimit::Unlimited, &arrivals);
        let of = |flow: u32| -> Vec<Outcome> {
            let all = arrivals.iter().zip(&outcomes);
            all.filter(|(one, _)| one.flow == flow).map(|(_, outcome)| *outcome).collect()
        };
        let (low, classic) = (mean_delay_ms(&of(1)), mean_delay_ms(&of(0)));
        assert!(low < 1.5 && classic > 5.0, "{low} ms and {classic} ms");
    }

    #[test]
    fn the_probability_falls_while_nothing_waits_however_late_the_next_packet_comes() {
        let (mut late, mut often) = (queue(), queue());
        for queue in [&mut late, &mut often] {
            queue.probability = 0.4;
            queue.delay_before = Span::from_millis(20);
        }
        (1..=40).for_each(|step| often.update_until(at(step * 10_000)));
        late.update_until(at(400_000));
        assert!((late.probability - often.probability).abs() < 1e-9);
        assert_eq!(late.next_update, often.next_update);
        late.update_until(at(3_600_000_000));
        assert_eq!(late.probability, 0.0);
    }

    /// RFC 9332 appendix A.1: T = min(target, RTT_max / 3).
    #[test]
    fn the_time_between_updates_is_a_third_of_the_rtt_with_a_high_target() {
        let (target, max_rtt) = (Span::from_millis(50), Span::from_millis(120));
        let settings = DualPi2Settings { target, max_rtt, ..DualPi2Settings::default() };
        assert_eq!(settings.update_interval(), Span::from_millis(40));
    }

    /// RFC 9332 section 2.5.1.2: marks by the own delay of the L queue and by coupling, the larger
    /// of both.
    #[test]
    fn the_low_latency_queue_marks_by_its_ramp_and_by_coupling() {
        // The base probability, microseconds in the queue, and marks of a hundred packets.
        for (probability, waited, expected) in
            [(0.0, 0, 0), (0.0, 1000, 50), (0.1, 0, 20), (0.1, 1000, 50), (0.4, 900, 80)]
        {
            let mut queue = queue();
            queue.probability = probability;
            let none = &mut Vec::new();
            for ticket in 0..101 {
                queue.low_latency.push(with(Ecn::Scalable, ticket, at(0)));
            }
            queue.next_update = Time::NEVER;
            for _ in 0..100 {
                queue.dequeue(at(waited), none);
            }
            let marked = queue.decisions().marked_packets;
            assert!(marked.abs_diff(expected) <= 1, "{marked} of {expected}");
        }
    }

    /// RFC 9332 appendix A.1: the longer delay of both queues.
    #[test]
    fn the_controller_follows_the_delay_of_the_low_latency_queue_too() {
        let mut queue = queue();
        queue.low_latency.push(with(Ecn::Scalable, 0, at(0)));
        queue.update(at(30_000));
        let expected = 0.15 * (0.030 - 0.015) + 3.0 * 0.030;
        assert!((queue.probability - expected).abs() < 1e-12, "{}", queue.probability);
    }

    #[test]
    fn the_classic_queue_gains_nothing_from_a_time_without_the_other() {
        let mut queue = queue();
        let none = &mut Vec::new();
        (0..9).for_each(|ticket| queue.enqueue(with(Ecn::NotCapable, ticket, at(0)), true, none));
        queue.credit = 5000.0;
        queue.dequeue(at(0), none);
        assert_eq!(queue.credit, 0.0);
    }
}
