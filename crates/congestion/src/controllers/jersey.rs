//! TCP-Jersey: routers warn of congestion, so a loss without a warning is an error
//! of the channel.
//!
//! Sources: K. Xu, Y. Tian, N. Ansari, "TCP-Jersey for wireless IP communications", IEEE Journal on
//! Selected Areas in Communications 22(4), 2004; for TCP New Jersey, which is in `new_jersey`, the
//! same, "Improving TCP performance in integrated wireless communications networks", Computer
//! Networks 47, 2005.
//!
//! - The sender estimates the rate R of delivery (`bandwidth/sliding.rs`); the window that the path
//!   carries is ownd = R RTTmin, at least two segments. Jersey takes the times at which ACKs come;
//!   New Jersey those at which the receiver sent them, which it reads in their timestamps, so that
//!   ACKs that are lost or come in bunches disturb nothing.
//! - Routers mark all packets while their average queue is long (`mark` of a link), and the
//!   receiver echoes it as in RFC 3168.
//! - ACK with the warning: rate control, ssthresh = cwnd = ownd, once in a round trip.
//! - Third duplicate ACK with the warning: rate control and fast retransmit; without it the segment
//!   is retransmitted and the window stays as it is.
//! - Timeout: ssthresh = ownd, one segment. Growth is standard.
//!
//! Reconstructed: only the abstracts and a port to ns-3 were available; what follows from a warning
//! is from memory. Decisions: RTTmin and not the last RTT makes ownd, so that a queue does not feed
//! itself; without timestamps New Jersey is Jersey; its clock is that of the receiver's timestamps,
//! a millisecond.
//!
//! Decisions:
//! - Marks are echoed as in RFC 3168 also for TCP-Jersey: its paper reuses ECN-Echo; the sender
//!   answers once in a round trip, which is how often Jersey sets its window.

use units::Time;

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Need, Repair, Status};
use crate::events::{Ecn, Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::bandwidth::{AtSender, Clock, Share, SlidingRate};
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

pub(crate) const PARAMETERS: &[Parameter] = &[Parameter {
    name: "window",
    default: "1",
    allowed: Allowed::Range(0.01, 100.0),
    meaning: "K: the estimate looks back over K round-trip times",
}];

/// The rules of Jersey over a rate that is timed by one clock or another.
#[derive(Clone, Debug)]
pub struct WarnedWindow<C> {
    window: Window,
    share: Share<SlidingRate<C>>,
    /// The latest ACK carried a warning.
    warned: bool,
    /// cwnd once recovery is over.
    recovered: u64,
}

/// TCP-Jersey.
pub type Jersey = WarnedWindow<AtSender>;

impl Listed for Jersey {
    const LISTED: &'static [Entry] = &[Entry {
        name: "jersey",
        summary: "Window from the rate of delivery, reduced only when routers warn",
        source: "Xu, Tian and Ansari, TCP-Jersey, 2004",
        status: Status::Reconstructed,
        repair: Repair::PartialAcks,
        parameters: PARAMETERS,
    }];
    const NEED: Option<Need> = Some(Need::Routers("routers with ECN marking"));

    fn build(settings: &Settings, values: &Values) -> Self {
        Self::new(settings, values)
    }
}

impl<C: Clock> WarnedWindow<C> {
    pub(crate) fn new(settings: &Settings, values: &Values) -> Self {
        let window = Window::new(settings);
        Self {
            recovered: window.cwnd,
            window,
            share: Share::new(SlidingRate::new(values.number("window"))),
            warned: false,
        }
    }

    fn control_rate(&mut self, loss: &Loss) {
        self.window.ssthresh = self.threshold_after_loss(loss);
        self.window.cwnd = self.window.ssthresh;
    }
}

impl<C: Clock> Controller for WarnedWindow<C> {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { feedback: true, marks: Ecn::Classic, ..Needs::default() }
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.warned = feedback.marked;
        self.share.on_feedback(feedback, &self.window);
    }

    /// ownd, at least two segments.
    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        self.share.threshold_after(loss, &self.window)
    }

    fn on_congestion_mark(&mut self, loss: &Loss) {
        self.control_rate(loss);
    }

    fn on_loss_after_mark(&mut self, _loss: &Loss) {
        self.recovered = self.window.cwnd;
    }

    fn on_loss(&mut self, loss: &Loss) {
        if self.warned {
            self.control_rate(loss);
        }
        self.recovered = self.window.cwnd;
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        self.window.cwnd = self.recovered;
    }
}

impl<C: Clock> TcpPolicy for WarnedWindow<C> {}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;
    use crate::parts::bandwidth::AtReceiver;
    use crate::parts::bandwidth::samples::{acknowledged, at, duplicate};

    const MSS: u64 = 1000;
    const RTT: Span = Span::from_millis(500);

    fn controller<C: Clock>() -> WarnedWindow<C> {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: 80 * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        WarnedWindow::new(&settings, &Values::defaults(PARAMETERS))
    }

    fn timed(feedback: Feedback, stamp: u64) -> Feedback {
        let peer_clock = Some(stamp as u32);
        Feedback { srtt: Some(RTT), min_rtt: Some(RTT), peer_clock, ..feedback }
    }

    /// One segment each 10 ms, 50 in each RTT, for ten seconds.
    fn steady<C: Clock>() -> WarnedWindow<C> {
        let mut jersey = controller();
        for i in 0..=1000 {
            jersey.on_feedback(&timed(acknowledged(10 * i, MSS), 10 * i));
        }
        jersey
    }

    fn loss() -> Loss {
        Loss { now: at(10_000), flight: 80 * MSS, repeated: false }
    }

    fn is_near(bytes: u64, segments: u64) -> bool {
        (bytes as f64 / (segments * MSS) as f64 - 1.0).abs() < 0.02
    }

    #[test]
    fn a_warning_sets_the_window_to_what_the_path_carries() {
        let mut jersey: Jersey = steady();
        jersey.on_congestion_mark(&loss());
        assert!(is_near(jersey.window.cwnd, 50), "{}", jersey.window.cwnd);
        assert_eq!(jersey.window.ssthresh, jersey.window.cwnd);
    }

    #[test]
    fn a_loss_without_a_warning_leaves_the_window_alone() {
        let mut jersey: Jersey = steady();
        jersey.on_feedback(&timed(duplicate(10_010), 10_010));
        jersey.on_loss(&loss());
        jersey.window.cwnd += 3 * MSS;
        jersey.on_recovery_exit(at(10_500));
        assert_eq!((jersey.window.cwnd, jersey.window.ssthresh), (80 * MSS, u64::MAX));
    }

    #[test]
    fn a_loss_with_a_warning_controls_the_rate() {
        let mut jersey: Jersey = steady();
        let warned = Feedback { marked: true, ..timed(duplicate(10_010), 10_010) };
        jersey.on_feedback(&warned);
        jersey.on_loss(&loss());
        jersey.on_recovery_exit(at(10_500));
        assert!(is_near(jersey.window.cwnd, 50), "{}", jersey.window.cwnd);
    }

    #[test]
    fn a_timeout_sends_one_segment_and_keeps_what_the_path_carries_as_ssthresh() {
        let mut jersey: Jersey = steady();
        jersey.on_timeout(&loss());
        assert_eq!(jersey.window.cwnd, MSS);
        assert!(is_near(jersey.window.ssthresh, 50), "{}", jersey.window.ssthresh);
    }

    /// ACKs that the return path has pushed together: 50 at once, every 500 ms.
    fn ssthresh_after_bunches<C: Clock>() -> u64 {
        let mut jersey: WarnedWindow<C> = controller();
        for i in 0..=1025 {
            let arrival = 500 * (i / 50 + 1);
            jersey.on_feedback(&timed(acknowledged(arrival, MSS), 10 * i));
        }
        jersey.threshold_after_loss(&loss())
    }

    #[test]
    fn bunches_of_acks_disturb_jersey_and_not_new_jersey() {
        let (jersey, new) =
            (ssthresh_after_bunches::<AtSender>(), ssthresh_after_bunches::<AtReceiver>());
        assert!(is_near(new, 50), "{new}");
        assert!(!is_near(jersey, 50), "{jersey}");
    }
}
