//! Mixes of applications by their names.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use units::Span;

use super::Controller;
use super::hosts::Hosts;
use super::transport::Transport;
use super::words::Name;
use crate::mix;

/// The applications of a household or an office: several flows with sessions between two nodes, or
/// at each terminal of a group. They come after all `[[flow]]` tables, and their names are those
/// of the mix and of the part: `evening-pages`. `bentpipe mixes` lists the presets and their parts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mix {
    /// Name of the mix. Default: `mix-N`, with its position N from 0.
    pub name: Option<Name>,
    /// The mix.
    pub preset: MixName,
    /// The node that sends the data of downloads, or a group of terminals of a beam.
    pub from: Name,
    /// The node that receives the data of downloads: the household. A group of terminals stands for
    /// a household at each terminal.
    pub to: Name,
    /// Number of such households; with a group of terminals, at each terminal.
    #[serde(default = "super::default_count")]
    #[schemars(range(min = 1, max = 10_000))]
    pub count: u32,
    /// Names of the parts that run. Default: all parts of the preset.
    #[schemars(length(min = 1))]
    pub parts: Option<Vec<Name>>,
    /// Factor by which pauses between sessions are shorter. Only for presets with sessions. The
    /// length of sessions does not change. Default: 1.
    #[schemars(range(min = 0.01, max = 100), extend("default" = 1))]
    pub activity: Option<f64>,
    /// The congestion controller of all parts over streams, as that of a flow.
    pub controller: Option<Controller>,
    /// Profiles of the hosts of all parts over streams, as those of a flow.
    pub host: Option<Hosts>,
    /// Transport of all parts over streams, as that of a flow. Default: TCP.
    pub transport: Option<Transport>,
    /// Start time of the applications. The first pause between sessions begins then.
    #[serde(default)]
    pub start: Span,
    /// Time over which the starts of the copies of each part are spread evenly: the first is at
    /// `start`. Only with `count` or a group of terminals. Default: all start together.
    #[schemars(extend("x-minimum" = "1ns"))]
    pub spread: Option<Span>,
    /// Stop time of the applications, as that of a flow. Default: that of the preset, and never for
    /// presets with sessions.
    pub stop: Option<Span>,
}

/// The name of a mix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct MixName(String);

impl MixName {
    /// The mix. The schema has checked the name.
    pub(crate) fn mix(&self) -> Option<&'static mix::Mix> {
        mix::named(&self.0)
    }
}

impl JsonSchema for MixName {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "MixName".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = mix::MIXES.iter().map(|mix| mix.name).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}
