//! BBR, version 3: as version 1, with bounds that follow losses.
//!
//! Source: draft-ietf-ccwg-bbr (text of August 2026). Section numbers in the comments of this
//! folder are its own.
//!
//! - here: states, Startup and Drain (5.3.1, 5.3.2), pacing and cwnd (5.6)
//! - `model`: bandwidth, its bounds and those of the data in flight (5.5)
//! - `probe_bw`: the cycle of DOWN, CRUISE, REFILL and UP (5.3.3)
//! - `probe_rtt`: the smallest RTT and how it is measured again (5.3.4)
//!
//! Rules: the bandwidth is the largest delivery rate of two cycles. Once in 2 to 3 s, or 63 rounds,
//! the flow probes for more: it fills the pipe, sends 25 % faster until the rate stands still or
//! more than 2 % are lost, and then yields until the queue is empty. Too much loss while it probes
//! sets a long-term bound of what may be in flight. Any loss while it does not probe lowers
//! short-term bounds, of rate and volume, to what arrived in the round or 0.7 of the bound before.
//! The next probe forgets these.
//!
//! A spurious loss restores the bounds and the state of before (5.5.11).
//!
//! Not here: the rules for connections without SACK.
//!
//! Decisions where the draft leaves room:
//! - The six separate losses that end Startup (5.3.1.3) are counted as ACKs that find losses.
//! - A sample without a reliable rate ends no round.
//! - The RTT of the handshake begins the filter of `min_rtt` (5.2.1). The draft does not say what
//!   begins that of `probe_rtt_min_delay`: here it is the same sample, as in the authors' BBRv3 for
//!   Linux.
//! - The random part of the wait for a probe follows from the time and what was delivered, so that
//!   a run can be repeated.
//! - A segment is sent for itself; the send quantum (5.6.3) only enters the room for bursts.
//! - cwnd limits the sender when, in this or the last round, less than a segment fitted below it.
//! - A probe has reached the long-term bound (5.3.3.7) when no segment more fitted below it before
//!   the ACK came. After the ACK there is always room, as the bound is one of cwnd as well.
//! - The draft demands an answer to marks of congestion and names none (3.7): here they lower the
//!   short-term bounds as a loss does, and bound nothing in the long term.
//! - A flow restarts from idle when it sends new data and nothing is in the network.
//! - ssthresh stays unlimited and means nothing.

mod model;
mod probe_bw;
mod probe_rtt;

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, LostSegment, Needs, PartialAck, Sent};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::delivery_model::{Arrival, FullPipe, Progress};
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

use model::{Model, Undo};
use probe_bw::Cycle;
use probe_rtt::MinRtt;

/// 4 ln 2: the smallest pacing gain that doubles the rate with each round (2.5).
const STARTUP_GAIN: f64 = 2.77;
/// `PacingMarginPercent` (2.5).
const MARGIN: f64 = 0.99;
/// `MinPipeCwnd` in segments (2.8).
const LEAST_SEGMENTS: u64 = 4;
/// `BBRStartupFullLossCnt` (5.3.1.3).
const STARTUP_LOSSES: u32 = 6;
/// Rounds after which Drain ends in any case (5.3.2).
const DRAIN_ROUNDS: u64 = 3;
/// Time in seconds and bytes that bound a send quantum (5.6.3).
const QUANTUM_TIME: f64 = 1e-3;
const LARGEST_QUANTUM: f64 = 65_536.0;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "loss_threshold",
        default: "0.02",
        allowed: Allowed::Range(0.0, 0.99),
        meaning: "Share of lost data above which a probe went too far (LossThresh, section 2.8)",
    },
    Parameter {
        name: "probe_rtt_interval",
        default: "5",
        allowed: Allowed::Range(1.0, 1e6),
        meaning: "Seconds without a smaller RTT after which it is measured again with half a BDP in \
                  the network (ProbeRTTInterval, section 2.16.2)",
    },
];

/// The states of the machine (5.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    /// Since this round.
    Drain(u64),
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// Pacing gain (5.6.1).
    fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => STARTUP_GAIN,
            Self::Drain(_) => 0.5,
            Self::Down => 0.9,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1.0,
            Self::Up => 1.25,
        }
    }

    /// cwnd gain (5.6.1).
    fn cwnd_gain(self) -> f64 {
        match self {
            Self::Up => 2.25,
            Self::ProbeRtt => probe_rtt::CWND_GAIN,
            _ => 2.0,
        }
    }

    fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Sending more than is known to fit.
    fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// BBR, version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    window: Window,
    loss_threshold: f64,
    state: State,
    progress: Progress,
    model: Model,
    full_pipe: FullPipe,
    cycle: Cycle,
    min_rtt: MinRtt,
    pacing: f64,
    /// True if `pacing` comes from an RTT.
    rtt_is_known: bool,
    /// ACKs of this round that found losses.
    startup_losses: u32,
    /// True if cwnd limited the sender in this round, and in the one before.
    cwnd_limited: [bool; 2],
    /// In fast recovery, or on the way back from a timeout.
    recovering: bool,
    /// cwnd before recovery or `ProbeRTT`.
    prior_cwnd: u64,
    restarting: bool,
    /// The state before the losses of this round, or the last that had any.
    undo: Option<Undo>,
}

impl Listed for Bbr3 {
    const LISTED: &'static [Entry] = &[Entry {
        name: "bbr3",
        summary: "Rate and window from a model of the path that losses bound (version 3)",
        source: "draft-ietf-ccwg-bbr, 2026",
        status: Status::Published,
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        let mut window = Window::new(settings);
        window.ssthresh = u64::MAX;
        let mut bbr = Self {
            window,
            loss_threshold: values.number("loss_threshold"),
            state: State::Startup,
            progress: Progress::default(),
            model: Model::default(),
            full_pipe: FullPipe::default(),
            cycle: Cycle::default(),
            min_rtt: MinRtt::every(Span::from_secs_f64(values.number("probe_rtt_interval"))),
            pacing: 0.0,
            rtt_is_known: false,
            startup_losses: 0,
            undo: None,
            cwnd_limited: [false; 2],
            recovering: false,
            prior_cwnd: 0,
            restarting: false,
        };
        bbr.pace_initial_window(Span::from_millis(1));
        bbr
    }
}

impl Bbr3 {
    fn least_cwnd(&self) -> f64 {
        (LEAST_SEGMENTS * self.window.mss) as f64
    }

    fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited.contains(&true)
    }

    /// Part of 5.5.1, and what else is counted by rounds.
    fn update_rounds(&mut self) {
        if self.progress.round_began {
            self.cycle.rounds_since_up += 1;
            self.cwnd_limited = [false, self.cwnd_limited[0]];
        }
    }

    /// The loss rate over the last round trip is too high (5.5.10.2).
    fn loses_too_much(&self, lost: u64, in_flight_when_sent: u64) -> bool {
        lost as f64 > in_flight_when_sent as f64 * self.loss_threshold
    }

    /// Startup ends when losses show that the pipe is full (5.3.1.3), or the rate does (5.3.1.1).
    fn check_startup_done(&mut self, arrival: &Arrival) {
        if self.state != State::Startup {
            return;
        }
        self.startup_losses += u32::from(arrival.lost > 0);
        if self.model.loss_round_began {
            let sample = &arrival.sample;
            if arrival.recovering
                && self.startup_losses >= STARTUP_LOSSES
                && self.loses_too_much(sample.lost, sample.in_flight_when_sent)
            {
                self.full_pipe.reach();
                self.model.inflight_long = self.bdp().max(self.model.inflight_latest);
            }
            self.startup_losses = 0;
        }
        if self.full_pipe.reached {
            self.state = State::Drain(self.progress.round);
        }
    }

    /// 5.3.2.
    fn check_drain_done(&mut self, arrival: &Arrival) {
        if let State::Drain(began) = self.state
            && (arrival.pipe as f64 <= self.inflight(1.0, 0.0)
                || self.progress.round > began + DRAIN_ROUNDS)
        {
            self.start_down(arrival.now);
        }
    }

    /// 5.6.2, before there is a sample.
    fn pace_initial_window(&mut self, rtt: Span) {
        self.pacing = STARTUP_GAIN * self.window.initial as f64 / rtt.as_secs_f64();
    }

    /// 5.6.2: until the pipe was full, the rate does not fall.
    fn set_pacing(&mut self, gain: f64) {
        let rate = gain * self.model.bandwidth() * MARGIN;
        if rate > 0.0 && (self.full_pipe.reached || rate > self.pacing) {
            self.pacing = rate;
        }
    }

    /// BDP in bytes (5.6.4.2); the initial window before the first RTT.
    fn bdp(&self) -> f64 {
        let rtt = self.min_rtt.smallest();
        rtt.map_or(self.window.initial as f64, |rtt| self.model.bandwidth() * rtt.as_secs_f64())
    }

    /// Bound of bytes in the network at `gain` times the BDP and `excess` bytes more, with room for
    /// the bursts of both hosts (5.5.8, 5.6.4.2).
    fn inflight(&self, gain: f64, excess: f64) -> f64 {
        let two_segments = (2 * self.window.mss) as f64;
        let quantum = (self.pacing * QUANTUM_TIME).min(LARGEST_QUANTUM).max(two_segments);
        let room = (gain * self.bdp() + excess).max(3.0 * quantum).max(self.least_cwnd());
        if self.state == State::Up { room + two_segments } else { room }
    }

    /// 5.6.4.6.
    fn set_cwnd(&mut self, acked: u64) {
        let most = whole(self.inflight(self.state.cwnd_gain(), self.model.excess));
        let window = &mut self.window;
        if self.full_pipe.reached {
            window.cwnd = (window.cwnd + acked).min(most);
        } else if window.cwnd < most || self.progress.delivered < window.initial {
            window.cwnd += acked;
        }
        window.cwnd = window.cwnd.max(LEAST_SEGMENTS * window.mss);
        self.bound_cwnd();
    }

    /// The bounds of `ProbeRTT` (5.6.4.5) and of the model (5.6.4.7).
    fn bound_cwnd(&mut self) {
        let long = match self.state {
            State::Startup | State::Drain(_) => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.model.inflight_long,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
        };
        let mut bound = long.min(self.model.inflight_short).max(self.least_cwnd());
        if self.state == State::ProbeRtt {
            bound = bound.min(self.probe_rtt_cwnd());
        }
        // The cast of infinity is the largest integer.
        self.window.cwnd = self.window.cwnd.min(whole(bound));
    }

    /// Keeps the last cwnd that neither recovery nor `ProbeRTT` had cut (5.6.4.4).
    fn save_cwnd(&mut self) {
        let cut = self.recovering || self.state == State::ProbeRtt;
        let kept = if cut { self.prior_cwnd } else { 0 };
        self.prior_cwnd = self.window.cwnd.max(kept);
    }

    fn restore_cwnd(&mut self) {
        self.window.cwnd = self.window.cwnd.max(self.prior_cwnd);
    }

    /// Recovery is over; the target and the model bound what is restored (5.6.4.4).
    fn end_recovery(&mut self) {
        self.recovering = false;
        self.restore_cwnd();
        self.set_cwnd(0);
    }
}

impl Controller for Bbr3 {
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
            ..Needs::default()
        }
    }

    /// The first sample is that of the handshake, and belongs to no ACK of data (5.2.1).
    fn on_rtt(&mut self, now: Time, sample: Span) {
        if self.rtt_is_known || sample == Span::ZERO {
            self.progress.on_rtt(sample);
            return;
        }
        self.rtt_is_known = true;
        self.pace_initial_window(sample);
        self.min_rtt.take(now, Some(sample));
    }

    /// 5.2.4.
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.progress.on_segment_lost(lost);
        self.note_loss();
        self.check_probe(lost);
    }

    /// 5.2.3.
    fn on_feedback(&mut self, feedback: &Feedback) {
        let Some(arrival) = self.progress.on_feedback(feedback) else { return };
        self.update_rounds();
        self.update_latest_delivery(&arrival);
        self.update_congestion(&arrival);
        self.update_excess(&arrival);
        if let Some(rate) = arrival.sample.rate.filter(|_| !self.full_pipe.now) {
            self.full_pipe.check(rate, self.progress.round_began && !arrival.limited);
        }
        self.check_startup_done(&arrival);
        self.check_drain_done(&arrival);
        self.update_cycle(&arrival);
        self.update_min_rtt(&arrival);
        self.check_probe_rtt(&arrival);
        self.model.advance_latest(&arrival);
        self.set_pacing(self.state.pacing_gain());
        if self.recovering && !arrival.recovering {
            self.end_recovery();
        }
        self.set_cwnd(arrival.acked);
    }

    /// 5.2.2 and 5.4.1.
    fn on_sent(&mut self, sent: &Sent) {
        self.cwnd_limited[0] |= sent.pipe_before + sent.bytes + self.window.mss > self.window.cwnd;
        if sent.pipe_before > 0 || sent.again || self.progress.delivered == 0 {
            return;
        }
        self.restarting = true;
        self.model.aggregation.restart(sent.now);
        if self.state.is_probe_bw() {
            self.set_pacing(1.0);
        } else if self.state == State::ProbeRtt {
            self.leave_probe_rtt_in_time(sent.now);
        }
    }

    /// All is said in the feedback.
    fn on_ack(&mut self, _ack: &Ack) {}

    fn threshold_after_loss(&self, _loss: &Loss) -> u64 {
        self.window.ssthresh
    }

    /// The changes after a loss follow from the segments that are lost.
    fn on_loss(&mut self, _loss: &Loss) {
        self.save_cwnd();
        self.recovering = true;
    }

    fn on_partial_ack(&mut self, _partial: &PartialAck) {}

    /// A round with a mark counts as one with a loss.
    fn on_congestion_mark(&mut self, _loss: &Loss) {
        self.note_loss();
    }

    fn on_loss_after_mark(&mut self, loss: &Loss) {
        self.on_loss(loss);
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        self.end_recovery();
    }

    /// All that was in the network counts as lost, and one segment more may go (5.6.4.4).
    fn on_timeout(&mut self, _loss: &Loss) {
        self.save_cwnd();
        self.recovering = true;
        self.window.cwnd = self.window.mss;
    }

    /// 5.5.11.
    fn on_spurious_loss(&mut self, _cwnd: u64, _ssthresh: u64) {
        self.undo_losses();
    }

    fn on_idle(&mut self) {}

    fn windows_in_buffer(&self) -> u64 {
        3
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.pacing)
    }
}

impl TcpPolicy for Bbr3 {}

#[cfg(test)]
mod tests;
