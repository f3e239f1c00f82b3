//! Throughputs of random access in closed form, in packets per slot.
//!
//! All of them are for Poisson arrivals: `load` is the mean number of new packets per slot (G),
//! counted once for all replicas of a packet.

/// Slotted ALOHA, G exp(-G) (Roberts 1975). Its peak is 1/e at G = 1.
pub fn slotted_aloha(load: f64) -> f64 {
    load * libm::exp(-load)
}

/// Diversity slotted ALOHA with `replicas` of each packet (d) and no cancellation,
/// G (1 - (1 - exp(-d G))^d) (Choudhury and Rappaport 1983). It neglects that the replicas of a
/// packet are in different slots of a frame.
pub fn diversity_slotted_aloha(load: f64, replicas: u32) -> f64 {
    let collides = 1.0 - libm::exp(-f64::from(replicas) * load);
    load * (1.0 - power(collides, replicas))
}

/// CRDSA in a frame of infinitely many slots, with perfect cancellation and as many iterations as
/// it takes: density evolution p = 1 - exp(-d G q), q = p^(d-1) from q = 1 on, T = G (1 - p^d)
/// (Liva, IEEE Trans. Communications 59(2), 2011).
///
/// Up to [`crdsa_threshold`] no packet is lost. A frame of finite length loses packets below it.
pub fn crdsa(load: f64, replicas: u32) -> f64 {
    load * (1.0 - power(stuck(load, replicas), replicas))
}

/// The load up to which [`crdsa`] loses no packet: the least d G = -ln(1 - p) / p^(d-1) over all
/// p. For two replicas 0.5, for three 0.8185.
///
/// # Panics
///
/// If `replicas` is below two, since nothing is cancelled then.
pub fn crdsa_threshold(replicas: u32) -> f64 {
    assert!(replicas >= 2, "CRDSA has at least two replicas");
    let bound = |p: f64| -libm::log(1.0 - p) / power(p, replicas - 1);
    // The function is smooth: a search in steps of 1e-6 is exact to nine digits at its minimum.
    let least = (1..1_000_000_u32).map(|step| bound(f64::from(step) * 1e-6));
    least.fold(f64::INFINITY, f64::min) / f64::from(replicas)
}

/// Probability that a slot with a given replica keeps another burst, at the end of the iterations.
fn stuck(load: f64, replicas: u32) -> f64 {
    let mean = f64::from(replicas) * load;
    let mut missing = 1.0;
    // It falls to a fixed point. Close to the threshold it does so slowly.
    for _ in 0..1_000_000 {
        let slot = 1.0 - libm::exp(-mean * missing);
        let next = power(slot, replicas - 1);
        if missing - next < 1e-15 {
            break;
        }
        missing = next;
    }
    1.0 - libm::exp(-mean * missing)
}

fn power(base: f64, exponent: u32) -> f64 {
    (0..exponent).fold(1.0, |product, _| product * base)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The highest throughput of a function of the load, and the load at which it is reached.
    fn peak(throughput: impl Fn(f64) -> f64) -> (f64, f64) {
        let points = (1..2000_u32).map(|step| f64::from(step) * 1e-3);
        let of = |load| (throughput(load), load);
        points.map(of).fold((0.0, 0.0), |best, one| if one.0 > best.0 { one } else { best })
    }

    fn assert_near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} instead of {expected}");
    }

    #[test]
    fn slotted_aloha_and_dsa_have_their_known_peaks() {
        let (throughput, load) = peak(slotted_aloha);
        assert_near(throughput, 0.3679, 5e-5);
        assert_near(load, 1.0, 1e-3);
        for (replicas, throughput, load) in [(2, 0.307, 0.606), (3, 0.267, 0.459)] {
            let found = peak(|load| diversity_slotted_aloha(load, replicas));
            assert_near(found.0, throughput, 5e-4);
            assert_near(found.1, load, 2e-3);
        }
    }

    #[test]
    fn one_replica_is_slotted_aloha() {
        for load in [0.1, 0.7, 1.0, 2.0] {
            assert_near(diversity_slotted_aloha(load, 1), slotted_aloha(load), 1e-12);
        }
    }

    #[test]
    fn crdsa_has_its_thresholds() {
        let known = [(2, 0.5), (3, 0.8185), (4, 0.7723), (5, 0.7018)];
        for (replicas, threshold) in known {
            assert_near(crdsa_threshold(replicas), threshold, 5e-5);
            let below = threshold - 0.002;
            assert_near(crdsa(below, replicas), below, 1e-6);
        }
        assert!(crdsa(0.83, 3) < 0.5, "past the threshold most packets are lost");
    }

    #[test]
    fn crdsa_beyond_its_threshold_has_the_fixed_point_of_density_evolution() {
        let two = [(0.5, 0.5), (0.6, 0.541), (0.7, 0.517), (0.8, 0.470), (1.0, 0.365)];
        let three = [(0.8, 0.8), (0.9, 0.305), (1.0, 0.217)];
        for (load, throughput) in two {
            assert_near(crdsa(load, 2), throughput, 6e-4);
        }
        for (load, throughput) in three {
            assert_near(crdsa(load, 3), throughput, 6e-4);
        }
    }
}
