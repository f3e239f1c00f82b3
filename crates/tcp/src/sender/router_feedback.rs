//! Feedback from routers: the requests of data segments and SYNs, and what ACKs return of those of
//! the other end. Notices of losses are in the same field.
//!
//! The field is next to the segment, because only networks with routers that treat it carry it.

use congestion::{Controller, RequestState, RouterFeedback};
use units::Time;
use wire::feedback::Field;

use crate::segment::{Flags, Segment};

use super::Sender;
use super::core::Core;

impl Sender {
    /// The field of `segment`, which has just been made.
    pub(crate) fn take_field(&mut self, segment: &Segment) -> Field {
        let Core { features, controller, rtt, peer, response, .. } = &mut self.core;
        let mut field = Field { response: response.take(), ..Field::default() };
        let Some(features) = features else { return field };
        if let Some(quick) = features.quick_start() {
            field.report = quick.take_report();
            if segment.flags.contains(Flags::SYN) {
                field.request = quick.request();
            }
        }
        if segment.payload > 0 && features.needs.router_feedback.is_some() {
            let state = RequestState { srtt: rtt.srtt(), advertised: peer.advertised };
            field.request = controller.router_request(&state);
        }
        field
    }

    /// A segment arrives with `field`, and is taken in after this.
    pub(crate) fn on_field(&mut self, now: Time, field: &Field) {
        let Core { features, controller, rtt, response, .. } = &mut self.core;
        if let Some(request) = field.request {
            let arrived = request.response();
            *response = Some(response.map_or(arrived, |before| before.and(arrived)));
        }
        let Some(features) = features else { return };
        if let Some(notices) = &mut features.notices {
            notices.on_ack(field.loss_notice);
        }
        if let Some(response) = &field.response
            && let Some(quick) = features.quick_start()
        {
            quick.on_response(response);
        }
        if let Some(response) = field.response
            && features.needs.router_feedback.is_some()
        {
            controller.on_router_feedback(&RouterFeedback { now, response, srtt: rtt.srtt() });
        }
    }
}
