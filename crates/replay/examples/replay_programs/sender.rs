//! A sender over a bottleneck that sends as the definition lets it. Packets have numbers, as in
//! QUIC, and each is acknowledged.

use std::collections::VecDeque;
use std::fmt::Write as _;

use congestion::{
    AnyController, Controller as _, Feedback, Loss, LostSegment, RateSample, Sent, Settings,
    Specification, draw,
};
use replay::paced::Path;
use units::{Span, Time};

/// The packet size of `picoquic_internal.h` and of `genericcc/main.cc`.
const MSS: u64 = 1000;
const START: u64 = 1_000_000;
/// Losses on the path in addition to those of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Those of the path.
    Single,
    /// A third of all packets, for a second in each ten.
    Bursts,
    /// All packets, for three seconds in each twenty.
    Outages,
}

impl Trouble {
    pub(crate) const ALL: [Self; 3] = [Self::Single, Self::Bursts, Self::Outages];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Single => "of queues, and single ones",
            Self::Bursts => "a third of a second's packets, each ten seconds",
            Self::Outages => "all of three seconds, each twenty seconds",
        }
    }

    fn takes(self, now: u64, chance: f64) -> bool {
        match self {
            Self::Single => false,
            Self::Bursts => now % 10_000_000 > 9_000_000 && chance < 1.0 / 3.0,
            Self::Outages => now % 20_000_000 > 17_000_000,
        }
    }
}

/// Window and rate of the definition after an acknowledgement.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) cwnd: u64,
    /// In bytes per second.
    pub(crate) pacing: Option<f64>,
}

#[derive(Clone, Copy)]
struct Packet {
    number: u64,
    sent_at: u64,
    /// State of the connection when it was sent (draft-ietf-ccwg-bbr section 4.1).
    delivered: u64,
    delivered_at: u64,
    first_sent_at: u64,
    limited: bool,
}

/// A connection and its events.
pub(crate) struct Connection {
    path: Path,
    trouble: Trouble,
    seed: u64,
    definition: AnyController,
    overtaking: u64,
    pub(crate) events: String,
    pub(crate) expected: Vec<Expected>,
    now: u64,
    next_send: u64,
    free: u64,
    sent: u64,
    flight: VecDeque<Packet>,
    /// Number and time of the acknowledgements to come.
    acks: VecDeque<(u64, u64)>,
    delivered: u64,
    delivered_at: u64,
    first_sent_at: u64,
    srtt: u64,
    min_rtt: Option<u64>,
    lost: u64,
    last_progress: u64,
}

fn time(microseconds: u64) -> Time {
    Time::from_nanos(1000 * microseconds)
}

fn build(definition: &Specification) -> AnyController {
    definition.build(&Settings {
        mss: MSS as u32,
        initial_window: 10 * MSS,
        initial_ssthresh: u64::MAX,
        byte_counting: 2,
    })
}

impl Connection {
    /// Runs a connection over a path.
    ///
    /// `overtaking`: packets sent after a missing one that show that it is lost.
    pub(crate) fn run(
        definition: &Specification,
        overtaking: u64,
        (path, trouble, seed): (&Path, Trouble, u64),
    ) -> Self {
        let mut connection = Self {
            path: *path,
            trouble,
            seed,
            definition: build(definition),
            overtaking,
            events: String::new(),
            expected: Vec::new(),
            now: START,
            next_send: START,
            free: START,
            sent: 0,
            flight: VecDeque::new(),
            acks: VecDeque::new(),
            delivered: 0,
            delivered_at: START,
            first_sent_at: START,
            srtt: path.rtt,
            min_rtt: None,
            lost: 0,
            last_progress: START,
        };
        while (connection.expected.len() as u64) < path.acks {
            connection.step();
        }
        connection
    }

    fn pipe(&self) -> u64 {
        self.flight.len() as u64 * MSS
    }

    fn is_silent(&self) -> bool {
        self.path.pause > 0 && (self.now / self.path.pause) % 2 == 1
    }

    fn timeout_at(&self) -> u64 {
        self.last_progress + 3 * self.srtt + 100_000
    }

    fn step(&mut self) {
        let has_room = self.pipe() + MSS <= self.definition.window().cwnd;
        let sends = has_room && !self.is_silent();
        let send_at = self.next_send.max(self.now);
        let ack = self.acks.front().map_or(u64::MAX, |(_, at)| *at);
        let timeout = if self.flight.is_empty() { u64::MAX } else { self.timeout_at() };
        if ack <= timeout && (!sends || ack <= send_at) && ack < u64::MAX {
            self.acknowledge();
        } else if timeout < u64::MAX && (!sends || timeout <= send_at) {
            self.time_out();
        } else if sends {
            self.now = send_at;
            if !self.is_silent() {
                self.send();
            }
        } else {
            self.now = (self.now / self.path.pause.max(1) + 1) * self.path.pause;
        }
    }

    fn send(&mut self) {
        let now = time(self.now);
        if self.flight.is_empty() {
            self.delivered_at = self.now;
            self.first_sent_at = self.now;
            self.last_progress = self.now;
        }
        self.sent += 1;
        let (sent, pipe_before) = (self.sent * MSS, self.pipe());
        let _ = writeln!(self.events, "S {} {} {pipe_before} {}", self.now, self.sent, self.srtt);
        self.definition.on_sent(&Sent { now, bytes: MSS, again: false, sent, pipe_before });
        let rate = self.definition.pacing_rate().unwrap_or(f64::MAX);
        self.next_send = self.now + (MSS as f64 / rate * 1e6) as u64;
        self.flight.push_back(Packet {
            number: self.sent,
            sent_at: self.now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            // All that is sent after a pause, until the pipe is full again.
            limited: self.path.pause > 0 && self.now % self.path.pause < self.path.rtt,
        });
        let waiting = self.free.saturating_sub(self.now) / self.path.packet;
        let chance = draw(now, self.seed ^ self.sent);
        let single = self.path.loss > 0 && chance < 1.0 / self.path.loss as f64;
        if waiting > self.path.queue as u64 || single || self.trouble.takes(self.now, chance) {
            return;
        }
        self.free = self.free.max(self.now) + self.path.packet;
        let arrival = self.free + self.path.rtt;
        let at = match self.path.together {
            0 => arrival,
            every => arrival.div_ceil(every) * every,
        };
        self.acks.push_back((self.sent, at));
    }

    fn lose(&mut self, packet: &Packet, kind: char) {
        self.lost += MSS;
        let (now, sent, pipe, srtt) = (self.now, self.sent, self.pipe(), self.srtt);
        let _ = writeln!(self.events, "{kind} {now} {sent} {pipe} {srtt} {}", packet.number);
        self.definition.on_segment_lost(&LostSegment {
            now: time(now),
            sent_at: time(packet.sent_at),
            bytes: MSS,
            in_flight_when_sent: 0,
            lost_since_sent: MSS,
            app_limited: packet.limited,
        });
    }

    fn time_out(&mut self) {
        self.now = self.timeout_at();
        let flight = self.pipe();
        self.acks.clear();
        for packet in std::mem::take(&mut self.flight) {
            self.lose(&packet, 'T');
        }
        self.definition.on_timeout(&Loss { now: time(self.now), flight, repeated: false });
    }

    fn acknowledge(&mut self) {
        let Some((number, at)) = self.acks.pop_front() else { return };
        self.now = self.now.max(at);
        self.last_progress = self.now;
        let Some(place) = self.flight.iter().position(|packet| packet.number == number) else {
            return;
        };
        let Some(packet) = self.flight.remove(place) else { return };
        self.delivered += MSS;
        self.delivered_at = self.now;
        self.first_sent_at = packet.sent_at;
        while self.flight.front().is_some_and(|first| first.number + self.overtaking <= number) {
            let Some(lost) = self.flight.pop_front() else { break };
            self.lose(&lost, 'L');
        }
        self.report(&packet);
    }

    fn report(&mut self, packet: &Packet) {
        let round_trip = self.now - packet.sent_at;
        self.srtt = self.srtt - self.srtt / 8 + round_trip / 8;
        let min_rtt = self.min_rtt.map_or(round_trip, |least| least.min(round_trip));
        self.min_rtt = Some(min_rtt);
        let interval = (self.now - packet.delivered_at).max(packet.sent_at - packet.first_sent_at);
        let bytes = (self.delivered - packet.delivered) as f64;
        let rate = (interval > 1000).then(|| (bytes / interval as f64 * 1e6).floor());
        let _ = writeln!(
            self.events,
            "A {} {} {} {} {MSS} {} {round_trip} {min_rtt} {} {} {} {} {}",
            self.now,
            self.sent,
            self.pipe(),
            self.srtt,
            self.delivered,
            rate.unwrap_or(0.0),
            packet.delivered,
            u8::from(packet.limited),
            packet.sent_at,
            packet.number
        );
        let now = time(self.now);
        let span = |microseconds: u64| Span::from_nanos(1000 * microseconds);
        self.definition.on_rtt(now, span(round_trip));
        self.definition.on_feedback(&Feedback {
            now,
            acked: MSS,
            sacked: 0,
            duplicate: false,
            recovering: false,
            round_trip: Some(span(round_trip)),
            srtt: Some(span(self.srtt)),
            min_rtt: Some(span(min_rtt)),
            acknowledged: self.delivered,
            sent: self.sent * MSS,
            pipe: self.pipe(),
            advertised: u64::MAX,
            peer_clock: None,
            marked: false,
            marked_bytes: 0,
            needless: 0,
            head_sent: None,
            rate: Some(RateSample {
                rate,
                delivered: self.delivered,
                prior_delivered: packet.delivered,
                lost: 0,
                in_flight_when_sent: 0,
                app_limited: packet.limited,
            }),
        });
        self.expected.push(Expected {
            cwnd: self.definition.window().cwnd,
            pacing: self.definition.pacing_rate(),
        });
    }
}
