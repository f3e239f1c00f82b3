//! The smallest or largest of recent samples, such as times, over a length that may change.

use std::collections::VecDeque;

use units::{Span, Time};

/// Which of the recent samples counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extreme {
    Smallest,
    Largest,
}

/// The extreme of the samples of the last time. What is too old goes when a sample comes, and the
/// youngest always stays.
#[derive(Clone, Debug)]
pub(crate) struct Recent<S = Span, T = Time> {
    extreme: Extreme,
    /// The extreme comes first; each later one is that of the samples behind it.
    kept: VecDeque<(T, S)>,
}

impl<S: Copy + PartialOrd, T: Copy> Recent<S, T> {
    pub(crate) const fn of(extreme: Extreme) -> Self {
        Self { extreme, kept: VecDeque::new() }
    }

    /// Takes in a sample, and forgets those of times that are too old. Returns the extreme.
    pub(crate) fn take_of(&mut self, now: T, sample: S, is_old: impl Fn(T) -> bool) -> S {
        let is_passed = |last: S| match self.extreme {
            Extreme::Smallest => last >= sample,
            Extreme::Largest => last <= sample,
        };
        while self.kept.back().is_some_and(|(_, last)| is_passed(*last)) {
            self.kept.pop_back();
        }
        self.kept.push_back((now, sample));
        while self.kept.len() > 1 && self.kept.front().is_some_and(|(at, _)| is_old(*at)) {
            self.kept.pop_front();
        }
        self.kept.front().map_or(sample, |(_, extreme)| *extreme)
    }
}

impl<S: Copy + PartialOrd> Recent<S> {
    /// Takes in a sample, and forgets what is older than `length`. Returns the extreme.
    pub(crate) fn take(&mut self, now: Time, sample: S, length: Span) -> S {
        self.take_of(now, sample, |at| now.since(at) > length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_old_is_forgotten() {
        let ms = Span::from_millis;
        let at = |milliseconds| Time::ZERO + ms(milliseconds);
        let (mut least, mut most) = (Recent::of(Extreme::Smallest), Recent::of(Extreme::Largest));
        for (now, sample, smallest, largest) in [
            (0, 50, 50, 50),
            (10, 70, 50, 70),
            (20, 60, 50, 70),
            (31, 65, 60, 70),
            (45, 61, 60, 65),
        ] {
            assert_eq!(least.take(at(now), ms(sample), ms(30)), ms(smallest), "{now}");
            assert_eq!(most.take(at(now), ms(sample), ms(30)), ms(largest), "{now}");
        }
        // A shorter length forgets more.
        assert_eq!(least.take(at(50), ms(80), ms(1)), ms(80));
    }
}
