//! Rules that the schema cannot express: prefixes, names of interfaces, contradictions.

use std::net::{IpAddr, SocketAddr};

use language::Refused;
use middlebox::Accept;

use super::{Clients, Config, Document, Relay, SideName, TcpOptions};
use crate::prefix::Prefix;
use crate::rate::Rates;

/// Tables that the kernel uses itself: default, main, local.
const RESERVED_TABLES: [u32; 3] = [253, 254, 255];

/// Checks a file.
///
/// # Errors
/// All contradictions, with their places.
pub(super) fn check(document: &Document) -> Result<Config, Vec<Refused>> {
    let mut refused = Vec::new();
    interfaces(document, &mut refused);
    if RESERVED_TABLES.contains(&document.table) {
        let found = document.table.to_string();
        let reason = "the kernel uses 253 to 255 itself";
        refused.push(Refused::new("table", "a free table", found).because(reason));
    }
    if let Some(known_for) = document.known_for.filter(|_| document.accept != Accept::EarlyIfKnown)
    {
        let expected = "accept = \"early-if-known\", or no `known_for`";
        refused.push(Refused::new("known_for", expected, format!("\"{known_for}\"")));
    }
    for (key, ports) in [("ports", &document.ports), ("bypass.ports", &document.bypass.ports)] {
        for (i, port) in ports.iter().enumerate() {
            if *port == 0 {
                refused.push(Refused::new(&format!("{key}.{i}"), "a port from 1", "0"));
            } else if key == "bypass.ports" && document.ports.contains(port) {
                let problem = Refused::new(&format!("{key}.{i}"), "another port", port.to_string());
                refused.push(problem.because("`ports` has it too"));
            }
        }
    }
    let bypass = prefixes(
        document
            .bypass
            .subnets
            .iter()
            .enumerate()
            .map(|(i, text)| (format!("bypass.subnets.{i}"), text.as_str())),
        &mut refused,
    );
    let keys = document.subnet.iter().enumerate();
    let known = prefixes(
        keys.map(|(i, subnet)| (format!("subnet.{i}.prefix"), subnet.prefix.as_str())),
        &mut refused,
    );
    for (number, prefix) in &known {
        if let Some((_, wider)) = bypass.iter().find(|(_, bypass)| bypass.includes(*prefix)) {
            let path = format!("subnet.{number}.prefix");
            let problem = Refused::new(&path, "a subnet that is split", format!("{prefix}"));
            refused.push(problem.because(format!("`bypass.subnets` has {wider}")));
        }
        if document.subnet[*number].tcp() == TcpOptions::default() {
            let path = format!("subnet.{number}");
            refused.push(Refused::new(&path, "at least one setting", "only a prefix"));
        }
    }
    bursts(document, &mut refused);
    whole_units(document, &mut refused);
    let mut subnets: Vec<_> =
        known.iter().map(|(i, prefix)| (*prefix, document.subnet[*i].tcp())).collect();
    subnets.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.length()));
    let (metrics, relays) = addresses(document, &mut refused);
    let user = document.user.as_deref().and_then(|text| user(text, &mut refused));
    if refused.is_empty() {
        let bypass = bypass.into_iter().map(|(_, prefix)| prefix).collect();
        let rates = Rates::default();
        let mut config =
            Config { document: document.clone(), subnets, bypass, metrics, user, relays, rates };
        config.rates = Rates::new(&config);
        Ok(config)
    } else {
        Err(refused)
    }
}

fn bursts(document: &Document, refused: &mut Vec<Refused>) {
    let sides = document.sides().map(|(key, side)| (key.to_owned(), &side.tcp.shared));
    let subnets = document.subnet.iter().enumerate();
    let subnets = subnets.map(|(i, subnet)| (format!("subnet.{i}"), &subnet.shared));
    for (key, shared) in sides.into_iter().chain(subnets) {
        if let (None, Some(burst)) = (shared.rate, shared.burst) {
            let problem =
                Refused::new(&format!("{key}.burst"), "`rate` too", format!("\"{burst}\""));
            refused.push(problem.because("it is the size of the bucket of `rate`"));
        }
    }
}

/// The kernel counts these times in seconds or milliseconds.
fn whole_units(document: &Document, refused: &mut Vec<Refused>) {
    let sides = document.sides().map(|(key, side)| (key.to_owned(), &side.tcp.connection));
    let subnets = document.subnet.iter().enumerate();
    let subnets = subnets.map(|(i, subnet)| (format!("subnet.{i}"), &subnet.connection));
    for (side, connection) in sides.into_iter().chain(subnets) {
        let times = [
            ("keepalive", connection.keepalive, 1_000_000_000, "a whole number of seconds"),
            ("user_timeout", connection.user_timeout, 1_000_000, "a whole number of milliseconds"),
        ];
        for (key, time, unit, expected) in times {
            if let Some(time) = time.filter(|time| !time.as_nanos().is_multiple_of(unit)) {
                refused.push(Refused::new(
                    &format!("{side}.{key}"),
                    expected,
                    format!("\"{time}\""),
                ));
            }
        }
    }
}

fn interfaces(document: &Document, refused: &mut Vec<Refused>) {
    // A name in rules and commands: what the kernel allows, without what they would interpret.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    for (key, side) in document.sides() {
        for (i, name) in side.interfaces.iter().enumerate() {
            let path = format!("{key}.interfaces.{i}");
            let valid = (1..16).contains(&name.len())
                && name.chars().all(is_plain)
                && !name.starts_with(['-', '.']);
            if !valid {
                let expected =
                    "the name of an interface (at most 15 letters, digits, `.`, `_`, `-`)";
                refused.push(Refused::new(&path, expected, format!("{name:?}")));
            }
            let others = side.interfaces[..i].iter();
            let across = document.terrestrial.interfaces.iter().filter(|_| key == "satellite");
            if others.chain(across).any(|other| other == name) {
                let problem = Refused::new(&path, "another interface", format!("{name:?}"));
                refused.push(problem.because("an interface is on one side, once"));
            }
        }
    }
}

/// The prefixes that are valid, with their numbers.
fn prefixes<'a>(
    texts: impl Iterator<Item = (String, &'a str)>,
    refused: &mut Vec<Refused>,
) -> Vec<(usize, Prefix)> {
    let mut known: Vec<(usize, Prefix)> = Vec::new();
    for (number, (path, text)) in texts.enumerate() {
        match text.parse::<Prefix>() {
            Ok(prefix) if known.iter().any(|(_, other)| *other == prefix) => {
                let problem = Refused::new(&path, "another prefix", format!("{text:?}"));
                refused.push(problem.because("it stands above already"));
            }
            Ok(prefix) => known.push((number, prefix)),
            Err(reason) => {
                let expected = "a prefix such as \"203.0.113.0/24\"";
                let problem = Refused::new(&path, expected, format!("{text:?}"));
                refused.push(problem.because(reason.to_string()));
            }
        }
    }
    known
}

/// The relays. A port of the loopback address that the daemon uses itself is refused.
fn relays(document: &Document, refused: &mut Vec<Refused>) -> Vec<Relay> {
    let mut relays: Vec<Relay> = Vec::new();
    for (number, forward) in document.forward.iter().enumerate() {
        let mut address = |key: &str, text: &str| {
            let path = format!("forward.{number}.{key}");
            let found = text.parse::<SocketAddr>().ok().filter(|address| address.port() != 0);
            if found.is_none() {
                let expected = "an address with a port such as \"203.0.113.7:443\"";
                refused.push(Refused::new(&path, expected, format!("{text:?}")));
            }
            found
        };
        let (listen, to) = (address("listen", &forward.listen), address("to", &forward.to));
        let (Some(listen), Some(to)) = (listen, to) else { continue };
        let path = format!("forward.{number}");
        let own = [document.port, document.port + 1].contains(&listen.port());
        if own || relays.iter().any(|other| other.listen == listen) {
            let problem =
                Refused::new(&format!("{path}.listen"), "another port", listen.to_string());
            let reason = if own {
                "`port` and the next one are the daemon's"
            } else {
                "it stands above already"
            };
            refused.push(problem.because(reason));
        }
        if to.ip().is_unspecified() {
            let expected = "the address of a server";
            refused.push(Refused::new(&format!("{path}.to"), expected, to.to_string()));
        }
        let side = match forward.from {
            Clients::Terrestrial => SideName::Terrestrial,
            Clients::Satellite => SideName::Satellite,
        };
        relays.push(Relay { listen, to, side });
    }
    relays
}

/// Returns true if a connection to `to` arrives at a listener at `listen`, on one machine.
/// Listeners of IPv6 take none of IPv4.
fn takes(listen: SocketAddr, to: SocketAddr) -> bool {
    let is_there = listen.ip() == to.ip() || listen.ip().is_unspecified();
    listen.port() == to.port() && listen.is_ipv4() == to.is_ipv4() && is_there
}

/// Relays that lead to themselves, perhaps over others. `own` are addresses of this machine.
pub(crate) fn loops(relays: &[Relay], own: &[IpAddr]) -> Vec<Refused> {
    let next = |to: SocketAddr| {
        let is_here = |listen| to.ip().is_loopback() || own.contains(&to.ip()) || listen == to;
        relays.iter().position(|relay| is_here(relay.listen) && takes(relay.listen, to))
    };
    let is_loop = |start: usize| {
        let mut at = start;
        relays.iter().any(|_| match next(relays[at].to) {
            Some(following) => {
                at = following;
                at == start
            }
            None => false,
        })
    };
    let numbers = (0..relays.len()).filter(|number| is_loop(*number));
    numbers
        .map(|number| {
            let (path, to) = (format!("forward.{number}.to"), relays[number].to.to_string());
            Refused::new(&path, "the address of a server", to)
                .because("a relay that connects to itself has no end")
        })
        .collect()
}

/// The page of metrics, the relays and the path of the control socket.
fn addresses(document: &Document, refused: &mut Vec<Refused>) -> (Option<SocketAddr>, Vec<Relay>) {
    let page = document.metrics.as_deref().and_then(|text| metrics(text, refused));
    let relays = relays(document, refused);
    refused.extend(loops(&relays, &[]));
    if let Some(page) = page {
        let own = [document.port, document.port + 1].contains(&page.port());
        let reason = match relays.iter().any(|relay| takes(relay.listen, page)) {
            _ if own => Some("`port` and the next one are the daemon's"),
            true => Some("a relay listens there"),
            false => None,
        };
        refused.extend(reason.map(|reason| {
            Refused::new("metrics", "another port", page.to_string()).because(reason)
        }));
    }
    if let Some(control) = &document.control
        && !(1..=100).contains(&control.as_os_str().len())
    {
        let found = format!("{} bytes", control.as_os_str().len());
        refused.push(Refused::new("control", "a path of 1 to 100 bytes", found));
    }
    (page, relays)
}

fn metrics(text: &str, refused: &mut Vec<Refused>) -> Option<SocketAddr> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() && address.port() != 0 => return Some(address),
        Ok(_) => {
            let expected = "a loopback address with a port such as \"127.0.0.1:9440\"";
            let problem = Refused::new("metrics", expected, format!("{text:?}"));
            refused.push(problem.because("everybody who reaches it can read it"));
        }
        Err(_) => {
            let expected = "an address with a port such as \"127.0.0.1:9440\"";
            refused.push(Refused::new("metrics", expected, format!("{text:?}")));
        }
    }
    None
}

fn user(text: &str, refused: &mut Vec<Refused>) -> Option<(u32, u32)> {
    let numbers = text.split_once(':').and_then(|(user, group)| {
        let number = |text: &str| text.parse().ok().filter(|id| *id != u32::MAX);
        Some((number(user)?, number(group)?))
    });
    if numbers.is_none() {
        let expected = "numbers such as \"65534:65534\"";
        refused.push(Refused::new("user", expected, format!("{text:?}")));
    }
    numbers
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use crate::config::Loaded;
    use crate::rules;

    const PLAIN: &str =
        "[terrestrial]\ninterfaces = [\"lan0\"]\n[satellite]\ninterfaces = [\"sat0\"]\n";
    const EVERY_TABLE: &str = include_str!("../../../../fuzz/corpus/proxy/every-table.toml");

    fn refusal(text: &str) -> String {
        Loaded::parse(text, Path::new("p.toml")).unwrap_err().to_string()
    }

    /// A listener of IPv6 takes no connection of IPv4, so these lead elsewhere.
    #[test]
    fn relays_between_families_are_no_loops() {
        for (listen, to) in [
            ("[::]:8443", "127.0.0.1:8443"),
            ("0.0.0.0:8443", "[::1]:8443"),
            ("0.0.0.0:8443", "203.0.113.7:8443"),
        ] {
            let relay = format!("[[forward]]\nlisten = \"{listen}\"\nto = \"{to}\"\n");
            let text = format!("metrics = \"127.0.0.1:9440\"\n{PLAIN}{relay}");
            assert!(Loaded::parse(&text, Path::new("p.toml")).is_ok(), "{listen} to {to}");
        }
        let other = "[[forward]]\nlisten = \"[::]:9440\"\nto = \"203.0.113.7:80\"\n";
        let text = format!("metrics = \"127.0.0.1:9440\"\n{PLAIN}{other}");
        assert!(Loaded::parse(&text, Path::new("p.toml")).is_ok());
    }

    #[test]
    fn times_that_the_kernel_would_round_and_taken_ports_are_refused() {
        for (key, expected) in [
            ("keepalive = \"1.9s\"", "a whole number of seconds"),
            ("user_timeout = \"1000.5ms\"", "a whole number of milliseconds"),
        ] {
            for side in ["terrestrial", "satellite"] {
                let head = format!("[{side}]\n");
                let text = PLAIN.replace(&head, &format!("{head}{key}\n"));
                assert!(refusal(&text).contains(expected), "{side}: {}", refusal(&text));
            }
            let text = format!("{PLAIN}[[subnet]]\nprefix = \"10.0.0.0/8\"\n{key}\n");
            assert!(refusal(&text).contains(expected), "{key}: {}", refusal(&text));
        }
        let text = format!("metrics = \"127.0.0.1:4440\"\n{PLAIN}");
        assert!(refusal(&text).contains("`port` and the next one are the daemon's"));
        let text = format!("control = \"\"\n{PLAIN}");
        assert!(
            refusal(&text).contains("control: expected a path of 1 to 100 bytes, found 0 bytes")
        );
        let text = format!("control = \"/{}\"\n{PLAIN}", "x".repeat(100));
        assert!(refusal(&text).contains("found 101 bytes"));
    }

    #[test]
    fn wrong_files_are_refused_with_place_and_name() {
        let cases = [
            (format!("acept = \"early\"\n{PLAIN}"), "p.toml:1:1: ", "did you mean `accept`?"),
            (PLAIN.replace("sat0", "lan0"), "p.toml:4:15: ", "an interface is on one side"),
            (PLAIN.replace("sat0", "a\\\"; drop"), "p.toml:4:15: ", "the name of an interface"),
            (format!("table = 254\n{PLAIN}"), "p.toml:1:9: ", "the kernel uses"),
            (format!("metrics = \"0.0.0.0:1\"\n{PLAIN}"), "p.toml:1:11: ", "loopback"),
            (format!("user = \"nobody\"\n{PLAIN}"), "p.toml:1:8: ", "65534:65534"),
            (format!("port = 65535\n{PLAIN}"), "p.toml:1:8: ", "65534"),
            (format!("known_for = \"1min\"\n{PLAIN}"), "p.toml:1:13: ", "early-if-known"),
            (format!("{PLAIN}pacing_rate = \"2mbps\"\n"), "p.toml:5:15: ", "2Mbit/s"),
            (format!("{PLAIN}burst = \"64kB\"\n"), "p.toml:5:9: ", "`rate` too"),
            (format!("{PLAIN}rate = \"8Mbit/s\"\nburst = \"1kB\"\n"), "p.toml:6:9: ", "1500B"),
            (format!("{PLAIN}[limits]\nconnections = 0\n"), "p.toml:6:15: ", "connections"),
            (
                format!("{PLAIN}[[subnet]]\nprefix = \"10.0.0.1/8\"\nkeepalive = \"140s\"\n"),
                "p.toml:6:10: ",
                "10.0.0.0/8",
            ),
            (
                format!(
                    "{PLAIN}[bypass]\nsubnets = [\"10.0.0.0/8\"]\n[[subnet]]\nprefix = \
                     \"10.1.0.0/16\"\nkeepalive = \"140s\"\n"
                ),
                "p.toml:8:10: ",
                "`bypass.subnets` has 10.0.0.0/8",
            ),
            (
                format!(
                    "{PLAIN}[[subnet]]\nprefix = \"10.0.0.0/8\"\nkeepalive = \"140s\"\n[[subnet]]\nprefix = \
                     \"10.0.0.0/8\"\nkeepalive = \"130s\"\n"
                ),
                "p.toml:9:10: ",
                "stands above",
            ),
            (
                format!("{PLAIN}[[subnet]]\nprefix = \"10.0.0.0/8\"\nmss = 1400\n"),
                "p.toml:7:1: ",
                "unknown key",
            ),
            (
                format!("ports = [80]\n{PLAIN}[bypass]\nports = [80]\n"),
                "p.toml:7:10: ",
                "`ports` has it too",
            ),
        ];
        for (text, place, part) in cases {
            let message = refusal(&text);
            assert!(message.starts_with(place) && message.contains(part), "{text}\n{message}");
        }
    }

    #[test]
    fn the_file_with_every_table_is_accepted() {
        are_four_chains(EVERY_TABLE);
        assert!(Loaded::parse(EVERY_TABLE, Path::new("p.toml")).is_ok());
    }

    proptest! {
        /// The fuzz target `proxy` of `fuzz/` looks deeper.
        #[test]
        fn a_file_with_anything_in_it_is_refused_or_becomes_rules(
            at in 0..EVERY_TABLE.len(),
            length in 0..30_usize,
            put in r#"[ -~\n]{0,12}|[0-9]{1,20}|[a-z0-9.]{1,16}"#,
        ) {
            let end = (at + length).min(EVERY_TABLE.len());
            are_four_chains(&format!("{}{put}{}", &EVERY_TABLE[..at], &EVERY_TABLE[end..]));
        }

        #[test]
        fn no_name_or_prefix_ends_a_rule(text in "[ -~]{1,15}") {
            let text = format!("{text:?}");
            are_four_chains(&PLAIN.replace("\"lan0\"", &text));
            are_four_chains(&format!("{PLAIN}[bypass]\nsubnets = [{text}]\n"));
        }
    }

    /// A text that is accepted becomes rules in which no value ends a rule or begins another one.
    fn are_four_chains(text: &str) {
        match Loaded::parse(text, Path::new("p.toml")) {
            Ok(loaded) => {
                let rules = rules::ruleset(&loaded.config);
                assert_eq!(
                    rules.matches([';', '`', '$', '\\']).count(),
                    2 * rules::CHAINS,
                    "{rules}"
                );
                assert_eq!(rules.matches("chain ").count(), rules::CHAINS, "{rules}");
            }
            Err(errors) => assert!(!errors.to_string().is_empty()),
        }
    }
}
