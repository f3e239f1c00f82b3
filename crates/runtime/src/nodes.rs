//! A network with middleboxes that see the packets that their nodes forward, and with feedback fields that
//! routers treat.
//!
//! A packet is sent to the first node on its route that has such a middlebox. What comes out of the
//! middlebox there is sent on in the same way. So the engines know nothing of it, a network without such
//! middleboxes pays nothing, and both engines meet the same state machines at the same instants.
//!
//! Decisions:
//! - At one instant, packets that arrive are handled before timers of middleboxes, and these in the order of
//!   their nodes.
//! - The feedback field is next to the content of a packet here, so packets of other networks have no room
//!   for it. Packets that a middlebox makes have an empty field.
//! - The fabric is behind a vtable: only scenarios with middleboxes pay for it, and the loop of the
//!   simulator is compiled once for both engines.
//! - The simulator's loop is compiled a second time for networks with middleboxes. Functions of the hot path
//!   that had one caller before are `inline(always)`, or all networks would pay 5 % more instructions.

use middlebox::{AnyDevice, Header, Visible};
use network::{
    Delivery, Ecn, Fabric, NodeId, NodeReport, Packet, PortReport, QueueFilter, QueueReport,
    QueueRouter,
};
use scenario::Scenario;
use units::Time;
use wire::feedback::Field;

use crate::feedback::{self, Routers, set_routers};
use crate::middlebox::{has_devices, set_filters};
use crate::topology::number;

/// A packet's content with its destination, on its way to the next middlebox.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passing<B> {
    body: B,
    to: NodeId,
    pub(crate) field: Field,
}

impl<B: Visible> Visible for Passing<B> {
    fn header(&self) -> Option<Header> {
        self.body.header()
    }

    fn bytes(&self) -> u16 {
        self.body.bytes()
    }

    fn pure_ack(
        &self,
        acknowledgement: u32,
        echo: Option<u32>,
        window: Option<u16>,
    ) -> Option<Self> {
        let body = self.body.pure_ack(acknowledgement, echo, window)?;
        Some(Self { body, to: self.to, field: Field::default() })
    }

    fn with_timestamp(&self, value: u32) -> Self {
        Self { body: self.body.with_timestamp(value), ..*self }
    }
}

/// A packet as a middlebox gets it.
#[derive(Clone, Debug)]
struct Whole<B>(Packet<Passing<B>>);

impl<B: Visible> Visible for Whole<B> {
    fn header(&self) -> Option<Header> {
        self.0.body.header()
    }

    fn bytes(&self) -> u16 {
        self.0.bytes
    }

    fn pure_ack(
        &self,
        acknowledgement: u32,
        echo: Option<u32>,
        window: Option<u16>,
    ) -> Option<Self> {
        let body = self.0.body.pure_ack(acknowledgement, echo, window)?;
        let bytes = self.0.bytes - self.0.body.bytes() + body.bytes();
        let packet = &self.0;
        let Packet { flow, to, priority, .. } = *packet;
        Some(Self(Packet { body, flow, to, bytes, priority, ecn: Ecn::NotCapable }))
    }

    fn with_timestamp(&self, value: u32) -> Self {
        let Packet { flow, to, bytes, priority, ecn, .. } = self.0;
        let body = self.0.body.with_timestamp(value);
        Self(Packet { body, flow, to, bytes, priority, ecn })
    }
}

/// A node with a middlebox.
#[derive(Clone, Debug)]
struct At<B> {
    node: NodeId,
    device: AnyDevice<Whole<B>>,
    /// Packets that came in and went out.
    passed: (u64, u64),
}

/// Whether a scenario needs [`Nodes`]: a middlebox sees the packets that its node forwards, or packets have
/// feedback fields.
pub fn needs_nodes(scenario: &Scenario) -> bool {
    has_devices(scenario) || feedback::is_in_use(scenario)
}

/// A network with middleboxes at its nodes.
pub struct Nodes<B> {
    fabric: Box<dyn Fabric<Passing<B>> + Send>,
    devices: Vec<At<B>>,
    /// By node and destination, the next node with a middlebox, or the destination.
    stops: Vec<Vec<NodeId>>,
    /// The earliest timer of a middlebox, and its place in the list.
    timer: (Time, usize),
    out: Vec<Whole<B>>,
    /// By node and destination, the number of links between them; empty if packets have no feedback field.
    links: Vec<Vec<u8>>,
    /// The field of the packet that was given out last.
    arrived: Field,
}

impl<B: Visible> Nodes<B> {
    /// The network of a scenario with its middleboxes; `fabric` is empty.
    pub fn new(
        scenario: &Scenario,
        mut fabric: Box<dyn Fabric<Passing<B>> + Send>,
        routers: Routers,
    ) -> Self {
        set_filters(scenario, fabric.as_mut());
        set_routers(routers, fabric.as_mut());
        let nodes = scenario.nodes.iter().enumerate();
        let devices: Vec<_> = nodes
            .filter_map(|(node, settings)| {
                let device = AnyDevice::new(settings.middlebox?)?;
                Some(At { node: NodeId(number(node)), device, passed: (0, 0) })
            })
            .collect();
        let stops = stops(scenario, &devices.iter().map(|at| at.node).collect::<Vec<_>>());
        let links = if feedback::is_in_use(scenario) { links(scenario) } else { Vec::new() };
        let timer = (Time::NEVER, 0);
        let arrived = Field::default();
        Self { fabric, devices, stops, timer, out: Vec::new(), links, arrived }
    }

    fn stop(&self, from: NodeId, to: NodeId) -> NodeId {
        self.stops[usize::from(from.0)][usize::from(to.0)]
    }

    /// Sends on what a middlebox has given out.
    fn send_on(&mut self, now: Time, place: usize) {
        let node = self.devices[place].node;
        let out = std::mem::take(&mut self.out);
        self.devices[place].passed.1 += out.len() as u64;
        for Whole(packet) in out {
            let to = self.stop(node, packet.body.to);
            self.fabric.forward(now, node, Packet { to, ..packet });
        }
        let timers = self.devices.iter().map(|at| at.device.next_timer());
        let earliest = timers.enumerate().map(|(place, at)| (at, place)).min();
        self.timer = earliest.unwrap_or((Time::NEVER, 0));
    }
}

/// By node and destination, the number of links between them.
fn links(scenario: &Scenario) -> Vec<Vec<u8>> {
    let routes = scenario::routes(scenario);
    let all = 0..scenario.nodes.len();
    let hops = |from: usize, to: usize| {
        u8::try_from(routes.path(from, to, &scenario.links).len()).unwrap_or(u8::MAX)
    };
    all.clone().map(|from| all.clone().map(|to| hops(from, to)).collect()).collect()
}

/// By node and destination, the next node with a middlebox on the way, or the destination.
fn stops(scenario: &Scenario, middleboxes: &[NodeId]) -> Vec<Vec<NodeId>> {
    let routes = scenario::routes(scenario);
    let all = 0..scenario.nodes.len();
    let stop = |from: usize, to: usize| {
        let hops = routes.path(from, to, &scenario.links);
        let nodes = hops.iter().map(|hop| NodeId(number(hop.to(&scenario.links))));
        nodes.into_iter().find(|node| middleboxes.contains(node)).unwrap_or(NodeId(number(to)))
    };
    // A middlebox sees what its node forwards, and not what is for the node itself: the search may end
    // there either way.
    all.clone().map(|from| all.clone().map(|to| stop(from, to)).collect()).collect()
}

impl<B: Visible> Fabric<B> for Nodes<B> {
    fn send(&mut self, now: Time, from: NodeId, packet: Packet<B>) {
        self.send_with(now, from, packet, Field::default());
    }

    fn has_fields(&self) -> bool {
        !self.links.is_empty()
    }

    fn send_with(&mut self, now: Time, from: NodeId, packet: Packet<B>, mut field: Field) {
        let Packet { body, flow, to, bytes, priority, ecn } = packet;
        let stop = self.stop(from, to);
        if let Some(request) = &mut field.request {
            request.links = self.links[usize::from(from.0)][usize::from(to.0)];
        }
        let body = Passing { body, to, field };
        self.fabric.send(now, from, Packet { body, flow, to: stop, bytes, priority, ecn });
    }

    fn forward(&mut self, now: Time, at: NodeId, packet: Packet<B>) {
        let Packet { body, flow, to, bytes, priority, ecn } = packet;
        let stop = self.stop(at, to);
        let body = Passing { body, to, field: Field::default() };
        self.fabric.forward(now, at, Packet { body, flow, to: stop, bytes, priority, ecn });
    }

    fn arrived_field(&self) -> Field {
        self.arrived
    }

    fn route(&mut self, _: usize, _: Box<dyn QueueRouter<B>>) {
        unreachable!("the routers of a scenario are set by `new`");
    }

    fn filter(&mut self, _: usize, _: Box<dyn QueueFilter<B>>) {
        unreachable!("the filters of a scenario are set by `new`");
    }

    fn next_event(&self) -> Time {
        self.fabric.next_event().min(self.timer.0)
    }

    fn advance(&mut self) -> Option<Delivery<B>> {
        let (timer, place) = self.timer;
        if timer < self.fabric.next_event() {
            self.devices[place].device.on_timer(timer, &mut self.out);
            self.send_on(timer, place);
            return None;
        }
        let Delivery { at, packet } = self.fabric.advance()?;
        let here = packet.to;
        if packet.body.to == here {
            let Packet { body: Passing { body, to, field }, flow, bytes, priority, ecn, .. } =
                packet;
            self.arrived = field;
            return Some(Delivery { at, packet: Packet { body, flow, to, bytes, priority, ecn } });
        }
        let place = self.devices.iter().position(|at| at.node == here)?;
        let device = &mut self.devices[place];
        device.passed.0 += 1;
        device.device.on_packet(at, Whole(packet), &mut self.out);
        self.send_on(at, place);
        None
    }

    fn report(&mut self, now: Time) -> Vec<PortReport> {
        self.fabric.report(now)
    }

    fn queue_reports(&mut self, now: Time) -> Vec<QueueReport> {
        self.fabric.queue_reports(now)
    }

    fn node_reports(&self) -> Vec<NodeReport> {
        let report = |at: &At<B>| {
            let (received, sent) = at.passed;
            let mut counts = vec![("received", received), ("sent", sent)];
            counts.extend(at.device.counts());
            NodeReport { node: at.node, counts }
        };
        self.devices.iter().map(report).collect()
    }

    fn hops(&self) -> u64 {
        self.fabric.hops()
    }
}
