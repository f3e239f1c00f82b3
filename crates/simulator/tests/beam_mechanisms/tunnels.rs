//! Tunnels of flows with an end at a terminal: each terminal has its own, all bytes arrive, and
//! mechanisms between the ends see one flow.

use super::{beam, check_bytes, counts, parse, run, texts};

/// Each protocol, with the congestion control that one of them can have.
const PROTOCOLS: [&str; 6] = [
    "\"wireguard\"",
    "\"esp\"",
    "\"openvpn\"",
    "\"masque\"",
    "{ name = \"masque\", controller = \"cubic\", buffer = \"100kB\" }",
    "{ name = \"masque\", controller = \"bbr3\", capsules = true, buffer = \"100kB\" }",
];

/// The flows of [`beam`] in a tunnel.
fn tunnelled(tunnel: &str, more: &str, controller: &str) -> String {
    beam("", more, controller).replace("traffic = ", &format!("tunnel = {tunnel}\ntraffic = "))
}

/// A flow that crosses no beam, and lets all others end before the run does.
const LATE: &str = r#"
[[flow]]
name = "late"
from = "server"
to = "router"
controller = "cubic"
start = "60s"
traffic = { download = "20kB" }
"#;

const PROXIES: &str = r#"
[[node]]
name = "gateway"
proxy = { satellite = { controller = "hybla" } }
[[node]]
name = "home"
proxy = { satellite = { controller = "hybla" } }
"#;

#[test]
fn each_terminal_has_a_tunnel_that_its_flows_share() {
    for protocol in PROTOCOLS {
        let scenario = parse(&tunnelled(protocol, "", "cubic"));
        assert_eq!(scenario.tunnels.len(), 3);
        let of_flows: Vec<_> = scenario.flows.iter().map(|flow| flow.tunnel.unwrap()).collect();
        assert_eq!(of_flows, [0, 1, 2, 0, 1, 2]);
        let recording = run(&tunnelled(protocol, "", "cubic"));
        check_bytes(&recording, protocol);
        assert!(counts(&recording, "tunnel", "packets").iter().all(|packets| *packets > 60));
    }
}

/// A completed transfer is the bytes that were sent, in order: the receiver checks each of them.
#[test]
fn transfers_of_every_controller_end_over_every_tunnel() {
    for (number, entry) in congestion::entries().enumerate() {
        // Each controller meets two of the protocols, one of them with the wait for its set-up.
        for place in [number, number + 3] {
            let protocol = PROTOCOLS[place % PROTOCOLS.len()];
            let text = tunnelled(protocol, "", entry.name).replace("\"600s\"", "\"3000s\"");
            check_bytes(&run(&text), &format!("{} over {protocol}", entry.name));
        }
    }
}

/// The beam carries the outer packets and nothing else, and no packet is lost here.
#[test]
fn the_beam_carries_the_bytes_outside_the_tunnel() {
    for protocol in ["wireguard", "esp", "openvpn", "masque"] {
        let tunnel = format!("{{ name = {protocol:?}, established = true }}");
        let recording = run(&(tunnelled(&tunnel, "", "cubic") + LATE));
        check_bytes(&recording, protocol);
        let sum = |table, name| counts(&recording, table, name).iter().sum::<u64>();
        assert_eq!(sum("beam_terminals", "dropped_packets"), 0);
        assert_eq!(sum("beam_terminals", "bytes"), sum("tunnel", "outer_bytes"), "{protocol}");
        let [inner, packets] = ["inner_bytes", "packets"].map(|name| sum("tunnel", name));
        assert_eq!(sum("beam_terminals", "packets"), packets, "{protocol}");
        let overhead = (sum("tunnel", "outer_bytes") - inner) as f64 / packets as f64;
        assert!((50.0..90.0).contains(&overhead), "{protocol}: {overhead} bytes");
    }
}

/// The host behind a terminal is the end of the tunnel. So proxies at the gateway and in the
/// terminal are between the ends, and split nothing.
#[test]
fn a_proxy_does_not_split_a_flow_in_a_tunnel() {
    let splits = |tunnel: &str| {
        let text = match tunnel {
            "" => beam("", PROXIES, "cubic"),
            tunnel => tunnelled(tunnel, PROXIES, "cubic"),
        };
        check_bytes(&run(&text), tunnel);
        parse(&text).flows.iter().map(|flow| flow.gateways.len()).collect::<Vec<_>>()
    };
    assert_eq!(splits(""), [2; 6]);
    assert_eq!(splits("\"wireguard\""), [0; 6]);
    // The network of the operator: the beam, or the way from the gateway on.
    let ends = |first: &str, second: &str| {
        format!("{{ name = \"esp\", between = [{first:?}, {second:?}] }}")
    };
    assert_eq!(splits(&ends("gateway", "server")), [2; 6]);
    assert_eq!(splits(&ends("home", "gateway")), [1; 6]);
    assert_eq!(splits(&ends("home", "router")), [0; 6]);
}

/// A tunnel over the beam alone adds its bytes there, and none to the links.
#[test]
fn a_tunnel_may_end_at_the_gateway() {
    let ends = "{ name = \"esp\", between = [\"home\", \"gateway\"], established = true }";
    let [plain, tunnel] =
        [beam("", "", "cubic"), tunnelled(ends, "", "cubic")].map(|text| run(&(text + LATE)));
    let sum = |recording, table, name| counts(recording, table, name).iter().sum::<u64>();
    assert_eq!(sum(&tunnel, "beam_terminals", "bytes"), sum(&tunnel, "tunnel", "outer_bytes"));
    assert!(sum(&tunnel, "beam_terminals", "bytes") > sum(&plain, "beam_terminals", "bytes"));
    let on_link = tunnel.links.iter().filter(|link| link.link == "router-gateway");
    let on_link = on_link.map(|link| link.delivered_bytes).sum::<u64>();
    assert_eq!(on_link, sum(&tunnel, "tunnel", "inner_bytes"));
}

/// Two terminals of a beam: the packets cross the gateway, which cannot read them.
#[test]
fn a_tunnel_may_join_two_terminals() {
    let text = tunnelled("\"wireguard\"", PROXIES, "cubic")
        .replace("from = \"server\"", "from = \"home-3\"")
        .replace("to = \"home\"", "to = \"home-1\"")
        .replace("from = \"home\"", "from = \"home-1\"")
        .replace("to = \"server\"", "to = \"home-2\"");
    let recording = run(&text);
    check_bytes(&recording, "between terminals");
    assert_eq!(counts(&recording, "tunnel", "packets").len(), 2);
    assert!(parse(&text).flows.iter().all(|flow| flow.gateways.is_empty()));
}

/// Terminals of two beams with gateways of their own: the way has links between the beams.
#[test]
fn a_tunnel_may_cross_two_beams() {
    let far = "[[beam]]\nname = \"far\"\ngateway = \"router\"\nforward = { modem = { \
               name = \"dvb-s2\", bandwidth = 12e6 } }\nreturn = { carriers = 4 }\n\
               [[beam.group]]\nname = \"ship\"\nterminals = 2\nes_n0 = 11.0\n\
               return_es_n0 = 9.0\n\n[[flow]]\nname = \"down\"";
    for between in ["", ", between = [\"ship\", \"gateway\"]", ", between = [\"router\", \"home\"]"]
    {
        let tunnel = format!("{{ name = \"esp\"{between} }}");
        let text = tunnelled(&tunnel, "", "cubic")
            .replacen("[[flow]]\nname = \"down\"", far, 1)
            .replace("\"server\"\nto", "\"ship-1\"\nto")
            .replace("to = \"server\"", "to = \"ship-2\"");
        let recording = run(&text);
        check_bytes(&recording, &tunnel);
        let packets = counts(&recording, "tunnel", "packets");
        assert!(packets.iter().all(|packets| *packets > 20), "{tunnel}: {packets:?}");
        let crossed = recording.links.iter().filter(|link| link.link == "router-gateway");
        assert!(crossed.map(|link| link.delivered_packets).min().unwrap() > 100, "{tunnel}");
    }
}

/// The messages about outer packets that are too long for the link of the gateway: the tunnel has
/// the MTU of its path.
#[test]
fn segments_fit_the_tunnel_of_their_terminal() {
    let sizes = |link: &str| {
        let text =
            beam(link, "", "cubic").replace("traffic = ", "tunnel = \"wireguard\"\ntraffic = ");
        let recording = run(&text);
        check_bytes(&recording, link);
        let mtus = parse(&text).tunnels.iter().map(|tunnel| tunnel.mtu).collect::<Vec<_>>();
        (mtus, parse(&text).flows[0].transport.tcp().unwrap().mss)
    };
    assert_eq!(sizes(""), (vec![1420; 3], 1380));
    let (mtus, mss) = sizes("mtu = 1300");
    assert!(mtus.iter().all(|mtu| *mtu <= 1300 - 60), "{mtus:?}");
    assert_eq!(mss, u32::from(mtus[0]) - 40);
}

/// All outer packets of a terminal have the class of its flows, and wait in one queue of it.
#[test]
fn a_tunnel_has_the_class_of_its_flows() {
    let class = "[[beam.class]]\nname = \"first\"\nflows = [\"down\", \"up\"]\n";
    let with_classes = |tunnel: &str| {
        tunnelled(tunnel, "", "cubic")
            .replace("[[flow]]\nname = \"down\"", &format!("{class}[[flow]]\nname = \"down\""))
    };
    let recording = run(&(with_classes("\"wireguard\"") + LATE));
    // Forward and back of the class, and no row for packets of none.
    assert_eq!(texts(&recording, "beam_classes", "class"), ["first", "first"]);
    let packets = counts(&recording, "beam_classes", "packets");
    let set_up = counts(&recording, "tunnel", "set_up_packets").iter().sum::<u64>();
    let carried = counts(&recording, "tunnel", "packets").iter().sum::<u64>();
    assert_eq!(packets[0] + packets[1], carried + set_up, "{packets:?}");
    assert_eq!(packets.len(), 2, "{packets:?}");
    let mixed = with_classes("\"wireguard\"").replace(", \"up\"]", "]");
    let errors = scenario::Scenario::parse(&mixed, "beam.toml", &[]).unwrap_err().to_string();
    assert!(errors.contains("a tunnel with flows of one class"), "{errors}");
    // Nothing is wrong with two tunnels.
    let two = mixed.replacen("tunnel = \"wireguard\"", "tunnel = \"esp\"", 1);
    assert_eq!(parse(&two).tunnels.len(), 6);
}

#[test]
fn tunnels_that_no_flow_passes_are_refused() {
    for (between, expected) in [
        ("[\"home-2\", \"server\"]", "two nodes that the flow passes"),
        ("[\"hom\", \"server\"]", "did you mean \"home\""),
        ("[\"home-4\", \"server\"]", "expected one of the nodes"),
        ("[\"other\", \"server\"]", "a group with an end of the flow"),
        ("[\"home\", \"home\"]", "two different nodes"),
    ] {
        let group = "[[beam.group]]
name = \"other\"
terminals = 2
es_n0 = 11.0
\
                     return_es_n0 = 9.0

[[flow]]
name = \"more\"
from = \"server\"
\
                     to = \"other\"
controller = \"cubic\"
traffic = { bulk = \"1kB\" }
";
        let tunnel = format!("{{ name = \"esp\", between = {between} }}");
        let text = tunnelled(&tunnel, "", "cubic");
        let text = text.replacen("\n[[flow]]", &format!("\n{group}\n[[flow]]"), 1);
        let errors = scenario::Scenario::parse(&text, "beam.toml", &[]).unwrap_err().to_string();
        assert!(errors.contains(expected), "{between}: {errors}");
        assert_eq!(errors.matches("tunnel.between").count(), 2, "once an entry: {errors}");
    }
}

/// Datagrams of QUIC find their size inside, and payloads of UDP have a tunnel of their own kind.
#[test]
fn quic_crosses_a_beam_in_a_tunnel() {
    for tunnel in ["\"wireguard\"", "{ name = \"masque\", method = \"connect-udp\" }"] {
        let text = tunnelled(tunnel, "", "cubic")
            .replace("traffic = ", "transport = { protocol = \"quic\" }\ntraffic = ");
        let recording = run(&text);
        check_bytes(&recording, tunnel);
        assert!(counts(&recording, "tunnel", "packets").iter().all(|packets| *packets > 60));
    }
}
