//! Vegas of SCPS-TP: the window doubles until a queue grows, and then keeps a few segments waiting.
//!
//! Source: the open reference implementation of SCPS (MITRE and GST), version 1.1.146:
//! `tp_TFVegas`, `tp_xmit_timer` and `tp_TFRetransmit` in `source/tp_timers.c`, the answer to SNACK
//! in `source/tp_process.c`, constants in `source/scpstp.h`. The paper about Vegas was not read. W
//! is cwnd. One segment at a time is timed, and the first ACK of more than that ends the round:
//!
//! - RTT is that of this ACK, and base RTT the smallest of all rounds,
//! - the timed segment saw w segments of the window: W less what is acknowledged behind it, at
//!   least one, and all of W if that is more than W,
//! - backlog = w - w * base RTT / RTT in whole segments. The quotient is rounded down.
//!
//! With this backlog, once in each round:
//!
//! - linear phase: below `alpha` W grows by one segment. Above `beta` it falls by half of what is
//!   above `beta`, and by one segment more,
//! - exponential phase: above `gamma` the linear phase begins, with the W that there is. Otherwise
//!   W doubles at once, in each round or in every other. A round that does not double looks at no
//!   backlog. A window of one segment doubles anyway,
//! - a W of one segment begins the exponential phase,
//! - loss: half of W, at least one segment, and the linear phase. Only once until all that was
//!   outstanding is acknowledged. Base RTT stays as it is in that time,
//! - timeout: one segment, ssthresh = W / 2 but at least two segments, and the exponential phase.
//!   After four in a row base RTT is measured again.
//!
//! The source does this, though it may not be meant: the segment more by which W falls follows from
//! a missing `break`. The line that would forget base RTT after 1000 samples is a comment. ssthresh
//! ends no phase.
//!
//! Left out:
//!
//! - the retransmission of a segment that is old when a duplicate ACK arrives, and what duplicate
//!   ACKs add to the window. SNACK, or the recovery of the transport, replaces them,
//! - the second halving when three duplicate ACKs and no SNACK show a loss,
//! - a duplicate ACK right behind the timed segment, which ends the round too,
//! - base RTT is also measured again when a gateway signals that a link is available. Controllers
//!   see neither these signals nor timeouts on routes with `cause = "corruption"`,
//! - the product of w and base RTT overflows above 8000 segments on a GEO path.
//!
//! Decisions:
//!
//! - The RTT is a sample of the transport. In the source it counts from the youngest acknowledged
//!   segment, so an ACK that fills one of several holes measures the wait for the repair too.
//! - Rounds that end in recovery measure nothing, as in `vegas`: cwnd is the transport's then. In
//!   the source they adjust W.
//! - W grows only if cwnd limits the sender (RFC 7661), and not beyond the receiver's window. In
//!   the source the exponential phase ends with the send buffer, and the linear one has no bound.
//! - After a timeout retransmissions are no rounds. Until all that was outstanding is acknowledged,
//!   W grows as in standard slow start up to ssthresh.
//! - An initial ssthresh ends the exponential phase, as the `sendpipe` of a route does in the
//!   source. In the linear phase ssthresh is at most W, by which the transport knows the phase.
//! - After an idle period the exponential phase begins with the initial window (RFC 5681
//!   section 4.1).

use units::Span;

use crate::controller::Controller;
use crate::controllers::vegas::{self, Vegas};
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

/// Timeouts in a row after which base RTT is measured again.
const TIMEOUTS_TO_FORGET: u32 = 4;

const EVERY_ROUND: &str = "every-round";

const PARAMETERS: &[Parameter] = &[
    Parameter { default: "3", ..vegas::ALPHA },
    Parameter { default: "5", ..vegas::BETA },
    Parameter { default: "4", ..vegas::GAMMA },
    Parameter {
        name: "slow_start",
        default: EVERY_ROUND,
        allowed: Allowed::OneOf(&[EVERY_ROUND, "every-other-round"]),
        meaning: "Round trips in which the exponential phase doubles cwnd",
    },
];

/// Vegas of SCPS-TP.
#[derive(Clone, Debug)]
pub struct ScpsVegas {
    window: Window,
    alpha: f64,
    beta: f64,
    gamma: f64,
    doubles_each_round: bool,
    /// Where the exponential phase ends.
    most: u64,
    is_linear: bool,
    /// The phase before the last reduction.
    was_linear: bool,
    /// Where the timed segment ends.
    timed: Option<u64>,
    base_rtt: Option<Span>,
    /// Timeouts since the last ACK of new data.
    timeouts: u32,
    /// cwnd in the last round that did not double it.
    noted: Option<u64>,
    /// cwnd after this ACK, if cwnd limits the sender.
    goal: u64,
    /// Recovery runs, or what follows a timeout.
    is_recovering: bool,
}

impl Listed for ScpsVegas {
    const LISTED: &'static [Entry] = &[Entry {
        name: "scps-vegas",
        summary: "Vegas of SCPS-TP: doubles until a queue grows, then keeps it between two bounds",
        source: "SCPS-TP (CCSDS 714.0-B), as in the reference implementation of MITRE and GST",
        status: Status::Implementation("SCPS 1.1.146, source/tp_timers.c"),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];
    const ORDERED: &'static [(&'static str, &'static str)] = Vegas::ORDERED;

    fn build(settings: &Settings, values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            alpha: values.number("alpha"),
            beta: values.number("beta"),
            gamma: values.number("gamma"),
            doubles_each_round: values.word("slow_start") == EVERY_ROUND,
            most: settings.initial_ssthresh,
            is_linear: false,
            was_linear: false,
            timed: None,
            base_rtt: None,
            timeouts: 0,
            noted: None,
            goal: 0,
            is_recovering: false,
        }
    }
}

impl ScpsVegas {
    /// The backlog in segments, if an ACK of new data ends a round. When no segment is timed, the
    /// first that this ACK acknowledges was.
    fn measure(&mut self, feedback: &Feedback) -> Option<f64> {
        let Window { cwnd, mss, .. } = self.window;
        let &Feedback { acked, acknowledged, sent, .. } = feedback;
        let end = *self.timed.get_or_insert((acknowledged + mss).saturating_sub(acked));
        let behind = acknowledged.checked_sub(end).filter(|behind| *behind > 0)?;
        if feedback.recovering {
            self.timed = Some(sent + mss);
            return None;
        }
        let rtt = feedback.round_trip.filter(|rtt| *rtt > Span::ZERO)?;
        self.timed = Some(sent + mss);
        let base = self.base_rtt.map_or(rtt, |base| base.min(rtt));
        self.base_rtt = Some(base);
        let seen = cwnd.checked_sub(behind).unwrap_or(cwnd) / mss;
        let seen = seen.max(1);
        let product = u128::from(seen) * u128::from(base.as_nanos());
        let without_queue = product / u128::from(rtt.as_nanos());
        Some((u128::from(seen) - without_queue) as f64)
    }

    /// The end of a round in the linear phase.
    fn adjust(&mut self, backlog: f64) {
        let Window { cwnd, mss, .. } = self.window;
        if backlog < self.alpha {
            self.goal = cwnd + mss;
        } else if backlog > self.beta {
            let half_of_excess = whole((backlog - self.beta) * mss as f64 / 2.0);
            self.window.cwnd = cwnd.saturating_sub(half_of_excess + mss).max(mss);
            self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
        }
        if self.window.cwnd.max(self.goal) <= mss {
            self.is_linear = false;
        }
    }

    /// The end of a round in the exponential phase.
    fn double(&mut self, backlog: f64) {
        let Window { cwnd, mss, .. } = self.window;
        if !self.doubles_each_round && self.noted != Some(cwnd) {
            self.noted = Some(cwnd);
        } else if backlog > self.gamma {
            self.begin_linear_phase(cwnd);
        } else {
            self.goal = cwnd.saturating_mul(2);
        }
        if cwnd <= mss {
            self.goal = 2 * mss;
        }
        if self.goal > self.most {
            self.goal = self.most.max(cwnd);
            self.begin_linear_phase(cwnd);
        }
    }

    fn begin_linear_phase(&mut self, cwnd: u64) {
        self.is_linear = true;
        self.window.ssthresh = cwnd;
    }
}

impl Controller for ScpsVegas {
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
        self.is_recovering = feedback.recovering;
        self.goal = 0;
        if feedback.acked == 0 {
            return;
        }
        if std::mem::take(&mut self.timeouts) >= TIMEOUTS_TO_FORGET {
            self.base_rtt = None;
        }
        let Some(backlog) = self.measure(feedback) else { return };
        if self.is_linear {
            self.adjust(backlog);
        } else {
            self.double(backlog);
        }
        self.goal = self.goal.min(feedback.advertised);
    }

    fn grow(&mut self, ack: &Ack) {
        if !ack.cwnd_limited {
            return;
        }
        if self.is_recovering && !self.is_linear && self.window.in_slow_start() {
            self.slow_start(ack);
        }
        self.window.cwnd = self.window.cwnd.max(self.goal);
    }

    fn on_loss(&mut self, _loss: &Loss) {
        let Window { cwnd, mss, .. } = self.window;
        self.was_linear = self.is_linear;
        self.goal = 0;
        self.window.cwnd = (cwnd / 2).max(mss);
        self.begin_linear_phase(self.window.cwnd);
        if self.window.cwnd <= mss {
            self.is_linear = false;
        }
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.was_linear = self.is_linear;
            self.window.ssthresh = self.window.half(self.window.cwnd);
        }
        self.window.cwnd = self.window.mss;
        self.is_linear = false;
        self.timed = None;
        self.goal = 0;
        self.timeouts += 1;
    }

    fn on_spurious_loss(&mut self, cwnd: u64, ssthresh: u64) {
        standard::on_spurious_loss(self, cwnd, ssthresh);
        self.is_linear = self.was_linear;
    }

    fn on_idle(&mut self) {
        let before = self.window.cwnd;
        standard::on_idle(self);
        if self.window.cwnd < before {
            self.is_linear = false;
        }
    }
}

impl TcpPolicy for ScpsVegas {}

#[cfg(test)]
mod tests;
