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

    /// The next request or answer that has arrived with all its bytes.
    fn take_arrived(&mut self) -> Option<Exchange>;

    /// Returns true if one has arrived that was not taken.
    fn has_arrived(&self) -> bool;

    /// Returns false once the connection has ended.
    fn is_open(&self) -> bool;
}
