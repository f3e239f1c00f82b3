//! Bit error rates of QPSK over additive white Gaussian noise (AWGN), without and with a code.
//!
//! Eb is the energy of an information bit, so that the curves of all codes stand over one axis.
//!
//! The uncoded curve is exact. Those of the Viterbi decoder are the union bound over the first six
//! distances of the code: tight below a BER of 1e-3, and useless far above, where it is capped. The
//! two modem curves are straight lines through two guaranteed points of a data sheet; between and
//! beyond these points they are ours.

/// Error-correcting codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Gray-coded QPSK alone.
    Uncoded,
    /// Rate 3/4 by a sequential decoder, as a modem of 1544 kbit/s guarantees it.
    Sequential,
    /// Rate 3/4 by a Viterbi decoder of constraint length 7 with soft decisions, in theory.
    Viterbi,
    /// Rate 1/2, of the same decoder.
    ViterbiHalf,
    /// Rate 2/3, of the same decoder.
    ViterbiTwoThirds,
    /// Rate 7/8, of the same decoder.
    ViterbiSevenEighths,
    /// The same as a modem guarantees it.
    ViterbiModem,
}

/// A convolutional code with its distances.
struct Spectrum {
    rate: f64,
    /// Information bits per period of the puncturing pattern.
    period: f64,
    /// Distance and information bits in error of all paths at it, per period.
    paths: [(f64, f64); 6],
}

/// The code with the generators 171 and 133 (octal) and its punctured forms, as DVB-S has them (EN
/// 300 421, table 2). The distances were computed from the trellis, and are those of Haccoun and
/// Begin, IEEE Transactions on Communications 37(11), 1989.
const HALF: Spectrum = Spectrum {
    rate: 1.0 / 2.0,
    period: 1.0,
    paths: [
        (10.0, 36.0),
        (12.0, 211.0),
        (14.0, 1404.0),
        (16.0, 11_633.0),
        (18.0, 77_433.0),
        (20.0, 502_690.0),
    ],
};
/// Punctured 10 and 11.
const TWO_THIRDS: Spectrum = Spectrum {
    rate: 2.0 / 3.0,
    period: 2.0,
    paths: [(6.0, 3.0), (7.0, 70.0), (8.0, 285.0), (9.0, 1276.0), (10.0, 6160.0), (11.0, 27_128.0)],
};
/// Punctured 101 and 110.
const THREE_QUARTERS: Spectrum = Spectrum {
    rate: 3.0 / 4.0,
    period: 3.0,
    paths: [
        (5.0, 42.0),
        (6.0, 201.0),
        (7.0, 1492.0),
        (8.0, 10_469.0),
        (9.0, 62_935.0),
        (10.0, 379_546.0),
    ],
};
/// Punctured 1000101 and 1111010.
const SEVEN_EIGHTHS: Spectrum = Spectrum {
    rate: 7.0 / 8.0,
    period: 7.0,
    paths: [
        (3.0, 9.0),
        (4.0, 500.0),
        (5.0, 7437.0),
        (6.0, 105_707.0),
        (7.0, 1_402_089.0),
        (8.0, 17_888_043.0),
    ],
};

impl Spectrum {
    /// The union bound over these distances, for soft decisions.
    fn bit_error_rate(&self, ratio: f64) -> f64 {
        let paths = |(d, bits): (f64, f64)| bits * q(libm::sqrt(2.0 * d * self.rate * ratio));
        self.paths.map(paths).iter().sum::<f64>() / self.period
    }
}

/// Below this Eb/N0 in dB a sequential decoder cannot keep up with its input and gives up.
const SEQUENTIAL_OVERFLOW: f64 = 5.5;

/// Two points of a data sheet: Eb/N0 in dB and log10 of the BER.
type Points = [(f64, f64); 2];
/// Comtech EF Data SDM-650B manual, page 31, rate 3/4 at 1544 kbit/s.
const SEQUENTIAL: Points = [(6.3, -5.0), (7.1, -7.0)];
/// Comtech EF Data SDM-100A, rate 3/4.
const VITERBI_MODEM: Points = [(6.8, -5.0), (8.3, -7.0)];

/// Bit error rate of a decoder that has given up.
const GUESSES: f64 = 0.5;

impl Code {
    /// All codes with their names in a scenario.
    pub const ALL: [(&str, Self); 7] = [
        ("uncoded", Self::Uncoded),
        ("sequential-3/4", Self::Sequential),
        ("viterbi-1/2", Self::ViterbiHalf),
        ("viterbi-2/3", Self::ViterbiTwoThirds),
        ("viterbi-3/4", Self::Viterbi),
        ("viterbi-7/8", Self::ViterbiSevenEighths),
        ("viterbi-3/4-modem", Self::ViterbiModem),
    ];

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, code)| *code == self).map_or("", |(name, _)| name)
    }

    /// Wrong bits in one error event, if nothing else is known. Without a code, errors come
    /// alone; a decoder that leaves the right path delivers a burst. 7 is what was counted for
    /// the Viterbi decoder at rate 3/4, and our guess for the sequential one.
    pub fn errors_per_event(self) -> f64 {
        match self {
            Self::Uncoded => 1.0,
            Self::Sequential
            | Self::Viterbi
            | Self::ViterbiHalf
            | Self::ViterbiTwoThirds
            | Self::ViterbiSevenEighths
            | Self::ViterbiModem => 7.0,
        }
    }

    /// Bit error rate at `eb_n0` dB. It never rises with `eb_n0`.
    pub fn bit_error_rate(self, eb_n0: f64) -> f64 {
        let ratio = libm::exp10(eb_n0 / 10.0);
        let ber = match self {
            Self::Uncoded => q(libm::sqrt(2.0 * ratio)),
            Self::Sequential if eb_n0 < SEQUENTIAL_OVERFLOW => GUESSES,
            Self::Sequential => line(SEQUENTIAL, eb_n0),
            Self::Viterbi => THREE_QUARTERS.bit_error_rate(ratio),
            Self::ViterbiHalf => HALF.bit_error_rate(ratio),
            Self::ViterbiTwoThirds => TWO_THIRDS.bit_error_rate(ratio),
            Self::ViterbiSevenEighths => SEVEN_EIGHTHS.bit_error_rate(ratio),
            Self::ViterbiModem => line(VITERBI_MODEM, eb_n0),
        };
        ber.min(GUESSES)
    }
}

/// The upper tail of the Gaussian distribution.
fn q(x: f64) -> f64 {
    0.5 * libm::erfc(x / core::f64::consts::SQRT_2)
}

/// The BER on the line through two points.
fn line([(x0, y0), (x1, y1)]: Points, eb_n0: f64) -> f64 {
    libm::exp10(y0 + (y1 - y0) / (x1 - x0) * (eb_n0 - x0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Eb/N0 in dB at which a code reaches a BER.
    fn needed(code: Code, ber: f64) -> f64 {
        let (mut low, mut high) = (0.0, 20.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if code.bit_error_rate(middle) > ber { low = middle } else { high = middle }
        }
        low
    }

    #[test]
    fn each_code_needs_the_published_eb_n0() {
        let table = [
            (1e-3, 6.79, 3.73),
            (1e-4, 8.40, 4.44),
            (1e-5, 9.59, 5.13),
            (1e-6, 10.53, 5.78),
            (1e-7, 11.31, 6.37),
            (1e-8, 11.97, 6.92),
        ];
        for (ber, uncoded, viterbi) in table {
            for (code, expected) in [(Code::Uncoded, uncoded), (Code::Viterbi, viterbi)] {
                let computed = needed(code, ber);
                assert!((computed - expected).abs() < 0.006, "{code:?} at {ber}: {computed} dB");
            }
        }
    }

    /// Eb/N0 in dB for a BER of 1e-5 and of 1e-7. Soft decisions of rate 1/2 reach 1e-5 at 4.2 dB
    /// with three bits of quantisation (Proakis, Digital Communications), a quarter of a decibel
    /// less without; weaker codes need more.
    #[test]
    fn weaker_codes_need_more() {
        let codes = [Code::ViterbiHalf, Code::ViterbiTwoThirds, Code::Viterbi];
        let codes = codes.into_iter().chain([Code::ViterbiSevenEighths, Code::Uncoded]);
        for ber in [1e-5, 1e-7] {
            let needed: Vec<_> = codes.clone().map(|code| needed(code, ber)).collect();
            assert!(needed.is_sorted(), "{ber}: {needed:?}");
        }
        let half = needed(Code::ViterbiHalf, 1e-5);
        assert!((half - 4.2).abs() < 0.3, "{half}");
        // DVB-S needs 4.5 and 6.4 dB for 2e-4 behind the inner decoder at rates 1/2 and 7/8, with
        // an implementation margin of 0.8 dB and the outer code's 0.36 dB (EN 300 421, table 5).
        for (code, required) in [(Code::ViterbiHalf, 4.5), (Code::ViterbiSevenEighths, 6.4)] {
            let found = needed(code, 2e-4) + 0.8 + 0.36;
            assert!((found - required).abs() < 0.4, "{code:?}: {found}");
        }
    }

    #[test]
    fn a_modem_keeps_what_its_data_sheet_guarantees() {
        let guaranteed = [
            (Code::Sequential, 6.3, 1e-5),
            (Code::Sequential, 7.1, 1e-7),
            (Code::ViterbiModem, 6.8, 1e-5),
            (Code::ViterbiModem, 8.3, 1e-7),
        ];
        for (code, eb_n0, ber) in guaranteed {
            let computed = code.bit_error_rate(eb_n0);
            assert!((computed / ber - 1.0).abs() < 1e-9, "{code:?} at {eb_n0} dB: {computed}");
        }
    }

    /// Counted with a decoder: soft decisions, rate 3/4. Few events were counted below 1e-5.
    #[test]
    fn the_union_bound_is_near_what_a_decoder_does() {
        for (eb_n0, counted) in [(4.0, 4.4e-4), (4.5, 9.2e-5), (5.0, 2.1e-5)] {
            let bound = Code::Viterbi.bit_error_rate(eb_n0);
            assert!((0.6..2.0).contains(&(bound / counted)), "{eb_n0} dB: {bound}");
        }
    }

    #[test]
    fn a_sequential_decoder_gives_up_where_it_overflows() {
        assert_eq!(Code::Sequential.bit_error_rate(5.49), 0.5);
        assert!(Code::Sequential.bit_error_rate(SEQUENTIAL_OVERFLOW) < 2e-3);
    }

    proptest! {
        #[test]
        fn a_better_signal_never_has_more_errors(
            code in prop::sample::select(Code::ALL.map(|(_, code)| code).to_vec()),
            eb_n0 in -20.0..40.0f64, more in 0.0..5.0f64,
        ) {
            let (worse, better) = (code.bit_error_rate(eb_n0), code.bit_error_rate(eb_n0 + more));
            prop_assert!((0.0..=0.5).contains(&worse) && better <= worse, "{worse} {better}");
        }
    }
}
