//! Runs that are alike: with nothing random but losses of packets, and no loss, seeds give the same
//! events. One of them is run, and the others are its recording with their own seed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use recording::Recording;
use simulator::Draws;

use crate::pool::Job;

/// A run that others may be alike.
struct Known {
    recording: Recording,
    draws: Draws,
}

/// State of a scenario.
#[derive(Default)]
struct Entry {
    /// Jobs that no thread has taken.
    left: usize,
    known: Option<Arc<Known>>,
}

/// The runs of a batch that others may be alike, at most one for each scenario with jobs to come.
pub(crate) struct Alike {
    /// By the address of the scenario, which the jobs keep.
    entries: Mutex<BTreeMap<usize, Entry>>,
}

impl Alike {
    pub(crate) fn new(jobs: &[Job]) -> Self {
        let mut entries: BTreeMap<usize, Entry> = BTreeMap::new();
        for job in jobs {
            entries.entry(address(job)).or_default().left += 1;
        }
        Self { entries: Mutex::new(entries) }
    }

    /// Takes a job: its recording, if one of a run that is alike is known.
    pub(crate) fn take(&self, job: &Job) -> Option<Recording> {
        let known = {
            let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = entries.get_mut(&address(job))?;
            entry.left -= 1;
            match entry.left {
                0 => entries.remove(&address(job))?.known,
                _ => entry.known.clone(),
            }
        }?;
        known.draws.are_alike_with(job.seed).then(|| {
            let mut recording = known.recording.clone();
            recording.seed = job.seed;
            recording
        })
    }

    /// Keeps a run that has been done, if others may be alike.
    pub(crate) fn keep(&self, job: &Job, recording: &Recording, draws: Draws) {
        if recording.partial || !draws.may_be_alike() {
            return;
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get_mut(&address(job))
            && entry.known.is_none()
        {
            entry.known = Some(Arc::new(Known { recording: recording.clone(), draws }));
        }
    }
}

fn address(job: &Job) -> usize {
    Arc::as_ptr(&job.scenario).addr()
}
