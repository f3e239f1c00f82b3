//! The interface of connections for the loop of a run.

use congestion::AnyController;
use sketch::Sketch;
use transport::{Datagrams, Endpoint, Streams};
use units::Time;

use super::{Carried, End, Shared};
use crate::hosts::BlueprintEnd;
use crate::split;

/// One end of a connection, as the loop needs it.
pub(crate) trait Connection:
    Endpoint<Packet: Carried> + split::Leg + std::fmt::Debug
{
    /// True if ends may speak another protocol than TCP, and gateways may limit their rate. Loops
    /// without such ends look at nothing.
    const MAY_BE_OTHERS: bool;

    /// An end that is closed. One that only answers sends no data to speak of.
    fn new(
        end: &BlueprintEnd,
        controller: AnyController,
        initial_sequence: u32,
        only_answers: bool,
    ) -> Self;

    /// Waits for another end to open the connection, as the end of a gateway, which decides on it.
    fn listen_on_hold(&mut self);

    /// Gives the connection the numbers of its flow and its own, by which logs know it.
    fn identify(&mut self, _flow: u32, _connection: u32) {}

    /// Streams of the connection for requests and answers, if the protocol has any.
    fn streams(&mut self) -> Option<&mut dyn Streams> {
        None
    }

    /// Datagrams of the end, if the protocol has no stream of bytes.
    fn datagrams(&mut self) -> Option<&mut dyn Datagrams> {
        None
    }

    /// Returns true if a datagram, or a request or an answer on a stream, has arrived that the
    /// application has not taken.
    fn has_arrived(&self) -> bool {
        false
    }

    /// The end by its protocol.
    fn end(&self) -> End<'_>;

    /// The end if it is one of TCP.
    fn tcp(&self) -> Option<&tcp::Connection> {
        if let End::Tcp(end) = self.end() { Some(end) } else { None }
    }

    /// If the end is over, only its totals are kept. Its RTT samples are passed to `take`, and also
    /// those of an end that only waits for the connection to be over. The loop of TCP keeps all
    /// ends as they are: they are in a list, and not in boxes.
    fn delete_if_over(&mut self, now: Time, take: impl FnOnce(&Sketch)) {
        let _ = (now, take);
    }

    /// The end if it is one of TCP.
    fn tcp_mut(&mut self) -> Option<&mut tcp::Connection>;
}

impl Connection for tcp::Connection {
    const MAY_BE_OTHERS: bool = false;

    fn new(
        end: &BlueprintEnd,
        controller: AnyController,
        initial_sequence: u32,
        only_answers: bool,
    ) -> Self {
        let Shared::Tcp(config) = &end.shared else {
            unreachable!("the loop of TCP has ends of TCP only")
        };
        let mut connection = Self::new(config.clone(), controller, initial_sequence);
        if only_answers && config.quick_start.is_some() {
            connection.only_answer();
        }
        connection
    }

    fn listen_on_hold(&mut self) {
        Self::listen_on_hold(self);
    }

    fn end(&self) -> End<'_> {
        End::Tcp(self)
    }

    fn tcp_mut(&mut self) -> Option<&mut Self> {
        Some(self)
    }
}
