//! Reports of each mark, and not only of one in a round trip: those of DCTCP (RFC 8257 section 3.2)
//! and accurate ECN (RFC 9768, in `accurate_ecn`). Congestion control of ACKs (`ack_control`) looks
//! at each segment too.
//!
//! A connection with one of them takes no segment for an ordinary one. So others do not pay for it.

use congestion::Ecn;
use transport::Endpoint;
use units::Time;

use crate::accurate_ecn::{self, Answer, CodePoint, Known, Received, Report};
use crate::ack_congestion::AckRatio;
use crate::config::Config;
use crate::scps::Reports;
use crate::segment::{Flags, Options, Segment};

use super::halves::{Agreed, Halves};
use super::{Connection, Urgent};

/// State of these reports, in a box that other connections do not have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// The segment that is being taken in was marked.
    pub(super) arrived_marked: bool,
    /// An ACK of what arrived before the marks began or ended, or one with an ACK ratio.
    pub(super) earlier: Option<Segment>,
    /// Congestion control of ACKs; `None` if one of the ends does not have it.
    pub(super) acks: Option<AckRatio>,
    received: Received,
    known: Known,
    /// AE, CWR and ECE of the first ACK: how the SYN with ACK arrived.
    first_ack: Option<u8>,
    /// The same bits, for later: how the first SYN of the other end arrived.
    set_up: u8,
    /// The segment that is being taken in has said how the SYN with ACK arrived, and counts
    /// nothing.
    in_set_up: bool,
    /// The other end has reported that the SYN, or the SYN with ACK, was marked.
    pub(super) set_up_was_marked: bool,
    /// Reports of the other end are not to be trusted.
    ignores_reports: bool,
    /// The bytes that the ACK that is being taken in reports as marked.
    found: u64,
    /// TSval of the latest ACK that was read.
    clock: u32,
    /// Reports of what is missing: they have nothing to do with marks, but are as rare.
    pub(crate) snack: Option<Reports>,
}

impl Marks {
    /// `None` for a connection without such reports.
    pub(super) fn new(ecn: Ecn, config: &Config) -> Option<Box<Self>> {
        let is_needed = ecn.reports_each_mark() || config.ack_control || config.scps.is_some();
        let snack = Reports::of(config);
        is_needed.then(|| Box::new(Self { snack, ..Self::default() }))
    }
}

/// AE, CWR and ECE as one number.
fn bits_of(segment: &Segment) -> u8 {
    let accurate = u8::from(segment.flags.contains(Flags::AE));
    let echo = u8::from(segment.flags.contains(Flags::ECE));
    accurate << 2 | u8::from(segment.flags.contains(Flags::CWR)) << 1 | echo
}

/// AE, CWR and ECE of a number.
fn report(bits: u8) -> Flags {
    Flags::default()
        .with_if(bits & 0b001 != 0, Flags::ECE)
        .with_if(bits & 0b010 != 0, Flags::CWR)
        .with_if(bits & 0b100 != 0, Flags::AE)
}

/// Returns true if the segment that is being taken in reports a mark.
#[inline]
pub(super) fn reports_mark(marks: Option<&Marks>, ecn: Ecn, segment: &Segment) -> bool {
    match marks {
        Some(marks) if ecn.is_accurate() => marks.found > 0,
        _ => segment.flags.contains(Flags::ECE),
    }
}

impl Halves {
    /// Agreement of both ends after a SYN or a SYN with ACK (RFC 3168 section 6.1.1, RFC 9768
    /// section 3.1).
    pub(super) fn agree_on_ecn(&mut self, mut marks: Option<&mut Marks>, segment: &Segment) {
        let answer = segment.flags.contains(Flags::ACK);
        let bits = bits_of(segment);
        let offered = self.agreed.ecn;
        let accurate = match (offered.is_accurate(), answer) {
            (false, _) => None,
            (true, false) => accurate_ecn::asks(bits).then_some(None),
            (true, true) => match Answer::read(bits) {
                Answer::Accurate(arrived) => Some(Some(arrived)),
                Answer::Classic | Answer::Without => None,
            },
        };
        if let Some(said) = accurate {
            if let Some(marks) = marks.as_deref_mut() {
                let arrived = marks.code_point(segment);
                marks.first_ack = Some(arrived.in_set_up());
                marks.set_up = arrived.in_set_up();
                if let Some(said) = said {
                    marks.received.count_answer(arrived);
                    marks.set_up_was_marked = said == CodePoint::Ce;
                }
            }
        } else {
            // A SYN asks with both bits, and a SYN with ACK agrees with the first alone.
            let agrees =
                segment.flags.contains(Flags::ECE) && segment.flags.contains(Flags::CWR) != answer;
            self.agreed.ecn = match offered {
                _ if !agrees => Ecn::Off,
                Ecn::EachMark => Ecn::EachMark,
                _ => Ecn::Classic,
            };
        }
        self.agreed.ect = Options::default()
            .with_if(self.agreed.ecn != Ecn::Off, Options::ECN_CAPABLE)
            .with_if(self.agreed.ecn == Ecn::LowLatency, Options::LOW_LATENCY);
        if let Some(marks) = marks {
            marks.write_field(self);
        }
    }

    /// The bits by which a SYN asks or answers.
    pub(super) fn bits_of_syn(&self, marks: Option<&Marks>, answer: bool) -> Flags {
        let classic = Flags::default()
            .with_if(self.agreed.ecn != Ecn::Off, Flags::ECE)
            .with_if(self.agreed.ecn != Ecn::Off && !answer, Flags::CWR);
        match marks {
            Some(marks) if self.agreed.ecn.is_accurate() && answer => {
                report(marks.first_ack.unwrap_or(CodePoint::NotEct.in_set_up()))
            }
            Some(_) if self.agreed.ecn.is_accurate() => report(0b111),
            _ => classic,
        }
    }
}

impl Marks {
    fn code_point(&self, segment: &Segment) -> CodePoint {
        if self.arrived_marked {
            CodePoint::Ce
        } else if segment.is_low_latency() {
            CodePoint::Ect1
        } else if segment.is_ecn_capable() {
            CodePoint::Ect0
        } else {
            CodePoint::NotEct
        }
    }

    /// The other end has opened the connection with this segment (RFC 9768 section 3.2.2.1, table
    /// 4).
    pub(super) fn take_first_ack(&mut self, agreed: &mut Agreed, segment: &Segment) {
        let is_bare = segment.payload == 0 && segment.sack_blocks == 0;
        if !agreed.ecn.is_accurate() || !is_bare {
            return;
        }
        self.in_set_up = true;
        let bits = bits_of(segment);
        self.ignores_reports = bits == 0;
        if let Answer::Accurate(arrived) = Answer::read(bits) {
            self.known.take_set_up(arrived);
            self.set_up_was_marked = arrived == CodePoint::Ce;
        }
        if self.ignores_reports {
            agreed.ect = Options::default();
        }
    }

    /// A segment is about to be taken in.
    pub(super) fn count(
        &mut self,
        halves: &mut Halves,
        urgent: &mut Urgent,
        now: Time,
        segment: &Segment,
    ) {
        let arrived = self.code_point(segment);
        if halves.agreed.ecn == Ecn::EachMark {
            if segment.payload > 0 {
                self.follow_mark(halves, urgent, now, arrived == CodePoint::Ce);
            }
        } else if halves.agreed.ecn.is_accurate() {
            let unacknowledged = halves.receiver.has_delayed_ack();
            if self.received.count(arrived, segment.payload.into(), unacknowledged) {
                halves.receiver.request_ack();
            }
            self.write_field(halves);
        }
    }

    /// RFC 8257 section 3.2: ACKs say whether the data that they acknowledge was marked. So where
    /// that changes, what has arrived before is acknowledged before, and the change at once.
    fn follow_mark(&mut self, halves: &mut Halves, urgent: &mut Urgent, now: Time, marked: bool) {
        if halves.report.contains(Flags::ECE) == marked {
            return;
        }
        if halves.receiver.has_delayed_ack() && *urgent == Urgent::Nothing {
            self.earlier = Some(halves.bare_segment(now));
            *urgent = Urgent::Earlier;
        }
        halves.report = Flags::default().with_if(marked, Flags::ECE);
        halves.receiver.request_ack();
    }

    /// The other end has sent its SYN again: the ACK that opens the connection was lost. With
    /// accurate ECN the answer at once says how the first one arrived, as that ACK did
    /// (`tcp_validate_incoming` of Linux): the other end would take a count for that. Returns
    /// whether there is such an answer.
    #[cold]
    pub(super) fn reports_set_up_again(
        &mut self,
        halves: &mut Halves,
        urgent: &mut Urgent,
        now: Time,
    ) -> bool {
        if !halves.agreed.ecn.is_accurate() || *urgent != Urgent::Nothing {
            return false;
        }
        let mut answer = halves.bare_segment(now);
        answer.flags = Flags::ACK.with(report(self.set_up));
        self.earlier = Some(answer);
        *urgent = Urgent::Earlier;
        true
    }

    /// ACE of the segments to come.
    fn write_field(&self, halves: &mut Halves) {
        if halves.agreed.ecn.is_accurate() {
            halves.report = report(self.received.field());
        }
    }

    /// An ACK without data, which is about to leave, with what it reports. `passive` is true if the
    /// other end has opened the connection.
    #[cold]
    #[inline(never)]
    pub(super) fn complete(
        &mut self,
        halves: &mut Halves,
        passive: bool,
        now: Time,
        mut segment: Segment,
    ) -> Segment {
        self.let_ack_be_marked(&halves.agreed, &mut segment);
        if let Some(reports) = &mut self.snack {
            reports.report_hole(halves, now, &mut segment);
        }
        if !halves.agreed.ecn.is_accurate() {
            return segment;
        }
        let opens = halves.sender.stream().max == 1 && !passive;
        self.received.on_reported();
        if let Some(bits) = self.first_ack.take().filter(|_| opens) {
            segment.flags = Flags::ACK.with(report(bits));
            return segment;
        }
        if let Some((counters, low_latency)) = self.received.take_counters() {
            let most = if halves.agreed.timestamps { 2 } else { 3 };
            segment.sack_blocks = segment.sack_blocks.min(most);
            segment.set_counters(counters);
            segment.options = segment.options.with_if(low_latency, Options::LOW_LATENCY);
        }
        segment
    }

    /// Reads what an ACK that acknowledges everything before `number` reports.
    pub(super) fn read_report(&mut self, halves: &mut Halves, segment: &Segment, number: u64) {
        let (una, mss) = (halves.sender.stream().una, halves.sender.stream().mss);
        self.found = 0;
        let in_set_up = std::mem::take(&mut self.in_set_up);
        if !halves.agreed.ecn.is_accurate() {
            return;
        }
        halves.sender.note_marked_bytes(0);
        if in_set_up || self.ignores_reports {
            return;
        }
        let timestamps = halves.agreed.timestamps;
        let is_newer = timestamps && segment.timestamp.wrapping_sub(self.clock) as i32 > 0;
        // Without timestamps a SACK of news shows it (appendix A.1).
        let brings_news = || number == una && halves.brings_sacks(segment);
        if number <= una && !is_newer && (timestamps || !brings_news()) {
            // It may have been overtaken.
            return;
        }
        self.clock = segment.timestamp;
        let (field, counters) = (bits_of(segment), segment.counters());
        let acked = number.saturating_sub(una);
        self.found = self.known.take(Report { field, counters, acked, mss });
        halves.sender.note_marked_bytes(self.found);
    }
}

impl Connection {
    /// A segment has arrived that was marked on its way (CE, RFC 3168 section 5).
    #[cold]
    pub fn on_marked_segment(&mut self, now: Time, segment: &Segment) {
        let is_ack = self.marks.as_ref().is_some_and(|marks| marks.is_marked_ack(segment));
        if self.is_established() && self.halves.agreed.ecn == Ecn::Classic && !is_ack {
            self.on_marked_data(now, segment);
            return;
        }
        self.take_marked_segment(now, segment);
        let is_ack = self.marks.as_ref().is_some_and(|marks| marks.is_marked_ack(segment));
        let counts_marks = self.marks.is_some() && self.halves.agreed.ecn.reports_each_mark();
        if !counts_marks && !is_ack {
            self.on_congestion_experienced();
        }
    }

    /// CWR of a segment answers earlier marks, its own mark comes after that, and its ACK is due
    /// after both (`tcp_ecn_accept_cwr`, `tcp_ecn_check_ce`, `tcp_ack_snd_check` of Linux).
    fn on_marked_data(&mut self, now: Time, segment: &Segment) {
        if segment.flags.contains(Flags::CWR) {
            self.halves.report = Flags::default();
        }
        self.on_congestion_experienced();
        let report = self.halves.report;
        self.take_marked_segment(now, segment);
        self.halves.report = report;
    }

    fn take_marked_segment(&mut self, now: Time, segment: &Segment) {
        if let Some(marks) = &mut self.marks {
            marks.arrived_marked = true;
        }
        self.on_segment(now, segment);
        if let Some(marks) = &mut self.marks {
            marks.arrived_marked = false;
        }
    }
}
