//! Random access to the return channel of a beam, with real transports.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use recording::{Recording, Values};
use scenario::Scenario;
use simulator::Options;

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "beam.toml", &[]).map_err(|errors| errors.to_string())
}

fn run(text: &str, seed: u64) -> Recording {
    let scenario = parse(text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    simulator::run(&scenario, seed, Options::default())
}

/// The first number of a column of the table of beams.
fn total(recording: &Recording, name: &str) -> u64 {
    let table = recording.tables.iter().find(|one| one.name() == "beams").unwrap();
    match &table.columns().iter().find(|one| one.name == name).unwrap().values {
        Values::U64(values) => values[0],
        _ => panic!("{name} is a number"),
    }
}

/// A beam with `terminals` that have nothing but random access unless `group` says otherwise.
fn beam(terminals: u32, access: &str, group: &str, flows: &str) -> String {
    format!(
        r#"
duration = "120s"

[[link]]
between = ["server", "gateway"]
rate = "1Gbit/s"
delay = "10ms"

[[beam]]
name = "spot"
gateway = "gateway"
forward = {{ modem = {{ name = "dvb-s2", bandwidth = 12e6 }} }}
return = {{ carriers = 2, access = {{ {access} }} }}

[[beam.group]]
name = "home"
terminals = {terminals}
es_n0 = 11.0
return_es_n0 = 9.0
random_access = true
{group}

{flows}
"#
    )
}

/// Uploads of all terminals.
fn uploads(controller: &str, size: &str) -> String {
    format!(
        r#"
[[flow]]
name = "upload"
from = "home"
to = "server"
controller = "{controller}"
traffic = {{ download = "{size}" }}
"#
    )
}

const ONLY: &str = "requests = \"none\"";
/// Few slots, no control of the load and few tries, so that packets are lost.
const LOSSY: &str = "scheme = \"slotted-aloha\", load = \"none\", tries = 2, back_off = \"1s\"";

#[test]
fn every_controller_ends_its_transfers_over_lossy_random_access() {
    let mut lost = 0;
    for entry in congestion::entries() {
        let flows = uploads(entry.name, "8kB");
        let text = beam(6, LOSSY, ONLY, &flows).replace("120s", "3000s");
        // Five slots in a frame.
        let narrow = text.replace("carriers = 2,", "carriers = 2, bandwidth = 12.5e4,");
        let recording = run(&narrow, 1);
        for flow in &recording.flows {
            assert!(flow.completed && flow.bytes == 8000, "{}: {} bytes", entry.name, flow.bytes);
        }
        lost += total(&recording, "random_given_up");
    }
    assert!(lost > 0, "bursts are lost");
}

#[test]
fn both_engines_give_the_same_recordings() {
    let flows = uploads("cubic", "20kB");
    for group in [ONLY, "requests = \"vbdc\"", "requests = \"rbdc\"\nfca = true"] {
        let scenario = parse(&beam(12, "", group, &flows)).unwrap();
        let fast = simulator::run(&scenario, 3, Options::default());
        let reference = simulator::run_on_reference(&scenario, 3, Options::default());
        assert_eq!(fast.tables, reference.tables, "{group}");
        assert_eq!(fast.flows, reference.flows, "{group}");
    }
}

#[test]
fn seeds_draw_other_slots_and_one_seed_the_same() {
    let text = beam(12, "", ONLY, &uploads("cubic", "20kB"));
    let [first, again, other] = [1, 1, 2].map(|seed| run(&text, seed).flows);
    assert_eq!(first, again);
    assert_ne!(first, other);
}

/// Small answers of terminals go at random, large ones are requested.
#[test]
fn a_terminal_turns_to_requests_with_what_a_burst_does_not_carry() {
    let of = |size: &str| {
        let flows = uploads("cubic", size);
        let recording = run(&beam(4, "", "requests = \"vbdc\"", &flows), 1);
        (total(&recording, "random_decoded"), total(&recording, "volume_used_slots"))
    };
    let (random, volume) = of("100B");
    assert!(random > 0 && volume == 0, "{random} bursts, {volume} slots");
    let (_, volume) = of("100kB");
    assert!(volume > 4 * 100_000 / 444, "{volume} slots for 400 kB in bursts of 444 bytes");
}

#[test]
fn settings_without_effect_are_refused() {
    for (access, group, expected) in [
        ("scheme = \"slotted-aloha\", replicas = 2", ONLY, "no `replicas` with \"slotted-aloha\""),
        ("scheme = \"dsa\", iterations = 4", ONLY, "no `iterations` without \"crdsa\""),
        ("timeout = \"300ms\"", ONLY, "at least \"600ms\""),
        ("carriers = 1000, timeout = \"1s\"", "requests = \"vbdc\"", "at most 100000 slots"),
        ("packets = false", ONLY, "a category of `requests`"),
        ("scheme = \"aloha\"", ONLY, "slotted-aloha"),
    ] {
        let text = beam(4, access, group, &uploads("cubic", "1kB"));
        // Wide carriers, so that a thousand have too many slots.
        let text = text.replace("carriers = 2,", "carriers = 2, bandwidth = 1e8,");
        let errors = parse(&text).err().unwrap_or_else(|| panic!("accepted: {access}"));
        assert!(errors.contains(expected), "{errors}");
    }
    let without = beam(4, "", ONLY, &uploads("cubic", "1kB")).replace(", access = {  }", "");
    assert!(parse(&without).err().unwrap().contains("random_access"));
    let unused = beam(4, "", "requests = \"vbdc\"", &uploads("cubic", "1kB"))
        .replace("random_access = true", "");
    assert!(parse(&unused).err().unwrap().contains("a group with `random_access = true`"));
}
