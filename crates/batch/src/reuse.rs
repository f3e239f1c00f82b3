//! Reuse of runs: if nothing but packet loss is random and no packet is lost, other seeds give the
//! same events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use simulator::SeedUse;

use crate::pool::Job;

/// A run that has been done, reduced to what the caller keeps of it.
struct Finished<T> {
    kept: T,
    seeds: SeedUse,
}

/// State of a scenario.
struct Entry<T> {
    /// Jobs that no thread has taken.
    left: usize,
    finished: Option<Arc<Finished<T>>>,
}

/// The reusable runs of a batch, at most one for each scenario with jobs to come.
pub(crate) struct Reuse<T> {
    /// By the address of the scenario, which the jobs keep.
    entries: Mutex<BTreeMap<usize, Entry<T>>>,
}

impl<T: Clone> Reuse<T> {
    pub(crate) fn new(jobs: &[Job]) -> Self {
        let mut entries: BTreeMap<usize, Entry<T>> = BTreeMap::new();
        for job in jobs {
            let entry = entries.entry(address(job));
            entry.or_insert(Entry { left: 0, finished: None }).left += 1;
        }
        Self { entries: Mutex::new(entries) }
    }

    /// Takes a job: a copy of a run with the same events, if one is known.
    pub(crate) fn take(&self, job: &Job) -> Option<T> {
        let finished = {
            let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = entries.get_mut(&address(job))?;
            entry.left -= 1;
            match entry.left {
                0 => entries.remove(&address(job))?.finished,
                _ => entry.finished.clone(),
            }
        }?;
        finished.seeds.gives_same_run(job.seed).then(|| finished.kept.clone())
    }

    /// Keeps a complete run, if it is reusable and jobs of its scenario are left.
    pub(crate) fn keep(&self, job: &Job, kept: &T, seeds: SeedUse) {
        if !seeds.is_reusable() {
            return;
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get_mut(&address(job))
            && entry.finished.is_none()
        {
            entry.finished = Some(Arc::new(Finished { kept: kept.clone(), seeds }));
        }
    }
}

fn address(job: &Job) -> usize {
    Arc::as_ptr(&job.scenario).addr()
}
