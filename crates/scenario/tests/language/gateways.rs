//! Gateways at both ends of the satellite: protocols of their sides, and the preset for them.

use congestion::Controller as _;
use middlebox::SideName;
use tcp::{Recovery, SnackForm};
use transport::Protocol;
use units::{Bytes, Rate, SizeLimit, Span};

use explain::explain;
use scenario::Loaded;
use scenario::model::{GatewayEnd, Scenario, Transport};

/// Two hosts behind two gateways. `hub` and `terminal` are TOML of their proxies, on lines 4 and 7.
fn text(hub: &str, terminal: &str) -> String {
    let of = |name: &str, proxy: &str| match proxy {
        "" => format!("[[node]]\nname = {name:?}\n\n"),
        proxy => format!("[[node]]\nname = {name:?}\nproxy = {proxy}\n"),
    };
    format!(
        r#"
{}{}
[[link]]
between = ["server", "hub"]
rate = "100Mbit/s"
delay = "10ms"
[[link]]
between = ["hub", "terminal"]
forward = {{ rate = "10Mbit/s", overhead = "100B" }}
backward = {{ rate = "2Mbit/s" }}
delay = "250ms"
[[link]]
between = ["terminal", "client"]
rate = "100Mbit/s"
delay = "1ms"
[[flow]]
from = "server"
to = "client"
controller = "cubic"
traffic = {{ download = "1MB" }}
"#,
        of("hub", hub),
        of("terminal", terminal)
    )
}

/// A proxy towards a neighbour with these keys of its satellite side, and others.
fn proxy(neighbour: &str, satellite: &str, keys: &str) -> String {
    format!("{{ satellite = {{ towards = [{neighbour:?}], {satellite} }}, {keys} }}")
}

/// The same at both gateways.
fn both(satellite: &str, keys: &str) -> String {
    text(&proxy("terminal", satellite, keys), &proxy("hub", satellite, keys))
}

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "g.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

fn refused(text: &str) -> String {
    Scenario::parse(text, "g.toml", &[]).unwrap_err().to_string()
}

/// Ends of the hub: towards the server, and towards the terminal.
fn ends(scenario: &Scenario) -> &[GatewayEnd; 2] {
    &scenario.flows[0].gateways[0].ends
}

const SCPS: &str = "protocol = \"scps-tp\"";
const PRESET: &str = "preset = \"scps-gateway\"";

#[test]
fn the_preset_has_the_recipe_of_the_manual() {
    let scenario = parse(&both("", PRESET));
    let [terrestrial, satellite] = ends(&scenario);
    assert_eq!([terrestrial.side, satellite.side], SideName::ALL);
    let scps = satellite.transport.scps().unwrap();
    assert_eq!(
        (scps.snack, satellite.transport.tcp().unwrap().recovery),
        (SnackForm::Simple, Recovery::Snack)
    );
    assert_eq!(satellite.controller.entry().name, "none");
    assert!(terrestrial.transport.scps().is_none());
    assert_eq!(terrestrial.controller.entry().name, "reno");
    assert_eq!(terrestrial.transport.tcp().unwrap().receive_buffer, Bytes(32 << 10));
    // Two products of the rate and the round trip, with the times of a full packet and its ACK.
    let rtt = 0.5 + 1500.0 * 8.0 / 10e6 + 52.0 * 8.0 / 2e6;
    let buffers = [
        satellite.transport.tcp().unwrap().send_buffer.get(),
        satellite.transport.tcp().unwrap().receive_buffer.get(),
    ];
    for (buffer, rate) in buffers.into_iter().zip([10e6, 2e6]) {
        let product = 2.0 * rtt * rate / 8.0;
        assert!((buffer as f64 - product).abs() < 3.0, "{buffer}, not {product}");
    }
    let least = satellite.transport.tcp().unwrap().rto.min;
    assert!(least.abs_diff(Span::from_secs_f64(rtt)) < Span::from_millis(1), "{least}");
    // Each gateway sends at the rate of its direction of the link, for IP packets.
    let rates = scenario.nodes.iter().filter_map(|node| node.proxy.as_ref());
    let rates: Vec<_> = rates.map(|proxy| proxy.shared_rates).collect();
    let expected = [10_000_000 * 1500 / 1600, 2_000_000].map(Rate::from_bits_per_second);
    let found = [0, 1].map(|place| rates[place][SideName::Satellite.index()].unwrap().rate);
    assert_eq!(found, expected);
    assert!(rates.iter().all(|of| of[SideName::Terrestrial.index()].is_none()));
}

#[test]
fn satpep_measures_a_rate_and_takes_losses_for_errors() {
    let satpep = "preset = \"satpep\"";
    let scenario = parse(&both("", satpep));
    let [terrestrial, satellite] = ends(&scenario);
    assert_eq!(terrestrial.controller.entry().name, "cubic");
    assert_eq!(satellite.controller.entry().name, "link-share");
    let scps = satellite.transport.scps().unwrap();
    assert_eq!((scps.cause, scps.snack), (tcp::Cause::Corruption, SnackForm::Vector));
    let node = scenario.nodes.iter().find_map(|node| node.proxy.as_ref()).unwrap();
    let shared = node.shared_rates[SideName::Satellite.index()].unwrap();
    assert_eq!(shared.rate, Rate::from_bits_per_second(9_375_000));
    // One gateway alone has nobody who understands its reports.
    let error = refused(&text(&proxy("terminal", "", satpep), ""));
    assert!(error.starts_with("g.toml:4:") && error.contains("second proxy"), "{error}");
    // Nobody chooses its window without the measurement.
    assert!(refused(&both("controller = \"link-share\"", "")).contains("controller"));
}

#[test]
fn what_is_written_comes_before_the_preset() {
    let keys = "controller = \"vegas\", rate = \"1Mbit/s\", burst = \"9kB\", send_buffer = \"100kB\", \
                scps = { cause = \"corruption\" }";
    let scenario =
        parse(&both(keys, &format!("{PRESET}, terrestrial = {{ controller = \"cubic\" }}")));
    let [terrestrial, satellite] = ends(&scenario);
    assert_eq!(terrestrial.controller.entry().name, "cubic");
    assert_eq!(satellite.controller.entry().name, "vegas");
    let scps = satellite.transport.scps().unwrap();
    assert_eq!((scps.cause, scps.snack), (tcp::Cause::Corruption, SnackForm::Vector));
    assert_eq!(satellite.transport.tcp().unwrap().send_buffer.size(), Some(Bytes(100_000)));
    let proxy = scenario.nodes.iter().find_map(|node| node.proxy.as_ref()).unwrap();
    let shared = proxy.shared_rates[SideName::Satellite.index()].unwrap();
    assert_eq!((shared.rate, shared.burst), (Rate::from_bits_per_second(1_000_000), Bytes(9000)));
    let tcp = parse(&both("protocol = \"tcp\", controller = \"hybla\"", PRESET));
    assert!(ends(&tcp)[1].transport.scps().is_none());
}

/// Settings that only TCP has do not follow a flow of TCP to a leg of SCPS-TP, nor the other way.
#[test]
fn each_protocol_has_its_own_settings_on_its_legs() {
    let only_tcp = "transport = { dupthresh = 9, dsack = true, pacing = \"linux\", mtu_probing = \"always\", \
                    delayed_ack = \"linux\", quick_start = \"1Mbit/s\", initial_window = 4 }\ntraffic";
    let legs = both(&format!("{SCPS}, controller = \"reno\""), "");
    let scenario = parse(&legs.replace("traffic", only_tcp));
    let [terrestrial, satellite] =
        ends(&scenario).each_ref().map(|end| &**end.transport.tcp().unwrap());
    assert_eq!((terrestrial.dupthresh, terrestrial.dsack), (9, true));
    let default = tcp::Config::default();
    let own = |config: &tcp::Config| {
        let tcp::Config { dupthresh, dsack, pacing, mtu_probing, delayed_ack, quick_start, .. } =
            config;
        (*dupthresh, *dsack, *pacing, *mtu_probing, *delayed_ack, *quick_start)
    };
    assert_eq!(own(satellite), own(&default));
    assert_eq!((satellite.initial_window, satellite.limited_transmit), (4, false));
    assert_eq!(satellite.rto.min, Span::from_millis(250));
    // Hosts with SCPS-TP, and TCP on the satellite.
    let hosts = "controller = \"reno\"\ntransport = { protocol = \"scps-tp\" }";
    let keys = format!("terrestrial = {{ {SCPS} }}");
    let scenario = parse(&both("", &keys).replace("controller = \"cubic\"", hosts));
    let [terrestrial, satellite] =
        ends(&scenario).each_ref().map(|end| &**end.transport.tcp().unwrap());
    assert_eq!(
        terrestrial,
        &tcp::Config {
            reads_at_once: false,
            send_buffer: SizeLimit::of(Bytes(4 << 20)),
            ..(**scenario.flows[0].transport.tcp().unwrap()).clone()
        }
    );
    assert_eq!((satellite.recovery, satellite.limited_transmit), (Recovery::Sack, true));
    assert_eq!((satellite.rto.min, satellite.scps), (Span::from_secs(1), None));
}

#[test]
fn ends_of_a_leg_with_different_protocols_are_refused_where_the_other_protocol_is_set() {
    let one = proxy("terminal", SCPS, "");
    let preset = proxy("terminal", "", PRESET);
    let host = |text: String| {
        text.replace("traffic", "transport = { protocol = \"scps-tp\" }\ntraffic")
            .replace("cubic", "reno")
    };
    for (text, place, words) in [
        (
            text(&one, ""),
            "g.toml:4:60",
            "expected a second proxy with the same protocol before the host \"client\"",
        ),
        (text(&preset, ""), "g.toml:4:", "the host \"client\" has protocol = \"tcp\""),
        (
            text(&one, &proxy("hub", "", "")),
            "g.toml:4:60",
            "expected the satellite side of \"terminal\" with the same protocol",
        ),
        (
            host(text(&proxy("terminal", "", ""), "")),
            "g.toml:26:26",
            "the terrestrial side of \"hub\" has protocol = \"tcp\"",
        ),
        (host(text(&one, "")), "g.toml:26:26", "the terrestrial side of \"hub\""),
    ] {
        let error = refused(&text);
        assert!(error.starts_with(place) && error.contains(words), "{error}");
    }
    // One gateway alone is enough if all ends speak SCPS-TP.
    parse(&host(text(&proxy("terminal", SCPS, &format!("terrestrial = {{ {SCPS} }}")), "")));
}

#[test]
fn settings_of_a_side_that_do_not_fit_its_protocol_are_refused() {
    let saved = "{ saved_cwnd = \"1MB\", saved_rtt = \"500ms\" }";
    for (satellite, place, words) in [
        (format!("{SCPS}, recovery = \"sack\""), "recovery", "no `recovery` with protocol"),
        (format!("{SCPS}, careful_resume = {saved}"), "careful_resume", "is a setting of TCP"),
        ("scps = {}".to_owned(), "scps", "no `scps` with protocol = \"tcp\""),
        (
            "controller = \"none\", rate = \"1Mbit/s\"".to_owned(),
            "controller",
            "it is for protocol",
        ),
        (format!("{SCPS}, controller = \"none\""), "controller", "nothing would bound the sender"),
        (
            format!("{SCPS}, scps = {{ rate = \"1Mbit/s\" }}"),
            "scps.rate",
            "the rate of the route is `satellite.rate`",
        ),
        (
            format!("{SCPS}, scps = {{ outage_timeouts = 20 }}"),
            "scps.outage_timeouts",
            "max_retries",
        ),
        (format!("{SCPS}, burst = \"9kB\""), "burst", "`rate` with it"),
        ("protocol = \"stp\"".to_owned(), "protocol", "\"tcp\", \"scps-tp\" or \"quic\""),
    ] {
        let error = refused(&both(&satellite, ""));
        let place = format!("node[0].proxy.satellite.{place}");
        assert!(error.contains(&place) && error.contains(words), "{satellite}: {error}");
    }
    // Any rate bounds a sender without congestion control.
    for rate in ["rate", "pacing_rate"] {
        parse(&both(&format!("{SCPS}, controller = \"none\", {rate} = \"1Mbit/s\""), ""));
    }
}

#[test]
fn legs_with_different_rates_need_a_written_one() {
    let more = r#"
[[link]]
between = ["hub", "other"]
rate = "3Mbit/s"
delay = "250ms"
[[node]]
name = "other"
proxy = { preset = "scps-gateway", satellite = { towards = ["hub"] } }
[[link]]
between = ["other", "guest"]
rate = "100Mbit/s"
delay = "1ms"
[[flow]]
from = "server"
to = "guest"
controller = "cubic"
traffic = { download = "1MB" }
"#;
    let hub = |rate: &str| {
        let proxy =
            format!("{{ {PRESET}, satellite = {{ towards = [\"terminal\", \"other\"]{rate} }} }}");
        text(&proxy, &proxy_of_terminal()) + more
    };
    let error = refused(&hub(""));
    let words = "expected `satellite.rate` with it, as legs have different rates, found \"scps-gateway\" and legs of \
                 9.375Mbit/s and 3Mbit/s";
    assert!(error.contains(words), "{error}");
    parse(&hub(", rate = \"3Mbit/s\""));
}

fn proxy_of_terminal() -> String {
    proxy("hub", "", PRESET)
}

const QUIC: &str = "protocol = \"quic\"";

#[test]
fn quic_has_its_own_settings_between_gateways() {
    let keys = format!("{QUIC}, controller = \"bbr\", quic = {{ send_window = \"3MB\" }}");
    let scenario = parse(&both(&keys, ""));
    let [terrestrial, satellite] = ends(&scenario);
    assert!(terrestrial.transport.is_tcp());
    assert_eq!([terrestrial, satellite].map(GatewayEnd::protocol), [Protocol::Tcp, Protocol::Quic]);
    let Transport::Quic(settings) = &satellite.transport else {
        panic!("{:?}", satellite.transport)
    };
    assert_eq!(settings.send_window, Bytes(3_000_000));
    assert_eq!(satellite.controller.entry().name, "bbr");
    assert!(!scenario.flows[0].has_tcp_only());
    // A side without a controller takes over that of the flow.
    assert_eq!(ends(&parse(&both(QUIC, "")))[1].controller.entry().name, "cubic");
    let loaded = Loaded::parse(&both(QUIC, ""), "g.toml", &[]).unwrap();
    let explanation = explain(&loaded.scenario, &loaded.written);
    let protocols = explanation.flows[0].legs.iter().map(|leg| leg.protocol);
    assert_eq!(protocols.collect::<Vec<_>>(), ["tcp", "quic", "tcp"]);
    // quinn's window of a stream.
    assert_eq!(explanation.flows[0].legs[1].window_bytes, 1_250_000);
}

/// With the place, the key, and what is possible.
#[test]
fn legs_of_quic_that_cannot_be_are_refused() {
    let both = |keys: &str, others: &str| both(&format!("{QUIC}, {keys}"), others);
    let tickets = |zero_rtt: bool| format!("{QUIC}, quic = {{ zero_rtt = {zero_rtt} }}");
    let middlebox = "[[node]]\nname = \"server\"\nmiddlebox = \"ack-filter\"\n";
    for (text, key, expected) in [
        (both("mss = 1000", ""), "satellite.mss", "it is a setting of TCP, and quic has `quic`"),
        (both("send_buffer = \"1MB\"", ""), "satellite.send_buffer", "no `send_buffer`"),
        (both("receive_buffer = \"1MB\"", ""), "satellite.receive_buffer", "no `receive_buffer`"),
        (both("initial_window = 9", ""), "satellite.initial_window", "no `initial_window`"),
        (both("recovery = \"sack\"", ""), "satellite.recovery", "no `recovery`"),
        (both("scps = {}", ""), "satellite.scps", "it has the settings of protocol = \"scps-tp\""),
        (super::gateways::both("quic = {}", ""), "satellite.quic", "protocol = \"quic\""),
        (both("controller = \"xcp\"", ""), "satellite.controller", "runs over QUIC"),
        (both("quic = { ack_delay = \"1ms\" }", ""), "quic.ack_delay", "ack_threshold too"),
        (
            text(&proxy("terminal", QUIC, ""), &proxy("hub", "", "")),
            "satellite.protocol",
            "the satellite side of \"terminal\" with the same protocol",
        ),
        (
            text(&proxy("terminal", QUIC, ""), ""),
            "satellite.protocol",
            "a second proxy with the same protocol before the host \"client\", found",
        ),
        (
            text(&proxy("terminal", &tickets(true), ""), &proxy("hub", &tickets(false), "")),
            "satellite.quic.zero_rtt",
            "true, as at the satellite side of \"hub\"",
        ),
        (both("", "limits = { connections = 5 }"), "limits.at_limit", "nothing crosses it unsplit"),
        (both("", "") + middlebox, "satellite.protocol", "knows packets of TCP only"),
    ] {
        let error = refused(&text);
        assert!(error.contains(key) && error.contains(expected), "{key}: {error}");
    }
    parse(&both("", "limits = { connections = 5, at_limit = \"refuse\" }"));
}

#[test]
fn explain_names_flows_that_cross_unsplit() {
    for protocol in ["quic", "stp"] {
        let other = format!(
            "[[flow]]\nname = \"other\"\nfrom = \"server\"\nto = \"client\"\ncontroller = \"newreno\"\n\
             transport = {{ protocol = {protocol:?} }}\ntraffic = {{ download = \"1MB\" }}\n"
        );
        let text = both("", PRESET) + &other;
        let loaded = Loaded::parse(&text, "g.toml", &[]).unwrap();
        let explanation = explain(&loaded.scenario, &loaded.written);
        let proxies: Vec<_> =
            explanation.nodes.iter().filter_map(|one| one.proxy.as_ref()).collect();
        assert_eq!(proxies.len(), 2);
        assert!(proxies.iter().all(|one| one.splits == ["flow-0"] && one.unsplit == ["other"]));
        assert!(explanation.flows[1].legs.is_empty());
        let text = explanation.to_string();
        assert!(
            text.contains("splits flow-0, not other (its protocol is no TCP); accept"),
            "{text}"
        );
    }
}

#[test]
fn explain_names_the_protocol_of_each_leg_and_the_rate() {
    let loaded = Loaded::parse(&both("", PRESET), "g.toml", &[]).unwrap();
    let explanation = explain(&loaded.scenario, &loaded.written);
    let legs = &explanation.flows[0].legs;
    let found: Vec<_> = legs.iter().map(|leg| (leg.protocol, leg.controller)).collect();
    assert_eq!(found, [("tcp", "cubic"), ("scps-tp", "none"), ("tcp", "reno")]);
    let text = explanation.to_string();
    assert!(text.contains("scps-tp, none: round trip 50"), "{text}");
    assert!(text.contains("satellite connections share 9.38Mbit/s"), "{text}");
    assert!(text.contains("split proxy scps-gateway: "), "{text}");
    let none = ends(&loaded.scenario)[1]
        .controller
        .build(&loaded.scenario.flows[0].transport.plan().controller());
    assert!(none.window().cwnd > 1 << 29);
}

/// A relay joins what is before and behind a hole: neither sides nor hosts of a flow that is split
/// give data up.
#[test]
fn no_data_is_given_up_where_a_gateway_splits() {
    let words = "expected no `best_effort` where a proxy splits connections, found the key: its relay would join what is \
                 before and behind a hole";
    let best_effort = "scps = { best_effort = { retransmissions = 0 } }";
    let found = refused(&both(&format!("{SCPS}, {best_effort}"), ""));
    let place = "node[0].proxy.satellite.scps.best_effort";
    assert!(found.contains("g.toml:4:") && found.contains(place), "{found}");
    assert!(found.contains(words), "{found}");
    // Hosts that speak SCPS-TP with the gateways.
    let all = format!(
        "{{ terrestrial = {{ towards = [\"server\"], {SCPS} }}, satellite = {{ {SCPS} }} }}"
    );
    let hosts = text(&all, "").replace(
        "controller = \"cubic\"",
        &format!("controller = \"cubic\"\ntransport = {{ {SCPS}, {best_effort} }}"),
    );
    let found = refused(&hosts);
    assert!(
        found.contains("flow[0].transport.scps.best_effort") && found.contains(words),
        "{found}"
    );
    parse(&hosts.replace(best_effort, "scps = {}"));
    // No gateway splits this one.
    parse(&hosts.replace(&format!("proxy = {all}\n"), ""));
}
