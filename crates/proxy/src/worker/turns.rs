//! Turns of connections at the rates that they share.

use std::sync::Arc;

use units::Span;

use super::{LONGEST, Worker};
use crate::clock::time;
use crate::config::Config;
use crate::connection::Leg;
use crate::rate::{Next, SharedRate, Turn};
use crate::slab::Key;

/// Turns at a rate before other work.
const TURNS: usize = 64;

impl Worker {
    /// Gives turns to connections that wait for a rate. Returns the time until the next turn.
    pub(super) fn give_turns(&mut self) -> Span {
        let config = Arc::clone(&self.config);
        let until = config.rates.iter().map(|rate| self.give_turns_at(rate));
        until.min().unwrap_or(LONGEST).min(LONGEST)
    }

    fn give_turns_at(&mut self, rate: &Arc<SharedRate>) -> Span {
        for _ in 0..TURNS {
            match rate.next(time(self.shared.clock.now()), &self.wake) {
                Next::Nothing => return LONGEST,
                Next::After(span) => return span,
                Next::Turn(turn) => self.give_turn(rate, turn),
            }
        }
        Span::ZERO
    }

    fn give_turn(&mut self, rate: &Arc<SharedRate>, turn: Turn) {
        let side = self.connections.get_mut(turn.key).and_then(|connection| {
            let is_here = connection.has_turn(turn.from, rate, turn.tokens);
            is_here.then(|| connection.side_of(turn.from.other()))
        });
        let Some(side) = side else {
            return rate.put_back(turn.tokens, &self.wake); // it has ended
        };
        let counters = self.shared.counters.side(side);
        counters.rate_waits.one();
        counters.rate_wait_microseconds.add(turn.waited.as_nanos() / 1000);
        self.turn(turn.key, None, self.now_s());
    }

    /// A connection goes to the lines of the rates for which it has to wait.
    pub(super) fn join_lines(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        for from in Leg::BOTH {
            if let Some(rate) = connection.joins(from) {
                rate.join(time(self.shared.clock.now()), &self.wake, key, from);
            }
        }
    }

    /// Lets a connection share the rates of the configuration. Returns true if one is another one
    /// than before.
    pub(super) fn share_rates(&mut self, key: Key) -> bool {
        let Some(connection) = self.connections.get_mut(key) else { return false };
        let rates = Leg::BOTH.map(|from| {
            let to = from.other();
            let address = match to {
                Leg::Client => connection.client.ip(),
                Leg::Server => connection.server.ip(),
            };
            self.config.rate_of(connection.side_of(to), address)
        });
        connection.share(rates)
    }

    /// Uses another configuration. Rates apply to open connections too.
    pub(super) fn reload(&mut self, config: Arc<Config>) {
        self.config = config;
        let keys: Vec<_> = self.connections.iter().map(|(key, _)| key).collect();
        for key in keys {
            if self.share_rates(key) {
                self.again.push(key); // it may have waited for the other one
            }
        }
    }
}
