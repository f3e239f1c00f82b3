//! Westwood+: after a loss the window is what the path carried, not half of what was sent.
//!
//! Source: L. A. Grieco, S. Mascolo, "Performance evaluation and comparison of Westwood+, New Reno,
//! and Vegas TCP congestion control", ACM SIGCOMM Computer Communication Review 34(2), 2004. The
//! sender counts what is acknowledged in each round-trip time:
//!
//! - once per RTT a sample b_k = bytes acknowledged / time, and BWE = 0.9 BWE + 0.1 b_k,
//! - loss and timeout: ssthresh = BWE * RTTmin, at least two segments; cwnd = ssthresh after a loss
//!   and one segment after a timeout,
//! - slow start and avoidance are standard.
//!
//! Reconstructed: the text of the paper was not at hand; the rules are those of secondary
//! descriptions. Decisions: the first sample is the first BWE; before it, ssthresh is half the
//! flight size. A controller here sees neither duplicate ACKs nor how much the ACK that ends
//! recovery covers, so the sample that a loss interrupts is dropped and the next begins with the
//! end of recovery. After a timeout an ACK that covers much tells of segments that had arrived
//! before; until slow start is over each counts for one segment at most.

use units::{Span, Time};

use crate::controller::{Controller, Recovery};
use crate::events::{Ack, Loss};
use crate::parameters::Values;
use crate::registry::{Listed, Listing, Status};
use crate::window::{Settings, Window};

/// Share of the old estimate in the new one.
const MEMORY: f64 = 0.9;

/// TCP Westwood+.
#[derive(Clone, Debug)]
pub struct WestwoodPlus {
    window: Window,
    /// BWE in bytes per second.
    bandwidth: Option<f64>,
    min_rtt: Option<Span>,
    /// When the running sample began; none before the first ACK and after a timeout.
    since: Option<Time>,
    /// Bytes acknowledged in it.
    acked: u64,
    /// In the slow start that follows a timeout.
    after_timeout: bool,
}

impl Listed for WestwoodPlus {
    const LISTED: &'static [Listing] = &[Listing {
        name: "westwood-plus",
        summary: "Window after a loss from the bandwidth that the ACKs show",
        source: "Grieco and Mascolo, Westwood+, 2004",
        status: Status::Reconstructed,
        recovery: Recovery::NewReno,
        parameters: &[],
    }];

    fn build(settings: &Settings, _values: &Values) -> Self {
        Self {
            window: Window::new(settings),
            bandwidth: None,
            min_rtt: None,
            since: None,
            acked: 0,
            after_timeout: false,
        }
    }
}

impl WestwoodPlus {
    fn begin_sample(&mut self, now: Time) {
        self.since = Some(now);
        self.acked = 0;
    }

    /// Counts an ACK; a sample is complete when it is as long as the round-trip time.
    fn count(&mut self, ack: &Ack) {
        self.min_rtt = ack.min_rtt;
        self.after_timeout &= self.window.in_slow_start();
        let Some(since) = self.since else {
            // What the first ACK covers was sent before the sample.
            return self.begin_sample(ack.now);
        };
        self.acked += if self.after_timeout { ack.acked.min(self.window.mss) } else { ack.acked };
        let length = ack.now.since(since);
        if ack.srtt.is_some_and(|rtt| length >= rtt) && length > Span::ZERO {
            let sample = self.acked as f64 / length.as_secs_f64();
            self.bandwidth =
                Some(self.bandwidth.map_or(sample, |old| MEMORY * old + (1.0 - MEMORY) * sample));
            self.begin_sample(ack.now);
        }
    }
}

impl Controller for WestwoodPlus {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.count(ack);
        self.grow(ack);
    }

    /// BWE * RTTmin, at least two segments.
    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        match (self.bandwidth, self.min_rtt) {
            (Some(bandwidth), Some(rtt)) => {
                ((bandwidth * rtt.as_secs_f64()) as u64).max(2 * self.window.mss)
            }
            _ => self.window.half(loss.flight),
        }
    }

    fn on_recovery_exit(&mut self, now: Time) {
        self.window.cwnd = self.window.ssthresh;
        self.begin_sample(now);
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.window.ssthresh = self.threshold_after_loss(loss);
        }
        self.window.cwnd = self.window.mss;
        self.since = None;
        self.after_timeout = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;
    const RTT: u64 = 500;

    fn westwood() -> WestwoodPlus {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 80 * MSS,
            initial_ssthresh: 80 * MSS,
            byte_counting: 1,
        };
        WestwoodPlus::build(&settings, &Values::defaults(&[]))
    }

    fn at(milliseconds: u64) -> Time {
        Time::from_nanos(milliseconds * 1_000_000)
    }

    fn ack(milliseconds: u64, acked: u64) -> Ack {
        Ack {
            now: at(milliseconds),
            acked,
            flight: 0,
            advertised: u64::MAX,
            srtt: Some(Span::from_millis(RTT)),
            min_rtt: Some(Span::from_millis(400)),
            cwnd_limited: true,
        }
    }

    fn loss(milliseconds: u64) -> Loss {
        Loss { now: at(milliseconds), flight: 80 * MSS, repeated: false }
    }

    /// One segment each 10 ms, 100 kB/s, for `rounds` round-trip times.
    fn steady(westwood: &mut WestwoodPlus, rounds: u64) {
        for i in 0..=rounds * RTT / 10 {
            westwood.on_ack(&ack(i * 10, MSS));
        }
    }

    #[test]
    fn the_estimate_is_the_rate_of_the_acks() {
        let mut westwood = westwood();
        steady(&mut westwood, 3);
        assert!((westwood.bandwidth.unwrap() - 100_000.0).abs() < 1e-6);
    }

    #[test]
    fn there_is_one_sample_per_rtt() {
        let mut westwood = westwood();
        westwood.on_ack(&ack(0, MSS));
        westwood.on_ack(&ack(RTT - 1, 10 * MSS));
        assert_eq!(westwood.bandwidth, None);
        westwood.on_ack(&ack(RTT, 10 * MSS));
        assert_eq!(westwood.bandwidth, Some(40_000.0));
        westwood.on_ack(&ack(RTT + 1, 10 * MSS));
        assert_eq!(westwood.bandwidth, Some(40_000.0));
    }

    #[test]
    fn a_new_sample_weighs_a_tenth() {
        let mut westwood = westwood();
        westwood.on_ack(&ack(0, MSS));
        westwood.on_ack(&ack(RTT, 20 * MSS));
        westwood.on_ack(&ack(2 * RTT, 30 * MSS));
        assert!((westwood.bandwidth.unwrap() - 42_000.0).abs() < 1e-6);
    }

    #[test]
    fn a_loss_sets_the_window_to_the_bandwidth_times_the_smallest_rtt() {
        let mut westwood = westwood();
        steady(&mut westwood, 2);
        westwood.on_loss(&loss(1000));
        assert_eq!((westwood.window.cwnd, westwood.window.ssthresh), (40 * MSS, 40 * MSS));
    }

    #[test]
    fn a_timeout_sets_ssthresh_to_it_and_sends_one_segment() {
        let mut westwood = westwood();
        steady(&mut westwood, 2);
        westwood.on_timeout(&Loss { flight: 20 * MSS, ..loss(1000) });
        assert_eq!((westwood.window.cwnd, westwood.window.ssthresh), (MSS, 40 * MSS));
    }

    #[test]
    fn a_repeated_timeout_leaves_ssthresh_alone() {
        let mut westwood = westwood();
        steady(&mut westwood, 2);
        westwood.window.ssthresh = 50 * MSS;
        westwood.on_timeout(&Loss { repeated: true, ..loss(1000) });
        assert_eq!(westwood.window.ssthresh, 50 * MSS);
    }

    #[test]
    fn ssthresh_never_falls_below_two_segments() {
        let mut westwood = westwood();
        westwood.on_ack(&ack(0, MSS));
        westwood.on_ack(&ack(RTT, MSS));
        westwood.on_loss(&loss(RTT));
        assert_eq!(westwood.window.ssthresh, 2 * MSS);
    }

    #[test]
    fn a_loss_before_the_first_sample_leaves_half() {
        let mut westwood = westwood();
        westwood.on_ack(&ack(0, MSS));
        westwood.on_loss(&loss(10));
        assert_eq!(westwood.window.cwnd, 40 * MSS);
    }

    #[test]
    fn the_silence_of_a_recovery_is_no_sample() {
        let mut westwood = westwood();
        steady(&mut westwood, 2);
        westwood.on_loss(&loss(1000));
        westwood.window.cwnd += 3 * MSS;
        westwood.on_recovery_exit(at(2000));
        assert_eq!(westwood.window.cwnd, 40 * MSS);
        westwood.on_ack(&ack(2250, 25 * MSS));
        westwood.on_ack(&ack(2500, 25 * MSS));
        assert!((westwood.bandwidth.unwrap() - 100_000.0).abs() < 1e-6);
    }

    #[test]
    fn after_a_timeout_an_ack_for_a_whole_window_counts_for_one_segment() {
        let mut westwood = westwood();
        steady(&mut westwood, 2);
        westwood.on_timeout(&loss(1000));
        westwood.on_ack(&ack(3000, MSS));
        westwood.on_ack(&ack(3000 + RTT, 79 * MSS));
        assert!((westwood.bandwidth.unwrap() - 90_200.0).abs() < 1e-6);
        westwood.window.cwnd = westwood.window.ssthresh;
        westwood.on_ack(&ack(3000 + 2 * RTT, 50 * MSS));
        assert!((westwood.bandwidth.unwrap() - 91_180.0).abs() < 1e-6);
    }
}
