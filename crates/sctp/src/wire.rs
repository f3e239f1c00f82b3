//! Packets as bytes, with the layout of [`chunk`](crate::chunk). Payload is zeros, as is the MAC of
//! the state cookie, which is left to the implementation.

use ::wire::{Addresses, crc32c};

use crate::chunk::{Beat, Chunk, Cookie, DATA_HEADER, Data, Init, Packet, Sack};

/// Number in the header of IP.
pub const PROTOCOL: u8 = 132;

/// Place of the checksum (section 3.1).
const CHECKSUM: std::ops::Range<usize> = 8..12;
/// T bit of ABORT and SHUTDOWN COMPLETE.
const REFLECTED: u8 = 1;
/// Types of parameters (sections 3.3.2.1, 3.3.3.1 and 3.3.5) and of the cause Stale Cookie (section
/// 3.3.10.3).
const HEARTBEAT_INFO: u16 = 1;
const IPV4: u16 = 5;
const IPV6: u16 = 6;
const STATE_COOKIE: u16 = 7;
const STALE_COOKIE: u16 = 3;

/// Appends header, chunks and payload of a packet from port `ports.0` to `ports.1`. `addresses` are
/// those of its path: an end has an address for each path, with numbers in succession.
pub fn write(packet: &Packet, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>) {
    let start = out.len();
    put16(out, ports.0);
    put16(out, ports.1);
    put32(out, packet.tag);
    put32(out, 0);
    for chunk in packet.chunks() {
        write_chunk(chunk, (addresses, packet.path), out);
    }
    // The low byte of the CRC goes first (appendix A).
    let checksum = crc32c(&out[start..]).to_le_bytes();
    out[start..][CHECKSUM].copy_from_slice(&checksum);
}

fn write_chunk(chunk: &Chunk, addresses: (Addresses, u8), out: &mut Vec<u8>) {
    let flags = match chunk {
        Chunk::Data(data) => data.flags.byte(),
        Chunk::Abort { reflected: true } | Chunk::ShutdownComplete { reflected: true } => REFLECTED,
        _ => 0,
    };
    // The length is without the padding behind a chunk, which only DATA has here.
    let length = match chunk {
        Chunk::Data(data) => DATA_HEADER + data.payload,
        other => other.bytes(),
    };
    let end = out.len() + usize::from(chunk.bytes());
    out.extend_from_slice(&[chunk.kind().number(), flags]);
    put16(out, length);
    match chunk {
        Chunk::Data(data) => write_data(data, out),
        Chunk::Init(init) => {
            write_init(init, out);
            write_addresses(init, addresses, out);
        }
        Chunk::InitAck(both) => {
            let (init, cookie) = &**both;
            write_init(init, out);
            write_addresses(init, addresses, out);
            put16(out, STATE_COOKIE);
            put16(out, Chunk::CookieEcho(Box::new(*cookie)).bytes());
            write_cookie(cookie, out);
        }
        Chunk::Sack(sack) => write_sack(sack, out),
        Chunk::Heartbeat(beat) | Chunk::HeartbeatAck(beat) => write_beat(*beat, length, out),
        Chunk::Shutdown(cumulative) => put32(out, *cumulative),
        Chunk::Error => {
            put16(out, STALE_COOKIE);
            put16(out, 8);
        }
        Chunk::CookieEcho(cookie) => write_cookie(cookie, out),
        Chunk::Abort { .. }
        | Chunk::ShutdownAck
        | Chunk::CookieAck
        | Chunk::ShutdownComplete { .. } => {}
    }
    out.resize(end, 0);
}

fn put16(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_be_bytes());
}

fn put32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_be_bytes());
}

fn write_data(data: &Data, out: &mut Vec<u8>) {
    put32(out, data.tsn);
    put16(out, data.stream);
    put16(out, data.ssn);
    put32(out, data.ppid);
}

fn write_init(init: &Init, out: &mut Vec<u8>) {
    put32(out, init.tag);
    put32(out, init.window);
    put16(out, init.outbound);
    put16(out, init.inbound);
    put32(out, init.tsn);
}

/// Addresses of an end with several, from that of `path`.
fn write_addresses(init: &Init, (addresses, path): (Addresses, u8), out: &mut Vec<u8>) {
    if init.addresses < 2 {
        return;
    }
    for other in 0..init.addresses {
        let number = |own: u128| (own + u128::from(other)).saturating_sub(path.into());
        let (kind, address) = match addresses {
            Addresses::V4(own, _) => (IPV4, number(u32::from(own).into())),
            Addresses::V6(own, _) => (IPV6, number(own.into())),
        };
        let length = if kind == IPV4 { 4 } else { 16 };
        put16(out, kind);
        put16(out, 4 + length);
        out.extend_from_slice(&address.to_be_bytes()[16 - usize::from(length)..]);
    }
}

/// Our layout of it.
fn write_cookie(cookie: &Cookie, out: &mut Vec<u8>) {
    let Cookie { init, tag, created } = cookie;
    out.extend_from_slice(&[0; 20]);
    out.extend_from_slice(&created.as_nanos().to_be_bytes());
    for field in [0, init.tag, *tag, init.tsn, 0, init.window] {
        put32(out, field);
    }
    put16(out, init.outbound);
    put16(out, init.inbound);
}

fn write_beat(beat: Beat, chunk: u16, out: &mut Vec<u8>) {
    put16(out, HEARTBEAT_INFO);
    put16(out, chunk - 4);
    out.extend_from_slice(&beat.sent.as_nanos().to_be_bytes());
    put32(out, beat.path.into());
}

#[expect(clippy::cast_possible_truncation, reason = "a SACK fits a packet")]
fn write_sack(sack: &Sack, out: &mut Vec<u8>) {
    put32(out, sack.cumulative);
    put32(out, sack.window);
    put16(out, sack.gaps.len() as u16);
    put16(out, sack.duplicates.len() as u16);
    sack.gaps.as_flattened().iter().for_each(|edge| put16(out, *edge));
    sack.duplicates.iter().for_each(|tsn| put32(out, *tsn));
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use units::Time;

    use super::*;
    use crate::chunk::Address;

    /// Each chunk has the length that the simulator counts, and the lengths of the wire lead from
    /// one to the next.
    #[test]
    fn packets_have_their_lengths_on_the_wire() {
        let four = Addresses::V4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let six = Addresses::V6(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        for (addresses, address) in [(four, Address::V4), (six, Address::V6)] {
            let init =
                Init { tag: 1, window: 2, outbound: 3, inbound: 4, tsn: 5, addresses: 2, address };
            let cookie = Cookie { init, tag: 9, created: Time::ZERO };
            let beat = Beat { sent: Time::ZERO, path: 0 };
            let sack = Sack { gaps: vec![[2, 3], [5, 5]], duplicates: vec![7], ..Sack::default() };
            let mut packet = Packet::new(1, 0, Chunk::Init(init));
            for chunk in [
                Chunk::InitAck(Box::new((init, cookie))),
                Chunk::Data(Data { payload: 5, ..Data::default() }),
                Chunk::Sack(sack),
                Chunk::Heartbeat(beat),
                Chunk::HeartbeatAck(beat),
                Chunk::Abort { reflected: true },
                Chunk::Shutdown(1),
                Chunk::ShutdownAck,
                Chunk::Error,
                Chunk::CookieEcho(Box::new(cookie)),
                Chunk::CookieAck,
                Chunk::ShutdownComplete { reflected: false },
            ] {
                packet.push(chunk);
            }
            let mut bytes = vec![0xff];
            write(&packet, addresses, (5001, 10_000), &mut bytes);
            let bytes = &bytes[1..];
            assert_eq!(bytes.len(), usize::from(packet.bytes()));
            let mut at = 12;
            for chunk in packet.chunks() {
                assert_eq!(bytes[at], chunk.kind().number());
                let length = u16::from_be_bytes([bytes[at + 2], bytes[at + 3]]);
                at += usize::from(length.next_multiple_of(4));
            }
            assert_eq!(at, bytes.len());
        }
    }
}
