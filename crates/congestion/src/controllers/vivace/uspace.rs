//! PCC Vivace of its authors' program of the user space.
//!
//! Source: `src/pcc/pcc_vivace_sender.cpp` of PCCproject/PCC-Uspace 30c2cfe with the utility
//! function `Vivace`, the default of its client (the primary priority of PCC Proteus), restated.
//! Intervals, statistics and the utility: [`pcc_program`](crate::parts::pcc_program).
//!
//! - Start: the rate doubles with each interval whose utility is larger than that before, and is
//!   halved when it is not.
//! - Probing: two of three pairs must prefer the higher rate, or all the lower one. The rate moves
//!   there, and further by the gradient of the utility in Mbit/s for each Mbit/s. A megabit has
//!   2^20 bits.
//! - Moving: in the same direction while the utility follows it, by the gradient times
//!   ((n + 1) / 2)^1.2 in the n-th round, with the quotient cut. Then a step is taken back, and
//!   probing begins.
//! - A step is at most 5 % of the rate, and 5 % more for each step that was longer; at least
//!   500 kbit/s. So is the rate. Where probing ends at that rate, the start begins again.
//!
//! Followed oddities: the gradient of the pairs that agree is divided by the number of all pairs;
//! the utility that is compared when the start begins again is that of the last decision.

use crate::entry::{Entry, Listed, Repair, Status};
use crate::parameters::{Parameter, Values};
use crate::parts::pcc_program::{
    Direction, Mode, PAIRS, PROBE, Program, Rate, Rules, Search, USPACE, Utility, VARIANT, Verdict,
    integer, preferred, single,
};
use crate::window::Settings;

/// Bits in a megabit, as the program has it.
const MEGABIT: f32 = 1_048_576.0;
/// Exponent by which steps in one direction grow.
const GROWTH: f32 = 1.2;
/// Largest step as a part of the rate, and what is added to it.
const BOUND: f32 = 0.05;
/// Least step, and least rate.
const LEAST: Rate = Rate(500_000);

/// State of the rules.
#[derive(Clone, Debug)]
pub struct Steps {
    last: Verdict,
    /// Steps by which the bound has grown.
    allowance: u32,
}

/// PCC Vivace of PCC-Uspace.
pub type UspaceVivace = Program<Steps>;

fn better(pair: &[Verdict]) -> Verdict {
    if pair[0].utility > pair[1].utility { pair[0] } else { pair[1] }
}

impl Steps {
    const START: Self = Self { last: Verdict { rate: Rate(0), utility: 0.0 }, allowance: 0 };

    /// Differences of rates and utilities by which the gradient is found.
    fn differences(&self, search: &Search, verdicts: &[Verdict]) -> (Rate, f32) {
        if search.mode != Mode::Probing {
            let (now, last) = (verdicts[0], self.last);
            let utility = now.utility.max(last.utility) - now.utility.min(last.utility);
            return (now.rate.apart(last.rate), utility);
        }
        let mut sum = 0.0f32;
        for pair in verdicts.chunks_exact(2).filter(|pair| preferred(pair) == search.direction) {
            let [first, second] = [pair[0].utility, pair[1].utility];
            sum = sum + first.max(second) - first.min(second);
        }
        (verdicts[0].rate.apart(verdicts[1].rate), sum / PAIRS as f32)
    }

    /// The length of the next step.
    fn step(&mut self, search: &Search, verdicts: &[Verdict]) -> Rate {
        let (rate, utility) = self.differences(search, verdicts);
        let gradient = if rate == Rate(0) { 0.0 } else { MEGABIT * utility / rate.0 as f32 };
        let mut step = Rate(integer(f64::from(gradient * MEGABIT)));
        if search.mode == Mode::Moving {
            let rounds = search.rounds.div_ceil(2) as f64;
            step = step.times(single(libm::pow(rounds, f64::from(GROWTH))));
        } else {
            self.allowance = 0;
        }
        let most = search.rate.times(BOUND + BOUND * self.allowance as f32);
        if step > most {
            step = most;
            self.allowance += 1;
        } else {
            self.allowance = self.allowance.saturating_sub(1);
        }
        step.max(LEAST)
    }

    fn floor(&mut self, search: &mut Search) {
        if search.rate < LEAST {
            search.rate = LEAST;
            self.allowance = 0;
        }
    }

    fn advance(&mut self, search: &mut Search, verdicts: &[Verdict]) {
        if search.mode == Mode::Probing {
            search.rate = search.rate.times(search.direction.factor(PROBE));
            search.rounds = 1;
        } else {
            search.rounds += 1;
        }
        let step = self.step(search, verdicts);
        search.rate = match search.direction {
            Direction::Up => Rate(search.rate.0 + step.0),
            Direction::Down => Rate((search.rate.0 - step.0).max(0)),
        };
        search.mode = Mode::Moving;
        if search.rate < LEAST {
            search.mode = Mode::Probing;
            search.rounds = 1;
        }
        self.floor(search);
    }

    fn decide(&mut self, search: &mut Search, verdicts: &[Verdict], probe_is_last: bool) {
        let ups = verdicts.chunks_exact(2).filter(|pair| preferred(pair) == Direction::Up).count();
        if verdicts.len() == 2 * PAIRS && (ups > PAIRS / 2 || ups == 0) {
            search.direction = if ups > 0 { Direction::Up } else { Direction::Down };
            let agreed = verdicts.chunks_exact(2).rev();
            let mut agreed = agreed.filter(|pair| preferred(pair) == search.direction);
            self.last = agreed.next().map_or(self.last, better);
            self.advance(search, verdicts);
        } else {
            search.probe_again(probe_is_last);
        }
        if (search.rounds > 1 || search.mode == Mode::Moving) && search.rate <= LEAST {
            search.rate = LEAST;
            self.allowance = 0;
            search.rounds = 1;
            search.mode = Mode::Start;
        }
    }

    fn travel(&mut self, search: &mut Search, verdicts: &[Verdict]) {
        let (now, last) = (verdicts[0], self.last);
        let follows = if search.direction == Direction::Up {
            (now.utility > last.utility && now.rate > last.rate)
                || (now.utility < last.utility && now.rate < last.rate)
        } else {
            (now.utility > last.utility && now.rate < last.rate)
                || (now.utility < last.utility && now.rate > last.rate)
        };
        if follows {
            self.advance(search, verdicts);
            self.last = now;
            return;
        }
        search.rounds = 1;
        let step = self.step(search, verdicts);
        search.rate = match search.direction {
            Direction::Up => Rate((search.rate.0 - step.0).max(0)),
            Direction::Down => Rate(search.rate.0 + step.0),
        };
        self.floor(search);
        search.mode = Mode::Probing;
    }
}

impl Rules for Steps {
    #[expect(private_interfaces, reason = "the trait's")]
    const UTILITY: Utility = Utility::Vivace;

    #[expect(private_interfaces, reason = "the trait's")]
    fn between(&self, search: &Search) -> Rate {
        search.rate
    }

    #[expect(private_interfaces, reason = "the trait's")]
    fn learn(&mut self, search: &mut Search, verdicts: &[Verdict], probe_is_last: bool) {
        match search.mode {
            Mode::Start if verdicts[0].utility > self.last.utility => {
                search.rate = search.rate.times(2.0);
                self.last = verdicts[0];
                search.rounds += 1;
            }
            Mode::Start => search.end_start(),
            Mode::Probing => self.decide(search, verdicts, probe_is_last),
            Mode::Moving => self.travel(search, verdicts),
        }
    }
}

impl Listed for UspaceVivace {
    const VARIANT: &'static str = USPACE;
    const LISTED: &'static [Entry] = &[Entry {
        name: "vivace",
        summary: "Vivace of its authors' program: three pairs, samples of each packet",
        source: "Dong et al., PCC Vivace, 2018",
        status: Status::Implementation("PCC-Uspace 30c2cfe, src/pcc/pcc_vivace_sender.cpp"),
        repair: Repair::SelectiveAcks,
        parameters: &[Parameter { default: USPACE, ..VARIANT }],
    }];

    fn build(settings: &Settings, _values: &Values) -> Self {
        Self::new(settings, Steps::START)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(mode: Mode, direction: Direction) -> Search {
        Search { mode, rate: Rate(10_000_000), direction, rounds: 1 }
    }

    fn verdict(rate: i64, utility: f32) -> Verdict {
        Verdict { rate: Rate(rate), utility }
    }

    /// Three pairs around 10 Mbit/s, each with the utilities of the higher and the lower rate.
    fn pairs(utilities: [[f32; 2]; 3]) -> Vec<Verdict> {
        let pair = |[high, low]: [f32; 2]| [verdict(10_500_000, high), verdict(9_500_000, low)];
        utilities.into_iter().flat_map(pair).collect()
    }

    #[test]
    fn two_pairs_are_enough_to_go_up_and_three_are_needed_to_go_down() {
        let (mut steps, mut up) = (Steps::START, search(Mode::Probing, Direction::Down));
        steps.learn(&mut up, &pairs([[2.0, 1.0], [1.0, 2.0], [3.0, 1.0]]), false);
        assert_eq!((up.mode, up.direction), (Mode::Moving, Direction::Up));
        // 10.5 Mbit/s and a step of 5 % of it: the gradient would be 1.1 Mbit/s.
        assert_eq!(up.rate, Rate(11_025_000));
        assert_eq!((steps.last.rate, steps.last.utility), (Rate(10_500_000), 3.0));
        let mut down = search(Mode::Probing, Direction::Up);
        steps.learn(&mut down, &pairs([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]), true);
        assert_eq!((down.mode, down.rounds), (Mode::Probing, 2));
        assert_eq!(down.rate, Rate(9_523_810), "the last probe is taken back");
        let mut down = search(Mode::Probing, Direction::Up);
        steps.learn(&mut down, &pairs([[1.0, 2.0]; 3]), false);
        assert_eq!((down.mode, down.direction), (Mode::Moving, Direction::Down));
        assert_eq!(down.rate, Rate(9_000_000), "5 % down, and the least step");
    }

    /// The gradient is in megabits of 2^20 bits: 0.2 for 1 Mbit/s are 0.22 million bits.
    #[test]
    fn steps_follow_the_gradient_and_their_bound_grows() {
        let last = verdict(9_000_000, 1.0);
        let (mut steps, moving) =
            (Steps { last, allowance: 0 }, search(Mode::Moving, Direction::Up));
        assert_eq!(steps.step(&moving, &[verdict(10_000_000, 1.2)]), LEAST);
        let found = steps.step(&moving, &[verdict(19_000_000, 7.0)]);
        assert_eq!((found, steps.allowance), (Rate(500_000), 1), "5 % of the rate");
        let found = steps.step(&moving, &[verdict(19_000_000, 7.0)]);
        assert!((found.0 - 659_706).abs() < 2, "{found:?}: below 10 % of it");
        assert_eq!(steps.allowance, 0);
        let later = Search { rounds: 6, rate: Rate(100_000_000), ..moving };
        let found = steps.step(&later, &[verdict(19_000_000, 7.0)]);
        assert!((found.0 - 2_465_452).abs() < 4, "{found:?}: 3^1.2 times as long");
    }

    #[test]
    fn a_utility_that_falls_takes_a_step_back() {
        let last = verdict(9_000_000, 2.0);
        let (mut steps, mut moving) =
            (Steps { last, allowance: 3 }, search(Mode::Moving, Direction::Up));
        steps.learn(&mut moving, &[verdict(10_000_000, 1.9)], true);
        assert_eq!((moving.rate, moving.mode), (Rate(9_500_000), Mode::Probing));
    }

    #[test]
    fn at_the_least_rate_the_start_begins_again() {
        let (mut steps, mut search) = (Steps::START, search(Mode::Probing, Direction::Up));
        search.rate = LEAST;
        steps.learn(&mut search, &pairs([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]), false);
        assert_eq!((search.rate, search.mode), (LEAST, Mode::Start));
    }
}
