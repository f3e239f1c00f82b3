//! The transport protocols that a simulated host speaks.
//!
//! The loop of a run is compiled for one type of connections. A run in which all flows speak TCP
//! has that of the crate `tcp`, and its packets carry segments, so that nothing of them has to ask
//! which protocol it is. Another protocol is a variant of enums over all protocols, one of ends,
//! which implements [`Connection`], and one of packets. They run in a loop of their own. So do ends
//! of gateways that have a rate.
//!
//! This file has all that names each protocol. Their own code is in a file for each.

#[macro_use]
mod delegate;
mod connection;
mod packet;
mod quic;
mod sctp;
mod stp;
mod udp;
mod xtp;

use std::sync::Arc;

use ::quic::Logs;
use congestion::AnyController;
use link::Seed;
use network::{Advance, Delivery, Ecn, Fabric, NodeId};
use recording::ProtocolRecord;
use runtime::{Leg as FlowLeg, quic_record, tcp_record};
use scenario::model::{Flow, Transport};
use sketch::Sketch;
use tcp::Segment;
use transport::{AbortCause, Counters, Datagrams, Endpoint, Limits, Protocol, Sample, Streams};
use units::Time;
use wire::IpVersion;
use wire::feedback::Field;

use crate::capture::SNAPLEN;
use crate::hosts::{BlueprintEnd, Body};
use crate::split::Leg;

pub(crate) use connection::Connection;
pub(crate) use packet::{Carried, Content, OnWire};

protocols! {
    /// TCP, and SCPS-TP, which is a form of it.
    Tcp(tcp::Connection, Segment),
    /// QUIC.
    Quic(::quic::Connection, ::quic::Datagram),
    /// STP.
    Stp(::stp::Connection, ::stp::Packet),
    /// XTP.
    Xtp(::xtp::Connection, ::xtp::Packet),
    /// SCTP.
    Sctp(::sctp::Connection, ::sctp::Packet),
    /// UDP.
    Udp(::udp::Connection, ::udp::Packet),;
    /// TCP, after the connection is closed.
    Ended(tcp::Ended) of Tcp,
}

impl Default for Packet {
    fn default() -> Self {
        Self::Tcp(Segment::default())
    }
}

impl From<Segment> for Packet {
    fn from(segment: Segment) -> Self {
        Self::Tcp(segment)
    }
}

/// The answer of a segment of TCP, or of a packet of another protocol.
macro_rules! each_packet {
    ($self:expr, $segment:ident => $of_tcp:expr, $packet:ident => $of_other:expr) => {
        match $self {
            Packet::Tcp($segment) => $of_tcp,
            Packet::Quic($packet) => $of_other,
            Packet::Stp($packet) => $of_other,
            Packet::Xtp($packet) => $of_other,
            Packet::Sctp($packet) => $of_other,
            Packet::Udp($packet) => $of_other,
        }
    };
}

/// Packets of other protocols than TCP count as if they had data.
impl Carried for Packet {
    #[inline]
    fn bytes(&self) -> u16 {
        each_packet!(self, segment => segment.bytes(), packet => OnWire::bytes(packet))
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        each_packet!(self, segment => segment.ecn(), packet => match packet.is_ecn_capable() {
            true => Ecn::Capable,
            false => Ecn::NotCapable,
        })
    }

    #[inline]
    fn path(&self) -> u8 {
        each_packet!(self, _segment => 0, packet => OnWire::path(packet))
    }

    fn has_data(&self) -> bool {
        each_packet!(self, segment => segment.has_data(), _packet => true)
    }

    fn content(&self) -> Content<'_> {
        each_packet!(self, segment => Content::Tcp(segment), packet => Content::Other(packet))
    }

    #[inline]
    fn segment(&self) -> Option<&Segment> {
        if let Self::Tcp(segment) = self { Some(segment) } else { None }
    }

    #[inline]
    fn send<F: Fabric<Body<Self>>>(
        fabric: &mut F,
        now: Time,
        from: NodeId,
        packet: &mut network::Packet<Body<Self>>,
    ) {
        let network::Packet { body, flow, to, bytes, priority, ecn } = packet;
        let body = Body { endpoint: body.endpoint, packet: std::mem::take(&mut body.packet) };
        let (flow, to, bytes, priority, ecn) = (*flow, *to, *bytes, *priority, *ecn);
        fabric.send(now, from, network::Packet { body, flow, to, bytes, priority, ecn });
    }

    #[inline]
    fn advance<F: Fabric<Body<Self>>, R>(
        fabric: &mut F,
        _until: Time,
        look: impl FnOnce(Time, &network::Packet<Body<Self>>, &Field) -> R,
    ) -> Advance<R> {
        let at = fabric.next_event();
        let seen = fabric.advance();
        let seen = seen.map(|Delivery { at, packet }| look(at, &packet, &fabric.arrived_field()));
        Advance { at, events: 1, port: u32::MAX, seen }
    }
}

/// How the ends of one protocol are made.
#[derive(Clone, Debug)]
pub(crate) enum Shared {
    Tcp(Arc<tcp::Config>),
    Quic(quic::Blueprint),
    Stp(Arc<::stp::Config>),
    Xtp(Arc<::xtp::Config>),
    Sctp(Arc<::sctp::Config>),
    Udp,
}

impl Shared {
    /// For both ends of a leg of a run with this seed and these logs.
    pub(crate) fn of(leg: &FlowLeg<'_>, seed: &Seed, ip: IpVersion, logs: &Logs) -> [Self; 2] {
        if let [Transport::Quic(first), Transport::Quic(last)] = leg.ends.map(|end| end.transport)
            && let Some(ends) = quic::Blueprint::of(leg, [&**first, &**last], seed, logs)
        {
            return ends.map(Self::Quic);
        }
        leg.ends.map(|end| match end.transport {
            Transport::Tcp(config) => Self::Tcp(config.clone()),
            Transport::Stp(config) => {
                let ip_header = ip.header_bytes();
                Self::Stp(Arc::new(::stp::Config { ip_header, ..::stp::Config::clone(config) }))
            }
            Transport::Xtp(config) => Self::Xtp(config.clone()),
            Transport::Sctp(config) => Self::Sctp(config.clone()),
            Transport::Udp(_) => Self::Udp,
            // Both ends of a leg have the same protocol, or the scenario is not resolved.
            Transport::Quic(_) => Self::Tcp(Arc::default()),
        })
    }

    pub(crate) fn is_tcp(&self) -> bool {
        matches!(self, Self::Tcp(_))
    }
}

/// Most bytes that are worth keeping of the packets of a protocol, with the header of IP.
pub(crate) fn snaplen(transport: &Transport) -> u16 {
    match transport {
        Transport::Tcp(_) | Transport::Stp(_) | Transport::Udp(_) => SNAPLEN,
        Transport::Quic(_) => quic::SNAPLEN,
        Transport::Xtp(_) => xtp::SNAPLEN,
        Transport::Sctp(_) => sctp::SNAPLEN,
    }
}

/// The part of the totals of a flow that only its protocol has, from the totals of its senders and
/// both ends of its connections.
pub(crate) fn record(
    flow: &Flow,
    sent: &Counters,
    ends: &[[End<'_>; 2]],
    is_aborted: bool,
) -> ProtocolRecord {
    macro_rules! pairs {
        ($protocol:ident) => {
            ends.iter().filter_map(|pair| match pair {
                [End::$protocol(sender), End::$protocol(receiver)] => Some([*sender, *receiver]),
                _ => None,
            })
        };
    }
    match flow.protocol() {
        Protocol::Tcp => ProtocolRecord::Tcp(tcp_record(flow, sent)),
        Protocol::ScpsTp => ProtocolRecord::ScpsTp(tcp_record(flow, sent)),
        Protocol::Quic => {
            let error = || ::quic::reason(pairs!(Quic).flatten());
            let error = if is_aborted { error() } else { None };
            ProtocolRecord::Quic(quic_record(sent, pairs!(Quic), error))
        }
        Protocol::Stp => ProtocolRecord::Stp(stp::record(sent, pairs!(Stp))),
        Protocol::Xtp => ProtocolRecord::Xtp(xtp::record(sent, pairs!(Xtp))),
        Protocol::Sctp => ProtocolRecord::Sctp(sctp::record(sent, pairs!(Sctp))),
        Protocol::Udp => ProtocolRecord::Udp(udp::record(sent, pairs!(Udp))),
    }
}

impl Connection for Any {
    const MAY_BE_OTHERS: bool = true;

    fn new(
        end: &BlueprintEnd,
        controller: AnyController,
        initial_sequence: u32,
        only_answers: bool,
    ) -> Self {
        match &end.shared {
            Shared::Tcp(_) => {
                let end = <tcp::Connection as Connection>::new(
                    end,
                    controller,
                    initial_sequence,
                    only_answers,
                );
                Self::Tcp(Box::new(end))
            }
            Shared::Quic(blueprint) => Self::Quic(Box::new(blueprint.end())),
            Shared::Stp(config) => {
                let end = ::stp::Connection::new(config.clone(), controller, initial_sequence);
                Self::Stp(Box::new(end))
            }
            Shared::Xtp(config) => Self::Xtp(Box::new(::xtp::Connection::new(config.clone()))),
            Shared::Sctp(config) => {
                Self::Sctp(Box::new(::sctp::Connection::new(config.clone(), initial_sequence)))
            }
            Shared::Udp => Self::Udp(Box::default()),
        }
    }

    fn listen_on_hold(&mut self) {
        match self {
            Self::Tcp(end) => end.listen_on_hold(),
            // The relay of QUIC decides, and gateways have no ends of the others.
            Self::Quic(_)
            | Self::Stp(_)
            | Self::Xtp(_)
            | Self::Sctp(_)
            | Self::Udp(_)
            | Self::Ended(_) => {
                self.listen();
            }
        }
    }

    fn identify(&mut self, flow: u32, connection: u32) {
        if let Self::Quic(end) = self {
            end.identify(flow, connection);
        }
    }

    fn streams(&mut self) -> Option<&mut dyn Streams> {
        match self {
            Self::Quic(end) => Some(&mut **end),
            Self::Sctp(end) => Some(&mut **end),
            Self::Tcp(_) | Self::Stp(_) | Self::Xtp(_) | Self::Udp(_) | Self::Ended(_) => None,
        }
    }

    fn datagrams(&mut self) -> Option<&mut dyn Datagrams> {
        if let Self::Udp(end) = self { Some(&mut **end) } else { None }
    }

    fn has_arrived(&self) -> bool {
        match self {
            Self::Quic(end) => end.has_arrived(),
            Self::Sctp(end) => end.has_arrived(),
            Self::Udp(end) => end.has_arrived(),
            Self::Tcp(_) | Self::Stp(_) | Self::Xtp(_) | Self::Ended(_) => false,
        }
    }

    fn end(&self) -> End<'_> {
        self.by_protocol()
    }

    fn tcp_mut(&mut self) -> Option<&mut tcp::Connection> {
        if let Self::Tcp(end) = self { Some(end) } else { None }
    }

    fn delete_if_over(&mut self, now: Time, take: impl FnOnce(&Sketch)) {
        let Self::Tcp(end) = self else { return };
        if let Some(ended) = end.ended(now) {
            take(end.rtt().samples());
            *self = Self::Ended(ended.into());
        } else if let Some(samples) = end.rest() {
            take(&samples);
        }
    }
}

/// The end that a relay may use: gateways have none of STP, XTP, SCTP and UDP.
macro_rules! leg {
    ($self:expr, $end:ident => $call:expr, $otherwise:expr) => {
        match $self {
            Any::Tcp($end) => $call,
            Any::Quic($end) => $call,
            Any::Stp(_) | Any::Xtp(_) | Any::Sctp(_) | Any::Udp(_) | Any::Ended(_) => $otherwise,
        }
    };
}

impl Leg for Any {
    fn failure(&self) -> Option<AbortCause> {
        leg!(self, end => Leg::failure(&**end), Endpoint::abort_cause(self))
    }

    fn is_aborted(&self) -> bool {
        leg!(self, end => Leg::is_aborted(&**end), Endpoint::abort_cause(self).is_some())
    }

    fn is_held(&self) -> bool {
        leg!(self, end => Leg::is_held(&**end), false)
    }

    fn answer(&mut self, now: Time) {
        leg!(self, end => Leg::answer(&mut **end, now), ());
    }

    fn turn_away(&mut self, now: Time) {
        leg!(self, end => Leg::turn_away(&mut **end, now), ());
    }

    fn is_forsaken(&self) -> bool {
        leg!(self, end => Leg::is_forsaken(&**end), false)
    }

    fn open(&mut self, now: Time) {
        leg!(self, end => Leg::open(&mut **end, now), ());
    }

    fn is_established(&self) -> bool {
        leg!(self, end => Leg::is_established(&**end), false)
    }

    fn is_writable(&self) -> bool {
        leg!(self, end => Leg::is_writable(&**end), false)
    }

    fn take(&mut self, most: u64) -> u64 {
        leg!(self, end => Leg::take(&mut **end, most), 0)
    }

    fn has_ended(&self) -> bool {
        leg!(self, end => Leg::has_ended(&**end), false)
    }

    fn give(&mut self, most: u64) -> u64 {
        leg!(self, end => Leg::give(&mut **end, most), 0)
    }

    fn abort(&mut self) {
        leg!(self, end => Leg::abort(&mut **end), ());
    }

    fn arrived(&self) -> u64 {
        leg!(self, end => Leg::arrived(&**end), 0)
    }

    fn acknowledged(&self) -> Option<u64> {
        leg!(self, end => Leg::acknowledged(&**end), None)
    }
}
