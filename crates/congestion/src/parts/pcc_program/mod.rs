//! PCC of its authors' program of the user space: a sender tries a rate for about a round trip and
//! learns from what became of each packet.
//!
//! Source: `src/pcc` of PCCproject/PCC-Uspace 30c2cfe (branch `master`, the code of PCC Proteus,
//! SIGCOMM 2020), restated: `pcc_sender.cpp`, `pcc_monitor_interval_queue.cpp` and
//! `pcc_utility_manager.cpp`. Its rules differ from those of the modules for Linux
//! ([`monitor_intervals`](super::monitor_intervals)):
//! - An interval lasts for the smallest RTT, and until it has four reliable samples of the RTT. It
//!   lasts twice as long where less than 0.8 of its samples are reliable. Its verdict comes when
//!   each of its packets is acknowledged or lost. One whose packets left at one time has none.
//! - A sample counts with the ACK after its own. It is reliable unless the time between the two
//!   ACKs before differs from that to the next more than 50 times as usual (`avg_interval_ratio_`).
//! - Probing has three pairs at 5 % above and below, in random order. In between all intervals are
//!   sent at the rate that the rules give.
//! - The first rate is 1.12 Mbit/s, and with the first RTT it becomes larger where that is below
//!   100 ms.
//! - The start ends also where the smoothed RTT is 101 times that of the present interval.
//!
//! Oddities of the program are followed:
//! - A loss has no time between ACKs. So the first loss that comes before a sample has counted
//!   makes the usual ratio infinite, and from then on all samples are reliable.
//! - While no interval is open, what is acknowledged waits as a sample and is not replaced.
//! - Numbers are those of the program: rates in whole bits per second, times in whole microseconds,
//!   statistics with 24 binary digits.
//!
//! Left out is what the program computes without using it (deviations of the RTT, rates of ACKs),
//! the utility functions of other priorities (scavenger, hybrid), and code after a `return`.
//!
//! Decisions:
//! - The program has no window. Here the sender may have twice the bytes in the network that the
//!   rate sends in a smoothed RTT, at least four segments, as in the module. It matters in an
//!   outage, through which the program sends on.
//! - Before the first ACK the initial window bounds the sender.
//! - A transport that acknowledges bytes has no numbers of packets. They follow from the time at
//!   which the youngest of an ACK was sent; others of the same ACK are those before it.
//! - A timeout is the loss of all packets that are missing. The program's own timer is not
//!   followed.
//! - A rate is at least a kilobyte in a second.
//! - The random order follows from the time and the packets sent, so that a run can be repeated.

mod flight;
mod intervals;
#[cfg(test)]
mod tests;
mod utility;

use std::fmt::Debug;

use units::{Span, Time};

use self::flight::Flight;
pub(crate) use self::intervals::Interval;
use self::intervals::{Intervals, Progress, Sample};
use self::utility::Utilities;
pub(crate) use self::utility::Utility;
use super::delivery_model::draw;
use super::monitor_intervals::{MICROSECONDS, microseconds};
use crate::controller::Controller;
use crate::events::{Ack, Feedback, Loss, LostSegment, Needs, PartialAck, Sent};
use crate::parameters::{Allowed, Parameter};
use crate::parts::linux::{self, ORIGINAL};
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

/// The word for the variant.
pub const USPACE: &str = "uspace";

/// The parameter that chooses it.
pub(crate) const VARIANT: Parameter = Parameter {
    allowed: Allowed::OneOf(&[ORIGINAL, USPACE]),
    meaning: "The algorithm as the module for Linux has it, or as the authors' program of the user \
              space, PCC-Uspace, which takes no other parameter",
    ..linux::VARIANT
};

/// Pairs of one round of probing.
pub(crate) const PAIRS: usize = 3;
/// Share by which probes differ from the rate between them.
pub(crate) const PROBE: f32 = 0.05;
/// Bits per second before the first RTT: ten packets of 1400 bytes in [`FIRST_RTT`].
const FIRST_RATE: i64 = 1_120_000;
/// In microseconds.
const FIRST_RTT: i64 = 100_000;
/// Least bits per second that leave: a kilobyte.
const LEAST_RATE: i64 = 8192;
const LEAST_SEGMENTS: u64 = 4;
/// Growth of the RTT that is tolerated at the start, and later.
const TOLERANCES: [f32; 2] = [100.0, 1.0];
/// Least share of samples that are reliable.
const RELIABLE: f32 = 0.8;

/// The nearest number of 24 binary digits, as a `float` of C keeps it.
#[expect(clippy::cast_possible_truncation, reason = "that is the purpose")]
pub(crate) const fn single(number: f64) -> f32 {
    number as f32
}

/// A number without its fraction. One that is too large becomes the largest.
#[expect(clippy::cast_possible_truncation, reason = "that is the purpose")]
pub(crate) const fn integer(number: f64) -> i64 {
    number as i64
}

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rate(pub(crate) i64);

impl Rate {
    pub(crate) fn times(self, factor: f32) -> Self {
        Self(integer(libm::round(f64::from(self.0 as f32 * factor))))
    }

    pub(crate) fn apart(self, other: Self) -> Self {
        Self((self.0 - other.0).abs())
    }

    /// Microseconds that a packet takes.
    fn transfer(self, bytes: i64) -> i64 {
        if self.0 == 0 { 0 } else { bytes * 8 * MICROSECONDS / self.0 }
    }
}

/// A time span times a number, in whole microseconds.
fn times(span: i64, factor: f64) -> i64 {
    integer(libm::round(span as f64 * factor))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Start,
    Probing,
    Moving,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Up,
    Down,
}

impl Direction {
    pub(crate) const fn opposite(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }

    /// The factor of a step in this direction.
    pub(crate) fn factor(self, step: f32) -> f32 {
        match self {
            Self::Up => 1.0 + step,
            Self::Down => 1.0 - step,
        }
    }
}

/// The rate of an interval and its utility.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) rate: Rate,
    pub(crate) utility: f32,
}

/// Which rate the intervals of a pair prefer.
pub(crate) fn preferred(pair: &[Verdict]) -> Direction {
    let [first, second] = [pair[0], pair[1]];
    let rises = if first.utility > second.utility {
        first.rate > second.rate
    } else {
        first.rate < second.rate
    };
    if rises { Direction::Up } else { Direction::Down }
}

/// The common part of the rules of both algorithms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    pub(crate) mode: Mode,
    pub(crate) rate: Rate,
    pub(crate) direction: Direction,
    /// Rounds in the present mode.
    pub(crate) rounds: usize,
}

impl Search {
    pub(crate) const START: Self =
        Self { mode: Mode::Start, rate: Rate(FIRST_RATE), direction: Direction::Up, rounds: 1 };

    /// Takes the last step back, for the rate between probes, or before a move.
    pub(crate) fn go_back(&mut self, step: f32) {
        let factor = 1.0 / f64::from(self.direction.factor(step));
        self.rate = self.rate.times(single(factor));
    }

    /// A round of probing without a decision.
    pub(crate) fn probe_again(&mut self, probe_is_last: bool) {
        if probe_is_last {
            self.go_back(PROBE);
        }
        self.rounds += 1;
    }

    pub(crate) fn end_start(&mut self) {
        self.rate = self.rate.times(0.5);
        self.mode = Mode::Probing;
        self.rounds = 1;
    }
}

/// The rules of an algorithm.
pub trait Rules: Clone + Debug + Send + Sync {
    /// Its utility function.
    #[expect(private_interfaces, reason = "only controllers of this crate implement it")]
    const UTILITY: Utility;

    /// The rate between intervals that count.
    #[expect(private_interfaces, reason = "only controllers of this crate implement it")]
    fn between(&self, search: &Search) -> Rate;

    /// Decides by intervals that are complete. `probe_is_last`: the last interval that was begun
    /// counts, and is not one in between.
    #[expect(private_interfaces, reason = "only controllers of this crate implement it")]
    fn learn(&mut self, search: &mut Search, verdicts: &[Verdict], probe_is_last: bool);
}

/// RTTs in microseconds; 0 while there is none.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTrips {
    latest: i64,
    smoothed: i64,
    least: i64,
    /// Time of the last sample, or of the first event.
    at: Option<i64>,
}

impl RoundTrips {
    /// Returns the time since the last sample.
    fn take(&mut self, now: i64, sample: Option<i64>) -> i64 {
        let before = *self.at.get_or_insert(now);
        let Some(rtt) = sample else { return 0 };
        self.latest = rtt;
        self.smoothed = match self.smoothed {
            0 => rtt,
            smoothed => times(smoothed, 0.875) + times(rtt, 0.125),
        };
        if self.least == 0 || rtt < self.least {
            self.least = rtt;
        }
        self.at = Some(now);
        now - before
    }
}

/// A controller with these rules.
#[derive(Clone, Debug)]
pub struct Program<R> {
    window: Window,
    rules: R,
    search: Search,
    utilities: Utilities,
    intervals: Intervals,
    flight: Flight,
    rtts: RoundTrips,
    /// Length of the present interval in microseconds.
    length: i64,
    has_rtt: bool,
}

impl<R: Rules> Program<R> {
    pub(crate) fn new(settings: &Settings, rules: R) -> Self {
        let mut window = Window::new(settings);
        window.ssthresh = u64::MAX;
        Self {
            window,
            rules,
            search: Search::START,
            utilities: Utilities::new(R::UTILITY),
            intervals: Intervals::new(),
            flight: Flight::default(),
            rtts: RoundTrips::default(),
            length: 0,
            has_rtt: false,
        }
    }

    fn tolerance(&self) -> f32 {
        TOLERANCES[usize::from(self.search.mode != Mode::Start)]
    }

    /// Returns true if the next packet begins an interval.
    fn begins(&mut self, now: i64) -> bool {
        let useful = self.intervals.useful();
        let Some(last) = self.intervals.last_mut() else { return true };
        if self.rtts.latest == 0 || useful == 0 {
            return useful == 0 && self.rtts.latest > 0;
        }
        if !last.is_useful || !last.has_enough || now - last.sent_at[0] < self.length {
            return false;
        }
        let share = last.reliable as f32 / last.samples as f32;
        if share > RELIABLE || last.is_extended {
            return true;
        }
        self.length *= 2;
        last.is_extended = true;
        false
    }

    /// The rate of the next interval, where probing changes it.
    fn set_rate(&mut self, now: Time) {
        let useful = self.intervals.useful();
        let last_is_useful = self.intervals.last().is_some_and(|last| last.is_useful);
        let is_over = useful == 2 * PAIRS && !last_is_useful;
        if self.search.mode != Mode::Probing || is_over {
            return;
        }
        if useful != 0 {
            if last_is_useful {
                self.search.go_back(PROBE);
            }
            if useful == 2 * PAIRS {
                return;
            }
        }
        self.search.direction = if !useful.is_multiple_of(2) {
            self.search.direction.opposite()
        } else if draw(now, self.flight.sent()) >= 0.5 {
            Direction::Up
        } else {
            Direction::Down
        };
        self.search.rate = self.search.rate.times(self.search.direction.factor(PROBE));
    }

    fn begin(&mut self, now: Time) {
        self.set_rate(now);
        self.length = self.rtts.least;
        let most = if self.search.mode == Mode::Probing { 2 * PAIRS } else { 1 };
        let is_useful = self.rtts.smoothed > 0 && self.intervals.useful() < most;
        let rate = if is_useful { self.search.rate } else { self.rules.between(&self.search) };
        self.intervals.begin(rate, is_useful, self.tolerance(), self.rtts.smoothed);
    }

    /// The RTT has grown so much that the start ends.
    fn is_inflated(&self) -> bool {
        let Some(last) = self.intervals.last() else { return false };
        let is_known = self.intervals.first().is_some_and(|first| first.rtt[0] > 0);
        let most = times(last.rtt[0], f64::from(1.0 + self.tolerance()));
        is_known && self.rtts.latest > self.rtts.smoothed && most < self.rtts.smoothed
    }

    fn take(&mut self, now: Time, rtt: Option<Span>, acked: Vec<Sample>, lost: &[Sample]) {
        let at = microseconds(now.since(Time::ZERO));
        let rtt = rtt.map(|rtt| microseconds(rtt).max(1));
        let between_acks = self.rtts.take(at, rtt);
        if !self.has_rtt && self.rtts.latest > 0 {
            self.has_rtt = true;
            if self.rtts.latest < FIRST_RTT {
                let factor = FIRST_RTT as f32 / self.rtts.latest as f32;
                self.search.rate = self.search.rate.times(factor);
            }
        }
        if self.search.mode == Mode::Start && self.is_inflated() {
            self.intervals.clear();
            self.search.end_start();
        } else {
            let rtts = (self.rtts.smoothed, self.rtts.latest);
            match self.intervals.take(acked, lost, rtts, between_acks) {
                Progress::Open => {}
                Progress::Void => self.intervals.drop_useful(),
                Progress::Complete => self.learn(),
            }
        }
        self.set_window();
    }

    fn learn(&mut self) {
        let utilities = &mut self.utilities;
        let complete = self.intervals.all_useful();
        let verdicts: Vec<_> = complete
            .map(|interval| Verdict { rate: interval.rate, utility: utilities.of(interval) })
            .collect();
        let probe_is_last = self.intervals.last().is_some_and(|last| last.is_useful);
        self.rules.learn(&mut self.search, &verdicts, probe_is_last);
        self.intervals.drop_useful();
    }

    fn rate(&self) -> Rate {
        let rate = self.intervals.last().map_or(self.search.rate, |last| last.rate);
        rate.max(Rate(LEAST_RATE))
    }

    fn set_window(&mut self) {
        if self.rtts.smoothed == 0 {
            return;
        }
        let bytes = i128::from(self.rate().0) * i128::from(self.rtts.smoothed);
        let bytes = u64::try_from(bytes / i128::from(8 * MICROSECONDS)).unwrap_or(u64::MAX / 2);
        let segments = (2 * (bytes / self.window.mss)).max(LEAST_SEGMENTS);
        self.window.cwnd = segments.saturating_mul(self.window.mss);
    }

    /// The lost packets, each a notice of its own.
    fn lose(&mut self, now: Time, packet: Sample) {
        self.take(now, None, Vec::new(), &[packet]);
    }
}

impl<R: Rules> Controller for Program<R> {
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
        let at = microseconds(sent.now.since(Time::ZERO));
        if self.begins(at) {
            self.begin(sent.now);
        }
        let packet = self.flight.send(sent.now, sent.bytes);
        self.intervals.send(at, packet);
        self.set_window();
    }

    fn on_segment_lost(&mut self, lost: &LostSegment) {
        for packet in self.flight.lose(lost.sent_at, lost.bytes) {
            self.lose(lost.now, packet);
        }
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        let bytes = feedback.acked + feedback.sacked;
        let sent_at = feedback
            .round_trip
            .map(|rtt| Time::from_nanos(feedback.now.as_nanos().saturating_sub(rtt.as_nanos())));
        let acked = self.flight.acknowledge(sent_at, bytes);
        if !acked.is_empty() {
            self.take(feedback.now, feedback.round_trip, acked, &[]);
        }
    }

    /// The feedback has moved the window already.
    fn on_ack(&mut self, _ack: &Ack) {}

    fn threshold_after_loss(&self, _loss: &Loss) -> u64 {
        self.window.ssthresh
    }

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_congestion_mark(&mut self, _loss: &Loss) {}

    fn on_partial_ack(&mut self, _partial: &PartialAck) {}

    fn on_recovery_exit(&mut self, _now: Time) {}

    fn on_timeout(&mut self, loss: &Loss) {
        for packet in self.flight.lose_all() {
            self.lose(loss.now, packet);
        }
    }

    /// The rate bounds what follows a pause.
    fn on_idle(&mut self) {}

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.rate().0 as f64 / 8.0)
    }
}

impl<R: Rules> TcpPolicy for Program<R> {}
