//! Congestion controllers in C, compiled for this machine instead of the kernel, and compared with
//! those of `crates/congestion`. Only for tests. This crate has the whole interface to C.
//!
//! - [`Connection`] is a socket whose controller is one of `bpf/`, or one of the kernel's own that
//!   [`Library`] has loaded
//! - [`driver`] gives the same events to such a socket and to the controller that it is compared
//!   with
//! - [`paced`] sends over a path and gives both the same ACKs, for controllers that need rate
//!   samples
//! - [`pairs`] lists the kernel's own controllers, and [`modules`] those of public modules, with
//!   those of `crates/congestion`, for the command `make replay-kernel` (`examples/replay_kernel`)
//! - [`sources`] compiles a kernel's controllers and public modules

mod connection;
pub mod driver;
pub mod events;
mod journal;
pub mod modules;
pub mod paced;
pub mod pairs;
pub mod sources;

pub use connection::{Connection, Library, NotLoaded, Rate, View};

unsafe extern "C" {
    fn bp_log2(value: u64) -> i64;
    fn bp_exp2(exponent: i64) -> u64;
    fn bp_sqrt(value: u64) -> u64;
    fn bp_mul_shift(a: u64, b: u64, shift: u32) -> u64;
}

/// `bp_log2` of `bpf/log.h`: of a number with 16 bits behind the point, with 24.
pub fn log2(value: u64) -> i64 {
    // SAFETY: these four take numbers and give numbers.
    unsafe { bp_log2(value) }
}

/// `bp_exp2` of `bpf/log.h`: of an exponent with 24 bits behind the point, with 32.
pub fn exp2(exponent: i64) -> u64 {
    // SAFETY: see `log2`.
    unsafe { bp_exp2(exponent) }
}

/// `bp_sqrt` of `bpf/log.h`: the whole root of a number below 2^63.
pub fn sqrt(value: u64) -> u64 {
    // SAFETY: see `log2`.
    unsafe { bp_sqrt(value) }
}

/// `bp_mul_shift` of `bpf/bentpipe.h`: `a * b >> shift`, saturated.
pub fn mul_shift(a: u64, b: u64, shift: u32) -> u64 {
    // SAFETY: see `log2`.
    unsafe { bp_mul_shift(a, b, shift) }
}
