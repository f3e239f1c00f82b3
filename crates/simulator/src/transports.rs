//! The transport protocols that a simulated host speaks.
//!
//! The loop of a run is compiled for one type of connections. A run in which all flows speak TCP has that of
//! the crate `tcp`, and its packets carry segments, so that nothing of them has to ask which protocol it is.
//! Another protocol is a variant of enums over all protocols, one of ends, which implements [`Connection`], and
//! one of packets. They run in a loop of their own. So do ends of gateways that have a rate.

mod any;
mod packet;
pub(crate) mod quic;
pub(crate) mod sctp;
pub(crate) mod stp;
pub(crate) mod xtp;

use std::sync::Arc;

use ::quic::Logs;
use congestion::AnyController;
use runtime::Leg;
use scenario::model::OwnSettings;
use transport::{Endpoint, Streams};
use wire::IpVersion;

use crate::hosts::BlueprintEnd;
use crate::split;

pub(crate) use any::{Any, End, Packet};
pub(crate) use packet::{Carried, Content, OnWire};

/// State that only ends of one protocol share.
#[derive(Clone, Debug)]
pub(crate) enum Shared {
    Tcp,
    Quic(quic::Blueprint),
    Stp(Arc<::stp::Config>),
    Xtp(Arc<::xtp::Config>),
    Sctp(Arc<::sctp::Config>),
}

impl Shared {
    /// For both ends of a leg of a run with this seed and these logs.
    pub(crate) fn of(leg: &Leg<'_>, seed: u64, ip: IpVersion, logs: &Logs) -> [Self; 2] {
        match leg.ends.map(|end| end.own) {
            [OwnSettings::Quic(first), OwnSettings::Quic(last)] => {
                let ends = quic::Blueprint::of(leg, [&**first, &**last], seed, logs);
                ends.map_or([Self::Tcp, Self::Tcp], |ends| ends.map(Self::Quic))
            }
            ends => ends.map(|own| match own {
                OwnSettings::Stp(config) => {
                    let ip_header = ip.header_bytes();
                    Self::Stp(Arc::new(::stp::Config { ip_header, ..::stp::Config::clone(config) }))
                }
                OwnSettings::Xtp(config) => Self::Xtp(config.clone()),
                OwnSettings::Sctp(config) => Self::Sctp(config.clone()),
                // Both ends of a leg have the same protocol, or the scenario is not resolved.
                OwnSettings::Tcp | OwnSettings::Quic(_) => Self::Tcp,
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

/// One end of a connection, as the loop needs it.
pub(crate) trait Connection:
    Endpoint<Packet: Carried> + split::Leg + std::fmt::Debug
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

    /// The end by its protocol.
    fn end(&self) -> End<'_>;

    /// The end if it is one of TCP.
    fn tcp(&self) -> Option<&tcp::Connection> {
        if let End::Tcp(end) = self.end() { Some(end) } else { None }
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
        let mut connection = Self::new(end.config.clone(), controller, initial_sequence);
        if only_answers && end.config.quick_start.is_some() {
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
