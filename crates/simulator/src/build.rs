//! From a scenario to the blueprints of its connections.

use std::sync::Arc;

use congestion::Settings;
use network::NodeId;
use scenario::{Scenario, model};
use tcp::{Config, DelayedAck};
use transport::{Estimator, RtoConfig};
use wire::IpVersion;

use crate::hosts::Blueprint;

/// How the connections of each flow are made. Flows that are alike share a blueprint, as the copies
/// of one entry do: ten thousand flows have one configuration, not ten thousand.
pub(crate) fn blueprints(scenario: &Scenario) -> Vec<Arc<Blueprint>> {
    let flows = &scenario.flows;
    let mut blueprints: Vec<Arc<Blueprint>> = Vec::with_capacity(flows.len());
    for (number, flow) in flows.iter().enumerate() {
        let alike = number.checked_sub(1).filter(|before| are_alike(&flows[*before], flow));
        let shared = alike.map(|before| blueprints[before].clone());
        blueprints.push(shared.unwrap_or_else(|| Arc::new(blueprint(flow, scenario.ip))));
    }
    blueprints
}

fn are_alike(a: &model::Flow, b: &model::Flow) -> bool {
    (a.from, a.to) == (b.from, b.to) && a.transport == b.transport && a.controller == b.controller
}

fn blueprint(flow: &model::Flow, ip: IpVersion) -> Blueprint {
    let transport = &flow.transport;
    let config = Config {
        recovery: transport.recovery,
        loss_threshold: transport.ssthresh_basis,
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
        duplicate_threshold: transport.dupthresh,
        window_validation: transport.window_validation,
        rto: RtoConfig {
            estimator: match transport.rto.estimator {
                model::Estimator::Rfc6298 => Estimator::Rfc6298,
                model::Estimator::Linux => Estimator::Linux,
            },
            initial: transport.rto.initial,
            min: transport.rto.min,
            max: transport.rto.max,
            granularity: transport.rto.granularity,
            gain: transport.rto.alpha,
            deviation_gain: transport.rto.beta,
            deviation_coefficient: transport.rto.k,
        },
        persist_timeout: transport.persist_timeout,
        retransmission_threshold: transport.max_retries,
        pacing: transport.pacing,
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
            byte_counting: transport.abc_limit,
        },
        config: Arc::new(config),
        controller: flow.controller.clone(),
        reader_rate: transport.reader_rate,
        ip,
        from: NodeId(flow.from as u16),
        to: NodeId(flow.to as u16),
    }
}
