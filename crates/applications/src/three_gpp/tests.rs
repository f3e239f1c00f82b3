use units::Bytes;

use super::*;

/// A small generator for these tests (SplitMix64), as numbers from 0 to below 1.
fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((value ^ (value >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn moments(values: &[f64]) -> (f64, f64) {
    let number = values.len() as f64;
    let mean = values.iter().sum::<f64>() / number;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
    (mean, libm::sqrt(variance / number))
}

/// The value differs from the expected one by at most four standard errors of the mean.
fn is_mean(values: &[f64], expected: f64) {
    let (mean, deviation) = moments(values);
    let error = deviation / libm::sqrt(values.len() as f64);
    assert!((mean - expected).abs() <= 4.0 * error, "{mean} and not {expected}, +- {error}");
}

/// Moments of the cut distributions in whole bytes, summed over all sizes with SciPy:
/// `scipy.stats.lognorm` with the mean and the deviation of ns-3.
const MAIN_MEAN: f64 = 10_733.57;
const MAIN_DEVIATION: f64 = 24_503.65;
const EMBEDDED_MEAN: f64 = 8211.68;
const EMBEDDED_DEVIATION: f64 = 46_606.44;
/// The same for the number of objects, with a Pareto distribution.
const OBJECTS_MEAN: f64 = 3.918_325;
const OBJECTS_DEVIATION: f64 = 7.290_897;

#[test]
fn logarithms_have_the_moments_that_ns3_prints() {
    let (mean, deviation) = MAIN.of_logarithm();
    assert!((mean - 8.35).abs() < 0.005 && (deviation - 1.37).abs() < 0.005, "{mean} {deviation}");
    let (mean, deviation) = EMBEDDED.of_logarithm();
    assert!((mean - 6.17).abs() < 0.005 && (deviation - 2.36).abs() < 0.005, "{mean} {deviation}");
}

#[test]
fn means_within_the_bounds_are_those_of_sums_over_all_sizes() {
    // Whole bytes are half a byte smaller on average.
    assert!((MAIN.mean_within() - 0.5 - MAIN_MEAN).abs() < 0.1, "{}", MAIN.mean_within());
    assert!((EMBEDDED.mean_within() - 0.5 - EMBEDDED_MEAN).abs() < 0.1);
    assert!((OBJECTS.mean() - OBJECTS_MEAN).abs() < 1e-6, "{}", OBJECTS.mean());
    assert_eq!(OBJECTS.most(), 52);
}

#[test]
fn drawn_pages_have_the_moments_of_the_model() {
    let mut random = uniform(1);
    let pages: Vec<Drawn> = (0..100_000).map(|_| Drawn::new(&mut random)).collect();
    let bytes = |size: &Bytes| size.get() as f64;
    let main: Vec<f64> = pages.iter().map(|page| bytes(&page.main)).collect();
    let embedded: Vec<f64> = pages.iter().flat_map(|page| &page.embedded).map(bytes).collect();
    let counts: Vec<f64> = pages.iter().map(|page| page.embedded.len() as f64).collect();
    is_mean(&main, MAIN_MEAN);
    is_mean(&embedded, EMBEDDED_MEAN);
    is_mean(&counts, OBJECTS_MEAN);
    let within = |values: &[f64], expected: f64| {
        let (_, deviation) = moments(values);
        assert!((deviation / expected - 1.0).abs() < 0.05, "{deviation} and not {expected}");
    };
    within(&main, MAIN_DEVIATION);
    within(&embedded, EMBEDDED_DEVIATION);
    within(&counts, OBJECTS_DEVIATION);
    let seconds = |part: fn(&Drawn) -> Span| -> Vec<f64> {
        pages.iter().map(|page| part(page).as_secs_f64()).collect()
    };
    for (mean, times) in
        [(0.13, seconds(|page| page.parsing)), (30.0, seconds(|page| page.reading))]
    {
        is_mean(&times, mean);
        // An exponential distribution has the same deviation as mean.
        within(&times, mean);
    }
}

#[test]
fn no_drawn_value_is_outside_its_bounds() {
    let mut random = uniform(2);
    for _ in 0..50_000 {
        let page = Drawn::new(&mut random);
        assert!((100..2_000_000).contains(&page.main.get()), "{page:?}");
        assert!(page.embedded.len() <= 52, "{page:?}");
        assert!(page.embedded.iter().all(|size| (50..2_000_000).contains(&size.get())));
    }
}
