//! Hosts with profiles: the settings of both ends of a flow, and profiles that no kernel of
//! Linux can follow.

use std::sync::Arc;

use scenario::hosts::{PROFILES, Profile, System};
use scenario::model::{Flow, FlowSettings, Scenario};

use crate::error::{Key, Of, Refusal};
use crate::settings::{self, Applied, Entry, Kernel};

/// Settings of the sockets at both hosts, and the verdicts on them. Those that both have are there
/// once.
pub(super) fn judge(
    scenario: &Scenario,
    flow: &Flow,
    kernel: &Kernel,
) -> ([Arc<Applied>; 2], Vec<Entry>) {
    let of =
        |(transport, controller): (&scenario::model::Transport, &congestion::Specification)| {
            let settings = FlowSettings {
                transport: transport.clone(),
                controller: controller.clone(),
                ..FlowSettings::clone(&flow.settings)
            };
            let as_flow = Flow { settings: settings.into(), ..flow.clone() };
            let config = transport.tcp().cloned().unwrap_or_default();
            settings::judge(scenario, &as_flow, &config, kernel)
        };
    let [sender, receiver] = flow.ends();
    let (sent, mut verdicts) = of(sender);
    let sent = Arc::new(sent);
    if flow.hosts.is_none() {
        return ([sent.clone(), sent], verdicts);
    }
    let (received, others) = of(receiver);
    let [from, to] = [flow.from, flow.to].map(|node| &scenario.nodes[node].name);
    let differing: Vec<_> = others.into_iter().filter(|entry| !verdicts.contains(entry)).collect();
    for entry in &mut verdicts {
        if differing.iter().any(|other| other.setting == entry.setting) {
            entry.asked += &format!(" at {from}");
        }
    }
    verdicts.extend(differing.into_iter().map(|mut entry| {
        entry.asked += &format!(" at {to}");
        entry
    }));
    ([sent, Arc::new(received)], verdicts)
}

/// Profiles of other systems.
pub(super) fn refusals(
    scenario: &Scenario,
    (number, flow): (usize, &Flow),
) -> impl Iterator<Item = Refusal> {
    let ends = flow.hosts.iter().flat_map(|hosts| &hosts.ends);
    let ends = ends.zip([("from", flow.from), ("to", flow.to)]);
    ends.filter_map(move |(end, (key, node))| {
        let profile = end.profile.filter(|profile| profile.system != System::Linux)?;
        let name = &scenario.nodes[node].name;
        let (place, key) = match end.is_of_node {
            true => (
                format!("node {name:?}, host"),
                Key { of: Of::Node(node), path: "host".to_owned() },
            ),
            false => (
                format!("flow {:?}, host of {name:?}", flow.name),
                Key { of: Of::Flow(number), path: format!("host.{key}") },
            ),
        };
        let asked = profile.name.to_owned();
        Some(Refusal { place, asked, possible: possible(), key: Some(key) })
    })
}

/// The profiles that the kernel can follow.
fn possible() -> String {
    let linux = PROFILES.iter().filter(|profile| profile.system == System::Linux);
    let names: Vec<_> = linux.map(|profile: &Profile| profile.name).collect();
    format!("a profile of Linux ({}), because this kernel is one", names.join(", "))
}
