//! Linear waveforms of DVB-RCS2: what a burst carries and which Es/N0 it needs.
//!
//! Source: the linear modulation bursts of ETSI EN 301 545-2, waveforms 3 to 22 without
//! transmission security. Payloads and symbols were taken from SNS3 (sns3/sns3-satellite,
//! dvbRcs2Waveforms.txt), and Es/N0 from OpenSAND (CNES/opensand, topology.xml), whose values agree
//! with SNS3's link curves within 0.11 dB. The standard itself was not available.

use super::rle;

/// Length of bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "lowercase"),
    schemars(inline)
)]
pub enum BurstLength {
    /// 536 symbols.
    Short,
    /// 1616 symbols.
    #[default]
    Long,
}

impl BurstLength {
    /// Symbols of a burst.
    pub fn symbols(self) -> u32 {
        match self {
            Self::Short => 536,
            Self::Long => 1616,
        }
    }

    /// The waveforms of this length, the most robust first.
    pub fn waveforms(self) -> &'static [Waveform] {
        match self {
            Self::Short => &SHORT,
            Self::Long => &LONG,
        }
    }

    /// The most efficient waveform for an Es/N0 in dB; `None` if none fits.
    pub fn best(self, es_n0: f64) -> Option<&'static Waveform> {
        self.waveforms().iter().rfind(|one| one.threshold <= es_n0)
    }
}

/// A waveform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waveform {
    /// Its number in the standard.
    pub id: u8,
    /// Modulation and code.
    pub name: &'static str,
    /// Bytes of a burst.
    pub payload: u32,
    /// Es/N0 in dB that it needs.
    pub threshold: f64,
}

impl Waveform {
    /// Bytes of a long packet that a burst carries, between its first fragment and its last.
    pub fn net_bytes(&self) -> u32 {
        self.payload - rle::BURST - rle::MIDDLE
    }

    /// Bits of its payload in a symbol of a burst.
    pub fn efficiency(&self, length: BurstLength) -> f64 {
        f64::from(8 * self.payload) / f64::from(length.symbols())
    }
}

const fn waveform(id: u8, name: &'static str, payload: u32, threshold: f64) -> Waveform {
    Waveform { id, name, payload, threshold }
}

const SHORT: [Waveform; 10] = [
    waveform(3, "QPSK 1/3", 38, 0.22),
    waveform(4, "QPSK 1/2", 59, 2.34),
    waveform(5, "QPSK 2/3", 85, 4.29),
    waveform(6, "QPSK 3/4", 96, 5.36),
    waveform(7, "QPSK 5/6", 108, 6.68),
    waveform(8, "8PSK 2/3", 115, 8.08),
    waveform(9, "8PSK 3/4", 130, 9.31),
    waveform(10, "8PSK 5/6", 144, 10.82),
    waveform(11, "16QAM 3/4", 175, 11.17),
    waveform(12, "16QAM 5/6", 194, 12.56),
];

const LONG: [Waveform; 10] = [
    waveform(13, "QPSK 1/3", 123, -0.51),
    waveform(14, "QPSK 1/2", 188, 1.71),
    waveform(15, "QPSK 2/3", 264, 3.69),
    waveform(16, "QPSK 3/4", 298, 4.73),
    waveform(17, "QPSK 5/6", 333, 5.94),
    waveform(18, "8PSK 2/3", 355, 7.49),
    waveform(19, "8PSK 3/4", 400, 8.77),
    waveform(20, "8PSK 5/6", 444, 10.23),
    waveform(21, "16QAM 3/4", 539, 10.72),
    waveform(22, "16QAM 5/6", 599, 12.04),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Net bits in a symbol, as the sheet of the sources has them.
    #[test]
    fn efficiencies_are_those_of_the_waveforms() {
        let expected = [
            (
                BurstLength::Short,
                [0.567, 0.881, 1.269, 1.433, 1.612, 1.716, 1.940, 2.149, 2.612, 2.896],
            ),
            (
                BurstLength::Long,
                [0.609, 0.931, 1.307, 1.475, 1.649, 1.757, 1.980, 2.198, 2.668, 2.965],
            ),
        ];
        for (length, expected) in expected {
            for (one, expected) in length.waveforms().iter().zip(expected) {
                assert!((one.efficiency(length) - expected).abs() < 6e-4, "{}", one.id);
            }
        }
    }

    #[test]
    fn the_best_waveform_is_the_last_that_fits() {
        assert_eq!(BurstLength::Long.best(-0.6), None);
        assert_eq!(BurstLength::Long.best(8.0).map(|one| one.id), Some(18));
        assert_eq!(BurstLength::Short.best(50.0).map(|one| one.id), Some(12));
    }
}
