//! Control of the load of a random access channel by its gateway.
//!
//! Without a control the channel is bistable: past the peak of its throughput, retries raise the
//! load and lower the throughput further (Kissling, arXiv:1203.4693; Meloni and Murroni,
//! arXiv:1501.06361). The gateway estimates the load from the empty slots of each frame, and
//! announces a probability with which terminals begin or repeat in a frame. The rule is a
//! reconstruction: sources describe the aim and leave the estimator open.

use std::collections::VecDeque;

use super::channel::Channel;

/// Weight of the newest frame in the smoothed demand.
const WEIGHT: f64 = 0.25;
/// The least probability, so that a wrong estimate is corrected by the frames that follow.
const LEAST: f64 = 1.0 / 1024.0;

/// The load that a control keeps to, and its delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// Load that the channel shall not exceed, in packets per slot.
    pub load: f64,
    /// Frames from an announcement to the first frame that follows it, as its gateway sees it: the
    /// round trip.
    pub delay: u32,
}

/// The gateway's estimate and its announcement.
#[derive(Clone, Debug)]
pub struct LoadControl {
    target: Target,
    replicas: f64,
    slots: f64,
    /// Load that terminals would offer with a probability of one, in packets per slot.
    demand: f64,
    /// Probabilities that were announced, those of the next frames to arrive first.
    announced: VecDeque<f64>,
}

impl LoadControl {
    /// A control that begins with a probability of one.
    pub fn new(target: Target, channel: &Channel) -> Self {
        let announced = VecDeque::from(vec![1.0; target.delay as usize + 1]);
        let replicas = f64::from(channel.scheme().replicas());
        Self { target, replicas, slots: f64::from(channel.slots()), demand: 0.0, announced }
    }

    /// The load that it keeps to.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The estimate of a frame's load, in packets per slot, from the number of its empty slots:
    /// with Poisson arrivals their share is exp(-d G). A frame without any counts as one with half
    /// a slot.
    pub fn estimate(&self, empty_slots: u32) -> f64 {
        let empty = f64::from(empty_slots).max(0.5);
        -libm::log(empty / self.slots) / self.replicas
    }

    /// A frame has just arrived, with this number of empty slots. Its probability was announced a
    /// round trip ago.
    pub fn observe(&mut self, empty_slots: u32) {
        let then = self.announced.pop_front().unwrap_or(1.0);
        let demand = self.estimate(empty_slots) / then;
        self.demand += WEIGHT * (demand - self.demand);
        let next = (self.target.load / self.demand).clamp(LEAST, 1.0);
        self.announced.push_back(next);
    }

    /// Probability that the gateway announces now.
    pub fn probability(&self) -> f64 {
        self.announced.back().copied().unwrap_or(1.0)
    }
}
