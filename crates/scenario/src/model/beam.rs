//! Beams with their terminals.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use beam::forward::Member;
use beam::{forward, returning};
use link::Acm;
use units::{Rate, Span};

use super::Flow;

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
    /// Flows to groups in the background. They are none of the scenario's flows.
    pub background: Vec<Background>,
}

/// A `[[flow]]` to terminals in the background.
#[derive(Clone, Debug)]
pub struct Background {
    /// Its name.
    pub name: String,
    /// Number of the group of its terminals.
    pub group: usize,
    /// Its class of traffic.
    pub class: u8,
    /// The first copy, with the settings of all.
    pub flow: Flow,
    /// Bytes of a transfer.
    pub size: u64,
    /// Bytes of its request.
    pub request: u64,
    /// Propagation from the sender to the gateway, and back.
    pub delays: [Span; 2],
    /// Its copies.
    pub copies: Vec<BackgroundCopy>,
}

impl Background {
    /// Segments that cross the beam as one train, at most.
    pub const LONGEST_TRAIN: u64 = 16;
}

/// A copy of a `[[flow]]` to terminals in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackgroundCopy {
    /// Its number among all flows of the scenario, those in the background included.
    pub number: u32,
    /// Number of its terminal in the beam.
    pub terminal: u32,
    /// When its application starts.
    pub start: Span,
}

/// The name of the class of packets that have no other one.
pub const NO_CLASS: &str = "other";

/// Rate of the network between a terminal with a split proxy and the host behind it, in both
/// directions together.
pub const RATE_BEHIND_TERMINALS: Rate = Rate::from_bits_per_second(1_000_000_000);

/// Delay of that network in each direction: more than half a tick of the timestamps of TCP, which
/// would measure a round trip of zero otherwise.
pub const DELAY_BEHIND_TERMINALS: Span = Span::from_millis(1);

/// Terminals that are alike.
#[derive(Clone, Debug)]
pub struct BeamGroup {
    /// Its name.
    pub name: String,
    /// Numbers of the nodes of its terminals.
    pub terminals: Range<usize>,
    /// Its terminals are in the background.
    pub is_background: bool,
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

    /// Share of the forward carrier that the background offers, if transfers take no time and no
    /// session is too short for one; by the signals at the start. `None` without a background.
    pub fn background_load(&self) -> Option<f64> {
        let each = self.background.iter().map(|described| {
            let Some(sessions) = described.flow.sessions else { return 0.0 };
            let bytes = described.size as f64 * described.copies.len() as f64;
            let seconds = (sessions.pause + sessions.length).as_secs_f64();
            let shares = self.groups[described.group].shares().map(|(share, signal)| {
                share / self.forward.frames[signal.acm.choices()[0].1].efficiency()
            });
            bytes * 8.0 / seconds * shares.sum::<f64>() / self.forward.symbol_rate
        });
        (!self.background.is_empty()).then(|| each.sum())
    }

    /// All signals, in the order of [`members`](Self::members).
    pub fn signals(&self) -> Vec<Arc<Acm>> {
        self.groups.iter().flat_map(|group| &group.signals).map(|one| one.acm.clone()).collect()
    }
}
