//! A thread that accepts connections and relays them, with edge-triggered epoll.
//!
//! Each thread has listeners of its own (SO_REUSEPORT), so that the kernel spreads connections and
//! no connection is handed from thread to thread.

mod spin;
mod turns;

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use middlebox::Accept;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with, getsockname};
use serde_json::{Value, json};
use units::Span;

use self::spin::Spin;
use crate::config::{Config, SideName, Source};
use crate::connection::{CHUNK, Connection, Leg, Outcome, Ready, Tools};
use crate::pipes::Pipes;
use crate::shared::Shared;
use crate::slab::{Key, Slab};
use crate::sockets;
use crate::top::describe;

/// Connections that a listener gives in one turn.
const ACCEPTS: usize = 64;
/// Connections whose TCP state is read in one second.
const SAMPLES: usize = 256;
/// A machine without descriptors or memory is asked again after this time.
const PAUSE: Duration = Duration::from_millis(100);
/// An end with a reset behind its bytes waits for the other end to acknowledge them, but not
/// longer.
const RESET_WITHIN_S: u32 = 60;

/// The longest time without a look at timeouts.
const LONGEST: Span = Span::from_secs(1);
const NONE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

pub(crate) const LISTENER: u64 = 1 << 63;
pub(crate) const WAKE: u64 = 1 << 62;

/// Orders from the main thread.
pub(crate) enum Order {
    /// Use this configuration for new connections.
    Reload(Arc<Config>),
    /// Send the state of all connections.
    List(Sender<Vec<Value>>),
    /// Accept nothing more; end when all connections have ended.
    Drain,
    /// Reset all connections and end.
    Stop,
}

/// A listener of a thread.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) fd: Arc<OwnedFd>,
    pub(crate) side: SideName,
    /// The server of a relay that is not transparent.
    pub(crate) to: Option<SocketAddr>,
}

/// A thread's state.
pub(crate) struct Worker {
    config: Arc<Config>,
    shared: Shared,
    epoll: OwnedFd,
    wake: Arc<OwnedFd>,
    orders: Receiver<Order>,
    listeners: Vec<Listener>,
    connections: Slab<Connection>,
    tools: Tools,
    /// Connections whose turn was over before their work.
    again: Vec<Key>,
    /// Bytes held by this thread's relays that are in the common sum.
    held: u64,
    swept_s: u32,
    sampled: usize,
    pause_until: Option<Duration>,
    is_draining: bool,
    is_stopped: bool,
}

impl Worker {
    pub(crate) fn new(
        config: Arc<Config>,
        shared: Shared,
        listeners: Vec<Listener>,
        wake: Arc<OwnedFd>,
        orders: Receiver<Order>,
        pipes: usize,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let size = usize::try_from(config.document.limits.relay_buffer.get()).unwrap_or(CHUNK);
        let tools = Tools {
            chunk: vec![0; CHUNK].into(),
            pipes: Pipes::new(size, pipes),
            clock: shared.clock,
            wake: Arc::clone(&wake),
        };
        let worker = Self {
            config,
            shared,
            epoll,
            wake,
            orders,
            listeners,
            connections: Slab::new(),
            tools,
            again: Vec::new(),
            held: 0,
            swept_s: 0,
            sampled: 0,
            pause_until: None,
            is_draining: false,
            is_stopped: false,
        };
        worker.watch_listeners()?;
        let data = epoll::EventData::new_u64(WAKE);
        epoll::add(&worker.epoll, &*worker.wake, data, epoll::EventFlags::IN)?;
        Ok(worker)
    }

    fn watch_listeners(&self) -> io::Result<()> {
        for (number, listener) in self.listeners.iter().enumerate() {
            let data = epoll::EventData::new_u64(LISTENER | number as u64);
            // Level-triggered: connections beyond a turn are reported again.
            epoll::add(&self.epoll, &*listener.fd, data, epoll::EventFlags::IN)?;
        }
        Ok(())
    }

    /// Accepts nothing for a while, because the process or the machine has no more resources.
    fn pause(&mut self) {
        self.shared.counters.process.out_of_resources.one();
        self.pause_until = Some(self.shared.clock.now() + PAUSE);
        self.unwatch_listeners();
    }

    fn unwatch_listeners(&self) {
        for listener in &self.listeners {
            let _ = epoll::delete(&self.epoll, &*listener.fd); // not there during a pause
        }
    }

    /// Works until it is stopped.
    pub(crate) fn run(mut self) {
        let mut events = Vec::with_capacity(1024);
        let mut spin = Spin::default();
        while !(self.is_stopped || self.is_draining && self.connections.len() == 0) {
            let turn = if self.config.rates.is_empty() { LONGEST } else { self.give_turns() };
            let polls = self.config.document.busy_poll;
            let spins = polls.is_some_and(|time| spin.goes_on(self.shared.clock.now(), time));
            let timeout = if self.again.is_empty() && !spins { timespec(turn) } else { NONE };
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => {
                    let error = json!(error.to_string());
                    self.shared.log.write("cannot wait for events", &[("error", error)]);
                    break;
                }
            }
            if polls.is_some() {
                spin.note(self.shared.clock.now(), !events.is_empty());
            }
            let now_s = self.now_s();
            for key in std::mem::take(&mut self.again) {
                self.turn(key, None, now_s);
            }
            for event in &events {
                // The structure is packed on some machines: its fields are copied.
                let (data, flags) = (event.data.u64(), event.flags);
                if data & LISTENER != 0 {
                    self.accept((data & !LISTENER) as usize, now_s);
                } else if data & WAKE != 0 {
                    self.obey();
                } else {
                    let (key, leg) = parse(data);
                    self.turn(key, Some((leg, ready(flags))), now_s);
                }
            }
            if now_s != self.swept_s {
                self.swept_s = now_s;
                self.sweep(now_s);
            }
        }
        let keys: Vec<_> = self.connections.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.end(key, Outcome::Reset);
        }
        self.config.rates.iter().for_each(|rate| rate.leave(&self.wake));
    }

    fn now_s(&self) -> u32 {
        self.shared.clock.now().as_secs() as u32 // 136 years
    }

    fn obey(&mut self) {
        let mut number = [0; 8];
        let _ = rustix::io::read(&*self.wake, &mut number); // only its readiness counts
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Reload(config) => self.reload(config),
                Order::List(reply) => {
                    let now_s = self.now_s();
                    let all = self.connections.iter().map(|(_, one)| describe(one, now_s));
                    let _ = reply.send(all.collect()); // nobody waits any more
                }
                Order::Drain => {
                    self.is_draining = true;
                    // Another process may have them, so that they stay open without this thread's.
                    self.unwatch_listeners();
                    self.listeners.clear();
                }
                Order::Stop => self.is_stopped = true,
            }
        }
    }

    fn accept(&mut self, number: usize, now_s: u32) {
        for _ in 0..ACCEPTS {
            let Some(listener) = self.listeners.get(number) else { return };
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let (side, to) = (listener.side, listener.to);
            match acceptfrom_with(&*listener.fd, flags) {
                Ok((fd, from)) => {
                    if let Some(Ok(client)) = from.map(SocketAddr::try_from) {
                        self.open(fd, client, (side, to), now_s);
                    }
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    return self.pause();
                }
                // An error of one connection (accept(2)): the next one may have none.
                Err(_) => {}
            }
        }
    }

    /// A client was accepted on a side, for this server if the listener is that of a relay. Others
    /// have the address of their server, which is another machine.
    fn open(
        &mut self,
        fd: OwnedFd,
        client: SocketAddr,
        (side, to): (SideName, Option<SocketAddr>),
        now_s: u32,
    ) {
        let counters = Arc::clone(&self.shared.counters);
        let Ok(server) = to.map_or_else(|| getsockname(&fd).and_then(SocketAddr::try_from), Ok)
        else {
            return; // the socket sends a reset
        };
        let is_loop = self.shared.is_own(server.ip()) || self.shared.is_own(client.ip());
        if to.is_none() && is_loop {
            counters.process.refused_loops.one();
            return; // the socket sends a reset
        }
        counters.process.accepted.one();
        let config = Arc::clone(&self.config);
        let document = &config.document;
        let may_wait = document.accept != Accept::Early && to.is_none();
        let answered = may_wait.then(|| self.shared.servers.take(sockets::pair(client, server)));
        let answered = answered.flatten();
        if answered.is_none() {
            if may_wait {
                self.shared.was_not_held_back();
            }
            if !self.shared.gate.admit(&counters) {
                counters.process.refused_at_limit.one();
                return; // the socket sends a reset
            }
        }
        if let Some(subnet) = config.subnet_of(client.ip())
            && let Err(unset) = sockets::configure(&fd, subnet)
        {
            self.shared.report(&unset);
        }
        let outgoing = answered.and_then(|answered| answered.server).or_else(|| {
            let dscp = document.copy_dscp.then(|| sockets::dscp(&fd)).flatten();
            let source = if to.is_some() { Source::Gateway } else { document.source };
            self.shared.ask(&config, (side, source), [client, server], dscp, true).ok()
        });
        let Some(outgoing) = outgoing else { return self.shared.gate.closed(&counters) };
        let capacity = document.limits.relay_buffer.get();
        let connection = Connection::new([fd, outgoing], side, client, server, capacity, now_s);
        let key = self.connections.insert(connection);
        if !config.rates.is_empty() {
            self.share_rates(key);
        }
        if self.watch(key).is_err() {
            counters.process.out_of_resources.one();
            self.end(key, Outcome::Reset);
        }
    }

    /// Registers both sockets once, for all events, edge-triggered.
    fn watch(&mut self, key: Key) -> Result<(), Errno> {
        let Some(connection) = self.connections.get_mut(key) else { return Ok(()) };
        let all = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::PRI
            | epoll::EventFlags::ET;
        for leg in Leg::BOTH {
            let data = epoll::EventData::new_u64(token(key, leg));
            epoll::add(&self.epoll, connection.socket(leg), data, all)?;
        }
        Ok(())
    }

    fn turn(&mut self, key: Key, news: Option<(Leg, Ready)>, now_s: u32) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.active_s = now_s;
        let was_connected = connection.is_connected();
        let moved = Leg::BOTH.map(|leg| connection.delivered_from(leg));
        let held = connection.held();
        let outcome = match news {
            Some((leg, ready)) => connection.handle(leg, ready, &mut self.tools),
            None => connection.advance(&mut self.tools),
        };
        let counters = &self.shared.counters;
        if connection.is_connected() && !was_connected {
            counters.process.split.one();
            if self.config.document.accept == Accept::EarlyIfKnown {
                self.shared.servers.on_accepted(self.shared.clock.now(), connection.server);
            }
        }
        for (leg, before) in Leg::BOTH.into_iter().zip(moved) {
            let bytes = connection.delivered_from(leg) - before;
            if bytes > 0 {
                counters.side(connection.side_of(leg)).received_bytes.add(bytes);
                counters.side(connection.side_of(leg.other())).delivered_bytes.add(bytes);
            }
        }
        let now_held = connection.held();
        self.held = self.held + now_held - held;
        if now_held != held {
            counters.held.fetch_add(now_held.wrapping_sub(held), Ordering::Relaxed);
        }
        if !self.config.rates.is_empty() {
            self.join_lines(key);
        }
        match outcome {
            Outcome::Waiting => {}
            Outcome::Again => self.again.push(key),
            ended => self.end(key, ended),
        }
    }

    /// Ends a connection.
    fn end(&mut self, key: Key, outcome: Outcome) {
        self.sample(key);
        let Some(connection) = self.connections.remove(key) else { return };
        let counters = &self.shared.counters;
        let counter = match outcome {
            Outcome::Finished => &counters.process.finished,
            Outcome::Refused => &counters.process.refused_by_server,
            Outcome::Unreachable => &counters.process.server_unreachable,
            Outcome::Waiting | Outcome::Again | Outcome::Reset => &counters.process.reset,
        };
        counter.one();
        if matches!(outcome, Outcome::Refused | Outcome::Unreachable)
            && self.config.document.accept == Accept::EarlyIfKnown
        {
            self.shared.servers.on_failed(&connection.server);
        }
        if outcome == Outcome::Finished {
            connection.end_normally();
        }
        if self.config.document.log.connections {
            let now_s = self.shared.clock.now().as_secs() as u32;
            let seconds = now_s.saturating_sub(connection.opened_s);
            let values = [
                ("client", json!(connection.client.to_string())),
                ("server", json!(connection.server.to_string())),
                ("side", json!(connection.side.key())),
                ("end", json!(format!("{outcome:?}").to_lowercase())),
                ("from_client_bytes", json!(connection.delivered_from(Leg::Client))),
                ("from_server_bytes", json!(connection.delivered_from(Leg::Server))),
                ("seconds", json!(seconds)),
            ];
            self.shared.log.write("connection", &values);
        }
        let held = connection.held();
        let lost = connection.close(&mut self.tools);
        if outcome != Outcome::Finished {
            counters.process.lost_bytes.add(lost);
        }
        self.held -= held;
        counters.held.fetch_sub(held, Ordering::Relaxed);
        self.shared.gate.closed(counters);
    }

    /// Reads the TCP state of a connection into the counters.
    fn sample(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        for leg in Leg::BOTH {
            let Some(info) = connection.info(leg) else { continue };
            let counters = self.shared.counters.side(connection.side_of(leg));
            let counted = &mut connection.counted_segments[leg.index()];
            let segments = info.retransmitted_segments.saturating_sub(*counted);
            counters.retransmitted_segments.add(segments.into());
            *counted = info.retransmitted_segments;
            if info.srtt_us > 0 {
                counters.rtt_samples.one();
                counters.rtt_microseconds.add(info.srtt_us.into());
            }
        }
    }

    /// Work of every second: timeouts, samples, listeners after a pause.
    fn sweep(&mut self, now_s: u32) {
        if self.pause_until.is_some_and(|until| self.shared.clock.now() >= until) {
            self.pause_until = None;
            // The kernel needs memory for it.
            if self.watch_listeners().is_err() {
                self.pause();
            }
        }
        let seconds = |span: Span| span.as_nanos().div_ceil(1_000_000_000);
        let document = &self.config.document;
        let connect = seconds(document.connect_timeout);
        let idle = seconds(document.idle_timeout);
        let (mut ended, mut ending) = (Vec::new(), Vec::new());
        for (key, connection) in self.connections.iter() {
            let age = u64::from(now_s.saturating_sub(connection.opened_s));
            let quiet = now_s.saturating_sub(connection.active_s);
            if !connection.is_connected() && age > connect {
                ended.push((key, Outcome::Unreachable));
            } else if connection.is_ending() {
                if quiet > RESET_WITHIN_S {
                    ended.push((key, Outcome::Reset));
                } else {
                    ending.push((key, connection.active_s));
                }
            } else if u64::from(quiet) > idle {
                self.shared.counters.process.idle.one();
                ended.push((key, Outcome::Reset));
            }
        }
        for (key, outcome) in ended {
            self.end(key, outcome);
        }
        for (key, active_s) in ending {
            self.turn(key, None, active_s);
        }
        let keys: Vec<_> = self.connections.iter().map(|(key, _)| key).collect();
        if !keys.is_empty() {
            for number in 0..SAMPLES.min(keys.len()) {
                self.sample(keys[(self.sampled + number) % keys.len()]);
            }
            self.sampled = (self.sampled + SAMPLES) % keys.len();
        }
    }
}

/// The number that epoll gives back with the events of a socket.
pub(crate) const fn token(key: Key, leg: Leg) -> u64 {
    (key.generation as u64) << 32 | (key.index as u64) << 1 | leg.index() as u64
}

pub(crate) const fn parse(token: u64) -> (Key, Leg) {
    let key = Key { index: (token as u32) >> 1, generation: (token >> 32) as u32 };
    (key, if token & 1 == 0 { Leg::Client } else { Leg::Server })
}

/// A time of at most [`LONGEST`].
fn timespec(span: Span) -> Timespec {
    let nanos = span.as_nanos();
    let seconds = (nanos / 1_000_000_000) as i64; // 0 or 1
    Timespec { tv_sec: seconds, tv_nsec: (nanos % 1_000_000_000) as i64 }
}

fn ready(flags: epoll::EventFlags) -> Ready {
    Ready {
        is_readable: flags.contains(epoll::EventFlags::IN),
        is_writable: flags.contains(epoll::EventFlags::OUT),
        is_urgent: flags.contains(epoll::EventFlags::PRI),
        has_hung_up: flags.intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP),
        has_failed: flags.contains(epoll::EventFlags::ERR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back() {
        for index in [0, 1, (1 << 31) - 1] {
            for generation in [0, (1 << 30) - 1] {
                for leg in Leg::BOTH {
                    let key = Key { index, generation };
                    let token = token(key, leg);
                    assert_eq!(token & (LISTENER | WAKE), 0);
                    assert_eq!(parse(token), (key, leg));
                }
            }
        }
    }
}
