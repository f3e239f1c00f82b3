//! A browser that loads pages with their objects, and the servers of their origins.
//!
//! The name of an origin is looked up once; then connections are opened and secured, and each
//! object is requested when what it depends on is there. HTTP/1.1 has several connections to an
//! origin with one request at a time on each, which take the most urgent object that waits.
//! HTTP/2 and HTTP/3 have one connection with all requests. One object computes at a time.

mod answers;
mod connection;
mod load;
mod path;
mod resolver;
mod table;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use recording::{ExtraTable, ObjectRecord, PageRecord, TableDefinition};
use scenario::model::{DrawnPages, Http, Milestone, Page, Traffic};
use units::{Span, Time};

use super::machine::{Driver, Entity, Task};
use super::{Context, EndpointId};
use connection::{Connection, Happened};
use load::{Load, Set, small};
use resolver::{Found, Lookups};

/// The browser and the servers.
#[derive(Clone, Debug)]
pub(super) struct Loader {
    /// The page of the current load.
    page: Arc<Page>,
    /// For each object those that wait for it, and the number of the condition.
    dependents: Arc<[Vec<(usize, usize)>]>,
    /// The pages of a model, each with the time that it is read.
    drawn: Option<Drawn>,
    /// Events to come, in the order of their times and of their entries.
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    entries: u64,
    origins: Vec<Origin>,
    lookups: Lookups,
    connections: Vec<Connection>,
    /// For each connection its number in the load; `None` before its first request there.
    used: Vec<Option<usize>>,
    loads: Vec<Load>,
    /// True if the next load is due while one is going on.
    next_is_due: bool,
    pages: Option<u32>,
    cut_short: bool,
    is_stopped: bool,
}

/// The pages that a model draws.
#[derive(Clone, Debug)]
struct Drawn {
    /// The page with the keys of the flow.
    settings: Arc<Page>,
    pages: DrawnPages,
    /// Time from the end of the current page to the start of the next one.
    reading: Span,
}

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The name of an origin is known.
    Known(usize),
    /// The query of a lookup is due.
    Query(u64),
    /// A resolver has the answer of a lookup.
    Resolved(u64),
    /// An object is needed.
    Needed(usize),
    /// A server has the answer for an object, on a connection.
    Answer(usize, usize),
    /// An object is computed.
    Computed(usize),
    /// The next load begins.
    Load,
}

/// An origin.
#[derive(Clone, Debug, Default)]
struct Origin {
    is_known: bool,
    /// Objects that are to be requested.
    waiting: Vec<usize>,
}

impl Loader {
    fn new(page: Arc<Page>, entity: &Entity) -> Self {
        let Entity { seed, flow, session, start: _ } = entity;
        let drawn = page.model.map(|_| Drawn {
            settings: page.clone(),
            pages: DrawnPages::new(seed, *flow, *session),
            reading: Span::ZERO,
        });
        Self {
            dependents: dependents(&page),
            drawn,
            events: BinaryHeap::new(),
            entries: 0,
            origins: vec![Origin::default(); page.origins.len()],
            lookups: Lookups::default(),
            connections: Vec::new(),
            used: Vec::new(),
            loads: Vec::new(),
            next_is_due: false,
            pages: page.pages,
            cut_short: false,
            is_stopped: false,
            page,
        }
    }

    /// The loads as pages of the recording.
    pub(super) fn pages(&self) -> Vec<PageRecord> {
        let record = |load: &Load| PageRecord {
            start_s: load.start.as_secs_f64(),
            response_s: load.end.map(|end| end.since(load.start).as_secs_f64()),
            objects: load
                .objects
                .iter()
                .zip(&load.page.objects)
                .map(|(object, known)| ObjectRecord {
                    bytes: known.bytes.get(),
                    start_s: object.requested.get().map_or(0.0, |time| time.as_secs_f64()),
                    response_s: object
                        .done
                        .get()
                        .zip(object.requested.get())
                        .map(|(done, requested)| done.since(requested).as_secs_f64()),
                })
                .collect(),
        };
        self.loads.iter().map(record).collect()
    }

    fn has_more(&self) -> bool {
        self.pages.is_none_or(|pages| self.loads.len() < pages as usize)
    }

    fn is_loading(&self) -> bool {
        self.loads.last().is_some_and(|load| load.end.is_none())
    }

    /// Does what is due. Returns true once the last load has ended.
    fn run_due(&mut self, context: &mut Context<'_>) -> bool {
        let was_loading = self.is_loading();
        while let Some(Reverse((at, _, event))) = self.events.peek().copied() {
            if at > context.now {
                break;
            }
            self.events.pop();
            match event {
                Event::Known(origin) => self.know(context, origin),
                Event::Query(lookup) => {
                    if let Some(at) = self.lookups.query(context, lookup) {
                        self.plan(context, at, event);
                    }
                }
                Event::Resolved(lookup) => self.lookups.answer(context, lookup),
                Event::Needed(object) => self.need(context, object),
                Event::Answer(connection, object) => {
                    self.connections[connection].answer(context, &self.page, object);
                }
                Event::Computed(object) => self.computed(context, object),
                Event::Load if self.is_loading() => self.next_is_due = self.has_more(),
                Event::Load if self.has_more() => self.load(context),
                Event::Load => {}
            }
        }
        let ends = was_loading && !self.is_loading();
        if let Some(drawn) = self.drawn.as_ref().filter(|_| ends && self.has_more()) {
            self.plan(context, context.now + drawn.reading, Event::Load);
        }
        if ends && self.next_is_due {
            self.load(context);
            return self.run_due(context);
        }
        ends && !self.has_more()
    }

    /// Something happens at a time, at once if that is now.
    fn plan(&mut self, context: &mut Context<'_>, at: Time, event: Event) {
        self.entries += 1;
        self.events.push(Reverse((at, self.entries, event)));
        if at > context.now {
            context.connections.wake_application(at);
        }
    }

    /// Begins a load.
    fn load(&mut self, context: &mut Context<'_>) {
        self.next_is_due = false;
        self.forget(context);
        self.used = vec![None; self.connections.len()];
        self.lookups.clear();
        if let Some(drawn) = &mut self.drawn {
            let (page, reading) = drawn.pages.draw(&drawn.settings);
            drawn.reading = reading;
            self.page = page.into();
            self.dependents = dependents(&self.page);
        }
        self.loads.push(Load::new(&self.page, context.now));
        if self.drawn.is_none() && self.has_more() {
            self.plan(context, context.now + self.page.interval, Event::Load);
        }
        self.plan(context, context.now, Event::Needed(0));
    }

    /// Closes the connections of the load before, or those of them that have ended.
    fn forget(&mut self, context: &mut Context<'_>) {
        if self.page.is_warm {
            self.connections.retain(|connection| connection.is_open(context));
            return;
        }
        self.connections.drain(..).for_each(|connection| connection.close(context));
        self.origins.iter_mut().for_each(|origin| origin.is_known = false);
    }

    /// The current load.
    fn current(&mut self) -> Option<&mut Load> {
        self.loads.last_mut()
    }

    /// An object is needed.
    fn need(&mut self, context: &mut Context<'_>, object: usize) {
        let now = context.now;
        let number = self.page.objects[object].origin;
        let (dns, is_remote) = (self.page.dns, self.page.has_remote_resolver);
        let Some(load) = self.loads.last_mut() else { return };
        load.objects[object].known = now.into();
        let origin = &mut self.origins[number];
        origin.waiting.push(object);
        if origin.is_known {
            return self.dispatch(context, number);
        }
        if dns == Span::ZERO && !is_remote {
            origin.is_known = true;
            return self.dispatch(context, number);
        }
        if load.lookups[number].is_some() {
            return;
        }
        load.lookups[number] = Some((now, None));
        if is_remote {
            let lookup = self.lookups.begin(context, number);
            self.plan(context, now, Event::Query(lookup));
        } else {
            self.plan(context, now + dns, Event::Known(number));
        }
    }

    /// The name of an origin is known.
    fn know(&mut self, context: &mut Context<'_>, origin: usize) {
        self.origins[origin].is_known = true;
        if let Some((_, end)) = self.current().and_then(|load| load.lookups[origin].as_mut()) {
            *end = Some(context.now);
        }
        self.dispatch(context, origin);
    }

    /// Takes the datagrams that have arrived at an end of a lookup. Returns true if all is done.
    fn take_lookups(&mut self, context: &mut Context<'_>, endpoint: EndpointId) -> bool {
        let page = self.page.clone();
        while let Some(found) = self.lookups.take(context, &page, endpoint) {
            match found {
                Found::Answer(lookup, at) => self.plan(context, at, Event::Resolved(lookup)),
                Found::Name(origin) => self.know(context, origin),
            }
            if self.run_due(context) {
                return true;
            }
        }
        false
    }

    /// Requests objects of an origin where connections are free, and opens connections.
    fn dispatch(&mut self, context: &mut Context<'_>, origin: usize) {
        let http = self.page.http;
        while !self.origins[origin].waiting.is_empty() {
            let mut connections = self
                .connections
                .iter()
                .enumerate()
                .filter(|(_, connection)| connection.origin == origin);
            let Some((number, _)) = connections.find(|(_, connection)| connection.is_free(http))
            else {
                break;
            };
            let object = self.take_most_urgent(origin);
            self.request(context, number, object);
        }
        let waiting = self.origins[origin].waiting.len();
        let of_origin = self.connections.iter().filter(|connection| connection.origin == origin);
        let mut all = of_origin.clone().count();
        let mut coming = of_origin.filter(|connection| connection.ready.is_none()).count();
        let most = if http == Http::One { self.page.connections as usize } else { 1 };
        while all < self.opened_ahead(origin) || all < most && coming < waiting.min(most) {
            let connection = Connection::open(context, &self.page, origin);
            connection.watch(context);
            let is_ready = connection.ready.is_some();
            self.connections.push(connection);
            self.used.push(None);
            (all, coming) = (all + 1, coming + 1);
            if is_ready {
                return self.dispatch(context, origin);
            }
        }
    }

    /// Connections to an origin that do not wait for requests.
    fn opened_ahead(&self, origin: usize) -> usize {
        let is_first = self.page.http == Http::One && origin == self.page.objects[0].origin;
        if is_first { self.page.preconnect as usize } else { 0 }
    }

    /// Takes the most urgent object of those that wait, of several the first.
    fn take_most_urgent(&mut self, origin: usize) -> usize {
        let waiting = &mut self.origins[origin].waiting;
        let urgency = |place: &usize| self.page.objects[waiting[*place]].urgency;
        let place = (0..waiting.len()).min_by_key(urgency).unwrap_or(0);
        waiting.remove(place)
    }

    fn request(&mut self, context: &mut Context<'_>, connection: usize, object: usize) {
        let now = context.now;
        self.connections[connection].request(context, &self.page, object);
        let Connection { opened, ready, .. } = self.connections[connection];
        let Some(load) = self.loads.last_mut() else { return };
        let number = *self.used[connection].get_or_insert_with(|| {
            let ready = ready.unwrap_or(now);
            load.connections.push(Set { opened, connected: opened, ready });
            load.connections.len() - 1
        });
        load.objects[object].connection = Some(small(number));
        load.objects[object].requested = now.into();
    }

    fn first_byte(&mut self, context: &mut Context<'_>, connection: usize, object: usize) {
        let now = context.now;
        let Connection { pair, opened, .. } = self.connections[connection];
        let connected = context.connections.connect_time(now, pair.receiver);
        let used = self.used[connection];
        let Some(load) = self.current() else { return };
        if let (Some(time), Some(number)) = (connected, used) {
            load.connections[number].connected = opened + time;
        }
        load.objects[object].first_byte = now.into();
        self.reached(context, object, Milestone::FirstByte);
    }

    fn arrived(&mut self, context: &mut Context<'_>, connection: usize, object: usize) {
        let now = context.now;
        if self.loads.last().is_some_and(|load| load.objects[object].first_byte.get().is_none()) {
            self.first_byte(context, connection, object);
        }
        let page = self.page.clone();
        let Some(load) = self.current() else { return };
        load.objects[object].done = now.into();
        let computed = load.compute(&page, object, now);
        self.reached(context, object, Milestone::Done);
        self.plan(context, computed, Event::Computed(object));
        self.dispatch(context, page.objects[object].origin);
    }

    fn computed(&mut self, context: &mut Context<'_>, object: usize) {
        let now = context.now;
        let Some(load) = self.current() else { return };
        load.finished(object, now);
        self.reached(context, object, Milestone::Computed);
    }

    /// Plans the requests of objects that waited for this.
    fn reached(&mut self, context: &mut Context<'_>, object: usize, milestone: Milestone) {
        let (page, dependents) = (self.page.clone(), self.dependents.clone());
        let Some(load) = self.loads.last_mut() else { return };
        let ready = load.reached(&page, &dependents[object], milestone, context.now);
        for (number, at) in ready {
            self.plan(context, at, Event::Needed(number));
        }
    }
}

/// The objects that wait for each object of a page, each with the number of its condition.
fn dependents(page: &Page) -> Arc<[Vec<(usize, usize)>]> {
    let mut dependents = vec![Vec::new(); page.objects.len()];
    for (number, object) in page.objects.iter().enumerate() {
        for (condition, after) in object.after.iter().enumerate() {
            dependents[after.object].push((number, condition));
        }
    }
    dependents.into()
}

impl Driver for Loader {
    const TABLES: &'static [TableDefinition] = &table::TABLES;

    fn of(task: &Task, entity: &Entity) -> Option<Self> {
        let Traffic::Page(page) = &task.traffic else { return None };
        Some(Self::new(page.clone(), entity))
    }

    fn on_timer(&mut self, context: &mut Context<'_>) -> bool {
        if self.loads.is_empty() && self.has_more() {
            self.load(context);
        }
        self.run_due(context) || (self.is_stopped && !self.is_loading())
    }

    fn on_received(&mut self, context: &mut Context<'_>, endpoint: EndpointId) -> bool {
        let Some(number) =
            self.connections.iter().position(|connection| connection.pair.has(endpoint))
        else {
            if self.page.has_remote_resolver && self.take_lookups(context, endpoint) {
                return true;
            }
            context.connections.wake_at(endpoint, u64::MAX);
            return false;
        };
        let is_its = |connection: &&mut Connection| connection.pair.has(endpoint);
        while let Some(happened) = self
            .connections
            .get_mut(number)
            .filter(is_its)
            .and_then(|connection| connection.take_happened(context, endpoint))
        {
            match happened {
                Happened::Request(object) => {
                    let at = context.now + self.page.objects[object].server_time;
                    self.plan(context, at, Event::Answer(number, object));
                }
                Happened::First(object) => self.first_byte(context, number, object),
                Happened::Last(object) => self.arrived(context, number, object),
                Happened::Ready => self.dispatch(context, self.connections[number].origin),
            }
            // Answers without a time of the server go out now.
            if self.run_due(context) {
                return true;
            }
        }
        if let Some(connection) = self.connections.get(number) {
            connection.watch(context);
        }
        false
    }

    fn stop(&mut self) {
        self.cut_short = self.page.pages.is_some() && self.has_more();
        self.pages = Some(u32::try_from(self.loads.len()).unwrap_or(u32::MAX));
        self.next_is_due = false;
        self.is_stopped = true;
    }

    fn settle(&mut self, _now: Time) {
        self.dependents = Arc::default();
        self.drawn = None;
        self.events = BinaryHeap::new();
        self.origins = Vec::new();
        self.lookups = Lookups::default();
        self.connections = Vec::new();
        self.used = Vec::new();
        self.loads.iter_mut().for_each(Load::settle);
        self.loads.shrink_to_fit();
    }

    fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    fn tables<'a>(
        all: impl Iterator<Item = (u32, &'a str, &'a Self)>,
        _end: Time,
    ) -> Vec<ExtraTable> {
        table::of(all.map(|(_, flow, loader)| (flow, loader.loads.as_slice())))
    }
}
