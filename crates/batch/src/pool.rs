//! The pool of threads: workers take the next job that is left, and the caller's thread receives
//! the results. Threads of the standard library suffice, because a run shares nothing with others.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use recording::Recording;
use scenario::Scenario;
use simulator::{Options, Progress, SeedUse};

use crate::reuse::Reuse;

/// The caller of [`run_each`] is asked this often whether to go on.
const TICK: Duration = Duration::from_millis(50);

/// One run to do.
#[derive(Clone, Debug)]
pub struct Job {
    /// The scenario, shared between its runs.
    pub scenario: Arc<Scenario>,
    /// Seed of the run.
    pub seed: u64,
}

/// The scenario without series, for a caller that keeps only totals of its runs.
pub fn totals_only(scenario: &Scenario) -> Arc<Scenario> {
    Arc::new(Scenario { record: Default::default(), ..scenario.clone() })
}

/// Runs `scenario` and fills in the wall time, which the simulator itself must not read.
pub fn run<'a>(scenario: &'a Scenario, seed: u64, options: Options<'a>) -> Recording {
    run_with_seed_use(scenario, seed, options).0
}

/// The same, and what the run has drawn from its seed.
#[expect(clippy::disallowed_methods, reason = "wall time of a run, reported to its user")]
fn run_with_seed_use<'a>(
    scenario: &'a Scenario,
    seed: u64,
    options: Options<'a>,
) -> (Recording, SeedUse) {
    let start = Instant::now();
    let (mut recording, seeds) = simulator::run_with_seed_use(scenario, seed, options);
    recording.wall_s = start.elapsed().as_secs_f64();
    (recording, seeds)
}

/// Number of threads for `jobs`: as requested, by default one for each core, and no more than jobs.
pub fn worker_count(requested: Option<NonZeroUsize>, jobs: usize) -> usize {
    let workers = requested.or_else(|| thread::available_parallelism().ok());
    workers.map_or(1, NonZeroUsize::get).min(jobs)
}

/// Runs `jobs` on [`worker_count`] threads. `keep` reduces each recording in the thread that ran
/// it. If nothing but packet loss depends on the seed and no packet is lost, a run with another
/// seed that loses none of these packets is a clone of the first one. `set_seed` gives it its own
/// seed; its wall time is that of the first one.
///
/// `receive` is called in the caller's thread with all results that came since its last call, each
/// with the number of its job, in no particular order. It is called at least every 50 ms, with no
/// results if need be, so that it can look for a request to stop. Its `Break` cancels the batch:
/// runs under way end early and are dropped, because of many runs only complete ones are useful.
pub fn run_each<T: Clone + Send + Sync, B>(
    jobs: &[Job],
    workers: Option<NonZeroUsize>,
    keep: impl Fn(Recording) -> T + Sync,
    set_seed: impl Fn(&mut T, u64) + Sync,
    mut receive: impl FnMut(Vec<(usize, T)>) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let reuse = Reuse::new(jobs);
    let batch = Batch { jobs, next, stop, reuse, keep, set_seed };
    thread::scope(|scope| {
        let (send, results) = mpsc::channel();
        let worker = |_| {
            let (batch, send) = (&batch, send.clone());
            scope.spawn(move || {
                let _stopping = StopOnPanic(&batch.stop);
                batch.work(&send);
            })
        };
        let workers: Vec<_> = (0..worker_count(workers, jobs.len())).map(worker).collect();
        drop(send);
        let flow = loop {
            let first = results.recv_timeout(TICK);
            let ended = matches!(first, Err(RecvTimeoutError::Disconnected));
            let flow = receive(first.into_iter().chain(results.try_iter()).collect());
            if flow.is_break() {
                batch.stop.store(true, Ordering::Relaxed);
            }
            if ended || flow.is_break() {
                break flow;
            }
        };
        // The panic of a worker goes on here with its own message.
        for worker in workers {
            worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        flow
    })
}

/// Ends the other workers when one panics.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs `jobs` and returns their recordings in order.
pub fn run_all(jobs: &[Job], workers: Option<NonZeroUsize>) -> Vec<Recording> {
    let mut recordings: Vec<Option<Recording>> = jobs.iter().map(|_| None).collect();
    let _: ControlFlow<()> = run_each(
        jobs,
        workers,
        |recording| recording,
        |recording, seed| recording.seed = seed,
        |results| {
            results.into_iter().for_each(|(job, recording)| recordings[job] = Some(recording));
            ControlFlow::Continue(())
        },
    );
    recordings.into_iter().flatten().collect()
}

/// The jobs, and the state that all workers share.
struct Batch<'a, T, K, S> {
    jobs: &'a [Job],
    /// Number of the next job.
    next: AtomicUsize,
    stop: AtomicBool,
    reuse: Reuse<T>,
    keep: K,
    set_seed: S,
}

impl<T: Clone, K: Fn(Recording) -> T, S: Fn(&mut T, u64)> Batch<'_, T, K, S> {
    /// Does the next job that no thread has taken, until there is none, or until all shall stop.
    fn work(&self, results: &Sender<(usize, T)>) {
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.jobs.get(number) else { return };
            let Some(kept) = self.copied(job).or_else(|| self.ran(job)) else { return };
            if results.send((number, kept)).is_err() {
                return;
            }
        }
    }

    /// A clone of a run with the same events.
    fn copied(&self, job: &Job) -> Option<T> {
        let mut kept = self.reuse.take(job)?;
        (self.set_seed)(&mut kept, job.seed);
        Some(kept)
    }

    /// Runs a job; `None` if it was stopped.
    fn ran(&self, job: &Job) -> Option<T> {
        let mut going = |_: &Progress| !self.stop.load(Ordering::Relaxed);
        let options = Options { progress: Some(&mut going), ..Options::default() };
        let (recording, seeds) = run_with_seed_use(&job.scenario, job.seed, options);
        if recording.partial {
            return None;
        }
        let kept = (self.keep)(recording);
        self.reuse.keep(job, &kept, seeds);
        Some(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(text: &str, seed: u64) -> Job {
        let link = "[[link]]\nbetween = ['a', 'b']\nrate = '2Mbit/s'\ndelay = '50ms'\n";
        let flow = "[[flow]]\nfrom = 'a'\nto = 'b'\ncontroller = 'reno'\n";
        let text = format!("duration = '100000s'\n{link}channel = {{ per = 1e-2 }}\n{flow}{text}");
        Job { scenario: Arc::new(Scenario::parse(&text, "job.toml", &[]).unwrap()), seed }
    }

    fn short(seed: u64) -> Job {
        job("traffic = { download = '50kB' }", seed)
    }

    #[test]
    fn recordings_come_in_the_order_of_the_jobs_whatever_the_number_of_threads() {
        let jobs: Vec<Job> = (0..12).map(short).collect();
        let digests = |workers| -> Vec<String> {
            run_all(&jobs, NonZeroUsize::new(workers)).iter().map(Recording::digest).collect()
        };
        let one = digests(1);
        assert_eq!(one, digests(3));
        let seeds: Vec<u64> = run_all(&jobs, None).iter().map(|one| one.seed).collect();
        assert_eq!(seeds, (0..12).collect::<Vec<_>>());
    }

    /// Two scenarios, each with seeds that lose packets and seeds that do not, one scenario after
    /// the other and both by turns. A copy has the wall time of its first run, to the last digit.
    #[test]
    fn copies_of_runs_are_the_recordings_of_their_own_seeds() {
        let scenarios = ["50kB", "60kB"]
            .map(|size| job(&format!("traffic = {{ download = '{size}' }}"), 0).scenario);
        let of = |scenario: &Arc<Scenario>, seed| Job { scenario: Arc::clone(scenario), seed };
        let after = scenarios.iter().flat_map(|one| (0..40).map(move |seed| of(one, seed)));
        let by_turns = (0..40).flat_map(|seed| scenarios.iter().map(move |one| of(one, seed)));
        for jobs in [after.collect::<Vec<_>>(), by_turns.collect()] {
            let runs: Vec<_> = jobs
                .iter()
                .map(|job| {
                    simulator::run_with_seed_use(&job.scenario, job.seed, Options::default())
                })
                .collect();
            let reusable = runs.iter().filter(|(_, seeds)| seeds.is_reusable()).count();
            assert!((10..70).contains(&reusable), "{reusable} runs have no loss");
            for workers in [1, 4] {
                let copies = run_all(&jobs, NonZeroUsize::new(workers));
                for (copy, (run, _)) in copies.iter().zip(&runs) {
                    assert_eq!((copy.digest(), copy.seed), (run.digest(), run.seed));
                }
                let mut times: Vec<_> = copies.iter().map(|one| one.wall_s.to_bits()).collect();
                times.sort_unstable();
                times.dedup();
                // Each worker may have begun a run of each scenario before the first has ended.
                let most = jobs.len() - reusable + 2 * workers;
                assert!(times.len() <= most, "{} runs of at most {most}", times.len());
            }
        }
    }

    #[test]
    fn a_batch_that_is_cancelled_drops_the_run_under_way_and_keeps_the_others() {
        let endless = "traffic = { bulk = \"unlimited\" }";
        let jobs = [short(1), job(endless, 1), job(endless, 2)];
        let mut done = Vec::new();
        let ended = run_each(
            &jobs,
            NonZeroUsize::new(1),
            |recording| recording.partial,
            |_, _| {},
            |results| {
                done.extend(results);
                if done.is_empty() {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break("enough")
                }
            },
        );
        assert_eq!(ended, ControlFlow::Break("enough"));
        assert_eq!(done, [(0, false)]);
    }

    #[test]
    fn a_panic_of_a_worker_ends_the_batch_with_its_own_message() {
        let endless = "traffic = { bulk = \"unlimited\" }";
        let jobs = [short(1), job(endless, 1)];
        let fail = |_| -> () { panic!("planted") };
        let run = || {
            run_each(
                &jobs,
                NonZeroUsize::new(2),
                fail,
                |_, _| {},
                |_| ControlFlow::<()>::Continue(()),
            )
        };
        let panic = std::panic::catch_unwind(run).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"planted"));
    }

    #[test]
    fn there_are_no_more_threads_than_jobs_and_none_for_no_jobs() {
        assert_eq!(worker_count(NonZeroUsize::new(8), 3), 3);
        assert_eq!(worker_count(NonZeroUsize::new(2), 3), 2);
        assert_eq!(worker_count(None, 0), 0);
        assert!(run_all(&[], None).is_empty());
    }

    #[test]
    fn a_scenario_without_series_gives_the_same_totals() {
        let series = "traffic = { download = '50kB' }\n[record]\ninterval = '1s'";
        let whole = job(series, 3);
        let scenario = totals_only(&whole.scenario);
        let reduced = run_all(&[whole, Job { scenario, seed: 3 }], None);
        assert!(!reduced[0].flow_series.is_empty());
        assert!(reduced[1].flow_series.is_empty());
        assert_eq!(reduced[0].flows, reduced[1].flows);
    }
}
