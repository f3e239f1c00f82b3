//! Plays a stimulus against a host and writes what happens as a script.
//!
//! The receiver answers what the host sends, so that the script has the ACKs of a real connection.
//! The host should run in virtual time: then the script is the same each time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::host::{Host, Live, Outcome};
use crate::packet::{Ecn, Flags, Packet};
use crate::parser::parse;
use crate::script::{Action, Event, Script, When};
use crate::shell;

use super::receiver::{Answer, Receiver};
use super::stimulus::{Fault, Stimulus};

/// Microseconds after which a script ends in any case.
const LONGEST: i64 = 12_000_000;
/// Segments after which it ends in any case.
const MOST: usize = 400;
/// How long the end is watched for segments that nothing caused, in microseconds.
const WATCH: i64 = 400_000;
/// A timer of a real kernel is later than it should by up to this time, in microseconds, and by an
/// eighth of its span (`LVL_START` of `kernel/time/timer.c`). It is earlier by up to the first.
pub(super) const TICK: i64 = 4_000;
/// Nothing arrives for this time around a timer, in microseconds, so that the order is never left
/// to chance.
const APART: i64 = 8_000;

/// A real host answers within this time, in microseconds. What comes later comes from a timer.
const PROMPT: i64 = 1_500;
/// Additional delay of data segments compared with the SYN, in microseconds. No later RTT is the
/// least one by chance, with which RACK compares the RTT of retransmissions.
const LONGER: i64 = 1_000;
/// Least time between two things that happen to the host, in microseconds. A kernel never sends two
/// segments for two causes at the same time, and RACK compares these times.
const GAP: i64 = 100;

#[derive(Clone, Debug)]
enum Happening {
    /// A data segment reaches the receiver, perhaps marked.
    Data(Packet, bool),
    /// An ACK reaches the host.
    Ack(Packet),
    /// The delayed ACK of this number is due.
    Delayed(u32),
    Write(u32),
    Read,
}

type Try<T> = Result<T, String>;

/// The faults of a stimulus, to look up.
#[derive(Default)]
struct Faults {
    lost: BTreeSet<u32>,
    late: BTreeMap<u32, i64>,
    doubled: BTreeSet<u32>,
    marked: BTreeSet<u32>,
    acks_lost: BTreeSet<u32>,
    acks_late: BTreeMap<u32, i64>,
    unread: BTreeMap<u32, i64>,
}

impl Faults {
    fn of(stimulus: &Stimulus) -> Self {
        let mut faults = Self::default();
        for fault in &stimulus.faults {
            match *fault {
                Fault::Lost(n) => drop(faults.lost.insert(n)),
                Fault::Late(n, late) => drop(faults.late.insert(n, late)),
                Fault::Doubled(n) => drop(faults.doubled.insert(n)),
                Fault::Marked(n) => drop(faults.marked.insert(n)),
                Fault::AckLost(n) => drop(faults.acks_lost.insert(n)),
                Fault::AckLate(n, late) => drop(faults.acks_late.insert(n, late)),
                Fault::Unread(n, time) => drop(faults.unread.insert(n, time)),
            }
        }
        faults
    }
}

struct Recorder<'a> {
    stimulus: &'a Stimulus,
    host: &'a mut dyn Host,
    faults: Faults,
    receiver: Receiver,
    text: String,
    lines: usize,
    /// The last line, if it is an expected segment of full ones: where it begins, its time, and the
    /// segment.
    row: Option<(usize, String, Packet)>,
    /// When the event of the line before was.
    last: i64,
    /// When something last happened to the host, or a timer of it last fired.
    caused: i64,
    /// When it last sent.
    sent: i64,
    queue: BTreeMap<(i64, u64), Happening>,
    number: u64,
    /// Data segments and ACKs so far.
    segments: u32,
    acks: u32,
    /// When the bottleneck is free.
    free: i64,
    /// All bytes up to here are acknowledged to the host.
    acknowledged: u32,
    /// An answer of the host comes within this time.
    prompt: i64,
    /// TSvals of the host.
    clocks: Vec<u32>,
    ends: bool,
}

/// Plays a stimulus against `host` and returns the script. Its expected segments are those of
/// `host`.
///
/// # Errors
/// When the host does not have what the script requires.
pub fn record(stimulus: &Stimulus, host: &mut dyn Host) -> Try<String> {
    let mut recorder = Recorder::new(stimulus, host);
    recorder.set_up()?;
    recorder.run()?;
    Ok(recorder.text)
}

/// The same script with the segments that `host` sends, in real time, in place of the expected
/// ones. What arrives at the host stays.
///
/// # Errors
/// As for [`record`].
pub fn record_again(stimulus: &Stimulus, text: &str, host: &mut dyn Host) -> Try<String> {
    let mut recorder = Recorder::new(stimulus, host);
    recorder.prompt = PROMPT;
    recorder.follow(text)?;
    Ok(recorder.text)
}

/// The calls before the connection is there; what a simulated host looks for when it is made.
pub fn prologue(stimulus: &Stimulus) -> String {
    let mut text = format!("// linux: random, seed {}: {stimulus}\n", stimulus.seed);
    let mut line = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    if stimulus.ecn {
        line("`sysctl -q net.ipv4.tcp_ecn=1`");
    }
    if !stimulus.idle_restart {
        line("`sysctl -q net.ipv4.tcp_slow_start_after_idle=0`");
    }
    let name = stimulus.controller.name();
    line("   0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3");
    line(&format!("  +0 setsockopt(3, SOL_TCP, TCP_CONGESTION, [\"{name}\"], {}) = 0", name.len()));
    if !stimulus.nagle {
        line("  +0 setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0");
    }
    line("  +0 bind(3, ..., ...) = 0");
    line("  +0 listen(3, 1) = 0");
    text
}

impl<'a> Recorder<'a> {
    fn new(stimulus: &'a Stimulus, host: &'a mut dyn Host) -> Self {
        Self {
            stimulus,
            host,
            faults: Faults::of(stimulus),
            receiver: Receiver::new(stimulus),
            text: prologue(stimulus),
            lines: 0,
            row: None,
            last: 0,
            caused: 0,
            sent: 0,
            queue: BTreeMap::new(),
            number: 0,
            segments: 0,
            acks: 0,
            free: 0,
            acknowledged: 0,
            prompt: 0,
            clocks: Vec::new(),
            ends: false,
        }
    }

    /// Lets happen what the script lets happen.
    fn follow(&mut self, text: &str) -> Try<()> {
        let lines: Vec<_> = text.lines().collect();
        let script = parse("random", text).map_err(|error| error.to_string())?;
        let began = self.host.now();
        let prologue = parse("random", &self.text).map_err(|error| error.to_string())?;
        let calls = prologue.events.len();
        let clock = first_clock(&script);
        let mut due = began;
        for (n, event) in script.events.iter().enumerate() {
            due = nominal(event.when, due);
            let what = lines[event.line - 1].split_once(' ').map_or("", |(_, what)| what);
            while self.host.now() < due {
                self.host_step(due)?;
            }
            match &event.action {
                Action::Inject(packet) => {
                    let packet = with_clock(packet, clock, &self.clocks);
                    self.line(due, &format!("< {packet}"));
                    self.caused = self.host.now();
                    self.host.inject(&packet)?;
                }
                Action::Expect(_) => {}
                Action::Check(_) => self.line(due, what),
                Action::Call(_) if n >= calls => {
                    self.line(due, what);
                    self.caused = self.host.now();
                    self.perform(event)?;
                }
                Action::Call(_) | Action::Command(_) => self.perform(event)?,
            }
        }
        let end = self.host.now() + PROMPT;
        while self.host.now() < end {
            self.host_step(end)?;
        }
        Ok(())
    }

    fn set_up(&mut self) -> Try<()> {
        let script = parse("random", &self.text).map_err(|error| error.to_string())?;
        for event in &script.events {
            self.perform(event)?;
        }
        let syn = self.receiver.syn(self.stimulus);
        self.inject(&syn)?;
        self.host_runs(self.host.now())?;
        let rtt = 2 * self.stimulus.delay;
        self.host_runs(self.host.now() + rtt)?;
        let ack = self.receiver.ack(self.host.now());
        self.inject(&ack)?;
        self.call("accept(3, ..., ...) = 4")?;
        let mut at = self.host.now();
        for write in &self.stimulus.writes {
            at += write.after;
            self.later(at, Happening::Write(write.bytes));
        }
        Ok(())
    }

    fn perform(&mut self, event: &Event) -> Try<()> {
        match &event.action {
            Action::Call(call) => match self.host.call(call)? {
                Outcome::Returned(_) => Ok(()),
                other => Err(format!("{}: {other:?}", call.name)),
            },
            Action::Command(command) => {
                shell::settings(command)?.iter().try_for_each(|setting| self.host.set(setting))
            }
            _ => Ok(()),
        }
    }

    fn later(&mut self, at: i64, happening: Happening) {
        self.number += 1;
        self.queue.insert((at, self.number), happening);
    }

    fn line(&mut self, at: i64, what: &str) {
        self.row = None;
        let after = (at - self.last) as f64 / 1e6;
        // Writing to a text cannot fail.
        let _ = writeln!(self.text, "+{after} {what}");
        self.last = at;
        self.lines += 1;
    }

    fn call(&mut self, call: &str) -> Try<()> {
        let now = self.host.now();
        self.caused = now;
        self.line(now, call);
        let script = parse("random", &format!("0 {call}")).map_err(|error| error.to_string())?;
        script.events.iter().try_for_each(|event| self.perform(event))
    }

    fn inject(&mut self, packet: &Packet) -> Try<()> {
        let now = self.host.now();
        self.caused = now;
        self.line(now, &format!("< {packet}"));
        self.acknowledged = self.acknowledged.max(packet.ack.unwrap_or(0));
        self.host.inject(packet)
    }

    fn run(&mut self) -> Try<()> {
        self.host_runs(self.host.now())?;
        while !self.ends {
            let Some((&(at, _), _)) = self.queue.first_key_value() else {
                self.watch()?;
                continue;
            };
            if at > self.host.now() {
                // A timer may fire and move what comes behind it.
                self.host_runs(at)?;
                continue;
            }
            if let Some((_, happening)) = self.queue.pop_first() {
                let reaches_host = matches!(happening, Happening::Ack(_) | Happening::Write(_));
                if reaches_host && at < self.caused + GAP {
                    self.later(self.caused + GAP, happening);
                    continue;
                }
                self.happen(happening)?;
                self.host_runs(self.host.now())?;
            }
            self.ends |= self.host.now() > LONGEST || self.lines > MOST;
        }
        Ok(())
    }

    /// Nothing is on its way: either a timer of the host fires, or this is the end.
    fn watch(&mut self) -> Try<()> {
        let from = self.host.now();
        let all = self.stimulus.writes.iter().map(|write| write.bytes).sum::<u32>() + 1;
        let done = self.acknowledged == all;
        let until = if done { from + WATCH } else { LONGEST };
        while self.queue.is_empty() && self.host.now() < until {
            self.host_step(until)?;
        }
        if !self.queue.is_empty() {
            return Ok(());
        }
        if done {
            self.line(from + WATCH, "%{ assert tcpi_snd_cwnd > 0 }%");
        }
        self.ends = true;
        Ok(())
    }

    /// Lets the host act until `until`, or until a timer has fired.
    fn host_runs(&mut self, until: i64) -> Try<()> {
        let mut quiet = 0;
        while quiet < 2 {
            let fired = self.host_step(until)?;
            if fired && until > self.host.now() {
                return Ok(());
            }
            quiet = if fired || self.host.now() < until { 0 } else { quiet + 1 };
        }
        Ok(())
    }

    /// Returns true if the host has sent something.
    fn host_step(&mut self, until: i64) -> Try<bool> {
        let live = self.host.step(until)?;
        if let Some(live) = &live {
            self.leaves(live)?;
        }
        Ok(live.is_some())
    }

    /// Writes the line of an expected segment, or makes the line before longer.
    fn expect(&mut self, now: i64, packet: &Packet) {
        let packet = expectation(packet);
        let payload = self.stimulus.payload();
        let mut begins = self.text.len();
        let (time, row) = if now > self.caused + self.prompt {
            let latest = TICK + (now - self.sent) / 8;
            let after = now - self.last;
            // What a real host has recorded may itself be late.
            let earliest = if self.prompt > 0 { latest } else { TICK };
            let from = (after - earliest).max(0) as f64 / 1e6;
            let to = (after + latest) as f64 / 1e6;
            self.caused = now;
            self.keep_apart(now + latest + APART);
            self.last = now;
            (format!("+{from}~+{to}"), packet)
        } else {
            let longer = |(begins, time, row): (usize, String, Packet)| {
                let whole = Packet { length: row.length + packet.length, ..row.clone() };
                let next = Packet { start: row.end(), length: packet.length, ..row };
                (next == packet && row_is_full(&whole, &packet, payload))
                    .then_some((begins, time, whole))
            };
            match self.row.take().and_then(longer) {
                Some((start, time, whole)) => {
                    begins = start;
                    (time, whole)
                }
                None => ("+0".to_owned(), packet),
            }
        };
        self.text.truncate(begins);
        let ecn = if row.ecn == Some(Ecn::Ect0) { "[ect0] " } else { "" };
        // Writing to a text cannot fail.
        let _ = writeln!(self.text, "{time} > {ecn}{row}");
        self.row = (row.length > 0).then_some((begins, time, row));
        self.lines += 1;
    }

    fn leaves(&mut self, live: &Live) -> Try<()> {
        let packet = &live.packet;
        let now = live.at;
        let clock = packet.options.as_ref().and_then(|options| options.timestamp);
        self.clocks.extend(clock.map(|(value, _)| value));
        self.expect(now, packet);
        self.sent = now;
        if packet.flags.has(Flags::SYN) {
            self.receiver.take(packet, false);
            return Ok(());
        }
        if packet.length == 0 {
            self.later(now + self.stimulus.delay, Happening::Data(packet.clone(), false));
            return Ok(());
        }
        let n = self.segments;
        self.segments += 1;
        self.free = self.free.max(now) + self.stimulus.spacing;
        if self.faults.lost.contains(&n) {
            return Ok(());
        }
        let late = self.faults.late.get(&n).copied().unwrap_or(0);
        let arrives = self.free + self.stimulus.delay + LONGER + late;
        let marked = self.faults.marked.contains(&n) && packet.ecn == Some(Ecn::Ect0);
        self.later(arrives, Happening::Data(packet.clone(), marked));
        if self.faults.doubled.contains(&n) {
            self.later(arrives, Happening::Data(packet.clone(), marked));
        }
        Ok(())
    }

    /// Moves all that is to come behind `time`.
    fn keep_apart(&mut self, time: i64) {
        let Some((&(first, _), _)) = self.queue.first_key_value() else { return };
        if first < time {
            let by = time - first;
            let moved = std::mem::take(&mut self.queue);
            self.queue = moved.into_iter().map(|((at, n), what)| ((at + by, n), what)).collect();
        }
    }

    fn happen(&mut self, happening: Happening) -> Try<()> {
        match happening {
            Happening::Data(packet, marked) => match self.receiver.take(&packet, marked) {
                Answer::Now => self.answer(),
                Answer::Later => {
                    let due = self.host.now() + self.stimulus.ack_delay;
                    self.later(due, Happening::Delayed(self.acks));
                }
                Answer::None => {}
            },
            Happening::Delayed(number) => {
                if number == self.acks && self.receiver.owes_ack() {
                    self.answer();
                }
            }
            Happening::Read => {
                self.receiver.set_reads(true);
                self.answer();
            }
            Happening::Ack(packet) => self.inject(&packet)?,
            Happening::Write(bytes) => self.call(&format!("write(4, ..., {bytes}) = {bytes}"))?,
        }
        Ok(())
    }

    /// The receiver sends an ACK.
    fn answer(&mut self) {
        let now = self.host.now();
        let n = self.acks;
        self.acks += 1;
        if let Some(time) = self.faults.unread.get(&n) {
            self.receiver.set_reads(false);
            self.later(now + time, Happening::Read);
        }
        let packet = self.receiver.ack(now);
        if !self.faults.acks_lost.contains(&n) {
            let late = self.faults.acks_late.get(&n).copied().unwrap_or(0);
            self.later(now + self.stimulus.delay + late, Happening::Ack(packet));
        }
    }
}

/// The first TSval that a script expects.
pub(super) fn first_clock(script: &Script) -> Option<u32> {
    script.events.iter().find_map(|event| match &event.action {
        Action::Expect(packet) => packet.options.as_ref()?.timestamp.map(|(value, _)| value),
        _ => None,
    })
}

/// A segment that arrives, with the nearest TSval that the host has sent in place of the one that
/// the script echoes. `first` is the first one of the script, and `clocks` those of the host.
pub(super) fn with_clock(packet: &Packet, first: Option<u32>, clocks: &[u32]) -> Packet {
    let mut packet = packet.clone();
    let echo = packet.options.as_mut().and_then(|options| options.timestamp.as_mut());
    if let (Some((_, echo)), Some(first), Some(own)) = (echo, first, clocks.first()) {
        let wanted = echo.wrapping_sub(first).wrapping_add(*own);
        let nearest = clocks.iter().min_by_key(|clock| clock.abs_diff(wanted));
        *echo = nearest.copied().unwrap_or(wanted);
    }
    packet
}

/// The time of an event where everything comes when it should; `before` is that of the event
/// before.
pub(super) fn nominal(when: When, before: i64) -> i64 {
    match when {
        When::Any => before,
        When::At(at) => at.max(before),
        When::AtBetween(from, _) => from + TICK,
        When::After(span) => before + span,
        When::AfterBetween(from, _) => before + from + TICK,
    }
}

/// The expected segment. Its window and push bit are not compared.
fn expectation(packet: &Packet) -> Packet {
    let flags = Flags(packet.flags.0 & !Flags::PSH);
    Packet { window: None, flags, ..packet.clone() }
}

/// A row of full segments that ends with `last`, which alone may be shorter.
fn row_is_full(row: &Packet, last: &Packet, payload: u32) -> bool {
    (row.length - last.length).is_multiple_of(payload)
}
