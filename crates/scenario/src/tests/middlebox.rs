//! Middleboxes: what they resolve to, what is refused, and where a warning belongs.

use std::fmt::Write;

use middlebox::{AckFilterSettings, FilterRule};

use crate::model::Middlebox;
use crate::{Loaded, Scenario, WarningKind, explain};

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
