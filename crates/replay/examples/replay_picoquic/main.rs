//! Compares picoquic's BBR, version 1, with `variant = "picoquic"` of `bbr`.
//!
//!     cargo run -p replay --example replay_picoquic -- TREE [--paths N] [--write PAGE]
//!
//! `TREE` is a tree of picoquic. Its `bbr1.c`, `cc_common.c` and `pacing.c`, and the function of
//! `frames.c` that finds the peak of the delivery rate, are compiled in a folder for temporary
//! files with the headers of `crates/replay/picoquic`. A sender over a bottleneck sends as the
//! definition lets it, and the C code gets the same events: acknowledgements with rate samples,
//! losses with packet numbers, timeouts. The table says after how many acknowledgements both are
//! near each other. `--write` replaces the table of a page. The exit status is 2 when nothing
//! could be compared.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command")]

mod program;
mod sender;

use std::path::PathBuf;
use std::process::ExitCode;

use replay::paced::paths;

use self::program::{Answer, Program};
use self::sender::{Connection, Expected, Trouble};

const LINES: [&str; 2] = ["<!-- replay_picoquic: begin -->\n", "<!-- replay_picoquic: end -->"];
/// Share by which windows and rates differ that are near each other.
const NEAR: f64 = 1e-2;

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
        let tree = tree.ok_or("the first argument is a tree of picoquic")?;
        Ok(Self { tree, paths, page })
    }
}

/// Agreement over the paths of one kind.
#[derive(Default)]
struct Share {
    acks: u64,
    near_windows: u64,
    near_rates: u64,
}

impl Share {
    fn count(&mut self, expected: &Expected, answer: &Answer) {
        let near = |here: f64, there: f64| (here - there).abs() <= NEAR * there;
        self.acks += 1;
        self.near_windows += u64::from(near(expected.cwnd as f64, answer.cwnd as f64));
        self.near_rates += u64::from(match expected.pacing {
            Some(rate) => answer.is_paced && near(rate, answer.rate as f64),
            None => !answer.is_paced,
        });
    }
}

fn row(program: &Program, trouble: Trouble, count: usize) -> Result<String, String> {
    let mut share = Share::default();
    for (number, path) in paths(count).enumerate() {
        let connection = Connection::run(&path, trouble, number as u64);
        let answers = program.answers(&connection.events)?;
        if answers.len() != connection.expected.len() {
            return Err("the program has not answered each acknowledgement".to_owned());
        }
        for (expected, answer) in connection.expected.iter().zip(&answers) {
            share.count(expected, answer);
        }
    }
    let percent = |near: u64| 100.0 * near as f64 / share.acks.max(1) as f64;
    Ok(format!(
        "| {} | {count} | {} | {:.2} | {:.2} |\n",
        trouble.name(),
        share.acks,
        percent(share.near_windows),
        percent(share.near_rates)
    ))
}

fn run() -> Result<(), String> {
    let arguments = Arguments::read(std::env::args().skip(1))?;
    let program = Program::compile(&arguments.tree)?;
    let mut table =
        "| losses | paths | ACKs | cwnd within 1 % (% of ACKs) | pacing rate within 1 % \
                     (% of ACKs) |\n|---|---|---|---|---|\n"
            .to_owned();
    for trouble in Trouble::ALL {
        table += &row(&program, trouble, arguments.paths)?;
    }
    print!("{table}");
    let Some(page) = arguments.page else { return Ok(()) };
    let failed = |error: std::io::Error| format!("{}: {error}", page.display());
    let text = std::fs::read_to_string(&page).map_err(failed)?;
    let [begin, end] = LINES;
    let missing = || format!("{}: no lines {}{end}", page.display(), begin);
    let (before, rest) = text.split_once(begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(end).ok_or_else(missing)?;
    std::fs::write(&page, format!("{before}{begin}{table}{end}{after}")).map_err(failed)
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("replay_picoquic: {error}");
            ExitCode::from(2)
        }
    }
}
