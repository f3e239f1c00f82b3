//! Probing of XSTP: after a loss, data waits until probes have shown its cause.
//!
//! Reconstructed. The abstracts of its authors say that a connection suspends on a loss and spends
//! a cycle of probes to distinguish corruption, hand-over, limited connectivity and congestion. The
//! rules are ours:
//!
//! - A probe is a POLL. The second one leaves when the first is answered, one round trip later.
//! - If one of the answers takes more than a multiple of the minimum RTT, the network is congested,
//!   and the window falls as for any loss.
//! - If a probe has no answer for twice the smoothed RTT, the link is down. Probes go on, one in
//!   that time, until two in a row are answered. The window stays. A hand-over looks the same.
//! - Otherwise packets were corrupted, and the window stays.

use units::{Span, Time};

/// Cause of a loss, as probes show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Packets were corrupted.
    Corruption,
    /// A queue is full.
    Congestion,
    /// The link was down.
    Outage,
}

/// Number of verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// Losses by corruption.
    pub corruption: u32,
    /// Losses by congestion.
    pub congestion: u32,
    /// Outages.
    pub outage: u32,
}

/// A cycle of probes.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    /// Bytes in the network when the loss was found.
    flight: u64,
    /// The first POLL that counts as a probe.
    probe: u64,
    /// Probes in a row that were answered.
    answered: u32,
    longest: Span,
    was_silent: bool,
    timer: Time,
}

/// State of the probing of one sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probing {
    cycle: Option<Cycle>,
    verdicts: Verdicts,
}

/// Probes of a cycle.
const PROBES: u32 = 2;

impl Probing {
    pub(crate) fn verdicts(&self) -> Verdicts {
        self.verdicts
    }

    /// Returns true if data waits.
    pub(crate) fn suspends(&self) -> bool {
        self.cycle.is_some()
    }

    pub(crate) fn deadline(&self) -> Time {
        self.cycle.map_or(Time::NEVER, |cycle| cycle.timer)
    }

    /// The connection is over.
    pub(crate) fn stop(&mut self) {
        self.cycle = None;
    }

    /// A loss was found while `flight` bytes were in the network. POLLs from `probe` on are probes,
    /// the first of which leaves now, and an answer is late after `patience`.
    pub(crate) fn begin(&mut self, now: Time, flight: u64, probe: u64, patience: Span) {
        self.cycle = Some(Cycle {
            flight,
            probe,
            answered: 0,
            longest: Span::ZERO,
            was_silent: false,
            timer: now + patience,
        });
    }

    /// No answer came in time. Returns true if another probe is to be sent.
    pub(crate) fn on_deadline(&mut self, now: Time, patience: Span) -> bool {
        match &mut self.cycle {
            Some(cycle) if cycle.timer <= now => {
                cycle.was_silent = true;
                cycle.answered = 0;
                cycle.timer = now + patience;
                true
            }
            _ => false,
        }
    }

    /// POLL `number` was answered after `round_trip`; `next` is the number of the next one.
    /// Congestion makes a round trip longer than `limit`.
    pub(crate) fn on_answer(
        &mut self,
        now: Time,
        number: u64,
        round_trip: Span,
        next: u64,
        patience: Span,
        limit: Span,
    ) -> Step {
        let Some(cycle) = self.cycle.as_mut().filter(|cycle| number >= cycle.probe) else {
            return Step::Wait;
        };
        // While the link was down the answer has waited for nothing but the link.
        cycle.longest = cycle.longest.max(round_trip);
        cycle.answered += 1;
        if cycle.answered < PROBES {
            cycle.probe = next;
            cycle.timer = now + patience;
            return Step::Probe;
        }
        let cause = if cycle.longest > limit {
            Cause::Congestion
        } else if cycle.was_silent {
            Cause::Outage
        } else {
            Cause::Corruption
        };
        let flight = cycle.flight;
        self.cycle = None;
        let count = match cause {
            Cause::Corruption => &mut self.verdicts.corruption,
            Cause::Congestion => &mut self.verdicts.congestion,
            Cause::Outage => &mut self.verdicts.outage,
        };
        *count += 1;
        Step::Verdict(cause, flight)
    }
}

/// Consequence of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing.
    Wait,
    /// The next probe leaves.
    Probe,
    /// The cause is found. With the bytes that were in the network when the loss was.
    Verdict(Cause, u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Span = Span::from_millis(1000);
    const LIMIT: Span = Span::from_millis(625);

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// Two answers after this many milliseconds.
    fn verdict(probing: &mut Probing, first: u64, second: u64) -> Step {
        let answer = |probing: &mut Probing, number, millis| {
            let round_trip = Span::from_millis(millis);
            probing.on_answer(at(5000), number, round_trip, number + 1, PATIENCE, LIMIT)
        };
        assert_eq!(answer(probing, 6, first), Step::Wait, "sent before the loss was found");
        assert_eq!(answer(probing, 7, first), Step::Probe);
        answer(probing, 8, second)
    }

    #[test]
    fn quick_answers_show_corruption_and_slow_ones_congestion() {
        for (first, second, cause) in [
            (500, 500, Cause::Corruption),
            (700, 500, Cause::Congestion),
            (500, 700, Cause::Congestion),
        ] {
            let mut probing = Probing::default();
            probing.begin(at(0), 9000, 7, PATIENCE);
            assert!(probing.suspends());
            assert_eq!(verdict(&mut probing, first, second), Step::Verdict(cause, 9000));
            assert!(!probing.suspends());
        }
    }

    #[test]
    fn silence_shows_an_outage_and_probes_go_on() {
        let mut probing = Probing::default();
        probing.begin(at(0), 9000, 7, PATIENCE);
        assert!(!probing.on_deadline(at(999), PATIENCE));
        assert!(probing.on_deadline(at(1000), PATIENCE));
        assert!(probing.on_deadline(at(2000), PATIENCE));
        assert_eq!(verdict(&mut probing, 500, 500), Step::Verdict(Cause::Outage, 9000));
        assert_eq!(probing.verdicts(), Verdicts { outage: 1, ..Verdicts::default() });
    }
}
