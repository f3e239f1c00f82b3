//! SCTP before a run: timers that are too short for a path.

use sctp::Config;

/// An answer cannot come before the round-trip time is over. `rtt` is that of the longest path in
/// milliseconds.
pub(crate) fn no_response(config: &Config, rtt: f64) -> Option<String> {
    let is_short = |time: units::Span| time.as_millis_f64() < rtt;
    let Config { rto_max, rto_initial, cookie_life, .. } = config;
    if is_short(*cookie_life) {
        Some(format!(
            "sctp.cookie_life of {cookie_life} is below the RTT of {rtt:.0}ms: no association opens"
        ))
    } else if is_short(*rto_max) {
        Some(format!(
            "sctp.rto_max of {rto_max} is below the RTT of {rtt:.0}ms: all data times out"
        ))
    } else {
        is_short(*rto_initial).then(|| {
            format!(
                "sctp.rto_initial of {rto_initial} is below the RTT of {rtt:.0}ms: INIT is \
                 retransmitted before its answer"
            )
        })
    }
}
