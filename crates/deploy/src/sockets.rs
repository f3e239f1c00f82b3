//! How many connections use each controller, asked of the kernel as `ss -ti` does (sock_diag(7)).

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

use crate::error::Error;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLMSG_HEADER: usize = 16;
/// `struct inet_diag_msg`, behind which the attributes are.
const DIAG_MESSAGE: usize = 72;
/// `struct inet_diag_req_v2`.
const DIAG_REQUEST: usize = 56;
/// The attribute that names the controller.
const INET_DIAG_CONG: u16 = 4;
/// TCP states of a connection: all but time wait, closed and listening (include/net/tcp_states.h).
const CONNECTIONS: u32 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;

/// Connections of this network namespace by the kernel's name of their controller.
pub(crate) fn count() -> Result<BTreeMap<String, u64>, Error> {
    let mut counts = BTreeMap::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        dump(family as u8, &mut counts)
            .map_err(|error| Error::refused("connections cannot be counted", error))?;
    }
    Ok(counts)
}

fn dump(family: u8, counts: &mut BTreeMap<String, u64>) -> Result<(), Errno> {
    let netlink = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkSockDiag,
    )?;
    send(netlink.as_raw_fd(), &request(family), MsgFlags::empty())?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = recv(netlink.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        if length == 0 || read(&buffer[..length], counts)? {
            return Ok(());
        }
    }
}

fn request(family: u8) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(NLMSG_HEADER + DIAG_REQUEST);
    bytes.extend(((NLMSG_HEADER + DIAG_REQUEST) as u32).to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST_DUMP.to_ne_bytes());
    bytes.extend([0; 8]);
    // Family, TCP, the attribute that is wanted, padding.
    bytes.extend([family, 6, 1 << (INET_DIAG_CONG - 1), 0]);
    bytes.extend(CONNECTIONS.to_ne_bytes());
    bytes.resize(NLMSG_HEADER + DIAG_REQUEST, 0);
    bytes
}

/// Counts the sockets in one datagram. Returns true if it was the last.
fn read(mut bytes: &[u8], counts: &mut BTreeMap<String, u64>) -> Result<bool, Errno> {
    while let (Some(length), Some(kind)) = (word(bytes, 0), half(bytes, 4)) {
        let length = length as usize;
        if length < NLMSG_HEADER || length > bytes.len() {
            return Err(Errno::EBADMSG);
        }
        match kind {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let code = word(bytes, NLMSG_HEADER).unwrap_or(0) as i32;
                return Err(Errno::from_raw(-code));
            }
            _ => {
                if let Some(name) = controller(&bytes[NLMSG_HEADER..length]) {
                    *counts.entry(name).or_default() += 1;
                }
            }
        }
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    Ok(false)
}

fn controller(message: &[u8]) -> Option<String> {
    let mut attributes = message.get(DIAG_MESSAGE..)?;
    while let (Some(length), Some(kind)) = (half(attributes, 0), half(attributes, 2)) {
        let length = usize::from(length);
        let value = attributes.get(4..length)?;
        if kind == INET_DIAG_CONG {
            let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
            return String::from_utf8(value[..end].to_vec()).ok();
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
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
        let mut bytes = request(2);
        assert_eq!(read(&bytes, &mut counts), Ok(false));
        assert_eq!(read(&bytes[..40], &mut counts), Err(Errno::EBADMSG));
        bytes[..4].copy_from_slice(&3_u32.to_ne_bytes());
        assert_eq!(read(&bytes, &mut counts), Err(Errno::EBADMSG));
        assert_eq!(read(&[], &mut counts), Ok(false));
    }
}
