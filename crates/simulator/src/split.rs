//! A split connection at a gateway: two TCP connections, and a relay between them for each direction.
//!
//! The relay is that of the daemon (`middlebox::Relay`), so both move bytes by the same rules. Here the
//! sockets are two [`tcp::Connection`]s:
//!
//! - The client's connection is accepted at once. When it is established, the gateway opens the other.
//! - A connection takes bytes while its send buffer has room, so a slow reader fills the send buffer, then
//!   the relay, then the receive buffer of the other connection, which closes its window.
//! - FIN is passed on behind the last byte, for each direction alone.
//! - When one connection ends before its time, the other is reset (RFC 9293, section 3.10.5), unless both
//!   directions are complete. What the gateway had acknowledged and not delivered is counted.

use middlebox::{Relay, Step};
use runtime::{EndpointId, Side};
use tcp::Connection;
use transport::AbortCause;

/// A split connection.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    /// The gateway's ends: towards the sender of the data, and towards its receiver.
    ends: [EndpointId; 2],
    /// The end that accepts: its place in `ends`.
    accepts: usize,
    has_connected: bool,
    /// From the end with the same place to the other.
    relays: [Relay; 2],
    /// A leg has ended before its time, and the other was reset.
    is_broken: bool,
    /// For each direction, bytes that the gateway had acknowledged when a leg ended before its time, and
    /// that the other end had not.
    discarded: [u64; 2],
}

impl Split {
    /// A connection that the side `opener` opens.
    pub(crate) fn new(ends: [EndpointId; 2], opener: Side, relay_buffer: u64) -> Self {
        Self {
            ends,
            accepts: match opener {
                Side::Sender => 0,
                Side::Receiver => 1,
            },
            has_connected: false,
            relays: [Relay::new(relay_buffer); 2],
            is_broken: false,
            discarded: [0; 2],
        }
    }

    /// The gateway's ends: towards the sender of the data, and towards its receiver.
    pub(crate) fn ends(&self) -> [EndpointId; 2] {
        self.ends
    }

    /// Bytes that were lost because a leg ended before its time: those towards the receiver of the data,
    /// and those back.
    pub(crate) fn discarded(&self) -> [u64; 2] {
        self.discarded
    }

    /// Bytes at the gateway: acknowledged to one end and not by the other. Those towards the receiver of
    /// the data, and those back.
    pub(crate) fn held(&self, connections: [&Connection; 2]) -> [u64; 2] {
        if self.is_broken { [0; 2] } else { held(connections) }
    }

    /// Does everything that is possible now. Returns why a leg ended before everything was relayed, if it
    /// did since the last call.
    pub(crate) fn drive(&mut self, mut ends: [&mut Connection; 2]) -> Option<AbortCause> {
        if self.is_broken {
            return None;
        }
        let cause = ends.iter().find_map(|end| end.failure());
        if cause.is_some() && !self.relays.iter().all(Relay::is_done) {
            self.is_broken = true;
            self.discarded = held([ends[0], ends[1]]);
            ends.iter_mut().filter(|end| !end.is_aborted()).for_each(|end| end.abort());
            return cause;
        }
        if !self.has_connected && ends[self.accepts].is_established() {
            self.has_connected = true;
            ends[1 - self.accepts].connect();
        }
        let [first, last] = ends;
        run(&mut self.relays[0], first, last);
        run(&mut self.relays[1], last, first);
        None
    }
}

/// Bytes that have arrived at one connection and are not acknowledged on the other, for both directions.
fn held([first, last]: [&Connection; 2]) -> [u64; 2] {
    let of = |source: &Connection, sink: &Connection| {
        source.delivered() + source.unread() - sink.acknowledged()
    };
    [of(first, last), of(last, first)]
}

/// Moves bytes in one direction until the relay waits.
fn run(relay: &mut Relay, source: &mut Connection, sink: &mut Connection) {
    relay.readable();
    if sink.is_established() {
        relay.writable();
    } else {
        relay.blocked();
    }
    loop {
        match relay.next() {
            Step::Take(room) => match source.unread().min(room) {
                0 if source.peer_has_finished() => relay.ended(),
                0 => relay.drained(),
                bytes => {
                    source.read(bytes);
                    relay.took(bytes);
                }
            },
            Step::Give(held) => match sink.send_room().min(held) {
                0 => relay.blocked(),
                bytes => {
                    sink.write(bytes);
                    relay.gave(bytes);
                }
            },
            Step::Finish => {
                sink.close();
                relay.finished();
            }
            Step::Wait | Step::Done => return,
        }
    }
}

#[cfg(test)]
mod tests;
