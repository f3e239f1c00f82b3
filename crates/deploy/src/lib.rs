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
