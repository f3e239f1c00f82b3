//! Options of TCP sockets.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt;
use units::Span;

use crate::settings::Applied;
use crate::sys;

/// Bytes per second. Any bound makes the kernel pace a socket by itself, at the rate that it
/// computes from cwnd; the largest number would be no bound.
const UNREACHED_RATE: u32 = u32::MAX - 1;
/// Of linux/tcp.h; libc does not have it yet.
const TCP_DELACK_MAX_US: i32 = 46;

/// Sets a socket as the scenario asks. What counts from the first segment on has to be set before
/// the connection is opened.
pub(super) fn configure(socket: &OwnedFd, settings: &Applied) -> io::Result<()> {
    let tcp = |option, value| sys::set_option(socket, libc::IPPROTO_TCP, option, value);
    sockopt::set_tcp_congestion(socket, &settings.controller)?;
    sockopt::set_tcp_nodelay(socket, settings.no_delay)?;
    tcp(libc::TCP_MAXSEG, settings.mss)?;
    if !settings.tunes_window {
        bound_window(socket, settings)?;
    }
    if settings.paced {
        sys::set_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, UNREACHED_RATE)?;
    }
    if let Some(keep_alive) = settings.keep_alive {
        sockopt::set_tcp_keepidle(socket, std_duration(keep_alive.idle))?;
        sockopt::set_tcp_keepintvl(socket, std_duration(keep_alive.interval))?;
        sockopt::set_tcp_keepcnt(socket, keep_alive.probes)?;
        sockopt::set_socket_keepalive(socket, true)?;
    }
    if let Some(timeout) = settings.user_timeout {
        sockopt::set_tcp_user_timeout(socket, std_duration(timeout).as_millis() as u32)?;
    }
    if let Some(bytes) = settings.send_buffer {
        sockopt::set_socket_send_buffer_size_force(socket, bytes as usize)?;
    }
    let Some(delay) = settings.ack_delay else { return Ok(()) };
    let micros = u32::try_from(delay.as_nanos() / 1000).unwrap_or(u32::MAX);
    match tcp(TCP_DELACK_MAX_US, micros) {
        // Kernels before 6.15 have 200 ms.
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(()),
        outcome => outcome,
    }
}

/// Bounds the window that the socket advertises.
fn bound_window(socket: &OwnedFd, settings: &Applied) -> io::Result<()> {
    // Twice the window, which the kernel doubles again: packets take more memory than their data,
    // and it is the bound of the window that shall hold and not the memory. Before a slow reader it
    // is the memory that closes the window: once it is doubled, it is about that of so much data.
    let memory = if settings.reader_rate.is_some() { 1 } else { 2 } * settings.window as usize;
    sockopt::set_socket_recv_buffer_size_force(socket, memory)?;
    sys::set_option(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, settings.window)?;
    Ok(())
}

fn std_duration(span: Span) -> Duration {
    Duration::from_nanos(span.as_nanos())
}
