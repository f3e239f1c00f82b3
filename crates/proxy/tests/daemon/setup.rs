//! Set-up, limits and faults of the daemon. Real processes in namespaces.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::{Duration, Instant};

use crate::lab::{GATEWAY, Lab, SERVER, bytes, digest, port, read_all};
use rustix::process::Signal;

/// State of the gateway that rules change.
fn state(lab: &Lab) -> String {
    ["nft list ruleset", "ip rule", "ip -6 rule", "ip route show table all", "ip -6 route"]
        .map(|command| lab.gateway(command).unwrap())
        .concat()
        .lines()
        // Addresses that the kernel is still making.
        .filter(|line| !line.contains("fe80::") && !line.contains("multicast"))
        .map(|line| line.to_owned() + "\n")
        .collect()
}

#[test]
fn rules_are_set_and_removed_and_taken_back_half_way() {
    let Some(lab) = Lab::new() else { return };
    let path = lab.file("", "", "initial_window = 20", "");
    let path = path.to_str().unwrap();
    let before = state(&lab);
    lab.set_rules();
    let set = state(&lab);
    assert!(set.contains("initcwnd 20") && set.contains("bentpipe_proxy"), "{set}");
    // A second time: refused, and nothing changes.
    let again = lab.program(&["rules", path, "--apply"]);
    assert_eq!((again.status.code(), state(&lab)), (Some(1), set));
    let removed = lab.program(&["rules", path, "--apply", "--remove"]);
    assert!(removed.status.success(), "{}", String::from_utf8_lossy(&removed.stderr));
    assert_eq!(state(&lab), before);
    // The last command fails: those before it are taken back.
    lab.gateway("nft add table inet bentpipe_proxy").unwrap();
    lab.gateway("nft add set inet bentpipe_proxy satellite_in { type ipv4_addr ; }").unwrap();
    let before = state(&lab);
    let failed = lab.program(&["rules", path, "--apply"]);
    let message = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert_eq!((failed.status.code(), state(&lab)), (Some(1), before), "{message}");
    assert!(message.contains("nothing has changed"), "{message}");
}

#[test]
fn the_check_names_what_is_missing_and_proves_what_is_there() {
    let Some(lab) = Lab::new() else { return };
    let path = lab.file("", "", "", "");
    let path = path.to_str().unwrap();
    lab.gateway("sysctl -qw net.ipv4.conf.all.src_valid_mark=1").unwrap();
    let output = lab.program(&["check", path]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    for part in [
        "MISSING  rules: not set",
        "--apply",
        "MISSING  net.ipv4.conf.all.src_valid_mark: 1",
        "sysctl -w net.ipv4.conf.all.src_valid_mark=0",
        "MISSING  daemon: does not run",
        "ok       kernel: accepts the rules",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    lab.gateway("sysctl -qw net.ipv4.conf.all.src_valid_mark=0").unwrap();
    lab.set_rules();
    let daemon = lab.start();
    let before = state(&lab);
    let output = lab.program(&["check", path]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("300000 bytes there and back, split"), "{text}");
    assert_eq!(state(&lab), before);
    // A slow rate does not make it fail.
    lab.file("", "", "rate = \"400kbit/s\"", "");
    daemon.signal(Signal::HUP);
    daemon.wait_for("reloaded");
    let output = lab.program(&["check", path]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("50000 bytes there and back, split"), "{text}");
    // Each of these changes rules, and the check must not take those of the file before for its
    // own.
    let original = fs::read_to_string(lab.path("proxy.toml")).unwrap();
    for change in [
        "fail = \"closed\"",
        "ports = [443]",
        "mark = 2960",
        "table = 2000",
        "bypass = { ports = [22] }",
        "bypass = { subnets = [\"10.9.0.0/24\"] }",
    ] {
        fs::write(lab.path("proxy.toml"), format!("{change}\n{original}")).unwrap();
        let output = lab.program(&["check", path]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("MISSING  rules: those of another file"), "{change}: {text}");
        assert_eq!(output.status.code(), Some(1), "{change}");
    }
    fs::write(lab.path("proxy.toml"), original).unwrap();
    // Without the rule for marked packets nothing arrives, and the check says which one is missing.
    lab.gateway("ip -4 rule del fwmark 0xb901 lookup 4440").unwrap();
    let output = lab.program(&["check", path]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("MISSING  ip -4 rule"), "{text}");
}

/// Mark and table of routes of the file have changed since.
#[test]
fn rules_are_removed_with_the_numbers_that_they_were_set_with() {
    let Some(lab) = Lab::new() else { return };
    let path = lab.file("", "", "", "");
    let before = state(&lab);
    lab.set_rules();
    lab.file("mark = 2960\ntable = 2000", "", "", "");
    let output = lab.program(&["rules", path.to_str().unwrap(), "--apply", "--remove"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(state(&lab), before);
}

#[test]
fn wrong_files_and_machines_are_refused_before_anything_is_set() {
    let Some(lab) = Lab::new() else { return };
    let before = state(&lab);
    let cases = [
        ("", "controller = \"hyblaa\"", "proxy.toml:6:14: terrestrial.controller"),
        ("port = 4440", "interfaces = []", "proxy.toml"),
        ("colour = 1", "", "unknown key"),
    ];
    for (head, terrestrial, part) in cases {
        let path = lab.file(head, terrestrial, "", "");
        for verb in [&["run"][..], &["rules", "--apply"]] {
            let arguments = [&[verb[0], path.to_str().unwrap()], &verb[1..]].concat();
            let output = lab.program(&arguments);
            let message = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{message}");
            assert!(message.contains(part), "{part} in {message}");
        }
    }
    let path = lab.file("", "", "", "");
    let text = fs::read_to_string(&path).unwrap().replace("sat0", "sat1");
    fs::write(&path, text).unwrap();
    let output = lab.program(&["rules", path.to_str().unwrap(), "--apply"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("did you mean \"sat0\"?"), "{message}");
    let taken = lab.inside("g", || std::net::TcpListener::bind("127.0.0.1:4441")).unwrap();
    let path = lab.file("", "", "", "");
    let output = lab.program(&["run", path.to_str().unwrap()]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("port 4441"), "{message}");
    drop(taken);
    assert_eq!(state(&lab), before);
}

#[test]
fn a_killed_daemon_lets_new_connections_pass_and_resets_the_old() {
    let Some(lab) = Lab::new() else { return };
    let mut daemon = lab.proxy("", "", "", "");
    let (mut client, mut server) = lab.pair();
    client.write_all(b"before").unwrap();
    server.read_exact(&mut [0; 6]).unwrap();
    daemon.child.kill().unwrap();
    daemon.child.wait().unwrap();
    // A reset, not an end that looks like a complete stream.
    assert_eq!(read_all(&mut client), (vec![], Some(ErrorKind::ConnectionReset)));
    assert_eq!(read_all(&mut server), (vec![], Some(ErrorKind::ConnectionReset)));
    let (mut client, mut server) = lab.pair();
    client.write_all(b"unsplit").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_all(&mut server), (b"unsplit".to_vec(), None));
    // It starts again with the rules that are still there.
    let _daemon = lab.start();
    let _pair = lab.pair();
    lab.wait_for_metric("accepted_total", 1);
    let path = lab.path("proxy.toml");
    let removed = lab.program(&["rules", path.to_str().unwrap(), "--apply", "--remove"]);
    assert!(removed.status.success());
}

#[test]
fn a_closed_gateway_resets_without_the_daemon() {
    let Some(lab) = Lab::new() else { return };
    let mut daemon = lab.proxy("fail = \"closed\"", "", "", "");
    drop(lab.pair());
    daemon.child.kill().unwrap();
    daemon.child.wait().unwrap();
    let listener = lab.listen(SERVER);
    let error = lab.connect_to(SERVER, port(&listener)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn connections_above_the_limit_pass_unsplit_or_are_refused() {
    let Some(lab) = Lab::new() else { return };
    let daemon = lab.proxy("", "", "", "[limits]\nconnections = 2");
    let first = lab.pair();
    let _second = lab.pair();
    lab.wait_for_metric("open_connections", 2);
    let (mut client, mut server) = lab.pair();
    client.write_all(b"third").unwrap();
    server.read_exact(&mut [0; 5]).unwrap();
    lab.wait_for_metric("accepted_total", 2);
    lab.wait_for_metric("limit_reached_total", 1);
    // Below the limit, connections are split again.
    drop(first);
    lab.wait_for_metric("open_connections", 1);
    let _fourth = lab.pair();
    lab.wait_for_metric("accepted_total", 3);
    // The same daemon with another file.
    lab.file("", "", "", "[limits]\nconnections = 2\nat_limit = \"refuse\"");
    daemon.signal(Signal::HUP);
    daemon.wait_for("reloaded");
    let listener = lab.listen(SERVER);
    // The reset comes after the handshake, before connect(2) returns or later.
    let refused = lab.connect_to(SERVER, port(&listener));
    let end = refused.map_or_else(|error| Some(error.kind()), |mut one| read_all(&mut one).1);
    assert_eq!(end, Some(ErrorKind::ConnectionReset));
    lab.wait_for_metric("refused_at_limit_total", 1);
    // The third one never was the proxy's.
    client.write_all(b"still").unwrap();
    server.read_exact(&mut [0; 5]).unwrap();
}

/// `nohup` leaves SIGHUP ignored in what it starts.
#[test]
fn a_daemon_that_nohup_has_started_reads_its_file_again() {
    let Some(lab) = Lab::new() else { return };
    lab.file("", "", "", "");
    lab.set_rules();
    let daemon = lab.start_by(&["nohup"]);
    daemon.signal(Signal::HUP);
    daemon.wait_for("reloaded");
}

#[test]
fn a_reload_keeps_connections_and_refuses_what_it_cannot_do() {
    let Some(lab) = Lab::new() else { return };
    let daemon = lab.proxy("", "controller = \"cubic\"", "", "");
    let (mut client, mut server) = lab.pair();
    let sent = bytes(9, 8 << 20);
    let to_send = sent.clone();
    let sender = thread::spawn(move || {
        client.write_all(&to_send).unwrap();
        client
    });
    let mut received = vec![0; 1 << 20];
    server.read_exact(&mut received).unwrap();
    lab.file("", "controller = \"reno\"", "", "");
    daemon.signal(Signal::HUP);
    daemon.wait_for("reloaded");
    lab.file("port = 5000", "controller = \"reno\"", "", "");
    daemon.signal(Signal::HUP);
    daemon.wait_for("reload refused; nothing has changed");
    assert!(
        daemon.log().contains("proxy.toml:1:8: port: expected 4440, found 5000"),
        "{}",
        daemon.log()
    );
    lab.file("", "", "", "");
    daemon.signal(Signal::HUP);
    daemon.wait_for("only a restart brings back");
    drop(sender.join().unwrap());
    let (rest, error) = read_all(&mut server);
    received.extend(rest);
    assert_eq!((digest(&received), error), (digest(&sent), None));
    let (_client, _server) = lab.pair();
    let sockets = lab.gateway("ss -tinH").unwrap();
    assert!(sockets.contains(" reno "), "{sockets}");
}

#[test]
fn privileges_are_dropped() {
    let Some(lab) = Lab::new() else { return };
    let daemon = lab.proxy("user = \"65534:65534\"", "", "", "");
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.child.id())).unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().to_owned()
    };
    // CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_NET_RAW: bits 10, 12, 13.
    for name in ["CapEff:", "CapPrm:", "CapBnd:"] {
        assert_eq!(field(name), "0000000000003400", "{name}");
    }
    assert_eq!(
        (field("Uid:"), field("Gid:"), field("NoNewPrivs:")),
        ("65534".into(), "65534".into(), "1".into())
    );
    let (mut client, mut server) = lab.pair();
    client.write_all(&bytes(1, 500_000)).unwrap();
    server.read_exact(&mut vec![0; 500_000]).unwrap();
}

#[test]
fn it_is_no_open_proxy() {
    let Some(lab) = Lab::new() else { return };
    let _daemon = lab.proxy("", "", "", "");
    // From outside nobody reaches the listener.
    let error = lab.connect_to(GATEWAY, 4440).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    // From the machine itself it is reset.
    let own = lab.inside("g", || TcpStream::connect("127.0.0.1:4440"));
    let end = own.map_or_else(
        |error| Some(error.kind()),
        |mut stream| {
            stream.set_read_timeout(Some(crate::lab::PATIENCE)).unwrap();
            read_all(&mut stream).1
        },
    );
    assert_eq!(end, Some(ErrorKind::ConnectionReset));
    lab.wait_for_metric("refused_loops_total", 1);
    lab.wait_for_metric("accepted_total", 0);
}

#[test]
fn bypassed_connections_are_not_split() {
    let Some(lab) = Lab::new() else { return };
    let listener = lab.listen(SERVER);
    let table = format!("[bypass]\nports = [{}]", port(&listener));
    let _daemon = lab.proxy("", "", "", &table);
    let _stream = lab.connect_to(SERVER, port(&listener)).unwrap();
    lab.wait_for_metric("accepted_total", 0);
    drop(lab.pair());
    lab.wait_for_metric("accepted_total", 1);
}

#[test]
fn servers_that_never_answer_and_idle_connections_end() {
    let Some(lab) = Lab::new() else { return };
    let head = "connect_timeout = \"1s\"\nidle_timeout = \"2s\"";
    let _daemon = lab.proxy(head, "", "", "");
    lab.at_server("nft add table inet silence").unwrap();
    lab.at_server("nft add chain inet silence in { type filter hook input priority 0 ; }").unwrap();
    lab.at_server("nft add rule inet silence in tcp dport 7 drop").unwrap();
    let (mut idle, mut idle_server) = lab.pair();
    let start = Instant::now();
    let mut silent = lab.connect_to(SERVER, 7).unwrap();
    assert_eq!(read_all(&mut silent).1, Some(ErrorKind::ConnectionReset));
    assert!((1..6).contains(&start.elapsed().as_secs()));
    lab.wait_for_metric("server_unreachable_total", 1);
    assert_eq!(read_all(&mut idle).1, Some(ErrorKind::ConnectionReset));
    assert_eq!(read_all(&mut idle_server).1, Some(ErrorKind::ConnectionReset));
    lab.wait_for_metric("idle_total", 1);
}

#[test]
fn a_client_that_vanishes_is_noticed_by_keepalive() {
    let Some(lab) = Lab::new() else { return };
    let _daemon = lab.proxy("", "keepalive = \"1s\"\nuser_timeout = \"2s\"", "", "");
    let (client, mut server) = lab.pair();
    lab.gateway("nft add table inet silence").unwrap();
    lab.gateway("nft add chain inet silence in { type filter hook prerouting priority -300 ; }")
        .unwrap();
    lab.gateway("nft add rule inet silence in iifname lan0 drop").unwrap();
    assert_eq!(read_all(&mut server).1, Some(ErrorKind::ConnectionReset));
    drop(client);
}

#[test]
fn many_connections_at_once_and_a_full_disk() {
    let Some(lab) = Lab::new() else { return };
    let log = "[log]\nfile = \"/dev/full\"\nconnections = true\nformat = \"json\"";
    lab.file("", "", "", log);
    lab.set_rules();
    // Its log says nothing, so that readiness is seen by its metrics.
    let path = lab.path("proxy.toml");
    let name = lab.path("").file_name().unwrap().to_string_lossy().into_owned();
    let mut daemon = std::process::Command::new("ip")
        .args(["netns", "exec", &format!("{name}g"), env!("CARGO_BIN_EXE_bentpipe-proxy"), "run"])
        .arg(path)
        .spawn()
        .unwrap();
    let start = Instant::now();
    while lab.inside("g", || TcpStream::connect("127.0.0.1:9440")).is_err() {
        assert!(start.elapsed() < crate::lab::PATIENCE);
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(100));
    let listener = lab.listen(SERVER);
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let accepted: Vec<_> = (0..2000).map(|_| listener.accept().unwrap().0).collect();
        accepted.into_iter().for_each(|mut stream| stream.write_all(b"hello").unwrap());
    });
    let clients: Vec<_> =
        lab.inside("c", || (0..2000).map(|_| TcpStream::connect(address).unwrap()).collect());
    server.join().unwrap();
    for mut client in clients {
        client.set_read_timeout(Some(crate::lab::PATIENCE)).unwrap();
        assert_eq!(read_all(&mut client), (b"hello".to_vec(), None));
    }
    lab.wait_for_metric("finished_total", 2000);
    lab.wait_for_metric_in("lost_log_lines_total", 1001..);
    daemon.kill().unwrap();
    assert_eq!(daemon.wait().unwrap().signal(), Some(9));
}

#[test]
fn it_stops_and_lists_connections() {
    let Some(lab) = Lab::new() else { return };
    let mut daemon = lab.proxy("stop_within = \"5s\"", "", "", "");
    let (mut client, mut server) = lab.pair();
    client.write_all(&bytes(1, 1000)).unwrap();
    server.read_exact(&mut [0; 1000]).unwrap();
    let path = lab.path("proxy.toml");
    let top = lab.program(&["top", path.to_str().unwrap()]);
    let text = String::from_utf8(top.stdout).unwrap();
    let client_address = client.local_addr().unwrap();
    assert!(text.starts_with("1 connection, 0.0 kB held\n"), "{text}");
    assert!(text.contains(&format!("\n{client_address} -> 10.2.0.2:")), "{text}");
    assert!(text.contains(" 0.001        -\n"), "{text}");
    let json = lab.program(&["top", path.to_str().unwrap(), "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["connections"][0]["client_leg"]["received_bytes"], 1000);
    // It waits for the connection, and takes no new ones.
    let stop = lab.spawn(&["stop", path.to_str().unwrap()]);
    daemon.wait_for("stopping");
    let (mut unsplit, mut unsplit_server) = lab.pair();
    unsplit.write_all(b"x").unwrap();
    unsplit_server.read_exact(&mut [0]).unwrap();
    server.write_all(b"last").unwrap();
    drop(server);
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_all(&mut client), (b"last".to_vec(), None));
    let start = Instant::now();
    assert!(daemon.child.wait().unwrap().success());
    assert!(start.elapsed() < Duration::from_secs(4));
    let stop = stop.wait_with_output().unwrap();
    let text = String::from_utf8(stop.stdout).unwrap();
    assert_eq!(text, "stopping: open connections have 5 s to end\nstopped\n");
    assert!(stop.status.success());
    let again = lab.program(&["stop", path.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8(again.stderr).unwrap().contains("no daemon answers"));
}

#[test]
fn commands_answer_with_the_outcome() {
    let Some(lab) = Lab::new() else { return };
    let daemon = lab.proxy("user = \"65534:65534\"", "controller = \"cubic\"", "", "");
    let path = lab.path("proxy.toml");
    let command = |name: &str| {
        let output = lab.program(&[name, path.to_str().unwrap()]);
        let text = if output.status.success() { output.stdout } else { output.stderr };
        (output.status.code().unwrap(), String::from_utf8(text).unwrap())
    };
    lab.file("user = \"65534:65534\"", "controller = \"reno\"", "", "");
    assert_eq!(command("reload"), (0, "reloaded\n".to_owned()));
    let (mut client, mut server) = lab.pair();
    client.write_all(b"x").unwrap();
    server.read_exact(&mut [0]).unwrap();
    assert!(lab.gateway("ss -tinH").unwrap().contains(" reno "));
    // The command of a program does not wait for its connection.
    let (status, text) = command("upgrade");
    assert_eq!(status, 0, "{text}");
    assert!(text.starts_with("process ") && text.ends_with(" has taken over\n"), "{text}");
    daemon.wait_for("handed over");
    // The new process answers now, and refuses what it cannot do.
    lab.file("port = 5000\nuser = \"65534:65534\"", "controller = \"reno\"", "", "");
    let (status, text) = command("reload");
    assert_eq!(status, 2);
    assert!(text.contains("reload refused; nothing has changed: "), "{text}");
    assert!(text.contains("proxy.toml:1:8: port: expected 4440, found 5000"), "{text}");
    let (status, text) = command("upgrade");
    assert_eq!(status, 2);
    assert!(text.contains("upgrade refused; nothing has changed: "), "{text}");
    drop((client, server));
    // Another file with the same socket is not that of the daemon.
    let other = lab.path("other.toml");
    fs::copy(&path, &other).unwrap();
    for name in ["reload", "upgrade", "stop"] {
        let output = lab.program(&[name, other.to_str().unwrap()]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {text}");
        assert!(text.contains("other.toml: expected "), "{text}");
        assert!(text.contains("proxy.toml, the file of the daemon"), "{text}");
    }
    assert_eq!(command("stop").0, 0);
}

#[test]
fn lines_of_the_log_have_a_date() {
    let Some(lab) = Lab::new() else { return };
    let daemon = lab.proxy("", "", "", "");
    let log = daemon.log();
    let line = log.lines().find(|line| line.contains(" ready ")).unwrap();
    let now = shell_date();
    let (date, _) = line.split_once('T').unwrap();
    assert!(now.contains(&date.to_owned()), "{line}");
    assert!(line.split_once(' ').unwrap().0.ends_with('Z'), "{line}");
}

/// The date in UTC before and now, if a test runs at midnight.
fn shell_date() -> Vec<String> {
    let of = |day: &str| {
        let output = std::process::Command::new("date").args(["-u", "-d", day, "+%F"]).output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
    };
    vec![of("1 minute ago"), of("now")]
}
