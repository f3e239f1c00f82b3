//! The next segment to send: its data, its acknowledgement and its options.

use congestion::Ecn;
use transport::Written;
use units::Time;

use crate::segment::{Block, Flags, Options, Segment};
use crate::sender::{Chunk, transmit};
use crate::timestamps::timestamp;

use super::halves::Halves;
use super::{Connection, Urgent};

impl Halves {
    /// Writes the segment of a piece of the stream.
    #[inline(always)]
    fn write_data(&mut self, now: Time, chunk: Chunk, segment: &mut Segment) {
        self.write_bare(now, chunk.start, segment);
        if chunk.length > 0 {
            self.receiver.data_sent(now);
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most a full segment")]
        let payload = chunk.length as u16;
        segment.payload = payload;
        segment.flags =
            segment.flags.with_if(chunk.push, Flags::PSH).with_if(chunk.fin, Flags::FIN);
        if self.agreed.ecn != Ecn::Off && !chunk.again {
            self.mark_capable(chunk.length > 0, segment);
        }
        if segment.sack_blocks > 0 {
            self.leave_room_for_data(segment);
        }
    }

    /// Returns true if the next segment of a row differs from `segment` only in its piece of the
    /// stream: the acknowledgement is the same, nothing follows single ACKs, and neither reports
    /// of what has arrived nor those of marks come in only one of them.
    #[inline(always)]
    fn repeats_header(&self, segment: &Segment) -> bool {
        segment.sack_blocks == 0
            && !self.receiver.has_gaps()
            && !self.receiver.looks_at_acks()
            && self.agreed.ecn == Ecn::Off
    }

    /// Writes the segment of a piece of the stream over that of the piece before it.
    #[inline(always)]
    fn write_over(&self, chunk: Chunk, segment: &mut Segment) {
        #[expect(clippy::cast_possible_truncation, reason = "at most a full segment")]
        let payload = chunk.length as u16;
        segment.sequence = self.out.wrap(chunk.start);
        segment.payload = payload;
        let flags = segment.flags.without(Flags::PSH.with(Flags::FIN));
        segment.flags = flags.with_if(chunk.push, Flags::PSH).with_if(chunk.fin, Flags::FIN);
    }

    /// A segment of new data, or a FIN, of a connection with ECN. Neither retransmissions nor bare
    /// ACKs may be marked (RFC 3168 section 6.1.4, 6.1.5).
    #[inline(never)]
    fn mark_capable(&mut self, has_data: bool, segment: &mut Segment) {
        segment.options = segment.options.with_if(has_data, self.agreed.ect);
        // With accurate ECN the bit belongs to the report.
        let reports_reduction = self.sender.take_reduction() && !self.agreed.ecn.is_accurate();
        segment.flags = segment.flags.with_if(reports_reduction, Flags::CWR);
    }

    /// SACK blocks must not make the packet longer than the path takes.
    #[inline(never)]
    pub(super) fn leave_room_for_data(&self, segment: &mut Segment) {
        let most = self.sender.stream().mss + u64::from(self.agreed.option_bytes());
        if u64::from(u32::from(segment.payload) + segment.option_bytes()) > most {
            segment.sack_blocks = 0;
        }
    }

    /// A segment without data, which acknowledges everything received.
    pub(super) fn bare_segment(&mut self, now: Time) -> Segment {
        let mut segment = Segment::default();
        self.write_bare(now, self.sender.number_without_data(), &mut segment);
        segment
    }

    /// Writes the same with another sequence number.
    #[inline(always)]
    fn write_bare(&mut self, now: Time, sequence: u64, segment: &mut Segment) {
        let next = self.receiver.next();
        let window =
            self.receiver.window(&self.config, self.agreed.shift, self.agreed.window_limit);
        #[expect(clippy::cast_possible_truncation, reason = "the shift is for the largest window")]
        let window = (window >> self.agreed.shift) as u16;
        *segment = Segment {
            sequence: self.out.wrap(sequence),
            acknowledgement: self.inward.wrap(next),
            flags: Flags::ACK.with(self.report),
            window,
            window_scale: Segment::NO_SCALE,
            ..Segment::default()
        };
        if self.agreed.sack && (self.receiver.has_gaps() || self.reports_duplicate()) {
            self.add_sack_option(segment);
        }
        if self.agreed.timestamps {
            self.add_timestamps(now, segment);
        }
        self.last_ack_sent = next;
        self.receiver.ack_sent();
    }

    /// Returns true if the next segment has to be a duplicate ACK, which does not carry data, or it
    /// is none (RFC 5681 section 2).
    #[inline(always)]
    fn owes_duplicate(&self) -> bool {
        self.receiver.ack_is_due() && self.receiver.has_gaps()
    }

    /// Not inlined, or the clock would be read for each call that sends nothing, too.
    #[inline(never)]
    fn add_timestamps(&self, now: Time, segment: &mut Segment) {
        segment.options = Options::TIMESTAMPS;
        segment.timestamp = timestamp(now);
        segment.echo = self.recent_timestamp;
    }

    /// Returns true if data has arrived twice and both ends report it.
    #[inline]
    fn reports_duplicate(&self) -> bool {
        self.agreed.dsack && self.receiver.has_duplicate()
    }

    /// Adds SACK blocks. The report of what arrived twice stands before all others (RFC 2883
    /// section 4).
    #[inline(never)]
    fn add_sack_option(&mut self, segment: &mut Segment) {
        let duplicate = if self.agreed.dsack { self.receiver.take_duplicate() } else { None };
        let ranges = duplicate.into_iter().chain(self.receiver.sack_ranges());
        let capacity = Segment::sack_capacity(self.agreed.timestamps);
        for (block, range) in segment.sack[..capacity].iter_mut().zip(ranges) {
            *block =
                Block { start: self.inward.wrap(range.start), end: self.inward.wrap(range.end) };
            segment.sack_blocks += 1;
        }
    }
}

impl Connection {
    /// Writes the next segment to be sent. A segment that is returned is moved several times until
    /// it is where it waits. With `IN_A_ROW` nothing but this happens to the connection until there
    /// is none, and `segment` is the last one, if there was one.
    #[inline(always)]
    pub(super) fn write_segment<const IN_A_ROW: bool>(
        &mut self,
        now: Time,
        segment: &mut Segment,
    ) -> Written {
        let in_burst = IN_A_ROW && transmit::is_in_burst(&self.halves.sender);
        if !in_burst && self.urgent != Urgent::Nothing {
            return self.write_urgent(now, segment);
        }
        let has_work = in_burst || self.halves.sender.has_work();
        if has_work
            && (in_burst || (!self.halves.owes_duplicate() && self.is_established()))
            && let Some(chunk) = self.halves.sender.next_chunk::<IN_A_ROW>(now, &self.halves.config)
        {
            if in_burst && self.halves.repeats_header(segment) {
                self.halves.write_over(chunk, segment);
            } else {
                self.halves.write_data(now, chunk, segment);
            }
            let is_last = IN_A_ROW && transmit::stops_behind_burst(&mut self.halves.sender, now);
            return if is_last { Written::Last } else { Written::Packet };
        }
        if IN_A_ROW {
            transmit::end_burst(&mut self.halves.sender);
        }
        if !self.halves.receiver.ack_is_due() {
            return Written::Nothing;
        }
        self.halves.write_bare(now, self.halves.sender.number_without_data(), segment);
        if self.marks.is_some() {
            self.complete_ack(now, segment);
        }
        if has_work { Written::Packet } else { Written::Last }
    }

    /// The segment that goes before everything else.
    #[cold]
    #[inline(never)]
    fn write_urgent(&mut self, now: Time, segment: &mut Segment) -> Written {
        let urgent = if self.urgent == Urgent::Syn {
            self.next_syn(now)
        } else {
            match std::mem::replace(&mut self.urgent, Urgent::Nothing) {
                Urgent::Nothing | Urgent::Syn => None,
                Urgent::Reset(reset) => {
                    self.halves.sender.note_end(now);
                    Some(reset.segment(now, self.halves.recent_timestamp))
                }
                Urgent::Earlier => self.marks.as_mut().and_then(|marks| marks.earlier.take()),
                Urgent::KeepAlive => Some(self.halves.next_keep_alive(now)),
            }
        };
        *segment = urgent.unwrap_or_default();
        if urgent.is_some() { Written::Packet } else { Written::Nothing }
    }

    /// Adds to an ACK what a connection reports of marks or of missing data.
    #[cold]
    #[inline(never)]
    fn complete_ack(&mut self, now: Time, segment: &mut Segment) {
        if let Some(marks) = &mut self.marks {
            let passive = self.opening.passive;
            *segment = marks.complete(&mut self.halves, passive, now, *segment);
        }
    }
}
