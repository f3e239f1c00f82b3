//! CUBIC of picoquic, which is changed for satellites.
//!
//! Source: `picoquic/cubic.c` and `cc_common.c` of private-octopus/picoquic d199d45b, restated. It
//! differs from RFC 9438:
//! - a loss reduces the window only if the smoothed share of lost packets is above 15 %. Isolated
//!   losses are ignored: the third loss in succession is the first that counts,
//! - a reduction leaves 7/8 of the window, and fast convergence 7/8 of W_max,
//! - the window is W_cubic(t) at once, and not approached. K follows from W_max alone,
//! - the window of standard TCP grows by a segment in a round trip, from half of the window,
//! - slow start takes half of what the peak of the delivery rate sends in an RTT, if that is more,
//! - slow start ends when seven RTTs are a quarter above the smallest, seven times. Above 100 ms
//!   the window becomes the mean of itself and of 100 ms / RTT of it. Above 610 ms that share is
//!   610 ms / RTT, so the window falls by much less,
//! - a timeout leaves two segments.
//!
//! Decisions:
//! - picoquic counts packets by their numbers, and this controller by the times at which they were
//!   sent.
//! - A sender is limited by the application when an ACK is for a segment that was sent so.
//! - A spurious reduction is undone with all that belongs to it. picoquic computes the curve again.
//! - The window after an idle period is the one before it, as in picoquic.
//! - Not followed: pacing in bursts of a quarter of the window. The transport paces, or does not.

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, LostSegment, Needs, PartialAck, Sent};
use crate::parameters::{Parameter, Values};
use crate::parts::delivery_model::{Arrival, Progress};
use crate::parts::picoquic::{
    DelayTest, LONG_RTT, LossShare, Numbers, PICOQUIC, PeakRate, SATELLITE_RTT, VARIANT,
};
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

/// C of equation 1 in segments per second cubed.
const C: f64 = 0.4;
/// Share of the window that a reduction leaves (`PICOQUIC_CUBIC_BETA_ECN`).
const BETA: f64 = 7.0 / 8.0;
/// Share of lost packets above which a loss counts.
const MOST_LOSSES: f64 = 0.15;
/// The smallest window in segments.
const LEAST_SEGMENTS: u64 = 2;
/// Round trips for which the times of packets are remembered.
const REMEMBERED: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    Avoidance,
}

/// The curve. Windows are in segments.
#[derive(Clone, Copy, Debug)]
struct Curve {
    phase: Phase,
    w_max: f64,
    /// W_max before fast convergence; infinite before the first reduction.
    last_w_max: f64,
    /// Window of standard TCP.
    w_reno: f64,
    /// K of equation 2 in seconds.
    k: f64,
    began: Time,
    /// Time on the curve at `began`.
    ahead: Span,
}

impl Curve {
    /// Equation 1.
    fn window(&self, now: Time) -> f64 {
        let distance = (now.since(self.began) + self.ahead).as_secs_f64() - self.k;
        C * distance * distance * distance + self.w_max
    }

    /// A stage of congestion avoidance begins.
    fn avoid(&mut self, now: Time) {
        self.k = libm::cbrt(self.w_max * (1.0 - BETA) / C);
        self.phase = Phase::Avoidance;
        self.began = now;
        self.ahead = Span::ZERO;
    }

    /// The sender did not use its window until `time`, which does not count.
    fn not_used_until(&mut self, time: Time) {
        if time + self.ahead > self.began {
            self.began = time.max(self.began);
            self.ahead = Span::ZERO;
        }
    }
}

/// State before a reduction.
#[derive(Clone, Copy, Debug)]
struct Before {
    window: Window,
    curve: Curve,
}

/// CUBIC of picoquic.
#[derive(Clone, Debug)]
pub struct PicoquicCubic {
    window: Window,
    curve: Curve,
    progress: Progress,
    numbers: Numbers,
    losses: LossShare,
    delay: DelayTest,
    rate: PeakRate,
    srtt: Span,
    /// When a segment was sent that the application limited.
    limited_at: Time,
    /// Packets sent before the last reduction.
    sent_before: u64,
    reduced_at: Option<Time>,
    before: Option<Before>,
}

const PARAMETERS: &[Parameter] = &[Parameter { default: PICOQUIC, ..VARIANT }];

impl Listed for PicoquicCubic {
    const VARIANT: &'static str = PICOQUIC;
    const LISTED: &'static [Entry] = &[Entry {
        name: "cubic",
        summary: "CUBIC of picoquic: ignores isolated losses, starts by the peak of the delivery rate",
        source: "RFC 9438",
        status: Status::Implementation("picoquic d199d45b, picoquic/cubic.c"),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, _values: &Values) -> Self {
        let window = Window::new(settings);
        let curve = Curve {
            phase: Phase::SlowStart,
            w_max: f64::INFINITY,
            last_w_max: f64::INFINITY,
            w_reno: window.initial as f64 / window.mss as f64,
            k: 0.0,
            began: Time::ZERO,
            ahead: Span::ZERO,
        };
        Self {
            window,
            curve,
            progress: Progress::default(),
            numbers: Numbers::default(),
            losses: LossShare::default(),
            delay: DelayTest::default(),
            rate: PeakRate::default(),
            srtt: Span::ZERO,
            limited_at: Time::ZERO,
            sent_before: 0,
            reduced_at: None,
            before: None,
        }
    }
}

impl PicoquicCubic {
    fn segments(&self) -> f64 {
        self.window.cwnd as f64 / self.window.mss as f64
    }

    fn least(&self) -> u64 {
        LEAST_SEGMENTS * self.window.mss
    }

    fn set_segments(&mut self, segments: f64) {
        self.window.cwnd = whole(segments * self.window.mss as f64).max(self.least());
    }

    /// Before the first reduction, which delay may be, too.
    fn starts_up(&self) -> bool {
        self.curve.phase == Phase::SlowStart && self.window.ssthresh == u64::MAX
    }

    fn reduce(&mut self, now: Time, by_timeout: bool) {
        self.before = Some(Before { window: self.window, curve: self.curve });
        self.reduced_at = Some(now);
        self.sent_before = self.numbers.sent;
        let cwnd = self.segments();
        let converges = cwnd < self.curve.last_w_max;
        self.curve.last_w_max = cwnd;
        // The first reduction is below an infinite W_max, and so converges, too.
        self.curve.w_max = if converges { BETA * cwnd } else { cwnd };
        self.window.ssthresh = whole(self.curve.w_max * BETA * self.window.mss as f64);
        if self.window.ssthresh < self.least() {
            self.window.ssthresh = u64::MAX;
            self.begin_slowly(now);
            self.curve.w_reno = LEAST_SEGMENTS as f64;
        } else if by_timeout {
            self.begin_slowly(now);
        } else {
            self.curve.avoid(now);
            self.curve.w_reno = cwnd / 2.0;
            self.set_segments(self.curve.window(now));
        }
    }

    fn begin_slowly(&mut self, now: Time) {
        self.window.cwnd = self.least();
        self.curve.phase = Phase::SlowStart;
        self.curve.began = now;
        self.curve.ahead = Span::ZERO;
    }

    /// The round-trip time has grown in slow start: a queue.
    fn end_by_delay(&mut self, now: Time) {
        let base = self.delay.base.unwrap_or(Span::ZERO);
        let kept = if base > LONG_RTT {
            let reference = if base > SATELLITE_RTT { SATELLITE_RTT } else { LONG_RTT };
            f64::midpoint(1.0, reference.as_secs_f64() / base.as_secs_f64())
        } else {
            0.5
        };
        self.set_segments(kept * self.segments());
        self.curve.last_w_max = self.segments();
        self.reduce(now, false);
        // Nothing was lost, so that there is nothing to undo. The curve begins where it stands
        // still.
        self.before = None;
        self.curve.ahead = Span::from_secs_f64(self.curve.k);
    }

    fn start_slowly(&mut self, arrival: &Arrival) {
        let half = whole(self.rate.peak * self.srtt.as_secs_f64() / 2.0);
        self.window.cwnd = self.window.cwnd.max(half);
        if arrival.limited {
            return;
        }
        self.window.cwnd += arrival.acked;
        if self.window.cwnd >= self.window.ssthresh {
            self.curve.w_reno = self.segments() / 2.0;
            self.curve.avoid(arrival.now);
        }
    }

    fn follow_curve(&mut self, arrival: &Arrival) {
        if arrival.limited {
            return;
        }
        self.curve.not_used_until(self.limited_at);
        let acked = arrival.acked as f64 / self.window.mss as f64;
        self.curve.w_reno += acked / self.curve.w_reno;
        self.set_segments(self.curve.window(arrival.now).max(self.curve.w_reno));
    }

    fn on_round_trip(&mut self, now: Time, round_trip: Span) {
        let sent_at = now - round_trip;
        self.rate.take(now, sent_at, self.progress.delivered);
        if self.starts_up() {
            let packet_time = self.srtt.as_secs_f64() / self.segments();
            if self.delay.take(now, round_trip, Span::from_secs_f64(packet_time)) {
                self.end_by_delay(now);
            }
        }
    }
}

impl Controller for PicoquicCubic {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { feedback: true, records: true, own_recovery: true, ..Needs::default() }
    }

    fn on_rtt(&mut self, _now: Time, sample: Span) {
        self.progress.on_rtt(sample);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.numbers.on_sent(sent.now);
    }

    fn on_start(&mut self, now: Time) {
        self.limited_at = now;
    }

    /// The filter of losses. A packet that was sent before the last reduction is not counted once
    /// slow start is over.
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        let number = self.numbers.at(lost.sent_at);
        let is_old = number <= self.sent_before;
        if is_old && self.curve.phase == Phase::Avoidance {
            return;
        }
        let share = self.losses.on_lost(number);
        if !is_old && share > MOST_LOSSES {
            self.reduce(lost.now, false);
        }
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        let Some(arrival) = self.progress.on_feedback(feedback) else { return };
        self.srtt = feedback.srtt.unwrap_or(self.srtt);
        self.numbers.forget_before(arrival.now - self.srtt * REMEMBERED);
        if let Some(round_trip) = arrival.round_trip {
            self.on_round_trip(arrival.now, round_trip);
        }
        if arrival.limited {
            let sent_at = arrival.now - arrival.round_trip.unwrap_or(self.srtt);
            self.limited_at = self.limited_at.max(sent_at);
        }
        match self.curve.phase {
            Phase::SlowStart => self.start_slowly(&arrival),
            Phase::Avoidance => self.follow_curve(&arrival),
        }
    }

    /// All is said in the feedback.
    fn on_ack(&mut self, _ack: &Ack) {}

    fn threshold_after_loss(&self, _loss: &Loss) -> u64 {
        self.window.ssthresh
    }

    /// The lost segments themselves have had their effect.
    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_partial_ack(&mut self, _partial: &PartialAck) {}

    fn on_recovery_exit(&mut self, _now: Time) {}

    fn on_congestion_mark(&mut self, loss: &Loss) {
        self.reduce(loss.now, false);
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if loss.repeated || self.reduced_at == Some(loss.now) {
            self.begin_slowly(loss.now);
        } else {
            self.reduce(loss.now, true);
        }
    }

    /// Only of a reduction that there was.
    fn on_spurious_loss(&mut self, _cwnd: u64, _ssthresh: u64) {
        let Some(before) = self.before.take() else { return };
        self.window.cwnd = self.window.cwnd.max(before.window.cwnd);
        self.window.ssthresh = before.window.ssthresh;
        self.curve = before.curve;
    }

    fn on_idle(&mut self) {}
}

impl TcpPolicy for PicoquicCubic {}

#[cfg(test)]
mod tests;
