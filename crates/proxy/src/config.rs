//! The configuration: a TOML file, checked as scenarios are.
//!
//! The types are the file. `check` finds what the schema cannot express. Nothing here asks the
//! machine, which `machine` does.

mod check;
mod sides;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use check::loops;
use language::{Errors, Refused, TypedFile};
pub use middlebox::SideName;
use middlebox::{Accept, Policy, SplitLimits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use sides::{ConnectionOptions, RateOptions, Side, Subnet, TcpOptions};
use units::Span;

use crate::prefix::Prefix;
use crate::rate::{Rates, SharedRate};

/// A split proxy of this machine.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Bentpipe proxy")]
pub struct Document {
    /// The side of the clients, or whichever side is not the satellite's.
    pub terrestrial: Side,
    /// The side of the satellite.
    pub satellite: Side,
    /// Time at which the client's connection is accepted. `"early"` is at once: a server that
    /// refuses is seen as a reset after the handshake. `"late"` is after the server has accepted: a
    /// refused port looks refused. `"early-if-known"` is at once for servers that have accepted a
    /// connection within `known_for`.
    #[serde(default)]
    pub accept: Accept,
    /// Time for which a server (address and port) counts as known after it has accepted a
    /// connection, with `accept = "early-if-known"`. Default: 5min.
    #[schemars(extend("x-minimum" = "1s", "x-maximum" = "24h"))]
    pub known_for: Option<Span>,
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
    /// the satellite side. Both listen on the loopback address only. With another `accept` than
    /// `"early"` it is also the number of the NFLOG group of the rules.
    #[serde(default = "port")]
    #[schemars(range(min = 1, max = 65534))]
    pub port: u16,
    /// Firewall mark of intercepted packets. The next two numbers mark packets that the daemon
    /// sends to clients and to servers.
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
    /// Time for which a thread looks for events without sleep, after the last ones. It shortens the
    /// round trip, and costs processor time: a thread with an event in each such time uses a whole
    /// core. Default: it sleeps at once.
    #[schemars(extend("x-minimum" = "1us", "x-maximum" = "10ms"))]
    pub busy_poll: Option<Span>,
    /// Time in which a server must accept. After it the client is reset. With `accept = "late"` it
    /// is left without an answer.
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
    /// Socket of `bentpipe proxy top`, `reload`, `upgrade` and `stop`. Default: none.
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
    /// Relays that are not transparent.
    #[serde(default)]
    pub forward: Vec<Forward>,
    /// Log.
    #[serde(default)]
    pub log: Log,
}

/// A relay to one server, without rules: clients connect to an address of this machine, and the
/// server sees an address of this machine. It serves where the gateway is no router: on one
/// interface, or for a port that is forwarded.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forward {
    /// Address and port at which clients connect.
    #[schemars(extend("examples" = ["0.0.0.0:8443", "[::]:8443"]))]
    pub listen: String,
    /// Address and port of the server.
    #[schemars(extend("examples" = ["203.0.113.7:443"]))]
    pub to: String,
    /// Side of the clients, whose settings their connections have. The server is on the other side.
    #[serde(default)]
    pub from: Clients,
}

/// Side of the clients of a relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Clients {
    /// The side that is not the satellite's.
    #[default]
    Terrestrial,
    /// The side of the satellite.
    Satellite,
}

/// A relay that is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relay {
    /// Address at which clients connect.
    pub listen: SocketAddr,
    /// Server.
    pub to: SocketAddr,
    /// Side of the clients.
    pub side: SideName,
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
    /// Format: `"text"` for people, with dates in UTC, or `"json"`, one object per line, with
    /// seconds since 1970.
    pub format: LogFormat,
    /// Logs each connection at its end.
    pub connections: bool,
}

impl Log {
    /// The operation of opening it, in an error.
    pub(crate) fn opening(&self) -> String {
        let file = self.file.as_deref().map(|file| format!(" {}", file.display()));
        format!("open the log{}", file.unwrap_or_default())
    }
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

/// Receivers of packets of the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Towards {
    /// Clients, whose connections it has accepted.
    Client,
    /// Servers, to which it has connected.
    Server,
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

impl Document {
    /// Both sides with their keys.
    pub(crate) fn sides(&self) -> [(&'static str, &Side); 2] {
        SideName::ALL.map(|name| (name.key(), self.side(name)))
    }

    /// A side.
    pub const fn side(&self, name: SideName) -> &Side {
        match name {
            SideName::Terrestrial => &self.terrestrial,
            SideName::Satellite => &self.satellite,
        }
    }

    /// Time for which a server counts as known.
    pub(crate) fn known_for(&self) -> Span {
        self.known_for.unwrap_or(Policy::default().known_for)
    }
}

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
    /// Relays that are not transparent.
    pub relays: Vec<Relay>,
    /// Rates that connections share.
    pub(crate) rates: Rates,
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
    pub fn load(path: &Path) -> Result<Self, Errors> {
        Self::complete(TypedFile::load(path, "a file of the proxy")?)
    }

    /// Reads and checks a text; errors name it `file`.
    ///
    /// # Errors
    /// All errors of the text.
    pub fn parse(text: &str, file: &Path) -> Result<Self, Errors> {
        Self::complete(TypedFile::parse(text, file)?)
    }

    fn complete(file: TypedFile<Document>) -> Result<Self, Errors> {
        match check::check(&file.value) {
            Ok(config) => Ok(Self { config, file }),
            Err(refused) => Err(file.report(refused)),
        }
    }

    /// Errors at values of this file.
    pub fn report(&self, refused: Vec<Refused>) -> Errors {
        self.file.report(refused)
    }
}

/// The reference of the keys in Markdown.
pub fn reference() -> String {
    TypedFile::<Document>::reference(3)
}

impl Config {
    /// Returns true if no connection can cross from one side to the other, so that the file serves
    /// relays only: a side is nothing but the loopback interface.
    pub(crate) fn has_only_relays(&self) -> bool {
        let is_here = |side| self.side(side).interfaces.iter().all(|name| name == "lo");
        !self.relays.is_empty() && SideName::ALL.into_iter().any(is_here)
    }

    /// The side.
    pub const fn side(&self, name: SideName) -> &Side {
        self.document.side(name)
    }

    /// Firewall mark of the packets that the daemon sends.
    pub(crate) const fn mark_of(&self, towards: Towards) -> u32 {
        match towards {
            Towards::Client => self.document.mark + 1,
            Towards::Server => self.document.mark + 2,
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

    /// The rate that connections with `address` on a side share.
    pub(crate) fn rate_of(&self, side: SideName, address: IpAddr) -> Option<&Arc<SharedRate>> {
        let subnet = self.subnets.iter().find(|(prefix, _)| prefix.contains(address));
        self.rates.of(subnet.map(|(prefix, _)| *prefix), side)
    }

    /// Replaces the names of all controllers.
    pub(crate) fn rename_controllers(&mut self, name: impl Fn(&str) -> String) {
        let Document { terrestrial, satellite, subnet, .. } = &mut self.document;
        let sides = [&mut terrestrial.tcp, &mut satellite.tcp];
        let resolved = self.subnets.iter_mut().map(|(_, tcp)| tcp);
        let all = sides.into_iter().chain(resolved).map(|tcp| &mut tcp.split.controller);
        for controller in all.chain(subnet.iter_mut().map(|subnet| &mut subnet.controller)) {
            *controller = controller.as_deref().map(&name);
        }
    }

    /// Places and values of all controllers in the file.
    pub fn controllers(&self) -> Vec<(String, &str)> {
        let sides = SideName::ALL.map(|name| {
            (format!("{}.controller", name.key()), &self.side(name).tcp.split.controller)
        });
        let subnets = self.document.subnet.iter().enumerate();
        let subnets =
            subnets.map(|(i, subnet)| (format!("subnet.{i}.controller"), &subnet.controller));
        let all = sides.into_iter().chain(subnets);
        all.filter_map(|(path, name)| Some((path, name.as_deref()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str =
        "[terrestrial]\ninterfaces = [\"lan0\"]\n[satellite]\ninterfaces = [\"sat0\"]\n";

    #[test]
    fn a_short_file_has_all_defaults() {
        let config = Loaded::parse(PLAIN, Path::new("p.toml")).unwrap().config;
        assert_eq!((config.port_of(SideName::Satellite), config.document.fail), (4441, Fail::Open));
        assert!(config.document.copy_dscp && config.document.bypass.mptcp);
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
    fn every_key_has_a_row_in_the_page() {
        let page = include_str!("../../../docs/proxy.md");
        let (_, keys) = page.split_once("## Keys\n").unwrap();
        for path in language::shape::paths(&TypedFile::<Document>::schema()) {
            let key = path.rsplit('.').next().unwrap();
            assert!(keys.contains(&format!("\n| `{key}` | ")), "{path}");
        }
    }

    #[test]
    fn the_example_is_valid() {
        let text = include_str!("../../../deploy/proxy.toml");
        Loaded::parse(text, Path::new("proxy.toml")).unwrap();
    }

    /// Every key that a subnet takes changes the socket of a connection, and no other key is taken.
    #[test]
    fn every_key_of_a_subnet_has_an_effect() {
        let schema = schemars::schema_for!(Subnet).to_value();
        let keys = schema["properties"].as_object().unwrap().keys();
        let of_sides = ["initial_window = 20", "mss = 1400", "fast_open = true"];
        for key in keys.filter(|key| *key != "prefix") {
            let (value, level, option) = match key.as_str() {
                "rate" | "burst" => continue, // of all connections: crate::rate
                "controller" => ("\"reno\"", libc::IPPROTO_TCP, libc::TCP_CONGESTION),
                "send_buffer" => ("\"5KiB\"", libc::SOL_SOCKET, libc::SO_SNDBUF),
                "receive_buffer" => ("\"5KiB\"", libc::SOL_SOCKET, libc::SO_RCVBUF),
                "pacing_rate" => ("\"2Mbit/s\"", libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE),
                "keepalive" => ("\"140s\"", libc::IPPROTO_TCP, libc::TCP_KEEPIDLE),
                "user_timeout" => ("\"30s\"", libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT),
                "notsent_lowat" => ("\"64KiB\"", libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT),
                other => panic!("what does {other} change?"),
            };
            let subnet = format!("{PLAIN}[[subnet]]\nprefix = \"10.0.0.0/8\"\n");
            let text = format!("{subnet}{key} = {value}\n");
            let config = Loaded::parse(&text, Path::new("p.toml")).unwrap().config;
            let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            rustix::net::sockopt::set_tcp_congestion(&socket, "cubic").unwrap();
            let state = || crate::sys::get(&socket, level, option, &mut [0; 16]).unwrap().to_vec();
            let before = state();
            let options = config.subnet_of([10, 1, 2, 3].into()).unwrap();
            crate::sockets::configure(&socket, options).unwrap();
            assert_ne!(state(), before, "{key}");
            for key in of_sides {
                let error = Loaded::parse(&format!("{subnet}{key}\n"), Path::new("p.toml"));
                assert!(error.unwrap_err().to_string().starts_with("p.toml:7:1: "), "{key}");
            }
        }
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
                config.subnet_of(address.parse().unwrap()).and_then(|tcp| tcp.connection.keepalive);
            keepalive.map(|time| time.as_nanos() / 1_000_000_000)
        };
        let found = (seconds("10.1.2.3"), seconds("10.2.2.3"), seconds("11.0.0.1"));
        assert_eq!(found, (Some(130), Some(140), None));
    }
}
