//! Hints that the path of a flow changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Span;

/// Source of hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum HintSource {
    /// No hints.
    None,
    /// The changes of the delay on the path, by events and traces.
    Schedule,
    /// A clock.
    Clock,
}

/// Hints that the path changes: one `lead` before each change, and one at the change.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct PathHints {
    /// Source of the hints. `"schedule"`: the true changes of the propagation delay on the path of
    /// the data and on that of the ACKs, by events and traces, and the moves of a `[[switch]]`.
    /// `"clock"`: instants of UTC, as a terminal knows them whose satellites change at fixed
    /// seconds; it requires `epoch`. `"none"`: no hints, and no other key.
    pub source: HintSource,
    /// Time from the first hint about a change to the time at which the source takes the change to
    /// be.
    #[serde(default = "lead")]
    pub lead: Span,
    /// How much later than the change the source takes it to be. Not together with `early`.
    #[serde(default)]
    pub late: Span,
    /// How much earlier than the change the source takes it to be. Not together with `late`.
    #[serde(default)]
    pub early: Span,
    /// Random error of the source: for each change uniform from this much earlier to this much
    /// later. It depends on the seed and on `from`, and not on the controller.
    #[serde(default)]
    pub error: Span,
    /// Share of the changes about which there is no hint, each at random, as `error`.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub missed: f64,
    /// With the source `"schedule"`: the least step of the one-way delay of a link that counts as
    /// a change of the path. Smaller steps are the motion of one satellite.
    #[serde(default = "threshold")]
    pub threshold: Span,
    /// With the source `"clock"`: time between two changes. Starlink's is 15s.
    #[serde(default = "period")]
    #[schemars(extend("x-minimum" = "1ms"))]
    pub period: Span,
    /// With the source `"clock"`: time of a change after the full minute of UTC, or after midnight
    /// of 1970-01-01 if the minute is no multiple of `period`. Starlink's is 12s.
    #[serde(default = "offset")]
    pub offset: Span,
}

fn lead() -> Span {
    Span::from_millis(100)
}

fn threshold() -> Span {
    Span::from_millis(1)
}

fn period() -> Span {
    Span::from_secs(15)
}

fn offset() -> Span {
    Span::from_secs(12)
}
