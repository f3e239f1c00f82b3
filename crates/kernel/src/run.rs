//! One run: hosts are set up, the emulator and the applications work side by side, a recording
//! comes out, and nothing is left.

use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use bed::link_records;
use recording::{KernelRecord, RateRecord, Recording, SettingRecord, jain_index};
use scenario::Scenario;
use scenario::model::Direction;

use crate::capture;
use crate::clock::Clock;
use crate::emulator::{Emulated, Emulator, Port};
use crate::error::{Doing, KernelError};
use crate::namespace::Namespace;
use crate::plan::{self, Plan};
use crate::quality::{RateMeter, TOLERANCE};
use crate::traffic::{self, Carried};
use crate::{hosts, interface};

/// How often the caller is told how far the run is.
const REPORT: Duration = Duration::from_millis(50);

/// What a caller may ask of a run besides its result.
#[derive(Default)]
pub struct Options<'a> {
    /// Called now and then with the share of the time that is over; the run stops, marked as
    /// partial, when it returns `false`.
    pub progress: Option<&'a mut dyn FnMut(f64) -> bool>,
    /// Where the packets go, as pcapng.
    pub capture: Option<&'a mut (dyn Write + Send)>,
}

/// Runs `scenario` with `seed`, which decides what links damage. The result depends on this machine
/// as well.
///
/// # Errors
/// When the machine lacks what it takes, or the kernel cannot do what the scenario asks for.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    options: Options<'_>,
) -> Result<Recording, KernelError> {
    let plan = plan::plan(scenario, &controllers()?).map_err(KernelError::Refused)?;
    let (namespaces, mut ports) = hosts::set_up(&plan.hosts)?;
    meter_last_hops(scenario, &mut ports);
    let (send, receive) = mpsc::channel();
    let capture = options.capture.is_some().then_some(send);
    let topology = bed::topology(scenario, seed);
    let interval = scenario.record.interval;
    let clock = Clock::start();
    let emulator = Emulator::new(clock, topology, ports, interval, capture);
    let mut progress = options.progress;

    let (stop_emulator, stop) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let (plan, namespaces) = (&plan, &namespaces);

    let (carried, emulated, captured) = thread::scope(|scope| {
        let emulating = scope.spawn(move || emulator.run(stop_emulator));
        let writing = options
            .capture
            .map(|sink| scope.spawn(move || capture::write(sink, plan, &receive)));
        let (done, over) = mpsc::channel::<()>();
        let carrying = scope.spawn(move || {
            let _done = done; // closes its channel however the thread ends
            traffic::carry(scenario, plan, namespaces, clock, stop)
        });
        while over.recv_timeout(REPORT) == Err(RecvTimeoutError::Timeout) {
            let share = clock.now().as_secs_f64() / scenario.duration.as_secs_f64();
            if progress.as_mut().is_some_and(|heard| !heard(share.min(1.0))) {
                stop.store(true, Ordering::Relaxed);
            }
            if emulating.is_finished() {
                stop.store(true, Ordering::Relaxed); // it only ends early when it fails
            }
        }
        let carried = joined(carrying.join());
        stop_emulator.store(true, Ordering::Relaxed);
        let emulated = joined(emulating.join());
        (carried, emulated, writing.map(|thread| joined(thread.join())))
    });
    let emulated = emulated.doing(|| "carry packets".to_owned())?;
    captured.unwrap_or(Ok(()))?;
    let lost = losses(namespaces)?;
    Ok(record(scenario, seed, plan, carried?, emulated, lost))
}

/// The controllers that are loaded. Others are not asked for: the kernel would load a module then.
fn controllers() -> Result<Vec<String>, KernelError> {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let names = fs::read_to_string(path).doing(|| format!("read {path}"))?;
    Ok(names.split_whitespace().map(str::to_owned).collect())
}

/// Each host with only one link in has its rate measured.
fn meter_last_hops(scenario: &Scenario, ports: &mut [Port]) {
    for port in ports {
        let node = usize::from(port.node.0);
        let mut into = directions(scenario).filter(|(_, _, to)| *to == node);
        if let (Some((lane, direction, _)), None) = (into.next(), into.next()) {
            let framing = direction.framing.get() as u32;
            port.meter = Some(RateMeter::new(lane, direction.rate, framing));
        }
    }
}

/// The directions of all links with the numbers of their lanes and of the nodes they lead to.
fn directions(scenario: &Scenario) -> impl Iterator<Item = (usize, &Direction, usize)> {
    scenario.links.iter().enumerate().flat_map(|(number, link)| {
        [(2 * number, &link.forward, link.ends[1]), (2 * number + 1, &link.backward, link.ends[0])]
    })
}

/// Packets that the interfaces of all hosts lost.
fn losses(namespaces: &[Namespace]) -> Result<u64, KernelError> {
    let mut lost = 0;
    for namespace in namespaces {
        let counted = namespace.inside(interface::losses);
        lost += counted.doing(|| "read the counters of an interface".to_owned())?;
    }
    Ok(lost)
}

fn joined<T>(outcome: thread::Result<T>) -> T {
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn record(
    scenario: &Scenario,
    seed: u64,
    plan: &Plan,
    carried: Carried,
    emulated: Emulated,
    lost: u64,
) -> Recording {
    let links = link_records(scenario, carried.end, &emulated.lanes);
    let settings = settings(scenario, plan, &carried.windows);
    Recording {
        scenario: scenario.name.clone(),
        bed: "kernel".to_owned(),
        seed,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        wall_s: carried.end.as_secs_f64(),
        simulated_s: carried.end.as_secs_f64(),
        events: emulated.events,
        packet_hops: emulated.hops,
        partial: !carried.complete,
        jain_index: jain_index(carried.flows.iter().map(|flow| flow.goodput_bps)),
        flows: carried.flows,
        kernel: Some(kernel_record(&emulated, lost, &links, settings)),
        links,
        flow_series: carried.series,
        link_series: emulated.links,
    }
}

fn kernel_record(
    emulated: &Emulated,
    lost: u64,
    links: &[recording::LinkRecord],
    settings: Vec<SettingRecord>,
) -> KernelRecord {
    let lateness = &emulated.lateness;
    let p99 = lateness.percentile(99);
    let lost_packets = emulated.lost + lost;
    let meters = emulated.ports.iter().filter_map(|port| port.meter.as_ref());
    KernelRecord {
        release: rustix::system::uname().release().to_string_lossy().into_owned(),
        valid: p99 <= TOLERANCE && lost_packets == 0,
        tolerance_ms: TOLERANCE.as_millis_f64(),
        timed_packets: lateness.count(),
        delay_error_p50_ms: lateness.percentile(50).as_millis_f64(),
        delay_error_p99_ms: p99.as_millis_f64(),
        delay_error_max_ms: lateness.max().as_millis_f64(),
        lost_packets,
        stray_packets: emulated.strays,
        rates: meters
            .map(|meter| RateRecord {
                link: links[meter.lane].link.clone(),
                direction: links[meter.lane].direction.clone(),
                configured_bps: meter.configured_bps(),
                achieved_bps: meter.achieved_bps(),
            })
            .collect(),
        settings,
    }
}

/// What became of the settings, with the windows that receivers really advertised.
fn settings(scenario: &Scenario, plan: &Plan, windows: &[u32]) -> Vec<SettingRecord> {
    let mut settings = plan.settings.clone();
    for setting in settings.iter_mut().filter(|s| s.setting == "transport.receive_buffer") {
        let flow = scenario.flows.iter().position(|flow| flow.name == setting.flow);
        if let Some(window) = flow.and_then(|flow| windows.get(flow)) {
            setting.kernel.push_str(&format!("; the largest was {window}B"));
        }
    }
    settings
}
