//! The control socket. A program connects, writes a word, and receives the answer as JSON: `list`
//! for the state of all connections, or a command of the operator for its outcome. A command is
//! followed by the path of the daemon's file, because two files may have the same `control`.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use serde_json::{Value, json};

use crate::daemon::{DaemonError, Doing, Orders};
use crate::local::Server;
use crate::worker::Order;

/// A thread answers within this time, or its connections are missing.
const PATIENCE: Duration = Duration::from_secs(2);

/// Opens the socket, readable by its owner only.
pub(crate) fn bind(path: &Path) -> Result<UnixListener, DaemonError> {
    let action = format!("open the control socket {}", path.display());
    // One that a killed daemon left: nobody answers there.
    let is_socket = fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    if is_socket && UnixStream::connect(path).is_err() {
        fs::remove_file(path).doing(&*action)?;
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).doing(&*action)?;
    }
    let listener = UnixListener::bind(path).doing(&*action)?;
    fs::set_permissions(path, Permissions::from_mode(0o600)).doing(action)?;
    Ok(listener)
}

/// The word for the state of all connections.
const LIST: &str = "list";
/// The longest command with its file, and more (PATH_MAX of Linux).
const LONGEST: u64 = 64 + 4096;
/// A command has its outcome within this time. An upgrade waits for the new process.
const PATIENCE_OF_COMMANDS: Duration = Duration::from_secs(40);
/// How often it is looked whether a daemon that stops is still there.
const TICK: Duration = Duration::from_millis(50);

/// A command of the operator: what the daemon does at a signal, with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Reads the file again (SIGHUP).
    Reload,
    /// Starts the program again, which takes the listeners over (SIGUSR2).
    Upgrade,
    /// Ends the daemon (SIGTERM).
    Stop,
}

impl Command {
    /// All commands.
    pub const ALL: [Self; 3] = [Self::Reload, Self::Upgrade, Self::Stop];

    /// The word on the command line and on the socket.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reload => "reload",
            Self::Upgrade => "upgrade",
            Self::Stop => "stop",
        }
    }

    fn signal(self) -> Signal {
        match self {
            Self::Reload => Signal::HUP,
            Self::Upgrade => Signal::USR2,
            Self::Stop => Signal::TERM,
        }
    }
}

/// A command that waits for its outcome. Its signal follows.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) command: Command,
    pub(crate) reply: Sender<Value>,
}

/// Starts the thread that answers.
pub(crate) fn serve(
    listener: UnixListener,
    orders: Orders,
    requests: Sender<Request>,
    file: PathBuf,
) -> io::Result<Server> {
    Server::start("control", listener, move |mut stream: UnixStream| {
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let mut word = String::new();
        let is_read = (&stream).take(LONGEST).read_to_string(&mut word).is_ok();
        let (word, asked) = word.trim().split_once(' ').unwrap_or((word.trim(), ""));
        if !is_read || word.is_empty() {
            return; // it has looked whether a daemon is there
        }
        let command = Command::ALL.into_iter().find(|command| command.name() == word);
        let answer = match command {
            Some(_) if !is_same(&file, Path::new(asked)) => {
                let file = file.display();
                json!({ "error": format!("{asked}: expected {file}, the file of the daemon that answers at `control`") })
            }
            Some(command) => outcome(command, &requests),
            None if word == LIST => state(&orders),
            None => json!({ "error": format!("this daemon knows no command {word:?}") }),
        };
        let _ = stream.set_write_timeout(Some(PATIENCE));
        let _ = stream.write_all(answer.to_string().as_bytes()); // gone again
    })
}

/// Returns true if two paths are those of one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let [found, wanted] = [one, other].map(fs::canonicalize);
    one == other || found.is_ok_and(|found| wanted.is_ok_and(|wanted| found == wanted))
}

/// The state of all connections.
fn state(orders: &Orders) -> Value {
    let (reply, answers) = channel();
    orders.send(|| Order::List(reply.clone()));
    drop(reply);
    let mut all: Vec<Value> = Vec::new();
    while let Ok(part) = answers.recv_timeout(PATIENCE) {
        all.extend(part);
    }
    Value::Array(all)
}

/// Lets the main thread carry out a command, and waits for the outcome.
fn outcome(command: Command, requests: &Sender<Request>) -> Value {
    let (reply, answer) = channel();
    let is_sent = requests.send(Request { command, reply }).is_ok()
        && kill_process(getpid(), command.signal()).is_ok();
    let found = is_sent.then(|| answer.recv_timeout(PATIENCE_OF_COMMANDS).ok()).flatten();
    found.unwrap_or_else(|| json!({ "error": "the daemon is ending" }))
}

/// Sends a word to a daemon. Returns its answer.
fn ask(path: &Path, word: &str, patience: Duration) -> io::Result<Value> {
    let mut stream = UnixStream::connect(path)?;
    stream.write_all(word.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(patience))?;
    let text = io::read_to_string(&mut stream)?;
    Ok(serde_json::from_str(&text)?)
}

/// The state of all connections of a daemon.
///
/// # Errors
/// No daemon answers, or its answer is not complete.
pub fn list(path: &Path) -> io::Result<Vec<Value>> {
    let found = ask(path, LIST, 2 * PATIENCE)?;
    Ok(serde_json::from_value(found)?)
}

/// Lets the daemon that runs with `file` carry out a command. The answer has `done`, or `error`
/// with the reason, such as that the daemon has another file.
///
/// # Errors
/// No daemon answers.
pub fn command(path: &Path, command: Command, file: &Path) -> io::Result<Value> {
    let file = std::path::absolute(file)?;
    let words = format!("{} {}", command.name(), file.display());
    ask(path, &words, PATIENCE_OF_COMMANDS + PATIENCE)
}

/// Waits until no daemon answers any more.
pub fn wait_for_end(path: &Path) {
    while UnixStream::connect(path).is_ok() {
        thread::sleep(TICK);
    }
}
