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

/// Goodput in Mbit/s, and the mean of the packets that wait behind the first minute.
fn goodput_and_queue(per: f64, controller: &str, scps: &str) -> (f64, f64) {
    let text = geo([per, 0.0], controller, scps, r#"bulk = "unlimited""#);
    let recording = run(&format!("{text}[record]\ninterval = \"100ms\"\n"));
    let series = &recording.link_series;
    let rows = (0..series.t_s.len()).filter(|&i| series.link[i] == 0 && series.t_s[i] > 60.0);
    let waiting: Vec<f64> = rows.map(|i| f64::from(series.queue_packets[i])).collect();
    let mean = waiting.iter().sum::<f64>() / waiting.len() as f64;
    (recording.flows[0].goodput_bps / 1e6, mean)
}

/// The bounds of the reference implementation: three to five segments wait, and the one that is
/// being sent is one of them.
#[test]
fn its_own_vegas_fills_the_link_with_a_few_segments_in_the_queue() {
    let (goodput, waiting) = goodput_and_queue(0.0, "scps-vegas", r#"ack_floor = "0s""#);
    assert!(goodput > 1.88, "{goodput}");
    assert!((2.0..=5.0).contains(&waiting), "{waiting}");
}

/// Bursts that follow ACKs, which come every 50 ms, wait at the link, and so look like a queue. The
/// bucket of a route lets them pass, because it holds the tokens of 50 ms.
#[test]
fn its_own_vegas_takes_the_bursts_of_the_ack_floor_for_a_queue() {
    for scps in ["", r#"rate = "2Mbit/s""#] {
        let (goodput, waiting) = goodput_and_queue(0.0, "scps-vegas", scps);
        assert!((1.3..1.45).contains(&goodput), "{scps}: {goodput}");
        assert!((1.5..3.0).contains(&waiting), "{scps}: {waiting}");
    }
}

/// A loss by congestion halves the window, and one by corruption does not.
#[test]
fn its_own_vegas_answers_losses_by_their_cause() {
    for (per, least) in [(1e-3, 1.5), (1e-2, 3.0)] {
        let goodput = |cause| {
            let scps = format!("cause = \"{cause}\", ack_floor = \"0s\"");
            goodput_and_queue(per, "scps-vegas", &scps).0
        };
        let [by_congestion, by_corruption] = ["congestion", "corruption"].map(goodput);
        let gain = by_corruption / by_congestion;
        assert!(gain > least, "{per}: {by_corruption} and {by_congestion}");
    }
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

/// Controllers that pace at a rate and keep it in a recovery.
const KEEP_THEIR_RATE: [&str; 5] = ["allegro", "bbr3", "leocc", "leocc-live", "vivace"];

/// A start that overflows the queue costs no controller many times what it costs over TCP. What
/// some of them send ahead of its turn to probe the path (`cherry`) must not look like a loss.
#[test]
fn every_controller_recovers_from_an_overflow_as_over_tcp() {
    let time_of = |text: &str, controller: &str| {
        let flow = run(text).flows[0].clone();
        flow.completion_s.unwrap_or_else(|| panic!("{controller} has not ended: {}", flow.bytes))
    };
    let settings = r#"snack = "vector""#;
    let spoken = format!("protocol = \"scps-tp\", scps = {{ {settings} }}");
    for entry in congestion::entries() {
        let over_scps = geo([0.0; 2], entry.name, settings, r#"download = "4MB""#)
            .replace("packets = 100", "packets = 43");
        let over_tcp = over_scps.replace(&spoken, r#"recovery = "sack""#);
        assert_ne!(over_tcp, over_scps);
        let [over_tcp, vector, simple] =
            [over_tcp, over_scps.clone(), over_scps.replace("vector", "simple")]
                .map(|text| time_of(&text, entry.name));
        assert!(vector < 5.0 * over_tcp, "{}: {vector} and {over_tcp}", entry.name);
        // One hole for each ACK: a queue that has dropped every second packet of a large window
        // takes long.
        let most = if KEEP_THEIR_RATE.contains(&entry.name) { 10.0 } else { 5.0 };
        assert!(simple < most * over_tcp, "{}: {simple} and {over_tcp}", entry.name);
    }
}

/// The numbers of docs/transport.md. What an ACK every 50 ms lets a window grow by depends on how
/// its bytes count.
#[test]
fn slow_start_follows_the_acks_that_the_floor_leaves() {
    let seconds = |settings: &str| {
        let text = geo([0.0; 2], "newreno", "", r#"download = "5MB""#)
            .replace("rate = \"2Mbit/s\"", "rate = \"20Mbit/s\"")
            .replace("packets = 100", "packets = 1000")
            .replace(r#"protocol = "scps-tp", scps = {  }"#, settings);
        run(&text).flows[0].completion_s.unwrap()
    };
    let found = [
        r#"protocol = "scps-tp""#,
        r#"protocol = "scps-tp", abc_limit = 255"#,
        r#"recovery = "sack""#,
    ]
    .map(|settings| (seconds(settings) * 10.0).round() / 10.0);
    assert_eq!(found, [16.2, 6.0, 7.5]);
}

#[test]
fn both_engines_give_the_same_recording() {
    let several = of_one_route("1500kbit/s", ["none", "bbr"], 3);
    for text in [geo([0.02; 2], "none", DEDICATED, r#"download = "1MB""#), several] {
        let scenario = parse(&text);
        let mut fast = simulator::run(&scenario, 1, Options::default());
        let slow = simulator::run_on_reference(&scenario, 1, Options::default());
        fast.events = slow.events;
        assert_eq!(fast.digest(), slow.digest());
    }
}

/// Flows of a host, with this rate of their route.
fn of_one_route(rate: &str, controllers: [&str; 2], count: u32) -> String {
    let scps = format!("cause = \"corruption\", rate = {rate:?}");
    let [first, second] = controllers
        .map(|controller| geo([0.0; 2], controller, &scps, r#"bulk = "unlimited""#))
        .map(|text| text.replace("[[flow]]", &format!("[[flow]]\ncount = {count}")));
    format!("{first}[[flow]]{}", second.split_once("[[flow]]").unwrap().1)
}

/// The bucket belongs to the route, and turns are packet by packet, whatever the controllers are.
#[test]
fn connections_of_a_route_share_its_rate() {
    for controllers in [["none", "none"], ["none", "reno"], ["bbr", "cubic"]] {
        let recording = run(&of_one_route("1Mbit/s", controllers, 2));
        let each: Vec<_> = recording.flows.iter().map(|flow| flow.goodput_bps).collect();
        let share = each.iter().sum::<f64>() / (1e6 * 1448.0 / 1500.0);
        assert!((0.97..=1.0).contains(&share), "{controllers:?}: {share}");
        if controllers == ["none", "none"] {
            assert!(each.iter().all(|one| (one / each[0] - 1.0).abs() < 0.01), "{each:?}");
        }
    }
}

/// ACKs that leave on the route take tokens too: here those of an upload, each of 52 bytes. The
/// data always waits for its turn. An ACK waits only once it is due, 5 ms after the last one, and
/// so behind the next data packet: there is one for two data packets, and fewer than the 158 in a
/// second that the upload has packets.
#[test]
fn acks_take_tokens_of_the_route() {
    let goodput = |upload: &str| {
        let text = geo(
            [0.0; 2],
            "none",
            r#"cause = "corruption", rate = "400kbit/s""#,
            r#"bulk = "unlimited""#,
        );
        run(&format!("{text}{upload}")).flows[0].goodput_bps
    };
    let upload = r#"
[[flow]]
from = "client"
to = "server"
controller = "none"
transport = { protocol = "scps-tp", delayed_ack = "off", scps = { cause = "corruption", rate = "1900kbit/s", ack_floor = "5ms" } }
traffic = { bulk = "unlimited" }
"#;
    let (alone, shared) = (goodput(""), goodput(upload));
    let expected = 2.0 * 1500.0 / (2.0 * 1500.0 + 52.0);
    assert!((shared / alone / expected - 1.0).abs() < 0.002, "{} for {expected}", shared / alone);
}

/// While the link is out, only probes are sent. Without that rule the timer expires again and
/// again.
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

/// An outage of 30 s of the link, or of the one behind a gateway. With signals no timer expires,
/// nothing is sent into the outage, and data goes on at once.
#[test]
fn a_signalled_outage_costs_no_timeout_and_no_packet() {
    let flow = |controller: &str, scps: &str| {
        let text = geo([0.0; 2], controller, scps, r#"download = "4MB""#);
        let text = text.replace("transport = {", "transport = { max_retries = 200,");
        let text = text.replace("\"300s\"", "\"900s\"");
        let event = "\n[[link.event]]\nat = \"8s\"\noutage = \"30s\"\n[[flow]]";
        let recording = run(&text.replace("\n[[flow]]", event));
        (recording.flows[0].clone(), recording.links[0].dropped_packets)
    };
    for entry in congestion::entries() {
        for cause in ["congestion", "corruption"] {
            let scps = format!("cause = \"{cause}\", rate = \"1900kbit/s\"");
            let (plain, dropped_before) = flow(entry.name, &scps);
            let (signalled, dropped) = flow(entry.name, &format!("{scps}, outage_signals = true"));
            let name = entry.name;
            let timeouts = |flow: &FlowRecord| flow.protocol.tcp().unwrap().timeouts;
            assert!(plain.completed && signalled.completed, "{name}, {cause}");
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

/// On a route where losses count as congestion, errors cost the window unless gateways signal them.
/// A queue that overflows costs it all the same, because nobody signals that.
#[test]
fn signalled_errors_leave_the_window_and_a_full_queue_reduces_it() {
    let flow = |controller: &str, per: f64, scps: &str| {
        let text = geo([per, 0.0], controller, scps, r#"bulk = "unlimited""#);
        run(&text).flows[0].clone()
    };
    let reductions = |flow: &FlowRecord| flow.protocol.tcp().unwrap().fast_recoveries;
    for entry in congestion::entries().filter(|entry| entry.name != "none") {
        let name = entry.name;
        let [plain, signalled] =
            ["", "corruption_signals = true"].map(|scps| flow(name, 3e-3, scps));
        if ["reno", "newreno", "cubic"].contains(&name) {
            let gain = signalled.goodput_bps / plain.goodput_bps;
            assert!(gain > 1.3, "{name}: {gain}");
        }
        let [plain, signalled] =
            ["", "corruption_signals = true"].map(|scps| flow(name, 0.0, scps));
        assert_eq!(reductions(&signalled), reductions(&plain), "{name}");
    }
}

/// The signal of one error counts for a second and a round trip: losses by congestion after that
/// reduce the window.
#[test]
fn both_engines_signal_errors_at_the_same_times() {
    let scps = r#"corruption_signals = true, outage_signals = true"#;
    let links = r#"
duration = "120s"
[[link]]
between = ["server", "gateway"]
rate = "3Mbit/s"
delay = "20ms"
channel = { per = 2e-3 }
[[link]]
between = ["gateway", "client"]
rate = "2Mbit/s"
delay = "250ms"
queue = { packets = 40 }
channel = { mean_burst = 4, mean_loss = 0.01 }
event = [{ at = "30s", outage = "5s" }]
"#;
    for (ends, controller) in [(["server", "client"], "reno"), (["client", "server"], "bbr")] {
        let [from, to] = ends;
        let text = format!(
            "{links}[[flow]]\ncount = 3\nfrom = {from:?}\nto = {to:?}\ncontroller = {controller:?}\n\
             transport = {{ protocol = \"scps-tp\", scps = {{ {scps} }} }}\ntraffic = {{ bulk = \"unlimited\" }}\n"
        );
        let scenario = parse(&text);
        let mut fast = simulator::run(&scenario, 1, Options::default());
        let slow = simulator::run_on_reference(&scenario, 1, Options::default());
        fast.events = slow.events;
        assert_eq!(fast.digest(), slow.digest(), "{controller}");
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
        lengths.extend(observed.segment().and_then(tcp::Segment::snack).map(|snack| snack.bytes()));
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
    let sack = geo([0.0; 2], "reno", "", traffic);
    let (path, _, _) = refused(sack.replace("scps = {  }", "recovery = \"sack\""));
    assert_eq!(path, "flow[0].transport.recovery");
    let (path, _, _) = refused(geo([0.0; 2], "reno", "outage_timeouts = 20", traffic));
    assert_eq!(path, "flow[0].transport.scps.outage_timeouts");
}
