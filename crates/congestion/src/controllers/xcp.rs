//! XCP, the sender: routers give it a change of its throughput.
//!
//! Source: Katabi, Handley and Rohrs, "Congestion control for high bandwidth-delay product
//! networks", SIGCOMM 2002, as in ns-2.35 (`xcp/xcp-end-sys.cc`). The rules are in
//! `parts/explicit_rate`; those of routers are in the crate `link`.
//!
//! - Loss and timeout: as TCP, here NewReno with SACK.
//! - Links need `feedback = "xcp"` or `"p-xcp"`. On a path with another link it is standard TCP.

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

/// XCP.
#[derive(Clone, Debug)]
pub struct Xcp(ExplicitRate);

impl Listed for Xcp {
    const LISTED: &'static [Entry] = &[Entry {
        name: "xcp",
        summary: "Follows the change of throughput that the routers on the path give; needs links with XCP",
        source: "Katabi, Handley and Rohrs, SIGCOMM, 2002",
        status: Status::Implementation("ns-2.35, xcp/xcp-end-sys.cc"),
        repair: Repair::SelectiveAcks,
        parameters: &[],
    }];
    const NEED: Option<Need> = Some(Need::Routers("routers with XCP on all links"));

    fn build(settings: &Settings, _values: &Values) -> Self {
        Self(ExplicitRate::new(Window::new(settings)))
    }
}

impl Controller for Xcp {
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
        standard::on_loss(self, loss);
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

impl TcpPolicy for Xcp {}
