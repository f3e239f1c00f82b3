//! Sockets of the hosts. They are created inside the namespaces, configured by the plan, and read
//! and written by one thread.
//!
//! Decisions:
//! - One thread drives all sockets, another the network: a socket stays in the namespace it was
//!   made in, so hosts need no processes; both run under `SCHED_FIFO`, and sleep, lest the kernel
//!   stops them for 50 ms in each second.
//! - Received data of TCP is thrown away in the kernel (`MSG_TRUNC`): it costs no copy, and nobody
//!   looks at it.
//! - `endpoint` has the state of an end, `quic` the ends of QUIC connections, which are this
//!   process's own, `udp` those of flows of datagrams, `options` the options of TCP's.

mod endpoint;
mod options;
mod quic;
mod udp;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ::quic::{Logs, Maker};
use network::{FlowId, Schedule};
use nix::cmsg_space;
use runtime::{End, EndpointId, Ends, Pair, Side, address};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::{Errno, ioctl_fionread};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, accept_with, bind,
    connect, getpeername, getsockname, listen, recv, send, shutdown, socket_with, sockopt,
};
use transport::{AbortCause, Endpoint as _};
use units::{Rate, Span, Time};
use wire::IpVersion;

use crate::clock::Clock;
use crate::error::{Doing, KernelError};
use crate::namespace::Namespace;
use crate::plan::{Carrier, FlowPlan, Plan};
use crate::settings::{Applied, USUAL_WRITE};
use crate::sys;
use crate::tcp_info::TcpInfo;

use self::options::configure;

/// Bytes written at a time: enough for one segment offload, and in the cache.
const PIECE: usize = USUAL_WRITE as usize;
/// Bytes that a slow reader reads at a time: about a segment, as in the simulator.
const LARGEST_PIECE: u64 = 1500;
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// Marks the events of listeners; the rest is the number of the flow.
const LISTENER: u64 = 1 << 32;

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) flow: FlowId,
    /// The largest window that it may advertise, if its socket is of TCP.
    window: Option<u32>,
    /// Bytes received in all.
    pub(crate) received: u64,
    /// Number of received bytes at which the application is notified.
    pub(crate) wake_at: u64,
    /// The last state from the kernel.
    pub(crate) info: TcpInfo,
    /// The largest window that the other end has advertised.
    pub(crate) largest_window: u32,
    /// Times that fast recovery was seen to be entered.
    pub(crate) recoveries: u64,
    socket: Option<OwnedFd>,
    /// Time at which it was opened, and at which its socket took the first bytes: an opener writes
    /// at once, so it was connected then.
    opened: Time,
    connected: Option<Time>,
    /// Bytes that the socket took.
    written: u64,
    unwritten: u64,
    /// Most bytes of a write.
    write: u64,
    closing: bool,
    shut: bool,
    /// The other end will send nothing more.
    ended: bool,
    failed: bool,
    /// The application when it reads slowly.
    reader: Option<Reader>,
    /// Its address, once it is known.
    address: Option<SocketAddr>,
    /// The connection, if its flow speaks QUIC.
    quic: Option<Box<quic::End>>,
    /// Its datagrams, if its flow speaks UDP.
    udp: Option<Box<::udp::Connection>>,
}

/// An application that reads at a limited rate, a piece at a time.
#[derive(Clone, Copy, Debug)]
struct Reader {
    rate: Rate,
    /// Bytes of the piece that is being read; zero while there is nothing to read.
    piece: u64,
}

/// Event of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// An endpoint has received data.
    Received(EndpointId),
    /// The connection of an endpoint was given up.
    Failed(EndpointId, AbortCause),
}

/// All sockets of a run.
pub(crate) struct Sockets<'a> {
    pub(crate) endpoints: Vec<Endpoint>,
    /// Who is whose peer, in the order of the endpoints.
    ends: Ends,
    plan: &'a Plan,
    namespaces: &'a [Namespace],
    epoll: OwnedFd,
    /// For each flow with TCP, what accepts its connections.
    listeners: Vec<Option<OwnedFd>>,
    /// For each flow with QUIC, what makes the ends of its connections.
    makers: Vec<Option<Maker>>,
    /// Endpoints that wait for a connection from an address.
    awaited: BTreeMap<SocketAddr, EndpointId>,
    zeros: Vec<u8>,
    sink: Vec<u8>,
    /// Room for the traffic class of a datagram.
    control: Vec<u8>,
    clock: Clock,
    /// When slow readers have read their pieces, and when connections of QUIC have something to do.
    timers: Schedule,
}

impl<'a> Sockets<'a> {
    /// Begins to listen for each flow of a run with this seed and these logs. Call it in a thread
    /// of its own: it moves from namespace to namespace.
    pub(crate) fn new(
        plan: &'a Plan,
        namespaces: &'a [Namespace],
        clock: Clock,
        seed: u64,
        logs: &Logs,
    ) -> Result<Self, KernelError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).doing(|| "make an epoll".into())?;
        let mut sockets = Self {
            endpoints: Vec::new(),
            ends: Ends::default(),
            plan,
            namespaces,
            epoll,
            listeners: Vec::with_capacity(plan.flows.len()),
            makers: plan.flows.iter().map(|flow| flow.carrier.maker(seed, logs)).collect(),
            awaited: BTreeMap::new(),
            zeros: vec![0; PIECE],
            sink: vec![0; PIECE],
            control: cmsg_space!(u8, i32),
            clock,
            timers: Schedule::new(),
        };
        for (number, flow) in plan.flows.iter().enumerate() {
            let settings = flow.carrier.sockets(flow.opener.other());
            let listener = settings.map(|settings| sockets.listener(number as u64, flow, settings));
            let listener = listener.transpose().doing(|| format!("listen on port {}", flow.port));
            sockets.listeners.push(listener?);
        }
        Ok(sockets)
    }

    fn listener(&self, number: u64, flow: &FlowPlan, settings: &Applied) -> io::Result<OwnedFd> {
        let host = flow.host(flow.opener.other());
        let socket = self.socket(host, settings)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &self.address_of(host, flow))?;
        listen(&socket, BACKLOG)?;
        let data = EventData::new_u64(LISTENER | number);
        epoll::add(&self.epoll, &socket, data, EventFlags::IN)?;
        Ok(socket)
    }

    /// A socket in the namespace of a host.
    fn socket(&self, host: usize, settings: &Applied) -> io::Result<OwnedFd> {
        self.namespaces[host].enter()?;
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let family = match self.plan.ip {
            IpVersion::V4 => AddressFamily::INET,
            IpVersion::V6 => AddressFamily::INET6,
        };
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        configure(&socket, settings)?;
        Ok(socket)
    }

    /// Where a host accepts connections of a flow.
    fn address_of(&self, host: usize, flow: &FlowPlan) -> SocketAddr {
        let Plan { ip, hosts, .. } = self.plan;
        SocketAddr::new(address(hosts[host].node, *ip), flow.port)
    }

    /// Opens a connection of a flow. What fails has its ends too, which will never be connected.
    pub(crate) fn open(&mut self, flow: FlowId) -> Result<Pair, (Pair, KernelError)> {
        // The only leg.
        let pair = self.ends.open(flow, 0);
        let plan = &self.plan.flows[flow.0 as usize];
        let sides = [Side::Sender, Side::Receiver];
        self.endpoints.extend(sides.map(|side| Endpoint::new(flow, &plan.carrier, side)));
        let to = self.address_of(plan.host(plan.opener.other()), plan);
        let opened = match (&plan.carrier, plan.carrier.sockets(plan.opener)) {
            (_, Some(settings)) => self.open_tcp(plan, pair, to, settings),
            (Carrier::Udp, _) => self.open_udp(flow, pair),
            _ => self.open_quic(flow, pair),
        };
        opened.doing(|| format!("connect to {to}")).map_err(|error| (pair, error))?;
        Ok(pair)
    }

    /// Opens ends of UDP between the hosts of a flow, for packets besides those of its connections.
    pub(crate) fn open_datagrams(&mut self, flow: FlowId) -> Result<Pair, (Pair, KernelError)> {
        let pair = self.ends.open(flow, End::NO_LEG);
        let sides = [Side::Sender, Side::Receiver];
        self.endpoints.extend(sides.map(|side| Endpoint::new(flow, &Carrier::Udp, side)));
        let opened = self.open_udp(flow, pair).doing(|| "open sockets of a lookup".to_owned());
        opened.map_err(|error| (pair, error))?;
        Ok(pair)
    }

    fn open_tcp(
        &mut self,
        plan: &FlowPlan,
        pair: Pair,
        to: SocketAddr,
        settings: &Applied,
    ) -> io::Result<()> {
        let (opener, other) = (pair.end(plan.opener), pair.end(plan.opener.other()));
        let socket = self.socket(plan.host(plan.opener), settings)?;
        match connect(&socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let own = SocketAddr::try_from(getsockname(&socket)?)?;
        self.endpoints[opener.index()].opened = self.clock.now();
        self.take(opener, socket)?;
        self.awaited.insert(own, other);
        self.endpoints[opener.index()].address = Some(own);
        self.endpoints[other.index()].address = Some(to);
        Ok(())
    }

    /// Gives an endpoint its socket.
    fn take(&mut self, number: EndpointId, socket: OwnedFd) -> io::Result<()> {
        let data = EventData::new_u64(number.0.into());
        epoll::add(&self.epoll, &socket, data, EventFlags::IN)?;
        self.endpoints[number.index()].socket = Some(socket);
        self.pump(number)
    }

    /// Hands an endpoint `bytes` bytes more to send.
    pub(crate) fn write(&mut self, number: EndpointId, bytes: u64) -> io::Result<()> {
        if self.act_on_quic(number, |connection| connection.write(bytes))?.is_some() {
            return Ok(());
        }
        let endpoint = &mut self.endpoints[number.index()];
        endpoint.unwritten = endpoint.unwritten.saturating_add(bytes);
        self.pump(number)
    }

    /// Takes back what the socket has not taken yet; what it has, it sends. Returns how much that
    /// is in all.
    pub(crate) fn withdraw(&mut self, number: EndpointId) -> u64 {
        let endpoint = &mut self.endpoints[number.index()];
        if let Some(end) = &mut endpoint.quic {
            return end.connection.withdraw();
        }
        endpoint.unwritten = 0;
        endpoint.written
    }

    /// An endpoint will write nothing any more.
    pub(crate) fn close(&mut self, number: EndpointId) -> io::Result<()> {
        if self.act_on_quic(number, ::quic::Connection::close)?.is_some() {
            return Ok(());
        }
        self.endpoints[number.index()].closing = true;
        self.pump(number)
    }

    /// Waits for at most `timeout` and returns what has happened.
    pub(crate) fn wait(
        &mut self,
        timeout: rustix::event::Timespec,
        happened: &mut Vec<Event>,
    ) -> Result<(), KernelError> {
        let mut events = Vec::with_capacity(64);
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout))
        {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).doing(|| "wait for sockets".to_owned()),
        }
        for event in events {
            // Copied out: the kernel's structure is packed.
            let (data, flags) = (event.data.u64(), event.flags);
            if data & LISTENER != 0 {
                let flow = (data & !LISTENER) as usize;
                self.accept(flow).doing(|| format!("accept a connection of flow {flow}"))?;
                continue;
            }
            let number = EndpointId(data as u32);
            let outcome = self.handle(number, flags);
            self.note(number, outcome, happened);
        }
        Ok(())
    }

    /// When something is due that no socket reports.
    pub(crate) fn next_timer(&self) -> Time {
        self.timers.next_time()
    }

    /// Lets slow readers take the pieces that they have read by `now`, does what connections of
    /// QUIC have to do by then, and returns what has happened.
    pub(crate) fn expire(&mut self, now: Time, happened: &mut Vec<Event>) {
        while let Some((at, number)) = self.timers.peek().filter(|(at, _)| *at <= now) {
            self.timers.pop();
            let number = EndpointId(number as u32);
            let endpoint = &self.endpoints[number.index()];
            let outcome = match (&endpoint.quic, &endpoint.udp) {
                (Some(_), _) => self.on_timer(at, number).map(|()| false),
                (_, Some(_)) => self.send_datagrams(number).map(|()| false),
                _ => self.take_piece(at, number),
            };
            self.note(number, outcome, happened);
        }
    }

    /// Notes that an endpoint has received something, or what became of it.
    fn note(&mut self, number: EndpointId, outcome: io::Result<bool>, happened: &mut Vec<Event>) {
        match outcome {
            Ok(false) => self.note_quic(number, happened),
            Ok(true) => happened.push(Event::Received(number)),
            Err(error) => {
                self.give_up(number);
                let timed_out = error.raw_os_error() == Some(libc::ETIMEDOUT);
                let cause = if timed_out { AbortCause::TimedOut } else { AbortCause::Reset };
                happened.push(Event::Failed(number, cause));
            }
        }
    }

    fn accept(&mut self, flow: usize) -> io::Result<()> {
        loop {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let plan = &self.plan.flows[flow];
            let (Some(listener), Some(settings)) =
                (&self.listeners[flow], plan.carrier.sockets(plan.opener.other()))
            else {
                return Ok(());
            };
            let socket = match accept_with(listener, flags) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(error) => return Err(error.into()),
            };
            let Some(peer) = getpeername(&socket)? else { continue };
            // Other connections are not of the scenario.
            let Some(number) = self.awaited.remove(&SocketAddr::try_from(peer)?) else {
                continue;
            };
            configure(&socket, settings)?;
            self.take(number, socket)?;
        }
    }

    /// Does what a socket is ready for. Returns whether something was received.
    fn handle(&mut self, number: EndpointId, flags: EventFlags) -> io::Result<bool> {
        if self.endpoints[number.index()].quic.is_some() {
            self.receive_datagrams(number)?;
            self.flush(number)?;
            return Ok(false);
        }
        if self.endpoints[number.index()].udp.is_some() {
            self.send_datagrams(number)?;
            return self.take_datagrams(number);
        }
        if flags.contains(EventFlags::ERR) {
            let Some(socket) = self.socket_of(number) else { return Ok(false) };
            sockopt::socket_error(socket)??;
        }
        let received = flags.contains(EventFlags::IN) && self.receive(number)?;
        if flags.contains(EventFlags::OUT) {
            self.pump(number)?;
        }
        Ok(received)
    }

    /// Takes what has arrived. Returns whether there was anything.
    fn receive(&mut self, number: EndpointId) -> io::Result<bool> {
        if self.endpoints[number.index()].reader.is_some() {
            self.start_reading(self.clock.now(), number)?;
            return Ok(false);
        }
        let mut something = false;
        while self.read(number, PIECE)? {
            something = true;
        }
        Ok(something)
    }

    /// The slow reader of an endpoint starts on what has arrived, unless it is reading already.
    fn start_reading(&mut self, now: Time, number: EndpointId) -> io::Result<()> {
        let endpoint = &mut self.endpoints[number.index()];
        let (Some(socket), Some(reader)) = (&endpoint.socket, &mut endpoint.reader) else {
            return Ok(());
        };
        if reader.piece > 0 {
            return Ok(());
        }
        reader.piece = ioctl_fionread(socket)?.min(LARGEST_PIECE);
        if reader.piece > 0 {
            let nanos = reader.piece * 8 * 1_000_000_000 / reader.rate.bits_per_second();
            self.timers.push(now + Span::from_nanos(nanos), number.0.into());
        } else {
            // Perhaps the end.
            self.read(number, PIECE)?;
        }
        self.listen_for(number)
    }

    /// The slow reader of an endpoint has read its piece at `now` and goes on to the next. Returns
    /// whether it is there.
    fn take_piece(&mut self, now: Time, number: EndpointId) -> io::Result<bool> {
        let reader = self.endpoints[number.index()].reader.as_mut();
        let piece = reader.map_or(0, |reader| std::mem::take(&mut reader.piece));
        let taken = self.read(number, piece as usize)?;
        self.start_reading(now, number)?;
        Ok(taken)
    }

    /// Takes at most so much of what has arrived. Returns whether there was anything.
    fn read(&mut self, number: EndpointId, most: usize) -> io::Result<bool> {
        let endpoint = &mut self.endpoints[number.index()];
        let Some(socket) = &endpoint.socket else { return Ok(false) };
        let length = loop {
            // The data of a TCP socket is thrown away and not copied when it may be truncated.
            match recv(socket, &mut self.sink[..most], RecvFlags::TRUNC) {
                Ok((_, length)) => break length as u64,
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        };
        let is_first = endpoint.received == 0;
        endpoint.received += length;
        if length == 0 {
            endpoint.ended = true;
            self.listen_for(number)?;
        } else if is_first {
            self.clamp(number)?;
        }
        Ok(length > 0)
    }

    /// Bounds the window once more. The kernel sets the bound aside when the first segment shows it
    /// how much memory packets take.
    fn clamp(&self, number: EndpointId) -> io::Result<()> {
        let Some(socket) = self.socket_of(number) else { return Ok(()) };
        let Some(window) = self.endpoints[number.index()].window else { return Ok(()) };
        sys::set_option(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, window)
    }

    /// Writes what is to be sent, as much as the socket takes.
    fn pump(&mut self, number: EndpointId) -> io::Result<()> {
        let endpoint = &mut self.endpoints[number.index()];
        let Some(socket) = &endpoint.socket else { return Ok(()) };
        while endpoint.unwritten > 0 {
            // The socket may have taken a part of the present write.
            let left = endpoint.write - endpoint.written % endpoint.write;
            let piece = endpoint.unwritten.min(left).min(PIECE as u64) as usize;
            match send(socket, &self.zeros[..piece], SendFlags::NOSIGNAL) {
                Ok(length) => {
                    endpoint.connected.get_or_insert_with(|| self.clock.now());
                    endpoint.written += length as u64;
                    endpoint.unwritten -= length as u64;
                }
                Err(Errno::INTR) => {}
                // Not connected yet, or full.
                Err(Errno::AGAIN | Errno::NOTCONN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        if endpoint.unwritten == 0 && endpoint.closing && !endpoint.shut {
            match shutdown(socket, Shutdown::Write) {
                Ok(()) => endpoint.shut = true,
                Err(Errno::NOTCONN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.listen_for(number)
    }

    /// Asks for the events that the endpoint can do something about.
    fn listen_for(&self, number: EndpointId) -> io::Result<()> {
        let endpoint = &self.endpoints[number.index()];
        let Some(socket) = &endpoint.socket else { return Ok(()) };
        let mut flags = EventFlags::empty();
        let is_reading = endpoint.reader.is_some_and(|reader| reader.piece > 0);
        flags.set(EventFlags::IN, !endpoint.ended && !is_reading);
        flags.set(EventFlags::OUT, endpoint.unwritten > 0 || (endpoint.closing && !endpoint.shut));
        // The end of both directions is reported without a request, and as long as it lasts: once
        // is enough.
        flags.set(EventFlags::ET, flags.is_empty());
        epoll::modify(&self.epoll, socket, EventData::new_u64(number.0.into()), flags)?;
        Ok(())
    }

    fn socket_of(&self, number: EndpointId) -> Option<BorrowedFd<'_>> {
        self.endpoints[number.index()].socket.as_ref().map(AsFd::as_fd)
    }

    /// Forgets the socket of a connection that was given up.
    fn give_up(&mut self, number: EndpointId) {
        self.look_at(number);
        let endpoint = &mut self.endpoints[number.index()];
        endpoint.socket = None;
        endpoint.failed = true;
    }

    /// The address of an endpoint; `None` if it could not be opened.
    pub(crate) fn address(&self, number: EndpointId) -> Option<SocketAddr> {
        self.endpoints[number.index()].address
    }

    /// Asks the kernel how an endpoint of TCP is.
    pub(crate) fn look_at(&mut self, number: EndpointId) {
        let endpoint = &mut self.endpoints[number.index()];
        let (Some(socket), None, None) = (&endpoint.socket, &endpoint.quic, &endpoint.udp) else {
            return;
        };
        if let Ok(info) = sys::tcp_info(socket.as_fd()) {
            let info = TcpInfo::read(&info);
            let entered = info.is_recovering && !endpoint.info.is_recovering;
            endpoint.recoveries += u64::from(entered);
            endpoint.largest_window = endpoint.largest_window.max(info.send_window);
            endpoint.info = info;
        }
    }
}
