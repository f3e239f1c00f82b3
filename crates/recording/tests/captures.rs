//! Captures read back by parsers that know nothing of ours: Wireshark's and tcptrace's.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests; a skipped one says why")]

use std::fs::File;
use std::io::BufWriter;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::Command;

use recording::CaptureWriter;
use wire::tcp::flags::{ACK, FIN, PSH, SYN};
use wire::{Addresses, TcpPacket};

const MS: u64 = 1_000_000;
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// A packet of the server, port 80.
fn server() -> TcpPacket<'static> {
    TcpPacket {
        addresses: Addresses::V4(SERVER, CLIENT),
        source_port: 80,
        destination_port: 40_000,
        ttl: 64,
        flags: ACK,
        window: 512,
        ..TcpPacket::default()
    }
}

/// A packet of the client, port 40000.
fn client() -> TcpPacket<'static> {
    TcpPacket {
        addresses: Addresses::V4(CLIENT, SERVER),
        source_port: 40_000,
        destination_port: 80,
        ..server()
    }
}

/// First sequence number of the server, such that the sequence space wraps within the download.
const WRAPS: u32 = u32::MAX - 1999;

/// A download over 250 ms each way that loses one segment, seen at the server, whose first sequence
/// number is `s`. No ECN flags, which tcptrace takes for reserved bits.
fn conversation(s: u32, sack: &[(u32, u32); 2]) -> Vec<(u64, TcpPacket<'_>)> {
    let i = 5_000;
    let opening = |packet: TcpPacket<'static>| TcpPacket {
        window: 65_535,
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        ..packet
    };
    let syn = TcpPacket { flags: SYN, sequence: i, ..opening(client()) };
    let syn_ack = TcpPacket { flags: SYN | ACK, sequence: s, ..opening(server()) };
    let data = |at: u32, sent: u32| TcpPacket {
        flags: ACK | PSH,
        sequence: (s + 1).wrapping_add(at),
        acknowledgement: i + 1,
        timestamps: Some((sent, 500)),
        payload_len: 1448,
        dscp_ecn: 2,
        ..server()
    };
    let ack = |at: u32, sent: u32| TcpPacket {
        sequence: i + 1,
        acknowledgement: (s + 1).wrapping_add(at),
        timestamps: Some((sent, 501)),
        ..client()
    };
    let fin = |packet: TcpPacket<'static>| TcpPacket { flags: FIN | ACK, payload_len: 0, ..packet };
    vec![
        (250 * MS, TcpPacket { timestamps: Some((1, 0)), ..syn }),
        (251 * MS, TcpPacket { timestamps: Some((500, 1)), acknowledgement: i + 1, ..syn_ack }),
        (751 * MS, ack(0, 251)),
        (752 * MS + 1, data(0, 501)),
        (753 * MS + 12, data(1448, 502)),
        (754 * MS + 123, data(2896, 503)),
        (755 * MS, TcpPacket { payload_len: 1001, ..data(4344, 504) }),
        (1252 * MS, ack(1448, 760)),
        (1254 * MS, TcpPacket { sack: &sack[..1], ..ack(1448, 761) }),
        (1255 * MS, TcpPacket { sack: &sack[1..], ..ack(1448, 762) }),
        (1256 * MS, data(1448, 1005)),
        (1757 * MS, ack(5345, 1260)),
        (1758 * MS, fin(data(5345, 1500))),
        (2258 * MS, fin(ack(5346, 1760))),
        (
            2259 * MS,
            TcpPacket { sequence: s.wrapping_add(5347), acknowledgement: i + 2, ..server() },
        ),
    ]
}

/// The same packet over IPv6, between fd00::1 and fd00::2.
fn over_ipv6(packet: TcpPacket<'_>) -> TcpPacket<'_> {
    let ipv6 =
        |address: Ipv4Addr| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, u16::from(address.octets()[3]));
    let addresses = match packet.addresses {
        Addresses::V4(source, destination) => Addresses::V6(ipv6(source), ipv6(destination)),
        ipv6 @ Addresses::V6(..) => ipv6,
    };
    TcpPacket { addresses, ..packet }
}

fn write_capture(name: &str, s: u32, snaplen: u32) -> PathBuf {
    write_capture_of(name, s, snaplen, |packet| packet)
}

fn write_capture_of(
    name: &str,
    s: u32,
    snaplen: u32,
    change: fn(TcpPacket<'_>) -> TcpPacket<'_>,
) -> PathBuf {
    let edge = |at: u32| s.wrapping_add(1 + at);
    let sack = [(edge(2896), edge(4344)), (edge(2896), edge(5345))];
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let file = BufWriter::new(File::create(&path).unwrap());
    let names = ["server".to_owned(), "earth station".to_owned()];
    let mut capture = CaptureWriter::new(file, &names, snaplen).unwrap();
    let mut buffer = Vec::new();
    for (number, (time_ns, packet)) in conversation(s, &sack).into_iter().enumerate() {
        let packet = TcpPacket { identification: number as u16, ..change(packet) };
        let length = packet.write(snaplen as usize, &mut buffer);
        let interface = u32::from(packet.source_port == client().source_port);
        capture.packet(interface, time_ns, &buffer, length).unwrap();
    }
    capture.finish().unwrap();
    path
}

/// Output of a program; `None`, with the reason printed, when it is not installed. It must
/// neither fail nor complain.
fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = match Command::new(program).args(arguments).output() {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: {program} cannot be run ({error})");
            return None;
        }
    };
    let complaints: String = String::from_utf8_lossy(&output.stderr)
        .lines()
        .filter(|line| !line.starts_with("Running as user"))
        .collect();
    assert!(output.status.success() && complaints.is_empty(), "{program}: {complaints}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The fields of every packet as Wireshark sees them, with checksums verified.
fn tshark(path: &Path, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let path = path.to_str().unwrap();
    let mut arguments = vec!["-n", "-r", path, "-T", "fields"];
    arguments.extend(["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]);
    fields.iter().for_each(|field| arguments.extend(["-e", *field]));
    let text = run("tshark", &arguments)?;
    let rows = text.lines().map(|line| line.split('\t').map(str::to_owned).collect());
    Some(rows.collect())
}

fn column(rows: &[Vec<String>], number: usize) -> Vec<&str> {
    rows.iter().map(|row| row[number].as_str()).collect()
}

#[test]
fn wireshark_finds_every_checksum_good_and_nothing_malformed() {
    let path = write_capture("whole.pcapng", WRAPS, 0);
    let fields =
        ["ip.checksum.status", "tcp.checksum.status", "_ws.malformed", "_ws.expert.message"];
    let Some(rows) = tshark(&path, &fields) else { return };
    assert_eq!(rows.len(), 15);
    for row in &rows {
        assert_eq!(row[..3], ["1", "1", ""], "{row:?}");
        let bad = ["checksum", "malformed", "bogus", "Bogus", "option"];
        assert!(!bad.iter().any(|word| row[3].contains(word)), "{row:?}");
    }
}

#[test]
fn wireshark_reads_times_to_the_nanosecond_and_the_names_of_the_interfaces() {
    let path = write_capture("times.pcapng", WRAPS, 0);
    let Some(rows) = tshark(&path, &["frame.time_epoch", "frame.interface_name"]) else { return };
    assert_eq!(rows[3], ["0.752000001", "server"]);
    assert_eq!(rows[5], ["0.754000123", "server"]);
    assert_eq!(rows[7], ["1.252000000", "earth station"]);
}

#[test]
fn wireshark_reads_the_options_that_were_written() {
    let path = write_capture("options.pcapng", WRAPS, 0);
    let fields = [
        "tcp.options.mss_val",
        "tcp.options.wscale.shift",
        "tcp.options.sack_perm",
        "tcp.options.timestamp.tsval",
        "tcp.options.sack_le",
        "tcp.options.sack_re",
        "tcp.window_size",
        "ip.dsfield.ecn",
    ];
    let Some(rows) = tshark(&path, &fields) else { return };
    assert_eq!(rows[0][..2], ["1460", "7"]);
    assert!(!rows[0][2].is_empty(), "no SACK permitted");
    assert_eq!(column(&rows, 3)[..4], ["1", "500", "251", "501"]);
    // Wireshark counts from the initial sequence number.
    assert_eq!(rows[8][4..6], ["2897", "4345"]);
    assert_eq!(rows[9][4..6], ["2897", "5346"]);
    assert_eq!(rows[3][6..], ["65536", "2"]); // 512 times 2^7; ECT(0)
}

#[test]
fn wireshark_follows_the_connection_across_the_wrap_to_its_end() {
    let path = write_capture("analysis.pcapng", WRAPS, 0);
    let fields = ["tcp.seq", "tcp.len", "tcp.analysis.retransmission", "tcp.analysis.flags"];
    let Some(rows) = tshark(&path, &fields) else { return };
    assert_eq!(column(&rows, 0)[3..7], ["1", "1449", "2897", "4345"]);
    let again: Vec<usize> = (0..rows.len()).filter(|row| !rows[*row][2].is_empty()).collect();
    assert_eq!(again, [10], "the one retransmission");
    assert_eq!(rows.last().unwrap()[..2], ["5347", "0"]);
}

#[test]
fn a_short_capture_keeps_the_headers_and_the_true_lengths() {
    let path = write_capture("short.pcapng", WRAPS, 96);
    let fields = ["frame.len", "frame.cap_len", "tcp.len", "ip.checksum.status", "_ws.malformed"];
    let Some(rows) = tshark(&path, &fields) else { return };
    assert_eq!(rows[3], ["1500", "96", "1448", "1", ""]);
    assert_eq!(rows[0][..2], ["60", "60"]);
}

#[test]
fn wireshark_follows_a_connection_over_ipv6_and_finds_every_checksum_good() {
    let path = write_capture_of("ipv6.pcapng", WRAPS, 128, over_ipv6);
    let fields = [
        "ipv6.src",
        "ipv6.plen",
        "ipv6.tclass.ecn",
        "ipv6.hlim",
        "tcp.seq",
        "tcp.len",
        "tcp.checksum.status",
        "tcp.analysis.retransmission",
        "_ws.malformed",
        "_ws.expert.message",
    ];
    let Some(rows) = tshark(&path, &fields) else { return };
    assert_eq!(rows.len(), 15);
    assert_eq!(rows[0][..6], ["fd00::2", "40", "0", "64", "0", "0"]);
    assert_eq!(rows[4][..6], ["fd00::1", "1480", "2", "64", "1449", "1448"]);
    let again: Vec<usize> = (0..rows.len()).filter(|row| !rows[*row][7].is_empty()).collect();
    assert_eq!(again, [10], "the one retransmission");
    // What the cut packets do not hold cannot be summed; those without data are whole.
    let whole = rows.iter().filter(|row| row[5] == "0");
    assert!(whole.clone().count() > 8 && whole.clone().all(|row| row[6] == "1"), "{rows:?}");
    assert!(rows.iter().all(|row| row[8].is_empty() && !row[9].contains("ogus")), "{rows:?}");
}

#[test]
fn tcptrace_reads_the_connection_without_complaint() {
    // Where the sequence space wraps, tcptrace takes every SACK for a duplicate one.
    let path = write_capture("tcptrace.pcapng", 1, 0);
    let pcap = path.with_extension("pcap");
    // tcptrace knows no pcapng, only its predecessor.
    let (from, to) = (path.to_str().unwrap(), pcap.to_str().unwrap());
    let Some(_) = run("editcap", &["-F", "pcap", from, to]) else { return };
    let Some(text) = run("tcptrace", &["-n", "-l", to]) else { return };
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "15 packets seen, 15 TCP packets traced",
        "complete conn: yes",
        "unique bytes sent: 0 unique bytes sent: 5345",
        "rexmt data pkts: 0 rexmt data pkts: 1",
        "sack pkts sent: 2 sack pkts sent: 0 dsack pkts sent: 0",
        "req 1323 ws/ts: Y/Y req 1323 ws/ts: Y/Y",
        "mss requested: 1460 bytes mss requested: 1460 bytes",
    ] {
        assert!(flat.contains(expected), "no \"{expected}\" in\n{text}");
    }
}
