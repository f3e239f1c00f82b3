//! Explicit loss notification (Balakrishnan and others): the gateway notes which data has not come
//! over the lossy hop before it, and marks the ACKs that ask for it.
//!
//! Of the papers only a summary was read: the gateway notes gaps in arriving data, and sets a bit
//! on the ACKs that go back. The rules are a reconstruction:
//!
//! - Data beyond the highest number so far leaves a hole. A new ACK removes what is below its
//!   number.
//! - An ACK whose number is in a hole has a notice: what its receiver misses has not come to the
//!   gateway at first. What came and was lost behind the gateway is in no hole, and has none.
//! - A retransmission does not close a hole: ACKs that were on their way before it arrived still
//!   ask for the data. So a retransmission that is lost behind the gateway counts as an error too.
//! - The gateway cannot see whether a hole is an error or a full queue before it.

use crate::header::{is_after, is_before};

/// Data that has not come, in the order of its numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Holes(Vec<(u32, u32)>);

impl Holes {
    /// Data that begins with `start` comes; `seen` is behind the highest before it. No more than
    /// `most` holes are kept.
    pub fn on_data(&mut self, seen: u32, start: u32, most: usize) {
        if is_after(start, seen) && self.0.len() < most {
            self.0.push((seen, start));
        }
    }

    /// All data before `number` is acknowledged.
    pub fn on_ack(&mut self, number: u32) {
        self.0.drain(..self.ended_by(number));
    }

    /// Returns true if the byte with this number has not come.
    pub fn contain(&self, number: u32) -> bool {
        let next = self.0.get(self.ended_by(number));
        next.is_some_and(|(from, _)| !is_before(number, *from))
    }

    /// Number of holes that end at `number` or before it.
    fn ended_by(&self, number: u32) -> usize {
        self.0.partition_point(|(_, to)| !is_after(*to, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_leaves_holes_until_it_is_acknowledged() {
        let mut holes = Holes::default();
        for (seen, start) in [(0, 0), (1000, 3000), (4000, 6000), (7000, 1000)] {
            holes.on_data(seen, start, 9);
        }
        assert_eq!(holes.0, [(1000, 3000), (4000, 6000)]);
        assert!(holes.contain(1000) && holes.contain(2999));
        assert!(!holes.contain(999) && !holes.contain(3000) && !holes.contain(7000));
        holes.on_ack(3000);
        assert_eq!(holes.0, [(4000, 6000)]);
    }

    #[test]
    fn numbers_wrap_and_holes_are_bounded() {
        let mut holes = Holes::default();
        holes.on_data(u32::MAX - 99, 100, 1);
        assert!(holes.contain(u32::MAX) && holes.contain(99) && !holes.contain(100));
        holes.on_data(200, 300, 1);
        assert!(!holes.contain(200));
    }
}
