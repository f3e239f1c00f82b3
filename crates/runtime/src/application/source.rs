//! A source with its own rate: constant, or in bursts (the OnOff application of ns-2 and ns-3).
//!
//! Times and amounts of writes depend only on the scenario and the random stream, never on TCP.
//! Data that TCP cannot send yet waits, so that the offered load is the same for every controller.
//! The connection stays open during pauses.

use std::collections::VecDeque;

use link::{Purpose, Seed};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use scenario::model::{Distribution, OnOff};
use units::{Bytes, Rate, Span, Time};

use super::{Context, Pair};

/// A byte at one bit per second, in nanoseconds: the unit in which bursts are counted exactly.
const BYTE: u128 = 8_000_000_000;

/// A source.
#[derive(Clone, Debug)]
pub(super) struct Source {
    rate: Rate,
    /// Bytes of each write.
    message: u64,
    /// How long bursts and silences are; `None` is one burst without end.
    lengths: Option<Lengths>,
    pair: Option<Pair>,
    burst: Burst,
    /// Bytes written in all.
    offered: u64,
    /// Bursts in flight, each with its start and the stream offset of its end.
    underway: VecDeque<(Time, u64)>,
    arrived: u64,
    time_of_arrived: Span,
    /// Once it has stopped, the bytes that still arrive.
    last: Option<u64>,
}

/// The present burst, or the one before the present silence.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    start: Time,
    /// Bytes to write.
    bytes: u64,
    /// Bytes written.
    written: u64,
    /// When the one after it starts.
    next: Time,
    /// Parts of a byte in [`BYTE`]ths: from the bursts before it, and from this one.
    carried: [u64; 2],
}

impl Burst {
    /// A burst from `start` on that lasts `on`, with a silence of `off` after it.
    fn new(start: Time, (on, off): (Span, Span), rate: Rate, carried: u64) -> Self {
        let amount = u128::from(rate.bits_per_second()) * u128::from(on.as_nanos());
        let amount = amount + u128::from(carried);
        Self {
            start,
            bytes: saturated(amount / BYTE),
            written: 0,
            next: start + on + off,
            carried: [carried, (amount % BYTE) as u64],
        }
    }

    /// A burst that never ends.
    fn endless(start: Time) -> Self {
        Self { start, bytes: u64::MAX, next: Time::NEVER, ..Self::default() }
    }

    fn is_written(&self) -> bool {
        self.written == self.bytes
    }

    /// When there is something to do next, if it is written at `rate`.
    fn due(&self, rate: Rate) -> Time {
        if self.is_written() {
            return self.next;
        }
        let wanted = (u128::from(self.written) * BYTE).saturating_sub(self.carried[0].into());
        self.start + Span::from_nanos(saturated(wanted / u128::from(rate.bits_per_second())))
    }
}

fn saturated(value: u128) -> u64 {
    value.try_into().unwrap_or(u64::MAX)
}

/// The lengths of bursts and silences, in turns.
#[derive(Clone, Debug)]
struct Lengths {
    pattern: OnOff,
    rng: Xoshiro256PlusPlus,
}

impl Lengths {
    /// The next burst and the silence after it.
    fn next(&mut self) -> (Span, Span) {
        (self.draw(self.pattern.on), self.draw(self.pattern.off))
    }

    fn draw(&mut self, mean: Span) -> Span {
        let seconds = mean.as_secs_f64();
        match self.pattern.distribution {
            Distribution::Constant => mean,
            Distribution::Exponential => {
                Span::from_secs_f64(-seconds * libm::log(self.above_zero()))
            }
            Distribution::Pareto { shape } => {
                let smallest = seconds * (shape - 1.0) / shape;
                Span::from_secs_f64(smallest * libm::pow(self.above_zero(), -1.0 / shape))
            }
        }
    }

    /// Uniform, above 0 and up to 1.
    fn above_zero(&mut self) -> f64 {
        ((self.rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

impl Source {
    /// Writes `message` bytes at a time.
    pub(super) fn constant(rate: Rate, message: Bytes) -> Self {
        Self {
            rate,
            message: message.get(),
            lengths: None,
            pair: None,
            burst: Burst::default(),
            offered: 0,
            underway: VecDeque::new(),
            arrived: 0,
            time_of_arrived: Span::ZERO,
            last: None,
        }
    }

    /// The same in bursts, by the random stream of flow number `flow`.
    pub(super) fn on_off(
        rate: Rate,
        message: Bytes,
        pattern: OnOff,
        flow: usize,
        seed: &Seed,
    ) -> Self {
        let rng = seed.stream(Purpose::Application, flow as u64);
        Self { lengths: Some(Lengths { pattern, rng }), ..Self::constant(rate, message) }
    }

    /// Bytes written in all.
    pub(super) fn offered(&self) -> u64 {
        self.offered
    }

    /// Mean time from the start of a burst to the arrival of its last byte.
    pub(super) fn burst_completion_s(&self) -> Option<f64> {
        (self.arrived > 0).then(|| self.time_of_arrived.as_secs_f64() / self.arrived as f64)
    }

    /// It is time to write, at the start of a burst or within it.
    pub(super) fn on_timer(&mut self, context: &mut Context<'_>) {
        let pair = match self.pair {
            Some(pair) => pair,
            None => {
                self.burst.next = context.now;
                *self.pair.insert(context.open())
            }
        };
        if self.burst.is_written() {
            self.start_burst(context, pair);
        }
        let piece = self.message.min(self.burst.bytes - self.burst.written);
        // A burst may be shorter than a byte.
        if piece > 0 {
            self.burst.written += piece;
            self.offered += piece;
            context.connections.write(pair.sender, piece);
        }
        context.connections.wake_application(self.burst.due(self.rate));
    }

    /// Starts a burst at the time that was drawn for it, which a real clock has passed already.
    fn start_burst(&mut self, context: &mut Context<'_>, pair: Pair) {
        let Burst { next: start, carried: [_, carried], .. } = self.burst;
        let Some(lengths) = &mut self.lengths else {
            self.burst = Burst::endless(start);
            return;
        };
        self.burst = Burst::new(start, lengths.next(), self.rate, carried);
        if self.burst.bytes > 0 {
            self.underway.push_back((start, self.offered.saturating_add(self.burst.bytes)));
            self.watch(context, pair);
        }
    }

    /// Requests a notification at the end of the next burst, and of all when it has stopped.
    fn watch(&self, context: &mut Context<'_>, pair: Pair) {
        let burst = self.underway.front().map_or(u64::MAX, |(_, end)| *end);
        context.connections.wake_at(pair.receiver, burst.min(self.last.unwrap_or(u64::MAX)));
    }

    /// Returns whether everything has arrived that was to arrive.
    pub(super) fn on_received(&mut self, context: &mut Context<'_>) -> bool {
        let Some(pair) = self.pair else { return false };
        let received = context.connections.delivered(pair.receiver);
        while let Some(&(start, end)) = self.underway.front()
            && end <= received
        {
            self.underway.pop_front();
            self.arrived += 1;
            self.time_of_arrived = self.time_of_arrived + context.now.since(start);
        }
        let is_done = self.last.is_some_and(|last| received >= last);
        if is_done {
            context.connections.close(pair.receiver);
            context.connections.wake_at(pair.receiver, u64::MAX);
        } else {
            self.watch(context, pair);
        }
        is_done
    }

    /// Stops writing, and takes back waiting data. The source has no amount to transfer, so that it
    /// counts as complete. Returns true if all sent data has arrived.
    pub(super) fn stop(&mut self, context: &mut Context<'_>) -> bool {
        let Some(pair) = self.pair else { return true };
        self.last = Some(context.connections.withdraw(pair.sender));
        context.connections.close(pair.sender);
        self.on_received(context)
    }
}

#[cfg(test)]
mod tests;
