//! The return channel of a beam: terminals send bursts of DVB-RCS2 in slots that a network control
//! centre (NCC) assigns.
//!
//! Time is divided into frames. Each carrier has the same number of slots in a frame, and a slot
//! carries one burst. The slots of a frame are assigned in this order:
//!
//! - Constant rate (CRA): slots that go round among the terminals of a group, without requests.
//! - On request: rates (RBDC) by max-min fairness, then volumes (VBDC, AVBDC) in the same way.
//!   Rates that do not fit are lost, volumes wait.
//! - Free capacity (FCA): all other slots go round among the terminals that may have them, without
//!   requests.
//!
//! A request is made at the start of a frame. It has an effect from the first frame on that starts
//! at least the delay of the control loop later.
//!
//! Decisions:
//! - A terminal sends on one carrier at a time. So it has at most one slot at an instant, and on
//!   request at most the slots of one carrier. Another slot at the same instant is not used.
//! - Requests have control slots of their own: none is lost, and they take no capacity. Groups with
//!   random access have no such slots: `random` says how they request.
//! - Rate and volume are counted in slots of the group's waveform. A burst carries the bytes that
//!   one in the middle of a long packet has. A requested rate is rounded up to whole slots of a
//!   frame, or a lone ACK would wait until the parts of several frames make a slot. Requests of
//!   volumes count the bursts of the packets that wait.
//! - Slots on request are one behind the other, and the terminal that comes first goes round.
//! - Terminals without packets and requests are not visited. What they have of CRA and FCA follows
//!   from the number of the frame.

mod active;
pub mod allocator;
mod assignment;
mod counters;
mod filter;
mod lines;
mod lone;
mod random;
pub mod requests;
pub mod rle;
mod rotation;
mod settings;
pub mod waveforms;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand_xoshiro::Xoshiro256PlusPlus;
use units::{Span, Time};

use crate::packet::{Arrived, Delays, Offered, TerminalCounters, TerminalId, Waiting};
use crate::plan::Meter;
use active::{Active, Kind};
use assignment::Assigned;
pub use counters::SlotCounters;
pub use filter::Filter;
use lines::Lines;
use random::Random;
use requests::Left;
use rotation::Turns;
pub use settings::{Group, Settings};

/// A terminal.
#[derive(Clone, Debug)]
struct Terminal<P> {
    group: usize,
    /// Its number in its group, and among those with free capacity.
    member: u64,
    free_member: u64,
    lines: Lines<P>,
    active: Option<Box<Active>>,
    counters: TerminalCounters,
}

/// A return channel.
#[derive(Clone, Debug)]
pub struct Returning<P> {
    settings: Settings,
    terminals: Vec<Terminal<P>>,
    /// Terminals in each group, and those with free capacity.
    members: Vec<u64>,
    free_members: u64,
    slots_of_carrier: u32,
    slot: Span,
    /// Terminals with packets or requests.
    active: Vec<TerminalId>,
    /// The frame whose assignment is known: its number, the places of free capacity, and the turns
    /// of free capacity before it.
    frame: u64,
    free: Turns,
    next_frame: Time,
    bursts: BinaryHeap<Reverse<(Time, TerminalId)>>,
    on_air: VecDeque<(Time, Waiting<P>)>,
    /// Terminals whose plan lets a packet pass, and when.
    held: BinaryHeap<Reverse<(Time, TerminalId)>>,
    random: Option<Random>,
    counters: SlotCounters,
    /// By group and class.
    delays: Vec<Delays>,
}

impl<P> Returning<P> {
    /// A channel for terminals; `members` has the group of each. `random` draws the slots and
    /// back-offs of random access.
    pub fn new(settings: Settings, members: &[usize], random: Xoshiro256PlusPlus) -> Self {
        let mut sizes = vec![0; settings.groups.len()];
        let mut free_members = 0;
        let terminals = members.iter().map(|&group| {
            let member = sizes[group];
            let free_member = free_members;
            sizes[group] += 1;
            free_members += u64::from(settings.groups[group].free);
            let meter = settings.groups[group].plan.map(Meter::new);
            let lines = Lines::new(settings.classes.len(), meter);
            let counters = TerminalCounters::default();
            Terminal { group, member, free_member, lines, active: None, counters }
        });
        let terminals = terminals.collect();
        let mut channel = Self {
            terminals,
            slots_of_carrier: settings.slots_of_carrier(),
            slot: settings.slot(),
            active: Vec::new(),
            frame: 0,
            free: Turns { members: free_members.max(1), first: 0, place: 0, slots: 0 },
            next_frame: Time::NEVER,
            bursts: BinaryHeap::new(),
            on_air: VecDeque::new(),
            held: BinaryHeap::new(),
            random: settings.access.map(|access| Random::new(access, &settings, random)),
            counters: SlotCounters::default(),
            delays: vec![Delays::default(); settings.groups.len() * settings.classes.len()],
            members: sizes,
            free_members,
            settings,
        };
        channel.begin(0, 0);
        channel
    }

    /// A packet joins the queue of a terminal. It is dropped if the queue is full.
    pub fn offer(&mut self, now: Time, offered: Offered<P>) {
        let number = offered.terminal;
        let terminal = &mut self.terminals[number as usize];
        let buffer = self.settings.groups[terminal.group].buffer;
        let mut waiting = Waiting::new(offered, now);
        terminal.lines.filter_out(&mut waiting);
        if !terminal.lines.has_room(waiting.class, waiting.bytes, buffer) {
            terminal.lines.forget(&waiting);
            terminal.counters.dropped += u64::from(waiting.packets);
            return;
        }
        match terminal.lines.hold(now, waiting) {
            Ok(waiting) => self.join(now, waiting),
            Err(ready) => self.held.extend(ready.map(|ready| Reverse((ready, number)))),
        }
    }

    /// Returns true if a packet of `bytes` finds room among those of a terminal's class.
    pub fn has_room(&mut self, terminal: TerminalId, class: u8, bytes: u32) -> bool {
        let terminal = &mut self.terminals[terminal as usize];
        let buffer = self.settings.groups[terminal.group].buffer;
        terminal.lines.has_room(class, bytes, buffer)
    }

    /// Puts a packet into the queue of its terminal, where it waits for slots.
    fn join(&mut self, now: Time, waiting: Waiting<P>) {
        let (number, class) = (waiting.terminal, usize::from(waiting.class));
        let bits = f64::from(8 * (waiting.with_headers(rle::WHOLE) + rle::WHOLE));
        self.terminals[number as usize].lines.push(waiting);
        if self.terminals[number as usize].active.is_none() {
            self.activate(now, number);
        }
        let terminal = &mut self.terminals[number as usize];
        let Some(active) = &mut terminal.active else { return };
        active.loops[class].memory.arrive(bits);
        self.plan(now, number);
    }

    /// The plan of a terminal may let packets pass.
    fn release(&mut self, now: Time, number: TerminalId) {
        while let Some(result) = self.terminals[number as usize].lines.release(now) {
            match result {
                Ok(waiting) => self.join(now, waiting),
                Err(ready) => return self.held.push(Reverse((ready, number))),
            }
        }
    }

    /// A terminal has a packet that had none before.
    fn activate(&mut self, now: Time, number: TerminalId) {
        let length = self.settings.frame;
        let since_start = now.since(Time::ZERO);
        let boundary = Time::ZERO + since_start.round_up_to(length);
        self.next_frame = self.next_frame.min(boundary);
        self.active.push(number);
        let classes = self.settings.classes.len();
        self.terminals[number as usize].active = Some(Box::new(Active::new(classes)));
        if boundary != now {
            let frame = since_start.as_nanos() / length.as_nanos();
            if frame != self.frame {
                self.begin(frame, 0);
            }
            let slots = self.unrequested(number);
            if let Some(active) = &mut self.terminals[number as usize].active {
                active.slots = slots;
                active.arrange(self.slots_of_carrier);
            }
        }
    }

    /// The constant assignment of a group in this frame, and the place of its first slot.
    fn constant(&self, group: usize, place: u32) -> Turns {
        let (settings, members) = (&self.settings.groups[group], self.members[group]);
        let first = self.settings.constant_before(settings, members, self.frame);
        let behind = self.settings.constant_before(settings, members, self.frame + 1);
        let slots = u32::try_from(behind - first).unwrap_or(u32::MAX);
        Turns { members: members.max(1), first, place, slots }
    }

    /// Slots of constant assignment of all groups before a frame.
    fn constant_before(&self, frame: u64) -> u64 {
        let groups = self.settings.groups.iter().zip(&self.members);
        groups.map(|(group, members)| self.settings.constant_before(group, *members, frame)).sum()
    }

    /// Begins a frame in which `requested` slots are assigned on request.
    fn begin(&mut self, frame: u64, requested: u32) {
        let all = u64::from(self.settings.slots());
        // Frames without requests are not visited: all their slots but those of CRA were free.
        let before = self.constant_before(frame);
        let constant = before.saturating_sub(self.constant_before(self.frame + 1));
        let idle = frame.saturating_sub(self.frame + 1);
        let passed = if frame > self.frame { u64::from(self.free.slots) } else { 0 };
        let first = self.free.first + passed + (idle * all).saturating_sub(constant);
        self.frame = frame;
        let constant = self.constant_before(frame + 1) - self.constant_before(frame);
        let place = u32::try_from(constant).unwrap_or(u32::MAX).saturating_add(requested);
        let slots = self.settings.slots().saturating_sub(place);
        self.free = Turns { members: self.free_members.max(1), first, place, slots };
    }

    /// The slots of this frame that a terminal has without requests.
    fn unrequested(&self, number: TerminalId) -> Vec<(u32, Kind)> {
        let terminal = &self.terminals[number as usize];
        let mut place = 0;
        let mut slots = Vec::new();
        for group in 0..=terminal.group {
            let turns = self.constant(group, place);
            place += turns.slots;
            if group == terminal.group {
                slots.extend(turns.of(terminal.member).map(|slot| (slot, Kind::Constant)));
            }
        }
        if self.settings.groups[terminal.group].free {
            slots.extend(self.free.of(terminal.free_member).map(|slot| (slot, Kind::Free)));
        }
        slots
    }

    /// Enters the next burst of a terminal, if it has something to send.
    fn plan(&mut self, now: Time, number: TerminalId) {
        let start = Time::ZERO + self.settings.frame.times(self.frame);
        let terminal = &mut self.terminals[number as usize];
        let Some(active) = &mut terminal.active else { return };
        if active.is_planned || terminal.lines.is_empty() {
            return;
        }
        while let Some(&(slot, _)) = active.slots.last() {
            let at = start + self.slot.times(slot.into());
            if at >= now {
                active.is_planned = true;
                self.bursts.push(Reverse((at, number)));
                return;
            }
            active.slots.pop();
        }
    }

    /// When something happens next; [`Time::NEVER`] if nothing does.
    pub fn next_event(&self) -> Time {
        let arrival = self.on_air.front().map_or(Time::NEVER, |(at, _)| *at);
        arrival.min(self.next_burst()).min(self.next_frame).min(self.next_release())
    }

    fn next_release(&self) -> Time {
        self.held.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    fn next_burst(&self) -> Time {
        self.bursts.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// Lets the next thing happen. Returns a packet if one has arrived.
    pub fn advance(&mut self) -> Option<Arrived<P>> {
        let next = self.next_event();
        if next == Time::NEVER {
            return None;
        }
        if self.next_release() == next {
            let Reverse((_, number)) = self.held.pop()?;
            self.release(next, number);
            return None;
        }
        if self.next_frame == next {
            self.start_frame(next);
            return None;
        }
        if self.next_burst() == next {
            let Reverse((_, number)) = self.bursts.pop()?;
            self.send(next, number);
            return None;
        }
        let (at, waiting) = self.on_air.pop_front()?;
        Some(waiting.arrived(at))
    }

    /// A frame starts: requests are made, and slots assigned.
    fn start_frame(&mut self, now: Time) {
        let frame = now.since(Time::ZERO).as_nanos() / self.settings.frame.as_nanos();
        self.receive_random(now, frame);
        let mut numbers = std::mem::take(&mut self.active);
        for &number in &numbers {
            self.request(now, frame, number);
        }
        numbers.retain(|&number| {
            let terminal = &mut self.terminals[number as usize];
            let rests = terminal.active.as_ref().is_some_and(|active| active.is_at_rest());
            let stays = !rests || !terminal.lines.is_empty();
            if !stays {
                terminal.active = None;
            }
            stays
        });
        self.active = numbers;
        self.assign(frame);
        self.send_random(frame);
        let length = self.settings.frame;
        self.next_frame = if self.active.is_empty() { Time::NEVER } else { now + length };
    }

    /// A terminal makes its request, if it is due, and those made earlier reach the NCC.
    fn request(&mut self, now: Time, frame: u64, number: TerminalId) {
        let terminal = &mut self.terminals[number as usize];
        let Some(active) = &mut terminal.active else { return };
        let group = &self.settings.groups[terminal.group];
        if let Some(policy) = &group.policy {
            let every = policy.period.as_nanos().div_ceil(self.settings.frame.as_nanos()).max(1);
            let has_slot = !group.access || active.is_assigned || active.has_given_up();
            if has_slot && (frame + terminal.member).is_multiple_of(every) {
                self.make_request(now, frame, number);
            }
        }
        if let Some(active) = &mut self.terminals[number as usize].active {
            active.loops.iter_mut().for_each(|one| one.take_effect(frame));
        }
    }

    /// A terminal requests capacity for what waits, class by class.
    fn make_request(&mut self, now: Time, frame: u64, number: TerminalId) {
        let settings = &self.settings;
        let terminal = &mut self.terminals[number as usize];
        let group = &settings.groups[terminal.group];
        let (Some(active), Some(policy)) = (&mut terminal.active, &group.policy) else { return };
        let mut left = Left::of(policy, settings, group);
        for (class, one) in active.loops.iter_mut().enumerate() {
            let queue = terminal.lines.queue(class);
            let made = one.request(now, frame, settings, (group, policy), queue, &mut left);
            self.counters.requests += u64::from(made);
        }
    }

    /// Assigns the slots of a frame.
    fn assign(&mut self, frame: u64) {
        let most = self.slots_of_carrier;
        let constant = self.constant_before(frame + 1) - self.constant_before(frame);
        let mut left = self.settings.slots();
        left -= u32::try_from(constant).unwrap_or(u32::MAX).min(left);
        let first = self.settings.slots() - left;
        let turn = usize::try_from(frame).unwrap_or(0);
        let Self { terminals, settings, active, .. } = self;
        let assigned = assignment::assign(settings, terminals, active, (left, most), turn);
        let by_rate = assigned.iter().map(|one| one.rate).sum::<u32>();
        let by_volume = assigned.iter().map(|one| one.volume).sum::<u32>();
        self.counters.rate += u64::from(by_rate);
        self.counters.volume += u64::from(by_volume);
        self.begin(frame, by_rate + by_volume);
        let (mut place, number) = (first, self.active.len());
        for step in 0..number {
            let position = (turn + step) % number;
            let terminal = self.active[position];
            let mut slots = self.unrequested(terminal);
            let Assigned { rate, volume } = assigned[position];
            slots.extend((place..place + rate).map(|slot| (slot, Kind::Rate)));
            slots.extend((place + rate..place + rate + volume).map(|slot| (slot, Kind::Volume)));
            place += rate + volume;
            if let Some(active) = &mut self.terminals[terminal as usize].active {
                active.slots = slots;
                active.arrange(most);
            }
        }
        let start = Time::ZERO + self.settings.frame.times(frame);
        for position in 0..number {
            self.plan(start, self.active[position]);
        }
    }

    /// A terminal sends a burst that starts now.
    fn send(&mut self, now: Time, number: TerminalId) {
        let Some(active) = &mut self.terminals[number as usize].active else { return };
        active.is_planned = false;
        let Some((_, kind)) = active.slots.pop() else { return };
        if self.fill(now + self.slot, number) {
            let counters = &mut self.counters;
            *match kind {
                Kind::Constant => &mut counters.constant_used,
                Kind::Rate => &mut counters.rate_used,
                Kind::Volume => &mut counters.volume_used,
                Kind::Free => &mut counters.free_used,
            } += 1;
        }
        self.plan(now, number);
    }

    /// Fills a burst that ends at `end` with packets of a terminal. Returns false for an empty one.
    fn fill(&mut self, end: Time, number: TerminalId) -> bool {
        let terminal = &mut self.terminals[number as usize];
        let group = &self.settings.groups[terminal.group];
        let mut room = group.waveform.payload - rle::BURST;
        let mut has_sent = false;
        while let Some((class, first, sent)) = terminal.lines.next(&self.settings.classes)
            && let Some(piece) = rle::piece(first, sent, room)
        {
            has_sent = true;
            room -= piece.used;
            if let Some(waiting) = terminal.lines.send(class, piece) {
                let delay = end.since(waiting.since);
                terminal.counters.sent(&waiting, delay);
                let place = terminal.group * self.settings.classes.len() + class;
                self.delays[place].record(delay, waiting.packets);
                // Random access is decoded at the end of a frame, when later ends may be known.
                let at = end + self.settings.delay;
                let place = self.on_air.partition_point(|(other, _)| *other <= at);
                self.on_air.insert(place, (at, waiting));
            } else {
                break;
            }
        }
        has_sent
    }

    /// Settings of the channel.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Slots by category until `now`.
    pub fn slots(&self, now: Time) -> SlotCounters {
        let frames = now.since(Time::ZERO).as_nanos() / self.settings.frame.as_nanos();
        SlotCounters {
            all: frames * u64::from(self.settings.slots()),
            constant: self.constant_before(frames),
            ..self.counters
        }
    }

    /// Totals of the terminals.
    pub fn counters(&self) -> impl ExactSizeIterator<Item = &TerminalCounters> {
        self.terminals.iter().map(|terminal| &terminal.counters)
    }

    /// Delays of packets by group and class.
    pub fn delays(&self) -> &[Delays] {
        &self.delays
    }
}

#[cfg(test)]
mod tests;
