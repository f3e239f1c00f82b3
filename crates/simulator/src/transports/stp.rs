//! STP in the simulator: its packets in captures, and the record of a flow.

use recording::StpRecord;
use stp::{Connection, Kind, Packet, Pdu};
use transport::Counters;
use wire::Addresses;

use super::packet::OnWire;

impl OnWire for Packet {
    fn bytes(&self) -> u16 {
        self.bytes()
    }

    fn number(&self) -> u8 {
        stp::PROTOCOL
    }

    fn write(&self, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>) {
        Pdu { ports, packet: *self }.write(addresses, out);
    }
}

/// The record of a flow: totals of its senders, and the ends of its connections.
pub(crate) fn record<'a>(
    sent: &Counters,
    pairs: impl Iterator<Item = [&'a Connection; 2]>,
) -> StpRecord {
    let mut record = StpRecord {
        segments_sent: sent.segments,
        segments_retransmitted: sent.retransmissions,
        fast_recoveries: u64::from(sent.fast_recoveries),
        ..StpRecord::default()
    };
    for [sender, receiver] in pairs {
        record.polls_sent += sender.pdus().of(Kind::Poll);
        record.stats_sent += receiver.pdus().of(Kind::Stat);
        record.ustats_sent += receiver.pdus().of(Kind::Ustat);
        let verdicts = sender.verdicts();
        record.probed_corruption += u64::from(verdicts.corruption);
        record.probed_congestion += u64::from(verdicts.congestion);
        record.probed_outages += u64::from(verdicts.outage);
    }
    record
}
