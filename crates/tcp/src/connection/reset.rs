//! Resets and challenges (RFC 9293 section 3.5.2, RFC 5961).

use transport::AbortCause;
use units::{Span, Time};

use crate::segment::{Flags, Options, Segment};
use crate::timestamps::timestamp;

use super::{Connection, State, Urgent};

/// A segment without data that is out of place is answered once in this time, so that two ends
/// that take each other's ACKs amiss do not go on for ever. RFC 5961 section 7 asks for a limit and
/// leaves it open; this is that of Linux (`tcp_invalid_ratelimit`).
const CHALLENGE_INTERVAL: Span = Span::from_millis(500);

/// A reset that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reset {
    sequence: u32,
    acknowledgement: Option<u32>,
    /// With the timestamps of the connection (RFC 7323 section 3.2).
    timestamps: bool,
}

impl Reset {
    /// The answer to a segment for which there is no connection (RFC 9293 section 3.10.7.1).
    fn answering(segment: &Segment) -> Self {
        if segment.flags.contains(Flags::ACK) {
            return Self {
                sequence: segment.acknowledgement,
                acknowledgement: None,
                timestamps: false,
            };
        }
        let control = u32::from(segment.flags.contains(Flags::SYN))
            + u32::from(segment.flags.contains(Flags::FIN));
        let length = u32::from(segment.payload) + control;
        let acknowledgement = Some(segment.sequence.wrapping_add(length));
        Self { sequence: 0, acknowledgement, timestamps: false }
    }

    /// The answer of a closed connection to a segment; `None` if that is a reset itself.
    pub(super) fn refusing(segment: &Segment) -> Option<Self> {
        (!segment.flags.contains(Flags::RST)).then(|| Self::answering(segment))
    }

    /// The segment, which echoes this timestamp.
    pub(super) fn segment(self, now: Time, echo: u32) -> Segment {
        let has_ack = self.acknowledgement.is_some();
        Segment {
            sequence: self.sequence,
            acknowledgement: self.acknowledgement.unwrap_or(0),
            flags: Flags::RST.with_if(has_ack, Flags::ACK),
            window_scale: Segment::NO_SCALE,
            options: Options::default().with_if(self.timestamps, Options::TIMESTAMPS),
            timestamp: timestamp(now),
            echo,
            ..Segment::default()
        }
    }
}

impl Connection {
    /// Ends the connection at once, whatever is outstanding: ABORT of RFC 9293 section 3.10.5.
    pub fn abort(&mut self) {
        // Both ends have sent all their data in the last three, and the other end knows it.
        if matches!(
            self.state,
            State::Closed
                | State::Listen
                | State::SynSent
                | State::Closing
                | State::LastAck
                | State::TimeWait
        ) {
            self.end_because(AbortCause::Reset);
            return;
        }
        self.abort_because(AbortCause::Reset);
    }

    /// Tells the other end that the connection is over.
    pub(super) fn abort_because(&mut self, cause: AbortCause) {
        let reset = Reset {
            sequence: self.halves.out.wrap(self.halves.sender.number_without_data()),
            acknowledgement: Some(self.halves.inward.wrap(self.halves.receiver.next())),
            timestamps: self.halves.agreed.timestamps,
        };
        self.end_because(cause);
        self.urgent = Urgent::Reset(reset);
    }

    /// A segment for which there is no connection (RFC 9293 section 3.10.7.1).
    pub(super) fn refuse(&mut self, segment: &Segment) {
        if let Some(reset) = Reset::refusing(segment) {
            self.urgent = Urgent::Reset(reset);
        }
    }

    /// The connection is over without a farewell.
    pub(super) fn end_because(&mut self, cause: AbortCause) {
        self.forget();
        self.state = State::Closed;
        self.cause = Some(cause);
    }

    /// No timer runs any more, and nothing is to be sent.
    pub(super) fn forget(&mut self) {
        self.urgent = Urgent::Nothing;
        self.slow_timer = Time::NEVER;
        self.halves.sender.stop();
        self.halves.receiver.ack_sent();
    }

    /// A segment that is not taken in is answered with an ACK of what is expected; without data of
    /// its own not every time.
    pub(super) fn answer_what_is_out_of_place(&mut self, now: Time, segment: &Segment) {
        let has_data = segment.payload > 0 || segment.flags.contains(Flags::FIN);
        if has_data && !segment.flags.contains(Flags::SYN) {
            self.halves.receiver.request_ack();
        } else if now >= self.next_challenge_at {
            self.next_challenge_at = now + CHALLENGE_INTERVAL;
            let (halves, urgent) = (&mut self.halves, &mut self.urgent);
            let reports = match &mut self.marks {
                Some(marks) if segment.flags.contains(Flags::SYN) => {
                    marks.reports_set_up_again(halves, urgent, now)
                }
                _ => false,
            };
            if !reports {
                halves.receiver.request_ack();
            }
        }
    }
}
