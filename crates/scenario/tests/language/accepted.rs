//! Scenarios that are accepted, and their models.

use wire::IpVersion;

use scenario::model::{Channel, Distribution, LowPriority, OnOff, QueueLimit, Traffic};
use scenario::{Override, Scenario};
use tcp::Recovery;
use transport::Protocol;
use units::{Bytes, Rate, Span};

const GEO: &str = r#"
name = "geo-download"
duration = "1200s"
seed = 1

[[link]]
between = ["server", "gateway"]
rate = "10Mbit/s"
delay = "10ms"

[[link]]
between = ["gateway", "client"]
delay = "250ms"
forward  = { rate = "2Mbit/s", queue = { packets = 64 } }
backward = { rate = "256kbit/s" }
channel  = { ber = 1e-7 }

[[flow]]
from = "server"
to = "client"
controller = "adalr"
transport = { recovery = "sack", mss = 1460, receive_buffer = "65535B", delayed_ack = "200ms" }
traffic = { download = "50MB" }
"#;

fn geo(sets: &[&str]) -> Scenario {
    let sets: Vec<Override> = sets.iter().map(|set| set.parse().unwrap()).collect();
    Scenario::parse(GEO, "geo.toml", &sets).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn the_scenario_of_the_design_is_what_it_says() {
    let scenario = geo(&[]);
    assert_eq!(scenario.name, "geo-download");
    assert_eq!(scenario.duration, Span::from_secs(1200));
    let names: Vec<_> = scenario.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["server", "gateway", "client"]);
    let link = &scenario.links[1];
    assert_eq!(link.name, "gateway-client");
    assert_eq!(link.forward.rate, Rate::from_bits_per_second(2_000_000));
    assert_eq!(link.forward.queue, QueueLimit::Packets(64));
    assert_eq!(link.backward.rate, Rate::from_bits_per_second(256_000));
    assert_eq!(link.backward.queue, QueueLimit::Packets(100));
    let errors = Channel::BitErrors { ber: 1e-7, ecc_threshold: 0.0 };
    assert_eq!([&link.forward.channel, &link.backward.channel], [&errors; 2]);
    let flow = &scenario.flows[0];
    assert_eq!(flow.controller.entry().name, "adalr");
    assert_eq!(flow.transport.tcp().unwrap().recovery, Recovery::Sack);
    assert_eq!(flow.transport.tcp().unwrap().delayed_ack.segments(), 2);
    let download = Traffic::Download { size: Bytes(50_000_000), request: Bytes(0) };
    assert_eq!(flow.traffic, download);
}

#[test]
fn an_override_replaces_a_value_of_the_file() {
    let scenario = geo(&[
        "link.1.forward.rate=1Mbit/s",
        "link[0].backward.rate=3Mbit/s",
        "flow.*.transport.mss=1400",
        "flow.0.controller=reno",
        "link.1.channel={ per = 0.01 }",
        "record.events=true",
        "seed=7",
    ]);
    assert_eq!(scenario.links[1].forward.rate, Rate::from_bits_per_second(1_000_000));
    assert_eq!(scenario.links[1].forward.queue, QueueLimit::Packets(64));
    assert_eq!(scenario.links[0].backward.rate, Rate::from_bits_per_second(3_000_000));
    assert_eq!(scenario.links[0].forward.rate, Rate::from_bits_per_second(10_000_000));
    assert_eq!(scenario.links[1].backward.channel, Channel::PacketErrors { per: 0.01 });
    assert_eq!(scenario.flows[0].transport.tcp().unwrap().mss, 1400);
    assert_eq!(scenario.flows[0].controller.entry().name, "reno");
    assert_eq!((scenario.seed, scenario.record.events), (7, true));
}

#[test]
fn hosts_speak_ipv4_unless_the_file_says_otherwise() {
    assert_eq!(geo(&[]).ip, IpVersion::V4);
    let scenario = geo(&["ip=ipv6"]);
    assert_eq!(scenario.ip, IpVersion::V6);
    assert_eq!(scenario.packet_bytes(&scenario.flows[0]), 1460 + 20 + 40);
}

#[test]
fn an_override_may_set_a_parameter_of_a_controller_that_is_only_named() {
    let scenario = geo(&["flow.0.controller.rwnd=off"]);
    assert_eq!(scenario.flows[0].controller.entry().name, "adalr");
    assert_eq!(scenario.flows[0].controller.values().word("rwnd"), "off");
}

/// `alpha` is a word for one controller and a number for another.
#[test]
fn a_parameter_is_that_of_the_controller_it_is_set_for() {
    let vegas = geo(&["flow.0.controller=vegas", "flow.0.controller.alpha=2"]);
    assert_eq!(vegas.flows[0].controller.values().number("alpha"), 2.0);
    let aliad = geo(&["flow.0.controller=aliad", "flow.0.controller.alpha=fixed"]);
    assert_eq!(aliad.flows[0].controller.values().word("alpha"), "fixed");
}

#[test]
fn a_later_override_wins() {
    assert_eq!(geo(&["seed=2", "seed=3"]).seed, 3);
}

#[test]
fn a_node_may_be_called_by_a_number() {
    let text = GEO.replace("\"server\"", "\"1\"");
    let sets = ["flow.0.from=1".parse().unwrap()];
    let scenario = Scenario::parse(&text, "geo.toml", &sets).unwrap();
    assert_eq!(scenario.nodes[scenario.flows[0].from].name, "1");
}

#[test]
fn a_direction_replaces_what_holds_for_both() {
    let scenario = geo(&["link.1.backward={ rate = \"1Mbit/s\", channel = \"perfect\" }"]);
    assert_eq!(scenario.links[1].backward.channel, Channel::Perfect);
    assert_eq!(scenario.links[1].backward.delay, Span::from_millis(250));
}

#[test]
fn a_queue_may_treat_packets_of_low_priority_otherwise() {
    let scenario = geo(&[
        "link.1.forward.queue={ packets = 64, low_priority = \"push-out\" }",
        "link.1.backward.queue={ bytes = \"9kB\", low_priority = \"refuse\" }",
    ]);
    let directions = [&scenario.links[1].forward, &scenario.links[1].backward];
    let rules = directions.map(|direction| (direction.queue, direction.low_priority));
    let push_out = (QueueLimit::Packets(64), LowPriority::PushOut);
    let refuse = (QueueLimit::Bytes(9000), LowPriority::Refuse);
    assert_eq!(rules, [push_out, refuse]);
    assert_eq!(scenario.links[0].forward.low_priority, LowPriority::Ignore);
}

#[test]
fn copies_of_a_flow_have_names_and_sequence_numbers_of_their_own() {
    let scenario = geo(&["flow.0.count=3", "flow.0.name=down"]);
    let names: Vec<_> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["down.0", "down.1", "down.2"]);
    let sequence = |i: usize| scenario.flows[i].initial_sequence;
    assert!(sequence(0) != sequence(1) && sequence(1) != sequence(2));
}

#[test]
fn delayed_ack_is_a_time_a_table_or_a_word() {
    let delayed_ack = |value: &str| {
        let set = format!("flow.0.transport.delayed_ack={value}");
        let delayed = geo(&[&set]).flows[0].transport.tcp().unwrap().delayed_ack;
        (delayed.segments(), delayed.longest())
    };
    assert_eq!(delayed_ack("500ms"), (2, Span::from_millis(500)));
    assert_eq!(delayed_ack("{ segments = 4 }"), (4, Span::from_millis(200)));
    assert_eq!(delayed_ack("off").0, 1);
    let linux = geo(&["flow.0.transport.delayed_ack=linux"]);
    assert_eq!(linux.flows[0].transport.tcp().unwrap().delayed_ack, tcp::AckTiming::Linux);
}

#[test]
fn every_kind_of_traffic_is_read() {
    let traffic = |value: &str| geo(&[&format!("flow.0.traffic={value}")]).flows[0].traffic.clone();
    assert_eq!(traffic("{ bulk = \"unlimited\" }"), Traffic::Bulk { size: None });
    assert_eq!(traffic("{ bulk = \"1MB\" }"), Traffic::Bulk { size: Some(Bytes(1_000_000)) });
    let with_request = Traffic::Download { size: Bytes(1), request: Bytes(350) };
    assert_eq!(traffic("{ download = \"1B\", request = \"350B\" }"), with_request);
    let Traffic::Web(web) = traffic("{ web = { pages = 3, keep_alive = \"5s\" } }") else {
        panic!("no web");
    };
    assert_eq!((web.pages, web.connections, web.embedded_objects), (Some(3), 2, 15));
    assert!(!web.pipelining);
    assert_eq!(web.keep_alive, Some(Span::from_secs(5)));
    // A full segment without the timestamps.
    let (rate, message) = (Rate::from_bits_per_second(1_000_000), Bytes(1448));
    assert_eq!(
        traffic("{ constant = { rate = \"1Mbit/s\" } }"),
        Traffic::Constant { rate, message }
    );
    let own = Traffic::Constant { rate, message: Bytes(1200) };
    assert_eq!(traffic("{ constant = { rate = \"1Mbit/s\", message = \"1200B\" } }"), own);
    for (written, distribution) in [
        ("", Distribution::Exponential),
        (", distribution = \"constant\"", Distribution::Constant),
        (", distribution = \"pareto\"", Distribution::Pareto { shape: 1.5 }),
        (", distribution = \"pareto\", shape = 1.2", Distribution::Pareto { shape: 1.2 }),
    ] {
        let pattern = OnOff { on: Span::from_secs(1), off: Span::from_secs(3), distribution };
        let on_off =
            format!("on_off = {{ rate = \"1Mbit/s\", on = \"1s\", off = \"3s\"{written} }}");
        let read = traffic(&format!("{{ {on_off} }}"));
        assert_eq!(read, Traffic::OnOff { rate, message, pattern });
    }
}

#[test]
fn the_recovery_is_the_one_that_the_controller_was_written_for() {
    let recovery = |controller: &str| {
        let text = GEO.replace("recovery = \"sack\", ", "").replace("\"adalr\"", controller);
        Scenario::parse(&text, "geo.toml", &[]).unwrap().flows[0].transport.tcp().unwrap().recovery
    };
    for entry in congestion::entries() {
        assert_eq!(recovery(&format!("{:?}", entry.name)), entry.repair.into(), "{}", entry.name);
    }
}

#[test]
fn the_least_rto_is_that_of_the_estimator_unless_it_is_written() {
    let rto = |rto: &str| {
        let text = GEO.replace("delayed_ack", &format!("rto = {{ {rto} }}, delayed_ack"));
        Scenario::parse(&text, "geo.toml", &[]).unwrap().flows[0].transport.tcp().unwrap().rto
    };
    assert_eq!(rto("").min, Span::from_secs(1));
    assert_eq!(rto("estimator = \"linux\"").min, Span::from_millis(200));
    assert_eq!(rto("estimator = \"linux\", min = \"1s\"").min, Span::from_secs(1));
    assert_eq!(rto("min = \"10ms\"").min, Span::from_millis(10));
}

#[test]
fn a_scenario_without_a_name_is_called_like_its_file() {
    let text = GEO.replace("name = \"geo-download\"", "");
    assert_eq!(Scenario::parse(&text, "papers/lossy geo.toml", &[]).unwrap().name, "lossygeo");
}

#[test]
fn a_program_writes_the_same_scenario_as_a_file() {
    let json = serde_json::json!({
        "name": "two",
        "link": [{ "between": ["a", "b"], "rate": "2Mbit/s", "delay": "10ms" }],
        "flow": [{ "from": "a", "to": "b", "controller": "reno", "traffic": { "bulk": "1MB" } }],
        "record": null,
    });
    let scenario = Scenario::from_json(&json, &["seed=9".parse().unwrap()]).unwrap();
    assert_eq!((scenario.name.as_str(), scenario.seed), ("two", 9));
}

/// The schema gives editors and readers the defaults; these are the ones that run.
#[test]
fn the_defaults_of_the_schema_are_those_that_run() {
    let schema = scenario::schema();
    let link = &schema["properties"]["link"]["items"]["properties"];
    let flow = &schema["properties"]["flow"]["items"]["properties"];
    let mut json = serde_json::json!({
        "link": [{ "between": ["a", "b"], "rate": "2Mbit/s", "delay": "10ms" }],
        "flow": [{ "from": "a", "to": "b", "controller": "adalr", "traffic": { "web": {} } }],
    });
    let bare = Scenario::from_json(&json, &[]).unwrap();
    for key in ["queue", "overhead", "channel"] {
        json["link"][0][key] = link[key]["default"].clone();
    }
    for key in ["count", "start", "transport"] {
        json["flow"][0][key] = flow[key]["default"].clone();
    }
    // The tables of other protocols have defaults too, and none may stand in a flow of TCP.
    let transport = json["flow"][0]["transport"].as_object_mut().unwrap();
    let tables = Protocol::ALL.iter().filter_map(|protocol| protocol.entry().table);
    tables.for_each(|table| drop(transport.remove(table).unwrap()));
    for key in ["duration", "seed", "record"] {
        json[key] = schema["properties"][key]["default"].clone();
    }
    let spelt_out = Scenario::from_json(&json, &[]).unwrap();
    assert_eq!(format!("{bare:?}"), format!("{spelt_out:?}"));
}
