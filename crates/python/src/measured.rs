//! Controllers with the losses and RTTs of a measured connection.

use measured::{Epoch, Replay, Sample, replay};
use pyo3::prelude::*;
use units::{Span, Time};

use crate::errors::replay_error;
use crate::record::record;
use crate::scenario::Scenario;

record! {
    /// A time between two losses of a measured connection.
    CwndEpoch {
        /// Number of its first sample from 0: the first one after the loss.
        first: u64,
        /// Number of its last sample: the last one before the next loss.
        last: u64,
        /// Measured window of the first sample in bytes, from which the controller goes on.
        start: u64,
        /// Measured window of the last sample in bytes.
        measured: u64,
        /// Window of the controller at that time in bytes.
        replayed: u64,
    }
}

record! {
    /// The windows of a controller next to those of a measured connection.
    CwndReplay {
        /// Name of the controller.
        controller: String,
        /// Its variant: `original`, or `linux` for Linux's controller of this name.
        variant: String,
        /// Window of the controller at each sample in bytes; None before the first loss.
        windows: Vec<Option<u64>>,
        /// Epochs of at least two samples between two losses.
        epochs: Vec<CwndEpoch>,
        /// Losses of the measured connection.
        losses: u64,
        /// Those of them that are timeouts.
        timeouts: u64,
    }
}

/// Drive the controller of the first flow of a scenario with a measured connection.
///
/// `mss` is the segment size in bytes. A sample has the time in s, the congestion window in bytes,
/// the smoothed RTT in s and the segments retransmitted since the sample before. Raises
/// `ControllerError` if the controller needs more than losses and RTTs, or if the measurement
/// cannot be replayed.
#[pyfunction]
pub fn replay_cwnd(
    py: Python<'_>,
    scenario: &Scenario,
    mss: u32,
    samples: Vec<(f64, u64, f64, u64)>,
) -> PyResult<CwndReplay> {
    let samples: Vec<Sample> = samples.into_iter().map(sample).collect();
    let Some(flow) = scenario.inner.flows.first() else {
        return Err(replay_error("expected a scenario with a flow"));
    };
    let controller = &flow.controller;
    let replayed = py.detach(|| replay(controller, mss, &samples));
    let Replay { windows, epochs, losses, timeouts } =
        replayed.map_err(|unfit| replay_error(&unfit.to_string()))?;
    Ok(CwndReplay {
        controller: controller.entry().name.to_owned(),
        variant: controller.variant().to_owned(),
        windows,
        epochs: epochs.into_iter().map(epoch).collect(),
        losses: losses as u64,
        timeouts,
    })
}

fn sample((at, cwnd, rtt, retransmits): (f64, u64, f64, u64)) -> Sample {
    let at = Time::ZERO + Span::from_secs_f64(at);
    Sample { at, cwnd, rtt: Span::from_secs_f64(rtt), retransmits }
}

fn epoch(epoch: Epoch) -> CwndEpoch {
    let Epoch { first, last, start, measured, replayed } = epoch;
    CwndEpoch { first: first as u64, last: last as u64, start, measured, replayed }
}
