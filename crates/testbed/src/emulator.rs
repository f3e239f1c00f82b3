//! The network between the hosts: the simulator's own, driven by the real clock.
//!
//! One thread reads what hosts send from their TUN devices, hands it to the network, and writes it
//! into the device of its destination when the network says that it arrives. It sleeps until
//! shortly before the next arrival and then watches the clock, for who sleeps wakes up late.

use std::borrow::Cow;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use link::Priority;
use link::Seed;
use network::{
    BeamReport, Delivery, Ecn, Fabric, NodeId, NodeReport, Packet, PortReport, QueueReport,
};
use recording::ExtraTable;
use runtime::{AnyNetwork, BeamSampler, Fast, LinkRecorder, LinkSamples};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use scenario::model::SideName;
use scenario::{Routes, Scenario};
use units::{Span, Time};
use wire::IpPacket;
use wire::ip::{CE, ECT_1, LONGEST_PACKET};

use crate::clock::Clock;
use crate::keys::Keys;
use crate::quality::{Histogram, RateMeter};
use crate::sys;
use crate::way::Ways;

/// How long before an arrival the thread stops sleeping and watches the clock: waking up takes that
/// long.
const WATCH: Span = Span::from_nanos(30_000);
/// Sleep before a watch, in watches. A thread that comes before all others and
/// never sleeps is stopped by the kernel for 50 ms in each second.
const SLEEPS_PER_WATCH: u64 = 4;
/// The longest sleep; then it looks whether it shall stop.
const LONGEST_SLEEP: Span = Span::from_millis(20);
/// Before the applications, which come before all others on the machine.
const PRIORITY: i32 = 2;

/// The emulator's end of a host's interface.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) node: NodeId,
    /// The side of the interface, if the host is a gateway.
    pub(crate) side: Option<SideName>,
    pub(crate) tun: OwnedFd,
    /// Measures the link into the host, if there is only one.
    pub(crate) meter: Option<RateMeter>,
}

/// A packet as a capture sees it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) at: Time,
    pub(crate) node: NodeId,
    pub(crate) start: Vec<u8>,
    pub(crate) length: u32,
    pub(crate) ports: Option<(u16, u16)>,
}

/// Results of an emulation.
#[derive(Debug)]
pub(crate) struct Emulated {
    pub(crate) ports: Vec<Port>,
    pub(crate) outputs: Vec<PortReport>,
    pub(crate) nodes: Vec<NodeReport>,
    pub(crate) queues: Vec<QueueReport>,
    pub(crate) beams: Vec<BeamReport>,
    pub(crate) links: LinkSamples,
    /// Series of beams.
    pub(crate) series: Vec<ExtraTable>,
    pub(crate) hops: u64,
    pub(crate) events: u64,
    /// How much later than computed packets were delivered.
    pub(crate) lateness: Histogram,
    /// Packets that no host was to get.
    pub(crate) strays: u64,
    /// Packets that a device did not take.
    pub(crate) lost: u64,
}

/// The network and the ends of the hosts' interfaces.
pub(crate) struct Emulator {
    clock: Clock,
    network: AnyNetwork<IpPacket>,
    /// For each node the numbers of its ports, if it is a host: on each side, if it is a gateway.
    by_node: Vec<Option<[usize; 2]>>,
    /// Where packets stop on their way.
    ways: Ways,
    routes: Routes,
    keys: Keys,
    interval: Option<Span>,
    next_sample: Time,
    recorder: LinkRecorder,
    beams: BeamSampler,
    capture: Option<Capturing>,
    result: Emulated,
}

/// The scenario as the network sees it: hosts have put packets into tunnels before.
fn on_the_wire(scenario: &Scenario) -> Cow<'_, Scenario> {
    if scenario.tunnels.is_empty() {
        return Cow::Borrowed(scenario);
    }
    let mut plain = scenario.clone();
    plain.tunnels.clear();
    plain.flows.iter_mut().for_each(|flow| flow.tunnel = None);
    Cow::Owned(plain)
}

/// A capture that is being made.
#[derive(Debug)]
pub(crate) struct Capturing {
    pub(crate) packets: Sender<Seen>,
    /// Bytes of each packet that it gets.
    pub(crate) snaplen: usize,
}

impl Emulator {
    pub(crate) fn new(
        clock: Clock,
        scenario: &Scenario,
        seed: u64,
        ports: Vec<Port>,
        capture: Option<Capturing>,
    ) -> Self {
        let scenario = &*on_the_wire(scenario);
        let interval = scenario.record.interval;
        let mut by_node: Vec<Option<[usize; 2]>> = vec![None; scenario.nodes.len()];
        for (number, port) in ports.iter().enumerate() {
            let numbers = &mut by_node[usize::from(port.node.0)];
            match (port.side, numbers) {
                (Some(side), Some(numbers)) => numbers[side.index()] = number,
                (_, numbers) => *numbers = Some([number; 2]),
            }
        }
        let hosts: Vec<_> = ports.iter().map(|port| port.node.0).collect();
        Self {
            clock,
            by_node,
            ways: Ways::new(scenario, &hosts),
            routes: scenario::routes(scenario),
            keys: Keys::new(scenario),
            network: runtime::network::<Fast, _>(scenario, &Seed::new(seed)),
            interval,
            next_sample: interval.map_or(Time::NEVER, |_| Time::ZERO),
            recorder: LinkRecorder::new(scenario),
            beams: BeamSampler::new(scenario),
            capture,
            result: Emulated {
                ports,
                outputs: Vec::new(),
                nodes: Vec::new(),
                queues: Vec::new(),
                beams: Vec::new(),
                links: LinkSamples::default(),
                series: Vec::new(),
                hops: 0,
                events: 0,
                lateness: Histogram::default(),
                strays: 0,
                lost: 0,
            },
        }
    }

    /// Carries packets until it is stopped.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> io::Result<Emulated> {
        // Without the right to it, the figures of the run show how much it was needed.
        let _ = sys::schedule_first(PRIORITY);
        let mut buffer = vec![0; usize::from(LONGEST_PACKET)];
        while !stop.load(Ordering::Relaxed) {
            self.deliver_due();
            for port in self.wait()? {
                self.read_all(port, &mut buffer)?;
            }
        }
        let now = self.deliver_due();
        if self.interval.is_some() {
            self.sample(now);
        }
        self.result.outputs = self.network.report(now);
        self.result.nodes = self.network.node_reports();
        self.result.queues = self.network.queue_reports(now);
        self.result.beams = self.network.beam_reports(now);
        self.result.hops = self.network.hops();
        self.result.links = self.recorder.finish();
        self.result.series = self.beams.into_tables().collect();
        Ok(self.result)
    }

    fn sample(&mut self, now: Time) {
        self.recorder.sample(now, &self.network.report(now), &self.network.node_reports());
        self.beams.sample(now, self.network.beam_counts(now));
    }

    /// Delivers all that has arrived by now, and takes the samples that are due. Returns the time
    /// up to which that is done.
    fn deliver_due(&mut self) -> Time {
        loop {
            let now = self.clock.now();
            if self.next_sample <= now.min(self.network.next_event()) {
                self.sample(now);
                self.next_sample += self.interval.unwrap_or(Span::MAX);
            }
            if self.network.next_event() > now {
                return now;
            }
            self.result.events += 1;
            if let Some(delivery) = self.network.advance() {
                self.deliver(delivery);
            }
        }
    }

    fn deliver(&mut self, delivery: Delivery<IpPacket>) {
        let Delivery { at: planned, packet: Packet { mut body, to, bytes, ecn, .. } } = delivery;
        if ecn == Ecn::Marked {
            body.mark();
        }
        let Some(number) = self.port_at(to, &body) else { return };
        let actual = self.clock.now();
        self.see(actual, to, &body);
        let port = &mut self.result.ports[number];
        if rustix::io::write(&port.tun, body.bytes()).is_err() {
            self.result.lost += 1;
            return;
        }
        self.result.lateness.add(actual.since(planned));
        if let Some(meter) = &mut port.meter {
            meter.delivered(planned, actual, bytes);
        }
    }

    /// The port at `node` through which a packet arrives.
    fn port_at(&self, node: NodeId, packet: &IpPacket) -> Option<usize> {
        let numbers = self.by_node[usize::from(node.0)]?;
        Some(match self.ways.side(node.0, packet) {
            Some(side) => numbers[side.index()],
            None => numbers[0],
        })
    }

    /// Waits until a packet arrives or a host sends one, and returns the ports with something to
    /// read.
    fn wait(&self) -> io::Result<Vec<usize>> {
        let next = self.network.next_event().min(self.next_sample);
        let left = next.since(self.clock.now());
        let watches = left.as_nanos() > (1 + SLEEPS_PER_WATCH) * WATCH.as_nanos();
        let sleep = left.saturating_sub(if watches { WATCH } else { Span::ZERO });
        let sleep = sleep.min(LONGEST_SLEEP);
        let ports = self.result.ports.iter();
        let mut polled: Vec<_> = ports.map(|port| PollFd::new(&port.tun, PollFlags::IN)).collect();
        let timeout = Timespec { tv_sec: 0, tv_nsec: sleep.as_nanos() as i64 };
        match poll(&mut polled, Some(&timeout)) {
            Ok(0) if watches && sleep < LONGEST_SLEEP => {
                while self.clock.now() < next {
                    std::hint::spin_loop();
                }
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = polled.iter().enumerate().filter(|(_, fd)| !fd.revents().is_empty());
        Ok(ready.map(|(number, _)| number).collect())
    }

    /// Takes in all that a host has sent, without making arrivals wait for it.
    fn read_all(&mut self, port: usize, buffer: &mut [u8]) -> io::Result<()> {
        loop {
            match rustix::io::read(self.result.ports[port].tun.as_fd(), &mut *buffer) {
                Ok(length) => {
                    let now = self.deliver_due();
                    self.send(now, port, &buffer[..length]);
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn send(&mut self, now: Time, port: usize, bytes: &[u8]) {
        let from = self.result.ports[port].node;
        let Some((packet, to)) = self.addressed(from, bytes) else {
            self.result.strays += 1;
            return;
        };
        self.see(now, from, &packet);
        let flow = self.keys.of(&packet, &mut *self.network);
        let (length, ecn, priority) = (bytes.len() as u16, ecn(&packet), Priority::Normal);
        let packet = Packet { body: packet, flow, to, bytes: length, priority, ecn };
        self.network.send(now, from, packet);
    }

    /// The packet in `bytes` and the host at which it stops next, if it is one for a host of the
    /// scenario.
    fn addressed(&self, from: NodeId, bytes: &[u8]) -> Option<(IpPacket, NodeId)> {
        let packet = IpPacket::read(bytes)?;
        let to = runtime::node(packet.destination())?;
        self.by_node.get(usize::from(to)).copied().flatten()?;
        let stop = self.ways.next(from.0, to, &packet);
        let leads = self.routes.leads(from.0.into(), to.into());
        leads.then_some((packet, NodeId(stop)))
    }

    fn see(&self, at: Time, node: NodeId, packet: &IpPacket) {
        let Some(capture) = &self.capture else { return };
        let bytes = packet.bytes();
        let start = bytes[..bytes.len().min(capture.snaplen)].to_vec();
        let (length, ports) = (bytes.len() as u32, packet.ports());
        // The receiver is gone when the capture could not be written.
        let _ = capture.packets.send(Seen { at, node, start, length, ports });
    }
}

/// The ECN field of a packet. Routers may mark all packets but those with a field of zero (RFC 3168
/// section 5).
fn ecn(packet: &IpPacket) -> Ecn {
    match packet.ecn() {
        0 => Ecn::NotCapable,
        CE => Ecn::Marked,
        ECT_1 => Ecn::Scalable,
        _ => Ecn::Capable,
    }
}
