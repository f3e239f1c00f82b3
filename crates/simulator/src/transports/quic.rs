//! QUIC in the simulator: ends of the crate `quic`, whose datagrams are [`Cargo`].

use std::sync::Arc;

use quic::{Config, Connection, Datagram, Logs, Maker, Settings};
use scenario::model::Flow;
use wire::ip::{LONGEST_PACKET, PROTOCOL_UDP};
use wire::{Addresses, UdpHeader, udp};

use super::carried::{Cargo, Carried, Way, Written};

/// Datagrams are kept for this many idle timeouts: the first ends the connection.
const IDLE_TIMEOUTS: u64 = 2;

/// One end of a connection.
pub(crate) type Quic = Carried<Connection>;

impl Cargo for Datagram {
    #[expect(clippy::cast_possible_truncation, reason = "quinn makes no datagram above 1452 bytes")]
    fn bytes(&self) -> u16 {
        self.bytes.len() as u16 + udp::HEADER
    }

    fn is_ecn_capable(&self) -> bool {
        self.is_ecn_capable
    }
}

impl Written for Datagram {
    const NUMBER: u8 = PROTOCOL_UDP;
    /// What is encrypted is read whole or not at all.
    const SNAPLEN: u16 = LONGEST_PACKET;

    fn write(&self, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>) {
        let header = UdpHeader { source_port: ports.0, destination_port: ports.1 };
        let written = header.write(addresses, &self.bytes, out);
        debug_assert_eq!(written, Ok(()), "quinn makes no datagram that is too long");
    }
}

/// What both ends of the connections of a flow share.
#[derive(Debug)]
pub(crate) struct Path {
    maker: Maker,
    way: Arc<Way<Datagram>>,
}

impl Path {
    /// For a flow with QUIC.
    pub(crate) fn of(flow: &Flow, settings: &Settings, seed: u64, logs: &Logs) -> Option<Self> {
        let settings = *settings;
        // A scenario with a controller that QUIC cannot carry is not resolved.
        let config =
            Config::of(settings, &flow.controller, flow.traffic.streams()).ok()?.logged(logs);
        let kept = settings.idle_timeout * IDLE_TIMEOUTS;
        // Flows with the same seed of the run are distinguished by their first sequence number.
        let maker = Maker::new(Arc::new(config), seed, flow.initial_sequence);
        Some(Self { maker, way: Arc::new(Way::new(kept)) })
    }

    /// The next end.
    pub(crate) fn end(&self) -> Quic {
        Carried::new(self.maker.end(), self.way.clone())
    }
}
