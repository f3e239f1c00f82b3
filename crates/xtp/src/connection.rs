//! One end of an XTP connection: set-up, data both ways, close.
//!
//! FIRST opens a connection, and data may follow it at once. TCNTL answers it. A stream ends with
//! WCLOSE, and the other end confirms with RCLOSE that it has arrived. When both streams have
//! arrived, END releases the connection; it has SREQ, and an END without SREQ answers it. An END
//! without RCLOSE and WCLOSE aborts. The names are those of XTP; that all of them are repeated
//! until they are answered, and that an end that is released answers whatever comes with another
//! END, is ours.
//!
//! Both ends have the same largest payload, and only one of them opens the connection. Neither is
//! negotiated.

mod closing;
mod endpoint;
mod opening;

use std::sync::Arc;

use transport::{AbortCause, LimitClock, Space};
use units::Time;

use crate::config::Config;
use crate::info::Sent;
use crate::packet::{Kind, Options, Packet};
use crate::receiver::{Arrival, Receiver};
use crate::requests::Expired;
use crate::sender::{Sender, Status};

/// The numbers of requests begin with 1.
const REQUESTS: Space = Space::new(0);

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing has happened yet.
    Closed,
    /// Waits for a FIRST.
    Listen,
    /// Has sent a FIRST.
    Opening,
    /// Both ends know the connection.
    Open,
    /// Has sent an END.
    Releasing,
    /// Both streams have arrived, or the connection was aborted.
    Released,
}

/// Packets that are sent before everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgent {
    Nothing,
    First,
    TrafficControl,
    End,
    Abort,
    EndAnswer,
}

/// One end of a connection. Packets and time go in through [`on_packet`](Self::on_packet) and
/// [`on_deadline`](Self::on_deadline). After each of them, and after every call of the application,
/// [`next_packet`](Self::next_packet) is called until it returns `None`.
#[derive(Debug)]
pub struct Connection {
    state: State,
    urgent: Urgent,
    cause: Option<AbortCause>,
    /// When END was sent first, how often, and when the next one is due.
    ended: Time,
    ends: u32,
    end_timer: Time,
    config: Arc<Config>,
    sender: Sender,
    receiver: Receiver,
    sent: Sent,
    limits: LimitClock,
}

impl Connection {
    /// A closed connection.
    pub fn new(config: Arc<Config>) -> Self {
        Self {
            state: State::Closed,
            urgent: Urgent::Nothing,
            cause: None,
            ended: Time::NEVER,
            ends: 0,
            end_timer: Time::NEVER,
            sender: Sender::new(&config),
            receiver: Receiver::new(&config),
            sent: Sent::default(),
            limits: LimitClock::default(),
            config,
        }
    }

    /// The application gives up. What has not arrived is lost.
    pub fn abort(&mut self) {
        if matches!(self.state, State::Opening | State::Open | State::Releasing) {
            self.urgent = Urgent::Abort;
        }
        self.give_up(AbortCause::Reset);
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns true if the connection ended before its time.
    pub fn is_aborted(&self) -> bool {
        self.cause.is_some()
    }

    /// Bytes of the own stream that the other end has acknowledged in order.
    pub fn acknowledged(&self) -> u64 {
        self.sender.acknowledged()
    }

    /// Bytes handed over by the application, without those taken back.
    pub fn written(&self) -> u64 {
        self.sender.written()
    }

    /// The stream of the other end has arrived with its end.
    pub fn peer_has_finished(&self) -> bool {
        self.receiver.finished()
    }

    /// Bytes sent that are neither acknowledged nor known to be lost.
    pub fn flight(&self) -> u64 {
        self.sender.flight()
    }

    /// Packets that this end has sent.
    pub fn sent(&self) -> &Sent {
        &self.sent
    }

    /// The deadline has come.
    pub fn on_deadline(&mut self, now: Time) {
        if self.end_timer <= now {
            self.end_timer = Time::NEVER;
            self.end_again(now);
        }
        self.sender.on_deadline(now);
        if self.sender.requests.deadline() > now {
            return;
        }
        match self.sender.requests.on_deadline(now, &self.config) {
            Expired::Nothing => {}
            Expired::Handshake => {
                if self.state == State::Opening {
                    self.urgent = Urgent::First;
                } else if self.sender.requests.handshake_begins() {
                    self.sent.handshakes += 1;
                }
            }
            Expired::GivenUp => {
                self.urgent = Urgent::Abort;
                self.give_up(AbortCause::UserTimeout);
            }
        }
    }

    /// The connection is over before its time.
    fn give_up(&mut self, cause: AbortCause) {
        self.cause.get_or_insert(cause);
        self.stop();
    }

    /// Nothing is sent any more, except answers.
    fn stop(&mut self) {
        self.state = State::Released;
        self.end_timer = Time::NEVER;
        self.sender.stop();
    }

    /// A packet has arrived.
    pub fn on_packet(&mut self, now: Time, packet: &Packet) {
        match self.state {
            State::Open => self.on_packet_while_open(now, packet),
            State::Closed => {}
            State::Listen => self.on_packet_in_listen(now, packet),
            State::Opening => self.on_packet_while_opening(now, packet),
            State::Releasing | State::Released => self.on_packet_after_release(packet),
        }
    }

    #[inline]
    fn on_packet_while_open(&mut self, now: Time, packet: &Packet) {
        self.sender.requests.hear(now);
        if packet.options.contains(Options::END) {
            self.on_end(packet);
            return;
        }
        match packet.kind {
            Kind::Data => self.on_data(packet),
            Kind::First => self.on_repeated_first(packet),
            Kind::Cntl | Kind::Ecntl | Kind::Tcntl => {
                self.on_stream_options(packet);
                self.on_control(now, packet);
            }
        }
        if self.sender.finished() && self.receiver.finished() {
            self.release();
        }
    }

    #[inline]
    fn on_data(&mut self, packet: &Packet) {
        let fast_nak = packet.options.contains(Options::FASTNAK);
        let Packet { seq, payload, .. } = *packet;
        if seq.checked_add(u64::from(payload)).is_some() {
            self.receiver.on_data(&Arrival { seq, payload, fast_nak });
            self.on_stream_options(packet);
        }
    }

    /// SREQ, DREQ and WCLOSE.
    #[inline]
    fn on_stream_options(&mut self, packet: &Packet) {
        const SOME: Options =
            Options::SREQ.with_if(true, Options::DREQ).with_if(true, Options::WCLOSE);
        if !packet.options.contains(SOME) {
            return;
        }
        let end = packet.seq.saturating_add(u64::from(packet.payload));
        if packet.options.contains(Options::WCLOSE) {
            self.receiver.on_end_of_stream(end);
        }
        let [now, on_delivery] =
            [Options::SREQ, Options::DREQ].map(|option| packet.options.contains(option));
        if let Some(sync) = REQUESTS.unwrap(packet.sync, self.receiver.echo())
            && (now || on_delivery)
        {
            self.receiver.on_request(sync, now, on_delivery.then_some(end));
        }
    }

    /// A report, or a request without data.
    fn on_control(&mut self, now: Time, packet: &Packet) {
        let Some(echo) = REQUESTS.unwrap(packet.echo, self.sender.requests.sent()) else { return };
        let status = Status {
            rseq: packet.rseq,
            alloc: packet.alloc,
            echo,
            has_gap: packet.kind == Kind::Ecntl,
            spans: packet.spans(),
            has_all: packet.options.contains(Options::RCLOSE),
        };
        self.sender.on_report(now, &self.config, &status);
    }
}
