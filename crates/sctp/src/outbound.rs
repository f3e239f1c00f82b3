//! Messages that wait, and the order in which streams send them.
//!
//! RFC 9260 leaves to the implementation which stream sends next. Here streams take turns, one
//! message each (round robin, as RFC 8260 section 3.2 describes it). A message that has begun is
//! finished first, because the fragments of a message have consecutive TSNs (section 6.9).
//!
//! SCTP has no end of a stream. A request or an answer is a number of messages on one stream, and
//! the payload protocol identifier of the last one says that it is the last. That is ours.

use std::collections::VecDeque;

use transport::Exchange;

use crate::chunk::Flags;
use crate::config::Config;

/// Payload protocol identifier of the messages of a transfer.
pub(crate) const TRANSFER: u32 = 0;
/// Of a message of a request or an answer, unless it is the last one.
pub(crate) const PART: u32 = 1;
/// Of the last message of a request or an answer.
pub(crate) const LAST_PART: u32 = 2;

/// A fragment, or a whole message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) stream: u16,
    pub(crate) ssn: u16,
    pub(crate) ppid: u32,
    pub(crate) payload: u16,
    pub(crate) flags: Flags,
}

/// A message of which a fragment was sent.
#[derive(Clone, Copy, Debug)]
struct Begun {
    stream: u16,
    ssn: u16,
    ppid: u32,
    /// Bytes that are to be sent.
    left: u64,
    /// U, or nothing.
    order: Flags,
}

/// Messages of one end.
#[derive(Debug)]
pub(crate) struct Outbound {
    /// Length of messages; `None` is what fits a chunk.
    message_size: Option<u64>,
    order: Flags,
    /// Bytes of the transfer, and the stream of its next message.
    transfer: u64,
    turn: u16,
    /// Next SSN of each stream.
    next: Vec<u16>,
    /// Bytes that are left of the requests or answers of each stream. Empty without any.
    queues: Vec<VecDeque<u64>>,
    /// Streams with requests or answers, in the order of their turns.
    ready: VecDeque<u16>,
    /// Requests before the number of streams is known.
    early: Vec<(Exchange, u64)>,
    begun: Option<Begun>,
    /// Bytes of the messages that have begun.
    packed: u64,
}

impl Outbound {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            message_size: config.message_size.map(|size| size.get().max(1)),
            order: Flags::default().with_if(config.unordered, Flags::UNORDERED),
            transfer: 0,
            turn: 0,
            next: Vec::new(),
            queues: Vec::new(),
            ready: VecDeque::new(),
            early: Vec::new(),
            begun: None,
            packed: 0,
        }
    }

    /// The number of streams is known.
    pub(crate) fn open(&mut self, streams: u16) {
        if self.next.is_empty() {
            self.next = vec![0; usize::from(streams.max(1))];
            for (exchange, bytes) in std::mem::take(&mut self.early) {
                self.send(exchange, bytes);
            }
        }
    }

    /// Bytes of a transfer.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.transfer += bytes;
    }

    /// A request or an answer.
    #[expect(clippy::cast_possible_truncation, reason = "the rest of a division by 65535 at most")]
    pub(crate) fn send(&mut self, exchange: Exchange, bytes: u64) {
        if self.next.is_empty() {
            self.early.push((exchange, bytes));
            return;
        }
        self.queues.resize_with(self.next.len(), VecDeque::new);
        let stream = exchange.0 % self.next.len() as u64;
        let queue = &mut self.queues[stream as usize];
        // A message has at least one byte (section 3.3.1).
        queue.push_back(bytes.max(1));
        if queue.len() == 1 {
            self.ready.push_back(stream as u16);
        }
    }

    /// Takes back what has not begun. Returns the length of what remains of the transfer.
    pub(crate) fn withdraw(&mut self) -> u64 {
        self.transfer = 0;
        self.packed
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.begun.is_none() && self.transfer == 0 && self.ready.is_empty() && self.early.is_empty()
    }

    /// Payload of the next piece, which has at most `most` bytes.
    #[inline]
    pub(crate) fn peek(&self, most: u16) -> Option<u16> {
        if let Some(begun) = &self.begun {
            return Some(at_most(begun.left, most));
        }
        let left = match self.ready.front() {
            Some(stream) => *self.queues[usize::from(*stream)].front()?,
            None => self.transfer,
        };
        let piece = at_most(self.message(left, most), most);
        (piece > 0 && !self.next.is_empty()).then_some(piece)
    }

    /// Length of the next message, of which `left` bytes and those of others are to be sent.
    fn message(&self, left: u64, most: u16) -> u64 {
        left.min(self.message_size.unwrap_or(u64::from(most)))
    }

    /// The next piece.
    #[inline]
    pub(crate) fn take(&mut self, most: u16) -> Option<Piece> {
        self.peek(most)?;
        let begins = self.begun.is_none();
        let mut begun = match self.begun.take() {
            Some(begun) => begun,
            None => self.begin(most)?,
        };
        let payload = at_most(begun.left, most);
        begun.left -= u64::from(payload);
        let flags = begun.order.with_if(begins, Flags::BEGIN).with_if(begun.left == 0, Flags::END);
        let Begun { stream, ssn, ppid, left, .. } = begun;
        self.begun = (left > 0).then_some(begun);
        Some(Piece { stream, ssn, ppid, payload, flags })
    }

    fn begin(&mut self, most: u16) -> Option<Begun> {
        let (stream, ppid, left, order) = match self.ready.pop_front() {
            Some(stream) => self.begin_part(stream, most)?,
            None => {
                let left = self.message(self.transfer, most);
                self.transfer -= left;
                self.packed += left;
                let stream = self.turn;
                self.turn = if usize::from(stream) + 1 < self.next.len() { stream + 1 } else { 0 };
                (stream, TRANSFER, left, self.order)
            }
        };
        let next = &mut self.next[usize::from(stream)];
        let ssn = if order == Flags::default() { *next } else { 0 };
        *next = next.wrapping_add(u16::from(order == Flags::default()));
        Some(Begun { stream, ssn, ppid, left, order })
    }

    /// The next message of a request or an answer.
    #[cold]
    fn begin_part(&mut self, stream: u16, most: u16) -> Option<(u16, u32, u64, Flags)> {
        let bytes = *self.queues[usize::from(stream)].front()?;
        let message = self.message(bytes, most);
        let queue = &mut self.queues[usize::from(stream)];
        let is_last = message == bytes;
        if is_last {
            queue.pop_front();
        } else {
            queue[0] -= message;
        }
        if !queue.is_empty() {
            self.ready.push_back(stream);
        }
        Some((stream, if is_last { LAST_PART } else { PART }, message, Flags::default()))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "not above `most`")]
fn at_most(bytes: u64, most: u16) -> u16 {
    bytes.min(u64::from(most)) as u16
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;

    fn outbound(message_size: Option<u64>, unordered: bool) -> Outbound {
        let message_size = message_size.map(Bytes);
        let mut outbound = Outbound::new(&Config { message_size, unordered, ..Config::default() });
        outbound.open(3);
        outbound
    }

    fn pieces(outbound: &mut Outbound) -> Vec<(u16, u16, u16, u8)> {
        std::iter::from_fn(|| outbound.take(1000))
            .map(|piece| (piece.stream, piece.ssn, piece.payload, piece.flags.byte()))
            .collect()
    }

    #[test]
    fn a_transfer_takes_all_streams_in_turn() {
        let mut outbound = outbound(None, false);
        outbound.write(4500);
        let expected =
            [(0, 0, 1000, 3), (1, 0, 1000, 3), (2, 0, 1000, 3), (0, 1, 1000, 3), (1, 1, 500, 3)];
        assert_eq!(pieces(&mut outbound), expected);
        assert!(outbound.is_empty());
    }

    #[test]
    fn long_messages_are_fragmented_and_withdrawn_only_before_they_begin() {
        let mut outbound = outbound(Some(2500), false);
        outbound.write(9000);
        let first = outbound.take(1000).unwrap();
        assert_eq!((first.payload, first.flags), (1000, Flags::BEGIN));
        assert_eq!(outbound.withdraw(), 2500);
        assert_eq!(pieces(&mut outbound), [(0, 0, 1000, 0), (0, 0, 500, 1)]);
    }

    #[test]
    fn messages_without_order_have_no_numbers() {
        let mut outbound = outbound(None, true);
        outbound.write(4000);
        let numbers: Vec<_> =
            pieces(&mut outbound).iter().map(|piece| (piece.1, piece.3)).collect();
        assert_eq!(numbers, [(0, 7); 4]);
    }

    #[test]
    fn answers_take_turns_and_their_last_message_says_so() {
        let mut outbound = outbound(Some(1000), false);
        for (exchange, bytes) in [(0, 2000), (1, 1000), (3, 500)] {
            outbound.send(Exchange(exchange), bytes);
        }
        let sent: Vec<_> = std::iter::from_fn(|| outbound.take(1000))
            .map(|piece| (piece.stream, piece.payload, piece.ppid))
            .collect();
        let expected =
            [(0, 1000, PART), (1, 1000, LAST_PART), (0, 1000, LAST_PART), (0, 500, LAST_PART)];
        assert_eq!(sent, expected);
    }

    #[test]
    fn requests_wait_for_the_number_of_streams() {
        let mut outbound = Outbound::new(&Config::default());
        outbound.send(Exchange(1), 10);
        assert_eq!((outbound.peek(1000), outbound.is_empty()), (None, false));
        outbound.open(2);
        assert_eq!(outbound.take(1000).map(|piece| piece.stream), Some(1));
    }
}
