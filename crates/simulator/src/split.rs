//! A split connection at a gateway: two connections, and a relay between them for each direction.
//!
//! The relay is that of the daemon (`middlebox::Relay`), so both move bytes by the same rules. Here
//! the sockets are two ends of connections ([`Leg`]): of TCP, or towards another gateway of QUIC.
//!
//! - The SYN of the client is held until `middlebox::Admission` has decided. Either it is answered,
//!   and the gateway opens the other connection when the first is established. Or the gateway opens
//!   the other one first, and answers when that is established. A server that refuses is then a
//!   refusal for the client, and one that never answers leaves the client without an answer.
//! - A connection takes bytes while its send buffer has room, so a slow reader fills the send
//!   buffer, then the relay, then the receive buffer of the other connection, which closes its
//!   window.
//! - A server that has not accepted within a time is given up.
//! - FIN is passed on behind the last byte, for each direction alone.
//! - When one connection ends before its time, the other is reset (RFC 9293, section 3.10.5),
//!   unless both directions are complete. What the gateway had acknowledged and not delivered is
//!   counted.

mod leg;

use middlebox::{Admission, Relay, Step, Verdict};
use network::NodeId;
use runtime::{EndpointId, Side};
use transport::AbortCause;
use units::Time;

pub(crate) use leg::Leg;

/// How far the opening of a split connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// No SYN has arrived.
    Idle,
    /// The client has its answer, and the server was not asked.
    Answered,
    /// The client has its answer, and the server was asked.
    Connecting,
    /// The server was asked, and the client waits.
    Waiting,
    /// The client and the server have their answers.
    Open,
    /// The connection crosses the gateway unsplit.
    Passed,
    /// Both connections are over.
    Over,
}

/// Outcome of [`Split::drive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing that the gateway cannot do by itself.
    Nothing,
    /// A leg has ended before everything was relayed, and the client's leg was open.
    Broken(AbortCause),
    /// The connection is to cross the gateway unsplit.
    Passes,
}

/// A split connection.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    /// The gateway's ends: towards the sender of the data, and towards its receiver.
    ends: [EndpointId; 2],
    /// The end that accepts: its place in `ends`.
    accepts: usize,
    /// The host that the client asks for.
    server: NodeId,
    /// Number of the gateway's node.
    gateway: usize,
    opening: Opening,
    /// When the server is given up, once it was asked.
    give_up_at: Time,
    /// From the end with the same place to the other.
    relays: [Relay; 2],
    /// A leg has ended before its time, and the other was reset.
    is_broken: bool,
    /// For each direction, bytes that the gateway had acknowledged when a leg ended before its
    /// time, and that the other end had not.
    discarded: [u64; 2],
}

impl Split {
    /// A connection to `server` over the node number `gateway`, which the side `opener` opens.
    pub(crate) fn new(
        ends: [EndpointId; 2],
        opener: Side,
        server: NodeId,
        gateway: usize,
        relay_buffer: u64,
    ) -> Self {
        Self {
            ends,
            server,
            gateway,
            accepts: match opener {
                Side::Sender => 0,
                Side::Receiver => 1,
            },
            opening: Opening::Idle,
            give_up_at: Time::NEVER,
            relays: [Relay::new(relay_buffer); 2],
            is_broken: false,
            discarded: [0; 2],
        }
    }

    /// The gateway's ends: towards the sender of the data, and towards its receiver.
    pub(crate) fn ends(&self) -> [EndpointId; 2] {
        self.ends
    }

    /// Number of the gateway's node.
    pub(crate) fn gateway(&self) -> usize {
        self.gateway
    }

    /// Bytes that were lost because a leg ended before its time: those towards the receiver of the
    /// data, and those back.
    pub(crate) fn discarded(&self) -> [u64; 2] {
        self.discarded
    }

    /// Bytes at the gateway: acknowledged to one end and not by the other. Those towards the
    /// receiver of the data, and those back. `read` are the bytes that the other ends of both
    /// connections have read.
    pub(crate) fn held(&self, ends: [&impl Leg; 2], read: [u64; 2]) -> [u64; 2] {
        if self.is_broken || self.is_passed() { [0; 2] } else { held(ends, read) }
    }

    /// Puts another endpoint in the place of one of the ends.
    pub(crate) fn replace(&mut self, end: EndpointId, other: EndpointId) {
        self.ends.iter_mut().filter(|one| **one == end).for_each(|one| *one = other);
    }

    /// Returns true if the connection crosses the gateway unsplit.
    pub(crate) fn is_passed(&self) -> bool {
        self.opening == Opening::Passed
    }

    /// The gateway's end towards the client, and its place.
    pub(crate) fn near(&self) -> (EndpointId, usize) {
        (self.ends[self.accepts], self.accepts)
    }

    /// Does everything that is possible now. `read` are the bytes that the other ends of both
    /// connections have read.
    pub(crate) fn drive<L: Leg>(
        &mut self,
        now: Time,
        mut ends: [&mut L; 2],
        read: [u64; 2],
        admission: &mut Admission<NodeId>,
    ) -> Found {
        if self.is_broken || matches!(self.opening, Opening::Passed | Opening::Over) {
            return Found::Nothing;
        }
        let failure = ends.iter().find_map(|end| end.failure());
        let failure = failure.or_else(|| self.is_forsaken(&ends));
        if let Some(cause) = failure.or_else(|| self.is_too_late(now))
            && !self.is_relayed()
        {
            let found = self.break_off(now, cause, ends, read, admission);
            // The timeout is that of the gateway: the client is reset.
            let of_client = failure.unwrap_or(AbortCause::Reset);
            return if found == Found::Broken(cause) { Found::Broken(of_client) } else { found };
        }
        // With 0-RTT of QUIC, a client may have said everything in its first packet.
        while self.opening != Opening::Open && self.open(now, &mut ends, admission) {}
        match self.opening {
            Opening::Passed => return Found::Passes,
            Opening::Over => return Found::Nothing,
            _ => {}
        }
        let [first, last] = ends;
        run(&mut self.relays[0], first, last);
        run(&mut self.relays[1], last, first);
        if self.is_relayed() {
            self.opening = Opening::Over;
            admission.on_closed();
        }
        Found::Nothing
    }

    /// Both directions are complete.
    fn is_relayed(&self) -> bool {
        self.relays.iter().all(Relay::is_done)
    }

    /// A leg has ended before everything was relayed.
    fn break_off<L: Leg>(
        &mut self,
        now: Time,
        cause: AbortCause,
        mut ends: [&mut L; 2],
        read: [u64; 2],
        admission: &mut Admission<NodeId>,
    ) -> Found {
        self.is_broken = true;
        if self.opening != Opening::Idle {
            admission.on_closed();
        }
        if self.is_asking() {
            admission.on_failed(&self.server);
        }
        if self.opening == Opening::Waiting {
            // Of a server that does not answer, the client hears nothing.
            if cause == AbortCause::Reset {
                ends[self.accepts].turn_away(now);
            } else {
                ends[1 - self.accepts].abort();
            }
            return Found::Nothing;
        }
        self.discarded = held([&*ends[0], &*ends[1]], read);
        ends.iter_mut().filter(|end| !end.is_aborted()).for_each(|end| end.abort());
        Found::Broken(cause)
    }

    /// Takes the next step of opening the connection. Returns false if there is none now.
    fn open<L: Leg>(
        &mut self,
        now: Time,
        ends: &mut [&mut L; 2],
        admission: &mut Admission<NodeId>,
    ) -> bool {
        let (near, far) = (self.accepts, 1 - self.accepts);
        let before = self.opening;
        self.opening = match self.opening {
            Opening::Idle if ends[near].is_held() => match admission.on_syn(now, &self.server) {
                Verdict::Answer => {
                    ends[near].answer(now);
                    Opening::Answered
                }
                Verdict::Wait => {
                    ends[far].open(now);
                    Opening::Waiting
                }
                Verdict::Pass => Opening::Passed,
                Verdict::Refuse => {
                    ends[near].turn_away(now);
                    Opening::Over
                }
            },
            Opening::Answered if ends[near].is_established() => {
                ends[far].open(now);
                Opening::Connecting
            }
            Opening::Connecting | Opening::Waiting if ends[far].is_established() => {
                admission.on_accepted(now, self.server);
                ends[near].answer(now);
                Opening::Open
            }
            unchanged => unchanged,
        };
        let has_changed = self.opening != before;
        if has_changed && self.is_asking() {
            self.give_up_at = now + admission.connect_timeout();
        }
        has_changed
    }

    /// The server was asked, and has not answered.
    fn is_asking(&self) -> bool {
        matches!(self.opening, Opening::Connecting | Opening::Waiting)
    }

    /// When the server is given up, if it was asked and has not answered.
    pub(crate) fn deadline(&self) -> Option<Time> {
        (self.is_asking() && !self.is_broken).then_some(self.give_up_at)
    }

    /// The server has not accepted in time: the timeout of RFC 9293 section 3.9.1.1.
    fn is_too_late(&self, now: Time) -> Option<AbortCause> {
        (self.is_asking() && now >= self.give_up_at).then_some(AbortCause::UserTimeout)
    }

    /// The answer came late: the client had given up, and has reset what it did not ask for any
    /// more.
    fn is_forsaken(&self, ends: &[&mut impl Leg; 2]) -> Option<AbortCause> {
        let is_so = self.opening == Opening::Open && ends[self.accepts].is_forsaken();
        is_so.then_some(AbortCause::Reset)
    }
}

/// Bytes that have arrived at one end and are not acknowledged on the other, for both directions.
/// Where a protocol does not report what is acknowledged, those count that the other end of the
/// connection has read.
fn held<L: Leg>([first, last]: [&L; 2], read: [u64; 2]) -> [u64; 2] {
    let of =
        |source: &L, sink: &L, read: u64| source.arrived() - sink.acknowledged().unwrap_or(read);
    [of(first, last, read[1]), of(last, first, read[0])]
}

/// Moves bytes in one direction until the relay waits.
fn run<L: Leg>(relay: &mut Relay, source: &mut L, sink: &mut L) {
    relay.readable();
    if sink.is_writable() {
        relay.writable();
    } else {
        relay.blocked();
    }
    loop {
        match relay.next() {
            Step::Take(room) => match source.take(room) {
                0 if source.has_ended() => relay.ended(),
                0 => relay.drained(),
                bytes => relay.took(bytes),
            },
            Step::Give(held) => match sink.give(held) {
                0 => relay.blocked(),
                bytes => relay.gave(bytes),
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
