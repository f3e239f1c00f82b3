//! The TCP state of all connections of a gateway, from the kernel (sock_diag(7)).
//!
//! The daemon closes a socket while the kernel still delivers what it holds. So the daemon is not
//! asked: the kernel lists the sockets of the namespace, and reports each one when it is destroyed.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, sendto, socket_with,
    sockopt,
};
use wire::IpVersion;

use crate::namespace::Namespace;
use crate::tcp_info::TcpInfo;

/// `SKNLGRP_INET_TCP_DESTROY` and `SKNLGRP_INET6_TCP_DESTROY` (linux/sock_diag.h) as a mask of
/// groups.
const DESTROYED: u32 = 1 << 0 | 1 << 2;
/// linux/sock_diag.h, linux/inet_diag.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_INFO: u16 = 2;
/// All states but `TCP_LISTEN` and `TCP_TIME_WAIT`, which has no `TCP_INFO`.
const STATES: u32 = 0xfff & !(1 << 10) & !(1 << 6);
/// Header of a message of netlink; `struct inet_diag_msg` behind it.
const HEADER: usize = 16;
const DIAG_MESSAGE: usize = 72;
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
        let request = request(self.ip);
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
        let mut rest = &self.buffer[..length];
        while rest.len() >= HEADER {
            let length = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
            let kind = u16::from_ne_bytes([rest[4], rest[5]]);
            if i32::from(kind) == libc::NLMSG_ERROR && rest.len() >= HEADER + 4 {
                let code = &rest[HEADER..HEADER + 4];
                let code = i32::from_ne_bytes([code[0], code[1], code[2], code[3]]);
                return Err(io::Error::from_raw_os_error(-code));
            }
            if i32::from(kind) == libc::NLMSG_DONE || length < HEADER {
                return Ok(true);
            }
            let message = &rest[HEADER..length.min(rest.len())];
            if let Some((addresses, info)) = socket(message) {
                let seen = self.seen.entry(addresses).or_default();
                let entered = info.is_recovering && !seen.info.is_recovering;
                seen.recoveries += u64::from(entered);
                // The reports of the end may come before a list that was made earlier.
                if info.data_segments_sent >= seen.info.data_segments_sent {
                    seen.info = info;
                }
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(false)
    }
}

/// The request for a list of all TCP sockets with their state.
fn request(ip: IpVersion) -> Vec<u8> {
    let family = match ip {
        IpVersion::V4 => libc::AF_INET,
        IpVersion::V6 => libc::AF_INET6,
    };
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    let length = HEADER + 8 + 48;
    let mut message = Vec::with_capacity(length);
    message.extend_from_slice(&(length as u32).to_ne_bytes());
    message.extend_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes());
    message.extend_from_slice(&[0; 8]); // sequence number and port
    let wanted = 1 << (INET_DIAG_INFO - 1);
    message.extend_from_slice(&[family as u8, libc::IPPROTO_TCP as u8, wanted, 0]);
    message.extend_from_slice(&STATES.to_ne_bytes());
    message.resize(length, 0); // any addresses
    message
}

/// The addresses and the state in a message about a socket.
fn socket(message: &[u8]) -> Option<(Addresses, TcpInfo)> {
    let port = |at: usize| Some(u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?));
    let address = |at: usize| -> Option<IpAddr> {
        Some(match i32::from(*message.first()?) {
            libc::AF_INET => {
                Ipv4Addr::from(<[u8; 4]>::try_from(message.get(at..at + 4)?).ok()?).into()
            }
            libc::AF_INET6 => {
                Ipv6Addr::from(<[u8; 16]>::try_from(message.get(at..at + 16)?).ok()?).into()
            }
            _ => return None,
        })
    };
    let own = SocketAddr::new(address(8)?, port(4)?);
    let other = SocketAddr::new(address(24)?, port(6)?);
    let mut attributes = message.get(DIAG_MESSAGE..)?;
    while attributes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([attributes[0], attributes[1]]));
        let kind = u16::from_ne_bytes([attributes[2], attributes[3]]);
        if kind == INET_DIAG_INFO {
            return Some(((own, other), TcpInfo::read(attributes.get(4..length)?)));
        }
        attributes = attributes.get(length.max(4).next_multiple_of(4)..)?;
    }
    None
}
