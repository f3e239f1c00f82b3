//! The packets of a terminal's class that wait at the gateway: first in, first out, or with active
//! queue management.
//!
//! Active queue management chooses the next packet when the scheduler looks at the line. The packet
//! then waits for its turn outside of the queue, which is a turn of the scheduler at most, or for
//! the tokens of a plan.

use std::collections::VecDeque;

use link::{Discipline, Ecn, FqCodelSettings, Priority, Purpose, QueueLimit, Queued, stream};
use units::{Time, shrink_if_empty};

use crate::packet::{TerminalCounters, Waiting};

/// Limits of a line, and its algorithm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Most bytes that wait.
    pub buffer: u64,
    /// FQ-CoDel; `None` for a drop-tail queue.
    pub aqm: Option<FqCodelSettings>,
    /// Seed of its hashes.
    pub seed: u64,
}

/// The line of a terminal's class.
#[derive(Clone, Debug)]
pub(super) struct Line<P> {
    /// All packets, or the next one of a managed line.
    packets: VecDeque<Waiting<P>>,
    managed: Option<Box<Managed<P>>>,
    /// Bytes that wait.
    bytes: u64,
    /// Of deficit round robin.
    pub deficit: f64,
    /// Its terminal has a turn, or waits for tokens.
    pub is_listed: bool,
}

impl<P> Default for Line<P> {
    fn default() -> Self {
        let (packets, managed) = (VecDeque::new(), None);
        Self { packets, managed, bytes: 0, deficit: 0.0, is_listed: false }
    }
}

/// A queue that decides, and the packets whose tickets it has.
#[derive(Clone, Debug)]
struct Managed<P> {
    queue: Box<dyn Discipline>,
    held: Vec<Option<Waiting<P>>>,
    free: Vec<u32>,
    dropped: Vec<u32>,
    marked: u64,
}

impl<P> Managed<P> {
    fn new(aqm: FqCodelSettings, line: usize, rules: Rules) -> Self {
        let random = stream(rules.seed, Purpose::Queue, line as u64);
        let queue = aqm.queue(QueueLimit::Bytes(rules.buffer), random);
        let (held, free) = (Vec::new(), Vec::new());
        Self { queue, held, free, dropped: Vec::new(), marked: 0 }
    }

    fn push(&mut self, waiting: Waiting<P>) {
        let (flow, bytes, ecn, since) = (waiting.flow, waiting.bytes, waiting.ecn, waiting.since);
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.held.push(None);
            u32::try_from(self.held.len() - 1).unwrap_or(u32::MAX)
        });
        self.held[ticket as usize] = Some(waiting);
        let priority = Priority::Normal;
        let queued = Queued { ticket, flow, bytes, unframed: bytes, priority, ecn, since };
        self.queue.enqueue(queued, true, &mut self.dropped);
    }

    fn pop(&mut self, now: Time) -> Option<Waiting<P>> {
        let Queued { ticket, ecn, .. } = self.queue.dequeue(now, &mut self.dropped)?;
        self.free.push(ticket);
        let mut waiting = self.held[ticket as usize].take()?;
        self.marked += u64::from(ecn == Ecn::Marked && waiting.ecn != Ecn::Marked);
        waiting.ecn = ecn;
        Some(waiting)
    }

    /// Forgets the packets that the queue has dropped. Returns their number and bytes.
    fn forget(&mut self) -> (u64, u64) {
        let mut bytes = 0;
        let number = self.dropped.len() as u64;
        for ticket in self.dropped.drain(..) {
            self.free.push(ticket);
            let waiting = self.held[ticket as usize].take();
            bytes += waiting.map_or(0, |waiting| u64::from(waiting.bytes));
        }
        (number, bytes)
    }
}

impl<P> Line<P> {
    /// A packet joins. Returns false if it was dropped because the queue is full; a managed queue
    /// counts its drops itself.
    pub fn push(
        &mut self,
        waiting: Waiting<P>,
        (number, rules): (usize, Rules),
        counters: &mut TerminalCounters,
    ) -> bool {
        let size = u64::from(waiting.bytes);
        if let Some(aqm) = rules.aqm {
            let new = || Box::new(Managed::new(aqm, number, rules));
            let managed = self.managed.get_or_insert_with(new);
            self.bytes += size;
            managed.push(waiting);
            self.settle(counters);
            return true;
        }
        if self.bytes + size > rules.buffer {
            return false;
        }
        self.bytes += size;
        self.packets.push_back(waiting);
        true
    }

    /// Bytes of the next packet; `None` if none waits. A managed queue chooses it now.
    pub fn next_bytes(&mut self, now: Time, counters: &mut TerminalCounters) -> Option<u32> {
        if self.packets.is_empty()
            && let Some(managed) = &mut self.managed
        {
            let chosen = managed.pop(now);
            self.packets.extend(chosen);
            self.settle(counters);
        }
        self.packets.front().map(|waiting| waiting.bytes)
    }

    /// Takes the next packet out.
    pub fn pop(&mut self) -> Option<Waiting<P>> {
        let waiting = self.packets.pop_front()?;
        self.bytes -= u64::from(waiting.bytes);
        shrink_if_empty(&mut self.packets);
        Some(waiting)
    }

    /// Counts what a managed queue has dropped and marked.
    fn settle(&mut self, counters: &mut TerminalCounters) {
        let Some(managed) = &mut self.managed else { return };
        let (packets, bytes) = managed.forget();
        self.bytes -= bytes;
        counters.dropped += packets;
        counters.marked += std::mem::take(&mut managed.marked);
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
