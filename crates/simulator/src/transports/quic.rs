//! QUIC in the simulator: ends of the crate `quic`, whose datagrams wait while their packets cross the network.
//!
//! A packet is a [`Segment`] with the number of its datagram as sequence number, and a payload with which it
//! is as long as a UDP packet with the datagram.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quic::{Choice, Config, Maker, Settings};
use scenario::model::Flow;
use sketch::Sketch;
use tcp::{Flags, Options, Segment};
use transport::{AbortCause, Counters, Endpoint, Sample, Streams};
use units::Time;
use wire::{tcp as tcp_header, udp};

use super::datagrams::Datagrams;

/// Datagrams are kept for this many idle timeouts: the first ends the connection.
const IDLE_TIMEOUTS: u64 = 2;

/// What both ends of the connections of a flow share.
#[derive(Debug)]
pub(crate) struct Path {
    maker: Maker,
    datagrams: Mutex<Datagrams>,
}

impl Path {
    /// For a flow with QUIC.
    pub(crate) fn of(flow: &Flow, settings: &Settings, seed: u64) -> Option<Self> {
        let settings = *settings;
        let choice = Choice::Laboratory(flow.controller.clone());
        // A scenario with a controller that QUIC cannot carry is not resolved.
        let config = Config::new(settings, choice, None).ok()?;
        let kept = settings.idle_timeout * IDLE_TIMEOUTS;
        // Flows with the same seed of the run are distinguished by their first sequence number.
        let maker = Maker::new(Arc::new(config), seed, flow.initial_sequence);
        Some(Self { maker, datagrams: Mutex::new(Datagrams::new(kept)) })
    }

    fn datagrams(&self) -> MutexGuard<'_, Datagrams> {
        self.datagrams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct Quic {
    end: quic::Connection,
    path: Arc<Path>,
}

impl Quic {
    pub(crate) fn new(path: Arc<Path>) -> Self {
        Self { end: path.maker.end(), path }
    }

    pub(crate) fn connection(&self) -> &quic::Connection {
        &self.end
    }

    pub(crate) fn streams(&mut self) -> &mut dyn Streams {
        &mut self.end
    }

    pub(crate) fn has_arrived(&self) -> bool {
        self.end.has_arrived()
    }
}

/// The payload of a TCP segment that is as long as this datagram.
#[expect(clippy::cast_possible_truncation, reason = "quinn makes no datagram above 1452 bytes")]
const fn payload(datagram: usize) -> u16 {
    (datagram as u16 + udp::HEADER).saturating_sub(tcp_header::HEADER)
}

impl Endpoint for Quic {
    type Packet = Segment;

    fn connect(&mut self) {
        self.end.connect();
    }

    fn listen(&mut self) {
        self.end.listen();
    }

    fn on_packet(&mut self, now: Time, packet: &Segment) {
        let datagram = self.path.datagrams().take(packet.sequence);
        if let Some(datagram) = datagram {
            self.end.on_packet(now, &datagram);
        }
    }

    fn on_congestion_experienced(&mut self) {}

    fn on_marked_packet(&mut self, now: Time, packet: &Segment) {
        let datagram = self.path.datagrams().take(packet.sequence);
        if let Some(datagram) = datagram {
            self.end.on_marked_packet(now, &datagram);
        }
    }

    fn may_send(&self) -> bool {
        self.end.may_send()
    }

    fn next_packet(&mut self, now: Time) -> Option<Segment> {
        let datagram = self.end.next_packet(now)?;
        let payload = payload(datagram.bytes.len());
        let options = Options::default().with_if(datagram.is_ecn_capable, Options::ECN_CAPABLE);
        let sequence = self.path.datagrams().put(now, datagram);
        Some(Segment {
            sequence,
            acknowledgement: 0,
            timestamp: 0,
            echo: 0,
            sack: Default::default(),
            window: 0,
            payload,
            mss: 0,
            flags: Flags::default(),
            sack_blocks: 0,
            window_scale: u8::MAX,
            options,
        })
    }

    fn may_have_low_priority(&self) -> bool {
        false
    }

    fn next_of_low_priority(&mut self, _now: Time) -> Option<Segment> {
        None
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
