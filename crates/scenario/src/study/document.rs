//! The study language as people write it: the types behind the TOML file and its JSON Schema.
//!
//! As in `document`, the doc comments speak to the person who writes a study, and the limits stand
//! in the attributes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Number, Value as Json};

use crate::document::FileName;

/// A Bentpipe study: runs of a scenario over values of parameters and over seeds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Bentpipe study")]
pub(crate) struct StudyDocument {
    /// Title of the study. Default: the name of the file.
    pub title: Option<String>,
    /// Scenario file, relative to the study file. Several as
    /// `{ geo = "geo.toml", leo = "leo.toml" }` are the values of a parameter with the label
    /// `scenario`.
    pub scenario: Scenarios,
    /// Groups of parameters that change together, value by value: `[["rate", "queue"]]`. Write it
    /// above all tables. All other parameters are combined with each other.
    #[serde(default)]
    pub zip: Vec<Group>,
    /// Parameters by label: `delay = { path = "link.1.delay", values = ["20ms", "250ms"] }`.
    #[serde(default)]
    pub parameters: Ordered<Parameter>,
    /// Number of runs of each variant: a `count`, or until the interval of a `quantity` is narrow
    /// enough. Replication r of every variant has the seed `seed` + r.
    pub replications: Replications,
    /// Quantities to keep of each run.
    #[schemars(length(min = 1))]
    pub quantity: Vec<Quantity>,
    /// Comparisons of the values of a parameter, by pairs of runs with the same seed.
    #[serde(default)]
    pub comparison: Vec<Comparison>,
}

/// One file, or several by name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Scenarios {
    One(#[schemars(extend("examples" = ["geo.toml"]))] FileName),
    Several(#[schemars(extend("minProperties" = 1))] Ordered<FileName>),
}

/// Labels of parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Group(#[schemars(length(min = 2))] pub Vec<String>);

/// A text, a number, true or false, or a table of the scenario.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Value {
    Bool(bool),
    Number(Number),
    Text(String),
    Table(Map<String, Json>),
}

/// A number, or a text of a number and its unit.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Amount {
    Number(Number),
    Text(String),
}

/// A path in the scenario, and its values in one of three forms.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Parameter {
    Values(Values),
    Range(Range),
    LogRange(LogRange),
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Values {
    /// Path in the scenario, as for `--set`: `flow.0.controller`.
    #[schemars(length(min = 1))]
    pub path: String,
    /// Values in the notation of scenarios: `["newreno", "hybla"]`. Where the scenario has a table,
    /// a value can be a table, or a text of one: `["newreno", { name = "hybla", rtt0 = 0.05 }]`.
    #[schemars(length(min = 1))]
    pub values: Vec<Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Range {
    /// Path in the scenario, as for `--set`: `flow.0.controller`.
    #[schemars(length(min = 1))]
    pub path: String,
    /// Values in equal steps: `{ from = "10ms", to = "250ms", step = "60ms" }`, or with `count = 5`
    /// in place of `step`. The values have the unit of the ends.
    pub range: Steps,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogRange {
    /// Path in the scenario, as for `--set`: `flow.0.controller`.
    #[schemars(length(min = 1))]
    pub path: String,
    /// Values in equal ratios: `{ from = 1e-8, to = 1e-5, count = 4 }`.
    pub log_range: Counted,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Steps {
    Stepped(Stepped),
    Counted(Counted),
}

/// The ends and the step between values.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stepped {
    /// First value.
    pub from: Amount,
    /// Last value. If no step leads to it, the value before it.
    pub to: Amount,
    /// Difference of two values, negative if the values decrease.
    pub step: Amount,
}

/// The ends and the number of values.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Counted {
    /// First value.
    pub from: Amount,
    /// Last value. If no step leads to it, the value before it.
    pub to: Amount,
    /// Number of values with both ends.
    #[schemars(range(min = 2, max = 100_000))]
    pub count: u32,
}

/// A fixed number, or sequential stopping.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Replications {
    Fixed(Fixed),
    Sequential(Sequential),
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fixed {
    /// Number of runs of each variant.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: u32,
    /// Seed of the first replication. Default: the seed of the scenario.
    pub seed: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sequential {
    /// Name of the `[[quantity]]` whose mean must be known.
    pub quantity: String,
    /// A variant is complete when the larger half of the 95 % interval is at most this part of the
    /// mean.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub relative_half_width: f64,
    /// Seed of the first replication. Default: the seed of the scenario.
    pub seed: Option<u64>,
    /// Replications of a variant before its interval is first checked.
    #[serde(default = "ten")]
    #[schemars(range(min = 2, max = 1_000_000))]
    pub minimum: u32,
    /// Largest number of replications of a variant.
    #[serde(default = "thousand")]
    #[schemars(range(min = 2, max = 1_000_000))]
    pub maximum: u32,
    /// Replications that are added before the interval is checked again.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub round: u32,
    /// Largest number of runs of the study. Default: no limit.
    #[schemars(range(min = 1))]
    pub budget: Option<u64>,
}

fn ten() -> u32 {
    10
}

fn thousand() -> u32 {
    1000
}

/// A quantity of a run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quantity {
    /// Name of the quantity: `flow.goodput_bps`.
    pub name: String,
    /// Label in tables and figures. Default: the name.
    pub label: Option<String>,
    /// Percentiles to show, such as `[5, 95]`.
    #[serde(default)]
    pub percentiles: Vec<Percentile>,
    /// Kind of the 95 % interval of the mean.
    #[serde(default)]
    pub interval: Interval,
}

/// A number of percent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Percentile(#[schemars(range(min = 0, max = 100))] pub Number);

/// Student's interval or the bootstrap's.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Interval {
    #[default]
    Student,
    Bootstrap,
}

/// A comparison of each value of a parameter with its baseline.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Comparison {
    /// Label of the parameter.
    pub parameter: String,
    /// Value of the parameter that the other values are compared with.
    pub baseline: Value,
    /// Names of the quantities to compare. Default: all.
    #[serde(default)]
    pub quantities: Vec<String>,
}

/// Values by name in the order of the file: the first parameter varies slowest.
#[derive(Clone, Debug)]
pub(crate) struct Ordered<T>(pub Vec<(String, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Map::<String, Json>::deserialize(deserializer)?.into_iter();
        let entry = |(name, json)| {
            serde_json::from_value(json).map(|value| (name, value)).map_err(D::Error::custom)
        };
        entries.map(entry).collect::<Result<_, _>>().map(Self)
    }
}

impl<T: JsonSchema> JsonSchema for Ordered<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Ordered_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, T>::json_schema(generator)
    }
}
