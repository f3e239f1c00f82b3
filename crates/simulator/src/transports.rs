//! The transport protocols that a simulated host speaks.
//!
//! The loop of a run is compiled for one type of connections. A run in which all flows speak TCP has that of
//! the crate `tcp`, so that nothing of its packets has to ask which protocol it is. Another protocol is a
//! variant of an enum over all protocols, which implements [`Connection`] and runs in a loop of its own.

mod any;
mod datagrams;
mod quic;

use congestion::AnyController;
use tcp::Segment;
use transport::{AbortCause, Endpoint};

use crate::hosts::BlueprintEnd;

pub(crate) use any::Any;
pub(crate) use quic::Path;

/// One end of a connection, as the loop needs it.
pub(crate) trait Connection: Endpoint<Packet = Segment> + std::fmt::Debug {
    /// An end that is closed. One that only answers sends no data to speak of.
    fn new(
        end: &BlueprintEnd,
        controller: AnyController,
        initial_sequence: u32,
        only_answers: bool,
    ) -> Self;

    /// Why a packet has ended the connection before its time, if it did.
    fn failure(&self) -> Option<AbortCause>;

    /// The end if it is one of TCP.
    fn tcp(&self) -> Option<&tcp::Connection>;

    /// The end if it is one of TCP.
    fn tcp_mut(&mut self) -> Option<&mut tcp::Connection>;
}

impl Connection for tcp::Connection {
    fn new(
        end: &BlueprintEnd,
        controller: AnyController,
        initial_sequence: u32,
        only_answers: bool,
    ) -> Self {
        let mut connection = Self::new(end.config.clone(), controller, initial_sequence);
        if only_answers && end.config.quick_start.is_some() {
            connection.only_answer();
        }
        connection
    }

    fn failure(&self) -> Option<AbortCause> {
        Self::failure(self)
    }

    fn tcp(&self) -> Option<&Self> {
        Some(self)
    }

    fn tcp_mut(&mut self) -> Option<&mut Self> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use crate::hosts::Body;

    /// Packets are moved for each hop. What other protocols carry has to wait elsewhere.
    #[test]
    fn what_a_packet_carries_stays_small() {
        assert!(size_of::<Body>() <= 64);
    }
}
