//! Real time: runs a scenario on the TCP of this machine's Linux kernel and fills a recording.
//!
//! Each host is a network namespace, its interface a TUN device. The other ends of the devices are
//! read by `emulator`, which runs the simulator's own network against the real clock. `plan` and
//! `settings` decide what the kernel makes of a scenario, `hosts` sets the namespaces up, `traffic`
//! drives the applications over `sockets`, `quality` measures how well the network was emulated.
//!
//! Namespaces have no names and devices are not kept: both vanish with the descriptors of the
//! process, even if it is killed.

mod capture;
mod clock;
mod emulator;
mod error;
mod hosts;
mod interface;
mod namespace;
mod packet;
mod plan;
mod quality;
mod route;
mod run;
mod settings;
mod sockets;
mod sys;
mod tcp_info;
mod traffic;

pub use error::{KernelError, Refusal};
pub use run::{Options, run};
