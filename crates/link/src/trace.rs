//! Traces: a direction that replays the rate, the delay, the losses and the outages of a
//! measurement.
//!
//! A trace is a [`Timeline`] of its own. The events of a scenario come after it at the same
//! instant, so that they can change what a trace has set.
//!
//! A run may start at a random time of its traces: replications of one trace are the same path at
//! different times. A trace that repeats is turned. The state at the start is what the trace had
//! set before then.
//!
//! Decisions:
//! - The start depends on the seed and on the length of the trace only. The directions and links of
//!   a run whose traces have the same length start at the same time of them, so that what was
//!   measured together stays together.
//! - Losses are independent of each other, with the probability that the trace has at that time. A
//!   trace of single lost packets would belong to the packets of its measurement, which other
//!   packets do not follow.

use units::{Rate, Span, Time};

use crate::dynamics::{Change, Timeline, up_to};
use crate::mechanism::{Mechanism, Provenance};
use crate::stream::Seed;

/// Traces among the mechanisms on the path.
pub(crate) const ABOUT: Mechanism = Mechanism {
    name: "trace",
    key: "link.trace",
    kind: "trace",
    source: "delivery traces of Mahimahi (Netravali et al., USENIX ATC 2015); delay files of LeoReplayer \
             (SpaceNetLab/LeoCC); files with columns are our own",
    status: Provenance::FromImplementation,
    hurts: "The trace is that of one path at one time, under the load of its measurement. A path that \
            reacts to the flow, such as a scheduler of slots or a cell shared with others, is not in it.",
};

/// The time of a trace at which a run with `seed` starts: uniform from zero to below `within`. It
/// does not depend on controllers, so that runs of one seed are paired.
pub fn trace_start(seed: &Seed, within: Span) -> Span {
    up_to(seed, 1, within)
}

/// A trace of a direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The changes.
    pub timeline: Timeline,
    /// Its length; that of a round, if it repeats.
    pub lasts: Span,
    /// A run starts at a random time of it before this one; zero starts at its beginning.
    pub phase: Span,
    /// Its rates are those that a flow has achieved, and not the capacity.
    pub achieved: bool,
    /// How its files were read, for people: what was ignored, left out or filled in.
    pub notes: Vec<String>,
    /// Gaps of its files in which rows are likely to be missing, each as a sentence.
    pub gaps: Vec<String>,
    /// Share of its length in outages, from 0 to 1, if its files have outages and no rates. Zero if
    /// they have rates: the mean rate has the outages in it.
    pub silent_share: f64,
}

/// Changes that means look at, or twice the length of the trace: some milliseconds.
const MOST_CHANGES: usize = 100_000;

/// A trace on average over its length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Means {
    /// Rate in bit/s; outages count as zero.
    pub rate: f64,
    /// One-way delay in seconds.
    pub delay: f64,
    /// Probability that a packet is lost.
    pub loss: f64,
}

impl Trace {
    /// The changes of a run with `seed`.
    pub fn of_run(&self, seed: &Seed) -> Timeline {
        self.timeline.started(trace_start(seed, self.phase))
    }

    /// Its mean rate, outages included; `None` if it sets no rate. It is at least 1 bit/s.
    pub fn mean_rate(&self) -> Option<Rate> {
        let has_rate = self.timeline.changes().iter().any(|change| change.rate.is_some());
        has_rate.then(|| {
            // Its first row is at the start, so that the rate of the direction counts for nothing.
            let means = self.means(Rate::from_bits_per_second(1), Span::ZERO);
            #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "bounded")]
            Rate::from_bits_per_second(means.rate.round().max(1.0) as u64)
        })
    }

    /// Share of its length in outages, from 0 to 1.
    pub fn silence(&self) -> f64 {
        const RATE: u64 = 1_000_000_000;
        let means = self.means(Rate::from_bits_per_second(RATE), Span::ZERO);
        (1.0 - means.rate / RATE as f64).clamp(0.0, 1.0)
    }

    /// Its mean delay; `None` if it sets no delay.
    pub fn mean_delay(&self) -> Option<Span> {
        let has_delay = self.timeline.changes().iter().any(|change| change.delay.is_some());
        has_delay.then(|| {
            let means = self.means(Rate::from_bits_per_second(1), Span::ZERO);
            Span::from_secs_f64(means.delay)
        })
    }

    /// Means in a direction of this rate and delay. They are over the whole length, unless a part
    /// of the trace repeats so often in it that [`MOST_CHANGES`] come first: then they are over the
    /// time until there.
    pub(crate) fn means(&self, rate: Rate, delay: Span) -> Means {
        let end = Time::ZERO + self.lasts;
        let bits = |rate: Rate| rate.bits_per_second() as f64;
        let (mut rate, mut delay, mut loss) = (bits(rate), delay.as_secs_f64(), 0.0);
        let (mut last, mut silent_until) = (Time::ZERO, Time::ZERO);
        let mut sums = Means { rate: 0.0, delay: 0.0, loss: 0.0 };
        let nothing = (end, nothing(self.lasts));
        let most = MOST_CHANGES.max(2 * self.timeline.changes().len());
        for (at, change) in self.timeline.until(end).chain([nothing]).take(most) {
            let seconds = at.since(last).as_secs_f64();
            sums.rate += rate * at.since(silent_until.max(last)).as_secs_f64();
            sums.delay += delay * seconds;
            sums.loss += loss * seconds;
            last = at;
            rate = change.rate.map_or(rate, bits);
            delay = change.delay.map_or(delay, Span::as_secs_f64);
            loss = change.loss.unwrap_or(loss);
            silent_until = silent_until.max(at + change.outage.unwrap_or(Span::ZERO));
        }
        let seconds = last.since(Time::ZERO).as_secs_f64();
        match seconds > 0.0 {
            true => Means {
                rate: sums.rate / seconds,
                delay: sums.delay / seconds,
                loss: sums.loss / seconds,
            },
            false => Means { rate, delay, loss },
        }
    }
}

impl Timeline {
    /// The timeline of a run that starts `start` after the beginning of this one, in its state at
    /// that time. Changes that repeat are taken as if they had always repeated.
    #[must_use]
    pub fn started(&self, start: Span) -> Self {
        if start == Span::ZERO || self.is_empty() {
            return self.clone();
        }
        let changes = self.changes();
        // How long ago each change has happened last, for those that have.
        let ages = || changes.iter().filter_map(|change| Some((age(change, start)?, change)));
        let mut state = Change {
            at: Span::ZERO,
            every: None,
            rate: latest(ages(), |change| change.rate),
            delay: latest(ages(), |change| change.delay),
            outage: None,
            loss: latest(ages(), |change| change.loss),
        };
        let left = ages().filter_map(|(age, one)| Some(one.outage?.saturating_sub(age)));
        state.outage = left.max().filter(|left| *left > Span::ZERO);
        let is_any = Change { at: start, every: None, ..state } != nothing(start);
        let coming = changes.iter().filter_map(|change| {
            let at = match change.every {
                Some(every) => time_to(change, every, start),
                None if change.at >= start => change.at.saturating_sub(start),
                None => return None,
            };
            Some(Change { at, ..*change })
        });
        is_any.then_some(state).into_iter().chain(coming).collect()
    }
}

/// A change that changes nothing.
fn nothing(at: Span) -> Change {
    Change { at, every: None, rate: None, delay: None, outage: None, loss: None }
}

/// Time from `start` to the next occurrence of a change that repeats after `every`.
fn time_to(change: &Change, every: Span, start: Span) -> Span {
    let period = every.as_nanos().max(1);
    let [at, start] = [change.at, start].map(|time| time.as_nanos() % period);
    Span::from_nanos((at + period - start) % period)
}

/// Time from the last occurrence of a change to `start`.
fn age(change: &Change, start: Span) -> Option<Span> {
    match change.every {
        Some(every) => {
            let left = time_to(change, every, start);
            Some(if left == Span::ZERO { left } else { every.saturating_sub(left) })
        }
        None => (change.at <= start).then(|| start.saturating_sub(change.at)),
    }
}

/// Value of the youngest change; of several at one instant, the last one in the list.
fn latest<'a, T>(
    ages: impl Iterator<Item = (Span, &'a Change)>,
    value: impl Fn(&Change) -> Option<T>,
) -> Option<T> {
    let set = ages.filter_map(|(age, change)| Some((age, value(change)?)));
    set.reduce(|best, one| if one.0 <= best.0 { one } else { best }).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::{Rate, Time};

    use super::*;

    fn seconds(seconds: u64) -> Span {
        Span::from_secs(seconds)
    }

    /// Rate in bit/s and delay in seconds.
    fn change(at: u64, every: Option<u64>, rate: Option<u64>, delay: Option<u64>) -> Change {
        let rate = rate.map(Rate::from_bits_per_second);
        Change {
            every: every.map(seconds),
            rate,
            delay: delay.map(seconds),
            ..nothing(seconds(at))
        }
    }

    #[test]
    fn means_are_over_time_and_an_outage_has_no_rate() {
        let every = Some(10);
        let outage = Change { outage: Some(seconds(2)), ..change(8, every, None, None) };
        let loss = Change { loss: Some(0.5), ..change(9, every, None, None) };
        let trace =
            [change(0, every, Some(10), None), change(5, every, Some(20), Some(3)), outage, loss];
        let trace =
            Trace { timeline: trace.into_iter().collect(), lasts: seconds(10), ..Trace::default() };
        let means = trace.means(Rate::from_bits_per_second(1), seconds(1));
        // 10 for 5 s and 20 for 3 s; 1 s for 5 s and 3 s for 5 s; a half for 1 s.
        assert_eq!(means, Means { rate: 11.0, delay: 2.0, loss: 0.05 });
    }

    /// Deliveries that repeat each second next to delays that repeat each year.
    #[test]
    fn means_of_parts_with_very_different_periods_come_soon() {
        let year = 31_536_000;
        let trace = [
            change(0, Some(year), None, Some(3)),
            Change { every: Some(Span::from_millis(1)), ..change(0, None, Some(20), None) },
        ];
        let timeline = trace.into_iter().collect();
        let trace = Trace { timeline, lasts: seconds(year), ..Trace::default() };
        let means = trace.means(Rate::from_bits_per_second(1), seconds(1));
        assert!((means.rate - 20.0).abs() < 1e-9 && (means.delay - 3.0).abs() < 1e-9, "{means:?}");
    }

    #[test]
    fn a_run_in_the_middle_of_a_trace_has_the_state_of_that_time() {
        let outage = Change { outage: Some(seconds(4)), ..nothing(seconds(5)) };
        let loss = Change { loss: Some(0.1), ..nothing(seconds(1)) };
        let trace =
            [change(0, None, Some(7), Some(1)), loss, outage, change(9, None, Some(8), None)];
        let trace = Timeline::new(trace.to_vec());
        let state = Change {
            outage: Some(seconds(3)),
            loss: Some(0.1),
            ..change(0, None, Some(7), Some(1))
        };
        assert_eq!(trace.started(seconds(6)).changes(), [state, change(3, None, Some(8), None)]);
        assert_eq!(trace.started(Span::ZERO), trace);
    }

    #[test]
    fn a_trace_that_repeats_is_turned() {
        let every = Some(10);
        let outage = Change { outage: Some(seconds(3)), ..change(7, every, None, None) };
        let trace = [change(0, every, Some(7), None), change(4, every, Some(8), Some(2)), outage];
        let started = Timeline::new(trace.to_vec()).started(seconds(12));
        let state = change(0, None, Some(7), Some(2));
        let outage = Change { at: seconds(5), ..outage };
        let expected =
            [state, change(2, every, Some(8), Some(2)), outage, change(8, every, Some(7), None)];
        assert_eq!(started.changes(), expected);
    }

    /// Rate, delay and loss as they have been set, and whether there is an outage.
    type State = (Option<Rate>, Option<Span>, Option<f64>, bool);

    /// The state of a timeline at each second before `end`.
    fn states(timeline: &Timeline, end: u64) -> Vec<State> {
        let mut state = (None, None, None, false);
        let mut silent_until = Time::ZERO;
        let mut changes = timeline.until(Time::ZERO + seconds(end)).peekable();
        let at_second = |second| {
            let now = Time::ZERO + seconds(second);
            while let Some((at, change)) = changes.next_if(|(at, _)| *at <= now) {
                state.0 = change.rate.or(state.0);
                state.1 = change.delay.or(state.1);
                state.2 = change.loss.or(state.2);
                silent_until = silent_until.max(at + change.outage.unwrap_or(Span::ZERO));
            }
            state.3 = now < silent_until;
            state
        };
        (0..end).map(at_second).collect()
    }

    fn traces() -> impl Strategy<Value = Timeline> {
        let row = (
            prop::option::of((1u64..9).prop_map(Rate::from_bits_per_second)),
            prop::option::of((1u64..9).prop_map(seconds)),
            prop::option::of((1u64..4).prop_map(seconds)),
            prop::option::of(0.0..1.0),
        );
        let rows = prop::collection::vec((0u64..12, row), 1..8);
        (rows, any::<bool>()).prop_map(|(rows, repeats)| {
            let row = |(at, (rate, delay, outage, loss))| Change {
                at: seconds(at),
                every: repeats.then_some(seconds(12)),
                rate,
                delay,
                outage,
                loss,
            };
            rows.into_iter().map(row).collect()
        })
    }

    proptest! {
        /// A run that starts late in a trace sees what a run from the beginning sees later.
        #[test]
        fn a_late_start_leaves_out_the_first_part(trace in traces(), start in 12u64..30) {
            let whole = states(&trace, 90);
            let late = states(&trace.started(seconds(start)), 60);
            prop_assert_eq!(&whole[start as usize..start as usize + 60], &late[..]);
        }
    }

    #[test]
    fn starts_are_uniform_and_the_same_for_traces_of_the_same_length() {
        let most = seconds(10);
        let mut tenths = [0u32; 10];
        for seed in 0..4000 {
            let start = trace_start(&Seed::new(seed), most);
            assert!(start < most);
            tenths[(start.as_nanos() / 1_000_000_000) as usize] += 1;
        }
        // Five standard deviations of a count around 400.
        assert!(tenths.iter().all(|count| count.abs_diff(400) < 95), "{tenths:?}");
        assert_eq!(trace_start(&Seed::new(7), most), trace_start(&Seed::new(7), most));
        assert_ne!(
            trace_start(&Seed::new(7), most),
            crate::event_delay(&Seed::new(7), most),
            "events have their own delay"
        );
    }
}
