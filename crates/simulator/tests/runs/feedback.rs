//! Routers that give feedback: XCP and P-XCP as their papers promise, EBN as it is reconstructed,
//! paths on which not all routers answer, and both engines.

use explain::{WarningKind, explain};
use recording::{Recording, Values, jain_index};
use scenario::Loaded;
use simulator::Options;

use super::{parse, run};

/// A cell of the table `feedback` in row `row`.
fn total(recording: &Recording, column: &str, row: usize) -> u64 {
    let table = recording.tables.iter().find(|table| table.name() == "feedback").unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::U64(counts) => counts[row],
        _ => panic!("{column} is a count"),
    }
}

/// The routers in whose protocol a controller asks.
fn routers(controller: &str) -> &str {
    if controller == "ebn" { "ebn" } else { "xcp" }
}

/// A dumbbell: `flows` from servers at distances of `delays` in ms through one bottleneck of 20
/// Mbit/s with `delay` in ms, whose keys are `bottleneck`.
fn dumbbell(controller: &str, delays: &[u32], delay: u32, bottleneck: &str) -> String {
    let feedback = routers(controller);
    let mut text = format!(
        r#"
duration = "300s"
[[link]]
between = ["left", "right"]
rate = "20Mbit/s"
delay = "{delay}ms"
{bottleneck}
"#
    );
    for (number, own) in delays.iter().enumerate() {
        text += &format!(
            r#"
[[link]]
between = ["s{number}", "left"]
rate = "100Mbit/s"
delay = "{own}ms"
queue = {{ packets = 1000 }}
feedback = "{feedback}"
[[flow]]
from = "s{number}"
to = "right"
controller = "{controller}"
start = "{number}s"
transport = {{ receive_buffer = "16MB", send_buffer = "16MB" }}
traffic = {{ bulk = "unlimited" }}
"#
        );
    }
    text
}

fn goodputs(recording: &Recording) -> Vec<f64> {
    recording.flows.iter().map(|flow| flow.bytes as f64).collect()
}

const XCP: &str = "feedback = \"xcp\"\nqueue = { packets = 1000 }";

/// The abstract of the paper: high utilisation, fair, no drops, and a queue near zero. A GEO link
/// with five flows that start one after the other.
#[test]
fn xcp_fills_a_geo_link_fairly_without_drops_and_without_a_queue() {
    let recording = run(&dumbbell("xcp", &[1, 1, 1, 1, 1], 250, XCP));
    let link = &recording.links[0];
    assert!(link.utilisation > 0.95, "utilisation {}", link.utilisation);
    let fairness = jain_index(goodputs(&recording)).unwrap();
    assert!(fairness > 0.99, "Jain {fairness}");
    assert_eq!(recording.links.iter().map(|link| link.dropped_packets).sum::<u64>(), 0);
    let waiting = link.mean_queueing_delay_ms.unwrap();
    assert!(waiting < 5.0, "{waiting} ms");
    assert!(total(&recording, "treated_packets", 0) > 400_000);
}

/// Shares depend neither on the RTT nor on the number of hops.
#[test]
fn xcp_gives_flows_of_different_rtts_the_same_share_over_several_hops() {
    let recording = run(&dumbbell("xcp", &[1, 60, 150], 50, XCP));
    let fairness = jain_index(goodputs(&recording)).unwrap();
    assert!(fairness > 0.99, "Jain {fairness}: {:?}", goodputs(&recording));
    assert!(recording.links[0].utilisation > 0.95, "{}", recording.links[0].utilisation);
}

/// A router follows the rate of its link down and up, as under a fade.
#[test]
fn xcp_follows_the_rate_of_the_link() {
    let event =
        "event = [{ at = \"100s\", rate = \"5Mbit/s\" }, { at = \"200s\", rate = \"20Mbit/s\" }]";
    let recording = run(&dumbbell("xcp", &[1, 1], 100, &format!("{XCP}\n{event}")));
    let bits: f64 = goodputs(&recording).iter().sum::<f64>() * 8.0;
    // Payload of what the link carries: 200 s at 20 Mbit/s and 100 s at 5 Mbit/s.
    let share = bits / (1460.0 / 1500.0) / 4.5e9;
    assert!(share > 0.93, "{share}");
}

/// The sender is standard TCP where a router on its path does not answer.
#[test]
fn a_path_with_a_silent_router_is_one_of_standard_tcp() {
    let goodput = |controller: &str| {
        let text = dumbbell(controller, &[1, 40], 100, "");
        let text = text.replace("transport = {", "transport = { recovery = \"sack\",");
        let recording = run(&text);
        recording.flows.iter().map(|flow| (flow.bytes, flow.throughput_bps)).collect::<Vec<_>>()
    };
    let standard = goodput("newreno");
    assert_eq!(goodput("xcp"), standard);
    assert_eq!(goodput("p-xcp"), standard);
    assert_eq!(goodput("ebn"), standard);
}

/// Megabytes delivered over a GEO link in 300 s at this PER.
fn lossy_mb(controller: &str, per: &str, recovery: &str) -> f64 {
    let lossy = format!("{XCP}\nforward = {{ channel = {{ per = {per} }} }}");
    let text = dumbbell(controller, &[1], 250, &lossy);
    let text = text.replace("transport = {", &format!("transport = {{ recovery = {recovery:?},"));
    run(&text).flows[0].bytes as f64 / 1e6
}

/// The claim of the abstract of P-XCP: nearly twice the throughput of XCP. It needs a recovery that
/// finds lost retransmissions: otherwise timeouts take the window of both.
#[test]
fn p_xcp_keeps_its_rate_at_losses() {
    for (per, times) in [("0.005", 1.7), ("0.02", 1.6), ("0.1", 1.4)] {
        let [xcp, p_xcp] = ["xcp", "p-xcp"].map(|name| lossy_mb(name, per, "linux"));
        assert!(p_xcp > times * xcp, "PER {per}: {p_xcp} MB against {xcp} MB");
        // 20 Mbit/s for 300 s, less headers and losses.
        let possible = 750.0 * (1460.0 / 1500.0) * (1.0 - per.parse::<f64>().unwrap());
        assert!(p_xcp > 0.95 * possible, "PER {per}: {p_xcp} MB of {possible} MB");
    }
}

const EBN: &str = "feedback = \"ebn\"\nqueue = { packets = 1000 }";

/// Equal shares of 95 % of a GEO link for flows that start one after the other, without drops and,
/// but for their starts, without a queue.
#[test]
fn ebn_shares_a_geo_link_equally_without_drops_and_without_a_queue() {
    let recording = run(&dumbbell("ebn", &[1, 1, 1, 1, 1], 250, EBN));
    let link = &recording.links[0];
    assert!((0.9..0.98).contains(&link.utilisation), "utilisation {}", link.utilisation);
    let fairness = jain_index(goodputs(&recording)).unwrap();
    assert!(fairness > 0.99, "Jain {fairness}: {:?}", goodputs(&recording));
    assert_eq!(recording.links.iter().map(|link| link.dropped_packets).sum::<u64>(), 0);
    // A queue forms only while flows start: until the new share has come, all have the old one.
    let waiting = link.p95_queueing_delay_ms.unwrap();
    assert!(waiting < 5.0, "{waiting} ms");
}

/// The rate falls to a quarter and rises again, and the window with it within two round trips.
#[test]
fn ebn_follows_the_rate_of_the_link() {
    let event =
        "event = [{ at = \"100s\", rate = \"5Mbit/s\" }, { at = \"200s\", rate = \"20Mbit/s\" }]";
    let share = |controller: &str, keys: &str| {
        let recording = run(&dumbbell(controller, &[1, 1], 100, &format!("{keys}\n{event}")));
        let bits: f64 = goodputs(&recording).iter().sum::<f64>() * 8.0;
        bits / (1460.0 / 1500.0) / 4.5e9
    };
    let found = share("ebn", EBN);
    assert!((0.9..0.98).contains(&found), "{found}");
}

/// A flow that its receiver's window limits leaves the rest to the other one.
#[test]
fn ebn_gives_what_a_limited_flow_leaves_to_the_other() {
    let text = dumbbell("ebn", &[1, 1], 100, EBN);
    let text = text.replacen("receive_buffer = \"16MB\"", "receive_buffer = \"100kB\"", 1);
    let recording = run(&text);
    let [limited, other] = goodputs(&recording)[..] else { panic!("two flows") };
    // 100 kB in 202 ms are 4 Mbit/s: 150 MB in 300 s. Of 19 Mbit/s 15 are left.
    assert!((0.8..1.0).contains(&(limited / 150e6)), "{limited}");
    assert!((0.93..1.02).contains(&((limited + other) / 693e6)), "{limited} + {other}");
}

/// Losses do not reduce the window, and each is repaired.
#[test]
fn ebn_keeps_its_rate_at_losses() {
    for per in ["0.005", "0.02"] {
        let keys = format!("{EBN}\nforward = {{ channel = {{ per = {per} }} }}");
        let text = dumbbell("ebn", &[1], 250, &keys);
        let text = text.replace("transport = {", "transport = { recovery = \"linux\",");
        let bytes = run(&text).flows[0].bytes as f64;
        let possible = 0.95 * 750e6 * (1460.0 / 1500.0) * (1.0 - per.parse::<f64>().unwrap());
        assert!(bytes > 0.93 * possible, "PER {per}: {bytes} of {possible}");
    }
}

/// Both engines, with everything that a queue with feedback can have.
#[test]
fn both_engines_give_the_same_recording_with_feedback() {
    let directions = [
        "",
        "channel = { per = 0.01 }",
        "channel = { per = 0.01 }\narq = \"selective-repeat\"",
        "channel = { per = 0.01 }\nfec = \"reed-solomon\"",
        "aqm = \"codel\"",
        "jitter = \"3ms\"\nevent = [{ at = \"7s\", every = \"5s\", rate = \"9Mbit/s\", outage = \"80ms\" }]",
    ];
    for direction in directions {
        for (feedback, controller) in [("xcp", "p-xcp"), ("p-xcp", "p-xcp"), ("ebn", "ebn")] {
            let keys = format!("feedback = \"{feedback}\"\n{direction}");
            let text = dumbbell(controller, &[1, 30], 40, &keys).replace("300s", "30s")
                + "[record]\ninterval = \"100ms\"\n";
            let scenario = parse(&text);
            let mut fast = simulator::run(&scenario, 1, Options::default());
            let slow = simulator::run_on_reference(&scenario, 1, Options::default());
            // The slow engine has more events.
            fast.events = slow.events;
            assert_eq!(fast.digest(), slow.digest(), "{keys}");
            assert!(total(&fast, "treated_packets", 0) > 1000, "{keys}");
        }
    }
}

/// A transfer of every controller ends over a link with each protocol of routers.
#[test]
fn a_transfer_of_every_controller_ends_over_routers_with_feedback() {
    for entry in congestion::entries() {
        for feedback in link::Feedback::all() {
            let keys = format!("feedback = {:?}\nchannel = {{ per = 0.005 }}", feedback.name());
            let text = dumbbell(entry.name, &[5], 50, &keys);
            let text = text.replace("bulk = \"unlimited\"", "bulk = \"1MB\"");
            let recording = run(&text);
            assert!(recording.flows[0].completed, "{} with {keys}", entry.name);
            let (treated, other) =
                (total(&recording, "treated_packets", 0), total(&recording, "other_packets", 0));
            let controller = entry.name;
            let asks = ["ebn", "xcp", "p-xcp"].contains(&controller);
            let speaks = asks && feedback.name().ends_with(routers(controller));
            // On the way to the bottleneck is a link that speaks the controller's protocol.
            assert_eq!(treated > 0, speaks, "{controller}");
            assert!(other > 0, "{controller}: the SYN has no field");
        }
    }
}

fn warnings(text: &str) -> Vec<(WarningKind, String)> {
    let loaded = Loaded::parse(text, "xcp.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let of_feedback = [
        WarningKind::FeedbackIncomplete,
        WarningKind::FeedbackShared,
        WarningKind::FeedbackWithoutEffect,
    ];
    let warnings = explain(&loaded.scenario, &loaded.written).warnings;
    let found = warnings.into_iter().filter(|warning| of_feedback.contains(&warning.kind));
    found.map(|warning| (warning.kind, warning.to_string())).collect()
}

#[test]
fn a_path_that_does_not_fit_is_a_warning_with_its_place() {
    assert_eq!(warnings(&dumbbell("xcp", &[1], 10, XCP)), []);
    let silent = warnings(&dumbbell("xcp", &[1], 10, ""));
    let [(kind, message)] = &silent[..] else { panic!("{silent:?}") };
    assert_eq!(*kind, WarningKind::FeedbackIncomplete);
    assert!(
        message.starts_with("xcp.toml:4:11: ")
            && message.contains("link left-right has no feedback"),
        "{message}"
    );
    let kinds = |text: &str| warnings(text).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
    let other = dumbbell("cubic", &[1], 10, XCP);
    assert_eq!(kinds(&other), [WarningKind::FeedbackWithoutEffect; 2]);
    let line = 1 + other.lines().position(|line| line.starts_with("feedback")).unwrap();
    let (_, idle) = &warnings(&other)[0];
    assert!(idle.starts_with(&format!("xcp.toml:{line}:")), "{idle}");
    assert!(
        idle.ends_with("xcp has no effect: the controller of no flow on this link asks for it")
    );
    let shared =
        dumbbell("xcp", &[1, 1], 10, XCP).replacen("\"xcp\"\nstart", "\"cubic\"\nstart", 1);
    let found = kinds(&shared);
    assert!(found.contains(&WarningKind::FeedbackShared), "{found:?}");
}

#[test]
fn the_explanation_has_who_is_answered_and_how_much_is_given() {
    let loaded = Loaded::parse(&dumbbell("xcp", &[1, 1], 10, XCP), "xcp.toml", &[]).unwrap();
    let explanation = explain(&loaded.scenario, &loaded.written);
    let rows = explanation.links[0].effects_of("feedback");
    let value = |name: &str| rows.iter().find(|row| row.name == name).unwrap().value.as_f64();
    assert_eq!((value("treats"), value("gives")), (Some(2.0), Some(8e6)));
    let printed = explanation.to_string();
    assert!(printed.contains("Feedback left -> right"), "{printed}");
    assert!(printed.contains("packets of flow-0, flow-1"), "{printed}");
}
