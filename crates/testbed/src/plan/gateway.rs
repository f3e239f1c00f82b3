//! Split proxies: what becomes of the settings of a gateway's sides, which the daemon gets as its
//! file.
//!
//! The daemon has one file for all connections. So all flows that a gateway splits must agree on
//! the settings of a side, and what the daemon has no key for is approximated or rejected.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use scenario::model::{
    Accept, AtLimit, BucketSettings, Flow, FlowSettings, Gateway as Crossing, GatewayEnd,
    Neighbour, Policy, Preset, SideName,
};
use scenario::{Routes, Scenario};
use tcp::{AckTiming, Config};
use transport::Protocol;
use units::{Bytes, Rate, Span};

use super::{Host, Plan, Subject, Wish};
use crate::error::{Key, Of, Refusal};
use crate::settings::{self, Applied, Entry, Kernel, Verdict};

/// The lower bound of the daemon's `user_timeout` and `keepalive`.
const LEAST_TIME: Span = Span::from_secs(1);
/// Bounds of the daemon's `burst`.
const LEAST_BURST: Bytes = Bytes(1500);
const LARGEST_BURST: Bytes = Bytes(1 << 30);
/// The least number of connections that the daemon is to split at the same time.
const LEAST_CONNECTIONS: usize = 1000;

/// The split proxy of a host.
#[derive(Debug)]
pub(crate) struct Gateway {
    /// Name of the node.
    pub(crate) name: String,
    /// Its sides, in the order of [`SideName::ALL`], once a flow has asked for one.
    sides: [Option<(SideSettings, String)>; 2],
    relay_buffer: Bytes,
    /// Connections of all flows.
    connections: usize,
    /// Which connections it admits, and when it accepts.
    policy: Policy,
    /// The side on which each of the other hosts is reached.
    pub(crate) peers: BTreeMap<u16, SideName>,
}

/// Settings of a side in the daemon's file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SideSettings {
    controller: String,
    initial_window: u32,
    send_buffer: Option<u32>,
    receive_buffer: u32,
    mss: u32,
    pacing_rate: Option<Rate>,
    keepalive: Option<Span>,
    user_timeout: Option<Span>,
    shared: Option<BucketSettings>,
}

/// A flow at a gateway that splits it.
pub(super) struct Split<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) flow: &'a Flow,
    pub(super) gateway: &'a Crossing,
    /// Numbers of its node, and of those that send and receive the data.
    pub(super) node: u16,
    pub(super) peers: [u16; 2],
    /// Round trips of the legs before and after the gateway.
    pub(super) rtts: [Span; 2],
    pub(super) kernel: &'a Kernel,
}

/// Name of the interface of a side.
pub(crate) fn interface(side: SideName) -> &'static str {
    side.key()
}

impl Plan {
    /// Takes in what a flow asks of a gateway that splits it.
    pub(super) fn split(&mut self, split: &Split<'_>, refusals: &mut Vec<Refusal>) {
        let Split { scenario, flow, gateway, .. } = split;
        let host = self.host(split.node);
        if let Some(refusal) = protocol(split) {
            if !refusals.contains(&refusal) {
                refusals.push(refusal);
            }
            return;
        }
        let name = &scenario.nodes[gateway.node].name;
        let connections = flow.traffic.connections() as usize;
        let planned = self.hosts[host].gateway.get_or_insert_with(|| Gateway {
            name: name.clone(),
            sides: [None, None],
            relay_buffer: gateway.relay_buffer,
            connections: 0,
            policy: scenario.nodes[gateway.node]
                .proxy
                .as_ref()
                .map_or_else(Policy::default, |proxy| proxy.policy),
            peers: BTreeMap::new(),
        });
        planned.connections += connections;
        // The end towards the sender of the data has the sender as its peer.
        for ((end, peer), rtt) in gateway.ends.iter().zip(split.peers).zip(split.rtts) {
            let Some(config) = end.transport.tcp() else { continue };
            let settings = FlowSettings {
                controller: end.controller.clone(),
                transport: end.transport.clone(),
                reader_rate: None,
                stop: None,
                ..FlowSettings::clone(&flow.settings)
            };
            let as_flow = Flow { settings: settings.into(), ..(*flow).clone() };
            let (sockets, verdicts) = settings::judge(scenario, &as_flow, config, split.kernel);
            let wanted = SideSettings::of(&sockets, end, shared_rate(split, end));
            let side = end.side.key();
            let who = format!("flow {:?} at {name:?} ({side})", flow.name);
            let path = format!("proxy.{side}");
            let settled = (wanted, verdicts, who.clone());
            self.settle(host, split, (end, config), settled, refusals);
            // The daemon's rules set the initial window of routes.
            let metrics = crate::route::Metrics { initial_window: None, ..sockets.metrics(rtt) };
            let key = Key { of: Of::Node(gateway.node), path };
            let wish = Wish { who, key, sockets: &sockets };
            self.hosts[host].want(&wish, peer, Some(metrics), refusals);
        }
    }

    /// Settles what the daemon has on a side of a gateway: the settings of the first flow, which
    /// the others have to share.
    fn settle(
        &mut self,
        host: usize,
        split: &Split<'_>,
        (end, config): (&GatewayEnd, &Config),
        (wanted, verdicts, who): (SideSettings, Vec<Entry>, String),
        refusals: &mut Vec<Refusal>,
    ) {
        let (node, side) = (split.gateway.node, end.side.key());
        let name = &split.scenario.nodes[node].name;
        let Some(planned) = &mut self.hosts[host].gateway else { return };
        let settled = &mut planned.sides[end.side.index()];
        if let Some((first, other)) = settled {
            if *first != wanted {
                let (key, asked) = first.difference(&wanted);
                refusals.push(Refusal {
                    place: format!("{who}, {key}"),
                    asked,
                    possible: format!(
                        "the same as for {other}: the daemon has one `{key}` for a side, and \
                         `proxy.{side}.{key}` sets it for all flows"
                    ),
                    key: Some(Key { of: Of::Node(node), path: format!("proxy.{side}") }),
                });
            }
            return;
        }
        *settled = Some((wanted, who));
        let subject = Subject {
            name: &format!("{name}, {side}"),
            place: format!("node {name:?}, proxy.{side}."),
            of: Of::Node(node),
            path: &format!("proxy.{side}."),
        };
        // A side has the keys of `transport` itself.
        let of_side = |entry: Entry| Entry {
            setting: entry.setting.strip_prefix("transport.").unwrap_or(entry.setting),
            ..judged(entry, config)
        };
        let verdicts = verdicts.into_iter().map(of_side).chain(pacing(end));
        let verdicts = verdicts.chain(shared_rate(split, end).map(shared_entry)).collect();
        subject.record(verdicts, &mut self.settings, refusals);
    }

    /// Finds the side of each gateway on which each of the other hosts is.
    pub(super) fn lead(&mut self, scenario: &Scenario, routes: &Routes) {
        let nodes: Vec<u16> = self.hosts.iter().map(|host| host.node).collect();
        for Host { node, gateway, .. } in &mut self.hosts {
            let here = usize::from(*node);
            let (Some(gateway), Some(proxy)) = (gateway, &scenario.nodes[here].proxy) else {
                continue;
            };
            let sides = nodes.iter().filter_map(|to| {
                let hop = routes.next(here, usize::from(*to))?;
                Some((*to, proxy.side_of(Neighbour::Node(hop.to(&scenario.links)))?))
            });
            gateway.peers = sides.collect();
        }
    }
}

/// Verdict on the pacing rate of a side.
fn pacing(end: &GatewayEnd) -> Option<Entry> {
    let rate = end.pacing?.rate;
    Some(Entry {
        setting: "pacing_rate",
        asked: rate.to_string(),
        verdict: Verdict::Approximated,
        kernel: "SO_MAX_PACING_RATE: the kernel paces data without its headers, at most at this rate, and not the \
                 first ten segments"
            .to_owned(),
    })
}

/// The refusal of a side with another protocol than TCP.
fn protocol(Split { scenario, gateway, .. }: &Split<'_>) -> Option<Refusal> {
    let end = gateway.ends.iter().find(|end| end.protocol() != Protocol::Tcp)?;
    let node = &scenario.nodes[gateway.node];
    let path = match node.proxy.as_ref().and_then(|proxy| proxy.preset) {
        Some(Preset::ScpsGateway | Preset::Satpep) => "proxy.preset".to_owned(),
        _ => format!("proxy.{}.protocol", end.side.key()),
    };
    Some(Refusal {
        place: format!("node {:?}, {path}", node.name),
        asked: end.protocol().name().to_owned(),
        possible: match end.protocol().entry().on_kernel {
            true => "\"tcp\": the daemon opens no connections over QUIC; use the simulator",
            false => "\"tcp\": no kernel has this protocol; use the simulator",
        }
        .to_owned(),
        key: Some(Key { of: Of::Node(gateway.node), path }),
    })
}

/// The rate that all connections on the side of `end` share.
fn shared_rate(split: &Split<'_>, end: &GatewayEnd) -> Option<BucketSettings> {
    let proxy = split.scenario.nodes[split.gateway.node].proxy.as_ref()?;
    proxy.shared_rates[end.side.index()]
}

/// Verdict on the shared rate.
fn shared_entry(shared: BucketSettings) -> Entry {
    let (verdict, kernel) = match shared.burst {
        burst if burst < LEAST_BURST => {
            (Verdict::Rejected, format!("a `burst` of at least {LEAST_BURST}, as in the daemon's file"))
        }
        burst if burst > LARGEST_BURST => {
            (Verdict::Rejected, format!("a `burst` of at most {LARGEST_BURST}, as in the daemon's file"))
        }
        _ => (
            Verdict::Approximated,
            "`rate` of the daemon: it holds data back before its packets are made, so pure ACKs and retransmissions \
             do not count, and turns are those of a millisecond"
                .to_owned(),
        ),
    };
    Entry { setting: "rate", asked: shared.rate.to_string(), verdict, kernel }
}

/// The verdict on a setting of a gateway's end, where the daemon does something else than a host.
fn judged(entry: Entry, config: &Config) -> Entry {
    let instead = |kernel: &str| Entry {
        verdict: Verdict::Approximated,
        kernel: kernel.to_owned(),
        ..entry.clone()
    };
    let has_least = |time: Option<Span>| time.is_none_or(|time| time >= LEAST_TIME);
    match entry.setting {
        _ if entry.verdict == Verdict::Rejected => entry,
        "transport.receive_buffer" => instead(
            "SO_RCVBUF: twice as much, which counts the memory of packets and not their data",
        ),
        "transport.delayed_ack" if matches!(config.delayed_ack, AckTiming::Fixed(delayed) if delayed.segments > 1) => {
            instead("what the kernel does: the daemon has no key for it")
        }
        "transport.nagle" if config.nagle => {
            instead("TCP_NODELAY: a relay adds no delay of its own")
        }
        "transport.keep_alive.interval" | "transport.keep_alive.probes" => {
            instead("`keepalive` of the daemon: nine probes, a tenth of the idle time apart")
        }
        "transport.user_timeout" if !has_least(config.user_timeout) => Entry {
            verdict: Verdict::Rejected,
            kernel: format!("at least {LEAST_TIME}, as in the daemon's file"),
            ..entry
        },
        "transport.keep_alive.idle" if !has_least(config.keep_alive.map(|alive| alive.idle)) => {
            Entry {
                verdict: Verdict::Rejected,
                kernel: format!("at least {LEAST_TIME}, as in the daemon's file"),
                ..entry
            }
        }
        _ => entry,
    }
}

impl SideSettings {
    fn of(sockets: &Applied, end: &GatewayEnd, shared: Option<BucketSettings>) -> Self {
        // A rate makes the kernel pace a socket at the rate that it computes from cwnd, or at this
        // one.
        let paced = sockets.paced.then_some(Rate::LARGEST);
        Self {
            controller: sockets.controller.clone(),
            initial_window: sockets.initial_window,
            send_buffer: sockets.send_buffer,
            receive_buffer: sockets.window,
            mss: sockets.mss,
            pacing_rate: end.pacing.map(|pacing| pacing.rate).or(paced),
            keepalive: sockets.keep_alive.map(|alive| alive.idle),
            user_timeout: sockets.user_timeout,
            shared,
        }
    }

    /// The keys of the daemon's file with their values; an absent key has none.
    fn keys(&self) -> [(&'static str, Option<String>); 10] {
        let text = |text: &str| format!("{text:?}");
        let bytes = |bytes: u32| text(&format!("{bytes}B"));
        let time = |time: Span| text(&time.to_string());
        [
            ("controller", Some(text(&self.controller))),
            ("initial_window", Some(self.initial_window.to_string())),
            ("send_buffer", self.send_buffer.map(bytes)),
            ("receive_buffer", Some(bytes(self.receive_buffer))),
            ("mss", Some(self.mss.to_string())),
            ("pacing_rate", self.pacing_rate.map(|rate| text(&rate.to_string()))),
            ("keepalive", self.keepalive.map(time)),
            ("user_timeout", self.user_timeout.map(time)),
            ("rate", self.shared.map(|shared| text(&shared.rate.to_string()))),
            ("burst", self.shared.map(|shared| text(&format!("{}B", shared.burst.get())))),
        ]
    }

    /// The first key in which `other` differs, and its value there.
    fn difference(&self, other: &Self) -> (&'static str, String) {
        let mut pairs = self.keys().into_iter().zip(other.keys());
        let differs = pairs.find(|((_, a), (_, b))| a != b);
        differs.map_or(("", String::new()), |((key, _), (_, value))| {
            (key, value.unwrap_or_else(|| "none".to_owned()))
        })
    }
}

impl Gateway {
    /// The daemon's file.
    pub(crate) fn file(&self) -> String {
        let Policy { accept, known_for, connect_timeout, connections, at_limit } = self.policy;
        let (connections, at_limit) = match connections {
            Some(most) => (most as usize, at_limit.name()),
            None => ((2 * self.connections).max(LEAST_CONNECTIONS), AtLimit::Refuse.name()),
        };
        let known_for = match accept {
            Accept::EarlyIfKnown => format!("known_for = \"{known_for}\"\n"),
            Accept::Early | Accept::Late => String::new(),
        };
        let connect_timeout = match connect_timeout {
            usual if usual == Policy::default().connect_timeout => String::new(),
            other => format!("connect_timeout = \"{other}\"\n"),
        };
        let mut text = format!(
            "threads = 1\naccept = {:?}\n{known_for}{connect_timeout}[limits]\nconnections = {connections}\nat_limit = {at_limit:?}\n\
             relay_buffer = \"{}B\"\n",
            accept.name(),
            self.relay_buffer.get()
        );
        for (side, settings) in SideName::ALL.into_iter().zip(&self.sides) {
            let name = interface(side);
            let _ = writeln!(text, "[{}]\ninterfaces = [{name:?}]", side.key());
            let keys = settings.iter().flat_map(|(settings, _)| settings.keys());
            for (key, value) in keys.filter_map(|(key, value)| Some((key, value?))) {
                let _ = writeln!(text, "{key} = {value}");
            }
        }
        text
    }
}
