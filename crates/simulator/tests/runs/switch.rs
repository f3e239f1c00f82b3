//! Switches: which path carries the packets, when they move, and what is still on its way then.

use recording::{Recording, Values};
use scenario::{Scenario, path_changes, routes};
use simulator::Options;

use crate::parse;

/// A ship with a LEO and a GEO path to a hub. `switch`, `link` (of hub-leo) and `flow` are TOML.
fn text(switch: &str, link: &str, flow: &str) -> String {
    format!(
        r#"
duration = "40s"
[[switch]]
between = ["ship", "hub"]
via = ["leo", "geo"]
{switch}
[[link]]
between = ["server", "hub"]
rate = "100Mbit/s"
delay = "5ms"
[[link]]
between = ["hub", "leo"]
rate = "4Mbit/s"
delay = "20ms"
queue = {{ bytes = "60kB" }}
{link}
[[link]]
between = ["leo", "ship"]
rate = "100Mbit/s"
delay = "5ms"
[[link]]
between = ["hub", "geo"]
rate = "2Mbit/s"
delay = "130ms"
queue = {{ bytes = "150kB" }}
[[link]]
between = ["geo", "ship"]
rate = "100Mbit/s"
delay = "120ms"
[[link]]
between = ["ship", "laptop"]
rate = "100Mbit/s"
delay = "1ms"
[[flow]]
from = "server"
to = "laptop"
{flow}
[record]
interval = "100ms"
"#
    )
}

const TIMES: &str = r#"event = [{ at = "10s", via = "geo" }, { at = "20s", via = "leo" }]"#;
const CUBIC: &str = r#"
controller = "cubic"
traffic = { bulk = "unlimited" }
"#;
/// A request of 100 bytes of payload each 20 ms, and an answer to each.
const UDP: &str = r#"
controller = "none"
transport = { protocol = "udp" }
traffic = { messages = { request = "100B", answer = "100B", interval = "20ms", count = 1900 } }
"#;

fn both_engines(text: &str, seed: u64) -> Recording {
    let scenario: Scenario = parse(text);
    let [fast, slow] = [simulator::run, simulator::run_on_reference]
        .map(|run| run(&scenario, seed, Options::default()));
    // The engines count other events.
    let whole = |recording: &Recording| Recording { events: 0, ..recording.clone() }.digest();
    assert_eq!(whole(&fast), whole(&slow));
    fast
}

/// A column of the table of paths: ship over LEO, ship over GEO, hub over LEO, hub over GEO.
fn column(recording: &Recording, name: &str) -> Vec<f64> {
    let table = recording.tables.iter().find(|one| one.name() == "switch").unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == name).unwrap().values {
        Values::U64(counts) => counts.iter().map(|count| *count as f64).collect(),
        Values::F64(values) => values.iter().copied().collect(),
        _ => panic!("{name} is a number"),
    }
}

/// The samples at which the packets of path `path` are carried, as times in tenths of a second.
fn carried(recording: &Recording, path: u32) -> Vec<u64> {
    let table = recording.tables.iter().find(|one| one.name() == "switch_series").unwrap();
    let columns = table.columns();
    let [Values::U32(paths), Values::F64(times), Values::Bool(carries)] =
        [0, 1, 2].map(|n| &columns[n].values)
    else {
        panic!("{columns:?}")
    };
    let rows = paths.iter().zip(times.iter()).zip(carries.iter());
    let rows = rows.filter(|((one, _), carries)| **one == path && **carries);
    rows.map(|((_, at), _)| (10.0 * at).round() as u64).collect()
}

#[test]
fn packets_move_at_the_times_of_the_events_in_both_directions() {
    let recording = both_engines(&text(TIMES, "", CUBIC), 1);
    assert_eq!(column(&recording, "moved_s"), [20.0, 10.0, 20.0, 10.0]);
    assert_eq!(column(&recording, "moves"), [1.0; 4]);
    let geo = carried(&recording, 3);
    assert!(geo.iter().all(|at| (100..=200).contains(at)) && geo.len() >= 99, "{geo:?}");
    assert_eq!(geo, carried(&recording, 1), "the return direction follows at once");
    // What the hub has sent over each path has come over its links, or was dropped before them.
    let packets = column(&recording, "packets");
    for (path, link) in [(2, "hub-leo"), (3, "hub-geo")] {
        let link = recording.links.iter().find(|one| one.link == link).unwrap();
        let (there, lost) = (link.delivered_packets as f64, link.dropped_packets as f64);
        // Some wait or are on their way at the end.
        let left = packets[path] - there - lost;
        assert!(there > 1000.0 && (0.0..=100.0).contains(&left), "{left} {there}");
        assert!(path == 2 || left == 0.0);
    }
}

/// 245 ms of packets are on the path over GEO when the next ones overtake them over LEO.
#[test]
fn packets_on_their_way_still_arrive_over_the_old_path() {
    let recording = both_engines(&text(TIMES, "", UDP), 1);
    let packets = column(&recording, "packets");
    assert_eq!(packets[2] + packets[3], 1900.0);
    assert!((450.0..=500.0).contains(&packets[3]), "{packets:?}");
    let link = |name: &str| recording.links.iter().find(|one| one.link == name).unwrap();
    assert_eq!(link("hub-geo").delivered_packets as f64, packets[3]);
    assert_eq!(link("geo-ship").delivered_packets as f64, packets[3]);
    assert_eq!(link("ship-laptop").delivered_packets, 1900);
}

#[test]
fn a_router_with_a_late_clock_moves_later() {
    let recording = both_engines(&text(&format!("{TIMES}\nlag = \"2s\""), "", CUBIC), 1);
    assert_eq!(column(&recording, "moved_s"), [20.0, 10.0, 22.0, 12.0]);
}

#[test]
fn outages_move_packets_after_the_delay_and_back_after_the_hold() {
    let rule = r#"outages = { delay = "200ms", hold = "3s" }"#;
    let outage = r#"event = [{ at = "10s", outage = "5s" }, { at = "30s", outage = "150ms" }]"#;
    let recording = both_engines(&text(rule, outage, CUBIC), 1);
    assert_eq!(column(&recording, "moved_s"), [18.0, 10.2, 18.0, 10.2]);
    assert_eq!(column(&recording, "moves"), [1.0; 4], "the second outage is too short");
    let other =
        text(rule, &outage.replace("outage = \"5s\"", "backward = { outage = \"5s\" }"), CUBIC);
    assert_eq!(column(&both_engines(&other, 1), "moved_s"), [18.0, 10.2, 18.0, 10.2]);
}

/// RFC 5880: three intervals of 300 ms without a packet, and a packet each 225 to 300 ms.
#[test]
fn sessions_of_bfd_move_packets_when_their_packets_are_missing() {
    let outage = r#"event = [{ at = "10s", outage = "5s" }]"#;
    let rule = "bfd = {}\n";
    let recording = both_engines(&text(rule, outage, UDP), 1);
    let moved = column(&recording, "moved_s");
    for router in [0, 2] {
        // The last packet arrives up to 300 ms before or 25 ms after the start of the outage. Of
        // the other direction it is told in the next packet, which takes 25 ms.
        assert!((10.6..=11.0).contains(&moved[router + 1]), "{moved:?}");
        assert!((15.0..=16.2).contains(&moved[router]), "{moved:?}");
    }
    let probes = column(&recording, "sent_probes");
    assert!((140.0..=150.0).contains(&probes[3]), "{probes:?}: 38 s at 262.5 ms on average");
    assert!(probes[2] < probes[3], "one a second while the session is down");
    let other = both_engines(&text(rule, outage, UDP), 2);
    assert_ne!(column(&other, "moved_s"), moved, "the seed decides the times of packets");
    let calm = both_engines(&text(rule, "", UDP), 1);
    assert_eq!(column(&calm, "moves"), [0.0; 4]);
    let held = both_engines(&text("bfd = { hold = \"10s\" }", outage, UDP), 1);
    assert!((25.0..=26.2).contains(&column(&held, "moved_s")[0]));
}

/// A queue that overflows drops packets of BFD as all others.
#[test]
fn losses_move_packets_too() {
    let lossy = "channel = { per = 0.7 }";
    let recording = both_engines(&text("bfd = {}\n", lossy, UDP), 1);
    assert!(column(&recording, "moves")[3] > 0.0);
}

#[test]
fn all_controllers_and_protocols_cross_a_switch() {
    let quick = |flow: &str| {
        let switch = r#"event = [{ at = "2s", via = "geo" }, { at = "4s", via = "leo" }]"#;
        text(switch, "", flow).replace("40s", "6s")
    };
    let check = |name: &str, flow: &str| {
        let recording = both_engines(&quick(flow), 1);
        let packets = column(&recording, "packets");
        assert!(packets[2] > 2.0 && packets[3] > 1.0, "{name}: {packets:?}");
        assert!(recording.flows[0].bytes > 0, "{name}");
    };
    for entry in congestion::entries().filter(|entry| entry.name != "none") {
        let flow = CUBIC.replace("cubic", entry.name);
        check(entry.name, &flow);
    }
    for (protocol, controller) in [("quic", "cubic"), ("stp", "newreno"), ("scps-tp", "cubic")] {
        let flow = CUBIC.replace("cubic", controller);
        check(protocol, &format!("{flow}transport = {{ protocol = \"{protocol}\" }}"));
    }
    for protocol in ["sctp", "xtp"] {
        let flow = CUBIC.replace("cubic", "none");
        check(protocol, &format!("{flow}transport = {{ protocol = \"{protocol}\" }}"));
    }
}

/// Middleboxes, links with an MTU, header compression and tunnels on the paths of a switch.
#[test]
fn mechanisms_on_both_paths_see_the_packets() {
    let node = "[[node]]\nname = \"geo\"\nmiddlebox = \"ack-decimation\"\n";
    let with = text(TIMES, "mtu = 1200", CUBIC).replace("[[switch]]", &format!("{node}[[switch]]"));
    let recording = both_engines(&with, 1);
    let table = recording.tables.iter().find(|one| one.name() == "middlebox").unwrap();
    let columns = table.columns();
    let [Values::Text(names), Values::U64(counts)] = [2, 3].map(|n| &columns[n].values) else {
        panic!()
    };
    let received = names.iter().position(|name| *name == "received").unwrap();
    let packets = column(&recording, "packets");
    let of_geo = packets[1] + packets[3];
    let lost = recording.links.iter().filter(|one| one.link == "hub-geo");
    let lost: u64 = lost.map(|one| one.dropped_packets).sum();
    assert!((of_geo - lost as f64 - counts[received] as f64).abs() < 1.0);
    for flow in
        ["tunnel = \"wireguard\"", "tunnel = { name = \"esp\", between = [\"hub\", \"ship\"] }"]
    {
        let recording = both_engines(&text(TIMES, "", &format!("{CUBIC}{flow}")), 1);
        assert!(column(&recording, "packets")[3] > 500.0, "{flow}");
    }
    let compressed = text(TIMES, "header_compression = \"rohc-unidirectional\"", CUBIC);
    assert!(column(&both_engines(&compressed, 1), "packets")[3] > 500.0);
}

#[test]
fn hints_of_a_schedule_are_the_moves_and_the_steps_of_the_path_that_carries() {
    let step = r#"event = [{ at = "5s", delay = "30ms" }, { at = "15s", delay = "20ms" }]"#;
    let hints = format!("{CUBIC}path_hints = {{ source = \"schedule\" }}");
    let times = |switch: &str| {
        let scenario = parse(&text(switch, step, &hints));
        let found = path_changes(
            &scenario,
            &routes(&scenario),
            &scenario.flows[0],
            &scenario::Seed::new(1),
        );
        found.iter().map(|at| at.as_nanos() / 1_000_000_000).collect::<Vec<_>>()
    };
    // At 15 s the path over LEO changes, which carries nothing then.
    assert_eq!(times(TIMES), [5, 10, 20]);
    assert_eq!(times(&format!("{TIMES}\nlag = \"1s\"")), [5, 10, 11, 20, 21]);
}
