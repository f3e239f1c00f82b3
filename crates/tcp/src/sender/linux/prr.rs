//! Proportional rate reduction (RFC 6937, RFC 9937): during recovery the window decreases to
//! ssthresh in proportion to the delivered data, not at once.
//!
//! While more than ssthresh is in the network, the ratio of sent to delivered data is that of
//! ssthresh to the window before the loss. If losses have left less than ssthresh, the window grows
//! back to ssthresh by slow start while the ACKs make progress (the slow start reduction bound).
//! Otherwise the sender sends as much as is delivered. As in Linux, RecoverFS is the window before
//! the loss instead of the flight size, and shares are whole segments.

/// One recovery, or what a mark has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    /// The window before the loss (RecoverFS).
    before: u64,
    ssthresh: u64,
    /// Bytes that have arrived since (`prr_delivered`).
    delivered: u64,
    /// Bytes sent since (`prr_out`).
    sent: u64,
}

impl Reduction {
    /// Recovery begins.
    pub(super) fn new(before: u64, ssthresh: u64) -> Self {
        Self { before, ssthresh, delivered: 0, sent: 0 }
    }

    /// The window at the end.
    pub(super) fn target(&self) -> u64 {
        self.ssthresh
    }

    /// `bytes` leave, new or again.
    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// An ACK shows that `delivered` bytes have arrived, and `pipe` bytes are in the network.
    /// `progress`: it acknowledges new data and shows no further loss (`safeACK`). Returns the
    /// window.
    pub(super) fn on_ack(&mut self, delivered: u64, pipe: u64, progress: bool, mss: u64) -> u64 {
        self.delivered += delivered;
        let mut may_send = if pipe > self.ssthresh {
            let share = (self.delivered * self.ssthresh).div_ceil(self.before);
            share.next_multiple_of(mss).saturating_sub(self.sent)
        } else {
            let bound = self.delivered.saturating_sub(self.sent).max(delivered);
            (bound + if progress { mss } else { 0 }).min(self.ssthresh - pipe)
        };
        if self.sent == 0 {
            // The fast retransmit that begins recovery.
            may_send = may_send.max(mss);
        }
        (pipe + may_send).max(mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1;

    /// RFC 6937 section 3.1, first example: 20 segments, the first is lost, Reno halves.
    #[test]
    fn one_segment_leaves_for_two_that_arrive() {
        let mut reduction = Reduction::new(20, 10);
        // Limited transmit has sent two more; three have arrived above the hole.
        let mut pipe = 22 - 1 - 3;
        let mut sent = Vec::new();
        for ack in 0..19 {
            pipe -= u64::from(ack > 0);
            let window = reduction.on_ack(1, pipe, false, MSS);
            sent.push(window - pipe);
            reduction.on_sent(window - pipe);
            pipe = window;
        }
        assert_eq!(sent[..16], [1, 0].repeat(8));
        // From here on the pipe holds ssthresh: what arrives is replaced.
        assert_eq!((&sent[16..], pipe), (&[0, 1, 1][..], 10));
    }

    /// RFC 6937 section 3.1, second example: 20 segments, only the last ones arrive.
    #[test]
    fn after_heavy_losses_as_much_is_sent_as_arrives_or_a_segment_more() {
        for (progress, each) in [(false, 1), (true, 2)] {
            let mut reduction = Reduction::new(20, 10);
            // 15 lost, and the ACK of one of the last five.
            let mut pipe = 4;
            for _ in 0..3 {
                let window = reduction.on_ack(1, pipe, progress, MSS);
                assert_eq!(window - pipe, each);
                reduction.on_sent(window - pipe);
                pipe = window - 1;
            }
        }
    }

    #[test]
    fn the_window_does_not_climb_beyond_ssthresh() {
        let mut reduction = Reduction::new(20, 10);
        reduction.on_sent(1);
        assert_eq!(reduction.on_ack(8, 6, true, MSS), 10);
        assert_eq!(reduction.on_ack(8, 10, true, MSS), 10);
    }

    #[test]
    fn the_first_retransmission_leaves_whatever_the_share_says() {
        let mut reduction = Reduction::new(20_000, 10_000);
        assert_eq!(reduction.on_ack(1000, 16_000, false, 1000), 17_000);
        reduction.on_sent(1000);
        assert_eq!(reduction.on_ack(1000, 16_000, false, 1000), 16_000, "half of two");
    }
}
