use scenario::hosts::{PROFILES, System};
use serde_json::{Value, json};

use super::*;
use crate::settings::tests::kernel_of;

fn planned(flows: Value) -> Result<Plan, Vec<Refusal>> {
    let scenario = crate::tests::scenario(json!({
        "link": [{ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "10ms" },
                 { "between": ["b", "c"], "rate": "1Mbit/s", "delay": "10ms" }],
        "flow": flows,
    }));
    plan(&scenario, &kernel_of(&["reno", "cubic"]))
}

fn flow(from: &str, to: &str, transport: Value) -> Value {
    json!({ "from": from, "to": to, "controller": "cubic", "transport": transport,
            "traffic": { "bulk": "1B" } })
}

#[test]
fn hosts_are_the_ends_of_flows_and_routers_are_none() {
    let plan = planned(json!([flow("a", "c", json!({})), flow("a", "c", json!({}))])).unwrap();
    let nodes: Vec<_> = plan.hosts.iter().map(|host| host.node).collect();
    assert_eq!(nodes, [0, 2]);
    assert_eq!(plan.flows.iter().map(|flow| flow.port).collect::<Vec<_>>(), [5001, 5002]);
    assert!(
        plan.flow_of_ports((5000, 5003)).is_none() && plan.flow_of_ports((5000, 5001)).is_some()
    );
}

#[test]
fn the_largest_segment_of_a_host_decides_its_mtu() {
    let small = flow("a", "b", json!({ "mss": 536 }));
    let plan = planned(json!([small, flow("a", "c", json!({ "mss": 1460 }))])).unwrap();
    assert_eq!(plan.hosts.iter().map(|host| host.mtu).collect::<Vec<_>>(), [1500, 576, 1500]);
}

#[test]
fn the_header_of_ipv6_makes_the_mtu_larger() {
    let mut scenario = crate::tests::scenario(json!({
        "link": [{ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "10ms" }],
        "flow": [flow("a", "b", json!({ "mss": 1440 }))],
    }));
    for (ip, mtu) in [(IpVersion::V4, 1480), (IpVersion::V6, 1500)] {
        scenario.ip = ip;
        let plan = plan(&scenario, &kernel_of(&["cubic"])).unwrap();
        assert_eq!((plan.ip, plan.hosts[0].mtu), (ip, mtu));
    }
}

#[test]
fn flows_that_want_one_host_to_be_two_ways_are_rejected() {
    let plain = flow("a", "c", json!({}));
    let other = flow("b", "c", json!({ "timestamps": false }));
    let refusals = planned(json!([plain, other])).unwrap_err();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert_eq!(refusals[0].place, "flow \"flow-1\", tcp_timestamps");
    assert_eq!(refusals[0].possible, "the same as for flow \"flow-0\", because they share a host");
}

#[test]
fn flows_between_the_same_hosts_share_a_route() {
    let plain = flow("a", "c", json!({}));
    let refusals =
        planned(json!([plain, flow("a", "c", json!({ "initial_window": 3 }))])).unwrap_err();
    assert_eq!(refusals.len(), 2, "{refusals:?}");
    assert!(planned(json!([plain, flow("a", "b", json!({ "initial_window": 3 }))])).is_ok());
}

/// The amount that is added to the smoothed RTT has to make up for the shortest.
#[test]
fn the_least_retransmission_timeout_holds_on_a_link_whose_delay_falls() {
    let rto_min_ms = |changes: Value| {
        let scenario = crate::tests::scenario(json!({
            "link": [{ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "200ms",
                       "event": changes }],
            "flow": [flow("a", "b", json!({ "rto": { "min": "1s" } }))],
        }));
        let plan = plan(&scenario, &kernel_of(&["cubic"])).unwrap();
        plan.hosts[0].routes[&1].value.rto_min_ms
    };
    assert_eq!(rto_min_ms(json!([])), Some(600));
    assert_eq!(rto_min_ms(json!([{ "at": "1s", "forward": { "delay": "50ms" } }])), Some(750));
    assert_eq!(rto_min_ms(json!([{ "at": "1s", "delay": "300ms" }])), Some(600));
}

#[test]
fn a_queue_that_tells_low_priority_apart_is_told_that_nothing_has_it() {
    let told = |queue: Value| {
        let scenario = crate::tests::scenario(json!({
            "link": [{ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "10ms" },
                     { "between": ["b", "c"], "rate": "1Mbit/s", "delay": "10ms",
                       "queue": queue }],
            "flow": [flow("a", "b", json!({})), flow("a", "c", json!({}))],
        }));
        let mut settings = plan(&scenario, &kernel_of(&["cubic"])).unwrap().settings;
        settings.retain(|setting| setting.setting == "queue.low_priority");
        settings.into_iter().map(|s| (s.flow, s.asked, s.verdict)).collect::<Vec<_>>()
    };
    let approximated =
        |asked: &str| vec![("flow-1".to_owned(), asked.to_owned(), "approximated".to_owned())];
    assert_eq!(told(json!({ "packets": 9, "low_priority": "push-out" })), approximated("push-out"));
    assert_eq!(told(json!({ "packets": 9, "low_priority": "refuse" })), approximated("refuse"));
    assert_eq!(told(json!({ "packets": 9 })), []);
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let refusals = planned(json!([flow("a", "c", json!({ "mss": 70, "rto": { "max": "500s" } }))]))
        .unwrap_err();
    assert_eq!(refusals.len(), 2, "{refusals:?}");
    let text = KernelError::Refused(refusals).to_string();
    assert!(
        text.contains("flow \"flow-0\", transport.mss: expected 88 to 32767, found 70"),
        "{text}"
    );
}

/// The settings of QUIC are of connections, so flows with others share a host, and TCP too. No
/// kernel needs their controllers.
#[test]
fn quic_asks_nothing_of_a_host_but_its_mtu() {
    let quic = |settings: Value| {
        let mut quic = flow("a", "c", json!({ "protocol": "quic", "quic": settings }));
        quic["controller"] = json!("adalr");
        quic
    };
    let flows = [quic(json!({})), quic(json!({ "initial_rtt": "1s" })), flow("a", "c", json!({}))];
    let plan = planned(json!(flows)).unwrap();
    assert!(matches!(plan.flows[0].carrier, Carrier::Quic { .. }));
    assert!(matches!(plan.flows[2].carrier, Carrier::Tcp(_)));
    let of = |name: &str| plan.settings.iter().filter(|setting| setting.flow == name).count();
    // The controller and all keys of `transport.quic`.
    assert_eq!([of("flow-0"), of("flow-1")], [12, 12]);
    let alone = planned(json!([flows[0]])).unwrap();
    // The largest datagram that quinn tries, 1452 bytes, with the headers of UDP and IP.
    assert_eq!(alone.hosts.iter().map(|host| host.mtu).collect::<Vec<_>>(), [1480, 1480]);
    assert!(alone.hosts.iter().all(|host| host.sysctls.is_empty() && host.routes.is_empty()));
}

/// No MTU of IPv6 is below 1280.
#[test]
fn small_datagrams_over_ipv6_have_a_host_with_the_least_mtu() {
    let settings = json!({ "protocol": "quic", "quic": { "mtu_discovery": false } });
    let mut scenario = crate::tests::scenario(json!({
        "link": [{ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "10ms" }],
        "flow": [flow("a", "b", settings)],
    }));
    for (ip, mtu) in [(IpVersion::V4, 1228), (IpVersion::V6, 1280)] {
        scenario.ip = ip;
        let plan = plan(&scenario, &kernel_of(&["cubic"])).unwrap();
        assert_eq!((plan.ip, plan.hosts[0].mtu), (ip, mtu));
    }
}

#[test]
fn other_protocols_than_tcp_are_rejected_with_their_key() {
    let flows =
        json!([flow("a", "c", json!({})), flow("a", "b", json!({ "protocol": "scps-tp" }))]);
    let refusals = planned(flows).unwrap_err();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert_eq!(refusals[0].place, "flow \"flow-1\", transport.protocol");
    assert_eq!(refusals[0].asked, "scps-tp");
    assert!(refusals[0].possible.starts_with("tcp, quic or udp: "), "{}", refusals[0]);
    let key = Key { of: Of::Flow(1), path: "transport.protocol".to_owned() };
    assert_eq!(refusals[0].key, Some(key));
}

/// Programs that run across the links use no flow, so what no kernel can do for flows does not
/// matter to them.
#[test]
fn without_flows_only_the_network_is_refused() {
    let others = Protocol::ALL.iter().filter(|one| !one.entry().on_kernel);
    let mut flows: Vec<Value> = others
        .map(|protocol| {
            let mut other = flow("a", "b", json!({ "protocol": protocol.name() }));
            other["controller"] = match protocol {
                _ if !protocol.takes_controller() => json!("none"),
                Protocol::Stp => json!("ck-stp"),
                _ => json!("newreno"),
            };
            other
        })
        .collect();
    assert!(flows.len() >= 4, "{flows:?}");
    flows.push(flow("a", "b", json!({ "mss": 70, "rto": { "max": "500s" } })));
    let mut other = flow("a", "b", json!({}));
    other["controller"] = json!("ck-stp");
    flows.push(other);
    let kernel = kernel_of(&["cubic"]);
    for flow in flows {
        let mut scenario = json!({
            "link": [{ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "10ms" }],
            "flow": [flow],
            "record": { "delivery": flow["transport"].get("protocol").is_none() },
        });
        let of = crate::tests::scenario;
        assert!(plan(&of(scenario.clone()), &kernel).is_err(), "{flow}");
        let found = plan_without_flows(&of(scenario.clone()), &kernel).unwrap();
        assert_eq!(found.hosts.iter().map(|host| host.node).collect::<Vec<_>>(), [0, 1], "{flow}");
        assert!(found.hosts.iter().all(|host| host.mtu >= settings::LEAST_MTU), "{flow}");
        scenario["link"][0]["forward"] = json!({ "feedback": "quick-start" });
        let refusals = plan_without_flows(&of(scenario), &kernel).unwrap_err();
        assert_eq!(refusals.len(), 1, "{flow}: {refusals:?}");
    }
}

#[test]
fn routers_with_feedback_are_rejected() {
    for feedback in link::Feedback::all() {
        let scenario = crate::tests::scenario(json!({
            "link": [{ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "10ms",
                "forward": { "feedback": feedback.name() } }],
            "flow": [flow("a", "b", json!({}))],
        }));
        let refusals = plan(&scenario, &kernel_of(&["cubic"])).unwrap_err();
        assert_eq!(refusals.len(), 1, "{refusals:?}");
        assert_eq!(refusals[0].place, "link \"a-b\" forward, feedback");
        assert!(refusals[0].possible.contains("use the simulator"));
    }
}

/// A plan over a gateway with these keys of its sides.
fn split(terrestrial: Value, satellite: Value, flows: Value) -> Result<Plan, Vec<Refusal>> {
    split_by(json!({ "terrestrial": terrestrial, "satellite": satellite }), flows)
}

/// A plan over a gateway with this proxy, whose satellite side is added to.
fn split_by(mut proxy: Value, flows: Value) -> Result<Plan, Vec<Refusal>> {
    proxy["satellite"]["towards"] = json!(["c"]);
    let scenario = crate::tests::scenario(json!({
        "node": [{ "name": "b", "proxy": proxy }],
        "link": [{ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "10ms" },
                 { "between": ["b", "c"], "rate": "1Mbit/s", "delay": "200ms" }],
        "flow": flows,
    }));
    plan(&scenario, &kernel_of(&["reno", "cubic"]))
}

#[test]
fn a_gateway_is_a_host_with_the_daemons_file_and_a_route_to_each_end() {
    let satellite = json!({ "controller": "reno", "recovery": "sack", "initial_window": 30,
        "send_buffer": "300kB" });
    let plan = split(json!({}), satellite, json!([flow("a", "c", json!({}))])).unwrap();
    assert_eq!(plan.hosts.iter().map(|host| host.node).collect::<Vec<_>>(), [1, 2, 0]);
    let host = &plan.hosts[2];
    let gateway = host.gateway.as_ref().unwrap();
    let sides: Vec<_> = gateway.peers.iter().map(|(peer, side)| (*peer, side.key())).collect();
    assert_eq!(sides, [(1, "terrestrial"), (2, "satellite")]);
    let rtos = host.routes.values().map(|wanted| wanted.value.rto_min_ms.unwrap());
    assert_eq!(rtos.collect::<Vec<_>>(), [980, 600], "1 s without the round trip of the leg");
    let expected = "threads = 1\naccept = \"early\"\n[limits]\nconnections = 1000\nat_limit = \"refuse\"\nrelay_buffer = \
                    \"262144B\"\n[terrestrial]\ninterfaces = [\"terrestrial\"]\ncontroller = \
                    \"cubic\"\ninitial_window = 10\nsend_buffer = \"4194304B\"\nreceive_buffer = \
                    \"4194304B\"\nmss = 1460\n[satellite]\ninterfaces = [\"satellite\"]\ncontroller \
                    = \"reno\"\ninitial_window = 30\nsend_buffer = \"300000B\"\nreceive_buffer = \
                    \"4194304B\"\nmss = 1460\n";
    assert_eq!(gateway.file(), expected);
    let instead: Vec<_> = plan.settings.iter().filter(|s| s.flow == "b, satellite").collect();
    assert!(instead.iter().any(|s| s.setting == "controller" && s.asked == "reno"), "{instead:?}");
}

#[test]
fn a_limit_of_connections_is_the_daemons() {
    for at_limit in ["pass", "refuse"] {
        let limits = json!({ "connections": 3, "at_limit": at_limit });
        let flows = json!([flow("a", "c", json!({}))]);
        let plan = split_by(json!({ "limits": limits }), flows).unwrap();
        let file = plan.hosts.iter().find_map(|host| host.gateway.as_ref()).unwrap().file();
        let expected = format!("[limits]\nconnections = 3\nat_limit = {at_limit:?}\n");
        assert!(file.contains(&expected), "{file}");
    }
}

#[test]
fn the_time_of_the_answer_is_the_daemons() {
    for (proxy, expected) in [
        (json!({}), "accept = \"early\"\n[limits]"),
        (json!({ "accept": "late" }), "accept = \"late\"\n[limits]"),
        (
            json!({ "accept": "early-if-known", "known_for": "90s" }),
            "accept = \"early-if-known\"\nknown_for = \"90s\"\n[limits]",
        ),
        (
            json!({ "connect_timeout": "20s" }),
            "accept = \"early\"\nconnect_timeout = \"20s\"\n[limits]",
        ),
    ] {
        let plan = split_by(proxy, json!([flow("a", "c", json!({}))])).unwrap();
        let file = plan.hosts.iter().find_map(|host| host.gateway.as_ref()).unwrap().file();
        assert!(file.contains(expected), "{file}");
    }
}

/// Settings as `explain` shows them: each key of both sides in the daemon's file, also of a
/// scenario that a run would refuse.
#[test]
fn settings_of_gateways_are_known_without_a_run() {
    let side = json!({ "towards": ["c"], "controller": "hybla", "initial_window": 30, "receive_buffer": "256KiB",
                       "pacing_rate": "1Mbit/s" });
    let scenario = crate::tests::scenario(json!({
        "node": [{ "name": "b", "proxy": { "satellite": side } }],
        "link": [{ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "10ms" },
                 { "between": ["b", "c"], "rate": "1Mbit/s", "delay": "10ms" }],
        "flow": [flow("a", "c", json!({}))],
    }));
    let (plan, refusals) = draw(&scenario, &kernel_of(&["reno", "cubic", "hybla"]));
    assert_eq!(refusals.all(), []);
    let of = |side: &str, setting: &str| {
        let mut those = plan.settings.iter().filter(|one| one.flow == side);
        let found = those.find(|one| one.setting == setting);
        found
            .unwrap_or_else(|| panic!("{side} has no {setting}: {:?}", plan.settings))
            .asked
            .clone()
    };
    for (setting, terrestrial, satellite) in [
        ("controller", "cubic", "hybla"),
        ("initial_window", "10", "30"),
        ("receive_buffer", "4MiB", "256KiB"),
        ("recovery", "sack", "sack"),
        ("ecn", "false", "false"),
    ] {
        assert!(
            of("b, terrestrial", setting).starts_with(terrestrial),
            "{:?}",
            of("b, terrestrial", setting)
        );
        assert!(
            of("b, satellite", setting).starts_with(satellite),
            "{:?}",
            of("b, satellite", setting)
        );
    }
    assert_eq!(of("b, satellite", "pacing_rate"), "1Mbit/s");
    let (plan, refusals) = draw(&scenario, &kernel_of(&["reno", "cubic"]));
    assert_eq!(refusals.all()[0].place, "node \"b\", proxy.satellite.controller");
    assert!(plan.settings.iter().any(|one| one.flow == "b, satellite"), "{:?}", plan.settings);
}

#[test]
fn a_pacing_rate_is_the_daemons() {
    let flows = json!([flow("a", "c", json!({}))]);
    let plan = split(json!({}), json!({ "pacing_rate": "2Mbit/s" }), flows).unwrap();
    let file = plan.hosts.iter().find_map(|host| host.gateway.as_ref()).unwrap().file();
    let (terrestrial, satellite) = file.split_once("[satellite]").unwrap();
    assert!(satellite.contains("\npacing_rate = \"2Mbit/s\"\n"), "{file}");
    assert!(!terrestrial.contains("pacing_rate"), "{file}");
    let of_side = |name: &str| {
        plan.settings.iter().any(|one| one.flow == name && one.setting == "pacing_rate")
    };
    assert!(of_side("b, satellite") && !of_side("b, terrestrial"));
}

#[test]
fn a_rate_that_connections_share_is_the_daemons() {
    let flows = json!([flow("a", "c", json!({}))]);
    let rate = json!({ "rate": "1Mbit/s", "burst": "20kB" });
    let plan = split(json!({ "rate": "8Mbit/s" }), rate, flows.clone()).unwrap();
    let file = plan.hosts.iter().find_map(|host| host.gateway.as_ref()).unwrap().file();
    let (terrestrial, satellite) = file.split_once("[satellite]").unwrap();
    assert!(terrestrial.contains("\nrate = \"8Mbit/s\"\nburst = \"50000B\"\n"), "{file}");
    assert!(satellite.contains("\nrate = \"1Mbit/s\"\nburst = \"20000B\"\n"), "{file}");
    let entries = plan.settings.iter().filter(|one| one.setting == "rate");
    let sides: Vec<_> = entries.map(|one| one.flow.as_str()).collect();
    assert_eq!(sides.len(), 2, "{sides:?}");
    // Packets of the scenario are smaller than those that the daemon reckons with.
    let small = json!({ "rate": "1Mbit/s", "burst": "1kB", "mss": 500 });
    let refusals = split(json!({}), small, flows).unwrap_err();
    assert_eq!(refusals[0].place, "node \"b\", proxy.satellite.rate");
    assert!(refusals[0].possible.contains("at least 1500"), "{refusals:?}");
}

#[test]
fn gateways_with_another_protocol_are_rejected_at_their_key() {
    let towards = |protocol: &str, to: &str| json!({ "satellite": { "protocol": protocol, "towards": [to] } });
    for (proxies, key, protocol) in [
        (
            ["b", "c"]
                .map(|to| json!({ "preset": "scps-gateway", "satellite": { "towards": [to] } })),
            "proxy.preset",
            "scps-tp",
        ),
        (["b", "c"].map(|to| towards("scps-tp", to)), "proxy.satellite.protocol", "scps-tp"),
        (["b", "c"].map(|to| towards("quic", to)), "proxy.satellite.protocol", "quic"),
    ] {
        let [of_c, of_b] = proxies;
        let scenario = crate::tests::scenario(json!({
            "node": [{ "name": "b", "proxy": of_b }, { "name": "c", "proxy": of_c }],
            "link": [{ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "10ms" },
                     { "between": ["b", "c"], "rate": "1Mbit/s", "delay": "200ms" },
                     { "between": ["c", "d"], "rate": "1Mbit/s", "delay": "10ms" }],
            "flow": [flow("a", "d", json!({})), flow("a", "d", json!({}))],
        }));
        let refusals = plan(&scenario, &kernel_of(&["reno", "cubic"])).unwrap_err();
        let keys: Vec<_> = refusals.iter().map(|one| one.key.clone().unwrap()).collect();
        let expected = [0, 1].map(|node| Key { of: Of::Node(node), path: key.to_owned() });
        assert_eq!(keys, expected, "{refusals:?}");
        assert!(refusals.iter().all(|one| one.asked == protocol), "{refusals:?}");
    }
}

#[test]
fn both_hosts_of_a_flow_have_the_settings_of_their_profiles() {
    let scenario = crate::tests::scenario(json!({
        "link": [{ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "10ms" }],
        "flow": [{ "from": "a", "to": "b", "host": { "from": "linux-6.18", "to": "linux-4.19" },
                   "traffic": { "download": "1MB" } }],
    }));
    let plan = plan(&scenario, &kernel_of(&["reno", "cubic"])).unwrap();
    let rmem = |host: usize| plan.hosts[host].sysctls["tcp_rmem"].value.clone();
    let flow = &plan.flows[0];
    assert_eq!(rmem(flow.from), "4096 131072 33554432");
    assert_eq!(rmem(flow.to), "4096 87380 6291456");
    let [sender, receiver] = [Side::Sender, Side::Receiver].map(|side| flow.carrier.sockets(side));
    // No socket gets a buffer of its own.
    for sockets in [sender.unwrap(), receiver.unwrap()] {
        assert_eq!((sockets.tunes_window, sockets.send_buffer), (true, None));
    }
    // Where the verdicts differ, each names its host.
    let asked = |setting: &str| -> Vec<&str> {
        let found = plan.settings.iter().filter(|one| one.setting == setting);
        found.map(|one| one.asked.as_str()).collect()
    };
    assert_eq!(asked("transport.receive_buffer"), ["128KiB to 32MiB at a", "87380B to 6MiB at b"]);
    assert_eq!(asked("transport.recovery"), ["linux"]);
}

#[test]
fn a_profile_of_another_system_is_rejected_where_it_is_written() {
    let refusals = |node: Value, flow: Value| {
        let mut whole = json!({
            "link": [{ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "10ms" }],
            "flow": [{ "from": "a", "to": "b", "controller": "cubic", "traffic": { "download": "1MB" } }],
        });
        if !node.is_null() {
            whole["node"] = json!([{ "name": "b", "host": node }]);
        }
        if !flow.is_null() {
            whole["flow"][0]["host"] = flow;
        }
        plan(&crate::tests::scenario(whole), &kernel_of(&["reno", "cubic"])).unwrap_err()
    };
    for profile in PROFILES.iter().filter(|profile| profile.system != System::Linux) {
        let of_flow = refusals(Value::Null, json!({ "from": "linux-6.18", "to": profile.name }));
        let one = of_flow.iter().find(|one| one.asked == profile.name).unwrap();
        assert_eq!(one.key, Some(Key { of: Of::Flow(0), path: "host.to".to_owned() }));
        assert!(one.possible.contains("linux-2.4, linux-4.19"), "{one}");
        let of_node = refusals(profile.name.into(), Value::Null);
        let one = of_node.iter().find(|one| one.asked == profile.name).unwrap();
        assert_eq!(one.key.as_ref().unwrap().path, "host");
        assert!(matches!(one.key.as_ref().unwrap().of, Of::Node(_)), "{one}");
    }
}

#[test]
fn what_the_daemon_cannot_do_is_rejected_at_the_node() {
    let saved = json!({ "saved_cwnd": "1MB", "saved_rtt": "500ms" });
    let one = || json!([flow("a", "c", json!({}))]);
    let other = |side: &Value| -> Value {
        let mut flow = flow("a", "c", json!({ "recovery": "sack" }));
        flow["controller"] = side.clone();
        json!([one()[0].clone(), flow])
    };
    for (satellite, flows, place, possible) in [
        (
            json!({ "careful_resume": saved }),
            one(),
            "node \"b\", proxy.satellite.careful_resume",
            "none: no kernel takes",
        ),
        (
            json!({ "controller": "vegas" }),
            one(),
            "node \"b\", proxy.satellite.controller",
            "one that this kernel has: reno, cubic",
        ),
        (
            json!({}),
            other(&json!("reno")),
            "flow \"flow-1\" at \"b\" (terrestrial), controller",
            "the same as for flow \"flow-0\" at \"b\" (terrestrial): the daemon has one `controller`",
        ),
    ] {
        let refusals = split(json!({}), satellite, flows).unwrap_err();
        let refusal = refusals.iter().find(|one| one.place == place);
        let refusal = refusal.unwrap_or_else(|| panic!("{place}: {refusals:?}"));
        assert!(refusal.possible.starts_with(possible), "{refusal}");
        assert_eq!(refusal.key.as_ref().unwrap().of, Of::Node(0));
    }
    // A side of its own controller agrees whatever the flows have.
    let same = json!({ "controller": "cubic" });
    assert!(split(same.clone(), same, other(&json!("reno"))).is_ok());
}
