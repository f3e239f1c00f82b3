//! Beams with their terminals.

use std::ops::Range;
use std::sync::Arc;

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
}

/// Terminals that are alike.
#[derive(Clone, Debug)]
pub struct BeamGroup {
    /// Its name.
    pub name: String,
    /// Numbers of the nodes of its terminals.
    pub terminals: Range<usize>,
    /// Its signal, and what the modem chooses for it.
    pub acm: Arc<Acm>,
    /// The file that its attenuation was read from.
    pub file: Option<String>,
}

impl Beam {
    /// The group of each terminal.
    pub fn members(&self) -> Vec<usize> {
        let groups = self.groups.iter().enumerate();
        groups.flat_map(|(number, group)| group.terminals.clone().map(move |_| number)).collect()
    }
}
