//! Bidirectional Forwarding Detection (RFC 5880): two routers send each other Control packets over
//! a path, and each takes the path for down if none arrives for some intervals.
//!
//! Source: Katz and Ward, Bidirectional Forwarding Detection (BFD), RFC 5880, 2010: asynchronous
//! mode. That a path counts as usable until its session has been up and has failed is
//! RFC 5882 section 4.1. The hold time before a path is used again is the wait-to-restore time of
//! ITU-T G.808.1.
//!
//! Decisions:
//! - Both ends have the same interval and multiplier, so no Poll Sequence (section 6.5) is needed
//!   but the one that leaves the slow rate of section 6.8.3, which is left out: the new interval is
//!   used at once.
//! - A change of the state is sent at once, which section 6.8.7 recommends.
//! - No Echo packets, demand mode or authentication.

use units::{Span, Time};

/// Bytes of a Control packet without authentication, with the header of UDP (RFC 5881 section 4).
pub const CONTROL_BYTES: u16 = 24 + wire::udp::HEADER;
/// The least interval of a session that is not up (section 6.8.3).
const SLOW: Span = Span::from_secs(1);
/// The largest part of an interval by which it is shortened at random (section 6.8.7).
const JITTER: f64 = 0.25;
/// The least such part with a multiplier of one (section 6.8.7).
const JITTER_OF_ONE: f64 = 0.1;

/// State of a session (section 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BfdState {
    /// Nothing is heard.
    Down,
    /// The other end is heard, and does not hear yet.
    Init,
    /// Both ends hear each other.
    Up,
}

/// The fields of a Control packet that vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BfdControl {
    /// State of the sender.
    pub state: BfdState,
    /// Desired Min TX Interval of the sender.
    pub interval: Span,
}

/// Parameters of both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BfdSettings {
    /// Time between two packets.
    pub interval: Span,
    /// Detect Mult: intervals without a packet after which the session is down.
    pub multiplier: u8,
    /// Time for which a session that was down must be up before its path is used again.
    pub hold: Span,
}

/// One end of a session.
#[derive(Clone, Debug)]
pub struct BfdSession {
    settings: BfdSettings,
    state: BfdState,
    next_packet: Time,
    /// When the session is down unless a packet arrives before.
    detection: Time,
    /// The session has been up and has failed since.
    failed: bool,
    /// When its path is used again.
    restored: Time,
}

impl BfdSession {
    /// An end that sends its first packet at `first`.
    pub fn new(settings: BfdSettings, first: Time) -> Self {
        let (detection, restored) = (Time::NEVER, Time::NEVER);
        let state = BfdState::Down;
        Self { settings, state, next_packet: first, detection, failed: false, restored }
    }

    /// The longest time to the first packet of a session.
    pub fn first_within() -> Span {
        SLOW
    }

    /// Returns true if packets may take the path.
    pub fn is_usable(&self) -> bool {
        !self.failed
    }

    /// The next time at which the session has something to do.
    pub fn deadline(&self) -> Time {
        self.next_packet.min(self.detection).min(self.restored)
    }

    /// The interval that the session announces and keeps.
    fn interval(&self) -> Span {
        match self.state {
            BfdState::Up => self.settings.interval,
            BfdState::Down | BfdState::Init => self.settings.interval.max(SLOW),
        }
    }

    /// A packet has arrived (section 6.8.6).
    pub fn on_packet(&mut self, now: Time, control: BfdControl) {
        use BfdState::{Down, Init, Up};
        let interval = control.interval.max(self.settings.interval).as_nanos();
        let detection = interval.saturating_mul(u64::from(self.settings.multiplier));
        self.detection = now + Span::from_nanos(detection);
        let next = match (self.state, control.state) {
            (Down, Down) => Init,
            (Down | Init, Init) | (Init, Up) => Up,
            (Up, Down) => Down,
            (state, _) => state,
        };
        self.enter(now, next);
    }

    fn enter(&mut self, now: Time, next: BfdState) {
        let before = std::mem::replace(&mut self.state, next);
        if before == next {
            return;
        }
        self.next_packet = now;
        if next == BfdState::Up && self.failed {
            self.restored = now + self.settings.hold;
        } else if before == BfdState::Up {
            self.failed = true;
            self.restored = Time::NEVER;
        }
    }

    /// The deadline has come. Returns the packet that is sent then, if one is; `drawn` is uniform
    /// from 0 to 1.
    pub fn on_deadline(&mut self, now: Time, drawn: f64) -> Option<BfdControl> {
        if self.detection <= now {
            // A session that is down may have heard packets too.
            self.detection = Time::NEVER;
            self.enter(now, BfdState::Down);
        }
        if self.restored <= now {
            (self.failed, self.restored) = (false, Time::NEVER);
        }
        if self.next_packet > now {
            return None;
        }
        let least = if self.settings.multiplier == 1 { JITTER_OF_ONE } else { 0.0 };
        let shorter = least + (JITTER - least) * drawn;
        let interval = self.interval();
        self.next_packet = now + Span::from_secs_f64(interval.as_secs_f64() * (1.0 - shorter));
        Some(BfdControl { state: self.state, interval })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: BfdSettings =
        BfdSettings { interval: Span::from_millis(300), multiplier: 3, hold: Span::from_secs(5) };

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// Two ends over a path of 10 ms that loses all packets which are sent in `lost`. Returns the
    /// times at which the first end's path was used or not used any more, until 60 s.
    fn changes(lost: &[(u64, u64)], settings: BfdSettings) -> Vec<(u64, bool)> {
        let mut ends = [BfdSession::new(settings, at(100)), BfdSession::new(settings, at(700))];
        let mut flying: Vec<(Time, usize, BfdControl)> = Vec::new();
        let mut found = Vec::new();
        let mut is_usable = true;
        loop {
            let due = [0, 1].map(|end| (ends[end].deadline(), end)).into_iter().min().unwrap();
            flying.sort_by_key(|(at, ..)| *at);
            let now = match flying.first().copied() {
                Some((arrival, end, control)) if arrival <= due.0 => {
                    flying.remove(0);
                    ends[end].on_packet(arrival, control);
                    arrival
                }
                _ => {
                    let (now, end) = due;
                    let is_lost = lost.iter().any(|(from, to)| now >= at(*from) && now < at(*to));
                    if let Some(control) = ends[end].on_deadline(now, 0.5)
                        && !is_lost
                    {
                        flying.push((now + Span::from_millis(10), 1 - end, control));
                    }
                    now
                }
            };
            if now > at(60_000) {
                return found;
            }
            if ends[0].is_usable() != is_usable {
                is_usable = ends[0].is_usable();
                found.push((now.as_nanos() / 1_000_000, is_usable));
            }
        }
    }

    /// Section 6.8.4: down three intervals of 300 ms after the last packet has arrived.
    #[test]
    fn a_silent_path_is_down_after_the_detection_time_and_used_again_after_the_hold() {
        let found = changes(&[(20_000, 30_000)], SETTINGS);
        let [(down, false), (up, true)] = found[..] else { panic!("{found:?}") };
        assert!((20_900 - 300..=20_910).contains(&down), "{down}");
        // Packets are a second apart at most then, and the hold is 5 s.
        assert!((35_000..=36_100).contains(&up), "{up}");
    }

    #[test]
    fn two_lost_packets_are_no_failure_and_three_are_one_with_multiplier_three() {
        // A packet each 262.5 ms.
        assert_eq!(changes(&[(20_000, 20_500)], SETTINGS), []);
        assert_eq!(changes(&[(20_000, 21_000)], SETTINGS).len(), 2);
        let one = BfdSettings { multiplier: 1, ..SETTINGS };
        assert_eq!(changes(&[(20_000, 20_500)], one).len(), 2);
    }

    #[test]
    fn a_path_whose_session_was_never_up_counts_as_usable() {
        assert_eq!(changes(&[(0, 10_000)], SETTINGS), []);
    }

    /// Section 6.8.6: a session that is down stays so until it hears Down or Init.
    #[test]
    fn a_session_that_is_down_ignores_up() {
        let mut session = BfdSession::new(SETTINGS, at(10_000));
        session.on_packet(at(0), BfdControl { state: BfdState::Up, interval: SLOW });
        assert_eq!(session.deadline(), at(3000));
        assert_eq!(session.on_deadline(at(3000), 0.5), None);
        assert_eq!(session.deadline(), at(10_000));
        let control = session.on_deadline(at(10_000), 0.5).unwrap();
        assert_eq!(control.state, BfdState::Down);
    }

    /// Section 6.8.3.
    #[test]
    fn a_session_that_is_down_sends_one_packet_a_second() {
        let mut session = BfdSession::new(SETTINGS, at(0));
        for second in 0..10 {
            assert_eq!(session.deadline(), at(1000 * second));
            let control = session.on_deadline(at(1000 * second), 0.0).unwrap();
            assert_eq!(control, BfdControl { state: BfdState::Down, interval: SLOW });
        }
    }
}
