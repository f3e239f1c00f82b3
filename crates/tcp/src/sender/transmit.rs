//! Selection of the next segment to send.

use congestion::{Controller, Sizing};
use transport::Range;
use units::Time;

use crate::config::Config;

use super::Sender;
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

impl Chunk {
    /// No piece at all: an ACK alone, with the sequence number `start`.
    #[inline(always)]
    pub(crate) fn bare(start: u64) -> Self {
        Self { start, length: 0, fin: false, push: false, again: true }
    }
}

/// Full segments that leave in a row, with nothing between that could change what limits them. Each
/// takes its length from the room in both windows and from what is there to be sent, so these are
/// compared once for all of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Burst {
    /// Full segments may leave up to this number.
    pub(super) end: u64,
    /// The limit that stops the sender behind the last of them, if no smaller segment may leave.
    pub(super) stop: Option<HeldBy>,
}

/// The next piece to be sent, or `None` when the sender has to wait for an ACK, for the window, for
/// the application or for a timer. Called unless the sender [is held back](Core::is_held_back).
/// Packets of several segments are modelled only with `PACKETS`, and their segments leave
/// in a row only if `in_a_row`.
#[inline(always)]
pub(crate) fn next_chunk<R: LossRecovery, const PACKETS: bool>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
    in_a_row: bool,
) -> Option<Chunk> {
    if std::mem::take(&mut core.episode.resend_head) {
        let head = if core.timers.persisting {
            next_window_probe(core, recovery, now)
        } else {
            recovery.next_head(core, now)
        };
        if head.is_some() {
            return head;
        }
    }
    if core.episode.phase != Phase::Open
        && core.episode.quota > 0
        && let Some(range) = recovery.next_lost(core)
    {
        // Nothing else goes before what is lost (`NextSeg` rule 1).
        if core.pipe_has_room() || recovery.forces_repair() {
            return Some(send_again(core, recovery, now, range));
        }
        core.held_by = HeldBy::CongestionWindow;
        return None;
    }
    let chunk = next_new_data::<R, PACKETS>(core, recovery, now, config, in_a_row);
    if chunk.is_some() {
        return chunk;
    }
    if core.episode.phase == Phase::FastRecovery && R::GUESSES && recovery.uses_sack() {
        return recovery.next_guess(core, now);
    }
    core.persist_if_stuck(now, config);
    None
}

/// Likewise for single segments. Not inlined: a loop with all that it calls would keep the
/// addresses of all parts of the sender.
#[inline(never)]
pub(crate) fn next_chunk_alone<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
) -> Option<Chunk> {
    next_chunk::<R, false>(core, recovery, now, config, false)
}

/// Likewise, for recoveries that are not inlined into the connection.
#[inline(never)]
pub(crate) fn next_chunk_apart<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
    in_a_row: bool,
) -> Option<Chunk> {
    next_chunk::<R, true>(core, recovery, now, config, in_a_row)
}

/// One byte beyond a closed window, or what fits a window that is smaller than a segment
/// (RFC 9293 sections 3.8.6.1 and 3.8.6.2.1).
#[cold]
fn next_window_probe<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
) -> Option<Chunk> {
    let (advertised, una) = (core.peer.advertised, core.stream.una);
    let length = advertised.clamp(1, core.stream.mss).min(core.stream.written - una);
    let fits = length > 0 && advertised >= length;
    if !fits && (length == 0 || core.is_linux) {
        // One number back, without data: Linux (`tcp_xmit_probe_skb`), and senders
        // that have only a FIN to send.
        core.timers.probing = false;
        core.timers.last_sent = now;
        return Some(Chunk::bare(una - 1));
    }
    if fits {
        core.timers.probing = false;
        core.timers.stop();
        return Some(send_new(core, recovery, now, length));
    }
    core.timers.last_sent = now;
    core.counters.segments += 1;
    core.counters.bytes += length;
    Some(Chunk { start: una, length, fin: false, push: false, again: true })
}

/// Retransmits `range`, and notes it in the scoreboard.
pub(crate) fn send_again<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    range: Range,
) -> Chunk {
    if core.packet.is_some() {
        core.cut_again(now);
    }
    let chunk = repeat(core, recovery, now, range);
    core.scoreboard.retransmitted(range);
    chunk
}

/// Retransmits `range`.
pub(crate) fn repeat<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    range: Range,
) -> Chunk {
    note_sending(core, recovery, now, range, true);
    core.episode.quota -= 1;
    if core.timed.is_some_and(|(end, _)| range.start < end) {
        core.timed = None;
    }
    core.start_timer_if_stopped(now);
    core.timers.last_sent = now;
    let fin = core.stream.fin_queued && range.end > core.stream.written;
    let length = range.end - range.start - u64::from(fin);
    if length > 0 {
        core.counters.segments += 1;
        core.counters.retransmissions += 1;
        core.counters.bytes += length;
    }
    Chunk {
        start: range.start,
        length,
        fin,
        push: length > 0 && range.end >= core.stream.written,
        again: true,
    }
}

/// A segment leaves, new or again, and nothing counts it as sent yet.
#[inline(always)]
fn note_sending<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    range: Range,
    again: bool,
) {
    if core.features.is_some() {
        core.record_sending(now, range, again);
    }
    recovery.on_sent(core, now, range, again);
}

#[inline(always)]
fn next_new_data<R: LossRecovery, const PACKETS: bool>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
    in_a_row: bool,
) -> Option<Chunk> {
    let end = core.pass_arrived().min(core.stream.buffered);
    let available = end.saturating_sub(core.stream.max);
    if available == 0 {
        core.held_by = HeldBy::Application;
        core.note_application_limit();
        return next_fin(core, recovery, now);
    }
    if core.stream.flight() == 0 && core.stream.max > 1 {
        start_after_idle(core, recovery, now, config);
    }
    core.scale_window(Sizing::Segment, core.peer.usable);
    let by_receiver = (core.stream.una + core.peer.usable).saturating_sub(core.stream.max);
    if PACKETS && core.packet.is_some() {
        return next_of_packet(core, recovery, now, config, available, by_receiver, in_a_row);
    }
    next_by_windows(core, recovery, now, config, available)
}

/// The next new segment of a sender that has `available` bytes, if the windows let it leave.
#[inline(always)]
pub(super) fn next_by_windows<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
    available: u64,
) -> Option<Chunk> {
    let length = next_length::<R, false>(core, recovery, now, config, available)?;
    core.episode.count_limited(length);
    Some(send_new(core, recovery, now, length))
}

/// Length of the next new segment of a sender that has `available` bytes, if the windows let it
/// leave. With `IN_A_ROW` they are not looked at again for the full segments behind it
/// ([`Burst`]).
#[inline(always)]
pub(super) fn next_length<R: LossRecovery, const IN_A_ROW: bool>(
    core: &mut Core,
    recovery: &R,
    now: Time,
    config: &Config,
    available: u64,
) -> Option<u64> {
    let by_receiver = (core.stream.una + core.peer.usable).saturating_sub(core.stream.max);
    let by_congestion = recovery.room(core, config);
    let usable = by_receiver.min(by_congestion);
    let length = available.min(usable).min(core.stream.mss);
    if IN_A_ROW && length == core.stream.mss {
        // Less than half of the largest window does not leave if there is more to send.
        let stops = usable < available && length <= core.peer.max_advertised / 2;
        core.burst = Burst {
            end: core.stream.max + available.min(usable),
            stop: stops.then(|| limit(available, by_receiver, by_congestion)),
        };
        return Some(length);
    }
    if length == core.stream.mss || core.sends_small(config, length, available <= usable) {
        return Some(length);
    }
    core.note_stop(now, limit(available, by_receiver, by_congestion));
    None
}

/// The next new segment where packets of several segments are modelled.
#[inline(always)]
fn next_of_packet<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
    available: u64,
    by_receiver: u64,
    in_a_row: bool,
) -> Option<Chunk> {
    let by_congestion = recovery.room(core, config);
    if core.defers(now, available, by_receiver, by_congestion) {
        core.note_stop(now, core.held_by);
        return None;
    }
    let usable = by_receiver.min(by_congestion);
    let length = available.min(usable).min(core.stream.mss);
    let is_full = length == core.stream.mss;
    let all_fits =
        is_full || available <= usable || (length < by_congestion && core.fills_packet(now));
    if is_full || core.sends_small(config, length, all_fits) {
        core.episode.count_limited(length);
        let ends = core.ends_packet(now, available.min(usable));
        if in_a_row && core.is_linux {
            core.begin_row(length, available.min(usable) - length);
        }
        let chunk = send_new(core, recovery, now, length);
        // A write ends there, and the next has not begun.
        let ends =
            ends || (config.send_tuning.is_some() && core.stream.max == core.stream.buffered);
        return Some(Chunk { push: chunk.push | ends, ..chunk });
    }
    core.note_stop(now, limit(available, by_receiver, by_congestion));
    None
}

/// Sending begins with nothing outstanding. After an idle time longer than the RTO, the window says
/// nothing about the path any more (RFC 5681 section 4.1).
#[inline(never)]
fn start_after_idle<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
) {
    core.controller.on_start(now);
    if config.idle_restart
        && let Some(since) = recovery.idle_since(core)
        && now.since(since) > core.rtt.rto()
    {
        let before = *core.controller.window();
        core.counters.restarts += 1;
        core.controller.on_idle();
        recovery.on_restart(core, now, now.since(since), before);
    }
}

#[cold]
fn next_fin<R: LossRecovery>(core: &mut Core, recovery: &mut R, now: Time) -> Option<Chunk> {
    if !core.stream.fin_waits() {
        return None;
    }
    // The FIN takes a number, and so room in the window (RFC 9293 section 3.8.6).
    if core.stream.una + core.peer.advertised <= core.stream.max {
        core.held_by = HeldBy::AdvertisedWindow;
        return None;
    }
    // In Linux it takes a segment of cwnd (`tcp_cwnd_test`). RFC 5681 counts data.
    if core.is_linux && !core.pipe_has_room() {
        core.held_by = HeldBy::CongestionWindow;
        return None;
    }
    Some(Chunk { push: false, ..send_new(core, recovery, now, 0) })
}

/// Inlined into the one place that sends nearly all segments; the others are cold.
#[inline(always)]
pub(crate) fn send_new<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    length: u64,
) -> Chunk {
    let range = next_new_range(core, length);
    note_sending(core, recovery, now, range, false);
    count_new(core, now, length, range)
}

/// Numbers of the next new segment, with `length` bytes of data.
#[inline(always)]
pub(super) fn next_new_range(core: &Core, length: u64) -> Range {
    let start = core.stream.max;
    Range { start, end: start + length + u64::from(core.stream.fin_follows(length)) }
}

/// Last step of a new segment, with `length` bytes of data: it counts as sent.
#[inline(always)]
pub(super) fn count_new(core: &mut Core, now: Time, length: u64, range: Range) -> Chunk {
    let Range { start, end } = range;
    let reached = start + length;
    core.stream.max = end;
    if core.timed.is_none() {
        core.timed = Some((end, now));
    }
    core.start_timer_if_stopped(now);
    core.timers.last_sent = now;
    if length > 0 {
        core.counters.segments += 1;
        core.counters.bytes += length;
    }
    if reached >= core.stream.buffered {
        core.look_at_limit(now);
    }
    Chunk { start, length, fin: end > reached, push: reached == core.stream.written, again: false }
}

/// Returns true if the next of full segments in a row may leave.
#[inline(always)]
pub(crate) fn is_in_burst(sender: &Sender) -> bool {
    sender.core.row_goes_on_behind(sender.core.stream.max)
}

/// Returns true if the segment that was sent last ends a row, and the sender then stops at once.
#[inline(always)]
pub(crate) fn stops_behind_burst(sender: &mut Sender, now: Time) -> bool {
    let core = &mut sender.core;
    let Some(held_by) = core.burst.stop else { return false };
    if core.row_goes_on_behind(core.stream.max) {
        return false;
    }
    core.note_stop(now, held_by);
    stop_row(core);
    true
}

/// The row of segments is over: what limits the next one may have changed.
#[inline(always)]
pub(crate) fn end_burst(sender: &mut Sender) {
    stop_row(&mut sender.core);
}

/// Likewise.
#[inline(always)]
pub(super) fn stop_row(core: &mut Core) {
    core.burst = Burst::default();
}

impl Core {
    /// Returns true if [`next_chunk`] would come to [`next_by_windows`] and to nothing behind it,
    /// as it mostly does: nothing looks at single segments, nothing is lost, the sender was not
    /// idle, and there is new data.
    #[inline(always)]
    pub(super) fn sends_by_windows(&self) -> bool {
        let Self { stream, episode, .. } = self;
        self.is_plain
            && episode.phase == Phase::Open
            && !episode.resend_head
            && stream.buffered > stream.max
            && stream.flight() > 0
    }

    /// Returns true if a full segment leaves in a row with the one that ends at `end`.
    #[inline(always)]
    pub(super) fn row_goes_on_behind(&self, end: u64) -> bool {
        end + self.stream.mss <= self.burst.end
    }

    /// Returns true if a segment that is not full is sent: sender's silly window avoidance (RFC
    /// 9293 section 3.8.6.2.1) and Nagle's algorithm (section 3.7.4).
    fn sends_small(&mut self, config: &Config, length: u64, all_fits: bool) -> bool {
        let may_be_small = !config.nagle || !self.stream.waits_for_more(length, self.is_linux);
        let sends =
            length > 0 && may_be_small && (all_fits || length >= self.peer.max_advertised / 2);
        if sends {
            self.stream.small_end = self.stream.max + length;
        }
        sends
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
