//! A connection between two gateways: a relay reads its streams and writes to them, as it does with
//! two TCP connections.
//!
//! One QUIC connection carries one TCP connection, with a unidirectional stream each way. FIN of
//! TCP is the end of a stream. A reset is a stream error of both streams, H3_CONNECT_ERROR as in
//! proxies of HTTP/3 (RFC 9114 section 4.4): RESET_STREAM and STOP_SENDING, which QUIC repairs when
//! they are lost. The end that they reach closes the connection. So does the client when both
//! streams are complete.
//!
//! Data that the relay does not take stays with quinn, whose flow control then holds back the other
//! end.
//!
//! - The gateway that accepts decides when the handshake begins, so that its client can wait for
//!   the server.
//! - A relay may have nothing to move for long. The client sends PING frames, so that the
//!   connection does not end in silence (RFC 9000 section 10.1.2).

use std::time::Instant;

use quinn_proto::{
    ApplicationClose, ConnectionError, Dir, Incoming, StreamId, TransportConfig, VarInt,
};
use transport::{AbortCause, Endpoint as _};
use units::Time;

use super::Connection;
use crate::clock::{duration, instant};
use crate::config::Settings;
use crate::content;
use crate::exchanges::NO_ERROR;

/// H3_CONNECT_ERROR (RFC 9114 section 8.1): the TCP connection was reset or abnormally closed.
const CONNECT_ERROR: u32 = 0x10f;

/// PINGs in an idle timeout, so that two of them may be lost.
const PINGS: u32 = 3;

/// Lets a client send PINGs.
pub(super) fn keep_alive(transport: &mut TransportConfig, settings: &Settings) {
    transport.keep_alive_interval(Some(duration(settings.idle_timeout) / PINGS));
}

/// Decision about a connection that another end opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Decision {
    #[default]
    Open,
    Accept,
    Refuse,
}

/// State of a connection whose bytes a relay moves.
#[derive(Default)]
pub(super) struct Relayed {
    /// The connection that waits for a decision.
    incoming: Option<Incoming>,
    decision: Decision,
    /// The stream of the other end, once something of it has arrived.
    stream: Option<StreamId>,
    /// The stream of the other end was read to its end.
    has_ended: bool,
    /// All of the own stream, which has ended, was acknowledged.
    is_acknowledged: bool,
}

impl Relayed {
    /// Another end opens a connection.
    pub(super) fn arrived(&mut self, incoming: Incoming) {
        self.incoming = Some(incoming);
    }
}

impl Connection {
    /// The end of a gateway: a relay reads and writes.
    pub fn relayed(mut self) -> Self {
        self.relayed = Some(Box::default());
        self
    }

    /// Returns true if a connection of the other end waits for [`admit`](Self::admit) or
    /// [`turn_away`](Self::turn_away).
    pub fn is_held(&self) -> bool {
        self.relayed.as_ref().is_some_and(|relayed| relayed.incoming.is_some())
    }

    /// Accepts the connection that waits.
    pub fn admit(&mut self, now: Time) {
        self.decided(Decision::Accept, now);
        self.drive();
    }

    /// Refuses the connection that waits, and those that arrive from now on.
    pub fn turn_away(&mut self, now: Time) {
        self.decided(Decision::Refuse, now);
        self.fail();
    }

    fn decided(&mut self, decision: Decision, now: Time) {
        if let Some(relayed) = &mut self.relayed {
            relayed.decision = decision;
        }
        self.decide(instant(now));
    }

    /// Acts on the decision, if there is one and a connection waits.
    pub(super) fn decide(&mut self, now: Instant) {
        let Some(relayed) = &mut self.relayed else { return };
        let decision = relayed.decision;
        let waiting = relayed.incoming.take_if(|_| decision != Decision::Open);
        match (decision, waiting) {
            (Decision::Accept, Some(incoming)) if self.state.is_none() => {
                self.accept(incoming, now)
            }
            // A late copy of the first packet opens no second connection.
            (Decision::Accept | Decision::Refuse, Some(incoming)) => self.refuse(incoming),
            (_, None) | (Decision::Open, Some(_)) => {}
        }
    }

    /// Opens the connection, so that bytes can be [given](Self::give) at once with 0-RTT.
    pub fn connect_at(&mut self, now: Time) {
        self.open(now);
        self.may_send = true;
    }

    /// Returns true if the other end takes part: it has answered a client, or its first data may be
    /// read at a server.
    pub fn is_established(&self) -> bool {
        self.state.as_ref().is_some_and(|(_, connection)| {
            let is_early = connection.side().is_server() && connection.has_0rtt();
            !connection.is_handshaking() || is_early
        })
    }

    /// Reads at most `most` bytes that have arrived. Returns their number.
    pub fn take(&mut self, most: u64) -> u64 {
        let (Some((_, connection)), Some(relayed)) = (&mut self.state, &mut self.relayed) else {
            return 0;
        };
        let Some(id) = relayed.stream.filter(|_| !relayed.has_ended) else { return 0 };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return 0 };
        let mut taken = 0;
        loop {
            let room = usize::try_from(most - taken).unwrap_or(usize::MAX);
            match chunks.next(room) {
                // Without room, quinn has an empty piece.
                Ok(Some(chunk)) if chunk.bytes.is_empty() => break,
                Ok(Some(chunk)) => {
                    assert!(
                        content::is_at(self.delivered, &chunk.bytes),
                        "the bytes of the sender"
                    );
                    taken += chunk.bytes.len() as u64;
                    self.delivered += chunk.bytes.len() as u64;
                }
                Ok(None) => {
                    relayed.has_ended = true;
                    break;
                }
                Err(_) => break,
            }
        }
        // Whether flow control has something to say shows when packets are made.
        let _ = chunks.finalize();
        self.may_send = true;
        self.close_if_relayed();
        taken
    }

    /// Returns true if everything that the other end has sent was [taken](Self::take), and its
    /// stream has ended.
    pub fn peer_has_finished(&self) -> bool {
        self.relayed.as_ref().is_some_and(|relayed| relayed.has_ended)
    }

    /// Writes at most `bytes`. Returns the number that flow control and the send window take now.
    pub fn give(&mut self, bytes: u64) -> u64 {
        let before = self.outgoing.handed_over;
        self.outgoing.written = before + bytes;
        self.hand_over();
        self.may_send = true;
        self.outgoing.written = self.outgoing.handed_over;
        self.outgoing.handed_over - before
    }

    /// Ends the connection before its time.
    pub fn abort(&mut self) {
        self.may_send = true;
        self.fail();
        let Some((_, connection)) = &mut self.state else { return };
        if connection.is_handshaking() {
            self.closes = Some(CONNECT_ERROR);
            return;
        }
        let code = VarInt::from_u32(CONNECT_ERROR);
        let incoming = self.relayed.as_ref().and_then(|relayed| relayed.stream);
        if let Some(id) = incoming {
            // It may have ended.
            let _ = connection.recv_stream(id).stop(code);
        }
        let outgoing = self.stream.or_else(|| connection.streams().open(Dir::Uni));
        if let Some(id) = outgoing {
            let _ = connection.send_stream(id).reset(code);
        }
    }

    /// Returns true if it ended before its time.
    pub fn is_aborted(&self) -> bool {
        self.abort_cause().is_some()
    }

    /// The cause of an end before the time, unless both streams were complete.
    pub fn relay_failure(&self) -> Option<AbortCause> {
        self.abort_cause().filter(|_| !self.is_relayed())
    }

    /// Something of the stream of the other end has arrived.
    pub(super) fn note(&mut self, id: StreamId) {
        let (Some((_, connection)), Some(relayed)) = (&mut self.state, &mut self.relayed) else {
            return;
        };
        relayed.stream = Some(id);
        if let Ok(Some(_)) = connection.recv_stream(id).received_reset() {
            self.on_reset();
        }
    }

    /// The other end has acknowledged the end of the own stream.
    pub(super) fn on_acknowledged(&mut self) {
        if let Some(relayed) = &mut self.relayed {
            relayed.is_acknowledged = true;
        }
        self.close_if_relayed();
    }

    /// The other end has reset one of the streams. One answer is enough for both.
    pub(super) fn on_reset(&mut self) {
        if self.relayed.is_some() && self.failure.is_none() {
            self.fail();
            self.closes = Some(CONNECT_ERROR);
        }
    }

    fn fail(&mut self) {
        let error_code = VarInt::from_u32(CONNECT_ERROR);
        let close = ApplicationClose { error_code, reason: Default::default() };
        self.failure.get_or_insert(ConnectionError::ApplicationClosed(close));
    }

    /// Returns true if a relay has moved both streams to their ends.
    pub(super) fn is_relayed(&self) -> bool {
        self.relayed.as_ref().is_some_and(|relayed| relayed.has_ended && relayed.is_acknowledged)
    }

    fn close_if_relayed(&mut self) {
        if self.is_relayed() && self.is_client() {
            self.closes = Some(NO_ERROR);
        }
    }
}
