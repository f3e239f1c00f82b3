//! Plays random packetdrill scripts on the simulated TCP with the rules of Linux and on the TCP of
//! this machine's kernel, and prints where they differ.
//!
//!     cargo run -p testbed --example drill_random -- [--scripts N] [--seed N] [--out FOLDER]
//!         [--at-once N] [--no-reduction]
//!
//! Script number n has the seed `SEED + n`. Each difference is reduced and written to `FOLDER`, by
//! default `out/drill`. The exit status is 1 when a script differs without a known rule, and 2 when this
//! machine cannot play scripts.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command")]
#![allow(missing_docs, reason = "a command")]

#[path = "../../tests/drill/bench.rs"]
mod bench;
#[path = "../../tests/drill/host.rs"]
mod host;
#[path = "../../../tcp/tests/drill/host/mod.rs"]
mod simulated;
#[path = "../../tests/drill/wire.rs"]
mod wire;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bench::Hosts;
use drill::random::{Bench, Difference, Plan, Stimulus, Verdict, run};

struct Arguments {
    scripts: u64,
    seed: u64,
    at_once: usize,
    reduces: bool,
    shows: bool,
    folder: PathBuf,
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut read = Self {
            scripts: 1000,
            seed: 1,
            at_once: 32,
            reduces: true,
            shows: false,
            folder: "out/drill".into(),
        };
        while let Some(word) = words.next() {
            let mut number = || {
                let value = words.next().ok_or_else(|| format!("{word} needs a number"))?;
                let number = value.parse::<u32>().ok().filter(|number| *number > 0);
                number.ok_or_else(|| format!("{word} needs a positive number, not `{value}`"))
            };
            match word.as_str() {
                "--scripts" => read.scripts = number()?.into(),
                "--seed" => read.seed = number()?.into(),
                "--at-once" => read.at_once = number()? as usize,
                "--no-reduction" => read.reduces = false,
                "--show" => read.shows = true,
                "--out" => read.folder = words.next().ok_or("--out needs a folder")?.into(),
                other => return Err(format!("the argument `{other}` is unknown")),
            }
        }
        Ok(read)
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(what) => {
            eprintln!("drill_random: {what}");
            return ExitCode::from(2);
        }
    };
    if arguments.shows {
        return show(&arguments);
    }
    if let Err(missing) = testbed::available() {
        eprintln!("drill_random: no kernel to compare with: {missing}");
        return ExitCode::from(2);
    }
    let plan = Plan { at_once: arguments.at_once, alone: 6, tries: 3, reduces: arguments.reduces };
    let seeds: Vec<_> = (arguments.seed..arguments.seed + arguments.scripts).collect();
    let verdicts = run(&Hosts, &seeds, plan);
    match report(&verdicts, &arguments.folder) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{}: {error}", arguments.folder.display());
            ExitCode::from(2)
        }
    }
}

/// Prints the scripts and plays none.
fn show(arguments: &Arguments) -> ExitCode {
    for seed in arguments.seed..arguments.seed + arguments.scripts {
        match Hosts.record(&Stimulus::draw(seed)) {
            Ok(text) => println!("{text}"),
            Err(what) => println!("// seed {seed}: {what}"),
        }
    }
    ExitCode::SUCCESS
}

/// Writes the differences, prints the counts, and returns true if nothing differs.
fn report(verdicts: &[(u64, Verdict)], folder: &Path) -> io::Result<bool> {
    let mut kinds: BTreeMap<String, Vec<&Difference>> = BTreeMap::new();
    let mut unplayable: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut same = 0;
    for (seed, verdict) in verdicts {
        match verdict {
            Verdict::Same => same += 1,
            Verdict::Different(found) => kinds.entry(found.kind()).or_default().push(found),
            Verdict::Unplayable(what) => unplayable.entry(what).or_default().push(*seed),
        }
    }
    fs::create_dir_all(folder)?;
    for found in kinds.values().flatten() {
        let path = folder.join(format!("seed-{}.pkt", found.stimulus.seed));
        fs::write(path, found.report())?;
    }
    let different = kinds.values().map(Vec::len).sum::<usize>();
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, found)| std::cmp::Reverse(found.len()));
    for (kind, found) in &kinds {
        println!("{:5} {kind}", found.len());
        let seeds: Vec<_> = found.iter().map(|found| found.stimulus.seed.to_string()).collect();
        println!("      seeds {}", seeds.join(" "));
    }
    for (what, seeds) in &unplayable {
        println!("{:5} not played: {what}, for example seed {}", seeds.len(), seeds[0]);
    }
    let out = unplayable.values().map(Vec::len).sum::<usize>();
    println!("{same} same, {different} different, {out} unplayable");
    Ok(different + out == 0)
}
