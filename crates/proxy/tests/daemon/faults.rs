//! Faults around the daemon: paths with a smaller MTU, processes that are killed, no descriptors.
//! Real processes in namespaces.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Child;
use std::thread;
use std::time::Duration;

use crate::lab::{FAR, FAR6, Lab, SERVER, bytes, digest, port, read_all};

const SENT: usize = 200_000;

/// Sends through the proxy to `server`. Returns what arrived before the time was over.
fn upload(mut client: TcpStream, mut server: TcpStream, patience: Duration) -> Vec<u8> {
    server.set_read_timeout(Some(patience)).unwrap();
    let sender = thread::spawn(move || {
        client.write_all(&bytes(1, SENT)).unwrap();
        client
    });
    let mut received = vec![0; SENT];
    let mut filled = 0;
    while filled < SENT
        && let Ok(count @ 1..) = server.read(&mut received[filled..])
    {
        filled += count;
    }
    received.truncate(filled);
    drop(sender.join().unwrap());
    received
}

/// The test's path is black: large packets towards the server, and from it, are lost without a
/// word.
fn make_black(lab: &Lab, ends: &[&str]) {
    // Segments of one packet each, so that the filter sees what a link would.
    lab.gateway("ip link set sat0 gso_max_segs 1").unwrap();
    lab.at_server("ip link set eth0 gso_max_segs 1").unwrap();
    lab.at_server("nft add table ip hole").unwrap();
    for end in ends {
        let chain = format!("{end} {{ type filter hook {end} priority 0 ; }}");
        lab.at_server(&format!("nft add chain ip hole {chain}")).unwrap();
        lab.at_server(&format!("nft add rule ip hole {end} ip length > 1200 drop")).unwrap();
    }
}

#[test]
fn the_daemon_learns_the_path_mtu_of_a_router_behind_it() {
    let Some(lab) = Lab::new() else { return };
    lab.behind(1300);
    let _daemon = lab.proxy("", "", "", "");
    for far in [FAR, FAR6] {
        let (client, server) = lab.pair_with(far);
        let received = upload(client, server, Duration::from_secs(5));
        assert_eq!((received.len(), digest(&received)), (SENT, digest(&bytes(1, SENT))), "{far}");
    }
    lab.wait_for_metric("split_total", 2);
}

#[test]
fn a_black_hole_is_passed_by_probing_or_by_an_mss_of_the_side() {
    let Some(lab) = Lab::new() else { return };
    make_black(&lab, &["input", "output"]);
    let daemon = lab.proxy("", "", "", "");
    let (client, server) = lab.pair();
    let received = upload(client, server, Duration::from_secs(3));
    assert!(received.len() < SENT, "the path has no hole");
    // The kernel finds what passes after a few timeouts (RFC 4821).
    lab.gateway("sysctl -qw net.ipv4.tcp_mtu_probing=1").unwrap();
    let (client, server) = lab.pair();
    let received = upload(client, server, Duration::from_secs(10));
    assert_eq!((received.len(), digest(&received)), (SENT, digest(&bytes(1, SENT))));
    lab.gateway("sysctl -qw net.ipv4.tcp_mtu_probing=0").unwrap();
    drop(daemon);
    // The MSS of a side is for both directions.
    lab.file("", "", "mss = 1100", "");
    let _daemon = lab.start();
    let (client, server) = lab.pair();
    for (first, second) in
        [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
    {
        let received = upload(first, second, Duration::from_secs(5));
        assert_eq!((received.len(), digest(&received)), (SENT, digest(&bytes(1, SENT))));
    }
}

/// Kills a process, and waits for its end.
fn kill(process: &mut Child) {
    process.kill().unwrap();
    process.wait().unwrap();
}

const TALKER: &str = "
import socket, sys
host, port, listens = sys.argv[1], int(sys.argv[2]), sys.argv[3] == 'listens'
if listens:
    listener = socket.create_server((host, port))
    print('listens', flush=True)
    talker, _ = listener.accept()
else:
    talker = socket.create_connection((host, port))
talker.sendall(b'x' * 1000)
print('sent', flush=True)
sys.stdin.read()
";

#[test]
fn a_killed_end_is_passed_on_with_all_that_it_had_sent() {
    let Some(lab) = Lab::new() else { return };
    let _daemon = lab.proxy("", "", "", "");
    // A killed process ends its sockets with a FIN, or with a reset if it had not read everything.
    for (listens, reads) in [("connects", true), ("connects", false), ("listens", true)] {
        let listener: Option<TcpListener> = (listens == "connects").then(|| lab.listen(SERVER));
        let number = listener.as_ref().map_or(7001, port).to_string();
        let end = if listener.is_some() { "c" } else { "s" };
        let mut process = lab.run(end, &["python3", "-c", TALKER, SERVER, &number, listens]);
        let mut said = BufReader::new(process.0.stdout.take().unwrap()).lines();
        let mut stream = match listener {
            Some(listener) => listener.accept().unwrap().0,
            None => {
                assert_eq!(said.next().unwrap().unwrap(), "listens");
                lab.connect_to(SERVER, 7001).unwrap()
            }
        };
        stream.set_read_timeout(Some(crate::lab::PATIENCE)).unwrap();
        assert_eq!(said.next().unwrap().unwrap(), "sent");
        if !reads {
            stream.write_all(b"never read").unwrap();
            thread::sleep(Duration::from_millis(100));
        }
        kill(&mut process.0);
        let expected = (!reads).then_some(ErrorKind::ConnectionReset);
        assert_eq!(read_all(&mut stream), (vec![b'x'; 1000], expected), "{listens} {reads}");
        drop(stream);
    }
    lab.wait_for_metric("open_connections", 0);
}

#[test]
fn without_descriptors_connections_wait_and_then_go_on() {
    let Some(lab) = Lab::new() else { return };
    let daemon = lab.proxy("threads = 1", "", "", "");
    let (mut client, mut server) = lab.pair();
    let process = daemon.child.id();
    let is_open =
        |number: &usize| std::fs::symlink_metadata(format!("/proc/{process}/fd/{number}")).is_ok();
    let limit = |soft: usize| {
        lab.gateway(&format!("prlimit --pid {process} --nofile={soft}:")).unwrap();
    };
    // The next descriptor is one too many.
    limit((0..).find(|number| !is_open(number)).unwrap());
    let listener = lab.listen(SERVER);
    let mut waits = lab.connect_to(SERVER, port(&listener)).unwrap();
    waits.write_all(b"waits").unwrap();
    thread::sleep(Duration::from_millis(500));
    // The others do not notice.
    client.write_all(b"goes on").unwrap();
    server.read_exact(&mut [0; 7]).unwrap();
    limit(1000);
    let (mut late, _) = listener.accept().unwrap();
    let mut received = [0; 5];
    late.read_exact(&mut received).unwrap();
    assert_eq!(received, *b"waits");
    lab.wait_for_metric_in("out_of_resources_total", 1..);
}
