//! The controllers of `bpf/` against those of `crates/congestion` that define them: the same ACKs,
//! losses, timeouts and pauses, and after each event windows that differ by less than one segment.
//!
//! Where the kernel's TCP and the simulator's do not tell a controller the same, the replay follows
//! the kernel, and gives the definition what amounts to the same:
//!
//! - All segments that an ACK covers count (byte counting without a limit), and those beyond
//!   ssthresh count for avoidance: the definition gets them as an ACK of their own.
//! - In recovery the window is the kernel's own, and compared again when it is over.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use std::sync::{Mutex, PoisonError};

use congestion::{
    Ack, Controller as _, Feedback, Loss, PartialAck, RecoveryStyle, Settings, Specification, Value,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use replay::{Connection, View};
use units::{Span, Time};

const MSS: u64 = 1460;
/// Each of up to 120 events, of which many are whole round trips.
const SEQUENCES: usize = 300;
/// In segments; a larger one is beyond any path.
const LARGEST_WINDOW: u64 = 150_000;
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// One connection of a controller at a time: its parameters are one map.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[derive(Clone, Copy, Debug)]
enum Event {
    /// An ACK for so many segments, with the RTT that it measures in microseconds.
    Ack { segments: u64, rtt: u32, limited: bool },
    /// A whole window is acknowledged two segments at a time.
    Round { rtt: u32 },
    /// Three duplicate ACKs.
    Loss,
    /// A router has marked data, and the receiver echoes it.
    Mark,
    /// The retransmission timer expires.
    Timeout,
    /// Everything is acknowledged, and then nothing is sent for so many milliseconds.
    Idle { milliseconds: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Recovery,
    Timeout { progress: bool },
}

/// Where the two disagree.
#[derive(Clone, Debug)]
struct Disagreement {
    what: String,
    /// See [`Replay::note_bytes_at_a_goal`].
    bytes_at_a_goal: bool,
}

/// One sender, told to both.
struct Replay {
    name: &'static str,
    definition: congestion::AnyController,
    kernel: Connection,
    now: u64,
    acknowledged: u64,
    sent: u64,
    recover: u64,
    sacked: u64,
    delivered: u64,
    advertised: u64,
    phase: Phase,
    srtt: Option<u32>,
    min_rtt: Option<u32>,
    initial: u64,
    /// Largest difference so far, in segments.
    difference: f64,
    /// The first that was too large.
    disagreement: Option<String>,
    /// What was sent when the last ACK came.
    told: u64,
    /// Window at the last loss, mark or first timeout in bytes.
    w_max: u64,
    /// See [`Replay::note_bytes_at_a_goal`].
    bytes_at_a_goal: bool,
}

impl Replay {
    fn new(name: &'static str, sets: &[(&str, Value)], window: u64, ssthresh: Option<u64>) -> Self {
        let controller = deploy::find(name).unwrap();
        let mut specification = Specification::named(controller.name).unwrap();
        let mut words = Vec::new();
        for (parameter, value) in sets {
            specification.set(parameter, value.clone()).unwrap();
            words.push(format!("{parameter}={value}"));
        }
        if name == "hybla" {
            specification.set("pacing", Value::Word("off".into())).unwrap();
        }
        let parameters = deploy::encoded(controller, &words).unwrap();
        let definition = specification.build(&Settings {
            mss: MSS as u32,
            initial_window: window * MSS,
            initial_ssthresh: ssthresh.map_or(u64::MAX, |segments| segments * MSS),
            byte_counting: u32::MAX / MSS as u32,
        });
        let ssthresh = ssthresh.map_or(INFINITE_SSTHRESH, |segments| segments as u32);
        let kernel =
            Connection::open(name, &parameters, MSS as u32, window as u32, ssthresh).unwrap();
        let sent = definition.window().cwnd / MSS * MSS;
        Self {
            name,
            definition,
            kernel,
            now: 1_000_000,
            acknowledged: 0,
            sent,
            recover: 0,
            sacked: 0,
            delivered: 0,
            advertised: 4_000_000_000,
            phase: Phase::Open,
            srtt: None,
            min_rtt: None,
            initial: window,
            difference: 0.0,
            disagreement: None,
            told: sent,
            w_max: 0,
            bytes_at_a_goal: false,
        }
    }

    fn flight(&self) -> u64 {
        (self.sent - self.acknowledged) / MSS
    }

    fn time(&self) -> Time {
        Time::from_nanos(self.now * 1000)
    }

    fn span(microseconds: Option<u32>) -> Option<Span> {
        microseconds.map(|us| Span::from_nanos(u64::from(us) * 1000))
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
            sacked_out: self.sacked as u32,
            limited: u32::from(limited),
        });
    }

    fn feedback(&mut self, acked: u64, duplicate: bool, rtt: Option<u32>) {
        self.told = self.sent;
        self.definition.on_feedback(&Feedback {
            now: self.time(),
            acked: acked * MSS,
            sacked: if duplicate { MSS } else { 0 },
            duplicate,
            recovering: self.phase != Phase::Open,
            round_trip: Self::span(rtt),
            srtt: Self::span(self.srtt),
            min_rtt: Self::span(self.min_rtt),
            acknowledged: self.acknowledged,
            sent: self.sent,
            pipe: self.flight() * MSS,
            advertised: self.advertised,
            peer_clock: None,
            marked: false,
            needless: 0,
            head_sent: None,
            rate: None,
        });
    }

    fn measure(&mut self, rtt: u32) {
        self.srtt = Some(self.srtt.map_or(rtt, |old| old - old / 8 + rtt / 8));
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        let time = self.time();
        self.definition.on_rtt(time, Span::from_nanos(u64::from(rtt) * 1000));
    }

    fn ack(&mut self, segments: u64, rtt: u32, limited: bool) {
        let acked = segments.min(self.flight());
        if acked == 0 {
            return;
        }
        self.now += u64::from(rtt) / self.flight().max(1) * acked + 1;
        self.acknowledged += acked * MSS;
        let known = self.sacked.min(acked - 1);
        self.sacked -= known;
        self.delivered += acked - known;
        self.measure(rtt);
        self.feedback(acked, false, Some(rtt));
        self.view(limited);
        self.kernel.pkts_acked(acked as u32, Some(rtt));
        let recovered = self.acknowledged >= self.recover;
        match self.phase {
            Phase::Recovery if recovered => {
                let time = self.time();
                self.definition.on_recovery_exit(time);
                self.kernel.recovered();
                self.phase = Phase::Open;
                self.sacked = 0;
            }
            Phase::Recovery => {
                let partial = PartialAck { acked: acked * MSS, style: RecoveryStyle::Pipe };
                self.definition.on_partial_ack(&partial);
                return;
            }
            Phase::Open | Phase::Timeout { .. } => self.grow(acked, limited),
        }
        if let Phase::Timeout { .. } = self.phase {
            self.phase = Phase::Timeout { progress: true };
            if recovered {
                self.kernel.open_again();
                self.phase = Phase::Open;
                self.sacked = 0;
            }
        }
        self.compare();
        self.send();
    }

    fn grow(&mut self, acked: u64, limited: bool) {
        let window = self.definition.window();
        let left = window.ssthresh.saturating_sub(window.cwnd);
        let crosses = limited && left > 0 && left < acked * MSS;
        let whole = matches!(self.name, "aliad" | "ck-stp");
        let parts =
            if crosses && !whole { vec![left, acked * MSS - left] } else { vec![acked * MSS] };
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

    /// What the window lets out.
    fn send(&mut self) {
        let window = self.definition.window().cwnd / MSS * MSS;
        self.sent = self.sent.max(self.acknowledged + window.min(self.advertised));
    }

    fn duplicates(&mut self) {
        for _ in 0..3 {
            if self.sacked + 1 < self.flight() {
                self.sacked += 1;
                self.delivered += 1;
                self.now += 10;
                self.feedback(0, true, None);
                self.view(true);
                self.kernel.pkts_acked(0, None);
            }
        }
    }

    fn loss(&mut self) {
        if self.phase != Phase::Open || self.flight() < 5 {
            return;
        }
        self.duplicates();
        self.w_max = self.definition.window().cwnd;
        let loss = Loss { now: self.time(), flight: self.flight() * MSS, repeated: false };
        self.definition.on_loss(&loss);
        self.view(true);
        self.kernel.loss();
        self.phase = Phase::Recovery;
        self.recover = self.sent;
        self.compare_thresholds();
    }

    fn mark(&mut self) {
        let before = self.definition.window().cwnd;
        // The answer to a mark lasts until less than the window is in flight.
        if self.phase != Phase::Open || self.flight() == 0 || self.flight() * MSS > before {
            return;
        }
        self.w_max = before;
        // The echo is part of the last ACK, which has let nothing out yet.
        let sent = std::mem::replace(&mut self.sent, self.told);
        let loss = Loss { now: self.time(), flight: self.flight() * MSS, repeated: false };
        self.definition.on_congestion_mark(&loss);
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
            self.w_max = self.definition.window().cwnd;
        }
        let loss = Loss { now: self.time(), flight: self.flight() * MSS, repeated };
        self.definition.on_timeout(&loss);
        self.view(true);
        self.kernel.timeout(repeated);
        self.phase = Phase::Timeout { progress: false };
        self.recover = self.sent;
        self.compare();
        self.compare_thresholds();
    }

    fn idle(&mut self, milliseconds: u64) {
        while self.phase != Phase::Open {
            self.ack(u64::MAX, self.srtt.unwrap_or(1000), false);
        }
        // The kernel does not see the part of a segment by which a window is larger.
        let window = self.definition.window();
        if [window.cwnd / MSS, window.ssthresh / MSS].contains(&self.initial) {
            return;
        }
        self.now += milliseconds * 1000;
        self.definition.on_idle();
        self.view(false);
        self.kernel.idle(self.initial as u32);
        self.compare();
        self.send();
    }

    fn round(&mut self, rtt: u32) {
        for _ in 0..self.flight().div_ceil(2) {
            self.ack(2, rtt, true);
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Ack { segments, rtt, limited } => self.ack(segments, rtt, limited),
            Event::Round { rtt } => self.round(rtt),
            Event::Loss => self.loss(),
            Event::Mark => self.mark(),
            Event::Timeout => self.timeout(),
            Event::Idle { milliseconds } => self.idle(milliseconds),
        }
    }

    /// Both in whole segments, as the kernel has them.
    fn compare(&mut self) {
        let defined = self.definition.window().cwnd;
        self.judge("cwnd", defined, self.kernel.cwnd());
        let exactly = (self.kernel.exact_cwnd() - defined as f64 / MSS as f64).abs();
        self.difference = self.difference.max(exactly);
        if self.name == "aliad" {
            self.note_bytes_at_a_goal();
        }
    }

    /// A phase of A-LIAD ends when the window comes within a segment of its goal, and freezes the
    /// window of that ACK for the round trip. alpha is a fixed-point number in C: where the windows
    /// differ by a byte or two and only one of them is within that segment, the next phase begins an
    /// ACK later in the other, and what follows differs by what an ACK adds.
    fn note_bytes_at_a_goal(&mut self) {
        let defined = self.definition.window().cwnd;
        let kernel = (self.kernel.exact_cwnd() * MSS as f64).round() as u64;
        let reached = |goal: u64, window: u64| goal.saturating_sub(window) < MSS;
        let goals = [self.w_max, self.definition.window().ssthresh];
        let parted = goals.iter().any(|goal| reached(*goal, defined) != reached(*goal, kernel));
        self.bytes_at_a_goal |= parted && defined.abs_diff(kernel) <= 2;
    }

    /// CK-STP has a threshold in the kernel only, whose recovery ends with it as the window.
    fn compare_thresholds(&mut self) {
        if self.name == "ck-stp" {
            return;
        }
        self.judge("ssthresh", self.definition.window().ssthresh, self.kernel.ssthresh());
    }

    fn judge(&mut self, what: &str, defined: u64, kernel: u32) {
        if defined > LARGEST_WINDOW * MSS {
            return;
        }
        if u64::from(kernel).abs_diff(defined / MSS) > 1 {
            let defined = defined as f64 / MSS as f64;
            self.disagreement.get_or_insert(format!(
                "{}: {what} is {defined} segments by definition and {kernel} in C",
                self.name
            ));
        }
    }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let rtt = 20_000_u32..1_000_000;
    let event = (rtt, 1_u64..50).prop_flat_map(|(base, stretch)| {
        // RTTs of one path: up to half a second of queue.
        let rtt = (0_u32..500_000).prop_map(move |queue| base + queue);
        prop_oneof![
            20 => (1..=3_u64, rtt.clone(), prop::bool::weighted(0.9))
                .prop_map(|(segments, rtt, limited)| Event::Ack { segments, rtt, limited }),
            4 => rtt.clone().prop_map(move |rtt| Event::Ack { segments: stretch, rtt, limited: true }),
            12 => rtt.prop_map(|rtt| Event::Round { rtt }),
            2 => Just(Event::Loss),
            2 => Just(Event::Mark),
            1 => Just(Event::Timeout),
            1 => (1..100_000_u64).prop_map(|milliseconds| Event::Idle { milliseconds }),
        ]
    });
    vec(event, 1..120)
}

fn replay(
    name: &'static str,
    sets: &[(&str, Value)],
    window: u64,
    ssthresh: Option<u64>,
    events: &[Event],
) -> Result<f64, Disagreement> {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut replay = Replay::new(name, sets, window, ssthresh);
    for (i, event) in events.iter().enumerate() {
        if replay.definition.window().cwnd > LARGEST_WINDOW * MSS {
            break;
        }
        replay.take(*event);
        if let Some(disagreement) = replay.disagreement {
            let what = format!("{disagreement}, at event {i}, {event:?}");
            return Err(Disagreement { what, bytes_at_a_goal: replay.bytes_at_a_goal });
        }
    }
    Ok(replay.difference)
}

/// Sequences of random events, the same ones in each run.
fn sequences(
    name: &'static str,
    sets: &[(&str, Value)],
    count: usize,
) -> Vec<Result<f64, Disagreement>> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let sequence = (events(), 2_u64..2000, prop::option::of(2_u64..4000));
    let mut next = || {
        let (events, window, ssthresh) = sequence.new_tree(&mut runner).unwrap().current();
        replay(name, sets, window, ssthresh, &events)
    };
    (0..count).map(|_| next()).collect()
}

/// Fails with the first disagreement, but for up to `explained_by_bytes` that have this cause.
fn judge(outcomes: &[Result<f64, Disagreement>], explained_by_bytes: usize) {
    let (explained, others): (Vec<_>, Vec<_>) =
        outcomes.iter().filter_map(|o| o.as_ref().err()).partition(|d| d.bytes_at_a_goal);
    let all = outcomes.len();
    assert!(others.is_empty(), "{} of {all} sequences, first {}", others.len(), others[0].what);
    let (many, first) = (explained.len(), explained.first());
    assert!(many <= explained_by_bytes, "{many} of {all} sequences by bytes at a goal, {first:?}");
    let mut differences: Vec<_> = outcomes.iter().filter_map(|o| o.as_ref().ok()).collect();
    differences.sort_by(|a, b| a.total_cmp(b));
    // A byte is 0.0007 segments: most sequences do not differ by two.
    let median = differences[differences.len() / 2];
    assert!(*median < 0.0014, "the median of the largest differences is {median} segments");
}

macro_rules! agree {
    ($($test:ident: $name:literal;)+) => {
        $(
            #[test]
            fn $test() {
                judge(&sequences($name, &[], SEQUENCES), 0);
            }
        )+
    };
}

agree! {
    adalr_agrees_with_its_definition: "adalr";
    aliad_agrees_with_its_definition: "aliad";
    bic_agrees_with_its_definition: "bic";
    ck_stp_agrees_with_its_definition: "ck-stp";
    highspeed_agrees_with_its_definition: "highspeed";
    htcp_agrees_with_its_definition: "htcp";
    hybla_agrees_with_its_definition: "hybla";
    logwestwood_plus_agrees_with_its_definition: "logwestwood-plus";
    scalable_agrees_with_its_definition: "scalable";
    veno_agrees_with_its_definition: "veno";
    westwood_plus_agrees_with_its_definition: "westwood-plus";
}

#[test]
fn other_parameters_agree_too() {
    let word = |word: &str| Value::Word(word.into());
    let number = Value::Number;
    let cases: &[(&'static str, &[(&str, Value)])] = &[
        ("adalr", &[("rtt_tick", number(0.5))]),
        ("aliad", &[("alpha", word("power")), ("probe", word("delay"))]),
        ("aliad", &[("alpha", word("exponential")), ("at_wmax", word("stay"))]),
        ("aliad", &[("alpha", word("affine")), ("probe", word("doubling"))]),
        ("aliad", &[("alpha", word("fixed")), ("rtt_max", word("connection"))]),
        (
            "aliad",
            &[("beta_min", number(0.25)), ("beta_max", number(0.75)), ("delta", number(3.0))],
        ),
        ("bic", &[("fast_convergence", word("off")), ("s_max", number(16.0))]),
        ("ck-stp", &[("rate", number(20.0)), ("rtt", number(600.0))]),
        ("highspeed", &[("high_p", number(1e-6)), ("high_decrease", number(0.3))]),
        ("htcp", &[("rtt_scaling", word("on")), ("rtt_scaling_limit", number(2.0))]),
        ("htcp", &[("backoff", word("half")), ("quadratic", number(0.25))]),
        ("hybla", &[("ssthresh", word("scenario")), ("rtt0", number(0.1))]),
        ("logwestwood-plus", &[("alpha", number(8.0)), ("memory", number(0.5))]),
        ("scalable", &[("increase", number(0.02)), ("decrease", number(0.25))]),
        ("veno", &[("beta", number(30.0))]),
        ("westwood-plus", &[("memory", number(0.0))]),
    ];
    for (name, sets) in cases {
        let explained_by_bytes = if *name == "aliad" { SEQUENCES / 300 } else { 0 };
        judge(&sequences(name, sets, SEQUENCES / 5), explained_by_bytes);
    }
}

/// 100,000 segments at an RTT of one second: nothing overflows and nothing is lost in rounding.
#[test]
fn a_hundred_thousand_segments_in_a_second_agree_too() {
    let second = Event::Round { rtt: 1_000_000 };
    let events = [second, Event::Loss, second, second, Event::Loss, second, second, Event::Timeout];
    for controller in deploy::CONTROLLERS {
        let difference = replay(controller.name, &[], 100_000, Some(50_000), &events);
        assert!(difference.is_ok(), "{difference:?}");
    }
}

#[test]
fn the_defaults_in_c_are_those_of_the_definition() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for controller in deploy::CONTROLLERS {
        let defined = deploy::encoded(controller, &[]).unwrap();
        let in_c = Connection::defaults(controller.name, defined.len()).unwrap();
        assert_eq!(in_c, defined, "{}", controller.name);
    }
}
