//! TCP Westwood: after a loss the window is what the returning ACKs say that the path carries, not
//! half of what was sent.
//!
//! Source: C. Casetti, M. Gerla, S. Mascolo, M. Y. Sanadidi, R. Wang, "TCP Westwood: end-to-end
//! congestion control for wired/wireless networks", Wireless Networks 8, 2002.
//!
//! - each ACK is a sample of the bandwidth, what it delivers over the time since the ACK before;
//!   duplicate ACKs count for a segment (`bandwidth/accounting.rs`), and a low-pass filter smooths
//!   the samples (`bandwidth/tustin.rs`),
//! - third duplicate ACK: ssthresh = BWE * RTTmin, at least two segments, and cwnd falls to it, but
//!   does not rise,
//! - timeout: the same ssthresh, one segment,
//! - slow start and avoidance are standard.
//!
//! The rules, the filter and its constants are those of the authors' module for ns-2, version 1.3
//! of 2002: tau = 1 s, and silence counts after half of it; the paper is said to use tau = 0.5 s.
//! Not followed: the module counts an ACK for two segments at most, which would forget what a lost
//! ACK has told of. When recovery ends without cwnd having been above ssthresh, cwnd is what it was
//! before.

mod linux;

use units::{Span, Time};

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::bandwidth::{Estimator, Share, Tustin};
use crate::parts::linux::VARIANT;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

pub use linux::LinuxWestwood;

const TAU: Parameter = Parameter {
    name: "tau",
    default: "1",
    allowed: Allowed::Range(0.001, 100.0),
    meaning: "Time constant of the bandwidth filter in seconds: 1 in the authors' module for ns-2, \
              0.5 in the paper",
};

/// Part of the time constant after which silence counts.
pub(crate) const SILENCE: Parameter = Parameter {
    name: "silence",
    default: "2",
    allowed: Allowed::Range(2.0, 100.0),
    meaning: "m: without an ACK for a time constant divided by m, the bandwidth filter is fed zero",
};

/// Parameters of a controller on the filter of Westwood.
pub(crate) const FILTER: [Parameter; 2] = [TAU, SILENCE];

/// The rules of Westwood over an estimator of the bandwidth.
#[derive(Clone, Debug)]
pub struct EstimatingWindow<E> {
    window: Window,
    share: Share<E>,
    /// cwnd once recovery is over.
    recovered: u64,
}

/// TCP Westwood.
pub type Westwood = EstimatingWindow<Tustin>;

impl<E: Estimator> EstimatingWindow<E> {
    pub(crate) fn new(settings: &Settings, estimator: E) -> Self {
        let window = Window::new(settings);
        Self { recovered: window.cwnd, window, share: Share::new(estimator) }
    }

    /// BWE * RTTmin in bytes.
    pub(crate) fn share_at(&self, now: Time) -> Option<f64> {
        self.share.window_at(now)
    }
}

impl Listed for Westwood {
    const LISTED: &'static [Entry] = &[Entry {
        name: "westwood",
        summary: "Window after a loss from the filtered rate of the ACKs",
        source: "Casetti et al., TCP Westwood, 2002",
        status: Status::Implementation("TCP Westwood module for ns-2, version 1.3"),
        repair: Repair::PartialAcks,
        parameters: &[TAU, SILENCE, VARIANT],
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        let tau = Span::from_secs_f64(values.number("tau"));
        Self::new(settings, Tustin::new(tau, values.number("silence")))
    }
}

impl<E: Estimator> Controller for EstimatingWindow<E> {
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

    fn on_loss(&mut self, loss: &Loss) {
        self.window.ssthresh = self.threshold_after_loss(loss);
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        self.recovered = self.window.cwnd;
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        self.window.cwnd = self.recovered;
    }
}

impl<E: Estimator> TcpPolicy for EstimatingWindow<E> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Ack;
    use crate::parts::bandwidth::samples::{acknowledged, at, duplicate};

    const MSS: u64 = 1000;
    const RTT: Span = Span::from_millis(500);

    fn westwood(cwnd: u64) -> Westwood {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: cwnd,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        Westwood::build(&settings, &Values::defaults(&FILTER))
    }

    fn timed(feedback: Feedback) -> Feedback {
        Feedback { srtt: Some(RTT), min_rtt: Some(RTT), ..feedback }
    }

    /// One segment each 10 ms, 100 kB/s, for ten seconds: fifty segments for each RTT.
    fn steady(cwnd: u64) -> Westwood {
        let mut westwood = westwood(cwnd);
        for i in 0..=1000 {
            westwood.on_feedback(&timed(acknowledged(10 * i, MSS)));
        }
        westwood
    }

    fn loss(milliseconds: u64) -> Loss {
        Loss { now: at(milliseconds), flight: 80 * MSS, repeated: false }
    }

    fn segments(bytes: u64) -> f64 {
        bytes as f64 / MSS as f64
    }

    #[test]
    fn a_loss_sets_the_window_to_the_bandwidth_times_the_smallest_rtt() {
        let mut westwood = steady(80 * MSS);
        westwood.on_loss(&loss(10_000));
        assert!((segments(westwood.window.cwnd) - 50.0).abs() < 0.1, "{}", westwood.window.cwnd);
        assert_eq!(westwood.window.cwnd, westwood.window.ssthresh);
    }

    #[test]
    fn a_loss_never_raises_the_window() {
        let mut westwood = steady(30 * MSS);
        westwood.on_loss(&loss(10_000));
        assert!((segments(westwood.window.ssthresh) - 50.0).abs() < 0.1);
        assert_eq!(westwood.window.cwnd, 30 * MSS);
        westwood.window.cwnd += 20 * MSS;
        westwood.on_recovery_exit(at(10_500));
        assert_eq!(westwood.window.cwnd, 30 * MSS);
    }

    #[test]
    fn duplicate_acks_are_samples_as_good_as_others() {
        let mut westwood = steady(80 * MSS);
        for i in 1..50 {
            westwood.on_feedback(&timed(duplicate(10_000 + 10 * i)));
        }
        westwood.on_feedback(&timed(acknowledged(10_500, 50 * MSS)));
        westwood.on_loss(&loss(10_500));
        assert!((segments(westwood.window.cwnd) - 50.0).abs() < 0.1, "{}", westwood.window.cwnd);
    }

    #[test]
    fn a_timeout_sends_one_segment_and_counts_the_silence_before_it() {
        let mut westwood = steady(80 * MSS);
        westwood.on_timeout(&loss(10_001));
        assert_eq!(westwood.window.cwnd, MSS);
        assert!((segments(westwood.window.ssthresh) - 50.0).abs() < 0.1);
        let mut later = steady(80 * MSS);
        later.on_timeout(&loss(12_000));
        assert!(segments(later.window.ssthresh) < 20.0, "{}", later.window.ssthresh);
    }

    #[test]
    fn repeated_timeouts_leave_ssthresh_alone() {
        let mut westwood = steady(80 * MSS);
        westwood.on_timeout(&loss(10_001));
        let ssthresh = westwood.window.ssthresh;
        for i in 1..60 {
            westwood.on_timeout(&Loss { repeated: true, ..loss(10_000 + 60_000 * i) });
        }
        assert_eq!((westwood.window.cwnd, westwood.window.ssthresh), (MSS, ssthresh));
    }

    #[test]
    fn ssthresh_never_falls_below_two_segments() {
        let mut westwood = westwood(80 * MSS);
        westwood.on_feedback(&timed(acknowledged(0, MSS)));
        westwood.on_feedback(&timed(acknowledged(500, MSS)));
        westwood.on_loss(&loss(500));
        assert_eq!(westwood.window.ssthresh, 2 * MSS);
    }

    #[test]
    fn a_loss_before_any_ack_leaves_half() {
        let mut westwood = westwood(80 * MSS);
        westwood.on_loss(&loss(10));
        assert_eq!(westwood.window.cwnd, 40 * MSS);
    }

    #[test]
    fn growth_is_standard() {
        let ack = Ack {
            now: at(10_000),
            acked: MSS,
            flight: 0,
            advertised: u64::MAX,
            srtt: Some(RTT),
            min_rtt: Some(RTT),
            cwnd_limited: true,
        };
        let mut westwood = steady(30 * MSS);
        westwood.on_ack(&ack);
        assert_eq!(westwood.window.cwnd, 31 * MSS);
        westwood.window.ssthresh = 31 * MSS;
        westwood.on_ack(&ack);
        assert_eq!(westwood.window.cwnd, 31 * MSS + MSS / 31);
    }

    #[test]
    fn a_hundred_thousand_segments_in_a_second_make_a_window_of_as_many() {
        let mut westwood = westwood(200_000 * MSS);
        let second = Span::from_secs(1);
        for i in 0..1_000_000_u64 {
            westwood.on_feedback(&Feedback {
                now: Time::from_nanos(10_000 * i),
                srtt: Some(second),
                min_rtt: Some(second),
                ..acknowledged(0, MSS)
            });
        }
        westwood.on_loss(&Loss { now: Time::from_nanos(10_000_000_000), ..loss(0) });
        assert!((segments(westwood.window.cwnd) / 100_000.0 - 1.0).abs() < 0.01);
    }
}
