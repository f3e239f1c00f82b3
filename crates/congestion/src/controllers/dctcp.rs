//! DCTCP: the window falls by the share of the data that was marked.
//!
//! Sources: RFC 8257, and `net/ipv4/tcp_dctcp.c` of Linux 6.12 where it says more.
//!
//! - The receiver reports each mark (section 3.2), which the transport does for
//!   [`Ecn::EachMark`], and better for [`Ecn::Accurate`].
//! - alpha is the smoothed share of marked bytes, updated once in a window of data (section 3.3,
//!   `parts/marked_share`). It begins with 1, so that the first mark halves the window.
//! - Mark: cwnd = ssthresh = (1 - alpha / 2) cwnd, once in a window of data.
//! - Growth (section 3.4), loss and timeout (section 3.5) are those of Reno.
//!
//! Decisions:
//! - A loss in the window of a mark halves too, because the mark may have taken very little. So
//!   does Linux (`dctcp_state`). Section 3.5 has one reduction in a window of data.
//! - SYNs, resets and ACKs without data are sent without ECT, as in RFC 3168. Section 3.6
//!   recommends ECT for SYNs and resets. Linux sends all segments of DCTCP with ECT
//!   (`tcp_ecn_send`).
//! - The queue should mark by its length now and not by an average, as in the example of
//!   section 3.1: `ecn_marking` of a link, or `codel` with `ce_threshold`.

mod linux;

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Need, Repair, Status};
use crate::events::{Ecn, Feedback, Loss, Needs};
use crate::parameters::{Allowed, Parameter, Values};
use crate::parts::linux::VARIANT;
use crate::parts::marked_share::MarkedShare;
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};

pub use linux::LinuxDctcp;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "gain",
        default: "0.0625",
        allowed: Allowed::Range(0.001, 1.0),
        meaning: "g: share of the newest window of data in the estimate alpha (section 3.3)",
    },
    VARIANT,
];

/// DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    window: Window,
    share: MarkedShare,
}

impl Listed for Dctcp {
    const LISTED: &'static [Entry] = &[Entry {
        name: "dctcp",
        summary: "Takes from the window half the share of data that routers have marked",
        source: "RFC 8257",
        status: Status::Published,
        repair: Repair::SelectiveAcks,
        parameters: PARAMETERS,
    }];
    const NEED: Option<Need> =
        Some(Need::Routers("routers with ECN marking by the length of the queue now"));

    fn build(settings: &Settings, values: &Values) -> Self {
        let share = MarkedShare::new(1.0, values.number("gain"));
        Self { window: Window::new(settings), share }
    }
}

impl Controller for Dctcp {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn needs(&self) -> Needs {
        Needs { feedback: true, marks: Ecn::EachMark, ..Needs::default() }
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.share.count(feedback);
        if self.share.is_due(feedback) {
            self.share.update(feedback);
        }
    }

    fn on_congestion_mark(&mut self, _loss: &Loss) {
        self.window.cwnd = self.share.reduced(&self.window);
        self.window.ssthresh = self.window.cwnd;
    }

    fn on_loss_after_mark(&mut self, loss: &Loss) {
        standard::on_loss(self, loss);
    }
}

impl TcpPolicy for Dctcp {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::samples::loss;
    use crate::parts::linux::samples::{MSS, Sender};

    type Scalable = Sender<Dctcp>;

    /// After round trips in which every `nth` segment was marked.
    fn settled(nth: u64, rounds: u64) -> Dctcp {
        let mut controller = Scalable::avoiding(100).controller;
        let mut acknowledged = 1_000_000;
        for _ in 0..rounds {
            for segment in 0..100 {
                acknowledged += MSS;
                let marked_bytes = if segment % nth == 0 { MSS } else { 0 };
                controller.on_feedback(&Feedback {
                    acked: MSS,
                    acknowledged,
                    sent: acknowledged + 100 * MSS,
                    marked: marked_bytes > 0,
                    marked_bytes,
                    ..crate::parts::bandwidth::samples::acknowledged(0, MSS)
                });
            }
        }
        controller
    }

    #[test]
    fn the_first_mark_halves_the_window() {
        let mut sender = Scalable::new(40);
        sender.controller.on_congestion_mark(&loss(40 * MSS));
        assert_eq!((sender.cwnd(), sender.controller.window.ssthresh), (20, 20 * MSS));
    }

    /// Section 3.3: after many windows with the same share alpha is that share.
    #[test]
    fn a_mark_takes_half_of_the_share_of_marked_data() {
        for (nth, share) in [(2, 0.5), (10, 0.1), (50, 0.02)] {
            let mut controller = settled(nth, 200);
            let alpha = controller.share.alpha();
            assert!((alpha - share).abs() < 0.01, "{alpha} for {share}");
            controller.window.cwnd = 1000 * MSS;
            controller.on_congestion_mark(&loss(1000 * MSS));
            let kept = controller.window.cwnd as f64 / (1000 * MSS) as f64;
            assert!((kept - (1.0 - alpha / 2.0)).abs() < 1e-6, "{kept}");
        }
    }

    /// alpha = (1 - g)^n without marks.
    #[test]
    fn alpha_falls_by_a_sixteenth_in_each_window_of_data() {
        let (before, after) = (settled(1000, 10), settled(1000, 11));
        let ratio = after.share.alpha() / before.share.alpha();
        assert!((0.93..0.945).contains(&ratio), "{ratio}");
    }

    /// Section 3.5.
    #[test]
    fn a_loss_halves_whatever_the_share_of_marks() {
        let mut controller = settled(50, 200);
        controller.window.cwnd = 100 * MSS;
        controller.on_loss(&loss(100 * MSS));
        assert_eq!(controller.window.cwnd, 50 * MSS);
    }

    #[test]
    fn a_loss_in_the_window_of_a_mark_halves_too() {
        let mut controller = settled(50, 200);
        controller.window.cwnd = 100 * MSS;
        controller.on_congestion_mark(&loss(100 * MSS));
        assert!(controller.window.cwnd > 98 * MSS);
        controller.on_loss_after_mark(&loss(98 * MSS));
        assert_eq!(controller.window.cwnd, 49 * MSS);
    }
}
