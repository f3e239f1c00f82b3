//! Receiver: order, gaps, window, and when it reports (RSEQ, ALLOC, spans).
//!
//! It reports when it is asked (SREQ), when what was asked for has been delivered (DREQ), when a
//! gap opens behind data with FASTNAK, and when the stream has arrived with its end. Each gap is
//! reported once without a request.

use transport::RangeSet;

use crate::config::{Config, Retransmission};
use crate::packet::{SpanOfBytes, spans_within};

/// Receiver of one end.
#[derive(Debug)]
pub(crate) struct Receiver {
    buffer: u64,
    /// ALLOC moves by this number of bytes or more while data is unread, so that a slow reader does
    /// not make packets short.
    step: u64,
    reads_at_once: bool,
    keeps: bool,
    most_spans: usize,
    /// RSEQ.
    next: u64,
    /// ALLOC.
    alloc: u64,
    /// The byte after the highest that has arrived.
    seen: u64,
    /// Data above gaps.
    waiting: RangeSet,
    /// Where the stream ends.
    end: Option<u64>,
    delivered: u64,
    /// ECHO.
    echo: u64,
    /// A report is due.
    due: bool,
    /// A report is due once everything below is delivered.
    on_delivery: Option<u64>,
    /// The gap at this byte was reported, by a receiver that keeps nothing.
    reported: Option<u64>,
}

/// A data packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) seq: u64,
    pub(crate) payload: u16,
    /// FASTNAK.
    pub(crate) fast_nak: bool,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        let buffer = config.receive_buffer.get();
        Self {
            buffer,
            step: u64::from(config.mss).min(buffer / 2),
            reads_at_once: config.reads_at_once,
            keeps: config.retransmission == Retransmission::Selective,
            most_spans: spans_within(config.mss),
            next: 0,
            alloc: buffer,
            seen: 0,
            waiting: RangeSet::default(),
            end: None,
            delivered: 0,
            echo: 0,
            due: false,
            on_delivery: None,
            reported: None,
        }
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn alloc(&self) -> u64 {
        self.alloc
    }

    pub(crate) fn echo(&self) -> u64 {
        self.echo
    }

    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(crate) fn unread(&self) -> u64 {
        self.next - self.delivered
    }

    /// The stream of the other end has arrived with its end.
    pub(crate) fn finished(&self) -> bool {
        self.end == Some(self.next)
    }

    #[inline]
    pub(crate) fn reports(&self) -> bool {
        self.due
    }

    /// Data is missing below data that has arrived.
    pub(crate) fn has_gap(&self) -> bool {
        self.seen > self.next
    }

    /// Data has arrived. What exceeds the window is dropped.
    #[inline]
    pub(crate) fn on_data(&mut self, arrival: &Arrival) {
        let Arrival { seq, payload, .. } = *arrival;
        let end = seq + u64::from(payload);
        if end <= self.next || end > self.alloc || self.end.is_some_and(|last| end > last) {
            return;
        }
        if seq > self.next {
            self.on_gap(arrival, end);
            return;
        }
        self.seen = self.seen.max(end);
        self.next = end;
        self.reported = None;
        while let Some(range) = self.waiting.first().filter(|range| range.start <= self.next) {
            self.next = self.next.max(range.end);
            self.waiting.remove_below(self.next);
        }
        if self.reads_at_once {
            self.deliver(self.next);
        }
        if self.finished() {
            self.due = true;
        }
    }

    /// Data above a gap.
    fn on_gap(&mut self, arrival: &Arrival, end: u64) {
        let opens = arrival.seq > self.seen.max(self.next);
        let is_known = if self.keeps { !opens } else { self.reported == Some(self.next) };
        if arrival.fast_nak && !is_known {
            self.due = true;
            self.reported = Some(self.next);
        }
        self.seen = self.seen.max(end);
        if self.keeps {
            self.waiting.insert(arrival.seq, end, 0);
        }
    }

    /// Everything below `to` has been read.
    fn deliver(&mut self, to: u64) {
        self.delivered = to;
        let alloc = to + self.buffer;
        if alloc >= self.alloc + self.step || to == self.next {
            self.alloc = alloc;
        }
        if self.on_delivery.is_some_and(|until| until <= to) {
            self.on_delivery = None;
            self.due = true;
        }
    }

    /// The application reads `bytes`.
    pub(crate) fn read(&mut self, bytes: u64) {
        self.deliver(self.delivered + bytes.min(self.unread()));
    }

    /// A request has arrived, with the number `sync`. What is requested on delivery is everything
    /// below `until`.
    pub(crate) fn on_request(&mut self, sync: u64, now: bool, until: Option<u64>) {
        self.echo = self.echo.max(sync);
        self.due |= now;
        if let Some(until) = until.filter(|until| *until > self.delivered) {
            self.on_delivery = self.on_delivery.max(Some(until));
        } else {
            self.due |= until.is_some();
        }
    }

    /// The stream of the other end ends at `end`.
    pub(crate) fn on_end_of_stream(&mut self, end: u64) {
        if self.end.is_none() && end >= self.seen.max(self.next) {
            self.end = Some(end);
            self.due |= self.finished();
        }
    }

    /// A report leaves. Returns its spans, the lowest ones if not all of them fit; `None` if
    /// nothing is missing.
    pub(crate) fn take_report(&mut self) -> Option<Box<[SpanOfBytes]>> {
        self.due = false;
        if !self.has_gap() {
            return None;
        }
        self.reported = Some(self.next);
        let spans = self.waiting.iter().take(self.most_spans);
        Some(spans.map(|range| SpanOfBytes { left: range.start, right: range.end }).collect())
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;

    fn receiver(config: Config) -> Receiver {
        Receiver::new(&Config { mss: 100, ..config })
    }

    fn receive(receiver: &mut Receiver, packets: &[u64]) {
        for packet in packets {
            receiver.on_data(&Arrival { seq: packet * 100, payload: 100, fast_nak: true });
        }
    }

    fn spans(receiver: &mut Receiver) -> Option<Vec<(u64, u64)>> {
        let spans = receiver.take_report()?;
        Some(spans.iter().map(|span| (span.left, span.right)).collect())
    }

    #[test]
    fn a_gap_is_reported_once_and_spans_are_what_has_arrived_above() {
        let mut receiver = receiver(Config::default());
        receive(&mut receiver, &[0, 1]);
        assert!(!receiver.reports());
        receive(&mut receiver, &[4]);
        assert!(receiver.reports());
        assert_eq!(spans(&mut receiver), Some(vec![(400, 500)]));
        receive(&mut receiver, &[5, 3]);
        assert!(!receiver.reports(), "no new gap");
        receive(&mut receiver, &[8]);
        assert!(receiver.reports());
        assert_eq!(spans(&mut receiver), Some(vec![(300, 600), (800, 900)]));
        receive(&mut receiver, &[2, 6, 7]);
        assert_eq!((receiver.next(), spans(&mut receiver)), (900, None));
    }

    #[test]
    fn without_fastnak_a_gap_waits_for_a_request() {
        let mut receiver = receiver(Config::default());
        receiver.on_data(&Arrival { seq: 100, payload: 100, fast_nak: false });
        assert!(!receiver.reports());
        receiver.on_request(7, true, None);
        assert!(receiver.reports());
        assert_eq!((receiver.echo(), spans(&mut receiver)), (7, Some(vec![(100, 200)])));
    }

    #[test]
    fn going_back_n_nothing_above_a_gap_is_kept() {
        let mut receiver =
            receiver(Config { retransmission: Retransmission::GoBackN, ..Config::default() });
        receive(&mut receiver, &[0, 2, 3]);
        assert!(receiver.reports());
        assert_eq!(spans(&mut receiver), Some(Vec::new()));
        receive(&mut receiver, &[4]);
        assert!(!receiver.reports(), "the gap is reported");
        receive(&mut receiver, &[1, 2]);
        assert_eq!((receiver.next(), receiver.delivered()), (300, 300));
    }

    #[test]
    fn duplicates_and_what_exceeds_the_window_are_dropped() {
        let mut receiver = receiver(Config {
            receive_buffer: Bytes(350),
            reads_at_once: false,
            ..Config::default()
        });
        receive(&mut receiver, &[0, 0, 2, 2, 1, 0, 2, 3]);
        assert_eq!((receiver.next(), receiver.unread(), receiver.alloc()), (300, 300, 350));
        receiver.read(99);
        assert_eq!(receiver.alloc(), 350, "less than a packet is no step");
        receiver.read(1);
        assert_eq!((receiver.alloc(), receiver.delivered()), (450, 100));
    }

    #[test]
    fn a_report_on_delivery_waits_for_the_application() {
        let mut receiver = receiver(Config { reads_at_once: false, ..Config::default() });
        receive(&mut receiver, &[0, 1]);
        receiver.on_request(1, false, Some(200));
        receiver.read(199);
        assert!(!receiver.reports());
        receiver.read(1);
        assert!(receiver.reports());
        receiver.take_report();
        receiver.on_request(2, false, Some(200));
        assert!(receiver.reports(), "it was delivered before");
    }

    #[test]
    fn the_stream_ends_when_everything_before_its_end_has_arrived() {
        let mut receiver = receiver(Config::default());
        receive(&mut receiver, &[1]);
        receiver.take_report();
        receiver.on_end_of_stream(200);
        assert!(!receiver.finished() && !receiver.reports());
        receive(&mut receiver, &[2]);
        assert_eq!(receiver.take_report().map(|spans| spans.len()), Some(1), "2 is beyond the end");
        receive(&mut receiver, &[0]);
        assert!(receiver.finished() && receiver.reports());
    }

    #[test]
    fn of_many_spans_the_lowest_are_reported() {
        let mut receiver = receiver(Config::default());
        receive(&mut receiver, &(1..40).step_by(2).collect::<Vec<_>>());
        assert_eq!(
            spans(&mut receiver),
            Some((0..4).map(|i| (100 + 200 * i, 200 + 200 * i)).collect())
        );
    }
}
