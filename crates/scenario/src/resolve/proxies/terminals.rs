//! Split proxies and middleboxes in terminals of beams: in each terminal of a group, or in one of
//! them.
//!
//! Decisions:
//! - The beam is the side of the satellite. The host of the user is behind the terminal, and the
//!   flows of the terminal begin and end at that host.
//! - Each terminal has a proxy of its own: limits and shared rates are those of one terminal.
//! - A middlebox in a terminal sees packets between the beam and the host behind it.
//! - A `[[node]]` of a terminal takes the place of that of its group. So `proxy = "none"` leaves
//!   out one terminal.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use language::error::Problem;
use language::path::Path;
use language::suggest;

use super::super::beams::{Ends, group_of};
use super::{Sides, alone, settle, sides_of};
use crate::document::{self, Document, NamedProxy};
use crate::model::{Beam, Neighbour, Node, SideName};

/// Sets the proxies and middleboxes of terminals.
pub(in crate::resolve) fn at_terminals(
    document: &Document,
    ends: &Ends<'_>,
    beams: &[Beam],
    nodes: &mut [Node],
    sides: &mut Sides,
    problems: &mut Vec<Problem>,
) {
    let mut written: Vec<_> = document
        .node
        .iter()
        .enumerate()
        .filter_map(|(i, node)| Some((i, node, group_of(document, &node.name.0)?)))
        .filter(|(_, node, _)| !ends.is_linked(&node.name.0))
        .collect();
    // Groups first.
    written.sort_by_key(|(_, node, group)| group.name != node.name);
    let mut names = BTreeSet::new();
    for (i, node, group) in written {
        let path = Path::entry("node", i);
        if !names.insert(&node.name.0) {
            let found = format!("{:?} for the second time", node.name.0);
            problems.push(Problem::new(path.key("name"), "a unique name", found));
        }
        problems.extend(misplaced(node, &path));
        if ends.named(&group.name.0).is_none() {
            // The group has a problem of its own.
            continue;
        }
        let Some(terminals) = ends.named(&node.name.0) else {
            problems.push(no_such_terminal(node, group, &path));
            continue;
        };
        let middlebox = node.middlebox.as_ref().and_then(document::Middlebox::resolve);
        for terminal in &mut nodes[terminals.clone()] {
            (terminal.entry, terminal.middlebox) = (Some(i), middlebox);
        }
        let proxy = node.proxy.as_ref().and_then(NamedProxy::resolve);
        let Some(proxy) = proxy else {
            for terminal in terminals {
                sides.remove(&terminal);
                nodes[terminal].proxy = None;
            }
            continue;
        };
        let path = path.key("proxy");
        problems.extend(alone(node, &nodes[terminals.start], &path));
        let beam = beams.iter().position(|beam| beam.terminals.contains(&terminals.start));
        let Some(beam) = beam else { continue };
        set(&proxy, (&node.name.0, path), (beam, terminals), nodes, sides, problems);
    }
}

/// Sets the proxy of some terminals of a beam.
fn set(
    proxy: &document::Proxy,
    (name, path): (&str, Path),
    (beam, terminals): (usize, Range<usize>),
    nodes: &mut [Node],
    sides: &mut Sides,
    problems: &mut Vec<Problem>,
) {
    for side in SideName::ALL {
        if proxy.side(side).towards.is_some() {
            let place = path.key(side.key()).key("towards");
            let problem = Problem::new(place, "no `towards` at a terminal", "the key");
            problems.push(
                problem.because("the beam is on the satellite side, and its host on the other"),
            );
        }
    }
    let written = Arc::new(sides_of(name, proxy, &path, problems));
    let neighbours = SideName::ALL.map(|side| match side {
        SideName::Terrestrial => vec![Neighbour::Host],
        SideName::Satellite => vec![Neighbour::Beam(beam)],
    });
    let proxy = Arc::new(settle(proxy, neighbours, &written.sides, &path, problems));
    for terminal in terminals {
        sides.insert(terminal, written.clone());
        nodes[terminal].proxy = Some(proxy.clone());
    }
}

/// Keys of a node that a terminal does not have.
fn misplaced(node: &document::Node, path: &Path) -> Option<Problem> {
    let (key, reason) = match node {
        document::Node { host: Some(_), .. } => ("host", "`host` of the group has it"),
        document::Node { forwarding: Some(_), .. } => ("forwarding", "a terminal has no limit"),
        document::Node { name: _, host: None, forwarding: None, middlebox: None, proxy: None } => {
            let expected = "a proxy, or a `middlebox`";
            let problem = Problem::new(path.key("proxy"), expected, "nothing");
            return Some(problem.because("a node with the name of terminals has nothing else"));
        }
        document::Node { .. } => return None,
    };
    let expected = format!("no `{key}` at a terminal");
    Some(Problem::new(path.key(key), expected, "the key").because(reason))
}

/// A number that the group does not have.
fn no_such_terminal(node: &document::Node, group: &document::Group, path: &Path) -> Problem {
    let document::Group { name, terminals, .. } = group;
    let expected = match terminals {
        1 => format!("\"{0}\" or \"{0}-1\"", name.0),
        last => format!("\"{0}\", or a terminal from \"{0}-1\" to \"{0}-{last}\"", name.0),
    };
    let problem = Problem::new(path.key("name"), expected, format!("{:?}", node.name.0));
    let names = [name.0.clone(), format!("{}-{terminals}", name.0)];
    problem.suggest(suggest::nearest(&node.name.0, names.iter().map(String::as_str)))
}
