//! STP before a run: rates that nothing reduces, and timers that are too short for the path.

use stp::Config;

use super::figures::Figures;
use super::text::rate;

/// A rate without a congestion window, above what the path carries.
pub(crate) fn rate_above(config: &Config, figures: &Figures) -> Option<String> {
    let wanted = config.rate?.bits_per_second() as f64;
    (wanted > figures.bottleneck_bps).then(|| {
        format!(
            "stp.rate of {} is above the rate of {}, {}: no congestion window limits it, and its queue overflows",
            rate(wanted),
            figures.bottleneck,
            rate(figures.bottleneck_bps),
        )
    })
}

/// A connection that ends before an answer can have come.
pub(crate) fn no_response(config: &Config, figures: &Figures) -> Option<String> {
    let rtt = figures.base_rtt_ms;
    (config.no_response.as_millis_f64() < rtt).then(|| {
        format!(
            "stp.no_response of {} is below the RTT of {rtt:.0}ms: the connection is aborted",
            config.no_response
        )
    })
}
