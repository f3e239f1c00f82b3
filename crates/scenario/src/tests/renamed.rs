//! Old names of keys: accepted with a warning wherever a key can be written.

use std::collections::BTreeSet;

use serde_json::json;
use units::Bytes;

use crate::{Loaded, NewValue, Override, Scenario, renames};

const OLD: &str = r#"[[node]]
name = "r"
forwarding = { rate = "1Mbit/s", memory = "20kB" }

[[link]]
between = ["a", "r"]
rate = "10Mbit/s"
delay = "10ms"
framing = "18B"
channel = { ber = 1e-7, correction_threshold = 0.001 }

[[link.change]]
at = "1s"
rate = "5Mbit/s"

[[link]]
between = ["r", "b"]
delay = "250ms"
forward = { rate = "2Mbit/s", mark = { packets = 5 } }
backward = { rate = "2Mbit/s" }

[[flow]]
from = "a"
to = "b"
controller = "reno"
traffic = { download = "5MB" }

[flow.transport]
loss_threshold = "pipe"
duplicate_threshold = 4
byte_counting = 2
retransmission_threshold = 7
rto = { gain = 0.2, deviation_gain = 0.3, deviation_coefficient = 5 }
careful_resume = { saved_window = "1MB", saved_rtt = "500ms" }
"#;

/// The text with the last step of each rename replaced.
fn modern(text: &str) -> String {
    renames().iter().fold(text.to_owned(), |text, rename| {
        let last = |path: &str| path.rsplit('.').next().unwrap().to_owned();
        let (old, new) = (last(&rename.old), last(&rename.new));
        let mut out = String::new();
        for word in text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_') {
            let end = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_').len();
            out += if word[..end] == old { &new } else { &word[..end] };
            out += &word[end..];
        }
        out
    })
}

/// The text above writes every old name, and each is read as the new one.
#[test]
fn every_old_name_is_read_as_the_new_one_with_a_warning() {
    let old = Loaded::parse(OLD, "old.toml", &[]).unwrap();
    let new = Loaded::parse(&modern(OLD), "old.toml", &[]).unwrap();
    assert_eq!(format!("{:?}", old.scenario), format!("{:?}", new.scenario));
    assert_eq!(new.written.old_names, []);
    // The numbers of lists are not part of the rename, and a direction has the keys of its link.
    let plain = |path: &str| {
        let path = path.replace(|c: char| c.is_ascii_digit() || "[]".contains(c), "");
        path.replace(".forward.", ".").replace(".backward.", ".")
    };
    let warned: BTreeSet<_> = old.written.old_names.iter().map(|one| plain(&one.path)).collect();
    let all: BTreeSet<_> = renames().into_iter().map(|rename| rename.new).collect();
    assert_eq!(warned, all);
}

#[test]
fn a_warning_says_where_the_old_name_was_written() {
    let loaded = Loaded::parse(OLD, "old.toml", &[]).unwrap();
    let framing = loaded.written.old_names.iter().find(|one| one.old == "framing").unwrap();
    assert_eq!((framing.place.line, framing.place.column), (Some(9), Some(1)));
    assert_eq!((framing.path.as_str(), framing.new.as_str()), ("link[0].overhead", "overhead"));
    insta::assert_snapshot!(framing, @"old.toml:9:1: link[0].overhead: `framing` is now called `overhead`; the next release will not accept the old name");
}

#[test]
fn old_names_in_overrides_and_programs_are_read_too() {
    let set = |text: &str| text.parse::<Override>().unwrap();
    let text = modern(OLD);
    let sets = [set("link.*.framing=9B"), set("link.0.change=[{ at = \"2s\", delay = \"1ms\" }]")];
    let loaded = Loaded::parse(&text, "new.toml", &sets).unwrap();
    assert_eq!(loaded.scenario.links[1].backward.overhead, 9);
    assert_eq!(loaded.scenario.links[0].forward.timeline.changes().len(), 1);
    let found: Vec<_> =
        loaded.written.old_names.iter().map(|one| one.place.set.as_deref()).collect();
    assert_eq!(
        found,
        [
            Some("--set link.*.framing=9B"),
            Some("--set link.0.change=[{ at = \"2s\", delay = \"1ms\" }]")
        ]
    );

    // The name in a table that an override brings, and in the file below an override.
    let inner =
        set("flow.0.transport.careful_resume={ saved_window = \"2MB\", saved_rtt = \"1s\" }");
    let loaded = Loaded::parse(OLD, "old.toml", &[inner, set("link.0.overhead=1B")]).unwrap();
    assert_eq!(loaded.scenario.links[0].forward.overhead, 1);
    assert_eq!(
        loaded.scenario.flows[0].transport.careful_resume.unwrap().saved_cwnd,
        Bytes(2_000_000)
    );

    let value = NewValue::Program(json!(7));
    let change = Override { path: "flow.0.transport.byte_counting".into(), value };
    let changed = loaded.given.with(&[change]).unwrap();
    assert_eq!(changed.scenario.flows[0].transport.abc_limit, 7);
    assert_eq!(changed.written.old_names.len(), 1, "those of the file are not reported again");

    let json = json!({
        "link": [{ "between": ["a", "b"], "rate": "1Mbit/s", "delay": "1ms", "framing": "3B" }],
        "flow": [{ "from": "a", "to": "b", "controller": "reno", "traffic": { "bulk": "1MB" } }],
    });
    let loaded = Loaded::from_json(&json, &[]).unwrap();
    assert_eq!(loaded.scenario.links[0].forward.overhead, 3);
    assert_eq!(loaded.written.old_names[0].path, "link[0].overhead");
}

#[test]
fn a_saved_scenario_has_the_new_names() {
    let loaded = Loaded::parse(OLD, "old.toml", &[]).unwrap();
    let text = loaded.given.to_toml(&loaded.scenario, 1);
    let again = Loaded::parse(&text, "again.toml", &[]).unwrap();
    assert_eq!(again.written.old_names, []);
}

#[test]
fn the_old_and_the_new_name_at_once_are_an_error() {
    let both = OLD.replace("framing = \"18B\"", "framing = \"18B\"\noverhead = \"18B\"");
    let errors = Scenario::parse(&both, "geo.toml", &[]).unwrap_err();
    let [error] = &errors.0[..] else { panic!("{errors}") };
    assert_eq!((error.path.as_str(), error.place.line), ("link[0].framing", Some(9)));
    insta::assert_snapshot!(errors, @r#"
    geo.toml:9:1: link[0].framing: expected one of `framing` and `overhead`, found both: `framing` is the old name of `overhead`
       |
     9 | framing = "18B"
       | ^^^^^^^
    "#);
}

/// The page lists what the schema says.
#[test]
fn the_migration_page_lists_every_renamed_key() {
    let page = include_str!("../../../../docs/migration.md");
    assert!(page.contains(&crate::renames_table()), "write this:\n{}", crate::renames_table());
}
