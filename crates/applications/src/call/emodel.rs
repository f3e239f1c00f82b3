//! The E-model of ITU-T G.107 (2015) with its default values: rating factor R and mean opinion
//! score (MOS) of a call, from delay and loss.
//!
//! Equations are numbered as in the recommendation. Of the parameters only the delay, the loss, the
//! codec and the echo vary. The others have the defaults of table 2, which make R = 93.2.
//!
//! Decision: equation 7-29 was fitted to few losses in short bursts, and R is a number from 0 to
//! 100. With long bursts the equation goes far beyond its largest impairment of 95, to ratings of
//! -1,000. Here Ie-eff is at most 95 and R at least 0, so that means of ratings are about calls.

/// Defaults of table 2: loudness ratings, sidetone, noises, and the echo paths.
const SLR: f64 = 8.0;
const RLR: f64 = 2.0;
const STMR: f64 = 15.0;
const D_FACTOR: f64 = 3.0;
const TELR: f64 = 65.0;
const WEPL: f64 = 110.0;
const CIRCUIT_NOISE: f64 = -70.0;
const NOISE_FLOOR: f64 = -64.0;
const ROOM_NOISE: f64 = 35.0;
const QUANTISATION_UNITS: f64 = 1.0;

/// Delay and loss of a call, and its codec.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// One-way delay from mouth to ear in milliseconds. It is also the delay of the echo.
    pub delay_ms: f64,
    /// Packets lost and late, in per cent.
    pub loss_percent: f64,
    /// Mean length of bursts of losses, in units of that of independent losses.
    pub burst_ratio: f64,
    /// Equipment impairment factor of the codec (Ie, G.113).
    pub equipment: f64,
    /// Packet-loss robustness factor of the codec (Bpl, G.113).
    pub robustness: f64,
    /// True with the talker echo of the defaults (65 dB). False with perfect echo cancellation.
    pub has_echo: bool,
}

/// Rating factor R, from 0 to 100 (equation 7-1).
pub fn rating(conditions: &Conditions) -> f64 {
    let noise = noise();
    let signal_to_noise = 15.0 - 1.5 * (SLR + noise);
    let rating = signal_to_noise
        - simultaneous(noise, signal_to_noise, conditions)
        - delay(noise, signal_to_noise, conditions)
        - equipment(conditions);
    rating.max(0.0)
}

/// Mean opinion score of a rating factor (equation B-4).
pub fn mos(rating: f64) -> f64 {
    if rating <= 0.0 {
        return 1.0;
    }
    if rating >= 100.0 {
        return 4.5;
    }
    1.0 + 0.035 * rating + 7e-6 * rating * (rating - 60.0) * (100.0 - rating)
}

fn decibels(power: f64) -> f64 {
    10.0 * libm::log10(power)
}

fn power(decibels: f64) -> f64 {
    libm::pow(10.0, decibels / 10.0)
}

/// The sum of a power and one, of which the root is taken.
fn rooted(base: f64, exponent: f64) -> f64 {
    libm::pow(1.0 + libm::pow(base, exponent), 1.0 / exponent)
}

/// Sum of all noises at the 0 dBr point (No, equations 7-3 to 7-7).
fn noise() -> f64 {
    let overall = SLR + RLR;
    let from_room = ROOM_NOISE - SLR - D_FACTOR - 100.0
        + 0.004
            * (ROOM_NOISE - overall - D_FACTOR - 14.0)
            * (ROOM_NOISE - overall - D_FACTOR - 14.0);
    let effective = ROOM_NOISE + decibels(1.0 + power(10.0 - (STMR + D_FACTOR)));
    let at_ear = RLR - 121.0 + effective + 0.008 * (effective - 35.0) * (effective - 35.0);
    let floor = NOISE_FLOOR + RLR;
    decibels([CIRCUIT_NOISE, from_room, at_ear, floor].map(power).iter().sum())
}

/// Impairments that are simultaneous with speech (Is, equations 7-8 to 7-17).
fn simultaneous(noise: f64, signal_to_noise: f64, conditions: &Conditions) -> f64 {
    let too_loud = SLR + RLR + 0.2 * (64.0 + noise - RLR);
    let loudness = 20.0 * (rooted(too_loud / 8.0, 8.0) - too_loud / 8.0);
    let echo = if conditions.has_echo {
        libm::exp(-conditions.delay_ms / 4.0) * power(-TELR)
    } else {
        0.0
    };
    let sidetone = -decibels(power(-STMR) + echo);
    let sidetone = 12.0 * rooted((sidetone - 13.0) / 6.0, 8.0)
        - 28.0 * rooted((sidetone + 1.0) / 19.4, 35.0)
        - 13.0 * rooted((sidetone - 3.0) / 33.0, 13.0)
        + 29.0;
    let quality = 37.0 - 15.0 * decibels(QUANTISATION_UNITS) / 10.0;
    let g = 1.07 + 0.258 * quality + 0.0602 * quality * quality;
    let y = (signal_to_noise - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
    let z = 46.0 / 30.0 - g / 40.0;
    let quantisation = 1.5 * decibels(1.0 + libm::pow(10.0, y) + libm::pow(10.0, z));
    loudness + sidetone + quantisation
}

/// Impairments by delay (Id, equations 7-18 to 7-27): talker echo, listener echo, and a delay that
/// is too long without any echo. The round-trip time of the listener echo (Tr) has its default.
fn delay(noise: f64, signal_to_noise: f64, conditions: &Conditions) -> f64 {
    let one_way = conditions.delay_ms;
    // With the default Tr of 0 ms: the loop of four wires is at the ends, not on the path.
    let with_echo = 10.5 * (WEPL + 7.0);
    let half = (signal_to_noise - with_echo) / 2.0;
    let listener = half + libm::sqrt(half * half + 169.0);
    let talker = if conditions.has_echo { talker_echo(noise, one_way) } else { 0.0 };
    talker + listener + absolute_delay(one_way)
}

/// Impairment by the talker echo (Idte, equations 7-19 to 7-22).
fn talker_echo(noise: f64, one_way: f64) -> f64 {
    let loudness = TELR - 40.0 * libm::log10((1.0 + one_way / 10.0) / (1.0 + one_way / 150.0))
        + 6.0 * libm::exp(-0.3 * one_way * one_way);
    let with_echo = 80.0 + 2.5 * (loudness - 14.0);
    let without = -1.5 * (noise - RLR);
    let half = (without - with_echo) / 2.0;
    (half + libm::sqrt(half * half + 100.0) - 1.0) * (1.0 - libm::exp(-one_way))
}

/// Impairment by a long delay without echo (Idd, equations 7-27 and 7-28).
fn absolute_delay(one_way: f64) -> f64 {
    if one_way <= 100.0 {
        return 0.0;
    }
    let x = libm::log2(one_way / 100.0);
    25.0 * (rooted(x, 6.0) - 3.0 * rooted(x / 3.0, 6.0) + 2.0)
}

/// Impairment by codec and loss, at most 95 (Ie-eff, equation 7-29).
fn equipment(conditions: &Conditions) -> f64 {
    let Conditions { loss_percent, burst_ratio, equipment, robustness, .. } = *conditions;
    if loss_percent <= 0.0 {
        return equipment;
    }
    let share = loss_percent / (loss_percent / burst_ratio + robustness);
    equipment + (95.0 - equipment) * share.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest delay from mouth to ear in milliseconds at which MOS is at least `least`,
    /// without loss; `None` if no delay reaches it.
    fn longest_delay(least: f64, equipment: f64, has_echo: bool) -> Option<f64> {
        let reaches = |delay_ms: f64| {
            let conditions = Conditions {
                delay_ms,
                loss_percent: 0.0,
                burst_ratio: 1.0,
                equipment,
                robustness: 1.0,
                has_echo,
            };
            mos(rating(&conditions)) >= least
        };
        let (mut low, mut high) = (0.0, 10_000.0);
        if !reaches(low) {
            return None;
        }
        while high - low > 0.01 {
            let middle = (low + high) / 2.0;
            if reaches(middle) { low = middle } else { high = middle }
        }
        Some(low)
    }

    #[test]
    fn long_bursts_of_losses_make_no_rating_below_zero() {
        for (loss_percent, burst_ratio) in [(8.0, 40.0), (50.0, 100.0), (100.0, 1.0)] {
            let conditions = Conditions {
                delay_ms: 300.0,
                loss_percent,
                burst_ratio,
                equipment: 0.0,
                robustness: 4.3,
                has_echo: true,
            };
            assert_eq!((equipment(&conditions) <= 95.0, rating(&conditions)), (true, 0.0));
        }
    }

    /// A call of G.711 without concealment.
    fn call(delay_ms: f64, loss_percent: f64, has_echo: bool) -> Conditions {
        Conditions {
            delay_ms,
            loss_percent,
            burst_ratio: 1.0,
            equipment: 0.0,
            robustness: 4.3,
            has_echo,
        }
    }

    fn assert_near(value: f64, expected: f64, tolerance: f64, what: &str) {
        assert!((value - expected).abs() <= tolerance, "{what}: {value}, not {expected}");
    }

    /// G.107: R = 93.2 with all defaults.
    #[test]
    fn the_defaults_give_the_rating_of_the_recommendation() {
        assert_near(rating(&call(0.0, 0.0, true)), 93.2, 0.05, "R");
        assert_near(mos(93.2), 4.41, 0.005, "MOS");
    }

    /// Computed with the formulas of OpenBACH's job `voip_qoe_evaluator` and of G.107.
    #[test]
    fn delay_costs_what_the_recommendation_says() {
        let rows = [
            (150.0, 90.2, Some(4.34), 93.0, None),
            (250.0, 80.0, Some(4.03), 84.3, Some(4.18)),
            (280.0, 76.1, Some(3.87), 80.7, Some(4.05)),
            (300.0, 73.6, Some(3.76), 78.4, Some(3.96)),
            (400.0, 63.3, Some(3.27), 69.1, Some(3.56)),
            (600.0, 50.8, Some(2.62), 58.0, Some(2.99)),
        ];
        for (delay, with, with_mos, without, without_mos) in rows {
            for (has_echo, r, m) in [(true, with, with_mos), (false, without, without_mos)] {
                let found = rating(&call(delay, 0.0, has_echo));
                assert_near(found, r, 0.1, &format!("R at {delay} ms, echo {has_echo}"));
                if let Some(m) = m {
                    assert_near(mos(found), m, 0.01, &format!("MOS at {delay}, {has_echo}"));
                }
            }
        }
    }

    #[test]
    fn a_long_delay_alone_costs_what_the_recommendation_says() {
        for (delay, cost) in
            [(250.0, 8.92), (280.0, 12.51), (300.0, 14.76), (400.0, 24.07), (600.0, 35.25)]
        {
            assert_near(absolute_delay(delay), cost, 0.005, &format!("Idd at {delay} ms"));
        }
        assert_near(absolute_delay(100.0), 0.0, 0.0, "Idd at 100 ms");
    }

    #[test]
    fn loss_costs_less_with_concealment() {
        let rows = [(1.0, 55.7, 70.0), (2.0, 43.5, 66.6), (5.0, 22.5, 57.8)];
        for (loss, plain, concealed) in rows {
            for (robustness, expected) in [(4.3, plain), (25.1, concealed)] {
                let conditions = Conditions { robustness, ..call(300.0, loss, true) };
                assert_near(rating(&conditions), expected, 0.1, &format!("{loss} %, {robustness}"));
            }
        }
        let g729 = Conditions { equipment: 11.0, robustness: 19.0, ..call(300.0, 0.0, true) };
        assert_near(rating(&g729), 62.6, 0.1, "G.729A");
    }

    /// The target of the US Connect America Fund is MOS 4.
    #[test]
    fn a_mos_of_four_is_reached_up_to_255_and_292_milliseconds() {
        for (least, echo, expected) in
            [(4.0, true, 255.0), (4.0, false, 292.0), (3.6, true, 331.0), (3.6, false, 388.0)]
        {
            let longest = longest_delay(least, 0.0, echo).unwrap();
            assert_near(longest, expected, 1.0, &format!("MOS {least}, echo {echo}"));
        }
        assert_eq!(longest_delay(4.6, 0.0, true), None);
    }

    #[test]
    fn the_scale_of_mos_ends_at_1_and_4_5() {
        assert_eq!([-5.0, 0.0, 100.0, 120.0].map(mos), [1.0, 1.0, 4.5, 4.5]);
    }
}
