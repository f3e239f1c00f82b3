//! Packets that wait at a gateway or at a terminal, and what is counted of them.

use link::Ecn;
use sketch::{Sketch, Summary};
use units::{Span, Time};

/// The number of a terminal in its beam.
pub type TerminalId = u32;

/// A packet for a terminal, or of one.
#[derive(Clone, Copy, Debug)]
pub struct Offered<P> {
    /// The terminal.
    pub terminal: TerminalId,
    /// Its class of traffic, counted from 0.
    pub class: u8,
    /// Key of its flow, for queues that keep flows apart.
    pub flow: u32,
    /// Its bytes.
    pub bytes: u32,
    /// The packets in these bytes: 1, or more for a train of packets that are treated as one. Each
    /// of them has its headers in frames and bursts.
    pub packets: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// The packet.
    pub packet: P,
}

impl<P> Offered<P> {
    /// A packet of the first class, without ECN.
    pub fn new(terminal: TerminalId, bytes: u32, packet: P) -> Self {
        Self { terminal, class: 0, flow: 0, bytes, packets: 1, ecn: Ecn::NotCapable, packet }
    }
}

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting<P> {
    pub terminal: TerminalId,
    pub class: u8,
    pub flow: u32,
    pub bytes: u32,
    pub packets: u32,
    pub ecn: Ecn,
    pub since: Time,
    /// Identifies the packet to a filter of the return channel.
    pub ticket: u32,
    pub packet: P,
}

impl<P> Waiting<P> {
    pub fn new(offered: Offered<P>, since: Time) -> Self {
        let Offered { terminal, class, flow, bytes, packets, ecn, packet } = offered;
        Self { terminal, class, flow, bytes, packets, ecn, since, ticket: 0, packet }
    }

    /// Its bytes as one long packet, with the headers of all packets of a train but one.
    pub fn with_headers(&self, header: u32) -> u32 {
        self.bytes + header * (self.packets - 1)
    }

    pub fn arrived(self, at: Time) -> Arrived<P> {
        let Self { terminal, ecn, packet, .. } = self;
        Arrived { at, terminal, ecn, packet }
    }
}

/// The line of a terminal's class, where each terminal has `classes` of them.
pub(crate) fn line_of(terminal: TerminalId, class: u8, classes: usize) -> usize {
    terminal as usize * classes + usize::from(class)
}

/// A packet that has crossed the beam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived<P> {
    /// When.
    pub at: Time,
    /// The terminal that it is for, or that has sent it.
    pub terminal: TerminalId,
    /// Its ECN field, which a queue may have marked.
    pub ecn: Ecn,
    /// The packet.
    pub packet: P,
}

/// Totals of a terminal in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalCounters {
    /// Packets sent.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
    /// Packets that the queue dropped, because it was full or by active queue management.
    pub dropped: u64,
    /// Packets that active queue management marked.
    pub marked: u64,
    /// Packets that did not arrive, because the signal was too weak or random access gave them up.
    pub lost: u64,
    /// Sum of the times from the arrival of a packet at the queue to the end of its transmission.
    pub delay: Span,
    /// The longest of these times.
    pub max_delay: Span,
}

impl TerminalCounters {
    /// Counts a packet, or a train of them, whose transmission ends.
    pub(crate) fn sent<P>(&mut self, waiting: &Waiting<P>, delay: Span) {
        self.packets += u64::from(waiting.packets);
        self.bytes += u64::from(waiting.bytes);
        self.delay = self.delay + delay.times(waiting.packets.into());
        self.max_delay = self.max_delay.max(delay);
    }
}

/// Times of packets of a group from the arrival at the queue to the end of the transmission.
#[derive(Clone, Debug, Default)]
pub struct Delays(Sketch);

impl Delays {
    /// Records the time of each of some packets.
    pub(crate) fn record(&mut self, delay: Span, packets: u32) {
        (0..packets).for_each(|_| self.0.record(delay.as_nanos()));
    }

    /// Number of packets.
    pub fn packets(&self) -> u64 {
        self.0.count()
    }

    /// Those of several together.
    pub(crate) fn of_all(several: &[Self]) -> Self {
        let mut all = Self::default();
        several.iter().for_each(|one| all.0.merge(&one.0));
        all
    }

    /// Their distribution in milliseconds; `None` without a packet.
    pub fn summary(&self) -> Option<Summary> {
        Some(self.0.summary(0)?.per(1e6))
    }
}
