//! The simulated TCP as a host of scripts: one connection in virtual time.

mod convert;
mod options;

use std::collections::BTreeMap;
use std::sync::Arc;

use congestion::{Settings, Specification, Value};
use drill::{Action, Call, Ecn, Host, Live, Outcome, Packet, Script, Setting};
use tcp::{
    AckTiming, Config, Connection, DelayedAck, Growth, ReceiveTuning, Recovery, SackCompression,
    SendTuning, State,
};
use transport::{AbortCause, Endpoint, Estimator, Pacing, RtoConfig};
use units::{Bytes, SizeLimit, Span, Time};

use self::convert::{fields, packet_of, segment_of};

/// Both spaces of sequence numbers wrap early.
const OWN: u32 = u32::MAX - 2_500;
const PEER: u32 = u32::MAX / 2 - 1_200;

/// Whose rules the simulated TCP follows where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Those of the RFCs.
    Rfc,
    /// `recovery = "linux"`, `rto.estimator = "linux"` and `delayed_ack = "linux"`.
    Linux,
}

/// The configuration that a script finds.
pub fn config(profile: Profile) -> Config {
    let linux = profile == Profile::Linux;
    let ms = Span::from_millis;
    Config {
        recovery: if linux { Recovery::Linux } else { Recovery::Sack },
        receive_buffer: Bytes(6_291_456),
        reads_at_once: false,
        delayed_ack: if linux { AckTiming::Linux } else { AckTiming::default() },
        dsack: true,
        rto: RtoConfig {
            estimator: if linux { Estimator::Linux } else { Estimator::Rfc6298 },
            min: ms(if linux { 200 } else { 1000 }),
            max: Span::from_secs(if linux { 120 } else { 60 }),
            ..RtoConfig::default()
        },
        persist_timeout: ms(if linux { 200 } else { 1000 }),
        nagle: true,
        sack_compression: linux.then(SackCompression::default),
        ..Config::default()
    }
}

/// The buffers of a version of Linux, with sizes that a script may change.
fn tune(config: &mut Config, version: &str) {
    let growth = match version {
        "4.19" => Growth::Linux4_19,
        "5.15" => Growth::Linux5_15,
        "6.12" => Growth::Linux6_12,
        "6.16" => Growth::Linux6_16,
        "6.18" => Growth::Linux6_18,
        other => panic!("a script of Linux {other}"),
    };
    let (default, max) = (growth.usual_default(), growth.usual_maximum());
    config.receive_tuning = Some(ReceiveTuning { default, max, growth });
    // A call of a script is one write.
    let write = Bytes(u64::MAX);
    let (default, max) = (SendTuning::DEFAULT, SendTuning::MAX);
    let notsent_lowat = SizeLimit::UNLIMITED;
    config.send_tuning = Some(SendTuning { default, max, write, notsent_lowat });
}

/// `TCP_DELACK_MIN` of Linux.
const LEAST_DELAY: Span = Span::from_millis(40);

/// A descriptor of the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Socket {
    Fresh,
    Listener,
    Connection,
}

/// The simulated TCP.
pub struct Simulated {
    profile: Profile,
    now: Time,
    config: Config,
    controller: String,
    initial_window: u64,
    sockets: BTreeMap<i64, Socket>,
    non_blocking: Vec<i64>,
    connection: Option<Connection>,
    /// It has passed from the listener to a descriptor of its own.
    accepted: bool,
    /// The application has shut down its reading half.
    deaf: bool,
    /// A close throws everything away.
    aborts: bool,
    /// Nothing has happened since the connection had nothing to send. Like the kernel it is not
    /// asked again before: a segment that waits for an ACK does not leave because time has passed.
    quiet: bool,
}

type Try<T> = Result<T, String>;

impl Simulated {
    /// A host that follows `profile`.
    pub fn new(profile: Profile, script: &Script) -> Self {
        let mut config = config(profile);
        if let Some(version) = &script.version {
            tune(&mut config, version);
        }
        config.nagle = !sets_no_delay_before_it_writes(script);
        if profile == Profile::Linux && delays_acks(script) {
            config.delayed_ack = AckTiming::Fixed(DelayedAck { segments: 2, timeout: LEAST_DELAY });
        }
        Self {
            profile,
            now: Time::ZERO,
            config,
            controller: "newreno".to_owned(),
            initial_window: 10,
            sockets: BTreeMap::new(),
            non_blocking: Vec::new(),
            connection: None,
            accepted: false,
            deaf: false,
            aborts: false,
            quiet: false,
        }
    }

    fn build(&mut self) -> Try<&mut Connection> {
        let config = Arc::new(self.config.clone());
        let mss = config.mss;
        let settings = Settings {
            mss,
            initial_window: self.initial_window * u64::from(mss),
            initial_ssthresh: u64::MAX,
            // Linux counts all that an ACK acknowledges (`tcp_slow_start`).
            byte_counting: if self.profile == Profile::Linux { u32::MAX } else { 1 },
        };
        let linux = self.profile == Profile::Linux;
        let name = match self.controller.as_str() {
            "newreno" if linux => "reno",
            name => name,
        };
        let mut specification = Specification::named(name).map_err(|error| error.to_string())?;
        if linux && matches!(name, "cubic" | "reno") {
            let variant = Value::Word("linux".into());
            specification.set("variant", variant).map_err(|error| error.to_string())?;
        }
        let connection = Connection::new(config, specification.build(&settings), OWN);
        Ok(self.connection.insert(connection))
    }

    fn open(&mut self, socket: Socket, call: &Call) -> i64 {
        let number = call.descriptor().unwrap_or(3);
        self.sockets.insert(number, socket);
        number
    }

    fn socket(&self, call: &Call) -> Try<(i64, Socket)> {
        let number = call.number(0).ok_or("a descriptor that is no number")?;
        let socket = self.sockets.get(&number).copied();
        Ok((number, socket.ok_or_else(|| format!("descriptor {number}"))?))
    }

    fn live(&mut self) -> Try<&mut Connection> {
        self.connection.as_mut().ok_or_else(|| "no connection".to_owned())
    }

    fn connect(&mut self, number: i64) -> Try<Outcome> {
        self.build()?.connect();
        self.sockets.insert(number, Socket::Connection);
        self.accepted = true;
        let non_blocking = self.non_blocking.contains(&number);
        Ok(if non_blocking { Outcome::Failed("EINPROGRESS") } else { Outcome::Blocks })
    }

    fn accept(&mut self, call: &Call) -> Outcome {
        let ready = self.connection.as_ref().is_some_and(Connection::is_established);
        if !ready || self.accepted {
            return Outcome::Blocks;
        }
        self.accepted = true;
        Outcome::Returned(self.open(Socket::Connection, call))
    }

    fn write(&mut self, call: &Call) -> Try<Outcome> {
        let (_, socket) = self.socket(call)?;
        let bytes = call.number(2).ok_or("a length that is no number")?;
        if call.arguments.len() > 3 && call.number(3) != Some(0) {
            return Err(format!("the flags {:?}", call.arguments[3]));
        }
        if socket != Socket::Connection {
            return Err("a descriptor without connection".to_owned());
        }
        let connection = self.live()?;
        if connection.is_closing() {
            return Ok(Outcome::Failed("EPIPE"));
        }
        connection.write(bytes as u64);
        Ok(self.end_of_write(bytes))
    }

    /// A write blocks until all of it is in the send buffer.
    fn end_of_write(&self, bytes: i64) -> Outcome {
        let waits = |connection: &Connection| connection.info().not_buffered > 0;
        let is_tuned = self.config.send_tuning.is_some();
        if is_tuned && self.connection.as_ref().is_some_and(waits) {
            return Outcome::Blocks;
        }
        Outcome::Returned(bytes)
    }

    fn read(&mut self, call: &Call) -> Try<Outcome> {
        let (number, _) = self.socket(call)?;
        let most = call.number(2).ok_or("a length that is no number")?;
        let non_blocking = self.non_blocking.contains(&number);
        let deaf = self.deaf;
        let connection = self.live()?;
        let bytes = connection.unread().min(most as u64);
        if bytes > 0 {
            connection.read(bytes);
            return Ok(Outcome::Returned(bytes as i64));
        }
        match connection.abort_cause() {
            Some(AbortCause::Reset) => return Ok(Outcome::Failed("ECONNRESET")),
            Some(_) => return Ok(Outcome::Failed("ETIMEDOUT")),
            None => {}
        }
        if deaf || connection.peer_has_finished() {
            return Ok(Outcome::Returned(0));
        }
        Ok(if non_blocking { Outcome::Failed("EAGAIN") } else { Outcome::Blocks })
    }

    fn close(&mut self, call: &Call) -> Try<Outcome> {
        let (number, socket) = self.socket(call)?;
        if socket == Socket::Connection {
            let aborts = self.aborts;
            let connection = self.live()?;
            // RFC 9293 section 3.6.1: data that nobody will read any more.
            let gives_up = connection.state() == State::SynSent;
            if aborts || gives_up || connection.unread() > 0 {
                connection.abort();
            } else {
                connection.close();
            }
        }
        self.sockets.remove(&number);
        Ok(Outcome::Returned(0))
    }

    /// Outcome of a blocking call.
    fn end_of(&mut self, call: &Call) -> Try<Outcome> {
        match call.name.as_str() {
            "accept" => Ok(self.accept(call)),
            "read" | "recv" => self.read(call),
            "write" | "send" | "sendto" => Ok(self.end_of_write(call.number(2).unwrap_or(0))),
            "connect" => {
                let connection = self.live()?;
                Ok(match connection.state() {
                    State::SynSent | State::SynReceived => Outcome::Blocks,
                    _ if connection.abort_cause() == Some(AbortCause::Reset) => {
                        Outcome::Failed("ECONNREFUSED")
                    }
                    _ if connection.abort_cause().is_some() => Outcome::Failed("ETIMEDOUT"),
                    _ => Outcome::Returned(0),
                })
            }
            other => Err(format!("a {other} that blocks")),
        }
    }
}

fn calls(script: &Script) -> impl Iterator<Item = &Call> {
    script.events.iter().filter_map(|event| match &event.action {
        Action::Call(call) => Some(call),
        _ => None,
    })
}

/// A script that switches the quick ACKs of Linux off has the delay that Linux begins with.
fn delays_acks(script: &Script) -> bool {
    calls(script).any(|call| call.name(2) == Some("TCP_QUICKACK") && call.number(3) == Some(0))
}

/// Nagle's algorithm cannot be switched off on the way; before the first byte that is no
/// difference.
fn sets_no_delay_before_it_writes(script: &Script) -> bool {
    let writes = |call: &&Call| matches!(call.name.as_str(), "write" | "send" | "sendto");
    let mut before = calls(script).take_while(|call| !writes(call));
    before.any(|call| call.name(2) == Some("TCP_NODELAY") && call.number(3) == Some(1))
}

impl Host for Simulated {
    fn now(&self) -> i64 {
        (self.now.as_nanos() / 1000) as i64
    }

    fn step(&mut self, until: i64) -> Try<Option<Live>> {
        let until = Time::from_nanos(until as u64 * 1000);
        let at = self.now();
        let now = self.now;
        let Some(connection) = &mut self.connection else {
            self.now = until;
            return Ok(None);
        };
        if !self.quiet {
            if let Some(segment) = connection.next_packet(now) {
                return Ok(Some(Live { at, packet: packet_of(&segment) }));
            }
            self.quiet = true;
        }
        let deadline = connection.deadline();
        if deadline > until {
            self.now = until.max(now);
        } else {
            self.now = deadline.max(now);
            connection.on_deadline(self.now);
            self.quiet = false;
        }
        Ok(None)
    }

    fn inject(&mut self, packet: &Packet) -> Try<()> {
        let segment = segment_of(packet)?;
        let now = self.now;
        self.quiet = false;
        if self.connection.is_none() {
            if !self.sockets.values().any(|socket| *socket == Socket::Listener) {
                return Err("a segment for nobody".to_owned());
            }
            self.build()?.listen();
        }
        let connection = self.live()?;
        if packet.ecn == Some(Ecn::Ce) {
            connection.on_marked_segment(now, &segment);
        } else {
            connection.on_segment(now, &segment);
        }
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Try<Outcome> {
        self.quiet = false;
        match call.name.as_str() {
            "socket" => Ok(Outcome::Returned(self.open(Socket::Fresh, call))),
            "bind" => self.socket(call).map(|_| Outcome::Returned(0)),
            "listen" => {
                let (number, _) = self.socket(call)?;
                self.sockets.insert(number, Socket::Listener);
                Ok(Outcome::Returned(0))
            }
            "connect" => {
                let (number, _) = self.socket(call)?;
                self.connect(number)
            }
            "accept" => match self.accept(call) {
                Outcome::Blocks
                    if call.number(0).is_some_and(|n| self.non_blocking.contains(&n)) =>
                {
                    Ok(Outcome::Failed("EAGAIN"))
                }
                outcome => Ok(outcome),
            },
            "setsockopt" => self.set_option(call),
            "getsockopt" => match (call.name(2), call.number(3)) {
                (Some("SO_ERROR"), Some(0)) => Ok(Outcome::Returned(0)),
                (Some("TCP_MAXSEG"), Some(expected)) => {
                    let found = i64::from(self.full_segment().unwrap_or(self.config.mss));
                    Ok(Outcome::Returned(if found == expected { 0 } else { found }))
                }
                (Some(option @ ("SO_RCVBUF" | "SO_SNDBUF")), Some(expected)) => {
                    let info = self.live()?.info();
                    let size = match option {
                        "SO_RCVBUF" => info.receive_tuning.map(|tuned| tuned.size),
                        _ => info.send_tuning,
                    };
                    let found = size.ok_or("a buffer of one size")? as i64;
                    Ok(Outcome::Returned(if found == expected { 0 } else { found }))
                }
                (option, _) => Err(format!("getsockopt of {option:?}")),
            },
            "fcntl" => {
                let (number, _) = self.socket(call)?;
                match call.name(1) {
                    Some("F_GETFL") => Ok(Outcome::Returned(0x2)),
                    Some("F_SETFL") => {
                        self.non_blocking.retain(|other| *other != number);
                        if call.names(2).contains(&"O_NONBLOCK") {
                            self.non_blocking.push(number);
                        }
                        Ok(Outcome::Returned(0))
                    }
                    other => Err(format!("fcntl with {other:?}")),
                }
            }
            "write" | "send" | "sendto" => self.write(call),
            "read" | "recv" => self.read(call),
            "shutdown" => match call.name(1) {
                Some(how @ ("SHUT_RD" | "SHUT_WR" | "SHUT_RDWR")) => {
                    self.deaf |= how != "SHUT_WR";
                    if how != "SHUT_RD" {
                        self.live()?.close();
                    }
                    Ok(Outcome::Returned(0))
                }
                other => Err(format!("shutdown of {other:?}")),
            },
            "close" => self.close(call),
            other => Err(format!("the call {other}")),
        }
    }

    fn resume(&mut self, call: &Call) -> Try<Outcome> {
        let outcome = self.end_of(call)?;
        self.quiet &= outcome == Outcome::Blocks;
        Ok(outcome)
    }

    fn set(&mut self, setting: &Setting) -> Try<()> {
        match setting {
            Setting::Parameter(name, value) => self.set_parameter(name, value),
            Setting::InitialWindow(segments) => {
                self.initial_window = u64::from(*segments);
                Ok(())
            }
            // With `fq` Linux paces all sockets.
            Setting::Queueing(name) => match name.as_str() {
                "fq" if self.profile == Profile::Linux => {
                    self.config.pacing = Pacing::Linux;
                    Ok(())
                }
                "pfifo" => Ok(()),
                other => Err(format!("the queueing discipline {other}")),
            },
        }
    }

    fn info(&mut self) -> Try<BTreeMap<&'static str, i64>> {
        let mss = self.config.mss;
        let mut fields = self.live().map(|connection| fields(&connection.info()))?;
        fields.insert("tcpi_advmss", i64::from(mss));
        Ok(fields)
    }

    fn full_segment(&mut self) -> Option<u32> {
        self.connection.as_ref().map(|connection| connection.info().mss as u32)
    }
}
