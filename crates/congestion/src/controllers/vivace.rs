//! PCC Vivace: the rate follows the gradient of a utility of rate, delay and loss.
//!
//! Source: M. Dong, T. Meng, D. Zarchy, E. Arslan, Y. Gilad, P. B. Godfrey, M. Schapira, "PCC
//! Vivace: Online-Learning Congestion Control", NSDI 2018; the rules and constants are those of the
//! module for Linux (PCCproject/PCC-Kernel, branch `vivace`, `src/tcp_pcc.c`), restated. Those of
//! the paper and of the user-space program differ, see the page.
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

use crate::entry::{Entry, Listed, Repair, Status};
use crate::parameters::Values;
use crate::parts::monitor_intervals::{
    FIRST_RATE, INTERVALS, Interval, Learner, MonitorIntervals, Path, Trial, agreed,
};
use crate::window::Settings;

/// Share of the rate by which probes differ from it.
const PROBE: f64 = 0.05;
/// Rates whose gradient is known differ by this share.
const LEAST_DIFFERENCE: f64 = 0.02;
/// A step is a little more than that.
const LEAST_STEP: f64 = 1.1 * LEAST_DIFFERENCE;
/// Bytes per second for a gradient of 1.
const STEP: f64 = 25_000.0;
const LEAST_AMPLIFIER: f64 = 2.0;
const MOST_SWINGS: u32 = 2;
const LEAST_BOUND: f64 = 0.1;
const BOUND_STEP: f64 = 0.07;
/// Weights of the gradient of the RTT and of losses.
const DELAY_WEIGHT: f64 = 900.0;
const LOSS_WEIGHT: f64 = 11.0;
const LEAST_INFLATION: f64 = 0.03;
/// Losses below this share count as none at the start.
const START_LOSS: f64 = 0.1;

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
    rate: f64,
    last_rate: f64,
    amplifier: f64,
    swings: u32,
    bound: f64,
}

/// PCC Vivace.
pub type Vivace = MonitorIntervals<Gradient>;

impl Gradient {
    fn utility(&self, interval: &Interval, path: &Path) -> f64 {
        let Some(loss) = interval.loss().filter(|_| interval.delivered > 0) else { return 0.0 };
        let is_starting = self.mode == Mode::Start;
        let seconds = |[from, to]: [units::Time; 2]| to.since(from).as_secs_f64();
        let change = interval.rtt[1].as_secs_f64() - interval.rtt[0].as_secs_f64();
        let (sent_in, counted_in) = (seconds(interval.sending), seconds(interval.counting));
        let noise = 2.0 * path.mss * counted_in / interval.delivered as f64;
        let mut inflation = if sent_in > 0.0 { change / sent_in } else { 0.0 };
        let is_noise = change.abs() < noise || inflation.abs() < LEAST_INFLATION;
        if is_noise || (is_starting && inflation < 0.0) {
            inflation = 0.0;
        }
        let loss = if is_starting && loss < START_LOSS { 0.0 } else { loss };
        interval.rate - interval.rate * (DELAY_WEIGHT * inflation + LOSS_WEIGHT * loss)
    }

    fn start(&mut self, intervals: &mut [Interval; INTERVALS], path: &Path) -> Trial {
        let before = intervals[0].utility;
        intervals[0].utility = self.utility(&intervals[0], path);
        if intervals[0].utility > before {
            self.last_rate = self.rate;
            self.rate *= 1.5;
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
    fn adapt(&mut self, step: f64) {
        if (step > 0.0) == (self.rate > self.last_rate) {
            if self.swings > 0 {
                self.swings -= 1;
            } else {
                self.amplifier += 1.0;
            }
        } else {
            self.swings = (self.swings + 1).min(MOST_SWINGS);
            self.amplifier = LEAST_AMPLIFIER;
            self.bound = LEAST_BOUND;
        }
    }

    fn bounded(&mut self, step: f64) -> f64 {
        let (size, sign) = (step.abs(), if step > 0.0 { 1.0 } else { -1.0 });
        if size / self.rate <= self.bound {
            self.bound = LEAST_BOUND;
            return step;
        }
        let step = sign * self.rate * self.bound;
        self.bound += BOUND_STEP;
        step
    }

    fn travel(&mut self, intervals: &mut [Interval; INTERVALS], path: &Path) -> Trial {
        let before = intervals[0].utility;
        let utility = self.utility(&intervals[0], path);
        intervals[0].utility = utility;
        let difference = self.last_rate - self.rate;
        let is_known = difference.abs() >= LEAST_DIFFERENCE * self.rate;
        let gradient = if is_known { (before - utility) / difference } else { 0.0 };
        self.adapt(gradient);
        let step = self.bounded(STEP * self.amplifier * gradient);
        let least = LEAST_STEP * self.rate;
        let step = if step >= 0.0 { step.max(least) } else { step.min(-least) };
        let rises = step > 0.0;
        self.last_rate = self.rate;
        self.rate = (self.rate + step).max(2.0 * path.mss / path.rtt);
        if rises {
            return Trial::One(self.rate);
        }
        self.mode = Mode::Probing;
        Trial::Pairs(PROBE)
    }
}

impl Learner for Gradient {
    const PACKETS: u64 = 50;
    const IGNORED: u64 = 10;

    fn rate(&self) -> f64 {
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
        parameters: &[],
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
            rate: 1e6,
            last_rate: 1e6,
            amplifier: LEAST_AMPLIFIER,
            swings: 0,
            bound: LEAST_BOUND,
        }
    }

    const PATH: Path = Path { mss: 1000.0, rtt: 0.05 };

    /// 100 packets in 100 ms with these losses and this change of the RTT in milliseconds.
    fn interval(rate: f64, lost: u64, change: i64) -> Interval {
        let at = |ms| units::Time::ZERO + Span::from_millis(ms);
        let end = Span::from_millis(u64::try_from(100 + change).unwrap());
        Interval::of(rate, ((100 - lost) * 1000, lost * 1000), [at(0), at(100)], end)
    }

    /// The utility of the module: x - x (900 g + 11 L).
    #[test]
    fn delay_and_loss_take_from_the_utility() {
        let moving = gradient(Mode::Moving);
        let utility = |lost, change| moving.utility(&interval(1e6, lost, change), &PATH);
        assert_eq!(utility(0, 0), 1e6);
        assert!((utility(5, 0) - 1e6 * (1.0 - 0.55)).abs() < 1.0);
        assert!((utility(0, 10) - 1e6 * (1.0 - 90.0)).abs() < 1.0);
        assert!((utility(0, -10) - 1e6 * (1.0 + 90.0)).abs() < 1.0, "a shorter RTT adds");
        assert_eq!(utility(0, 1), 1e6, "two packets take 2 ms");
        assert_eq!(utility(100, 0), 0.0, "nothing was delivered");
        let start = gradient(Mode::Start);
        assert_eq!(start.utility(&interval(1e6, 9, -10), &PATH), 1e6);
        assert!(start.utility(&interval(1e6, 10, 0), &PATH) < 0.0);
    }

    #[test]
    fn steps_grow_along_the_last_change_and_are_bounded() {
        let mut moving = gradient(Mode::Moving);
        moving.last_rate = 0.9e6;
        moving.adapt(1.0);
        assert_eq!(moving.amplifier, 3.0);
        moving.adapt(-1.0);
        moving.adapt(-1.0);
        moving.adapt(-1.0);
        assert_eq!((moving.amplifier, moving.swings), (2.0, 2));
        moving.adapt(1.0);
        assert_eq!((moving.amplifier, moving.swings), (2.0, 1), "first the buffer");
        assert_eq!(moving.bounded(5e5), 1e5);
        assert!((moving.bounded(-5e5) + 1.7e5).abs() < 1e-6);
        assert_eq!(moving.bounded(5e4), 5e4);
        assert_eq!(moving.bounded(5e5), 1e5, "the bound is as at first");
    }

    /// An oddity of the module: after a decision to go down the next step goes up.
    #[test]
    fn the_first_step_after_a_decision_goes_up() {
        let mut probing = gradient(Mode::Probing);
        let (high, low) = (1.05e6, 0.95e6);
        let mut four = [
            interval(high, 20, 0),
            interval(low, 0, 0),
            interval(low, 0, 0),
            interval(high, 20, 0),
        ];
        assert_eq!(probing.learn(&mut four, &PATH), Trial::One(1e6), "sent at the rate of before");
        assert_eq!((probing.rate, probing.mode), (low, Mode::Moving));
        four[0] = Interval { utility: four[0].utility, ..interval(1e6, 0, 0) };
        let Trial::One(rate) = probing.learn(&mut four, &PATH) else { panic!() };
        assert!((rate - low * 1.022).abs() < 1.0, "{rate}");
    }

    #[test]
    fn pairs_that_disagree_are_tried_again() {
        let mut probing = gradient(Mode::Probing);
        let (high, low) = (1.05e6, 0.95e6);
        let mut four =
            [interval(high, 0, 0), interval(low, 0, 0), interval(low, 0, 0), interval(high, 20, 0)];
        assert_eq!(probing.learn(&mut four, &PATH), Trial::Pairs(PROBE));
        assert_eq!(probing.rate, 1e6);
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
