use super::*;

/// Rounds of 100 ms.
struct Path {
    policer: Policer,
    now: Time,
    delivered: u64,
    lost: u64,
    is_probing_bandwidth: bool,
}

impl Path {
    fn new() -> Self {
        Self {
            policer: Policer::default(),
            now: Time::ZERO,
            delivered: 0,
            lost: 0,
            is_probing_bandwidth: true,
        }
    }

    fn round(&mut self, delivered: u64, lost: u64, limited: bool) -> Option<Finding> {
        self.now += Span::from_millis(100);
        self.delivered += delivered;
        self.lost += lost;
        self.policer.take(&Round {
            now: self.now,
            began: true,
            delivered: self.delivered,
            lost: self.lost,
            limited,
            is_probing_bandwidth: self.is_probing_bandwidth,
        })
    }

    /// Rounds until there is a finding, of 50 at most.
    fn rounds(&mut self, delivered: u64, lost: u64) -> Option<u32> {
        (1..=50).find(|_| self.round(delivered, lost, false).is_some())
    }
}

/// The first round begins the interval, and three more are the shortest one. The second interval
/// has four.
#[test]
fn two_intervals_of_the_same_rate_are_a_policer() {
    let mut path = Path::new();
    assert_eq!(path.rounds(100_000, 25_000), Some(8));
    assert_eq!(path.policer.rate().map(f64::round), Some(1_000_000.0));
    let mut other = Path::new();
    assert_eq!(other.rounds(100_000, 20_000), None, "less than a fifth of the first interval");
}

#[test]
fn different_rates_are_none() {
    let mut path = Path::new();
    for rate in [100_000, 200_000, 100_000, 200_000] {
        (0..4).for_each(|_| assert_eq!(path.round(rate, rate / 3, false), None, "{rate}"));
    }
    assert_eq!(path.policer.rate(), None);
}

#[test]
fn an_application_limit_begins_anew() {
    let mut path = Path::new();
    (0..7).for_each(|_| assert_eq!(path.round(100_000, 25_000, false), None));
    assert_eq!(path.round(100_000, 25_000, true), None);
    assert_eq!(path.rounds(100_000, 25_000), Some(8));
}

#[test]
fn the_rate_is_used_until_the_losses_end() {
    let mut path = Path::new();
    path.rounds(100_000, 25_000);
    (0..8).for_each(|_| assert_eq!(path.round(100_000, 0, false), None));
    assert!(path.policer.rate().is_some());
    path.round(100_000, 0, false);
    assert_eq!(path.policer.rate(), None);
}
