//! SYNs that wait for the server: `accept = "late"` and `"early-if-known"`. Real processes in
//! namespaces.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use crate::lab::{CLIENT, CLIENT6, Lab, PATIENCE, SERVER, SERVER6, bytes, digest, port, read_all};
use rustix::process::Signal;

/// The end of a connection that is refused or not answered within some time.
fn attempt(lab: &Lab, server: &str, port: u16, within: Duration) -> ErrorKind {
    let to = SocketAddr::new(server.parse().unwrap(), port);
    let connected = lab.inside("c", || TcpStream::connect_timeout(&to, within));
    connected.unwrap_err().kind()
}

#[test]
fn a_client_is_answered_after_its_server_over_both_versions_of_ip() {
    let Some(lab) = Lab::new() else { return };
    // Without privileges but those that it keeps.
    let head = "accept = \"late\"\nthreads = 2\nuser = \"65534:65534\"";
    let _daemon = lab.proxy(head, "", "", "");
    for (server, client) in [(SERVER, CLIENT), (SERVER6, CLIENT6)] {
        let (mut near, mut far) = lab.pair_with(server);
        assert_eq!(far.peer_addr().unwrap(), near.local_addr().unwrap());
        assert_eq!(far.peer_addr().unwrap().ip().to_string(), client);
        // The server speaks first.
        far.write_all(b"welcome").unwrap();
        near.read_exact(&mut [0; 7]).unwrap();
        let sent = bytes(1, 300_000);
        let to_send = sent.clone();
        let sender = thread::spawn(move || {
            near.write_all(&to_send).unwrap();
            near.shutdown(Shutdown::Write).unwrap();
            near
        });
        let (received, error) = read_all(&mut far);
        assert_eq!((digest(&received), error), (digest(&sent), None));
        drop((far, sender.join().unwrap()));
    }
    lab.wait_for_metric("answered_late_total", 2);
    lab.wait_for_metric("split_total", 2);
    lab.wait_for_metric("open_connections", 0);
    lab.wait_for_metric("not_held_back_total", 0);
    lab.wait_for_metric("lost_syns_total", 0);
}

#[test]
fn refused_and_silent_servers_give_no_connection() {
    let Some(lab) = Lab::new() else { return };
    let _daemon = lab.proxy("accept = \"late\"\nconnect_timeout = \"6s\"", "", "", "");
    for server in [SERVER, SERVER6] {
        assert_eq!(attempt(&lab, server, 9, PATIENCE), ErrorKind::ConnectionRefused);
    }
    // A SYN that the client had retransmitted is refused too.
    lab.wait_for_metric_in("refused_by_server_total", 2..);
    // A server that never answers.
    lab.at_server("nft add table inet silent").unwrap();
    lab.at_server("nft add chain inet silent in { type filter hook input priority 0 ; }").unwrap();
    lab.at_server("nft add rule inet silent in tcp dport 10 drop").unwrap();
    let client = thread::scope(|scope| {
        let waiting = scope.spawn(|| attempt(&lab, SERVER, 10, Duration::from_millis(2500)));
        lab.wait_for_metric("open_connections", 1);
        waiting.join().unwrap()
    });
    assert_eq!(client, ErrorKind::TimedOut);
    // The client has retransmitted its SYN, which opens no second connection.
    assert!(lab.metric("open_connections") <= 1);
    lab.wait_for_metric("server_unreachable_total", 1);
    lab.wait_for_metric("open_connections", 0);
    lab.wait_for_metric("accepted_total", 0);
    lab.wait_for_metric("answered_late_total", 0);
}

/// The ICMP error about the daemon's SYN is passed on. So the client fails at once, as without a
/// proxy.
#[test]
fn a_router_that_cannot_reach_the_server_is_heard_by_the_client() {
    let Some(lab) = Lab::new() else { return };
    let _daemon = lab.proxy("accept = \"late\"", "", "", "");
    lab.at_server("nft add table inet away").unwrap();
    lab.at_server("nft add chain inet away in { type filter hook input priority 0 ; }").unwrap();
    let cases = [
        (SERVER, 10, "icmp host-unreachable", ErrorKind::HostUnreachable),
        (SERVER, 11, "icmp net-unreachable", ErrorKind::NetworkUnreachable),
        (SERVER6, 12, "icmpv6 addr-unreachable", ErrorKind::HostUnreachable),
        (SERVER6, 13, "icmpv6 no-route", ErrorKind::NetworkUnreachable),
        (SERVER6, 14, "icmpv6 admin-prohibited", ErrorKind::PermissionDenied),
    ];
    for (server, port, answer, kind) in cases {
        let rule = format!("nft add rule inet away in tcp dport {port} reject with {answer}");
        lab.at_server(&rule).unwrap();
        assert_eq!(attempt(&lab, server, port, PATIENCE), kind, "{answer}");
    }
    lab.wait_for_metric("server_unreachable_total", cases.len() as u64);
    lab.wait_for_metric("open_connections", 0);
    lab.wait_for_metric("lost_syns_total", 0);
}

#[test]
fn a_known_server_needs_no_answer_until_it_fails() {
    let Some(lab) = Lab::new() else { return };
    let _daemon = lab.proxy("accept = \"early-if-known\"\nknown_for = \"1min\"", "", "", "");
    let listener = lab.listen(SERVER);
    let number = port(&listener);
    let connect = || lab.connect_to(SERVER, number);
    let first = (connect().unwrap(), listener.accept().unwrap());
    lab.wait_for_metric("answered_late_total", 1);
    let second = (connect().unwrap(), listener.accept().unwrap());
    lab.wait_for_metric("answered_late_total", 1);
    lab.wait_for_metric("accepted_total", 2);
    drop((first, second, listener));
    lab.wait_for_metric("open_connections", 0);
    // It still counts as known, so its refusal comes after the handshake.
    let ended = connect().map_or_else(|error| Some(error.kind()), |mut one| read_all(&mut one).1);
    assert_eq!(ended, Some(ErrorKind::ConnectionReset));
    lab.wait_for_metric("refused_by_server_total", 1);
    // And from now on it is not known.
    assert_eq!(connect().unwrap_err().kind(), ErrorKind::ConnectionRefused);
    lab.wait_for_metric("accepted_total", 3);
}

#[test]
fn connections_above_the_limit_cross_unsplit_or_are_refused() {
    for at_limit in ["pass", "refuse"] {
        let Some(lab) = Lab::new() else { return };
        let limits = format!("[limits]\nconnections = 2\nat_limit = {at_limit:?}");
        let _daemon = lab.proxy("accept = \"late\"", "", "", &limits);
        let listener = lab.listen(SERVER);
        let number = port(&listener);
        let open: Vec<_> = (0..2).map(|_| lab.connect_to(SERVER, number).unwrap()).collect();
        let third = lab.connect_to(SERVER, number);
        if at_limit == "refuse" {
            assert_eq!(third.unwrap_err().kind(), ErrorKind::ConnectionRefused);
            lab.wait_for_metric("refused_at_limit_total", 1);
        } else {
            let mut third = third.unwrap();
            third.write_all(b"unsplit").unwrap();
            let mut servers: Vec<_> = (0..3).map(|_| listener.accept().unwrap().0).collect();
            servers[2].read_exact(&mut [0; 7]).unwrap();
            lab.wait_for_metric("passed_at_limit_total", 1);
            lab.wait_for_metric("split_total", 2);
        }
        lab.wait_for_metric("limit_reached_total", 1);
        lab.wait_for_metric("open_connections", 2);
        drop(open);
    }
}

#[test]
fn a_group_that_another_process_reads_is_refused_at_the_start() {
    use rustix::net::{
        AddressFamily, RecvFlags, SendFlags, SocketType, netlink, recv, send, socket,
    };
    let Some(lab) = Lab::new() else { return };
    let path = lab.file("accept = \"late\"", "", "", "");
    let _reader = lab.inside("g", || {
        let protocol = Some(netlink::NETFILTER);
        let socket = socket(AddressFamily::NETLINK, SocketType::RAW, protocol).unwrap();
        // linux/netfilter/nfnetlink_log.h: NFULNL_MSG_CONFIG with NFULNL_CFG_CMD_BIND for the
        // group.
        let mut request = vec![28, 0, 0, 0, 1, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        request.extend_from_slice(&4440_u16.to_be_bytes());
        request.extend_from_slice(&[5, 0, 1, 0, 1, 0, 0, 0]);
        send(&socket, &request, SendFlags::empty()).unwrap();
        recv(&socket, &mut [0; 64][..], RecvFlags::empty()).unwrap();
        socket
    });
    let output = lab.program(&["run", path.to_str().unwrap()]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("NFLOG group 4440: choose another `port`"), "{message}");
}

#[test]
fn no_syn_is_held_back_without_the_daemon_and_the_next_one_goes_on() {
    let Some(lab) = Lab::new() else { return };
    let head = "accept = \"late\"\nstop_within = \"1s\"";
    let mut daemon = lab.proxy(head, "", "", "");
    let path = lab.path("proxy.toml");
    let check = || {
        let output = lab.program(&["check", path.to_str().unwrap()]);
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(check().contains("bytes there and back, split"), "{}", check());
    // An upgrade inherits the copies of SYNs, which only one socket can have.
    daemon.signal(Signal::USR2);
    daemon.wait_for("handed over");
    daemon.wait_for("stopped");
    daemon.child.wait().unwrap();
    let pair = lab.pair();
    lab.wait_for_metric("answered_late_total", 1);
    // Killed: the rules hold nothing back.
    let listening = lab.gateway("ss -tlnpH sport = 4440").unwrap();
    let (_, process) = listening.split_once("pid=").unwrap();
    let process = process.split(',').next().unwrap();
    lab.gateway(&format!("kill -KILL {process}")).unwrap();
    drop(pair);
    let _unsplit = lab.pair();
    // Rules of the file before its change are found.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"late\"", "\"early\"")).unwrap();
    assert!(check().contains("MISSING  rules: those of another file"), "{}", check());
}
