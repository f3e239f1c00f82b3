//! Real time: runs a scenario on the TCP of this machine's Linux kernel, and on QUIC over its UDP
//! sockets, and fills a recording.
//!
//! Each host is a network namespace, its interface a TUN device. The other ends of the devices are
//! read by `emulator`, which runs the simulator's own network against the real clock. `plan` and
//! `settings` decide what the kernel makes of a scenario, `hosts` sets the namespaces up, `lab`
//! keeps them and the network going. A node with a split proxy is a namespace too, with the daemon
//! in it (`daemon`) and its connections watched (`watch`). `traffic` drives the applications over
//! `sockets`, `shell` any other program, `quality` measures how well the network was emulated.
//!
//! Namespaces have no names and devices are not kept: both vanish with the descriptors of the
//! process, even if it is killed.
//!
//! Other systems than Linux have the same interface, which says that they have no such kernel
//! (`elsewhere`).

#[cfg(target_os = "linux")]
mod bare;
#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod controllers;
#[cfg(target_os = "linux")]
mod daemon;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod emulator;
mod error;
#[cfg(target_os = "linux")]
mod hosts;
#[cfg(target_os = "linux")]
mod inside;
#[cfg(target_os = "linux")]
mod interface;
#[cfg(target_os = "linux")]
mod keys;
#[cfg(target_os = "linux")]
mod lab;
#[cfg(target_os = "linux")]
mod legs;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod netlink;
mod options;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
mod quality;
#[cfg(target_os = "linux")]
mod route;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod settings;
#[cfg(target_os = "linux")]
mod shell;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod tcp_info;
#[cfg(target_os = "linux")]
mod traffic;
#[cfg(target_os = "linux")]
mod tunnel;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(target_os = "linux")]
mod way;

#[cfg(target_os = "linux")]
pub use bare::{BareHost, set_socket_option, socket_info};
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{available, explain, run, shell_through, unset_for_programs};
pub use error::{KernelError, Key, Of, Refusal};
#[cfg(target_os = "linux")]
pub use hosts::available;
#[cfg(target_os = "linux")]
pub use inside::{Hosts, with_hosts};
pub use options::{Options, Program, Ran};
#[cfg(target_os = "linux")]
pub use plan::explain;
#[cfg(target_os = "linux")]
pub use programs::unset_for_programs;
#[cfg(target_os = "linux")]
pub use run::run;
#[cfg(target_os = "linux")]
pub use shell::{shell, shell_through};

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use scenario::Scenario;

    /// Returns true if this machine cannot run scenarios on its kernel; prints why.
    pub(crate) fn is_skipped() -> bool {
        let missing = crate::available().err();
        // Not `eprintln`, which is kept back of tests that pass.
        missing.iter().for_each(|missing| drop(writeln!(io::stderr(), "skipped: {missing}")));
        missing.is_some()
    }

    pub(crate) fn scenario(json: serde_json::Value) -> Scenario {
        Scenario::from_json(&json, &[]).unwrap()
    }
}
