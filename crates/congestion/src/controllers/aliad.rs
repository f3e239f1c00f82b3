//! A-LIAD and LIAD: after a loss the window climbs back along a logarithm.
//!
//! Source: M. Shin, M. Park, D. Oh, B. Kim, J. Lee, "Adaptive logarithmic increase congestion
//! control algorithm for satellite networks", KSII Transactions on Internet and Information Systems
//! 8(8), 2014. Equation numbers in the comments are the paper's. With W_k the window in segments
//! when round trip k begins:
//!
//! - Slow start to gamma, Hoe's estimate of what the path holds, repeated in each round trip:
//!   W_{k+1} = 2 W_k below gamma / 2, then W_{k+1} = W_k + (gamma - W_k) / 2 (equations 1, 2).
//! - Without a loss so far, or back at Wmax, the window probes: while RTT / RTTmin < delta = 1.93
//!   with a fast increase, beyond it by one segment in a round trip (equation 3). A loss gives
//!   Wmax.
//! - A loss leaves (1 - beta) Wmax with beta = 1 - RTTmin / RTTmax, which is the rate that the
//!   bottleneck served (equation 7). From there the gap to Wmax shrinks to 1 / alpha in each round
//!   trip (equations 4 to 6), with a larger alpha on a longer path: [`alpha`].
//!
//! Reconstructed: the equations stand in the paper as images that were not available. They are
//! derived from its prose, which hardly leaves a choice for (1), (2), (4) to (8), (10) and (11).
//! What it leaves open are parameters: the target of the fast increase in (3), whether RTTmax is
//! that of the connection or that since the last loss, what happens at Wmax, and alpha as a
//! function of the RTT.
//!
//! LIAD (B.-J. Chang, S.-Y. Lin, J.-Y. Jin, Computer Networks 53(14), 2009) is here A-LIAD with
//! alpha = 2 and a slow start that doubles up to gamma. Only its abstract was available: that alpha
//! is 2, that gamma is an estimate of the path and that the decrease depends on the RTT is known,
//! the formulas of the latter two are A-LIAD's.
//!
//! Decisions:
//! - W_k is frozen for the round trip. With the running window in its place the gap could not
//!   shrink below about 1/e in a round trip, whatever alpha is.
//! - The target of the fast increase in (3) is the window at which RTT / RTTmin would reach delta.
//!   The window and the RTT are proportional once there is a queue, but the RTT that an ACK shows
//!   is that of the window a round trip ago: the target is delta W_{k-1} RTTmin / RTT. With W_k in
//!   its place an empty queue lets the window grow by 46 % in a round trip instead of 26 %, and
//!   beyond the target before the queue shows.
//! - A round-trip time counts only if the next is as long, so that an ACK that waited for the
//!   delayed ACK timer is no queue. RTTs measured during a recovery are those of the queue before
//!   it and belong to no epoch. The RTT in alpha is RTTmin, so that a queue does not feed itself.
//! - A loss removes at least one segment; below it equation 8 has no sense.
//! - No increase is smaller than one segment in a round trip, but for the climb to Wmax.
//! - The paper does not speak of timeouts: Wmax is the window at the timeout, slow start goes to
//!   (1 - beta) Wmax, and from there the window climbs to Wmax. The same way leads back after an
//!   idle period. Hoe's estimate is for the first slow start only.

mod alpha;

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::hoe::Hoe;
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

use alpha::{Alpha, Rule};

/// beta before there is any round-trip time: that of standard TCP.
const UNKNOWN_BETA: f64 = 0.5;
/// alpha of LIAD, and of A-LIAD on its reference path.
const BINARY: f64 = 2.0;
/// RTT_ref in seconds.
const RTT_REF: f64 = 0.075;

const ALPHA: Parameter = Parameter {
    name: "alpha",
    default: "online",
    allowed: Allowed::OneOf(Rule::WORDS),
    meaning: "How alpha follows the RTT, so that each climb takes as long as with alpha_ref at \
              rtt_ref: online from Wmax; with x = RTT / rtt_ref power is alpha_ref^(x^alpha_exponent), \
              exponential alpha_ref^x, affine 1 + (alpha_ref - 1) x; fixed is alpha_ref. The paper's \
              own fit is not known",
};
const ALPHA_REF: Parameter = Parameter {
    name: "alpha_ref",
    default: "2",
    allowed: Allowed::Range(1.01, 64.0),
    meaning: "alpha at rtt_ref; at 1 the window would not grow",
};
const REFERENCE_RTT: Parameter = Parameter {
    name: "rtt_ref",
    default: "0.075",
    allowed: Allowed::Range(0.001, 10.0),
    meaning: "Reference round-trip time in seconds",
};
const ALPHA_EXPONENT: Parameter = Parameter {
    name: "alpha_exponent",
    default: "1.0679",
    allowed: Allowed::Range(0.5, 2.0),
    meaning: "Exponent of alpha = power; 1.0679 fits equation 11 at a loss rate of 1e-8, 1.1576 at \
              1e-4",
};
const ALPHA_MIN: Parameter = Parameter {
    name: "alpha_min",
    default: "1",
    allowed: Allowed::Range(1.0, 64.0),
    meaning: "Smallest alpha, for paths shorter than rtt_ref; at 1 there is no limit, at alpha_ref \
              alpha is only ever raised",
};
const DELTA: Parameter = Parameter {
    name: "delta",
    default: "1.93",
    allowed: Allowed::Range(1.01, 10.0),
    meaning: "RTT / RTTmin from which probing for Wmax is linear",
};
const PROBE: Parameter = Parameter {
    name: "probe",
    default: "delay-sent",
    allowed: Allowed::OneOf(&["delay", "delay-sent", "doubling"]),
    meaning: "Increase while probing below delta: delay halves the distance to the window at which \
              RTT / RTTmin would be delta, for the present window; delay-sent does so for the \
              window of the round trip before, in which what is acknowledged now was sent; doubling \
              begins with one segment in a round trip and doubles in each, as BIC",
};
const AT_WMAX: Parameter = Parameter {
    name: "at_wmax",
    default: "probe",
    allowed: Allowed::OneOf(&["probe", "stay"]),
    meaning: "Behaviour of the window when it has grown back to Wmax without a loss",
};
const RTT_MAX: Parameter = Parameter {
    name: "rtt_max",
    default: "epoch",
    allowed: Allowed::OneOf(&["epoch", "connection"]),
    meaning: "Whether the RTTmax in beta = 1 - RTTmin / RTTmax is the largest RTT since the last \
              loss or that of the connection",
};
const BETA_MIN: Parameter = Parameter {
    name: "beta_min",
    default: "0",
    allowed: Allowed::Range(0.0, 0.5),
    meaning: "Smallest share of the window that a loss removes; never less than a segment",
};
const BETA_MAX: Parameter = Parameter {
    name: "beta_max",
    default: "0.5",
    allowed: Allowed::Range(0.5, 1.0),
    meaning: "Largest share of the window that a loss removes; the paper states none",
};

const ALIAD: &[Parameter] = &[
    ALPHA,
    ALPHA_REF,
    REFERENCE_RTT,
    ALPHA_EXPONENT,
    ALPHA_MIN,
    DELTA,
    PROBE,
    AT_WMAX,
    RTT_MAX,
    BETA_MIN,
    BETA_MAX,
];
const LIAD: &[Parameter] = &[DELTA, PROBE, AT_WMAX, RTT_MAX, BETA_MIN, BETA_MAX];

/// A-LIAD and LIAD.
#[derive(Clone, Debug)]
pub struct Aliad {
    window: Window,
    rules: Rules,
    phase: Phase,
    round: Round,
    hoe: Hoe,
    /// In the first slow start, where Hoe's estimate sets ssthresh.
    starting: bool,
    delays: Delays,
    /// Window at the last loss in bytes.
    w_max: Option<u64>,
    /// For the climb to `w_max`.
    alpha: f64,
    /// Bytes by which the window should have grown and has not yet, below one.
    remainder: f64,
    /// Position in the stream behind the last byte sent.
    sent: u64,
}

/// The rules that follow from the parameters.
#[derive(Clone, Copy, Debug)]
struct Rules {
    alpha: Alpha,
    /// Equation 1, and not doubling up to gamma.
    hybrid_start: bool,
    delta: f64,
    probe: Probe,
    probe_at_w_max: bool,
    rtt_max_of_epoch: bool,
    beta: (f64, f64),
}

/// The fast increase of equation 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    Delay,
    DelaySent,
    Doubling,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Slow start below gamma / 2.
    Exponential,
    /// Slow start from gamma / 2 to gamma.
    Logarithmic,
    /// Looking for Wmax.
    Probe,
    /// Climbing back to Wmax.
    Climb,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    /// The first ACK beyond this position of the stream begins the next.
    end: u64,
    /// W_k in bytes.
    window: f64,
    /// The window a round trip before, W_{k-1}, in bytes.
    before: f64,
    /// Increase in bytes when probing doubles it in each round.
    step: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Delays {
    min: Option<Span>,
    last: Option<Span>,
    /// The smaller of the last two.
    current: Option<Span>,
    max: Option<Span>,
}

impl Delays {
    fn take(&mut self, sample: Span) {
        let current = self.last.map_or(sample, |last| last.min(sample));
        self.last = Some(sample);
        self.current = Some(current);
        self.max = Some(self.max.map_or(current, |max| max.max(current)));
    }

    /// RTT / RTTmin.
    fn ratio(&self) -> f64 {
        let ratio = |(current, min): (Span, Span)| current.as_secs_f64() / min.as_secs_f64();
        self.current.zip(self.min).map_or(1.0, ratio).max(1.0)
    }
}

impl Listed for Aliad {
    const LISTED: &'static [Entry] = &[
        Entry {
            name: "aliad",
            summary: "Logarithmic climb after a loss, as long on every round-trip time",
            source: "Shin, Park, Oh, Kim and Lee, A-LIAD, 2014",
            status: Status::Reconstructed,
            repair: Repair::SelectiveAcks,
            parameters: ALIAD,
        },
        Entry {
            name: "liad",
            summary: "Logarithmic climb after a loss that halves the gap in each round trip",
            source: "Chang, Lin and Jin, LIAD, 2009",
            status: Status::Reconstructed,
            repair: Repair::SelectiveAcks,
            parameters: LIAD,
        },
    ];

    fn build(settings: &Settings, values: &Values) -> Self {
        let adaptive = values.has(ALPHA.name);
        let alpha = if adaptive {
            Alpha {
                rule: Rule::of(values),
                reference: values.number("alpha_ref"),
                rtt_ref: values.number("rtt_ref"),
                least: values.number("alpha_min"),
            }
        } else {
            Alpha { rule: Rule::Fixed, reference: BINARY, rtt_ref: RTT_REF, least: 1.0 }
        };
        Self {
            window: Window::new(settings),
            rules: Rules {
                alpha,
                hybrid_start: adaptive,
                delta: values.number("delta"),
                probe: match values.word("probe") {
                    "delay" => Probe::Delay,
                    "delay-sent" => Probe::DelaySent,
                    _ => Probe::Doubling,
                },
                probe_at_w_max: values.word("at_wmax") == "probe",
                rtt_max_of_epoch: values.word("rtt_max") == "epoch",
                beta: (values.number("beta_min"), values.number("beta_max")),
            },
            phase: Phase::Exponential,
            round: Round {
                end: 0,
                window: settings.initial_window as f64,
                before: settings.initial_window as f64,
                step: 0.0,
            },
            hoe: Hoe::default(),
            starting: true,
            delays: Delays::default(),
            w_max: None,
            alpha: alpha.reference,
            remainder: 0.0,
            sent: 0,
        }
    }
}

impl Aliad {
    fn begin_round(&mut self) {
        self.round.before = self.round.window;
        self.freeze();
        self.round.step = (2.0 * self.round.step).min(self.round.window);
    }

    fn freeze(&mut self) {
        self.round.end = self.sent;
        self.round.window = self.window.cwnd as f64;
    }

    /// A new phase freezes the window again. The round that it cuts short is no round trip, so the
    /// window of the one before stays.
    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.freeze();
        self.round.step = self.window.mss as f64;
    }

    /// The phase that the window is in now.
    fn follow_window(&mut self) {
        let Window { cwnd, ssthresh: gamma, mss, .. } = self.window;
        let left = match self.phase {
            Phase::Exponential | Phase::Logarithmic => gamma.saturating_sub(cwnd),
            Phase::Climb => self.w_max.unwrap_or(0).saturating_sub(cwnd),
            Phase::Probe => return,
        };
        let done = if self.rules.hybrid_start || self.phase == Phase::Climb {
            left < mss
        } else {
            left == 0
        };
        let next = match self.phase {
            Phase::Climb if done && self.rules.probe_at_w_max => Phase::Probe,
            Phase::Exponential | Phase::Logarithmic if done => {
                self.starting = false;
                if self.w_max.is_some() { Phase::Climb } else { Phase::Probe }
            }
            Phase::Exponential if self.rules.hybrid_start && cwnd >= gamma / 2 => {
                Phase::Logarithmic
            }
            // gamma was found to be larger.
            Phase::Logarithmic if cwnd < gamma / 2 => Phase::Exponential,
            phase => phase,
        };
        if next != self.phase {
            self.enter(next);
            self.follow_window();
        }
    }

    /// Segments by which the window grows for each one acknowledged, and how large it may become.
    fn increase(&self) -> (f64, u64) {
        let one = self.window.mss as f64 / self.window.cwnd as f64;
        let frozen = self.round.window;
        match self.phase {
            Phase::Exponential => (1.0, u64::MAX),
            // Equation 2.
            Phase::Logarithmic => {
                let gamma = self.window.ssthresh;
                (((gamma as f64 - frozen) / (2.0 * frozen)).max(one), gamma)
            }
            // Equation 3: half of the way to the window at which the ratio would be delta.
            Phase::Probe => {
                let ratio = self.delays.ratio();
                let to = |target: f64| (target / frozen - 1.0) / 2.0;
                let fast = match self.rules.probe {
                    _ if ratio >= self.rules.delta => one,
                    Probe::Delay => to(self.rules.delta / ratio * frozen),
                    Probe::DelaySent => to(self.rules.delta / ratio * self.round.before),
                    Probe::Doubling => self.round.step / frozen,
                };
                (fast.max(one), u64::MAX)
            }
            // Equation 6.
            Phase::Climb => {
                let w_max = self.w_max.unwrap_or(self.window.cwnd);
                ((1.0 - 1.0 / self.alpha) * (w_max as f64 - frozen).max(0.0) / frozen, w_max)
            }
        }
    }

    /// Equation 7.
    fn beta(&self) -> f64 {
        let longest = self.delays.max.or(self.delays.current);
        let beta = longest
            .zip(self.delays.min)
            .map_or(UNKNOWN_BETA, |(max, min)| 1.0 - min.as_secs_f64() / max.as_secs_f64());
        let (least, most) = self.rules.beta;
        beta.clamp(least, most)
    }

    /// An epoch ends: its window is Wmax, and from `ssthresh` it is climbed to again.
    fn end_epoch(&mut self, loss: &Loss) {
        let ssthresh = self.threshold_after_loss(loss);
        let w_max = self.window.cwnd;
        let gap = w_max.saturating_sub(ssthresh) as f64 / self.window.mss as f64;
        let rtt = self.delays.min.unwrap_or(Span::from_secs_f64(self.rules.alpha.rtt_ref));
        self.alpha = self.rules.alpha.at(rtt, gap);
        self.w_max = Some(w_max);
        self.window.ssthresh = ssthresh;
        self.starting = false;
        self.remainder = 0.0;
        if self.rules.rtt_max_of_epoch {
            self.delays.max = None;
        }
    }
}

impl Controller for Aliad {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { feedback: true, ..Needs::default() }
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.sent = feedback.sent;
        self.delays.min = feedback.min_rtt;
        if let (Some(sample), false) = (feedback.round_trip, feedback.recovering) {
            self.delays.take(sample);
        }
        if self.starting {
            self.hoe.on_feedback(feedback);
            if let Some(gamma) = self.hoe.path_capacity() {
                self.window.ssthresh = gamma.max(2 * self.window.mss);
            }
        }
        if feedback.acknowledged > self.round.end {
            self.begin_round();
        }
    }

    fn grow(&mut self, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        self.follow_window();
        let (increase, limit) = self.increase();
        let window = &mut self.window;
        let acked = match self.phase {
            Phase::Exponential => window.counted(ack.acked),
            _ => ack.acked.min(window.cwnd),
        };
        let growth = self.remainder + increase * acked as f64;
        self.remainder = growth - libm::floor(growth);
        window.cwnd = window.cwnd.saturating_add(whole(growth)).min(limit.max(window.cwnd));
        self.follow_window();
    }

    /// (1 - beta) Wmax, at least two segments and at least one less than Wmax.
    fn threshold_after_loss(&self, _loss: &Loss) -> u64 {
        let Window { cwnd, mss, .. } = self.window;
        let kept = whole((1.0 - self.beta()) * cwnd as f64);
        kept.min(cwnd.saturating_sub(mss)).max(2 * mss)
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.end_epoch(loss);
        self.window.cwnd = self.window.ssthresh;
        self.enter(Phase::Climb);
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        standard::on_recovery_exit(self);
        self.enter(Phase::Climb);
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.end_epoch(loss);
        }
        self.window.cwnd = self.window.mss;
        self.enter(Phase::Exponential);
    }

    fn on_idle(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.window.initial);
        self.enter(Phase::Exponential);
    }
}

impl TcpPolicy for Aliad {}

#[cfg(test)]
mod tests;
