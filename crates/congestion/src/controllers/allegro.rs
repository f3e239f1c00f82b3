//! PCC Allegro: the rate that experiments show to have the larger utility.
//!
//! Source: M. Dong, Q. Li, D. Zarchy, P. B. Godfrey, M. Schapira, "PCC: Re-architecting Congestion
//! Control for Consistent High Performance", NSDI 2015; the rules and constants are those of the
//! module for Linux (PCCproject/PCC-Kernel, branch `master`, `src/tcp_pcc.c`), restated.
//!
//! - Intervals: [`monitor_intervals`](crate::parts::monitor_intervals), at least 40 packets, 35
//!   where one interval is sent at a time, of which five at each end do not count.
//! - Utility with the rate x and the lost share L: x (1 - L) / (1 + e^(100 (L - 0.05))) - x L. Its
//!   first term is zero from L = 15 % on. So losses up to 5 % cost little.
//! - Start: the rate grows by what was delivered, at most to twice, while the utility of a byte per
//!   second is more than three quarters of that before. Then it is the one before.
//! - Deciding: two pairs at a share eps above and below. If both prefer the same rate, that is the
//!   rate, and the next ones are further in its direction by eps, while the utility rises. eps is
//!   1 %, grows by 1 % with each step, to 5 %, and with pairs that disagree.
//!
//! The rules of the user-space program differ, and are a variant ([`uspace`]).
//!
//! Decisions:
//! - In the module both sides of the comparison at the start have the factor 3/4, so that without
//!   losses they are equal and the start ends with the second interval. Branch `vivace` has it as
//!   described here, and so has this by default. `start = "module"` is the module's comparison.
//! - The paper's utility has the rate that arrives, and the module's the rate that is sent:
//!   followed is the module.
//! - The first step after a decision is compared with the first interval of the four, whatever its
//!   rate, as in the module.

mod uspace;

use crate::entry::{Entry, Listed, Repair, Status};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::monitor_intervals::{
    FIRST_RATE, INTERVALS, Interval, Learner, MOST_RATE, MonitorIntervals, Path, Trial, agreed,
    share,
};
use crate::parts::pcc_program::VARIANT;
use crate::window::Settings;

pub use uspace::UspaceAllegro;

/// Most hundredths of the rate in eps.
const MOST_STEPS: i64 = 5;
const HUNDRED: i64 = 100;
/// Exponents, and gains of the start, are in thousandths.
const WHOLE: i64 = 1000;
/// Slope of the sigmoid.
const SLOPE: i64 = 100;
/// Losses are in thousandths of a hundredth, so that their exponents are in thousandths.
const ALL: i64 = WHOLE * SLOPE;
/// Place of the sigmoid, and the exponent from which on it is zero.
const TOLERATED: i64 = 5 * WHOLE;
const MOST_EXPONENT: i64 = 10 * WHOLE;
/// Part of the utility of a byte per second that must be left at the start.
const LEFT: i64 = 750;

const START: Parameter = Parameter {
    name: "start",
    default: "doubling",
    allowed: Allowed::OneOf(&["doubling", "module"]),
    meaning: "The start goes on while the utility per rate is more than three quarters of that \
              before, or while it is more than that before, as the module for Linux compiles: \
              without losses this ends it with the second interval",
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Start,
    Deciding,
    Adjusting,
}

/// The direction of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Up,
    Down,
    Stay,
}

/// State of the experiments.
#[derive(Clone, Debug)]
pub struct Experiments {
    mode: Mode,
    /// Bytes per second.
    rate: i64,
    last_rate: i64,
    /// eps in hundredths.
    steps: i64,
    last: Decision,
    /// The start must gain in utility per rate.
    starts_as_module: bool,
}

/// PCC Allegro.
pub type Allegro = MonitorIntervals<Experiments>;

/// e to the power of `exponent` by its series, each term cut; all in thousandths.
fn exponential(exponent: i64) -> i64 {
    let (mut term, mut sum, mut number) = (WHOLE, WHOLE, 0);
    while term != 0 {
        number += 1;
        term = term * exponent / number / WHOLE;
        sum += term;
    }
    sum
}

fn utility(interval: &Interval) -> i64 {
    let Some(loss) = interval.loss(ALL) else { return i64::MIN };
    let exponent = loss - TOLERATED;
    let good = if exponent < MOST_EXPONENT {
        share(interval.rate, WHOLE, exponential(exponent) + WHOLE)
    } else {
        0
    };
    share(good, ALL - loss, ALL) - share(interval.rate, loss, ALL)
}

/// `utility` for a byte per second of `rate`, times `part`; the least while there is none.
fn per_rate(utility: i64, part: i64, rate: i64) -> i64 {
    if utility == i64::MIN { utility } else { share(utility, part, rate) }
}

impl Experiments {
    fn widen(&mut self) {
        self.steps = (self.steps + 1).min(MOST_STEPS);
    }

    /// One step further in the direction of the last decision.
    fn advance(&mut self) -> Trial {
        self.last_rate = self.rate;
        let step = self.rate * self.steps / HUNDRED;
        let step = if self.last == Decision::Down { -step } else { step };
        self.rate = (self.rate + step).min(MOST_RATE);
        Trial::One(self.rate)
    }

    fn go_back(&mut self) -> Trial {
        self.rate = self.last_rate;
        self.mode = Mode::Deciding;
        Trial::Pairs(self.steps)
    }

    fn start(&mut self, first: &mut Interval) -> Trial {
        let before = first.utility;
        first.utility = utility(first);
        let [now, before] = if self.starts_as_module {
            let part = |utility: i64| if utility < 0 { WHOLE } else { LEFT };
            [
                per_rate(first.utility, part(first.utility), self.rate),
                per_rate(before, part(before), self.last_rate),
            ]
        } else {
            // Of a negative utility, that of before is not less negative by the factor.
            let [now, then] = [first.utility, before].map(|utility| utility > 0);
            [
                per_rate(first.utility, if now { WHOLE } else { LEFT }, self.rate),
                per_rate(before, if then { LEFT } else { WHOLE }, self.last_rate),
            ]
        };
        if now <= before {
            return self.go_back();
        }
        self.last_rate = self.rate;
        let delivered = i64::try_from(first.delivered).unwrap_or(i64::MAX);
        self.rate = (self.rate + delivered.min(self.rate)).min(MOST_RATE);
        Trial::One(self.rate)
    }

    fn decide(&mut self, intervals: &mut [Interval; INTERVALS]) -> Trial {
        for interval in intervals.iter_mut() {
            interval.utility = utility(interval);
        }
        let chosen = agreed(intervals).map(|[first, _]| intervals[first].rate);
        let decision = match chosen {
            Some(rate) if rate > self.rate => Decision::Up,
            Some(_) => Decision::Down,
            None => Decision::Stay,
        };
        if decision == self.last {
            self.widen();
        } else {
            self.steps = 1;
        }
        self.last = decision;
        let Some(rate) = chosen else { return Trial::Pairs(self.steps) };
        self.mode = Mode::Adjusting;
        self.rate = rate;
        self.advance()
    }

    fn adjust(&mut self, first: &mut Interval) -> Trial {
        let before = first.utility;
        first.utility = utility(first);
        if before < first.utility {
            self.widen();
            return self.advance();
        }
        self.steps = 1;
        self.go_back()
    }
}

impl Learner for Experiments {
    const PACKETS: u64 = 40;
    const IGNORED: u64 = 5;

    fn packets(&self) -> u64 {
        if self.has_pairs() { Self::PACKETS } else { Self::PACKETS - Self::IGNORED }
    }

    fn rate(&self) -> i64 {
        self.rate
    }

    fn has_pairs(&self) -> bool {
        self.mode == Mode::Deciding
    }

    #[expect(private_interfaces, reason = "the trait's")]
    fn learn(&mut self, intervals: &mut [Interval; INTERVALS], _path: &Path) -> Trial {
        match self.mode {
            Mode::Start => self.start(&mut intervals[0]),
            Mode::Deciding => self.decide(intervals),
            Mode::Adjusting => self.adjust(&mut intervals[0]),
        }
    }

    #[expect(private_interfaces, reason = "the trait's")]
    fn begin_again(&mut self) -> Trial {
        self.mode = Mode::Deciding;
        Trial::Pairs(self.steps)
    }
}

impl Listed for Allegro {
    const LISTED: &'static [Entry] = &[Entry {
        name: "allegro",
        summary: "Rate that experiments show to have the larger utility (PCC)",
        source: "Dong et al., PCC, 2015",
        status: Status::Implementation("PCC-Kernel 2eeadf0, branch master, src/tcp_pcc.c"),
        repair: Repair::SelectiveAcks,
        parameters: &[START, VARIANT],
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        let learner = Experiments {
            mode: Mode::Start,
            rate: FIRST_RATE,
            last_rate: FIRST_RATE,
            steps: 1,
            last: Decision::Up,
            starts_as_module: values.word(START.name) == "module",
        };
        Self::new(settings, learner, Trial::One(FIRST_RATE))
    }
}

#[cfg(test)]
mod tests {
    use units::{Span, Time};

    use super::*;
    use crate::parts::test_path::{TestPath, settings};

    fn experiments(mode: Mode) -> Experiments {
        Experiments {
            mode,
            rate: 1_000_000,
            last_rate: 1_000_000,
            steps: 1,
            last: Decision::Up,
            starts_as_module: false,
        }
    }

    /// 1000 packets with these losses.
    fn interval(rate: i64, lost: u64) -> Interval {
        let bytes = ((1000 - lost) * 1000, lost * 1000);
        Interval::of(rate, bytes, [Time::ZERO; 2], Span::from_millis(100))
    }

    /// By the formula of the module.
    #[test]
    fn losses_above_five_per_cent_take_the_utility_away() {
        for (lost, expected) in
            [(0, 0.9933), (20, 0.9136), (50, 0.425), (100, -0.094), (160, -0.16)]
        {
            let found = utility(&interval(1_000_000, lost)) as f64 / 1e6;
            assert!((found - expected).abs() < 1e-3, "{lost}: {found}");
        }
    }

    #[test]
    fn the_start_doubles_until_the_utility_of_a_byte_falls() {
        let mut start = experiments(Mode::Start);
        let mut four = [interval(1_000_000, 0); INTERVALS];
        four[0].utility = i64::MIN;
        assert_eq!(start.learn(&mut four, &PATH), Trial::One(2_000_000));
        four[0] = Interval { utility: four[0].utility, ..interval(2_000_000, 0) };
        assert_eq!(start.learn(&mut four, &PATH), Trial::One(3_000_000), "by what was delivered");
        four[0] = Interval { utility: four[0].utility, ..interval(3_000_000, 60) };
        assert_eq!(start.learn(&mut four, &PATH), Trial::Pairs(1));
        assert_eq!(start.rate, 2_000_000);
    }

    /// Both utilities per rate are equal without losses.
    #[test]
    fn the_start_of_the_module_ends_with_the_second_interval() {
        let mut start = Experiments { starts_as_module: true, ..experiments(Mode::Start) };
        let mut four = [interval(1_000_000, 0); INTERVALS];
        four[0].utility = i64::MIN;
        assert_eq!(start.learn(&mut four, &PATH), Trial::One(2_000_000));
        four[0] = Interval { utility: four[0].utility, ..interval(2_000_000, 0) };
        assert_eq!(start.learn(&mut four, &PATH), Trial::Pairs(1));
        assert_eq!(start.rate, 1_000_000);
    }

    const PATH: Path = Path { mss: 1000, rtt: 50_000 };

    #[test]
    fn pairs_that_agree_move_the_rate_and_steps_grow() {
        let mut deciding = experiments(Mode::Deciding);
        let (high, low) = (1_010_000, 990_000);
        let mut four = [interval(low, 0), interval(high, 0), interval(high, 0), interval(low, 0)];
        // A second decision upwards in a row: eps is 2 %.
        assert_eq!(deciding.learn(&mut four, &PATH), Trial::One(1_030_200));
        four[0] = Interval { utility: four[0].utility, ..interval(1_030_200, 0) };
        assert_eq!(deciding.learn(&mut four, &PATH), Trial::One(1_061_106));
        four[0] = Interval { utility: four[0].utility, ..interval(1_061_106, 100) };
        assert_eq!(deciding.learn(&mut four, &PATH), Trial::Pairs(1));
        assert_eq!(deciding.rate, 1_030_200);
    }

    #[test]
    fn pairs_that_disagree_widen_the_experiment() {
        let mut deciding = experiments(Mode::Deciding);
        let (high, low) = (1_010_000, 990_000);
        let four = [interval(low, 0), interval(high, 0), interval(high, 90), interval(low, 0)];
        assert_eq!(deciding.learn(&mut { four }, &PATH), Trial::Pairs(1));
        assert_eq!(deciding.learn(&mut { four }, &PATH), Trial::Pairs(2));
        for _ in 0..9 {
            deciding.learn(&mut { four }, &PATH);
        }
        assert_eq!(deciding.steps, 5);
    }

    /// One packet in 50 is lost, which halves the window of standard TCP all the time.
    #[test]
    fn losses_of_two_per_cent_leave_the_rate() {
        let controller = Allegro::build(&settings(), &Values::defaults(&[START]));
        let mut path = TestPath::new(controller, 1e6, Span::from_millis(50));
        path.follows_rtt = true;
        path.buffer = 50_000.0;
        path.loses = |number| number % 50 == 0;
        path.run(Span::from_secs(20), |_| ());
        let delivered = path.delivered;
        path.run(Span::from_secs(20), |_| ());
        let share = (path.delivered - delivered) as f64 / 20e6;
        assert!(share > 0.8, "{share}");
    }
}
