//! Undo of spurious reductions of the window.
//!
//! - DSACK (RFC 2883, RFC 3708): the receiver already had all data that was retransmitted since the
//!   loss was detected.
//! - Eifel (RFC 3522): an ACK of new data echoes a timestamp from before the first retransmission,
//!   so an original has arrived. As in Linux, the same follows from any such ACK before something
//!   was retransmitted.
//! - F-RTO with SACK (RFC 5682 section 3): after a timeout, data arrives that was sent before it
//!   and not retransmitted. As in Linux, any such ACK is sufficient, and new data is tried after
//!   the first ACK only.

use congestion::Window;

/// The last reduction, until it is known to have been needed.
#[derive(Clone, Copy, Debug)]
struct Saved {
    cwnd: u64,
    ssthresh: u64,
    /// These come back. Otherwise an undo only ends the recovery: a mark called for a reduction,
    /// too (`prior_ssthresh`).
    restores: bool,
    /// First unacknowledged position then.
    una: u64,
    /// Bytes sent again and not reported to have arrived twice; `None` until any are.
    repeated: Option<u64>,
}

/// The reduction that may be taken back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    saved: Option<Saved>,
    /// The timestamp of the first retransmission since the last time without any (`retrans_stamp`).
    first_copy: Option<u32>,
}

impl Undo {
    /// The window is about to be reduced; `repeating` bytes are under way again already. ssthresh
    /// is at least three quarters of cwnd then (`tcp_current_ssthresh`).
    pub(super) fn remember(&mut self, window: &Window, una: u64, repeating: u64, restores: bool) {
        let &Window { cwnd, ssthresh, .. } = window;
        let ssthresh = ssthresh.max(cwnd / 2 + cwnd / 4);
        let repeated = (repeating > 0).then_some(repeating);
        self.saved = Some(Saved { cwnd, ssthresh, restores, una, repeated });
    }

    /// Retransmits `bytes` at `stamp` of the clock of timestamps.
    pub(super) fn on_again(&mut self, bytes: u64, stamp: u32) {
        self.first_copy.get_or_insert(stamp);
        if let Some(saved) = &mut self.saved {
            *saved.repeated.get_or_insert(0) += bytes;
        }
    }

    /// No retransmission is in the network.
    pub(super) fn forget_copies(&mut self) {
        self.first_copy = None;
    }

    /// The window stays as it is, also after an undo.
    pub(super) fn keep_reduction(&mut self) {
        if let Some(saved) = &mut self.saved {
            saved.restores = false;
        }
    }

    /// There is no undo.
    pub(super) fn forget(&mut self) {
        self.saved = None;
    }

    /// The receiver reports `bytes` up to `end` that arrived twice.
    pub(super) fn on_duplicate_report(&mut self, end: u64, bytes: u64) {
        if let Some(saved) = &mut self.saved
            && end > saved.una
            && let Some(repeated) = &mut saved.repeated
        {
            *repeated = repeated.saturating_sub(bytes);
        }
    }

    /// Returns true if a reduction can be undone (`undo_marker`).
    pub(super) fn is_armed(&self) -> bool {
        self.saved.is_some()
    }

    /// Returns true if all retransmissions were needless.
    pub(super) fn is_reported(&self) -> bool {
        self.saved.is_some_and(|saved| saved.repeated == Some(0))
    }

    /// Returns true if an ACK of new data that echoes `echo` answers an original
    /// (`tcp_packet_delayed`).
    pub(super) fn shows_original(&self, echo: Option<u32>) -> bool {
        let Some(first) = self.first_copy else { return true };
        echo.is_some_and(|echo| echo != 0 && (echo.wrapping_sub(first) as i32) < 0)
    }

    /// Returns true if a reduction can be undone, and an ACK that echoes `echo` shows that it was
    /// needless.
    pub(super) fn is_needless(&self, echo: Option<u32>) -> bool {
        self.is_armed() && (self.is_reported() || self.shows_original(echo))
    }

    /// cwnd and ssthresh before the reduction, if they come back. It is no longer remembered.
    pub(super) fn take(&mut self) -> Option<(u64, u64)> {
        let saved = self.saved.take().filter(|saved| saved.restores)?;
        Some((saved.cwnd, saved.ssthresh))
    }
}

/// State of the detection of a spurious timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Frto {
    /// No timeout, or a real one.
    #[default]
    Off,
    /// The first segment was sent again (step 1).
    Waiting,
    /// It is acknowledged: new data goes before what seems to be lost (step 2b).
    Trying,
}

/// Evidence of an ACK about a timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// It acknowledges new data.
    pub(super) advanced: bool,
    /// It is a duplicate or brings news in its SACK blocks.
    pub(super) sacked: bool,
    /// Something new was sent since the timeout.
    pub(super) new_sent: bool,
    /// Something new may be sent.
    pub(super) new_possible: bool,
}

impl Frto {
    /// An ACK arrived that does not show that the timeout was needless.
    #[must_use]
    pub(super) fn after(self, evidence: Evidence) -> Self {
        match self {
            Self::Off => Self::Off,
            // Step 3a.
            Self::Waiting | Self::Trying if evidence.new_sent && evidence.sacked => Self::Off,
            Self::Waiting | Self::Trying if evidence.new_sent => Self::Waiting,
            Self::Waiting | Self::Trying if !evidence.advanced => self,
            Self::Waiting | Self::Trying if evidence.new_possible => Self::Trying,
            Self::Waiting | Self::Trying => Self::Off,
        }
    }
}

#[cfg(test)]
mod tests {
    use congestion::Settings;

    use super::*;

    fn window(cwnd: u64, ssthresh: u64) -> Window {
        let settings =
            Settings { mss: 1, initial_window: cwnd, initial_ssthresh: ssthresh, byte_counting: 1 };
        Window::new(&settings)
    }

    #[test]
    fn a_reduction_is_needless_when_every_copy_was() {
        let mut undo = Undo::default();
        undo.remember(&window(20, 30), 100, 0, true);
        assert!(!undo.is_reported(), "nothing was retransmitted");
        undo.on_again(2, 0);
        undo.on_again(3, 0);
        undo.on_duplicate_report(102, 2);
        assert!(!undo.is_reported());
        undo.on_duplicate_report(93, 3);
        assert!(!undo.is_reported(), "sent before");
        undo.on_duplicate_report(105, 3);
        assert!(undo.is_reported());
        assert_eq!(undo.take(), Some((20, 30)));
        assert!(!undo.is_reported(), "once");
    }

    #[test]
    fn an_echo_from_before_the_first_copy_shows_the_original() {
        let mut undo = Undo::default();
        assert!(undo.shows_original(None), "nothing was retransmitted");
        undo.on_again(1, 50);
        undo.on_again(1, 70);
        for (echo, shows) in [(None, false), (Some(49), true), (Some(50), false), (Some(0), false)]
        {
            assert_eq!(undo.shows_original(echo), shows, "{echo:?}");
        }
        undo.forget_copies();
        undo.on_again(1, 80);
        assert!(undo.shows_original(Some(79)));
    }

    #[test]
    fn ssthresh_returns_to_three_quarters_of_cwnd_at_least() {
        let mut undo = Undo::default();
        undo.remember(&window(40, 10), 0, 0, true);
        assert_eq!(undo.take(), Some((40, 30)));
        undo.remember(&window(40, 10), 0, 0, true);
        undo.keep_reduction();
        assert!(undo.is_armed());
        assert_eq!((undo.take(), undo.is_armed()), (None, false), "a mark");
    }

    const NOTHING: Evidence =
        Evidence { advanced: false, sacked: false, new_sent: false, new_possible: false };

    #[test]
    fn the_first_ack_lets_new_data_go_first_and_the_next_one_decides() {
        let advanced = Evidence { advanced: true, new_possible: true, ..NOTHING };
        assert_eq!(Frto::Waiting.after(advanced), Frto::Trying);
        assert_eq!(Frto::Waiting.after(Evidence { new_possible: false, ..advanced }), Frto::Off);
        assert_eq!(Frto::Waiting.after(NOTHING), Frto::Waiting);
        let decided = Evidence { sacked: true, new_sent: true, ..NOTHING };
        assert_eq!(Frto::Trying.after(decided), Frto::Off);
        assert_eq!(Frto::Off.after(advanced), Frto::Off);
    }
}
