//! Beams: terminals as ends of flows, what is refused, and what is shown before a run.

use std::collections::BTreeSet;

use explain::{WarningKind, explain};
use scenario::{Loaded, Scenario};

/// A beam with two groups and a flow to each. `forward`, `back` and `group` are TOML.
fn text(forward: &str, back: &str, group: &str, flow: &str) -> String {
    format!(
        r#"
duration = "10s"
[[link]]
between = ["server", "gateway"]
rate = "1Gbit/s"
delay = "10ms"
[[beam]]
name = "spot"
gateway = "gateway"
forward = {{ {forward} }}
return = {{ {back} }}
[[beam.group]]
name = "home"
terminals = 20
es_n0 = 6.5
return_es_n0 = 8.5
{group}
[[beam.group]]
name = "office"
terminals = 5
es_n0 = 13.0
return_es_n0 = 8.5
[[flow]]
name = "a"
from = "server"
to = "home"
controller = "reno"
traffic = {{ download = "1MB" }}
{flow}
[[flow]]
name = "b"
from = "office-5"
to = "server"
controller = "reno"
traffic = {{ bulk = "1MB" }}
"#
    )
}

fn refused(text: &str) -> String {
    Scenario::parse(text, "beam.toml", &[]).expect_err("it is refused").to_string()
}

#[test]
fn a_group_stands_for_a_flow_of_each_terminal() {
    let text = text("", "", "", "count = 2\nspread = \"4s\"");
    let scenario = Scenario::parse(&text, "beam.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scenario.flows.len(), 41);
    assert_eq!((scenario.linked_nodes(), scenario.nodes.len()), (2, 27));
    let ends: Vec<_> =
        scenario.flows.iter().map(|flow| scenario.nodes[flow.to].name.as_str()).collect();
    assert_eq!(&ends[..3], ["home-1", "home-1", "home-2"]);
    assert_eq!(ends[39], "home-20");
    let last = &scenario.flows[40];
    assert_eq!(scenario.nodes[last.from].name, "office-5");
    let starts = [0, 1, 39].map(|flow: usize| scenario.flows[flow].start.as_millis_f64());
    assert_eq!(starts, [0.0, 100.0, 3900.0]);
}

#[test]
fn the_flow_of_a_group_of_one_terminal_may_be_spread() {
    let text = text("", "", "", "spread = \"4s\"").replace("terminals = 20", "terminals = 1");
    let scenario = Scenario::parse(&text, "beam.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(scenario.flows[0].start.as_millis_f64(), 0.0);
}

#[test]
fn what_cannot_be_is_refused_with_place_and_expectation() {
    let cases = [
        (
            text("", "", "", "spread = \"4s\"").replace("to = \"home\"", "to = \"home-1\""),
            "flow[0].spread",
        ),
        (text("", "", "", "").replace("to = \"home\"", "to = \"hom\""), "did you mean \"home\""),
        (text("", "", "", "").replace("to = \"home\"", "to = \"home-21\""), "flow[0].to"),
        (text("", "", "", "").replace("to = \"home\"", "to = \"server-1\""), "flow[0].to"),
        (text("", "", "", "").replace("to = \"home\"", "to = \"office\""), "a group with traffic"),
        (
            text("", "", "", "").replace(
                "from = \"office-5\"\nto = \"server\"",
                "from = \"office\"\nto = \"home\"",
            ),
            "flow[1].to",
        ),
        (
            text("", "", "", "").replace("gateway = \"gateway\"", "gateway = \"gatewy\""),
            "beam[0].gateway",
        ),
        (
            text("", "", "", "").replace("name = \"office\"", "name = \"home\""),
            "beam[0].group[1].name",
        ),
        (
            text("", "", "", "").replace("name = \"office\"", "name = \"home-3\""),
            "beam[0].group[1].name",
        ),
        (text("", "", "", "").replace("es_n0 = 6.5", "es_n0 = -5"), "at least -1.85 dB"),
        (
            text("", "", "", "").replacen("return_es_n0 = 8.5", "return_es_n0 = -5", 1),
            "at least -0.01 dB with these bursts",
        ),
        (text("", "frame = \"1ms\"", "", ""), "beam[0].return.frame"),
        (text("frames = \"short\", modem = \"dvb-s2x\"", "", "", ""), "beam[0].forward.frames"),
        (text("buffer = \"100B\"", "", "", ""), "beam[0].forward.buffer"),
        (text("", "buffer = \"100B\"", "", ""), "beam[0].return.buffer"),
        (text("", "", "cra = \"1Mbit/s\"", ""), "constant assignment of all terminals takes"),
        (
            text("", "", "cra = \"3Mbit/s\"", "")
                .replace("terminals = 20", "terminals = 1")
                .replace("to = \"home\"", "to = \"home-1\""),
            "one carrier at a time",
        ),
        (text("", "", "requests = \"none\"", ""), "beam[0].group[0].requests"),
        (text("", "", "plan = {}", ""), "beam[0].group[0].plan"),
        (text("", "", "plan = { down = {} }", ""), "beam[0].group[0].plan.down"),
        (text("", "", "cell = \"a\"", ""), "beam[0].group[0].cell"),
        (text("aqm = \"red\"", "", "", ""), "beam[0].forward.aqm"),
        (text("scheduler = \"fifo\", aqm = \"fq-codel\"", "", "", ""), "beam[0].forward.aqm"),
        (
            text("", "", "requests = \"vbdc\"\nmax_rate = \"1Mbit/s\"", ""),
            "beam[0].group[0].max_rate",
        ),
        (
            text("", "", "requests = \"none\"\nfca = true\nweight = 2", ""),
            "beam[0].group[0].weight",
        ),
        (text("", "", "terminal = 3", ""), "did you mean"),
        (
            text("", "", "host = \"linux-6.18\"", "transport = { protocol = \"quic\" }"),
            "beam[0].group[0].host",
        ),
        (text("", "", "", "").replace("terminals = 20", "terminals = 19999"), "at most 1"),
    ];
    for (text, expected) in cases {
        let found = refused(&text);
        assert!(found.contains(expected) && found.contains("beam.toml:"), "{expected}\n{found}");
    }
}

/// Keys of requests without any.
#[test]
fn keys_without_effect_are_refused() {
    let none = "requests = \"none\"\nfca = true";
    for key in ["memory = \"1s\"", "period = \"1s\"", "over_request = 2", "control_delay = \"1s\""]
    {
        let text =
            text("", key, none, "").replace("terminals = 5", &format!("terminals = 5\n{none}"));
        let name = key.split(' ').next().unwrap();
        assert!(refused(&text).contains(&format!("beam[0].return.{name}")), "{key}");
    }
}

/// A tunnel, the proxies and middleboxes that it hides the flow from, and middleboxes of terminals.
#[test]
fn explain_shows_tunnels_and_middleboxes_of_terminals() {
    let nodes = |gateway: &str, home: &str| {
        let node = |name: &str, keys: &str| format!("[[node]]\nname = \"{name}\"\n{keys}\n\n");
        let nodes = node("gateway", gateway) + &node("home", home);
        text("scheduler = \"equal-rate\", aqm = \"fq-codel\"", "", "", "tunnel = \"wireguard\"")
            .replace("[[beam]]", &format!("{nodes}[[beam]]"))
    };
    let explained = |text: &str| {
        let loaded = Loaded::parse(text, "beam.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
        explain(&loaded.scenario, &loaded.written)
    };
    let proxy = "proxy = \"pepsal\"";
    let found = explained(&nodes(proxy, proxy));
    let tunnel = found.flows[0].tunnel.as_ref().unwrap();
    assert_eq!((tunnel.from.as_str(), tunnel.to.as_str()), ("server", "home-1"));
    let hidden: BTreeSet<_> = tunnel.hidden_from.iter().map(String::as_str).collect();
    assert_eq!(
        hidden,
        BTreeSet::from([
            "the split proxy at gateway",
            "the split proxy at home-1",
            "fq-codel on the forward carrier of spot",
        ])
    );
    // One round trip over the links and the beam.
    assert!((tunnel.set_up_ms - 520.0).abs() < 1.0, "{}", tunnel.set_up_ms);
    let at_home = found.nodes.iter().find(|node| node.name == "home").unwrap();
    assert_eq!(at_home.proxy.as_ref().unwrap().hidden, [found.flows[0].name.clone()]);
    // Without the tunnel they see the flow.
    let plain = nodes("middlebox = \"ack-reconstruction\"", "middlebox = \"ack-filter\"")
        .replace("tunnel = \"wireguard\"", "");
    let found = explained(&plain);
    for (name, data) in [("gateway", true), ("home", false)] {
        let node = found.nodes.iter().find(|node| node.name == name).unwrap();
        let middlebox = node.middlebox.as_ref().unwrap();
        assert_eq!((middlebox.data_of.is_empty(), middlebox.acks_of.is_empty()), (!data, false));
    }
    let useless = |text: &str| {
        let warnings = explained(text).warnings;
        let kind = WarningKind::MiddleboxWithoutEffect;
        warnings.iter().filter(|one| one.kind == kind).count()
    };
    assert_eq!(useless(&plain), 0);
    // No loss is behind a terminal with downloads.
    let snoop = plain.replace("middlebox = \"ack-filter\"", "middlebox = \"snoop\"");
    assert_eq!(useless(&snoop), 2, "and nothing thins out the ACKs");
    assert_eq!(useless(&plain.replace("middlebox = \"ack-filter\"", "proxy = \"none\"")), 1);
}

/// The example of the documentation: 125 MHz, 20 % of the terminals at QPSK 1/2, 50 % at 8PSK 2/3
/// and 30 % at 16APSK 3/4 have 183.0 and 211.4 Mbit/s, of which 0.7 % are headers and cuts.
#[test]
fn explain_shows_both_capacities_and_the_delay_of_a_grant() {
    let group = |name: &str, terminals: u32, es_n0: f64| {
        format!(
            "[[beam.group]]\nname = \"{name}\"\nterminals = {terminals}\nes_n0 = {es_n0}\n\
             return_es_n0 = 8.5\nrequests = \"vbdc\"\n"
        )
    };
    let flow = |to: &str| {
        format!(
            "[[flow]]\nfrom = \"server\"\nto = \"{to}\"\ncontroller = \"reno\"\n\
             traffic = {{ bulk = \"unlimited\" }}\n"
        )
    };
    let text =
        "[[link]]\nbetween = [\"server\", \"gateway\"]\nrate = \"1Gbit/s\"\ndelay = \"10ms\"\n\
         [[beam]]\nname = \"spot\"\ngateway = \"gateway\"\n\
         forward = { modem = { name = \"dvb-s2\", bandwidth = 125e6, margin = 0.0 } }\n\
         return = { control_delay = \"800ms\" }\n"
            .to_owned()
            + &group("low", 20, 1.0)
            + &group("middle", 50, 6.62)
            + &group("high", 30, 10.21)
            + &["low", "middle", "high"].map(flow).concat();
    let loaded = Loaded::parse(&text, "beam.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    let explanation = explain(&loaded.scenario, &loaded.written);
    let beam = &explanation.beams[0];
    assert!((beam.equal_rate_bps / 183.0e6 - 0.993).abs() < 1e-3, "{}", beam.equal_rate_bps);
    assert!((beam.equal_airtime_bps / 211.4e6 - 0.994).abs() < 1e-3, "{}", beam.equal_airtime_bps);
    assert!((beam.groups[0].airtime - 0.364).abs() < 1e-3, "{}", beam.groups[0].airtime);
    // Half a frame of 100 ms, eight frames of the loop, and a slot of 1616 symbols.
    let slot = 1616.0 / (1.25e6 / 1.2 / 1.3) * 1e3;
    assert!((beam.groups[0].ack_delay_ms - 850.0 - slot).abs() < 1e-6);
    let first = &explanation.flows[0];
    assert_eq!(first.route, ["server", "gateway", "low-1"]);
    assert_eq!(first.figures.bottleneck, "forward carrier of spot");
    assert!(first.figures.base_rtt_ms > 520.0 + 850.0, "{}", first.figures.base_rtt_ms);
    assert!(explanation.to_string().contains("Beam spot: 100 terminals behind gateway"));
}

#[test]
fn a_group_whose_signal_is_too_weak_for_every_choice_is_a_warning() {
    let found = |attenuation: &str| {
        let text = text("", "", attenuation, "");
        let loaded = Loaded::parse(&text, "beams.toml", &[]).unwrap();
        let warnings = explain(&loaded.scenario, &loaded.written).warnings.into_iter();
        let of_kind = warnings.filter(|one| one.kind == WarningKind::GroupWithoutModcod);
        of_kind.map(|one| (one.subject, one.message, one.place.line)).collect::<Vec<_>>()
    };
    assert!(found("").is_empty() && found("attenuation = 3").is_empty());
    let warned = found("attenuation = 30");
    let [(subject, message, line)] = &warned[..] else { panic!("{warned:?}") };
    assert_eq!(subject, "group home of spot");
    assert!(message.starts_with("on the forward carrier, all packets are lost for 10.0s of"));
    assert!(line.is_some(), "the key `es_n0` of the group");
}
