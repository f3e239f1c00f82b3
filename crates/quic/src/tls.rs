//! TLS for connections inside the simulator: one certificate, which the other end knows.
//!
//! Tickets for later connections are off, so connections do not depend on each other, and there is no 0-RTT.

use std::sync::{Arc, LazyLock};

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme,
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
    Configs { server: Arc::new(make_server(&provider)), client: Arc::new(make_client(provider)) }
});

pub(crate) fn server() -> Arc<QuicServerConfig> {
    CONFIGS.server.clone()
}

pub(crate) fn client() -> Arc<QuicClientConfig> {
    CONFIGS.client.clone()
}

#[expect(clippy::expect_used, reason = "certificate and provider are constants")]
fn make_server(provider: &Arc<CryptoProvider>) -> QuicServerConfig {
    let mut config = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring speaks TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(CERTIFICATE)],
            PrivatePkcs8KeyDer::from(KEY).into(),
        )
        .expect("the key is that of the certificate");
    config.send_tls13_tickets = 0;
    config.try_into().expect("ring has the suite of initial packets")
}

#[expect(clippy::expect_used, reason = "the provider is a constant")]
fn make_client(provider: Arc<CryptoProvider>) -> QuicClientConfig {
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring speaks TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Known { provider }))
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    config.try_into().expect("ring has the suite of initial packets")
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
