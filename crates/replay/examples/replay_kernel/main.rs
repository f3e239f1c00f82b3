//! Compares the kernel's own congestion controllers with those of this project, step by step.
//!
//!     cargo run -p replay --example replay_kernel -- [--source PATH] [--sequences N]
//!         [--module FOLDER] [--write PAGE] [--record FOLDER] [CONTROLLER...]
//!
//! It compiles `net/ipv4/tcp_*.c` of a kernel's sources as a library of this machine, gives its
//! controllers and those of `crates/congestion` the same random events, and prints where their
//! windows part. `PATH` is a folder of sources or an archive as in Debian's package `linux-source`,
//! by default the newest of `/usr/src`. What is unpacked and compiled stays in a folder for
//! temporary files. With `--module`, possibly several times, the controllers are those of public
//! modules instead: all files of C in a folder, which need a kernel's sources too. They are
//! followed over whole connections, and the table says how often both are near each other.
//! `--write` replaces the table of a page.
//! `--record` writes short sequences with the kernel's windows into a folder, a file for each
//! controller, and prints no table: tests of `crates/congestion` play them. The exit status is 1
//! when a pair disagrees without a reason, or has a reason and agrees, and 2 when nothing could be
//! compared.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command")]

mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use replay::Library;
use replay::driver::{Disagreement, Outcome, record, replay};
use replay::events::{marked_sequences, short_sequences};
use replay::modules::{self, Module};
use replay::paced::{self, Followed};
use replay::pairs::{PAIRS, Pair};
use replay::sources::{self, Source};

/// The command line.
struct Arguments {
    source: Option<PathBuf>,
    sequences: usize,
    modules: Vec<PathBuf>,
    page: Option<PathBuf>,
    records: Option<PathBuf>,
    controllers: Vec<String>,
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut read = Self {
            source: None,
            sequences: 300,
            modules: Vec::new(),
            page: None,
            records: None,
            controllers: Vec::new(),
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--source" => read.source = Some(value()?.into()),
                "--module" => read.modules.push(value()?.into()),
                "--write" => read.page = Some(value()?.into()),
                "--record" => read.records = Some(value()?.into()),
                "--sequences" => {
                    let value = value()?;
                    read.sequences =
                        value.parse().ok().filter(|number| *number > 0).ok_or_else(|| {
                            format!("--sequences needs a positive number, not {value}")
                        })?;
                }
                name if PAIRS.iter().any(|pair| pair.controller == name) => {
                    read.controllers.push(word);
                }
                _ => {
                    let names: Vec<_> = PAIRS.iter().map(|pair| pair.controller).collect();
                    return Err(format!(
                        "{word} is neither an option (--source, --module, --sequences, --write, --record) nor one of {}",
                        names.join(", ")
                    ));
                }
            }
        }
        if read.page.is_some() && !read.controllers.is_empty() {
            return Err("--write makes the whole table, and so takes no controllers".to_owned());
        }
        let takes_others = !read.controllers.is_empty() || read.records.is_some();
        if takes_others && !read.modules.is_empty() {
            return Err("--module takes neither --record nor controllers".to_owned());
        }
        Ok(read)
    }

    fn chooses(&self, pair: &Pair) -> bool {
        self.controllers.is_empty() || self.controllers.iter().any(|name| name == pair.controller)
    }
}

/// Agreement of one pair over all sequences.
struct Row {
    pair: &'static Pair,
    outcomes: Vec<Outcome>,
}

impl Row {
    fn of(pair: &'static Pair, library: Library, count: usize) -> Result<Self, String> {
        let name = pair.controller;
        let comparison = pair.comparison(library).ok_or(format!("{name} cannot be built"))?;
        let outcomes: Option<Vec<_>> = if pair.paced {
            paced::paths(count).map(|path| paced::replay(&comparison, &path)).collect()
        } else {
            marked_sequences(count).map(|sequence| replay(&comparison, &sequence)).collect()
        };
        let outcomes = outcomes.ok_or(format!("these sources have no {}", pair.kernel))?;
        Ok(Self { pair, outcomes })
    }

    fn disagreeing(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.disagreement.is_some()).count()
    }

    fn first(&self) -> Option<&Disagreement> {
        self.outcomes.iter().find_map(|outcome| outcome.disagreement.as_ref())
    }

    /// It disagrees and says why, or does not.
    fn is_as_stated(&self) -> bool {
        (self.disagreeing() > 0) == self.pair.reason.is_some()
    }
}

/// A pair with a public module, or of a paced controller of the kernel, over all paths.
struct ModuleRow {
    pair: &'static Pair,
    /// Name and revision of the module.
    module: String,
    paths: usize,
    followed: Followed,
}

impl ModuleRow {
    fn of(
        pair: &'static Pair,
        module: &str,
        library: Library,
        count: usize,
    ) -> Result<Self, String> {
        let missing = || format!("there is no {} in C, or none with its parameters", pair.kernel);
        let comparison = pair.comparison(library).ok_or_else(missing)?;
        let mut sum = Followed::default();
        let paths = pair.paths(count);
        for path in &paths {
            sum += paced::follow(&comparison, path).ok_or_else(missing)?;
        }
        Ok(Self { pair, module: module.to_owned(), paths: paths.len(), followed: sum })
    }
}

fn compiled(source: &Source, module: Option<&Path>) -> Result<Library, String> {
    sources::library(source, module, |path| Library::load(path).map_err(|error| error.to_string()))
}

/// Follows the controllers of public modules.
fn follow(source: &Source, arguments: &Arguments) -> Result<bool, String> {
    let count = arguments.sequences;
    let library = compiled(source, None)?;
    // The kernel's own ones first, on which some modules are built.
    let paced = PAIRS.iter().filter(|pair| pair.paced);
    let rows = paced.map(|pair| ModuleRow::of(pair, &source.release, library, count));
    let mut rows = rows.collect::<Result<Vec<_>, _>>()?;
    for folder in &arguments.modules {
        let module = Module::of(folder)?;
        let library = compiled(source, Some(folder))?;
        let revision = modules::revision(folder).unwrap_or_else(|| "no clone".to_owned());
        let name = format!("{} ({revision})", module.name);
        for pair in module.pairs {
            rows.push(ModuleRow::of(pair, &name, library, count)?);
        }
    }
    let table = table::of_modules(&source.release, &rows);
    println!("{table}");
    if let Some(page) = &arguments.page {
        table::write(page, table::MODULES, &table)?;
    }
    Ok(true)
}

/// Characters of a sequence, and of a file.
const LONGEST_SEQUENCE: usize = 4000;
const LONGEST_RECORD: usize = 30_000;

/// Sequences in which both agree, as many as a small file holds.
fn write_record(pair: &Pair, library: Library, release: &str, folder: &Path) -> Result<(), String> {
    let name = pair.controller;
    let comparison = pair.comparison(library).ok_or(format!("{name} cannot be built"))?;
    let mut text = format!(
        "# Made by replay_kernel --record: the windows of {} of {release} in random sequences.\n\
         # crates/replay/src/journal.rs explains the lines.\n\
         controller {name} {}\nbound {}\n",
        pair.kernel,
        pair.parameters(),
        pair.bound
    );
    for sequence in short_sequences() {
        let Some(lines) = record(&comparison, &sequence) else { continue };
        if (200..LONGEST_SEQUENCE).contains(&lines.len()) {
            text.push_str(&lines);
        }
        if text.len() > LONGEST_RECORD {
            break;
        }
    }
    let file = folder.join(format!("{name}.txt"));
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
}

fn run() -> Result<bool, String> {
    let arguments = Arguments::read(std::env::args().skip(1))?;
    let source = sources::find(arguments.source.as_deref())?;
    if !arguments.modules.is_empty() {
        return follow(&source, &arguments);
    }
    let library = compiled(&source, None)?;
    if let Some(folder) = &arguments.records {
        for pair in PAIRS.iter().filter(|pair| pair.is_recorded() && arguments.chooses(pair)) {
            write_record(pair, library, &source.release, folder)?;
        }
        return Ok(true);
    }
    let mut rows = Vec::new();
    for pair in PAIRS.iter().filter(|pair| arguments.chooses(pair)) {
        rows.push(Row::of(pair, library, arguments.sequences)?);
    }
    let table = table::markdown(&source.release, &rows);
    println!("{table}");
    for row in rows.iter().filter(|row| !row.is_as_stated()) {
        let (name, parameters) = (row.pair.controller, row.pair.parameters());
        eprintln!("{name} {parameters}: differs without a reason, or has a reason and agrees");
    }
    if let Some(page) = &arguments.page {
        table::write(page, table::KERNEL, &table)?;
    }
    Ok(rows.iter().all(Row::is_as_stated))
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("replay_kernel: {message}");
            ExitCode::from(2)
        }
    }
}
