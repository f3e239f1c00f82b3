//! Connection IDs and keys of endpoints, from a seed.
//!
//! They are no secret: all that matters is that their lengths are constant, and that two ends do
//! not have the same.

use std::sync::Arc;
use std::time::Duration;

use quinn_proto::{ConnectionId, ConnectionIdGenerator};
use ring::{hkdf, hmac};

/// Bytes of a connection ID, quinn's default.
const LENGTH: usize = 8;

/// The numbers of splitmix64: each seed gives another sequence, in which no number occurs twice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A seed for quinn's own generator.
    pub(crate) fn bytes(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for eight in bytes.chunks_exact_mut(8) {
            eight.copy_from_slice(&self.next().to_le_bytes());
        }
        bytes
    }
}

impl ConnectionIdGenerator for Numbers {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.next().to_le_bytes())
    }

    fn cid_len(&self) -> usize {
        LENGTH
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// The key of stateless resets, which nobody sends.
pub(crate) fn reset_key() -> Arc<hmac::Key> {
    Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &[0; 64]))
}

/// The key of address tokens, which nobody asks for.
pub(crate) fn token_key() -> Arc<hkdf::Prk> {
    Arc::new(hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&[0; 64]))
}
