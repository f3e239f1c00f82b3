//! One end of a connection: datagrams, time and the application's calls go in, datagrams and a
//! deadline come out.

mod endpoint;
mod limits;
mod relayed;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, ConnectionError, ConnectionHandle, ConnectionId, DatagramEvent, Dir,
    EcnCodepoint, Endpoint as QuinnEndpoint, EndpointConfig, Event, Incoming, Side, StreamEvent,
    StreamId, Transmit, TransportConfig,
};
use sketch::Sketch;
use transport::{Counters, Exchange, LimitClock, Streams, Urgency};
use units::Time;

use crate::clock::{instant, time};
use crate::config::Config;
use crate::content;
use crate::exchanges::Exchanges;
use crate::identity::{Numbers, reset_key};
use crate::meter::Meter;
use crate::outgoing::Outgoing;
use crate::resumption::{self, Part};
use crate::statistics::{ProbeTimeouts, Statistics};
use crate::tls;
use crate::trace::{Identity, Trace};
use limits::Reached;
use relayed::Relayed;

/// The address of the other end. Addresses of packets are the network's.
const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443);

/// A UDP payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// QUIC packets.
    pub bytes: Vec<u8>,
    /// Routers may mark it instead of dropping it.
    pub is_ecn_capable: bool,
}

/// One end of a QUIC connection.
pub struct Connection {
    endpoint: QuinnEndpoint,
    state: Option<(ConnectionHandle, quinn_proto::Connection)>,
    config: Arc<Config>,
    part: Part,
    meter: Meter,
    trace: Trace,
    seed: u64,
    /// The application has opened the connection, and the first packet is not made yet.
    opens: bool,
    /// The error code with which the connection is to be closed. The other end does not know yet.
    closes: Option<u32>,
    /// The unidirectional stream to the other end, once it is open.
    stream: Option<StreamId>,
    outgoing: Outgoing,
    exchanges: Exchanges,
    /// State of an end whose bytes a relay moves.
    relayed: Option<Box<Relayed>>,
    /// Bytes received of each stream that has not ended, and of all.
    received: BTreeMap<StreamId, u64>,
    delivered: u64,
    /// Answers of the endpoint itself, for no connection.
    answers: Vec<Datagram>,
    may_send: bool,
    deadline: Time,
    failure: Option<ConnectionError>,
    counters: Counters,
    probe_timeouts: ProbeTimeouts,
    /// Number of ACKs before the last probe timeout.
    probed_at: Option<u64>,
    limits: LimitClock,
    reached: Option<Reached>,
    /// Number of stream frames sent when the last of them was acknowledged; `None` before.
    settled: Option<u64>,
    rtt: Sketch,
    buffer: Vec<u8>,
}

impl Connection {
    /// An end that is closed. Two ends of a connection have different seeds.
    pub fn new(config: Arc<Config>, seed: u64) -> Self {
        Self::with_part(config, seed, Part::Recorded)
    }

    /// Gives the connection the numbers of its flow and its own, both counted through the run, by
    /// which its trace is known. Before that it has none.
    pub fn identify(&mut self, flow: u32, connection: u32) {
        if let Some(traces) = &self.config.logs().traces {
            self.trace = Trace::of(traces.clone(), Identity { flow, connection });
        }
    }

    fn with_part(config: Arc<Config>, seed: u64, part: Part) -> Self {
        let meter = Meter::new();
        let mut numbers = Numbers::new(seed);
        let identities = Numbers::new(numbers.next());
        let mut endpoint = EndpointConfig::new(reset_key());
        endpoint.cid_generator(move || Box::new(identities)).rng_seed(Some(numbers.bytes()));
        Self {
            endpoint: QuinnEndpoint::new(Arc::new(endpoint), None, true, Some(numbers.bytes())),
            state: None,
            config,
            part,
            meter,
            trace: Trace::default(),
            seed,
            opens: false,
            closes: None,
            stream: None,
            outgoing: Outgoing::default(),
            exchanges: Exchanges::default(),
            relayed: None,
            received: BTreeMap::new(),
            delivered: 0,
            answers: Vec::new(),
            may_send: false,
            deadline: Time::NEVER,
            failure: None,
            counters: Counters::default(),
            probe_timeouts: ProbeTimeouts::default(),
            probed_at: None,
            limits: LimitClock::default(),
            reached: None,
            settled: None,
            rtt: Sketch::new(),
            buffer: Vec::new(),
        }
    }

    /// Why the connection ended before its time, in quinn's words.
    pub fn failure(&self) -> Option<&ConnectionError> {
        self.failure.as_ref()
    }

    /// quinn's statistics.
    pub fn statistics(&self) -> Statistics {
        let Some((_, connection)) = &self.state else { return Statistics::default() };
        Statistics::of(&connection.stats(), self.meter.read().persistent)
    }

    /// Returns true if this end has opened the connection.
    fn is_client(&self) -> bool {
        self.state.as_ref().is_some_and(|(_, connection)| connection.side().is_client())
    }

    fn transport(&self, side: Side) -> Arc<TransportConfig> {
        let mut transport = self.config.transport(self.meter.clone(), self.trace.stream(side));
        if side.is_client() && self.relayed.is_some() {
            relayed::keep_alive(&mut transport, self.config.settings());
        }
        Arc::new(transport)
    }

    /// Makes the first packet of a client.
    fn open(&mut self, now: Time) {
        let mut numbers = Numbers::new(!self.seed);
        let first = numbers.bytes();
        let mut client = match self.config.resumption() {
            None => ClientConfig::new(self.config.client()),
            Some(resumption) => resumption.client_config(self.part),
        };
        if self.config.resumption().is_some() && self.part == Part::Recorded {
            let seeds = [numbers.next(), numbers.next()];
            let mut ends =
                seeds.map(|seed| Self::with_part(self.config.clone(), seed, Part::Earlier));
            resumption::meet(&mut ends, now);
        }
        client
            .transport_config(self.transport(Side::Client))
            .initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&first[..20])));
        #[expect(clippy::expect_used, reason = "name, address and version are constants")]
        let opened = self
            .endpoint
            .connect(instant(now), client, PEER, tls::NAME)
            .expect("a client with constant settings");
        self.state = Some(opened);
        self.drive();
        // With 0-RTT there is no need to wait for the handshake.
        self.hand_over();
    }

    fn take_in(&mut self, now: Time, datagram: &Datagram, is_marked: bool) {
        let ecn = match (datagram.is_ecn_capable, is_marked) {
            (false, _) => None,
            (true, false) => Some(EcnCodepoint::Ect0),
            (true, true) => Some(EcnCodepoint::Ce),
        };
        self.trace.on_time(now);
        self.buffer.clear();
        let bytes = BytesMut::from(datagram.bytes.as_slice());
        let now = instant(now);
        match self.endpoint.handle(now, PEER, None, ecn, bytes, &mut self.buffer) {
            None => {}
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.state {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.respond(&transmit),
            Some(DatagramEvent::NewConnection(incoming)) => match &mut self.relayed {
                None => self.accept(incoming, now),
                Some(relayed) => {
                    relayed.arrived(incoming);
                    self.decide(now);
                }
            },
        }
        self.drive();
    }

    /// Accepts a connection.
    fn accept(&mut self, incoming: Incoming, now: Instant) {
        self.buffer.clear();
        match self.endpoint.accept(incoming, now, &mut self.buffer, None) {
            Ok(accepted) => {
                self.state = Some(accepted);
                // With 0-RTT, a server that writes without a request begins at once.
                self.hand_over();
            }
            Err(error) => {
                if let Some(transmit) = error.response {
                    self.respond(&transmit);
                }
                self.failure = Some(error.cause);
            }
        }
    }

    /// Refuses a connection (CONNECTION_REFUSED, RFC 9000 section 20.1).
    fn refuse(&mut self, incoming: Incoming) {
        self.buffer.clear();
        let transmit = self.endpoint.refuse(incoming, &mut self.buffer);
        self.respond(&transmit);
        self.may_send = true;
    }

    fn respond(&mut self, transmit: &Transmit) {
        self.answers.push(self.datagram(transmit));
    }

    /// The datagram that quinn has put into the buffer.
    fn datagram(&self, transmit: &Transmit) -> Datagram {
        let bytes = self.buffer[..transmit.size].to_vec();
        Datagram { bytes, is_ecn_capable: transmit.ecn.is_some() }
    }

    /// Passes events on until there are none.
    fn drive(&mut self) {
        self.may_send = true;
        loop {
            let Some((handle, connection)) = &mut self.state else { return };
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            match connection.poll() {
                None => return,
                Some(Event::Connected) => self.hand_over(),
                Some(Event::ConnectionLost { reason }) => drop(self.failure.get_or_insert(reason)),
                Some(Event::Stream(event)) => self.on_stream(&event),
                Some(
                    Event::HandshakeDataReady | Event::DatagramReceived | Event::DatagramsUnblocked,
                ) => {}
            }
        }
    }

    fn on_stream(&mut self, event: &StreamEvent) {
        match *event {
            StreamEvent::Opened { dir } => {
                while let Some(id) =
                    self.state.as_mut().and_then(|(_, connection)| connection.streams().accept(dir))
                {
                    self.receive(id);
                }
            }
            StreamEvent::Readable { id } => self.receive(id),
            StreamEvent::Writable { .. } | StreamEvent::Available { .. } => self.hand_over(),
            StreamEvent::Finished { id } => match (id.dir(), &self.state) {
                (Dir::Bi, Some((_, connection))) => {
                    self.exchanges.on_acknowledged(connection.side());
                }
                _ => self.on_acknowledged(),
            },
            StreamEvent::Stopped { .. } => self.on_reset(),
        }
    }

    /// Reads all that has arrived of a stream, in order, unless a relay reads it.
    fn receive(&mut self, id: StreamId) {
        if self.relayed.is_some() {
            return self.note(id);
        }
        let Some((_, connection)) = &mut self.state else { return };
        let side = connection.side();
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        let received = self.received.entry(id).or_default();
        let before = *received;
        let ended = loop {
            let chunk = match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break true,
                Err(_) => break false,
            };
            assert!(content::is_at(*received, &chunk.bytes), "the bytes of the sender");
            *received += chunk.bytes.len() as u64;
            self.delivered += chunk.bytes.len() as u64;
        };
        // Whether flow control has something to say shows when packets are made.
        let _ = chunks.finalize();
        if before == 0 && *received > 0 && id.dir() == Dir::Bi {
            self.exchanges.on_begun(id);
        }
        if ended {
            self.received.remove(&id);
            if id.dir() == Dir::Bi {
                self.exchanges.on_complete(id, side);
            }
        }
    }

    /// Hands quinn what it takes of the application's bytes.
    fn hand_over(&mut self) {
        let Some((_, connection)) = &mut self.state else { return };
        if connection.is_handshaking() && !connection.has_0rtt() {
            return;
        }
        let write_size = self.config.settings().write_size();
        self.exchanges.hand_over(connection, write_size);
        if self.outgoing.written == 0 && !self.outgoing.closed {
            return;
        }
        if self.stream.is_none() {
            self.stream = connection.streams().open(Dir::Uni);
        }
        if let Some(id) = self.stream {
            self.outgoing.hand_over(connection, id, write_size);
        }
    }

    /// Counts a datagram that leaves. `frames` is the number of stream frames that quinn had sent
    /// before.
    fn count(&mut self, bytes: usize, frames: u64) {
        let Some((_, connection)) = &self.state else { return };
        let stats = connection.stats();
        if stats.frame_tx.stream > frames {
            self.counters.segments += 1;
            self.counters.bytes += bytes as u64;
        }
        self.counters.retransmissions = stats.path.lost_packets;
    }

    fn stream_frames(&self) -> u64 {
        self.state.as_ref().map_or(0, |(_, connection)| connection.stats().frame_tx.stream)
    }

    /// Ends a call that has no packet to send. `questions` is the number of times that quinn has
    /// read the window.
    fn rest(&mut self, now: Time, questions: u32) {
        self.may_send = false;
        self.note_rest(now);
        self.look_at_limit(now, questions);
    }

    fn note_rest(&mut self, now: Time) {
        let Some((_, connection)) = &mut self.state else { return };
        // A timer of quinn may have expired before it was set.
        self.deadline = connection.poll_timeout().map_or(Time::NEVER, time).max(now);
        let mut measured = self.meter.read();
        self.counters.fast_recoveries = measured.recoveries;
        if self.probe_timeouts.is_waiting() {
            self.probe_timeouts.on_rest(&connection.stats());
            if self.probe_timeouts.count() > self.counters.timeouts {
                self.counters.timeouts = self.probe_timeouts.count();
                self.probed_at = Some(measured.acks);
            }
        }
        measured.round_trips.drain(..).for_each(|sample| self.rtt.record(sample));
    }
}

impl Streams for Connection {
    fn ask(&mut self, bytes: u64) -> Exchange {
        let exchange = self.exchanges.ask(bytes);
        self.may_send = true;
        self.hand_over();
        exchange
    }

    fn answer(&mut self, exchange: Exchange, bytes: u64) {
        self.exchanges.answer(exchange, bytes);
        self.may_send = true;
        self.hand_over();
    }

    fn answer_urgently(&mut self, exchange: Exchange, bytes: u64, urgency: Urgency) {
        self.exchanges.prioritise(exchange, urgency);
        self.answer(exchange, bytes);
    }

    fn watch_first_bytes(&mut self) {
        self.exchanges.watch_first_bytes();
    }

    fn take_begun(&mut self) -> Option<Exchange> {
        self.exchanges.take_begun()
    }

    fn take_arrived(&mut self) -> Option<Exchange> {
        self.exchanges.take_arrived()
    }

    fn has_arrived(&self) -> bool {
        self.exchanges.has_arrived()
    }

    fn is_open(&self) -> bool {
        self.failure.is_none()
            && self.closes.is_none()
            && self.state.as_ref().is_none_or(|(_, connection)| !connection.is_closed())
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("outgoing", &self.outgoing)
            .field("exchanges", &self.exchanges)
            .field("delivered", &self.delivered)
            .field("failure", &self.failure)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

/// Why a connection of these ends ended before its time, in quinn's words. The end that has found
/// the error has more to say than the other one, which has a message from it.
pub fn reason<'a>(ends: impl Iterator<Item = &'a Connection>) -> Option<String> {
    let is_of_peer =
        |error: &&ConnectionError| !matches!(error, ConnectionError::TransportError(_));
    ends.filter_map(Connection::failure).min_by_key(is_of_peer).map(ToString::to_string)
}
