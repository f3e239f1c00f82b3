//! A controller with the events of a sender that always has data.

use congestion::{
    Ack, AnyController, Controller as _, Feedback, Loss, Needs, Sent, Settings, Specification,
};
use units::{Span, Time};

use crate::{MOST_ACKS, Sample, Unfit};

/// A controller, and the sender around it.
pub(crate) struct Driver {
    controller: AnyController,
    needs: Needs,
    mss: u64,
    /// Stream position up to which everything is acknowledged, in bytes.
    acknowledged: u64,
    min_rtt: Span,
    /// Time of the next ACK.
    next: Time,
    acks: u64,
    /// cwnd and ssthresh before the last reduction.
    undo: (u64, u64),
}

impl Driver {
    /// A controller in congestion avoidance with the window of `first`.
    pub(crate) fn new(
        specification: &Specification,
        mss: u32,
        first: Sample,
    ) -> Result<Self, Unfit> {
        let settings = Settings {
            mss,
            initial_window: first.cwnd,
            initial_ssthresh: first.cwnd,
            byte_counting: 1,
        };
        let mut controller = specification.build(&settings);
        let needs = controller.needs();
        if let Some(need) = missing(&needs) {
            return Err(Unfit::Controller { name: specification.entry().name, need });
        }
        if needs.round_trips || needs.feedback {
            controller.on_rtt(first.at, first.rtt);
        }
        Ok(Self {
            controller,
            needs,
            mss: mss.into(),
            acknowledged: 0,
            min_rtt: first.rtt,
            next: first.at,
            acks: 0,
            undo: (first.cwnd, first.cwnd),
        })
    }

    /// The congestion window in bytes.
    pub(crate) fn window(&self) -> u64 {
        self.controller.window().cwnd
    }

    /// Loses data at the window of `before`, and goes on from that of `after`. Returns true if it
    /// was a timeout.
    pub(crate) fn lose(&mut self, before: Sample, after: Sample, recovered: Time) -> bool {
        let now = after.at;
        self.controller.window_mut().cwnd = before.cwnd;
        self.undo = (before.cwnd, self.controller.window().ssthresh);
        let loss = Loss { now, flight: before.cwnd, repeated: false };
        let timeout = after.cwnd <= self.mss;
        if timeout {
            self.controller.on_timeout(&loss);
        } else {
            self.controller.on_loss(&loss);
            self.controller.on_recovery_exit(now);
            let window = self.controller.window_mut();
            window.ssthresh = window.ssthresh.min(after.cwnd);
        }
        self.controller.window_mut().cwnd = after.cwnd;
        self.min_rtt = self.min_rtt.min(after.rtt);
        let ack = now + interval(after.rtt, self.mss, after.cwnd);
        self.next = if timeout { ack } else { ack.max(recovered) };
        timeout
    }

    /// The last reduction was undone.
    pub(crate) fn undo(&mut self, after: Sample) {
        let (cwnd, ssthresh) = self.undo;
        self.controller.on_spurious_loss(cwnd, ssthresh);
        self.min_rtt = self.min_rtt.min(after.rtt);
        self.next = after.at + interval(after.rtt, self.mss, self.window());
    }

    /// The reduction goes on.
    pub(crate) fn fall(&mut self, after: Sample) {
        let window = self.controller.window_mut();
        window.cwnd = after.cwnd;
        window.ssthresh = window.ssthresh.min(after.cwnd);
        self.min_rtt = self.min_rtt.min(after.rtt);
        self.next = self.next.max(after.at + interval(after.rtt, self.mss, after.cwnd));
    }

    /// Acknowledges a segment after the other between two samples.
    pub(crate) fn acknowledge(&mut self, before: Sample, after: Sample) -> Result<(), Unfit> {
        self.min_rtt = self.min_rtt.min(after.rtt);
        self.next = self.next.max(before.at);
        while self.next <= after.at {
            self.acks += 1;
            if self.acks > MOST_ACKS {
                return Err(Unfit::TooLong);
            }
            self.one(self.next, after.rtt);
            self.next += interval(after.rtt, self.mss, self.window());
        }
        Ok(())
    }

    /// One ACK of a full segment, and the segment that it lets out.
    fn one(&mut self, now: Time, rtt: Span) {
        let (acked, flight) = (self.mss, self.window());
        self.acknowledged += acked;
        let sent = self.acknowledged + flight;
        let feedback = Feedback {
            now,
            acked,
            sacked: 0,
            duplicate: false,
            recovering: false,
            round_trip: Some(rtt),
            srtt: Some(rtt),
            min_rtt: Some(self.min_rtt),
            acknowledged: self.acknowledged,
            sent,
            pipe: flight,
            advertised: u64::MAX,
            peer_clock: None,
            marked: false,
            marked_bytes: 0,
            needless: 0,
            head_sent: None,
            rate: None,
        };
        if self.needs.feedback {
            self.controller.on_feedback(&feedback);
        }
        if self.needs.round_trips || self.needs.feedback {
            self.controller.on_rtt(now, rtt);
        }
        self.controller.on_ack(&Ack {
            now,
            acked,
            flight,
            advertised: u64::MAX,
            srtt: Some(rtt),
            min_rtt: Some(self.min_rtt),
            cwnd_limited: true,
        });
        if self.needs.feedback {
            let (bytes, pipe_before) = (self.mss, flight);
            self.controller.on_sent(&Sent { now, bytes, again: false, sent, pipe_before });
        }
    }
}

/// Time between the ACKs of two segments.
fn interval(rtt: Span, mss: u64, cwnd: u64) -> Span {
    Span::from_nanos((rtt * mss).as_nanos() / cwnd.max(mss)).max(Span::from_nanos(1))
}

/// The first need that a measurement does not fulfil.
fn missing(needs: &Needs) -> Option<&'static str> {
    let wants = [
        (needs.records, "delivery rates and the times of segments"),
        (needs.router_feedback.is_some(), "feedback of routers"),
        (needs.utilisation, "the utilisation of the link"),
        (needs.probes, "probes"),
        (needs.duplicate_reports, "reports of duplicates"),
        (needs.marks.reports_each_mark(), "reports of marks"),
    ];
    wants.into_iter().find_map(|(wanted, what)| wanted.then_some(what))
}
