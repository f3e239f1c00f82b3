//! ACK congestion control (RFC 5690): the data sender adapts the number of segments for which the
//! receiver sends an ACK to the path of the ACKs.
//!
//! - Set-up (section 4.1): both SYNs have an option that permits it.
//! - The receiver sends an ACK for every R full-sized segments, or when its timer expires; data out
//!   of order is acknowledged at once (section 4.3). R begins with the receiver's own number, and
//!   an option changes it.
//! - The sender knows R. An ACK of more than R new segments shows that ACKs were lost, unless they
//!   come later (reordering). With ECN, ACKs leave with ECT, and a mark of an ACK counts as a loss.
//! - R doubles after a window of data with lost or marked ACKs, and falls by one after cwnd /
//!   (R^2 - R) windows without. It is at most half of cwnd, rounded up, so that there are two ACKs
//!   in a window, and 2 is always allowed. These rules are those of RFC 4341 section 6.1.2, to
//!   which RFC 5690 refers.
//!
//! Of RFC 5690 itself only the abstract was available. Its rules are as the author of this file
//! knows them. The rules of R were compared with CCID 2 of Linux (`ccid2_change_l_ack_ratio`).
//! Decisions of this implementation:
//!
//! - R counts bytes of full-sized segments, as delayed ACKs do here.
//! - The option travels on a segment without data, so that data segments stay full. No ACK shows
//!   that it has arrived, so it is repeated in each window while R is not the smallest.
//! - An option may be lost or late. So ACKs are compared with the largest R of this window and the
//!   two before.
//! - While data is lost or out of order, no ACK is taken for lost: the receiver has other reasons
//!   then.
//! - R does not fall below the receiver's own number of segments, nor below 2.
//! - If cwnd falls so far that R is more than twice its limit, R falls at once.
//! - With accurate ECN, ACKs have no ECT, and only losses count.

/// The smallest ACK ratio in data packets per ACK, which every receiver accepts (RFC 4341
/// section 6.1.2).
const LEAST: u32 = 2;
/// Largest value of the option.
const MOST: u32 = u8::MAX as u32;

/// Counts of ACK congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckCounters {
    /// R now, in segments.
    pub ratio: u32,
    /// The largest R.
    pub largest: u32,
    /// ACKs that were taken for lost.
    pub missing: u64,
    /// ACKs that arrived with a mark.
    pub marked: u64,
    /// How often R was doubled.
    pub increases: u64,
    /// Segments that have carried the option.
    pub options: u64,
}

/// An ACK of new data, and the sender before it is taken in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advance {
    /// Next byte that the receiver expects, and the one before.
    pub(crate) number: u64,
    pub(crate) una: u64,
    /// Behind the last byte that was sent.
    pub(crate) max: u64,
    /// Payload of a full segment.
    pub(crate) mss: u64,
    pub(crate) cwnd: u64,
    /// Nothing is known to be lost or out of order.
    pub(crate) in_order: bool,
}

/// The data sender's part.
#[derive(Clone, Debug)]
pub(crate) struct AckRatio {
    ratio: u32,
    least: u32,
    /// The largest R of this window and of the two before.
    recent: [u32; 3],
    /// The window of data ends here.
    window_end: u64,
    /// Of this window: ACKs that seem to be lost, ACKs that came late, and whether one was marked.
    missing: u64,
    late: u64,
    marked: bool,
    /// Windows in a row without lost or marked ACKs.
    clean: u64,
    counters: AckCounters,
}

impl AckRatio {
    /// A receiver that sends an ACK for `segments` segments by itself.
    pub(crate) fn new(segments: u32) -> Self {
        let least = segments.clamp(LEAST, MOST);
        Self {
            ratio: least,
            least,
            recent: [least; 3],
            window_end: 1,
            missing: 0,
            late: 0,
            marked: false,
            clean: 0,
            counters: AckCounters { ratio: least, largest: least, ..AckCounters::default() },
        }
    }

    /// Counts so far.
    pub(crate) fn counters(&self) -> AckCounters {
        self.counters
    }

    /// An ACK has come after one that acknowledges more.
    pub(crate) fn on_late_ack(&mut self) {
        self.late += 1;
    }

    /// An ACK was marked on its way.
    pub(crate) fn on_marked_ack(&mut self) {
        self.marked = true;
        self.counters.marked += 1;
    }

    /// Takes in an ACK of new data. Returns the ACK ratio, in data packets per ACK, to request now.
    pub(crate) fn on_ack(&mut self, ack: &Advance) -> Option<u8> {
        let acked = ack.number - ack.una;
        let [a, b, c] = self.recent;
        let expected = u64::from(a.max(b).max(c));
        let limit = self.limit(ack);
        let ratio = if ack.number >= self.window_end {
            self.window_end = ack.max;
            Some(self.end_window(ack, limit))
        } else if self.ratio > 2 * limit {
            self.set(limit);
            Some(self.ratio)
        } else {
            None
        };
        // The receiver counts bytes, and the last segment may go beyond R of them. What this ACK
        // shows counts for the window that follows, so that an ACK which it has overtaken comes in
        // time.
        if ack.in_order && acked >= (expected + 1) * ack.mss {
            self.missing += (acked.div_ceil(ack.mss) / expected).saturating_sub(1).max(1);
        }
        let ratio = ratio.filter(|_| self.is_to_be_told())?;
        self.counters.options += 1;
        Some(u8::try_from(ratio).unwrap_or(u8::MAX))
    }

    /// Half of cwnd, rounded up, but 2 is always allowed.
    fn limit(&self, ack: &Advance) -> u32 {
        let half = ack.cwnd.div_ceil(2 * ack.mss).min(MOST.into());
        u32::try_from(half).unwrap_or(MOST).max(self.least)
    }

    /// A window of data is acknowledged. Returns R.
    fn end_window(&mut self, ack: &Advance, limit: u32) -> u32 {
        let missing = self.missing.saturating_sub(self.late);
        self.counters.missing += missing;
        let [_, b, c] = self.recent;
        self.recent = [b, c, self.ratio];
        let before = self.ratio;
        if missing > 0 || self.marked {
            self.set((2 * self.ratio).min(limit));
            self.counters.increases += u64::from(self.ratio > before);
            self.clean = 0;
        } else {
            self.clean += 1;
            let windows = self.clean * u64::from(before * before - before);
            let falls = before > self.least && windows >= ack.cwnd / ack.mss;
            if falls {
                self.clean = 0;
            }
            self.set((before - u32::from(falls)).min(limit));
        }
        (self.missing, self.late, self.marked) = (0, 0, false);
        self.ratio
    }

    fn set(&mut self, ratio: u32) {
        self.ratio = ratio;
        self.recent[2] = self.recent[2].max(ratio);
        self.counters.ratio = ratio;
        self.counters.largest = self.counters.largest.max(ratio);
    }

    /// The receiver may use another ratio than the smallest, which it has at the start.
    fn is_to_be_told(&self) -> bool {
        self.ratio > self.least || self.recent.iter().any(|ratio| *ratio > self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// A sender whose window is `cwnd` segments, and a receiver that obeys at once.
    struct Path {
        control: AckRatio,
        cwnd: u64,
        una: u64,
        told: Vec<u8>,
    }

    impl Path {
        fn new(cwnd: u64) -> Self {
            let mut path = Self { control: AckRatio::new(2), cwnd, una: 1, told: Vec::new() };
            // The first ACK begins the first window.
            path.ack(1, true);
            path
        }

        fn ack(&mut self, segments: u64, in_order: bool) {
            let (una, number) = (self.una, self.una + segments * MSS);
            self.una = number;
            let (cwnd, mss) = (self.cwnd * MSS, MSS);
            let max = number + cwnd;
            let ack = Advance { number, una, max, mss, cwnd, in_order };
            self.told.extend(self.control.on_ack(&ack));
        }

        /// A window of data, of whose ACKs the first `lost` do not arrive.
        fn window(&mut self, lost: u64) {
            let (ratio, end) = (u64::from(self.control.ratio), self.control.window_end);
            self.ack((lost + 1) * ratio, true);
            while self.una < end {
                self.ack(ratio, true);
            }
        }
    }

    /// RFC 4341 section 6.1.2: R doubles, at most to half of cwnd.
    #[test]
    fn the_ratio_doubles_after_each_window_with_a_lost_ack_up_to_half_of_cwnd() {
        let mut path = Path::new(100);
        path.window(0);
        assert_eq!((path.control.ratio, &path.told[..]), (2, &[][..]), "nothing to tell");
        let mut ratios = Vec::new();
        for _ in 0..5 {
            path.window(1);
            ratios.push(path.control.ratio);
        }
        assert_eq!(ratios, [4, 8, 16, 32, 50]);
        assert_eq!(path.control.counters().increases, 5);
        assert_eq!(path.told.last(), Some(&50));
    }

    /// R falls by one after cwnd / (R^2 - R) windows: after one for 11, and after two for 8 of 100
    /// segments.
    #[test]
    fn the_ratio_falls_by_one_after_as_many_windows_as_the_rule_has() {
        let mut path = Path::new(100);
        path.control.set(16);
        let mut ratios = Vec::new();
        for _ in 0..16 {
            path.window(0);
            ratios.push(path.control.ratio);
        }
        assert_eq!(ratios, [15, 14, 13, 12, 11, 10, 10, 9, 9, 8, 8, 7, 7, 7, 6, 6]);
    }

    #[test]
    fn the_smallest_ratio_is_told_until_the_receiver_must_know_it() {
        let mut path = Path::new(4);
        path.control.set(3);
        for _ in 0..40 {
            path.window(0);
        }
        assert_eq!(path.control.ratio, 2);
        assert!(path.told.ends_with(&[2, 2, 2]), "{:?}", path.told);
        assert!(path.told.len() < 10, "and not for ever: {:?}", path.told);
    }

    #[test]
    fn acks_that_come_late_and_acks_of_data_out_of_order_are_not_lost() {
        let mut path = Path::new(20);
        path.window(0);
        path.ack(4, true);
        path.control.on_late_ack();
        path.ack(10, true);
        path.window(0);
        // 10 segments with one ACK: four are missing. One that was overtaken does not repair them.
        assert_eq!(path.control.ratio, 4);
        let mut path = Path::new(20);
        for _ in 0..9 {
            path.ack(21, false);
        }
        assert_eq!((path.control.ratio, path.control.counters().missing), (2, 0));
        let mut path = Path::new(20);
        path.ack(2, true);
        path.ack(4, true);
        path.control.on_late_ack();
        for _ in 0..9 {
            path.ack(2, true);
        }
        assert_eq!((path.control.ratio, path.control.counters().missing), (2, 0));
    }

    #[test]
    fn a_marked_ack_counts_as_a_lost_one() {
        let mut path = Path::new(100);
        path.window(0);
        path.control.on_marked_ack();
        path.window(0);
        assert_eq!((path.control.ratio, path.control.counters().marked), (4, 1));
    }

    #[test]
    fn an_ack_of_the_ratio_before_is_not_taken_for_a_loss() {
        let mut path = Path::new(100);
        path.control.set(16);
        path.window(0);
        assert_eq!(path.control.ratio, 15);
        for _ in 0..7 {
            path.ack(16, true);
        }
        assert_eq!(path.control.counters().missing, 0);
    }

    #[test]
    fn the_ratio_falls_at_once_with_a_window_that_collapses() {
        let mut path = Path::new(100);
        path.control.set(40);
        path.cwnd = 10;
        path.ack(2, true);
        assert_eq!((path.control.ratio, path.told.last()), (5, Some(&5)));
    }

    #[test]
    fn the_receivers_own_number_is_the_smallest() {
        assert_eq!([1, 2, 8, 400].map(|segments| AckRatio::new(segments).ratio), [2, 2, 8, 255]);
    }
}
