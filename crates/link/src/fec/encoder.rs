//! The encoder of FEC: which block a packet belongs to, and when parity packets are due.

use units::Time;

use super::{CODED_BYTES, CodedFrame, FecCounters, FecSettings, Part};
use crate::queue::Queued;

/// The encoder.
#[derive(Clone, Debug)]
pub struct Encoder {
    settings: FecSettings,
    /// The number of the next data packet.
    number: u64,
    /// The number of the group, and the data packets that it has.
    group: u64,
    filled: u32,
    /// When its first data packet was sent.
    opened: Time,
    /// Bytes of the longest packet of each of its blocks, without framing.
    longest: Vec<u32>,
    /// The parity packets of the group that were sent; `None` while it takes data packets.
    parity: Option<u32>,
    counters: FecCounters,
}

impl Encoder {
    /// An encoder that has sent nothing.
    pub fn new(settings: FecSettings) -> Self {
        Self {
            settings,
            number: 0,
            group: 0,
            filled: 0,
            opened: Time::ZERO,
            longest: vec![0; settings.depth as usize],
            parity: None,
            counters: FecCounters::default(),
        }
    }

    /// Totals as far as the encoder knows them.
    pub fn counters(&self) -> FecCounters {
        self.counters
    }

    /// A packet leaves the queue and is sent from `start` on. Parity packets must not be due.
    pub fn send(&mut self, start: Time, packet: &Queued) -> CodedFrame {
        let &Queued { ticket, unframed: bytes, ecn, .. } = packet;
        if self.filled == 0 {
            self.opened = start;
            self.longest.fill(0);
        }
        let block = self.filled % self.settings.depth;
        let longest = &mut self.longest[block as usize];
        *longest = bytes.max(*longest);
        self.filled += 1;
        self.counters.data_packets += 1;
        let number = self.number;
        self.number += 1;
        if self.filled == self.settings.group() {
            self.close();
        }
        CodedFrame { group: self.group, block, part: Part::Data { number, ticket, ecn } }
    }

    fn close(&mut self) {
        self.parity = Some(0);
        self.counters.blocks += u64::from(self.blocks());
    }

    /// Blocks of the group that have data packets.
    fn blocks(&self) -> u32 {
        self.filled.min(self.settings.depth)
    }

    /// Data packets of a block: they went to all blocks in turn.
    fn data(&self, block: u32) -> u32 {
        (self.filled - block).div_ceil(self.settings.depth)
    }

    /// Returns true if a parity packet is due.
    pub fn has_parity(&self) -> bool {
        self.parity.is_some()
    }

    /// The next parity packet, and its bytes without framing. After the last one, a new group
    /// begins.
    pub fn parity(&mut self) -> Option<(CodedFrame, u32)> {
        let sent = self.parity?;
        let blocks = self.blocks();
        let (round, block) = (sent / blocks, sent % blocks);
        let is_last = round + 1 == self.settings.parity;
        let part = Part::Parity { data: self.data(block), is_last };
        let frame = CodedFrame { group: self.group, block, part };
        self.counters.parity_packets += 1;
        if is_last && block + 1 == blocks {
            (self.parity, self.filled) = (None, 0);
            self.group += 1;
        } else {
            self.parity = Some(sent + 1);
        }
        Some((frame, self.longest[block as usize] + CODED_BYTES))
    }

    /// A packet is sent. That the channel corrupts it is only counted.
    pub fn leaves(&mut self, corrupted: bool) {
        self.counters.corrupted_packets += u64::from(corrupted);
    }

    /// When the group is closed that is not full; never, if there is none.
    pub fn deadline(&self) -> Time {
        let is_open = self.filled > 0 && self.parity.is_none();
        if is_open { self.opened + self.settings.timer } else { Time::NEVER }
    }

    /// The timer has expired, if it has by `now`: parity packets are due.
    pub fn on_timer(&mut self, now: Time) {
        if self.deadline() <= now {
            let full = self.filled.saturating_sub((self.settings.data - 1) * self.settings.depth);
            self.counters.short_blocks += u64::from(self.blocks() - full);
            self.close();
        }
    }
}
