//! Counts that recordings show.

use crate::chunk::{Kind, Packet};

/// Number of chunks of each type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunks([u64; Kind::ALL.len()]);

impl Chunks {
    /// The number of chunks of type `kind`.
    pub fn of(&self, kind: Kind) -> u64 {
        self.0[kind as usize]
    }

    #[inline]
    pub(crate) fn count(&mut self, packet: &Packet) {
        for chunk in packet.chunks() {
            self.0[chunk.kind() as usize] += 1;
        }
    }
}

/// Number of events of one end that no chunk shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Packets with a DATA chunk. Others of them may have several.
    pub data_packets: u64,
    /// DATA chunks that have arrived before.
    pub duplicates: u64,
    /// Times that new data moved to another path because one was found to be inactive or active.
    pub path_changes: u64,
    /// Times that a path was found to be inactive.
    pub path_failures: u64,
}
