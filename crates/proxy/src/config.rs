//! The configuration: a TOML file, checked as scenarios are.
//!
//! The types are the file. `Config::check` finds what the schema cannot express: prefixes, names
//! of interfaces, contradictions. Nothing here asks the machine, which `machine` does.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

pub use middlebox::SideName;
use middlebox::{Accept, SplitLimits, SplitSide};
use scenario::{Refused, ScenarioErrors, TypedFile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Rate, Span};

use crate::prefix::Prefix;

/// A split proxy of this machine.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Bentpipe proxy")]
pub struct Document {
    /// The side of the clients, or whichever side is not the satellite's.
    pub terrestrial: Side,
    /// The side of the satellite.
    pub satellite: Side,
    /// Time at which the client's connection is accepted. `"early"` is at once.
    #[serde(default)]
    pub accept: Accept,
    /// Source address of connections to servers: `"client"` keeps the client's address and port,
    /// `"gateway"` uses an address of this machine.
    #[serde(default)]
    pub source: Source,
    /// New connections while the proxy does not run: `"open"` lets them cross unsplit, `"closed"`
    /// resets them.
    #[serde(default)]
    pub fail: Fail,
    /// Copies the DSCP of the client's SYN to the connection with the server. ECN is negotiated by
    /// each connection for itself.
    #[serde(default = "yes")]
    pub copy_dscp: bool,
    /// Destination ports that are split. Default: all.
    #[serde(default)]
    pub ports: Vec<u16>,
    /// Local port for connections from the terrestrial side. The next one is for connections from
    /// the satellite side. Both listen on the loopback address only.
    #[serde(default = "port")]
    #[schemars(range(min = 1, max = 65534))]
    pub port: u16,
    /// Firewall mark of intercepted packets.
    #[serde(default = "mark")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub mark: u32,
    /// Routing table that delivers intercepted packets to this machine.
    #[serde(default = "table")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub table: u32,
    /// Number of threads. Default: one per core.
    #[schemars(range(min = 1, max = 256))]
    pub threads: Option<u16>,
    /// Time in which a server must accept. After it the client is reset.
    #[serde(default = "connect_timeout")]
    #[schemars(extend("x-minimum" = "1s", "x-maximum" = "10min"))]
    pub connect_timeout: Span,
    /// Connections without a byte for this time are reset on both sides. RFC 5382 requires at least
    /// 124 minutes of translators.
    #[serde(default = "idle_timeout")]
    #[schemars(extend("x-minimum" = "1s", "x-maximum" = "720h"))]
    pub idle_timeout: Span,
    /// Time that connections have to end after SIGTERM. The rest is reset.
    #[serde(default = "stop_within")]
    #[schemars(extend("x-maximum" = "24h"))]
    pub stop_within: Span,
    /// User and group of the process after set-up, as numbers `"UID:GID"`. Default: unchanged. All
    /// capabilities but NET_ADMIN, NET_RAW and NET_BIND_SERVICE are dropped in any case.
    pub user: Option<String>,
    /// Local address for Prometheus. Default: none.
    #[schemars(extend("examples" = ["127.0.0.1:9440"]))]
    pub metrics: Option<String>,
    /// Socket of `bentpipe proxy top`. Default: none.
    #[schemars(extend("examples" = ["/run/bentpipe-proxy/control"]))]
    pub control: Option<PathBuf>,
    /// Limits.
    #[serde(default)]
    pub limits: SplitLimits,
    /// Connections that cross unsplit.
    #[serde(default)]
    pub bypass: Bypass,
    /// Settings of connections with addresses of a subnet. The longest prefix that includes the
    /// address of the far end applies, key by key over those of the side.
    #[serde(default)]
    pub subnet: Vec<Subnet>,
    /// Log.
    #[serde(default)]
    pub log: Log,
}

/// One side of the gateway.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Side {
    /// Network interfaces of this side.
    #[schemars(length(min = 1), extend("examples" = [["eth0"]]))]
    pub interfaces: Vec<String>,
    /// Settings of connections on this side.
    #[serde(flatten)]
    pub tcp: TcpOptions,
}

/// TCP settings of connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub struct TcpOptions {
    /// Settings that a simulated proxy has too.
    #[serde(flatten)]
    pub split: SplitSide,
    /// Maximum pacing rate of one connection.
    #[schemars(extend("x-minimum" = "1kbit/s", "x-maximum" = "320Gbit/s"))]
    pub pacing_rate: Option<Rate>,
    /// Idle time before the first keep-alive probe. The next ones follow after a tenth of it each,
    /// and the connection ends after nine. Default: no probes.
    #[schemars(extend("x-minimum" = "1s", "x-maximum" = "32000s"))]
    pub keepalive: Option<Span>,
    /// Time for which sent data may stay unacknowledged (RFC 5482). Default: that of the kernel.
    #[schemars(extend("x-minimum" = "1s", "x-maximum" = "24h"))]
    pub user_timeout: Option<Span>,
    /// Upper bound of data that the socket holds unsent.
    #[schemars(extend("x-minimum" = "1KiB", "x-maximum" = "1GiB"))]
    pub notsent_lowat: Option<Bytes>,
    /// TCP Fast Open (RFC 7413), as a client and as a server.
    pub fast_open: Option<bool>,
}

/// Settings for a subnet.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub struct Subnet {
    /// Addresses.
    #[schemars(extend("examples" = ["203.0.113.0/24"]))]
    pub prefix: String,
    /// Settings of connections whose far end is in it.
    #[serde(flatten)]
    pub tcp: TcpOptions,
}

/// Connections that are not split.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bypass {
    /// Destination ports.
    pub ports: Vec<u16>,
    /// Subnets of clients or servers.
    pub subnets: Vec<String>,
    /// Connections that offer Multipath TCP (RFC 8684). If they are split, they fall back to TCP.
    pub mptcp: bool,
}

impl Default for Bypass {
    fn default() -> Self {
        Self { ports: Vec::new(), subnets: Vec::new(), mptcp: true }
    }
}

/// Log of the proxy. It never has payload.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// File, appended to. Default: standard error.
    pub file: Option<PathBuf>,
    /// Format: `"text"` for people, or `"json"`, one object per line.
    pub format: LogFormat,
    /// Logs each connection at its end.
    pub connections: bool,
}

/// Format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Source address of connections to servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Address and port of the client.
    #[default]
    Client,
    /// An address of this machine.
    Gateway,
}

/// New connections while the proxy does not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fail {
    /// They cross unsplit.
    #[default]
    Open,
    /// They are reset.
    Closed,
}

const fn yes() -> bool {
    true
}
const fn port() -> u16 {
    4440
}
const fn mark() -> u32 {
    0xb901
}
const fn table() -> u32 {
    4440
}
const fn connect_timeout() -> Span {
    Span::from_secs(75)
}
const fn idle_timeout() -> Span {
    Span::from_secs(124 * 60)
}
const fn stop_within() -> Span {
    Span::from_secs(10)
}

/// Tables that the kernel uses itself: default, main, local.
const RESERVED_TABLES: [u32; 3] = [253, 254, 255];

/// A configuration that is valid in itself.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file.
    pub document: Document,
    /// Subnets with settings, longest prefix first.
    pub subnets: Vec<(Prefix, TcpOptions)>,
    /// Subnets that are not split.
    pub bypass: Vec<Prefix>,
    /// Local address of the metrics.
    pub metrics: Option<SocketAddr>,
    /// User and group.
    pub user: Option<(u32, u32)>,
}

/// A configuration with the places of its values.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    file: TypedFile<Document>,
}

impl Loaded {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// All errors of the file.
    pub fn load(path: &Path) -> Result<Self, ScenarioErrors> {
        Self::complete(TypedFile::load(path, "a file of the proxy")?)
    }

    /// Reads and checks a text; errors name it `file`.
    ///
    /// # Errors
    /// All errors of the text.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ScenarioErrors> {
        Self::complete(TypedFile::parse(text, file)?)
    }

    fn complete(file: TypedFile<Document>) -> Result<Self, ScenarioErrors> {
        match Config::check(&file.value) {
            Ok(config) => Ok(Self { config, file }),
            Err(refused) => Err(file.report(refused)),
        }
    }

    /// Errors at values of this file.
    pub fn report(&self, refused: Vec<Refused>) -> ScenarioErrors {
        self.file.report(refused)
    }
}

/// The reference of the keys in Markdown.
pub fn reference() -> String {
    TypedFile::<Document>::reference(3)
}

impl Config {
    fn check(document: &Document) -> Result<Self, Vec<Refused>> {
        let mut refused = Vec::new();
        interfaces(document, &mut refused);
        if RESERVED_TABLES.contains(&document.table) {
            let found = document.table.to_string();
            let reason = "the kernel uses 253 to 255 itself";
            refused.push(Refused::new("table", "a free table", found).because(reason));
        }
        if document.accept != Accept::Early {
            let found = match document.accept {
                Accept::Late => "\"late\"",
                _ => "\"early-if-known\"",
            };
            let reason = "the daemon cannot hold back a SYN yet";
            refused.push(Refused::new("accept", "\"early\"", found).because(reason));
        }
        for (key, ports) in [("ports", &document.ports), ("bypass.ports", &document.bypass.ports)] {
            for (i, port) in ports.iter().enumerate() {
                if *port == 0 {
                    refused.push(Refused::new(&format!("{key}.{i}"), "a port from 1", "0"));
                } else if key == "bypass.ports" && document.ports.contains(port) {
                    let problem =
                        Refused::new(&format!("{key}.{i}"), "another port", port.to_string());
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
            if document.subnet[*number].tcp == TcpOptions::default() {
                let path = format!("subnet.{number}");
                refused.push(Refused::new(&path, "at least one setting", "only a prefix"));
            }
            let tcp = &document.subnet[*number].tcp;
            let of_routes = "the kernel takes it from routes, which `rules` sets by interface";
            let of_handshake = "the handshake is over before the client's subnet is known";
            for (key, is_set, reason) in [
                ("initial_window", tcp.split.initial_window.is_some(), of_routes),
                ("mss", tcp.split.mss.is_some(), of_handshake),
                ("fast_open", tcp.fast_open.is_some(), of_handshake),
            ] {
                if is_set {
                    let path = format!("subnet.{number}.{key}");
                    let problem = Refused::new(&path, "no such key for a subnet", "one");
                    refused.push(problem.because(format!("{reason}: set it for the side")));
                }
            }
        }
        let mut subnets: Vec<_> =
            known.iter().map(|(i, prefix)| (*prefix, document.subnet[*i].tcp.clone())).collect();
        subnets.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.length()));
        let metrics = document.metrics.as_deref().and_then(|text| metrics(text, &mut refused));
        let user = document.user.as_deref().and_then(|text| user(text, &mut refused));
        if let Some(control) = &document.control
            && control.as_os_str().len() > 100
        {
            let problem = Refused::new("control", "a path of at most 100 bytes", "a longer one");
            refused.push(problem);
        }
        if refused.is_empty() {
            let bypass = bypass.into_iter().map(|(_, prefix)| prefix).collect();
            Ok(Self { document: document.clone(), subnets, bypass, metrics, user })
        } else {
            Err(refused)
        }
    }

    /// The side.
    pub const fn side(&self, name: SideName) -> &Side {
        match name {
            SideName::Terrestrial => &self.document.terrestrial,
            SideName::Satellite => &self.document.satellite,
        }
    }

    /// Local port for connections that arrive on a side.
    pub const fn port_of(&self, name: SideName) -> u16 {
        self.document.port + name.index() as u16
    }

    /// Settings of the subnet of `address`, if one has some.
    pub fn subnet_of(&self, address: IpAddr) -> Option<&TcpOptions> {
        self.subnets.iter().find(|(prefix, _)| prefix.contains(address)).map(|(_, tcp)| tcp)
    }

    /// Replaces the names of all controllers.
    pub(crate) fn rename_controllers(&mut self, name: impl Fn(&str) -> String) {
        let Document { terrestrial, satellite, subnet, .. } = &mut self.document;
        let sides = [&mut terrestrial.tcp, &mut satellite.tcp];
        let subnets = subnet.iter_mut().map(|subnet| &mut subnet.tcp);
        let resolved = self.subnets.iter_mut().map(|(_, tcp)| tcp);
        for tcp in sides.into_iter().chain(subnets).chain(resolved) {
            tcp.split.controller = tcp.split.controller.as_deref().map(&name);
        }
    }

    /// Places and values of all controllers in the file.
    pub fn controllers(&self) -> Vec<(String, &str)> {
        let sides = SideName::ALL.map(|name| {
            (format!("{}.controller", name.key()), &self.side(name).tcp.split.controller)
        });
        let subnets = self.document.subnet.iter().enumerate();
        let subnets = subnets
            .map(|(i, subnet)| (format!("subnet.{i}.controller"), &subnet.tcp.split.controller));
        let all = sides.into_iter().chain(subnets);
        all.filter_map(|(path, name)| Some((path, name.as_deref()?))).collect()
    }
}

fn interfaces(document: &Document, refused: &mut Vec<Refused>) {
    // A name in rules and commands: what the kernel allows, without what they would interpret.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let sides = [("terrestrial", &document.terrestrial), ("satellite", &document.satellite)];
    for (key, side) in sides {
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
    use super::*;

    const PLAIN: &str =
        "[terrestrial]\ninterfaces = [\"lan0\"]\n[satellite]\ninterfaces = [\"sat0\"]\n";

    fn refusal(text: &str) -> String {
        Loaded::parse(text, Path::new("p.toml")).unwrap_err().to_string()
    }

    #[test]
    fn a_short_file_has_all_defaults() {
        let config = Loaded::parse(PLAIN, Path::new("p.toml")).unwrap().config;
        assert_eq!((config.port_of(SideName::Satellite), config.document.fail), (4441, Fail::Open));
        assert!(config.document.copy_dscp && config.document.bypass.mptcp);
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
            (format!("accept = \"late\"\n{PLAIN}"), "p.toml:1:10: ", "hold back a SYN"),
            (format!("{PLAIN}pacing_rate = \"2mbps\"\n"), "p.toml:5:15: ", "2Mbit/s"),
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
                "p.toml:7:7: ",
                "set it for the side",
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
    fn the_page_has_every_key() {
        let page = include_str!("../../../docs/proxy.md");
        let (_, keys) = page.split_once("## Keys\n").unwrap();
        let made = reference();
        if keys != made && std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always")
        {
            let page = page.replace(keys, &made);
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/proxy.md"), page)
                .unwrap();
        }
        assert_eq!(keys, made, "run it with INSTA_UPDATE=always");
    }

    #[test]
    fn the_example_is_valid() {
        let text = include_str!("../../../deploy/proxy.toml");
        Loaded::parse(text, Path::new("proxy.toml")).unwrap();
    }

    #[test]
    fn the_longest_prefix_applies() {
        let text = format!(
            "{PLAIN}[[subnet]]\nprefix = \"10.0.0.0/8\"\nkeepalive = \"140s\"\n[[subnet]]\nprefix = \
             \"10.1.0.0/16\"\nkeepalive = \"130s\"\n"
        );
        let config = Loaded::parse(&text, Path::new("p.toml")).unwrap().config;
        let seconds = |address: &str| {
            let keepalive =
                config.subnet_of(address.parse().unwrap()).and_then(|tcp| tcp.keepalive);
            keepalive.map(|time| time.as_nanos() / 1_000_000_000)
        };
        let found = (seconds("10.1.2.3"), seconds("10.2.2.3"), seconds("11.0.0.1"));
        assert_eq!(found, (Some(130), Some(140), None));
    }
}
