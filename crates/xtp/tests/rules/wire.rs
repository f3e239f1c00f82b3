//! The part of the wire of the tests of protocols that is XTP's.

use std::sync::Arc;

use units::Bytes;
use xtp::{Config, Connection, Kind, Packet, State};

use crate::harness::{self, Tested, Typed};

pub use crate::harness::{A, B, Fate, at, ms};

pub const MSS: u64 = 1000;

pub type Sent = harness::Sent<Packet>;
pub type Wire = harness::Wire<Connection>;

/// The defaults with packets of 1000 bytes.
pub fn config() -> Config {
    Config { mss: MSS as u32, receive_buffer: Bytes(1_000_000), ..Config::default() }
}

pub fn connection(config: &Config) -> Connection {
    Connection::new(Arc::new(config.clone()))
}

impl Typed for Packet {
    type Kind = Kind;

    fn kind(&self) -> Kind {
        self.kind
    }

    fn number(&self) -> u64 {
        self.seq
    }

    fn payload(&self) -> u16 {
        self.payload
    }
}

impl Tested for Connection {
    fn count(&self, packet: &Packet) -> u64 {
        self.sent().of(packet.kind)
    }

    fn acknowledged(&self) -> u64 {
        Self::acknowledged(self)
    }

    fn flight(&self) -> u64 {
        Self::flight(self)
    }
}

impl Wire {
    /// Two ends of the same configuration, 250 ms apart; nothing is lost.
    pub fn new(config: &Config) -> Self {
        Self::of([config, config].map(connection))
    }

    pub fn states(&self) -> [State; 2] {
        [self.ends[A].state(), self.ends[B].state()]
    }
}
