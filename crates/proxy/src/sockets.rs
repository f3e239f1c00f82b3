//! Sockets of connections: options, listeners, connections to servers.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::sockopt;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, listen, socket_with};

use wire::IpPacket;

use crate::config::{Source, TcpOptions};
use crate::sys;

/// linux/in6.h; libc has no name for it.
const IPV6_TRANSPARENT: i32 = 75;
/// linux/tcp.h.
const TCP_NOTSENT_LOWAT: i32 = 25;
const TCP_SAVE_SYN: i32 = 27;
const TCP_SAVED_SYN: i32 = 28;
const TCP_FASTOPEN_CONNECT: i32 = 30;
const TCPI_OPT_TIMESTAMPS: u8 = 1;

/// Probes after the first one, and their distance as a part of the idle time.
const KEEPALIVE_PROBES: u32 = 9;
const KEEPALIVE_PART: u64 = 10;

/// Connections that a listener holds until they are accepted.
pub(crate) const BACKLOG: i32 = 4096;

/// A setting that the kernel did not accept.
#[derive(Debug)]
pub(crate) struct Unset {
    pub(crate) key: &'static str,
    pub(crate) error: io::Error,
}

/// Sets what `options` has. Goes on after a setting that fails, and returns the first failure.
pub(crate) fn configure(fd: impl AsFd, options: &TcpOptions) -> Result<(), Unset> {
    let fd = fd.as_fd();
    let mut failed = None;
    let mut try_to = |key, result: io::Result<()>| {
        if let Err(error) = result {
            failed.get_or_insert(Unset { key, error });
        }
    };
    let split = &options.split;
    if let Some(name) = &split.controller {
        try_to("controller", sockopt::set_tcp_congestion(fd, name).map_err(Into::into));
    }
    if let Some(rate) = split.pacing_rate {
        let bytes = rate.bits_per_second() / 8;
        try_to("pacing_rate", sys::set_long(fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, bytes));
    }
    if let Some(size) = split.send_buffer {
        try_to("send_buffer", buffer(fd, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, size.get()));
    }
    if let Some(size) = split.receive_buffer {
        try_to("receive_buffer", buffer(fd, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, size.get()));
    }
    if let Some(mss) = split.mss {
        try_to("mss", sys::set_number(fd, libc::IPPROTO_TCP, libc::TCP_MAXSEG, mss));
    }
    if let Some(idle) = options.connection.keepalive {
        let idle = idle.as_nanos() / 1_000_000_000;
        let interval = (idle / KEEPALIVE_PART).max(1);
        let set = |option, value| sys::set_number(fd, libc::IPPROTO_TCP, option, value);
        // At most 32000 s, by the schema.
        let result = set(libc::TCP_KEEPIDLE, idle as u32)
            .and_then(|()| set(libc::TCP_KEEPINTVL, interval as u32))
            .and_then(|()| set(libc::TCP_KEEPCNT, KEEPALIVE_PROBES))
            .and_then(|()| sys::set_number(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1));
        try_to("keepalive", result);
    }
    if let Some(timeout) = options.connection.user_timeout {
        // At most a day, by the schema.
        let millis = (timeout.as_nanos() / 1_000_000) as u32;
        let result = sys::set_number(fd, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, millis);
        try_to("user_timeout", result);
    }
    let unsent = options.connection.notsent_lowat.or_else(|| options.shared.unsent());
    if let Some(size) = unsent {
        let size = size.get() as u32; // at most 1 GiB, by the schema
        try_to("notsent_lowat", sys::set_number(fd, libc::IPPROTO_TCP, TCP_NOTSENT_LOWAT, size));
    }
    failed.map_or(Ok(()), Err)
}

/// Sets a buffer beyond the limits of ordinary users, if the process may.
fn buffer(fd: impl AsFd, force: i32, plain: i32, size: u64) -> io::Result<()> {
    let size = size as u32; // at most 1 GiB, by the schema
    match sys::set_number(&fd, libc::SOL_SOCKET, force, size) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            sys::set_number(fd, libc::SOL_SOCKET, plain, size)
        }
        result => result,
    }
}

/// Settings that every connection has. A relay adds no delay of its own, and urgent data is
/// delivered in its place in the stream. A socket that is closed without [`end_normally`] sends a
/// reset: when the process dies, no receiver takes the truncated stream for a complete one.
fn common(fd: impl AsFd) -> io::Result<()> {
    sockopt::set_socket_linger(&fd, Some(std::time::Duration::ZERO))?;
    sockopt::set_tcp_nodelay(&fd, true)?;
    sockopt::set_socket_oobinline(&fd, true)?;
    Ok(())
}

/// Lets a socket have addresses of others (IP_TRANSPARENT), or not any more.
///
/// TPROXY gives packets only to transparent sockets. A listener that is not transparent any more
/// lets new connections cross the gateway unsplit, and keeps those that it has.
pub(crate) fn set_transparent(fd: impl AsFd, is_v4: bool, is_on: bool) -> io::Result<()> {
    let (level, option) = match is_v4 {
        true => (libc::SOL_IP, libc::IP_TRANSPARENT),
        false => (libc::SOL_IPV6, IPV6_TRANSPARENT),
    };
    sys::set_number(fd, level, option, is_on.into())
}

/// Sets the firewall mark of the packets that a socket sends (SO_MARK).
pub(crate) fn set_mark(fd: impl AsFd, mark: u32) -> io::Result<()> {
    sys::set_number(fd, libc::SOL_SOCKET, libc::SO_MARK, mark)
}

fn open(is_v4: bool) -> io::Result<OwnedFd> {
    let family = if is_v4 { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

/// A listener for intercepted connections, on the loopback address. Nobody reaches it from outside
/// without TPROXY, so it is never an open proxy.
pub(crate) fn listener(
    is_v4: bool,
    port: u16,
    options: &TcpOptions,
    saves_syn: bool,
) -> io::Result<(OwnedFd, Result<(), Unset>)> {
    let fd = open(is_v4)?;
    let address: IpAddr =
        if is_v4 { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
    sockopt::set_socket_reuseaddr(&fd, true)?;
    sockopt::set_socket_reuseport(&fd, true)?;
    set_transparent(&fd, is_v4, true)?;
    common(&fd)?;
    // Accepted connections inherit the settings of the listener.
    let settings = adapt(&fd, options, saves_syn);
    bind(&fd, &SocketAddr::new(address, port))?;
    listen(&fd, BACKLOG)?;
    Ok((fd, settings))
}

/// A listener of a relay, which any client reaches.
pub(crate) fn relay(address: &SocketAddr) -> io::Result<OwnedFd> {
    let fd = open(address.is_ipv4())?;
    sockopt::set_socket_reuseaddr(&fd, true)?;
    sockopt::set_socket_reuseport(&fd, true)?;
    if address.is_ipv6() {
        // So that 0.0.0.0 and [::] can have the same port.
        sockopt::set_ipv6_v6only(&fd, true)?;
    }
    common(&fd)?;
    bind(&fd, address)?;
    listen(&fd, BACKLOG)?;
    Ok(fd)
}

/// Settings of a listener, which later connections inherit.
pub(crate) fn adapt(fd: impl AsFd, options: &TcpOptions, saves_syn: bool) -> Result<(), Unset> {
    let fd = fd.as_fd();
    let set = |option, value| sys::set_number(fd, libc::IPPROTO_TCP, option, value);
    let syn = set(TCP_SAVE_SYN, saves_syn.into());
    let queue = if options.fast_open == Some(true) { BACKLOG.unsigned_abs() } else { 0 };
    let fast = set(libc::TCP_FASTOPEN, queue);
    let _ = set(TCP_NOTSENT_LOWAT, 0); // what a rate that is no longer there had set
    configure(fd, options)?;
    syn.map_err(|error| Unset { key: "copy_dscp", error })?;
    fast.map_err(|error| Unset { key: "fast_open", error })
}

/// DSCP of the SYN of an accepted connection.
pub(crate) fn dscp(fd: impl AsFd) -> Option<u8> {
    let mut packet = [0; 256];
    let syn = sys::get(fd, libc::IPPROTO_TCP, TCP_SAVED_SYN, &mut packet).ok()?;
    IpPacket::read(syn).map(|syn| syn.dscp())
}

/// Client and server of a connection, without flow labels and scopes, which packets do not have.
pub(crate) fn pair(client: SocketAddr, server: SocketAddr) -> [SocketAddr; 2] {
    [client, server].map(|end| SocketAddr::new(end.ip(), end.port()))
}

/// A connection on its way to a server.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) fd: OwnedFd,
    pub(crate) settings: Result<(), Unset>,
    /// The client's port was taken.
    pub(crate) has_other_port: bool,
}

/// Settings of a connection to a server.
pub(crate) struct Target<'a> {
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    pub(crate) source: Source,
    /// Firewall mark of its packets, by which rules know them from those of clients.
    pub(crate) mark: u32,
    pub(crate) dscp: Option<u8>,
    /// The SYN may wait for the client's data.
    pub(crate) has_data: bool,
    pub(crate) options: [Option<&'a TcpOptions>; 2],
}

/// Begins a connection to a server.
pub(crate) fn connect_to(target: &Target<'_>) -> io::Result<Outgoing> {
    // A port that is in use with this server (TIME_WAIT) shows at `bind` or at `connect`.
    let is_taken = |error: &io::Error| {
        matches!(error.raw_os_error(), Some(libc::EADDRINUSE | libc::EADDRNOTAVAIL))
    };
    match try_from(target, target.client.port()) {
        Err(error) if target.source == Source::Client && is_taken(&error) => {
            try_from(target, 0).map(|outgoing| Outgoing { has_other_port: true, ..outgoing })
        }
        result => result,
    }
}

fn try_from(target: &Target<'_>, port: u16) -> io::Result<Outgoing> {
    let is_v4 = target.server.is_ipv4();
    let fd = open(is_v4)?;
    common(&fd)?;
    set_mark(&fd, target.mark)?;
    let mut settings = Ok(());
    for options in target.options.iter().flatten() {
        settings = settings.and(configure(&fd, options));
        if options.fast_open == Some(true) && target.has_data {
            let fast = sys::set_number(&fd, libc::IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1);
            settings = settings.and(fast.map_err(|error| Unset { key: "fast_open", error }));
        }
    }
    if let Some(class) = target.dscp.filter(|class| *class != 0) {
        let (level, option) = match is_v4 {
            true => (libc::SOL_IP, libc::IP_TOS),
            false => (libc::SOL_IPV6, libc::IPV6_TCLASS),
        };
        let result = sys::set_number(&fd, level, option, class.into());
        settings = settings.and(result.map_err(|error| Unset { key: "copy_dscp", error }));
    }
    if target.source == Source::Client {
        set_transparent(&fd, is_v4, true)?;
        sockopt::set_socket_reuseaddr(&fd, true)?;
        bind(&fd, &SocketAddr::new(target.client.ip(), port))?;
    }
    match connect(&fd, &target.server) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {
            Ok(Outgoing { fd, settings, has_other_port: false })
        }
        Err(error) => Err(error.into()),
    }
}

/// Lets the socket deliver what it holds after it is closed.
pub(crate) fn end_normally(fd: impl AsFd) {
    // It fails only on what is no socket.
    let _ = sockopt::set_socket_linger(fd, None);
}

/// State of a connection from the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpInfo {
    pub(crate) state: u8,
    pub(crate) has_timestamps: bool,
    pub(crate) srtt_us: u32,
    pub(crate) cwnd_segments: u32,
    pub(crate) mss: u32,
    pub(crate) retransmitted_segments: u32,
    pub(crate) delivery_rate: u64,
    pub(crate) unsent_bytes: u32,
}

/// Reads `TCP_INFO` (linux/tcp.h).
pub(crate) fn tcp_info(fd: impl AsFd) -> io::Result<TcpInfo> {
    let mut buffer = [0; 232];
    sys::get(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut buffer)?;
    let u32_at = |at: usize| buffer[at..at + 4].try_into().map_or(0, u32::from_ne_bytes);
    let u64_at = |at: usize| buffer[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
    Ok(TcpInfo {
        state: buffer[0],
        has_timestamps: buffer[5] & TCPI_OPT_TIMESTAMPS != 0,
        mss: u32_at(16),
        srtt_us: u32_at(68),
        cwnd_segments: u32_at(80),
        retransmitted_segments: u32_at(100),
        unsent_bytes: u32_at(144),
        delivery_rate: u64_at(160),
    })
}
