//! Settings of a video, and the movie that they describe.

use units::{Bytes, Rate, Span};

/// The rule that chooses the bit rate of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "kebab-case"), schemars(inline))]
pub enum RuleName {
    /// The highest rate below 0.9 of the estimated throughput, with the insufficient buffer rule of
    /// dash.js.
    Throughput,
    /// BBA-0 (Huang et al., SIGCOMM 2014), with the reservoir of 5 s and the cushion of 10 s of
    /// Pensieve.
    Bba,
    /// BOLA-U (Spiteri et al., INFOCOM 2016) as in Sabre: a shorter buffer at start and end, and
    /// segments that are given up.
    Bola,
    /// The same without both.
    BolaBasic,
    /// BOLA-E (Spiteri et al., MMSys 2018).
    BolaE,
    /// BOLA above a buffer of 10 s, and throughput below.
    #[default]
    Dynamic,
    /// BOLA-E above a buffer of 10 s, and throughput below 5 s.
    DynamicDash,
    /// Robust MPC (Yin et al., SIGCOMM 2015), with the constants of Pensieve.
    RobustMpc,
}

impl RuleName {
    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Bba => "bba",
            Self::Bola => "bola",
            Self::BolaBasic => "bola-basic",
            Self::BolaE => "bola-e",
            Self::Dynamic => "dynamic",
            Self::DynamicDash => "dynamic-dash",
            Self::RobustMpc => "robust-mpc",
        }
    }
}

/// `to` plays a video that it fetches from `from`, one segment at a time over one connection.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, deny_unknown_fields))]
pub struct Settings {
    /// Bit rates of the video, rising. The default is that of Pensieve.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 16)))]
    pub ladder: Vec<Rate>,
    /// Time that a segment plays. All segments of a bit rate have the same size. Default: Pensieve.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "100ms", "x-maximum" = "60s")))]
    pub segment: Span,
    /// Time that the video plays, rounded up to whole segments. The default is our choice.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1s", "x-maximum" = "100000s")))]
    pub length: Span,
    /// Most video in the buffer, at least two segments. The default is that of Sabre.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "200ms", "x-maximum" = "10000s")))]
    pub buffer: Span,
    /// The rule that chooses bit rates.
    pub rule: RuleName,
    /// Bytes of each request. The default is our choice: a GET with the usual header fields.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1B", "x-maximum" = "1MB")))]
    pub request: Bytes,
}

impl Default for Settings {
    fn default() -> Self {
        let ladder = [300, 750, 1200, 1850, 2850, 4300];
        Self {
            ladder: ladder.map(|rate| Rate::from_bits_per_second(1000 * rate)).to_vec(),
            segment: Span::from_secs(4),
            length: Span::from_secs(192),
            buffer: Span::from_secs(25),
            rule: RuleName::default(),
            request: Bytes(350),
        }
    }
}

impl Settings {
    /// Time that the video plays: its length, rounded up to whole segments.
    pub fn played(&self) -> Span {
        self.length.round_up_to(self.segment)
    }

    /// Number of segments.
    pub fn segments(&self) -> usize {
        let count = self.length.as_nanos().div_ceil(self.segment.as_nanos().max(1));
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    /// The movie that they describe.
    pub fn movie(&self) -> Movie {
        let segment_ms = self.segment.as_millis_f64();
        let rates = self.ladder.iter().map(|rate| rate.bits_per_second() as f64 / 1e3);
        let bitrates: Vec<f64> = rates.collect();
        let sizes = bitrates.iter().map(|rate| (rate * segment_ms / 8.0).ceil() * 8.0).collect();
        Movie { segment_ms, bitrates, sizes: vec![sizes; self.segments()] }
    }
}

/// A movie in several bit rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Movie {
    /// Time that a segment plays, in milliseconds.
    pub segment_ms: f64,
    /// Bit rates in kbit/s, rising.
    pub bitrates: Vec<f64>,
    /// For each segment, its size in bits at each bit rate.
    pub sizes: Vec<Vec<f64>>,
}
