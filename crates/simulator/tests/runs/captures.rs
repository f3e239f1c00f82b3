//! Captures of all protocols: lengths, checksums, and what Wireshark makes of them.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::{env, fs, io, process};

use quic::{KeyLogWriter, Logs, Sink, Traces};
use recording::Recording;
use scenario::{Loaded, Scenario};
use simulator::{Capture, Observed, Options};
use transport::Protocol;
use wire::Addresses;

use super::gateways::between;
use super::parse;
use super::proxy::flow;

/// A download over a lossy link whose queue marks packets, with `transport` and `traffic` as TOML.
fn lossy(ip: &str, transport: &str, traffic: &str) -> Scenario {
    parse(&lossy_text(ip, transport, traffic))
}

fn lossy_text(ip: &str, transport: &str, traffic: &str) -> String {
    let mut others = Protocol::ALL.iter().filter(|protocol| !protocol.takes_controller());
    let takes_none = others.any(|one| transport.contains(&format!("{:?}", one.name())));
    let controller = if takes_none { "none" } else { "reno" };
    format!(
        r#"
duration = "60s"
ip = "{ip}"
[[link]]
between = ["server", "client"]
rate = "2Mbit/s"
delay = "50ms"
queue = {{ packets = 40 }}
ecn_marking = {{ packets = 5, weight = 1 }}
channel = {{ per = 0.03 }}
[[flow]]
from = "server"
to = "client"
controller = "{controller}"
transport = {{ {transport} }}
traffic = {{ {traffic} }}
"#
    )
}

fn captured(scenario: &Scenario) -> (Recording, Vec<u8>) {
    logged(scenario, Logs::default())
}

fn logged(scenario: &Scenario, logs: Logs) -> (Recording, Vec<u8>) {
    let mut bytes = Vec::new();
    let mut capture = Capture::new(&mut bytes, scenario).unwrap();
    let mut observer = |observed: &Observed<'_>| capture.observe(observed);
    let options = Options { observer: Some(&mut observer), logs, ..Options::default() };
    let recording = simulator::run(scenario, 1, options);
    capture.finish().unwrap();
    (recording, bytes)
}

/// A packet of a capture.
struct Packet {
    /// Its captured bytes, from the header of IP.
    bytes: Vec<u8>,
    /// Its whole length.
    length: usize,
}

/// The packets of a capture: its blocks of type 6.
fn packets(mut capture: &[u8]) -> Vec<Packet> {
    let mut packets = Vec::new();
    let word = |bytes: &[u8], number: usize| {
        u32::from_le_bytes(bytes[4 * number..4 * number + 4].try_into().unwrap()) as usize
    };
    while !capture.is_empty() {
        if word(capture, 0) == 6 {
            let bytes = capture[28..28 + word(capture, 5)].to_vec();
            packets.push(Packet { bytes, length: word(capture, 6) });
        }
        capture = &capture[word(capture, 1)..];
    }
    packets
}

impl Packet {
    fn word(&self, at: usize) -> usize {
        u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]]).into()
    }

    /// Returns true if it is one of IPv4.
    fn is_ipv4(&self) -> bool {
        self.bytes[0] >> 4 == 4
    }

    fn addresses(&self) -> Addresses {
        let octets = |at: usize| <[u8; 16]>::try_from(&self.bytes[at..at + 16]).unwrap();
        let four = |at: usize| <[u8; 4]>::try_from(&self.bytes[at..at + 4]).unwrap();
        match self.is_ipv4() {
            true => Addresses::V4(four(12).into(), four(16).into()),
            false => Addresses::V6(octets(8).into(), octets(24).into()),
        }
    }

    /// Length of its IP header, length by that header, number of its protocol, and bits of ECN.
    fn header(&self) -> (usize, usize, u8, u8) {
        match self.is_ipv4() {
            true => (20, self.word(2), self.bytes[9], self.bytes[1] & 3),
            false => (40, 40 + self.word(4), self.bytes[6], self.bytes[1] >> 4 & 3),
        }
    }

    /// Bytes after the header of IP. Payload that the capture does not have is zeros.
    fn content(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes.resize(self.length, 0);
        bytes.split_off(self.header().0)
    }

    fn is_of_server(&self) -> bool {
        match self.addresses() {
            Addresses::V4(source, _) => source == Ipv4Addr::new(10, 0, 0, 1),
            Addresses::V6(source, _) => source == Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1),
        }
    }
}

/// Protocol number in a capture (IANA). One without a number of its own has one of the two for
/// experiments (RFC 3692 section 2.1), as each protocol that is missing here.
fn numbers(protocol: Protocol) -> &'static [u8] {
    match protocol {
        Protocol::Tcp | Protocol::ScpsTp => &[6],
        Protocol::Quic | Protocol::Udp => &[17],
        Protocol::Xtp => &[36],
        Protocol::Sctp => &[132],
        _ => &[253, 254],
    }
}

/// The table of `transport`.
fn transport(protocol: Protocol) -> String {
    let more = match protocol {
        Protocol::Tcp => ", ecn = true",
        Protocol::Xtp => r#", xtp = { rate = "1.8Mbit/s" }"#,
        _ => "",
    };
    format!("protocol = {:?}{more}", protocol.entry().name)
}

#[test]
fn packets_of_each_protocol_have_their_lengths_and_valid_checksums() {
    for (protocol, ip) in Protocol::ALL.iter().flat_map(|one| [(*one, "ipv4"), (*one, "ipv6")]) {
        let traffic = match protocol.entry().has_stream {
            true => r#"download = "300kB""#,
            false => r#"messages = { answer = "1000B", interval = "20ms", count = 500 }"#,
        };
        let (recording, bytes) = captured(&lossy(ip, &transport(protocol), traffic));
        assert!(recording.flows[0].completed, "{protocol:?}: {:?}", recording.flows[0]);
        let all = packets(&bytes);
        for packet in &all {
            let (header, length, found, _) = packet.header();
            assert_eq!(length, packet.length, "{protocol:?}");
            assert!(numbers(protocol).contains(&found), "{protocol:?}: {found}");
            assert_eq!(packet.is_ipv4(), ip == "ipv4");
            assert!(packet.bytes.len() == packet.length || packet.bytes.len() == 128);
            let content = packet.content();
            // XTP and SCTP have no pseudo header.
            let is_valid = match protocol {
                Protocol::Xtp => wire::internet_checksum(&content) == 0,
                Protocol::Sctp => {
                    let zeroed = [&content[..8], &[0; 4], &content[12..]].concat();
                    wire::crc32c(&zeroed).to_le_bytes() == content[8..12]
                }
                _ => packet.addresses().checksum(found, &content) == 0,
            };
            assert!(is_valid, "{protocol:?}");
            assert_eq!(content.len() + header, packet.length);
        }
        let [from_server, to_server]: [Vec<_>; 2] =
            [true, false].map(|is| all.iter().filter(|one| one.is_of_server() == is).collect());
        let [forward, back] = &recording.links[..] else { panic!("{:?}", recording.links) };
        // Each packet once: as it leaves the server, and as it arrives there.
        assert_eq!(to_server.len() as u64, back.delivered_packets, "{protocol:?}");
        let bytes: usize = to_server.iter().map(|packet| packet.length).sum();
        assert_eq!(bytes as u64, back.delivered_bytes, "{protocol:?}");
        let arrived = forward.delivered_packets + forward.dropped_packets;
        let under_way = from_server.len() as u64 - arrived - forward.corrupted_packets;
        assert!(forward.corrupted_packets > 0 && under_way <= 41, "{protocol:?}: {under_way}");
    }
}

/// RFC 3168 section 5: a capture has the code point of a packet where it is captured. The queue of
/// the slow way back marks packets with ACKs, which quinn sends as ECN-capable.
#[test]
fn marks_are_in_packets_that_arrive_and_not_in_those_that_leave() {
    let text = lossy_text("ipv4", r#"protocol = "quic""#, r#"download = "300kB""#);
    let slow = "delay = \"50ms\"\nbackward = { rate = \"15kbit/s\" }";
    let (_, bytes) = captured(&parse(&text.replace("delay = \"50ms\"", slow)));
    let all = packets(&bytes);
    let seen = |of_server: bool, ecn: u8| {
        let those = all.iter().filter(|packet| packet.is_of_server() == of_server);
        those.filter(|packet| packet.header().3 == ecn).count()
    };
    assert!(seen(true, 2) > 0 && seen(true, 3) == 0 && seen(false, 3) > 0, "{}", seen(false, 3));
}

#[test]
fn pdus_of_stp_are_read_back() {
    let (recording, bytes) =
        captured(&lossy("ipv4", &transport(Protocol::Stp), r#"download = "300kB""#));
    let read = |packet: &Packet| {
        let pdu = stp::Pdu::read(packet.addresses(), &packet.content());
        let pdu = pdu.expect("a PDU");
        let (data, other) =
            if packet.is_of_server() { pdu.ports } else { (pdu.ports.1, pdu.ports.0) };
        assert!(data == 5001 && other >= 49_152, "{pdu:?}");
        pdu.packet
    };
    let all = packets(&bytes);
    let pdus: Vec<_> = all.iter().map(|packet| (packet.is_of_server(), read(packet))).collect();
    let of = |is_of_server: bool, kind: stp::Kind| {
        let those = pdus.iter().filter(|(by, one)| (*by, one.kind) == (is_of_server, kind));
        those.count() as u64
    };
    let counts = recording.flows[0].protocol.stp().unwrap();
    assert_eq!(of(true, stp::Kind::Data), counts.segments_sent);
    assert!(counts.segments_retransmitted > 0 && of(false, stp::Kind::Ustat) > 0);
    assert!(of(false, stp::Kind::Stat) > 0 && of(false, stp::Kind::Stat) <= counts.stats_sent);
}

/// The fields that tshark prints of each packet of `capture`, `None` without tshark.
fn tshark(name: &str, capture: &[u8], arguments: &[&str], fields: &[&str]) -> Option<Vec<String>> {
    let file = format!("bentpipe-{name}-{}.pcapng", process::id());
    let path: PathBuf = env::temp_dir().join(file);
    fs::write(&path, capture).unwrap();
    let fields = fields.iter().flat_map(|field| ["-e", field]);
    let ran = Command::new("tshark")
        .args(["-n", "-T", "fields"])
        .args(arguments)
        .args(fields)
        .arg("-r")
        .arg(&path)
        .output();
    fs::remove_file(&path).unwrap();
    let Ok(ran) = ran else {
        drop(writeln!(io::stderr(), "skipped in part: tshark is missing"));
        return None;
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(String::from_utf8(ran.stdout).unwrap().lines().map(str::to_owned).collect())
}

/// Wireshark has a dissector of XTP 4.0. It compares lengths and checksums, and shows each field.
#[test]
fn wireshark_reads_packets_of_xtp() {
    let (recording, bytes) =
        captured(&lossy("ipv4", &transport(Protocol::Xtp), r#"download = "300kB""#));
    let fields = [
        "_ws.malformed",
        "xtp.cmd.ptype.ver",
        "xtp.checksum.status",
        "xtp.cmd.ptype.pformat",
        "xtp.ecntl.nspan",
        "xtp.spans_bad",
        "xtp.aseg.dstport",
        "xtp.tspec.outrate",
    ];
    let Some(lines) = tshark("xtp", &bytes, &[], &fields) else { return };
    let mut of_kind: BTreeMap<String, Vec<[String; 4]>> = BTreeMap::new();
    for line in &lines {
        let mut columns = line.split('\t').map(str::to_owned);
        let mut next = || columns.next().unwrap();
        assert_eq!([next(), next(), next()], ["", "1", "1"], "{line}");
        of_kind.entry(next()).or_default().push([next(), next(), next(), next()]);
    }
    let Some(counts) = recording.flows[0].protocol.xtp() else { panic!("no XTP") };
    let sent =
        |kind: xtp::Kind| of_kind.get(&(kind as u8).to_string()).cloned().unwrap_or_default();
    // The client opens the connection, and the server answers with its rate of 1.8 Mbit/s.
    let answers: Vec<_> = sent(xtp::Kind::Tcntl).into_iter().map(|[.., rate]| rate).collect();
    assert!(answers.contains(&"225000".to_owned()), "{answers:?}");
    assert!(sent(xtp::Kind::First).iter().any(|[_, _, port, _]| port == "5001"));
    assert_eq!(sent(xtp::Kind::Data).len() as u64, counts.segments_sent);
    let reports = sent(xtp::Kind::Ecntl);
    assert!(!reports.is_empty() && reports.len() as u64 <= counts.gap_reports_sent);
    for [spans, wrong, ..] in reports {
        assert!(spans.parse::<u32>().unwrap() > 0 && wrong.is_empty(), "{spans} {wrong}");
    }
}

/// Wireshark verifies CRC32c, and shows the chunks of each packet: as many as were counted.
#[test]
fn wireshark_reads_packets_of_sctp() {
    let (recording, bytes) =
        captured(&lossy("ipv4", &transport(Protocol::Sctp), r#"bulk = "300kB""#));
    let fields = ["_ws.malformed", "sctp.checksum.status", "sctp.chunk_type", "sctp.chunk_length"];
    let arguments = ["-o", "sctp.checksum:CRC 32c"];
    let Some(lines) = tshark("sctp", &bytes, &arguments, &fields) else { return };
    let mut chunks: BTreeMap<String, u64> = BTreeMap::new();
    for line in &lines {
        let columns: Vec<_> = line.split('\t').collect();
        assert_eq!(columns[..2], ["", "1"], "{line}");
        assert!(!columns[3].is_empty(), "{line}");
        for kind in columns[2].split(',') {
            *chunks.entry(kind.to_owned()).or_default() += 1;
        }
    }
    let of = |kind: sctp::Kind| chunks.get(&kind.number().to_string()).copied().unwrap_or(0);
    let Some(counts) = recording.flows[0].protocol.sctp() else { panic!("no SCTP") };
    assert_eq!(of(sctp::Kind::Data), counts.segments_sent);
    // A capture is that of the data sender: it lacks what the link has lost.
    let arrived = of(sctp::Kind::Sack);
    assert!(arrived > 10 && arrived <= counts.sacks_sent, "{arrived} of {}", counts.sacks_sent);
    for kind in [sctp::Kind::Init, sctp::Kind::InitAck, sctp::Kind::CookieEcho] {
        assert!(of(kind) > 0, "{chunks:?}");
    }
}

/// INIT and INIT ACK list the addresses of all paths, and each packet has that of its path.
#[test]
fn wireshark_reads_the_addresses_of_the_paths_of_sctp() {
    let link = |ends: [&str; 2], more: &str| {
        format!("[[link]]\nbetween = {ends:?}\nrate = \"2Mbit/s\"\ndelay = \"20ms\"\n{more}\n")
    };
    let outage = "event = [{ at = \"1s\", outage = \"20s\" }]";
    let flow = r#"[[flow]]
from = "server"
to = "client"
controller = "none"
transport = { protocol = "sctp", sctp = { paths = ["geo", "leo"], path_max_retries = 0 } }
traffic = { bulk = "3MB" }
"#;
    // The nodes have the first four addresses.
    let expected = [
        ("ipv4", "ip", ["10.0.0.5", "10.0.0.6", "10.0.0.7", "10.0.0.8"]),
        ("ipv6", "ipv6", ["fd00::5", "fd00::6", "fd00::7", "fd00::8"]),
    ];
    for (version, prefix, [first, second, third, fourth]) in expected {
        let links = [
            link(["server", "geo"], ""),
            link(["geo", "client"], outage),
            link(["server", "leo"], ""),
            link(["leo", "client"], ""),
        ];
        let head = format!("duration = \"60s\"\nip = \"{version}\"\n");
        let (_, bytes) = captured(&parse(&format!("{head}{}{flow}", links.concat())));
        let names = [
            "_ws.malformed".to_owned(),
            "sctp.checksum.status".to_owned(),
            format!("{prefix}.src"),
            format!("{prefix}.dst"),
            "sctp.chunk_type".to_owned(),
            format!("sctp.parameter_{version}_address"),
        ];
        let fields: Vec<_> = names.iter().map(String::as_str).collect();
        let arguments = ["-o", "sctp.checksum:CRC 32c"];
        let Some(lines) = tshark("sctp-paths", &bytes, &arguments, &fields) else { return };
        let mut data: BTreeMap<(String, String), u64> = BTreeMap::new();
        for line in &lines {
            let columns: Vec<_> = line.split('\t').collect();
            assert_eq!(columns[..2], ["", "1"], "{line}");
            match columns[4] {
                "1" => assert_eq!(columns[5], format!("{first},{second}"), "{line}"),
                "2" => assert_eq!(columns[5], format!("{third},{fourth}"), "{line}"),
                "0" => *data.entry((columns[2].into(), columns[3].into())).or_default() += 1,
                _ => {}
            }
        }
        let many = |from: &str, to: &str| {
            let count = data.get(&(from.to_owned(), to.to_owned())).copied().unwrap_or(0);
            assert!(count > 50, "{data:?}");
        };
        many(first, third);
        many(second, fourth);
        assert_eq!(data.len(), 2, "{data:?}");
    }
}

/// Keys of the first packets follow from their connection ID (RFC 9001 section 5.2), so Wireshark
/// finds both hellos.
#[test]
fn wireshark_takes_packets_of_quic_for_quic() {
    for transport in [r#"protocol = "quic""#, r#"protocol = "quic", quic = { zero_rtt = true }"#] {
        let (_, bytes) = captured(&lossy("ipv4", transport, r#"download = "50kB""#));
        let fields =
            ["_ws.malformed", "frame.protocols", "tls.handshake.type", "udp.checksum.status"];
        let arguments = ["-o", "udp.check_checksum:TRUE"];
        let Some(lines) = tshark("quic", &bytes, &arguments, &fields) else { return };
        assert_eq!(lines.len(), packets(&bytes).len());
        let mut types = String::new();
        for line in &lines {
            let columns: Vec<_> = line.split('\t').collect();
            assert!(columns[0].is_empty() && columns[1].starts_with("raw:ip:udp:quic"), "{line}");
            assert_eq!(columns[3], "1", "{line}");
            types = format!("{types}{},", columns[2]);
        }
        for hello in ["1", "2"] {
            assert!(types.split(',').any(|one| one == hello), "{types}");
        }
    }
}

/// Files in memory, by name.
#[derive(Clone, Debug, Default)]
struct Files(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Files {
    fn open(&self, name: &str) -> File {
        self.0.lock().unwrap().insert(name.to_owned(), Vec::new());
        File(self.clone(), name.to_owned())
    }

    fn take(&self, name: &str) -> Vec<u8> {
        self.0.lock().unwrap().remove(name).unwrap()
    }
}

struct File(Files, String);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.0.lock().unwrap().get_mut(&self.1).unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// With the key log, Wireshark reads every packet: the frames of the stream have all bytes, each at
/// its position.
#[test]
fn wireshark_decrypts_quic_with_the_key_log() {
    const BYTES: usize = 50_000;
    for transport in [r#"protocol = "quic""#, r#"protocol = "quic", quic = { zero_rtt = true }"#] {
        let files = Files::default();
        let keys = Arc::new(KeyLogWriter::new(files.open("keys")));
        let logs = Logs { keys: Some(keys.clone()), traces: None };
        let (recording, bytes) = logged(&lossy("ipv4", transport, r#"download = "50kB""#), logs);
        keys.finish().unwrap();
        let path = env::temp_dir().join(format!("bentpipe-keys-{}.log", process::id()));
        fs::write(&path, files.take("keys")).unwrap();
        let option = format!("tls.keylog_file:{}", path.display());
        let fields = ["ip.src", "quic.stream.stream_id", "quic.stream.offset", "quic.stream_data"];
        let arguments = ["-o", &option, "-Y", "quic.stream.stream_id"];
        let lines = tshark("decrypted", &bytes, &arguments, &fields);
        fs::remove_file(&path).unwrap();
        let Some(lines) = lines else { return };
        let mut has = vec![false; BYTES];
        let mut sent = 0;
        for line in &lines {
            let columns: Vec<_> = line.split('\t').collect();
            let [source, _, offset, data] = columns[..] else { panic!("{line}") };
            if source != "10.0.0.1" || data.is_empty() {
                continue;
            }
            let at: usize = offset.parse().unwrap_or(0);
            for (place, digits) in data.as_bytes().chunks(2).enumerate() {
                let byte = u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
                assert_eq!(usize::from(byte), (at + place) % 251, "{line}");
                has[at + place] = true;
            }
            sent += 1;
        }
        assert!(
            has.iter().all(|one| *one),
            "{} of {BYTES}",
            has.iter().filter(|one| **one).count()
        );
        assert_eq!(sent, recording.flows[0].protocol.quic().unwrap().segments_sent);
    }
}

/// Flows that share settings, and connections of one flow, have files of their own. What is logged
/// changes nothing.
#[test]
fn each_connection_has_its_traces() {
    let text = lossy_text("ipv4", r#"protocol = "quic""#, r#"download = "50kB""#);
    let scenario = parse(&text.replace("[[flow]]", "[[flow]]\nname = \"both\"\ncount = 2"));
    let files = Files::default();
    let opened = files.clone();
    let traces =
        Arc::new(Traces::new(move |name| -> io::Result<Sink> { Ok(Box::new(opened.open(name))) }));
    let (recording, capture) = logged(&scenario, Logs { keys: None, traces: Some(traces.clone()) });
    traces.finish().unwrap();
    let (plain, _) = captured(&scenario);
    assert_eq!(recording.digest(), plain.digest());
    let names: Vec<_> = files.0.lock().unwrap().keys().cloned().collect();
    let expected = [
        "qlog-0-0-client.sqlog",
        "qlog-0-0-server.sqlog",
        "qlog-1-1-client.sqlog",
        "qlog-1-1-server.sqlog",
    ];
    assert_eq!(names, expected);
    for (number, flow) in recording.flows.iter().enumerate() {
        let text =
            String::from_utf8(files.take(&format!("qlog-{number}-{number}-server.sqlog"))).unwrap();
        let count = |name: &str| text.matches(&format!("\"name\":\"{name}\"")).count() as u64;
        let lost = flow.protocol.quic().unwrap().segments_retransmitted;
        assert_eq!(count("recovery:packet_lost"), lost, "{flow:?}");
        // Packets of this connection in the capture, by its port.
        let port = 49_152 + number;
        let all = packets(&capture);
        let datagrams = all.iter().filter(|one| one.is_of_server() && one.word(22) == port).count();
        let sent = count("transport:packet_sent");
        assert!(sent >= datagrams as u64 && sent <= datagrams as u64 + 3, "{sent}, {datagrams}");
    }
}

/// A leg of QUIC between two gateways is in captures and logs as one between hosts, at the gateway
/// that sends the data.
#[test]
fn a_leg_of_quic_between_gateways_is_captured_and_logged() {
    let flows = flow("server", "client", "cubic", r#"download = "100kB""#);
    let scenario = parse(&between(r#"protocol = "quic""#, "", 0.01, &flows));
    let files = Files::default();
    let keys = Arc::new(KeyLogWriter::new(files.open("keys")));
    let opened = files.clone();
    let traces =
        Arc::new(Traces::new(move |name| -> io::Result<Sink> { Ok(Box::new(opened.open(name))) }));
    let logs = Logs { keys: Some(keys.clone()), traces: Some(traces.clone()) };
    let (recording, bytes) = logged(&scenario, logs);
    keys.finish().unwrap();
    traces.finish().unwrap();
    assert!(recording.flows[0].completed);
    assert_eq!(recording.digest(), captured(&scenario).0.digest());
    let all = packets(&bytes);
    let datagrams: Vec<_> = all.iter().filter(|one| one.header().2 == 17).collect();
    for datagram in &datagrams {
        assert_eq!(datagram.bytes.len(), datagram.length);
        assert_eq!(datagram.addresses().checksum(17, &datagram.content()), 0);
    }
    // The first gateway is the first node, as the server is above.
    let sent = datagrams.iter().filter(|one| one.is_of_server()).count();
    let [_, _, forward, back, ..] = &recording.links[..] else { panic!("{:?}", recording.links) };
    let arrived = forward.delivered_packets + forward.corrupted_packets + forward.dropped_packets;
    assert!(sent as u64 >= arrived && arrived > 100_000 / 1452, "{sent}, {arrived}");
    assert_eq!((datagrams.len() - sent) as u64, back.delivered_packets);
    // The middle leg is the second connection, and its client at the side of the hosts' client.
    assert!(files.take("keys").starts_with(b"CLIENT_HANDSHAKE_TRAFFIC_SECRET "));
    let server = String::from_utf8(files.take("qlog-0-1-server.sqlog")).unwrap();
    let count = server.matches("\"name\":\"transport:packet_sent\"").count();
    assert!((sent..sent + 5).contains(&count), "{count} of {sent}");
    files.take("qlog-0-1-client.sqlog");
    assert!(files.0.lock().unwrap().is_empty());
}

/// The length that most packets of one direction have, and of the longest. `is_first` is that of
/// the first packet.
fn lengths(packets: &[Packet], is_first: bool) -> (u64, u64) {
    let first = packets[0].addresses();
    let mut counts = BTreeMap::new();
    for packet in packets.iter().filter(|one| (one.addresses() == first) == is_first) {
        *counts.entry(packet.length as u64).or_insert(0) += 1;
    }
    let longest = counts.keys().copied().max().unwrap();
    (counts.into_iter().max_by_key(|(_, count)| *count).unwrap().0, longest)
}

/// Without losses, so that acknowledgements report no gaps.
#[test]
fn packets_are_as_long_as_explain_says() {
    for protocol in Protocol::ALL {
        for ip in ["ipv4", "ipv6"] {
            let name = protocol.name();
            // A rate, so that XTP takes as many round trips as the others.
            let rate =
                if protocol == Protocol::Xtp { ", xtp = { rate = \"1Mbit/s\" }" } else { "" };
            let transport = format!("protocol = \"{name}\"{rate}");
            let traffic = match protocol.entry().has_stream {
                true => r#"bulk = "600kB""#,
                false => "messages = { count = 20 }",
            };
            let text = lossy_text(ip, &transport, traffic).replace("0.03", "0");
            let text = text.replace("packets = 40", "packets = 4000");
            let Loaded { scenario, written, .. } = Loaded::parse(&text, "test.toml", &[]).unwrap();
            let (_, bytes) = captured(&scenario);
            let sent = packets(&bytes);
            // The end that has the data sends first, and with messages the other one.
            let has_stream = protocol.entry().has_stream;
            let (full, longest) = lengths(&sent, has_stream);
            let (ack, _) = lengths(&sent, !has_stream);
            let flow = &scenario.flows[0];
            let explained = explain::explain(&scenario, &written).flows[0].figures.packet_bytes;
            assert_eq!(explained, full, "{name} over {ip}");
            assert_eq!(scenario.longest_packet_bytes(flow), longest, "{name} over {ip}");
            assert_eq!(scenario.ack_bytes(flow), ack, "{name} over {ip}");
        }
    }
}
