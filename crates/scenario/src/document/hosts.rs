//! Profiles of hosts by their names.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::hosts::{self, Profile};

/// The name of a profile, or `none`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct HostName(String);

impl HostName {
    /// The profile; `None` for `none`. The schema has checked the name.
    pub(crate) fn profile(&self) -> Option<&'static Profile> {
        hosts::named(&self.0)
    }
}

impl JsonSchema for HostName {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "HostName".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = hosts::PROFILES.iter().map(|profile| profile.name);
        let names: Vec<_> = std::iter::once("none").chain(names).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

/// One profile for both ends, or one for each.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Hosts {
    Both(HostName),
    Each(EachHost),
}

/// Profiles of both ends.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct EachHost {
    /// Profile of the host that sends the data: the server of a download. Default: that of its
    /// node.
    pub from: Option<HostName>,
    /// Profile of the host that receives the data: the client of a download. Default: that of its
    /// node.
    pub to: Option<HostName>,
}

impl Hosts {
    /// The names at `from` and at `to`.
    pub(crate) fn ends(&self) -> [Option<&HostName>; 2] {
        match self {
            Self::Both(name) => [Some(name); 2],
            Self::Each(EachHost { from, to }) => [from.as_ref(), to.as_ref()],
        }
    }
}
