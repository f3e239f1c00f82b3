//! `check`: what this machine lacks, with the command that mends it; then a real connection as
//! proof.

mod buffers;
mod proof;

use std::fs;
use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use middlebox::Accept;
use rustix::process::{Resource, getrlimit};
use serde::Serialize;

use crate::config::{Fail, Loaded, Relay, SideName, Source};
use crate::machine;
use crate::rules::{self, TABLE, UNSPLIT};
use proof::Translation;

/// A relay accepts a connection within this time.
const PATIENCE: Duration = Duration::from_secs(5);
/// A server that refuses the connection of a relay does so within this time.
const REFUSAL: Duration = Duration::from_secs(2);

/// One result of the check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Subject of the check.
    pub name: String,
    /// True if nothing has to be done.
    pub is_fine: bool,
    /// The state that was found.
    pub found: String,
    /// The command that mends it.
    pub command: Option<String>,
}

impl Finding {
    fn new(
        name: &str,
        is_fine: bool,
        found: impl Into<String>,
        command: impl Into<String>,
    ) -> Self {
        let command = (!is_fine).then(|| command.into());
        Self { name: name.to_owned(), is_fine, found: found.into(), command }
    }
}

/// Looks at everything that the proxy needs. If all of it is there, sends a connection through the
/// proxy.
pub fn check(loaded: &mut Loaded, file: &str) -> Vec<Finding> {
    let mut findings = vec![privileges()];
    findings.extend(programs());
    let refusals = [machine::check_interfaces(loaded), machine::check_controllers(loaded)];
    for (name, result) in ["interfaces", "controllers"].into_iter().zip(refusals) {
        let found = match &result {
            Ok(()) => "all there".to_owned(),
            Err(errors) => errors.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        };
        let command = match name {
            "interfaces" => "ip link show",
            _ => "bentpipe kernel load NAME",
        };
        findings.push(Finding::new(name, result.is_ok(), found, command));
    }
    if findings.iter().all(|finding| finding.is_fine) {
        findings.push(kernel(loaded));
    }
    let only_relays = loaded.config.has_only_relays();
    if !only_relays {
        findings.extend(settings(loaded));
    }
    let [wmem, rmem] = ["tcp_wmem", "tcp_rmem"]
        .map(|name| fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap_or_default());
    findings.extend(buffers::findings(loaded, &wmem, &rmem));
    findings.push(descriptors(loaded));
    if !only_relays {
        findings.extend(rules_are_set(loaded, file));
    }
    findings.push(listens(loaded, file));
    if findings.iter().all(|finding| finding.is_fine) {
        findings.extend(loaded.config.relays.iter().map(relay));
    }
    if findings.iter().all(|finding| finding.is_fine) && !only_relays {
        findings.push(proven(loaded, "connection", Translation::None));
        if loaded.config.document.source == Source::Client && translates() {
            findings.push(proven(loaded, "connection behind NAT", Translation::Masquerade));
        }
        findings.extend(unsplit());
    }
    findings
}

/// Connects to a relay, as a client of this machine. The relay resets the connection if the server
/// refuses, or if there are as many as `limits.connections`.
fn relay(relay: &Relay) -> Finding {
    let name = format!("relay {} to {}", relay.listen, relay.to);
    let mut address = relay.listen;
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    let answer = TcpStream::connect_timeout(&address, PATIENCE).and_then(|mut client| {
        client.set_read_timeout(Some(REFUSAL))?;
        client.read(&mut [0])
    });
    match answer {
        Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            let command = format!("nc -vz {} {}", relay.to.ip(), relay.to.port());
            Finding::new(&name, false, error.to_string(), command)
        }
        // The server has answered, has closed the connection, or waits for a request.
        _ => Finding::new(&name, true, "connected, and not refused", ""),
    }
}

fn proven(loaded: &Loaded, name: &str, translation: Translation) -> Finding {
    match proof::connection(loaded, translation) {
        Ok(found) => Finding::new(name, true, found, ""),
        Err(found) => Finding::new(name, false, found, format!("nft list table inet {TABLE}")),
    }
}

/// The output of a command that succeeds.
fn output(words: &[&str]) -> Option<String> {
    let output = Command::new(words[0]).args(&words[1..]).output();
    let output = output.ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns true if this machine translates source addresses, by nftables or by iptables.
fn translates() -> bool {
    let rules = output(&["nft", "list", "ruleset"]).unwrap_or_default();
    let of_nft = rules.lines().any(|line| line.contains("masquerade") || line.contains("snat"));
    let tables = fs::read_to_string("/proc/net/ip_tables_names").unwrap_or_default();
    of_nft || tables.lines().any(|table| table == "nat")
}

/// The connections that crossed unsplit since the start of the daemon, although the file does not
/// exempt them.
fn unsplit() -> Option<Finding> {
    let counter = output(&["nft", "list", "counter", "inet", TABLE, UNSPLIT])?;
    let mut words = counter.split_whitespace().skip_while(|word| *word != "packets").skip(1);
    let count: u64 = words.next()?.parse().ok()?;
    let found = match count {
        0 => "no connection crossed unsplit".to_owned(),
        count => format!(
            "{count} SYNs crossed unsplit: at the limit of connections, or to an address of this \
             machine that is forwarded to the other side (DNAT)"
        ),
    };
    Some(Finding::new(
        "unsplit",
        count == 0,
        found,
        format!("nft reset counter inet {TABLE} {UNSPLIT}"),
    ))
}

fn privileges() -> Finding {
    match machine::check_privileges() {
        Ok(()) => Finding::new("capabilities", true, "all there", ""),
        Err(error) => Finding::new("capabilities", false, error.to_string(), "sudo -i"),
    }
}

fn programs() -> Vec<Finding> {
    let programs = [("nft", "apt-get install nftables"), ("ip", "apt-get install iproute2")];
    programs
        .into_iter()
        .map(|(name, command)| {
            let ran = Command::new(name).arg("-V").output();
            let version = ran.as_ref().ok().map(|output| {
                String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or("").to_owned()
            });
            let found = version.unwrap_or_else(|| "not installed".to_owned());
            Finding::new(name, ran.is_ok(), found, command)
        })
        .collect()
}

/// Checks that the kernel takes the rules: it has TPROXY, `socket` and `fib` of nftables.
fn kernel(loaded: &Loaded) -> Finding {
    let mut modules =
        "modprobe -a nft_tproxy nft_socket nft_fib_inet nf_tproxy_ipv4 nf_tproxy_ipv6".to_owned();
    if loaded.config.document.accept != Accept::Early {
        modules += " nft_log nfnetlink_log";
    }
    match rules::is_accepted(&loaded.config) {
        Ok(()) => Finding::new("kernel", true, "accepts the rules", ""),
        Err(message) => Finding::new("kernel", false, message, modules),
    }
}

fn sysctl(name: &str) -> Option<i64> {
    let path = format!("/proc/sys/{}", name.replace('.', "/").replace('\u{1}', "."));
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn settings(loaded: &Loaded) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut wants = |name: String, is_fine: &dyn Fn(i64) -> bool, wanted: i64| {
        let shown = name.replace('\u{1}', ".");
        // A name that is not there has no effect either.
        let Some(value) = sysctl(&name) else { return };
        let command = format!("sysctl -w {shown}={wanted}");
        findings.push(Finding::new(&shown, is_fine(value), value.to_string(), command));
    };
    wants("net.ipv4.ip_forward".into(), &|value| value == 1, 1);
    if machine::has_ipv6() {
        wants("net.ipv6.conf.all.forwarding".into(), &|value| value == 1, 1);
    }
    // The kernel then looks for the way back of a packet among the routes of its mark, finds that
    // it is this machine, and drops the packet as a martian, without a counter.
    wants("net.ipv4.conf.all.src_valid_mark".into(), &|value| value == 0, 0);
    for side in SideName::ALL {
        for interface in &loaded.config.side(side).interfaces {
            // A dot in a name of an interface is no separator.
            let name = interface.replace('.', "\u{1}");
            wants(format!("net.ipv4.conf.{name}.src_valid_mark"), &|value| value == 0, 0);
            // 1 is strict: packets of asymmetric routes are dropped. 2 is loose.
            wants(format!("net.ipv4.conf.{name}.rp_filter"), &|value| value != 1, 2);
        }
    }
    wants("net.ipv4.conf.all.rp_filter".into(), &|value| value != 1, 2);
    findings
}

fn descriptors(loaded: &Loaded) -> Finding {
    let threads = machine::threads(&loaded.config.document);
    let needed = machine::descriptors(&loaded.config, threads);
    let maximum = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let found = format!("{needed} needed, {maximum} allowed");
    // Root raises the limit itself.
    let is_fine = maximum >= needed || rustix::process::geteuid().is_root();
    Finding::new("descriptors", is_fine, found, format!("ulimit -Hn {needed}"))
}

fn rules_are_set(loaded: &Loaded, file: &str) -> Vec<Finding> {
    let document = &loaded.config.document;
    let command = format!("bentpipe proxy rules {file} --apply");
    let mut findings = Vec::new();
    let comment = rules::comment(&loaded.config);
    let replace = format!("{command} --remove; {command}");
    let (is_set, found, mend) = match rules::installed() {
        Some(found) if found == comment => (true, "set", ""),
        Some(_) => (
            false,
            "those of another file, of this file before a change, or of another version",
            &*replace,
        ),
        None => match loaded.config.relays.is_empty() {
            true => (false, "not set", &*command),
            false => (false, "not set: only relays work", &*command),
        },
    };
    findings.push(Finding::new("rules", is_set, found, mend));
    let families = if machine::has_ipv6() { &["-4", "-6"][..] } else { &["-4"] };
    let (mark, number) = (format!("{:#x}", document.mark), document.table.to_string());
    for family in families {
        let rules = output(&["ip", family, "rule", "show"]).unwrap_or_default();
        let is_set = rules.lines().any(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            words.windows(2).any(|pair| pair == ["fwmark", &*mark])
                && words.ends_with(&["lookup", &*number])
        });
        let found = if is_set { "set" } else { "packets with the mark have no table" };
        findings.push(Finding::new(&format!("ip {family} rule"), is_set, found, &*command));
        let routes = output(&["ip", family, "route", "show", "table", &number]).unwrap_or_default();
        let is_set = routes.lines().any(|line| line.starts_with("local default dev lo"));
        let found = if is_set { "set" } else { "the table does not lead to this machine" };
        findings.push(Finding::new(&format!("ip {family} route"), is_set, found, &*command));
    }
    findings
}

/// Checks that the daemon listens, in the kernel's list of sockets.
fn listens(loaded: &Loaded, file: &str) -> Finding {
    let port = loaded.config.port_of(SideName::Terrestrial);
    let address = format!("0100007F:{port:04X} 00000000:0000 0A");
    let sockets = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let is_running = sockets.contains(&address);
    let found = match (is_running, loaded.config.document.fail) {
        (true, _) => "runs",
        (false, Fail::Open) => "does not run; new connections cross unsplit",
        (false, Fail::Closed) => "does not run; new connections are reset",
    };
    Finding::new("daemon", is_running, found, format!("bentpipe proxy run {file}"))
}
