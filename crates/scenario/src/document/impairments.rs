//! Random impairments of a direction, as netem has them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Span};

use super::words::FileName;

/// A time, or a table with a distribution.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Jitter {
    UpTo(Span),
    Around(Box<Around>),
}

/// Jitter around the delay, as `netem delay DELAY JITTER CORRELATION distribution NAME` has it: the
/// delay is the mean, and a packet whose delay would be negative has none. `bentpipe explain` shows
/// mean, standard deviation and quantiles.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Around {
    /// Variation of the delay, which is the JITTER of netem: half the width of a uniform
    /// distribution, the standard deviation of a normal one, and the unit of the other tables.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1h"))]
    pub variation: Span,
    /// Distribution: `"uniform"`, `"normal"`, `"pareto"` and `"paretonormal"` are those of netem,
    /// with the values of the tables of iproute2. The last two have standard deviations of 0.82 and
    /// 0.83 variations, because their tables end at four variations. A table names a file.
    #[serde(default)]
    pub distribution: Distribution,
    /// Correlation of the delays of two packets in a row. The distribution stays as it is. In the
    /// kernel, netem's correlation of delays has no effect
    /// ([from-other-tools.md](from-other-tools.md)).
    #[serde(default)]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub correlation: f64,
    /// True if a packet overtakes those that have a longer delay, as in netem without a rate.
    /// Otherwise packets keep their order: one that would overtake another arrives together with
    /// it, which makes delays longer on average where packets are close. It cannot be combined with
    /// `arq` on the link, nor with `fec` or `header_compression` in the same direction, which rely
    /// on the order.
    #[serde(default)]
    pub reorder: bool,
}

/// The name of a distribution, or a file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Distribution {
    Name(DistributionName),
    File(DistributionFile),
}

impl Default for Distribution {
    fn default() -> Self {
        Self::Name(DistributionName::Uniform)
    }
}

/// The distributions of netem.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum DistributionName {
    Uniform,
    Normal,
    Pareto,
    ParetoNormal,
}

/// A distribution from a file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DistributionFile {
    /// File in the format of iproute2 (`/usr/lib/tc/*.dist`): whole numbers from -32768 to 32767,
    /// at most 16384 of them, in 1/8192 of the variation. Each packet draws one of them. Lines with
    /// `#` are comments.
    pub file: FileName,
}

/// True, or a table with a probability.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Reorder {
    Falls(bool),
    AtOnce(AtOnce),
}

/// Random reordering, as `netem delay DELAY reorder P CORRELATION gap N` has it: packets are sent
/// at once, without the delay of the direction, while others take it. The table `impairments` of a
/// recording counts them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AtOnce {
    /// Probability that a packet is sent at once.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub probability: f64,
    /// Correlation of the random numbers, as netem has it: with it, the share of packets is another
    /// than `probability`, below it if that is below one half. `bentpipe explain` shows the share.
    #[serde(default)]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub correlation: f64,
    /// Packets of which at most one is sent at once: the first `gap` - 1 packets after it take the
    /// delay.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub gap: u32,
}

fn one() -> u32 {
    1
}

/// A probability, or a table.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Duplicate {
    Probability(#[schemars(range(min = 0, max = 1))] f64),
    Table(Duplicates),
}

/// Random duplication, as `netem duplicate P CORRELATION` has it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Duplicates {
    /// Probability that a packet which arrives does so twice.
    #[schemars(range(min = 0, max = 1))]
    pub probability: f64,
    /// Correlation of the random numbers, as netem has it: with it, the share of packets is another
    /// than `probability`, below it if that is below one half. `bentpipe explain` shows the share.
    #[serde(default)]
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub correlation: f64,
}

impl Duplicate {
    /// Its settings; none for a probability of zero.
    pub fn resolve(self) -> Option<link::Duplication> {
        let (probability, correlation) = match self {
            Self::Probability(probability) => (probability, 0.0),
            Self::Table(Duplicates { probability, correlation }) => (probability, correlation),
        };
        (probability > 0.0).then_some(link::Duplication { probability, correlation })
    }
}

impl Reorder {
    /// Returns true if packets overtake where the delay falls.
    pub fn falls(self) -> bool {
        matches!(self, Self::Falls(true))
    }

    /// Packets that are sent at once.
    pub fn at_once(self) -> Option<link::Reordering> {
        let Self::AtOnce(AtOnce { probability, correlation, gap }) = self else { return None };
        Some(link::Reordering { probability, correlation, gap })
    }
}

/// Slots, as `netem slot MIN MAX packets N bytes N` has them. After the delay of a slot, all
/// packets that are held go at once. The delay of the next one begins when a slot has used up its
/// packets or bytes, or else with the first packet that comes after it has opened.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Slot {
    /// Delay until a slot opens, or the shortest one.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1h"))]
    pub min_delay: Span,
    /// Longest delay until a slot opens: it is uniform between both. Default: `min_delay`.
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1h"))]
    pub max_delay: Option<Span>,
    /// Maximum number of packets in a slot. Default: no limit.
    #[schemars(range(min = 1))]
    pub packets: Option<u32>,
    /// Bytes after which a slot is used up, with overhead. Default: no limit.
    #[schemars(extend("x-minimum" = "1B"))]
    pub bytes: Option<Bytes>,
}

impl Slot {
    pub fn resolve(self) -> link::Slots {
        let Self { min_delay, max_delay, packets, bytes } = self;
        let max_delay = max_delay.unwrap_or(min_delay).max(min_delay);
        link::Slots { min_delay, max_delay, packets, bytes: bytes.map(Bytes::get) }
    }
}
