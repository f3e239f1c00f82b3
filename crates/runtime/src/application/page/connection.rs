//! A connection to an origin: its handshake of TLS, and the requests and answers on it.

use std::collections::{BTreeMap, VecDeque};

use scenario::model::{Http, Page, PageObject};
use transport::{Exchange, Urgency};
use units::Time;

use super::super::{Context, EndpointId, Pair};
use super::answers::{Answers, Arrived, Priority};

/// Requests that may be outstanding on a connection of HTTP/2 or HTTP/3 (RFC 9113 section 6.5.2).
const STREAMS: usize = 100;
/// Preface, settings and window of a client of HTTP/2 before its first request (RFC 9113
/// section 3.4), and the settings of the server before its first answer.
const PREFACE: u64 = 64;
const SETTINGS: u64 = 40;
/// Largest record of TLS (RFC 8446 section 5.1).
const RECORD: u64 = 16_384;

/// A connection.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub pair: Pair,
    /// Number of its origin.
    pub origin: usize,
    /// Time at which it was opened.
    pub opened: Time,
    /// Time from which on requests can be sent.
    pub ready: Option<Time>,
    /// Objects that are requested and have not arrived.
    pub outstanding: usize,
    /// Requests and answers so far: headers of later ones are shorter.
    requests: u64,
    answers: u64,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Over a byte stream.
    Bytes(Box<Stream>),
    /// Each request on a stream of QUIC: objects by their streams.
    Exchanges(BTreeMap<Exchange, usize>),
}

/// Something that has happened on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happened {
    /// The request for an object has arrived at the server.
    Request(usize),
    /// The first byte of an object has arrived.
    First(usize),
    /// All bytes of an object have arrived.
    Last(usize),
    /// Requests can be sent.
    Ready,
}

/// The byte stream of each way, and the messages in it.
#[derive(Clone, Debug)]
struct Stream {
    http: Http,
    /// Bytes of the flights of TLS, and the next one to be written.
    flights: Box<[u64]>,
    before_requests: usize,
    record: u64,
    /// Bytes that the browser has written, and the ends of flights and requests that have not
    /// arrived.
    up: u64,
    coming_up: VecDeque<(u64, Message)>,
    /// Bytes of flights that the server has written, and their ends.
    down: u64,
    coming_down: VecDeque<(u64, usize)>,
    /// Answers of the server, from the first one on.
    answers: Option<Answers>,
}

#[derive(Clone, Copy, Debug)]
enum Message {
    Flight(usize),
    Request(usize),
}

impl Connection {
    /// Opens a connection to an origin.
    pub(super) fn open(context: &mut Context<'_>, page: &Page, origin: usize) -> Self {
        let pair = context.open();
        let kind = if page.http == Http::Three {
            if let Some(streams) = context.connections.streams(pair.receiver) {
                streams.watch_first_bytes();
            }
            Kind::Exchanges(BTreeMap::new())
        } else {
            Kind::Bytes(Stream::new(page).into())
        };
        let mut connection = Self {
            pair,
            origin,
            opened: context.now,
            ready: None,
            outstanding: 0,
            requests: 0,
            answers: 0,
            kind,
        };
        match &mut connection.kind {
            Kind::Bytes(stream) => {
                let write = |bytes| context.connections.write(pair.receiver, bytes);
                stream.start(write);
                connection.ready = (stream.before_requests == 0).then_some(context.now);
            }
            // QUIC sends requests as soon as its handshake lets it.
            Kind::Exchanges(_) => connection.ready = Some(context.now),
        }
        connection
    }

    /// Returns true if another request can be sent now.
    pub(super) fn is_free(&self, http: Http) -> bool {
        let most = if http == Http::One { 1 } else { STREAMS };
        self.ready.is_some() && self.outstanding < most
    }

    /// Returns false once a connection of QUIC has ended, for example because it was idle for too
    /// long.
    pub(super) fn is_open(&self, context: &mut Context<'_>) -> bool {
        context.connections.streams(self.pair.receiver).is_none_or(|streams| streams.is_open())
    }

    /// Closes both ends.
    pub(super) fn close(&self, context: &mut Context<'_>) {
        context.connections.close(self.pair.receiver);
        context.connections.close(self.pair.sender);
    }

    /// Sends the request for an object.
    pub(super) fn request(&mut self, context: &mut Context<'_>, page: &Page, number: usize) {
        let bytes = if self.requests == 0 { page.request.first } else { page.request.later };
        let is_first = self.requests == 0;
        self.requests += 1;
        self.outstanding += 1;
        match &mut self.kind {
            Kind::Bytes(stream) => {
                let bytes = stream.request(bytes, is_first, number);
                context.connections.write(self.pair.receiver, bytes);
                self.watch(context);
            }
            Kind::Exchanges(objects) => {
                if let Some(streams) = context.connections.streams(self.pair.receiver) {
                    objects.insert(streams.ask(bytes), number);
                }
            }
        }
    }

    /// The server answers the request for an object.
    pub(super) fn answer(&mut self, context: &mut Context<'_>, page: &Page, number: usize) {
        let object = &page.objects[number];
        let header = if self.answers == 0 { page.header.first } else { page.header.later };
        self.answers += 1;
        let server = self.pair.sender;
        match &mut self.kind {
            Kind::Bytes(stream) => {
                let sent = match stream.http {
                    Http::Two => context.connections.withdraw(server),
                    Http::One | Http::Three => stream.end_down(),
                };
                let end = stream.answer(number, object, header, sent);
                context.connections.write(server, end - sent);
                self.watch(context);
            }
            Kind::Exchanges(objects) => {
                let exchange = objects.iter().find(|(_, known)| **known == number);
                let Some((&exchange, _)) = exchange else { return };
                if let Some(streams) = context.connections.streams(server) {
                    let urgency = Urgency { level: object.urgency, in_turn: object.incremental };
                    streams.answer_urgently(exchange, header + object.bytes.get(), urgency);
                }
            }
        }
    }

    /// Requests a call at the next message of either way. Streams of QUIC report each.
    pub(super) fn watch(&self, context: &mut Context<'_>) {
        let Kind::Bytes(stream) = &self.kind else { return };
        let up = stream.coming_up.front().map_or(u64::MAX, |(end, _)| *end);
        context.connections.wake_at(self.pair.sender, up);
        context.connections.wake_at(self.pair.receiver, stream.next_down().unwrap_or(u64::MAX));
    }

    /// The next thing that has happened at one of the ends.
    pub(super) fn take_happened(
        &mut self,
        context: &mut Context<'_>,
        endpoint: EndpointId,
    ) -> Option<Happened> {
        let is_server = endpoint == self.pair.sender;
        let happened = match &mut self.kind {
            Kind::Bytes(stream) => {
                let received = context.connections.delivered(endpoint);
                if is_server {
                    let server = self.pair.sender;
                    let write = |bytes| context.connections.write(server, bytes);
                    stream.take_up(received, write)
                } else {
                    let browser = self.pair.receiver;
                    let write = |bytes| context.connections.write(browser, bytes);
                    stream.take_down(received, self.ready.is_none(), write)
                }
            }
            Kind::Exchanges(objects) => {
                let streams = context.connections.streams(endpoint)?;
                let first = if is_server { None } else { streams.take_begun() };
                match first {
                    Some(exchange) => objects.get(&exchange).map(|number| Happened::First(*number)),
                    None => {
                        let exchange = streams.take_arrived()?;
                        let number = *objects.get(&exchange)?;
                        if !is_server {
                            objects.remove(&exchange);
                        }
                        Some(if is_server {
                            Happened::Request(number)
                        } else {
                            Happened::Last(number)
                        })
                    }
                }
            }
        };
        match happened {
            Some(Happened::Last(_)) => self.outstanding -= 1,
            Some(Happened::Ready) => self.ready = Some(context.now),
            _ => {}
        }
        happened
    }
}

impl Stream {
    fn new(page: &Page) -> Self {
        let (flights, before_requests, record): (Box<[u64]>, _, _) = match &page.tls {
            Some(tls) => (tls.flights.clone(), tls.before_requests, tls.record),
            None => (Box::default(), 0, 0),
        };
        Self {
            http: page.http,
            flights,
            before_requests,
            record,
            up: 0,
            coming_up: VecDeque::new(),
            down: 0,
            coming_down: VecDeque::new(),
            answers: None,
        }
    }

    /// Bytes of a message on the wire, in records of TLS.
    fn sealed(&self, bytes: u64) -> u64 {
        bytes + self.record * bytes.div_ceil(RECORD)
    }

    /// The browser writes its first flight.
    fn start(&mut self, mut write: impl FnMut(u64)) {
        if let Some(bytes) = self.flights.first().copied() {
            self.write_up(bytes, Message::Flight(0), &mut write);
        }
    }

    fn write_up(&mut self, bytes: u64, message: Message, write: &mut impl FnMut(u64)) {
        self.up += bytes;
        self.coming_up.push_back((self.up, message));
        write(bytes);
    }

    /// Returns the bytes of a request, which are to be written.
    fn request(&mut self, bytes: u64, is_first: bool, object: usize) -> u64 {
        let framed = match self.http {
            Http::Two => {
                let preface = if is_first { self.sealed(PREFACE) } else { 0 };
                preface + self.sealed(9 + bytes)
            }
            Http::One | Http::Three => self.sealed(bytes),
        };
        self.up += framed;
        self.coming_up.push_back((self.up, Message::Request(object)));
        framed
    }

    /// The end of what the server has written.
    fn end_down(&self) -> u64 {
        self.answers.as_ref().map_or(self.down, Answers::end)
    }

    /// Adds an answer, and returns the end of the stream; what lies after `sent` is to be written.
    fn answer(&mut self, number: usize, object: &PageObject, header: u64, sent: u64) -> u64 {
        let content = object.bytes.get();
        let priority = Priority { urgency: object.urgency, incremental: object.incremental };
        if self.answers.is_none() {
            let framing = match self.http {
                Http::Two => {
                    self.down += self.sealed(SETTINGS);
                    Answers::framed(self.record, self.down)
                }
                Http::One | Http::Three => Answers::plain(self.record, self.down),
            };
            self.answers = Some(framing);
        }
        let answers = self.answers.as_mut().expect("just made");
        answers.add(number, (header, content), priority, sent)
    }

    /// The offset of the next message for the browser.
    fn next_down(&self) -> Option<u64> {
        let flight = self.coming_down.front().map(|(end, _)| *end);
        flight.or_else(|| self.answers.as_ref()?.next_offset())
    }

    /// The next message that has arrived at the server; flights are answered.
    fn take_up(&mut self, received: u64, mut write: impl FnMut(u64)) -> Option<Happened> {
        while let Some(&(end, message)) = self.coming_up.front() {
            if end > received {
                return None;
            }
            self.coming_up.pop_front();
            match message {
                Message::Request(object) => return Some(Happened::Request(object)),
                Message::Flight(number) => {
                    if let Some(bytes) = self.flights.get(number + 1).copied() {
                        self.down += bytes;
                        self.coming_down.push_back((self.down, number + 1));
                        write(bytes);
                    }
                }
            }
        }
        None
    }

    /// The next message that has arrived at the browser; flights are answered.
    fn take_down(
        &mut self,
        received: u64,
        is_waiting: bool,
        mut write: impl FnMut(u64),
    ) -> Option<Happened> {
        while let Some(&(end, number)) = self.coming_down.front() {
            if end > received {
                return None;
            }
            self.coming_down.pop_front();
            if let Some(bytes) = self.flights.get(number + 1).copied() {
                self.write_up(bytes, Message::Flight(number + 1), &mut write);
            }
            if is_waiting && number + 1 >= self.before_requests {
                return Some(Happened::Ready);
            }
        }
        match self.answers.as_mut()?.take_arrived(received)? {
            Arrived::First(object) => Some(Happened::First(object)),
            Arrived::Last(object) => Some(Happened::Last(object)),
        }
    }
}
