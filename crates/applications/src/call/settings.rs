//! Settings of a call: codec, packets and jitter buffer.

use units::{Rate, Span};

/// Bytes of the header of RTP (RFC 3550), which each packet has before its speech.
pub const RTP_HEADER: u64 = 12;

/// A codec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "kebab-case"), schemars(inline))]
pub enum Codec {
    /// G.711 at 64 kbit/s without concealment of losses (G.113: Ie 0, Bpl 4.3).
    #[default]
    G711,
    /// G.711 with concealment of losses (G.113: Ie 0, Bpl 25.1).
    G711Plc,
    /// G.729 Annex A at 8 kbit/s (G.113: Ie 11, Bpl 19). Packets are sent in silence too.
    G729a,
    /// Opus (RFC 6716). ITU-T has published no Ie and Bpl for it.
    Opus,
}

/// The rule of the jitter buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(untagged), schemars(inline))]
pub enum JitterBuffer {
    /// Twice the interarrival jitter after the mean delay, as OpenBACH counts. No packet is late.
    TwiceJitter(TwiceJitter),
    /// A time after the smallest delay. Packets that arrive later are lost.
    Fixed(#[cfg_attr(feature = "schema", schemars(extend("x-maximum" = "10s")))] Span),
}

/// A word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "kebab-case"), schemars(inline))]
pub enum TwiceJitter {
    /// `"twice-jitter"`.
    TwiceJitter,
}

/// A voice call between both nodes of the flow. Both send all the time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(default, deny_unknown_fields))]
pub struct Settings {
    /// The codec. The default is G.711, the reference of the E-model.
    pub codec: Codec,
    /// Bit rate of Opus. Default: 24kbit/s. Other codecs have a fixed rate.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "6kbit/s", "x-maximum" = "510kbit/s")))]
    pub bitrate: Option<Rate>,
    /// Speech in a packet. The default is that of RFC 3551.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "10ms", "x-maximum" = "60ms")))]
    pub frame: Span,
    /// Duration of the call. Default: until the flow stops.
    #[cfg_attr(feature = "schema", schemars(extend("x-minimum" = "1s")))]
    pub duration: Option<Span>,
    /// Jitter buffer: a time after the smallest delay, after which packets count as lost, or
    /// `"twice-jitter"`. The default is our choice.
    pub jitter_buffer: JitterBuffer,
    /// Equipment impairment factor of the codec (Ie). Default: that of ITU-T G.113, and none for
    /// Opus.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 95)))]
    pub ie: Option<f64>,
    /// Packet-loss robustness factor of the codec (Bpl). Default: as `ie`.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100)))]
    pub bpl: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            codec: Codec::default(),
            bitrate: None,
            frame: Span::from_millis(20),
            duration: None,
            jitter_buffer: JitterBuffer::Fixed(Span::from_millis(40)),
            ie: None,
            bpl: None,
        }
    }
}

impl Codec {
    /// Name in the field's notation.
    pub fn name(self) -> &'static str {
        match self {
            Self::G711 => "G.711",
            Self::G711Plc => "G.711 with concealment",
            Self::G729a => "G.729A",
            Self::Opus => "Opus",
        }
    }

    /// Bit rate of speech if it is fixed.
    pub fn fixed_rate(self) -> Option<Rate> {
        match self {
            Self::G711 | Self::G711Plc => Some(Rate::from_bits_per_second(64_000)),
            Self::G729a => Some(Rate::from_bits_per_second(8000)),
            Self::Opus => None,
        }
    }

    /// Speech that the encoder needs beyond a packet: G.729 section 2.1, RFC 6716 section 2.
    fn look_ahead(self) -> Span {
        match self {
            Self::G711 | Self::G711Plc => Span::ZERO,
            Self::G729a => Span::from_millis(5),
            Self::Opus => Span::from_nanos(6_500_000),
        }
    }

    /// Ie and Bpl of G.113.
    fn impairment(self) -> Option<(f64, f64)> {
        match self {
            Self::G711 => Some((0.0, 4.3)),
            Self::G711Plc => Some((0.0, 25.1)),
            Self::G729a => Some((11.0, 19.0)),
            Self::Opus => None,
        }
    }
}

impl Settings {
    /// Bit rate of speech.
    pub fn rate(&self) -> Rate {
        let opus = self.bitrate.unwrap_or(Rate::from_bits_per_second(24_000));
        self.codec.fixed_rate().unwrap_or(opus)
    }

    /// Bytes of the payload of a packet of UDP: the header of RTP, and speech in whole bytes.
    pub fn payload(&self) -> u64 {
        let bits = u128::from(self.rate().bits_per_second()) * u128::from(self.frame.as_nanos());
        let speech = bits.div_ceil(8 * 1_000_000_000);
        RTP_HEADER + u64::try_from(speech).unwrap_or(u64::MAX)
    }

    /// Bit rate of the payload of packets.
    pub fn payload_rate(&self) -> Rate {
        let bits = u128::from(self.payload()) * 8_000_000_000 / u128::from(self.frame.as_nanos());
        Rate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX))
    }

    /// Delay of the ends: the speech of a packet, and the look-ahead of the codec.
    pub fn delay(&self) -> Span {
        self.frame + self.codec.look_ahead()
    }

    /// Equipment impairment factor Ie and packet-loss robustness Bpl (G.107), which have no unit;
    /// `None` if they are not known.
    pub fn impairment(&self) -> Option<(f64, f64)> {
        let known = self.codec.impairment();
        let ie = self.ie.or(known.map(|(ie, _)| ie))?;
        let bpl = self.bpl.or(known.map(|(_, bpl)| bpl))?;
        Some((ie, bpl))
    }
}
