//! Explanations and warnings before a run.

use explain::{Explanation, WarningKind, explain};
use scenario::Loaded;

pub(super) fn example(name: &str, sets: &[&str]) -> Explanation {
    // Tests run in the folder of the crate, and the place of a warning names the file as it is
    // called.
    let path = format!("../../examples/{name}.toml");
    let sets: Vec<_> = sets.iter().map(|set| set.parse().unwrap()).collect();
    let loaded = Loaded::load(path, &sets).unwrap_or_else(|errors| panic!("{errors}"));
    explain(&loaded.scenario, &loaded.written)
}

/// The warnings about the lossy example with these overrides.
fn warnings(sets: &[&str]) -> Vec<String> {
    example("lossy-geo", sets).warnings.iter().map(ToString::to_string).collect()
}

/// Asserts that the overrides bring exactly one warning, and returns it.
fn warning(sets: &[&str]) -> String {
    let mut found = warnings(sets);
    assert_eq!(found.len(), 1, "{sets:?}: {found:#?}");
    found.remove(0)
}

#[test]
fn the_examples_load_and_are_explained() {
    let mut all = String::new();
    for name in [
        "geo-download",
        "geo-web",
        "geo-bursts",
        "fairness-six-rtts",
        "lossy-geo",
        "fade",
        "handover",
    ] {
        let explanation = example(name, &[]);
        assert_eq!(explanation.scenario, name);
        all += &format!("# {name}\n{explanation}\n");
    }
    // One file, so that a new key changes one.
    insta::assert_snapshot!("examples", all);
}

#[test]
fn the_reference_is_made_from_the_schema() {
    let page = include_str!("../../../../docs/scenario.md");
    assert!(page == scenario::reference(), "write `bentpipe.reference()` to docs/scenario.md");
}

#[test]
fn a_queue_that_drops_packets_of_its_own_host_is_named() {
    let video = "flow.0.traffic={ video = { length = \"60s\" } }";
    assert!(warning(&[video]).contains("the queue before server -> gateway holds 150kB"));
    for cure in [
        "link.0.queue=unlimited",
        "link.0.queue={ packets = 1000 }",
        "flow.0.transport.pacing=linux",
        "flow.0.controller=bbr",
        "flow.0.traffic={ download = \"1MB\" }",
    ] {
        assert_eq!(warnings(&[video, cure]), [""; 0], "{cure}");
    }
}

#[test]
fn each_warning_is_shown() {
    assert_eq!(warnings(&[]), [""; 0]);
    let transport = |setting: &str| warning(&[&format!("flow.0.transport.{setting}")]);
    let found = [
        transport("receive_buffer=256KiB"),
        warning(&[
            "flow.0.transport.receive_buffer=65535B",
            "flow.0.transport.window_scaling=false",
        ]),
        transport("reader_rate=1Mbit/s"),
        transport("delayed_ack=600ms"),
        transport("careful_resume={ saved_cwnd = \"20MB\", saved_rtt = \"520ms\" }"),
        transport("rto.min=100ms"),
        transport("rto.initial=300ms"),
        transport("rto={ min = \"200ms\", max = \"400ms\" }"),
        transport("rto.initial=100ms"),
        warning(&[
            "flow.0.controller={ name = \"bbr\", probe_rtt_interval = 1 }",
            "link.1.delay=600ms",
            "flow.0.transport.rto.initial=3s",
        ]),
        warning(&[
            "flow.0.controller={ name = \"bbr3\", probe_rtt_interval = 1 }",
            "link.1.delay=600ms",
            "flow.0.transport.rto.initial=3s",
        ]),
        warning(&["flow.0.controller=vegas"]),
        warning(&["link.1.queue={ packets = 40 }"]),
        warning(&["link.1.backward.rate=100kbit/s"]),
        warning(&["flow.0.controller=adalr"]),
        warning(&["flow.0.start=120s"]),
        warning(&["flow.0.stop=120s"]),
        warning(&["flow.0.traffic={ download = \"1GB\" }"]),
        warning(&["flow.0.traffic={ constant = { rate = \"12Mbit/s\" } }"]),
        warning(&[
            "flow.0.traffic={ on_off = { rate = \"30Mbit/s\", on = \"1s\", off = \"2s\" } }",
        ]),
        warning(&["flow.0.traffic={ constant = { rate = \"4Mbit/s\" } }", "flow.0.count=3"]),
        warning(&["link.1.forward.channel={ per = 0.6 }"]),
        warning(&["link.0.forward.channel={ ber = 1e-9, ecc_threshold = 1.2e-6 }"]),
        warning(&["link.0.forward.queue={ bytes = \"1000B\" }"]),
        warning(&["record.interval=121s"]),
        warning(&[
            "flow.0.traffic={ constant = { rate = \"2Mbit/s\", message = \"1B\" } }",
            "flow.0.transport.nagle=true",
        ]),
        warning(&[
            "record.interval=1ms",
            "flow.0.traffic={ download = \"100kB\" }",
            "flow.0.stop=10s",
            "duration=900s",
        ]),
        warning(&[
            "flow.0.controller=peach-plus",
            "flow.0.transport.receive_buffer=1GiB",
            "flow.0.transport.send_buffer=1GiB",
            "flow.0.traffic={ web = { pages = 1, main_object = \"100B\", embedded_objects = 0 } }",
        ]),
        warning(&[
            "link.1.event=[{ at = \"1s\", every = \"150us\", rate = \"10Mbit/s\" }, { at = \"1000100us\", every = \"150us\", rate = \"9Mbit/s\" }]",
            "flow.0.traffic={ download = \"100kB\" }",
        ]),
    ];
    insta::assert_snapshot!(found.join("\n"));
}

/// Cost of a run beyond its packets, found before it: small writes over QUIC, which quinn searches,
/// and packets that XTP sends and the queue drops.
#[test]
fn costs_of_other_transports_have_a_warning() {
    let protocol =
        |name: &str, more: &str| format!("flow.0.transport={{ protocol = \"{name}\"{more} }}");
    let of = |sets: &[&str], text: &str| {
        let found = warnings(sets);
        found.iter().filter(|one| one.contains(text)).count()
    };
    for (name, message, expected) in
        [("quic", "7B", 1), ("quic", "1000B", 0), ("tcp", "7B", 0), ("sctp", "7B", 0)]
    {
        let traffic = format!(
            "flow.0.traffic={{ constant = {{ rate = \"2Mbit/s\", message = \"{message}\" }} }}"
        );
        let controller = if name == "sctp" { "none" } else { "cubic" };
        let sets = [
            &protocol(name, ""),
            &format!("flow.0.controller={controller}"),
            &traffic,
            "duration=10s",
        ];
        let found = of(&sets, "take most of the time");
        assert_eq!(found, expected, "{name}, {message}: {:#?}", warnings(&sets));
    }
    for (more, expected) in [
        (", receive_buffer = \"1GiB\"", 1),
        (", receive_buffer = \"8MiB\"", 0),
        (", xtp = { rate = \"1Gbit/s\" }", 1),
        (", xtp = { rate = \"20Mbit/s\" }", 0),
    ] {
        let sets = [&protocol("xtp", more), "flow.0.controller=none"];
        assert_eq!(of(&sets, "queue overflows"), 1, "{more}");
        assert_eq!(of(&sets, "stay in memory"), expected, "{more}: {:#?}", warnings(&sets));
    }
}

#[test]
fn a_rate_that_passes_has_no_warning_even_where_window_and_acks_allow_little() {
    for traffic in [
        "{ constant = { rate = \"200kbit/s\" } }",
        "{ on_off = { rate = \"200kbit/s\", on = \"1s\", off = \"2s\" } }",
    ] {
        let traffic = format!("flow.0.traffic={traffic}");
        let narrow = [
            traffic.as_str(),
            "flow.0.transport.receive_buffer=64KiB",
            "flow.0.transport.reader_rate=300kbit/s",
            "link.1.backward.rate=32kbit/s",
        ];
        assert_eq!(warnings(&narrow), [""; 0]);
    }
}

#[test]
fn the_figures_of_a_geostationary_download_are_right() {
    let explanation = example("geo-download", &[]);
    let figures = &explanation.flows[0].figures;
    assert_eq!(figures.bottleneck, "gateway -> client");
    // 65,535 bytes hold 45 segments of 1460 - 12 bytes.
    assert_eq!((figures.packet_bytes, figures.window_segments), (1500, 45));
    let near =
        |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-9, "{value}");
    near(figures.propagation_rtt_ms, 520.0);
    // 1500 B at 10 and 2 Mbit/s, 52 B at 256 kbit/s and 10 Mbit/s.
    near(figures.base_rtt_ms, 520.0 + 1.2 + 6.0 + 1.625 + 0.0416);
    near(figures.segment_time_ms, 6.0);
    near(figures.bdp_segments, figures.base_rtt_ms / 6.0);
    near(figures.window_limit_bps, 45.0 * 1448.0 * 8.0 / figures.base_rtt_ms * 1e3);
    near(figures.per, 1.0 - (1.0 - 1e-7f64).powi(12_000));
}

#[test]
fn the_figures_over_ipv6_have_its_longer_header() {
    let explanation = example("geo-download", &["ip=ipv6"]);
    let figures = &explanation.flows[0].figures;
    assert_eq!((figures.packet_bytes, figures.window_segments), (1520, 45));
    // 1520 B at 10 and 2 Mbit/s, 72 B at 256 kbit/s and 10 Mbit/s.
    let expected = 520.0 + 1.216 + 6.08 + 2.25 + 0.0576;
    assert!((figures.base_rtt_ms - expected).abs() < 1e-9, "{}", figures.base_rtt_ms);
    let ip = explanation.settings.iter().find(|setting| setting.name == "ip").unwrap();
    assert_eq!((ip.value.as_str(), ip.default), (Some("ipv6"), false));
}

#[test]
fn overhead_takes_time_and_is_not_corrupted() {
    let bare = &example("geo-download", &[]).flows[0].figures;
    let framed = &example("geo-download", &["link.1.overhead=100B"]).flows[0].figures;
    assert_eq!(framed.per, bare.per);
    assert!((framed.segment_time_ms - 6.4).abs() < 1e-9, "{}", framed.segment_time_ms);
}

/// A router that forwards data and ACKs out of one budget of 360 kbit/s needs at least 1228.9 s
/// for 50 x 2^20 bytes with an ACK for each segment and 1213.0 s with delayed ACKs.
#[test]
fn data_and_acks_share_the_budget_of_a_router() {
    let json = |delayed_ack: &str| {
        serde_json::json!({
            "node": [{ "name": "r", "forwarding": { "rate": "360kbit/s", "buffer": "37500B" } }],
            "link": [
                { "between": ["a", "r"], "rate": "10Mbit/s", "delay": "10ms" },
                { "between": ["r", "b"], "rate": "2Mbit/s", "delay": "250ms" },
            ],
            "flow": [{
                "from": "a", "to": "b", "controller": "reno", "traffic": { "download": "50MiB" },
                "transport": { "delayed_ack": delayed_ack, "timestamps": false },
            }],
        })
    };
    for (delayed_ack, seconds) in [("off", 1228.9), ("200ms", 1213.0)] {
        let loaded = Loaded::from_json(&json(delayed_ack), &[]).unwrap();
        let explanation = explain(&loaded.scenario, &loaded.written);
        let figures = &explanation.flows[0].figures;
        assert_eq!(figures.bottleneck, "forwarding at r");
        let time = f64::from(50 << 20) * 8.0 / figures.capacity_bps;
        assert!((time - seconds).abs() < 0.1, "{delayed_ack}: {time}");
    }
}

#[test]
fn a_default_is_marked_and_an_override_is_not() {
    let explanation = example("geo-download", &["flow.0.transport.mss=1400", "flow.0.count=2"]);
    let flow = &explanation.flows[0];
    assert_eq!((flow.name.as_str(), flow.count), ("download", 2));
    let is_default = |name: &str| flow.settings.iter().find(|s| s.name == name).unwrap().default;
    assert!(!is_default("transport.mss") && !is_default("transport.receive_buffer"));
    assert!(is_default("transport.nagle") && is_default("controller.rwnd"));
    let json = serde_json::to_value(&explanation).unwrap();
    assert_eq!(json["flows"][0]["figures"]["bottleneck_flows"], 2);
}

/// The explanation as data: numbers with their unit, and kinds of warnings.
#[test]
fn an_explanation_is_data() {
    let explanation = example("handover", &["flow.0.transport.receive_buffer=64KiB"]);
    let json = serde_json::to_value(&explanation).unwrap();
    let setting = |list: &serde_json::Value, name: &str| {
        let all = list.as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap().clone()
    };
    let flow = &json["flows"][0];
    let buffer = setting(&flow["settings"], "transport.receive_buffer");
    assert_eq!((&buffer["value"], &buffer["unit"]), (&65536.into(), &"B".into()));
    let rto = setting(&flow["settings"], "transport.rto.min");
    assert_eq!(
        (&rto["value"], &rto["unit"], &rto["default"]),
        (&1.0.into(), &"s".into(), &true.into())
    );
    assert_eq!(json["links"][2]["events"][0]["at_s"], explanation.links[2].events[0].at_s);
    assert_eq!(json["warnings"][0]["kind"], "window_below_bdp");
    assert_eq!(json["warnings"][0]["subject"], flow["name"]);
    let endless = |traffic: &str| {
        let set = format!("flow.0.traffic={traffic}");
        example("lossy-geo", &[&set]).flows[0].endless
    };
    assert!(endless("{ web = {} }") && endless("{ bulk = \"unlimited\" }"));
    assert!(!endless("{ web = { pages = 3 } }") && !endless("{ download = \"5MB\" }"));
}

/// Before, nobody knew before the memory was full.
#[test]
fn the_rows_of_a_recording_and_their_memory_are_explained() {
    let rows = |sets: &[&str]| example("lossy-geo", sets).recording;
    // 120 s have 1200 intervals, and so 1201 samples of one flow and of both directions of two
    // links.
    let sampled = rows(&["record.interval=100ms"]);
    assert_eq!((sampled.flow_series_rows, sampled.link_series_rows), (1201, 4804));
    assert_eq!(sampled.memory_bytes, 1201 * 100 + 4804 * 48);
    assert_eq!((sampled.event_rows, sampled.object_rows), (0, 0));
    let pages = rows(&["flow.0.traffic={ web = { pages = 3 } }"]);
    assert_eq!(pages.object_rows, 3 * 16);
    assert!(rows(&["record.events=true"]).event_rows > 1000);
    let text = example("lossy-geo", &["record.interval=100ms"]).to_string();
    assert!(
        text.contains("at most 1201 rows of flow_series, 4804 rows of link_series: 351kB"),
        "{text}"
    );
}

/// Households draw their sessions and pages, so no scenario with them is the same for every seed.
#[test]
fn an_example_with_random_parts_is_not_said_to_have_none() {
    let is_said = |name: &str, sets: &[&str]| {
        let warnings = example(name, sets).warnings;
        warnings.iter().any(|warning| warning.kind == WarningKind::NothingRandom)
    };
    for name in ["geo-household", "geo-bursts", "beam-rain"] {
        assert!(!is_said(name, &[]), "{name}");
    }
    let calm = ["flow.0.count=2", "link.1.channel=perfect"];
    assert!(is_said("lossy-geo", &calm));
    let sessions = "flow.0.sessions={ pause = \"20s\", length = \"5s\" }";
    let download = "flow.0.traffic={ download = \"1MB\" }";
    assert!(!is_said("lossy-geo", &[&calm[..], &[download, sessions]].concat()));
}
