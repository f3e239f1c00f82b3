//! The language as a whole.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod accepted;
mod aqm;
mod arq;
mod background;
mod beams;
mod bounds;
mod buckets;
mod changes;
mod compression;
mod demand;
mod explained;
mod fades;
mod fec;
mod gateways;
mod given;
mod hints;
mod hosts;
mod impairments;
mod middlebox;
mod modems;
mod mtu;
mod named_entries;
mod numbers;
mod orbits;
mod proxy;
mod queues;
mod reference;
mod refused;
mod robust;
mod scps;
mod switches;
mod times;
mod traces;
mod tunnels;

/// A bulk transfer over one link with these keys.
fn over_a_link(rate: &str, delay: &str, keys: &str) -> String {
    format!(
        r#"
duration = "100s"
[[link]]
between = ["a", "b"]
rate = "{rate}"
delay = "{delay}"
{keys}
[[flow]]
from = "a"
to = "b"
controller = "reno"
traffic = {{ bulk = "unlimited" }}
"#
    )
}

/// Both directions of the only link.
fn directions(text: &str) -> [scenario::model::Direction; 2] {
    let scenario = scenario::Scenario::parse(text, "test.toml", &[]);
    let scenario = scenario.unwrap_or_else(|errors| panic!("{errors}"));
    let link = &scenario.links[0];
    [link.forward.clone(), link.backward.clone()]
}
