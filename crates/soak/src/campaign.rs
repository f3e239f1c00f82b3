//! Many examinations on all cores. Scenario number n of a seed is the same whatever came before it,
//! so that a message with both is enough to see a finding again.

use std::num::NonZeroUsize;
use std::panic;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use generate::{Coverage, Dice, Drawn, beam, drawn, repaired};
use scenario::Loaded;
use serde_json::Value as Json;

use crate::examination::{Examined, Finding, examine};

/// Of this number of scenarios one after the other, the last one has a beam.
const EACH_BEAM: u64 = 8;
const BEAM: u64 = EACH_BEAM - 1;

/// Pairs of tables that each scenario is to have.
pub const PAIRS_OF_EACH: u64 = 2;

/// A campaign: which scenarios, on how many threads.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// Seed of all scenarios.
    pub seed: u64,
    /// Number of the first scenario.
    pub first: u64,
    /// How many.
    pub scenarios: u64,
    /// Threads; by default one for each core.
    pub workers: Option<NonZeroUsize>,
    /// Pairs of tables that the scenarios shall have, two for each, one after the other; by default
    /// all of the schema.
    pub wanted: Option<Vec<[String; 2]>>,
}

/// Results of a campaign.
#[derive(Clone, Debug)]
pub struct Report {
    /// Scenarios that ran to their end.
    pub whole: u64,
    /// Scenarios that were stopped because they have too many events.
    pub long: u64,
    /// Documents that the language refuses.
    pub refused: u64,
    /// Keys and tables that the scenarios which ran to their end had.
    pub coverage: Coverage,
    /// Findings: number of the scenario, its document and its seed, and what was found.
    pub findings: Vec<(u64, Json, u64, Finding)>,
}

/// Scenario number `number` of the campaign with `seed`, with the tables `wanted`, and the seed of
/// its run. `None` if the language refuses it.
pub fn one(
    seed: u64,
    number: u64,
    wanted: &[String],
    schema: &Json,
) -> Option<(Json, Loaded, u64)> {
    let mut dice = Dice::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let json = match number % EACH_BEAM {
        BEAM => beam(&mut dice),
        _ => drawn(schema, wanted, &mut dice),
    };
    let (json, loaded) = repaired(json, schema, &mut dice)?;
    let run = dice.below(1 << 30) as u64;
    Some((json, loaded, run))
}

/// Runs a campaign. `on_finding` is called at once for each finding, from any thread.
pub fn campaign(
    campaign: Campaign,
    on_finding: impl Fn(u64, &Json, u64, &Finding) + Sync,
) -> Report {
    let schema = scenario::schema();
    let empty = Coverage::new(&schema);
    let report = Mutex::new(Report {
        whole: 0,
        long: 0,
        refused: 0,
        coverage: empty.clone(),
        findings: Vec::new(),
    });
    // A panic is a finding with its text, and needs no trace on stderr for each.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let workers = campaign.workers.or_else(|| thread::available_parallelism().ok());
    let workers = workers.map_or(1, NonZeroUsize::get);
    let pairs = campaign.wanted.unwrap_or_else(|| empty.shuffled_pairs(campaign.seed));
    let wanted = |number: u64| -> Vec<String> {
        let first = number.wrapping_mul(PAIRS_OF_EACH) as usize;
        let all = (0..PAIRS_OF_EACH as usize).map(|i| &pairs[(first + i) % pairs.len()]);
        all.flatten().cloned().collect()
    };
    let next = AtomicU64::new(campaign.first);
    let end = campaign.first + campaign.scenarios;
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= end {
                return;
            }
            let Some((json, loaded, run)) = one(campaign.seed, number, &wanted(number), &schema)
            else {
                lock(&report).refused += 1;
                continue;
            };
            let outcome = examine(&loaded, run, None);
            let mut report = lock(&report);
            match outcome {
                Ok(Examined::Whole) => {
                    report.whole += 1;
                    // Beams are not part of the coverage.
                    if json.get("beam").is_none() {
                        report.coverage.count(&Drawn::of(json, &schema));
                    }
                }
                Ok(Examined::Long) => report.long += 1,
                Err(finding) => {
                    on_finding(number, &json, run, &finding);
                    report.findings.push((number, json, run, finding));
                }
            }
        }
    };
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    panic::set_hook(hook);
    let mut report = report.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    report.findings.sort_by_key(|(number, ..)| *number);
    report
}

fn lock(report: &Mutex<Report>) -> std::sync::MutexGuard<'_, Report> {
    report.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Report {
    /// Both reports together.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.whole += other.whole;
        self.long += other.long;
        self.refused += other.refused;
        self.coverage.add(&other.coverage);
        self.findings.extend(other.findings);
        self
    }

    /// Scenarios drawn.
    pub fn drawn(&self) -> u64 {
        self.whole + self.long + self.refused + self.findings.len() as u64
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let missing = self.coverage.missing_keys();
        let pairs = self.coverage.missing_pairs();
        writeln!(
            f,
            "{} scenarios: {} ran to their end, {} were too long, {} refused, {} findings",
            self.drawn(),
            self.whole,
            self.long,
            self.refused,
            self.findings.len()
        )?;
        let keys = self.coverage.keys.len();
        write!(
            f,
            "{} of {keys} keys, {} tables, {} of {} pairs of tables",
            keys - missing.len(),
            self.coverage.tables.len(),
            self.coverage.pairs() - pairs.len(),
            self.coverage.pairs()
        )?;
        if !missing.is_empty() {
            write!(f, "\nkeys that no scenario had: {}", missing.join(", "))?;
        }
        for [first, second] in pairs.iter().take(20) {
            write!(f, "\nno scenario had both {first} and {second}")?;
        }
        Ok(())
    }
}
