//! Split proxies in whole runs: every kind of traffic, every controller on each side, both engines.

use recording::{Recording, Values};
use simulator::Options;

use super::{parse, run};

/// A server, a gateway and a terminal. `proxy` and `flows` are TOML; without `proxy` nothing is
/// split.
pub fn satellite(proxy: &str, per: f64, flows: &str) -> String {
    let node = match proxy {
        "" => String::new(),
        proxy => format!("[[node]]\nname = \"gateway\"\nproxy = {proxy}\n"),
    };
    format!(
        r#"
duration = "600s"
{node}
[[link]]
between = ["server", "gateway"]
rate = "100Mbit/s"
delay = "10ms"
[[link]]
between = ["gateway", "terminal"]
delay = "250ms"
forward = {{ rate = "10Mbit/s", channel = {{ per = {per} }} }}
backward = {{ rate = "2Mbit/s", channel = {{ per = {per} }} }}
{flows}
"#
    )
}

const HYBLA: &str = r#"{ satellite = { towards = ["terminal"], controller = "hybla" } }"#;

pub fn flow(from: &str, to: &str, controller: &str, traffic: &str) -> String {
    format!(
        "[[flow]]\nfrom = {from:?}\nto = {to:?}\ncontroller = {controller:?}\ntraffic = {{ {traffic} }}\n"
    )
}

/// A column of counts of the table of legs.
pub fn legs(recording: &Recording, column: &str) -> Vec<u64> {
    let table = recording.tables.iter().find(|one| one.name() == "legs").unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::U64(counts) => counts.to_vec(),
        Values::U32(counts) => counts.iter().map(|count| u64::from(*count)).collect(),
        _ => panic!("{column} is a count"),
    }
}

/// The traffic of all applications that end by themselves.
const TRAFFIC: [&str; 4] = [
    "download = \"400kB\", request = \"300B\"",
    "download = \"400kB\"",
    "bulk = \"400kB\"",
    "web = { pages = 2, interval = \"5s\", connections = 4 }",
];

#[test]
fn every_traffic_crosses_a_proxy_in_both_directions() {
    for traffic in TRAFFIC {
        for (from, to) in [("server", "terminal"), ("terminal", "server")] {
            for per in [0.0, 0.02] {
                let recording = run(&satellite(HYBLA, per, &flow(from, to, "cubic", traffic)));
                let row = &recording.flows[0];
                let case = format!("{traffic} from {from} with PER {per}");
                assert!(row.completed && !row.aborted, "{case}");
                assert_eq!(legs(&recording, "bytes"), [row.bytes; 2], "{case}");
                // The last ACKs are on their way.
                assert!(legs(&recording, "held_bytes")[0] <= row.bytes, "{case}");
                assert_eq!(legs(&recording, "discarded_bytes"), [0; 2], "{case}");
            }
        }
    }
}

#[test]
fn sources_and_several_flows_share_a_proxy() {
    let flows = [
        flow("server", "terminal", "cubic", "constant = { rate = \"500kbit/s\" }"),
        flow(
            "terminal",
            "server",
            "bbr",
            "on_off = { rate = \"1Mbit/s\", on = \"1s\", off = \"1s\" }",
        ),
        flow("server", "terminal", "newreno", "bulk = \"unlimited\""),
        flow("server", "terminal", "cubic", "download = \"1MB\""),
    ];
    let text = satellite(HYBLA, 0.001, &flows.concat()).replace("600s", "60s");
    let recording = run(&text);
    let [bytes, held] = ["bytes", "held_bytes"].map(|column| legs(&recording, column));
    assert!(recording.flows.iter().all(|flow| flow.bytes > 100_000), "{:?}", recording.flows);
    for (number, row) in recording.flows.iter().enumerate() {
        let [first, second] = [bytes[2 * number], bytes[2 * number + 1]];
        assert_eq!(second, row.bytes);
        // What has arrived at the gateway is at the other end, or held for it.
        assert!(first >= second && first <= second + held[2 * number], "{first} {second}");
    }
    assert!(recording.flows[3].completed);
}

/// A table over the registry, on each side and at the hosts.
#[test]
fn every_controller_works_on_each_side() {
    for entry in congestion::entries() {
        let name = entry.name;
        let sides = [
            format!("{{ satellite = {{ towards = [\"terminal\"], controller = {name:?} }} }}"),
            format!(
                "{{ satellite = {{ towards = [\"terminal\"] }}, terrestrial = {{ controller = {name:?} }} }}"
            ),
        ];
        for (side, host) in sides.iter().zip(["cubic", name]) {
            for (from, to) in [("server", "terminal"), ("terminal", "server")] {
                let flow = flow(from, to, host, "download = \"300kB\", request = \"300B\"");
                let recording = run(&satellite(side, 0.005, &flow));
                let row = &recording.flows[0];
                assert!(row.completed, "{side} with {host} from {from}");
                assert_eq!(row.bytes, 300_000);
                assert_eq!(legs(&recording, "discarded_bytes"), [0; 2]);
            }
        }
    }
}

#[test]
fn both_engines_agree_and_equal_seeds_give_equal_runs() {
    let flows = [
        flow("server", "terminal", "cubic", TRAFFIC[3]),
        flow("terminal", "server", "bbr", TRAFFIC[0]),
    ];
    let two = r#"{ satellite = { towards = ["terminal"], controller = "hybla", recovery = "linux" }, limits = { relay_buffer = "64KiB" } }"#;
    for proxy in [HYBLA, two] {
        let scenario = parse(&satellite(proxy, 0.01, &flows.concat()));
        // The engines differ in the number of events only.
        let whole = |recording: Recording| Recording { events: 0, ..recording }.digest();
        let runs = [1, 1, 2].map(|seed| whole(simulator::run(&scenario, seed, Options::default())));
        let slow = whole(simulator::run_on_reference(&scenario, 1, Options::default()));
        assert_eq!(runs[0], runs[1]);
        assert_ne!(runs[0], runs[2], "losses depend on the seed");
        assert_eq!(runs[0], slow);
    }
}

/// The median of a download's time over seeds.
fn median_s(proxy: &str, per: f64, traffic: &str) -> f64 {
    let scenario = parse(&satellite(proxy, per, &flow("server", "terminal", "cubic", traffic)));
    let times = (1..=9).map(|seed| {
        let recording = simulator::run(&scenario, seed, Options::default());
        recording.flows[0].page_response_s.or(recording.flows[0].completion_s).unwrap()
    });
    let mut times: Vec<_> = times.collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Hybla on a leg of 500 ms is less slow after losses than CUBIC over 520 ms, and the server does
/// not wait for the satellite.
#[test]
fn a_split_with_hybla_shortens_downloads_over_geo() {
    for per in [0.0, 1e-4, 1e-3, 1e-2] {
        let [with, without] =
            [HYBLA, ""].map(|proxy| median_s(proxy, per, "download = \"5MB\", request = \"300B\""));
        assert!(with < without, "{with} s with a proxy, {without} s without, PER {per}");
    }
}

/// The server is done when the gateway has everything, long before the terminal: bytes are held.
#[test]
fn a_slow_reader_presses_back_through_the_gateway() {
    let proxy = r#"{ satellite = { towards = ["terminal"], send_buffer = "100kB" }, terrestrial = { receive_buffer = "150kB" }, limits = { relay_buffer = "64KiB" } }"#;
    let flow = flow("server", "terminal", "cubic", "bulk = \"unlimited\"")
        + "transport = { reader_rate = \"100kbit/s\", receive_buffer = \"80kB\" }\n";
    let recording = run(&satellite(proxy, 0.0, &flow).replace("600s", "100s"));
    let most = 150_000 + 65_536 + 100_000;
    let held = legs(&recording, "held_bytes")[0];
    assert!(held <= most && 10 * held > 8 * most, "{held} of {most} bytes are held");
    let read = recording.flows[0].bytes as f64 * 8.0 / 100.0;
    assert!((90e3..101e3).contains(&read), "{read} bit/s");
}

/// Two gateways: the legs of the hosts are short, the one between is the satellite.
#[test]
fn gateways_on_both_sides_make_three_legs() {
    let text = r#"
duration = "60s"
[[node]]
name = "hub"
proxy = { satellite = { towards = ["terminal"], controller = "hybla" } }
[[node]]
name = "terminal"
proxy = { satellite = { towards = ["hub"], controller = "hybla" } }
[[link]]
between = ["server", "hub"]
rate = "100Mbit/s"
delay = "10ms"
[[link]]
between = ["hub", "terminal"]
rate = "10Mbit/s"
delay = "250ms"
channel = { per = 0.001 }
[[link]]
between = ["terminal", "client"]
rate = "100Mbit/s"
delay = "1ms"
[[flow]]
from = "server"
to = "client"
controller = "cubic"
traffic = { web = { pages = 1 } }
"#;
    let recording = run(text);
    assert!(recording.flows[0].completed);
    assert_eq!(legs(&recording, "bytes"), [recording.flows[0].bytes; 3]);
}

/// A gateway that gives the satellite leg up resets the server's connection, and counts what is
/// lost.
#[test]
fn a_leg_that_dies_is_counted() {
    let flow = flow("server", "terminal", "cubic", "bulk = \"5MB\"")
        + "transport = { user_timeout = \"5s\" }\n";
    let text = satellite(HYBLA, 0.0, &flow).replace(
        "delay = \"250ms\"",
        "delay = \"250ms\"\nevent = [{ at = \"3s\", outage = \"500s\" }]",
    );
    let recording = run(&text);
    let row = &recording.flows[0];
    assert!(row.aborted && !row.completed);
    assert_eq!(row.abort_cause.as_deref(), Some("user-timeout"));
    let [bytes, discarded] = ["bytes", "discarded_bytes"].map(|column| legs(&recording, column));
    assert!(discarded[0] > 0 && bytes[0] <= bytes[1] + discarded[0], "{bytes:?} {discarded:?}");
}

/// The last sample of each leg is its row of totals, and the last leg delivers what the flow does.
#[test]
fn series_of_legs_end_with_their_totals() {
    let flow = flow("server", "terminal", "cubic", "download = \"2MB\", request = \"300B\"");
    let text = satellite(HYBLA, 0.001, &flow)
        .replace("duration = \"600s\"", "duration = \"600s\"\nrecord = { interval = \"100ms\" }");
    let recording = run(&text);
    let column = |table: &str, name: &str| -> Vec<f64> {
        let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
        let columns = table.columns();
        match &columns.iter().find(|one| one.name == name).unwrap().values {
            Values::U64(values) => values.iter().map(|value| *value as f64).collect(),
            Values::U32(values) => values.iter().map(|value| f64::from(*value)).collect(),
            Values::F64(values) => values.to_vec(),
            _ => panic!("{name} has no numbers"),
        }
    };
    let (legs, times) = (column("legs_series", "leg"), column("legs_series", "t_s"));
    assert_eq!(legs.iter().filter(|leg| **leg == 0.0).count(), legs.len() / 2);
    assert_eq!(times.last(), recording.flow_series.t_s.last());
    for (sampled, total) in [
        ("bytes", "bytes"),
        ("cwnd_bytes", "cwnd_bytes"),
        ("srtt_ms", "srtt_ms"),
        ("segments_retransmitted", "segments_retransmitted"),
        ("held_bytes", "held_bytes"),
    ] {
        let series = column("legs_series", sampled);
        assert_eq!(series[series.len() - 2..], column("legs", total), "{sampled}");
    }
    // Hybla behind the gateway is slower than the wire before it.
    let held = column("legs_series", "held_bytes");
    assert!(held.iter().copied().fold(0.0, f64::max) > 1e6, "the gateway holds data for a while");
    let whole = &recording.flow_series.delivered_bytes;
    let last: Vec<_> = column("legs_series", "bytes").into_iter().skip(1).step_by(2).collect();
    // The flow has a sample before its connections are open.
    let whole = &whole[1..];
    assert_eq!(whole.len(), last.len());
    assert!(whole.iter().zip(last).all(|(whole, last)| *whole as f64 == last));
}
