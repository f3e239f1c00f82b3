//! Packets as an observer of a run sees them.

use tcp::Segment;
use units::Time;

use crate::transports::Content;

/// A packet as a host sends or receives it.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// When.
    pub at: Time,
    /// Number of the host.
    pub node: u16,
    /// Numbers of the host that sent it and of the one that it is for.
    pub from: u16,
    /// See `from`.
    pub to: u16,
    /// Numbers of the addresses in it, among the destinations of the scenario. Those of hosts with
    /// one address are `from` and `to`.
    pub source: u16,
    /// See `source`.
    pub destination: u16,
    /// Number of the connection, counted through the run.
    pub connection: u32,
    /// Sent by the end of the connection that sends the data.
    pub by_data_sender: bool,
    /// Its content.
    pub(crate) content: Content<'a>,
    /// A queue has marked it (ECN).
    pub(crate) is_marked: bool,
}

impl<'a> Observed<'a> {
    /// The segment, if the packet carries one of TCP.
    pub fn segment(&self) -> Option<&'a Segment> {
        self.content.segment()
    }

    /// Length in bytes, without the header of IP.
    pub fn bytes(&self) -> u16 {
        self.content.bytes()
    }
}

/// Function that is called for each packet that a host sends or receives.
pub type Observer<'a> = dyn FnMut(&Observed<'_>) + 'a;
