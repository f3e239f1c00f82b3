//! Paths of flows with several: each leads through a node that the flow names, and has an address
//! at both ends.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use language::error::Problem;
use language::path::Path;

use super::{Numbers, flows};
use crate::document::Document;
use crate::model::{Address, Flow, FlowPath, Scenario, Way};
use crate::routes::{Hop, Routes, routes};

/// Most addresses besides those of the nodes: the routes between all pairs are kept in memory, and
/// destinations have numbers of 16 bits.
const MOST_ADDRESSES: usize = 4096;
const _: () = assert!(super::graph::MOST_NODES + MOST_ADDRESSES < u16::MAX as usize);

/// Addresses that some flow needs, as many in succession as it has paths.
struct Addresses {
    all: Vec<Address>,
    nodes: usize,
    /// The first one of a host with paths through these nodes.
    known: BTreeMap<(usize, Vec<usize>), usize>,
}

impl Addresses {
    /// The destinations of a host with paths through the nodes `via`, in their order.
    fn of(&mut self, node: usize, via: &[usize]) -> Range<usize> {
        let Self { all, nodes, known } = self;
        let first = *known.entry((node, via.to_vec())).or_insert_with(|| {
            all.extend(via.iter().map(|via| Address { node, via: *via }));
            *nodes + all.len() - via.len()
        });
        first..first + via.len()
    }
}

/// The key with the nodes of the paths.
fn key(entry: usize) -> Path {
    Path::entry("flow", entry).key("transport").key("sctp").key("paths")
}

/// Gives `all` flows their paths. Returns the addresses of hosts.
pub(super) fn resolve(
    document: &Document,
    numbers: &Numbers,
    all: &mut [Flow],
    entries: &[usize],
    problems: &mut Vec<Problem>,
) -> Vec<Address> {
    let mut addresses = Addresses { all: Vec::new(), nodes: numbers.len(), known: BTreeMap::new() };
    let mut last: Option<(usize, Arc<Vec<FlowPath>>)> = None;
    for (flow, &entry) in all.iter_mut().zip(entries) {
        let Some(names) = &document.flow[entry].transport.sctp.paths else { continue };
        if let Some((before, paths)) = &last
            && *before == entry
        {
            flow.paths = paths.clone();
            continue;
        }
        let mut via = Vec::new();
        for (i, name) in names.iter().enumerate() {
            let path = key(entry).index(i);
            let Some(node) = flows::node(&name.0, numbers, path.clone(), problems) else {
                continue;
            };
            if via.contains(&node) {
                let found = format!("{:?} for the second time", name.0);
                problems.push(Problem::new(path, "a node that is not in the list", found));
            }
            via.push(node);
        }
        let [from, to] = [flow.from, flow.to].map(|node| addresses.of(node, &via));
        let paths = via.iter().zip(from.zip(to));
        let paths = paths.map(|(via, (from, to))| FlowPath { via: *via, ends: [from, to] });
        flow.paths = Arc::new(paths.collect());
        last = Some((entry, flow.paths.clone()));
    }
    if addresses.all.len() > MOST_ADDRESSES {
        let entry = entries.iter().zip(&*all).rfind(|(_, flow)| !flow.paths.is_empty());
        let path = key(entry.map_or(0, |(entry, _)| *entry));
        let expected = format!("at most {MOST_ADDRESSES} addresses of hosts with paths");
        problems.push(Problem::new(path, expected, addresses.all.len().to_string()));
    }
    addresses.all
}

/// Checks that each path leads through its node, and that no two are the same.
pub(super) fn check(scenario: &Scenario, entries: &[usize], problems: &mut Vec<Problem>) {
    if scenario.addresses.is_empty() {
        return;
    }
    let routes = routes(scenario);
    let mut last = None;
    for (flow, &entry) in scenario.flows.iter().zip(entries) {
        if !flow.paths.is_empty() && last.replace(entry) != Some(entry) {
            check_flow(scenario, &routes, flow, entry, problems);
        }
    }
}

fn check_flow(
    scenario: &Scenario,
    routes: &Routes,
    flow: &Flow,
    entry: usize,
    problems: &mut Vec<Problem>,
) {
    let links = &scenario.links;
    let name = |node: usize| format!("{:?}", scenario.nodes[node].name);
    let hops = |(from, to): Way| routes.path(from, to, links);
    let mut before = Vec::new();
    for (i, (path, ways)) in flow.paths.iter().zip(flow.all_ways()).enumerate() {
        let ways = ways.map(hops);
        let leads =
            |hops: &Vec<_>| hops.iter().skip(1).any(|hop: &Hop| hop.from(links) == path.via);
        let problem =
            |expected: String| Problem::new(key(entry).index(i), expected, name(path.via));
        let twin = before.iter().position(|other| *other == ways);
        if !ways.iter().all(leads) {
            let expected = format!("a node between {} and {}", name(flow.from), name(flow.to));
            let problem = problem(expected);
            problems.push(problem.because("no route through it leads from one to the other"));
        } else if let Some(twin) = twin {
            let expected =
                format!("a node that is not on the path through {}", name(flow.paths[twin].via));
            problems.push(problem(expected).because("both paths take the same links"));
        }
        before.push(ways);
    }
}
