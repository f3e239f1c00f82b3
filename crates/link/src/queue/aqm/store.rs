//! Packets in their order, with their bytes.

use std::collections::VecDeque;

use crate::queue::Queued;

/// First in, first out.
#[derive(Clone, Debug, Default)]
pub(in crate::queue) struct Store {
    packets: VecDeque<Queued>,
    bytes: u64,
}

impl Store {
    #[inline]
    pub fn push(&mut self, packet: Queued) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Queued> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Takes the packet with this ticket out, wherever it is.
    pub fn remove(&mut self, ticket: u32) -> Option<Queued> {
        let place = self.packets.iter().position(|packet| packet.ticket == ticket)?;
        let packet = self.packets.remove(place)?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// All packets, the first one first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Queued> {
        self.packets.iter()
    }

    pub fn first(&self) -> Option<&Queued> {
        self.packets.front()
    }

    pub fn len(&self) -> usize {
        self.packets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets and bytes.
    #[inline]
    pub fn waiting(&self) -> (usize, u64) {
        (self.packets.len(), self.bytes)
    }
}
