//! The limit of connections, for all threads together.
//!
//! With `at_limit = "pass"` the listeners stop being transparent at the limit, so that TPROXY finds
//! none and new connections cross unsplit. Handshakes that had begun are still accepted, up to a
//! hard limit above. Where SYNs are held back, each one above the limit is sent on instead.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use middlebox::{Accept, AtLimit, SplitLimits};

use crate::config::{Config, Document, SideName, Towards};
use crate::counters::All;
use crate::sockets::{self, Unset};

/// The listeners of all threads, and whether they take new connections.
#[derive(Debug)]
pub(crate) struct Gate {
    limit: AtomicU64,
    /// True if listeners stop being transparent at the limit.
    shuts: AtomicBool,
    /// SYNs are held back, and those above the limit are sent on one by one.
    holds_back: bool,
    is_shut: AtomicBool,
    listeners: Mutex<Vec<Registered>>,
}

/// A listener of a thread.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) fd: Arc<OwnedFd>,
    pub(crate) is_v4: bool,
    pub(crate) side: SideName,
    /// It takes intercepted connections, and not those of a relay.
    pub(crate) is_transparent: bool,
}

/// Connections above the limit that had begun before it was reached.
pub(crate) const fn slack(limit: u64) -> u64 {
    limit / 8 + 64
}

impl Gate {
    pub(crate) fn new(document: &Document, listeners: Vec<Registered>) -> Self {
        let limits = document.limits;
        let holds_back = document.accept != Accept::Early;
        Self {
            limit: AtomicU64::new(limits.connections.into()),
            shuts: AtomicBool::new(limits.at_limit == AtLimit::Pass && !holds_back),
            holds_back,
            is_shut: AtomicBool::new(false),
            listeners: Mutex::new(listeners),
        }
    }

    /// Applies other limits.
    pub(crate) fn change(&self, limits: SplitLimits, counters: &All) {
        self.limit.store(limits.connections.into(), Ordering::Relaxed);
        let shuts = limits.at_limit == AtLimit::Pass && !self.holds_back;
        self.shuts.store(shuts, Ordering::Relaxed);
        self.decide(counters);
    }

    /// Gives the listeners the settings of another configuration, for new connections.
    pub(crate) fn adapt(&self, config: &Config) -> Result<(), Unset> {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.iter().try_for_each(|listener| {
            // The rules know the packets of accepted connections by the mark, which they inherit.
            sockets::set_mark(&listener.fd, config.mark_of(Towards::Client))
                .map_err(|error| Unset { key: "mark", error })?;
            let options = &config.side(listener.side).tcp;
            sockets::adapt(&*listener.fd, options, config.document.copy_dscp)
        })
    }

    /// Counts a new connection as open, unless there are too many.
    pub(crate) fn admit(&self, counters: &All) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        let most = if self.shuts.load(Ordering::Relaxed) { limit + slack(limit) } else { limit };
        let open = counters.open.fetch_add(1, Ordering::SeqCst) + 1;
        if open > most {
            counters.open.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        if open >= limit {
            self.decide(counters);
        }
        true
    }

    /// A connection was closed.
    pub(crate) fn closed(&self, counters: &All) {
        counters.open.fetch_sub(1, Ordering::SeqCst);
        if self.is_shut.load(Ordering::SeqCst) {
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
        for listener in listeners.drain(..).filter(|listener| listener.is_transparent) {
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
        loop {
            let open = counters.open.load(Ordering::SeqCst);
            let shuts = self.shuts.load(Ordering::Relaxed);
            let shut = shuts && open >= self.limit.load(Ordering::Relaxed);
            if self.is_shut.swap(shut, Ordering::SeqCst) == shut {
                return;
            }
            if shut {
                counters.process.limit_reached.one();
            }
            for listener in listeners.iter().filter(|listener| listener.is_transparent) {
                // It can fail only without CAP_NET_ADMIN, which is kept.
                let _ = sockets::set_transparent(&*listener.fd, listener.is_v4, !shut);
            }
            // A connection that was closed before the gate was shut has not decided.
        }
    }
}
