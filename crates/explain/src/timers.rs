//! Warnings about timers and growth that do not fit the round trip.

use congestion::{ORIGINAL, Value};
use tcp::Config;

use super::Figures;
use scenario::model::{Flow, Timer};

pub(crate) fn rto_below_delayed_ack(flow: &Flow) -> Option<String> {
    let config = flow.transport.tcp()?;
    let (min, timeout) = (config.rto.min, config.delayed_ack.longest());
    (min < timeout)
        .then(|| format!("rto.min of {min} is below the ACK delay of {timeout}: spurious timeouts"))
}

pub(crate) fn rto_below_rtt(flow: &Flow, figures: &Figures) -> Option<String> {
    let config = flow.transport.tcp()?;
    let rto = &config.rto;
    let rtt = figures.bounds.least_rtt_ms;
    if rto.max.as_millis_f64() < rtt {
        Some(format!(
            "rto.max of {} is below the RTT of {rtt:.0}ms: every segment times out",
            rto.max
        ))
    } else if rto.initial.as_millis_f64() < rtt {
        Some(format!(
            "rto.initial of {} is below the RTT of {rtt:.0}ms: the SYN is sent {}",
            rto.initial,
            match syns(config, rtt) {
                2 => "twice".to_owned(),
                times => format!("{times} times"),
            }
        ))
    } else {
        None
    }
}

/// The number of SYNs of a connection whose answer comes after `rtt_ms`: the timeout doubles each
/// time, up to `rto.max`.
fn syns(config: &Config, rtt_ms: f64) -> u32 {
    let rto = &config.rto;
    let (mut sent, mut next_ms, mut timeout) = (1, 0.0, rto.initial);
    while sent <= config.max_retries {
        next_ms += timeout.as_millis_f64();
        if next_ms >= rtt_ms {
            break;
        }
        sent += 1;
        timeout = timeout.doubled(1).min(rto.max);
    }
    sent
}

/// The first timer of the protocol that is over before an answer can have come. `rtt_ms` is that of
/// the longest path.
pub(crate) fn response_below_rtt(flow: &Flow, rtt_ms: f64) -> Option<String> {
    let timers = flow.transport.plan().timers();
    let Timer { key, time, effect } =
        timers.into_iter().find(|timer| timer.time.as_millis_f64() < rtt_ms)?;
    Some(format!("{key} of {time} is below the RTT of {rtt_ms:.0}ms: {effect}"))
}

/// Seconds of growth that are worth a warning.
const SLOW_S: f64 = 10.0;

/// Vegas as ns-2 has it takes the mean RTT of a round for the queue, so the bursts of slow start
/// end it early. Then the window grows by a segment in a round trip. Linux takes the smallest RTT
/// of the round.
pub(crate) fn early_vegas(flow: &Flow, figures: &Figures) -> Option<String> {
    let is_of_ns2 =
        flow.controller.entry().name == "vegas" && flow.controller.variant() == ORIGINAL;
    let segments = figures.bdp_segments / figures.bottleneck_flows.max(1) as f64;
    let seconds = segments * figures.base_rtt_ms / 1e3;
    let is_steady = figures.rate_range_bps.is_none() && figures.rtt_range_ms.is_none();
    (is_of_ns2 && seconds >= SLOW_S && is_steady).then(|| {
        format!(
            "vegas leaves slow start at the queue of its own bursts, and then grows by one segment per RTT: it \
             needs more than {seconds:.0}s to fill {segments:.0} segments. variant = \"linux\" and new-vegas \
             do not leave so early"
        )
    })
}

/// BBR measures the minimum RTT again when it is `probe_rtt_interval` old, with a small window for
/// a round trip. A round trip as long as that leaves no other time. Linux has no bound either.
pub(crate) fn endless_probe_rtt(flow: &Flow, figures: &Figures) -> Option<String> {
    let (_, value) =
        flow.controller.values().iter().find(|(p, _)| p.name == "probe_rtt_interval")?;
    let Value::Number(seconds) = value else { return None };
    let rtt_ms = figures.bounds.least_rtt_ms;
    (seconds * 1e3 <= rtt_ms).then(|| {
        format!(
            "probe_rtt_interval of {seconds}s is not above the RTT of {rtt_ms:.0}ms: {} measures the minimum RTT \
             without end, and its window stays small",
            flow.controller.entry().name
        )
    })
}
