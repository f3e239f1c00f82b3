//! The interface of networks: packets, and the trait that the engines implement.

use auto_impl::auto_impl;
use beam::{BeamCounts, BeamReport};
use link::{Ecn, Priority, Trials};
use units::Time;
use wire::feedback::Field;

use crate::compressor::Compressor;
use crate::filter::QueueFilter;
use crate::port::{PortReport, QueueReport};
use crate::router::QueueRouter;

/// The number of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u16);

/// The number of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// A packet: its body, where it goes, and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<B> {
    /// Content of the packet.
    pub body: B,
    /// Key of the flow: one number for addresses, protocol and ports. By it, queues
    /// keep flows apart.
    pub flow: u32,
    /// The node that it is for.
    pub to: NodeId,
    /// Length of the IP packet in bytes.
    pub bytes: u16,
    /// How the queues on its way may treat it.
    pub priority: Priority,
    /// State of ECN: queues may mark it, or have marked it.
    pub ecn: Ecn,
}

/// A packet at its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<B> {
    /// When it arrived.
    pub at: Time,
    /// The packet.
    pub packet: Packet<B>,
}

/// Progress of a network by one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance<R> {
    /// When the last thing happened.
    pub at: Time,
    /// Number of things.
    pub events: u64,
    /// The port that the last of them happened to, if that was a packet that was looked at.
    pub port: u32,
    /// The result of looking at a packet that has reached its destination.
    pub seen: Option<R>,
}

/// Where a state machine counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// At a node.
    Node(NodeId),
    /// At both ends of a port, by its number in the topology.
    Port(u16),
    /// Before a port that does not take long packets.
    Gate(u16),
    /// At both ends of a tunnel, by its number in the scenario.
    Tunnel(u16),
    /// At an end of the outer connection of a tunnel: twice the number of the tunnel, and one more
    /// for its second end.
    TunnelEnd(u16),
    /// At the start of a path of a switch, by its number among all paths of all switches.
    Path(u16),
}

/// Declares the numbers of places of one kind.
macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident: $variant:ident),+ $(,)?) => {
        impl Counted {
            $($(#[$doc])*
            pub fn $name(self) -> Option<u16> {
                if let Self::$variant(number) = self { Some(number) } else { None }
            })+
        }
    };
}

numbers! {
    /// Number of the port with state machines at both ends, if it is one.
    port: Port,
    /// Number of the port behind the gate, if it is one.
    gate: Gate,
    /// Number of the tunnel, if it is one.
    tunnel: Tunnel,
    /// Number of the end of a tunnel, if it is one.
    tunnel_end: TunnelEnd,
    /// Number of the path, if it is one.
    path: Path,
}

/// Totals of a state machine at a node or at the ends of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReport {
    /// The node or the port.
    pub place: Counted,
    /// Names of what is counted, and how many.
    pub counts: Vec<(&'static str, u64)>,
}

impl NodeReport {
    /// The counter of this name; zero if there is none.
    pub fn count(&self, name: &str) -> u64 {
        let found = self.counts.iter().find(|(counter, _)| *counter == name);
        found.map_or(0, |(_, number)| *number)
    }
}

/// A network that carries packets. Time is an argument and never runs back.
#[auto_impl(Box)]
pub trait Fabric<B> {
    /// A host sends a packet.
    fn send(&mut self, now: Time, from: NodeId, packet: Packet<B>);

    /// The same for plain data, which is copied.
    #[inline]
    #[auto_impl(keep_default_for(Box))]
    fn send_copy(&mut self, now: Time, from: NodeId, packet: &Packet<B>)
    where
        Self: Sized,
        B: Copy,
    {
        self.send(now, from, *packet);
    }

    /// Returns true if packets have a feedback field.
    #[inline(always)]
    fn has_fields(&self) -> bool {
        false
    }

    /// Returns true if hosts have more to do with packets that arrive than to take them in: these
    /// have feedback fields, or are perhaps messages of routers.
    #[inline(always)]
    fn has_more_for_hosts(&self) -> bool {
        false
    }

    /// A host sends a packet with a feedback field, where packets have one.
    fn send_with(&mut self, now: Time, from: NodeId, packet: Packet<B>, field: Field) {
        let _ = field;
        self.send(now, from, packet);
    }

    /// The feedback field of the packet that [`advance`](Self::advance) has just given out.
    fn arrived_field(&self) -> Field {
        Field::default()
    }

    /// A node forwards a packet that it has received: the packet takes what limits the forwarding
    /// of the node, and then its link.
    fn forward(&mut self, now: Time, at: NodeId, packet: Packet<B>);

    /// Sets a filter for the queue of a port, before any packet is sent.
    fn filter(&mut self, port: usize, filter: Box<dyn QueueFilter<B>>);

    /// Sets a router at the queue of a port, before any packet is sent.
    fn route(&mut self, port: usize, router: Box<dyn QueueRouter<B>>);

    /// Sets a compressor for a port, before any packet is sent.
    fn set_compressor(&mut self, port: usize, compressor: Box<dyn Compressor<B>>);

    /// A message for the compressor of a port has arrived, after the transmissions that start by
    /// `now`.
    fn compressor_feedback(&mut self, now: Time, port: usize, message: &Packet<B>);

    /// Names of what the compressor of a port counts, and how many; none without one.
    fn compressor_counts(&self, port: usize) -> Vec<(&'static str, u64)>;

    /// A packet enters a port, whatever the routes are.
    fn send_through(&mut self, now: Time, port: usize, packet: Packet<B>);

    /// When something happens next; [`Time::NEVER`] if nothing does.
    fn next_event(&self) -> Time;

    /// Lets the next thing happen. Returns a packet if one has reached its destination.
    fn advance(&mut self) -> Option<Delivery<B>>;

    /// The same for plain data and for those who only look at a packet that has arrived, where it
    /// is, with its feedback field. If no packet has reached its destination, more things may
    /// happen, in their order, up to and including `until`.
    #[inline]
    #[auto_impl(keep_default_for(Box))]
    fn advance_and_look<R>(
        &mut self,
        until: Time,
        look: impl FnOnce(Time, &Packet<B>, &Field) -> R,
    ) -> Advance<R>
    where
        Self: Sized,
        B: Copy,
    {
        let _ = until;
        let at = self.next_event();
        let seen = self.advance();
        let seen = seen.map(|Delivery { at, packet }| look(at, &packet, &self.arrived_field()));
        Advance { at, events: 1, port: u32::MAX, seen }
    }

    /// When the far end of a port receives the next corrupted packet, at `from` or later, as far as
    /// that is known; [`Time::NEVER`] if none is on its way.
    fn next_corrupted(&self, port: usize, from: Time) -> Time;

    /// Totals of each link and each limited router until `now`, in the order of the topology.
    fn report(&mut self, now: Time) -> Vec<PortReport>;

    /// Draws of the ports whose packets are lost independently of each other, with the numbers of
    /// the ports. `None` if they are not known.
    fn trials(&self) -> Option<Vec<(u64, Trials)>> {
        None
    }

    /// How long packets waited at each port until `now`, in the order of the topology.
    fn queue_reports(&mut self, now: Time) -> Vec<QueueReport>;

    /// Counts of state machines at nodes, in the order of the nodes, and then those of ports.
    fn node_reports(&mut self) -> Vec<NodeReport> {
        Vec::new()
    }

    /// Packets with the key `key` in [`Packet::flow`] belong to this flow of the scenario. Only
    /// networks with classes of flows or with tunnels make use of it.
    fn identify(&mut self, key: u32, flow: FlowId) {
        let _ = (key, flow);
    }

    /// Totals of beams until `now`, in the order of the scenario.
    fn beam_reports(&mut self, now: Time) -> Vec<BeamReport> {
        let _ = now;
        Vec::new()
    }

    /// Counts of beams until `now`, in the order of the scenario.
    fn beam_counts(&mut self, now: Time) -> Vec<BeamCounts> {
        let _ = now;
        Vec::new()
    }

    /// Hosts send packets from the first to the second of these nodes, and nothing else does.
    /// Nobody looks at a port but after [`settle`](Self::settle). To be called before any packet is
    /// sent.
    fn expect_only(&mut self, ways: &[[NodeId; 2]]) {
        let _ = ways;
    }

    /// From now on totals are those after all things whose turn is before that of port number
    /// `before` at `until`.
    fn settle(&mut self, until: Time, before: u32) {
        let _ = (until, before);
    }

    /// Number of things until [`settle`](Self::settle) that were no progress of
    /// [`advance`](Self::advance).
    fn settled(&self) -> u64 {
        0
    }

    /// Packets carried over a hop so far, or until [`settle`](Self::settle) if that was called.
    fn hops(&self) -> u64;
}
