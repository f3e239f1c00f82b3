//! Quick-Start (RFC 4782) over a whole path: how many round trips it saves, and paths that do not
//! approve it.

use explain::{WarningKind, explain};
use recording::Recording;
use scenario::{Loaded, Scenario};
use simulator::Options;

use crate::{geo, parse, run, total};

/// RTT of the paths in seconds.
const RTT: f64 = 0.5;
/// Payload and length of a full packet in bytes.
const MSS: f64 = 1448.0;
const PACKET: f64 = 1500.0;

const SPEAKS: &str = "feedback = \"quick-start\"";
const ASKS: &str = ", quick_start = \"20.48Mbit/s\"";

/// A download of 1 MB over 40 Mbit/s with a queue of one bandwidth-delay product.
fn download(link: &str, transport: &str) -> String {
    let link = format!("rate = \"40Mbit/s\"\nqueue = {{ bytes = \"2500kB\" }}\n{link}");
    let transport = format!("recovery = \"sack\", delayed_ack = \"off\"{transport}");
    geo(&link, &transport, "download = \"1MB\"")
}

fn seconds(recording: &Recording) -> f64 {
    recording.flows[0].completion_s.unwrap()
}

/// Slow start from ten segments doubles in each round trip: 10, 20, ... 320 are 630 segments in six
/// round trips, and the other 61 need a seventh. Before it, SYN and request take one and a half
/// round trips and the last data a half. Quick-Start sends all 691 segments in the first round
/// trip, at 20.48 Mbit/s.
#[test]
fn a_download_over_geo_saves_six_round_trips() {
    let segments = (1e6 / MSS).ceil();
    let slow = 2.0 * RTT + 6.0 * RTT + (segments - 630.0) * PACKET * 8.0 / 40e6;
    let quick = 2.0 * RTT + segments * PACKET * 8.0 / 20.48e6;
    let [plain, asked] = ["", ASKS].map(|keys| run(&download(SPEAKS, keys)));
    let found = [&plain, &asked].map(seconds);
    for (found, expected) in found.into_iter().zip([slow, quick]) {
        assert!((found - expected).abs() < 0.01, "{found} s, and {expected} s by the closed form");
    }
    assert_eq!(total(&plain, "feedback", "treated_packets"), 0);
    assert_eq!(total(&asked, "feedback", "treated_packets"), 1);
    assert_eq!(total(&asked, "feedback", "lowered_packets"), 0);
    assert_eq!(total(&asked, "feedback", "reports"), 1);
    assert_eq!(asked.links[0].dropped_packets, 0);
}

/// An upload asks in the SYN, a download in the SYN with ACK. The window of a SYN with ACK is not
/// scaled, so that an upload starts with 65535 bytes at most. 45 segments instead of ten save two
/// round trips of doubling.
#[test]
fn an_upload_starts_with_the_unscaled_window() {
    let upload =
        |keys: &str| run(&download(SPEAKS, keys).replace("download = \"1MB\"", "bulk = \"1MB\""));
    let [plain, asked] = ["", ASKS].map(|keys| seconds(&upload(keys)));
    assert!((plain - asked - 2.0 * RTT).abs() < 0.05, "{asked} s against {plain} s");
}

/// The flows and links of a recording as text.
fn results(scenario: &Scenario) -> String {
    let recording = simulator::run(scenario, 1, Options::default());
    format!("{:?} {:?}", recording.flows, recording.links)
}

/// The sender is exactly the plain one if a link does not answer, or if a router denies.
#[test]
fn a_path_that_does_not_approve_is_that_of_the_plain_sender_with_every_controller() {
    for entry in congestion::entries() {
        for recovery in ["sack", "linux"] {
            let path = |link: &str, keys: &str| {
                let text = download(&format!("{link}\nchannel = {{ per = 0.003 }}"), keys)
                    .replace("newreno", entry.name)
                    .replace("recovery = \"sack\"", &format!("recovery = {recovery:?}"));
                // The second link never answers.
                parse(
                    &text
                        .replace("[\"server\", \"client\"]", "[\"server\", \"gateway\"]")
                        .replace(
                            "[[flow]]",
                            "[[link]]\nbetween = [\"gateway\", \"client\"]\nrate = \"100Mbit/s\"\ndelay = \"1ms\"\nqueue = { packets = 5000 }\n[[flow]]",
                        ),
                )
            };
            let plain = results(&path(SPEAKS, ""));
            let case = format!("{} with recovery {recovery}", entry.name);
            assert_eq!(results(&path(SPEAKS, ASKS)), plain, "{case}: a silent link");
            let denies = "feedback = { name = \"quick-start\", threshold = 0.001 }";
            assert_eq!(results(&path(denies, ASKS)), plain, "{case}: 40 kbit/s have no code");
        }
    }
}

/// Ends with every byte, and a round trip earlier or more, with every controller. Some need no more
/// than four round trips without it.
#[test]
fn it_works_with_every_controller() {
    for entry in congestion::entries() {
        for (recovery, per) in
            [("sack", "0"), ("linux", "0"), ("sack", "0.01"), ("newreno", "0.01")]
        {
            let text = |keys: &str| {
                download(&format!("{SPEAKS}\nchannel = {{ per = {per} }}"), keys)
                    .replace("newreno", entry.name)
                    .replace("recovery = \"sack\"", &format!("recovery = {recovery:?}"))
                    // Probes of peach and its relatives would push out data.
                    .replace("\"2500kB\"", "\"2500kB\", low_priority = \"push-out\"")
            };
            let [plain, asked] = ["", ASKS].map(|keys| run(&text(keys)));
            let case = format!("{} with recovery {recovery}, PER {per}", entry.name);
            assert!(asked.flows[0].completed, "{case}");
            assert_eq!(total(&asked, "feedback", "treated_packets"), 1, "{case}");
            if per == "0" {
                let (plain, asked) = (seconds(&plain), seconds(&asked));
                assert!(
                    asked < (plain - RTT).max(4.0 * RTT),
                    "{case}: {asked} s, {plain} s without"
                );
            }
        }
    }
}

/// The rate falls after the approval: the Quick-Start window overflows the queue, and the sender
/// falls back to the initial window and slow start, without a timeout.
#[test]
fn a_loss_in_the_quick_start_window_falls_back_to_the_initial_window() {
    let fades = "queue = { packets = 60 }\nevent = [{ at = \"850ms\", rate = \"10Mbit/s\" }]";
    let text = download(SPEAKS, ASKS).replace("queue = { bytes = \"2500kB\" }", fades)
        + "[record]\ninterval = \"10ms\"\n";
    let scenario = parse(&text);
    let recording = simulator::run(&scenario, 1, Options::default());
    assert!(recording.links[0].dropped_packets > 100, "{}", recording.links[0].dropped_packets);
    let tcp = recording.flows[0].tcp().unwrap();
    assert_eq!((tcp.timeouts, tcp.fast_recoveries), (0, 1));
    let (segments, initial) = (MSS as u64, 10 * MSS as u64);
    let windows: Vec<_> = recording.flow_series.cwnd_bytes.clone();
    let largest = windows.iter().max().copied().unwrap();
    assert!(largest > 600 * segments, "{largest}");
    let before = windows.iter().position(|cwnd| *cwnd == largest).unwrap();
    let after = windows[before..].iter().find(|cwnd| **cwnd < 600 * segments).unwrap();
    assert_eq!(*after, initial);
    // The plain sender of the same path loses nothing before that.
    let slow = seconds(&run(&text.replace(ASKS, "")));
    let quick = seconds(&recording);
    assert!(quick < 1.2 * slow, "{quick} s against {slow} s");
}

/// Two connections at once: the second one gets what the first one has left.
#[test]
fn a_router_remembers_what_it_has_approved() {
    let flow = "[[flow]]\nfrom = \"server\"\nto = \"client\"\nstart = \"START\"\ncontroller = \"newreno\"\ntransport = { quick_start = \"20.48Mbit/s\" }\ntraffic = { bulk = \"1MB\" }\n";
    let at = |start: &str| {
        let recording = run(&(download(SPEAKS, ASKS) + &flow.replace("START", start)));
        let counts = ["treated_packets", "lowered_packets", "denied_packets"];
        counts.map(|count| total(&recording, "feedback", count))
    };
    // 34 Mbit/s may be used, of which 13.5 are left: 10.24 Mbit/s.
    assert_eq!(at("100ms"), [2, 1, 0]);
    assert_eq!(at("20s"), [2, 0, 0]);
}

/// Both engines give the same recording.
#[test]
fn both_engines_give_the_same_recording_with_quick_start() {
    for keys in ["", "channel = { per = 0.01 }", "aqm = \"codel\"", "header_compression = \"rohc\""]
    {
        let text =
            download(&format!("{SPEAKS}\n{keys}"), ASKS) + "[record]\ninterval = \"100ms\"\n";
        let scenario = parse(&text);
        let mut fast = simulator::run(&scenario, 1, Options::default());
        let slow = simulator::run_on_reference(&scenario, 1, Options::default());
        fast.events = slow.events;
        assert_eq!(fast.digest(), slow.digest(), "{keys}");
        assert_eq!(total(&fast, "feedback", "treated_packets"), 1, "{keys}");
    }
}

fn warnings(text: &str) -> Vec<(WarningKind, String)> {
    let loaded = Loaded::parse(text, "quick.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let kinds = [
        WarningKind::FeedbackIncomplete,
        WarningKind::FeedbackShared,
        WarningKind::FeedbackWithoutEffect,
    ];
    let warnings = explain(&loaded.scenario, &loaded.written).warnings;
    let found = warnings.into_iter().filter(|warning| kinds.contains(&warning.kind));
    found.map(|warning| (warning.kind, warning.to_string())).collect()
}

#[test]
fn a_path_that_does_not_fit_is_a_warning_with_its_place() {
    assert_eq!(warnings(&download(SPEAKS, ASKS)), []);
    let silent = warnings(&download("", ASKS));
    let [(WarningKind::FeedbackIncomplete, message)] = &silent[..] else { panic!("{silent:?}") };
    assert!(
        message.starts_with("quick.toml:4:11: ")
            && message.contains("server-client has no feedback"),
        "{message}"
    );
    let idle = warnings(&download(SPEAKS, ""));
    let [(WarningKind::FeedbackWithoutEffect, message)] = &idle[..] else { panic!("{idle:?}") };
    assert!(message.contains("the quick_start of no flow"), "{message}");
}

#[test]
fn the_explanation_has_the_coded_rates() {
    let text = download(SPEAKS, ", quick_start = \"5Mbit/s\"");
    let loaded = Loaded::parse(&text, "quick.toml", &[]).unwrap();
    let explanation = explain(&loaded.scenario, &loaded.written);
    let rows = explanation.links[0].effects_of("feedback");
    let gives = rows.iter().find(|row| row.name == "gives").unwrap();
    assert_eq!(gives.value.as_f64(), Some(20.48e6));
    let printed = explanation.to_string();
    assert!(printed.contains("5Mbit/s, asks for 2.56Mbit/s"), "{printed}");
}

#[test]
fn it_is_refused_with_careful_resume_and_outside_of_its_codes() {
    let refused = |keys: &str| {
        Scenario::parse(&download(SPEAKS, keys), "quick.toml", &[]).unwrap_err().to_string()
    };
    let saved = ", careful_resume = { saved_cwnd = \"1MB\", saved_rtt = \"500ms\" }";
    let both = refused(&format!("{ASKS}{saved}"));
    assert!(
        both.contains("flow[0].transport.quick_start") && both.contains("careful_resume"),
        "{both}"
    );
    for rate in ["79kbit/s", "2Gbit/s"] {
        let found = refused(&format!(", quick_start = \"{rate}\""));
        assert!(found.contains("from 80kbit/s to 1310720kbit/s"), "{found}");
    }
}
