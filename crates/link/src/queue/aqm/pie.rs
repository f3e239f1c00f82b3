//! PIE, proportional integral controller enhanced (RFC 8033): a queue that drops at enqueue, at
//! random, with a probability that is adapted every `update_interval` to the queue delay and to its
//! change.
//!
//! probability += alpha (delay - target) + beta (delay - delay before), where alpha and beta are
//! scaled down while the probability is small (section 4.2). Bursts of up to `max_burst` pass
//! (section 4.4).
//!
//! Decisions:
//! - The queue delay is the sojourn time of the packet that left last, and zero when the queue is
//!   empty: timestamps (section 4.3), not the estimate of the departure rate of section 5.2.
//! - Drops are spread as in section 5.4: none before the sum of the probabilities since the last
//!   drop reaches 0.85, and one at 8.5.
//! - The other additions of section 5 are in: above a probability of 10 % a step is at most 2 %
//!   (section 5.5), and packets with ECN are marked while the probability is below `ecn_threshold`
//!   (section 5.1). A full queue does not switch PIE on or off (section 5.3): it is always on.
//! - The allowance for bursts is renewed at an update, as in Linux. The pseudocode of appendix A
//!   does it at an arrival.
//! - Updates need no event. Those that were due are made before the next packet comes or goes, with
//!   what the queue has been since the last one.

use rand_xoshiro::Xoshiro256PlusPlus;
use units::{Span, Time};

use super::store::Store;
use super::{KEY, KIND, Surroundings};
use crate::mechanism::{Mechanism, Provenance};
use crate::queue::{Decisions, Discipline, QueueLimit, Queued};
use crate::stream::uniform;

/// MEAN_PKTSIZE: two packets of this many bytes are never too many.
const MEAN_PACKET: u64 = 1500;
/// Sums of probabilities between which a drop is drawn (RFC 8033 section 5.4).
const SPREAD: (f64, f64) = (0.85, 8.5);

pub(super) const ABOUT: Mechanism = Mechanism {
    name: "pie",
    key: KEY,
    kind: KIND,
    source: "Pan, Natarajan, Baker and White, Proportional Integral Controller Enhanced (PIE), RFC 8033, 2017",
    status: Provenance::Published,
    hurts: "An RTT far above 100 ms: the gains are too high, and the drop probability swings. A few flows in slow start overshoot before it acts.",
};

/// Parameters of PIE.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct PieSettings {
    /// Queue delay at which the control loop aims (QDELAY_REF).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ns")))]
    pub target: Span,
    /// Time between two updates of the probability (T_UPDATE).
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms")))]
    pub update_interval: Span,
    /// Longest burst that passes after an uncongested period (MAX_BURST).
    pub max_burst: Span,
    /// Gain of the deviation from the target, in 1/s.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1000)))]
    pub alpha: f64,
    /// Gain of the change since the last update, in 1/s.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1000)))]
    pub beta: f64,
    /// Mark packets of flows with ECN (RFC 3168) and drop only others, up to `ecn_threshold`.
    pub ecn: bool,
    /// Probability from which packets with ECN are dropped too.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub ecn_threshold: f64,
}

impl Default for PieSettings {
    fn default() -> Self {
        Self {
            target: Span::from_millis(15),
            update_interval: Span::from_millis(15),
            max_burst: Span::from_millis(150),
            alpha: 0.125,
            beta: 1.25,
            ecn: true,
            ecn_threshold: 0.1,
        }
    }
}

/// A queue with PIE.
#[derive(Clone, Debug)]
pub(crate) struct PieQueue {
    settings: PieSettings,
    limit: QueueLimit,
    random: Xoshiro256PlusPlus,
    store: Store,
    probability: f64,
    /// Sum of the probabilities since the last drop.
    accumulated: f64,
    burst_allowance: Span,
    /// Queue delay, and what it was at the last update.
    delay: Span,
    delay_before: Span,
    next_update: Time,
    decisions: Decisions,
}

/// The factor of a step while the probability is small (section 4.2).
fn scale(probability: f64) -> f64 {
    const STEPS: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    let step = STEPS.iter().find(|(below, _)| probability < *below);
    step.map_or(1.0, |(_, divisor)| 1.0 / divisor)
}

impl PieQueue {
    pub(super) fn new(settings: PieSettings, surroundings: Surroundings) -> Self {
        Self {
            settings,
            limit: surroundings.limit,
            random: surroundings.random,
            store: Store::default(),
            probability: 0.0,
            accumulated: 0.0,
            burst_allowance: settings.max_burst,
            delay: Span::ZERO,
            delay_before: Span::ZERO,
            next_update: Time::ZERO + settings.update_interval,
            decisions: Decisions::default(),
        }
    }

    /// Makes the updates that were due by `now`.
    fn update_until(&mut self, now: Time) {
        let every = self.settings.update_interval;
        while self.next_update <= now {
            if self.is_at_rest() {
                // All that are due would change nothing.
                let missed = now.since(self.next_update).as_nanos() / every.as_nanos() + 1;
                self.next_update += every * missed;
                return;
            }
            self.update();
            self.next_update += every;
        }
    }

    /// An update would change nothing.
    fn is_at_rest(&self) -> bool {
        let no_delay = self.delay == Span::ZERO && self.delay_before == Span::ZERO;
        no_delay && self.probability == 0.0 && self.burst_allowance == self.settings.max_burst
    }

    /// The controller of section 4.2.
    fn update(&mut self) {
        let PieSettings { target, update_interval, max_burst, alpha, beta, .. } = self.settings;
        let [delay, before, reference] =
            [self.delay, self.delay_before, target].map(Span::as_secs_f64);
        let mut step = alpha * (delay - reference) + beta * (delay - before);
        step *= scale(self.probability);
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        self.probability += step;
        if self.delay == Span::ZERO && self.delay_before == Span::ZERO {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst_allowance = self.burst_allowance.saturating_sub(update_interval);
        if self.probability == 0.0 && self.is_below_half(self.delay) && self.was_below_half() {
            self.burst_allowance = max_burst;
        }
        self.delay_before = self.delay;
    }

    fn is_below_half(&self, delay: Span) -> bool {
        delay * 2 < self.settings.target
    }

    fn was_below_half(&self) -> bool {
        self.is_below_half(self.delay_before)
    }

    /// Returns true if an arriving packet is chosen (sections 4.1, 4.4 and 5.4).
    fn chooses(&mut self) -> bool {
        let is_safe = self.was_below_half() && self.probability < 0.2;
        if self.burst_allowance > Span::ZERO || is_safe || self.store.bytes() <= 2 * MEAN_PACKET {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        let (least, most) = SPREAD;
        let chosen = self.accumulated >= least
            && (self.accumulated >= most || uniform(&mut self.random) < self.probability);
        if chosen {
            self.accumulated = 0.0;
        }
        chosen
    }
}

impl Discipline for PieQueue {
    fn enqueue(&mut self, mut packet: Queued, waits: bool, dropped: &mut Vec<u32>) {
        self.update_until(packet.since);
        if waits && self.limit.is_full(self.store.waiting(), packet.bytes) {
            // A full queue drops without PIE.
            self.accumulated = 0.0;
            dropped.push(packet.ticket);
            return;
        }
        if self.chooses() {
            let PieSettings { ecn, ecn_threshold, .. } = self.settings;
            if ecn && packet.ecn.is_capable() && self.probability < ecn_threshold {
                self.decisions.mark(&mut packet);
            } else {
                self.decisions.drop(packet.ticket, dropped);
                return;
            }
        }
        self.store.push(packet);
    }

    fn dequeue(&mut self, now: Time, _: &mut Vec<u32>) -> Option<Queued> {
        self.update_until(now);
        let packet = self.store.pop()?;
        let is_empty = self.store.is_empty();
        self.delay = if is_empty { Span::ZERO } else { now.since(packet.since) };
        Some(packet)
    }

    fn is_fifo(&self) -> bool {
        true
    }

    fn next_bytes(&self) -> Option<u32> {
        self.store.first().map(|packet| packet.bytes)
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
    use super::super::tests::{at, drive, drop_rate, mean_delay_ms, packet, steady, surroundings};
    use super::*;
    use crate::queue::Ecn;
    use crate::queue::aqm::Aqm;

    fn queue() -> PieQueue {
        PieQueue::new(PieSettings::default(), surroundings(QueueLimit::Unlimited))
    }

    fn after_update(probability: f64, delay: u64, before: u64) -> f64 {
        let mut queue = queue();
        queue.probability = probability;
        queue.delay = Span::from_millis(delay);
        queue.delay_before = Span::from_millis(before);
        queue.update();
        queue.probability
    }

    #[test]
    fn the_probability_follows_the_deviation_and_the_change() {
        // 0.125 (35 - 15) ms + 1.25 (35 - 25) ms = 0.015, and half of it below 10 %.
        assert!((after_update(0.05, 35, 25) - (0.05 + 0.015 / 2.0)).abs() < 1e-12);
        assert!((after_update(0.2, 35, 25) - 0.215).abs() < 1e-12);
        assert!((after_update(0.2, 15, 15) - 0.2).abs() < 1e-12, "at the target it stays");
        assert!((after_update(0.0, 35, 25) - 0.015 / 2048.0).abs() < 1e-12);
    }

    #[test]
    fn a_step_is_at_most_two_percent_above_ten_and_the_probability_decays_without_a_queue() {
        assert!((after_update(0.3, 1000, 0) - 0.32).abs() < 1e-12);
        let decayed = after_update(0.3, 0, 0);
        assert!((decayed - (0.3 - 0.125 * 0.015) * 0.98).abs() < 1e-12, "{decayed}");
    }

    #[test]
    fn a_burst_passes_whole_and_what_follows_it_does_not() {
        let mut queue = queue();
        let mut dropped = Vec::new();
        queue.probability = 0.9;
        queue.delay_before = Span::from_millis(50);
        (0..100).for_each(|ticket| queue.enqueue(packet(ticket, at(0)), true, &mut dropped));
        assert!(dropped.is_empty(), "the allowance of 150 ms");
        queue.burst_allowance = Span::ZERO;
        (100..200).for_each(|ticket| queue.enqueue(packet(ticket, at(0)), true, &mut dropped));
        assert!(dropped.len() > 30, "{}", dropped.len());
    }

    #[test]
    fn two_packets_or_a_short_delay_are_no_reason_to_drop() {
        let mut queue = queue();
        (queue.probability, queue.burst_allowance) = (0.9, Span::ZERO);
        queue.delay_before = Span::from_millis(50);
        (0..3).for_each(|ticket| queue.store.push(packet(ticket, at(0))));
        assert!((0..100).all(|_| !queue.chooses()), "as two packets of 1500 bytes");
        (0..10).for_each(|ticket| queue.store.push(packet(ticket, at(0))));
        assert!((0..100).any(|_| queue.chooses()));
        (queue.probability, queue.delay_before) = (0.19, Span::from_millis(7));
        assert!((0..1000).all(|_| !queue.chooses()), "less than half of the target");
    }

    /// Section 4.4: renewed when the probability is zero and both delays are below half of the
    /// target.
    #[test]
    fn the_allowance_for_bursts_is_renewed_by_an_idle_queue_and_no_other() {
        let idle = (0.0, 7, 7);
        for (probability, delay, before) in [idle, (0.1, 7, 7), (0.0, 8, 7), (0.0, 7, 8)] {
            let mut queue = queue();
            queue.burst_allowance = Span::ZERO;
            queue.probability = probability;
            queue.delay = Span::from_millis(delay);
            queue.delay_before = Span::from_millis(before);
            queue.update();
            let is_renewed = queue.burst_allowance == queue.settings.max_burst;
            assert_eq!(is_renewed, (probability, delay, before) == idle, "{delay} {before}");
        }
    }

    /// Section 5.4: the sum starts again with a full queue, and while the probability is zero.
    #[test]
    fn the_sum_of_probabilities_starts_again_after_a_full_queue_and_without_probability() {
        let limited = surroundings(QueueLimit::Packets(1));
        let mut queue = PieQueue::new(PieSettings::default(), limited);
        queue.accumulated = 0.8;
        let mut dropped = Vec::new();
        (0..2).for_each(|ticket| queue.enqueue(packet(ticket, at(0)), true, &mut dropped));
        assert_eq!((&dropped[..], queue.accumulated), (&[1][..], 0.0));
        (queue.accumulated, queue.burst_allowance) = (0.8, Span::ZERO);
        queue.delay_before = Span::from_millis(50);
        (2..12).for_each(|ticket| queue.store.push(packet(ticket, at(0))));
        assert!(!queue.chooses());
        assert_eq!(queue.accumulated, 0.0);
    }

    /// Section 5.4: between 0.85 / p and 8.5 / p packets from one drop to the next, but for
    /// rounding.
    #[test]
    fn drops_are_neither_close_together_nor_far_apart() {
        let mut queue = queue();
        (queue.probability, queue.burst_allowance) = (0.05, Span::ZERO);
        queue.delay_before = Span::from_millis(50);
        (0..10).for_each(|ticket| queue.store.push(packet(ticket, at(0))));
        let chosen: Vec<_> = (0..100_000).filter(|_| queue.chooses()).collect();
        let gaps: Vec<_> = chosen.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (17..=171).contains(gap)), "{:?}", gaps.iter().max());
    }

    #[test]
    fn packets_with_ecn_are_marked_up_to_a_probability_of_ten_percent() {
        for (probability, decided) in [(0.09, (0, 1)), (0.11, (1, 0))] {
            let mut queue = queue();
            (queue.probability, queue.burst_allowance) = (probability, Span::ZERO);
            queue.delay_before = Span::from_millis(50);
            queue.accumulated = 9.0;
            (0..10).for_each(|ticket| queue.store.push(packet(ticket, at(0))));
            let ecn = Ecn::Capable;
            queue.enqueue(Queued { ecn, ..packet(10, at(0)) }, true, &mut Vec::new());
            let Decisions { dropped_packets, marked_packets } = queue.decisions();
            assert_eq!((dropped_packets, marked_packets), decided, "{probability}");
        }
    }

    #[test]
    fn an_overloaded_queue_is_held_at_the_target() {
        for target in [15, 40] {
            let target = Span::from_millis(target);
            let settings = PieSettings { target, ..PieSettings::default() };
            let arrivals = steady(800, Span::from_secs(120), 0, Ecn::NotCapable);
            let (outcomes, _) = drive(Aqm::Pie(settings), QueueLimit::Unlimited, &arrivals);
            let late = &outcomes[outcomes.len() / 2..];
            let mean = mean_delay_ms(late);
            assert!((mean / target.as_millis_f64() - 1.0).abs() < 0.1, "{mean} ms for {target}");
            assert!((drop_rate(late) - 0.2).abs() < 0.01, "{}", drop_rate(late));
        }
    }

    #[test]
    fn updates_that_were_due_are_made_whenever_the_next_packet_comes() {
        let (mut late, mut often) = (queue(), queue());
        for queue in [&mut late, &mut often] {
            queue.probability = 0.4;
            queue.delay = Span::from_millis(20);
        }
        (1..=40).for_each(|step| often.update_until(at(step * 10_000)));
        late.update_until(at(400_000));
        assert_eq!(late.probability, often.probability);
        assert_eq!(late.next_update, often.next_update);
    }
}
