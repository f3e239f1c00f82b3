//! Programs on the hosts of a scenario, which reach each other by name.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use link::Seed;
use runtime::{address, link_records, link_tables, trace_table};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::thread::UnshareFlags;
use scenario::Scenario;
use wire::IpVersion;

use crate::error::{Doing, KernelError, Refusal};
use crate::lab::{Lab, joined, with_network};
use crate::options::{Program, Ran};
use crate::plan;
use crate::programs;
use crate::settings::Kernel;
use crate::sys;

/// Exit status of a program that a signal ended, as in shells: this plus the number of the signal.
const BY_SIGNAL: i32 = 128;
/// How often it is looked whether a program has ended.
const LOOK: Duration = Duration::from_millis(20);
/// Where names are looked up before anybody is asked (hosts(5)).
const NAMES: &str = "/etc/hosts";
/// Which name servers are asked (resolv.conf(5)).
const RESOLVER: &str = "/etc/resolv.conf";
/// Without a line, that is this host, on which none listens: a name that no host has is answered at
/// once. The machine's own would be asked across the link, where none is, for ten seconds.
const NO_NAME_SERVER: &str = "# There is no name server in this network.\n";

/// Runs `program` until it ends, with `servers` on other hosts, which end with it.
///
/// # Errors
/// When there is no such host or program, and for the reasons of [`crate::run()`].
pub fn shell(
    scenario: &Scenario,
    seed: u64,
    program: &Program,
    servers: &[Program],
) -> Result<Ran, KernelError> {
    shell_through(scenario, seed, program, servers, None)
}

/// As [`shell`], of a scenario that may have split proxies: `proxy` is the program
/// `bentpipe-proxy`.
///
/// # Errors
/// Those of [`shell`].
pub fn shell_through(
    scenario: &Scenario,
    seed: u64,
    program: &Program,
    servers: &[Program],
    proxy: Option<&Path>,
) -> Result<Ran, KernelError> {
    let plan = plan::plan_without_flows(scenario, &Kernel::running()?);
    let plan = plan.map_err(KernelError::Refused)?;
    let receiver = &scenario.nodes[scenario.flows[0].to].name;
    let host = |program: &Program| -> Result<usize, KernelError> {
        let name = program.host.as_ref().unwrap_or(receiver);
        let name_of = |host: &plan::Host| &scenario.nodes[usize::from(host.node)].name;
        plan.hosts.iter().position(|host| name_of(host) == name).ok_or_else(|| {
            let names: Vec<_> = plan.hosts.iter().map(|host| name_of(host).as_str()).collect();
            KernelError::Refused(vec![Refusal {
                place: "the host of a program".to_owned(),
                asked: format!("{name:?}"),
                possible: format!("an end of a flow, or a proxy: {}", names.join(", ")),
                key: None,
            }])
        })
    };
    let servers: Vec<_> = servers
        .iter()
        .map(|server| Ok((host(server)?, server)))
        .collect::<Result<_, KernelError>>()?;
    let on = host(program)?;
    let names = names(scenario, &plan);
    let ((status, end), emulation) = with_network(scenario, seed, &plan, None, proxy, |lab| {
        programs::set_defaults(&plan, lab.namespaces)?;
        thread::scope(|scope| {
            let mut serving = Vec::new();
            let mut all_started = true;
            for (on, server) in servers {
                let (stop, stopped) = mpsc::channel::<()>();
                let (tell, started) = mpsc::channel();
                let names = &names;
                let thread = scope.spawn(move || -> Result<(), KernelError> {
                    let mut child = spawn(lab, on, &server.command, names, Group::Own)?;
                    let _ = tell.send(());
                    serve(&mut child, &stopped)
                });
                serving.push((thread, stop));
                all_started &= started.recv().is_ok();
            }
            let status = all_started.then(|| {
                let main = scope.spawn(|| {
                    let mut child = spawn(lab, on, &program.command, &names, Group::Shared)?;
                    wait(&mut child, lab)
                });
                joined(main.join())
            });
            for (thread, stop) in serving {
                drop(stop);
                joined(thread.join())?;
            }
            Ok((status.transpose()?.unwrap_or_default(), lab.clock.now()))
        })
    })?;
    let emulated = &emulation.emulated;
    let links = link_records(scenario, end, &emulated.outputs, &emulated.queues);
    let mut tables = link_tables(scenario, end, &emulated.outputs, &emulated.nodes);
    tables.extend(trace_table(scenario, &Seed::new(seed), &emulated.outputs));
    Ok(Ran { status, kernel: emulation.quality(scenario.delay_tolerance, &links), links, tables })
}

/// Content of the file of names: the machine's own names, and those of the hosts.
fn names(scenario: &Scenario, plan: &plan::Plan) -> String {
    let hosts = plan.hosts.iter().map(|host| {
        format!("{} {}\n", address(host.node, plan.ip), scenario.nodes[usize::from(host.node)].name)
    });
    // Where IPv6 is off, `::1` is no address of the host.
    let own = match plan.ip {
        IpVersion::V4 => "127.0.0.1 localhost\n",
        IpVersion::V6 => "127.0.0.1 localhost\n::1 localhost\n",
    };
    format!("{own}{}", hosts.collect::<String>())
}

/// Signals of the terminal for a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Shared,
    /// It and what it starts can be ended together.
    Own,
}

/// Starts a program on a host. The thread must outlive it: it dies with its thread.
fn spawn(
    lab: &Lab<'_>,
    host: usize,
    command: &[OsString],
    names: &str,
    group: Group,
) -> Result<Child, KernelError> {
    lab.namespaces[host].enter()?;
    name_hosts(names).doing(|| format!("name the hosts in {NAMES}"))?;
    let (name, arguments) =
        command.split_first().ok_or_else(|| KernelError::Missing("a program to run".to_owned()))?;
    let mut command = Command::new(name);
    command.args(arguments);
    if group == Group::Own {
        command.process_group(0);
    }
    sys::die_with_thread(&mut command);
    command.spawn().doing(|| format!("start {}", name.display()))
}

/// Lays a file with the names over the machine's, and one without name servers, for the calling
/// thread and what it starts. The files are in memory, on a file system that nobody else sees.
fn name_hosts(names: &str) -> io::Result<()> {
    sys::unshare(UnshareFlags::NEWNS)?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let folder = std::env::temp_dir();
    mount("bentpipe", &folder, "tmpfs", MountFlags::empty(), None)?;
    for (name, place, content) in
        [("hosts", NAMES, names), ("resolv.conf", RESOLVER, NO_NAME_SERVER)]
    {
        let file = folder.join(name);
        fs::write(&file, content)?;
        if Path::new(place).exists() {
            mount_bind(&file, place)?;
        }
    }
    unmount(&folder, UnmountFlags::DETACH).map_err(io::Error::from)
}

/// Waits until a program ends; without a network it is killed.
fn wait(child: &mut Child, lab: &Lab<'_>) -> Result<i32, KernelError> {
    loop {
        if let Some(status) = child.try_wait().doing(|| "wait for a program".to_owned())? {
            let by_signal = status.signal().map(|signal| BY_SIGNAL + signal);
            return Ok(status.code().or(by_signal).unwrap_or(BY_SIGNAL));
        }
        if lab.is_broken() {
            child.kill().doing(|| "end a program".to_owned())?;
        }
        thread::sleep(LOOK);
    }
}

/// Waits until nobody needs a server any more, and kills it with all that it has started.
fn serve(child: &mut Child, stopped: &Receiver<()>) -> Result<(), KernelError> {
    let _ = stopped.recv(); // an error: the other end was closed
    let group = Pid::from_child(child);
    match kill_process_group(group, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => return Err(error).doing(|| "end a server".to_owned()),
    }
    child.wait().map(drop).doing(|| "wait for a server".to_owned())
}
