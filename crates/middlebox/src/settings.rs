//! Middleboxes as a scenario names them.

use link::Mechanism;
use units::Span;

use crate::ack_filter::{self, AckFilterSettings};

/// The key of scenarios that takes a middlebox.
pub(crate) const KEY: &str = "node.middlebox";
pub(crate) const KIND: &str = "middlebox";

/// A middlebox with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(tag = "name", rename_all = "kebab-case"),
    schemars(inline)
)]
pub enum Middlebox {
    /// ACK filter: takes ACKs out of the queues of the node's links when a later ACK of the same
    /// connection joins them.
    AckFilter(AckFilterSettings),
}

impl Middlebox {
    /// All middleboxes with their defaults.
    pub fn all() -> [Self; 1] {
        [Self::AckFilter(AckFilterSettings::default())]
    }

    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        self.about().name
    }

    /// Its description.
    pub fn about(&self) -> &'static Mechanism {
        match self {
            Self::AckFilter(_) => &ack_filter::ABOUT,
        }
    }

    /// The most that it adds to the delay of a packet.
    pub fn most_added_delay(&self) -> Span {
        match self {
            Self::AckFilter(_) => Span::ZERO,
        }
    }

    /// Whether it works in the queues of the node's links, and so on the node's own packets too. All
    /// others only see packets that the node forwards.
    pub fn is_in_queues(&self) -> bool {
        match self {
            Self::AckFilter(_) => true,
        }
    }
}
