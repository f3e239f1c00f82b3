//! A port of the fast engine: a direction of a link, its queue, and the packets on their way.

use link::{Counters, Direction, Fate, LowPriority, Priority, PushedOut, Queued, Served};
use units::{Span, Time};

use super::events::PortEvent;
use super::link_layer::LinkLayer;
use crate::compressor::{Compressor, compress};
use crate::fabric::Packet;
use crate::filter::QueueFilter;
use crate::held::Held;
use crate::ring::Ring;
use crate::router::QueueRouter;
use crate::topology::PortSpec;

/// A port and the packets on their way through it, in the order in which they arrive.
#[derive(Clone, Debug)]
pub(super) struct Port<B> {
    pub(super) packets: Ring<(Time, Packet<B>)>,
    pub(super) delivered: Delivered,
    pub(super) direction: Direction,
    /// The port that all its packets pass to, if they do. None is on its way through this one then.
    pub(super) passes_to: Option<u32>,
    /// All packets that come out of it are at their destination.
    pub(super) is_last: bool,
    /// Packets may overtake others on their way.
    pub(super) overtakes: bool,
    /// Packets may arrive twice.
    pub(super) duplicates: bool,
    /// Packets that the queue of a discipline holds, that ARQ may repeat, or that FEC has not
    /// decided about.
    pub(super) held: Held<Packet<B>>,
    pub(super) watchers: Option<Box<Watchers<B>>>,
    pub(super) compressor: Option<Box<dyn Compressor<B>>>,
    pub(super) reverse: Option<u16>,
    /// When the event of a discipline's transmissions happens; never, if there is none.
    pub(super) service: Time,
    /// How late transmissions of a discipline may be served ([`Direction::service_slack`]).
    pub(super) service_slack: Span,
    /// ARQ or FEC, apart from its sender.
    pub(super) link_layer: Option<Box<LinkLayer>>,
}

/// The state machines that see the packets of a queue: a filter with what it has taken out, and a
/// router.
#[derive(Clone, Debug)]
pub(super) struct Watchers<B> {
    pub(super) filter: Option<Box<dyn QueueFilter<B>>>,
    pub(super) removed: Vec<u32>,
    pub(super) filtered_packets: u64,
    pub(super) router: Option<Box<dyn QueueRouter<B>>>,
}

impl<B> Default for Watchers<B> {
    fn default() -> Self {
        Self { filter: None, removed: Vec::new(), filtered_packets: 0, router: None }
    }
}

/// Packets that have come out of a port, or will come out of it if they pass to another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivered {
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

impl Delivered {
    #[inline]
    pub(super) fn count(&mut self, bytes: u16) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

impl<B> Port<B> {
    pub(super) fn new(spec: PortSpec) -> Self {
        Self {
            packets: Ring::new(),
            delivered: Delivered::default(),
            passes_to: None,
            is_last: false,
            held: Held::new(),
            watchers: None,
            compressor: None,
            link_layer: LinkLayer::of(&spec),
            reverse: spec.reverse,
            service: Time::NEVER,
            service_slack: spec.direction.service_slack(),
            overtakes: spec.direction.settings().overtakes(),
            duplicates: spec.direction.settings().duplication.is_some(),
            direction: spec.direction,
        }
    }

    /// Returns true if a packet departs as soon as those before it have left, and arrives a
    /// constant delay later, whatever comes after it; and nothing looks at it on its way.
    pub(super) fn is_plain(&self) -> bool {
        let settings = self.direction.settings();
        !self.direction.is_scheduled()
            && self.direction.changes().is_none()
            && settings.ecn_marking.is_none()
            && settings.policer.is_none()
            && settings.low_priority != LowPriority::PushOut
            && self.is_unobserved()
    }

    /// The last kind of event that it has.
    pub(super) fn last_event(&self) -> PortEvent {
        let discipline = match self.direction.is_scheduled() {
            true => PortEvent::Service,
            false => PortEvent::Arrival,
        };
        self.link_layer.as_ref().map_or(discipline, |layer| layer.last_event())
    }

    /// When the event of the link layer's timer happens.
    pub(super) fn timer(&mut self) -> Option<&mut Time> {
        self.link_layer.as_deref_mut().map(LinkLayer::timer)
    }

    /// Returns true if nothing looks at the packets that leave the queue.
    #[inline]
    pub(super) fn is_unobserved(&self) -> bool {
        self.watchers.is_none() && self.compressor.is_none()
    }

    /// Puts a packet on its way, and its copy if it has one.
    #[inline]
    pub(super) fn propagate(&mut self, at: Time, packet: Packet<B>)
    where
        B: Clone,
    {
        match self.duplicates {
            true => self.propagate_twice(at, packet),
            false => self.push(at, packet),
        }
    }

    #[cold]
    #[inline(never)]
    fn propagate_twice(&mut self, at: Time, packet: Packet<B>)
    where
        B: Clone,
    {
        let copy = self.direction.take_copy().map(|at| (at, packet.clone()));
        self.push(at, packet);
        if let Some((at, packet)) = copy {
            self.push(at, packet);
        }
    }

    /// Puts a packet behind those that arrive before it.
    #[inline]
    fn push(&mut self, at: Time, packet: Packet<B>) {
        self.packets.push((at, packet));
        if self.overtakes {
            self.packets.move_last(|(before, _), (at, _)| before > at);
        }
    }

    pub(super) fn router(&self) -> Option<&dyn QueueRouter<B>> {
        self.watchers.as_ref()?.router.as_deref()
    }

    /// Totals of the direction, those of the far end included.
    pub(super) fn counters(&mut self, now: Time) -> Counters {
        let counters = self.direction.counters(now);
        match &self.link_layer {
            Some(layer) => layer.counters(now, counters),
            None => counters,
        }
    }

    /// Starts the next transmission, if it starts by `now`.
    pub(super) fn next_served(&mut self, now: Time) -> Option<Served> {
        let Self { direction, held, compressor, .. } = self;
        let Some(compressor) = compressor else { return direction.serve(now) };
        direction.serve_with(now, |start, queued| {
            if let Some(packet) = held.get_mut(queued.ticket) {
                compress(compressor.as_mut(), start, packet, queued);
            }
        })
    }

    /// A packet joins a queue that is watched.
    #[cold]
    #[inline(never)]
    pub(super) fn enqueue_watched(&mut self, queued: Queued) {
        let (Some(watchers), Some(packet)) = (&mut self.watchers, self.held.get(queued.ticket))
        else {
            return;
        };
        if let Some(router) = &mut watchers.router {
            router.arrive(queued.since, packet);
        }
        if let Some(filter) = &mut watchers.filter {
            filter.join(queued.ticket, packet, &mut watchers.removed);
        }
        while let Some(removed) = watchers.removed.pop() {
            let Some(Packet { flow, .. }) = self.held.take(removed) else { continue };
            let was_there = self.direction.remove(removed, flow);
            debug_assert!(was_there, "a filter removes packets that wait");
            watchers.filtered_packets += 1;
        }
        self.direction.enqueue(queued);
        self.note_queue(queued.since);
    }

    /// Shows the router the queue.
    pub(super) fn note_queue(&mut self, now: Time) {
        let (_, bytes) = self.direction.waiting(now);
        if let Some(Watchers { router: Some(router), .. }) = self.watchers.as_deref_mut() {
            router.note_queue(bytes);
        }
    }

    /// The transmission of a packet starts, which stays held.
    pub(super) fn leave(&mut self, now: Time, ticket: u32) {
        if self.watchers.is_some() {
            self.leave_watched(now, ticket);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn leave_watched(&mut self, now: Time, ticket: u32) {
        let (Some(watchers), Some(packet)) = (&mut self.watchers, self.held.get_mut(ticket)) else {
            return;
        };
        if let Some(filter) = &mut watchers.filter {
            filter.leave(ticket, packet);
        }
        if let Some(router) = &mut watchers.router {
            router.depart(now, packet);
            self.note_queue(now);
        }
    }

    /// The transmission of a packet starts, which goes on its way.
    pub(super) fn send(&mut self, now: Time, ticket: u32) -> Option<Packet<B>> {
        self.leave(now, ticket);
        self.held.take(ticket)
    }

    /// The queue has dropped packets.
    #[inline]
    pub(super) fn forget_dropped(&mut self) {
        while let Some(ticket) = self.direction.take_dropped() {
            self.forget(ticket);
        }
    }

    /// The queue has dropped a packet.
    pub(super) fn forget(&mut self, ticket: u32) {
        let packet = self.held.take(ticket);
        if let (Some(watchers), Some(packet)) = (&mut self.watchers, packet)
            && let Some(filter) = &mut watchers.filter
        {
            filter.leave(ticket, &packet);
        }
    }

    /// Slow path of a packet that was dropped or marked, or displaces others. Where others have to
    /// give way, it is offered again; `moved` gets the next arrival then.
    #[cold]
    #[inline(never)]
    pub(super) fn reconsider(
        &mut self,
        now: Time,
        bytes: u16,
        priority: Priority,
        fate: Fate,
        moved: impl FnOnce(Option<Time>),
    ) -> Fate {
        if fate != Fate::PushesOut {
            return fate;
        }
        while let Some(out) = self.direction.push_out(u32::from(bytes)) {
            self.push_out(out);
        }
        moved(self.packets.first().map(|(at, _)| *at));
        self.direction.offer_again(now, u32::from(bytes), priority)
    }

    /// A packet was pushed out of the queue: those behind it arrive earlier.
    pub(super) fn push_out(&mut self, out: PushedOut) {
        let behind = self.packets.len() - out.behind;
        self.packets.change_from(behind, |(at, _)| *at = *at - out.earlier);
        if out.intact {
            self.packets.remove(behind - 1);
        }
    }
}
