//! Filters: state machines that look at the packets that wait at a port, and take some of them out.
//!
//! A filter is asked when a packet is about to join the queue, before the queue decides whether it
//! has room for it. So what the filter takes out makes room. The queue must be a discipline from
//! which packets can be removed ([`link::Direction::deciding_at_dequeue`]).
//!
//! Decisions:
//! - It is a trait object and not an enum: the network carries any content, and does not know what
//!   a filter reads in it. A port without one pays nothing.

use std::fmt::Debug;

use crate::fabric::Packet;

/// A filter of one port.
pub trait QueueFilter<B>: Debug + Send + Sync {
    /// `packet` is about to join the queue under `ticket`. The tickets of waiting packets that it
    /// replaces go to `removed`, each once; the filter forgets them itself.
    fn join(&mut self, ticket: u32, packet: &Packet<B>, removed: &mut Vec<u32>);

    /// A packet that has joined has left the queue: it is sent, or the queue has dropped it.
    fn leave(&mut self, ticket: u32, packet: &Packet<B>);

    /// A copy in a new box.
    fn boxed_clone(&self) -> Box<dyn QueueFilter<B>>;
}

impl<B> Clone for Box<dyn QueueFilter<B>> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}
