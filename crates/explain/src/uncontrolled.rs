//! Senders without congestion control before a run: a rate or a window above what the path carries.

use scenario::model::{Flow, Uncontrolled};
use units::Rate;

use super::figures::Figures;
use super::text::{bytes, rate};

/// Bytes of memory of a packet that was sent. The simulator keeps it until it arrives, or for a
/// minute.
const KEPT_BYTES: f64 = 90.0;
const KEPT_SECONDS: f64 = 60.0;
/// Memory of kept packets that is worth a warning.
const MUCH_MEMORY: f64 = 256e6;

/// More than the path carries: a rate above it, or a window that does not fit the queue.
pub(crate) fn above_bottleneck(flow: &Flow, figures: &Figures) -> Option<String> {
    let protocol = flow.transport.protocol().entry().name;
    match flow.transport.plan().uncontrolled()? {
        Uncontrolled::Rate(rate) => rate_above(protocol, rate, figures),
        Uncontrolled::Window => window_above(protocol, figures),
    }
}

fn rate_above(protocol: &str, wanted: Rate, figures: &Figures) -> Option<String> {
    let wanted = wanted.bits_per_second() as f64;
    // Events may raise the rate of the bottleneck.
    (wanted > figures.bottleneck_bps.max(figures.bounds.most_bps)).then(|| {
        let memory = memory(wanted / 8.0 / figures.packet_bytes as f64);
        format!(
            "{protocol}.rate of {} is above the rate of {}, {}: no congestion control limits it, and its queue overflows{memory}",
            rate(wanted),
            figures.bottleneck,
            rate(figures.bottleneck_bps),
        )
    })
}

/// The window leaves, and again when a report shows its losses: two round trips.
fn window_above(protocol: &str, figures: &Figures) -> Option<String> {
    let queue = figures.bottleneck_queue_bytes?;
    let packets = figures.window_segments as f64 * f64::from(figures.connections);
    let window = packets * figures.packet_bytes as f64;
    (window > figures.bdp_bytes + queue).then(|| {
        let memory = memory(packets / (2.0 * figures.base_rtt_ms / 1e3));
        format!(
            "{protocol} without a rate sends a window of {} at once, and {} and its queue take {}: the queue overflows{memory}",
            bytes(window),
            figures.bottleneck,
            bytes(figures.bdp_bytes + queue),
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
