//! Compressors: state machines that change the lengths of packets that a port sends.
//!
//! A compressor sees a packet when it leaves the queue, at the start of its transmission. So it
//! sees packets in the order of the link, and none that the queue drops. The queue must be a
//! discipline ([`link::Direction::deciding_at_dequeue`]).
//!
//! Decisions:
//! - It is a trait object and not an enum, as a [`QueueFilter`](crate::QueueFilter) is: the network
//!   does not know what a compressor reads in a packet, and a port without one pays nothing.

use std::fmt::Debug;

use link::Queued;
use units::Time;

use crate::fabric::Packet;

/// The compressor of one port.
pub trait Compressor<B>: Debug + Send + Sync {
    /// The transmission of `packet` starts: changes its bytes, and what its content has for the far
    /// end.
    fn leaves(&mut self, now: Time, packet: &mut Packet<B>);

    /// A message from the far end has arrived.
    fn on_feedback(&mut self, packet: &Packet<B>);

    /// Names of what is counted, and how many.
    fn counts(&self) -> Vec<(&'static str, u64)>;

    /// A copy in a new box.
    fn boxed_clone(&self) -> Box<dyn Compressor<B>>;
}

impl<B> Clone for Box<dyn Compressor<B>> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// Compresses a packet that leaves a queue, and changes its length there, which its framing
/// follows.
pub(crate) fn compress<B>(
    compressor: &mut dyn Compressor<B>,
    now: Time,
    packet: &mut Packet<B>,
    queued: &mut Queued,
) {
    let before = u32::from(packet.bytes);
    packet.ecn = queued.ecn;
    compressor.leaves(now, packet);
    queued.unframed = queued.unframed - before + u32::from(packet.bytes);
}
