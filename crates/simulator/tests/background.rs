//! Terminals in the background take the share of both carriers that they have with packets.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use recording::{Recording, Values};
use scenario::Scenario;
use simulator::Options;

/// Five terminals that are watched and twenty others, each with files of 500 kB. `keys` are those
/// of the group of the others, `forward` those of the carrier.
fn text(keys: &str, forward: &str) -> String {
    format!(
        r#"
duration = "120s"
[[link]]
between = ["server", "gateway"]
rate = "1Gbit/s"
delay = "10ms"
queue = {{ packets = 20000 }}
[[beam]]
name = "spot"
gateway = "gateway"
forward = {{ modem = {{ name = "dvb-s2", bandwidth = 6e6 }}, {forward} }}
return = {{ carriers = 4 }}
[[beam.group]]
name = "watched"
terminals = 5
es_n0 = 11.0
return_es_n0 = 9.0
fca = true
[[beam.group]]
name = "others"
terminals = 20
es_n0 = 11.0
return_es_n0 = 9.0
fca = true
{keys}
[[flow]]
name = "watched"
from = "server"
to = "watched"
controller = "cubic"
traffic = {{ download = "500kB" }}
sessions = {{ pause = "10s", length = "20s" }}
[[flow]]
name = "others"
from = "server"
to = "others"
controller = "cubic"
traffic = {{ download = "500kB" }}
sessions = {{ pause = "10s", length = "20s" }}
"#
    )
}

fn run(text: &str, seed: u64) -> Recording {
    let scenario = Scenario::parse(text, "beam.toml", &[]).unwrap_or_else(|e| panic!("{e}"));
    simulator::run(&scenario, seed, Options::default())
}

fn column(recording: &Recording, table: &str, name: &str) -> Vec<f64> {
    let table = recording.tables.iter().find(|one| one.name() == table).unwrap();
    let columns = table.columns();
    match &columns.iter().find(|one| one.name == name).unwrap().values {
        Values::U64(values) => values.iter().map(|value| *value as f64).collect(),
        Values::F64(values) => values.to_vec(),
        _ => panic!("{name} is a number"),
    }
}

/// The same sessions, bytes, airtime and slots, and nearly the same times.
#[test]
fn the_background_takes_its_share() {
    let packets = run(&text("", ""), 1);
    let fluid = run(&text("background = true", ""), 1);
    let near = |table: &str, name: &str, row: usize, bound: f64| {
        let [fluid, packets] = [&fluid, &packets].map(|one| column(one, table, name)[row]);
        assert!((fluid / packets - 1.0).abs() < bound, "{table} {name}: {fluid} and {packets}");
    };
    near("beams", "airtime", 0, 0.02);
    near("beams", "forward_bps", 0, 0.01);
    near("beams", "return_bps", 0, 0.02);
    // Rows of groups are forward and return.
    near("beam_groups", "rate_bps", 2, 0.01);
    near("beam_groups", "rate_bps", 3, 0.02);
    near("beam_groups", "packets", 2, 0.01);
    let [all, watched] =
        [&packets, &fluid].map(|one| column(one, "sessions", "start_s").len() as f64);
    let described = column(&fluid, "beam_background", "transfers")[0];
    assert!((all - watched - described).abs() <= 2.0, "{all}, {watched} and {described}");
}

#[test]
fn a_run_with_a_background_depends_on_its_seed_only() {
    let text = text("background = true", "");
    let times = |seed| column(&run(&text, seed), "sessions", "duration_s");
    let (first, again, other) = (times(1), times(1), times(2));
    let bits = |all: &[f64]| all.iter().map(|one| one.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&first), bits(&again));
    assert_ne!(bits(&first), bits(&other));
}

/// A buffer of 30 packets for each terminal drops much of slow start. All bytes arrive.
#[test]
fn transfers_end_though_queues_drop() {
    let text = text("background = true", "buffer = \"45kB\"").replace("120s", "300s");
    let recording = run(&text, 1);
    assert!(column(&recording, "beam_groups", "dropped_packets")[2] > 100.0);
    let [transfers, cut, bytes] =
        ["transfers", "cut", "bytes"].map(|name| column(&recording, "beam_background", name)[0]);
    let whole = bytes / 500_000.0;
    assert!(whole <= transfers && whole >= transfers - cut - 20.0, "{transfers} {cut} {whole}");
    assert!(cut < transfers / 4.0);
}

/// Once it has been cut short, a transfer sends no more, and the next session begins.
#[test]
fn the_end_of_a_session_cuts_a_transfer_short() {
    let text = text("background = true", "").replace("length = \"20s\"", "length = \"2s\"");
    let recording = run(&text, 1);
    let [transfers, cut, bytes] =
        ["transfers", "cut", "bytes"].map(|name| column(&recording, "beam_background", name)[0]);
    assert!(cut > transfers / 4.0 && cut < transfers, "{cut} of {transfers}");
    assert!(bytes < transfers * 500_000.0);
}
