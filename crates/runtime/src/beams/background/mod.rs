//! Terminals in the background: groups whose traffic is a fluid.
//!
//! Their transfers have no connections, hosts and packets. The data that a window lets out goes as
//! a few trains of bytes over the same carriers, through the same queues and schedulers, and in
//! the same slots as the packets of the other terminals. So these give way, wait and take their
//! share as if all were packets. Trains in place of packets are those of J. S. Ahn and P. B.
//! Danzig, "Packet network simulation: speedup and accuracy versus timing granularity", IEEE/ACM
//! Transactions on Networking 4(5), 1996. D. M. Nicol and G. Yan, "Discrete event fluid modeling of
//! background TCP traffic", ACM TOMACS 14(3), 2004, let a background of rates meet packets in
//! queues. A rate does not have the bursts of slow start, which are what queues here consist of.
//!
//! Decisions:
//! - The links before the gateway carry nothing of the background. Its trains take their
//!   propagation delays. docs/beam.md says so.
//! - A handshake is a SYN, its answer, and an ACK with the request. None of them is
//!   retransmitted unless a full queue has dropped it.
//! - Connections are not closed: the FINs are left out.
//! - Sessions begin and end at the times that they have in a run with packets and the same seed.

mod transfer;

use std::collections::BTreeMap;
use std::sync::Arc;

use applications::sessions::Session;
use beam::forward::Forward;
use beam::returning::Returning;
use beam::{BackgroundReport, Offered};
use link::{Ecn, Seed};
use scenario::model::Background as Described;
use scenario::{Scenario, Sessions};
use tcp::Config;
use units::{Span, Time};

use super::Load;
use transfer::Transfer;

/// Bytes of the options of a SYN: maximum segment size, SACK, timestamps and window scale, padded.
const SYN_OPTIONS: u64 = 20;

/// Content of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Syn,
    SynAck,
    Request,
    /// Data, with the number of the train in its transfer.
    Data(u32),
    /// ACKs of a train of data.
    Acks(u32),
}

/// Bytes that go over the beam for a transfer in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Train {
    source: u32,
    /// The session.
    epoch: u32,
    content: Content,
    /// Bytes of data.
    data: u64,
}

/// Something that happens outside of the beam.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A session begins.
    Begin,
    /// A session begins nothing new.
    Cut(u32),
    /// A train reaches the gateway from the sender.
    Down(Train),
    /// A train reaches the sender.
    Sender(Train),
    /// A terminal sends a train.
    Up(Train),
    /// The retransmission timer of a transfer expires.
    Timeout(u32, u32),
}

/// Settings and totals of all copies of a `[[flow]]`.
#[derive(Debug)]
struct Common {
    described: Described,
    config: Arc<Config>,
    /// Bytes of headers of a packet with data, and of an ACK.
    headers: u64,
    ack: u64,
    syn: u64,
    report: BackgroundReport,
}

/// A transfer that goes on.
#[derive(Debug)]
struct Running {
    transfer: Transfer,
    begun: Time,
    answered: Time,
    /// Bytes that it has in all, and those at the terminal.
    total: u64,
    arrived: u64,
}

/// A flow of a terminal.
#[derive(Debug)]
struct Source {
    common: u32,
    terminal: u32,
    epoch: u32,
    sessions: Option<Sessions>,
    next: Option<Session>,
    running: Option<Box<Running>>,
}

/// The carriers of the beam.
type Carriers<'a, P> = (&'a mut Forward<Load<P>>, &'a mut Returning<Load<P>>);

/// The background of a beam.
#[derive(Debug)]
pub(super) struct Background {
    commons: Vec<Common>,
    sources: Vec<Source>,
    /// By time and order.
    events: BTreeMap<(Time, u64), (u32, Event)>,
    order: u64,
}

impl Background {
    /// The background of a beam in a run with `seed`; `None` if it has none.
    pub fn new(scenario: &Scenario, described: &[Described], seed: &Seed) -> Option<Self> {
        let mut all =
            Self { commons: Vec::new(), sources: Vec::new(), events: BTreeMap::new(), order: 0 };
        for (number, one) in (0..).zip(described) {
            let flow = &one.flow;
            let config = flow.transport.tcp()?.clone();
            for copy in &one.copies {
                let sessions = flow.sessions;
                let mut sessions = sessions
                    .map(|drawn| Sessions::new(drawn, seed.clone(), copy.number, copy.start));
                let next = sessions.as_mut().map(Sessions::draw);
                let begin = next.map_or(copy.start, |session| session.begin);
                let source = u32::try_from(all.sources.len()).unwrap_or(u32::MAX);
                let (common, terminal) = (number, copy.terminal);
                let running = None;
                all.sources.push(Source { common, terminal, epoch: 0, sessions, next, running });
                all.at(Time::ZERO + begin, source, Event::Begin);
            }
            all.commons.push(Common {
                headers: scenario.packet_bytes(flow) - u64::from(config.full_payload()),
                ack: scenario.ack_bytes(flow),
                syn: scenario.headers() + SYN_OPTIONS,
                report: BackgroundReport::default(),
                described: one.clone(),
                config,
            });
        }
        (!all.sources.is_empty()).then_some(all)
    }

    /// When something happens next; [`Time::NEVER`] if nothing does.
    pub fn next_event(&self) -> Time {
        self.events.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at)
    }

    /// Totals by `[[flow]]`.
    pub fn reports(&self) -> impl Iterator<Item = &BackgroundReport> {
        self.commons.iter().map(|one| &one.report)
    }

    fn at(&mut self, at: Time, source: u32, event: Event) {
        self.order += 1;
        self.events.insert((at, self.order), (source, event));
    }

    /// Lets the next thing happen.
    pub fn advance<P>(&mut self, (forward, back): Carriers<'_, P>) {
        let Some(((now, _), (source, event))) = self.events.pop_first() else { return };
        match event {
            Event::Begin => self.begin(now, source, back),
            Event::Cut(epoch) => self.cut(now, source, epoch),
            Event::Down(train) => self.enter(now, train, forward),
            Event::Up(train) => self.send_up(now, train, back),
            Event::Sender(train) => self.on_sender(now, train),
            Event::Timeout(epoch, next) => {
                let Source { common, epoch: present, running, .. } =
                    &mut self.sources[source as usize];
                let config = &self.commons[*common as usize].config;
                if let Some(running) = running.as_mut().filter(|_| *present == epoch) {
                    running.transfer.on_timeout(now, next, config);
                    self.depart(now, source);
                }
            }
        }
    }

    fn begin<P>(&mut self, now: Time, number: u32, back: &mut Returning<Load<P>>) {
        let source = &mut self.sources[number as usize];
        let common = &mut self.commons[source.common as usize];
        if common.described.flow.stop.is_some_and(|stop| now >= Time::ZERO + stop) {
            return;
        }
        source.epoch += 1;
        common.report.transfers += 1;
        let (flow, total) = (&common.described.flow, common.described.size);
        let controller = flow.controller.build(&common.config.controller());
        source.running = Some(Box::new(Running {
            transfer: Transfer::new(controller, &common.config, total),
            begun: now,
            answered: now,
            total,
            arrived: 0,
        }));
        let epoch = source.epoch;
        let stop = flow.stop.map(|stop| Time::ZERO + stop);
        let mut ends = stop;
        // One that is late keeps its length.
        if let Some(session) = source.next {
            let end = now + session.end.saturating_sub(session.begin).max(Span::from_nanos(1));
            ends = Some(ends.map_or(end, |stop| stop.min(end)));
            source.next = source.sessions.as_mut().map(Sessions::draw);
        }
        if let Some(ends) = ends {
            self.at(ends, number, Event::Cut(epoch));
        }
        let syn = Train { source: number, epoch, content: Content::Syn, data: 0 };
        self.send_up(now, syn, back);
    }

    /// The session begins nothing new.
    fn cut(&mut self, now: Time, number: u32, epoch: u32) {
        let source = &mut self.sources[number as usize];
        if source.epoch != epoch {
            return;
        }
        let Some(running) = &mut source.running else { return };
        let unsent = running.transfer.cut();
        running.total -= unsent;
        if unsent > 0 {
            self.commons[source.common as usize].report.cut += 1;
        }
        self.end(now, number);
    }

    /// Ends a session if all of its data has arrived.
    fn end(&mut self, now: Time, number: u32) {
        let source = &mut self.sources[number as usize];
        let Some(running) = source.running.take_if(|one| one.arrived >= one.total) else { return };
        let common = &mut self.commons[source.common as usize];
        common.report.bytes += running.total;
        if running.total == common.described.size {
            common.report.times.record(now.since(running.begun).as_nanos());
        }
        source.epoch += 1;
        if let Some(next) = source.next {
            self.at((Time::ZERO + next.begin).max(now), number, Event::Begin);
        }
    }

    /// The transfer of a train, if its session goes on.
    fn running(&mut self, train: Train) -> Option<(&mut Running, &Common)> {
        let source = &mut self.sources[train.source as usize];
        let common = &self.commons[source.common as usize];
        let running = source.running.as_mut().filter(|_| source.epoch == train.epoch)?;
        Some((running, common))
    }

    /// Packets of a train, their bytes, and the place of the train in queues.
    fn offered<P>(&self, train: Train) -> Offered<Load<P>> {
        let source = &self.sources[train.source as usize];
        let common = &self.commons[source.common as usize];
        let mss = u64::from(common.config.full_payload());
        let (packets, bytes) = match train.content {
            Content::Syn | Content::SynAck => (1, common.syn),
            Content::Request => {
                let packets = 1 + common.described.request.div_ceil(mss);
                (packets, packets * common.headers.max(common.ack) + common.described.request)
            }
            Content::Data(_) => {
                let packets = train.data.div_ceil(mss);
                (packets, packets * common.headers + train.data)
            }
            Content::Acks(_) => {
                let packets = train.data.div_ceil(mss).div_ceil(2);
                (packets, packets * common.ack)
            }
        };
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Offered {
            terminal: source.terminal,
            class: common.described.class,
            flow: common.described.copies.first().map_or(0, |one| one.number),
            bytes: narrow(bytes),
            packets: narrow(packets),
            ecn: Ecn::NotCapable,
            packet: Load::Train(train),
        }
    }

    /// The initial retransmission timeout of a transfer.
    fn initial_timeout(&self, source: u32) -> Span {
        let common = self.sources[source as usize].common;
        self.commons[common as usize].config.rto.initial
    }

    /// A terminal sends a train.
    fn send_up<P>(&mut self, now: Time, train: Train, back: &mut Returning<Load<P>>) {
        let offered = self.offered(train);
        let is_ack = matches!(train.content, Content::Acks(_));
        if !is_ack && !back.has_room(offered.terminal, offered.class, offered.bytes) {
            self.at(now + self.initial_timeout(train.source), train.source, Event::Up(train));
        }
        back.offer(now, offered);
    }

    /// A train goes on the forward carrier, as far as its queue has room.
    fn enter<P>(&mut self, now: Time, train: Train, forward: &mut Forward<Load<P>>) {
        let offered: Offered<Load<P>> = self.offered(train);
        let room = forward.room(offered.terminal, offered.class);
        if u64::from(offered.bytes) <= room {
            return forward.offer(now, offered);
        }
        let Content::Data(serial) = train.content else {
            self.at(now + self.initial_timeout(train.source), train.source, Event::Down(train));
            return forward.offer(now, offered);
        };
        let source = &self.sources[train.source as usize];
        let common = &self.commons[source.common as usize];
        let mss = u64::from(common.config.full_payload());
        let fits = (room / (common.headers + mss) * mss).min(train.data);
        if fits > 0 {
            forward.offer(now, self.offered(Train { data: fits, ..train }));
        }
        let dropped = train.data - fits;
        // Counted as dropped.
        forward.offer(now, self.offered(Train { data: dropped, ..train }));
        if let Some((running, _)) = self.running(train) {
            running.transfer.drop_last(serial, dropped);
            self.watch(now, train.source);
        }
    }

    /// A train has arrived at its terminal.
    pub fn on_terminal<P>(&mut self, now: Time, train: Train, back: &mut Returning<Load<P>>) {
        let Some((running, _)) = self.running(train) else { return };
        match train.content {
            Content::SynAck => {
                self.send_up(now, Train { content: Content::Request, ..train }, back);
            }
            Content::Data(serial) => {
                running.arrived += train.data;
                self.send_up(now, Train { content: Content::Acks(serial), ..train }, back);
                self.end(now, train.source);
            }
            Content::Syn | Content::Request | Content::Acks(_) => {}
        }
    }

    /// A train has arrived at the gateway.
    pub fn on_gateway(&mut self, now: Time, train: Train) {
        if let Some((_, common)) = self.running(train) {
            let at = now + common.described.delays[1];
            self.at(at, train.source, Event::Sender(train));
        }
    }

    /// A train has arrived at the sender of the data.
    fn on_sender(&mut self, now: Time, train: Train) {
        let Source { common, epoch, running, .. } = &mut self.sources[train.source as usize];
        let common = &self.commons[*common as usize];
        let Some(running) = running.as_mut().filter(|_| *epoch == train.epoch) else { return };
        match train.content {
            Content::Syn => {
                running.answered = now;
                let at = now + common.described.delays[0];
                let answer = Train { content: Content::SynAck, ..train };
                self.at(at, train.source, Event::Down(answer));
            }
            Content::Request => {
                running.transfer.open(now, &common.config, now.since(running.answered));
                self.depart(now, train.source);
            }
            Content::Acks(serial) => {
                running.transfer.on_acked(now, serial, &common.config);
                self.depart(now, train.source);
            }
            Content::SynAck | Content::Data(_) => {}
        }
    }

    /// The sender sends what its window lets out.
    fn depart(&mut self, now: Time, number: u32) {
        loop {
            let Source { common, epoch, running, .. } = &mut self.sources[number as usize];
            let common = &self.commons[*common as usize];
            let Some(running) = running else { return };
            let Some(departure) = running.transfer.depart(now, &common.config) else { break };
            let content = Content::Data(departure.serial);
            let train = Train { source: number, epoch: *epoch, content, data: departure.bytes };
            self.at(now + common.described.delays[0], number, Event::Down(train));
        }
        self.watch(now, number);
    }

    /// Sets the retransmission timer of a transfer that waits for nothing else.
    fn watch(&mut self, now: Time, number: u32) {
        let source = &self.sources[number as usize];
        let epoch = source.epoch;
        let stalled = source.running.as_ref().and_then(|one| one.transfer.stalled());
        if let Some((next, after)) = stalled {
            self.at(now + after, number, Event::Timeout(epoch, next));
        }
    }
}
