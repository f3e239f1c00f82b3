//! PCC Allegro of its authors' program of the user space.
//!
//! Source: `PccSender` of `src/pcc/pcc_sender.cpp` of PCCproject/PCC-Uspace 30c2cfe with the
//! utility function `Allegro`, restated. The program of this revision has these rules as the base
//! of its Vivace and starts only Vivace. Intervals, statistics and the utility:
//! [`pcc_program`](crate::parts::pcc_program).
//!
//! - Start: the rate doubles with each interval whose utility is larger than that before, and is
//!   halved when it is not. In between, half the rate is sent.
//! - Probing: all three pairs must prefer the same rate. The rate moves there, and 2 % further.
//! - Moving: 2 % further with each interval, 2 % more each time and at most 10 %, while the utility
//!   rises. Then the last step is taken back, and probing begins.
//!
//! Oddity: the factor of the utility for the RTT is 1/2 while the RTT stays as it is, and 1 where
//! it falls to less than a half.

use crate::entry::{Entry, Listed, Repair, Status};
use crate::parameters::{Parameter, Values};
use crate::parts::pcc_program::{
    Direction, Mode, PAIRS, PROBE, Program, Rate, Rules, Search, USPACE, Utility, VARIANT, Verdict,
    preferred, single,
};
use crate::window::Settings;

/// Step of a move, and the largest one.
const STEP: f32 = 0.02;
const MOST_STEP: f32 = 0.10;

/// State of the rules.
#[derive(Clone, Debug)]
pub struct Moves {
    utility: f32,
}

/// PCC Allegro of PCC-Uspace.
pub type UspaceAllegro = Program<Moves>;

fn step(rounds: usize) -> f32 {
    (rounds as f32 * STEP).min(MOST_STEP)
}

impl Moves {
    fn decide(&mut self, search: &mut Search, verdicts: &[Verdict], probe_is_last: bool) {
        let mut pairs = verdicts.chunks_exact(2).map(preferred);
        let first = pairs.next();
        let is_complete = verdicts.len() >= 2 * PAIRS;
        let Some(direction) = first.filter(|first| is_complete && pairs.all(|p| p == *first))
        else {
            search.probe_again(probe_is_last);
            return;
        };
        let last = &verdicts[verdicts.len() - 2..];
        self.utility = last[0].utility.max(last[1].utility);
        search.direction = direction;
        search.rate = search.rate.times(direction.factor(PROBE)).times(direction.factor(STEP));
        search.mode = Mode::Moving;
        search.rounds = 1;
    }
}

impl Rules for Moves {
    #[expect(private_interfaces, reason = "the trait's")]
    const UTILITY: Utility = Utility::Allegro;

    #[expect(private_interfaces, reason = "the trait's")]
    fn between(&self, search: &Search) -> Rate {
        match (search.mode, search.direction) {
            (Mode::Start, _) => search.rate.times(0.5),
            (Mode::Probing, _) => search.rate.times(1.0 - PROBE),
            (Mode::Moving, Direction::Down) => search.rate,
            (Mode::Moving, Direction::Up) => {
                let factor = 1.0 / f64::from(1.0 + step(search.rounds));
                search.rate.times(single(factor))
            }
        }
    }

    #[expect(private_interfaces, reason = "the trait's")]
    fn learn(&mut self, search: &mut Search, verdicts: &[Verdict], probe_is_last: bool) {
        let rises = verdicts[0].utility > self.utility;
        match search.mode {
            Mode::Start if rises => {
                search.rate = search.rate.times(2.0);
                self.utility = verdicts[0].utility;
                search.rounds += 1;
            }
            Mode::Start => search.end_start(),
            Mode::Probing => self.decide(search, verdicts, probe_is_last),
            Mode::Moving if rises => {
                search.rounds += 1;
                search.rate = search.rate.times(search.direction.factor(step(search.rounds)));
                self.utility = verdicts[0].utility;
            }
            Mode::Moving => {
                search.go_back(step(search.rounds));
                search.mode = Mode::Probing;
                search.rounds = 1;
            }
        }
    }
}

impl Listed for UspaceAllegro {
    const VARIANT: &'static str = USPACE;
    const LISTED: &'static [Entry] = &[Entry {
        name: "allegro",
        summary: "Allegro of its authors' program: three pairs, samples of each packet",
        source: "Dong et al., PCC, 2015",
        status: Status::Implementation("PCC-Uspace 30c2cfe, src/pcc/pcc_sender.cpp"),
        repair: Repair::SelectiveAcks,
        parameters: &[Parameter { default: USPACE, ..VARIANT }],
    }];

    fn build(settings: &Settings, _values: &Values) -> Self {
        Self::new(settings, Moves { utility: 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(mode: Mode) -> Search {
        Search { mode, rate: Rate(10_000_000), direction: Direction::Up, rounds: 1 }
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
    fn the_start_doubles_while_the_utility_rises_and_then_halves() {
        let (mut moves, mut search) = (Moves { utility: 0.0 }, search(Mode::Start));
        moves.learn(&mut search, &[verdict(10_000_000, 5.0)], true);
        assert_eq!((search.rate, search.mode), (Rate(20_000_000), Mode::Start));
        assert_eq!(moves.between(&search), Rate(10_000_000), "half of it is sent in between");
        moves.learn(&mut search, &[verdict(20_000_000, 5.0)], true);
        assert_eq!((search.rate, search.mode), (Rate(10_000_000), Mode::Probing));
    }

    #[test]
    fn all_three_pairs_must_agree() {
        let (mut moves, mut search) = (Moves { utility: 0.0 }, search(Mode::Probing));
        moves.learn(&mut search, &pairs([[2.0, 1.0], [2.0, 1.0], [1.0, 2.0]]), false);
        assert_eq!((search.rate, search.mode), (Rate(10_000_000), Mode::Probing));
        moves.learn(&mut search, &pairs([[1.0, 2.0], [1.0, 2.0], [1.0, 3.0]]), false);
        assert_eq!((search.direction, search.mode), (Direction::Down, Mode::Moving));
        assert_eq!(search.rate, Rate(9_310_000), "5 % down, and 2 % further");
        assert_eq!(moves.utility, 3.0);
    }

    #[test]
    fn steps_grow_to_a_tenth_and_the_last_is_taken_back() {
        let (mut moves, mut search) = (Moves { utility: 0.0 }, search(Mode::Moving));
        for (number, expected) in
            [10_400_000, 11_024_000, 11_905_920, 13_096_512].iter().enumerate()
        {
            moves.learn(&mut search, &[verdict(0, number as f32 + 1.0)], true);
            assert!((search.rate.0 - expected).abs() < 10, "{search:?}");
        }
        moves.learn(&mut search, &[verdict(0, 1.0)], true);
        assert_eq!(search.mode, Mode::Probing);
        assert!((search.rate.0 - 11_905_920).abs() < 10, "{search:?}");
    }
}
