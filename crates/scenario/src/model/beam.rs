//! Beams with their terminals.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use beam::forward::Member;
use beam::{forward, returning};
use link::Acm;

/// A satellite beam.
#[derive(Clone, Debug)]
pub struct Beam {
    /// Its name.
    pub name: String,
    /// Number of the node of its gateway.
    pub gateway: usize,
    /// Numbers of the nodes of its terminals.
    pub terminals: Range<usize>,
    /// The carrier to the terminals.
    pub forward: forward::Settings,
    /// The channel from the terminals.
    pub back: returning::Settings,
    /// Groups of terminals, in the order of their numbers.
    pub groups: Vec<BeamGroup>,
    /// Names of the classes of traffic, and last the packets of no class.
    pub classes: Vec<String>,
    /// The class of each flow that has one, with the number of the flow.
    pub class_of_flows: BTreeMap<usize, u8>,
}

/// The name of the class of packets that have no other one.
pub const NO_CLASS: &str = "other";

/// Terminals that are alike.
#[derive(Clone, Debug)]
pub struct BeamGroup {
    /// Its name.
    pub name: String,
    /// Numbers of the nodes of its terminals.
    pub terminals: Range<usize>,
    /// Signals and what the modem chooses for them. Terminal number n has signal number n, and from
    /// the first one on again.
    pub signals: Vec<CellSignal>,
    /// The file that its attenuation was read from.
    pub file: Option<String>,
}

/// The signal in a weather cell.
#[derive(Clone, Debug)]
pub struct CellSignal {
    /// Name of the cell; `None` if the beam has no cells.
    pub cell: Option<String>,
    /// The signal, and what the modem chooses for it.
    pub acm: Arc<Acm>,
}

impl BeamGroup {
    /// The signals with the shares of the group's terminals that have them.
    pub fn shares(&self) -> impl Iterator<Item = (f64, &CellSignal)> {
        let (all, cells) = (self.terminals.len(), self.signals.len());
        let terminals = move |number: usize| all / cells + usize::from(number < all % cells);
        let signals = self.signals.iter().enumerate();
        signals.map(move |(number, signal)| (terminals(number) as f64 / all as f64, signal))
    }
}

impl Beam {
    /// The place of each terminal.
    pub fn members(&self) -> Vec<Member> {
        let mut members = Vec::with_capacity(self.terminals.len());
        let mut before = 0;
        for (group, settings) in self.groups.iter().enumerate() {
            let cells = settings.signals.len();
            let signals = (before..before + cells).cycle();
            let places = signals.take(settings.terminals.len());
            members.extend(places.map(|signal| Member { group, signal }));
            before += cells;
        }
        members
    }

    /// All signals, in the order of [`members`](Self::members).
    pub fn signals(&self) -> Vec<Arc<Acm>> {
        self.groups.iter().flat_map(|group| &group.signals).map(|one| one.acm.clone()).collect()
    }
}
