//! Channels: errors, bursts of losses, and satellite links with noise, rain and modems.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Span;

use super::words::{FileName, Hold, Interpolate, Perfect};

/// Packet errors, bit errors, bursts of losses, a satellite link with noise and rain, a
/// modem that adapts to them, or `"perfect"`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Channel {
    PacketErrors {
        /// Packet error rate: each packet is lost independently with this probability.
        #[schemars(range(min = 0, max = 1))]
        per: f64,
        /// Correlation of the random numbers of two packets in a row, as `loss P CORRELATION` of
        /// netem has it: losses are another share of the packets than `per` then, a smaller one if
        /// that is below one half. `bentpipe explain` shows the share. Losses in bursts of a known
        /// length are `mean_burst`.
        #[serde(default)]
        #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
        correlation: f64,
    },
    BitErrors {
        /// Bit error rate: each bit is wrong independently, PER = 1 - (1 - BER)^N for an IP
        /// packet of N bits.
        #[schemars(range(min = 0, max = 1))]
        ber: f64,
        /// The largest proportion of wrong bits in a packet that the receiver corrects.
        #[serde(default)]
        #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
        ecc_threshold: f64,
    },
    Bursts {
        /// Mean share of lost packets, with losses in bursts. This is the Gilbert-Elliott model,
        /// with a good state and a bad state. With `loss_in_burst` l and a `mean_burst` of B
        /// packets the share is at most l B / (1 + B) without losses in the good state, because
        /// there is at least one packet in the good state between two bursts. With bursts in time
        /// it is below l.
        #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
        mean_loss: f64,
        /// Mean length of a burst: a number of packets, or a time such as `"5ms"`. A burst in time
        /// ends whether packets are sent or not. A burst in packets waits while nothing is sent, so
        /// a retransmission after a timeout meets the burst that it fled from.
        mean_burst: BurstLength,
        /// Probability that a packet in a burst is lost.
        #[serde(default = "certain")]
        #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
        loss_in_burst: f64,
        /// Probability that a packet between two bursts is lost (1 - k of Elliott, 1-k of netem's
        /// `gemodel`).
        #[serde(default)]
        #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
        loss_in_gap: f64,
    },
    Awgn(Awgn),
    Signal(Signal),
    Perfect(Perfect),
}

/// A number of packets, or a time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum BurstLength {
    Packets(#[schemars(range(min = 1))] f64),
    Time(#[schemars(extend("x-minimum" = "1us", "x-maximum" = "24h"))] Span),
}

impl BurstLength {
    pub fn resolve(self) -> link::BurstLength {
        match self {
            Self::Packets(packets) => link::BurstLength::Packets(packets),
            Self::Time(time) => link::BurstLength::Time(time),
        }
    }
}

fn certain() -> f64 {
    1.0
}

/// QPSK in white Gaussian noise, with a link budget, fading and loss of lock.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Awgn {
    /// Eb/N0 in clear sky in dB, Eb being the energy of an information bit.
    #[schemars(range(min = -20, max = 100))]
    pub eb_n0: f64,
    /// Error-correcting code: none, a sequential decoder with the values guaranteed for a modem, a
    /// Viterbi decoder in theory, or one with the values guaranteed for a modem.
    pub code: CodeName,
    /// Wrong bits in one error event, e in PER = 1 - (1 - BER / e)^N for an IP packet of N bits.
    /// Default: 1 without a code; 7 behind a decoder, whose errors come in bursts.
    #[schemars(range(min = 1, max = 1000))]
    pub errors_per_event: Option<f64>,
    /// Attenuation by rain: a constant in dB, or a CSV or Parquet file with two columns: time in
    /// seconds from the start of the run, and attenuation in dB. Any spacing is allowed, with
    /// linear interpolation between samples. A file name in a scenario is relative to the scenario
    /// file, one in an override to the current directory. Default: clear sky.
    pub attenuation: Option<Attenuation>,
    /// Noise temperature of the receiver in clear sky in K. Rain with an attenuation of A dB adds
    /// 275 (1 - 10^(-A/10)) K. Default: rain adds no noise.
    #[schemars(range(max = 100_000), extend("exclusiveMinimum" = 0))]
    pub system_temperature: Option<f64>,
    /// Loss of lock of the demodulator. All packets are lost until it has the signal again.
    /// Default: it never loses lock.
    pub lock: Option<Lock>,
}

/// A signal and a modem that adapts to it (ACM). The rate of the direction follows from both.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signal {
    /// Es/N0 in clear sky in dB, Es being the energy of a symbol.
    #[schemars(range(min = -20, max = 100))]
    pub es_n0: f64,
    /// Modem with adaptive coding and modulation: it sends what the signal allows, so that a fade
    /// takes rate before it takes packets. A name stands for the modem with its defaults, and a
    /// table sets parameters. It replaces `rate`.
    pub modem: Modem,
    /// Attenuation by rain: see the channel with `eb_n0`.
    pub attenuation: Option<Attenuation>,
    /// Noise temperature of the receiver in clear sky in K: see the channel with `eb_n0`.
    #[schemars(range(max = 100_000), extend("exclusiveMinimum" = 0))]
    pub system_temperature: Option<f64>,
}

/// A modem by its name, or with parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Modem {
    Name(ModemName),
    Table(link::Modem),
}

/// The name of a modem.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ModemName(String);

impl JsonSchema for ModemName {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ModemName".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names = link::Modem::all().map(|modem| modem.name());
        schemars::json_schema!({ "type": "string", "enum": names })
    }
}

impl Default for Modem {
    fn default() -> Self {
        Self::Name(ModemName(link::Modem::all()[0].name().to_owned()))
    }
}

impl Modem {
    /// The modem with its parameters.
    pub fn resolve(&self) -> link::Modem {
        let all = link::Modem::all();
        match self {
            Self::Name(ModemName(name)) => {
                all.into_iter().find(|one| one.name() == name).unwrap_or(all[0])
            }
            Self::Table(modem) => *modem,
        }
    }
}

/// The name of a code.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct CodeName(pub String);

/// Decibels, a file, or a table with a file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Attenuation {
    Constant(#[schemars(range(min = 0, max = 200))] f64),
    File(FileName),
    Series(Series),
}

/// A file with an attenuation series, and what to do where it has no samples.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Series {
    /// Name of the file.
    pub file: FileName,
    /// `"hold"`: the first value applies before the first sample, the last one after the last
    /// sample. Default: a series that does not cover the whole `duration` is rejected. A sample
    /// covers its step, so one step may be missing at each end.
    pub outside: Option<Hold>,
    /// `"interpolate"`: missing samples are interpolated. Default: a series with the same step
    /// between nearly all samples and a longer step between others is rejected.
    pub gaps: Option<Interpolate>,
}

/// Loss of lock.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lock {
    /// Eb/N0 in dB below which lock is lost.
    #[schemars(range(min = -20, max = 100))]
    pub threshold: f64,
    /// Margin in dB by which Eb/N0 must exceed the threshold to regain lock. The default is our
    /// choice.
    #[serde(default = "default_hysteresis")]
    #[schemars(range(min = 0, max = 50))]
    pub hysteresis: f64,
    /// Time for which Eb/N0 must stay above that level until lock is regained. The default is our
    /// choice.
    #[serde(default = "default_reacquisition")]
    pub reacquisition: Span,
}

fn default_hysteresis() -> f64 {
    1.0
}

fn default_reacquisition() -> Span {
    Span::from_secs(5)
}
