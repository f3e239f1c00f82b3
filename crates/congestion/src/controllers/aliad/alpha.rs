//! How fast A-LIAD climbs back: alpha as a function of the round-trip time.
//!
//! After a loss the gap to Wmax shrinks to 1/alpha in each round trip, from beta Wmax segments down
//! to one, which takes N = ln(beta Wmax) / ln(alpha) round trips (equation 8). The time N RTT is to
//! be the same on every path, that of alpha_ref on a path of RTT_ref (equations 10 and 11). Wmax
//! itself depends on alpha, so the paper solves this numerically and fits a function of the RTT to
//! the result. That function is not known; hence the choice of [`Rule`]s. All give alpha > 1 for
//! every RTT and every allowed parameter: a straight line through the origin, which "proportional
//! to the RTT" could mean, falls below 1 on paths that the paper measures, and there the window
//! would never grow.

use units::Span;

use crate::parameters::Values;

/// Where alpha comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    /// Equations 8 and 11 with the Wmax that the sender has: on the reference path the same rate
    /// would be Wmax RTT_ref / RTT.
    Online,
    /// alpha_ref ^ (x ^ exponent), x = RTT / RTT_ref: fits the numerical solution within a few
    /// percent. With the exponent 1 it is the solution for a Wmax that does not depend on alpha.
    Power(f64),
    /// 1 + (alpha_ref - 1) x: a line that stays above 1.
    Affine,
    /// alpha_ref on every path.
    Fixed,
}

impl Rule {
    /// The words of the parameter `alpha`.
    pub(super) const WORDS: &'static [&'static str] =
        &["online", "power", "exponential", "affine", "fixed"];

    /// The one that the parameters name.
    pub(super) fn of(values: &Values) -> Self {
        match values.word("alpha") {
            "online" => Self::Online,
            "power" => Self::Power(values.number("alpha_exponent")),
            "exponential" => Self::Power(1.0),
            "affine" => Self::Affine,
            _ => Self::Fixed,
        }
    }
}

/// alpha(RTT) with its reference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alpha {
    pub(super) rule: Rule,
    /// alpha on the reference path; above 1.
    pub(super) reference: f64,
    /// RTT_ref in seconds.
    pub(super) rtt_ref: f64,
    /// No alpha is smaller; 1 sets no limit.
    pub(super) least: f64,
}

impl Alpha {
    /// alpha for a climb of `gap` = beta Wmax segments.
    pub(super) fn at(&self, rtt: Span, gap: f64) -> f64 {
        let x = rtt.as_secs_f64() / self.rtt_ref;
        let by_rule = match self.rule {
            Rule::Online => self.online(x, gap),
            Rule::Power(exponent) => libm::pow(self.reference, libm::pow(x, exponent)),
            Rule::Affine => 1.0 + (self.reference - 1.0) * x,
            Rule::Fixed => self.reference,
        };
        by_rule.max(self.least)
    }

    /// N of the reference path, in its round trips, is N / x in those of this path. There is no
    /// climb in less than one round trip. A gap of one segment is no climb: alpha_ref.
    fn online(&self, x: f64, gap: f64) -> f64 {
        if gap <= 1.0 {
            return self.reference;
        }
        let rounds_of_reference = (libm::log(gap / x) / libm::log(self.reference)).max(1.0);
        let rounds = (rounds_of_reference / x).max(1.0);
        libm::pow(gap, 1.0 / rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BETA: f64 = 0.5;

    fn alpha(rule: Rule) -> Alpha {
        Alpha { rule, reference: 2.0, rtt_ref: 0.075, least: 1.0 }
    }

    /// The root of an increasing function of ln W, by bisection.
    fn window_where(increasing: impl Fn(f64) -> f64) -> f64 {
        let (mut low, mut high) = (libm::log(3.0), libm::log(1e12));
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if increasing(libm::exp(middle)) < 0.0 { low = middle } else { high = middle }
        }
        libm::exp(low)
    }

    /// Y: segments sent in the N round trips from (1 - beta) Wmax to Wmax - 1.
    fn segments_sent(w_max: f64, rounds: f64, alpha: f64) -> f64 {
        rounds * w_max - (BETA * w_max - 1.0) * alpha / (alpha - 1.0)
    }

    /// Wmax of the reference path when one segment in 1/p is lost.
    fn w_max_of_reference(p: f64) -> f64 {
        window_where(|w| {
            segments_sent(w, libm::log(BETA * w) / core::f64::consts::LN_2, 2.0) - 1.0 / p
        })
    }

    /// T_ref in seconds: equation 10.
    fn epoch(p: f64) -> f64 {
        0.075 * libm::log2(BETA * w_max_of_reference(p))
    }

    /// Equation 11 solved: alpha and Wmax for a path of `rtt` seconds.
    fn solved(p: f64, rtt: f64) -> (f64, f64) {
        let rounds = epoch(p) / rtt;
        let alpha = |w: f64| libm::pow(BETA * w, 1.0 / rounds);
        let w_max = window_where(|w| segments_sent(w, rounds, alpha(w)) - 1.0 / p);
        (alpha(w_max), w_max)
    }

    fn near(value: f64, wanted: f64, relative: f64) {
        assert!((value / wanted - 1.0).abs() < relative, "{value} for {wanted}");
    }

    #[test]
    fn the_solution_of_equation_11_is_the_table_of_the_derivation() {
        let rtts = [0.025, 0.05, 0.1, 0.2, 0.4];
        for (p, w_max, t_ref, row) in [
            (1e-3, 181.0, 0.488, [1.191, 1.522, 2.680, 9.862, 215.0]),
            (1e-4, 1213.0, 0.693, [1.211, 1.541, 2.630, 8.583, 121.0]),
            (1e-6, 7.09e4, 1.133, [1.230, 1.559, 2.586, 7.601, 76.2]),
            (1e-8, 4.94e6, 1.593, [1.238, 1.567, 2.567, 7.207, 62.8]),
        ] {
            near(w_max_of_reference(p), w_max, 1e-2);
            near(epoch(p), t_ref, 1e-2);
            for (rtt, wanted) in rtts.into_iter().zip(row) {
                near(solved(p, rtt).0, wanted, 1e-2);
            }
        }
    }

    #[test]
    fn the_power_fits_the_solution_over_the_paths_of_the_paper() {
        for (p, exponent, error) in [
            (1e-8, 1.0679, 0.003),
            (1e-7, 1.0795, 0.005),
            (1e-6, 1.0956, 0.01),
            (1e-5, 1.1193, 0.023),
        ] {
            for rtt in [25_u32, 50, 75, 100, 150, 200, 300, 400, 500, 600] {
                let seconds = f64::from(rtt) / 1e3;
                if epoch(p) >= seconds {
                    let fit = alpha(Rule::Power(exponent));
                    let fitted = fit.at(Span::from_millis(rtt.into()), 1.0);
                    near(fitted, solved(p, seconds).0, error + 1e-3);
                }
            }
        }
    }

    #[test]
    fn the_online_form_is_the_worked_example_of_10_megabits_per_second() {
        // Packets of 1000 bytes, Wmax one bandwidth-delay product, beta 1/2.
        for (rtt, wanted) in [
            (25_u32, 1.18),
            (50, 1.51),
            (75, 2.0),
            (100, 2.70),
            (200, 10.2),
            (300, 43.4),
            (400, 201.0),
            (600, 375.0), // one round trip: 5126 would be two thirds of one
        ] {
            let w_max = 1.25 * f64::from(rtt);
            let online = alpha(Rule::Online);
            near(online.at(Span::from_millis(rtt.into()), BETA * w_max), wanted, 5e-3);
        }
    }

    #[test]
    fn the_online_form_makes_each_climb_as_long() {
        for rtt in [25_u32, 50, 75, 100, 200, 400] {
            let w_max = 1.25 * f64::from(rtt);
            let gap = BETA * w_max;
            let a = alpha(Rule::Online).at(Span::from_millis(rtt.into()), gap);
            let seconds = libm::log(gap) / libm::log(a) * f64::from(rtt) / 1e3;
            near(seconds, 0.075 * libm::log2(BETA * 93.75), 1e-9);
        }
    }

    #[test]
    fn every_rule_gives_alpha_ref_on_the_reference_path() {
        for rule in [Rule::Online, Rule::Power(1.0679), Rule::Power(1.0), Rule::Affine, Rule::Fixed]
        {
            near(alpha(rule).at(Span::from_millis(75), 46.875), 2.0, 1e-12);
        }
        near(alpha(Rule::Affine).at(Span::from_millis(25), 50.0), 4.0 / 3.0, 1e-12);
        near(alpha(Rule::Affine).at(Span::from_millis(600), 50.0), 9.0, 1e-12);
        near(alpha(Rule::Power(1.0)).at(Span::from_millis(150), 50.0), 4.0, 1e-12);
    }

    #[test]
    fn the_smallest_alpha_holds_on_short_paths_alone() {
        let raised = Alpha { least: 2.0, ..alpha(Rule::Power(1.0)) };
        near(raised.at(Span::from_millis(25), 50.0), 2.0, 1e-12);
        near(raised.at(Span::from_millis(150), 50.0), 4.0, 1e-12);
    }

    #[test]
    fn alpha_is_above_one_for_every_path_and_every_allowed_parameter() {
        for rule in [Rule::Online, Rule::Power(0.5), Rule::Power(2.0), Rule::Affine, Rule::Fixed] {
            for reference in [1.01, 2.0, 64.0] {
                for rtt_ref in [0.001, 0.075, 10.0] {
                    for rtt in [1, 25, 75, 600, 10_000, 1_000_000] {
                        for gap in [0.0, 1.0, 1.2, 5e4] {
                            let alpha = Alpha { rule, reference, rtt_ref, least: 1.0 };
                            let value = alpha.at(Span::from_millis(rtt), gap);
                            assert!(value > 1.0, "{alpha:?} at {rtt} ms: {value}");
                        }
                    }
                }
            }
        }
    }
}
