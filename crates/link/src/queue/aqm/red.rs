//! RED, random early detection (Floyd and Jacobson, "Random early detection gateways for congestion
//! avoidance", IEEE/ACM Transactions on Networking 1(4), 1993), in the form that RFC 2309
//! recommended. RFC 7567 has replaced that recommendation and prefers no algorithm.
//!
//! At each arrival the average queue is updated. Between `min_threshold` and `max_threshold`,
//! packets are dropped or marked with a probability that grows to `max_probability`; above, all are
//! dropped. Drops are spread evenly: p / (1 - n p), n being the packets since the last drop
//! (section 4 of the paper).
//!
//! With `gentle` (Floyd, "Recommendation on using the gentle_ variant of RED", 2000) the
//! probability grows from `max_probability` to 1 between `max_threshold` and twice of it.
//!
//! Decisions:
//! - The average counts packets that wait, without the one in transmission, as ns-2 does.
//! - While the queue is empty, the average falls as if small packets had passed: m = idle time over
//!   the time of a packet of [`TYPICAL_PACKET`] bytes at the rate of the link at the start of the
//!   run.
//! - Above the thresholds packets are dropped, also those of flows with ECN (RFC 3168 section 7).
//! - The defaults are Floyd's ("RED: discussions of setting parameters", 1997): a largest threshold
//!   of three times the smallest, and a `max_probability` of 0.1. The paper's own experiments have
//!   0.02.

use rand_xoshiro::Xoshiro256PlusPlus;
use units::{Rate, Time};

use super::store::Store;
use super::{KEY, KIND, Surroundings};
use crate::mechanism::{Mechanism, Provenance};
use crate::queue::{Decisions, Discipline, QueueLimit, Queued};
use crate::stream::uniform;

/// Bytes of a typical packet, for the decay of the average while the queue is empty: ns-2's
/// default.
const TYPICAL_PACKET: f64 = 500.0;

pub(super) const ABOUT: Mechanism = Mechanism {
    name: "red",
    key: KEY,
    kind: KIND,
    source: "Floyd and Jacobson, Random early detection gateways for congestion avoidance, IEEE/ACM Transactions on Networking 1(4), 1993",
    status: Provenance::Published,
    hurts: "Thresholds that do not fit rate and number of flows: too low, and the link idles; too high, and it is a drop-tail queue. The average follows slowly at low rates.",
};

/// Parameters of RED.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(default, deny_unknown_fields),
    schemars(inline)
)]
pub struct RedSettings {
    /// Average queue in packets below which no packet is dropped.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1_000_000)))]
    pub min_threshold: f64,
    /// Average queue in packets at which the probability is `max_probability`; above
    /// `min_threshold`, at least three times of it by rule of thumb.
    #[cfg_attr(feature = "schema", schemars(range(max = 1_000_000), extend("exclusiveMinimum" = 0)))]
    pub max_threshold: f64,
    /// Probability of a drop at `max_threshold`.
    #[cfg_attr(feature = "schema", schemars(range(max = 1), extend("exclusiveMinimum" = 0)))]
    pub max_probability: f64,
    /// Weight of the current queue in the average at each arrival.
    #[cfg_attr(feature = "schema", schemars(range(max = 1), extend("exclusiveMinimum" = 0)))]
    pub weight: f64,
    /// Let the probability grow to 1 at twice `max_threshold`, rather than jump to 1 above it.
    pub gentle: bool,
    /// Mark packets of flows with ECN (RFC 3168) while the probability is below 1, and drop only
    /// others.
    pub ecn: bool,
}

impl Default for RedSettings {
    fn default() -> Self {
        Self {
            min_threshold: 5.0,
            max_threshold: 15.0,
            max_probability: 0.1,
            weight: 0.002,
            gentle: true,
            ecn: true,
        }
    }
}

/// A queue with RED.
#[derive(Clone, Debug)]
pub(crate) struct RedQueue {
    settings: RedSettings,
    limit: QueueLimit,
    rate: Rate,
    random: Xoshiro256PlusPlus,
    store: Store,
    average: f64,
    /// Packets since the last drop or mark, or since the average exceeded `min_threshold`; `None`
    /// below.
    count: Option<u32>,
    /// Since when the queue has been empty.
    empty_since: Option<Time>,
    decisions: Decisions,
}

/// The decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Accept,
    /// Chosen at random: marked if it can be.
    Choose,
    /// The average is too long: dropped.
    Drop,
}

impl RedQueue {
    pub(super) fn new(settings: RedSettings, surroundings: Surroundings) -> Self {
        let Surroundings { limit, rate, random } = surroundings;
        Self {
            settings,
            limit,
            rate,
            random,
            store: Store::default(),
            average: 0.0,
            count: None,
            empty_since: Some(Time::ZERO),
            decisions: Decisions::default(),
        }
    }

    /// A packet arrives: the average of the packets that wait.
    fn update_average(&mut self, now: Time) {
        match self.empty_since.take() {
            Some(since) => {
                let packet = TYPICAL_PACKET * 8.0 / self.rate.bits_per_second() as f64;
                let missed = now.since(since).as_secs_f64() / packet;
                self.average *= libm::pow(1.0 - self.settings.weight, missed);
            }
            None => {
                self.average += self.settings.weight * (self.store.len() as f64 - self.average);
            }
        }
    }

    /// The probability of a drop for the average: `p_b` of the paper; `None` where all are dropped.
    fn probability(&self) -> Option<f64> {
        let RedSettings { min_threshold, max_threshold, max_probability, gentle, .. } =
            self.settings;
        let above = self.average - max_threshold;
        if above < 0.0 {
            let share = (self.average - min_threshold) / (max_threshold - min_threshold);
            Some(max_probability * share)
        } else if gentle && above < max_threshold {
            Some(max_probability + (1.0 - max_probability) * above / max_threshold)
        } else {
            None
        }
    }

    fn judge(&mut self) -> Verdict {
        if self.average < self.settings.min_threshold {
            self.count = None;
            return Verdict::Accept;
        }
        let Some(probability) = self.probability() else {
            self.count = Some(0);
            return Verdict::Drop;
        };
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        self.count = Some(count);
        let spread = f64::from(count) * probability;
        let chosen = spread >= 1.0 || uniform(&mut self.random) < probability / (1.0 - spread);
        if !chosen {
            return Verdict::Accept;
        }
        self.count = Some(0);
        Verdict::Choose
    }
}

impl Discipline for RedQueue {
    fn enqueue(&mut self, mut packet: Queued, waits: bool, dropped: &mut Vec<u32>) {
        self.update_average(packet.since);
        let verdict = self.judge();
        let is_marked = self.settings.ecn && packet.ecn.is_capable();
        if verdict == Verdict::Drop || (verdict == Verdict::Choose && !is_marked) {
            self.decisions.drop(packet.ticket, dropped);
        } else if waits && self.limit.is_full(self.store.waiting(), packet.bytes) {
            dropped.push(packet.ticket);
        } else {
            if verdict == Verdict::Choose {
                self.decisions.mark(&mut packet);
            }
            self.store.push(packet);
        }
        if self.store.is_empty() {
            self.empty_since = Some(packet.since);
        }
    }

    fn dequeue(&mut self, now: Time, _: &mut Vec<u32>) -> Option<Queued> {
        let packet = self.store.pop();
        if self.store.is_empty() && self.empty_since.is_none() {
            self.empty_since = Some(now);
        }
        packet
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
    use units::Span;

    use super::super::tests::{at, drive, drop_rate, packet, steady, surroundings};
    use super::*;
    use crate::queue::aqm::Aqm;

    fn queue(settings: RedSettings) -> RedQueue {
        RedQueue::new(settings, surroundings(QueueLimit::Unlimited))
    }

    /// The verdicts on packets at an average that does not change.
    fn verdicts(settings: RedSettings, average: f64, number: usize) -> Vec<Verdict> {
        let mut queue = queue(settings);
        queue.average = average;
        (0..number).map(|_| queue.judge()).collect()
    }

    fn share(verdicts: &[Verdict], of: Verdict) -> f64 {
        verdicts.iter().filter(|one| **one == of).count() as f64 / verdicts.len() as f64
    }

    #[test]
    fn below_the_smaller_threshold_no_packet_is_chosen_and_above_the_larger_all_are_dropped() {
        let settings = RedSettings { gentle: false, ..RedSettings::default() };
        assert!(verdicts(settings, 4.9, 1000).iter().all(|one| *one == Verdict::Accept));
        assert!(verdicts(settings, 15.0, 1000).iter().all(|one| *one == Verdict::Drop));
    }

    #[test]
    fn gentle_grows_to_one_at_twice_the_larger_threshold() {
        let settings = RedSettings::default();
        let probability = |average| {
            let mut queue = queue(settings);
            queue.average = average;
            queue.probability()
        };
        assert_eq!(probability(10.0), Some(0.05));
        assert_eq!(probability(15.0), Some(0.1));
        assert!((probability(22.5).unwrap() - 0.55).abs() < 1e-12);
        assert_eq!(probability(30.0), None);
    }

    /// Section 4 of the paper, method 2: gaps are even, with a mean of 1 / 2p. As the figure 2
    /// of the paper counts, the longest is one packet less than 1 / p.
    #[test]
    fn packets_are_chosen_at_even_distances() {
        let verdicts = verdicts(RedSettings::default(), 10.0, 100_000);
        let chosen: Vec<_> =
            (0..verdicts.len()).filter(|n| verdicts[*n] == Verdict::Choose).collect();
        let gaps: Vec<_> = chosen.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&1), Some(&19)));
        let share = share(&verdicts, Verdict::Choose);
        assert!((share - 1.0 / 10.0).abs() < 0.003, "{share}");
    }

    #[test]
    fn the_average_follows_by_its_weight_and_falls_while_the_queue_is_empty() {
        let mut queue = queue(RedSettings { weight: 0.5, ..RedSettings::default() });
        let none = &mut Vec::new();
        (0..4).for_each(|ticket| queue.enqueue(packet(ticket, at(0)), true, none));
        // 0 (empty), then halfway to 1, 2 and 3.
        assert_eq!(queue.average, ((0.5 * 0.5) + 1.0) * 0.5 + 1.5);
        let before = queue.average;
        while queue.dequeue(at(1000), none).is_some() {}
        // A typical packet takes half a millisecond: four of them.
        queue.enqueue(packet(9, at(3000)), false, none);
        assert!((queue.average - before / 16.0).abs() < 1e-12, "{}", queue.average);
    }

    #[test]
    fn an_overloaded_queue_stands_between_the_thresholds() {
        let settings = RedSettings { max_probability: 0.3, ..RedSettings::default() };
        let arrivals = steady(900, Span::from_secs(60), 0, crate::queue::Ecn::NotCapable);
        let (outcomes, _) = drive(Aqm::Red(settings), QueueLimit::Unlimited, &arrivals);
        let late = &outcomes[outcomes.len() / 2..];
        assert!((drop_rate(late) - 0.1).abs() < 0.01);
        let delays: Vec<_> = late.iter().filter_map(|one| one.delay()).collect();
        let mean = delays.iter().map(|d| d.as_millis_f64()).sum::<f64>() / delays.len() as f64;
        assert!((5.0..15.0).contains(&mean), "{mean} packets of 1 ms");
    }

    #[test]
    fn above_the_thresholds_a_packet_with_ecn_is_dropped_too() {
        let mut queue = queue(RedSettings { gentle: false, ..RedSettings::default() });
        queue.average = 1000.0;
        queue.empty_since = None;
        let mut dropped = Vec::new();
        let ecn = crate::queue::Ecn::Capable;
        queue.enqueue(Queued { ecn, ..packet(7, at(0)) }, true, &mut dropped);
        assert_eq!(dropped, [7]);
        assert_eq!(queue.decisions(), Decisions { dropped_packets: 1, marked_packets: 0 });
    }

    /// Section 4 of the paper: the count starts again when the average rises above the smaller
    /// threshold.
    #[test]
    fn packets_before_a_short_average_do_not_count() {
        let mut queue = queue(RedSettings::default());
        let chosen = (0..200).filter(|_| {
            // 25 packets at 1 / 20 would be chosen for certain.
            queue.count = Some(25);
            queue.average = 1.0;
            queue.judge();
            queue.average = 10.0;
            queue.judge() == Verdict::Choose
        });
        assert!(chosen.count() < 30, "1 in 20");
    }

    #[test]
    fn what_exceeds_the_limit_is_dropped_and_no_decision_of_red() {
        let mut queue = RedQueue::new(RedSettings::default(), surroundings(QueueLimit::Packets(2)));
        let mut dropped = Vec::new();
        (0..4).for_each(|ticket| queue.enqueue(packet(ticket, at(0)), true, &mut dropped));
        assert_eq!((dropped, queue.decisions()), (vec![2, 3], Decisions::default()));
    }
}
