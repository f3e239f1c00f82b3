//! A segment arrives at an open connection: what it says of the own data, and what it brings (RFC
//! 9293 section 3.10.7.4). `acceptance` decides whether it is taken in at all.

use congestion::Ecn;
use units::Time;

use crate::receiver::{Arrived, Path, Taken};
use crate::segment::{Block, Flags, Options, Segment};
use crate::sender::{Acknowledgement, Blocks};
use crate::timestamps::round_trip;
use transport::{KnownPath, Range};

use super::halves::Halves;
use super::marks::reports_mark;
use super::{Connection, State};

impl Halves {
    /// The data of a segment that is no ordinary one, if it has any.
    #[inline(always)]
    fn take_data(&mut self, now: Time, segment: &Segment, sequence: u64, expected: u64) {
        let fin = segment.flags.contains(Flags::FIN);
        if segment.payload > 0 || fin {
            let length = u64::from(segment.payload);
            self.receiver.on_data(now, &self.config, sequence, length, fin);
            if self.receiver.looks_at_segments() {
                self.look_at_data(now, segment, sequence, expected);
            }
        }
    }

    /// Data from `sequence` on was taken in, and `expected` was the next number before.
    #[cold]
    fn look_at_data(&mut self, now: Time, segment: &Segment, sequence: u64, expected: u64) {
        let echo = self.agreed.timestamps.then_some(segment.echo);
        let may_grow = self.receiver.tune(now, &self.config, u64::from(segment.payload), echo);
        if self.receiver.times_acks() {
            self.time_ack(now, segment, expected, may_grow);
        }
        if self.receiver.holds_acks() {
            let taken = Taken {
                start: sequence,
                length: u64::from(segment.payload),
                timestamp: segment.timestamp,
                ends: segment.flags.contains(Flags::PSH) || segment.flags.contains(Flags::FIN),
                sack: self.agreed.sack,
                echo,
                srtt: self.sender.rtt().srtt(),
            };
            self.receiver.hold_back(now, &taken, expected);
        }
    }

    /// Decides when Linux acknowledges data, which lets the window grow or not.
    fn time_ack(&mut self, now: Time, segment: &Segment, expected: u64, may_grow: bool) {
        if self.agreed.ecn != Ecn::Off {
            self.receiver.note_markable(segment.is_ecn_capable());
            if self.agreed.ecn == Ecn::Classic && segment.flags.contains(Flags::CWR) {
                // The window of a sender that answers a mark may be very small
                // (`tcp_ecn_accept_cwr`).
                self.receiver.request_ack();
            }
        }
        let rtt = self.sender.rtt();
        let path = Path { srtt: rtt.srtt(), rto: rtt.rto(), least_rto: self.config.rto.min };
        let in_order = self.receiver.next() > expected;
        let push = segment.flags.contains(Flags::PSH);
        let length = u64::from(segment.payload);
        let arrived = Arrived { length, push, in_order, may_grow };
        self.receiver.time_ack(now, &self.config, path, arrived);
    }

    /// RFC 7323 section 4.3: remember the timestamp of the segment that the last ACK asked for,
    /// unless it is older than the one remembered.
    #[inline]
    pub(super) fn take_timestamp(&mut self, segment: &Segment, sequence: u64) {
        let is_newer = || segment.timestamp.wrapping_sub(self.recent_timestamp) as i32 >= 0;
        if self.agreed.timestamps && sequence <= self.last_ack_sent && is_newer() {
            self.recent_timestamp = segment.timestamp;
        }
    }

    /// A number between SND.UNA and SND.NXT is acknowledged.
    #[inline(always)]
    fn take_acknowledgement(&mut self, now: Time, segment: &Segment, sequence: u64, number: u64) {
        let window = u64::from(segment.window) << self.agreed.peer_shift;
        if segment.sack_blocks == 0 {
            if self.sender.knows_already(sequence, window) {
                return;
            }
            if !segment.flags.contains(Flags::ECE) && self.sender.is_plain_ack(number) {
                let round_trip = self.agreed.timestamps.then(|| round_trip(now, segment.echo));
                let advertised = (sequence, window);
                self.sender.on_plain_ack(now, &self.config, number, advertised, round_trip);
                return;
            }
        }
        self.take_other_acknowledgement(now, segment, sequence, number);
    }

    /// Not inlined, so that a [plain](crate::sender::Sender::is_plain_ack) ACK has the registers.
    #[inline(never)]
    fn take_other_acknowledgement(
        &mut self,
        now: Time,
        segment: &Segment,
        sequence: u64,
        number: u64,
    ) {
        // A connection that reports each mark has no ordinary segments.
        let marked = segment.flags.contains(Flags::ECE);
        let (ack, blocks) = self.read_acknowledgement(now, segment, sequence, number, marked);
        self.sender.on_acknowledgement(now, &self.config, ack, blocks);
    }

    /// The acknowledgement of a segment for the sending half, and its SACK blocks. `marked` is true
    /// if the segment reports a mark.
    #[inline(always)]
    pub(crate) fn read_acknowledgement<'a>(
        &self,
        now: Time,
        segment: &'a Segment,
        sequence: u64,
        number: u64,
        marked: bool,
    ) -> (Acknowledgement, Blocks<'a>) {
        let una = self.sender.stream().una;
        let mut blocks = segment.blocks();
        let mut needless = Range { start: 0, end: 0 };
        if self.agreed.dsack
            && let Some(twice) = reported_twice(segment)
        {
            needless = twice.unwrap(self.out, una).unwrap_or(needless);
            blocks = &blocks[1..];
        }
        let ack = Acknowledgement {
            number,
            window: u64::from(segment.window) << self.agreed.peer_shift,
            sequence,
            carries_data: segment.payload > 0 || segment.flags.contains(Flags::FIN),
            round_trip: (self.agreed.timestamps && number > una)
                .then(|| round_trip(now, segment.echo)),
            peer_clock: self.agreed.timestamps.then_some(segment.timestamp),
            marked: self.agreed.ecn != Ecn::Off && marked,
            needless,
            answers_probe: segment.options.contains(Options::PROBE_ANSWER),
            is_old: false,
        };
        (ack, Blocks { blocks, space: self.out, near: una })
    }
}

impl Connection {
    /// A segment has arrived.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        if self.is_established() {
            self.on_established_segment(now, segment);
        } else {
            self.on_handshake_segment(now, segment);
        }
    }

    #[inline(always)]
    pub(super) fn on_established_segment(&mut self, now: Time, segment: &Segment) {
        let Some(number) = self.halves.acknowledged_by_ordinary(segment) else {
            self.on_unusual_segment(now, segment);
            return;
        };
        self.watch.heard = now;
        let sequence = self.halves.receiver.next();
        self.halves.take_timestamp(segment, sequence);
        self.halves.take_acknowledgement(now, segment, sequence, number);
        if segment.payload > 0 {
            let length = u64::from(segment.payload);
            if self.halves.receiver.looks_at_segments() {
                self.halves.receiver.on_next_data_if_it_fits(now, &self.halves.config, length);
                self.halves.look_at_data(now, segment, sequence, sequence);
            } else {
                self.halves.receiver.on_next_data(now, &self.halves.config, length);
            }
        }
        let may_close = self.closing && self.halves.sender.stream().may_advance_close();
        if may_close || self.halves.receiver.finished() {
            self.advance_close(now, false);
        }
    }

    #[inline(never)]
    fn on_unusual_segment(&mut self, now: Time, segment: &Segment) {
        if let Some(mss) = segment.reported_mss() {
            self.halves.on_too_big(now, segment, mss);
            return;
        }
        let expected = self.halves.receiver.next();
        let Some(sequence) = self.halves.inward.unwrap(segment.sequence, expected) else { return };
        if segment.options.contains(Options::PROBE) {
            self.on_probe(now, segment, sequence);
            return;
        }
        if !self.accepts(now, segment, sequence) {
            return;
        }
        self.watch.heard = now;
        let fin = segment.flags.contains(Flags::FIN);
        if self.halves.agreed.ecn == Ecn::Classic && segment.flags.contains(Flags::CWR) {
            self.halves.report = Flags::default();
        }
        self.halves.take_timestamp(segment, sequence);
        self.take_unusual_acknowledgement(now, segment, sequence);
        if self.marks.is_some() {
            self.take_with_reports(now, segment, sequence, expected);
        } else {
            self.halves.take_data(now, segment, sequence, expected);
        }
        if self.closing || self.halves.receiver.finished() {
            self.advance_close(now, fin);
        }
    }

    /// The same for a connection that reports each mark, or what is missing.
    #[cold]
    fn take_with_reports(&mut self, now: Time, segment: &Segment, sequence: u64, expected: u64) {
        let Some(marks) = &mut self.marks else { return };
        let halves = &mut self.halves;
        let marked = reports_mark(Some(marks), halves.agreed.ecn, segment);
        if let Some(reports) = &mut marks.snack {
            reports.take_report(halves, now, segment, sequence, marked);
        }
        marks.take_ack_ratio(halves, segment);
        marks.count(halves, &mut self.urgent, now, segment);
        halves.take_data(now, segment, sequence, expected);
        if (segment.payload > 0 || segment.flags.contains(Flags::FIN))
            && let Some(reports) = &mut marks.snack
        {
            let is_over = self.state == State::Closed;
            reports.follow_data(halves, &mut self.slow_timer, is_over, now, segment, sequence);
        }
    }

    /// The acknowledgement number is unchecked except by [`accepts`](Self::accepts). For probes it
    /// is unchecked.
    pub(super) fn take_unusual_acknowledgement(
        &mut self,
        now: Time,
        segment: &Segment,
        sequence: u64,
    ) {
        let una = self.halves.sender.stream().una;
        let Some(number) = self.halves.out.unwrap(segment.acknowledgement, una) else { return };
        if let Some(marks) = &mut self.marks {
            marks.read_report(&mut self.halves, segment, number);
            marks.control_acks(&mut self.halves, &mut self.urgent, now, segment, number);
        }
        let marked = reports_mark(self.marks.as_deref(), self.halves.agreed.ecn, segment);
        let (ack, blocks) =
            self.halves.read_acknowledgement(now, segment, sequence, number, marked);
        let plain = segment.sack_blocks == 0 && !ack.answers_probe && number == una;
        if plain && self.halves.sender.knows_already(sequence, ack.window) {
            return;
        }
        if number < una {
            self.halves.sender.on_old_acknowledgement(now, &self.halves.config, &ack, blocks);
        } else if self.halves.sender.reaches(number) {
            self.halves.sender.on_acknowledgement(now, &self.halves.config, ack, blocks);
        }
    }
}

impl Halves {
    /// A router reports that its link takes no segment of more than `mss` bytes. The message quotes
    /// a segment of this end.
    #[cold]
    fn on_too_big(&mut self, now: Time, message: &Segment, mss: u16) {
        let quoted = self.out.unwrap(message.sequence, self.sender.stream().una);
        let options = self.agreed.option_bytes().into();
        self.sender.on_too_big(now, &self.config, quoted, mss.into(), options);
    }

    /// Returns true if the SACK blocks of a segment report something that was not known to have
    /// arrived.
    #[cold]
    pub(super) fn brings_sacks(&self, segment: &Segment) -> bool {
        let una = self.sender.stream().una;
        segment
            .blocks()
            .iter()
            .filter_map(|block| block.unwrap(self.out, una))
            .any(|block| self.sender.is_news(block))
    }
}

impl Connection {
    /// A gateway signals that a link of the route is out, or available again (SCMP). Only SCPS-TP
    /// takes it, with an open connection.
    #[cold]
    pub fn on_link_state(&mut self, now: Time, is_out: bool) {
        if self.is_established()
            && let Some((snack, core)) = self.halves.sender.snack_mut()
        {
            snack.on_link_state(core, now, is_out);
        }
    }

    /// A gateway signals that a link of the route has corrupted a packet (SCMP). Only SCPS-TP takes
    /// it, with an open connection.
    #[cold]
    pub fn on_corruption(&mut self, now: Time) {
        if self.is_established()
            && let Some((snack, core)) = self.halves.sender.snack_mut()
        {
            snack.on_corruption(core, now);
        }
    }

    /// Another connection between the same hosts has found the MTU of the path.
    #[cold]
    pub fn know_path(&mut self, known: KnownPath) {
        let options = self.halves.agreed.option_bytes().into();
        self.halves.sender.know_path(&self.halves.config, known, options);
    }

    /// Reports of routers about the path to this connection, if there are any.
    pub fn known_path(&self) -> Option<KnownPath> {
        self.halves.sender.known_path(self.halves.agreed.option_bytes().into())
    }
}

/// The first block of an ACK when it reports data that arrived twice: it lies below what is
/// acknowledged, or within the second block (RFC 2883 section 4).
fn reported_twice(segment: &Segment) -> Option<Block> {
    let before = |a: u32, b: u32| a.wrapping_sub(b) as i32 <= 0;
    let first = *segment.blocks().first()?;
    let within =
        |second: &Block| before(second.start, first.start) && before(first.end, second.end);
    let twice =
        before(first.end, segment.acknowledgement) || segment.blocks().get(1).is_some_and(within);
    twice.then_some(first)
}
