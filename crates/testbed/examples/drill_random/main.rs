//! Plays random packetdrill scripts on the simulated TCP with the rules of Linux and on the TCP of
//! this machine's kernel, and prints where they differ.
//!
//!     cargo run -p testbed --example drill_random -- [--scripts N] [--seed N] [--out FOLDER]
//!         [--at-once N] [--no-reduction] [--keep FOLDER]
//!     cargo run -p testbed --example drill_random -- --show [--scripts N] [--seed N]
//!     cargo run -p testbed --example drill_random -- --trace SCRIPT
//!
//! Each script has a seed of its own, from that of `--seed` on. Each difference is reduced and
//! written to `--out`, by default `out/drill`. It is in a group with others, with the rule of
//! Linux if that is known, by what differs first when the script is traced on both. `--keep` writes
//! all scripts with what the kernel sends, as in `crates/tcp/tests/drill/random`. `--show` prints
//! scripts and plays none. `--trace` prints what both do with a script, with fields of `TCP_INFO`
//! behind each segment that arrives. The exit status is 1 when a script differs or cannot be
//! played, and 2 when this machine cannot play scripts.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command")]
#![allow(missing_docs, reason = "a command")]

#[path = "../../tests/drill/bench.rs"]
mod bench;
#[path = "../../tests/drill/host.rs"]
mod host;
#[allow(dead_code, reason = "the kernel has no other profile than that of Linux")]
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
use drill::random::{Bench, Difference, Group, Plan, Stimulus, Verdict, group, run};

struct Arguments {
    scripts: u64,
    seed: u64,
    at_once: usize,
    reduces: bool,
    shows: bool,
    traced: Option<PathBuf>,
    folder: PathBuf,
    kept: Option<PathBuf>,
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut read = Self {
            scripts: 1000,
            seed: 1,
            at_once: 32,
            reduces: true,
            shows: false,
            traced: None,
            folder: "out/drill".into(),
            kept: None,
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
                "--trace" => {
                    read.traced = Some(words.next().ok_or("--trace needs a script")?.into())
                }
                "--keep" => read.kept = Some(words.next().ok_or("--keep needs a folder")?.into()),
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
    if let Some(path) = &arguments.traced {
        return traces(path);
    }
    let plan = Plan { at_once: arguments.at_once, alone: 40, tries: 2, reduces: arguments.reduces };
    let seeds: Vec<_> = (arguments.seed..arguments.seed + arguments.scripts).collect();
    let verdicts = run(&Hosts, &seeds, plan);
    if let Some(folder) = &arguments.kept
        && let Err(error) = keep(&verdicts, folder)
    {
        eprintln!("{}: {error}", folder.display());
        return ExitCode::from(2);
    }
    match report(&verdicts, &arguments.folder) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{}: {error}", arguments.folder.display());
            ExitCode::from(2)
        }
    }
}

/// Tries to record a script on a kernel that may be late.
const TRIES: usize = 5;

/// Writes all scripts with what the kernel sends.
fn keep(verdicts: &[(u64, Verdict)], folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (seed, verdict) in verdicts {
        let stimulus = Stimulus::draw(*seed);
        let mut text = Hosts.record(&stimulus);
        if !matches!(verdict, Verdict::Same) {
            for _ in 0..TRIES {
                text = Hosts.record_of_kernel(&stimulus);
                if text.is_ok() {
                    break;
                }
            }
        }
        match text {
            Ok(text) => fs::write(folder.join(format!("seed-{seed}.pkt")), text)?,
            Err(what) => println!("seed {seed} is not kept: {what}"),
        }
    }
    Ok(())
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

/// Prints what both hosts do with a script.
fn traces(path: &Path) -> ExitCode {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| error.to_string());
    let traced = text.and_then(|text| {
        let script = drill::parse(&name, &text).map_err(|error| error.to_string())?;
        Hosts.traces(&script)
    });
    match traced {
        Ok([simulated, kernel]) => {
            println!("simulated\n{simulated}\nkernel\n{kernel}");
            ExitCode::SUCCESS
        }
        Err(what) => {
            eprintln!("{name}: {what}");
            ExitCode::from(2)
        }
    }
}

/// The group of a difference, if the script can be traced.
fn group_of(found: &Difference) -> Result<Group, String> {
    let script = drill::parse("random", &found.text).map_err(|error| error.to_string())?;
    let [simulated, kernel] = Hosts.traces(&script)?;
    Ok(group(&simulated, &kernel))
}

/// Prints the differences of each group.
fn print_groups(kinds: &[(String, Vec<&Difference>)]) {
    let mut groups: BTreeMap<Group, Vec<String>> = BTreeMap::new();
    for found in kinds.iter().flat_map(|(_, found)| found) {
        let seed = found.stimulus.seed;
        match group_of(found) {
            Ok(group) => groups.entry(group).or_default().push(seed.to_string()),
            Err(what) => println!("seed {seed} is in no group: {what}"),
        }
    }
    for (group, seeds) in groups {
        println!("{:5} {}", seeds.len(), group.rule());
        println!("      seeds {}", seeds.join(" "));
    }
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
    print_groups(&kinds);
    for (what, seeds) in &unplayable {
        println!("{:5} not played: {what}, for example seed {}", seeds.len(), seeds[0]);
    }
    let out = unplayable.values().map(Vec::len).sum::<usize>();
    println!("{same} same, {different} different, {out} unplayable");
    Ok(different + out == 0)
}
