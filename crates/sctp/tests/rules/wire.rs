//! Two ends with scripted paths between them, in virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;

use sctp::{Config, Connection, Kind, Packet, State};
use transport::Endpoint;
use units::{Bytes, Span, Time};

use crate::oracle::Oracle;

pub const MSS: u64 = 1000;

/// The end that opens the association.
pub const A: usize = 0;
/// The end that listens.
pub const B: usize = 1;

pub fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

pub fn at(millis: u64) -> Time {
    Time::ZERO + ms(millis)
}

/// The defaults with chunks of 1000 bytes.
pub fn config() -> Config {
    Config { mss: MSS as u32, receive_buffer: Bytes(1_000_000), ..Config::default() }
}

pub fn connection(config: &Config, initial: u32) -> Connection {
    Connection::new(Arc::new(config.clone()), initial)
}

/// A packet as it was put on the wire.
#[derive(Clone, Debug)]
pub struct Sent {
    pub at: Time,
    /// `A` or `B`.
    pub by: usize,
    /// How many chunks of the type of its last chunk this end has sent, these included.
    pub nth: u64,
    pub packet: Packet,
}

impl Sent {
    /// The last chunk has this type: a SACK that goes with DATA counts as DATA.
    pub fn is_of(&self, by: usize, kind: Kind) -> bool {
        self.by == by && self.packet.chunks().last().unwrap().kind() == kind
    }

    pub fn is(&self, by: usize, kind: Kind, nth: u64) -> bool {
        self.is_of(by, kind) && self.nth == nth
    }

    /// Any chunk has this type.
    pub fn has(&self, by: usize, kind: Kind) -> bool {
        self.by == by && self.packet.has(kind)
    }

    pub fn tsns(&self) -> Vec<u32> {
        self.packet.data().map(|data| data.tsn).collect()
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

/// Both ends and the wire between them.
pub struct Wire {
    pub now: Time,
    pub ends: [Connection; 2],
    pub log: Vec<Sent>,
    /// One-way delay of each path.
    pub delays: [Span; 2],
    pub oracle: Option<[Oracle; 2]>,
    script: Box<dyn FnMut(&Sent) -> Fate>,
    flying: BTreeMap<(Time, u64), (usize, Packet)>,
    serial: u64,
}

impl Wire {
    /// Two ends of the same configuration, 250 ms apart on the first path; nothing is lost.
    pub fn new(config: &Config) -> Self {
        Self::of([connection(config, 7), connection(config, u32::MAX - 2)])
    }

    pub fn of(ends: [Connection; 2]) -> Self {
        Self {
            now: Time::ZERO,
            ends,
            log: Vec::new(),
            delays: [ms(250), ms(50)],
            oracle: None,
            script: Box::new(|_| Fate::Arrives),
            flying: BTreeMap::new(),
            serial: 0,
        }
    }

    #[must_use]
    pub fn scripted(mut self, script: impl FnMut(&Sent) -> Fate + 'static) -> Self {
        self.script = Box::new(script);
        self
    }

    #[must_use]
    pub fn losing(self, lost: impl Fn(&Sent) -> bool + 'static) -> Self {
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

    /// Open, and idle until one second has passed.
    #[must_use]
    pub fn opened(self) -> Self {
        let mut wire = self.open();
        wire.run_until(at(2000));
        assert_eq!(wire.states(), [State::Established; 2]);
        wire
    }

    pub fn states(&self) -> [State; 2] {
        [self.ends[A].state(), self.ends[B].state()]
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
            let may_send = Endpoint::may_send(&self.ends[by]);
            assert!(may_send || self.ends[by].next_packet(self.now).is_none());
        }
    }

    fn send(&mut self, by: usize, packet: Packet) {
        let kind = packet.chunks().last().unwrap().kind();
        let nth = self.ends[by].chunks().of(kind);
        assert!(packet.bytes() <= sctp::COMMON_HEADER + sctp::DATA_HEADER + 1452);
        let sent = Sent { at: self.now, by, nth, packet };
        self.log.push(sent.clone());
        let due = self.now + self.delays[usize::from(sent.packet.path)];
        let fate = (self.script)(&sent);
        let packet = sent.packet;
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

    fn fly(&mut self, due: Time, to: usize, packet: Packet) {
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
        self.now = next.max(self.now);
        if arrival <= next {
            let (_, (to, packet)) = self.flying.pop_first().unwrap();
            if let Some(oracles) = &mut self.oracle {
                oracles[to].on_packet(&self.ends[to], &packet);
            }
            self.ends[to].on_packet(self.now, &packet);
            if let Some(oracles) = &self.oracle {
                oracles[to].check(&self.ends[to]);
            }
        } else {
            for end in &mut self.ends {
                if end.deadline() <= self.now {
                    end.on_deadline(self.now);
                    assert!(end.deadline() > self.now, "a deadline stands still");
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

    pub fn sent(&self, by: usize, kind: Kind) -> impl Iterator<Item = &Sent> {
        self.log.iter().filter(move |sent| sent.has(by, kind))
    }

    /// The milliseconds at which `by` has sent packets with a chunk of a type.
    pub fn times(&self, by: usize, kind: Kind) -> Vec<u64> {
        self.sent(by, kind).map(|sent| sent.at.as_nanos() / 1_000_000).collect()
    }
}
