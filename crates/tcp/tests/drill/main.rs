//! Scripts in packetdrill's language against the simulated TCP, in virtual time.
//!
//! `scripts/` has one rule in each file. The first word of its first comment names whom the rule
//! comes from: `rfc`, `linux`, or `both` where they agree. An `rfc` script runs with the rules of
//! the RFCs, a `linux` script with `recovery`, `rto.estimator` and `delayed_ack` all `"linux"`, a
//! `both` script with each of them. `linux` and `both` also run on the kernel of this machine
//! (`crates/testbed/tests/drill`).
//!
//! `random/` has recorded random scripts, which the kernel passed as well (`make drill-random`).
//!
//! One file alone: `DRILL=name cargo test -p bentpipe-tcp --test drill`.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod host;
mod random;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use drill::{Action, Failure, Follows, Packet, Rigour, Script};
use host::{Profile, Simulated};

/// That of packetdrill, but nothing more than what the script says may be sent, and virtual time
/// has no reason to be late by more the longer it lasts.
const RIGOUR: Rigour = Rigour { share: 0.0, complete: true, ..Rigour::PACKETDRILL };

/// Linux sets the push bit where its segmentation offload ends a packet, which scripts leave open.
fn rigour(profile: Profile) -> Rigour {
    Rigour { push: profile == Profile::Rfc, ..RIGOUR }
}

fn scripts() -> Vec<Script> {
    scripts_of("scripts")
}

fn scripts_of(folder: &str) -> Vec<Script> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drill").join(folder);
    let wanted = std::env::var("DRILL").unwrap_or_default();
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains(&wanted))
        .collect();
    paths.sort();
    paths.iter().map(|path| read(path).unwrap_or_else(|failure| panic!("{failure}"))).collect()
}

fn read(path: &Path) -> Result<Script, Failure> {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    drill::parse(&name, &fs::read_to_string(path).unwrap())
}

fn profiles(script: &Script) -> &'static [Profile] {
    match script.follows {
        Some(Follows::Rfc) => &[Profile::Rfc],
        Some(Follows::Linux) => &[Profile::Linux],
        Some(Follows::Both) => &[Profile::Rfc, Profile::Linux],
        None => &[],
    }
}

fn play(script: &Script, profile: Profile) -> Result<(), Failure> {
    drill::play(script, &mut Simulated::new(profile, script), rigour(profile))
}

#[test]
fn every_script_passes() {
    let mut failures = String::new();
    for script in scripts() {
        for profile in profiles(&script) {
            if let Err(failure) = play(&script, *profile) {
                writeln!(failures, "{profile:?}: {failure}\n    {}", script.rule).unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn every_script_names_what_it_follows_and_its_rule() {
    for script in scripts() {
        assert!(script.follows.is_some() && !script.rule.is_empty(), "{}", script.path);
    }
}

/// The player translates the clock of a script into that of the host by what the host has sent. A
/// kernel adds an offset to its clock, another one after each start of the machine: another number
/// would be later than all that was sent on one half of the machines, and earlier on the other.
#[test]
fn every_script_echoes_timestamps_that_the_host_has_sent() {
    let clock = |packet: &Packet| packet.options.as_ref()?.timestamp;
    for script in scripts() {
        let mut sent = vec![0];
        for event in &script.events {
            match &event.action {
                Action::Expect(packet) => sent.extend(clock(packet).map(|(value, _)| value)),
                Action::Inject(packet) => {
                    let echo = clock(packet).map_or(0, |(_, echo)| echo);
                    assert!(sent.contains(&echo), "{}:{}: ecr {echo}", script.path, event.line);
                }
                Action::Call(_) | Action::Command(_) | Action::Check(_) => {}
            }
        }
    }
}

/// An interpreter that accepts everything is of no use.
#[test]
fn a_script_with_one_expected_number_changed_fails() {
    let (mut changed, mut survivors) = (0, String::new());
    for script in scripts() {
        for mutant in drill::mutants(&script) {
            changed += 1;
            for profile in profiles(&script) {
                if play(&mutant.script, *profile).is_ok() {
                    writeln!(survivors, "{profile:?}: {}", mutant.change).unwrap();
                }
            }
        }
    }
    assert!(survivors.is_empty(), "passed although changed:\n{survivors}");
    assert!(changed > 0);
}
