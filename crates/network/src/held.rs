//! Packets that wait in the queue of a discipline, by their tickets.

/// A slab: freed places are used again.
#[derive(Clone, Debug)]
pub(crate) struct Held<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Held<T> {
    pub(crate) fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// Holds a packet. Returns its ticket.
    pub(crate) fn hold(&mut self, packet: T) -> u32 {
        if let Some(ticket) = self.free.pop() {
            self.places[ticket as usize] = Some(packet);
            return ticket;
        }
        self.places.push(Some(packet));
        #[expect(clippy::cast_possible_truncation, reason = "memory is full before")]
        let ticket = (self.places.len() - 1) as u32;
        ticket
    }

    /// The packet with this ticket.
    pub(crate) fn get(&self, ticket: u32) -> Option<&T> {
        self.places.get(ticket as usize)?.as_ref()
    }

    /// The packet with this ticket, to change.
    pub(crate) fn get_mut(&mut self, ticket: u32) -> Option<&mut T> {
        self.places.get_mut(ticket as usize)?.as_mut()
    }

    /// Gives the packet with this ticket back.
    pub(crate) fn take(&mut self, ticket: u32) -> Option<T> {
        let packet = self.places.get_mut(ticket as usize)?.take();
        self.free.extend(packet.is_some().then_some(ticket));
        packet
    }
}
