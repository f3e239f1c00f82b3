//! Delays of the messages of an application, by their numbers.

use units::{Span, Time};

/// Messages that are sent one after the other, and the delay of each that has arrived.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delays {
    /// When each was sent and when it arrived; [`Time::NEVER`] if it has not.
    messages: Vec<(Time, Time)>,
}

/// Percentiles of delays in milliseconds; not a number if no message has arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentiles {
    /// Smallest.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

impl Delays {
    /// The next message is sent. Returns its number.
    pub fn send(&mut self, at: Time) -> u64 {
        self.messages.push((at, Time::NEVER));
        self.messages.len() as u64 - 1
    }

    /// A message has arrived. The first arrival counts. Returns false for a number that was not
    /// sent.
    pub fn arrive(&mut self, number: u64, at: Time) -> bool {
        let place = usize::try_from(number).ok().and_then(|place| self.messages.get_mut(place));
        let Some((_, arrived)) = place else { return false };
        if *arrived == Time::NEVER {
            *arrived = at;
        }
        true
    }

    /// Those that are sent from `from` until `until`.
    pub fn between(&self, from: Time, until: Time) -> Self {
        let sent = self.messages.iter().filter(|(at, _)| (from..until).contains(at));
        Self { messages: sent.copied().collect() }
    }

    /// Delays of messages that have arrived, in milliseconds.
    pub fn milliseconds(&self) -> impl Iterator<Item = f64> {
        self.spans().map(Span::as_millis_f64)
    }

    /// Messages sent.
    pub fn sent(&self) -> u64 {
        self.messages.len() as u64
    }

    /// Messages that have arrived.
    pub fn arrived(&self) -> u64 {
        self.spans().count() as u64
    }

    /// Times of sending with delays, in the order of the numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Time, Option<Span>)> {
        let delay = |sent, arrived: Time| (arrived != Time::NEVER).then(|| arrived.since(sent));
        self.messages.iter().map(move |&(sent, arrived)| (sent, delay(sent, arrived)))
    }

    /// The smallest delay.
    pub fn min(&self) -> Option<Span> {
        self.spans().min()
    }

    /// Share of the messages sent until `until` whose delay is above `bound` or that have not
    /// arrived. Messages that may still arrive in time at `end` are left out.
    pub fn share_above(&self, bound: Span, end: Time) -> f64 {
        let due = |(sent, delay): &(Time, Option<Span>)| delay.is_some() || *sent + bound <= end;
        let (mut all, mut above) = (0_u64, 0_u64);
        for (_, delay) in self.iter().filter(due) {
            all += 1;
            above += u64::from(delay.is_none_or(|delay| delay > bound));
        }
        if all == 0 { f64::NAN } else { above as f64 / all as f64 }
    }

    /// Returns true if no message is missing that could still arrive within `bound` after `now`. If
    /// none arrives any more, [`share_above`](Self::share_above) is the same from then on for all
    /// bounds up to this one.
    pub fn is_settled(&self, bound: Span, now: Time) -> bool {
        self.iter().all(|(sent, delay)| delay.is_some() || sent + bound <= now)
    }

    /// Percentiles of the delays of messages that have arrived, by the nearest rank.
    pub fn percentiles(&self) -> Percentiles {
        let mut sorted: Vec<f64> = self.milliseconds().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100).max(1);
            sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
        };
        Percentiles { min: at(0), p50: at(50), p95: at(95), p99: at(99), max: at(100) }
    }

    fn spans(&self) -> impl Iterator<Item = Span> {
        self.iter().filter_map(|(_, delay)| delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    #[test]
    fn percentiles_are_values_of_the_nearest_rank_and_the_lost_have_none() {
        let mut delays = Delays::default();
        for number in 0..101 {
            assert_eq!(delays.send(ms(number)), number);
            if number < 100 {
                assert!(delays.arrive(number, ms(2 * number + 1)));
            }
        }
        assert!(!delays.arrive(101, ms(0)));
        let expected = Percentiles { min: 1.0, p50: 50.0, p95: 95.0, p99: 99.0, max: 100.0 };
        assert_eq!(delays.percentiles(), expected);
        assert_eq!((delays.sent(), delays.arrived()), (101, 100));
        assert!(Delays::default().percentiles().p50.is_nan());
    }

    #[test]
    fn delays_are_settled_once_no_missing_message_can_come_in_time() {
        let mut delays = Delays::default();
        assert!(delays.is_settled(Span::MAX, ms(0)));
        delays.send(ms(10));
        delays.send(ms(20));
        delays.arrive(1, ms(30));
        let bound = Span::from_millis(150);
        assert!(!delays.is_settled(bound, ms(159)));
        assert!(delays.is_settled(bound, ms(160)));
        delays.arrive(0, ms(159));
        assert!(delays.is_settled(bound, ms(159)));
    }

    #[test]
    fn the_share_above_a_bound_has_the_lost_and_not_those_still_in_time() {
        let mut delays = Delays::default();
        for (sent, arrives) in [(0, Some(50)), (10, Some(200)), (20, None), (900, None)] {
            let number = delays.send(ms(sent));
            if let Some(at) = arrives {
                delays.arrive(number, ms(at));
            }
        }
        let share = delays.share_above(Span::from_millis(150), ms(1000));
        assert!((share - 2.0 / 3.0).abs() < 1e-12, "{share}");
        assert!(Delays::default().share_above(Span::ZERO, ms(0)).is_nan());
    }
}
