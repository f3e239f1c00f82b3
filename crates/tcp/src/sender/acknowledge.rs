//! Processing of an ACK by the sender.

use congestion::{Ack, Controller, Sizing, TcpPolicy};
use transport::{Range, Space};
use units::{Span, Time};

use crate::config::{Config, DuplicateWindow};
use crate::segment::Block;

use super::core::Core;
use super::episode::Phase;
use super::measurement::AckedBytes;
use super::recovery::{AnyRecovery, LossRecovery};
use super::{Sender, buffer, measurement, path_mtu, reduction};

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
    /// It was overtaken: it acknowledges less than an earlier one.
    pub(crate) is_old: bool,
}

/// The SACK blocks of an ACK, as they are on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks<'a> {
    /// Those that report what has arrived once.
    pub(crate) blocks: &'a [Block],
    /// The sequence numbers of the data.
    pub(crate) space: Space,
    /// A number that they are near.
    pub(crate) near: u64,
}

impl<'a> Blocks<'a> {
    /// Their ranges.
    pub(crate) fn ranges(self) -> impl Iterator<Item = Range> + use<'a> {
        let Self { blocks, space, near } = self;
        blocks.iter().filter_map(move |block| block.unwrap(space, near))
    }
}

impl Sender {
    /// Returns true if an ACK up to `number` without SACK blocks and marks is plain: it
    /// acknowledges new data, nothing is missing, and nothing looks at single segments.
    #[inline(always)]
    pub(crate) fn is_plain_ack(&self, number: u64) -> bool {
        let Self { recovery, core } = self;
        core.is_plain
            && !core.is_bounded
            && core.episode.phase == Phase::Open
            && !core.timers.persisting
            && number > core.stream.una
            && matches!(recovery, AnyRecovery::Classic(_))
    }

    /// Takes in an ACK that [is plain](Self::is_plain_ack): the steps of [`process`] that it has.
    #[inline(always)]
    pub(crate) fn on_plain_ack(
        &mut self,
        now: Time,
        config: &Config,
        number: u64,
        (sequence, window): (u64, u64),
        round_trip: Option<Span>,
    ) {
        let core = &mut self.core;
        core.episode.quota = u32::MAX;
        core.peer.window_from = sequence;
        core.peer.advertise(window);
        core.peer.usable = window;
        let acked = number - core.stream.una;
        let full = !config.window_validation
            || core.usage.note(&core.stream, core.controller.window().cwnd);
        core.stream.una = number;
        core.stream.fill_buffer(config.send_buffer);
        core.scoreboard.acknowledge(number);
        let timed = core.take_timed(now, number);
        core.sample_rtt(config, round_trip, acked, timed);
        core.timers.retries = 0;
        core.episode.duplicates = 0;
        core.episode.limited = 0;
        let flight = core.stream.flight();
        let limited = full || core.usage.uses_half(core.controller.window());
        core.grow(now, acked, flight, limited);
        if flight == 0 {
            core.timers.stop();
        } else {
            core.restart_timer(now);
        }
        core.note_end_of_ack(now);
    }
}

/// Takes in an acknowledgement of something that was sent, with its SACK blocks. It is inlined
/// with all that gets `ack`, so that fields which only few ACKs need are not written to memory for
/// all.
#[inline(always)]
pub(crate) fn process<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
    ack: &Acknowledgement,
    blocks: Blocks<'_>,
) {
    core.renew_quota();
    // The controller enlarges the window until the next ACK.
    let differs =
        config.duplicate_window == DuplicateWindow::Sender && ack.window != core.peer.usable;
    let window_moved = core.peer.update(ack, core.stream.una) || differs;
    // Most ACKs have no blocks.
    let sacked = if !blocks.blocks.is_empty() && recovery.uses_sack() {
        recovery.on_blocks(core, now, config, ack.number, blocks.ranges())
    } else {
        0
    };
    let acked = ack.number - core.stream.una;
    let mut saw_loss = false;
    if acked > 0 {
        saw_loss = on_new_data(core, recovery, now, config, ack, sacked);
    } else if !ack.answers_probe {
        let duplicate =
            core.stream.flight() > 0 && recovery.is_duplicate(ack, window_moved, sacked > 0);
        let news = AckedBytes::new(0, sacked, duplicate);
        saw_loss = measurement::give_feedback(core, recovery, now, config, ack, news);
        if ack.marked {
            reduction::on_mark(core, recovery, now, config, 0);
        }
        if duplicate {
            recovery.on_duplicate(core, now, config);
        } else if !ack.carries_data && !window_moved {
            recovery.on_idle_ack(core);
        }
    }
    if R::FOLLOWS_ACKS {
        finish(core, recovery, now, config, ack, window_moved, saw_loss);
    } else if core.features.is_some() {
        // A copy, as in `give_feedback`.
        let ack = Acknowledgement { ..*ack };
        finish(core, recovery, now, config, &ack, window_moved, saw_loss);
    }
    core.scale_window(Sizing::Total, core.peer.advertised);
    if core.timers.persisting {
        core.review_persist(now, config);
    }
}

/// Likewise, for recoveries that are not inlined into the connection.
#[inline(never)]
pub(crate) fn process_apart<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
    ack: &Acknowledgement,
    blocks: Blocks<'_>,
) {
    process(core, recovery, now, config, ack, blocks);
}

/// An ACK that was overtaken: its blocks may still be news (RFC 2018 section 5; Linux does the
/// same in `tcp_ack`).
#[inline(never)]
pub(crate) fn process_old<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
    ack: &Acknowledgement,
    blocks: Blocks<'_>,
) {
    if !recovery.uses_sack() {
        return;
    }
    let una = core.stream.una;
    let sacked = recovery.on_blocks(core, now, config, una, blocks.ranges());
    let duplicate = core.stream.flight() > 0 && sacked > 0;
    let ack =
        Acknowledgement { number: una, window: core.peer.advertised, round_trip: None, ..*ack };
    let ack = Acknowledgement { answers_probe: false, is_old: true, ..ack };
    let news = AckedBytes::new(0, sacked, duplicate);
    let saw_loss = measurement::give_feedback(core, recovery, now, config, &ack, news);
    if duplicate {
        recovery.on_duplicate(core, now, config);
    }
    finish(core, recovery, now, config, &ack, false, saw_loss);
}

/// Last step of an ACK, after the controller has its feedback.
#[inline(never)]
pub(crate) fn finish<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
    ack: &Acknowledgement,
    window_moved: bool,
    saw_loss: bool,
) {
    if ack.answers_probe && core.features.is_some() {
        core.controller.on_probe_answered(&core.probe_state(now));
    }
    recovery.finish_ack(core, now, config, ack, window_moved, saw_loss);
    if let Some(features) = &mut core.features
        && let Some(jump) = &mut features.jump
    {
        jump.after_ack(core.controller.window_mut());
    }
}

/// An ACK of new data. Returns true if the controller has seen a loss in it.
#[inline(always)]
fn on_new_data<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    config: &Config,
    ack: &Acknowledgement,
    sacked: u64,
) -> bool {
    let acked = ack.number - core.stream.una;
    let full = !R::FOLLOWS_USE
        || !config.window_validation
        || core.usage.note(&core.stream, core.controller.window().cwnd);
    if core.has_records() {
        core.record_acknowledgement(now, ack.number);
    }
    recovery.on_acknowledged(core, now, ack);
    if core.features.as_ref().is_some_and(|features| features.path_mtu.is_some()) {
        path_mtu::judge_probe(core, ack.number);
    }
    core.stream.una = ack.number;
    buffer::fill(core, config);
    core.scoreboard.acknowledge(ack.number);
    let timed = core.take_timed(now, ack.number);
    recovery.sample_rtt(core, now, config, ack, acked, timed);
    core.timers.retries = 0;
    core.episode.duplicates = 0;
    core.episode.limited = 0;
    let news = AckedBytes::new(acked, sacked, false);
    let saw_loss = measurement::give_feedback(core, recovery, now, config, ack, news);
    if ack.marked {
        reduction::on_mark(core, recovery, now, config, acked);
    }
    let restart_timer = match core.episode.phase {
        Phase::FastRecovery => recovery.on_new_data_in_fast_recovery(core, now, config, acked),
        Phase::Open | Phase::Timeout => {
            recovery.grow(core, now, config, ack, acked, full);
            true
        }
    };
    if core.episode.phase == Phase::Timeout && core.stream.una >= core.episode.recover {
        core.episode.phase = Phase::Open;
    }
    if core.stream.flight() == 0 {
        core.timers.stop();
    } else if restart_timer {
        core.restart_timer(now);
    }
    saw_loss
}

/// Takes in a SACK block of an ACK up to `acknowledged`. Returns the bytes that it reports for the
/// first time. Most blocks repeat what earlier ACKs have reported (RFC 2018 section 4).
#[inline(always)]
pub(crate) fn take_block<R: LossRecovery>(
    core: &mut Core,
    recovery: &mut R,
    now: Time,
    acknowledged: u64,
    block: Range,
) -> u64 {
    let start = block.start.max(acknowledged);
    let end = block.end.min(core.stream.max);
    if core.may_probe {
        core.show_block_to_probes(Range { start, end: block.end });
    }
    let block = Range { start, end };
    if start >= end || core.scoreboard.has_sacked(block) {
        return 0;
    }
    if core.has_records() {
        core.record_block(now, block);
    }
    recovery.on_block(core, now, block);
    core.scoreboard.sack(start, end)
}

impl Core {
    /// Data up to `number` is about to leave the scoreboard.
    #[inline(never)]
    fn record_acknowledgement(&mut self, now: Time, number: u64) {
        let Self { features, scoreboard, stream, .. } = self;
        if let Some(features) = features {
            let news = scoreboard.holes(stream.una, number);
            features.measurement.on_acknowledged(now, number, news);
        }
    }

    /// Data that a probe has carried may be in a SACK block.
    #[cold]
    fn show_block_to_probes(&mut self, block: Range) {
        let Self { features, scoreboard, stream, .. } = self;
        let probes = features.as_mut().and_then(|features| features.probes.as_mut());
        if let Some(probes) = probes {
            probes.on_block(block, stream, scoreboard);
        }
    }

    /// `block` is the part of a SACK block that was sent in its turn.
    #[inline(never)]
    fn record_block(&mut self, now: Time, block: Range) {
        let Self { features, scoreboard, .. } = self;
        if let Some(features) = features {
            features.measurement.on_sacked(now, scoreboard.holes(block.start, block.end));
        }
    }

    /// Gives the controller an ACK outside of fast recovery, with `flight` bytes outstanding.
    #[inline(always)]
    pub(crate) fn grow(&mut self, now: Time, acked: u64, flight: u64, cwnd_limited: bool) {
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

    /// Likewise by the RFCs: an ACK that echoes a mark lets no window grow (RFC 3168 section
    /// 6.1.2), and cwnd must have been used. `full`: it was full.
    #[inline(always)]
    pub(crate) fn grow_if_used(
        &mut self,
        now: Time,
        ack: &Acknowledgement,
        acked: u64,
        full: bool,
    ) {
        let unmarked = self.unmarked(acked);
        let may_grow = unmarked.map_or(!ack.marked, |unmarked| unmarked > 0);
        let limited = may_grow && (full || self.usage.uses_half(self.controller.window()));
        self.grow(now, unmarked.unwrap_or(acked), self.stream.flight(), limited);
    }

    /// A sample for the retransmission timer. Controllers have their own (`measurement`). There is
    /// one per ACK with timestamps (RFC 7323 section 4.1), and otherwise one per `timed` segment.
    #[inline(always)]
    pub(crate) fn sample_rtt(
        &mut self,
        config: &Config,
        round_trip: Option<Span>,
        acked: u64,
        timed: Option<Span>,
    ) {
        if let Some(sample) = round_trip.or(timed) {
            let per_round =
                if round_trip.is_some() { self.acks_per_round(config, acked) } else { 1 };
            self.rtt.sample(&config.rto, sample, self.progress(per_round));
        }
    }

    /// Bytes that let cwnd grow for an ACK of `acked` bytes, if the other end counts marked ones:
    /// those that arrived without a mark.
    #[inline]
    pub(crate) fn unmarked(&self, acked: u64) -> Option<u64> {
        let marked = self.features.as_ref()?.measurement.marked_bytes?;
        Some(acked.saturating_sub(marked))
    }

    /// Round trip of the segment that is timed, if `number` acknowledges it. One segment is timed
    /// at a time, and never one that was sent twice (Karn; RFC 6298 section 3).
    #[inline(always)]
    fn take_timed(&mut self, now: Time, number: u64) -> Option<Span> {
        match self.timed {
            Some((end, sent)) if number >= end => {
                self.timed = None;
                Some(now.since(sent))
            }
            _ => None,
        }
    }
}
