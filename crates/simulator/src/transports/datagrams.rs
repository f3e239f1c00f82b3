//! Packets of other protocols on their way. What the network carries holds the number of the packet, because
//! packets of the simulator are plain data.
//!
//! Nobody reports that the network has dropped a packet. It is forgotten after a time in which the connection
//! has ended or found the loss; a packet that arrives later is as good as lost.

use std::collections::VecDeque;

use units::{Span, Time};

/// A number that has no packet any more.
const TAKEN: u32 = u32::MAX;

/// Packets `P` in the order of transmission.
#[derive(Debug)]
pub(crate) struct Datagrams<P> {
    /// For each number, its time of transmission and the place of its packet.
    numbers: VecDeque<(Time, u32)>,
    /// Number of the first.
    first: u64,
    /// The packets, which are moved only once each. Lost ones do not keep the places of others.
    places: Vec<Option<P>>,
    free: Vec<u32>,
    kept: Span,
}

impl<P> Datagrams<P> {
    pub(crate) fn new(kept: Span) -> Self {
        Self { numbers: VecDeque::new(), first: 0, places: Vec::new(), free: Vec::new(), kept }
    }

    /// Keeps a packet. Returns the lower half of its number.
    #[expect(clippy::cast_possible_truncation, reason = "fewer than 2^32 are kept")]
    pub(crate) fn put(&mut self, now: Time, packet: P) -> u32 {
        while let Some(&(at, place)) = self.numbers.front() {
            if place != TAKEN {
                if at + self.kept >= now {
                    break;
                }
                self.empty(place);
            }
            self.numbers.pop_front();
            self.first += 1;
        }
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(packet);
                place
            }
            None => {
                self.places.push(Some(packet));
                (self.places.len() - 1) as u32
            }
        };
        self.numbers.push_back((now, place));
        (self.first + self.numbers.len() as u64 - 1) as u32
    }

    /// Takes the packet out; `None` if it is forgotten.
    pub(crate) fn take(&mut self, number: u32) -> Option<P> {
        let index = self.index(number);
        let (_, place) = self.numbers.get_mut(index)?;
        match std::mem::replace(place, TAKEN) {
            TAKEN => None,
            place => self.empty(place),
        }
    }

    fn empty(&mut self, place: u32) -> Option<P> {
        self.free.push(place);
        self.places[place as usize].take()
    }

    /// The packet; `None` if it is forgotten.
    pub(crate) fn get(&self, number: u32) -> Option<&P> {
        let (_, place) = self.numbers.get(self.index(number))?;
        self.places.get(*place as usize)?.as_ref()
    }

    #[expect(clippy::cast_possible_truncation, reason = "the lower half is compared")]
    fn index(&self, number: u32) -> usize {
        number.wrapping_sub(self.first as u32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_taken_once_and_forgotten_after_a_time() {
        let mut packets = Datagrams::new(Span::from_secs(60));
        let at = |seconds| Time::ZERO + Span::from_secs(seconds);
        let numbers = [0, 1, 2].map(|n| packets.put(at(0), n));
        assert_eq!(packets.take(numbers[1]), Some(1));
        assert_eq!(packets.take(numbers[1]), None);
        let late = packets.put(at(60), 3);
        assert_eq!(packets.take(numbers[0]), Some(0));
        let later = packets.put(at(61), 4);
        assert_eq!(packets.take(numbers[2]), None, "it was dropped, or is as good as lost");
        assert_eq!([late, later].map(|n| packets.take(n)), [Some(3), Some(4)]);
        assert_eq!(packets.take(99), None);
    }

    #[test]
    fn lost_packets_take_no_more_places_than_there_are_packets_in_the_network() {
        let mut packets = Datagrams::new(Span::from_secs(60));
        for n in 0..1000 {
            let number = packets.put(Time::ZERO + Span::from_secs(n), n);
            // Each tenth is lost.
            assert!(n % 10 == 0 || packets.take(number) == Some(n));
        }
        assert!(packets.places.len() <= 8, "{} places", packets.places.len());
        assert!(packets.numbers.len() <= 62, "{} numbers", packets.numbers.len());
    }
}
