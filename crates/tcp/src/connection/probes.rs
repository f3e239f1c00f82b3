//! Segments of low priority: probes of unused capacity, and the answers to those of the other end.

use congestion::Probe;
use units::Time;

use crate::segment::{Options, Segment};

use super::Connection;
use super::halves::Halves;

/// Capacity probes of the other end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PeerProbes {
    /// Probes that are still to be answered.
    unanswered: u32,
    /// One has arrived.
    pub(super) is_seen: bool,
}

impl PeerProbes {
    /// The answer to one of them.
    fn next_answer(&mut self, now: Time, halves: &mut Halves) -> Segment {
        self.unanswered -= 1;
        let mut segment = halves.bare_segment(now);
        segment.options = segment.options.with_if(true, Options::PROBE_ANSWER);
        segment
    }
}

impl Halves {
    fn next_probe(&mut self, now: Time) -> Option<Segment> {
        let (probe, range) = self.sender.next_capacity_probe(now)?;
        let mut segment = self.bare_segment(now);
        segment.sequence = self.out.wrap(range.start);
        #[expect(clippy::cast_possible_truncation, reason = "at most a full segment")]
        let payload = range.len() as u16;
        segment.payload = payload;
        segment.options = segment
            .options
            .with_if(true, Options::PROBE)
            .with_if(probe == Probe::Dummy, Options::DUMMY);
        self.leave_room_for_data(&mut segment);
        Some(segment)
    }
}

impl Connection {
    /// Returns true if there may be something of low priority to be sent.
    #[inline]
    pub fn may_have_low_priority(&self) -> bool {
        self.peer_probes.unanswered > 0 || self.halves.sender.may_probe()
    }

    /// The next segment of low priority to be sent, if there is one: an answer to a probe of the
    /// other end, or a probe. Queues may drop both: neither is the ACK that is due.
    #[cold]
    pub fn next_of_low_priority(&mut self, now: Time) -> Option<Segment> {
        let due = self.halves.receiver.ack_due();
        let segment = if self.peer_probes.unanswered > 0 {
            Some(self.peer_probes.next_answer(now, &mut self.halves))
        } else if self.is_established() {
            self.halves.next_probe(now)
        } else {
            None
        };
        self.halves.receiver.keep_ack_due(due);
        segment
    }

    /// A probe of the other end arrived. Whatever it carries, it is answered.
    #[cold]
    pub(super) fn on_probe(&mut self, now: Time, segment: &Segment, sequence: u64) {
        self.peer_probes.unanswered += 1;
        self.peer_probes.is_seen = true;
        self.take_unusual_acknowledgement(now, segment, sequence);
        if !segment.options.contains(Options::DUMMY) {
            self.halves.take_timestamp(segment, sequence);
            let length = u64::from(segment.payload);
            self.halves.receiver.on_probe_data(now, &self.halves.config, sequence, length);
            if self.closing || self.halves.receiver.finished() {
                self.advance_close(now, false);
            }
        }
    }
}
