//! The program that is made of picoquic's sources.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Files of a tree of picoquic that are compiled as they are.
const SOURCES: [&str; 3] = ["bbr1.c", "cc_common.c", "pacing.c"];
/// The function that is taken out of `frames.c`.
const PEAK: &str = "void picoquic_estimate_max_path_bandwidth(";

/// Window and rate of picoquic's controller after an acknowledgement.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) cwnd: u64,
    /// In bytes per second.
    pub(crate) rate: u64,
    pub(crate) is_paced: bool,
}

/// The compiled program.
pub(crate) struct Program(PathBuf);

impl Program {
    pub(crate) fn compile(tree: &Path) -> Result<Self, String> {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("picoquic");
        let sources = tree.join("picoquic");
        let folder = std::env::temp_dir().join("bentpipe-replay-picoquic");
        let failed = |path: &Path, error| format!("{}: {error}", path.display());
        std::fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
        for name in SOURCES.iter().chain(&["cc_common.h"]) {
            let from = sources.join(name);
            std::fs::copy(&from, folder.join(name)).map_err(|error| failed(&from, error))?;
        }
        let frames = sources.join("frames.c");
        let text = std::fs::read_to_string(&frames).map_err(|error| failed(&frames, error))?;
        let peak = function(&text).ok_or(format!("{}: no {PEAK}", frames.display()))?;
        let file = folder.join("peak.c");
        std::fs::write(&file, format!("#include \"picoquic_internal.h\"\n{peak}"))
            .map_err(|error| failed(&file, error))?;
        let program = folder.join("bbr1");
        let status = Command::new("cc")
            .args(["-O2", "-w", "-I"])
            .arg(&own)
            .arg("-I")
            .arg(&folder)
            .args(SOURCES.map(|name| folder.join(name)))
            .args([&file, &own.join("main.c")])
            .arg("-o")
            .arg(&program)
            .status()
            .map_err(|error| format!("cc: {error}"))?;
        if status.success() { Ok(Self(program)) } else { Err(format!("cc: {status}")) }
    }

    /// The answers to events, one for each acknowledgement.
    pub(crate) fn answers(&self, events: &str) -> Result<Vec<Answer>, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.0.display());
        let mut process = Command::new(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let input = process.stdin.take().ok_or("no standard input")?;
        let output = std::thread::scope(|scope| {
            let writing = scope.spawn(move || (&input).write_all(events.as_bytes()));
            let output = process.wait_with_output();
            writing.join().map_err(|_| std::io::Error::other("writing"))??;
            output
        });
        let output = output.map_err(failed)?;
        if !output.status.success() {
            return Err(format!("{}: {}", self.0.display(), output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().map(|line| answer(line).ok_or(format!("not an answer: {line}"))).collect()
    }
}

fn answer(line: &str) -> Option<Answer> {
    let mut numbers = line.split(' ').map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some(Answer { cwnd: next()?, rate: next()?, is_paced: next()? != 1 })
}

/// A function up to the brace in its first column.
fn function(text: &str) -> Option<String> {
    let (_, rest) = text.split_once(PEAK)?;
    let (body, _) = rest.split_once("\n}")?;
    Some(format!("{PEAK}{body}\n}}\n"))
}
