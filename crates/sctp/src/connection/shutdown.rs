//! Shutdown: SHUTDOWN, SHUTDOWN ACK and SHUTDOWN COMPLETE (RFC 9260 section 9.2).

use transport::AbortCause;
use units::Time;

use super::{Connection, State};
use crate::chunk::{Chunk, Packet};
use crate::sender::Report;

impl Connection {
    /// Goes on with the shutdown once everything that was sent is acknowledged.
    #[inline]
    pub(super) fn shut_down_if_finished(&mut self) {
        match self.state {
            State::ShutdownPending if self.sender.is_finished() => {
                self.state = State::ShutdownSent;
                self.begin_shutdown();
            }
            State::ShutdownReceived if self.sender.is_idle() => {
                self.state = State::ShutdownAckSent;
                self.begin_shutdown();
            }
            _ => {}
        }
    }

    fn begin_shutdown(&mut self) {
        self.timer.attempts = 0;
        self.timer.rto = self.sender.rto();
        self.request_shutdown();
    }

    fn request_shutdown(&mut self) {
        let chunk = match self.state {
            State::ShutdownSent => {
                Chunk::Shutdown(self.inward.wrap(self.receiver.next()).wrapping_sub(1))
            }
            State::ShutdownAckSent => Chunk::ShutdownAck,
            _ => return,
        };
        let is_queued = self.control.iter().any(|(_, _, queued)| queued.kind() == chunk.kind());
        if !is_queued {
            // The paths take turns.
            let paths = u32::try_from(self.sender.paths().len()).unwrap_or(1);
            let turn = (u32::from(self.sender.current()) + self.timer.attempts) % paths;
            let path = u8::try_from(turn).unwrap_or(0);
            self.control.push_back((path, self.peer_tag, chunk));
        }
    }

    /// A SHUTDOWN or SHUTDOWN ACK was sent.
    pub(super) fn on_shutdown_sent(&mut self, now: Time) {
        self.timer.at = now + self.timer.rto;
        self.timer.attempts += 1;
    }

    /// T2-shutdown has expired.
    pub(super) fn shut_down_again(&mut self) {
        if self.timer.attempts > self.config.max_retries {
            self.abort();
            self.cause = Some(AbortCause::Retransmissions);
        } else {
            self.request_shutdown();
        }
    }

    /// In SHUTDOWN-SENT, data is answered with a SACK and a SHUTDOWN.
    #[cold]
    pub(super) fn on_data_after_shutdown(&mut self) {
        self.receiver.request();
        self.timer.attempts = 0;
        self.request_shutdown();
    }

    /// The other end has closed and knows that its data has arrived.
    pub(super) fn on_shutdown(&mut self, now: Time, cumulative: u32) {
        let near = self.sender.acknowledged();
        if let Some(next) = self.out.unwrap(cumulative.wrapping_add(1), near) {
            let report = Report { next, window: None, gaps: &[] };
            self.sender.on_report(now, &self.config, report);
        }
        match self.state {
            State::Established | State::ShutdownPending => {
                self.state = State::ShutdownReceived;
                self.receiver.stop();
                self.shut_down_if_finished();
            }
            State::ShutdownReceived => self.shut_down_if_finished(),
            State::ShutdownSent => {
                self.state = State::ShutdownAckSent;
                self.control.clear();
                self.begin_shutdown();
            }
            State::ShutdownAckSent => self.request_shutdown(),
            _ => {}
        }
    }

    pub(super) fn on_shutdown_ack(&mut self, packet: &Packet) {
        if matches!(self.state, State::ShutdownSent | State::ShutdownAckSent | State::Ended) {
            self.stop();
            self.control.clear();
            let complete = Chunk::ShutdownComplete { reflected: false };
            self.control.push_back((packet.path, self.peer_tag, complete));
        }
    }

    pub(super) fn on_shutdown_complete(&mut self) {
        if self.state == State::ShutdownAckSent {
            self.stop();
            self.control.clear();
        }
    }
}
