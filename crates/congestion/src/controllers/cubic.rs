//! CUBIC: a window that is a cubic function of the time since the last loss.
//!
//! Source: RFC 9438. Equation and section numbers in the comments are its own. The rules
//! of sections 4.1 to 4.8 were read in the text of its draft. The numbers in the tests are
//! computed from the equations.
//!
//! Rules: after a loss at the window W_max, the window climbs quickly back towards W_max,
//! stands almost still around it, and then looks for more with growing steps. How fast depends on
//! time and not on the RTT. On short paths with small windows, where standard TCP would be faster,
//! it takes the window that standard TCP would have (the Reno-friendly region).
//!
//! Slow start is HyStart++ unless `slow_start` says otherwise: section 4.10 has it as what CUBIC
//! should use, the standard one as what it may use.
//!
//! A reduction that proves spurious is undone with all that belongs to it (section 4.9): the curve
//! goes on where it was, and slow start, too.
//!
//! Decisions where the RFC leaves room:
//! - A stage of congestion avoidance begins with its first ACK, not with the loss, so the time in
//!   recovery does not count.
//! - Time does not run from an ACK that finds the window unused to the next (section 4.2), nor
//!   while nothing is outstanding (section 5.8). After an idle period that restarts the window a
//!   new stage begins, with the W_max that was known.
//! - When a stage begins above W_max, it begins as after a timeout: K = 0 and W_max = cwnd. This is
//!   so before the first loss and with the smallest windows.
//! - Growth counts the segments acknowledged, so it is the same with delayed ACKs.
//! - The Reno-friendly region never makes the window smaller.

mod linux;
mod picoquic;

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::abe;
use crate::parts::picoquic::VARIANT;
use crate::parts::slow_start::{self, SlowStart};
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

pub use linux::LinuxCubic;
pub use picoquic::PicoquicCubic;

/// beta_cubic of section 4.6: what a loss leaves of the window.
const BETA: f64 = 0.7;
/// alpha_cubic of equation 3: the additive increase that, with beta_cubic, gives the average window
/// of standard TCP.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Section 4.2: the target is at most this much of cwnd.
const HIGHEST_TARGET: f64 = 1.5;

/// C of equation 1, also of Linux.
const C: Parameter = Parameter {
    name: "c",
    default: "0.4",
    allowed: Allowed::Range(0.001, 1000.0),
    meaning: "C of equation 1 in segments per second cubed, the growth of the window around W_max (RFC \
              9438 section 5.1; with `variant = \"linux\"` it is bic_scale)",
};
/// The Reno-friendly region, also of Linux.
const RENO_FRIENDLY: Parameter = Parameter {
    name: "reno_friendly",
    default: "on",
    allowed: Allowed::OneOf(&["on", "off"]),
    meaning: "Whether the window is at least that of standard TCP (RFC 9438 section 4.3; with `variant = \
              \"linux\"` it is tcp_friendliness)",
};

const PARAMETERS: &[Parameter] = &[
    C,
    RENO_FRIENDLY,
    Parameter {
        name: "fast_convergence",
        default: "on",
        allowed: Allowed::OneOf(&["on", "off"]),
        meaning: "Whether a flow that lost below its last W_max takes W_max as lower than its \
                  window, to leave room for new flows (RFC 9438 section 4.7)",
    },
    slow_start::PARAMETER,
    abe::PARAMETER,
    VARIANT,
];

/// CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    window: Window,
    /// C of equation 1, in segments per second cubed.
    c: f64,
    reno_friendly: bool,
    fast_convergence: bool,
    abe: bool,
    slow_start: SlowStart,
    /// W_max in segments; zero when there was no loss, or a timeout since.
    w_max: f64,
    /// cwnd_prior: the window in segments before the last reduction.
    prior: f64,
    stage: Option<Stage>,
    /// Values from before the last reduction.
    undo: Option<Undo>,
    /// A hand-over is near: SaTCP, which wraps this controller, sets it.
    is_near_hand_over: bool,
}

/// The state before a reduction (section 4.9).
#[derive(Clone, Debug)]
struct Undo {
    w_max: f64,
    prior: f64,
    stage: Option<Stage>,
    slow_start: SlowStart,
}

/// One stage of congestion avoidance. Windows are in segments.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// C of equation 1, in segments per second cubed.
    c: f64,
    /// t of equation 1.
    elapsed: Span,
    /// Up to when `elapsed` is counted.
    counted_until: Time,
    /// K of equation 2, in seconds.
    k: f64,
    /// W_est of equation 4.
    w_est: f64,
}

impl Stage {
    /// Equation 2.
    fn begin(now: Time, cwnd: f64, w_max: f64, c: f64) -> Self {
        let k = libm::cbrt((w_max - cwnd) / c);
        Self { c, elapsed: Span::ZERO, counted_until: now, k, w_est: cwnd }
    }

    fn run_until(&mut self, now: Time) {
        self.elapsed = self.elapsed + now.since(self.counted_until);
        self.counted_until = now;
    }

    /// Equation 1, in segments.
    fn w_cubic(&self, w_max: f64, t: Span) -> f64 {
        let distance = t.as_secs_f64() - self.k;
        self.c * distance * distance * distance + w_max
    }
}

impl Listed for Cubic {
    const LISTED: &'static [Entry] = &[Entry {
        name: "cubic",
        summary: "Window as a cubic function of the time since the last loss",
        source: "RFC 9438",
        status: Status::Published,
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            c: values.number(C.name),
            reno_friendly: values.word(RENO_FRIENDLY.name) == "on",
            fast_convergence: values.word("fast_convergence") == "on",
            abe: abe::is_on(values),
            slow_start: SlowStart::named(values.word(slow_start::PARAMETER.name)),
            w_max: 0.0,
            prior: 0.0,
            stage: None,
            undo: None,
            is_near_hand_over: false,
        }
    }
}

/// The part of K that is left near a hand-over (SaTCP).
pub(super) const SHARE_OF_K: u64 = 9;

impl Cubic {
    /// A hand-over is near, or it is over: the rules of SaTCP, which wraps this controller. Near
    /// one a stage that begins has a ninth of its K, and a timeout keeps `W_max`, as a loss does,
    /// and the state of slow start.
    pub(super) fn set_near_hand_over(&mut self, is_near: bool) {
        self.is_near_hand_over = is_near;
    }

    /// Section 4.7.
    fn w_max_after_loss(&self) -> f64 {
        let cwnd = self.segments();
        let converge = self.fast_convergence && cwnd < self.w_max;
        if converge { cwnd * (1.0 + BETA) / 2.0 } else { cwnd }
    }

    fn remember(&mut self) {
        self.undo = Some(Undo {
            w_max: self.w_max,
            prior: self.prior,
            stage: self.stage,
            slow_start: self.slow_start.clone(),
        });
    }

    fn segments(&self) -> f64 {
        self.window.cwnd as f64 / self.window.mss as f64
    }
}

impl Controller for Cubic {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        self.slow_start.needs()
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.slow_start.on_feedback(feedback, &mut self.window);
    }

    fn on_ack(&mut self, ack: &Ack) {
        if !ack.cwnd_limited {
            self.slow_start.on_unused_window();
            if let Some(stage) = &mut self.stage {
                stage.counted_until = ack.now;
            }
        } else if self.window.in_slow_start() {
            self.slow_start.grow(ack, &mut self.window);
        } else {
            self.avoid_congestion(ack);
        }
    }

    /// Sections 4.2 to 4.5.
    fn avoid_congestion(&mut self, ack: &Ack) {
        let cwnd = self.segments();
        let mut stage = self.stage.unwrap_or_else(|| {
            self.w_max = self.w_max.max(cwnd);
            let mut stage = Stage::begin(ack.now, cwnd, self.w_max, self.c);
            if self.is_near_hand_over {
                stage.k /= SHARE_OF_K as f64;
            }
            stage
        });
        stage.run_until(ack.now);

        let acked = ack.acked.min(self.window.cwnd);
        let alpha = if stage.w_est >= self.prior { 1.0 } else { ALPHA };
        stage.w_est += alpha * acked as f64 / self.window.cwnd as f64;
        self.stage = Some(stage);

        let slower = stage.w_cubic(self.w_max, stage.elapsed) < stage.w_est;
        if self.reno_friendly && slower {
            let reno = whole(stage.w_est * self.window.mss as f64);
            let growth = reno.saturating_sub(self.window.cwnd);
            self.window.grow_by_fraction(growth * self.window.cwnd);
        } else {
            let rtt = ack.srtt.unwrap_or(Span::ZERO);
            let ahead = stage.w_cubic(self.w_max, stage.elapsed + rtt);
            let target = ahead.clamp(cwnd, HIGHEST_TARGET * cwnd);
            let per_window = (target - cwnd) * self.window.mss as f64;
            self.window.grow_by_fraction(whole(per_window * acked as f64));
        }
    }

    /// Section 4.6: beta_cubic of the flight size, at least two segments.
    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        whole(BETA * loss.flight as f64).max(2 * self.window.mss)
    }

    /// Sections 4.6 and 4.7; with ABE a mark in congestion avoidance leaves more of the flight
    /// size, and all else is the same.
    fn on_congestion_mark(&mut self, loss: &Loss) {
        let (before, avoids) = (self.window.cwnd, !self.window.in_slow_start());
        standard::on_congestion_mark(self, loss);
        if self.abe && avoids {
            self.window.cwnd = before;
            abe::answer_mark(loss, &mut self.window, abe::CUBIC);
        }
    }

    /// Sections 4.6 and 4.7.
    fn on_loss(&mut self, loss: &Loss) {
        self.remember();
        self.slow_start.on_loss();
        self.w_max = self.w_max_after_loss();
        self.prior = self.segments();
        self.stage = None;
        let ssthresh = self.threshold_after_loss(loss);
        self.window.ssthresh = ssthresh;
        self.window.cwnd = ssthresh;
    }

    /// Section 4.8: as standard TCP, with beta_cubic. W_max is forgotten, so that the next stage
    /// begins with K = 0 and W_max = cwnd.
    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.remember();
            self.prior = self.segments();
            self.window.ssthresh = self.threshold_after_loss(loss);
        }
        if self.is_near_hand_over {
            self.w_max = if loss.repeated { self.w_max } else { self.w_max_after_loss() };
        } else {
            self.slow_start.on_timeout();
            self.w_max = 0.0;
        }
        self.stage = None;
        self.window.cwnd = self.window.mss;
    }

    /// Section 4.9.
    fn on_spurious_loss(&mut self, cwnd: u64, ssthresh: u64) {
        standard::on_spurious_loss(self, cwnd, ssthresh);
        if let Some(undo) = self.undo.take() {
            self.w_max = undo.w_max;
            self.prior = undo.prior;
            self.stage = undo.stage;
            self.slow_start = undo.slow_start;
        }
    }

    /// Section 5.8.
    fn on_start(&mut self, now: Time) {
        if let Some(stage) = &mut self.stage {
            stage.counted_until = now;
        }
    }

    fn on_idle(&mut self) {
        self.stage = None;
        self.window.cwnd = self.window.cwnd.min(self.window.initial);
    }
}

impl TcpPolicy for Cubic {}

#[cfg(test)]
mod tests;
