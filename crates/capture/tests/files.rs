//! Formats of files, link types, and files that are none.

#![allow(clippy::unwrap_used, reason = "tests")]

mod build;

use std::io::Write;
use std::net::Ipv6Addr;

use build::{ETHERNET, MSS, Pcap, RAW, Step, Talk, read};
use flate2::Compression;
use flate2::write::GzEncoder;
use wire::{Addresses, TcpPacket};

const IPV4: [u8; 2] = [8, 0];

/// A header before IP: link type, bytes, and a name for messages.
fn headers() -> Vec<(&'static str, u32, Vec<u8>)> {
    let ethernet = |rest: &[u8]| [&[1; 12], rest].concat();
    vec![
        ("raw", RAW, vec![]),
        ("raw of OpenBSD", 14, vec![]),
        ("IPv4", 228, vec![]),
        ("Ethernet", ETHERNET, ethernet(&IPV4)),
        ("VLAN", ETHERNET, ethernet(&[0x81, 0, 0, 5, 8, 0])),
        ("two VLANs", ETHERNET, ethernet(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0])),
        ("PPPoE", ETHERNET, ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 42, 0, 0x21])),
        ("Linux cooked", 113, [&[0; 14][..], &IPV4].concat()),
        ("Linux cooked 2", 276, [&IPV4[..], &[0; 18]].concat()),
        ("NULL", 0, vec![2, 0, 0, 0]),
        ("LOOP", 108, vec![0, 0, 0, 2]),
    ]
}

fn transfer() -> Vec<Step> {
    let mut steps: Vec<Step> = (0..5).map(|n| Step::data(30.0, 1 + n * MSS, MSS)).collect();
    steps.push(Step::ack(50.0, 1 + 5 * MSS));
    steps
}

/// A capture with a header before each packet, of which at most `kept` bytes are captured.
fn behind(link: u32, header: &[u8], kept: usize) -> Vec<u8> {
    let mut talk = Talk::open();
    let mut pcap = Pcap::new(link);
    let mut at = 24;
    talk.all(transfer());
    while at < talk.pcap.0.len() {
        let word = |place: usize| {
            u32::from_le_bytes(talk.pcap.0[at + place..at + place + 4].try_into().unwrap())
        };
        let time = u64::from(word(0)) * 1_000_000_000 + u64::from(word(4));
        let captured = word(8) as usize;
        let bytes = [header, &talk.pcap.0[at + 16..at + 16 + captured]].concat();
        let length = word(12) + u32::try_from(header.len()).unwrap();
        pcap.packet(time, &bytes[..bytes.len().min(kept)], length);
        at += 16 + captured;
    }
    pcap.0
}

#[test]
fn all_link_types_give_the_same_connection() {
    let plain = read(&behind(RAW, &[], 1000)).unwrap();
    assert_eq!(plain.connections[0].to_server.bytes, 5 * u64::from(MSS));
    for (name, link, header) in headers() {
        assert_eq!(read(&behind(link, &header, 1000)).unwrap(), plain, "{name}");
        // All headers of TCP without its options, as a short snap length keeps them.
        let cut = read(&behind(link, &header, header.len() + 40)).unwrap();
        assert_eq!(cut.connections[0].to_server.bytes, 5 * u64::from(MSS), "{name}");
        assert_eq!(cut.connections[0].to_server.rtt_samples, 1, "{name}");
        let none = read(&behind(link, &header, header.len() + 30)).unwrap_err().to_string();
        assert_eq!(none, "expected packets of TCP, found 9 other packets", "{name}");
    }
}

#[test]
fn ipv6_and_segments_without_a_length_are_read() {
    let hosts = [Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1), Ipv6Addr::LOCALHOST];
    let packet = TcpPacket {
        addresses: Addresses::V6(hosts[0], hosts[1]),
        source_port: 1,
        destination_port: 2,
        sequence: 5,
        flags: wire::tcp::flags::ACK,
        payload_len: 60_000,
        ..TcpPacket::default()
    };
    let mut bytes = Vec::new();
    let length = packet.write(100, &mut bytes);
    for without_length in [false, true] {
        let mut pcap = Pcap::new(ETHERNET);
        if without_length {
            bytes[4..6].fill(0);
        }
        let frame = [&[1; 12][..], &[0x86, 0xdd], &bytes].concat();
        pcap.packet(build::time(0.0), &frame, length + 14);
        let record = read(&pcap.0).unwrap();
        assert_eq!(record.connections[0].client, "[fd00::1]:1");
        assert_eq!(record.connections[0].to_server.bytes, 60_000);
    }
}

/// Order of the bytes in a section of pcapng.
#[derive(Clone, Copy, Debug)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn word(self, word: u32) -> [u8; 4] {
        match self {
            Self::Little => word.to_le_bytes(),
            Self::Big => word.to_be_bytes(),
        }
    }

    fn short(self, short: u16) -> [u8; 2] {
        match self {
            Self::Little => short.to_le_bytes(),
            Self::Big => short.to_be_bytes(),
        }
    }

    fn long(self, long: i64) -> [u8; 8] {
        match self {
            Self::Little => long.to_le_bytes(),
            Self::Big => long.to_be_bytes(),
        }
    }

    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let padded = body.len().next_multiple_of(4);
        let length = self.word(u32::try_from(padded + 12).unwrap());
        let mut bytes = [&self.word(kind)[..], &length, body].concat();
        bytes.resize(8 + padded, 0);
        bytes.extend(length);
        bytes
    }

    fn section(self) -> Vec<u8> {
        let version = [self.short(1), self.short(0)].concat();
        self.block(0x0a0d_0d0a, &[&self.word(0x1a2b_3c4d)[..], &version, &[0xff; 8]].concat())
    }

    fn interface(self, link: u32, options: &[u8]) -> Vec<u8> {
        let link = self.short(u16::try_from(link).unwrap());
        self.block(1, &[&link[..], &[0; 6], options].concat())
    }

    /// An option of an interface, and the end of its options.
    fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        let length = self.short(u16::try_from(value.len()).unwrap());
        let mut bytes = [&self.short(code)[..], &length, value].concat();
        bytes.resize(bytes.len().next_multiple_of(4) + 4, 0);
        bytes
    }

    fn packet(self, interface: u32, ticks: u64, bytes: &[u8], length: u32) -> Vec<u8> {
        let (high, low) = ((ticks >> 32) as u32, ticks as u32);
        let words = [interface, high, low, u32::try_from(bytes.len()).unwrap(), length];
        let words: Vec<u8> = words.iter().flat_map(|word| self.word(*word)).collect();
        self.block(6, &[&words[..], bytes].concat())
    }
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    Order::Little.block(kind, body)
}

fn section() -> Vec<u8> {
    Order::Little.section()
}

fn interface(link: u32, options: &[u8]) -> Vec<u8> {
    Order::Little.interface(link, options)
}

fn packet(interface: u32, ticks: u64, bytes: &[u8], length: u32) -> Vec<u8> {
    Order::Little.packet(interface, ticks, bytes, length)
}

#[test]
fn interfaces_have_resolutions_and_offsets_of_their_own() {
    interfaces_of(Order::Little);
    interfaces_of(Order::Big);
}

fn interfaces_of(order: Order) {
    // µs by default, ns, 2^-20 s, and µs with an offset of 1000 s.
    let options = [
        vec![],
        order.option(9, &[9]),
        order.option(9, &[0x80 | 20]),
        order.option(14, &order.long(1000)),
    ];
    let ticks: [fn(f64) -> u64; 4] = [
        |s| (s * 1e6) as u64,
        |s| (s * 1e9) as u64,
        |s| (s * 1_048_576.0) as u64,
        |s| ((s - 1000.0) * 1e6) as u64,
    ];
    let mut file = order.section();
    options.iter().for_each(|options| file.extend(order.interface(RAW, options)));
    let mut talk = Talk::new();
    for round in 0..40_u32 {
        let (bytes, length) = talk.bytes(Step::data(0.0, 1 + round * MSS, MSS));
        let number = round as usize % 4;
        let at_s = 5000.0 + f64::from(round) / 64.0;
        file.extend(order.packet(round % 4, ticks[number](at_s), &bytes, length));
    }
    let record = read(&file).unwrap();
    assert_eq!(record.started_s, 5000.0);
    assert!((record.duration_s - 39.0 / 64.0).abs() < 2e-6, "{record:?}");
    assert!(record.warnings.is_empty(), "{:?}", record.warnings);
    assert!((record.connections[0].to_server.longest_gap_s - 1.0 / 64.0).abs() < 2e-6);
}

#[test]
fn other_interfaces_and_packets_without_time_are_warnings() {
    let mut file = [section(), interface(RAW, &[]), interface(127, &[])].concat();
    let (bytes, length) = Talk::new().bytes(Step::data(0.0, 1, MSS));
    file.extend(packet(1, 5, &bytes, length));
    file.extend(packet(0, 6, &bytes, length));
    file.extend(block(3, &[&length.to_le_bytes()[..], &bytes].concat()));
    let record = read(&file).unwrap();
    assert_eq!(
        record.warnings,
        [
            "packet 1: link type 127 (IEEE 802.11 with radiotap) is not read; 1 packets are left out",
            "1 packets without a time are left out",
        ]
    );
    assert_eq!((record.packets, record.tcp_packets), (3, 1));
}

#[test]
fn a_file_that_is_cut_anywhere_gives_what_is_before() {
    let whole = behind(ETHERNET, &[&[1; 12][..], &IPV4].concat(), 1000);
    let first = 24 + 16 + u32::from_le_bytes(whole[32..36].try_into().unwrap()) as usize;
    let mut warned = 0;
    for length in 0..whole.len() {
        match read(&whole[..length]) {
            Ok(record) => {
                assert!(length >= first);
                let next = record.packets + 1;
                let cut = format!(
                    "packet {next}: expected a whole packet, found the end of the file; the results end before it"
                );
                warned += usize::from(record.warnings == [cut]);
                assert!(record.warnings.len() <= 1, "{:?}", record.warnings);
            }
            Err(error) => {
                assert!(length < first, "{length}: {error}");
                assert!(error.to_string().contains("expected"), "{error}");
            }
        }
    }
    assert!(warned > 500, "{warned}");
}

#[test]
fn invalid_lengths_end_the_results() {
    let mut file = behind(RAW, &[], 1000);
    let packets = read(&file).unwrap().packets;
    file.extend([0xff; 40]);
    let record = read(&file).unwrap();
    assert_eq!(record.packets, packets);
    assert!(record.warnings[0].starts_with(&format!("packet {}: expected", packets + 1)));
}

#[test]
fn gzip_is_read_also_if_it_is_cut() {
    let plain = behind(RAW, &[], 1000);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&plain).unwrap();
    let packed = encoder.finish().unwrap();
    assert_eq!(read(&packed).unwrap(), read(&plain).unwrap());
    let cut = read(&packed[..packed.len() - 12]);
    assert!(cut.is_err() || !cut.unwrap().warnings.is_empty());
}

#[test]
fn files_that_are_no_captures_are_named() {
    let udp = {
        let mut pcap = Pcap::new(RAW);
        let (mut bytes, length) = Talk::new().bytes(Step::new(0.0, true));
        bytes[9] = 17;
        pcap.packet(0, &bytes, length);
        pcap.0
    };
    let mut radiotap = Pcap::new(127);
    radiotap.packet(0, &[0; 100], 100);
    let cases: [(&[u8], &str); 10] = [
        (b"", "expected a capture in pcapng or pcap, found an empty file"),
        (b"time,rtt\n1,2\n", "found a text that begins with \"time\""),
        (&[0x7f, b'E', b'L', b'F', 2], "found a file that begins with the bytes 7f 45 4c 46"),
        (&[0x28, 0xb5, 0x2f, 0xfd, 0], "one compressed with zstd; decompress it with `zstd -d`"),
        (&[0xfd, b'7', b'z', b'X'], "`xz -d`"),
        (b"snoop\0\0\0", "editcap -F pcapng"),
        (&Pcap::new(RAW).0, "expected packets of TCP, found a capture without packets"),
        (&Pcap::new(RAW).0[..20], "packet 1: expected a whole packet, found the end of the file"),
        (&udp, "expected packets of TCP, found 1 other packets (UDP 1)"),
        (
            &radiotap.0,
            "packet 1: expected packets of Ethernet, raw IP, Linux cooked, loopback or PPPoE, \
                       found link type 127 (IEEE 802.11 with radiotap)",
        ),
    ];
    for (content, expected) in cases {
        let error = read(content).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Bytes that are changed at random give results or an error, and no panic.
#[test]
fn damaged_captures_are_read_or_refused() {
    let mut state = 1_u64;
    let mut below = |end: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % end
    };
    let vlan = [&[1; 12][..], &[0x81, 0, 0, 5, 8, 0]].concat();
    let mut whole = section();
    whole.extend(interface(ETHERNET, &[9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]));
    let mut talk = Talk::open();
    for (at, step) in transfer().into_iter().enumerate() {
        let (bytes, length) = talk.bytes(Step { sack: Some((10, 20)), ..step });
        whole.extend(packet(0, at as u64 * 1_000_000, &[&vlan[..], &bytes].concat(), length + 18));
    }
    let (mut read_well, file) = (0, build::Temporary::new(&[]));
    for _ in 0..1000 {
        let mut damaged = whole.clone();
        for _ in 0..=below(4) {
            let place = below(damaged.len());
            damaged[place] = [0, 1, 0x7f, 0x80, 0xff, below(256) as u8][below(6)];
        }
        std::fs::write(&file.0, &damaged).unwrap();
        if let Ok(record) = capture::read(&file.0, |_| true) {
            read_well += 1;
            let request = capture::Request {
                connection: 1,
                to_server: true,
                from_s: 0.0,
                to_s: record.duration_s,
            };
            capture::graphs(&file.0, &[request], |_| true).unwrap();
        }
    }
    assert!(read_well > 250, "{read_well}");
}
