//! Sessions: the application of a flow begins and ends again and again, as a new one each time,
//! with connections of its own.
//!
//! A session that lasts longer than it was drawn delays the next one, which keeps its length. What
//! arrives of an earlier session is ignored. A session that has not begun is nothing but its times.

use std::sync::Arc;

use applications::sessions::Session;
use link::Seed;
use recording::{ExtraTable, TableDefinition, extra_table};
use scenario::Sessions as Drawn;
use scenario::model::Flow;
use units::{Span, Time};

use super::machine::{Entity, Task};
use super::{Application, Context, EndpointId, Kind, Pair};

extra_table! {
    /// Sessions of flows, in the order in which they began.
    SessionTable("sessions") of SessionRow {
        /// Name of the flow.
        flow: String,
        /// Key of the application in `traffic`.
        application: String,
        /// Number of the session within its flow.
        [number] session: u32,
        /// Time of its begin in seconds.
        start_s: f64,
        /// Its duration in seconds: until all that it had begun was complete. Null if that was not
        /// reached.
        duration_s: f64,
        /// 1 if the application did all it had to, or had no end. 0 if its time ended before.
        completed: u32,
    }
}

/// The tables of flows with sessions.
pub(super) const TABLES: &[TableDefinition] = &[SessionTable::DEFINITION];

/// A session that goes on or is over.
#[derive(Clone, Debug)]
struct Begun {
    start: Time,
    end: Option<Time>,
    kind: Kind,
}

impl Begun {
    fn finish(&mut self, now: Time) {
        self.end = Some(now);
        self.kind.settle(now);
    }
}

/// The sessions of a flow.
#[derive(Clone, Debug)]
pub(super) struct Sessions {
    task: Arc<Task>,
    drawn: Drawn,
    entity: Entity,
    next: Session,
    /// All that have begun; the last one may go on.
    begun: Vec<Begun>,
    /// When the session that goes on begins nothing new.
    ends: Time,
    is_stopped: bool,
    /// Number of the first of its connections.
    first_pair: usize,
    first_lookup: usize,
}

impl Sessions {
    /// The sessions of flow number `number`, if it has any.
    pub(super) fn of(flow: &Flow, number: usize, seed: &Seed) -> Option<Self> {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let entity = Entity { seed: seed.clone(), flow: number, session: 0, start: Time::ZERO };
        let mut drawn = Drawn::new(flow.sessions?, seed.clone(), number, flow.start);
        let next = drawn.draw();
        Some(Self {
            task: flow.settings.clone(),
            drawn,
            entity,
            next,
            begun: Vec::new(),
            ends: Time::NEVER,
            is_stopped: false,
            first_pair: 0,
            first_lookup: 0,
        })
    }

    /// The applications of all sessions that have begun.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.begun.iter().map(|one| &one.kind)
    }

    fn going_on(&mut self) -> Option<&mut Begun> {
        self.begun.last_mut().filter(|one| one.end.is_none())
    }

    /// A timer has expired. Returns true if no session follows, because the flow has stopped.
    pub(super) fn on_timer(&mut self, context: &mut Context<'_>, stop: Option<Time>) -> bool {
        let has_stopped = stop.is_some_and(|stop| context.now >= stop);
        loop {
            let is_late = has_stopped || context.now >= self.ends;
            let stops_now = is_late && !self.is_stopped;
            if let Some(begun) = self.going_on() {
                let is_over =
                    (stops_now && begun.kind.stop_session(context)) || begun.kind.go_on(context);
                if is_over {
                    begun.finish(context.now);
                } else {
                    self.is_stopped |= stops_now;
                    return false;
                }
            }
            if has_stopped {
                return true;
            }
            let begin = Time::ZERO + self.next.begin;
            if begin > context.now {
                context.connections.wake_application(begin);
                return false;
            }
            self.begin(context);
        }
    }

    fn begin(&mut self, context: &mut Context<'_>) {
        self.entity.start = context.now;
        // One that is late keeps its length.
        let length = self.next.end.saturating_sub(self.next.begin);
        self.ends = context.now + length.max(Span::from_nanos(1));
        self.next = self.drawn.draw();
        self.is_stopped = false;
        (self.first_pair, self.first_lookup) = (context.pairs.len(), context.lookups.len());
        let mut kind = Kind::of(&self.task, &self.entity);
        self.entity.session += 1;
        kind.begin_session(context);
        self.begun.push(Begun { start: context.now, end: None, kind });
        context.connections.wake_application(self.ends);
    }

    /// Something has arrived at an endpoint. Returns true if no session follows.
    pub(super) fn on_received(
        &mut self,
        context: &mut Context<'_>,
        endpoint: EndpointId,
        stop: Option<Time>,
    ) -> bool {
        let own = [&context.pairs[self.first_pair..], &context.lookups[self.first_lookup..]];
        let is_own = own.into_iter().any(|pairs| has(pairs, endpoint));
        let Some(begun) = self.going_on().filter(|_| is_own) else {
            context.connections.wake_at(endpoint, u64::MAX);
            return false;
        };
        if !begun.kind.on_session_received(context, endpoint) {
            return false;
        }
        begun.finish(context.now);
        self.on_timer(context, stop)
    }
}

/// Returns true if `endpoint` is an end of one of these pairs, which are in the order in which they
/// were opened: each has higher numbers than those before.
fn has(pairs: &[Pair], endpoint: EndpointId) -> bool {
    let behind = pairs.partition_point(|pair| pair.sender <= endpoint);
    behind.checked_sub(1).is_some_and(|last| pairs[last].has(endpoint))
}

/// The table of the sessions of all flows.
pub(super) fn tables<'a>(
    all: impl Iterator<Item = (&'a Flow, &'a Application)>,
) -> Option<ExtraTable> {
    let mut table = SessionTable::default();
    for (flow, application) in all {
        let Some(Kind::Sessions(sessions)) = application.kind() else { continue };
        for (session, begun) in (0..).zip(&sessions.begun) {
            let duration = begun.end.map(|end: Time| end.since(begun.start));
            table.push(SessionRow {
                flow: flow.name.clone(),
                application: flow.traffic.key().to_owned(),
                session,
                start_s: begun.start.as_secs_f64(),
                duration_s: duration.map_or(f64::NAN, Span::as_secs_f64),
                completed: u32::from(begun.end.is_some() && !begun.kind.is_cut_short()),
            });
        }
    }
    table.into_table().filled()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_pairs_are_found_also_those_of_split_connections() {
        let pair =
            |sender, receiver| Pair { sender: EndpointId(sender), receiver: EndpointId(receiver) };
        // The second connection has two legs.
        let pairs = [pair(4, 5), pair(10, 13), pair(20, 21)];
        let found: Vec<u32> = (0..30).filter(|number| has(&pairs, EndpointId(*number))).collect();
        assert_eq!(found, [4, 5, 10, 13, 20, 21]);
        assert!(!has(&[], EndpointId(0)));
    }
}
