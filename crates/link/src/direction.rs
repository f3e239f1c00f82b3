//! One direction of a link: a queue, a transmitter, a channel and a delay.
//!
//! With a first-in first-out queue, the departure of a packet is computed when it is offered: it
//! leaves when all earlier packets have left. So there is no event at the end of a transmission, and
//! only one event per packet and hop: the arrival. This is exact, not an approximation. The tests
//! compare it with the reference engine of the network. It is also exact for a direction that
//! changes, because all changes are known in advance.
//!
//! A queue with a [`Discipline`] decides later. [`Direction::offer`] then gives [`Fate::Scheduled`],
//! and the network calls [`Direction::enqueue`], and [`Direction::serve`] at each start of a
//! transmission. Transmitter, channel and delay are the same.

use std::collections::VecDeque;

use units::{Rate, Span, Time};

use crate::arq::{ArqCounters, ArqSettings, Sender, Status};
use crate::channel::{Channel, Errors};
use crate::dynamics::{Change, Cursor, Dynamics, Timeline};
use crate::fec::{Encoder, FecCounters, FecSettings};
use crate::priority::Priority;
use crate::propagation::Propagation;
use crate::queue::{
    AnyDiscipline, Aqm, AqmCounters, Content, Discipline, DropTail, Fifo, LowPriority, Marking,
    Next, Queue, QueueLimit, Queued, Queueing, Scheduled, Served, Surroundings,
};
use crate::stream::{Purpose, stream};
use crate::transmitter::Transmitter;

/// The settings of a direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Serialisation rate; not zero.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// The most that is added to the delay of a packet at random.
    pub jitter: Span,
    /// Limit of the packets that wait, not counting the one being sent; drop-tail.
    pub queue: QueueLimit,
    /// Treatment of packets of low priority.
    pub low_priority: LowPriority,
    /// ECN marking of the queue; `None` for no marking.
    pub ecn_marking: Option<Marking>,
    /// Active queue management; `None` for drop-tail. It excludes a rule for low priority and
    /// [`ecn_marking`](Self::ecn_marking), because it decides about drops and marks itself.
    pub aqm: Option<Aqm>,
    /// Automatic repeat request; `None` for none. Its status frames need the other direction of the link:
    /// see [`Direction::deciding_at_dequeue`].
    pub arq: Option<ArqSettings>,
    /// Forward error correction; `None` for none. It excludes [`arq`](Self::arq).
    pub fec: Option<FecSettings>,
    /// Bytes that the link adds to each IP packet: synchronisation, coding and padding. They take
    /// time and are not corrupted.
    pub overhead: u32,
    /// Error model of the channel.
    pub channel: Errors,
    /// Rate, delay and outages of a trace.
    pub trace: Timeline,
    /// Events during the run. They come after what the trace does at the same time.
    pub timeline: Timeline,
}

impl Settings {
    /// A direction of this rate and delay with nothing else: no limit, no errors, no changes.
    pub fn new(rate: Rate, delay: Span) -> Self {
        Self {
            rate,
            delay,
            jitter: Span::ZERO,
            queue: QueueLimit::Unlimited,
            low_priority: LowPriority::Ignore,
            ecn_marking: None,
            aqm: None,
            arq: None,
            fec: None,
            overhead: 0,
            channel: Errors::Perfect,
            trace: Timeline::default(),
            timeline: Timeline::default(),
        }
    }

    /// What of it changes arrivals from packet to packet, by its key in a scenario. It cannot go
    /// together with [`LowPriority::PushOut`], because arrivals are computed as packets are accepted.
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
            overhead: _,
            channel,
            trace,
            timeline,
        } = self;
        let found = [
            ("modem", channel.rates().is_some()),
            ("event", !timeline.is_empty()),
            ("trace", !trace.is_empty()),
            ("jitter", *jitter > Span::ZERO),
        ];
        found.into_iter().find_map(|(key, is_there)| is_there.then_some(key))
    }

    /// Bytes that ARQ or FEC add to each packet. They can be corrupted.
    pub fn header(&self) -> u32 {
        self.arq.map_or(0, |arq| arq.header) + self.fec.map_or(0, |fec| fec.header)
    }

    /// All its changes, periodic ones once.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        let rates = self.channel.rates().into_iter().flat_map(Timeline::changes);
        self.timeline.changes().iter().chain(self.trace.changes()).chain(rates)
    }

    /// The shortest propagation delay that it may have.
    pub fn least_delay(&self) -> Span {
        let changed = self.changes().filter_map(|change| change.delay);
        changed.fold(self.delay, Span::min)
    }

    /// The lowest rate that it may have.
    pub fn lowest_rate(&self) -> Rate {
        let changed = self.changes().filter_map(|change| change.rate);
        changed
            .fold(self.rate, |a, b| if b.bits_per_second() < a.bits_per_second() { b } else { a })
    }
}

/// The fate of a packet that is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The queue was full.
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
    /// Packets that the far end has received corrupted. Frames and status frames of ARQ are none, nor
    /// are packets with FEC.
    pub corrupted_packets: u64,
    /// Largest number of bytes that waited.
    pub max_waiting_bytes: u64,
    /// Totals of the discipline; `None` without one.
    pub aqm: Option<AqmCounters>,
    /// Totals of ARQ, as far as its sender knows them; `None` without.
    pub arq: Option<ArqCounters>,
    /// Totals of FEC, as far as its encoder knows them; `None` without.
    pub fec: Option<FecCounters>,
}

/// The far end: when it receives corrupted packets.
#[derive(Clone, Debug, Default)]
struct FarEnd {
    /// Arrival times of the corrupted packets on their way.
    coming: VecDeque<Time>,
    /// When the last of them arrives.
    last: Time,
    corrupted_packets: u64,
}

impl FarEnd {
    /// A corrupted packet will arrive at `at`, not before those that were corrupted earlier.
    #[inline(never)]
    fn expect(&mut self, now: Time, at: Time) -> Time {
        self.count_until(now);
        self.last = self.last.max(at);
        self.coming.push_back(self.last);
        self.last
    }

    /// Counts those that have arrived by `now`.
    fn count_until(&mut self, now: Time) {
        while self.coming.front().is_some_and(|at| *at <= now) {
            self.coming.pop_front();
            self.corrupted_packets += 1;
        }
    }

    /// A packet was pushed out: the last `behind` corrupted ones arrive earlier, and if the packet
    /// itself was corrupted, it does not.
    fn gain(&mut self, earlier: Span, behind: usize, without: bool) {
        let first = self.coming.len() - behind;
        self.coming.range_mut(first..).for_each(|at| *at = *at - earlier);
        if without {
            self.coming.remove(first - 1);
        }
        self.last = self.coming.back().copied().unwrap_or(Time::ZERO);
    }
}

/// What a packet meets behind the queue, and the totals.
#[derive(Clone, Debug)]
struct Line {
    overhead: u32,
    transmitter: Transmitter,
    channel: Channel,
    delay: Span,
    accepted_packets: u64,
    dropped_packets: u64,
    far_end: FarEnd,
}

impl Line {
    /// Offers a packet to `fifo`. With `IS_CHANGING`, the caller computes the arrival again, and
    /// reports a corrupted packet to the far end itself.
    #[inline(always)]
    fn offer<const IS_CHANGING: bool>(
        &mut self,
        fifo: &mut Fifo,
        now: Time,
        bytes: u32,
        priority: Priority,
    ) -> Fate {
        let framed = bytes + self.overhead;
        fifo.forget_started(now);
        if now < self.transmitter.free_at() && fifo.turns_away(framed, priority) {
            return self.turn_away(fifo, framed, priority);
        }
        self.accepted_packets += 1;
        let (start, left) = self.transmitter.send(now, framed);
        if start > now {
            fifo.push(now, start, framed, priority);
        }
        let arrival = left + self.delay;
        // The packet that can be corrupted is the IP packet.
        if !self.channel.corrupts(left, bytes) {
            return Fate::Arrives(arrival);
        }
        if start > now {
            fifo.damage_last();
        }
        if IS_CHANGING {
            return Fate::Corrupted(arrival);
        }
        Fate::Corrupted(self.far_end.expect(now, arrival))
    }

    /// The queue does not take a packet as it is.
    #[cold]
    fn turn_away(&mut self, fifo: &Fifo, framed: u32, priority: Priority) -> Fate {
        if fifo.can_push_out_for(framed, priority) {
            return Fate::PushesOut;
        }
        self.dropped_packets += 1;
        Fate::Dropped
    }
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Direction {
    queue: Queue,
    line: Line,
    dynamics: Option<Box<Dynamics>>,
    settings: Settings,
}

impl Direction {
    /// An idle direction: number `entity` of the run, for the random streams of `seed`. Nothing
    /// changes from `end` on.
    ///
    /// [`Settings::dynamics`] cannot go together with [`LowPriority::PushOut`]: what has been computed
    /// for a packet would no longer hold when one before it is pushed out.
    pub fn new(settings: Settings, seed: u64, entity: u64, end: Time) -> Self {
        // Without `..`, so that a new setting has to be used here.
        let &Settings {
            rate,
            delay,
            jitter,
            queue,
            low_priority,
            ecn_marking,
            aqm,
            arq,
            fec,
            overhead,
            ref channel,
            ref trace,
            ref timeline,
        } = &settings;
        let propagation = Propagation::new(jitter, seed, entity);
        let changes = trace.with(timeline);
        let changes = channel.rates().map_or_else(|| changes.clone(), |rates| rates.with(&changes));
        let dynamics = Dynamics::new(changes.until(end), propagation, rate, delay);
        let mut fifo = Fifo::new(queue, low_priority, ecn_marking);
        if dynamics.is_some() {
            fifo.record_lengths();
        }
        let random = stream(seed, Purpose::Channel, entity);
        let is_plain = dynamics.is_none() && ecn_marking.is_none();
        let line = Line {
            overhead,
            transmitter: Transmitter::new(rate),
            channel: Channel::new(channel.clone(), random),
            delay,
            accepted_packets: 0,
            dropped_packets: 0,
            far_end: FarEnd::default(),
        };
        let queue = match aqm {
            Some(aqm) => {
                let random = stream(seed, Purpose::Queue, entity);
                let surroundings = Surroundings { limit: queue, rate, random };
                Queue::Scheduled(Scheduled::new(AnyDiscipline::new(aqm, surroundings)).into())
            }
            None if is_plain => Queue::Plain(fifo),
            None => Queue::Fifo(fifo),
        };
        let direction = Self { queue, line, dynamics, settings };
        let direction = match arq {
            Some(arq) => direction.repeating(arq),
            None => direction,
        };
        match fec {
            Some(fec) => direction.coding(fec),
            None => direction,
        }
    }

    /// The idle direction with FEC.
    fn coding(self, fec: FecSettings) -> Self {
        let mut direction = self.deciding_at_dequeue();
        if let Queue::Scheduled(scheduled) = &mut direction.queue {
            scheduled.fec = Some(Encoder::new(fec).into());
        }
        direction
    }

    /// The idle direction with ARQ.
    fn repeating(self, arq: ArqSettings) -> Self {
        let mut direction = self.deciding_at_dequeue();
        let empty_bytes = direction.line.overhead + arq.header;
        if let Queue::Scheduled(scheduled) = &mut direction.queue {
            scheduled.arq = Some(Sender::new(arq, empty_bytes).into());
        }
        direction
    }

    /// The idle direction with a queue that decides at dequeue: a drop-tail queue becomes a discipline that
    /// decides as it does, and active queue management stays what it is. Waiting packets can be removed
    /// from it, and status frames of the other direction's ARQ can join it.
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

    /// Its discipline as it is now, if its queue is one.
    pub fn discipline(&self) -> Option<Box<dyn Discipline>> {
        match &self.queue {
            Queue::Plain(_) | Queue::Fifo(_) => None,
            Queue::Scheduled(scheduled) => Some(scheduled.discipline.boxed_clone()),
        }
    }

    /// Whether its queue is a discipline.
    pub fn is_scheduled(&self) -> bool {
        matches!(self.queue, Queue::Scheduled(_))
    }

    /// Whether its queue is a discipline whose decisions are those of active queue management.
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
            return self.line.offer::<false>(fifo, now, bytes, priority);
        }
        self.offer_otherwise(now, bytes, priority)
    }

    /// Offers the packet again for which others were pushed out.
    pub fn offer_again(&mut self, now: Time, bytes: u32, priority: Priority) -> Fate {
        let Some(fifo) = self.queue.fifo_mut() else { return Fate::Scheduled };
        let fate = self.line.offer::<false>(fifo, now, bytes, priority);
        self.with_mark(fate)
    }

    #[cold]
    #[inline(never)]
    fn offer_otherwise(&mut self, now: Time, bytes: u32, priority: Priority) -> Fate {
        let Some(fifo) = self.queue.fifo_mut() else { return Fate::Scheduled };
        fifo.average(now);
        let Some(dynamics) = &mut self.dynamics else {
            let fate = self.line.offer::<false>(fifo, now, bytes, priority);
            return self.with_mark(fate);
        };
        let line = &mut self.line;
        dynamics.before_packet(now, &mut line.transmitter);
        let (waiting, _) = fifo.length();
        let fate = line.offer::<true>(fifo, now, bytes, priority);
        if fifo.length().0 > waiting {
            fifo.record_length();
        }
        let fate = match fate {
            Fate::Arrives(_) => {
                let left = line.transmitter.free_at();
                Fate::Arrives(dynamics.arrival(left, false, &mut line.transmitter))
            }
            Fate::Corrupted(_) => {
                let left = line.transmitter.free_at();
                let arrival = dynamics.arrival(left, true, &mut line.transmitter);
                Fate::Corrupted(line.far_end.expect(now, arrival))
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
    /// What it would have taken is time that all behind it gain.
    pub fn push_out(&mut self, bytes: u32) -> Option<PushedOut> {
        let fifo = self.queue.fifo_mut()?;
        let out = fifo.push_out(bytes + self.line.overhead, self.line.transmitter.free_at())?;
        self.line.transmitter.gain(out.earlier);
        self.line.accepted_packets -= 1;
        self.line.dropped_packets += 1;
        if out.corrupted || out.corrupted_behind > 0 {
            self.line.far_end.gain(out.earlier, out.corrupted_behind, out.corrupted);
        }
        let (intact, behind) = (!out.corrupted, out.intact_behind);
        Some(PushedOut { intact, behind, earlier: out.earlier })
    }

    /// Totals until `now`.
    pub fn counters(&mut self, now: Time) -> Counters {
        self.line.far_end.count_until(now);
        let (max_waiting_bytes, aqm, arq, fec) = match &self.queue {
            Queue::Plain(fifo) | Queue::Fifo(fifo) => (fifo.max_waiting_bytes(), None, None, None),
            Queue::Scheduled(scheduled) => {
                let arq = scheduled.arq.as_ref().map(|arq| arq.counters());
                let fec = scheduled.fec.as_ref().map(|fec| fec.counters());
                let is_managed = scheduled.discipline.is_managed();
                let aqm = is_managed.then(|| scheduled.counters());
                (scheduled.max_waiting_bytes(), aqm, arq, fec)
            }
        };
        Counters {
            accepted_packets: self.line.accepted_packets,
            dropped_packets: self.line.dropped_packets,
            corrupted_packets: self.line.far_end.corrupted_packets,
            max_waiting_bytes,
            aqm,
            arq,
            fec,
        }
    }

    /// Delays and lengths of the queue until `now`. A discipline must have been served until then.
    pub fn queueing(&mut self, now: Time) -> Queueing {
        if let Some(fifo) = self.queue.fifo_mut() {
            fifo.forget_started(now);
        }
        self.queue.queueing()
    }

    /// Packets and bytes that wait at `now`, not counting the one being sent. A discipline must have
    /// been served until then.
    pub fn waiting(&mut self, now: Time) -> (usize, u64) {
        match &mut self.queue {
            Queue::Plain(fifo) | Queue::Fifo(fifo) => {
                fifo.forget_started(now);
                fifo.length()
            }
            Queue::Scheduled(scheduled) => scheduled.discipline.waiting(),
        }
    }

    /// Time spent sending until `now`.
    pub fn busy_until(&self, now: Time) -> Span {
        let silent = self.dynamics.as_ref().map_or(Span::ZERO, |all| all.silent_after(now));
        self.line.transmitter.busy_until(now, silent)
    }
}

/// With a discipline.
impl Direction {
    /// Hands a packet to the discipline, at `packet.since`; its bytes are those of the IP packet.
    /// Everything until then must have been served.
    pub fn enqueue(&mut self, mut packet: Queued) {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return };
        packet.bytes += self.line.overhead + self.settings.header();
        if let Some(dynamics) = &mut self.dynamics {
            dynamics.before_packet(packet.since, &mut self.line.transmitter);
        }
        let waits = packet.since < self.line.transmitter.free_at() || scheduled.is_closed();
        let dropped_before = scheduled.dropped.len();
        scheduled.ready = packet.since;
        scheduled.discipline.enqueue(packet, waits, &mut scheduled.dropped);
        let dropped = (scheduled.dropped.len() - dropped_before) as u64;
        self.line.dropped_packets += dropped;
        let joined = !scheduled.dropped[dropped_before..].contains(&packet.ticket);
        if waits && joined {
            let (_, bytes) = scheduled.discipline.waiting();
            scheduled.record_length(bytes);
        }
        self.line.accepted_packets = self.line.accepted_packets + 1 - dropped;
    }

    /// Takes a packet of `flow` out of the queue that waits there. Returns whether it was there. It counts
    /// neither as accepted nor as dropped. Everything until now must have been served, and the next
    /// call is [`enqueue`](Self::enqueue) or [`serve`](Self::serve).
    pub fn remove(&mut self, ticket: u32, flow: u32) -> bool {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return false };
        let is_removed = scheduled.discipline.remove(ticket, flow).is_some();
        self.line.accepted_packets -= u64::from(is_removed);
        is_removed
    }

    /// A status frame of `bytes` is due for the other direction's ARQ. Everything until `now` must have
    /// been served.
    pub fn offer_status(&mut self, now: Time, bytes: u32) {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return };
        scheduled.ready = now;
        scheduled.offer_status(bytes + self.line.overhead);
    }

    /// A status frame for this direction's ARQ arrives. Everything until `now` must have been served.
    pub fn on_status(&mut self, now: Time, status: &Status) {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return };
        scheduled.ready = now;
        if let Some(arq) = &mut scheduled.arq {
            arq.on_status(now, status);
        }
    }

    /// When the timer of ARQ or FEC expires; never, if nothing is outstanding.
    pub fn deadline(&self) -> Time {
        let Queue::Scheduled(scheduled) = &self.queue else { return Time::NEVER };
        match (&scheduled.arq, &scheduled.fec) {
            (Some(arq), _) => arq.deadline(),
            (None, Some(fec)) => fec.deadline(),
            (None, None) => Time::NEVER,
        }
    }

    /// The timer of ARQ or FEC has expired, if it has. Everything until `now` must have been served.
    pub fn on_timer(&mut self, now: Time) {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return };
        scheduled.ready = now;
        if let Some(arq) = &mut scheduled.arq {
            arq.on_timer(now);
        }
        if let Some(fec) = &mut scheduled.fec {
            fec.on_timer(now);
        }
    }

    /// Starts the next transmission, if it starts by `now`.
    pub fn serve(&mut self, now: Time) -> Option<Served> {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return None };
        loop {
            scheduled.next_service = Time::NEVER;
            let next = scheduled.next()?;
            // It waited for a change, or for the end of the transmission before.
            let ready = scheduled.ready;
            if let Some(dynamics) = &mut self.dynamics {
                dynamics.before_packet(ready, &mut self.line.transmitter);
            }
            let start = self.line.transmitter.free_at().max(ready);
            if start > now {
                scheduled.next_service = start;
                return None;
            }
            let (content, bytes) = match next {
                Next::Status(bytes) => {
                    scheduled.take_status();
                    (Content::Status, bytes)
                }
                Next::Repeat => {
                    let (frame, bytes) = scheduled.arq.as_mut()?.repeat()?;
                    (Content::Repeat(frame), bytes)
                }
                Next::Parity => {
                    let (frame, bytes) = scheduled.fec.as_mut()?.parity()?;
                    (Content::Coded(frame), bytes)
                }
                Next::Packet => {
                    let (before, _) = scheduled.discipline.waiting();
                    let dropped_before = scheduled.dropped.len();
                    let packet = scheduled.discipline.dequeue(start, &mut scheduled.dropped);
                    let (behind, _) = scheduled.discipline.waiting();
                    scheduled.pass(before - behind);
                    let dropped = (scheduled.dropped.len() - dropped_before) as u64;
                    self.line.dropped_packets += dropped;
                    self.line.accepted_packets -= dropped;
                    let Some(packet) = packet else { continue };
                    let waited = start.since(packet.since);
                    scheduled.counters.count(waited);
                    if waited > Span::ZERO {
                        scheduled.queueing.delay.record(waited.as_nanos());
                    }
                    let content = match (&mut scheduled.arq, &mut scheduled.fec) {
                        (Some(arq), _) => Content::Frame(arq.send(&packet)),
                        (None, Some(fec)) => Content::Coded(fec.send(start, &packet)),
                        (None, None) => Content::Packet(packet),
                    };
                    (content, packet.bytes)
                }
            };
            let (_, left) = self.line.transmitter.send(start, bytes);
            let corrupted = self.line.channel.corrupts(left, bytes - self.line.overhead);
            if let (Content::Frame(frame) | Content::Repeat(frame), Some(arq)) =
                (&content, &mut scheduled.arq)
            {
                arq.leaves(frame, left, corrupted);
            }
            if let (Content::Coded(_), Some(fec)) = (&content, &mut scheduled.fec) {
                fec.leaves(corrupted);
            }
            let arrival = match &mut self.dynamics {
                Some(dynamics) => dynamics.arrival(left, corrupted, &mut self.line.transmitter),
                None => left + self.line.delay,
            };
            let fate = match (corrupted, &content) {
                (false, _) => Fate::Arrives(arrival),
                (true, Content::Packet(_)) => {
                    Fate::Corrupted(self.line.far_end.expect(now, arrival))
                }
                // No packet is lost yet.
                (
                    true,
                    Content::Frame(_) | Content::Repeat(_) | Content::Status | Content::Coded(_),
                ) => Fate::Corrupted(arrival),
            };
            return Some(Served { content, fate });
        }
    }

    /// When [`serve`](Self::serve) has something to do next; never, if nothing waits.
    pub fn next_service(&self) -> Time {
        match &self.queue {
            Queue::Plain(_) | Queue::Fifo(_) => Time::NEVER,
            Queue::Scheduled(scheduled) => scheduled.next_service,
        }
    }

    /// The ticket of a packet that the discipline has dropped, each once.
    pub fn take_dropped(&mut self) -> Option<u32> {
        match &mut self.queue {
            Queue::Plain(_) | Queue::Fifo(_) => None,
            Queue::Scheduled(scheduled) => scheduled.dropped.pop(),
        }
    }
}

#[cfg(test)]
mod tests;
