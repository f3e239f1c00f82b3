//! An end of any protocol, for runs in which not all flows speak TCP, or in which gateways have rates.
//!
//! The list at the end of this file makes ends and packets of one variant for each protocol.

use congestion::AnyController;
use sketch::Sketch;
use tcp::Segment;
use transport::{AbortCause, Counters, Endpoint, Sample, Streams};
use units::Time;
use wire::feedback::Field;

use super::packet::{Content, OnWire};
use super::{Connection, Shared};
use crate::hosts::BlueprintEnd;
use crate::split::Leg;

/// Declares the protocols: for each a variant, its ends, and its packets, which are boxed where they are longer than
/// a segment of TCP.
macro_rules! protocols {
    ($($(#[$doc:meta])* $variant:ident($end:ty, $packet:ty),)+) => {
        /// An end of one of the protocols.
        #[derive(Debug)]
        pub(crate) enum Any {
            $($(#[$doc])* $variant(Box<$end>),)+
        }

        /// A packet of one of the protocols.
        #[derive(Clone, Debug)]
        pub(crate) enum Packet {
            $($(#[$doc])* $variant($packet),)+
        }

        /// An end by its protocol, for what only one protocol reports.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum End<'a> {
            $($(#[$doc])* $variant(&'a $end),)+
        }

        impl Any {
            /// The end by its protocol.
            pub(super) fn by_protocol(&self) -> End<'_> {
                match self {
                    $(Self::$variant(end) => End::$variant(end),)+
                }
            }
        }

        /// A packet of another protocol than that of the end does nothing.
        impl Endpoint for Any {
            type Packet = Packet;

            fn connect(&mut self) {
                match self {
                    $(Self::$variant(end) => Endpoint::connect(&mut **end),)+
                }
            }

            fn listen(&mut self) {
                match self {
                    $(Self::$variant(end) => Endpoint::listen(&mut **end),)+
                }
            }

            #[inline(never)]
            fn on_packet(&mut self, now: Time, packet: &Packet) {
                match (self, packet) {
                    $((Self::$variant(end), Packet::$variant(packet)) => {
                        Endpoint::on_packet(&mut **end, now, packet);
                    })+
                    _ => {}
                }
            }

            fn on_congestion_experienced(&mut self) {
                match self {
                    $(Self::$variant(end) => Endpoint::on_congestion_experienced(&mut **end),)+
                }
            }

            fn on_marked_packet(&mut self, now: Time, packet: &Packet) {
                match (self, packet) {
                    $((Self::$variant(end), Packet::$variant(packet)) => {
                        Endpoint::on_marked_packet(&mut **end, now, packet);
                    })+
                    _ => {}
                }
            }

            fn take_field(&mut self, packet: &Packet) -> Field {
                match (self, packet) {
                    $((Self::$variant(end), Packet::$variant(packet)) => {
                        Endpoint::take_field(&mut **end, packet)
                    })+
                    _ => Field::default(),
                }
            }

            fn on_field(&mut self, now: Time, field: &Field) {
                match self {
                    $(Self::$variant(end) => Endpoint::on_field(&mut **end, now, field),)+
                }
            }

            fn may_send(&self) -> bool {
                match self {
                    $(Self::$variant(end) => Endpoint::may_send(&**end),)+
                }
            }

            #[inline(never)]
            fn next_packet(&mut self, now: Time) -> Option<Packet> {
                Some(match self {
                    $(Self::$variant(end) => {
                        Packet::$variant(Endpoint::next_packet(&mut **end, now)?.into())
                    })+
                })
            }

            fn may_have_low_priority(&self) -> bool {
                match self {
                    $(Self::$variant(end) => Endpoint::may_have_low_priority(&**end),)+
                }
            }

            fn next_of_low_priority(&mut self, now: Time) -> Option<Packet> {
                Some(match self {
                    $(Self::$variant(end) => {
                        Packet::$variant(Endpoint::next_of_low_priority(&mut **end, now)?.into())
                    })+
                })
            }

            fn deadline(&self) -> Time {
                match self {
                    $(Self::$variant(end) => Endpoint::deadline(&**end),)+
                }
            }

            fn on_deadline(&mut self, now: Time) {
                match self {
                    $(Self::$variant(end) => Endpoint::on_deadline(&mut **end, now),)+
                }
            }

            fn write(&mut self, bytes: u64) {
                match self {
                    $(Self::$variant(end) => Endpoint::write(&mut **end, bytes),)+
                }
            }

            fn withdraw(&mut self) -> u64 {
                match self {
                    $(Self::$variant(end) => Endpoint::withdraw(&mut **end),)+
                }
            }

            fn read(&mut self, bytes: u64) {
                match self {
                    $(Self::$variant(end) => Endpoint::read(&mut **end, bytes),)+
                }
            }

            fn unread(&self) -> u64 {
                match self {
                    $(Self::$variant(end) => Endpoint::unread(&**end),)+
                }
            }

            fn delivered(&self) -> u64 {
                match self {
                    $(Self::$variant(end) => Endpoint::delivered(&**end),)+
                }
            }

            fn close(&mut self) {
                match self {
                    $(Self::$variant(end) => Endpoint::close(&mut **end),)+
                }
            }

            fn abort_cause(&self) -> Option<AbortCause> {
                match self {
                    $(Self::$variant(end) => Endpoint::abort_cause(&**end),)+
                }
            }

            fn counters(&self) -> &Counters {
                match self {
                    $(Self::$variant(end) => Endpoint::counters(&**end),)+
                }
            }

            fn sample(&self) -> Sample {
                match self {
                    $(Self::$variant(end) => Endpoint::sample(&**end),)+
                }
            }

            fn rtt_samples(&self) -> &Sketch {
                match self {
                    $(Self::$variant(end) => Endpoint::rtt_samples(&**end),)+
                }
            }
        }
    };
}

protocols! {
    /// TCP, and SCPS-TP, which is a form of it.
    Tcp(tcp::Connection, Segment),
    /// QUIC.
    Quic(quic::Connection, quic::Datagram),
    /// STP.
    Stp(stp::Connection, stp::Packet),
    /// XTP.
    Xtp(xtp::Connection, Box<xtp::Packet>),
    /// SCTP.
    Sctp(sctp::Connection, Box<sctp::Packet>),
}

impl From<Segment> for Packet {
    fn from(segment: Segment) -> Self {
        Self::Tcp(segment)
    }
}

impl Packet {
    /// The segment of TCP, or the packet of another protocol.
    pub(super) fn content(&self) -> Content<'_> {
        let packet: &dyn OnWire = match self {
            Self::Tcp(segment) => return Content::Tcp(segment),
            Self::Quic(packet) => packet,
            Self::Stp(packet) => packet,
            Self::Xtp(packet) => &**packet,
            Self::Sctp(packet) => &**packet,
        };
        Content::Other(packet)
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
            Shared::Tcp => {
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
                let end = stp::Connection::new(config.clone(), controller, initial_sequence);
                Self::Stp(Box::new(end))
            }
            Shared::Xtp(config) => Self::Xtp(Box::new(xtp::Connection::new(config.clone()))),
            Shared::Sctp(config) => {
                Self::Sctp(Box::new(sctp::Connection::new(config.clone(), initial_sequence)))
            }
        }
    }

    fn listen_on_hold(&mut self) {
        match self {
            Self::Tcp(end) => end.listen_on_hold(),
            // The relay of QUIC decides, and gateways have no ends of the others.
            Self::Quic(_) | Self::Stp(_) | Self::Xtp(_) | Self::Sctp(_) => self.listen(),
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
            Self::Tcp(_) | Self::Stp(_) | Self::Xtp(_) => None,
        }
    }

    fn has_arrived(&self) -> bool {
        match self {
            Self::Quic(end) => end.has_arrived(),
            Self::Sctp(end) => end.has_arrived(),
            Self::Tcp(_) | Self::Stp(_) | Self::Xtp(_) => false,
        }
    }

    fn end(&self) -> End<'_> {
        self.by_protocol()
    }

    fn tcp_mut(&mut self) -> Option<&mut tcp::Connection> {
        if let Self::Tcp(end) = self { Some(end) } else { None }
    }
}

/// The end that a relay may use: gateways have none of STP, XTP and SCTP.
macro_rules! leg {
    ($self:expr, $end:ident => $call:expr, $otherwise:expr) => {
        match $self {
            Any::Tcp($end) => $call,
            Any::Quic($end) => $call,
            Any::Stp(_) | Any::Xtp(_) | Any::Sctp(_) => $otherwise,
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
