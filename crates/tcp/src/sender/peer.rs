//! The receive window of the other end.

use super::acknowledge::Acknowledgement;

/// The window that the other end advertises.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer {
    /// Advertised window in bytes from SND.UNA (SND.WND of RFC 9293 section 3.3.1).
    pub(crate) advertised: u64,
    /// Advertised window after the scaling by the controller (TCP-ADaLR), else `advertised`.
    pub(crate) usable: u64,
    /// Largest window that was ever advertised (MAX.SND.WND of RFC 5961 section 5.2).
    pub(crate) max_advertised: u64,
    /// Sequence number of the last window update (SND.WL1).
    pub(crate) window_from: u64,
}

impl Peer {
    /// The other end advertises `window` bytes.
    #[inline]
    pub(crate) fn advertise(&mut self, window: u64) {
        self.advertised = window;
        self.max_advertised = self.max_advertised.max(window);
    }

    /// Takes the window of an ACK, if that is not older than the last update. RFC 9293 section
    /// 3.10.7.4 takes the segment with the highest sequence number for the latest. Linux also takes
    /// one that acknowledges more (`tcp_may_update_window`), and so does this: when a
    /// retransmission with an older number acknowledges more, the old window would otherwise count
    /// from the new SND.UNA, which is more than the receiver offers. Returns true if the size has
    /// changed.
    #[inline]
    pub(crate) fn update(&mut self, ack: &Acknowledgement, una: u64) -> bool {
        if ack.sequence < self.window_from && ack.number <= una {
            return false;
        }
        let changed = self.advertised != ack.window;
        self.window_from = ack.sequence;
        self.advertise(ack.window);
        changed
    }

    /// Returns true if an ACK of nothing new would change the window in Linux
    /// (`tcp_may_update_window`).
    pub(crate) fn would_move(&self, sequence: u64, window: u64) -> bool {
        sequence > self.window_from
            || (sequence == self.window_from && (window > self.advertised || window == 0))
    }

    /// SND.UNA moves by `bytes` without an ACK, and the right edge of the window stays.
    pub(crate) fn keep_edge(&mut self, bytes: u64) {
        self.advertised = self.advertised.saturating_sub(bytes);
        self.usable = self.usable.saturating_sub(bytes);
    }
}
