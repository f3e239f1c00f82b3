//! Draws of a run from its seed, which show whether another seed gives the same run.

use link::{Seed, Trials};

/// Draws of a run from its seed.
#[derive(Clone, Debug)]
pub struct SeedUse {
    seed: Seed,
    /// Of the ports whose packets are lost independently of each other, with the numbers of the
    /// ports; `None` if they are not known.
    trials: Option<Vec<(u64, Trials)>>,
}

impl SeedUse {
    pub(crate) fn new(seed: Seed, trials: Option<Vec<(u64, Trials)>>) -> Self {
        Self { seed, trials }
    }

    /// Returns true if other seeds may give the same events: only losses of packets are random, and
    /// no packet was lost.
    pub fn is_reusable(&self) -> bool {
        !self.seed.is_drawn() && self.all_ports(|_, trials| trials.lost == 0)
    }

    /// Returns true if the run with this seed has the same events: it loses none of the packets
    /// that this run has sent.
    pub fn gives_same_run(&self, seed: u64) -> bool {
        self.is_reusable() && self.all_ports(|port, trials| trials.are_lossless(seed, port))
    }

    fn all_ports(&self, holds: impl Fn(u64, &Trials) -> bool) -> bool {
        self.trials.as_ref().is_some_and(|all| all.iter().all(|(port, one)| holds(*port, one)))
    }
}
