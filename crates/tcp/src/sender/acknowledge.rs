//! Processing of an ACK by the sender.

use crate::config::{DuplicateWindow, Recovery};
use congestion::{Ack, Controller, SendState, Sizing, TcpPolicy};
use units::{Span, Time};

use crate::config::Config;
use transport::Range;

use super::{Phase, Sender};
use crate::segment::MAX_SACK_BLOCKS;

/// The fields of a segment for the sending half, in 64-bit sequence numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement {
    /// Next byte that the other end expects.
    pub(crate) number: u64,
    /// Its window in bytes.
    pub(crate) window: u64,
    /// Sequence number of the segment itself, to tell new window updates from old ones.
    pub(crate) sequence: u64,
    /// The segment carries data, a SYN or a FIN, and so is no duplicate ACK.
    pub(crate) carries_data: bool,
    /// Round-trip time from the timestamps option, if in use.
    pub(crate) round_trip: Option<Span>,
    /// TSval, if in use.
    pub(crate) peer_clock: Option<u32>,
    /// ECN-Echo.
    pub(crate) marked: bool,
    /// Data that the receiver reports as received twice; empty if none.
    pub(crate) needless: Range,
    /// It answers a probe.
    pub(crate) answers_probe: bool,
}

impl Sender {
    /// Takes in an acknowledgement of something that was sent, with its SACK blocks.
    #[inline(always)]
    pub(crate) fn on_acknowledgement(
        &mut self,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        blocks: impl Iterator<Item = Range>,
    ) {
        self.episode.quota = self.controller.retransmission_quota();
        // The controller enlarges the window until the next ACK.
        let differs =
            config.duplicate_window == DuplicateWindow::Sender && ack.window != self.peer.usable;
        let window_moved = self.peer.update(ack, self.stream.una) || differs;
        // Most ACKs have no blocks.
        let sacked = if blocks.size_hint() != (0, Some(0)) && self.uses_sack() {
            self.take_sack_blocks(now, config, ack.number, blocks)
        } else {
            0
        };
        let acked = ack.number - self.stream.una;
        if acked > 0 {
            self.on_new_data(now, config, ack, sacked);
        } else if !ack.answers_probe {
            let duplicate =
                self.stream.flight() > 0 && self.is_duplicate(ack, window_moved, sacked > 0);
            self.give_feedback(now, config, ack, 0, sacked, duplicate);
            if ack.marked {
                self.on_mark(now, config, 0);
            }
            if duplicate {
                self.on_duplicate(now, config);
            } else if !ack.carries_data && !window_moved {
                self.inflate(0);
            }
        }
        if self.has_instruments() {
            self.take_more_out_of(now, config, ack, window_moved);
        }
        self.peer.usable = self.peer.advertised;
        let state = self.send_state();
        self.peer.usable =
            self.controller.advertised_window(Sizing::Total, self.peer.usable, &state);
        if self.timers.persisting {
            self.review_persist(now, config);
        }
    }

    /// An ACK that was overtaken: its blocks may still be news (RFC 2018 section 5; Linux does the
    /// same in `tcp_ack`).
    #[cold]
    pub(crate) fn on_old_acknowledgement(
        &mut self,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        blocks: impl Iterator<Item = Range>,
    ) {
        if !self.uses_sack() {
            return;
        }
        let una = self.stream.una;
        if self.has_instruments() {
            self.follow_old_ack();
        }
        let sacked = self.take_sack_blocks(now, config, una, blocks);
        let duplicate = self.stream.flight() > 0 && sacked > 0;
        let ack =
            Acknowledgement { number: una, window: self.peer.advertised, round_trip: None, ..*ack };
        self.give_feedback(now, config, &ack, 0, sacked, duplicate);
        if duplicate {
            self.on_duplicate(now, config);
        }
        if self.has_instruments() {
            self.finish_ack(now, config, &ack, false);
        }
    }

    /// Processing of an ACK for connections with instruments.
    #[inline(never)]
    fn take_more_out_of(
        &mut self,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        window_moved: bool,
    ) {
        if ack.answers_probe {
            self.note_answer(now);
        }
        self.finish_ack(now, config, ack, window_moved);
    }

    /// With SACK an ACK that tells something new about the scoreboard, whatever else it carries
    /// (RFC 6675 section 2); otherwise one that tells nothing at all (RFC 5681 section 2).
    fn is_duplicate(&self, ack: &Acknowledgement, window_moved: bool, news: bool) -> bool {
        match self.recovery {
            Recovery::Sack | Recovery::Linux => news,
            // Reports show what is missing, and nothing else does.
            Recovery::Snack => false,
            Recovery::Reno | Recovery::NewReno => !ack.carries_data && !window_moved,
        }
    }

    pub(super) fn send_state(&self) -> SendState {
        SendState {
            flight: self.stream.flight(),
            to_recover: match self.episode.phase {
                Phase::Open => 0,
                Phase::FastRecovery | Phase::Timeout => {
                    self.episode.recover.saturating_sub(self.stream.una)
                }
            },
        }
    }

    /// Returns true if a SACK block reports outstanding data that was not known to have arrived.
    pub(crate) fn is_news(&self, block: Range) -> bool {
        let (start, end) = (block.start.max(self.stream.una), block.end.min(self.stream.max));
        start < end && self.scoreboard.holes(start, end).next().is_some()
    }

    /// Returns how many bytes of the blocks were news.
    #[inline]
    fn take_sack_blocks(
        &mut self,
        now: Time,
        config: &Config,
        acknowledged: u64,
        blocks: impl Iterator<Item = Range>,
    ) -> u64 {
        if self.recovers_like_linux() {
            return self.take_sorted_blocks(now, acknowledged, blocks);
        }
        let mut news = 0;
        for block in blocks {
            news += self.take_sack_block(now, acknowledged, block);
        }
        if news > 0 && self.recovery == Recovery::Sack {
            let threshold = self.controller.duplicate_threshold(config.dupthresh);
            let before = self.scoreboard.lost_below().max(acknowledged);
            self.scoreboard.find_losses(threshold, self.stream.mss);
            self.note_losses(now, before, self.scoreboard.lost_below());
        }
        news
    }

    /// Likewise in the order of the stream, as in Linux (`tcp_sacktag_write_queue`): the round trip of RACK is that of
    /// the last segment.
    #[cold]
    #[inline(never)]
    fn take_sorted_blocks(
        &mut self,
        now: Time,
        acknowledged: u64,
        blocks: impl Iterator<Item = Range>,
    ) -> u64 {
        let mut sorted = [Range { start: 0, end: 0 }; MAX_SACK_BLOCKS];
        let mut number = 0;
        for (place, block) in sorted.iter_mut().zip(blocks) {
            *place = block;
            number += 1;
        }
        sorted[..number].sort_unstable_by_key(|block| block.start);
        sorted[..number].iter().map(|block| self.take_sack_block(now, acknowledged, *block)).sum()
    }

    #[inline(always)]
    fn take_sack_block(&mut self, now: Time, acknowledged: u64, block: Range) -> u64 {
        let start = block.start.max(acknowledged);
        self.note_early_data(Range { start, end: block.end });
        let end = block.end.min(self.stream.max);
        self.note_sack_block(now, Range { start, end });
        self.scoreboard.sack(start, end)
    }

    fn on_new_data(&mut self, now: Time, config: &Config, ack: &Acknowledgement, sacked: u64) {
        let acked = ack.number - self.stream.una;
        let full = !config.window_validation || self.note_usage();
        self.note_acknowledgement(now, self.stream.una, ack);
        self.stream.una = ack.number;
        self.stream.fill_buffer(config.send_buffer);
        self.scoreboard.acknowledge(ack.number);
        self.take_rtt_sample(now, config, ack, acked);
        self.timers.retries = 0;
        self.episode.duplicates = 0;
        self.episode.limited = 0;
        self.give_feedback(now, config, ack, acked, sacked, false);
        if ack.marked {
            self.on_mark(now, config, acked);
        }
        let restart_timer = match self.episode.phase {
            Phase::FastRecovery => self.on_new_data_in_fast_recovery(now, config, acked),
            Phase::Open | Phase::Timeout => {
                if self.has_instruments() {
                    self.grow_with_instruments(now, config, acked, ack.marked, full);
                } else {
                    let flight = self.stream.flight();
                    self.grow(now, acked, flight, !ack.marked && (full || self.uses_half()));
                }
                true
            }
        };
        if self.episode.phase == Phase::Timeout && self.stream.una >= self.episode.recover {
            self.episode.phase = Phase::Open;
        }
        if self.stream.flight() == 0 {
            self.timers.stop();
        } else if restart_timer {
            self.restart_timer(now);
        }
    }

    /// Tells the controller about an ACK outside of fast recovery, with `flight` bytes outstanding.
    pub(super) fn grow(&mut self, now: Time, acked: u64, flight: u64, cwnd_limited: bool) {
        let ack = Ack {
            now,
            acked,
            flight,
            advertised: self.peer.advertised,
            srtt: self.rtt.srtt(),
            min_rtt: self.min_rtt(),
            cwnd_limited,
        };
        self.controller.on_ack(&ack);
    }

    /// Likewise where there are instruments. In Linux an ACK that starts a recovery lets no window grow.
    fn grow_with_instruments(
        &mut self,
        now: Time,
        config: &Config,
        acked: u64,
        marked: bool,
        full: bool,
    ) {
        self.end_reduction_by_mark(now);
        if !self.is_about_to_recover() {
            let (counted, may_grow) = self.count_for_growth(acked, marked);
            let limited = if self.recovers_like_linux() {
                self.uses_window(config)
            } else {
                full || self.uses_half()
            };
            let flight = self.counted_flight();
            self.grow(now, counted, flight, may_grow && limited);
            if may_grow {
                self.note_change_of_window(now);
            }
        }
    }

    /// Which bytes let cwnd grow, and whether any do. An ACK that echoes a mark lets no window grow
    /// (RFC 3168 section 6.1.2), and with `recovery = "linux"` none does in the round trip after a
    /// mark (`TCP_CA_CWR`).
    /// If the other end counts marked bytes, those that arrived without a mark count.
    fn count_for_growth(&self, acked: u64, marked: bool) -> (u64, bool) {
        if let Some(counted) = self.marked_by_this_ack() {
            let unmarked = self.delivered_by_this_ack().unwrap_or(acked).saturating_sub(counted);
            return (unmarked, unmarked > 0);
        }
        let counted = self.delivered_by_this_ack().unwrap_or(acked);
        // In Linux a mark has no effect while a timeout is repaired (`tcp_may_raise_cwnd`).
        let ignores_mark = self.episode.phase == Phase::Timeout && self.recovers_like_linux();
        (counted, ignores_mark || (!marked && !self.is_reduced_by_mark()))
    }

    /// A sample for the retransmission timer; controllers have their own
    /// (`measure_round_trip`). One per ACK with timestamps (RFC 7323 section 4.1). Otherwise one segment is timed
    /// at a time and never one
    /// that was sent twice (Karn; RFC 6298 section 3).
    fn take_rtt_sample(&mut self, now: Time, config: &Config, ack: &Acknowledgement, acked: u64) {
        let timed = match self.timed {
            Some((end, sent)) if ack.number >= end => {
                self.timed = None;
                Some(now.since(sent))
            }
            _ => None,
        };
        if self.recovers_like_linux() {
            self.take_sample_like_linux(now, config, ack.round_trip, acked);
        } else if let Some(sample) = ack.round_trip.or(timed) {
            // An ACK for every second segment of the flight (RFC 7323 appendix G).
            let acks = (self.stream.flight() + acked).div_ceil(2 * self.stream.mss);
            let per_round = if ack.round_trip.is_some() { acks } else { 1 };
            self.rtt.sample(&config.rto, sample, self.progress(per_round));
        }
    }
}
