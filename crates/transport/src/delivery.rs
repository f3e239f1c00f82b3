//! Samples of the delivery rate from records of the segments in flight.
//!
//! Source: draft-ietf-ccwg-bbr section 4.1. Each record has the amount of delivered data, and its
//! time, at the transmission of the segment. The acknowledgement then gives the amount delivered
//! since. The interval of the sample is the longer of the send and the ACK interval, so that a
//! burst of ACKs or of segments does not look like bandwidth.
//!
//! Only controllers that need them have samples. Others that need round trips have
//! [`RoundTrips`](crate::RoundTrips).
//!
//! Decisions:
//! - The application's limit is noted when it writes: ends with nothing to send are not asked;
//!   Linux asks at the same point, and BBR must not take a page for the path.

use congestion::{LostSegment, RateSample};
use units::{Span, Time};

use crate::ranges::Range;
use crate::records::{Record, Records};

/// The state of delivery when a segment was sent.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    delivered: u64,
    delivered_at: Time,
    /// When the segment was sent whose delivery was the latest known.
    first_sent_at: Time,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
}

/// The segment that was sent last of those that the ACK being processed delivers.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Time,
    stamp: Stamp,
}

/// Records of all that is outstanding, and what has been delivered.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    records: Records<Stamp>,
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    lost: u64,
    /// Bytes delivered before which a segment may have been held back by the application.
    app_limited_until: Option<u64>,
    newest: Option<Newest>,
}

impl Delivery {
    /// New data up to `end` is sent while `pipe` bytes are in the network.
    #[inline(always)]
    pub fn on_new(&mut self, now: Time, length: u64, end: u64, pipe: u64) {
        self.begin_if_silent(now, pipe);
        self.records.on_new(now, end, self.stamp(pipe + length));
    }

    /// `range` is retransmitted while `pipe` bytes are in the network. Everything up to `una` is
    /// acknowledged.
    #[inline(never)]
    pub fn on_again(&mut self, now: Time, range: Range, una: u64, pipe: u64) {
        self.begin_if_silent(now, pipe);
        let stamp = self.stamp(pipe + range.len());
        self.records.on_again(now, range, una, stamp);
    }

    /// Without anything in the network, the interval of a sample begins with what is sent now.
    #[inline]
    fn begin_if_silent(&mut self, now: Time, pipe: u64) {
        if pipe == 0 {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
    }

    /// The application has nothing to send although the windows allow it.
    pub fn on_app_limited(&mut self, pipe: u64) {
        self.app_limited_until = Some((self.delivered + pipe).max(1));
    }

    /// `range` was acknowledged selectively for the first time.
    pub fn on_sacked(&mut self, now: Time, range: Range) {
        let Self { records, newest, .. } = self;
        records.sacked(range, |record| take(newest, record));
        self.count(now, range.len());
    }

    /// Everything up to `una` was acknowledged; `bytes` of it for the first time.
    pub fn on_acknowledged(&mut self, now: Time, una: u64, bytes: u64) {
        let Self { records, newest, .. } = self;
        records.acknowledged(una, |record| take(newest, record));
        self.count(now, bytes);
    }

    /// Segments below `una` are given up: they count neither as delivered nor as lost.
    pub fn forget(&mut self, una: u64) {
        self.records.forget(una);
    }

    /// Gives back the memory of records that are no longer there.
    pub fn shrink(&mut self) {
        self.records.shrink();
    }

    fn count(&mut self, now: Time, bytes: u64) {
        self.delivered += bytes;
        self.delivered_at = now;
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
    }

    /// `range` was detected as lost. Calls `tell` for each of its segments.
    pub fn on_lost(&mut self, now: Time, range: Range, mut tell: impl FnMut(&LostSegment)) {
        let mut lost = self.lost;
        let mut start = range.start;
        for record in self.records.overlapping(range) {
            let bytes = record.end.min(range.end) - start;
            start = record.end;
            if record.delivered || record.lost {
                continue;
            }
            record.lost = true;
            lost += bytes;
            tell(&LostSegment {
                now,
                sent_at: record.sent_at,
                bytes,
                in_flight_when_sent: record.stamp.in_flight,
                lost_since_sent: lost - record.stamp.lost,
                app_limited: record.stamp.app_limited,
            });
        }
        self.lost = lost;
    }

    /// Time at which the first unacknowledged segment was last sent.
    pub fn head_sent(&self) -> Option<Time> {
        self.records.head_sent()
    }

    /// The round-trip time that the ACK just processed has measured: see
    /// [`Records::take_round_trip`].
    pub fn take_round_trip(&mut self, now: Time) -> Option<Span> {
        self.records.take_round_trip(now)
    }

    /// The sample of the ACK that was just processed, if it delivered anything.
    pub fn take_sample(&mut self, min_rtt: Option<Span>) -> Option<RateSample> {
        let Newest { sent_at, stamp } = self.newest.take()?;
        self.first_sent_at = sent_at;
        let sending = sent_at.since(stamp.first_sent_at);
        let acknowledging = self.delivered_at.since(stamp.delivered_at);
        let interval = sending.max(acknowledging);
        let delivered = self.delivered - stamp.delivered;
        // Shorter than any round trip can be: the segment had arrived before it was retransmitted.
        let valid = interval > Span::ZERO && min_rtt.is_none_or(|min| interval >= min);
        Some(RateSample {
            rate: valid.then(|| delivered as f64 / interval.as_secs_f64()),
            delivered: self.delivered,
            prior_delivered: stamp.delivered,
            lost: self.lost - stamp.lost,
            in_flight_when_sent: stamp.in_flight,
            app_limited: stamp.app_limited,
        })
    }

    fn stamp(&self, in_flight: u64) -> Stamp {
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost,
            in_flight,
            app_limited: self.app_limited_until.is_some(),
        }
    }
}

/// Keeps `record`, which is delivered now, if it was sent last.
#[inline]
fn take(newest: &mut Option<Newest>, record: &Record<Stamp>) {
    let Record { sent_at, stamp, .. } = *record;
    let is_newer = newest.is_none_or(|newest| {
        (stamp.delivered, sent_at) >= (newest.stamp.delivered, newest.sent_at)
    });
    if is_newer {
        *newest = Some(Newest { sent_at, stamp });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    fn rate(sample: Option<RateSample>) -> f64 {
        sample.unwrap().rate.unwrap()
    }

    /// Ten segments sent back to back at time zero.
    fn burst() -> Delivery {
        let mut delivery = Delivery::default();
        for n in 0..10 {
            delivery.on_new(at(0), MSS, (n + 1) * MSS, n * MSS);
        }
        delivery
    }

    #[test]
    fn the_rate_is_what_was_delivered_since_the_segment_was_sent() {
        let mut delivery = burst();
        delivery.on_acknowledged(at(500), MSS, MSS);
        assert_eq!(rate(delivery.take_sample(None)), 2000.0);
        delivery.on_acknowledged(at(600), 6 * MSS, 5 * MSS);
        assert_eq!(rate(delivery.take_sample(None)), 10_000.0);
    }

    #[test]
    fn the_round_trip_is_that_of_the_youngest_segment() {
        let mut delivery = Delivery::default();
        for n in 0..10u64 {
            delivery.on_new(at(10 * n), MSS, (n + 1) * MSS, n * MSS);
        }
        assert_eq!(delivery.take_round_trip(at(500)), None);
        delivery.on_acknowledged(at(512), 2 * MSS, 2 * MSS);
        assert_eq!(delivery.take_round_trip(at(512)), Some(Span::from_millis(502)));
        assert_eq!(delivery.take_round_trip(at(512)), None, "once");
        delivery.on_sacked(at(545), Range { start: 3 * MSS, end: 5 * MSS });
        assert_eq!(delivery.take_round_trip(at(545)), Some(Span::from_millis(505)));
        // Ranges that were acknowledged selectively before add nothing.
        delivery.on_acknowledged(at(546), 4 * MSS, MSS);
        assert_eq!(delivery.take_round_trip(at(546)), Some(Span::from_millis(526)));
    }

    #[test]
    fn a_segment_that_was_sent_twice_measures_no_round_trip() {
        let mut delivery = burst();
        delivery.on_again(at(500), Range { start: 0, end: MSS }, 0, 9 * MSS);
        delivery.on_sacked(at(600), Range { start: 2 * MSS, end: 3 * MSS });
        assert_eq!(delivery.take_round_trip(at(600)), Some(Span::from_millis(600)));
        delivery.on_acknowledged(at(900), 10 * MSS, 9 * MSS);
        assert_eq!(delivery.take_round_trip(at(900)), None);
    }

    #[test]
    fn acks_that_come_in_a_burst_do_not_pass_for_bandwidth() {
        let mut delivery = Delivery::default();
        for n in 0..10u64 {
            delivery.on_new(at(100 * n), MSS, (n + 1) * MSS, n * MSS);
        }
        delivery.on_acknowledged(at(1500), MSS, MSS);
        delivery.take_sample(None);
        delivery.on_acknowledged(at(1501), 10 * MSS, 9 * MSS);
        // Nine segments took 900 ms to send, whatever the ACKs say; the interval is the longer.
        assert_eq!(rate(delivery.take_sample(None)), 10_000.0 / 1.501);
    }

    #[test]
    fn selective_acknowledgements_count_once() {
        let mut delivery = burst();
        delivery.on_sacked(at(500), Range { start: MSS, end: 3 * MSS });
        assert_eq!(delivery.take_sample(None).unwrap().delivered, 2 * MSS);
        delivery.on_acknowledged(at(600), 3 * MSS, MSS);
        assert_eq!(delivery.take_sample(None).unwrap().delivered, 3 * MSS);
    }

    #[test]
    fn a_segment_that_had_arrived_before_it_was_sent_again_gives_no_rate() {
        let mut delivery = burst();
        delivery.on_again(at(500), Range { start: 0, end: MSS }, 0, 9 * MSS);
        delivery.on_acknowledged(at(501), MSS, MSS);
        let sample = delivery.take_sample(Some(Span::from_millis(502))).unwrap();
        assert_eq!(sample.rate, None);
    }

    #[test]
    fn a_lost_segment_tells_what_was_lost_since_it_was_sent() {
        let mut delivery = burst();
        let mut reported = Vec::new();
        delivery.on_lost(at(600), Range { start: 0, end: 2 * MSS }, |lost| reported.push(*lost));
        delivery.on_lost(at(600), Range { start: 0, end: 2 * MSS }, |lost| reported.push(*lost));
        let lost: Vec<_> = reported.iter().map(|lost| lost.lost_since_sent).collect();
        assert_eq!(lost, [MSS, 2 * MSS], "each segment is lost once");
        assert_eq!(reported[1].in_flight_when_sent, 2 * MSS);
        delivery.on_acknowledged(at(700), 10 * MSS, 8 * MSS);
        assert_eq!(delivery.take_sample(None).unwrap().lost, 2 * MSS);
    }

    /// Ten segments that are lost, and retransmitted in parts of a quarter while nothing else is in
    /// flight. Losing a part again, no more is lost than was in flight when it was sent.
    #[test]
    fn a_part_that_is_retransmitted_has_a_record_of_its_own() {
        let quarter = MSS / 4;
        for una in [0, 100] {
            let mut delivery = burst();
            delivery.on_acknowledged(at(400), una, una);
            delivery.on_lost(at(600), Range { start: una, end: 10 * MSS }, |_| ());
            // The second part of the first segment, then one across the end of the second.
            let parts = [quarter, 2 * MSS - 100].map(|start| Range { start, end: start + quarter });
            for (n, part) in (0..).zip(parts) {
                delivery.on_again(at(700), part, una, n * quarter);
            }
            let mut told = Vec::new();
            delivery.on_lost(at(900), Range { start: una, end: 10 * MSS }, |lost| {
                told.push((lost.bytes, lost.in_flight_when_sent));
            });
            // What was not retransmitted was lost before.
            let second = 2 * quarter;
            assert_eq!(told, [(quarter, quarter), (100, second), (quarter - 100, second)]);
            // The sample is that of the youngest part, and the part was sent twice.
            delivery.on_sacked(at(1300), parts[1]);
            assert_eq!(delivery.take_sample(None).unwrap().in_flight_when_sent, second);
            assert_eq!(delivery.take_round_trip(at(1300)), None);
            // The others were sent once.
            delivery.on_sacked(at(1400), Range { start: 3 * MSS, end: 4 * MSS });
            assert_eq!(delivery.take_round_trip(at(1400)), Some(Span::from_millis(1400)));
        }
    }

    #[test]
    fn whole_segments_that_are_retransmitted_stay_one_record() {
        let mut delivery = burst();
        delivery.on_acknowledged(at(400), MSS, MSS);
        delivery.on_again(at(500), Range { start: MSS, end: 2 * MSS }, MSS, 8 * MSS);
        delivery.on_again(at(500), Range { start: 3 * MSS, end: 6 * MSS }, MSS, 8 * MSS);
        delivery.on_again(at(500), Range { start: 9 * MSS, end: 10 * MSS }, MSS, 8 * MSS);
        assert_eq!(delivery.records.len(), 9);
    }

    #[test]
    fn what_is_sent_while_the_application_is_idle_is_marked_until_it_is_delivered() {
        let mut delivery = burst();
        delivery.on_app_limited(10 * MSS);
        delivery.on_new(at(1), MSS, 11 * MSS, 10 * MSS);
        delivery.on_acknowledged(at(500), 10 * MSS, 10 * MSS);
        assert!(!delivery.take_sample(None).unwrap().app_limited);
        delivery.on_acknowledged(at(501), 11 * MSS, MSS);
        assert!(delivery.take_sample(None).unwrap().app_limited);
        delivery.on_new(at(502), MSS, 12 * MSS, 0);
        delivery.on_acknowledged(at(1002), 12 * MSS, MSS);
        assert!(!delivery.take_sample(None).unwrap().app_limited);
    }

    #[test]
    fn after_silence_the_interval_begins_with_the_next_segment() {
        let mut delivery = burst();
        delivery.on_acknowledged(at(500), 10 * MSS, 10 * MSS);
        delivery.take_sample(None);
        delivery.on_new(at(9000), MSS, 11 * MSS, 0);
        delivery.on_acknowledged(at(9500), 11 * MSS, MSS);
        assert_eq!(rate(delivery.take_sample(None)), 2000.0);
    }
}
