//! Groups in the background: their flows leave the scenario and become a description of the
//! beam's background.
//!
//! The model of a transfer in the background knows downloads over TCP with a few settings. All
//! else is refused here, and so is what no comparison with packets has shown: docs/beam.md has the
//! table, benches/background.py makes it.

use std::ops::Range;

use beam::forward::{Scheduler, Share};
use beam::returning::requests::{Category, Policy};
use congestion::Controller as _;
use language::describe;
use language::error::Problem;
use language::path::Path;
use language::tree::{Tree, Value};
use units::{Bytes, Span};

use crate::document::Document;
use crate::model::{Background, BackgroundCopy, Beam, BeamGroup, Flow, Scenario, Traffic};
use crate::routes::{Routes, routes};

/// Keys of a flow to a group in the background.
const OF_FLOW: &[&str] = &[
    "name",
    "from",
    "to",
    "controller",
    "count",
    "start",
    "spread",
    "stop",
    "sessions",
    "transport",
    "traffic",
    "host",
];

/// Those of its transport.
const OF_TRANSPORT: &[&str] = &[
    "protocol",
    "recovery",
    "initial_window",
    "initial_ssthresh",
    "abc_limit",
    "mss",
    "timestamps",
    "receive_buffer",
];

/// Those of a link that its data passes.
const OF_LINK: &[&str] = &["between", "rate", "delay", "queue"];

/// Controllers whose transfers in the background were compared with packets.
const CONTROLLERS: &[&str] = &["cubic"];

/// Reason of refusals that `unchecked` lifts.
const UNCHECKED: &str = "a group is in the background, which was compared with packets for this \
                         only; `background = \"unchecked\"` takes other settings, too";

/// The least burst of a plan: a train passes as a whole.
const LEAST_BURST: Bytes = Bytes(Background::LONGEST_TRAIN * 2000);

/// The highest load of a carrier by the background at which the times of the others were within 5 %
/// of those with packets: that of the comparison at 60 % of the airtime. At 90 % some were 8 % off.
const MOST_LOAD: f64 = 0.55;

/// A flow in the background, with its `[[flow]]`.
type Found = (usize, Background);

/// Takes the flows of groups in the background out of the scenario.
pub(in crate::resolve) fn take(
    document: &Document,
    tree: &Tree,
    scenario: &mut Scenario,
    entries: &mut Vec<usize>,
    problems: &mut Vec<Problem>,
) {
    let mut all = scenario.beams.iter().flat_map(|beam| &beam.groups);
    if !all.any(|group| group.is_background) {
        return;
    }
    for (i, beam) in scenario.beams.iter().enumerate() {
        check_beam(i, beam, problems);
        if !document.beam[i].group.iter().any(|group| group.background.is_unchecked()) {
            check_compared(i, beam, problems);
        }
    }
    let mut stays = vec![true; scenario.flows.len()];
    let found = describe_flows(document, tree, (scenario, entries), &mut stays, problems);
    let Some(found) = found else { return };
    remove(scenario, entries, found, &stays);
    for (i, beam) in scenario.beams.iter().enumerate() {
        if !document.beam[i].group.iter().any(|group| group.background.is_unchecked()) {
            check_load(i, beam, problems);
        }
    }
}

/// The group in the background that a node is in.
fn group_of(node: usize, scenario: &Scenario) -> Option<usize> {
    let (_, beam) = scenario.beam_of(node)?;
    let is_of = |group: &BeamGroup| group.is_background && group.terminals.contains(&node);
    beam.groups.iter().position(is_of)
}

/// The flows in the background of each beam. `stays` becomes false for them. `None` if one of them
/// is refused.
fn describe_flows(
    document: &Document,
    tree: &Tree,
    (scenario, entries): (&Scenario, &[usize]),
    stays: &mut [bool],
    problems: &mut Vec<Problem>,
) -> Option<Vec<Vec<Found>>> {
    let routes = routes(scenario);
    let mut found: Vec<Vec<Found>> = vec![Vec::new(); scenario.beams.len()];
    for (number, (flow, entry)) in scenario.flows.iter().zip(entries.iter().copied()).enumerate() {
        let (path, written) = (Path::entry("flow", entry), &document.flow[entry]);
        if group_of(flow.from, scenario).is_some() {
            let expected = "a node that sends to the group, which is in the background";
            let found = format!("{:?}", written.from.0);
            problems.push(Problem::new(path.key("from"), expected, found));
            return None;
        }
        let Some(group) = group_of(flow.to, scenario) else { continue };
        let (place, beam) = scenario.beam_of(flow.to)?;
        stays[number] = false;
        let copy = BackgroundCopy {
            number: u32::try_from(number).unwrap_or(u32::MAX),
            terminal: u32::try_from(flow.to - beam.terminals.start).unwrap_or(u32::MAX),
            start: flow.start,
        };
        if let Some((last, described)) = found[place].last_mut()
            && *last == entry
        {
            described.copies.push(copy);
            continue;
        }
        check_links((scenario, &routes, tree), (flow.from, beam.gateway), problems);
        let terminals = beam.groups[group].terminals.clone();
        problems.extend(seen((scenario, &routes), (flow.from, flow.to), terminals));
        let (size, request) = check_flow(flow, (tree, &path), problems)?;
        let last = u8::try_from(beam.classes.len() - 1).unwrap_or(u8::MAX);
        let name = written.name.as_ref().map(|name| name.0.clone());
        let ways = [(flow.from, beam.gateway), (beam.gateway, flow.from)];
        let described = Background {
            name: name.unwrap_or_else(|| format!("flow-{entry}")),
            group,
            class: beam.class_of_flows.get(&number).copied().unwrap_or(last),
            size: size.get(),
            request: request.get(),
            delays: ways.map(|way| propagation(scenario, &routes, way)),
            flow: flow.clone(),
            copies: vec![copy],
        };
        found[place].push((entry, described));
    }
    Some(found)
}

/// Moves flows from the scenario to their beams, and numbers the others again.
fn remove(
    scenario: &mut Scenario,
    entries: &mut Vec<usize>,
    found: Vec<Vec<Found>>,
    stays: &[bool],
) {
    let is_kept = |number: &usize| stays[*number];
    let kept: Vec<_> = (0..scenario.flows.len()).filter(is_kept).collect();
    for (beam, found) in scenario.beams.iter_mut().zip(found) {
        beam.background = found.into_iter().map(|(_, described)| described).collect();
        let classes = std::mem::take(&mut beam.class_of_flows);
        let places = kept.iter().enumerate();
        beam.class_of_flows =
            places.filter_map(|(new, old)| Some((new, *classes.get(old)?))).collect();
    }
    let mut keeps = stays.iter();
    scenario.flows.retain(|_| *keeps.next().unwrap_or(&true));
    let mut keeps = stays.iter();
    entries.retain(|_| *keeps.next().unwrap_or(&true));
}

/// Propagation over the links from one node to another.
fn propagation(scenario: &Scenario, routes: &Routes, (from, to): (usize, usize)) -> Span {
    let hops = routes.path(from, to, &scenario.links);
    hops.into_iter().map(|hop| hop.direction(&scenario.links).delay).fold(Span::ZERO, |a, b| a + b)
}

/// Reports keys of a table that are not among `allowed`.
fn check_keys(tree: &Tree, path: &Path, allowed: &[&str], problems: &mut Vec<Problem>) {
    let Some(Value::Table(entries)) = tree.at(path).map(|found| &found.value) else { return };
    for entry in entries.iter().filter(|entry| !allowed.contains(&&*entry.key)) {
        let expected = format!("only {}", describe::list(&describe::quoted(allowed), "and"));
        let problem = Problem::new(path.key(&entry.key), expected, "the key");
        problems.push(problem.because("the group is in the background"));
    }
}

/// Bytes of the transfer of a flow and of its request.
fn check_flow(
    flow: &Flow,
    (tree, path): (&Tree, &Path),
    problems: &mut Vec<Problem>,
) -> Option<(Bytes, Bytes)> {
    let before = problems.len();
    let because = "the group is in the background";
    check_keys(tree, path, OF_FLOW, problems);
    check_keys(tree, &path.key("transport"), OF_TRANSPORT, problems);
    let mut refuse = |place: Path, expected: String, found: String| {
        problems.push(Problem::new(place, expected, found).because(because));
    };
    if flow.hosts.is_some() {
        let expected = "ends without the profile of a `host`".to_owned();
        refuse(path.key("to"), expected, "one with a profile".to_owned());
    }
    let name = flow.controller.entry().name;
    if !CONTROLLERS.contains(&name) {
        let expected = describe::list(&describe::quoted(CONTROLLERS), "or");
        refuse(path.key("controller"), expected, format!("{name:?}"));
    }
    if flow.sessions.is_none() {
        refuse(
            path.key("sessions"),
            "`sessions`, which make its load".to_owned(),
            "none".to_owned(),
        );
    }
    if !flow.gateways.is_empty() {
        let expected = "a flow that no proxy splits".to_owned();
        refuse(path.key("to"), expected, "one that a proxy splits".to_owned());
    }
    let Some(config) = flow.transport.tcp() else {
        let found = format!("{:?}", flow.protocol().name());
        refuse(path.key("transport").key("protocol"), "\"tcp\"".to_owned(), found);
        return None;
    };
    if config.recovery != tcp::Recovery::Sack {
        let place = path.key("transport").key("recovery");
        refuse(place, "\"sack\"".to_owned(), format!("{:?}", config.recovery.name()));
    }
    if config.receive_tuning.is_some() {
        let place = path.key("transport").key("receive_buffer");
        refuse(place, "a size such as \"4MiB\"".to_owned(), "a table".to_owned());
    }
    let needs = flow.controller.build(&config.controller()).needs();
    if needs.pacing || needs.records || needs.own_recovery {
        let expected = "a variant without pacing".to_owned();
        refuse(path.key("controller"), expected, format!("{name:?}"));
    }
    let Traffic::Download { size, request } = flow.traffic else {
        refuse(path.key("traffic"), "`download`".to_owned(), format!("`{}`", flow.traffic.key()));
        return None;
    };
    (problems.len() == before).then_some((size, request))
}

/// Links whose effects on trains are more than their delay.
fn check_links(
    (scenario, routes, tree): (&Scenario, &Routes, &Tree),
    (from, gateway): (usize, usize),
    problems: &mut Vec<Problem>,
) {
    for hop in routes.path(from, gateway, &scenario.links) {
        let ends = [hop.from(&scenario.links), hop.to(&scenario.links)];
        let is_it = |link: &crate::model::Link| ends.iter().all(|end| link.ends.contains(end));
        for (i, _) in scenario.links.iter().enumerate().filter(|(_, link)| is_it(link)) {
            check_keys(tree, &Path::entry("link", i), OF_LINK, problems);
        }
    }
}

/// A middlebox that would see packets of a flow to some terminals.
fn seen(
    (scenario, routes): (&Scenario, &Routes),
    way: (usize, usize),
    terminals: Range<usize>,
) -> Option<Problem> {
    let on_way = routes.forwards(way, &scenario.links).into_iter();
    let mut nodes = on_way.chain(terminals).map(|node| &scenario.nodes[node]);
    let node = nodes.find(|node| node.middlebox.is_some())?;
    let found = node.middlebox.map_or("", |one| one.name());
    Some(refusal(node.place().key("middlebox"), "no `middlebox`", format!("{found:?}")))
}

/// The groups of a beam in the background, with their paths.
fn groups(number: usize, beam: &Beam) -> impl Iterator<Item = (usize, &BeamGroup, Path)> {
    let groups = beam.groups.iter().enumerate().filter(|(_, group)| group.is_background);
    groups.map(move |(j, group)| (j, group, Path::entry("beam", number).key("group").index(j)))
}

/// A setting that a beam cannot have with a group in the background.
fn refusal(place: Path, expected: impl Into<String>, found: impl Into<String>) -> Problem {
    Problem::new(place, expected, found).because("a group is in the background")
}

/// Settings of a beam whose effects trains of packets do not have.
fn check_beam(number: usize, beam: &Beam, problems: &mut Vec<Problem>) {
    for (j, group, path) in groups(number, beam) {
        if beam.forward.aqm.is_some() {
            let place = Path::entry("beam", number).key("forward").key("aqm");
            problems.push(refusal(place, "no `aqm`", "the key"));
            return;
        }
        if beam.back.groups[j].access {
            problems.push(refusal(path.key("random_access"), "false", "true"));
        }
        if let Some(plan) = beam.forward.plans[j] {
            let place = path.key("plan").key("down");
            if plan.allowance.is_some() {
                problems.push(refusal(place.key("allowance"), "no `allowance`", "the key"));
            }
            if plan.bucket.burst < LEAST_BURST {
                let expected = format!("at least \"{LEAST_BURST}\", a train of packets");
                let found = format!("\"{}\"", plan.bucket.burst);
                problems.push(refusal(place.key("burst"), expected, found));
            }
        }
        if group.signals.iter().any(|signal| !signal.acm.outages().is_empty()) {
            let expected = "a signal that is never below all thresholds";
            problems.push(refusal(path.key("attenuation"), expected, "an outage"));
        }
    }
}

/// Settings of a beam with which no background was compared with packets.
fn check_compared(number: usize, beam: &Beam, problems: &mut Vec<Problem>) {
    let path = Path::entry("beam", number);
    let problem = |place, expected: &str, found: String| {
        Problem::new(place, expected, found).because(UNCHECKED)
    };
    for (j, _, of_group) in groups(number, beam) {
        let found = match beam.forward.scheduler {
            Scheduler::DeficitRoundRobin(Share::Bytes) => None,
            Scheduler::Fifo => Some("\"fifo\""),
            Scheduler::DeficitRoundRobin(Share::Symbols) => Some("\"equal-airtime\""),
        };
        if let Some(found) = found {
            let place = path.key("forward").key("scheduler");
            problems.push(problem(place, "\"equal-rate\"", found.to_owned()));
            return;
        }
        if beam.classes.len() > 1 {
            let number = beam.classes.len() - 1;
            problems.push(problem(path.key("class"), "no classes", number.to_string()));
            return;
        }
        let back = &beam.back.groups[j];
        let by_rate = |one: &Policy| one.category == Category::Rbdc;
        if !back.policy.as_ref().is_none_or(by_rate) {
            let expected = "\"rbdc\" or \"none\"";
            problems.push(problem(of_group.key("requests"), expected, "a volume".to_owned()));
        }
        if back.plan.is_some() {
            let place = of_group.key("plan").key("up");
            problems.push(problem(place, "no `up`", "the key".to_owned()));
        }
    }
}

/// A load that was not compared with packets.
fn check_load(number: usize, beam: &Beam, problems: &mut Vec<Problem>) {
    let Some(load) = beam.background_load() else { return };
    if load <= MOST_LOAD {
        return;
    }
    let largest = beam.background.iter().max_by_key(|one| one.copies.len());
    let Some(group) = largest.map(|one| one.group) else { return };
    let path = Path::entry("beam", number).key("group").index(group).key("background");
    let expected = format!("a load of at most {MOST_LOAD} of the forward carrier");
    let problem = Problem::new(path, expected, format!("{load:.2}"));
    problems.push(problem.because(UNCHECKED));
}
