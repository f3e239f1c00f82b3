//! Middleboxes at nodes, with their timers.

use std::collections::BTreeSet;

use middlebox::{AnyDevice, Visible};
use network::{Counted, NodeId, NodeReport};
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
    /// Timers with the places of their middleboxes, and the timer of each.
    timers: BTreeSet<(Time, usize)>,
    timer_of: Vec<Time>,
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
        let timer_of = vec![Time::NEVER; all.len()];
        Self { all, of_node, timers: BTreeSet::new(), timer_of }
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

    /// The earliest timer, and the place of its middlebox.
    pub fn next_timer(&self) -> (Time, usize) {
        self.timers.first().copied().unwrap_or((Time::NEVER, 0))
    }

    /// A packet comes to a middlebox. Returns those that go on.
    pub fn on_packet(&mut self, now: Time, place: usize, packet: Whole<B>) -> Vec<Whole<B>> {
        let mut out = Vec::new();
        let at = &mut self.all[place];
        at.passed.0 += 1;
        at.device.on_packet(now, packet, &mut out);
        self.settle(place, out.len());
        out
    }

    /// The timer of a middlebox has come. Returns the packets that go on.
    pub fn on_timer(&mut self, now: Time, place: usize) -> Vec<Whole<B>> {
        let mut out = Vec::new();
        self.all[place].device.on_timer(now, &mut out);
        self.settle(place, out.len());
        out
    }

    fn settle(&mut self, place: usize, sent: usize) {
        let at = &mut self.all[place];
        at.passed.1 += sent as u64;
        let timer = at.device.next_timer();
        let before = std::mem::replace(&mut self.timer_of[place], timer);
        if before != timer {
            self.timers.remove(&(before, place));
            if timer != Time::NEVER {
                self.timers.insert((timer, place));
            }
        }
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
