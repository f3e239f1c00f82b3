//! Frames of the physical layer of DVB-S2: how many bytes each modulation and code carries in a
//! frame, and how many symbols the frame has.
//!
//! Sources: ETSI EN 302 307-1, tables 5a and 5b (bits of an uncoded block), sections 5.1.6
//! (base-band header), 5.5 (slots of 90 symbols, one of them the header, 36 pilot symbols behind
//! each 16 slots). Blocks of short frames and the rule of pilots were compared with SNS3
//! (sns3/sns3-satellite, model/satellite-bbframe-conf.cc). Blocks of normal frames follow from the
//! efficiencies of [`link::Modcod`], so that no table stands twice.

use link::Modcod;

/// Symbols of a slot, and of the header of a frame.
const SLOT: u32 = 90;
/// Bits of the base-band header.
const BASE_BAND_HEADER: u32 = 80;
/// Symbols of pilots behind each 16 slots.
const PILOTS: u32 = 36;
/// Symbols of a dummy frame: 36 slots and its header.
pub const DUMMY_SYMBOLS: u32 = SLOT * 37;

/// Length of coded blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "lowercase"),
    schemars(inline)
)]
pub enum FrameLength {
    /// 64,800 bits.
    #[default]
    Normal,
    /// 16,200 bits.
    Short,
}

/// Bits of uncoded blocks of short frames, by code.
const SHORT_BLOCKS: [(&str, u32); 10] = [
    ("1/4", 3072),
    ("1/3", 5232),
    ("2/5", 6312),
    ("1/2", 7032),
    ("3/5", 9552),
    ("2/3", 10_632),
    ("3/4", 11_712),
    ("4/5", 12_432),
    ("5/6", 13_152),
    ("8/9", 14_232),
];

/// A frame of a modulation and code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Bytes of its data field, without the base-band header.
    pub bytes: u32,
    /// Its symbols, with header and pilots.
    pub symbols: u32,
}

impl Frame {
    /// The frame of a modulation and code; `None` if it has none of this length.
    pub fn of(modcod: &Modcod, length: FrameLength, pilots: bool) -> Option<Self> {
        let bits = modcod.bits_per_symbol();
        let coded = match length {
            FrameLength::Normal => 64_800,
            FrameLength::Short => 16_200,
        };
        // Only 128APSK leaves a part of a slot.
        let slots = u32::div_ceil(coded, bits * SLOT);
        let plain = SLOT * (slots + 1);
        let data_bits = match length {
            FrameLength::Normal => normal_data_bits(modcod, plain),
            FrameLength::Short => short_block(modcod)? - BASE_BAND_HEADER,
        };
        let pilots = if pilots { PILOTS * ((slots - 1) / 16) } else { 0 };
        Some(Self { bytes: data_bits / 8, symbols: plain + pilots })
    }

    /// Bits of its data field in a symbol.
    pub fn efficiency(&self) -> f64 {
        f64::from(self.bytes) * 8.0 / f64::from(self.symbols)
    }
}

/// Bits of the data field of a normal frame with this number of symbols without pilots.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "fewer than 64,800")]
fn normal_data_bits(modcod: &Modcod, symbols: u32) -> u32 {
    (modcod.efficiency * f64::from(symbols)).round() as u32
}

fn short_block(modcod: &Modcod) -> Option<u32> {
    SHORT_BLOCKS.iter().find(|(code, _)| *code == modcod.code()).map(|(_, bits)| *bits)
}

#[cfg(test)]
mod tests {
    use link::Modem;

    use super::*;

    fn modcod(name: &str) -> Modcod {
        let all = Modem::all().map(|modem| modem.modcods()).concat();
        // The list of a modem leaves out some that are worse than another one.
        all.into_iter().find(|one| one.name == name).unwrap_or_else(|| panic!("{name}"))
    }

    fn frame(name: &str, length: FrameLength, pilots: bool) -> Frame {
        Frame::of(&modcod(name), length, pilots).unwrap()
    }

    /// Bits of an uncoded block for each code (EN 302 307-1 V1.4.1, table 5a), less 10 bytes.
    #[test]
    fn normal_frames_carry_the_blocks_of_the_standard() {
        let expected = [
            ("QPSK 1/4", 16_008),
            ("QPSK 1/3", 21_408),
            ("QPSK 2/5", 25_728),
            ("QPSK 1/2", 32_208),
            ("QPSK 3/5", 38_688),
            ("8PSK 2/3", 43_040),
            ("16APSK 3/4", 48_408),
            ("32APSK 4/5", 51_648),
            ("32APSK 5/6", 53_840),
            ("32APSK 8/9", 57_472),
            ("32APSK 9/10", 58_192),
        ];
        for (name, block) in expected {
            assert_eq!(frame(name, FrameLength::Normal, true).bytes, block / 8 - 10, "{name}");
        }
    }

    #[test]
    fn short_frames_carry_the_blocks_of_the_standard() {
        let bytes = |name| frame(name, FrameLength::Short, true).bytes;
        let names = ["QPSK 1/4", "QPSK 1/2", "8PSK 2/3", "16APSK 5/6", "32APSK 8/9"];
        assert_eq!(names.map(bytes), [374, 869, 1319, 1634, 1769]);
        assert_eq!(Frame::of(&modcod("32APSK 9/10"), FrameLength::Short, true), None);
    }

    #[test]
    fn symbols_are_slots_with_a_header_and_pilots() {
        let names = ["QPSK 1/2", "8PSK 2/3", "16APSK 3/4", "32APSK 4/5"];
        let symbols = |length, pilots| names.map(|name| frame(name, length, pilots).symbols);
        assert_eq!(symbols(FrameLength::Normal, false), [32_490, 21_690, 16_290, 13_050]);
        assert_eq!(symbols(FrameLength::Normal, true), [33_282, 22_194, 16_686, 13_338]);
        assert_eq!(symbols(FrameLength::Short, false), [8190, 5490, 4140, 3330]);
        assert_eq!(symbols(FrameLength::Short, true), [8370, 5598, 4212, 3402]);
        assert_eq!(DUMMY_SYMBOLS, 3330);
    }

    #[test]
    fn efficiencies_with_pilots_are_those_of_normal_and_short_frames() {
        let near = |name, normal: f64, short: f64| {
            let found = [FrameLength::Normal, FrameLength::Short]
                .map(|length| frame(name, length, true).efficiency());
            let is_near = (found[0] - normal).abs() < 5e-5 && (found[1] - short).abs() < 5e-5;
            assert!(is_near, "{name}: {found:?}");
        };
        near("QPSK 1/4", 0.4786, 0.3575);
        near("QPSK 1/2", 0.9653, 0.8306);
        near("8PSK 2/3", 1.9357, 1.8850);
        near("16APSK 3/4", 2.8963, 2.7616);
        near("16APSK 5/6", 3.2219, 3.1035);
        near("32APSK 4/5", 3.8662, 3.6308);
    }

    /// The run of SNS3 that its users print: one frame at 12.5 MHz and roll-off 0.2 in 3.19507 ms.
    #[test]
    fn a_frame_lasts_as_long_as_that_of_sns3() {
        let symbols = frame("QPSK 1/2", FrameLength::Normal, true).symbols;
        assert!((f64::from(symbols) / (12.5e6 / 1.2) * 1e3 - 3.19507).abs() < 1e-5);
    }

    /// SNS3's issue 68: QPSK 1/2 at 100 MHz and roll-off 0.2. Its MAC layer has 78,480 kbit/s; the
    /// rest is control.
    #[test]
    fn the_capacity_of_the_example_of_sns3_is_that_of_its_blocks() {
        let capacity = frame("QPSK 1/2", FrameLength::Normal, true).efficiency() * 100e6 / 1.2;
        assert!((capacity / 1e6 - 80.44).abs() < 0.005, "{capacity}");
        assert!((78.48e6 / capacity - 1.0).abs() < 0.035);
    }

    /// The efficiencies of the tables contain the headers, and no pilots.
    #[test]
    fn frames_of_dvb_s2x_are_whole_bytes_too() {
        for modcod in Modem::all()[1].modcods() {
            let frame = Frame::of(&modcod, FrameLength::Normal, false).unwrap();
            let difference = frame.efficiency() - modcod.efficiency;
            assert!(difference.abs() < 2e-6, "{}: {difference}", modcod.name);
        }
    }
}
