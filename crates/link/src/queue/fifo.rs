//! First in, first out, with computed departures.
//!
//! A packet knows at arrival when its transmission starts: as soon as all before it have left. So
//! the queue holds start times, and passes over each packet whose start has passed.
//!
//! Packets that have started stay in the vector until it is full. Then their delays are recorded,
//! many at a time, and they are removed. Recording each packet by itself, in the middle of the
//! engine's loop, took a tenth of all instructions.

use sketch::Sketch;
use units::{Span, Time};

use super::{LowPriority, Marker, Marking, QueueLimit, Queueing};
use crate::priority::Priority;

/// A packet that has to wait.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    arrived: Time,
    /// When its transmission starts.
    start: Time,
    /// Bytes that wait once it has joined them.
    length: u64,
    /// Its bytes, overhead included.
    bytes: u32,
    low: bool,
    corrupted: bool,
}

/// Packets for which there is room at first.
const AT_A_TIME: usize = 256;

impl Queueing {
    /// Records packets that have started.
    fn record(&mut self, packets: &[Waiting]) {
        let delay = |packet: &Waiting| packet.start.as_nanos() - packet.arrived.as_nanos();
        self.delay.record_all(packets, delay);
    }
}

/// A packet that was taken out of the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Removed {
    /// The time that its transmission would have taken. All behind it start so much earlier.
    pub earlier: Span,
    pub corrupted: bool,
    /// Packets behind it that are intact.
    pub intact_behind: usize,
    /// Packets behind it that are corrupted.
    pub corrupted_behind: usize,
}

/// The queue.
#[derive(Clone, Debug)]
pub(crate) struct Fifo {
    limit: QueueLimit,
    low_priority: LowPriority,
    marker: Option<Marker>,
    /// Packets that had to wait: those that have started and are not recorded, then those that
    /// wait.
    packets: Vec<Waiting>,
    /// Number of those that have started. It grows when the next packet is offered, so that a
    /// packet costs O(1) amortised.
    started: usize,
    waiting_bytes: u64,
    /// The most bytes that waited when one of the first `measured` packets or one before them had
    /// joined them.
    max_waiting_bytes: u64,
    measured: usize,
    /// Packets that are recorded.
    queueing: Queueing,
}

impl Fifo {
    pub fn new(limit: QueueLimit, low_priority: LowPriority, marking: Option<Marking>) -> Self {
        Self {
            limit,
            low_priority,
            marker: marking.map(Marker::new),
            packets: Vec::new(),
            started: 0,
            waiting_bytes: 0,
            max_waiting_bytes: 0,
            measured: 0,
            queueing: Queueing::default(),
        }
    }

    /// The most bytes that waited when a packet had joined them that came until `offered`.
    pub fn max_waiting_bytes(&mut self, offered: Time) -> u64 {
        let arrived = self.arrived(offered).max(self.measured);
        let lengths = self.packets[self.measured..arrived].iter().map(|waiting| waiting.length);
        self.max_waiting_bytes = lengths.max().unwrap_or(0).max(self.max_waiting_bytes);
        self.measured = arrived;
        self.max_waiting_bytes
    }

    /// Delays of the packets that have started by `now`.
    pub fn queueing(&self, now: Time) -> Queueing {
        let mut queueing = self.queueing.clone();
        queueing.record(&self.packets[..self.started(now)]);
        queueing
    }

    /// Number and bytes of the packets that arrived by `offered` and still wait at `now`.
    pub fn waiting_at(&self, now: Time, offered: Time) -> (usize, u64) {
        let arrived = &self.packets[..self.arrived(offered)];
        let waiting = arrived.get(self.started(now)..).unwrap_or_default();
        (waiting.len(), waiting.iter().map(|waiting| u64::from(waiting.bytes)).sum())
    }

    /// How many of the packets had come by `offered`.
    fn arrived(&self, offered: Time) -> usize {
        self.packets.partition_point(|waiting| waiting.arrived <= offered)
    }

    /// How many of the packets have started by `now`.
    fn started(&self, now: Time) -> usize {
        self.packets.partition_point(|waiting| waiting.start <= now)
    }

    /// Records lengths of the queue from now on, as its link may change.
    pub fn record_lengths(&mut self) {
        self.queueing.bytes = Some(Sketch::new());
    }

    /// Records the length of the queue, which a packet has just joined, if lengths are recorded.
    pub fn record_length(&mut self) {
        if let Some(bytes) = &mut self.queueing.bytes {
            bytes.record(self.waiting_bytes);
        }
    }

    /// The packets that wait. Those that have started must have been passed over.
    #[inline]
    fn waiting(&self) -> &[Waiting] {
        &self.packets[self.started..]
    }

    /// Number of packets that wait, and their bytes.
    #[inline]
    pub fn length(&self) -> (usize, u64) {
        (self.packets.len() - self.started, self.waiting_bytes)
    }

    /// Passes over the packets that have started.
    #[inline]
    pub fn forget_started(&mut self, now: Time) {
        while let Some(first) = self.packets.get(self.started) {
            if first.start > now {
                break;
            }
            self.waiting_bytes -= u64::from(first.bytes);
            self.started += 1;
        }
    }

    /// Makes room for one more packet. Packets whose transmission has started by `now` are recorded
    /// and removed; if these are few, memory is allocated instead.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, now: Time) {
        let started = self.started(now);
        if 4 * started < 3 * self.packets.len() || self.packets.is_empty() {
            self.packets.reserve(self.packets.len().max(AT_A_TIME));
            return;
        }
        self.max_waiting_bytes(now);
        self.queueing.record(&self.packets[..started]);
        self.packets.drain(..started);
        self.started -= started;
        self.measured -= started;
    }

    /// A packet arrives: the average queue that decides about marks changes.
    pub fn average(&mut self, now: Time) {
        self.forget_started(now);
        let (waiting, _) = self.length();
        if let Some(marker) = &mut self.marker {
            marker.on_arrival(waiting);
        }
    }

    /// Returns true if the average queue is so long that a packet which has just arrived is to be
    /// marked.
    pub fn marks(&self) -> bool {
        self.marker.as_ref().is_some_and(Marker::marks)
    }

    /// Returns true if a packet of `framed` bytes that has to wait is turned away.
    #[inline]
    pub fn turns_away(&self, framed: u32, priority: Priority) -> bool {
        self.is_full_for(framed) || self.refuses(priority)
    }

    /// Adds a packet that arrives at `arrived`, which may still be to come at `now`, and whose
    /// transmission starts at `start`.
    #[inline]
    pub fn push(
        &mut self,
        now: Time,
        (arrived, start): (Time, Time),
        bytes: u32,
        priority: Priority,
    ) {
        let low = priority == Priority::Low;
        if self.packets.len() == self.packets.capacity() {
            self.make_room(now);
        }
        self.waiting_bytes += u64::from(bytes);
        let length = self.waiting_bytes;
        self.packets.push(Waiting { arrived, start, length, bytes, low, corrupted: false });
    }

    /// The packet that came last will be corrupted on its way.
    pub fn damage_last(&mut self) {
        if let Some(waiting) = self.packets.last_mut() {
            waiting.corrupted = true;
        }
    }

    /// Returns true if packets of low priority give way to a normal one of `framed` bytes, so that
    /// it finds room.
    pub fn can_push_out_for(&self, framed: u32, priority: Priority) -> bool {
        let pushes_out = self.low_priority == LowPriority::PushOut;
        pushes_out && priority == Priority::Normal && self.can_make_room_for(framed)
    }

    /// Removes the last packet of low priority that waits, if a packet of `framed` bytes finds no
    /// room. `free_at` is when all that wait have left.
    pub fn push_out(&mut self, framed: u32, free_at: Time) -> Option<Removed> {
        if !self.is_full_for(framed) {
            return None;
        }
        let place = self.started + self.waiting().iter().rposition(|waiting| waiting.low)?;
        let out = self.packets.remove(place);
        self.max_waiting_bytes = self.max_waiting_bytes.max(out.length);
        self.measured -= usize::from(place < self.measured);
        let end = self.packets.get(place).map_or(free_at, |next| next.start);
        let earlier = end.since(out.start);
        let mut corrupted_behind = 0;
        for waiting in &mut self.packets[place..] {
            waiting.start = waiting.start - earlier;
            corrupted_behind += usize::from(waiting.corrupted);
        }
        self.waiting_bytes -= u64::from(out.bytes);
        let intact_behind = self.packets.len() - place - corrupted_behind;
        Some(Removed { earlier, corrupted: out.corrupted, intact_behind, corrupted_behind })
    }

    #[inline]
    fn refuses(&self, priority: Priority) -> bool {
        priority == Priority::Low && self.low_priority == LowPriority::Refuse && self.is_busy()
    }

    /// More waits than packets of low priority may disturb.
    fn is_busy(&self) -> bool {
        match self.limit {
            QueueLimit::Bytes(_) => self.waiting_bytes > LowPriority::REFUSES_ABOVE_BYTES,
            _ => self.waiting().len() > LowPriority::REFUSES_ABOVE_PACKETS,
        }
    }

    /// Returns true if there is room for a packet without those of low priority.
    fn can_make_room_for(&self, framed: u32) -> bool {
        let low = self.waiting().iter().filter(|waiting| waiting.low);
        match self.limit {
            QueueLimit::Packets(_) => low.count() > 0,
            QueueLimit::Bytes(limit) => {
                let bytes: u64 = low.map(|waiting| u64::from(waiting.bytes)).sum();
                self.waiting_bytes - bytes + u64::from(framed) <= limit
            }
            QueueLimit::Unlimited => true,
        }
    }

    #[inline]
    fn is_full_for(&self, framed: u32) -> bool {
        self.limit.is_full(self.length(), framed)
    }
}
