//! The receive buffer of Linux: its size follows the bytes that the application reads in a round
//! trip (`tcp_rcv_space_adjust`), and the window follows both and a soft limit that grows with each
//! segment (`tcp_grow_window`).
//!
//! Decisions:
//! - An application that reads later than data arrives is seen by the measurement with the next
//!   segment that arrives.
//! - Before 5.10 the first measurement expects the whole first window
//!   (`tcp_init_buffer_space`). Only the rule of 4.19 does so here.
//! - FreeBSD begins a measurement with the next ACK that it sends, and compares with half of the
//!   smoothed RTT of what it sends itself. Here a measurement begins where the last one ends, and
//!   the round trip is that which a receiver of Linux sees. Windows are rounded up to their scale
//!   as in Linux.
//! - Linux collapses queued data before it drops any. Here a buffer that is full of small segments
//!   counts as collapsed: their memory becomes that of full pages.

use units::Time;

use crate::info::TunedBuffer;

use super::round_trip::RoundTrip;
use super::{Growth, ReceiveTuning};

/// Window and memory of a segment before any has arrived (`TCP_DEFAULT_SCALING_RATIO`), in 256ths.
const FIRST_RATIO: u64 = 128;
/// The same if all memory is window.
const ALL: u64 = 256;
/// Room for headers before the data (`MAX_TCP_HEADER`), with wireless networks and tunnels.
const MAX_TCP_HEADER: u64 = 320;
/// Segments of the first measurement (`TCP_INIT_CWND`).
const FIRST_SEGMENTS: u64 = 10;
/// A segment with less does not let the soft limit grow (`tcp_event_data_recv`).
const LEAST_GROWING: u64 = 128;
/// The size of a full segment before one has arrived (`TCP_MSS_DEFAULT`).
const FIRST_FULL: u64 = 536;
/// `net.core.rmem_max`, below which no window scale is chosen.
const RMEM_MAX: u64 = 212_992;
/// Bytes of the headers of IP and TCP with timestamps, and the room before them, in the buffer of a
/// segment.
const HEADERS: u64 = 52 + 64;
/// `skb_shared_info`, in the same buffer.
const SHARED_INFO: u64 = 320;
/// Its description (`sk_buff`).
const SK_BUFF: u64 = 256;
/// Memory of a byte in collapsed data, in 256ths: a page of 4096 bytes holds 3776.
const COLLAPSED: u64 = 278;

/// Memory of a segment with `payload` bytes: a buffer of a power of two and its description.
fn memory_of(payload: u64) -> u64 {
    (payload + HEADERS + SHARED_INFO).next_power_of_two() + SK_BUFF
}

/// Window that a byte of memory holds if segments have `payload` bytes, in 256ths
/// (`scaling_ratio`).
pub(super) fn ratio(payload: u64) -> u64 {
    (payload * 256 / memory_of(payload)).clamp(1, 255)
}

/// The same by the rule of a version: before 6.6 it was half, whatever arrived, and FreeBSD counts
/// data.
pub(super) fn ratio_of(growth: Growth, payload: u64) -> u64 {
    match growth {
        Growth::Linux4_19 | Growth::Linux5_15 => FIRST_RATIO,
        Growth::FreeBsd14 => ALL,
        _ => ratio(payload),
    }
}

/// `SKB_TRUESIZE` of a full segment, as versions before 6.6 calculate it.
fn estimated_memory(mss: u64) -> u64 {
    mss + MAX_TCP_HEADER + SHARED_INFO + SK_BUFF
}

/// `tcp_default_init_rwnd`: segments of the first window before 4.20.
fn first_window_segments(mss: u64) -> u64 {
    let segments = 2 * FIRST_SEGMENTS;
    if mss > 1460 { (1460 * segments / mss).max(2) } else { segments }
}

/// Window of `space` bytes of memory (`tcp_win_from_space`).
pub(super) fn window_of(space: u64, ratio: u64) -> u64 {
    (space * ratio) >> 8
}

/// Memory that a window needs (`tcp_space_from_win`).
fn space_of(window: u64, ratio: u64) -> u64 {
    (window << 8) / ratio
}

/// A receive buffer.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveBuffer {
    growth: Growth,
    /// `tcp_rmem[2]`.
    max: u64,
    /// `sk_rcvbuf`.
    size: u64,
    /// `scaling_ratio`.
    ratio: u64,
    /// Largest window (`window_clamp`).
    clamp: u64,
    /// Soft limit of the window (`rcv_ssthresh`).
    soft: u64,
    /// Window scale of this end.
    shift: u8,
    /// Payload of a full segment as this end has seen it (`rcv_mss`).
    full: u64,
    /// Payload of a full segment as this end has offered it (`advmss`).
    offered: u64,
    /// Memory of what has arrived and was not read (`sk_rmem_alloc`).
    memory: u64,
    /// Bytes of it, and of all that has arrived.
    queued: u64,
    received: u64,
    round_trip: RoundTrip,
    /// Bytes that are expected in a round trip (`rcvq_space`), with the position and time at which
    /// it began.
    expected: u64,
    since: (u64, Time),
    /// Time of the last segment.
    now: Time,
}

/// A segment that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Bytes of data.
    pub(crate) length: u64,
    /// Bytes that have arrived so far, in order and above gaps.
    pub(crate) received: u64,
    /// Its echo of a timestamp, which shows a round trip.
    pub(crate) echo: Option<u32>,
    /// Behind the last byte that has arrived in order.
    pub(crate) next: u64,
    /// Behind the last number that the other end may send.
    pub(crate) edge: u64,
}

impl ReceiveBuffer {
    /// The buffer of an end that offers segments of `mss` bytes.
    pub(crate) fn new(tuning: &ReceiveTuning, mss: u64) -> Self {
        let (size, window) = (tuning.default.get(), Self::first_window(tuning, mss));
        Self {
            growth: tuning.growth,
            max: tuning.max.get(),
            size,
            ratio: if tuning.growth == Growth::FreeBsd14 { ALL } else { FIRST_RATIO },
            clamp: u64::MAX,
            soft: window,
            shift: 0,
            full: FIRST_FULL.min(mss),
            offered: mss,
            memory: 0,
            queued: 0,
            received: 1,
            round_trip: RoundTrip::default(),
            expected: 0,
            since: (1, Time::ZERO),
            now: Time::ZERO,
        }
    }

    /// The window of a SYN: whole segments (`tcp_select_initial_window`).
    pub(crate) fn first_window(tuning: &ReceiveTuning, mss: u64) -> u64 {
        let window = window_of(tuning.default.get(), FIRST_RATIO);
        let whole = if window > mss { window - window % mss } else { window };
        match tuning.growth {
            Growth::FreeBsd14 => tuning.default.get(),
            Growth::Linux4_19 => whole.min(first_window_segments(mss) * mss),
            _ => whole,
        }
    }

    /// Window scale that is offered: that of the largest buffer.
    pub(crate) fn shift(tuning: &ReceiveTuning) -> u8 {
        let space = tuning.max.get().max(tuning.default.get()).max(RMEM_MAX);
        let shift = space.ilog2().saturating_sub(15).min(14);
        u8::try_from(shift).unwrap_or_default()
    }

    /// The connection is open, with segments of `mss` bytes and a first window of `window`
    /// (`tcp_init_buffer_space`). Later windows are in steps of `1 << shift`.
    pub(crate) fn open(&mut self, now: Time, mss: u64, window: u64, shift: u8) {
        self.shift = shift;
        self.offered = mss;
        self.full = self.full.min(mss);
        if self.growth == Growth::FreeBsd14 {
            (self.clamp, self.soft, self.since) = (self.size, u64::MAX, (1, now));
            return;
        }
        if self.growth == Growth::Linux4_19 {
            // `tcp_fixup_rcvbuf`.
            let room = 8 * estimated_memory(mss) * first_window_segments(mss);
            (self.size, self.soft) = (self.size.max(room.min(self.max)), window);
        }
        let most = window_of(self.size, self.ratio);
        self.clamp = self.clamp.min(most);
        if self.clamp > 2 * mss && self.clamp + mss > most {
            self.clamp = (most - mss).max(2 * mss);
        }
        self.soft = self.soft.min(self.clamp);
        let first = if self.growth == Growth::Linux4_19 { window } else { FIRST_SEGMENTS * mss };
        self.expected = self.soft.min(window).min(first);
        self.since = (1, now);
        self.now = now;
    }

    /// Bytes of window that the memory allows now (`tcp_space`).
    fn free(&self) -> u64 {
        window_of(self.size.saturating_sub(self.memory), self.ratio)
    }

    /// Returns true if its memory is more than its size, so that not every segment is taken in.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.memory > self.size
    }

    /// Memory for a segment of `length` bytes of data, which is about to be queued. Returns false
    /// if there is none, and the segment is dropped (`tcp_try_rmem_schedule`).
    pub(crate) fn admits(&mut self, length: u64) -> bool {
        if !self.is_full() {
            return true;
        }
        // `tcp_clamp_window`.
        self.size = self.size.max(self.memory.min(self.max));
        if self.memory > self.size {
            self.soft = self.clamp.min(2 * self.offered);
        }
        // `tcp_collapse`.
        self.memory = self.memory.min((self.queued * COLLAPSED) >> 8);
        self.memory + memory_of(length) <= self.size
    }

    /// Returns true if the segment has brought data that was not there.
    pub(crate) fn is_news(&self, arrival: &Arrival) -> bool {
        arrival.received > self.received
    }

    /// A segment was queued, when the last ACK had offered `window`. Returns true if the window may
    /// grow, which the other end is to know soon.
    pub(crate) fn on_arrival(&mut self, now: Time, arrival: &Arrival, window: u64) -> bool {
        if self.growth == Growth::FreeBsd14 {
            self.on_arrival_of_bsd(now, arrival);
            return false;
        }
        self.now = now;
        let memory = memory_of(arrival.length);
        self.memory += memory;
        self.queued += arrival.received.saturating_sub(self.received);
        self.received = arrival.received;
        self.measure_segment(arrival.length, window);
        self.round_trip.measure(now, arrival, self.full);
        arrival.length >= LEAST_GROWING && self.grow(arrival.length, memory)
    }

    /// `tcp_autorcvbuf` of FreeBSD, which looks at data in order only.
    #[cold]
    fn on_arrival_of_bsd(&mut self, now: Time, arrival: &Arrival) {
        let news = arrival.received.saturating_sub(self.received);
        (self.memory, self.queued) = (self.memory + news, self.queued + news);
        self.received = arrival.received;
        self.full = self.full.max(arrival.length).min(self.offered);
        self.round_trip.measure(now, arrival, self.full);
        let rtt = self.round_trip.known();
        if arrival.next != arrival.received {
            return;
        }
        if rtt.is_none_or(|rtt| now.since(self.since.1) * 2 <= rtt) {
            self.expected += arrival.length;
            return;
        }
        if self.expected > self.size / 2 / 4 * 3 {
            self.size = (self.size + self.size / 2).min(self.max.max(self.size));
            self.clamp = self.size;
        }
        (self.expected, self.since.1) = (0, now);
    }

    /// `tcp_measure_rcv_mss`. `window` was advertised last.
    fn measure_segment(&mut self, length: u64, window: u64) {
        if length < self.full {
            return;
        }
        if length != self.full {
            let ratio = ratio_of(self.growth, length);
            if ratio != self.ratio {
                let before = std::mem::replace(&mut self.clamp, window_of(self.size, ratio));
                self.ratio = ratio;
                if self.growth == Growth::Linux6_18 {
                    // `tcp_set_window_clamp`.
                    self.soft = if self.clamp < before {
                        self.soft.min(self.clamp)
                    } else {
                        self.soft.max(window.min(self.clamp))
                    };
                }
                self.expected = self.expected.min(self.clamp);
            }
        }
        self.full = length.min(self.offered);
    }

    /// `tcp_grow_window`: what a segment of this memory adds to the soft limit.
    fn grow(&mut self, length: u64, memory: u64) -> bool {
        let room = self.clamp.min(self.free()).saturating_sub(self.soft);
        if room == 0 {
            return false;
        }
        let step = if window_of(memory, self.ratio) <= length {
            2 * self.offered
        } else {
            self.step_of_small(length, memory)
        };
        if step == 0 {
            return false;
        }
        self.soft += room.min(step.max(2 * length));
        true
    }

    /// `__tcp_grow_window`: a segment that costs more than its data grows the window while that is
    /// small.
    fn step_of_small(&self, length: u64, memory: u64) -> u64 {
        let mut memory = window_of(memory, self.ratio) >> 1;
        let mut window = window_of(self.max, self.ratio) >> 1;
        while self.soft <= window {
            if memory <= length {
                return 2 * self.full;
            }
            memory >>= 1;
            window >>= 1;
        }
        0
    }

    /// The application has read `bytes`, and everything up to `read`. `next` and `span` are those
    /// of the last segment.
    pub(crate) fn on_read(&mut self, bytes: u64, read: u64, next: u64, span: u64) {
        self.memory = match self.queued {
            queued if bytes >= queued => 0,
            queued => self.memory - self.memory * bytes / queued,
        };
        self.queued = self.queued.saturating_sub(bytes);
        self.adjust(read, next, span);
    }

    /// `tcp_rcv_space_adjust`.
    fn adjust(&mut self, read: u64, next: u64, span: u64) {
        let (from, since) = self.since;
        if self.round_trip.known().is_none_or(|rtt| self.now.since(since) < rtt) {
            return;
        }
        let copied = (read - from).saturating_sub(next - read);
        if copied > self.expected {
            let window = wanted(self.growth, self.expected, copied, self.offered, span);
            let size = self.space_for(window).min(self.max);
            if size > self.size {
                self.size = size;
                self.clamp = window_of(size, self.ratio);
            }
            self.expected = copied;
        }
        self.since = (read, self.now);
    }

    /// Memory for a window. Before 6.6 each of its segments counts with what it is likely to cost,
    /// in steps of 128 bytes.
    fn space_for(&self, window: u64) -> u64 {
        if !matches!(self.growth, Growth::Linux4_19 | Growth::Linux5_15) {
            return space_of(window, self.ratio);
        }
        let least = space_of(self.offered, self.ratio);
        let estimated = estimated_memory(self.offered);
        let each = estimated + least.saturating_sub(estimated).div_ceil(128) * 128;
        window / self.offered * each
    }

    /// The window to offer, of which `promised` bytes were offered before (`__tcp_select_window`,
    /// `tcp_select_window`).
    pub(crate) fn window(&self, promised: u64) -> u64 {
        let shift = self.shift;
        let allowed = window_of(self.size, self.ratio);
        let most = self.clamp.min(allowed);
        let full = self.full.min(most);
        let mut free = self.free();
        if free < most / 2 {
            free = free >> shift << shift;
            let is_little = free < allowed / 16 && self.growth != Growth::FreeBsd14;
            if is_little || free < full {
                return round_up(promised, shift);
            }
        }
        let free = free.min(self.soft);
        let window = if shift > 0 {
            round_up(free, shift)
        } else if promised + full <= free || promised > free {
            free - free % full.max(1)
        } else {
            promised
        };
        window.max(round_up(promised, shift))
    }

    /// The state that its user sees.
    pub(crate) fn state(&self) -> TunedBuffer {
        TunedBuffer { size: self.size, soft_limit: self.soft, in_round_trip: self.expected }
    }

    /// Bytes that have arrived and were not read.
    pub(crate) fn queued(&self) -> u64 {
        self.queued
    }

    /// Largest window that the buffer has now.
    pub(crate) fn clamp(&self) -> u64 {
        self.clamp
    }
}

fn round_up(window: u64, shift: u8) -> u64 {
    let step = 1 << shift;
    (window + (step - 1)) >> shift << shift
}

/// Window for `read` bytes in the last round trip and `before` in the one before it, with segments
/// of `mss` bytes and data above a gap over `span` bytes.
fn wanted(growth: Growth, before: u64, read: u64, mss: u64, span: u64) -> u64 {
    // The sender may double its rate in each round trip, and what is advertised now counts for the
    // next.
    let growing = |window: u64| window + 2 * (window * (read - before) / before.max(1));
    match growth {
        Growth::Linux4_19 | Growth::Linux5_15 | Growth::Linux6_12 => growing(2 * read + 16 * mss),
        Growth::Linux6_16 => 2 * read + span,
        Growth::Linux6_18 => growing(2 * read) + span,
        // It has a rule of its own.
        Growth::FreeBsd14 => 0,
    }
}

#[cfg(test)]
mod tests;
