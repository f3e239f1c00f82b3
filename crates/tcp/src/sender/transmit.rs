//! Selection of the next segment to send.

use crate::config::Recovery;
use congestion::{Controller, Sizing, TcpPolicy};
use units::Time;

use crate::config::Config;
use transport::Range;

use super::{HeldBy, Phase, Sender};

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

impl Sender {
    /// The next piece to be sent, or `None` when the sender has to wait for an ACK, for the
    /// window, for the application or for a timer.
    #[inline(always)]
    pub(crate) fn next_chunk(&mut self, now: Time, config: &Config) -> Option<Chunk> {
        if self.is_held_by_pacing(now) {
            return None;
        }
        if std::mem::take(&mut self.episode.resend_head) {
            let head =
                if self.timers.persisting { self.next_probe(now) } else { self.next_head(now) };
            if head.is_some() {
                return head;
            }
        }
        if self.episode.phase != Phase::Open
            && self.episode.quota > 0
            && let Some(range) = self.next_lost()
        {
            // Nothing else goes before what is lost (`NextSeg` rule 1).
            if self.pipe_has_room() || self.forces_repair() {
                return Some(self.send_again(now, range));
            }
            self.held_by = HeldBy::CongestionWindow;
            return None;
        }
        let chunk = self.next_new_data(now, config);
        if chunk.is_some() {
            return chunk;
        }
        if self.episode.phase == Phase::FastRecovery && self.recovery == Recovery::Sack {
            return self.next_guess(now);
        }
        self.persist_if_stuck(now, config);
        None
    }

    /// The first unacknowledged segment again: fast retransmit, or a partial ACK without SACK.
    fn next_head(&mut self, now: Time) -> Option<Chunk> {
        if self.recovery == Recovery::Snack {
            return self.next_repair(now);
        }
        if let Some(probe) = self.next_mtu_probe(now) {
            return Some(probe);
        }
        if self.recovers_like_linux() {
            return self.next_tail_probe(now);
        }
        let end = self.stream.max.min(self.stream.una + self.stream.mss);
        let hole = self.scoreboard.next_unacknowledged(self.stream.una, self.stream.mss);
        let range = hole.unwrap_or(Range { start: self.stream.una, end });
        (range.start < range.end && self.episode.quota > 0).then(|| self.send_again(now, range))
    }

    /// One byte beyond a closed window, or what fits a window that is smaller than a segment
    /// (RFC 9293 sections 3.8.6.1 and 3.8.6.2.1).
    #[cold]
    fn next_probe(&mut self, now: Time) -> Option<Chunk> {
        let length = self
            .peer
            .advertised
            .clamp(1, self.stream.mss)
            .min(self.stream.written - self.stream.una);
        let fits = length > 0 && self.peer.advertised >= length;
        if !fits && (length == 0 || self.recovers_like_linux()) {
            // One number back, without data: Linux (`tcp_xmit_probe_skb`), and senders
            // that have only a FIN to send.
            self.timers.probing = false;
            self.timers.last_sent = now;
            let start = self.stream.una - 1;
            return Some(Chunk { start, length: 0, fin: false, push: false, again: true });
        }
        if fits {
            self.timers.probing = false;
            self.timers.stop();
            return Some(self.send_new(now, length));
        }
        self.timers.last_sent = now;
        self.counters.segments += 1;
        self.counters.bytes += length;
        Some(Chunk { start: self.stream.una, length, fin: false, push: false, again: true })
    }

    /// Lost data that was not sent again yet.
    fn next_lost(&self) -> Option<Range> {
        let inflates = self.episode.phase == Phase::FastRecovery && !self.uses_sack();
        if inflates || self.tries_new_data() {
            return None;
        }
        self.scoreboard.next_lost(self.stream.una, self.stream.mss)
    }

    /// cwnd - pipe >= 1 SMSS (RFC 6675 section 5, step C).
    pub(super) fn pipe_has_room(&self) -> bool {
        let pipe = self.scoreboard.pipe(self.stream.una, self.stream.max);
        self.controller.window().cwnd >= pipe + self.stream.mss
    }

    /// No lost data and no new data to send: data that may be lost (`NextSeg` rule 3), or once
    /// per recovery the last of the window (rule 4), which keeps the ACKs coming.
    fn next_guess(&mut self, now: Time) -> Option<Chunk> {
        if self.episode.quota == 0 || !self.pipe_has_room() {
            return None;
        }
        if let Some(range) = self.scoreboard.next_unacknowledged(self.stream.una, self.stream.mss) {
            return Some(self.send_again(now, range));
        }
        if self.episode.rescued {
            return None;
        }
        // A rescue jumps ahead; HighRxt stays where it is (RFC 6675 section 4). So it is not in the
        // pipe, and rule 1 sends the same segment again if it is found to be lost. Nothing has to
        // say that it is lost now: the rule has no condition but those of the recovery.
        let range = self.scoreboard.last_unacknowledged(
            self.stream.una,
            self.stream.max,
            self.stream.mss,
        )?;
        self.episode.rescued = true;
        Some(self.repeat(now, range))
    }

    fn send_again(&mut self, now: Time, range: Range) -> Chunk {
        if self.packet.is_some() {
            self.cut_again(now);
        }
        let chunk = self.repeat(now, range);
        self.scoreboard.retransmitted(range);
        chunk
    }

    pub(super) fn repeat(&mut self, now: Time, range: Range) -> Chunk {
        self.note_sending(now, range, true);
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

    #[inline(always)]
    fn next_new_data(&mut self, now: Time, config: &Config) -> Option<Chunk> {
        let end = self.pass_arrived().min(self.stream.buffered);
        let available = end.saturating_sub(self.stream.max);
        if available == 0 {
            self.held_by = HeldBy::Application;
            self.note_application_limit();
            return self.next_fin(now);
        }
        self.restart_if_idle(now, config);
        let state = self.send_state();
        self.peer.usable =
            self.controller.advertised_window(Sizing::Segment, self.peer.usable, &state);
        let by_receiver = (self.stream.una + self.peer.usable).saturating_sub(self.stream.max);
        if self.packet.is_some() {
            return self.next_of_packet(now, config, available, by_receiver);
        }
        let by_congestion = self.congestion_room(config);
        let usable = by_receiver.min(by_congestion);
        let length = available.min(usable).min(self.stream.mss);
        if length == self.stream.mss || self.sends_small(config, length, available <= usable) {
            self.count_limited_transmit(length);
            return Some(self.send_new(now, length));
        }
        self.note_holder(available, by_receiver, by_congestion);
        None
    }

    /// The next new segment where packets of several segments are modelled.
    #[cold]
    #[inline(never)]
    fn next_of_packet(
        &mut self,
        now: Time,
        config: &Config,
        available: u64,
        by_receiver: u64,
    ) -> Option<Chunk> {
        let by_congestion = self.room_for_segments(config);
        if self.defers(now, available, by_receiver, by_congestion) {
            return None;
        }
        let usable = by_receiver.min(by_congestion);
        let length = available.min(usable).min(self.stream.mss);
        let all_fits = available <= usable || (length < by_congestion && self.fills_packet(now));
        if length == self.stream.mss || self.sends_small(config, length, all_fits) {
            self.count_limited_transmit(length);
            let ends = self.ends_packet(now, available.min(usable));
            let chunk = self.send_new(now, length);
            return Some(Chunk { push: chunk.push | ends, ..chunk });
        }
        self.note_holder(available, by_receiver, by_congestion);
        None
    }

    #[inline(always)]
    fn note_holder(&mut self, available: u64, by_receiver: u64, by_congestion: u64) {
        self.held_by = if available <= by_receiver.min(by_congestion) {
            HeldBy::Application
        } else if by_congestion <= by_receiver {
            HeldBy::CongestionWindow
        } else {
            HeldBy::AdvertisedWindow
        };
    }

    /// Bytes of new data that the congestion window lets into the network.
    #[inline(always)]
    fn congestion_room(&self, config: &Config) -> u64 {
        let cwnd = self.controller.window().cwnd;
        match self.episode.phase {
            Phase::Open if !config.limited_transmit => {
                cwnd.saturating_sub(self.flight_without_early())
            }
            // One new segment for each of the first duplicate ACKs (RFC 3042). With SACK the
            // segments behind the duplicate ACKs have already left the pipe.
            Phase::Open if !self.uses_sack() => {
                let threshold = self.controller.duplicate_threshold(config.dupthresh);
                let duplicates = self.episode.duplicates.min(threshold - 1);
                (cwnd + u64::from(duplicates) * self.stream.mss)
                    .saturating_sub(self.stream.flight())
            }
            Phase::FastRecovery if !self.uses_sack() => {
                (cwnd + self.inflation()).saturating_sub(self.stream.flight())
            }
            _ => cwnd.saturating_sub(self.scoreboard.pipe(self.stream.una, self.stream.max)),
        }
    }

    /// Likewise, in full segments where windows count segments (`recovery = "linux"`).
    #[cold]
    fn room_for_segments(&self, config: &Config) -> u64 {
        if !self.recovers_like_linux() {
            return self.congestion_room(config);
        }
        let is_open = self.episode.phase == Phase::Open;
        let used = if is_open && !config.limited_transmit {
            self.counted_flight()
        } else {
            self.scoreboard.pipe(self.stream.una, self.stream.max)
        };
        let room = self.controller.window().cwnd.saturating_sub(used);
        room / self.stream.mss * self.stream.mss
    }

    /// Returns true if a segment that is not full is sent: sender's silly window avoidance (RFC 9293 section
    /// 3.8.6.2.1) and Nagle's algorithm (section 3.7.4).
    fn sends_small(&mut self, config: &Config, length: u64, all_fits: bool) -> bool {
        let may_be_small =
            !config.nagle || !self.stream.waits_for_more(length, self.recovers_like_linux());
        let sends =
            length > 0 && may_be_small && (all_fits || length >= self.peer.max_advertised / 2);
        if sends {
            self.stream.small_end = self.stream.max + length;
        }
        sends
    }

    /// Data sent on duplicate ACKs is not part of the flight size that a loss halves (RFC 5681
    /// section 3.2 step 2).
    fn count_limited_transmit(&mut self, length: u64) {
        if self.episode.duplicates > 0 && self.episode.phase == Phase::Open {
            self.episode.limited += length;
        }
    }

    /// Notifies the controller where sending begins with nothing outstanding. Idle for longer than the
    /// RTO, the window says nothing about the path any more (RFC 5681 section 4.1).
    #[inline]
    fn restart_if_idle(&mut self, now: Time, config: &Config) {
        if self.stream.flight() == 0 && self.stream.max > 1 {
            self.start_again(now, config);
        }
    }

    #[inline(never)]
    fn start_again(&mut self, now: Time, config: &Config) {
        self.controller.on_start(now);
        if config.idle_restart
            && let Some(since) = self.idle_since()
            && now.since(since) > self.rtt.rto()
        {
            self.restart_after_idle(now, now.since(since));
        }
    }

    #[cold]
    fn next_fin(&mut self, now: Time) -> Option<Chunk> {
        if !self.stream.fin_waits() {
            return None;
        }
        // The FIN takes a number, and so room in the window (RFC 9293 section 3.8.6).
        if self.stream.una + self.peer.advertised <= self.stream.max {
            self.held_by = HeldBy::AdvertisedWindow;
            return None;
        }
        // In Linux it takes a segment of cwnd (`tcp_cwnd_test`). RFC 5681 counts data.
        if self.recovers_like_linux() && !self.pipe_has_room() {
            self.held_by = HeldBy::CongestionWindow;
            return None;
        }
        Some(Chunk { push: false, ..self.send_new(now, 0) })
    }

    /// Inlined into the one place that sends nearly all segments; the others are cold.
    #[inline(always)]
    pub(super) fn send_new(&mut self, now: Time, length: u64) -> Chunk {
        let start = self.stream.max;
        let reached = start + length;
        let fin = self.stream.fin_follows(length);
        self.note_sending(now, Range { start, end: reached + u64::from(fin) }, false);
        self.stream.max = reached + u64::from(fin);
        if self.timed.is_none() {
            self.timed = Some((self.stream.max, now));
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
