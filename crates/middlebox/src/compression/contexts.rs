//! The contexts of a compressor: one for each connection, and that which was idle longest is used
//! again.

use crate::header::Endpoints;

/// A context.
#[derive(Clone, Debug)]
struct Slot<T> {
    endpoints: Endpoints,
    connection: u32,
    /// Number of the packet that used it last.
    used: u64,
    state: T,
}

/// All contexts.
#[derive(Clone, Debug)]
pub(super) struct Contexts<T> {
    slots: Vec<Slot<T>>,
    most: u8,
    connections: u32,
    uses: u64,
}

impl<T> Contexts<T> {
    /// None yet, and at most `most`.
    pub fn new(most: u8) -> Self {
        Self { slots: Vec::new(), most, connections: 0, uses: 0 }
    }

    /// The context of a connection: its number, the number of the connection, and its state.
    pub fn find(&mut self, endpoints: &Endpoints) -> Option<(u8, u32, &mut T)> {
        self.uses += 1;
        let found = (0..).zip(&mut self.slots).find(|(_, slot)| slot.endpoints == *endpoints);
        let (number, slot) = found?;
        slot.used = self.uses;
        Some((number, slot.connection, &mut slot.state))
    }

    /// A context for a connection that has none.
    pub fn open(&mut self, endpoints: Endpoints, state: T) -> (u8, u32) {
        self.uses += 1;
        self.connections += 1;
        let slot = Slot { endpoints, connection: self.connections, used: self.uses, state };
        if self.slots.len() < usize::from(self.most) {
            self.slots.push(slot);
        } else if let Some(idle) = self.slots.iter_mut().min_by_key(|slot| slot.used) {
            *idle = slot;
        }
        let newest = (0..).zip(&self.slots).max_by_key(|(_, slot)| slot.used);
        (newest.map_or(0, |(number, _)| number), self.connections)
    }

    /// The state of a context, if it still belongs to the connection of this number.
    pub fn of_connection(&mut self, context: u8, connection: u32) -> Option<&mut T> {
        let slot = self.slots.get_mut(usize::from(context))?;
        (slot.connection == connection).then_some(&mut slot.state)
    }
}
