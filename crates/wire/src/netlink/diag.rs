//! Lists of the TCP sockets of a network namespace (sock_diag(7), linux/inet_diag.h).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{DUMP, Request, attributes};
use crate::ip::IpVersion;

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// Bytes of `struct inet_diag_msg`, behind which the attributes are, and of the addresses of the
/// sockets in `struct inet_diag_req_v2`.
const MESSAGE: usize = 72;
const ANY_ADDRESSES: usize = 48;
const TCP: u8 = 6;
/// `AF_INET`, `AF_INET6`.
const FAMILIES: [u8; 2] = [2, 10];

/// `INET_DIAG_INFO`: the attribute with `struct tcp_info`.
pub const INFO: u16 = 2;
/// `INET_DIAG_CONG`: the attribute with the name of the controller.
pub const CONTROLLER: u16 = 4;

/// The request for a list of all TCP sockets in these states (a mask of bits, by the numbers of
/// `tcp_states.h`), each with an attribute.
pub fn request(ip: IpVersion, states: u32, wanted: u16) -> Vec<u8> {
    let family = FAMILIES[usize::from(ip == IpVersion::V6)];
    let mut body = vec![family, TCP, 1 << (wanted - 1), 0];
    body.extend_from_slice(&states.to_ne_bytes());
    body.resize(body.len() + ANY_ADDRESSES, 0);
    Request::new(BY_FAMILY, DUMP, &body).into_bytes()
}

/// Own address and that of the other end, in the body of a message about a socket.
pub fn addresses(body: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let port = |at: usize| Some(u16::from_be_bytes(*body.get(at..)?.first_chunk()?));
    let address = |at: usize| -> Option<IpAddr> {
        let bytes = body.get(at..at + 16)?;
        let place = FAMILIES.iter().position(|family| Some(family) == body.first())?;
        Some(if place == 0 {
            Ipv4Addr::from(*bytes.first_chunk::<4>()?).into()
        } else {
            Ipv6Addr::from(*bytes.first_chunk::<16>()?).into()
        })
    };
    Some((SocketAddr::new(address(8)?, port(4)?), SocketAddr::new(address(24)?, port(6)?)))
}

/// The attribute of a kind in the body of a message about a socket.
pub fn value(body: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(body.get(MESSAGE..)?).find_map(|(kind, value)| (kind == wanted).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::super::attribute;
    use super::*;

    #[test]
    fn addresses_and_attributes_are_those_of_the_message() {
        let mut body = vec![0; MESSAGE];
        body[0] = FAMILIES[0];
        body[4..8].copy_from_slice(&[0x1f, 0x90, 0, 80]);
        body[8..12].copy_from_slice(&[10, 0, 0, 1]);
        body[24..28].copy_from_slice(&[10, 0, 0, 2]);
        attribute(&mut body, INFO, &[1]);
        attribute(&mut body, CONTROLLER, b"cubic\0");
        let [own, other] = ["10.0.0.1:8080", "10.0.0.2:80"].map(|one| one.parse().unwrap());
        assert_eq!(addresses(&body), Some((own, other)));
        assert_eq!(value(&body, CONTROLLER), Some(&b"cubic\0"[..]));
        assert_eq!((value(&body, 9), addresses(&body[..30])), (None, None));
    }
}
