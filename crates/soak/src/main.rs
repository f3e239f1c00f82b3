//! `soak`: random scenarios for minutes or hours. It writes each finding as a reduced scenario
//! file.
//!
//!     soak [--minutes M | --scenarios N] [--seed S] [--first N] [--workers W] [--out DIR]

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command talks")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs};

use serde_json::Value as Json;
use soak::{Campaign, Finding, Report, campaign, reduced, written};

/// Scenarios between two looks at the clock.
const ROUND: u64 = 500;

struct Arguments {
    seed: u64,
    first: u64,
    scenarios: u64,
    time: Duration,
    workers: Option<std::num::NonZeroUsize>,
    out: PathBuf,
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(wrong) => {
            eprintln!("soak: {wrong}");
            return ExitCode::from(2);
        }
    };
    #[expect(clippy::disallowed_methods, reason = "the time that the user gives")]
    let start = Instant::now();
    let mut first = arguments.first;
    let last = first.saturating_add(arguments.scenarios);
    let mut all: Option<Report> = None;
    while first < last && start.elapsed() < arguments.time {
        let scenarios = ROUND.min(last - first);
        let (seed, workers) = (arguments.seed, arguments.workers);
        let round = Campaign { seed, first, scenarios, workers, wanted: None };
        let report = campaign(round, |number, _, run, finding| {
            eprintln!(
                "seed {seed}, scenario {number}, run {run}: {}: {}",
                finding.check, finding.detail
            );
        });
        for (number, json, run, finding) in &report.findings {
            keep(&arguments, *number, json, *run, finding);
        }
        let report = match all.take() {
            Some(before) => before.with(report),
            None => report,
        };
        first += scenarios;
        println!(
            "{:.0} s: {} scenarios, {} findings",
            start.elapsed().as_secs_f64(),
            report.drawn(),
            report.findings.len()
        );
        all = Some(report);
    }
    let Some(report) = all else { return ExitCode::SUCCESS };
    println!("{report}");
    if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes the reduced scenario of a finding.
fn keep(arguments: &Arguments, number: u64, json: &Json, run: u64, finding: &Finding) {
    let (json, finding) = reduced(json, run, finding);
    let name = format!("{}-{}-{number}.toml", finding.check.replace(' ', "-"), arguments.seed);
    let path = arguments.out.join(name);
    let head = format!(
        "# soak --seed {} --first {number} --scenarios 1\n# {}: {}\n",
        arguments.seed,
        finding.check,
        finding.detail.replace('\n', "\n# ")
    );
    let text = head + &written(&json, run);
    match fs::create_dir_all(&arguments.out).and_then(|()| fs::write(&path, text)) {
        Ok(()) => eprintln!("{}: {}: {}", path.display(), finding.check, finding.detail),
        Err(error) => eprintln!("cannot write {}: {error}", path.display()),
    }
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments {
        seed: 1,
        first: 0,
        scenarios: u64::MAX,
        time: Duration::MAX,
        workers: None,
        out: Path::new("out").join("soak"),
    };
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} requires a value"))?;
        let number =
            || value.parse::<u64>().map_err(|_| format!("{word} {value}: expected a number"));
        match word.as_str() {
            "--seed" => arguments.seed = number()?,
            "--first" => arguments.first = number()?,
            "--scenarios" => arguments.scenarios = number()?,
            "--minutes" => arguments.time = Duration::from_secs(60 * number()?),
            "--workers" => {
                let workers = usize::try_from(number()?).ok().and_then(std::num::NonZeroUsize::new);
                arguments.workers = workers;
            }
            "--out" => arguments.out = value.into(),
            _ => {
                let known = "--minutes, --scenarios, --seed, --first, --workers and --out";
                return Err(format!("{word}: expected one of {known}"));
            }
        }
    }
    Ok(arguments)
}
