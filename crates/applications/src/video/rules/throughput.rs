//! The throughput rule of dash.js, as in Sabre: the highest bit rate below 0.9 of the estimate, if
//! the buffer suffices for it.

use super::{Choice, Download, Fetch, Rules, Safety, View};

/// Share of the estimate that is used.
const SHARE: f64 = 0.9;
/// A download may be given up after this time in milliseconds.
const GRACE: f64 = 500.0;
/// It is given up if it would take this many play times of its segment.
const LONGEST: f64 = 1.8;

/// The rule.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::video) struct Throughput {
    safety: Safety,
}

impl Rules for Throughput {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        let quality = view.quality_of(view.throughput * SHARE);
        Choice::now(view.sufficient(quality, self.safety.next()))
    }

    fn would_give_up(
        &mut self,
        view: &View<'_>,
        fetch: &Fetch,
        download: &Download,
    ) -> Option<usize> {
        let time = download.time - download.first_byte;
        if download.time < GRACE || time <= 0.0 {
            return None;
        }
        let throughput = download.bits / time;
        let left = fetch.bits - download.bits;
        if download.time + left / throughput <= LONGEST * view.movie.segment_ms {
            return None;
        }
        let quality = view.quality_of(throughput * SHARE);
        let rates = &view.movie.bitrates;
        let other = fetch.bits * rates[quality] / rates[fetch.quality];
        (quality < fetch.quality && other < left).then_some(quality)
    }
}
