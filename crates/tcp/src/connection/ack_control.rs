//! Congestion control of ACKs (RFC 5690) at both ends: the options, and what the data sender sees
//! of ACKs. `ack_congestion` has its rules.

use congestion::{Controller, Ecn};
use units::Time;

use crate::ack_congestion::{AckCounters, AckRatio, Advance};
use crate::segment::Segment;

use super::Urgent;
use super::halves::{Agreed, Halves};
use super::marks::Marks;

impl Marks {
    /// A SYN or a SYN with ACK has arrived. ECN and SNACK have been agreed on before. Returns false
    /// if the ends have agreed on none of them: then the connection has no use for this state.
    #[cold]
    pub(super) fn agree_on_ack_control(&mut self, halves: &mut Halves, segment: &Segment) -> bool {
        let agreed = halves.config.ack_control && segment.permits_ack_control();
        if !agreed && self.snack.is_none() && !halves.agreed.ecn.reports_each_mark() {
            return false;
        }
        halves.ordinary_bits = 0;
        self.acks = agreed.then(|| AckRatio::new(halves.config.delayed_ack.segments()));
        true
    }

    /// The option of a segment, if it has one.
    #[cold]
    pub(super) fn take_ack_ratio(&self, halves: &mut Halves, segment: &Segment) {
        if self.acks.is_some()
            && let Some(ratio) = segment.ack_ratio()
        {
            halves.receiver.set_ack_ratio(&halves.config, ratio);
        }
    }

    /// Returns true if a segment with a mark is an ACK that may be marked. The mark is no news of
    /// data.
    pub(super) fn is_marked_ack(&self, segment: &Segment) -> bool {
        let is_ack = segment.payload == 0 && segment.is_ecn_capable();
        is_ack && self.acks.is_some()
    }

    /// An ACK without data is about to leave.
    pub(super) fn let_ack_be_marked(&self, agreed: &Agreed, segment: &mut Segment) {
        if self.acks.is_some() && matches!(agreed.ecn, Ecn::Classic | Ecn::EachMark) {
            segment.options = segment.options.with_if(true, agreed.ect);
        }
    }

    /// Looks at an ACK of everything before `number`, and asks the other end for another ratio if
    /// there is one.
    pub(super) fn control_acks(
        &mut self,
        halves: &mut Halves,
        urgent: &mut Urgent,
        now: Time,
        segment: &Segment,
        number: u64,
    ) {
        let Some(acks) = &mut self.acks else { return };
        if self.arrived_marked && segment.payload == 0 {
            acks.on_marked_ack();
        }
        let (una, max) = (halves.sender.stream().una, halves.sender.stream().max);
        if number < una {
            acks.on_late_ack();
        }
        if number <= una || number > max {
            return;
        }
        let ratio = acks.on_ack(&Advance {
            number,
            una,
            max,
            mss: halves.sender.stream().mss,
            cwnd: halves.sender.controller().window().cwnd,
            in_order: halves.sender.is_in_order(),
        });
        if let Some(ratio) = ratio
            && *urgent == Urgent::Nothing
        {
            let mut asking = halves.bare_segment(now);
            asking.set_ack_ratio(ratio);
            self.earlier = Some(asking);
            *urgent = Urgent::Earlier;
        }
    }

    /// Counts of congestion control of ACKs, if both ends have it.
    pub(crate) fn ack_counters(&self) -> Option<AckCounters> {
        Some(self.acks.as_ref()?.counters())
    }
}
