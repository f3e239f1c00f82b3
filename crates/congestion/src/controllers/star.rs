//! TCP-STAR: the window follows the bandwidth that is available, up and down, and reductions that
//! turn out to be needless are taken back.
//!
//! Source: H. Obata, K. Ishida, S. Takeuchi, S. Hanasaki, "TCP-STAR: TCP congestion control method
//! for satellite Internet", IEICE Transactions on Communications E89-B(6), 2006. Three mechanisms:
//!
//! - congestion window setting (CWS): after a loss ssthresh = cwnd = min(cwnd, ownd), where
//!   ownd = R RTTmin is the window that the path carries,
//! - lift window control (LWC): in avoidance, while cwnd is below ownd, each ACK adds
//!   SMSS (ownd - cwnd) / cwnd, and otherwise grows as in standard TCP,
//! - acknowledgement error notification (AEN): the receiver says when a segment arrives that it has
//!   already; if all that was retransmitted since the last reduction was needless, ACKs were lost
//!   or late and no segment was, and the reduction is undone.
//!
//! Reconstructed: only the abstract was available, so the names of the mechanisms are the paper's
//! and the formulas are ours. The estimate R is that of TCP-Jersey (`bandwidth/sliding.rs`), with
//! which the paper compares itself. The notification is the duplicate report of RFC 2883, and all
//! retransmissions have to be reported (RFC 3708) because one that repairs a loss may be followed
//! by others that were needless.
//!
//! Decisions:
//! - TCP-STAR's error notification is the duplicate report of RFC 2883: the same information at the
//!   same moment, and receivers have it.

use units::Time;

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Repair, Status};
use crate::events::{Ack, Feedback, Loss, Needs, Sent};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::bandwidth::{AtSender, Share, SlidingRate};
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window, whole};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "window",
        default: "1",
        allowed: Allowed::Range(0.01, 100.0),
        meaning: "Number of round-trip times that the estimate covers",
    },
    Parameter {
        name: "lift",
        default: "1",
        allowed: Allowed::Range(0.0, 1.0),
        meaning: "Share of the distance to ownd that the ACKs add, spread over a window; 0 switches lift \
                  window control off",
    },
];

/// The last reduction, until it is known to have been needed.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    cwnd: u64,
    ssthresh: u64,
    /// Bytes retransmitted since.
    repeated: u64,
    /// Bytes that the receiver had already.
    needless: u64,
}

/// TCP-STAR.
#[derive(Clone, Debug)]
pub struct Star {
    window: Window,
    share: Share<SlidingRate<AtSender>>,
    lift: f64,
    reduction: Option<Reduction>,
    /// cwnd once recovery is over.
    recovered: u64,
}

impl Listed for Star {
    const LISTED: &'static [Entry] = &[Entry {
        name: "star",
        summary: "Window that follows the available bandwidth and undoes needless reductions",
        source: "Obata et al., TCP-STAR, 2006",
        status: Status::Reconstructed,
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];

    fn build(settings: &Settings, values: &Values) -> Self {
        let window = Window::new(settings);
        Self {
            recovered: window.cwnd,
            window,
            share: Share::new(SlidingRate::new(values.number("window"))),
            lift: values.number("lift"),
            reduction: None,
        }
    }
}

impl Star {
    /// AEN: what was reduced for a loss that was none.
    fn undo_if_needless(&mut self) {
        if let Some(reduction) = self.reduction
            && reduction.repeated > 0
            && reduction.needless >= reduction.repeated
        {
            self.window.cwnd = self.window.cwnd.max(reduction.cwnd);
            self.window.ssthresh = reduction.ssthresh;
            self.recovered = self.window.cwnd;
            self.reduction = None;
        }
    }

    fn remember(&mut self) {
        let Window { cwnd, ssthresh, .. } = self.window;
        self.reduction = Some(Reduction { cwnd, ssthresh, repeated: 0, needless: 0 });
    }
}

impl Controller for Star {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { feedback: true, duplicate_reports: true, ..Needs::default() }
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.share.on_feedback(feedback, &self.window);
        if feedback.needless > 0
            && let Some(reduction) = &mut self.reduction
        {
            reduction.needless += feedback.needless;
            self.undo_if_needless();
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        if sent.again
            && let Some(reduction) = &mut self.reduction
        {
            reduction.repeated += sent.bytes;
        }
    }

    /// LWC.
    fn avoid_congestion(&mut self, ack: &Ack) {
        let mss = self.window.mss;
        let counted = self.window.counted(ack.acked).max(mss);
        let path = self.share.window_at(ack.now).unwrap_or(0.0);
        let distance = self.lift * (path - self.window.cwnd as f64);
        self.window.grow_by_fraction(counted * mss.max(whole(distance)));
    }

    /// ownd, at least two segments.
    fn threshold_after_loss(&self, loss: &Loss) -> u64 {
        self.share.threshold_after(loss, &self.window)
    }

    /// CWS.
    fn on_loss(&mut self, loss: &Loss) {
        self.remember();
        self.window.cwnd = self.window.cwnd.min(self.threshold_after_loss(loss));
        self.window.ssthresh = self.window.cwnd;
        self.recovered = self.window.cwnd;
    }

    /// A mark by a router is no error, so nothing undoes it.
    fn on_congestion_mark(&mut self, loss: &Loss) {
        standard::on_congestion_mark(self, loss);
        self.reduction = None;
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        self.window.cwnd = self.recovered;
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.remember();
            self.window.ssthresh = self.threshold_after_loss(loss);
        }
        self.window.cwnd = self.window.mss;
    }
}

impl TcpPolicy for Star {}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;
    use crate::parts::bandwidth::samples::{acknowledged, at};

    const MSS: u64 = 1000;
    const RTT: Span = Span::from_millis(500);

    /// ACKs of a segment each 10 ms, 50 in each RTT, for ten seconds.
    fn steady(cwnd: u64) -> Star {
        let settings = Settings {
            mss: MSS as u32,
            initial_window: cwnd * MSS,
            initial_ssthresh: cwnd * MSS,
            byte_counting: 1,
        };
        let mut star = Star::build(&settings, &Values::defaults(PARAMETERS));
        for i in 0..=1000 {
            star.on_feedback(&feedback(10 * i, MSS));
        }
        star
    }

    fn feedback(milliseconds: u64, acked: u64) -> Feedback {
        Feedback { srtt: Some(RTT), min_rtt: Some(RTT), ..acknowledged(milliseconds, acked) }
    }

    fn loss() -> Loss {
        Loss { now: at(10_000), flight: 80 * MSS, repeated: false }
    }

    fn sent_again(star: &mut Star, segments: u64) {
        for _ in 0..segments {
            let now = at(10_001);
            star.on_sent(&Sent { now, bytes: MSS, again: true, sent: 0, pipe_before: 0 });
        }
    }

    fn segments(bytes: u64) -> u64 {
        (bytes as f64 / MSS as f64).round() as u64
    }

    #[test]
    fn a_loss_leaves_what_the_path_carries_and_never_more_than_there_was() {
        for (cwnd, left) in [(80, 50), (30, 30)] {
            let mut star = steady(cwnd);
            star.on_loss(&loss());
            let Window { cwnd, ssthresh, .. } = star.window;
            assert_eq!((segments(cwnd), segments(ssthresh)), (left, left));
        }
    }

    #[test]
    fn below_the_available_bandwidth_the_window_lifts_quickly_and_above_it_slowly() {
        // dW/dn = (50 - W) / W leads from 20 to 35 segments in 20 ACKs.
        for (cwnd, least, most) in [(20, 34, 36), (60, 60, 62)] {
            let mut star = steady(cwnd);
            for _ in 0..cwnd {
                star.on_ack(&Ack {
                    now: at(10_000),
                    acked: MSS,
                    flight: cwnd * MSS,
                    advertised: u64::MAX,
                    srtt: Some(RTT),
                    min_rtt: Some(RTT),
                    cwnd_limited: true,
                });
            }
            let grown = segments(star.window.cwnd);
            assert!((least..=most).contains(&grown), "{cwnd} became {grown}");
        }
    }

    #[test]
    fn a_reduction_is_undone_when_everything_sent_again_was_needless() {
        let mut star = steady(80);
        star.on_loss(&loss());
        sent_again(&mut star, 2);
        star.on_feedback(&Feedback { needless: MSS, ..feedback(10_500, 0) });
        assert_eq!(segments(star.window.cwnd), 50, "one of two may have been needed");
        star.on_feedback(&Feedback { needless: MSS, ..feedback(10_501, 0) });
        star.on_recovery_exit(at(10_502));
        assert_eq!((segments(star.window.cwnd), star.window.ssthresh), (80, 80 * MSS));
    }

    #[test]
    fn a_needless_timeout_is_undone_too() {
        let mut star = steady(80);
        star.on_timeout(&loss());
        star.on_timeout(&Loss { repeated: true, ..loss() });
        assert_eq!(star.window.cwnd, MSS);
        sent_again(&mut star, 2);
        star.on_feedback(&Feedback { needless: 2 * MSS, ..feedback(12_000, 0) });
        assert_eq!((segments(star.window.cwnd), star.window.ssthresh), (80, 80 * MSS));
    }

    #[test]
    fn a_report_without_a_reduction_changes_nothing() {
        let mut star = steady(80);
        star.on_feedback(&Feedback { needless: MSS, ..feedback(10_500, 0) });
        assert_eq!(segments(star.window.cwnd), 80);
    }
}
