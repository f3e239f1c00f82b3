//! The description of a controller before it runs, as its own file writes it.

use crate::controller::Controller;
use crate::parameters::{Parameter, Values};
use crate::tcp_policy::TcpPolicy;
use crate::window::Settings;

/// How far a controller can be trusted to be the one of its source.
///
/// Every use matches all of them without a wildcard, so that another status does not compile until
/// each place has decided what to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its rules were read in the published source.
    Published,
    /// Some of its rules were not found and had to be reconstructed.
    Reconstructed,
    /// Unpublished work: nothing to compare it with.
    Experimental,
}

impl Status {
    /// The word that users see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Reconstructed => "reconstructed",
            Self::Experimental => "experimental",
        }
    }
}

/// The loss repair that a controller was designed for. Each transport maps it to a repair of its
/// own; QUIC and SCTP know [`SelectiveAcks`](Self::SelectiveAcks) only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// One loss in a window: repair ends with the first new ACK (RFC 5681 section 3.2).
    SingleLoss,
    /// Several losses in a window, one in each round trip (RFC 6582).
    PartialAcks,
    /// All losses at once, found by selective acknowledgements (RFC 6675).
    SelectiveAcks,
}

/// A controller as lists, errors and references show it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in scenarios.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub summary: &'static str,
    /// The paper or RFC that defines it.
    pub source: &'static str,
    /// How far it is the one of its source.
    pub status: Status,
    /// The loss repair that it was designed for; the default of a scenario.
    pub repair: Repair,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}

/// A type with one or more entries in the registry.
pub trait Listed: Controller + TcpPolicy + Sized {
    /// Its entries. Names are unique among all controllers.
    const LISTED: &'static [Entry];
    /// Builds it with the parameter values of a scenario.
    fn build(settings: &Settings, values: &Values) -> Self;
}
