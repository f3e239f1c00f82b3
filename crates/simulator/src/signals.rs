//! Signals of gateways on their way to ends of SCPS-TP: when they arrive, and when the far end of a
//! link finds errors.
//!
//! Outages are known before the run. Errors are not: after each event, the network is asked when
//! the next corrupted packet reaches the far end of a port that is watched. At that time the far
//! end signals, and is silent for a while.

use link::Seed;
use network::Fabric;
use runtime::{ErrorWatch, News, Signal};
use scenario::Scenario;
use tcp::SILENCE_OF_SIGNALS;
use units::Time;

use crate::hosts::{Body, Hosts};
use crate::transports::Connection;

/// A port that is watched.
#[derive(Debug)]
struct Watch {
    of: ErrorWatch,
    /// The far end signals no earlier.
    silent_until: Time,
    /// When it finds the next error; [`Time::NEVER`] if none is known.
    finds_at: Time,
}

/// The signals of a run.
#[derive(Debug)]
pub(crate) struct Signals {
    /// Those that are under way, and those that have arrived.
    sent: Vec<Signal>,
    watches: Vec<Watch>,
}

/// Returns true if gateways signal anything in a run.
pub(crate) fn has_signals(scenario: &Scenario, seed: &Seed) -> bool {
    !runtime::signals(scenario, seed).is_empty() || !runtime::error_watches(scenario).is_empty()
}

impl Signals {
    /// Those of a run, in which hosts expect the ones that are known.
    pub(crate) fn new<C: Connection>(
        scenario: &Scenario,
        seed: &Seed,
        hosts: &mut Hosts<C>,
    ) -> Self {
        let sent = runtime::signals(scenario, seed);
        for (number, signal) in (0..).zip(&sent) {
            hosts.expect_signal(signal.at, number);
        }
        let watch = |of| Watch { of, silent_until: Time::ZERO, finds_at: Time::NEVER };
        Self { sent, watches: runtime::error_watches(scenario).into_iter().map(watch).collect() }
    }

    /// Returns true if ports are watched.
    pub(crate) fn watches(&self) -> bool {
        !self.watches.is_empty()
    }

    /// A signal by its number.
    pub(crate) fn get(&self, number: u32) -> Signal {
        self.sent[number as usize]
    }

    /// Something has happened in the network: the next errors may be others.
    pub(crate) fn look<C: Connection, F: Fabric<Body<C::Packet>>>(
        &mut self,
        now: Time,
        fabric: &F,
        hosts: &mut Hosts<C>,
    ) {
        for (number, watch) in (0..).zip(&mut self.watches) {
            if watch.finds_at == now {
                // It finds it in this instant. The network may have counted it already.
                continue;
            }
            let from = watch.silent_until.max(now);
            let finds_at = fabric.next_corrupted(watch.of.port.into(), from);
            if finds_at != watch.finds_at {
                watch.finds_at = finds_at;
                if finds_at != Time::NEVER {
                    hosts.expect_error(finds_at, number);
                }
            }
        }
    }

    /// The far end of port number `number` of those watched finds an error now, unless its time has
    /// moved.
    pub(crate) fn find_error<C: Connection>(
        &mut self,
        now: Time,
        number: u32,
        hosts: &mut Hosts<C>,
    ) {
        let watch = &mut self.watches[number as usize];
        if watch.finds_at != now {
            return;
        }
        (watch.finds_at, watch.silent_until) = (Time::NEVER, now + SILENCE_OF_SIGNALS);
        for (hearer, back) in &watch.of.hearers {
            #[expect(clippy::cast_possible_truncation, reason = "memory is full before")]
            let number = self.sent.len() as u32;
            let signal = Signal { at: now + *back, hearer: *hearer, news: News::Corruption };
            hosts.expect_signal(signal.at, number);
            self.sent.push(signal);
        }
    }
}
