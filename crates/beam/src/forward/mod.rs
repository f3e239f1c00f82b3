//! The forward carrier of a beam: one gateway sends frames of DVB-S2 to many terminals.
//!
//! A packet waits in the queue of its terminal, or in one queue for all. When the carrier is free,
//! the [scheduler](Scheduler) takes packets out. Each goes into the open frame of the modulation
//! and code that its terminal has at that moment, so a byte to a terminal in rain takes more
//! symbols.
//!
//! A frame is sent when it is full, when its first packet has waited for the hold time, or when the
//! carrier would be idle otherwise. A packet that does not fit is continued in the next frame of
//! its modulation and code.
//!
//! Decisions:
//! - An idle carrier sends dummy frames, as carriers of DVB-S2 do. The next frame starts at the end
//!   of a dummy frame.
//! - The choice of a modulation and code is that of the terminal's signal ([`link::Acm`]), which
//!   terminals in the same weather share. A packet
//!   is lost if the signal is below the threshold of the choice at the end of its frame.
//! - A frame has packets of one modulation and code only. A terminal with a better signal could
//!   receive frames of a more robust one too, which is left out.

pub mod frames;
pub mod gse;
mod line;
mod open;
mod scheduler;

use std::collections::VecDeque;
use std::sync::Arc;

use link::{Acm, FqCodelSettings};
use units::{Span, Time};

use crate::classes::Classes;
use crate::packet::{Arrived, Delays, Offered, TerminalCounters, TerminalId, Waiting};
use crate::plan::{Meter, Plan};
use frames::{DUMMY_SYMBOLS, Frame};
use gse::Gse;
use open::{Full, Open};
pub use scheduler::{Scheduler, Share};

/// Settings of a forward carrier.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Frames of the modulations and codes, in the order of [`Acm::modcods`].
    pub frames: Vec<Frame>,
    /// Symbols per second.
    pub symbol_rate: f64,
    /// Headers of packets.
    pub gse: Gse,
    /// Packets that do not fit are cut.
    pub fragmentation: bool,
    /// The longest time that a packet waits in an open frame.
    pub hold: Span,
    /// An idle carrier sends dummy frames.
    pub dummy_frames: bool,
    /// Propagation from the gateway to the terminals.
    pub delay: Span,
    /// The order of packets of a class.
    pub scheduler: Scheduler,
    /// Classes of traffic.
    pub classes: Classes,
    /// Bytes of each class that wait: of each terminal, or of all together in one queue.
    pub buffer: u64,
    /// FQ-CoDel of each terminal and class, which the scheduler [`Scheduler::Fifo`]
    /// does not have.
    pub aqm: Option<FqCodelSettings>,
    /// Plan of each group, which the scheduler [`Scheduler::Fifo`] does not have.
    pub plans: Vec<Option<Plan>>,
}

impl Settings {
    /// How long a frame of a modulation and code takes.
    pub fn duration(&self, modcod: usize) -> Span {
        self.span(self.frames[modcod].symbols)
    }

    fn span(&self, symbols: u32) -> Span {
        Span::from_secs_f64(f64::from(symbols) / self.symbol_rate)
    }
}

/// Frames that the carrier has sent with a modulation and code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Airtime {
    /// Frames.
    pub frames: u64,
    /// Symbols of these frames.
    pub symbols: u64,
    /// Bytes of the data fields that carried packets and their headers.
    pub used_bytes: u64,
    /// Bytes of padding.
    pub padding_bytes: u64,
}

/// A terminal's place: its group, and the number of its signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its group.
    pub group: usize,
    /// Its signal.
    pub signal: usize,
}

/// The modulation and code of terminals with the same signal over time.
#[derive(Clone, Debug)]
struct Adaptation {
    acm: Arc<Acm>,
    choice: usize,
    outage: usize,
}

impl Adaptation {
    /// The choice at an instant. Time never goes back.
    fn modcod(&mut self, now: Time) -> usize {
        let choices = self.acm.choices();
        while choices.get(self.choice + 1).is_some_and(|(at, _)| *at <= now) {
            self.choice += 1;
        }
        choices[self.choice].1
    }

    /// Returns true if a frame that ends then is lost. Time never goes back.
    fn is_lost(&mut self, at: Time) -> bool {
        let outages = self.acm.outages();
        while outages.get(self.outage).is_some_and(|(_, end)| *end <= at) {
            self.outage += 1;
        }
        outages.get(self.outage).is_some_and(|(start, _)| *start <= at)
    }
}

/// A terminal as the gateway sees it.
#[derive(Clone, Debug)]
struct Terminal {
    member: Member,
    meter: Option<Box<Meter>>,
    counters: TerminalCounters,
}

/// A forward carrier.
#[derive(Clone, Debug)]
pub struct Forward<P> {
    settings: Settings,
    signals: Vec<Adaptation>,
    terminals: Vec<Terminal>,
    queue: scheduler::Queue<P>,
    /// One for each modulation and code.
    open: Vec<Open<P>>,
    /// The modulations and codes with an open frame, in the order of their first packets.
    opened: Vec<usize>,
    full: VecDeque<Full<P>>,
    /// Lists of packets of frames that were sent.
    spare: Vec<Vec<Waiting<P>>>,
    /// The end of the frame that was sent last.
    free_at: Time,
    /// When the next frame starts.
    next: Time,
    on_air: VecDeque<(Time, Waiting<P>)>,
    airtime: Vec<Airtime>,
    /// By group and class.
    delays: Vec<Delays>,
}

impl<P> Forward<P> {
    /// A carrier to terminals with these signals; `members` has the place of each terminal. `seed`
    /// is that of the hashes of active queue management.
    pub fn new(settings: Settings, signals: &[Arc<Acm>], members: &[Member], seed: u64) -> Self {
        let terminal = |&member: &Member| Terminal {
            member,
            meter: settings.plans[member.group].map(|plan| Box::new(Meter::new(plan))),
            counters: TerminalCounters::default(),
        };
        let adaptation = |acm: &Arc<Acm>| Adaptation { acm: acm.clone(), choice: 0, outage: 0 };
        Self {
            signals: signals.iter().map(adaptation).collect(),
            terminals: members.iter().map(terminal).collect(),
            queue: scheduler::Queue::new(&settings, members.len(), seed),
            open: settings.frames.iter().map(|_| Open::new()).collect(),
            opened: Vec::new(),
            full: VecDeque::new(),
            spare: Vec::new(),
            free_at: Time::ZERO,
            next: Time::NEVER,
            on_air: VecDeque::new(),
            airtime: vec![Airtime::default(); settings.frames.len()],
            delays: vec![Delays::default(); settings.plans.len() * settings.classes.len()],
            settings,
        }
    }

    /// A packet for a terminal. It is dropped if the queue is full.
    pub fn offer(&mut self, now: Time, offered: Offered<P>) {
        let (terminal, packets) = (offered.terminal as usize, offered.packets);
        let waiting = Waiting::new(offered, now);
        if !self.queue.push(&mut self.terminals, waiting) {
            self.terminals[terminal].counters.dropped += u64::from(packets);
        } else if self.next == Time::NEVER {
            self.next = self.start_after(now);
        }
    }

    /// Bytes that find room in the drop-tail queue of a terminal's class.
    pub fn room(&self, terminal: TerminalId, class: u8) -> u64 {
        self.queue.room(terminal, class)
    }

    /// When the next frame can start that is composed at `now`, on a carrier without one.
    fn start_after(&self, now: Time) -> Time {
        if now <= self.free_at {
            return self.free_at;
        }
        match self.settings.dummy_frames {
            true => {
                let dummy = self.settings.span(DUMMY_SYMBOLS);
                self.free_at + now.since(self.free_at).round_up_to(dummy)
            }
            false => now,
        }
    }

    /// When something happens next; [`Time::NEVER`] if nothing does.
    pub fn next_event(&self) -> Time {
        let next = self.next.min(self.queue.next_wake());
        self.on_air.front().map_or(next, |(at, _)| next.min(*at))
    }

    /// Lets the next thing happen. Returns a packet if one has arrived.
    pub fn advance(&mut self) -> Option<Arrived<P>> {
        let arrival = self.on_air.front().map_or(Time::NEVER, |(at, _)| *at);
        let wake = self.queue.next_wake();
        if wake <= self.next.min(arrival) && wake != Time::NEVER {
            self.queue.wake(wake);
            if self.next == Time::NEVER {
                self.next = self.start_after(wake);
            }
            return None;
        }
        if self.next <= arrival {
            if self.next != Time::NEVER {
                self.transmit(self.next);
            }
            return None;
        }
        let (at, waiting) = self.on_air.pop_front()?;
        Some(waiting.arrived(at))
    }

    /// Composes frames until one can be sent.
    fn transmit(&mut self, now: Time) {
        let mut is_drained = false;
        let full = loop {
            if let Some(full) = self.full.pop_front() {
                break Some(full);
            }
            let oldest = self.opened.first().copied();
            let is_late = |modcod: usize| self.open[modcod].since + self.settings.hold <= now;
            if let Some(modcod) = oldest.filter(|modcod| is_drained || is_late(*modcod)) {
                self.opened.remove(0);
                self.full.extend(self.open[modcod].take(modcod, &mut self.spare));
            } else if is_drained {
                break None;
            } else {
                is_drained = !self.fill(now);
            }
        };
        match full {
            Some(full) => self.send(now, full),
            None => self.next = Time::NEVER,
        }
    }

    /// Puts the next packet into the open frame of its modulation and code. Returns false if none
    /// waits.
    fn fill(&mut self, now: Time) -> bool {
        let Self { queue, terminals, signals, settings, .. } = self;
        let cost =
            |signal: usize, bytes| frame_symbols(settings, signals[signal].modcod(now), bytes);
        let Some(waiting) = queue.pop(now, terminals, cost) else { return false };
        let signal = terminals[waiting.terminal as usize].member.signal;
        let modcod = signals[signal].modcod(now);
        let open = &mut self.open[modcod];
        let was_empty = open.is_empty();
        open.put(waiting, (modcod, settings), &mut self.spare, &mut self.full);
        let is_new = was_empty || !self.full.is_empty();
        if is_new {
            // The rest of a packet begins another frame.
            self.opened.retain(|one| *one != modcod);
            if !open.is_empty() {
                open.since = now;
                self.opened.push(modcod);
            }
        }
        true
    }

    /// Sends a frame from `start` on.
    fn send(&mut self, start: Time, mut full: Full<P>) {
        let frame = self.settings.frames[full.modcod];
        let airtime = &mut self.airtime[full.modcod];
        airtime.frames += 1;
        airtime.symbols += u64::from(frame.symbols);
        airtime.used_bytes += u64::from(full.used);
        airtime.padding_bytes += u64::from(frame.bytes - full.used);
        let end = start + self.settings.duration(full.modcod);
        for waiting in full.packets.drain(..) {
            let terminal = &mut self.terminals[waiting.terminal as usize];
            let delay = end.since(waiting.since);
            terminal.counters.sent(&waiting, delay);
            let Member { group, signal } = terminal.member;
            let place = group * self.settings.classes.len() + usize::from(waiting.class);
            self.delays[place].record(delay, waiting.packets);
            if self.signals[signal].is_lost(end) {
                terminal.counters.lost += u64::from(waiting.packets);
            } else {
                self.on_air.push_back((end + self.settings.delay, waiting));
            }
        }
        self.spare.push(full.packets);
        self.free_at = end;
        let has_more = !self.full.is_empty() || !self.opened.is_empty() || self.queue.has_next();
        self.next = if has_more { end } else { Time::NEVER };
    }

    /// Settings of the carrier.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Frames that the carrier has sent, by modulation and code.
    pub fn airtime(&self) -> &[Airtime] {
        &self.airtime
    }

    /// Totals of the terminals.
    pub fn counters(&self) -> impl ExactSizeIterator<Item = &TerminalCounters> {
        self.terminals.iter().map(|terminal| &terminal.counters)
    }

    /// Delays of packets by group and class.
    pub fn delays(&self) -> &[Delays] {
        &self.delays
    }

    /// Bytes that wait.
    pub fn waiting_bytes(&self) -> u64 {
        self.queue.bytes()
    }
}

/// Symbols that a packet of `bytes` takes with a modulation and code.
fn frame_symbols(settings: &Settings, modcod: usize, bytes: u32) -> f64 {
    let frame = settings.frames[modcod];
    f64::from(bytes + settings.gse.whole()) * f64::from(frame.symbols) / f64::from(frame.bytes)
}

#[cfg(test)]
mod tests;
