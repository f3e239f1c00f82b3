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
mod random;
pub mod requests;
pub mod rle;
mod rotation;
pub mod waveforms;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand_xoshiro::Xoshiro256PlusPlus;
use units::{Span, Time};

use crate::access;
use crate::packet::{Arrived, Delays, TerminalCounters, TerminalId, Waiting};
use active::{Active, Kind, Loop};
use allocator::max_min;
use random::Random;
use requests::Policy;
use rotation::Turns;
use waveforms::{BurstLength, Waveform};

/// Settings of a return channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Length of a frame.
    pub frame: Span,
    /// Number of carriers.
    pub carriers: u32,
    /// Symbols per second of each carrier.
    pub symbol_rate: f64,
    /// Length of the bursts.
    pub bursts: BurstLength,
    /// Propagation from the terminals to the gateway.
    pub delay: Span,
    /// Time from a request to the earliest start of a frame with its slots.
    pub control_delay: Span,
    /// The channel for random access; `None` without one.
    pub access: Option<access::Settings>,
    /// Groups of terminals.
    pub groups: Vec<Group>,
}

/// Settings of a group of terminals.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its waveform.
    pub waveform: Waveform,
    /// Rate of constant assignment of each terminal in bit/s.
    pub constant: u64,
    /// How its terminals request capacity; `None` if they do not.
    pub policy: Option<Policy>,
    /// Its terminals have a part of the free capacity.
    pub free: bool,
    /// Its terminals send at random where they have no slots.
    pub access: bool,
    /// Weight of its rates in a shortage.
    pub weight: u32,
    /// Bytes that wait at a terminal.
    pub buffer: u64,
}

impl Settings {
    /// Slots of a carrier in a frame.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates where nothing fits in memory"
    )]
    pub fn slots_of_carrier(&self) -> u32 {
        // A frame of whole slots is not one slot shorter because its length is rounded.
        let slots = self.frame.as_secs_f64() * self.symbol_rate / f64::from(self.bursts.symbols());
        (slots + 1e-6).floor() as u32
    }

    /// Slots of all carriers in a frame.
    pub fn slots(&self) -> u32 {
        self.slots_of_carrier().saturating_mul(self.carriers)
    }

    /// How long a slot takes.
    pub fn slot(&self) -> Span {
        Span::from_secs_f64(f64::from(self.bursts.symbols()) / self.symbol_rate)
    }

    /// Frames from that of a request to that of its slots.
    pub fn loop_frames(&self) -> u64 {
        self.control_delay.as_nanos().div_ceil(self.frame.as_nanos())
    }

    /// Slots of a frame that carry `rate` bit/s of long packets of a group.
    pub fn slots_of_rate(&self, rate: f64, group: &Group) -> f64 {
        rate * self.frame.as_secs_f64() / f64::from(8 * group.waveform.net_bytes())
    }

    /// How long a packet of `bytes` waits and is sent, in seconds, that finds everything idle: the
    /// mean over its place in a frame. `free_members` terminals share the free capacity.
    ///
    /// With free capacity, half a frame, or half of the frames until the turn of the terminal; on
    /// request, half a period and the frames of the control loop. At random without a collision,
    /// half a frame and the frame of the burst.
    pub fn lone_delay(&self, group: &Group, free_members: u64, bytes: u32) -> f64 {
        let frame = self.frame.as_secs_f64();
        let bursts = f64::from(rle::bursts(group.waveform.payload, [bytes], 0));
        let sending = bursts * self.slot().as_secs_f64();
        let constant = self.slots_of_rate(group.constant as f64, group);
        // Frames from one slot without requests to the next.
        let turn = |slots: f64| if slots > 0.0 { (1.0 / slots).max(1.0) } else { f64::INFINITY };
        let free =
            if group.free { f64::from(self.slots()) / free_members.max(1) as f64 } else { 0.0 };
        let unrequested = turn(constant.max(free));
        let waits = frame * unrequested / 2.0;
        let rest = if constant.max(free) >= 1.0 {
            sending
        } else {
            sending + (bursts - 1.0) * frame * unrequested
        };
        let random = self.access.filter(|_| group.access);
        let requested = group.policy.map_or(f64::INFINITY, |policy| {
            let period = policy.period.max(self.frame).as_secs_f64();
            // A burst at random is sent in the next frame, and decoded at its end.
            let until_there = if random.is_some() { 1.5 * frame } else { period / 2.0 };
            until_there + self.loop_frames() as f64 * frame + sending
        });
        let fits = random.is_some_and(|access| access.packets && bursts <= 1.0);
        let at_random = if fits { 1.5 * frame } else { f64::INFINITY };
        (waits + rest).min(requested).min(at_random)
    }

    /// Slots of constant assignment that all `members` of a group have before frame number `frame`.
    fn constant_before(&self, group: &Group, members: u64, frame: u64) -> u64 {
        let rate = u128::from(group.constant) * u128::from(members);
        let bit_nanos = rate * u128::from(self.frame.as_nanos()) * u128::from(frame);
        let slots = bit_nanos / (8_000_000_000 * u128::from(group.waveform.net_bytes()));
        u64::try_from(slots).unwrap_or(u64::MAX)
    }
}

/// Slots by category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCounters {
    /// Slots of all carriers.
    pub all: u64,
    /// Slots of constant assignment.
    pub constant: u64,
    /// Those of them that carried something.
    pub constant_used: u64,
    /// Slots on request, by rate.
    pub rate: u64,
    /// Those of them that carried something.
    pub rate_used: u64,
    /// Slots on request, by volume.
    pub volume: u64,
    /// Those of them that carried something.
    pub volume_used: u64,
    /// Slots of free capacity that carried something.
    pub free_used: u64,
    /// Requests.
    pub requests: u64,
    /// Packets at random access, all replicas of one counted once.
    pub random: u64,
    /// Those of them that the gateway decoded.
    pub random_decoded: u64,
    /// Times that a terminal gave up.
    pub random_given_up: u64,
}

/// A terminal.
#[derive(Clone, Debug)]
struct Terminal<P> {
    group: usize,
    /// Its number in its group, and among those with free capacity.
    member: u64,
    free_member: u64,
    queue: VecDeque<Waiting<P>>,
    bytes: u64,
    /// Bytes of the first packet that are sent.
    sent: u32,
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
    random: Option<Random>,
    counters: SlotCounters,
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
            let (queue, counters) = (VecDeque::new(), TerminalCounters::default());
            Terminal {
                group,
                member,
                free_member,
                queue,
                bytes: 0,
                sent: 0,
                active: None,
                counters,
            }
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
            random: settings.access.map(|access| Random::new(access, &settings, random)),
            counters: SlotCounters::default(),
            delays: settings.groups.iter().map(|_| Delays::default()).collect(),
            members: sizes,
            free_members,
            settings,
        };
        channel.begin(0, 0);
        channel
    }

    /// A packet of `bytes` joins the queue of a terminal. It is dropped if the queue is full.
    pub fn offer(&mut self, now: Time, number: TerminalId, bytes: u32, packet: P) {
        let terminal = &mut self.terminals[number as usize];
        if terminal.bytes + u64::from(bytes) > self.settings.groups[terminal.group].buffer {
            terminal.counters.dropped += 1;
            return;
        }
        terminal.bytes += u64::from(bytes);
        terminal.queue.push_back(Waiting { terminal: number, bytes, since: now, packet });
        if terminal.active.is_none() {
            self.activate(now, number);
        }
        let terminal = &mut self.terminals[number as usize];
        let Some(active) = &mut terminal.active else { return };
        active.memory.arrive(f64::from(8 * (bytes + rle::WHOLE)));
        self.plan(now, number);
    }

    /// A terminal has a packet that had none before.
    fn activate(&mut self, now: Time, number: TerminalId) {
        let length = self.settings.frame;
        let since_start = now.since(Time::ZERO);
        let boundary = Time::ZERO + since_start.round_up_to(length);
        self.next_frame = self.next_frame.min(boundary);
        self.active.push(number);
        self.terminals[number as usize].active = Some(Box::default());
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
        if active.is_planned || terminal.queue.is_empty() {
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
        arrival.min(self.next_burst()).min(self.next_frame)
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
        if self.next_frame == next {
            self.start_frame(next);
            return None;
        }
        if self.next_burst() == next {
            let Reverse((_, number)) = self.bursts.pop()?;
            self.send(next, number);
            return None;
        }
        let (at, Waiting { terminal, packet, .. }) = self.on_air.pop_front()?;
        Some(Arrived { at, terminal, packet })
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
            let stays = !rests || !terminal.queue.is_empty();
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
            active.take_effect(frame);
        }
    }

    /// A terminal requests capacity for what waits.
    fn make_request(&mut self, now: Time, frame: u64, number: TerminalId) {
        let settings = &self.settings;
        let terminal = &mut self.terminals[number as usize];
        let group = &settings.groups[terminal.group];
        let (Some(active), Some(policy)) = (&mut terminal.active, &group.policy) else { return };
        let queue = Loop {
            packets: terminal.queue.len(),
            bytes: terminal.bytes - u64::from(terminal.sent),
            lengths: terminal.queue.iter().map(|waiting| waiting.bytes),
            sent: terminal.sent,
        };
        let made = active.request(now, frame, settings, group, policy, queue);
        self.counters.requests += u64::from(made);
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
        let mut demands = |of: &mut dyn FnMut(&mut Active, usize) -> u32| -> Vec<(u32, u32)> {
            let demand = |(place, number): (usize, &TerminalId)| {
                let terminal = &mut terminals[*number as usize];
                let weight = settings.groups[terminal.group].weight;
                (terminal.active.as_mut().map_or(0, |active| of(active, place)), weight)
            };
            active.iter().enumerate().map(demand).collect()
        };
        let by_rate = max_min(&demands(&mut |active, _| active.rate.min(most)), left, turn);
        left -= by_rate.iter().sum::<u32>();
        let wanted = demands(&mut |active, place| active.volume.min(most - by_rate[place]));
        let by_volume = max_min(&wanted, left, turn);
        let requested = by_rate.iter().chain(&by_volume).sum::<u32>();
        self.counters.rate += by_rate.iter().map(|slots| u64::from(*slots)).sum::<u64>();
        self.counters.volume += by_volume.iter().map(|slots| u64::from(*slots)).sum::<u64>();
        self.begin(frame, requested);
        let (mut place, number) = (first, self.active.len());
        for step in 0..number {
            let position = (turn + step) % number;
            let terminal = self.active[position];
            let mut slots = self.unrequested(terminal);
            let (rate, volume) = (by_rate[position], by_volume[position]);
            slots.extend((place..place + rate).map(|slot| (slot, Kind::Rate)));
            slots.extend((place + rate..place + rate + volume).map(|slot| (slot, Kind::Volume)));
            place += rate + volume;
            if let Some(active) = &mut self.terminals[terminal as usize].active {
                active.volume -= volume;
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
        while let Some(first) = terminal.queue.front()
            && let Some(piece) = rle::piece(first.bytes, terminal.sent, room)
        {
            has_sent = true;
            room -= piece.used;
            terminal.sent += piece.bytes;
            if !piece.is_last {
                break;
            }
            terminal.sent = 0;
            if let Some(waiting) = terminal.queue.pop_front() {
                terminal.bytes -= u64::from(waiting.bytes);
                let delay = end.since(waiting.since);
                terminal.counters.sent(waiting.bytes, delay);
                self.delays[terminal.group].record(delay);
                self.on_air.push_back((end + self.settings.delay, waiting));
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

    /// Delays of packets by group.
    pub fn delays(&self) -> &[Delays] {
        &self.delays
    }
}

#[cfg(test)]
mod tests;
