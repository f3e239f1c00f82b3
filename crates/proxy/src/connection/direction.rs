//! One direction of a connection: a relay, the bytes that it holds, and the rate that limits it.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use middlebox::{Relay, Step};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::pipe::{SpliceFlags, splice};

use super::{SPLICE_AFTER, Tools};
use crate::clock::time;
use crate::pipes::Pipe;
use crate::rate::{Framing, SharedRate};
use crate::sockets;

/// Bytes that were read and that the sink does not take yet.
#[derive(Debug, Default)]
struct Leftover {
    bytes: Vec<u8>,
    start: usize,
}

/// How far a direction is from its turn at its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// It has nothing to move, or has its turn.
    Outside,
    /// It has to wait.
    Wanted,
    /// It waits.
    Joined,
}

/// Part of a direction in the rate that it shares.
#[derive(Debug)]
struct Limit {
    rate: Arc<SharedRate>,
    line: Line,
    /// Tokens that were taken out of the bucket, and what they are worth. Only while bytes are
    /// moved.
    tokens: u64,
    framing: Option<Framing>,
}

/// One direction. It is named by the leg that it reads from.
#[derive(Debug)]
pub(super) struct Direction {
    pub(super) relay: Relay,
    leftover: Leftover,
    pub(super) pipe: Option<Pipe>,
    pub(super) is_spliced: bool,
    /// More may wait at the source although a read was short.
    pub(super) has_hung_up: bool,
    /// Its rate, of those that have one.
    limit: Option<Box<Limit>>,
}

impl Direction {
    pub(super) const fn new(capacity: u64) -> Self {
        Self {
            relay: Relay::new(capacity),
            leftover: Leftover { bytes: Vec::new(), start: 0 },
            pipe: None,
            is_spliced: true,
            has_hung_up: false,
            limit: None,
        }
    }

    /// Shares another rate from now on, or none. Returns true if it is another one than before.
    pub(super) fn share(&mut self, rate: Option<&Arc<SharedRate>>) -> bool {
        let is_same = match (&self.limit, rate) {
            (Some(limit), Some(rate)) => Arc::ptr_eq(&limit.rate, rate),
            (old, new) => old.is_none() && new.is_none(),
        };
        if !is_same {
            self.limit = rate.map(|rate| {
                let (rate, line) = (Arc::clone(rate), Line::Outside);
                Box::new(Limit { rate, line, tokens: 0, framing: None })
            });
        }
        !is_same
    }

    /// The rate whose line it has to join now.
    pub(super) fn joins(&mut self) -> Option<&SharedRate> {
        let limit = self.limit.as_mut().filter(|limit| limit.line == Line::Wanted)?;
        limit.line = Line::Joined;
        Some(&limit.rate)
    }

    /// Returns true if it waits for its turn.
    pub(super) fn waits(&self) -> bool {
        self.limit.as_ref().is_some_and(|limit| limit.line == Line::Joined)
    }

    /// Has its turn. Returns false if it does not wait at this rate any more.
    pub(super) fn has_turn(&mut self, rate: &Arc<SharedRate>, tokens: u64) -> bool {
        let limit = self.limit.as_mut();
        let limit = limit.filter(|one| one.line == Line::Joined && Arc::ptr_eq(&one.rate, rate));
        let is_here = limit.is_some();
        if let Some(limit) = limit {
            (limit.line, limit.tokens, limit.framing) = (Line::Outside, tokens, None);
        }
        is_here
    }

    /// Bytes that its rate lets it move to the sink now, or `None` if it has to wait for its turn.
    pub(super) fn allowed(&mut self, sink: &OwnedFd, is_v4: bool, tools: &Tools) -> Option<u64> {
        let Some(limit) = &mut self.limit else { return Some(u64::MAX) };
        if limit.line != Line::Outside {
            return None;
        }
        loop {
            let framing = *limit.framing.get_or_insert_with(|| {
                let info = sockets::tcp_info(sink).unwrap_or_default(); // writing to it fails too
                Framing::of(&info, is_v4)
            });
            match framing.fits(limit.tokens) {
                0 => {}
                bytes => return Some(bytes),
            }
            limit.rate.put_back(std::mem::take(&mut limit.tokens), &tools.wake);
            let Some(tokens) = limit.rate.open(time(tools.clock.now())) else {
                limit.line = Line::Wanted;
                return None;
            };
            limit.tokens = tokens;
        }
    }

    /// Bytes were moved to the sink.
    pub(super) fn spend(&mut self, bytes: u64) {
        if let Some(limit) = &mut self.limit
            && let Some(framing) = limit.framing
        {
            limit.tokens = limit.tokens.saturating_sub(framing.cost(bytes));
        }
    }

    /// Puts back the tokens that it did not use.
    pub(super) fn settle(&mut self, tools: &Tools) {
        if let Some(limit) = &mut self.limit {
            limit.framing = None;
            limit.rate.put_back(std::mem::take(&mut limit.tokens), &tools.wake);
        }
    }
}

/// The end at which reading or writing failed.
pub(super) enum Failed {
    Source,
    Sink,
}

impl Direction {
    /// Reads up to `room` bytes from the source, and writes them as far as the sink takes them.
    pub(super) fn take(
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

    /// Writes up to `most` of the bytes that it holds.
    pub(super) fn give(
        &mut self,
        sink: &OwnedFd,
        most: u64,
        tools: &mut Tools,
    ) -> Result<(), Errno> {
        let Some(pipe) = &self.pipe else {
            let Leftover { bytes, start } = std::mem::take(&mut self.leftover);
            let end = usize::try_from(most).unwrap_or(usize::MAX).saturating_add(start);
            let sent = self.send(sink, &bytes[start..end.min(bytes.len())])?;
            if start + sent < bytes.len() {
                self.leftover = Leftover { bytes, start: start + sent };
            }
            return Ok(());
        };
        let held = usize::try_from(self.relay.held().min(most)).unwrap_or(usize::MAX);
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
