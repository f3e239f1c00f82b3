//! The beam of a satellite, as state machines without I/O.
//!
//! - [`access`]: random access to the return channel

pub mod access;
