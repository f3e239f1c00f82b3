//! The MTUs of paths that a host keeps, so that its next connection need not find them again.
//!
//! A report of a router is about a path, not about a connection (RFC 1191 section 6.2, RFC 8201
//! section 5.2). It counts for ten minutes (RFC 1191 section 6.3), for all connections from the
//! same instant on.
//!
//! Decisions:
//! - A path is all that goes from one host to another. Routes of a scenario do not change.
//! - The size that probes have found is not remembered. RFC 4821 section 5.2 recommends it;
//!   Linux does not do it either (`tcp_mtup_probe_success`).

use std::collections::BTreeMap;

use units::Time;

/// Reports of routers about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownPath {
    /// Largest segment without options, in bytes of payload (RFC 9293 section 3.7.1).
    pub mss: u64,
    /// When that is forgotten.
    pub expires: Time,
}

/// The known paths of the hosts of a run, by the numbers of their ends.
#[derive(Clone, Debug, Default)]
pub struct PathCache {
    paths: BTreeMap<(u16, u16), KnownPath>,
}

impl PathCache {
    /// Reports about the path from one host to another.
    pub fn get(&self, path: (u16, u16)) -> Option<KnownPath> {
        self.paths.get(&path).copied()
    }

    /// A connection has found this. Returns true if it is news.
    pub fn learn(&mut self, path: (u16, u16), known: KnownPath) -> bool {
        self.paths.insert(path, known) != Some(known)
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;

    #[test]
    fn each_direction_and_each_host_has_its_own_path() {
        let mut cache = PathCache::default();
        let known = KnownPath { mss: 1360, expires: Time::ZERO + Span::from_secs(600) };
        assert!(cache.learn((1, 2), known));
        assert!(!cache.learn((1, 2), known), "that was known");
        assert_eq!(cache.get((1, 2)), Some(known));
        assert_eq!(cache.get((2, 1)), None);
        assert_eq!(cache.get((1, 3)), None);
        let narrower = KnownPath { mss: 1260, ..known };
        assert!(cache.learn((1, 2), narrower));
        assert_eq!(cache.get((1, 2)), Some(narrower));
    }
}
