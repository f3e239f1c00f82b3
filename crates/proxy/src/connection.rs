//! One split connection: two sockets, and a relay for each direction.
//!
//! - The first bytes of a direction are read and written; after [`SPLICE_AFTER`] they are spliced
//!   through a pipe. Splice saves a third of the processor time of long transfers, and costs more
//!   calls for short ones.
//! - A direction with urgent data is never spliced: splice(2) stops before the urgent byte for ever.
//!   The byte is delivered in its place in the stream (SO_OOBINLINE), without its urgency.
//! - After a reset from one end, the bytes that it sent before are still delivered. The other end is
//!   reset when it has acknowledged them.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use middlebox::{Relay, Step};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown, sockopt};
use rustix::pipe::{SpliceFlags, splice};

use crate::config::SideName;
use crate::pipes::{Pipe, Pipes};
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

/// Bytes that were read and that the sink does not take yet.
#[derive(Debug, Default)]
struct Leftover {
    bytes: Vec<u8>,
    start: usize,
}

/// One direction. It is named by the leg that it reads from.
#[derive(Debug)]
struct Direction {
    relay: Relay,
    leftover: Leftover,
    pipe: Option<Pipe>,
    is_spliced: bool,
    /// More may wait at the source although a read was short.
    has_hung_up: bool,
}

impl Direction {
    const fn new(capacity: u64) -> Self {
        Self {
            relay: Relay::new(capacity),
            leftover: Leftover { bytes: Vec::new(), start: 0 },
            pipe: None,
            is_spliced: true,
            has_hung_up: false,
        }
    }
}

/// What connections of one thread share.
pub(crate) struct Tools {
    pub(crate) chunk: Box<[u8]>,
    pub(crate) pipes: Pipes,
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

    /// Moves bytes in both directions until both wait or the turn is over.
    pub(crate) fn advance(&mut self, tools: &mut Tools) -> Outcome {
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

    /// Moves bytes that come from `leg`. Returns true if more can be moved at once. An error is the leg
    /// that failed.
    fn pump(&mut self, leg: Leg, tools: &mut Tools) -> Result<bool, Leg> {
        let was_reset = self.reset_by == Some(leg);
        let [client, server] = &self.sockets;
        let (source, sink) = match leg {
            Leg::Client => (client, server),
            Leg::Server => (server, client),
        };
        let direction = &mut self.directions[leg.index()];
        for _ in 0..TURN {
            match direction.relay.next() {
                Step::Take(room) => match direction.take(source, sink, room, tools) {
                    Ok(()) => {}
                    Err(Failed::Sink) => return Err(leg.other()),
                    Err(Failed::Source) => {
                        direction.relay.ended();
                        if !was_reset {
                            self.reset_by = Some(leg);
                            return Ok(true);
                        }
                    }
                },
                Step::Give(_) => {
                    direction.give(sink, tools).map_err(|_: Errno| leg.other())?;
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

/// The end at which reading or writing failed.
enum Failed {
    Source,
    Sink,
}

impl Direction {
    fn take(
        &mut self,
        source: &OwnedFd,
        sink: &OwnedFd,
        room: u64,
        tools: &mut Tools,
    ) -> Result<(), Failed> {
        let is_long = self.relay.delivered() >= SPLICE_AFTER && self.relay.held() == 0;
        if is_long && self.is_spliced {
            let pipe = self.pipe.take().or_else(|| tools.pipes.borrow());
            if let Some(pipe) = pipe {
                return self.splice_in(source, room, pipe, tools).map_err(|_| Failed::Source);
            }
        }
        if self.pipe.is_some() {
            self.relay.full(); // its bytes go first
            return Ok(());
        }
        let wished = tools.chunk.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let bytes = match recv(source, &mut tools.chunk[..wished], RecvFlags::empty()) {
            Ok((_, 0)) => {
                self.relay.ended();
                return Ok(());
            }
            Ok((_, bytes)) => bytes,
            Err(Errno::AGAIN) => {
                self.relay.drained();
                return Ok(());
            }
            Err(Errno::INTR) => return Ok(()),
            Err(_) => return Err(Failed::Source),
        };
        self.relay.took(bytes as u64);
        // Less than asked for: nothing more is there (epoll(7)), unless the end follows.
        if bytes < wished && !self.has_hung_up {
            self.relay.drained();
        }
        let mut sent = 0;
        if self.leftover.bytes.is_empty() && matches!(self.relay.next(), Step::Give(_)) {
            sent = self.send(sink, &tools.chunk[..bytes]).map_err(|_| Failed::Sink)?;
        }
        self.leftover.bytes.extend_from_slice(&tools.chunk[sent..bytes]);
        Ok(())
    }

    fn splice_in(
        &mut self,
        source: &OwnedFd,
        room: u64,
        pipe: Pipe,
        tools: &mut Tools,
    ) -> Result<(), Errno> {
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        let result = splice(source, None, &pipe.write, None, room, flags);
        match result {
            Ok(0) => self.relay.ended(),
            Ok(bytes) => {
                self.relay.took(bytes as u64);
                // A pipe counts pages: whether it takes more is not known before it is empty.
                self.relay.full();
                self.pipe = Some(pipe);
                return Ok(());
            }
            Err(Errno::AGAIN) => self.relay.drained(),
            Err(Errno::INTR) => {}
            Err(error) => {
                tools.pipes.give_back(pipe);
                return Err(error);
            }
        }
        tools.pipes.give_back(pipe);
        Ok(())
    }

    fn give(&mut self, sink: &OwnedFd, tools: &mut Tools) -> Result<(), Errno> {
        let Some(pipe) = &self.pipe else {
            let Leftover { bytes, start } = std::mem::take(&mut self.leftover);
            let sent = self.send(sink, &bytes[start..])?;
            if start + sent < bytes.len() {
                self.leftover = Leftover { bytes, start: start + sent };
            }
            return Ok(());
        };
        let held = usize::try_from(self.relay.held()).unwrap_or(usize::MAX);
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        match splice(&pipe.read, None, sink, None, held, flags) {
            Ok(bytes) => self.relay.gave(bytes as u64),
            Err(Errno::AGAIN) => self.relay.blocked(),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        if self.relay.held() == 0
            && let Some(pipe) = self.pipe.take()
        {
            tools.pipes.give_back(pipe);
        }
        Ok(())
    }

    /// Sends bytes, and notes if the sink takes no more. Returns their number.
    fn send(&mut self, sink: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
        match send(sink, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => {
                self.relay.gave(sent as u64);
                if sent < bytes.len() {
                    self.relay.blocked();
                }
                Ok(sent)
            }
            Err(Errno::AGAIN) => {
                self.relay.blocked();
                Ok(0)
            }
            Err(Errno::INTR) => Ok(0),
            Err(error) => Err(error),
        }
    }
}
