//! Admission of connections to a split proxy: what becomes of a SYN that has arrived, as a state
//! machine without I/O. There is a limit of connections, above which new ones cross unsplit or are
//! reset.
//!
//! The three ways to accept are ours, from what users of PEPsal, HAProxy and others ask for. With
//! an early answer the client's connection is open one round trip of the far leg sooner, and a
//! refused port looks open. A late answer has neither. `early-if-known` answers at once for servers
//! that have accepted lately.

use std::collections::BTreeMap;

use units::{Span, Time};

use super::{Accept, AtLimit};

/// Verdict on a connection whose SYN has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The SYN is answered at once.
    Answer,
    /// The SYN is answered when the server has answered.
    Wait,
    /// The connection crosses the gateway unsplit.
    Pass,
    /// The connection is reset.
    Refuse,
}

/// Which connections a proxy admits, and when it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// When clients are accepted.
    pub accept: Accept,
    /// How long a server is known after it has accepted.
    pub known_for: Span,
    /// Time in which a server must accept.
    pub connect_timeout: Span,
    /// Maximum number of split connections at the same time.
    pub connections: Option<u32>,
    /// Treatment of new connections above it.
    pub at_limit: AtLimit,
}

impl Default for Policy {
    fn default() -> Self {
        // Our choice.
        let known_for = Span::from_secs(5 * 60);
        // The default of the daemon's file.
        let connect_timeout = Span::from_secs(75);
        let (accept, at_limit) = (Accept::default(), AtLimit::default());
        Self { accept, known_for, connect_timeout, connections: None, at_limit }
    }
}

/// Numbers of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Admitted {
    /// Split, and answered before the server.
    pub early: u64,
    /// Split, and answered after the server, or not at all.
    pub late: u64,
    /// Crossed unsplit because of the limit.
    pub passed: u64,
    /// Reset because of the limit.
    pub refused: u64,
    /// Split connections whose server could not be reached.
    pub failed: u64,
    /// Maximum number of split connections at the same time.
    pub max_open: u32,
}

/// Servers that have accepted a connection lately. `S` names a server.
#[derive(Clone, Debug)]
pub struct Known<S> {
    /// When each server has accepted last.
    accepted: BTreeMap<S, Time>,
}

impl<S> Default for Known<S> {
    fn default() -> Self {
        Self { accepted: BTreeMap::new() }
    }
}

impl<S: Ord> Known<S> {
    /// Returns true if `server` has accepted a connection within the time `lately`, and has not
    /// failed since.
    pub fn includes(&self, now: Time, lately: Span, server: &S) -> bool {
        self.accepted.get(server).is_some_and(|last| now.since(*last) <= lately)
    }

    /// `server` has accepted a connection.
    pub fn on_accepted(&mut self, now: Time, server: S) {
        self.accepted.insert(server, now);
    }

    /// A connection to `server` could not be opened.
    pub fn on_failed(&mut self, server: &S) {
        self.accepted.remove(server);
    }

    /// Forgets servers that have not accepted within the time `lately`.
    pub fn forget(&mut self, now: Time, lately: Span) {
        self.accepted.retain(|_, last| now.since(*last) <= lately);
    }

    /// Returns true if `server` is remembered.
    pub fn contains(&self, server: &S) -> bool {
        self.accepted.contains_key(server)
    }

    /// Number of servers that are remembered.
    pub fn len(&self) -> usize {
        self.accepted.len()
    }

    /// Returns true if no server is remembered.
    pub fn is_empty(&self) -> bool {
        self.accepted.is_empty()
    }
}

/// The admission of all connections of a proxy. `S` names a server.
#[derive(Clone, Debug)]
pub struct Admission<S> {
    policy: Policy,
    known: Known<S>,
    /// Split connections that are open.
    open: u32,
    admitted: Admitted,
}

/// A proxy with all defaults.
impl<S> Default for Admission<S> {
    fn default() -> Self {
        Self::new(Policy::default())
    }
}

impl<S> Admission<S> {
    /// A proxy that knows no server yet.
    pub fn new(policy: Policy) -> Self {
        let admitted = Admitted::default();
        Self { policy, known: Known::default(), open: 0, admitted }
    }

    /// Time in which a server must accept.
    pub const fn connect_timeout(&self) -> Span {
        self.policy.connect_timeout
    }

    /// Numbers of connections so far.
    pub const fn admitted(&self) -> Admitted {
        self.admitted
    }
}

impl<S: Ord> Admission<S> {
    /// A SYN for `server` has arrived. A connection that is split is open from now on.
    pub fn on_syn(&mut self, now: Time, server: &S) -> Verdict {
        if self.policy.connections.is_some_and(|most| self.open >= most) {
            let (count, verdict) = match self.policy.at_limit {
                AtLimit::Pass => (&mut self.admitted.passed, Verdict::Pass),
                AtLimit::Refuse => (&mut self.admitted.refused, Verdict::Refuse),
            };
            *count += 1;
            return verdict;
        }
        self.open += 1;
        self.admitted.max_open = self.admitted.max_open.max(self.open);
        let is_early = match self.policy.accept {
            Accept::Early => true,
            Accept::Late => false,
            Accept::EarlyIfKnown => self.known.includes(now, self.policy.known_for, server),
        };
        if is_early {
            self.admitted.early += 1;
            Verdict::Answer
        } else {
            self.admitted.late += 1;
            Verdict::Wait
        }
    }

    /// `server` has accepted a connection.
    pub fn on_accepted(&mut self, now: Time, server: S) {
        if self.policy.accept == Accept::EarlyIfKnown {
            self.known.on_accepted(now, server);
        }
    }

    /// A connection to `server` could not be opened.
    pub fn on_failed(&mut self, server: &S) {
        self.admitted.failed += 1;
        self.known.on_failed(server);
    }

    /// A split connection is over in both directions.
    pub const fn on_closed(&mut self) {
        self.open -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    fn accepting(accept: Accept) -> Admission<u8> {
        Admission::new(Policy { accept, known_for: Span::from_secs(60), ..Policy::default() })
    }

    #[test]
    fn early_and_late_do_not_depend_on_the_server() {
        for (accept, verdict) in [(Accept::Early, Verdict::Answer), (Accept::Late, Verdict::Wait)] {
            let mut admission = accepting(accept);
            assert_eq!(admission.on_syn(at(0), &1), verdict);
            admission.on_accepted(at(1), 1);
            assert_eq!(admission.on_syn(at(2), &1), verdict);
            admission.on_failed(&1);
            assert_eq!(admission.on_syn(at(3), &1), verdict);
        }
    }

    #[test]
    fn a_server_is_known_for_a_time_after_it_accepted_last_and_until_it_fails() {
        let mut admission = accepting(Accept::EarlyIfKnown);
        assert_eq!(admission.on_syn(at(0), &1), Verdict::Wait);
        admission.on_accepted(at(1), 1);
        assert_eq!(admission.on_syn(at(61), &1), Verdict::Answer);
        assert_eq!(admission.on_syn(at(61), &2), Verdict::Wait, "another server");
        assert_eq!(admission.on_syn(at(62), &1), Verdict::Wait, "too long ago");
        admission.on_accepted(at(63), 1);
        assert_eq!(admission.on_syn(at(64), &1), Verdict::Answer);
        admission.on_failed(&1);
        assert_eq!(admission.on_syn(at(65), &1), Verdict::Wait, "it did not accept the last one");
        let admitted =
            Admitted { early: 2, late: 4, failed: 1, max_open: 6, ..Admitted::default() };
        assert_eq!(admission.admitted(), admitted);
    }

    #[test]
    fn servers_that_have_not_accepted_lately_are_forgotten() {
        let mut known = Known::default();
        known.on_accepted(at(0), 'a');
        known.on_accepted(at(50), 'b');
        known.forget(at(70), Span::from_secs(60));
        assert_eq!(known.len(), 1);
        assert!(known.includes(at(70), Span::from_secs(60), &'b') && !known.is_empty());
    }

    #[test]
    fn connections_above_the_limit_pass_or_are_refused_until_others_end() {
        for (at_limit, verdict) in
            [(AtLimit::Pass, Verdict::Pass), (AtLimit::Refuse, Verdict::Refuse)]
        {
            let policy = Policy { connections: Some(2), at_limit, ..Policy::default() };
            let mut admission = Admission::new(policy);
            let mut verdicts = |count: usize, closed: usize| -> Vec<_> {
                (0..closed).for_each(|_| admission.on_closed());
                (0..count).map(|_| admission.on_syn(at(0), &1)).collect()
            };
            assert_eq!(verdicts(3, 0), [Verdict::Answer, Verdict::Answer, verdict]);
            assert_eq!(verdicts(2, 1), [Verdict::Answer, verdict]);
            let Admitted { early, passed, refused, max_open, .. } = admission.admitted();
            assert_eq!((early, passed + refused, max_open), (3, 2, 2));
            assert_eq!(passed > 0, at_limit == AtLimit::Pass);
        }
    }
}
