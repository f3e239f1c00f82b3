//! The receiving half of a connection: reassembly, acknowledgements and the advertised window.
//! `quick` has the timing of ACKs as in Linux.

mod quick;

use crate::config::{AckTiming, Recovery};
use units::{Span, Time};

use crate::config::Config;
use crate::segment::MAX_SACK_BLOCKS;
use transport::Range;
use transport::Reassembly;

use quick::Timing;

pub(crate) use quick::{LONGEST_DELAY, MOST_QUICK, Path, QUICK_AFTER_MARK};

const NOTHING: Range = Range { start: 0, end: 0 };

/// RFC 9293 section 3.7.1.
const SMALLEST_FULL: u64 = 536;

/// The receiving half. Sequence numbers are 64 bits; the SYN is 0 and the first byte is 1.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// Payload of a full segment (Eff.snd.MSS of RFC 9293 section 3.7.1).
    mss: u64,
    /// Next number expected (RCV.NXT).
    next: u64,
    /// Bytes that the application has read, plus one.
    read: u64,
    /// Behind the last number that the other end may send (RCV.NXT + RCV.WND). Never moves back.
    right_edge: u64,
    /// The window that was advertised last, while nothing has changed what it depends on.
    advertised: Option<u64>,
    /// Number of the FIN, once it is known; beyond all others until then.
    fin: u64,
    /// Bytes received in order and not acknowledged.
    unacknowledged: u64,
    /// So many of them make an ACK due at once.
    ack_from: u64,
    /// Payload of a full-sized segment of the other end: the largest that has arrived (as Linux,
    /// `tcp_measure_rcv_mss`), at first that of an end that names no MSS.
    full: u64,
    /// An ACK is due at once.
    ack_now: bool,
    /// An ACK is due at this time.
    ack_at: Time,
    /// How long an ACK waits at most.
    ack_delay: Span,
    /// When ACKs are due as in Linux.
    timing: Option<Box<Timing>>,
    /// Duplicate data since the last ACK; empty if there is none.
    duplicate: Range,
    /// Data above a gap; `None` while there is no gap.
    gaps: Option<Box<Reassembly<MAX_SACK_BLOCKS>>>,
}

impl Receiver {
    pub(crate) fn new(config: &Config, window_limit: u64) -> Self {
        let full = u64::from(config.mss).min(SMALLEST_FULL);
        Self {
            mss: u64::from(config.mss),
            next: 0,
            read: 1,
            right_edge: 1 + config.receive_buffer.get().min(window_limit),
            advertised: None,
            fin: u64::MAX,
            unacknowledged: 0,
            ack_from: bytes_of_an_ack(config, full),
            full,
            ack_now: false,
            ack_at: Time::NEVER,
            ack_delay: config.delayed_ack.longest(),
            timing: (config.delayed_ack == AckTiming::Linux).then(Box::default),
            duplicate: NOTHING,
            gaps: None,
        }
    }

    /// The other end's SYN arrived.
    pub(crate) fn syn_received(&mut self) {
        self.next = 1;
        self.advertised = None;
    }

    /// Both ends have agreed on a segment size.
    pub(crate) fn agree_on_mss(&mut self, mss: u64) {
        self.mss = mss;
        self.advertised = None;
    }

    /// Next number expected.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Returns true if everything up to and including the FIN has arrived.
    pub(crate) fn finished(&self) -> bool {
        self.next > self.fin
    }

    /// Bytes that the application has read.
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        self.read - 1
    }

    /// Bytes that wait for the application.
    #[inline]
    pub(crate) fn unread(&self) -> u64 {
        self.in_order() - self.delivered()
    }

    /// Bytes received in order.
    #[inline]
    fn in_order(&self) -> u64 {
        self.next.saturating_sub(1 + u64::from(self.finished()))
    }

    /// The next data arrived, and all of it lies in the window.
    #[inline]
    pub(crate) fn on_next_data(&mut self, now: Time, config: &Config, length: u64) {
        if self.gaps.is_some() || self.fin != u64::MAX {
            self.on_data(now, config, self.next, length, false);
            return;
        }
        self.next += length;
        self.advertised = None;
        if config.reads_at_once {
            self.read = self.next;
        }
        self.count_for_ack(now, config, length);
    }

    /// Data arrived: `length` bytes at `start`, then a FIN or not.
    #[inline(never)]
    pub(crate) fn on_data(
        &mut self,
        now: Time,
        config: &Config,
        start: u64,
        length: u64,
        fin: bool,
    ) {
        let reached = start + length;
        if fin && reached <= self.right_edge {
            self.note_fin(reached);
        }
        // What lies beyond the window or behind the FIN is no data.
        let last = reached.min(self.right_edge).min(self.fin);
        let end = last + u64::from(fin && reached == self.fin);
        if end <= self.next || start >= end {
            // Old data, or data beyond the window: say again what is expected (RFC 9293 section
            // 3.10.7.4).
            self.ack_now = true;
            self.note_duplicate(start, end);
            if start < self.next {
                self.hurry_acks(MOST_QUICK);
            }
        } else if start <= self.next {
            self.note_duplicate(start, self.next);
            self.on_data_in_order(now, config, end);
        } else {
            self.on_data_above_a_gap(start, end);
        }
    }

    /// The stream ends at `end`, if that is possible: there is one end, and nothing has arrived
    /// behind it.
    #[cold]
    fn note_fin(&mut self, end: u64) {
        let highest = self.gaps.as_ref().and_then(|gaps| gaps.end()).unwrap_or(0).max(self.next);
        if self.fin == u64::MAX && end >= highest {
            self.fin = end;
        }
    }

    /// What lies below the next number expected has arrived for the second time.
    pub(crate) fn note_duplicate(&mut self, start: u64, end: u64) {
        let end = end.min(self.next);
        if start < end {
            self.duplicate = Range { start, end };
        }
    }

    /// Behind the last number that the other end may send.
    #[inline]
    pub(crate) fn right_edge(&self) -> u64 {
        self.right_edge
    }

    /// A probe brought data. Its answer tells so, and all that is due besides stays due: the answer
    /// is of low priority and may not arrive.
    pub(crate) fn on_probe_data(&mut self, now: Time, config: &Config, start: u64, length: u64) {
        let due = self.ack_due();
        self.on_data(now, config, start, length, false);
        self.keep_ack_due(due);
    }

    /// What is due of ACKs: at once or when, and for how many bytes.
    pub(crate) fn ack_due(&self) -> (bool, Time, u64) {
        (self.ack_now, self.ack_at, self.unacknowledged)
    }

    /// Whatever was acknowledged meanwhile, the same ACK is still due.
    pub(crate) fn keep_ack_due(&mut self, due: (bool, Time, u64)) {
        (self.ack_now, self.ack_at, self.unacknowledged) = due;
    }

    #[inline]
    fn on_data_in_order(&mut self, now: Time, config: &Config, end: u64) {
        let length = end - self.next;
        self.next = end;
        self.advertised = None;
        if self.gaps.is_some() {
            self.close_gap();
        }
        if config.reads_at_once {
            self.read = 1 + self.in_order();
        }
        self.count_for_ack(now, config, length);
        self.ack_now |= self.finished();
    }

    /// Data arrived in order: an ACK is due now or later.
    #[inline]
    fn count_for_ack(&mut self, now: Time, config: &Config, length: u64) {
        if length > self.full {
            self.note_full_segment(config, length);
        }
        self.unacknowledged += length;
        if self.unacknowledged >= self.ack_from {
            self.ack_now = true;
        } else if self.ack_at == Time::NEVER {
            self.ack_at = now + self.ack_delay;
        }
    }

    #[cold]
    fn note_full_segment(&mut self, config: &Config, length: u64) {
        self.full = self.full.max(length.min(self.mss));
        self.ack_from = bytes_of_an_ack(config, self.full);
    }

    /// A segment that fills a gap, all of it or a part, is acknowledged at once (RFC 5681 section
    /// 4.2).
    fn close_gap(&mut self) {
        self.ack_now = true;
        if let Some(gaps) = &mut self.gaps {
            self.next = gaps.advance(self.next);
            if gaps.is_empty() {
                self.gaps = None;
            }
        }
    }

    /// Data above a gap is acknowledged at once: a duplicate ACK (RFC 5681 section 4.2).
    fn on_data_above_a_gap(&mut self, start: u64, end: u64) {
        self.ack_now = true;
        let gaps = self.gaps.get_or_insert_default();
        if let Some(twice) = gaps.overlap(start, end) {
            self.duplicate = twice;
        }
        gaps.insert(start, end);
    }

    /// What arrived for the second time since the last ACK, to be reported once (RFC 2883
    /// section 4).
    pub(crate) fn take_duplicate(&mut self) -> Option<Range> {
        let duplicate = std::mem::replace(&mut self.duplicate, NOTHING);
        (duplicate.start < duplicate.end).then_some(duplicate)
    }

    /// The ranges for SACK blocks, the most important first.
    pub(crate) fn sack_ranges(&self) -> impl Iterator<Item = Range> {
        self.gaps.iter().flat_map(|gaps| gaps.reported())
    }

    #[inline]
    pub(crate) fn has_gaps(&self) -> bool {
        self.gaps.is_some()
    }

    /// Whether [`time_ack`](Self::time_ack) is to be called for data.
    #[inline]
    pub(crate) fn times_acks(&self) -> bool {
        self.timing.is_some()
    }

    /// A segment has been taken in: `length` bytes, in order where `in_order`. Decides when it is
    /// acknowledged, where Linux does not do so after a fixed time.
    #[cold]
    pub(crate) fn time_ack(
        &mut self,
        now: Time,
        config: &Config,
        path: Path,
        length: u64,
        push: bool,
        in_order: bool,
    ) {
        let (window, timer) = (self.last_window(), self.ack_at);
        let Some(timing) = &mut self.timing else { return };
        if !in_order {
            return;
        }
        self.full = timing.measure(length, self.full, push);
        timing.on_data(now, path.rto, window, self.full);
        let delay = timing.delay(path);
        // Where nobody reads, the ACK of two segments would take window back.
        let free = (self.read + config.receive_buffer.get()).saturating_sub(self.next);
        self.ack_now |= self.unacknowledged > self.full && free >= window;
        // A timer that is about to expire counts as expired, and no timer is put off.
        let expires = timer <= now + Span::from_nanos(delay.as_nanos() / 4);
        self.ack_now |= timing.is_quick() || expires;
        self.ack_at = timer.min(now + delay);
        if config.reads_at_once {
            self.ack_now |= timing.reading_acknowledges();
        }
    }

    /// The sender may depend on the next `most` ACKs, which Linux therefore sends at once.
    pub(crate) fn hurry_acks(&mut self, most: u32) {
        let (window, full) = (self.last_window(), self.full);
        if let Some(timing) = &mut self.timing {
            timing.hurry(most, window, full);
        }
    }

    /// Data arrived that routers may have marked or not.
    pub(crate) fn note_markable(&mut self, markable: bool) {
        if self.timing.as_mut().is_some_and(|timing| timing.hurries_after(markable)) {
            self.hurry_acks(QUICK_AFTER_MARK);
        }
    }

    /// Data is about to be sent, which carries an ACK.
    #[inline]
    pub(crate) fn data_sent(&mut self, now: Time) {
        if let Some(timing) = &mut self.timing {
            timing.on_data_sent(now);
        }
    }

    /// The window as the last ACK had it.
    fn last_window(&self) -> u64 {
        (self.right_edge + self.unacknowledged).saturating_sub(self.next)
    }

    /// The application reads `bytes`, which must be there.
    pub(crate) fn read(&mut self, config: &Config, bytes: u64) {
        self.read += bytes;
        self.advertised = None;
        if self.timing.is_some() {
            self.ack_now |= self.reading_sends_ack(config);
            return;
        }
        // A window update is worth a segment of its own when it opens the window by two segments
        // or by half the buffer; RFC 9293 section 3.8.6.2.2 leaves the moment open.
        let opened = self.offered_edge(config) - self.right_edge;
        if opened >= (2 * self.mss).min(config.receive_buffer.get() / 2) {
            self.ack_now = true;
        }
    }

    /// Whether Linux sends an ACK after the application has read (`__tcp_cleanup_rbuf`): one that
    /// waits, or one that at least doubles the window.
    fn reading_sends_ack(&self, config: &Config) -> bool {
        let waits = self.ack_at != Time::NEVER;
        let ends = self.timing.as_ref().is_some_and(|timing| timing.reading_acknowledges());
        let answers = self.unacknowledged > self.full || (ends && self.unread() == 0);
        let buffer = config.receive_buffer.get();
        let window = self.right_edge.saturating_sub(self.next);
        let free = self.offered_edge(config).saturating_sub(self.next);
        // Less is not worth a window at all (`__tcp_select_window`).
        let is_worth_it = free >= self.mss.max(buffer / 16).min(buffer);
        (waits && answers) || (is_worth_it && 2 * window <= buffer && free >= 2 * window)
    }

    /// The window to advertise in bytes, in steps of `1 << shift`. Both it and the limit are those
    /// of the connection, always the same.
    #[inline]
    pub(crate) fn window(&mut self, config: &Config, shift: u8, window_limit: u64) -> u64 {
        match self.advertised {
            Some(window) => window,
            None => self.next_window(config, shift, window_limit),
        }
    }

    #[inline]
    fn next_window(&mut self, config: &Config, shift: u8, window_limit: u64) -> u64 {
        let edge = self.offered_edge(config).min(self.next + window_limit);
        // Receiver's silly window avoidance (RFC 9293 section 3.8.6.2.2).
        let step = (config.receive_buffer.get() / 2).min(self.mss);
        let edge = if edge >= self.right_edge + step { edge } else { self.right_edge };
        let window = (edge.saturating_sub(self.next) >> shift) << shift;
        self.right_edge = self.right_edge.max(self.next + window);
        self.advertised = Some(window);
        window
    }

    fn offered_edge(&self, config: &Config) -> u64 {
        (self.read + config.receive_buffer.get()).max(self.right_edge)
    }

    /// An ACK is due at once.
    pub(crate) fn request_ack(&mut self) {
        self.ack_now = true;
    }

    /// An ACK has been sent, alone or with data.
    #[inline]
    pub(crate) fn ack_sent(&mut self) {
        if let Some(timing) = &mut self.timing {
            timing.on_ack_sent(self.ack_now || self.ack_at != Time::NEVER);
        }
        self.ack_now = false;
        self.ack_at = Time::NEVER;
        self.unacknowledged = 0;
    }

    #[inline]
    pub(crate) fn ack_is_due(&self) -> bool {
        self.ack_now
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.ack_at
    }

    /// The delayed ACK timer expired. `rto` is that of this end's data.
    pub(crate) fn on_deadline(&mut self, rto: Span) {
        if let Some(timing) = &mut self.timing {
            timing.on_waited(rto);
        }
        self.ack_now = true;
        self.ack_at = Time::NEVER;
    }
}

/// How many bytes make an ACK due at once: so many full-sized segments (RFC 5681 section 4.2). Linux
/// does not wait for the last of them to be full (`__tcp_ack_snd_check`); with its timing of ACKs
/// [`Receiver::time_ack`] decides.
fn bytes_of_an_ack(config: &Config, full: u64) -> u64 {
    let segments = match config.delayed_ack {
        AckTiming::Fixed(delayed) => u64::from(delayed.segments),
        AckTiming::Linux => return u64::MAX,
    };
    if segments <= 1 || config.recovery == Recovery::Linux {
        segments.saturating_sub(1) * full + 1
    } else {
        segments * full
    }
}

/// For tests: what has to hold between the numbers of a receiver.
#[cfg(test)]
impl Receiver {
    pub(crate) fn recount(&self, config: &Config) {
        assert!(self.read <= self.next.max(1), "{} read of {}", self.read, self.next);
        assert!(self.next <= self.right_edge.saturating_add(1), "beyond the window");
        assert!(self.fin >= self.next.saturating_sub(1), "a FIN below {}", self.next);
        assert!(self.unread() <= config.receive_buffer.get(), "{} unread", self.unread());
        for range in self.sack_ranges() {
            assert!(self.next < range.start && range.end <= self.right_edge + 1, "{range:?}");
        }
        assert_eq!(self.has_gaps(), self.sack_ranges().next().is_some());
    }
}

#[cfg(test)]
mod tests {
    use units::{Bytes, Span};

    use super::*;

    const MSS: u64 = 1000;

    fn config() -> Config {
        Config {
            recovery: Recovery::Sack,
            mss: MSS as u32,
            receive_buffer: Bytes(20 * MSS),
            window_scaling: false,
            timestamps: false,
            ..Config::default()
        }
    }

    fn receiver(config: &Config) -> Receiver {
        let mut receiver = Receiver::new(config, u64::from(u16::MAX));
        receiver.syn_received();
        receiver
    }

    /// Segment number `n`, counted from zero, arrives at time zero.
    fn arrive(receiver: &mut Receiver, config: &Config, n: u64) {
        receiver.on_data(Time::ZERO, config, 1 + n * MSS, MSS, false);
    }

    fn blocks(receiver: &Receiver) -> Vec<(u64, u64)> {
        let segments = |range: Range| ((range.start - 1) / MSS, (range.end - 1) / MSS);
        receiver.sack_ranges().map(segments).collect()
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once_and_a_single_one_after_the_timeout() {
        let config = config();
        let mut receiver = receiver(&config);
        arrive(&mut receiver, &config, 0);
        assert!(!receiver.ack_is_due());
        assert_eq!(receiver.deadline(), Time::ZERO + Span::from_millis(200));
        arrive(&mut receiver, &config, 1);
        assert!(receiver.ack_is_due());
    }

    #[test]
    fn data_above_a_gap_and_data_that_fills_it_are_acknowledged_at_once() {
        let config = config();
        let mut receiver = receiver(&config);
        arrive(&mut receiver, &config, 1);
        assert!(receiver.ack_is_due());
        receiver.ack_sent();
        arrive(&mut receiver, &config, 0);
        assert!(receiver.ack_is_due());
        assert_eq!(receiver.delivered(), 2 * MSS);
    }

    #[test]
    fn the_first_sack_block_is_the_one_that_grew_last() {
        let config = config();
        let mut receiver = receiver(&config);
        for n in [2, 5, 8, 3] {
            arrive(&mut receiver, &config, n);
        }
        assert_eq!(blocks(&receiver), [(2, 4), (8, 9), (5, 6)]);
        arrive(&mut receiver, &config, 4);
        assert_eq!(blocks(&receiver), [(2, 6), (8, 9)]);
        arrive(&mut receiver, &config, 0);
        arrive(&mut receiver, &config, 1);
        assert_eq!(blocks(&receiver), [(8, 9)]);
    }

    #[test]
    fn a_segment_that_covers_what_waits_and_reaches_more_of_it_takes_it_all() {
        let config = config();
        let mut receiver = receiver(&config);
        receiver.on_data(Time::ZERO, &config, 1 + 100, 100, false);
        arrive(&mut receiver, &config, 1);
        arrive(&mut receiver, &config, 0);
        assert_eq!((receiver.delivered(), receiver.has_gaps()), (2 * MSS, false));
    }

    #[test]
    fn data_beyond_the_window_is_dropped() {
        let config = config();
        let mut receiver = receiver(&config);
        arrive(&mut receiver, &config, 20);
        assert!(receiver.ack_is_due() && !receiver.has_gaps());
        arrive(&mut receiver, &config, 19);
        assert!(receiver.has_gaps());
    }

    #[test]
    fn a_duplicate_is_acknowledged_at_once_and_delivered_once() {
        let config = config();
        let mut receiver = receiver(&config);
        arrive(&mut receiver, &config, 0);
        receiver.ack_sent();
        arrive(&mut receiver, &config, 0);
        assert!(receiver.ack_is_due());
        assert_eq!(receiver.delivered(), MSS);
    }

    #[test]
    fn the_window_closes_while_nobody_reads_and_opens_by_whole_segments() {
        let config = Config { reads_at_once: false, ..config() };
        let mut receiver = receiver(&config);
        for n in 0..20 {
            arrive(&mut receiver, &config, n);
        }
        let limit = u64::from(u16::MAX);
        assert_eq!(receiver.window(&config, 0, limit), 0);
        receiver.read(&config, MSS - 1);
        assert_eq!(receiver.window(&config, 0, limit), 0, "a silly window");
        receiver.read(&config, 1);
        assert_eq!(receiver.window(&config, 0, limit), MSS);
    }

    #[test]
    fn a_window_that_is_asked_for_again_is_the_same_and_one_after_news_is_another() {
        let config = Config { reads_at_once: false, ..config() };
        let limit = u64::from(u16::MAX);
        let mut receiver = receiver(&config);
        for n in 0..4 {
            arrive(&mut receiver, &config, n);
            let window = receiver.window(&config, 3, limit);
            assert_eq!(window, (19 - n) * MSS / 8 * 8);
            assert_eq!(receiver.window(&config, 3, limit), window);
            receiver.advertised = None;
            assert_eq!(receiver.window(&config, 3, limit), window, "computed twice");
        }
        receiver.read(&config, 4 * MSS);
        assert_eq!(receiver.window(&config, 3, limit), 20 * MSS);
    }

    #[test]
    fn the_right_edge_of_the_window_never_moves_back() {
        let config = Config { receive_buffer: Bytes(100 * MSS), ..config() };
        let mut receiver = Receiver::new(&config, u64::MAX);
        receiver.syn_received();
        let before = receiver.right_edge;
        receiver.window(&config, 7, 1 << 23);
        assert!(receiver.right_edge >= before);
    }

    #[test]
    fn a_fin_counts_when_everything_before_it_has_arrived() {
        let config = config();
        let mut receiver = receiver(&config);
        receiver.on_data(Time::ZERO, &config, 1 + MSS, 500, true);
        assert!(!receiver.finished());
        arrive(&mut receiver, &config, 0);
        assert!(receiver.finished());
        assert_eq!(receiver.delivered(), MSS + 500);
        assert_eq!(receiver.next(), 1 + MSS + 500 + 1);
    }
}
