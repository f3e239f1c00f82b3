//! The part of the wire of the tests of protocols that is STP's.

use std::sync::Arc;

use congestion::Specification;
use stp::{Config, Connection, Kind, Packet, State};
use units::Bytes;

use crate::harness::{self, Tested, Typed};

pub use crate::harness::{A, B, Fate, at, ms};

pub const MSS: u64 = 1000;

pub type Sent = harness::Sent<Packet>;
pub type Wire = harness::Wire<Connection>;

/// The defaults with packets of 1000 bytes.
pub fn config() -> Config {
    Config { mss: MSS as u32, receive_buffer: Bytes(1_000_000), ..Config::default() }
}

pub fn connection(config: &Config, controller: &str, initial: u32) -> Connection {
    let controller = Specification::named(controller).unwrap().build(&config.controller());
    Connection::new(Arc::new(config.clone()), controller, initial)
}

impl Typed for Packet {
    type Kind = Kind;

    fn kind(&self) -> Kind {
        self.kind
    }

    fn number(&self) -> u64 {
        self.number.into()
    }

    fn payload(&self) -> u16 {
        self.payload
    }
}

impl Tested for Connection {
    fn count(&self, packet: &Packet) -> u64 {
        self.pdus().of(packet.kind)
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
        let end = |initial| connection(config, "newreno", initial);
        Self::of([end(7), end(u32::MAX - 2)])
    }

    pub fn states(&self) -> [State; 2] {
        [self.ends[A].state(), self.ends[B].state()]
    }
}
