//! The same connection for a paced controller in C, such as BBR, and for the one of
//! `crates/congestion`.
//!
//! The behaviour of these depends on rate samples and counters, and so on when segments were sent.
//! The events of [`driver`](crate::driver) have none, so here a sender with records of its segments
//! sends over a bottleneck, as the definition lets it. Both controllers get the same ACKs, with the
//! same rate samples and losses, in the order of the kernel's TCP and of the simulator's. After
//! each ACK cwnd is compared in segments, and the pacing rate in thousandths.
//!
//! [`follow`] goes on where the two part: the definition sends, the C code gets the same ACKs, and
//! the result is how often both are near each other.
//!
//! A random number of the definition is the kernel's one: both begin `ProbeBW` in the same phase,
//! and try pairs of rates in the same order.
//!
//! When nothing is on its way and the window has no room, the retransmission timer expires. Its
//! end reaches the definition with the ACK with which the kernel reports it; the simulator's TCP
//! reports it with the ACK after that.

use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};

use congestion::{
    AnyController, Controller as _, Feedback, Loss, PathChange, PathChangeKind, RateSample, Sent,
    Settings, draw,
};
use transport::{Delivery, Range};
use units::{Span, Time};

use crate::connection::{Connection, Rate, View};
use crate::driver::{Comparison, Disagreement, MSS, Outcome};
use crate::events::Event;

/// A path and its troubles; times in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Time that the bottleneck takes for a packet.
    pub packet: u64,
    /// Round-trip time without a queue.
    pub rtt: u64,
    /// Packets that wait at most.
    pub queue: usize,
    /// ACKs come together, once in such a time; 0 for ACKs as they are.
    pub together: u64,
    /// Packets per lost packet; 0 without losses.
    pub loss: u64,
    /// The application is silent in every second period of such a length; 0 for never.
    pub pause: u64,
    /// All packets are lost in every eighth period of such a length; 0 for never.
    pub outage: u64,
    /// Acknowledgements that are replayed.
    pub acks: u64,
}

/// Number of paths, the same in each run: from 0.2 to 100 Mbit/s and from 10 to 800 ms.
pub fn paths(count: usize) -> impl Iterator<Item = Path> {
    (0..count as u64).map(|number| {
        let draws = |which: u64| draw(Time::from_nanos(which), number);
        let chosen = |which: u64, from: &[u64]| from[(draws(which) * from.len() as f64) as usize];
        let packet = (120.0 * 500_f64.powf(draws(1))) as u64;
        let rtt = (10_000.0 * 80_f64.powf(draws(2))) as u64;
        let product = (rtt / packet).max(4);
        Path {
            packet,
            rtt,
            queue: (product * chosen(3, &[1, 2, 4, 20]) / 2) as usize,
            together: chosen(4, &[0, 0, 2000, 10_000, 50_000]),
            loss: chosen(5, &[0, 0, 0, 10_000, 1000, 200]),
            pause: chosen(6, &[0, 0, 0, 700_000, 3_000_000]),
            outage: 0,
            acks: 20_000,
        }
    })
}

/// The same paths with outages that are longer than the retransmission timer.
pub fn outages(count: usize) -> impl Iterator<Item = Path> {
    paths(count).map(|path| Path { outage: (4 * path.rtt).max(1_000_000), ..path })
}

/// Share by which pacing rates may differ.
const RATE_TOLERANCE: f64 = 5e-3;
/// Share by which windows and rates differ that are near each other.
const NEAR: f64 = 1e-2;
/// Microseconds between ticks of the kernel's clock, for public modules.
const TICK: u64 = 1000;
/// Segments of the initial window.
const INITIAL: u64 = 10;
/// Half of the RTT of the handshake, and time at which the connection begins.
const START: u64 = 1_000_000;
/// Least time after which the retransmission timer expires.
const LEAST_TIMEOUT: u64 = 200_000;
/// Segments sent after a missing one that show that it is lost.
const OVERTAKING: u64 = 3;

thread_local! {
    /// Seed of the next random number.
    static MOMENT: Cell<(Time, u64)> = const { Cell::new((Time::ZERO, 0)) };
}

/// For BBR, the number is the middle of what `get_random_u32_below(7)` makes the phase: the kernel
/// counts phases from the end, and the definition from the beginning. For PCC, the lowest bits of
/// what `get_random_bytes` takes of it, the highest byte, are the orders of two pairs of rates: set
/// for the lower rate first. They leave the phase as it is.
extern "C" fn random() -> u32 {
    let (now, delivered) = MOMENT.get();
    let drawn = draw(now, delivered);
    let counted = (7 - (drawn * 7.0) as u64) % 7;
    let middle = (((2 * counted + 1) << 32) / 14) as u32;
    let falls = [drawn >= 0.5, (4.0 * drawn) as u64 % 2 == 1].map(u32::from);
    middle & !(0b11 << 24) | (falls[0] | falls[1] << 1) << 24
}

fn time(microseconds: u64) -> Time {
    Time::from_nanos(microseconds * 1000)
}

/// A segment that was sent and not acknowledged cumulatively.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Number of its last transmission.
    order: u64,
    sacked: bool,
    lost: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Recovery,
    /// After a timeout.
    Loss,
}

struct Replay<'a> {
    comparison: &'a Comparison,
    path: Path,
    definition: AnyController,
    kernel: Connection,
    delivery: Delivery,
    now: u64,
    /// First segment that is not acknowledged, and the records from there on.
    una: u64,
    flight: VecDeque<Segment>,
    /// Number of segments in flight that are neither sacked nor lost.
    pipe: u64,
    /// Segments that are lost.
    missing: BTreeSet<u64>,
    /// Transmission and segment of what was sent and not overtaken.
    underway: VecDeque<(u64, u64)>,
    /// Transmissions so far, and segments that were found to be lost.
    orders: u64,
    lost: u64,
    delivered: u64,
    phase: Phase,
    recover: u64,
    srtt: u64,
    min_rtt: Option<u64>,
    /// Segment, transmission and time of the ACKs to come.
    acks: VecDeque<(u64, u64, u64)>,
    bottleneck_free: u64,
    /// Segments that the receiver has beyond `expected`.
    received: BTreeSet<u64>,
    expected: u64,
    next_send: u64,
    /// The application had nothing to send since the last new segment.
    has_paused: bool,
    outcome: Outcome,
    followed: Followed,
    index: usize,
}

/// Agreement of both over a whole connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// Acknowledgements.
    pub acks: u64,
    /// After how many of them the windows differ by at most 1 %, or by what the pair may differ.
    pub near_windows: u64,
    /// After how many of them the pacing rates differ by at most 1 %.
    pub near_rates: u64,
}

impl std::ops::AddAssign for Followed {
    fn add_assign(&mut self, other: Self) {
        self.acks += other.acks;
        self.near_windows += other.near_windows;
        self.near_rates += other.near_rates;
    }
}

/// Replays a whole connection. `None` when there is no such controller in C.
pub fn follow(comparison: &Comparison, path: &Path) -> Option<Followed> {
    let mut replay = Replay::new(comparison, *path)?;
    while (replay.index as u64) < path.acks {
        replay.step();
    }
    Some(replay.followed)
}

/// Replays a connection up to the first disagreement. `None` when there is no such controller in C.
pub fn replay(comparison: &Comparison, path: &Path) -> Option<Outcome> {
    let mut replay = Replay::new(comparison, *path)?;
    while (replay.index as u64) < path.acks && replay.outcome.disagreement.is_none() {
        replay.step();
    }
    Some(replay.outcome)
}

impl<'a> Replay<'a> {
    fn new(comparison: &'a Comparison, path: Path) -> Option<Self> {
        let mut definition = comparison.definition.build(&Settings {
            mss: MSS as u32,
            initial_window: INITIAL * MSS,
            initial_ssthresh: u64::MAX,
            byte_counting: 2,
        });
        let handshake = path.rtt;
        let srtt = handshake as u32;
        let view =
            View { now: START, srtt, min_rtt: srtt, advertised: u32::MAX, ..View::default() };
        MOMENT.set((Time::ZERO, 0));
        comparison.library.draw_from(random);
        let kernel = Connection::open(
            comparison.library,
            &comparison.name,
            &[],
            MSS as u32,
            INITIAL as u32,
            0x7fff_ffff,
            &view,
        )?;
        definition.on_rtt(time(START), Span::from_nanos(handshake * 1000));
        Some(Self {
            comparison,
            path,
            definition,
            kernel,
            delivery: Delivery::default(),
            now: START,
            una: 0,
            flight: VecDeque::new(),
            pipe: 0,
            missing: BTreeSet::new(),
            underway: VecDeque::new(),
            orders: 0,
            lost: 0,
            delivered: 0,
            phase: Phase::Open,
            recover: 0,
            srtt: handshake,
            min_rtt: None,
            acks: VecDeque::new(),
            bottleneck_free: START,
            received: BTreeSet::new(),
            expected: 0,
            next_send: START,
            has_paused: false,
            outcome: Outcome::default(),
            followed: Followed::default(),
            index: 0,
        })
    }

    fn is_silent(&self) -> bool {
        self.path.pause > 0 && (self.now / self.path.pause) % 2 == 1
    }

    /// The next step: a transmission or an ACK.
    fn step(&mut self) {
        let repeats = self.missing.first().map(|number| (number - self.una) as usize);
        let window = self.definition.window().cwnd / MSS;
        let room = self.pipe < window;
        let pauses = room && repeats.is_none() && self.is_silent();
        self.has_paused |= pauses;
        let sends = room && !pauses;
        let ack = self.acks.front().map(|(_, _, at)| *at);
        match ack {
            Some(at) if !sends || at <= self.next_send.max(self.now) => self.take_ack(),
            None if !room => self.time_out(),
            None if !sends => self.now = (self.now / self.path.pause + 1) * self.path.pause,
            _ => {
                self.now = self.now.max(self.next_send);
                if repeats.is_none() && self.is_silent() {
                    self.has_paused = true;
                    return;
                }
                self.send(repeats);
            }
        }
    }

    fn send(&mut self, repeats: Option<usize>) {
        let (now, pipe) = (time(self.now), self.pipe * MSS);
        let number = self.una + repeats.unwrap_or(self.flight.len()) as u64;
        self.orders += 1;
        // The application writes again (`tcp_sendmsg_locked`): it limits what is sent until what is
        // in the network now is acknowledged.
        if repeats.is_none() && std::mem::take(&mut self.has_paused) {
            self.delivery.on_app_limited(self.pipe * MSS);
            self.view();
            self.kernel.limit(self.pipe as u32);
        }
        if self.pipe == 0 {
            self.view();
            self.kernel.send();
        }
        if let Some(place) = repeats {
            let range = Range { start: number * MSS, end: (number + 1) * MSS };
            self.delivery.on_again(now, range, self.una * MSS, pipe);
            self.flight[place].lost = false;
            self.flight[place].order = self.orders;
            self.missing.remove(&number);
        } else {
            self.delivery.on_new(now, MSS, (number + 1) * MSS, pipe);
            self.flight.push_back(Segment { order: self.orders, sacked: false, lost: false });
        }
        self.pipe += 1;
        self.underway.push_back((self.orders, number));
        self.definition.on_sent(&Sent {
            now,
            bytes: MSS,
            again: repeats.is_some(),
            sent: (self.una + self.flight.len() as u64) * MSS,
            pipe_before: pipe,
        });
        let rate = self.definition.pacing_rate().unwrap_or(f64::MAX);
        self.next_send = self.now + (MSS as f64 / rate * 1e6) as u64;
        self.transmit(number);
    }

    fn transmit(&mut self, number: u64) {
        let Path { outage, .. } = self.path;
        if outage > 0 && (self.now / outage) % 8 == 7 {
            return;
        }
        let waiting = self.bottleneck_free.saturating_sub(self.now) / self.path.packet;
        if waiting as usize > self.path.queue {
            return;
        }
        self.bottleneck_free = self.bottleneck_free.max(self.now) + self.path.packet;
        let chance = (draw(time(self.now), self.orders) * self.path.loss as f64) as u64;
        if self.path.loss > 0 && chance == 0 {
            return;
        }
        let arrival = self.bottleneck_free + self.path.rtt;
        let at = match self.path.together {
            0 => arrival,
            every => arrival.div_ceil(every) * every,
        };
        self.acks.push_back((number, self.orders, at));
    }

    fn view(&mut self) {
        self.kernel.view(&View {
            now: self.now,
            srtt: self.srtt as u32,
            acknowledged: (self.una * MSS) as u32,
            sent: ((self.una + self.flight.len() as u64) * MSS) as u32,
            advertised: u32::MAX,
            delivered: self.delivered as u32,
            packets_out: self.flight.len() as u32,
            sacked_out: (self.flight.len() as u64 - self.pipe) as u32,
            limited: 1,
            min_rtt: self.min_rtt.unwrap_or(self.path.rtt) as u32,
            peer_clock: 0,
            echo: 0,
            segments: self.orders as u32,
        });
    }

    fn take_ack(&mut self) {
        let Some((number, order, at)) = self.acks.pop_front() else { return };
        self.now = self.now.max(at);
        self.index += 1;
        self.received.insert(number);
        while self.received.remove(&self.expected) {
            self.expected += 1;
        }
        let in_network = self.pipe;
        let acked_before = self.delivered;
        self.note_delivery(number);
        let losses = self.find_losses(order);
        let acked = self.delivered - acked_before;
        let now = time(self.now);
        let round_trip = self.delivery.take_round_trip(now);
        if let Some(sample) = round_trip {
            let rtt = sample.as_nanos() / 1000;
            self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
            self.definition.on_rtt(now, sample);
        }
        let min_rtt = self.min_rtt.map(|rtt| Span::from_nanos(rtt * 1000));
        let sample = self.delivery.take_sample(min_rtt);
        MOMENT.set((now, self.delivered * MSS));
        let ends = self.phase != Phase::Open && self.una >= self.recover;
        let recovers = if ends { self.phase == Phase::Recovery } else { self.phase != Phase::Open };
        self.give_hint();
        self.report(acked, recovers, round_trip, sample);
        let begins = self.phase == Phase::Open && losses > 0;
        if ends {
            if self.phase == Phase::Recovery {
                self.definition.on_recovery_exit(now);
            }
            self.phase = Phase::Open;
        } else if begins {
            self.phase = Phase::Recovery;
            self.recover = self.una + self.flight.len() as u64;
            let flight = self.flight.len() as u64 * MSS;
            self.definition.on_loss(&Loss { now, flight, repeated: false });
        }
        self.control(acked, losses, in_network, round_trip, sample);
        self.compare();
    }

    fn note_delivery(&mut self, number: u64) {
        let now = time(self.now);
        let Some(place) = number.checked_sub(self.una).map(|place| place as usize) else { return };
        if number >= self.expected && !self.flight[place].sacked {
            self.pipe -= u64::from(!self.flight[place].lost);
            self.missing.remove(&number);
            self.flight[place].sacked = true;
            self.delivered += 1;
            self.delivery.on_sacked(now, Range { start: number * MSS, end: (number + 1) * MSS });
        }
        if self.expected > self.una {
            let mut new = 0;
            while self.una < self.expected {
                self.missing.remove(&self.una);
                self.una += 1;
                let Some(segment) = self.flight.pop_front() else { continue };
                new += u64::from(!segment.sacked);
                self.pipe -= u64::from(!segment.sacked && !segment.lost);
            }
            self.delivered += new;
            self.delivery.on_acknowledged(now, self.una * MSS, new * MSS);
        }
    }

    /// A segment that was sent well before one that has arrived will not arrive.
    fn find_losses(&mut self, order: u64) -> u64 {
        let now = time(self.now);
        let mut losses = 0;
        while let Some((sent, number)) = self.underway.front().copied() {
            if sent + OVERTAKING > order {
                break;
            }
            self.underway.pop_front();
            let Some(place) = number.checked_sub(self.una) else { continue };
            let segment = &mut self.flight[place as usize];
            if segment.order != sent || segment.sacked || segment.lost {
                continue;
            }
            segment.lost = true;
            self.missing.insert(number);
            self.pipe -= 1;
            losses += 1;
            let definition = &mut self.definition;
            let range = Range { start: number * MSS, end: (number + 1) * MSS };
            self.delivery.on_lost(now, range, |lost| definition.on_segment_lost(lost));
        }
        self.lost += losses;
        losses
    }

    /// All that was sent last is lost, and the window has no room for more.
    fn time_out(&mut self) {
        self.now = self.now.max(self.next_send) + (2 * self.srtt).max(LEAST_TIMEOUT);
        self.next_send = self.now;
        let (flight, repeated) = (self.flight.len() as u64 * MSS, self.phase == Phase::Loss);
        self.view();
        self.definition.on_timeout(&Loss { now: time(self.now), flight, repeated });
        self.kernel.timeout(repeated);
        self.phase = Phase::Loss;
        self.recover = self.una + self.flight.len() as u64;
        self.find_losses(u64::MAX);
    }

    /// LeoCC's module looks at its clock, which ticks with the kernel's, with each ACK: a change
    /// comes in the last 100 ms before the twelfth second of each fifteen.
    fn give_hint(&mut self) {
        let since_start = (self.now / TICK - START / TICK) * TICK / 1000;
        if self.comparison.clock && (11_900..=12_000).contains(&(since_start % 15_000)) {
            let (kind, now) = (PathChangeKind::Coming, time(self.now));
            self.definition.on_path_change(&PathChange { now, kind, at: now, phase: 1 });
        }
    }

    /// To the definition, as the simulator's TCP reports it.
    fn report(
        &mut self,
        acked: u64,
        recovering: bool,
        round_trip: Option<Span>,
        rate: Option<RateSample>,
    ) {
        let srtt = Some(Span::from_nanos(self.srtt * 1000));
        self.definition.on_feedback(&Feedback {
            now: time(self.now),
            acked: acked * MSS,
            sacked: 0,
            duplicate: false,
            recovering,
            round_trip,
            srtt,
            min_rtt: self.min_rtt.map(|rtt| Span::from_nanos(rtt * 1000)),
            acknowledged: self.una * MSS,
            sent: (self.una + self.flight.len() as u64) * MSS,
            pipe: self.pipe * MSS,
            advertised: u64::MAX,
            peer_clock: None,
            marked: false,
            marked_bytes: 0,
            needless: 0,
            head_sent: None,
            rate,
        });
    }

    /// To the kernel's controller: `tcp_rate_gen()` and `tcp_cong_control()`.
    fn control(
        &mut self,
        acked: u64,
        losses: u64,
        in_network: u64,
        round_trip: Option<Span>,
        sample: Option<RateSample>,
    ) {
        self.view();
        let recovers = self.phase != Phase::Open;
        let interval = sample.and_then(|sample| {
            let delivered = (sample.delivered - sample.prior_delivered) as f64;
            Some((delivered / sample.rate? * 1e6).round() as i64)
        });
        let prior = sample.map_or(0, |sample| sample.prior_delivered / MSS);
        self.kernel.control(&Rate {
            prior_delivered: prior as u32,
            delivered: interval.map_or(-1, |_| (self.delivered - prior) as i32),
            interval: interval.unwrap_or(-1),
            rtt: round_trip.map_or(-1, |rtt| (rtt.as_nanos() / 1000) as i64),
            losses: losses as i32,
            acked: acked as u32,
            in_flight: in_network as u32,
            limited: u32::from(sample.is_some_and(|sample| sample.app_limited)),
            lost: self.lost as u32,
            recovers: u32::from(recovers),
        });
    }

    fn compare(&mut self) {
        let defined = self.definition.window().cwnd / MSS;
        let kernel = u64::from(self.kernel.cwnd());
        self.outcome.steps += 1;
        self.outcome.same += u64::from(kernel == defined);
        let off = kernel.abs_diff(defined);
        self.outcome.difference = self.outcome.difference.max(off as f64);
        if off > self.comparison.bound {
            self.disagree("cwnd", defined as f64, kernel);
        }
        let rate = self.definition.pacing_rate().unwrap_or(0.0);
        let paced = self.kernel.pacing();
        let off_rate = if rate == paced as f64 { 0.0 } else { (rate / paced as f64 - 1.0).abs() };
        if off_rate > RATE_TOLERANCE {
            self.disagree("pacing rate", rate, paced);
        }
        let is_near = off <= self.comparison.bound || off as f64 <= NEAR * kernel as f64;
        self.followed.acks += 1;
        self.followed.near_windows += u64::from(is_near);
        self.followed.near_rates += u64::from(off_rate <= NEAR);
    }

    fn disagree(&mut self, what: &'static str, defined: f64, in_c: u64) {
        let event = Event::Ack { segments: 1, rtt: self.srtt as u32, limited: true };
        self.outcome.disagreement.get_or_insert(Disagreement {
            what,
            defined,
            in_c: in_c as u32,
            index: self.index,
            event,
            bytes_at_a_goal: false,
        });
    }
}
