//! The set-up of a tunnel: messages to and fro before the first packet.
//!
//! The end with the first packet begins. Each flight answers the one before. The end that began
//! repeats its last flight when a time is over without an answer, and a flight that comes again is
//! answered again. There is no last attempt.

use units::{Span, Time};

/// Messages of a set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flights {
    /// Payloads of the datagrams of each flight in bytes, of both ends in turn. Their number is
    /// even: the last flight is an answer.
    pub bytes: &'static [&'static [u16]],
    /// Timeout of a flight: without an answer it is retransmitted.
    pub timeout: Span,
    /// True if that time doubles with each attempt.
    pub backs_off: bool,
    /// True if the end that answers sends no packet before one has arrived.
    pub confirms: bool,
}

impl Flights {
    /// Round trips before the first packet.
    pub fn round_trips(&self) -> usize {
        self.bytes.len() / 2
    }

    /// Payload of a message in bytes.
    pub fn payload(&self, message: Message) -> u16 {
        self.bytes[usize::from(message.flight)][usize::from(message.part)]
    }
}

/// A datagram of a set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Number of the flight.
    pub flight: u8,
    /// Number of the datagram in it.
    pub part: u8,
}

/// Next step of the end at which something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetUpAction {
    /// Nothing.
    None,
    /// It sends the datagrams of this flight.
    Send(u8),
    /// It may send packets.
    Open,
}

/// The set-up of one tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetUp {
    flights: Flights,
    /// The end that has begun: 0 or 1.
    first: Option<usize>,
    /// The flight that is on its way.
    next: u8,
    /// Datagrams of it that have arrived, a bit each.
    arrived: u32,
    /// Ends that may send packets.
    open: [bool; 2],
    /// Time of the next retransmission of the last flight.
    deadline: Time,
    timeout: Span,
}

impl SetUp {
    /// A tunnel that exists already, or one that is to be set up.
    pub fn new(flights: Flights, established: bool) -> Self {
        Self {
            flights,
            first: None,
            next: 0,
            arrived: 0,
            open: [established; 2],
            deadline: Time::NEVER,
            timeout: flights.timeout,
        }
    }

    /// Returns true if an end may send packets.
    pub fn is_open(&self, end: usize) -> bool {
        self.open[end]
    }

    /// When the first end sends its last flight again; [`Time::NEVER`] if it waits for nothing.
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// The end that has begun.
    pub fn first(&self) -> Option<usize> {
        self.first
    }

    /// An end has a packet to send and may not.
    pub fn on_packet(&mut self, now: Time, end: usize) -> SetUpAction {
        if self.first.is_some() {
            return SetUpAction::None;
        }
        self.first = Some(end);
        self.deadline = now + self.timeout;
        SetUpAction::Send(0)
    }

    /// The time of the deadline has come: the first end sends its last flight again.
    pub fn on_deadline(&mut self, now: Time) -> u8 {
        if self.flights.backs_off {
            self.timeout = self.timeout.times(2);
        }
        self.deadline = now + self.timeout;
        self.next - self.next % 2
    }

    /// A message has arrived at its end.
    pub fn on_message(&mut self, now: Time, message: Message) -> SetUpAction {
        let Message { flight, part } = message;
        let parts = self.flights.bytes[usize::from(flight)].len();
        let is_last_part = usize::from(part) + 1 == parts;
        if flight + 1 == self.next && flight.is_multiple_of(2) && is_last_part {
            return SetUpAction::Send(self.next);
        }
        if flight != self.next || self.deadline == Time::NEVER {
            return SetUpAction::None;
        }
        self.arrived |= 1 << part;
        if self.arrived.count_ones() as usize != parts {
            return SetUpAction::None;
        }
        self.arrived = 0;
        let end = usize::from(flight % 2 == 0) ^ self.first.unwrap_or(0);
        if usize::from(flight) + 1 == self.flights.bytes.len() {
            self.deadline = Time::NEVER;
            self.open[end] = true;
            return SetUpAction::Open;
        }
        self.next += 1;
        if flight % 2 == 1 {
            self.timeout = self.flights.timeout;
            self.deadline = now + self.timeout;
        } else if usize::from(self.next) + 1 == self.flights.bytes.len() && !self.flights.confirms {
            self.open[end] = true;
        }
        SetUpAction::Send(self.next)
    }

    /// A packet has come out of the tunnel at an end. Returns true if the end may send from now on.
    pub fn on_arrival(&mut self, end: usize) -> bool {
        !std::mem::replace(&mut self.open[end], true)
    }
}
