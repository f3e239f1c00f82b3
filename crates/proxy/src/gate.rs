//! The limit of connections, for all threads together.
//!
//! With `at_limit = "pass"` the listeners stop being transparent at the limit, so that TPROXY finds
//! none and new connections cross unsplit. Handshakes that had begun are still accepted, up to a
//! hard limit above.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use middlebox::{AtLimit, SplitLimits};

use crate::config::{Config, SideName};
use crate::counters::All;
use crate::sockets::{self, Unset};

/// The listeners of all threads, and whether they take new connections.
#[derive(Debug)]
pub(crate) struct Gate {
    limit: AtomicU64,
    passes: AtomicBool,
    is_shut: AtomicBool,
    listeners: Mutex<Vec<Registered>>,
}

/// A listener of a thread.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) fd: Arc<OwnedFd>,
    pub(crate) is_v4: bool,
    pub(crate) side: SideName,
}

/// Connections above the limit that had begun before it was reached.
pub(crate) const fn slack(limit: u64) -> u64 {
    limit / 8 + 64
}

impl Gate {
    pub(crate) fn new(limits: SplitLimits, listeners: Vec<Registered>) -> Self {
        Self {
            limit: AtomicU64::new(limits.connections.into()),
            passes: AtomicBool::new(limits.at_limit == AtLimit::Pass),
            is_shut: AtomicBool::new(false),
            listeners: Mutex::new(listeners),
        }
    }

    /// Applies other limits.
    pub(crate) fn change(&self, limits: SplitLimits, counters: &All) {
        self.limit.store(limits.connections.into(), Ordering::Relaxed);
        self.passes.store(limits.at_limit == AtLimit::Pass, Ordering::Relaxed);
        self.decide(counters);
    }

    /// Gives the listeners the settings of another configuration, for new connections.
    pub(crate) fn adapt(&self, config: &Config) -> Result<(), Unset> {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.iter().try_for_each(|listener| {
            let options = &config.side(listener.side).tcp;
            sockets::adapt(&*listener.fd, options, config.document.copy_dscp)
        })
    }

    /// Connections above this number are reset.
    pub(crate) fn hard_limit(&self) -> u64 {
        let limit = self.limit.load(Ordering::Relaxed);
        if self.passes.load(Ordering::Relaxed) { limit + slack(limit) } else { limit }
    }

    /// A connection was opened; there are `open` now.
    pub(crate) fn opened(&self, open: u64, counters: &All) {
        if open >= self.limit.load(Ordering::Relaxed) {
            self.decide(counters);
        }
    }

    /// A connection was closed.
    pub(crate) fn closed(&self, counters: &All) {
        counters.open.fetch_sub(1, Ordering::Relaxed);
        if self.is_shut.load(Ordering::Relaxed) {
            self.decide(counters);
        }
    }

    /// Listeners for another process.
    pub(crate) fn shared(&self) -> io::Result<Vec<OwnedFd>> {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.iter().map(|listener| listener.fd.try_clone()).collect()
    }

    /// Opens the listeners and forgets them: another process has them, and no connection yet.
    pub(crate) fn hand_over(&self) {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        for listener in listeners.drain(..) {
            // It can fail only without CAP_NET_ADMIN, which is kept.
            let _ = sockets::set_transparent(&*listener.fd, listener.is_v4, true);
        }
    }

    /// Forgets the listeners: from now on nobody opens them again.
    pub(crate) fn dismantle(&self) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Shuts or opens the listeners, as the number of connections now requires.
    fn decide(&self, counters: &All) {
        // Under the lock, so that the last decision is the one that stays.
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let open = counters.open.load(Ordering::Relaxed);
        let passes = self.passes.load(Ordering::Relaxed);
        let shut = passes && open >= self.limit.load(Ordering::Relaxed);
        if self.is_shut.swap(shut, Ordering::Relaxed) == shut {
            return;
        }
        if shut {
            counters.process.limit_reached.one();
        }
        for listener in listeners.iter() {
            // It can fail only without CAP_NET_ADMIN, which is kept.
            let _ = sockets::set_transparent(&*listener.fd, listener.is_v4, !shut);
        }
    }
}
