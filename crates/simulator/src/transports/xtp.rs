//! XTP in the simulator: ends of the crate `xtp`, whose packets are [`Cargo`].

use std::sync::Arc;

use wire::Addresses;
use wire::ip::LONGEST_PACKET;
use xtp::{Config, Connection, Packet};

use super::carried::{Cargo, Carried, Way, Written};

/// One end of a connection.
pub(crate) type Xtp = Carried<Connection>;

impl Cargo for Packet {
    fn bytes(&self) -> u16 {
        self.bytes()
    }
}

impl Written for Packet {
    const NUMBER: u8 = xtp::PROTOCOL;
    /// A report is as long as its spans need.
    const SNAPLEN: u16 = LONGEST_PACKET;

    fn write(&self, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>) {
        xtp::write(self, addresses, ports, out);
    }
}

/// State that both ends of the connections of a flow share.
#[derive(Debug)]
pub(crate) struct Path {
    config: Arc<Config>,
    way: Arc<Way<Packet>>,
}

impl Path {
    /// For a flow with XTP. A connection on which nothing arrives for CTIMER and CTIMEOUT is given up.
    pub(crate) fn of(config: &Arc<Config>) -> Self {
        let kept = (config.ctimer + config.ctimeout).max(config.wtimer) * 2;
        Self { config: config.clone(), way: Arc::new(Way::new(kept)) }
    }

    /// The next end.
    pub(crate) fn end(&self) -> Xtp {
        Carried::new(Connection::new(self.config.clone()), self.way.clone())
    }
}
