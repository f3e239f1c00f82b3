//! Forward error correction against closed forms: the binomial for independent losses, and bursts
//! for the interleaver.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use link::{
    BurstLength, Bursts, Direction, Ecn, Errors, FecCounters, FecSettings, Priority, Seed, Settings,
};
use network::{Fabric, Network, NodeId, Packet, PortKind, PortReport, PortSpec, Topology};
use units::{Rate, Span, Time};

const BYTES: u16 = 1000;
const HEADER: u32 = 6;
/// A bit takes a nanosecond. A data packet has 1006 bytes, and a parity packet 1009.
const RATE: u64 = 1_000_000_000;
const FRAME: u64 = 1006 * 8;
const PARITY: u64 = 1009 * 8;
const DELAY: Span = Span::from_nanos(20_000);

fn fec(data: u32, parity: u32, depth: u32) -> FecSettings {
    let timer = Span::from_secs(1);
    FecSettings { data, parity, depth, timer, in_order: true, header: HEADER }
}

fn link(fec: FecSettings, channel: Errors) -> Network<u32> {
    let rate = Rate::from_bits_per_second(RATE);
    let settings = Settings { fec: Some(fec), channel, ..Settings::new(rate, DELAY) };
    let direction = Direction::new(settings, &Seed::new(5), 0, Time::NEVER);
    let port = PortSpec { to: NodeId(1), kind: PortKind::Link, direction, reverse: None };
    let routes = vec![vec![None, Some(0)], vec![None, None]];
    Network::new(Topology {
        ports: vec![port],
        routes,
        addresses: Vec::new(),
        forwarding: vec![None; 2],
    })
}

fn packet(body: u32) -> Packet<u32> {
    let (priority, ecn) = (Priority::Normal, Ecn::NotCapable);
    Packet { body, flow: 0, to: NodeId(1), bytes: BYTES, priority, ecn }
}

/// Carries `packets` packets, all offered at the start. Returns the arrivals and the totals.
fn carry(fec: FecSettings, channel: Errors, packets: u32) -> (Vec<(Time, u32)>, PortReport) {
    let mut network = link(fec, channel);
    for body in 0..packets {
        network.send(Time::ZERO, NodeId(0), packet(body));
    }
    let mut arrived = Vec::new();
    while network.next_event() != Time::NEVER {
        arrived.extend(network.advance().map(|out| (out.at, out.packet.body)));
    }
    let report = network.report(Time::ZERO + Span::from_secs(1000))[0];
    (arrived, report)
}

fn counters(report: &PortReport) -> FecCounters {
    report.counters.fec.unwrap()
}

/// P(X = k) of n independent losses with probability p.
fn binomial(n: u32, k: u32, p: f64) -> f64 {
    let choose = (0..k).fold(1.0, |all, i| all * f64::from(n - i) / f64::from(k - i));
    choose * p.powf(f64::from(k)) * (1.0 - p).powf(f64::from(n - k))
}

/// Lost data packets of a block: E[L] and E[L^2]. Of j > m losses in n = k + m packets, the number
/// that hits data is hypergeometric.
fn lost_of_block(data: u32, parity: u32, per: f64) -> (f64, f64) {
    let n = data + parity;
    let share = f64::from(data) / f64::from(n);
    let moments = (parity + 1..=n).map(|j| {
        let (p, j, n) = (binomial(n, j, per), f64::from(j), f64::from(n));
        let mean = j * share;
        let variance = mean * (1.0 - share) * (n - j) / (n - 1.0);
        (p * mean, p * (variance + mean * mean))
    });
    moments.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1))
}

/// The residual loss is the mean of the binomial over blocks, within four standard errors, with any
/// interleaving depth: interleaving changes nothing where losses are independent.
#[test]
fn residual_loss_is_that_of_the_binomial() {
    let cases =
        [(1, 1, 0.1), (4, 1, 0.03), (10, 2, 0.01), (10, 2, 0.1), (30, 3, 0.03), (20, 10, 0.2)];
    for (data, parity, per) in cases {
        for depth in [1, 4] {
            let (settings, blocks) = (fec(data, parity, depth), 240_000 / data / depth * depth);
            let channel = Errors::PacketErrors { per };
            let (arrived, report) = carry(settings, channel, blocks * data);
            let (mean, square) = lost_of_block(data, parity, per);
            let (k, blocks) = (f64::from(data), f64::from(blocks));
            let case = format!("{data} + {parity}, depth {depth}, PER {per}");
            let closed = settings.residual_loss(per);
            assert!((closed - mean / k).abs() < 1e-9, "{case}: {closed}, {}", mean / k);
            let lost = blocks * k - arrived.len() as f64;
            let error = ((square - mean * mean) * blocks).sqrt();
            assert!(
                (lost - blocks * mean).abs() < 4.0 * error,
                "{case}: {lost}, {}",
                blocks * mean
            );
            let FecCounters { lost_packets, repaired_packets, parity_packets, .. } =
                counters(&report);
            assert_eq!(lost_packets as f64, lost, "{case}");
            assert_eq!(parity_packets as f64, blocks * f64::from(parity), "{case}");
            assert!(repaired_packets > 0, "{case}");
            assert!(arrived.is_sorted_by_key(|(_, body)| *body), "{case}");
        }
    }
}

/// Bursts of eight packets on average: four parity packets in 24 repair few of them in one block,
/// and nearly all where eight blocks share them.
#[test]
fn an_interleaver_makes_bursts_repairable() {
    let mean_burst = BurstLength::Packets(8.0);
    let bursts = Bursts { mean_loss: 0.01, mean_burst, loss_in_burst: 1.0, loss_in_gap: 0.0 };
    let residual = |depth| {
        let (_, report) = carry(fec(20, 4, depth), Errors::Bursts(bursts), 400_000);
        counters(&report).lost_packets as f64 / 400_000.0
    };
    let [alone, deep] = [1, 16].map(residual);
    // A burst is longer than four packets with probability (7/8)^4 = 0.59, and then most of it is
    // lost.
    assert!((0.005..0.01).contains(&alone), "{alone}");
    assert!(deep < alone / 50.0, "{deep} instead of {alone}");
}

/// Each data packet has a header, and each block its parity packets, which have three bytes more.
#[test]
fn the_rate_of_parity_is_charged() {
    let (arrived, report) = carry(fec(10, 2, 1), Errors::Perfect, 1000);
    let whole = 100 * (10 * FRAME + 2 * PARITY);
    assert_eq!(report.busy.as_nanos(), whole);
    // The parity packets of the last block come behind its data.
    let last = arrived.last().unwrap().0;
    assert_eq!(last, Time::ZERO + Span::from_nanos(whole - 2 * PARITY) + DELAY);
}

/// A packet that is rebuilt arrives with the parity packet of its block, and all behind it with it.
#[test]
fn the_delay_of_decoding_is_charged() {
    let (arrived, report) = carry(fec(10, 1, 1), Errors::PacketErrors { per: 0.02 }, 4000);
    let FecCounters { held_packets, repaired_packets, .. } = counters(&report);
    assert!(repaired_packets > 20);
    let block = 10 * FRAME + PARITY;
    let mut late = 0;
    for (at, body) in &arrived {
        let (number, place) = (u64::from(body / 10), u64::from(body % 10));
        let behind = at.as_nanos() - number * block - (place + 1) * FRAME - DELAY.as_nanos();
        // The parity packet is the last of the block. If it is lost too, the next packet decides.
        let wait = block - (place + 1) * FRAME;
        let decided = (0..4).map(|lost| wait + lost * FRAME);
        assert!(behind == 0 || decided.into_iter().any(|wait| behind == wait), "{body}: {behind}");
        late += u64::from(behind > 0);
    }
    // Those that waited for another packet, and those that were rebuilt.
    assert!(late >= held_packets, "{late} {held_packets}");
    assert!(late <= held_packets + repaired_packets, "{late} {held_packets}");
}
