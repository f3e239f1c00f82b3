//! The kernel's own controllers, each with the one of `crates/congestion` that it is compared with.
//!
//! A new one is a line in [`PAIRS`]; `make replay-kernel` remakes the table of
//! `docs/kernel-replay.md`.

use congestion::{Specification, Value};

use crate::connection::Library;
use crate::driver::{Comparison, LARGEST_WINDOW};
use crate::paced::{self, Path};

/// A controller of this project and one of the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// Name in the registry of `crates/congestion`.
    pub controller: &'static str,
    /// Parameters that are set, numbers or words.
    pub sets: &'static [(&'static str, &'static str)],
    /// Name in the kernel, as `sysctl net.ipv4.tcp_congestion_control` takes it.
    pub kernel: &'static str,
    /// Segments by which windows may differ: 1 for a definition that counts in bytes, 0 for one
    /// that takes the kernel's whole segments.
    pub bound: u64,
    /// Why windows differ by more in some of the sequences; none where they do not.
    pub reason: Option<&'static str>,
    pub(crate) whole: bool,
    /// Numbers that are set in the module; none in the kernel.
    pub numbers: &'static [(&'static str, u32)],
    /// It gets hints as the clock of LeoCC's module gives them.
    pub(crate) clock: bool,
    /// It needs rate samples: it is replayed over paths (`paced`), and not with events (`driver`).
    pub paced: bool,
    /// It is also replayed over paths with outages, where retransmission timers expire.
    pub(crate) outages: bool,
}

impl Pair {
    /// They agree but for parts of a segment.
    pub(crate) const fn new(controller: &'static str, kernel: &'static str) -> Self {
        Self {
            controller,
            sets: &[],
            kernel,
            bound: 1,
            reason: None,
            whole: false,
            numbers: &[],
            clock: false,
            paced: false,
            outages: false,
        }
    }

    /// They agree in each whole segment: the definition counts as the kernel does, and so it also
    /// takes an ACK across ssthresh as one.
    const fn exact(controller: &'static str, kernel: &'static str) -> Self {
        Self { bound: 0, whole: true, ..Self::new(controller, kernel) }
    }

    pub(crate) const fn with(self, sets: &'static [(&'static str, &'static str)]) -> Self {
        Self { sets, ..self }
    }

    pub(crate) const fn but(self, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..self }
    }

    /// Both count in whole segments, so that tests of `crates/congestion` can compare with recorded
    /// windows.
    pub fn is_recorded(&self) -> bool {
        self.whole
    }

    /// The parameters in the notation of the command line.
    pub fn parameters(&self) -> String {
        let sets = self.sets.iter().map(|(name, value)| format!("{name}={value}"));
        sets.collect::<Vec<_>>().join(" ")
    }

    /// Paths over which it is followed.
    pub fn paths(&self, count: usize) -> Vec<Path> {
        let outages = if self.outages { count } else { 0 };
        paced::paths(count).chain(paced::outages(outages)).collect()
    }

    /// Both, ready to be replayed; `None` when the registry has no such controller or parameter.
    pub fn comparison(&self, library: Library) -> Option<Comparison> {
        let mut definition = Specification::named(self.controller).ok()?;
        for (name, value) in self.sets {
            let number = value.parse().map(Value::Number);
            let value = number.unwrap_or_else(|_| Value::Word((*value).to_owned()));
            definition.set(name, value).ok()?;
        }
        for (symbol, value) in self.numbers {
            if !library.set_number(symbol, *value) {
                return None;
            }
        }
        Some(Comparison {
            definition,
            library,
            name: self.kernel.to_owned(),
            parameters: Vec::new(),
            whole: self.whole,
            thresholds: true,
            as_kernel: true,
            largest: LARGEST_WINDOW,
            bound: self.bound,
            bound_after_undo: self.bound,
            clock: self.clock,
        })
    }
}

/// The kernel's own form of a controller.
const LINUX: &[(&str, &str)] = &[("variant", "linux")];

/// Pairs to compare, in the order of the table.
pub const PAIRS: &[Pair] = &[
    Pair::new("reno", "reno").but(
        "RFC 5681 equation 3 grows with each ACK and keeps the rest; Linux counts segments and starts \
         again with each reduction",
    ),
    Pair::new("cubic", "cubic").with(&[("slow_start", "hystart")]).but(
        "RFC 9438 grows by the cubic function itself; Linux by whole segments, with a look ahead of the \
         smallest RTT, at least 5 % in a round trip before the first loss",
    ),
    Pair::new("dctcp", "dctcp").but(
        "RFC 8257 counts bytes and keeps all digits of alpha; Linux has whole 1/1024, to which fewer marks \
         than one in 64 segments add nothing",
    ),
    Pair::new("westwood-plus", "westwood").but(
        "Grieco and Mascolo: one filter of 0.9; Linux has two of 7/8, and reduces when recovery is over",
    ),
    Pair { paced: true, bound: 2, ..Pair::new("bbr", "bbr") }.but(
        "Linux keeps the largest excess of ACKs of two times five rounds, adds the next burst to what is in \
         flight while it probes, and saves cwnd before the ACK that begins a recovery",
    ),
    Pair::exact("reno", "reno").with(LINUX),
    Pair::exact("bic", "bic").with(LINUX),
    Pair { bound: 1, ..Pair::exact("cubic", "cubic").with(LINUX) }.but(
        "the kernel takes K from a table, 5 ms off on average; here the cube root is exact",
    ),
    Pair::exact("dctcp", "dctcp").with(LINUX),
    Pair::exact("highspeed", "highspeed").with(LINUX),
    Pair::exact("htcp", "htcp").with(LINUX),
    Pair::exact("hybla", "hybla").with(LINUX),
    Pair::exact("scalable", "scalable").with(LINUX),
    Pair::exact("vegas", "vegas").with(LINUX),
    Pair::exact("veno", "veno").with(LINUX),
    Pair::exact("westwood", "westwood").with(LINUX),
    Pair::exact("cdg", "cdg").but(
        "An undo in the round trip after a reduction for delay: Linux takes back that one, too",
    ),
    Pair::exact("illinois", "illinois"),
    Pair::exact("lp", "lp").with(LINUX),
    Pair::exact("nv", "nv"),
    Pair::exact("yeah", "yeah"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_names_a_controller_and_parameters_of_the_registry() {
        for pair in PAIRS {
            assert!(pair.comparison(Library::LINKED).is_some(), "{pair:?}");
        }
    }

    #[test]
    fn the_page_has_a_row_for_each_pair() {
        let page = include_str!("../../../docs/kernel-replay.md");
        for pair in PAIRS {
            let row = format!("| `{}` |", [pair.controller, &pair.parameters()].join(" ").trim());
            assert!(page.contains(&row), "run make replay-kernel: {row}");
        }
    }
}
