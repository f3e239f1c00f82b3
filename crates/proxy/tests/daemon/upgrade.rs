//! An upgrade: a new process takes the listeners over, and the old one ends with its connections.
//! Real processes in namespaces.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::lab::{Daemon, Lab, PATIENCE, SERVER, assert_reads, bytes, port, read_all};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// Lets the daemon's last process hand over. Returns the number of the new one.
fn upgrade(daemon: &Daemon, process: u32, count: usize) -> u32 {
    kill_process(pid(process), Signal::USR2).unwrap();
    let start = Instant::now();
    loop {
        let log = daemon.log();
        let handed: Vec<_> = log.split("handed over process=").skip(1).collect();
        if handed.len() == count {
            return handed[count - 1].split_whitespace().next().unwrap().parse().unwrap();
        }
        assert!(start.elapsed() < PATIENCE, "{log}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn pid(process: u32) -> Pid {
    Pid::from_raw(process.cast_signed()).unwrap()
}

/// Waits until a process of somebody else has ended.
fn wait_for_end(process: u32) {
    let start = Instant::now();
    let is_zombie = || {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
    };
    while test_kill_process(pid(process)).is_ok() && !is_zombie() {
        assert!(start.elapsed() < PATIENCE, "process {process} still runs");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn no_connection_is_refused_or_lost_while_processes_take_over() {
    let Some(lab) = Lab::new() else { return };
    let head = "threads = 2\nuser = \"65534:65534\"";
    let mut daemon = lab.proxy(head, "", "controller = \"cubic\"", "");
    let (mut client, mut server) = lab.pair();
    let echoes = lab.listen(SERVER);
    let number = port(&echoes);
    thread::spawn(move || {
        for mut stream in echoes.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let (received, _) = read_all(&mut stream);
                stream.write_all(&received).unwrap();
            });
        }
    });
    let done = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    let mut last = daemon.child.id();
    lab.inside("c", || {
        thread::scope(|scope| {
            for part in 0..8 {
                let (done, is_over) = (&done, &is_over);
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        let seed = done.fetch_add(1, Ordering::Relaxed);
                        let sent = bytes(seed, 1 + part * 3000);
                        let mut stream = TcpStream::connect((SERVER, number)).unwrap();
                        stream.set_read_timeout(Some(PATIENCE)).unwrap();
                        stream.write_all(&sent).unwrap();
                        stream.shutdown(Shutdown::Write).unwrap();
                        assert_reads(&mut stream, &sent, &format!("connection {seed}"));
                    }
                });
            }
            for upgrades in 1..=3 {
                thread::sleep(Duration::from_millis(300));
                // Each new process reads the file.
                let name = ["reno", "cubic", "reno"][upgrades - 1];
                lab.file(head, "", &format!("controller = \"{name}\""), "");
                last = upgrade(&daemon, last, upgrades);
            }
            lab.wait_for_metric_in("accepted_total", 1..);
            is_over.store(true, Ordering::Relaxed);
        });
    });
    assert!(done.into_inner() > 100);
    lab.wait_for_metric("open_connections", 0);
    for counter in ["reset_total", "refused_at_limit_total", "lost_bytes_total"] {
        assert_eq!(lab.metric(counter), 0, "{counter}");
    }
    // The first process still has its connection, and ends with it.
    let sent = bytes(1, 3 << 20);
    let to_send = sent.clone();
    let sender = thread::spawn(move || {
        client.write_all(&to_send).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        read_all(&mut client)
    });
    assert!(daemon.child.try_wait().unwrap().is_none());
    assert_reads(&mut server, &sent, "the old process");
    drop(server);
    assert_eq!(sender.join().unwrap(), (vec![], None));
    assert!(daemon.child.wait().unwrap().success());
    // The last one has the settings of the last file, answers `top`, and stops like any other.
    let (mut client, mut server) = lab.pair();
    client.write_all(b"new").unwrap();
    server.read_exact(&mut [0; 3]).unwrap();
    assert!(lab.gateway("ss -tinH").unwrap().contains(" reno "));
    let path = lab.path("proxy.toml");
    let top = lab.program(&["top", path.to_str().unwrap()]);
    assert!(String::from_utf8(top.stdout).unwrap().starts_with("1 connection, "));
    drop((client, server));
    kill_process(pid(last), Signal::TERM).unwrap();
    wait_for_end(last);
}

#[test]
fn an_upgrade_that_cannot_start_changes_nothing() {
    let Some(lab) = Lab::new() else { return };
    let daemon = lab.proxy("", "keepalive = \"100s\"", "", "");
    let cases = [
        ("colour = 1", "keepalive = \"100s\"", "unknown key"),
        ("port = 5000", "keepalive = \"100s\"", "the running daemon has a listener on"),
        ("", "", "only a restart brings back the kernel's default"),
    ];
    for (number, (head, terrestrial, part)) in cases.into_iter().enumerate() {
        lab.file(head, terrestrial, "", "");
        daemon.signal(Signal::USR2);
        daemon.wait_for(part);
        let start = Instant::now();
        while daemon.log().matches("upgrade refused; nothing has changed").count() <= number {
            assert!(start.elapsed() < PATIENCE, "{}", daemon.log());
            thread::sleep(Duration::from_millis(5));
        }
    }
    let (mut client, mut server) = lab.pair();
    client.write_all(b"as before").unwrap();
    server.read_exact(&mut [0; 9]).unwrap();
    lab.wait_for_metric("split_total", 1);
}

#[test]
fn an_old_process_keeps_no_address_from_a_later_start() {
    let Some(lab) = Lab::new() else { return };
    let daemon = lab.proxy("", "", "", "");
    let (mut client, mut server) = lab.pair();
    let new = upgrade(&daemon, daemon.child.id(), 1);
    lab.wait_for_metric("accepted_total", 0);
    kill_process(pid(new), Signal::KILL).unwrap();
    wait_for_end(new);
    let _later = lab.start();
    drop(lab.pair());
    lab.wait_for_metric("accepted_total", 1);
    client.write_all(b"goes on").unwrap();
    server.read_exact(&mut [0; 7]).unwrap();
}

#[test]
fn the_service_manager_learns_of_the_new_process_and_both_stop() {
    let Some(lab) = Lab::new() else { return };
    let manager = UnixDatagram::bind(lab.path("notify")).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let next = || {
        let mut text = [0; 100];
        let length = manager.recv(&mut text).unwrap();
        String::from_utf8(text[..length].to_vec()).unwrap()
    };
    let mut daemon = lab.proxy("stop_within = \"1s\"", "", "", "");
    assert_eq!(next(), "READY=1");
    let (client, mut server) = lab.pair();
    let new = upgrade(&daemon, daemon.child.id(), 1);
    assert_eq!((next(), next()), ("READY=1".to_owned(), format!("MAINPID={new}")));
    // A manager that stops the unit sends the signal to both.
    daemon.signal(Signal::TERM);
    kill_process(pid(new), Signal::TERM).unwrap();
    assert_eq!(next(), "STOPPING=1");
    wait_for_end(new);
    assert!(daemon.child.wait().unwrap().success());
    assert!(!lab.path("control").exists(), "the old process, or none, removed its socket");
    assert_eq!(read_all(&mut server).1, Some(std::io::ErrorKind::ConnectionReset));
    drop(client);
}
