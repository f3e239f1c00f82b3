//! Links that do not take long packets under real TCP: it answers the ICMP messages, or finds the
//! size by probes, and the payload arrives as it was sent.

use std::{fs, thread};

use recording::ExtraTable;
use scenario::Scenario;
use serde_json::{Value, json};
use testbed::shell;
use units::Span;

use super::{fetching, is_skipped, over_both, recorded};

/// A tunnel in the middle of a path.
fn tunnel(mtu: &Value, probing: &str, duration: &str) -> Scenario {
    let whole = json!({
        "duration": duration,
        "link": [
            { "between": ["server", "gateway"], "rate": "50Mbit/s", "delay": "2ms" },
            { "between": ["gateway", "hub"], "rate": "10Mbit/s", "delay": "10ms", "mtu": mtu,
              "queue": { "packets": 400 } },
            { "between": ["hub", "client"], "rate": "50Mbit/s", "delay": "2ms" },
        ],
        "flow": [{ "from": "server", "to": "client", "controller": "cubic",
                   "transport": { "mtu_probing": probing, "recovery": "linux" },
                   "traffic": { "download": "1MB" } }],
    });
    Scenario::from_json(&whole, &[]).unwrap()
}

/// A cell of the table `mtu`, in the row of the data.
fn total(tables: &[ExtraTable], column: &str) -> u64 {
    super::total(tables, "mtu", column, 0)
}

fn filtered() -> Value {
    json!({ "bytes": 1400, "icmp": "filtered" })
}

#[test]
pub(crate) fn real_tcp_finds_the_path_mtu_and_the_payload_is_whole() {
    if is_skipped() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bentpipe-mtu-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let payload: Vec<u8> = (0..1_000_000_u64).map(|n| (n * n % 251) as u8).collect();
    fs::write(folder.join("payload"), &payload).unwrap();
    let (server, client) = fetching(&folder);
    for (mtu, probing) in [
        (json!(1400), "off"),
        (json!(1400), "always"),
        (filtered(), "black-hole"),
        (filtered(), "always"),
    ] {
        let finds = &|scenario: Scenario| {
            let case = format!("{mtu} {probing} over {:?}", scenario.ip);
            let ran = shell(&scenario, 1, &client, std::slice::from_ref(&server)).unwrap();
            assert_eq!(ran.status, 0, "{case}");
            let [too_big, messages] =
                ["too_big_packets", "icmp_packets"].map(|column| total(&ran.tables, column));
            assert!(too_big > 0, "{case}");
            assert_eq!(messages, if mtu == filtered() { 0 } else { too_big }, "{case}");
            // One window, and not each packet.
            assert!(too_big < 100, "{case}: {too_big}");
        };
        // Real time: each of them waits most of it.
        thread::scope(|scope| {
            for scenario in over_both(tunnel(&mtu, probing, "40s")) {
                scope.spawn(move || finds(scenario));
            }
        });
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_black_hole_is_one_for_real_tcp_too() {
    if is_skipped() {
        return;
    }
    let recording = recorded(&tunnel(&filtered(), "off", "3s"));
    let flow = &recording.flows[0];
    assert!(!flow.completed && flow.bytes == 0, "{flow:?}");
    assert!(total(&recording.tables, "too_big_packets") > 10);
}

/// Linux's own rules: the initial window is sent again without a timeout.
#[test]
fn a_message_costs_real_tcp_no_timeout() {
    if is_skipped() {
        return;
    }
    let recording = recorded(&tunnel(&json!(1400), "off", "20s"));
    let flow = &recording.flows[0];
    assert!(flow.completed, "{flow:?}");
    assert_eq!(flow.tcp().unwrap().timeouts, 0);
    assert_eq!(total(&recording.tables, "too_big_packets"), 10);
}

/// The kernel remembers a path, as the simulator does: the second connection loses nothing.
#[test]
fn later_connections_of_real_tcp_know_the_path() {
    if is_skipped() {
        return;
    }
    for mut scenario in over_both(tunnel(&json!(1400), "off", "20s")) {
        let mut later = scenario.flows[0].clone();
        later.name = "later".to_owned();
        later.start = Span::from_secs(4);
        scenario.flows.push(later);
        let recording = recorded(&scenario);
        assert!(recording.flows.iter().all(|flow| flow.completed), "{:?}", recording.flows);
        assert_eq!(total(&recording.tables, "too_big_packets"), 10, "{:?}", scenario.ip);
    }
}
