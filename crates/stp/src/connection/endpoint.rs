//! A connection as an endpoint of any transport, and what it sends.

use congestion::Controller as _;
use sketch::Sketch;
use transport::{AbortCause, Counters, Endpoint, Limit, Limits, Sample};
use units::Time;

use super::{Connection, Data, State, Urgent};
use crate::pdu::{Flags, Kind, MAX_LIST, Packet};

impl Connection {
    /// The next packet to send, if there is one.
    pub fn next_packet(&mut self, now: Time) -> Option<Packet> {
        let packet = self.compose(now)?;
        self.sent.count(packet.kind);
        Some(packet)
    }

    #[inline]
    fn compose(&mut self, now: Time) -> Option<Packet> {
        if self.urgent != Urgent::Nothing {
            return Some(self.next_urgent(now));
        }
        if self.state != State::Open {
            return None;
        }
        if self.receiver.reports()
            && let Some(report) = self.next_report()
        {
            return Some(report);
        }
        if !self.sender.polls.is_due()
            && let Some(data) = self.sender.next_data(now, &self.config)
        {
            return Some(self.data(&data));
        }
        let poll = self.sender.next_poll(now, &self.config)?;
        let number = self.out.wrap(self.sender.next());
        Some(Packet { kind: Kind::Poll, number, poll: wire_poll(poll), ..Packet::default() })
    }

    #[inline]
    fn data(&self, data: &Data) -> Packet {
        Packet {
            kind: Kind::Data,
            number: self.out.wrap(data.number),
            payload: data.payload,
            poll: data.poll.map_or(0, wire_poll),
            flags: Flags::default()
                .with_if(data.ends, Flags::END_OF_STREAM)
                .with_if(data.poll.is_some(), Flags::POLL),
            ..Packet::default()
        }
    }

    fn next_report(&mut self) -> Option<Packet> {
        let mut packet = Packet {
            number: self.inward.wrap(self.receiver.next()),
            credit: self.inward.wrap(self.receiver.limit()),
            ..Packet::default()
        };
        if let Some((start, end)) = self.receiver.take_gap() {
            packet.kind = Kind::Ustat;
            packet.list[..2].copy_from_slice(&[start, end].map(|number| self.distance(number)));
            packet.listed = 2;
            return Some(packet);
        }
        let list = self.receiver.take_list()?;
        packet.kind = Kind::Stat;
        packet.poll = list.poll;
        packet.list = list.distances;
        packet.listed = list.length;
        Some(packet)
    }

    #[expect(clippy::cast_possible_truncation, reason = "a window has at most 65535 packets")]
    fn distance(&self, number: u64) -> u16 {
        (number - self.receiver.next()) as u16
    }
}

fn wire_poll(number: u64) -> u32 {
    super::POLLS.wrap(number)
}

const _: () = assert!(MAX_LIST % 2 == 1, "a list that goes on ends with the start of a gap");

impl Connection {
    /// Determines what holds the sender back from now on.
    fn look_at_limit(&mut self, now: Time) {
        let limit = match self.state {
            State::Closed | State::Listen | State::Releasing | State::Released => Limit::Uncounted,
            State::Opening => Limit::SetUp,
            State::Open => self.sender.limit(),
        };
        self.limits.change(now, limit);
    }
}

impl Endpoint for Connection {
    type Packet = Packet;

    fn connect(&mut self) {
        self.state = State::Opening;
        self.urgent = Urgent::Begin;
    }

    fn listen(&mut self) {
        self.state = State::Listen;
    }

    #[inline]
    fn on_packet(&mut self, now: Time, packet: &Packet) {
        Self::on_packet(self, now, packet);
        self.look_at_limit(now);
    }

    /// STP has no ECN, so no packet of it is marked.
    fn on_congestion_experienced(&mut self) {}

    #[inline]
    fn may_send(&self) -> bool {
        self.urgent != Urgent::Nothing || self.receiver.reports() || self.sender.may_send()
    }

    #[inline]
    fn next_packet(&mut self, now: Time) -> Option<Packet> {
        let packet = Self::next_packet(self, now);
        if packet.is_none() || !Endpoint::may_send(self) {
            self.look_at_limit(now);
        }
        packet
    }

    #[inline]
    fn may_have_low_priority(&self) -> bool {
        false
    }

    fn next_of_low_priority(&mut self, _now: Time) -> Option<Packet> {
        None
    }

    #[inline]
    fn deadline(&self) -> Time {
        self.sender.deadline().min(self.attempt_timer)
    }

    fn on_deadline(&mut self, now: Time) {
        Self::on_deadline(self, now);
        self.look_at_limit(now);
    }

    fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
    }

    fn withdraw(&mut self) -> u64 {
        self.sender.withdraw()
    }

    fn read(&mut self, bytes: u64) {
        self.receiver.read(bytes);
    }

    fn unread(&self) -> u64 {
        self.receiver.unread()
    }

    #[inline]
    fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    fn close(&mut self) {
        self.sender.close();
    }

    fn abort_cause(&self) -> Option<AbortCause> {
        self.cause
    }

    fn counters(&self) -> &Counters {
        self.sender.counters()
    }

    /// With a rate, the window is the credit of the other end. The place of the RTO has Timer_POLL,
    /// after which a sender asks what has arrived.
    fn sample(&self) -> Sample {
        let (control, rtt) = (self.sender.control(), self.sender.rtt());
        let window = control.controller().window();
        let (cwnd, ssthresh) = match control.window() {
            u64::MAX => (self.sender.credit(), u64::MAX),
            cwnd => (cwnd, window.ssthresh),
        };
        Sample {
            cwnd,
            ssthresh,
            flight: self.sender.flight(),
            srtt: rtt.srtt(),
            min_rtt: rtt.min(),
            rto: self.config.poll_interval,
        }
    }

    fn limits(&self, now: Time) -> Option<Limits> {
        Some(self.limits.times(now))
    }

    fn rtt_samples(&self) -> &Sketch {
        self.sender.rtt().samples()
    }
}
