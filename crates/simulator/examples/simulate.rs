//! Runs a scenario file and prints its recording in a few lines: the engine without the command
//! line around it, for benchmarks and profilers.
//!
//!     simulate FILE [PATH=VALUE]...

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it is a program that measures"
)]

use std::time::Instant;

use scenario::{Override, Scenario};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: simulate FILE [PATH=VALUE]...")?;
    let sets: Vec<Override> = arguments.map(|set| set.parse()).collect::<Result<_, _>>()?;
    let scenario = Scenario::load(&file, &sets)?;
    let started = Instant::now();
    let recording = simulator::run(&scenario, scenario.seed, simulator::Options::default());
    let wall_s = started.elapsed().as_secs_f64();
    println!(
        "wall {:.3} ms, {} events, {} hops, {:.1} ns per hop, {} simulated s",
        wall_s * 1e3,
        recording.events,
        recording.packet_hops,
        wall_s * 1e9 / recording.packet_hops as f64,
        recording.simulated_s
    );
    for flow in recording.flows.iter().take(12) {
        println!("{flow:?}");
    }
    for link in &recording.links {
        println!("{link:?}");
    }
    Ok(())
}
