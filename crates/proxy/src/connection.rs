//! One split connection: two sockets, and a relay for each direction.
//!
//! - The first bytes of a direction are read and written; after [`SPLICE_AFTER`] they are spliced
//!   through a pipe. Splice saves a third of the processor time of long transfers, and costs more
//!   calls for short ones.
//! - A direction with urgent data is never spliced: splice(2) stops before the urgent byte for
//!   ever. The byte is delivered in its place in the stream (SO_OOBINLINE), without its urgency.
//! - After a reset from one end, the bytes that it sent before are still delivered. The other end
//!   is reset when it has acknowledged them.

mod direction;

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use middlebox::Step;
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown, sockopt};

use self::direction::{Direction, Failed};
use crate::clock::Clock;
use crate::config::SideName;
use crate::pipes::Pipes;
use crate::rate::SharedRate;
use crate::sockets::{self, TcpInfo};
use crate::sys;

/// Bytes of a direction that are read and written before splice begins.
const SPLICE_AFTER: u64 = 128 * 1024;
/// Bytes of one read.
pub(crate) const CHUNK: usize = 64 * 1024;
/// Steps of one direction before other connections have their turn.
const TURN: usize = 64;

/// One of the two TCP connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leg {
    Client,
    Server,
}

impl Leg {
    pub(crate) const BOTH: [Self; 2] = [Self::Client, Self::Server];

    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// Readiness of a socket, as epoll reports it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ready {
    pub(crate) is_readable: bool,
    pub(crate) is_writable: bool,
    pub(crate) is_urgent: bool,
    pub(crate) has_hung_up: bool,
    pub(crate) has_failed: bool,
}

/// State of a connection after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It waits for events.
    Waiting,
    /// It has more to do at once.
    Again,
    /// Both directions have ended.
    Finished,
    /// An end was reset.
    Reset,
    /// The server refused. The client is to be reset.
    Refused,
    /// The server cannot be reached.
    Unreachable,
}

/// State that connections of one thread share.
pub(crate) struct Tools {
    pub(crate) chunk: Box<[u8]>,
    pub(crate) pipes: Pipes,
    pub(crate) clock: Clock,
    /// Wakes the thread.
    pub(crate) wake: Arc<OwnedFd>,
}

/// A split connection.
#[derive(Debug)]
pub(crate) struct Connection {
    sockets: [OwnedFd; 2],
    directions: [Direction; 2],
    /// The side of the client. The server is on the other one.
    pub(crate) side: SideName,
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    is_connected: bool,
    /// The end that was reset.
    reset_by: Option<Leg>,
    /// Seconds since the start of the process.
    pub(crate) opened_s: u32,
    pub(crate) active_s: u32,
    /// Retransmitted segments of both legs that are counted already.
    pub(crate) counted_segments: [u32; 2],
}

impl Connection {
    /// A connection whose server has not answered yet.
    pub(crate) fn new(
        sockets: [OwnedFd; 2],
        side: SideName,
        client: SocketAddr,
        server: SocketAddr,
        capacity: u64,
        now_s: u32,
    ) -> Self {
        Self {
            sockets,
            directions: [Direction::new(capacity), Direction::new(capacity)],
            side,
            client,
            server,
            is_connected: false,
            reset_by: None,
            opened_s: now_s,
            active_s: now_s,
            counted_segments: [0; 2],
        }
    }

    pub(crate) fn socket(&self, leg: Leg) -> BorrowedFd<'_> {
        self.sockets[leg.index()].as_fd()
    }

    /// The side of a leg.
    pub(crate) const fn side_of(&self, leg: Leg) -> SideName {
        match leg {
            Leg::Client => self.side,
            Leg::Server => self.side.other(),
        }
    }

    pub(crate) const fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Waits only until the sink has acknowledged everything before it is reset.
    pub(crate) const fn is_ending(&self) -> bool {
        self.reset_by.is_some()
    }

    /// Bytes delivered from a leg to the other one.
    pub(crate) const fn delivered_from(&self, leg: Leg) -> u64 {
        self.directions[leg.index()].relay.delivered()
    }

    /// Bytes that both relays hold.
    pub(crate) fn held(&self) -> u64 {
        self.directions.iter().map(|direction| direction.relay.held()).sum()
    }

    pub(crate) fn info(&self, leg: Leg) -> Option<TcpInfo> {
        sockets::tcp_info(self.socket(leg)).ok()
    }

    /// Takes the news of a leg, and moves what can be moved.
    pub(crate) fn handle(&mut self, leg: Leg, ready: Ready, tools: &mut Tools) -> Outcome {
        if !self.is_connected {
            match leg {
                Leg::Server => {
                    if let Some(outcome) = self.try_connected(ready) {
                        return outcome;
                    }
                }
                Leg::Client => {
                    self.note(leg, ready);
                    return if ready.has_failed { Outcome::Reset } else { Outcome::Waiting };
                }
            }
        }
        self.note(leg, ready);
        self.advance(tools)
    }

    /// The answer of the server, unless it is that it has accepted.
    fn try_connected(&mut self, ready: Ready) -> Option<Outcome> {
        if ready.has_failed {
            let error = sockopt::socket_error(self.socket(Leg::Server)).map(Result::err);
            return Some(match error {
                Ok(Some(Errno::CONNREFUSED | Errno::CONNRESET)) => Outcome::Refused,
                _ => Outcome::Unreachable,
            });
        }
        if !ready.is_writable {
            return Some(Outcome::Waiting);
        }
        self.is_connected = true;
        None
    }

    fn note(&mut self, leg: Leg, ready: Ready) {
        let from = &mut self.directions[leg.index()];
        if ready.is_readable || ready.has_hung_up || ready.has_failed {
            from.relay.readable();
        }
        from.has_hung_up |= ready.has_hung_up || ready.has_failed;
        if ready.is_urgent {
            from.is_spliced = false;
        }
        if ready.is_writable {
            self.directions[leg.other().index()].relay.writable();
        }
        if ready.has_failed {
            self.reset_by.get_or_insert(leg);
        }
    }

    /// Shares other rates from now on: what comes from a leg has the rate with its number. Returns
    /// true if one of them is another one than before.
    pub(crate) fn share(&mut self, rates: [Option<&Arc<SharedRate>>; 2]) -> bool {
        let [client, server] = rates;
        let [from_client, from_server] = &mut self.directions;
        from_client.share(client) | from_server.share(server)
    }

    /// The rate whose line the bytes of a leg have to join now.
    pub(crate) fn joins(&mut self, from: Leg) -> Option<&SharedRate> {
        self.directions[from.index()].joins()
    }

    /// Returns true if the bytes of a leg wait for their turn at a rate.
    pub(crate) fn waits_for_rate(&self, from: Leg) -> bool {
        self.directions[from.index()].waits()
    }

    /// The bytes of a leg have their turn. Returns false if they do not wait at this rate any more.
    pub(crate) fn has_turn(&mut self, from: Leg, rate: &Arc<SharedRate>, tokens: u64) -> bool {
        self.directions[from.index()].has_turn(rate, tokens)
    }

    /// Moves bytes in both directions until both wait or the turn is over.
    pub(crate) fn advance(&mut self, tools: &mut Tools) -> Outcome {
        let outcome = self.move_bytes(tools);
        self.directions.iter_mut().for_each(|direction| direction.settle(tools));
        outcome
    }

    fn move_bytes(&mut self, tools: &mut Tools) -> Outcome {
        let mut has_more = false;
        for leg in Leg::BOTH {
            if self.reset_by == Some(leg.other()) {
                continue; // nobody is there to receive
            }
            match self.pump(leg, tools) {
                Ok(more) => has_more |= more,
                Err(failed) => {
                    if self.reset_by.is_some_and(|first| first != failed) {
                        return Outcome::Reset;
                    }
                    self.reset_by = Some(failed);
                    // The other direction may still have bytes of the end that was reset.
                    let from = &mut self.directions[failed.index()];
                    from.relay.readable();
                    from.has_hung_up = true;
                    has_more = true;
                }
            }
        }
        if let Some(leg) = self.reset_by {
            return match self.directions[leg.index()].relay.is_done() && self.is_acknowledged(leg) {
                true => Outcome::Reset,
                false if has_more => Outcome::Again,
                false => Outcome::Waiting,
            };
        }
        if self.directions.iter().all(|direction| direction.relay.is_done()) {
            Outcome::Finished
        } else if has_more {
            Outcome::Again
        } else {
            Outcome::Waiting
        }
    }

    /// Returns true if everything from `leg` has been acknowledged by the other end.
    fn is_acknowledged(&self, leg: Leg) -> bool {
        // A socket that cannot be asked has nothing left to wait for.
        sys::unacknowledged(self.socket(leg.other())).unwrap_or(0) == 0
    }

    /// Moves bytes that come from `leg`. Returns true if more can be moved at once. An error is the
    /// leg that failed.
    fn pump(&mut self, leg: Leg, tools: &mut Tools) -> Result<bool, Leg> {
        let was_reset = self.reset_by == Some(leg);
        let is_v4 = self.server.is_ipv4();
        let [client, server] = &self.sockets;
        let (source, sink) = match leg {
            Leg::Client => (client, server),
            Leg::Server => (server, client),
        };
        let direction = &mut self.directions[leg.index()];
        for _ in 0..TURN {
            let step = direction.relay.next();
            let delivered = direction.relay.delivered();
            match step {
                Step::Take(room) => {
                    let Some(most) = direction.allowed(sink, is_v4, tools) else {
                        return Ok(false);
                    };
                    match direction.take(source, sink, room.min(most), tools) {
                        Ok(()) => {}
                        Err(Failed::Sink) => return Err(leg.other()),
                        Err(Failed::Source) => {
                            direction.relay.ended();
                            if !was_reset {
                                self.reset_by = Some(leg);
                                return Ok(true);
                            }
                        }
                    }
                }
                Step::Give(_) => {
                    let Some(most) = direction.allowed(sink, is_v4, tools) else {
                        return Ok(false);
                    };
                    direction.give(sink, most, tools).map_err(|_: Errno| leg.other())?;
                }
                Step::Finish => {
                    // After a reset, the sink is reset too, when it has acknowledged everything.
                    if !was_reset {
                        match shutdown(sink, Shutdown::Write) {
                            Ok(()) | Err(Errno::NOTCONN) => {}
                            Err(_) => return Err(leg.other()),
                        }
                    }
                    direction.relay.finished();
                }
                Step::Wait | Step::Done => return Ok(false),
            }
            direction.spend(direction.relay.delivered() - delivered);
        }
        Ok(true)
    }

    /// Lets both legs end with what they still hold, and not with a reset.
    pub(crate) fn end_normally(&self) {
        self.sockets.iter().for_each(sockets::end_normally);
    }

    /// Gives back what was borrowed, and returns the bytes that were not delivered.
    pub(crate) fn close(self, tools: &mut Tools) -> u64 {
        let lost = self.held();
        for direction in self.directions {
            // A pipe with bytes in it is closed: they belong to nobody else.
            match direction.pipe {
                Some(pipe) if direction.relay.held() == 0 => tools.pipes.give_back(pipe),
                Some(pipe) => tools.pipes.close(pipe),
                None => {}
            }
        }
        lost
    }
}
