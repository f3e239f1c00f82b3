//! Tunnels of a scenario on a kernel: those of WireGuard between hosts. All others are refused.

use recording::SettingRecord;
use scenario::Scenario;
use scenario::model::{Flow, Tunnel};

use super::{Plan, TunnelPlan};
use crate::error::{Key, Of, Refusal};

/// The only protocol of this backend.
const PROTOCOL: &str = "wireguard";

/// The tunnels that a kernel does not have as the scenario wants them.
pub(super) fn refusals(scenario: &Scenario) -> impl Iterator<Item = Refusal> {
    let flows = scenario.flows.iter().enumerate();
    flows.filter_map(move |(number, flow)| {
        let tunnel = scenario.tunnel_of(flow);
        let (path, asked, possible) = match tunnel {
            Some(tunnel) => unlike(scenario, flow, tunnel)?,
            None => beside(scenario, flow)?,
        };
        Some(Refusal {
            place: format!("flow {:?}, {path}", flow.name),
            asked,
            possible,
            key: Some(Key { of: Of::Flow(number), path: path.to_owned() }),
        })
    })
}

/// The key of a tunnel that a kernel cannot follow, its value, and what would be possible.
fn unlike(
    scenario: &Scenario,
    flow: &Flow,
    tunnel: &Tunnel,
) -> Option<(&'static str, String, String)> {
    let settings = &tunnel.settings;
    if settings.name() != PROTOCOL {
        let possible = format!("{PROTOCOL}: this backend has no other tunnel; use the simulator");
        return Some(("tunnel", settings.name().to_owned(), possible));
    }
    let hosts = [flow.from, flow.to];
    if !(tunnel.ends == hosts || tunnel.ends == [flow.to, flow.from]) {
        let names = tunnel.ends.map(|end| scenario.nodes[end].name.as_str());
        let possible = "the hosts of the flow: other nodes are no hosts; use the simulator";
        return Some(("tunnel.between", names.join(", "), possible.to_owned()));
    }
    if hosts.iter().any(|host| scenario.beam_of(*host).is_some()) {
        let possible = "none: this backend has no tunnels over a beam; use the simulator";
        return Some(("tunnel", PROTOCOL.to_owned(), possible.to_owned()));
    }
    settings.is_established().then(|| {
        let possible = "false: WireGuard sets up when the first packet comes; use the simulator";
        ("tunnel.established", "true".to_owned(), possible.to_owned())
    })
}

/// A flow without a tunnel between hosts that have one: routes lead all packets there.
fn beside(scenario: &Scenario, flow: &Flow) -> Option<(&'static str, String, String)> {
    let hosts = [flow.from, flow.to];
    let is_between = |tunnel: &Tunnel| hosts.iter().all(|host| tunnel.ends.contains(host));
    scenario.tunnels.iter().any(is_between).then(|| {
        let possible = "the tunnel that other flows between these hosts have";
        ("tunnel", "none".to_owned(), possible.to_owned())
    })
}

impl Plan {
    /// Adds the tunnels of a scenario, whose flows have their hosts.
    pub(super) fn add_tunnels(&mut self, scenario: &Scenario) {
        for (number, tunnel) in scenario.tunnels.iter().enumerate() {
            let flows = || scenario.flows.iter().filter(|flow| flow.tunnel == Some(number));
            let longest = flows().map(|flow| scenario.packet_bytes(flow)).max();
            // The MTU decides on the size of segments, as that of a host does.
            let inner = longest.map_or(tunnel.mtu, |longest| {
                tunnel.mtu.min(u16::try_from(longest).unwrap_or(u16::MAX))
            });
            let outer = tunnel.settings.outer(scenario.ip, inner, inner);
            let hosts = tunnel.ends.map(|end| {
                self.admit_packets(u16::try_from(end).unwrap_or(u16::MAX), outer.into())
            });
            for (host, peer) in [(hosts[0], hosts[1]), (hosts[1], hosts[0])] {
                let peer = self.hosts[peer].node;
                self.hosts[host].tunnelled.insert(peer);
            }
            self.tunnels.push(TunnelPlan { hosts, mtu: inner.into() });
            self.settings.extend(flows().map(|flow| SettingRecord {
                flow: flow.name.clone(),
                setting: "tunnel".to_owned(),
                asked: PROTOCOL.to_owned(),
                verdict: "applied".to_owned(),
                kernel: "WireGuard of the kernel, or wireguard-go over TUN".to_owned(),
                largest_window_bytes: None,
            }));
        }
    }
}
