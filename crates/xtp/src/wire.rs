//! Packets as bytes, with the layout of [`packet`](crate::packet). Payload is zeros.
//!
//! The keys of both ends are ours, because no packet of the simulator needs one: that of an end is
//! its port and that of the other end. The checksum covers the whole packet.

use ::wire::{Addresses, internet_checksum};

use crate::packet::{Kind, Packet, Traffic};

/// Number in the header of IP.
pub const PROTOCOL: u8 = 36;

/// Place of the checksum.
const CHECKSUM: std::ops::Range<usize> = 16..18;
/// Bits above the number of the type: version 1, which is XTP 4.0.
const VERSION: u8 = 1 << 5;
/// Internet addresses of version 4.
const INET: u8 = 1;
/// Those of version 6. Ours: no source gives the number.
const INET6: u8 = 6;
/// Format of a traffic specifier with rates and bursts.
const RATES: u8 = 1;
/// Service of a reliable stream.
const STREAM: u8 = 5;
/// Bytes of a traffic specifier.
const TRAFFIC: u16 = 24;

/// Appends header, segments and payload of a packet from port `ports.0` to `ports.1`.
pub fn write(packet: &Packet, addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>) {
    let start = out.len();
    let Packet { kind, options, .. } = packet;
    let length = u32::from(packet.bytes() - crate::HEADER);
    let key = |(own, other): (u16, u16)| (u64::from(own) << 16 | u64::from(other)).to_be_bytes();
    let [high, low] = options.bits().to_be_bytes();
    out.extend_from_slice(&key(ports));
    out.extend_from_slice(&[0, high, low, VERSION | *kind as u8]);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&[0; 4]); // checksum and SORT
    out.extend_from_slice(&packet.sync.to_be_bytes());
    out.extend_from_slice(&packet.seq.to_be_bytes());
    if kind.is_control() {
        out.extend_from_slice(&packet.rseq.to_be_bytes());
        out.extend_from_slice(&packet.alloc.to_be_bytes());
        out.extend_from_slice(&packet.echo.to_be_bytes());
    }
    match kind {
        Kind::Data | Kind::Cntl => {}
        Kind::First => {
            write_addresses(addresses, ports, out);
            write_traffic(packet.traffic, out);
        }
        Kind::Ecntl => {
            let spans = packet.spans();
            #[expect(clippy::cast_possible_truncation, reason = "spans fit an IP packet")]
            out.extend_from_slice(&(spans.len() as u32).to_be_bytes());
            for span in spans {
                out.extend_from_slice(&span.left.to_be_bytes());
                out.extend_from_slice(&span.right.to_be_bytes());
            }
        }
        Kind::Tcntl => {
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&key(ports));
            write_traffic(packet.traffic, out);
        }
    }
    out.resize(out.len() + usize::from(packet.payload), 0);
    let checksum = internet_checksum(&out[start..]).to_be_bytes();
    out[start..][CHECKSUM].copy_from_slice(&checksum);
}

/// The address segment: its length, domain and format, destination and source, and the ports.
fn write_addresses(addresses: Addresses, ports: (u16, u16), out: &mut Vec<u8>) {
    match addresses {
        Addresses::V4(source, destination) => {
            out.extend_from_slice(&[0, 16, 0, INET]);
            out.extend_from_slice(&destination.octets());
            out.extend_from_slice(&source.octets());
        }
        Addresses::V6(source, destination) => {
            out.extend_from_slice(&[0, 40, 0, INET6]);
            out.extend_from_slice(&destination.octets());
            out.extend_from_slice(&source.octets());
        }
    }
    out.extend_from_slice(&ports.1.to_be_bytes());
    out.extend_from_slice(&ports.0.to_be_bytes());
}

fn write_traffic(traffic: Traffic, out: &mut Vec<u8>) {
    out.extend_from_slice(&TRAFFIC.to_be_bytes());
    out.extend_from_slice(&[STREAM, RATES]);
    // The largest packet is left open.
    let Traffic { in_rate, in_burst, out_rate, out_burst } = traffic;
    for field in [0, in_rate, in_burst, out_rate, out_burst] {
        out.extend_from_slice(&field.to_be_bytes());
    }
}
