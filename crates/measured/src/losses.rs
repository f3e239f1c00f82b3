//! Losses of a measured connection, from its windows.

use units::{Span, Time};

use crate::Sample;

/// A reduction of the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    /// The first sample whose window is below that of the sample before.
    pub begin: usize,
    /// The last such sample of the same recovery.
    pub end: usize,
    /// The sample at which the sender has undone the reduction.
    pub undone: Option<usize>,
    /// The end of the recovery, up to which the window does not grow.
    pub recovered: Time,
}

/// All losses, in the order of time.
pub(crate) fn find(samples: &[Sample], mss: u64) -> Vec<Loss> {
    let mut losses: Vec<Loss> = Vec::new();
    // An RTT after the last loss.
    let mut until = Time::ZERO;
    for at in 1..samples.len() {
        let [before, now] = [samples[at - 1], samples[at]];
        if now.cwnd < before.cwnd {
            match losses.last_mut().filter(|loss| before.at < until && loss.undone.is_none()) {
                Some(loss) => loss.end = at,
                None => {
                    let recovered = recovered(samples, at);
                    losses.push(Loss { begin: at, end: at, undone: None, recovered });
                    until = now.at + now.rtt;
                }
            }
        } else if let Some(loss) = losses.last_mut().filter(|loss| loss.undone.is_none())
            && is_undone(samples[loss.begin - 1].cwnd, before, now, mss)
        {
            loss.undone = Some(at);
        }
    }
    losses
}

/// The middle of the time between a sample and the one before.
fn middle(samples: &[Sample], at: usize) -> Time {
    let [before, now] = [samples[at - 1].at, samples[at].at];
    before + Span::from_nanos(now.since(before).as_nanos() / 2)
}

/// The end of the recovery that begins before sample `begin`: a round trip after the last segment
/// that it retransmits.
fn recovered(samples: &[Sample], begin: usize) -> Time {
    let mut until = middle(samples, begin) + samples[begin].rtt;
    for (at, sample) in samples.iter().enumerate().skip(begin + 1) {
        let now = middle(samples, at);
        if now >= until {
            break;
        }
        if sample.retransmits > 0 {
            until = now + sample.rtt;
        }
    }
    until
}

/// True if a window is back at the one that the loss found, `peak`, by more than the ACKs of the
/// time between two samples grant.
fn is_undone(peak: u64, before: Sample, now: Sample, mss: u64) -> bool {
    let round_trips = now.at.since(before.at).as_secs_f64() / now.rtt.as_secs_f64();
    let granted = before.cwnd as f64 * round_trips.max(1.0);
    now.cwnd >= peak && (now.cwnd - before.cwnd) as f64 > granted + mss as f64
}
