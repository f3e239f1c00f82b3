//! The settings of a flow with QUIC. It is the simulator's own QUIC, so all of them apply.

use quic::Settings;
use scenario::model::Flow;
use units::Span;

use super::{Entry, Judge};

const QUINN: &str = "quinn, as in the simulator";

/// Verdicts on the settings of `flow`, which has `own`.
pub(crate) fn judge(flow: &Flow, own: &Settings) -> Vec<Entry> {
    // Without `..`, so that a new setting has to be considered here.
    let Settings {
        congestion,
        receive_window,
        stream_receive_window,
        send_window,
        initial_window,
        initial_rtt,
        ack_threshold,
        ack_delay,
        idle_timeout,
        mtu_discovery,
        zero_rtt,
        careful_resume,
    } = own;
    let mut judge = Judge(Vec::new());
    judge.path_hints(flow);
    let controller = flow.controller.entry().name;
    judge.applied("controller", controller, "as in the simulator, over quinn");
    judge.applied("transport.quic.congestion", congestion.name(), QUINN);
    judge.applied("transport.quic.receive_window", receive_window, QUINN);
    judge.applied("transport.quic.stream_receive_window", stream_receive_window, QUINN);
    judge.applied("transport.quic.send_window", send_window, QUINN);
    let or_default = |value: Option<String>| value.unwrap_or_else(|| "default".to_owned());
    let window = or_default(initial_window.map(|bytes| bytes.to_string()));
    judge.applied("transport.quic.initial_window", window, QUINN);
    judge.applied("transport.quic.initial_rtt", initial_rtt, QUINN);
    let threshold = or_default(ack_threshold.map(|threshold| threshold.to_string()));
    judge.applied("transport.quic.ack_threshold", threshold, QUINN);
    let delay = or_default(ack_delay.as_ref().map(Span::to_string));
    judge.applied("transport.quic.ack_delay", delay, QUINN);
    judge.applied("transport.quic.idle_timeout", idle_timeout, QUINN);
    judge.applied("transport.quic.mtu_discovery", mtu_discovery, QUINN);
    judge.applied("transport.quic.zero_rtt", zero_rtt, QUINN);
    if let Some(saved) = careful_resume {
        let asked = format!("a saved window of {}", saved.saved_cwnd);
        judge.applied("transport.careful_resume", asked, QUINN);
    }
    judge.0
}
