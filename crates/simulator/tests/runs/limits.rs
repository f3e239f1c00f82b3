//! Shares of a flow's time by what held its senders back.

use recording::{FlowRecord, Recording, Values};
use simulator::Options;

use crate::proxy::{flow, satellite};
use crate::values::forms;
use crate::{geo, parse, run};

/// The names of the shares, in the order of [`shares`].
const NAMES: [&str; 7] = [
    "set_up",
    "congestion_window",
    "receive_window",
    "send_buffer",
    "application",
    "recovery",
    "pacing",
];

fn shares(flow: &FlowRecord) -> Option<[f64; 7]> {
    Some([
        flow.limited_by_set_up?,
        flow.limited_by_congestion_window?,
        flow.limited_by_receive_window?,
        flow.limited_by_send_buffer?,
        flow.limited_by_application?,
        flow.limited_by_recovery?,
        flow.limited_by_pacing?,
    ])
}

/// The share of this name, of shares that are those of a whole.
fn share(flow: &FlowRecord, name: &str) -> f64 {
    let all = shares(flow).unwrap_or_else(|| panic!("{name} is not measured"));
    check(&all, name);
    all[NAMES.iter().position(|one| *one == name).unwrap()]
}

fn check(all: &[f64; 7], about: &str) {
    let sum: f64 = all.iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "{about}: the sum of {all:?} is {sum}");
    assert!(all.iter().all(|share| (0.0..=1.0).contains(share)), "{about}: {all:?}");
}

const FAST: &str = "rate = \"20Mbit/s\"\nqueue = { packets = 5000 }";

/// A setting of transport, link and application, and the share that it must have at least.
const CASES: [(&str, &str, &str, &str, f64); 6] = [
    // Half a second of set-up and of slow start.
    (
        "rate = \"2Mbit/s\"\nqueue = { packets = 5000 }",
        "receive_buffer = \"64MiB\"",
        "bulk = \"unlimited\"",
        "",
        0.0,
    ),
    (FAST, "receive_buffer = \"65535B\"", "bulk = \"unlimited\"", "receive_window", 0.9),
    (
        "rate = \"2Mbit/s\"",
        "receive_buffer = \"65535B\", reader_rate = \"300kbit/s\"",
        "bulk = \"unlimited\"",
        "receive_window",
        0.9,
    ),
    (FAST, "send_buffer = \"30kB\"", "bulk = \"unlimited\"", "send_buffer", 0.9),
    (FAST, "", "constant = { rate = \"40kbit/s\" }", "application", 0.9),
    ("rate = \"2Mbit/s\"\nchannel = { per = 0.01 }", "", "bulk = \"unlimited\"", "", 0.0),
];

/// Controllers that keep their window smaller than a constant limit of this size, because delays or
/// duplicates let them reduce it.
const TIMID: [&str; 5] = ["cdg", "cherry", "ledbat", "lp/linux", "scps-vegas"];

#[test]
fn the_shares_are_those_of_a_whole_and_the_limit_of_a_path_has_the_largest_with_every_controller() {
    for (name, setting) in congestion::entries().flat_map(forms) {
        for recovery in ["newreno", "sack", "linux"] {
            for (link, transport, traffic, limit, least) in CASES {
                let transport = format!("recovery = \"{recovery}\", {transport}");
                let text = geo(link, &transport, traffic)
                    .replace("3000s", "60s")
                    .replace("\"newreno\"\ntransport", &format!("{setting}\ntransport"));
                let recording = run(&text);
                let flow = &recording.flows[0];
                let about = format!("{name}, {recovery}, {traffic}, {transport}");
                let all = shares(flow).unwrap();
                check(&all, &about);
                assert!(flow.limited_s.unwrap() <= recording.simulated_s + 1e-9, "{about}");
                // A set-up has a round trip of half a second.
                let set_up = all[0] * flow.limited_s.unwrap();
                assert!((0.5..0.6).contains(&set_up), "{about}: {set_up} s of set-up");
                let place = NAMES.iter().position(|one| *one == limit);
                if let Some(place) = place.filter(|_| !TIMID.contains(&name.as_str())) {
                    // BBR empties the path at times, by pace and by window. TCP-ADaLR sends more
                    // than the receive window, and repairs what is dropped.
                    let least = if all[6] > 0.0 || name == "adalr" { 0.7 } else { least };
                    assert!(all[place] + all[6] > least, "{about}: {all:?}");
                    assert!(all.iter().all(|share| *share <= all[place]), "{about}: {all:?}");
                }
            }
        }
    }
}

#[test]
fn both_engines_measure_the_same() {
    for (link, transport, traffic, ..) in CASES {
        for controller in ["newreno", "bbr"] {
            let text = geo(link, transport, traffic)
                .replace("3000s", "30s")
                .replace("\"newreno\"", &format!("{controller:?}"));
            let scenario = parse(&text);
            let fast = simulator::run(&scenario, 1, Options::default());
            let slow = simulator::run_on_reference(&scenario, 1, Options::default());
            assert_eq!(shares(&fast.flows[0]), shares(&slow.flows[0]), "{text}");
        }
    }
}

/// A transfer of one segment: set-up, and the way to the receiver, where the run ends.
#[test]
fn a_transfer_of_one_segment_is_set_up_and_application() {
    let text = geo("rate = \"1Gbit/s\"", "delayed_ack = \"off\"", "bulk = \"1000B\"");
    let recording = run(&text);
    let flow = &recording.flows[0];
    assert!((flow.limited_s.unwrap() - 0.75).abs() < 1e-3, "{flow:?}");
    assert!((share(flow, "set_up") - 2.0 / 3.0).abs() < 1e-3, "{flow:?}");
    assert!((share(flow, "application") - 1.0 / 3.0).abs() < 1e-3, "{flow:?}");
}

/// An initial window of ten segments of 1000 bytes: one round trip in which cwnd holds the rest
/// back, one for ten more.
#[test]
fn a_window_that_is_full_limits_for_one_round_trip() {
    let transport =
        "mss = 1000, initial_window = 10, delayed_ack = \"off\", receive_buffer = \"1MB\"";
    let recording = run(&geo("rate = \"10Gbit/s\"", transport, "bulk = \"20kB\""));
    let flow = &recording.flows[0];
    assert!((flow.limited_s.unwrap() - 1.25).abs() < 1e-3, "{flow:?}");
    for (name, expected) in [("set_up", 0.4), ("congestion_window", 0.4), ("application", 0.2)] {
        assert!((share(flow, name) - expected).abs() < 1e-3, "{name}: {flow:?}");
    }
}

#[test]
fn pauses_of_the_application_count_and_the_time_after_the_last_byte_does_not() {
    let traffic = "on_off = { rate = \"50kbit/s\", on = \"1s\", off = \"9s\" }";
    let text = geo(FAST, "", traffic).replace("3000s", "100s");
    let flow = &run(&text).flows[0];
    assert!(share(flow, "application") > 0.9, "{flow:?}");
}

#[test]
fn the_time_after_the_last_byte_does_not_count_with_any_protocol() {
    // Another flow keeps the run going for longer.
    let other = "[[flow]]\nfrom = \"client\"\nto = \"server\"\ncontroller = \"newreno\"\ntraffic = { bulk = \"unlimited\" }\n";
    for (protocol, controller) in [
        ("tcp", "newreno"),
        ("scps-tp", "newreno"),
        ("quic", "newreno"),
        ("stp", "newreno"),
        ("sctp", "none"),
        ("xtp", "none"),
    ] {
        let text = geo(FAST, &format!("protocol = {protocol:?}"), "bulk = \"100kB\"")
            .replace("3000s", "100s")
            .replace("\"newreno\"", &format!("{controller:?}"));
        let alone = run(&text).flows[0].limited_s.unwrap();
        let recording = run(&(text + other));
        assert!(recording.simulated_s > 99.0);
        let flow = &recording.flows[0];
        assert!((flow.limited_s.unwrap() - alone).abs() < 0.26, "{protocol}: {alone} s, {flow:?}");
    }
}

#[test]
fn recovery_has_the_time_until_the_loss_is_repaired() {
    for recovery in ["reno", "newreno", "sack", "linux"] {
        let of = |per: f64| {
            let link = format!(
                "rate = \"2Mbit/s\"\nqueue = {{ packets = 5000 }}\nforward.channel = {{ per = {per} }}"
            );
            let transport = format!("recovery = \"{recovery}\"");
            share(&run(&geo(&link, &transport, "download = \"2MB\"")).flows[0], "recovery")
        };
        assert_eq!(of(0.0), 0.0, "{recovery}");
        let (few, many) = (of(0.002), of(0.02));
        assert!(few > 0.02 && many > few, "{recovery}: {few} and {many}");
    }
}

#[test]
fn an_outage_is_recovery() {
    for recovery in ["sack", "linux"] {
        let transport = format!("recovery = \"{recovery}\"");
        let text = geo(
            "rate = \"2Mbit/s\"\nevent = [{ at = \"5s\", outage = \"20s\" }]",
            &transport,
            "bulk = \"unlimited\"",
        )
        .replace("3000s", "40s");
        let flow = &run(&text).flows[0];
        assert!(share(flow, "recovery") > 0.4, "{recovery}: {flow:?}");
    }
}

#[test]
fn pacing_holds_bbr_back_and_not_what_leaves_at_once() {
    let text = |controller: &str| {
        geo(
            "rate = \"2Mbit/s\"\nqueue = { packets = 100000 }",
            "receive_buffer = \"64MiB\"",
            "bulk = \"unlimited\"",
        )
        .replace("3000s", "60s")
        .replace("\"newreno\"", &format!("{controller:?}"))
    };
    let bbr = &run(&text("bbr")).flows[0];
    assert!(share(bbr, "pacing") > 0.5, "{bbr:?}");
    let cubic = &run(&text("cubic")).flows[0];
    assert_eq!(share(cubic, "pacing"), 0.0);
    assert!(share(cubic, "congestion_window") > 0.8, "{cubic:?}");
}

#[test]
fn a_send_buffer_that_tunes_itself_limits_a_default_download_over_geo() {
    let of = |transport: &str| {
        let text = geo(
            "rate = \"100Mbit/s\"\nqueue = { packets = 100000 }",
            transport,
            "download = \"60MB\"",
        )
        .replace("\"newreno\"", "\"bbr\"");
        run(&text).flows[0].clone()
    };
    let transport = |wmem: &str| {
        format!("recovery = \"linux\", receive_buffer = {{}}, send_buffer = {{ {wmem} }}")
    };
    let default = of(&transport(""));
    assert!(share(&default, "send_buffer") > 0.4, "{default:?}");
    let large = of(&transport("max = \"64MiB\""));
    assert!(share(&large, "send_buffer") < 0.05, "{large:?}");
}

/// A closed window: the reader takes little, and the rest of the run is spent with probes.
#[test]
fn a_closed_window_is_the_receivers() {
    let transport = "receive_buffer = \"20kB\", reader_rate = \"1kbit/s\"";
    let text = geo(FAST, transport, "bulk = \"unlimited\"").replace("3000s", "100s");
    let flow = &run(&text).flows[0];
    assert!(share(flow, "receive_window") > 0.95, "{flow:?}");
}

#[test]
fn each_leg_of_a_split_flow_has_its_shares_and_the_flow_has_none() {
    let text = satellite("{}", 0.0, &flow("server", "terminal", "newreno", "bulk = \"20MB\""));
    let recording = run(&text);
    let flow = &recording.flows[0];
    assert_eq!((flow.limited_s, shares(flow)), (None, None));
    let (set_up, window) = (leg(&recording, "limited_by_set_up"), leg(&recording, "limited_s"));
    assert_eq!((set_up.len(), window.len()), (2, 2));
    for number in [0, 1] {
        let all: Vec<_> = NAMES
            .iter()
            .map(|name| leg(&recording, &format!("limited_by_{name}"))[number])
            .collect();
        check(&all.try_into().unwrap(), "leg");
    }
    // The proxy takes what the fast leg gives until its buffers are full.
    assert!(leg(&recording, "limited_by_receive_window")[0] > 0.8, "{:?}", recording.tables);
    assert!(leg(&recording, "limited_by_receive_window")[1] < 0.1, "{:?}", recording.tables);
}

/// The numbers of a column of the legs.
fn leg(recording: &Recording, column: &str) -> Vec<f64> {
    column_of(recording, "legs", column)
}

fn column_of(recording: &Recording, table: &str, column: &str) -> Vec<f64> {
    let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::F64(numbers) => numbers.to_vec(),
        _ => panic!("{column} is a number"),
    }
}

#[test]
fn the_series_of_the_limits_ends_with_the_totals() {
    let every = "record.interval = \"500ms\"\n";
    let seconds = |recording: &Recording, name: &str| {
        column_of(recording, "limits_series", &format!("{name}_s"))
    };
    for protocol in ["tcp", "quic", "stp"] {
        let transport = format!("protocol = {protocol:?}");
        let text = geo("rate = \"2Mbit/s\"", &transport, "bulk = \"1MB\"");
        let recording = run(&(every.to_owned() + &text));
        let (flow, total) = (&recording.flows[0], seconds(&recording, "limited"));
        // The first row is older than the connection.
        assert!(total.is_sorted() && total.len() + 1 == recording.flow_series.len(), "{total:?}");
        assert_eq!(total.last().copied(), flow.limited_s, "{protocol}");
        for (name, share) in NAMES.iter().zip(shares(flow).unwrap()) {
            let series = seconds(&recording, name);
            assert!(series.is_sorted(), "{protocol}, {name}: {series:?}");
            let last = series.last().unwrap() / flow.limited_s.unwrap();
            assert!((last - share).abs() < 1e-9, "{protocol}, {name}: {last} and {share}");
        }
    }
    let text = satellite("{}", 0.0, &flow("server", "terminal", "newreno", "bulk = \"2MB\""));
    let recording = run(&(every.to_owned() + &text));
    let (of, ends) = (leg(&recording, "limited_s"), seconds(&recording, "limited"));
    assert_eq!(of, ends[ends.len() - 2..]);
}

/// The scenario of `limits::the_kernel_gives_the_receive_window_...` of the testbed, with the
/// number that it expects of the kernel, whose time has no set-up.
#[test]
fn the_share_of_the_receive_window_is_that_of_the_kernel() {
    let text = geo("rate = \"10Mbit/s\"", "receive_buffer = \"20kB\"", "download = \"1MB\"")
        .replace("250ms", "50ms")
        .replace("\"newreno\"", "\"cubic\"");
    let flow = &run(&text).flows[0];
    let found = share(flow, "receive_window") / (1.0 - share(flow, "set_up"));
    assert!((found - 0.973).abs() < 0.002, "{found}: {flow:?}");
}

/// A protocol with its settings, link, application and the limit that has the largest share, of at
/// least this.
const PROTOCOLS: [(&str, &str, &str, &str, &str, f64); 9] = [
    ("stp", "receive_buffer = \"65535B\"", "", "bulk = \"unlimited\"", "receive_window", 0.5),
    ("stp", "", "", "constant = { rate = \"40kbit/s\" }", "application", 0.5),
    ("stp", "receive_buffer = \"64MiB\"", "", "bulk = \"400kB\"", "congestion_window", 0.5),
    ("xtp", "receive_buffer = \"65535B\"", "", "bulk = \"unlimited\"", "receive_window", 0.5),
    ("xtp", "", "", "constant = { rate = \"40kbit/s\" }", "application", 0.5),
    (
        "xtp",
        "receive_buffer = \"64MiB\", xtp = { rate = \"1Mbit/s\" }",
        "",
        "bulk = \"unlimited\"",
        "pacing",
        0.5,
    ),
    ("sctp", "receive_buffer = \"65535B\"", "", "bulk = \"unlimited\"", "receive_window", 0.5),
    ("sctp", "", "", "constant = { rate = \"40kbit/s\" }", "application", 0.5),
    ("sctp", "", "channel = { per = 0.02 }", "bulk = \"unlimited\"", "recovery", 0.1),
];

#[test]
fn other_protocols_have_the_limits_that_their_senders_know() {
    for (protocol, transport, link, traffic, limit, least) in PROTOCOLS {
        let link = format!("{FAST}\n{link}");
        let transport = format!("protocol = \"{protocol}\", {transport}");
        let text = geo(&link, &transport, traffic)
            .replace("3000s", "60s")
            .replace("\"newreno\"", if protocol == "stp" { "\"newreno\"" } else { "\"none\"" });
        let recording = run(&text);
        let flow = &recording.flows[0];
        let found = share(flow, limit);
        assert!(found > least, "{protocol}, {transport}, {traffic}: {flow:?}");
        assert_eq!(share(flow, "send_buffer"), 0.0, "{protocol} has no send buffer");
        let scenario = parse(&text);
        let slow = simulator::run_on_reference(&scenario, 1, Options::default());
        assert_eq!(shares(flow), shares(&slow.flows[0]), "{text}");
    }
}

/// Settings of QUIC, a link and an application, and the share that must be the largest.
const OF_QUIC: [(&str, &str, &str, &str); 5] = [
    (FAST, "stream_receive_window = \"60kB\"", "bulk = \"unlimited\"", "receive_window"),
    (FAST, "receive_window = \"60kB\"", "bulk = \"unlimited\"", "receive_window"),
    (FAST, "send_window = \"60kB\"", "bulk = \"unlimited\"", "send_buffer"),
    (FAST, "", "constant = { rate = \"40kbit/s\" }", "application"),
    ("rate = \"2Mbit/s\"", "", "bulk = \"unlimited\"", "congestion_window"),
];

fn of_quic(link: &str, settings: &str, traffic: &str, controller: &str) -> String {
    let transport = format!("protocol = \"quic\", quic = {{ {settings} }}");
    geo(link, &transport, traffic)
        .replace("3000s", "60s")
        .replace("\"newreno\"", &format!("{controller:?}"))
}

#[test]
fn the_limit_of_a_quic_flow_has_the_largest_share() {
    for (link, settings, traffic, limit) in OF_QUIC {
        for controller in ["newreno", "cubic"] {
            let text = of_quic(link, settings, traffic, controller);
            let flow = &run(&text).flows[0];
            let all = shares(flow).unwrap();
            check(&all, &text);
            let place = NAMES.iter().position(|one| *one == limit).unwrap();
            assert!(all.iter().all(|share| *share <= all[place]), "{text}: {all:?}");
            // A round trip, and what the flight of certificates takes on a slow link.
            let set_up = all[0] * flow.limited_s.unwrap();
            assert!((0.5..0.75).contains(&set_up), "{text}: {set_up} s of set-up");
            let slow = simulator::run_on_reference(&parse(&text), 1, Options::default());
            assert_eq!(shares(flow), shares(&slow.flows[0]), "{text}");
        }
    }
}

/// The recovery period of RFC 9002 has a round trip.
#[test]
fn losses_of_quic_are_recovery() {
    let of = |per: f64| {
        let queue = "queue = { packets = 5000 }";
        let link = format!("rate = \"2Mbit/s\"\n{queue}\nforward.channel = {{ per = {per} }}");
        let text = of_quic(&link, "", "download = \"1MB\"", "newreno").replace("60s", "3000s");
        share(&run(&text).flows[0], "recovery")
    };
    assert_eq!(of(0.0), 0.0);
    let (few, many) = (of(0.005), of(0.1));
    assert!(few > 0.05 && many > 0.2, "{few} and {many}");
}

#[test]
fn quic_with_0_rtt_needs_no_set_up() {
    let link = "rate = \"2Mbit/s\"\nqueue = { packets = 100000 }";
    let text = of_quic(link, "zero_rtt = true", "bulk = \"unlimited\"", "bbr");
    let flow = &run(&text).flows[0];
    assert_eq!(share(flow, "set_up"), 0.0, "{flow:?}");
    // The pacer of quinn spreads the window over a round trip, whatever rate BBR computes.
    assert!(share(flow, "congestion_window") > 0.8, "{flow:?}");
    assert!(share(flow, "pacing") > 0.0, "{flow:?}");
}

/// A transfer of one packet: the handshake has a round trip of half a second, then the data
/// crosses.
#[test]
fn a_quic_transfer_of_one_packet_is_set_up_and_application() {
    let text = of_quic("rate = \"1Gbit/s\"", "", "bulk = \"1000B\"", "newreno");
    let flow = &run(&text).flows[0];
    assert!((flow.limited_s.unwrap() - 0.75).abs() < 2e-3, "{flow:?}");
    assert!((share(flow, "set_up") - 2.0 / 3.0).abs() < 2e-3, "{flow:?}");
    assert!((share(flow, "application") - 1.0 / 3.0).abs() < 2e-3, "{flow:?}");
}
