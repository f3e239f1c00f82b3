//! Requests for new addresses and routes (rtnetlink(7)), in the namespace of the calling thread.

use std::io;
use std::net::IpAddr;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};
pub(crate) use wire::netlink::attribute;
use wire::netlink::{self, ACK, CREATE, EXCLUSIVE, Item, items};

/// A request to make something that is not there yet.
pub(crate) struct Request(netlink::Request);

impl Request {
    /// `body` stands before the attributes.
    pub(crate) fn new(kind: u16, body: &[u8]) -> Self {
        Self(netlink::Request::new(kind, ACK | CREATE | EXCLUSIVE, body))
    }

    /// Appends an attribute.
    pub(crate) fn attribute(self, kind: u16, value: &[u8]) -> Self {
        Self(self.0.attribute(kind, value))
    }

    /// Sends the request and waits for the answer.
    pub(crate) fn send(self) -> io::Result<()> {
        let kind = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, kind, None)?;
        let bytes = self.0.into_bytes();
        sendto(&socket, &bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut answer = [0; 4096];
        let length = loop {
            match recv(&socket, &mut answer[..], RecvFlags::empty()) {
                Ok((_, length)) => break length,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        };
        match items(&answer[..length.min(answer.len())]).next() {
            Some(Item::Answer(0)) => Ok(()),
            Some(Item::Answer(error)) => Err(io::Error::from_raw_os_error(error)),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// The bytes of an address.
pub(crate) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// The number of an address's family.
pub(crate) fn family(address: IpAddr) -> u8 {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    family as u8
}
