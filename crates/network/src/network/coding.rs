//! FEC in the fast engine: what joins the encoder of a port with its decoder at the far end.
//!
//! Packets on their way wait in a queue of their own, with a number in the list of next arrivals. A data
//! packet stays held until the decoder has passed it on, or has found that it is lost. What is passed on
//! arrives at the end of the port as any other packet, at the same instant.

use std::collections::VecDeque;

use link::{Accepted, CodedFrame, Decoder};
use units::Time;

use super::repeats::{FRAMES, take_first};
use super::{Network, Port};
use crate::fabric::Packet;
use crate::topology::PortSpec;

/// The number of events behind those of ARQ, in numbers of ports: packets at the far end that have waited
/// long enough. Arrivals have the number of those of ARQ, because a port has one of the two.
pub(super) const HOLDS: usize = 5;

/// FEC of a port, apart from its encoder.
#[derive(Clone, Debug)]
pub(super) struct Coding {
    decoder: Decoder,
    /// Packets on their way that arrive.
    frames: VecDeque<(Time, CodedFrame)>,
    /// When the event of the encoder's timer happens; never, if there is none.
    pub timer: Time,
    /// The same for the decoder's.
    hold: Time,
    accepted: Vec<Accepted>,
}

impl Coding {
    pub(super) fn of(spec: &PortSpec) -> Option<Box<Self>> {
        let fec = spec.direction.settings().fec?;
        let coding = Self {
            decoder: Decoder::new(fec),
            frames: VecDeque::new(),
            timer: Time::NEVER,
            hold: Time::NEVER,
            accepted: Vec::new(),
        };
        Some(coding.into())
    }

    pub(super) fn decoder(&self) -> &Decoder {
        &self.decoder
    }
}

impl<B> Network<B> {
    /// A packet of a block of port `number` is sent; without an arrival, it is corrupted.
    pub(super) fn coded_leaves(&mut self, number: usize, frame: CodedFrame, arrival: Option<Time>) {
        let Some(coding) = &mut self.ports[number].coding else { return };
        coding.decoder.sent(&frame);
        if let Some(at) = arrival {
            coding.frames.push_back((at, frame));
            if coding.frames.len() == 1 {
                self.arrivals.insert(FRAMES * self.ports.len() + number, at);
            }
        }
        self.arm(number);
    }

    /// A packet of a block arrives at the end of port `number`.
    pub(super) fn coded_arrives(&mut self, now: Time, number: usize) {
        let Port { coding: Some(coding), .. } = &mut self.ports[number] else { return };
        let (frame, next) = take_first(&mut coding.frames);
        self.arrivals.follow_earliest(next);
        if let Some(frame) = frame {
            coding.decoder.on_frame(now, &frame, &mut coding.accepted);
        }
        self.pass(now, number);
    }

    /// The event of the decoder's timer of port `number` happens. The timer itself may have moved on.
    pub(super) fn hold_expires(&mut self, now: Time, number: usize) {
        self.arrivals.follow_earliest(None);
        let Port { coding: Some(coding), .. } = &mut self.ports[number] else { return };
        coding.hold = Time::NEVER;
        coding.decoder.on_timer(now, &mut coding.accepted);
        self.pass(now, number);
    }

    /// What the decoder has taken goes on, or is dropped.
    fn pass(&mut self, now: Time, number: usize) {
        let Port { coding: Some(coding), packets, held, .. } = &mut self.ports[number] else {
            return;
        };
        let was_empty = packets.len() == 0;
        for Accepted { ticket, ecn, is_skip } in coding.accepted.drain(..) {
            if let (Some(packet), false) = (held.take(ticket), is_skip) {
                packets.push((now, Packet { ecn, ..packet }));
            }
        }
        if was_empty && packets.len() > 0 {
            self.arrivals.insert(number, now);
        }
        let deadline = coding.decoder.deadline();
        if coding.hold == Time::NEVER && deadline != Time::NEVER {
            coding.hold = deadline;
            self.arrivals.insert(HOLDS * self.ports.len() + number, deadline);
        }
    }
}
