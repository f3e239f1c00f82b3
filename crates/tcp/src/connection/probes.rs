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
    pub(super) unanswered: u32,
    /// One has arrived.
    pub(super) is_seen: bool,
}

impl PeerProbes {
    /// The answer to one of them.
    pub(super) fn next_answer(&mut self, now: Time, halves: &mut Halves) -> Segment {
        self.unanswered -= 1;
        let mut segment = halves.bare_segment(now);
        segment.options = segment.options.with_if(true, Options::PROBE_ANSWER);
        segment
    }
}

impl Halves {
    /// The next probe of unused capacity, if one is due.
    pub(super) fn next_probe(&mut self, now: Time) -> Option<Segment> {
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
