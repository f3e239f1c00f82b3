//! Ends of protocols whose packets do not fit a [`Segment`]: the packets wait while their numbers cross the network.
//!
//! The segment of a packet has its number as sequence number, its path as window scale, and as payload all that IP
//! carries of it. Nothing but
//! an end of the same flow may look at it. Scenarios with mechanisms that look at segments do not resolve with such
//! protocols.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sketch::Sketch;
use tcp::{Options, Segment};
use transport::{AbortCause, Counters, Endpoint, Sample};
use units::{Span, Time};
use wire::Addresses;

use super::OnWire;
use super::datagrams::Datagrams;
use crate::capture::SNAPLEN;

/// A packet of another protocol than TCP.
pub(crate) trait Cargo {
    /// Length of what IP carries of it.
    fn bytes(&self) -> u16;

    /// The path that it takes.
    fn path(&self) -> u8 {
        0
    }

    /// Returns true if routers may mark it instead of dropping it.
    fn is_ecn_capable(&self) -> bool {
        false
    }
}

/// A packet that captures have.
pub(crate) trait Written: Cargo {
    /// Number of its protocol in the header of IP.
    const NUMBER: u8;
    /// Most bytes of it that are worth keeping, with the header of IP. The default has all headers.
    const SNAPLEN: u16 = SNAPLEN;

    /// Appends to `out` all that follows the header of IP, with its checksum. Payload that is not simulated is
    /// zeros. `ports` are those of source and destination.
    fn write(&self, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>);
}

/// The packets of a flow that are in the network.
#[derive(Debug)]
pub(crate) struct Way<P>(Mutex<Datagrams<P>>);

impl<P> Way<P> {
    /// A packet that needs longer than `kept` is lost.
    pub(crate) fn new(kept: Span) -> Self {
        Self(Mutex::new(Datagrams::new(kept)))
    }

    fn packets(&self) -> MutexGuard<'_, Datagrams<P>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An end `E` and the packets between it and the other end.
#[derive(Debug)]
pub(crate) struct Carried<E: Endpoint> {
    pub(crate) end: E,
    way: Arc<Way<E::Packet>>,
}

impl<E: Endpoint> Carried<E> {
    pub(crate) fn new(end: E, way: Arc<Way<E::Packet>>) -> Self {
        Self { end, way }
    }
}

/// The path of the packet in a segment.
pub(crate) fn path(segment: &Segment) -> u8 {
    segment.window_scale
}

/// The length of the packet in a segment.
pub(crate) fn bytes(segment: &Segment) -> u16 {
    segment.payload
}

impl<E: Endpoint<Packet: Cargo>> Carried<E> {
    /// The segment that carries the number of `packet`.
    fn load(&self, now: Time, packet: E::Packet) -> Segment {
        Segment {
            payload: packet.bytes(),
            options: Options::default().with_if(packet.is_ecn_capable(), Options::ECN_CAPABLE),
            window_scale: packet.path(),
            sequence: self.way.packets().put(now, packet),
            ..Segment::default()
        }
    }

    fn unload(&self, segment: &Segment) -> Option<E::Packet> {
        self.way.packets().take(segment.sequence)
    }
}

impl<E: Endpoint<Packet: Written + Debug> + Debug> OnWire for Carried<E> {
    fn number(&self) -> u8 {
        E::Packet::NUMBER
    }

    fn snaplen(&self) -> u16 {
        E::Packet::SNAPLEN
    }

    /// Nothing of a packet that is forgotten.
    fn write(&self, segment: &Segment, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>) {
        if let Some(packet) = self.way.packets().get(segment.sequence) {
            packet.write(addresses, ports, out);
        }
    }
}

impl<E: Endpoint<Packet: Cargo>> Endpoint for Carried<E> {
    type Packet = Segment;

    fn connect(&mut self) {
        self.end.connect();
    }

    fn listen(&mut self) {
        self.end.listen();
    }

    fn on_packet(&mut self, now: Time, segment: &Segment) {
        if let Some(packet) = self.unload(segment) {
            self.end.on_packet(now, &packet);
        }
    }

    fn on_congestion_experienced(&mut self) {
        self.end.on_congestion_experienced();
    }

    fn on_marked_packet(&mut self, now: Time, segment: &Segment) {
        if let Some(packet) = self.unload(segment) {
            self.end.on_marked_packet(now, &packet);
        }
    }

    fn may_send(&self) -> bool {
        self.end.may_send()
    }

    fn next_packet(&mut self, now: Time) -> Option<Segment> {
        let packet = self.end.next_packet(now)?;
        Some(self.load(now, packet))
    }

    fn may_have_low_priority(&self) -> bool {
        self.end.may_have_low_priority()
    }

    fn next_of_low_priority(&mut self, now: Time) -> Option<Segment> {
        let packet = self.end.next_of_low_priority(now)?;
        Some(self.load(now, packet))
    }

    fn deadline(&self) -> Time {
        self.end.deadline()
    }

    fn on_deadline(&mut self, now: Time) {
        self.end.on_deadline(now);
    }

    fn write(&mut self, bytes: u64) {
        self.end.write(bytes);
    }

    fn withdraw(&mut self) -> u64 {
        self.end.withdraw()
    }

    fn read(&mut self, bytes: u64) {
        self.end.read(bytes);
    }

    fn unread(&self) -> u64 {
        self.end.unread()
    }

    fn delivered(&self) -> u64 {
        self.end.delivered()
    }

    fn close(&mut self) {
        self.end.close();
    }

    fn abort_cause(&self) -> Option<AbortCause> {
        self.end.abort_cause()
    }

    fn counters(&self) -> &Counters {
        self.end.counters()
    }

    fn sample(&self) -> Sample {
        self.end.sample()
    }

    fn rtt_samples(&self) -> &Sketch {
        self.end.rtt_samples()
    }
}
