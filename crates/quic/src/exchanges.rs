//! Requests and answers, each pair on a bidirectional stream of its own, as HTTP/3 has them
//! (RFC 9114 section 4.1). A message ends with the end of its side of the stream.
//!
//! Of HTTP/3 there are the streams and the lengths of messages. Frames, QPACK and its streams, and
//! priorities are not modelled.

use std::collections::{BTreeMap, VecDeque};

use quinn_proto::{Connection, Dir, Side, StreamId};
use transport::Exchange;

use crate::outgoing::Outgoing;

/// The error code with which a client closes a connection that it needs no longer (H3_NO_ERROR,
/// RFC 9114 section 8.1).
pub(crate) const NO_ERROR: u32 = 0x100;

/// The exchanges of one end.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    /// Number of requests sent or received.
    begun: u64,
    /// Number of answers that have arrived, or whose receiver has acknowledged them.
    ended: u64,
    /// Requests without a stream: there is no connection yet, or the server allows no more streams
    /// now.
    waiting: VecDeque<u64>,
    /// Messages that quinn does not have completely.
    outgoing: BTreeMap<StreamId, Outgoing>,
    /// Messages that have arrived and that nobody has taken.
    arrived: VecDeque<Exchange>,
}

impl Exchanges {
    /// Returns true if there was one, and all are over.
    pub(crate) fn are_over(&self) -> bool {
        self.begun > 0 && self.begun == self.ended
    }

    /// Returns true if there was one.
    pub(crate) fn is_used(&self) -> bool {
        self.begun > 0
    }

    /// Returns true if a message waits for flow control, whose rules include the number of streams
    /// (RFC 9000 section 4), or for room in the buffer of quinn.
    pub(crate) fn is_held_back(&self) -> bool {
        !self.waiting.is_empty() || !self.outgoing.is_empty()
    }

    /// A request to send.
    pub(crate) fn ask(&mut self, bytes: u64) -> Exchange {
        let number = self.begun;
        self.begun += 1;
        self.waiting.push_back(bytes);
        Exchange(number)
    }

    /// An answer to send.
    pub(crate) fn answer(&mut self, exchange: Exchange, bytes: u64) {
        let id = StreamId::new(Side::Client, Dir::Bi, exchange.0);
        self.outgoing.insert(id, Outgoing::message(bytes));
    }

    /// Hands quinn what it takes, in writes of at most `write_size` bytes.
    pub(crate) fn hand_over(&mut self, connection: &mut Connection, write_size: u64) {
        while let Some(bytes) = self.waiting.front() {
            // Streams are opened in the order of their numbers.
            let Some(id) = connection.streams().open(Dir::Bi) else { break };
            self.outgoing.insert(id, Outgoing::message(*bytes));
            self.waiting.pop_front();
        }
        self.outgoing.retain(|id, message| !message.hand_over(connection, *id, write_size));
    }

    /// A message has arrived completely.
    pub(crate) fn on_complete(&mut self, id: StreamId, side: Side) {
        match side {
            Side::Client => self.ended += 1,
            Side::Server => self.begun += 1,
        }
        self.arrived.push_back(Exchange(id.index()));
    }

    /// The other end has acknowledged a message.
    pub(crate) fn on_acknowledged(&mut self, side: Side) {
        self.ended += u64::from(side == Side::Server);
    }

    pub(crate) fn take_arrived(&mut self) -> Option<Exchange> {
        self.arrived.pop_front()
    }

    pub(crate) fn has_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }
}
