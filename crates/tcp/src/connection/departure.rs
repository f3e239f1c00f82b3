//! The next segment to send: its data, its acknowledgement and its options.

use congestion::Ecn;
use units::Time;

use crate::segment::{Block, Flags, MAX_SACK_BLOCKS, Options, Segment};
use crate::sender::Chunk;
use crate::timestamps::timestamp;

use super::halves::Halves;
use super::{Connection, Urgent};

impl Halves {
    #[inline(always)]
    fn data_segment(&mut self, now: Time, chunk: Chunk) -> Segment {
        let mut segment = self.segment_at(now, chunk.start);
        if chunk.length > 0 {
            self.receiver.data_sent(now);
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most a full segment")]
        let payload = chunk.length as u16;
        segment.payload = payload;
        segment.flags =
            segment.flags.with_if(chunk.push, Flags::PSH).with_if(chunk.fin, Flags::FIN);
        if self.agreed.ecn != Ecn::Off && !chunk.again {
            // Neither retransmissions nor bare ACKs may be marked (RFC 3168 section 6.1.4, 6.1.5).
            segment.options = segment.options.with_if(chunk.length > 0, self.agreed.ect);
            // With accurate ECN the bit belongs to the report.
            let reports_reduction = self.sender.take_reduction() && !self.agreed.ecn.is_accurate();
            segment.flags = segment.flags.with_if(reports_reduction, Flags::CWR);
        }
        self.leave_room_for_data(&mut segment);
        segment
    }

    /// SACK blocks must not make the packet longer than the path takes.
    #[inline]
    pub(super) fn leave_room_for_data(&self, segment: &mut Segment) {
        if segment.sack_blocks == 0 {
            return;
        }
        let most = self.sender.stream().mss + u64::from(self.agreed.option_bytes());
        if u64::from(u32::from(segment.payload) + segment.option_bytes()) > most {
            segment.sack_blocks = 0;
        }
    }

    /// A segment without data, which acknowledges everything received.
    #[inline(always)]
    pub(super) fn bare_segment(&mut self, now: Time) -> Segment {
        self.segment_at(now, self.sender.number_without_data())
    }

    /// The same with another sequence number.
    #[inline(always)]
    fn segment_at(&mut self, now: Time, sequence: u64) -> Segment {
        let next = self.receiver.next();
        let window =
            self.receiver.window(&self.config, self.agreed.shift, self.agreed.window_limit);
        #[expect(clippy::cast_possible_truncation, reason = "the shift is for the largest window")]
        let window = (window >> self.agreed.shift) as u16;
        let mut segment = Segment {
            sequence: self.out.wrap(sequence),
            acknowledgement: self.inward.wrap(next),
            flags: Flags::ACK.with(self.report),
            window,
            window_scale: Segment::NO_SCALE,
            ..Segment::default()
        };
        if self.agreed.sack && (self.receiver.has_gaps() || self.reports_duplicate()) {
            (segment.sack, segment.sack_blocks) = self.sack_option();
        }
        if self.agreed.timestamps {
            segment.options = Options::TIMESTAMPS;
            segment.timestamp = timestamp(now);
            segment.echo = self.recent_timestamp;
        }
        self.last_ack_sent = next;
        self.receiver.ack_sent();
        segment
    }

    /// Returns true if data has arrived twice and both ends report it.
    #[inline]
    fn reports_duplicate(&self) -> bool {
        self.agreed.dsack && self.receiver.has_duplicate()
    }

    /// SACK blocks and their number. The report of what arrived twice stands before all others
    /// (RFC 2883 section 4). Given by value and not written into the segment, which without them
    /// need not be in memory.
    #[inline(never)]
    fn sack_option(&mut self) -> ([Block; MAX_SACK_BLOCKS], u8) {
        let duplicate = if self.agreed.dsack { self.receiver.take_duplicate() } else { None };
        let ranges = duplicate.into_iter().chain(self.receiver.sack_ranges());
        let mut blocks = <[Block; MAX_SACK_BLOCKS]>::default();
        let mut count = 0;
        let capacity = Segment::sack_capacity(self.agreed.timestamps);
        for (block, range) in blocks[..capacity].iter_mut().zip(ranges) {
            *block =
                Block { start: self.inward.wrap(range.start), end: self.inward.wrap(range.end) };
            count += 1;
        }
        (blocks, count)
    }
}

impl Connection {
    /// The next segment to be sent, if there is one.
    #[inline(always)]
    pub fn next_segment(&mut self, now: Time) -> Option<Segment> {
        if self.urgent != Urgent::Nothing {
            // A copy, so that the segments of all other calls need not be in memory.
            let urgent = self.next_urgent(now)?;
            return Some(Segment { ..urgent });
        }
        // A duplicate ACK carries no data, or it is none (RFC 5681 section 2).
        let duplicate = self.halves.receiver.ack_is_due() && self.halves.receiver.has_gaps();
        if !duplicate
            && self.halves.sender.has_work()
            && self.is_established()
            && let Some(chunk) = self.halves.sender.next_chunk(now, &self.halves.config)
        {
            return Some(self.halves.data_segment(now, chunk));
        }
        self.halves.receiver.ack_is_due().then(|| self.ack_segment(now))
    }

    /// The segment that goes before everything else.
    #[cold]
    #[inline(never)]
    fn next_urgent(&mut self, now: Time) -> Option<Segment> {
        if self.urgent == Urgent::Syn {
            return self.next_syn(now);
        }
        match std::mem::replace(&mut self.urgent, Urgent::Nothing) {
            Urgent::Nothing | Urgent::Syn => None,
            Urgent::Reset(reset) => {
                self.halves.sender.note_end(now);
                Some(reset.segment(now, self.halves.recent_timestamp))
            }
            Urgent::Earlier => self.marks.as_mut()?.earlier.take(),
            Urgent::KeepAlive => Some(self.halves.next_keep_alive(now)),
        }
    }

    #[inline(always)]
    fn ack_segment(&mut self, now: Time) -> Segment {
        let segment = self.halves.bare_segment(now);
        if let Some(marks) = &mut self.marks {
            let passive = self.opening.passive;
            let complete = marks.complete(&mut self.halves, passive, now, segment);
            return Segment { ..complete };
        }
        segment
    }
}
