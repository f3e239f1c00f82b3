//! SCPS-TP: errors at the rate of a link, every controller, outages, and what is refused.

use recording::{FlowRecord, Recording, Values};
use scenario::Scenario;
use simulator::Options;

use super::{parse, run};

/// A flow over a GEO link of 2 Mbit/s with this PER in both directions.
pub(super) fn geo(per: [f64; 2], controller: &str, scps: &str, traffic: &str) -> String {
    let [there, back] = per;
    format!(
        r#"
duration = "300s"
[[link]]
between = ["server", "client"]
rate = "2Mbit/s"
delay = "250ms"
queue = {{ packets = 100 }}
forward = {{ channel = {{ per = {there} }} }}
backward = {{ channel = {{ per = {back} }} }}
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
transport = {{ protocol = "scps-tp", scps = {{ {scps} }} }}
traffic = {{ {traffic} }}
"#
    )
}

const DEDICATED: &str = r#"cause = "corruption", rate = "2Mbit/s""#;

/// Goodput divided by what the link delivers without error, and ACKs per second.
fn share_and_acks(recording: &Recording, per: f64) -> (f64, f64) {
    let payload = 1448.0 / 1500.0;
    let share = recording.flows[0].goodput_bps / (2e6 * payload * (1.0 - per));
    (share, recording.links[1].delivered_packets as f64 / 300.0)
}

/// The manual's recipe for a dedicated link: no congestion control, the rate of the link.
#[test]
fn at_the_rate_of_the_link_errors_cost_only_what_they_destroy() {
    for form in ["simple", "vector"] {
        let scps = format!("{DEDICATED}, snack = \"{form}\"");
        let recording = run(&geo([0.01, 0.0], "none", &scps, r#"bulk = "unlimited""#));
        let (share, acks) = share_and_acks(&recording, 0.01);
        assert!((0.98..=1.0).contains(&share), "{form}: {share}");
        assert!((19.0..=20.5).contains(&acks), "{form}: {acks} ACKs per second");
        assert_eq!(recording.flows[0].protocol.name(), "scps-tp");
    }
}

#[test]
fn losses_taken_for_congestion_cost_the_window() {
    let goodput = |cause| {
        let scps = format!("cause = \"{cause}\"");
        run(&geo([0.01, 0.0], "reno", &scps, r#"bulk = "unlimited""#)).flows[0].goodput_bps
    };
    let (corruption, congestion) = (goodput("corruption"), goodput("congestion"));
    assert!(corruption > 4.0 * congestion, "{corruption} against {congestion}");
}

/// With losses of data and of ACKs, whatever their cause is taken for.
#[test]
fn every_controller_delivers_everything() {
    let controllers = congestion::entries().map(|entry| entry.name);
    for controller in controllers {
        for cause in ["congestion", "corruption"] {
            for form in ["simple", "vector"] {
                let scps = format!("cause = \"{cause}\", snack = \"{form}\"");
                let text = geo([0.01; 2], controller, &scps, r#"download = "500kB""#);
                let flow = run(&text).flows[0].clone();
                assert!(flow.completed, "{controller}, {scps}");
                assert_eq!(flow.bytes, 500_000, "{controller}, {scps}");
            }
        }
    }
}

#[test]
fn both_engines_give_the_same_recording() {
    let scenario = parse(&geo([0.02; 2], "none", DEDICATED, r#"download = "1MB""#));
    let mut fast = simulator::run(&scenario, 1, Options::default());
    let slow = simulator::run_on_reference(&scenario, 1, Options::default());
    fast.events = slow.events;
    assert_eq!(fast.digest(), slow.digest());
}

/// While the link is out, only probes are sent. Without that rule the timer expires again and again.
#[test]
fn a_link_that_is_out_is_probed_and_used_again() {
    let flow = |outage: &str| {
        let scps = format!("{DEDICATED}{outage}");
        let text = geo([0.0; 2], "none", &scps, r#"download = "2MB""#);
        let text = text.replace("transport = {", "transport = { max_retries = 200,");
        let event = "\n[[link.event]]\nat = \"5s\"\noutage = \"30s\"\n[[flow]]";
        run(&text.replace("\n[[flow]]", event)).flows[0].clone()
    };
    let (probed, plain) = (flow(", outage_timeouts = 2"), flow(""));
    assert!(probed.completed && plain.completed);
    let timeouts = |flow: &FlowRecord| flow.protocol.tcp().unwrap().timeouts;
    assert_eq!(timeouts(&probed), 2);
    assert!(timeouts(&plain) > 10, "{}", timeouts(&plain));
}

/// An outage of 30 s of the link, or of the one behind a gateway. With signals no timer expires, nothing is sent into the
/// outage, and data goes on at once.
#[test]
fn a_signalled_outage_costs_no_timeout_and_no_packet() {
    let flow = |controller: &str, scps: &str| {
        let text = geo([0.0; 2], controller, scps, r#"download = "4MB""#);
        let text = text.replace("transport = {", "transport = { max_retries = 200,");
        let event = "\n[[link.event]]\nat = \"8s\"\noutage = \"30s\"\n[[flow]]";
        let recording = run(&text.replace("\n[[flow]]", event));
        (recording.flows[0].clone(), recording.links[0].dropped_packets)
    };
    for entry in congestion::entries() {
        for cause in ["congestion", "corruption"] {
            let scps = format!("cause = \"{cause}\", rate = \"1900kbit/s\"");
            if Scenario::parse(&geo([0.0; 2], entry.name, &scps, r#"bulk = "1B""#), "a", &[])
                .is_err()
            {
                // It has a pacing rate of its own.
                continue;
            }
            let (plain, dropped_before) = flow(entry.name, &scps);
            let (signalled, dropped) = flow(entry.name, &format!("{scps}, outage_signals = true"));
            let name = entry.name;
            let timeouts = |flow: &FlowRecord| flow.protocol.tcp().unwrap().timeouts;
            // The window of Cherry is two segments for minutes after it has overshot before the outage.
            let is_slow = name == "cherry" && cause == "congestion";
            assert_eq!(plain.completed, !is_slow, "{name}, {cause}");
            assert_eq!(signalled.completed, plain.completed, "{name}, {cause}");
            assert_eq!(timeouts(&signalled), 0, "{name}, {cause}");
            assert!(dropped <= dropped_before, "{name}, {cause}: {dropped} and {dropped_before}");
            // Controllers that look at delays may pay for the queue that goes on at once.
            if ["reno", "newreno", "cubic", "hybla"].contains(&name) {
                assert!(timeouts(&plain) > 0, "{name}, {cause}");
                let [with, without] = [&signalled, &plain].map(|flow| flow.completion_s.unwrap());
                assert!(with <= without + 0.5, "{name}, {cause}: {with} and {without} s");
            }
        }
    }
}

/// A count of each leg.
fn numbers_of_legs(recording: &Recording, column: &str) -> Vec<u64> {
    let table = recording.tables.iter().find(|one| one.name() == "legs").unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::U64(numbers) => numbers.to_vec(),
        _ => panic!("{column} has no counts"),
    }
}

/// The node that sends on the link is another one, and the end is that of a gateway.
#[test]
fn signals_come_from_a_link_further_on_and_reach_ends_of_gateways() {
    let link = |ends: &str, more: &str| {
        format!("[[link]]\nbetween = {ends}\nrate = \"2Mbit/s\"\ndelay = \"60ms\"\n{more}\n")
    };
    let outage = "event = [{ at = \"8s\", outage = \"20s\" }]";
    let links = [
        link(r#"["server", "near"]"#, ""),
        link(r#"["near", "far"]"#, outage),
        link(r#"["far", "client"]"#, ""),
    ];
    let proxy = |name: &str, host: &str, other: &str, scps: &str| {
        let sides = format!(
            "terrestrial = {{ towards = [{host:?}] }}, satellite = {{ towards = [{other:?}], {scps} }}"
        );
        format!("[[node]]\nname = {name:?}\nproxy = {{ {sides} }}\n")
    };
    let flow = |transport: &str| {
        format!(
            "[[flow]]\nfrom = \"server\"\nto = \"client\"\ncontroller = \"reno\"\n\
             transport = {{ {transport} }}\ntraffic = {{ bulk = \"4MB\" }}\n"
        )
    };
    for is_split in [false, true] {
        let [with, without] = ["outage_signals = true", ""].map(|signals| {
            let scps = format!("protocol = \"scps-tp\", scps = {{ {signals} }}");
            let (node, flow) = match is_split {
                true => {
                    let near = proxy("near", "server", "far", &scps);
                    (near + &proxy("far", "client", "near", &scps), flow(""))
                }
                false => (String::new(), flow(&scps)),
            };
            let text = format!("duration = \"300s\"\n{node}{}{flow}", links.concat());
            let scenario = parse(&text);
            let mut fast = simulator::run(&scenario, 1, Options::default());
            let slow = simulator::run_on_reference(&scenario, 1, Options::default());
            fast.events = slow.events;
            assert_eq!(fast.digest(), slow.digest(), "{is_split}");
            assert!(fast.flows[0].completed && fast.flows[0].bytes == 4_000_000);
            match is_split {
                true => numbers_of_legs(&fast, "timeouts")[1],
                false => fast.flows[0].protocol.tcp().unwrap().timeouts,
            }
        });
        assert!(with == 0 && without > 0, "{is_split}: {with} and {without} timeouts");
    }
}

/// A capture has the options of SCPS-TP, as long as the simulator counts them.
#[test]
fn a_capture_has_the_snack_option() {
    let scenario = parse(&geo([0.02, 0.0], "none", DEDICATED, r#"download = "200kB""#));
    let mut bytes = Vec::new();
    let mut capture = simulator::Capture::new(&mut bytes, &scenario).unwrap();
    let mut lengths = Vec::new();
    let mut observer = |observed: &simulator::Observed<'_>| {
        capture.observe(observed);
        lengths.extend(observed.segment.snack().map(|snack| snack.bytes()));
    };
    simulator::run(&scenario, 1, Options { observer: Some(&mut observer), ..Options::default() });
    capture.finish().unwrap();
    assert!(lengths.contains(&8) && lengths.iter().any(|length| *length > 8), "{lengths:?}");
    let has = |kind_and_length: [u8; 2]| bytes.windows(2).any(|pair| pair == kind_and_length);
    assert!(has([20, 4]) && has([21, 6]));
}

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    let refused = |text: String| {
        let errors = Scenario::parse(&text, "scps.toml", &[]).unwrap_err();
        assert_eq!(errors.0.len(), 1, "{errors}");
        let error = &errors.0[0];
        (error.path.clone(), error.place.line, error.reason.clone().unwrap_or_default())
    };
    let traffic = r#"download = "1MB""#;
    let tcp = geo([0.0; 2], "reno", "", traffic).replace("scps-tp", "tcp");
    let (path, line, reason) = refused(tcp.clone());
    assert_eq!((path.as_str(), line), ("flow[0].transport.scps", Some(14)));
    assert!(reason.contains("scps-tp"), "{reason}");
    let (path, _, _) = refused(tcp.replace(", scps = {  }", "").replace("\"reno\"", "\"none\""));
    assert_eq!(path, "flow[0].controller");
    let (path, _, reason) = refused(geo([0.0; 2], "none", "", traffic));
    assert_eq!(path, "flow[0].controller");
    assert!(reason.contains("scps.rate"), "{reason}");
    let (path, _, _) = refused(geo([0.0; 2], "bbr", DEDICATED, traffic));
    assert_eq!(path, "flow[0].transport.scps.rate");
    let sack = geo([0.0; 2], "reno", "", traffic);
    let (path, _, _) = refused(sack.replace("scps = {  }", "recovery = \"sack\""));
    assert_eq!(path, "flow[0].transport.recovery");
    let (path, _, _) = refused(geo([0.0; 2], "reno", "outage_timeouts = 20", traffic));
    assert_eq!(path, "flow[0].transport.scps.outage_timeouts");
}
