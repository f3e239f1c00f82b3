//! The examination of one scenario.

use std::panic::{AssertUnwindSafe, catch_unwind};

use explain::{Explanation, WarningKind, explain};
use recording::{OutputFolder, Recording, load};
use scenario::model::Traffic;
use scenario::{Loaded, Scenario};
use simulator::{Observed, Options, Progress, SeedUse};
use units::Span;

use crate::conservation::Ledger;
use crate::fault::Fault;
use crate::invariants::broken;

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The check that failed: reductions keep it.
    pub check: &'static str,
    /// Details.
    pub detail: String,
}

/// Outcome of an examination without a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Examined {
    /// It ran to the end, and everything was examined.
    Whole,
    /// It has more events than an examination takes, and was stopped.
    Long,
}

/// Examines `loaded` with `seed`. `fault` spoils one of the steps.
///
/// # Errors
/// The first finding.
pub fn examine(loaded: &Loaded, seed: u64, fault: Option<Fault>) -> Result<Examined, Finding> {
    let examination = AssertUnwindSafe(|| steps(loaded, seed, fault));
    catch_unwind(examination).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Finding { check: "panic", detail: text.unwrap_or_default() })
    })
}

fn steps(loaded: &Loaded, seed: u64, fault: Option<Fault>) -> Result<Examined, Finding> {
    let scenario = &loaded.scenario;
    let explanation = explain(scenario, &loaded.written);
    let text = explanation.to_string();
    require("explanation", !text.contains("NaN"), || text.clone())?;
    let Some((recording, seeds)) = run(scenario, seed, fault) else { return Ok(Examined::Long) };
    let most = &explanation.recording;
    let pages = recording.flows.iter().flat_map(|flow| &flow.pages);
    let objects = pages.map(|page| page.objects.len()).sum();
    let rows = [
        // Rows of events are an estimate.
        (recording.flow_series.len(), most.flow_series_rows, !scenario.record.events),
        (recording.link_series.len(), most.link_series_rows, true),
        // Times of sessions are drawn, so their number has no bound.
        (objects, most.object_rows, scenario.flows.iter().all(|flow| flow.sessions.is_none())),
    ];
    for (rows, most, is_bound) in rows {
        require("rows", !is_bound || rows as u64 <= most, || format!("{rows} of at most {most}"))?;
    }
    broken(scenario, &recording)
        .map_or(Ok(()), |detail| Err(Finding { check: "invariant", detail }))?;

    bounded(loaded, &explanation, &recording, fault)?;
    fixed(&explanation, &seeds, seed, fault)?;

    let slow = changed(scenario, fault == Some(Fault::OracleSeesLongerDelay));
    let mut slow = simulator::run_on_reference(&slow, seed, Options::default());
    fault.inspect(|fault| fault.spoil(&mut slow));
    // Frames of ARQ wait in the fast engine, which looks at them each time that a short timer
    // expires.
    let has_arq = scenario
        .links
        .iter()
        .any(|link| [&link.forward, &link.backward].iter().any(|one| one.arq.is_some()));
    // A sample starts the transmissions that are due. The reference engine has no event for them
    // then, and the fast one keeps its own.
    let sampled = recording.link_series.len() as u64;
    let is_faster = has_arq || slow.events + sampled >= recording.events;
    require("reference", is_faster, || "it has fewer events".into())?;
    slow.events = recording.events;
    equal("reference", &recording, &slow)?;

    let again = changed(scenario, fault == Some(Fault::SecondRunDiffers));
    let mut ledger = Ledger::new(scenario);
    let mut enter = |observed: &Observed<'_>| ledger.enter(observed);
    let observer: Option<&mut simulator::Observer<'_>> = Some(&mut enter);
    let watched = changed(scenario, fault == Some(Fault::ObserverDisturbs));
    let mut observed = simulator::run(&watched, seed, Options { observer, ..Options::default() });
    fault.inspect(|fault| fault.spoil(&mut observed));
    equal("observed", &recording, &observed)?;
    let imbalance = ledger.imbalance(scenario, &recording);
    imbalance.map_or(Ok(()), |detail| Err(Finding { check: "conservation", detail }))?;
    // Another seed must give the same, where nothing is said to depend on it.
    let next = seed.wrapping_add(1);
    let is_same = seeds.gives_same_run(next) || fault == Some(Fault::SeedUseMissed);
    if let Some((mut second, _)) = run(&again, if is_same { next } else { seed }, fault) {
        second.seed = seed;
        equal("second run", &recording, &second)?;
    }
    saved(loaded, &recording, fault)?;
    Ok(Examined::Whole)
}

/// Nothing of what the explanation rules out has happened: more data than the bounds of a flow, or
/// a transfer that cannot complete and does.
fn bounded(
    loaded: &Loaded,
    explanation: &Explanation,
    recording: &Recording,
    fault: Option<Fault>,
) -> Result<(), Finding> {
    const CHECK: &str = "bound";
    let flows = loaded.scenario.flows.iter().zip(&recording.flows).enumerate();
    // The first flow of each entry is the one that is explained.
    let mut entries: Vec<_> = loaded.written.entries.iter().enumerate().collect();
    entries.dedup_by_key(|(_, entry)| **entry);
    let firsts = flows.filter(|(number, _)| entries.iter().any(|(first, _)| first == number));
    for ((_, (flow, found)), explained) in firsts.zip(&explanation.flows) {
        let share = if fault == Some(Fault::BoundTooLow) { 1e-3 } else { 1.0 };
        let most = share * explained.figures.bounds.bytes();
        // A speed test sends the other way, too.
        let counts = explained.figures.has_window && !matches!(flow.traffic, Traffic::Speedtest(_));
        let holds = !counts || found.bytes as f64 <= most;
        require(CHECK, holds, || format!("{}: {} of at most {most}", flow.name, found.bytes))?;
        let cannot = explanation.warnings.iter().any(|warning| {
            warning.kind == WarningKind::CannotComplete && warning.subject == explained.name
        });
        require(CHECK, !(cannot && found.completed), || format!("{} completes", flow.name))?;
    }
    Ok(())
}

/// A scenario that is said to have nothing random gives the same with other seeds.
fn fixed(
    explanation: &Explanation,
    seeds: &SeedUse,
    seed: u64,
    fault: Option<Fault>,
) -> Result<(), Finding> {
    let mut warnings = explanation.warnings.iter();
    let is_said = warnings.any(|warning| warning.kind == WarningKind::NothingRandom);
    let is_fixed = is_said || fault == Some(Fault::SaidToBeFixed);
    let holds = !is_fixed || seeds.gives_same_run(seed.wrapping_add(1));
    require("nothing random", holds, || "the run draws from its seed".into())
}

/// Runs it; `None` if it takes more events than the first report of progress.
fn run(scenario: &Scenario, seed: u64, fault: Option<Fault>) -> Option<(Recording, SeedUse)> {
    let mut stop = |_: &Progress| false;
    let options = Options { progress: Some(&mut stop), ..Options::default() };
    let (mut recording, seeds) = simulator::run_with_seed_use(scenario, seed, options);
    fault.inspect(|fault| fault.spoil(&mut recording));
    (!recording.partial).then_some((recording, seeds))
}

/// The scenario with a delay that is a microsecond longer, if it is to be another.
fn changed(scenario: &Scenario, is_other: bool) -> Scenario {
    let mut scenario = scenario.clone();
    if is_other {
        for link in &mut scenario.links {
            link.forward.delay = link.forward.delay + Span::from_nanos(1000);
        }
    }
    scenario
}

fn require(
    check: &'static str,
    holds: bool,
    detail: impl FnOnce() -> String,
) -> Result<(), Finding> {
    if holds { Ok(()) } else { Err(Finding { check, detail: detail() }) }
}

fn equal(check: &'static str, first: &Recording, second: &Recording) -> Result<(), Finding> {
    require(check, first.digest() == second.digest(), || difference(first, second))
}

/// The first lines of totals that differ.
fn difference(first: &Recording, second: &Recording) -> String {
    let [one, other] = [first, second].map(Recording::to_json_pretty);
    let pairs = one.lines().zip(other.lines()).filter(|(a, b)| a != b && !a.contains("wall_s"));
    let lines: Vec<_> =
        pairs.take(3).map(|(a, b)| format!("{} | {}", a.trim(), b.trim())).collect();
    if lines.is_empty() { "series differ".into() } else { lines.join("; ") }
}

/// Saves the recording, and reads it and its scenario again.
fn saved(loaded: &Loaded, recording: &Recording, fault: Option<Fault>) -> Result<(), Finding> {
    const CHECK: &str = "saved";
    let failed =
        |error: &dyn std::fmt::Display| Finding { check: CHECK, detail: error.to_string() };
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    let packed = loaded.given.packed(&loaded.scenario, recording.seed);
    let mut kept = recording.clone();
    match fault {
        Some(Fault::SavedWithoutLastRow) => {
            kept.links.pop();
        }
        Some(Fault::SavedWithFewerDigits) => {
            kept.flows[0].throughput_bps = f64::from(kept.flows[0].throughput_bps as f32);
        }
        _ => {}
    }
    let path = folder.path().join("out");
    let output = OutputFolder::create(&path, false).map_err(|error| failed(&error))?;
    output.save(&kept, &packed.text, &packed.files).map_err(|error| failed(&error))?;
    let read = load(&path).map_err(|error| failed(&error))?;
    equal(CHECK, recording, &read)?;
    let again = Loaded::load(path.join("scenario.toml"), &[]).map_err(|error| failed(&error))?;
    let warnings = explain(&again.scenario, &again.written).warnings;
    // That nothing is random is about the scenario as a whole.
    let mut unplaced = warnings.iter().filter(|warning| {
        warning.place.line.is_none() && warning.kind != WarningKind::NothingRandom
    });
    let without_line = unplaced.next().map(ToString::to_string);
    require("place of a warning", without_line.is_none(), || without_line.unwrap_or_default())?;
    // Files are called otherwise in the folder.
    let same = packed.files.is_empty().then(|| {
        format!("{:?}", again.scenario.flows) == format!("{:?}", loaded.scenario.flows)
            && format!("{:?}", again.scenario.links) == format!("{:?}", loaded.scenario.links)
    });
    require(CHECK, same != Some(false), || "the saved scenario is another".into())
}
