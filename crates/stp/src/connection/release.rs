//! Release: END and ENDAK.

use transport::AbortCause;

use super::{Connection, State, Urgent};
use crate::pdu::{Flags, Kind, Packet};

impl Connection {
    /// Releases the connection if both streams have arrived with their ends, as far as this end
    /// knows.
    pub(super) fn release_if_finished(&mut self) {
        if self.sender.finished() && self.receiver.finished() {
            self.stop();
            self.state = State::Releasing;
            self.urgent = Urgent::End;
            self.attempts = 0;
        }
    }

    /// The other end knows that both streams have arrived, or gives up.
    pub(super) fn on_end(&mut self, packet: &Packet) {
        let has_everything = self.receiver.finished()
            && self.out.unwrap(packet.number, self.sender.next()) == Some(self.sender.next());
        if packet.flags.contains(Flags::ABORT) || !has_everything {
            self.give_up(AbortCause::Reset);
        } else {
            self.sender.on_end();
            self.stop();
        }
        self.urgent = Urgent::EndAck;
    }

    /// An end that has reported to the other that all is over reports it again.
    pub(super) fn on_packet_after_release(&mut self, packet: &Packet) {
        match packet.kind {
            Kind::End => {
                self.urgent = Urgent::EndAck;
                self.stop();
            }
            Kind::EndAck => self.stop(),
            _ if self.state == State::Releasing || self.urgent != Urgent::Nothing => {}
            _ if self.cause.is_some() => self.urgent = Urgent::Abort,
            _ => self.urgent = Urgent::End,
        }
    }
}
