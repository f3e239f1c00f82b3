//! BOLA: a bit rate with the most utility for its size, which a fuller buffer demands. K. Spiteri,
//! R. Urgaonkar, R. Sitaraman, "BOLA: near-optimal bitrate adaptation for online videos", INFOCOM
//! 2016, section 4. Start, end, upward switches (BOLA-U) and given-up downloads are as in Sabre.

use super::{Choice, Download, Fetch, Movie, Rules, View};

/// Utility of playing without stalls (gamma p).
const GAMMA_P: f64 = 5.0;
/// Fewest segments for which the buffer is planned near start and end.
const LEAST_SEGMENTS: f64 = 3.0;

/// The rule.
#[derive(Clone, Debug)]
pub(in crate::video) struct Bola {
    utilities: Vec<f64>,
    buffer_ms: f64,
    is_basic: bool,
    /// Milliseconds of buffer for a unit of utility (V).
    control: f64,
    last_quality: usize,
}

impl Bola {
    pub(super) fn new(movie: &Movie, buffer_ms: f64, is_basic: bool) -> Self {
        let lowest = libm::log(movie.bitrates[0]);
        let utilities: Vec<f64> =
            movie.bitrates.iter().map(|rate| libm::log(*rate) - lowest).collect();
        let mut bola = Self { utilities, buffer_ms, is_basic, control: 0.0, last_quality: 0 };
        bola.plan(movie, buffer_ms);
        bola
    }

    fn plan(&mut self, movie: &Movie, buffer_ms: f64) {
        let highest = self.utilities.last().copied().unwrap_or_default();
        self.control = (buffer_ms - movie.segment_ms) / (highest + GAMMA_P);
    }

    fn score(&self, quality: usize, level: f64, size: f64) -> f64 {
        (self.control * (self.utilities[quality] + GAMMA_P) - level) / size
    }

    fn quality_of_buffer(&self, view: &View<'_>) -> usize {
        let mut best = (0, f64::NEG_INFINITY);
        for (quality, rate) in view.movie.bitrates.iter().enumerate() {
            let score = self.score(quality, view.level, *rate);
            if score > best.1 {
                best = (quality, score);
            }
        }
        best.0
    }
}

impl Rules for Bola {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        if !self.is_basic {
            let left = view.movie.sizes.len() - view.segment;
            let segments = (view.segment.min(left) as f64 / 2.0).max(LEAST_SEGMENTS);
            self.plan(view.movie, self.buffer_ms.min(segments * view.movie.segment_ms));
        }
        let mut quality = self.quality_of_buffer(view);
        if quality > self.last_quality {
            let sustained = view.quality_of(view.throughput);
            if quality > sustained {
                // One above what the network sustains, and never down for that.
                let is_above = self.last_quality > sustained;
                quality = if is_above { self.last_quality } else { sustained + 1 };
            }
        }
        self.last_quality = quality;
        Choice::now(quality)
    }

    fn would_give_up(
        &mut self,
        view: &View<'_>,
        fetch: &Fetch,
        download: &Download,
    ) -> Option<usize> {
        let left = fetch.bits - download.bits;
        if self.is_basic || download.bits <= 0.0 || left <= 0.0 {
            return None;
        }
        let mut score = self.score(fetch.quality, view.level, left);
        if score < 0.0 {
            return None;
        }
        let rates = &view.movie.bitrates;
        let mut chosen = None;
        for quality in 0..fetch.quality {
            let size = fetch.bits * rates[quality] / rates[fetch.quality];
            let other = self.score(quality, view.level, size);
            if size < left && other > score {
                score = other;
                chosen = Some(quality);
            }
        }
        if let Some(quality) = chosen {
            self.last_quality = quality;
        }
        chosen
    }
}
