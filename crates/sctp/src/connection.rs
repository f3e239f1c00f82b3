//! One end of an association: set-up in four packets, data both ways, heartbeats, shutdown.
//!
//! SCTP has no half-closed state: after an end has closed and its data has arrived, the other one
//! may only send what it has queued (RFC 9260 section 9.2). An application that writes after that
//! is refused.
//!
//! Both ends choose the same number of streams in both directions: the smaller of theirs. The
//! number of paths is the smaller one too. Path i joins the i-th addresses of both ends.

mod control;
mod endpoint;
mod opening;
mod shutdown;

use std::collections::VecDeque;
use std::sync::Arc;

use transport::{AbortCause, Exchange, LimitClock, Space};
use units::{Span, Time};

use crate::chunk::{Chunk, Cookie, Kind, Packet, Sack};
use crate::config::Config;
use crate::info::{Chunks, Events};
use crate::receiver::Receiver;
use crate::sender::{Report, Sender};

/// Where an association stands (RFC 9260 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the names of RFC 9260, and those of TCP for what it does not name"
)]
pub enum State {
    /// Nothing has happened yet.
    Closed,
    /// Waits for an INIT, or for a COOKIE ECHO. No state of the other end is kept until then.
    Listen,
    CookieWait,
    CookieEchoed,
    Established,
    ShutdownPending,
    ShutdownSent,
    ShutdownReceived,
    ShutdownAckSent,
    /// The association is over.
    Ended,
}

/// Timer of what opens or ends the association: T1-init, T1-cookie or T2-shutdown.
#[derive(Clone, Copy, Debug)]
struct Timer {
    at: Time,
    rto: Span,
    /// Transmissions so far.
    attempts: u32,
}

/// One end of an association. Packets and time go in through [`on_packet`](Self::on_packet) and
/// [`on_deadline`](Self::on_deadline). After each of them, and after every call of the application,
/// [`next_packet`](Self::next_packet) is called until it returns `None`.
#[derive(Debug)]
pub struct Connection {
    state: State,
    cause: Option<AbortCause>,
    config: Arc<Config>,
    out: Space,
    inward: Space,
    tag: u32,
    peer_tag: u32,
    timer: Timer,
    /// When the chunk was sent whose answer measures the RTT, if it was sent once.
    asked: Option<Time>,
    cookie: Option<Box<Cookie>>,
    /// Chunks that are sent before everything else, with the path and the tag of their packets.
    control: VecDeque<(u8, u32, Chunk)>,
    closing: bool,
    exchanges: u64,
    sender: Sender,
    receiver: Receiver,
    sent: Chunks,
    limits: LimitClock,
}

impl Connection {
    /// A closed association whose first TSN is `initial`. Its verification tag follows from it.
    pub fn new(config: Arc<Config>, initial: u32) -> Self {
        // Odd, because a tag is never 0 (section 3.3.2).
        let tag = initial.wrapping_mul(0x9e37_79b1) | 1;
        Self {
            state: State::Closed,
            cause: None,
            out: Space::new(initial),
            inward: Space::new(0),
            tag,
            peer_tag: 0,
            timer: Timer { at: Time::NEVER, rto: config.rto_initial, attempts: 0 },
            asked: None,
            cookie: None,
            control: VecDeque::new(),
            closing: false,
            exchanges: 0,
            sender: Sender::new(&config, u64::from(tag)),
            receiver: Receiver::new(&config),
            sent: Chunks::default(),
            limits: LimitClock::default(),
            config,
        }
    }

    /// The application gives up. What has not arrived is lost.
    pub fn abort(&mut self) {
        if self.peer_tag != 0 && self.state != State::Ended {
            self.request_abort();
        }
        self.give_up(AbortCause::Reset);
    }

    fn request_abort(&mut self) {
        let chunk = Chunk::Abort { reflected: false };
        self.control.push_back((self.sender.current(), self.peer_tag, chunk));
    }

    fn takes_data(&self) -> bool {
        !self.closing
            && matches!(
                self.state,
                State::Closed
                    | State::Listen
                    | State::CookieWait
                    | State::CookieEchoed
                    | State::Established
            )
    }

    /// DATA chunks are taken (section 6).
    fn receives(&self) -> bool {
        matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownSent)
    }

    /// Where the association stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Bytes that the other end has acknowledged cumulatively.
    pub fn acknowledged(&self) -> u64 {
        self.sender.acknowledged_bytes()
    }

    /// The path of new data.
    pub fn path(&self) -> u8 {
        self.sender.current()
    }

    /// Bytes of DATA chunks in flight on all paths, with their headers.
    pub fn flight(&self) -> u64 {
        self.sender.flight()
    }

    /// Chunks sent, by type.
    pub fn chunks(&self) -> &Chunks {
        &self.sent
    }

    /// Other counts.
    pub fn events(&self) -> Events {
        Events { duplicates: self.receiver.duplicates(), ..*self.sender.events() }
    }

    /// The deadline has come.
    pub fn on_deadline(&mut self, now: Time) {
        self.receiver.on_deadline(now);
        if self.timer.at <= now {
            self.on_timer();
        }
        if self.sender.deadline() <= now && self.sender.on_deadline(now, &self.config) {
            self.abort();
            self.cause = Some(AbortCause::Retransmissions);
        }
    }

    /// The association is over before its time.
    fn give_up(&mut self, cause: AbortCause) {
        if self.state != State::Ended {
            self.cause.get_or_insert(cause);
        }
        self.stop();
    }

    /// Nothing is sent any more, except answers.
    fn stop(&mut self) {
        self.state = State::Ended;
        self.timer.at = Time::NEVER;
        self.sender.stop();
        self.receiver.stop();
    }

    /// A packet has arrived.
    pub fn on_packet(&mut self, now: Time, packet: &Packet) {
        if packet.path >= self.config.paths.max(1) {
            return;
        }
        self.sender.on_event(&self.config);
        if packet.tag != self.tag || matches!(self.state, State::Closed | State::Listen) {
            self.on_unusual_tag(now, packet);
            return;
        }
        if self.state == State::Ended && self.cause.is_some() && !packet.has(Kind::Abort) {
            // The ABORT was lost (section 8.4).
            self.control.clear();
            self.request_abort();
            return;
        }
        let mut has_data = false;
        for chunk in packet.chunks() {
            match chunk {
                Chunk::Data(data) if self.receives() => {
                    self.receiver.on_data(self.inward, data);
                    has_data = true;
                }
                Chunk::Data(_) => {}
                Chunk::Sack(sack) => self.on_sack(now, sack),
                other => self.on_control(now, packet, other),
            }
        }
        if has_data && self.receives() {
            self.receiver.on_data_packet(now, packet.path);
            if self.state == State::ShutdownSent {
                self.on_data_after_shutdown();
            }
        }
    }

    #[inline]
    fn on_sack(&mut self, now: Time, sack: &Sack) {
        if !self.has_peer() {
            return;
        }
        let near = self.sender.acknowledged();
        let Some(next) = self.out.unwrap(sack.cumulative.wrapping_add(1), near) else { return };
        let report = Report { next, window: Some(sack.window), gaps: &sack.gaps };
        self.sender.on_report(now, &self.config, report);
        self.shut_down_if_finished();
    }

    /// SACKs are processed.
    fn has_peer(&self) -> bool {
        !matches!(self.state, State::Closed | State::Listen | State::CookieWait | State::Ended)
    }

    /// Sends a request on a stream of its own.
    fn ask(&mut self, bytes: u64) -> Exchange {
        let exchange = Exchange(self.exchanges);
        self.exchanges += 1;
        self.answer(exchange, bytes);
        exchange
    }

    fn answer(&mut self, exchange: Exchange, bytes: u64) {
        if self.takes_data() {
            self.sender.send(&self.config, exchange, bytes);
        }
    }
}
