//! BOLA-E: BOLA with a placeholder for buffer that does not exist, so that it starts with what the
//! network sustains, and with the insufficient buffer rule. K. Spiteri, R. Sitaraman, D. Sparacio,
//! "From theory to practice: improving bitrate adaptation in the DASH reference player", MMSys
//! 2018, section 4; details as in Sabre.

use super::{Choice, Download, Fetch, Movie, Rules, Safety, View};

/// Buffer that BOLA-E keeps at least, in milliseconds, and more for each bit rate.
const LEAST_BUFFER: f64 = 10_000.0;
const FOR_EACH_RATE: f64 = 2000.0;

/// The rule.
#[derive(Clone, Debug)]
pub(in crate::video) struct BolaE {
    bitrates: Vec<f64>,
    utilities: Vec<f64>,
    /// Utility of playing without stalls (gamma p).
    gamma_p: f64,
    /// Milliseconds of buffer for a unit of utility (V).
    control: f64,
    /// Buffer that counts and does not exist, in milliseconds.
    placeholder: f64,
    last_quality: usize,
    /// Safety of the insufficient buffer rule, once the throughput is known.
    steady: Option<Safety>,
}

impl BolaE {
    pub(super) fn new(movie: &Movie, buffer_ms: f64) -> Self {
        let bitrates = movie.bitrates.clone();
        let offset = 1.0 - libm::log(bitrates[0]);
        let utilities: Vec<f64> = bitrates.iter().map(|rate| libm::log(*rate) + offset).collect();
        let buffer = (LEAST_BUFFER + FOR_EACH_RATE * bitrates.len() as f64).max(buffer_ms);
        let highest = utilities.last().copied().unwrap_or(1.0);
        let gamma_p = (highest - 1.0) / (buffer / LEAST_BUFFER - 1.0);
        Self {
            control: LEAST_BUFFER / gamma_p,
            bitrates,
            utilities,
            gamma_p,
            placeholder: 0.0,
            last_quality: 0,
            steady: None,
        }
    }

    fn quality_of_buffer(&self, level: f64) -> usize {
        let mut best = (0, f64::NEG_INFINITY);
        for (quality, rate) in self.bitrates.iter().enumerate() {
            let score = (self.most_level(quality) - level) / rate;
            if score > best.1 {
                best = (quality, score);
            }
        }
        best.0
    }

    /// Buffer from which on a quality is preferred to all below it.
    fn least_level(&self, quality: usize) -> f64 {
        let (rate, utility) = (self.bitrates[quality], self.utilities[quality]);
        let levels = (0..quality).map(|lower| {
            let (below, less) = (self.bitrates[lower], self.utilities[lower]);
            self.control * (self.gamma_p + (rate * less - below * utility) / (rate - below))
        });
        levels.fold(0.0, f64::max)
    }

    /// Buffer up to which a quality is worth a download.
    fn most_level(&self, quality: usize) -> f64 {
        self.control * (self.utilities[quality] + self.gamma_p)
    }

    /// The time until the buffer with its placeholder is low enough for a download.
    fn delay(&mut self, level: f64, quality: usize) -> f64 {
        let delay = level + self.placeholder - self.most_level(quality);
        if delay <= 0.0 {
            return 0.0;
        }
        let of_placeholder = delay.min(self.placeholder);
        self.placeholder -= of_placeholder;
        if quality + 1 == self.bitrates.len() { 0.0 } else { delay - of_placeholder }
    }
}

impl Rules for BolaE {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        let sustained = view.quality_of(view.throughput);
        let Some(mut safety) = self.steady else {
            self.steady = Some(Safety::default());
            self.placeholder = (self.least_level(sustained) - view.level).max(0.0);
            return Choice::now(sustained);
        };
        let mut quality = self.quality_of_buffer(view.level + self.placeholder);
        if quality > self.last_quality && quality > sustained {
            quality = self.last_quality.max(sustained) + 1;
        }
        let mut delay = self.delay(view.level, quality);
        let sufficient = view.sufficient(quality, safety.next());
        self.steady = Some(safety);
        if sufficient < quality {
            (quality, delay) = (sufficient, 0.0);
            let most = (self.least_level(quality) - view.level).max(0.0);
            self.placeholder = self.placeholder.min(most);
        }
        Choice { quality, delay }
    }

    fn on_wait(&mut self, time: f64) {
        self.placeholder += time;
    }

    fn on_download(&mut self, view: &View<'_>, fetch: &Fetch, download: &Download) {
        self.last_quality = fetch.quality;
        if let Some(lower) = download.gave_up {
            let wanted = if lower > 0 { self.least_level(lower) } else { LEAST_BUFFER };
            self.placeholder = self.placeholder.min((wanted - view.level).max(0.0));
            return;
        }
        let before = view.level + download.time;
        let most = (self.most_level(fetch.quality) - before).max(0.0);
        self.placeholder = self.placeholder.min(most);
        if view.level > 0.0 {
            self.placeholder = self.placeholder.max(self.least_level(fetch.quality) - before);
        }
    }

    fn would_give_up(
        &mut self,
        view: &View<'_>,
        fetch: &Fetch,
        download: &Download,
    ) -> Option<usize> {
        let left = fetch.bits - download.bits;
        if download.bits <= 0.0 || left <= 0.0 {
            return None;
        }
        // Another request takes a latency, in which this download goes on.
        let level = (view.level + self.placeholder - download.first_byte).max(0.0);
        let throughput = download.bits / (download.time - download.first_byte);
        let left = left - download.first_byte * throughput;
        if left <= 0.0 {
            return None;
        }
        let mut score = (self.most_level(fetch.quality) - level) / left;
        let mut chosen = None;
        for quality in 0..fetch.quality {
            let size = fetch.bits * self.bitrates[quality] / self.bitrates[fetch.quality];
            let other = (self.most_level(quality) - level) / size;
            if size < left && other > score {
                score = other;
                chosen = Some(quality);
            }
        }
        chosen
    }
}
