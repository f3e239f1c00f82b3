//! Copa: a window whose queue is a fixed number of packets, by the delay alone.
//!
//! Source: V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the
//! Internet", NSDI 2018; the rules are those of mvfst (`quic/congestion_control/Copa.cpp`), and for
//! the competitive mode those of the authors' genericCC (`markoviancc.cc`, `rtt-window.cc`),
//! restated.
//!
//! - `d_min`: the smallest RTT of ten seconds. `d_stand`: the smallest of half a smoothed RTT. The
//!   queueing delay `d_q` is their difference, or with `queueing_delay = "latest"`, as mvfst has
//!   it, that of the last sample and `d_min`.
//! - The window grows if `d_q` is zero or 1 / (delta `d_q`) segments per second are at least
//!   cwnd / `d_stand`, and else it shrinks.
//! - Slow start: while it would grow, cwnd doubles once in a smoothed RTT. It ends when cwnd is to
//!   shrink.
//! - Then each segment acknowledged changes cwnd by v / (delta cwnd) segments, down to two.
//! - The velocity v is 1. Once in a smoothed RTT the direction of cwnd is compared with that
//!   before: after three times the same one v doubles each time, and another one sets it to 1. So
//!   does at once an ACK that asks for the other direction.
//! - Pacing: two windows in `d_stand`, as the paper and genericCC have it, or in a smoothed RTT
//!   with `queueing_delay = "latest"`, as mvfst has it.
//! - Losses are ignored. A timeout leaves two segments.
//! - Competitive mode: if the RTT has not come within a tenth of its range of `d_min` for four
//!   smoothed RTTs, others fill the queue. Then 1 / delta grows by 1 in each RTT without a loss,
//!   and delta doubles with one. When more than 30 % of at least 20 segments of two RTTs are lost,
//!   cwnd falls to 0.7 of it.
//!
//! A path that becomes longer looks like a queue until `d_min` is ten seconds old. The competitive
//! mode then keeps the rate; without it the flow hardly sends.
//!
//! Decisions:
//! - mvfst has delta = 0.05, the last sample and no competitive mode. The defaults here are those
//!   of the paper.
//! - v / delta is at most cwnd in segments, as in genericCC: cwnd at most doubles in an RTT. mvfst
//!   has no bound, and its v overflows after 64 doublings.
//! - cwnd does not grow while the sender does not fill it (RFC 7661). mvfst lets it grow.
//! - The filters are exact where mvfst keeps three samples.
//! - Marks of congestion are ignored, as losses are.
//! - Where genericCC differs from the paper, the paper is followed here, and genericCC by its
//!   variant ([`genericcc`]): slow start by packets, a velocity from the ACKs for each direction
//!   that doubles before three RTTs are over, delta that doubles with each ACK that shows a loss.

mod genericcc;

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, LostSegment, Needs, PartialAck};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::recent::{Extreme, Recent};
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

pub use genericcc::GenericCopa;
use genericcc::VARIANT;

/// Length of the filter of the smallest RTT.
const MIN_RTT_TIME: Span = Span::from_secs(10);
/// Smallest window in segments.
const LEAST_SEGMENTS: u64 = 2;
/// Comparisons with the same direction from which on the velocity doubles.
const SAME_DIRECTION: u32 = 3;
/// The RTT must come this near to the smallest, as a part of its range.
const NEARLY_EMPTY: f64 = 0.1;
/// Share of lost segments that reduces the window, least number of segments counted, and the share
/// of the window that is left.
const HEAVY_LOSS: (f64, f64, f64) = (0.3, 20.0, 0.7);

const DELTA: Parameter = Parameter {
    name: "delta",
    default: "0.5",
    allowed: Allowed::Range(0.001, 10.0),
    meaning: "Weight of the delay: 1 / delta segments of a flow wait in the queue on average; \
              mvfst has 0.05",
};
const COMPETITIVE: Parameter = Parameter {
    name: "competitive",
    default: "on",
    allowed: Allowed::OneOf(&["on", "off"]),
    meaning: "Whether delta falls while others fill the queue; mvfst has no such mode",
};
const PARAMETERS: &[Parameter] = &[
    DELTA,
    Parameter {
        name: "queueing_delay",
        default: "standing",
        allowed: Allowed::OneOf(&["standing", "latest"]),
        meaning: "The RTT whose difference to the smallest is the queueing delay: the smallest of \
                  half a smoothed RTT, or the last one, as in mvfst",
    },
    COMPETITIVE,
    VARIANT,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// The velocity and what it follows from.
#[derive(Clone, Copy, Debug)]
struct Velocity {
    value: f64,
    direction: Option<Direction>,
    /// Comparisons with the same direction.
    same: u32,
    /// cwnd at the last comparison.
    recorded: Option<(Time, u64)>,
}

impl Velocity {
    const START: Self = Self { value: 1.0, direction: None, same: 0, recorded: None };

    /// Once in a smoothed RTT.
    fn compare(&mut self, now: Time, srtt: Span, cwnd: u64) {
        let Some((at, before)) = self.recorded else {
            self.recorded = Some((now, cwnd));
            return;
        };
        if now.since(at) < srtt {
            return;
        }
        let direction = Some(if cwnd > before { Direction::Up } else { Direction::Down });
        if direction == self.direction {
            self.same += 1;
            if self.same >= SAME_DIRECTION {
                self.value *= 2.0;
            }
        } else {
            self.value = 1.0;
            self.same = 0;
        }
        self.direction = direction;
        self.recorded = Some((now, cwnd));
    }

    /// An ACK asks for this direction.
    fn turn(&mut self, now: Time, direction: Direction, cwnd: u64) {
        if self.value > 1.0 && self.direction != Some(direction) {
            let recorded = Some((now, cwnd));
            *self = Self { value: 1.0, direction: Some(direction), same: 0, recorded };
        }
    }
}

/// The competitive mode.
#[derive(Clone, Debug)]
struct Competition {
    smallest: Recent,
    largest: Recent,
    /// When delta has fallen or was reset, and when it has doubled.
    changed_at: Option<Time>,
    doubled_at: Option<Time>,
    /// Bytes acknowledged and lost since the time.
    counted: (Time, u64, u64),
}

impl Competition {
    fn new() -> Self {
        Self {
            smallest: Recent::of(Extreme::Smallest),
            largest: Recent::of(Extreme::Largest),
            changed_at: None,
            doubled_at: None,
            counted: (Time::ZERO, 0, 0),
        }
    }

    /// delta after an ACK with this RTT.
    fn delta(
        &mut self,
        now: Time,
        (rtt, srtt, least): (Span, Span, Span),
        delta: (f64, f64),
    ) -> f64 {
        let (delta, usual) = delta;
        let length = srtt * 4;
        let smallest = self.smallest.take(now, rtt, length).as_secs_f64();
        let largest = self.largest.take(now, rtt, length).as_secs_f64();
        let least = least.as_secs_f64();
        let is_due = |at: Option<Time>| at.is_none_or(|at| now.since(at) > rtt);
        if smallest < least + NEARLY_EMPTY * (largest - least) || largest <= least {
            if is_due(self.doubled_at) {
                self.changed_at = Some(now);
                return usual;
            }
        } else if is_due(self.changed_at) {
            self.changed_at = Some(now);
            return (1.0 / (1.0 / delta + 1.0)).min(usual);
        }
        delta
    }

    /// Returns true if a loss doubles delta.
    fn doubles(&mut self, now: Time, rtt: Span) -> bool {
        let is_due = self.doubled_at.is_none_or(|at| now.since(at) > rtt);
        if is_due {
            self.doubled_at = Some(now);
        }
        is_due
    }

    /// Counts bytes; once in two RTTs returns true if too many of them were lost.
    fn is_loss_heavy(&mut self, now: Time, rtt: Span, (acked, lost): (u64, u64), mss: u64) -> bool {
        let (since, all_acked, all_lost) = &mut self.counted;
        *all_acked += acked;
        *all_lost += lost;
        if now.since(*since) <= rtt * 2 {
            return false;
        }
        let (share, least, _) = HEAVY_LOSS;
        let all = (*all_acked + *all_lost) as f64;
        let heavy = all > least * mss as f64 && *all_lost as f64 > share * all;
        self.counted = (now, 0, 0);
        heavy
    }
}

/// Copa.
#[derive(Clone, Debug)]
pub struct Copa {
    window: Window,
    /// Part of a byte of cwnd.
    fraction: f64,
    usual_delta: f64,
    delta: f64,
    takes_latest: bool,
    competition: Option<Competition>,
    min_rtt: Recent,
    standing: Recent,
    latest: Option<Span>,
    is_starting: bool,
    doubled_at: Option<Time>,
    velocity: Velocity,
    pacing: Option<f64>,
    /// cwnd limits the sender.
    is_limited: bool,
    /// Bytes found to be lost since the last ACK.
    lost: u64,
}

impl Listed for Copa {
    const LISTED: &'static [Entry] = &[Entry {
        name: "copa",
        summary: "Window whose queue is a fixed number of packets, by the delay alone",
        source: "Arun and Balakrishnan, Copa, 2018",
        status: Status::Implementation(
            "mvfst 448ba91, Copa.cpp; genericCC 18299d6, markoviancc.cc",
        ),
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        let mut window = Window::new(settings);
        window.ssthresh = u64::MAX;
        let delta = values.number("delta");
        Self {
            window,
            fraction: 0.0,
            usual_delta: delta,
            delta,
            takes_latest: values.word("queueing_delay") == "latest",
            competition: (values.word("competitive") == "on").then(Competition::new),
            min_rtt: Recent::of(Extreme::Smallest),
            standing: Recent::of(Extreme::Smallest),
            latest: None,
            is_starting: true,
            doubled_at: None,
            velocity: Velocity::START,
            pacing: None,
            is_limited: true,
            lost: 0,
        }
    }
}

impl Copa {
    /// Changes cwnd by a number of bytes, with a part of a byte.
    fn change(&mut self, bytes: f64) {
        let least = (LEAST_SEGMENTS * self.window.mss) as f64;
        let cwnd = (self.window.cwnd as f64 + self.fraction + bytes).max(least);
        self.window.cwnd = whole(cwnd);
        self.fraction = cwnd - libm::trunc(cwnd);
    }

    /// delta by the competition for the queue.
    fn compete(&mut self, now: Time, acked: u64, rtts: (Span, Span, Span)) {
        let Some(competition) = &mut self.competition else { return };
        let lost = std::mem::take(&mut self.lost);
        let (mss, rtt) = (self.window.mss, rtts.0);
        self.delta = competition.delta(now, rtts, (self.delta, self.usual_delta));
        if lost > 0 && self.delta < self.usual_delta && competition.doubles(now, rtt) {
            self.delta = (2.0 * self.delta).min(self.usual_delta);
        }
        if competition.is_loss_heavy(now, rtt, (acked, lost), mss) {
            self.change((HEAVY_LOSS.2 - 1.0) * self.window.cwnd as f64);
        }
    }

    fn start(&mut self, now: Time, srtt: Span) {
        match self.doubled_at {
            None => self.doubled_at = Some(now),
            Some(at) if now.since(at) > srtt => {
                self.doubled_at = Some(now);
                self.window.cwnd = self.window.cwnd.saturating_mul(2);
            }
            Some(_) => {}
        }
    }

    /// Changes cwnd by `acked` bytes in this direction.
    fn step(&mut self, now: Time, acked: u64, direction: Direction) {
        let cwnd = self.window.cwnd;
        self.velocity.turn(now, direction, cwnd);
        let mss = self.window.mss as f64;
        let most = self.delta * cwnd as f64 / mss;
        self.velocity.value = self.velocity.value.min(most.max(1.0));
        let bytes = acked as f64 * mss * self.velocity.value / (self.delta * cwnd as f64);
        match direction {
            Direction::Up => self.change(bytes),
            Direction::Down => self.change(-bytes),
        }
    }
}

impl Controller for Copa {
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

    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.lost += lost.bytes;
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        let now = feedback.now;
        self.latest = feedback.round_trip.or(self.latest);
        let acked = feedback.acked + feedback.sacked;
        let (Some(rtt), Some(srtt)) = (self.latest, feedback.srtt) else { return };
        if acked == 0 || rtt == Span::ZERO {
            return;
        }
        let least = self.min_rtt.take(now, rtt, MIN_RTT_TIME);
        let half = Span::from_nanos(srtt.as_nanos() / 2);
        let standing = self.standing.take(now, rtt, half);
        self.compete(now, acked, (rtt, srtt, least));
        let delayed = if self.takes_latest { rtt } else { standing };
        let queueing = delayed.saturating_sub(least).as_secs_f64();
        let cwnd = self.window.cwnd as f64;
        let target = self.window.mss as f64 / (self.delta * queueing);
        let grows = queueing == 0.0 || target >= cwnd / standing.as_secs_f64();
        if !(grows && self.is_starting) {
            self.velocity.compare(now, srtt, self.window.cwnd);
        }
        if !grows {
            self.is_starting = false;
            self.step(now, acked, Direction::Down);
        } else if self.is_limited && self.is_starting {
            self.start(now, srtt);
        } else if self.is_limited {
            self.step(now, acked, Direction::Up);
        }
        let paced_in = if self.takes_latest { srtt } else { standing };
        self.pacing = Some(2.0 * self.window.cwnd as f64 / paced_in.as_secs_f64());
    }

    /// The feedback has moved the window already.
    fn on_ack(&mut self, ack: &Ack) {
        self.is_limited = ack.cwnd_limited;
    }

    fn threshold_after_loss(&self, _loss: &Loss) -> u64 {
        self.window.ssthresh
    }

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_congestion_mark(&mut self, _loss: &Loss) {}

    fn on_partial_ack(&mut self, _partial: &PartialAck) {}

    fn on_recovery_exit(&mut self, _now: Time) {}

    fn on_timeout(&mut self, _loss: &Loss) {
        self.window.cwnd = LEAST_SEGMENTS * self.window.mss;
        self.fraction = 0.0;
    }

    /// The pacing rate, and not the window, bounds what follows a pause.
    fn on_idle(&mut self) {}

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing
    }
}

impl TcpPolicy for Copa {}

#[cfg(test)]
mod tests;
