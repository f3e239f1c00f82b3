//! Loss recovery of Linux. It combines RACK (`rack`), the tail loss probe (`tail_loss_probe`),
//! proportional rate reduction (`prr`) and undo of spurious reductions (`spurious`).
//!
//! Sources: the RFCs, and the known behaviour of `tcp_input.c` and `tcp_recovery.c` where the RFCs
//! leave a choice or Linux differs: a loss halves cwnd instead of the flight size. A timeout in
//! recovery does not reduce ssthresh again, and does not mark recently sent segments as lost.

use crate::config::Recovery;
use congestion::{Controller, Loss, Needs, Sizing, TcpPolicy};
use units::{Span, Time};

use crate::config::Config;
use crate::flight::Segment;
use crate::timestamps::echoed;
use transport::Range;

use super::acknowledge::Acknowledgement;
use super::prr::Reduction;
use super::rack::{Rack, Situation};
use super::spurious::{Evidence, Frto, Undo};
use super::tail_loss_probe::{Answer, TailLossProbe};
use super::transmit::Chunk;
use super::{Phase, Sender};

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
    /// A recovery runs, or what follows a timeout.
    recovering: bool,
    news: News,
    /// Room for the losses that one ACK shows.
    lost: Vec<Range>,
}

/// What the ACK that is being processed has brought.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    /// Bytes that have arrived.
    delivered: u64,
    /// Some of it was acknowledged selectively.
    sacked: bool,
    /// When that segment was sent which was sent first of these, and only once.
    sampled: Option<Time>,
    /// Likewise of what was acknowledged cumulatively and not selectively before, if nothing of it
    /// was sent more than once.
    acknowledged: Option<Time>,
    /// Data that counted as lost and was not sent again has arrived.
    original: bool,
    advanced: bool,
    lost: bool,
}

impl Linux {
    pub(super) fn new(needs: Needs, least_rto: Span) -> Self {
        Self {
            rack: Rack::new(),
            probe: TailLossProbe::new(least_rto),
            undo: Undo::default(),
            frto: Frto::Off,
            reduction: None,
            reduces: !needs.own_recovery,
            recovering: false,
            news: News::default(),
            lost: Vec::new(),
        }
    }

    /// When the next loss is certain, or a probe is due.
    pub(super) fn deadline(&self) -> Time {
        self.rack.due.min(self.probe.due)
    }

    fn note(&mut self, segment: &Segment) {
        self.news.delivered += segment.range().len();
        self.news.original |= segment.lost && !segment.again;
    }
}

impl News {
    fn note_sacked(&mut self, segment: &Segment) {
        self.sacked = true;
        if !segment.again {
            let sent = segment.sent_at;
            self.sampled = Some(self.sampled.map_or(sent, |first| first.min(sent)));
        }
    }

    fn note_acknowledged(&mut self, segment: &Segment) {
        // Those sent once were sent in their order.
        self.acknowledged = self.acknowledged.or(Some(segment.sent_at));
    }
}

impl Sender {
    fn linux(&mut self) -> Option<&mut Linux> {
        self.instruments.as_mut()?.linux.as_mut()
    }

    /// A segment leaves.
    pub(super) fn follow_sending(&mut self, now: Time, range: Range, again: bool) {
        let Some(flight) = self.scoreboard.flight_mut() else { return };
        if again {
            flight.on_again(now, range);
        } else {
            flight.on_new(now, range);
        }
        let Some(linux) = self.linux() else { return };
        if let Some(reduction) = &mut linux.reduction {
            reduction.on_sent(range.len());
        }
        if again {
            linux.undo.on_again(range.len());
            if range.start <= self.una {
                self.restart_timer(now);
                if self.retries > 0 {
                    self.bound_by_user_timeout(now);
                }
            }
        } else {
            self.schedule_tail_probe(now);
        }
    }

    /// A SACK block is about to enter the scoreboard.
    pub(super) fn follow_sack_block(&mut self, now: Time, block: Range) {
        let min_rtt = self.rtt.min();
        let linux = self.instruments.as_mut().and_then(|instruments| instruments.linux.as_mut());
        let Some(linux) = linux else { return };
        self.scoreboard.sack_segments(block, |segment| {
            linux.note(segment);
            linux.news.note_sacked(segment);
            linux.rack.on_delivered(now, segment, min_rtt, None);
        });
    }

    /// Bytes that have arrived by what this ACK says. Linux lets the window grow by them, and so by
    /// none that SACK has reported before; RFC 5681 section 3.1 counts what is acknowledged
    /// cumulatively.
    #[inline]
    pub(super) fn delivered_by_this_ack(&self) -> Option<u64> {
        let linux = self.instruments.as_ref()?.linux.as_ref()?;
        Some(linux.news.delivered)
    }

    /// New data is acknowledged.
    pub(super) fn follow_acknowledgement(&mut self, now: Time, ack: &Acknowledgement) {
        let echoed = ack.round_trip.map(|round_trip| echoed(now, round_trip));
        let min_rtt = self.rtt.min();
        let linux = self.instruments.as_mut().and_then(|instruments| instruments.linux.as_mut());
        let (Some(linux), Some(flight)) = (linux, self.scoreboard.flight_mut()) else { return };
        linux.news.advanced = true;
        let any_again = flight.on_acknowledged(ack.number, |segment| {
            linux.note(segment);
            linux.news.note_acknowledged(segment);
            linux.rack.on_delivered(now, segment, min_rtt, echoed);
        });
        if any_again {
            // Karn's algorithm (RFC 6298 section 3).
            linux.news.acknowledged = None;
        }
    }

    /// The sample of an ACK without timestamps. Linux takes one from each that acknowledges data for
    /// the first time and none that was sent twice (`tcp_ack_update_rtt`); RFC 6298 section 3 asks
    /// for one a round trip, which is `timed`.
    pub(super) fn sample_without_timestamps(&self, now: Time, timed: Option<Span>) -> Option<Span> {
        match self.instruments.as_ref().and_then(|instruments| instruments.linux.as_ref()) {
            Some(linux) => linux.news.acknowledged.map(|sent| now.since(sent)),
            None => timed,
        }
    }

    /// Finds losses among the outstanding data from what an ACK brought, before the controller gets
    /// that ACK.
    pub(super) fn judge_outstanding(&mut self, now: Time, config: &Config, ack: &Acknowledgement) {
        let (una, max, phase) = (self.una, self.max, self.phase);
        let Some(linux) = self.linux() else { return };
        linux.rack.on_ack();
        if ack.needless.start < ack.needless.end {
            linux.rack.on_duplicate_report(una, max);
            linux.undo.on_duplicate_report(ack.needless);
        }
        if phase == Phase::Timeout {
            let unmasked = linux.frto != Frto::Off && linux.news.original;
            if unmasked || (linux.news.advanced && linux.undo.is_due()) {
                if let Some(flight) = self.scoreboard.flight_mut() {
                    flight.find_all();
                }
                self.take_back(now);
            }
        }
        self.take_sample_of_sack(now, config, ack.round_trip.is_some());
        self.find_losses_by_time(now, config);
    }

    /// Where nothing acknowledged cumulatively tells the round-trip time, SACK blocks do: without
    /// them the RTO of a long recovery is that of the time before the queue filled. As in Linux.
    fn take_sample_of_sack(&mut self, now: Time, config: &Config, echoed: bool) {
        let Some(linux) = self.linux() else { return };
        if let Some(sent) = linux.news.sampled
            && linux.news.acknowledged.is_none()
            && !(linux.news.advanced && echoed)
        {
            let sample = now.since(sent);
            let per_round = self.flight().div_ceil(self.mss);
            self.rtt.sample(&config.rto, sample, self.progress(per_round));
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
            recovering: self.phase != Phase::Open,
            overtaken: flight.sacked() >= threshold,
            min_rtt: self.rtt.min(),
            srtt: self.rtt.srtt(),
        };
        let Some((latest, patience)) = linux.rack.patience(situation) else { return false };
        let mut lost = std::mem::take(&mut linux.lost);
        let wait = flight.find_losses(now, latest, patience, |range| lost.push(range));
        linux.rack.due = wait.unwrap_or(Time::NEVER);
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
        let phase = self.phase;
        let Some(linux) = self.linux() else { return };
        let news = std::mem::take(&mut linux.news);
        if phase == Phase::Open && std::mem::take(&mut linux.recovering) {
            linux.reduction = None;
            linux.frto = Frto::Off;
            linux.rack.on_recovery_end();
        }
        let silent = news.delivered == 0 && !ack.carries_data && !window_moved;
        self.take_answer_to_probe(now, config, ack, silent);
        if self.phase != Phase::Timeout && self.linux().is_some_and(|linux| linux.undo.is_due()) {
            self.take_back(now);
        }
        self.recover_from_losses(now, config, controller_saw_loss);
        match self.phase {
            Phase::Open | Phase::FastRecovery => {
                self.reduce(news.delivered, news.advanced && !news.lost);
            }
            Phase::Timeout => self.doubt_timeout(&news),
        }
        self.keep_tail_probe(now, &news);
    }

    /// `silent`: the ACK tells nothing new.
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
        if repaired && self.phase == Phase::Open && !self.is_in_window_of_mark() {
            let flight = self.flight_to_reduce(config);
            self.controller.on_loss(&Loss { now, flight, repeated: false });
            self.note_reduction();
            self.stop_jump();
            self.controller.on_recovery_exit(now);
        }
    }

    /// Starts a recovery if there is lost data and none runs.
    fn recover_from_losses(&mut self, now: Time, config: &Config, controller_saw_loss: bool) {
        if self.phase != Phase::Open {
            return;
        }
        let Some(flight) = self.scoreboard.flight_mut() else { return };
        if controller_saw_loss {
            let linux = self.instruments.as_mut().and_then(|i| i.linux.as_mut());
            let mut lost = linux.map_or_else(Vec::new, |linux| std::mem::take(&mut linux.lost));
            flight.lose_head(|range| lost.push(range));
            self.tell_losses(now, lost);
        }
        let Some(flight) = self.scoreboard.flight_mut() else { return };
        if !flight.has_lost() {
            return;
        }
        if self.repairs_mtu_probe(now) {
            return;
        }
        let repeating = self.scoreboard.flight_mut().map_or(0, |flight| flight.repeating());
        let before = *self.controller.window();
        let una = self.una;
        let after_mark = self.is_in_window_of_mark();
        if let Some(linux) = self.linux() {
            if !after_mark {
                linux.undo.remember(&before, una, repeating);
            }
            linux.probe.forget();
        }
        self.enter_fast_recovery(now, config);
        let is_spared = self.is_spared();
        let (phase, ssthresh) = (self.phase, self.controller.window().ssthresh);
        if let Some(linux) = self.linux() {
            linux.recovering = true;
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
        if linux.reduces {
            linux.reduction = Some(Reduction::new(before, cwnd));
            self.controller.window_mut().cwnd = before;
        }
    }

    /// Something beyond what was outstanding at the mark is acknowledged (`tcp_end_cwnd_reduction`).
    pub(super) fn end_reduction_by_mark(&mut self) {
        if !self.reduced_by_mark || self.una <= self.reduced_at || self.phase != Phase::Open {
            return;
        }
        self.reduced_by_mark = false;
        if let Some(linux) = self.linux()
            && let Some(reduction) = linux.reduction.take()
        {
            self.controller.window_mut().cwnd = reduction.target();
        }
    }

    /// An echo of a mark asks for a reduction that nothing takes back (`tcp_fastretrans_alert`).
    pub(super) fn keep_reductions(&mut self) {
        if let Some(linux) = self.linux() {
            linux.undo = Undo::default();
        }
    }

    fn reduce(&mut self, delivered: u64, progress: bool) {
        let (pipe, mss) = (self.scoreboard.pipe(self.una, self.max), self.mss);
        if delivered > 0
            && let Some(linux) = self.linux()
            && let Some(reduction) = &mut linux.reduction
        {
            let cwnd = reduction.on_ack(delivered, pipe, progress, mss);
            self.controller.window_mut().cwnd = cwnd;
        }
    }

    fn doubt_timeout(&mut self, news: &News) {
        let unsent = self.buffered.min(self.una + self.advertised) > self.max;
        let evidence = Evidence {
            advanced: news.advanced,
            sacked: news.sacked,
            new_sent: self.max > self.recover,
            new_possible: unsent && self.pipe_has_room(),
        };
        if let Some(linux) = self.linux() {
            linux.frto = linux.frto.after(evidence);
        }
    }

    /// Whether new data goes before what counts as lost, to see whether that is lost at all.
    pub(super) fn tries_new_data(&self) -> bool {
        let linux = self.instruments.as_ref().and_then(|instruments| instruments.linux.as_ref());
        linux.is_some_and(|linux| linux.frto == Frto::Trying)
    }

    /// The last reduction was needless.
    fn take_back(&mut self, now: Time) {
        if self.phase == Phase::FastRecovery {
            self.tell_recovery_exit(now);
        }
        self.phase = Phase::Open;
        let linux = self.instruments.as_mut().and_then(|instruments| instruments.linux.as_mut());
        let Some(linux) = linux else { return };
        linux.frto = Frto::Off;
        linux.reduction = None;
        if let Some((cwnd, ssthresh)) = linux.undo.take() {
            self.controller.on_spurious_loss(cwnd, ssthresh);
        }
    }

    /// The retransmission timer expired, and the controller is about to hear of it.
    pub(super) fn prepare_for_timeout(&mut self) {
        let repeating = self.scoreboard.flight_mut().map_or(0, |flight| flight.repeating());
        let (window, una) = (*self.controller.window(), self.una);
        let first = self.phase == Phase::Open;
        let again = self.retries > 1;
        let reduces = !again && self.phase != Phase::FastRecovery && !self.is_in_window_of_mark();
        let Some(linux) = self.linux() else { return };
        if reduces {
            linux.undo.remember(&window, una, repeating);
        }
        linux.frto = if first || again { Frto::Waiting } else { Frto::Off };
    }

    /// Everything counts as lost but what was sent a moment ago.
    pub(super) fn lose_all_overdue(&mut self, now: Time) {
        let linux = self.instruments.as_mut().and_then(|instruments| instruments.linux.as_mut());
        let (Some(linux), Some(flight)) = (linux, self.scoreboard.flight_mut()) else { return };
        linux.recovering = true;
        linux.reduction = None;
        linux.probe.forget();
        linux.rack.due = Time::NEVER;
        let mut lost = std::mem::take(&mut linux.lost);
        flight.on_timeout(now, linux.rack.patience_at_timeout(), |range| lost.push(range));
        let least = flight.pipe() + self.mss;
        self.tell_losses(now, lost);
        let window = self.controller.window_mut();
        window.cwnd = window.cwnd.max(least);
    }

    /// What is longer than a segment may be now counts as lost, and leaves in pieces. Nothing takes this back
    /// (`tcp_simple_retransmit`).
    pub(super) fn lose_too_large(&mut self, now: Time) {
        let mss = self.mss;
        let linux = self.instruments.as_mut().and_then(|instruments| instruments.linux.as_mut());
        let (Some(linux), Some(flight)) = (linux, self.scoreboard.flight_mut()) else { return };
        linux.recovering = true;
        linux.reduction = None;
        linux.undo = Undo::default();
        linux.frto = Frto::Off;
        linux.probe.forget();
        let mut lost = std::mem::take(&mut linux.lost);
        flight.lose_longer(mss, |range| lost.push(range));
        flight.recut(mss);
        self.tell_losses(now, lost);
    }

    /// A probe is due while nothing is known to be missing.
    fn keep_tail_probe(&mut self, now: Time, news: &News) {
        let sacked = self.scoreboard.flight_mut().map_or(0, |flight| flight.sacked());
        if self.flight() == 0 || sacked > 0 || self.phase != Phase::Open {
            if let Some(linux) = self.linux() {
                linux.probe.due = Time::NEVER;
            }
        } else if news.advanced {
            self.schedule_tail_probe(now);
        }
    }

    fn schedule_tail_probe(&mut self, now: Time) {
        if self.phase != Phase::Open || self.persisting {
            return;
        }
        let srtt = self.rtt.srtt();
        let linux = self.instruments.as_mut().and_then(|instruments| instruments.linux.as_mut());
        if let (Some(linux), Some(flight)) = (linux, self.scoreboard.flight_mut())
            && flight.sacked() == 0
        {
            linux.probe.schedule(now, srtt, flight.is_single());
        }
    }

    /// A deadline has passed; perhaps it is one of these. A probe goes before the retransmission
    /// timer, which restarts with it (RFC 8985 section 7.2).
    pub(super) fn on_recovery_deadline(&mut self, now: Time, config: &Config) {
        let expired = self.deadline <= now && !self.persisting;
        let Some(linux) = self.linux() else { return };
        if linux.rack.due <= now {
            linux.rack.due = Time::NEVER;
            self.retransmission_quota = self.controller.retransmission_quota();
            self.on_losses_overdue(now, config);
            if expired {
                self.restart_timer(now);
            }
        }
        let Some(linux) = self.linux() else { return };
        if linux.probe.due <= now || (linux.probe.due != Time::NEVER && expired) {
            linux.probe.due = Time::NEVER;
            self.retransmission_quota = self.controller.retransmission_quota();
            self.resend_head = true;
            self.restart_timer(now);
        }
    }

    /// What was doubtful when the last ACK came is lost now. As Linux does, a recovery that begins
    /// with it counts one segment as delivered.
    fn on_losses_overdue(&mut self, now: Time, config: &Config) {
        let running = self.phase != Phase::Open;
        if self.find_losses_by_time(now, config) {
            self.recover_from_losses(now, config, false);
            if !running && self.phase == Phase::FastRecovery {
                self.reduce(self.mss, false);
            }
        }
        if let Some(linux) = self.linux() {
            linux.news = News::default();
        }
    }

    /// A tail loss probe: new data or the FIN if the receiver takes it, else the last segment again (RFC 8985
    /// section 7.3). cwnd is not asked.
    pub(super) fn next_tail_probe(&mut self, now: Time) -> Option<Chunk> {
        let end = self.pass_arrived().min(self.buffered);
        let state = self.send_state();
        self.taken = self.controller.advertised_window(Sizing::Segment, self.taken, &state);
        let length = end.min(self.una + self.taken).saturating_sub(self.max).min(self.mss);
        if length > 0 || (self.fin_waits() && self.max < self.una + self.advertised) {
            let end = self.max + length + u64::from(self.fin_follows(length));
            self.linux()?.probe.on_sent(end, false);
            return Some(self.send_new(now, length));
        }
        self.forget_mtu_probe();
        let last = self.scoreboard.flight_mut()?.last()?.range();
        let max = self.max;
        if self.retransmission_quota == 0 {
            return None;
        }
        self.linux()?.probe.on_sent(max, true);
        Some(self.repeat(now, last))
    }

    /// Whether this recovery is the one in use.
    pub(crate) fn recovers_like_linux(&self) -> bool {
        self.recovery == Recovery::Linux
    }
}
