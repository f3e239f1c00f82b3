//! Routers at ports: state machines that read packets when they arrive at a queue, and change a
//! field of them when they leave it.
//!
//! The queue must be a discipline ([`link::Direction::deciding_at_dequeue`]).
//!
//! Decisions:
//! - It is a trait object and not an enum, as a filter is: the network carries any content, and
//!   does not know where a packet has its field. A port without one pays nothing.

use std::fmt::Debug;

use link::FeedbackCounters;
use units::Time;

use crate::fabric::Packet;

/// A router of one port.
pub trait QueueRouter<B>: Debug + Send + Sync {
    /// `packet` arrives at the queue, which may drop it.
    fn arrive(&mut self, now: Time, packet: &Packet<B>);

    /// The transmission of `packet` starts.
    fn depart(&mut self, now: Time, packet: &mut Packet<B>);

    /// A packet has arrived or left, and `bytes` wait now.
    fn note_queue(&mut self, bytes: u64);

    /// Totals so far.
    fn counters(&self) -> FeedbackCounters;

    /// A copy in a new box.
    fn boxed_clone(&self) -> Box<dyn QueueRouter<B>>;
}

impl<B> Clone for Box<dyn QueueRouter<B>> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}
