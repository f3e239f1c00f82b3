//! Controllers of Linux against the windows of the kernel's own C.
//!
//! `kernel_windows/` has a file for each, made by `replay_kernel --record` from the kernel's
//! sources: random events, and the windows of the one in C after them.
//! `crates/replay/src/journal.rs` explains the lines. They differ from no window by more than the
//! file's bound.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

use congestion::{
    Ack, AnyController, Controller as _, Feedback, Loss, PartialAck, RateSample, RecoveryStyle,
    Sent, Settings, Specification, Value,
};
use units::{Span, Time};

const MSS: u64 = 1460;
/// The windows of a connection are infinite, or beyond this many segments.
const INFINITE: u64 = 0x7fff_ffff;

/// One connection of a file.
struct Player {
    controller: AnyController,
    bound: u64,
    now: u64,
    acknowledged: u64,
    sent: u64,
    srtt: u64,
    min_rtt: Option<u64>,
    clock: u32,
    delivered: u64,
    acked: u64,
}

fn span(microseconds: u64) -> Span {
    Span::from_nanos(microseconds * 1000)
}

impl Player {
    fn open(specification: &Specification, bound: u64, window: u64, ssthresh: u64) -> Self {
        let mut controller = specification.build(&Settings {
            mss: MSS as u32,
            initial_window: window * MSS,
            initial_ssthresh: if ssthresh == INFINITE { u64::MAX } else { ssthresh * MSS },
            byte_counting: u32::MAX / MSS as u32,
        });
        let (now, handshake) = (1_000_000, 20_000);
        controller.on_rtt(Time::ZERO + span(now), span(handshake));
        Self {
            controller,
            bound,
            now,
            acknowledged: 0,
            sent: 0,
            srtt: handshake,
            min_rtt: None,
            clock: 0,
            delivered: 0,
            acked: 0,
        }
    }

    fn time(&self) -> Time {
        Time::ZERO + span(self.now)
    }

    fn loss(&self, flight: u64, repeated: bool) -> Loss {
        Loss { now: self.time(), flight, repeated }
    }

    fn feedback(&self, pipe: u64, rtt: Option<u64>, in_flight: u64, state: &str) -> Feedback {
        let duplicate = rtt.is_none();
        let marked = state.ends_with("echo");
        Feedback {
            now: self.time(),
            acked: if duplicate { 0 } else { self.acked * MSS },
            sacked: if duplicate { MSS } else { 0 },
            duplicate,
            recovering: state.contains("repairing"),
            round_trip: rtt.map(span),
            srtt: Some(span(self.srtt)),
            min_rtt: self.min_rtt.map(span),
            acknowledged: self.acknowledged * MSS,
            sent: self.sent * MSS,
            pipe: pipe * MSS,
            advertised: 4_000_000_000,
            peer_clock: Some(self.clock),
            marked,
            marked_bytes: if marked { self.acked * MSS } else { 0 },
            needless: 0,
            head_sent: None,
            rate: Some(RateSample {
                rate: None,
                delivered: self.delivered * MSS,
                prior_delivered: self.delivered * MSS - in_flight,
                lost: 0,
                in_flight_when_sent: 0,
                app_limited: false,
            }),
        }
    }

    fn send(&mut self, segments: u64) {
        let now = self.time();
        for _ in 0..segments {
            let pipe_before = (self.sent - self.acknowledged) * MSS;
            self.sent += 1;
            let sent = self.sent * MSS;
            if self.controller.needs().feedback {
                self.controller.on_sent(&Sent { now, bytes: MSS, again: false, sent, pipe_before });
            }
        }
    }

    /// One line; what differs.
    fn play(&mut self, line: &str) -> Option<String> {
        let mut words = line.split(' ');
        let call = words.next().unwrap();
        let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        let passed =
            if matches!(call, "ack" | "duplicate" | "timeout" | "idle") { numbers[0] } else { 0 };
        self.now += passed;
        match (call, &*numbers) {
            ("send", &[segments]) => self.send(segments),
            ("ack", &[_, acked, new, rtt, pipe, clock, in_flight]) => {
                self.acknowledged += acked;
                self.acked = acked;
                self.delivered += new;
                self.clock = self.clock.wrapping_add(clock as u32);
                self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
                self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
                self.controller.on_rtt(self.time(), span(rtt));
                let feedback = self.feedback(pipe, Some(rtt), in_flight, line);
                self.controller.on_feedback(&feedback);
            }
            ("duplicate", &[_, pipe]) => {
                self.delivered += 1;
                let feedback = self.feedback(pipe, None, 0, line);
                self.controller.on_feedback(&feedback);
            }
            ("partial", []) => self.controller.on_partial_ack(&PartialAck {
                acked: self.acked * MSS,
                style: RecoveryStyle::Pipe,
            }),
            ("grow", &[limited]) => self.controller.on_ack(&Ack {
                now: self.time(),
                acked: self.acked * MSS,
                flight: (self.sent - self.acknowledged) * MSS,
                advertised: 4_000_000_000,
                srtt: Some(span(self.srtt)),
                min_rtt: self.min_rtt.map(span),
                cwnd_limited: limited == 1,
            }),
            ("recovered", []) => self.controller.on_recovery_exit(self.time()),
            ("loss", &[flight]) => self.controller.on_loss(&self.loss(flight, false)),
            ("mark", &[flight]) => self.controller.on_congestion_mark(&self.loss(flight, false)),
            ("timeout", &[_, flight, repeated]) => {
                self.controller.on_timeout(&self.loss(flight, repeated == 1));
            }
            ("undo", &[cwnd, ssthresh]) => self.controller.on_spurious_loss(cwnd, ssthresh),
            ("idle", &[_]) => self.controller.on_idle(),
            ("=", &[cwnd]) => return self.differs(self.controller.window().cwnd, cwnd),
            ("ssthresh", &[INFINITE]) => {
                let infinite = self.controller.window().ssthresh > INFINITE;
                return (!infinite).then(|| "ssthresh is not infinite".to_owned());
            }
            ("ssthresh", &[ssthresh]) => {
                return self.differs(self.controller.window().ssthresh, ssthresh);
            }
            _ => panic!("{line}"),
        }
        None
    }

    fn differs(&self, ours: u64, kernel: u64) -> Option<String> {
        let off = (ours / MSS).abs_diff(kernel) > self.bound;
        off.then(|| format!("{} segments, in C {kernel}", ours as f64 / MSS as f64))
    }
}

/// Plays a file; the first line that differs, with its number.
fn play(text: &str) -> Option<String> {
    let mut specification = None;
    let mut bound = 0;
    let mut player: Option<Player> = None;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        match words.next().unwrap() {
            "controller" => {
                let mut controller = Specification::named(words.next().unwrap()).unwrap();
                for (name, value) in words.map(|word| word.split_once('=').unwrap()) {
                    controller.set(name, Value::Word(value.to_owned())).unwrap();
                }
                specification = Some(controller);
            }
            "bound" => bound = words.next().unwrap().parse().unwrap(),
            "open" => {
                let mut number = || words.next().unwrap().parse().unwrap();
                let (window, ssthresh) = (number(), number());
                player =
                    Some(Player::open(specification.as_ref().unwrap(), bound, window, ssthresh));
            }
            _ => {
                let off = player.as_mut().unwrap().play(line);
                if let Some(off) = off {
                    return Some(format!("line {}, {line}: {off}", number + 1));
                }
            }
        }
    }
    None
}

macro_rules! files {
    ($($name:literal $test:ident,)+) => {
        const NAMES: &[&str] = &[$($name),+];
        $(
            #[test]
            fn $test() {
                let off = play(include_str!(concat!("kernel_windows/", $name, ".txt")));
                assert_eq!(off, None);
            }
        )+
    };
}

files! {
    "bic" bic_has_the_windows_of_the_kernel,
    "cdg" cdg_has_the_windows_of_the_kernel,
    "cubic" cubic_has_the_windows_of_the_kernel,
    "dctcp" dctcp_has_the_windows_of_the_kernel,
    "highspeed" highspeed_has_the_windows_of_the_kernel,
    "htcp" htcp_has_the_windows_of_the_kernel,
    "hybla" hybla_has_the_windows_of_the_kernel,
    "illinois" illinois_has_the_windows_of_the_kernel,
    "lp" lp_has_the_windows_of_the_kernel,
    "nv" nv_has_the_windows_of_the_kernel,
    "reno" reno_has_the_windows_of_the_kernel,
    "scalable" scalable_has_the_windows_of_the_kernel,
    "vegas" vegas_has_the_windows_of_the_kernel,
    "veno" veno_has_the_windows_of_the_kernel,
    "westwood" westwood_has_the_windows_of_the_kernel,
    "yeah" yeah_has_the_windows_of_the_kernel,
}

#[test]
fn every_file_is_played_and_has_windows_after_each_kind_of_event() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernel_windows");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    found.sort();
    assert_eq!(found, NAMES);
    for name in NAMES {
        let text = std::fs::read_to_string(format!("{folder}/{name}.txt")).unwrap();
        for call in ["send", "ack", "loss", "mark", "timeout", "undo", "idle", "=", "ssthresh"] {
            let times = text.lines().filter(|line| line.split(' ').next() == Some(call)).count();
            assert!(times >= 2, "{name}: {times} times {call}");
        }
        let echoes = text.lines().filter(|line| line.ends_with(" echo")).count();
        assert!(echoes >= 10, "{name}: {echoes} ACKs that echo a mark");
    }
}

#[test]
fn a_window_that_the_kernel_does_not_have_is_found() {
    let text = include_str!("kernel_windows/htcp.txt");
    let lines: Vec<&str> = text.lines().collect();
    let mut found = 0;
    for (number, line) in lines.iter().enumerate() {
        let Some(cwnd) = line.strip_prefix("= ") else { continue };
        if number % 50 > 4 {
            continue;
        }
        let other = format!("= {}", cwnd.parse::<u64>().unwrap() + 1);
        let mut changed = lines.clone();
        changed[number] = &other;
        let off = play(&changed.join("\n")).unwrap();
        assert!(off.starts_with(&format!("line {},", number + 1)), "{off}");
        found += 1;
    }
    assert!(found > 10);
}
