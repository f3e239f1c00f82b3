//! The description of a controller, which each controller's file defines.

use std::borrow::Cow;

use crate::controller::Controller;
use crate::parameters::{Parameter, Values};
use crate::parts::linux::ORIGINAL;
use crate::tcp_policy::TcpPolicy;
use crate::window::Settings;

/// Confidence that a controller is the algorithm of its source.
///
/// Every use matches all variants without a wildcard, so that a new status does not compile until
/// each place handles it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its rules were read in the published source.
    Published,
    /// Its rules were read in this implementation, with its release and file, and not in the paper
    /// or RFC that defines it.
    Implementation(&'static str),
    /// Some of its rules were not found and had to be reconstructed.
    Reconstructed,
    /// Unpublished work, without a source to compare with.
    Experimental,
}

impl Status {
    /// The name of the status for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Implementation(_) => "from an implementation",
            Self::Reconstructed => "reconstructed",
            Self::Experimental => "experimental",
        }
    }

    /// The implementation that it was read in.
    pub fn implementation(self) -> Option<&'static str> {
        match self {
            Self::Implementation(which) => Some(which),
            Self::Published | Self::Reconstructed | Self::Experimental => None,
        }
    }
}

impl From<Status> for Cow<'static, str> {
    fn from(status: Status) -> Self {
        match status.implementation() {
            None => status.name().into(),
            Some(_) => status.to_string().into(),
        }
    }
}

/// The name, and the implementation in brackets.
impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())?;
        self.implementation().map_or(Ok(()), |which| write!(f, " ({which})"))
    }
}

/// The loss recovery that a controller was designed for. Each transport maps it to its own
/// recovery. QUIC and SCTP have only [`SelectiveAcks`](Self::SelectiveAcks).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// One loss in a window: repair ends with the first new ACK (RFC 5681 section 3.2).
    SingleLoss,
    /// Several losses in a window, one in each round trip (RFC 6582).
    PartialAcks,
    /// All losses at once, found by selective acknowledgements (RFC 6675).
    SelectiveAcks,
}

/// Description of a controller, for lists, errors and the reference.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in scenarios.
    pub name: &'static str,
    /// Description in one sentence.
    pub summary: &'static str,
    /// The paper or RFC that defines it.
    pub source: &'static str,
    /// Confidence that it is the algorithm of its source.
    pub status: Status,
    /// The loss recovery that it was designed for, which is the default of scenarios.
    pub repair: Repair,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}

/// A need of a controller that most paths do not meet, in words for lists and notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Routers with a feature.
    Routers(&'static str),
    /// Values of the path, in its parameters `rate` and `rtt`, because it cannot measure them.
    Settings(&'static str),
}

/// A type with one or more entries in the registry.
pub trait Listed: Controller + TcpPolicy + Sized {
    /// The word for the parameter `variant` that chooses it, where it is a variant of another
    /// controller.
    const VARIANT: &'static str = ORIGINAL;
    /// Its entries. Names are unique among all controllers.
    const LISTED: &'static [Entry];
    /// Its need, if it has one.
    const NEED: Option<Need> = None;
    /// Pairs of parameters of which the first may not be above the second.
    const ORDERED: &'static [(&'static str, &'static str)] = &[];
    /// Builds it with the parameter values of a scenario.
    fn build(settings: &Settings, values: &Values) -> Self;
}
