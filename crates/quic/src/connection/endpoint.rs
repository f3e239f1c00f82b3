//! A connection as an endpoint of a host: calls of the network, of the clock and of the
//! application.

use std::sync::Arc;

use bytes::Bytes;
use quinn_proto::{
    ConnectionError, ServerConfig, Side, TransportErrorCode, ValidationTokenConfig, VarInt,
};
use sketch::Sketch;
use transport::{AbortCause, Counters, Endpoint, Limits, Sample};
use units::{Span, Time};

use super::{Connection, Datagram};
use crate::clock::{instant, span, time};
use crate::exchanges::NO_ERROR;
use crate::identity::token_key;
use crate::tls;

impl Endpoint for Connection {
    type Packet = Datagram;

    fn connect(&mut self) {
        self.opens = true;
        self.may_send = true;
    }

    fn listen(&mut self) {
        let mut server = match self.config.resumption() {
            None => {
                let mut server = ServerConfig::new(tls::server(), token_key());
                let mut tokens = ValidationTokenConfig::default();
                tokens.sent(0);
                server.validation_token_config(tokens);
                server
            }
            Some(resumption) => resumption.server_config(self.part),
        };
        server.transport_config(self.transport(Side::Server)).migration(false);
        self.endpoint.set_server_config(Some(Arc::new(server)));
    }

    fn on_packet(&mut self, now: Time, packet: &Datagram) {
        self.take_in(now, packet, false);
    }

    /// QUIC looks at the mark with the packet.
    fn on_congestion_experienced(&mut self) {}

    fn on_marked_packet(&mut self, now: Time, packet: &Datagram) {
        self.take_in(now, packet, true);
    }

    fn may_send(&self) -> bool {
        self.may_send
    }

    fn next_packet(&mut self, now: Time) -> Option<Datagram> {
        self.trace.on_time(now);
        if std::mem::take(&mut self.opens) {
            self.open(now);
        }
        if let Some(code) = self.closes.take()
            && let Some((_, connection)) = &mut self.state
        {
            connection.close(instant(now), VarInt::from_u32(code), Bytes::new());
        }
        if let Some(answer) = self.answers.pop() {
            return Some(answer);
        }
        let frames = self.stream_frames();
        self.meter.forget_questions();
        let transmit = self.state.as_mut().and_then(|(_, connection)| {
            self.buffer.clear();
            connection.poll_transmit(instant(now), 1, &mut self.buffer)
        });
        let Some(transmit) = transmit else {
            self.rest(now, self.meter.questions());
            return None;
        };
        self.count(transmit.size, frames);
        Some(self.datagram(&transmit))
    }

    fn may_have_low_priority(&self) -> bool {
        false
    }

    fn next_of_low_priority(&mut self, _now: Time) -> Option<Datagram> {
        None
    }

    fn deadline(&self) -> Time {
        self.deadline
    }

    fn on_deadline(&mut self, now: Time) {
        self.trace.on_time(now);
        if let Some((_, connection)) = &mut self.state {
            self.probe_timeouts.on_timer(&connection.stats());
            connection.handle_timeout(instant(now));
            // A gateway with a rate may not ask for packets now.
            self.deadline = connection.poll_timeout().map_or(Time::NEVER, time).max(now);
        }
        self.drive();
    }

    fn write(&mut self, bytes: u64) {
        self.outgoing.written += bytes;
        self.may_send = true;
        self.hand_over();
    }

    /// Data that quinn has counts as sent.
    fn withdraw(&mut self) -> u64 {
        self.outgoing.written = self.outgoing.handed_over;
        self.outgoing.written
    }

    /// The application reads all at once.
    fn read(&mut self, _bytes: u64) {}

    fn unread(&self) -> u64 {
        0
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }

    /// A client whose requests are answered closes the connection; otherwise the stream to the
    /// other end ends.
    fn close(&mut self) {
        self.may_send = true;
        if self.exchanges.is_used() {
            self.closes = self.is_client().then_some(NO_ERROR);
        } else {
            self.outgoing.closed = true;
            self.hand_over();
        }
    }

    fn abort_cause(&self) -> Option<AbortCause> {
        match self.failure.as_ref()? {
            ConnectionError::LocallyClosed => None,
            ConnectionError::ApplicationClosed(close) if close.error_code == NO_ERROR.into() => {
                None
            }
            // The next request opens another connection.
            ConnectionError::TimedOut if self.exchanges.are_over() || self.is_relayed() => None,
            ConnectionError::TimedOut => Some(AbortCause::IdleTimeout),
            ConnectionError::Reset | ConnectionError::ApplicationClosed(_) => {
                Some(AbortCause::Reset)
            }
            // An error of the application before the handshake is complete has the second code
            // (RFC 9000 section 10.2.3).
            ConnectionError::ConnectionClosed(close)
                if [
                    TransportErrorCode::CONNECTION_REFUSED,
                    TransportErrorCode::APPLICATION_ERROR,
                ]
                .contains(&close.error_code) =>
            {
                Some(AbortCause::Reset)
            }
            ConnectionError::VersionMismatch
            | ConnectionError::TransportError(_)
            | ConnectionError::ConnectionClosed(_)
            | ConnectionError::CidsExhausted => Some(AbortCause::ProtocolError),
        }
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn sample(&self) -> Sample {
        let measured = self.meter.read();
        let path = self.state.as_ref().map(|(_, connection)| connection.stats().path);
        let has_rtt = self.rtt.count() > 0;
        Sample {
            cwnd: measured.cwnd,
            ssthresh: measured.ssthresh.unwrap_or(u64::MAX),
            flight: measured.flight,
            srtt: path.filter(|_| has_rtt).map(|path| span(path.rtt)),
            min_rtt: path.filter(|_| has_rtt).map(|path| span(path.min_rtt)),
            rto: Span::ZERO,
        }
    }

    fn limits(&self, now: Time) -> Option<Limits> {
        Some(self.limits_until(now))
    }

    fn rtt_samples(&self) -> &Sketch {
        &self.rtt
    }
}
