//! Datagrams of an end, for applications that send messages of their own (RFC 768).

use units::Time;

/// A datagram of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Number that the application gave it. It is in the first bytes of the payload.
    pub number: u64,
    /// Bytes of the payload, at least [`LEAST_DATAGRAM`].
    pub bytes: u16,
}

/// Bytes of the smallest payload: those of the number.
pub const LEAST_DATAGRAM: u16 = 8;

/// Datagrams of an end. They may be lost, and arrive in another order.
pub trait Datagrams {
    /// Sends a datagram.
    fn send(&mut self, datagram: Datagram);

    /// The next datagram that has arrived, in the order of arrival, with its time of arrival.
    fn take_arrived(&mut self) -> Option<(Time, Datagram)>;

    /// Returns true if one has arrived that was not taken.
    fn has_arrived(&self) -> bool;
}
