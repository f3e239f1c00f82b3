//! A node with a split proxy in the Linux testbed: the real daemon between real TCP of the hosts.
//! The table of tests is that of the simulator.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use middlebox::Accept;
use middlebox::conduct::{CASES, Case, End, Step};
use recording::{Recording, Values};
use rustix::net::sockopt;
use scenario::Scenario;
use scenario::model::Flow;
use testbed::{Hosts, Options, with_hosts};

const PROGRAM: &str = env!("CARGO_BIN_EXE_bentpipe-proxy");
const PATIENCE: Duration = Duration::from_secs(60);
const PORT: u16 = 7000;
const SEND_BUFFER: u64 = 100_000;
const RECEIVE_BUFFER: u64 = 150_000;
const RELAY: u64 = 65_536;
/// The kernel counts the memory of packets, so it takes more data than the size of a buffer.
const MEMORY: u64 = 4;

/// Client, gateway and server, with a flow between the hosts, keys of the proxy's sides, and more.
fn scenario(terrestrial: &str, satellite: &str, head: &str, accept: Accept) -> Scenario {
    let accept = accept.name();
    let text = format!(
        r#"
        duration = "60s"
        {head}
        [[link]]
        between = ["client", "gateway"]
        rate = "100Mbit/s"
        delay = "5ms"
        [[link]]
        between = ["gateway", "server"]
        rate = "50Mbit/s"
        delay = "40ms"
        [[node]]
        name = "gateway"
        [node.proxy]
        limits = {{ relay_buffer = "64KiB" }}
        accept = {accept:?}
        terrestrial = {{ {terrestrial} }}
        satellite = {{ towards = ["server"] {satellite} }}
        [[flow]]
        from = "server"
        to = "client"
        controller = {{ name = "cubic", variant = "linux" }}
        transport = {{ recovery = "linux" }}
        traffic = {{ download = "1MB" }}
        "#
    );
    Scenario::parse(&text, "node.toml", &[]).unwrap()
}

/// Returns true if this machine cannot run the testbed; prints why.
fn is_skipped() -> bool {
    let missing = testbed::available().err();
    // Not `eprintln`, which is kept back of tests that pass.
    missing.iter().for_each(|missing| drop(writeln!(io::stderr(), "skipped: {missing}")));
    missing.is_some()
}

fn program() -> Option<&'static Path> {
    Some(Path::new(PROGRAM))
}

/// One end of a connection, with threads that read and write.
struct Application {
    stream: TcpStream,
    received: Arc<AtomicU64>,
    /// How its stream ended, once it has: `None` is a FIN.
    end: Arc<Mutex<Option<Option<ErrorKind>>>>,
    /// Writing found a reset. The kernel reports it once, to whichever thread is first.
    was_reset: Arc<AtomicBool>,
    reads: Arc<AtomicBool>,
    orders: std::sync::mpsc::Sender<Option<u64>>,
}

impl Application {
    fn new(stream: TcpStream, reads: bool) -> Self {
        let received = Arc::new(AtomicU64::new(0));
        let end = Arc::new(Mutex::new(None));
        let was_reset = Arc::new(AtomicBool::new(false));
        let reads = Arc::new(AtomicBool::new(reads));
        let (orders, ordered) = std::sync::mpsc::channel();
        let (mut source, mut sink) = (stream.try_clone().unwrap(), stream.try_clone().unwrap());
        let (counted, ended, may) = (Arc::clone(&received), Arc::clone(&end), Arc::clone(&reads));
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while !may.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
            }
            let last = loop {
                match source.read(&mut buffer) {
                    Ok(0) => break None,
                    Ok(bytes) => drop(counted.fetch_add(bytes as u64, Ordering::Relaxed)),
                    Err(error) => break Some(error.kind()),
                }
            };
            *ended.lock().unwrap() = Some(last);
        });
        let noted = Arc::clone(&was_reset);
        thread::spawn(move || {
            for order in ordered {
                match order {
                    Some(bytes) => {
                        let written = sink.write_all(&vec![7; bytes as usize]);
                        let kind = written.err().map(|error| error.kind());
                        noted.fetch_or(kind == Some(ErrorKind::ConnectionReset), Ordering::Relaxed);
                    }
                    None => drop(sink.shutdown(std::net::Shutdown::Write)),
                }
            }
        });
        Self { stream, received, end, was_reset, reads, orders }
    }

    /// Bytes that the other end of its connection has acknowledged, with SYN and FIN.
    fn acknowledged(&self) -> u64 {
        let info = testbed::socket_info(self.stream.as_fd()).unwrap();
        u64::from_ne_bytes(info[120..128].try_into().unwrap())
    }

    fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    fn end(&self) -> Option<Option<ErrorKind>> {
        *self.end.lock().unwrap()
    }
}

fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn play(case: &Case, hosts: &Hosts<'_>) {
    let listener = case.listens.then(|| {
        hosts.inside("server", || TcpListener::bind((hosts.address("server"), PORT)).unwrap())
    });
    if let (Some(listener), false) = (&listener, case.reads) {
        sockopt::set_socket_recv_buffer_size(listener, RECEIVE_BUFFER as usize).unwrap();
    }
    let to = SocketAddr::new(hosts.address("server"), PORT);
    let stream = hosts.inside("client", || TcpStream::connect_timeout(&to, PATIENCE));
    if case.steps == [Step::Refused(End::Client)] {
        assert_eq!(stream.unwrap_err().kind(), ErrorKind::ConnectionRefused, "{}", case.name);
        return;
    }
    let client = Application::new(stream.unwrap(), true);
    let server = listener.map(|listener| {
        let (stream, peer) = listener.accept().unwrap();
        assert_eq!(peer, client.stream.local_addr().unwrap(), "the server sees the client");
        Application::new(stream, case.reads)
    });
    let at = |end: End| match end {
        End::Client => &client,
        End::Server => server.as_ref().expect("a server that listens"),
    };
    for step in case.steps {
        let what = format!("{}: {step:?}", case.name);
        match *step {
            Step::Write(end, bytes) => at(end).orders.send(Some(bytes)).unwrap(),
            Step::Close(end) => at(end).orders.send(None).unwrap(),
            Step::Reset(end) => {
                // Its threads have the socket too, so it is not closed: this resets it
                // (connect(2)).
                rustix::net::connect_unspec(&at(end).stream).unwrap();
            }
            Step::Read(end) => at(end).reads.store(true, Ordering::Relaxed),
            Step::Pass => thread::sleep(Duration::from_millis(500)),
            Step::Stopped(end) => {
                let most = MEMORY * (2 * RECEIVE_BUFFER + SEND_BUFFER) + RELAY;
                let (mut before, start) = (0, Instant::now());
                while before <= 1 || at(end).acknowledged() != before {
                    assert!(start.elapsed() < PATIENCE, "{what}");
                    before = at(end).acknowledged();
                    thread::sleep(Duration::from_millis(500));
                }
                assert!(before <= most, "{what}: {before} bytes, and buffers hold {most}");
                assert!(before > RELAY, "{what}: {before}");
                assert_eq!(at(end.other()).received(), 0, "{what}");
            }
            Step::Receives(end, bytes) => {
                wait_for(&what, || at(end).received() >= bytes);
                assert_eq!(at(end).received(), bytes, "{what}");
            }
            Step::Ended(end) => {
                wait_for(&what, || at(end).end().is_some());
                assert_eq!(at(end).end(), Some(None), "{what}");
            }
            Step::Open(end) => {
                thread::sleep(Duration::from_millis(300));
                assert_eq!(at(end).end(), None, "{what}");
            }
            Step::Refused(_) => unreachable!("{what}: a refused client does nothing else"),
            Step::WasReset(end) => {
                wait_for(&what, || {
                    at(end).was_reset.load(Ordering::Relaxed)
                        || at(end).end() == Some(Some(ErrorKind::ConnectionReset))
                });
            }
        }
    }
}

#[test]
fn split_connections_behave_as_the_table_of_both_backends_has_it() {
    if is_skipped() {
        return;
    }
    let sides = format!("send_buffer = \"{SEND_BUFFER}B\", receive_buffer = \"{RECEIVE_BUFFER}B\"");
    for case in CASES {
        let scenario = scenario(&sides, &format!(", {sides}"), "", case.accept);
        with_hosts(&scenario, 1, program(), |hosts| play(&case, hosts)).unwrap();
    }
}

/// A column of the table of legs, as numbers.
fn column(recording: &Recording, name: &str) -> Vec<f64> {
    let legs = recording.tables.iter().find(|table| table.name() == "legs").unwrap();
    let columns = legs.columns();
    match &columns.iter().find(|column| column.name == name).unwrap().values {
        Values::U64(values) => values.iter().map(|value| *value as f64).collect(),
        Values::U32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Values::F64(values) => values.to_vec(),
        _ => panic!("{name} has no numbers"),
    }
}

#[test]
fn a_flow_through_the_daemon_has_a_row_for_each_leg_over_both_versions_of_ip() {
    if is_skipped() {
        return;
    }
    for ip in ["ipv4", "ipv6"] {
        let scenario =
            scenario("", ", initial_window = 30", &format!("ip = {ip:?}"), Accept::Early);
        let options = Options { proxy: program(), ..Options::default() };
        let recording = testbed::run(&scenario, 1, options).unwrap();
        assert!(recording.flows[0].completed, "{ip}");
        assert_eq!(column(&recording, "bytes"), [1e6, 1e6], "{ip}");
        assert_eq!(column(&recording, "connections"), [1.0, 1.0]);
        assert_eq!(column(&recording, "connections_aborted"), [0.0, 0.0]);
        assert_eq!(column(&recording, "discarded_bytes"), [0.0, 0.0]);
        // Each leg has its own round trip: 80 ms to the server, 10 ms to the client.
        let rtts = column(&recording, "min_rtt_ms");
        assert!((80.0..90.0).contains(&rtts[0]) && (10.0..20.0).contains(&rtts[1]), "{rtts:?}");
        let sent = column(&recording, "segments_sent");
        assert!(sent.iter().all(|segments| (685.0..900.0).contains(segments)), "{sent:?}");
    }
}

/// Three flows to the client. The rate has a kilobyte in a millisecond.
#[test]
fn a_rate_that_flows_share_is_never_exceeded() {
    if is_skipped() {
        return;
    }
    let mut scenario = scenario("rate = \"8Mbit/s\"", "", "", Accept::Early);
    let flow = scenario.flows[0].clone();
    scenario.flows =
        (0..3).map(|number| Flow { name: format!("{number}"), ..flow.clone() }).collect();
    let options = Options { proxy: program(), ..Options::default() };
    let recording = testbed::run(&scenario, 1, options).unwrap();
    let times = recording.flows.iter().map(|flow| flow.completion_s.unwrap());
    // Packets of 1500 bytes have 1448 bytes of data. The bucket has those of 50 ms.
    let least = (3e6 * 1500.0 / 1448.0 - 50e3) / 1e6;
    assert!(times.fold(0.0, f64::max) >= least, "{:?}", recording.flows);
    // They had the same share.
    let last =
        recording.flows.iter().map(|flow| flow.completion_s.unwrap()).fold(f64::MAX, f64::min);
    assert!(last >= least / 2.0, "{:?}", recording.flows);
}

#[test]
fn without_the_program_the_node_is_named() {
    if is_skipped() {
        return;
    }
    let error = testbed::run(&scenario("", "", "", Accept::Early), 1, Options::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("bentpipe-proxy for the proxy of node \"gateway\""), "{error}");
    assert!(error.contains("make proxy"), "{error}");
}

#[test]
fn a_daemon_that_cannot_start_ends_the_run_with_its_message() {
    if is_skipped() {
        return;
    }
    let missing = Path::new("/bin/false");
    let options = Options { proxy: Some(missing), ..Options::default() };
    let error =
        testbed::run(&scenario("", "", "", Accept::Early), 1, options).unwrap_err().to_string();
    assert!(error.contains("set the rules of the proxy of node \"gateway\""), "{error}");
}
