//! TLS for connections inside the simulator: one certificate, which the other end knows.
//!
//! Tickets for later connections are off, so connections do not depend on each other, unless the
//! ends are made for 0-RTT.

use std::sync::{Arc, LazyLock};

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientSessionMemoryCache, Resumption};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, KeyLog, ServerConfig,
    SignatureScheme,
};

/// The name of every server.
pub(crate) const NAME: &str = "laboratory.invalid";

const CERTIFICATE: &[u8] = include_bytes!("../certificate/certificate.der");
const KEY: &[u8] = include_bytes!("../certificate/key.der");

/// The settings of all servers, and of all clients.
struct Configs {
    server: Arc<QuicServerConfig>,
    client: Arc<QuicClientConfig>,
}

static CONFIGS: LazyLock<Configs> = LazyLock::new(|| {
    let provider = Arc::new(ring::default_provider());
    let clock = Arc::new(DefaultTimeProvider);
    let mut server = make_server(&provider, clock.clone());
    server.send_tls13_tickets = 0;
    let mut client = make_client(provider, clock);
    client.resumption = Resumption::disabled();
    Configs { server: Arc::new(for_quic(server)), client: Arc::new(client_for_quic(client)) }
});

pub(crate) fn server() -> Arc<QuicServerConfig> {
    CONFIGS.server.clone()
}

pub(crate) fn client() -> Arc<QuicClientConfig> {
    CONFIGS.client.clone()
}

/// Settings of clients whose secrets are logged.
pub(crate) fn logged_client(keys: Arc<dyn KeyLog>) -> Arc<QuicClientConfig> {
    let clock = Arc::new(DefaultTimeProvider);
    let mut client = make_client(Arc::new(ring::default_provider()), clock);
    client.resumption = Resumption::disabled();
    client.key_log = keys;
    Arc::new(client_for_quic(client))
}

/// Settings for 0-RTT. The ends share what they remember.
pub(crate) struct Resuming {
    /// Of servers that issue a ticket for each connection.
    pub(crate) issuer: Arc<QuicServerConfig>,
    /// Of servers that take such tickets, and issue none.
    pub(crate) server: Arc<QuicServerConfig>,
    /// Of clients of earlier connections.
    pub(crate) earlier: Arc<QuicClientConfig>,
    pub(crate) client: Arc<QuicClientConfig>,
}

impl Resuming {
    /// The age of tickets is that of `clock`. `keys` gets the secrets of connections that are not
    /// earlier ones.
    pub(crate) fn new(clock: Arc<dyn TimeProvider>, keys: Option<Arc<dyn KeyLog>>) -> Self {
        let provider = Arc::new(ring::default_provider());
        let mut server = make_server(&provider, clock.clone());
        // The only other value that QUIC allows is 0 (RFC 9001 section 4.6.1).
        server.max_early_data_size = u32::MAX;
        server.send_tls13_tickets = 0;
        // A clone has the same memory.
        let mut issuer = server.clone();
        issuer.send_tls13_tickets = 1;
        let mut client = make_client(provider, clock);
        client.resumption = Resumption::store(Arc::new(ClientSessionMemoryCache::new(1)));
        client.enable_early_data = true;
        // A clone has the same memory.
        let earlier = client.clone();
        if let Some(keys) = keys {
            client.key_log = keys;
        }
        Self {
            issuer: Arc::new(for_quic(issuer)),
            server: Arc::new(for_quic(server)),
            earlier: Arc::new(client_for_quic(earlier)),
            client: Arc::new(client_for_quic(client)),
        }
    }
}

#[expect(clippy::expect_used, reason = "the provider is a constant")]
fn for_quic(config: ServerConfig) -> QuicServerConfig {
    config.try_into().expect("ring has the suite of initial packets")
}

#[expect(clippy::expect_used, reason = "the provider is a constant")]
fn client_for_quic(config: ClientConfig) -> QuicClientConfig {
    config.try_into().expect("ring has the suite of initial packets")
}

#[expect(clippy::expect_used, reason = "certificate and provider are constants")]
fn make_server(provider: &Arc<CryptoProvider>, clock: Arc<dyn TimeProvider>) -> ServerConfig {
    ServerConfig::builder_with_details(provider.clone(), clock)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring speaks TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(CERTIFICATE)],
            PrivatePkcs8KeyDer::from(KEY).into(),
        )
        .expect("the key is that of the certificate")
}

#[expect(clippy::expect_used, reason = "the provider is a constant")]
fn make_client(provider: Arc<CryptoProvider>, clock: Arc<dyn TimeProvider>) -> ClientConfig {
    ClientConfig::builder_with_details(provider.clone(), clock)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring speaks TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Known { provider }))
        .with_no_client_auth()
}

/// Accepts the one certificate, whose dates do not matter. Signatures are verified.
#[derive(Debug)]
struct Known {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Known {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if end_entity.as_ref() == CERTIFICATE {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
