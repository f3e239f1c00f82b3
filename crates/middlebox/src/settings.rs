//! Middleboxes as a scenario names them.

use units::Span;

use crate::ack_filter::{self, AckFilterSettings};
use crate::decimation::{self, AckDecimationSettings};
use crate::packet_control::{self, PacketControlSettings};
use crate::reconstruction::{self, AckReconstructionSettings};
use crate::snoop::{self, SnoopSettings};
use crate::spoofing::{self, SpoofingSettings};

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
    /// ACK decimation: forwards one of several pure ACKs of a connection.
    AckDecimation(AckDecimationSettings),
    /// ACK filter: removes ACKs from the queues of the node's links when a later ACK of the same
    /// connection supersedes them.
    AckFilter(AckFilterSettings),
    /// ACK reconstruction: sends the ACKs between two that are far apart, behind a link on which
    /// ACKs were filtered.
    AckReconstruction(AckReconstructionSettings),
    /// TCP packet control: drops retransmissions that a delay has caused, and duplicate ACKs that
    /// may be due to packets out of order.
    PacketControl(PacketControlSettings),
    /// Snoop: keeps copies of data, retransmits what the hop behind it loses, and hides the
    /// duplicate ACKs of such losses.
    Snoop(SnoopSettings),
    /// Spoofing proxy: acknowledges data in the receiver's name, and repairs what the hop behind it
    /// loses.
    SpoofingProxy(SpoofingSettings),
}

link::list_of_mechanisms! {
    Middlebox {
        AckDecimation => decimation::ABOUT,
        AckFilter => ack_filter::ABOUT,
        AckReconstruction => reconstruction::ABOUT,
        PacketControl => packet_control::ABOUT,
        Snoop => snoop::ABOUT,
        SpoofingProxy => spoofing::ABOUT,
    }
}

impl Middlebox {
    /// The most that it adds to the delay of a packet.
    pub fn most_added_delay(&self) -> Span {
        match self {
            Self::AckFilter(_) | Self::Snoop(_) | Self::SpoofingProxy(_) => Span::ZERO,
            Self::PacketControl(settings) => settings.hold,
            Self::AckDecimation(settings) => settings.hold,
            Self::AckReconstruction(settings) => settings.max_delay,
        }
    }

    /// Returns true if it marks ACKs of data that an error has taken.
    pub fn gives_loss_notices(&self) -> bool {
        matches!(self, Self::Snoop(SnoopSettings { eln: true, .. }))
    }

    /// Returns true if it works in the queues of the node's links, and so on the node's own packets
    /// too. All others only see packets that the node forwards.
    pub fn is_in_queues(&self) -> bool {
        match self {
            Self::AckFilter(_) => true,
            Self::AckDecimation(_)
            | Self::AckReconstruction(_)
            | Self::PacketControl(_)
            | Self::Snoop(_)
            | Self::SpoofingProxy(_) => false,
        }
    }
}
