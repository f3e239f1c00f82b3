//! The one door to the engine. STAND-IN: the parser, the simulator and the writers are being
//! written; until they are merged this file reads a few keys and makes totals up from the rate.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use ::recording::Recording;
use ::recording::{FlowRecord, LinkRecord};

/// A scenario file that cannot be right.
#[derive(Debug)]
pub struct LoadError {
    /// What is wrong and what was expected.
    pub message: String,
    /// The file.
    pub file: String,
    /// The line, counted from 1.
    pub line: Option<usize>,
}

/// An output folder that cannot be used.
pub type OutputError = std::io::Error;

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time in seconds.
    pub simulated_s: f64,
    /// Events so far.
    pub events: u64,
}

/// A loaded scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name.
    pub name: String,
    /// Upper bound of simulated time, in seconds.
    pub duration_s: f64,
    /// Seed when the caller names none.
    pub seed: u64,
    /// The file's text.
    pub text: String,
    controller: String,
}

/// Reads the scenario at `path` with the overrides `sets` (`path=value`).
pub fn load(path: &Path, sets: &[String]) -> Result<Scenario, LoadError> {
    let fail =
        |line, message: String| LoadError { message, file: path.display().to_string(), line };
    let text =
        fs::read_to_string(path).map_err(|error| fail(None, format!("cannot read: {error}")))?;
    let (mut name, mut duration_s, mut seed) = (String::new(), 1.0, 1);
    let mut controller = "newreno".to_owned();
    let lines = text.lines().enumerate().map(|(i, line)| (Some(i + 1), line));
    for (number, line) in lines.chain(sets.iter().map(|set| (None, set.as_str()))) {
        let Some((key, value)) = line.split_once('=') else { continue };
        let value = value.trim().trim_matches('"');
        let bad = |expected: &str| fail(number, format!("{}: expected {expected}", key.trim()));
        match key.trim() {
            "name" => value.clone_into(&mut name),
            "duration" => {
                let seconds = value.strip_suffix('s').and_then(|s| s.parse().ok());
                duration_s = seconds.ok_or_else(|| bad("a time, as \"10s\""))?;
            }
            "seed" => seed = value.parse().map_err(|_| bad("a whole number"))?,
            "controller" => {
                congestion::find(value).ok_or_else(|| bad("the name of a controller"))?;
                value.clone_into(&mut controller);
            }
            "between" | "rate" | "delay" | "from" | "to" | "traffic" | "transport" | "forward"
            | "backward" | "channel" | "interval" => {}
            _ => return Err(bad("a known key")),
        }
    }
    Ok(Scenario { name, duration_s, seed, text, controller })
}

/// Every default of a scenario, as text.
pub fn explain(scenario: &Scenario) -> String {
    format!("{scenario:#?}\n")
}

/// The JSON Schema of the scenario language.
pub fn schema() -> String {
    "{}".to_owned()
}

/// Runs a scenario until its end or until `observe` says no, which makes the recording partial.
pub fn run(scenario: &Scenario, seed: u64, mut observe: impl FnMut(Progress) -> bool) -> Recording {
    let mut progress = Progress { simulated_s: 0.0, events: 0 };
    let mut partial = false;
    while progress.simulated_s < scenario.duration_s && !partial {
        std::thread::sleep(Duration::from_millis(1));
        progress.simulated_s += 10.0;
        progress.events += 100_000;
        partial = !observe(progress);
    }
    let flow = FlowRecord {
        flow: "0".to_owned(),
        controller: scenario.controller.clone(),
        completed: !partial,
        bytes: 50_000_000,
        completion_s: (!partial).then_some(scenario.duration_s),
        goodput_bps: 4e8 / scenario.duration_s,
        ..FlowRecord::default()
    };
    let link =
        LinkRecord { link: "a-b".into(), direction: "forward".into(), ..LinkRecord::default() };
    Recording {
        scenario: scenario.name.clone(),
        bed: "simulator".to_owned(),
        seed,
        events: progress.events,
        simulated_s: progress.simulated_s.min(scenario.duration_s),
        partial,
        flows: vec![flow],
        links: vec![link],
        jain_index: Some(1.0),
        ..Recording::default()
    }
}

/// The folder that a run writes into.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
}

impl OutputFolder {
    /// Makes the folder and makes sure that it can be written.
    pub fn create(path: &Path, force: bool) -> Result<Self, OutputError> {
        if !force && path.join("recording.json").exists() {
            let message = format!("{} holds a recording already", path.display());
            return Err(OutputError::new(std::io::ErrorKind::AlreadyExists, message));
        }
        fs::create_dir_all(path)?;
        Ok(Self { path: path.to_owned() })
    }

    /// Writes a recording and the scenario that it came from.
    pub fn save(&self, recording: &Recording, scenario_text: &str) -> Result<(), OutputError> {
        fs::write(self.path.join("recording.json"), to_json(recording))?;
        fs::write(self.path.join("scenario.toml"), scenario_text)
    }
}

/// A recording as one JSON object.
pub fn to_json(recording: &Recording) -> String {
    serde_json::to_string(recording).unwrap_or_default()
}
