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

mod bare;
mod capture;
mod clock;
mod controllers;
mod daemon;
mod emulator;
mod error;
mod hosts;
mod inside;
mod interface;
mod lab;
mod legs;
mod namespace;
mod netlink;
mod plan;
mod programs;
mod quality;
mod route;
mod run;
mod settings;
mod shell;
mod sockets;
mod sys;
mod tcp_info;
mod traffic;
mod tunnel;
mod watch;
mod way;

pub use bare::{BareHost, set_socket_option, socket_info};
pub use error::{KernelError, Key, Of, Refusal};
pub use hosts::available;
pub use inside::{Hosts, with_hosts};
pub use plan::explain;
pub use programs::unset_for_programs;
pub use run::{Options, run};
pub use shell::{Program, Ran, shell, shell_through};

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
