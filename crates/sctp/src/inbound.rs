//! Order within streams (RFC 9260 section 6.6), and reassembly of messages (section 6.9).
//!
//! The application takes fragments as soon as those before them have arrived, so that a message may
//! be longer than the receive buffer (partial delivery, section 6.9).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use transport::Exchange;

use crate::chunk::{Data, Flags};
use crate::outbound::LAST_PART;

/// A chunk that waits for others: payload, flags and payload protocol identifier.
#[derive(Clone, Copy, Debug)]
struct Piece {
    payload: u16,
    flags: Flags,
    ppid: u32,
}

/// Order of one stream.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// The message that is expected. It does not wrap.
    message: u64,
    /// TSN of the next fragment of the message, if it has begun.
    fragment: Option<u64>,
    /// Number of requests or answers that have arrived.
    exchanges: u64,
}

/// Streams of one end.
#[derive(Debug, Default)]
pub(crate) struct Inbound {
    streams: Vec<Stream>,
    /// By stream, message and TSN.
    waiting: BTreeMap<(u16, u64, u64), Piece>,
    /// Fragments without order, by TSN, and the TSNs with which messages go on.
    unordered: BTreeMap<u64, Piece>,
    unordered_next: BTreeSet<u64>,
    /// Payload that waits.
    held: u64,
    arrived: VecDeque<Exchange>,
}

impl Inbound {
    /// The number of streams is known.
    pub(crate) fn open(&mut self, streams: u16) {
        if self.streams.is_empty() {
            self.streams = vec![Stream::default(); usize::from(streams.max(1))];
        }
    }

    /// Payload that waits for other chunks.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// Requests and answers that the application has not taken.
    pub(crate) fn arrived(&mut self) -> &mut VecDeque<Exchange> {
        &mut self.arrived
    }

    pub(crate) fn has_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Returns false if there is no such stream.
    pub(crate) fn has_stream(&self, stream: u16) -> bool {
        usize::from(stream) < self.streams.len()
    }

    /// A chunk that has not arrived before. Returns the bytes that the application may have now.
    #[inline]
    pub(crate) fn on_data(&mut self, tsn: u64, data: &Data) -> u64 {
        let Data { payload, flags, ppid, .. } = *data;
        let piece = Piece { payload, flags, ppid };
        if flags.contains(Flags::UNORDERED) {
            return self.on_unordered(tsn, piece);
        }
        let stream = self.streams[usize::from(data.stream)];
        // Messages below were delivered, so that the distance is never negative.
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is compared")]
        let distance = data.ssn.wrapping_sub(stream.message as u16);
        let message = stream.message + u64::from(distance);
        if !is_next(&stream, message, tsn, piece.flags) {
            self.held += u64::from(payload);
            self.waiting.insert((data.stream, message, tsn), piece);
            return 0;
        }
        let delivered = self.deliver(data.stream, tsn, piece);
        if self.waiting.is_empty() {
            return delivered;
        }
        delivered + self.deliver_waiting(data.stream)
    }

    /// Delivers chunks that have waited for the one delivered last.
    #[cold]
    fn deliver_waiting(&mut self, id: u16) -> u64 {
        let mut delivered = 0;
        loop {
            let stream = self.streams[usize::from(id)];
            let from = (id, stream.message, stream.fragment.unwrap_or(0));
            let Some((&key, &piece)) = self.waiting.range(from..).next() else { break };
            let (found, message, tsn) = key;
            if found != id || !is_next(&stream, message, tsn, piece.flags) {
                break;
            }
            self.waiting.remove(&key);
            self.held -= u64::from(piece.payload);
            delivered += self.deliver(id, tsn, piece);
        }
        delivered
    }

    #[inline]
    fn deliver(&mut self, id: u16, tsn: u64, piece: Piece) -> u64 {
        let streams = self.streams.len() as u64;
        let stream = &mut self.streams[usize::from(id)];
        if piece.flags.contains(Flags::END) {
            stream.fragment = None;
            stream.message += 1;
            if piece.ppid == LAST_PART {
                self.arrived.push_back(Exchange(u64::from(id) + streams * stream.exchanges));
                stream.exchanges += 1;
            }
        } else {
            stream.fragment = Some(tsn + 1);
        }
        u64::from(piece.payload)
    }

    fn on_unordered(&mut self, tsn: u64, piece: Piece) -> u64 {
        if !piece.flags.contains(Flags::BEGIN) && !self.unordered_next.remove(&tsn) {
            self.held += u64::from(piece.payload);
            self.unordered.insert(tsn, piece);
            return 0;
        }
        let (mut tsn, mut piece) = (tsn, piece);
        let mut delivered = u64::from(piece.payload);
        while !piece.flags.contains(Flags::END) {
            tsn += 1;
            let Some(next) = self.unordered.remove(&tsn) else {
                self.unordered_next.insert(tsn);
                break;
            };
            self.held -= u64::from(next.payload);
            delivered += u64::from(next.payload);
            piece = next;
        }
        delivered
    }
}

/// Returns true if a chunk is the next one of its stream.
#[inline]
fn is_next(stream: &Stream, message: u64, tsn: u64, flags: Flags) -> bool {
    match stream.fragment {
        Some(fragment) => fragment == tsn,
        None => message == stream.message && flags.contains(Flags::BEGIN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inbound() -> Inbound {
        let mut inbound = Inbound::default();
        inbound.open(2);
        inbound
    }

    fn data(stream: u16, ssn: u16, flags: &[Flags]) -> Data {
        let flags = flags.iter().fold(Flags::default(), |all, one| all.with_if(true, *one));
        Data { stream, ssn, payload: 10, flags, ..Data::default() }
    }

    const WHOLE: &[Flags] = &[Flags::BEGIN, Flags::END];

    #[test]
    fn a_missing_message_delays_its_own_stream_only() {
        let mut inbound = inbound();
        assert_eq!(inbound.on_data(1, &data(0, 1, WHOLE)), 0);
        assert_eq!(inbound.on_data(2, &data(1, 0, WHOLE)), 10);
        assert_eq!(inbound.on_data(3, &data(0, 2, WHOLE)), 0);
        assert_eq!(inbound.held(), 20);
        assert_eq!(inbound.on_data(0, &data(0, 0, WHOLE)), 30);
        assert_eq!(inbound.held(), 0);
    }

    #[test]
    fn fragments_wait_for_those_before_them() {
        let mut inbound = inbound();
        assert_eq!(inbound.on_data(2, &data(0, 0, &[Flags::END])), 0);
        assert_eq!(inbound.on_data(3, &data(0, 1, WHOLE)), 0);
        assert_eq!(inbound.on_data(0, &data(0, 0, &[Flags::BEGIN])), 10);
        assert_eq!(inbound.on_data(1, &data(0, 0, &[])), 30);
    }

    #[test]
    fn messages_without_order_wait_for_nothing_but_their_fragments() {
        let mut inbound = inbound();
        let unordered = |flags: &[Flags]| data(0, 0, &[flags, &[Flags::UNORDERED]].concat());
        assert_eq!(inbound.on_data(9, &unordered(WHOLE)), 10);
        assert_eq!(inbound.on_data(3, &unordered(&[Flags::END])), 0);
        assert_eq!(inbound.on_data(1, &unordered(&[Flags::BEGIN])), 10);
        assert_eq!(inbound.on_data(2, &unordered(&[])), 20);
        assert_eq!((inbound.held(), inbound.unordered_next.len()), (0, 0));
    }

    #[test]
    fn numbers_of_messages_wrap() {
        let mut inbound = inbound();
        for tsn in 0..70_000u64 {
            assert_eq!(inbound.on_data(tsn, &data(0, tsn as u16, WHOLE)), 10);
        }
        assert_eq!(inbound.on_data(70_001, &data(0, 70_001u64 as u16, WHOLE)), 0);
        assert_eq!(inbound.on_data(70_000, &data(0, 70_000u64 as u16, WHOLE)), 20);
    }

    #[test]
    fn exchanges_have_the_number_of_their_stream_and_turn() {
        let mut inbound = inbound();
        let last = |stream, ssn| Data { ppid: LAST_PART, ..data(stream, ssn, WHOLE) };
        inbound.on_data(0, &last(0, 0));
        inbound.on_data(2, &last(1, 0));
        inbound.on_data(1, &last(0, 1));
        assert_eq!(*inbound.arrived(), [Exchange(0), Exchange(1), Exchange(2)]);
    }
}
