//! QUIC in the simulator: ends of the crate `quic`, whose datagrams are [`Cargo`].

use std::sync::Arc;

use quic::{Config, Connection, Datagram, Logs, Maker, Settings};
use runtime::Leg;
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
    /// Encrypted packets are captured whole or not at all.
    const SNAPLEN: u16 = LONGEST_PACKET;

    fn write(&self, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>) {
        let header = UdpHeader { source_port: ports.0, destination_port: ports.1 };
        let written = header.write(addresses, &self.bytes, out);
        debug_assert_eq!(written, Ok(()), "quinn makes no datagram that is too long");
    }
}

/// State that both ends of the connections of a leg share.
#[derive(Debug)]
struct Path {
    maker: Maker,
    way: Arc<Way<Datagram>>,
}

/// How the connections of one end of a leg are made.
#[derive(Clone, Debug)]
pub(crate) struct Blueprint {
    path: Arc<Path>,
    config: Arc<Config>,
    /// True if a relay reads and writes, and not an application.
    is_relayed: bool,
}

impl Blueprint {
    /// Those of both ends of a leg with QUIC.
    pub(crate) fn of(
        leg: &Leg<'_>,
        settings: [&Settings; 2],
        seed: u64,
        logs: &Logs,
    ) -> Option<[Self; 2]> {
        let [first, last] = leg.ends;
        // A scenario with a controller that QUIC cannot carry is not resolved.
        let config = |controller, settings: &Settings| {
            Config::of(*settings, controller, leg.streams).ok().map(|config| config.logged(logs))
        };
        let from = Arc::new(config(first.controller, settings[0])?);
        let to = Arc::new(config(last.controller, settings[1])?.that_has_met(&from));
        let timeout = settings.map(|one| one.idle_timeout).into_iter().max()?;
        let way = Arc::new(Way::new(timeout * IDLE_TIMEOUTS));
        // Legs with the same seed of the run are distinguished by their first sequence number.
        let maker = Maker::new(from.clone(), seed, leg.initial_sequence);
        let path = Arc::new(Path { maker, way });
        let end = |config| Self { path: path.clone(), config, is_relayed: leg.is_between_gateways };
        Some([end(from), end(to)])
    }

    /// The next end.
    pub(crate) fn end(&self) -> Quic {
        let Self { path, config, is_relayed } = self;
        let end = path.maker.end_with(config);
        Carried::new(if *is_relayed { end.relayed() } else { end }, path.way.clone())
    }
}
