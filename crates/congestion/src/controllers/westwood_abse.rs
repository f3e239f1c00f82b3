//! Westwood ABSE: Westwood with a bandwidth estimate that adapts to the queue and to how much the
//! samples vary.
//!
//! Source: R. Wang, M. Valla, M. Y. Sanadidi, M. Gerla, "Adaptive bandwidth share estimation in TCP
//! Westwood", IEEE Globecom 2002. What a loss and a timeout do is Westwood's (`westwood.rs`), and
//! so is the accounting of the ACKs; the estimate is `bandwidth/abse.rs`.
//!
//! Reconstructed: the text of the paper was not available. The estimate is that of a later paper
//! that restates it; the ranges of its two adaptations are from memory, and all its constants are
//! parameters.

use crate::controllers::westwood::{EstimatingWindow, SILENCE};
use crate::entry::{Entry, Listed, Repair, Status};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::bandwidth::{Abse, Adaptation};
use crate::window::Settings;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "range",
        default: "10",
        allowed: Allowed::Range(0.0, 1e3),
        meaning: "N: the time constant is RTT (1 + N U / U_max)",
    },
    Parameter {
        name: "history",
        default: "10",
        allowed: Allowed::Whole(1, 10_000),
        meaning: "Number of values of U among which U_max is the largest",
    },
    Parameter {
        name: "throughput_gain",
        default: "0.4",
        allowed: Allowed::Range(0.001, 1.0),
        meaning: "Weight of the last value in the average of the throughput",
    },
    Parameter {
        name: "spread_gain",
        default: "0.4",
        allowed: Allowed::Range(0.001, 1.0),
        meaning: "Weight of the last change of the samples in U",
    },
    SILENCE,
];

/// TCP Westwood with adaptive bandwidth share estimation.
pub type WestwoodAbse = EstimatingWindow<Abse>;

impl Listed for WestwoodAbse {
    const LISTED: &'static [Entry] = &[Entry {
        name: "westwood-abse",
        summary: "Westwood whose bandwidth estimate adapts to queues and to noise",
        source: "Wang et al., ABSE, 2002",
        status: Status::Reconstructed,
        repair: Repair::PartialAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        let adaptation = Adaptation {
            range: values.number("range"),
            history: values.whole("history") as usize,
            throughput_gain: values.number("throughput_gain"),
            spread_gain: values.number("spread_gain"),
            m: values.number("silence"),
        };
        Self::new(settings, Abse::new(adaptation))
    }
}

#[cfg(test)]
mod tests {
    use units::{Span, Time};

    use super::*;
    use crate::controller::Controller;
    use crate::events::{Feedback, Loss};
    use crate::parts::bandwidth::samples::acknowledged;

    const MSS: u64 = 1500;
    const RTT: Span = Span::from_millis(508);

    fn abse(cwnd: u64) -> WestwoodAbse {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: cwnd,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        WestwoodAbse::build(&settings, &Values::defaults(PARAMETERS))
    }

    /// ACKs of a segment, evenly spaced, `window` of them in each RTT; the time of the last.
    fn steady(abse: &mut WestwoodAbse, window: u64, rounds: u64) -> Time {
        let gap = RTT.as_nanos() / window;
        for i in 0..=window * rounds {
            abse.on_feedback(&Feedback {
                now: Time::from_nanos(gap * i),
                srtt: Some(RTT),
                min_rtt: Some(RTT),
                ..acknowledged(0, MSS)
            });
        }
        Time::from_nanos(gap * window * rounds)
    }

    #[test]
    fn a_loss_leaves_the_window_that_the_receiver_buffer_allows() {
        // 64, 128 and 256 kB, the last of them as much as 4 Mb/s and 508 ms carry.
        for window in [43, 87, 169] {
            let mut abse = abse(2 * window * MSS);
            let now = steady(&mut abse, window, 30);
            abse.on_loss(&Loss { now, flight: window * MSS, repeated: false });
            let left = abse.window().cwnd as f64 / MSS as f64;
            assert!((left / window as f64 - 1.0).abs() < 0.05, "{left} of {window}");
        }
    }

    #[test]
    fn repeated_timeouts_leave_ssthresh_alone() {
        let mut abse = abse(80 * MSS);
        let now = steady(&mut abse, 80, 30);
        let loss = Loss { now, flight: 80 * MSS, repeated: false };
        abse.on_timeout(&loss);
        let ssthresh = abse.window().ssthresh;
        abse.on_timeout(&Loss { now: now + Span::from_secs(60), repeated: true, ..loss });
        assert_eq!((abse.window().cwnd, abse.window().ssthresh), (MSS, ssthresh));
        assert!(ssthresh > 70 * MSS, "{ssthresh}");
    }

    #[test]
    fn a_hundred_thousand_segments_make_a_window_of_as_many() {
        let mut abse = abse(100_000 * MSS);
        let now = steady(&mut abse, 100_000, 12);
        abse.on_loss(&Loss { now, flight: 100_000 * MSS, repeated: false });
        let left = abse.window().cwnd as f64 / MSS as f64;
        assert!((left / 100_000.0 - 1.0).abs() < 0.05, "{left}");
    }

    #[test]
    fn what_duplicate_acks_add_to_the_window_in_recovery_is_no_queue() {
        // With a window three times as large as what the path carries, the sampling time is two
        // thirds of the RTT, and a gap of 100 ms goes under in it.
        let after_a_gap = |recovering| {
            let mut abse = abse(80 * MSS);
            let now = steady(&mut abse, 80, 30);
            let loss = Loss { now, flight: 80 * MSS, repeated: false };
            abse.on_loss(&loss);
            abse.window_mut().cwnd *= 3;
            let now = now + Span::from_millis(100);
            let ack = acknowledged(0, MSS);
            let times = Feedback { now, srtt: Some(RTT), min_rtt: Some(RTT), ..ack };
            abse.on_feedback(&Feedback { recovering, ..times });
            abse.threshold_after_loss(&Loss { now, ..loss })
        };
        assert!(after_a_gap(true) < after_a_gap(false));
    }
}
