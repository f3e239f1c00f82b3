//! Nodes and links.

use std::collections::btree_map::Entry;

use language::error::Problem;
use language::path::Path;
use language::shape;
use language::suggest;
use language::tree::{self, Origin, Tree, Value};
use serde_json::Value as Json;

use super::Numbers;
use super::channels::Channels;
use super::directions::directions;
use super::sides::Sides;
use super::{beams, compression, mtu};
use crate::document::{self, Document};
use crate::model::{Forwarding, Link, Node};
use crate::schema;

/// All nodes: first those with a table of their own, then the others as the links name them.
pub(super) fn nodes(document: &Document, problems: &mut Vec<Problem>) -> (Vec<Node>, Numbers) {
    let mut nodes: Vec<Node> = Vec::new();
    let mut numbers = Numbers::new();
    for (i, node) in document.node.iter().enumerate() {
        let path = Path::entry("node", i).key("name");
        let name = &node.name.0;
        if !linked(document, name) {
            if beams::group_of(document, name).is_some() {
                // Terminals are nodes of their beam.
                continue;
            }
            problems.push(unlinked(document, name, path.clone()));
        }
        match numbers.entry(name.clone()) {
            Entry::Occupied(_) => problems.push(Problem::new(
                path,
                "a unique name",
                format!("{name:?} for the second time"),
            )),
            Entry::Vacant(free) => {
                free.insert(nodes.len());
                let forwarding = node.forwarding.as_ref();
                let forwarding = forwarding.map(|f| Forwarding { rate: f.rate, buffer: f.buffer });
                let middlebox = node.middlebox.as_ref().and_then(document::Middlebox::resolve);
                nodes.push(Node {
                    name: name.clone(),
                    forwarding,
                    middlebox,
                    proxy: None,
                    entry: Some(i),
                });
            }
        }
    }
    for name in document.link.iter().flat_map(|link| &link.between) {
        if let Entry::Vacant(free) = numbers.entry(name.0.clone()) {
            free.insert(nodes.len());
            let (forwarding, middlebox, proxy) = (None, None, None);
            nodes.push(Node { name: name.0.clone(), forwarding, middlebox, proxy, entry: None });
        }
    }
    (nodes, numbers)
}

/// Returns true if a link joins a node with this name.
pub(super) fn linked(document: &Document, name: &str) -> bool {
    document.link.iter().any(|link| link.between.iter().any(|end| end.0 == name))
}

fn unlinked(document: &Document, name: &str, path: Path) -> Problem {
    let ends = document.link.iter().flat_map(|link| &link.between).map(|end| end.0.as_str());
    let groups = document.beam.iter().flat_map(|beam| &beam.group);
    let near = suggest::nearest(name, ends.chain(groups.map(|group| group.name.0.as_str())));
    let expected = match document.beam.is_empty() {
        true => "a node that a link joins",
        false => "a node that a link joins, a group of terminals, or one of its terminals",
    };
    Problem::new(path, expected, format!("{name:?}")).suggest(near)
}

/// All links.
pub(super) fn links(
    document: &Document,
    numbers: &Numbers,
    channels: &Channels<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    problems.extend(too_many("links", document.link.len(), MOST_LINKS));
    problems.extend(too_many("nodes", numbers.len(), MOST_NODES));
    for (i, link) in document.link.iter().take(MOST_LINKS).enumerate() {
        let path = Path::entry("link", i);
        let [first, second] = &link.between;
        let ends = [numbers[&first.0], numbers[&second.0]];
        let name = format!("{}-{}", first.0, second.0);
        if ends[0] == ends[1] {
            let found = format!("{:?} twice", first.0);
            problems.push(Problem::new(path.key("between"), "two different nodes", found));
        } else if let Some(twin) = links.iter().position(|l| same_ends(l.ends, ends)) {
            let found = format!("{:?} and {:?} as in link[{twin}]", first.0, second.0);
            let expected = "two nodes that no other link joins";
            problems.push(Problem::new(path.key("between"), expected, found));
        } else if links.iter().any(|link| link.name == name) {
            let found = format!("a second link called {name:?}");
            problems.push(Problem::new(path.key("between"), "a unique pair of node names", found));
        }
        let sides = Sides { link, path: &path };
        let [forward, backward] = directions(&sides, channels, problems);
        let header_compression = compression::resolve(&sides, document.ip, problems);
        let mtu = mtu::resolve(&sides, document.ip, problems);
        links.push(Link { name, ends, forward, backward, header_compression, mtu });
    }
    links
}

/// The routes between all pairs of nodes are kept in memory, and nodes and output ports have
/// numbers of 16 bits: each link has two ports, and a router with limited forwarding has one more.
pub(crate) const MOST_NODES: usize = 4096;
pub(crate) const MOST_LINKS: usize = 8192;
const _: () = assert!(2 * MOST_LINKS + MOST_NODES < u16::MAX as usize);

fn too_many(what: &str, number: usize, most: usize) -> Option<Problem> {
    (number > most).then(|| {
        let path = Path::default().key("link");
        let problem = Problem::new(path, format!("at most {most} {what}"), number.to_string());
        problem.because("the routes between all pairs of nodes are kept in memory")
    })
}

fn same_ends(a: [usize; 2], b: [usize; 2]) -> bool {
    a == b || a == [b[1], b[0]]
}

/// An override of both directions that each direction overrides again would change nothing, and
/// the user would compare two equal runs. A table with directions is one whose schema says so.
pub(super) fn check_overrides(tree: &Tree, problems: &mut Vec<Problem>) {
    overridden(tree, schema::cached(), &Path::default(), problems);
}

fn overridden(tree: &Tree, schema: &Json, path: &Path, problems: &mut Vec<Problem>) {
    let options = shape::alternatives(schema);
    match &tree.value {
        Value::List(items) => {
            let list = options.iter().find(|option| shape::type_of(option) == "array");
            for (i, item) in items.iter().enumerate() {
                list.iter().for_each(|s| overridden(item, &s["items"], &path.index(i), problems));
            }
        }
        Value::Table(entries) => {
            for option in options {
                problems
                    .extend(entries.iter().filter_map(|entry| useless(entry, tree, option, path)));
                for entry in entries {
                    if let Some(property) = option["properties"].get(&entry.key) {
                        overridden(&entry.tree, property, &path.key(&entry.key), problems);
                    }
                }
            }
        }
        _ => {}
    }
}

/// The problem of an entry of `tree`, which both directions of the link override.
fn useless(entry: &tree::Entry, tree: &Tree, schema: &Json, path: &Path) -> Option<Problem> {
    let Origin::Set(_) = entry.tree.origin else { return None };
    let sides = ["forward", "backward"];
    let key = entry.key.as_str();
    let is_both = |side: &str| {
        let side_schema = &schema["properties"][side];
        shape::repeats(side_schema, schema) && side_schema["properties"].get(key).is_some()
    };
    let has_own = |side: &str| tree.get(side).is_some_and(|own| own.get(key).is_some());
    if !sides.iter().all(|side| is_both(side) && has_own(side)) {
        return None;
    }
    let own = sides.map(|side| path.key(side).key(key));
    let expected = format!("{} or {}", own[0], own[1]);
    let found = path.key(key).to_string();
    let problem = Problem::new(path.key(key), expected, found);
    Some(problem.because("both directions of this link have their own"))
}
