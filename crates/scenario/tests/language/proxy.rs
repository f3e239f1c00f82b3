//! Split proxies: what is refused, what is filled in, and what `explain` says.

use std::collections::BTreeSet;
use std::fmt::Write;

use middlebox::{Policy, SideName, SplitSide};
use transport::Protocol;
use units::Bytes;

use explain::{WarningKind, explain};
use scenario::Loaded;
use scenario::model::{Neighbour, Scenario, Transport};

/// Two hosts on both sides of a gateway, and one aside. `node` is TOML.
fn text(node: &str) -> String {
    format!(
        r#"
[[node]]
{node}
[[link]]
between = ["server", "gateway"]
rate = "100Mbit/s"
delay = "10ms"
[[link]]
between = ["gateway", "terminal"]
rate = "10Mbit/s"
delay = "250ms"
[[link]]
between = ["gateway", "aside"]
rate = "10Mbit/s"
delay = "1ms"
[[flow]]
from = "server"
to = "terminal"
controller = "cubic"
transport = {{ initial_window = 4 }}
traffic = {{ download = "1MB" }}
"#
    )
}

fn gateway(proxy: &str) -> String {
    text(&format!("name = \"gateway\"\nproxy = {proxy}"))
}

#[test]
fn absent_settings_are_those_of_the_flow() {
    let proxy = r#"{ satellite = { towards = ["terminal"], controller = { name = "hybla", rtt0 = "50ms" }, initial_window = 20 } }"#;
    let proxy = proxy.replace(", rtt0 = \"50ms\"", "");
    let scenario = Scenario::parse(&gateway(&proxy), "p.toml", &[]).unwrap();
    let [one] = &scenario.flows[0].gateways[..] else { panic!("one gateway") };
    let [server, terminal] = &one.ends;
    assert_eq!([server.side, terminal.side], [SideName::Terrestrial, SideName::Satellite]);
    assert_eq!(server.controller.entry().name, "cubic");
    assert_eq!(terminal.controller.entry().name, "hybla");
    assert_eq!([server, terminal].map(|end| end.transport.tcp().unwrap().initial_window), [4, 20]);
    assert_eq!(server.transport.tcp().unwrap().send_buffer.size(), Some(Bytes(4 << 20)));
    assert!(
        !server.transport.tcp().unwrap().reads_at_once
            && scenario.flows[0].transport.tcp().unwrap().reads_at_once
    );
    assert_eq!(one.relay_buffer, Bytes(256 << 10));
    let proxy = scenario.nodes.iter().find_map(|node| node.proxy.as_ref()).unwrap();
    assert_eq!(proxy.policy, Policy::default());
}

/// The names of the daemon's file.
#[test]
fn a_side_has_the_keys_that_the_daemon_has_too() {
    let side = serde_json::to_value(SplitSide::<String>::default()).unwrap();
    let node = &scenario::cached_schema()["properties"]["node"]["items"]["properties"];
    for key in SideName::ALL.map(SideName::key) {
        let forms = language::shape::alternatives(&node["proxy"]);
        let table = forms.into_iter().find(|form| form["properties"].is_object()).unwrap();
        let properties = &table["properties"][key]["properties"];
        let missing: Vec<_> = side.as_object().unwrap().keys().collect();
        let missing: Vec<_> = missing.iter().filter(|key| properties[key].is_null()).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

/// The neighbours of the one proxy on each side, by their names.
fn sides(text: &str) -> Result<[Vec<String>; 2], String> {
    let scenario = Scenario::parse(text, "p.toml", &[]).map_err(|errors| errors.to_string())?;
    let proxy = scenario.nodes.iter().find_map(|node| node.proxy.as_ref());
    let Some(proxy) = proxy else { return Ok([Vec::new(), Vec::new()]) };
    let name = |one: &Neighbour| one.name(&scenario).to_owned();
    Ok(proxy.neighbours.each_ref().map(|side| side.iter().map(name).collect()))
}

#[test]
fn a_name_is_a_preset_with_its_defaults_and_none_is_no_proxy() {
    for preset in middlebox::Preset::ALL.map(middlebox::Preset::name) {
        let [named, table] = [
            format!("proxy = \"{preset}\""),
            format!(
                "proxy = {{ preset = \"{preset}\", satellite = {{ towards = [\"terminal\"] }} }}"
            ),
        ]
        .map(|keys| Scenario::parse(&text(&format!("name = \"gateway\"\n{keys}")), "p.toml", &[]));
        match (named, table) {
            (Ok(named), Ok(table)) => assert_eq!(format!("{named:?}"), format!("{table:?}")),
            // Two of them need a second gateway.
            (Err(named), Err(table)) => {
                assert!(named.to_string().contains("second proxy"), "{named}");
                assert!(table.to_string().contains("second proxy"), "{table}");
            }
            (named, table) => panic!("{preset}: {named:?} {table:?}"),
        }
    }
    let none = Scenario::parse(&gateway("\"none\""), "p.toml", &[]).unwrap();
    assert!(none.nodes.iter().all(|node| node.proxy.is_none()));
    let set = "node.gateway.proxy=none".parse().unwrap();
    let with_proxy = gateway("{ satellite = { towards = [\"terminal\"] } }");
    let none = Scenario::parse(&with_proxy, "p.toml", &[set]).unwrap();
    assert!(none.nodes.iter().all(|node| node.proxy.is_none()));
    let error = sides(&gateway("\"pepsl\"")).unwrap_err();
    assert!(error.contains("did you mean \"pepsal\""), "{error}");
}

#[test]
fn the_side_of_the_satellite_is_found_where_it_is_unique() {
    let names = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let far = gateway("{ preset = \"pepsal\" }");
    assert!(far.contains("delay = \"250ms\""), "{far}");
    assert_eq!(sides(&far).unwrap()[1], names(&["terminal"]));
    assert_eq!(sides(&far.replace("250ms", "119ms")).unwrap()[1], names(&["terminal"]));
    let near = far.replace("250ms", "118ms");
    let error = sides(&near).unwrap_err();
    assert!(error.starts_with("p.toml:"), "{error}");
    assert!(error.contains("satellite.towards") && error.contains("119ms or more"), "{error}");
    let client =
        "\n[[link]]\nbetween = [\"terminal\", \"client\"]\nrate = \"10Mbit/s\"\ndelay = \"1ms\"\n";
    let terminal = "[[node]]\nname = \"terminal\"\nproxy = \"none\"\n";
    let two = near.replace("to = \"terminal\"", "to = \"client\"") + client + terminal;
    assert!(sides(&two).is_err(), "a proxy that is none is none");
    let both =
        two.replace("proxy = \"none\"", "proxy = { satellite = { towards = [\"gateway\"] } }");
    assert_eq!(sides(&both).unwrap()[1], names(&["terminal"]));
    let found = two.replace("proxy = \"none\"", "proxy = \"pepsal\"");
    assert_eq!(sides(&found).unwrap()[1], names(&["terminal"]));
}

#[test]
fn proxies_that_cannot_be() {
    let nodes = [
        gateway("{}").replace("250ms", "25ms"),
        gateway("{}").replace("10ms", "120ms"),
        gateway("{ satellite = { controller = \"hybla\" } }").replace("250ms", "25ms"),
        gateway("{ satellite = { towards = [\"terminl\"] } }"),
        gateway("{ satellite = { towards = [\"gateway\"] } }"),
        gateway("{ satellite = { towards = [\"terminal\", \"server\", \"aside\"] } }"),
        gateway(
            "{ satellite = { towards = [\"terminal\"] }, terrestrial = { towards = [\"terminal\"] } }",
        ),
        gateway("{ satellite = { towards = [\"aside\"] } }"),
        gateway("{ satellite = { towards = [\"terminal\"], controler = \"hybla\" } }"),
        gateway("{ satellite = { towards = [\"terminal\"], controller = \"hybla2\" } }"),
        gateway("{ satellite = { towards = [\"terminal\"], receive_buffer = \"1kB\" } }"),
        gateway("{ satellite = { towards = [\"terminal\"] }, accept = \"lat\" }"),
        gateway("{ satellite = { towards = [\"terminal\"] }, known_for = \"1min\" }"),
        gateway(
            "{ satellite = { towards = [\"terminal\"] }, accept = \"early-if-known\", known_for = \"1ms\" }",
        ),
        gateway("{ satellite = { towards = [\"terminal\"] }, limits = { at_limit = \"pass\" } }"),
        gateway("{ satellite = { towards = [\"terminal\"] }, limits = { connections = 0 } }"),
        gateway(
            "{ satellite = { towards = [\"terminal\"] }, limits = { relay_buffer = \"1kB\" } }",
        ),
        gateway("{ satellite = { towards = [\"terminal\"], burst = \"10kB\" } }"),
        gateway(
            "{ satellite = { towards = [\"terminal\"], rate = \"1Mbit/s\", burst = \"1499B\" } }",
        ),
        gateway("{ satellite = { towards = [\"terminal\"], rate = \"1bit/s\" } }"),
        text("name = \"terminal\"\nproxy = { satellite = { towards = [\"gateway\"] } }"),
        text(
            "name = \"gateway\"\nmiddlebox = \"snoop\"\nproxy = { satellite = { towards = [\"terminal\"] } }",
        ),
        text(
            "name = \"gateway\"\nforwarding = { rate = \"1Mbit/s\", buffer = \"10kB\" }\nproxy = { satellite = { towards = [\"terminal\"] } }",
        ),
        gateway("{ satellite = { towards = [\"terminal\"] } }")
            .replace("initial_window = 4", "protocol = \"quic\""),
    ];
    let mut all = String::new();
    for text in nodes {
        let errors = Scenario::parse(&text, "p.toml", &[]).unwrap_err();
        let line = text.lines().nth(3).unwrap();
        writeln!(all, "{line}\n{errors}\n").unwrap();
    }
    insta::assert_snapshot!(all);
}

#[test]
fn explain_names_the_legs_and_what_becomes_of_round_trip_and_bdp() {
    let text = gateway("{ satellite = { towards = [\"terminal\"], controller = \"hybla\" } }");
    let loaded = Loaded::parse(&text, "p.toml", &[]).unwrap();
    let explanation = explain(&loaded.scenario, &loaded.written);
    let legs = &explanation.flows[0].legs;
    let ends: Vec<_> = legs.iter().map(|leg| (leg.from.as_str(), leg.to.as_str())).collect();
    assert_eq!(ends, [("server", "gateway"), ("gateway", "terminal")]);
    assert_eq!(legs.iter().map(|leg| leg.controller).collect::<Vec<_>>(), ["cubic", "hybla"]);
    assert_eq!(legs.iter().map(|leg| leg.propagation_rtt_ms).collect::<Vec<_>>(), [20.0, 500.0]);
    assert!(!explanation.warnings.iter().any(|one| one.kind == WarningKind::ProxyWithoutEffect));
    insta::assert_snapshot!(explanation.to_string());
}

/// The rate limits data that the gateway sends, and ACKs that it sends for data of the other
/// direction.
#[test]
fn explain_has_rates_that_connections_share_as_bottlenecks() {
    let proxy = r#"{ satellite = { towards = ["terminal"], controller = "hybla", rate = "4Mbit/s" }, terrestrial = { rate = "20kbit/s", burst = "2kB" } }"#;
    let loaded = Loaded::parse(&gateway(proxy), "p.toml", &[]).unwrap();
    let explanation = explain(&loaded.scenario, &loaded.written);
    let [first, second] = &*explanation.flows[0].legs else { panic!("two legs") };
    assert_eq!(first.bottleneck, "server -> gateway");
    assert_eq!(second.bottleneck, "gateway (satellite rate)");
    assert!((second.bottleneck_bps - 4e6).abs() < 1.0);
    assert!((second.bdp_bytes - 4e6 / 8.0 * second.base_rtt_ms / 1e3).abs() < 1.0);
    let whole = &explanation.flows[0].figures;
    assert_eq!(whole.bottleneck, "gateway (satellite rate)");
    assert_eq!(whole.return_bottleneck, "gateway (terrestrial rate)");
    assert!((whole.return_bottleneck_bps - 20e3).abs() < 1.0);
    // Bursts: 50 ms of the rate, and what is written.
    let text = explanation.to_string();
    assert!(text.contains("terrestrial connections share 20kbit/s, burst 2000B"), "{text}");
    assert!(text.contains("satellite connections share 4Mbit/s, burst 25000B"), "{text}");
}

/// A preset whose window is the product of rate and round trip takes the rate of the side.
#[test]
fn the_window_of_a_preset_is_that_of_the_shared_rate() {
    let of = |more: &str| {
        let towards = "towards = [\"terminal\"]";
        satellite(&format!("{{ preset = \"ck-stp\", satellite = {{ {towards}{more} }} }}")).1
    };
    let product = |rate: u64| rate * 500 / 8000;
    assert!(of(", rate = \"2Mbit/s\"").abs_diff(product(2_000_000)) < 500);
    assert_eq!(of(", rate = \"20Mbit/s\""), of(""), "the link is slower");
}

#[test]
fn a_split_that_does_not_help_is_reported() {
    let text = gateway("{ satellite = { towards = [\"terminal\"] } }");
    let loaded = Loaded::parse(&text, "p.toml", &[]).unwrap();
    let warnings = explain(&loaded.scenario, &loaded.written).warnings;
    assert!(warnings.iter().any(|one| one.kind == WarningKind::ProxyWithoutEffect), "{warnings:?}");
}

/// The recovery of a side needs what the other end of its leg offers.
#[test]
fn a_recovery_without_the_sack_that_it_needs_is_reported() {
    let found = |flow: &str| {
        let proxy = "{ satellite = { towards = [\"terminal\"], recovery = \"sack\" } }";
        let sets = [format!("flow.0.transport.recovery={flow}").parse().unwrap()];
        let loaded = Loaded::parse(&gateway(proxy), "p.toml", &sets).unwrap();
        let warnings = explain(&loaded.scenario, &loaded.written).warnings;
        let text = warnings.iter().find(|one| one.kind == WarningKind::ProxyWithoutSack);
        text.map(|one| one.message.clone())
    };
    for flow in ["sack", "linux"] {
        assert_eq!(found(flow), None);
    }
    let text = found("newreno").unwrap();
    assert!(
        text.contains("`recovery = \"sack\"` of its satellite side works as \"newreno\""),
        "{text}"
    );
}

/// Controller, window and recovery of the satellite side of a proxy.
fn satellite(proxy: &str) -> (String, u64, &'static str) {
    let scenario = Scenario::parse(&gateway(proxy), "p.toml", &[]).unwrap();
    let [one] = &scenario.flows[0].gateways[..] else { panic!("one gateway") };
    let [server, end] = &one.ends;
    assert_eq!(server.controller.entry().name, "cubic", "the other side is that of the flow");
    let controller = end.controller.build(&end.transport.plan().controller());
    let window = congestion::Controller::window(&controller).cwnd;
    (end.controller.entry().name.to_owned(), window, end.transport.recovery())
}

#[test]
fn presets_set_the_satellite_side_unless_it_is_written() {
    let of = |preset: &str, more: &str| {
        satellite(&format!(
            "{{ preset = {preset:?}, satellite = {{ towards = [\"terminal\"]{more} }} }}"
        ))
    };
    // 10 Mbit/s for 500 ms, 1500 bytes there and 52 bytes back.
    let product = 10_000_000_u64 * 500 / 8000 + 1500 + 52;
    assert_eq!(of("pepsal", ""), ("hybla".into(), 4 * 1448, "sack"));
    for (preset, more, recovery) in [
        ("ck-stp", "", "sack"),
        ("aerotcp", "", "newreno"),
        ("aerotcp", ", recovery = \"sack\"", "sack"),
    ] {
        let (controller, window, found) = of(preset, more);
        assert_eq!((controller.as_str(), found), ("ck-stp", recovery), "{preset}");
        assert!(window.abs_diff(product) <= 1, "{preset}: {window}, not {product}");
    }
    assert_eq!(of("ck-stp", ", controller = \"bbr\"").0, "bbr");
}

/// The text of `bentpipe path` about a preset names what it sets.
#[test]
fn the_summary_of_a_preset_has_the_controller_and_recovery_that_it_sets() {
    let presets = scenario::mechanisms().into_iter().filter(|one| one.key == "node.proxy");
    // Those that need a second gateway have tests of their own.
    for preset in presets.filter(|one| !["scps-gateway", "satpep"].contains(&one.name)) {
        let proxy =
            format!("{{ preset = {:?}, satellite = {{ towards = [\"terminal\"] }} }}", preset.name);
        let (controller, _, recovery) = satellite(&proxy);
        for (key, value) in [("controller", controller.as_str()), ("recovery", recovery)] {
            let setting = format!("`{key} = {value:?}`");
            assert!(preset.summary.contains(&setting), "{setting} in {:?}", preset.summary);
        }
    }
}

#[test]
fn explain_names_the_preset() {
    for (preset, shown) in [("preset = \"ck-stp\", ", " ck-stp"), ("", "")] {
        let text = gateway(&format!("{{ {preset}satellite = {{ towards = [\"terminal\"] }} }}"));
        let loaded = Loaded::parse(&text, "p.toml", &[]).unwrap();
        let explained = explain(&loaded.scenario, &loaded.written).to_string();
        assert!(explained.contains(&format!("split proxy{shown}: terrestrial")), "{explained}");
    }
}

/// Effect of an option of `flow.transport` on a gateway's end.
#[derive(Clone, Copy, PartialEq)]
enum Taken {
    /// The flow's option.
    Flow,
    /// The flow's, unless the side has these keys.
    Side(&'static str),
    /// Nothing: the option is one of the hosts.
    Hosts,
    /// Nothing: the flow is not split.
    Unsplit,
    /// Nothing: the side decides, or the flow is not split.
    Protocol,
}

/// Each option, TOML that other options need for it, and a value that is not its default.
const OPTIONS: [(&str, &str, &str, Taken); 36] = [
    ("protocol", "", "\"quic\"", Taken::Protocol),
    ("quic", "protocol = \"quic\",", "{ idle_timeout = \"9s\" }", Taken::Unsplit),
    ("recovery", "", "\"newreno\"", Taken::Side("recovery = \"sack\"")),
    ("ssthresh_basis", "", "\"cwnd\"", Taken::Flow),
    ("mss", "", "1000", Taken::Side("mss = 900")),
    ("receive_buffer", "", "\"1MB\"", Taken::Side("receive_buffer = \"100kB\"")),
    ("send_buffer", "", "\"1MB\"", Taken::Side("send_buffer = \"100kB\"")),
    ("window_scaling", "receive_buffer = \"60kB\",", "false", Taken::Flow),
    ("timestamps", "", "false", Taken::Flow),
    ("initial_window", "", "4", Taken::Side("initial_window = 20")),
    ("initial_ssthresh", "", "\"100kB\"", Taken::Flow),
    ("dupthresh", "", "2", Taken::Flow),
    ("abc_limit", "", "2", Taken::Flow),
    ("window_validation", "", "false", Taken::Flow),
    ("persist_timeout", "", "\"2s\"", Taken::Flow),
    ("max_retries", "", "5", Taken::Flow),
    ("keep_alive", "", "{}", Taken::Flow),
    ("user_timeout", "", "\"60s\"", Taken::Flow),
    ("pacing", "", "\"linux\"", Taken::Flow),
    (
        "duplicate_window",
        "recovery = \"newreno\",",
        "\"sender\"",
        Taken::Side("recovery = \"sack\""),
    ),
    (
        "recovery_exit",
        "recovery = \"newreno\",",
        "\"flight-size\"",
        Taken::Side("recovery = \"sack\""),
    ),
    ("limited_transmit", "", "false", Taken::Flow),
    ("nagle", "", "true", Taken::Flow),
    ("idle_restart", "", "false", Taken::Flow),
    ("dsack", "recovery = \"sack\",", "true", Taken::Flow),
    ("mtu_probing", "", "\"always\"", Taken::Flow),
    ("careful_resume", "", "{ saved_cwnd = \"1MB\", saved_rtt = \"500ms\" }", Taken::Hosts),
    ("quick_start", "", "\"1Mbit/s\"", Taken::Flow),
    ("eln", "", "true", Taken::Flow),
    ("ack_control", "", "true", Taken::Flow),
    ("receive_offload", "", "{}", Taken::Flow),
    ("sack_compression", "", "{}", Taken::Flow),
    ("delayed_ack", "", "\"off\"", Taken::Flow),
    ("rto", "", "{ min = \"500ms\" }", Taken::Flow),
    ("ecn", "", "true", Taken::Flow),
    ("reader_rate", "", "\"1Mbit/s\"", Taken::Hosts),
];

/// The settings of the flow and of the gateway's ends, line by line; none of a gateway that does
/// not split it.
fn settings(options: &str, satellite: &str) -> (Vec<String>, Option<[Vec<String>; 2]>) {
    let proxy = format!("{{ satellite = {{ towards = [\"terminal\"], {satellite} }} }}");
    let text = gateway(&proxy).replace("initial_window = 4", options);
    // A proxy that splits no flow is rejected.
    let other = text.replace(&format!("transport = {{ {options} }}\n"), "");
    let (_, other) = other.split_once("[[flow]]").unwrap();
    let text = format!("{text}[[flow]]{other}");
    let scenario = Scenario::parse(&text, "p.toml", &[]).unwrap();
    let lines =
        |transport: &Transport| format!("{transport:#?}").lines().map(str::to_owned).collect();
    let flow = &scenario.flows[0];
    let ends = flow.gateways.first();
    let ends = ends.map(|one| one.ends.each_ref().map(|end| lines(&end.transport)));
    (lines(&flow.transport), ends)
}

/// Lines that an option has changed, with what they have become.
fn changed(before: &[String], after: &[String]) -> Vec<String> {
    after.iter().filter(|line| !before.contains(line)).cloned().collect()
}

#[test]
fn ends_of_gateways_take_over_each_option_as_the_page_has_it() {
    let schema =
        &scenario::cached_schema()["properties"]["flow"]["items"]["properties"]["transport"];
    let keys: BTreeSet<_> =
        language::shape::alternatives(schema).into_iter().flat_map(language::shape::keys).collect();
    let mut listed: BTreeSet<_> = OPTIONS.iter().map(|(key, ..)| *key).collect();
    // Each leg has another first sequence number, so that captures show which it is.
    listed.insert("initial_sequence");
    // Gateways split TCP only, and a side has its own settings of SCPS-TP.
    listed.extend(Protocol::ALL.iter().filter_map(|protocol| protocol.entry().table));
    assert_eq!(keys, listed);
    let page = include_str!("../../../../docs/path.md");
    for (key, needs, value, taken) in OPTIONS {
        let with = format!("{needs} {key} = {value}");
        let words = match taken {
            Taken::Flow => "that of the flow",
            Taken::Side(_) => "that of the flow, unless the side decides",
            Taken::Hosts => "of the hosts only",
            Taken::Unsplit => "the flow crosses unsplit",
            Taken::Protocol => {
                "of the side; with other protocols than TCP and SCPS-TP the flow crosses unsplit"
            }
        };
        let row = format!("| `{key}` | {words} |");
        assert!(page.contains(&row), "docs/path.md has no {row}");
        let ((flow, ends), (flow_with, ends_with)) = (settings(needs, ""), settings(&with, ""));
        if matches!(taken, Taken::Unsplit | Taken::Protocol) {
            assert!(ends_with.is_none(), "{key}");
            continue;
        }
        let (ends, ends_with) = (ends.unwrap(), ends_with.unwrap());
        let of_flow = changed(&flow, &flow_with);
        assert!(!of_flow.is_empty(), "{key}: {value} is the default");
        for (end, end_with) in ends.iter().zip(&ends_with) {
            let expected = if taken == Taken::Hosts { &[][..] } else { &of_flow };
            assert_eq!(changed(end, end_with), expected, "{key}");
        }
        if let Taken::Side(own) = taken {
            let [(_, alone), (_, both)] = [settings(needs, own), settings(&with, own)];
            let [[_, alone], [other, both]] = [alone.unwrap(), both.unwrap()];
            assert_eq!(changed(&alone, &both), Vec::<String>::new(), "{key} with {own}");
            assert_eq!(other, ends_with[0], "{key}: the other side has that of the flow");
        }
    }
}
