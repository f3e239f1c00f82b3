//! The order in which packets for the terminals go on the carrier.
//!
//! Classes come in the order of [`Classes`]; inside a class, packets leave in the order of their
//! arrival, or terminals take turns. A terminal whose plan has no tokens for its next packet leaves
//! the turns of that class until it has.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use units::Time;

use super::line::{Line, Rules};
use super::{Settings, Terminal};
use crate::classes::{ClassTurns, Classes};
use crate::packet::{TerminalId, Waiting, line_of};

/// Bytes that a terminal may send in its turn, in the measure of [`Share::Bytes`]: a packet of
/// usual length.
const QUANTUM: u32 = 1500;

/// The order of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// One queue for all terminals: packets leave in the order of their arrival.
    Fifo,
    /// Deficit round robin (Shreedhar and Varghese 1995) over the terminals.
    DeficitRoundRobin(Share),
}

/// The good that terminals with packets have in equal shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Bytes: equal rates. A terminal in rain takes airtime from the others.
    Bytes,
    /// Symbols: equal airtime. A terminal in rain has a lower rate.
    Symbols,
}

/// Packets of a class that wait.
#[derive(Clone, Debug)]
enum Class<P> {
    Fifo { packets: VecDeque<Waiting<P>>, bytes: u64 },
    Turns { active: VecDeque<TerminalId>, is_new: bool },
}

/// Packets that wait.
#[derive(Clone, Debug)]
pub(super) struct Queue<P> {
    classes: Vec<Class<P>>,
    order: Classes,
    turns: ClassTurns,
    share: Share,
    quantum: f64,
    rules: Rules,
    /// One for each terminal and class.
    lines: Vec<Line<P>>,
    /// Bytes in lines.
    bytes: u64,
    /// Terminals that wait for tokens, with the class.
    sleeping: BinaryHeap<Reverse<(Time, TerminalId, u8)>>,
}

impl<P> Queue<P> {
    pub fn new(settings: &Settings, terminals: usize, seed: u64) -> Self {
        let share = match settings.scheduler {
            Scheduler::Fifo => Share::Bytes,
            Scheduler::DeficitRoundRobin(share) => share,
        };
        // In symbols: those of the most robust frame, so that each turn has a packet.
        let most = settings.frames.iter().enumerate();
        let most = most.map(|(modcod, _)| super::frame_symbols(settings, modcod, QUANTUM));
        let quantum = match share {
            Share::Bytes => f64::from(QUANTUM),
            Share::Symbols => most.fold(0.0, f64::max),
        };
        let number = settings.classes.len();
        let class = |_| match settings.scheduler {
            Scheduler::Fifo => Class::Fifo { packets: VecDeque::new(), bytes: 0 },
            Scheduler::DeficitRoundRobin(_) => {
                Class::Turns { active: VecDeque::new(), is_new: true }
            }
        };
        let lines = if settings.scheduler == Scheduler::Fifo { 0 } else { terminals * number };
        Self {
            classes: (0..number).map(class).collect(),
            order: settings.classes.clone(),
            turns: ClassTurns::default(),
            share,
            quantum,
            rules: Rules { buffer: settings.buffer, aqm: settings.aqm, seed },
            lines: (0..lines).map(|_| Line::default()).collect(),
            bytes: 0,
            sleeping: BinaryHeap::new(),
        }
    }

    /// A packet joins. Returns false if there is no room.
    pub fn push(&mut self, terminals: &mut [Terminal], waiting: Waiting<P>) -> bool {
        let (terminal, class) = (waiting.terminal, waiting.class);
        let size = u64::from(waiting.bytes);
        let number = line_of(terminal, class, self.classes.len());
        match &mut self.classes[usize::from(class)] {
            Class::Fifo { packets, bytes } => {
                if *bytes + size > self.rules.buffer {
                    return false;
                }
                *bytes += size;
                packets.push_back(waiting);
            }
            Class::Turns { active, .. } => {
                let line = &mut self.lines[number];
                let counters = &mut terminals[terminal as usize].counters;
                let before = line.bytes();
                if !line.push(waiting, (number, self.rules), counters) {
                    return false;
                }
                self.bytes = self.bytes + line.bytes() - before;
                if !std::mem::replace(&mut line.is_listed, true) {
                    active.push_back(terminal);
                }
            }
        }
        true
    }

    /// Bytes that find room among those of a terminal's class.
    pub fn room(&self, terminal: TerminalId, class: u8) -> u64 {
        let waiting = match &self.classes[usize::from(class)] {
            Class::Fifo { bytes, .. } => *bytes,
            Class::Turns { .. } => self.lines[line_of(terminal, class, self.classes.len())].bytes(),
        };
        self.rules.buffer.saturating_sub(waiting)
    }

    /// The next packet. `symbols` is the cost of a packet of terminals with a signal in symbols.
    pub fn pop(
        &mut self,
        now: Time,
        terminals: &mut [Terminal],
        mut symbols: impl FnMut(usize, u32) -> f64,
    ) -> Option<Waiting<P>> {
        if self.classes.len() == 1 {
            return self.pop_of(0, now, terminals, &mut symbols).map(|(waiting, _)| waiting);
        }
        loop {
            let Self { turns, order, classes, .. } = self;
            let class = turns.next(order, |class| classes[class].has_next())?;
            // All of its terminals may lack tokens.
            if let Some((waiting, cost)) = self.pop_of(class, now, terminals, &mut symbols) {
                self.turns.spend(class, cost);
                return Some(waiting);
            }
        }
    }

    /// The next packet of a class, and its cost.
    fn pop_of(
        &mut self,
        class: usize,
        now: Time,
        terminals: &mut [Terminal],
        symbols: &mut impl FnMut(usize, u32) -> f64,
    ) -> Option<(Waiting<P>, f64)> {
        let number = self.classes.len();
        let (active, is_new) = match &mut self.classes[class] {
            Class::Fifo { packets, bytes } => {
                let waiting = packets.pop_front()?;
                *bytes -= u64::from(waiting.bytes);
                let cost = f64::from(waiting.bytes);
                return Some((waiting, cost));
            }
            Class::Turns { active, is_new } => (active, is_new),
        };
        loop {
            let first = *active.front()?;
            let line = &mut self.lines[first as usize * number + class];
            let terminal = &mut terminals[first as usize];
            let before = line.bytes();
            let next = line.next_bytes(now, &mut terminal.counters);
            self.bytes = self.bytes + line.bytes() - before;
            let Some(bytes) = next else {
                (line.deficit, line.is_listed) = (0.0, false);
                active.pop_front();
                *is_new = true;
                continue;
            };
            if std::mem::take(is_new) {
                line.deficit += self.quantum;
            }
            let cost = match self.share {
                Share::Bytes => f64::from(bytes),
                Share::Symbols => symbols(terminal.member.signal, bytes),
            };
            if cost > line.deficit {
                active.rotate_left(1);
                *is_new = true;
                continue;
            }
            if let Some(meter) = &mut terminal.meter {
                let ready = meter.ready_at(now, bytes);
                if ready > now {
                    line.deficit = 0.0;
                    active.pop_front();
                    *is_new = true;
                    let class = u8::try_from(class).unwrap_or(u8::MAX);
                    self.sleeping.push(Reverse((ready, first, class)));
                    continue;
                }
                meter.take(now, bytes);
            }
            let waiting = line.pop()?;
            self.bytes -= u64::from(bytes);
            line.deficit -= cost;
            if line.bytes() == 0 {
                (line.deficit, line.is_listed) = (0.0, false);
                active.pop_front();
                *is_new = true;
            }
            return Some((waiting, cost));
        }
    }

    /// When a terminal has tokens again; [`Time::NEVER`] if none waits for them.
    pub fn next_wake(&self) -> Time {
        self.sleeping.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    /// Terminals that have tokens at `now` take turns again.
    pub fn wake(&mut self, now: Time) {
        while let Some(&Reverse((at, terminal, class))) = self.sleeping.peek()
            && at <= now
        {
            self.sleeping.pop();
            if let Class::Turns { active, .. } = &mut self.classes[usize::from(class)] {
                active.push_back(terminal);
            }
        }
    }

    /// Returns true if a packet waits whose terminal has not been found without tokens.
    pub fn has_next(&self) -> bool {
        self.classes.iter().any(Class::has_next)
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        let fifos = self.classes.iter().map(|class| match class {
            Class::Fifo { bytes, .. } => *bytes,
            Class::Turns { .. } => 0,
        });
        self.bytes + fifos.sum::<u64>()
    }
}

impl<P> Class<P> {
    fn has_next(&self) -> bool {
        match self {
            Self::Fifo { packets, .. } => !packets.is_empty(),
            Self::Turns { active, .. } => !active.is_empty(),
        }
    }
}
