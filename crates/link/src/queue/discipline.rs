//! Queues that decide at dequeue.

use std::fmt::Debug;

use sketch::Sketch;
use units::{Span, Time};

use super::{AnyDiscipline, Ecn, Queueing};
use crate::arq::{Frame, Sender};
use crate::demand::Terminal;
use crate::direction::Fate;
use crate::fec::{CodedFrame, Encoder};
use crate::priority::Priority;
use crate::shaper::Shaper;

/// A packet in a discipline's queue. The network holds the packet itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Number under which the network holds the packet.
    pub ticket: u32,
    /// Key of the flow: one number for addresses, protocol and ports.
    pub flow: u32,
    /// Its bytes on the link, overhead included.
    pub bytes: u32,
    /// Its bytes without framing, which the channel can corrupt: those of the IP packet, and what
    /// ARQ or FEC add.
    pub unframed: u32,
    /// Its priority.
    pub priority: Priority,
    /// Its ECN field. A discipline marks by changing it.
    pub ecn: Ecn,
    /// When it arrived at the queue.
    pub since: Time,
}

/// A queue that decides at dequeue which packet is next and which are dropped.
pub trait Discipline: Debug + Send + Sync {
    /// Takes a packet that arrives at `packet.since`. `waits` is false if the transmitter is free:
    /// the packet is dequeued at once, and limits do not count it. The tickets of packets that the
    /// queue drops go to `dropped`; the packet itself may be one of them.
    fn enqueue(&mut self, packet: Queued, waits: bool, dropped: &mut Vec<u32>);

    /// Removes the next packet to be sent, at `now`. The tickets of packets that are dropped
    /// instead go to `dropped`.
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<u32>) -> Option<Queued>;

    /// Takes a packet of `flow` that waits out of the queue: it is not sent, and not dropped by the
    /// queue either. `None` if none with this ticket waits, and from disciplines that cannot do it.
    fn remove(&mut self, ticket: u32, flow: u32) -> Option<Queued> {
        let _ = (ticket, flow);
        None
    }

    /// Returns true if packets leave in the order in which they came, and
    /// [`dequeue`](Self::dequeue) drops none: so the next one is known before its time.
    fn is_fifo(&self) -> bool {
        false
    }

    /// Bytes on the link of the packet that came first; `None` if none waits or the next one is not
    /// known.
    fn next_bytes(&self) -> Option<u32> {
        None
    }

    /// Packets and bytes in the queue, overhead included.
    fn waiting(&self) -> (usize, u64);

    /// Counts of its decisions so far, apart from those of its limit.
    fn decisions(&self) -> Decisions {
        Decisions::default()
    }

    /// A copy in a new box.
    fn boxed_clone(&self) -> Box<dyn Discipline>;
}

impl Clone for Box<dyn Discipline> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// Decisions of active queue management. Packets dropped by a full queue are none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// Packets dropped before the queue was full.
    pub dropped_packets: u64,
    /// Packets marked; those that came with a mark do not count.
    pub marked_packets: u64,
}

impl Decisions {
    /// Drops a packet.
    pub(crate) fn drop(&mut self, ticket: u32, dropped: &mut Vec<u32>) {
        self.dropped_packets += 1;
        dropped.push(ticket);
    }

    /// Marks a packet whose endpoints use ECN.
    pub(crate) fn mark(&mut self, packet: &mut Queued) {
        self.marked_packets += u64::from(packet.ecn != Ecn::Marked);
        packet.ecn = packet.ecn.marked();
    }
}

/// Totals of a queue with a discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AqmCounters {
    /// Its decisions.
    pub decisions: Decisions,
    /// Packets that have left the queue to be sent.
    pub sent_packets: u64,
    /// Sum of the times that these have waited.
    pub queue_delay: Span,
    /// The longest of these times.
    pub max_queue_delay: Span,
}

impl AqmCounters {
    /// A packet leaves the queue after `delay`.
    #[inline]
    pub fn count(&mut self, delay: Span) {
        self.sent_packets += 1;
        self.queue_delay = self.queue_delay + delay;
        self.max_queue_delay = self.max_queue_delay.max(delay);
    }
}

/// Content of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A packet, with its ECN field behind the queue.
    Packet(Queued),
    /// A frame of the direction's ARQ. Its packet has left the queue, and stays held until the far
    /// end has taken it.
    Frame(Frame),
    /// A retransmitted frame of the direction's ARQ.
    Repeat(Frame),
    /// A status frame of the other direction's ARQ.
    Status,
    /// The packet with this ticket leaves the queue for slots of demand assignment, and stays held
    /// until the last of them. Its fate is not known yet: [`Fate::Scheduled`].
    Begins(u32),
    /// A packet in the last slot that it needs, with its ECN field behind the queue.
    Ends(Queued),
    /// A packet of the direction's FEC. A data packet has left the queue, and stays held until the
    /// far end has taken it, or has found that it is lost.
    Coded(CodedFrame),
}

/// A transmission that has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Content of the transmission.
    pub content: Content,
    /// [`Fate::Arrives`] or [`Fate::Corrupted`], or [`Fate::Scheduled`] with [`Content::Begins`].
    pub fate: Fate,
}

/// A status frame that waits.
#[derive(Clone, Copy, Debug)]
struct WaitingStatus {
    /// Bytes without framing.
    bytes: u32,
    /// Packets that came before it and wait.
    ahead: usize,
}

/// The next transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A status frame, with its bytes without framing.
    Status(u32),
    /// A repeat of ARQ.
    Repeat,
    /// A parity packet of FEC.
    Parity,
    /// A packet of the queue.
    Packet,
}

/// A discipline at work.
#[derive(Clone, Debug)]
pub(crate) struct Scheduled {
    pub discipline: AnyDiscipline,
    pub dropped: Vec<u32>,
    /// True if packets of the queue are all that is sent, each as soon as the transmitter is free:
    /// without ARQ, FEC, demand assignment, and status frames.
    pub sends_packets_only: bool,
    pub arq: Option<Box<Sender>>,
    pub fec: Option<Box<Encoder>>,
    /// Demand assignment.
    pub terminal: Option<Box<Terminal>>,
    /// The shaper.
    pub shaper: Option<Box<Shaper>>,
    /// The packet that is being sent in slots of demand assignment, or waits for tokens outside of
    /// the queue.
    pub sending: Option<Queued>,
    status: Option<WaitingStatus>,
    /// When something last changed that a transmission may have waited for: a packet arrived, for
    /// example.
    pub ready: Time,
    /// When the next transmission starts; never, if nothing waits.
    pub next_service: Time,
    pub queueing: Queueing,
    /// Totals without the decisions, which the discipline counts.
    pub counters: AqmCounters,
}

impl Scheduled {
    pub fn new(discipline: AnyDiscipline) -> Self {
        Self {
            discipline,
            dropped: Vec::new(),
            sends_packets_only: true,
            arq: None,
            fec: None,
            terminal: None,
            shaper: None,
            sending: None,
            status: None,
            ready: Time::ZERO,
            next_service: Time::NEVER,
            queueing: Queueing { delay: Sketch::new(), bytes: Some(Sketch::new()) },
            counters: AqmCounters::default(),
        }
    }

    pub fn counters(&self) -> AqmCounters {
        AqmCounters { decisions: self.discipline.decisions(), ..self.counters }
    }

    /// Records the length of the queue, which a packet has just joined.
    #[inline]
    pub fn record_length(&mut self, bytes: u64) {
        self.queueing.bytes.get_or_insert_default().record(bytes);
    }

    /// Largest number of bytes that waited.
    pub fn max_waiting_bytes(&self) -> u64 {
        self.queueing.bytes.as_ref().map_or(0, Sketch::max)
    }

    /// Returns true if ARQ keeps packets in the queue.
    pub fn is_closed(&self) -> bool {
        self.arq.as_ref().is_some_and(|arq| !arq.is_open())
    }

    /// Returns true if packets wait even if the transmitter is free.
    pub fn holds_packets(&self) -> bool {
        self.is_closed() || self.terminal.is_some()
    }

    /// Returns true if a packet that comes at its time has to wait for tokens, its own or those of
    /// one before it. All that starts until then must have started.
    pub fn lacks_tokens(&mut self, packet: &Queued) -> bool {
        let Self { shaper, discipline, sending, .. } = self;
        let Some(shaper) = shaper else { return false };
        if sending.is_some() || discipline.waiting().0 > 0 {
            return true;
        }
        // Others are chosen at once, and wait outside of the queue.
        discipline.is_fifo() && shaper.ready_at(packet.since, packet.bytes) > packet.since
    }

    /// When the next packet may start that the line can send from `free` on: it waits for its
    /// tokens.
    #[cold]
    pub fn tokens_at(&mut self, free: Time) -> Time {
        let Self { shaper, discipline, sending, .. } = self;
        let bytes = sending.map(|packet| packet.bytes).or_else(|| discipline.next_bytes());
        match (shaper, bytes) {
            (Some(shaper), Some(bytes)) => shaper.ready_at(free, bytes),
            _ => free,
        }
    }

    /// Returns true if a packet waits.
    #[inline]
    pub fn has_packet(&self) -> bool {
        self.discipline.waiting().0 > 0
    }

    /// Returns true if something is sent next.
    #[inline(always)]
    pub fn has_next(&self) -> bool {
        if self.sends_packets_only {
            return self.has_packet();
        }
        self.status.is_some()
            || (self.has_packet() && !self.is_closed())
            || self.arq.as_ref().is_some_and(|arq| arq.has_repeat())
            || self.fec.as_ref().is_some_and(|fec| fec.has_parity())
            || self.sending.is_some()
    }

    /// Returns true if ARQ sends a packet of the queue next, as it does mostly.
    #[inline(always)]
    pub fn is_frame_next(&self) -> bool {
        let Some(arq) = &self.arq else { return false };
        self.status.is_none() && !arq.has_repeat() && arq.is_open() && self.has_packet()
    }

    /// The next transmission; `None` if there is none until something changes.
    #[inline]
    pub fn next(&self) -> Option<Next> {
        let (waiting, _) = self.discipline.waiting();
        let has_packet = (waiting > 0 || self.sending.is_some()) && !self.is_closed();
        let before_packets = if self.arq.as_ref().is_some_and(|arq| arq.has_repeat()) {
            Some(Next::Repeat)
        } else {
            self.fec.as_ref().and_then(|fec| fec.has_parity().then_some(Next::Parity))
        };
        match self.status {
            // It waits for packets that came before it. Repeats, parity packets, and packets that
            // ARQ keeps back, let it pass.
            Some(status)
                if status.ahead.min(waiting) == 0 || before_packets.is_some() || !has_packet =>
            {
                Some(Next::Status(status.bytes))
            }
            _ => before_packets.or(has_packet.then_some(Next::Packet)),
        }
    }

    /// A status frame of `bytes`, without framing, is due: it waits behind the packets, unless one
    /// waits already.
    pub fn offer_status(&mut self, bytes: u32) {
        self.sends_packets_only = false;
        let (ahead, _) = self.discipline.waiting();
        self.status.get_or_insert(WaitingStatus { bytes, ahead });
    }

    /// The status frame is sent.
    pub fn take_status(&mut self) {
        self.status = None;
    }

    /// Takes the next packet out of the queue. Those that leave it, sent or dropped, are no longer
    /// ahead of the status frame that waits.
    #[inline(always)]
    pub fn dequeue(&mut self, now: Time) -> Option<Queued> {
        let Self { discipline, dropped, status, .. } = self;
        let Some(status) = status else { return discipline.dequeue(now, dropped) };
        let (before, _) = discipline.waiting();
        let packet = discipline.dequeue(now, dropped);
        let (behind, _) = discipline.waiting();
        status.ahead = status.ahead.saturating_sub(before - behind);
        packet
    }
}
