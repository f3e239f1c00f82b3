//! From a scenario to a network and the blueprints of its connections.

use std::sync::Arc;

use congestion::Settings;
use link::{Channel, Limit, Link, LowPriority, Marking, Purpose, stream};
use network::{LaneKind, LaneSpec, NodeId, Topology};
use scenario::model::{self, Scenario};
use transport::{Config, DelayedAck, RtoConfig};
use units::Span;

use crate::hosts::Blueprint;

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
pub(crate) fn topology(scenario: &Scenario, seed: u64) -> Topology {
    let mut specs = Vec::new();
    for link in &scenario.links {
        for (to, direction) in [(link.ends[1], &link.forward), (link.ends[0], &link.backward)] {
            let channel = channel(&direction.channel, seed, specs.len());
            specs.push(LaneSpec {
                to: NodeId(to as u16),
                kind: LaneKind::Link,
                link: Link::new(settings(direction), channel),
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
pub(crate) fn channels(scenario: &Scenario, seed: u64) -> Vec<Channel> {
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
            .mark
            .map(|mark| Marking { threshold: mark.packets, weight: mark.weight }),
        framing: direction.framing.get() as u32,
    }
}

fn forwarding_settings(limit: model::Forwarding) -> link::Settings {
    link::Settings {
        rate: limit.rate,
        delay: Span::ZERO,
        limit: Limit::Bytes(limit.memory.get()),
        low_priority: LowPriority::Ignore,
        marking: None,
        framing: 0,
    }
}

/// How the connections of each flow are made. Flows that are alike share a blueprint, as the copies
/// of one entry do: ten thousand flows have one configuration, not ten thousand.
pub(crate) fn blueprints(flows: &[model::Flow]) -> Vec<Arc<Blueprint>> {
    let mut blueprints: Vec<Arc<Blueprint>> = Vec::with_capacity(flows.len());
    for (number, flow) in flows.iter().enumerate() {
        let alike = number.checked_sub(1).filter(|before| are_alike(&flows[*before], flow));
        let shared = alike.map(|before| blueprints[before].clone());
        blueprints.push(shared.unwrap_or_else(|| Arc::new(blueprint(flow))));
    }
    blueprints
}

fn are_alike(a: &model::Flow, b: &model::Flow) -> bool {
    (a.from, a.to) == (b.from, b.to) && a.transport == b.transport && a.controller == b.controller
}

fn blueprint(flow: &model::Flow) -> Blueprint {
    let transport = &flow.transport;
    let config = Config {
        recovery: transport.recovery,
        loss_threshold: transport.loss_threshold,
        mss: transport.mss,
        receive_buffer: transport.receive_buffer.get(),
        send_buffer: transport.send_buffer.map_or(u64::MAX, units::Bytes::get),
        reads_at_once: transport.reader_rate.is_none(),
        window_scaling: transport.window_scaling,
        timestamps: transport.timestamps,
        delayed_ack: DelayedAck {
            segments: transport.delayed_ack.segments,
            timeout: transport.delayed_ack.timeout,
        },
        duplicate_threshold: transport.duplicate_threshold,
        window_validation: transport.window_validation,
        rto: RtoConfig {
            initial: transport.rto.initial,
            min: transport.rto.min,
            max: transport.rto.max,
            granularity: transport.rto.granularity,
            gain: transport.rto.gain,
            deviation_gain: transport.rto.deviation_gain,
            deviation_coefficient: transport.rto.deviation_coefficient,
        },
        persist_timeout: transport.persist_timeout,
        retransmission_threshold: transport.retransmission_threshold,
        limited_transmit: transport.limited_transmit,
        nagle: transport.nagle,
        idle_restart: transport.idle_restart,
        ecn: transport.ecn,
        dsack: transport.dsack,
        careful_resume: transport.careful_resume,
    };
    let mss = config.payload_of_full_segment(transport.timestamps);
    Blueprint {
        settings: Settings {
            mss,
            initial_window: u64::from(transport.initial_window) * u64::from(mss),
            initial_ssthresh: transport.initial_ssthresh.map_or(u64::MAX, units::Bytes::get),
            byte_counting: transport.byte_counting,
        },
        config: Arc::new(config),
        controller: flow.controller.clone(),
        reader_rate: transport.reader_rate,
        from: NodeId(flow.from as u16),
        to: NodeId(flow.to as u16),
    }
}
