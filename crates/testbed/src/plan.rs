//! The plan of a run on the kernel: settings of the hosts' TCP. Each setting of the scenario is
//! applied, approximated (the kernel uses another value, which the recording reports) or rejected.

use std::collections::BTreeMap;
use std::sync::Arc;

use congestion::Value;
use recording::SettingRecord;
use runtime::Side;
use scenario::model::{Flow, LowPriority};
use scenario::{Hop, Routes, Scenario};
use units::Span;
use wire::IpVersion;

use crate::error::Refusal;
use crate::route::Metrics;
use crate::settings::{self, Applied, Kernel, Verdict};

/// Port of the first flow's listener; of those that iperf uses.
const FIRST_PORT: u16 = 5001;
/// Flows have a port each, below those that Linux hands out itself.
const MOST_FLOWS: usize = 25_000;

/// What is to be set up on this machine.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Version of IP that the hosts speak.
    pub(crate) ip: IpVersion,
    /// The hosts: all nodes at which a flow ends.
    pub(crate) hosts: Vec<Host>,
    /// The flows, in the order of the scenario.
    pub(crate) flows: Vec<FlowPlan>,
    /// What became of each setting.
    pub(crate) settings: Vec<SettingRecord>,
}

/// A host to set up.
#[derive(Debug)]
pub(crate) struct Host {
    /// Number of the node.
    pub(crate) node: u16,
    /// MTU of its interface.
    pub(crate) mtu: u32,
    /// Values for `/proc/sys/net`, with the flow that asked for each.
    pub(crate) sysctls: BTreeMap<&'static str, Wanted<String>>,
    /// What is different towards other hosts.
    pub(crate) routes: BTreeMap<u16, Wanted<Metrics>>,
}

/// A value of the whole host and the flow that asked for it first.
#[derive(Debug)]
pub(crate) struct Wanted<T> {
    pub(crate) value: T,
    flow: String,
}

/// A flow to set up.
#[derive(Clone, Debug)]
pub(crate) struct FlowPlan {
    /// Number of the host that sends the data, in [`Plan::hosts`].
    pub(crate) from: usize,
    /// Number of the host that receives the data.
    pub(crate) to: usize,
    /// The side that opens the flow's connections. The other one listens.
    pub(crate) opener: Side,
    /// Port on which the flow's connections are accepted.
    pub(crate) port: u16,
    /// What its sockets are set to.
    pub(crate) sockets: Arc<Applied>,
}

impl FlowPlan {
    /// Number of the host at this side.
    pub(crate) fn host(&self, side: Side) -> usize {
        match side {
            Side::Sender => self.from,
            Side::Receiver => self.to,
        }
    }
}

/// Plans the run of a scenario on `kernel`.
///
/// # Errors
/// Everything that a kernel cannot do.
pub(crate) fn plan(scenario: &Scenario, kernel: &Kernel) -> Result<Plan, Vec<Refusal>> {
    let ip = scenario.ip;
    let mut plan = Plan { ip, hosts: Vec::new(), flows: Vec::new(), settings: Vec::new() };
    let mut refusals = Vec::new();
    if scenario.flows.len() > MOST_FLOWS {
        refusals.push(Refusal {
            place: "flow".to_owned(),
            asked: scenario.flows.len().to_string(),
            possible: format!("at most {MOST_FLOWS} flows, because each uses a port"),
        });
    }
    if scenario.record.events {
        refusals.push(Refusal {
            place: "record.events".to_owned(),
            asked: "true".to_owned(),
            possible: "false: a kernel reports no events; use record.interval".to_owned(),
        });
    }
    refusals.extend(feedback(scenario));
    refusals.extend(proxies(scenario));
    let routes = scenario::routes(scenario);
    for (number, flow) in scenario.flows.iter().take(MOST_FLOWS).enumerate() {
        let hops = hops(scenario, &routes, flow);
        let before = number.checked_sub(1).filter(|n| are_alike(&scenario.flows[*n], flow));
        let sockets = match before.and_then(|before| plan.flows.get(before)) {
            Some(alike) => alike.sockets.clone(),
            None => {
                let (sockets, mut verdicts) = settings::judge(scenario, flow, kernel);
                verdicts.extend(low_priority(scenario, &hops));
                record(flow, verdicts, &mut plan.settings, &mut refusals);
                Arc::new(sockets)
            }
        };
        // A flow has one leg: proxies are refused.
        let leg = runtime::legs(flow)[0];
        let [from, to] = [leg.from, leg.to].map(|node| plan.host(node.0));
        let rtt = round_trip(scenario, &hops);
        for (host, peer) in [(from, leg.to), (to, leg.from)] {
            plan.hosts[host].want(flow, peer.0, &sockets, rtt, &mut refusals);
        }
        let port = FIRST_PORT + number as u16;
        plan.flows.push(FlowPlan { from, to, opener: leg.opener, port, sockets });
    }
    if refusals.is_empty() { Ok(plan) } else { Err(refusals) }
}

/// Routers with feedback: no kernel has a field for them in its packets.
fn feedback(scenario: &Scenario) -> impl Iterator<Item = Refusal> {
    let sides = scenario.links.iter().flat_map(|link| link.sides().map(|side| (&link.name, side)));
    sides.filter_map(|(link, (side, direction))| {
        Some(Refusal {
            place: format!("link {link:?} {side}, feedback"),
            asked: direction.feedback?.name().to_owned(),
            possible:
                "none: the TCP of Linux has no field for feedback of routers; use the simulator"
                    .to_owned(),
        })
    })
}

/// Split proxies: no namespace with the daemon is set up for a node.
fn proxies(scenario: &Scenario) -> impl Iterator<Item = Refusal> {
    let nodes = scenario.nodes.iter().filter(|node| node.proxy.is_some());
    nodes.map(|node| Refusal {
        place: format!("node {:?}, proxy", node.name),
        asked: "a split proxy".to_owned(),
        possible: "none: this backend does not run the daemon at a node; use the simulator"
            .to_owned(),
    })
}

impl Plan {
    /// The flow whose listener has one of the two ports of a packet.
    pub(crate) fn flow_of_ports(&self, ports: (u16, u16)) -> Option<&FlowPlan> {
        let number = flow_of_ports(ports, self.flows.len())?;
        Some(&self.flows[number])
    }

    fn host(&mut self, node: u16) -> usize {
        self.hosts.iter().position(|host| host.node == node).unwrap_or_else(|| {
            self.hosts.push(Host { node, ..Host::default() });
            self.hosts.len() - 1
        })
    }
}

/// The number of the flow, out of `flows`, whose listener has one of the two ports of a packet.
pub(crate) fn flow_of_ports((source, destination): (u16, u16), flows: usize) -> Option<usize> {
    let number = |port: u16| Some(usize::from(port.checked_sub(FIRST_PORT)?));
    [source, destination].into_iter().filter_map(number).find(|number| *number < flows)
}

/// A host that nobody asks anything of.
impl Default for Host {
    fn default() -> Self {
        let mtu = settings::LEAST_MTU;
        Self { node: 0, mtu, sysctls: BTreeMap::new(), routes: BTreeMap::new() }
    }
}

impl Host {
    /// Takes in what a flow asks of the whole host.
    fn want(
        &mut self,
        flow: &Flow,
        peer: u16,
        sockets: &Applied,
        rtt: Span,
        refusals: &mut Vec<Refusal>,
    ) {
        self.mtu = self.mtu.max(sockets.mtu);
        let mut refuse = |setting: &str, asked: String, other: &str| {
            refusals.push(Refusal {
                place: format!("flow {:?}, {setting}", flow.name),
                asked,
                possible: format!("the same as for flow {other:?}, because they share a host"),
            });
        };
        for (sysctl, value) in &sockets.sysctls {
            let wanted = Wanted { value: value.clone(), flow: flow.name.clone() };
            let first = self.sysctls.entry(sysctl).or_insert(wanted);
            if first.value != *value {
                refuse(sysctl, value.clone(), &first.flow);
            }
        }
        let metrics = sockets.metrics(rtt);
        let wanted = Wanted { value: metrics, flow: flow.name.clone() };
        let first = self.routes.entry(peer).or_insert(wanted);
        if first.value != metrics {
            let setting = "transport.initial_window, delayed_ack or rto.min";
            refuse(setting, format!("{metrics:?}"), &first.flow);
        }
    }
}

/// Separates verdicts that are recorded from those that prevent the run.
fn record(
    flow: &Flow,
    verdicts: Vec<settings::Entry>,
    settings: &mut Vec<SettingRecord>,
    refusals: &mut Vec<Refusal>,
) {
    for entry in verdicts {
        if entry.verdict == Verdict::Rejected {
            refusals.push(Refusal {
                place: format!("flow {:?}, {}", flow.name, entry.setting),
                asked: entry.asked,
                possible: entry.kernel,
            });
        } else {
            settings.push(SettingRecord {
                flow: flow.name.clone(),
                setting: entry.setting.to_owned(),
                asked: entry.asked,
                verdict: entry.verdict.name().to_owned(),
                kernel: entry.kernel,
                largest_window_bytes: None,
            });
        }
    }
}

fn are_alike(a: &Flow, b: &Flow) -> bool {
    let values = |flow: &Flow| -> Vec<Value> {
        flow.controller.values().iter().map(|(_, value)| value.clone()).collect()
    };
    Arc::ptr_eq(&a.transport, &b.transport)
        && a.controller.entry().name == b.controller.entry().name
        && values(a) == values(b)
}

/// The hops of a flow to and fro.
fn hops(scenario: &Scenario, routes: &Routes, flow: &Flow) -> Vec<Hop> {
    [(flow.from, flow.to), (flow.to, flow.from)]
        .into_iter()
        .flat_map(|(from, to)| routes.path(from, to, &scenario.links))
        .collect()
}

/// Least propagation delay to and fro: no smoothed RTT of the flow is below it.
fn round_trip(scenario: &Scenario, hops: &[Hop]) -> Span {
    hops.iter().fold(Span::ZERO, |sum, hop| sum + hop.direction(&scenario.links).least_delay())
}

/// Verdict on the first queue of the route that treats packets of low priority differently.
fn low_priority(scenario: &Scenario, hops: &[Hop]) -> Option<settings::Entry> {
    hops.iter().find_map(|hop| {
        let asked = match hop.direction(&scenario.links).low_priority {
            LowPriority::Ignore => return None,
            LowPriority::PushOut => "push-out",
            LowPriority::Refuse => "refuse",
        };
        Some(settings::Entry {
            setting: "queue.low_priority",
            asked: asked.to_owned(),
            verdict: Verdict::Approximated,
            kernel: "no packets have low priority".to_owned(),
        })
    })
}

#[cfg(test)]
mod tests;
