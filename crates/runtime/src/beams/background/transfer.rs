//! The sender of a transfer in the background: the window of TCP, without its segments.
//!
//! The window opens and closes by the flow's congestion controller itself. What it lets out goes
//! into trains of segments, which take their way as a whole. Decisions:
//!
//! - A train is an eighth of the window, and at most [`LONGEST_TRAIN`] segments. It leaves when the
//!   window has room for all of it.
//! - An ACK acknowledges two segments (RFC 5681 section 4.2), and the controller gets each of them.
//!   The last segment of an odd number is acknowledged without a delay.
//! - Trains of a transfer keep their order. So the ACK of a train shows that the data of those
//!   before it is lost that a full queue has dropped, and that all others have arrived.
//! - Lost data is retransmitted as in RFC 6675: outside of the window of the time of the loss, the
//!   window is that of the controller, and it does not grow until all of that data is there.
//! - The retransmission timer expires if nothing is on its way that could be acknowledged. It is
//!   never early.

use std::collections::VecDeque;

use congestion::{Ack, AnyController, Controller, Feedback, Loss};
use scenario::model::Background;
use tcp::Config;
use transport::{Progress, RttEstimator};
use units::{Span, Time};

/// Segments of a train, at most.
const LONGEST_TRAIN: u64 = Background::LONGEST_TRAIN;

/// Parts of a window that leave one by one.
const TRAINS_OF_WINDOW: u64 = 8;

/// A train in flight.
#[derive(Clone, Copy, Debug)]
struct Train {
    serial: u32,
    sent_at: Time,
    bytes: u64,
    is_dropped: bool,
    /// Its data was sent before.
    is_again: bool,
}

/// A train that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    pub serial: u32,
    /// Bytes of data.
    pub bytes: u64,
}

/// A sender.
#[derive(Debug)]
pub(super) struct Transfer {
    controller: AnyController,
    rtt: RttEstimator,
    /// Data that was not sent yet, and lost data.
    unsent: u64,
    lost: u64,
    in_flight: VecDeque<Train>,
    /// Bytes of trains in flight, but for those known to be lost.
    flight: u64,
    /// Trains in flight that no queue has dropped.
    flying: usize,
    next: u32,
    in_recovery: bool,
    /// Bytes of retransmitted data in flight.
    again: u64,
    acknowledged: u64,
    has_started: bool,
}

impl Transfer {
    pub fn new(controller: AnyController, config: &Config, bytes: u64) -> Self {
        Self {
            controller,
            rtt: RttEstimator::new(&config.rto),
            unsent: bytes,
            lost: 0,
            in_flight: VecDeque::new(),
            flight: 0,
            flying: 0,
            next: 0,
            in_recovery: false,
            again: 0,
            acknowledged: 0,
            has_started: false,
        }
    }

    /// The connection is open: its handshake took `round_trip`.
    pub fn open(&mut self, now: Time, config: &Config, round_trip: Span) {
        self.sample(config, round_trip);
        if self.controller.needs().round_trips {
            self.controller.on_rtt(now, round_trip);
        }
    }

    fn sample(&mut self, config: &Config, round_trip: Span) {
        let (mss, acknowledged) = (u64::from(config.full_payload()), self.acknowledged);
        let per_round = (self.controller.window().cwnd / mss / 2).max(1);
        let progress = Progress { per_round, acknowledged, sent: acknowledged + self.flight };
        self.rtt.sample(&config.rto, round_trip, progress);
    }

    /// Nothing new is sent from now on. Returns the bytes that were not sent.
    pub fn cut(&mut self) -> u64 {
        std::mem::take(&mut self.unsent)
    }

    /// The next train that the window lets out.
    pub fn depart(&mut self, now: Time, config: &Config) -> Option<Departure> {
        let mss = u64::from(config.full_payload());
        let window = self.controller.window().cwnd.min(config.receive_buffer.get());
        let waiting = if self.lost > 0 { self.lost } else { self.unsent };
        let room = window.saturating_sub(self.flight);
        let whole = (window / mss / TRAINS_OF_WINDOW).clamp(1, LONGEST_TRAIN);
        // A pair of segments has an ACK.
        let whole = (whole + whole % 2).min(LONGEST_TRAIN) * mss;
        let least = whole.min(waiting);
        if waiting == 0 || (room < least && self.flight > 0) || room < mss.min(waiting) {
            return None;
        }
        let bytes = least.min((room / mss).max(1) * mss);
        if !std::mem::replace(&mut self.has_started, true) {
            self.controller.on_start(now);
        }
        let is_again = self.lost > 0;
        if is_again {
            self.lost -= bytes;
            self.again += bytes;
        } else {
            self.unsent -= bytes;
        }
        let serial = self.next;
        self.next += 1;
        self.flight += bytes;
        self.flying += 1;
        self.in_flight.push_back(Train {
            serial,
            sent_at: now,
            bytes,
            is_dropped: false,
            is_again,
        });
        Some(Departure { serial, bytes })
    }

    /// A full queue has dropped the last `bytes` of a train.
    pub fn drop_last(&mut self, serial: u32, bytes: u64) {
        let Some(place) = self.in_flight.iter().rposition(|one| one.serial == serial) else {
            return;
        };
        let train = &mut self.in_flight[place];
        if bytes >= train.bytes {
            train.is_dropped = true;
            self.flying -= 1;
            return;
        }
        train.bytes -= bytes;
        let dropped = Train { bytes, is_dropped: true, ..*train };
        self.in_flight.insert(place + 1, dropped);
    }

    /// Returns the time until the retransmission timer expires, if nothing can be acknowledged.
    pub fn stalled(&self) -> Option<(u32, Span)> {
        (self.flying == 0 && !self.in_flight.is_empty()).then(|| (self.next, self.rtt.rto()))
    }

    /// The retransmission timer has expired that was set when `next` was the next train.
    pub fn on_timeout(&mut self, now: Time, next: u32, config: &Config) {
        if next != self.next || self.flying > 0 || self.in_flight.is_empty() {
            return;
        }
        let loss = Loss { now, flight: self.flight, repeated: false };
        self.controller.on_timeout(&loss);
        self.rtt.back_off(&config.rto);
        self.lost += self.in_flight.drain(..).map(|one| one.bytes).sum::<u64>();
        (self.flight, self.again) = (0, 0);
        self.in_recovery = false;
    }

    /// The ACKs of a train have arrived.
    pub fn on_acked(&mut self, now: Time, serial: u32, config: &Config) {
        let (mut acked, mut lost, mut sent_at) = (0, 0, None);
        let before = self.flight;
        // The end of a train that was dropped is found missing with the next train.
        let is_known = |one: &Train| one.serial < serial || one.serial == serial && !one.is_dropped;
        while let Some(train) = self.in_flight.front().copied().filter(is_known) {
            self.in_flight.pop_front();
            self.flight -= train.bytes;
            if train.is_again {
                self.again -= train.bytes;
            }
            if train.is_dropped {
                lost += train.bytes;
                continue;
            }
            self.flying -= 1;
            acked += train.bytes;
            if !train.is_again {
                sent_at = Some(train.sent_at);
            }
        }
        self.acknowledged += acked;
        self.lost += lost;
        let sample = sent_at.map(|at| now.since(at));
        if let Some(sample) = sample {
            self.sample(config, sample);
        }
        if lost > 0 && !std::mem::replace(&mut self.in_recovery, true) {
            self.controller.on_loss(&Loss { now, flight: before, repeated: false });
        }
        self.grow(now, acked, sample, config);
        if self.in_recovery && self.lost == 0 && self.again == 0 {
            self.in_recovery = false;
            self.controller.on_recovery_exit(now);
        }
    }

    /// Reports each ACK of a train to the controller.
    fn grow(&mut self, now: Time, acked: u64, sample: Option<Span>, config: &Config) {
        let needs = self.controller.needs();
        let pair = 2 * u64::from(config.full_payload());
        let recovering = self.in_recovery;
        let advertised = config.receive_buffer.get();
        // The flight before this train, which its ACKs take down one by one.
        let (mut left, mut flight) = (acked, self.flight + acked);
        let sent = self.acknowledged + self.flight;
        let mut acknowledged = self.acknowledged - acked;
        while left > 0 {
            let acked = left.min(pair);
            let limited = self.unsent + self.lost > 0
                || flight + u64::from(config.full_payload()) > self.controller.window().cwnd;
            left -= acked;
            flight -= acked;
            acknowledged += acked;
            if let Some(sample) = sample.filter(|_| needs.round_trips) {
                self.controller.on_rtt(now, sample);
            }
            if needs.feedback {
                self.controller.on_feedback(&Feedback {
                    now,
                    acked,
                    sacked: 0,
                    duplicate: false,
                    recovering,
                    round_trip: sample,
                    srtt: self.rtt.srtt(),
                    min_rtt: self.rtt.min(),
                    acknowledged,
                    sent,
                    pipe: flight,
                    advertised,
                    peer_clock: None,
                    marked: false,
                    marked_bytes: 0,
                    needless: 0,
                    head_sent: None,
                    rate: None,
                });
            }
            if !recovering {
                self.controller.on_ack(&Ack {
                    now,
                    acked,
                    flight,
                    advertised,
                    srtt: self.rtt.srtt(),
                    min_rtt: self.rtt.min(),
                    cwnd_limited: limited,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transfer over a path with a round trip of half a second that drops from train to train
    /// what `keeps` does not keep. Returns the bytes that arrived and that left, and the time.
    fn over(name: &str, bytes: u64, mut keeps: impl FnMut(u32, u64) -> u64) -> (u64, u64, f64) {
        let config = Config::default();
        let controller = congestion::Specification::named(name)
            .unwrap_or_else(|error| panic!("{error}"))
            .build(&config.controller());
        let mut transfer = Transfer::new(controller, &config, bytes);
        let round_trip = Span::from_millis(500);
        let mut now = Time::ZERO + round_trip;
        transfer.open(now, &config, round_trip);
        let (mut arrived, mut left) = (0, 0);
        let mut acks = VecDeque::new();
        loop {
            while let Some(Departure { serial, bytes }) = transfer.depart(now, &config) {
                left += bytes;
                let kept = keeps(serial, bytes);
                if kept < bytes {
                    transfer.drop_last(serial, bytes - kept);
                }
                if kept > 0 {
                    arrived += kept;
                    acks.push_back((now + round_trip, serial));
                }
            }
            if let Some((at, serial)) = acks.pop_front() {
                now = at;
                transfer.on_acked(now, serial, &config);
            } else if let Some((next, after)) = transfer.stalled() {
                now += after;
                transfer.on_timeout(now, next, &config);
            } else {
                return (arrived, left, now.as_secs_f64());
            }
        }
    }

    /// 10 segments in the first round trip, 20 in the second one: 1 + 2 + 4 + 8 + 16 times ten
    /// segments are 449 kB. CUBIC counts up to 8 segments for each ACK (RFC 9406).
    #[test]
    fn slow_start_doubles_the_window_in_each_round_trip() {
        let segments = |number: u64| number * 1448;
        let took = |bytes| over("cubic", bytes, |_, bytes| bytes).2;
        // The handshake is one of them.
        assert_eq!(took(segments(10)), 1.0);
        assert_eq!(took(segments(30)), 1.5);
        // The last train of a round trip may wait for the next one.
        assert_eq!(took(segments(290)), 3.0);
        assert_eq!(took(segments(311)), 3.5);
    }

    /// Reno counts an ACK of two segments as one: 10, 15, 22 segments.
    #[test]
    fn each_pair_of_segments_has_an_ack() {
        let took = |bytes| over("reno", bytes, |_, bytes| bytes).2;
        assert_eq!([took(25 * 1448), took(26 * 1448)], [1.5, 2.0]);
    }

    #[test]
    fn all_bytes_arrive_whatever_is_dropped() {
        for name in ["cubic", "reno"] {
            for every in [3, 7, 20] {
                let size = 3_000_001;
                let keeps = |serial: u32, bytes: u64| match serial % every {
                    0 => 0,
                    1 => bytes.saturating_sub(1448),
                    _ => bytes,
                };
                let (arrived, left, _) = over(name, size, keeps);
                assert_eq!(arrived, size, "{name} without each {every}th train");
                assert!(left > size);
            }
        }
    }

    /// The last train of all is dropped: the timer is the only one to notice.
    #[test]
    fn a_lost_end_waits_for_the_timer() {
        let mut has_dropped = false;
        let last = |serial: u32, bytes: u64| {
            let drops = serial == 4 && !std::mem::replace(&mut has_dropped, true);
            if drops { 0 } else { bytes }
        };
        let (arrived, _, took) = over("cubic", 10 * 1448, last);
        assert_eq!(arrived, 10 * 1448);
        // The RTO is at least a second, and three round trips are needed.
        assert!((2.5..4.0).contains(&took), "{took}");
    }

    /// A loss reduces the window once in a round trip, and lost data is retransmitted.
    #[test]
    fn a_loss_costs_time() {
        let plain = over("cubic", 4_000_000, |_, bytes| bytes).2;
        let lossy =
            over("cubic", 4_000_000, |serial, bytes| if serial == 20 { 0 } else { bytes }).2;
        assert!(lossy > plain + 0.5, "{lossy} and {plain}");
    }
}
