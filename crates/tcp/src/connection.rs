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

use congestion::{AnyController, Controller, Ecn};
use units::{Span, Time};
use wire::feedback::Field;

pub use ended::Ended;
pub(crate) use halves::Halves;
use hold::Hold;
use keep_alive::Watch;
use marks::Marks;
use probes::PeerProbes;
use reset::Reset;

use crate::config::Config;
use crate::segment::Segment;
use crate::sender::Phase;
use transport::{AbortCause, Counters, RttEstimator};

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
/// [`on_deadline`](Self::on_deadline); after each of them, and after every call of the
/// application, [`next_segment`](Self::next_segment) is called until it returns `None`, and then
/// [`next_of_low_priority`](Self::next_of_low_priority) likewise.
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

    /// Active open.
    pub fn connect(&mut self) {
        if self.halves.agreed.ecn == Ecn::Passive {
            self.halves.agreed.ecn = Ecn::Off;
        }
        self.state = State::SynSent;
        self.urgent = Urgent::Syn;
    }

    /// Passive open.
    pub fn listen(&mut self) {
        self.state = State::Listen;
    }

    /// The application hands over `bytes` to be sent.
    pub fn write(&mut self, bytes: u64) {
        debug_assert!(!self.closing, "nothing can be written after close");
        self.halves.sender.write(&self.halves.config, bytes);
    }

    /// The application takes back what was never sent, even after [`close`](Self::close). Returns
    /// the length of what remains of its stream.
    pub fn withdraw(&mut self) -> u64 {
        self.halves.sender.withdraw(&self.halves.config)
    }

    /// The application reads `bytes`, at most [`unread`](Self::unread).
    pub fn read(&mut self, bytes: u64) {
        self.halves.receiver.read(&self.halves.config, bytes.min(self.halves.receiver.unread()));
    }

    /// The application will write no more: a FIN follows the data. Before the set-up is complete it
    /// waits for it; an application that gives the connection up instead (CLOSE in SYN-SENT, RFC
    /// 9293 section 3.10.4) calls [`abort`](Self::abort), which then sends nothing.
    pub fn close(&mut self) {
        if !std::mem::replace(&mut self.closing, true) {
            self.finish();
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

    /// The feedback field of `segment`, which [`next_segment`](Self::next_segment) has just given
    /// out. Called in networks whose packets have one.
    pub fn take_field(&mut self, segment: &Segment) -> Field {
        self.halves.sender.take_field(segment)
    }

    /// This end sends little data: it asks no router for a rate (RFC 4782), but returns what the
    /// other end has asked for.
    pub fn only_answer(&mut self) {
        self.halves.sender.only_answer();
    }

    /// The segment that arrives next has this feedback field.
    pub fn on_field(&mut self, now: Time, field: &Field) {
        self.halves.sender.on_field(now, field);
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

    /// Returns true if the application has [closed](Self::close) its direction.
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// Why the connection ended before its time, if it did: the other end does not answer (RFC 9293
    /// sections 3.8.3 and 3.8.4), or one of the ends has reset it (section 3.5.2).
    pub fn abort_cause(&self) -> Option<AbortCause> {
        self.cause
    }

    /// Returns true if the connection ended before its time.
    pub fn is_aborted(&self) -> bool {
        self.cause.is_some()
    }

    /// Bytes that the application has read so far: each byte of the other end's stream once,
    /// bytes of skipped holes included ([`skipped`](Self::skipped)).
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.halves.receiver.delivered()
    }

    /// Bytes received in order that the application has not read.
    pub fn unread(&self) -> u64 {
        self.halves.receiver.unread()
    }

    /// Why the connection failed: [`abort_cause`](Self::abort_cause) of one that had not yet
    /// delivered both streams with their FINs. A reset in TIME-WAIT takes nothing away (RFC 1337).
    #[inline]
    pub fn failure(&self) -> Option<AbortCause> {
        let is_complete =
            self.halves.receiver.finished() && self.halves.sender.stream().fin_acknowledged();
        self.cause.filter(|_| !is_complete)
    }

    /// Bytes that [`write`](Self::write) can take until the send buffer is full. An application
    /// that writes more waits in it.
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

    /// Counts of sent data.
    pub fn counters(&self) -> &Counters {
        self.halves.sender.counters()
    }

    /// When [`on_deadline`](Self::on_deadline) is to be called; [`Time::NEVER`] if no timer runs.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.halves.sender.deadline().min(self.halves.receiver.deadline()).min(self.slow_timer)
    }

    /// The deadline has come.
    pub fn on_deadline(&mut self, now: Time) {
        self.halves.sender.note_waiting_data();
        if self.halves.receiver.deadline() <= now {
            self.halves.receiver.on_deadline(self.halves.sender.rtt().rto());
        }
        if self.slow_timer <= now {
            self.on_slow_timer(now);
        }
        if self.halves.sender.deadline() <= now {
            if matches!(self.state, State::SynSent | State::SynReceived) {
                let opens = self.state == State::SynSent;
                self.halves.sender.on_syn_timeout(now, &self.halves.config, opens);
                self.urgent = Urgent::Syn;
            } else {
                self.halves.sender.on_deadline(now, &self.halves.config, self.watch.heard);
            }
            if let Some(cause) = self.halves.sender.timers().gave_up() {
                self.cause = Some(cause);
                self.halves.sender.note_end(now);
                self.state = State::Closed;
                self.urgent = Urgent::Nothing;
                self.slow_timer = Time::NEVER;
                self.halves.receiver.ack_sent();
            }
        }
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
