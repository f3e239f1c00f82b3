//! Runs all scripts below a folder against the simulated TCP, with the rules of Linux or, on
//! request, with those of the RFCs, and prints a manifest: name, verdict, line and first
//! difference. `tests/drill/public.tsv` is that manifest with a reason for each that does not pass.
//! Made for the public scripts of packetdrill and of the Linux kernel, which have licences of their
//! own and are no part of this project:
//!
//! ```text
//! cargo run -p bentpipe-tcp --example drill -- .../packetdrill/gtests/net/tcp [rfc]
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command")]
#![allow(missing_docs, reason = "a command")]

#[path = "../tests/drill/host/mod.rs"]
mod host;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use drill::{Failure, Rigour};
use host::{Profile, Simulated};

/// As packetdrill, but for the push bit, which the sender sets as it likes (RFC 9293 section
/// 3.9.1.2).
const RIGOUR: Rigour = Rigour { push: false, ..Rigour::PACKETDRILL };

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: drill FOLDER [rfc]");
        return ExitCode::from(2);
    };
    let profile = match std::env::args().nth(2).as_deref() {
        None => Profile::Linux,
        Some("rfc") => Profile::Rfc,
        Some(other) => {
            eprintln!("expected `rfc` or nothing, found `{other}`");
            return ExitCode::from(2);
        }
    };
    let mut paths = Vec::new();
    if let Err(error) = collect(Path::new(&folder), &mut paths) {
        eprintln!("{folder}: {error}");
        return ExitCode::from(2);
    }
    paths.sort();
    let mut passed = 0;
    println!("script\tverdict\tline\tfirst difference");
    for path in &paths {
        let name = path.strip_prefix(&folder).unwrap_or(path).display();
        match run(path, profile) {
            Ok(()) => {
                passed += 1;
                println!("{name}\tpasses\t\t");
            }
            Err(failure) => {
                let verdict = match failure {
                    Failure::Syntax { .. } => "not understood",
                    Failure::Unsupported { .. } => "not supported",
                    Failure::Differs { .. } => "differs",
                };
                println!("{name}\t{verdict}\t{}\t{}", failure.line(), failure.what());
            }
        }
    }
    eprintln!("{passed} of {} pass", paths.len());
    ExitCode::SUCCESS
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            paths.push(path);
        }
    }
    Ok(())
}

fn run(path: &Path, profile: Profile) -> Result<(), Failure> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| Failure::Syntax {
        path: name.clone(),
        line: 0,
        what: error.to_string(),
    })?;
    let script = drill::parse(&name, &text)?;
    drill::play(&script, &mut Simulated::new(profile, &script), RIGOUR)
}
