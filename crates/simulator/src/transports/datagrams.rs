//! Datagrams on their way. The packet in the network holds the number of its datagram, because packets of
//! the simulator are plain data.
//!
//! Nobody reports that the network has dropped a packet. Its datagram is forgotten after a time in which the
//! connection has ended or found the loss; a packet that arrives later is as good as lost.

use std::collections::VecDeque;

use quic::Datagram;
use units::{Span, Time};

/// Datagrams in the order of transmission.
#[derive(Debug)]
pub(crate) struct Datagrams {
    /// With the time of transmission; `None` has arrived.
    waiting: VecDeque<(Time, Option<Box<Datagram>>)>,
    /// Number of the first.
    first: u64,
    kept: Span,
}

impl Datagrams {
    pub(crate) fn new(kept: Span) -> Self {
        Self { waiting: VecDeque::new(), first: 0, kept }
    }

    /// Keeps a datagram. Returns the lower half of its number.
    #[expect(clippy::cast_possible_truncation, reason = "fewer than 2^32 are kept")]
    pub(crate) fn put(&mut self, now: Time, datagram: Datagram) -> u32 {
        while self.waiting.front().is_some_and(|(at, one)| one.is_none() || *at + self.kept < now) {
            self.waiting.pop_front();
            self.first += 1;
        }
        self.waiting.push_back((now, Some(Box::new(datagram))));
        (self.first + self.waiting.len() as u64 - 1) as u32
    }

    /// Takes the datagram out; `None` if it is forgotten.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is compared")]
    pub(crate) fn take(&mut self, number: u32) -> Option<Datagram> {
        let index = number.wrapping_sub(self.first as u32) as usize;
        self.waiting.get_mut(index)?.1.take().map(|datagram| *datagram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(first: u8) -> Datagram {
        Datagram { bytes: vec![first], is_ecn_capable: false }
    }

    #[test]
    fn a_datagram_is_taken_once_and_forgotten_after_a_time() {
        let mut datagrams = Datagrams::new(Span::from_secs(60));
        let at = |seconds| Time::ZERO + Span::from_secs(seconds);
        let numbers = [0, 1, 2].map(|n| datagrams.put(at(0), datagram(n)));
        assert_eq!(datagrams.take(numbers[1]), Some(datagram(1)));
        assert_eq!(datagrams.take(numbers[1]), None);
        let late = datagrams.put(at(60), datagram(3));
        assert_eq!(datagrams.take(numbers[0]), Some(datagram(0)));
        let later = datagrams.put(at(61), datagram(4));
        assert_eq!(datagrams.take(numbers[2]), None, "it was dropped, or is as good as lost");
        assert_eq!(
            [late, later].map(|n| datagrams.take(n)),
            [Some(datagram(3)), Some(datagram(4))]
        );
        assert_eq!(datagrams.take(99), None);
    }
}
