//! One established connection whose other end is played by the test, counted in whole segments.

use congestion::Controller;
use tcp::Recovery;
use tcp::{Block, Config, Connection, Flags, Segment};
use transport::Endpoint;
use units::{Span, Time};

use crate::wire::{MSS, connection, ms};

const OWN: u32 = 1_000;
const PEER: u32 = 5_000_000;

/// A connection that has data to send, and what the test wants it to believe.
pub struct Script {
    pub end: Connection,
    pub now: Time,
    pub window: u16,
    scale: u64,
    /// The segments that the last call sent.
    pub segments: Vec<Segment>,
}

impl Script {
    /// A connection that has just been accepted. Its peer answered after 100 ms.
    pub fn new(config: &Config) -> Self {
        Self::of(config, connection(config, OWN))
    }

    /// As [`new`](Self::new), with a connection that the test has made.
    pub fn of(config: &Config, mut end: Connection) -> Self {
        end.connect();
        let syn = end.next_packet(Time::ZERO).unwrap();
        let now = Time::ZERO + ms(100);
        let answer = Segment {
            sequence: PEER,
            acknowledgement: syn.sequence.wrapping_add(1),
            flags: Flags::SYN.with(Flags::ACK),
            window: u16::MAX,
            mss: config.mss as u16,
            window_scale: syn.window_scale,
            options: syn.options,
            echo: syn.timestamp,
            ..Segment::default()
        };
        end.on_segment(now, &answer);
        assert!(end.is_established());
        let scale = if config.window_scaling { u64::from(syn.window_scale) } else { 0 };
        let mut script = Self { end, now, window: u16::MAX, scale, segments: Vec::new() };
        script.sent();
        script
    }

    /// A sender with `segments` segments outstanding, as many as its congestion window holds, and
    /// more to send: slow start made the window what it is.
    pub fn sender(recovery: Recovery, segments: u64) -> Self {
        Self::with(&Config { recovery, ..crate::wire::config() }, segments)
    }

    /// As [`sender`](Self::sender), with all of `config`.
    pub fn with(config: &Config, segments: u64) -> Self {
        let mut script = Self::new(config);
        script.end.write(1_000 * MSS);
        let window = script.cwnd();
        assert!((window..=2 * window).contains(&segments), "{segments} segments");
        let mut sent = script.sent().len() as u64;
        assert_eq!(sent, window);
        // Every ACK of one segment lets two follow.
        for acked in 1..=segments - window {
            sent += script.ack(acked).len() as u64;
        }
        assert_eq!(sent, 2 * segments - window);
        script
    }

    /// The first segment that is outstanding.
    pub fn first(&self) -> u64 {
        self.end.acknowledged() / MSS
    }

    /// cwnd in whole segments.
    pub fn cwnd(&self) -> u64 {
        self.end.controller().window().cwnd / MSS
    }

    /// ssthresh in whole segments.
    pub fn ssthresh(&self) -> u64 {
        self.end.controller().window().ssthresh / MSS
    }

    /// Numbers of the data segments that the connection sends now, counted from zero.
    pub fn sent(&mut self) -> Vec<u64> {
        self.segments.clear();
        while let Some(segment) = self.end.next_packet(self.now) {
            self.segments.push(segment);
        }
        let number = |s: &Segment| u64::from(s.sequence.wrapping_sub(OWN + 1)) / MSS;
        self.segments.iter().filter(|s| s.payload > 0).map(number).collect()
    }

    /// Lets time pass until the next timer expires.
    pub fn run_to_deadline(&mut self) -> Vec<u64> {
        self.now = self.end.deadline();
        self.end.on_deadline(self.now);
        self.sent()
    }

    /// Lets `segment` arrive from the other end.
    pub fn receive(&mut self, segment: Segment) -> Vec<u64> {
        self.end.on_segment(self.now, &segment);
        self.sent()
    }

    /// A segment from the other end without data that acknowledges all bytes below `bytes`.
    pub fn ack_of(&self, bytes: u64) -> Segment {
        Segment {
            sequence: PEER + 1,
            acknowledgement: OWN.wrapping_add(1).wrapping_add(bytes as u32),
            flags: Flags::ACK,
            window: self.window,
            window_scale: Segment::NO_SCALE,
            ..Segment::default()
        }
    }

    /// An ACK for all segments below number `n` arrives; what it lets out.
    pub fn ack(&mut self, n: u64) -> Vec<u64> {
        self.receive(self.ack_of(n * MSS))
    }

    /// An ACK that repeats the one before arrives.
    pub fn duplicate(&mut self) -> Vec<u64> {
        self.ack(self.first())
    }

    /// An ACK for all segments below `n` and for those of each block.
    pub fn sack(&mut self, n: u64, blocks: &[std::ops::Range<u64>]) -> Vec<u64> {
        let segment = self.sack_of(n, blocks);
        self.receive(segment)
    }

    /// The segment of [`sack`](Self::sack).
    pub fn sack_of(&self, n: u64, blocks: &[std::ops::Range<u64>]) -> Segment {
        let mut segment = self.ack_of(n * MSS);
        let wire = |n: u64| OWN.wrapping_add(1).wrapping_add((n * MSS) as u32);
        for block in blocks {
            segment.sack[usize::from(segment.sack_blocks)] =
                Block { start: wire(block.start), end: wire(block.end) };
            segment.sack_blocks += 1;
        }
        segment
    }

    /// Lets time pass; what the timers let out.
    pub fn wait(&mut self, span: Span) -> Vec<u64> {
        let until = self.now + span;
        let (mut numbers, mut segments) = (Vec::new(), Vec::new());
        while self.end.deadline() <= until {
            self.now = self.end.deadline();
            self.end.on_deadline(self.now);
            numbers.append(&mut self.sent());
            segments.append(&mut self.segments);
        }
        self.now = until;
        self.segments = segments;
        numbers
    }

    /// Waits until the retransmission timer expires.
    pub fn time_out(&mut self) -> Vec<u64> {
        self.wait(self.end.deadline().since(self.now))
    }

    /// The window that the other end offers, in bytes.
    pub fn offer(&mut self, bytes: u64) {
        self.window = (bytes >> self.scale) as u16;
    }
}
