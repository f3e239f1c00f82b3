//! Middleboxes that see the packets that a node forwards.
//!
//! A device gets a packet, or the time for which it has asked, and returns the packets that go on:
//! those that pass, those that it has held, and those that it makes itself. Each goes to its own
//! destination.

use units::Time;

use crate::decimation::Decimation;
use crate::header::Visible;
use crate::packet_control::PacketControl;
use crate::reconstruction::Reconstruction;
use crate::settings::Middlebox;
use crate::snoop::Snoop;
use crate::spoofing::Spoofing;

/// A state machine at a node. Time never runs back.
pub(crate) trait Device<P> {
    /// A packet is forwarded. What goes on is added to `out`.
    fn on_packet(&mut self, now: Time, packet: P, out: &mut Vec<P>);

    /// The time of [`next_timer`](Self::next_timer) has come.
    fn on_timer(&mut self, now: Time, out: &mut Vec<P>) {
        let _ = (now, out);
    }

    /// When [`on_timer`](Self::on_timer) is to be called; [`Time::NEVER`] if it is not.
    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    /// Names of what is counted, and how many.
    fn counts(&self) -> Vec<(&'static str, u64)>;
}

/// A device of any kind.
#[derive(Clone, Debug)]
pub enum AnyDevice<P> {
    /// ACK decimation.
    Decimation(Decimation<P>),
    /// TCP packet control.
    PacketControl(PacketControl<P>),
    /// ACK reconstruction.
    Reconstruction(Reconstruction<P>),
    /// Snoop.
    Snoop(Snoop<P>),
    /// Spoofing proxy.
    Spoofing(Spoofing<P>),
}

/// Calls the device behind each variant.
macro_rules! each {
    ($any:expr, $device:ident => $call:expr) => {
        match $any {
            AnyDevice::Decimation($device) => $call,
            AnyDevice::Reconstruction($device) => $call,
            AnyDevice::PacketControl($device) => $call,
            AnyDevice::Snoop($device) => $call,
            AnyDevice::Spoofing($device) => $call,
        }
    };
}

impl<P: Visible> AnyDevice<P> {
    /// The idle device; `None` for what works in queues.
    pub fn new(settings: Middlebox) -> Option<Self> {
        Some(match settings {
            Middlebox::AckFilter(_) => return None,
            Middlebox::AckDecimation(settings) => Self::Decimation(Decimation::new(settings)),
            Middlebox::AckReconstruction(settings) => {
                Self::Reconstruction(Reconstruction::new(settings))
            }
            Middlebox::PacketControl(settings) => Self::PacketControl(PacketControl::new(settings)),
            Middlebox::Snoop(settings) => Self::Snoop(Snoop::new(settings)),
            Middlebox::SpoofingProxy(settings) => Self::Spoofing(Spoofing::new(settings)),
        })
    }

    /// A packet is forwarded. What goes on is added to `out`.
    pub fn on_packet(&mut self, now: Time, packet: P, out: &mut Vec<P>) {
        each!(self, device => device.on_packet(now, packet, out));
    }

    /// The time of [`next_timer`](Self::next_timer) has come. What goes on is added to `out`.
    pub fn on_timer(&mut self, now: Time, out: &mut Vec<P>) {
        each!(self, device => device.on_timer(now, out));
    }

    /// When [`on_timer`](Self::on_timer) is to be called; [`Time::NEVER`] if it is not.
    pub fn next_timer(&self) -> Time {
        each!(self, device => device.next_timer())
    }

    /// Names of what is counted, and how many.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        each!(self, device => device.counts())
    }
}
