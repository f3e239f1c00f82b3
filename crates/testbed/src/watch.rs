//! The TCP state of all connections of a gateway, from the kernel (sock_diag(7)).
//!
//! The daemon closes a socket while the kernel still delivers what it holds. So the daemon is not
//! asked: the kernel lists the sockets of the namespace, and reports each one when it is destroyed.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, sendto, socket_with,
    sockopt,
};
use wire::IpVersion;
use wire::netlink::{Item, diag, items};

use crate::namespace::Namespace;
use crate::tcp_info::TcpInfo;

/// `SKNLGRP_INET_TCP_DESTROY` and `SKNLGRP_INET6_TCP_DESTROY` (linux/sock_diag.h) as a mask of
/// groups.
const DESTROYED: u32 = 1 << 0 | 1 << 2;
/// All states but `TCP_LISTEN` and `TCP_TIME_WAIT`, which has no `TCP_INFO`.
const STATES: u32 = 0xfff & !(1 << 10) & !(1 << 6);
/// Bytes that may wait between two looks.
const WAITING: usize = 8 << 20;

/// One socket: its own address, and that of the other end.
pub(crate) type Addresses = (SocketAddr, SocketAddr);

/// State of a socket.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// The last state.
    pub(crate) info: TcpInfo,
    /// Times that fast recovery was seen to be entered.
    pub(crate) recoveries: u64,
}

/// Watches the sockets of a namespace.
#[derive(Debug)]
pub(crate) struct Watch {
    events: OwnedFd,
    dumps: OwnedFd,
    ip: IpVersion,
    seen: BTreeMap<Addresses, Seen>,
    buffer: Vec<u8>,
}

impl Watch {
    /// Begins to watch.
    pub(crate) fn new(namespace: &Namespace, ip: IpVersion) -> io::Result<Self> {
        let [events, dumps] = namespace.inside(|| -> io::Result<_> {
            let open = |flags| {
                let kind = SocketType::RAW;
                socket_with(AddressFamily::NETLINK, kind, flags, Some(netlink::SOCK_DIAG))
            };
            let events = open(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
            sockopt::set_socket_recv_buffer_size_force(&events, WAITING)?;
            bind(&events, &SocketAddrNetlink::new(0, DESTROYED))?;
            Ok([events, open(SocketFlags::CLOEXEC)?])
        })?;
        Ok(Self { events, dumps, ip, seen: BTreeMap::new(), buffer: vec![0; 1 << 16] })
    }

    /// State of a socket.
    pub(crate) fn of(&self, socket: &Addresses) -> Option<&Seen> {
        self.seen.get(socket)
    }

    /// Asks the kernel how all sockets are, and how those were that have ended.
    pub(crate) fn look(&mut self) -> io::Result<()> {
        loop {
            match recv(&self.events, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((length, _)) => drop(self.note(length)?),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let request = diag::request(self.ip, STATES, diag::INFO);
        sendto(&self.dumps, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        loop {
            match recv(&self.dumps, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((length, _)) if self.note(length)? => return Ok(()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Takes in the messages in the buffer. Returns whether they were the last ones of a list.
    ///
    /// # Errors
    /// The kernel has answered with an error, as it does without its module `tcp_diag`.
    fn note(&mut self, length: usize) -> io::Result<bool> {
        for item in items(&self.buffer[..length]) {
            let body = match item {
                Item::Message(_, body) => body,
                Item::Done => return Ok(true),
                Item::Answer(error) => return Err(io::Error::from_raw_os_error(error)),
                Item::Damaged => return Err(io::ErrorKind::InvalidData.into()),
            };
            if let Some((addresses, info)) = socket(body) {
                let seen = self.seen.entry(addresses).or_default();
                let entered = info.is_recovering && !seen.info.is_recovering;
                seen.recoveries += u64::from(entered);
                // The reports of the end may come before a list that was made earlier.
                if info.data_segments_sent >= seen.info.data_segments_sent {
                    seen.info = info;
                }
            }
        }
        Ok(false)
    }
}

/// The addresses and the state in a message about a socket.
fn socket(body: &[u8]) -> Option<(Addresses, TcpInfo)> {
    Some((diag::addresses(body)?, TcpInfo::read(diag::value(body, diag::INFO)?)))
}
