//! PCC Vivace: the rate follows the gradient of a utility of rate, delay and loss.
//!
//! Source: M. Dong, T. Meng, D. Zarchy, E. Arslan, Y. Gilad, P. B. Godfrey, M. Schapira, "PCC
//! Vivace: Online-Learning Congestion Control", NSDI 2018; the rules and constants are those of the
//! module for Linux (PCCproject/PCC-Kernel, branch `vivace`, `src/tcp_pcc.c`), restated. Those of
//! the user-space program differ, and are a variant ([`uspace`]).
//!
//! - Intervals: [`monitor_intervals`](crate::parts::monitor_intervals), at least 50 packets, of
//!   which ten at each end do not count.
//! - Utility in bytes per second: x - x (900 g + 11 L) with the rate x, the lost share L and the
//!   gradient g of the RTT: the change of the smoothed RTT over the time in which the interval was
//!   sent. g is zero if the change is below the time of two packets, or g below 3 % in size. It is
//!   0 if nothing was delivered.
//! - Start: the rate grows by a half with each interval while the utility rises. A fall of the RTT,
//!   and losses below 10 %, count as none. Then the rate is the one before, and probing begins.
//! - Probing: two pairs at 5 % above and below. If both prefer the same rate, the rate moves there.
//! - Moving: the change of the rate is 25,000 a g_u bytes per second, with the gradient g_u of the
//!   utility against the interval before, 0 if the rates differ by less than 2 %. The amplifier a
//!   is 2 at first. A step along the last change uses up a swing buffer, and then raises a by 1.
//!   One against it adds to the buffer, at most 2, and sets a to 2. A step is at most 10 % of the
//!   rate, 7 % more with each step that was longer, and at least 2.2 %.
//! - The rate is at least two packets in a round trip.
//!
//! Three oddities of the module are followed:
//! - The interval after a decision is sent at the rate of before. Both rates that are compared then
//!   are the new one, so that the gradient is zero, and the next step goes up, also after a
//!   decision to go down.
//! - The direction of the last decision is never written. So moves go on only upwards, and any
//!   other returns to probing.
//! - The rate that is kept for comparison when the start ends is the higher one.

mod uspace;

use crate::entry::{Entry, Listed, Repair, Status};
use crate::parameters::Values;
use crate::parts::monitor_intervals::{
    FIRST_RATE, INTERVALS, Interval, Learner, MICROSECONDS, MOST_RATE, MonitorIntervals, Path,
    Trial, agreed, microseconds, share,
};
use crate::parts::pcc_program::VARIANT;
use crate::window::Settings;

pub use uspace::UspaceVivace;

/// Hundredths of the rate by which probes differ from it.
const PROBE: i64 = 5;
/// Shares, gradients and bounds are in thousandths.
const WHOLE: i64 = 1000;
/// Rates whose gradient is known differ by this share.
const LEAST_DIFFERENCE: i64 = 20;
/// Bytes per second for a gradient of a thousandth.
const STEP: i64 = 25;
const LEAST_AMPLIFIER: i64 = 2;
const MOST_SWINGS: u32 = 2;
const LEAST_BOUND: i64 = 100;
const BOUND_STEP: i64 = 70;
/// Weights of the gradient of the RTT and of losses.
const DELAY_WEIGHT: i64 = 900;
const LOSS_WEIGHT: i64 = 11;
const LEAST_INFLATION: i64 = 30;
/// Losses below this share count as none at the start.
const START_LOSS: i64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Start,
    Probing,
    Moving,
}

/// State of the search.
#[derive(Clone, Debug)]
pub struct Gradient {
    mode: Mode,
    /// Bytes per second.
    rate: i64,
    last_rate: i64,
    amplifier: i64,
    swings: u32,
    bound: i64,
}

/// PCC Vivace.
pub type Vivace = MonitorIntervals<Gradient>;

impl Gradient {
    /// Change of the RTT over the time of sending, in thousandths.
    fn inflation(&self, interval: &Interval, path: &Path) -> i64 {
        let time = |[from, to]: [units::Time; 2]| microseconds(to.since(from));
        let (sent_in, counted_in) = (time(interval.sending), time(interval.counting));
        let delivered = i64::try_from(interval.delivered).unwrap_or(i64::MAX);
        let throughput =
            if counted_in > 0 { share(MICROSECONDS, delivered, counted_in) } else { 0 };
        let noise = if throughput > 0 { 2 * MICROSECONDS * path.mss / throughput } else { 0 };
        let change = microseconds(interval.rtt[1]) - microseconds(interval.rtt[0]);
        let inflation = if sent_in > 0 { WHOLE * change / sent_in } else { 0 };
        let is_noise = change.abs() < noise || inflation.abs() < LEAST_INFLATION;
        if is_noise || (self.mode == Mode::Start && inflation < 0) { 0 } else { inflation }
    }

    fn utility(&self, interval: &Interval, path: &Path) -> i64 {
        let Some(loss) = interval.loss(WHOLE).filter(|_| interval.delivered > 0) else { return 0 };
        let loss = if self.mode == Mode::Start && loss < START_LOSS { 0 } else { loss };
        let costs = DELAY_WEIGHT * self.inflation(interval, path) + LOSS_WEIGHT * loss;
        interval.rate.saturating_sub(share(interval.rate, costs, WHOLE))
    }

    fn start(&mut self, intervals: &mut [Interval; INTERVALS], path: &Path) -> Trial {
        let before = intervals[0].utility;
        intervals[0].utility = self.utility(&intervals[0], path);
        if intervals[0].utility > before {
            self.last_rate = self.rate;
            self.rate = (self.rate + self.rate / 2).min(MOST_RATE);
            return Trial::One(self.rate);
        }
        std::mem::swap(&mut self.rate, &mut self.last_rate);
        self.mode = Mode::Probing;
        Trial::Pairs(PROBE)
    }

    fn decide(&mut self, intervals: &mut [Interval; INTERVALS], path: &Path) -> Trial {
        for interval in intervals.iter_mut() {
            interval.utility = self.utility(interval, path);
        }
        let Some([_, chosen]) = agreed(intervals) else { return Trial::Pairs(PROBE) };
        let before = self.rate;
        self.rate = intervals[chosen].rate;
        self.last_rate = self.rate;
        intervals[0].utility = intervals[chosen].utility;
        self.mode = Mode::Moving;
        Trial::One(before)
    }

    /// Steps become longer while they follow the last change, and short again when they oppose it.
    fn adapt(&mut self, gradient: i64) {
        if (gradient > 0) == (self.rate > self.last_rate) {
            if self.swings > 0 {
                self.swings -= 1;
            } else {
                self.amplifier += 1;
            }
        } else {
            self.swings = (self.swings + 1).min(MOST_SWINGS);
            self.amplifier = LEAST_AMPLIFIER;
            self.bound = LEAST_BOUND;
        }
    }

    fn bounded(&mut self, step: i64) -> i64 {
        if share(WHOLE, step.saturating_abs(), self.rate) <= self.bound {
            self.bound = LEAST_BOUND;
            return step;
        }
        let most = share(self.rate, self.bound, WHOLE);
        self.bound += BOUND_STEP;
        if step > 0 { most } else { -most }
    }

    fn travel(&mut self, intervals: &mut [Interval; INTERVALS], path: &Path) -> Trial {
        let before = intervals[0].utility;
        let utility = self.utility(&intervals[0], path);
        intervals[0].utility = utility;
        let difference = self.last_rate - self.rate;
        let is_known = (WHOLE * difference / self.rate).abs() >= LEAST_DIFFERENCE;
        // In millionths.
        let gradient = if is_known {
            share(WHOLE * WHOLE, before.saturating_sub(utility), difference)
        } else {
            0
        };
        self.adapt(gradient);
        let step = self.bounded(share(STEP * self.amplifier, gradient, WHOLE));
        // A little more than the difference with which a gradient is known.
        let least = self.rate * LEAST_DIFFERENCE / WHOLE * 11 / 10;
        let step = if step >= 0 { step.max(least) } else { step.min(-least) };
        self.last_rate = self.rate;
        let floor = 2 * MICROSECONDS * path.mss / path.rtt;
        self.rate = (self.rate + step).max(floor).min(MOST_RATE);
        if step > 0 {
            return Trial::One(self.rate);
        }
        self.mode = Mode::Probing;
        Trial::Pairs(PROBE)
    }
}

impl Learner for Gradient {
    const PACKETS: u64 = 50;
    const IGNORED: u64 = 10;

    fn rate(&self) -> i64 {
        self.rate
    }

    fn has_pairs(&self) -> bool {
        self.mode == Mode::Probing
    }

    #[expect(private_interfaces, reason = "the trait's")]
    fn learn(&mut self, intervals: &mut [Interval; INTERVALS], path: &Path) -> Trial {
        match self.mode {
            Mode::Start => self.start(intervals, path),
            Mode::Probing => self.decide(intervals, path),
            Mode::Moving => self.travel(intervals, path),
        }
    }

    #[expect(private_interfaces, reason = "the trait's")]
    fn begin_again(&mut self) -> Trial {
        Trial::Pairs(PROBE)
    }
}

impl Listed for Vivace {
    const LISTED: &'static [Entry] = &[Entry {
        name: "vivace",
        summary: "Rate by the gradient of a utility of rate, delay and loss (PCC)",
        source: "Dong et al., PCC Vivace, 2018",
        status: Status::Implementation("PCC-Kernel ed39d0f, branch vivace, src/tcp_pcc.c"),
        repair: Repair::SelectiveAcks,
        parameters: &[VARIANT],
    }];

    fn build(settings: &Settings, _values: &Values) -> Self {
        let learner = Gradient {
            mode: Mode::Start,
            rate: FIRST_RATE,
            last_rate: FIRST_RATE,
            amplifier: LEAST_AMPLIFIER,
            swings: 0,
            bound: LEAST_BOUND,
        };
        Self::new(settings, learner, Trial::Pairs(PROBE))
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;
    use crate::parts::test_path::{TestPath, settings};

    fn gradient(mode: Mode) -> Gradient {
        Gradient {
            mode,
            rate: 1_000_000,
            last_rate: 1_000_000,
            amplifier: LEAST_AMPLIFIER,
            swings: 0,
            bound: LEAST_BOUND,
        }
    }

    const PATH: Path = Path { mss: 1000, rtt: 50_000 };

    /// 100 packets in 100 ms with these losses and this change of the RTT in milliseconds.
    fn interval(rate: i64, lost: u64, change: i64) -> Interval {
        let at = |ms| units::Time::ZERO + Span::from_millis(ms);
        let end = Span::from_millis(u64::try_from(100 + change).unwrap());
        Interval::of(rate, ((100 - lost) * 1000, lost * 1000), [at(0), at(100)], end)
    }

    /// The utility of the module: x - x (900 g + 11 L).
    #[test]
    fn delay_and_loss_take_from_the_utility() {
        let moving = gradient(Mode::Moving);
        let utility = |lost, change| moving.utility(&interval(1_000_000, lost, change), &PATH);
        assert_eq!(utility(0, 0), 1_000_000);
        assert_eq!(utility(5, 0), 450_000);
        assert_eq!(utility(0, 10), -89_000_000);
        assert_eq!(utility(0, -10), 91_000_000, "a shorter RTT adds");
        assert_eq!(utility(0, 1), 1_000_000, "two packets take 2 ms");
        assert_eq!(utility(100, 0), 0, "nothing was delivered");
        let start = gradient(Mode::Start);
        assert_eq!(start.utility(&interval(1_000_000, 9, -10), &PATH), 1_000_000);
        assert!(start.utility(&interval(1_000_000, 10, 0), &PATH) < 0);
    }

    #[test]
    fn steps_grow_along_the_last_change_and_are_bounded() {
        let mut moving = gradient(Mode::Moving);
        moving.last_rate = 900_000;
        moving.adapt(1);
        assert_eq!(moving.amplifier, 3);
        moving.adapt(-1);
        moving.adapt(-1);
        moving.adapt(-1);
        assert_eq!((moving.amplifier, moving.swings), (2, 2));
        moving.adapt(1);
        assert_eq!((moving.amplifier, moving.swings), (2, 1), "first the buffer");
        assert_eq!(moving.bounded(500_000), 100_000);
        assert_eq!(moving.bounded(-500_000), -170_000);
        assert_eq!(moving.bounded(50_000), 50_000);
        assert_eq!(moving.bounded(500_000), 100_000, "the bound is as at first");
    }

    /// An oddity of the module: after a decision to go down the next step goes up.
    #[test]
    fn the_first_step_after_a_decision_goes_up() {
        let mut probing = gradient(Mode::Probing);
        let (high, low) = (1_050_000, 950_000);
        let mut four = [
            interval(high, 20, 0),
            interval(low, 0, 0),
            interval(low, 0, 0),
            interval(high, 20, 0),
        ];
        assert_eq!(
            probing.learn(&mut four, &PATH),
            Trial::One(1_000_000),
            "sent at the rate of before"
        );
        assert_eq!((probing.rate, probing.mode), (low, Mode::Moving));
        four[0] = Interval { utility: four[0].utility, ..interval(1_000_000, 0, 0) };
        let Trial::One(rate) = probing.learn(&mut four, &PATH) else { panic!() };
        assert_eq!(rate, 970_900, "2.2 % more");
    }

    #[test]
    fn pairs_that_disagree_are_tried_again() {
        let mut probing = gradient(Mode::Probing);
        let (high, low) = (1_050_000, 950_000);
        let mut four =
            [interval(high, 0, 0), interval(low, 0, 0), interval(low, 0, 0), interval(high, 20, 0)];
        assert_eq!(probing.learn(&mut four, &PATH), Trial::Pairs(PROBE));
        assert_eq!(probing.rate, 1_000_000);
    }

    /// A bottleneck of 1000 packets per second.
    #[test]
    fn a_flow_fills_most_of_a_path() {
        let controller = Vivace::build(&settings(), &Values::defaults(&[]));
        let mut path = TestPath::new(controller, 1e6, Span::from_millis(50));
        path.follows_rtt = true;
        path.buffer = 100_000.0;
        path.run(Span::from_secs(20), |_| ());
        let delivered = path.delivered;
        path.run(Span::from_secs(20), |_| ());
        let share = (path.delivered - delivered) as f64 / 20e6;
        assert!(share > 0.7, "{share}");
        assert!(path.controller.learner().mode != Mode::Start);
    }
}
