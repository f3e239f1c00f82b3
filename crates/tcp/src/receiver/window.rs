//! The advertised window: what the buffer has room for, without silly windows (RFC 9293 section
//! 3.8.6.2.2).

use units::Time;

use crate::buffers::Arrival;
use crate::config::Config;
use crate::info::TunedBuffer;

use super::Receiver;

impl Receiver {
    /// Behind the last number that the other end may send.
    #[inline]
    pub(crate) fn right_edge(&self) -> u64 {
        self.right_edge
    }

    /// Returns true if what has arrived reaches the end of the window.
    pub(crate) fn is_full(&self) -> bool {
        let highest = self.queued().last().map_or(self.next, |range| range.end);
        highest >= self.right_edge
    }

    /// Returns true if the window has no room for a full segment behind what has arrived in order:
    /// a sender that avoids silly windows waits for an ACK.
    pub(crate) fn stops_the_sender(&self) -> bool {
        self.next + self.full > self.right_edge
    }

    /// The window as the last ACK had it.
    pub(super) fn last_window(&self) -> u64 {
        (self.right_edge + self.unacknowledged).saturating_sub(self.next)
    }

    /// A segment with `length` bytes of data was taken in, with this echo of a timestamp. The
    /// buffer follows it, if it tunes itself. Returns true if the window may grow.
    pub(crate) fn tune(
        &mut self,
        now: Time,
        config: &Config,
        length: u64,
        echo: Option<u32>,
    ) -> bool {
        let (next, edge, span) = (self.next, self.right_edge, self.span_above_gap());
        let (kept, window) = (self.bytes_out_of_order(), self.last_window());
        let Some(tuned) = &mut self.tuned else { return false };
        let arrival = Arrival { length, received: next + kept, echo, next, edge };
        if !tuned.is_news(&arrival) {
            return false;
        }
        self.advertised = None;
        let may_grow = tuned.on_arrival(now, &arrival, window);
        if config.reads_at_once {
            tuned.on_read(tuned.queued().saturating_sub(kept), self.read, next, span);
        }
        may_grow
    }

    /// State of a buffer that tunes itself.
    pub(crate) fn tuned_buffer(&self) -> Option<TunedBuffer> {
        self.tuned.as_ref().map(|tuned| tuned.state())
    }

    /// Bytes from the first gap to the end of the data above it.
    fn span_above_gap(&self) -> u64 {
        self.gaps.as_ref().and_then(|gaps| gaps.end()).map_or(0, |end| end - self.next)
    }

    /// The application reads `bytes`, which must be there.
    pub(crate) fn read(&mut self, config: &Config, bytes: u64) {
        self.read += bytes;
        self.advertised = None;
        let (read, next, span) = (self.read, self.next, self.span_above_gap());
        if let Some(tuned) = &mut self.tuned {
            tuned.on_read(bytes, read, next, span);
        }
        if self.timing.is_some() {
            self.ack_now |= self.reading_sends_ack(config);
            return;
        }
        // A window update is worth a segment of its own when it opens the window by two segments
        // or by half the buffer; RFC 9293 section 3.8.6.2.2 leaves the moment open.
        let opened = self.offered_edge(config) - self.right_edge;
        if opened >= (2 * self.mss).min(config.receive_buffer.get() / 2) {
            self.ack_now = true;
        }
    }

    /// Returns true if Linux sends an ACK after the application has read (`__tcp_cleanup_rbuf`):
    /// one that waits, or one that at least doubles the window.
    fn reading_sends_ack(&self, config: &Config) -> bool {
        let waits = self.ack_at != Time::NEVER;
        let ends = self.timing.as_ref().is_some_and(|timing| timing.reading_acknowledges());
        let answers = self.unacknowledged > self.full || (ends && self.unread() == 0);
        let buffer = match &self.tuned {
            Some(tuned) => tuned.clamp(),
            None => config.receive_buffer.get(),
        };
        let window = self.right_edge.saturating_sub(self.next);
        let free = self.offered_edge(config).saturating_sub(self.next);
        // Less is not worth a window at all (`__tcp_select_window`).
        let is_worth_it = free >= self.mss.max(buffer / 16).min(buffer);
        (waits && answers) || (is_worth_it && 2 * window <= buffer && free >= 2 * window)
    }

    /// The window to advertise in bytes, in steps of `1 << shift`. Both it and the limit are those
    /// of the connection, always the same.
    #[inline]
    pub(crate) fn window(&mut self, config: &Config, shift: u8, window_limit: u64) -> u64 {
        match self.advertised {
            Some(window) => window,
            None => self.next_window(config, shift, window_limit),
        }
    }

    #[inline]
    fn next_window(&mut self, config: &Config, shift: u8, window_limit: u64) -> u64 {
        if self.tuned.is_some() {
            return self.next_tuned_window(shift, window_limit);
        }
        let edge = self.edge_of_size(config).min(self.next + window_limit);
        // Receiver's silly window avoidance (RFC 9293 section 3.8.6.2.2).
        let step = (config.receive_buffer.get() / 2).min(self.mss);
        let edge = if edge >= self.right_edge + step { edge } else { self.right_edge };
        let window = (edge.saturating_sub(self.next) >> shift) << shift;
        self.right_edge = self.right_edge.max(self.next + window);
        self.advertised = Some(window);
        window
    }

    /// Likewise of a buffer that tunes itself.
    #[inline(never)]
    fn next_tuned_window(&mut self, shift: u8, window_limit: u64) -> u64 {
        let promised = self.right_edge.saturating_sub(self.next);
        let window = self.tuned.as_ref().map_or(promised, |tuned| tuned.window(promised));
        let window = window.min(window_limit) >> shift << shift;
        self.right_edge = self.right_edge.max(self.next + window);
        self.advertised = Some(window);
        window
    }

    pub(super) fn offered_edge(&self, config: &Config) -> u64 {
        match &self.tuned {
            Some(tuned) => (self.next + tuned.window(0)).max(self.right_edge),
            None => self.edge_of_size(config),
        }
    }

    /// The edge that a buffer of one size has room for.
    #[inline]
    fn edge_of_size(&self, config: &Config) -> u64 {
        (self.read + config.receive_buffer.get()).max(self.right_edge)
    }
}
