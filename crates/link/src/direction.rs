//! One direction of a link: a queue, a transmitter, a channel and a delay.
//!
//! With a first-in first-out queue, the departure of a packet is computed when it is offered: it
//! leaves when all earlier packets have left. So there is no event at the end of a transmission,
//! and only one event per packet and hop: the arrival. This is exact, not an approximation. The
//! tests compare it with the reference engine of the network. It is also exact for a direction that
//! changes, because all changes are known in advance.
//!
//! A queue with a [`Discipline`] decides later. [`Direction::offer`] then gives
//! [`Fate::Scheduled`], and the network calls [`Direction::enqueue`], and [`Direction::serve`] at
//! each start of a transmission. Transmitter, channel and delay are the same.

mod ahead;
mod assigned;
mod line;
mod service;
mod settings;
mod shaped;

use units::{Span, Time};

pub use self::ahead::ToCome;
pub use self::settings::Settings;

use self::ahead::Ahead;
use self::line::Line;
use crate::arq::{ArqCounters, ArqSettings, Sender};
use crate::channel::Channel;
use crate::demand::DemandCounters;
use crate::dynamics::{Arrival, Cursor, Dynamics};
use crate::far_end::FarEnd;
use crate::fec::{Encoder, FecCounters, FecSettings};
use crate::policer::{Policer, PolicerCounters};
use crate::priority::Priority;
use crate::propagation::{ImpairmentCounters, Propagation};
use crate::queue::{
    AnyDiscipline, AqmCounters, Discipline, DropTail, Fifo, Queue, Queueing, Scheduled,
    Surroundings,
};
use crate::shaper::{Shaper, ShaperCounters};
use crate::stream::{Purpose, Seed, Trials};
use crate::tokens::TokenBucket;
use crate::transmitter::Transmitter;

/// The fate of a packet that is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The queue was full, or the policer had no tokens.
    Dropped,
    /// The queue is full, and others have to give way: to be offered again by
    /// [`Direction::offer_again`] when [`Direction::push_out`] has made room.
    PushesOut,
    /// A discipline decides later: to be handed to [`Direction::enqueue`].
    Scheduled,
    /// It is sent and corrupted on its way. The far end finds that out at this time.
    Corrupted(Time),
    /// It arrives intact at this time.
    Arrives(Time),
    /// It arrives intact at this time, and the queue has marked it if it is capable of ECN.
    Marked(Time),
}

/// A packet that was accepted and has to leave the queue again. All behind it arrive earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushedOut {
    /// It would have arrived: the channel had not corrupted it.
    pub intact: bool,
    /// Packets behind it that will arrive.
    pub behind: usize,
    /// By how much they arrive earlier.
    pub earlier: Span,
}

/// Totals of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets accepted, without those pushed out later.
    pub accepted_packets: u64,
    /// Packets dropped because the queue was full, and packets pushed out of it.
    pub dropped_packets: u64,
    /// Packets that the far end has received corrupted, without frames and status frames of ARQ and
    /// without packets with FEC.
    pub corrupted_packets: u64,
    /// Transmissions that the trace has lost and the channel has not corrupted, counted when the
    /// far end would have received them: those of packets, which are corrupted packets too, and
    /// those of ARQ and FEC.
    pub lost_packets: u64,
    /// Largest number of bytes that waited.
    pub max_waiting_bytes: u64,
    /// Totals of the discipline; `None` without one.
    pub aqm: Option<AqmCounters>,
    /// Totals of ARQ, as far as its sender knows them; `None` without.
    pub arq: Option<ArqCounters>,
    /// Totals of FEC, as far as its encoder knows them; `None` without.
    pub fec: Option<FecCounters>,
    /// Totals of demand assignment; `None` without.
    pub demand: Option<DemandCounters>,
    /// Totals of random reordering and duplication; `None` without both.
    pub impairments: Option<ImpairmentCounters>,
    /// Totals of the shaper; `None` without.
    pub shaper: Option<ShaperCounters>,
    /// Totals of the policer; `None` without. Its drops are not in `dropped_packets`.
    pub policer: Option<PolicerCounters>,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Direction {
    queue: Queue,
    line: Line,
    dynamics: Option<Box<Dynamics>>,
    policer: Option<Box<Policer>>,
    /// Packets that are offered ahead of time, if any were.
    ahead: Option<Box<Ahead>>,
    settings: Settings,
}

impl Direction {
    /// An idle direction: number `entity` of the run, for the random streams of `seed`. Nothing
    /// changes from `end` on.
    ///
    /// [`Settings::dynamics`] cannot go together with
    /// [`LowPriority::PushOut`](crate::LowPriority::PushOut): what has been computed for a packet
    /// would no longer hold when one before it is pushed out.
    pub fn new(settings: Settings, seed: &Seed, entity: u64, end: Time) -> Self {
        // Without `..`, so that a new setting has to be used here.
        let &Settings {
            rate,
            delay,
            ref jitter,
            queue,
            low_priority,
            ecn_marking,
            aqm,
            framing,
            policer,
            ref channel,
            ref trace,
            ref timeline,
            reorder,
            // With the settings.
            arq: _,
            fec: _,
            demand: _,
            shaper: _,
            feedback: _,
            reordering: _,
            duplication: _,
            slots: _,
        } = &settings;
        let changes = trace.timeline.with(timeline);
        let propagation = Propagation::new(jitter, seed, entity)
            .reordering(reorder)
            .impaired(&settings, seed, entity);
        let propagation = match changes.has_loss() {
            true => propagation.with_losses(seed, entity),
            false => propagation,
        };
        let changes = channel.rates().map_or_else(|| changes.clone(), |rates| rates.with(&changes));
        let dynamics = Dynamics::new(changes.until(end), propagation, rate, delay);
        let mut fifo = Fifo::new(queue, low_priority, ecn_marking);
        if dynamics.is_some() {
            fifo.record_lengths();
        }
        let is_plain = dynamics.is_none() && ecn_marking.is_none() && policer.is_none();
        let line = Line {
            framing,
            transmitter: Transmitter::new(rate),
            channel: Channel::new(channel.clone(), seed, entity),
            delay,
            accepted_packets: 0,
            dropped_packets: 0,
            far_end: FarEnd::default(),
        };
        let queue = match aqm {
            Some(aqm) => {
                let random = seed.stream(Purpose::Queue, entity);
                let rate = settings.service_rate();
                let surroundings = Surroundings { limit: queue, rate, random };
                Queue::Scheduled(Scheduled::new(AnyDiscipline::new(aqm, surroundings)).into())
            }
            None if is_plain => Queue::Plain(fifo),
            None => Queue::Fifo(fifo),
        };
        let policer = policer.map(|policer| Policer::new(policer, framing).into());
        let direction = Self { queue, line, dynamics, policer, ahead: None, settings };
        direction.with_access()
    }

    /// The idle direction with what stands between its queue and its channel.
    fn with_access(self) -> Self {
        let Settings { arq, fec, shaper, demand, .. } = self.settings;
        let direction = match arq {
            Some(arq) => self.repeating(arq),
            None => self,
        };
        let direction = match fec {
            Some(fec) => direction.coding(fec),
            None => direction,
        };
        let direction = match direction.settings.decides_late() {
            true => direction.deciding_at_dequeue(),
            false => direction,
        };
        let direction = match shaper {
            Some(shaper) => direction.shaped(shaper),
            None => direction,
        };
        match demand {
            Some(demand) => direction.assigned(demand),
            None => direction,
        }
    }

    /// The idle direction with FEC.
    fn coding(self, fec: FecSettings) -> Self {
        let mut direction = self.deciding_at_dequeue();
        if let Queue::Scheduled(scheduled) = &mut direction.queue {
            scheduled.sends_packets_only = false;
            scheduled.fec = Some(Encoder::new(fec).into());
        }
        direction
    }

    /// The idle direction with ARQ.
    fn repeating(self, arq: ArqSettings) -> Self {
        let mut direction = self.deciding_at_dequeue();
        if let Queue::Scheduled(scheduled) = &mut direction.queue {
            scheduled.sends_packets_only = false;
            scheduled.arq = Some(Sender::new(arq).into());
        }
        direction
    }

    /// The idle direction with a shaper.
    fn shaped(self, shaper: TokenBucket) -> Self {
        let mut direction = self.deciding_at_dequeue();
        if let Queue::Scheduled(scheduled) = &mut direction.queue {
            scheduled.sends_packets_only = false;
            scheduled.shaper = Some(Shaper::new(shaper).into());
        }
        direction
    }

    /// The idle direction with a queue that decides at dequeue: a drop-tail queue becomes a
    /// discipline that decides as it does, and active queue management stays what it is. Waiting
    /// packets can be removed from it, and status frames of the other direction's ARQ can join it.
    #[must_use]
    pub fn deciding_at_dequeue(mut self) -> Self {
        if !self.is_scheduled() {
            let Settings { queue, low_priority, ecn_marking, .. } = self.settings;
            let discipline = DropTail::new(queue, low_priority, ecn_marking);
            self.queue =
                Queue::Scheduled(Scheduled::new(AnyDiscipline::DropTail(discipline)).into());
        }
        self
    }

    /// The idle direction with `discipline` as its queue, in place of the limit, the rule for low
    /// priority and the marking of its settings.
    #[must_use]
    pub fn with_discipline(mut self, discipline: Box<dyn Discipline>) -> Self {
        let discipline = AnyDiscipline::External(discipline);
        self.queue = Queue::Scheduled(Scheduled::new(discipline).into());
        self
    }

    /// The settings that it was made from.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Its channel, as far as it has come.
    pub fn channel(&self) -> &Channel {
        &self.line.channel
    }

    /// All changes that are still to come.
    pub fn changes(&self) -> Option<Cursor> {
        self.dynamics.as_ref().map(|dynamics| dynamics.changes())
    }

    /// Its propagation, as far as it has come; none if nothing of it changes or is random.
    pub fn propagation(&self) -> Option<&Propagation> {
        self.dynamics.as_ref().map(|dynamics| dynamics.propagation())
    }

    /// When the copy of the packet arrives that was served last; none without a copy, and once.
    pub fn take_copy(&mut self) -> Option<Time> {
        self.dynamics.as_mut()?.take_copy()
    }

    /// Its discipline as it is now, if its queue is one.
    pub fn discipline(&self) -> Option<Box<dyn Discipline>> {
        match &self.queue {
            Queue::Plain(_) | Queue::Fifo(_) => None,
            Queue::Scheduled(scheduled) => Some(scheduled.discipline.boxed_clone()),
        }
    }

    /// Returns true if its queue is a discipline.
    #[inline]
    pub fn is_scheduled(&self) -> bool {
        matches!(self.queue, Queue::Scheduled(_))
    }

    /// Returns true if its queue is a discipline whose decisions are those of active queue
    /// management.
    pub fn is_managed(&self) -> bool {
        match &self.queue {
            Queue::Plain(_) | Queue::Fifo(_) => false,
            Queue::Scheduled(scheduled) => scheduled.discipline.is_managed(),
        }
    }

    /// Offers a packet of `bytes`. `now` must not go back. Always inlined: that a packet which
    /// pushes others out is offered twice must not cost all packets a call.
    #[inline(always)]
    pub fn offer(&mut self, now: Time, bytes: u32, priority: Priority) -> Fate {
        if let Queue::Plain(fifo) = &mut self.queue {
            return self.line.offer::<false>(fifo, (now, now), bytes, priority);
        }
        self.offer_otherwise(now, bytes, priority)
    }

    /// Offers the packet again for which others were pushed out.
    pub fn offer_again(&mut self, now: Time, bytes: u32, priority: Priority) -> Fate {
        let Some(fifo) = self.queue.fifo_mut() else { return Fate::Scheduled };
        let fate = self.line.offer::<false>(fifo, (now, now), bytes, priority);
        self.with_mark(fate)
    }

    /// Small, so that packets for a discipline cost no more than the call.
    #[cold]
    #[inline(never)]
    fn offer_otherwise(&mut self, now: Time, bytes: u32, priority: Priority) -> Fate {
        if self.policer.as_mut().is_some_and(|policer| !policer.passes(now, bytes)) {
            return Fate::Dropped;
        }
        if self.is_scheduled() {
            return Fate::Scheduled;
        }
        self.offer_to_fifo(now, bytes, priority)
    }

    #[inline(never)]
    fn offer_to_fifo(&mut self, now: Time, bytes: u32, priority: Priority) -> Fate {
        let Some(fifo) = self.queue.fifo_mut() else { return Fate::Scheduled };
        fifo.average(now);
        let Some(dynamics) = &mut self.dynamics else {
            let fate = self.line.offer::<false>(fifo, (now, now), bytes, priority);
            return self.with_mark(fate);
        };
        let line = &mut self.line;
        dynamics.before_packet(now, &mut line.transmitter);
        let (waiting, _) = fifo.length();
        let fate = line.offer::<true>(fifo, (now, now), bytes, priority);
        if fifo.length().0 > waiting {
            fifo.record_length();
        }
        let fate = match fate {
            Fate::Arrives(_) | Fate::Corrupted(_) => {
                let left = line.transmitter.free_at();
                let framed = line.framing.plain_bytes(bytes);
                let corrupted = matches!(fate, Fate::Corrupted(_));
                match dynamics.arrival(now, (left, framed), corrupted, &mut line.transmitter) {
                    Arrival { at, corrupted: false } => Fate::Arrives(at),
                    Arrival { at, corrupted: true } => {
                        Fate::Corrupted(line.far_end.expect(now, at))
                    }
                }
            }
            fate => fate,
        };
        self.with_mark(fate)
    }

    /// The fate of a packet that has just arrived, with the queue's mark.
    fn with_mark(&self, fate: Fate) -> Fate {
        match (fate, self.queue.fifo()) {
            (Fate::Arrives(at), Some(fifo)) if fifo.marks() => Fate::Marked(at),
            _ => fate,
        }
    }

    /// Removes the last packet of low priority that waits, if a packet of `bytes` finds no room.
    /// All packets behind it gain its transmission time.
    pub fn push_out(&mut self, bytes: u32) -> Option<PushedOut> {
        let fifo = self.queue.fifo_mut()?;
        let out =
            fifo.push_out(self.line.framing.plain_bytes(bytes), self.line.transmitter.free_at())?;
        self.line.transmitter.gain(out.earlier);
        self.line.accepted_packets -= 1;
        self.line.dropped_packets += 1;
        if out.corrupted || out.corrupted_behind > 0 {
            self.line.far_end.gain(out.earlier, out.corrupted_behind, out.corrupted);
        }
        let (intact, behind) = (!out.corrupted, out.intact_behind);
        Some(PushedOut { intact, behind, earlier: out.earlier })
    }

    /// When the far end receives the next corrupted packet, at `from` or later, as far as that is
    /// known; [`Time::NEVER`] if none is on its way. Frames of ARQ and FEC are not packets.
    pub fn next_corrupted(&self, from: Time) -> Time {
        self.line.far_end.next(from)
    }

    /// Totals until `now`.
    pub fn counters(&mut self, now: Time) -> Counters {
        self.line.far_end.count_until(now);
        let dynamics = self.dynamics.as_mut();
        let impairments = dynamics.and_then(|dynamics| dynamics.impairments(now));
        let lost_packets = self.dynamics.as_mut().map_or(0, |dynamics| dynamics.lost_until(now));
        let offered = self.offered();
        let (max_waiting_bytes, aqm, arq, fec, demand) = match &mut self.queue {
            Queue::Plain(fifo) | Queue::Fifo(fifo) => {
                (fifo.max_waiting_bytes(offered), None, None, None, None)
            }
            Queue::Scheduled(scheduled) => {
                let arq = scheduled.arq.as_ref().map(|arq| arq.counters());
                let fec = scheduled.fec.as_ref().map(|fec| fec.counters());
                let is_managed = scheduled.discipline.is_managed();
                let aqm = is_managed.then(|| scheduled.counters());
                let (_, waiting) = scheduled.discipline.waiting();
                let terminal = scheduled.terminal.as_ref();
                let demand = terminal.map(|terminal| terminal.counters(now, waiting));
                (scheduled.max_waiting_bytes(), aqm, arq, fec, demand)
            }
        };
        let to_come = self.to_come();
        Counters {
            accepted_packets: self.line.accepted_packets - to_come.accepted_packets,
            dropped_packets: self.line.dropped_packets - to_come.dropped_packets(),
            corrupted_packets: self.line.far_end.packets,
            lost_packets,
            max_waiting_bytes,
            aqm,
            arq,
            fec,
            demand,
            impairments,
            shaper: self.queue.shaper().map(Shaper::counters),
            policer: self.policer.as_ref().map(|policer| policer.counters()),
        }
    }

    /// Draws of a channel with independent losses; `None` with another one.
    pub fn trials(&self) -> Option<Trials> {
        self.line.channel.trials()
    }

    /// Delays and lengths of the queue until `now`. A discipline must have been served until then.
    pub fn queueing(&self, now: Time) -> Queueing {
        self.queue.queueing(now)
    }

    /// Packets and bytes that wait at `now`, not counting the one being sent. A discipline must
    /// have been served until then.
    pub fn waiting(&self, now: Time) -> (usize, u64) {
        match &self.queue {
            Queue::Plain(fifo) | Queue::Fifo(fifo) => fifo.waiting_at(now, self.offered()),
            Queue::Scheduled(scheduled) => scheduled.discipline.waiting(),
        }
    }

    /// Time spent sending until `now`.
    pub fn busy_until(&self, now: Time) -> Span {
        let silent = self.dynamics.as_ref().map_or(Span::ZERO, |all| all.silent_after(now));
        let to_come = self.to_come();
        let free_at = to_come.free_at.unwrap_or(self.line.transmitter.free_at());
        self.line.transmitter.busy_until(now, silent, free_at, to_come.busy)
    }
}

#[cfg(test)]
mod tests;
