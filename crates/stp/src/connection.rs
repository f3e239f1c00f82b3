//! One end of an STP connection: set-up, data both ways, release.
//!
//! BGN and BGAK open it, and END and ENDAK release it, as in SSCOP. In SSCOP, END takes back what
//! has not arrived. Applications of TCP need both directions to end in order, which was not found
//! for STP. Here a flag in the last SD of a direction ends its stream, so that POLL and STAT
//! protect it like data. END follows when an end knows that both streams have arrived. An end that
//! is released answers whatever comes with another END.
//!
//! Both ends have the same largest payload, and only one of them opens the connection. Neither is
//! negotiated.

mod endpoint;
mod opening;
mod release;

use std::sync::Arc;

use congestion::AnyController;
use transport::{AbortCause, LimitClock, Space};
use units::Time;

use crate::config::Config;
use crate::info::Pdus;
use crate::pdu::{Flags, Kind, Packet};
use crate::probing::Verdicts;
use crate::receiver::Receiver;
use crate::sender::{Data, Sender, Status};

/// The numbers of POLLs begin with 1.
const POLLS: Space = Space::new(0);

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing has happened yet.
    Closed,
    /// Waits for a BGN.
    Listen,
    /// Has sent a BGN.
    Opening,
    /// Data may flow.
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
    Begin,
    BeginAck,
    End,
    Abort,
    EndAck,
}

/// One end of a connection. Packets and time go in through [`on_packet`](Self::on_packet) and
/// [`on_deadline`](Self::on_deadline). After each of them, and after every call of the application,
/// [`next_packet`](Self::next_packet) is called until it returns `None`.
#[derive(Debug)]
pub struct Connection {
    state: State,
    urgent: Urgent,
    cause: Option<AbortCause>,
    /// BGNs or ENDs sent so far, and when the next one is due (Timer_CC).
    attempts: u32,
    attempt_timer: Time,
    /// When the only BGN was sent.
    begun: Option<Time>,
    out: Space,
    inward: Space,
    config: Arc<Config>,
    sender: Sender,
    receiver: Receiver,
    sent: Pdus,
    limits: LimitClock,
}

impl Connection {
    /// A closed connection whose first packet has the number `initial` on the wire. The controller
    /// needs nothing that is [missing](crate::missing).
    pub fn new(config: Arc<Config>, controller: AnyController, initial: u32) -> Self {
        Self {
            state: State::Closed,
            urgent: Urgent::Nothing,
            cause: None,
            attempts: 0,
            attempt_timer: Time::NEVER,
            begun: None,
            out: Space::new(initial),
            inward: Space::new(0),
            sender: Sender::new(&config, controller),
            receiver: Receiver::new(&config),
            sent: Pdus::default(),
            limits: LimitClock::default(),
            config,
        }
    }

    /// The application gives up. What has not arrived is lost.
    pub fn abort(&mut self) {
        if matches!(self.state, State::Open | State::Releasing) {
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
        self.sender.acknowledged_bytes()
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

    /// The congestion controller.
    pub fn controller(&self) -> &AnyController {
        self.sender.control().controller()
    }

    /// Number of PDUs of each type that this end has sent.
    pub fn pdus(&self) -> &Pdus {
        &self.sent
    }

    /// Causes of losses that probing has found.
    pub fn verdicts(&self) -> Verdicts {
        self.sender.probing().map_or_else(Verdicts::default, |probing| probing.verdicts())
    }

    /// The deadline has come.
    pub fn on_deadline(&mut self, now: Time) {
        if self.attempt_timer <= now {
            self.attempt_timer = Time::NEVER;
            self.attempt_again();
        }
        if self.sender.on_deadline(now) {
            self.urgent = Urgent::Abort;
            self.give_up(AbortCause::UserTimeout);
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
        self.attempt_timer = Time::NEVER;
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
        match packet.kind {
            Kind::Data => self.on_data(packet),
            Kind::Poll => self.on_poll(packet, packet.number),
            Kind::Stat => self.on_stat(now, packet),
            Kind::Ustat => {
                if let (Some(status), &[start, end]) = (self.status(packet), packet.list()) {
                    self.sender.on_ustat(now, status, [start, end]);
                }
            }
            Kind::Begin => self.on_repeated_begin(),
            Kind::End => self.on_end(packet),
            Kind::BeginAck | Kind::EndAck => {}
        }
    }

    #[inline]
    fn on_data(&mut self, packet: &Packet) {
        let Some(number) = self.inward.unwrap(packet.number, self.receiver.next()) else { return };
        let ends = packet.flags.contains(Flags::END_OF_STREAM);
        self.receiver.on_data(number, packet.payload, ends);
        if packet.polls() {
            self.on_poll(packet, packet.number.wrapping_add(1));
        }
        if ends || self.receiver.finished() {
            self.release_if_finished();
        }
    }

    fn on_poll(&mut self, packet: &Packet, next_of_sender: u32) {
        let next = self.inward.unwrap(next_of_sender, self.receiver.next());
        self.receiver.on_poll(packet.poll, next.unwrap_or(0));
    }

    fn on_stat(&mut self, now: Time, packet: &Packet) {
        let poll = POLLS.unwrap(packet.poll, self.sender.polls.sent());
        if let (Some(status), Some(poll)) = (self.status(packet), poll) {
            self.sender.on_stat(now, &self.config, status, poll, packet.list());
            self.release_if_finished();
        }
    }

    /// N(R) and N(MR) of a report; `None` if they cannot be.
    #[inline]
    fn status(&self, packet: &Packet) -> Option<Status> {
        let next = self.out.unwrap(packet.number, self.sender.acknowledged())?;
        let limit = self.out.unwrap(packet.credit, next)?;
        Some(Status { next, limit })
    }
}
