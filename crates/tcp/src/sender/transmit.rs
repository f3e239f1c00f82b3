//! Selection of the next segment to send.

use congestion::{Controller, Sizing};
use transport::Range;
use units::Time;

use crate::config::Config;

use super::core::Core;
use super::episode::Phase;
use super::recovery::LossRecovery;
use super::usage::HeldBy;

/// A piece of the stream to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Sequence number of its first byte.
    pub(crate) start: u64,
    /// Bytes of data.
    pub(crate) length: u64,
    /// The FIN follows the data.
    pub(crate) fin: bool,
    /// It ends what the application has written so far.
    pub(crate) push: bool,
    /// It was sent before.
    pub(crate) again: bool,
}

impl Core {
    /// The next piece to be sent, or `None` when the sender has to wait for an ACK, for the
    /// window, for the application or for a timer.
    #[inline(always)]
    pub(super) fn next_chunk<R: LossRecovery>(
        &mut self,
        recovery: &mut R,
        now: Time,
        config: &Config,
    ) -> Option<Chunk> {
        if self.features.is_some() && self.waits_for_departure(now) {
            return None;
        }
        if std::mem::take(&mut self.episode.resend_head) {
            let head = if self.timers.persisting {
                self.next_window_probe(recovery, now)
            } else {
                recovery.next_head(self, now)
            };
            if head.is_some() {
                return head;
            }
        }
        if self.episode.phase != Phase::Open
            && self.episode.quota > 0
            && let Some(range) = recovery.next_lost(self)
        {
            // Nothing else goes before what is lost (`NextSeg` rule 1).
            if self.pipe_has_room() || recovery.forces_repair() {
                return Some(self.send_again(recovery, now, range));
            }
            self.held_by = HeldBy::CongestionWindow;
            return None;
        }
        let chunk = self.next_new_data(recovery, now, config);
        if chunk.is_some() {
            return chunk;
        }
        if self.episode.phase == Phase::FastRecovery && R::GUESSES && recovery.uses_sack() {
            return recovery.next_guess(self, now);
        }
        self.persist_if_stuck(now, config);
        None
    }

    /// Likewise, for recoveries that are not inlined into the connection.
    #[inline(never)]
    pub(super) fn next_chunk_apart<R: LossRecovery>(
        &mut self,
        recovery: &mut R,
        now: Time,
        config: &Config,
    ) -> Option<Chunk> {
        self.next_chunk(recovery, now, config)
    }

    /// One byte beyond a closed window, or what fits a window that is smaller than a segment
    /// (RFC 9293 sections 3.8.6.1 and 3.8.6.2.1).
    #[cold]
    fn next_window_probe<R: LossRecovery>(&mut self, recovery: &mut R, now: Time) -> Option<Chunk> {
        let (advertised, una) = (self.peer.advertised, self.stream.una);
        let length = advertised.clamp(1, self.stream.mss).min(self.stream.written - una);
        let fits = length > 0 && advertised >= length;
        if !fits && (length == 0 || self.is_linux) {
            // One number back, without data: Linux (`tcp_xmit_probe_skb`), and senders
            // that have only a FIN to send.
            self.timers.probing = false;
            self.timers.last_sent = now;
            return Some(Chunk { start: una - 1, length: 0, fin: false, push: false, again: true });
        }
        if fits {
            self.timers.probing = false;
            self.timers.stop();
            return Some(self.send_new(recovery, now, length));
        }
        self.timers.last_sent = now;
        self.counters.segments += 1;
        self.counters.bytes += length;
        Some(Chunk { start: una, length, fin: false, push: false, again: true })
    }

    /// Retransmits `range`, and notes it in the scoreboard.
    pub(super) fn send_again<R: LossRecovery>(
        &mut self,
        recovery: &mut R,
        now: Time,
        range: Range,
    ) -> Chunk {
        if self.packet.is_some() {
            self.cut_again(now);
        }
        let chunk = self.repeat(recovery, now, range);
        self.scoreboard.retransmitted(range);
        chunk
    }

    /// Retransmits `range`.
    pub(super) fn repeat<R: LossRecovery>(
        &mut self,
        recovery: &mut R,
        now: Time,
        range: Range,
    ) -> Chunk {
        self.note_sending(recovery, now, range, true);
        self.episode.quota -= 1;
        if self.timed.is_some_and(|(end, _)| range.start < end) {
            self.timed = None;
        }
        self.start_timer_if_stopped(now);
        self.timers.last_sent = now;
        let fin = self.stream.fin_queued && range.end > self.stream.written;
        let length = range.end - range.start - u64::from(fin);
        if length > 0 {
            self.counters.segments += 1;
            self.counters.retransmissions += 1;
            self.counters.bytes += length;
        }
        Chunk {
            start: range.start,
            length,
            fin,
            push: length > 0 && range.end >= self.stream.written,
            again: true,
        }
    }

    /// A segment leaves, new or again, and nothing counts it as sent yet.
    #[inline(always)]
    fn note_sending<R: LossRecovery>(
        &mut self,
        recovery: &mut R,
        now: Time,
        range: Range,
        again: bool,
    ) {
        if self.features.is_some() {
            self.record_sending(now, range, again);
        }
        recovery.on_sent(self, now, range, again);
    }

    #[inline(always)]
    fn next_new_data<R: LossRecovery>(
        &mut self,
        recovery: &mut R,
        now: Time,
        config: &Config,
    ) -> Option<Chunk> {
        let end = self.pass_arrived().min(self.stream.buffered);
        let available = end.saturating_sub(self.stream.max);
        if available == 0 {
            self.held_by = HeldBy::Application;
            self.note_application_limit();
            return self.next_fin(recovery, now);
        }
        if self.stream.flight() == 0 && self.stream.max > 1 {
            self.start_after_idle(recovery, now, config);
        }
        self.scale_window(Sizing::Segment, self.peer.usable);
        let by_receiver = (self.stream.una + self.peer.usable).saturating_sub(self.stream.max);
        if self.packet.is_some() {
            return self.next_of_packet(recovery, now, config, available, by_receiver);
        }
        let by_congestion = recovery.room(self, config);
        let usable = by_receiver.min(by_congestion);
        let length = available.min(usable).min(self.stream.mss);
        if length == self.stream.mss || self.sends_small(config, length, available <= usable) {
            self.count_limited_transmit(length);
            return Some(self.send_new(recovery, now, length));
        }
        self.held_by = limit(available, by_receiver, by_congestion);
        None
    }

    /// The next new segment where packets of several segments are modelled.
    #[cold]
    #[inline(never)]
    fn next_of_packet<R: LossRecovery>(
        &mut self,
        recovery: &mut R,
        now: Time,
        config: &Config,
        available: u64,
        by_receiver: u64,
    ) -> Option<Chunk> {
        let by_congestion = recovery.room(self, config);
        if self.defers(now, available, by_receiver, by_congestion) {
            return None;
        }
        let usable = by_receiver.min(by_congestion);
        let length = available.min(usable).min(self.stream.mss);
        let all_fits = available <= usable || (length < by_congestion && self.fills_packet(now));
        if length == self.stream.mss || self.sends_small(config, length, all_fits) {
            self.count_limited_transmit(length);
            let ends = self.ends_packet(now, available.min(usable));
            let chunk = self.send_new(recovery, now, length);
            return Some(Chunk { push: chunk.push | ends, ..chunk });
        }
        self.held_by = limit(available, by_receiver, by_congestion);
        None
    }

    /// Returns true if a segment that is not full is sent: sender's silly window avoidance (RFC 9293
    /// section 3.8.6.2.1) and Nagle's algorithm (section 3.7.4).
    fn sends_small(&mut self, config: &Config, length: u64, all_fits: bool) -> bool {
        let may_be_small = !config.nagle || !self.stream.waits_for_more(length, self.is_linux);
        let sends =
            length > 0 && may_be_small && (all_fits || length >= self.peer.max_advertised / 2);
        if sends {
            self.stream.small_end = self.stream.max + length;
        }
        sends
    }

    /// Data sent on duplicate ACKs is not part of the flight size that a loss halves (RFC 5681
    /// section 3.2 step 2).
    #[inline(always)]
    fn count_limited_transmit(&mut self, length: u64) {
        if self.episode.duplicates > 0 && self.episode.phase == Phase::Open {
            self.episode.limited += length;
        }
    }

    /// Sending begins with nothing outstanding. After an idle time longer than the RTO, the window says
    /// nothing about the path any more (RFC 5681 section 4.1).
    #[inline(never)]
    fn start_after_idle<R: LossRecovery>(&mut self, recovery: &mut R, now: Time, config: &Config) {
        self.controller.on_start(now);
        if config.idle_restart
            && let Some(since) = recovery.idle_since(self)
            && now.since(since) > self.rtt.rto()
        {
            let before = *self.controller.window();
            self.controller.on_idle();
            recovery.on_restart(self, now, now.since(since), before);
        }
    }

    #[cold]
    fn next_fin<R: LossRecovery>(&mut self, recovery: &mut R, now: Time) -> Option<Chunk> {
        if !self.stream.fin_waits() {
            return None;
        }
        // The FIN takes a number, and so room in the window (RFC 9293 section 3.8.6).
        if self.stream.una + self.peer.advertised <= self.stream.max {
            self.held_by = HeldBy::AdvertisedWindow;
            return None;
        }
        // In Linux it takes a segment of cwnd (`tcp_cwnd_test`). RFC 5681 counts data.
        if self.is_linux && !self.pipe_has_room() {
            self.held_by = HeldBy::CongestionWindow;
            return None;
        }
        Some(Chunk { push: false, ..self.send_new(recovery, now, 0) })
    }

    /// Inlined into the one place that sends nearly all segments; the others are cold.
    #[inline(always)]
    pub(super) fn send_new<R: LossRecovery>(
        &mut self,
        recovery: &mut R,
        now: Time,
        length: u64,
    ) -> Chunk {
        let start = self.stream.max;
        let reached = start + length;
        let fin = self.stream.fin_follows(length);
        let end = reached + u64::from(fin);
        self.note_sending(recovery, now, Range { start, end }, false);
        self.stream.max = end;
        if self.timed.is_none() {
            self.timed = Some((end, now));
        }
        self.start_timer_if_stopped(now);
        self.timers.last_sent = now;
        if length > 0 {
            self.counters.segments += 1;
            self.counters.bytes += length;
        }
        Chunk { start, length, fin, push: reached == self.stream.written, again: false }
    }
}

/// Limit that holds the sender back with `available` bytes to send.
#[inline(always)]
fn limit(available: u64, by_receiver: u64, by_congestion: u64) -> HeldBy {
    if available <= by_receiver.min(by_congestion) {
        HeldBy::Application
    } else if by_congestion <= by_receiver {
        HeldBy::CongestionWindow
    } else {
        HeldBy::AdvertisedWindow
    }
}
