//! SCTP in the simulator: its packets in captures, and the record of a flow.

use recording::SctpRecord;
use sctp::{Connection, Kind, Packet};
use transport::Counters;
use wire::Addresses;
use wire::ip::LONGEST_PACKET;

use super::packet::OnWire;

/// A SACK is as long as its blocks need, and the checksum covers the payload.
pub(super) const SNAPLEN: u16 = LONGEST_PACKET;

impl OnWire for Packet {
    fn bytes(&self) -> u16 {
        self.bytes()
    }

    fn path(&self) -> u8 {
        self.path
    }

    fn number(&self) -> u8 {
        sctp::PROTOCOL
    }

    fn snaplen(&self) -> u16 {
        SNAPLEN
    }

    fn write(&self, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>) {
        sctp::write(self, addresses, ports, out);
    }
}

/// The record of a flow: totals of its senders, and the ends of its connections.
pub(crate) fn record<'a>(
    sent: &Counters,
    pairs: impl Iterator<Item = [&'a Connection; 2]>,
) -> SctpRecord {
    let mut record = SctpRecord {
        segments_sent: sent.segments,
        segments_retransmitted: sent.retransmissions,
        timeouts: u64::from(sent.timeouts),
        fast_recoveries: u64::from(sent.fast_recoveries),
        ..SctpRecord::default()
    };
    for [sender, receiver] in pairs {
        record.data_packets_sent += sender.events().data_packets;
        record.sacks_sent += receiver.chunks().of(Kind::Sack);
        record.duplicates_received += receiver.events().duplicates;
        record.path_failures += sender.events().path_failures;
        record.path_changes += sender.events().path_changes;
        let beats = [sender, receiver].map(|end| end.chunks().of(Kind::Heartbeat));
        record.heartbeats_sent += beats.iter().sum::<u64>();
    }
    record
}
