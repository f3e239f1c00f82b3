//! Beams under real TCP: terminals with namespaces of their own behind the carriers of the
//! simulator.

use beam::Offered;
use beam::returning::Returning;
use link::{Purpose, stream};
use recording::{Recording, Values};
use scenario::Scenario;
use serde_json::{Value, json};
use testbed::{KernelError, Options, run};
use units::{Span, Time};
use wire::IpPacket;

use super::{Block, blocks, is_skipped, merge};

/// A beam with three terminals, and one flow of each.
fn scenario(group: Value, flow: Value) -> Scenario {
    Scenario::from_json(&whole(group, flow), &[]).unwrap()
}

fn whole(group: Value, flow: Value) -> Value {
    let mut whole = json!({
        "duration": "20s",
        "delay_tolerance": "20ms",
        "link": [{ "between": ["server", "gateway"], "rate": "100Mbit/s", "delay": "5ms" }],
        "beam": [{
            "name": "spot",
            "gateway": "gateway",
            "delay": "20ms",
            "forward": { "modem": { "name": "dvb-s2", "bandwidth": 5e6 } },
            "return": { "carriers": 2 },
            "group": [{ "name": "home", "terminals": 3, "es_n0": 13.0, "return_es_n0": 9.0 }],
        }],
        "flow": [{ "name": "data", "controller": "cubic" }],
    });
    merge(&mut whole["beam"][0]["group"][0], group);
    merge(&mut whole["flow"][0], flow);
    whole
}

fn uploads() -> Value {
    json!({ "from": "home", "to": "server", "traffic": { "download": "150kB" } })
}

fn downloads() -> Value {
    json!({ "from": "server", "to": "home", "traffic": { "download": "300kB" } })
}

/// The counts in a column of a table.
fn counts(recording: &Recording, table: &str, column: &str) -> Vec<u64> {
    let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::U64(counts) => counts.to_vec(),
        _ => panic!("{column} is a count"),
    }
}

/// A count of the only beam.
fn count(recording: &Recording, column: &str) -> u64 {
    counts(recording, "beams", column)[0]
}

#[test]
fn all_bytes_cross_a_beam_in_both_directions() {
    if is_skipped() {
        return;
    }
    for flow in [uploads(), downloads()] {
        let scenario = scenario(json!({ "fca": true }), flow);
        let recording = run(&scenario, 1, Options::default()).unwrap();
        let bytes: Vec<_> = recording.flows.iter().map(|flow| flow.bytes).collect();
        let expected = if scenario.flows[0].from == 0 { 300_000 } else { 150_000 };
        assert_eq!(bytes, [expected; 3]);
        assert_eq!(recording.kernel.as_ref().unwrap().stray_packets, 0);
        assert!(count(&recording, "fca_used_slots") > 100);
    }
}

#[test]
fn the_same_requests_get_the_same_slots_as_in_the_simulator() {
    if is_skipped() {
        return;
    }
    let groups = [
        json!({ "requests": "rbdc" }),
        json!({ "requests": "vbdc", "fca": true }),
        json!({ "requests": "vbdc", "cra": "100kbit/s" }),
    ];
    for group in groups {
        let scenario = scenario(group, uploads());
        let mut packets = Vec::new();
        let options = Options { capture: Some(&mut packets), ..Options::default() };
        let recording = run(&scenario, 1, options).unwrap();
        let columns = [
            "cra_slots",
            "cra_used_slots",
            "rate_slots",
            "rate_used_slots",
            "volume_slots",
            "volume_used_slots",
            "fca_used_slots",
            "requests",
        ]; // rustfmt keeps one line for each otherwise
        let kernel = columns.map(|column| count(&recording, column));
        let end = Time::ZERO + Span::from_secs_f64(recording.wall_s);
        assert!(replay(&scenario, &blocks(&packets), end, kernel), "{columns:?} {kernel:?}");
    }
}

/// Feeds what the terminals of the only beam have sent to the channel of the simulator. Returns
/// true if its slots are `expected` at some instant after `end`, where the emulation was stopped.
fn replay(scenario: &Scenario, packets: &[Block], end: Time, expected: [u64; 8]) -> bool {
    let beam = &scenario.beams[0];
    let groups: Vec<_> = beam.members().iter().map(|member| member.group).collect();
    let mut channel = Returning::new(beam.back.clone(), &groups, stream(1, Purpose::Access, 0));
    let slots = |channel: &Returning<()>, now| {
        let counted = channel.slots(now);
        [
            counted.constant,
            counted.constant_used,
            counted.rate,
            counted.rate_used,
            counted.volume,
            counted.volume_used,
            counted.free_used,
            counted.requests,
        ]
    };
    let mut found = false;
    let mut until = |channel: &mut Returning<()>, now: Time| {
        while channel.next_event() <= now {
            let at = channel.next_event();
            channel.advance();
            // What holds after an event holds until the next one.
            found |= channel.next_event() > end && slots(channel, at.max(end)) == expected;
        }
    };
    for block in packets {
        let packet = IpPacket::read(&block.start).unwrap();
        let node = usize::from(runtime::node(packet.source()).unwrap());
        let now = Time::from_nanos(block.at);
        if let Some(place) = node.checked_sub(beam.terminals.start) {
            until(&mut channel, now);
            channel.offer(now, Offered::new(place as u32, block.length, ()));
        }
    }
    until(&mut channel, end + Span::from_secs(1));
    found
}

#[test]
fn packets_have_the_class_of_their_flow() {
    if is_skipped() {
        return;
    }
    let mut whole = whole(json!({ "terminals": 1, "fca": true }), downloads());
    whole["beam"][0]["class"] = json!([{ "name": "first", "flows": ["data"] }]);
    let mut other = whole["flow"][0].clone();
    merge(&mut other, json!({ "name": "other", "traffic": { "download": "30kB" } }));
    whole["flow"].as_array_mut().unwrap().push(other);
    let scenario = Scenario::from_json(&whole, &[]).unwrap();
    let recording = run(&scenario, 1, Options::default()).unwrap();
    // Rows are those of the class, forward and return, and then of all other packets.
    let packets = counts(&recording, "beam_classes", "packets");
    let [first, first_back, rest, rest_back] = packets[..] else { panic!("{packets:?}") };
    assert!((205..300).contains(&first) && (20..40).contains(&rest), "{packets:?}");
    assert!(first_back > rest_back && rest_back > 5, "{packets:?}");
}

#[test]
fn more_terminals_with_flows_than_the_emulator_was_tested_with_are_rejected() {
    let error = |flow| {
        let group = json!({ "terminals": 17 });
        run(&scenario(group, flow), 1, Options::default()).unwrap_err()
    };
    if is_skipped() {
        return;
    }
    let KernelError::Refused(refusals) = error(downloads()) else { panic!("not refused") };
    let text = refusals[0].to_string();
    assert!(text.contains("17 terminals with flows") && text.contains("at most 16"), "{text}");
    let mut one = downloads();
    one["to"] = json!("home-17");
    let recording =
        run(&scenario(json!({ "terminals": 17, "fca": true }), one), 1, Options::default());
    assert_eq!(recording.unwrap().flows[0].bytes, 300_000);
}

#[test]
fn tunnels_and_middleboxes_of_terminals_are_rejected() {
    let with = |key: &str, value: Value| {
        let mut whole = whole(json!({ "fca": true }), downloads());
        merge(&mut whole, json!({ key: value }));
        Scenario::from_json(&whole, &[]).unwrap()
    };
    let node = with("node", json!([{ "name": "home", "middlebox": "ack-filter" }]));
    let mut flow = downloads();
    merge(&mut flow, json!({ "tunnel": "wireguard" }));
    let tunnel = scenario(json!({ "fca": true }), flow);
    if is_skipped() {
        return;
    }
    for (scenario, expected) in
        [(node, "node \"home-1\", middlebox"), (tunnel, "this backend has no tunnels over a beam")]
    {
        let found = run(&scenario, 1, Options::default());
        let Err(KernelError::Refused(refusals)) = found else { panic!("not refused: {found:?}") };
        let text = refusals[0].to_string();
        assert!(text.contains(expected), "{text}");
    }
}

/// The message about a packet that is too long for the link of the gateway reaches a real TCP at a
/// terminal, and a real TCP at the server. ACKs are filtered before the link of the gateway.
#[test]
fn links_before_the_gateway_have_an_mtu_and_a_gateway_a_middlebox() {
    if is_skipped() {
        return;
    }
    for flow in [uploads(), downloads()] {
        let mut whole = whole(json!({ "fca": true }), flow);
        whole["link"] = json!([
            { "between": ["server", "router"], "rate": "100Mbit/s", "delay": "1ms" },
            { "between": ["router", "gateway"], "rate": "100Mbit/s", "delay": "4ms", "mtu": 1300 },
        ]);
        whole["node"] = json!([{ "name": "gateway", "middlebox": "ack-decimation" }]);
        let scenario = Scenario::from_json(&whole, &[]).unwrap();
        let recording = run(&scenario, 1, Options::default()).unwrap();
        let size = if whole["flow"][0]["to"] == "home" { 300_000 } else { 150_000 };
        assert!(recording.flows.iter().all(|flow| flow.bytes == size), "{:?}", recording.flows);
        assert!(counts(&recording, "mtu", "icmp_packets").iter().sum::<u64>() >= 1);
        assert!(counts(&recording, "middlebox", "packets").iter().sum::<u64>() > 300);
    }
}
