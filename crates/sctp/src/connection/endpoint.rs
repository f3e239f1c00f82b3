//! An association as an endpoint of any transport.

use sketch::Sketch;
use transport::{AbortCause, Counters, Endpoint, Exchange, Limit, Limits, Sample, Streams};
use units::Time;

use super::{Connection, State};
use crate::chunk::Packet;

impl Connection {
    /// Determines what holds the sender back from now on.
    fn look_at_limit(&mut self, now: Time) {
        let limit = match self.state {
            State::Closed | State::Listen | State::Ended => Limit::Uncounted,
            State::CookieWait | State::CookieEchoed => Limit::SetUp,
            _ => self.sender.limit(),
        };
        self.limits.change(now, limit);
    }
}

impl Endpoint for Connection {
    type Packet = Packet;

    fn connect(&mut self) {
        self.state = State::CookieWait;
        self.request_init();
    }

    fn listen(&mut self) {
        self.state = State::Listen;
    }

    #[inline]
    fn on_packet(&mut self, now: Time, packet: &Packet) {
        Self::on_packet(self, now, packet);
        self.look_at_limit(now);
    }

    /// RFC 9260 has no ECN, so no packet is marked.
    fn on_congestion_experienced(&mut self) {}

    #[inline]
    fn may_send(&self) -> bool {
        self.has_something()
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
        self.sender.deadline().min(self.receiver.deadline()).min(self.timer.at)
    }

    fn on_deadline(&mut self, now: Time) {
        Self::on_deadline(self, now);
        self.look_at_limit(now);
    }

    /// The application hands over `bytes` to be sent. Refused if the other end has shut the
    /// association down.
    fn write(&mut self, bytes: u64) {
        if self.takes_data() {
            self.sender.write(&self.config, bytes);
        }
    }

    fn withdraw(&mut self) -> u64 {
        self.sender.withdraw()
    }

    fn read(&mut self, bytes: u64) {
        self.receiver.read(bytes);
        if !self.receives() {
            self.receiver.stop();
        }
    }

    fn unread(&self) -> u64 {
        self.receiver.unread()
    }

    #[inline]
    fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    fn close(&mut self) {
        self.closing = true;
        self.sender.close();
        if self.state == State::Established {
            self.state = State::ShutdownPending;
        }
        self.shut_down_if_finished();
    }

    fn abort_cause(&self) -> Option<AbortCause> {
        self.cause
    }

    fn counters(&self) -> &Counters {
        self.sender.counters()
    }

    /// That of the path of new data.
    fn sample(&self) -> Sample {
        let path = self.sender.path();
        Sample {
            cwnd: path.window.cwnd(),
            ssthresh: path.window.ssthresh(),
            flight: path.flight,
            srtt: path.rtt.srtt(),
            min_rtt: path.rtt.min(),
            rto: path.rtt.rto(),
        }
    }

    fn limits(&self, now: Time) -> Option<Limits> {
        Some(self.limits.times(now))
    }

    fn rtt_samples(&self) -> &Sketch {
        self.sender.path().rtt.samples()
    }
}

impl Streams for Connection {
    fn ask(&mut self, bytes: u64) -> Exchange {
        Self::ask(self, bytes)
    }

    fn answer(&mut self, exchange: Exchange, bytes: u64) {
        Self::answer(self, exchange, bytes);
    }

    fn take_arrived(&mut self) -> Option<Exchange> {
        self.receiver.inbound.arrived().pop_front()
    }

    fn has_arrived(&self) -> bool {
        self.receiver.inbound.has_arrived()
    }

    fn is_open(&self) -> bool {
        self.state != State::Ended
    }
}
