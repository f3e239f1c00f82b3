//! Relays that are not transparent. Real processes in namespaces.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;

use crate::lab::{GATEWAY, Lab, SERVER, SERVER_SIDE, SERVER6, bytes, port, read_all};
use rustix::process::Signal;

/// 100 kB in one direction, and then the end.
fn arrives(mut from: TcpStream, mut to: TcpStream) {
    let sent = bytes(1, 100_000);
    let expected = sent.clone();
    let sender = thread::spawn(move || {
        from.write_all(&sent).unwrap();
        from.shutdown(Shutdown::Write).unwrap();
        from
    });
    let (received, error) = read_all(&mut to);
    assert!(received == expected && error.is_none());
    drop(sender.join().unwrap());
}

/// Without any rule, for each way to accept and both families towards the server.
#[test]
fn a_relay_needs_no_rules_and_the_server_sees_the_gateway() {
    for accept in ["early", "late"] {
        for (server, gateway) in [(SERVER, SERVER_SIDE), (SERVER6, "fd02::1")] {
            let Some(lab) = Lab::new() else { return };
            let listener = lab.listen(server);
            let to = std::net::SocketAddr::new(server.parse().unwrap(), port(&listener));
            let relay = format!("[[forward]]\nlisten = \"0.0.0.0:8443\"\nto = \"{to}\"");
            lab.file(&format!("accept = \"{accept}\""), "", "", &relay);
            let _daemon = lab.start();
            let client = lab.connect_to(GATEWAY, 8443).unwrap();
            let (far, peer) = listener.accept().unwrap();
            assert_eq!(peer.ip().to_string(), gateway);
            arrives(client, far);
            lab.wait_for_metric("split_total", 1);
            // Connections may cross between the sides, which needs rules.
            let file = lab.path("proxy.toml");
            let check = || {
                let checked = lab.program(&["check", file.to_str().unwrap()]);
                (checked.status.code(), String::from_utf8(checked.stdout).unwrap())
            };
            let (status, text) = check();
            assert_eq!(status, Some(1), "{text}");
            assert!(text.contains("MISSING  rules: not set: only relays work"), "{text}");
            // With the loopback interface as a side nothing crosses, and the relay is tried.
            let written = fs::read_to_string(&file).unwrap();
            fs::write(&file, written.replace("sat0", "lo")).unwrap();
            let (status, text) = check();
            assert_eq!(status, Some(0), "{text}");
            assert!(text.contains(&format!("relay 0.0.0.0:8443 to {to}: connected")), "{text}");
            assert!(!text.contains("rules: ") && !text.contains("ip_forward"), "{text}");
            drop(listener);
            let (status, text) = check();
            assert_eq!(status, Some(1), "{text}");
            assert!(text.contains(&format!("MISSING  relay 0.0.0.0:8443 to {to}")), "{text}");
        }
    }
}

/// A server that is not there resets the client, and another relay goes on. Intercepted connections
/// are split as before, and the limit of connections closes no relay.
#[test]
fn relays_work_with_interception_and_missing_servers() {
    let Some(lab) = Lab::new() else { return };
    let listener = lab.listen(SERVER);
    let relays = format!(
        "[[forward]]\nlisten = \"0.0.0.0:8443\"\nto = \"{SERVER}:{}\"\n\
         [[forward]]\nlisten = \"0.0.0.0:8444\"\nto = \"{SERVER}:9\"\n",
        port(&listener)
    );
    let _daemon = lab.proxy("", "", "", &relays);
    // The reset may come before the client sees its connection.
    let refused = lab.connect_to(GATEWAY, 8444).and_then(|mut client| client.read(&mut [0; 1]));
    assert!(refused.is_err());
    let client = lab.connect_to(GATEWAY, 8443).unwrap();
    arrives(client, listener.accept().unwrap().0);
    let (client, server) = lab.pair();
    assert_eq!(server.peer_addr().unwrap(), client.local_addr().unwrap());
    arrives(client, server);
}

/// An upgrade keeps the listeners of relays.
#[test]
fn a_relay_survives_an_upgrade() {
    let Some(lab) = Lab::new() else { return };
    let listener = lab.listen(SERVER);
    let relay =
        format!("[[forward]]\nlisten = \"0.0.0.0:8443\"\nto = \"{SERVER}:{}\"", port(&listener));
    lab.file("", "", "", &relay);
    let daemon = lab.start();
    for _ in 0..2 {
        daemon.signal(Signal::USR2);
        let client = lab.connect_to(GATEWAY, 8443).unwrap();
        arrives(client, listener.accept().unwrap().0);
    }
}

#[test]
fn wrong_relays_are_refused_and_change_only_with_a_restart() {
    let Some(lab) = Lab::new() else { return };
    let cases = [
        ("listen = \"8443\"\nto = \"10.2.0.2:80\"", "forward[0].listen: expected an address"),
        (
            "listen = \"0.0.0.0:8443\"\nto = \"example.org:80\"",
            "forward[0].to: expected an address",
        ),
        ("listen = \"0.0.0.0:4441\"\nto = \"10.2.0.2:80\"", "the daemon's"),
        ("listen = \"10.1.0.1:80\"\nto = \"10.1.0.1:80\"", "has no end"),
        ("listen = \"0.0.0.0:8443\"\nto = \"127.0.0.1:8443\"", "has no end"),
        ("listen = \"0.0.0.0:8443\"\nto = \"10.1.0.1:8443\"", "has no end"),
        (
            "listen = \"0.0.0.0:81\"\nto = \"127.0.0.1:82\"\n\
             [[forward]]\nlisten = \"127.0.0.1:82\"\nto = \"127.0.0.1:81\"",
            "has no end",
        ),
        ("listen = \"0.0.0.0:9440\"\nto = \"10.2.0.2:80\"", "a relay listens there"),
        ("listen = \"0.0.0.0:80\"\nto = \"10.2.0.2:80\"\nfrom = \"space\"", "\"terrestrial\" or"),
    ];
    for (relay, part) in cases {
        let path = lab.file("", "", "", &format!("[[forward]]\n{relay}"));
        let output = lab.program(&["run", path.to_str().unwrap()]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(part), "{part} in {message}");
    }
    lab.file("", "", "", "");
    let daemon = lab.start();
    lab.file("", "", "", "[[forward]]\nlisten = \"0.0.0.0:8443\"\nto = \"10.2.0.2:80\"");
    daemon.signal(Signal::HUP);
    daemon.wait_for("restart it");
}
