//! Plays a script against a host.

use std::collections::{BTreeMap, VecDeque};

use crate::error::Failure;
use crate::expression;
use crate::host::{Host, Live, Outcome};
use crate::packet::{Flags, Packet};
use crate::script::{Action, Call, Event, Expected, Script, When};
use crate::shell;

/// How strictly a script is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rigour {
    /// Microseconds by which anything may be early or late.
    pub tolerance: i64,
    /// The same in parts of the time since the event before, where that is more.
    pub share: f64,
    /// Segments that the script does not mention are errors, also behind its last event.
    pub complete: bool,
    /// The push bit counts.
    pub push: bool,
}

impl Rigour {
    /// That of packetdrill by its defaults: 4 ms or one eighth; segments behind the last expected
    /// one are not looked at.
    pub const PACKETDRILL: Self =
        Self { tolerance: 4_000, share: 0.125, complete: false, push: true };
}

/// How long a segment that may come at any time is waited for, in microseconds.
const LONGEST_WAIT: i64 = 130_000_000;

/// Plays `script` from beginning to end.
///
/// # Errors
/// The first difference, or what the host does not support.
pub fn play(script: &Script, host: &mut dyn Host, rigour: Rigour) -> Result<(), Failure> {
    let tolerance = script.tolerance.unwrap_or(rigour.tolerance);
    let mut player = Player {
        host,
        rigour: Rigour { tolerance, ..rigour },
        sent: VecDeque::new(),
        clocks: BTreeMap::new(),
        blocking: Vec::new(),
        last: None,
    };
    for event in &script.events {
        player.event(event).map_err(|problem| problem.at(script, event.line))?;
    }
    let end = script.events.last().map_or(1, |event| event.line);
    player.finish().map_err(|problem| problem.at(script, end))
}

/// A [`Failure`] that does not know yet where.
enum Problem {
    Differs(String),
    Unsupported(String),
    Syntax(String),
    /// A call that began on an earlier line.
    Call(usize, String),
}

impl Problem {
    fn at(self, script: &Script, line: usize) -> Failure {
        let path = script.path.clone();
        match self {
            Self::Differs(what) => Failure::Differs { path, line, what },
            Self::Unsupported(what) => Failure::Unsupported { path, line, what },
            Self::Syntax(what) => Failure::Syntax { path, line, what },
            Self::Call(line, what) => Failure::Differs { path, line, what },
        }
    }
}

/// A call that has not returned.
struct Blocking {
    call: Call,
    line: usize,
    began: i64,
    ends: i64,
}

struct Player<'a> {
    host: &'a mut dyn Host,
    rigour: Rigour,
    /// Segments that the host sent and no event has taken.
    sent: VecDeque<Live>,
    /// TSval of the script to TSval of the host.
    clocks: BTreeMap<u32, u32>,
    blocking: Vec<Blocking>,
    /// When the last event was due, if it was a segment that arrived.
    last: Option<i64>,
}

impl Player<'_> {
    fn event(&mut self, event: &Event) -> Result<(), Problem> {
        // Relative times count from the end of the event before; those of rows of arrivals from
        // each other, so that delays do not add up. As in packetdrill.
        let arrives = matches!(event.action, Action::Inject(_));
        let base = self.last.take().filter(|_| arrives).unwrap_or_else(|| self.host.now());
        let (from, to) = match event.when {
            When::Any => (i64::MIN, i64::MAX),
            When::At(at) => (at, at),
            When::AtBetween(from, to) => (from, to),
            When::After(span) => (base + span, base + span),
            When::AfterBetween(from, to) => (base + from, base + to),
        };
        match &event.action {
            Action::Expect(packet) => {
                let margin = self.margin(from.saturating_sub(base));
                self.expect(packet, from.saturating_sub(margin), to.saturating_add(margin))
            }
            Action::Inject(packet) => {
                self.run_until(from)?;
                self.last = Some(from);
                self.refuse_leftovers(from)?;
                self.host.inject(&self.translated(packet)).map_err(Problem::Unsupported)?;
                self.look_after_calls()
            }
            Action::Call(call) => {
                self.run_until(from)?;
                self.refuse_leftovers(from)?;
                let ends = call.until.map(|until| match event.when {
                    When::After(_) => base + until,
                    _ => until,
                });
                self.call(call, event.line, ends)
            }
            Action::Command(command) => {
                self.run_until(from)?;
                for setting in shell::settings(command).map_err(Problem::Syntax)? {
                    self.host.set(&setting).map_err(Problem::Unsupported)?;
                }
                Ok(())
            }
            Action::Check(text) => {
                self.run_until(from)?;
                let names = self.host.info().map_err(Problem::Unsupported)?;
                expression::check(text, &names).map_err(|problem| match problem {
                    Ok(differs) => Problem::Differs(differs),
                    Err(what) => Problem::Syntax(what),
                })
            }
        }
    }

    fn margin(&self, span: i64) -> i64 {
        self.rigour.tolerance.max((self.rigour.share * span.max(0) as f64) as i64)
    }

    /// Lets time pass until `time`.
    fn run_until(&mut self, time: i64) -> Result<(), Problem> {
        while self.host.now() < time {
            self.step(time)?;
        }
        Ok(())
    }

    fn step(&mut self, until: i64) -> Result<(), Problem> {
        let live = self.host.step(until).map_err(Problem::Differs)?;
        self.sent.extend(live);
        self.look_after_calls()
    }

    /// Segments that should have been expected before `now`.
    fn refuse_leftovers(&mut self, now: i64) -> Result<(), Problem> {
        let limit = now - self.rigour.tolerance;
        match self.sent.front() {
            Some(live) if self.rigour.complete && live.at < limit => Err(unexpected(live)),
            _ => Ok(()),
        }
    }

    /// The segment with the clocks of the host.
    fn translated(&self, packet: &Packet) -> Packet {
        let mut packet = packet.clone();
        if let Some((_, echo)) = packet.options.as_mut().and_then(|o| o.timestamp.as_mut()) {
            *echo = self.clocks.get(echo).copied().unwrap_or(*echo);
        }
        packet
    }

    fn expect(&mut self, packet: &Packet, from: i64, to: i64) -> Result<(), Problem> {
        let full = self.host.full_segment();
        let mut rest = packet.clone();
        loop {
            let live = self.next_sent(&rest, to)?;
            self.learn_clock(packet, &live.packet);
            let is_piece = live.packet.length < rest.length
                && Some(live.packet.length) == full
                && live.packet.start == rest.start;
            if is_piece {
                let ends = Flags::PSH | Flags::FIN;
                let flags = Flags(rest.flags.0 & !ends);
                let piece = Packet { length: live.packet.length, flags, ..rest.clone() };
                let bare = Flags(live.packet.flags.0 & !Flags::PSH);
                compare(&piece, &Packet { flags: bare, ..live.packet.clone() })?;
            } else {
                self.compare(&rest, &live.packet)?;
            }
            if live.at < from || live.at > to {
                let when = format_range(from, to);
                return Err(Problem::Differs(format!(
                    "expected {when}, sent at {:.6}: {}",
                    live.at as f64 / 1e6,
                    live.packet
                )));
            }
            if !is_piece {
                return Ok(());
            }
            rest.start = live.packet.end();
            rest.length -= live.packet.length;
        }
    }

    fn compare(&self, expected: &Packet, live: &Packet) -> Result<(), Problem> {
        if self.rigour.push {
            return compare(expected, live);
        }
        let without = |packet: &Packet| Packet {
            flags: Flags(packet.flags.0 & !Flags::PSH),
            ..packet.clone()
        };
        compare(&without(expected), &without(live))
    }

    fn next_sent(&mut self, wanted: &Packet, to: i64) -> Result<Live, Problem> {
        let limit = if to == i64::MAX { self.host.now() + LONGEST_WAIT } else { to };
        loop {
            if let Some(live) = self.sent.pop_front() {
                return Ok(live);
            }
            if self.host.now() >= limit {
                let limit = limit as f64 / 1e6;
                return Err(Problem::Differs(format!("nothing sent by {limit:.6}: {wanted}")));
            }
            self.step(limit)?;
        }
    }

    /// TSval is not compared, but what echoes it has to be what the host sent.
    fn learn_clock(&mut self, expected: &Packet, live: &Packet) {
        let clock = |packet: &Packet| packet.options.as_ref()?.timestamp.map(|(value, _)| value);
        if let (Some(script), Some(live)) = (clock(expected), clock(live)) {
            self.clocks.insert(script, live);
        }
    }

    fn call(&mut self, call: &Call, line: usize, ends: Option<i64>) -> Result<(), Problem> {
        let began = self.host.now();
        match self.host.call(call).map_err(Problem::Unsupported)? {
            Outcome::Blocks => {
                let ends = ends.unwrap_or(began);
                self.blocking.push(Blocking { call: call.clone(), line, began, ends });
                Ok(())
            }
            outcome => match ends {
                Some(ends) if ends > began + self.margin(ends - began) => {
                    Err(Problem::Differs(format!("{} did not block: {outcome:?}", call.name)))
                }
                _ => compare_result(call, &outcome).map_err(Problem::Differs),
            },
        }
    }

    fn look_after_calls(&mut self) -> Result<(), Problem> {
        let now = self.host.now();
        for Blocking { call, line, began, ends } in std::mem::take(&mut self.blocking) {
            let outcome = self.host.resume(&call).map_err(Problem::Unsupported)?;
            let margin = self.margin(ends - began);
            let due = ends as f64 / 1e6;
            if outcome == Outcome::Blocks {
                if now > ends + margin {
                    let what = format!("{} blocks beyond {due:.6}", call.name);
                    return Err(Problem::Call(line, what));
                }
                self.blocking.push(Blocking { call, line, began, ends });
                continue;
            }
            if (now - ends).abs() > margin {
                let now = now as f64 / 1e6;
                let what = format!("{} ended at {now:.6} and not at {due:.6}", call.name);
                return Err(Problem::Call(line, what));
            }
            compare_result(&call, &outcome).map_err(|what| Problem::Call(line, what))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Problem> {
        let now = self.host.now();
        let ends = self.blocking.iter().map(|b| b.ends + self.margin(b.ends - b.began));
        let last = ends.max().unwrap_or(now);
        while !self.blocking.is_empty() {
            self.step(last + 1)?;
        }
        if self.rigour.complete {
            self.run_until(now + self.rigour.tolerance)?;
            if let Some(live) = self.sent.front() {
                return Err(unexpected(live));
            }
        }
        Ok(())
    }
}

fn compare(expected: &Packet, live: &Packet) -> Result<(), Problem> {
    match expected.difference(live) {
        Some(difference) => {
            Err(Problem::Differs(format!("expected {difference} in {live}, for {expected}")))
        }
        None => Ok(()),
    }
}

fn compare_result(call: &Call, outcome: &Outcome) -> Result<(), String> {
    let same = match (&call.result, outcome) {
        (Expected::Any, _) => true,
        (Expected::Number(number), Outcome::Returned(returned)) => number == returned,
        (Expected::Error(name), Outcome::Failed(failed)) => name == failed,
        _ => false,
    };
    if same { Ok(()) } else { Err(format!("{} = {:?}, found {outcome:?}", call.name, call.result)) }
}

fn unexpected(live: &Live) -> Problem {
    let at = live.at as f64 / 1e6;
    Problem::Differs(format!("not expected, sent at {at:.6}: {}", live.packet))
}

fn format_range(from: i64, to: i64) -> String {
    let seconds = |time: i64| time as f64 / 1e6;
    format!("between {:.6} and {:.6}", seconds(from), seconds(to))
}
