//! One end of a connection of any transport protocol, as a host and an application see it.
//!
//! A host holds an enum over the protocols, not a trait object, because these calls are on the
//! per-packet path.

use std::ops::AddAssign;

use sketch::Sketch;
use units::{Span, Time};
use wire::feedback::Field;

use crate::limits::Limits;

/// Totals of a sender. Segments are data segments; probes of unused capacity are counted apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Data segments sent, retransmissions included.
    pub segments: u64,
    /// Data segments retransmitted.
    pub retransmissions: u64,
    /// Payload bytes sent, with retransmissions, and with the data of probes: all but dummies carry
    /// data that the receiver takes.
    pub bytes: u64,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Number of times that fast recovery was entered.
    pub fast_recoveries: u32,
    /// Number of times that the window started again after idle time (RFC 5681 section 4.1).
    pub restarts: u32,
    /// Probes of unused capacity.
    pub probes: u64,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        // Without `..`, so that a new one has to be considered here.
        let Self { segments, retransmissions, bytes, timeouts, fast_recoveries, restarts, probes } =
            other;
        self.segments += segments;
        self.retransmissions += retransmissions;
        self.bytes += bytes;
        self.timeouts += timeouts;
        self.fast_recoveries += fast_recoveries;
        self.restarts += restarts;
        self.probes += probes;
    }
}

/// Result of writing the next packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// There is none.
    Nothing,
    /// It is written, and there may be another one.
    Packet,
    /// It is written, and there is no other one.
    Last,
}

/// Why a connection ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortCause {
    /// The last of the allowed retransmissions, window probes or SYNs has no answer.
    Retransmissions,
    /// Nothing was acknowledged, or a window stayed closed, for the user timeout.
    UserTimeout,
    /// The last keep-alive probe has no answer.
    KeepAlive,
    /// One of the ends has reset the connection.
    Reset,
    /// One of the first three; a kernel does not report which.
    TimedOut,
    /// Nothing arrived for the idle timeout of QUIC (RFC 9000 section 10.1).
    IdleTimeout,
    /// One of the ends found that the other breaks the protocol, or exceeds a limit of its own
    /// (RFC 9000 section 11.1).
    ProtocolError,
}

impl AbortCause {
    /// The name in recordings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Retransmissions => "retransmissions",
            Self::UserTimeout => "user-timeout",
            Self::KeepAlive => "keep-alive",
            Self::Reset => "reset",
            Self::TimedOut => "timed-out",
            Self::IdleTimeout => "idle-timeout",
            Self::ProtocolError => "protocol-error",
        }
    }
}

/// State of a sender at an instant, as series record it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow start threshold in bytes.
    pub ssthresh: u64,
    /// Bytes sent and not acknowledged.
    pub flight: u64,
    /// Smoothed round-trip time, once there is a sample.
    pub srtt: Option<Span>,
    /// Minimum round-trip time, once there is a sample.
    pub min_rtt: Option<Span>,
    /// Retransmission timeout.
    pub rto: Span,
}

/// One end of a connection, without I/O: packets and time go in, packets and deadlines come out.
/// After each input and each call of the application, [`next_packet`](Self::next_packet) is called
/// until it returns `None`, and then [`next_of_low_priority`](Self::next_of_low_priority) likewise.
pub trait Endpoint {
    /// A packet on the wire, without the headers of lower layers.
    type Packet;

    /// Opens the connection actively.
    fn connect(&mut self);

    /// Waits for the other end to open the connection.
    fn listen(&mut self);

    /// A packet has arrived.
    fn on_packet(&mut self, now: Time, packet: &Self::Packet);

    /// The packet that has just arrived was marked on its way (CE, RFC 3168 section 5).
    fn on_congestion_experienced(&mut self);

    /// A packet has arrived that was marked on its way. An endpoint that reports each mark
    /// looks at the mark before the packet.
    fn on_marked_packet(&mut self, now: Time, packet: &Self::Packet) {
        self.on_packet(now, packet);
        self.on_congestion_experienced();
    }

    /// The feedback field of `packet`, which [`next_packet`](Self::next_packet) has just given out.
    /// Called in networks whose packets have one.
    fn take_field(&mut self, packet: &Self::Packet) -> Field {
        let _ = packet;
        Field::default()
    }

    /// The packet that arrives next has this feedback field.
    fn on_field(&mut self, now: Time, field: &Field) {
        let _ = (now, field);
    }

    /// Returns false if there is certainly nothing to send.
    fn may_send(&self) -> bool;

    /// The next packet to send, if there is one.
    fn next_packet(&mut self, now: Time) -> Option<Self::Packet>;

    /// Writes the next packet to send into `packet`, which means nothing if there is none. Until
    /// then, or until the last one is written, nothing else is called. Between two calls, packets
    /// of plain data stay in it as they are.
    #[inline]
    fn write_packet(&mut self, now: Time, packet: &mut Self::Packet) -> Written {
        match self.next_packet(now) {
            Some(next) => {
                *packet = next;
                Written::Packet
            }
            None => Written::Nothing,
        }
    }

    /// Returns false if there is certainly nothing of low priority to send.
    fn may_have_low_priority(&self) -> bool;

    /// The next packet of low priority to send, if there is one.
    fn next_of_low_priority(&mut self, now: Time) -> Option<Self::Packet>;

    /// Time at which [`on_deadline`](Self::on_deadline) is due; [`Time::NEVER`] if no timer runs.
    fn deadline(&self) -> Time;

    /// The deadline has come.
    fn on_deadline(&mut self, now: Time);

    /// The application hands over `bytes` to be sent.
    fn write(&mut self, bytes: u64);

    /// The application takes back data that was never sent. Returns the length of the remaining
    /// stream in bytes.
    fn withdraw(&mut self) -> u64;

    /// The application reads `bytes`, at most [`unread`](Self::unread).
    fn read(&mut self, bytes: u64);

    /// Bytes received in order and not read by the application.
    fn unread(&self) -> u64;

    /// Bytes read by the application: each byte of the other end's stream once.
    fn delivered(&self) -> u64;

    /// The application will write no more.
    fn close(&mut self);

    /// Why the connection ended before its time, if it did.
    fn abort_cause(&self) -> Option<AbortCause>;

    /// Totals of the sender.
    fn counters(&self) -> &Counters;

    /// State of the sender.
    fn sample(&self) -> Sample;

    /// Its RTT samples in nanoseconds.
    fn rtt_samples(&self) -> &Sketch;

    /// Time until `now` by what held the sender back; `None` if the protocol does not measure it.
    fn limits(&self, now: Time) -> Option<Limits> {
        let _ = now;
        None
    }
}
