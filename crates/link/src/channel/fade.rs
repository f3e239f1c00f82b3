//! Attenuation over time: samples with linear interpolation.

use units::Time;

/// Attenuation in dB against clear sky, as samples with rising times. Between two samples it is on
/// the line through both; before the first and after the last it is theirs.
#[derive(Clone, Debug, PartialEq)]
pub struct Fade {
    samples: Vec<(Time, f64)>,
}

/// A stretch of a fade on which the attenuation is constant or one straight line: the number of
/// samples that lie at or before it.
pub(crate) type Piece = usize;

impl Fade {
    /// The same attenuation at all times.
    pub fn constant(attenuation: f64) -> Self {
        Self { samples: vec![(Time::ZERO, attenuation)] }
    }

    /// A fade through `samples`; `None` if there are none or their times do not rise.
    pub fn new(samples: Vec<(Time, f64)>) -> Option<Self> {
        let rising = samples.windows(2).all(|pair| pair[0].0 < pair[1].0);
        (rising && !samples.is_empty()).then_some(Self { samples })
    }

    /// The samples; at least one.
    pub fn samples(&self) -> &[(Time, f64)] {
        &self.samples
    }

    /// The attenuation at any instant, in dB. It searches the piece.
    pub fn at_any(&self, now: Time) -> f64 {
        self.at(self.samples.partition_point(|(at, _)| *at <= now), now)
    }

    /// The largest attenuation in dB, and the time at which it is reached first.
    pub fn deepest(&self) -> (Time, f64) {
        let deeper = |a: (Time, f64), b: (Time, f64)| if b.1 > a.1 { b } else { a };
        self.samples.iter().copied().fold(self.samples[0], deeper)
    }

    /// The number of pieces.
    pub(crate) fn pieces(&self) -> usize {
        self.samples.len() + 1
    }

    /// The piece of `now`, which is not before that of an earlier instant, `piece`.
    #[inline]
    pub(crate) fn advance(&self, mut piece: Piece, now: Time) -> Piece {
        while self.samples.get(piece).is_some_and(|(at, _)| *at <= now) {
            piece += 1;
        }
        piece
    }

    /// When a piece begins, and when the next one does.
    pub(crate) fn span(&self, piece: Piece) -> (Time, Time) {
        let start = piece.checked_sub(1).map_or(Time::ZERO, |before| self.samples[before].0);
        (start, self.samples.get(piece).map_or(Time::NEVER, |(at, _)| *at))
    }

    /// The attenuation on both ends of a piece.
    pub(crate) fn ends(&self, piece: Piece) -> (f64, f64) {
        let last = self.samples.len() - 1;
        (self.samples[piece.saturating_sub(1)].1, self.samples[piece.min(last)].1)
    }

    /// The attenuation at `now`, which lies in `piece`.
    #[inline]
    pub(crate) fn at(&self, piece: Piece, now: Time) -> f64 {
        let (from, to) = self.ends(piece);
        // The pieces without an end on one side are constant.
        if from == to {
            return from;
        }
        let (start, end) = self.span(piece);
        let elapsed = now.since(start).as_nanos() as f64;
        from + (to - from) * (elapsed / end.since(start).as_nanos() as f64)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use units::Span;

    use super::*;

    /// Fades of a few samples, at times that often coincide with round ones.
    pub fn fades() -> impl Strategy<Value = Fade> {
        let step = prop_oneof![Just(1000u64), 1u64..5000];
        let sample = (step, 0.0..15.0f64);
        (0u64..2000, prop::collection::vec(sample, 1..12)).prop_map(|(mut at, samples)| {
            let place = |(step, attenuation)| {
                at += step;
                (Time::from_nanos(at), attenuation)
            };
            Fade::new(samples.into_iter().map(place).collect()).unwrap()
        })
    }

    /// The definition, without pieces.
    fn naive(fade: &Fade, now: Time) -> f64 {
        let seconds = |at: Time| at.as_nanos() as f64;
        let samples = fade.samples();
        if now < samples[0].0 {
            return samples[0].1;
        }
        for pair in samples.windows(2) {
            let [(t0, a0), (t1, a1)] = [pair[0], pair[1]];
            if (t0..t1).contains(&now) {
                let share = (seconds(now) - seconds(t0)) / (seconds(t1) - seconds(t0));
                return a0 * (1.0 - share) + a1 * share;
            }
        }
        samples[samples.len() - 1].1
    }

    proptest! {
        #[test]
        fn the_attenuation_is_on_the_line_between_its_neighbours(
            fade in fades(), steps in prop::collection::vec(0u64..4000, 1..40),
        ) {
            let (mut now, mut piece) = (Time::ZERO, 0);
            for step in steps {
                now += Span::from_nanos(step);
                piece = fade.advance(piece, now);
                let (at, expected) = (fade.at(piece, now), naive(&fade, now));
                prop_assert!((at - expected).abs() < 1e-9, "{at} instead of {expected} at {now}");
            }
        }
    }

    #[test]
    fn a_fade_needs_samples_with_rising_times() {
        let at = |nanos| (Time::from_nanos(nanos), 1.0);
        assert_eq!(Fade::new(vec![]), None);
        assert_eq!(Fade::new(vec![at(1), at(1)]), None);
        assert_eq!(Fade::new(vec![at(2), at(1)]), None);
        assert!(Fade::new(vec![at(1), at(2)]).is_some());
    }
}
