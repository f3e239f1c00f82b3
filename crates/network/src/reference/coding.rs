//! FEC in the reference engine: the two ends are the state machines of the fast engine, and what
//! happens between them is an event each.

use link::{Accepted, CodedFrame, Decoder, Encoder, FecCounters, FecSettings};
use units::Time;

use super::{Kind, Load, ReferenceNetwork};
use crate::fabric::Packet;

/// Both ends of FEC.
#[derive(Clone, Debug)]
pub(super) struct Coding {
    pub encoder: Encoder,
    decoder: Decoder,
    /// The last times for which their timers have an event.
    timer: Time,
    hold: Time,
}

impl Coding {
    pub fn new(fec: FecSettings) -> Self {
        Self {
            encoder: Encoder::new(fec),
            decoder: Decoder::new(fec),
            timer: Time::NEVER,
            hold: Time::NEVER,
        }
    }

    pub fn counters(&self) -> FecCounters {
        self.decoder.counters(self.encoder.counters())
    }
}

impl<B: Clone> ReferenceNetwork<B> {
    /// A packet of a block was sent.
    pub(super) fn coded_leaves(
        &mut self,
        now: Time,
        number: usize,
        frame: &CodedFrame,
        corrupted: bool,
    ) {
        let Some(coding) = &mut self.ports[number].coding else { return };
        coding.encoder.leaves(corrupted);
        coding.decoder.sent(frame);
        self.schedule_block_timer(now, number);
    }

    fn schedule_block_timer(&mut self, now: Time, number: usize) {
        let Some(coding) = &mut self.ports[number].coding else { return };
        let deadline = coding.encoder.deadline();
        if deadline != Time::NEVER && deadline > now && coding.timer != deadline {
            coding.timer = deadline;
            self.schedule(deadline, Kind::TimerExpires, number, None);
        }
    }

    pub(super) fn block_timer_expires(&mut self, now: Time, number: usize) {
        let Some(coding) = &mut self.ports[number].coding else { return };
        coding.encoder.on_timer(now);
        self.start_next_managed(now, number);
    }

    pub(super) fn coded_arrives(&mut self, now: Time, number: usize, frame: &CodedFrame) {
        let Some(coding) = &mut self.ports[number].coding else { return };
        let mut accepted = Vec::new();
        coding.decoder.on_frame(now, frame, &mut accepted);
        self.pass(now, number, accepted);
    }

    pub(super) fn hold_expires(&mut self, now: Time, number: usize) {
        let Some(coding) = &mut self.ports[number].coding else { return };
        let mut accepted = Vec::new();
        coding.decoder.on_timer(now, &mut accepted);
        self.pass(now, number, accepted);
    }

    /// Packets from the decoder go on, or are dropped.
    fn pass(&mut self, now: Time, number: usize, accepted: Vec<Accepted>) {
        for Accepted { ticket, ecn, is_skip } in accepted {
            let Some(managed) = &mut self.ports[number].managed else { return };
            let packet = managed.take(ticket).expect("a packet is decided once");
            if !is_skip {
                let packet = Packet { ecn, ..packet };
                self.schedule(now, Kind::Arrives, number, Some(Load::Packet(packet)));
            }
        }
        let Some(coding) = &mut self.ports[number].coding else { return };
        let deadline = coding.decoder.deadline();
        if deadline != Time::NEVER && coding.hold != deadline {
            coding.hold = deadline;
            self.schedule(deadline, Kind::HoldExpires, number, None);
        }
    }
}
