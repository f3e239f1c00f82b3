//! Westwood+: after a loss the window is what the path carried, not half of what was sent.
//!
//! Source: L. A. Grieco, S. Mascolo, "Performance evaluation and comparison of Westwood+, New Reno,
//! and Vegas TCP congestion control", ACM SIGCOMM Computer Communication Review 34(2), 2004. The
//! sender counts what is acknowledged in each round-trip time:
//!
//! - once per RTT a sample b_k = bytes acknowledged / time, and BWE = 0.9 BWE + 0.1 b_k
//!   (`bandwidth/per_round.rs`), duplicate ACKs included (`bandwidth/accounting.rs`),
//! - loss and timeout: ssthresh = BWE * RTTmin, at least two segments; cwnd = ssthresh after a loss
//!   and one segment after a timeout,
//! - slow start and avoidance are standard.
//!
//! Reconstructed: the text of the paper was not available; the rules are those of secondary
//! descriptions. Decisions: before the first sample, ssthresh is half the flight size. After a loss
//! cwnd is ssthresh even where that is more than it was.

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::bandwidth::{PerRound, Share};
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

const PARAMETERS: &[Parameter] = &[Parameter {
    name: "memory",
    default: "0.9",
    allowed: Allowed::Range(0.0, 0.999),
    meaning: "Share of the old bandwidth estimate in the new one, for each round-trip time",
}];

/// TCP Westwood+.
#[derive(Clone, Debug)]
pub struct WestwoodPlus {
    window: Window,
    share: Share<PerRound>,
}

impl Listed for WestwoodPlus {
    const LISTED: &'static [Entry] = &[Entry {
        name: "westwood-plus",
        summary: "Window after a loss from the bandwidth that the ACKs show",
        source: "Grieco and Mascolo, Westwood+, 2004",
        status: Status::Reconstructed,
        repair: Repair::PartialAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        let estimator = PerRound::new(values.number("memory"));
        Self { window: Window::new(settings), share: Share::new(estimator) }
    }
}

impl Controller for WestwoodPlus {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { feedback: true, ..Needs::default() }
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.share.on_feedback(feedback, &self.window);
    }

    /// BWE * RTTmin, at least two segments.
    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        self.share.threshold_after(loss, &self.window)
    }
}

impl TcpPolicy for WestwoodPlus {}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;
    use crate::parts::bandwidth::samples::{acknowledged, at, duplicate};

    const MSS: u64 = 1000;
    const RTT: u64 = 500;

    fn westwood() -> WestwoodPlus {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 80 * MSS,
            initial_ssthresh: 80 * MSS,
            byte_counting: 1,
        };
        WestwoodPlus::build(&settings, &Values::defaults(PARAMETERS))
    }

    fn timed(feedback: Feedback) -> Feedback {
        let srtt = Some(Span::from_millis(RTT));
        Feedback { srtt, min_rtt: Some(Span::from_millis(400)), ..feedback }
    }

    fn ack(milliseconds: u64, acked: u64) -> Feedback {
        timed(acknowledged(milliseconds, acked))
    }

    fn loss(milliseconds: u64) -> Loss {
        Loss { now: at(milliseconds), flight: 80 * MSS, repeated: false }
    }

    /// One segment each 10 ms, 100 kB/s, for `rounds` round-trip times.
    fn steady(rounds: u64) -> WestwoodPlus {
        let mut westwood = westwood();
        for i in 0..=rounds * RTT / 10 {
            westwood.on_feedback(&ack(i * 10, MSS));
        }
        westwood
    }

    /// Exact but for the rounding of bytes.
    fn assert_window(bytes: u64, segments: u64) {
        assert!(bytes.abs_diff(segments * MSS) <= 1, "{bytes}");
    }

    #[test]
    fn a_loss_sets_the_window_to_the_bandwidth_times_the_smallest_rtt() {
        let mut westwood = steady(2);
        westwood.on_loss(&loss(1000));
        assert_window(westwood.window.cwnd, 40);
        assert_eq!(westwood.window.cwnd, westwood.window.ssthresh);
    }

    #[test]
    fn a_timeout_sets_ssthresh_to_it_and_sends_one_segment() {
        let mut westwood = steady(2);
        westwood.on_timeout(&Loss { flight: 20 * MSS, ..loss(1000) });
        assert_window(westwood.window.ssthresh, 40);
        assert_eq!(westwood.window.cwnd, MSS);
    }

    #[test]
    fn repeated_timeouts_leave_ssthresh_alone() {
        let mut westwood = steady(2);
        westwood.window.ssthresh = 50 * MSS;
        for i in 1..60 {
            westwood.on_timeout(&Loss { repeated: true, ..loss(60_000 * i) });
        }
        assert_eq!((westwood.window.cwnd, westwood.window.ssthresh), (MSS, 50 * MSS));
    }

    #[test]
    fn ssthresh_never_falls_below_two_segments() {
        let mut westwood = westwood();
        westwood.on_feedback(&ack(0, MSS));
        westwood.on_feedback(&ack(RTT, MSS));
        westwood.on_loss(&loss(RTT));
        assert_eq!(westwood.window.ssthresh, 2 * MSS);
    }

    #[test]
    fn a_loss_before_the_first_sample_leaves_half() {
        let mut westwood = westwood();
        westwood.on_feedback(&ack(0, MSS));
        westwood.on_loss(&loss(10));
        assert_eq!(westwood.window.cwnd, 40 * MSS);
    }

    #[test]
    fn what_is_acknowledged_during_recovery_counts_once() {
        let mut westwood = steady(2);
        westwood.on_loss(&loss(1000));
        for i in 1..50 {
            westwood.on_feedback(&timed(duplicate(1000 + 10 * i)));
        }
        westwood.on_feedback(&ack(1000 + RTT, 50 * MSS));
        westwood.on_loss(&loss(1000 + RTT));
        assert_window(westwood.window.cwnd, 40);
    }

    #[test]
    fn the_silence_before_a_timeout_is_one_low_sample() {
        let mut westwood = steady(2);
        westwood.on_timeout(&loss(3000));
        westwood.on_feedback(&ack(3500, 50 * MSS));
        // BWE = 0.9 * 100 kB/s + 0.1 * 20 kB/s.
        let ssthresh = westwood.threshold_after_loss(&loss(3500));
        assert!(ssthresh.abs_diff(36_800) <= 1, "{ssthresh}");
    }

    #[test]
    fn a_hundred_thousand_segments_in_a_second_make_a_window_of_as_many() {
        let mut westwood = westwood();
        let second = Some(Span::from_secs(1));
        for i in 0..300_001 {
            let now = units::Time::from_nanos(10_000 * i);
            let feedback = acknowledged(0, MSS);
            westwood.on_feedback(&Feedback { now, srtt: second, min_rtt: second, ..feedback });
        }
        westwood.on_loss(&loss(3000));
        assert_window(westwood.window.cwnd, 100_000);
    }
}
