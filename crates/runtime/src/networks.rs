//! The network of a scenario: its links on either engine, its beams, and state machines at its
//! nodes.

use link::Seed;
use middlebox::Visible;
use network::{Fabric, Network, Topology, reference::ReferenceNetwork};
use scenario::Scenario;

use crate::beams::Beams;
use crate::mechanisms::{routers, set_filters};
use crate::nodes::{Nodes, needs_nodes};
use crate::topology::topology;

/// A network whose kind is known at run time.
pub type AnyNetwork<B> = Box<dyn Fabric<B> + Send>;

/// One of the two engines.
pub trait Engine {
    /// Idle links.
    fn links<B: Clone + Send + 'static>(topology: Topology) -> AnyNetwork<B>;
}

/// The fast engine.
#[derive(Debug)]
pub enum Fast {}

impl Engine for Fast {
    fn links<B: Clone + Send + 'static>(topology: Topology) -> AnyNetwork<B> {
        Box::new(Network::new(topology))
    }
}

/// The engine that checks it.
#[derive(Debug)]
pub enum Reference {}

impl Engine for Reference {
    fn links<B: Clone + Send + 'static>(topology: Topology) -> AnyNetwork<B> {
        Box::new(ReferenceNetwork::new(topology))
    }
}

/// The idle network of any scenario.
pub fn network<E: Engine, B: Visible + Clone + Send + 'static>(
    scenario: &Scenario,
    seed: &Seed,
) -> AnyNetwork<B> {
    let topology = topology(scenario, seed);
    if needs_nodes(scenario) {
        let routers = routers(&topology);
        let inner = links_and_beams::<E, _>(topology, scenario, seed);
        return Box::new(Nodes::new(scenario, inner, routers, seed));
    }
    let mut network = links_and_beams::<E, _>(topology, scenario, seed);
    set_filters(scenario, network.as_mut());
    network
}

/// The links of a scenario, and its beams if it has some.
fn links_and_beams<E: Engine, B: Visible + Clone + Send + 'static>(
    topology: Topology,
    scenario: &Scenario,
    seed: &Seed,
) -> AnyNetwork<B> {
    if scenario.beams.is_empty() {
        return E::links(topology);
    }
    Box::new(Beams::new(scenario, seed, E::links(topology)))
}

/// That of a scenario with nothing but links, on the fast engine.
pub fn links<B: Visible + Clone + Send + 'static>(scenario: &Scenario, seed: &Seed) -> Network<B> {
    let mut network = Network::new(topology(scenario, seed));
    set_filters(scenario, &mut network);
    network
}

/// That of a scenario with links and beams, on the fast engine.
pub fn beams<B: Visible + Clone + Send + 'static>(scenario: &Scenario, seed: &Seed) -> Beams<B> {
    let links = Fast::links(topology(scenario, seed));
    let mut network = Beams::new(scenario, seed, links);
    set_filters(scenario, &mut network);
    network
}
