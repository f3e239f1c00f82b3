//! SCPS-TP between two gateways, and flows that cross gateways unsplit because of their protocol.

use std::collections::BTreeMap;

use recording::{Recording, Values};
use simulator::{Observed, Options};

use super::proxy::{flow, legs};
use super::{parse, run};

/// Hosts behind two gateways, whose satellite sides have these keys.
pub fn between(satellite: &str, keys: &str, per: f64, flows: &str) -> String {
    let node = |name: &str, other: &str| {
        format!(
            "[[node]]\nname = {name:?}\nproxy = {{ satellite = {{ towards = [{other:?}], {satellite} }}, {keys} }}\n"
        )
    };
    format!(
        r#"
duration = "600s"
{}{}
[[link]]
between = ["server", "hub"]
rate = "100Mbit/s"
delay = "10ms"
[[link]]
between = ["hub", "terminal"]
delay = "250ms"
forward = {{ rate = "10Mbit/s", channel = {{ per = {per} }} }}
backward = {{ rate = "2Mbit/s", channel = {{ per = {per} }} }}
[[link]]
between = ["terminal", "client"]
rate = "100Mbit/s"
delay = "1ms"
{flows}
"#,
        node("hub", "terminal"),
        node("terminal", "hub")
    )
}

const PRESET: &str = "preset = \"scps-gateway\"";
const SATPEP: &str = "preset = \"satpep\"";
pub const DOWNLOAD: &str = "download = \"300kB\", request = \"300B\"";

/// A table over the registry: data in both directions over a middle leg of SCPS-TP with losses.
#[test]
fn every_controller_completes_over_a_middle_leg_of_scps_tp() {
    for entry in congestion::entries() {
        let satellite = format!("protocol = \"scps-tp\", controller = {:?}", entry.name);
        for (from, to) in [("server", "client"), ("client", "server")] {
            let recording =
                run(&between(&satellite, "", 0.005, &flow(from, to, "cubic", DOWNLOAD)));
            let row = &recording.flows[0];
            let case = format!("{} from {from}", entry.name);
            assert!(row.completed && !row.aborted, "{case}");
            assert_eq!(legs(&recording, "bytes"), [300_000; 3], "{case}");
            assert_eq!(legs(&recording, "discarded_bytes"), [0; 3], "{case}");
        }
    }
}

/// The manual's recipe: losses reduce nothing. With many of them, one connection waits for repairs
/// with its buffers of two bandwidth-delay products full.
#[test]
fn the_preset_sends_at_the_rate_of_the_link() {
    for (per, count, least) in [(0.0, 1, 0.95), (0.01, 1, 0.65)] {
        let flows = flow("server", "client", "cubic", "bulk = \"unlimited\"");
        let flows = format!("{flows}count = {count}\n");
        let text = between("", PRESET, per, &flows).replace("600s", "120s");
        let recording = run(&text);
        let goodput: f64 = recording.flows.iter().map(|flow| flow.goodput_bps).sum();
        let most = 10e6 * (1448.0 / 1500.0) * (1.0 - per);
        assert!((least..=1.0).contains(&(goodput / most)), "{goodput} of {most} with PER {per}");
        let bytes: Vec<_> = recording.flows.iter().map(|flow| flow.bytes).collect();
        let (least, largest) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
        assert!(*least * 10 > *largest * 9, "{bytes:?}");
        // No queue of the link overflows: what waits is in the gateways.
        let dropped: u64 = recording.links.iter().map(|link| link.dropped_packets).sum();
        assert_eq!(dropped, 0);
    }
}

/// Values of a column of legs that is no count.
pub fn numbers(recording: &Recording, column: &str) -> Vec<f64> {
    let table = recording.tables.iter().find(|one| one.name() == "legs").unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::F64(numbers) => numbers.to_vec(),
        _ => panic!("{column} has numbers"),
    }
}

/// Without losses the window settles at the bandwidth-delay product: the closed form of one
/// connection. What has arrived behind a loss counts as in flight until the repair has arrived, so
/// with losses the window is up to twice that, and some of the link is idle after each of them.
#[test]
fn satpep_has_a_window_of_the_product() {
    for (per, most, least) in [(0.0, 1.1, 0.9), (0.001, 2.2, 0.75)] {
        let flows = flow("server", "client", "cubic", "bulk = \"unlimited\"");
        let text = between("", SATPEP, per, &flows).replace("600s", "120s");
        let recording = run(&text);
        let window = legs(&recording, "cwnd_bytes")[1] as f64;
        let product = 10e6 / 8.0 * numbers(&recording, "srtt_ms")[1] / 1e3;
        let share = recording.flows[0].goodput_bps / (10e6 * (1448.0 / 1500.0) * (1.0 - per));
        let found = (window / product, share);
        assert!(
            (0.9..most).contains(&found.0) && (least..=1.0).contains(&share),
            "{per}: {found:?}"
        );
    }
}

/// A second connection has its share from the start, and all of the link when what waits of the
/// first has left.
#[test]
fn satpep_divides_the_link_among_those_who_send() {
    let flows = flow("server", "client", "cubic", "bulk = \"unlimited\"")
        + "stop = \"60s\"\n"
        + &flow("server", "client", "cubic", "bulk = \"unlimited\"")
        + "start = \"20s\"\n";
    let text = between("", SATPEP, 0.0, &flows)
        .replace("600s\"", "120s\"\nrecord = { interval = \"1s\" }");
    let recording = run(&text);
    let series = &recording.flow_series;
    let delivered = |flow: u32, at: f64| {
        let rows = (0..series.t_s.len()).filter(|row| series.flow[*row] == flow);
        rows.filter(|row| series.t_s[*row] <= at).map(|row| series.delivered_bytes[row]).max()
    };
    let rate = |flow, from: f64, to: f64| {
        let [before, after] = [from, to].map(|at| delivered(flow, at).unwrap_or(0));
        8.0 * (after - before) as f64 / (to - from) / (10e6 * 1448.0 / 1500.0)
    };
    let found =
        [rate(0, 5.0, 20.0), rate(0, 30.0, 60.0), rate(1, 30.0, 60.0), rate(1, 90.0, 119.0)];
    let expected = [1.0, 0.5, 0.5, 1.0];
    let is_near = |(found, expected): (f64, f64)| (found - expected).abs() < 0.1 * expected;
    assert!(found.into_iter().zip(expected).all(is_near), "{found:?}, not {expected:?}");
}

/// Reports of holes are on the middle leg only, and nothing else repairs it.
#[test]
fn snack_is_between_the_gateways_only() {
    let flows = flow("server", "client", "cubic", "bulk = \"2MB\"");
    let scenario = parse(&between("", PRESET, 0.02, &flows));
    let number = |name: &str| {
        let place = scenario.nodes.iter().position(|node| node.name == name);
        u16::try_from(place.unwrap()).unwrap()
    };
    let mut reports: BTreeMap<(u16, u16), u32> = BTreeMap::new();
    let mut note = |seen: &Observed<'_>| {
        if seen.node == seen.from && seen.segment().is_some_and(|one| one.snack().is_some()) {
            *reports.entry((seen.from, seen.to)).or_default() += 1;
        }
    };
    let options = Options { observer: Some(&mut note), ..Options::default() };
    let recording = simulator::run(&scenario, 1, options);
    assert!(recording.flows[0].completed);
    let from_terminal = (number("terminal"), number("hub"));
    assert_eq!(reports.keys().copied().collect::<Vec<_>>(), [from_terminal]);
    assert!(reports[&from_terminal] > 10, "{reports:?}");
}

/// With any answer to clients, and above a limit of connections: then the client speaks TCP to a
/// gateway that offers SCPS-TP, and both do without it.
#[test]
fn connections_are_accepted_and_limited_as_those_of_tcp() {
    for keys in ["accept = \"late\"", "accept = \"early-if-known\""] {
        let flows = flow("server", "client", "cubic", DOWNLOAD);
        let recording = run(&between("", &format!("{PRESET}, {keys}"), 0.005, &flows));
        assert!(recording.flows[0].completed, "{keys}");
    }
    let flows = flow("server", "client", "cubic", DOWNLOAD) + "count = 3\n";
    for at_limit in ["pass", "refuse"] {
        let limits = format!("limits = {{ connections = 1, at_limit = {at_limit:?} }}");
        let text = between("", &format!("{PRESET}, {limits}"), 0.005, &flows);
        let completed = run(&text).flows.iter().filter(|flow| flow.completed).count();
        assert_eq!(completed, if at_limit == "pass" { 3 } else { 1 }, "{at_limit}");
    }
}

#[test]
fn both_engines_agree_on_gateways_with_scps_tp() {
    let flows = flow("server", "client", "cubic", "bulk = \"1MB\"")
        + &flow("client", "server", "bbr", DOWNLOAD);
    for preset in [PRESET, SATPEP] {
        let scenario = parse(&between("", preset, 0.01, &flows));
        let whole = |recording: Recording| Recording { events: 0, ..recording }.digest();
        let runs = [1, 1].map(|seed| whole(simulator::run(&scenario, seed, Options::default())));
        let slow = whole(simulator::run_on_reference(&scenario, 1, Options::default()));
        assert_eq!(runs, [slow.clone(), slow]);
    }
}

/// Gateways split TCP. QUIC and STP are another protocol of IP, or hide their headers, and cross
/// unsplit.
#[test]
fn flows_with_other_protocols_cross_gateways_unsplit() {
    for protocol in ["quic", "stp"] {
        let other = flow("server", "client", "newreno", DOWNLOAD)
            + &format!("transport = {{ protocol = {protocol:?} }}\n");
        let tcp = flow("server", "client", "newreno", DOWNLOAD);
        for keys in [PRESET, "limits = { connections = 1 }"] {
            let recording = run(&between("", keys, 0.0, &format!("{tcp}{other}")));
            let [split, whole] = &*recording.flows else { panic!("two flows") };
            assert!(split.completed && whole.completed, "{protocol}");
            assert_eq!(legs(&recording, "bytes").len(), 3, "{protocol} has no legs");
            // One connection has the round trip of the whole path.
            let rtt = whole.min_rtt_ms.unwrap();
            assert!(rtt > 521.0, "{protocol}: {rtt}");
        }
    }
}
