//! Whole runs: against the slow engine, against themselves, against theory.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod ack_control;
mod ack_trains;
mod acm;
mod admission;
mod applications;
mod aqm;
mod arq;
mod background;
mod behaviour;
mod best_effort;
mod buckets;
mod buffers;
mod bursts;
mod byte_counting;
mod calls;
mod captures;
mod changes;
mod compression;
mod cost;
mod demand;
mod end_to_end;
mod explained;
mod fades;
mod fec;
mod feedback;
mod gateways;
mod golden;
mod held_acks;
mod hints;
mod hosts;
mod idle;
mod latency;
mod legs;
mod limits;
mod loss_notice;
mod middlebox;
mod mtu;
mod page;
mod physics;
mod picoquic;
mod priority;
mod prototypes;
mod proxy;
mod quick_start;
mod rates;
mod reference;
mod resume;
mod scalable;
mod scps;
mod seed_use;
mod sources;
mod stops;
mod switch;
mod theory;
mod traces;
mod tunnel;
mod values;

use recording::{Recording, Values};
use scenario::Scenario;
use simulator::Options;

/// The scenario of `text`, which must be right.
pub fn parse(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// Runs `text` with seed 1.
pub fn run(text: &str) -> Recording {
    run_with_seed(text, 1)
}

/// Runs `text`.
pub fn run_with_seed(text: &str, seed: u64) -> Recording {
    simulator::run(&parse(text), seed, Options::default())
}

/// A cell of a mechanism's table, in the row of the only direction that has it.
pub fn total(recording: &Recording, table: &str, column: &str) -> u64 {
    let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == column).unwrap().values {
        Values::U64(counts) => counts[0],
        _ => panic!("{column} is a count"),
    }
}

/// A download over a link with an RTT of 50 ms and this PER. `forward` is TOML.
pub fn lossy(per: f64, forward: &str, controller: &str, size: &str) -> String {
    format!(
        r#"
duration = "300s"
[[link]]
between = ["server", "client"]
rate = "5Mbit/s"
delay = "25ms"
queue = {{ packets = 300 }}
channel = {{ per = {per} }}
forward = {{ {forward} }}
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
traffic = {{ download = "{size}" }}
"#
    )
}

/// A server and a client on the two sides of a satellite link. `link`, `transport` and `traffic`
/// are TOML.
pub fn geo(link: &str, transport: &str, traffic: &str) -> String {
    format!(
        r#"
duration = "3000s"
[[link]]
between = ["server", "client"]
delay = "250ms"
{link}
[[flow]]
from = "server"
to = "client"
controller = "newreno"
transport = {{ {transport} }}
traffic = {{ {traffic} }}
"#
    )
}
