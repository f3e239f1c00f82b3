//! One direction of a connection in the spoofing proxy: promises, copies and repairs.

use std::collections::VecDeque;

use units::{Span, Time};
use wire::tcp::flags;

use super::SpoofingSettings;
use crate::header::{Header, Visible, is_after, is_before, latest, renewed};

/// Weight of a sample in srtt, and in rttvar (RFC 6298).
const GAIN: f64 = 0.125;
const VARIANCE_GAIN: f64 = 0.25;
/// Timeout before the first sample (RFC 6298 section 2).
const FIRST_TIMEOUT: Span = Span::from_secs(1);
/// Expiries of the timer in a row after which the gateway waits for an ACK, as Linux's
/// `tcp_retries2`.
const MOST_EXPIRIES: u32 = 15;
/// The most retransmissions for one ACK.
const REPAIRS: usize = 2;
/// Bytes of the longest segment: the length of an IP packet has 16 bits (RFC 791 section 3.1).
const LONGEST: u32 = 65_535;

/// A segment that was forwarded.
#[derive(Clone, Debug)]
pub(super) struct Copied<P> {
    pub(super) sequence: u32,
    pub(super) end: u32,
    /// `None` when the gateway has died.
    pub(super) packet: Option<P>,
    pub(super) sent: Time,
    pub(super) retries: u32,
    pub(super) sacked: bool,
    pub(super) promised: bool,
}

/// One direction of a connection.
#[derive(Clone, Debug)]
pub(super) struct Flow<P> {
    /// The window scale of the receiver, once its SYN has passed; zero if one of both had none.
    pub(super) scale: Option<u8>,
    pub(super) own_scale: Option<Option<u8>>,
    /// The receiver's last segment, from which ACKs are made.
    pub(super) template: Option<(u32, P)>,
    /// The receiver counts marks in AE, CWR and ECE (RFC 9768), which it has shown by AE.
    counts_marks: bool,
    /// The report of marks on the last ACK of the receiver that was forwarded.
    reported: u8,
    /// The latest timestamp value of the sender.
    pub(super) timestamp: Option<u32>,
    /// The number behind the data in order of which there are copies.
    pub(super) next: u32,
    /// The highest number that the sender was sent.
    pub(super) promised: u32,
    /// The highest number of the receiver, and the end of its window.
    pub(super) acknowledged: u32,
    pub(super) window_end: u32,
    /// End of the window that the sender was sent.
    pub(super) offered: u32,
    /// Copies in the order of their numbers.
    pub(super) copies: VecDeque<Copied<P>>,
    /// Number of copies that the receiver has reported.
    sacked: usize,
    pub(super) duplicates: u32,
    /// Until this number is acknowledged, each partial ACK retransmits.
    pub(super) recover: Option<u32>,
    pub(super) srtt: Option<f64>,
    pub(super) rttvar: f64,
    pub(super) expiries: u32,
    pub(super) expires: Time,
}

/// Counts of all flows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) promised: u64,
    pub(super) kept: u64,
    /// Promises of connections that were reset.
    pub(super) reset: u64,
    pub(super) retransmitted: u64,
    pub(super) suppressed: u64,
}

impl<P: Visible> Flow<P> {
    /// The direction of data of the end that has sent this SYN.
    pub(super) fn new(syn: &Header) -> Self {
        let first = syn.sequence.wrapping_add(1);
        Self {
            scale: None,
            own_scale: Some(syn.window_scale),
            template: None,
            counts_marks: false,
            reported: 0,
            timestamp: None,
            next: first,
            promised: first,
            acknowledged: first,
            window_end: first,
            offered: first,
            copies: VecDeque::new(),
            sacked: 0,
            duplicates: 0,
            recover: None,
            srtt: None,
            rttvar: 0.0,
            expiries: 0,
            expires: Time::NEVER,
        }
    }

    fn timeout(&self, settings: &SpoofingSettings) -> Span {
        let own =
            self.srtt.map_or(FIRST_TIMEOUT, |srtt| Span::from_secs_f64(srtt + 4.0 * self.rttvar));
        own.max(settings.min_timeout) * (1 << self.expiries.min(6))
    }

    pub(super) fn restart_timer(&mut self, now: Time, settings: &SpoofingSettings) {
        let waits = !self.copies.is_empty() && self.expiries < MOST_EXPIRIES;
        self.expires = if waits { now + self.timeout(settings) } else { Time::NEVER };
    }

    /// Place of the first copy at `sequence` or behind it.
    fn place(&self, sequence: u32) -> usize {
        self.copies.partition_point(|copy| is_before(copy.sequence, sequence))
    }

    /// Place from which on copies may end behind `number`.
    fn place_behind(&self, number: u32) -> usize {
        self.place(number.wrapping_sub(LONGEST))
    }

    /// Keeps a copy of a segment.
    fn keep(&mut self, now: Time, header: &Header, packet: &P) {
        let (sequence, end) = (header.sequence, header.end());
        let place = self.place(sequence);
        let mut same = self.copies.range_mut(place..).take_while(|copy| copy.sequence == sequence);
        if let Some(copy) = same.find(|copy| copy.end == end) {
            copy.sent = now;
            return;
        }
        let copy = Copied {
            sequence,
            end,
            packet: Some(packet.clone()),
            sent: now,
            retries: 0,
            sacked: false,
            promised: false,
        };
        self.copies.insert(place, copy);
    }

    /// End of the window that the sender may have.
    fn end_of_window(&self, settings: &SpoofingSettings) -> u32 {
        let store = u32::try_from(settings.store.get()).unwrap_or(u32::MAX);
        let own = self.acknowledged.wrapping_add(store);
        if is_before(own, self.window_end) { own } else { self.window_end }
    }

    /// The ACK for the sender of all that is promised.
    fn ack(&mut self, settings: &SpoofingSettings, echo: Option<u32>) -> Option<P> {
        let end = self.end_of_window(settings);
        let open = match is_after(end, self.promised) {
            true => end.wrapping_sub(self.promised),
            false => 0,
        };
        let scale = self.scale.unwrap_or(0);
        let field = u16::try_from(open >> scale).unwrap_or(u16::MAX);
        let (_, template) = self.template.as_ref()?;
        let ack = template.pure_ack(self.promised, echo, Some(field))?;
        self.offered = self.promised.wrapping_add(u32::from(field) << scale);
        Some(ack)
    }

    /// Data to the receiver. Returns the ACK that it draws, and whether it is forwarded.
    pub(super) fn on_data(
        &mut self,
        now: Time,
        header: &Header,
        packet: &P,
        settings: &SpoofingSettings,
        counts: &mut Counts,
    ) -> (Option<P>, bool) {
        let end = header.end();
        let echo = header.timestamps.map(|(value, _)| value);
        self.timestamp = latest(self.timestamp, header);
        let is_promised = !is_after(end, self.promised);
        if is_promised && is_after(self.promised, self.acknowledged) {
            return (self.ack(settings, echo), false);
        }
        let store = settings.store.get();
        let has_room = u64::from(end.wrapping_sub(self.acknowledged)) <= store
            && is_after(end, self.acknowledged);
        if !has_room || header.has(flags::FIN) || self.template.is_none() {
            return (None, true);
        }
        self.keep(now, header, packet);
        if self.expires == Time::NEVER {
            self.restart_timer(now, settings);
        }
        for copy in self.copies.range(self.place_behind(self.next)..) {
            if is_after(copy.sequence, self.next) {
                break;
            }
            if is_after(copy.end, self.next) {
                self.next = copy.end;
            }
        }
        if !is_after(self.next, self.promised) {
            return (None, true);
        }
        let first = self.place_behind(self.promised);
        self.promised = self.next;
        for copy in self.copies.range_mut(first..) {
            if !copy.promised && !is_after(copy.end, self.promised) {
                copy.promised = true;
                counts.promised += 1;
            }
        }
        (self.ack(settings, echo), true)
    }

    /// Takes an acknowledgement of the receiver to account. Returns whether it acknowledges new
    /// data.
    pub(super) fn on_number(&mut self, now: Time, header: &Header, counts: &mut Counts) -> bool {
        let number = header.acknowledgement;
        if !is_after(number, self.acknowledged) {
            return false;
        }
        self.acknowledged = number;
        let mut newest: Option<(Time, bool)> = None;
        while let Some(first) = self.copies.front().filter(|copy| !is_after(copy.end, number)) {
            let is_clean = first.retries == 0;
            newest = Some((first.sent, newest.is_none_or(|(_, clean)| clean) && is_clean));
            counts.kept += u64::from(first.promised);
            self.sacked -= usize::from(first.sacked);
            self.copies.pop_front();
        }
        if let Some((sent, true)) = newest {
            let sample = now.since(sent).as_secs_f64();
            match self.srtt {
                None => (self.srtt, self.rttvar) = (Some(sample), sample / 2.0),
                Some(srtt) => {
                    self.rttvar += VARIANCE_GAIN * ((sample - srtt).abs() - self.rttvar);
                    self.srtt = Some(srtt + GAIN * (sample - srtt));
                }
            }
        }
        for place in [&mut self.next, &mut self.promised] {
            if is_after(number, *place) {
                *place = number;
            }
        }
        (self.duplicates, self.expiries) = (0, 0);
        self.recover = self.recover.filter(|recover| is_before(number, *recover));
        true
    }

    /// Retransmits copies that are lost, at most two.
    ///
    /// A copy is retransmitted again when its repair should have been acknowledged. This wait
    /// doubles each time: srtt has no samples from retransmitted copies, so it stays too short when
    /// the queue of the hop fills, and needless repairs would fill it further.
    fn repair(&mut self, now: Time, settings: &SpoofingSettings, out: &mut Vec<P>) -> u64 {
        let again = Span::from_secs_f64(1.25 * self.srtt.unwrap_or(1.0));
        let mut behind = self.sacked;
        let threshold = settings.dupacks as usize;
        let is_recovering = self.recover.is_some();
        let mut made = 0;
        for (place, copy) in self.copies.iter_mut().enumerate() {
            if made == REPAIRS || (behind < threshold && place > 0) {
                break;
            }
            behind -= usize::from(copy.sacked);
            let is_lost = behind >= threshold || (place == 0 && is_recovering);
            let wait = again * (1 << copy.retries.saturating_sub(1).min(6));
            let may_be_sent = copy.retries == 0 || now.since(copy.sent) >= wait;
            if !is_lost || copy.sacked || !may_be_sent {
                continue;
            }
            let Some(packet) = &copy.packet else { continue };
            out.push(renewed(packet, self.timestamp));
            (copy.retries, copy.sent) = (copy.retries + 1, now);
            made += 1;
        }
        if made > 0 {
            self.restart_timer(now, settings);
        }
        made as u64
    }

    /// An ACK of the receiver. Returns what the sender gets.
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        header: &Header,
        packet: P,
        settings: &SpoofingSettings,
        counts: &mut Counts,
        out: &mut Vec<P>,
    ) -> Option<P> {
        if self.template.as_ref().is_none_or(|(end, _)| !is_before(header.end(), *end)) {
            self.template = Some((header.end(), packet.clone()));
        }
        let number = header.acknowledgement;
        let scale = self.scale.unwrap_or(0);
        let window_end = number.wrapping_add(u32::from(header.window) << scale);
        let is_same_window = window_end == self.window_end;
        if is_after(window_end, self.window_end) {
            self.window_end = window_end;
        }
        let blocks = header.sack.as_slice();
        for (start, end) in blocks {
            let place = self.place(*start);
            let inside = |copy: &&mut Copied<P>| is_before(copy.sequence, *end);
            for copy in self.copies.range_mut(place..).take_while(inside) {
                if !copy.sacked && !is_after(copy.end, *end) {
                    copy.sacked = true;
                    self.sacked += 1;
                }
            }
        }
        let was_promised = self.promised;
        let is_new = self.on_number(now, header, counts);
        if is_new {
            self.restart_timer(now, settings);
        } else if number == self.acknowledged
            && header.is_pure_ack()
            && (is_same_window || !blocks.is_empty())
            && !self.copies.is_empty()
        {
            self.duplicates += 1;
            if self.duplicates >= settings.dupacks && self.recover.is_none() {
                self.recover = self.copies.back().map(|last| last.end);
            }
        }
        counts.retransmitted += self.repair(now, settings, out);
        let is_open = is_after(self.promised, number);
        let report = header.congestion_flags();
        self.counts_marks |= header.accurate;
        let says_marks = if self.counts_marks { report != self.reported } else { report != 0 };
        if !header.is_pure_ack() || header.has_more || says_marks {
            self.reported = report;
            return Some(packet);
        }
        if !is_open {
            // What the receiver says itself, but with the window of the store.
            let needs_less = is_after(window_end, self.end_of_window(settings));
            let made = match needs_less && is_after(number, was_promised) {
                true => self.ack(settings, None),
                false => None,
            };
            return Some(made.unwrap_or(packet));
        }
        // The sender may wait for a larger window.
        let end = self.end_of_window(settings);
        let store = u32::try_from(settings.store.get()).unwrap_or(u32::MAX);
        let larger = is_after(end, self.offered).then(|| end.wrapping_sub(self.offered));
        if larger.is_some_and(|larger| larger >= (store / 4).max(1 << scale)) {
            return self.ack(settings, None);
        }
        counts.suppressed += 1;
        None
    }
}

/// Promised segments that the receiver has not acknowledged.
pub(super) fn open<P>(flow: &Flow<P>) -> u64 {
    flow.copies.iter().filter(|copy| copy.promised).count() as u64
}
