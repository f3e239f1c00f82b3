//! Totals of beams.

use sketch::{Sketch, Summary};
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
    /// Packets and these times by group and class.
    pub class_delays: Vec<Vec<(u64, Option<Summary>)>>,
}

impl DirectionReport {
    /// `delays` are by group and class.
    fn new<'a>(
        terminals: impl Iterator<Item = &'a TerminalCounters>,
        delays: &[Delays],
        classes: usize,
    ) -> Self {
        let of_groups = delays.chunks(classes);
        let summaries =
            |group: &[Delays]| group.iter().map(|one| (one.packets(), one.summary())).collect();
        Self {
            terminals: terminals.copied().collect(),
            delays: of_groups.clone().map(|group| Delays::of_all(group).summary()).collect(),
            class_delays: of_groups.map(summaries).collect(),
        }
    }
}

/// Totals of a flow of terminals in the background.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BackgroundReport {
    /// Transfers that have begun.
    pub transfers: u64,
    /// Transfers that the end of their session has cut short.
    pub cut: u64,
    /// Bytes of data of transfers that have ended.
    pub bytes: u64,
    /// Times of transfers, from the begin to the last byte at the terminal. Transfers that were cut
    /// short are left out.
    pub times: Sketch,
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
    /// Flows in the background.
    pub background: Vec<BackgroundReport>,
}

/// Counts of a beam, without those of its terminals: cheap enough for each sample of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct BeamCounts {
    /// Frames that the forward carrier has sent, by modulation and code.
    pub airtime: Vec<Airtime>,
    /// Bytes that wait at the gateway.
    pub waiting_bytes: u64,
    /// Slots of the return channel by category.
    pub slots: SlotCounters,
}

impl BeamCounts {
    /// The counts until `now`.
    pub fn of<P>(now: Time, forward: &Forward<P>, back: &Returning<P>) -> Self {
        Self {
            airtime: forward.airtime().to_vec(),
            waiting_bytes: forward.waiting_bytes(),
            slots: back.slots(now),
        }
    }
}

impl BeamReport {
    /// The totals until `now`.
    pub fn of<P>(now: Time, forward: &Forward<P>, back: &Returning<P>) -> Self {
        let classes = forward.settings().classes.len();
        Self {
            forward: DirectionReport::new(forward.counters(), forward.delays(), classes),
            back: DirectionReport::new(back.counters(), back.delays(), classes),
            airtime: forward.airtime().to_vec(),
            slots: back.slots(now),
            background: Vec::new(),
        }
    }
}
