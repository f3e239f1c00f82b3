//! The transport protocols that a simulated host speaks.

use sketch::Sketch;
use tcp::Segment;
use transport::{AbortCause, Counters, Endpoint, KnownPath, Sample};
use units::Time;
use wire::feedback::Field;

/// One end of a connection. Another protocol is another variant.
#[derive(Debug)]
pub(crate) enum Connection {
    /// TCP.
    Tcp(tcp::Connection),
}

impl Connection {
    /// What routers have reported of the path.
    pub(crate) fn known_path(&self) -> Option<KnownPath> {
        match self {
            Self::Tcp(connection) => connection.known_path(),
        }
    }

    /// Another connection between the same hosts has found this.
    pub(crate) fn know_path(&mut self, known: KnownPath) {
        match self {
            Self::Tcp(connection) => connection.know_path(known),
        }
    }
}

impl Endpoint for Connection {
    type Packet = Segment;

    #[inline]
    fn connect(&mut self) {
        match self {
            Self::Tcp(connection) => Endpoint::connect(connection),
        }
    }

    #[inline]
    fn listen(&mut self) {
        match self {
            Self::Tcp(connection) => Endpoint::listen(connection),
        }
    }

    #[inline]
    fn on_congestion_experienced(&mut self) {
        match self {
            Self::Tcp(connection) => Endpoint::on_congestion_experienced(connection),
        }
    }

    #[inline]
    fn may_send(&self) -> bool {
        match self {
            Self::Tcp(connection) => Endpoint::may_send(connection),
        }
    }

    #[inline]
    fn may_have_low_priority(&self) -> bool {
        match self {
            Self::Tcp(connection) => Endpoint::may_have_low_priority(connection),
        }
    }

    #[inline]
    fn next_of_low_priority(&mut self, now: Time) -> Option<Segment> {
        match self {
            Self::Tcp(connection) => Endpoint::next_of_low_priority(connection, now),
        }
    }

    #[inline]
    fn deadline(&self) -> Time {
        match self {
            Self::Tcp(connection) => Endpoint::deadline(connection),
        }
    }

    #[inline]
    fn on_deadline(&mut self, now: Time) {
        match self {
            Self::Tcp(connection) => Endpoint::on_deadline(connection, now),
        }
    }

    #[inline]
    fn write(&mut self, bytes: u64) {
        match self {
            Self::Tcp(connection) => Endpoint::write(connection, bytes),
        }
    }

    #[inline]
    fn withdraw(&mut self) -> u64 {
        match self {
            Self::Tcp(connection) => Endpoint::withdraw(connection),
        }
    }

    #[inline]
    fn read(&mut self, bytes: u64) {
        match self {
            Self::Tcp(connection) => Endpoint::read(connection, bytes),
        }
    }

    #[inline]
    fn unread(&self) -> u64 {
        match self {
            Self::Tcp(connection) => Endpoint::unread(connection),
        }
    }

    #[inline]
    fn delivered(&self) -> u64 {
        match self {
            Self::Tcp(connection) => Endpoint::delivered(connection),
        }
    }

    #[inline]
    fn close(&mut self) {
        match self {
            Self::Tcp(connection) => Endpoint::close(connection),
        }
    }

    #[inline]
    fn abort_cause(&self) -> Option<AbortCause> {
        match self {
            Self::Tcp(connection) => Endpoint::abort_cause(connection),
        }
    }

    #[inline]
    fn counters(&self) -> &Counters {
        match self {
            Self::Tcp(connection) => Endpoint::counters(connection),
        }
    }

    #[inline]
    fn on_packet(&mut self, now: Time, packet: &Segment) {
        match self {
            Self::Tcp(connection) => Endpoint::on_packet(connection, now, packet),
        }
    }

    #[cold]
    fn on_marked_packet(&mut self, now: Time, packet: &Segment) {
        match self {
            Self::Tcp(connection) => Endpoint::on_marked_packet(connection, now, packet),
        }
    }

    #[inline]
    fn next_packet(&mut self, now: Time) -> Option<Segment> {
        match self {
            Self::Tcp(connection) => Endpoint::next_packet(connection, now),
        }
    }

    #[inline]
    fn sample(&self) -> Sample {
        match self {
            Self::Tcp(connection) => Endpoint::sample(connection),
        }
    }

    fn take_field(&mut self, packet: &Segment) -> Field {
        match self {
            Self::Tcp(connection) => Endpoint::take_field(connection, packet),
        }
    }

    fn on_field(&mut self, now: Time, field: &Field) {
        match self {
            Self::Tcp(connection) => Endpoint::on_field(connection, now, field),
        }
    }

    fn rtt_samples(&self) -> &Sketch {
        match self {
            Self::Tcp(connection) => Endpoint::rtt_samples(connection),
        }
    }
}
