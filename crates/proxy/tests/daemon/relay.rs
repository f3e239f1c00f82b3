//! The daemon relays: bytes, directions, addresses, settings. Real processes in namespaces.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::lab::{
    CLIENT, CLIENT6, Lab, PATIENCE, SERVER, SERVER_SIDE, SERVER6, assert_reads, bytes, digest,
    port, read_all, reset,
};
use rustix::net::SendFlags;
use rustix::process::Signal;

#[test]
fn every_byte_arrives_in_both_directions_and_both_families() {
    let Some(lab) = Lab::new() else { return };
    let _daemon = lab.proxy("threads = 2", "", "", "");
    for (number, (server, client)) in [(SERVER, CLIENT), (SERVER6, CLIENT6)].into_iter().enumerate()
    {
        let listener = lab.listen(server);
        let up = bytes(1, 6 << 20);
        let down = bytes(2, 4 << 20);
        let mut stream = lab.connect_to(server, port(&listener)).unwrap();
        let local = stream.local_addr().unwrap();
        let sent = down.clone();
        let receiver = thread::spawn(move || {
            let (mut stream, peer) = listener.accept().unwrap();
            let mut writer = stream.try_clone().unwrap();
            let sender = thread::spawn(move || {
                writer.write_all(&sent).unwrap();
                writer.shutdown(Shutdown::Write).unwrap();
            });
            let (received, error) = read_all(&mut stream);
            sender.join().unwrap();
            (received, error, peer)
        });
        let mut writer = stream.try_clone().unwrap();
        let to_send = up.clone();
        let sender = thread::spawn(move || {
            writer.write_all(&to_send).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let (got_down, error) = read_all(&mut stream);
        sender.join().unwrap();
        let (got_up, server_error, peer) = receiver.join().unwrap();
        assert_eq!((error, server_error), (None, None));
        assert_eq!((digest(&got_down), digest(&got_up)), (digest(&down), digest(&up)));
        // The server sees the client's address and port.
        assert_eq!((peer.ip().to_string().as_str(), peer.port()), (client, local.port()));
        lab.wait_for_metric("finished_total", number as u64 + 1);
    }
    lab.wait_for_metric("split_total", 2);
    lab.wait_for_metric("lost_bytes_total", 0);
    let page = lab.page();
    let both = 2 * (6 << 20);
    assert!(
        page.contains(&format!("received_bytes_total{{side=\"terrestrial\"}} {both}\n")),
        "{page}"
    );
    lab.wait_for_metric("held_bytes", 0);
    lab.wait_for_metric("open_connections", 0);
}

/// The thread that polls notices messages, turns at rates, and orders.
#[test]
fn a_thread_that_polls_relays_as_one_that_sleeps() {
    let Some(lab) = Lab::new() else { return };
    let rate = "rate = \"80Mbit/s\"\nburst = \"3kB\"";
    let daemon = lab.proxy("threads = 1\nbusy_poll = \"10ms\"", "", rate, "");
    let (mut client, mut server) = lab.pair();
    for number in 0..50 {
        let sent = bytes(number, 5000);
        client.write_all(&sent).unwrap();
        let mut received = vec![0; sent.len()];
        server.read_exact(&mut received).unwrap();
        assert!(received == sent, "message {number}");
    }
    lab.file("threads = 1", "", "", "");
    daemon.signal(Signal::HUP);
    daemon.wait_for("reloaded");
    client.shutdown(Shutdown::Write).unwrap();
    assert_reads(&mut server, &[], "the end");
}

#[test]
fn the_gateway_can_be_the_source() {
    let Some(lab) = Lab::new() else { return };
    let _daemon = lab.proxy("source = \"gateway\"", "", "", "");
    let (_client, server) = lab.pair();
    assert_eq!(server.peer_addr().unwrap().ip().to_string(), SERVER_SIDE);
}

#[test]
fn one_direction_ends_while_the_other_goes_on() {
    let Some(lab) = Lab::new() else { return };
    let _daemon = lab.proxy("", "", "", "");
    let (client, server) = lab.pair();
    for (mut first, mut second) in [(client, server), {
        let (c, s) = lab.pair();
        (s, c)
    }] {
        let question = bytes(3, 300_000);
        first.write_all(&question).unwrap();
        first.shutdown(Shutdown::Write).unwrap();
        let (received, error) = read_all(&mut second);
        assert_eq!((digest(&received), error), (digest(&question), None));
        let answer = bytes(4, 3_000_000);
        let to_send = answer.clone();
        let sender = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            second.write_all(&to_send).unwrap();
            // The second direction ends here, with its only socket.
        });
        let (received, error) = read_all(&mut first);
        assert_eq!((digest(&received), error), (digest(&answer), None));
        sender.join().unwrap();
    }
}

#[test]
fn a_refused_server_is_a_reset_and_no_hang() {
    let Some(lab) = Lab::new() else { return };
    let _daemon = lab.proxy("", "", "", "");
    let start = Instant::now();
    // The reset comes after the handshake, before connect(2) returns or later.
    let (received, error) = match lab.connect_to(SERVER, 9) {
        Ok(mut stream) => read_all(&mut stream),
        Err(error) => (Vec::new(), Some(error.kind())),
    };
    assert_eq!((received.len(), error), (0, Some(ErrorKind::ConnectionReset)));
    assert!(start.elapsed() < Duration::from_secs(3));
    lab.wait_for_metric("refused_by_server_total", 1);
}

#[test]
fn a_reset_is_passed_on_after_the_bytes_before_it() {
    let Some(lab) = Lab::new() else { return };
    let _daemon = lab.proxy("", "", "", "");
    let (client, server) = lab.pair();
    for (mut first, mut second) in [(client, server), {
        let (c, s) = lab.pair();
        (s, c)
    }] {
        let sent = bytes(5, 200_000);
        first.write_all(&sent).unwrap();
        thread::sleep(Duration::from_millis(100));
        reset(first);
        let (received, error) = read_all(&mut second);
        assert_eq!((digest(&received), error), (digest(&sent), Some(ErrorKind::ConnectionReset)));
    }
    lab.wait_for_metric("reset_total", 2);
    lab.wait_for_metric("lost_bytes_total", 0);
}

#[test]
fn a_stalled_server_stops_the_client_within_the_buffers() {
    let Some(lab) = Lab::new() else { return };
    let small = "send_buffer = \"64KiB\"\nreceive_buffer = \"64KiB\"";
    let _daemon = lab.proxy("", small, small, "");
    let (mut client, mut server) = lab.pair();
    client.set_nonblocking(true).unwrap();
    let sent = bytes(6, 24 << 20);
    let (mut written, mut last) = (0, Instant::now());
    while last.elapsed() < Duration::from_millis(700) {
        match client.write(&sent[written..]) {
            Ok(bytes) => {
                written += bytes;
                last = Instant::now();
            }
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
    // Relay and buffers of the proxy are below 1 MiB; the rest is the client's and the server's.
    assert!(written < 12 << 20, "{written} bytes were taken");
    assert!(lab.metric("held_bytes") <= 256 << 10);
    let rest = sent.clone();
    let sender = thread::spawn(move || {
        client.set_nonblocking(false).unwrap();
        client.write_all(&rest[written..]).unwrap();
    });
    let (received, error) = read_all(&mut server);
    sender.join().unwrap();
    assert_eq!((digest(&received), error), (digest(&sent), None));
}

#[test]
fn urgent_data_is_delivered_in_its_place() {
    let Some(lab) = Lab::new() else { return };
    let _daemon = lab.proxy("", "", "", "");
    let (mut client, mut server) = lab.pair();
    let reader = thread::spawn(move || {
        rustix::net::sockopt::set_socket_oobinline(&server, true).unwrap();
        read_all(&mut server)
    });
    // Before and after splice begins.
    let part = bytes(7, 400_000);
    let mut all = Vec::new();
    for _ in 0..3 {
        client.write_all(&part).unwrap();
        rustix::net::send(&client, b"!", SendFlags::OOB).unwrap();
        all.extend_from_slice(&part);
        all.push(b'!');
        thread::sleep(Duration::from_millis(50));
    }
    client.shutdown(Shutdown::Write).unwrap();
    let (received, error) = reader.join().unwrap();
    assert_eq!((received.len(), digest(&received), error), (all.len(), digest(&all), None));
}

#[test]
fn each_side_has_its_settings() {
    let Some(lab) = Lab::new() else { return };
    let satellite =
        "controller = \"bbr\"\npacing_rate = \"80Mbit/s\"\nmss = 1000\nkeepalive = \"100s\"";
    let subnet = "[[subnet]]\nprefix = \"10.1.0.0/25\"\nkeepalive = \"200s\"\n";
    let _daemon = lab.proxy("", "controller = \"reno\"", satellite, subnet);
    let (mut client, mut server) = lab.pair();
    client.write_all(&bytes(8, 100_000)).unwrap();
    server.write_all(&bytes(8, 100_000)).unwrap();
    let mut byte = [0; 100_000];
    server.read_exact(&mut byte).unwrap();
    client.read_exact(&mut byte).unwrap();
    let sockets = lab.gateway("ss -tinoH").unwrap();
    let leg = |local: &str| {
        let lines: Vec<_> = sockets.lines().collect();
        let at = lines.iter().position(|line| {
            line.starts_with("ESTAB") && line.split_whitespace().nth(3).unwrap().starts_with(local)
        });
        let at = at.unwrap_or_else(|| panic!("{local} in {sockets}"));
        lines[at..=at + 1].concat()
    };
    // The leg to the client has the server's address, and the other way round.
    let (terrestrial, satellite) = (leg(SERVER), leg(CLIENT));
    let has = |leg: &str, part: &str| assert!(leg.contains(part), "{part} in {leg}");
    has(&terrestrial, " reno ");
    has(&terrestrial, "mss:1448 "); // without 12 bytes of time stamps
    has(&terrestrial, "timer:(keepalive,3min");
    has(&satellite, " bbr ");
    has(&satellite, "mss:988 ");
    has(&satellite, "timer:(keepalive,1min");
    has(&satellite, "/80000000bps");
}

#[test]
fn the_dscp_of_the_client_is_copied() {
    let Some(lab) = Lab::new() else { return };
    let _daemon = lab.proxy("", "", "", "");
    let capture = |family: &str, value: &str| {
        lab.at_server("nft add table inet count").unwrap();
        lab.at_server("nft add chain inet count in { type filter hook input priority 0 ; }")
            .unwrap();
        let rule =
            format!("nft add rule inet count in {family} dscp {value} tcp flags syn counter");
        lab.at_server(&rule).unwrap();
    };
    capture("ip", "0x2e");
    let listener = lab.listen(SERVER);
    let address = listener.local_addr().unwrap();
    let stream = lab.inside("c", || {
        use rustix::net::{AddressFamily, SocketType, connect, socket, sockopt};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        sockopt::set_ip_tos(&socket, 0x2e << 2).unwrap();
        connect(&socket, &address).unwrap();
        socket
    });
    let _server = listener.accept().unwrap();
    let counted = lab.at_server("nft list table inet count").unwrap();
    assert!(counted.contains("counter packets 1 "), "{counted}");
    drop(stream);
}

/// Two threads have the connections. What waits is read and written first, and spliced later.
#[test]
fn connections_on_all_threads_share_a_rate_in_turns() {
    const CONNECTIONS: usize = 4;
    const BYTES: usize = 300_000;
    const BURST: f64 = 64_000.0;
    /// Bytes per second.
    const RATE: f64 = 1e6;
    let Some(lab) = Lab::new() else { return };
    let rate = "rate = \"8Mbit/s\"\nburst = \"64kB\"";
    let _daemon = lab.proxy("threads = 2", "", rate, "");
    let pairs: Vec<_> = (0..CONNECTIONS).map(|_| lab.pair()).collect();
    let received: Vec<_> = (0..CONNECTIONS).map(|_| AtomicUsize::new(0)).collect();
    let at_first_end = OnceLock::new();
    let start = Instant::now();
    thread::scope(|scope| {
        for (number, (mut client, mut server)) in pairs.into_iter().enumerate() {
            let (received, at_first_end) = (&received, &at_first_end);
            scope.spawn(move || {
                client.write_all(&bytes(number as u64, BYTES)).unwrap();
                client.shutdown(Shutdown::Write).unwrap();
                assert_reads(&mut client, &[], "the other direction");
            });
            scope.spawn(move || {
                let mut all = Vec::new();
                let mut part = [0; 1500];
                while let Ok(bytes @ 1..) = server.read(&mut part) {
                    received[number].fetch_add(bytes, Ordering::Relaxed);
                    all.extend_from_slice(&part[..bytes]);
                }
                at_first_end.get_or_init(|| {
                    received.iter().map(|one| one.load(Ordering::Relaxed)).collect::<Vec<_>>()
                });
                assert!(all == bytes(number as u64, BYTES), "connection {number}");
            });
        }
    });
    // A full packet of 1500 bytes has 1448 of data. The bucket was full when the clock started.
    let seconds = start.elapsed().as_secs_f64();
    let sent = (CONNECTIONS * BYTES) as f64 * 1500.0 / 1448.0;
    assert!(sent <= BURST + RATE * seconds, "{sent} bytes in {seconds} s");
    let shares = at_first_end.get().unwrap();
    assert!(shares.iter().all(|share| *share > BYTES / 2), "{shares:?}");
    lab.wait_for_metric_in("rate_waits_total{side=\"satellite\"}", 100..);
    lab.wait_for_metric_in("rate_wait_microseconds_total{side=\"satellite\"}", 1000..);
    lab.wait_for_metric("rate_waits_total{side=\"terrestrial\"}", 0);
    lab.wait_for_metric("lost_bytes_total", 0);
}

#[test]
fn another_rate_applies_to_connections_that_wait() {
    let Some(lab) = Lab::new() else { return };
    let slow = "rate = \"1kbit/s\"\nburst = \"3kB\"";
    let daemon = lab.proxy("threads = 1", "", slow, "");
    let reload = |satellite: &str, tables: &str, number: usize| {
        lab.file("threads = 1", "", satellite, tables);
        daemon.signal(Signal::HUP);
        daemon.wait_for_count("reloaded", number);
    };
    let sent = bytes(1, 150_000);
    let subnet = format!("[[subnet]]\nprefix = \"{SERVER}/32\"\nrate = \"800Mbit/s\"");
    let others = [("rate = \"800Mbit/s\"", ""), ("", ""), (slow, &*subnet)];
    for (number, (satellite, tables)) in others.into_iter().enumerate() {
        let (mut client, mut server) = lab.pair();
        client.write_all(&sent[..30_000]).unwrap();
        // It has had the tokens of the bucket, and the rest takes minutes.
        let path = lab.path("proxy.toml");
        let top = || lab.program(&["top", path.to_str().unwrap()]).stdout;
        let start = Instant::now();
        while !String::from_utf8_lossy(&top()).contains("waits for rate") {
            assert!(start.elapsed() < PATIENCE);
            thread::sleep(Duration::from_millis(20));
        }
        reload(satellite, tables, 2 * number + 1);
        client.write_all(&sent[30_000..]).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        assert_reads(&mut server, &sent, &format!("file {number}"));
        drop((client, server));
        lab.wait_for_metric("open_connections", 0);
        reload(slow, "", 2 * number + 2);
    }
}
