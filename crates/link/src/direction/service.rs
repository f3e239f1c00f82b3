//! The service of a direction whose queue is a [`Discipline`](crate::Discipline): packets join it, and
//! each start of a transmission selects the next one. ARQ and FEC add frames of their own.

use units::{Span, Time};

use super::{Direction, Fate};
use crate::arq::Status;
use crate::dynamics::Arrival;
use crate::queue::{Content, Next, Queue, Queued, Served};

impl Direction {
    /// Hands a packet to the discipline, at `packet.since`; its bytes are those of the IP packet.
    /// Everything until then must have been served.
    pub fn enqueue(&mut self, mut packet: Queued) {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return };
        packet.bytes += self.line.overhead + self.settings.header();
        // With demand assignment, slots decide which changes have happened.
        if let (Some(dynamics), None) = (&mut self.dynamics, &scheduled.terminal) {
            dynamics.before_packet(packet.since, &mut self.line.transmitter);
        }
        let waits = packet.since < self.line.transmitter.free_at() || scheduled.holds_packets();
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
        self.serve_with(now, |_, _| {})
    }

    /// The same, and `leaves` may change the length of a packet that leaves the queue, at the start of
    /// its transmission.
    pub fn serve_with(
        &mut self,
        now: Time,
        mut leaves: impl FnMut(Time, &mut Queued),
    ) -> Option<Served> {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return None };
        if scheduled.terminal.is_some() {
            return self.serve_assigned(now, leaves);
        }
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
                    let dropped_before = scheduled.dropped.len();
                    let packet = scheduled.dequeue(start);
                    let dropped = (scheduled.dropped.len() - dropped_before) as u64;
                    self.line.dropped_packets += dropped;
                    self.line.accepted_packets -= dropped;
                    let Some(mut packet) = packet else { continue };
                    let waited = start.since(packet.since);
                    scheduled.counters.count(waited);
                    if waited > Span::ZERO {
                        scheduled.queueing.delay.record(waited.as_nanos());
                    }
                    leaves(start, &mut packet);
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
            let Arrival { at: arrival, corrupted } = match &mut self.dynamics {
                Some(dynamics) => dynamics.arrival(left, corrupted, &mut self.line.transmitter),
                None => Arrival { at: left + self.line.delay, corrupted },
            };
            if let (Content::Frame(frame) | Content::Repeat(frame), Some(arq)) =
                (&content, &mut scheduled.arq)
            {
                arq.leaves(frame, left, corrupted);
            }
            if let (Content::Coded(_), Some(fec)) = (&content, &mut scheduled.fec) {
                fec.leaves(corrupted);
            }
            let fate = match (corrupted, &content) {
                (false, _) => Fate::Arrives(arrival),
                (true, Content::Packet(_)) => {
                    Fate::Corrupted(self.line.far_end.expect(now, arrival))
                }
                // No packet is lost yet.
                (
                    true,
                    Content::Frame(_)
                    | Content::Repeat(_)
                    | Content::Status
                    | Content::Coded(_)
                    | Content::Begins(_)
                    | Content::Ends(_),
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
