//! The growth of a window in slow start, before a run.

use congestion::{Ack, Controller as _, Settings};
use scenario::model::Flow;
use units::{Span, Time};

/// Round-trip time of the probe. No rule of slow start depends on it.
const RTT: Span = Span::from_millis(100);
/// Segments that each ACK of the probe acknowledges: more than any limit lets through whole.
const SEGMENTS: u64 = 300;
/// Rounds of the probe. Some controllers wait for a first sample.
const ROUNDS: u64 = 3;

/// A limit of byte counting (RFC 3465) that the scenario sets and the controller does not use: it
/// counts all bytes, or does not grow by ACKs.
pub(crate) fn limit_without_effect(flow: &Flow) -> Option<String> {
    let settings = flow.transport.plan().controller();
    if settings.byte_counting == 1 || is_of_host(flow) {
        return None;
    }
    let window = |byte_counting| window_after(flow, &Settings { byte_counting, ..settings });
    (window(1) == window(settings.byte_counting)).then(|| {
        let name = flow.controller.entry().name;
        format!("slow start of {name} does not use abc_limit: it has no limit, or one of its own")
    })
}

/// Returns true if the limit is that of the host that sends the data.
fn is_of_host(flow: &Flow) -> bool {
    const KEY: &str = "transport.abc_limit";
    let sender = flow.hosts.as_ref().map(|hosts| &hosts.ends[0]);
    sender.is_some_and(|end| {
        let declared = end.profile.is_some_and(|one| one.values().any(|value| value.key == KEY));
        declared && !end.overridden.contains(&KEY)
    })
}

/// The window in bytes after some large ACKs in slow start.
fn window_after(flow: &Flow, settings: &Settings) -> u64 {
    let mut controller = flow.controller.build(settings);
    controller.on_start(Time::ZERO);
    for round in 1..=ROUNDS {
        let acked = SEGMENTS * u64::from(settings.mss);
        controller.on_ack(&Ack {
            now: Time::ZERO + RTT * round,
            acked,
            flight: acked,
            advertised: u64::MAX,
            srtt: Some(RTT),
            min_rtt: Some(RTT),
            cwnd_limited: true,
        });
    }
    controller.window().cwnd
}
