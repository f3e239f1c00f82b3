//! A connection as an endpoint of any transport, and what it sends.

use sketch::Sketch;
use transport::{AbortCause, Counters, Endpoint, Limit, Limits, Sample};
use units::Time;

use super::{Connection, REQUESTS, State, Urgent};
use crate::packet::{Kind, Options, Packet};
use crate::sender::Data;

impl Connection {
    /// The next packet to send, if there is one.
    pub fn next_packet(&mut self, now: Time) -> Option<Packet> {
        let packet = self.compose(now)?;
        self.sent.count(&packet);
        Some(packet)
    }

    #[inline]
    fn compose(&mut self, now: Time) -> Option<Packet> {
        if self.urgent != Urgent::Nothing {
            return Some(self.next_urgent(now));
        }
        if self.state == State::Opening {
            let data = self.sender.next_data(now, &self.config)?;
            return Some(self.data(&data));
        }
        if self.state != State::Open {
            return None;
        }
        if self.receiver.reports() {
            return Some(self.report(now));
        }
        if let Some(data) = self.sender.next_data(now, &self.config) {
            return Some(self.data(&data));
        }
        let asks = self.sender.requests.is_due() || self.sender.must_close();
        asks.then(|| self.control(now, Kind::Cntl))
    }

    /// Number of the last request on the wire.
    pub(super) fn sync(&self) -> u32 {
        REQUESTS.wrap(self.sender.requests.sent())
    }

    #[inline]
    fn data(&self, data: &Data) -> Packet {
        Packet {
            kind: Kind::Data,
            seq: data.seq,
            sync: self.sync(),
            payload: data.payload,
            options: Options::default()
                .with_if(self.config.fast_nak, Options::FASTNAK)
                .with_if(data.requests, Options::SREQ)
                .with_if(data.ends, Options::WCLOSE)
                .with_if(self.receiver.finished(), Options::RCLOSE),
            ..Packet::default()
        }
    }

    /// CNTL, or ECNTL if data is missing below data that has arrived.
    fn report(&mut self, now: Time) -> Packet {
        match self.receiver.take_report() {
            None => self.control(now, Kind::Cntl),
            Some(spans) => Packet { spans: Some(spans), ..self.control(now, Kind::Ecntl) },
        }
    }

    /// A control packet, which is also a request if one is due that no data packet can have.
    pub(super) fn control(&mut self, now: Time, kind: Kind) -> Packet {
        let closes = self.sender.must_close();
        if closes {
            self.sender.on_close();
        }
        let is_blocked = self.sender.is_blocked();
        let asks = closes || self.sender.requests.is_due();
        if asks {
            self.sender.ask(now, &self.config);
        }
        let options = Options::default()
            .with_if(asks, Options::SREQ)
            .with_if(asks && is_blocked, Options::DREQ)
            .with_if(self.sender.is_closed(), Options::WCLOSE)
            .with_if(self.receiver.finished(), Options::RCLOSE);
        Packet { options, ..self.bare_control(kind) }
    }

    /// A control packet without options.
    pub(super) fn bare_control(&self, kind: Kind) -> Packet {
        Packet {
            kind,
            seq: self.sender.next(),
            sync: self.sync(),
            rseq: self.receiver.next(),
            alloc: self.receiver.alloc(),
            echo: REQUESTS.wrap(self.receiver.echo()),
            ..Packet::default()
        }
    }
}

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
        self.urgent = Urgent::First;
    }

    fn listen(&mut self) {
        self.state = State::Listen;
    }

    #[inline]
    fn on_packet(&mut self, now: Time, packet: &Packet) {
        Self::on_packet(self, now, packet);
        self.look_at_limit(now);
    }

    /// XTP has no ECN, so no packet of it is marked.
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
        self.sender.deadline().min(self.end_timer)
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

    /// The window is that of the other end. The place of the RTO has WTIMER.
    fn sample(&self) -> Sample {
        let rtt = self.sender.rtt();
        Sample {
            cwnd: self.sender.credit(),
            ssthresh: u64::MAX,
            flight: self.sender.flight(),
            srtt: rtt.srtt(),
            min_rtt: rtt.min(),
            rto: self.sender.wtimer(&self.config),
        }
    }

    fn limits(&self, now: Time) -> Option<Limits> {
        Some(self.limits.times(now))
    }

    fn rtt_samples(&self) -> &Sketch {
        self.sender.rtt().samples()
    }
}
