//! The transport protocols that a simulated host speaks.
//!
//! The loop of a run is compiled for one type of connections. A run in which all flows speak TCP has that of
//! the crate `tcp`, so that nothing of its packets has to ask which protocol it is. Another protocol is a
//! variant of an enum over all protocols, which implements [`Connection`] and runs in a loop of its own. So do
//! ends of gateways that have a rate.

mod any;
mod carried;
mod datagrams;
mod quic;
mod sctp;
mod stp;
mod xtp;

use std::sync::Arc;

use ::quic::Logs;
use congestion::AnyController;
use runtime::Leg;
use scenario::model::OwnSettings;
use tcp::Segment;
use transport::{Endpoint, Streams};
use wire::{Addresses, IpVersion};

use crate::capture::SNAPLEN;
use crate::hosts::BlueprintEnd;
use crate::split;

pub(crate) use any::Any;

/// State that only ends of one protocol share.
#[derive(Clone, Debug)]
pub(crate) enum Shared {
    Tcp,
    Quic(quic::Blueprint),
    Stp(Arc<::stp::Config>),
    Xtp(Arc<xtp::Path>),
    Sctp(Arc<sctp::Path>),
}

impl Shared {
    /// For both ends of a leg of a run with this seed and these logs.
    pub(crate) fn of(leg: &Leg<'_>, seed: u64, ip: IpVersion, logs: &Logs) -> [Self; 2] {
        match leg.ends.map(|end| end.own) {
            [OwnSettings::Quic(first), OwnSettings::Quic(last)] => {
                let ends = quic::Blueprint::of(leg, [&**first, &**last], seed, logs);
                ends.map_or([Self::Tcp, Self::Tcp], |ends| ends.map(Self::Quic))
            }
            [OwnSettings::Xtp(config), OwnSettings::Xtp(_)] => {
                let path = Arc::new(xtp::Path::of(config));
                [Self::Xtp(path.clone()), Self::Xtp(path)]
            }
            [OwnSettings::Sctp(config), OwnSettings::Sctp(_)] => {
                let path = Arc::new(sctp::Path::of(config));
                [Self::Sctp(path.clone()), Self::Sctp(path)]
            }
            ends => ends.map(|own| match own {
                OwnSettings::Stp(config) => {
                    let ip_header = ip.header_bytes();
                    Self::Stp(Arc::new(::stp::Config { ip_header, ..::stp::Config::clone(config) }))
                }
                // Both ends of a leg have the same protocol, or the scenario is not resolved.
                OwnSettings::Tcp
                | OwnSettings::Quic(_)
                | OwnSettings::Xtp(_)
                | OwnSettings::Sctp(_) => Self::Tcp,
            }),
        }
    }

    pub(crate) fn is_tcp(&self) -> bool {
        matches!(self, Self::Tcp)
    }

    /// The settings of the controller, unless they are those of TCP.
    pub(crate) fn controller(&self) -> Option<congestion::Settings> {
        match self {
            Self::Tcp | Self::Quic(_) | Self::Xtp(_) | Self::Sctp(_) => None,
            Self::Stp(config) => Some(config.controller()),
        }
    }
}

/// The packets of an end with another protocol than TCP as they are on the wire, for captures.
///
/// A protocol that implements it, and returns its end in [`Connection::on_wire`], is captured.
pub(crate) trait OnWire: std::fmt::Debug {
    /// Its number in the header of IP.
    fn number(&self) -> u8;

    /// Most bytes of a packet that are worth keeping, with the header of IP. The default has all headers.
    fn snaplen(&self) -> u16 {
        SNAPLEN
    }

    /// Appends to `out` all that follows the header of IP, with its checksum. Payload that is not simulated is
    /// zeros. `ports` are those of source and destination.
    fn write(&self, packet: &Segment, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>);
}

/// One end of a connection, as the loop needs it.
pub(crate) trait Connection:
    Endpoint<Packet = Segment> + split::Leg + std::fmt::Debug
{
    /// True if ends may speak another protocol than TCP, and gateways may limit their rate. Loops without such ends look
    /// at nothing.
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

    /// Returns true if a request or an answer on a stream has arrived that the application has not taken.
    fn has_arrived(&self) -> bool {
        false
    }

    /// The path of a packet of this connection, by its place in the list of paths.
    fn path(&self, _packet: &Segment) -> u8 {
        0
    }

    /// Length of a packet of this end, without the header of IP.
    fn bytes(&self, packet: &Segment) -> u16;

    /// The end as a writer of its packets; `None` if they are segments of TCP.
    fn on_wire(&self) -> Option<&dyn OnWire> {
        None
    }

    /// The end if it is one of QUIC.
    fn quic(&self) -> Option<&::quic::Connection> {
        None
    }

    /// The end if it is one of STP.
    fn stp(&self) -> Option<&::stp::Connection> {
        None
    }

    /// The end if it is one of XTP.
    fn xtp(&self) -> Option<&::xtp::Connection> {
        None
    }

    /// The end if it is one of SCTP.
    fn sctp(&self) -> Option<&::sctp::Connection> {
        None
    }

    /// The end if it is one of TCP.
    fn tcp(&self) -> Option<&tcp::Connection>;

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
        let mut connection = Self::new(end.config.clone(), controller, initial_sequence);
        if only_answers && end.config.quick_start.is_some() {
            connection.only_answer();
        }
        connection
    }

    fn listen_on_hold(&mut self) {
        Self::listen_on_hold(self);
    }

    #[inline(always)]
    fn bytes(&self, packet: &Segment) -> u16 {
        packet.bytes()
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
