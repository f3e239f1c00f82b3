//! Rules that choose the bit rate of a segment. Each is a state machine in a file of its own.

mod bba;
mod bola;
mod bola_e;
mod dynamic;
mod robust_mpc;
mod throughput;

use super::player::{Download, Fetch};
use super::settings::{Movie, RuleName};

use bba::Bba;
use bola::Bola;
use bola_e::BolaE;
use dynamic::{Dynamic, DynamicDash};
use robust_mpc::RobustMpc;
use throughput::Throughput;

/// The view of a rule at a decision.
#[derive(Clone, Copy, Debug)]
pub(in crate::video) struct View<'a> {
    pub movie: &'a Movie,
    /// Video in the buffer, in milliseconds.
    pub level: f64,
    /// Estimated throughput in kbit/s.
    pub throughput: f64,
    /// Estimated latency in milliseconds.
    pub latency: f64,
    /// Number of the next segment.
    pub segment: usize,
}

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::video) struct Choice {
    /// Place in the ladder.
    pub quality: usize,
    /// Time to wait before the request, in milliseconds.
    pub delay: f64,
}

impl Choice {
    /// A choice that is requested at once.
    pub fn now(quality: usize) -> Self {
        Self { quality, delay: 0.0 }
    }
}

impl View<'_> {
    /// The highest quality whose segment arrives within its own play time.
    fn quality_of(&self, throughput: f64) -> usize {
        let Movie { segment_ms, bitrates, .. } = self.movie;
        let fits = |rate: &f64| self.latency + segment_ms * rate / throughput <= *segment_ms;
        bitrates.iter().skip(1).take_while(|rate| fits(rate)).count()
    }

    fn top(&self) -> usize {
        self.movie.bitrates.len() - 1
    }

    /// Insufficient buffer rule of dash.js: no quality above the returned one fits what arrives
    /// before the buffer is empty, of which `safety` is used.
    fn sufficient(&self, quality: usize, safety: f64) -> usize {
        let safe = safety * (self.level - self.latency) * self.throughput;
        let Movie { segment_ms, bitrates, .. } = self.movie;
        (0..quality).find(|lower| bitrates[lower + 1] * segment_ms > safe).unwrap_or(quality)
    }
}

/// Safety of the insufficient buffer rule: it falls with each decision.
#[derive(Clone, Copy, Debug)]
struct Safety(f64);

impl Safety {
    const FIRST: f64 = 0.9;
    const LAST: f64 = 0.5;

    fn next(&mut self) -> f64 {
        let now = self.0;
        self.0 = (now * Self::FIRST).max(Self::LAST);
        now
    }
}

impl Default for Safety {
    fn default() -> Self {
        Self(Self::FIRST)
    }
}

/// A rule. All but the choice has a default.
trait Rules {
    /// The quality of the next segment.
    fn choose(&mut self, view: &View<'_>) -> Choice;

    /// The player waits, because the buffer is full.
    fn on_wait(&mut self, _time: f64) {}

    /// A download has ended.
    fn on_download(&mut self, _view: &View<'_>, _fetch: &Fetch, _download: &Download) {}

    /// A lower quality for which to give up a download, if that is better.
    fn would_give_up(
        &mut self,
        _view: &View<'_>,
        _fetch: &Fetch,
        _download: &Download,
    ) -> Option<usize> {
        None
    }
}

/// Declares the rules: variant, state, names of settings, and how the state is made.
macro_rules! rules {
    ($($variant:ident($state:ty) of $($name:ident = $new:expr),+;)+) => {
        /// A rule with its state.
        #[derive(Clone, Debug)]
        pub(super) enum Rule {
            $($variant($state),)+
        }

        impl Rule {
            /// The rule of this name for a movie and a buffer of `buffer_ms`.
            pub fn new(name: RuleName, movie: &Movie, buffer_ms: f64) -> Self {
                match name {
                    $($(RuleName::$name => {
                        let new: fn(&Movie, f64) -> $state = $new;
                        Self::$variant(new(movie, buffer_ms))
                    })+)+
                }
            }

            pub fn choose(&mut self, view: &View<'_>) -> Choice {
                match self { $(Self::$variant(rule) => Rules::choose(rule, view),)+ }
            }

            pub fn on_wait(&mut self, time: f64) {
                match self { $(Self::$variant(rule) => Rules::on_wait(rule, time),)+ }
            }

            pub fn on_download(&mut self, view: &View<'_>, fetch: &Fetch, download: &Download) {
                match self { $(Self::$variant(rule) => Rules::on_download(rule, view, fetch, download),)+ }
            }

            pub fn would_give_up(
                &mut self,
                view: &View<'_>,
                fetch: &Fetch,
                download: &Download,
            ) -> Option<usize> {
                match self { $(Self::$variant(rule) => Rules::would_give_up(rule, view, fetch, download),)+ }
            }
        }
    };
}

rules! {
    Throughput(Throughput) of Throughput = |_, _| Throughput::default();
    Bba(Bba) of Bba = |_, _| Bba;
    Bola(Bola) of Bola = |movie, buffer| Bola::new(movie, buffer, false),
        BolaBasic = |movie, buffer| Bola::new(movie, buffer, true);
    BolaE(BolaE) of BolaE = BolaE::new;
    Dynamic(Dynamic) of Dynamic = Dynamic::new;
    DynamicDash(DynamicDash) of DynamicDash = DynamicDash::new;
    RobustMpc(RobustMpc) of RobustMpc = |_, _| RobustMpc::default();
}
