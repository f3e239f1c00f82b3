//! News in an ACK: data that has arrived, reports of data that has arrived twice, and the RTT.

use units::{Span, Time};

use crate::config::Config;
use crate::flight::Segment;
use crate::timestamps::echoed;
use transport::Range;

use super::{Linux, Sender};
use crate::sender::acknowledge::Acknowledgement;

/// News in the ACK that is being processed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// Bytes that have arrived, with each segment counted as a full one.
    pub(super) delivered: u64,
    /// Likewise those that are acknowledged cumulatively, also what was acknowledged selectively before.
    pub(super) acked: u64,
    /// Likewise those that are acknowledged selectively.
    pub(super) selected: u64,
    /// Some of it was acknowledged selectively.
    pub(super) sacked: bool,
    /// When the first and the last segment of these were sent that were sent once.
    pub(super) sampled: Option<Ends>,
    /// Likewise of what was acknowledged cumulatively and not selectively before, if nothing of it
    /// was sent more than once.
    pub(super) acknowledged: Option<Ends>,
    /// Data that was sent once, before the timeout, has arrived.
    pub(super) original: bool,
    pub(super) advanced: bool,
    pub(super) lost: bool,
    /// A retransmission was found to be lost.
    pub(super) lost_again: bool,
    /// Bytes that it reports to have arrived twice and that it acknowledges, as far as they were retransmitted, and
    /// where the first segment of these starts that had arrived before.
    pub(super) copies: (u64, Option<u64>),
    /// It has undone a recovery before the end of that. Then its echo of a mark has no effect
    /// (`tcp_fastretrans_alert`).
    pub(super) undone: bool,
    /// It reports data that has arrived twice.
    pub(super) reported: bool,
    /// It acknowledges less than an earlier one.
    pub(super) is_old: bool,
    /// When the last doubtful segment will be lost.
    pub(super) doubtful_until: Option<Time>,
    /// The timer restarts although nothing is acknowledged cumulatively.
    pub(super) restarts_timer: bool,
}

/// When the first and the last segment of some were sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    first: Time,
    last: Time,
}

impl Ends {
    fn with(before: Option<Self>, sent: Time) -> Self {
        before.map_or(Self { first: sent, last: sent }, |ends| Self { last: sent, ..ends })
    }
}

impl News {
    fn note_sacked(&mut self, segment: &Segment, mss: u64) {
        self.sacked = true;
        self.selected += segment.segments() * mss;
        if !segment.again {
            self.sampled = Some(Ends::with(self.sampled, segment.sent_at));
        }
    }

    fn note_acknowledged(&mut self, segment: &Segment) {
        self.acknowledged = Some(Ends::with(self.acknowledged, segment.sent_at));
    }

    /// The round trip for the RTO, and the one for the smallest (`tcp_ack_update_rtt`). The oldest segment that
    /// is acknowledged gives the first one, and the youngest the second one: the acknowledgement of all but the
    /// youngest may have been lost. What the receiver has `echoed` counts only if each was sent twice.
    fn round_trips(&self, now: Time, echoed: Option<Span>) -> Option<(Span, Span)> {
        let Some(Ends { first, .. }) = self.acknowledged.or(self.sampled) else {
            return echoed.map(|echoed| (echoed, echoed));
        };
        let last = self.sampled.or(self.acknowledged).map_or(first, |ends| ends.last);
        Some((now.since(first), now.since(last)))
    }
}

impl Linux {
    fn note(&mut self, segment: &Segment, mss: u64, high: u64) {
        self.news.delivered += segment.segments() * mss;
        self.news.original |= segment.end <= high && !segment.again;
    }
}

impl Sender {
    /// A SACK block is about to enter the scoreboard.
    pub(in crate::sender) fn follow_sack_block(&mut self, now: Time, block: Range) {
        let (min_rtt, mss, high) = (self.rtt.min(), self.stream.mss, self.episode.recover);
        let linux = self.instruments.as_mut().and_then(|instruments| instruments.linux.as_mut());
        let Some(linux) = linux else { return };
        self.scoreboard.sack_segments(block, |segment| {
            linux.note(segment, mss, high);
            linux.news.note_sacked(segment, mss);
            linux.rack.on_sacked(now, segment, min_rtt);
        });
    }

    /// An ACK arrives that was overtaken.
    pub(in crate::sender) fn follow_old_ack(&mut self) {
        if let Some(linux) = self.linux() {
            linux.news.is_old = true;
        }
    }

    /// True if the ACK that is being processed was overtaken. Linux takes in its SACK blocks, and neither
    /// measures with it nor lets the window change (`tcp_ack`).
    pub(in crate::sender) fn is_ack_old(&self) -> bool {
        self.known_linux().is_some_and(|linux| linux.news.is_old)
    }

    /// True if an echo of a mark in this ACK has no effect.
    pub(in crate::sender) fn ignores_mark(&self) -> bool {
        self.known_linux().is_some_and(|linux| linux.news.undone)
    }

    /// Bytes that have arrived by what this ACK says, with each segment counted as a full one. Linux lets the window grow by them, and so by
    /// none that SACK has reported before; RFC 5681 section 3.1 counts what is acknowledged
    /// cumulatively.
    #[inline]
    pub(in crate::sender) fn delivered_by_this_ack(&self) -> Option<u64> {
        Some(self.known_linux()?.news.delivered)
    }

    /// Bytes that this ACK acknowledges cumulatively, and those that it acknowledges selectively, for a
    /// controller: `acked` and `sacked`, or with each segment counted as a full one.
    pub(in crate::sender) fn counted_by_this_ack(&self, acked: u64, sacked: u64) -> (u64, u64) {
        self.known_linux().map_or((acked, sacked), |linux| (linux.news.acked, linux.news.selected))
    }

    /// New data is acknowledged.
    pub(in crate::sender) fn follow_acknowledgement(&mut self, now: Time, ack: &Acknowledgement) {
        let echoed = ack.round_trip.map(|round_trip| echoed(now, round_trip));
        let (min_rtt, mss, high) = (self.rtt.min(), self.stream.mss, self.episode.recover);
        let linux = self.instruments.as_mut().and_then(|instruments| instruments.linux.as_mut());
        let (Some(linux), Some(flight)) = (linux, self.scoreboard.flight_mut()) else { return };
        linux.news.advanced = true;
        let before = flight.unacknowledged();
        if ack.needless.start < ack.needless.end {
            linux.news.copies = flight.copies_within(ack.needless);
        }
        let any_again = flight.on_acknowledged(ack.number, |segment| {
            linux.note(segment, mss, high);
            linux.news.note_acknowledged(segment);
            linux.rack.on_acknowledged(now, segment, min_rtt, echoed);
        });
        linux.news.acked = before - flight.unacknowledged();
        if any_again {
            // Karn's algorithm (RFC 6298 section 3).
            linux.news.acknowledged = None;
        }
    }

    /// The sample of an ACK of new data. Linux takes one from each (`tcp_ack_update_rtt`), where RFC 6298 section 3
    /// requires one in a round trip. `acked`: the bytes that it acknowledges.
    pub(in crate::sender) fn take_sample_like_linux(
        &mut self,
        now: Time,
        config: &Config,
        echoed: Option<Span>,
        acked: u64,
    ) {
        let Some(linux) = self.known_linux() else { return };
        if let Some((sample, youngest)) = linux.news.round_trips(now, echoed) {
            let per_round = (self.stream.flight() + acked).div_ceil(2 * self.stream.mss);
            self.rtt.sample(&config.rto, sample, self.progress(per_round));
            self.rtt.note_smaller(youngest);
        }
    }

    /// The receiver reports data that has arrived twice (`tcp_dsack_seen`). A copy is delivered data, too. A
    /// report of more than a window, or of more than was retransmitted, is not believed.
    pub(super) fn take_report(&mut self, ack: &Acknowledgement, acked: u64) {
        let (range, before) = (ack.needless, self.stream.una - acked);
        if range.start >= range.end || range.len() > self.peer.max_advertised {
            return;
        }
        let (mss, copies) = (self.stream.mss, self.counters.retransmissions);
        let (bytes, late) = match self.scoreboard.flight() {
            Some(flight) if acked == 0 => flight.copies_within(range),
            _ => self.known_linux().map_or((0, None), |linux| linux.news.copies),
        };
        let Some(linux) = self.linux() else { return };
        let twice = range.len().div_ceil(mss);
        linux.reported += twice;
        if linux.reported > copies {
            return;
        }
        let answers_probe = range.len() <= mss && linux.probe.ends_at(range.end);
        if !answers_probe {
            linux.rack.on_duplicate_report();
        }
        linux.news.reported = true;
        linux.news.delivered += twice * mss;
        if let Some(start) = late {
            linux.rack.on_late_original(start);
        }
        // Of what was outstanding before this ACK only what was retransmitted counts (`tcp_check_dsack`,
        // `tcp_sacktag_one`).
        let needless = if range.end <= before { twice * mss } else { bytes };
        let linux = self.instruments.as_mut().and_then(|instruments| instruments.linux.as_mut());
        if let Some(linux) = linux {
            linux.undo.on_duplicate_report(range.end, needless);
        }
    }

    /// Where nothing is acknowledged cumulatively, SACK blocks give the round-trip time: without
    /// them the RTO of a long recovery is that of the time before the queue filled. As in Linux. If the
    /// segment was also sent before the first one was sent last, the timer restarts (`tcp_clean_rtx_queue`).
    pub(super) fn take_sample_of_sack(&mut self, now: Time, config: &Config) {
        let first = self.scoreboard.flight().and_then(|flight| flight.first_sent_at());
        let Some(linux) = self.linux() else { return };
        if let Some(sent) = linux.news.sampled
            && !linux.news.advanced
        {
            linux.news.restarts_timer = first.is_some_and(|first| sent.first < first);
            let per_round = self.counted_flight() / self.stream.mss;
            self.rtt.sample(&config.rto, now.since(sent.first), self.progress(per_round));
            self.rtt.note_smaller(now.since(sent.last));
        }
    }
}
