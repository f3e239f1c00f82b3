//! From the bytes of a link to the payload of IP.

use std::net::IpAddr;

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket};

/// The part of a packet behind its IP header, which may be cut off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IpPayload<'a> {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// Protocol behind all extension headers.
    pub protocol: u8,
    /// Identification of IPv4; none for IPv6.
    pub identification: Option<u16>,
    /// TTL or hop limit.
    pub hops: u8,
    /// Length on the link by the header of IP.
    pub length: u32,
    /// Captured bytes.
    pub bytes: &'a [u8],
}

/// Packets without a segment of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Other {
    /// The link type is not read.
    LinkType,
    /// A part of a fragmented packet.
    Fragment,
    /// A header is cut off or makes no sense.
    Header,
    /// No IP.
    NotIp,
}

/// `LINKTYPE_` numbers of tcpdump.org.
const NULL: i32 = 0;
const ETHERNET: i32 = 1;
const RAW: [i32; 5] = [12, 14, 101, 228, 229];
const LOOP: i32 = 108;
const COOKED: i32 = 113;
const COOKED_2: i32 = 276;
const PPPOE: i32 = 51;
/// Type of Ethernet for the session stage of PPPoE (RFC 2516).
const PPPOE_SESSION: u16 = 0x8864;
/// Lengths of headers.
const COOKED_HEADER: usize = 16;
const COOKED_2_HEADER: usize = 20;
const ETHERNET_HEADER: usize = 14;
const PPPOE_HEADER: usize = 8;

/// The payload of the IP packet in the bytes of a link, which had `length` bytes.
pub(crate) fn ip_payload(link: i32, bytes: &[u8], length: u32) -> Result<IpPayload<'_>, Other> {
    match link {
        ETHERNET => ethernet(bytes, length),
        NULL | LOOP => ip(bytes.get(4..).ok_or(Other::Header)?, length, 4),
        COOKED => {
            let kind = word(bytes, COOKED_HEADER - 2)?;
            of_type(kind, &bytes[COOKED_HEADER..], length, COOKED_HEADER)
        }
        COOKED_2 => {
            let payload = bytes.get(COOKED_2_HEADER..).ok_or(Other::Header)?;
            of_type(word(bytes, 0)?, payload, length, COOKED_2_HEADER)
        }
        PPPOE => ip(bytes.get(PPPOE_HEADER..).ok_or(Other::Header)?, length, PPPOE_HEADER),
        _ if RAW.contains(&link) => ip(bytes, length, 0),
        _ => Err(Other::LinkType),
    }
}

fn ethernet(bytes: &[u8], length: u32) -> Result<IpPayload<'_>, Other> {
    let kind = word(bytes, ETHERNET_HEADER - 2)?;
    of_type(kind, &bytes[ETHERNET_HEADER..], length, ETHERNET_HEADER)
}

/// The packet behind a type of Ethernet, with any tags of VLANs.
fn of_type(kind: u16, bytes: &[u8], length: u32, header: usize) -> Result<IpPayload<'_>, Other> {
    if kind == PPPOE_SESSION {
        let payload = bytes.get(PPPOE_HEADER..).ok_or(Other::Header)?;
        return ip(payload, length, header + PPPOE_HEADER);
    }
    sliced(&LaxSlicedPacket::from_ether_type(EtherType(kind), bytes), bytes, length, header)
}

fn ip(bytes: &[u8], length: u32, header: usize) -> Result<IpPayload<'_>, Other> {
    match bytes.first().map(|byte| byte >> 4) {
        Some(4 | 6) => {}
        Some(_) => return Err(Other::NotIp),
        None => return Err(Other::Header),
    }
    let packet = LaxSlicedPacket::from_ip(bytes).map_err(|_| Other::Header)?;
    sliced(&packet, bytes, length, header)
}

/// The payload of a packet that is taken apart. `length` is that on the link, with a header of
/// `header` bytes.
fn sliced<'a>(
    packet: &LaxSlicedPacket<'a>,
    bytes: &[u8],
    length: u32,
    header: usize,
) -> Result<IpPayload<'a>, Other> {
    let net = packet.net.as_ref();
    let payload = net.and_then(LaxNetSlice::ip_payload_ref);
    let Some(payload) = payload else {
        return Err(if packet.stop_err.is_some() { Other::Header } else { Other::NotIp });
    };
    if payload.fragmented {
        return Err(Other::Fragment);
    }
    // Large segments of a host that offloads segmentation can have a length of zero in their
    // header.
    let before = payload.payload.as_ptr().addr() - bytes.as_ptr().addr();
    let on_link = (length as usize).saturating_sub(header + before);
    let (source, destination, identification, hops, said) = match net {
        Some(LaxNetSlice::Ipv4(v4)) => {
            let ip = v4.header();
            let all =
                usize::from(ip.ihl()) * 4 + v4.extensions().auth.map_or(0, |it| it.slice().len());
            let said = usize::from(ip.total_len()).checked_sub(all);
            let (source, destination) = (ip.source_addr().into(), ip.destination_addr().into());
            (source, destination, Some(ip.identification()), ip.ttl(), said)
        }
        Some(LaxNetSlice::Ipv6(v6)) => {
            let ip = v6.header();
            let said = usize::from(ip.payload_length()).checked_sub(v6.extensions().slice().len());
            let (source, destination) = (ip.source_addr().into(), ip.destination_addr().into());
            (source, destination, None, ip.hop_limit(), said)
        }
        _ => return Err(Other::NotIp),
    };
    let length = match (said, net) {
        (Some(said), Some(LaxNetSlice::Ipv6(v6))) if v6.header().payload_length() > 0 => said,
        (Some(said), Some(LaxNetSlice::Ipv4(_))) => said,
        _ => on_link,
    };
    Ok(IpPayload {
        source,
        destination,
        protocol: payload.ip_number.0,
        identification,
        hops,
        length: u32::try_from(length).map_err(|_| Other::Header)?,
        bytes: payload.payload,
    })
}

/// The 16 bits at `at`.
fn word(bytes: &[u8], at: usize) -> Result<u16, Other> {
    let word = bytes.get(at..at + 2).ok_or(Other::Header)?;
    Ok(u16::from_be_bytes([word[0], word[1]]))
}
