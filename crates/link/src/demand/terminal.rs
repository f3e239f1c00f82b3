//! A terminal with its view of the frames: which slots are its own, and what it requests.

use std::collections::VecDeque;

use units::{Rate, Span, Time};

use super::{DemandCounters, DemandSettings};

/// The next action of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A frame starts: slots are requested for what waits.
    Frame,
    /// An assigned slot starts.
    Slot,
}

/// Slots that were requested and are not due.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// The number of the first frame that can have them.
    due: u64,
    slots: u64,
}

/// Assigned slots of a frame, in this order.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    cra: u32,
    vbdc: u32,
    fca: u32,
}

impl Plan {
    fn slots(&self) -> u32 {
        self.cra + self.vbdc + self.fca
    }
}

/// A slot at whose start packets are put into it.
#[derive(Clone, Copy, Debug)]
struct Open {
    number: u32,
    start: Time,
    room: u32,
    is_used: bool,
}

/// A terminal.
#[derive(Clone, Debug)]
pub struct Terminal {
    settings: DemandSettings,
    /// The number of the frame that has begun, its slots, and the first of them that has not
    /// started.
    frame: u64,
    plan: Plan,
    slot: u32,
    open: Option<Open>,
    /// Slots on request that were used in this frame.
    used: u32,
    requests: VecDeque<Request>,
    /// Slots that are due and not in a frame yet.
    credit: u64,
    /// Bytes of the packet being sent that are left.
    left: u32,
    counters: DemandCounters,
}

impl Terminal {
    /// A terminal at the start of the run, before the first frame.
    pub fn new(settings: DemandSettings) -> Self {
        let mut terminal = Self {
            settings,
            frame: 0,
            plan: Plan::default(),
            slot: 0,
            open: None,
            used: 0,
            requests: VecDeque::new(),
            credit: 0,
            left: 0,
            counters: DemandCounters::default(),
        };
        terminal.plan = terminal.planned();
        terminal
    }

    /// Totals until `now`, with `waiting` bytes in the queue.
    pub fn counters(&self, now: Time, waiting: u64) -> DemandCounters {
        if self.left > 0 || waiting > 0 {
            return self.counters;
        }
        // Slots that have passed since then had nothing to send.
        let mut later = self.clone();
        later.skip_to(now);
        later.counters
    }

    fn start_of_frame(&self, frame: u64) -> Time {
        Time::ZERO + self.settings.frame * frame
    }

    /// The start of slot `number` of the present frame, or its end as that of the next slot.
    fn start_of(&self, number: u32) -> Time {
        let DemandSettings { frame, slots, .. } = self.settings;
        let nanos = frame.as_nanos() * u64::from(number) / u64::from(slots);
        self.start_of_frame(self.frame) + Span::from_nanos(nanos)
    }

    /// The assignment of the frame that begins. Takes its part of the credit.
    fn planned(&mut self) -> Plan {
        let DemandSettings { slots, fca, .. } = self.settings;
        let frame = self.frame;
        let constant = |frame| self.settings.constant_before(frame);
        let cra = clamp(constant(frame + 1) - constant(frame), slots);
        let vbdc = clamp(self.credit, slots - cra);
        self.credit -= u64::from(vbdc);
        let free = slots - cra - vbdc;
        // Parts of slots add up from frame to frame.
        let parts = |frame: u64| u128::from(frame) * u128::from(free) * u128::from(fca) / 1_000_000;
        let fca = u64::try_from(parts(frame + 1) - parts(frame)).unwrap_or(u64::MAX);
        Plan { cra, vbdc, fca: clamp(fca, free) }
    }

    /// The next frame begins while `backlog` bytes wait or are being sent.
    fn begin_frame(&mut self, backlog: u64) {
        self.close_frame();
        self.frame += 1;
        self.request(backlog);
        while let Some(first) = self.requests.front().filter(|first| first.due <= self.frame) {
            self.credit += first.slots;
            self.requests.pop_front();
        }
        self.plan = self.planned();
        (self.slot, self.open) = (0, None);
    }

    /// The slots of the frame are over.
    fn close_frame(&mut self) {
        self.counters.unused_slots += u64::from(self.plan.vbdc - self.used);
        self.used = 0;
    }

    /// Requests slots for `backlog` bytes, apart from those that will carry them anyway.
    fn request(&mut self, backlog: u64) {
        if !self.settings.vbdc || backlog == 0 {
            return;
        }
        let due = self.frame + self.settings.loop_frames();
        let constant = |frame| self.settings.constant_before(frame);
        let requested: u64 = self.requests.iter().map(|request| request.slots).sum();
        let covered = requested + self.credit + constant(due) - constant(self.frame);
        let slots = self.settings.slots_of(backlog).saturating_sub(covered);
        if slots > 0 {
            self.requests.push_back(Request { due, slots });
            self.counters.requests += 1;
            self.counters.requested_slots += slots;
        }
    }

    /// Nothing waited before `at`: frames that began before it have no requests, and slots that
    /// started before it are over.
    pub fn skip_to(&mut self, at: Time) {
        while self.start_of_frame(self.frame + 1) < at {
            if self.requests.is_empty() && self.credit == 0 && self.plan.vbdc == 0 {
                // From here on all frames are alike, and nothing of them is counted.
                let passed = at.as_nanos().saturating_sub(1) / self.settings.frame.as_nanos();
                self.frame = self.frame.max(passed - 1);
            }
            self.begin_frame(0);
        }
        self.open = self.open.filter(|open| open.start >= at);
        while self.slot < self.plan.slots() && self.start_of(self.slot) < at {
            self.slot += 1;
        }
    }

    /// When it acts next.
    pub fn next_action(&self) -> Time {
        if self.slot < self.plan.slots() {
            self.start_of(self.slot)
        } else {
            self.start_of_frame(self.frame + 1)
        }
    }

    /// Acts at [`next_action`](Self::next_action) while `waiting` bytes are in the queue. After a
    /// slot has started, [`open`](Self::open) follows, unless there is an outage.
    pub fn act(&mut self, waiting: u64) -> Action {
        if self.slot < self.plan.slots() {
            self.slot += 1;
            self.open = None;
            return Action::Slot;
        }
        self.begin_frame(waiting + u64::from(self.left));
        Action::Frame
    }

    /// The slot that has just started is used at `rate`.
    pub fn open(&mut self, rate: Rate) {
        let number = self.slot - 1;
        let room = self.settings.slot_bytes(rate);
        self.open = Some(Open { number, start: self.start_of(number), room, is_used: false });
    }

    /// The start of the slot that has room for bytes now.
    pub fn has_room(&self) -> Option<Time> {
        self.open.filter(|open| open.room > 0).map(|open| open.start)
    }

    /// Returns true if a packet is being sent.
    pub fn is_sending(&self) -> bool {
        self.left > 0
    }

    /// A packet of `bytes` is sent from now on, in the slot that has room.
    pub fn begin(&mut self, bytes: u32) {
        self.left = bytes;
    }

    /// Puts bytes of the packet into the slot that has room. Returns the slot if nothing was in it
    /// yet.
    pub fn fill(&mut self) -> Option<(Time, Time)> {
        let mut open = self.open?;
        let first = !open.is_used;
        let bytes = open.room.min(self.left);
        open.room -= bytes;
        self.left -= bytes;
        open.is_used = true;
        self.open = Some(open);
        if !first {
            return None;
        }
        let Plan { cra, vbdc, .. } = self.plan;
        if open.number < cra {
            self.counters.cra_slots += 1;
        } else if open.number < cra + vbdc {
            self.counters.vbdc_slots += 1;
            self.used += 1;
        } else {
            self.counters.fca_slots += 1;
        }
        Some((open.start, self.start_of(open.number + 1)))
    }

    /// The packet that came to the queue at `since` has left. Returns when: at the end of the slot.
    pub fn finish(&mut self, since: Time) -> Time {
        let end = self.start_of(self.open.map_or(self.slot, |open| open.number + 1));
        let delay = end.since(since);
        self.counters.sent_packets += 1;
        self.counters.access_delay = self.counters.access_delay + delay;
        self.counters.max_access_delay = self.counters.max_access_delay.max(delay);
        end
    }

    /// Time from `at` to the end of the last slot of a packet of `bytes`, the only one.
    pub(super) fn alone(mut self, at: Time, bytes: u32) -> Span {
        self.skip_to(at);
        self.left = bytes;
        while self.left > 0 {
            if self.act(0) == Action::Slot {
                self.open(self.settings.rate);
                self.fill();
            }
        }
        self.finish(at).since(at)
    }
}

/// `slots`, but not more than `most`.
fn clamp(slots: u64, most: u32) -> u32 {
    u32::try_from(slots).unwrap_or(u32::MAX).min(most)
}

#[cfg(test)]
mod tests;
