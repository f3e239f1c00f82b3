//! FEC in the fast engine: the way between the encoder of a port and its decoder at the far end.
//!
//! Packets on their way wait in a queue of their own, which has an event. A data packet stays held
//! until the decoder has passed it on, or has found that it is lost. A packet that is passed on
//! arrives at the end of the port as any other packet, at the same instant.

use std::collections::VecDeque;

use link::{Accepted, CodedFrame, Decoder, FecSettings};
use units::Time;

use super::arq::take_first;
use super::events::PortEvent;
use super::link_layer::LinkLayer;
use super::{Network, Port};
use crate::fabric::Packet;

/// FEC of a port, apart from its encoder.
#[derive(Clone, Debug)]
pub(super) struct Fec {
    decoder: Decoder,
    /// Packets on their way that arrive.
    frames: VecDeque<(Time, CodedFrame)>,
    /// When the event of the encoder's timer happens; never, if there is none.
    pub timer: Time,
    /// The same for the decoder's.
    hold: Time,
    accepted: Vec<Accepted>,
}

impl Fec {
    pub(super) fn new(settings: FecSettings) -> Self {
        Self {
            decoder: Decoder::new(settings),
            frames: VecDeque::new(),
            timer: Time::NEVER,
            hold: Time::NEVER,
            accepted: Vec::new(),
        }
    }

    pub(super) fn decoder(&self) -> &Decoder {
        &self.decoder
    }
}

impl<B: Clone> Network<B> {
    /// A packet of a block of port `number` is sent; without an arrival, it is corrupted.
    pub(super) fn coded_leaves(&mut self, number: usize, frame: CodedFrame, arrival: Option<Time>) {
        let Some(LinkLayer::Fec(fec)) = self.ports[number].link_layer.as_deref_mut() else {
            return;
        };
        fec.decoder.sent(&frame);
        if let Some(at) = arrival {
            fec.frames.push_back((at, frame));
            if fec.frames.len() == 1 {
                self.arrivals.insert(self.numbers.of(PortEvent::Frame, number), at);
            }
        }
        self.arm(number);
    }

    /// A packet of a block arrives at the end of port `number`.
    pub(super) fn coded_arrives(&mut self, now: Time, number: usize) {
        let Some(LinkLayer::Fec(fec)) = self.ports[number].link_layer.as_deref_mut() else {
            return;
        };
        let (frame, next) = take_first(&mut fec.frames);
        self.arrivals.follow_earliest(next);
        if let Some(frame) = frame {
            fec.decoder.on_frame(now, &frame, &mut fec.accepted);
        }
        self.pass(now, number);
    }

    /// The event of the decoder's timer of port `number` happens. The timer itself may have moved
    /// on.
    pub(super) fn hold_expires(&mut self, now: Time, number: usize) {
        self.arrivals.follow_earliest(None);
        let Some(LinkLayer::Fec(fec)) = self.ports[number].link_layer.as_deref_mut() else {
            return;
        };
        fec.hold = Time::NEVER;
        fec.decoder.on_timer(now, &mut fec.accepted);
        self.pass(now, number);
    }

    /// Packets from the decoder go on, or are dropped.
    fn pass(&mut self, now: Time, number: usize) {
        let Port { link_layer, packets, held, .. } = &mut self.ports[number];
        let Some(LinkLayer::Fec(fec)) = link_layer.as_deref_mut() else { return };
        let was_empty = packets.len() == 0;
        for Accepted { ticket, ecn, is_skip } in fec.accepted.drain(..) {
            if let (Some(packet), false) = (held.take(ticket), is_skip) {
                packets.push((now, Packet { ecn, ..packet }));
            }
        }
        if was_empty && packets.len() > 0 {
            self.arrivals.insert(number, now);
        }
        let deadline = fec.decoder.deadline();
        if fec.hold == Time::NEVER && deadline != Time::NEVER {
            fec.hold = deadline;
            self.arrivals.insert(self.numbers.of(PortEvent::Hold, number), deadline);
        }
    }
}
