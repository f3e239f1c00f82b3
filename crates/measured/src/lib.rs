//! Congestion controllers driven with the losses and round-trip times of a measured connection.
//!
//! A measurement has the congestion window and the smoothed RTT of a sender at regular times, as
//! iperf3 writes them on Linux. The capacity of the path is not needed: the measured window shows
//! when the sender reduced it. A controller gets a loss at each of these times and the ACKs between
//! them, and its window is compared with the measured one.
//!
//! Rules, which are reconstructed from the samples:
//! - A fall of the window between two samples is a loss, and the window of the first sample is the
//!   one that the loss found. Further falls within an RTT belong to the same loss, because the
//!   window falls step by step during a recovery (RFC 6937). A fall to one segment is a
//!   retransmission timeout.
//! - After a loss the controller goes on from the measured window, so that an error does not last.
//!   Its own memory stays: W_max of CUBIC is the one that it has kept from the loss.
//! - The window does not grow during a recovery, which ends an RTT after its last retransmission
//!   (RFC 6675). A retransmission is in the middle of the time between two samples.
//! - A window that returns to the one before the loss, by more than the ACKs of that time grant, is
//!   a reduction that the sender has undone (RFC 3522, RFC 5682).
//! - A segment is acknowledged at intervals of RTT / cwnd, with the RTT of the sample at the end
//!   and the window of the controller. Each ACK acknowledges one full segment, and the window
//!   limits the sender.
//! - An epoch is the time between two losses. It is compared if it has at least two samples. The
//!   time before the first loss and that after the last one are not compared.
//!
//! The idea of driving a controller with recorded losses instead of a guessed capacity, and the
//! epochs of at least two samples, are a method of this project. There is no paper.

mod driver;
mod losses;

use congestion::Specification;
use units::{Span, Time};

use driver::Driver;
use losses::Loss;

/// Samples that an epoch has at least.
const LEAST_SAMPLES: usize = 2;
/// Most ACKs of a replay: an hour at 300 Mbit/s.
const MOST_ACKS: u64 = 100_000_000;

/// The sender of a measured connection at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time since the start of the measurement.
    pub at: Time,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Smoothed round-trip time.
    pub rtt: Span,
    /// Segments retransmitted since the sample before.
    pub retransmits: u64,
}

/// A time between two losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Its first sample, the first one after the loss.
    pub first: usize,
    /// Its last sample, the last one before the next loss.
    pub last: usize,
    /// Measured window of the first sample in bytes, from which the controller goes on.
    pub start: u64,
    /// Measured window of the last sample in bytes.
    pub measured: u64,
    /// Window of the controller at that time in bytes.
    pub replayed: u64,
}

/// The windows of a controller next to the measured ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Window of the controller at each sample in bytes; `None` before the first loss.
    pub windows: Vec<Option<u64>>,
    /// Epochs of at least two samples between two losses.
    pub epochs: Vec<Epoch>,
    /// Losses of the measured connection.
    pub losses: usize,
    /// Those of them that are timeouts.
    pub timeouts: u64,
}

/// A measurement or a controller that cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A controller that needs more than losses and RTTs.
    #[error("{name} needs {need}, which a measurement of windows and RTTs does not have")]
    Controller {
        /// Its name.
        name: &'static str,
        /// The events that it needs.
        need: &'static str,
    },
    /// A segment size of zero.
    #[error("expected a segment size of at least 1 byte, found {mss}")]
    Segment {
        /// The segment size in bytes.
        mss: u32,
    },
    /// A sample that cannot be.
    #[error("sample {number}: expected {expected}, found {found}")]
    Sample {
        /// Its number from 1.
        number: usize,
        /// The values that it may have.
        expected: &'static str,
        /// Its value.
        found: String,
    },
    /// Fewer than two losses.
    #[error("expected a window that falls at least twice, found {found} losses")]
    Losses {
        /// Their number.
        found: usize,
    },
    /// More ACKs than a replay has.
    #[error("expected at most {MOST_ACKS} ACKs, found more: RTTs of this size are those of a LAN")]
    TooLong,
}

/// Replays a measurement with a controller. `mss` is the segment size in bytes.
///
/// # Errors
/// If the controller needs other events than losses and RTTs, if a sample cannot be, or if there
/// are fewer than two losses.
pub fn replay(controller: &Specification, mss: u32, samples: &[Sample]) -> Result<Replay, Unfit> {
    if mss == 0 {
        return Err(Unfit::Segment { mss });
    }
    check(samples)?;
    let losses = losses::find(samples, mss.into());
    let [first, .., _] = &losses[..] else {
        return Err(Unfit::Losses { found: losses.len() });
    };
    let mut driver = Driver::new(controller, mss, samples[first.begin - 1])?;
    let mut windows = vec![None; first.begin];
    let mut timeouts = 0;
    let mut current = *first;
    let mut next = losses.iter().peekable();
    for at in first.begin..samples.len() {
        let [before, now] = [samples[at - 1], samples[at]];
        if let Some(loss) = next.next_if(|loss| loss.begin == at) {
            current = *loss;
            timeouts += u64::from(driver.lose(before, now, loss.recovered));
        } else if at <= current.end {
            driver.fall(now);
        } else if current.undone == Some(at) {
            driver.undo(now);
        } else {
            driver.acknowledge(before, now)?;
        }
        windows.push(Some(driver.window()));
    }
    let epochs = epochs(&losses, samples, &windows);
    Ok(Replay { windows, epochs, losses: losses.len(), timeouts })
}

/// The epochs between losses that have enough samples.
fn epochs(losses: &[Loss], samples: &[Sample], windows: &[Option<u64>]) -> Vec<Epoch> {
    let epoch = |bounds: &[Loss]| {
        let (first, last) = (bounds[0].end, bounds[1].begin - 1);
        let long = last + 1 - first >= LEAST_SAMPLES;
        let [start, measured] = [samples[first].cwnd, samples[last].cwnd];
        long.then_some(Epoch { first, last, start, measured, replayed: windows[last]? })
    };
    losses.windows(2).filter_map(epoch).collect()
}

/// Samples in the order of time, with a window and an RTT.
fn check(samples: &[Sample]) -> Result<(), Unfit> {
    let mut before = None;
    for (number, sample) in (1..).zip(samples) {
        let unfit = |expected, found| Err(Unfit::Sample { number, expected, found });
        if before.is_some_and(|before| sample.at <= before) {
            return unfit("a time after that of the sample before", format!("{}", sample.at));
        }
        if sample.cwnd == 0 {
            return unfit("a congestion window above 0 bytes", "0".to_owned());
        }
        if sample.rtt == Span::ZERO {
            return unfit("an RTT above 0", "0".to_owned());
        }
        before = Some(sample.at);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
