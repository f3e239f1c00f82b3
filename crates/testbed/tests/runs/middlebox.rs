//! Middleboxes before real TCP: they act, and the payload arrives as it was sent.

use std::{fs, thread};

use middlebox::Middlebox;
use recording::{ExtraTable, Values};
use scenario::Scenario;
use serde_json::json;
use testbed::shell;

use super::{fetching, is_skipped};

/// The largest of the counters of the only middlebox, without those of all packets.
fn most(tables: &[ExtraTable]) -> u64 {
    let table = tables.iter().find(|table| table.name() == "middlebox").unwrap();
    let columns = table.columns();
    let [Values::Text(names), Values::U64(counts)] = [&columns[2].values, &columns[3].values]
    else {
        panic!("the columns have other types");
    };
    let own =
        names.iter().zip(counts.iter()).filter(|(name, _)| !["received", "sent"].contains(name));
    own.map(|(_, count)| *count).max().unwrap()
}

/// A middlebox between server and client that has something to do: losses on the last hop, and ACKs
/// that leave it on a thin link. For packet control, delay spikes.
fn scenario(middlebox: Middlebox) -> Scenario {
    let name = middlebox.name();
    let (middlebox, rate, back, per, events) = match middlebox {
        // Linux probes first, and its RTO is more than a second.
        Middlebox::PacketControl(_) => {
            let patient = json!({ "name": name, "patience": "10s" });
            let events = json!([{ "at": "3s", "outage": "4s" }]);
            (patient, "5Mbit/s", "5Mbit/s", 0.0, events)
        }
        _ => (json!(name), "20Mbit/s", "100kbit/s", 0.005, json!([])),
    };
    let whole = json!({
        "duration": "60s",
        "node": [{ "name": "terminal", "middlebox": middlebox }],
        "link": [
            {
                "between": ["server", "terminal"],
                "delay": "30ms",
                "forward": { "rate": rate },
                "backward": { "rate": back },
            },
            {
                "between": ["terminal", "client"],
                "rate": "50Mbit/s",
                "delay": "5ms",
                "queue": { "packets": 2000 },
                "forward": { "channel": { "per": per } },
                "event": events,
            },
        ],
        "flow": [{ "from": "server", "to": "client", "controller": "cubic",
                   "traffic": { "download": "1MB" } }],
    });
    Scenario::from_json(&whole, &[]).unwrap()
}

/// Tests of middleboxes, each a test of its own because it takes ten seconds of real time.
macro_rules! acts_on_real_tcp {
    ($($test:ident: $name:literal),* $(,)?) => {
        const TESTED: &[&str] = &[$($name),*];

        $(
            #[test]
            fn $test() {
                acts_and_the_payload_is_whole($name);
            }
        )*
    };
}

acts_on_real_tcp! {
    ack_decimation_acts_on_real_tcp: "ack-decimation",
    ack_filter_acts_on_real_tcp: "ack-filter",
    ack_reconstruction_acts_on_real_tcp: "ack-reconstruction",
    packet_control_acts_on_real_tcp: "packet-control",
    snoop_acts_on_real_tcp: "snoop",
    a_spoofing_proxy_acts_on_real_tcp: "spoofing-proxy",
}

#[test]
pub(crate) fn each_middlebox_has_a_test_with_real_tcp() {
    assert_eq!(TESTED, Middlebox::all().map(|middlebox| middlebox.name()));
}

fn acts_and_the_payload_is_whole(name: &str) {
    if is_skipped() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bentpipe-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let payload: Vec<u8> = (0..3_000_000_u64).map(|n| (n * n % 251) as u8).collect();
    fs::write(folder.join("payload"), &payload).unwrap();
    let (server, client) = fetching(&folder);
    let middlebox = Middlebox::all().into_iter().find(|one| one.name() == name).unwrap();
    let acts = &|ip| {
        let scenario = Scenario { ip, ..scenario(middlebox) };
        // A small window, so that no queue overflows: what shows a loss lets retransmissions pass.
        let mut client = client.clone();
        if let Middlebox::PacketControl(_) = middlebox {
            let script = client.command[2].to_str().unwrap();
            let window = "open('/proc/sys/net/ipv4/tcp_rmem', 'w').write('4096 60000 60000')";
            client.command[2] = format!("{window}\n{script}").into();
        }
        let ran = shell(&scenario, 1, &client, std::slice::from_ref(&server)).unwrap();
        assert_eq!(ran.status, 0, "{ip:?}");
        assert!(most(&ran.tables) > 0, "{ip:?}");
    };
    // Real time: each of them waits most of it.
    thread::scope(|scope| {
        for ip in [wire::IpVersion::V4, wire::IpVersion::V6] {
            scope.spawn(move || acts(ip));
        }
    });
    fs::remove_dir_all(&folder).unwrap();
}
