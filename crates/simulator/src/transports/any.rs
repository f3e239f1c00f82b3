//! An end of any protocol, for runs in which not all flows speak TCP, or in which gateways have rates.

use congestion::AnyController;
use sketch::Sketch;
use tcp::Segment;
use transport::{AbortCause, Counters, Endpoint, Sample, Streams};
use units::Time;
use wire::feedback::Field;

use super::quic::Quic;
use super::sctp::Sctp;
use super::stp::{self, Stp};
use super::xtp::Xtp;
use super::{Connection, OnWire, Shared, carried};
use crate::hosts::BlueprintEnd;
use crate::split::Leg;

/// An end of one of the protocols.
#[derive(Debug)]
pub(crate) enum Any {
    /// TCP.
    Tcp(Box<tcp::Connection>),
    /// QUIC.
    Quic(Box<Quic>),
    /// STP.
    Stp(Box<Stp>),
    /// XTP.
    Xtp(Box<Xtp>),
    /// SCTP.
    Sctp(Box<Sctp>),
}

macro_rules! each {
    ($self:expr, $end:ident => $call:expr) => {
        match $self {
            Any::Tcp($end) => $call,
            Any::Quic($end) => $call,
            Any::Stp($end) => $call,
            Any::Xtp($end) => $call,
            Any::Sctp($end) => $call,
        }
    };
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
            Shared::Quic(blueprint) => Self::Quic(Box::new(blueprint.end())),
            Shared::Stp(config) => {
                Self::Stp(Box::new(Stp::new(config.clone(), controller, initial_sequence)))
            }
            Shared::Xtp(path) => Self::Xtp(Box::new(path.end())),
            Shared::Sctp(path) => Self::Sctp(Box::new(path.end(initial_sequence))),
            Shared::Tcp => {
                let end = <tcp::Connection as Connection>::new(
                    end,
                    controller,
                    initial_sequence,
                    only_answers,
                );
                Self::Tcp(Box::new(end))
            }
        }
    }

    fn listen_on_hold(&mut self) {
        match self {
            Self::Tcp(end) => end.listen_on_hold(),
            // Its relay decides.
            Self::Quic(end) => end.listen(),
            Self::Stp(end) => end.listen(),
            Self::Xtp(end) => end.listen(),
            Self::Sctp(end) => end.listen(),
        }
    }

    fn identify(&mut self, flow: u32, connection: u32) {
        if let Self::Quic(end) = self {
            end.end.identify(flow, connection);
        }
    }

    fn streams(&mut self) -> Option<&mut dyn Streams> {
        match self {
            Self::Quic(end) => Some(&mut end.end),
            Self::Sctp(end) => Some(&mut end.end),
            Self::Tcp(_) | Self::Stp(_) | Self::Xtp(_) => None,
        }
    }

    fn has_arrived(&self) -> bool {
        match self {
            Self::Quic(end) => end.end.has_arrived(),
            Self::Sctp(end) => end.end.has_arrived(),
            Self::Tcp(_) | Self::Stp(_) | Self::Xtp(_) => false,
        }
    }

    fn path(&self, packet: &Segment) -> u8 {
        if let Self::Sctp(_) = self { carried::path(packet) } else { 0 }
    }

    fn bytes(&self, packet: &Segment) -> u16 {
        match self {
            Self::Tcp(_) => packet.bytes(),
            Self::Quic(_) | Self::Xtp(_) | Self::Sctp(_) => carried::bytes(packet),
            Self::Stp(_) => stp::bytes(packet),
        }
    }

    fn on_wire(&self) -> Option<&dyn OnWire> {
        match self {
            Self::Tcp(_) => None,
            Self::Quic(end) => Some(&**end),
            Self::Stp(end) => Some(&**end),
            Self::Xtp(end) => Some(&**end),
            Self::Sctp(end) => Some(&**end),
        }
    }

    fn quic(&self) -> Option<&::quic::Connection> {
        if let Self::Quic(end) = self { Some(&end.end) } else { None }
    }

    fn stp(&self) -> Option<&::stp::Connection> {
        if let Self::Stp(end) = self { Some(end.connection()) } else { None }
    }

    fn xtp(&self) -> Option<&::xtp::Connection> {
        if let Self::Xtp(end) = self { Some(&end.end) } else { None }
    }

    fn sctp(&self) -> Option<&::sctp::Connection> {
        if let Self::Sctp(end) = self { Some(&end.end) } else { None }
    }

    fn tcp(&self) -> Option<&tcp::Connection> {
        if let Self::Tcp(end) = self { Some(end) } else { None }
    }

    fn tcp_mut(&mut self) -> Option<&mut tcp::Connection> {
        if let Self::Tcp(end) = self { Some(end) } else { None }
    }
}

/// The end that a relay may use: gateways have none of STP, XTP and SCTP.
macro_rules! leg {
    ($self:expr, $end:ident => $call:expr, $otherwise:expr) => {
        match $self {
            Any::Tcp(tcp) => {
                let $end = &**tcp;
                $call
            }
            Any::Quic(quic) => {
                let $end = &quic.end;
                $call
            }
            Any::Stp(_) | Any::Xtp(_) | Any::Sctp(_) => $otherwise,
        }
    };
}

macro_rules! leg_mut {
    ($self:expr, $end:ident => $call:expr) => {
        match $self {
            Any::Tcp(tcp) => {
                let $end = &mut **tcp;
                $call
            }
            Any::Quic(quic) => {
                let $end = &mut quic.end;
                $call
            }
            Any::Stp(_) | Any::Xtp(_) | Any::Sctp(_) => Default::default(),
        }
    };
}

impl Leg for Any {
    fn failure(&self) -> Option<AbortCause> {
        leg!(self, end => Leg::failure(end), Endpoint::abort_cause(self))
    }

    fn is_aborted(&self) -> bool {
        leg!(self, end => Leg::is_aborted(end), Endpoint::abort_cause(self).is_some())
    }

    fn is_held(&self) -> bool {
        leg!(self, end => Leg::is_held(end), false)
    }

    fn answer(&mut self, now: Time) {
        leg_mut!(self, end => Leg::answer(end, now));
    }

    fn turn_away(&mut self, now: Time) {
        leg_mut!(self, end => Leg::turn_away(end, now));
    }

    fn is_forsaken(&self) -> bool {
        leg!(self, end => Leg::is_forsaken(end), false)
    }

    fn open(&mut self, now: Time) {
        leg_mut!(self, end => Leg::open(end, now));
    }

    fn is_established(&self) -> bool {
        leg!(self, end => Leg::is_established(end), false)
    }

    fn is_writable(&self) -> bool {
        leg!(self, end => Leg::is_writable(end), false)
    }

    fn take(&mut self, most: u64) -> u64 {
        leg_mut!(self, end => Leg::take(end, most))
    }

    fn has_ended(&self) -> bool {
        leg!(self, end => Leg::has_ended(end), false)
    }

    fn give(&mut self, most: u64) -> u64 {
        leg_mut!(self, end => Leg::give(end, most))
    }

    fn abort(&mut self) {
        leg_mut!(self, end => Leg::abort(end));
    }

    fn arrived(&self) -> u64 {
        leg!(self, end => Leg::arrived(end), 0)
    }

    fn acknowledged(&self) -> Option<u64> {
        leg!(self, end => Leg::acknowledged(end), None)
    }
}

impl Endpoint for Any {
    type Packet = Segment;

    fn connect(&mut self) {
        each!(self, end => Endpoint::connect(&mut **end));
    }

    fn listen(&mut self) {
        each!(self, end => Endpoint::listen(&mut **end));
    }

    #[inline(never)]
    fn on_packet(&mut self, now: Time, packet: &Segment) {
        each!(self, end => Endpoint::on_packet(&mut **end, now, packet));
    }

    fn on_congestion_experienced(&mut self) {
        each!(self, end => Endpoint::on_congestion_experienced(&mut **end));
    }

    fn on_marked_packet(&mut self, now: Time, packet: &Segment) {
        each!(self, end => Endpoint::on_marked_packet(&mut **end, now, packet));
    }

    fn take_field(&mut self, packet: &Segment) -> Field {
        each!(self, end => Endpoint::take_field(&mut **end, packet))
    }

    fn on_field(&mut self, now: Time, field: &Field) {
        each!(self, end => Endpoint::on_field(&mut **end, now, field));
    }

    fn may_send(&self) -> bool {
        each!(self, end => Endpoint::may_send(&**end))
    }

    #[inline(never)]
    fn next_packet(&mut self, now: Time) -> Option<Segment> {
        each!(self, end => Endpoint::next_packet(&mut **end, now))
    }

    fn may_have_low_priority(&self) -> bool {
        each!(self, end => Endpoint::may_have_low_priority(&**end))
    }

    fn next_of_low_priority(&mut self, now: Time) -> Option<Segment> {
        each!(self, end => Endpoint::next_of_low_priority(&mut **end, now))
    }

    fn deadline(&self) -> Time {
        each!(self, end => Endpoint::deadline(&**end))
    }

    fn on_deadline(&mut self, now: Time) {
        each!(self, end => Endpoint::on_deadline(&mut **end, now));
    }

    fn write(&mut self, bytes: u64) {
        each!(self, end => Endpoint::write(&mut **end, bytes));
    }

    fn withdraw(&mut self) -> u64 {
        each!(self, end => Endpoint::withdraw(&mut **end))
    }

    fn read(&mut self, bytes: u64) {
        each!(self, end => Endpoint::read(&mut **end, bytes));
    }

    fn unread(&self) -> u64 {
        each!(self, end => Endpoint::unread(&**end))
    }

    fn delivered(&self) -> u64 {
        each!(self, end => Endpoint::delivered(&**end))
    }

    fn close(&mut self) {
        each!(self, end => Endpoint::close(&mut **end));
    }

    fn abort_cause(&self) -> Option<AbortCause> {
        each!(self, end => Endpoint::abort_cause(&**end))
    }

    fn counters(&self) -> &Counters {
        each!(self, end => Endpoint::counters(&**end))
    }

    fn sample(&self) -> Sample {
        each!(self, end => Endpoint::sample(&**end))
    }

    fn rtt_samples(&self) -> &Sketch {
        each!(self, end => Endpoint::rtt_samples(&**end))
    }
}
