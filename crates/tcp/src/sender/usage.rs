//! Use of cwnd: does it limit the sender?
//!
//! A flight that fills cwnd lets it grow, however little the application writes afterwards. So does
//! one of more than half of it (RFC 7661, "pipeACK >= cwnd / 2", with the largest flight of a
//! window as pipeACK). What a window was used for is forgotten with the next one. `linux::usage`
//! has the rule of `recovery = "linux"`.
//!
//! A window that is not used: RFC 5681 section 4.1 goes back to the initial window after an idle
//! RTO (`transmit`). The rules of Linux are in `linux::usage`. Left out are the rules of RFC 7661
//! for a window that is not used: another response to a loss (section 4.4.1) and the decay after
//! five minutes (section 4.4.3).

use congestion::Window;
use transport::Limit;

use super::stream::Stream;

/// Limit that held the sender back when it last stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum HeldBy {
    CongestionWindow = Limit::CongestionWindow as u8,
    AdvertisedWindow = Limit::ReceiveWindow as u8,
    Application = Limit::Application as u8,
}

/// How far cwnd was used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// cwnd counts as full until this number is acknowledged.
    full_until: u64,
    /// Largest flight of a window that was not full.
    peak: u64,
    /// Number whose acknowledgement ends that window.
    end: u64,
}

impl Usage {
    /// An ACK of new data is about to be taken in. Since the one before it the flight has only
    /// grown, and cwnd is still that of then: so this is looked at for each ACK, and not for each
    /// segment. Returns true if cwnd was full in this window.
    #[inline(always)]
    pub(super) fn note(&mut self, stream: &Stream, cwnd: u64) -> bool {
        let full = stream.flight() + stream.mss > cwnd;
        if full {
            self.full_until = stream.max;
        }
        full || self.note_part(stream)
    }

    #[inline(never)]
    fn note_part(&mut self, stream: &Stream) -> bool {
        let flight = stream.flight();
        if stream.una >= self.end || flight > self.peak {
            (self.peak, self.end) = (flight, stream.max);
        }
        stream.una < self.full_until
    }

    /// cwnd counts as full until `max` is acknowledged: a rate that follows from it limits the
    /// sender.
    pub(super) fn note_full(&mut self, max: u64) {
        self.full_until = max;
    }

    /// Returns true if a flight that does not fill cwnd lets it grow.
    #[inline(never)]
    pub(super) fn uses_half(&self, window: &Window) -> bool {
        window.cwnd <= 2 * self.peak
    }
}

/// ssthresh of Linux for a window that was not used (`tcp_current_ssthresh`).
pub(super) fn three_quarters(window: &Window) -> u64 {
    window.cwnd / 2 + window.cwnd / 4
}
