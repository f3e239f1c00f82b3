//! One load of a page: what each object waits for, and when it came.

use std::sync::Arc;

use scenario::model::{Milestone, Page, PageObject};
use units::Time;

/// A time that may not have come, in half the memory of an `Option`: a run may have a million
/// objects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment(Time);

impl Default for Moment {
    fn default() -> Self {
        Self(Time::NEVER)
    }
}

impl From<Time> for Moment {
    fn from(time: Time) -> Self {
        Self(time)
    }
}

impl Moment {
    /// The time, if it has come.
    pub(super) fn get(self) -> Option<Time> {
        (self.0 != Time::NEVER).then_some(self.0)
    }
}

/// Times of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Object {
    /// The time at which the conditions that hold did.
    from: Moment,
    /// The time from which on it is known that it is needed.
    pub known: Moment,
    /// The request was handed to the connection.
    pub requested: Moment,
    /// The first byte has arrived.
    pub first_byte: Moment,
    /// All bytes have arrived.
    pub done: Moment,
    /// The browser has computed what depends on it.
    pub computed: Moment,
    /// Number of conditions that do not hold yet.
    waits: u32,
    /// Number of the condition that was the last to hold; `None` for the document.
    pub cause: Option<u32>,
    /// Number of its connection in the load.
    pub connection: Option<u32>,
}

/// A number of a condition or a connection, of which a page has few.
pub(super) fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A load.
#[derive(Clone, Debug)]
pub(super) struct Load {
    /// The page.
    pub page: Arc<Page>,
    pub start: Time,
    pub objects: Vec<Object>,
    /// Start of the lookup of each origin's name, and its end, once that is known.
    pub lookups: Vec<Option<(Time, Option<Time>)>>,
    /// Connections that it has used.
    pub connections: Vec<Set>,
    /// Time of the last thing that was loaded or computed, once nothing is missing.
    pub end: Option<Time>,
    missing: usize,
    /// The time until which the browser's main thread is occupied.
    busy_until: Time,
}

/// The times of the set-up of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Set {
    /// It was opened.
    pub opened: Time,
    /// The transport was connected.
    pub connected: Time,
    /// Requests could be sent.
    pub ready: Time,
}

impl Load {
    pub(super) fn new(page: &Arc<Page>, start: Time) -> Self {
        let waiting =
            |object: &PageObject| Object { waits: small(object.after.len()), ..Object::default() };
        Self {
            page: page.clone(),
            start,
            objects: page.objects.iter().map(waiting).collect(),
            lookups: vec![None; page.origins.len()],
            connections: Vec::new(),
            end: None,
            missing: page.objects.len(),
            busy_until: start,
        }
    }

    /// The objects whose last condition holds now that something has happened to `number`, each
    /// with the time of its request. `dependents` has the objects with conditions on it, and the
    /// number of the condition.
    pub(super) fn reached(
        &mut self,
        page: &Page,
        dependents: &[(usize, usize)],
        milestone: Milestone,
        now: Time,
    ) -> Vec<(usize, Time)> {
        let mut ready = Vec::new();
        for &(number, condition) in dependents {
            let after = &page.objects[number].after[condition];
            if after.at != milestone {
                continue;
            }
            let object = &mut self.objects[number];
            let holds = now + after.delay;
            // Of two that hold at the same time the first one is the cause.
            if object.from.get().is_none_or(|last| holds > last) {
                object.from = holds.into();
                object.cause = Some(small(condition));
            }
            object.waits -= 1;
            if let (0, Some(at)) = (object.waits, object.from.get()) {
                ready.push((number, at));
            }
        }
        ready
    }

    /// The main thread takes an object that has arrived. Returns the time at which it is done.
    pub(super) fn compute(&mut self, page: &Page, number: usize, now: Time) -> Time {
        let time = page.objects[number].compute;
        if time.as_nanos() == 0 {
            return now;
        }
        self.busy_until = self.busy_until.max(now) + time;
        self.busy_until
    }

    /// Nothing is loaded any more: spare memory is given back.
    pub(super) fn settle(&mut self) {
        self.connections.shrink_to_fit();
    }

    /// An object is loaded and computed. Returns true if it was the last one.
    pub(super) fn finished(&mut self, number: usize, now: Time) -> bool {
        self.objects[number].computed = now.into();
        self.missing -= 1;
        if self.missing == 0 {
            self.end = Some(now);
        }
        self.missing == 0
    }
}
