//! The stream that the sender carries: what is written, what was sent, and what is acknowledged.

use units::SizeLimit;

/// Positions in the stream. The SYN is number 0 and the first byte is number 1.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// First unacknowledged number (SND.UNA of RFC 9293 section 3.3.1).
    pub(crate) una: u64,
    /// Number behind everything that was sent (SND.NXT, which never goes back here).
    pub(crate) max: u64,
    /// End of the data that the application has written.
    pub(crate) written: u64,
    /// End of the written data that fits the send buffer.
    pub(crate) buffered: u64,
    /// Payload of a full segment in bytes.
    pub(crate) mss: u64,
    /// The application has closed: a FIN follows the data.
    pub(crate) fin_queued: bool,
    /// The FIN goes with the last data, which still waited when the application closed.
    pub(crate) fin_rides: bool,
    /// End of the last segment that was not full (SND.SML of Minshall).
    pub(crate) small_end: u64,
}

impl Stream {
    /// Nothing is written, and the SYN was not sent.
    pub(crate) fn new(mss: u64) -> Self {
        Self {
            una: 0,
            max: 0,
            written: 1,
            buffered: 1,
            mss,
            fin_queued: false,
            fin_rides: false,
            small_end: 0,
        }
    }

    /// Flight size in bytes: sent and not acknowledged (RFC 5681 section 2).
    #[inline]
    pub(crate) fn flight(&self) -> u64 {
        self.max - self.una
    }

    /// Fills the send buffer, after data was written or acknowledged.
    #[inline]
    pub(crate) fn fill_buffer(&mut self, send_buffer: SizeLimit) {
        self.buffered = self.written.min(self.una.saturating_add(send_buffer.get()));
    }

    /// End of the stream with its FIN, as far as both are known.
    pub(crate) fn end(&self) -> u64 {
        self.written + u64::from(self.fin_queued)
    }

    /// Written bytes that were not sent and fit the send buffer.
    pub(crate) fn unsent(&self) -> u64 {
        self.buffered.saturating_sub(self.max)
    }

    /// Returns true if the FIN is all that remains to be sent.
    #[inline]
    pub(crate) fn fin_waits(&self) -> bool {
        self.fin_queued && self.max == self.written
    }

    /// Returns true if the FIN is part of the next new segment, which has `length` bytes of data.
    #[inline(always)]
    pub(crate) fn fin_follows(&self, length: u64) -> bool {
        let is_last = self.fin_queued && self.max + length == self.written;
        is_last && (self.fin_rides || length == 0)
    }

    /// Lets the FIN go with the last data, if that waits although the application has closed. After
    /// data that leaves as soon as it is written the FIN is a segment of its own, as in Linux
    /// (`tcp_send_fin`). RFC 9293 section 3.10.4 allows both.
    #[inline]
    pub(crate) fn note_waiting_data(&mut self) {
        self.fin_rides |= self.fin_queued && self.max < self.written;
    }

    /// Returns true if an ACK may bring the close of the stream forward: the FIN is acknowledged,
    /// or nothing has decided yet that it goes with the last data.
    #[inline]
    pub(crate) fn may_advance_close(&self) -> bool {
        self.una > self.written || !self.fin_rides
    }

    /// Returns true if the FIN was sent and acknowledged.
    pub(crate) fn fin_acknowledged(&self) -> bool {
        self.fin_queued && self.una > self.written
    }

    /// Returns true if something is outstanding or waits to be sent.
    pub(crate) fn is_busy(&self) -> bool {
        self.flight() > 0 || self.written > self.max || self.fin_waits()
    }

    /// Nagle's algorithm: a segment that is not full waits while anything is unacknowledged. With
    /// `minshall` it waits only while another one that was not full is (`tcp_nagle_check` of
    /// Linux). The last before a FIN does not wait: nothing can be added to it.
    pub(crate) fn waits_for_more(&mut self, length: u64, minshall: bool) -> bool {
        let waits = if minshall { self.small_end > self.una } else { self.flight() > 0 };
        if waits && self.fin_queued && self.max + length == self.written {
            self.fin_rides = true;
            return false;
        }
        waits
    }
}
