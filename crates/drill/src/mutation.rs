//! Scripts with one expected number changed. Each has to fail, or the interpreter does not look at
//! that number.

use crate::script::{Action, Event, Script, When};

/// A script with one change.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The change, and its line.
    pub change: String,
    /// The changed script.
    pub script: Script,
}

/// By how much an expected time moves, in microseconds: clearly more than the tolerance of the
/// times that scripts use.
const LATER: i64 = 2_000_000;

/// All mutants: of each expected segment its first number, length, acknowledgement, window, SACK
/// blocks and time, one at a time.
pub fn mutants(script: &Script) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for (index, event) in script.events.iter().enumerate() {
        for (what, event) in changes(event) {
            let mut script = script.clone();
            let change = format!("{}:{}: {what}", script.path, event.line);
            script.events[index] = event;
            mutants.push(Mutant { change, script });
        }
    }
    mutants
}

fn changes(event: &Event) -> Vec<(&'static str, Event)> {
    let Action::Expect(packet) = &event.action else { return Vec::new() };
    let with = |change: &dyn Fn(&mut crate::Packet)| {
        let mut packet = packet.clone();
        change(&mut packet);
        Event { action: Action::Expect(packet), ..event.clone() }
    };
    let mut changes = vec![
        ("sequence", with(&|packet| packet.start = packet.start.wrapping_add(1))),
        ("length", with(&|packet| packet.length += 1)),
    ];
    if packet.ack.is_some() {
        changes.push(("ack", with(&|packet| packet.ack = packet.ack.map(|n| n.wrapping_add(1)))));
    }
    if packet.window.is_some() {
        changes.push(("window", with(&|packet| packet.window = packet.window.map(|n| n ^ 1))));
    }
    if packet.options.as_ref().is_some_and(|options| !options.sack.is_empty()) {
        changes.push((
            "SACK block",
            with(&|packet| {
                let options = packet.options.as_mut();
                options.into_iter().flat_map(|o| &mut o.sack).for_each(|block| block.1 += 1);
            }),
        ));
    }
    let when = match event.when {
        When::Any => return changes,
        When::At(at) => When::At(at + LATER),
        When::AtBetween(_, to) => When::AtBetween(to + LATER, to + LATER),
        When::After(span) => When::After(span + LATER),
        When::AfterBetween(_, to) => When::AfterBetween(to + LATER, to + LATER),
    };
    changes.push(("time", Event { when, ..event.clone() }));
    changes
}
