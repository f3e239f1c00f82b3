//! XTP before a run: senders that nothing holds back below the rate of the path, and timers that are too short for it.

use xtp::Config;

use super::figures::Figures;
use super::text::{bytes, rate};

/// More than the path carries: a rate above it, or a window without a rate that does not fit the queue.
pub(super) fn rate_above(config: &Config, figures: &Figures) -> Option<String> {
    let Some(wanted) = config.rate else { return window_above(figures) };
    let wanted = wanted.bits_per_second() as f64;
    (wanted > figures.bottleneck_bps).then(|| {
        format!(
            "xtp.rate of {} is above the rate of {}, {}: XTP has no congestion control, and its queue overflows",
            rate(wanted),
            figures.bottleneck,
            rate(figures.bottleneck_bps),
        )
    })
}

fn window_above(figures: &Figures) -> Option<String> {
    let queue = figures.bottleneck_queue_bytes?;
    let packets = figures.window_segments as f64 * f64::from(figures.connections);
    let window = packets * figures.packet_bytes as f64;
    (window > figures.bdp_bytes + queue).then(|| {
        format!(
            "without xtp.rate a window of {} leaves at once, and {} and its queue take {}: the queue overflows",
            bytes(window),
            figures.bottleneck,
            bytes(figures.bdp_bytes + queue),
        )
    })
}

/// An answer cannot come before the round-trip time is over.
pub(super) fn no_response(config: &Config, figures: &Figures) -> Option<String> {
    let rtt = figures.base_rtt_ms;
    if config.ctimeout.as_millis_f64() < rtt {
        let time = config.ctimeout;
        return Some(format!(
            "xtp.ctimeout of {time} is below the RTT of {rtt:.0}ms: the connection is aborted"
        ));
    }
    (config.wtimer.as_millis_f64() < rtt).then(|| {
        let time = config.wtimer;
        format!("xtp.wtimer of {time} is below the RTT of {rtt:.0}ms: FIRST is repeated before its answer")
    })
}
