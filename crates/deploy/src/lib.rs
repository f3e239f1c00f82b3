//! Congestion controllers in the running Linux kernel.
//!
//! `bpf/` has some of the controllers of `congestion` as eBPF programs. This crate sets their
//! parameters, loads, lists and unloads them. A pin in the BPF file system keeps a loaded
//! controller after the end of the process that loaded it. Nothing else of the machine is changed,
//! except on request.
//!
//! Decisions:
//! - Objects are compiled by `crates/deploy/build.rs` and held in the library: they cannot be of
//!   another version than their loader; without clang there are none, and loading says so.

mod catalogue;
#[cfg(target_os = "linux")]
mod default;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod encode;
mod error;
mod linux;
mod loaded;
#[cfg(target_os = "linux")]
mod machine;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod pins;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
mod verifier;

pub use catalogue::{CONTROLLERS, Controller, defined_by, find};
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{load, missing, set, status, unload};
pub use encode::{Setting, decoded, encoded, map_of};
pub use error::Error;
pub use linux::{Likeness, OF_LINUX, OfLinux, of_linux};
pub use loaded::{Loaded, Use};
#[cfg(target_os = "linux")]
pub use machine::missing;
#[cfg(target_os = "linux")]
pub use pins::{load, loaded_map, set, status, unload};
