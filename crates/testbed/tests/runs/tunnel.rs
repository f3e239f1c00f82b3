//! A real tunnel of WireGuard under real TCP: its bytes on the link, and that proxies, which are
//! real too, see nothing of the flow.

use std::io::Write;
use std::{io, process};

use recording::Recording;
use scenario::Scenario;
use serde_json::{Value, json};
use wire::IpVersion;

use super::{is_skipped, merge, recorded, scenario};

/// Returns true and prints the reason if this machine has no WireGuard.
fn has_no_wireguard() -> bool {
    let missing = process::Command::new("wg").arg("--version").output().is_err();
    if missing {
        // Not `eprintln`, which is kept back of tests that pass.
        drop(writeln!(io::stderr(), "skipped: no program wg (Debian's package wireguard-tools)"));
    }
    missing || is_skipped()
}

/// A bulk flow over 10 Mbit/s, with more keys.
fn bulk(more: Value) -> Scenario {
    let mut flow = json!({
        "transport": { "recovery": "linux", "timestamps": true, "receive_buffer": {},
                       "delayed_ack": "linux" },
        "traffic": { "bulk": "6MB" },
    });
    merge(&mut flow, more);
    scenario(json!({ "queue": { "packets": 200 } }), flow)
}

/// Payload over bytes of IP packets on the link.
fn efficiency(recording: &Recording) -> f64 {
    let link = recording.links.iter().find(|one| one.direction == "forward").unwrap();
    let flow = &recording.flows[0];
    assert!(flow.completed, "{flow:?}");
    flow.bytes as f64 / link.delivered_bytes as f64
}

/// 1368 bytes of payload in 1480, and 1448 in 1500.
#[test]
pub(crate) fn a_bulk_flow_through_real_wireguard_has_its_efficiency() {
    if has_no_wireguard() {
        return;
    }
    let mut goodput = Vec::new();
    for (tunnel, expected) in [("none", 1448.0 / 1500.0), ("wireguard", 1368.0 / 1480.0)] {
        let recording = recorded(&bulk(json!({ "tunnel": tunnel })));
        let found = efficiency(&recording);
        assert!((found - expected).abs() < 0.004, "{tunnel}: {found} and not {expected}");
        let applied = recording.kernel.as_ref().unwrap().settings.iter();
        let named = applied.filter(|one| one.setting == "tunnel" && one.verdict == "applied");
        assert_eq!(named.count(), usize::from(tunnel != "none"));
        goodput.push(recording.flows[0].goodput_bps);
    }
    let (found, expected) = (goodput[1] / goodput[0], (1368.0 / 1480.0) / (1448.0 / 1500.0));
    assert!((found / expected - 1.0).abs() < 0.05, "{found} and not {expected}");
}

/// The first packet waits for the handshake: one round trip of 80 ms more.
#[test]
fn the_handshake_of_real_wireguard_takes_a_round_trip() {
    if has_no_wireguard() {
        return;
    }
    let [plain, hidden] = ["none", "wireguard"].map(|tunnel| {
        let flow = json!({ "traffic": { "download": "1kB" }, "tunnel": tunnel });
        let recording = recorded(&scenario(json!({ "delay": "40ms" }), flow));
        recording.flows[0].completion_s.unwrap()
    });
    assert!((hidden - plain - 0.08).abs() < 0.02, "{hidden} {plain}");
}

/// Both ends speak IPv6.
#[test]
fn wireguard_over_ipv6_carries_a_flow() {
    if has_no_wireguard() {
        return;
    }
    let scenario = Scenario { ip: IpVersion::V6, ..bulk(json!({ "tunnel": "wireguard" })) };
    let found = efficiency(&recorded(&scenario));
    assert!((found - 1348.0 / 1500.0).abs() < 0.006, "{found}");
}

/// Tunnels that this backend does not have are refused with the key.
#[test]
fn other_tunnels_are_refused() {
    if is_skipped() {
        return;
    }
    let refused = |flow: Value| {
        let found = testbed::run(&bulk(flow), 1, testbed::Options::default());
        found.unwrap_err().to_string()
    };
    for (tunnel, expected) in [
        (json!("openvpn"), "tunnel: expected wireguard"),
        (json!({ "name": "wireguard", "established": true }), "tunnel.established: expected false"),
    ] {
        let found = refused(json!({ "tunnel": tunnel }));
        assert!(found.contains(expected), "{found}");
    }
}
