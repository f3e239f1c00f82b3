//! A gateway's end of a connection, as a relay uses it.

use tcp::State;
use transport::{AbortCause, Endpoint};
use units::Time;

/// A gateway's end of a connection: what a relay needs in addition to an endpoint of a host.
pub(crate) trait Leg: Endpoint {
    /// Why the connection ended before its time.
    fn failure(&self) -> Option<AbortCause>;

    /// Returns true if it ended before its time.
    fn is_aborted(&self) -> bool;

    /// Returns true if another end wants to open the connection, and waits for a decision.
    fn is_held(&self) -> bool;

    /// Lets the other end open the connection.
    fn answer(&mut self, now: Time);

    /// Refuses the other end.
    fn turn_away(&mut self, now: Time);

    /// Returns true if the other end did not want the connection any more when the answer came.
    fn is_forsaken(&self) -> bool;

    /// Opens the connection.
    fn open(&mut self, now: Time);

    /// Returns true if the other end has answered.
    fn is_established(&self) -> bool;

    /// Returns true if it may take bytes.
    fn is_writable(&self) -> bool;

    /// Reads at most `most` bytes. Returns their number.
    fn take(&mut self, most: u64) -> u64;

    /// Returns true if all bytes of the other end were read, and it has ended its direction.
    fn has_ended(&self) -> bool;

    /// Writes at most `most` bytes. Returns their number.
    fn give(&mut self, most: u64) -> u64;

    /// Ends the connection before its time.
    fn abort(&mut self);

    /// Bytes that have arrived, as far as this end knows.
    fn arrived(&self) -> u64;

    /// Bytes that the other end has acknowledged; `None` if the protocol does not report them.
    fn acknowledged(&self) -> Option<u64>;
}

impl Leg for tcp::Connection {
    fn failure(&self) -> Option<AbortCause> {
        Self::failure(self)
    }

    fn is_aborted(&self) -> bool {
        self.abort_cause().is_some()
    }

    fn is_held(&self) -> bool {
        self.held_syn().is_some()
    }

    fn answer(&mut self, _now: Time) {
        Self::answer(self);
    }

    fn turn_away(&mut self, _now: Time) {
        Self::turn_away(self);
    }

    fn is_forsaken(&self) -> bool {
        self.state() == State::Listen
    }

    fn open(&mut self, _now: Time) {
        self.connect();
    }

    fn is_established(&self) -> bool {
        Self::is_established(self)
    }

    fn is_writable(&self) -> bool {
        Self::is_established(self)
    }

    fn take(&mut self, most: u64) -> u64 {
        let bytes = self.unread().min(most);
        if bytes > 0 {
            self.read(bytes);
        }
        bytes
    }

    fn has_ended(&self) -> bool {
        self.peer_has_finished()
    }

    fn give(&mut self, most: u64) -> u64 {
        let bytes = self.send_room().min(most);
        if bytes > 0 {
            self.write(bytes);
        }
        bytes
    }

    fn abort(&mut self) {
        Self::abort(self);
    }

    fn arrived(&self) -> u64 {
        self.delivered() + self.unread()
    }

    fn acknowledged(&self) -> Option<u64> {
        Some(Self::acknowledged(self))
    }
}

/// Data that waits in the library for the relay has arrived at the end, and counts as on its way.
impl Leg for quic::Connection {
    fn failure(&self) -> Option<AbortCause> {
        self.relay_failure()
    }

    fn is_aborted(&self) -> bool {
        Self::is_aborted(self)
    }

    fn is_held(&self) -> bool {
        Self::is_held(self)
    }

    fn answer(&mut self, now: Time) {
        self.admit(now);
    }

    fn turn_away(&mut self, now: Time) {
        Self::turn_away(self, now);
    }

    fn is_forsaken(&self) -> bool {
        false
    }

    fn open(&mut self, now: Time) {
        self.connect_at(now);
    }

    fn is_established(&self) -> bool {
        Self::is_established(self)
    }

    /// Before the handshake, data of 0-RTT only.
    fn is_writable(&self) -> bool {
        true
    }

    fn take(&mut self, most: u64) -> u64 {
        Self::take(self, most)
    }

    fn has_ended(&self) -> bool {
        self.peer_has_finished()
    }

    fn give(&mut self, most: u64) -> u64 {
        Self::give(self, most)
    }

    fn abort(&mut self) {
        Self::abort(self);
    }

    fn arrived(&self) -> u64 {
        self.delivered()
    }

    fn acknowledged(&self) -> Option<u64> {
        None
    }
}
