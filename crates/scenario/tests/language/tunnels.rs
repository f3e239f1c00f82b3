//! Tunnels: what they resolve to, what is refused with its place, and what `explain` says.

use explain::{Explanation, WarningKind, explain};
use scenario::{Loaded, Scenario};

/// A path with a proxy in the middle: a, b, c, d. `link` belongs to the link b-c, `flow` to the
/// flow.
fn text(link: &str, flow: &str) -> String {
    format!(
        r#"
duration = "100s"
[[node]]
name = "b"
proxy = {{ satellite = {{ towards = ["c"] }} }}
[[link]]
between = ["a", "b"]
rate = "100Mbit/s"
delay = "10ms"
[[link]]
between = ["b", "c"]
rate = "10Mbit/s"
delay = "250ms"
{link}
[[link]]
between = ["c", "d"]
rate = "100Mbit/s"
delay = "1ms"
[[flow]]
name = "office"
from = "a"
to = "d"
controller = "cubic"
traffic = {{ bulk = "unlimited" }}
{flow}
"#
    )
}

fn parsed(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn refused(link: &str, flow: &str) -> String {
    let found = Scenario::parse(&text(link, flow), "test.toml", &[]);
    found.err().unwrap_or_else(|| panic!("{flow} is accepted")).to_string()
}

fn explained(text: &str) -> Explanation {
    let Loaded { scenario, written, .. } = Loaded::parse(text, "test.toml", &[]).unwrap();
    explain(&scenario, &written)
}

#[test]
fn a_tunnel_is_between_the_hosts_unless_it_names_other_nodes() {
    let scenario = parsed(&text("", "tunnel = \"wireguard\""));
    let tunnel = &scenario.tunnels[0];
    assert_eq!((tunnel.ends, tunnel.mtu), ([0, 3].map(|n| [1, 0, 2, 3][n]), 1420));
    let named = parsed(&text("", r#"tunnel = { name = "esp", between = ["c", "b"] }"#));
    let names = named.tunnels[0].ends.map(|end| named.nodes[end].name.as_str());
    assert_eq!((names, named.tunnels[0].mtu), (["c", "b"], 1446));
    assert!(parsed(&text("", "tunnel = \"none\"")).tunnels.is_empty());
}

/// The default becomes what fits on the legs that are inside, and what is written must fit.
#[test]
fn segments_fit_the_tunnel_on_the_legs_that_are_in_it() {
    let mss = |flow: &str| parsed(&text("", flow)).flows[0].transport.plan().mss();
    assert_eq!(mss("tunnel = \"wireguard\""), 1380);
    assert_eq!(mss("tunnel = { name = \"wireguard\", mtu = 1300 }"), 1260);
    let found = refused("", "tunnel = \"wireguard\"\ntransport = { mss = 1381 }");
    assert!(found.contains("flow[0].transport.mss"), "{found}");
    assert!(found.contains("at most 1380") && found.contains("MTU of 1420"), "{found}");
    assert!(found.contains("test.toml:26:21"), "{found}");
    // The tunnel ends at the proxy: the other leg keeps its segments.
    let half = parsed(&text("", r#"tunnel = { name = "wireguard", between = ["b", "d"] }"#));
    let gateway = &half.flows[0].gateways[0];
    let of_gateway = gateway.ends.each_ref().map(|end| end.transport.plan().mss());
    assert_eq!(of_gateway, [1460, 1380]);
}

#[test]
fn a_tunnel_fits_the_links_between_its_ends() {
    let narrow = parsed(&text("mtu = 1400", "tunnel = \"wireguard\""));
    assert_eq!(narrow.tunnels[0].mtu, 1320);
    let found = refused("mtu = 1400", "tunnel = { name = \"wireguard\", mtu = 1400 }");
    assert!(found.contains("flow[0].tunnel.mtu") && found.contains("88 to 1340"), "{found}");
    assert!(found.contains("\"b-c\" has an `mtu` of 1400"), "{found}");
    // Outside the tunnel the link does not matter.
    let outside = r#"tunnel = { name = "wireguard", between = ["c", "d"] }"#;
    assert_eq!(parsed(&text("mtu = 1400", outside)).tunnels[0].mtu, 1420);
}

#[test]
fn ends_that_the_flow_does_not_pass_are_refused_with_their_place() {
    for (between, expected) in [
        (r#"["a", "x"]"#, "one of the nodes"),
        (r#"["b", "b"]"#, "two different nodes"),
        (r#"["a", "aside"]"#, "two nodes that the flow passes"),
    ] {
        let aside = "[[link]]\nbetween = [\"b\", \"aside\"]\nrate = \"1Mbit/s\"\ndelay = \"1ms\"";
        let tunnel = format!("tunnel = {{ name = \"esp\", between = {between} }}\n{aside}");
        let found = refused("", &tunnel);
        assert!(found.contains("flow[0].tunnel.between"), "{found}");
        assert!(found.contains(expected), "{between}: {found}");
    }
    let found = refused("", "tunnel = \"wiregard\"");
    assert!(found.contains("\"wireguard\""), "the nearest name: {found}");
}

#[test]
fn flows_that_a_tunnel_cannot_carry_are_refused() {
    let masque = r#"tunnel = { name = "masque", method = "connect-udp" }"#;
    let found = refused("", masque);
    assert!(found.contains("flow[0].tunnel.method") && found.contains("connect-ip"), "{found}");
    let found = refused("feedback = \"xcp\"", "tunnel = \"esp\"");
    assert!(found.contains("routers with feedback"), "{found}");
    let call = "tunnel = { name = \"wireguard\", mtu = 100 }\ntransport = { protocol = \"udp\" }";
    let call = text("", call).replace("bulk = \"unlimited\"", "call = { codec = \"g711\" }");
    let call = call.replace("controller = \"cubic\"\n", "");
    let found = Scenario::parse(&call, "test.toml", &[]).unwrap_err().to_string();
    assert!(found.contains("packets of 200 bytes") && found.contains("MTU of 100"), "{found}");
}

#[test]
fn flows_with_the_same_tunnel_share_it() {
    let two = |tunnel: &str| {
        let other = "[[flow]]\nname = \"other\"\nfrom = \"d\"\nto = \"a\"\ncontroller = \"reno\"\n\
                     traffic = { bulk = \"1MB\" }\n";
        parsed(&text("", &format!("count = 3\ntunnel = \"wireguard\"\n{other}{tunnel}")))
    };
    let tunnels =
        |scenario: &Scenario| -> Vec<_> { scenario.flows.iter().map(|flow| flow.tunnel).collect() };
    assert_eq!(tunnels(&two("tunnel = \"wireguard\"")), [Some(0); 4]);
    let between = r#"tunnel = { name = "wireguard", between = ["a", "d"] }"#;
    assert_eq!(tunnels(&two(between)), [Some(0); 4]);
    assert_eq!(tunnels(&two("tunnel = \"esp\"")), [Some(0), Some(0), Some(0), Some(1)]);
    assert_eq!(two("").flows[3].tunnel, None);
}

#[test]
fn explain_says_what_a_tunnel_costs_and_from_whom_it_hides() {
    let found = explained(&text("header_compression = \"rohc\"", "tunnel = \"wireguard\""));
    let flow = &found.flows[0];
    let tunnel = flow.tunnel.as_ref().unwrap();
    assert_eq!((tunnel.packet_bytes, tunnel.outer_bytes, tunnel.round_trips), (1420, 1480, 1));
    assert!((tunnel.set_up_ms - 522.0).abs() < 1e-9, "{}", tunnel.set_up_ms);
    let hidden = ["the split proxy at b", "rohc on b -> c", "rohc on c -> b"];
    assert_eq!(tunnel.hidden_from, hidden);
    // 1368 bytes of payload with timestamps in 1480, at 10 Mbit/s.
    assert!((flow.figures.capacity_bps - 1368.0 / 1480.0 * 10e6).abs() < 1.0);
    assert!(flow.legs.is_empty());
    let proxy = found.nodes.iter().find_map(|node| node.proxy.as_ref()).unwrap();
    assert_eq!((&proxy.splits[..], &proxy.hidden[..]), (&[][..], &["office".to_owned()][..]));
    let warning = found.warnings.iter().find(|one| one.kind == WarningKind::TunnelHidesFlow);
    let warning = warning.unwrap();
    assert!(warning.message.contains("the split proxy at b"), "{warning}");
    let text_of = found.to_string();
    assert!(text_of.contains("a full packet of 1420B is 1480B outside"), "{text_of}");
    assert!(text_of.contains("splits nothing, not office (a tunnel hides it)"), "{text_of}");
    // The proxy is an end: it splits, and nothing is hidden from it.
    let end = explained(&text("", r#"tunnel = { name = "openvpn", between = ["b", "d"] }"#));
    assert!(end.flows[0].tunnel.as_ref().unwrap().hidden_from.is_empty());
    assert_eq!(end.flows[0].legs.len(), 2);
    assert!(end.warnings.iter().all(|one| one.kind != WarningKind::TunnelHidesFlow));
}

#[test]
fn the_outer_connection_of_masque_can_have_a_controller() {
    let plain = parsed(&text("", "tunnel = \"masque\""));
    assert_eq!(plain.tunnels[0].outer, None);
    let keys = "controller = \"bbr\", max_window = \"90kB\", buffer = \"50kB\", capsules = true";
    let limited = parsed(&text("", &format!("tunnel = {{ name = \"masque\", {keys} }}")));
    let outer = limited.tunnels[0].outer.as_ref().unwrap();
    assert_eq!(outer.controller.entry().name, "bbr");
    let sizes = (outer.max_window.map(|bytes| bytes.get()), outer.buffer.get());
    assert_eq!((sizes, outer.capsules), ((Some(90_000), 50_000), true));
    // 42 bytes of the connection and 28 of UDP and IP, and not 32 and 28.
    assert_eq!([plain.tunnels[0].mtu, limited.tunnels[0].mtu], [1440, 1430]);
    let other = "[[flow]]\nfrom = \"d\"\nto = \"a\"\ncontroller = \"reno\"\n\
                 traffic = { bulk = \"1MB\" }\ntunnel = \"masque\"";
    let flows = format!("tunnel = {{ name = \"masque\", controller = \"reno\" }}\n{other}");
    assert_eq!(parsed(&text("", &flows)).tunnels.len(), 2, "other settings, another tunnel");
}

#[test]
fn an_outer_connection_that_is_not_possible_is_refused_with_its_place() {
    for (keys, place, expected) in [
        ("controller = \"cubik\"", "controller", "\"cubic\""),
        ("controller = \"xcp\"", "controller", "\"cubic\""),
        ("max_window = \"90kB\"", "max_window", "a `controller` too"),
        ("buffer = \"90kB\"", "buffer", "a `controller` too"),
        ("capsules = true", "capsules", "a `controller` too"),
        ("controller = \"cubic\", max_window = \"2900B\"", "max_window", "at least 2944B"),
        ("controller = \"cubic\", max_window = \"1kB\"", "max_window", "2kB"),
        ("controller = \"cubic\", buffer = \"1kB\"", "buffer", "2kB"),
        ("controller = \"cubic\", mtu = 8000, buffer = \"8kB\"", "buffer", "at least 8060B"),
    ] {
        let mtu = if keys.contains("8000") { "mtu = 9000" } else { "" };
        let found = refused(mtu, &format!("tunnel = {{ name = \"masque\", {keys} }}"));
        assert!(found.contains(&format!("flow[0].tunnel.{place}")), "{keys}: {found}");
        assert!(found.contains(expected), "{keys}: {found}");
    }
    let found = refused("", "tunnel = { name = \"esp\", controller = \"cubic\" }");
    assert!(found.contains("flow[0].tunnel.controller"), "{found}");
}

#[test]
fn explain_says_what_limits_the_outer_connection() {
    let keys = "controller = \"cubic\", max_window = \"65250B\", capsules = true";
    let found = explained(&text("", &format!("tunnel = {{ name = \"masque\", {keys} }}")));
    let tunnel = found.flows[0].tunnel.as_ref().unwrap();
    assert_eq!((tunnel.controller, tunnel.capsules), (Some("cubic"), true));
    // 65250 bytes in 522 ms.
    assert!((tunnel.window_bps.unwrap() - 1e6).abs() < 1e-3, "{:?}", tunnel.window_bps);
    let text_of = found.to_string();
    assert!(text_of.contains("cubic limits the outer connection"), "{text_of}");
    assert!(text_of.contains("at most 1Mbit/s through without a queue"), "{text_of}");
}
