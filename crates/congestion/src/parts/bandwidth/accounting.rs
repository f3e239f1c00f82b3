//! Accounting of the bytes that arrived at the receiver with each ACK.
//!
//! Source: C. Casetti, M. Gerla, S. Mascolo, M. Y. Sanadidi, R. Wang, "TCP Westwood: end-to-end
//! congestion control for wired/wireless networks", Wireless Networks 8, 2002, as the authors'
//! module for ns-2 has it. A duplicate ACK tells of one segment that has arrived out of order. The
//! cumulative ACK that follows covers those segments a second time: of it only what no duplicate
//! ACK has told of counts, and at least the one segment that filled the gap. In the long run each
//! byte counts once. Here the count is in bytes.

use crate::events::Feedback;

/// Data that duplicate ACKs have reported and no cumulative ACK has covered yet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Accounting {
    accounted: u64,
}

impl Accounting {
    /// Bytes that have arrived since the ACK before this one.
    pub(crate) fn delivered(&mut self, feedback: &Feedback, mss: u64) -> u64 {
        if feedback.duplicate {
            self.accounted += mss;
            return mss;
        }
        let known = self.accounted.min(feedback.acked.saturating_sub(mss));
        self.accounted -= known;
        feedback.acked - known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::bandwidth::samples::{acknowledged, duplicate};

    const MSS: u64 = 1000;

    #[test]
    fn a_cumulative_ack_counts_for_what_it_covers() {
        let mut accounting = Accounting::default();
        assert_eq!(accounting.delivered(&acknowledged(0, 2 * MSS), MSS), 2 * MSS);
        assert_eq!(accounting.delivered(&acknowledged(1, 300), MSS), 300);
        assert_eq!(accounting.delivered(&acknowledged(2, 0), MSS), 0);
    }

    #[test]
    fn after_duplicate_acks_it_counts_for_the_segment_that_filled_the_gap() {
        let mut accounting = Accounting::default();
        for i in 0..5 {
            assert_eq!(accounting.delivered(&duplicate(i), MSS), MSS);
        }
        assert_eq!(accounting.delivered(&acknowledged(5, 6 * MSS), MSS), MSS);
        assert_eq!(accounting.delivered(&acknowledged(6, 2 * MSS), MSS), 2 * MSS);
    }

    #[test]
    fn a_partial_ack_uses_up_only_what_it_covers() {
        let mut accounting = Accounting::default();
        for i in 0..5 {
            accounting.delivered(&duplicate(i), MSS);
        }
        assert_eq!(accounting.delivered(&acknowledged(5, 3 * MSS), MSS), MSS);
        assert_eq!(accounting.delivered(&acknowledged(6, 4 * MSS), MSS), MSS);
    }

    #[test]
    fn lost_duplicate_acks_are_made_up_for_by_the_cumulative_one() {
        let mut accounting = Accounting::default();
        accounting.delivered(&duplicate(0), MSS);
        accounting.delivered(&duplicate(1), MSS);
        assert_eq!(accounting.delivered(&acknowledged(2, 10 * MSS), MSS), 8 * MSS);
    }
}
