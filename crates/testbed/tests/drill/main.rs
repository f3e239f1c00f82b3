//! The scripts of `crates/tcp/tests/drill` on the TCP of this machine's kernel: those that claim to
//! describe Linux (`linux` and `both`), and the recorded random ones. A script that is wrong about
//! Linux is found here.
//!
//! The kernel runs in real time, each script in a namespace of its own and many at once. Where a
//! machine is too busy to keep packetdrill's tolerance of 4 ms, a script is tried again, in the end
//! alone and with pauses; one that is wrong fails each time.
//!
//! One file alone: `DRILL=name cargo test -p testbed --test drill`.

#![allow(clippy::unwrap_used, reason = "a failed test may panic")]

mod host;
mod wire;

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use drill::{Follows, Rigour, Script};
use host::Kernel;

/// That of packetdrill, but nothing more than what the script says may be sent, and the push bit
/// does not count: Linux sets it where its segmentation offload ends a burst.
const RIGOUR: Rigour = Rigour { complete: true, push: false, ..Rigour::PACKETDRILL };
/// How often a script may be late among others, and how often alone.
const TRIES: [u32; 2] = [3, 10];
/// Between two tries of a script that is alone: what keeps the machine busy may end.
const PAUSE: Duration = Duration::from_secs(1);
/// Scripts that run at once; they mostly wait.
const AT_ONCE: usize = 16;

fn scripts() -> Vec<Script> {
    let folder = |name| Path::new(env!("CARGO_MANIFEST_DIR")).join("../tcp/tests/drill").join(name);
    let wanted = std::env::var("DRILL").unwrap_or_default();
    let mut paths: Vec<_> = ["scripts", "random"]
        .into_iter()
        .flat_map(|name| fs::read_dir(folder(name)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains(&wanted))
        .collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        drill::parse(&name, &fs::read_to_string(path).unwrap()).unwrap()
    };
    let of_linux = |script: &Script| matches!(script.follows, Some(Follows::Linux | Follows::Both));
    let rules = rules_of_this_kernel();
    let of_version = |script: &Script| script.version.as_deref().is_none_or(|one| one == rules);
    paths.iter().map(read).filter(of_linux).filter(of_version).collect()
}

/// The version of Linux whose rules of buffers the kernel of this machine has. A rule of an earlier
/// version may have been replaced in its stable releases, so only that of the newest is played.
fn rules_of_this_kernel() -> &'static str {
    let uname = rustix::system::uname();
    let mut numbers = uname.release().to_str().unwrap().split('.').map(str::parse::<u32>);
    let mut next = || numbers.next().and_then(Result::ok).unwrap_or_default();
    if (next(), next()) >= (6, 18) { "6.18" } else { "none of those that are played" }
}

fn play(script: &Script, tries: u32, pause: Duration) -> Result<(), String> {
    let mut outcome = Ok(());
    for number in 0..tries {
        thread::sleep(pause * number.min(1));
        // A thread of its own: it stays in its namespace.
        outcome = thread::scope(|scope| {
            let play = || {
                let mut host = Kernel::new()?;
                drill::play(script, &mut host, RIGOUR).map_err(|failure| failure.to_string())
            };
            scope.spawn(play).join().unwrap()
        });
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

#[test]
fn the_kernel_passes_every_script_that_is_about_it() {
    if let Err(missing) = testbed::available() {
        // Not `eprintln`, which is kept back of tests that pass.
        drop(writeln!(io::stderr(), "skipped: {missing}"));
        return;
    }
    let queue: Mutex<VecDeque<_>> = Mutex::new(scripts().into());
    let late = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(script) = queue.lock().unwrap().pop_front() else { return };
                    if play(&script, TRIES[0], Duration::ZERO).is_err() {
                        late.lock().unwrap().push(script);
                    }
                }
            });
        }
    });
    let alone = |script: &Script| {
        let failure = play(script, TRIES[1], PAUSE).err()?;
        Some(format!("{failure}\n    {}", script.rule))
    };
    let mut failures: Vec<_> = late.into_inner().unwrap().iter().filter_map(alone).collect();
    failures.sort();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}
