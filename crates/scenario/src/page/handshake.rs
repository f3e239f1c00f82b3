//! Flights of TLS by version and by the state that the browser has. Their sizes are reconstructed
//! from the structures of RFC 8446 and RFC 5246 with the usual extensions; certificates are given.

use crate::model::Handshake;

use super::document::{KeyShare, Resumption};

/// The hello of a browser with its usual extensions.
const CLIENT_HELLO: u64 = 520;
/// The public key of ML-KEM-768 in the browser's share, and the ciphertext in the server's.
const ML_KEM_KEY: u64 = 1184;
const ML_KEM_CIPHERTEXT: u64 = 1088;
/// A ticket in the hello, with its binder.
const TICKET: u64 = 270;
/// Server hello, change of the cipher, encrypted extensions and finished, in their records.
const SERVER_HELLO: u64 = 217;
/// Signature over the handshake, and the framing of certificates.
const SIGNATURE: u64 = 94;
/// Change of the cipher and finished.
const FINISHED: u64 = 74;

/// TLS 1.3 (RFC 8446 section 2): one round trip before requests, and none with early data.
pub(super) fn tls_1_3(key: KeyShare, resumption: Resumption, certificates: u64) -> Handshake {
    let (share, ciphertext) = match key {
        KeyShare::Hybrid => (ML_KEM_KEY, ML_KEM_CIPHERTEXT),
        KeyShare::Classic => (0, 0),
    };
    let (ticket, proof) = match resumption {
        Resumption::None => (0, SIGNATURE + certificates),
        Resumption::Session | Resumption::EarlyData => (TICKET, 0),
    };
    let hello = CLIENT_HELLO + share + ticket;
    let answer = SERVER_HELLO + ciphertext + proof;
    let before_requests = if resumption == Resumption::EarlyData { 0 } else { 2 };
    Handshake { flights: [hello, answer, FINISHED].into(), before_requests, record: 22 }
}

/// TLS 1.2 (RFC 5246 section 7.3): two round trips before requests, and one with a session.
pub(super) fn tls_1_2(resumption: Resumption, certificates: u64) -> Handshake {
    let (flights, before_requests): (Box<[u64]>, usize) = match resumption {
        Resumption::None => ([CLIENT_HELLO, 260 + certificates, 126, 250].into(), 4),
        _ => ([CLIENT_HELLO + TICKET, 141, 51].into(), 2),
    };
    Handshake { flights, before_requests, record: 29 }
}
