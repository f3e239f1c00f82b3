//! Rates that connections share: those of a side, or those of a subnet, over all threads.
//!
//! The bucket is that of the simulator (`middlebox::Bucket`). Here it holds bytes back before they
//! are read from their source, because the daemon does not see packets. So what waits is in the
//! receive buffer of the source, whose sender slows down.
//!
//! A turn is what a millisecond brings, and at least a packet: the turns of the simulator, of one
//! packet each, would cost a thousand times as many calls at high rates. A connection takes the
//! tokens of a turn out of the bucket before it moves bytes, and puts back what it did not use. So
//! all threads together never exceed the rate.
//!
//! Connections of all threads wait in one line. The thread of the first one has a timer. The
//! thread that gives the line another first connection wakes its thread.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use middlebox::{Bucket, BucketSettings};
use units::{Bytes, Span, Time};

use crate::config::{Config, RateOptions, SideName};
use crate::connection::Leg;
use crate::prefix::Prefix;
use crate::slab::Key;
use crate::sockets::TcpInfo;

/// The longest packet of most links.
const PACKET: u64 = 1500;
/// A turn: what the rate brings in a thousandth of a second, and at most one read.
const TURNS_PER_SECOND: u64 = 1000;
const LONGEST_TURN: u64 = crate::connection::CHUNK as u64;
/// The least that a socket may hold unsent, if nothing is set. It may hold two turns.
const LEAST_UNSENT: u64 = 16 * 1024;
const TCP_HEADER: u64 = 20;
const TIMESTAMPS: u64 = 12;

impl RateOptions {
    /// The bucket, if there is one.
    fn settings(&self) -> Option<BucketSettings> {
        let rate = self.rate?;
        let turn = rate.bits_per_second() / 8 / TURNS_PER_SECOND;
        let turn = Bytes(turn.clamp(PACKET, LONGEST_TURN));
        let usual = || BucketSettings::usual_burst(rate, Bytes(PACKET)).max(turn);
        let burst = self.burst.unwrap_or_else(usual);
        Some(BucketSettings { rate, burst, packet: turn.min(burst) })
    }

    /// The most that a socket may hold unsent if its connection has a rate. What a blocked
    /// connection had in its send buffer would leave beyond the rate later.
    pub(crate) fn unsent(&self) -> Option<Bytes> {
        let turn = self.settings()?.packet.get();
        Some(Bytes((2 * turn).max(LEAST_UNSENT)))
    }
}

/// Whose rate it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Side(SideName),
    Subnet(Prefix),
}

/// The rates of a configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rates(Vec<(Owner, Arc<SharedRate>)>);

impl Rates {
    /// Those of the sides and subnets of a configuration, with full buckets.
    pub(crate) fn new(config: &Config) -> Self {
        let sides = SideName::ALL.map(|side| (Owner::Side(side), &config.side(side).tcp.shared));
        let subnets = config.subnets.iter().map(|(at, tcp)| (Owner::Subnet(*at), &tcp.shared));
        let all = sides.into_iter().chain(subnets);
        let rate = |settings| Arc::new(SharedRate::new(settings));
        Self(all.filter_map(|(of, options)| Some((of, rate(options.settings()?)))).collect())
    }

    /// Goes on with the buckets of `before`, whose settings become those of this configuration.
    pub(crate) fn take_over(&mut self, now: Time, before: &Self) {
        for (of, rate) in &mut self.0 {
            if let Some((_, old)) = before.0.iter().find(|(other, _)| other == of) {
                let settings = rate.state().bucket.settings();
                old.state().change(now, settings);
                *rate = Arc::clone(old);
            }
        }
    }

    /// That of a subnet, or else that of a side.
    pub(crate) fn of(&self, subnet: Option<Prefix>, side: SideName) -> Option<&Arc<SharedRate>> {
        let find = |of: Owner| self.0.iter().find(|(other, _)| *other == of).map(|(_, rate)| rate);
        subnet.and_then(|prefix| find(Owner::Subnet(prefix))).or_else(|| find(Owner::Side(side)))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<SharedRate>> {
        self.0.iter().map(|(_, rate)| rate)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A direction of a connection that waits.
#[derive(Clone, Debug)]
struct Waiting {
    /// Descriptor that wakes its thread.
    thread: Arc<OwnedFd>,
    key: Key,
    from: Leg,
    since: Time,
}

/// A turn of the connection `key`, for bytes that come from the leg `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) key: Key,
    pub(crate) from: Leg,
    /// Tokens, which were taken out of the bucket.
    pub(crate) tokens: u64,
    pub(crate) waited: Span,
}

/// Next action of a thread for a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Turn(Turn),
    /// It looks again after this time.
    After(Span),
    /// None of its connections is the first that waits.
    Nothing,
}

/// A rate that connections of all threads share.
#[derive(Debug)]
pub(crate) struct SharedRate(Mutex<State>);

#[derive(Debug)]
struct State {
    bucket: Bucket<Waiting>,
    /// Threads read the clock before they have the lock, so that their times may change places.
    latest: Time,
}

impl State {
    fn at(&mut self, now: Time) -> Time {
        self.latest = self.latest.max(now);
        self.latest
    }

    fn change(&mut self, now: Time, settings: BucketSettings) {
        let now = self.at(now);
        self.bucket.change(now, settings);
    }

    /// The thread of the first connection, if it is not `own`.
    fn other_thread(&self, own: &Arc<OwnedFd>) -> Option<Arc<OwnedFd>> {
        let first = &self.bucket.first()?.thread;
        (!Arc::ptr_eq(first, own)).then(|| Arc::clone(first))
    }
}

/// Wakes a thread. It must not be called under the lock, which that thread needs.
fn wake(thread: Option<Arc<OwnedFd>>) {
    if let Some(thread) = thread {
        let _ = rustix::io::write(&*thread, &1_u64.to_ne_bytes()); // it is awake already
    }
}

impl SharedRate {
    fn new(settings: BucketSettings) -> Self {
        Self(Mutex::new(State { bucket: Bucket::new(settings), latest: Time::ZERO }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tokens of a turn for a connection that does not wait, or `None` if it has to.
    pub(crate) fn open(&self, now: Time) -> Option<u64> {
        let mut state = self.state();
        let now = state.at(now);
        let turn = state.bucket.settings().packet.get();
        state.bucket.is_open(now).then(|| {
            state.bucket.spend(turn);
            turn
        })
    }

    /// Puts tokens back that were not used, by a connection of the thread `own`.
    pub(crate) fn put_back(&self, tokens: u64, own: &Arc<OwnedFd>) {
        if tokens > 0 {
            let mut state = self.state();
            state.bucket.put_back(tokens);
            let other = state.other_thread(own);
            drop(state);
            wake(other);
        }
    }

    /// A connection of the thread `own` goes to the end of the line.
    pub(crate) fn join(&self, now: Time, own: &Arc<OwnedFd>, key: Key, from: Leg) {
        let mut state = self.state();
        let since = state.at(now);
        state.bucket.join(Waiting { thread: Arc::clone(own), key, from, since });
    }

    /// The next turn of a connection of the thread `own`.
    pub(crate) fn next(&self, now: Time, own: &Arc<OwnedFd>) -> Next {
        let mut state = self.state();
        let now = state.at(now);
        if state.bucket.first().is_none_or(|first| !Arc::ptr_eq(&first.thread, own)) {
            return Next::Nothing;
        }
        let Some(Waiting { key, from, since, .. }) = state.bucket.take_first(now) else {
            return Next::After(state.bucket.ready_at().since(now));
        };
        let tokens = state.bucket.settings().packet.get();
        state.bucket.spend(tokens);
        let other = state.other_thread(own);
        drop(state);
        wake(other);
        Next::Turn(Turn { key, from, tokens, waited: now.since(since) })
    }

    /// The thread `own` ends: none of its connections waits any more.
    pub(crate) fn leave(&self, own: &Arc<OwnedFd>) {
        let mut state = self.state();
        state.bucket.retain(|waiting| !Arc::ptr_eq(&waiting.thread, own));
        let other = state.other_thread(own);
        drop(state);
        wake(other);
    }
}

/// Packets of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Framing {
    /// Data of a full packet.
    payload: u64,
    header: u64,
}

impl Framing {
    /// Those of a connection with this state.
    pub(crate) fn of(info: &TcpInfo, is_v4: bool) -> Self {
        let options = if info.has_timestamps { TIMESTAMPS } else { 0 };
        let header = if is_v4 { 20 } else { 40 } + TCP_HEADER + options;
        Self { payload: u64::from(info.mss.max(1)), header }
    }

    /// Tokens that `bytes` take.
    pub(crate) fn cost(self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(self.payload) * self.header
    }

    /// Bytes that `tokens` allow: full packets, or a part of one.
    pub(crate) fn fits(self, tokens: u64) -> u64 {
        match tokens / (self.payload + self.header) {
            0 => tokens.saturating_sub(self.header),
            packets => packets * self.payload,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rustix::event::{EventfdFlags, eventfd};
    use units::Rate;

    use super::*;

    fn thread() -> Arc<OwnedFd> {
        Arc::new(eventfd(0, EventfdFlags::NONBLOCK).unwrap())
    }

    fn was_woken(thread: &Arc<OwnedFd>) -> bool {
        rustix::io::read(&**thread, &mut [0; 8]).is_ok()
    }

    fn key(index: u32) -> Key {
        Key { index, generation: 0 }
    }

    fn micros(micros: u64) -> Time {
        Time::from_nanos(1000 * micros)
    }

    /// 1 byte takes a microsecond; a turn has 1500.
    fn rate(burst: u64) -> SharedRate {
        let rate = Some(Rate::from_bits_per_second(8_000_000));
        let options = RateOptions { rate, burst: Some(Bytes(burst)) };
        SharedRate::new(options.settings().unwrap())
    }

    #[test]
    fn a_turn_is_a_millisecond_but_not_less_than_a_packet_or_more_than_the_bucket() {
        let of = |bits, burst: Option<u64>| {
            let rate = Some(Rate::from_bits_per_second(bits));
            let settings = RateOptions { rate, burst: burst.map(Bytes) }.settings().unwrap();
            (settings.packet.get(), settings.burst.get())
        };
        assert_eq!(of(1_000_000, None), (1500, 7500));
        assert_eq!(of(80_000_000, None), (10_000, 500_000));
        assert_eq!(of(100_000_000_000, None), (65_536, 625_000_000));
        assert_eq!(of(80_000_000, Some(3000)), (3000, 3000));
        assert_eq!(RateOptions::default().settings(), None);
    }

    #[test]
    fn connections_of_two_threads_have_turns_in_one_line() {
        let (one, other, rate) = (thread(), thread(), rate(1500));
        assert_eq!(rate.open(micros(0)), Some(1500));
        assert_eq!(rate.open(micros(0)), None);
        rate.join(micros(0), &one, key(1), Leg::Client);
        rate.join(micros(100), &other, key(2), Leg::Server);
        assert_eq!(rate.next(micros(1000), &other), Next::Nothing);
        assert_eq!(rate.next(micros(1000), &one), Next::After(Span::from_nanos(500_000)));
        let waited = Span::from_nanos(1_500_000);
        let turn = Turn { key: key(1), from: Leg::Client, tokens: 1500, waited };
        assert!(!was_woken(&other));
        assert_eq!(rate.next(micros(1500), &one), Next::Turn(turn));
        assert!(was_woken(&other) && !was_woken(&one), "the next one is the first now");
        rate.put_back(1400, &one);
        assert!(was_woken(&other), "its turn is earlier now");
        // A time that was read before that of the last call counts nothing twice.
        assert_eq!(rate.next(micros(1000), &other), Next::After(Span::from_nanos(100_000)));
        assert!(matches!(
            rate.next(micros(1600), &other),
            Next::Turn(Turn { from: Leg::Server, .. })
        ));
        assert_eq!(rate.open(micros(3000)), None);
        assert_eq!(rate.open(micros(3100)), Some(1500));
    }

    #[test]
    fn a_thread_that_ends_leaves_nobody_behind_who_blocks_others() {
        let (one, other, rate) = (thread(), thread(), rate(1500));
        rate.join(micros(0), &one, key(1), Leg::Client);
        rate.join(micros(0), &other, key(2), Leg::Client);
        rate.leave(&one);
        assert!(was_woken(&other));
        assert!(matches!(rate.next(micros(0), &other), Next::Turn(Turn { tokens: 1500, .. })));
        assert_eq!(rate.next(micros(9000), &other), Next::Nothing);
    }

    proptest! {
        #[test]
        fn what_fits_never_costs_more(
            tokens in 0..200_000_u64,
            mss in 1..70_000_u32,
            has_timestamps: bool,
            is_v4: bool,
        ) {
            let framing = Framing::of(&TcpInfo { mss, has_timestamps, ..TcpInfo::default() }, is_v4);
            let bytes = framing.fits(tokens);
            prop_assert!(bytes == 0 || framing.cost(bytes) <= tokens);
            prop_assert!(bytes > 0 || tokens <= 72);
        }
    }
}
