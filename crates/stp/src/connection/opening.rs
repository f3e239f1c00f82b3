//! Set-up: BGN and BGAK (Q.2110), with data on the BGN ("fast connect", reconstructed from its
//! idea).

use transport::{AbortCause, Space};
use units::Time;

use super::{Connection, State, Urgent};
use crate::pdu::{Flags, Kind, Packet};
use crate::sender::Status;

impl Connection {
    /// The BGN opens the connection, and its data is packet 0.
    pub(super) fn on_packet_in_listen(&mut self, now: Time, packet: &Packet) {
        if packet.kind != Kind::Begin {
            return;
        }
        self.inward = Space::new(packet.number);
        self.sender.begin(now, &self.config, u64::from(packet.credit));
        self.state = State::Open;
        self.urgent = Urgent::BeginAck;
        if packet.payload > 0 {
            let ends = packet.flags.contains(Flags::END_OF_STREAM);
            self.receiver.on_data(0, packet.payload, ends);
        }
    }

    /// The BGAK was lost.
    pub(super) fn on_repeated_begin(&mut self) {
        if self.begun.is_none() && self.urgent == Urgent::Nothing {
            self.urgent = Urgent::BeginAck;
        }
    }

    pub(super) fn on_packet_while_opening(&mut self, now: Time, packet: &Packet) {
        match packet.kind {
            Kind::BeginAck => self.on_begin_ack(now, packet),
            Kind::End => self.on_end(packet),
            // The other end is open, but the BGAK is late or lost. A POLL will show what is
            // missing.
            _ => {}
        }
    }

    fn on_begin_ack(&mut self, now: Time, packet: &Packet) {
        self.inward = Space::new(packet.number);
        self.state = State::Open;
        self.urgent = Urgent::Nothing;
        self.attempt_timer = Time::NEVER;
        let (next, limit) = (self.out.unwrap(packet.poll, 0), self.out.unwrap(packet.credit, 0));
        if let (Some(next), Some(limit)) = (next, limit) {
            let round_trip = self.begun.filter(|_| self.attempts == 1).map(|at| now.since(at));
            self.sender.on_begin_ack(now, &self.config, Status { next, limit }, round_trip);
        }
    }

    /// Timer_CC has expired.
    pub(super) fn attempt_again(&mut self) {
        let is_last = self.attempts >= self.config.set_up_attempts;
        match self.state {
            State::Opening if is_last => self.give_up(AbortCause::Retransmissions),
            State::Opening => self.urgent = Urgent::Begin,
            // Everything has arrived, whatever the other end knows.
            State::Releasing if is_last => self.stop(),
            State::Releasing => self.urgent = Urgent::End,
            _ => {}
        }
    }

    /// The packet that goes before everything else.
    #[cold]
    pub(super) fn next_urgent(&mut self, now: Time) -> Packet {
        let urgent = std::mem::replace(&mut self.urgent, Urgent::Nothing);
        let credit = self.inward.wrap(self.receiver.limit());
        let next = self.inward.wrap(self.receiver.next());
        match urgent {
            Urgent::Nothing | Urgent::Begin => self.begin(now),
            Urgent::BeginAck => Packet {
                kind: Kind::BeginAck,
                number: self.out.wrap(0),
                poll: next,
                credit,
                ..Packet::default()
            },
            Urgent::End => {
                self.attempts += 1;
                self.attempt_timer = now + self.config.set_up_interval;
                Packet { kind: Kind::End, number: next, ..Packet::default() }
            }
            Urgent::Abort => {
                Packet { kind: Kind::End, number: next, flags: Flags::ABORT, ..Packet::default() }
            }
            Urgent::EndAck => Packet { kind: Kind::EndAck, number: next, ..Packet::default() },
        }
    }

    /// The credit of a BGN is a number of packets, because the other end has yet to choose its
    /// first number.
    #[expect(clippy::cast_possible_truncation, reason = "a window has at most 65535 packets")]
    fn begin(&mut self, now: Time) -> Packet {
        self.attempts += 1;
        self.attempt_timer = now + self.config.set_up_interval;
        self.begun.get_or_insert(now);
        let payload = match self.attempts {
            1 if self.config.fast_connect => self.sender.opening_data(),
            1 => 0,
            _ => self.sender.opening_data_again(),
        };
        let ends = self.sender.opening_ends();
        Packet {
            kind: Kind::Begin,
            number: self.out.wrap(0),
            credit: self.receiver.limit() as u32,
            payload,
            flags: Flags::default().with_if(ends, Flags::END_OF_STREAM),
            ..Packet::default()
        }
    }
}
