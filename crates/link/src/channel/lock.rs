//! Loss of lock of a demodulator.
//!
//! Attenuation is known before the run, with linear interpolation between samples. So all outages
//! are computed in advance, with ends exact to the nanosecond, and each packet only checks for an
//! outage.
//!
//! Decisions:
//! - Outages of a demodulator are computed before the run: attenuation is straight between samples:
//!   each end is found by bisection to the nanosecond, and a packet only looks whether it falls
//!   into one.

use units::{Span, Time};

use super::fade::Fade;

/// Conditions under which a demodulator loses and regains lock on the carrier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lock {
    /// Eb/N0 in dB below which the lock is lost.
    pub threshold: f64,
    /// By how many dB Eb/N0 must exceed the threshold before the demodulator can find the signal.
    pub hysteresis: f64,
    /// How long Eb/N0 must stay there until the lock is back.
    pub reacquisition: Span,
}

/// Times without lock: from the first instant up to, not including, the second.
pub type Outage = (Time, Time);

#[derive(Clone, Copy)]
enum State {
    Locked,
    /// Too weak a signal, since the lock was lost at this time.
    Lost(Time),
    /// Lost at the first time; a signal that is strong enough since the second.
    Acquiring(Time, Time),
}

impl Lock {
    /// All outages under `fade`, where `eb_n0` is what an attenuation leaves. The run starts with
    /// lock, unless the signal is too weak for it.
    pub(super) fn outages(&self, fade: &Fade, eb_n0: impl Fn(f64) -> f64) -> Vec<Outage> {
        let mut outages = Vec::new();
        let mut state = State::Locked;
        for piece in 0..fade.pieces() {
            let (mut now, next) = fade.span(piece);
            let signal = |nanos| eb_n0(fade.at(piece, Time::from_nanos(nanos)));
            let too_weak = |nanos| signal(nanos) < self.threshold;
            let can_acquire = |nanos| signal(nanos) >= self.threshold + self.hysteresis;
            while now < next {
                let change = match state {
                    State::Locked => {
                        first_instant(now, next, too_weak).map(|at| (at, State::Lost(at)))
                    }
                    State::Lost(since) => first_instant(now, next, can_acquire)
                        .map(|at| (at, State::Acquiring(since, at))),
                    State::Acquiring(since, from) => {
                        let done = from + self.reacquisition;
                        match first_instant(now, next.min(done), |nanos| !can_acquire(nanos)) {
                            Some(at) => Some((at, State::Lost(since))),
                            None if done < next => {
                                outages.push((since, done));
                                Some((done, State::Locked))
                            }
                            None => None,
                        }
                    }
                };
                let Some(change) = change else { break };
                (now, state) = change;
            }
        }
        if let State::Lost(since) | State::Acquiring(since, _) = state {
            outages.push((since, Time::NEVER));
        }
        outages
    }
}

/// The first instant from `from` to before `to` at which `holds`, which changes at most once there.
pub(crate) fn first_instant(from: Time, to: Time, holds: impl Fn(u64) -> bool) -> Option<Time> {
    let (mut not, end) = (from.as_nanos(), to.as_nanos());
    if not >= end {
        return None;
    }
    if holds(not) {
        return Some(from);
    }
    let mut yes = end - 1;
    if !holds(yes) {
        return None;
    }
    while yes - not > 1 {
        let middle = not + (yes - not) / 2;
        if holds(middle) { yes = middle } else { not = middle }
    }
    Some(Time::from_nanos(yes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fade::tests::fades;
    use super::*;

    /// Decibels that are left of ten.
    fn left(attenuation: f64) -> f64 {
        10.0 - attenuation
    }

    /// Lock in each nanosecond until `end`, nanosecond by nanosecond.
    fn naive(lock: &Lock, fade: &Fade, end: u64) -> Vec<bool> {
        let (mut locked, mut piece, mut good) = (true, 0, 0);
        let step = |nanos| {
            let now = Time::from_nanos(nanos);
            piece = fade.advance(piece, now);
            let signal = left(fade.at(piece, now));
            // `good` nanoseconds of a signal that is strong enough lie behind.
            if !locked && good >= lock.reacquisition.as_nanos() && good > 0 {
                locked = true;
            }
            good = if signal >= lock.threshold + lock.hysteresis { good + 1 } else { 0 };
            if !locked && good > 0 && lock.reacquisition == Span::ZERO {
                locked = true;
            }
            if locked && signal < lock.threshold {
                (locked, good) = (false, 0);
            }
            locked
        };
        (0..end).map(step).collect()
    }

    proptest! {
        #[test]
        fn outages_are_those_of_a_demodulator_watched_at_each_nanosecond(
            fade in fades(), threshold in 0.0..9.0f64, hysteresis in prop_oneof![Just(0.0), 0.0..3.0f64],
            reacquisition in prop_oneof![Just(0u64), 1u64..3000],
        ) {
            let reacquisition = Span::from_nanos(reacquisition);
            let lock = Lock { threshold, hysteresis, reacquisition };
            let outages = lock.outages(&fade, left);
            let lost = |nanos| {
                let now = Time::from_nanos(nanos);
                outages.iter().any(|(from, to)| (*from..*to).contains(&now))
            };
            let end = fade.samples().last().unwrap().0.as_nanos() + 4000;
            for (nanos, locked) in naive(&lock, &fade, end).into_iter().enumerate() {
                prop_assert_eq!(locked, !lost(nanos as u64), "at {} ns of {:?}", nanos, outages);
            }
            prop_assert!(outages.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{:?}", outages);
        }
    }

    #[test]
    fn a_dip_during_acquisition_starts_it_again() {
        let at = |secs, attenuation| (Time::ZERO + Span::from_secs(secs), attenuation);
        // Lost at 6 s; strong enough from 13 to 15 s and, for good, from 19 s.
        let samples = [(0, 0.0), (10, 10.0), (14, 2.0), (16, 6.0), (20, 3.0), (21, 0.0)];
        let fade = Fade::new(samples.map(|(secs, db)| at(secs, db)).to_vec()).unwrap();
        let lock = Lock { threshold: 4.0, hysteresis: 2.0, reacquisition: Span::from_secs(5) };
        let outages = lock.outages(&fade, left);
        let from = Time::from_nanos(6_000_000_001);
        let acquired = 16.0 + 4.0 * (6.0 - 4.0) / 3.0 + 5.0;
        assert_eq!((outages.len(), outages[0].0), (1, from));
        assert!((outages[0].1.as_secs_f64() - acquired).abs() < 2e-9, "{outages:?}");
    }

    #[test]
    fn a_signal_just_at_the_threshold_keeps_the_lock() {
        let lock = Lock { threshold: 4.0, hysteresis: 2.0, reacquisition: Span::ZERO };
        assert_eq!(lock.outages(&Fade::constant(6.0), left), []);
    }

    #[test]
    fn a_signal_that_stays_weak_never_locks_again() {
        let samples = vec![(Time::ZERO, 0.0), (Time::from_nanos(1000), 10.0)];
        let lock = Lock { threshold: 5.0, hysteresis: 0.0, reacquisition: Span::ZERO };
        let outages = lock.outages(&Fade::new(samples).unwrap(), left);
        assert_eq!(outages, [(Time::from_nanos(501), Time::NEVER)]);
    }
}
