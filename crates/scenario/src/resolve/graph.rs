//! Nodes and links.

use std::collections::btree_map::Entry;

use language::error::Problem;
use language::path::Path;
use language::shape;
use language::suggest;
use language::tree::{self, Origin, Tree, Value};
use link::RedSettings;
use serde_json::Value as Json;
use units::{Bytes, Rate, Span};

use super::Numbers;
use super::arq;
use super::changes::{changes, pushed_out};
use super::channels::Channels;
use super::{compression, demand, fec, modems, mtu};
use super::{reorder, traces};
use crate::document::{self, Document};
use crate::model::{
    Aqm, Channel, Direction, Forwarding, Link, LowPriority, Node, QueueLimit, Timeline,
};
use crate::schema;

/// All nodes: first those with a table of their own, then the others as the links name them.
pub(super) fn nodes(document: &Document, problems: &mut Vec<Problem>) -> (Vec<Node>, Numbers) {
    let mut nodes: Vec<Node> = Vec::new();
    let mut numbers = Numbers::new();
    for (i, node) in document.node.iter().enumerate() {
        let path = Path::entry("node", i).key("name");
        let name = &node.name.0;
        if !linked(document, name) {
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
                nodes.push(Node { name: name.clone(), forwarding, middlebox, proxy: None });
            }
        }
    }
    for name in document.link.iter().flat_map(|link| &link.between) {
        if let Entry::Vacant(free) = numbers.entry(name.0.clone()) {
            free.insert(nodes.len());
            let (forwarding, middlebox, proxy) = (None, None, None);
            nodes.push(Node { name: name.0.clone(), forwarding, middlebox, proxy });
        }
    }
    (nodes, numbers)
}

fn linked(document: &Document, name: &str) -> bool {
    document.link.iter().any(|link| link.between.iter().any(|end| end.0 == name))
}

fn unlinked(document: &Document, name: &str, path: Path) -> Problem {
    let ends = document.link.iter().flat_map(|link| &link.between).map(|end| end.0.as_str());
    let near = suggest::nearest(name, ends);
    Problem::new(path, "a node that a link joins", format!("{name:?}")).suggest(near)
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
        let [forward, backward] = directions(link, &path, channels, problems);
        let header_compression = compression::resolve(link, document.ip, &path, problems);
        let mtu = mtu::resolve(link, document.ip, &path, problems);
        links.push(Link { name, ends, forward, backward, header_compression, mtu });
    }
    links
}

/// The routes between all pairs of nodes are kept in memory, and nodes and output ports have numbers
/// of 16 bits: each link has two ports, and a router with limited forwarding has one more.
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

/// The two directions of a link. What is missing in both is missing once.
fn directions(
    link: &document::Link,
    path: &Path,
    channels: &Channels<'_>,
    problems: &mut Vec<Problem>,
) -> [Direction; 2] {
    let none = document::Direction::default();
    let sides = [("forward", &link.forward), ("backward", &link.backward)]
        .map(|(name, own)| (name, own.as_ref().unwrap_or(&none)));
    let mut channel = |channel: &Option<document::Channel>, path: Path| {
        channel.as_ref().map(|channel| channels.resolve(channel, &path.key("channel"), problems))
    };
    let (files, duration) = (channels, channels.duration);
    let both_channel = channel(&link.both.channel, path.clone());
    let channels = sides.map(|(side, own)| channel(&own.channel, path.key(side)));
    let modems = [0, 1].map(|side| {
        let acm = |channel: &Option<Channel>| match channel {
            Some(Channel::Acm { acm, .. }) => Some(acm.clone()),
            _ => None,
        };
        if channels[side].is_some() { acm(&channels[side]) } else { acm(&both_channel) }
    });
    let mut changes = changes(link, duration, path, problems);
    let before = problems.len();
    let mut trace = |trace: &Option<document::Trace>, path: Path| {
        trace.as_ref().map(|trace| traces::resolve(trace, files, &path.key("trace"), problems))
    };
    let both_trace = trace(&link.both.trace, path.clone());
    let mut traces = sides.map(|(side, own)| {
        let own = trace(&own.trace, path.key(side));
        own.or_else(|| both_trace.clone()).unwrap_or_default()
    });
    // From its start on, a trace has the rate and the delay that it sets.
    let delays = [0, 1].map(|side| {
        let written = sides[side].1.delay.or(link.both.delay);
        traces[side].mean_delay().or(written)
    });
    let rates = [0, 1].map(|side| match &modems[side] {
        Some(acm) => Some(acm.rate()),
        None => traces[side].mean_rate().or(sides[side].1.rate).or(link.both.rate),
    });
    // A trace that cannot be read may have either.
    if problems.len() == before {
        problems.extend(missing("delay", "a time such as \"250ms\"", delays, path));
        problems.extend(missing("rate", "a data rate such as \"2Mbit/s\"", rates, path));
    }
    let mut directions = [0, 1].map(|side| {
        let both = &link.both;
        // Without `..`, so that a new key of the language has to reach the model. Rate, delay,
        // channel and trace are resolved above, and ARQ, FEC and demand assignment below, because their
        // timers depend on whole directions.
        let document::Direction {
            rate: _,
            delay: _,
            jitter,
            queue: waiting,
            ecn_marking,
            aqm,
            arq: _,
            fec: _,
            feedback,
            demand: _,
            // No part of a direction of the network, but of both ends of a link: see `compression`.
            header_compression: _,
            // See `mtu`.
            mtu: _,
            overhead: added,
            channel: _,
            trace: _,
            reorder,
        } = sides[side].1;
        let waiting = waiting.or(both.queue).unwrap_or_default();
        Direction {
            rate: rates[side].unwrap_or(Rate::from_bits_per_second(1)),
            delay: delays[side].unwrap_or(Span::ZERO),
            jitter: jitter.or(both.jitter).unwrap_or(Span::ZERO),
            queue: queue(waiting),
            low_priority: low_priority(waiting),
            ecn_marking: ecn_marking.or(both.ecn_marking),
            aqm: aqm.as_ref().or(both.aqm.as_ref()).and_then(document::Aqm::resolve),
            arq: None,
            fec: None,
            feedback: feedback
                .as_ref()
                .or(both.feedback.as_ref())
                .and_then(document::Feedback::resolve),
            demand: None,
            overhead: overhead(added.or(both.overhead).unwrap_or(Bytes(0))),
            channel: channels[side]
                .as_ref()
                .or(both_channel.as_ref())
                .cloned()
                .unwrap_or(Channel::Perfect),
            trace: std::mem::take(&mut traces[side]),
            timeline: Timeline::new(std::mem::take(&mut changes[side])),
            reorder: reorder.or(both.reorder).unwrap_or(false),
        }
    });
    let adaptive = sides.iter().zip(&modems).filter(|(_, modem)| modem.is_some());
    for ((side, own), _) in adaptive {
        let trace = &directions[usize::from(*side == "backward")].trace;
        let found = modems::with_rate(link, (side, own), path)
            .or_else(|| modems::with_trace(link, (side, own), trace, path));
        let found = found.filter(|new| problems.iter().all(|old| old.path != new.path));
        problems.extend(found);
    }
    let repeats = arq::resolve(link, sides, &directions, path, problems);
    for (direction, arq) in directions.iter_mut().zip(repeats) {
        direction.arq = arq;
    }
    let codes = fec::resolve(link, sides, &directions, path, problems);
    for (direction, fec) in directions.iter_mut().zip(codes) {
        direction.fec = fec;
    }
    let assigned = demand::resolve(link, sides, &directions, path, problems);
    for (direction, demand) in directions.iter_mut().zip(assigned) {
        direction.demand = demand;
    }
    let compressed = sides.map(|(_, own)| {
        let scheme = own.header_compression.as_ref().or(link.both.header_compression.as_ref());
        scheme.and_then(|scheme| scheme.resolve()).is_some()
    });
    reorder::check(sides, &directions, compressed, path, problems);
    let pushed_out = |side: &Direction| pushed_out(side, path);
    problems.extend(directions.iter().find_map(pushed_out));
    for ((name, own), side) in sides.iter().zip(&directions) {
        // A key stands in the direction or in the link, whose fault is named once.
        let place = |is_own: bool| if is_own { path.key(name) } else { path.clone() };
        let places = Places {
            aqm: place(own.aqm.is_some()).key("aqm"),
            queue: place(own.queue.is_some()).key("queue"),
            ecn_marking: place(own.ecn_marking.is_some()).key("ecn_marking"),
        };
        let problem = managed(side, &places);
        problems.extend(problem.filter(|new| problems.iter().all(|old| old.path != new.path)));
    }
    directions
}

/// The places of the keys of a queue.
struct Places {
    aqm: Path,
    queue: Path,
    ecn_marking: Path,
}

/// Active queue management that cannot do its work.
fn managed(side: &Direction, places: &Places) -> Option<Problem> {
    let aqm = side.aqm?;
    let with = format!("with aqm = {:?}", aqm.name());
    let rule = match side.low_priority {
        LowPriority::Ignore => None,
        LowPriority::PushOut => Some("push-out"),
        LowPriority::Refuse => Some("refuse"),
    };
    if let Some(rule) = rule {
        let path = places.queue.key("low_priority");
        let problem = Problem::new(path, format!("\"ignore\" {with}"), format!("{rule:?}"));
        return Some(problem.because("active queue management decides itself which packet leaves"));
    }
    if side.ecn_marking.is_some() {
        let expected = format!("no ecn_marking {with}");
        let problem = Problem::new(places.ecn_marking.clone(), expected, "a table");
        return Some(problem.because("active queue management marks by its own rules"));
    }
    let Aqm::Red(red) = aqm else { return None };
    let RedSettings { min_threshold, max_threshold, .. } = red;
    let is_usual = min_threshold == RedSettings::default().min_threshold;
    (max_threshold <= min_threshold).then(|| match is_usual {
        true => Problem::new(
            places.aqm.key("max_threshold"),
            format!("more than the `min_threshold` of {min_threshold:?}"),
            format!("{max_threshold:?}"),
        ),
        false => Problem::new(
            places.aqm.key("min_threshold"),
            format!("less than the `max_threshold` of {max_threshold:?}"),
            format!("{min_threshold:?}"),
        ),
    })
}

fn missing<T>(key: &str, expected: &str, values: [Option<T>; 2], link: &Path) -> Option<Problem> {
    let path = match values {
        [Some(_), Some(_)] => return None,
        [None, None] => link.key(key),
        [None, _] => link.key("forward").key(key),
        [_, None] => link.key("backward").key(key),
    };
    Some(Problem::new(path, expected, "nothing"))
}

/// The bytes that a link adds to a packet. The schema bounds them.
fn overhead(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

fn queue(queue: document::Queue) -> QueueLimit {
    match queue {
        document::Queue::Packets { packets, .. } => QueueLimit::Packets(packets),
        document::Queue::Bytes { bytes, .. } => QueueLimit::Bytes(bytes.get()),
        document::Queue::Unlimited(_) => QueueLimit::Unlimited,
    }
}

fn low_priority(queue: document::Queue) -> LowPriority {
    match queue {
        document::Queue::Packets { low_priority, .. }
        | document::Queue::Bytes { low_priority, .. } => low_priority,
        document::Queue::Unlimited(_) => LowPriority::Ignore,
    }
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
