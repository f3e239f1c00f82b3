//! Profiles of hosts: each of them on both engines, and ends that differ.

use recording::{FlowRecord, Recording};
use scenario::Loaded;
use scenario::hosts::PROFILES;
use simulator::Options;

use crate::{parse, run};

/// A download over a GEO link of 20 Mbit/s and 600 ms. `flow` is TOML.
fn download(flow: &str, size: &str) -> String {
    format!(
        r#"
duration = "300s"
[[link]]
between = ["server", "client"]
rate = "20Mbit/s"
delay = "300ms"
queue = {{ bytes = "1500kB" }}
[[flow]]
from = "server"
to = "client"
{flow}
traffic = {{ download = {size:?}, request = "100B" }}
"#
    )
}

fn flow(recording: &Recording) -> &FlowRecord {
    &recording.flows[0]
}

#[test]
fn every_profile_downloads_over_geo_on_both_engines() {
    for profile in PROFILES {
        let scenario = parse(&download(&format!("host = {:?}", profile.name), "300kB"));
        let fast = simulator::run(&scenario, 1, Options::default());
        let slow = simulator::run_on_reference(&scenario, 1, Options::default());
        assert!(flow(&fast).completion_s.is_some(), "{}", profile.name);
        assert_eq!(fast.flows, slow.flows, "{}", profile.name);
    }
}

#[test]
fn values_in_explain_are_those_of_the_declaration() {
    for profile in PROFILES {
        let text = download(&format!("host = {:?}", profile.name), "300kB");
        let loaded = Loaded::parse(&text, "hosts.toml", &[]).unwrap();
        let explained = explain::explain(&loaded.scenario, &loaded.written);
        let flow = &explained.flows[0];
        for (end, host) in ["from", "to"].iter().zip(&flow.hosts) {
            assert_eq!((&host.end, host.profile), (end, Some(profile.name)));
            for value in profile.values() {
                let found = host.settings.iter().find(|one| one.setting.name == value.key);
                let found = found.unwrap_or_else(|| panic!("{}: {}", profile.name, value.key));
                let declared = language::describe::plain(&value.value.to_json());
                assert_eq!(found.setting.text, declared, "{}: {}", profile.name, value.key);
                assert_eq!(found.origin, format!("host {}", profile.name));
                assert_eq!(found.source, Some(value.source));
            }
        }
        let shown = explained.to_string();
        assert!(shown.contains(profile.status()), "{shown}");
        assert!(shown.contains(&format!("from host {}", profile.name)), "{shown}");
    }
}

#[test]
fn the_settings_of_the_ends_are_those_of_their_profiles() {
    let of = |name: &str| {
        let scenario = parse(&download(&format!("host = {name:?}"), "300kB"));
        let [(sender, _), (receiver, _)] = scenario.flows[0].ends();
        let [sender, receiver] = [sender, receiver].map(|end| end.tcp().unwrap().clone());
        assert_eq!(sender, receiver);
        sender
    };
    let newest = of("linux-6.18");
    let tuning = newest.receive_tuning.unwrap();
    assert_eq!((tuning.default.get(), tuning.max.get()), (131_072, 32 << 20));
    assert_eq!(tuning.growth, tcp::Growth::Linux6_18);
    let tuning = newest.send_tuning.unwrap();
    assert_eq!((tuning.default.get(), tuning.max.get()), (16_384, 4 << 20));
    assert_eq!(newest.recovery, tcp::Recovery::Linux);
    assert_eq!(newest.delayed_ack, tcp::AckTiming::Linux);
    assert_eq!((newest.rto.min.as_millis_f64(), newest.initial_window), (200.0, 10));
    let oldest = of("windows-nt");
    assert_eq!((oldest.receive_buffer.get(), oldest.window_scaling), (65_535, false));
    assert_eq!((oldest.timestamps, oldest.recovery), (false, tcp::Recovery::Reno));
    assert_eq!(of("linux-2.4").recovery, tcp::Recovery::Sack);
}

#[test]
fn a_receiver_of_64_kb_bounds_the_data_towards_it_and_not_from_it() {
    let seconds = |hosts: &str, from: &str, to: &str| {
        let text = download(&format!("host = {hosts}"), "10MB")
            .replace("from = \"server\"", &format!("from = {from:?}"))
            .replace("to = \"client\"", &format!("to = {to:?}"));
        let recording = run(&text);
        (flow(&recording).goodput_bps, flow(&recording).completion_s.unwrap())
    };
    // 65535 bytes without window scaling, over 600 ms and the time of a segment.
    let (goodput, _) =
        seconds("{ from = \"linux-6.18\", to = \"windows-nt\" }", "server", "client");
    let bound = 65_535.0 * 8.0 / 0.6;
    assert!((0.93..=1.0).contains(&(goodput / bound)), "{goodput}");
    let (back, _) = seconds("{ from = \"windows-nt\", to = \"linux-6.18\" }", "client", "server");
    // The sender has no window scaling either, so the other end cannot offer more than 64 kB to it.
    assert!(back / bound <= 1.0, "{back}");
    let (scaled, _) = seconds("{ from = \"windows-11\", to = \"linux-6.18\" }", "client", "server");
    assert!(scaled > 10.0 * goodput, "{scaled}");
}

#[test]
fn a_receiver_with_a_small_buffer_does_not_bound_what_it_sends() {
    let goodput = |from: &str, to: &str| {
        let hosts = format!("host = {{ from = {from:?}, to = {to:?} }}");
        flow(&run(&download(&hosts, "10MB"))).goodput_bps
    };
    let towards = goodput("linux-6.18", "linux-2.4");
    let away = goodput("linux-2.4", "linux-6.18");
    assert!(towards <= 65_535.0 * 8.0 / 0.6, "{towards}");
    // Its own send buffer of 128 KiB is the limit then.
    assert!(away > 1.3 * towards, "{away} and {towards}");
}

#[test]
fn an_option_counts_only_if_both_ends_have_it() {
    // Windows has no timestamps, and Windows NT neither SACK nor window scaling.
    let fields = |hosts: &str| {
        let scenario = parse(&download(&format!("host = {hosts}"), "300kB"));
        let config = scenario.flows[0].transport.tcp().unwrap().clone();
        (config.timestamps, config.window_scaling, config.recovery, config.receive_buffer.get())
    };
    let (timestamps, scaling, recovery, _) =
        fields("{ from = \"linux-6.18\", to = \"windows-11\" }");
    assert_eq!((timestamps, scaling, recovery), (false, true, tcp::Recovery::Linux));
    let found = fields("{ from = \"linux-6.18\", to = \"windows-nt\" }");
    assert_eq!(found, (false, false, tcp::Recovery::NewReno, 65_535));
    let found = fields("{ from = \"windows-nt\", to = \"linux-6.18\" }");
    assert_eq!(found, (false, false, tcp::Recovery::Reno, 65_535));
    // The connection does the same: segments without timestamps have 1460 bytes of data.
    let bytes = |hosts: &str| {
        let recording = run(&download(&format!("host = {hosts}"), "1460000B"));
        recording.links[0].delivered_bytes
    };
    let without = bytes("{ from = \"linux-6.18\", to = \"windows-11\" }");
    let with = bytes("\"linux-6.18\"");
    assert!(with > without + 10_000, "{with} and {without}");
}

#[test]
fn written_keys_override_a_profile_and_are_shown_as_overrides() {
    let text = download(
        "host = \"linux-6.18\"\ncontroller = \"newreno\"\ntransport = { receive_buffer = { max = \"8MiB\" }, send_buffer = \"1MiB\", timestamps = false }",
        "300kB",
    );
    let loaded = Loaded::parse(&text, "hosts.toml", &[]).unwrap();
    let config = loaded.scenario.flows[0].transport.tcp().unwrap();
    let tuning = config.receive_tuning.unwrap();
    assert_eq!((tuning.default.get(), tuning.max.get()), (131_072, 8 << 20));
    assert_eq!((config.send_tuning, config.send_buffer.get()), (None, 1 << 20));
    assert_eq!((config.timestamps, config.recovery), (false, tcp::Recovery::Linux));
    let explained = explain::explain(&loaded.scenario, &loaded.written);
    let of = |name: &str| {
        let found =
            explained.flows[0].hosts[0].settings.iter().find(|one| one.setting.name == name);
        let found = found.unwrap_or_else(|| panic!("{name}"));
        (found.setting.text.clone(), found.origin.clone(), found.overridden.clone())
    };
    let by = |text: &str, declared: &str| {
        (text.to_owned(), "override of host linux-6.18".to_owned(), Some(declared.to_owned()))
    };
    assert_eq!(of("controller"), by("newreno", "cubic, variant linux"));
    assert_eq!(of("transport.receive_buffer.max"), by("8MiB", "32MiB"));
    assert_eq!(of("transport.send_buffer"), by("1MiB", "default 16KiB, max 4MiB"));
    assert_eq!(of("transport.timestamps"), by("false", "true"));
    assert_eq!(of("transport.recovery").1, "host linux-6.18");
}

#[test]
fn an_override_that_takes_window_scaling_away_leaves_a_window_that_fits_its_field() {
    let text = download("host = \"linux-6.18\"\ntransport.window_scaling = false", "300kB");
    let scenario = parse(&text);
    let config = scenario.flows[0].transport.tcp().unwrap();
    assert_eq!((config.receive_buffer.get(), config.receive_tuning), (65_535, None));
    assert!(flow(&run(&text)).completion_s.is_some());
}

/// Packets that CoDel marks on the way to the client in a download or an upload.
fn marks(flow: &str, opened_by_receiver: bool) -> u64 {
    let text = download(flow, "3MB").replace("queue", "forward = { aqm = \"codel\" }\nqueue");
    let text = match opened_by_receiver {
        true => text,
        false => text.replace("{ download = \"3MB\", request = \"100B\" }", "{ bulk = \"3MB\" }"),
    };
    let scenario = parse(&text);
    let fast = simulator::run(&scenario, 1, Options::default());
    let slow = simulator::run_on_reference(&scenario, 1, Options::default());
    assert_eq!(fast.flows, slow.flows, "{flow}");
    crate::total(&fast, "aqm", "marked_packets")
}

#[test]
fn an_end_that_is_passive_agrees_to_ecn_and_does_not_request_it() {
    for host in ["controller = \"cubic\"", "host = \"linux-6.18\""] {
        let of = |ecn: &str, opened_by_receiver: bool| {
            marks(&format!("{host}\ntransport.ecn = {ecn}"), opened_by_receiver)
        };
        // The receiver opens a download, and the sender opens an upload.
        let asks = "{ from = \"passive\", to = true }";
        assert!(of(asks, true) > 0, "{host}");
        assert_eq!(of(asks, false), 0, "{host}");
        let asks = "{ from = true, to = \"passive\" }";
        assert_eq!(of(asks, true), 0, "{host}");
        assert!(of(asks, false) > 0, "{host}");
        assert_eq!(of("\"passive\"", true), 0, "{host}");
        assert_eq!(of("{ from = false, to = true }", true), 0, "{host}");
        // Who agrees to classic ECN only gets it from one who would have counted marks.
        assert!(of("{ from = \"passive\", to = \"accurate\" }", true) > 0, "{host}");
    }
    assert_eq!(marks("host = \"linux-6.18\"", true), 0);
}

/// With little unsent data the application writes all the time, and the window is always full: it
/// is no limit of the sender, as in the counters of the kernel.
#[test]
fn a_limit_of_unsent_data_holds_no_sender_back() {
    let of = |lowat: &str| {
        let buffer = format!("{{ notsent_lowat = {lowat} }}");
        run(&download(&format!("host = \"linux-6.18\"\ntransport.send_buffer = {buffer}"), "4MB"))
    };
    let [without, with] = ["\"unlimited\"", "\"16KiB\""].map(of);
    let [without, with] = [&without, &with].map(flow);
    let [slow, fast] = [with, without].map(|flow| flow.completion_s.unwrap());
    assert!((slow / fast - 1.0).abs() < 0.02, "{slow} and {fast}");
    for flow in [with, without] {
        // At the start the buffer is small.
        assert!(flow.limited_by_send_buffer.unwrap() < 1e-3, "{flow:?}");
    }
}

#[test]
fn the_receive_buffer_of_freebsd_begins_with_64_kb_and_grows() {
    let seconds = |receiver: &str| {
        let hosts = format!("host = {{ from = \"linux-6.18\", to = \"freebsd-14\" }}\n{receiver}");
        let recording = run(&download(&hosts, "4MB"));
        let flow = flow(&recording);
        (flow.completion_s.unwrap(), flow.limited_by_receive_window.unwrap())
    };
    let (growing, limited) = seconds("");
    let (grown, _) = seconds("transport.receive_buffer = \"2MiB\"");
    let (small, mostly) = seconds("transport.receive_buffer = \"64KiB\"");
    assert!(grown < growing && growing < 0.5 * small, "{grown}, {growing} and {small}");
    assert!(limited > 0.0 && mostly > limited, "{limited} and {mostly}");
}

#[test]
fn explain_shows_the_ecn_of_each_end_and_what_both_have() {
    let text = download(
        "controller = \"cubic\"\ntransport.ecn = { from = \"passive\", to = true }",
        "1MB",
    );
    let loaded = Loaded::parse(&text, "hosts.toml", &[]).unwrap();
    assert_eq!(loaded.scenario.flows[0].transport.ecn(), congestion::Ecn::Classic);
    let explained = explain::explain(&loaded.scenario, &loaded.written);
    let of = |end: usize| {
        let settings = &explained.flows[0].hosts[end].settings;
        let found = settings.iter().find(|one| one.setting.name == "transport.ecn").unwrap();
        (found.setting.text.clone(), found.origin.clone())
    };
    assert_eq!(of(0), ("passive".to_owned(), "scenario".to_owned()));
    assert_eq!(of(1), ("true".to_owned(), "scenario".to_owned()));
    let without = text.replace("controller = \"cubic\"\n", "");
    let error = Loaded::parse(&without, "hosts.toml", &[]).unwrap_err().to_string();
    assert!(error.contains("flow[0].controller"), "{error}");
}

#[test]
fn a_node_has_a_profile_for_its_ends_of_flows() {
    let nodes = "[[node]]\nname = \"server\"\nhost = \"linux-6.18\"\n[[node]]\nname = \"client\"\nhost = \"windows-11\"\n";
    let of_nodes = download("", "1MB").replace("[[link]]", &format!("{nodes}[[link]]"));
    let of_flow = download("host = { from = \"linux-6.18\", to = \"windows-11\" }", "1MB");
    assert_eq!(run(&of_nodes).flows, run(&of_flow).flows);
    // What the flow says of an end goes before its node.
    let mixed = of_nodes.replace("traffic", "host = { to = \"linux-6.18\" }\ntraffic");
    assert_eq!(run(&mixed).flows, run(&download("host = \"linux-6.18\"", "1MB")).flows);
    // Without a profile the flow is as it was.
    let none = of_nodes.replace("traffic", "controller = \"cubic\"\nhost = \"none\"\ntraffic");
    assert_eq!(run(&none).flows, run(&download("controller = \"cubic\"", "1MB")).flows);
}

#[test]
fn a_gateway_takes_the_keys_of_the_flow_and_none_of_a_profile() {
    let text = r#"
duration = "100s"
[[node]]
name = "gateway"
proxy = {}
[[link]]
between = ["server", "gateway"]
rate = "100Mbit/s"
delay = "10ms"
[[link]]
between = ["gateway", "client"]
rate = "10Mbit/s"
delay = "300ms"
[[flow]]
from = "server"
to = "client"
host = "windows-nt"
transport.initial_window = 4
traffic = { download = "1MB" }
"#;
    let scenario = parse(text);
    let flow = &scenario.flows[0];
    for end in &flow.gateways[0].ends {
        let config = end.transport.tcp().unwrap();
        assert_eq!((config.initial_window, config.timestamps), (4, true));
        assert!(config.window_scaling);
    }
    assert!(run(text).flows[0].completion_s.is_some());
}
