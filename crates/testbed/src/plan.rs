//! The plan of a run on the kernel: settings of the hosts' TCP. Each setting of the scenario is
//! applied, approximated (the kernel uses another value, which the recording reports) or rejected.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use congestion::Value;
use quic::{Config, Logs, Maker};
use recording::SettingRecord;
use runtime::{Leg, Side};
use scenario::model::{Flow, LowPriority, Transport};
use scenario::{Hop, Routes, Scenario};
use transport::Protocol;
use units::Span;
use wire::IpVersion;
use wire::ip::LONGEST_PACKET;

use crate::error::{KernelError, Key, Of, Refusal};
use crate::route::Metrics;
use crate::settings::{self, Applied, Kernel, Verdict};

mod beams;
pub(crate) mod gateway;
mod hosts;
mod tunnels;

use gateway::Gateway;

/// Port of the first flow's listener; of those that iperf uses.
const FIRST_PORT: u16 = 5001;
/// Flows have a port each, below those that Linux hands out itself.
const MOST_FLOWS: usize = 25_000;

/// Bytes of the headers of a packet of TCP with all its options, at most.
const HEADERS: u16 = 128;

/// The set-up on this machine.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Version of IP that the hosts speak.
    pub(crate) ip: IpVersion,
    /// The hosts: all nodes at which a flow ends, and those with a split proxy on its way.
    pub(crate) hosts: Vec<Host>,
    /// The flows, in the order of the scenario.
    pub(crate) flows: Vec<FlowPlan>,
    /// Tunnels between hosts.
    pub(crate) tunnels: Vec<TunnelPlan>,
    /// Verdicts on each setting.
    pub(crate) settings: Vec<SettingRecord>,
}

/// A tunnel of WireGuard to set up.
#[derive(Debug)]
pub(crate) struct TunnelPlan {
    /// Numbers of its hosts, in [`Plan::hosts`].
    pub(crate) hosts: [usize; 2],
    /// MTU of its interfaces.
    pub(crate) mtu: u32,
}

/// A host to set up.
#[derive(Debug)]
pub(crate) struct Host {
    /// Number of the node.
    pub(crate) node: u16,
    /// MTU of its interfaces.
    pub(crate) mtu: u32,
    /// Values for `/proc/sys/net`, with who asked for each.
    pub(crate) sysctls: BTreeMap<&'static str, Wanted<String>>,
    /// Differences towards other hosts.
    pub(crate) routes: BTreeMap<u16, Wanted<Metrics>>,
    /// Hosts to which its packets go through a tunnel.
    pub(crate) tunnelled: BTreeSet<u16>,
    /// Its split proxy.
    pub(crate) gateway: Option<Gateway>,
}

/// A value of the whole host and who asked for it first.
#[derive(Debug)]
pub(crate) struct Wanted<T> {
    pub(crate) value: T,
    who: String,
}

/// Who asks something of a host: a flow, or a flow at one side of a proxy.
struct Wish<'a> {
    /// As in messages.
    who: String,
    key: Key,
    sockets: &'a Applied,
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
    /// Carrier of its data.
    pub(crate) carrier: Carrier,
}

/// Carrier of the data of a flow.
#[derive(Clone, Debug)]
pub(crate) enum Carrier {
    /// The TCP of the kernel, whose sockets at both hosts are set to this: of the sender and of the
    /// receiver of the data.
    Tcp([Arc<Applied>; 2]),
    /// QUIC over UDP sockets.
    Quic {
        /// Settings of the connections.
        config: Arc<Config>,
        /// Distinguishes the flows of a run.
        flow: u32,
    },
    /// Datagrams over UDP sockets.
    Udp,
}

impl Carrier {
    /// Settings of the sockets at a side, if its sockets are of TCP.
    pub(crate) fn sockets(&self, side: Side) -> Option<&Applied> {
        let Self::Tcp([sender, receiver]) = self else { return None };
        Some(match side {
            Side::Sender => sender,
            Side::Receiver => receiver,
        })
    }

    /// Maker of the ends of the flow's connections in a run with this seed and these logs, if they
    /// are of QUIC.
    pub(crate) fn maker(&self, seed: u64, logs: &Logs) -> Option<Maker> {
        match self {
            Self::Tcp(_) | Self::Udp => None,
            Self::Quic { config, flow } => {
                Some(Maker::new(Arc::new(config.logged(logs)), seed, *flow))
            }
        }
    }
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

/// Verdicts on the settings of a scenario on this machine's kernel, and the ones that a run would
/// refuse. Nothing is set up.
///
/// # Errors
/// When the system does not say which controllers the kernel has.
pub fn explain(scenario: &Scenario) -> Result<(Vec<SettingRecord>, Vec<Refusal>), KernelError> {
    let (plan, refusals) = draw(scenario, &Kernel::running()?);
    Ok((plan.settings, refusals.all()))
}

/// Plans the run of a scenario on `kernel`.
///
/// # Errors
/// Everything that a kernel cannot do.
pub(crate) fn plan(scenario: &Scenario, kernel: &Kernel) -> Result<Plan, Vec<Refusal>> {
    let (plan, refusals) = draw(scenario, kernel);
    let refusals = refusals.all();
    if refusals.is_empty() { Ok(plan) } else { Err(refusals) }
}

/// Plans the hosts and the network of a scenario on `kernel`, where other programs run and no flow
/// does.
///
/// # Errors
/// Everything that a kernel cannot do, flows and their records aside.
pub(crate) fn plan_without_flows(
    scenario: &Scenario,
    kernel: &Kernel,
) -> Result<Plan, Vec<Refusal>> {
    let (plan, refusals) = draw(scenario, kernel);
    if refusals.of_network.is_empty() { Ok(plan) } else { Err(refusals.of_network) }
}

/// Settings that a kernel cannot have.
#[derive(Debug, Default)]
struct Refusals {
    /// Of flows, their protocols and sockets, and of records about them.
    of_flows: Vec<Refusal>,
    /// Of hosts, proxies and links.
    of_network: Vec<Refusal>,
}

impl Refusals {
    fn all(mut self) -> Vec<Refusal> {
        self.of_flows.append(&mut self.of_network);
        self.of_flows
    }
}

/// The plan as far as `kernel` can follow it, and everything that it cannot do.
fn draw(scenario: &Scenario, kernel: &Kernel) -> (Plan, Refusals) {
    let ip = scenario.ip;
    let mut plan = Plan { ip, ..Plan::default() };
    let mut refusals = Refusals::default();
    let Refusals { of_flows, of_network } = &mut refusals;
    of_flows.extend(limits(scenario));
    of_network.extend(beams::terminals(scenario));
    of_network.extend(beams::backgrounds(scenario));
    of_network.extend(beams::proxies(scenario));
    of_network.extend(beams::middleboxes(scenario));
    of_network.extend(feedback(scenario));
    of_network.extend(loss_notices(scenario));
    of_network.extend(tunnels::refusals(scenario));
    of_flows.extend(protocols(scenario));
    let routes = scenario::routes(scenario);
    for (number, flow) in scenario.flows.iter().take(MOST_FLOWS).enumerate() {
        if !flow.protocol().entry().on_kernel {
            let legs = runtime::legs(flow);
            for node in [legs[0].from, legs[legs.len() - 1].to] {
                plan.admit_packets(node.0, scenario.packet_bytes(flow));
            }
            continue;
        }
        let alike = number
            .checked_sub(1)
            .filter(|n| are_alike(&scenario.flows[*n], flow))
            .and_then(|_| plan.flows.last());
        let alike = alike.map(|flow| &flow.carrier).cloned();
        let verdicts = &mut plan.settings;
        let carrier = carrier(scenario, &routes, kernel, (number, flow), alike, verdicts, of_flows);
        let Some(carrier) = carrier else { continue };
        let legs = runtime::legs(flow);
        let (first, last) = (legs[0], legs[legs.len() - 1]);
        let ends = [(first.from, last.to, first), (last.to, first.from, last)];
        let mut sides = [Side::Sender, Side::Receiver].into_iter();
        let [from, to] = ends.map(|(node, peer, leg)| {
            let side = sides.next().unwrap_or(Side::Receiver);
            let Some(sockets) = carrier.sockets(side) else {
                let most = scenario.packet_bytes(flow).max(scenario.ack_bytes(flow));
                return plan.admit_packets(node.0, most);
            };
            let host = plan.host(node.0);
            let rtt = round_trip(scenario, &routes, &leg);
            let key = Key { of: Of::Flow(number), path: "transport".to_owned() };
            let wish = Wish { who: format!("flow {:?}", flow.name), key, sockets };
            plan.hosts[host].want(&wish, peer.0, Some(sockets.metrics(rtt)), of_network);
            host
        });
        for (place, gateway) in flow.gateways.iter().enumerate() {
            let rtts =
                [legs[place], legs[place + 1]].map(|leg| round_trip(scenario, &routes, &leg));
            let (node, peers) = (legs[place].to.0, [first.from.0, last.to.0]);
            let split = gateway::Split { scenario, flow, gateway, node, peers, rtts, kernel };
            plan.split(&split, of_network);
        }
        let port = FIRST_PORT + number as u16;
        plan.flows.push(FlowPlan { from, to, opener: first.opener, port, carrier });
    }
    plan.lead(scenario, &routes);
    plan.add_tunnels(scenario);
    (plan, refusals)
}

/// Sockets or connections of a flow, with the verdicts on its settings. Flows that are alike share
/// them.
fn carrier(
    scenario: &Scenario,
    routes: &Routes,
    kernel: &Kernel,
    (number, flow): (usize, &Flow),
    alike: Option<Carrier>,
    entries: &mut Vec<SettingRecord>,
    refusals: &mut Vec<Refusal>,
) -> Option<Carrier> {
    let subject = Subject {
        name: &flow.name,
        place: format!("flow {:?}, ", flow.name),
        of: Of::Flow(number),
        path: "",
    };
    match (&flow.transport, alike) {
        (Transport::Tcp(_), Some(alike)) => Some(alike),
        (Transport::Tcp(_), None) => {
            let hops = hops(scenario, routes, [flow.from, flow.to]);
            refusals.extend(hosts::refusals(scenario, (number, flow)));
            let (sockets, mut verdicts) = hosts::judge(scenario, flow, kernel);
            verdicts.extend(low_priority(scenario, &hops));
            subject.record(verdicts, entries, refusals);
            Some(Carrier::Tcp(sockets))
        }
        (Transport::Quic(own), alike) => {
            // A scenario with a controller that QUIC cannot carry is not resolved.
            let config = Config::of(**own, &flow.controller, flow.traffic.streams()).ok()?;
            if alike.is_none() {
                let verdicts = settings::judge_quic(flow, own);
                subject.record(verdicts, entries, refusals);
            }
            Some(Carrier::Quic { config: Arc::new(config), flow: flow.initial_sequence })
        }
        (Transport::Udp(_), _) => Some(Carrier::Udp),
        // No kernel has the others.
        _ => None,
    }
}

/// Limits of the backend as a whole.
fn limits(scenario: &Scenario) -> impl Iterator<Item = Refusal> {
    let refusal = |place: &str, asked: String, possible: String| Refusal {
        place: place.to_owned(),
        asked,
        possible,
        key: None,
    };
    let flows = (scenario.flows.len() > MOST_FLOWS).then(|| {
        let possible = format!("at most {MOST_FLOWS} flows, because each uses a port");
        refusal("flow", scenario.flows.len().to_string(), possible)
    });
    let events = scenario.record.events.then(|| {
        let possible = "false: a kernel reports no events; use record.interval";
        refusal("record.events", "true".to_owned(), possible.to_owned())
    });
    let delivery = scenario.record.delivery.then(|| {
        let possible = "false: a kernel does not report when data was first sent";
        refusal("record.delivery", "true".to_owned(), possible.to_owned())
    });
    [flows, events, delivery].into_iter().flatten()
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
            key: None,
        })
    })
}

/// Explicit loss notification: no kernel would read the marks.
fn loss_notices(scenario: &Scenario) -> impl Iterator<Item = Refusal> {
    let nodes = scenario.nodes.iter().enumerate();
    let giving =
        nodes.filter(|(_, node)| node.middlebox.is_some_and(|one| one.gives_loss_notices()));
    giving.map(|(number, node)| Refusal {
        place: format!("node {:?}, middlebox.eln", node.name),
        asked: "true".to_owned(),
        possible: "false: the TCP of Linux knows no explicit loss notification; use the simulator"
            .to_owned(),
        key: Some(Key { of: Of::Node(number), path: "middlebox.eln".to_owned() }),
    })
}

/// Protocols that this backend does not have.
fn protocols(scenario: &Scenario) -> impl Iterator<Item = Refusal> {
    let flows = scenario.flows.iter().enumerate();
    let others = flows.filter(|(_, flow)| !flow.protocol().entry().on_kernel);
    others.map(|(number, flow)| Refusal {
        place: format!("flow {:?}, transport.protocol", flow.name),
        asked: flow.protocol().name().to_owned(),
        possible: format!("{}: this backend has no other protocol; use the simulator", ours()),
        key: Some(Key { of: Of::Flow(number), path: "transport.protocol".to_owned() }),
    })
}

/// The protocols of this backend.
fn ours() -> String {
    let all = Protocol::ALL.iter().map(|protocol| protocol.entry());
    let names: Vec<_> = all.filter(|one| one.on_kernel).map(|one| one.name).collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.concat(),
    }
}

impl Plan {
    /// Bytes of each packet that a capture gets: whole packets if some are encrypted, else all
    /// headers and options.
    pub(crate) fn snaplen(&self) -> u16 {
        let is_encrypted = |flow: &FlowPlan| matches!(flow.carrier, Carrier::Quic { .. });
        if self.flows.iter().any(is_encrypted) { LONGEST_PACKET } else { HEADERS }
    }

    /// The flow whose listener has one of the two ports of a packet.
    pub(crate) fn flow_of_ports(&self, ports: (u16, u16)) -> Option<&FlowPlan> {
        let number = flow_of_ports(ports, self.flows.len())?;
        Some(&self.flows[number])
    }

    /// The host at a node, with an MTU for packets of this size.
    fn admit_packets(&mut self, node: u16, bytes: u64) -> usize {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let least = settings::least_mtu(self.ip);
        let host = self.host(node);
        self.hosts[host].mtu = self.hosts[host].mtu.max(bytes).max(least);
        host
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

/// A host without flows.
impl Default for Host {
    fn default() -> Self {
        let mtu = settings::LEAST_MTU;
        Self {
            node: 0,
            mtu,
            sysctls: BTreeMap::new(),
            routes: BTreeMap::new(),
            tunnelled: BTreeSet::new(),
            gateway: None,
        }
    }
}

impl Host {
    /// Takes in what is asked of the whole host, and of its route to `peer`.
    fn want(
        &mut self,
        wish: &Wish<'_>,
        peer: u16,
        metrics: Option<Metrics>,
        refusals: &mut Vec<Refusal>,
    ) {
        self.mtu = self.mtu.max(wish.sockets.mtu);
        let mut refuse = |setting: &str, asked: String, other: &str| {
            refusals.push(Refusal {
                place: format!("{}, {setting}", wish.who),
                asked,
                possible: format!("the same as for {other}, because they share a host"),
                key: Some(wish.key.clone()),
            });
        };
        for (sysctl, value) in &wish.sockets.sysctls {
            let wanted = Wanted { value: value.clone(), who: wish.who.clone() };
            let first = self.sysctls.entry(sysctl).or_insert(wanted);
            if first.value != *value {
                refuse(sysctl, value.clone(), &first.who);
            }
        }
        let Some(metrics) = metrics else { return };
        let wanted = Wanted { value: metrics, who: wish.who.clone() };
        let first = self.routes.entry(peer).or_insert(wanted);
        if first.value != metrics {
            let setting = "transport.initial_window, delayed_ack or rto.min";
            refuse(setting, format!("{metrics:?}"), &first.who);
        }
    }
}

/// Subject of verdicts.
struct Subject<'a> {
    /// Its name in the recording.
    name: &'a str,
    /// Words before the setting in messages.
    place: String,
    of: Of,
    /// Path before the setting in the scenario.
    path: &'a str,
}

impl Subject<'_> {
    /// Separates verdicts that are recorded from those that prevent the run.
    fn record(
        &self,
        verdicts: Vec<settings::Entry>,
        settings: &mut Vec<SettingRecord>,
        refusals: &mut Vec<Refusal>,
    ) {
        for entry in verdicts {
            if entry.verdict == Verdict::Rejected {
                refusals.push(Refusal {
                    place: format!("{}{}", self.place, entry.setting),
                    asked: entry.asked,
                    possible: entry.kernel,
                    key: Some(Key { of: self.of, path: format!("{}{}", self.path, entry.setting) }),
                });
            } else {
                settings.push(SettingRecord {
                    flow: self.name.to_owned(),
                    setting: entry.setting.to_owned(),
                    asked: entry.asked,
                    verdict: entry.verdict.name().to_owned(),
                    kernel: entry.kernel,
                    largest_window_bytes: None,
                });
            }
        }
    }
}

fn are_alike(a: &Flow, b: &Flow) -> bool {
    let values = |flow: &Flow| -> Vec<Value> {
        flow.controller.values().iter().map(|(_, value)| value.clone()).collect()
    };
    a.transport.is_shared_with(&b.transport)
        && a.path_hints == b.path_hints
        && a.controller.entry().name == b.controller.entry().name
        && values(a) == values(b)
}

/// The hops from one node to another and back.
fn hops(scenario: &Scenario, routes: &Routes, ends: [usize; 2]) -> Vec<Hop> {
    let [from, to] = ends;
    let paths = [(from, to), (to, from)].into_iter();
    paths.flat_map(|(from, to)| routes.path(from, to, &scenario.links)).collect()
}

/// Least propagation delay of a leg to and fro: no smoothed RTT of its connections is below it.
fn round_trip(scenario: &Scenario, routes: &Routes, leg: &Leg<'_>) -> Span {
    let ends = [leg.from, leg.to].map(|node| usize::from(node.0));
    let hops = hops(scenario, routes, ends);
    let links = hops.iter().map(|hop| hop.direction(&scenario.links).least_delay());
    let [there, back] =
        [scenario.beam_delay((ends[0], ends[1])), scenario.beam_delay((ends[1], ends[0]))];
    links.fold(there + back, |sum, delay| sum + delay)
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
