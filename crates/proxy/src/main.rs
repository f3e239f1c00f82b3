//! The command line: `bentpipe-proxy run|check|rules|top|reload|upgrade|stop FILE`.
//!
//! Exit status: 0 done, 1 something is missing or failed, 2 bad input.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lexopt::Arg;
use proxy::config::Loaded;
use proxy::{Command, DaemonError, Picture, rules};

const HELP: &str = "\
Usage: bentpipe-proxy COMMAND FILE [OPTIONS]

A transparent split proxy for TCP over satellite links.

  run FILE                 run the daemon
  check FILE [--json]      find what is missing, and try a connection
  rules FILE               print the commands that send connections to the daemon
        --apply            set the rules; take all back if one fails
        --remove           with --apply: remove them; alone: print the commands
  top FILE                 show live connections, on a terminal again every second
        --once             show them once
        --json             print one JSON object
  reload FILE              let the running daemon read FILE again
  upgrade FILE             let the program at its path take over from the running daemon
  stop FILE                end the running daemon, and wait until it has ended

The last four use the socket that `control` in FILE names. FILE is TOML; docs/proxy.md explains its keys.
  -h, --help     this text
  -V, --version  the version
";

const FAILED: u8 = 1;
const BAD_INPUT: u8 = 2;

/// Request of the user.
enum Request {
    Help,
    Version,
    Verb { verb: Verb, file: PathBuf },
}

enum Verb {
    Run,
    Check { as_json: bool },
    Rules { apply: bool, remove: bool },
    Top { as_json: bool, once: bool },
    Command(Command),
}

fn main() -> ExitCode {
    let request = match parse(lexopt::Parser::from_env()) {
        Ok(request) => request,
        Err(error) => return fail(&format!("{error}; see bentpipe-proxy --help"), BAD_INPUT),
    };
    match request {
        Request::Help => print(HELP),
        Request::Version => print(&format!("bentpipe-proxy {}\n", env!("CARGO_PKG_VERSION"))),
        Request::Verb { verb, file } => match verb {
            Verb::Run => match proxy::run(&file) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => fail_with(&error),
            },
            Verb::Check { as_json } => check(&file, as_json),
            Verb::Rules { apply, remove } => set_rules(&file, apply, remove),
            Verb::Top { as_json, once } => top(&file, as_json, once),
            Verb::Command(command) => obey(&file, command),
        },
    }
}

fn parse(mut parser: lexopt::Parser) -> Result<Request, lexopt::Error> {
    const VERBS: [&str; 7] = ["run", "check", "rules", "top", "reload", "upgrade", "stop"];
    let (mut verb, mut file) = (None::<String>, None::<OsString>);
    let (mut as_json, mut once, mut apply, mut remove) = (false, false, false, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Request::Help),
            Arg::Short('V') | Arg::Long("version") => return Ok(Request::Version),
            Arg::Long("json") if matches!(verb.as_deref(), Some("check" | "top")) => as_json = true,
            Arg::Long("once") if verb.as_deref() == Some("top") => once = true,
            Arg::Long("apply") if verb.as_deref() == Some("rules") => apply = true,
            Arg::Long("remove") if verb.as_deref() == Some("rules") => remove = true,
            Arg::Value(value) if verb.is_none() => {
                let name = value.to_string_lossy().into_owned();
                if !VERBS.contains(&&*name) {
                    let message = format!("expected one of {}, found {name:?}", VERBS.join(", "));
                    return Err(message.into());
                }
                verb = Some(name);
            }
            Arg::Value(value) if file.is_none() => file = Some(value),
            _ => return Err(argument.unexpected()),
        }
    }
    let Some(verb) = verb else { return Ok(Request::Help) };
    let file = file.ok_or("expected the file of the proxy")?.into();
    let command = Command::ALL.into_iter().find(|command| command.name() == verb);
    let verb = match (&*verb, command) {
        (_, Some(command)) => Verb::Command(command),
        ("run", _) => Verb::Run,
        ("check", _) => Verb::Check { as_json },
        ("rules", _) => Verb::Rules { apply, remove },
        _ => Verb::Top { as_json, once },
    };
    Ok(Request::Verb { verb, file })
}

fn check(file: &Path, as_json: bool) -> ExitCode {
    let mut loaded = match Loaded::load(file) {
        Ok(loaded) => loaded,
        Err(error) => return fail(&error.to_string(), BAD_INPUT),
    };
    let findings = proxy::check(&mut loaded, &file.to_string_lossy());
    let mut text = String::new();
    if as_json {
        text = serde_json::json!({ "findings": findings }).to_string() + "\n";
    } else {
        for finding in &findings {
            let sign = if finding.is_fine { "ok     " } else { "MISSING" };
            text += &format!("{sign}  {}: {}\n", finding.name, finding.found);
            if let Some(command) = &finding.command {
                text += &format!("         {command}\n");
            }
        }
    }
    let printed = print(&text);
    if findings.iter().all(|finding| finding.is_fine) { printed } else { FAILED.into() }
}

fn set_rules(file: &Path, apply: bool, remove: bool) -> ExitCode {
    let mut loaded = match Loaded::load(file) {
        Ok(loaded) => loaded,
        Err(error) => return fail(&error.to_string(), BAD_INPUT),
    };
    if apply
        && !remove
        && let Err(error) = proxy::before_rules(&mut loaded)
    {
        return fail_with(&error);
    }
    let changes = match remove {
        true => rules::removal(&loaded.config),
        false => rules::changes(&loaded.config),
    };
    let changes = match changes {
        Ok(changes) => changes,
        Err(error) => return fail(&error.to_string(), BAD_INPUT),
    };
    match (apply, remove) {
        (false, _) => print(&rules::script(&changes, remove)),
        (true, false) => match rules::apply(&changes) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&error.to_string(), FAILED),
        },
        (true, true) => match rules::remove(&changes).as_slice() {
            [] => ExitCode::SUCCESS,
            messages => fail(&messages.join("\nbentpipe-proxy: "), FAILED),
        },
    }
}

/// The path of the control socket, or the exit status.
fn control_of(file: &Path) -> Result<PathBuf, ExitCode> {
    let loaded = Loaded::load(file).map_err(|error| fail(&error.to_string(), BAD_INPUT))?;
    loaded.config.document.control.clone().ok_or_else(|| {
        let name = file.display();
        fail(&format!("{name}: expected the key `control`, found none"), BAD_INPUT)
    })
}

fn no_answer(path: &Path, error: &io::Error) -> ExitCode {
    fail(&format!("{}: no daemon answers: {error}", path.display()), FAILED)
}

fn top(file: &Path, as_json: bool, once: bool) -> ExitCode {
    let path = match control_of(file) {
        Ok(path) => path,
        Err(status) => return status,
    };
    if !as_json && !once && io::stdout().is_terminal() {
        return match proxy::watch(&path) {
            Ok(never) => match never {},
            Err(error) => no_answer(&path, &error),
        };
    }
    match proxy::list(&path) {
        Ok(all) if as_json => {
            print(&(serde_json::json!({ "connections": all }).to_string() + "\n"))
        }
        Ok(all) => print(&proxy::table(&Picture { connections: &all, ..Picture::default() })),
        Err(error) => no_answer(&path, &error),
    }
}

/// Lets the running daemon carry out a command, and prints the outcome.
fn obey(file: &Path, command: Command) -> ExitCode {
    let path = match control_of(file) {
        Ok(path) => path,
        Err(status) => return status,
    };
    let answer = match proxy::command(&path, command, file) {
        Ok(answer) => answer,
        Err(error) => return no_answer(&path, &error),
    };
    if let Some(error) = answer["error"].as_str() {
        return fail(error, BAD_INPUT);
    }
    if command != Command::Stop {
        return print(&format!("{}\n", answer["done"].as_str().unwrap_or_default()));
    }
    let within = answer["within_s"].as_f64().unwrap_or_default();
    print(&format!("stopping: open connections have {within} s to end\n"));
    proxy::wait_for_end(&path);
    print("stopped\n")
}

fn fail_with(error: &DaemonError) -> ExitCode {
    let status = match error {
        DaemonError::Config(_) | DaemonError::Missing(_) => BAD_INPUT,
        DaemonError::Failed { .. } => FAILED,
    };
    fail(&error.to_string(), status)
}

fn fail(message: &str, status: u8) -> ExitCode {
    let _ = writeln!(io::stderr(), "bentpipe-proxy: {message}"); // nowhere else to say it
    status.into()
}

fn print(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("cannot write to stdout: {error}"), BAD_INPUT),
    }
}
