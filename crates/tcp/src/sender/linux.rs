//! Loss recovery of Linux. It combines RACK (`rack`), the tail loss probe (`tail_loss_probe`),
//! proportional rate reduction (`prr`) and undo of spurious reductions (`spurious`).
//!
//! - `losses`: lost segments, and the reductions that follow from them
//! - `news`: data and reports in an ACK, and the RTT that it measures
//! - `timer`: the one timer, which waits for a retransmission, a loss or a probe
//! - `undo`: the end of a recovery, and reductions that are taken back
//! - `usage`: whether cwnd limits the sender
//!
//! Windows count segments, and one that is not full counts as a full one: in what is in the
//! network, in what arrives (also for growth and for `prr`) and in what is retransmitted
//! (`flight`).
//!
//! Sources: the RFCs, and the known behaviour of `tcp_input.c` and `tcp_recovery.c` where the RFCs
//! leave a choice or Linux differs: a loss halves cwnd instead of the flight size. A timeout in
//! recovery does not reduce ssthresh again, and does not mark recently sent segments as lost.
//!
//! The order of an ACK is that of `tcp_ack`: the scoreboard, the end of a recovery or its undo,
//! losses, what the controller makes of the ACK, the timer.

mod losses;
mod news;
mod prr;
mod rack;
mod spurious;
mod tail_loss_probe;
mod timer;
mod undo;
mod usage;

use congestion::{Controller, Needs, PartialAck, RecoveryStyle, TcpPolicy, Window};
use transport::{Estimator, Range};
use units::{Span, Time};

use crate::config::Config;
use crate::flight::Row;
use crate::segment::MAX_SACK_BLOCKS;
use crate::timestamps::{echoed, timestamp};

use super::acknowledge::Acknowledgement;
use super::core::Core;
use super::episode::Phase;
use super::measurement::AckedBytes;
use super::recovery::LossRecovery;
use super::transmit::Chunk;
use super::{acknowledge, offload, path_mtu, reduction};
use news::News;
use prr::Reduction;
use rack::Rack;
use spurious::{Frto, Undo};
use tail_loss_probe::TailLossProbe;
use timer::Awaited;
use usage::Validated;

/// State of this recovery.
#[derive(Clone, Debug)]
pub(super) struct Linux {
    rack: Rack,
    probe: TailLossProbe,
    undo: Undo,
    frto: Frto,
    reduction: Option<Reduction>,
    /// cwnd is reduced proportionally.
    reduces: bool,
    /// The controller sets cwnd, and does not keep room for the first retransmission of a recovery.
    forces_repair: bool,
    /// That retransmission is due.
    is_repair_due: bool,
    /// Event for which the timer runs.
    awaited: Awaited,
    /// With an RTO of RFC 6298: time of the last cumulative acknowledgement, from which the timer
    /// counts.
    advanced_at: Option<Time>,
    used: Validated,
    /// Something is known to have arrived out of order, to be lost, or to be retransmitted
    /// (`TCP_CA_Disorder`).
    is_disordered: bool,
    /// A tail loss probe is leaving.
    is_probing: bool,
    /// Nothing is retransmitted until the next ACK, because an original has arrived late.
    holds_repairs: bool,
    /// Number of segments that were reported to have arrived twice.
    reported: u64,
    news: News,
    /// Room for the losses that one ACK shows.
    lost: Vec<Range>,
}

impl Linux {
    pub(super) fn new(needs: Needs, config: &Config) -> Self {
        let counts_from_acks = config.rto.estimator == Estimator::Rfc6298;
        Self {
            rack: Rack::new(),
            probe: TailLossProbe::new(config.rto.min),
            undo: Undo::default(),
            frto: Frto::Off,
            reduction: None,
            reduces: !needs.own_recovery,
            // BBR keeps the room itself (packet conservation,
            // `bbr_set_cwnd_to_recover_or_restore`).
            forces_repair: needs.own_recovery && !needs.records,
            is_repair_due: false,
            awaited: Awaited::Retransmission,
            advanced_at: counts_from_acks.then_some(Time::ZERO),
            used: Validated::new(config.idle_restart && !needs.own_recovery),
            is_disordered: false,
            is_probing: false,
            holds_repairs: false,
            reported: 0,
            news: News::default(),
            lost: Vec::new(),
        }
    }

    /// Bytes of cwnd that nothing in the network uses.
    #[inline]
    pub(super) fn unused(&self, core: &Core, config: &Config) -> u64 {
        let is_open = core.episode.phase == Phase::Open;
        let used =
            if is_open && !config.limited_transmit { core.counted_flight() } else { core.pipe() };
        core.controller.window().cwnd.saturating_sub(used)
    }

    /// New data has left, up to `end`, and nothing more leaves in a row with it. `is_first`:
    /// nothing else is outstanding.
    #[inline]
    pub(super) fn end_row(&mut self, core: &mut Core, now: Time, end: u64, is_first: bool) {
        self.used.on_new_data(core, now, end, self.is_disordered);
        self.restart_with_new_data(core, now, is_first);
    }
}

impl LossRecovery for Linux {
    /// Linux takes in the SACK blocks of such an ACK, and neither measures with it nor lets the
    /// window change (`tcp_ack`).
    const SKIPS_OLD_ACKS: bool = true;
    /// `usage`.
    const FOLLOWS_USE: bool = false;

    fn uses_sack(&self) -> bool {
        true
    }

    fn is_duplicate(&self, _ack: &Acknowledgement, _window_moved: bool, sacks: bool) -> bool {
        sacks
    }

    /// Time shows losses, and not the number of duplicates.
    fn on_duplicate(&mut self, core: &mut Core, now: Time, config: &Config) {
        match core.episode.phase {
            Phase::Open | Phase::Timeout => core.episode.duplicates += 1,
            Phase::FastRecovery => reduction::doubt_notice(core, self, now, config),
        }
    }

    /// The end of the recovery was judged before.
    fn on_new_data_in_fast_recovery(
        &mut self,
        core: &mut Core,
        _now: Time,
        _config: &Config,
        acked: u64,
    ) -> bool {
        core.controller.on_partial_ack(&PartialAck { acked, style: RecoveryStyle::Pipe });
        core.episode.first_partial_ack = false;
        true
    }

    /// In the order of the stream, as in Linux (`tcp_sacktag_write_queue`): the round trip of RACK
    /// is that of the last segment.
    #[cold]
    #[inline(never)]
    fn on_blocks(
        &mut self,
        core: &mut Core,
        now: Time,
        _config: &Config,
        acknowledged: u64,
        blocks: impl Iterator<Item = Range>,
    ) -> u64 {
        let mut sorted = [Range { start: 0, end: 0 }; MAX_SACK_BLOCKS];
        let mut number = 0;
        for (place, block) in sorted.iter_mut().zip(blocks) {
            *place = block;
            number += 1;
        }
        let sorted = &mut sorted[..number];
        sorted.sort_unstable_by_key(|block| block.start);
        sorted
            .iter()
            .map(|block| acknowledge::take_block(core, self, now, acknowledged, *block))
            .sum()
    }

    fn on_block(&mut self, core: &mut Core, now: Time, block: Range) {
        let (min_rtt, mss, high) = (core.rtt.min(), core.stream.mss, core.episode.recover);
        core.scoreboard.sack_segments(block, |segment| {
            self.news.note(&Row::of(segment), mss, high);
            self.news.note_sacked(segment, mss);
            self.rack.on_sacked(now, segment, min_rtt);
        });
    }

    #[inline(always)]
    fn on_acknowledged(&mut self, core: &mut Core, now: Time, ack: &Acknowledgement) {
        let echoed = || ack.round_trip.map(|round_trip| echoed(now, round_trip));
        let (min_rtt, mss, high) = (core.rtt.min(), core.stream.mss, core.episode.recover);
        let Some(flight) = core.scoreboard.flight_mut() else { return };
        let Self { news, rack, .. } = self;
        news.advanced = true;
        let before = flight.unacknowledged();
        if ack.needless.start < ack.needless.end {
            news.copies = flight.copies_within(ack.needless);
        }
        let any_again = flight.on_acknowledged(ack.number, |row| {
            news.note(row, mss, high);
            news.note_acknowledged(row);
            rack.on_acknowledged(now, row, min_rtt, echoed);
        });
        news.acked = before - flight.unacknowledged();
        if any_again {
            // Karn's algorithm (RFC 6298 section 3).
            news.acknowledged = None;
            news.ambiguous = true;
        }
    }

    #[inline]
    fn round_trip(&self, now: Time) -> Option<Span> {
        self.news.round_trip_of_youngest(now)
    }

    /// Linux takes a sample from each ACK of new data (`tcp_ack_update_rtt`), where RFC 6298
    /// section 3 requires one in a round trip.
    fn sample_rtt(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        acked: u64,
        _timed: Option<Span>,
    ) {
        if let Some((sample, youngest)) = self.news.round_trips(now, ack.round_trip) {
            let per_round = core.acks_per_round(config, acked);
            core.rtt.sample(&config.rto, sample, core.progress(per_round));
            core.rtt.note_smaller(youngest);
        }
    }

    /// Takes from an ACK the end or the undo of a recovery, and then the losses among what is
    /// outstanding.
    fn judge(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        acked: u64,
    ) {
        self.news.is_old = ack.is_old;
        self.used.note_limit_by_window(core, self.is_disordered);
        if ack.marked {
            self.undo.keep_reduction();
        }
        let takes_sacks = core.episode.phase != Phase::Timeout || self.undo.is_armed();
        self.take_report(core, ack, acked);
        self.rack.on_ack(core.stream.mss, takes_sacks);
        self.holds_repairs = false;
        if !self.news.is_old {
            self.rack.widen(now);
            self.take_sample_of_sack(core, now, config);
            if self.probe.is_out() {
                self.take_answer_to_probe(core, now, config, ack, false);
            }
        }
        self.review_recovery(core, now, config, ack, acked);
        if !self.holds_repairs && self.rack.take_news() && !self.is_in_order(core) {
            self.find_losses_by_time(core, now, config);
        }
    }

    /// With each segment counted as a full one.
    fn counted(&self, acked: AckedBytes) -> AckedBytes {
        AckedBytes { acked: self.news.acked, sacked: self.news.selected, ..acked }
    }

    /// An ACK that starts a recovery lets no window grow.
    fn grow(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        _acked: u64,
        _full: bool,
    ) {
        self.end_reduction_by_mark(core, now);
        if self.is_about_to_recover(core) {
            return;
        }
        let (counted, may_grow) = self.count_for_growth(core, ack.marked);
        let limited = may_grow && self.used.lets_grow(core, config);
        core.grow(now, counted, core.counted_flight(), limited);
        if may_grow {
            self.used.note_change(now);
        }
    }

    fn finish_ack(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        window_moved: bool,
        saw_loss: bool,
    ) {
        let news = self.news;
        let repeats = !news.advanced && !ack.carries_data && !window_moved;
        let silent = repeats && news.delivered == 0;
        if silent && !news.is_old && self.probe.is_out() {
            self.take_answer_to_probe(core, now, config, ack, true);
        }
        self.recover_from_losses(core, now, config, saw_loss);
        if core.episode.phase == Phase::Timeout {
            self.doubt_timeout(core, &news, repeats && !news.reported);
        } else if !news.is_old {
            self.reduce(core, news.delivered, news.advanced && !news.lost);
        }
        self.grow_out_of_order(core, now, config, &news, ack.marked);
        offload::look_again(&mut core.packet);
        if window_moved {
            self.look_at_idle_time(core);
        }
        self.note_disorder(core, repeats || news.sacked || news.reported || ack.marked);
        self.restart_after_ack(core, now, &news);
        self.news = News::default();
    }

    /// An echo of a mark calls for a reduction that nothing takes back. The ACK may end the
    /// reduction for one mark and echo the next (`tcp_fastretrans_alert`): what is reduced then is
    /// what the first has left.
    fn begin_mark(&mut self, core: &mut Core, now: Time) -> bool {
        self.undo.keep_reduction();
        self.end_reduction_by_mark(core, now);
        !self.news.undone
    }

    /// cwnd is to fall as data arrives, however little it was reduced (`tcp_enter_cwr`).
    fn on_reduced_by_mark(&mut self, core: &mut Core, before: u64) {
        self.probe.forget();
        self.undo.forget();
        if self.reduces {
            let window = core.controller.window_mut();
            self.reduction = Some(Reduction::new(before, window.cwnd));
            window.cwnd = before;
        }
    }

    fn on_reduced_by_loss(&mut self, core: &Core, before: u64) {
        if self.reduces {
            let ssthresh = core.controller.window().ssthresh;
            self.reduction = Some(Reduction::new(before, ssthresh));
        }
    }

    /// With a scoreboard of segments the head is lost only if it is found to be.
    fn on_fast_recovery(&mut self, core: &mut Core, _config: &Config) {
        core.episode.resend_head = false;
    }

    fn prepare_for_timeout(&mut self, core: &mut Core, config: &Config) -> bool {
        let phase = core.episode.phase;
        let again = core.timers.retries > 1;
        let in_window_of_mark = core.reduction.is_in_window_of_mark(core.stream.una);
        if !again && phase != Phase::FastRecovery && !in_window_of_mark {
            self.remember_window(core, true);
        }
        let threshold = core.controller.duplicate_threshold(config.dupthresh);
        let sacked = core.scoreboard.flight().map_or(0, |flight| flight.sacked());
        let first = phase == Phase::Open;
        self.frto = if first || again { Frto::Waiting } else { Frto::Off };
        if first && !in_window_of_mark && sacked >= threshold {
            self.rack.doubt_reordering(threshold);
        }
        phase == Phase::FastRecovery
    }

    /// Everything but what was sent a moment ago.
    fn lose_everything(&mut self, core: &mut Core, now: Time) {
        let Some(flight) = core.scoreboard.flight_mut() else { return };
        self.reduction = None;
        self.holds_repairs = false;
        self.is_repair_due = false;
        self.probe.forget();
        self.awaited = Awaited::Retransmission;
        self.used.note_change(now);
        flight.on_timeout(now, self.rack.patience_at_timeout(), |range| self.lost.push(range));
        let least = flight.pipe() + core.stream.mss;
        self.record_losses(core, now);
        let window = core.controller.window_mut();
        window.cwnd = window.cwnd.max(least);
    }

    /// Segments that are longer than allowed now leave in pieces. Nothing takes this back
    /// (`tcp_simple_retransmit`).
    fn lose_too_large(&mut self, core: &mut Core, now: Time, _range: Range) {
        let mss = core.stream.mss;
        let Some(flight) = core.scoreboard.flight_mut() else { return };
        self.reduction = None;
        self.undo.forget();
        self.frto = Frto::Off;
        self.probe.forget();
        self.awaited = Awaited::Retransmission;
        flight.lose_longer(mss, |range| self.lost.push(range));
        flight.recut(mss);
        self.record_losses(core, now);
    }

    /// A loss or a probe comes, if the timer runs for it, and the timer runs on.
    fn on_timer(&mut self, core: &mut Core, now: Time, config: &Config) {
        if core.timers.deadline > now || core.timers.persisting {
            return;
        }
        match self.awaited {
            Awaited::Losses => self.on_losses_overdue(core, now, config),
            Awaited::Probe => self.on_probe_due(core, now),
            Awaited::Retransmission => {}
        }
    }

    fn on_sent(&mut self, core: &mut Core, now: Time, range: Range, again: bool) {
        self.used.note_data(now);
        // Without a FIN.
        let bytes = range.end.min(core.stream.written).saturating_sub(range.start);
        let Some(flight) = core.scoreboard.flight_mut() else { return };
        if again && self.is_probing {
            flight.on_probe(now);
            return;
        }
        let is_first = flight.first_sent_at().is_none();
        let counted =
            if again { flight.on_again(now, range) } else { flight.on_new(now, range, bytes) };
        if let Some(reduction) = &mut self.reduction {
            reduction.on_sent(counted);
        }
        if again {
            self.is_repair_due = false;
            self.undo.on_again(counted, timestamp(now));
            if range.start <= core.stream.una {
                self.restart_with_first_segment(core, now);
            }
        } else if is_first || !core.row_goes_on_behind(range.end) {
            self.end_row(core, now, range.end, is_first);
        }
    }

    fn next_head(&mut self, core: &mut Core, now: Time) -> Option<Chunk> {
        let probe = path_mtu::next_mtu_probe(core, self, now);
        probe.or_else(|| self.next_tail_probe(core, now))
    }

    /// New data goes before what counts as lost while F-RTO looks if that is lost at all.
    fn next_lost(&self, core: &Core) -> Option<Range> {
        if self.frto == Frto::Trying || self.holds_repairs {
            return None;
        }
        core.scoreboard.next_lost(core.stream.una, core.stream.mss)
    }

    /// The first retransmission of a recovery: the fast retransmit (RFC 5681 section 3.2, RFC 6675
    /// section 5 step 4.3). With PRR cwnd has room for it.
    #[cold]
    fn forces_repair(&mut self) -> bool {
        std::mem::take(&mut self.is_repair_due)
    }

    /// In full segments.
    #[inline]
    fn room(&self, core: &Core, config: &Config) -> u64 {
        self.unused(core, config) / core.stream.mss * core.stream.mss
    }

    fn idle_since(&mut self, _core: &Core) -> Option<Time> {
        self.used.idle_since()
    }

    /// cwnd halves for each RTO of idleness (`tcp_cwnd_restart`).
    fn on_restart(&mut self, core: &mut Core, now: Time, idle: Span, before: Window) {
        self.used.restart(core, now, idle, before);
    }

    fn look_at_idle_time(&mut self, core: &mut Core) {
        self.used.look_at_idle_time(core, self.is_disordered);
    }

    fn note_change_of_window(&mut self, now: Time) {
        self.used.note_change(now);
    }
}
