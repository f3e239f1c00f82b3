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
//! Decisions:
//! - In the module both sides of the comparison at the start have the factor 3/4, so that without
//!   losses they are equal and the start ends with the second interval. Branch `vivace` has it as
//!   described here, and so has this.
//! - The paper's utility has the rate that arrives, and the module's the rate that is sent:
//!   followed is the module.
//! - The first step after a decision is compared with the first interval of the four, whatever its
//!   rate, as in the module.

use crate::entry::{Entry, Listed, Repair, Status};
use crate::parameters::Values;
use crate::parts::monitor_intervals::{
    FIRST_RATE, INTERVALS, Interval, Learner, MonitorIntervals, Path, Trial, agreed,
};
use crate::window::Settings;

const STEP: f64 = 0.01;
const MOST_STEPS: u32 = 5;
/// Slope and place of the sigmoid, and the exponent from which on it is zero.
const SLOPE: f64 = 100.0;
const TOLERATED: f64 = 0.05;
const MOST_EXPONENT: f64 = 10.0;
/// Part of the utility of a byte per second that must be left at the start.
const START: f64 = 0.75;

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
    rate: f64,
    last_rate: f64,
    /// eps in steps of a hundredth.
    steps: u32,
    last: Decision,
}

/// PCC Allegro.
pub type Allegro = MonitorIntervals<Experiments>;

fn utility(interval: &Interval) -> f64 {
    let Some(loss) = interval.loss() else { return f64::NEG_INFINITY };
    let exponent = SLOPE * (loss - TOLERATED);
    let good =
        if exponent < MOST_EXPONENT { interval.rate / (1.0 + libm::exp(exponent)) } else { 0.0 };
    good * (1.0 - loss) - interval.rate * loss
}

impl Experiments {
    fn share(&self) -> f64 {
        STEP * f64::from(self.steps)
    }

    fn widen(&mut self) {
        self.steps = (self.steps + 1).min(MOST_STEPS);
    }

    /// One step further in the direction of the last decision.
    fn advance(&mut self) -> Trial {
        self.last_rate = self.rate;
        let step = self.rate * self.share();
        self.rate += if self.last == Decision::Down { -step } else { step };
        Trial::One(self.rate)
    }

    fn go_back(&mut self) -> Trial {
        self.rate = self.last_rate;
        self.mode = Mode::Deciding;
        Trial::Pairs(self.share())
    }

    fn start(&mut self, first: &mut Interval) -> Trial {
        let before = first.utility;
        first.utility = utility(first);
        // Of a negative utility, that of before is not less negative by the factor.
        let factors = |utility: f64, positive, negative| {
            utility * if utility > 0.0 { positive } else { negative }
        };
        let now = factors(first.utility, 1.0, START) / self.rate;
        if now <= factors(before, START, 1.0) / self.last_rate {
            return self.go_back();
        }
        self.last_rate = self.rate;
        self.rate += (first.delivered as f64).min(self.rate);
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
        let Some(rate) = chosen else { return Trial::Pairs(self.share()) };
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

    fn rate(&self) -> f64 {
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
        Trial::Pairs(self.share())
    }
}

impl Listed for Allegro {
    const LISTED: &'static [Entry] = &[Entry {
        name: "allegro",
        summary: "Rate that experiments show to have the larger utility (PCC)",
        source: "Dong et al., PCC, 2015",
        status: Status::Implementation("PCC-Kernel 2eeadf0, branch master, src/tcp_pcc.c"),
        repair: Repair::SelectiveAcks,
        parameters: &[],
    }];

    fn build(settings: &Settings, _values: &Values) -> Self {
        let learner = Experiments {
            mode: Mode::Start,
            rate: FIRST_RATE,
            last_rate: FIRST_RATE,
            steps: 1,
            last: Decision::Up,
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
        Experiments { mode, rate: 1e6, last_rate: 1e6, steps: 1, last: Decision::Up }
    }

    /// 1000 packets with these losses.
    fn interval(rate: f64, lost: u64) -> Interval {
        let bytes = ((1000 - lost) * 1000, lost * 1000);
        Interval::of(rate, bytes, [Time::ZERO; 2], Span::from_millis(100))
    }

    /// By the formula of the module.
    #[test]
    fn losses_above_five_per_cent_take_the_utility_away() {
        for (lost, expected) in
            [(0, 0.9933), (20, 0.9136), (50, 0.425), (100, -0.094), (160, -0.16)]
        {
            let found = utility(&interval(1e6, lost)) / 1e6;
            assert!((found - expected).abs() < 1e-3, "{lost}: {found}");
        }
    }

    #[test]
    fn the_start_doubles_until_the_utility_of_a_byte_falls() {
        let mut start = experiments(Mode::Start);
        let mut four = [interval(1e6, 0); INTERVALS];
        four[0].utility = f64::NEG_INFINITY;
        assert_eq!(start.learn(&mut four, &PATH), Trial::One(1_999_999.0 + 1.0));
        four[0] = Interval { utility: four[0].utility, ..interval(2e6, 0) };
        assert_eq!(start.learn(&mut four, &PATH), Trial::One(3e6), "by what was delivered");
        four[0] = Interval { utility: four[0].utility, ..interval(3e6, 60) };
        assert_eq!(start.learn(&mut four, &PATH), Trial::Pairs(0.01));
        assert_eq!(start.rate, 2e6);
    }

    const PATH: Path = Path { mss: 1000.0, rtt: 0.05 };

    #[test]
    fn pairs_that_agree_move_the_rate_and_steps_grow() {
        let mut deciding = experiments(Mode::Deciding);
        let (high, low) = (1.01e6, 0.99e6);
        let mut four = [interval(low, 0), interval(high, 0), interval(high, 0), interval(low, 0)];
        // A second decision upwards in a row: eps is 2 %.
        assert_eq!(deciding.learn(&mut four, &PATH), Trial::One(high * 1.02));
        four[0] = Interval { utility: four[0].utility, ..interval(high * 1.02, 0) };
        assert_eq!(deciding.learn(&mut four, &PATH), Trial::One(high * 1.02 * 1.03));
        four[0] = Interval { utility: four[0].utility, ..interval(high * 1.02 * 1.03, 100) };
        assert_eq!(deciding.learn(&mut four, &PATH), Trial::Pairs(0.01));
        assert_eq!(deciding.rate, high * 1.02);
    }

    #[test]
    fn pairs_that_disagree_widen_the_experiment() {
        let mut deciding = experiments(Mode::Deciding);
        let (high, low) = (1.01e6, 0.99e6);
        let four = [interval(low, 0), interval(high, 0), interval(high, 90), interval(low, 0)];
        assert_eq!(deciding.learn(&mut { four }, &PATH), Trial::Pairs(0.01));
        assert_eq!(deciding.learn(&mut { four }, &PATH), Trial::Pairs(0.02));
        for _ in 0..9 {
            deciding.learn(&mut { four }, &PATH);
        }
        assert_eq!(deciding.share(), 0.05);
    }

    /// One packet in 50 is lost, which halves the window of standard TCP all the time.
    #[test]
    fn losses_of_two_per_cent_leave_the_rate() {
        let controller = Allegro::build(&settings(), &Values::defaults(&[]));
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
