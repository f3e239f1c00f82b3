//! The same events for a controller in C and for one of `crates/congestion`, and after each event a
//! comparison of both windows.
//!
//! Where the kernel's TCP and the simulator's report different things to a controller, the replay
//! follows the kernel, and gives the definition the equivalent:
//!
//! - All segments that an ACK covers count (byte counting without a limit), and those beyond
//!   ssthresh count for avoidance: the definition gets them as an ACK of their own.
//! - In recovery the window is the kernel's own, and compared again when it is over.

mod judge;

use std::cell::Cell;
use std::collections::BTreeSet;

use congestion::{
    Ack, AnyController, Controller as _, Feedback, Loss, PartialAck, RateSample, RecoveryStyle,
    Sent, Settings, draw,
};
use transport::{Delivery, Range};
use units::{Span, Time};

pub use self::judge::{Comparison, Disagreement, Outcome};
use crate::connection::{Connection, View};
use crate::events::{Event, Sequence};
use crate::journal::{Ack as AckLine, Journal};

/// Sender maximum segment size in bytes.
pub const MSS: u64 = 1460;
/// In segments; a larger window is beyond any path.
pub const LARGEST_WINDOW: u64 = 150_000;
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// By how much the clock of the receiver is ahead, in milliseconds.
const PEER_CLOCK: u64 = 123_456_789;
/// RTT of a handshake in microseconds.
const HANDSHAKE: u32 = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Recovery,
    Timeout { progress: bool },
}

thread_local! {
    /// Seed of the next random number of the one in C: those of the definition follow from it, too.
    static MOMENT: Cell<(Time, u64)> = const { Cell::new((Time::ZERO, 0)) };
}

extern "C" fn random() -> u32 {
    let (now, acknowledged) = MOMENT.get();
    (draw(now, acknowledged) * f64::from(u32::MAX)) as u32
}

fn span_of(microseconds: u32) -> Span {
    Span::from_nanos(u64::from(microseconds) * 1000)
}

/// One sender, reported to both.
struct Replay<'a> {
    comparison: &'a Comparison,
    definition: AnyController,
    kernel: Connection,
    now: u64,
    acknowledged: u64,
    sent: u64,
    recover: u64,
    sacked: u64,
    /// The segments in flight that were delivered out of order.
    reported: BTreeSet<u64>,
    delivered: u64,
    advertised: u64,
    phase: Phase,
    srtt: Option<u32>,
    min_rtt: Option<u32>,
    /// The application has nothing to send.
    quiet: bool,
    /// The definition needs to know of each segment that is sent.
    told_sent: bool,
    initial: u64,
    /// For definitions that need records of segments.
    delivery: Option<Delivery>,
    /// Half of the first RTT in microseconds: an ACK takes it back to the sender.
    way_back: Option<u64>,
    /// TSval and TSecr of the last ACK in milliseconds.
    clocks: (u32, u32),
    /// Largest difference and number of comparisons so far.
    outcome: Outcome,
    /// The event that is being replayed.
    position: (usize, Event),
    /// Position sent when the last ACK came.
    told: u64,
    /// Position sent when an ACK with a mark was answered.
    reduced_at: u64,
    /// cwnd and ssthresh of the definition before the last loss or timeout.
    before: (u64, u64),
    /// There was an undo.
    undone: bool,
    /// Window at the last loss, mark or first timeout in bytes.
    w_max: u64,
    /// See [`Replay::note_bytes_at_a_goal`].
    bytes_at_a_goal: bool,
    journal: Journal,
}

/// Replays one sequence up to the first disagreement. `None` when there is no such controller in C.
pub fn replay(comparison: &Comparison, sequence: &Sequence) -> Option<Outcome> {
    Some(run(comparison, sequence, false)?.outcome)
}

/// The events that the definition gets in a sequence, and the windows of the one in C (`journal`).
/// `None` when the two disagree, or when there is no such controller in C.
pub fn record(comparison: &Comparison, sequence: &Sequence) -> Option<String> {
    let replay = run(comparison, sequence, true)?;
    replay.outcome.disagreement.is_none().then(|| replay.journal.into_text())
}

fn run<'a>(comparison: &'a Comparison, sequence: &Sequence, recorded: bool) -> Option<Replay<'a>> {
    let mut replay = Replay::new(comparison, sequence, recorded)?;
    for (i, event) in sequence.events.iter().enumerate() {
        if replay.definition.window().cwnd > comparison.largest * MSS {
            break;
        }
        replay.position = (i, *event);
        replay.take(*event);
        if replay.outcome.disagreement.is_some() {
            break;
        }
    }
    Some(replay)
}

impl<'a> Replay<'a> {
    fn new(comparison: &'a Comparison, sequence: &Sequence, recorded: bool) -> Option<Self> {
        let Sequence { window, ssthresh, .. } = *sequence;
        let mut definition = comparison.definition.build(&Settings {
            mss: MSS as u32,
            initial_window: window * MSS,
            initial_ssthresh: ssthresh.map_or(u64::MAX, |segments| segments * MSS),
            byte_counting: u32::MAX / MSS as u32,
        });
        let ssthresh = ssthresh.map_or(INFINITE_SSTHRESH, |segments| segments as u32);
        let Comparison { library, name, parameters, .. } = comparison;
        let now = 1_000_000;
        let handshake = comparison.as_kernel.then_some(HANDSHAKE);
        let view =
            View { now, srtt: handshake.unwrap_or(0), advertised: u32::MAX, ..View::default() };
        let (mss, window_now) = (MSS as u32, window as u32);
        let kernel =
            Connection::open(*library, name, parameters, mss, window_now, ssthresh, &view)?;
        library.draw_from(random);
        if let Some(rtt) = handshake {
            definition.on_rtt(Time::from_nanos(now * 1000), span_of(rtt));
        }
        let needs = definition.needs();
        let delivery = needs.records.then(Delivery::default);
        let sent = definition.window().cwnd / MSS * MSS;
        let mut replay = Self {
            comparison,
            definition,
            kernel,
            now,
            acknowledged: 0,
            sent: 0,
            recover: 0,
            sacked: 0,
            reported: BTreeSet::new(),
            delivered: 0,
            advertised: 4_000_000_000,
            phase: Phase::Open,
            srtt: handshake,
            min_rtt: None,
            quiet: false,
            told_sent: needs.feedback,
            initial: window,
            delivery,
            way_back: None,
            clocks: (0, 0),
            outcome: Outcome::default(),
            position: (0, Event::Loss),
            told: sent,
            reduced_at: 0,
            before: (0, 0),
            undone: false,
            w_max: 0,
            bytes_at_a_goal: false,
            journal: if recorded {
                Journal::begin(now, window, ssthresh)
            } else {
                Journal::default()
            },
        };
        replay.send_up_to(sent);
        Some(replay)
    }

    fn flight(&self) -> u64 {
        (self.sent - self.acknowledged) / MSS
    }

    /// Segments in flight that are acknowledged selectively.
    fn sacked_out(&self) -> u64 {
        self.sacked.min(self.flight())
    }

    /// Bytes that a loss reduces: data beyond cwnd was sent by limited transmit, or before a mark.
    /// In recovery the window is the kernel's own.
    fn flight_to_reduce(&self) -> u64 {
        let cwnd = self.definition.window().cwnd;
        if self.comparison.as_kernel {
            return cwnd;
        }
        let recovers = self.phase == Phase::Recovery;
        let segments = if recovers { self.kernel.cwnd().into() } else { cwnd / MSS };
        self.flight().min(segments) * MSS
    }

    fn time(&self) -> Time {
        Time::from_nanos(self.now * 1000)
    }

    fn span(microseconds: Option<u32>) -> Option<Span> {
        microseconds.map(span_of)
    }

    fn view(&mut self, limited: bool) {
        self.kernel.view(&View {
            now: self.now,
            srtt: self.srtt.unwrap_or(0),
            acknowledged: self.acknowledged as u32,
            sent: self.sent as u32,
            advertised: self.advertised as u32,
            delivered: self.delivered as u32,
            packets_out: self.flight() as u32,
            sacked_out: self.sacked_out() as u32,
            limited: u32::from(limited),
            min_rtt: self.min_rtt.unwrap_or(0),
            peer_clock: self.clocks.0,
            echo: self.clocks.1,
            segments: 0,
        });
    }

    /// Reports an ACK to the definition. Returns the rate sample that it got.
    fn feedback(&mut self, acked: u64, rtt: Option<u32>, marked: bool) -> Option<RateSample> {
        let duplicate = acked == 0;
        self.told = self.sent;
        let min_rtt = Self::span(self.min_rtt);
        let rate = self.delivery.as_mut().and_then(|delivery| delivery.take_sample(min_rtt));
        if let Some(rtt) = rtt {
            let back = *self.way_back.get_or_insert(u64::from(rtt) / 2);
            let sent = self.now.saturating_sub(u64::from(rtt)) / 1000;
            let answered = self.now.saturating_sub(back) / 1000 + PEER_CLOCK;
            self.clocks = (answered as u32, sent as u32);
        }
        MOMENT.set((self.time(), self.acknowledged));
        self.definition.on_feedback(&Feedback {
            now: self.time(),
            acked: acked * MSS,
            sacked: if duplicate { MSS } else { 0 },
            duplicate,
            recovering: self.phase != Phase::Open,
            round_trip: Self::span(rtt),
            srtt: Self::span(self.srtt),
            min_rtt,
            acknowledged: self.acknowledged,
            sent: self.sent,
            pipe: (self.flight() - self.sacked_out()) * MSS,
            advertised: self.advertised,
            peer_clock: Some(self.clocks.0),
            marked,
            marked_bytes: if marked { acked * MSS } else { 0 },
            needless: 0,
            head_sent: None,
            rate,
        });
        rate
    }

    fn measure(&mut self, rtt: u32) {
        self.srtt = Some(self.srtt.map_or(rtt, |old| old - old / 8 + rtt / 8));
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        let time = self.time();
        self.definition.on_rtt(time, span_of(rtt));
    }

    /// `marked`: the receiver echoes that what it acknowledges was marked.
    fn ack(&mut self, segments: u64, rtt: u32, limited: bool, marked: bool) {
        let acked = segments.min(self.flight());
        if acked == 0 {
            return;
        }
        self.now += u64::from(rtt) / self.flight().max(1) * acked + 1;
        self.acknowledged += acked * MSS;
        let repairing = self.phase != Phase::Open;
        let sacked = self.sacked.min(acked - 1);
        self.sacked -= sacked;
        let later = self.reported.split_off(&self.acknowledged);
        let reported = std::mem::replace(&mut self.reported, later).len() as u64;
        // Those of bpf/ and their definitions count what is acknowledged after an undo once more.
        let known = if self.comparison.as_kernel { reported } else { sacked };
        self.delivered += acked - known;
        let (time, una) = (self.time(), self.acknowledged);
        if let Some(delivery) = &mut self.delivery {
            delivery.on_acknowledged(time, una, (acked - known) * MSS);
        }
        self.measure(rtt);
        let rate = self.feedback(acked, Some(rtt), marked);
        self.view(limited);
        let in_flight = rate.map_or(0, |rate| rate.delivered - rate.prior_delivered);
        self.kernel.pkts_acked(acked as u32, Some(rtt), in_flight as u32, marked);
        self.journal.ack(&AckLine {
            now: self.now,
            acked,
            new: acked - known,
            rtt,
            pipe: self.flight() - self.sacked_out(),
            peer_clock: self.clocks.0,
            in_flight,
            repairing,
            marked,
        });
        let recovered = self.acknowledged >= self.recover;
        match self.phase {
            Phase::Recovery if recovered => {
                self.leave_recovery();
                self.phase = Phase::Open;
                self.sacked = 0;
            }
            Phase::Recovery => {
                let partial = PartialAck { acked: acked * MSS, style: RecoveryStyle::Pipe };
                self.definition.on_partial_ack(&partial);
                self.journal.partial();
                return;
            }
            Phase::Timeout { .. } if recovered => {
                // tcp_process_loss() comes before tcp_cong_control().
                self.kernel.open_again();
                self.phase = Phase::Open;
                self.sacked = 0;
                self.grow(acked, limited);
            }
            Phase::Timeout { .. } => {
                self.phase = Phase::Timeout { progress: true };
                self.grow(acked, limited);
            }
            Phase::Open if marked => self.mark(),
            // The kernel's CWR: the answer to a mark lasts until something beyond it is
            // acknowledged.
            Phase::Open if self.acknowledged <= self.reduced_at => {}
            Phase::Open => self.grow(acked, limited),
        }
        self.compare();
        self.send();
    }

    fn leave_recovery(&mut self) {
        let time = self.time();
        self.definition.on_recovery_exit(time);
        self.kernel.recovered();
        self.journal.recovered();
    }

    fn grow(&mut self, acked: u64, limited: bool) {
        self.journal.grow(limited);
        let window = self.definition.window();
        let left = window.ssthresh.saturating_sub(window.cwnd);
        let crosses = limited && left > 0 && left < acked * MSS && !self.comparison.whole;
        let parts = if crosses { vec![left, acked * MSS - left] } else { vec![acked * MSS] };
        for part in parts {
            self.definition.on_ack(&Ack {
                now: self.time(),
                acked: part,
                flight: self.flight() * MSS,
                advertised: self.advertised,
                srtt: Self::span(self.srtt),
                min_rtt: Self::span(self.min_rtt),
                cwnd_limited: limited,
            });
        }
        self.kernel.cong_avoid(acked as u32);
    }

    /// Sends as much as the window allows.
    fn send(&mut self) {
        if self.quiet {
            return;
        }
        let window = self.definition.window().cwnd / MSS * MSS;
        self.send_up_to(self.acknowledged + window.min(self.advertised));
    }

    fn send_up_to(&mut self, end: u64) {
        if end <= self.sent {
            return;
        }
        self.view(true);
        self.kernel.send();
        self.journal.send((end - self.sent) / MSS);
        let (now, una) = (self.time(), self.acknowledged);
        for start in (self.sent..end).step_by(MSS as usize) {
            if let Some(delivery) = &mut self.delivery {
                delivery.on_new(now, MSS, start + MSS, start - una);
            }
            if self.told_sent {
                let sent = start + MSS;
                let pipe_before = start - una;
                self.definition.on_sent(&Sent { now, bytes: MSS, again: false, sent, pipe_before });
            }
        }
        self.sent = end;
    }

    fn duplicates(&mut self) {
        for _ in 0..3 {
            let next = self.reported.last().map_or(0, |last| last + MSS);
            let start = next.max(self.acknowledged + MSS);
            if self.sacked + 1 < self.flight() && start < self.sent {
                self.sacked += 1;
                self.delivered += 1;
                self.now += 10;
                let time = self.time();
                self.reported.insert(start);
                if let Some(delivery) = &mut self.delivery {
                    delivery.on_sacked(time, Range { start, end: start + MSS });
                }
                self.feedback(0, None, false);
                self.journal.duplicate(self.now, self.flight() - self.sacked_out());
                self.view(true);
                self.kernel.pkts_acked(0, None, 0, false);
            }
        }
    }

    fn loss(&mut self) {
        if self.phase != Phase::Open || self.flight() < 5 {
            return;
        }
        self.duplicates();
        if !self.comparison.as_kernel {
            // Limited transmit (RFC 3042): a segment for each that has arrived.
            self.send_up_to(self.sent + self.sacked_out() * MSS);
        }
        self.remember();
        let loss = Loss { now: self.time(), flight: self.flight_to_reduce(), repeated: false };
        self.definition.on_loss(&loss);
        self.journal.loss(loss.flight);
        self.view(true);
        self.kernel.loss();
        self.phase = Phase::Recovery;
        self.recover = self.sent;
        self.compare_thresholds();
    }

    /// The answer to marks of the last ACK, unless one of this window of data has had its answer.
    fn mark(&mut self) {
        if self.acknowledged > self.reduced_at {
            self.answer_mark();
            self.reduced_at = self.sent;
        }
    }

    fn answer_mark(&mut self) {
        let before = self.definition.window().cwnd;
        // The answer to a mark lasts until less than the window is in flight.
        if self.phase != Phase::Open || self.flight() == 0 || self.flight() * MSS > before {
            return;
        }
        self.w_max = before;
        // The echo is part of the last ACK, which has let nothing out yet; a definition that has
        // counted what was sent since cannot take it back.
        let told = if self.comparison.whole { self.sent } else { self.told };
        let sent = std::mem::replace(&mut self.sent, told);
        let loss = Loss { now: self.time(), flight: self.flight_to_reduce(), repeated: false };
        self.definition.on_congestion_mark(&loss);
        self.journal.mark(loss.flight);
        self.view(true);
        self.kernel.mark();
        self.sent = sent;
        self.compare();
        self.compare_thresholds();
    }

    fn timeout(&mut self) {
        if self.flight() == 0 {
            return;
        }
        let repeated = self.phase == Phase::Timeout { progress: false };
        self.now += 1_000_000;
        if !repeated {
            self.remember();
        }
        let loss = Loss { now: self.time(), flight: self.flight_to_reduce(), repeated };
        self.definition.on_timeout(&loss);
        self.journal.timeout(self.now, loss.flight, repeated);
        self.view(true);
        self.kernel.timeout(repeated);
        self.phase = Phase::Timeout { progress: false };
        self.recover = self.sent;
        self.compare();
        self.compare_thresholds();
    }

    fn remember(&mut self) {
        let window = self.definition.window();
        self.w_max = window.cwnd;
        self.before = (window.cwnd, window.ssthresh);
    }

    /// A first loss or timeout alone is taken back: a second has another window before it.
    fn undo(&mut self) {
        match self.phase {
            Phase::Recovery => self.leave_recovery(),
            Phase::Timeout { .. } => {}
            Phase::Open => return,
        }
        let (cwnd, ssthresh) = self.before;
        self.definition.on_spurious_loss(cwnd, ssthresh);
        self.journal.undo(cwnd, ssthresh);
        self.undone = true;
        self.view(true);
        self.kernel.undo();
        self.phase = Phase::Open;
        self.sacked = 0;
        self.compare();
        self.compare_thresholds();
        self.send();
    }

    fn idle(&mut self, milliseconds: u64) {
        let rtt = self.srtt.unwrap_or(1000);
        while self.phase != Phase::Open {
            self.ack(u64::MAX, rtt, false, false);
        }
        if self.comparison.as_kernel {
            self.quiet = true;
            self.ack(u64::MAX, rtt, false, false);
            self.quiet = false;
        }
        // The kernel does not see the part of a segment by which a window is larger.
        let window = self.definition.window();
        if [window.cwnd / MSS, window.ssthresh / MSS].contains(&self.initial) {
            self.send();
            return;
        }
        self.now += milliseconds * 1000;
        self.definition.on_idle();
        self.journal.idle(self.now);
        self.view(false);
        self.kernel.idle(self.initial as u32);
        self.compare();
        self.send();
    }

    /// `marked`: the interval in ACKs between two that echo a mark; the first of them does so by
    /// the middle of it.
    fn round(&mut self, rtt: u32, each: u64, marked: Option<u64>) {
        let acks = self.flight().div_ceil(each);
        for i in 0..acks {
            let echo = marked.is_some_and(|every| i % every == (every / 2).min(acks / 2));
            self.ack(each, rtt, true, echo);
            if self.outcome.disagreement.is_some() {
                return;
            }
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Ack { segments, rtt, limited } => self.ack(segments, rtt, limited, false),
            Event::Round { rtt, each } => self.round(rtt, each, None),
            Event::Loss => self.loss(),
            Event::MarkedRound { rtt, each, every } => self.round(rtt, each, Some(every)),
            Event::Mark => self.answer_mark(),
            Event::Timeout => self.timeout(),
            Event::Undo => self.undo(),
            Event::Idle { milliseconds } => self.idle(milliseconds),
        }
    }
}
