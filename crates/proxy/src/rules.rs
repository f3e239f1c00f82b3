//! Rules and routes that send connections to the daemon, as commands.
//!
//! - A table of nftables gives SYNs that cross from one side to the other to the daemon's listeners
//!   (TPROXY). Where no listener is, TPROXY does nothing, and the packet goes its way unsplit.
//! - With another `accept` than "early" the SYN is dropped, and a copy goes to the daemon
//!   (nfnetlink_log). The daemon sends it on with the mark and a priority, and then TPROXY gives it
//!   to the listener.
//! - Packets of connections that the daemon has are found by their socket, and marked. Others are
//!   never taken over. Those of clients are not tracked (conntrack). The connection to the server
//!   often has the same addresses and ports, and would be taken for the client's: the gateway would
//!   then not translate its address (NAT). Answers to translated addresses are found by the
//!   kernel's socket lookup, which knows the translation.
//! - SYNs that cross unsplit although the file does not exempt them are counted and logged. ICMP
//!   errors about these connections have the client's address, and are found by the header in them.
//!   Without them the daemon would not learn the path MTU (RFC 1191).
//! - A rule and a table of routes deliver marked packets to this machine.
//! - Routes of the interfaces of a side get its initial window.
//! - A comment of the table has a checksum of all of this, so that `check` finds rules of another
//!   file, and the mark and the table of routes, so that they are removed after a change of the
//!   file.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use middlebox::Accept;
use thiserror::Error;

use crate::config::{Config, Document, Fail, SideName, Towards};
use crate::late::syns::priority;
use crate::machine;
use crate::prefix::Prefix;

/// Name of the table of nftables.
pub const TABLE: &str = "bentpipe_proxy";

/// Number of chains in the table. Each has a line with two statements, which end with a semicolon;
/// rules have none.
pub const CHAINS: usize = 4;

/// Name of the counter of SYNs that cross from one side to the other, although the file does not
/// exempt them.
pub(crate) const UNSPLIT: &str = "unsplit";

/// Sets of the interfaces of each side, as they are named after it, with their types.
pub(crate) const SETS: [(&str, &str); 2] =
    [("in", "type ifname"), ("out", "typeof fib daddr oifname")];

/// A command, with what it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Program and arguments.
    pub words: Vec<String>,
    /// Standard input.
    pub input: String,
}

/// A change of the machine, and how to take it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Makes the change.
    pub apply: Call,
    /// Takes it back.
    pub undo: Call,
}

/// Reasons why rules cannot be set or removed.
#[derive(Debug, Error)]
pub enum RulesError {
    /// A command failed. Everything before it was taken back.
    #[error("{command}: {message}; {consequence}")]
    Command {
        /// The command.
        command: String,
        /// Its message.
        message: String,
        /// State of the machine now.
        consequence: String,
    },
    /// A route has an initial window already.
    #[error(
        "the route `{route}` has an initial window already: expected one without `initcwnd`, because \
         `{side}.initial_window` sets it"
    )]
    Window {
        /// The route.
        route: String,
        /// The side.
        side: &'static str,
    },
    /// The routes cannot be read.
    #[error("cannot read the routes: {0}")]
    Routes(io::Error),
}

impl Call {
    fn new(words: &str) -> Self {
        let words = words.split_whitespace().map(str::to_owned).collect();
        Self { words, input: String::new() }
    }

    fn with(mut self, input: String) -> Self {
        self.input = input;
        self
    }

    /// Runs it; an error is its message.
    fn run(&self) -> Result<(), String> {
        let (program, arguments) = self.words.split_first().ok_or("no command")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{error}; is {program} installed?"))?;
        if let Some(mut input) = child.stdin.take() {
            // A program that does not read says why.
            let _ = input.write_all(self.input.as_bytes());
        }
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let message = String::from_utf8_lossy(&output.stderr);
        Err(message.lines().next().unwrap_or("it failed without a message").to_owned())
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words.join(" "))
    }
}

/// All changes that a configuration needs on this machine.
///
/// # Errors
/// Routes that have an initial window of somebody else's.
pub fn changes(config: &Config) -> Result<Vec<Change>, RulesError> {
    changes_with(config, (config.document.mark, config.document.table))
}

/// All changes that are to be taken back, with the mark and the table that the rules were set with,
/// if the kernel has them.
///
/// # Errors
/// Routes that have an initial window of somebody else's.
pub fn removal(config: &Config) -> Result<Vec<Change>, RulesError> {
    let installed = installed().and_then(|comment| numbers(&comment));
    changes_with(config, installed.unwrap_or((config.document.mark, config.document.table)))
}

fn changes_with(config: &Config, (mark, table): (u32, u32)) -> Result<Vec<Change>, RulesError> {
    let mut changes = Vec::new();
    let mut change = |apply: &str, undo: &str| {
        changes.push(Change { apply: Call::new(apply), undo: Call::new(undo) });
    };
    let families = if machine::has_ipv6() { &["-4", "-6"][..] } else { &["-4"] };
    for family in families {
        let rule = format!("fwmark {mark:#x} lookup {table}");
        change(&format!("ip {family} rule add {rule}"), &format!("ip {family} rule del {rule}"));
        let route = format!("local default dev lo table {table}");
        change(
            &format!("ip {family} route add {route}"),
            &format!("ip {family} route del {route}"),
        );
    }
    for side in SideName::ALL {
        if let Some(window) = config.side(side).tcp.split.initial_window {
            for family in families {
                for name in &config.side(side).interfaces {
                    windows(side, family, name, window, &mut changes)?;
                }
            }
        }
    }
    changes.push(Change {
        apply: Call::new("nft -f -").with(ruleset(config)),
        undo: Call::new(&format!("nft delete table inet {TABLE}")),
    });
    Ok(changes)
}

/// Changes of the routes of an interface.
fn windows(
    side: SideName,
    family: &str,
    interface: &str,
    window: u32,
    changes: &mut Vec<Change>,
) -> Result<(), RulesError> {
    let output = Command::new("ip")
        .args([family, "route", "show", "dev", interface])
        .output()
        .map_err(RulesError::Routes)?;
    for route in String::from_utf8_lossy(&output.stdout).lines() {
        let plain = without_window(route, window).ok_or_else(|| RulesError::Window {
            route: settable(route).join(" "),
            side: side.key(),
        })?;
        let ours = format!("initcwnd {window}");
        let command = format!("ip {family} route change {plain} dev {interface}");
        changes.push(Change {
            apply: Call::new(&format!("{command} {ours}")),
            undo: Call::new(&command),
        });
    }
    Ok(())
}

/// The words of a route without the states that `ip` shows and does not take, and without the lock
/// that it sets by itself.
fn settable(route: &str) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    for word in route.split_whitespace() {
        let is_own_lock = word == "lock" && words.last() == Some(&"rto_min");
        if !is_own_lock && word != "linkdown" && word != "dead" {
            words.push(word);
        }
    }
    words
}

/// A route as it is without this initial window; `None` if it has another one, which is not ours.
fn without_window(route: &str, window: u32) -> Option<String> {
    let mut words = settable(route);
    if let Some(place) = words.iter().position(|word| *word == "initcwnd") {
        let value = words.get(place + 1)?;
        if value.parse() != Ok(window) {
            return None;
        }
        words.drain(place..place + 2);
    }
    Some(words.join(" "))
}

/// Lines of a ruleset.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn add(&mut self, indent: usize, line: &str) {
        let _ = writeln!(self.0, "{}{line}", "    ".repeat(indent));
    }
}

/// The table for nftables.
///
/// Packets between the daemon and clients have the addresses of the daemon's connections to
/// servers. They are not tracked, so that address translation on the way to the server finds a new
/// connection there, and not the client's.
pub fn ruleset(config: &Config) -> String {
    let content = content(config);
    let checksum = checksum(config, &content);
    format!("table inet {TABLE} {{\n    comment \"{checksum}\"\n{content}}}\n")
}

/// The comment of the table of this configuration.
pub(crate) fn comment(config: &Config) -> String {
    checksum(config, &content(config))
}

/// Identifies the rules, routes and windows of a configuration.
fn checksum(config: &Config, content: &str) -> String {
    let Document { mark, table, .. } = config.document;
    let windows = SideName::ALL.map(|side| config.side(side).tcp.split.initial_window);
    // FNV-1a (draft-eastlake-fnv), against mistakes and not against attackers.
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = format!("{content}{windows:?}").bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    format!("rules {hash:016x} mark {mark} table {table}")
}

/// The comment of the table that the kernel has; empty without a comment. `None` without the table.
pub(crate) fn installed() -> Option<String> {
    let list = Command::new("nft").args(["list", "table", "inet", TABLE]).output().ok()?;
    let text = String::from_utf8_lossy(&list.stdout).into_owned();
    let comment = text.lines().find_map(|line| line.trim().strip_prefix("comment \""));
    let comment = comment.and_then(|rest| rest.strip_suffix('"')).unwrap_or_default();
    list.status.success().then(|| comment.to_owned())
}

/// Mark and table of routes in the comment of a table.
fn numbers(comment: &str) -> Option<(u32, u32)> {
    let (_, rest) = comment.split_once(" mark ")?;
    let (mark, table) = rest.split_once(" table ")?;
    Some((mark.parse().ok()?, table.parse().ok()?))
}

/// The sets, the counter and the chains of the table.
fn content(config: &Config) -> String {
    let document = &config.document;
    let (mark, answers) = (document.mark, config.mark_of(Towards::Client));
    let mut lines = Lines::default();
    for side in SideName::ALL {
        let names: Vec<_> =
            config.side(side).interfaces.iter().map(|name| format!("\"{name}\"")).collect();
        // nft has two types for the same names.
        for (set, key_type) in SETS {
            lines.add(1, &format!("set {}_{set} {{", side.key()));
            lines.add(2, key_type);
            lines.add(2, &format!("elements = {{ {} }}", names.join(", ")));
            lines.add(1, "}");
        }
    }
    lines.add(1, &format!("counter {UNSPLIT} {{ }}"));
    lines.add(1, "chain split {");
    lines.add(2, "type filter hook prerouting priority raw; policy accept;");
    lines.add(2, "meta l4proto != tcp return");
    lines.add(
        2,
        "# Packets of clients whose connections the proxy has. Those of servers are below.",
    );
    let taken = format!("meta mark set {mark:#x} notrack accept");
    let to_servers = config.mark_of(Towards::Server);
    lines.add(2, &format!("socket transparent 1 socket mark {to_servers:#x} return"));
    lines.add(2, &format!("socket transparent 1 {taken}"));
    lines.add(2, "# New connections only, and none to this machine.");
    lines.add(2, "tcp flags & (syn | ack) != syn return");
    lines.add(2, "fib daddr type != unicast return");
    lines.add(2, "fib saddr type local return");
    lines.add(2, "ip6 daddr fe80::/10 return");
    exemptions(config, &mut lines);
    for side in SideName::ALL {
        intercept(config, side, &taken, &mut lines);
    }
    lines.add(1, "}");
    lines.add(1, "chain servers {");
    lines.add(2, "type filter hook prerouting priority mangle; policy accept;");
    lines.add(2, "meta l4proto != { tcp, icmp, ipv6-icmp } return");
    lines.add(2, "# Packets of servers to the proxy, and ICMP errors about its connections.");
    lines.add(2, &format!("socket transparent 1 meta mark set {mark:#x} accept"));
    lines.add(1, "}");
    lines.add(1, "chain clients {");
    lines.add(2, "type filter hook output priority raw; policy accept;");
    lines.add(2, "# Packets to clients, and SYNs that the proxy had held back.");
    lines.add(2, &format!("meta l4proto tcp meta mark {{ {mark:#x}, {answers:#x} }} notrack"));
    lines.add(1, "}");
    lines.add(1, "chain unsplit {");
    lines.add(2, "type filter hook forward priority filter; policy accept;");
    lines.add(2, "tcp flags & (syn | ack) != syn return");
    exemptions(config, &mut lines);
    for side in SideName::ALL {
        let crosses = format!("iifname @{}_in oifname @{}_in", side.key(), side.other().key());
        lines.add(2, &format!("{crosses} counter name {UNSPLIT}"));
        let log = "log prefix \"bentpipe-proxy: crosses unsplit: \"";
        lines.add(2, &format!("{crosses} limit rate 1/second {log}"));
    }
    lines.add(1, "}");
    lines.0
}

/// Returns for connections that the file leaves unsplit.
fn exemptions(config: &Config, lines: &mut Lines) {
    let document = &config.document;
    if document.bypass.mptcp {
        lines.add(2, "tcp option mptcp exists return");
    }
    let elements =
        |numbers: &[u16]| numbers.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
    if !document.bypass.ports.is_empty() {
        lines.add(2, &format!("tcp dport {{ {} }} return", elements(&document.bypass.ports)));
    }
    for prefix in &config.bypass {
        let family = if Prefix::is_v4(*prefix) { "ip" } else { "ip6" };
        lines.add(2, &format!("{family} saddr {prefix} return"));
        lines.add(2, &format!("{family} daddr {prefix} return"));
    }
    if !document.ports.is_empty() {
        lines.add(2, &format!("tcp dport != {{ {} }} return", elements(&document.ports)));
    }
}

/// Gives SYNs that cross from a side to the other one to the daemon.
fn intercept(config: &Config, side: SideName, taken: &str, lines: &mut Lines) {
    let document = &config.document;
    let crosses =
        format!("iifname @{}_in fib daddr oifname @{}_out", side.key(), side.other().key());
    let port = config.port_of(side);
    for (family, ip, address) in [("ipv4", "ip", "127.0.0.1"), ("ipv6", "ip6", "[::1]")] {
        let to_listener =
            format!("meta nfproto {family} meta l4proto tcp tproxy {ip} to {address}:{port}");
        if document.accept == Accept::Early {
            lines.add(2, &format!("{crosses} {to_listener} {taken}"));
        } else {
            // Without a listener the rule ends at `tproxy`, and the SYN crosses unsplit.
            lines.add(2, &format!("{crosses} {to_listener} {} drop", copy(document.port, side)));
            let (mark, priority) = (document.mark, priority(side));
            let goes_on = format!("iifname \"lo\" meta mark {mark:#x} meta priority 0:{priority}");
            lines.add(2, &format!("{goes_on} {to_listener} accept"));
        }
    }
    if document.fail == Fail::Closed {
        lines.add(2, &format!("{crosses} reject with tcp reset"));
    }
}

/// The statement that sends a copy of a SYN to the daemon, at once.
fn copy(group: u16, side: SideName) -> String {
    format!("log prefix \"{}\" group {group} queue-threshold 1", side.key())
}

/// Returns an error with the kernel's message if it does not take the rules. Nothing is changed.
pub(crate) fn is_accepted(config: &Config) -> Result<(), String> {
    Call::new("nft --check -f -").with(ruleset(config)).run()
}

/// Sets the counter of connections that cross unsplit to zero, if the rules are set.
pub(crate) fn reset_unsplit() {
    let _ = Call::new(&format!("nft reset counter inet {TABLE} {UNSPLIT}")).run(); // `check` finds missing rules
}

/// The commands as a script of the shell.
pub fn script(changes: &[Change], is_removal: bool) -> String {
    let mut text = String::from("#!/bin/sh\nset -e\n");
    let calls: Vec<_> = match is_removal {
        true => changes.iter().rev().map(|change| &change.undo).collect(),
        false => changes.iter().map(|change| &change.apply).collect(),
    };
    for call in calls {
        match call.input.as_str() {
            "" => drop(writeln!(text, "{call}")),
            input => drop(write!(text, "{call} <<'END'\n{input}END\n")),
        }
    }
    text
}

/// Makes all changes. After one that fails, takes back those before it.
///
/// # Errors
/// The command that failed, and the state of the machine.
pub fn apply(changes: &[Change]) -> Result<(), RulesError> {
    for (number, change) in changes.iter().enumerate() {
        if let Err(message) = change.apply.run() {
            let failures: Vec<_> = changes[..number]
                .iter()
                .rev()
                .filter_map(|change| {
                    let message = change.undo.run().err()?;
                    Some(format!("`{}` failed too: {message}", change.undo))
                })
                .collect();
            let consequence = match failures.as_slice() {
                [] => "nothing has changed".to_owned(),
                failures => failures.join("; "),
            };
            let command = change.apply.to_string();
            return Err(RulesError::Command { command, message, consequence });
        }
    }
    Ok(())
}

/// Takes all changes back. Goes on after one that cannot be, and returns the messages.
pub fn remove(changes: &[Change]) -> Vec<String> {
    let undo = changes.iter().rev().map(|change| &change.undo);
    undo.filter_map(|call| Some(format!("{call}: {}", call.run().err()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_initial_window_is_taken_out_of_a_route() {
        let plain = "default via 10.0.0.1 proto static rto_min 1s";
        for (route, window, expected) in [
            ("default via 10.0.0.1 proto static rto_min lock 1s linkdown", 10, Some(plain)),
            ("default via 10.0.0.1 proto static initcwnd 10 rto_min 1s", 10, Some(plain)),
            ("default via 10.0.0.1 proto static initcwnd 100 rto_min 1s", 10, None),
            ("default via 10.0.0.1 proto static initcwnd 10 rto_min 1s", 1, None),
        ] {
            assert_eq!(without_window(route, window).as_deref(), expected, "{route}");
        }
    }
}
