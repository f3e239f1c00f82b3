//! XTP in the simulator: its packets in captures, and the record of a flow.

use recording::XtpRecord;
use transport::Counters;
use wire::Addresses;
use wire::ip::LONGEST_PACKET;
use xtp::{Connection, Kind, Packet};

use super::packet::OnWire;

/// A report is as long as its spans need.
pub(super) const SNAPLEN: u16 = LONGEST_PACKET;

impl OnWire for Packet {
    fn bytes(&self) -> u16 {
        self.bytes()
    }

    fn number(&self) -> u8 {
        xtp::PROTOCOL
    }

    fn snaplen(&self) -> u16 {
        SNAPLEN
    }

    fn write(&self, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>) {
        xtp::write(self, addresses, ports, out);
    }
}

/// The record of a flow: totals of its senders, and the ends of its connections.
pub(crate) fn record<'a>(
    sent: &Counters,
    pairs: impl Iterator<Item = [&'a Connection; 2]>,
) -> XtpRecord {
    let mut record = XtpRecord {
        segments_sent: sent.segments,
        segments_retransmitted: sent.retransmissions,
        ..XtpRecord::default()
    };
    for [sender, receiver] in pairs.map(|pair| pair.map(Connection::sent)) {
        record.requests_sent += sender.requests;
        record.handshakes += sender.handshakes;
        let reports = Kind::ALL.into_iter().filter(|kind| kind.is_control());
        record.reports_sent += reports.map(|kind| receiver.of(kind)).sum::<u64>();
        record.gap_reports_sent += receiver.of(Kind::Ecntl);
    }
    record
}
