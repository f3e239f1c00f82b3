//! Copa of its authors' program, genericCC.
//!
//! Source: `markoviancc.cc`, `rtt-window.cc`, `estimators.cc` and `ctcp.hh` of
//! venkatarun95/genericCC 18299d6, restated. It differs from the paper:
//! - the window stays until 19 packets are acknowledged. Then slow start adds a packet with each
//!   one, and ends when cwnd is at the target d_stand / (delta d_q),
//! - the direction of an RTT is that of most of its ACKs. The velocity v doubles after an RTT whose
//!   direction is that of the RTT before, and is 1 after a change of direction. It is halved where
//!   it is above delta cwnd (in packets),
//! - competitive mode: each ACK that shows a loss doubles delta, at most to the usual one,
//! - the smoothed RTT has a weight of 1/16, and d_min lasts ten seconds or twenty times d_min,
//! - after a timeout it begins again, with the first window, and forgets all.
//!
//! As the paper has it, two windows are sent in d_stand. The first window is not paced.
//!
//! Decisions:
//! - Times are in milliseconds since the first packet, as in the program, whose comparisons of
//!   equal times depend on how such numbers are rounded.
//! - The program begins again after two seconds without an ACK. Here the transport's timeout
//!   counts.
//! - A packet is lost when the transport finds it. In the program the next ACK shows it.
//! - The first window is that of the scenario, and ten packets in the program.
//! - cwnd does not grow while the sender does not fill it (RFC 7661). The program lets it grow.
//! - With a constant delta the program uses 0.5, whatever the configuration says. Here `delta` is
//!   used.
//! - Marks of congestion are ignored.

use units::{Span, Time};

use super::{COMPETITIVE, DELTA, HEAVY_LOSS, LEAST_SEGMENTS, NEARLY_EMPTY};
use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, LostSegment, Needs, PartialAck, Sent};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::linux::{self, ORIGINAL};
use crate::parts::recent::{Extreme, Recent};
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

/// The word for it.
pub const GENERICCC: &str = "genericcc";

/// The parameter that chooses it.
pub(super) const VARIANT: Parameter = Parameter {
    allowed: Allowed::OneOf(&[ORIGINAL, GENERICCC]),
    meaning: "The algorithm of its source, or that of the authors' program genericCC, which takes `delta` and \
              `competitive`",
    ..linux::VARIANT
};

/// Packets that are acknowledged before the window changes.
const PROBES: u64 = 19;
/// Weight of a sample in the smoothed RTT.
const SMOOTHING: f64 = 1.0 / 16.0;
/// Length of the filter of the smallest RTT in milliseconds.
const LEAST_LENGTH: f64 = 10_000.0;
/// Smallest RTTs for which the smallest lasts, where that is more than ten seconds.
const MIN_RTTS: f64 = 20.0;
/// Nanoseconds in a millisecond.
const NANOS: f64 = 1e6;

/// RTTs and their filters, in milliseconds.
#[derive(Clone, Debug)]
struct RoundTrips {
    smoothed: Option<f64>,
    least: Recent<f64, f64>,
    standing: Recent<f64, f64>,
    smallest: Recent<f64, f64>,
    largest: Recent<f64, f64>,
    /// `d_min` and `d_stand`.
    found: (f64, f64),
    /// The queue was nearly empty in the last four smoothed RTTs.
    is_nearly_empty: bool,
}

impl RoundTrips {
    fn new() -> Self {
        Self {
            smoothed: None,
            least: Recent::of(Extreme::Smallest),
            standing: Recent::of(Extreme::Smallest),
            smallest: Recent::of(Extreme::Smallest),
            largest: Recent::of(Extreme::Largest),
            found: (0.0, 0.0),
            is_nearly_empty: false,
        }
    }

    fn take(&mut self, now: f64, rtt: f64) {
        let smoothed = self.smoothed.unwrap_or(rtt);
        let smoothed = SMOOTHING * rtt + (1.0 - SMOOTHING) * smoothed;
        self.smoothed = Some(smoothed);
        let longest = LEAST_LENGTH.max(MIN_RTTS * self.found.0);
        let take = |recent: &mut Recent<f64, f64>, length: f64| {
            recent.take_of(now, rtt, |at| at < now - length.min(longest))
        };
        let least = take(&mut self.least, longest);
        self.found = (least, take(&mut self.standing, 0.5 * smoothed));
        let smallest = take(&mut self.smallest, 4.0 * smoothed);
        let largest = take(&mut self.largest, 4.0 * smoothed);
        self.is_nearly_empty = smallest < least + NEARLY_EMPTY * (largest - least);
    }
}

/// The velocity. Times are in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Velocity {
    value: f64,
    /// ACKs for more of this RTT, less those for less.
    balance: i64,
    /// 1 or -1.
    direction: i64,
    since: f64,
}

impl Velocity {
    const START: Self = Self { value: 1.0, balance: 1, direction: 1, since: 0.0 };

    fn take(&mut self, now: f64, rtt: f64, most: f64) {
        if self.since + rtt < now {
            if self.direction * self.balance > 0 {
                self.value = libm::trunc(self.value) * 2.0;
            } else {
                self.value = 1.0;
                self.direction = -self.direction;
            }
            self.since = now;
            self.balance = 0;
        }
        if self.value > most {
            self.value /= 2.0;
        }
        self.value = self.value.max(1.0);
    }
}

/// When delta has changed, and when it has doubled, in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    at: Option<f64>,
    doubled_at: f64,
}

impl Changes {
    /// delta after an ACK, or after an ACK that shows a loss, for which `rtt` is zero.
    fn delta(
        &mut self,
        (now, rtt): (f64, f64),
        (delta, usual): (f64, f64),
        competes: bool,
        lost: bool,
    ) -> f64 {
        let is_first = self.at.is_none();
        if !competes {
            if is_first || self.doubled_at + rtt < now {
                self.at = Some(now);
                return usual;
            }
            return delta;
        }
        let mut delta = if is_first { usual } else { delta };
        if lost && self.doubled_at + rtt < now {
            delta *= 2.0;
            self.doubled_at = now;
        } else if self.at.unwrap_or(0.0) + rtt < now {
            delta = 1.0 / (1.0 / delta + 1.0);
            self.at = Some(now);
        }
        delta.min(usual)
    }
}

/// Packets of the last two RTTs.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    lost: u32,
    all: u32,
    since: f64,
}

impl Losses {
    /// Counts a packet. Returns true if too many were lost.
    fn take(&mut self, lost: bool, now: f64, rtt: f64) -> bool {
        let (share, least, _) = HEAVY_LOSS;
        self.lost += u32::from(lost);
        self.all += 1;
        if now <= self.since + 2.0 * rtt || f64::from(self.all) <= least {
            return false;
        }
        let heavy = f64::from(self.lost) / f64::from(self.all) > share;
        *self = Self { lost: 0, all: 0, since: now };
        heavy
    }
}

/// Copa of genericCC.
#[derive(Clone, Debug)]
pub struct GenericCopa {
    window: Window,
    /// Usual delta.
    usual: f64,
    competes: bool,
    /// A microsecond before the first packet is sent.
    start: Option<Time>,
    is_limited: bool,
    /// Bytes of a packet of which a part is acknowledged, and of one of which a part is lost.
    parts: (u64, u64),
    /// Packets found to be lost since the last ACK.
    lost: u64,
    latest: Option<Span>,
    state: State,
}

/// State that a timeout forgets.
#[derive(Clone, Debug)]
struct State {
    /// cwnd in packets.
    cwnd: f64,
    delta: f64,
    is_starting: bool,
    acked: u64,
    rtts: RoundTrips,
    velocity: Velocity,
    changes: Changes,
    losses: Losses,
    /// Packets per second.
    pacing: Option<f64>,
}

impl State {
    fn new(window: &Window, delta: f64) -> Self {
        Self {
            cwnd: window.initial as f64 / window.mss as f64,
            delta,
            is_starting: true,
            acked: 0,
            rtts: RoundTrips::new(),
            velocity: Velocity::START,
            changes: Changes::default(),
            losses: Losses::default(),
            pacing: None,
        }
    }

    /// `grows`: the sender fills the window.
    fn update(&mut self, now: f64, rtt: f64, grows: bool) {
        if self.acked < PROBES {
            return;
        }
        let (least, standing) = self.rtts.found;
        let queueing = standing - least;
        let target =
            if queueing == 0.0 { f64::INFINITY } else { standing / (queueing * self.delta) };
        let growth = f64::from(u8::from(grows));
        if self.is_starting {
            self.cwnd += growth;
            self.is_starting = self.cwnd < target;
        } else {
            self.velocity.take(now, rtt, self.cwnd * self.delta);
            let step = self.velocity.value / (self.delta * self.cwnd);
            if self.cwnd < target {
                self.velocity.balance += 1;
                self.cwnd += growth * step;
            } else {
                self.velocity.balance -= 1;
                self.cwnd -= step;
            }
        }
        self.pace();
    }

    /// Two windows in d_stand.
    fn pace(&mut self) {
        self.cwnd = self.cwnd.max(LEAST_SEGMENTS as f64);
        self.pacing = Some(2000.0 * self.cwnd / self.rtts.found.1);
    }
}

impl Listed for GenericCopa {
    const VARIANT: &'static str = GENERICCC;
    const LISTED: &'static [Entry] = &[Entry {
        name: "copa",
        summary: "Copa of its authors' program: other slow start, velocity and competitive mode",
        source: "Arun and Balakrishnan, Copa, 2018",
        status: Status::Implementation("genericCC 18299d6, markoviancc.cc"),
        repair: Repair::SelectiveAcks,
        parameters: &[Parameter { default: GENERICCC, ..VARIANT }, DELTA, COMPETITIVE],
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        let mut window = Window::new(settings);
        window.ssthresh = u64::MAX;
        let usual = values.number(DELTA.name);
        let state = State::new(&window, usual);
        Self {
            window,
            usual,
            competes: values.word(COMPETITIVE.name) == "on",
            start: None,
            is_limited: true,
            parts: (0, 0),
            lost: 0,
            latest: None,
            state,
        }
    }
}

impl GenericCopa {
    /// Milliseconds since the start.
    fn clock(&self, at: Time) -> f64 {
        self.start.map_or(0.0, |start| at.since(start).as_nanos() as f64 / NANOS)
    }

    /// An ACK of one packet, the last of `lost` packets before it.
    fn acknowledge(&mut self, now: Time, round_trip: Span, lost: u64) {
        let sent_at = Time::from_nanos(now.as_nanos().saturating_sub(round_trip.as_nanos()));
        let clock = self.clock(now);
        let rtt = clock - self.clock(sent_at);
        let (usual, grows) = (self.usual, self.is_limited);
        let state = &mut self.state;
        state.rtts.take(clock, rtt);
        let competes = self.competes && !state.rtts.is_nearly_empty;
        state.delta = state.changes.delta((clock, rtt), (state.delta, usual), competes, false);
        state.update(clock, rtt, grows);
        let mut reduces = false;
        for _ in 0..lost {
            reduces |= state.losses.take(true, clock, rtt);
        }
        if lost > 0 {
            state.delta = state.changes.delta((clock, 0.0), (state.delta, usual), competes, true);
        }
        reduces |= state.losses.take(false, clock, rtt);
        if reduces {
            state.cwnd *= HEAVY_LOSS.2;
            state.pace();
        }
        state.acked += 1;
    }

    fn show(&mut self) {
        self.window.cwnd = whole(self.state.cwnd * self.window.mss as f64);
    }
}

/// Whole packets of some bytes, and the rest.
fn packets(rest: &mut u64, bytes: u64, mss: u64) -> u64 {
    *rest += bytes;
    let whole = *rest / mss;
    *rest %= mss;
    whole
}

impl Controller for GenericCopa {
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

    fn on_sent(&mut self, sent: &Sent) {
        self.start.get_or_insert(Time::from_nanos(sent.now.as_nanos().saturating_sub(1000)));
    }

    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.lost += packets(&mut self.parts.1, lost.bytes, self.window.mss);
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.latest = feedback.round_trip.or(self.latest);
        let acked = feedback.acked + feedback.sacked;
        let Some(rtt) = self.latest.filter(|rtt| *rtt > Span::ZERO) else { return };
        for _ in 0..packets(&mut self.parts.0, acked, self.window.mss) {
            let lost = std::mem::take(&mut self.lost);
            self.acknowledge(feedback.now, rtt, lost);
        }
        self.show();
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
        self.state = State::new(&self.window, self.usual);
        self.lost = 0;
        self.show();
    }

    /// The pacing rate, and not the window, bounds what follows a pause.
    fn on_idle(&mut self) {}

    fn pacing_rate(&self) -> Option<f64> {
        self.state.pacing.map(|packets| packets * self.window.mss as f64)
    }
}

impl TcpPolicy for GenericCopa {}

#[cfg(test)]
mod tests;
