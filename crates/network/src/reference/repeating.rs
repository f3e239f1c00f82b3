//! ARQ in the reference engine: the two ends are the state machines of the fast engine, and what
//! happens between them is an event each.

use link::{Accepted, ArqCounters, ArqSettings, Frame, Receiver, Sender, Status};
use units::Time;

use super::shaping::Shaping;
use super::{Kind, Load, ReferenceNetwork, SlowLane};
use crate::fabric::Packet;

/// Both ends of ARQ.
#[derive(Clone, Debug)]
pub(super) struct Repeating {
    pub sender: Sender,
    receiver: Receiver,
    /// The last time for which the timer has an event.
    timer: Time,
}

/// A status frame that waits in the queue of a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingStatus {
    bytes: u32,
    /// Packets that came before it and wait.
    pub ahead: usize,
}

/// The next transmission of a port.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    Status,
    Repeat,
    Parity,
    Packet,
}

impl Repeating {
    pub fn new(arq: ArqSettings) -> Self {
        Self { sender: Sender::new(arq), receiver: Receiver::new(arq), timer: Time::NEVER }
    }

    /// Totals, with this number of status frames that arrive now.
    pub fn counters(&self, arriving: u64) -> ArqCounters {
        let sender = self.sender.counters();
        let received_status_frames = sender.received_status_frames + arriving;
        self.receiver.counters(ArqCounters { received_status_frames, ..sender })
    }

    pub fn is_closed(&self) -> bool {
        !self.sender.is_open()
    }
}

impl<B: Clone> SlowLane<B> {
    /// A status frame waits only while a packet that came before it is next.
    pub(super) fn next(&self) -> Option<Next> {
        let held = self.shaping.as_ref().is_some_and(Shaping::holds);
        let waiting = self.managed.as_ref()?.waiting().0 + usize::from(held);
        let repeating = self.repeating.as_ref();
        let next = if repeating.is_some_and(|repeating| repeating.sender.has_repeat()) {
            Some(Next::Repeat)
        } else if self.coding.as_ref().is_some_and(|coding| coding.encoder.has_parity()) {
            Some(Next::Parity)
        } else if waiting > 0 && !repeating.is_some_and(Repeating::is_closed) {
            Some(Next::Packet)
        } else {
            None
        };
        match (next, &self.status) {
            (Some(Next::Packet), Some(status)) if status.ahead > 0 => next,
            (_, Some(_)) => Some(Next::Status),
            (next, None) => next,
        }
    }
}

impl<B: Clone> ReferenceNetwork<B> {
    /// The status frame that port `number` sends now, with its bytes.
    pub(super) fn take_status(&mut self, number: usize) -> Option<(Load<B>, u32)> {
        let port = &mut self.ports[number];
        let bytes = port.status.take()?.bytes;
        let data = port.reverse?;
        let status = self.ports[data].repeating.as_mut()?.receiver.status();
        Some((Load::Status(status), bytes))
    }

    /// A transmission of ARQ was sent, whose last bit leaves at `leaves`.
    pub(super) fn set_timer(
        &mut self,
        now: Time,
        number: usize,
        load: &Load<B>,
        leaves: Time,
        corrupted: bool,
    ) {
        let Some(repeating) = &mut self.ports[number].repeating else { return };
        if let Load::Frame(frame) = load {
            repeating.sender.leaves(frame, leaves, corrupted);
        }
        self.schedule_timer(now, number);
    }

    fn schedule_timer(&mut self, now: Time, number: usize) {
        let Some(repeating) = &mut self.ports[number].repeating else { return };
        let deadline = repeating.sender.deadline();
        if deadline != Time::NEVER && deadline > now && repeating.timer != deadline {
            repeating.timer = deadline;
            self.schedule(deadline, Kind::TimerExpires, number, None);
        }
    }

    pub(super) fn frame_arrives(&mut self, now: Time, number: usize, frame: &Frame) {
        let port = &mut self.ports[number];
        let (Some(repeating), Some(managed)) = (&mut port.repeating, &mut port.managed) else {
            return;
        };
        let mut accepted = Vec::new();
        repeating.receiver.on_frame(frame, &mut accepted);
        let bytes = repeating.sender.settings().status_bytes();
        let mut arriving = Vec::new();
        for Accepted { ticket, ecn, is_skip } in accepted {
            let packet = managed.take(ticket).expect("a frame is accepted once");
            if !is_skip {
                arriving.push(Packet { ecn, ..packet });
            }
        }
        let reverse = port.reverse;
        for packet in arriving {
            self.schedule(now, Kind::Arrives, number, Some(Load::Packet(packet)));
        }
        let Some(reverse) = reverse else { return };
        let port = &mut self.ports[reverse];
        if port.status.is_none() {
            let ahead = port.managed.as_ref().map_or(0, |managed| managed.waiting().0);
            port.status = Some(WaitingStatus { bytes, ahead });
        }
        self.start_next_managed(now, reverse);
    }

    /// Status frames for the sender of port `number` that arrive at `now`, an instant whose events
    /// have not happened yet.
    pub(super) fn statuses_at(&self, now: Time, number: usize) -> u64 {
        let [first, last] =
            [0, u64::MAX].map(|sequence| (now, Kind::StatusArrives, number, sequence));
        self.events.range(first..=last).count() as u64
    }

    pub(super) fn status_arrives(&mut self, now: Time, number: usize, status: &Status) {
        let Some(repeating) = &mut self.ports[number].repeating else { return };
        repeating.sender.on_status(now, status);
        self.start_next_managed(now, number);
        self.schedule_timer(now, number);
    }

    pub(super) fn timer_expires(&mut self, now: Time, number: usize) {
        self.block_timer_expires(now, number);
        let Some(repeating) = &mut self.ports[number].repeating else { return };
        if repeating.sender.deadline() <= now {
            repeating.sender.on_timer(now);
            self.start_next_managed(now, number);
        }
        self.schedule_timer(now, number);
    }
}
