//! Two connections with a scripted network between them, in virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;

use congestion::Specification;
use tcp::{Config, Connection, Flags, Segment, State};
use transport::Endpoint;
use units::{Bytes, Span, Time};

pub const MSS: u64 = 1000;

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

/// The defaults of the scenario language, with segments of 1000 bytes and no window scaling.
pub fn config() -> Config {
    Config {
        mss: MSS as u32,
        receive_buffer: Bytes(65_535),
        window_scaling: false,
        timestamps: false,
        ..Config::default()
    }
}

pub fn connection(config: &Config, initial_sequence: u32) -> Connection {
    let controller = Specification::named("newreno").unwrap().build(&config.controller());
    Connection::new(Arc::new(config.clone()), controller, initial_sequence)
}

/// A segment as it was put on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Time,
    /// `A` or `B`.
    pub by: usize,
    /// How many segments of its kind (SYN, data, FIN without data, bare ACK) this end has sent,
    /// this one included.
    pub nth: usize,
    pub segment: Segment,
}

impl Sent {
    pub fn is_syn(&self) -> bool {
        self.segment.flags.contains(Flags::SYN)
    }

    pub fn is_fin(&self) -> bool {
        self.segment.flags.contains(Flags::FIN)
    }

    pub fn is_data(&self) -> bool {
        self.segment.payload > 0
    }

    pub fn is_bare_ack(&self) -> bool {
        !self.is_syn() && !self.is_fin() && !self.is_data()
    }

    fn kind(&self) -> usize {
        match (self.is_syn(), self.is_data(), self.is_fin()) {
            (true, ..) => 0,
            (_, true, _) => 1,
            (.., true) => 2,
            _ => 3,
        }
    }
}

/// Treatment of a segment by the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Arrives,
    Lost,
    /// Arrives with the mark of a router that meets congestion.
    Marked,
    /// Arrives so much later than it should.
    Late(Span),
    /// Arrives, and once more so much later.
    Twice(Span),
}

type Script = Box<dyn FnMut(&Sent) -> Fate>;

/// Both ends and the wire between them.
pub struct Wire {
    pub now: Time,
    pub ends: [Connection; 2],
    pub log: Vec<Sent>,
    delay: Span,
    script: Script,
    /// Where each segment goes, and whether it is marked.
    flying: BTreeMap<(Time, u64), (usize, Segment, bool)>,
    counts: [[usize; 4]; 2],
    serial: u64,
}

impl Wire {
    /// Two ends of the same configuration, 50 ms apart; nothing is lost.
    pub fn new(config: &Config) -> Self {
        Self::between(config, config)
    }

    pub fn between(a: &Config, b: &Config) -> Self {
        Self::of([connection(a, 1_000), connection(b, 2_000_000)])
    }

    pub fn of(ends: [Connection; 2]) -> Self {
        Self {
            now: Time::ZERO,
            ends,
            log: Vec::new(),
            delay: ms(50),
            script: Box::new(|_| Fate::Arrives),
            flying: BTreeMap::new(),
            counts: [[0; 4]; 2],
            serial: 0,
        }
    }

    #[must_use]
    pub fn scripted(mut self, script: impl FnMut(&Sent) -> Fate + 'static) -> Self {
        self.script = Box::new(script);
        self
    }

    /// The same ends, so far apart.
    #[must_use]
    pub fn delayed(self, delay: Span) -> Self {
        Self { delay, ..self }
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

    /// An open connection over which both ends know each other, with no segment on its way.
    pub fn established(config: &Config) -> Self {
        let mut wire = Self::new(config).open();
        wire.run_for(ms(150));
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
            while let Some(segment) = self.ends[by].next_packet(self.now) {
                self.send(by, segment);
            }
            while let Some(segment) = self.ends[by].next_of_low_priority(self.now) {
                self.send(by, segment);
            }
        }
    }

    fn send(&mut self, by: usize, segment: Segment) {
        let mut sent = Sent { at: self.now, by, nth: 0, segment };
        let count = &mut self.counts[by][sent.kind()];
        *count += 1;
        sent.nth = *count;
        self.log.push(sent);
        let due = self.now + self.delay;
        match (self.script)(&sent) {
            Fate::Arrives => self.fly(due, 1 - by, segment, false),
            Fate::Lost => {}
            Fate::Marked => self.fly(due, 1 - by, segment, true),
            Fate::Late(by_how_much) => self.fly(due + by_how_much, 1 - by, segment, false),
            Fate::Twice(later) => {
                self.fly(due, 1 - by, segment, false);
                self.fly(due + later, 1 - by, segment, false);
            }
        }
    }

    fn fly(&mut self, due: Time, to: usize, segment: Segment, marked: bool) {
        self.serial += 1;
        self.flying.insert((due, self.serial), (to, segment, marked));
    }

    fn next_event(&self) -> Time {
        let arrival = self.flying.keys().next().map_or(Time::NEVER, |key| key.0);
        arrival.min(self.ends[A].deadline()).min(self.ends[B].deadline())
    }

    /// Lets the next thing happen. Returns whether there was one before `limit`.
    pub fn step(&mut self, limit: Time) -> bool {
        let next = self.next_event();
        if next > limit || next == Time::NEVER {
            return false;
        }
        assert!(next >= self.now, "time runs back from {} to {next}", self.now);
        self.now = next;
        if self.flying.keys().next().is_some_and(|key| key.0 == next) {
            let (_, (to, segment, marked)) = self.flying.pop_first().unwrap();
            if marked {
                self.ends[to].on_marked_segment(next, &segment);
            } else {
                self.ends[to].on_segment(next, &segment);
            }
        } else {
            for end in &mut self.ends {
                if end.deadline() <= next {
                    end.on_deadline(next);
                    assert!(
                        end.deadline() > next || end.abort_cause().is_some(),
                        "a deadline stands still"
                    );
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

    pub fn run_for(&mut self, span: Span) {
        self.run_until(self.now + span);
    }

    /// Runs until nothing happens any more, but for one hour at most.
    pub fn run(&mut self) {
        while self.step(Time::ZERO + Span::from_secs(3600)) {}
    }

    /// Segments that `by` put on the wire and `filter` lets pass, by their milliseconds.
    pub fn times(&self, by: usize, filter: impl Fn(&Sent) -> bool) -> Vec<u64> {
        self.sent(by, filter).map(|sent| sent.at.as_nanos() / 1_000_000).collect()
    }

    pub fn sent(&self, by: usize, filter: impl Fn(&Sent) -> bool) -> impl Iterator<Item = &Sent> {
        self.log.iter().filter(move |sent| sent.by == by && filter(sent))
    }

    /// Forgets what was sent so far.
    pub fn forget(&mut self) {
        self.log.clear();
    }
}
