//! From a scenario to its network.

use link::{Change, Channel, Jitter, Limit, Link, LowPriority, Marking, Purpose, stream};
use network::{LaneKind, LaneSpec, NodeId, Topology};
use scenario::model::{self, Scenario};
use units::{Span, Time};

/// For each node and destination, the lane to take.
fn routes(scenario: &Scenario) -> Vec<Vec<Option<u16>>> {
    let routes = scenario::routes(scenario);
    let nodes = 0..scenario.nodes.len();
    let lane = |hop: scenario::Hop| 2 * hop.link as u16 + u16::from(!hop.forward);
    let row = |from| nodes.clone().map(|to| routes.next(from, to).map(lane)).collect();
    nodes.clone().map(row).collect()
}

/// The network of a scenario: the lanes of link `n` are `2 n` forward and `2 n + 1` backward, then
/// one lane for each node with limited forwarding.
pub fn topology(scenario: &Scenario, seed: u64) -> Topology {
    let mut specs = Vec::new();
    for link in &scenario.links {
        for (to, direction) in [(link.ends[1], &link.forward), (link.ends[0], &link.backward)] {
            let channel = channel(&direction.channel, seed, specs.len());
            let changes = changes(direction, scenario.duration);
            let random = stream(seed, Purpose::Jitter, specs.len() as u64);
            let jitter = Jitter::new(direction.jitter, random);
            specs.push(LaneSpec {
                to: NodeId(to as u16),
                kind: LaneKind::Link,
                link: Link::new(settings(direction), channel)
                    .with_changes(changes)
                    .with_jitter(jitter),
            });
        }
    }
    let mut forwarding = vec![None; scenario.nodes.len()];
    for (number, node) in scenario.nodes.iter().enumerate() {
        if let Some(limit) = node.forwarding {
            forwarding[number] = Some(specs.len() as u16);
            let channel = channel(&model::Channel::Perfect, seed, specs.len());
            specs.push(LaneSpec {
                to: NodeId(number as u16),
                kind: LaneKind::Forwarding,
                link: Link::new(forwarding_settings(limit), channel),
            });
        }
    }
    Topology { lanes: specs, routes: routes(scenario), forwarding }
}

/// The channels of a topology's lanes, for the oracle, which keeps its own.
pub fn channels(scenario: &Scenario, seed: u64) -> Vec<Channel> {
    let directions = scenario.links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let mut channels: Vec<_> = directions
        .enumerate()
        .map(|(number, direction)| channel(&direction.channel, seed, number))
        .collect();
    for _ in scenario.nodes.iter().filter(|node| node.forwarding.is_some()) {
        channels.push(channel(&model::Channel::Perfect, seed, channels.len()));
    }
    channels
}

fn channel(channel: &model::Channel, seed: u64, lane: usize) -> Channel {
    Channel::new(channel.errors(), stream(seed, Purpose::Channel, lane as u64))
}

fn settings(direction: &model::Direction) -> link::Settings {
    link::Settings {
        rate: direction.rate,
        delay: direction.delay,
        limit: match direction.queue {
            model::QueueLimit::Packets(packets) => Limit::Packets(packets),
            model::QueueLimit::Bytes(bytes) => Limit::Bytes(bytes),
            model::QueueLimit::Unlimited => Limit::Unlimited,
        },
        low_priority: match direction.low_priority {
            model::LowPriority::Ignore => LowPriority::Ignore,
            model::LowPriority::PushOut => LowPriority::PushOut,
            model::LowPriority::Refuse => LowPriority::Refuse,
        },
        marking: direction
            .ecn_marking
            .map(|mark| Marking { threshold: mark.packets, weight: mark.weight }),
        framing: direction.overhead.get() as u32,
    }
}

fn changes(direction: &model::Direction, duration: Span) -> Vec<Change> {
    let change = |(at, change): (Time, &model::Change)| Change {
        at,
        rate: change.rate,
        delay: change.delay,
        outage: change.outage,
    };
    direction.timeline(duration).into_iter().map(change).collect()
}

fn forwarding_settings(limit: model::Forwarding) -> link::Settings {
    link::Settings {
        rate: limit.rate,
        delay: Span::ZERO,
        limit: Limit::Bytes(limit.buffer.get()),
        low_priority: LowPriority::Ignore,
        marking: None,
        framing: 0,
    }
}
