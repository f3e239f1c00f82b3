//! Rates that the connections on a side of a gateway share, and those of each of them.

use recording::Recording;
use simulator::{Observed, Options};
use units::{Rate, Time};

use super::proxy::{flow, satellite};
use super::{parse, run};

/// Number of the gateway's node in [`satellite`]: those that are written are the first.
const GATEWAY: u16 = 0;

/// A proxy with a rate on one side. `more` is TOML of the side.
fn limited(side: &str, neighbour: &str, more: &str) -> String {
    format!("{{ {side} = {{ towards = [{neighbour:?}], {more} }} }}")
}

/// A packet that the gateway sent: when, to which node, and its length.
type Sent = (Time, u16, u64);

/// Runs a scenario and notes what the gateway sends.
fn watch(text: &str) -> (Recording, Vec<Sent>) {
    let mut sent = Vec::new();
    let scenario = parse(text);
    let header = u64::from(scenario.ip.header_bytes());
    let mut note = |seen: &Observed<'_>| {
        if (seen.node, seen.from) == (GATEWAY, GATEWAY) {
            sent.push((seen.at, seen.to, header + u64::from(seen.bytes())));
        }
    };
    let options = Options { observer: Some(&mut note), ..Options::default() };
    let recording = simulator::run(&scenario, 1, options);
    (recording, sent)
}

/// The most that a bucket of `rate` has ever lacked while these packets left.
fn deepest(sent: impl Iterator<Item = (Time, u64)>, rate: Rate) -> f64 {
    let (mut last, mut level, mut most) = (Time::ZERO, 0.0_f64, 0.0_f64);
    for (at, bytes) in sent {
        let arrived = at.since(last).as_secs_f64() * rate.bits_per_second() as f64 / 8.0;
        level = (level - arrived).max(0.0) + bytes as f64;
        most = most.max(level);
        last = at;
    }
    most
}

/// Number of the node that the packets on the side go to: the hosts are numbered in the order of
/// the links.
fn node(scenario: &str, name: &str) -> u16 {
    let nodes = parse(scenario).nodes;
    u16::try_from(nodes.iter().position(|node| node.name == name).unwrap()).unwrap()
}

#[test]
fn connections_share_the_rate_equally_and_use_all_of_it() {
    let flows = flow("server", "terminal", "cubic", "bulk = \"unlimited\"");
    for (rate, count) in [(4_000_000, 8_u32), (400_000, 5)] {
        let proxy = limited("satellite", "terminal", &format!("rate = \"{rate}bit/s\""));
        let flows = format!("{flows}count = {count}\n");
        let text = satellite(&proxy, 0.0, &flows).replace("600s", "60s");
        let (recording, sent) = watch(&text);
        let terminal = node(&text, "terminal");
        let late = sent.iter().filter(|(at, to, _)| *to == terminal && at.as_secs_f64() >= 10.0);
        let bits = late.map(|(.., bytes)| 8 * bytes).sum::<u64>() as f64 / 50.0;
        assert!((bits / f64::from(rate) - 1.0).abs() < 0.02, "{bits} bit/s of {rate}");
        let bytes: Vec<_> = recording.flows.iter().map(|flow| flow.bytes as f64).collect();
        let squares: f64 = bytes.iter().map(|bytes| bytes * bytes).sum();
        let index = bytes.iter().sum::<f64>().powi(2) / (bytes.len() as f64 * squares);
        assert_eq!(bytes.len(), count as usize);
        assert!(index > 0.99, "Jain's index is {index}: {bytes:?}");
    }
}

/// A table over the registry: data towards the satellite, and ACKs back, wait for tokens. The
/// bucket has the least size, of one packet.
#[test]
fn every_controller_completes_and_never_exceeds_the_bucket() {
    for entry in congestion::entries() {
        let name = entry.name;
        let more = format!("controller = {name:?}, rate = \"2Mbit/s\", burst = \"1500B\"");
        for (from, to) in [("server", "terminal"), ("terminal", "server")] {
            let traffic = "download = \"300kB\", request = \"300B\"";
            let flows = flow(from, to, "cubic", traffic);
            let text = satellite(&limited("satellite", "terminal", &more), 0.005, &flows);
            let (recording, sent) = watch(&text);
            let case = format!("{name} from {from}");
            assert!(recording.flows[0].completed, "{case}");
            assert_eq!(recording.flows[0].bytes, 300_000, "{case}");
            let terminal = node(&text, "terminal");
            let sent = sent.into_iter().filter(|(_, to, _)| *to == terminal);
            let most = deepest(
                sent.map(|(at, _, bytes)| (at, bytes)),
                Rate::from_bits_per_second(2_000_000),
            );
            assert!((40.0..=1500.001).contains(&most), "{case}: {most} bytes");
        }
    }
}

/// Many connections wait much longer than their RTO, on both sides of the gateway.
#[test]
fn a_slow_rate_delays_connections_and_does_not_end_them() {
    let sides = "{ satellite = { towards = [\"terminal\"], rate = \"60kbit/s\" }, \
                 terrestrial = { rate = \"20kbit/s\", burst = \"1500B\" } }";
    let flows = flow("server", "terminal", "cubic", "download = \"10kB\", request = \"300B\"")
        + "count = 20\n";
    let recording = run(&satellite(sides, 0.01, &flows));
    assert!(recording.flows.iter().all(|flow| flow.completed), "{:?}", recording.flows);
    let last = recording.flows.iter().filter_map(|flow| flow.completion_s).fold(0.0, f64::max);
    assert!(last > 200e3 * 8.0 / 60e3, "{last} s");
}

/// A bucket that never runs dry changes nothing, although the run has another loop.
#[test]
fn a_rate_that_is_never_reached_changes_no_packet() {
    let flows = flow("server", "terminal", "cubic", "web = { pages = 2, interval = \"5s\" }")
        + &flow("terminal", "server", "bbr", "download = \"400kB\"");
    let more = "controller = \"hybla\"";
    let wide = format!("{more}, rate = \"100Gbit/s\", burst = \"100MB\"");
    let [with, without] = [wide.as_str(), more].map(|more| {
        let text = satellite(&limited("satellite", "terminal", more), 0.01, &flows);
        Recording { events: 0, ..run(&text) }
    });
    assert_eq!(with.flows, without.flows);
    assert_eq!(with.tables, without.tables);
}

#[test]
fn both_engines_agree_on_shared_rates() {
    let flows = flow("server", "terminal", "cubic", "bulk = \"300kB\"") + "count = 4\n";
    let more = "controller = \"bbr\", rate = \"1Mbit/s\"";
    let scenario = parse(&satellite(&limited("satellite", "terminal", more), 0.01, &flows));
    let whole = |recording: Recording| Recording { events: 0, ..recording }.digest();
    let runs = [1, 1].map(|seed| whole(simulator::run(&scenario, seed, Options::default())));
    let slow = whole(simulator::run_on_reference(&scenario, 1, Options::default()));
    assert_eq!(runs, [slow.clone(), slow]);
}

/// The data of each connection keeps to its own bucket, of one packet, and uses all of it. The
/// shared rate divides three connections that could send more together.
#[test]
fn every_controller_is_paced_for_each_connection_and_by_the_shared_rate_for_all() {
    for entry in congestion::entries() {
        let more = format!(
            "controller = {:?}, pacing_rate = \"800kbit/s\", rate = \"2Mbit/s\", burst = \"1500B\"",
            entry.name
        );
        let flows = flow("server", "terminal", "cubic", "bulk = \"unlimited\"") + "count = 3\n";
        let text = satellite(&limited("satellite", "terminal", &more), 0.0, &flows);
        let (alone, both) = (text.replace("count = 3", "count = 1"), text);
        for (text, rate) in [(alone, 800_000_u64), (both, 2_000_000)] {
            let (recording, sent) = watch(&text.replace("600s", "30s"));
            let terminal = node(&text, "terminal");
            let sent = sent.iter().filter(|(_, to, _)| *to == terminal);
            let sent: Vec<_> = sent.map(|(at, _, bytes)| (*at, *bytes)).collect();
            let name = entry.name;
            // The packets of the handshake are not paced: 60 and 52 bytes.
            let most = deepest(sent.iter().copied(), Rate::from_bits_per_second(rate));
            assert!(most <= 1500.0 + 112.0, "{name} at {rate}: {most} bytes");
            let late = sent.iter().filter(|(at, _)| at.as_secs_f64() > 20.0);
            let share = late.map(|(_, bytes)| 8 * bytes).sum::<u64>() as f64 / 10.0 / rate as f64;
            // BBR stops sending for a while to measure the round trip.
            let least = if name.starts_with("bbr") { 0.8 } else { 0.9 };
            assert!(share > least && share < 1.01, "{name} at {rate}: {share}");
            assert!(recording.flows.iter().all(|flow| flow.bytes > 0), "{name}");
        }
    }
}
