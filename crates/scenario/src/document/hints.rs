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
    /// The sender's own measurements.
    Detector,
}

/// Sign by which a detector recognises a change of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum DetectionRule {
    /// A long time between two ACKs.
    #[default]
    Gap,
    /// A step of the smallest RTT.
    Step,
}

/// Hints that the path changes: one `lead` before each change, and one at the change.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct PathHints {
    /// Source of the hints. `"schedule"`: the true changes of the propagation delay on the path of
    /// the data and on that of the ACKs, by events and traces, and the moves of a `[[switch]]`.
    /// `"clock"`: instants of UTC, as a terminal knows them whose satellites change at fixed
    /// seconds; it requires `epoch`. `"detector"`: what the sender sees in its ACKs, by `rule`.
    /// `"none"`: no hints, and no other key.
    pub source: HintSource,
    /// Time from the first hint about a change to the time at which the source takes the change to
    /// be. A detector has no such time.
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
    /// a change of the path. Smaller steps are the motion of one satellite. With the source
    /// `"detector"`: the least step of a change with which detections are compared.
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
    /// With the source `"detector"`: the sign of a change. `"gap"`: more than `gap` between two
    /// ACKs, the first of which leaves data in the network. `"step"`: a step of the smallest RTT of
    /// successive windows.
    #[serde(default)]
    pub rule: DetectionRule,
    /// With the rule `"gap"`: a longer time between two ACKs is a gap. LeoCC has 45 ms, between
    /// answers to pings each 10 ms.
    #[serde(default = "gap")]
    #[schemars(extend("x-minimum" = "1ms"))]
    pub gap: Span,
    /// With the rule `"step"`: the step of the RTT that is looked for. 10 ms is the fluctuation of
    /// the RTT on one path with which LeoCC reckons.
    #[serde(default = "step")]
    #[schemars(extend("x-minimum" = "1us"))]
    pub step: Span,
    /// With the rule `"step"`: length of the windows whose smallest RTTs are compared.
    #[serde(default = "window")]
    #[schemars(extend("x-minimum" = "1ms"))]
    pub window: Span,
    /// With the source `"detector"`: time for which there is no other detection after one. It is
    /// also the longest time after a change of the path in which a detection counts as one of it.
    #[serde(default = "settle")]
    pub settle: Span,
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

fn gap() -> Span {
    Span::from_millis(45)
}

fn step() -> Span {
    Span::from_millis(10)
}

fn window() -> Span {
    Span::from_millis(100)
}

fn settle() -> Span {
    Span::from_secs(1)
}
