//! Runs of a scenario, in the loop and on the network that it needs.

use link::Seed;
use recording::Recording;
use runtime::{Fast, Reference};
use scenario::Scenario;
use scenario::model::Flow;

use crate::hosts::has_rates;
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

/// Runs `scenario` on the reference engine, which checks the fast one: both must give the same
/// recording. Its loop is that of all protocols, so it checks the loop of TCP too.
pub fn run_on_reference<'a>(scenario: &'a Scenario, seed: u64, options: Options<'a>) -> Recording {
    let seed = Seed::new(seed);
    let network = runtime::network::<Reference, _>(scenario, &seed);
    Simulation::<'a, _, Any>::new(scenario, seed, network, options).run().0
}

/// Runs in the loop of these connections. It is compiled for links, for beams, and once for all
/// other networks.
pub(crate) fn run_as<'a, C: Connection>(
    scenario: &'a Scenario,
    seed: Seed,
    options: Options<'a>,
) -> Run {
    if runtime::needs_nodes(scenario) {
        let network = runtime::network::<Fast, _>(scenario, &seed);
        return Simulation::<'a, _, C>::new(scenario, seed, network, options).run();
    }
    if !scenario.beams.is_empty() {
        let network = runtime::beams(scenario, &seed);
        return Simulation::<'a, _, C>::new(scenario, seed, network, options).run();
    }
    let network = runtime::links(scenario, &seed);
    Simulation::<'a, _, C>::new(scenario, seed, network, options).run()
}
