//! STP in the simulator: PDUs of the crate `stp` in the place of segments of TCP.
//!
//! A PDU has as many bytes as fit a [`Segment`], so that it needs no memory elsewhere. Nothing but an end of STP
//! may look at its fields. Scenarios with mechanisms that look at segments do not resolve with STP.

use std::sync::Arc;

use congestion::AnyController;
use sketch::Sketch;
use stp::{Config, Flags, Kind, MAX_LIST, Packet, Pdu};
use tcp::{Block, MAX_SACK_BLOCKS, Segment};
use transport::{AbortCause, Counters, Endpoint, Sample};
use units::Time;
use wire::Addresses;

use super::OnWire;

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct Stp(stp::Connection);

impl Stp {
    pub(crate) fn new(config: Arc<Config>, controller: AnyController, initial: u32) -> Self {
        Self(stp::Connection::new(config, controller, initial))
    }

    pub(crate) fn connection(&self) -> &stp::Connection {
        &self.0
    }
}

/// The length of the PDU in a segment.
pub(crate) fn bytes(segment: &Segment) -> u16 {
    let packet =
        Packet { listed: segment.sack_blocks, ..without_list(segment).unwrap_or_default() };
    packet.bytes()
}

/// Numbers of a list in the place of SACK blocks.
const IN_BLOCKS: usize = 4 * MAX_SACK_BLOCKS;

const _: () = assert!(MAX_LIST == IN_BLOCKS + 3);

/// The segment with the fields of `packet`.
fn segment(packet: &Packet) -> Segment {
    let mut segment = Segment {
        sequence: packet.number,
        acknowledgement: packet.poll,
        timestamp: packet.credit,
        payload: packet.payload,
        flags: tcp::Flags(packet.kind.byte() | packet.flags.byte() << 4),
        sack_blocks: packet.listed,
        window_scale: Segment::NO_SCALE,
        ..Segment::default()
    };
    if packet.listed > 0 {
        for (block, four) in segment.sack.iter_mut().zip(packet.list.chunks_exact(4)) {
            *block = Block { start: joined(four[0], four[1]), end: joined(four[2], four[3]) };
        }
        segment.echo = joined(packet.list[IN_BLOCKS], packet.list[IN_BLOCKS + 1]);
        segment.window = packet.list[IN_BLOCKS + 2];
    }
    segment
}

/// The packet that [`segment`] has made into this one.
fn packet(segment: &Segment) -> Option<Packet> {
    let mut packet = without_list(segment)?;
    packet.listed = segment.sack_blocks;
    if packet.listed > 0 {
        for (block, four) in segment.sack.iter().zip(packet.list.chunks_exact_mut(4)) {
            let [[a, b], [c, d]] = [block.start, block.end].map(halves);
            four.copy_from_slice(&[a, b, c, d]);
        }
        let [a, b] = halves(segment.echo);
        packet.list[IN_BLOCKS..].copy_from_slice(&[a, b, segment.window]);
    }
    Some(packet)
}

fn without_list(segment: &Segment) -> Option<Packet> {
    Some(Packet {
        number: segment.sequence,
        poll: segment.acknowledgement,
        credit: segment.timestamp,
        payload: segment.payload,
        kind: Kind::of(segment.flags.0 & 15)?,
        flags: Flags::of(segment.flags.0 >> 4),
        ..Packet::default()
    })
}

fn joined(high: u16, low: u16) -> u32 {
    u32::from(high) << 16 | u32::from(low)
}

#[expect(clippy::cast_possible_truncation, reason = "each is a half")]
fn halves(both: u32) -> [u16; 2] {
    [(both >> 16) as u16, both as u16]
}

impl OnWire for Stp {
    fn number(&self) -> u8 {
        stp::PROTOCOL
    }

    fn write(&self, segment: &Segment, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>) {
        if let Some(packet) = packet(segment) {
            Pdu { ports, packet }.write(addresses, out);
        }
    }
}

impl Endpoint for Stp {
    type Packet = Segment;

    fn connect(&mut self) {
        self.0.connect();
    }

    fn listen(&mut self) {
        self.0.listen();
    }

    fn on_packet(&mut self, now: Time, segment: &Segment) {
        if let Some(packet) = packet(segment) {
            self.0.on_packet(now, &packet);
        }
    }

    fn on_congestion_experienced(&mut self) {}

    fn may_send(&self) -> bool {
        Endpoint::may_send(&self.0)
    }

    fn next_packet(&mut self, now: Time) -> Option<Segment> {
        self.0.next_packet(now).as_ref().map(segment)
    }

    fn may_have_low_priority(&self) -> bool {
        false
    }

    fn next_of_low_priority(&mut self, _now: Time) -> Option<Segment> {
        None
    }

    fn deadline(&self) -> Time {
        self.0.deadline()
    }

    fn on_deadline(&mut self, now: Time) {
        self.0.on_deadline(now);
    }

    fn write(&mut self, bytes: u64) {
        self.0.write(bytes);
    }

    fn withdraw(&mut self) -> u64 {
        self.0.withdraw()
    }

    fn read(&mut self, bytes: u64) {
        self.0.read(bytes);
    }

    fn unread(&self) -> u64 {
        self.0.unread()
    }

    fn delivered(&self) -> u64 {
        self.0.delivered()
    }

    fn close(&mut self) {
        self.0.close();
    }

    fn abort_cause(&self) -> Option<AbortCause> {
        self.0.abort_cause()
    }

    fn counters(&self) -> &Counters {
        Endpoint::counters(&self.0)
    }

    fn sample(&self) -> Sample {
        Endpoint::sample(&self.0)
    }

    fn rtt_samples(&self) -> &Sketch {
        Endpoint::rtt_samples(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_pdu_survives_the_way_through_a_segment() {
        for kind in Kind::ALL {
            for listed in [0, 2, MAX_LIST as u8] {
                let mut sent = Packet {
                    number: 0xfedc_ba98,
                    poll: 0x1234_5678,
                    credit: 0x9abc_def0,
                    payload: 1460,
                    kind,
                    flags: Flags::END_OF_STREAM.with_if(true, Flags::ABORT),
                    listed,
                    ..Packet::default()
                };
                if listed > 0 {
                    sent.list = std::array::from_fn(|i| 0x8001 + i as u16 * 257);
                }
                let segment = segment(&sent);
                assert_eq!(packet(&segment), Some(sent));
                assert!(!segment.is_ecn_capable() && !segment.is_low_priority());
                assert_eq!(bytes(&segment), sent.bytes());
            }
        }
    }

    #[test]
    fn a_segment_of_tcp_is_no_pdu() {
        assert_eq!(packet(&Segment::default()), None);
    }
}
