//! Middleboxes: what they resolve to, what is refused, and where a warning belongs.

use std::fmt::Write;

use middlebox::{AckFilterSettings, FilterRule};

use explain::{WarningKind, explain};
use scenario::model::Middlebox;
use scenario::{Loaded, Scenario};

/// A chain of three nodes with `node` as the table of a node, and a return link of this rate.
fn text(node: &str, back: &str) -> String {
    format!(
        r#"
duration = "100s"
[[node]]
{node}
[[link]]
between = ["a", "b"]
delay = "270ms"
forward = {{ rate = "20Mbit/s" }}
backward = {{ rate = "{back}" }}
[[link]]
between = ["b", "c"]
rate = "100Mbit/s"
delay = "1ms"
[[flow]]
from = "a"
to = "c"
controller = "reno"
traffic = {{ bulk = "unlimited" }}
[[link]]
between = ["b", "aside"]
rate = "100Mbit/s"
delay = "1ms"
"#
    )
}

fn resolved(middlebox: &str) -> Option<Middlebox> {
    let node = format!("name = \"b\"\nmiddlebox = {middlebox}");
    let scenario = Scenario::parse(&text(&node, "1Mbit/s"), "box.toml", &[]);
    scenario.unwrap_or_else(|errors| panic!("{errors}")).nodes[0].middlebox
}

#[test]
fn a_name_stands_for_the_defaults_and_none_for_nothing() {
    assert_eq!(resolved("\"none\""), None);
    for middlebox in Middlebox::all() {
        let name = middlebox.name();
        assert_eq!(resolved(&format!("{name:?}")), Some(middlebox));
        assert_eq!(resolved(&format!("{{ name = {name:?} }}")), Some(middlebox));
    }
    let rules = [
        ("cake", FilterRule::Cake),
        ("cake-aggressive", FilterRule::CakeAggressive),
        ("ns-2", FilterRule::Ns2),
    ];
    for (word, rule) in rules {
        let found = resolved(&format!("{{ name = \"ack-filter\", rule = {word:?} }}"));
        assert_eq!(found, Some(Middlebox::AckFilter(AckFilterSettings { rule })));
    }
}

#[test]
fn middleboxes_that_cannot_be() {
    let wrong = [
        ("name = \"b\"\nmiddlebox = \"ack-filer\"", "node[0].middlebox"),
        ("name = \"b\"\nmiddlebox = { name = \"ack-fliter\" }", "node[0].middlebox.name"),
        ("name = \"b\"\nmiddlebox = { rule = \"cake\" }", "node[0].middlebox.name"),
        (
            "name = \"b\"\nmiddlebox = { name = \"ack-filter\", rule = \"cak\" }",
            "node[0].middlebox.rule",
        ),
        (
            "name = \"b\"\nmiddlebox = { name = \"ack-filter\", rules = \"cake\" }",
            "node[0].middlebox.rules",
        ),
        ("name = \"aside\"\nmiddlebox = \"ack-filter\"", "node[0].middlebox"),
        ("name = \"aside\"\nmiddlebox = \"spoofing-proxy\"", "node[0].middlebox"),
        (
            "name = \"b\"\nmiddlebox = { name = \"spoofing-proxy\", store = \"0B\" }",
            "node[0].middlebox.store",
        ),
    ];
    let mut all = String::new();
    for (node, path) in wrong {
        let found = Scenario::parse(&text(node, "1Mbit/s"), "box.toml", &[]).unwrap_err();
        let paths: Vec<_> = found.0.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, [path], "{found}");
        writeln!(all, "# {node}\n{found}\n").unwrap();
    }
    insta::assert_snapshot!(all);
}

/// The warnings of a scenario about middleboxes without effect.
fn idle(text: &str) -> Vec<String> {
    let loaded = Loaded::parse(text, "box.toml", &[]);
    let loaded = loaded.unwrap_or_else(|errors| panic!("{errors}"));
    let warnings = explain(&loaded.scenario, &loaded.written).warnings;
    let found = warnings.iter().filter(|w| w.kind == WarningKind::MiddleboxWithoutEffect);
    found.map(ToString::to_string).collect()
}

#[test]
fn a_spoofing_proxy_that_packets_can_bypass_is_refused() {
    let proxy = "name = \"b\"\nmiddlebox = \"spoofing-proxy\"";
    let around = |forward: &str, backward: &str| {
        let link = format!(
            "[[link]]\nbetween = [\"a\", \"c\"]\nrate = \"1Mbit/s\"\n\
             forward = {{ delay = \"{forward}\" }}\nbackward = {{ delay = \"{backward}\" }}\n"
        );
        let text = text(proxy, "1Mbit/s") + &link;
        let found = Scenario::parse(&text, "box.toml", &[]).unwrap_err();
        let paths: Vec<_> = found.0.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["node[0].middlebox"], "{found}");
        found.to_string()
    };
    // A slower route that no packet takes, and one that the ACKs take.
    let beside = around("1s", "1s");
    assert!(beside.contains("may take a route around it"), "{beside}");
    let asymmetric = around("1s", "1ms");
    assert!(asymmetric.contains("data and ACKs take different routes"), "{asymmetric}");
    // Snoop is only blind there.
    let snoop = text("name = \"b\"\nmiddlebox = \"snoop\"", "1Mbit/s");
    assert!(Scenario::parse(&snoop, "box.toml", &[]).is_ok());
}

#[test]
fn a_store_below_the_bandwidth_delay_product_is_a_warning() {
    let with = |store: &str| {
        let middlebox = format!("{{ name = \"spoofing-proxy\", store = \"{store}\" }}");
        let back = "delay = \"1ms\"\n[[flow]]";
        let long = text(&format!("name = \"b\"\nmiddlebox = {middlebox}"), "20Mbit/s");
        // The long link is behind the proxy.
        let near = long.replacen("270ms", "1ms", 1);
        idle(&near.replacen(back, "delay = \"270ms\"\n[[flow]]", 1))
    };
    let [narrow] = &with("100kB")[..] else { panic!("one warning") };
    assert!(narrow.contains("a store of 100kB and a round trip of 540ms"), "{narrow}");
    assert_eq!(with("8MB"), [""; 0]);
}

#[test]
fn packet_control_before_a_steady_hop_is_a_warning() {
    let control = text("name = \"b\"\nmiddlebox = \"packet-control\"", "1Mbit/s");
    let [steady] = &idle(&control)[..] else { panic!("one warning") };
    assert!(steady.contains("no hop with a varying delay"), "{steady}");
    let back = "delay = \"1ms\"\n[[flow]]";
    let varying = control.replacen(back, "delay = \"1ms\"\njitter = \"9ms\"\n[[flow]]", 1);
    assert_eq!(idle(&varying), [""; 0]);
}

#[test]
fn an_ack_filter_before_a_link_without_a_queue_of_acks_is_a_warning() {
    let doubts = |node: &str, back: &str| {
        let node = format!("name = \"{node}\"\nmiddlebox = \"ack-filter\"");
        let loaded = Loaded::parse(&text(&node, back), "box.toml", &[]);
        let loaded = loaded.unwrap_or_else(|errors| panic!("{errors}"));
        let warnings = explain(&loaded.scenario, &loaded.written).warnings;
        let found = warnings.iter().filter(|w| w.kind == WarningKind::MiddleboxWithoutEffect);
        found.map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(doubts("b", "100kbit/s"), [""; 0]);
    let [idle] = &doubts("b", "1Mbit/s")[..] else { panic!("one warning") };
    assert!(idle.contains("b: ack-filter finds no ACKs that wait: the ACKs of flow-0"), "{idle}");
    // The thin link is not its own.
    assert_eq!(doubts("c", "100kbit/s").len(), 1);
    let [unseen] = &doubts("a", "100kbit/s")[..] else { panic!("one warning") };
    assert_eq!(
        unseen,
        "box.toml:5:13: a: ack-filter finds no ACKs that wait: no ACK leaves this node"
    );
}

#[test]
fn an_explanation_has_what_a_middlebox_sees_and_adds() {
    let node = "name = \"c\"\nmiddlebox = \"ack-filter\"";
    let loaded = Loaded::parse(&text(node, "100kbit/s"), "box.toml", &[]).unwrap();
    let explanation = explain(&loaded.scenario, &loaded.written);
    let found = explanation.nodes[0].middlebox.as_ref().unwrap();
    assert_eq!((found.data_of.len(), found.acks_of.len()), (0, 1));
    let text = explanation.to_string();
    assert!(text.contains("ack-filter, rule cake"), "{text}");
    assert!(text.contains("sees ACKs of flow-0; adds no delay"), "{text}");
}
