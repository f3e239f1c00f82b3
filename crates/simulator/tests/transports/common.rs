//! Scenarios of one link for all protocols, and what the language answers to them.

use explain::{WarningKind, explain};
use recording::Recording;
use scenario::{Loaded, Scenario};
use simulator::Options;

pub fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

pub fn run(text: &str) -> Recording {
    simulator::run(&parse(text), 1, Options::default())
}

/// Error message of the language for `text`.
pub fn refusal(text: &str) -> String {
    Scenario::parse(text, "test.toml", &[]).unwrap_err().to_string()
}

/// A link of 2 Mbit/s with `delay` and a queue of 200 packets. `extra` is TOML of the link.
pub fn link(delay: &str, extra: &str, flows: &str) -> String {
    format!(
        r#"duration = "600s"
[[link]]
between = ["server", "client"]
rate = "2Mbit/s"
delay = "{delay}"
queue = {{ packets = 200 }}
{extra}
{flows}
"#
    )
}

pub fn flow(controller: &str, transport: &str, traffic: &str) -> String {
    format!(
        r#"[[flow]]
from = "server"
to = "client"
controller = "{controller}"
transport = {{ {transport} }}
traffic = {{ {traffic} }}
"#
    )
}

/// Bytes that the return direction has carried, and bytes that have arrived.
pub fn returned(text: &str) -> (u64, u64) {
    let recording = run(text);
    (recording.links[1].delivered_bytes, recording.flows[0].bytes)
}

/// Warnings of `explain` for `text`.
pub fn warnings(text: &str) -> Vec<WarningKind> {
    let loaded = Loaded::parse(text, "test.toml", &[]).unwrap();
    let warnings = explain(&loaded.scenario, &loaded.written).warnings;
    warnings.into_iter().map(|warning| warning.kind).collect()
}
