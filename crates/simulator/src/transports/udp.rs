//! UDP in the simulator: its packets in captures, and the record of a flow.

use recording::UdpRecord;
use transport::{Counters, Endpoint as _};
use udp::{Connection, Packet};
use wire::ip::PROTOCOL_UDP;
use wire::{Addresses, UdpHeader};

use super::packet::OnWire;

impl OnWire for Packet {
    fn bytes(&self) -> u16 {
        self.bytes()
    }

    fn number(&self) -> u8 {
        PROTOCOL_UDP
    }

    fn write(&self, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>) {
        let header = UdpHeader { source_port: ports.0, destination_port: ports.1 };
        let written = header.write(addresses, &udp::payload(self.0), out);
        debug_assert_eq!(written, Ok(()), "a datagram is never fragmented");
    }
}

/// The record of a flow.
pub(crate) fn record<'a>(
    sent: &Counters,
    pairs: impl Iterator<Item = [&'a Connection; 2]>,
) -> UdpRecord {
    UdpRecord {
        datagrams_sent: sent.segments,
        answers_sent: pairs.map(|[_, receiver]| receiver.counters().segments).sum(),
    }
}
