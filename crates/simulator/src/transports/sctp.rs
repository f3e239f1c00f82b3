//! SCTP in the simulator: ends of the crate `sctp`, whose packets are [`Cargo`].

use std::sync::Arc;

use sctp::{Config, Connection, Packet};
use units::Span;
use wire::Addresses;
use wire::ip::LONGEST_PACKET;

use super::carried::{Cargo, Carried, Way, Written};

/// Twice the maximum segment lifetime of RFC 9293, for want of one in RFC 9260.
const KEPT: Span = Span::from_secs(240);

/// One end of an association.
pub(crate) type Sctp = Carried<Connection>;

impl Cargo for Packet {
    fn bytes(&self) -> u16 {
        self.bytes()
    }

    fn path(&self) -> u8 {
        self.path
    }
}

impl Written for Packet {
    const NUMBER: u8 = sctp::PROTOCOL;
    /// A SACK is as long as its blocks need, and the checksum covers the payload.
    const SNAPLEN: u16 = LONGEST_PACKET;

    fn write(&self, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>) {
        sctp::write(self, addresses, ports, out);
    }
}

/// State that both ends of the associations of a flow share.
#[derive(Debug)]
pub(crate) struct Path {
    config: Arc<Config>,
    way: Arc<Way<Packet>>,
}

impl Path {
    /// For a flow with SCTP.
    pub(crate) fn of(config: &Arc<Config>) -> Self {
        Self { config: config.clone(), way: Arc::new(Way::new(KEPT)) }
    }

    /// The next end, with its first TSN.
    pub(crate) fn end(&self, initial: u32) -> Sctp {
        Carried::new(Connection::new(self.config.clone(), initial), self.way.clone())
    }
}
