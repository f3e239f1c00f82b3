//! IPv4 packets with TCP in them, from and to bytes.

use std::net::Ipv4Addr;

use drill::{Ecn, Flags, Options, Packet};

/// The host under test.
pub const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// The script.
pub const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// Where the host listens.
pub const OWN_PORT: u16 = 8080;
/// Where the script sends from, and listens.
pub const PEER_PORT: u16 = 34_567;

const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
const TCP: u8 = 6;

/// Relation of the numbers of a script to those on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// First sequence number of the host, once it is known.
    pub own: Option<u32>,
    /// First sequence number of the script.
    pub peer: u32,
    /// The port that the host uses.
    pub port: u16,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// A packet that the host sent; `None` if it is not TCP over IPv4. Learns the host's first number
/// and port.
pub fn read(bytes: &[u8], numbers: &mut Numbers) -> Result<Option<Packet>, String> {
    if bytes.len() < IP_HEADER + TCP_HEADER || bytes[0] != 0x45 || bytes[9] != TCP {
        return Ok(None);
    }
    let total = usize::from(u16_at(bytes, 2));
    let tcp = &bytes[IP_HEADER..total];
    let flags = Flags(tcp[13]);
    let sequence = u32_at(tcp, 4);
    if flags.has(Flags::SYN) && numbers.own.is_none() {
        numbers.own = Some(sequence);
        numbers.port = u16_at(tcp, 0);
    }
    // A reset of what was never open has the number that it was asked about.
    let own = numbers.own.unwrap_or(0);
    let header = usize::from(tcp[12] >> 4) * 4;
    let options = read_options(&tcp[TCP_HEADER..header], numbers.peer)?;
    Ok(Some(Packet {
        ecn: Some(match bytes[1] & 3 {
            0 => Ecn::None,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }),
        flags,
        start: sequence.wrapping_sub(own),
        length: (tcp.len() - header) as u32,
        ack: flags.has(Flags::ACK).then(|| u32_at(tcp, 8).wrapping_sub(numbers.peer)),
        window: Some(u16_at(tcp, 14)),
        options: Some(options),
    }))
}

fn read_options(mut bytes: &[u8], peer: u32) -> Result<Options, String> {
    let mut options = Options::default();
    while let [kind, rest @ ..] = bytes {
        if *kind == 0 {
            break;
        }
        if *kind == 1 {
            bytes = rest;
            continue;
        }
        let length = usize::from(bytes[1]);
        let value = &bytes[2..length];
        match kind {
            2 => options.mss = Some(u16_at(value, 0)),
            3 => options.window_scale = Some(value[0]),
            4 => options.sack_permitted = true,
            5 => {
                let block = |block: &[u8]| {
                    (u32_at(block, 0).wrapping_sub(peer), u32_at(block, 4).wrapping_sub(peer))
                };
                options.sack = value.chunks_exact(8).map(block).collect();
            }
            8 => options.timestamp = Some((u32_at(value, 0), u32_at(value, 4))),
            other => return Err(format!("sent the TCP option number {other}")),
        }
        bytes = &bytes[length..];
    }
    Ok(options)
}

/// A packet that the host is to receive.
pub fn write(packet: &Packet, numbers: &Numbers) -> Vec<u8> {
    let own = numbers.own.unwrap_or(0);
    let options = write_options(&packet.options.clone().unwrap_or_default(), own);
    let header = TCP_HEADER + options.len();
    let mut tcp = Vec::new();
    tcp.extend(PEER_PORT.to_be_bytes());
    tcp.extend(numbers.port.to_be_bytes());
    tcp.extend(packet.start.wrapping_add(numbers.peer).to_be_bytes());
    tcp.extend(packet.ack.map_or(0, |ack| ack.wrapping_add(own)).to_be_bytes());
    tcp.extend([(header as u8 / 4) << 4, packet.flags.0]);
    tcp.extend(packet.window.unwrap_or(0).to_be_bytes());
    tcp.extend([0; 4]); // checksum and urgent pointer
    tcp.extend(options);
    tcp.resize(header + packet.length as usize, 0);
    let sum = checksum(&[
        &PEER.octets(),
        &OWN.octets(),
        &[0, TCP],
        &(tcp.len() as u16).to_be_bytes(),
        &tcp,
    ]);
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());

    let ecn = match packet.ecn {
        None | Some(Ecn::None) => 0,
        Some(Ecn::Ect1) => 1,
        Some(Ecn::Ect0 | Ecn::Ect01) => 2,
        Some(Ecn::Ce) => 3,
    };
    let total = (IP_HEADER + tcp.len()) as u16;
    let mut ip = vec![0x45, ecn];
    ip.extend(total.to_be_bytes());
    ip.extend([0, 0, 0, 0, 64, TCP, 0, 0]);
    ip.extend(PEER.octets());
    ip.extend(OWN.octets());
    let sum = checksum(&[&ip]);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip.extend(tcp);
    ip
}

fn write_options(options: &Options, own: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mss) = options.mss {
        bytes.extend([2, 4]);
        bytes.extend(mss.to_be_bytes());
    }
    if options.sack_permitted {
        bytes.extend([4, 2]);
    }
    if let Some((value, echo)) = options.timestamp {
        bytes.extend([8, 10]);
        bytes.extend(value.to_be_bytes());
        bytes.extend(echo.to_be_bytes());
    }
    if let Some(shift) = options.window_scale {
        bytes.extend([3, 3, shift]);
    }
    if !options.sack.is_empty() {
        bytes.extend([5, 2 + 8 * options.sack.len() as u8]);
        for (start, end) in &options.sack {
            bytes.extend(start.wrapping_add(own).to_be_bytes());
            bytes.extend(end.wrapping_add(own).to_be_bytes());
        }
    }
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The Internet checksum (RFC 1071) of pieces of which all but the last have an even length.
fn checksum(pieces: &[&[u8]]) -> u16 {
    let mut sum = 0_u32;
    for piece in pieces {
        for pair in piece.chunks(2) {
            sum += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
