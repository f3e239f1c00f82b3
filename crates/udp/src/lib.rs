//! Flows of datagrams (UDP, RFC 768): no connection, no acknowledgement, no retransmission and no
//! congestion control.
//!
//! A datagram leaves when the application sends it. Its packet has the number that the application
//! gave it in the first bytes of its payload, so that captures of both backends show it.

use std::collections::VecDeque;

use sketch::Sketch;
use transport::{AbortCause, Counters, Datagram, Datagrams, Endpoint, RangeSet, Sample};
use units::{Span, Time};
use wire::IpVersion;
use wire::udp::HEADER;

/// Bytes of a packet on a link without fragments: Ethernet's.
const LONGEST_PACKET: u16 = 1500;

/// Most bytes of the payload of a datagram that is not fragmented.
pub fn most_payload(ip: IpVersion) -> u16 {
    LONGEST_PACKET - ip.header_bytes() - HEADER
}

/// Settings of both ends of a flow: the sizes of its datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Bytes of the payload of the datagrams of the data sender.
    pub datagram: u16,
    /// Bytes of the payload of the datagrams of the other end.
    pub answer: u16,
}

/// A packet: a datagram with its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet(pub Datagram);

impl Packet {
    /// Length without the header of IP.
    pub fn bytes(&self) -> u16 {
        self.0.bytes.saturating_add(HEADER)
    }
}

/// The payload of a datagram: its number, and zeros.
pub fn payload(datagram: Datagram) -> Vec<u8> {
    let mut payload = datagram.number.to_be_bytes().to_vec();
    payload.resize(datagram.bytes.into(), 0);
    payload
}

/// The datagram with this payload; `None` if it is too short to be one of an application.
pub fn read(payload: &[u8]) -> Option<Datagram> {
    let number = u64::from_be_bytes(*payload.first_chunk()?);
    Some(Datagram { number, bytes: u16::try_from(payload.len()).ok()? })
}

/// One end of a flow of datagrams.
#[derive(Debug, Default)]
pub struct Connection {
    waiting: VecDeque<Datagram>,
    arrived: VecDeque<(Time, Datagram)>,
    /// Numbers of datagrams that have arrived.
    seen: RangeSet,
    delivered: u64,
    counters: Counters,
    rtt: Sketch,
}

impl Connection {
    /// An end that has sent nothing.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Datagrams for Connection {
    fn send(&mut self, datagram: Datagram) {
        self.waiting.push_back(datagram);
    }

    fn take_arrived(&mut self) -> Option<(Time, Datagram)> {
        self.arrived.pop_front()
    }

    fn has_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }
}

impl Endpoint for Connection {
    type Packet = Packet;

    fn connect(&mut self) {}

    fn listen(&mut self) {}

    fn on_packet(&mut self, now: Time, packet: &Packet) {
        // Bytes of a copy that the path has made are no new ones.
        let number = packet.0.number;
        if self.seen.insert(number, number.saturating_add(1), u64::MAX).total > 0 {
            self.delivered += u64::from(packet.0.bytes);
        }
        self.arrived.push_back((now, packet.0));
    }

    fn on_congestion_experienced(&mut self) {}

    fn may_send(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn next_packet(&mut self, _now: Time) -> Option<Packet> {
        let datagram = self.waiting.pop_front()?;
        self.counters.segments += 1;
        self.counters.bytes += u64::from(datagram.bytes);
        Some(Packet(datagram))
    }

    fn may_have_low_priority(&self) -> bool {
        false
    }

    fn next_of_low_priority(&mut self, _now: Time) -> Option<Packet> {
        None
    }

    fn deadline(&self) -> Time {
        Time::NEVER
    }

    fn on_deadline(&mut self, _now: Time) {}

    /// There is no stream of bytes: scenarios whose applications write bytes are rejected.
    fn write(&mut self, _bytes: u64) {}

    fn withdraw(&mut self) -> u64 {
        self.waiting.clear();
        self.counters.bytes
    }

    fn read(&mut self, _bytes: u64) {}

    fn unread(&self) -> u64 {
        0
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }

    fn close(&mut self) {}

    fn abort_cause(&self) -> Option<AbortCause> {
        None
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn sample(&self) -> Sample {
        Sample { cwnd: 0, ssthresh: 0, flight: 0, srtt: None, min_rtt: None, rto: Span::ZERO }
    }

    fn rtt_samples(&self) -> &Sketch {
        &self.rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_leave_at_once_and_arrive_with_their_number_and_time() {
        let (mut sender, mut receiver) = (Connection::new(), Connection::new());
        sender.send(Datagram { number: 7, bytes: 172 });
        sender.send(Datagram { number: 8, bytes: 20 });
        let at = Time::ZERO + Span::from_millis(250);
        while let Some(packet) = sender.next_packet(Time::ZERO) {
            // The second one is lost.
            if packet.0.number == 7 {
                assert_eq!(packet.bytes(), 180);
                receiver.on_packet(at, &packet);
            }
        }
        assert_eq!((sender.counters().segments, sender.counters().bytes), (2, 192));
        assert_eq!(receiver.take_arrived(), Some((at, Datagram { number: 7, bytes: 172 })));
        assert_eq!(receiver.take_arrived(), None);
        assert_eq!(receiver.delivered(), 172);
    }

    #[test]
    fn a_copy_arrives_but_its_bytes_count_once() {
        let mut receiver = Connection::new();
        let packet = Packet(Datagram { number: 3, bytes: 100 });
        (0..2).for_each(|_| receiver.on_packet(Time::ZERO, &packet));
        assert_eq!(receiver.delivered(), 100);
        assert!(receiver.take_arrived().is_some() && receiver.take_arrived().is_some());
    }

    #[test]
    fn a_payload_has_the_number_of_its_datagram() {
        let datagram = Datagram { number: 0x0102_0304_0506_0708, bytes: 60 };
        assert_eq!(read(&payload(datagram)), Some(datagram));
        assert_eq!(read(&[0; 7]), None);
    }
}
