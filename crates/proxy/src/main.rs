//! The command line: `bentpipe-proxy run|check|rules|top FILE`.
//!
//! Exit status: 0 done, 1 something is missing or failed, 2 bad input.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lexopt::Arg;
use proxy::config::Loaded;
use proxy::{DaemonError, rules};

const HELP: &str = "\
Usage: bentpipe-proxy COMMAND FILE [OPTIONS]

A transparent split proxy for TCP over satellite links.

  run FILE                 run the daemon
  check FILE [--json]      find what is missing, and try a connection
  rules FILE               print the commands that send connections to the daemon
        --apply            set the rules; take all back if one fails
        --remove           with --apply: remove them; alone: print the commands
  top FILE [--json]        show live connections

FILE is TOML; docs/proxy.md explains its keys.
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
    Top { as_json: bool },
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
            Verb::Top { as_json } => top(&file, as_json),
        },
    }
}

fn parse(mut parser: lexopt::Parser) -> Result<Request, lexopt::Error> {
    const VERBS: [&str; 4] = ["run", "check", "rules", "top"];
    let (mut verb, mut file) = (None::<String>, None::<OsString>);
    let (mut as_json, mut apply, mut remove) = (false, false, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Request::Help),
            Arg::Short('V') | Arg::Long("version") => return Ok(Request::Version),
            Arg::Long("json") if matches!(verb.as_deref(), Some("check" | "top")) => as_json = true,
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
    let verb = match &*verb {
        "run" => Verb::Run,
        "check" => Verb::Check { as_json },
        "rules" => Verb::Rules { apply, remove },
        _ => Verb::Top { as_json },
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
    let changes = match rules::changes(&loaded.config) {
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

fn top(file: &Path, as_json: bool) -> ExitCode {
    let loaded = match Loaded::load(file) {
        Ok(loaded) => loaded,
        Err(error) => return fail(&error.to_string(), BAD_INPUT),
    };
    let Some(path) = &loaded.config.document.control else {
        let name = file.display();
        return fail(&format!("{name}: expected the key `control`, found none"), BAD_INPUT);
    };
    match proxy::list(path) {
        Ok(all) if as_json => {
            print(&(serde_json::json!({ "connections": all }).to_string() + "\n"))
        }
        Ok(all) => print(&proxy::table(&all)),
        Err(error) => fail(&format!("{}: no daemon answers: {error}", path.display()), FAILED),
    }
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
