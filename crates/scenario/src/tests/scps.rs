//! SCPS-TP before a run: settings that do not fit, and warnings.

use crate::{Loaded, Scenario, WarningKind, explain};

/// A flow over a GEO link of 2 Mbit/s. `queue`, `controller`, keys of `scps` and of `transport` are TOML.
fn text(queue: u32, controller: &str, scps: &str, transport: &str) -> String {
    format!(
        r#"
[[link]]
between = ["server", "client"]
rate = "2Mbit/s"
delay = "250ms"
queue = {{ packets = {queue} }}
backward = {{ channel = {{ per = 1e-3 }} }}
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
transport = {{ protocol = "scps-tp", scps = {{ {scps} }}, {transport} }}
traffic = {{ bulk = "unlimited" }}
"#
    )
}

fn warned(text: &str) -> Vec<(WarningKind, String)> {
    let loaded = Loaded::parse(text, "scps.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let found = explain(&loaded.scenario, &loaded.written).warnings.into_iter();
    found.map(|warning| (warning.kind, warning.to_string())).collect()
}

fn kinds(text: &str) -> Vec<WarningKind> {
    warned(text).into_iter().map(|(kind, _)| kind).collect()
}

#[test]
fn a_window_that_overflows_a_queue_is_no_corruption() {
    use WarningKind::CauseHidesCongestion as Hidden;
    let corruption = r#"cause = "corruption""#;
    let found = warned(&text(100, "reno", corruption, ""));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, Hidden);
    // 2 Mbit/s x 506.3 ms and 100 packets.
    let words = "a window of up to 4.34MB fills more than the BDP and the queue of server -> client, 277kB: ";
    assert!(found[0].1.starts_with("scps.toml:12:"), "{}", found[0].1);
    assert!(found[0].1.contains(words), "{}", found[0].1);
    // Losses reduce the window, marks do, and nothing overflows.
    assert_eq!(kinds(&text(100, "reno", r#"cause = "congestion""#, "")), []);
    assert_eq!(kinds(&text(100, "reno", corruption, "ecn = true")), []);
    assert_eq!(kinds(&text(100, "reno", corruption, r#"receive_buffer = "260kB""#)), []);
    assert_eq!(kinds(&text(3000, "reno", corruption, "")), []);
    let small =
        text(100, "reno", corruption, "").replace("bulk = \"unlimited\"", "download = \"200kB\"");
    assert_eq!(kinds(&small), []);
}

#[test]
fn a_rate_above_the_link_has_a_warning_where_nothing_reduces_it() {
    use WarningKind::RateAboveBottleneck as Above;
    let rated = |rate: &str, cause: &str| format!(r#"rate = "{rate}", cause = "{cause}""#);
    assert_eq!(kinds(&text(100, "none", &rated("2Mbit/s", "corruption"), "")), []);
    assert_eq!(kinds(&text(100, "none", &rated("2.1Mbit/s", "corruption"), "")), [Above]);
    assert_eq!(kinds(&text(100, "none", &rated("2.1Mbit/s", "congestion"), "")), [Above]);
    assert_eq!(kinds(&text(100, "reno", &rated("2.1Mbit/s", "corruption"), "")), [Above]);
    assert_eq!(kinds(&text(100, "reno", &rated("2.1Mbit/s", "congestion"), "")), []);
    // Two flows share the link.
    let two = text(100, "none", &rated("1.1Mbit/s", "corruption"), "");
    let two = two.replace("controller", "count = 2\ncontroller");
    assert_eq!(kinds(&two), [Above]);
}

#[test]
fn strictly_delayed_acks_have_no_number_of_segments() {
    let of = |transport| text(100, "reno", "strictly_delayed = true", transport);
    Scenario::parse(&of(r#"delayed_ack = "300ms""#), "scps.toml", &[]).unwrap();
    for (written, words) in [
        (r#"delayed_ack = "off""#, "each segment"),
        ("delayed_ack = { segments = 4 }", "every 4 segments"),
    ] {
        let errors = Scenario::parse(&of(written), "scps.toml", &[]).unwrap_err().to_string();
        assert!(errors.contains("transport.scps.strictly_delayed: expected false"), "{errors}");
        assert!(errors.contains(words), "{errors}");
    }
}

/// The time between ACKs bounds what they take of the return link.
#[test]
fn acks_that_keep_their_distance_fill_no_return_link() {
    let thin = |scps: &str| {
        let text =
            text(100, "reno", scps, "").replace("per = 1e-3 }", "per = 1e-3 }, rate = \"9kbit/s\"");
        let found = warned(&text);
        found.into_iter().find(|(kind, _)| *kind == WarningKind::AcksFillReturn)
    };
    // 20 ACKs of 52 bytes in a second are 8.3 kbit/s.
    assert_eq!(thin(""), None);
    let (_, words) = thin(r#"ack_floor = "40ms""#).unwrap();
    assert!(words.contains("an ACK for every 40ms fills"), "{words}");
    assert_eq!(thin(r#"ack_floor = "0ms", strictly_delayed = true"#), None);
    let (_, words) = thin(r#"ack_floor = "0ms""#).unwrap();
    assert!(words.contains("an ACK for every 2 segments of"), "{words}");
}

#[test]
fn signals_on_a_route_without_outages_have_a_warning() {
    use WarningKind::SignalsWithoutEffect as Idle;
    let signals = text(100, "reno", "outage_signals = true", "");
    let found = warned(&signals);
    assert_eq!(found.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [Idle]);
    assert!(found[0].1.starts_with("scps.toml:12:"), "{}", found[0].1);
    for side in ["", "forward = ", "backward = "] {
        let outage = match side {
            "" => r#"outage = "5s""#.to_owned(),
            side => format!(r#"{side}{{ outage = "5s" }}"#),
        };
        let event = format!("event = [{{ at = \"10s\", {outage} }}]\n[[flow]]");
        assert_eq!(kinds(&signals.replace("[[flow]]", &event)), [], "{side}");
    }
}
