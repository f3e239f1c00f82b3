//! Modulations and codes of DVB-S2 and DVB-S2X, with what they carry and what they need.
//!
//! Normal FECFRAMEs of 64,800 bits without pilots, in white Gaussian noise, at a quasi error free
//! operation. Efficiencies contain the headers of base-band and physical layer frames.
//!
//! Sources: EN 302 307-1 V1.4.1, table 13; EN 302 307-2 V1.1.1, table 20a. The values of the second
//! were taken from `pylink` (github.com/harrison-caudill/pylink, `pylink/modulation.py`), which
//! cites it.

/// A modulation with a code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modcod {
    /// Its name in the standard.
    pub name: &'static str,
    /// Bits per symbol.
    pub efficiency: f64,
    /// Es/N0 in dB that it needs, Es being the energy of a symbol.
    pub threshold: f64,
}

impl Modcod {
    /// Bits of a symbol of its constellation.
    pub fn bits_per_symbol(&self) -> u32 {
        let points = self.name.split(|c: char| !c.is_ascii_digit()).next();
        // QPSK has no number of points in its name.
        points.and_then(|points| points.parse().ok()).map_or(2, |points: u32| points.ilog2())
    }

    /// Its code: the rate as the standard writes it.
    pub fn code(&self) -> &'static str {
        self.name.split_once(' ').map_or("", |(_, code)| code)
    }
}

const fn modcod(name: &'static str, efficiency: f64, threshold: f64) -> Modcod {
    Modcod { name, efficiency, threshold }
}

/// Those of DVB-S2.
pub(super) const DVB_S2: [Modcod; 28] = [
    modcod("QPSK 1/4", 0.490_243, -2.35),
    modcod("QPSK 1/3", 0.656_448, -1.24),
    modcod("QPSK 2/5", 0.789_412, -0.30),
    modcod("QPSK 1/2", 0.988_858, 1.00),
    modcod("QPSK 3/5", 1.188_304, 2.23),
    modcod("QPSK 2/3", 1.322_253, 3.10),
    modcod("QPSK 3/4", 1.487_473, 4.03),
    modcod("QPSK 4/5", 1.587_196, 4.68),
    modcod("QPSK 5/6", 1.654_663, 5.18),
    modcod("QPSK 8/9", 1.766_451, 6.20),
    modcod("QPSK 9/10", 1.788_612, 6.42),
    modcod("8PSK 3/5", 1.779_991, 5.50),
    modcod("8PSK 2/3", 1.980_636, 6.62),
    modcod("8PSK 3/4", 2.228_124, 7.91),
    modcod("8PSK 5/6", 2.478_562, 9.35),
    modcod("8PSK 8/9", 2.646_012, 10.69),
    modcod("8PSK 9/10", 2.679_207, 10.98),
    modcod("16APSK 2/3", 2.637_201, 8.97),
    modcod("16APSK 3/4", 2.966_728, 10.21),
    modcod("16APSK 4/5", 3.165_623, 11.03),
    modcod("16APSK 5/6", 3.300_184, 11.61),
    modcod("16APSK 8/9", 3.523_143, 12.89),
    modcod("16APSK 9/10", 3.567_342, 13.13),
    modcod("32APSK 3/4", 3.703_295, 12.73),
    modcod("32APSK 4/5", 3.951_571, 13.64),
    modcod("32APSK 5/6", 4.119_540, 14.28),
    modcod("32APSK 8/9", 4.397_854, 15.69),
    modcod("32APSK 9/10", 4.453_027, 16.05),
];

/// Those that DVB-S2X adds. An L stands for a constellation for linear channels.
pub(super) const DVB_S2X: [Modcod; 39] = [
    modcod("QPSK 2/9", 0.434_841, -2.85),
    modcod("QPSK 13/45", 0.567_805, -2.03),
    modcod("QPSK 9/20", 0.889_135, 0.22),
    modcod("QPSK 11/20", 1.088_581, 1.45),
    modcod("8APSK 5/9-L", 1.647_211, 4.73),
    modcod("8APSK 26/45-L", 1.713_601, 5.13),
    modcod("8PSK 23/36", 1.896_173, 6.12),
    modcod("8PSK 25/36", 2.062_148, 7.02),
    modcod("8PSK 13/18", 2.145_136, 7.49),
    modcod("16APSK 1/2-L", 1.972_253, 5.97),
    modcod("16APSK 8/15-L", 2.104_850, 6.55),
    modcod("16APSK 5/9-L", 2.193_247, 6.84),
    modcod("16APSK 26/45", 2.281_645, 7.51),
    modcod("16APSK 3/5", 2.370_043, 7.80),
    modcod("16APSK 3/5-L", 2.370_043, 7.41),
    modcod("16APSK 28/45", 2.458_441, 8.10),
    modcod("16APSK 23/36", 2.524_739, 8.38),
    modcod("16APSK 2/3-L", 2.635_236, 8.43),
    modcod("16APSK 25/36", 2.745_734, 9.27),
    modcod("16APSK 13/18", 2.856_231, 9.71),
    modcod("16APSK 7/9", 3.077_225, 10.65),
    modcod("16APSK 77/90", 3.386_618, 11.99),
    modcod("32APSK 2/3-L", 3.289_502, 11.10),
    modcod("32APSK 32/45", 3.510_192, 11.75),
    modcod("32APSK 11/15", 3.620_536, 12.17),
    modcod("32APSK 7/9", 3.841_226, 13.05),
    modcod("64APSK 32/45-L", 4.206_428, 13.98),
    modcod("64APSK 11/15", 4.338_659, 14.81),
    modcod("64APSK 7/9", 4.603_122, 15.47),
    modcod("64APSK 4/5", 4.735_354, 15.87),
    modcod("64APSK 5/6", 4.933_701, 16.55),
    modcod("128APSK 3/4", 5.163_248, 17.73),
    modcod("128APSK 7/9", 5.355_556, 18.53),
    modcod("256APSK 29/45-L", 5.065_690, 16.98),
    modcod("256APSK 2/3-L", 5.241_514, 17.24),
    modcod("256APSK 31/45-L", 5.417_338, 18.10),
    modcod("256APSK 32/45", 5.593_162, 18.59),
    modcod("256APSK 11/15-L", 5.768_987, 18.84),
    modcod("256APSK 3/4", 5.900_855, 19.57),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits of an uncoded block for each code (EN 302 307-1 V1.4.1, table 5a).
    const BLOCKS: [(&str, f64); 11] = [
        ("1/4", 16_008.0),
        ("1/3", 21_408.0),
        ("2/5", 25_728.0),
        ("1/2", 32_208.0),
        ("3/5", 38_688.0),
        ("2/3", 43_040.0),
        ("3/4", 48_408.0),
        ("4/5", 51_648.0),
        ("5/6", 53_840.0),
        ("8/9", 57_472.0),
        ("9/10", 58_192.0),
    ];

    /// Efficiency in bits per symbol cannot be above capacity: log2(1 + Es/N0). Codes of a standard
    /// are within 5 dB of it.
    #[test]
    fn each_modcod_is_below_capacity_and_not_far_from_it() {
        for one in DVB_S2.iter().chain(&DVB_S2X) {
            let needed = 10.0 * (2f64.powf(one.efficiency) - 1.0).log10();
            assert!((0.3..4.0).contains(&(one.threshold - needed)), "{}: {needed}", one.name);
        }
    }

    /// The efficiency is that of its code and constellation, less the headers.
    #[test]
    fn each_efficiency_fits_the_name() {
        for one in DVB_S2.iter().chain(&DVB_S2X) {
            let (constellation, code) = one.name.split_once(' ').unwrap();
            let points: String = constellation.chars().take_while(char::is_ascii_digit).collect();
            let points: f64 = points.parse().unwrap_or(4.0);
            let (over, under) = code.trim_end_matches("-L").split_once('/').unwrap();
            let rate = over.parse::<f64>().unwrap() / under.parse::<f64>().unwrap();
            let share = one.efficiency / (points.log2() * rate);
            assert!((0.96..1.0).contains(&share), "{}: {share}", one.name);
        }
    }

    /// A block without its header of 80 bits, in slots of 90 symbols, of which the header takes one
    /// (EN 302 307-1 sections 5.1.6 and 5.5).
    #[test]
    fn the_efficiencies_of_dvb_s2_are_those_of_its_frames() {
        for Modcod { name, efficiency, .. } in DVB_S2 {
            let (modulation, code) = name.split_once(' ').unwrap();
            let (_, block) = BLOCKS.iter().find(|(rate, _)| *rate == code).unwrap();
            let points: String = modulation.chars().take_while(char::is_ascii_digit).collect();
            let points: f64 = points.parse().unwrap_or(4.0);
            let slots = 64_800.0 / points.log2() / 90.0;
            let expected = (block - 80.0) / (90.0 * (slots + 1.0));
            assert!((efficiency - expected).abs() < 1e-6, "{name}: {efficiency} for {expected}");
        }
    }
}
