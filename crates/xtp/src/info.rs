//! Counts that recordings show.

use crate::packet::{Kind, Options, Packet};

/// Number of packets that an end has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Packets by type, in the order of [`Kind::ALL`].
    kinds: [u64; Kind::ALL.len()],
    /// Packets with SREQ or DREQ.
    pub requests: u64,
    /// Synchronising handshakes that were begun.
    pub handshakes: u64,
}

impl Sent {
    /// The number of packets of type `kind`.
    pub fn of(&self, kind: Kind) -> u64 {
        self.kinds[index(kind)]
    }

    #[inline]
    pub(crate) fn count(&mut self, packet: &Packet) {
        self.kinds[index(packet.kind)] += 1;
        let requests = packet.options.contains(Options::SREQ.with_if(true, Options::DREQ));
        self.requests += u64::from(requests);
    }
}

#[inline]
const fn index(kind: Kind) -> usize {
    match kind {
        Kind::Data => 0,
        Kind::Cntl => 1,
        Kind::First => 2,
        Kind::Ecntl => 3,
        Kind::Tcntl => 4,
    }
}
