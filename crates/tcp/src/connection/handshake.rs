//! Set-up (RFC 9293 sections 3.5, 3.10.7.1 to 3.10.7.4).

use congestion::Ecn;
use transport::{AbortCause, Space};
use units::Time;

use crate::scps::Reports;
use crate::segment::{Flags, Options, Segment};
use crate::timestamps::{round_trip, timestamp};

use super::halves::Halves;
use super::{Connection, DEFAULT_MSS, State, Urgent};

impl Halves {
    fn acknowledges_syn(&self, segment: &Segment) -> bool {
        segment.flags.contains(Flags::ACK) && self.out.unwrap(segment.acknowledgement, 1) == Some(1)
    }

    /// Payload of a full segment that the other end may send, as far as that is known with a SYN.
    fn advertised_segment(&self, answers: bool) -> u64 {
        let options = if answers { self.agreed.option_bytes() } else { 0 };
        u64::from(self.config.mss - options)
    }

    /// Window of a SYN, or of one that answers another.
    fn window_of_syn(&self, answers: bool) -> u64 {
        self.config.first_window(self.advertised_segment(answers)).min(u64::from(u16::MAX))
    }
}

impl Connection {
    /// A segment arrived before the connection was open, or after it was closed.
    pub(super) fn on_handshake_segment(&mut self, now: Time, segment: &Segment) {
        // Nothing that is sent before the connection is open is too long for any link.
        if segment.reported_mss().is_some() {
            return;
        }
        match self.state {
            State::Closed => self.refuse(segment),
            State::Listen => self.on_segment_in_listen(segment),
            State::SynSent => self.on_segment_in_syn_sent(now, segment),
            _ => self.on_segment_in_syn_received(now, segment),
        }
    }

    /// RFC 9293 section 3.10.7.2.
    fn on_segment_in_listen(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if segment.flags.contains(Flags::ACK) {
            self.refuse(segment);
        } else if segment.flags.contains(Flags::SYN) {
            match &mut self.opening.hold {
                Some(hold) => {
                    let was_marked = self.marks.as_ref().is_some_and(|marks| marks.arrived_marked);
                    hold.keep(segment, was_marked);
                }
                None => self.answer_syn(segment),
            }
        }
    }

    /// RFC 9293 section 3.10.7.2, a SYN.
    pub(super) fn answer_syn(&mut self, segment: &Segment) {
        self.opening.passive = true;
        self.take_syn_options(segment);
        self.state = State::SynReceived;
        self.urgent = Urgent::Syn;
    }

    /// RFC 9293 section 3.10.7.3.
    fn on_segment_in_syn_sent(&mut self, now: Time, segment: &Segment) {
        let has_ack = segment.flags.contains(Flags::ACK);
        if has_ack && !self.halves.acknowledges_syn(segment) {
            self.refuse(segment);
        } else if segment.flags.contains(Flags::RST) {
            if has_ack {
                self.end_because(AbortCause::Reset);
                self.halves.sender.note_end(now);
            }
        } else if segment.flags.contains(Flags::SYN) {
            self.take_syn_options(segment);
            if has_ack {
                self.establish(now, segment, u64::from(segment.window));
                self.halves.receiver.request_ack();
                self.finish_if_closed();
            } else {
                // Both ends have opened at once (section 3.5).
                self.state = State::SynReceived;
                self.urgent = Urgent::Syn;
            }
        }
    }

    /// RFC 9293 section 3.10.7.4.
    fn on_segment_in_syn_received(&mut self, now: Time, segment: &Segment) {
        let syn = segment.flags.contains(Flags::SYN);
        let has_ack = segment.flags.contains(Flags::ACK);
        let next = self.halves.receiver.next();
        let Some(sequence) = self.halves.inward.unwrap(segment.sequence, next) else { return };
        if syn && !has_ack {
            // The answer to it was lost.
            if sequence == 0 {
                self.urgent = Urgent::Syn;
            }
            return;
        }
        // The SYN with ACK of an end that has opened at once lies before the window.
        let lowest = if syn { 0 } else { next };
        if sequence < lowest || sequence > self.halves.receiver.right_edge() {
            self.answer_what_is_out_of_place(now, segment);
            return;
        }
        if segment.flags.contains(Flags::RST) {
            if sequence == next {
                self.end_set_up_by_reset();
                self.halves.sender.note_end(now);
            }
            return;
        }
        if !has_ack {
            return;
        }
        if !self.halves.acknowledges_syn(segment) {
            self.refuse(segment);
            return;
        }
        // The window of a SYN is never scaled (RFC 7323 section 2.2).
        let shift = if syn { 0 } else { self.halves.agreed.peer_shift };
        if self.opening.passive
            && let Some(marks) = &mut self.marks
        {
            marks.take_first_ack(&mut self.halves.agreed, segment);
        }
        self.establish(now, segment, u64::from(segment.window) << shift);
        self.on_established_segment(now, segment);
        self.finish_if_closed();
    }

    /// The application has closed before the connection was open.
    fn finish_if_closed(&mut self) {
        if self.closing {
            self.finish();
        }
    }

    /// A reset during the set-up: who has listened listens again (RFC 9293 section 3.10.7.4).
    fn end_set_up_by_reset(&mut self) {
        if self.opening.passive {
            self.forget();
            self.state = State::Listen;
        } else {
            self.end_because(AbortCause::Reset);
        }
    }

    /// Options count only if both ends offer them (RFC 7323 sections 2.2 and 3.2, RFC 2018
    /// section 2).
    fn take_syn_options(&mut self, segment: &Segment) {
        self.halves.inward = Space::new(segment.sequence);
        self.halves.receiver.syn_received();
        self.halves.agreed.peer_mss = segment.mss;
        self.halves.agreed.timestamps &= segment.has_timestamps();
        self.halves.recent_timestamp = segment.timestamp;
        self.halves.agreed.sack &= segment.sack_permitted();
        self.halves.agreed.dsack &= self.halves.agreed.sack;
        if self.halves.config.scps.is_some() {
            let mut absent = None;
            let reports = self.marks.as_mut().map_or(&mut absent, |marks| &mut marks.snack);
            Reports::agree(reports, &mut self.halves.sender, segment);
        }
        if self.halves.agreed.ecn != Ecn::Off {
            self.halves.agree_on_ecn(self.marks.as_deref_mut(), segment);
        }
        let halves = &mut self.halves;
        self.marks.take_if(|marks| !marks.agree_on_ack_control(halves, segment));
        self.halves.agreed.scaling &= segment.window_scale != Segment::NO_SCALE;
        if self.halves.agreed.scaling {
            self.halves.agreed.peer_shift = segment.window_scale.min(14);
            self.halves.agreed.shift = self.halves.config.window_shift();
            self.halves.agreed.window_limit = u64::from(u16::MAX) << self.halves.agreed.shift;
        }
    }

    fn establish(&mut self, now: Time, segment: &Segment, window: u64) {
        self.state = State::Established;
        let peer_mss = if self.halves.agreed.peer_mss == 0 {
            DEFAULT_MSS
        } else {
            u32::from(self.halves.agreed.peer_mss)
        };
        let options = self.halves.agreed.option_bytes();
        let mss = u64::from(self.halves.config.mss.min(peer_mss) - options);
        let offered = self.halves.window_of_syn(self.opening.passive);
        self.halves.receiver.open(now, mss, offered, self.halves.agreed.shift);
        let echoed = self.halves.agreed.timestamps.then(|| round_trip(now, segment.echo));
        if !self.halves.agreed.sack {
            self.halves.sender.do_without_sack();
        }
        if self.halves.config.scps.is_some() {
            match self.marks.as_mut().and_then(|marks| marks.snack.as_mut()) {
                Some(reports) => reports.begin(self.halves.agreed.ecn, mss),
                None => self.halves.sender.do_without_snack(),
            }
        }
        self.halves.sender.syn_acknowledged(
            now,
            &self.halves.config,
            mss,
            window,
            self.opening.syns,
            echoed,
        );
        if self.marks.as_ref().is_some_and(|marks| marks.set_up_was_marked) {
            self.halves.sender.begin_with_one_segment();
        }
        self.halves.recent_timestamp = segment.timestamp;
        self.watch.begin(&self.halves.config, &mut self.slow_timer, now);
        self.halves.sender.agree_on_ecn(self.halves.agreed.ecn);
    }

    pub(super) fn next_syn(&mut self, now: Time) -> Option<Segment> {
        self.urgent = Urgent::Nothing;
        let answer = self.state == State::SynReceived;
        self.opening.syns += 1;
        self.halves.sender.syn_sent(now, &self.halves.config, self.opening.syns > 1);
        #[expect(clippy::cast_possible_truncation, reason = "no more than the largest")]
        let window = self.halves.window_of_syn(answer) as u16;
        #[expect(clippy::cast_possible_truncation, reason = "a packet has at most 65535 bytes")]
        let mss = self.halves.config.mss as u16;
        let flags = self.halves.bits_of_syn(self.marks.as_deref(), answer);
        let controls_acks = self.marks.as_ref().is_some_and(|marks| marks.acks.is_some());
        let offers_ack_ratio = self.halves.config.ack_control && (controls_acks || !answer);
        let mut segment = Segment {
            sequence: self.halves.out.wrap(0),
            flags: Flags::SYN.with(flags),
            window,
            mss,
            window_scale: if self.halves.agreed.scaling {
                self.halves.config.window_shift()
            } else {
                Segment::NO_SCALE
            },
            options: Options::default()
                .with_if(self.halves.agreed.sack, Options::SACK_PERMITTED)
                .with_if(self.halves.agreed.timestamps, Options::TIMESTAMPS)
                .with_if(offers_ack_ratio, Options::ACK_RATIO)
                .with_if(self.halves.config.scps.is_some(), Options::SNACK)
                .with_if(self.halves.config.offers_best_effort(), Options::BEST_EFFORT),
            timestamp: timestamp(now),
            ..Segment::default()
        };
        if answer {
            segment.flags = segment.flags.with(Flags::ACK);
            segment.acknowledgement = self.halves.inward.wrap(1);
            segment.echo = self.halves.recent_timestamp;
            self.halves.last_ack_sent = 1;
        }
        Some(segment)
    }
}
