//! The settings of a direction, and what follows from them.

use units::{Rate, Span};

use crate::arq::ArqSettings;
use crate::channel::Errors;
use crate::demand::DemandSettings;
use crate::dynamics::{Change, Timeline};
use crate::fec::FecSettings;
use crate::feedback::Feedback;
use crate::framing::Framing;
use crate::propagation::{Duplication, Jitter, Reordering, Slots};
use crate::queue::{Aqm, LowPriority, Marking, QueueLimit};
use crate::tokens::TokenBucket;
use crate::trace::{Means, Trace};

/// The settings of a direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Serialisation rate; not zero.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Random changes of the delay of packets.
    pub jitter: Jitter,
    /// Limit of the packets that wait, not counting the one being sent; drop-tail.
    pub queue: QueueLimit,
    /// Treatment of packets of low priority.
    pub low_priority: LowPriority,
    /// ECN marking of the queue; `None` for no marking.
    pub ecn_marking: Option<Marking>,
    /// Active queue management; `None` for drop-tail. It excludes a rule for low priority and
    /// [`ecn_marking`](Self::ecn_marking), because it decides about drops and marks itself.
    pub aqm: Option<Aqm>,
    /// Automatic repeat request; `None` for none. Its status frames need the other direction of the
    /// link: see [`Direction::deciding_at_dequeue`](super::Direction::deciding_at_dequeue).
    pub arq: Option<ArqSettings>,
    /// Forward error correction; `None` for none. It excludes [`arq`](Self::arq).
    pub fec: Option<FecSettings>,
    /// Feedback of the direction's router to senders; `None` for none. The queue decides at dequeue
    /// then.
    pub feedback: Option<Feedback>,
    /// Demand assignment; `None` if the direction may always send. It excludes ARQ and FEC in the
    /// same direction, and ARQ in the other one.
    pub demand: Option<DemandSettings>,
    /// Bytes that the link adds to IP packets. They take time and are not corrupted.
    pub framing: Framing,
    /// Token bucket between the queue and the line; `None` for none. It excludes ARQ on the link,
    /// and FEC and demand assignment in the direction.
    pub shaper: Option<TokenBucket>,
    /// Token bucket before the queue, which drops; `None` for none.
    pub policer: Option<TokenBucket>,
    /// Error model of the channel.
    pub channel: Errors,
    /// Rate, delay, losses and outages of a trace.
    pub trace: Trace,
    /// Events during the run. They come after what the trace does at the same time.
    pub timeline: Timeline,
    /// True if packets overtake others where the delay falls. See [`overtakes`](Self::overtakes).
    pub reorder: bool,
    /// Packets that are sent at once; `None` for none. See [`overtakes`](Self::overtakes).
    pub reordering: Option<Reordering>,
    /// Packets that arrive twice; `None` for none. It excludes ARQ and FEC, whose frames arrive
    /// once. The queue decides at dequeue then.
    pub duplication: Option<Duplication>,
    /// Slots in which packets arrive; `None` for none. They exclude packets that overtake others,
    /// and ARQ, whose timer does not know them.
    pub slots: Option<Slots>,
}

impl Settings {
    /// A direction of this rate and delay with nothing else: no limit, no errors, no changes.
    pub fn new(rate: Rate, delay: Span) -> Self {
        Self {
            rate,
            delay,
            jitter: Jitter::NONE,
            queue: QueueLimit::Unlimited,
            low_priority: LowPriority::Ignore,
            ecn_marking: None,
            aqm: None,
            arq: None,
            fec: None,
            feedback: None,
            demand: None,
            framing: Framing::default(),
            shaper: None,
            policer: None,
            channel: Errors::Perfect,
            trace: Trace::default(),
            timeline: Timeline::default(),
            reorder: false,
            reordering: None,
            duplication: None,
            slots: None,
        }
    }

    /// The setting that changes arrivals from packet to packet, by its key in a scenario. It cannot
    /// go together with [`LowPriority::PushOut`], because arrivals are computed as packets are
    /// accepted.
    pub fn dynamics(&self) -> Option<&'static str> {
        // Without `..`, so that a new setting has to be considered here.
        let Self {
            rate: _,
            delay: _,
            jitter,
            queue: _,
            low_priority: _,
            ecn_marking: _,
            aqm: _,
            arq: _,
            fec: _,
            feedback: _,
            demand: _,
            framing: _,
            shaper: _,
            policer: _,
            channel,
            trace,
            timeline,
            // Nothing overtakes without a delay that changes.
            reorder: _,
            reordering,
            duplication,
            slots,
        } = self;
        let found = [
            ("modem", channel.rates().is_some()),
            ("event", !timeline.is_empty()),
            ("trace", !trace.timeline.is_empty()),
            ("jitter", !jitter.is_none()),
            ("reorder", reordering.is_some()),
            ("duplicate", duplication.is_some()),
            ("slot", slots.is_some()),
        ];
        found.into_iter().find_map(|(key, is_there)| is_there.then_some(key))
    }

    /// Returns true if packets may overtake others. It excludes ARQ and FEC, whose frames keep
    /// their order. The queue decides at dequeue then.
    pub fn overtakes(&self) -> bool {
        self.reorder || self.reordering.is_some() || self.jitter.reorders()
    }

    /// Returns true if a setting other than AQM, ARQ and FEC needs a queue that decides at dequeue.
    pub(super) fn decides_late(&self) -> bool {
        self.feedback.is_some()
            || self.overtakes()
            || self.duplication.is_some()
            || !self.framing.is_plain()
    }

    /// Bytes that ARQ or FEC add to each packet. They can be corrupted.
    pub fn header(&self) -> u32 {
        self.arq.map_or(0, |arq| arq.header) + self.fec.map_or(0, |fec| fec.header)
    }

    /// All its changes, periodic ones once.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        let rates = self.channel.rates().into_iter().flat_map(Timeline::changes);
        self.timeline.changes().iter().chain(self.trace.timeline.changes()).chain(rates)
    }

    /// Returns true if its delay falls during a run, maybe from one round of a change to the next.
    pub fn delay_falls(&self) -> bool {
        let changes = self.trace.timeline.with(&self.timeline);
        let delays = changes.changes().iter().filter_map(|one| Some((one.every, one.delay?)));
        // A trace has the delay from the start on.
        let first = self.trace.timeline.changes().first().and_then(|change| change.delay);
        let start = first.unwrap_or(self.delay);
        let longest = delays.clone().map(|(_, delay)| delay).fold(start, Span::max);
        let mut before = start;
        delays.into_iter().any(|(every, delay)| {
            let falls = delay < before || (every.is_some() && delay < longest);
            before = delay;
            falls
        })
    }

    /// Probability that a packet of `bytes` is corrupted or lost, over the length of the trace. See
    /// [`Errors::packet_error_rate`].
    pub fn packet_error_rate(&self, bytes: u32) -> f64 {
        let corrupted = self.channel.packet_error_rate(bytes);
        match self.trace.timeline.has_loss() {
            true => 1.0 - (1.0 - corrupted) * (1.0 - self.trace_means().loss),
            false => corrupted,
        }
    }

    /// Means of the trace, without the events.
    pub fn trace_means(&self) -> Means {
        self.trace.means(self.rate, self.delay)
    }

    /// A rate with the outages of a trace that has no rates: the mean over the length of the trace,
    /// at least 1 bit/s. With rates, [`rate`](Self::rate) is such a mean.
    pub fn mean_of(&self, rate: Rate) -> Rate {
        let mean = rate.bits_per_second() as f64 * (1.0 - self.trace.silent_share);
        #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "bounded")]
        Rate::from_bits_per_second(mean.round().max(1.0) as u64)
    }

    /// The shortest propagation delay that it may have.
    pub fn least_delay(&self) -> Span {
        if self.reordering.is_some() {
            return Span::ZERO;
        }
        let changed = self.changes().filter_map(|change| change.delay);
        self.jitter.least(changed.fold(self.delay, Span::min))
    }

    /// The lowest rate that it may have.
    pub fn lowest_rate(&self) -> Rate {
        let changed = self.changes().filter_map(|change| change.rate);
        changed.chain(self.shaper.map(|shaper| shaper.rate)).fold(self.rate, Rate::min)
    }

    /// The rate at which a full queue empties: that of the line, or of the shaper before it.
    pub fn service_rate(&self) -> Rate {
        self.shaper.map_or(self.rate, |shaper| self.rate.min(shaper.rate))
    }
}
