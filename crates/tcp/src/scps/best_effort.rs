//! Best-effort transport of SCPS-TP (BETS): settings, and the rules of both ends.
//!
//! Data arrives in order, and some of it may be missing. The sender gives data up after a number of
//! retransmissions (`giving_up`), and the receiver passes over what is missing after a time
//! (`passing`). Both ends have to offer it in their SYNs.
//!
//! Source: the open reference implementation of SCPS (MITRE and GST, version 1.1.10, `tp_timers.c`,
//! `tp_socket.c`, `tp_sockopt.c`) and its TP users' manual. The text of the standard was not read.
//!
//! The receiver is a reconstruction: the implementation documents that its own is broken (file
//! `ERRATA`), and its level of the receive buffer is a variable that nothing reads.
//!
//! Rules of the implementation and of its manual:
//!
//! - After the allowed number of retransmissions the sender continues as if the first segment had
//!   been acknowledged, and does not abort the connection. With a number of 0 it discards a segment
//!   after its first transmission. Then the count starts again.
//! - The last segment is not given up, and neither is the FIN.
//! - Holes that touch are one hole. The last 50 are remembered for the application.
//! - The receiver waits at a hole for a time, or until so much data waits behind it. Then the hole
//!   counts as received, the application learns of it, and reads on behind it. It waits only once
//!   all data in order was read.
//!
//! Decisions:
//!
//! - A hole that is reported again after its embargo has had a retransmission that was lost. So
//!   reports count as well as timeouts, and each byte has all its retransmissions before it is
//!   given up.
//! - A timeout with a number of 0 gives up all that is outstanding: nothing of it would be
//!   retransmitted. The implementation gives up one segment, also if a whole window was lost.
//! - "Last" is what has nothing behind it that the window of the receiver lets through. Without
//!   data behind a hole the receiver would wait there for ever. So SND.UNA never reaches the right
//!   edge of the window, and all ACKs of the receiver stay acceptable.
//! - Until the receiver passes the hole, its ACKs are below SND.UNA. They move the right edge of
//!   the window, and nothing else. Their reports of data that was given up count nothing. The timer
//!   runs longer by `receive_timeout` meanwhile, because the ACK cannot come sooner.
//! - The receiver may pass a hole before the sender gives it up. Then its ACK covers the hole, and
//!   the sender does not know it.
//! - What was given up leaves the flight. It lets no window grow, and is no sample of a rate or of
//!   an RTT. `max_retries` counts from the last segment that was given up. `user_timeout` counts
//!   from the last progress of the receiver.
//! - Nothing is given up while the link is known to be out. Timeouts count for `outage_timeouts`
//!   until something arrives, whatever is given up between them. The byte of a probe is no
//!   retransmission.
//! - Each hole has its own time, from the first data behind it on. The implementation has one
//!   timer, which starts again for each hole: holes that come faster than it expires would fill the
//!   buffer. A hole whose time is over while data in order is unread has its time once more.
//! - The ACK that passes a hole echoes the timestamp of the latest segment, so that the wait is not
//!   part of the RTT. TS.Recent stays as it is: what is still on its way may be older.
//! - Data that arrives after its hole was passed is old. An application counts bytes of the stream,
//!   and skipped ones are among them: requests, responses and transfers end as without holes.
//! - Segments that were too long for a link are retransmitted in smaller pieces, whatever the
//!   number is.

use std::collections::VecDeque;

use transport::Range;
use units::{Bytes, Span};

/// Best-effort transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(deny_unknown_fields))]
pub struct BestEffort {
    /// Number of retransmissions of a segment after which the sender gives it up. 0 gives it up
    /// after its first transmission. Less than `max_retries`, unless `user_timeout` takes its
    /// place. The reference implementation has 32.
    #[cfg_attr(feature = "schema", schemars(range(max = 32)))]
    pub retransmissions: u32,
    /// Time that the receiver waits for missing data, from the first data behind it on. Then the
    /// application reads on behind the hole. The default is that of the reference implementation,
    /// about 1.05s.
    #[cfg_attr(feature = "schema", serde(default = "BestEffort::default_timeout"))]
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1ms", "x-maximum" = "600s")))]
    pub receive_timeout: Span,
    /// Bytes out of order at which the receiver does not wait any longer, and passes the first hole
    /// at once. Less than `receive_buffer`. Default: none, it waits for `receive_timeout`.
    #[cfg_attr(feature = "schema", serde(default))]
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1B", "x-maximum" = "1GiB")))]
    pub receive_threshold: Option<Bytes>,
}

impl BestEffort {
    /// With this number of retransmissions, and the defaults of the receiver.
    pub fn new(retransmissions: u32) -> Self {
        let receive_timeout = Self::default_timeout();
        Self { retransmissions, receive_timeout, receive_threshold: None }
    }

    /// 0x100001 microseconds.
    const fn default_timeout() -> Span {
        Span::from_nanos(1_048_577_000)
    }
}

/// Counts of best-effort transport at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BestEffortCounters {
    /// Bytes of the own stream that this end has given up. Some of them may have arrived.
    pub given_up_bytes: u64,
    /// Number of holes that these bytes make. Adjacent holes count as one.
    pub given_up_holes: u64,
    /// Bytes of the other end's stream that this end has passed over: the application does not get
    /// them.
    pub skipped_bytes: u64,
    /// Number of holes that these bytes make.
    pub skipped_holes: u64,
}

/// Holes that are remembered for the application.
const MOST_HOLES: usize = 50;

/// Holes: their number, their bytes, and the latest of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holes {
    pub(crate) bytes: u64,
    pub(crate) count: u64,
    latest: VecDeque<Range>,
}

impl Holes {
    /// Another hole. One that touches the one before is a part of it.
    pub(crate) fn add(&mut self, hole: Range) {
        self.bytes += hole.len();
        match self.latest.back_mut() {
            Some(last) if last.end == hole.start => last.end = hole.end,
            Some(last) if hole.end == last.start => last.start = hole.start,
            _ => {
                self.count += 1;
                if self.latest.len() == MOST_HOLES {
                    self.latest.pop_front();
                }
                self.latest.push_back(hole);
            }
        }
    }

    /// Those that are remembered, as places in the stream.
    pub(crate) fn latest(&self) -> impl Iterator<Item = std::ops::Range<u64>> + use<'_> {
        self.latest.iter().map(|hole| hole.start - 1..hole.end - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_that_touch_are_one_and_fifty_are_remembered() {
        let mut holes = Holes::default();
        for (start, end) in [(11, 21), (21, 31), (1, 11), (41, 51)] {
            holes.add(Range { start, end });
        }
        assert_eq!((holes.bytes, holes.count), (40, 2));
        assert_eq!(holes.latest().collect::<Vec<_>>(), [0..30, 40..50]);
        for place in 1..=60 {
            holes.add(Range { start: 100 * place, end: 100 * place + 1 });
        }
        assert_eq!((holes.count, holes.latest().count()), (62, 50));
        assert_eq!(holes.latest().next(), Some(1099..1100));
    }
}
