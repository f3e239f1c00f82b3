//! Digests of random scenarios, to show that a change of the code's structure moves no result.
//!
//!     cargo run --release -p soak --example digests -- [--scenarios 2000] [--each 300]
//!
//! The scenarios are those of a soak with seed 1. Each line has the number of the scenario, its
//! transports, the events of its run and the SHA-256 of all its numbers, or `refused` or `long`.
//! After `--scenarios` only scenarios with a transport that was drawn less than `--each` times are
//! run. Lines of two trees of the code are compared with `diff`. Names of the backend, version and
//! wall time are left out.

#![allow(clippy::print_stdout, reason = "a command talks")]

use std::collections::{BTreeMap, BTreeSet};

use generate::Coverage;
use recording::{Recording, Table};
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};
use simulator::{Options, Progress};

/// Seed of all scenarios.
const SEED: u64 = 1;
/// Scenarios after which a transport that was not drawn often enough is given up.
const MOST: u64 = 40_000;
const TRANSPORTS: [&str; 6] = ["tcp", "scps-tp", "quic", "stp", "xtp", "sctp"];
/// Keys of the totals that are no results.
const LEFT_OUT: [&str; 5] = ["bed", "backend", "version", "wall_s", "digest"];

fn main() {
    let [scenarios, each] = [("--scenarios", 2000), ("--each", 300)].map(|(name, default)| {
        let mut arguments = std::env::args().skip_while(|argument| argument != name).skip(1);
        arguments.next().map_or(default, |value| value.parse().expect("a number"))
    });
    let schema = scenario::schema();
    let pairs = Coverage::new(&schema).shuffled_pairs(SEED);
    let mut drawn: BTreeMap<&str, u64> = TRANSPORTS.iter().map(|name| (*name, 0)).collect();
    for number in 0..MOST {
        if number >= scenarios && drawn.values().all(|count| *count >= each) {
            break;
        }
        let places = [2 * number, 2 * number + 1].map(|place| place as usize % pairs.len());
        let wanted: Vec<String> = places.iter().flat_map(|place| pairs[*place].clone()).collect();
        let Some((_, loaded, seed)) = soak::one(SEED, number, &wanted, &schema) else {
            if number < scenarios {
                println!("{number}\trefused");
            }
            continue;
        };
        let transports: BTreeSet<_> =
            loaded.scenario.flows.iter().map(|flow| flow.protocol().name()).collect();
        let is_rare = transports.iter().any(|name| drawn.get(name).is_some_and(|n| *n < each));
        if number >= scenarios && !is_rare {
            continue;
        }
        let mut stop = |_: &Progress| false;
        let options = Options { progress: Some(&mut stop), ..Options::default() };
        let run = simulator::run(&loaded.scenario, seed, options);
        if run.partial {
            println!("{number}\tlong");
            continue;
        }
        for name in &transports {
            drawn.entry(name).and_modify(|count| *count += 1);
        }
        let names: Vec<_> = transports.into_iter().collect();
        println!("{number}\t{}\t{}\t{}", names.join(","), run.events, digest(&run));
    }
}

/// SHA-256 over the totals as sorted JSON and over all columns of all tables.
fn digest(run: &Recording) -> String {
    let mut totals: Json = serde_json::from_str(&run.to_json()).expect("JSON of a recording");
    let object = totals.as_object_mut().expect("an object");
    LEFT_OUT.iter().for_each(|key| drop(object.remove(*key)));
    let mut hash = Sha256::new();
    hash.update(sorted(totals).to_string());
    for table in Table::all(run) {
        hash.update(table.name(run));
        for column in table.columns(run) {
            hash.update(format!("{} {:?}", column.name, column.values));
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Objects with their keys in alphabetical order.
fn sorted(json: Json) -> Json {
    match json {
        Json::Array(items) => items.into_iter().map(sorted).collect(),
        Json::Object(map) => {
            let ordered: BTreeMap<_, _> =
                map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Json::Object(ordered.into_iter().collect::<Map<_, _>>())
        }
        other => other,
    }
}
