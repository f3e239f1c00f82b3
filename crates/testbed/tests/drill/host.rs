//! The TCP of this machine's kernel as a host of scripts, in real time.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use drill::{Argument, Call, Host, Live, Outcome, Packet, Setting};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, accept_with, bind,
    connect, listen, recv, send, shutdown, socket_with, sockopt,
};
use testbed::{BareHost, set_socket_option, socket_info};

use crate::wire::{self, Numbers, OWN, OWN_PORT, PEER, PEER_PORT};

/// How long a call that blocks is left alone, in microseconds.
const PATIENCE: i64 = 1_000;

/// Settings of the host; the public scripts set the same in their `defaults.sh` or more.
const PARAMETERS: [(&str, &str); 4] = [
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_wmem", "4096 262144 6291456"),
    ("net.ipv4.tcp_congestion_control", "reno"),
    ("net.ipv4.tcp_ecn", "0"),
];

struct Socket {
    fd: OwnedFd,
    non_blocking: bool,
}

/// The kernel.
pub struct Kernel {
    host: BareHost,
    began: Instant,
    numbers: Numbers,
    sockets: BTreeMap<i64, Socket>,
    /// The descriptor of the connection.
    connection: Option<i64>,
    /// Bytes that a blocked write has not written.
    unwritten: i64,
    waits: bool,
}

type Try<T> = Result<T, String>;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn is_writable(fd: &OwnedFd) -> Try<bool> {
    let mut fds = [PollFd::new(fd, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    Ok(poll(&mut fds, Some(&now)).map_err(text)? > 0)
}

fn failed(error: Errno) -> Outcome {
    Outcome::Failed(match error {
        Errno::AGAIN => "EAGAIN",
        Errno::CONNRESET => "ECONNRESET",
        Errno::CONNREFUSED => "ECONNREFUSED",
        Errno::INPROGRESS => "EINPROGRESS",
        Errno::NOTCONN => "ENOTCONN",
        Errno::PIPE => "EPIPE",
        Errno::TIMEDOUT => "ETIMEDOUT",
        Errno::INVAL => "EINVAL",
        _ => "an error that scripts do not know",
    })
}

impl Kernel {
    /// A host of its own for the calling thread.
    #[allow(clippy::disallowed_methods, reason = "the kernel runs in real time")]
    pub fn new() -> Try<Self> {
        let host = BareHost::enter(IpAddr::V4(OWN), 1500).map_err(text)?;
        for (name, value) in PARAMETERS {
            host.set_parameter(name, value).map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(Self {
            host,
            began: Instant::now(),
            numbers: Numbers { own: None, peer: 1_000_000_007, port: OWN_PORT },
            sockets: BTreeMap::new(),
            connection: None,
            unwritten: 0,
            waits: false,
        })
    }

    fn open(&mut self, fd: OwnedFd, call: &Call) -> i64 {
        let number = call.descriptor().unwrap_or(3);
        self.sockets.insert(number, Socket { fd, non_blocking: false });
        number
    }

    fn socket(&self, call: &Call) -> Try<&Socket> {
        let number = call.number(0).ok_or("a descriptor that is no number")?;
        self.sockets.get(&number).ok_or_else(|| format!("descriptor {number}"))
    }

    fn set_option(&mut self, call: &Call) -> Try<Outcome> {
        let fd = &self.socket(call)?.fd;
        let option = call.name(2).ok_or("an option without a name")?;
        if option == "TCP_CONGESTION" {
            let name = call.text(3).ok_or("a controller without a name")?;
            sockopt::set_tcp_congestion(fd, name).map_err(text)?;
            return Ok(Outcome::Returned(0));
        }
        if option == "SO_LINGER" {
            let Some(Argument::Fields(fields)) = call.arguments.get(3) else {
                return Err("SO_LINGER without fields".to_owned());
            };
            let field = |name: &str| {
                fields.iter().find(|(field, _)| field == name).and_then(|(_, value)| match value {
                    Argument::Number(number) => Some(*number),
                    _ => None,
                })
            };
            let linger = (field("onoff") == Some(1))
                .then(|| Duration::from_secs(field("linger").unwrap_or(0) as u64));
            sockopt::set_socket_linger(fd, linger).map_err(text)?;
            return Ok(Outcome::Returned(0));
        }
        let (level, number) = match option {
            "SO_REUSEADDR" => (libc::SOL_SOCKET, libc::SO_REUSEADDR),
            "SO_RCVBUF" => (libc::SOL_SOCKET, libc::SO_RCVBUF),
            "SO_RCVBUFFORCE" => (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE),
            "SO_SNDBUF" => (libc::SOL_SOCKET, libc::SO_SNDBUF),
            "SO_KEEPALIVE" => (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
            "SO_MAX_PACING_RATE" => (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE),
            "TCP_NODELAY" => (libc::IPPROTO_TCP, libc::TCP_NODELAY),
            "TCP_MAXSEG" => (libc::IPPROTO_TCP, libc::TCP_MAXSEG),
            "TCP_CORK" => (libc::IPPROTO_TCP, libc::TCP_CORK),
            "TCP_WINDOW_CLAMP" => (libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP),
            "TCP_QUICKACK" => (libc::IPPROTO_TCP, libc::TCP_QUICKACK),
            "TCP_KEEPIDLE" => (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE),
            "TCP_KEEPINTVL" => (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL),
            "TCP_KEEPCNT" => (libc::IPPROTO_TCP, libc::TCP_KEEPCNT),
            "TCP_USER_TIMEOUT" => (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT),
            // Since Linux 6.15, and not in libc.
            "TCP_RTO_MAX_MS" => (libc::IPPROTO_TCP, 44),
            "TCP_RTO_MIN_US" => (libc::IPPROTO_TCP, 45),
            _ => return Err(format!("the socket option {option}")),
        };
        let value = call.number(3).ok_or("an option whose value is no number")?;
        set_socket_option(fd, level, number, value as u32).map_err(text)?;
        Ok(Outcome::Returned(0))
    }

    fn connect(&mut self, call: &Call) -> Try<Outcome> {
        let number = call.number(0).unwrap_or(0);
        self.connection = Some(number);
        let socket = self.socket(call)?;
        let outcome = connect(&socket.fd, &SocketAddr::from((PEER, PEER_PORT)));
        Ok(match outcome {
            Ok(()) => Outcome::Returned(0),
            Err(Errno::INPROGRESS) if !socket.non_blocking => Outcome::Blocks,
            Err(error) => failed(error),
        })
    }

    fn accept(&mut self, call: &Call) -> Try<Outcome> {
        let socket = self.socket(call)?;
        match accept_with(&socket.fd, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok(fd) => {
                let number = self.open(fd, call);
                self.connection = Some(number);
                Ok(Outcome::Returned(number))
            }
            Err(Errno::AGAIN) if !socket.non_blocking => Ok(Outcome::Blocks),
            Err(error) => Ok(failed(error)),
        }
    }

    fn write(&mut self, call: &Call, first: bool) -> Try<Outcome> {
        let bytes = call.number(2).ok_or("a length that is no number")?;
        if call.arguments.len() > 3 && call.number(3) != Some(0) {
            return Err(format!("the flags {:?}", call.arguments[3]));
        }
        if first {
            self.unwritten = bytes;
        }
        let socket = self.socket(call)?;
        // A writer that waits is woken when a third of the buffer is free.
        if !first && !is_writable(&socket.fd)? {
            return Ok(Outcome::Blocks);
        }
        let zeros = vec![0; self.unwritten as usize];
        match send(&socket.fd, &zeros, SendFlags::NOSIGNAL) {
            Ok(length) if (length as i64) < self.unwritten && !socket.non_blocking => {
                self.unwritten -= length as i64;
                Ok(Outcome::Blocks)
            }
            Ok(_) => Ok(Outcome::Returned(bytes)),
            Err(Errno::AGAIN) if !socket.non_blocking => Ok(Outcome::Blocks),
            Err(error) => Ok(failed(error)),
        }
    }

    fn read(&mut self, call: &Call) -> Try<Outcome> {
        let most = call.number(2).ok_or("a length that is no number")?;
        let socket = self.socket(call)?;
        let mut buffer = vec![0; most as usize];
        match recv(&socket.fd, &mut buffer[..], RecvFlags::empty()) {
            Ok((_, length)) => Ok(Outcome::Returned(length as i64)),
            Err(Errno::AGAIN) if !socket.non_blocking => Ok(Outcome::Blocks),
            Err(error) => Ok(failed(error)),
        }
    }

    fn connected(&mut self, call: &Call) -> Try<Outcome> {
        let fd = &self.socket(call)?.fd;
        if !is_writable(fd)? {
            return Ok(Outcome::Blocks);
        }
        Ok(match sockopt::socket_error(fd).map_err(text)? {
            Ok(()) => Outcome::Returned(0),
            Err(error) => failed(error),
        })
    }
}

impl Host for Kernel {
    fn now(&self) -> i64 {
        self.began.elapsed().as_micros() as i64
    }

    fn step(&mut self, until: i64) -> Try<Option<Live>> {
        let mut wait = (until - self.now()).max(0);
        if self.waits {
            wait = wait.min(PATIENCE);
        }
        let timeout = Timespec { tv_sec: wait / 1_000_000, tv_nsec: (wait % 1_000_000) * 1000 };
        let wire = self.host.wire();
        let mut fds = [PollFd::new(&wire, PollFlags::IN)];
        if poll(&mut fds, Some(&timeout)).map_err(text)? == 0 {
            return Ok(None);
        }
        let at = self.now();
        let mut buffer = [0; 2048];
        let length = rustix::io::read(wire, &mut buffer).map_err(text)?;
        let packet = wire::read(&buffer[..length], &mut self.numbers)?;
        Ok(packet.map(|packet| Live { at, packet }))
    }

    fn inject(&mut self, packet: &Packet) -> Try<()> {
        let bytes = wire::write(packet, &self.numbers);
        rustix::io::write(self.host.wire(), &bytes).map_err(text).map(drop)
    }

    fn call(&mut self, call: &Call) -> Try<Outcome> {
        let outcome = match call.name.as_str() {
            "socket" => {
                let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
                let fd = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None);
                Outcome::Returned(self.open(fd.map_err(text)?, call))
            }
            "bind" => {
                let fd = &self.socket(call)?.fd;
                bind(fd, &SocketAddr::from((OWN, OWN_PORT))).map_err(text)?;
                Outcome::Returned(0)
            }
            "listen" => {
                let backlog = call.number(1).ok_or("a backlog that is no number")?;
                listen(&self.socket(call)?.fd, backlog as i32).map_err(text)?;
                Outcome::Returned(0)
            }
            "connect" => self.connect(call)?,
            "accept" => self.accept(call)?,
            "setsockopt" => self.set_option(call)?,
            "getsockopt" => match (call.name(2), call.number(3)) {
                (Some("SO_ERROR"), Some(expected)) => {
                    let error = sockopt::socket_error(&self.socket(call)?.fd).map_err(text)?;
                    let found = error.err().map_or(0, Errno::raw_os_error);
                    if i64::from(found) != expected {
                        return Err(format!("SO_ERROR {expected}, found {found}"));
                    }
                    Outcome::Returned(0)
                }
                (Some(option @ ("SO_RCVBUF" | "SO_SNDBUF")), Some(expected)) => {
                    let fd = &self.socket(call)?.fd;
                    let found = match option {
                        "SO_RCVBUF" => sockopt::socket_recv_buffer_size(fd),
                        _ => sockopt::socket_send_buffer_size(fd),
                    };
                    let found = found.map_err(text)? as i64;
                    Outcome::Returned(if found == expected { 0 } else { found })
                }
                (option, _) => return Err(format!("getsockopt of {option:?}")),
            },
            "fcntl" => {
                let number = call.number(0).unwrap_or(0);
                match call.name(1) {
                    Some("F_GETFL") => Outcome::Returned(0x2),
                    Some("F_SETFL") => {
                        let non_blocking = call.names(2).contains(&"O_NONBLOCK");
                        self.sockets.get_mut(&number).ok_or("no such descriptor")?.non_blocking =
                            non_blocking;
                        Outcome::Returned(0)
                    }
                    other => return Err(format!("fcntl with {other:?}")),
                }
            }
            "write" | "send" | "sendto" => self.write(call, true)?,
            "read" | "recv" => self.read(call)?,
            "shutdown" => {
                let how = match call.name(1) {
                    Some("SHUT_WR") => Shutdown::Write,
                    Some("SHUT_RD") => Shutdown::Read,
                    Some("SHUT_RDWR") => Shutdown::Both,
                    other => return Err(format!("shutdown of {other:?}")),
                };
                shutdown(&self.socket(call)?.fd, how).map_err(text)?;
                Outcome::Returned(0)
            }
            "close" => {
                let number = call.number(0).unwrap_or(0);
                self.sockets.remove(&number).ok_or("no such descriptor")?;
                Outcome::Returned(0)
            }
            other => return Err(format!("the call {other}")),
        };
        self.waits = outcome == Outcome::Blocks;
        Ok(outcome)
    }

    fn resume(&mut self, call: &Call) -> Try<Outcome> {
        let outcome = match call.name.as_str() {
            "accept" => self.accept(call)?,
            "read" | "recv" => self.read(call)?,
            "write" | "send" | "sendto" => self.write(call, false)?,
            "connect" => self.connected(call)?,
            other => return Err(format!("a {other} that blocks")),
        };
        self.waits = outcome == Outcome::Blocks;
        Ok(outcome)
    }

    fn set(&mut self, setting: &Setting) -> Try<()> {
        match setting {
            Setting::Parameter(name, value) => {
                self.host.set_parameter(name, value).map_err(|error| format!("{name}: {error}"))
            }
            Setting::InitialWindow(segments) => {
                self.host.set_initial_window(IpAddr::V4(PEER), *segments).map_err(text)
            }
            Setting::Queueing(name) => Err(format!("the queueing discipline {name}")),
        }
    }

    fn info(&mut self) -> Try<BTreeMap<&'static str, i64>> {
        let number = self.connection.ok_or("no connection")?;
        let socket = self.sockets.get(&number).ok_or("the connection is closed")?;
        socket_info(socket.fd.as_fd()).map(|info| fields(&info)).map_err(text)
    }

    fn full_segment(&mut self) -> Option<u32> {
        let info = self.info().ok()?;
        info.get("tcpi_snd_mss").map(|mss| *mss as u32)
    }
}

/// Name, place and size of the fields of `tcp_info`.
const FIELDS: [(&str, usize, usize); 43] = [
    ("tcpi_state", 0, 1),
    ("tcpi_ca_state", 1, 1),
    ("tcpi_retransmits", 2, 1),
    ("tcpi_probes", 3, 1),
    ("tcpi_backoff", 4, 1),
    ("tcpi_options", 5, 1),
    ("tcpi_rto", 8, 4),
    ("tcpi_ato", 12, 4),
    ("tcpi_snd_mss", 16, 4),
    ("tcpi_rcv_mss", 20, 4),
    ("tcpi_unacked", 24, 4),
    ("tcpi_sacked", 28, 4),
    ("tcpi_lost", 32, 4),
    ("tcpi_retrans", 36, 4),
    ("tcpi_last_data_sent", 44, 4),
    ("tcpi_last_data_recv", 52, 4),
    ("tcpi_last_ack_recv", 56, 4),
    ("tcpi_pmtu", 60, 4),
    ("tcpi_rcv_ssthresh", 64, 4),
    ("tcpi_rtt", 68, 4),
    ("tcpi_rttvar", 72, 4),
    ("tcpi_snd_ssthresh", 76, 4),
    ("tcpi_snd_cwnd", 80, 4),
    ("tcpi_advmss", 84, 4),
    ("tcpi_reordering", 88, 4),
    ("tcpi_rcv_rtt", 92, 4),
    ("tcpi_rcv_space", 96, 4),
    ("tcpi_total_retrans", 100, 4),
    ("tcpi_bytes_acked", 120, 8),
    ("tcpi_bytes_received", 128, 8),
    ("tcpi_segs_out", 136, 4),
    ("tcpi_segs_in", 140, 4),
    ("tcpi_notsent_bytes", 144, 4),
    ("tcpi_min_rtt", 148, 4),
    ("tcpi_busy_time", 168, 8),
    ("tcpi_rwnd_limited", 176, 8),
    ("tcpi_sndbuf_limited", 184, 8),
    ("tcpi_delivered", 192, 4),
    ("tcpi_delivered_ce", 196, 4),
    ("tcpi_bytes_sent", 200, 8),
    ("tcpi_bytes_retrans", 208, 8),
    ("tcpi_dsack_dups", 216, 4),
    ("tcpi_reord_seen", 220, 4),
];

fn fields(info: &[u8]) -> BTreeMap<&'static str, i64> {
    let number = |at: usize, size: usize| {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&info[at..at + size]);
        i64::from_le_bytes(bytes)
    };
    let mut fields: BTreeMap<_, _> =
        FIELDS.iter().map(|(name, at, size)| (*name, number(*at, *size))).collect();
    fields.insert("tcpi_snd_wscale", number(6, 1) & 15);
    fields.insert("tcpi_rcv_wscale", number(6, 1) >> 4);
    fields.insert("tcpi_snd_wnd", number(228, 4));
    fields
}
