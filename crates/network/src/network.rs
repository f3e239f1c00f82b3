//! The fast engine.

use std::collections::VecDeque;

use link::{Fate, Link};
use units::Time;

use crate::fabric::{Delivery, Fabric, NodeId, Packet};
use crate::lane::LaneReport;
use crate::topology::{LaneSpec, Topology};
use crate::tournament::Tournament;

/// Packets on their way through one lane, in the order in which they arrive.
#[derive(Clone, Debug)]
struct Pipe<B> {
    packets: VecDeque<(Time, Packet<B>)>,
    delivered_packets: u64,
    delivered_bytes: u64,
}

/// A network with one event per packet and hop.
#[derive(Clone, Debug)]
pub struct Network<B> {
    topology: Topology,
    pipes: Vec<Pipe<B>>,
    /// For each lane, the arrival of its first packet.
    arrivals: Tournament,
    hops: u64,
}

impl<B: Copy> Network<B> {
    /// An empty network.
    pub fn new(topology: Topology) -> Self {
        let pipe = |_: &LaneSpec| Pipe {
            packets: VecDeque::new(),
            delivered_packets: 0,
            delivered_bytes: 0,
        };
        let pipes: Vec<_> = topology.lanes.iter().map(pipe).collect();
        let arrivals = Tournament::new(pipes.len());
        Self { topology, pipes, arrivals, hops: 0 }
    }

    #[inline]
    fn enter(&mut self, now: Time, lane: usize, packet: Packet<B>) {
        self.hops += 1;
        let link: &mut Link = &mut self.topology.lanes[lane].link;
        if let Fate::Arrives(at) = link.offer(now, u32::from(packet.bytes)) {
            let packets = &mut self.pipes[lane].packets;
            packets.push_back((at, packet));
            if packets.len() == 1 {
                self.arrivals.set(lane, at);
            }
        }
    }
}

impl<B: Copy> Fabric<B> for Network<B> {
    #[inline]
    fn send(&mut self, now: Time, from: NodeId, packet: Packet<B>) {
        let lane = self.topology.lane_out(from, packet.to);
        self.enter(now, lane, packet);
    }

    #[inline]
    fn next_event(&self) -> Time {
        self.arrivals.earliest().0
    }

    #[inline]
    fn advance(&mut self) -> Option<Delivery<B>> {
        let (at, lane) = self.arrivals.earliest();
        let lane = lane as usize;
        let pipe = &mut self.pipes[lane];
        let (_, packet) = pipe.packets.pop_front()?;
        pipe.delivered_packets += 1;
        pipe.delivered_bytes += u64::from(packet.bytes);
        let next = pipe.packets.front().map_or(Time::NEVER, |(at, _)| *at);
        self.arrivals.set(lane, next);
        match self.topology.next_lane(lane, packet.to) {
            Some(next) => {
                self.enter(at, next, packet);
                None
            }
            None => Some(Delivery { at, packet }),
        }
    }

    fn report(&mut self, now: Time) -> Vec<LaneReport> {
        let lanes = self.topology.lanes.iter_mut().zip(&self.pipes);
        lanes
            .map(|(lane, pipe)| {
                let (waiting_packets, waiting_bytes) = lane.link.waiting(now);
                LaneReport {
                    delivered_packets: pipe.delivered_packets,
                    delivered_bytes: pipe.delivered_bytes,
                    counters: *lane.link.counters(),
                    busy: lane.link.busy_until(now),
                    waiting_packets,
                    waiting_bytes,
                }
            })
            .collect()
    }

    fn hops(&self) -> u64 {
        self.hops
    }
}
