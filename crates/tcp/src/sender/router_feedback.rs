//! Feedback from routers: the requests of data segments and SYNs, and what ACKs return of those of the other
//! end. Notices of losses are in the same field.
//!
//! The field is next to the segment, because only networks with routers that treat it carry it.

use congestion::{Controller, RequestState, RouterFeedback};
use units::Time;
use wire::feedback::{Field, Response};

use crate::segment::{Flags, Segment};

use super::Sender;

/// Response for the next ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Returning(Option<Response>);

impl Sender {
    /// The field of `segment`, which has just been made.
    pub(crate) fn take_field(&mut self, segment: &Segment) -> Field {
        let (srtt, advertised) = (self.rtt.srtt(), self.peer.advertised);
        let Some(instruments) = &mut self.instruments else { return Field::default() };
        let response = instruments.returning.0.take();
        let mut field = Field { response, ..Field::default() };
        if let Some(quick) = instruments.quick_start() {
            field.report = quick.take_report();
            if segment.flags.contains(Flags::SYN) {
                field.request = quick.request();
            }
        }
        if segment.payload > 0 && instruments.has_router_feedback() {
            field.request = self.controller.router_request(&RequestState { srtt, advertised });
        }
        field
    }

    /// A segment arrives with `field`, and is taken in after this.
    pub(crate) fn on_field(&mut self, now: Time, field: &Field) {
        let Some(instruments) = &mut self.instruments else { return };
        if let Some(notices) = &mut instruments.notices {
            notices.on_ack(field.loss_notice);
        }
        if let Some(request) = field.request {
            let arrived = request.response();
            let returning = &mut instruments.returning.0;
            *returning = Some(returning.map_or(arrived, |before| before.and(arrived)));
        }
        if let Some(response) = &field.response
            && let Some(quick) = instruments.quick_start()
        {
            quick.on_response(response);
        }
        if let Some(response) = field.response
            && instruments.has_router_feedback()
        {
            let srtt = self.rtt.srtt();
            self.controller.on_router_feedback(&RouterFeedback { now, response, srtt });
        }
    }
}
