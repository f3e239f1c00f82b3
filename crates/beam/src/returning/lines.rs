//! The packets of a terminal that wait: for the tokens of its plan, and then for slots, by class.

use std::collections::VecDeque;

use units::{Time, shrink_if_empty};

use super::active::Queue;
use super::filter::{Filter, Filtered};
use super::rle::{self, Piece};
use crate::classes::{ClassTurns, Classes};
use crate::packet::Waiting;
use crate::plan::Meter;

/// The packets of a class.
#[derive(Clone, Debug)]
struct Line<P> {
    packets: VecDeque<Waiting<P>>,
    /// Bytes, with the headers inside of trains.
    bytes: u64,
    /// Bytes of the first packet that are sent.
    sent: u32,
}

/// Packets that wait for tokens.
#[derive(Clone, Debug)]
struct Held<P> {
    meter: Meter,
    /// By class, and their bytes.
    packets: Vec<(VecDeque<Waiting<P>>, u64)>,
    /// When the tokens are counted next.
    wake: Time,
}

impl<P> Held<P> {
    /// Tokens must be counted at `ready`. Returns that time if it is new.
    fn schedule(&mut self, ready: Time) -> Option<Time> {
        (ready < self.wake).then(|| {
            self.wake = ready;
            ready
        })
    }
}

/// All packets of a terminal.
#[derive(Clone, Debug)]
pub(super) struct Lines<P> {
    first: Line<P>,
    /// Lines of the classes after the first.
    others: Vec<Line<P>>,
    turns: ClassTurns,
    held: Option<Box<Held<P>>>,
    filter: Option<Box<Filtered<P>>>,
}

impl<P> Default for Line<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), bytes: 0, sent: 0 }
    }
}

impl<P> Lines<P> {
    pub fn new(classes: usize, meter: Option<Meter>) -> Self {
        let empty = || (VecDeque::new(), 0);
        let packets = || (0..classes).map(|_| empty()).collect();
        let held = |meter| Held { meter, packets: packets(), wake: Time::NEVER };
        Self {
            first: Line::default(),
            others: (1..classes).map(|_| Line::default()).collect(),
            turns: ClassTurns::default(),
            held: meter.map(|meter| Box::new(held(meter))),
            filter: None,
        }
    }

    pub fn set_filter(&mut self, filter: Box<dyn Filter<P>>) {
        self.filter = Some(Box::new(Filtered::new(filter)));
    }

    pub fn filter(&self) -> Option<&Filtered<P>> {
        self.filter.as_deref()
    }

    /// A packet is about to join: the filter takes those out that it replaces.
    pub fn filter_out(&mut self, waiting: &mut Waiting<P>) {
        let Self { first, others, held, filter, .. } = self;
        let Some(filter) = filter else { return };
        let class = usize::from(waiting.class);
        let line = if class == 0 { first } else { &mut others[class - 1] };
        let mut gone = [0, 0];
        let held = held.as_mut().map(|held| &mut held.packets[class]);
        let (held, held_bytes) = held.map(|(packets, bytes)| (packets, bytes)).unzip();
        filter.join(waiting, [Some(&mut line.packets), held], |place, one| {
            gone[place] += match place {
                0 => u64::from(one.with_headers(rle::WHOLE)),
                _ => u64::from(one.bytes),
            };
        });
        line.bytes -= gone[0];
        if let Some(bytes) = held_bytes {
            *bytes -= gone[1];
        }
    }

    /// A packet that has been filtered is dropped.
    pub fn forget(&mut self, waiting: &Waiting<P>) {
        if let Some(filter) = &mut self.filter {
            filter.leave(waiting);
        }
    }

    fn line(&mut self, class: usize) -> &mut Line<P> {
        if class == 0 { &mut self.first } else { &mut self.others[class - 1] }
    }

    fn all(&self) -> impl Iterator<Item = &Line<P>> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Returns true if no packet waits for slots.
    pub fn is_empty(&self) -> bool {
        self.all().all(|line| line.packets.is_empty())
    }

    /// Returns true if a packet finds room among those of its class.
    pub fn has_room(&mut self, class: u8, bytes: u32, buffer: u64) -> bool {
        let class = usize::from(class);
        let held = self.held.as_ref().map_or(0, |held| held.packets[class].1);
        self.line(class).bytes + held + u64::from(bytes) <= buffer
    }

    /// A packet that comes goes on, or waits for the tokens of the plan. In this case, the time at
    /// which [`release`](Self::release) is due, if it is a new one.
    pub fn hold(&mut self, now: Time, waiting: Waiting<P>) -> Result<Waiting<P>, Option<Time>> {
        let Some(held) = &mut self.held else { return Ok(waiting) };
        // Packets of later classes give way.
        let is_first = held.packets[..=usize::from(waiting.class)].iter().all(|one| one.1 == 0);
        let ready = if is_first { held.meter.ready_at(now, waiting.bytes) } else { Time::NEVER };
        if ready <= now {
            held.meter.take(now, waiting.bytes);
            return Ok(waiting);
        }
        let (packets, bytes) = &mut held.packets[usize::from(waiting.class)];
        *bytes += u64::from(waiting.bytes);
        packets.push_back(waiting);
        Err(held.schedule(ready))
    }

    /// The next packet that the plan lets pass at `now`, or when the next release is due. `None` if
    /// no packet waits, or if another time is due.
    pub fn release(&mut self, now: Time) -> Option<Result<Waiting<P>, Time>> {
        let held = self.held.as_mut().filter(|held| held.wake == now)?;
        let Some((packets, bytes)) =
            held.packets.iter_mut().find(|(packets, _)| !packets.is_empty())
        else {
            held.wake = Time::NEVER;
            return None;
        };
        let length = packets.front()?.bytes;
        let ready = held.meter.ready_at(now, length);
        if ready > now {
            held.wake = ready;
            return Some(Err(ready));
        }
        held.meter.take(now, length);
        *bytes -= u64::from(length);
        let released = packets.pop_front();
        shrink_if_empty(packets);
        released.map(Ok)
    }

    /// Puts a packet into the queue of its class.
    pub fn push(&mut self, waiting: Waiting<P>) {
        let class = usize::from(waiting.class);
        let line = self.line(class);
        line.bytes += u64::from(waiting.with_headers(rle::WHOLE));
        line.packets.push_back(waiting);
        if line.packets.len() == 1 {
            self.keep_first(class);
        }
    }

    /// The first packet of a class is no longer one that another may replace.
    fn keep_first(&mut self, class: usize) {
        let Self { first, others, filter, .. } = self;
        let Some(filter) = filter else { return };
        let line = if class == 0 { first } else { &mut others[class - 1] };
        if let Some(waiting) = line.packets.front() {
            filter.leave(waiting);
        }
    }

    /// The class whose turn it is, the bytes of its first packet or train, and how many of them are
    /// sent.
    pub fn next(&mut self, classes: &Classes) -> Option<(usize, u32, u32)> {
        let class = if self.others.is_empty() {
            0
        } else {
            let Self { first, others, turns, .. } = self;
            let has = |class: usize| {
                let line = if class == 0 { &*first } else { &others[class - 1] };
                !line.packets.is_empty()
            };
            turns.next(classes, has)?
        };
        let line = self.line(class);
        Some((class, line.packets.front()?.with_headers(rle::WHOLE), line.sent))
    }

    /// A piece of the first packet of a class is sent. Returns the packet if it was the last one.
    pub fn send(&mut self, class: usize, piece: Piece) -> Option<Waiting<P>> {
        self.turns.spend(class, f64::from(piece.used));
        let line = self.line(class);
        line.sent += piece.bytes;
        if !piece.is_last {
            return None;
        }
        line.sent = 0;
        let waiting = line.packets.pop_front()?;
        line.bytes -= u64::from(waiting.with_headers(rle::WHOLE));
        shrink_if_empty(&mut line.packets);
        self.keep_first(class);
        Some(waiting)
    }

    /// Drops the next packet. Returns false if none waits.
    pub fn give_up(&mut self, classes: &Classes) -> bool {
        let Some((class, ..)) = self.next(classes) else { return false };
        let line = self.line(class);
        let dropped = line.packets.pop_front();
        line.sent = 0;
        line.bytes -= dropped.as_ref().map_or(0, |one| u64::from(one.with_headers(rle::WHOLE)));
        self.keep_first(class);
        dropped.is_some()
    }

    /// The packets of a class that wait for slots.
    pub fn queue(&mut self, class: usize) -> Queue<impl Iterator<Item = u32>> {
        let line = self.line(class);
        Queue {
            packets: line.packets.len(),
            bytes: line.bytes - u64::from(line.sent),
            lengths: line.packets.iter().map(|waiting| waiting.with_headers(rle::WHOLE)),
            sent: line.sent,
        }
    }
}
