//! A connection through the proxy, between two namespaces that exist for it only.
//!
//! Client and server have addresses for documentation (RFC 5737), and interfaces that the rules
//! know for as long as the check takes.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::config::{Loaded, SideName, Source};
use crate::rules::{SETS, TABLE};
use crate::sys;

const CLIENT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
/// Table of nftables for the time of a check.
const CHECK: &str = "bentpipe_check";
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of the connection, unless a rate that it shares takes more than a second for them.
const BYTES: u64 = 300_000;
const LEAST_BYTES: u64 = 1000;

/// Address translation on the way to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Translation {
    /// The server sees the client's address.
    None,
    /// The server sees an address of this machine.
    Masquerade,
}

fn length(loaded: &Loaded) -> u64 {
    let rates = SideName::ALL.map(|side| loaded.config.side(side).tcp.shared.rate);
    let in_a_second = rates.iter().flatten().map(|rate| rate.bits_per_second() / 8).min();
    in_a_second.map_or(BYTES, |bytes| bytes.clamp(LEAST_BYTES, BYTES))
}

/// Sends a connection through the proxy, and compares its bytes. Returns what was seen, or what
/// went wrong.
pub(super) fn connection(loaded: &Loaded, translation: Translation) -> Result<String, String> {
    let set_up = SetUp::new(translation)?;
    let document = &loaded.config.document;
    let free = |port: &u16| !document.bypass.ports.contains(port);
    let port = document.ports.iter().copied().chain(8080..).find(free).unwrap_or(8080);
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: io::Error| format!("{what}: {error}")
    };
    let server_namespace = set_up.open("s").map_err(failed("namespace"))?;
    let client_namespace = set_up.open("c").map_err(failed("namespace"))?;
    let listener = thread::spawn(move || {
        sys::enter(&server_namespace)?;
        TcpListener::bind((SERVER, port))
    });
    let listener = listener.join().map_err(|_| "a thread failed")?;
    let listener = listener.map_err(failed("the server cannot listen"))?;
    let echo = thread::spawn(move || -> io::Result<SocketAddr> {
        let (mut stream, peer) = listener.accept()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        stream.write_all(&bytes)?;
        Ok(peer)
    });
    let stream = thread::spawn(move || {
        sys::enter(&client_namespace)?;
        TcpStream::connect_timeout(&(SERVER, port).into(), PATIENCE)
    });
    let stream = stream.join().map_err(|_| "a thread failed")?;
    let mut stream = stream.map_err(failed("the client cannot connect to the server"))?;
    let local = stream.local_addr().map_err(failed("the client's address"))?;
    let is_split = has_socket((SERVER, port), local);
    let length = length(loaded);
    let sent: Vec<u8> = (0..length).map(|i| (i * 31 % 251) as u8).collect();
    let mut received = Vec::new();
    stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| stream.write_all(&sent))
        .and_then(|()| stream.shutdown(std::net::Shutdown::Write))
        .and_then(|()| stream.read_to_end(&mut received).map(drop))
        .map_err(failed("the connection broke"))?;
    let peer = echo.join().map_err(|_| "a thread failed")?;
    let peer = peer.map_err(failed("the server's connection broke"))?;
    if received != sent {
        return Err(format!("{} of {length} bytes came back, or altered", received.len()));
    }
    if !is_split {
        let reason = "no rule sent it to the proxy, or there are as many as `limits.connections`";
        return Err(format!("the connection crossed unsplit: {reason}"));
    }
    let keeps = document.source == Source::Client && translation == Translation::None;
    if keeps && peer != local {
        return Err(format!("the server saw {peer}, and the client is {local}"));
    }
    if translation == Translation::Masquerade && peer.ip() == local.ip() {
        return Err("the address of the client was not translated".to_owned());
    }
    Ok(format!("{length} bytes there and back, split, and the server saw {peer}"))
}

/// Returns true if this machine has the socket of a split connection: it has the server's address.
fn has_socket(server: (Ipv4Addr, u16), client: SocketAddr) -> bool {
    let SocketAddr::V4(client) = client else { return false };
    let hex = |address: Ipv4Addr, port: u16| {
        format!("{:08X}:{port:04X}", u32::from_ne_bytes(address.octets()))
    };
    let pair = format!("{} {}", hex(server.0, server.1), hex(*client.ip(), client.port()));
    fs::read_to_string("/proc/net/tcp").unwrap_or_default().contains(&pair)
}

/// Namespaces and interfaces, which are removed at the end.
struct SetUp {
    number: u32,
    translation: Translation,
}

impl SetUp {
    fn new(translation: Translation) -> Result<Self, String> {
        let set_up = Self { number: std::process::id(), translation };
        let ends = [
            ("c", SideName::Terrestrial, "192.0.2.1", CLIENT),
            ("s", SideName::Satellite, "198.51.100.1", SERVER),
        ];
        for (end, side, gateway, address) in ends {
            let (namespace, interface) = (set_up.name(end), set_up.interface(end));
            let side = side.key();
            for command in [
                format!("ip netns add {namespace}"),
                format!("ip link add {interface} type veth peer name eth0 netns {namespace}"),
                format!("ip address add {gateway}/30 dev {interface}"),
                format!("ip link set {interface} up"),
                format!("ip -n {namespace} address add {address}/30 dev eth0"),
                format!("ip -n {namespace} link set eth0 up"),
                format!("ip -n {namespace} route add default via {gateway}"),
            ] {
                run(&command)?;
            }
            for (set, _) in SETS {
                run(&format!("nft add element inet {TABLE} {side}_{set} {{ {interface} }}"))?;
            }
        }
        if translation == Translation::Masquerade {
            let interface = set_up.interface("s");
            run(&format!("nft add table ip {CHECK}"))?;
            let chain = "{ type nat hook postrouting priority srcnat ; }";
            run(&format!("nft add chain ip {CHECK} post {chain}"))?;
            run(&format!("nft add rule ip {CHECK} post oifname {interface} masquerade"))?;
        }
        Ok(set_up)
    }

    fn name(&self, end: &str) -> String {
        format!("bentpipe-check-{end}-{}", self.number)
    }

    fn interface(&self, end: &str) -> String {
        format!("bp{end}{}", self.number)
    }

    fn open(&self, end: &str) -> io::Result<OwnedFd> {
        Ok(File::open(format!("/run/netns/{}", self.name(end)))?.into())
    }
}

impl Drop for SetUp {
    fn drop(&mut self) {
        if self.translation == Translation::Masquerade {
            let _ = run(&format!("nft delete table ip {CHECK}"));
        }
        for (end, side) in [("c", SideName::Terrestrial), ("s", SideName::Satellite)] {
            let interface = self.interface(end);
            let side = side.key();
            // What was not made cannot be removed.
            for (set, _) in SETS {
                let sets = format!("{side}_{set} {{ {interface} }}");
                let _ = run(&format!("nft delete element inet {TABLE} {sets}"));
            }
            let _ = run(&format!("ip link del {interface}"));
            let _ = run(&format!("ip netns del {}", self.name(end)));
        }
    }
}

fn run(command: &str) -> Result<(), String> {
    let mut words = command.split(' ');
    let output = Command::new(words.next().unwrap_or_default()).args(words).output();
    let output = output.map_err(|error| format!("{command}: {error}"))?;
    let message = String::from_utf8_lossy(&output.stderr);
    let message = message.lines().next().unwrap_or("it failed");
    if output.status.success() { Ok(()) } else { Err(format!("{command}: {message}")) }
}
