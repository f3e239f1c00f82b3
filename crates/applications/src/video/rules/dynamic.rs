//! DYNAMIC: throughput while the buffer is low, and BOLA while it is high. K. Spiteri, R.
//! Sitaraman, D. Sparacio, MMSys 2018, section 5, with the thresholds of Sabre; and the form with
//! BOLA-E.

use super::bola::Bola;
use super::bola_e::BolaE;
use super::throughput::Throughput;
use super::{Choice, Download, Fetch, Movie, Rules, View};

/// Buffer that separates both rules, in milliseconds.
const THRESHOLD: f64 = 10_000.0;
/// Buffer below which the form with BOLA-E returns to throughput.
const LOW: f64 = 5000.0;

/// The rule with BOLA.
#[derive(Clone, Debug)]
pub(in crate::video) struct Dynamic {
    bola: Bola,
    throughput: Throughput,
    is_bola: bool,
}

impl Dynamic {
    pub(super) fn new(movie: &Movie, buffer_ms: f64) -> Self {
        let bola = Bola::new(movie, buffer_ms, false);
        Self { bola, throughput: Throughput::default(), is_bola: false }
    }
}

impl Rules for Dynamic {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        let bola = self.bola.choose(view);
        let throughput = self.throughput.choose(view);
        let is_lower = bola.quality < throughput.quality;
        if self.is_bola {
            self.is_bola = view.level >= THRESHOLD || !is_lower;
        } else {
            self.is_bola = view.level > THRESHOLD && !is_lower;
        }
        if self.is_bola { bola } else { throughput }
    }

    fn would_give_up(
        &mut self,
        view: &View<'_>,
        fetch: &Fetch,
        download: &Download,
    ) -> Option<usize> {
        self.throughput.would_give_up(view, fetch, download)
    }
}

/// The rule with BOLA-E.
#[derive(Clone, Debug)]
pub(in crate::video) struct DynamicDash {
    bola: BolaE,
    throughput: Throughput,
    is_bola: bool,
}

impl DynamicDash {
    pub(super) fn new(movie: &Movie, buffer_ms: f64) -> Self {
        let bola = BolaE::new(movie, buffer_ms);
        Self { bola, throughput: Throughput::default(), is_bola: false }
    }
}

impl Rules for DynamicDash {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        self.is_bola = if self.is_bola { view.level >= LOW } else { view.level > THRESHOLD };
        if self.is_bola { self.bola.choose(view) } else { self.throughput.choose(view) }
    }

    fn on_wait(&mut self, time: f64) {
        self.bola.on_wait(time);
    }

    fn on_download(&mut self, view: &View<'_>, fetch: &Fetch, download: &Download) {
        self.bola.on_download(view, fetch, download);
    }

    fn would_give_up(
        &mut self,
        view: &View<'_>,
        fetch: &Fetch,
        download: &Download,
    ) -> Option<usize> {
        if self.is_bola {
            return self.bola.would_give_up(view, fetch, download);
        }
        self.throughput.would_give_up(view, fetch, download)
    }
}
