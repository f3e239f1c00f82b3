//! Three namespaces, client, gateway and server, joined by veth. The gateway has the real daemon.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::ops::RangeBounds;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use sha2::{Digest, Sha256};

pub const CLIENT: &str = "10.1.0.2";
pub const GATEWAY: &str = "10.1.0.1";
pub const SERVER: &str = "10.2.0.2";
pub const SERVER_SIDE: &str = "10.2.0.1";
pub const SERVER6: &str = "fd02::2";
pub const CLIENT6: &str = "fd01::2";
/// A host behind the server.
pub const FAR: &str = "10.3.0.2";
pub const FAR6: &str = "fd03::2";
/// Longer than a few lost SYNs take.
pub const PATIENCE: Duration = Duration::from_secs(60);

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The namespaces. They are removed with the value.
pub struct Lab {
    name: String,
    folder: PathBuf,
}

fn shell(command: &str) -> Result<String, String> {
    let words: Vec<_> = command.split_whitespace().collect();
    let output = Command::new(words[0]).args(&words[1..]).output();
    let output = output.map_err(|error| format!("{command}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{command}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

impl Lab {
    /// The namespaces, or `None` with a message where they cannot be made.
    pub fn new() -> Option<Self> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("bp{}x{number}", std::process::id());
        let folder = std::env::temp_dir().join(&name);
        fs::create_dir_all(&folder).unwrap();
        let lab = Self { name, folder };
        match lab.set_up() {
            Ok(()) => Some(lab),
            Err(message) => {
                // Not `eprintln`, which is kept back of tests that pass.
                let _ = writeln!(io::stderr(), "skipped: needs root, ip and nft: {message}");
                None
            }
        }
    }

    fn set_up(&self) -> Result<(), String> {
        shell("nft -V")?;
        for end in ["c", "g", "s"] {
            shell(&format!("ip netns add {}", self.namespace(end)))?;
            shell(&format!("ip -n {} link set lo up", self.namespace(end)))?;
        }
        let ends = [
            ("c", "lan0", CLIENT, GATEWAY, CLIENT6, "fd01::1"),
            ("s", "sat0", SERVER, SERVER_SIDE, SERVER6, "fd02::1"),
        ];
        let g = self.namespace("g");
        for (end, link, four, gateway4, six, gateway6) in ends {
            let n = self.namespace(end);
            for command in [
                format!("ip link add {link} netns {g} type veth peer name eth0 netns {n}"),
                format!("ip -n {n} address add {four}/24 dev eth0"),
                format!("ip -n {n} address add {six}/64 dev eth0 nodad"),
                format!("ip -n {g} address add {gateway4}/24 dev {link}"),
                format!("ip -n {g} address add {gateway6}/64 dev {link} nodad"),
                format!("ip -n {n} link set eth0 up"),
                format!("ip -n {g} link set {link} up"),
                format!("ip -n {n} route add default via {gateway4}"),
                format!("ip -n {n} route add default via {gateway6}"),
            ] {
                shell(&command)?;
            }
        }
        let sysctls = "net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1";
        self.gateway(&format!("sysctl -qw {sysctls}"))?;
        Ok(())
    }

    fn namespace(&self, end: &str) -> String {
        format!("{}{end}", self.name)
    }

    /// Adds a host behind the server, which routes to it over a link with `mtu`.
    pub fn behind(&self, mtu: u32) {
        let [g, s, x] = ["g", "s", "x"].map(|end| self.namespace(end));
        for command in [
            format!("ip netns add {x}"),
            format!("ip link add far0 netns {s} type veth peer name eth0 netns {x}"),
            format!("ip -n {s} link set far0 mtu {mtu} up"),
            format!("ip -n {x} link set eth0 up"),
            format!("ip -n {x} link set lo up"),
            format!("ip -n {s} address add 10.3.0.1/24 dev far0"),
            format!("ip -n {x} address add {FAR}/24 dev eth0"),
            format!("ip -n {x} route add default via 10.3.0.1"),
            format!("ip -n {g} route add 10.3.0.0/24 via {SERVER}"),
            format!("ip -n {s} address add fd03::1/64 dev far0 nodad"),
            format!("ip -n {x} address add {FAR6}/64 dev eth0 nodad"),
            format!("ip -n {x} route add default via fd03::1"),
            format!("ip -n {g} route add fd03::/64 via {SERVER6}"),
            format!("ip netns exec {s} sysctl -qw net.ipv4.ip_forward=1"),
            format!("ip netns exec {s} sysctl -qw net.ipv6.conf.all.forwarding=1"),
        ] {
            shell(&command).unwrap();
        }
    }

    /// Runs a command on the gateway.
    pub fn gateway(&self, command: &str) -> Result<String, String> {
        shell(&format!("ip netns exec {} {command}", self.namespace("g")))
    }

    /// Runs a command at the server.
    pub fn at_server(&self, command: &str) -> Result<String, String> {
        shell(&format!("ip netns exec {} {command}", self.namespace("s")))
    }

    /// Does something in the namespace `c`, `g` or `s`; sockets stay there.
    pub fn inside<T: Send>(&self, end: &str, work: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(format!("/run/netns/{}", self.namespace(end))).unwrap();
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let kind = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(namespace.as_fd(), kind).unwrap();
                work()
            });
            thread.join().unwrap()
        })
    }

    pub fn connect_to(&self, address: &str, port: u16) -> io::Result<TcpStream> {
        let address = SocketAddr::new(address.parse::<IpAddr>().unwrap(), port);
        let stream = self.inside("c", || TcpStream::connect_timeout(&address, PATIENCE))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    pub fn listen(&self, address: &str) -> TcpListener {
        let end = if [FAR, FAR6].contains(&address) { "x" } else { "s" };
        let address = SocketAddr::new(address.parse::<IpAddr>().unwrap(), 0);
        let listener = self.inside(end, || TcpListener::bind(address)).unwrap();
        // With the 128 of the standard library many clients at once wait for seconds.
        rustix::net::listen(&listener, 4096).unwrap();
        listener
    }

    /// A connection from the client to a server, and the server's end.
    pub fn pair(&self) -> (TcpStream, TcpStream) {
        self.pair_with(SERVER)
    }

    pub fn pair_with(&self, address: &str) -> (TcpStream, TcpStream) {
        let listener = self.listen(address);
        let client = self.connect_to(address, port(&listener)).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_read_timeout(Some(PATIENCE)).unwrap();
        server.set_write_timeout(Some(PATIENCE)).unwrap();
        (client, server)
    }

    /// The file of the proxy: two sides, and more.
    pub fn file(&self, head: &str, terrestrial: &str, satellite: &str, tables: &str) -> PathBuf {
        let text = format!(
            "{head}\nmetrics = \"127.0.0.1:9440\"\ncontrol = \"{}\"\n[terrestrial]\ninterfaces = \
             [\"lan0\"]\n{terrestrial}\n[satellite]\ninterfaces = \
             [\"sat0\"]\n{satellite}\n{tables}\n",
            self.folder.join("control").display()
        );
        let path = self.folder.join("proxy.toml");
        fs::write(&path, text).unwrap();
        path
    }

    /// Runs the program on the gateway with `arguments`, and waits for its end.
    pub fn program(&self, arguments: &[&str]) -> Output {
        self.command(&[], arguments).output().unwrap()
    }

    /// Starts the program on the gateway with `arguments`.
    pub fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(&[], arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The program with `arguments`, started by `parent`, if that is not empty.
    fn command(&self, parent: &[&str], arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        let program = env!("CARGO_BIN_EXE_bentpipe-proxy");
        command.args(["netns", "exec", &self.namespace("g")]).args(parent);
        command.arg(program).args(arguments);
        command
    }

    pub fn set_rules(&self) {
        let path = self.folder.join("proxy.toml");
        let output = self.program(&["rules", path.to_str().unwrap(), "--apply"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Starts the daemon with the file.
    pub fn start(&self) -> Daemon {
        self.start_by(&[])
    }

    /// Starts the daemon with the file, as a child of `parent`.
    pub fn start_by(&self, parent: &[&str]) -> Daemon {
        let path = self.folder.join("proxy.toml");
        let mut command = self.command(parent, &["run", path.to_str().unwrap()]);
        command.env("NOTIFY_SOCKET", self.folder.join("notify"));
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let kept = Arc::clone(&lines);
        thread::spawn(move || {
            stderr.lines().map_while(Result::ok).for_each(|line| kept.lock().unwrap().push(line));
        });
        let daemon = Daemon { child, lines };
        daemon.wait_for("ready");
        daemon
    }

    /// The whole: file, rules, daemon.
    pub fn proxy(&self, head: &str, terrestrial: &str, satellite: &str, tables: &str) -> Daemon {
        self.file(head, terrestrial, satellite, tables);
        self.set_rules();
        self.start()
    }

    /// The page of metrics.
    pub fn page(&self) -> String {
        self.inside("g", || {
            let mut stream = TcpStream::connect("127.0.0.1:9440").unwrap();
            stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
            let mut page = String::new();
            stream.read_to_string(&mut page).unwrap();
            page
        })
    }

    /// Starts a program in the namespace `c`, `g` or `s`. `ip` becomes that program.
    pub fn run(&self, end: &str, words: &[&str]) -> Process {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(end)]).args(words);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Process(pipes.spawn().unwrap())
    }

    /// A metric without labels, as it is now. What another process counts is not yet there when its
    /// bytes are: a test that expects a value waits for it.
    pub fn metric(&self, name: &str) -> u64 {
        let name = format!("bentpipe_proxy_{name} ");
        let page = self.page();
        let line = page.lines().find_map(|line| line.strip_prefix(&name));
        line.unwrap_or_else(|| panic!("{name} in {page}")).parse().unwrap()
    }

    /// Waits until a metric has a value.
    pub fn wait_for_metric(&self, name: &str, value: u64) {
        self.wait_for_metric_in(name, value..=value);
    }

    /// Waits until a metric is in a range.
    pub fn wait_for_metric_in(&self, name: &str, wanted: impl RangeBounds<u64> + Debug) {
        let start = Instant::now();
        loop {
            let value = self.metric(name);
            if wanted.contains(&value) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{name} is {value}, not {wanted:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for end in ["c", "g", "s", "x"] {
            let name = self.namespace(end);
            if !PathBuf::from(format!("/run/netns/{name}")).exists() {
                continue;
            }
            // Nothing of a test that has failed goes on: a daemon that took over is nobody's child.
            let own = std::process::id().to_string();
            let processes = shell(&format!("ip netns pids {name}")).unwrap_or_default();
            for process in processes.lines().filter(|process| *process != own) {
                let _ = shell(&format!("kill -KILL {process}"));
            }
            let _ = shell(&format!("ip netns del {name}"));
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The running daemon. It is killed with the value.
pub struct Daemon {
    pub child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Daemon {
    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(self.pid(), signal).unwrap();
    }

    pub fn log(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }

    pub fn wait_for(&self, words: &str) {
        self.wait_for_count(words, 1);
    }

    /// Waits until the log has the words a number of times.
    pub fn wait_for_count(&self, words: &str, count: usize) {
        let start = Instant::now();
        while self.log().matches(words).count() < count {
            assert!(start.elapsed() < PATIENCE, "no {words:?} in the log: {}", self.log());
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program of a host. It is killed with the value.
pub struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Resident memory of a process in KiB.
pub fn resident_kib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Number of sockets that a process has open.
pub fn sockets(process: u32) -> usize {
    let folder = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let links = folder.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

/// A number from the environment: the commands of docs/proxy.md run some tests for longer.
pub fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

pub fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().unwrap().port()
}

/// Bytes that look random, other ones for each seed.
pub fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| next()).collect();
    bytes.truncate(length);
    bytes
}

pub fn digest(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

/// Reads to the end of the stream, and returns what came with the error that ended it.
pub fn read_all(stream: &mut TcpStream) -> (Vec<u8>, Option<io::ErrorKind>) {
    let mut received = Vec::new();
    let error = stream.read_to_end(&mut received).err().map(|error| error.kind());
    (received, error)
}

/// Reads to the end of the stream, which has to bring exactly `sent`. A failure shows no contents:
/// they are long.
#[track_caller]
pub fn assert_reads(stream: &mut TcpStream, sent: &[u8], what: &str) {
    let (received, error) = read_all(stream);
    assert_eq!((received.len(), error), (sent.len(), None), "{what}");
    assert!(received == sent, "{what}: other bytes");
}

/// Lets a stream send a reset when it is dropped.
pub fn reset(stream: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
}
