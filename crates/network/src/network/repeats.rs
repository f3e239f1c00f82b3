//! ARQ in the fast engine: what joins the sender of a port with its receiver at the far end.
//!
//! Frames and status frames on their way wait in queues of their own, each with a number in the list of
//! next arrivals. A packet stays held until the receiver has taken its frame. It then arrives at the end
//! of the port as any other packet, at the same instant.
//!
//! Most status frames report no loss and find the window far from closed. They change nothing until something
//! else happens, so they have no event of their own, and are taken in together. A status frame that reports a
//! loss has its event at its arrival, and so has each one that the sender
//! [awaits](link::Direction::awaits_status).

use std::collections::VecDeque;

use link::{Accepted, ArqCounters, Frame, Receiver, Status};
use units::Time;

use super::{Network, Port};
use crate::fabric::Packet;
use crate::topology::PortSpec;

/// The numbers of events behind those of all ports, in numbers of ports: arrivals of frames, arrivals of
/// status frames, and timers. Of events at one instant, the lowest number is first.
pub(super) const FRAMES: usize = 2;
pub(super) const STATUSES: usize = 3;
pub(super) const TIMERS: usize = 4;

/// ARQ of a port, apart from its sender.
#[derive(Clone, Debug)]
pub(super) struct Repeats {
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
    /// Whether the sender may await one ([`link::Direction::awaits_status`]).
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

impl Repeats {
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

    pub(super) fn of(spec: &PortSpec) -> Option<Box<Self>> {
        let arq = spec.direction.settings().arq?;
        let repeats = Self {
            receiver: Receiver::new(arq),
            status_bytes: arq.status_bytes(),
            frames: VecDeque::new(),
            statuses: VecDeque::new(),
            reported: None,
            losses: 0,
            awaited: Time::NEVER,
            is_awaited: true,
            timer: Time::NEVER,
            accepted: Vec::new(),
        };
        Some(repeats.into())
    }
}

/// Takes the first of `queue`; the time of the next one is given too.
#[inline]
pub(super) fn take_first<T>(queue: &mut VecDeque<(Time, T)>) -> (Option<T>, Option<Time>) {
    let first = queue.pop_front().map(|(_, first)| first);
    (first, queue.front().map(|(at, _)| *at))
}

impl<B> Network<B> {
    /// Starts the transmissions of packets with ARQ that start by `now`, up to the first of another kind.
    #[inline]
    pub(super) fn serve_frames(&mut self, now: Time, number: usize) {
        let ports = self.ports.len();
        let port = &mut self.ports[number];
        let is_unobserved = port.is_unobserved();
        let Some(repeats) = &mut port.repeats else { return };
        if !is_unobserved {
            return;
        }
        while let Some((frame, arrival)) = port.direction.serve_frame(now) {
            if let Some(at) = arrival {
                repeats.frames.push_back((at, frame));
                if repeats.frames.len() == 1 {
                    self.arrivals.insert(FRAMES * ports + number, at);
                }
            }
        }
        self.arm(number);
    }

    /// A frame of port `number` is sent; without an arrival, it is corrupted.
    pub(super) fn frame_leaves(&mut self, number: usize, frame: Frame, arrival: Option<Time>) {
        let Some(repeats) = &mut self.ports[number].repeats else { return };
        if let Some(at) = arrival {
            repeats.frames.push_back((at, frame));
            if repeats.frames.len() == 1 {
                self.arrivals.insert(FRAMES * self.ports.len() + number, at);
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
        let Some(repeats) = &mut self.ports[data].repeats else { return };
        let status = repeats.receiver.status();
        if let Some(at) = arrival {
            let is_clean = repeats.expect_status(at, status);
            if !is_clean || repeats.is_awaited {
                self.await_status(data);
            }
        }
    }

    /// Enters the event of the next status frame that port `number` cannot take in later.
    #[inline(never)]
    pub(super) fn await_status(&mut self, number: usize) {
        let ports = self.ports.len();
        let Port { repeats: Some(repeats), direction, .. } = &mut self.ports[number] else {
            return;
        };
        let is_awaited = direction.awaits_status();
        repeats.is_awaited = is_awaited;
        if repeats.awaited != Time::NEVER && !is_awaited {
            // Those that report a loss arrive in order.
            return;
        }
        let next = repeats.next_status(is_awaited);
        if next < repeats.awaited {
            let is_new = repeats.awaited == Time::NEVER;
            repeats.awaited = next;
            if is_new {
                self.arrivals.insert(STATUSES * ports + number, next);
            } else {
                self.arrivals.change(STATUSES * ports + number, Some(next));
            }
        }
    }

    /// A packet has joined the queue of port `number`: from a number of packets on that may close the window,
    /// status frames have events.
    #[inline]
    pub(super) fn watch_window(&mut self, now: Time, number: usize) {
        if self.ports[number].direction.awaits_status() {
            self.ports[number].take_clean_statuses(|at| at < now);
            self.await_status(number);
        }
    }

    /// A frame arrives at the end of port `number`: its packet, and those that have waited for it, go
    /// on, and a status frame is due.
    pub(super) fn frame_arrives(&mut self, now: Time, number: usize) {
        let reverse = self.ports[number].reverse.map(usize::from);
        let Some(repeats) = &mut self.ports[number].repeats else { return };
        let (frame, next) = take_first(&mut repeats.frames);
        self.arrivals.follow_earliest(next);
        if let Some(reverse) = reverse {
            // A status frame that has started does not know of it.
            self.catch_up(now, reverse);
        }
        let Port { repeats: Some(repeats), packets, held, .. } = &mut self.ports[number] else {
            return;
        };
        let was_empty = packets.len() == 0;
        if let Some(frame) = frame {
            repeats.receiver.on_frame(&frame, &mut repeats.accepted);
        }
        for &Accepted { ticket, ecn, is_skip } in &repeats.accepted {
            if let (Some(packet), false) = (held.take(ticket), is_skip) {
                packets.push((now, Packet { ecn, ..packet }));
            }
        }
        repeats.accepted.clear();
        if was_empty && packets.len() > 0 {
            // The frame was the earliest, and the numbers of packets are the lowest.
            self.arrivals.insert_first(number, now);
        }
        let status_bytes = repeats.status_bytes;
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

    /// A status frame for the sender of port `number` arrives that has an event, with those before it that
    /// have none.
    pub(super) fn status_arrives(&mut self, now: Time, number: usize) {
        self.arrivals.follow_earliest(None);
        if let Some(repeats) = &mut self.ports[number].repeats {
            repeats.awaited = Time::NEVER;
        }
        self.catch_up(now, number);
        loop {
            let port = &mut self.ports[number];
            port.take_clean_statuses(|at| at <= now);
            let Some(repeats) = &mut port.repeats else { return };
            let Some((at, report)) = repeats.statuses.front().copied() else { break };
            if at > now {
                break;
            }
            repeats.statuses.pop_front();
            repeats.losses -= usize::from(!report.is_clean);
            port.direction.on_status(now, &report.status);
            self.follow_change(now, number);
        }
        self.await_status(number);
        self.arm(number);
    }
}

impl<B> Port<B> {
    /// Takes in the next status frames that report no loss and have `arrived`, if the sender does not have to
    /// act on them.
    pub(super) fn take_clean_statuses(&mut self, arrived: impl Fn(Time) -> bool) {
        let Self { repeats: Some(repeats), direction, .. } = self else { return };
        if !direction.confirms_late() {
            return;
        }
        let is_taken = |(at, report): &&(Time, Report)| report.is_clean && arrived(*at);
        let taken = repeats.statuses.iter().take_while(is_taken).count();
        if let Some((at, Report { status, .. })) = repeats.statuses.drain(..taken).next_back() {
            direction.on_clean_statuses(at, &status, taken as u64);
        }
    }
}
