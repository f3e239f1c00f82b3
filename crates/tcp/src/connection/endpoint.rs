//! A connection as an endpoint of any transport.

use congestion::{Controller, Ecn};
use sketch::Sketch;
use transport::{AbortCause, Counters, Endpoint, Limits, Sample, Written};
use units::Time;
use wire::feedback::Field;

use crate::receiver::QUICK_AFTER_MARK;
use crate::segment::{Flags, Segment};

use super::{Connection, State, Urgent};

impl Endpoint for Connection {
    type Packet = Segment;

    #[inline]
    fn connect(&mut self) {
        if self.halves.agreed.ecn == Ecn::Passive {
            self.halves.agreed.ecn = Ecn::Off;
        }
        self.state = State::SynSent;
        self.urgent = Urgent::Syn;
    }

    #[inline]
    fn listen(&mut self) {
        self.state = State::Listen;
    }

    #[inline]
    fn on_congestion_experienced(&mut self) {
        if self.halves.agreed.ecn == Ecn::Off {
            return;
        }
        if self.halves.report == Flags::default() {
            self.halves.receiver.hurry_acks(QUICK_AFTER_MARK);
        }
        self.halves.report = Flags::ECE;
    }

    /// Returns true if there may be a segment to send. A third of the connections that have just
    /// received one have none.
    #[inline]
    fn may_send(&self) -> bool {
        self.urgent != Urgent::Nothing
            || self.halves.receiver.ack_is_due()
            || self.halves.sender.has_work()
            || self.may_have_low_priority()
    }

    #[inline]
    fn may_have_low_priority(&self) -> bool {
        self.peer_probes.unanswered > 0 || self.halves.sender.may_probe()
    }

    /// The next segment of low priority to be sent, if there is one: an answer to a probe of the
    /// other end, or a probe. Queues may drop both: neither is the ACK that is due.
    #[cold]
    fn next_of_low_priority(&mut self, now: Time) -> Option<Segment> {
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

    #[inline]
    fn deadline(&self) -> Time {
        self.halves.sender.deadline().min(self.halves.receiver.deadline()).min(self.slow_timer)
    }

    fn on_deadline(&mut self, now: Time) {
        self.halves.sender.note_waiting_data();
        if self.halves.receiver.deadline() <= now {
            self.halves.receiver.on_deadline(self.halves.sender.rtt().rto());
        }
        if self.slow_timer <= now {
            self.on_slow_timer(now);
        }
        if self.halves.sender.deadline() <= now {
            if matches!(self.state, State::SynSent | State::SynReceived) {
                let opens = self.state == State::SynSent;
                self.halves.sender.on_syn_timeout(now, &self.halves.config, opens);
                self.urgent = Urgent::Syn;
            } else {
                self.halves.sender.on_deadline(now, &self.halves.config, self.watch.heard);
            }
            if let Some(cause) = self.halves.sender.timers().gave_up() {
                self.cause = Some(cause);
                self.halves.sender.note_end(now);
                self.state = State::Closed;
                self.urgent = Urgent::Nothing;
                self.slow_timer = Time::NEVER;
                self.halves.receiver.ack_sent();
            }
        }
    }

    #[inline]
    fn write(&mut self, bytes: u64) {
        debug_assert!(!self.closing, "nothing can be written after close");
        self.halves.sender.write(&self.halves.config, bytes);
    }

    /// The application takes back what was never sent, even after [`close`](Self::close). Returns
    /// the length of what remains of its stream.
    #[inline]
    fn withdraw(&mut self) -> u64 {
        self.halves.sender.withdraw(&self.halves.config)
    }

    #[inline]
    fn read(&mut self, bytes: u64) {
        self.halves.receiver.read(&self.halves.config, bytes.min(self.halves.receiver.unread()));
    }

    #[inline]
    fn unread(&self) -> u64 {
        self.halves.receiver.unread()
    }

    /// Bytes that the application has read so far: each byte of the other end's stream once,
    /// bytes of skipped holes included ([`LeftOut::skipped`](crate::LeftOut::skipped)).
    #[inline]
    fn delivered(&self) -> u64 {
        self.halves.receiver.delivered()
    }

    /// The application will write no more: a FIN follows the data. Before the set-up is complete it
    /// waits for it; an application that gives the connection up instead (CLOSE in SYN-SENT, RFC
    /// 9293 section 3.10.4) calls [`abort`](Self::abort), which then sends nothing.
    #[inline]
    fn close(&mut self) {
        if !std::mem::replace(&mut self.closing, true) {
            self.finish();
        }
    }

    /// Why the connection ended before its time, if it did: the other end does not answer (RFC 9293
    /// sections 3.8.3 and 3.8.4), or one of the ends has reset it (section 3.5.2).
    #[inline]
    fn abort_cause(&self) -> Option<AbortCause> {
        self.cause
    }

    #[inline]
    fn counters(&self) -> &Counters {
        self.halves.sender.counters()
    }

    // The loops of a run over TCP and of one over several protocols call it. It would be a call in
    // both.
    #[inline(always)]
    fn on_packet(&mut self, now: Time, packet: &Segment) {
        self.on_segment(now, packet);
    }

    fn on_marked_packet(&mut self, now: Time, packet: &Segment) {
        self.on_marked_segment(now, packet);
    }

    fn next_packet(&mut self, now: Time) -> Option<Segment> {
        let mut segment = Segment::default();
        let written = self.write_segment::<false>(now, &mut segment);
        (written != Written::Nothing).then_some(segment)
    }

    #[inline(always)]
    fn write_packet(&mut self, now: Time, packet: &mut Segment) -> Written {
        self.write_segment::<true>(now, packet)
    }

    fn take_field(&mut self, segment: &Segment) -> Field {
        self.halves.sender.take_field(segment)
    }

    fn on_field(&mut self, now: Time, field: &Field) {
        self.halves.sender.on_field(now, field);
    }

    fn rtt_samples(&self) -> &Sketch {
        self.rtt().samples()
    }

    fn limits(&self, now: Time) -> Option<Limits> {
        Some(self.halves.sender.limits(now))
    }

    fn sample(&self) -> Sample {
        let window = self.controller().window();
        Sample {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            flight: self.flight(),
            srtt: self.rtt().srtt(),
            min_rtt: self.rtt().min(),
            rto: self.rtt().rto(),
        }
    }
}
