//! Tail loss probe (RFC 8985 section 7): if no ACK arrives for two round trips, one segment is
//! sent. Its SACK lets RACK detect losses at the end of the flight, before the retransmission timer
//! reduces the window to one segment.
//!
//! The wait is that of Linux (`tcp_schedule_loss_probe`): twice the smoothed RTT, and the smallest
//! RTO for a single segment, whose ACK may be delayed by that long at most; 2 ms for more. RFC 8985
//! section 7.2 leaves open what a sender takes for the longest delay of an ACK
//! (`TLP.max_ack_delay`), and adds nothing for more than one segment.

use units::Span;

/// Added for more than one segment (`TCP_TIMEOUT_MIN_US`).
const MARGIN: Span = Span::from_millis(2);

/// Before the first RTT sample (section 7.2).
const WITHOUT_SAMPLE: Span = Span::from_secs(1);

/// The probe of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct TailLossProbe {
    /// The longest delay of an ACK.
    ack_delay: Span,
    outstanding: Option<Probe>,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    /// Behind everything that was sent then (`TLP.end_seq`).
    end: u64,
    /// It repeats a segment (`TLP.is_retrans`).
    again: bool,
}

/// Evidence of an ACK about the probe that is out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// Everything below is acknowledged.
    pub(super) acknowledged: u64,
    /// It is a duplicate ACK without other news.
    pub(super) bare_duplicate: bool,
    /// End of the data that it reports to have arrived twice.
    pub(super) reported: Option<u64>,
}

impl TailLossProbe {
    /// No probe is out. An ACK may be delayed by `least_rto`, the smallest RTO.
    pub(super) fn new(least_rto: Span) -> Self {
        Self { ack_delay: least_rto, outstanding: None }
    }

    /// Time from the departure of data, or from an acknowledgement while more is outstanding, to a
    /// probe (section 7.2). `single`: one segment is outstanding.
    pub(super) fn delay(&self, srtt: Option<Span>, single: bool) -> Span {
        let delay = if single { self.ack_delay } else { MARGIN };
        srtt.map_or(WITHOUT_SAMPLE, |srtt| srtt + srtt + delay)
    }

    /// Returns true if a probe is unanswered.
    pub(super) fn is_out(&self) -> bool {
        self.outstanding.is_some()
    }

    /// Returns true if a probe that repeats a segment is unanswered.
    pub(super) fn is_copy(&self) -> bool {
        self.outstanding.is_some_and(|probe| probe.again)
    }

    /// Returns true if a probe is unanswered and `end` is the end of the data that it covers.
    pub(super) fn ends_at(&self, end: u64) -> bool {
        self.outstanding.is_some_and(|probe| probe.end == end)
    }

    /// The probe leaves; `end` is then the end of all that was sent (section 7.3).
    pub(super) fn on_sent(&mut self, end: u64, again: bool) {
        self.outstanding = Some(Probe { end, again });
    }

    /// A recovery begins: whatever was lost is found by it.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.ack_delay);
    }

    /// Takes in an ACK and says whether the probe has repaired a loss, which is then to be answered
    /// (section 7.4.2).
    pub(super) fn on_ack(&mut self, answer: Answer) -> bool {
        let Some(probe) = self.outstanding.filter(|probe| answer.acknowledged >= probe.end) else {
            return false;
        };
        let needless = answer.reported == Some(probe.end) || answer.bare_duplicate;
        let beyond = answer.acknowledged > probe.end;
        if !probe.again || needless || beyond {
            self.outstanding = None;
        }
        probe.again && !needless && beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST_RTO: Span = Span::from_millis(140);

    fn acknowledged(number: u64) -> Answer {
        Answer { acknowledged: number, bare_duplicate: false, reported: None }
    }

    fn out(again: bool) -> TailLossProbe {
        let mut probe = TailLossProbe::new(LEAST_RTO);
        probe.on_sent(5, again);
        probe
    }

    #[test]
    fn a_probe_is_due_after_two_round_trips_and_the_delay_of_a_lonely_ack() {
        let probe = TailLossProbe::new(LEAST_RTO);
        let srtt = Some(Span::from_millis(500));
        for (srtt, single, millis) in [(srtt, false, 1002), (srtt, true, 1140), (None, true, 1000)]
        {
            assert_eq!(probe.delay(srtt, single), Span::from_millis(millis));
        }
    }

    #[test]
    fn a_copy_has_repaired_a_loss_if_nothing_says_that_it_was_needless() {
        assert!(!out(true).on_ack(acknowledged(5)), "not yet known");
        assert!(out(true).on_ack(acknowledged(6)));
        assert!(!out(false).on_ack(acknowledged(6)), "new data repairs nothing");
        let mut probe = out(true);
        assert!(!probe.on_ack(Answer { reported: Some(5), ..acknowledged(5) }));
        assert!(!probe.on_ack(acknowledged(6)));
        let mut probe = out(true);
        assert!(!probe.on_ack(Answer { bare_duplicate: true, ..acknowledged(5) }));
        assert!(!probe.on_ack(acknowledged(6)));
    }
}
