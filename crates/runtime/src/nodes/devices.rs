//! Middleboxes at nodes, with their timers.

use middlebox::{AnyDevice, Visible};
use network::{Counted, NodeId, NodeReport, WinnerTree};
use scenario::Scenario;
use units::Time;

use super::whole::Whole;
use crate::topology::number;

/// A node with a middlebox.
#[derive(Clone, Debug)]
struct At<B> {
    node: NodeId,
    device: AnyDevice<Whole<B>>,
    /// Packets that came in and went out.
    passed: (u64, u64),
}

/// The middleboxes of a network, in the order of their nodes.
#[derive(Clone, Debug)]
pub(super) struct Devices<B> {
    all: Vec<At<B>>,
    /// By node, the place of its middlebox; empty without any.
    of_node: Vec<Option<u16>>,
    /// The timer of each.
    timers: WinnerTree,
}

impl<B: Visible> Devices<B> {
    /// Those of a scenario.
    pub fn new(scenario: &Scenario) -> Self {
        let mut all = Vec::new();
        let mut of_node = vec![None; scenario.nodes.len()];
        for (node, settings) in scenario.nodes.iter().enumerate() {
            let Some(device) = settings.middlebox.and_then(AnyDevice::new) else { continue };
            of_node[node] = Some(number(all.len()));
            all.push(At { node: NodeId(number(node)), device, passed: (0, 0) });
        }
        if all.is_empty() {
            of_node.clear();
        }
        let timers = WinnerTree::new(all.len());
        Self { all, of_node, timers }
    }

    /// Their nodes.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.all.iter().map(|at| at.node)
    }

    /// The node of a middlebox.
    pub fn node(&self, place: usize) -> NodeId {
        self.all[place].node
    }

    /// The place of the middlebox at a node.
    pub fn at(&self, node: NodeId) -> Option<usize> {
        self.of_node.get(usize::from(node.0)).copied().flatten().map(usize::from)
    }

    /// The earliest timer.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.timers.earliest().0
    }

    /// Gives a packet to a middlebox. Returns the packets that the middlebox sends on at once.
    pub fn on_packet(&mut self, now: Time, place: usize, packet: Whole<B>) -> Vec<Whole<B>> {
        let mut out = Vec::new();
        let at = &mut self.all[place];
        at.passed.0 += 1;
        at.device.on_packet(now, packet, &mut out);
        self.settle(place, out.len());
        out
    }

    /// The earliest timer has come. Returns the place of its middlebox, and what that sends.
    pub fn on_timer(&mut self, now: Time) -> Option<(usize, Vec<Whole<B>>)> {
        let place = usize::try_from(self.timers.earliest().1).ok()?;
        let mut out = Vec::new();
        self.all.get_mut(place)?.device.on_timer(now, &mut out);
        self.settle(place, out.len());
        Some((place, out))
    }

    fn settle(&mut self, place: usize, sent: usize) {
        let at = &mut self.all[place];
        at.passed.1 += sent as u64;
        self.timers.set(place, at.device.next_timer());
    }

    /// Counts of each middlebox.
    pub fn reports(&self) -> impl Iterator<Item = NodeReport> {
        self.all.iter().map(|at| {
            let (received, sent) = at.passed;
            let mut counts = vec![("received", received), ("sent", sent)];
            counts.extend(at.device.counts());
            NodeReport { place: Counted::Node(at.node), counts }
        })
    }
}
