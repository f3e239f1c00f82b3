//! Requests and answers on streams of one connection, each pair on a stream of its own (HTTP/3,
//! RFC 9114 section 4.1). A loss on one stream does not delay the others.

/// The number of a request and its answer, counted through the connection from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exchange(pub u64);

/// Exchanges of one end. The end that opens the connection asks, and the other one answers.
pub trait Streams {
    /// Sends a request of `bytes` on a new stream.
    fn ask(&mut self, bytes: u64) -> Exchange;

    /// Sends an answer of `bytes` to a request that has arrived.
    fn answer(&mut self, exchange: Exchange, bytes: u64);

    /// The same with a priority. Protocols without priorities ignore it.
    fn answer_urgently(&mut self, exchange: Exchange, bytes: u64, urgency: Urgency) {
        let _ = urgency;
        self.answer(exchange, bytes);
    }

    /// From now on [`take_begun`](Self::take_begun) reports first bytes, if the protocol knows
    /// them.
    fn watch_first_bytes(&mut self) {}

    /// The next request or answer of which the first byte has arrived.
    fn take_begun(&mut self) -> Option<Exchange> {
        None
    }

    /// The next request or answer that has arrived with all its bytes.
    fn take_arrived(&mut self) -> Option<Exchange>;

    /// Returns true if one has arrived that was not taken.
    fn has_arrived(&self) -> bool;

    /// Returns false once the connection has ended.
    fn is_open(&self) -> bool;
}

/// The priority of an answer (RFC 9218 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Urgency {
    /// From 0 to 7; smaller ones are served first.
    pub level: u8,
    /// True if answers of the same level take turns. Others follow one another in the order of
    /// their requests.
    pub in_turn: bool,
}
