//! ARQ in the fast engine: the way between the sender of a port and its receiver at the far end.
//!
//! Frames and status frames on their way wait in queues of their own, each with an event. A packet
//! stays held until the receiver has taken its frame. It then arrives at the end of the port as any
//! other packet, at the same instant.
//!
//! Most status frames report no loss and find the window far from closed. They change nothing until
//! something else happens, so they have no event of their own, and are taken in together. A status
//! frame that reports a loss has its event at its arrival, and so has each one that the sender
//! [awaits](link::Direction::awaits_status).

use std::collections::VecDeque;

use link::{Accepted, ArqCounters, ArqSettings, Frame, Receiver, Status};
use units::Time;

use super::events::PortEvent;
use super::link_layer::LinkLayer;
use super::{Network, Port};
use crate::fabric::Packet;

/// ARQ of a port, apart from its sender.
#[derive(Clone, Debug)]
pub(super) struct Arq {
    receiver: Receiver,
    status_bytes: u32,
    /// Frames on their way.
    frames: VecDeque<(Time, Frame)>,
    /// Status frames on their way back, and those that have arrived without an event.
    statuses: VecDeque<(Time, Report)>,
    /// The last transmission that the status frames before know of.
    reported: Option<u64>,
    /// Status frames in `statuses` that report a loss.
    losses: usize,
    /// When the event of a status frame happens; never, if there is none.
    awaited: Time,
    /// True if the sender may await one ([`link::Direction::awaits_status`]).
    is_awaited: bool,
    /// When the event of the timer happens; never, if there is none.
    pub timer: Time,
    accepted: Vec<Accepted>,
}

/// A status frame on its way.
#[derive(Clone, Copy, Debug)]
struct Report {
    status: Status,
    /// All transmissions have arrived of which the status frames before did not know.
    is_clean: bool,
}

impl Arq {
    /// Totals at `now`, added to those of the sender.
    pub(super) fn counters(&self, now: Time, sender: ArqCounters) -> ArqCounters {
        let arrived = self.statuses.iter().take_while(|(at, _)| *at <= now).count();
        let received_status_frames = sender.received_status_frames + arrived as u64;
        self.receiver.counters(ArqCounters { received_status_frames, ..sender })
    }

    /// The next status frame is sent, and arrives at `at`. Returns false if it reports a loss.
    #[inline]
    fn expect_status(&mut self, at: Time, status: Status) -> bool {
        let is_clean = status.is_clean(self.reported);
        self.reported = Some(status.transmission);
        self.losses += usize::from(!is_clean);
        self.statuses.push_back((at, Report { status, is_clean }));
        is_clean
    }

    /// When the sender has to take in the next status frames; never, if that can wait.
    fn next_status(&self, is_awaited: bool) -> Time {
        let mut statuses = self.statuses.iter();
        let needed = match (is_awaited, self.losses) {
            (true, _) => statuses.next(),
            (false, 0) => None,
            (false, _) => statuses.find(|(_, report)| !report.is_clean),
        };
        needed.map_or(Time::NEVER, |(at, _)| *at)
    }

    pub(super) fn new(settings: ArqSettings) -> Self {
        Self {
            receiver: Receiver::new(settings),
            status_bytes: settings.status_bytes(),
            frames: VecDeque::new(),
            statuses: VecDeque::new(),
            reported: None,
            losses: 0,
            awaited: Time::NEVER,
            is_awaited: true,
            timer: Time::NEVER,
            accepted: Vec::new(),
        }
    }
}

/// Takes the first of `queue`; the time of the next one is given too.
#[inline]
pub(super) fn take_first<T>(queue: &mut VecDeque<(Time, T)>) -> (Option<T>, Option<Time>) {
    let first = queue.pop_front().map(|(_, first)| first);
    (first, queue.front().map(|(at, _)| *at))
}

impl<B: Clone> Network<B> {
    /// Starts the transmissions of packets with ARQ that start by `now`, up to the first of another
    /// kind.
    #[inline]
    pub(super) fn serve_frames(&mut self, now: Time, number: usize) {
        let port = &mut self.ports[number];
        let is_unobserved = port.is_unobserved();
        let Some(LinkLayer::Arq(arq)) = port.link_layer.as_deref_mut() else { return };
        if !is_unobserved {
            return;
        }
        while let Some((frame, arrival)) = port.direction.serve_frame(now) {
            if let Some(at) = arrival {
                arq.frames.push_back((at, frame));
                if arq.frames.len() == 1 {
                    self.arrivals.insert(self.numbers.of(PortEvent::Frame, number), at);
                }
            }
        }
        self.arm(number);
    }

    /// A frame of port `number` is sent; without an arrival, it is corrupted.
    pub(super) fn frame_leaves(&mut self, number: usize, frame: Frame, arrival: Option<Time>) {
        let Some(LinkLayer::Arq(arq)) = self.ports[number].link_layer.as_deref_mut() else {
            return;
        };
        if let Some(at) = arrival {
            arq.frames.push_back((at, frame));
            if arq.frames.len() == 1 {
                self.arrivals.insert(self.numbers.of(PortEvent::Frame, number), at);
            }
        }
        self.arm(number);
    }

    /// Port `number` sends a status frame, for the port whose reverse it is.
    pub(super) fn status_leaves(&mut self, number: usize, arrival: Option<Time>) {
        if let Some(data) = self.ports[number].reverse.map(usize::from) {
            self.status_leaves_for(data, arrival);
        }
    }

    /// A status frame for the sender of port `data` is sent over its reverse.
    #[inline(always)]
    fn status_leaves_for(&mut self, data: usize, arrival: Option<Time>) {
        let Some(LinkLayer::Arq(arq)) = self.ports[data].link_layer.as_deref_mut() else { return };
        let status = arq.receiver.status();
        if let Some(at) = arrival {
            let is_clean = arq.expect_status(at, status);
            if !is_clean || arq.is_awaited {
                self.await_status(data);
            }
        }
    }

    /// Enters the event of the next status frame that port `number` cannot take in later.
    #[inline(never)]
    pub(super) fn await_status(&mut self, number: usize) {
        let Port { link_layer, direction, .. } = &mut self.ports[number];
        let Some(LinkLayer::Arq(arq)) = link_layer.as_deref_mut() else { return };
        let is_awaited = direction.awaits_status();
        arq.is_awaited = is_awaited;
        if arq.awaited != Time::NEVER && !is_awaited {
            // Those that report a loss arrive in order.
            return;
        }
        let next = arq.next_status(is_awaited);
        if next < arq.awaited {
            let is_new = arq.awaited == Time::NEVER;
            arq.awaited = next;
            if is_new {
                self.arrivals.insert(self.numbers.of(PortEvent::Status, number), next);
            } else {
                self.arrivals.change(self.numbers.of(PortEvent::Status, number), Some(next));
            }
        }
    }

    /// A packet has joined the queue of port `number`: from a number of packets on that may close
    /// the window, status frames have events.
    #[inline]
    pub(super) fn watch_window(&mut self, now: Time, number: usize) {
        if self.ports[number].direction.awaits_status() {
            self.ports[number].take_clean_statuses(|at| at < now);
            self.await_status(number);
        }
    }

    /// A frame arrives at the end of port `number`: its packet, and those that have waited for it,
    /// go on, and a status frame is due.
    pub(super) fn frame_arrives(&mut self, now: Time, number: usize) {
        let reverse = self.ports[number].reverse.map(usize::from);
        let Some(LinkLayer::Arq(arq)) = self.ports[number].link_layer.as_deref_mut() else {
            return;
        };
        let (frame, next) = take_first(&mut arq.frames);
        self.arrivals.follow_earliest(next);
        if let Some(reverse) = reverse {
            // A status frame that has started does not know of it.
            self.catch_up(now, reverse);
        }
        let Port { link_layer, packets, held, .. } = &mut self.ports[number];
        let Some(LinkLayer::Arq(arq)) = link_layer.as_deref_mut() else { return };
        let was_empty = packets.len() == 0;
        if let Some(frame) = frame {
            arq.receiver.on_frame(&frame, &mut arq.accepted);
        }
        for &Accepted { ticket, ecn, is_skip } in &arq.accepted {
            if let (Some(packet), false) = (held.take(ticket), is_skip) {
                packets.push((now, Packet { ecn, ..packet }));
            }
        }
        arq.accepted.clear();
        if was_empty && packets.len() > 0 {
            // The frame was the earliest, and the numbers of packets are the lowest.
            self.arrivals.insert_first(number, now);
        }
        let status_bytes = arq.status_bytes;
        if let Some(reverse) = reverse {
            match self.ports[reverse].direction.send_status(now, status_bytes) {
                Some(arrival) => self.status_leaves_for(number, arrival),
                None => {
                    self.ports[reverse].direction.offer_status(now, status_bytes);
                    self.follow_change(now, reverse);
                }
            }
        }
    }

    /// A status frame for the sender of port `number` arrives that has an event, with those before
    /// it that have none.
    pub(super) fn status_arrives(&mut self, now: Time, number: usize) {
        self.arrivals.follow_earliest(None);
        if let Some(LinkLayer::Arq(arq)) = self.ports[number].link_layer.as_deref_mut() {
            arq.awaited = Time::NEVER;
        }
        self.catch_up(now, number);
        loop {
            let port = &mut self.ports[number];
            port.take_clean_statuses(|at| at <= now);
            let Some(LinkLayer::Arq(arq)) = port.link_layer.as_deref_mut() else { return };
            let Some((at, report)) = arq.statuses.front().copied() else { break };
            if at > now {
                break;
            }
            arq.statuses.pop_front();
            arq.losses -= usize::from(!report.is_clean);
            port.direction.on_status(now, &report.status);
            self.follow_change(now, number);
        }
        self.await_status(number);
        self.arm(number);
    }
}

impl<B> Port<B> {
    /// Takes in the next status frames that report no loss and have `arrived`, if the sender does
    /// not have to act on them.
    pub(super) fn take_clean_statuses(&mut self, arrived: impl Fn(Time) -> bool) {
        let Self { link_layer, direction, .. } = self;
        let Some(LinkLayer::Arq(arq)) = link_layer.as_deref_mut() else { return };
        if !direction.confirms_late() {
            return;
        }
        let is_taken = |(at, report): &&(Time, Report)| report.is_clean && arrived(*at);
        let taken = arq.statuses.iter().take_while(is_taken).count();
        if let Some((at, Report { status, .. })) = arq.statuses.drain(..taken).next_back() {
            direction.on_clean_statuses(at, &status, taken as u64);
        }
    }
}
