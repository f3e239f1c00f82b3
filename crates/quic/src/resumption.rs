//! 0-RTT (RFC 9001 section 4.6): a client has the ticket and the address token of an earlier
//! connection.
//!
//! Each connection has an earlier one of its own: with the same settings and no network between its
//! ends. Its packets are not in the recording. So no ticket is used twice, and the packets of a
//! connection do not depend on the others. Without the token, the server could answer the first
//! flight with three times its bytes only (RFC 9000 section 8.1).
//!
//! Servers compare the age of a ticket with their clock. The clock of tickets stands still.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use quinn_proto::{
    ClientConfig, ServerConfig, TimeSource, TokenLog, TokenMemoryCache, TokenReuseError,
    ValidationTokenConfig,
};
use rustls::KeyLog;
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use transport::Endpoint;
use units::Time;

use crate::connection::Connection;
use crate::identity::token_key;
use crate::tls::Resuming;

/// State that ends keep of earlier connections.
pub(crate) struct Resumption {
    tls: Resuming,
    tokens: Arc<TokenMemoryCache>,
}

/// Which connection an end belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The earlier one, whose server issues a ticket and a token.
    Earlier,
    /// The one that is recorded.
    Recorded,
}

impl Resumption {
    /// `keys` gets the secrets of recorded connections.
    pub(crate) fn new(keys: Option<Arc<dyn KeyLog>>) -> Self {
        Self { tls: Resuming::new(Arc::new(Clock), keys), tokens: Arc::default() }
    }

    /// Settings of a client.
    pub(crate) fn client_config(&self, part: Part) -> ClientConfig {
        let tls = match part {
            Part::Earlier => &self.tls.earlier,
            Part::Recorded => &self.tls.client,
        };
        let mut config = ClientConfig::new(tls.clone());
        config.token_store(self.tokens.clone());
        config
    }

    /// Settings of a server.
    pub(crate) fn server_config(&self, part: Part) -> ServerConfig {
        let (tls, sent) = match part {
            Part::Earlier => (&self.tls.issuer, 1),
            Part::Recorded => (&self.tls.server, 0),
        };
        let mut config = ServerConfig::new(tls.clone(), token_key());
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(sent).log(Arc::new(Unused));
        config.validation_token_config(tokens).time_source(Arc::new(Clock));
        config
    }
}

/// Lets the ends of an earlier connection meet, so that the client has a ticket and a token.
pub(crate) fn meet(ends: &mut [Connection; 2], now: Time) {
    let [client, server] = ends;
    server.listen();
    client.connect();
    loop {
        let sent = pass(client, server, now) + pass(server, client, now);
        if sent == 0 {
            return;
        }
    }
}

/// Passes all datagrams on. Returns their number.
fn pass(from: &mut Connection, to: &mut Connection, now: Time) -> usize {
    let mut sent = 0;
    while from.may_send()
        && let Some(datagram) = from.next_packet(now)
    {
        to.on_packet(now, &datagram);
        sent += 1;
    }
    sent
}

/// The clock of tickets and tokens.
#[derive(Debug)]
struct Clock;

/// After the epoch, because ages are computed backwards.
const NOW: Duration = Duration::from_secs(1 << 30);

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(NOW))
    }
}

impl TimeSource for Clock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + NOW
    }
}

/// Each token is used once, because each connection has one of its own.
struct Unused;

impl TokenLog for Unused {
    fn check_and_insert(&self, _: u128, _: SystemTime, _: Duration) -> Result<(), TokenReuseError> {
        Ok(())
    }
}
