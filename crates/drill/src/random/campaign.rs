//! Many random scripts, each recorded on one host and played on another.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread;

use crate::error::Failure;
use crate::parser::parse;
use crate::script::Script;

use super::reduction::reduce;
use super::stimulus::Stimulus;

/// The two hosts that are compared. Scripts run at once, so that it is shared between threads.
pub trait Bench: Sync {
    /// The script of a stimulus, from the host in virtual time.
    ///
    /// # Errors
    /// When the host does not have what the script requires.
    fn record(&self, stimulus: &Stimulus) -> Result<String, String>;

    /// Plays a script on the other host, and returns the first difference.
    ///
    /// # Errors
    /// When there is no such host, or it does not have what the script requires.
    fn play(&self, script: &Script) -> Result<Option<Failure>, String>;
}

/// A script on which the hosts differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Its stimulus.
    pub stimulus: Stimulus,
    /// The script.
    pub text: String,
    /// The first difference.
    pub failure: Failure,
}

impl Difference {
    /// The script up to the difference, with the difference at its head.
    pub fn report(&self) -> String {
        let seed = self.stimulus.seed;
        let kept: Vec<_> = self.text.lines().take(self.failure.line()).collect();
        let what = self.failure.what();
        format!("// seed {seed}, the last line differs: {what}\n{}\n", kept.join("\n"))
    }

    /// Differences of one kind have the same text here: the first one without its numbers.
    pub fn kind(&self) -> String {
        let what = self.failure.what();
        let what = what.split(", for ").next().unwrap_or(what);
        let mut kind = String::new();
        for letter in what.chars() {
            match letter {
                '0'..='9' if kind.ends_with('#') => {}
                '0'..='9' => kind.push('#'),
                other => kind.push(other),
            }
        }
        kind.replace("#.#", "#")
    }
}

/// Outcome of one seed.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Both hosts sent the same segments.
    Same,
    /// They did not, in each try.
    Different(Box<Difference>),
    /// The script could not be recorded or played.
    Unplayable(String),
}

/// How seeds are played.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Scripts that run at once at first; they mostly wait.
    pub at_once: usize,
    /// Scripts that run at once when those are tried again that differed among many others.
    pub alone: usize,
    /// Number of tries each time: a real kernel may be late.
    pub tries: u32,
    /// Differences are reduced.
    pub reduces: bool,
}

/// Plays the seeds, and returns their verdicts in the same order.
pub fn run(bench: &dyn Bench, seeds: &[u64], plan: Plan) -> Vec<(u64, Verdict)> {
    let first = each(seeds.to_vec(), plan.at_once, |seed| {
        let stimulus = Stimulus::draw(seed);
        (seed, judge(bench, &stimulus, plan.tries))
    });
    let mut verdicts = Vec::new();
    let mut again = Vec::new();
    for (seed, verdict) in first {
        match verdict {
            Verdict::Different(_) => again.push(seed),
            other => verdicts.push((seed, other)),
        }
    }
    verdicts.extend(each(again, plan.alone, |seed| {
        let verdict = judge(bench, &Stimulus::draw(seed), plan.tries);
        match verdict {
            Verdict::Different(found) if plan.reduces => (seed, reduced(bench, *found, plan)),
            other => (seed, other),
        }
    }));
    verdicts.sort_by_key(|(seed, _)| *seed);
    verdicts
}

fn reduced(bench: &dyn Bench, found: Difference, plan: Plan) -> Verdict {
    let stimulus = found.stimulus.clone();
    let (_, smallest) =
        reduce(stimulus, found, |candidate| match judge(bench, candidate, plan.tries) {
            Verdict::Different(found) => Some(*found),
            _ => None,
        });
    Verdict::Different(Box::new(smallest))
}

fn judge(bench: &dyn Bench, stimulus: &Stimulus, tries: u32) -> Verdict {
    let text = match bench.record(stimulus) {
        Ok(text) => text,
        Err(what) => return Verdict::Unplayable(what),
    };
    let script = match parse(&format!("seed {}", stimulus.seed), &text) {
        Ok(script) => script,
        Err(failure) => return Verdict::Unplayable(failure.to_string()),
    };
    let mut verdict = Verdict::Same;
    for _ in 0..tries {
        verdict = match bench.play(&script) {
            Err(what) => Verdict::Unplayable(what),
            Ok(None) => return Verdict::Same,
            Ok(Some(failure @ Failure::Differs { .. })) => {
                let (stimulus, text) = (stimulus.clone(), text.clone());
                Verdict::Different(Box::new(Difference { stimulus, text, failure }))
            }
            Ok(Some(failure)) => Verdict::Unplayable(failure.to_string()),
        };
    }
    verdict
}

/// Does something for each item on several threads.
fn each<T: Send, R: Send>(items: Vec<T>, threads: usize, act: impl Fn(T) -> R + Sync) -> Vec<R> {
    let queue = Mutex::new(VecDeque::from(items));
    let next = || queue.lock().ok()?.pop_front();
    let work = || {
        let mut results = Vec::new();
        while let Some(item) = next() {
            results.push(act(item));
        }
        results
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).flatten().collect()
    })
}
