//! A transparent split proxy for Linux.
//!
//! The daemon ends TCP connections that cross a gateway and opens others towards the servers, with
//! the client's address and port. Each side of the gateway has its own congestion controller,
//! buffers and pacing. The program is `bentpipe-proxy`; `docs/proxy.md` explains it to operators.
//!
//! `config` reads the file, `machine` asks whether the machine can do it, `rules` has the commands
//! that send connections here. `daemon` starts one `worker` per core; a worker accepts connections
//! and moves bytes between the two sockets of a `connection`, as `middlebox::Relay` decides. `late`
//! holds SYNs back until servers have accepted.
//!
//! Decisions:
//! - Interception is by TPROXY to listeners on the loopback address. They are unreachable
//!   otherwise, and where no listener is, TPROXY does nothing: the proxy fails open without any
//!   help.
//! - A SYN is intercepted if it comes from an interface of one side and its route leads to one of
//!   the other side (`fib daddr oifname`). So the side of each leg is known without a look at
//!   routes.
//! - Packets of split connections are found by their socket. Those of clients are not tracked
//!   (conntrack), so that address translation sees the connection to the server as a new one.
//! - Sockets reset their peer when they are closed, unless both directions have ended. A daemon
//!   that is killed leaves no truncated stream that looks complete.
//! - An upgrade is a new process that inherits the listening sockets, so that both share their
//!   queues. Sockets of connections stay where they are: a relay has bytes in pipes and in memory.
//! - Relays read and write the first 128 KiB of a direction, then splice through pipes. sockmap has
//!   no back-pressure, and io_uring's splice blocks a thread of the kernel.

mod check;
mod clock;
pub mod config;
mod connection;
mod control;
mod counters;
mod daemon;
#[cfg(test)]
mod dependencies;
mod gate;
mod handover;
mod late;
mod listeners;
mod local;
mod log;
mod machine;
mod metrics;
mod pipes;
pub mod prefix;
mod privileges;
mod rate;
pub mod rules;
mod shared;
mod slab;
mod sockets;
mod sys;
mod top;
mod worker;

pub use check::{Finding, check};
pub use control::{Command, command, list, wait_for_end};
pub use daemon::{DaemonError, run};
pub use machine::before_rules;
pub use metrics::answer_to;
pub use top::{Picture, table, watch};
