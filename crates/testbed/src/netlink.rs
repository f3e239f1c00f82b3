//! Requests for new addresses and routes (rtnetlink(7)), in the namespace of the calling thread.

use std::io;
use std::net::IpAddr;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

/// A request under construction.
pub(crate) struct Request(Vec<u8>);

impl Request {
    /// A request to make something that is not there yet; `body` stands before the attributes.
    pub(crate) fn new(kind: u16, body: &[u8]) -> Self {
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let mut message = Vec::new();
        message.extend_from_slice(&[0; 4]); // length, when it is sent
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(&(flags as u16).to_ne_bytes());
        message.extend_from_slice(&[0; 8]); // sequence number and port
        message.extend_from_slice(body);
        Self(message)
    }

    /// Appends an attribute.
    pub(crate) fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        attribute(&mut self.0, kind, value);
        self
    }

    /// Sends the request and waits for the answer.
    pub(crate) fn send(mut self) -> io::Result<()> {
        let length = self.0.len() as u32;
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        let kind = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, kind, None)?;
        sendto(&socket, &self.0, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut answer = [0; 4096];
        let (_, length) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
        // The answer is an error number behind a header of 16 bytes; zero is success.
        let error = answer[..length].get(16..20).and_then(|bytes| bytes.try_into().ok());
        match error.map(i32::from_ne_bytes) {
            Some(0) => Ok(()),
            Some(error) => Err(io::Error::from_raw_os_error(-error)),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Appends an attribute: length and type, then the value, padded to four bytes.
pub(crate) fn attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    message.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(value);
    message.resize(message.len().next_multiple_of(4), 0);
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
