//! The decoder of FEC: which packets have arrived, which of the others can be rebuilt, and which
//! are lost.
//!
//! A link keeps the order of packets. So what did not arrive before a later packet does not arrive
//! any more, and only parity can bring it back.

use std::collections::VecDeque;

use units::Time;

use super::{CodedFrame, FecCounters, FecSettings, Part};
use crate::arq::Accepted;
use crate::queue::Ecn;

/// A data packet that was sent, until it is passed on or lost with all before it.
#[derive(Clone, Copy, Debug)]
struct Expected {
    ticket: u32,
    ecn: Ecn,
    group: u64,
    block: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has not arrived.
    Missing,
    /// It is there, and waits for one before it.
    Held,
    /// It was passed on, or is lost.
    Done,
}

/// Packets of a block that have arrived.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// Data packets, rebuilt ones included.
    data: u32,
    parity: u32,
}

/// The decoder.
#[derive(Clone, Debug)]
pub struct Decoder {
    settings: FecSettings,
    /// Data packets from the first on whose fate is not known.
    expected: VecDeque<Expected>,
    /// The number of the first of them.
    base: u64,
    /// The group of the last packet that arrived, and its blocks.
    group: u64,
    blocks: Vec<Block>,
    /// Packets that wait.
    held: usize,
    /// When the last packet arrived.
    heard: Time,
    counters: FecCounters,
}

impl Decoder {
    /// A decoder that has received nothing.
    pub fn new(settings: FecSettings) -> Self {
        Self {
            settings,
            expected: VecDeque::new(),
            base: 0,
            group: 0,
            blocks: vec![Block::default(); settings.depth as usize],
            held: 0,
            heard: Time::ZERO,
            counters: FecCounters::default(),
        }
    }

    /// Totals as far as the decoder knows them, added to those of the encoder.
    pub fn counters(&self, encoder: FecCounters) -> FecCounters {
        let FecCounters { repaired_packets, lost_packets, held_packets, .. } = self.counters;
        FecCounters { repaired_packets, lost_packets, held_packets, ..encoder }
    }

    /// A packet is sent, whether it will arrive or not. The decoder decides nothing by it. It notes
    /// what the code could rebuild.
    pub fn sent(&mut self, frame: &CodedFrame) {
        let &CodedFrame { group, block, part } = frame;
        if let Part::Data { ticket, ecn, .. } = part {
            let state = State::Missing;
            self.expected.push_back(Expected { ticket, ecn, group, block, state });
        }
    }

    /// A packet arrives intact. Packets that are passed on now, or dropped as lost, go to
    /// `accepted`, each once.
    pub fn on_frame(&mut self, now: Time, frame: &CodedFrame, accepted: &mut Vec<Accepted>) {
        self.heard = now;
        if frame.group != self.group {
            let group = frame.group;
            self.lose(|one, _| one.group < group, accepted);
            self.pass(accepted);
            self.blocks.fill(Block::default());
            self.group = group;
        }
        match frame.part {
            Part::Data { number, .. } => self.on_data(number, frame.block, accepted),
            Part::Parity { data, is_last } => {
                self.on_parity(frame.block, data, is_last, accepted);
            }
        }
        self.pass(accepted);
    }

    fn on_data(&mut self, number: u64, block: u32, accepted: &mut Vec<Accepted>) {
        self.blocks[block as usize].data += 1;
        let place = number.checked_sub(self.base).and_then(|place| usize::try_from(place).ok());
        let Some(place) = place else { return };
        self.counters.held_packets += u64::from(self.settings.in_order && place > 0);
        self.arrived(place, accepted);
    }

    /// The packet at `place` is there.
    fn arrived(&mut self, place: usize, accepted: &mut Vec<Accepted>) {
        let Some(one) = self.expected.get_mut(place) else { return };
        if self.settings.in_order {
            one.state = State::Held;
            self.held += 1;
        } else {
            one.state = State::Done;
            accepted.push(Accepted { ticket: one.ticket, ecn: one.ecn, is_skip: false });
        }
    }

    fn on_parity(&mut self, block: u32, data: u32, is_last: bool, accepted: &mut Vec<Accepted>) {
        let Block { data: arrived, parity } = &mut self.blocks[block as usize];
        *parity += 1;
        if *arrived < data && *arrived + *parity >= data {
            *arrived = data;
            self.repair(block, accepted);
        }
        if is_last {
            // The last parity packets of the blocks before it were sent before.
            let group = self.group;
            self.lose(|one, _| one.group == group && one.block <= block, accepted);
        }
    }

    fn repair(&mut self, block: u32, accepted: &mut Vec<Accepted>) {
        for place in 0..self.expected.len() {
            let one = self.expected[place];
            if one.group != self.group {
                break;
            }
            if one.block == block && one.state == State::Missing {
                self.counters.repaired_packets += 1;
                self.arrived(place, accepted);
            }
        }
    }

    /// Packets that are missing up to the group that arrives are lost where `is_over` holds of a
    /// packet and its number.
    fn lose(&mut self, is_over: impl Fn(&Expected, u64) -> bool, accepted: &mut Vec<Accepted>) {
        for (number, one) in (self.base..).zip(&mut self.expected) {
            if one.state == State::Missing && is_over(one, number) {
                one.state = State::Done;
                self.counters.lost_packets += 1;
                accepted.push(Accepted { ticket: one.ticket, ecn: one.ecn, is_skip: true });
            } else if one.group > self.group {
                // The packets of later groups are on their way.
                break;
            }
        }
    }

    /// Passes on what waits for nothing, in order.
    fn pass(&mut self, accepted: &mut Vec<Accepted>) {
        while let Some(&Expected { ticket, ecn, state, .. }) = self.expected.front()
            && state != State::Missing
        {
            if state == State::Held {
                self.held -= 1;
                accepted.push(Accepted { ticket, ecn, is_skip: false });
            }
            self.expected.pop_front();
            self.base += 1;
        }
    }

    /// When packets no longer wait for missing ones, if nothing arrives until then; never, if none
    /// waits. Parity packets follow within one timer and a transmission.
    pub fn deadline(&self) -> Time {
        let timer = self.settings.timer;
        if self.held > 0 { self.heard + timer + timer } else { Time::NEVER }
    }

    /// The timer has expired, if it has by `now`: what is missing before a packet that waits is
    /// lost.
    pub fn on_timer(&mut self, now: Time, accepted: &mut Vec<Accepted>) {
        if self.deadline() > now {
            return;
        }
        let last = self.expected.iter().rposition(|one| one.state == State::Held);
        let last = self.base + last.unwrap_or(0) as u64;
        self.lose(|_, number| number < last, accepted);
        self.pass(accepted);
    }
}
