//! The queue of intervals (`pcc_monitor_interval_queue.cpp`).

use std::collections::VecDeque;

use super::{Rate, single};

/// Least reliable samples of an interval.
const LEAST_RELIABLE: usize = 4;
/// A ratio of two times between ACKs is unusual above this multiple of the average.
const UNUSUAL: f64 = 50.0;

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) number: u64,
    pub(super) bytes: u64,
}

/// One interval. Times are in microseconds.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    pub(super) rate: Rate,
    /// It counts for a decision.
    pub(super) is_useful: bool,
    /// Tolerated growth of the RTT.
    pub(super) tolerance: f32,
    /// When its first and last packets were sent, and their numbers.
    pub(super) sent_at: [i64; 2],
    pub(super) numbers: [u64; 2],
    pub(super) sent: u64,
    pub(super) acked: u64,
    pub(super) lost: u64,
    /// The smoothed RTT at its first ACK and at its end.
    pub(super) rtt: [i64; 2],
    /// Numbers and RTTs of packets whose sample is reliable.
    pub(super) round_trips: Vec<(u64, i64)>,
    pub(super) samples: usize,
    pub(super) reliable: usize,
    pub(super) has_enough: bool,
    pub(super) is_extended: bool,
}

impl Interval {
    fn contains(&self, packet: Sample) -> bool {
        (self.numbers[0]..=self.numbers[1]).contains(&packet.number)
    }

    fn is_complete(&self) -> bool {
        self.has_enough && self.acked + self.lost == self.sent
    }
}

/// State of the intervals that count, after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Open,
    Complete,
    /// One was sent at a single time.
    Void,
}

/// The packets of the last ACK, which count with the next event.
#[derive(Clone, Debug, Default)]
struct Pending {
    acked: Vec<Sample>,
    smoothed: i64,
    latest: i64,
    between_acks: i64,
}

/// Which samples are reliable.
#[derive(Clone, Copy, Debug, Default)]
struct Reliability {
    /// ACKs come in bursts.
    is_burst: bool,
    average: Option<f32>,
}

impl Reliability {
    fn take(&mut self, pending: &Pending, latest: i64, between_acks: i64) -> bool {
        if pending.between_acks == 0 {
            return false;
        }
        let ratio = pending.between_acks as f32 / between_acks as f32;
        let ratio = if ratio < 1.0 { single(1.0 / f64::from(ratio)) } else { ratio };
        let average = self.average.unwrap_or(ratio);
        let mut is_reliable = false;
        if f64::from(ratio) > UNUSUAL * f64::from(average) {
            self.is_burst = true;
        } else if self.is_burst {
            self.is_burst = !(latest > pending.latest && pending.latest < pending.smoothed);
        } else {
            is_reliable = true;
        }
        let average = f64::from(average) * 0.9 + f64::from(ratio) * 0.1;
        self.average = Some(single(average));
        is_reliable
    }
}

/// The intervals, the oldest first.
#[derive(Clone, Debug)]
pub(super) struct Intervals {
    intervals: VecDeque<Interval>,
    useful: usize,
    pending: Pending,
    reliability: Reliability,
}

impl Intervals {
    pub(super) fn new() -> Self {
        Self {
            intervals: VecDeque::new(),
            useful: 0,
            pending: Pending::default(),
            reliability: Reliability::default(),
        }
    }

    /// Number of intervals that count.
    pub(super) const fn useful(&self) -> usize {
        self.useful
    }

    pub(super) fn first(&self) -> Option<&Interval> {
        self.intervals.front()
    }

    pub(super) fn last(&self) -> Option<&Interval> {
        self.intervals.back()
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut Interval> {
        self.intervals.back_mut()
    }

    pub(super) fn all_useful(&self) -> impl Iterator<Item = &Interval> {
        self.intervals.iter().filter(|interval| interval.is_useful)
    }

    pub(super) fn begin(&mut self, rate: Rate, is_useful: bool, tolerance: f32, rtt: i64) {
        self.useful += usize::from(is_useful);
        self.intervals.push_back(Interval {
            rate,
            is_useful,
            tolerance,
            sent_at: [0; 2],
            numbers: [0; 2],
            sent: 0,
            acked: 0,
            lost: 0,
            rtt: [rtt; 2],
            round_trips: Vec::new(),
            samples: 0,
            reliable: 0,
            has_enough: false,
            is_extended: false,
        });
    }

    /// A packet of the last interval has left.
    pub(super) fn send(&mut self, now: i64, packet: Sample) {
        let Some(interval) = self.intervals.back_mut() else { return };
        if interval.sent == 0 {
            interval.sent_at[0] = now;
            interval.numbers[0] = packet.number;
        }
        interval.sent_at[1] = now;
        interval.numbers[1] = packet.number;
        interval.sent += packet.bytes;
    }

    /// Packets were acknowledged, with the smoothed and the latest RTT after them and the time
    /// since the ACK before, or found to be lost.
    pub(super) fn take(
        &mut self,
        acked: Vec<Sample>,
        lost: &[Sample],
        (smoothed, latest): (i64, i64),
        between_acks: i64,
    ) -> Progress {
        if self.useful == 0 {
            return Progress::Open;
        }
        let pending = &self.pending;
        let (mut complete, mut is_void) = (0, false);
        for interval in self.intervals.iter_mut().filter(|interval| interval.is_useful) {
            if !interval.is_complete() {
                let losses = lost.iter().filter(|packet| interval.contains(**packet));
                interval.lost += losses.map(|packet| packet.bytes).sum::<u64>();
                for packet in &pending.acked {
                    if !interval.contains(*packet) {
                        continue;
                    }
                    if interval.acked == 0 {
                        interval.rtt[0] = pending.smoothed;
                    }
                    interval.acked += packet.bytes;
                    interval.samples += 1;
                    if self.reliability.take(pending, latest, between_acks) {
                        interval.reliable += 1;
                        interval.round_trips.push((packet.number, pending.latest));
                    }
                    interval.has_enough |= interval.reliable >= LEAST_RELIABLE;
                }
                if !interval.is_complete() {
                    continue;
                }
                interval.rtt[1] = smoothed;
                is_void = interval.sent_at[0] == interval.sent_at[1];
                if is_void {
                    break;
                }
            }
            complete += 1;
        }
        self.pending = Pending { acked, smoothed, latest, between_acks };
        if is_void {
            Progress::Void
        } else if complete < self.useful {
            Progress::Open
        } else {
            Progress::Complete
        }
    }

    /// Forgets all up to the last interval that counts.
    pub(super) fn drop_useful(&mut self) {
        while self.useful > 0 {
            let Some(interval) = self.intervals.pop_front() else { break };
            self.useful -= usize::from(interval.is_useful);
        }
    }

    pub(super) fn clear(&mut self) {
        self.intervals.clear();
        self.useful = 0;
    }
}
