//! The hosts of a scenario and the network between them, for the duration of a run or a shell.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;

use recording::{KernelRecord, LinkRecord, RateRecord};
use scenario::Scenario;
use scenario::model::Direction;
use units::Span;

use crate::clock::Clock;
use crate::daemon::Daemons;
use crate::emulator::{Capturing, Emulated, Emulator, Port, Seen};
use crate::error::{Doing, KernelError};
use crate::namespace::Namespace;
use crate::plan::Plan;
use crate::quality::RateMeter;
use crate::tunnel::Tunnels;
use crate::{hosts, interface};

/// The hosts, while the network carries packets between them.
pub(crate) struct Lab<'a> {
    pub(crate) plan: &'a Plan,
    /// In the order of the plan's hosts.
    pub(crate) namespaces: &'a [Namespace],
    pub(crate) clock: Clock,
    broken: &'a AtomicBool,
}

impl Lab<'_> {
    /// Returns true if packets are no longer carried, because the emulator failed or a proxy ended.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

/// Results of the network.
#[derive(Debug)]
pub(crate) struct Emulation {
    pub(crate) emulated: Emulated,
    /// Packets that the interfaces of hosts lost.
    lost: u64,
}

impl Emulation {
    /// How well the network was emulated. The settings are left empty.
    pub(crate) fn quality(&self, tolerance: Span, links: &[LinkRecord]) -> KernelRecord {
        let lateness = &self.emulated.lateness;
        let p99 = lateness.percentile(99);
        let lost_packets = self.emulated.lost + self.lost;
        let meters = self.emulated.ports.iter().filter_map(|port| port.meter.as_ref());
        KernelRecord {
            release: rustix::system::uname().release().to_string_lossy().into_owned(),
            valid: p99 <= tolerance && lost_packets == 0,
            tolerance_ms: tolerance.as_millis_f64(),
            timed_packets: lateness.count(),
            delay_error_p50_ms: lateness.percentile(50).as_millis_f64(),
            delay_error_p99_ms: p99.as_millis_f64(),
            delay_error_max_ms: lateness.max().as_millis_f64(),
            lost_packets,
            stray_packets: self.emulated.strays,
            rates: meters
                .map(|meter| RateRecord {
                    link: links[meter.output].link.clone(),
                    direction: links[meter.output].direction.clone(),
                    configured_bps: meter.configured_bps(),
                    achieved_bps: meter.achieved_bps(),
                })
                .collect(),
            settings: Vec::new(),
        }
    }
}

/// Sets up hosts, lets `work` happen while the network carries their packets, and leaves nothing.
/// `proxy` is the program of split proxies.
pub(crate) fn with_network<T>(
    scenario: &Scenario,
    seed: u64,
    plan: &Plan,
    capture: Option<Sender<Seen>>,
    proxy: Option<&Path>,
    work: impl FnOnce(&Lab<'_>) -> Result<T, KernelError>,
) -> Result<(T, Emulation), KernelError> {
    let (namespaces, mut ports) = hosts::set_up(&plan.hosts, plan.ip)?;
    meter_last_hops(scenario, &mut ports);
    let (stop, broken) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let (worked, emulated) = thread::scope(|scope| {
        let daemons = Daemons::start(scope, plan, &namespaces, proxy, broken)?;
        let tunnels = Tunnels::start(scope, plan, &namespaces)?;
        let clock = Clock::start();
        let capture = capture.map(|packets| Capturing { packets, snaplen: plan.snaplen().into() });
        let emulator = Emulator::new(clock, scenario, seed, ports, capture);
        let emulating = scope.spawn(move || {
            let emulated = emulator.run(stop);
            broken.store(emulated.is_err(), Ordering::Relaxed);
            emulated
        });
        // A panic of the work, too, must end the other threads: the scope waits for them.
        let stopping = StopOnDrop(stop);
        let worked = work(&Lab { plan, namespaces: &namespaces, clock, broken });
        drop(stopping);
        drop(tunnels);
        let emulated = joined(emulating.join());
        // Its end is why the work failed.
        daemons.stop()?;
        Ok::<_, KernelError>((worked, emulated))
    })?;
    let emulated = emulated.doing(|| "carry packets".to_owned())?;
    let lost = losses(&namespaces)?;
    Ok((worked?, Emulation { emulated, lost }))
}

/// Stops the network when it goes out of scope.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Each host with only one link in has its rate measured, if that is one for the whole run and
/// packets come as they are sent.
fn meter_last_hops(scenario: &Scenario, ports: &mut [Port]) {
    for port in ports {
        let node = usize::from(port.node.0);
        let mut into = directions(scenario).filter(|(_, _, to)| *to == node);
        if let (Some((output, direction, _)), None) = (into.next(), into.next())
            && direction.changes().next().is_none()
            && direction.arq.is_none()
            && direction.fec.is_none()
            && scenario.links[output / 2].header_compression[output % 2].is_none()
        {
            port.meter = Some(RateMeter::new(output, direction.rate, direction.framing));
        }
    }
}

/// The directions of all links with the numbers of their output ports and of the nodes they lead
/// to.
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

/// Result of a thread; its panic goes on here.
pub(crate) fn joined<T>(outcome: thread::Result<T>) -> T {
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests;
