//! Plays a script without comparison and prints the host's packets and state, to study differences.

use std::fmt::Write as _;

use crate::host::Host;
use crate::script::{Action, Script};
use crate::shell;

use super::recorder::{first_clock, nominal, with_clock};

/// Fields of `TCP_INFO` that are printed behind each segment that arrives, and what they are
/// called.
const FIELDS: [(&str, &str); 8] = [
    ("cwnd", "tcpi_snd_cwnd"),
    ("ssthresh", "tcpi_snd_ssthresh"),
    ("state", "tcpi_ca_state"),
    ("unacked", "tcpi_unacked"),
    ("sacked", "tcpi_sacked"),
    ("lost", "tcpi_lost"),
    ("retrans", "tcpi_retrans"),
    ("rto", "tcpi_rto"),
];

struct Tracer<'a> {
    host: &'a mut dyn Host,
    text: String,
    /// TSvals that the host has sent.
    clocks: Vec<u32>,
}

/// Everything that arrives at `host` and leaves it, with times in seconds and the state of the
/// sender.
///
/// # Errors
/// When the host does not have what the script requires.
pub fn trace(script: &Script, host: &mut dyn Host) -> Result<String, String> {
    let mut tracer = Tracer { host, text: String::new(), clocks: Vec::new() };
    let first = first_clock(script);
    let start = tracer.host.now();
    let mut due = 0;
    for event in &script.events {
        due = nominal(event.when, due);
        tracer.run_until(start + due)?;
        match &event.action {
            Action::Inject(packet) => {
                let translated = with_clock(packet, first, &tracer.clocks);
                tracer.host.inject(&translated)?;
                tracer.line(&format!("< {packet}"));
                let now = tracer.host.now();
                tracer.run_until(now + 1)?;
                tracer.state();
            }
            Action::Call(call) => {
                tracer.host.call(call)?;
                tracer.line(&format!("{}({:?})", call.name, call.number(2)));
            }
            Action::Command(command) => {
                for setting in shell::settings(command)? {
                    tracer.host.set(&setting)?;
                }
            }
            Action::Expect(_) | Action::Check(_) => {}
        }
    }
    Ok(tracer.text)
}

impl Tracer<'_> {
    fn run_until(&mut self, time: i64) -> Result<(), String> {
        loop {
            while let Some(live) = self.host.step(time)? {
                let clock = live.packet.options.as_ref().and_then(|options| options.timestamp);
                self.clocks.extend(clock.map(|(value, _)| value));
                self.line(&format!("                > {}", live.packet));
            }
            if self.host.now() >= time {
                return Ok(());
            }
        }
    }

    fn line(&mut self, what: &str) {
        // Writing to a text cannot fail.
        let _ = writeln!(self.text, "{:.4} {what}", self.host.now() as f64 / 1e6);
    }

    fn state(&mut self) {
        let Ok(info) = self.host.info() else { return };
        let field =
            |(name, field): &(&str, &str)| info.get(field).map(|value| format!("{name} {value}"));
        let fields: Vec<_> = FIELDS.iter().filter_map(field).collect();
        let _ = writeln!(self.text, "       {}", fields.join(", "));
    }
}
