//! Networks with more than links: with beams, and with state machines at their nodes, on either
//! engine.

use link::Seed;
use middlebox::Visible;
use network::{Fabric, Network, Topology, reference::ReferenceNetwork};
use runtime::{Beams, Nodes};
use scenario::Scenario;

/// One of the two engines.
pub(crate) trait Engine {
    /// An idle network.
    fn network<B: Clone + Send + 'static>(topology: Topology) -> Box<dyn Fabric<B> + Send>;
}

/// The fast engine.
#[derive(Debug)]
pub(crate) enum Fast {}

impl Engine for Fast {
    fn network<B: Clone + Send + 'static>(topology: Topology) -> Box<dyn Fabric<B> + Send> {
        Box::new(Network::new(topology))
    }
}

/// The reference engine.
#[derive(Debug)]
pub(crate) enum Reference {}

impl Engine for Reference {
    fn network<B: Clone + Send + 'static>(topology: Topology) -> Box<dyn Fabric<B> + Send> {
        Box::new(ReferenceNetwork::new(topology))
    }
}

/// A network with beams, and without state machines at its nodes.
pub(crate) fn beams<E: Engine, B: Visible + Clone + Send + 'static>(
    scenario: &Scenario,
    seed: &Seed,
) -> Beams<B> {
    let network = E::network(runtime::topology(scenario, seed));
    let mut beams = Beams::new(scenario, seed, network);
    runtime::set_filters(scenario, &mut beams);
    beams
}

/// A network with state machines at its nodes, and perhaps with beams.
pub(crate) fn nodes<E: Engine, B: Visible + Clone + Send + 'static>(
    scenario: &Scenario,
    seed: &Seed,
) -> Nodes<B> {
    let topology = runtime::topology(scenario, seed);
    let routers = runtime::routers(&topology);
    let network: Box<dyn Fabric<_> + Send> = match scenario.beams.is_empty() {
        true => E::network(topology),
        false => Box::new(Beams::new(scenario, seed, E::network(topology))),
    };
    Nodes::new(scenario, network, routers, seed)
}
