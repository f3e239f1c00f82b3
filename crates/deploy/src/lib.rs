//! Congestion controllers in the running Linux kernel.
//!
//! `bpf/` has some of the controllers of `congestion` as eBPF programs. Here they are given their
//! parameters, loaded, counted and unloaded. A loaded controller is held by a pin in the BPF file
//! system, so that it stays when the process that loaded it ends; nothing else of the machine is
//! changed unless it is asked for.

mod catalogue;
mod default;
mod encode;
mod error;
mod linux;
mod machine;
mod namespaces;
mod pins;
mod sockets;
mod verifier;

pub use catalogue::{CONTROLLERS, Controller, defined_by, find};
pub use encode::{Setting, decoded, encoded, map_of};
pub use error::Error;
pub use linux::{Likeness, OF_LINUX, OfLinux, of_linux};
pub use machine::missing;
pub use pins::{Loaded, Use, load, loaded_map, set, status, unload};
