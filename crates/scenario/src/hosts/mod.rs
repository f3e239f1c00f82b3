//! Profiles of hosts: the settings with which operating systems ship their TCP.
//!
//! A profile is one declaration: values of keys of a flow in the notation of scenarios, each with
//! its source and with how certain it is. It lies beneath the keys that a scenario writes
//! (`resolve::hosts`), so it cannot set anything that a scenario could not. A key without a source
//! is not declared, and keeps the default of the language.

mod bsd;
mod linux;
mod unix;
mod windows;

use language::describe;
use language::shape;
use serde::Serialize;
use serde_json::Value as Json;

use crate::resolve::CONTROLLER_OF_RFC;
use crate::schema;

/// An operating system, as far as backends and readers distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// A kernel of Linux, which the kernel backend can follow.
    Linux,
    /// Any other.
    Other(&'static str),
}

impl System {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linux => "Linux",
            Self::Other(name) => name,
        }
    }
}

/// How certain a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// Read in the source code or in a standard.
    Source,
    /// Measured on the system.
    Measured,
    /// From documentation, or from a paper about it.
    Secondary,
    /// Remembered, or the nearest that the language can express.
    Reconstructed,
}

impl Certainty {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "read in its source",
            Self::Measured => "measured",
            Self::Secondary => "secondary source",
            Self::Reconstructed => "reconstructed",
        }
    }
}

/// The value of a key in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worth {
    /// A word or a quantity.
    Text(&'static str),
    /// A number.
    Number(u32),
    /// `true` or `false`.
    Switch(bool),
}

impl Worth {
    /// The value as a program would write it.
    pub fn to_json(self) -> Json {
        match self {
            Self::Text(text) => text.into(),
            Self::Number(number) => number.into(),
            Self::Switch(on) => on.into(),
        }
    }
}

/// One value of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileValue {
    /// Its key in a flow: `transport.receive_buffer.max`.
    pub key: &'static str,
    /// The value.
    pub value: Worth,
    /// Where it was found.
    pub source: &'static str,
    /// How certain it is.
    pub certainty: Certainty,
}

/// A profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Description in one sentence.
    pub summary: &'static str,
    /// Its operating system.
    pub system: System,
    /// Its values. Versions of one system share lists.
    pub lists: &'static [&'static [ProfileValue]],
    /// Rules of the system that the simulator does not have.
    pub notes: &'static [&'static str],
}

/// All profiles, the newest of each system last.
pub static PROFILES: &[Profile] = &[
    linux::LINUX_2_4,
    linux::LINUX_4_19,
    linux::LINUX_5_15,
    linux::LINUX_6_1,
    linux::LINUX_6_12,
    linux::LINUX_6_18,
    linux::ANDROID,
    windows::NT,
    windows::XP,
    windows::WINDOWS_10,
    windows::WINDOWS_11,
    windows::SERVER_2022,
    bsd::MACOS,
    bsd::FREEBSD_14,
    unix::DIGITAL_UNIX_4,
    unix::BSD_OS,
];

/// The keys that a profile sets, or the tables that they are in. One that a profile does not
/// declare keeps the default of the language.
pub const KEYS: [&str; 13] = [
    "controller",
    "transport.recovery",
    "transport.receive_buffer",
    "transport.send_buffer",
    "transport.initial_window",
    "transport.abc_limit",
    "transport.delayed_ack",
    "transport.timestamps",
    "transport.window_scaling",
    "transport.ecn",
    "transport.rto",
    "transport.sack_compression",
    "transport.receive_offload",
];

/// The keys without whose source a profile is reconstructed.
const DECISIVE: [&str; 3] = ["controller", "transport.receive_buffer", "transport.send_buffer"];

/// The profile with this name.
pub fn named(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

const fn value(
    key: &'static str,
    value: Worth,
    certainty: Certainty,
    source: &'static str,
) -> ProfileValue {
    ProfileValue { key, value, source, certainty }
}

const fn text(
    key: &'static str,
    text: &'static str,
    certainty: Certainty,
    source: &'static str,
) -> ProfileValue {
    value(key, Worth::Text(text), certainty, source)
}

const fn number(
    key: &'static str,
    number: u32,
    certainty: Certainty,
    source: &'static str,
) -> ProfileValue {
    value(key, Worth::Number(number), certainty, source)
}

const fn switch(
    key: &'static str,
    on: bool,
    certainty: Certainty,
    source: &'static str,
) -> ProfileValue {
    value(key, Worth::Switch(on), certainty, source)
}

/// Returns true if `key` is `table`, or stands in it.
pub fn is_in(key: &str, table: &str) -> bool {
    key.strip_prefix(table).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

impl Profile {
    /// Its values.
    pub fn values(&self) -> impl Iterator<Item = &'static ProfileValue> + use<> {
        self.lists.iter().flat_map(|list| list.iter())
    }

    /// Those of [`KEYS`] that have no source here.
    pub fn without_source(&self) -> impl Iterator<Item = &'static str> + use<> {
        let this = *self;
        let is_declared = move |key: &str| this.values().any(|value| is_in(value.key, key));
        KEYS.into_iter().filter(move |key| !is_declared(key))
    }

    /// Returns true if its buffers or its controller have no source. Such a profile is never a
    /// default, and is not ranked.
    pub fn is_reconstructed(&self) -> bool {
        let found = |key: &str| {
            let mut values = self.values().filter(|value| is_in(value.key, key)).peekable();
            values.peek().is_some()
                && values.all(|value| value.certainty != Certainty::Reconstructed)
        };
        !DECISIVE.iter().all(|key| found(key))
    }

    /// The word for how far it can be trusted.
    pub fn status(&self) -> &'static str {
        if self.is_reconstructed() { "reconstructed" } else { "from its sources" }
    }
}

/// A profile with everything that `bentpipe hosts` shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostProfile {
    /// Its name in scenarios: a value of `host`.
    pub name: &'static str,
    /// Description in one sentence.
    pub summary: &'static str,
    /// Its operating system.
    pub system: &'static str,
    /// `from its sources`, or `reconstructed` if its buffers or its controller have no source.
    pub status: &'static str,
    /// The backends that can follow it.
    pub backends: Vec<&'static str>,
    /// Its values, and the keys that keep their default.
    pub values: Vec<HostValue>,
    /// Rules of the system that the simulator does not have.
    pub notes: &'static [&'static str],
}

/// A value of a profile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostValue {
    /// Its key in a flow.
    pub name: &'static str,
    /// The value in the notation of scenarios.
    pub value: String,
    /// Where it was found.
    pub source: &'static str,
    /// `read in its source`, `measured`, `secondary source`, `reconstructed`, or `no source`.
    pub certainty: &'static str,
}

/// All profiles, in the order of their list.
pub fn profiles() -> Vec<HostProfile> {
    PROFILES.iter().map(explain).collect()
}

fn explain(profile: &Profile) -> HostProfile {
    let declared = profile.values().map(|value| HostValue {
        name: value.key,
        value: describe::plain(&value.value.to_json()),
        source: value.source,
        certainty: value.certainty.name(),
    });
    let others = profile.without_source().map(|key| HostValue {
        name: key,
        value: default_of(key),
        source: "none found: the default of the language, that of the RFC where it has one",
        certainty: "no source",
    });
    let kernel = (profile.system == System::Linux).then_some("kernel");
    HostProfile {
        name: profile.name,
        summary: profile.summary,
        system: profile.system.name(),
        status: profile.status(),
        backends: std::iter::once("simulator").chain(kernel).collect(),
        values: declared.chain(others).collect(),
        notes: profile.notes,
    }
}

/// The default of a key of a flow.
fn default_of(key: &str) -> String {
    match key {
        "controller" => return CONTROLLER_OF_RFC.to_owned(),
        "transport.sack_compression" | "transport.receive_offload" => return "off".to_owned(),
        _ => {}
    }
    let flow = &schema::cached()["properties"]["flow"]["items"];
    let found = key.split('.').fold(flow, |schema, key| &schema["properties"][key]);
    let keys = shape::keys(found).map(|key| (key, &found["properties"][key]["default"]));
    let inner = keys.filter(|(_, default)| !default.is_null());
    match &found["default"] {
        Json::Null | Json::Object(_) => {
            let inner: Vec<_> =
                inner.map(|(key, value)| format!("{key} {}", describe::plain(value))).collect();
            if inner.is_empty() { "that of the controller".to_owned() } else { inner.join(", ") }
        }
        default => describe::plain(default),
    }
}

#[cfg(test)]
mod tests;
