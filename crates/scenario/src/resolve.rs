//! Resolution of a document into a scenario: defaults are filled in, names resolved.

mod arq;
mod beams;
mod bounds;
mod buckets;
mod buffers;
mod changes;
mod channels;
mod compression;
mod demand;
mod directions;
mod epoch;
mod fec;
mod flows;
mod gateway;
mod graph;
mod hints;
mod hosts;
mod jitter;
mod modems;
mod mtu;
mod paths;
mod presets;
mod protocols;
mod proxies;
mod queues;
mod reorder;
mod route_rates;
mod rules;
mod sides;
mod switches;
mod traces;
mod tunnels;

pub use beams::group_of_terminal;
pub use bounds::shortest_cycle;
pub(crate) use channels::unreadable;
pub(crate) use hosts::CONTROLLER_OF_RFC;
pub use rules::UNSCALED_WINDOW;

use std::collections::BTreeMap;
use std::path::Path as FilePath;

use language::error::Problem;
use language::tree::Tree;

use crate::document::Document;
use crate::model::{Flow, Record, Scenario};

use channels::Channels;

/// The result of a resolution; the scenario can run only if there is no problem.
pub(crate) struct Resolved {
    pub scenario: Scenario,
    /// For each flow, the number of its `[[flow]]`.
    pub entries: Vec<usize>,
    pub problems: Vec<Problem>,
}

/// Resolves `document`, which was read from `tree`; files that it names count from `directory`.
pub(crate) fn resolve(
    document: &Document,
    tree: &Tree,
    directory: &FilePath,
    file_name: &str,
) -> Resolved {
    let mut problems = Vec::new();
    let (mut nodes, numbers) = graph::nodes(document, &mut problems);
    let epoch = epoch::resolve(document, &mut problems);
    let channels = Channels { tree, directory, duration: document.duration, epoch };
    let links = graph::links(document, &numbers, &channels, &mut problems);
    graph::check_overrides(tree, &mut problems);
    let mut sides = proxies::proxies(document, &numbers, &links, &mut nodes, &mut problems);
    protocols::check(document, tree, &mut problems);
    hosts::check(document, tree, &mut problems);
    let (beams, ends) = beams::beams(document, &numbers, &channels, &mut nodes, &mut problems);
    proxies::at_terminals(document, &ends, &beams, &mut nodes, &mut sides, &mut problems);
    let (mut flows, mut entries) = flows::flows(document, (tree, directory), &ends, &mut problems);
    let mut addresses = paths::resolve(document, &numbers, &mut flows, &entries, &mut problems);
    let switches = switches::resolve(document, &numbers, &channels, &mut addresses, &mut problems);
    let tunnels = tunnels::resolve(document, &ends, &mut flows, &entries, &mut problems);
    let record = &document.record;
    let mut scenario = Scenario {
        name: document.name.as_ref().map_or_else(|| file_name.to_owned(), |name| name.0.clone()),
        duration: document.duration,
        seed: document.seed,
        phase: changes::phase(document, &links),
        epoch,
        ip: document.ip,
        delay_tolerance: document.delay_tolerance,
        nodes,
        links,
        beams,
        flows,
        addresses,
        tunnels,
        switches,
        route_rates: Vec::new(),
        record: Record {
            interval: record.interval,
            events: record.events,
            delivery: record.delivery,
        },
    };
    if problems.is_empty() {
        switches::check(&scenario, &entries, &mut problems);
    }
    if problems.is_empty() {
        tunnels::lead(&mut scenario, &entries, tree, &mut problems);
    }
    if problems.is_empty() {
        proxies::split(&mut scenario, &entries, &sides, &mut problems);
        queues::resolve(document, &mut scenario, &mut problems);
        mtu::fit_segments(&mut scenario, &entries, tree, &mut problems);
        tunnels::check_datagrams(&scenario, &entries, &mut problems);
        buckets::check_bursts(document, &scenario, &mut problems);
        paths::check(&scenario, &entries, &mut problems);
        beams::check(document, &mut scenario, &entries, &mut problems);
        rules::check(&scenario, &entries, &mut problems);
        protocols::check_network(&scenario, &entries, &mut problems);
        route_rates::resolve(&mut scenario, &entries, &mut problems);
        beams::background::take(document, tree, &mut scenario, &mut entries, &mut problems);
        let flows = entries.iter().copied().zip(&scenario.flows);
        problems.iter_mut().for_each(|problem| name_origin(problem, tree, flows.clone()));
    }
    Resolved { scenario, entries, problems }
}

/// A default or a value of a profile can break a rule, too; the message then names it so.
fn name_origin<'a>(
    problem: &mut Problem,
    tree: &Tree,
    flows: impl Iterator<Item = (usize, &'a Flow)>,
) {
    if tree.at(&problem.path).is_none() {
        problem.found = match hosts::profile_of(&problem.path, flows) {
            Some(profile) => format!("{} of host {}", problem.found, profile.name),
            None => format!("the default {}", problem.found),
        };
    }
}

/// Numbers of the nodes by their names.
pub(crate) type Numbers = BTreeMap<String, usize>;
