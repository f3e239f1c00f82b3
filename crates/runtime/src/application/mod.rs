//! Applications, which open connections, write and read.
//!
//! An application is called when its timer expires, and when an endpoint has received the number of
//! bytes that the application waits for. It is not called for single packets.

mod call;
mod channel;
mod download;
mod machine;
mod messages;
mod page;
mod sessions;
mod source;
mod speedtest;
mod video;
mod waiting;
mod web;

use link::Seed;
use recording::PageRecord;
use scenario::model::{Flow, Traffic};
use transport::{AbortCause, Datagrams, Streams};
use units::{Span, Time};

pub use machine::{APPLICATION_TABLES, application_tables, has_application_table};
pub use waiting::{Application, Cast, applications};

use download::Transfer;
use machine::{Entity, Machine, Task};
use sessions::Sessions;
use source::Source;
use web::Browser;

use crate::flow::{EndpointId, Pair};

/// Interface of an application to the connections of its flow.
pub trait Connections {
    /// Opens a connection of the flow: one end connects, the other listens.
    fn open(&mut self) -> Pair;
    /// Writes more bytes to an endpoint.
    fn write(&mut self, endpoint: EndpointId, bytes: u64);
    /// Takes back written data that has not been sent. Returns the number of written bytes that
    /// remain.
    fn withdraw(&mut self, endpoint: EndpointId) -> u64;
    /// Ends writing.
    fn close(&mut self, endpoint: EndpointId);
    /// Requests a call when an endpoint has received this total of bytes. The last request counts.
    fn wake_at(&mut self, endpoint: EndpointId, bytes: u64);
    /// Total of bytes that an endpoint has received.
    fn delivered(&self, endpoint: EndpointId) -> u64;
    /// Streams of the connection of an endpoint, for requests and answers, if its protocol has any.
    /// The application is called for each that has arrived.
    fn streams(&mut self, endpoint: EndpointId) -> Option<&mut dyn Streams>;
    /// Time from the opening of a connection until its transport had set it up, at the end that
    /// opened it; `None` if it has not yet, or if the backend does not know.
    fn connect_time(&self, now: Time, endpoint: EndpointId) -> Option<Span> {
        let _ = (now, endpoint);
        None
    }
    /// Number of times that the window of an endpoint started again after idle time; `None` where
    /// its transport does not count them.
    fn window_restarts(&self, endpoint: EndpointId) -> Option<u32>;
    /// Opens a pair of ends of UDP between the hosts of the flow, for packets besides those of its
    /// connections: lookups of names. Proxies let them pass, and totals of the flow leave them out.
    fn open_datagrams(&mut self) -> Pair;
    /// Datagrams of an endpoint, if its protocol has no stream of bytes. The application is called
    /// when some have arrived.
    fn datagrams(&mut self, endpoint: EndpointId) -> Option<&mut dyn Datagrams>;
    /// Sets a timer of the application.
    fn wake_application(&mut self, at: Time);
}

/// Context of an application: the time and its connections.
struct Context<'a> {
    now: Time,
    connections: &'a mut dyn Connections,
    pairs: &'a mut Vec<Pair>,
    lookups: &'a mut Vec<Pair>,
}

impl Context<'_> {
    fn open(&mut self) -> Pair {
        let pair = self.connections.open();
        self.pairs.push(pair);
        pair
    }

    /// Opens the ends of a lookup of a name.
    fn open_lookup(&mut self) -> Pair {
        let pair = self.connections.open_datagrams();
        self.lookups.push(pair);
        pair
    }
}

/// The traffic of a flow. In boxes what is larger than a transfer, of which there may be thousands.
#[derive(Clone, Debug)]
enum Kind {
    Transfer(Transfer),
    Browser(Box<Browser>),
    Source(Box<Source>),
    Machine(Machine),
    Sessions(Box<Sessions>),
}

impl Kind {
    /// A session of an application that can begin again, before its start.
    fn of(task: &Task, entity: &Entity) -> Self {
        match &task.traffic {
            Traffic::Download { size, request } => {
                Self::Transfer(Transfer::download(size.get(), request.get()))
            }
            _ => Self::Machine(Machine::of(task, entity).expect("each of them has its driver")),
        }
    }

    /// Stopped before it had done all it had to.
    fn is_cut_short(&self) -> bool {
        match self {
            Self::Transfer(transfer) => transfer.is_cut_short(),
            Self::Browser(browser) => browser.is_cut_short(),
            Self::Source(_) | Self::Sessions(_) => false,
            Self::Machine(machine) => machine.is_cut_short(),
        }
    }

    /// Starts as a session.
    fn begin_session(&mut self, context: &mut Context<'_>) {
        if let Self::Transfer(transfer) = self {
            transfer.start(context);
        }
    }

    /// A timer of the session has expired. Returns true if it is over.
    fn go_on(&mut self, context: &mut Context<'_>) -> bool {
        if let Self::Machine(machine) = self { machine.on_timer(context) } else { false }
    }

    /// Begins nothing new. Returns true if the session is over.
    fn stop_session(&mut self, context: &mut Context<'_>) -> bool {
        match self {
            Self::Transfer(transfer) => transfer.stop(context),
            Self::Machine(machine) => {
                machine.stop();
                false
            }
            Self::Browser(_) | Self::Source(_) | Self::Sessions(_) => false,
        }
    }

    /// Something has arrived at an endpoint of the session. Returns true if it is over.
    fn on_session_received(&mut self, context: &mut Context<'_>, endpoint: EndpointId) -> bool {
        match self {
            Self::Transfer(transfer) => transfer.on_received(context, endpoint),
            Self::Machine(machine) => machine.on_received(context, endpoint),
            Self::Browser(_) | Self::Source(_) | Self::Sessions(_) => false,
        }
    }

    /// It is over: memory that tables do not need is given back.
    fn settle(&mut self, now: Time) {
        if let Self::Machine(machine) = self {
            machine.settle(now);
        }
    }

    /// The state machines of the crate `applications`: of all sessions that have begun.
    fn machines(&self) -> Vec<&Machine> {
        match self {
            Self::Machine(machine) => vec![machine],
            Self::Sessions(sessions) => sessions.kinds().flat_map(Self::machines).collect(),
            Self::Transfer(_) | Self::Browser(_) | Self::Source(_) => Vec::new(),
        }
    }
}

/// An application that acts, and its connections.
#[derive(Clone, Debug)]
struct Acting {
    /// Stop time; `None` is never.
    stop: Option<Time>,
    /// Completion time: arrival of the last byte.
    finished: Option<Time>,
    /// Why the transport ended a connection before it was finished. It is never both.
    aborted: Option<AbortCause>,
    /// Its connections, in the order in which they were opened.
    pairs: Vec<Pair>,
    /// The ends of its lookups of names, if their packets are on the path.
    lookups: Vec<Pair>,
    stopped: bool,
    kind: Kind,
}

impl Acting {
    /// The application of flow number `number`, before its start.
    fn new(flow: &Flow, number: usize, seed: &Seed) -> Self {
        let kind = match &flow.traffic {
            _ if let Some(sessions) = Sessions::of(flow, number, seed) => {
                Kind::Sessions(sessions.into())
            }
            Traffic::Bulk { size } => Kind::Transfer(Transfer::bulk(size.map(units::Bytes::get))),
            Traffic::Web(web) => Kind::Browser(Browser::new(*web).into()),
            Traffic::Constant { rate, message } => {
                Kind::Source(Source::constant(*rate, *message).into())
            }
            Traffic::OnOff { rate, message, pattern } => {
                Kind::Source(Source::on_off(*rate, *message, *pattern, number, seed).into())
            }
            Traffic::Download { .. }
            | Traffic::Page(_)
            | Traffic::Call(_)
            | Traffic::Messages(_)
            | Traffic::Video(_)
            | Traffic::Speedtest(_) => {
                let flow_number = u32::try_from(number).unwrap_or(u32::MAX);
                let start = Time::ZERO + flow.start;
                let entity = Entity { seed: seed.clone(), flow: flow_number, session: 0, start };
                Kind::of(&flow.settings, &entity)
            }
        };
        Self {
            stop: flow.stop.map(|stop| Time::ZERO + stop),
            finished: None,
            aborted: None,
            stopped: false,
            pairs: Vec::new(),
            lookups: Vec::new(),
            kind,
        }
    }

    fn is_over(&self) -> bool {
        self.finished.is_some() || self.aborted.is_some()
    }

    fn is_completed(&self) -> bool {
        self.finished.is_some() && !self.kind.is_cut_short()
    }

    fn on_timer(&mut self, now: Time, connections: &mut dyn Connections) {
        if matches!(self.kind, Kind::Machine(_)) {
            return self.run_machine(now, connections);
        }
        let is_over = self.is_over();
        if let Kind::Sessions(sessions) = &mut self.kind {
            let (pairs, lookups) = (&mut self.pairs, &mut self.lookups);
            let mut context = Context { now, connections, pairs, lookups };
            if !is_over && sessions.on_timer(&mut context, self.stop) {
                self.finished = Some(now);
            }
            return;
        }
        let (pairs, lookups) = (&mut self.pairs, &mut self.lookups);
        let mut context = Context { now, connections, pairs, lookups };
        if self.stop.is_none_or(|stop| now < stop) {
            match &mut self.kind {
                Kind::Transfer(transfer) => transfer.start(&mut context),
                Kind::Browser(browser) => browser.on_timer(&mut context),
                // There is no reader of what it would write.
                Kind::Source(_) if self.aborted.is_some() => {}
                Kind::Source(source) => source.on_timer(&mut context),
                Kind::Machine(_) | Kind::Sessions(_) => {}
            }
        } else if self.finished.is_none() && self.aborted.is_none() && !self.stopped {
            self.stopped = true;
            let done = match &mut self.kind {
                Kind::Transfer(transfer) => transfer.stop(&mut context),
                Kind::Browser(browser) => browser.stop(),
                Kind::Source(source) => source.stop(&mut context),
                Kind::Machine(_) | Kind::Sessions(_) => false,
            };
            self.finished = done.then_some(now);
        }
    }

    /// A timer of an application of the crate `applications` has expired.
    fn run_machine(&mut self, now: Time, connections: &mut dyn Connections) {
        let is_over = self.is_over();
        let Kind::Machine(machine) = &mut self.kind else { return };
        if is_over {
            return;
        }
        if self.stop.is_some_and(|stop| now >= stop) && !self.stopped {
            self.stopped = true;
            machine.stop();
        }
        let (pairs, lookups) = (&mut self.pairs, &mut self.lookups);
        let mut context = Context { now, connections, pairs, lookups };
        if machine.on_timer(&mut context) {
            machine.settle(now);
            self.finished = Some(now);
        }
    }

    fn on_received(&mut self, now: Time, endpoint: EndpointId, connections: &mut dyn Connections) {
        // Its ends are closed, and nothing can be written any more.
        if matches!(self.kind, Kind::Machine(_) | Kind::Sessions(_)) && self.is_over() {
            return connections.wake_at(endpoint, u64::MAX);
        }
        let (pairs, lookups) = (&mut self.pairs, &mut self.lookups);
        let mut context = Context { now, connections, pairs, lookups };
        let done = match &mut self.kind {
            Kind::Transfer(transfer) => transfer.on_received(&mut context, endpoint),
            Kind::Browser(browser) => browser.on_received(&mut context, endpoint),
            Kind::Source(source) => source.on_received(&mut context),
            Kind::Machine(machine) => machine.on_received(&mut context, endpoint),
            Kind::Sessions(sessions) => sessions.on_received(&mut context, endpoint, self.stop),
        };
        // Data that was on its way when TCP gave up may still complete it. It stays aborted.
        if done && !self.is_over() {
            self.kind.settle(now);
            self.finished = Some(now);
        }
    }

    fn pages(&self) -> Vec<PageRecord> {
        match &self.kind {
            Kind::Browser(browser) => browser.pages().to_vec(),
            kind => kind.machines().into_iter().flat_map(Machine::pages).collect(),
        }
    }

    fn source(&self) -> Option<&Source> {
        if let Kind::Source(source) = &self.kind { Some(source) } else { None }
    }
}
