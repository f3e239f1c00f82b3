//! Profiles of the hosts of a flow: each value of both ends, and where it came from.

use congestion::{Specification, Value as ControllerValue};
use language::describe;
use scenario::hosts::{Profile, ProfileValue, is_in};
use scenario::model::{Flow, HostEnd, Scenario};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::settings::{Amount, Setting};

/// One end of a flow of which an end has a profile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostExplanation {
    /// The key of the flow that names its node: `from` or `to`.
    pub end: &'static str,
    /// Its node.
    pub node: String,
    /// Its profile; `None` for an end with the settings of the flow.
    pub profile: Option<&'static str>,
    /// How far the profile can be trusted: `from its sources` or `reconstructed`.
    pub status: Option<&'static str>,
    /// Values of the keys that the profiles of the flow set.
    pub settings: Vec<HostSetting>,
    /// Rules of the system that the simulator does not have.
    pub notes: &'static [&'static str],
}

/// A value of an end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostSetting {
    /// The value.
    #[serde(flatten)]
    pub setting: Setting,
    /// Where it came from: `host NAME`, `override of host NAME`, `scenario` or `default`.
    pub origin: String,
    /// Value of the profile in the notation of scenarios, if it is overridden.
    pub overridden: Option<String>,
    /// Source of the value of the profile.
    pub source: Option<&'static str>,
    /// How certain the source is.
    pub certainty: Option<&'static str>,
}

/// The ends of a flow; empty if none has a profile.
pub(crate) fn explain(scenario: &Scenario, flow: &Flow) -> Vec<HostExplanation> {
    let Some(hosts) = &flow.hosts else { return Vec::new() };
    let keys = keys(flow);
    let nodes = [("from", flow.from), ("to", flow.to)];
    let explain = |((end, node), host): ((&'static str, usize), &HostEnd)| HostExplanation {
        end,
        node: scenario.nodes[node].name.clone(),
        profile: host.profile.map(|profile| profile.name),
        status: host.profile.map(Profile::status),
        settings: settings(host, &keys),
        notes: host.profile.map_or(&[], |profile| profile.notes),
    };
    nodes.into_iter().zip(&hosts.ends).map(explain).collect()
}

/// The keys that the profiles of a flow set, and ECN if the scenario has it for each end.
fn keys(flow: &Flow) -> Vec<&'static str> {
    let ends: Vec<_> = flow.hosts.iter().flat_map(|hosts| &hosts.ends).collect();
    let profiles = ends.iter().filter_map(|end| end.profile);
    let mut keys = Vec::new();
    if let [from, to] = &*ends
        && from.values["ecn"] != to.values["ecn"]
    {
        keys.push("transport.ecn");
    }
    for value in profiles.flat_map(Profile::values) {
        if !keys.contains(&value.key) {
            keys.push(value.key);
        }
    }
    keys
}

/// Returns true if a setting of a flow is one of its ends.
pub(crate) fn is_of_ends(flow: &Flow, name: &str) -> bool {
    keys(flow).iter().any(|key| is_in(name, key) || is_in(key, name))
}

/// The values of an end at `keys`, and all parameters of its controller.
fn settings(host: &HostEnd, keys: &[&'static str]) -> Vec<HostSetting> {
    let mut table = Map::new();
    table.insert("controller".to_owned(), controller(&host.controller));
    table.insert("transport".to_owned(), host.values.clone());
    let table = Json::Object(table);
    let values = host.controller.values();
    let mut wanted: Vec<String> = Vec::new();
    for key in keys {
        if *key == "controller" {
            wanted.push("controller.name".to_owned());
            let names = values.iter().map(|(parameter, _)| parameter.name);
            wanted.extend(names.map(|name| format!("controller.{name}")));
        } else if !key.starts_with("controller.") {
            wanted.push((*key).to_owned());
        }
    }
    let mut settings: Vec<HostSetting> = Vec::new();
    for key in wanted {
        for (name, value) in leaves(&table, &key) {
            let name = if name == "controller.name" { "controller".to_owned() } else { name };
            if settings.iter().all(|known| known.setting.name != name) {
                settings.push(setting(host, name, &value));
            }
        }
    }
    settings
}

fn setting(host: &HostEnd, name: String, value: &Json) -> HostSetting {
    let declared = |value: &&ProfileValue| {
        is_in(value.key, &name) || (is_in(&name, value.key) && value.key != "controller")
    };
    let values: Vec<_> =
        host.profile.into_iter().flat_map(Profile::values).filter(declared).collect();
    let is_overridden = values.iter().any(|value| host.overridden.contains(&value.key));
    let origin = match (host.profile, &*values) {
        (Some(profile), [_, ..]) if is_overridden => format!("override of host {}", profile.name),
        (Some(profile), [_, ..]) => format!("host {}", profile.name),
        // It has no default of its own.
        _ if name == "transport.ecn" && !value.is_null() => "scenario".to_owned(),
        _ => "default".to_owned(),
    };
    let overridden = is_overridden.then(|| {
        let each = values.iter().map(|value| {
            let text = describe::plain(&value.value.to_json());
            let key = value.key.strip_prefix(&*name).unwrap_or(value.key);
            format!("{} {text}", key.trim_start_matches('.')).trim().to_owned()
        });
        each.collect::<Vec<_>>().join(", ")
    });
    let source = values.first().filter(|_| !is_overridden);
    let is_default = values.is_empty();
    HostSetting {
        setting: Setting::new(name, Amount::written(value), describe::plain(value), !is_default),
        origin,
        overridden,
        source: source.map(|value| value.source),
        certainty: source.map(|value| value.certainty.name()),
    }
}

/// A controller as a table.
fn controller(controller: &Specification) -> Json {
    let name = ("name".to_owned(), controller.entry().name.into());
    let parameters = controller.values().iter().map(|(parameter, value)| {
        let value = match value {
            ControllerValue::Number(number) => Json::from(*number),
            ControllerValue::Word(word) => word.as_str().into(),
        };
        (parameter.name.to_owned(), value)
    });
    Json::Object(std::iter::once(name).chain(parameters).collect())
}

/// The values at a dotted key, or the one in place of a table before it.
fn leaves(table: &Json, key: &str) -> Vec<(String, Json)> {
    let (mut found, mut name) = (table, String::new());
    for part in key.split('.') {
        let Json::Object(entries) = found else { break };
        let Some(inner) = entries.get(part) else { return Vec::new() };
        found = inner;
        name = if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") };
    }
    match found {
        Json::Object(entries) => {
            entries.keys().flat_map(|inner| leaves(table, &format!("{name}.{inner}"))).collect()
        }
        value => vec![(name, value.clone())],
    }
}
