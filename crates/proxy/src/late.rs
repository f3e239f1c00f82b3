//! Late answers: the SYN of a client waits until its server has accepted (`accept = "late"`), or
//! goes on at once if the server is known (`"early-if-known"`).
//!
//! The rules drop the SYN and send a copy here. A thread opens the connection to the server, with
//! the client's address and port. When the server has accepted, the SYN goes to the listener, and
//! the connection that comes from it takes the server's socket over. A server that refuses is a
//! reset for the client, and one that a router cannot reach is the router's ICMP error. One that
//! does not answer leaves the client without an answer.
//!
//! Nothing is held in the kernel, as it would be by NFQUEUE: a client retransmits its SYN, and then
//! the newest one counts. The rules hold SYNs back only while a listener is there, so nothing is
//! lost when the process dies. Everything that waits counts as an open connection, of which there
//! is a limit.

pub(crate) mod syns;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use middlebox::{Accept, AtLimit, Known};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::sockopt;
use serde_json::json;
use units::Span;
use wire::icmp::Unreachable;
use wire::tcp::flags;
use wire::{Addresses, IpPacket, TcpFields};

use crate::clock::time;
use crate::config::Config;
use crate::connection::Leg;
use crate::shared::Shared;
use crate::slab::{Key, Slab};
use crate::worker::{LISTENER, Order, WAKE, parse, token};
use syns::{Held, Onward, Syns};

/// A client completes its handshake within this time: three SYN/ACKs of the kernel, one after the
/// other, can be lost.
const CLIENT_WITHIN: Duration = Duration::from_secs(15);
/// Servers that are remembered. Beyond this number a new one stays unknown.
const MOST_KNOWN: usize = 65_536;
/// Messages that are read in one turn.
const READS: usize = 256;

/// Client and server of a connection.
pub(crate) type Pair = [SocketAddr; 2];

/// Servers that have accepted: of connections whose client is answered now, and lately.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    answered: Mutex<BTreeMap<Pair, Answered>>,
    known: Mutex<Known<SocketAddr>>,
}

/// A connection whose client is answered now. It counts as open.
#[derive(Debug)]
pub(crate) struct Answered {
    /// The socket of the server, unless the client is answered before it.
    pub(crate) server: Option<OwnedFd>,
    since: Duration,
}

/// Nothing that these locks protect can be left half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Servers {
    /// Takes a connection over whose client has completed its handshake.
    pub(crate) fn take(&self, pair: Pair) -> Option<Answered> {
        locked(&self.answered).remove(&pair)
    }

    /// `server` has accepted.
    pub(crate) fn on_accepted(&self, now: Duration, server: SocketAddr) {
        let mut known = locked(&self.known);
        if known.len() < MOST_KNOWN || known.contains(&server) {
            known.on_accepted(time(now), server);
        }
    }

    /// A connection to `server` could not be opened.
    pub(crate) fn on_failed(&self, server: &SocketAddr) {
        locked(&self.known).on_failed(server);
    }

    fn is_known(&self, now: Duration, lately: Span, server: &SocketAddr) -> bool {
        locked(&self.known).includes(time(now), lately, server)
    }

    fn is_answered(&self, pair: &Pair) -> bool {
        locked(&self.answered).contains_key(pair)
    }

    fn answer(&self, pair: Pair, server: Option<OwnedFd>, since: Duration) {
        locked(&self.answered).insert(pair, Answered { server, since });
    }

    /// Ends connections whose client has not completed its handshake since `since`. Returns their
    /// number.
    fn end_before(&self, since: Duration) -> usize {
        let mut answered = locked(&self.answered);
        let before = answered.len();
        answered.retain(|_, one| one.since >= since);
        before - answered.len()
    }
}

/// A connection whose server has not answered yet.
#[derive(Debug)]
struct Waiting {
    pair: Pair,
    /// The newest SYN of the client.
    syn: Held,
    server: OwnedFd,
    since: Duration,
}

/// The thread that holds SYNs back.
pub(crate) struct Doorman {
    config: Arc<Config>,
    shared: Shared,
    epoll: OwnedFd,
    wake: Arc<OwnedFd>,
    orders: Receiver<Order>,
    syns: Syns,
    onward: Onward,
    waiting: Slab<Waiting>,
    keys: BTreeMap<Pair, Key>,
    swept: Duration,
    is_full: bool,
    is_stopped: bool,
}

impl Doorman {
    pub(crate) fn new(
        config: Arc<Config>,
        shared: Shared,
        syns: OwnedFd,
        wake: Arc<OwnedFd>,
        orders: Receiver<Order>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let watch = |fd: &OwnedFd, data| {
            let data = epoll::EventData::new_u64(data);
            epoll::add(&epoll, fd, data, epoll::EventFlags::IN)
        };
        watch(&syns, LISTENER)?;
        watch(&wake, WAKE)?;
        let onward = Onward::open(config.document.mark)?;
        Ok(Self {
            config,
            shared,
            epoll,
            wake,
            orders,
            syns: Syns::new(syns),
            onward,
            waiting: Slab::new(),
            keys: BTreeMap::new(),
            swept: Duration::ZERO,
            is_full: false,
            is_stopped: false,
        })
    }

    /// Works until it is stopped. What waits then is given up: clients retransmit their SYN.
    pub(crate) fn run(mut self) {
        let mut events = Vec::with_capacity(256);
        while !self.is_stopped {
            let second = Timespec { tv_sec: 1, tv_nsec: 0 };
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&second)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => {
                    let error = json!(error.to_string());
                    self.shared.log.write("cannot wait for events", &[("error", error)]);
                    break;
                }
            }
            let now = self.shared.clock.now();
            for event in &events {
                // The structure is packed on some machines: its fields are copied.
                match event.data.u64() {
                    data if data & LISTENER != 0 => self.read(now),
                    data if data & WAKE != 0 => self.obey(),
                    data => self.on_answer(parse(data).0, now),
                }
            }
            if now - self.swept >= Duration::from_secs(1) {
                self.swept = now;
                self.sweep(now);
            }
        }
        let keys: Vec<_> = self.waiting.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.give_up(key);
        }
        self.close(self.shared.servers.end_before(Duration::MAX));
    }

    fn obey(&mut self) {
        let mut number = [0; 8];
        let _ = rustix::io::read(&*self.wake, &mut number); // only its readiness counts
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Reload(config) => self.config = config,
                Order::List(_) => {} // `top` shows connections that are open
                Order::Drain | Order::Stop => self.is_stopped = true,
            }
        }
    }

    fn read(&mut self, now: Duration) {
        for _ in 0..READS {
            match self.syns.next() {
                Ok(Some(all)) => all.into_iter().for_each(|held| self.on_syn(held, now)),
                Ok(None) => return,
                Err(_) => self.shared.counters.process.lost_syns.one(),
            }
        }
    }

    /// A SYN has been held back.
    fn on_syn(&mut self, held: Held, now: Duration) {
        let Some(fields) = held.packet.tcp() else { return };
        if fields.flags & (flags::SYN | flags::ACK) != flags::SYN {
            return; // the rules hold back nothing else
        }
        let pair = ends(&fields);
        let [client, server] = pair;
        let counters = Arc::clone(&self.shared.counters);
        if let Some(waiting) = self.keys.get(&pair).and_then(|key| self.waiting.get_mut(*key)) {
            waiting.syn = held;
            return;
        }
        if self.shared.servers.is_answered(&pair) {
            return self.admit(&held);
        }
        // An intercepted connection has the address of a server, which is another machine.
        if self.shared.is_own(server.ip()) || self.shared.is_own(client.ip()) {
            return counters.process.refused_loops.one();
        }
        let config = Arc::clone(&self.config);
        let document = &config.document;
        let is_admitted = self.shared.gate.admit(&counters);
        if !std::mem::replace(&mut self.is_full, !is_admitted) && !is_admitted {
            counters.process.limit_reached.one();
        }
        if !is_admitted {
            return match document.limits.at_limit {
                AtLimit::Pass => self.pass(&held.packet),
                AtLimit::Refuse => {
                    counters.process.refused_at_limit.one();
                    self.refuse(&fields);
                }
            };
        }
        let is_early = document.accept == Accept::EarlyIfKnown
            && self.shared.servers.is_known(now, document.known_for(), &server);
        if is_early {
            self.shared.servers.answer(pair, None, now);
            return self.admit(&held);
        }
        let dscp = Some(held.packet.dscp());
        let asked =
            self.shared.ask(&config, (held.side, config.document.source), pair, dscp, false);
        let socket = match asked {
            Ok(socket) => socket,
            Err(error) => {
                self.report_unreachable(&held.packet, Errno::from_io_error(&error));
                return self.shared.gate.closed(&counters);
            }
        };
        let key = self.waiting.insert(Waiting { pair, syn: held, server: socket, since: now });
        self.keys.insert(pair, key);
        let is_watched = self.waiting.get_mut(key).is_some_and(|waiting| {
            let data = epoll::EventData::new_u64(token(key, Leg::Server));
            epoll::add(&self.epoll, &waiting.server, data, epoll::EventFlags::OUT).is_ok()
        });
        if !is_watched {
            counters.process.out_of_resources.one();
            self.give_up(key);
        }
    }

    /// A server has answered.
    fn on_answer(&mut self, key: Key, now: Duration) {
        let Some(waiting) = self.waiting.get_mut(key) else { return };
        let [_, server] = waiting.pair;
        let counters = Arc::clone(&self.shared.counters);
        match sockopt::socket_error(&waiting.server) {
            Ok(Ok(())) => {
                let Some(waiting) = self.remove(key) else { return };
                let _ = epoll::delete(&self.epoll, &waiting.server); // it was added
                counters.process.answered_late.one();
                self.shared.servers.on_accepted(now, server);
                self.shared.servers.answer(waiting.pair, Some(waiting.server), now);
                self.admit(&waiting.syn);
            }
            Ok(Err(Errno::CONNREFUSED | Errno::CONNRESET)) => {
                counters.process.refused_by_server.one();
                if let Some(fields) = waiting.syn.packet.tcp() {
                    self.refuse(&fields);
                }
                self.fail(key);
            }
            answer => {
                let syn = waiting.syn.packet.clone();
                self.report_unreachable(&syn, answer.ok().and_then(Result::err));
                self.unreachable(key);
            }
        }
    }

    /// Gives a SYN to the listener. One that the kernel does not take is retransmitted by its
    /// client.
    fn admit(&self, syn: &Held) {
        if self.onward.admit(syn.side, &syn.packet).is_err() {
            self.shared.counters.process.lost_syns.one();
        }
    }

    /// Lets a SYN cross unsplit.
    fn pass(&self, syn: &IpPacket) {
        match syn.forwarded().map(|syn| self.onward.pass(&syn)) {
            Some(Ok(())) => self.shared.counters.process.passed_at_limit.one(),
            Some(Err(_)) => self.shared.counters.process.lost_syns.one(),
            None => {} // its last hop
        }
    }

    /// Answers a SYN with a reset.
    fn refuse(&self, syn: &TcpFields) {
        if syn.refusal().is_none_or(|reset| self.onward.pass(&reset).is_err()) {
            self.shared.counters.process.lost_syns.one();
        }
    }

    /// Passes on to a client why its server cannot be reached, if a router or this machine knows.
    /// The message has the server's address, as all answers to a client have.
    fn report_unreachable(&self, syn: &IpPacket, error: Option<Errno>) {
        let why = match error {
            Some(Errno::NETUNREACH) => Unreachable::Network,
            Some(Errno::HOSTUNREACH) => Unreachable::Host,
            Some(Errno::ACCESS) => Unreachable::Prohibited,
            _ => return, // silence, as the client would have it without a proxy
        };
        let message = syn.unreachable(syn.destination(), why);
        if message.is_none_or(|message| self.onward.pass(&message).is_err()) {
            self.shared.counters.process.lost_syns.one();
        }
    }

    fn remove(&mut self, key: Key) -> Option<Waiting> {
        let waiting = self.waiting.remove(key)?;
        self.keys.remove(&waiting.pair);
        Some(waiting)
    }

    /// Ends a connection that waits, without an answer to its client.
    fn give_up(&mut self, key: Key) {
        if self.remove(key).is_some() {
            self.close(1);
        }
    }

    fn fail(&mut self, key: Key) {
        if let Some(waiting) = self.waiting.get_mut(key) {
            self.shared.servers.on_failed(&waiting.pair[1]);
        }
        self.give_up(key);
    }

    fn unreachable(&mut self, key: Key) {
        self.shared.counters.process.server_unreachable.one();
        self.fail(key);
    }

    /// Connections are no longer open.
    fn close(&self, number: usize) {
        (0..number).for_each(|_| self.shared.gate.closed(&self.shared.counters));
    }

    /// Work of every second: timeouts.
    fn sweep(&mut self, now: Duration) {
        let document = &self.config.document;
        let most = Duration::from_nanos(document.connect_timeout.as_nanos());
        let ended = |(_, waiting): &(Key, &Waiting)| now.saturating_sub(waiting.since) > most;
        let ended: Vec<_> = self.waiting.iter().filter(ended).map(|(key, _)| key).collect();
        let lately = document.known_for();
        for key in ended {
            self.unreachable(key);
        }
        let gone = self.shared.servers.end_before(now.saturating_sub(CLIENT_WITHIN));
        self.shared.counters.process.reset.add(gone as u64);
        self.close(gone);
        locked(&self.shared.servers.known).forget(time(now), lately);
    }
}

/// Client and server of a SYN.
fn ends(syn: &TcpFields) -> Pair {
    let (source, destination) = match syn.addresses {
        Addresses::V4(source, destination) => (source.into(), destination.into()),
        Addresses::V6(source, destination) => (source.into(), destination.into()),
    };
    [SocketAddr::new(source, syn.source_port), SocketAddr::new(destination, syn.destination_port)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(port: u16) -> Pair {
        [SocketAddr::from(([10, 1, 0, 2], port)), SocketAddr::from(([10, 2, 0, 2], 80))]
    }

    #[test]
    fn clients_that_do_not_come_are_given_up_after_a_time() {
        let servers = Servers::default();
        let at = Duration::from_secs;
        servers.answer(pair(1), None, at(10));
        servers.answer(pair(2), None, at(20));
        assert!(servers.is_answered(&pair(1)));
        assert_eq!(servers.end_before(at(11)), 1);
        assert!(!servers.is_answered(&pair(1)));
        assert!(servers.take(pair(2)).is_some_and(|answered| answered.server.is_none()));
        assert!(servers.take(pair(2)).is_none());
    }

    #[test]
    fn the_memory_of_servers_has_a_bound() {
        let servers = Servers::default();
        let server = |number: u32| SocketAddr::from((number.to_be_bytes(), 80));
        for number in 0..MOST_KNOWN as u32 + 10 {
            servers.on_accepted(Duration::ZERO, server(number));
        }
        assert_eq!(locked(&servers.known).len(), MOST_KNOWN);
        let lately = Span::from_secs(60);
        assert!(servers.is_known(Duration::from_secs(60), lately, &server(7)));
        servers.on_failed(&server(7));
        assert!(!servers.is_known(Duration::ZERO, lately, &server(7)));
    }
}
