//! State machines at queues of a network with beams, those of its links and those of its terminals:
//! they see packets as those of a network without beams do.

use beam::returning::Filter;
use link::FeedbackCounters;
use network::{Compressor, NodeId, Packet, QueueFilter, QueueRouter};
use units::Time;

use super::{Load, Onward};

/// A packet on the links, on its way to the node `at`.
pub(super) fn outside<B>(packet: Packet<B>, at: NodeId) -> Packet<Onward<B>> {
    let Packet { body, flow, to, bytes, priority, ecn } = packet;
    let body = Onward { body, to };
    Packet { body, flow, to: at, bytes, priority, ecn }
}

/// A packet that has come from the links.
pub(super) fn inside<B>(packet: Packet<Onward<B>>) -> Packet<B> {
    let Packet { body: Onward { body, to }, flow, to: _, bytes, priority, ecn } = packet;
    Packet { body, flow, to, bytes, priority, ecn }
}

/// A state machine of the queue of a link or of a terminal.
#[derive(Clone, Debug)]
pub(super) struct OfQueue<T>(pub T);

impl<B: Clone + 'static> QueueFilter<Onward<B>> for OfQueue<Box<dyn QueueFilter<B>>> {
    fn join(&mut self, ticket: u32, packet: &Packet<Onward<B>>, removed: &mut Vec<u32>) {
        self.0.join(ticket, &inside(packet.clone()), removed);
    }

    fn leave(&mut self, ticket: u32, packet: &Packet<Onward<B>>) {
        self.0.leave(ticket, &inside(packet.clone()));
    }

    fn boxed_clone(&self) -> Box<dyn QueueFilter<Onward<B>>> {
        Box::new(self.clone())
    }
}

impl<B: Clone + 'static> QueueRouter<Onward<B>> for OfQueue<Box<dyn QueueRouter<B>>> {
    fn arrive(&mut self, now: Time, packet: &Packet<Onward<B>>) {
        self.0.arrive(now, &inside(packet.clone()));
    }

    fn depart(&mut self, now: Time, packet: &mut Packet<Onward<B>>) {
        change(packet, |packet| self.0.depart(now, packet));
    }

    fn note_queue(&mut self, bytes: u64) {
        self.0.note_queue(bytes);
    }

    fn counters(&self) -> FeedbackCounters {
        self.0.counters()
    }

    fn boxed_clone(&self) -> Box<dyn QueueRouter<Onward<B>>> {
        Box::new(self.clone())
    }
}

impl<B: Clone + 'static> Compressor<Onward<B>> for OfQueue<Box<dyn Compressor<B>>> {
    fn leaves(&mut self, now: Time, packet: &mut Packet<Onward<B>>) {
        change(packet, |packet| self.0.leaves(now, packet));
    }

    fn on_feedback(&mut self, packet: &Packet<Onward<B>>) {
        self.0.on_feedback(&inside(packet.clone()));
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.0.counts()
    }

    fn boxed_clone(&self) -> Box<dyn Compressor<Onward<B>>> {
        Box::new(self.clone())
    }
}

/// Lets `with` change a packet, but not its way.
fn change<B: Clone>(packet: &mut Packet<Onward<B>>, with: impl FnOnce(&mut Packet<B>)) {
    let at = packet.to;
    let mut changed = inside(packet.clone());
    with(&mut changed);
    *packet = outside(changed, at);
}

impl<B: 'static> Filter<Load<Packet<B>>> for OfQueue<Box<dyn QueueFilter<B>>> {
    fn join(&mut self, ticket: u32, load: &Load<Packet<B>>, removed: &mut Vec<u32>) {
        if let Load::Packet(boxed) = load
            && let Some(packet) = &**boxed
        {
            self.0.join(ticket, packet, removed);
        }
    }

    fn leave(&mut self, ticket: u32, load: &Load<Packet<B>>) {
        if let Load::Packet(boxed) = load
            && let Some(packet) = &**boxed
        {
            self.0.leave(ticket, packet);
        }
    }

    fn boxed_clone(&self) -> Box<dyn Filter<Load<Packet<B>>>> {
        Box::new(self.clone())
    }
}
