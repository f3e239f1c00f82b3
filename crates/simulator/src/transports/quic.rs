//! QUIC in the simulator: how its ends are made, and its datagrams in captures.

use std::sync::Arc;

use link::Seed;
use quic::{Config, Connection, Datagram, Logs, Maker, Settings};
use runtime::Leg;
use wire::ip::{LONGEST_PACKET, PROTOCOL_UDP};
use wire::{Addresses, UdpHeader, udp};

use super::packet::OnWire;

/// Encrypted packets are captured whole or not at all.
pub(super) const SNAPLEN: u16 = LONGEST_PACKET;

impl OnWire for Datagram {
    #[expect(clippy::cast_possible_truncation, reason = "quinn makes no datagram above 1452 bytes")]
    fn bytes(&self) -> u16 {
        self.bytes.len() as u16 + udp::HEADER
    }

    fn is_ecn_capable(&self) -> bool {
        self.is_ecn_capable
    }

    fn number(&self) -> u8 {
        PROTOCOL_UDP
    }

    fn snaplen(&self) -> u16 {
        SNAPLEN
    }

    fn write(&self, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>) {
        let header = UdpHeader { source_port: ports.0, destination_port: ports.1 };
        let written = header.write(addresses, &self.bytes, out);
        debug_assert_eq!(written, Ok(()), "quinn makes no datagram that is too long");
    }
}

/// How the connections of one end of a leg are made.
#[derive(Clone, Debug)]
pub(crate) struct Blueprint {
    /// For both ends of the connections of a leg.
    maker: Arc<Maker>,
    config: Arc<Config>,
    /// True if a relay reads and writes, and not an application.
    is_relayed: bool,
}

impl Blueprint {
    /// Those of both ends of a leg with QUIC.
    pub(crate) fn of(
        leg: &Leg<'_>,
        settings: [&Settings; 2],
        seed: &Seed,
        logs: &Logs,
    ) -> Option<[Self; 2]> {
        let [first, last] = leg.ends;
        // A scenario with a controller that QUIC cannot carry is not resolved.
        let config = |controller, settings: &Settings| {
            Config::of(*settings, controller, leg.streams).ok().map(|config| config.logged(logs))
        };
        let from = Arc::new(config(first.controller, settings[0])?);
        let to = Arc::new(config(last.controller, settings[1])?.that_has_met(&from));
        // Legs with the same seed of the run are distinguished by their first sequence number.
        let maker = Arc::new(Maker::new(from.clone(), seed.draw(), leg.initial_sequence));
        let end =
            |config| Self { maker: maker.clone(), config, is_relayed: leg.is_between_gateways };
        Some([end(from), end(to)])
    }

    /// The next end.
    pub(crate) fn end(&self) -> Connection {
        let end = self.maker.end_with(&self.config);
        if self.is_relayed { end.relayed() } else { end }
    }
}
