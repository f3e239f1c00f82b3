//! Estimates of throughput and latency: two averages with exponential weights, of which the
//! careful one counts (dash.js, Sabre).

/// Half-lives in milliseconds of downloads.
const HALF_LIVES: [f64; 2] = [3000.0, 8000.0];

/// An average with exponential weights, corrected for its start at zero.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    sum: f64,
    weight: f64,
}

impl Average {
    fn push(&mut self, value: f64, weight: f64, half_life: f64) {
        let kept = libm::pow(0.5, weight / half_life);
        self.sum = kept * self.sum + (1.0 - kept) * value;
        self.weight += weight;
    }

    fn value(&self, half_life: f64) -> f64 {
        self.sum / (1.0 - libm::pow(0.5, self.weight / half_life))
    }
}

/// Estimates from the downloads of segments.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    segment_ms: f64,
    throughputs: [Average; 2],
    latencies: [Average; 2],
    /// Throughput in kbit/s and latency in milliseconds.
    current: Option<(f64, f64)>,
}

impl Estimate {
    pub(super) fn new(segment_ms: f64) -> Self {
        Self {
            segment_ms,
            throughputs: Default::default(),
            latencies: Default::default(),
            current: None,
        }
    }

    /// A segment was downloaded in `time` milliseconds after its first byte.
    pub(super) fn push(&mut self, time: f64, throughput: f64, latency: f64) {
        let (mut least, mut most) = (f64::INFINITY, 0.0);
        for (number, half_life) in HALF_LIVES.into_iter().enumerate() {
            let average = &mut self.throughputs[number];
            average.push(throughput, time, half_life);
            least = average.value(half_life).min(least);
            // A latency counts for a segment.
            let half_life = half_life / self.segment_ms;
            let average = &mut self.latencies[number];
            average.push(latency, 1.0, half_life);
            most = average.value(half_life).max(most);
        }
        self.current = Some((least, most));
    }

    /// Throughput in kbit/s and latency in milliseconds, once a segment was downloaded.
    pub(super) fn current(&self) -> Option<(f64, f64)> {
        self.current
    }
}
