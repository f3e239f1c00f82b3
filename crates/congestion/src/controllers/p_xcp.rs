//! P-XCP, the sender: XCP that keeps its rate when a loss is found by duplicate ACKs.
//!
//! Source: Zhou, Yeung and Li, "P-XCP: a transport layer protocol for satellite IP networks",
//! GLOBECOM 2004. Only the abstract could be read. It says that the sender keeps its rate at three
//! duplicate ACKs, because on a satellite link they mean errors and not congestion: routers reduce
//! the rate where there is any. All else is a reconstruction from XCP (`xcp`).
//!
//! - Loss found by duplicate ACKs: cwnd and ssthresh are the old cwnd. Routers go on to change it.
//! - Timeout: as XCP, which is as TCP.
//! - On a path with a link that does not speak XCP it is standard TCP, and halves its window.

use units::Time;

use crate::controller::Controller;
use crate::entry::{Entry, Listed, Need, Repair, Status};
use crate::events::{Ack, Loss, Needs, RequestState, RouterFeedback};
use crate::parameters::Values;
use crate::parts::explicit_rate::ExplicitRate;
use crate::standard;
use crate::tcp_policy::TcpPolicy;
use crate::window::{Settings, Window};
use wire::feedback::{Protocol, Request};

/// P-XCP.
#[derive(Clone, Debug)]
pub struct PXcp(ExplicitRate);

impl Listed for PXcp {
    const LISTED: &'static [Entry] = &[Entry {
        name: "p-xcp",
        summary: "XCP that keeps its rate at duplicate ACKs, which mean errors on a satellite link",
        source: "Zhou, Yeung and Li, GLOBECOM, 2004 (abstract only)",
        status: Status::Reconstructed,
        repair: Repair::SelectiveAcks,
        parameters: &[],
    }];
    const NEED: Option<Need> = Some(Need::Routers("routers with XCP on all links"));

    fn build(settings: &Settings, _values: &Values) -> Self {
        Self(ExplicitRate::new(Window::new(settings)))
    }
}

impl Controller for PXcp {
    fn window(&self) -> &Window {
        &self.0.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.0.window
    }

    fn needs(&self) -> Needs {
        Needs { router_feedback: Some(Protocol::Xcp), own_recovery: true, ..Needs::default() }
    }

    fn router_request(&mut self, state: &RequestState) -> Option<Request> {
        Some(self.0.request(state))
    }

    fn on_router_feedback(&mut self, feedback: &RouterFeedback) {
        self.0.take(feedback);
    }

    fn grow(&mut self, ack: &Ack) {
        if !self.0.is_explicit() {
            standard::grow(self, ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        if self.0.is_explicit() {
            self.0.window.ssthresh = self.0.window.cwnd.max(2 * self.0.window.mss);
        } else {
            standard::on_loss(self, loss);
        }
        self.0.note_recovery(true);
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        standard::on_recovery_exit(self);
        self.0.note_recovery(false);
    }

    fn on_timeout(&mut self, loss: &Loss) {
        standard::on_timeout(self, loss);
        self.0.note_recovery(false);
    }
}

impl TcpPolicy for PXcp {}

#[cfg(test)]
mod tests {
    use units::Span;
    use wire::feedback::Response;

    use super::*;
    use crate::events::samples::loss;

    fn p_xcp() -> PXcp {
        let settings = Settings {
            mss: 1000,
            initial_window: 20_000,
            initial_ssthresh: u64::MAX,
            byte_counting: 1,
        };
        PXcp::build(&settings, &Values::defaults(&[]))
    }

    #[test]
    fn a_loss_keeps_the_window_where_routers_answer_and_halves_it_elsewhere() {
        let mut controller = p_xcp();
        controller.on_loss(&loss(20_000));
        assert_eq!(controller.window().cwnd, 10_000, "no router has answered");
        let mut controller = p_xcp();
        let response = Response { protocol: Protocol::Xcp, rate: 0.0, is_complete: true };
        let srtt = Some(Span::from_millis(100));
        controller.on_router_feedback(&RouterFeedback { now: Time::ZERO, response, srtt });
        controller.on_loss(&loss(20_000));
        controller.on_recovery_exit(Time::ZERO);
        assert_eq!((controller.window().cwnd, controller.window().ssthresh), (20_000, 20_000));
        controller.on_timeout(&loss(20_000));
        assert_eq!((controller.window().cwnd, controller.window().ssthresh), (1000, 10_000));
    }
}
