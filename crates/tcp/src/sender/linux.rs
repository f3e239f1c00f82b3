//! Loss recovery of Linux. It combines RACK (`rack`), the tail loss probe (`tail_loss_probe`),
//! proportional rate reduction (`prr`) and undo of spurious reductions (`spurious`).
//!
//! - `news`: data and reports in an ACK, and the RTT that it measures
//! - `timer`: the one timer, which waits for a retransmission, a loss or a probe
//! - `undo`: the end of a recovery, and reductions that are taken back
//! - `usage`: whether cwnd limits the sender
//!
//! Windows count segments, and one that is not full counts as a full one: in what is in the network, in
//! what arrives (also for growth and for `prr`) and in what is retransmitted (`flight`).
//!
//! Sources: the RFCs, and the known behaviour of `tcp_input.c` and `tcp_recovery.c` where the RFCs
//! leave a choice or Linux differs: a loss halves cwnd instead of the flight size. A timeout in
//! recovery does not reduce ssthresh again, and does not mark recently sent segments as lost.
//!
//! The order of an ACK is that of `tcp_ack`: the scoreboard, the end of a recovery or its undo, losses, what
//! the controller makes of the ACK, the timer.

mod news;
mod timer;
mod undo;
mod usage;

use crate::config::Recovery;
use congestion::{Controller, Loss, Needs, TcpPolicy};
use units::Time;

use crate::config::Config;
use crate::timestamps::timestamp;
use transport::{Estimator, Range};

use super::acknowledge::Acknowledgement;
use super::prr::Reduction;
use super::rack::{Rack, Situation};
use super::spurious::{Evidence, Frto, Undo};
use super::tail_loss_probe::{Answer, TailLossProbe};
use super::{Phase, Sender};
use news::News;
use timer::Awaited;
use usage::Validated;

/// The state of this recovery.
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
    /// With an RTO of RFC 6298: when something was last acknowledged cumulatively. The timer counts from there.
    advanced_at: Option<Time>,
    used: Validated,
    /// Something is known to have arrived out of order, to be lost, or to be retransmitted (`TCP_CA_Disorder`).
    is_disordered: bool,
    /// A tail loss probe is leaving.
    is_probing: bool,
    /// Nothing is retransmitted until the next ACK: an original has arrived late.
    holds_repairs: bool,
    /// Segments that were reported to have arrived twice.
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
            // BBR keeps the room itself (packet conservation, `bbr_set_cwnd_to_recover_or_restore`).
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
}

impl Sender {
    fn linux(&mut self) -> Option<&mut Linux> {
        self.instruments.as_mut()?.linux.as_mut()
    }

    fn known_linux(&self) -> Option<&Linux> {
        self.instruments.as_ref()?.linux.as_ref()
    }

    /// A segment leaves.
    pub(super) fn follow_sending(&mut self, now: Time, range: Range, again: bool) {
        self.note_data(now);
        // Without a FIN.
        let bytes = range.end.min(self.stream.written).saturating_sub(range.start);
        let linux = self.instruments.as_mut().and_then(|instruments| instruments.linux.as_mut());
        let (Some(linux), Some(flight)) = (linux, self.scoreboard.flight_mut()) else { return };
        if again && linux.is_probing {
            flight.on_probe(now);
            return;
        }
        let is_first = flight.first_sent_at().is_none();
        let counted =
            if again { flight.on_again(now, range) } else { flight.on_new(now, range, bytes) };
        if let Some(reduction) = &mut linux.reduction {
            reduction.on_sent(counted);
        }
        if again {
            linux.is_repair_due = false;
            linux.undo.on_again(counted, timestamp(now));
            if range.start <= self.stream.una {
                self.restart_with_first_segment(now);
            }
        } else {
            self.validate_window(now, range.end);
            self.restart_with_new_data(now, is_first);
        }
    }

    /// Takes from an ACK, which acknowledges `acked` new bytes, the end or the undo of a recovery, and then
    /// the losses among what is outstanding, before the controller gets that ACK.
    pub(super) fn judge_outstanding(
        &mut self,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        acked: u64,
    ) {
        self.note_limit_by_window();
        if ack.marked {
            self.keep_reductions();
        }
        let mss = self.stream.mss;
        let takes_sacks = self.episode.phase != Phase::Timeout
            || self.known_linux().is_some_and(|linux| linux.undo.is_armed());
        self.take_report(ack, acked);
        let Some(linux) = self.linux() else { return };
        linux.rack.on_ack(mss, takes_sacks);
        linux.holds_repairs = false;
        if !linux.news.is_old {
            linux.rack.widen(now);
            self.take_sample_of_sack(now, config);
            self.take_answer_to_probe(now, config, ack, false);
        }
        self.review_recovery(now, config, ack, acked);
        if let Some(linux) = self.linux()
            && !linux.holds_repairs
            && linux.rack.take_news()
        {
            self.find_losses_by_time(now, config);
        }
    }

    /// Returns whether there were any.
    fn find_losses_by_time(&mut self, now: Time, config: &Config) -> bool {
        let linux = self.instruments.as_mut().and_then(|instruments| instruments.linux.as_mut());
        let (Some(linux), Some(flight)) = (linux, self.scoreboard.flight_mut()) else {
            return false;
        };
        let threshold = self.controller.duplicate_threshold(config.dupthresh);
        let situation = Situation {
            recovering: self.episode.phase != Phase::Open,
            overtaken: flight.sacked() >= threshold,
            min_rtt: self.rtt.min(),
            srtt: self.rtt.srtt(),
        };
        let Some((latest, patience)) = linux.rack.patience(situation) else { return false };
        let mut lost = std::mem::take(&mut linux.lost);
        let news = &mut linux.news;
        news.doubtful_until = flight.find_losses(now, latest, patience, |segment| {
            news.lost_again |= segment.is_repeating();
            lost.push(segment.range());
        });
        self.tell_losses(now, lost)
    }

    /// Returns whether there were any.
    fn tell_losses(&mut self, now: Time, mut lost: Vec<Range>) -> bool {
        for range in &lost {
            self.note_losses(now, range.start, range.end);
        }
        let any = !lost.is_empty();
        lost.clear();
        if let Some(linux) = self.linux() {
            linux.news.lost |= any;
            linux.lost = lost;
        }
        any
    }

    /// An ACK has been taken in, and the controller knows of it.
    pub(super) fn recover_after_ack(
        &mut self,
        now: Time,
        config: &Config,
        ack: &Acknowledgement,
        window_moved: bool,
        controller_saw_loss: bool,
    ) {
        let Some(linux) = self.linux() else { return };
        let news = linux.news;
        let repeats = !news.advanced && !ack.carries_data && !window_moved;
        let silent = repeats && news.delivered == 0;
        if silent && !news.is_old {
            self.take_answer_to_probe(now, config, ack, true);
        }
        self.recover_from_losses(now, config, controller_saw_loss);
        if self.episode.phase == Phase::Timeout {
            self.doubt_timeout(&news, repeats && !news.reported);
        } else if !news.is_old {
            self.reduce(news.delivered, news.advanced && !news.lost);
        }
        self.grow_out_of_order(now, config, &news, ack.marked);
        self.look_at_packet_again();
        if window_moved {
            self.look_at_idle_time();
        }
        self.note_disorder(repeats || news.sacked || news.reported || ack.marked);
        self.restart_after_ack(now, &news);
        if let Some(linux) = self.linux() {
            linux.news = News::default();
        }
    }

    /// Once the path is known to reorder by more than the duplicate threshold, data that is acknowledged
    /// selectively lets the window grow, too (`tcp_may_raise_cwnd`).
    fn grow_out_of_order(&mut self, now: Time, config: &Config, news: &News, marked: bool) {
        let threshold = u64::from(self.controller.duplicate_threshold(config.dupthresh));
        let reorders = self.known_linux().is_some_and(|l| l.rack.reordering() > threshold);
        let raises = reorders && news.sacked && !news.advanced && !news.is_old;
        let is_open = self.episode.phase == Phase::Open && !self.is_reduced_by_mark() && !marked;
        if raises && (is_open || self.episode.phase == Phase::Timeout) {
            let flight = self.counted_flight();
            self.grow(now, news.delivered, flight, self.uses_window(config));
            self.note_change_of_window(now);
        }
    }

    /// True if the ACK that is being processed starts a recovery. Such an ACK grows no window.
    pub(super) fn is_about_to_recover(&self) -> bool {
        let Some(linux) = self.known_linux() else { return false };
        let any = self.scoreboard.flight().is_some_and(|flight| flight.has_lost());
        any && (self.episode.phase == Phase::Open || linux.news.lost_again)
    }

    /// `is_dubious`: the ACK is not an ordinary one (`tcp_ack_is_dubious`). Only such an ACK shows disorder.
    fn note_disorder(&mut self, is_dubious: bool) {
        if self.episode.phase != Phase::Open {
            return;
        }
        let linux = self.instruments.as_mut().and_then(|instruments| instruments.linux.as_mut());
        let (Some(linux), Some(flight)) = (linux, self.scoreboard.flight()) else { return };
        if !flight.has_copies() {
            linux.undo.forget_copies();
        }
        if is_dubious || linux.is_disordered {
            linux.is_disordered = flight.sacked() > 0 || flight.has_lost() || flight.has_copies();
        }
    }

    /// A loss that a probe has repaired reduces the window before the ACK lets it grow (`tcp_process_tlp_ack`).
    /// `silent`: the ACK brings nothing new.
    fn take_answer_to_probe(
        &mut self,
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
        let repaired = self.linux().is_some_and(|linux| linux.probe.on_ack(answer));
        if repaired
            && self.episode.phase == Phase::Open
            && !self.reductions.is_in_window_of_mark(self.stream.una)
        {
            let flight = self.flight_to_reduce(config);
            self.controller.on_loss(&Loss { now, flight, repeated: false });
            self.note_reduction();
            self.stop_jump();
            self.controller.on_recovery_exit(now);
        }
    }

    /// Starts a recovery if there is lost data and none runs. After a timeout a retransmission that was
    /// lost starts one (`tcp_fastretrans_alert`, `FLAG_LOST_RETRANS`).
    fn recover_from_losses(&mut self, now: Time, config: &Config, controller_saw_loss: bool) {
        let lost_again = self.known_linux().is_some_and(|linux| linux.news.lost_again);
        if self.episode.phase != Phase::Open
            && !(self.episode.phase == Phase::Timeout && lost_again)
        {
            return;
        }
        let Some(flight) = self.scoreboard.flight_mut() else { return };
        if controller_saw_loss {
            let linux = self.instruments.as_mut().and_then(|i| i.linux.as_mut());
            let mut lost = linux.map_or_else(Vec::new, |linux| std::mem::take(&mut linux.lost));
            flight.lose_head(|range| lost.push(range));
            self.tell_losses(now, lost);
        }
        if self.scoreboard.flight().is_some_and(|flight| flight.has_lost()) {
            self.enter_recovery(now, config);
        }
    }

    fn enter_recovery(&mut self, now: Time, config: &Config) {
        if self.repairs_mtu_probe(now) {
            return;
        }
        let before = *self.controller.window();
        let after_mark = self.goes_on_with_mark();
        self.remember_window(!after_mark);
        if let Some(linux) = self.linux() {
            linux.probe.forget();
            linux.frto = Frto::Off;
        }
        self.enter_fast_recovery(now, config);
        let is_spared = self.is_spared();
        let (phase, ssthresh) = (self.episode.phase, self.controller.window().ssthresh);
        if let Some(linux) = self.linux() {
            linux.is_repair_due = linux.forces_repair && phase == Phase::FastRecovery;
            let proportional = linux.reduces && phase == Phase::FastRecovery && !is_spared;
            if !(after_mark && proportional) {
                linux.reduction = proportional.then(|| Reduction::new(before.cwnd, ssthresh));
            }
        }
    }

    /// A loss of the recovery that runs has reduced cwnd from `before`.
    pub(super) fn reduce_by_loss(&mut self, before: u64) {
        let ssthresh = self.controller.window().ssthresh;
        if let Some(linux) = self.linux()
            && linux.reduces
        {
            linux.reduction = Some(Reduction::new(before, ssthresh));
        }
    }

    /// A mark has reduced cwnd from `before`, however little. It is to fall as data arrives
    /// (`tcp_enter_cwr`).
    pub(super) fn reduce_in_proportion(&mut self, before: u64) {
        let cwnd = self.controller.window().cwnd;
        let Some(linux) = self.linux() else { return };
        linux.probe.forget();
        linux.undo.forget();
        if linux.reduces {
            linux.reduction = Some(Reduction::new(before, cwnd));
            self.controller.window_mut().cwnd = before;
        }
    }

    /// Something beyond what was outstanding at the mark is acknowledged (`tcp_end_cwnd_reduction`).
    pub(super) fn end_reduction_by_mark(&mut self, now: Time) {
        if !self.reductions.by_mark
            || self.stream.una <= self.reductions.at
            || self.episode.phase != Phase::Open
        {
            return;
        }
        self.reductions.by_mark = false;
        if let Some(linux) = self.linux()
            && let Some(reduction) = linux.reduction.take()
        {
            self.controller.window_mut().cwnd = reduction.target();
            self.note_change_of_window(now);
        }
    }

    /// An echo of a mark calls for a reduction that nothing takes back (`tcp_fastretrans_alert`).
    pub(super) fn keep_reductions(&mut self) {
        if let Some(linux) = self.linux() {
            linux.undo.keep_reduction();
        }
    }

    /// Returns true for the first retransmission of a recovery that leaves whatever cwnd is: the fast retransmit
    /// (RFC 5681 section 3.2, RFC 6675 section 5 step 4.3). With PRR cwnd has room for it.
    #[cold]
    pub(super) fn forces_repair(&mut self) -> bool {
        self.linux().is_some_and(|linux| std::mem::take(&mut linux.is_repair_due))
    }

    fn reduce(&mut self, delivered: u64, progress: bool) {
        let (pipe, mss) = (self.scoreboard.pipe(self.stream.una, self.stream.max), self.stream.mss);
        if delivered > 0
            && let Some(linux) = self.linux()
            && let Some(reduction) = &mut linux.reduction
        {
            let cwnd = reduction.on_ack(delivered, pipe, progress, mss);
            self.controller.window_mut().cwnd = cwnd;
        }
    }

    fn doubt_timeout(&mut self, news: &News, is_duplicate: bool) {
        let unsent =
            self.stream.buffered.min(self.stream.una + self.peer.advertised) > self.stream.max;
        let evidence = Evidence {
            advanced: news.advanced,
            sacked: news.sacked || is_duplicate,
            new_sent: self.stream.max > self.episode.recover,
            new_possible: unsent && self.pipe_has_room(),
        };
        if let Some(linux) = self.linux() {
            linux.frto = linux.frto.after(evidence);
        }
    }

    /// Returns true if new data goes before what counts as lost, to see whether that is lost at all.
    pub(super) fn tries_new_data(&self) -> bool {
        self.known_linux().is_some_and(|linux| linux.frto == Frto::Trying || linux.holds_repairs)
    }

    /// The retransmission timer expired, and the controller is about to hear of it.
    pub(super) fn prepare_for_timeout(&mut self, config: &Config) {
        let first = self.episode.phase == Phase::Open;
        let again = self.timers.retries > 1;
        let in_window_of_mark = self.reductions.is_in_window_of_mark(self.stream.una);
        if !again && self.episode.phase != Phase::FastRecovery && !in_window_of_mark {
            self.remember_window(true);
        }
        let threshold = self.controller.duplicate_threshold(config.dupthresh);
        let sacked = self.scoreboard.flight().map_or(0, |flight| flight.sacked());
        let Some(linux) = self.linux() else { return };
        linux.frto = if first || again { Frto::Waiting } else { Frto::Off };
        if first && !in_window_of_mark && sacked >= threshold {
            linux.rack.doubt_reordering(threshold);
        }
    }

    /// Everything counts as lost but what was sent a moment ago.
    pub(super) fn lose_all_overdue(&mut self, now: Time) {
        let linux = self.instruments.as_mut().and_then(|instruments| instruments.linux.as_mut());
        let (Some(linux), Some(flight)) = (linux, self.scoreboard.flight_mut()) else { return };
        linux.reduction = None;
        linux.holds_repairs = false;
        linux.is_repair_due = false;
        linux.probe.forget();
        linux.awaited = Awaited::Retransmission;
        linux.used.note_change(now);
        let mut lost = std::mem::take(&mut linux.lost);
        flight.on_timeout(now, linux.rack.patience_at_timeout(), |range| lost.push(range));
        let least = flight.pipe() + self.stream.mss;
        self.tell_losses(now, lost);
        let window = self.controller.window_mut();
        window.cwnd = window.cwnd.max(least);
    }

    /// Segments that are longer than allowed now count as lost, and leave in pieces. Nothing takes this back
    /// (`tcp_simple_retransmit`).
    pub(super) fn lose_too_large(&mut self, now: Time) {
        let mss = self.stream.mss;
        let linux = self.instruments.as_mut().and_then(|instruments| instruments.linux.as_mut());
        let (Some(linux), Some(flight)) = (linux, self.scoreboard.flight_mut()) else { return };
        linux.reduction = None;
        linux.undo.forget();
        linux.frto = Frto::Off;
        linux.probe.forget();
        linux.awaited = Awaited::Retransmission;
        let mut lost = std::mem::take(&mut linux.lost);
        flight.lose_longer(mss, |range| lost.push(range));
        flight.recut(mss);
        self.tell_losses(now, lost);
    }

    /// Returns true if this recovery is the one in use.
    pub(crate) fn recovers_like_linux(&self) -> bool {
        self.recovery == Recovery::Linux
    }
}
