//! State of an end of a connection, from the kernel, from QUIC or from its datagrams.

use network::FlowId;
use runtime::Side;
use sketch::Sketch;
use transport::{Counters, Datagrams as _, Endpoint as _, Limit, Limits, Sample, Streams as _};
use units::{Span, Time};

use super::{Endpoint, PIECE, Reader};
use crate::plan::Carrier;
use crate::tcp_info::TcpInfo;

impl Endpoint {
    /// Bytes that its socket took.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Returns true if a datagram, or a request or an answer on a stream, has arrived that the
    /// application has not taken.
    pub(crate) fn has_arrived(&self) -> bool {
        self.quic.as_ref().is_some_and(|end| end.connection.has_arrived())
            || self.udp.as_ref().is_some_and(|end| end.has_arrived())
    }

    /// Its connection, if it speaks QUIC.
    pub(crate) fn connection(&self) -> Option<&::quic::Connection> {
        Some(&self.quic.as_ref()?.connection)
    }

    /// State of the sender.
    pub(crate) fn sample(&self) -> Sample {
        match (&self.quic, &self.udp) {
            (Some(end), _) => end.connection.sample(),
            (_, Some(end)) => end.sample(),
            _ => self.info.sample(),
        }
    }

    /// Totals of the sender.
    pub(crate) fn counters(&self) -> Counters {
        match (&self.quic, &self.udp) {
            (Some(end), _) => *end.connection.counters(),
            (_, Some(end)) => *end.counters(),
            _ => self.info.counters(self.recoveries),
        }
    }

    /// The RTT samples of the sender in nanoseconds. The kernel reports a smoothed RTT and the
    /// minimum, and no samples.
    pub(crate) fn rtt_samples(&self) -> Option<&Sketch> {
        self.quic.as_ref().map(|end| end.connection.rtt_samples())
    }

    /// Time of the sender by what held it back until `now`, with TCP as far as the kernel measures
    /// it.
    pub(crate) fn limits(&self, now: Time) -> Option<Limits> {
        match (&self.quic, &self.udp) {
            (Some(end), _) => end.connection.limits(now),
            (_, Some(_)) => None,
            _ => self.info.limits(),
        }
    }

    /// Time from its opening until it was connected, if it is the end that opened the connection.
    pub(crate) fn connect_time(&self, now: Time) -> Option<Span> {
        match &self.quic {
            Some(end) => end.connection.limits(now)?.time(Limit::SetUp),
            None => self.connected.map(|connected| connected.since(self.opened)),
        }
    }

    /// Returns true if its connection was given up.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    pub(super) fn new(flow: FlowId, carrier: &Carrier, side: Side) -> Self {
        let sockets = carrier.sockets(side);
        let write = sockets.map_or(PIECE as u64, |settings| settings.write);
        let reader_rate = sockets.and_then(|settings| settings.reader_rate);
        Self {
            flow,
            window: sockets.map(|settings| settings.window),
            received: 0,
            wake_at: u64::MAX,
            info: TcpInfo::default(),
            largest_window: 0,
            recoveries: 0,
            socket: None,
            opened: Time::ZERO,
            connected: None,
            written: 0,
            unwritten: 0,
            write,
            closing: false,
            shut: false,
            ended: false,
            failed: false,
            reader: reader_rate.map(|rate| Reader { rate, piece: 0 }),
            address: None,
            quic: None,
            udp: None,
        }
    }
}
