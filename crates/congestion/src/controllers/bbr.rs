//! BBR, version 1: the window and the rate follow a model of the path, and not losses.
//!
//! Source: N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson, "BBR: Congestion-Based
//! Congestion Control", ACM Queue 14(5), 2016; the rules and constants are those of `tcp_bbr.c` in
//! Linux 5.10, restated.
//!
//! The model is the largest delivery rate of ten rounds and the smallest round-trip time of ten
//! seconds; their product is the bandwidth-delay product (BDP). Segments leave at a gain times the
//! rate, less 1 %; cwnd is a gain times the BDP, with room for three bursts and for ACKs that come
//! together.
//!
//! - Startup: both gains 739/256, the kernel's step above 2 / ln 2, until the rate has grown by
//!   less than 25 % in three rounds.
//! - Drain: pacing gain 88/256, the step below ln 2 / 2, until no more than the BDP is in the
//!   network.
//! - `ProbeBW`: cwnd gain 2; the pacing gain goes through 1.25, 0.75 and six times 1, each for the
//!   smallest RTT. 1.25 lasts until that much is in the network or something is lost, 0.75 no
//!   longer than until the BDP is.
//! - `ProbeRTT`: when the smallest RTT is ten seconds old, four segments for a round, at least
//!   200 ms.
//!
//! The first RTT, that of the handshake, is the first smallest RTT, and its ten seconds begin there
//! (`bbr_init`).
//!
//! Losses: as many bytes are sent as arrive for the first round of recovery, then cwnd grows as
//! usual; the end of recovery restores it. A timeout leaves one segment, and forgets how far
//! Startup had come.
//!
//! Not here: the detection of token-bucket policers (`lt_bw`), and what Linux does about segments
//! that its lower layers hold back. Marks of congestion are ignored, as in Linux. Decisions:
//! `ProbeBW` begins in a phase that Linux draws at random from all but 0.75; here it follows from
//! the time and from what was delivered, so that a run can be repeated. The largest excess of ACKs
//! is one over ten rounds, where Linux has two periods of five. Until the first RTT is known, it is
//! taken as 1 ms. ssthresh stays unlimited and means nothing.
//!
//! Rules in which another algorithm differs are in [`Rules`]; `leocc` has such.

mod picoquic;
mod rules;

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, LostSegment, Needs, PartialAck, PathChange, Sent};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::delivery_model::{
    Aggregation, Arrival, FullPipe, MaxFilter as _, Progress, WindowedMax, draw,
};
use crate::parts::picoquic::VARIANT_OF_TWO;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

pub use picoquic::PicoquicBbr;
pub(super) use rules::Rules;

/// 2 / ln 2 is the smallest pacing gain that doubles the rate with each round. The kernel counts
/// gains in steps of 1/256: it rounds 2.885 up, and its inverse down.
const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// Pacing gains of the phases of `ProbeBW`.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const CWND_GAIN: f64 = 2.0;
/// Share of the bandwidth at which segments leave, so that queues empty.
const MARGIN: f64 = 0.99;
/// Length of the bandwidth filter, and of that of aggregation, in rounds.
const ROUNDS: u64 = 10;
const PROBE_RTT_TIME: Span = Span::from_millis(200);
/// Smallest window in segments, and that of `ProbeRTT`.
pub(super) const LEAST_SEGMENTS: u64 = 4;
/// Aggregation is taken to be no longer than this.
const LONGEST_AGGREGATION: f64 = 0.1;
/// A burst is what is sent in this time in seconds, from 2 segments to 64 KiB; below the rate in
/// bytes per second it may be a single segment.
const BURST_TIME: f64 = 1.0 / 1024.0;
const LARGEST_BURST: u64 = 65_536;
const SMALL_BURST_RATE: f64 = 150_000.0;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "probe_rtt_interval",
        default: "10",
        allowed: Allowed::Range(1.0, 1e6),
        meaning: "Seconds without a smaller RTT after which the smallest is measured again, with \
                  four segments in the network",
    },
    VARIANT_OF_TWO,
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Startup,
    Drain,
    ProbeBw { phase: usize, since: Time },
    ProbeRtt(ProbeRtt),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ProbeRtt {
    /// More than four segments are in the network.
    Emptying,
    /// Until the time, and until a round is over.
    Measuring { until: Time, round_over: bool },
}

/// The rules of BBR itself.
#[derive(Clone, Debug, Default)]
pub struct Original;

impl Rules for Original {
    type Bandwidth = WindowedMax;
    type Excess = WindowedMax;
}

/// BBR, version 1.
pub type Bbr = Machine<Original>;

/// BBR, version 1. `R` are the rules that a controller built on it changes, as LeoCC does.
#[derive(Clone, Debug)]
pub struct Machine<R: Rules> {
    window: Window,
    rules: R,
    interval: Span,
    state: State,
    progress: Progress,
    /// Bytes per second by rounds.
    bandwidth: R::Bandwidth,
    aggregation: Aggregation<R::Excess>,
    /// Largest recent excess of ACKs in bytes.
    excess: f64,
    min_rtt: Option<Span>,
    min_rtt_since: Time,
    pacing: f64,
    /// Pacing gain of the last ACK.
    gain: f64,
    /// The last ACK, and cwnd before it.
    before: (Time, u64),
    /// True if `pacing` comes from an RTT.
    rtt_is_known: bool,
    full_pipe: FullPipe,
    /// In fast recovery, or on the way back from a timeout.
    recovering: bool,
    /// In its first round.
    conserving: bool,
    /// cwnd before recovery or `ProbeRTT`.
    prior_cwnd: u64,
    /// The last ACK.
    acked: u64,
    pipe: u64,
    restarting: bool,
}

impl Listed for Bbr {
    const LISTED: &'static [Entry] = &[Entry {
        name: "bbr",
        summary: "Rate and window from the largest delivery rate and the smallest RTT (version 1)",
        source: "Cardwell et al., BBR, 2016; Linux 5.10",
        status: Status::Implementation("Linux 5.10, net/ipv4/tcp_bbr.c"),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self::new(settings, Span::from_secs_f64(values.number("probe_rtt_interval")), Original)
    }
}

impl<R: Rules> Machine<R> {
    pub(super) fn new(settings: &Settings, interval: Span, rules: R) -> Self {
        let mut window = Window::new(settings);
        window.ssthresh = u64::MAX;
        let mut bbr = Self {
            window,
            rules,
            interval,
            state: State::Startup,
            progress: Progress::default(),
            bandwidth: R::Bandwidth::default(),
            aggregation: Aggregation::default(),
            excess: 0.0,
            min_rtt: None,
            min_rtt_since: Time::ZERO,
            pacing: 0.0,
            gain: HIGH_GAIN,
            before: (Time::ZERO, 0),
            rtt_is_known: false,
            full_pipe: FullPipe::default(),
            recovering: false,
            conserving: false,
            prior_cwnd: 0,
            acked: 0,
            pipe: 0,
            restarting: false,
        };
        bbr.pace_initial_window(Span::from_millis(1));
        bbr
    }

    #[cfg(test)]
    pub(super) fn rules(&self) -> &R {
        &self.rules
    }

    fn is_probing_bandwidth(&self) -> bool {
        matches!(self.state, State::ProbeBw { .. })
    }

    /// Pacing gain of a phase of `ProbeBW`.
    fn gain_of(&self, phase: usize) -> f64 {
        if phase == 0 { self.rules.probe_gain() } else { CYCLE[phase] }
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => DRAIN_GAIN,
            State::ProbeBw { phase, .. } => self.gain_of(phase),
            State::ProbeRtt(_) => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => HIGH_GAIN,
            State::ProbeBw { .. } => CWND_GAIN,
            State::ProbeRtt(_) => 1.0,
        }
    }

    /// The window of `ProbeRTT`.
    fn probe_rtt_cwnd(&self) -> u64 {
        let bdp = self.min_rtt.map_or(0.0, |rtt| self.bandwidth.max() * rtt.as_secs_f64());
        self.rules.probe_rtt_cwnd(bdp, self.window.mss)
    }

    /// The initial window in one RTT, times the gain.
    fn pace_initial_window(&mut self, rtt: Span) {
        self.pacing = HIGH_GAIN * MARGIN * self.window.initial as f64 / rtt.as_secs_f64();
    }

    /// Until the pipe is full, the rate does not fall.
    fn set_pacing(&mut self, gain: f64, bandwidth: f64) {
        let rate = gain * bandwidth * MARGIN;
        if (rate > 0.0 || R::AS_MODULE) && (self.full_pipe.reached || rate > self.pacing) {
            self.pacing = rate;
        }
    }

    /// Bytes in the network for `gain` times the BDP and `excess` bytes more: three bursts
    /// on their way through both hosts, an even number of segments so that none waits for its ACK,
    /// and two segments when the path is probed for more.
    fn inflight(&self, gain: f64, excess: f64) -> u64 {
        self.inflight_at(self.bandwidth.max(), gain, excess)
    }

    fn inflight_at(&self, bandwidth: f64, gain: f64, excess: f64) -> u64 {
        let mss = self.window.mss;
        let bdp = self
            .min_rtt
            .map_or(self.window.initial as f64, |rtt| gain * bandwidth * rtt.as_secs_f64());
        let room = whole(bdp + excess) + 3 * self.burst();
        let probing = matches!(self.state, State::ProbeBw { phase: 0, .. });
        room.div_ceil(2 * mss) * 2 * mss + if probing { 2 * mss } else { 0 }
    }

    /// Bytes that are sent at once.
    fn burst(&self) -> u64 {
        let mss = self.window.mss;
        let burst = whole(self.pacing * BURST_TIME).min(LARGEST_BURST) / mss * mss;
        burst.max(self.least_packet() * mss)
    }

    /// The next burst, if it adds to what is in the network: while the last gain is above 1.
    fn next_burst(&self) -> u64 {
        if R::AS_MODULE && self.gain > 1.0 { self.burst() } else { 0 }
    }

    fn update_bandwidth(&mut self, arrival: &Arrival) {
        if self.progress.round_began {
            self.conserving = false;
            self.rules.on_round(self.is_probing_bandwidth());
        }
        if let Some(rate) = arrival.sample.rate {
            let is_measuring = matches!(self.state, State::ProbeRtt(_));
            self.rules.on_rate(rate, arrival.round_trip, is_measuring);
        }
        if let Some(rate) = arrival.sample.rate
            && (!arrival.limited || rate >= self.bandwidth.max())
        {
            self.bandwidth.take(self.progress.round, rate, ROUNDS);
        }
    }

    fn update_excess(&mut self, arrival: &Arrival) {
        let bandwidth = self.bandwidth.max();
        let (cwnd, round) = (self.window.cwnd, self.progress.round);
        let excess = self.aggregation.take(arrival, bandwidth, cwnd, round, ROUNDS);
        self.excess = excess.min(bandwidth * LONGEST_AGGREGATION);
    }

    fn advance_cycle(&mut self, arrival: &Arrival) {
        let State::ProbeBw { phase, since } = self.state else { return };
        let lasted = self.min_rtt.is_some_and(|rtt| arrival.now.since(since) > rtt);
        let in_network = arrival.pipe_before() + self.next_burst();
        let gain = if R::AS_MODULE { self.gain } else { self.gain_of(phase) };
        let over = match gain {
            gain if gain > 1.0 => {
                lasted && (arrival.lost > 0 || in_network >= self.inflight(gain, 0.0))
            }
            gain if gain < 1.0 => lasted || in_network <= self.inflight(1.0, 0.0),
            _ => lasted,
        };
        if over {
            self.state = State::ProbeBw { phase: (phase + 1) % CYCLE.len(), since: arrival.now };
        }
    }

    fn check_whether_full(&mut self, arrival: &Arrival) {
        if !self.full_pipe.reached {
            let counts = self.progress.round_began && !arrival.limited;
            self.full_pipe.check(self.bandwidth.max(), counts);
        }
    }

    fn check_drain(&mut self, arrival: &Arrival) {
        if self.state == State::Startup && self.full_pipe.reached {
            self.rules.on_full_pipe();
            self.state = State::Drain;
        }
        let in_network = arrival.pipe + self.next_burst();
        if self.state == State::Drain && in_network <= self.inflight(1.0, 0.0) {
            self.enter_probe_bw(arrival.now);
        }
    }

    /// Begins with any phase but that of 0.75.
    fn enter_probe_bw(&mut self, now: Time) {
        let others = (CYCLE.len() - 1) as f64;
        #[expect(clippy::cast_possible_truncation, reason = "fewer than there are phases")]
        let drawn = (draw(now, self.progress.delivered) * others) as usize;
        let phase = if drawn == 0 { 0 } else { drawn + 1 };
        self.state = State::ProbeBw { phase, since: now };
    }

    fn update_min_rtt(&mut self, arrival: &Arrival) {
        let now = arrival.now;
        let expired = self.min_rtt.is_some() && now > self.min_rtt_since + self.interval;
        if let Some(rtt) = arrival.round_trip
            && (expired || self.min_rtt.is_none_or(|min| rtt < min))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_since = now;
        }
        let is_measuring = matches!(self.state, State::ProbeRtt(_));
        let is_due = self.rules.is_probe_rtt_due(expired, self.is_probing_bandwidth());
        if is_due && !self.restarting && !is_measuring {
            if R::AS_MODULE {
                // In this order, a larger one that was kept before stays.
                self.state = State::ProbeRtt(ProbeRtt::Emptying);
            }
            self.save_cwnd(self.window.cwnd);
            self.state = State::ProbeRtt(ProbeRtt::Emptying);
        }
        self.restarting = false;
        let window = self.probe_rtt_cwnd();
        let State::ProbeRtt(step) = &mut self.state else { return };
        self.progress.hold_back(arrival.pipe);
        match step {
            ProbeRtt::Emptying if arrival.pipe <= window => {
                let until = now + PROBE_RTT_TIME;
                *step = ProbeRtt::Measuring { until, round_over: false };
                self.progress.begin_round();
            }
            ProbeRtt::Emptying => {}
            ProbeRtt::Measuring { round_over, .. } => {
                *round_over |= self.progress.round_began;
                if *round_over {
                    self.leave_probe_rtt_in_time(now, arrival.round_trip, true);
                }
            }
        }
    }

    /// `renews`: the smallest RTT is measured.
    fn leave_probe_rtt_in_time(&mut self, now: Time, round_trip: Option<Span>, renews: bool) {
        let State::ProbeRtt(ProbeRtt::Measuring { until, .. }) = self.state else { return };
        if now <= until {
            return;
        }
        if renews {
            self.min_rtt_since = now;
            self.min_rtt = self.rules.measured_rtt(round_trip).or(self.min_rtt);
        }
        self.window.cwnd = self.window.cwnd.max(self.prior_cwnd);
        if let Some(bandwidth) = self.rules.bandwidth_of_new_path() {
            self.bandwidth.reset(self.progress.round, bandwidth);
            self.full_pipe = FullPipe::default();
            self.state = State::Startup;
        } else if self.full_pipe.reached {
            self.enter_probe_bw(now);
        } else {
            self.state = State::Startup;
        }
    }

    /// Keeps the last cwnd that neither recovery nor `ProbeRTT` had cut.
    fn save_cwnd(&mut self, cwnd: u64) {
        let cut = self.recovering || matches!(self.state, State::ProbeRtt(_));
        let kept = if cut { self.prior_cwnd } else { 0 };
        self.prior_cwnd = cwnd.max(kept);
    }

    /// The end of recovery restores cwnd, and the target bounds it.
    fn restore_cwnd(&mut self) {
        self.recovering = false;
        self.conserving = false;
        self.window.cwnd = self.window.cwnd.max(self.prior_cwnd);
        self.grow_towards_target(0);
        self.bound_for_probe_rtt();
    }

    fn update_cwnd(&mut self, arrival: &Arrival) {
        if self.recovering {
            let left = self.window.cwnd.saturating_sub(arrival.lost);
            self.window.cwnd = left.max(self.window.mss);
        }
        if self.conserving {
            self.window.cwnd = self.window.cwnd.max(arrival.pipe + arrival.acked);
        } else {
            self.grow_towards_target(arrival.acked);
        }
        self.bound_for_probe_rtt();
    }

    /// By what was acknowledged, and not beyond the target once the pipe was full.
    fn grow_towards_target(&mut self, acked: u64) {
        let excess = if self.full_pipe.reached { self.excess } else { 0.0 };
        let bandwidth = self.rules.bandwidth(self.bandwidth.max());
        let target = self.inflight_at(bandwidth, self.cwnd_gain(), excess);
        let window = &mut self.window;
        if self.full_pipe.reached {
            window.cwnd = (window.cwnd + acked).min(target);
        } else if window.cwnd < target || self.progress.delivered < window.initial {
            window.cwnd += acked;
        }
        window.cwnd = window.cwnd.max(LEAST_SEGMENTS * window.mss);
    }

    fn bound_for_probe_rtt(&mut self) {
        if matches!(self.state, State::ProbeRtt(_)) {
            self.window.cwnd = self.window.cwnd.min(self.probe_rtt_cwnd());
        }
    }
}

impl<R: Rules> Controller for Machine<R> {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs {
            feedback: true,
            records: true,
            pacing: true,
            own_recovery: true,
            path_changes: R::ACTS_ON_HINTS,
            ..Needs::default()
        }
    }

    fn on_path_change(&mut self, change: &PathChange) {
        self.rules.on_path_change(change);
    }

    /// The first sample is that of the handshake, and belongs to no ACK of data.
    fn on_rtt(&mut self, now: Time, sample: Span) {
        if self.rtt_is_known || sample == Span::ZERO {
            self.progress.on_rtt(sample);
            return;
        }
        self.rtt_is_known = true;
        self.pace_initial_window(sample);
        self.min_rtt = Some(sample);
        self.min_rtt_since = now;
    }

    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.progress.on_segment_lost(lost);
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        let Some(arrival) = self.progress.on_feedback(feedback) else { return };
        self.before = (feedback.now, self.window.cwnd);
        self.acked = arrival.acked;
        self.pipe = arrival.pipe;
        self.update_bandwidth(&arrival);
        self.update_excess(&arrival);
        self.advance_cycle(&arrival);
        self.check_whether_full(&arrival);
        self.check_drain(&arrival);
        self.update_min_rtt(&arrival);
        let gain = self.pacing_gain();
        let is_probing = self.is_probing_bandwidth();
        self.rules.after_model(arrival.round_trip, self.min_rtt, is_probing);
        self.set_pacing(gain, self.rules.bandwidth(self.bandwidth.max()));
        self.gain = gain;
        if self.recovering && !arrival.recovering {
            self.restore_cwnd();
        }
        self.update_cwnd(&arrival);
    }

    /// After silence the estimated rate, and no more, fills the pipe again.
    fn on_sent(&mut self, sent: &Sent) {
        if sent.pipe_before > 0 || sent.again || self.progress.delivered == 0 {
            return;
        }
        self.restarting = true;
        self.aggregation.restart(sent.now);
        match self.state {
            State::ProbeBw { .. } => self.set_pacing(1.0, self.bandwidth.max()),
            State::ProbeRtt(_) => self.leave_probe_rtt_in_time(sent.now, None, !R::AS_MODULE),
            State::Startup | State::Drain => {}
        }
    }

    /// All is said in the feedback.
    fn on_ack(&mut self, _ack: &Ack) {}

    fn threshold_after_loss(&self, _loss: &Loss) -> u64 {
        self.window.ssthresh
    }

    fn on_loss(&mut self, loss: &Loss) {
        let (at, cwnd) = self.before;
        let is_of_ack = R::AS_MODULE && at == loss.now;
        self.save_cwnd(if is_of_ack { cwnd } else { self.window.cwnd });
        self.recovering = true;
        self.conserving = true;
        self.progress.begin_round();
        self.window.cwnd = (self.pipe + self.acked).max(self.window.mss);
        self.bound_for_probe_rtt();
    }

    fn on_partial_ack(&mut self, _partial: &PartialAck) {}

    fn on_congestion_mark(&mut self, _loss: &Loss) {}

    fn on_loss_after_mark(&mut self, loss: &Loss) {
        self.on_loss(loss);
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        self.restore_cwnd();
    }

    fn on_timeout(&mut self, _loss: &Loss) {
        self.save_cwnd(self.window.cwnd);
        self.recovering = true;
        self.conserving = false;
        self.full_pipe.forget_baseline();
        self.window.cwnd = self.window.mss;
    }

    /// A slow-down that was none: the search for a full pipe restarts (`bbr_undo_cwnd`). The end of
    /// the recovery restores cwnd, and ssthresh means nothing.
    fn on_spurious_loss(&mut self, _cwnd: u64, _ssthresh: u64) {
        self.full_pipe.begin_again();
    }

    fn on_idle(&mut self) {}

    fn pacing_rate(&self) -> Option<f64> {
        (self.pacing > 0.0).then_some(self.pacing)
    }

    fn least_packet(&self) -> u64 {
        if self.pacing < SMALL_BURST_RATE { 1 } else { 2 }
    }

    fn windows_in_buffer(&self) -> u64 {
        3
    }
}

impl<R: Rules> TcpPolicy for Machine<R> {}

#[cfg(test)]
mod tests;
