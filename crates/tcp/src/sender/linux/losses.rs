//! Losses: how they are found by time, and the reductions that follow from them.

use congestion::{Controller, Loss, TcpPolicy};
use units::Time;

use super::news::News;
use super::prr::Reduction;
use super::rack::Situation;
use super::spurious::{Evidence, Frto};
use super::tail_loss_probe::Answer;
use super::{Acknowledgement, Config, Core, Linux, LossRecovery, Phase};
use crate::sender::{path_mtu, reduction};

impl Linux {
    /// Returns true if nothing that is outstanding was sent before what has arrived.
    #[inline]
    pub(super) fn is_in_order(&self, core: &Core) -> bool {
        let (flight, latest) = (core.scoreboard.flight(), self.rack.latest());
        flight.zip(latest).is_some_and(|(flight, latest)| flight.follows(latest))
    }

    /// Returns true if segments were found to be lost.
    pub(super) fn find_losses_by_time(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
    ) -> bool {
        let Some(flight) = core.scoreboard.flight_mut() else { return false };
        if !self.rack.latest().is_some_and(|latest| flight.is_doubtful(latest)) {
            self.news.doubtful_until = None;
            return false;
        }
        let threshold = core.controller.duplicate_threshold(config.dupthresh);
        let situation = Situation {
            recovering: core.episode.phase != Phase::Open,
            overtaken: flight.sacked() >= threshold,
            min_rtt: core.rtt.min(),
            srtt: core.rtt.srtt(),
        };
        let Some((latest, patience)) = self.rack.patience(situation) else { return false };
        let Self { news, lost, .. } = self;
        news.doubtful_until = flight.find_losses(now, latest, patience, |segment| {
            news.lost_again |= segment.is_repeating();
            lost.push(segment.range());
        });
        self.record_losses(core, now)
    }

    /// Records the segments in `lost` as lost. Returns true if there were any.
    pub(super) fn record_losses(&mut self, core: &mut Core, now: Time) -> bool {
        let any = !self.lost.is_empty();
        for range in self.lost.drain(..) {
            core.note_losses(now, range.start, range.end);
        }
        self.news.lost |= any;
        any
    }

    /// Once the path is known to reorder by more than the duplicate threshold, data that is
    /// acknowledged selectively lets the window grow, too (`tcp_may_raise_cwnd`).
    pub(super) fn grow_out_of_order(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        news: &News,
        marked: bool,
    ) {
        if !news.sacked || news.advanced || news.is_old {
            return;
        }
        let threshold = u64::from(core.controller.duplicate_threshold(config.dupthresh));
        let raises = self.rack.reordering() > threshold;
        let phase = core.episode.phase;
        let is_open = phase == Phase::Open && !core.is_reduced_by_mark() && !marked;
        if raises && (is_open || phase == Phase::Timeout) {
            let limited = self.used.lets_grow(core, config);
            core.grow(now, news.delivered, core.counted_flight(), limited);
            self.used.note_change(now);
        }
    }

    /// Bytes that let cwnd grow, and true if any do. No ACK lets it grow in the round trip after a
    /// mark (`TCP_CA_CWR`). If the other end counts marked bytes, those that arrived without a mark
    /// count.
    pub(super) fn count_for_growth(&self, core: &Core, marked: bool) -> (u64, bool) {
        let delivered = self.news.delivered;
        if let Some(unmarked) = core.unmarked(delivered) {
            return (unmarked, unmarked > 0);
        }
        // A mark has no effect while a timeout is repaired (`tcp_may_raise_cwnd`).
        let ignores_mark = core.episode.phase == Phase::Timeout;
        (delivered, ignores_mark || (!marked && !core.is_reduced_by_mark()))
    }

    /// Returns true if the ACK that is being processed starts a recovery.
    pub(super) fn is_about_to_recover(&self, core: &Core) -> bool {
        let any = core.scoreboard.flight().is_some_and(|flight| flight.has_lost());
        any && (core.episode.phase == Phase::Open || self.news.lost_again)
    }

    /// `is_dubious`: the ACK is not an ordinary one (`tcp_ack_is_dubious`). Only such an ACK shows
    /// disorder.
    pub(super) fn note_disorder(&mut self, core: &Core, is_dubious: bool) {
        if core.episode.phase != Phase::Open {
            return;
        }
        let Some(flight) = core.scoreboard.flight() else { return };
        if !flight.has_copies() {
            self.undo.forget_copies();
        }
        if is_dubious || self.is_disordered {
            self.is_disordered = flight.sacked() > 0 || flight.has_lost() || flight.has_copies();
        }
    }

    /// A loss that a probe has repaired reduces the window before the ACK lets it grow
    /// (`tcp_process_tlp_ack`). `silent`: the ACK brings nothing new.
    pub(super) fn take_answer_to_probe(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        silent: bool,
    ) {
        let reported = (ack.needless.start < ack.needless.end).then_some(ack.needless.end);
        let answer = Answer {
            acknowledged: ack.number,
            bare_duplicate: silent && reported.is_none(),
            reported,
        };
        let repaired = self.probe.on_ack(answer);
        if repaired
            && core.episode.phase == Phase::Open
            && !core.reduction.is_in_window_of_mark(core.stream.una)
        {
            let flight = core.flight_to_reduce(config);
            core.controller.on_loss(&Loss { now, flight, repeated: false });
            core.reduction.note(core.stream.max);
            core.stop_jump();
            core.controller.on_recovery_exit(now);
        }
    }

    /// Starts a recovery if there is lost data and none runs. After a timeout a retransmission that
    /// was lost starts one (`tcp_fastretrans_alert`, `FLAG_LOST_RETRANS`). `saw_loss`: the
    /// controller has seen a loss.
    pub(super) fn recover_from_losses(
        &mut self,
        core: &mut Core,
        now: Time,
        config: &Config,
        saw_loss: bool,
    ) {
        let phase = core.episode.phase;
        if phase != Phase::Open && !(phase == Phase::Timeout && self.news.lost_again) {
            return;
        }
        let Some(flight) = core.scoreboard.flight_mut() else { return };
        if saw_loss {
            flight.lose_head(|range| self.lost.push(range));
            self.record_losses(core, now);
        }
        if core.scoreboard.flight().is_some_and(|flight| flight.has_lost()) {
            self.enter_recovery(core, now, config);
        }
    }

    pub(super) fn enter_recovery(&mut self, core: &mut Core, now: Time, config: &Config) {
        if path_mtu::repairs_mtu_probe(core, self, now) {
            return;
        }
        let before = *core.controller.window();
        let after_mark = core.goes_on_with_mark();
        self.remember_window(core, !after_mark);
        self.probe.forget();
        self.frto = Frto::Off;
        reduction::enter_fast_recovery(core, self, now, config);
        let is_spared = core.notices().is_some_and(|notices| notices.is_spared());
        let is_fast = core.episode.phase == Phase::FastRecovery;
        self.is_repair_due = self.forces_repair && is_fast;
        let proportional = self.reduces && is_fast && !is_spared;
        if !(after_mark && proportional) {
            let ssthresh = core.controller.window().ssthresh;
            self.reduction = proportional.then(|| Reduction::new(before.cwnd, ssthresh));
        }
    }

    /// Something beyond what was outstanding at the mark is acknowledged
    /// (`tcp_end_cwnd_reduction`).
    pub(super) fn end_reduction_by_mark(&mut self, core: &mut Core, now: Time) {
        let is_over = core.reduction.by_mark && core.stream.una > core.reduction.at;
        if !is_over || core.episode.phase != Phase::Open {
            return;
        }
        core.reduction.by_mark = false;
        if let Some(reduction) = self.reduction.take() {
            core.controller.window_mut().cwnd = reduction.target();
            self.note_change_of_window(now);
        }
    }

    /// Lets cwnd fall, or grow back to ssthresh, for `delivered` bytes (PRR).
    #[inline]
    pub(super) fn reduce(&mut self, core: &mut Core, delivered: u64, progress: bool) {
        if delivered > 0
            && let Some(reduction) = &mut self.reduction
        {
            let cwnd = reduction.on_ack(delivered, core.pipe(), progress, core.stream.mss);
            core.controller.window_mut().cwnd = cwnd;
        }
    }

    /// An ACK after a timeout: F-RTO looks if the timeout was needed.
    pub(super) fn doubt_timeout(&mut self, core: &Core, news: &News, is_duplicate: bool) {
        let stream = &core.stream;
        let unsent = stream.buffered.min(stream.una + core.peer.advertised) > stream.max;
        self.frto = self.frto.after(Evidence {
            advanced: news.advanced,
            sacked: news.sacked || is_duplicate,
            new_sent: stream.max > core.episode.recover,
            new_possible: unsent && core.pipe_has_room(),
        });
    }
}
