//! Programs that are made of public sources.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use congestion::{Specification, Value};

/// A controller of this project, and how the program is called that it is compared with.
pub(crate) struct Pair {
    controller: &'static str,
    sets: &'static [(&'static str, &'static str)],
    /// Argument of the program.
    argument: &'static str,
    /// Why windows or rates differ; none where they do not.
    pub(crate) reason: &'static str,
}

impl Pair {
    /// Name and parameters, as the table has them.
    pub(crate) fn name(&self) -> String {
        let sets = self.sets.iter().map(|(name, value)| format!(" {name}={value}"));
        format!("{}{}", self.controller, sets.collect::<String>())
    }

    pub(crate) fn definition(&self) -> Result<Specification, String> {
        let mut definition = Specification::named(self.controller).map_err(|e| e.to_string())?;
        for (name, value) in self.sets {
            let number = value.parse().map(Value::Number);
            let value = number.unwrap_or_else(|_| Value::Word((*value).to_owned()));
            definition.set(name, value).map_err(|error| error.to_string())?;
        }
        Ok(definition)
    }
}

/// A tree of sources.
pub(crate) struct Tree {
    /// Its name, as the lines around its table have it.
    pub(crate) name: &'static str,
    /// Files that are compiled as they are.
    sources: &'static [&'static str],
    /// Headers that are copied next to them; the first argument of `-I`.
    headers: &'static [&'static str],
    /// A file, and the beginning of the function that is taken out of it.
    function: Option<(&'static str, &'static str)>,
    /// The folder of this crate with its headers, and the file with `main`.
    own: [&'static str; 2],
    compiler: &'static [&'static str],
    /// Packets sent after a missing one that show that it is lost.
    pub(crate) overtaking: u64,
    pub(crate) pairs: &'static [Pair],
}

const COPA: Pair = Pair { controller: "copa", sets: &[], argument: "do_ss:auto:0.5", reason: "" };

/// Trees, each known by its first source.
static TREES: [Tree; 3] = [
    Tree {
        name: "picoquic",
        sources: &["picoquic/bbr1.c", "picoquic/cc_common.c", "picoquic/pacing.c"],
        headers: &["picoquic/cc_common.h"],
        function: Some(("picoquic/frames.c", "void picoquic_estimate_max_path_bandwidth(")),
        own: ["picoquic", "main.c"],
        compiler: &["cc"],
        overtaking: 3,
        pairs: &[Pair {
            controller: "bbr",
            sets: &[("variant", "picoquic")],
            argument: "",
            reason: "",
        }],
    },
    Tree {
        name: "genericCC",
        sources: &["markoviancc.cc", "rtt-window.cc", "estimators.cc", "random.cc"],
        headers: &["markoviancc.hh", "rtt-window.hh", "estimators.hh", "random.hh", "ccc.hh"],
        function: None,
        own: ["genericcc", "main.cc"],
        compiler: &["c++", "-std=c++17"],
        overtaking: 1,
        pairs: &[
            Pair { sets: &[("variant", "genericcc")], ..COPA },
            Pair {
                sets: &[("variant", "genericcc"), ("delta", "0.1")],
                argument: "do_ss:auto:0.1",
                ..COPA
            },
            Pair {
                sets: &[("variant", "genericcc"), ("competitive", "off")],
                argument: "do_ss:constant_delta:0.5",
                ..COPA
            },
            Pair { reason: COPA_DIFFERS, ..COPA },
        ],
    },
    Tree {
        name: "PCC-Uspace",
        sources: &[
            "src/pcc/pcc_sender.cpp",
            "src/pcc/pcc_vivace_sender.cpp",
            "src/pcc/pcc_monitor_interval_queue.cpp",
            "src/pcc/pcc_utility_manager.cpp",
        ],
        headers: &[
            "src/pcc/pcc_sender.h",
            "src/pcc/pcc_vivace_sender.h",
            "src/pcc/pcc_monitor_interval_queue.h",
            "src/pcc/pcc_utility_manager.h",
            "src/pcc/quic_types/quic_bandwidth.h",
            "src/pcc/quic_types/quic_constants.h",
            "src/pcc/quic_types/quic_time.h",
            "src/pcc/quic_types/quic_types.h",
        ],
        function: None,
        own: ["pcc-uspace", "main.cc"],
        compiler: &["c++", "-std=c++11"],
        overtaking: 1,
        pairs: &[
            Pair { controller: "vivace", argument: "Vivace", ..USPACE },
            Pair { controller: "allegro", argument: "Allegro", ..USPACE },
        ],
    },
];

const USPACE: Pair =
    Pair { controller: "", sets: &[("variant", "uspace")], argument: "", reason: "" };

const COPA_DIFFERS: &str = "the paper and mvfst: cwnd doubles once in an RTT at the start, v doubles after three \
                            RTTs in one direction and ends with an ACK for the other, delta doubles once in an RTT";

impl Tree {
    /// The one in a folder.
    pub(crate) fn of(folder: &Path) -> Result<&'static Self, String> {
        TREES.iter().find(|tree| folder.join(tree.sources[0]).is_file()).ok_or_else(|| {
            let names = TREES.each_ref().map(|tree| format!("{} ({})", tree.name, tree.sources[0]));
            format!("{} is no tree of {}", folder.display(), names.join(" or "))
        })
    }

    /// Compiles the program in a folder for temporary files.
    pub(crate) fn compile(&self, tree: &Path) -> Result<Program, String> {
        let [own, main] = self.own;
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join(own);
        let folder = std::env::temp_dir().join(format!("bentpipe-replay-{}", self.name));
        let failed = |path: &Path, error| format!("{}: {error}", path.display());
        let top = Path::new(self.sources[0]).parent().unwrap_or(Path::new(""));
        let copy = |name: &str| {
            let from = tree.join(name);
            // Headers name others by their place from the first source on.
            let place = Path::new(name).strip_prefix(top).unwrap_or(Path::new(name));
            let to = folder.join(place);
            if let Some(folder) = to.parent() {
                std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
            }
            std::fs::copy(&from, &to).map_err(|error| failed(&from, error))?;
            Ok::<_, String>(to)
        };
        for name in self.headers {
            copy(name)?;
        }
        let sources = self.sources.iter().map(|name| copy(name));
        let mut sources = sources.collect::<Result<Vec<_>, _>>()?;
        if let Some((name, begin)) = self.function {
            let from = tree.join(name);
            let text = std::fs::read_to_string(&from).map_err(|error| failed(&from, error))?;
            let text = function(&text, begin).ok_or(format!("{}: no {begin}", from.display()))?;
            let file = folder.join("function.c");
            std::fs::write(&file, text).map_err(|error| failed(&file, error))?;
            sources.push(file);
        }
        let program = folder.join(self.name);
        let status = Command::new(self.compiler[0])
            .args(&self.compiler[1..])
            .args(["-O2", "-w", "-I"])
            .arg(&own)
            .arg("-I")
            .arg(&folder)
            .args(sources)
            .arg(own.join(main))
            .arg("-o")
            .arg(&program)
            .status()
            .map_err(|error| format!("{}: {error}", self.compiler[0]))?;
        if !status.success() {
            return Err(format!("{}: {status}", self.compiler[0]));
        }
        Ok(Program(program))
    }
}

/// Window and rate of the program's controller after an acknowledgement.
#[derive(Debug)]
pub(crate) struct Answer {
    /// In bytes; negative where the program has no window.
    pub(crate) cwnd: f64,
    /// In bytes per second.
    pub(crate) rate: f64,
    pub(crate) is_paced: bool,
}

/// A compiled program.
pub(crate) struct Program(PathBuf);

impl Program {
    /// The answers to events, one for each acknowledgement.
    pub(crate) fn answers(&self, pair: &Pair, events: &str) -> Result<Vec<Answer>, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.0.display());
        let mut process = Command::new(&self.0)
            .arg(pair.argument)
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
    let mut numbers = line.split(' ').map(str::parse::<f64>);
    let mut next = || numbers.next()?.ok();
    Some(Answer { cwnd: next()?, rate: next()?, is_paced: next()? != 0.0 })
}

/// A function up to the brace in its first column, as a file of C.
fn function(text: &str, begin: &str) -> Option<String> {
    let (_, rest) = text.split_once(begin)?;
    let (body, _) = rest.split_once("\n}")?;
    Some(format!("#include \"picoquic_internal.h\"\n{begin}{body}\n}}\n"))
}
