//! Two ends of any protocol with a scripted network between them, in virtual time: what the tests
//! of protocols share. They include this file, so that each of them can say what its packets are.

use std::collections::BTreeMap;

use proptest::prelude::*;
use transport::Endpoint;
use units::{Span, Time};

/// The end that opens the connection.
pub const A: usize = 0;
/// The end that listens.
pub const B: usize = 1;

pub fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

pub fn at(millis: u64) -> Time {
    Time::ZERO + ms(millis)
}

/// A packet of the protocol under test.
pub trait Typed: Clone {
    type Kind: Copy + PartialEq;

    fn kind(&self) -> Self::Kind;
    /// Number that distinguishes its data from that of other packets.
    fn number(&self) -> u64;
    /// Bytes of data.
    fn payload(&self) -> u16;
}

/// An end of the protocol under test.
pub trait Tested: Endpoint<Packet: Typed> {
    /// How many packets of the type of this one it has sent.
    fn count(&self, packet: &Self::Packet) -> u64;
    /// Bytes of its stream that the other end has acknowledged in order.
    fn acknowledged(&self) -> u64;
    /// Bytes that were sent and are neither acknowledged nor lost.
    fn flight(&self) -> u64;
}

/// A packet as it was put on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Sent<P> {
    pub at: Time,
    /// `A` or `B`.
    pub by: usize,
    /// How many packets of its type this end has sent, this one included.
    pub nth: u64,
    pub packet: P,
}

impl<P: Typed> Sent<P> {
    pub fn is_of(&self, by: usize, kind: P::Kind) -> bool {
        self.by == by && self.packet.kind() == kind
    }

    pub fn is(&self, by: usize, kind: P::Kind, nth: u64) -> bool {
        self.is_of(by, kind) && self.nth == nth
    }
}

/// Treatment of a packet by the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Arrives,
    Lost,
    /// Arrives so much later than it should.
    Late(Span),
    /// Arrives, and once more so much later.
    Twice(Span),
}

type Script<P> = Box<dyn FnMut(&Sent<P>) -> Fate>;

/// Both ends and the wire between them.
pub struct Wire<E: Tested> {
    pub now: Time,
    pub ends: [E; 2],
    pub log: Vec<Sent<E::Packet>>,
    pub delay: Span,
    script: Script<E::Packet>,
    flying: BTreeMap<(Time, u64), (usize, E::Packet)>,
    serial: u64,
}

impl<E: Tested> Wire<E> {
    /// Two ends that are 250 ms apart; nothing is lost.
    pub fn of(ends: [E; 2]) -> Self {
        Self {
            now: Time::ZERO,
            ends,
            log: Vec::new(),
            delay: ms(250),
            script: Box::new(|_| Fate::Arrives),
            flying: BTreeMap::new(),
            serial: 0,
        }
    }

    #[must_use]
    pub fn scripted(mut self, script: impl FnMut(&Sent<E::Packet>) -> Fate + 'static) -> Self {
        self.script = Box::new(script);
        self
    }

    #[must_use]
    pub fn losing(self, lost: impl Fn(&Sent<E::Packet>) -> bool + 'static) -> Self {
        self.scripted(move |sent| if lost(sent) { Fate::Lost } else { Fate::Arrives })
    }

    /// `B` listens and `A` connects.
    #[must_use]
    pub fn open(mut self) -> Self {
        self.ends[B].listen();
        self.ends[A].connect();
        self.flush();
        self
    }

    pub fn write(&mut self, end: usize, bytes: u64) {
        self.ends[end].write(bytes);
        self.flush();
    }

    pub fn read(&mut self, end: usize, bytes: u64) {
        self.ends[end].read(bytes);
        self.flush();
    }

    pub fn close(&mut self, end: usize) {
        self.ends[end].close();
        self.flush();
    }

    /// Sends whatever the ends have to send.
    pub fn flush(&mut self) {
        for by in [A, B] {
            while let Some(packet) = self.ends[by].next_packet(self.now) {
                self.send(by, packet);
            }
        }
    }

    fn send(&mut self, by: usize, packet: E::Packet) {
        let nth = self.ends[by].count(&packet);
        let sent = Sent { at: self.now, by, nth, packet: packet.clone() };
        let fate = (self.script)(&sent);
        self.log.push(sent);
        let due = self.now + self.delay;
        match fate {
            Fate::Arrives => self.fly(due, 1 - by, packet),
            Fate::Lost => {}
            Fate::Late(later) => self.fly(due + later, 1 - by, packet),
            Fate::Twice(later) => {
                self.fly(due, 1 - by, packet.clone());
                self.fly(due + later, 1 - by, packet);
            }
        }
    }

    fn fly(&mut self, due: Time, to: usize, packet: E::Packet) {
        self.serial += 1;
        self.flying.insert((due, self.serial), (to, packet));
    }

    /// Lets the next thing happen. Returns whether there was one before `limit`.
    pub fn step(&mut self, limit: Time) -> bool {
        let arrival = self.flying.keys().next().map_or(Time::NEVER, |key| key.0);
        let next = arrival.min(self.ends[A].deadline()).min(self.ends[B].deadline());
        if next > limit || next == Time::NEVER {
            return false;
        }
        // A packet that the rate kept back may have left when another one arrived.
        let next = next.max(self.now);
        self.now = next;
        if arrival <= next {
            let (_, (to, packet)) = self.flying.pop_first().unwrap();
            self.ends[to].on_packet(next, &packet);
        } else {
            for end in &mut self.ends {
                if end.deadline() <= next {
                    end.on_deadline(next);
                    assert!(end.deadline() > next, "a deadline stands still");
                }
            }
        }
        self.flush();
        true
    }

    /// Runs until `time`.
    pub fn run_until(&mut self, time: Time) {
        while self.step(time) {}
        self.now = time;
    }

    /// Runs until nothing happens any more, but for one hour at most.
    pub fn run(&mut self) {
        while self.step(Time::ZERO + Span::from_secs(3600)) {}
    }

    pub fn sent(
        &self,
        by: usize,
        kind: <E::Packet as Typed>::Kind,
    ) -> impl Iterator<Item = &Sent<E::Packet>> {
        self.log.iter().filter(move |sent| sent.is_of(by, kind))
    }

    /// The milliseconds at which `by` has sent packets of a type.
    pub fn times(&self, by: usize, kind: <E::Packet as Typed>::Kind) -> Vec<u64> {
        self.sent(by, kind).map(|sent| sent.at.as_nanos() / 1_000_000).collect()
    }

    /// Asserts that the counters of `end` are what was on the wire.
    pub fn check_counters(&self, end: usize) {
        let counters = self.ends[end].counters();
        let sent = self.log.iter().filter(|sent| sent.by == end && sent.packet.payload() > 0);
        let data: Vec<_> = sent.map(|sent| &sent.packet).collect();
        let bytes: u64 = data.iter().map(|packet| u64::from(packet.payload())).sum();
        assert_eq!((counters.segments, counters.bytes), (data.len() as u64, bytes));
        let mut numbers: Vec<_> = data.iter().map(|packet| packet.number()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(counters.retransmissions, (data.len() - numbers.len()) as u64);
    }
}

/// The application at one end.
#[derive(Clone, Debug)]
pub struct Application {
    pub writes: Vec<u64>,
    /// Bytes that a slow reader takes at each event.
    pub reads: u64,
    /// Bytes that may be in flight to the other end.
    pub most_in_flight: u64,
}

impl Application {
    pub fn bytes(&self) -> u64 {
        self.writes.iter().sum()
    }
}

/// Runs until nothing happens any more; the applications write one piece after the other and then
/// close.
pub fn transfer<E: Tested>(wire: Wire<E>, applications: [&Application; 2]) -> Wire<E> {
    let mut wire = wire.open();
    let mut next = [0, 0];
    let limit = Time::ZERO + Span::from_secs(50_000);
    let mut steps = 0;
    loop {
        steps += 1;
        assert!(steps < 500_000, "nothing comes to an end");
        // A slow reader comes back after 20 ms at the latest.
        let unread = wire.ends.iter().any(|end| end.unread() > 0);
        let until = if unread { wire.now + ms(20) } else { limit };
        let moved = wire.step(until);
        if unread && !moved {
            wire.now = until;
        }
        let mut acted = false;
        for end in [A, B] {
            let application = applications[end];
            acted |= act(&mut wire, application, end, &mut next[end]);
            assert!(wire.ends[end].acknowledged() <= application.bytes());
            assert!(wire.ends[1 - end].delivered() <= application.bytes());
            assert!(wire.ends[end].flight() <= application.most_in_flight, "beyond the credit");
        }
        if !moved && !acted {
            return wire;
        }
    }
}

/// The application at `end` reads, and writes its next piece when half of the others have arrived.
/// Returns whether it did anything.
fn act<E: Tested>(
    wire: &mut Wire<E>,
    application: &Application,
    end: usize,
    next: &mut usize,
) -> bool {
    let reads = wire.ends[end].unread() > 0;
    if reads {
        wire.read(end, application.reads);
    }
    let writes = &application.writes;
    let written: u64 = writes[..(*next).min(writes.len())].iter().sum();
    if wire.ends[end].acknowledged() < written / 2 && wire.ends[end].abort_cause().is_none() {
        return reads;
    }
    match writes.get(*next) {
        Some(bytes) => wire.write(end, *bytes),
        None if *next == writes.len() => wire.close(end),
        None => return reads,
    }
    *next += 1;
    true
}

pub fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        6 => Just(Fate::Arrives),
        2 => Just(Fate::Lost),
        1 => (1u64..400).prop_map(|late| Fate::Late(ms(late))),
        1 => (0u64..4000).prop_map(|later| Fate::Twice(ms(later))),
    ];
    prop::collection::vec(fate, 0..150)
}

/// For the first packets what `fates` say; after them all is well.
pub fn by_list<P>(fates: Vec<Fate>) -> impl FnMut(&Sent<P>) -> Fate {
    let mut fates = fates.into_iter();
    move |_| fates.next().unwrap_or(Fate::Arrives)
}

/// Each packet is lost with `percent`, by a fixed hash.
pub fn by_chance<P>(seed: u64, percent: u64) -> impl FnMut(&Sent<P>) -> Fate {
    let mut state = seed;
    move |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if (state >> 33) % 100 < percent { Fate::Lost } else { Fate::Arrives }
    }
}
