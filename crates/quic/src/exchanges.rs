//! Requests and answers, each pair on a bidirectional stream of its own, as HTTP/3 has them
//! (RFC 9114 section 4.1). A message ends with the end of its side of the stream.
//!
//! Of HTTP/3 there are the streams, the lengths of messages and the priorities of answers
//! (RFC 9218). Frames, QPACK and its streams are not modelled.

use std::collections::{BTreeMap, VecDeque};

use quinn_proto::{Connection, Dir, Side, StreamId};
use transport::{Exchange, Urgency};

use crate::outgoing::Outgoing;

/// The error code with which a client closes a connection that it needs no longer (H3_NO_ERROR,
/// RFC 9114 section 8.1).
pub(crate) const NO_ERROR: u32 = 0x100;

/// Place of answers that take turns, behind those that follow one another.
const LAST_PLACE: u64 = (1 << 20) - 1;

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
    /// Messages that have arrived and that the application has not taken.
    arrived: VecDeque<Exchange>,
    /// Messages whose first byte has arrived, if they are watched, and were not taken.
    begun_now: Option<VecDeque<Exchange>>,
    /// Priorities of answers that have no stream of quinn yet.
    priorities: BTreeMap<StreamId, i32>,
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

    /// The priority of an answer, before it is sent.
    pub(crate) fn prioritise(&mut self, exchange: Exchange, urgency: Urgency) {
        // Levels are apart by more than there are streams in their order.
        let place = if urgency.in_turn { LAST_PLACE } else { exchange.0.min(LAST_PLACE) };
        let level = i64::from(urgency.level) * (LAST_PLACE as i64 + 1) + place as i64;
        let id = StreamId::new(Side::Client, Dir::Bi, exchange.0);
        self.priorities.insert(id, i32::try_from(-level).unwrap_or(i32::MIN));
    }

    /// From now on first bytes are reported.
    pub(crate) fn watch_first_bytes(&mut self) {
        self.begun_now.get_or_insert_default();
    }

    /// The first byte of a message has arrived.
    pub(crate) fn on_begun(&mut self, id: StreamId) {
        if let Some(begun) = &mut self.begun_now {
            begun.push_back(Exchange(id.index()));
        }
    }

    pub(crate) fn take_begun(&mut self) -> Option<Exchange> {
        self.begun_now.as_mut()?.pop_front()
    }

    /// Hands quinn what it takes, in writes of at most `write_size` bytes.
    pub(crate) fn hand_over(&mut self, connection: &mut Connection, write_size: u64) {
        while let Some(bytes) = self.waiting.front() {
            // Streams are opened in the order of their numbers.
            let Some(id) = connection.streams().open(Dir::Bi) else { break };
            self.outgoing.insert(id, Outgoing::message(*bytes));
            self.waiting.pop_front();
        }
        while let Some((id, priority)) = self.priorities.pop_first() {
            // An answer whose stream the other end has reset has no priority.
            let _ = connection.send_stream(id).set_priority(priority);
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
        !self.arrived.is_empty() || self.begun_now.as_ref().is_some_and(|begun| !begun.is_empty())
    }
}
