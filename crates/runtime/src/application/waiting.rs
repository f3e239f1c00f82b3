//! The applications of all flows. One that has not acted takes the memory of an address: a beam has
//! thousands of households, whose flows mostly wait for their first session.
//!
//! Calls, messages, videos, speed tests and pages without sessions are made at once. Their tables
//! have a row also of one that the end of the run has kept from its start.

use link::Seed;
use recording::PageRecord;
use scenario::model::{Flow, Traffic};
use scenario::{Scenario, Sessions};
use transport::AbortCause;
use units::{Bytes, Time};

use super::machine::{Entity, Machine};
use super::{Acting, Connections, EndpointId, Kind, Pair, Source};

/// The flow of an application: all that it is made of.
#[derive(Clone, Copy, Debug)]
pub struct Cast<'a> {
    /// The flow.
    pub flow: &'a Flow,
    /// Its number.
    pub number: usize,
    /// Seed of the run. Each application has random streams of its own.
    pub seed: &'a Seed,
}

impl Cast<'_> {
    /// Returns true if nothing is to do yet but to wait for the first session, which is drawn again
    /// when it begins.
    fn waits(&self, now: Time, connections: &mut dyn Connections) -> bool {
        let Some(settings) = self.flow.sessions else { return false };
        if self.flow.stop.is_some_and(|stop| now >= Time::ZERO + stop) {
            return false;
        }
        let number = u32::try_from(self.number).unwrap_or(u32::MAX);
        let mut sessions = Sessions::new(settings, self.seed.clone(), number, self.flow.start);
        let begin = Time::ZERO + sessions.draw().begin;
        if begin <= now {
            return false;
        }
        connections.wake_application(begin);
        true
    }

    fn act(&self) -> Box<Acting> {
        Acting::new(self.flow, self.number, self.seed).into()
    }
}

/// The application of a flow with its connections.
#[derive(Clone, Debug)]
pub struct Application {
    /// `None` until it acts.
    acting: Option<Box<Acting>>,
}

/// The applications of all flows of a run with `seed`.
pub fn applications(scenario: &Scenario, seed: &Seed) -> Vec<Application> {
    let numbered = scenario.flows.iter().enumerate();
    numbered.map(|(number, flow)| Application::new(&Cast { flow, number, seed })).collect()
}

impl Application {
    fn new(cast: &Cast<'_>) -> Self {
        let acting = Some(cast).filter(|cast| has_rows_before_its_start(cast.flow)).map(Cast::act);
        Self { acting }
    }

    /// Bytes of the whole transfer of a flow, if it is finite.
    pub fn size(flow: &Flow) -> Option<u64> {
        let size = flow.traffic.size().filter(|_| flow.sessions.is_none());
        size.map(Bytes::get)
    }

    /// Returns true if the application of a flow continues until the end of the run.
    pub fn is_endless(flow: &Flow) -> bool {
        (flow.traffic.is_endless() || flow.sessions.is_some()) && flow.stop.is_none()
    }

    /// Returns true if the run must not wait for it any more. Endless applications end with the
    /// duration.
    pub fn is_over(&self) -> bool {
        self.acting.as_ref().is_some_and(|acting| acting.is_over())
    }

    /// Returns true if it is complete.
    pub fn is_completed(&self) -> bool {
        self.acting.as_ref().is_some_and(|acting| acting.is_completed())
    }

    /// Completion time: arrival of the last byte.
    pub fn finished(&self) -> Option<Time> {
        self.acting.as_ref()?.finished
    }

    /// Why the transport ended a connection before it was finished. It is never both.
    pub fn aborted(&self) -> Option<AbortCause> {
        self.acting.as_ref()?.aborted
    }

    /// The transport has ended a connection. One that is complete stays so, even without an ACK of
    /// its FIN. Returns true if it was not over.
    pub fn abort(&mut self, cause: AbortCause) -> bool {
        let Some(acting) = self.acting.as_mut().filter(|acting| !acting.is_over()) else {
            return false;
        };
        acting.aborted = Some(cause);
        true
    }

    /// Its connections, in the order in which they were opened.
    pub fn pairs(&self) -> &[Pair] {
        self.acting.as_ref().map_or(&[], |acting| &acting.pairs)
    }

    /// Both ends of all its connections.
    pub fn ends(&self) -> impl Iterator<Item = EndpointId> {
        self.pairs().iter().flat_map(|pair| [pair.sender, pair.receiver])
    }

    /// A timer of the application expired; the first one is its start, and from its stop on it does
    /// nothing but wait for what is on its way.
    pub fn on_timer(&mut self, now: Time, cast: &Cast<'_>, connections: &mut dyn Connections) {
        if self.acting.is_none() && cast.waits(now, connections) {
            return;
        }
        self.acting.get_or_insert_with(|| cast.act()).on_timer(now, connections);
    }

    /// An endpoint has received the number of bytes that the application waits for.
    pub fn on_received(
        &mut self,
        now: Time,
        endpoint: EndpointId,
        connections: &mut dyn Connections,
    ) {
        if let Some(acting) = &mut self.acting {
            acting.on_received(now, endpoint, connections);
        }
    }

    /// Web pages, if it fetches any.
    pub fn pages(&self) -> Vec<PageRecord> {
        self.acting.as_ref().map_or_else(Vec::new, |acting| acting.pages())
    }

    /// Bytes that the application of `flow` has written, if it has a rate of its own.
    pub fn offered_bytes(&self, flow: &Flow) -> Option<u64> {
        match &self.acting {
            Some(acting) => acting.source().map(Source::offered),
            None => has_rate(flow).then_some(0),
        }
    }

    /// Mean time from the start of a burst to its last byte at the receiver, if it writes in bursts
    /// and one has arrived.
    pub fn burst_completion_s(&self) -> Option<f64> {
        self.acting.as_ref()?.source()?.burst_completion_s()
    }

    /// Its traffic, once it acts.
    pub(super) fn kind(&self) -> Option<&Kind> {
        self.acting.as_ref().map(|acting| &acting.kind)
    }
}

/// Returns true if the application of a flow writes at a rate of its own.
fn has_rate(flow: &Flow) -> bool {
    matches!(flow.traffic, Traffic::Constant { .. } | Traffic::OnOff { .. })
}

/// Returns true if tables have rows of a flow whether its application has begun or not.
fn has_rows_before_its_start(flow: &Flow) -> bool {
    flow.sessions.is_none() && Machine::of(&flow.settings, &Entity::default()).is_some()
}
