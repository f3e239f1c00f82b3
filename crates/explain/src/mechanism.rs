//! Mechanisms on a direction of a link: what each shows, computes and warns of.
//!
//! A mechanism is one file of this crate with one constant, and a line in [`MECHANISMS`]. The
//! columns of the table of links, the tables behind it and the warnings follow.

mod aqm;
pub(crate) mod arq;
mod buckets;
mod changes;
pub(crate) mod channels;
mod compression;
mod demand;
pub(crate) mod fec;
pub(crate) mod feedback;
mod framing;
mod jitter;
mod mtu;
mod queue;
mod reorder;
mod slots;
mod traces;

use scenario::model::{Direction, Flow, Link, Scenario};
use scenario::{Hop, Routes, Written};

use crate::FlowExplanation;
use crate::figures::Figures;
use crate::settings::{Amount, Setting};
use crate::warnings::WarningKind as Kind;

/// A key of a direction: its value, its effects and its warnings.
pub(crate) struct Mechanism {
    /// The key in the language: `arq`.
    pub key: &'static str,
    /// Heading of its table on a terminal.
    pub heading: &'static str,
    /// The value of the key; `None` if it is the value that was written.
    pub value: fn(&Side<'_>) -> Option<(Amount, String)>,
    /// Effects before the run, in numbers; empty for a direction without the mechanism.
    pub details: fn(&Side<'_>) -> Vec<Setting>,
    /// Settings that run, but probably not as intended.
    pub warnings: fn(&Side<'_>) -> Vec<(Kind, String)>,
}

impl Mechanism {
    /// A key of which nothing is to be said but its value.
    pub const PLAIN: Self =
        Self { key: "", heading: "", value: |_| None, details: |_| vec![], warnings: |_| vec![] };
}

/// All mechanisms, in the order of their tables.
pub(crate) const MECHANISMS: [Mechanism; 22] = [
    traces::RATE,
    traces::DELAY,
    traces::TRACE,
    jitter::MECHANISM,
    reorder::REORDER,
    reorder::DUPLICATE,
    slots::MECHANISM,
    channels::MECHANISM,
    queue::MECHANISM,
    queue::MARKING,
    changes::MECHANISM,
    buckets::SHAPER,
    buckets::POLICER,
    framing::MIN_PACKET,
    framing::CELLS,
    aqm::MECHANISM,
    arq::MECHANISM,
    fec::MECHANISM,
    feedback::MECHANISM,
    demand::MECHANISM,
    compression::MECHANISM,
    mtu::MECHANISM,
];

/// One direction of a link, with what its mechanisms may look at.
pub(crate) struct Side<'a> {
    pub scenario: &'a Scenario,
    pub written: &'a Written,
    pub routes: &'a Routes,
    /// The first flow of each `[[flow]]`.
    pub flows: &'a [(FlowExplanation, &'a Flow)],
    /// The link and its direction.
    pub hop: Hop,
}

impl<'a> Side<'a> {
    /// Both directions of the links of a scenario.
    pub fn all(
        scenario: &'a Scenario,
        written: &'a Written,
        routes: &'a Routes,
        flows: &'a [(FlowExplanation, &'a Flow)],
    ) -> impl Iterator<Item = Self> {
        let hops = (0_u32..)
            .take(scenario.links.len())
            .flat_map(|link| [true, false].map(|forward| Hop { link, forward }));
        hops.map(move |hop| Self { scenario, written, routes, flows, hop })
    }

    /// The number of the link.
    pub fn number(&self) -> usize {
        self.hop.link as usize
    }

    /// The link.
    pub fn link(&self) -> &'a Link {
        &self.scenario.links[self.number()]
    }

    /// This direction.
    pub fn direction(&self) -> &'a Direction {
        self.hop.direction(&self.scenario.links)
    }

    /// The other direction of the link.
    pub fn back(&self) -> &'a Direction {
        self.other().direction()
    }

    /// The other direction of the link, as a side of its own.
    pub fn other(&self) -> Self {
        Self { hop: Hop { forward: !self.hop.forward, ..self.hop }, ..*self }
    }

    /// Returns true if the key at `path` was written, in the direction or in the link.
    pub fn is_written(&self, path: &str) -> bool {
        let link = format!("link[{}]", self.number());
        let own = format!("{link}.{}.{path}", self.name());
        self.written.contains(&own) || self.written.contains(&format!("{link}.{path}"))
    }

    /// The table of this direction in the language.
    pub fn name(&self) -> &'static str {
        if self.hop.forward { "forward" } else { "backward" }
    }

    /// The flows whose data passes this direction.
    pub fn with_data(&self) -> impl Iterator<Item = &'a (FlowExplanation, &'a Flow)> {
        self.passing(0)
    }

    /// The flows whose ACKs pass this direction.
    pub fn with_acks(&self) -> impl Iterator<Item = &'a (FlowExplanation, &'a Flow)> {
        self.passing(1)
    }

    /// The flows whose data or ACKs pass this direction, with their figures. A flow may stand there
    /// twice.
    pub fn with_any(&self) -> impl Iterator<Item = (&'a Figures, &'a Flow)> {
        let all = self.with_data().chain(self.with_acks());
        all.map(|(explained, flow)| (&explained.figures, *flow))
    }

    /// The flows whose packets may pass this direction, over a switch too: those of data and those
    /// of ACKs.
    pub fn flows_of(&self, way: usize) -> impl Iterator<Item = &'a Flow> {
        let Self { scenario, routes, hop, .. } = *self;
        let passes = move |flow: &&Flow| {
            scenario.may_take(routes, flow.all_ways().map(|ways| ways[way]), hop)
        };
        self.flows.iter().map(|(_, flow)| *flow).filter(passes)
    }

    fn passing(&self, way: usize) -> impl Iterator<Item = &'a (FlowExplanation, &'a Flow)> {
        let Self { scenario, routes, hop, .. } = *self;
        let passes = move |flow: &Flow| {
            routes.passes(flow.all_ways().map(|ways| ways[way]), hop, &scenario.links)
        };
        self.flows.iter().filter(move |(_, flow)| passes(flow))
    }
}
