//! Path MTU discovery of TCP over links that do not take long packets, with every controller.

use recording::{Recording, TcpRecord, Values};
use simulator::Options;

use super::proxy::legs;
use super::{parse, run, run_with_seed, total};

/// A download over a tunnel in the middle of the path, with an RTT of 60 ms.
fn tunnel(mtu: &str, controller: &str, transport: &str, size: &str) -> String {
    format!(
        r#"
duration = "120s"
[[link]]
between = ["server", "gateway"]
rate = "50Mbit/s"
delay = "5ms"
[[link]]
between = ["gateway", "hub"]
rate = "5Mbit/s"
delay = "20ms"
queue = {{ packets = 3000 }}
mtu = {mtu}
[[link]]
between = ["hub", "client"]
rate = "50Mbit/s"
delay = "5ms"
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
transport = {{ {transport} }}
traffic = {{ download = "{size}" }}
"#
    )
}

const FILTERED: &str = r#"{ bytes = 1400, icmp = "filtered" }"#;

fn tcp(recording: &Recording) -> &TcpRecord {
    recording.flows[0].tcp().unwrap()
}

fn seconds(recording: &Recording) -> f64 {
    recording.flows[0].completion_s.unwrap()
}

/// A completed transfer is the bytes that were sent, in order: the receiver checks each of them.
#[test]
fn a_transfer_of_every_controller_ends_with_every_kind_of_discovery() {
    for entry in congestion::entries() {
        for probing in ["off", "black-hole", "always"] {
            for mtu in ["1400", FILTERED] {
                for recovery in ["", r#", recovery = "linux""#] {
                    let transport = format!("mtu_probing = \"{probing}\"{recovery}");
                    let recording = run(&tunnel(mtu, entry.name, &transport, "400kB"));
                    let case = format!("{} {transport} {mtu}", entry.name);
                    let [flow] = &recording.flows[..] else { panic!("{case}") };
                    let is_lost = mtu == FILTERED && probing == "off";
                    assert_eq!(flow.completed, !is_lost, "{case}");
                    assert_eq!(flow.bytes, if is_lost { 0 } else { 400_000 }, "{case}");
                    let too_big = total(&recording, "mtu", "too_big_packets");
                    let messages = total(&recording, "mtu", "icmp_packets");
                    // Probes need a window that some controllers do not have by then.
                    assert!(too_big > 0 || probing == "always", "{case}");
                    assert_eq!(messages, if mtu == FILTERED { 0 } else { too_big }, "{case}");
                }
            }
        }
    }
}

/// RFC 1191 section 6.4: what was too large leaves again at once, and neither cwnd nor ssthresh
/// falls.
#[test]
fn a_message_costs_a_part_of_a_round_trip_and_no_window() {
    for recovery in ["reno", "newreno", "sack", "linux"] {
        let transport = format!("recovery = \"{recovery}\"");
        let small = format!("{transport}, mss = 1360");
        let [found, known] =
            [&transport, &small].map(|transport| run(&tunnel("1400", "reno", transport, "1MB")));
        assert_eq!(total(&known, "mtu", "too_big_packets"), 0, "{recovery}");
        assert_eq!(total(&found, "mtu", "too_big_packets"), 10, "{recovery}: the initial window");
        let lost = seconds(&found) - seconds(&known);
        assert!((0.010..0.080).contains(&lost), "{recovery}: {lost} s");
        assert_eq!(tcp(&found).timeouts, 0, "{recovery}");
        assert_eq!(tcp(&found).fast_recoveries, tcp(&known).fast_recoveries, "{recovery}");
        assert_eq!(tcp(&found).segments_retransmitted, 11, "{recovery}: 14480 bytes again");
    }
}

#[test]
fn a_packet_as_long_as_the_mtu_passes_and_one_byte_more_does_not() {
    for (ip, mss, largest) in [("ipv4", 1360, 1400), ("ipv6", 1340, 1400)] {
        let text = |mtu: u32| {
            let text = tunnel(&mtu.to_string(), "reno", &format!("mss = {mss}"), "50kB");
            format!("ip = \"{ip}\"\n{text}")
        };
        assert_eq!(total(&run(&text(largest)), "mtu", "too_big_packets"), 0, "{ip}");
        assert!(total(&run(&text(largest - 1)), "mtu", "too_big_packets") > 0, "{ip}");
    }
}

/// The message has 576 bytes with IPv4, and takes the rate of the way back.
#[test]
fn messages_take_the_way_back() {
    let text = tunnel("1400", "reno", "", "200kB");
    let back = |recording: &Recording| recording.links[1].delivered_bytes;
    let with = run(&text);
    let without = run(&tunnel("1400", "reno", "mss = 1360", "200kB"));
    let messages = total(&with, "mtu", "icmp_packets");
    assert_eq!(messages, 10);
    // The first link carries the messages and the ACKs back; ACKs differ by a few.
    let more = back(&with) as i64 - back(&without) as i64;
    assert!((more - 5760).abs() < 400, "{more} bytes");
}

/// A message that is lost leaves a black hole until a later one.
#[test]
fn lost_messages_are_repeated_by_later_packets() {
    let first = "delay = \"5ms\"\n[[link]]\nbetween = [\"gateway\"";
    let lossy = first.replace("5ms\"", "5ms\"\nbackward = { channel = { per = 0.3 } }");
    let text = tunnel("1400", "reno", "initial_window = 1", "5kB").replace(first, &lossy);
    let runs: Vec<_> = (1..=10).map(|seed| run_with_seed(&text, seed)).collect();
    for (seed, recording) in (1..).zip(&runs) {
        assert_eq!(recording.flows[0].bytes, 5_000, "seed {seed}");
        assert_eq!(total(recording, "path_mtu", "icmp_reductions"), 1, "seed {seed}");
    }
    let messages = runs.iter().map(|recording| total(recording, "mtu", "icmp_packets"));
    assert!(
        messages.clone().any(|number| number == 1) && messages.clone().any(|number| number > 1)
    );
}

/// RFC 8201 section 5.4, RFC 4821: the search finds the MTU to eight bytes.
#[test]
fn probes_find_the_largest_segment_without_a_reduction() {
    for recovery in ["newreno", "sack", "linux"] {
        let transport = format!("mtu_probing = \"always\", recovery = \"{recovery}\"");
        let recording = run(&tunnel(FILTERED, "cubic", &transport, "3MB"));
        let column = |name: &str| total(&recording, "path_mtu", name);
        assert_eq!(column("mss_bytes"), 1347, "{recovery}: at most 1348 with timestamps");
        let of_search = ["probes", "probe_successes", "probe_failures"].map(column);
        assert_eq!(of_search, [6, 3, 3], "{recovery}");
        assert_eq!(total(&recording, "mtu", "too_big_packets"), 3, "{recovery}");
        assert_eq!((tcp(&recording).timeouts, column("black_holes")), (0, 0), "{recovery}");
    }
}

/// `tcp_mtu_probing = 1`: segments of 1024 bytes after three seconds.
#[test]
fn a_black_hole_is_left_after_three_seconds() {
    for recovery in ["newreno", "sack", "linux"] {
        let transport = format!("mtu_probing = \"black-hole\", recovery = \"{recovery}\"");
        let recording = run(&tunnel(FILTERED, "reno", &transport, "3MB"));
        assert_eq!(total(&recording, "path_mtu", "black_holes"), 1, "{recovery}");
        assert!(tcp(&recording).timeouts >= 3, "{recovery}");
        assert!((8.0..30.0).contains(&seconds(&recording)), "{recovery}: {}", seconds(&recording));
        assert_eq!(total(&recording, "path_mtu", "mss_bytes"), 1347, "{recovery}");
    }
}

/// A host knows the MTU of its own link, and tells the other end (RFC 9293 section 3.7.1).
#[test]
fn the_links_of_hosts_need_no_discovery() {
    for place in [0, 2] {
        let text = tunnel("1500", "reno", "", "100kB");
        let mut parts: Vec<_> = text.split("[[link]]").map(str::to_owned).collect();
        parts[place + 1] += "mtu = 1300\n";
        if place == 2 {
            parts[3] = parts[3]
                .replace("[[flow]]", "mtu = 1300\n[[flow]]")
                .replace("}\nmtu = 1300\n", "}\n");
        }
        let scenario = parse(&parts.join("[[link]]"));
        assert_eq!(scenario.flows[0].transport.plan().mss(), 1260);
        let recording = simulator::run(&scenario, 1, Options::default());
        assert!(recording.flows[0].completed);
        let mtu = recording.tables.iter().find(|table| table.name() == "mtu").unwrap();
        let columns = mtu.columns();
        let too_big = columns.iter().find(|column| column.name == "too_big_packets").unwrap();
        let Values::U64(counts) = &too_big.values else { panic!("counts") };
        assert_eq!(counts.as_ref(), [0; 4]);
    }
}

/// Each leg of a split connection discovers by itself, and the gateway is a host.
#[test]
fn a_split_proxy_discovers_for_its_own_legs() {
    let text = tunnel("1400", "reno", "", "400kB").replace(
        "[[link]]\nbetween = [\"gateway\", \"hub\"]",
        "[[link]]\nbetween = [\"gateway\", \"hop\"]\nrate = \"50Mbit/s\"\ndelay = \"1ms\"\n[[link]]\nbetween = [\"hop\", \"hub\"]",
    );
    let text = format!(
        "{text}[[node]]\nname = \"gateway\"\nproxy = {{ satellite = {{ towards = [\"hop\"] }} }}\n"
    );
    let recording = run(&text);
    assert!(recording.flows[0].completed);
    assert_eq!(total(&recording, "mtu", "icmp_packets"), 10);
    let lost = legs(&recording, "segments_retransmitted");
    assert!(lost[0] == 0 && lost[1] > 0, "the leg of the server is wide: {lost:?}");
}

/// The flow of [`tunnel`], and later ones of the same kind.
fn successive(transport: &str, starts: &[&str]) -> Recording {
    let text = tunnel("1400", "reno", transport, "100kB").replace("120s", "1000s");
    let (links, flow) = text.split_once("[[flow]]").unwrap();
    let later = starts.iter().map(|start| format!("[[flow]]{flow}start = \"{start}\"\n"));
    run(&[links.to_owned(), later.collect()].concat())
}

/// The values of a column of `path_mtu`, one of each flow.
fn by_flow(recording: &Recording, name: &str) -> Vec<u64> {
    let table = recording.tables.iter().find(|table| table.name() == "path_mtu").unwrap();
    let columns = table.columns();
    let column = columns.iter().find(|column| column.name == name).unwrap();
    let Values::U64(counts) = &column.values else { panic!("counts") };
    counts.to_vec()
}

/// RFC 1191 sections 6.2 and 6.3: a host knows a path for ten minutes, and then it may be wider.
#[test]
fn later_connections_start_with_the_mtu_that_the_first_has_found_for_ten_minutes() {
    for recovery in ["reno", "newreno", "sack", "linux"] {
        let transport = format!("recovery = \"{recovery}\"");
        let runs = successive(&transport, &["0s", "5s", "599s", "602s"]);
        assert!(runs.flows.iter().all(|flow| flow.bytes == 100_000), "{recovery}");
        assert_eq!(by_flow(&runs, "cache_hits"), [0, 1, 1, 0], "{recovery}");
        assert_eq!(by_flow(&runs, "icmp_reductions"), [1, 0, 0, 1], "{recovery}");
        assert_eq!(by_flow(&runs, "mss_bytes"), [1348; 4], "{recovery}");
        assert_eq!(total(&runs, "mtu", "too_big_packets"), 20, "{recovery}");
        let again: Vec<_> =
            runs.flows.iter().map(|flow| flow.tcp().unwrap().segments_retransmitted).collect();
        assert_eq!(again, [11, 0, 0, 11], "{recovery}");
    }
}

/// The path to another host may be wider, and the way back is another path.
#[test]
fn only_connections_from_the_same_host_to_the_same_host_know_the_path() {
    let text = tunnel("1400", "reno", "", "100kB");
    let (links, flow) = text.split_once("[[flow]]").unwrap();
    let second = "[[link]]\nbetween = [\"hub\", \"other\"]\nrate = \"50Mbit/s\"\ndelay = \"5ms\"\n";
    let elsewhere = flow.replace("to = \"client\"", "to = \"other\"");
    let back = flow
        .replace("to = \"client\"", "to = \"server\"")
        .replace("from = \"server\"", "from = \"client\"");
    let later = |flow: &str| format!("[[flow]]{flow}start = \"5s\"\n");
    let flows = [format!("[[flow]]{flow}"), later(flow), later(&elsewhere), later(&back)];
    let recording = run(&[links, second, &flows.concat()].concat());
    assert!(recording.flows.iter().all(|flow| flow.bytes == 100_000));
    assert_eq!(by_flow(&recording, "cache_hits"), [0, 1, 0, 0]);
    assert_eq!(by_flow(&recording, "icmp_reductions"), [1, 0, 1, 1]);
}

/// Connections that are set up before the first one learns it: each has a window under way, and
/// learns it too.
#[test]
fn connections_that_have_data_under_way_get_messages_of_their_own() {
    let recording = successive("", &["0s", "1ms"]);
    assert_eq!(by_flow(&recording, "icmp_reductions"), [1, 1]);
    assert_eq!(total(&recording, "mtu", "too_big_packets"), 20);
    for flow in &recording.flows {
        let tcp = flow.tcp().unwrap();
        assert_eq!((flow.bytes, tcp.timeouts, tcp.fast_recoveries), (100_000, 0, 0));
    }
}

/// Routers mark packets while the size of segments changes: accurate reports count packets and
/// bytes, and the sender knows both sizes.
#[test]
fn a_transfer_of_every_controller_ends_with_accurate_ecn() {
    for entry in congestion::entries() {
        for (mtu, probing) in [("1400", "off"), (FILTERED, "always")] {
            for recovery in ["newreno", "sack", "linux"] {
                let transport = format!(
                    "ecn = \"accurate\", recovery = \"{recovery}\", mtu_probing = \"{probing}\""
                );
                let text = tunnel(mtu, entry.name, &transport, "1500kB").replace(
                    "queue = { packets = 3000 }",
                    "queue = { packets = 3000 }\necn_marking = { packets = 20, weight = 1 }",
                );
                let recording = run(&text);
                let case = format!("{} {transport} {mtu}", entry.name);
                assert_eq!(recording.flows[0].bytes, 1_500_000, "{case}");
                let reductions = total(&recording, "path_mtu", "icmp_reductions");
                assert_eq!(reductions, u64::from(mtu != FILTERED), "{case}");
                // Without records of segments, few duplicate ACKs may be left of a window that
                // marks reduce.
                if recovery == "linux" {
                    assert_eq!(tcp(&recording).timeouts, 0, "{case}");
                }
            }
        }
    }
}

/// The start of a window that routers have approved is lost at the MTU, and leaves again in smaller
/// segments. The next connection starts with such a window and the size.
#[test]
fn a_quick_start_finds_the_path_mtu_with_every_controller() {
    for entry in congestion::entries() {
        for recovery in ["newreno", "sack", "linux"] {
            let transport = format!("quick_start = \"2.56Mbit/s\", recovery = \"{recovery}\"");
            let text = tunnel("1400", entry.name, &transport, "400kB")
                .replace("[[link]]", "[[link]]\nfeedback = \"quick-start\"");
            let (links, flow) = text.split_once("[[flow]]").unwrap();
            let recording = run(&format!("{links}[[flow]]{flow}[[flow]]{flow}start = \"30s\"\n"));
            let case = format!("{} {recovery}", entry.name);
            assert!(recording.flows.iter().all(|flow| flow.bytes == 400_000), "{case}");
            assert_eq!(by_flow(&recording, "icmp_reductions"), [1, 0], "{case}");
            assert_eq!(by_flow(&recording, "cache_hits"), [0, 1], "{case}");
            assert!(total(&recording, "mtu", "too_big_packets") > 0, "{case}");
            if recovery == "linux" {
                assert_eq!(tcp(&recording).timeouts, 0, "{case}");
            }
        }
    }
}
