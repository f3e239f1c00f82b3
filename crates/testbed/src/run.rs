//! One run of a scenario on the kernel, with a recording as its result.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use link::Seed;
use quic::Logs;
use recording::{Backend, KernelRecord, Recording, SettingRecord, jain_index};
use runtime::{beam_tables, link_records, link_tables, trace_table};
use scenario::Scenario;

use crate::capture;
use crate::error::KernelError;
use crate::lab::{Emulation, Lab, joined, with_network};
use crate::options::Options;
use crate::plan::{self, Plan};
use crate::settings::Kernel;
use crate::traffic::{self, Carried};

/// Interval of progress reports to the caller.
const REPORT: Duration = Duration::from_millis(50);

/// Runs `scenario` with `seed`, which determines the errors of links. The result also depends on
/// this machine.
///
/// # Errors
/// If the machine lacks something, or the kernel cannot apply the settings of the scenario.
pub fn run(scenario: &Scenario, seed: u64, options: Options<'_>) -> Result<Recording, KernelError> {
    let Options { mut progress, capture, logs, proxy } = options;
    let plan = &plan::plan(scenario, &Kernel::running()?).map_err(KernelError::Refused)?;
    let (seen, packets) = mpsc::channel();
    let seen = capture.is_some().then_some(seen);
    let (written, outcome) = thread::scope(|scope| {
        let writing = capture.map(|sink| scope.spawn(move || capture::write(sink, plan, &packets)));
        let outcome = with_network(scenario, seed, plan, seen, proxy, |lab| {
            carry(scenario, seed, lab, &logs, progress.as_mut())
        });
        (writing.map_or(Ok(()), |thread| joined(thread.join())), outcome)
    });
    let (carried, emulation) = outcome?;
    let recording = record(scenario, seed, plan, carried, emulation);
    match written {
        Ok(()) => Ok(recording),
        Err(source) => Err(KernelError::Capture { source, recording: Box::new(recording) }),
    }
}

/// Lets the applications work in a thread of their own, and reports progress to the caller.
fn carry(
    scenario: &Scenario,
    seed: u64,
    lab: &Lab<'_>,
    logs: &Logs,
    mut progress: Option<&mut &mut dyn FnMut(f64) -> bool>,
) -> Result<Carried, KernelError> {
    let stop = &AtomicBool::new(false);
    let (done, over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let carrying = scope.spawn(move || {
            let _done = done; // closes its channel however the thread ends
            traffic::carry(scenario, seed, lab, logs, stop)
        });
        while over.recv_timeout(REPORT) == Err(RecvTimeoutError::Timeout) {
            let share = lab.clock.now().as_secs_f64() / scenario.duration.as_secs_f64();
            let goes_on = progress.as_mut().is_none_or(|heard| heard(share.min(1.0)));
            if !goes_on || lab.is_broken() {
                stop.store(true, Ordering::Relaxed);
            }
        }
        joined(carrying.join())
    })
}

fn record(
    scenario: &Scenario,
    seed: u64,
    plan: &Plan,
    carried: Carried,
    mut emulation: Emulation,
) -> Recording {
    let emulated = &emulation.emulated;
    let links = link_records(scenario, carried.end, &emulated.outputs, &emulated.queues);
    let settings = settings(scenario, plan, &carried.windows);
    let mut tables = link_tables(scenario, carried.end, &emulated.outputs, &emulated.nodes);
    let traces = trace_table(scenario, &Seed::new(seed), &emulated.outputs);
    let samples = std::mem::take(&mut emulation.emulated.links);
    tables.extend(samples.tables);
    tables.append(&mut emulation.emulated.series);
    tables.extend(beam_tables(scenario, carried.end, &emulation.emulated.beams));
    tables.extend(carried.legs);
    tables.extend(carried.applications);
    tables.extend(carried.limits.into_table());
    tables.extend(traces);
    Recording {
        scenario: scenario.name.clone(),
        backend: Backend::Kernel,
        seed,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        wall_s: carried.end.as_secs_f64(),
        simulated_s: carried.end.as_secs_f64(),
        events: emulation.emulated.events,
        packet_hops: emulation.emulated.hops,
        partial: !carried.complete,
        jain_index: jain_index(carried.flows.iter().map(|flow| flow.goodput_bps)),
        flows: carried.flows,
        kernel: Some(KernelRecord {
            settings,
            ..emulation.quality(scenario.delay_tolerance, &links)
        }),
        links,
        flow_series: carried.series,
        link_series: samples.series,
        tables,
    }
}

/// Verdicts on the settings, with the windows that receivers really advertised.
fn settings(scenario: &Scenario, plan: &Plan, windows: &[u32]) -> Vec<SettingRecord> {
    let mut settings = plan.settings.clone();
    for setting in settings.iter_mut().filter(|s| s.setting == "transport.receive_buffer") {
        let flow = scenario.flows.iter().position(|flow| flow.name == setting.flow);
        if let Some(window) = flow.and_then(|flow| windows.get(flow)) {
            setting.largest_window_bytes = Some(u64::from(*window));
        }
    }
    settings
}
