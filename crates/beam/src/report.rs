//! Totals of beams.

use sketch::Summary;
use units::Time;

use crate::forward::{Airtime, Forward};
use crate::packet::{Delays, TerminalCounters};
use crate::returning::{Returning, SlotCounters};

/// Totals of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionReport {
    /// By terminal.
    pub terminals: Vec<TerminalCounters>,
    /// Times in milliseconds from the arrival of a packet at the queue to the end of its
    /// transmission, by group.
    pub delays: Vec<Option<Summary>>,
}

impl DirectionReport {
    fn new<'a>(terminals: impl Iterator<Item = &'a TerminalCounters>, delays: &[Delays]) -> Self {
        let delays = delays.iter().map(Delays::summary).collect();
        Self { terminals: terminals.copied().collect(), delays }
    }
}

/// Totals of a beam.
#[derive(Clone, Debug, PartialEq)]
pub struct BeamReport {
    /// To the terminals.
    pub forward: DirectionReport,
    /// From the terminals.
    pub back: DirectionReport,
    /// Frames that the forward carrier has sent, by modulation and code.
    pub airtime: Vec<Airtime>,
    /// Slots of the return channel by category.
    pub slots: SlotCounters,
}

impl BeamReport {
    /// The totals until `now`.
    pub fn of<P>(now: Time, forward: &Forward<P>, back: &Returning<P>) -> Self {
        Self {
            forward: DirectionReport::new(forward.counters(), forward.delays()),
            back: DirectionReport::new(back.counters(), back.delays()),
            airtime: forward.airtime().to_vec(),
            slots: back.slots(now),
        }
    }
}
