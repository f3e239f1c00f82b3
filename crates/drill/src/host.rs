//! The host that a script runs against.

use std::collections::BTreeMap;

use crate::packet::Packet;
use crate::script::Call;
use crate::shell::Setting;

/// A segment that the host sent, and when, in microseconds since the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// When it left.
    pub at: i64,
    /// Its contents, in numbers relative to the first ones of both ends.
    pub packet: Packet,
}

/// Result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A number; for calls with a result in an argument, that result.
    Returned(i64),
    /// -1, and the name of the error number.
    Failed(&'static str),
    /// The call blocks. [`Host::resume`] has its result later.
    Blocks,
}

/// A TCP and its clock. Times are microseconds since the start of the script. A message as error
/// means that the host does not support what was asked.
pub trait Host {
    /// The current time.
    fn now(&self) -> i64;

    /// Lets time pass until a segment leaves, at most until `until` or, if a call blocks, until it
    /// may have ended.
    ///
    /// # Errors
    /// When the host sends something that it does not understand itself.
    fn step(&mut self, until: i64) -> Result<Option<Live>, String>;

    /// Lets a segment arrive now.
    ///
    /// # Errors
    /// When the host cannot be given such a segment.
    fn inject(&mut self, packet: &Packet) -> Result<(), String>;

    /// Does a system call now.
    ///
    /// # Errors
    /// When the host does not have the call or its arguments.
    fn call(&mut self, call: &Call) -> Result<Outcome, String>;

    /// Outcome of the call that blocks.
    ///
    /// # Errors
    /// As for [`call`](Self::call).
    fn resume(&mut self, call: &Call) -> Result<Outcome, String>;

    /// Changes a setting of the whole host.
    ///
    /// # Errors
    /// When the host does not have the setting or the value.
    fn set(&mut self, setting: &Setting) -> Result<(), String>;

    /// The fields of `TCP_INFO` by name, for the connection that the script drives.
    ///
    /// # Errors
    /// When there is no connection.
    fn info(&mut self) -> Result<BTreeMap<&'static str, i64>, String>;

    /// Payload of a full segment, if there is a connection.
    fn full_segment(&mut self) -> Option<u32>;
}
