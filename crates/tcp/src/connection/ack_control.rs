//! Congestion control of ACKs (RFC 5690) at both ends: the options, and what the data sender sees
//! of ACKs. `ack_congestion` has its rules.

use congestion::{Controller, Ecn};
use units::Time;

use crate::ack_congestion::{AckCounters, AckRatio, Advance};
use crate::segment::Segment;

use super::{Connection, Urgent};

impl Connection {
    /// Returns true if a SYN, or the answer to one, has the option.
    pub(super) fn offers_ack_control(&self, answer: bool) -> bool {
        let agreed = self.marks.as_ref().is_some_and(|marks| marks.acks.is_some());
        self.config.ack_control && (agreed || !answer)
    }

    /// A SYN or a SYN with ACK has arrived. ECN and SNACK have been agreed on before.
    #[cold]
    pub(super) fn agree_on_ack_control(&mut self, segment: &Segment) {
        let agreed = self.config.ack_control && segment.permits_ack_control();
        let has_snack = self.marks.as_ref().is_some_and(|marks| marks.snack.is_some());
        if !agreed && !has_snack && !self.agreed.ecn.reports_each_mark() {
            self.marks = None;
            return;
        }
        self.ordinary_bits = 0;
        if let Some(marks) = &mut self.marks {
            marks.acks = agreed.then(|| AckRatio::new(self.config.delayed_ack.segments()));
        }
    }

    /// The option of a segment, if it has one.
    #[cold]
    pub(super) fn take_ack_ratio(&mut self, segment: &Segment) {
        let agreed = self.marks.as_ref().is_some_and(|marks| marks.acks.is_some());
        if agreed && let Some(ratio) = segment.ack_ratio() {
            self.receiver.set_ack_ratio(&self.config, ratio);
        }
    }

    /// Returns true if a segment with a mark is an ACK that may be marked. The mark is no news of
    /// data.
    pub(super) fn is_marked_ack(&mut self, segment: &Segment) -> bool {
        let is_ack = segment.payload == 0 && segment.is_ecn_capable();
        let acks = self.marks.as_mut().and_then(|marks| marks.acks.as_mut());
        is_ack && acks.is_some()
    }

    /// An ACK without data is about to leave.
    pub(super) fn let_ack_be_marked(&self, segment: &mut Segment) {
        let agreed = self.marks.as_ref().is_some_and(|marks| marks.acks.is_some());
        if agreed && matches!(self.agreed.ecn, Ecn::Classic | Ecn::EachMark) {
            segment.options = segment.options.with_if(true, self.agreed.ect);
        }
    }

    /// Looks at an ACK of everything before `number`, and asks the other end for another ratio if
    /// there is one.
    pub(super) fn control_acks(&mut self, now: Time, segment: &Segment, number: u64) {
        let Some(marks) = &mut self.marks else { return };
        let Some(acks) = &mut marks.acks else { return };
        if marks.arrived_marked && segment.payload == 0 {
            acks.on_marked_ack();
        }
        let (una, max) = (self.sender.stream().una, self.sender.stream().max);
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
            mss: self.sender.stream().mss,
            cwnd: self.sender.controller().window().cwnd,
            in_order: self.sender.is_in_order(),
        });
        if let Some(ratio) = ratio
            && self.urgent == Urgent::Nothing
        {
            let mut asking = self.bare_segment(now);
            asking.set_ack_ratio(ratio);
            if let Some(marks) = &mut self.marks {
                marks.earlier = Some(asking);
                self.urgent = Urgent::Earlier;
            }
        }
    }

    /// Counts of congestion control of ACKs, if both ends have it.
    pub(crate) fn ack_counters(&self) -> Option<AckCounters> {
        Some(self.marks.as_ref()?.acks.as_ref()?.counters())
    }
}
