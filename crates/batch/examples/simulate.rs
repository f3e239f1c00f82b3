//! Runs a scenario file and prints its recording: the engine without the command line around it,
//! for benchmarks, profilers and the agreement tests.
//!
//!     simulate FILE [--json] [--seeds FIRST..LAST] [PATH=VALUE]...
//!
//! `--json` prints an object with the recording of each seed, `--seeds` runs all seeds from the
//! first to the last, both included, instead of the one of the scenario.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it is a program that measures"
)]

use std::ops::RangeInclusive;
use std::time::Instant;

use recording::Recording;
use scenario::{Override, Scenario};

const USAGE: &str = "usage: simulate FILE [--json] [--seeds FIRST..LAST] [PATH=VALUE]...";

type Failure = Box<dyn std::error::Error>;

#[derive(Default)]
struct Command {
    file: Option<String>,
    json: bool,
    seeds: Option<RangeInclusive<u64>>,
    sets: Vec<Override>,
}

fn main() -> Result<(), Failure> {
    let command = Command::parse(std::env::args().skip(1))?;
    let file = command.file.ok_or(USAGE)?;
    let scenario = Scenario::load(&file, &command.sets)?;
    let seeds = command.seeds.unwrap_or(scenario.seed..=scenario.seed);
    let recordings: Vec<_> = seeds.map(|seed| run(&scenario, seed)).collect();
    if command.json {
        let memory = peak_memory_kb();
        println!("{}", serde_json::json!({ "max_rss_kb": memory, "recordings": recordings }));
    } else {
        recordings.iter().for_each(print);
    }
    Ok(())
}

impl Command {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut command = Self::default();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--json" => command.json = true,
                "--seeds" => {
                    let range = arguments.next().ok_or(USAGE)?;
                    let (first, last) = range.split_once("..").ok_or(USAGE)?;
                    command.seeds = Some(first.parse()?..=last.parse()?);
                }
                _ if command.file.is_none() => command.file = Some(argument),
                _ => command.sets.push(argument.parse()?),
            }
        }
        Ok(command)
    }
}

/// The run with its wall time, which the engine itself has no clock for.
fn run(scenario: &Scenario, seed: u64) -> Recording {
    let started = Instant::now();
    let mut recording = simulator::run(scenario, seed, simulator::Options::default());
    recording.wall_s = started.elapsed().as_secs_f64();
    recording
}

/// The most memory that the process has had, as the peers of `benches/peers` report it: what a
/// parent could ask for afterwards includes the memory of the parent itself.
fn peak_memory_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// A few totals. Not all: instructions of printing would be counted as those of the engine.
fn print(recording: &Recording) {
    println!(
        "wall {:.3} ms, {} events, {} hops, {:.1} ns per hop, {} simulated s",
        recording.wall_s * 1e3,
        recording.events,
        recording.packet_hops,
        recording.wall_s * 1e9 / recording.packet_hops as f64,
        recording.simulated_s
    );
    for flow in recording.flows.iter().take(12) {
        println!("{}: {} bytes, {} bit/s", flow.flow, flow.bytes, flow.goodput_bps as u64);
    }
    for link in &recording.links {
        println!("{} {}: {} packets", link.link, link.direction, link.delivered_packets);
    }
}
