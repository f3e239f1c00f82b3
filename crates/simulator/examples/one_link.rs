//! One link on its own, for `benches/link_instructions.py`: packets pass it without hosts that do
//! any work.
//!
//!     one_link MECHANISM PER PACKETS
//!
//! The packets forward come in bursts of ten at 95 % of the rate, so most of them wait. Every
//! second one that arrives is answered by a short packet, as TCP acknowledges. Each packet has the
//! length that a segment has in the simulator. `MECHANISM` is `plain`, `drop-tail`, or a name of
//! `bentpipe path`, and then works forward only. `drop-tail` is the plain queue as a discipline
//! that decides at dequeue. `PER` is the packet error rate forward. The program prints one line of
//! JSON.

#![expect(clippy::print_stdout, reason = "the output of the program")]

use link::{Aqm, Arq, Direction, Errors, QueueLimit, Seed, Settings};
use network::{Ecn, Fabric, Network, NodeId, Packet, PortKind, PortSpec, Topology};
use units::{Rate, Span, Time};

const USAGE: &str = "usage: one_link MECHANISM PER PACKETS";
const RATE: u64 = 20_000_000;
const DELAY: Span = Span::from_millis(20);
/// Ten packets of 1500 bytes take 6 ms at this rate.
const BURST: u64 = 10;
const BETWEEN_BURSTS: Span = Span::from_nanos(6_315_000);
const DATA_BYTES: u16 = 1500;
const ANSWER_BYTES: u16 = 40;

/// As long as a segment with the number of its endpoint.
type Body = [u32; 16];

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [mechanism, per, packets] = arguments.as_slice() else { return Err(USAGE.into()) };
    let (mut network, packets) =
        (Network::new(topology(mechanism, per.parse()?)?), packets.parse()?);
    let end = pass(&mut network, packets);
    let reports = network.report(end);
    let arq = reports[0].counters.arq.unwrap_or_default();
    // What the transmitters of both directions have sent.
    let frames: u64 = reports.iter().map(|report| report.counters.accepted_packets).sum::<u64>()
        + arq.repeated_frames
        + arq.skip_frames
        + arq.status_frames;
    println!(
        r#"{{"hops": {}, "delivered": {}, "frames": {frames}}}"#,
        network.hops(),
        reports[0].delivered_packets
    );
    Ok(())
}

/// A link between two nodes with `mechanism` forward.
fn topology(mechanism: &str, per: f64) -> Result<Topology, Failure> {
    let rate = Rate::from_bits_per_second(RATE);
    let queue = QueueLimit::Packets(1000);
    let backward = Settings { queue, ..Settings::new(rate, DELAY) };
    let aqm = Aqm::all().into_iter().find(|aqm| aqm.name() == mechanism);
    // As `scenario` has it: both delays, and two frames of 1500 bytes in each direction.
    let frame = Span::from_nanos(u64::from(DATA_BYTES) * 8 * 1_000_000_000 / RATE);
    let timer = DELAY + DELAY + frame + frame + frame + frame;
    let arq = Arq::all().into_iter().find(|arq| arq.name() == mechanism);
    let arq = arq.map(|arq| arq.settings(timer));
    if aqm.is_none() && arq.is_none() && !["plain", "drop-tail"].contains(&mechanism) {
        return Err(format!("no such mechanism: {mechanism}").into());
    }
    let channel = if per > 0.0 { Errors::PacketErrors { per } } else { Errors::Perfect };
    let forward = Settings { aqm, arq, channel, ..backward.clone() };
    let decides_late = [mechanism == "drop-tail" || arq.is_some(), arq.is_some()];
    let port = |((number, settings), decides_late): ((u16, Settings), bool)| {
        let direction = Direction::new(settings, &Seed::new(1), number.into(), Time::NEVER);
        let direction = if decides_late { direction.deciding_at_dequeue() } else { direction };
        let (to, kind) = (NodeId(1 - number), PortKind::Link);
        PortSpec { to, kind, direction, reverse: Some(number ^ 1) }
    };
    let ports = [(0, forward), (1, backward)].into_iter().zip(decides_late).map(port).collect();
    let routes = vec![vec![None, Some(0)], vec![Some(1), None]];
    Ok(Topology { ports, routes, addresses: Vec::new(), forwarding: vec![None; 2] })
}

fn packet(to: u16, bytes: u16) -> Packet<Body> {
    let (priority, ecn) = (link::Priority::Normal, Ecn::NotCapable);
    Packet { body: [0; 16], flow: 0, to: NodeId(to), bytes, priority, ecn }
}

/// Sends the packets, and lets everything that follows from them happen. Returns the time of the
/// last event.
fn pass(network: &mut Network<Body>, packets: u64) -> Time {
    let (mut now, mut unanswered) = (Time::ZERO, false);
    let mut burst_at = Time::ZERO;
    let mut sent = 0;
    loop {
        let next = network.next_event();
        if sent < packets && burst_at < next {
            now = burst_at;
            for _ in 0..BURST.min(packets - sent) {
                network.send(now, NodeId(0), packet(1, DATA_BYTES));
            }
            sent += BURST;
            burst_at += BETWEEN_BURSTS;
            continue;
        }
        if next == Time::NEVER {
            return now;
        }
        now = next;
        let arrived = network.advance_and_look(now, |_, packet, _| packet.to);
        if arrived.seen == Some(NodeId(1)) {
            if unanswered {
                network.send(now, NodeId(1), packet(0, ANSWER_BYTES));
            }
            unanswered = !unanswered;
        }
    }
}
