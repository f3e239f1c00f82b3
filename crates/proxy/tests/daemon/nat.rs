//! The daemon on a gateway that translates addresses. Real processes in namespaces.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use crate::lab::{Lab, SERVER, SERVER_SIDE, SERVER6, bytes, port};

/// The client's address becomes that of the gateway on the way to the server, in both families.
fn masquerade(lab: &Lab) {
    for family in ["ip", "ip6"] {
        lab.gateway(&format!("nft add table {family} nat")).unwrap();
        let chain = "{ type nat hook postrouting priority srcnat ; }";
        lab.gateway(&format!("nft add chain {family} nat post {chain}")).unwrap();
        lab.gateway(&format!("nft add rule {family} nat post oifname sat0 masquerade")).unwrap();
    }
}

fn crosses(client: &mut TcpStream, server: &mut TcpStream) {
    arrives(client, server);
    arrives(server, client);
}

fn arrives(from: &mut TcpStream, to: &mut TcpStream) {
    let sent = bytes(1, 100_000);
    let mut received = vec![0; sent.len()];
    thread::scope(|scope| {
        scope.spawn(|| from.write_all(&sent).unwrap());
        to.read_exact(&mut received).unwrap();
    });
    assert!(received == sent);
}

/// SYNs that the rules have counted.
fn unsplit(lab: &Lab) -> u64 {
    let text = lab.gateway("nft list counter inet bentpipe_proxy unsplit").unwrap();
    let mut words = text.split_whitespace().skip_while(|word| *word != "packets");
    words.nth(1).unwrap().parse().unwrap()
}

/// Each way to accept, both families, each source: the server sees the gateway, and the connection
/// is split.
#[test]
fn connections_are_split_where_the_gateway_translates_their_source() {
    for accept in ["early", "late", "early-if-known"] {
        for source in ["client", "gateway"] {
            let Some(lab) = Lab::new() else { return };
            masquerade(&lab);
            let head = format!("accept = \"{accept}\"\nsource = \"{source}\"");
            let _daemon = lab.proxy(&head, "", "", "");
            for (number, server) in [SERVER, SERVER6].into_iter().enumerate() {
                for again in 0..2 {
                    let (mut client, mut far) = lab.pair_with(server);
                    crosses(&mut client, &mut far);
                    let gateway = if server == SERVER { SERVER_SIDE } else { "fd02::1" };
                    let peer = far.peer_addr().unwrap().ip().to_string();
                    assert_eq!(peer, gateway, "{accept}, {source}");
                    lab.wait_for_metric("split_total", 2 * number as u64 + again + 1);
                }
            }
            assert_eq!(unsplit(&lab), 0, "{accept}, {source}");
        }
    }
}

/// Without the daemon connections cross unsplit, translated as before, and are counted until it
/// starts again.
#[test]
fn connections_without_a_daemon_are_translated_and_counted() {
    let Some(lab) = Lab::new() else { return };
    masquerade(&lab);
    lab.file("", "", "", "");
    lab.set_rules();
    let (mut client, mut server) = lab.pair();
    crosses(&mut client, &mut server);
    assert_eq!(server.peer_addr().unwrap().ip().to_string(), SERVER_SIDE);
    assert_eq!(unsplit(&lab), 1);
    let _daemon = lab.start();
    assert_eq!(unsplit(&lab), 0);
}

/// The check sends a connection through a translation of its own where the machine has one.
#[test]
fn the_check_proves_a_connection_behind_nat_and_names_what_crosses_unsplit() {
    let Some(lab) = Lab::new() else { return };
    masquerade(&lab);
    let path = lab.file("", "", "", "");
    let path = path.to_str().unwrap();
    lab.set_rules();
    let _daemon = lab.start();
    let rules = lab.gateway("nft list ruleset").unwrap();
    let output = lab.program(&["check", path]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("ok       connection behind NAT: 300000 bytes"), "{text}");
    assert!(text.contains("ok       unsplit: no connection"), "{text}");
    assert_eq!(lab.gateway("nft list ruleset").unwrap(), rules);
    // An address of the gateway that is forwarded to the server: not split, and found.
    let listener = lab.listen(SERVER);
    let to = format!("{SERVER}:{}", port(&listener));
    lab.gateway("nft add chain ip nat pre { type nat hook prerouting priority dstnat ; }").unwrap();
    let rule = format!("nft add rule ip nat pre iifname lan0 tcp dport 8080 dnat to {to}");
    lab.gateway(&rule).unwrap();
    let mut client = lab.connect_to(crate::lab::GATEWAY, 8080).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    crosses(&mut client, &mut server);
    let output = lab.program(&["check", path]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("MISSING  unsplit: 1 SYNs crossed unsplit"), "{text}");
}
