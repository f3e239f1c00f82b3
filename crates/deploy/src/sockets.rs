//! How many connections use each controller, asked of the kernel as `ss -ti` does (sock_diag(7)).

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};
use wire::IpVersion;
use wire::netlink::{Item, diag, items};

use crate::error::Error;

/// TCP states of a connection: all but time wait, closed and listening (include/net/tcp_states.h).
const CONNECTIONS: u32 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;

/// Connections of this network namespace by the kernel's name of their controller.
pub(crate) fn count() -> Result<BTreeMap<String, u64>, Error> {
    let mut counts = BTreeMap::new();
    for ip in [IpVersion::V4, IpVersion::V6] {
        dump(ip, &mut counts)
            .map_err(|error| Error::refused("connections cannot be counted", error))?;
    }
    Ok(counts)
}

fn dump(ip: IpVersion, counts: &mut BTreeMap<String, u64>) -> Result<(), Errno> {
    let netlink = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkSockDiag,
    )?;
    let request = diag::request(ip, CONNECTIONS, diag::CONTROLLER);
    send(netlink.as_raw_fd(), &request, MsgFlags::empty())?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = recv(netlink.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        if length == 0 || read(&buffer[..length], counts)? {
            return Ok(());
        }
    }
}

/// Counts the sockets in one datagram. Returns true if it was the last.
fn read(bytes: &[u8], counts: &mut BTreeMap<String, u64>) -> Result<bool, Errno> {
    for item in items(bytes) {
        match item {
            Item::Done => return Ok(true),
            Item::Answer(error) => return Err(Errno::from_raw(error)),
            Item::Damaged => return Err(Errno::EBADMSG),
            Item::Message(_, body) => {
                if let Some(name) = controller(body) {
                    *counts.entry(name).or_default() += 1;
                }
            }
        }
    }
    Ok(false)
}

/// The name of the controller in a message about a socket.
fn controller(body: &[u8]) -> Option<String> {
    let value = diag::value(body, diag::CONTROLLER)?;
    let name = value.split(|byte| *byte == 0).next()?;
    String::from_utf8(name.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn connections_of_this_machine_are_counted() {
        let all = || count().unwrap().values().sum::<u64>();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let opened: Vec<_> =
            (0..20).map(|_| TcpStream::connect(listener.local_addr().unwrap()).unwrap()).collect();
        let accepted: Vec<_> = (0..20).map(|_| listener.accept().unwrap()).collect();
        assert!(all() >= 40, "{:?}", count());
        drop((opened, accepted));
    }

    #[test]
    fn a_message_that_is_cut_off_is_an_error_and_no_panic() {
        let mut counts = BTreeMap::new();
        let mut bytes = diag::request(IpVersion::V4, CONNECTIONS, diag::CONTROLLER);
        assert_eq!(read(&bytes, &mut counts), Ok(false));
        assert_eq!(read(&bytes[..40], &mut counts), Err(Errno::EBADMSG));
        bytes[..4].copy_from_slice(&3_u32.to_ne_bytes());
        assert_eq!(read(&bytes, &mut counts), Err(Errno::EBADMSG));
        assert_eq!(read(&[], &mut counts), Ok(false));
    }
}
