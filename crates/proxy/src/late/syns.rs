//! SYNs that the rules hold back: copies of them from the kernel (nfnetlink_log), and SYNs that go
//! on.
//!
//! A rule drops the SYN and sends a copy to the NFLOG group that has the number of `port`. The
//! messages are those of linux/netlink.h, linux/netfilter/nfnetlink.h and
//! linux/netfilter/nfnetlink_log.h. A SYN goes on through a raw socket: with the mark and the
//! priority of a side it is delivered to the listener of this side, without a mark it goes to the
//! server.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, netlink, recv,
    send, sendto, socket_with,
};
use wire::IpPacket;
use wire::netlink::{ACK, Item, Request, attributes, items};

use crate::config::SideName;
use crate::sys;

/// Family, version and group of a message of netfilter.
const NFGENMSG: usize = 4;
/// linux/netfilter/nfnetlink.h and nfnetlink_log.h.
const NFNL_SUBSYS_ULOG: u16 = 4;
const NFULNL_MSG_PACKET: u16 = NFNL_SUBSYS_ULOG << 8;
const NFULNL_MSG_CONFIG: u16 = NFNL_SUBSYS_ULOG << 8 | 1;
const NFULA_PAYLOAD: u16 = 9;
const NFULA_PREFIX: u16 = 10;
const NFULA_CFG_CMD: u16 = 1;
const NFULA_CFG_MODE: u16 = 2;
const NFULNL_CFG_CMD_BIND: u8 = 1;
const NFULNL_COPY_PACKET: u8 = 2;
/// linux/in6.h; libc has no name for it.
const IPV6_HDRINCL: i32 = 36;

/// A SYN with data is as long as a packet of IP can be.
const LONGEST: u32 = 0xffff;
/// Room for one message with the longest packet.
const ROOM: usize = 128 * 1024;
/// Memory of the kernel for copies that wait: thousands of SYNs.
const WAITING: u32 = 4 << 20;

/// The kernel's copies of SYNs.
#[derive(Debug)]
pub(crate) struct Syns {
    socket: OwnedFd,
    buffer: Box<[u8]>,
}

/// A SYN that was held back, with the side of its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) side: SideName,
    pub(crate) packet: IpPacket,
}

impl Syns {
    /// Copies of one NFLOG group. Only one socket can have a group.
    pub(crate) fn open(group: u16) -> io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let kind = (AddressFamily::NETLINK, SocketType::RAW);
        let socket = socket_with(kind.0, kind.1, flags, Some(netlink::NETFILTER))?;
        sys::set_number(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, WAITING)?;
        let mut mode = LONGEST.to_be_bytes().to_vec();
        mode.extend_from_slice(&[NFULNL_COPY_PACKET, 0]);
        for (attribute, value) in
            [(NFULA_CFG_CMD, &[NFULNL_CFG_CMD_BIND][..]), (NFULA_CFG_MODE, &mode)]
        {
            send(&socket, &request(group, attribute, value), SendFlags::empty())?;
            confirmed(&socket)?;
        }
        Ok(socket)
    }

    /// Reads from a socket of [`Syns::open`].
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, buffer: vec![0; ROOM].into() }
    }

    /// The SYNs of the next message, or `None` if no message waits. An error `NOBUFS` is that the
    /// kernel had no room for some: their clients retransmit them.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<Held>>, Errno> {
        match recv(&self.socket, &mut *self.buffer, RecvFlags::empty()) {
            Ok((_, length)) => Ok(Some(held(&self.buffer[..length.min(ROOM)]))),
            Err(Errno::AGAIN) => Ok(None),
            Err(Errno::INTR) => Ok(Some(Vec::new())),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Syns {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A request about a group with one attribute.
fn request(group: u16, attribute: u16, value: &[u8]) -> Vec<u8> {
    let [high, low] = group.to_be_bytes();
    // Any family, version 0.
    let request = Request::new(NFULNL_MSG_CONFIG, ACK, &[0, 0, high, low]);
    request.attribute(attribute, value).into_bytes()
}

/// Reads the kernel's answer to a request. It is there when the request has been sent.
fn confirmed(socket: &OwnedFd) -> io::Result<()> {
    let mut buffer = vec![0; ROOM];
    loop {
        let (_, length) = recv(socket, &mut *buffer, RecvFlags::empty())?;
        for item in items(&buffer[..length.min(ROOM)]) {
            match item {
                Item::Answer(0) => return Ok(()),
                Item::Answer(error) => return Err(io::Error::from_raw_os_error(error)),
                Item::Damaged => return Err(io::ErrorKind::InvalidData.into()),
                // Packets may come before.
                Item::Message(..) | Item::Done => {}
            }
        }
    }
}

/// The SYNs in a buffer of messages.
fn held(buffer: &[u8]) -> Vec<Held> {
    items(buffer)
        .filter_map(|item| {
            let Item::Message(NFULNL_MSG_PACKET, body) = item else { return None };
            let (mut side, mut packet) = (None, None);
            for (kind, value) in attributes(body.get(NFGENMSG..)?) {
                match kind {
                    NFULA_PREFIX => {
                        let name = value.strip_suffix(&[0]).unwrap_or(value);
                        side = SideName::ALL.into_iter().find(|side| side.key().as_bytes() == name);
                    }
                    NFULA_PAYLOAD => packet = IpPacket::read(value),
                    _ => {}
                }
            }
            Some(Held { side: side?, packet: packet?.completed()? })
        })
        .collect()
}

/// Raw sockets through which packets go on.
#[derive(Debug)]
pub(crate) struct Onward {
    plain: ByFamily,
    marked: [ByFamily; 2],
}

/// A socket for IPv4 and, where the machine has it, one for IPv6.
#[derive(Debug)]
struct ByFamily(OwnedFd, Option<OwnedFd>);

/// The priority of SYNs that go to the listener of a side.
pub(crate) const fn priority(side: SideName) -> u32 {
    side.index() as u32 + 1
}

impl Onward {
    /// Opens the sockets. Intercepted packets have `mark`.
    pub(crate) fn open(mark: u32) -> io::Result<Self> {
        let [terrestrial, satellite] = SideName::ALL.map(|side| {
            let sockets = ByFamily::open()?;
            for socket in [Some(&sockets.0), sockets.1.as_ref()].into_iter().flatten() {
                sys::set_number(socket, libc::SOL_SOCKET, libc::SO_MARK, mark)?;
                sys::set_number(socket, libc::SOL_SOCKET, libc::SO_PRIORITY, priority(side))?;
            }
            Ok::<_, io::Error>(sockets)
        });
        Ok(Self { plain: ByFamily::open()?, marked: [terrestrial?, satellite?] })
    }

    /// Gives a SYN to the listener of its side.
    pub(crate) fn admit(&self, side: SideName, syn: &IpPacket) -> io::Result<()> {
        self.marked[side.index()].send(syn)
    }

    /// Sends a packet to its destination.
    pub(crate) fn pass(&self, packet: &IpPacket) -> io::Result<()> {
        self.plain.send(packet)
    }
}

impl ByFamily {
    fn open() -> io::Result<Self> {
        let raw = |family| {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let protocol: Option<Protocol> = Some(ipproto::RAW);
            socket_with(family, SocketType::RAW, flags, protocol)
        };
        let six = raw(AddressFamily::INET6).ok();
        if let Some(six) = &six {
            sys::set_number(six, libc::SOL_IPV6, IPV6_HDRINCL, 1)?;
        }
        Ok(Self(raw(AddressFamily::INET)?, six))
    }

    fn send(&self, packet: &IpPacket) -> io::Result<()> {
        let to = packet.destination();
        let socket = match to {
            IpAddr::V4(_) => &self.0,
            IpAddr::V6(_) => self.1.as_ref().ok_or(Errno::AFNOSUPPORT)?,
        };
        // The port of a raw socket's address is the protocol, or zero.
        sendto(socket, packet.bytes(), SendFlags::empty(), &SocketAddr::new(to, 0))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wire::{Addresses, TcpPacket, tcp::flags};

    use super::*;

    fn syn() -> Vec<u8> {
        let addresses = Addresses::V4([10, 1, 0, 2].into(), [10, 2, 0, 2].into());
        let mut bytes = Vec::new();
        let packet = TcpPacket { addresses, ttl: 64, flags: flags::SYN, ..TcpPacket::default() };
        packet.write(0, &mut bytes);
        bytes
    }

    fn copy(prefix: &[u8], packet: &[u8]) -> Vec<u8> {
        let message = Request::new(NFULNL_MSG_PACKET, 0, &[2, 0, 0, 1]);
        let message = message.attribute(NFULA_PREFIX, prefix).attribute(NFULA_PAYLOAD, packet);
        message.into_bytes()
    }

    #[test]
    fn copies_have_their_side_and_others_are_left() {
        let (good, mut bad) = (syn(), syn());
        bad[36] ^= 1; // the checksum
        let buffer = [
            copy(b"satellite\0", &good),
            copy(b"elsewhere\0", &good),
            copy(b"terrestrial\0", &bad),
            Request::new(3, 0, &[]).into_bytes(),
            copy(b"terrestrial\0", &good),
        ]
        .concat();
        let packet = IpPacket::read(&good).unwrap();
        let of = |side| Held { side, packet: packet.clone() };
        assert_eq!(held(&buffer), [of(SideName::Satellite), of(SideName::Terrestrial)]);
    }

    #[test]
    fn a_request_is_one_message_with_one_attribute() {
        let bytes = request(4440, NFULA_CFG_CMD, &[NFULNL_CFG_CMD_BIND]);
        assert_eq!(bytes.len(), 28);
        let Some(Item::Message(NFULNL_MSG_CONFIG, body)) = items(&bytes).next() else {
            panic!("a message with the configuration of a group")
        };
        assert_eq!(body[2..4], 4440_u16.to_be_bytes());
        assert_eq!(attributes(&body[4..]).collect::<Vec<_>>(), [(1, &[1][..])]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = held(&bytes);
            let _ = held(&copy(b"satellite\0", &bytes));
        }
    }
}
