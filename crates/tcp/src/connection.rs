//! One end of a TCP connection (RFC 9293): set-up, data both ways, close.

mod acceptance;
mod ack_control;
mod arrival;
mod departure;
mod ended;
mod endpoint;
mod halves;
mod handshake;
mod hold;
mod keep_alive;
mod marks;
mod probes;
mod reset;

use std::sync::Arc;

use congestion::{AnyController, Controller};
use units::{Span, Time};

pub use ended::Ended;
pub(crate) use halves::Halves;
use hold::Hold;
use keep_alive::Watch;
use marks::Marks;
use probes::PeerProbes;
use reset::Reset;

use crate::config::Config;
use crate::sender::Phase;
use transport::{AbortCause, RttEstimator};

/// How long TIME-WAIT lasts: twice the maximum segment lifetime of RFC 9293 section 3.4.2.
const TIME_WAIT: Span = Span::from_secs(240);

/// The MSS of an end that names none (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u32 = 536;

/// Where a connection stands (RFC 9293 section 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing has happened yet, or all is over.
    Closed,
    /// Waits for a SYN.
    Listen,
    /// Has sent a SYN.
    SynSent,
    /// Has answered a SYN.
    SynReceived,
    /// Data may flow.
    Established,
    /// Has closed and waits for the acknowledgement of its FIN.
    FinWait1,
    /// Has closed and waits for the other FIN.
    FinWait2,
    /// The other end has closed.
    CloseWait,
    /// Both have closed at once.
    Closing,
    /// Has closed last and waits for the acknowledgement of its FIN.
    LastAck,
    /// Waits for stray segments to die out.
    TimeWait,
}

/// Segments that are sent before everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgent {
    Nothing,
    /// A SYN, or a SYN with ACK.
    Syn,
    Reset(Reset),
    /// An ACK of what arrived before the marks began or ended.
    Earlier,
    /// A probe of an end that has not been heard of for long.
    KeepAlive,
}

/// The set-up of a connection.
#[derive(Debug, Default)]
struct Opening {
    /// SYNs sent so far.
    syns: u32,
    /// The other end has opened the connection.
    passive: bool,
    /// A gateway decides on SYNs before they are answered.
    hold: Option<Box<Hold>>,
}

/// One end of a connection. Segments and time go in through [`on_segment`](Self::on_segment) and
/// [`on_deadline`](transport::Endpoint::on_deadline). After each of them, and after every call of
/// the application, [`next_packet`](transport::Endpoint::next_packet) is called until it returns
/// `None`, and then [`next_of_low_priority`](transport::Endpoint::next_of_low_priority) likewise.
#[derive(Debug)]
pub struct Connection {
    pub(crate) state: State,
    /// The segment that goes before everything else.
    urgent: Urgent,
    /// Why the connection ended before its time.
    cause: Option<AbortCause>,
    /// Earliest time of the next challenge ACK (RFC 5961 section 7).
    next_challenge_at: Time,
    opening: Opening,
    closing: bool,
    pub(crate) marks: Option<Box<Marks>>,
    peer_probes: PeerProbes,
    /// End of TIME-WAIT, or before it the time at which keep-alive looks for the other end.
    pub(crate) slow_timer: Time,
    pub(crate) watch: Watch,
    pub(crate) halves: Halves,
}

impl Connection {
    /// A closed connection whose first sequence number will be `initial_sequence`.
    pub fn new(config: Arc<Config>, controller: AnyController, initial_sequence: u32) -> Self {
        let marks = Marks::new(config.ecn.max(controller.needs().marks), &config);
        Self {
            state: State::Closed,
            urgent: Urgent::Nothing,
            cause: None,
            next_challenge_at: Time::ZERO,
            opening: Opening::default(),
            closing: false,
            marks,
            peer_probes: PeerProbes::default(),
            slow_timer: Time::NEVER,
            watch: Watch::default(),
            halves: Halves::new(config, controller, initial_sequence),
        }
    }

    /// Queues the FIN behind the data, once the connection is open.
    ///
    /// Data written and a close before that count as written and closed at the moment the
    /// set-up is complete (RFC 9293 section 3.10.4, SYN-RECEIVED), as by a process that waits for
    /// connect() or accept(). So the data has not waited for a window, and the FIN does not go with
    /// the last of it unless it has to wait then.
    pub(super) fn finish(&mut self) {
        self.state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            _ => return,
        };
        self.halves.sender.finish();
    }

    /// This end sends little data: it asks no router for a rate (RFC 4782), but returns what the
    /// other end has asked for.
    pub fn only_answer(&mut self) {
        self.halves.sender.only_answer();
    }

    /// Where the connection stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns true if data may flow, or has flown.
    #[inline]
    pub fn is_established(&self) -> bool {
        !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// Returns true if the application has [closed](transport::Endpoint::close) its direction.
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// Why the connection failed: [`abort_cause`](transport::Endpoint::abort_cause) of one that had
    /// not yet delivered both streams with their FINs. A reset in TIME-WAIT takes nothing away (RFC
    /// 1337).
    #[inline]
    pub fn failure(&self) -> Option<AbortCause> {
        let is_complete =
            self.halves.receiver.finished() && self.halves.sender.stream().fin_acknowledged();
        self.cause.filter(|_| !is_complete)
    }

    /// Bytes that [`write`](transport::Endpoint::write) can take until the send buffer is full. An
    /// application that writes more waits in it.
    pub fn send_room(&self) -> u64 {
        let waiting = self.halves.sender.stream().written - 1 - self.acknowledged();
        self.halves.config.send_buffer.get().saturating_sub(waiting)
    }

    /// Bytes of the own stream that the other end has acknowledged, or that were given up.
    pub fn acknowledged(&self) -> u64 {
        self.halves
            .sender
            .stream()
            .una
            .saturating_sub(1)
            .min(self.halves.sender.stream().written - 1)
    }

    /// Bytes of the own stream that were sent at least once, from the first one on.
    pub fn sent_once(&self) -> u64 {
        self.halves
            .sender
            .stream()
            .max
            .saturating_sub(1)
            .min(self.halves.sender.stream().written - 1)
    }

    /// The other end has sent its FIN, and everything before it has arrived.
    pub fn peer_has_finished(&self) -> bool {
        self.halves.receiver.finished()
    }

    /// Flight size in bytes.
    pub fn flight(&self) -> u64 {
        self.halves.sender.stream().flight()
    }

    /// Where loss recovery stands.
    pub fn phase(&self) -> Phase {
        self.halves.sender.phase()
    }

    /// The congestion controller.
    pub fn controller(&self) -> &AnyController {
        self.halves.sender.controller()
    }

    /// The link that this connection shares with others was measured, for controllers that need it.
    /// `rate` is that of the link in bytes per second, `used` the part of it that was sent, by this
    /// number of connections.
    pub fn on_utilisation(&mut self, rate: f64, used: f64, connections: u32) {
        self.halves.sender.on_utilisation(rate, used, connections);
    }

    /// RTT and RTO.
    pub fn rtt(&self) -> &RttEstimator {
        self.halves.sender.rtt()
    }

    pub(crate) fn advance_close(&mut self, now: Time, fin: bool) {
        self.halves.sender.note_waiting_data();
        let acknowledged = self.halves.sender.stream().fin_acknowledged();
        let finished = self.halves.receiver.finished();
        let before = self.state;
        self.state = match self.state {
            State::Established if finished => State::CloseWait,
            State::FinWait1 if acknowledged && finished => State::TimeWait,
            State::FinWait1 if acknowledged => State::FinWait2,
            State::FinWait1 if finished => State::Closing,
            State::FinWait2 if finished => State::TimeWait,
            State::Closing if acknowledged => State::TimeWait,
            State::LastAck if acknowledged => State::Closed,
            state => state,
        };
        // A FIN that comes again starts the wait again (RFC 9293 section 3.10.7.4, TIME-WAIT).
        if self.state == State::TimeWait && (fin || before != State::TimeWait) {
            self.slow_timer = now + TIME_WAIT;
        } else if self.state == State::Closed {
            self.slow_timer = Time::NEVER;
        }
    }
}

#[cfg(test)]
mod tests;
