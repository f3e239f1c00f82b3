//! Profiles of hosts beneath the keys of a flow.
//!
//! The values of a profile are written into the tables of the flow wherever the scenario has none,
//! once for each end. Both ends are then resolved like any flow. The flow itself gets the settings
//! that its data sees: those of its sender, with the receive buffer and the ACKs of its receiver,
//! and the options that both have.

use std::sync::Arc;

use language::describe;
use language::error::Problem;
use language::path::{Path, Step};
use language::shape;
use language::tree::{Tree, Value};
use serde_json::{Map, Value as Json};
use tcp::Recovery;
use transport::Protocol;
use units::Bytes;

use super::protocols::{self, Host};
use super::rules::UNSCALED_WINDOW;
use super::{beams, buffers, flows, graph};
use crate::document::{self, Controller, Document};
use crate::hosts::{Profile, is_in};
use crate::model::{Flow, HostEnd, Hosts, Traffic, Transport};
use crate::schema;
use congestion::Specification;

/// The controller of a profile without one: RFC 5681 with RFC 6582.
pub(crate) const CONTROLLER_OF_RFC: &str = "newreno";

/// The settings of a flow: those that its data sees, its controller, and those of its ends if they
/// have profiles.
pub(super) struct Settings {
    pub(super) transport: Transport,
    pub(super) controller: Specification,
    pub(super) hosts: Option<Arc<Hosts>>,
}

/// The settings of a flow. `None` if its controller is missing or unknown, which is reported.
pub(super) fn settings(
    document: &Document,
    number: usize,
    host: &Host<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Settings> {
    let flow = &document.flow[number];
    let path = Path::entry("flow", number);
    let profiles = profiles(document, flow, &path, problems);
    if profiles.iter().all(|chosen| chosen.profile.is_none()) {
        let none = Controller::Name(Specification::unlimited().entry().name.to_owned());
        let has_none = flow.transport.protocol == Protocol::Udp;
        let written = flow.controller.as_ref().or(has_none.then_some(&none));
        let Some(written) = written else {
            problems.push(without_controller(flow.transport.protocol, &path));
            return None;
        };
        let controller = flows::controller(written, &path.key("controller"), problems)?;
        if !matches!(flow.transport.ecn, Some(document::Ecn::Ends(_))) {
            let transport =
                protocols::settings(&flow.transport, &controller, host, &path, problems);
            return Some(Settings { transport, controller, hosts: None });
        }
    }
    let table = host.tree.at(&path).map(Tree::to_json).unwrap_or_default();
    let mut ends = Vec::new();
    for (number, chosen) in profiles.into_iter().enumerate() {
        let ecn = flow.transport.ecn.map(|ecn| ecn.ends()[number]);
        ends.push(end(chosen, &table, ecn, host, &path, problems)?);
    }
    let ends: [HostEnd; 2] = ends.try_into().ok()?;
    let controller = ends[0].controller.clone();
    let written = protocols::settings(&flow.transport, &controller, host, &path, problems);
    let transport = ends[0].transport.towards(&ends[1].transport);
    Some(Settings { transport, controller, hosts: Some(Arc::new(Hosts { ends, written })) })
}

/// The key that the schema no longer requires.
fn without_controller(protocol: Protocol, path: &Path) -> Problem {
    let flow = &schema::cached()["properties"]["flow"]["items"]["properties"];
    let expected = describe::expected(&shape::alternatives(&flow["controller"]));
    let reason = match protocol {
        Protocol::Tcp => "a flow without a `host` has no controller of a profile",
        _ => "the controllers of profiles are those of TCP",
    };
    Problem::new(path.key("controller"), expected, "nothing").because(reason)
}

/// The profile of an end.
#[derive(Clone, Copy)]
struct Chosen {
    profile: Option<&'static Profile>,
    /// It is that of the node.
    is_of_node: bool,
}

impl Chosen {
    const NONE: Self = Self { profile: None, is_of_node: false };
}

/// The profiles at `from` and at `to`: that of the flow, or that of the node.
fn profiles(
    document: &Document,
    flow: &document::Flow,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> [Chosen; 2] {
    if flow.transport.protocol != Protocol::Tcp {
        if flow.host.is_some() {
            let name = flow.transport.protocol.name();
            let expected = format!("no `host` with protocol = {name:?}");
            let problem = Problem::new(path.key("host"), expected, "the key");
            problems.push(problem.because("a profile has settings of TCP"));
        }
        return [Chosen::NONE; 2];
    }
    let of_node = |name: &document::Name| {
        let node = document.node.iter().find(|node| node.name == *name);
        let group = || beams::group_of(document, &name.0);
        node.and_then(|node| node.host.as_ref()).or_else(|| group()?.host.as_ref())
    };
    let [from, to] = flow.host.as_ref().map_or([None; 2], document::Hosts::ends);
    [(from, &flow.from), (to, &flow.to)].map(|(own, node)| Chosen {
        profile: own.or_else(|| of_node(node)).and_then(document::HostName::profile),
        is_of_node: own.is_none(),
    })
}

/// One end of a flow, with its profile beneath `table`, the keys that the scenario writes for the
/// flow, of which `ecn` is that of the end.
fn end(
    Chosen { profile, is_of_node }: Chosen,
    table: &Json,
    ecn: Option<document::EcnOfEnd>,
    host: &Host<'_>,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<HostEnd> {
    let mut laid = table.clone();
    let overridden = profile.map_or_else(Vec::new, |profile| lay_beneath(profile, &mut laid));
    if laid["controller"].is_null() {
        laid["controller"] = CONTROLLER_OF_RFC.into();
    }
    let written: Result<Controller, _> = serde_json::from_value(laid["controller"].clone());
    let transport = match &laid["transport"] {
        Json::Null => Json::Object(Map::new()),
        table => table.clone(),
    };
    let transport: Result<document::Transport, _> = serde_json::from_value(transport);
    let (Ok(written), Ok(mut transport)) = (written, transport) else {
        // A test lays each profile beneath a flow, so this is a defect of a profile.
        let name = profile.map_or("", |profile| profile.name);
        let problem = Problem::new(path.clone(), "values that the language admits", "others");
        problems.push(problem.because(format!("the profile {name:?} does not fit the flow")));
        return None;
    };
    transport.ecn = ecn.map(document::Ecn::Both).or(transport.ecn);
    fit_window(&mut transport, table);
    fit_recovery(&mut transport, table);
    let controller = flows::controller(&written, &path.key("controller"), problems)?;
    let settings = protocols::settings(&transport, &controller, host, path, problems);
    let values = serde_json::to_value(&transport).unwrap_or_default();
    Some(HostEnd { profile, is_of_node, transport: settings, controller, overridden, values })
}

/// A scenario that turns window scaling off overrides the buffer of a profile: no window is larger
/// than its field then.
fn fit_window(transport: &mut document::Transport, table: &Json) {
    let is_written = !table["transport"]["receive_buffer"].is_null();
    let largest = Bytes(UNSCALED_WINDOW);
    let is_larger = match transport.receive_buffer {
        document::ReceiveBuffer::Size(size) => size > largest,
        document::ReceiveBuffer::Tuned(_) => true,
    };
    if !transport.config.window_scaling && is_larger && !is_written {
        transport.receive_buffer = document::ReceiveBuffer::Size(largest);
    }
}

/// A scenario whose recovery has no SACK turns the SACK compression of a profile off.
fn fit_recovery(transport: &mut document::Transport, table: &Json) {
    let counts = matches!(transport.recovery, Some(Recovery::Reno | Recovery::NewReno));
    if counts && table["transport"]["sack_compression"].is_null() {
        transport.config.sack_compression = None;
    }
}

/// Writes the values of a profile into the table of a flow where that has none. Returns the keys of
/// those that the table overrides.
fn lay_beneath(profile: &Profile, table: &mut Json) -> Vec<&'static str> {
    let has_controller = !table["controller"].is_null();
    let mut overridden = Vec::new();
    for value in profile.values() {
        let key = value.key;
        let is_of_controller = key.split('.').next() == Some("controller");
        let is_laid = match is_of_controller {
            // A controller brings its own parameters.
            true if has_controller => false,
            // Its name becomes one of its parameters, as in the table of a scenario.
            true if key == "controller" => lay(table, "controller.name", value.value.to_json()),
            _ => lay(table, key, value.value.to_json()),
        };
        if !is_laid {
            overridden.push(key);
        }
    }
    overridden
}

/// Writes a value at a dotted key, unless there is one, or a value in place of one of the tables
/// before it.
fn lay(table: &mut Json, key: &str, value: Json) -> bool {
    let (first, rest) =
        key.split_once('.').map_or((key, None), |(first, rest)| (first, Some(rest)));
    if table.is_null() {
        *table = Json::Object(Map::new());
    }
    let Json::Object(entries) = table else { return false };
    match rest {
        Some(rest) => lay(entries.entry(first).or_insert(Json::Null), rest, value),
        None if entries.contains_key(first) => false,
        None => {
            entries.insert(first.to_owned(), value);
            true
        }
    }
}

/// Adds the writes of the application to the settings of the sender, and of the flow.
pub(super) fn of_writes(
    settings: Settings,
    flow: &document::Flow,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Settings {
    let Settings { transport, controller, mut hosts } = settings;
    let transport = buffers::of_writes(transport, &flow.traffic, path, problems);
    if let Some(hosts) = &mut hosts {
        // A problem was reported with the flow.
        let sender = &mut Arc::make_mut(hosts).ends[0];
        let ended = sender.transport.clone();
        sender.transport = buffers::of_writes(ended, &flow.traffic, path, &mut Vec::new());
    }
    Settings { transport, controller, hosts }
}

/// The settings of a flow whose ends differ, with the ECN on which they agree.
pub(super) fn opened(transport: Transport, hosts: Option<&Hosts>, traffic: &Traffic) -> Transport {
    let Some(Hosts { ends: [sender, receiver], .. }) = hosts else { return transport };
    let [opener, listener] = match traffic.receiver_opens() {
        true => [receiver, sender],
        false => [sender, receiver],
    };
    transport.opened_by(&opener.transport, &listener.transport)
}

/// The profile that sets the value at a path of a flow; each flow has the number of its entry.
pub(super) fn profile_of<'a>(
    path: &Path,
    mut flows: impl Iterator<Item = (usize, &'a Flow)>,
) -> Option<&'static Profile> {
    let [Step::Key(list), Step::Index(number), keys @ ..] = &*path.0 else { return None };
    let keys = keys.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Index(_) => None,
    });
    let key = keys.collect::<Vec<_>>().join(".");
    let (_, flow) = flows.find(|(entry, _)| list == "flow" && entry == number)?;
    let sets = |profile: &&Profile| {
        profile.values().any(|value| is_in(value.key, &key) || is_in(&key, value.key))
    };
    flow.hosts.as_ref()?.ends.iter().filter_map(|end| end.profile).find(sets)
}

/// A profile of a node that no flow takes would have no effect.
pub(super) fn check(document: &Document, tree: &Tree, problems: &mut Vec<Problem>) {
    for (number, node) in document.node.iter().enumerate() {
        let Some(name) = &node.host else { continue };
        let Some(profile) = name.profile() else { continue };
        let is_terminal = beams::group_of(document, &node.name.0).is_some();
        if is_terminal && !graph::linked(document, &node.name.0) {
            // Refused with its proxy.
            continue;
        }
        let place = Path::entry("node", number).key("host");
        let found = format!("{:?}", profile.name);
        let has_proxy = tree
            .at(&Path::entry("node", number).key("proxy"))
            .is_some_and(|proxy| !matches!(&proxy.value, Value::String(word) if word == "none"));
        if has_proxy {
            let problem = Problem::new(place, "no `host` at a node with a `proxy`", found);
            problems.push(problem.because("the sides of a proxy have settings of their own"));
            continue;
        }
        let takes = |flow: &document::Flow| {
            flow.transport.protocol == Protocol::Tcp && [&flow.from, &flow.to].contains(&&node.name)
        };
        if !document.flow.iter().any(takes) {
            let expected = "a node at which a flow over TCP begins or ends";
            problems.push(Problem::new(place, expected, found));
        }
    }
}
