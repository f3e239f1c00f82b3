//! The other end of a random script: a receiver with selective acknowledgements (RFC 2018), reports
//! of duplicates (RFC 2883), delayed ACKs, timestamps (RFC 7323) and ECN (RFC 3168).

use crate::packet::{Flags, Options, Packet};

use super::stimulus::{Stimulus, UNSCALED};

/// Window scale of receivers with more than 64 KiB.
const SHIFT: u8 = 7;
/// The receiver's clock at the start, in milliseconds.
const CLOCK: i64 = 10_000;

/// When a segment is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Now.
    Now,
    /// At the latest after the delay.
    Later,
    /// Not at all, or another ACK will do it.
    None,
}

/// The state of the receiver. Sequence numbers are those of the host, whose first byte is 1.
pub(super) struct Receiver {
    next: u32,
    /// Ranges of data behind gaps, the one that grew last first.
    ranges: Vec<(u32, u32)>,
    duplicate: Option<(u32, u32)>,
    waiting: u32,
    every: u32,
    buffer: u32,
    shift: u8,
    /// The application reads; otherwise the right edge of the window stands still.
    reads: bool,
    edge: u32,
    timestamps: bool,
    recent: u32,
    acknowledged: u32,
    echoes: bool,
}

impl Receiver {
    pub(super) fn new(stimulus: &Stimulus) -> Self {
        let shift = if stimulus.buffer > UNSCALED { SHIFT } else { 0 };
        Self {
            next: 0,
            ranges: Vec::new(),
            duplicate: None,
            waiting: 0,
            every: stimulus.every,
            buffer: stimulus.buffer,
            shift,
            reads: true,
            edge: 0,
            timestamps: stimulus.timestamps,
            recent: 0,
            acknowledged: 0,
            echoes: false,
        }
    }

    /// Its SYN.
    pub(super) fn syn(&self, stimulus: &Stimulus) -> Packet {
        let asks = if stimulus.ecn { 0xc0 } else { 0 };
        let options = Options {
            mss: u16::try_from(stimulus.mss).ok(),
            window_scale: Some(self.shift),
            sack_permitted: true,
            timestamp: self.timestamps.then_some((clock(0), 0)),
            sack: Vec::new(),
        };
        Packet {
            ecn: None,
            flags: Flags(Flags::SYN | asks),
            start: 0,
            length: 0,
            ack: None,
            window: u16::try_from(self.buffer.min(UNSCALED)).ok(),
            options: Some(options),
        }
    }

    /// A segment of the host arrives.
    pub(super) fn take(&mut self, packet: &Packet, marked: bool) -> Answer {
        let syn = u32::from(packet.flags.has(Flags::SYN));
        let (start, end) = (packet.start, packet.end() + syn);
        if packet.flags.has(0x80) && syn == 0 {
            self.echoes = false;
        }
        self.echoes |= marked;
        self.note_clock(packet);
        if start == end {
            return if start == self.next { Answer::None } else { Answer::Now };
        }
        if syn == 0 && end > self.edge {
            return Answer::Now;
        }
        if end <= self.next {
            self.duplicate = Some((start, end));
            return Answer::Now;
        }
        if start > self.next {
            self.keep(start, end);
            return Answer::Now;
        }
        if start < self.next {
            self.duplicate = Some((start, self.next));
        }
        let gap = !self.ranges.is_empty();
        self.next = end;
        let reached = |next: u32| move |range: &&(u32, u32)| range.0 <= next && range.1 > next;
        while let Some(range) = self.ranges.iter().find(reached(self.next)) {
            self.next = range.1;
        }
        let next = self.next;
        self.ranges.retain(|range| range.1 > next);
        self.waiting += 1;
        if gap || self.duplicate.is_some() || self.waiting >= self.every {
            Answer::Now
        } else {
            Answer::Later
        }
    }

    fn note_clock(&mut self, packet: &Packet) {
        let clock = packet.options.as_ref().and_then(|options| options.timestamp);
        if let Some((value, _)) = clock
            && packet.start <= self.acknowledged
            && value >= self.recent
        {
            self.recent = value;
        }
    }

    fn keep(&mut self, start: u32, end: u32) {
        let inside = self.ranges.iter().any(|range| range.0 <= start && end <= range.1);
        if inside {
            self.duplicate = Some((start, end));
        }
        let (mut first, mut last) = (start, end);
        self.ranges.retain(|range| {
            let apart = range.1 < start || range.0 > end;
            if !apart {
                (first, last) = (first.min(range.0), last.max(range.1));
            }
            apart
        });
        self.ranges.insert(0, (first, last));
    }

    /// Segments wait for their ACK.
    pub(super) fn owes_ack(&self) -> bool {
        self.waiting > 0
    }

    /// The application stops reading, or reads all.
    pub(super) fn set_reads(&mut self, reads: bool) {
        self.reads = reads;
    }

    /// The ACK of the current state, at `now` microseconds.
    pub(super) fn ack(&mut self, now: i64) -> Packet {
        self.waiting = 0;
        self.acknowledged = self.next;
        if self.reads {
            self.edge = self.edge.max(self.next + self.buffer);
        }
        let most = if self.timestamps { 3 } else { 4 };
        let sack = self.duplicate.take().into_iter().chain(self.ranges.iter().copied());
        let options = Options {
            timestamp: self.timestamps.then(|| (clock(now), self.recent)),
            sack: sack.take(most).collect(),
            ..Options::default()
        };
        let echo = if self.echoes { 0x40 } else { 0 };
        Packet {
            ecn: None,
            flags: Flags(Flags::ACK | echo),
            start: 1,
            length: 0,
            ack: Some(self.next),
            window: u16::try_from((self.edge - self.next) >> self.shift).ok(),
            options: Some(options),
        }
    }
}

fn clock(now: i64) -> u32 {
    u32::try_from(CLOCK + now / 1000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(start: u32, end: u32) -> Packet {
        let flags = Flags(Flags::ACK);
        let length = end - start;
        Packet { ecn: None, flags, start, length, ack: Some(1), window: None, options: None }
    }

    /// A receiver that has everything below 1, and its window.
    fn receiver(change: impl Fn(&mut Stimulus)) -> Receiver {
        let mut stimulus = Stimulus::draw(1);
        (stimulus.timestamps, stimulus.ecn, stimulus.every) = (false, false, 2);
        change(&mut stimulus);
        let mut receiver = Receiver::new(&stimulus);
        receiver.take(&Packet { flags: Flags(Flags::SYN), ..data(0, 0) }, false);
        receiver.ack(0);
        receiver
    }

    fn blocks(packet: &Packet) -> Vec<(u32, u32)> {
        packet.options.clone().unwrap_or_default().sack
    }

    #[test]
    fn the_block_that_has_grown_is_the_first_one() {
        let mut receiver = receiver(|_| ());
        for (start, end) in [(1001, 2001), (3001, 4001), (5001, 6001), (4001, 5001)] {
            assert_eq!(receiver.take(&data(start, end), false), Answer::Now);
        }
        assert_eq!(blocks(&receiver.ack(0)), [(3001, 6001), (1001, 2001)]);
        assert_eq!(receiver.take(&data(1, 1001), false), Answer::Now);
        let ack = receiver.ack(0);
        assert_eq!((ack.ack, blocks(&ack)), (Some(2001), vec![(3001, 6001)]));
    }

    #[test]
    fn what_arrives_twice_is_reported_once() {
        let mut receiver = receiver(|_| ());
        receiver.take(&data(1, 1001), false);
        assert_eq!(receiver.take(&data(1, 1001), false), Answer::Now);
        assert_eq!(blocks(&receiver.ack(0)), [(1, 1001)]);
        receiver.take(&data(2001, 3001), false);
        receiver.take(&data(2001, 3001), false);
        assert_eq!(blocks(&receiver.ack(0)), [(2001, 3001), (2001, 3001)]);
        assert_eq!(blocks(&receiver.ack(0)), [(2001, 3001)]);
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once() {
        let mut receiver = receiver(|_| ());
        assert_eq!(receiver.take(&data(1, 1001), false), Answer::Later);
        assert_eq!(receiver.take(&data(1001, 2001), false), Answer::Now);
        assert!(receiver.owes_ack());
        receiver.ack(0);
        assert!(!receiver.owes_ack());
    }

    #[test]
    fn a_receiver_that_does_not_read_closes_its_window_and_takes_nothing_beyond() {
        let mut receiver = receiver(|stimulus| stimulus.buffer = 2000);
        receiver.set_reads(false);
        receiver.take(&data(1, 1001), false);
        assert_eq!(receiver.ack(0).window, Some(1000));
        receiver.take(&data(1001, 2001), false);
        assert_eq!(receiver.ack(0).window, Some(0));
        assert_eq!(receiver.take(&data(2001, 3001), false), Answer::Now);
        // A probe of Linux.
        assert_eq!(receiver.take(&data(2000, 2000), false), Answer::Now);
        receiver.set_reads(true);
        let ack = receiver.ack(0);
        assert_eq!((ack.ack, ack.window), (Some(2001), Some(2000)));
    }

    #[test]
    fn a_mark_is_echoed_until_the_sender_answers() {
        let mut receiver = receiver(|_| ());
        receiver.take(&data(1, 1001), true);
        receiver.take(&data(1001, 2001), false);
        assert!(receiver.ack(0).flags.has(0x40));
        receiver.take(&Packet { flags: Flags(Flags::ACK | 0x80), ..data(2001, 3001) }, false);
        assert!(!receiver.ack(0).flags.has(0x40));
    }

    #[test]
    fn the_echo_is_the_clock_of_the_oldest_segment_without_ack() {
        let mut receiver = receiver(|stimulus| stimulus.timestamps = true);
        for (start, value) in [(1, 7), (1001, 8)] {
            let options = Options { timestamp: Some((value, 0)), ..Options::default() };
            receiver.take(&Packet { options: Some(options), ..data(start, start + 1000) }, false);
        }
        let echo = receiver.ack(5000).options.and_then(|options| options.timestamp);
        assert_eq!(echo, Some((10_005, 7)));
    }
}
