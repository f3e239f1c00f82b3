//! The detector of policers in picoquic's BBR, version 1.
//!
//! Source: `picoquic/bbr1.c` of private-octopus/picoquic d199d45b, lines 122-146 and 494-607,
//! restated; it is that of Linux (`bbr_lt_bw_sampling`). From the first loss on, the rates of
//! intervals of 4 to 16 rounds in which a fifth or more of what arrives is lost are compared. Two
//! rates in succession within an eighth or 4000 bytes per second are a policer: their mean is then
//! the bandwidth. It differs from Linux: while the policer's rate is used, the detector goes on,
//! and counts the rounds of `ProbeBW` twice. So the ninth round without such losses ends the use,
//! where Linux ends it after 48.

use units::{Span, Time};

const FEWEST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 16;
/// Rounds of `ProbeBW` for which the rate is used.
const ROUNDS_OF_USE: u32 = 48;
/// Lost bytes for each byte that arrives: about a fifth.
const LOSS_RATIO: f64 = 205.0 / 1024.0;
/// Share of the rate, and bytes per second, by which two intervals differ at most.
const SAME_RATIO: f64 = 1.0 / 8.0;
const SAME_RATE: f64 = 4000.0;
const SHORTEST: Span = Span::from_millis(1);

/// State of a connection at an ACK. Bytes are those since the start of the connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub(super) now: Time,
    /// The ACK begins a round.
    pub(super) began: bool,
    pub(super) delivered: u64,
    pub(super) lost: u64,
    /// The application limits the rate.
    pub(super) limited: bool,
    pub(super) is_probing_bandwidth: bool,
}

/// A change that the sender follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// Two intervals have the same rate, which is used from here on.
    Policed,
    /// The rate was used for long enough.
    Expired,
}

/// The detector.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    /// The rate of the last interval in bytes per second.
    rate: Option<f64>,
    is_used: bool,
    is_sampling: bool,
    rounds: u32,
    began: Time,
    /// At the start of the interval.
    delivered: u64,
    lost: u64,
    /// At the start of the round.
    lost_before_round: u64,
}

impl Policer {
    /// The policer's rate in bytes per second, if one was found.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate.filter(|_| self.is_used)
    }

    pub(super) fn take(&mut self, round: &Round) -> Option<Finding> {
        let has_losses = round.lost > self.lost_before_round;
        if self.is_used && round.is_probing_bandwidth && round.began {
            self.rounds += 1;
            if self.rounds > ROUNDS_OF_USE {
                self.reset(round);
                return Some(Finding::Expired);
            }
        }
        if !self.is_sampling {
            if !has_losses {
                return None;
            }
            self.reset(round);
            self.is_sampling = true;
        }
        if round.limited {
            self.reset(round);
            return None;
        }
        if !round.began {
            return None;
        }
        self.rounds += 1;
        self.lost_before_round = round.lost;
        if self.rounds > MOST_ROUNDS {
            self.reset(round);
        } else if self.rounds >= FEWEST_ROUNDS && has_losses {
            return self.end_interval(round);
        }
        None
    }

    fn reset(&mut self, round: &Round) {
        *self = Self::default();
        self.begin_interval(round);
    }

    fn begin_interval(&mut self, round: &Round) {
        self.rounds = 0;
        self.began = round.now;
        self.delivered = round.delivered;
        self.lost = round.lost;
        self.lost_before_round = round.lost;
    }

    /// Longer intervals follow those with few losses.
    fn end_interval(&mut self, round: &Round) -> Option<Finding> {
        let delivered = (round.delivered - self.delivered) as f64;
        let lost = (round.lost - self.lost) as f64;
        let interval = round.now.since(self.began);
        if delivered == 0.0 || lost < LOSS_RATIO * delivered || interval < SHORTEST {
            return None;
        }
        let rate = delivered / interval.as_secs_f64();
        if let Some(last) = self.rate {
            let difference = (rate - last).abs();
            if difference < SAME_RATIO * last || difference < SAME_RATE {
                self.rate = Some(f64::midpoint(last, rate));
                self.is_used = true;
                self.rounds = 0;
                return Some(Finding::Policed);
            }
        }
        self.rate = Some(rate);
        self.begin_interval(round);
        None
    }
}

#[cfg(test)]
mod tests;
