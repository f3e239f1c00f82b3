//! Undo of spurious reductions of the window.
//!
//! - DSACK (RFC 2883, RFC 3708): the receiver already had all data that was retransmitted since the
//!   loss was detected.
//! - F-RTO with SACK (RFC 5682 section 3): after a timeout, data arrives that counts as lost and was
//!   not retransmitted. As in Linux, any such ACK is sufficient, and new data is tried after the first
//!   ACK only. Unlike Linux, recently sent data that the timeout did not mark as lost does not count.

use congestion::Window;

use transport::Range;

/// The last reduction, until it is known to have been needed.
#[derive(Clone, Copy, Debug)]
struct Saved {
    cwnd: u64,
    ssthresh: u64,
    /// What was first unacknowledged then.
    una: u64,
    /// Bytes sent again and not reported to have arrived twice; `None` until any are.
    repeated: Option<u64>,
}

/// The reduction that may be taken back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    saved: Option<Saved>,
}

impl Undo {
    /// The window is about to be reduced; `repeating` bytes are under way again already.
    pub(super) fn remember(&mut self, window: &Window, una: u64, repeating: u64) {
        let Window { cwnd, ssthresh, .. } = *window;
        let repeated = (repeating > 0).then_some(repeating);
        self.saved = Some(Saved { cwnd, ssthresh, una, repeated });
    }

    /// `bytes` are sent again.
    pub(super) fn on_again(&mut self, bytes: u64) {
        if let Some(saved) = &mut self.saved {
            *saved.repeated.get_or_insert(0) += bytes;
        }
    }

    /// The receiver reports that `range` arrived twice.
    pub(super) fn on_duplicate_report(&mut self, range: Range) {
        if let Some(saved) = &mut self.saved
            && range.end > saved.una
            && let Some(repeated) = &mut saved.repeated
        {
            *repeated = repeated.saturating_sub(range.len());
        }
    }

    /// Returns true if all retransmissions were needless.
    pub(super) fn is_due(&self) -> bool {
        self.saved.is_some_and(|saved| saved.repeated == Some(0))
    }

    /// cwnd and ssthresh before the reduction, which is no longer remembered.
    pub(super) fn take(&mut self) -> Option<(u64, u64)> {
        self.saved.take().map(|saved| (saved.cwnd, saved.ssthresh))
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

/// What an ACK says about a timeout.
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

    fn range(start: u64, end: u64) -> Range {
        Range { start, end }
    }

    #[test]
    fn a_reduction_is_needless_when_every_copy_was() {
        let mut undo = Undo::default();
        undo.remember(&window(20, 30), 100, 0);
        assert!(!undo.is_due(), "nothing was sent again");
        undo.on_again(2);
        undo.on_again(3);
        undo.on_duplicate_report(range(100, 102));
        assert!(!undo.is_due());
        undo.on_duplicate_report(range(90, 93));
        assert!(!undo.is_due(), "sent before");
        undo.on_duplicate_report(range(102, 105));
        assert!(undo.is_due());
        assert_eq!(undo.take(), Some((20, 30)));
        assert!(!undo.is_due(), "once");
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
