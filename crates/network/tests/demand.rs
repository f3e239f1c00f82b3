//! Demand assignment against closed forms: delay and jitter of sparse packets, and delay and rate
//! of bulk.
//!
//! F is the length of a frame, s = F / S that of a slot, n the slots of a packet, and D the delay
//! of the control loop in whole frames. A packet comes at a place in a frame that is uniform from 0
//! to F.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use link::{DemandCounters, DemandSettings, Direction, Ecn, Priority, Seed, Settings};
use network::reference::ReferenceNetwork;
use network::{Fabric, Network, NodeId, Packet, PortKind, PortReport, PortSpec, Topology};
use units::{Rate, Span, Time};

/// 1 Mbit/s in frames of 40 ms with 20 slots: a slot has 2 ms and 250 bytes.
const RATE: Rate = Rate::from_bits_per_second(1_000_000);
const FRAME: f64 = 0.040;
const SLOT: f64 = 0.002;
const SLOT_BYTES: u32 = 250;
const DELAY: Span = Span::from_millis(250);

/// Only requests, with a control loop of 500 ms, which are 12.5 frames: D has 13.
const ON_DEMAND: DemandSettings = DemandSettings {
    frame: Span::from_millis(40),
    slots: 20,
    cra: 0,
    vbdc: true,
    fca: 0,
    control_delay: Span::from_millis(500),
    rate: RATE,
};
const LOOP: f64 = 13.0 * FRAME;

fn topology(demand: DemandSettings) -> Topology {
    let settings = Settings { demand: Some(demand), ..Settings::new(RATE, DELAY) };
    let direction = Direction::new(settings, &Seed::new(5), 0, Time::NEVER);
    let port = PortSpec { to: NodeId(1), kind: PortKind::Link, direction, reverse: None };
    let routes = vec![vec![None, Some(0)], vec![None, None]];
    Topology { ports: vec![port], routes, addresses: Vec::new(), forwarding: vec![None; 2] }
}

/// Offers packets of these bytes at these times. Returns the seconds from each to its arrival
/// without propagation, and the totals.
fn carry(demand: DemandSettings, packets: &[(f64, u16)]) -> (Vec<f64>, PortReport) {
    let run = |mut fabric: Box<dyn Fabric<u32>>| {
        let mut delays = vec![f64::NAN; packets.len()];
        let mut deliver = |fabric: &mut Box<dyn Fabric<u32>>, until: Time| {
            while fabric.next_event() <= until && fabric.next_event() != Time::NEVER {
                let Some(out) = fabric.advance() else { continue };
                let number = out.packet.body as usize;
                delays[number] = (out.at - DELAY).as_secs_f64() - packets[number].0;
            }
        };
        for (body, (at, bytes)) in (0..).zip(packets) {
            let now = Time::ZERO + Span::from_secs_f64(*at);
            deliver(&mut fabric, now);
            let (priority, ecn) = (Priority::Normal, Ecn::NotCapable);
            let packet = Packet { body, flow: 0, to: NodeId(1), bytes: *bytes, priority, ecn };
            fabric.send(now, NodeId(0), packet);
        }
        deliver(&mut fabric, Time::ZERO + Span::from_secs(1_000_000));
        (delays, fabric.report(Time::ZERO + Span::from_secs(1_000_000))[0])
    };
    let fast = run(Box::new(Network::new(topology(demand))));
    let slow = run(Box::new(ReferenceNetwork::new(topology(demand))));
    assert_eq!(fast.0, slow.0);
    assert_eq!(fast.1, slow.1);
    fast
}

fn counters(report: &PortReport) -> DemandCounters {
    report.counters.demand.unwrap()
}

/// Packets two seconds apart, at places that cover a frame evenly.
fn sparse(packets: u32, bytes: u16) -> Vec<(f64, u16)> {
    let place = |number| (f64::from(number) + 0.5) / f64::from(packets) * FRAME;
    (0..packets).map(|number| (1.0 + 2.0 * f64::from(number) + place(number), bytes)).collect()
}

/// Mean and standard deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, (square / values.len() as f64).sqrt())
}

fn near(measured: f64, expected: f64) {
    let error = (measured - expected).abs();
    assert!(error < 1e-6 + expected * 1e-4, "{measured} instead of {expected}");
}

/// A request goes out at the next start of a frame, F - u later, and the slots come D frames after
/// it: F - u + D + n s. Its mean is F / 2 + D + n s, and its jitter that of a uniform variable, F /
/// sqrt(12).
#[test]
fn a_sparse_packet_waits_for_half_a_frame_and_the_control_loop() {
    for (bytes, slots) in [(40, 1_u64), (250, 1), (251, 2), (1500, 6)] {
        let packets = sparse(1000, bytes);
        let (delays, report) = carry(ON_DEMAND, &packets);
        let (mean, deviation) = moments(&delays);
        near(mean, FRAME / 2.0 + LOOP + slots as f64 * SLOT);
        near(deviation, FRAME / 12.0_f64.sqrt());
        let counted = counters(&report);
        assert_eq!(counted.requests, 1000);
        assert_eq!(counted.requested_slots, 1000 * slots);
        assert_eq!((counted.vbdc_slots, counted.unused_slots), (1000 * slots, 0));
        near(counted.access_delay.as_secs_f64() / 1000.0, mean);
        let [expected, least, most] = ON_DEMAND.sparse_delay(bytes.into());
        near(mean, expected);
        assert!(delays.iter().all(|delay| (least - 1e-4..most + 1e-4).contains(delay)));
    }
}

/// With n = c = 1 slot of CRA per frame, a packet waits for the next frame: F - u + s. No loop, and
/// nothing is requested.
#[test]
fn constant_rate_saves_the_control_loop_and_leaves_the_jitter_of_a_frame() {
    let demand = DemandSettings { cra: 50_000, ..ON_DEMAND };
    let (delays, report) = carry(demand, &sparse(1000, 250));
    let (mean, deviation) = moments(&delays);
    near(mean, FRAME / 2.0 + SLOT);
    near(deviation, FRAME / 12.0_f64.sqrt());
    let counted = counters(&report);
    assert_eq!((counted.requests, counted.cra_slots), (0, 1000));
    near(demand.sparse_delay(250)[0], mean);
}

/// All slots with CRA are a link whose bursts have the length of a slot: a packet waits for the
/// start of a slot, s / 2, and takes n of them.
#[test]
fn with_all_slots_a_packet_waits_for_half_a_slot() {
    let demand = DemandSettings { cra: 1_000_000, ..ON_DEMAND };
    let (delays, report) = carry(demand, &sparse(1000, 1000));
    near(moments(&delays).0, SLOT / 2.0 + 4.0 * SLOT);
    assert_eq!(counters(&report).requests, 0);
    // Free capacity is the same, but for the request: the terminal cannot count on it.
    let demand = DemandSettings { fca: 1_000_000, ..ON_DEMAND };
    let (delays, report) = carry(demand, &sparse(1000, 1000));
    near(moments(&delays).0, SLOT / 2.0 + 4.0 * SLOT);
    assert_eq!(counters(&report).fca_slots, 4000);
}

/// Bulk that is there at once is requested at once. After F - u + D it has all slots, and the rate
/// of the link.
#[test]
fn bulk_waits_once_and_then_has_the_rate_of_the_link() {
    let packets = vec![(1.01, 1000); 2000];
    let (delays, report) = carry(ON_DEMAND, &packets);
    let first = 0.03 + LOOP;
    for (number, delay) in delays.iter().enumerate() {
        near(*delay, first + (number + 1) as f64 * 4.0 * SLOT);
    }
    let counted = counters(&report);
    assert_eq!((counted.requests, counted.requested_slots), (1, 8000));
    assert_eq!((counted.vbdc_slots, counted.unused_slots), (8000, 0));
    assert_eq!(report.busy, Span::from_secs(16));
}

/// With c slots of CRA alone bulk has c / S of the rate. Packets share slots.
#[test]
fn bulk_with_constant_rate_alone_has_that_rate() {
    for (cra, slots) in [(50_000, 1.0), (100_000, 2.0), (125_000, 2.5), (1_000_000, 20.0)] {
        let demand = DemandSettings { cra, vbdc: false, ..ON_DEMAND };
        let (delays, report) = carry(demand, &vec![(0.999_999, 100); 5000]);
        let frames = 5000.0 * 100.0 / f64::from(SLOT_BYTES) / slots;
        let last = delays.iter().copied().fold(0.0, f64::max);
        assert!((last - frames * FRAME).abs() <= FRAME, "{last} instead of {}", frames * FRAME);
        assert_eq!(counters(&report).cra_slots, 2000);
        near(demand.share(), slots / 20.0);
    }
}

/// Data that comes at a constant rate is requested in each frame for the bytes of that frame, and
/// has the delay of a sparse packet.
#[test]
fn a_constant_stream_is_delayed_by_the_loop_and_loses_no_slots() {
    // 250 bytes each 4 ms: half of the rate.
    let packets: Vec<_> = (0..5000).map(|n| (1.001 + 0.004 * f64::from(n), 250)).collect();
    let (delays, report) = carry(ON_DEMAND, &packets);
    let counted = counters(&report);
    assert_eq!(counted.requested_slots, 5000);
    assert_eq!((counted.vbdc_slots, counted.unused_slots), (5000, 0));
    assert_eq!(counted.requests, 500);
    // Ten packets of a frame have the first ten slots of another: F - u + D + (i + 1) s with u = i
    // F / 10.
    let (mean, _) = moments(&delays[100..4900]);
    let places = (0..10).map(|i| FRAME - 0.001 - f64::from(i) * 0.004 + f64::from(i + 1) * SLOT);
    near(mean, LOOP + places.sum::<f64>() / 10.0);
}

/// Data that CRA carries while a request is on its way is not requested.
#[test]
fn requests_leave_out_what_constant_rate_carries_until_the_grant() {
    // 13 frames of CRA with two slots carry 26 of the 40 slots.
    let demand = DemandSettings { cra: 100_000, ..ON_DEMAND };
    let (delays, report) = carry(demand, &[(1.039, 1000); 10]);
    let counted = counters(&report);
    assert_eq!(counted.requested_slots, 14);
    assert_eq!((counted.cra_slots, counted.vbdc_slots, counted.unused_slots), (28, 12, 2));
    // 14 and two of CRA are in the last frame; two of the 14 find nothing.
    near(delays[9], 0.001 + LOOP + 14.0 * SLOT);
}

/// A control loop of no time grants in the frame of the request.
#[test]
fn without_a_loop_the_frame_of_the_request_has_the_slots() {
    let demand = DemandSettings { control_delay: Span::ZERO, ..ON_DEMAND };
    let (delays, _) = carry(demand, &sparse(1000, 250));
    near(moments(&delays).0, FRAME / 2.0 + SLOT);
}
