//! What only some connections need: feedback on each ACK, records of segments, pacing, and the
//! state of an earlier connection.

use congestion::{CarefulResume, Controller, Feedback, Needs, SavedPath, Sent, Window};
use units::{Span, Time};

use crate::ranges::Range;

use super::acknowledge::Acknowledgement;
use super::delivery::Delivery;
use super::probes::Probes;
use super::{HeldBy, Phase, Sender};

/// Kept in a box and only for connections that ask for any of it.
#[derive(Clone, Debug)]
pub(super) struct Instruments {
    needs: Needs,
    delivery: Delivery,
    /// The earliest time at which the next segment may leave.
    next_departure: Time,
    /// A segment waits for that time; [`Time::NEVER`] while none does.
    waiting_until: Time,
    /// For controllers that send probes.
    pub(super) probes: Option<Probes>,
    /// The controller saw a loss in the ACK that is being processed.
    saw_loss: bool,
    resume: Option<CarefulResume>,
}

impl Instruments {
    /// The instruments that a controller needs, if any, and what resumes an earlier connection.
    pub(super) fn new(needs: Needs, saved: Option<SavedPath>) -> Option<Box<Self>> {
        let resume = saved.map(CarefulResume::new);
        let needs = if resume.is_some() { needs.or(CarefulResume::needs()) } else { needs };
        let instruments = Self {
            needs,
            resume,
            delivery: Delivery::default(),
            next_departure: Time::ZERO,
            waiting_until: Time::NEVER,
            probes: needs.probes.then(Probes::new),
            saw_loss: false,
        };
        let measures = needs.feedback || needs.records || needs.pacing || needs.probes;
        measures.then(|| Box::new(instruments))
    }

    fn resumed_rate(&self) -> Option<f64> {
        self.resume.as_ref()?.pacing_rate()
    }

    /// When a segment that pacing holds back may leave, or a probe is due.
    pub(super) fn deadline(&self) -> Time {
        let probe = self.probes.as_ref().map_or(Time::NEVER, |probes| probes.due);
        self.waiting_until.min(probe)
    }

    /// Whether it was pacing or a probe that set the timer which expires now.
    pub(super) fn release(&mut self, now: Time) -> bool {
        let due = self.deadline() <= now;
        if due {
            self.waiting_until = Time::NEVER;
            if let Some(probes) = &mut self.probes {
                probes.due = Time::NEVER;
            }
        }
        due
    }
}

impl Sender {
    /// Whether the controller asked for any of this.
    #[inline]
    pub(crate) fn has_instruments(&self) -> bool {
        self.instruments.is_some()
    }

    /// Whether pacing holds back whatever would be sent now.
    #[inline]
    pub(super) fn is_held_by_pacing(&mut self, now: Time) -> bool {
        self.instruments.is_some() && self.waits_for_departure(now)
    }

    /// The rate follows from cwnd, so it is cwnd that limits a sender held by pacing.
    fn waits_for_departure(&mut self, now: Time) -> bool {
        let Some(instruments) = &mut self.instruments else { return false };
        if instruments.next_departure <= now {
            return false;
        }
        instruments.waiting_until = instruments.next_departure;
        self.held_by = HeldBy::CongestionWindow;
        true
    }

    /// A segment leaves, new or again. To be called before anything counts it as sent.
    #[inline]
    pub(super) fn note_sending(&mut self, now: Time, range: Range, again: bool) {
        if self.instruments.is_some() {
            self.record_sending(now, range, again);
        }
    }

    fn record_sending(&mut self, now: Time, range: Range, again: bool) {
        let pipe_before = self.scoreboard.pipe(self.una, self.max);
        let Some(instruments) = &mut self.instruments else { return };
        let bytes = range.len();
        if let Some(probes) = &mut instruments.probes {
            probes.last = range;
        }
        if instruments.needs.records {
            if again {
                instruments.delivery.on_again(now, range, pipe_before);
            } else {
                instruments.delivery.on_new(now, bytes, range.end, pipe_before);
            }
        }
        if instruments.needs.feedback {
            let sent = self.max.max(range.end);
            self.controller.on_sent(&Sent { now, bytes, again, sent, pipe_before });
        }
        if instruments.needs.pacing
            && let Some(rate) = instruments.resumed_rate().or(self.controller.pacing_rate())
        {
            let gap = Span::from_secs_f64(bytes as f64 / rate);
            instruments.next_departure = instruments.next_departure.max(now) + gap;
        }
        if !again && let Some(resume) = &mut instruments.resume {
            resume.on_sent(range.end - self.una, range.end, self.controller.window_mut());
        }
    }

    /// Everything that the application has written is sent, and the windows would take more.
    #[inline]
    pub(super) fn note_application_limit(&mut self) {
        if self.instruments.is_some() {
            self.record_application_limit();
        }
    }

    fn record_application_limit(&mut self) {
        let pipe = self.scoreboard.pipe(self.una, self.max);
        let room = self.controller.window().cwnd >= pipe + self.mss;
        if let Some(instruments) = &mut self.instruments
            && instruments.needs.records
            && room
        {
            instruments.delivery.on_app_limited(pipe);
        }
    }

    /// A SACK block is about to enter the scoreboard.
    #[inline]
    pub(super) fn note_sack_block(&mut self, now: Time, block: Range) {
        if self.instruments.is_some() {
            self.record_sack_block(now, block);
        }
    }

    fn record_sack_block(&mut self, now: Time, block: Range) {
        let Some(instruments) = &mut self.instruments else { return };
        if instruments.needs.records {
            for news in self.scoreboard.holes(block.start, block.end) {
                instruments.delivery.on_sacked(now, news);
            }
        }
    }

    /// Everything up to `una` is acknowledged and about to leave the scoreboard.
    #[inline]
    pub(super) fn note_acknowledgement(&mut self, now: Time, before: u64, una: u64) {
        if self.instruments.is_some() {
            self.record_acknowledgement(now, before, una);
        }
    }

    fn record_acknowledgement(&mut self, now: Time, before: u64, una: u64) {
        let Some(instruments) = &mut self.instruments else { return };
        if instruments.needs.records {
            let news = self.scoreboard.holes(before, una).map(Range::len).sum();
            instruments.delivery.on_acknowledged(now, una, news);
        }
    }

    /// What lies between two positions and is not sacked was found to be lost.
    #[inline]
    pub(super) fn note_losses(&mut self, now: Time, from: u64, to: u64) {
        if self.instruments.is_some() {
            self.record_losses(now, from, to);
        }
    }

    fn record_losses(&mut self, now: Time, from: u64, to: u64) {
        let Some(instruments) = &mut self.instruments else { return };
        if instruments.needs.records {
            let controller = &mut self.controller;
            for hole in self.scoreboard.holes(from, to) {
                instruments.delivery.on_lost(now, hole, |lost| controller.on_segment_lost(lost));
            }
        }
    }

    /// Tells the controller about an ACK, if it needs to know.
    #[inline]
    pub(super) fn give_feedback(
        &mut self,
        now: Time,
        ack: &Acknowledgement,
        acked: u64,
        sacked: u64,
        duplicate: bool,
    ) {
        if self.instruments.is_some() {
            self.describe_ack(now, ack, acked, sacked, duplicate);
        }
    }

    fn describe_ack(
        &mut self,
        now: Time,
        ack: &Acknowledgement,
        acked: u64,
        sacked: u64,
        duplicate: bool,
    ) {
        let Some(instruments) = &mut self.instruments else { return };
        if !instruments.needs.feedback {
            return;
        }
        let min_rtt = self.rtt.min();
        let feedback = Feedback {
            now,
            acked,
            sacked,
            duplicate,
            recovering: self.phase != Phase::Open,
            round_trip: ack.round_trip,
            srtt: self.rtt.srtt(),
            min_rtt,
            acknowledged: self.una,
            sent: self.max,
            pipe: self.scoreboard.pipe(self.una, self.max),
            advertised: self.advertised,
            peer_clock: ack.peer_clock,
            marked: ack.marked,
            needless: ack.needless,
            head_sent: instruments.delivery.head_sent(),
            rate: instruments.delivery.take_sample(min_rtt),
        };
        if let Some(resume) = &mut instruments.resume {
            resume.on_feedback(&feedback, self.controller.window_mut());
        }
        self.controller.on_feedback(&feedback);
        instruments.saw_loss = self.controller.finds_loss(&feedback);
    }

    /// What resumes an earlier connection, if anything does, and the window that it overrides.
    #[inline]
    pub(super) fn resume(&mut self) -> Option<(&mut CarefulResume, &mut Window)> {
        let resume = self.instruments.as_mut()?.resume.as_mut()?;
        Some((resume, self.controller.window_mut()))
    }

    /// Whether the controller saw a loss in this ACK, before the duplicate threshold was reached.
    #[inline]
    pub(super) fn controller_saw_loss(&mut self) -> bool {
        let saw = |instruments: &mut Box<Instruments>| std::mem::take(&mut instruments.saw_loss);
        self.instruments.as_mut().is_some_and(saw)
    }
}
