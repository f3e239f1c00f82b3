//! ARQ in the fast engine: what joins the sender of a port with its receiver at the far end.
//!
//! Frames and status frames on their way wait in queues of their own, each with a number in the list of
//! next arrivals. A packet stays held until the receiver has taken its frame. It then arrives at the end
//! of the port as any other packet, at the same instant.

use std::collections::VecDeque;

use link::{Accepted, Frame, Receiver, Status};
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
    /// Status frames on their way back.
    statuses: VecDeque<(Time, Status)>,
    /// When the event of the timer happens; never, if there is none.
    pub timer: Time,
    accepted: Vec<Accepted>,
}

impl Repeats {
    pub(super) fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    pub(super) fn of(spec: &PortSpec) -> Option<Box<Self>> {
        let arq = spec.direction.settings().arq?;
        let repeats = Self {
            receiver: Receiver::new(arq),
            status_bytes: arq.status_bytes(),
            frames: VecDeque::new(),
            statuses: VecDeque::new(),
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
    #[inline]
    fn status_leaves_for(&mut self, data: usize, arrival: Option<Time>) {
        let Some(repeats) = &mut self.ports[data].repeats else { return };
        let status = repeats.receiver.status();
        if let Some(at) = arrival {
            repeats.statuses.push_back((at, status));
            if repeats.statuses.len() == 1 {
                self.arrivals.insert(STATUSES * self.ports.len() + data, at);
            }
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
            self.arrivals.insert(number, now);
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

    /// A status frame for the sender of port `number` arrives.
    pub(super) fn status_arrives(&mut self, now: Time, number: usize) {
        let Some(repeats) = &mut self.ports[number].repeats else { return };
        let (status, next) = take_first(&mut repeats.statuses);
        self.arrivals.follow_earliest(next);
        self.catch_up(now, number);
        if let Some(status) = status {
            self.ports[number].direction.on_status(now, &status);
        }
        self.follow_change(now, number);
        self.arm(number);
    }
}
