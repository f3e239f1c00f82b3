//! Compares controllers of public user-space programs with those of this project.
//!
//!     cargo run -p replay --example replay_programs -- TREE [--paths N] [--write PAGE]
//!
//! `TREE` is a tree of picoquic, for its BBR, version 1, of genericCC, for Copa, or of PCC-Uspace,
//! for Allegro and Vivace. A few of its files are compiled in a folder for temporary files with
//! the files of `crates/replay/picoquic`, `genericcc` or `pcc-uspace` in the place of the rest. A
//! sender over a bottleneck sends as the definition lets it. The
//! program gets the same events: packets sent, acknowledgements with rate samples, losses with
//! packet numbers, timeouts. The table says after how many acknowledgements both are near each
//! other. `--write` replaces the table of a page. The exit status is 1 when a pair differs after
//! more than 1 % of the acknowledgements without a reason, or has a reason and does not, and 2 when
//! nothing could be compared.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command")]

mod program;
mod sender;

use std::path::PathBuf;
use std::process::ExitCode;

use replay::paced::paths;

use self::program::{Answer, Pair, Program, Tree};
use self::sender::{Connection, Expected, Trouble};

/// Share by which windows and rates differ that are near each other.
const NEAR: f64 = 1e-2;
/// Least share of acknowledgements after which both are near each other, without a reason.
const LEAST: f64 = 0.99;

struct Arguments {
    tree: PathBuf,
    paths: usize,
    page: Option<PathBuf>,
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut tree, mut paths, mut page) = (None, 60, None);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--write" => page = Some(value()?.into()),
                "--paths" => {
                    let value = value()?;
                    let number = value.parse().ok().filter(|number| *number > 0);
                    paths = number
                        .ok_or_else(|| format!("--paths needs a positive number, not {value}"))?;
                }
                _ if word.starts_with('-') || tree.is_some() => {
                    return Err(format!("{word} is neither --paths nor --write"));
                }
                _ => tree = Some(word.into()),
            }
        }
        let tree =
            tree.ok_or("the first argument is a tree of picoquic, genericCC or PCC-Uspace")?;
        Ok(Self { tree, paths, page })
    }
}

/// Agreement over the paths of one kind.
#[derive(Default)]
struct Share {
    acks: u64,
    /// The program has a window.
    has_window: bool,
    near_windows: u64,
    near_rates: u64,
}

impl Share {
    fn count(&mut self, expected: &Expected, answer: &Answer) {
        let near = |here: f64, there: f64| (here - there).abs() <= NEAR * there;
        self.acks += 1;
        self.has_window |= answer.cwnd >= 0.0;
        self.near_windows += u64::from(near(expected.cwnd as f64, answer.cwnd));
        self.near_rates += u64::from(match expected.pacing {
            Some(rate) => answer.is_paced && near(rate, answer.rate),
            None => !answer.is_paced,
        });
    }
}

/// Follows a pair over the paths of one kind.
fn follow(
    (tree, program): (&Tree, &Program),
    pair: &Pair,
    trouble: Trouble,
    count: usize,
) -> Result<Share, String> {
    let definition = pair.definition()?;
    let mut share = Share::default();
    for (number, path) in paths(count).enumerate() {
        let place = (&path, trouble, number as u64);
        let connection = Connection::run(&definition, tree.overtaking, place);
        let answers = program.answers(pair, &connection.events)?;
        if answers.len() != connection.expected.len() {
            return Err("the program has not answered each acknowledgement".to_owned());
        }
        for (expected, answer) in connection.expected.iter().zip(&answers) {
            share.count(expected, answer);
        }
    }
    Ok(share)
}

/// The table of a tree, and whether each pair is as its reason says.
fn table(tree: &Tree, program: &Program, count: usize) -> Result<(String, bool), String> {
    let mut table =
        "| controller | losses | paths | ACKs | cwnd within 1 % (% of ACKs) | pacing rate within 1 \
                     % (% of ACKs) | why not more |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    let mut is_as_stated = true;
    for pair in tree.pairs {
        for trouble in Trouble::ALL {
            let share = follow((tree, program), pair, trouble, count)?;
            let of_all = |near: u64| near as f64 / share.acks.max(1) as f64;
            let [windows, rates] = [share.near_windows, share.near_rates].map(of_all);
            let is_near = rates >= LEAST && (windows >= LEAST || !share.has_window);
            let shown = |share: f64| format!("{:.2}", 100.0 * share);
            let windows = if share.has_window { shown(windows) } else { "no window".to_owned() };
            is_as_stated &= is_near == pair.reason.is_empty();
            table += &format!(
                "| `{}` | {} | {count} | {} | {windows} | {} | {} |\n",
                pair.name(),
                trouble.name(),
                share.acks,
                shown(rates),
                pair.reason
            );
        }
    }
    Ok((table, is_as_stated))
}

fn run() -> Result<bool, String> {
    let arguments = Arguments::read(std::env::args().skip(1))?;
    let tree = Tree::of(&arguments.tree)?;
    let program = tree.compile(&arguments.tree)?;
    let (table, is_as_stated) = table(tree, &program, arguments.paths)?;
    print!("{table}");
    let Some(page) = arguments.page else { return Ok(is_as_stated) };
    let failed = |error: std::io::Error| format!("{}: {error}", page.display());
    let text = std::fs::read_to_string(&page).map_err(failed)?;
    let [begin, end] =
        ["begin", "end"].map(|word| format!("<!-- replay_programs {}: {word} -->", tree.name));
    let missing = || format!("{}: no lines {begin} and {end}", page.display());
    let (before, rest) = text.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    let text = format!("{before}{begin}\n{table}{end}{after}");
    std::fs::write(&page, text).map_err(failed)?;
    Ok(is_as_stated)
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("replay_programs: {error}");
            ExitCode::from(2)
        }
    }
}
