//! Close: END when both streams have arrived, and END that aborts.

use transport::AbortCause;
use units::Time;

use super::{Connection, State, Urgent};
use crate::packet::{Options, Packet};

impl Connection {
    /// Both streams have arrived with their ends, as far as this end knows.
    pub(super) fn release(&mut self) {
        self.stop();
        self.state = State::Releasing;
        self.urgent = Urgent::End;
    }

    /// An END has left, and is repeated if it is not answered.
    pub(super) fn set_end_timer(&mut self, now: Time) {
        if self.ends == 0 {
            self.ended = now;
        }
        let first = self.sender.wtimer(&self.config);
        let wait = first.doubled(self.ends).min(self.config.ctimer.max(first));
        self.end_timer = (now + wait).min(self.ended + self.config.ctimeout);
        self.ends += 1;
    }

    /// END has no answer. After CTIMEOUT it needs none: everything has arrived, whatever the other
    /// end knows.
    pub(super) fn end_again(&mut self, now: Time) {
        if now.since(self.ended) >= self.config.ctimeout {
            self.stop();
        } else {
            self.urgent = Urgent::End;
        }
    }

    /// The other end knows that both streams have arrived, or gives up.
    pub(super) fn on_end(&mut self, packet: &Packet) {
        let [has_all, is_closed] =
            [Options::RCLOSE, Options::WCLOSE].map(|option| packet.options.contains(option));
        let has_own = packet.rseq == self.sender.next() && self.sender.is_closed();
        if has_all && is_closed && has_own && self.receiver.finished() {
            self.sender.on_end();
            self.stop();
        } else {
            self.give_up(AbortCause::Reset);
        }
        self.answer_end(packet);
    }

    /// Only an END with SREQ is answered, so that two ends do not answer each other for ever.
    fn answer_end(&mut self, packet: &Packet) {
        if packet.options.contains(Options::SREQ) {
            self.urgent = Urgent::EndAnswer;
        }
    }

    /// An end that is released reports it again to one that does not know it.
    pub(super) fn on_packet_after_release(&mut self, packet: &Packet) {
        if packet.options.contains(Options::END) {
            self.stop();
            self.answer_end(packet);
        } else if self.state == State::Released && self.urgent == Urgent::Nothing {
            self.urgent = if self.cause.is_some() { Urgent::Abort } else { Urgent::EndAnswer };
        }
    }
}
