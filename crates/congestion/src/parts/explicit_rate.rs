//! The sender of XCP: it asks routers for a change of its throughput, and its window follows their
//! answer.
//!
//! Source: Katabi, Handley and Rohrs, SIGCOMM 2002, as in ns-2.35 (`xcp/xcp-end-sys.cc`).
//!
//! - Request: RTT, mean time between packets (RTT / cwnd), and the change of throughput that it
//!   wants. A packet asks for its share of the way to the receiver's window: (rwnd - cwnd) / RTT,
//!   divided by the packets of a window.
//! - Answer: cwnd = max(cwnd + feedback x RTT, 1 segment), for each ACK.
//! - Growth by the rules of TCP stops. Losses have the response of TCP.
//!
//! Decisions:
//! - ns-2 asks for more than any router gives. Here the receiver's window is a limit, so that
//!   routers of P-XCP see which senders are rate-limited, and XCP gives nothing to those that
//!   cannot use it.
//! - Where a router on the way does not speak XCP, the sender is standard TCP: until the first
//!   answer from all links, and from an answer on that lacks one of them. In ns-2 such a sender
//!   would grow without bound.
//! - During recovery the feedback changes ssthresh too, which is cwnd when recovery is over.
//! - The window counts payload, and routers count packets with their headers: the difference of 3 %
//!   is one of the gain alone, as in ns-2.

use units::Span;

use crate::events::{RequestState, RouterFeedback};
use crate::window::{Window, whole};
use wire::feedback::{Protocol, Request};

/// The part of a sender of XCP that routers act on.
#[derive(Clone, Debug)]
pub(crate) struct ExplicitRate {
    pub window: Window,
    /// All routers on the way have answered last time.
    is_explicit: bool,
    is_recovering: bool,
    /// Less than a byte that feedback has added and cwnd has not.
    remainder: f64,
}

impl ExplicitRate {
    pub fn new(window: Window) -> Self {
        Self { window, is_explicit: false, is_recovering: false, remainder: 0.0 }
    }

    /// Returns true if routers determine the window, and not the rules of TCP.
    pub fn is_explicit(&self) -> bool {
        self.is_explicit
    }

    /// Recovery begins or ends.
    pub fn note_recovery(&mut self, is_recovering: bool) {
        self.is_recovering = is_recovering;
    }

    /// The request of the next segment.
    pub fn request(&self, state: &RequestState) -> Request {
        let wanted = state.advertised as f64 - self.window.cwnd as f64;
        let Window { cwnd, mss, .. } = self.window;
        request(Protocol::Xcp, cwnd, mss, state, |srtt, packets| wanted / srtt / packets)
    }

    /// An ACK brings the answer of routers.
    pub fn take(&mut self, feedback: &RouterFeedback) {
        if feedback.response.protocol != Protocol::Xcp {
            return;
        }
        self.is_explicit = feedback.response.is_complete;
        let (true, Some(srtt)) = (self.is_explicit, feedback.srtt) else { return };
        let change = f64::from(feedback.response.rate) * srtt.as_secs_f64();
        let cwnd = self.window.cwnd as f64 + self.remainder + change;
        let cwnd = cwnd.max(self.window.mss as f64);
        self.remainder = cwnd.fract();
        if self.is_recovering {
            let ssthresh = self.window.ssthresh as f64 + change;
            self.window.ssthresh = whole(ssthresh).max(2 * self.window.mss);
        }
        self.window.cwnd = whole(cwnd);
    }
}

/// A request with the spacing of the segments of a `window`. `wanted` is the rate that it asks for,
/// from srtt in seconds and the segments of the window; it asks for none without an RTT.
#[expect(clippy::cast_possible_truncation, reason = "the field has 32 bits")]
pub(crate) fn request(
    protocol: Protocol,
    window: u64,
    mss: u64,
    state: &RequestState,
    wanted: impl FnOnce(f64, f64) -> f64,
) -> Request {
    let srtt = state.srtt.map_or(0.0, Span::as_secs_f64);
    let packets = window.min(state.advertised).max(mss) as f64 / mss as f64;
    let rate = if srtt > 0.0 { wanted(srtt, packets) } else { 0.0 };
    Request {
        protocol,
        rate: rate as f32,
        round_trip: srtt as f32,
        spacing: (srtt / packets) as f32,
        treated: 0,
        links: 0,
    }
}

#[cfg(test)]
mod tests {
    use units::Time;
    use wire::feedback::Response;

    use super::*;
    use crate::window::Settings;

    const MSS: u64 = 1000;

    fn sender(cwnd: u64) -> ExplicitRate {
        let settings = Settings {
            mss: 1000,
            initial_window: cwnd * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        ExplicitRate::new(Window::new(&settings))
    }

    fn answer(rate: f32, is_complete: bool) -> RouterFeedback {
        let response = Response { protocol: Protocol::Xcp, rate, is_complete };
        let srtt = Some(Span::from_millis(500));
        RouterFeedback { now: Time::ZERO, response, srtt }
    }

    #[test]
    fn a_request_has_the_spacing_and_a_share_of_the_way_to_the_receivers_window() {
        let srtt = Some(Span::from_millis(500));
        let request = sender(10).request(&RequestState { srtt, advertised: 40 * MSS });
        assert_eq!((request.round_trip, request.spacing), (0.5, 0.05));
        // 30 segments in half a second, over ten packets.
        assert_eq!(request.rate, 6000.0);
        let above = sender(50).request(&RequestState { srtt, advertised: 40 * MSS });
        assert!(above.rate < 0.0 && above.spacing == 0.5 / 40.0);
        let unknown = sender(10).request(&RequestState { srtt: None, advertised: 40 * MSS });
        assert_eq!((unknown.rate, unknown.round_trip), (0.0, 0.0));
    }

    #[test]
    fn the_window_follows_the_change_of_throughput_down_to_a_segment() {
        let mut sender = sender(10);
        sender.take(&answer(2001.0, true));
        assert_eq!(sender.window.cwnd, 11_000);
        sender.take(&answer(1.0, true));
        assert_eq!(sender.window.cwnd, 11_001, "halves of a byte add up");
        sender.take(&answer(-1e9, true));
        assert_eq!(sender.window.cwnd, MSS);
    }

    #[test]
    fn an_answer_without_one_of_the_links_changes_nothing_and_gives_way_to_tcp() {
        let mut sender = sender(10);
        assert!(!sender.is_explicit());
        sender.take(&answer(1000.0, true));
        assert!(sender.is_explicit());
        sender.take(&answer(1e6, false));
        assert_eq!((sender.is_explicit(), sender.window.cwnd), (false, 10_500));
    }

    #[test]
    fn in_recovery_the_window_after_it_changes_too() {
        let mut sender = sender(10);
        sender.window.ssthresh = 5 * MSS;
        sender.note_recovery(true);
        sender.take(&answer(4000.0, true));
        assert_eq!((sender.window.cwnd, sender.window.ssthresh), (12_000, 7_000));
        sender.note_recovery(false);
        sender.take(&answer(4000.0, true));
        assert_eq!((sender.window.cwnd, sender.window.ssthresh), (14_000, 7_000));
    }

    /// Routers replace the growth of TCP as long as all of them answer, and feedback changes
    /// ssthresh in recovery only: for each controller that has this part.
    fn follows_routers<C: crate::controller::Controller + crate::entry::Listed>() {
        use crate::events::samples::{ack, loss};

        let settings = Settings {
            mss: 1000,
            initial_window: 10 * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        let mut sender = C::build(&settings, &crate::parameters::Values::defaults(&[]));
        let name = C::LISTED[0].name;
        let grown = |sender: &mut C| {
            let before = sender.window().cwnd;
            sender.on_ack(&ack(MSS));
            sender.window().cwnd - before
        };
        assert_eq!(grown(&mut sender), MSS, "{name}: slow start");
        sender.on_router_feedback(&answer(0.0, true));
        assert_eq!(grown(&mut sender), 0, "{name}");
        sender.on_router_feedback(&answer(0.0, false));
        assert_eq!(grown(&mut sender), MSS, "{name}: a link without routers");
        sender.on_router_feedback(&answer(0.0, true));
        sender.on_loss(&loss(10 * MSS));
        let before = sender.window().ssthresh;
        sender.on_router_feedback(&answer(4000.0, true));
        assert_eq!(sender.window().ssthresh, before + 2 * MSS, "{name}: in recovery");
        sender.on_recovery_exit(Time::ZERO);
        let Window { cwnd, ssthresh, .. } = *sender.window();
        sender.on_router_feedback(&answer(4000.0, true));
        assert_eq!(sender.window().cwnd, cwnd + 2 * MSS, "{name}");
        assert_eq!(sender.window().ssthresh, ssthresh, "{name}: behind recovery");
    }

    #[test]
    fn controllers_with_explicit_rates_leave_growth_to_routers() {
        follows_routers::<crate::controllers::xcp::Xcp>();
        follows_routers::<crate::controllers::p_xcp::PXcp>();
    }
}
