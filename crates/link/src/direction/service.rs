//! The service of a direction whose queue is a [`Discipline`](crate::Discipline): packets join it,
//! and each start of a transmission selects the next one. ARQ and FEC add frames of their own.

use units::{Span, Time};

use super::{Direction, Fate};
use crate::arq::{Frame, Sender, Status};
use crate::queue::{Content, Next, Queue, Queued, Served};

impl Direction {
    /// Hands a packet to the discipline, at `packet.since`; its bytes are those of the IP packet,
    /// without framing. Everything until then must have been served.
    #[inline(always)]
    pub fn enqueue(&mut self, mut packet: Queued) {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return };
        packet.unframed += self.settings.header();
        packet.bytes = self.line.framing.bytes(packet.unframed);
        // With demand assignment, slots decide which changes have happened.
        if let (Some(dynamics), None) = (&mut self.dynamics, &scheduled.terminal) {
            dynamics.before_packet(packet.since, &mut self.line.transmitter);
        }
        let waits = packet.since < self.line.transmitter.free_at()
            || scheduled.holds_packets()
            || scheduled.lacks_tokens(&packet);
        let dropped_before = scheduled.dropped.len();
        scheduled.ready = packet.since;
        scheduled.discipline.enqueue(packet, waits, &mut scheduled.dropped);
        let dropped = &scheduled.dropped[dropped_before..];
        let joined = dropped.is_empty() || !dropped.contains(&packet.ticket);
        self.line.dropped_packets += dropped.len() as u64;
        self.line.accepted_packets = self.line.accepted_packets + 1 - dropped.len() as u64;
        if waits && joined {
            let (_, bytes) = scheduled.discipline.waiting();
            scheduled.record_length(bytes);
        }
        // Behind others, it changes nothing about them, unless it has pushed out the one that waits
        // for tokens.
        let is_first = scheduled.next_service == Time::NEVER;
        let is_slotted = scheduled.terminal.is_some() || scheduled.shaper.is_some();
        if is_first || is_slotted || self.dynamics.is_some() {
            self.plan();
        }
    }

    /// Takes a packet of `flow` out of the queue that waits there. Returns whether it was there. It
    /// counts neither as accepted nor as dropped. Everything until now must have been served, and
    /// the next call is [`enqueue`](Self::enqueue) or [`serve`](Self::serve).
    pub fn remove(&mut self, ticket: u32, flow: u32) -> bool {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return false };
        let is_removed = scheduled.discipline.remove(ticket, flow).is_some();
        self.line.accepted_packets -= u64::from(is_removed);
        self.plan();
        is_removed
    }

    /// A status frame of `bytes` is due for the other direction's ARQ. Everything until `now` must
    /// have been served.
    pub fn offer_status(&mut self, now: Time, bytes: u32) {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return };
        scheduled.ready = now;
        scheduled.offer_status(bytes);
        self.plan();
    }

    /// A status frame for this direction's ARQ arrives. Everything until `now` must have been
    /// served.
    #[inline]
    pub fn on_status(&mut self, now: Time, status: &Status) {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return };
        scheduled.ready = now;
        if let Some(arq) = &mut scheduled.arq {
            arq.on_status(now, status);
        }
        self.plan();
    }

    /// Returns true if a status frame for this direction's ARQ may decide what is sent next even if
    /// it reports no loss: the packets that wait may close the window, or frames of a timeout may
    /// not be needed any more.
    #[inline]
    pub fn awaits_status(&self) -> bool {
        let Queue::Scheduled(scheduled) = &self.queue else { return false };
        let Some(arq) = &scheduled.arq else { return false };
        let (waiting, _) = scheduled.discipline.waiting();
        self.dynamics.is_some() || !arq.is_settled() || !arq.is_open_for(waiting)
    }

    /// Returns true if status frames without a loss may be taken in after their arrival: they would
    /// have changed nothing of what was sent since.
    pub fn confirms_late(&self) -> bool {
        let Queue::Scheduled(scheduled) = &self.queue else { return false };
        let can_wait = |arq: &Sender| arq.is_settled() && arq.is_open();
        self.dynamics.is_none() && scheduled.arq.as_deref().is_some_and(can_wait)
    }

    /// This number of status frames without a loss have arrived, the last of them at `at`.
    pub fn on_clean_statuses(&mut self, at: Time, last: &Status, number: u64) {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return };
        if let Some(arq) = &mut scheduled.arq {
            arq.on_clean_statuses(at, last, number);
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

    /// The timer of ARQ or FEC has expired, if it has. Everything until `now` must have been
    /// served.
    pub fn on_timer(&mut self, now: Time) {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return };
        scheduled.ready = now;
        if let Some(arq) = &mut scheduled.arq {
            arq.on_timer(now);
        }
        if let Some(fec) = &mut scheduled.fec {
            fec.on_timer(now);
        }
        self.plan();
    }

    /// Something has changed that decides when the next transmission starts. With demand
    /// assignment, the terminal decides that when it is served.
    #[inline(always)]
    pub(super) fn plan(&mut self) {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return };
        // It waits for the change, or for the end of the transmission before.
        let ready = scheduled.ready;
        scheduled.next_service = if scheduled.terminal.is_some() {
            ready
        } else if scheduled.has_next() {
            if let Some(dynamics) = &mut self.dynamics {
                dynamics.before_packet(ready, &mut self.line.transmitter);
            }
            let free = self.line.transmitter.free_at().max(ready);
            if scheduled.shaper.is_some() { scheduled.tokens_at(free) } else { free }
        } else {
            Time::NEVER
        };
    }

    /// Returns true if [`serve_packet`](Self::serve_packet) serves it: packets of a discipline are
    /// all that is sent, and nothing of it changes.
    #[inline]
    pub fn sends_packets_only(&self) -> bool {
        let Queue::Scheduled(scheduled) = &self.queue else { return false };
        scheduled.sends_packets_only && self.dynamics.is_none()
    }

    /// The same as [`serve`](Self::serve) where only packets are sent, at less cost: the next of
    /// them, and when it arrives, if the channel does not corrupt it.
    #[inline(always)]
    pub fn serve_packet(&mut self, now: Time) -> Option<(Queued, Option<Time>)> {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return None };
        let line = &mut self.line;
        while scheduled.next_service <= now {
            let packet = line.dequeue(scheduled, scheduled.next_service);
            let served = packet.map(|packet| {
                let (left, corrupted) =
                    line.transmit(scheduled.next_service, packet.bytes, packet.unframed);
                let arrival = left + line.delay;
                if corrupted {
                    line.far_end.expect(now, arrival);
                }
                (packet, (!corrupted).then_some(arrival))
            });
            let start = line.transmitter.free_at().max(scheduled.ready);
            scheduled.next_service = if scheduled.has_packet() { start } else { Time::NEVER };
            if served.is_some() {
                return served;
            }
        }
        None
    }

    /// The same as [`serve`](Self::serve) where ARQ sends a packet for the first time, at less
    /// cost: its frame, and when it arrives, if the channel does not corrupt it. `None` if
    /// something else is next.
    #[inline(always)]
    pub fn serve_frame(&mut self, now: Time) -> Option<(Frame, Option<Time>)> {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return None };
        let line = &mut self.line;
        if self.dynamics.is_some() || scheduled.terminal.is_some() {
            return None;
        }
        while scheduled.next_service <= now && scheduled.is_frame_next() {
            let packet = line.dequeue(scheduled, scheduled.next_service);
            let mut served = None;
            if let (Some(packet), Some(arq)) = (packet, &mut scheduled.arq) {
                let (left, corrupted) =
                    line.transmit(scheduled.next_service, packet.bytes, packet.unframed);
                let frame = arq.send(&packet);
                arq.leaves(&frame, left, corrupted);
                served = Some((frame, (!corrupted).then_some(left + line.delay)));
            }
            let start = line.transmitter.free_at().max(scheduled.ready);
            scheduled.next_service = if scheduled.has_next() { start } else { Time::NEVER };
            if served.is_some() {
                return served;
            }
        }
        None
    }

    /// Sends a status frame of `bytes` for the other direction's ARQ at `now`, if nothing else is
    /// sent or waits. Returns when it arrives, if the channel does not corrupt it. `None` if the
    /// frame has to be [offered](Self::offer_status). Everything until `now` must have been served.
    #[inline(always)]
    pub fn send_status(&mut self, now: Time, bytes: u32) -> Option<Option<Time>> {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return None };
        let line = &mut self.line;
        let is_idle = scheduled.next_service == Time::NEVER && line.transmitter.free_at() <= now;
        if !is_idle || self.dynamics.is_some() || scheduled.has_packet() {
            return None;
        }
        scheduled.ready = now;
        let (left, corrupted) = line.transmit(now, line.framing.bytes(bytes), bytes);
        Some((!corrupted).then_some(left + line.delay))
    }

    /// Starts the next transmission, if it starts by `now`.
    #[inline]
    pub fn serve(&mut self, now: Time) -> Option<Served> {
        self.serve_with(now, |_, _| {})
    }

    /// As [`serve`](Self::serve). `leaves` may change the length of a packet that leaves the queue,
    /// at the start of its transmission.
    #[inline]
    pub fn serve_with(
        &mut self,
        now: Time,
        mut leaves: impl FnMut(Time, &mut Queued),
    ) -> Option<Served> {
        let Queue::Scheduled(scheduled) = &mut self.queue else { return None };
        if scheduled.terminal.is_some() {
            return self.serve_assigned(now, leaves);
        }
        if scheduled.shaper.is_some() {
            return self.serve_shaped(now, leaves);
        }
        loop {
            let Queue::Scheduled(scheduled) = &mut self.queue else { return None };
            let start = scheduled.next_service;
            if start > now {
                return None;
            }
            let next = scheduled.next()?;
            let (content, unframed) = match next {
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
                    let Some(mut packet) = self.line.dequeue(scheduled, start) else {
                        self.plan();
                        continue;
                    };
                    leaves(start, &mut packet);
                    let content = match (&mut scheduled.arq, &mut scheduled.fec) {
                        (Some(arq), _) => Content::Frame(arq.send(&packet)),
                        (None, Some(fec)) => Content::Coded(fec.send(start, &packet)),
                        (None, None) => Content::Packet(packet),
                    };
                    (content, packet.unframed)
                }
            };
            let bytes = self.line.framing.bytes(unframed);
            let (left, corrupted) = self.line.transmit(start, bytes, unframed);
            let arrival = self.line.arrival(&mut self.dynamics, now, (left, bytes), corrupted);
            if let (Content::Frame(frame) | Content::Repeat(frame), Some(arq)) =
                (&content, &mut scheduled.arq)
            {
                arq.leaves(frame, left, arrival.corrupted);
            }
            if let (Content::Coded(_), Some(fec)) = (&content, &mut scheduled.fec) {
                fec.leaves(arrival.corrupted);
            }
            let fate = match &content {
                Content::Packet(_) => self.line.fate(now, arrival),
                // No packet is lost yet if a frame is corrupted.
                Content::Frame(_)
                | Content::Repeat(_)
                | Content::Status
                | Content::Coded(_)
                | Content::Begins(_)
                | Content::Ends(_) => match arrival.corrupted {
                    false => Fate::Arrives(arrival.at),
                    true => Fate::Corrupted(arrival.at),
                },
            };
            self.plan();
            return Some(Served { content, fate });
        }
    }

    /// When [`serve`](Self::serve) has something to do next; never, if nothing waits.
    #[inline]
    pub fn next_service(&self) -> Time {
        match &self.queue {
            Queue::Plain(_) | Queue::Fifo(_) => Time::NEVER,
            Queue::Scheduled(scheduled) => scheduled.next_service,
        }
    }

    /// How late a transmission of a discipline may be served, if nothing else happens to the
    /// direction. No arrival and no timer that follows from the transmission comes earlier.
    pub fn service_slack(&self) -> Span {
        let Queue::Scheduled(scheduled) = &self.queue else { return Span::ZERO };
        // Packets with FEC are known at the far end at once, and slots of demand assignment come in
        // any number. A direction that changes may have another delay by then.
        if scheduled.fec.is_some() || scheduled.terminal.is_some() || self.dynamics.is_some() {
            return Span::ZERO;
        }
        let timer = scheduled.arq.as_ref().map_or(Span::MAX, |arq| arq.settings().timer);
        self.line.delay.min(timer).saturating_sub(Span::from_nanos(1))
    }

    /// The ticket of a packet that the discipline has dropped, each once.
    #[inline]
    pub fn take_dropped(&mut self) -> Option<u32> {
        match &mut self.queue {
            Queue::Plain(_) | Queue::Fifo(_) => None,
            Queue::Scheduled(scheduled) => scheduled.dropped.pop(),
        }
    }
}
