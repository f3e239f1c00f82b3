//! A host by itself: a namespace with one interface, whose packets a test reads and writes instead
//! of the emulator.

use std::ffi::c_int;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::error::KernelError;
use crate::namespace::Namespace;
use crate::route::{self, Metrics};
use crate::{hosts, interface, sys};

/// Before all that shares the machine by turns, as the threads of a run are.
const PRIORITY: c_int = 10;
/// That of Linux, in milliseconds.
const SMALLEST_RTO: u32 = 200;

/// A host whose network is a descriptor.
#[derive(Debug)]
pub struct BareHost {
    tun: OwnedFd,
    address: IpAddr,
    interface: u32,
}

impl BareHost {
    /// Puts the calling thread, for good, into a new namespace with an interface of address
    /// `address`. Everything that the thread opens is in the namespace.
    ///
    /// # Errors
    /// When this machine or user may not do that; what is missing.
    pub fn enter(address: IpAddr, mtu: u32) -> Result<Self, KernelError> {
        hosts::available()?;
        let action = || "make a host".to_owned();
        let failed = |source| KernelError::Failed { action: action(), source };
        let namespace = Namespace::new().map_err(failed)?;
        namespace.enter().map_err(failed)?;
        let (tun, interface) =
            interface::create(interface::NAME, address, interface::network_bits(address), mtu)
                .map_err(failed)?;
        // Without the privilege times are only less exact.
        let _ = sys::schedule_first(PRIORITY);
        Ok(Self { tun, address, interface })
    }

    /// The far end of its interface: each read is an IP packet that the host sends, each write one
    /// that it receives. It does not block.
    pub fn wire(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }

    /// Sets a kernel parameter of the namespace, such as `net.ipv4.tcp_sack`.
    ///
    /// # Errors
    /// When there is none of that name, or it does not take the value.
    pub fn set_parameter(&self, name: &str, value: &str) -> io::Result<()> {
        fs::write(format!("/proc/sys/{}", name.replace('.', "/")), value)
    }

    /// Lets connections to `peer` begin with `segments` segments.
    ///
    /// # Errors
    /// When the kernel refuses the route.
    pub fn set_initial_window(&self, peer: IpAddr, segments: u32) -> io::Result<()> {
        let metrics = Metrics {
            initial_window: Some(segments),
            quick_ack: false,
            rto_min_ms: Some(SMALLEST_RTO),
        };
        route::add(peer, self.address, self.interface, metrics)
    }
}

/// Sets an option of a socket that is a number.
///
/// # Errors
/// Those of setsockopt(2).
pub fn set_socket_option(
    socket: impl AsFd,
    level: c_int,
    option: c_int,
    value: u32,
) -> io::Result<()> {
    sys::set_option(socket, level, option, value)
}

/// The structure `tcp_info` of a socket, as bytes (linux/tcp.h).
///
/// # Errors
/// Those of getsockopt(2).
pub fn socket_info(socket: BorrowedFd<'_>) -> io::Result<Vec<u8>> {
    sys::tcp_info(socket)
}
