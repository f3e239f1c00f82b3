//! Links with an MTU, header compression and feedback of routers before the gateway.

use scenario::model::Gateway;

use super::{beam, check_bytes, counts, parse, run};

/// Data from the server is too long for the link to the gateway, and data from the terminals for
/// the link from it. The message about the latter takes the forward carrier.
#[test]
fn the_message_about_a_packet_that_is_too_long_comes_over_the_beam() {
    let recording = run(&beam("mtu = 1200", "", "cubic"));
    check_bytes(&recording, "with messages");
    // Towards the gateway, and from it.
    let [too_big, messages] =
        ["too_big_packets", "icmp_packets"].map(|name| counts(&recording, "mtu", name));
    assert!(too_big.iter().all(|count| *count >= 3), "{too_big:?}");
    assert_eq!(too_big, messages);
    // Headers have 40 bytes, and timestamps 12.
    assert_eq!(counts(&recording, "path_mtu", "mss_bytes"), [1148; 6]);
}

#[test]
fn a_black_hole_before_a_gateway_stops_all_but_those_who_probe() {
    let hole = "mtu = { bytes = 1200, icmp = \"filtered\" }";
    let silent = run(&beam(hole, "", "cubic"));
    assert!(silent.flows.iter().all(|flow| flow.bytes == 0), "no full segment passes");
    let probing = beam(hole, "", "cubic")
        .replace("traffic = ", "transport = { mtu_probing = \"black-hole\" }\ntraffic = ");
    check_bytes(&run(&probing), "with probes");
}

/// Segments of a terminal do not fit the link of its gateway, which is not its own. Those of a
/// proxy at the gateway do, and so does each copy in its own terminal.
#[test]
fn the_hosts_at_a_link_know_its_mtu_and_terminals_do_not() {
    let sizes = |more: &str| {
        let scenario = parse(&beam("mtu = 1200", more, "cubic"));
        let of_flow = |flow: &scenario::model::Flow| flow.transport.tcp().unwrap().mss;
        let sizes: Vec<_> = scenario.flows.iter().map(of_flow).collect();
        (sizes, scenario)
    };
    assert_eq!(sizes("").0, [1460; 6]);
    let proxies = ["gateway", "home"].map(|name| {
        format!(
            "[[node]]\nname = \"{name}\"\nproxy = {{ satellite = {{ controller = \"hybla\" }} }}\n"
        )
    });
    let (_, scenario) = sizes(&proxies.concat());
    let is_terminal = |node: usize| scenario.beam_of(node).is_some();
    for flow in &scenario.flows {
        let of_gateway = |one: &&Gateway| !is_terminal(one.node);
        let [own, other]: [Vec<_>; 2] = flow.gateways.iter().partition(of_gateway).into();
        let ends = [flow.from, flow.to];
        assert!(own.len() == 1 && other.len() == 1 && ends.contains(&other[0].node));
        let sizes = |one: &Gateway| one.ends.each_ref().map(|end| end.transport.tcp().unwrap().mss);
        // Towards the server, and towards the terminal.
        let expected = if is_terminal(flow.to) { [1160, 1460] } else { [1460, 1160] };
        assert_eq!((sizes(own[0]), sizes(other[0])), (expected, [1460; 2]));
    }
    check_bytes(&run(&beam("mtu = 1200", &proxies.concat(), "cubic")), "with proxies");
}

/// Where copies of a flow share settings, each keeps the proxy of its own terminal.
#[test]
fn a_terminal_keeps_its_own_proxy_where_links_have_an_mtu() {
    let node = |name: &str, controller: &str| {
        format!(
            "[[node]]\nname = \"{name}\"\n\
             proxy = {{ satellite = {{ controller = \"{controller}\" }} }}\n"
        )
    };
    let nodes = node("home", "hybla") + &node("home-2", "vegas");
    for link in ["", "mtu = 1200"] {
        let flows = parse(&beam(link, &nodes, "cubic")).flows;
        let controller = |flow: &scenario::model::Flow| {
            let [gateway] = &flow.gateways[..] else { panic!("one proxy") };
            gateway.ends.each_ref().map(|end| end.controller.entry().name)
        };
        let [first, second, third] = [0, 1, 2].map(|number| controller(&flows[number]));
        let expected = (["hybla", "cubic"], ["vegas", "cubic"], ["hybla", "cubic"]);
        assert_eq!((first, second, third), expected, "{link}");
    }
}

#[test]
fn headers_are_compressed_on_the_way_to_a_gateway_and_restored_there() {
    for scheme in ["vj", "rohc", "scps"] {
        let link = format!("header_compression = \"{scheme}\"\nchannel = {{ per = 0.005 }}");
        let recording = run(&beam(&link, "", "cubic"));
        check_bytes(&recording, scheme);
        let [before, after] = ["header_bytes", "sent_header_bytes"]
            .map(|name| counts(&recording, "header_compression", name));
        assert!(before.iter().zip(&after).all(|(before, after)| after < before), "{scheme}");
    }
}

/// A router gives feedback on its link, and a beam does not: the way to the gateway is complete,
/// and that to a terminal is not.
#[test]
fn feedback_reaches_the_connections_that_end_at_the_gateway() {
    let proxy =
        "[[node]]\nname = \"gateway\"\nproxy = { satellite = { controller = \"cubic\" } }\n";
    let link = "feedback = \"quick-start\"";
    let took = |more: &str, asks: &str| {
        let text = beam(link, more, "newreno")
            .replace("rate = \"100Mbit/s\"", "rate = \"100Mbit/s\"\nfeedback = \"quick-start\"")
            .replace("traffic = ", &format!("transport = {{ {asks} }}\ntraffic = "));
        let recording = run(&text);
        check_bytes(&recording, link);
        let treated = counts(&recording, "feedback", "treated_packets");
        assert_eq!(treated.iter().sum::<u64>() > 0, !asks.is_empty());
        let legs = recording.tables.iter().find(|one| one.name() == "legs");
        let times = recording.flows.iter().map(|flow| flow.completion_s.unwrap());
        (times.collect::<Vec<_>>(), legs.map(|legs| format!("{legs:?}")))
    };
    let asks = "quick_start = \"5.12Mbit/s\"";
    assert_eq!(took("", asks), took("", ""));
    // The beam is slower than the links, so the transfers take as long.
    let [asked, plain] = [asks, ""].map(|asks| took(proxy, asks).1);
    assert!(asked.is_some() && asked != plain);
}

/// XCP of a server whose connections end at the gateway.
#[test]
fn xcp_of_a_server_fills_the_link_before_the_gateway() {
    let proxy =
        "[[node]]\nname = \"gateway\"\nproxy = { satellite = { controller = \"cubic\" } }\n";
    let link = "feedback = \"xcp\"";
    let text = beam(link, proxy, "xcp")
        .replace("rate = \"100Mbit/s\"", "rate = \"100Mbit/s\"\nfeedback = \"xcp\"");
    let recording = run(&text);
    check_bytes(&recording, link);
    assert!(counts(&recording, "feedback", "treated_packets")[0] > 100);
}
