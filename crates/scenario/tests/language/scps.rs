//! SCPS-TP before a run: settings that do not fit, and warnings.

use explain::{WarningKind, explain};
use scenario::{Loaded, Scenario};

/// A flow over a GEO link of 2 Mbit/s. `queue`, `controller`, keys of `scps` and of `transport` are
/// TOML.
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
    // Two flows of a host share the rate, and those of two hosts share the link only.
    let two = text(100, "none", &rated("1.1Mbit/s", "corruption"), "");
    let of_one = two.replace("controller", "count = 2\ncontroller");
    assert_eq!(kinds(&of_one), []);
    let (link, flow) = two.split_at(two.find("[[flow]]").unwrap());
    let hosts = ["one", "two"].map(|host| {
        let access = format!(
            "[[link]]\nbetween = [{host:?}, \"server\"]\nrate = \"9Mbit/s\"\ndelay = \"1ms\"\n"
        );
        access + &flow.replace("\"server\"", &format!("{host:?}"))
    });
    let found = warned(&format!("{link}{}", hosts.concat()));
    assert_eq!(found.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [Above, Above]);
    let words = "the rates of 2 routes (scps.rate), together 2.2Mbit/s are above the rate of server -> client, 2Mbit/s";
    assert!(found[0].1.contains(words), "{}", found[0].1);
}

/// The bucket holds 50 ms of the rate.
#[test]
fn a_bucket_above_the_queue_of_the_link_has_a_warning() {
    use WarningKind::BucketAboveQueue as Bucket;
    let scps = r#"rate = "2Mbit/s", cause = "corruption""#;
    assert!(!kinds(&text(8, "none", scps, "")).contains(&Bucket));
    let found = warned(&text(7, "none", scps, ""));
    let (_, words) = found.into_iter().find(|(kind, _)| *kind == Bucket).unwrap();
    assert!(words.contains("lets 12500B pass at once"), "{words}");
}

/// Warnings compare windows with the rate, which is the bottleneck then.
#[test]
fn the_rate_of_a_route_is_the_bottleneck_if_it_is_the_slowest() {
    let text = text(100, "none", r#"rate = "1Mbit/s", cause = "corruption""#, "");
    let loaded = Loaded::parse(&text, "scps.toml", &[]).unwrap();
    let figures = &explain(&loaded.scenario, &loaded.written).flows[0].figures;
    assert_eq!((figures.bottleneck.as_str(), figures.bottleneck_bps), ("server (scps.rate)", 1e6));
    assert!((figures.bdp_bytes / 63_280.0 - 1.0).abs() < 0.01, "{}", figures.bdp_bytes);
}

#[test]
fn flows_of_a_route_have_one_rate() {
    let first = text(100, "none", r#"rate = "1Mbit/s", cause = "corruption""#, "");
    let flow = first.split_once("[[flow]]").unwrap().1;
    let both = |other: &str| format!("{first}[[flow]]{}", flow.replace("1Mbit/s", other));
    Scenario::parse(&both("1Mbit/s"), "scps.toml", &[]).unwrap();
    let errors = Scenario::parse(&both("2Mbit/s"), "scps.toml", &[]).unwrap_err();
    let error = &errors.0[0];
    assert_eq!((error.path.as_str(), error.place.line), ("flow[1].transport.scps.rate", Some(18)));
    assert_eq!((error.expected.as_str(), error.found.as_str()), ("\"1Mbit/s\"", "\"2Mbit/s\""));
    let reason = error.reason.as_deref().unwrap();
    assert!(reason.contains("flow[0] has that") && reason.contains("server -> client"), "{reason}");
    // One without a rate would take the bucket past that of the other.
    let without =
        both("1Mbit/s").replacen("none", "reno", 2).replacen(r#"rate = "1Mbit/s", "#, "", 1);
    let errors = Scenario::parse(&without, "scps.toml", &[]).unwrap_err();
    assert_eq!(errors.0[0].expected, "no `rate`");
    // The other direction is another route.
    let back =
        flow.replace("from = \"server\"\nto = \"client\"", "from = \"client\"\nto = \"server\"");
    let back = back.replace("1Mbit/s", "2Mbit/s");
    assert_ne!(back, flow);
    Scenario::parse(&format!("{first}[[flow]]{back}"), "scps.toml", &[]).unwrap();
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
fn signals_on_a_route_without_visible_errors_have_a_warning() {
    use WarningKind::ErrorSignalsWithoutEffect as Idle;
    // The errors of this link are on the way of the ACKs.
    let signals = text(100, "reno", "corruption_signals = true", "");
    let found = warned(&signals);
    assert_eq!(found.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [Idle]);
    assert!(found[0].1.starts_with("scps.toml:12:"), "{}", found[0].1);
    let of_data = |more: &str| signals.replace("backward = ", &format!("{more}forward = "));
    assert_eq!(kinds(&of_data("")), []);
    let hidden = of_data("").replace("per = 1e-3 }", "per = 1e-3 }, arq = \"selective-repeat\"");
    assert!(kinds(&hidden).contains(&Idle));
    let known =
        of_data("").replace("corruption_signals", "cause = \"corruption\", corruption_signals");
    assert!(kinds(&known).contains(&Idle));
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

/// A flow with best-effort transport, of which `keys` are TOML.
fn best_effort(keys: &str, transport: &str) -> String {
    let scps = format!("rate = \"1Mbit/s\", best_effort = {{ {keys} }}");
    text(100, "none", &scps, transport)
}

#[test]
fn best_effort_says_that_data_will_be_missing() {
    use WarningKind::RetransmissionsTooLate as Late;
    use WarningKind::{BufferBelowWait as Full, DataMissing as Missing};
    let found = warned(&best_effort("retransmissions = 0", ""));
    assert_eq!(found.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [Missing]);
    assert!(found[0].1.starts_with("scps.toml:12:"), "{}", found[0].1);
    assert!(
        found[0].1.contains("what is lost or comes more than 1.048577s behind"),
        "{}",
        found[0].1
    );
    let twice = warned(&best_effort(r#"retransmissions = 1, receive_timeout = "1s""#, ""));
    assert!(
        twice[0].1.contains("what is lost 2 times or comes more than 1s behind"),
        "{}",
        twice[0].1
    );
    // The RTT is 506 ms.
    let kinds_of = |keys: &str, transport: &str| kinds(&best_effort(keys, transport));
    assert_eq!(kinds_of(r#"retransmissions = 1, receive_timeout = "500ms""#, ""), [Missing, Late]);
    assert_eq!(kinds_of(r#"retransmissions = 0, receive_timeout = "500ms""#, ""), [Missing]);
    // 1 Mbit/s for 1.5 s are 181 kB of payload.
    let small = r#"receive_buffer = "150kB""#;
    let waits = r#"retransmissions = 0, receive_timeout = "1s""#;
    assert_eq!(kinds_of(waits, small), [Missing, Full]);
    let level = format!(r#"{waits}, receive_threshold = "100kB""#);
    assert_eq!(kinds_of(&level, small), [Missing]);
    let finite = best_effort(waits, small).replace("bulk = \"unlimited\"", "download = \"100kB\"");
    assert_eq!(kinds(&finite), [Missing]);
}

/// Every value that a run uses is printed.
#[test]
fn explain_prints_the_settings_of_best_effort() {
    let settings = |text: &str| {
        let loaded = Loaded::parse(text, "scps.toml", &[]).unwrap();
        let explanation = explain(&loaded.scenario, &loaded.written);
        let settings = explanation.flows[0].settings.clone().into_iter();
        let of = settings.filter(|setting| setting.name.contains("best_effort"));
        of.map(|setting| (setting.name, setting.text)).collect::<Vec<_>>()
    };
    let name = |key: &str| format!("transport.scps.best_effort{key}");
    let off = settings(&text(100, "reno", "", ""));
    assert_eq!(off, [(name(""), "off".to_owned())]);
    let found = settings(&best_effort("retransmissions = 2", ""));
    let expected = [
        (name(".retransmissions"), "2"),
        (name(".receive_timeout"), "1.048577s"),
        (name(".receive_threshold"), "none"),
    ];
    assert_eq!(found, expected.map(|(name, text)| (name, text.to_owned())));
}

#[test]
fn best_effort_that_cannot_be_is_refused_with_its_place() {
    let refused = |text: &str| {
        let errors = Scenario::parse(text, "scps.toml", &[]).unwrap_err();
        assert_eq!(errors.0.len(), 1, "{errors}");
        errors.to_string()
    };
    for (keys, transport, words) in [
        (
            "",
            "",
            "flow[0].transport.scps.best_effort.retransmissions: expected a whole number from 0 to 32, found nothing",
        ),
        (
            "retransmissions = 33",
            "",
            "best_effort.retransmissions: expected a whole number from 0 to 32",
        ),
        (
            "retransmissions = -1",
            "",
            "best_effort.retransmissions: expected a whole number from 0 to 32",
        ),
        (
            "retransmissions = 15",
            "",
            "best_effort.retransmissions: expected less than `max_retries`, 15",
        ),
        (r#"retransmissions = 0, receive_timeout = "0s""#, "", "from 1ms to 600s"),
        (r#"retransmissions = 0, receive_timeout = "601s""#, "", "from 1ms to 600s"),
        ("retransmissions = 0, receive_timeout = 1", "", "best_effort.receive_timeout"),
        (r#"retransmissions = 0, receive_threshold = "0B""#, "", "from 1B to 1GiB"),
        (
            r#"retransmissions = 0, receive_threshold = "100kB""#,
            r#"receive_buffer = "100kB""#,
            "best_effort.receive_threshold: expected less than `receive_buffer`, \"100kB\"",
        ),
        (r#"retransmissions = 0, timeout = "1s""#, "", "receive_timeout"),
    ] {
        let found = refused(&best_effort(keys, transport));
        assert!(found.contains(words) && found.contains("scps.toml:12:"), "{keys}: {found}");
    }
    // `user_timeout` takes the place of `max_retries`.
    let text = best_effort("retransmissions = 20", r#"user_timeout = "1min""#);
    Scenario::parse(&text, "scps.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"));
    for protocol in ["tcp", "sctp", "xtp", "stp", "quic"] {
        let text = best_effort("retransmissions = 0", "");
        let text = text.replace("scps-tp", protocol).replace("\"none\"", "\"reno\"");
        let errors = Scenario::parse(&text, "scps.toml", &[]).unwrap_err().to_string();
        assert!(errors.contains("transport.scps: expected no `scps`"), "{protocol}: {errors}");
    }
}
