//! Runs of a scenario, in the loop and on the network that it needs.

use link::Seed;
use network::{Network, reference::ReferenceNetwork};
use recording::Recording;
use scenario::Scenario;
use scenario::model::Flow;

use crate::hosts::has_rates;
use crate::networks::{self, Engine, Fast, Reference};
use crate::seed_use::SeedUse;
use crate::signals::has_signals;
use crate::simulation::{Options, Simulation};
use crate::transports::{Any, Connection};

/// A recording, and what the run has drawn from its seed.
pub(crate) type Run = (Recording, SeedUse);

/// Returns true if a run has the loop of TCP: no flow has another protocol but SCPS-TP, no end has
/// a shared rate or signals, and all data arrives.
fn has_loop_of_tcp(scenario: &Scenario, seed: &Seed) -> bool {
    let has_more = has_rates(scenario)
        || has_signals(scenario, seed)
        || scenario.flows.iter().any(|flow| flow.is_best_effort());
    scenario.flows.iter().all(Flow::has_tcp_only) && !has_more
}

/// Runs `scenario` with `seed`. The result depends on nothing else.
pub fn run<'a>(scenario: &'a Scenario, seed: u64, options: Options<'a>) -> Recording {
    run_with_seed_use(scenario, seed, options).0
}

/// The same, and what the run has drawn from its seed.
pub fn run_with_seed_use<'a>(scenario: &'a Scenario, seed: u64, options: Options<'a>) -> Run {
    let seed = Seed::new(seed);
    if has_loop_of_tcp(scenario, &seed) {
        run_as::<tcp::Connection>(scenario, seed, options)
    } else {
        run_as::<Any>(scenario, seed, options)
    }
}

/// Runs in the loop of these connections.
pub(crate) fn run_as<'a, C: Connection>(
    scenario: &'a Scenario,
    seed: Seed,
    options: Options<'a>,
) -> Run {
    if has_more_than_links(scenario) {
        return run_on_more_than_links::<Fast, C>(scenario, seed, options);
    }
    let mut network = Network::new(runtime::topology(scenario, &seed));
    runtime::set_filters(scenario, &mut network);
    Simulation::<'a, _, C>::new(scenario, seed, network, options).run()
}

/// Runs `scenario` on the reference engine, which checks the fast one: both must give the
/// same recording.
pub fn run_on_reference<'a>(scenario: &'a Scenario, seed: u64, options: Options<'a>) -> Recording {
    let seed = Seed::new(seed);
    let (recording, _) = if has_loop_of_tcp(scenario, &seed) {
        run_on_reference_as::<tcp::Connection>(scenario, seed, options)
    } else {
        run_on_reference_as::<Any>(scenario, seed, options)
    };
    recording
}

/// Runs on the reference engine in the loop of these connections.
fn run_on_reference_as<'a, C: Connection>(
    scenario: &'a Scenario,
    seed: Seed,
    options: Options<'a>,
) -> Run {
    if has_more_than_links(scenario) {
        return run_on_more_than_links::<Reference, C>(scenario, seed, options);
    }
    let mut network = ReferenceNetwork::new(runtime::topology(scenario, &seed));
    runtime::set_filters(scenario, &mut network);
    Simulation::<'a, _, C>::new(scenario, seed, network, options).run()
}

/// Returns true if the network has beams, or state machines at its nodes.
fn has_more_than_links(scenario: &Scenario) -> bool {
    !scenario.beams.is_empty() || runtime::needs_nodes(scenario)
}

/// Runs a scenario with such a network.
fn run_on_more_than_links<'a, E: Engine, C: Connection>(
    scenario: &'a Scenario,
    seed: Seed,
    options: Options<'a>,
) -> Run {
    if runtime::needs_nodes(scenario) {
        let network = networks::nodes::<E, _>(scenario, &seed);
        return Simulation::<'a, _, C>::new(scenario, seed, network, options).run();
    }
    let network = networks::beams::<E, _>(scenario, &seed);
    Simulation::<'a, _, C>::new(scenario, seed, network, options).run()
}
