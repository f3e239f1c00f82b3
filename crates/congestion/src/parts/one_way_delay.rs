//! One-way delay of a segment, from the clocks of both ends.

use units::{Span, Time};

use crate::events::Feedback;

/// Difference of the clocks of both ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct OneWayDelay {
    /// The first difference in milliseconds.
    origin: Option<u32>,
}

impl OneWayDelay {
    /// Seconds from the sending of the segment to its arrival, each by the clock of its end, with a
    /// constant unknown offset. It may be negative. The clock of the receiver is TSval, in
    /// milliseconds, which wraps (RFC 7323 sections 3.2 and 5.4). Without timestamps it is the RTT,
    /// and then queues of ACKs count too. `None` for an ACK that measures nothing.
    pub(crate) fn measure(&mut self, feedback: &Feedback) -> Option<f64> {
        let rtt = feedback.round_trip?;
        let Some(clock) = feedback.peer_clock else { return Some(rtt.as_secs_f64()) };
        let sent = feedback.now.since(Time::ZERO).saturating_sub(rtt).as_nanos();
        #[expect(clippy::cast_possible_truncation, reason = "the clock wraps")]
        let milliseconds = (sent / 1_000_000) as u32;
        let difference = clock.wrapping_sub(milliseconds);
        let origin = *self.origin.get_or_insert(difference);
        let change = f64::from(difference.wrapping_sub(origin).cast_signed());
        Some((f64::from(origin) + change) / 1e3 - Span::from_nanos(sent % 1_000_000).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::bandwidth::samples::acknowledged;

    /// Delays of segments that are sent in each second and arrive after these milliseconds, with a
    /// clock that is ahead by `offset`.
    fn delays(offset: u32, arrivals: &[u32]) -> Vec<f64> {
        let mut delay = OneWayDelay::default();
        let measured = arrivals.iter().zip(1..).map(|(&arrival, second)| {
            let rtt = Span::from_millis(200);
            delay.measure(&Feedback {
                now: Time::ZERO + Span::from_secs(second.into()) + rtt,
                round_trip: Some(rtt),
                peer_clock: Some((1000 * second + arrival).wrapping_add(offset)),
                ..acknowledged(1000, 1000)
            })
        });
        measured.map(Option::unwrap).collect()
    }

    #[test]
    fn delays_differ_by_what_the_way_there_differs_by() {
        assert_eq!(delays(0, &[100, 130, 90]), [0.1, 0.13, 0.09]);
        assert_eq!(delays(77, &[100, 130, 90]), [0.177, 0.207, 0.167]);
    }

    #[test]
    fn a_clock_that_wraps_changes_no_delay() {
        let found = delays(u32::MAX - 2500, &[100, 130, 90, 100, 100]);
        let changes = found.iter().map(|delay| (1e3 * (delay - found[0])).round());
        assert_eq!(changes.collect::<Vec<_>>(), [0.0, 30.0, -10.0, 0.0, 0.0]);
    }

    #[test]
    fn without_timestamps_it_is_the_round_trip() {
        let mut delay = OneWayDelay::default();
        let rtt = Some(Span::from_millis(200));
        let feedback = Feedback { round_trip: rtt, peer_clock: None, ..acknowledged(1000, 1000) };
        assert_eq!(delay.measure(&feedback), Some(0.2));
        assert_eq!(delay.measure(&Feedback { round_trip: None, ..feedback }), None);
    }
}
