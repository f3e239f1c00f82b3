//! XTP before a run: senders that nothing holds back below the rate of the path, and timers that
//! are too short for it.

use xtp::Config;

use super::figures::Figures;
use super::text::{bytes, rate};

/// Bytes of memory of a packet that was sent. The simulator keeps it until it arrives, or for a
/// minute.
const KEPT_BYTES: f64 = 90.0;
const KEPT_SECONDS: f64 = 60.0;
/// Memory of kept packets that is worth a warning.
const MUCH_MEMORY: f64 = 256e6;

/// More than the path carries: a rate above it, or a window without a rate that does not fit the
/// queue.
pub(crate) fn rate_above(config: &Config, figures: &Figures) -> Option<String> {
    let Some(wanted) = config.rate else { return window_above(figures) };
    let wanted = wanted.bits_per_second() as f64;
    (wanted > figures.bottleneck_bps).then(|| {
        let memory = memory(wanted / 8.0 / figures.packet_bytes as f64);
        format!(
            "xtp.rate of {} is above the rate of {}, {}: XTP has no congestion control, and its queue overflows{memory}",
            rate(wanted),
            figures.bottleneck,
            rate(figures.bottleneck_bps),
        )
    })
}

/// Memory of lost packets, if it is much.
fn memory(packets_per_second: f64) -> String {
    let kept = packets_per_second * KEPT_SECONDS * KEPT_BYTES;
    if kept < MUCH_MEMORY {
        return String::new();
    }
    format!(". Lost packets stay in memory for a minute, and take up to {}", bytes(kept))
}

/// The window leaves, and again when a report shows its losses: two round trips.
fn window_above(figures: &Figures) -> Option<String> {
    let queue = figures.bottleneck_queue_bytes?;
    let packets = figures.window_segments as f64 * f64::from(figures.connections);
    let window = packets * figures.packet_bytes as f64;
    (window > figures.bdp_bytes + queue).then(|| {
        let memory = memory(packets / (2.0 * figures.base_rtt_ms / 1e3));
        format!(
            "without xtp.rate a window of {} leaves at once, and {} and its queue take {}: the queue overflows{memory}",
            bytes(window),
            figures.bottleneck,
            bytes(figures.bdp_bytes + queue),
        )
    })
}

/// An answer cannot come before the round-trip time is over.
pub(crate) fn no_response(config: &Config, figures: &Figures) -> Option<String> {
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
