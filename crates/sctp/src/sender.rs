//! Sender: TSNs, retransmissions, paths, and the window of the other end (RFC 9260 sections 6.1,
//! 6.3, 7.2 and 8).
//!
//! Where the RFC leaves a choice:
//! - a fast retransmission takes the path of the first transmission, one after a timeout an
//!   alternate path;
//! - Max.Burst limits the number of packets that one event releases;
//! - a zero window probe that a SACK has answered, without accepting it, does not change the
//!   window;
//! - what a gap block has acknowledged stays acknowledged, as no receiver here takes it back.

use std::collections::VecDeque;

use transport::{Counters, Exchange, Limit, RangeSet, Space};
use units::{Span, Time};

use crate::chunk::{Data, Flags, padded_data};
use crate::config::Config;
use crate::info::Events;
use crate::outbound::Outbound;
use crate::path::{Path, Reach};

mod sack;
mod timers;

pub(crate) use sack::Report;

/// State of a chunk that is not acknowledged cumulatively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// In the network, as far as is known.
    Sent,
    /// Waits for its fast retransmission.
    Missed,
    /// Waits for its retransmission after a timeout.
    TimedOut,
    /// A gap block has acknowledged it.
    Arrived,
}

/// A chunk that is not acknowledged cumulatively.
#[derive(Clone, Copy, Debug)]
struct Record {
    ppid: u32,
    stream: u16,
    ssn: u16,
    payload: u16,
    flags: Flags,
    /// Path of the last transmission.
    path: u8,
    /// Miss indications.
    misses: u8,
    fate: Fate,
    /// It was fast retransmitted. It is not a second time (section 7.2.4).
    was_fast: bool,
}

impl Record {
    /// Bytes of a congestion window that it takes.
    #[inline]
    fn bytes(&self) -> u64 {
        u64::from(padded_data(self.payload))
    }
}

/// Zero window probes (section 6.1 rule A).
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// When the first one is due.
    at: Time,
    /// One may leave.
    is_due: bool,
    /// One is in flight, alone.
    is_out: bool,
    /// A SACK has come since its last transmission.
    is_answered: bool,
}

/// The space that a packet has for chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) bytes: u16,
    /// The path of the packet, if it has one.
    pub(crate) path: Option<u8>,
    /// No DATA is in the packet.
    pub(crate) begins: bool,
    /// A chunk may be smaller than it need be, to fit.
    pub(crate) may_shrink: bool,
}

/// Sender of one end.
#[derive(Debug)]
pub(crate) struct Sender {
    mss: u16,
    paths: Vec<Path>,
    /// The path of new data.
    current: u8,
    outbound: Outbound,
    closing: bool,
    /// Everything below is acknowledged cumulatively.
    acknowledged: u64,
    /// Next TSN.
    next: u64,
    /// The chunks from `acknowledged` up to `next`.
    records: VecDeque<Record>,
    /// Chunks that wait for their retransmission, and those that a gap block has acknowledged.
    lost: RangeSet,
    /// Chunks below were sent when the last loss was found, which is repaired when all of them are
    /// acknowledged.
    repaired_at: u64,
    arrived: RangeSet,
    /// Miss indications of chunks below change nothing.
    settled: u64,
    /// Payload that is not acknowledged, neither cumulatively nor in a gap block.
    unacknowledged: u64,
    acknowledged_bytes: u64,
    /// Window of the other end behind `unacknowledged` bytes.
    window: u64,
    probe: Probe,
    /// End of fast recovery: everything below was sent when it began.
    recovery: Option<u64>,
    /// The next packet is a fast retransmission, which no window holds back (section 7.2.4), and
    /// the present one.
    is_fast: [bool; 2],
    /// Packets that the present event may still release.
    burst: u32,
    /// Timeouts in succession on all paths.
    errors: u32,
    counters: Counters,
    events: Events,
}

impl Sender {
    pub(crate) fn new(config: &Config, seed: u64) -> Self {
        let paths = (0..u64::from(config.paths.max(1))).map(|path| Path::new(config, seed + path));
        Self {
            mss: u16::try_from(config.mss).unwrap_or(u16::MAX),
            paths: paths.collect(),
            current: 0,
            outbound: Outbound::new(config),
            closing: false,
            acknowledged: 0,
            next: 0,
            records: VecDeque::new(),
            lost: RangeSet::default(),
            repaired_at: 0,
            arrived: RangeSet::default(),
            settled: 0,
            unacknowledged: 0,
            acknowledged_bytes: 0,
            window: 0,
            probe: Probe { at: Time::NEVER, is_due: false, is_out: false, is_answered: false },
            recovery: None,
            is_fast: [false; 2],
            burst: config.max_burst,
            errors: 0,
            counters: Counters::default(),
            events: Events::default(),
        }
    }

    pub(crate) fn write(&mut self, config: &Config, bytes: u64) {
        self.outbound.write(bytes);
        self.burst = config.max_burst;
    }

    pub(crate) fn send(&mut self, config: &Config, exchange: Exchange, bytes: u64) {
        self.outbound.send(exchange, bytes);
        self.burst = config.max_burst;
    }

    pub(crate) fn withdraw(&mut self) -> u64 {
        self.outbound.withdraw()
    }

    pub(crate) fn close(&mut self) {
        self.closing = true;
    }

    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    pub(crate) fn acknowledged_bytes(&self) -> u64 {
        self.acknowledged_bytes
    }

    pub(crate) fn current(&self) -> u8 {
        self.current
    }

    pub(crate) fn path(&self) -> &Path {
        &self.paths[usize::from(self.current)]
    }

    pub(crate) fn paths(&self) -> &[Path] {
        &self.paths
    }

    pub(crate) fn path_mut(&mut self, path: u8) -> &mut Path {
        &mut self.paths[usize::from(path)]
    }

    pub(crate) fn flight(&self) -> u64 {
        self.paths.iter().map(|path| path.flight).sum()
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn events(&self) -> &Events {
        &self.events
    }

    pub(crate) fn on_data_packet(&mut self) {
        self.events.data_packets += 1;
    }

    /// The application has written its last, and everything is acknowledged.
    pub(crate) fn is_finished(&self) -> bool {
        self.closing && self.is_idle()
    }

    /// Nothing waits and nothing is unacknowledged.
    pub(crate) fn is_idle(&self) -> bool {
        self.outbound.is_empty() && self.records.is_empty()
    }

    #[inline]
    pub(crate) fn may_send(&self) -> bool {
        !self.lost.is_empty() || !self.outbound.is_empty()
    }

    /// An event: a packet has arrived, or a deadline has come.
    #[inline]
    pub(crate) fn on_event(&mut self, config: &Config) {
        self.burst = config.max_burst;
    }

    /// The number of streams, and the window of the other end.
    pub(crate) fn set_up(&mut self, config: &Config, streams: u16, window: u32) {
        self.outbound.open(streams);
        self.window = u64::from(window);
        let ssthresh = self.window.min(config.initial_ssthresh.get());
        for path in &mut self.paths {
            path.window.set_ssthresh(ssthresh);
        }
    }

    /// The other end has fewer paths.
    pub(crate) fn limit_paths(&mut self, paths: u8) {
        self.paths.truncate(usize::from(paths.max(1)));
    }

    /// Data goes with a COOKIE ECHO on this path.
    pub(crate) fn carry(&mut self, path: u8) {
        self.current = if usize::from(path) < self.paths.len() { path } else { 0 };
    }

    /// No T3-rtx runs until the association is open.
    pub(crate) fn hold_timers(&mut self) {
        self.paths.iter_mut().for_each(|path| path.t3 = Time::NEVER);
    }

    /// The RTO of a path, or of that of new data if there is no such path.
    pub(crate) fn rto_of(&self, path: u8) -> Span {
        self.paths.get(usize::from(path)).unwrap_or(self.path()).rtt.rto()
    }

    /// The association is open, confirmed on `path`.
    pub(crate) fn begin(&mut self, now: Time, config: &Config, path: u8) {
        self.path_mut(path).reach = Reach::Active;
        for path in &mut self.paths {
            path.begin(now, config);
            if path.flight > 0 {
                path.start_t3(now);
            }
        }
        self.choose_path();
        self.events.path_changes = 0;
    }

    /// The association is over: nothing is sent any more.
    pub(crate) fn stop(&mut self) {
        self.paths.iter_mut().for_each(Path::stop);
        self.probe.at = Time::NEVER;
        self.lost = RangeSet::default();
        self.outbound.withdraw();
    }

    /// New data takes the primary path if it is active, or else the first one that is.
    fn choose_path(&mut self) {
        let active = self.paths.iter().position(|path| path.reach == Reach::Active);
        let chosen = u8::try_from(active.unwrap_or(0)).unwrap_or(0);
        self.events.path_changes += u64::from(chosen != self.current);
        self.current = chosen;
    }

    /// The path of a retransmission (section 6.4.1).
    #[cold]
    fn path_of_retransmission(&self, record: &Record) -> u8 {
        let is_active = |path: u8| self.paths[usize::from(path)].reach == Reach::Active;
        let last = record.path;
        if record.fate == Fate::Missed && is_active(last) {
            return last;
        }
        let alternate =
            (0..=u8::MAX).take(self.paths.len()).find(|path| *path != last && is_active(*path));
        alternate.unwrap_or(if is_active(last) { last } else { self.current })
    }

    /// The next DATA chunk of a packet, if the windows let one out. Returns its path too.
    #[inline]
    pub(crate) fn next_data(&mut self, now: Time, wire: Space, slot: Slot) -> Option<(u8, Data)> {
        if slot.begins {
            if self.burst == 0 && !self.is_fast[0] {
                return None;
            }
            self.is_fast = [false, self.is_fast[0]];
        }
        let taken =
            if self.lost.is_empty() { self.next_new(now, slot) } else { self.next_lost(now, slot) };
        let Some(number) = taken else {
            // The permission of a fast retransmission lasts until it is used.
            self.is_fast[0] |= slot.begins && self.is_fast[1] && !self.lost.is_empty();
            return None;
        };
        if slot.begins {
            self.burst = self.burst.saturating_sub(1);
        }
        let Record { ppid, stream, ssn, payload, flags, path, .. } = *self.record(number);
        self.counters.segments += 1;
        self.counters.bytes += u64::from(payload);
        let is_last = self.closing && self.outbound.is_empty() && number + 1 == self.next;
        let flags = flags.with_if(is_last || self.probe.is_out, Flags::IMMEDIATE);
        Some((path, Data { tsn: wire.wrap(number), ppid, stream, ssn, payload, flags }))
    }

    #[inline]
    fn next_new(&mut self, now: Time, slot: Slot) -> Option<u64> {
        let mut most = self.mss;
        if slot.may_shrink {
            most = most.min(slot.bytes.saturating_sub(padded_data(0)) & !3);
        }
        let payload = self.outbound.peek(most)?;
        let is_elsewhere = slot.path.is_some_and(|path| path != self.current);
        if is_elsewhere || padded_data(payload) > slot.bytes {
            return None;
        }
        let flight = self.path().flight;
        if !self.path().window.admits(flight) || !self.fits(now, payload) {
            return None;
        }
        let piece = self.outbound.take(most)?;
        let number = self.next;
        self.next += 1;
        let record = Record {
            ppid: piece.ppid,
            stream: piece.stream,
            ssn: piece.ssn,
            payload: piece.payload,
            flags: piece.flags,
            path: self.current,
            misses: 0,
            fate: Fate::Sent,
            was_fast: false,
        };
        self.records.push_back(record);
        self.unacknowledged += u64::from(piece.payload);
        let path = &mut self.paths[usize::from(self.current)];
        path.window.on_sent(now, path.rtt.rto(), flight);
        path.measured.get_or_insert((number, now));
        path.on_used(now);
        Self::on_flight(path, now, record.bytes());
        Some(number)
    }

    /// Returns true if the other end has space for `payload` more. If it has none, the time of a
    /// probe is set.
    #[inline]
    fn fits(&mut self, now: Time, payload: u16) -> bool {
        if self.unacknowledged + u64::from(payload) <= self.window {
            self.probe.at = Time::NEVER;
            self.probe.is_due = false;
            return true;
        }
        self.probes(now)
    }

    #[cold]
    fn probes(&mut self, now: Time) -> bool {
        if !self.records.is_empty() {
            return false;
        }
        if self.probe.is_due {
            self.probe = Probe { at: Time::NEVER, is_due: false, is_out: true, is_answered: false };
            return true;
        }
        if self.probe.at == Time::NEVER {
            self.probe.at = now + self.path().rtt.rto();
        }
        false
    }

    /// The lowest chunk that waits for its retransmission.
    #[cold]
    fn next_lost(&mut self, now: Time, slot: Slot) -> Option<u64> {
        let number = loop {
            let number = self.lost.first()?.start;
            // It may have arrived since.
            if self.record(number).fate != Fate::Arrived {
                break number;
            }
            self.lost.remove_below(number + 1);
            if self.lost.is_empty() {
                return self.next_new(now, slot);
            }
        };
        let record = *self.record(number);
        let target = self.path_of_retransmission(&record);
        let is_elsewhere = slot.path.is_some_and(|path| path != target);
        if is_elsewhere || padded_data(record.payload) > slot.bytes {
            return None;
        }
        let is_first = number == self.acknowledged && record.fate == Fate::Missed;
        let path = &mut self.paths[usize::from(target)];
        if !path.window.admits(path.flight) && !self.is_fast[1] {
            return None;
        }
        self.lost.remove_below(number + 1);
        if is_first {
            // It is the first outstanding one (section 7.2.4).
            path.t3 = Time::NEVER;
        }
        path.window.on_sent(now, path.rtt.rto(), path.flight.max(1));
        Self::on_flight(path, now, record.bytes());
        let was_fast = record.was_fast || record.fate == Fate::Missed;
        let fate = Fate::Sent;
        *self.record_mut(number) = Record { path: target, misses: 0, fate, was_fast, ..record };
        self.counters.retransmissions += 1;
        Some(number)
    }

    /// The limit that holds the open association back. There is no send buffer.
    pub(crate) fn limit(&self) -> Limit {
        if self.is_idle() {
            return if self.next == 0 { Limit::Uncounted } else { Limit::Idle };
        }
        if self.acknowledged < self.repaired_at {
            return Limit::Recovery;
        }
        let Some(payload) = self.outbound.peek(self.mss) else { return Limit::Application };
        let path = self.path();
        let is_full = self.unacknowledged + u64::from(payload) > self.window;
        // All else is the bound of packets that one event may release (`max_burst`).
        if path.window.admits(path.flight) && is_full {
            Limit::ReceiveWindow
        } else {
            Limit::CongestionWindow
        }
    }

    fn on_flight(path: &mut Path, now: Time, bytes: u64) {
        path.flight += bytes;
        if path.t3 == Time::NEVER {
            path.start_t3(now);
        }
    }

    /// The interval of the first retransmission of what opens or ends the association.
    pub(crate) fn rto(&self) -> Span {
        self.path().rtt.rto()
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are that many records")]
    fn record(&self, number: u64) -> &Record {
        &self.records[(number - self.acknowledged) as usize]
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are that many records")]
    fn record_mut(&mut self, number: u64) -> &mut Record {
        &mut self.records[(number - self.acknowledged) as usize]
    }
}
